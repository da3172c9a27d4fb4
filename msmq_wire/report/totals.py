"""What a report counts while records pass: `Totals`.

The rule kept here: counts are exact; what is kept one by one (rows, hosts, lanes, gaps) is bounded, and what
is left out is counted.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from msmq_wire.records.message import Message, message_of
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.report.buckets import TimeBuckets
from msmq_wire.report.markup import script_json, visible
from msmq_wire.report.wording import host_of

__all__ = ["MOST_ROWS", "Edge", "GapLine", "Lane", "MessageRow", "Totals"]

MOST_ROWS = 50_000
"""Messages that the page lists."""
_MOST_ROW_TEXT = 14_000_000
"""Bytes of these rows in the page: what keeps it below 20 MB."""
_NUMBERS = 64
"""Bytes of a row beside its texts."""
_MOST_EDGES = 1 << 14
_MOST_LANES = 512
_MOST_GAPS = 200
_LONGEST_LABEL = 124
_LONGEST_QUEUE = 200


class MessageRow(msgspec.Struct, frozen=True, gc=False):
    """A message of the table; ``time`` is nanoseconds since 1970, ``frame`` the first of its frames."""

    id: int
    time: int | None
    src: str
    dst: str
    queue: str
    label: str
    delivery: str
    size: int | None
    message_class: int | None
    frame: int | None
    message_id: str
    via: str


class Edge(msgspec.Struct):
    """Messages from one host to another."""

    messages: int = 0
    bytes: int = 0


class GapLine(msgspec.Struct, frozen=True, gc=False):
    """Bytes that were not captured; ``missing`` is None when nobody knows how many."""

    time: int | None
    src: str
    dst: str
    missing: int | None
    reason: str
    frame: int | None


class Lane:
    """When what happened on a connection: messages by source, session acks and gaps."""

    __slots__ = ("acks", "gaps", "sent")

    def __init__(self) -> None:
        self.sent: dict[str, TimeBuckets] = {}
        self.acks = TimeBuckets()
        self.gaps = TimeBuckets()


class Totals:
    """Takes every record of the captures, redacted if that was asked for.

    ``records`` counts by type, ``captures`` the records of each capture, ``edges`` the messages between two
    hosts; ``rate`` has the messages by time, ``lanes`` those of each connection by capture and stream.
    ``cut`` counts packets that end in an error, ``missing`` the bytes that gaps are known to lack.
    """

    def __init__(self, *, rows: int = MOST_ROWS) -> None:
        self.records: Counter[str] = Counter()
        self.captures: Counter[str] = Counter()
        self.messages = 0
        self.bytes = 0
        self.first: int | None = None
        self.last: int | None = None
        self.rate = TimeBuckets()
        self.edges: dict[tuple[str, str], Edge] = {}
        self.edges_left_out = 0
        self.lanes: dict[tuple[str, int], Lane] = {}
        self.rows: list[MessageRow] = []
        self.gaps: list[GapLine] = []
        self.missing = 0
        self.cut = 0
        self.sealed = 0
        self._most_rows = rows
        self._row_text = 0
        self._words: set[str] = set()

    def feed(self, record: Record) -> None:
        """Take the next record."""
        self.records[record.type] += 1
        self.captures[record.capture] += 1
        time = record.time
        if time is not None:
            self.first = time if self.first is None else min(self.first, time)
            self.last = time if self.last is None else max(self.last, time)
        if record.error is not None:
            self.cut += 1
        message = message_of(record)
        if message is not None:
            self._message(message)
        elif record.type == "session_ack":
            lane = self._lane(record)
            if lane is not None and time is not None:
                lane.acks.add(time)
        elif record.type == "gap":
            self._gap(record)
        elif isinstance(record.packet, RpcCall) and record.packet.sealed:
            self.sealed += 1

    def _lane(self, record: Record) -> Lane | None:
        if record.stream is None:
            return None
        key = (record.capture, record.stream)
        lane = self.lanes.get(key)
        if lane is None and len(self.lanes) < _MOST_LANES:
            lane = self.lanes[key] = Lane()
        return lane

    def _message(self, message: Message) -> None:
        record = message.record
        self.messages += 1
        self.bytes += record.length
        src = record.src or "?"
        if record.time is not None:
            self.rate.add(record.time)
            lane = self._lane(record)
            if lane is not None:
                sent = lane.sent.get(src)
                if sent is None:
                    sent = lane.sent[src] = TimeBuckets()
                sent.add(record.time)
        ends = host_of(src), host_of(record.dst)
        edge = self.edges.get(ends)
        if edge is None:
            if len(self.edges) >= _MOST_EDGES:
                self.edges_left_out += 1
                edge = Edge()
            else:
                edge = self.edges[ends] = Edge()
        edge.messages += 1
        edge.bytes += record.length
        if len(self.rows) < self._most_rows and self._row_text < _MOST_ROW_TEXT:
            self._row(message)

    def _row(self, message: Message) -> None:
        record = message.record
        row = MessageRow(
            id=record.id,
            time=record.time,
            src=visible(record.src or "?", _LONGEST_LABEL),
            dst=visible(record.dst or "?", _LONGEST_LABEL),
            queue=visible(message["queue"] or "", _LONGEST_QUEUE),
            label=visible(message["label"] or "", _LONGEST_LABEL),
            delivery=message["delivery"] or "",
            size=message["body_size"],
            message_class=message["message_class"],
            frame=record.frames[0] if record.frames else None,
            message_id=visible(message["message_id"] or "", _LONGEST_QUEUE),
            via=message["via"],
        )
        new = {row.src, row.dst, row.queue} - self._words
        self._words |= new
        self._row_text += _NUMBERS + sum(len(script_json(text)) for text in (row.label, row.message_id, *new))
        self.rows.append(row)

    def _gap(self, record: Record) -> None:
        if record.missing == 0:
            return
        self.missing += record.missing or 0
        lane = self._lane(record)
        if lane is not None and record.time is not None:
            lane.gaps.add(record.time)
        if len(self.gaps) < _MOST_GAPS:
            self.gaps.append(
                GapLine(
                    time=record.time,
                    src=record.src or "?",
                    dst=record.dst or "?",
                    missing=record.missing,
                    reason=record.reason or "",
                    frame=record.frames[0] if record.frames else None,
                )
            )
