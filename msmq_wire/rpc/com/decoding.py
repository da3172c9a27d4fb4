"""Calls on objects with their parameters: `decode_com_call`, `guess_com_call`.

The rule kept here: the interface comes from the bind, where the client names its IID, or from the interface
pointer whose IPID the request carries. Without both, only ReceiveCurrent_v1 is guessed, and the result says
so.
"""

from __future__ import annotations

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.com.conformant import StubRemainder
from msmq_wire.rpc.com.orpc import ORPC_THAT, OrpcThis
from msmq_wire.rpc.com.queue_interfaces import (
    COM_INTERFACES,
    RECEIVE_CURRENT,
    OrpcRequest,
    OrpcResponse,
    ReceiveCurrentRequest,
    object_interface_name,
)
from msmq_wire.rpc.com.variant import DISP_E_PARAMNOTFOUND, VariantType, pointed_at
from msmq_wire.rpc.decoding import NDR64_SYNTAX, NDR_SYNTAX, DecodedCall, fits, follow_guess
from msmq_wire.rpc.events import CallEvent, Stub, SyntaxId
from msmq_wire.rpc.interfaces.method import Interface
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, Parameters, Syntax, inspect_stub
from msmq_wire.rpc.ndr.stub import InspectedStub
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

_REQUEST, _RESPONSE = Parameters(OrpcRequest), Parameters(OrpcResponse)
_CUT_RESPONSE = Parameters(OrpcResponse, {"orpcthat": ORPC_THAT, "stub": StubRemainder()})
_MAJOR, _NEWEST = 5, 7
_TAKES = {
    "transaction": (VariantType.VT_I4, VariantType.VT_DISPATCH),
    "want_destination_queue": (VariantType.VT_BOOL,),
    "want_body": (VariantType.VT_BOOL,),
    "receive_timeout": (VariantType.VT_I4,),
}


def decode_com_call(event: CallEvent, iid: GUID) -> DecodedCall:
    """Decode a call on an object whose interface is known.

    Of an interface that is no queue object's, only ORPCTHIS, ORPCTHAT and the HRESULT are opened. Where the
    transfer syntax was not captured it is the one that the stubs fit. Raises nothing.
    """
    interface = COM_INTERFACES.get(iid)
    if interface is None:
        name = object_interface_name(iid) or str(iid)
        interface = Interface(name, iid, SpecRef("MS-DCOM", "2.2.13"), {})
    return _decoded(event, interface, _syntax(event, interface), guessed=False)


def follow_com_call(event: CallEvent, interface: Interface, syntax: Syntax) -> DecodedCall:
    """Decode a call of a context whose interface another of its calls told."""
    return _decoded(event, interface, syntax, guessed=True)


def guess_com_call(event: CallEvent) -> DecodedCall | None:
    """Decode a call that is ReceiveCurrent_v1 by its shape; None where that is not plain.

    That takes a request on an object, whole and in the clear, with a version of DCOM that there is and the
    four arguments in types that the method takes, to the last byte; and an answer, if there is one, that
    fits as well. The interface is then the first of the four: this opnum is the same in all.
    """
    request = event.request
    if event.opnum != RECEIVE_CURRENT or request is None or request.object_uuid is None:
        return None
    if request.sealed or request.headless or not request.complete:
        return None
    interface = next(iter(COM_INTERFACES.values()))
    for syntax in (NDR_BIG_ENDIAN,) if request.big_endian else (NDR, NDR64):
        call = _decoded(event, interface, syntax, guessed=True)
        if fits(call.request) and _takes(call.request) and (call.response is None or fits(call.response)):
            return call
    return None


def _decoded(event: CallEvent, interface: Interface, syntax: Syntax | None, *, guessed: bool) -> DecodedCall:
    method = None if event.opnum is None else interface.methods.get(event.opnum)
    if syntax is None:
        return DecodedCall(event=event, interface=interface, method=method, guessed=guessed)
    if method is not None:
        call = msgspec.structs.replace(follow_guess(event, interface, syntax), guessed=guessed)
    else:
        call = DecodedCall(
            event=event,
            interface=interface,
            syntax=syntax,
            guessed=guessed,
            request=_opened(_REQUEST, event.request, syntax),
            response=_opened(_RESPONSE, event.response, syntax),
        )
    opened, stub = call.response, event.response
    if opened is None or stub is None or stub.complete or not isinstance(opened.value, OrpcResponse):
        return call
    # Where the end was not captured, the last bytes are no HRESULT.
    cut = _opened(_CUT_RESPONSE, stub, syntax)
    if cut is not None and cut.value is not None and cut.error is None:
        length = len(stub.data)
        cut = InspectedStub(
            value=msgspec.structs.replace(cut.value, status=msgspec.UNSET),
            residue=cut.residue,
            anomalies=cut.anomalies,
            error=DecodeError("missing-bytes", f"cut behind {length} bytes", path="status", offset=length),
        )
    return msgspec.structs.replace(call, response=cut)


def _opened(parameters: Parameters, stub: Stub | None, syntax: Syntax) -> InspectedStub | None:
    if stub is None or stub.sealed or stub.headless:
        return None
    own = syntax if syntax.wide else NDR_BIG_ENDIAN if stub.big_endian else NDR
    return inspect_stub(parameters, stub.data, own)


def _syntax(event: CallEvent, interface: Interface) -> Syntax | None:
    stub = event.request or event.response
    plain = NDR_BIG_ENDIAN if stub is not None and stub.big_endian else NDR
    agreed: SyntaxId | None = event.syntax
    if agreed is not None:
        return {NDR_SYNTAX: plain, NDR64_SYNTAX: NDR64}.get(agreed.uuid)
    if plain is NDR:
        # ORPCTHIS fits both; a pointer of 8 bytes behind it does not.
        for syntax in (NDR, NDR64):
            call = _decoded(event, interface, syntax, guessed=False)
            if all(one is None or fits(one) for one in (call.request, call.response)):
                return syntax
    return plain


def _takes(stub: InspectedStub | None) -> bool:
    """Whether a request is of a client of DCOM, and has arguments that ReceiveCurrent_v1 takes."""
    value = None if stub is None else stub.value
    if not isinstance(value, ReceiveCurrentRequest) or not _credible(value.orpcthis):
        return False
    for name, types in _TAKES.items():
        found = pointed_at(getattr(value, name))
        if found is None:
            return False
        kind, content = found[0] & ~VariantType.VT_BYREF, found[1]
        if kind not in types and (kind, content) != (VariantType.VT_ERROR, DISP_E_PARAMNOTFOUND):
            return False
    return True


def _credible(this: OrpcThis) -> bool:
    version = this.version
    return version.major_version == _MAJOR and version.minor_version <= _NEWEST and not this.reserved1
