"""What an association gives: binds, calls and what is left over, as plain values.

``frames`` are the distinct 1-based numbers of the frames that carry an item, ``time`` is nanoseconds since
1970 of the last of them, ``offset`` counts bytes of its direction of the TCP connection.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from msmq_wire.wire.types.guid import GUID


class SyntaxId(msgspec.Struct, frozen=True, gc=False):
    """An interface or a transfer syntax with its version."""

    uuid: GUID
    major: int
    minor: int


class PresentationContext(msgspec.Struct, frozen=True, gc=False):
    """One element of a bind with the server's answer.

    ``result`` (0 acceptance, 1 user rejection, 2 provider rejection, 3 negotiate_ack) and ``reason`` are None
    while there is no answer; ``accepted`` is the transfer syntax that the server chose.
    """

    context_id: int
    interface: SyntaxId
    transfer_syntaxes: tuple[SyntaxId, ...]
    result: int | None = None
    reason: int | None = None
    accepted: SyntaxId | None = None


class BindEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """bind or alter_context with its answer (bind_ack, bind_nak, alter_context_resp), or without one.

    ``nak_reason`` is that of a bind_nak. ``header_signing`` is what both sides said. ``account`` and ``note``
    are those of the `Negotiation`, so far.
    """

    alter: bool
    from_client: bool = True
    call_id: int
    contexts: tuple[PresentationContext, ...]
    max_xmit_frag: int = 0
    max_recv_frag: int = 0
    association_group: int = 0
    secondary_address: str = ""
    answered: bool = False
    nak_reason: int | None = None
    auth_type: int = 0
    auth_level: int = 1
    header_signing: bool = False
    account: str = ""
    note: str = ""
    frames: tuple[int, ...] = ()
    time: int = 0
    offset: int = 0
    length: int = 0


class Stub(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The reassembled stub of a request or a response.

    ``data`` is in the clear and without authentication padding and verification trailer; ``sealed`` says that
    it is still encrypted and cannot be read. ``verified`` is None when no signature could be judged, False
    when one is wrong. ``trailer`` is the verification trailer. ``complete`` is False when fragments are
    missing: ``data`` is then what stood before the first of them, and nothing when the first fragment itself
    is missing (``headless``). ``frames`` and ``length``, the bytes of its PDUs on the stream from ``offset``
    on, count every PDU.
    """

    data: bytes
    big_endian: bool = False
    complete: bool = True
    headless: bool = False
    sealed: bool = False
    auth_level: int = 1
    verified: bool | None = None
    trailer: bytes = b""
    object_uuid: GUID | None = None
    note: str = ""
    frames: tuple[int, ...] = ()
    time: int = 0
    offset: int = 0
    length: int = 0


class FaultEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fault PDU: ``status`` is an RPC or HRESULT code, ``flags`` are its pfc_flags."""

    call_id: int
    status: int
    flags: int = 0
    cancel_count: int = 0
    frames: tuple[int, ...] = ()
    time: int = 0
    offset: int = 0
    length: int = 0


class CallEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call: request with response or fault, one of them None when it was not seen.

    ``interface`` and ``syntax`` are None when the presentation context is not known (the capture starts after
    the bind). ``callback`` says that the server asked, while it answered a call of the same id: opnums are
    those of callbacks then. ``cancelled`` and ``orphaned`` say that the client sent co_cancel or orphaned for
    it.
    """

    call_id: int
    context_id: int
    opnum: int | None
    interface: SyntaxId | None
    syntax: SyntaxId | None
    request: Stub | None = None
    response: Stub | None = None
    fault: FaultEvent | None = None
    callback: bool = False
    cancelled: bool = False
    orphaned: bool = False


class ControlEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A PDU that is no part of a call: shutdown, auth3 (which completes a bind), or one of undefined type."""

    ptype: int
    from_client: bool
    call_id: int
    note: str = ""
    frames: tuple[int, ...] = ()
    time: int = 0
    offset: int = 0
    length: int = 0


class SkippedBytes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes in no PDU: missing from the capture (``missing``; length None when unknown) or captured."""

    from_client: bool
    reason: Literal["loss", "snaplen", "pending-limit", "no-pdu", "rest-of-pdu"]
    missing: bool
    frames: tuple[int, ...] = ()
    time: int = 0
    offset: int = 0
    length: int | None = 0
    data: bytes = b""


RpcEvent: TypeAlias = BindEvent | CallEvent | FaultEvent | ControlEvent | SkippedBytes
