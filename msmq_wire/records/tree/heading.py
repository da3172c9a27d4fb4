"""What the first line of a record says: `record_heading`, and its parts for a screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Any

import msgspec

from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.seen_at import seen_at, unseen_text
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.records.summary import frames_text
from msmq_wire.records.tree.srmp_nodes import shortened, status_words
from msmq_wire.records.tree.tree_screen import Segment, TreeScreen
from msmq_wire.records.tree.value_text import count_text, timestamp_text
from msmq_wire.rpc.hresults import describe


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """What the first line of a record says; empty parts are left out. ``time`` is in nanoseconds."""

    type: str
    id: int | None = None
    time: int | None = None
    src: str = ""
    dst: str = ""
    via: str = ""
    size: int | None = None
    frames: Sequence[int] = ()
    words: str = ""


def record_heading(record: Record, via: str) -> Heading:
    """What the first line of a record says; without a size it is the only one."""
    words = [record.event or ""]
    if record.missing is not None:
        words.append(f"{count_text(record.missing, 'byte')} missing")
    words.append(frames_text(record) or record.reason or "")
    words.append(unseen_text(seen_at(record)))
    if record.grade is not None:
        words = [_lies(record), *words]
    if isinstance(record.packet, RpcCall):
        words += _call_words(record.packet)
    if isinstance(record.packet, SrmpMessage):
        words += _exchange_words(record.packet, record.parent)
    has_packet = record.packet is not None or record.error is not None
    return Heading(
        type=record.type,
        id=record.id,
        time=record.time,
        src=record.src or "",
        dst=record.dst or "",
        via="" if record.grade is not None else via,
        size=record.length if has_packet else None,
        frames=record.frames,
        words=", ".join(word for word in words if word),
    )


def _lies(record: Record) -> str:
    """The grade of what was found at rest, and where it lies."""
    more = len(record.locations) - 1
    also = f" and {count_text(more, 'other place')}" if more else ""
    return f"{record.grade} at offset {record.offset} of {record.capture}{also}"


def heading_segments(screen: TreeScreen, heading: Heading, packet: Any, zone: tzinfo | None) -> list[Segment]:
    """The parts of a record's first line."""
    safe = screen.safe
    parts: list[Segment] = []
    if heading.id is not None:
        parts.append((f"#{heading.id}", "strong"))
    if heading.time is not None:
        parts.append((timestamp_text(heading.time, zone), ""))
    if heading.src or heading.dst:
        arrow = screen.choose("→", "->")
        parts.append((f"{safe(heading.src)} {arrow} {safe(heading.dst)}", ""))
    parts.append((heading.type, "title"))
    queue, label = map(shortened, getattr(packet, "queue_and_label", ("", "")))
    if queue:
        parts.append((safe(queue), "name"))
    if label:
        parts.append((f'"{safe(label)}"', "note"))
    if heading.words:
        parts.append((safe(heading.words), ""))
    if heading.size is not None:
        parts.append((count_text(heading.size, "byte"), ""))
    if heading.via:
        parts.append((f"via {heading.via}", ""))
    if heading.frames:
        shown = ", ".join(map(str, heading.frames[:3]))
        more = screen.choose("…", "...") if len(heading.frames) > 3 else ""
        parts.append((f"{'frame' if len(heading.frames) == 1 else 'frames'} {shown}{more}", "dim"))
    return parts


def _call_words(call: RpcCall) -> Iterator[str]:
    """The method of a call and how it ended."""
    yield call.method or f"{call.interface} opnum {call.opnum}"
    if call.status is not None:
        yield f"{'fault ' if call.fault else ''}{describe(call.status).symbol if call.status else 'ok'}"
    elif call.sealed:
        yield "sealed"
    elif call.response is None:
        yield "no answer"


def _exchange_words(message: SrmpMessage, parent: int | None) -> Iterator[str]:
    """What a message over HTTP is, and how it was answered or where it was found."""
    if message.kind != "message":
        yield message.kind.replace("_", " ")
    yield status_words(message) if parent is None else f"stored in #{parent}"
