"""What the ``packet`` of RPC records holds: `RpcBind`, `RpcCall`, `RpcFault`, `TransferBuffer`."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import msgspec

from msmq_wire.representation import label_text, line, shortened, struct_line
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.spec import SpecRef
from msmq_wire.wire.partial import reached_number
from msmq_wire.wire.private import HOST, IDENTIFIER, NOTE, PUBLIC, QUEUE_NAME, Private
from msmq_wire.wire.types.guid import GUID

if TYPE_CHECKING:
    from msmq_wire.rpc.interfaces import Members, Method, Role
    from msmq_wire.wire.fields import WireStruct

    _Parameters: TypeAlias = WireStruct | None
else:
    # Each method has a structure of its own: a table holds JSON text.
    _Parameters = Any


class RpcBindContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One interface that a client asked for, in which transfer syntaxes, and the answer.

    ``interface`` is a name, or the UUID of an interface that is not MSMQ's. ``result`` is None while there is
    no answer: 0 accepted, 1 refused by the server, 2 refused by its RPC runtime, 3 an answer about features.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-RPCE", "2.2.2.4")
    context_id: Annotated[int, "Number that calls name it by."]
    interface: Annotated[str, PUBLIC, "Its name, or the UUID of one that is not MSMQ's."]
    version: Annotated[str, PUBLIC, "Its version."]
    transfer_syntaxes: Annotated[tuple[str, ...], PUBLIC, "Offered: ndr, ndr64 or a UUID."]
    result: Annotated[
        int | None, "0 accepted, 1 refused by the server, 2 by its RPC runtime, 3 about features."
    ] = None
    reason: Annotated[int | None, "Why it was refused."] = None
    accepted: Annotated[str | None, PUBLIC, "The transfer syntax that the server chose."] = None

    __repr__ = struct_line


class RpcBind(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """bind or alter_context with its answer, [MS-RPCE] 2.2.2.

    ``account`` is whom the client says it is, ``note`` why its calls cannot be opened.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-RPCE", "2.2.2")
    call_id: Annotated[int, "Number of the exchange on its connection."]
    alter_context: Annotated[bool, "Whether it is an alter_context, which adds interfaces to a connection."]
    answered: Annotated[bool, "Whether the answer was captured."]
    nak_reason: Annotated[int | None, "Why the server refused all of it, by its bind_nak."]
    contexts: Annotated[
        tuple[RpcBindContext, ...], "The interfaces that the client asked for, with the answer to each."
    ]
    auth_type: Annotated[int, "Security provider: 9 SPNEGO, 10 NTLM, 16 Kerberos; 0 for none."]
    auth_level: Annotated[int, "1 none, 2 connect, 3 call, 4 packet, 5 integrity, 6 privacy."]
    header_signing: Annotated[bool, "Whether both sides sign headers too."]
    account: Annotated[str, HOST, "Whom the client says it is."]
    note: Annotated[str, NOTE, "Why its calls cannot be opened."]
    max_xmit_frag: Annotated[int, "Bytes of the longest fragment that the client sends."]
    max_recv_frag: Annotated[int, "Bytes of the longest fragment that the client takes."]
    association_group: Annotated[int, "Group of connections of one client."]
    secondary_address: Annotated[str, Private("host", "port"), "Port that the server names."]

    __repr__ = struct_line


class RpcCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call: request and response in one.

    ``request`` and ``response`` are None where they were not captured, or are ``sealed`` and no key opens
    them. ``status`` is the HRESULT of the response or the code of the ``fault``. ``guessed`` says that
    interface and syntax were not captured. ``verified`` is False when a signature is wrong, None when none
    could be judged.
    ``queue`` is the format name that the call names, or that its handle was opened with; ``opened_frame`` and
    ``started_frame`` are the frames that completed the calls that opened this handle and began this receive.
    ``account`` is whom the client says it is, empty where that is not known or a negotiator was not given.
    ``latency`` is the nanoseconds from the last frame of the request to the last of the response.
    """

    SPEC: ClassVar[SpecRef] = SpecRef("MS-RPCE", "2.2.2")
    interface: Annotated[str, PUBLIC, "Name of the interface, or unknown."]
    opnum: Annotated[int | None, "Number of the method."]
    method: Annotated[str | None, PUBLIC, "Name of the method."]
    syntax: Annotated[str | None, PUBLIC, "ndr, ndr64, or the UUID of another transfer syntax."]
    request: Annotated[_Parameters, "Parameters of the request; JSON text in a table."] = None
    response: Annotated[_Parameters, "Parameters of the response; JSON text in a table."] = None
    status: Annotated[int | None, "HRESULT of the response, or the code of the fault."] = None
    fault: Annotated[bool, "Whether the server answered with a fault."] = False
    queue: Annotated[
        str | None,
        QUEUE_NAME,
        "Format name of the queue that the call names, or that its handle was opened with.",
    ] = None
    request_id: Annotated[
        int | None, "The client's number of the receive that the call begins, ends or cancels."
    ] = None
    columns: Annotated[
        tuple[int, ...],
        "Properties that the values of the response are of, by the lookup that it goes on with.",
    ] = ()
    opened_frame: Annotated[int | None, "Frame that completed the call that opened this handle."] = None
    started_frame: Annotated[int | None, "Frame that completed the call that began this receive."] = None
    latency: Annotated[
        int | None, "Nanoseconds from the last frame of the request to the last of the response."
    ] = None
    call_id: Annotated[int, "Number of the exchange on its connection."] = 0
    context_id: Annotated[int, "Number of the interface on its connection."] = 0
    callback: Annotated[bool, "Whether the server asks the client, while it answers another call."] = False
    guessed: Annotated[bool, "Whether interface and syntax are guessed from opnum and shape."] = False
    sealed: Annotated[bool, "Whether a side is encrypted and no key opens it."] = False
    verified: Annotated[bool | None, "False when a signature is wrong, null when none could be judged."] = (
        None
    )
    auth_level: Annotated[int, "1 none, 2 connect, 3 call, 4 packet, 5 integrity, 6 privacy."] = 1
    account: Annotated[str, HOST, "Whom the client says it is, empty where that is not known."] = ""
    object_uuid: Annotated[GUID | None, IDENTIFIER, "The object that the request names."] = None
    verification_trailer: Annotated[bytes, "What the client repeats of its header, [MS-RPCE] 2.2.2.13."] = b""
    cancelled: Annotated[bool, "Whether the client called it off."] = False
    orphaned: Annotated[bool, "Whether the client gave it up."] = False
    complete: Annotated[bool, "Whether all fragments were captured."] = True
    note: Annotated[str, NOTE, "What could not be opened or is wrong with a signature."] = ""

    def __repr__(self) -> str:
        method = self.method or f"{self.interface} opnum {self.opnum}"
        status = "" if self.status is None else f"{'fault' if self.fault else 'status'} {self.status:#010x}"
        queue = f"queue {shortened(self.queue, 48)}" if self.queue else ""
        return line(self, ", ".join(filter(None, (shortened(method), status, queue))))

    @property
    def queue_and_label(self) -> tuple[str, str]:
        """The queue of the call, empty where it is not known, and no label."""
        return self.queue or "", ""

    @property
    def role(self) -> Role | None:
        """What its method does; None where the method is not known, or nothing depends on it."""
        known = _known(self.method)
        return None if known is None else known.role

    @property
    def does(self) -> str:
        """What its method does in words; empty where the method is not known, or its role says it."""
        known = _known(self.method)
        return "" if known is None else known.does

    @property
    def members(self) -> Members:
        """Which of its parameters are what."""
        known = _known(self.method)
        return _no_members() if known is None else known.members

    def asked(self, path: str) -> int | None:
        """The number in a member of the request, by its name in `members`; None where there is none."""
        return reached_number(self.request, path)

    def number_at(self, path: str) -> int | None:
        """The number in a member of the response."""
        return reached_number(self.response, path)


# Interfaces are loaded where calls are, not with every capture.
@lru_cache(256)
def _known(method: str | None) -> Method | None:
    from msmq_wire.rpc.interfaces import METHODS

    return METHODS.get(method or "")


@cache
def _no_members() -> Members:
    from msmq_wire.rpc.interfaces import Members

    return Members()


class RpcFault(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fault PDU; its call is the record's parent."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-RPCE", "2.2.2")
    call_id: Annotated[int, "Number of the exchange on its connection."]
    status: Annotated[int, "HRESULT, or status of the RPC runtime."]
    flags: Annotated[int, "Flags of the fault's PDU."]
    cancel_count: Annotated[int, "Cancels that the server has received."]

    __repr__ = struct_line


class TransferBuffer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message in a CACTransferBufferV2, [MS-MQMP] 3.1.1.11; ``queue`` is the one its call is about."""

    SPEC: ClassVar[SpecRef] = SpecRef("MS-MQMP", "3.1.1.11")
    queue: Annotated[str | None, QUEUE_NAME, "Format name of the queue that the call is about."]
    properties: Annotated[MessageProperties, "Properties of the message."]

    @property
    def queue_and_label(self) -> tuple[str, str]:
        """The format name of the destination queue and the label, empty where they are not known."""
        queue = self.properties.destination_queue_format_name or self.queue
        return queue or "", "" if self.properties.label is None else self.properties.label.text

    def __repr__(self) -> str:
        queue, label = self.queue_and_label
        return line(self, label_text(label), f"to {shortened(queue, 56)}" if queue else "")
