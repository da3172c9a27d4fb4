"""Calls with their parameters: `decode_call` opens the stubs of a `CallEvent`.

The rule kept here: what is known comes from the bind. Where the bind was not captured, an interface and a
syntax are guessed from the opnum and the shape of the stubs, and the result says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from msmq_wire.rpc.events import CallEvent, Stub, SyntaxId
from msmq_wire.rpc.interfaces import INTERFACES, Interface, Method
from msmq_wire.rpc.interfaces.method import Side
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, Syntax, inspect_stub
from msmq_wire.rpc.ndr.stub import InspectedStub
from msmq_wire.wire.types.guid import GUID

NDR_SYNTAX = GUID.parse("8a885d04-1ceb-11c9-9fe8-08002b104860")
NDR64_SYNTAX = GUID.parse("71710533-beba-4937-8319-b5dbef9ccc36")
_EVIDENCE = 56
"""Bytes of request and response together below which calls of many interfaces look alike."""
_PADDING = 7
"""Zeros that may stand behind the last parameter."""


class DecodedCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call as far as it can be read.

    ``interface`` and ``method`` are None where they are not known; ``request`` and ``response`` are None
    where the stub was not captured, is sealed, or belongs to no known method. ``guessed`` says that interface
    and syntax come from the shape of the stubs. ``status`` is that of the response, else that of the fault.
    """

    event: CallEvent
    interface: Interface | None = None
    method: Method | None = None
    syntax: Syntax | None = None
    guessed: bool = False
    request: InspectedStub | None = None
    response: InspectedStub | None = None

    @property
    def status(self) -> int | None:
        """What the call ended with."""
        if self.event.fault is not None:
            return self.event.fault.status
        value = None if self.response is None else self.response.value
        status = getattr(value, "status", None)
        return status if isinstance(status, int) else None


def syntax_name(syntax: SyntaxId | None) -> str | None:
    """``ndr``, ``ndr64``, the UUID of another transfer syntax; None without one."""
    if syntax is None:
        return None
    return {NDR_SYNTAX: NDR.name, NDR64_SYNTAX: NDR64.name}.get(syntax.uuid, str(syntax.uuid))


def _syntaxes(syntax: GUID | None, stub: Stub | None) -> Iterator[Syntax]:
    """The syntaxes that a stub can be in."""
    big_endian = stub is not None and stub.big_endian
    if syntax in (None, NDR_SYNTAX):
        yield NDR_BIG_ENDIAN if big_endian else NDR
    if syntax in (None, NDR64_SYNTAX) and not big_endian:
        yield NDR64


def decode_call(event: CallEvent) -> DecodedCall:
    """Decode the stubs of a call whose presentation context is known; raises nothing."""
    interface = None if event.interface is None else INTERFACES.get(event.interface.uuid)
    if interface is None or event.opnum is None or event.syntax is None:
        return DecodedCall(event=event, interface=interface)
    method = interface.method(event.opnum, callback=event.callback)
    syntax = next(_syntaxes(event.syntax.uuid, event.request or event.response), None)
    return _decoded(event, interface, method, syntax, guessed=False)


def _decoded(
    event: CallEvent, interface: Interface, method: Method | None, syntax: Syntax | None, *, guessed: bool
) -> DecodedCall:
    if method is None or syntax is None:
        return DecodedCall(event=event, interface=interface, method=method, syntax=syntax, guessed=guessed)
    return DecodedCall(
        event=event,
        interface=interface,
        method=method,
        syntax=syntax,
        guessed=guessed,
        request=_opened(method, "request", event.request, syntax),
        response=_opened(method, "response", event.response, syntax),
    )


def _opened(method: Method, side: Side, stub: Stub | None, syntax: Syntax) -> InspectedStub | None:
    if stub is None or stub.sealed or stub.headless:
        return None
    own = syntax
    if not syntax.wide and stub.big_endian != syntax.big_endian:
        # Each side writes in its own byte order.
        own = NDR_BIG_ENDIAN if stub.big_endian else NDR
    return inspect_stub(method.parameters(side), stub.data, own)


def guess_call(event: CallEvent, offered: GUID | None = None) -> DecodedCall | None:
    """Decode a call whose presentation context is not known, None when it is not plain that it is MSMQ's.

    With ``offered``, the interface that the client asked for, only its syntax is guessed. Without it that
    takes evidence: request and response whole, in the clear and without a fault, `_EVIDENCE` bytes together,
    and a method that both fit to the last byte and without an anomaly. Small calls look alike in many
    interfaces; `follow_guess` reads those of a context once one of its calls was plain.
    """
    request, response = event.request, event.response
    if request is None or response is None or event.fault is not None:
        return None
    if offered is None and len(request.data) + len(response.data) < _EVIDENCE:
        return None
    if any(stub.sealed or not stub.complete for stub in (request, response)):
        return None
    if event.opnum is None:
        return None
    for interface in INTERFACES.values():
        method = interface.method(event.opnum, callback=event.callback)
        if method is None or offered not in (None, interface.uuid):
            continue
        for syntax in _syntaxes(None, request):
            call = _decoded(event, interface, method, syntax, guessed=True)
            if fits(call.request) and fits(call.response):
                return call
    return None


def follow_guess(event: CallEvent, interface: Interface, syntax: Syntax) -> DecodedCall:
    """Decode a call of a context whose interface and syntax another of its calls told."""
    method = interface.method(event.opnum, callback=event.callback)
    return _decoded(event, interface, method, syntax, guessed=True)


def fits(stub: InspectedStub | None) -> bool:
    """Whether a stub is what its method has, to the last byte."""
    if stub is None or stub.error is not None or stub.anomalies or stub.residue.filler:
        return False
    return len(stub.remainder) <= _PADDING and not any(stub.remainder)
