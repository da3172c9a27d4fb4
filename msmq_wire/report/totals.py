"""What a report counts while records pass, one by one or a batch at a time: `Totals`.

The rule kept here: counts are exact, and those of a batch are those of its records; what is kept one by one
(rows, hosts, lanes, gaps) is bounded, and what is left out is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from msmq_wire.markup import script_json
from msmq_wire.records.message import MessageValues, message_of
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.summary import frames_text
from msmq_wire.report.buckets import TimeBuckets
from msmq_wire.report.row_maker import MessageRow, RowMaker
from msmq_wire.report.wording import host_of

if TYPE_CHECKING:
    from msmq_wire.capture.packet_batch import PacketBatch
    from msmq_wire.report.sums import Times

MOST_ROWS = 50_000
"""Messages that the page lists."""
_MOST_ROW_TEXT = 14_000_000
"""Bytes of these rows in the page: what keeps it below 20 MB."""
_NUMBERS = 110
"""Bytes of a row beside its texts: numbers, and what became of the message."""
_PLAIN = re.compile(r"[ !#-%(-;=?-\[\]-~]*")
"""Text that is in JSON as it is, and in a script too."""
_MOST_EDGES = 1 << 14
_MOST_LANES = 512
_MOST_GAPS = 200


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
    ``cut`` counts packets that end in an error, ``holes`` those that bytes are missing in,
    ``missing`` how many these are as far as that is known, ``of_files`` says what files lack as a whole.
    """

    def __init__(self, *, rows: int = MOST_ROWS, bodies: bool = True) -> None:
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
        self.holes = 0
        self.missing = 0
        self.of_files: list[str] = []
        self.cut = 0
        self.sealed = 0
        self.maker = RowMaker(bodies=bodies)
        self._most_rows = rows
        self._row_text = 0
        self._words: set[str] = set()

    @property
    def room(self) -> int:
        """How many rows may still come."""
        return self._most_rows - len(self.rows) if self._row_text < _MOST_ROW_TEXT else 0

    def feed(self, record: Record) -> None:
        """Take the next record."""
        message = self.count(record)
        if message is not None and self.room:
            self.list(self.maker.of_message(message))

    def take(self, batch: PacketBatch) -> None:
        """Take the packets and records of a batch, as if each was fed."""
        # Loads numpy, which a small capture does not need.
        from msmq_wire.report.sums import MessageFlow, sums_of

        sums = sums_of(batch, self.maker, self.room)
        self.records.update(sums.types)
        self.captures[batch.capture] += sum(sums.types.values())
        self.messages += sums.messages
        self.bytes += sums.bytes
        if len(sums.times):
            self.span(int(sums.times.min()), int(sums.times.max()))
        if len(sums.sent):
            self.rate.add_all(sums.sent)
        # What is bounded goes to whoever comes first.
        entries: list[Record | MessageFlow | Times] = [*sums.alone, *sums.ways, *sums.streams]
        rows = sums.rows
        for entry in sorted(entries, key=lambda one: one.id):
            if isinstance(entry, Record):
                message = self.count(entry)
                if message is not None:
                    rows.append((entry.id, message))
            elif isinstance(entry, MessageFlow):
                self._way(entry.src, entry.dst, entry.messages, entry.bytes)
            else:
                self._stream(batch.capture, entry)
        for _, row in sorted(rows, key=lambda one: one[0]) if self.room else ():
            self.list(row if isinstance(row, MessageRow) else self.maker.of_message(row))

    def count(self, record: Record) -> MessageValues | None:
        """Count a record; return the message in it, which is not listed yet."""
        self.records[record.type] += 1
        self.captures[record.capture] += 1
        time = record.time
        if time is not None:
            self.span(time, time)
        if record.error is not None:
            self.cut += 1
        message = message_of(record)
        if message is not None:
            self._message(record)
        elif record.type == "session_ack":
            lane = self.lane(record.capture, record.stream)
            if lane is not None and time is not None:
                lane.acks.add(time)
        elif record.type == "gap":
            self._gap(record)
        elif isinstance(record.packet, RpcCall) and record.packet.sealed:
            self.sealed += 1
        return message

    def span(self, first: int, last: int) -> None:
        """Say that something was captured at both times."""
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)

    def lane(self, capture: str, stream: int | None) -> Lane | None:
        """The lane of a connection, as long as there is room for one."""
        if stream is None:
            return None
        key = (capture, stream)
        lane = self.lanes.get(key)
        if lane is None and len(self.lanes) < _MOST_LANES:
            lane = self.lanes[key] = Lane()
        return lane

    def _way(self, src: str | None, dst: str | None, messages: int, size: int) -> None:
        hosts = host_of(src or "?"), host_of(dst)
        edge = self.edges.get(hosts)
        if edge is None:
            if len(self.edges) >= _MOST_EDGES:
                self.edges_left_out += messages
                return
            edge = self.edges[hosts] = Edge()
        edge.messages += messages
        edge.bytes += size

    def _stream(self, capture: str, entry: Times) -> None:
        lane = self.lane(capture, entry.stream)
        if lane is not None and len(entry.times):
            buckets = lane.acks if entry.src is None else lane.sent.setdefault(entry.src, TimeBuckets())
            buckets.add_all(entry.times)

    def _message(self, record: Record) -> None:
        self.messages += 1
        self.bytes += record.length
        if record.time is not None:
            self.rate.add(record.time)
            lane = self.lane(record.capture, record.stream)
            if lane is not None:
                lane.sent.setdefault(record.src or "?", TimeBuckets()).add(record.time)
        self._way(record.src, record.dst, 1, record.length)

    def list(self, row: MessageRow) -> None:
        """Add a row, if there is room."""
        if not self.room:
            return
        new = {row.src, row.dst, row.queue, row.facts} - self._words
        self._words |= new
        texts = (row.label, row.message_id, row.preview, *new)
        self._row_text += _NUMBERS + sum(map(_length, texts))
        self.rows.append(row)

    def _gap(self, record: Record) -> None:
        if record.frames_missing is not None:
            self.of_files.append(frames_text(record))
            return
        if record.missing == 0:
            return
        self.holes += 1
        self.missing += record.missing or 0
        lane = self.lane(record.capture, record.stream)
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


def _length(text: str) -> int:
    """Bytes of a text in the data of the page."""
    return len(text) + 2 if _PLAIN.fullmatch(text) else len(script_json(text))
