"""A bind or alter_context in several fragments, put together before it is decoded.

By C706 12.6 version 5.1 may send such fragments, and version 5.0 does not; receivers put them together
whatever the version says. The rules kept here: a first fragment that is whole by itself waits for nothing,
whatever its flags say. What does not fit together comes out as it came, to be told.
"""

from __future__ import annotations

from struct import Struct

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.pdu.decoding import COMMON_HEADER, decode_pdu
from msmq_wire.rpc.pdu.framer import MARK_COST, FramedPdu
from msmq_wire.rpc.pdu.values import PFC_FIRST_FRAG, PFC_LAST_FRAG, PduType

OFFERS = frozenset((PduType.BIND, PduType.ALTER_CONTEXT))
_MAX_FRAGMENTS = 64
_MAX_LENGTH = 0xFFFF
"""What frag_length can say of the whole."""
_SEC_TRAILER = 8
_SIZES = {0x10: Struct("<HHI"), 0: Struct(">HHI")}
"""frag_length, auth_length and call_id, by the bit of packed_drep that says the byte order."""


class BindFragments:
    """The fragments of one side; ``held`` is what they cost while the last is not there."""

    __slots__ = ("_fragments", "held")

    def __init__(self) -> None:
        self._fragments: tuple[FramedPdu, ...] = ()
        self.held = 0

    def take(self, framed: FramedPdu) -> tuple[FramedPdu, ...]:
        """Take the next PDU of the side; return what is to be decoded now."""
        if not self._continues(framed):
            waited = self.release()
            if not _begins(framed):
                return (*waited, framed)
            self._hold(framed)
            return waited
        self._hold(framed)
        fragments = self._fragments
        if framed.data[3] & PFC_LAST_FRAG:
            self.release()
            whole = _joined(fragments)
            return fragments if whole is None else (whole,)
        return self.release() if len(fragments) > _MAX_FRAGMENTS or self.held > 2 * _MAX_LENGTH else ()

    def release(self) -> tuple[FramedPdu, ...]:
        """Give what waits, as it came: no more of it will."""
        waited, self._fragments, self.held = self._fragments, (), 0
        return waited

    def _hold(self, framed: FramedPdu) -> None:
        self._fragments = (*self._fragments, framed)
        self.held += len(framed.data) + MARK_COST * len(framed.frames)

    def _continues(self, framed: FramedPdu) -> bool:
        if not self._fragments or not framed.complete or framed.data[3] & PFC_FIRST_FRAG:
            return False
        first = self._fragments[0].data
        return (
            framed.data[2] == first[2] and framed.data[4] == first[4] and framed.data[12:16] == first[12:16]
        )


def _begins(framed: FramedPdu) -> bool:
    """Whether a PDU is the first fragment of an offer that goes on."""
    data = framed.data
    first = data[3] & (PFC_FIRST_FRAG | PFC_LAST_FRAG) == PFC_FIRST_FRAG
    if not first or data[2] not in OFFERS or not framed.complete:
        return False
    try:
        decode_pdu(data)
    except DecodeError as error:
        return error.code == "missing-bytes"
    return False


def _joined(fragments: tuple[FramedPdu, ...]) -> FramedPdu | None:
    """One PDU with the header of the first, all bodies and all tokens; None where that is too long."""
    first, last = fragments[0], fragments[-1]
    sizes = _SIZES[first.data[4] & 0x10]
    body, trailer, token = b"", b"", b""
    for one in fragments:
        length, protected, call_id = sizes.unpack_from(one.data, 8)
        end = length - (protected + _SEC_TRAILER if protected else 0)
        if end < COMMON_HEADER:
            return None
        if protected:
            # The padding in front of it is that of one fragment.
            kept = one.data[end : end + _SEC_TRAILER]
            end = max(COMMON_HEADER, end - kept[2])
            trailer = trailer or kept[:2] + b"\0" + kept[3:]
            token += one.data[length - protected : length]
        body += one.data[COMMON_HEADER:end]
    length = COMMON_HEADER + len(body) + len(trailer) + len(token)
    if length > _MAX_LENGTH:
        return None
    flags = first.data[3] | last.data[3]
    header = first.data[:3] + bytes((flags,)) + first.data[4:8] + sizes.pack(length, len(token), call_id)
    newest = max(fragments, key=lambda one: max(one.frames))
    return FramedPdu(
        header + body + trailer + token,
        first.offset,
        tuple(dict.fromkeys(frame for one in fragments for frame in one.frames)),
        newest.time,
        True,
        first.found,
        tuple(len(one.data) for one in fragments),
    )
