"""A message packet as the sections that remote read returns, and back.

The text leaves doubts ([MS-MQRR] 2.2.6, 2.2.7, 3.1.4.7); what is read here:

* The first section ends inside the body, the second starts behind MessagePropertiesHeader, whose 0-3 padding
  bytes belong to neither: that is the literal reading. ``padding`` names the two others: the padding counts
  as body in the first section, or it opens the second. Whether a body is cut is decided by its MessageSize
  bytes.
* For an SRMP message (AH) the part that is cut is CompoundMessageHeader, and its limit counts the 16 bytes
  before Data; but these are never cut, so a limit below 16 works like 16. Padding behind Data is treated like
  that of MessagePropertiesHeader.
* TimeToReachQueue of the first section becomes SentTime + TimeToReachQueue. The field keeps its format there
  (2.2.5.1), so infinite stays infinite, and so does what 32 bits cannot hold.
* MessageSize, HTTPBodySize and PacketSize stay what they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from msmq_wire.buffers import as_bytes
from msmq_wire.engines.must_checks import find_anomalies
from msmq_wire.engines.reference import layout, parse
from msmq_wire.errors import DecodeError
from msmq_wire.representation import struct_line
from msmq_wire.spec import SpecRef
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import INFINITE
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.packets.identification import recognise
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.stream import Range
from msmq_wire.wire.types.section_buffer import SectionBuffer, SectionType

_SECTION = SpecRef("MS-MQRR", "2.2.6")
_SPLIT = SpecRef("MS-MQRR", "3.1.4.7")
_AH = 0x2000000
_BASE_HEADER = 16
_COMPOUND_FIXED = 16
_FIRST = (SectionType.stBinaryFirstSection, SectionType.stSrmpFirstSection)
_SECOND = (SectionType.stBinarySecondSection, SectionType.stSrmpSecondSection)


class JoinedPacket(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Sections put together: ``data`` are the bytes there are, with the gap between them closed up.

    ``missing`` are the (start, length) ranges, in packet offsets, that the split left out, padding included:
    ``inspect(data, as_="message_packet", missing=missing)``. ``complete`` says that every byte of the packet
    is there. ``problems`` are contradictions of the sections: paths are ``[0].section_size``, offsets count
    from the start of ``data``.
    """

    data: bytes
    missing: tuple[Range, ...]
    complete: bool
    problems: tuple[Anomaly, ...]

    __repr__ = struct_line


class _Part(msgspec.Struct, frozen=True):
    """What a split cuts: its first byte that may be left out, its end, and the padding behind it."""

    start: int
    end: int
    padding: int


def _part(packet: MessagePacket, srmp: bool, missing: Sequence[Range] = ()) -> _Part | None:
    """The part of a packet, whole or partial, that is cut; None when it was not reached or is not there."""
    header: WireStruct | None
    if srmp:
        header, size, data = packet.compound_message_header, "http_body_size", "compound_message_header.data"
    else:
        header = packet.message_properties_header
        size, data = "message_size", "message_properties_header.message_body"
    span = layout(packet, missing).get(data)
    if not isinstance(header, WireStruct) or span is None:
        return None
    length = header[size]
    if not srmp and span.length > length:
        length = header["allocation_body_size"]
    end = span.offset + length
    return _Part(span.offset, end, -end & 3)


