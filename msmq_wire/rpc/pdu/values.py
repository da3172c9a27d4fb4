"""The PDUs of connection-oriented DCE/RPC as plain values, C706 12.6 with [MS-RPCE] 2.2.2.

The rule kept here: a value holds every bit of its PDU, reserved fields and filler included, and nothing that
follows from the rest (frag_length and auth_length are sizes of what is there).
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar, TypeAlias

import msgspec

from msmq_wire.rpc.events import SyntaxId
from msmq_wire.wire.types.guid import GUID


class PduType(IntEnum):
    """``PTYPE`` of the connection-oriented protocol, C706 12.6.3.1 and [MS-RPCE] 2.2.2.10."""

    REQUEST = 0
    RESPONSE = 2
    FAULT = 3
    BIND = 11
    BIND_ACK = 12
    BIND_NAK = 13
    ALTER_CONTEXT = 14
    ALTER_CONTEXT_RESP = 15
    AUTH3 = 16
    SHUTDOWN = 17
    CO_CANCEL = 18
    ORPHANED = 19


PFC_FIRST_FRAG = 0x01
PFC_LAST_FRAG = 0x02
PFC_SUPPORT_HEADER_SIGN = 0x04
"""In bind, alter_context, their answers and auth3; PFC_PENDING_CANCEL in others, [MS-RPCE] 2.2.2.3."""
PFC_CONC_MPX = 0x10
PFC_DID_NOT_EXECUTE = 0x20
PFC_MAYBE = 0x40
PFC_OBJECT_UUID = 0x80

LITTLE_ENDIAN = b"\x10\x00\x00\x00"
"""``packed_drep``: little-endian integers, ASCII, IEEE floating point."""
BIG_ENDIAN = b"\x00\x00\x00\x00"


class SecTrailer(msgspec.Struct, frozen=True, gc=False):
    """The authentication verifier at the end of a PDU, [MS-RPCE] 2.2.2.11.

    ``auth_pad_length`` is as on the wire: it may exceed what is in front of it. ``auth_value`` is not empty.
    """

    auth_type: int
    auth_level: int
    auth_pad_length: int = 0
    auth_reserved: int = 0
    auth_context_id: int = 0
    auth_value: bytes = b""


class _Common(msgspec.Struct, frozen=True, gc=False):
    """Common header, C706 12.6.3.1, and the sec_trailer (None when auth_length is 0)."""

    pfc_flags: int = PFC_FIRST_FRAG | PFC_LAST_FRAG
    call_id: int = 0
    packed_drep: bytes = LITTLE_ENDIAN
    rpc_vers_minor: int = 0
    sec_trailer: SecTrailer | None = None

    @property
    def big_endian(self) -> bool:
        """Whether the integers of header and stub are big-endian, C706 14.2.5."""
        return not self.packed_drep[0] & 0x10


class Request(_Common, frozen=True, gc=False):
    """A call, or a fragment of one, C706 12.6.4.9.

    ``stub`` is as captured: sealed at level privacy, and with the authentication padding at its end.
    ``object_uuid`` is there when PFC_OBJECT_UUID is set.
    """

    ptype: ClassVar[int] = PduType.REQUEST
    alloc_hint: int = 0
    context_id: int = 0
    opnum: int = 0
    stub: bytes = b""
    object_uuid: GUID | None = None


class Response(_Common, frozen=True, gc=False):
    """An answer, or a fragment of one, C706 12.6.4.10; ``stub`` as in `Request`."""

    ptype: ClassVar[int] = PduType.RESPONSE
    alloc_hint: int = 0
    context_id: int = 0
    cancel_count: int = 0
    reserved: int = 0
    stub: bytes = b""


class Fault(_Common, frozen=True, gc=False):
    """A call that failed, C706 12.6.4.7 and [MS-RPCE] 2.2.2.8.

    ``reserved2`` is four bytes, fewer where the PDU ends inside it; ``stub`` is what follows (extended error
    information when the low bit of ``reserved`` is set).
    """

    ptype: ClassVar[int] = PduType.FAULT
    alloc_hint: int = 0
    context_id: int = 0
    cancel_count: int = 0
    reserved: int = 0
    status: int = 0
    reserved2: bytes = bytes(4)
    stub: bytes = b""


class ContextElement(msgspec.Struct, frozen=True, gc=False):
    """One presentation context that is offered: p_cont_elem_t, C706 12.6.3.1."""

    context_id: int
    abstract_syntax: SyntaxId
    transfer_syntaxes: tuple[SyntaxId, ...]
    reserved: int = 0


class ContextResult(msgspec.Struct, frozen=True, gc=False):
    """The answer to one context: p_result_t; result 3 is negotiate_ack, [MS-RPCE] 2.2.2.4."""

    result: int
    reason: int
    transfer_syntax: SyntaxId


class Bind(_Common, frozen=True, gc=False):
    """The first PDU of a connection, C706 12.6.4.3.

    ``reserved`` and ``reserved2`` stand behind the count of contexts; ``rest`` is what lies between the last
    context and the sec_trailer.
    """

    ptype: ClassVar[int] = PduType.BIND
    max_xmit_frag: int = 0
    max_recv_frag: int = 0
    assoc_group_id: int = 0
    contexts: tuple[ContextElement, ...] = ()
    reserved: int = 0
    reserved2: int = 0
    rest: bytes = b""


class AlterContext(Bind, frozen=True, gc=False):
    """New contexts, or the next leg of a negotiation, C706 12.6.4.1; the layout of `Bind`."""

    ptype: ClassVar[int] = PduType.ALTER_CONTEXT


class BindAck(_Common, frozen=True, gc=False):
    """What the server accepts, C706 12.6.4.4.

    ``sec_addr`` are the bytes of the secondary address with their NUL, ``sec_addr_padding`` the 0 to 3 bytes
    that align the list of results to 4 from the start of the PDU.
    """

    ptype: ClassVar[int] = PduType.BIND_ACK
    max_xmit_frag: int = 0
    max_recv_frag: int = 0
    assoc_group_id: int = 0
    sec_addr: bytes = b""
    sec_addr_padding: bytes = b""
    results: tuple[ContextResult, ...] = ()
    reserved: int = 0
    reserved2: int = 0
    rest: bytes = b""


class AlterContextResp(BindAck, frozen=True, gc=False):
    """The answer to alter_context, C706 12.6.4.2; the layout of `BindAck`."""

    ptype: ClassVar[int] = PduType.ALTER_CONTEXT_RESP


class BindNak(_Common, frozen=True, gc=False):
    """A refused bind, C706 12.6.4.5 and [MS-RPCE] 2.2.2.9.

    ``versions`` are (major, minor), None where the PDU ends behind the reason; ``rest`` is what follows them:
    padding, or a signature with extended error information.
    """

    ptype: ClassVar[int] = PduType.BIND_NAK
    reject_reason: int = 0
    versions: tuple[tuple[int, int], ...] | None = ()
    rest: bytes = b""


class Auth3(_Common, frozen=True, gc=False):
    """The third leg of a negotiation, never answered, [MS-RPCE] 2.2.2.10; ``rest`` is its pad, 4 bytes."""

    ptype: ClassVar[int] = PduType.AUTH3
    rest: bytes = bytes(4)


class Shutdown(_Common, frozen=True, gc=False):
    """The server asks to close the connection, C706 12.6.4.11."""

    ptype: ClassVar[int] = PduType.SHUTDOWN
    rest: bytes = b""


class CoCancel(_Common, frozen=True, gc=False):
    """The client cancels a call, C706 12.6.4.6."""

    ptype: ClassVar[int] = PduType.CO_CANCEL
    rest: bytes = b""


class Orphaned(_Common, frozen=True, gc=False):
    """The client gives a call up, C706 12.6.4.8."""

    ptype: ClassVar[int] = PduType.ORPHANED
    rest: bytes = b""


class UnknownPdu(_Common, frozen=True, gc=False):
    """A PDU of another type; ``rest`` is what lies between the common header and the sec_trailer."""

    ptype: int = 0xFF
    rest: bytes = b""


Pdu: TypeAlias = (
    Request
    | Response
    | Fault
    | Bind
    | BindAck
    | BindNak
    | AlterContext
    | AlterContextResp
    | Auth3
    | Shutdown
    | CoCancel
    | Orphaned
    | UnknownPdu
)
