"""Encode one PDU of connection-oriented DCE/RPC.

The rule kept here: what is written decodes to the same value. frag_length, auth_length and counts are
those of what is there; a value that no bytes can say is refused.
"""

from __future__ import annotations

import struct

from msmq_wire.errors import EncodeError
from msmq_wire.rpc.events import SyntaxId
from msmq_wire.rpc.pdu.values import (
    PFC_OBJECT_UUID,
    Auth3,
    Bind,
    BindAck,
    BindNak,
    CoCancel,
    Fault,
    Orphaned,
    Pdu,
    Request,
    Response,
    Shutdown,
    UnknownPdu,
)
from msmq_wire.wire.types.guid import GUID

_KNOWN_TYPES = frozenset((0, 2, 3, *range(11, 20)))


def encode_pdu(pdu: Pdu) -> bytes:
    """Return the bytes of ``pdu``; raises `EncodeError` when it contradicts itself or does not fit."""
    if len(pdu.packed_drep) != 4:
        raise EncodeError("four bytes are needed", path="packed_drep")
    order = ">" if pdu.big_endian else "<"
    try:
        body = _body(pdu, order)
        trailer, auth_value = b"", b""
        if pdu.sec_trailer is not None:
            trailer, auth_value = _trailer(pdu, order), pdu.sec_trailer.auth_value
        length = 16 + len(body) + len(trailer)
        header = struct.pack(
            order + "BBBB4sHHI",
            5,
            pdu.rpc_vers_minor,
            pdu.ptype,
            pdu.pfc_flags,
            pdu.packed_drep,
            length,
            len(auth_value),
            pdu.call_id,
        )
    except struct.error as error:
        raise EncodeError(f"a number or a length is out of range: {error}", path="pdu") from error
    return header + body + trailer


def _trailer(pdu: Pdu, order: str) -> bytes:
    trailer = pdu.sec_trailer
    if trailer is None or not trailer.auth_value:
        raise EncodeError("an empty auth_value says that there is no sec_trailer", path="sec_trailer")
    return (
        struct.pack(
            order + "BBBBI",
            trailer.auth_type,
            trailer.auth_level,
            trailer.auth_pad_length,
            trailer.auth_reserved,
            trailer.auth_context_id,
        )
        + trailer.auth_value
    )


def _body(pdu: Pdu, order: str) -> bytes:
    match pdu:
        case Request():
            if (pdu.object_uuid is not None) != bool(pdu.pfc_flags & PFC_OBJECT_UUID):
                raise EncodeError("PFC_OBJECT_UUID and object_uuid contradict each other", path="object_uuid")
            uuid = b"" if pdu.object_uuid is None else _uuid(pdu.object_uuid, order)
            return struct.pack(order + "IHH", pdu.alloc_hint, pdu.context_id, pdu.opnum) + uuid + pdu.stub
        case Response():
            counts = (pdu.alloc_hint, pdu.context_id, pdu.cancel_count, pdu.reserved)
            return struct.pack(order + "IHBB", *counts) + pdu.stub
        case Fault():
            if len(pdu.reserved2) > 4 or (len(pdu.reserved2) < 4 and pdu.stub):
                raise EncodeError("four bytes are needed in front of a stub", path="reserved2")
            counts = (pdu.alloc_hint, pdu.context_id, pdu.cancel_count, pdu.reserved)
            return struct.pack(order + "IHBBI", *counts, pdu.status) + pdu.reserved2 + pdu.stub
        case Bind():
            return _offer(pdu, order)
        case BindAck():
            return _answer(pdu, order)
        case BindNak():
            return _nak(pdu, order)
        case UnknownPdu():
            if pdu.ptype in _KNOWN_TYPES:
                raise EncodeError(f"type {pdu.ptype} has a class of its own", path="ptype")
            return pdu.rest
        case Auth3() | Shutdown() | CoCancel() | Orphaned():
            return pdu.rest


def _uuid(guid: GUID, order: str) -> bytes:
    if len(guid) != 16:
        raise EncodeError("a GUID is 16 bytes", path="uuid")
    if order == "<":
        return bytes(guid)
    return guid[3::-1] + guid[5:3:-1] + guid[7:5:-1] + guid[8:]


def _syntax(syntax: SyntaxId, order: str) -> bytes:
    # The version is one number, the major one in its low half.
    if not 0 <= syntax.major <= 0xFFFF:
        raise EncodeError("16 bits are the most", path="major")
    return _uuid(syntax.uuid, order) + struct.pack(order + "I", syntax.minor << 16 | syntax.major)


def _offer(pdu: Bind, order: str) -> bytes:
    parts = [
        struct.pack(order + "HHI", pdu.max_xmit_frag, pdu.max_recv_frag, pdu.assoc_group_id),
        struct.pack(order + "BBH", len(pdu.contexts), pdu.reserved, pdu.reserved2),
    ]
    for context in pdu.contexts:
        count = len(context.transfer_syntaxes)
        parts.append(struct.pack(order + "HBB", context.context_id, count, context.reserved))
        parts.append(_syntax(context.abstract_syntax, order))
        parts.extend(_syntax(syntax, order) for syntax in context.transfer_syntaxes)
    parts.append(pdu.rest)
    return b"".join(parts)


def _answer(pdu: BindAck, order: str) -> bytes:
    if len(pdu.sec_addr_padding) != -(26 + len(pdu.sec_addr)) & 3:
        raise EncodeError("the list of results is aligned to 4", path="sec_addr_padding")
    parts = [
        struct.pack(order + "HHI", pdu.max_xmit_frag, pdu.max_recv_frag, pdu.assoc_group_id),
        struct.pack(order + "H", len(pdu.sec_addr)),
        pdu.sec_addr,
        pdu.sec_addr_padding,
        struct.pack(order + "BBH", len(pdu.results), pdu.reserved, pdu.reserved2),
    ]
    for result in pdu.results:
        parts.append(struct.pack(order + "HH", result.result, result.reason))
        parts.append(_syntax(result.transfer_syntax, order))
    parts.append(pdu.rest)
    return b"".join(parts)


def _nak(pdu: BindNak, order: str) -> bytes:
    reason = struct.pack(order + "H", pdu.reject_reason)
    if pdu.versions is None:
        if pdu.rest:
            raise EncodeError("nothing can follow versions that are not there", path="rest")
        return reason
    try:
        versions = b"".join(bytes(version) for version in pdu.versions)
    except ValueError:
        raise EncodeError("a version number is one byte", path="versions") from None
    return reason + struct.pack("B", len(pdu.versions)) + versions + pdu.rest
