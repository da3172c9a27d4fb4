"""Validates one place where a packet may start: its claimed length, and how good its bytes are.

The rule kept here: a place is judged by its own bytes alone. A packet is whole only where it walks to its
end and breaks no MUST; nothing is guessed about what is not there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from msgspec import UNSET

from msmq_wire.capture.carve.validation import Validation
from msmq_wire.engines.codec import InspectResult, decode, inspect
from msmq_wire.engines.field_offsets import span
from msmq_wire.errors import DecodeError
from msmq_wire.reassembly.packet_framer import packet_length
from msmq_wire.records.record import UNKNOWN_PACKET
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.packets.identification import recognise
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.user_message import MessageHeaders, UserMessage
from msmq_wire.wire.stream import counted

PAGE = 4096
"""Bytes of a page of memory, and of a cluster of a disk; a missing one reads as zeros."""
FIXED = 64
"""Bytes of BaseHeader and the numbers of UserHeader, without which nothing is known of a message."""
_FIXED_INTERNAL = 20
_FLAGS = 60
LOOK = 1 << 16
"""Bytes of a longer packet of which those at its beginning are looked at first."""
_ZEROS = bytes(PAGE)
_INTERNAL = ("internal_header", InternalHeader)
_TOLD = 3
"""Contradictions that a reason names."""


def needed(data: bytes | bytearray, at: int, offset: int) -> int:
    """Bytes by which the place ``data[at:]`` is judged, ``offset`` in the source: to a border of a page."""
    stop = offset + packet_length(data, at)
    return stop + -stop % PAGE - offset


def walk(data: bytes, offset: int, *, claimed: int) -> Validation | None:
    """Judge the bytes of a credible place at ``offset`` of a source; None where less than a header is read.

    ``data`` are those up to the border of the page in which it would end, as far as they are there;
    ``claimed`` is the length that it claims.
    """
    there = min(claimed, len(data))
    if there == claimed:
        last = _last_page(data, offset, claimed)
        if last < claimed:
            zeros = f"its last {counted(claimed - last)} are zero, in whole pages"
            return left_of(data[:last], claimed, zeros)
    if there < claimed:
        return left_of(data[:there], claimed, f"{counted(claimed - there)} of it are not there")
    early = broken_early(data[:LOOK], claimed, claimed)
    if early is not None:
        return early
    type_, result = _inspected(data[:claimed])
    if not _is_read(result):
        return None
    if result.error is None and result.consumed == claimed and not result.anomalies:
        return Validation("intact", type_, claimed, _body(result.packet))
    return Validation("broken", type_, claimed, reason=_contradictions(result, claimed))


def left_of(data: bytes, claimed: int, reason: str) -> Validation | None:
    """Judge what is left of a packet of ``claimed`` bytes; None where less than a header is read."""
    early = broken_early(data[:LOOK], len(data), claimed)
    if early is not None:
        return early
    type_, result = _inspected(data)
    if not _is_read(result):
        return None
    missing = result.error is not None and result.error.code == "missing-bytes"
    if (missing or result.error is None) and not result.anomalies:
        return Validation("cut", type_, len(data), reason=reason)
    return Validation("broken", type_, len(data), reason=_contradictions(result, claimed))


def _inspected(data: bytes) -> tuple[str, InspectResult]:
    """A packet as it is sent or, where only that reads well, as queues keep it for remote readers."""
    broken = _broken(data)
    if broken is not None:
        return broken
    result = inspect(data)
    if result.type == UserMessage.stem() and not _reads_well(result, data):
        stored = inspect(data, MessagePacket.stem())
        packet = stored.packet
        if _reads_well(stored, data) or (
            stored.error is None and isinstance(packet, MessagePacket) and packet.extension_header is not None
        ):
            result = stored
    return result.type or UNKNOWN_PACKET, result


def _broken(data: bytes) -> tuple[str, InspectResult] | None:
    """What contradicts its own lengths, judged no further: hostile files have much of it."""
    try:
        decode(data)
    except DecodeError as error:
        if error.code == "missing-bytes":
            return None
        found = error.with_traceback(None)
    else:
        return None
    type_ = UNKNOWN_PACKET
    with suppress(DecodeError):
        type_ = recognise(data).stem()
    partial = inspect(data[:FIXED]).packet if found.partial is None else found.partial
    return type_, InspectResult(
        type=type_, packet=partial, anomalies=(), consumed=0, remainder=b"", error=found
    )


def fixed_part(data: bytes) -> int:
    """Bytes without which nothing is known of the packet that begins here."""
    return _FIXED_INTERNAL if data[2] & 0x08 else FIXED


def broken_early(begin: bytes, there: int, claimed: int) -> Validation | None:
    """What the first `LOOK` bytes of a message say against it; None where they say nothing.

    Hostile files claim packets of the largest size everywhere: all their bytes are only taken where the
    headers lead through them.
    """
    if there < FIXED or begin[2] & 0x08:
        return None
    stem = UserMessage.stem()
    # From its flags on it may be pages of zeros.
    if not begin[_FLAGS + 2] & 0x20 and begin[_FLAGS:].strip(b"\0"):
        return Validation("broken", stem, there, reason="user_header.flags: MP must be set")
    if claimed <= LOOK or len(begin) < LOOK:
        return None
    try:
        packet = decode(begin, MessagePacket.stem(), missing=((LOOK, claimed - LOOK),))
    except DecodeError as error:
        if error.offset is None or error.offset >= LOOK:
            return None
        place = f"{error.path}: " if error.path else ""
        return Validation("broken", stem, there, reason=f"{place}{error.message}")
    if packet.undeclared:
        return Validation("broken", stem, there, reason="undeclared: no header claims the rest of its bytes")
    return None


def _reads_well(result: InspectResult, data: bytes) -> bool:
    if result.anomalies:
        return False
    if result.error is not None:
        return result.error.code == "missing-bytes"
    return result.consumed == len(data)


def _is_read(result: InspectResult) -> bool:
    """Whether the header behind BaseHeader was read up to its flags."""
    packet = result.packet
    named, cls = ("user_header", UserHeader) if isinstance(packet, MessageHeaders) else _INTERNAL
    header = getattr(packet, named, None)
    return isinstance(header, cls) and getattr(header, "flags", UNSET) is not UNSET


def _last_page(data: bytes, offset: int, claimed: int) -> int:
    """Where the bytes of a packet end that lacks its last pages; ``claimed`` where it has them."""
    end = claimed
    page = (offset + claimed - 1) // PAGE * PAGE - offset
    while page > 0 and data.startswith(_ZEROS[: len(data) - page], page):
        end = page
        page -= PAGE
    return end


def _body(packet: Any) -> tuple[int, int]:
    if not isinstance(packet, MessageHeaders) or packet.message_properties_header is None:
        return (0, 0)
    start, length = span(packet, "message_properties_header.message_body")
    return (start, start + length)


def _contradictions(result: InspectResult, claimed: int) -> str:
    """What a packet says against itself: the first few of it."""
    reported = [f"{one.path}: {one.message}" for one in result.anomalies[:_TOLD]]
    if result.error is not None:
        error: DecodeError = result.error
        reported.append(f"{error.path}: {error.message}" if error.path else error.message)
    elif result.consumed < claimed and not reported:
        reported.append(f"its headers end {counted(claimed - result.consumed)} before PacketSize")
    more = len(result.anomalies) - _TOLD
    return "; ".join(reported) + (f"; {more} more" if more > 0 else "")