def split_sections(
    packet: bytes,
    *,
    max_body_size: int,
    max_compound_message_size: int,
    time_to_reach_queue: Literal["keep", "absolute"] = "keep",
    padding: Literal["neither", "first", "second"] = "neither",
) -> tuple[SectionBuffer, ...]:
    """Split a message packet as a server does for a reader with these limits, in bytes.

    ``max_body_size`` limits the body of a binary message, ``max_compound_message_size`` the
    CompoundMessageHeader of an SRMP message; the other one is ignored. Returns one full section, or a first
    one and, when bytes follow the part that is cut, a second. With "keep" TimeToReachQueue stays, with
    "absolute" it becomes a time. What follows the packet in ``packet`` is in no section.

    Raises DecodeError when ``packet`` is no message packet, ValueError for a negative limit. Source:
    [MS-MQRR] 3.1.4.7; see the module for what it leaves open.
    """
    if max_body_size < 0 or max_compound_message_size < 0:
        raise ValueError("a negative limit")
    packet = as_bytes(packet, "packet")
    value, consumed = parse(MessagePacket, packet)
    data = packet[:consumed]
    srmp = bool(value.user_header.flags & _AH)
    part = _part(value, srmp)
    if time_to_reach_queue == "absolute":
        time = min(value.user_header.sent_time + value.base_header.time_to_reach_queue, INFINITE)
        data = data[:12] + time.to_bytes(4, "little") + data[16:]
    if part is None:
        return (_section(SectionType.stFullPacket, len(data), data),)
    counted = part.start - _COMPOUND_FIXED if srmp else part.start
    limit = max_compound_message_size if srmp else max_body_size
    if limit >= part.end - counted:
        return (_section(SectionType.stFullPacket, len(data), data),)
    behind = min(part.end + part.padding, len(data))
    alloc = behind if padding == "first" else part.end
    sections = [_section(_FIRST[srmp], alloc, data[: max(part.start, counted + limit)])]
    if behind < len(data):
        trailers = data[part.end if padding == "second" else behind :]
        sections.append(_section(_SECOND[srmp], len(trailers), trailers))
    return tuple(sections)


def _section(kind: SectionType, alloc: int, data: bytes) -> SectionBuffer:
    return SectionBuffer(
        section_buffer_type=kind, section_size_alloc=alloc, section_size=len(data), data=data
    )


def join_sections(sections: Sequence[SectionBuffer]) -> JoinedPacket:
    """Put sections together in the order given, and work out what the split left out.

    A second section given before its first one is put behind it. Where the padding of the part that was cut
    went is told by PacketSize; where that does not add up, by which reading decodes.

    Raises DecodeError (``sections``, ``signature``, ``missing-bytes``, ``packet-type``) when there is no
    section or the first one starts no message packet. Everything else that is wrong is in ``problems``.
    Source: [MS-MQRR] 2.2.6, 2.2.7, 3.1.4.7.
    """
    for section in sections:
        if not isinstance(section, SectionBuffer):
            raise TypeError(f"sections must be SectionBuffer values, not {type(section).__name__}")
        as_bytes(section.data, "the data of a section")
    if not sections:
        raise DecodeError("sections", "no section is given", spec=_SECTION)
    kinds = [section.section_buffer_type for section in sections]
    problems: list[Anomaly] = []
    if len(kinds) == 2 and kinds[0] in _SECOND and kinds[1] in _FIRST:
        problems.append(_problem("order", "the second section comes first"))
        sections = (sections[1], sections[0])
    problems += _judge_kinds([section.section_buffer_type for section in sections])
    at = 0
    for index, section in enumerate(sections):
        problems += _judge(index, at, section)
        at += len(section.data)
    first = sections[0]
    if recognise(first.data) is not UserMessage or len(first.data) < _BASE_HEADER:
        raise DecodeError("sections", "the first section starts no message packet", spec=_SECTION)
    data = b"".join(section.data for section in sections)
    packet_size = int.from_bytes(data[8:12], "little")
    missing: tuple[Range, ...] = ()
    if first.section_buffer_type in _FIRST:
        missing = _missing(first, data, packet_size, problems)
    elif len(data) != packet_size and not _reads(data, ()):
        problems.append(
            _problem(
                "sum", f"the sections have {len(data)} bytes, but PacketSize is {packet_size}", spec=_SPLIT
            )
        )
    return JoinedPacket(
        data=data,
        missing=missing,
        complete=not missing and len(data) >= packet_size,
        problems=tuple(problems),
    )


