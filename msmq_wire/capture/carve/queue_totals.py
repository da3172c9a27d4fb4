"""`Queues`: totals of messages at rest by queue: grade, delivery, first and last time.

The rule kept here: a message is counted once, however often it lies somewhere. What packets do not say is
not told, such as whether a transaction was committed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from msmq_wire.capture.carve.storage import storage_kind
from msmq_wire.records.column import Column, ColumnRow
from msmq_wire.records.display import Display
from msmq_wire.records.message import DATES, message_of
from msmq_wire.records.record import Record
from msmq_wire.records.registered_queues import queue_suffix
from msmq_wire.units import SECOND
from msmq_wire.wire.types.enumerations import MessageClass

_MOST = 10_000
"""Queues that are told apart: hostile files could hold one a message."""
_OTHERS = "(other queues)"


class QueueTotals(msgspec.Struct, kw_only=True):
    """The messages for one queue: ``counts`` by grade, delivery and what they are; times in nanoseconds."""

    queue: str | None
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    classes: Counter[int] = msgspec.field(default_factory=Counter)
    storage: Counter[str] = msgspec.field(default_factory=Counter)
    body_bytes: int = 0
    first: int | None = None
    last: int | None = None


def _queue(row: Any) -> str:
    queue = row["queue"] or ""
    return f"{queue}{queue_suffix(queue)}"


def _count(name: str, doc: str, head: str, least: int = 0) -> Column:
    display = Display(head, least)
    return Column(name, "number", doc, lambda totals: totals.counts[name], optional=False, display=display)


def _classes(totals: QueueTotals) -> tuple[str, ...]:
    known = {int(one): one.name.removeprefix("MQMSG_CLASS_").lower() for one in MessageClass}
    return tuple(f"{count} {known.get(kind, f'{kind:#06x}')}" for kind, count in totals.classes.most_common())


def _storage(totals: QueueTotals) -> tuple[str, ...]:
    return tuple(f"{count} {kind}" for kind, count in totals.storage.most_common())


QUEUE_COLUMNS: tuple[Column, ...] = (
    Column(
        "queue", "text", "Format name of the destination.",
        reveals="host", display=Display(
            "queue", 0, 16, end=True, style="name", text=_queue
        ),
    ),
    _count("messages", "Messages, each once.", "messages"),
    _count("whole", "Those that are whole.", "whole"),
    _count("damaged", "Those that contradict themselves.", "damaged", 70),
    _count("head", "Those whose end is not there.", "head", 70),
    _count("express", "Express ones.", "express", 110),
    _count("recoverable", "Recoverable ones.", "recoverable", 110),
    _count(
        "transactional", "Transactional ones; whether committed, no packet says.", "transactional", 110
    ),
    Column(
        "first", "time", "The earliest SentTime, by the clocks of the senders.",
        display=Display("first sent", 80),
    ),
    Column("last", "time", "The latest SentTime.", display=Display("last sent", 100)),
    Column(
        "body_bytes", "number", "Bytes of the bodies of whole messages.",
        optional=False, display=Display("body bytes", 130),
    ),
    Column(
        "classes", "texts", "How many of each class.", _classes,
        optional=False, display=Display("classes", 150, 10),
    ),
    Column(
        "storage", "texts", "How many places in which kind of storage file, by its name.",
        _storage, optional=False, display=Display("in", 90, 8),
    ),
)  # fmt: skip
"""What is told of a queue."""


class QueueRow(ColumnRow, columns=QUEUE_COLUMNS):
    """A row of a queue."""

    __slots__ = ()


class Queues:
    """Takes records; ``others`` counts those that are no message, by type."""

    def __init__(self) -> None:
        self._totals: dict[str | None, QueueTotals] = {}
        self.others: Counter[str] = Counter()

    def add(self, record: Record) -> None:
        """Take a record of what lies at rest."""
        message = message_of(record)
        if message is None:
            self.others[record.type] += record.grade is not None
            return
        queue = message["queue"]
        totals = self._totals.get(queue)
        if totals is None:
            if len(self._totals) >= _MOST:
                queue = _OTHERS
            totals = self._totals.setdefault(queue, QueueTotals(queue=queue))
        totals.counts.update(("messages", record.grade or "", message["delivery"] or ""))
        kind = message["message_class"]
        if kind is not None:
            totals.classes[kind] += 1
        totals.storage.update(filter(None, (storage_kind(one.capture) for one in record.locations)))
        if record.grade == "whole":
            totals.body_bytes += message["body_size"] or 0
        sent = message["sent_time"]
        if sent and sent in DATES:
            sent *= SECOND
            totals.first = sent if totals.first is None else min(totals.first, sent)
            totals.last = sent if totals.last is None else max(totals.last, sent)

    def rows(self) -> Iterable[QueueTotals]:
        """The queues, that with most messages first."""
        return sorted(self._totals.values(), key=lambda one: (-one.counts["messages"], one.queue or ""))
