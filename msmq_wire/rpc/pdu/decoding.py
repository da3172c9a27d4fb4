"""Decode one PDU of connection-oriented DCE/RPC, and tell whether bytes look like one.

The rules kept here:

* Integers follow the byte order of ``packed_drep``, UUIDs included (their value is kept little-endian).
* The sec_trailer stands at frag_length - auth_length - 8, whatever its alignment ([MS-RPCE] 2.2.2.11).
* Counts are bounded by the bytes that are there; what no field claims is kept as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from struct import Struct
from typing import NoReturn

from msmq_wire.buffers import as_bytes
from msmq_wire.errors import DecodeError
from msmq_wire.rpc.events import SyntaxId
from msmq_wire.rpc.pdu.values import (
    PFC_FIRST_FRAG,
    PFC_LAST_FRAG,
    AlterContext,
    AlterContextResp,
    Auth3,
    Bind,
    BindAck,
    BindNak,
    CoCancel,
    ContextElement,
    ContextResult,
    Fault,
    Orphaned,
    Pdu,
    PduType,
    Request,
    Response,
    SecTrailer,
    Shutdown,
    UnknownPdu,
)
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID

COMMON_HEADER = 16
"""Bytes of the common header."""
_WHOLE = PFC_FIRST_FRAG | PFC_LAST_FRAG
_SEC_TRAILER = 8
_SYNTAX_ID = 20

_HEADER_SPEC = SpecRef("C706", "12.6.3.1")
_TRAILER_SPEC = SpecRef("MS-RPCE", "2.2.2.11")
_SPECS = {
    PduType.REQUEST: SpecRef("C706", "12.6.4.9"),
    PduType.RESPONSE: SpecRef("C706", "12.6.4.10"),
    PduType.FAULT: SpecRef("C706", "12.6.4.7"),
    PduType.BIND: SpecRef("C706", "12.6.4.3"),
    PduType.BIND_ACK: SpecRef("C706", "12.6.4.4"),
    PduType.BIND_NAK: SpecRef("MS-RPCE", "2.2.2.9"),
    PduType.ALTER_CONTEXT: SpecRef("C706", "12.6.4.1"),
    PduType.ALTER_CONTEXT_RESP: SpecRef("C706", "12.6.4.2"),
}


class _Order:
    """The parts of fixed layout in one byte order."""

    __slots__ = (
        "bind",
        "call",
        "context",
        "count",
        "fault",
        "header",
        "little",
        "response",
        "result",
        "short",
        "syntax",
        "trailer",
    )

    def __init__(self, order: str) -> None:
        self.little = order == "<"
        self.header = Struct(order + "BBBB4sHHI")
        self.trailer = Struct(order + "BBBBI")
        self.call = Struct(order + "IHH")
        self.response = Struct(order + "IHBB")
        self.fault = Struct(order + "IHBBI")
        self.bind = Struct(order + "HHI")
        self.count = Struct(order + "BBH")
        self.context = Struct(order + "HBB")
        self.result = Struct(order + "HH")
        self.short = Struct(order + "H")
        self.syntax = Struct(order + "16sI")


_LITTLE, _BIG = _Order("<"), _Order(">")
_Common = tuple[int, int, bytes, int, SecTrailer | None]


def decode_pdu(data: bytes) -> Pdu:
    """Decode the PDU that ``data`` starts with; what follows its frag_length is not looked at.

    `encode_pdu` gives the same ``frag_length`` bytes back. C706 12.6, [MS-RPCE] 2.2.2. Raises `DecodeError`:
    ``missing-bytes``, ``rpc-version``, ``frag-length`` (below 16), ``auth-length`` (larger than the PDU).
    """
    if data.__class__ is not bytes:
        data = as_bytes(data)
    if len(data) < COMMON_HEADER:
        _missing(len(data), "common_header", _HEADER_SPEC)
    order = _LITTLE if data[4] & 0x10 else _BIG
    vers, minor, ptype, flags, drep, frag_length, auth_length, call_id = order.header.unpack_from(data)
    if vers != 5 or frag_length < COMMON_HEADER or len(data) < frag_length:
        _refuse_header(vers, frag_length, len(data))
    end, trailer = frag_length, None
    if auth_length:
        end = frag_length - auth_length - _SEC_TRAILER
        if end < COMMON_HEADER:
            message = f"auth_length {auth_length} does not fit into a PDU of {frag_length} bytes"
            raise DecodeError("auth-length", message, path="auth_length", offset=10, spec=_TRAILER_SPEC)
        kind, level, pad, auth_reserved, auth_context_id = order.trailer.unpack_from(data, end)
        auth_value = data[end + _SEC_TRAILER : frag_length]
        trailer = SecTrailer(kind, level, pad, auth_reserved, auth_context_id, auth_value)
    if ptype == PduType.REQUEST:
        if end < 24:
            _missing(end, "request", _SPECS[PduType.REQUEST])
        alloc_hint, context_id, opnum = order.call.unpack_from(data, 16)
        if not flags & 0x80:
            return Request(flags, call_id, drep, minor, trailer, alloc_hint, context_id, opnum, data[24:end])
        if end < 40:
            _missing(end, "object_uuid", _SPECS[PduType.REQUEST])
        uuid = _uuid(order, data[24:40])
        return Request(
            flags, call_id, drep, minor, trailer, alloc_hint, context_id, opnum, data[40:end], uuid
        )
    if ptype == PduType.RESPONSE:
        if end < 24:
            _missing(end, "response", _SPECS[PduType.RESPONSE])
        alloc_hint, context_id, count, reserved = order.response.unpack_from(data, 16)
        return Response(
            flags, call_id, drep, minor, trailer, alloc_hint, context_id, count, reserved, data[24:end]
        )
    common = (flags, call_id, drep, minor, trailer)
    decoder = _DECODERS.get(ptype)
    if decoder is None:
        return UnknownPdu(*common, ptype, data[COMMON_HEADER:end])
    return decoder(data, end, order, common)


def _missing(offset: int, path: str, spec: SpecRef) -> NoReturn:
    raise DecodeError("missing-bytes", "the bytes end", path=path, offset=offset, spec=spec)


def _refuse_header(vers: int, frag_length: int, size: int) -> NoReturn:
    if vers != 5:
        message = f"version {vers} is not 5"
        raise DecodeError("rpc-version", message, path="rpc_vers", offset=0, spec=_HEADER_SPEC)
    if frag_length < COMMON_HEADER:
        message = f"frag_length {frag_length} is below 16"
        raise DecodeError("frag-length", message, path="frag_length", offset=8, spec=_HEADER_SPEC)
    message = f"frag_length is {frag_length}, there are {size} bytes"
    raise DecodeError("missing-bytes", message, path="frag_length", offset=size, spec=_HEADER_SPEC)


def _uuid(order: _Order, raw: bytes) -> GUID:
    return GUID(raw if order.little else raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:])


def _syntax(order: _Order, data: bytes, at: int) -> SyntaxId:
    raw, version = order.syntax.unpack_from(data, at)
    return SyntaxId(_uuid(order, raw), version & 0xFFFF, version >> 16)


def _fault(data: bytes, end: int, order: _Order, common: _Common) -> Fault:
    if end < 28:
        _missing(end, "fault", _SPECS[PduType.FAULT])
    alloc_hint, context_id, count, reserved, status = order.fault.unpack_from(data, 16)
    reserved2 = data[28 : min(32, end)]
    return Fault(*common, alloc_hint, context_id, count, reserved, status, reserved2, data[32:end])


def _bind(data: bytes, end: int, order: _Order, common: _Common) -> Bind:
    return _offer(Bind, data, end, order, common)


def _alter_context(data: bytes, end: int, order: _Order, common: _Common) -> Bind:
    return _offer(AlterContext, data, end, order, common)


def _offer(cls: type[Bind], data: bytes, end: int, order: _Order, common: _Common) -> Bind:
    spec = _SPECS[PduType(cls.ptype)]
    if end < 28:
        _missing(end, "p_context_elem", spec)
    xmit, recv, group = order.bind.unpack_from(data, 16)
    count, reserved, reserved2 = order.count.unpack_from(data, 24)
    at = 28
    contexts = []
    for index in range(count):
        if end < at + 4 + _SYNTAX_ID:
            _missing(end, f"p_context_elem[{index}]", spec)
        context_id, transfers, element_reserved = order.context.unpack_from(data, at)
        abstract = _syntax(order, data, at + 4)
        at += 4 + _SYNTAX_ID
        stop = at + transfers * _SYNTAX_ID
        if end < stop:
            _missing(end, f"p_context_elem[{index}].transfer_syntaxes", spec)
        syntaxes = tuple([_syntax(order, data, start) for start in range(at, stop, _SYNTAX_ID)])
        contexts.append(ContextElement(context_id, abstract, syntaxes, element_reserved))
        at = stop
    return cls(*common, xmit, recv, group, tuple(contexts), reserved, reserved2, data[at:end])


def _bind_ack(data: bytes, end: int, order: _Order, common: _Common) -> BindAck:
    return _answer(BindAck, data, end, order, common)


def _alter_context_resp(data: bytes, end: int, order: _Order, common: _Common) -> BindAck:
    return _answer(AlterContextResp, data, end, order, common)


def _answer(cls: type[BindAck], data: bytes, end: int, order: _Order, common: _Common) -> BindAck:
    spec = _SPECS[PduType(cls.ptype)]
    if end < 26:
        _missing(end, "sec_addr", spec)
    xmit, recv, group = order.bind.unpack_from(data, 16)
    stop = 26 + order.short.unpack_from(data, 24)[0]
    at = stop + (-stop & 3)
    if end < at + 4:
        _missing(end, "sec_addr" if end < stop else "p_result_list", spec)
    count, reserved, reserved2 = order.count.unpack_from(data, at)
    sec_addr, padding = data[26:stop], data[stop:at]
    at += 4
    if end < at + count * (4 + _SYNTAX_ID):
        _missing(end, f"p_result_list[{(end - at) // (4 + _SYNTAX_ID)}]", spec)
    results = []
    for _ in range(count):
        result, reason = order.result.unpack_from(data, at)
        results.append(ContextResult(result, reason, _syntax(order, data, at + 4)))
        at += 4 + _SYNTAX_ID
    tail = data[at:end]
    return cls(*common, xmit, recv, group, sec_addr, padding, tuple(results), reserved, reserved2, tail)


def _bind_nak(data: bytes, end: int, order: _Order, common: _Common) -> BindNak:
    spec = _SPECS[PduType.BIND_NAK]
    if end < 18:
        _missing(end, "provider_reject_reason", spec)
    (reason,) = order.short.unpack_from(data, 16)
    if end == 18:
        return BindNak(*common, reason, None)
    stop = 19 + 2 * data[18]
    if end < stop:
        _missing(end, "versions", spec)
    versions = tuple(zip(data[19:stop:2], data[20:stop:2], strict=True))
    return BindNak(*common, reason, versions, data[stop:end])


def _auth3(data: bytes, end: int, _order: _Order, common: _Common) -> Auth3:
    return Auth3(*common, data[COMMON_HEADER:end])


def _shutdown(data: bytes, end: int, _order: _Order, common: _Common) -> Shutdown:
    return Shutdown(*common, data[COMMON_HEADER:end])


def _co_cancel(data: bytes, end: int, _order: _Order, common: _Common) -> CoCancel:
    return CoCancel(*common, data[COMMON_HEADER:end])


def _orphaned(data: bytes, end: int, _order: _Order, common: _Common) -> Orphaned:
    return Orphaned(*common, data[COMMON_HEADER:end])


_DECODERS: dict[int, Callable[[bytes, int, _Order, _Common], Pdu]] = {
    PduType.FAULT: _fault,
    PduType.BIND: _bind,
    PduType.BIND_ACK: _bind_ack,
    PduType.BIND_NAK: _bind_nak,
    PduType.ALTER_CONTEXT: _alter_context,
    PduType.ALTER_CONTEXT_RESP: _alter_context_resp,
    PduType.AUTH3: _auth3,
    PduType.SHUTDOWN: _shutdown,
    PduType.CO_CANCEL: _co_cancel,
    PduType.ORPHANED: _orphaned,
}


# By type, the fewest bytes without authentication. Flags decide nothing: servers take binds without the flags
# of a first and a last fragment, and with bits that are reserved.
_CREDIBLE = {
    PduType.REQUEST: 24,
    PduType.RESPONSE: 24,
    PduType.FAULT: 28,
    PduType.BIND: 72,
    PduType.BIND_ACK: 32,
    PduType.BIND_NAK: 18,
    PduType.ALTER_CONTEXT: 72,
    PduType.ALTER_CONTEXT_RESP: 32,
    PduType.AUTH3: 16,
    PduType.SHUTDOWN: 16,
    PduType.CO_CANCEL: 16,
    PduType.ORPHANED: 16,
}
_OFFERED = 28
"""The fewest bytes of the first fragment of a bind: it tells how many contexts follow."""
_BODILESS = frozenset((PduType.SHUTDOWN, PduType.CO_CANCEL, PduType.ORPHANED))


_PATTERN = re.compile(
    rb"\x05[\x00\x01]["
    + b"".join(re.escape(bytes((ptype,))) for ptype in _CREDIBLE)
    + rb"].[\x00\x10]\x00\x00\x00.{8}",
    re.DOTALL,
)


def is_credible(data: bytes | bytearray, offset: int = 0) -> bool:
    """Whether the 16 bytes at ``offset`` look like the common header of a PDU that real stacks send.

    Version 5.0 or 5.1, a known type, ASCII and IEEE in packed_drep, a frag_length that holds the smallest PDU
    of its type and the authentication. Fewer than 16 bytes are not credible.
    """
    return _PATTERN.match(data, offset) is not None and _fits(data, offset)


def find_credible(data: bytes | bytearray, start: int = 0) -> int:
    """Return where the first credible header of ``data[start:]`` lies whole, -1 when there is none."""
    found = _PATTERN.search(data, start)
    while found is not None:
        if _fits(data, found.start()):
            return found.start()
        found = _PATTERN.search(data, found.start() + 1)
    return -1


def _fits(data: bytes | bytearray, offset: int) -> bool:
    order = _LITTLE if data[offset + 4] else _BIG
    _, _, ptype, flags, _, frag_length, auth_length, _ = order.header.unpack_from(data, offset)
    body = frag_length - (auth_length + _SEC_TRAILER if auth_length else 0)
    if ptype in _BODILESS:
        # Authentication padding alone may stand in front of a sec_trailer.
        return bool(body == 16 or (auth_length and 16 < body < 32 and ptype != PduType.SHUTDOWN))
    if ptype == PduType.AUTH3 and not auth_length:
        return False
    if ptype in (PduType.BIND, PduType.ALTER_CONTEXT) and flags & _WHOLE == PFC_FIRST_FRAG:
        return bool(body >= _OFFERED)
    smallest = 40 if ptype == PduType.REQUEST and flags & 0x80 else _CREDIBLE[PduType(ptype)]
    return bool(body >= smallest)