def _problem(
    code: str, message: str, *, path: str = "", at: int = 0, length: int = 0, spec: SpecRef = _SECTION
) -> Anomaly:
    return Anomaly(code=f"sections.{code}", message=message, path=path, offset=at, length=length, spec=spec)


def _judge(index: int, at: int, section: SectionBuffer) -> Iterator[Anomaly]:
    """What is wrong with one section, whose data starts at ``at`` in the joined data."""
    size = len(section.data)
    for anomaly in find_anomalies(section):
        path = f"[{index}].{anomaly.path}"
        yield msgspec.structs.replace(anomaly, path=path, offset=at, length=size)
    if section.section_size != size:
        message = f"{size} bytes where SectionSize is {section.section_size}"
        yield _problem("section-size", message, path=f"[{index}].section_size", at=at, length=size)


def _judge_kinds(kinds: Sequence[int]) -> Iterator[Anomaly]:
    """What is wrong with the types of the sections, in order."""
    if len(kinds) > 2:
        yield _problem("count", f"{len(kinds)} sections, there are at most 2")
    if kinds[0] in _SECOND:
        yield _problem("order", "a second section without a first one")
    for index, kind in enumerate(kinds[1:], 1):
        if kind not in _SECOND:
            yield _problem(
                "order", f"type {kind} behind another section", path=f"[{index}].section_buffer_type"
            )
        elif kinds[0] != kind - 1:
            yield _problem(
                "order", f"type {kind} behind type {kinds[0]}", path=f"[{index}].section_buffer_type"
            )


def _missing(
    first: SectionBuffer, data: bytes, packet_size: int, problems: list[Anomaly]
) -> tuple[Range, ...]:
    """Return what lies between a first section and what follows it, and note what contradicts it."""
    size, alloc = len(first.data), first.section_size_alloc
    srmp = first.section_buffer_type == SectionType.stSrmpFirstSection
    cut = max(0, alloc - size)
    head = _head(first.data, ((size, cut),))
    part = _part(head, srmp, ((size, cut),))
    flags = getattr(head.user_header, "flags", None)
    if isinstance(flags, int) and bool(flags & _AH) != srmp:
        problems.append(
            _problem("kind", "AH and the type of the section differ", path="[0].section_buffer_type")
        )
    if part is None or not part.start <= size <= part.end:
        problems.append(_problem("body", "the section does not end in what may be cut", at=size, spec=_SPLIT))
    padding = 0
    if part is not None and alloc not in (part.end, part.end + part.padding):
        message = f"SectionSizeAlloc is {alloc}, but the part that is cut ends at {part.end}"
        problems.append(_problem("alloc", message, path="[0].section_size_alloc", length=size, spec=_SPLIT))
    if part is not None and alloc != part.end + part.padding:
        padding = part.padding
    left = packet_size - alloc - (len(data) - size)
    readings = (0, padding) if left == 0 else (padding, 0)
    readable = [fill for fill in readings if _reads(data, ((size, cut + fill),))]
    chosen = readable[0] if readable else readings[0]
    # Trailing headers and a SessionHeader may stand behind PacketSize: then it tells nothing.
    if not readable or left == readings[0] != chosen:
        message = f"{len(data)} bytes and {cut + chosen} left out where PacketSize is {packet_size}"
        problems.append(_problem("sum", message, length=len(data), spec=_SPLIT))
    return ((size, cut + chosen),) if cut + chosen else ()


def _head(data: bytes, missing: Sequence[Range]) -> MessagePacket:
    """Return a first section's packet as far as it goes; it has a BaseHeader at least."""
    packet: object
    try:
        packet, _ = parse(MessagePacket, data, missing)
    except DecodeError as error:
        packet = error.partial
    assert isinstance(packet, MessagePacket)
    return packet


def _reads(data: bytes, missing: Sequence[Range]) -> bool:
    """Whether data with bytes missing is a message packet without a byte too many."""
    try:
        packet, consumed = parse(MessagePacket, data, missing)
    except DecodeError:
        return False
    return consumed == len(data) and not packet.undeclared
