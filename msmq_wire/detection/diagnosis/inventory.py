"""Question 18: what the queues carry, as a table for a migration.

The rule kept here: sums by what a message says of itself, and no message; the kind of a body is that of
question 11, which opens one of those that look alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import msgspec

from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.bodies import BodyKind
from msmq_wire.detection.diagnosis.phrases import Phrases, count, each_time
from msmq_wire.records.column import Column
from msmq_wire.records.display import Display
from msmq_wire.records.message import message_of
from msmq_wire.records.record import Record
from msmq_wire.sessions import Moment
from msmq_wire.sessions.followed_message import UserMessageReader, is_acknowledgment
from msmq_wire.wire.partial import reached

_MOST_ROWS = 1024


def _words(*words: str) -> tuple[str, ...]:
    """The text of each number whose bits have these names, the lowest bit first."""
    bits = [(1 << at, word) for at, word in enumerate(words)]
    return tuple(" ".join(word for bit, word in bits if number & bit) for number in range(1 << len(words)))


_ASKED, _JOURNALED = _words("PA", "PR", "NA", "NR"), _words("JN", "JP")
_RQ, _EB = 7 << 16, 1 << 5
"""Of UserHeader and of SecurityHeader."""


class MessageTraits(NamedTuple):
    """The properties that the messages of one row share; texts as in rows."""

    queue: str | None
    body: str
    via: str
    delivery: str | None
    priority: int | None
    acknowledgments: str
    journaling: str
    response_queue: str | None
    signed: bool
    encrypted: bool


_CarrierTraits: TypeAlias = tuple[str, str, str | None, bool, bool]
"""The last five fields of `MessageTraits`, which each carrier stores differently."""


class _Line(msgspec.Struct):
    """A row of the table: messages with equal traits, sizes in bytes."""

    content: MessageTraits
    first: Moment
    last: Moment
    messages: int = 0
    bytes: int = 0
    smallest: int | None = None
    largest: int | None = None


class Inventory:
    """Takes messages from any carrier; keeps the sums of at most 1,024 traits.

    ``left_out`` counts messages with further traits.
    """

    def __init__(self) -> None:
        self.sums: dict[MessageTraits, _Line] = {}
        self.left_out = 0
        self._reader = UserMessageReader()

    def feed(
        self,
        record: Record,
        moment: Moment,
        kind: BodyKind | None,
        more: tuple[Moment, int, int, int, int] | None = None,
    ) -> None:
        """Take a message whose body is of a ``kind``, None without a body.

        It may stand for ``more`` messages with equal traits: the last one, their number, and the sum, the
        smallest and the largest of their sizes.
        """
        message = message_of(record)
        if message is None or is_acknowledgment(message["message_class"]):
            return
        size = message["body_size"]
        reported = self._of_packet(record) if message.carrier == "packet" else _of_other(record, kind)
        via, delivery, priority = (message[name] for name in ("via", "delivery", "priority"))
        content = MessageTraits(message["queue"], _body(kind), via, delivery, priority, *reported)
        last, number, total, smallest, largest = more or (moment, 1, size or 0, size, size)
        line = self.sums.get(content)
        if line is None:
            if len(self.sums) >= _MOST_ROWS:
                self.left_out += number
                return
            line = self.sums[content] = _Line(content, moment, last)
        if last.record > line.last.record:
            line.last = last
        line.messages += number
        line.bytes += total
        if smallest is not None and largest is not None:
            line.smallest = smallest if line.smallest is None else min(line.smallest, smallest)
            line.largest = largest if line.largest is None else max(line.largest, largest)

    def lines(self) -> list[_Line]:
        """The rows, by number of messages, the highest first."""
        return sorted(self.sums.values(), key=lambda line: (-line.messages, -line.bytes))

    def _of_packet(self, record: Record) -> _CarrierTraits:
        packet = record.packet
        user = reached(packet, "user_header")
        flags = reached(user, "flags") or 0
        security = reached(packet, "security_header")
        signature = reached(reached(security, "security_data"), "signature")
        properties = reached(packet, "message_properties_header")
        return (
            _ASKED[(reached(properties, "flags") or 0) & 0xF],
            _JOURNALED[flags >> 8 & 3],
            self._reader.queue(user, "response_queue") if flags & _RQ else None,
            bool(signature),
            bool(reached(properties, "privacy_level") or (reached(security, "flags") or 0) & _EB),
        )


def _of_other(record: Record, kind: BodyKind | None) -> _CarrierTraits:
    """The traits of a message over HTTP or in a transfer buffer."""
    properties = getattr(record.packet, "properties", None)
    negative = getattr(properties, "negative_journaling_requested", False)
    positive = getattr(properties, "positive_journaling_requested", False)
    return (
        _ASKED[(getattr(properties, "acknowledgements_requested", None) or 0) & 0xF],
        _JOURNALED[bool(negative) | bool(positive) << 1],
        getattr(properties, "response_queue_format_name", None),
        bool(getattr(properties, "signature", None)),
        kind is not None and kind.kind == "encrypted",
    )


def _body(kind: BodyKind | None) -> str:
    if kind is None:
        return "none"
    return f"{kind.opened}, as {kind.convention} writes it" if kind.convention else kind.opened


def _sizes(row: Any) -> str:
    low, high = row["smallest"], row["largest"]
    return "" if low is None else f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _asks(row: Any) -> str:
    return " ".join(filter(None, (row["acknowledgments"], row["journaling"])))


def _protection(row: Any) -> str:
    return " ".join(name for name in ("signed", "encrypted") if row[name])


INVENTORY_COLUMNS: tuple[Column, ...] = (
    Column("messages", "number", "How many there are.", optional=False, display=Display("messages")),
    Column(
        "queue", "text", "Format name of the destination.", "content.queue", reveals="host",
        display=Display("queue", 0, 12, end=True, style="name"),
    ),
    Column(
        "body", "text", "What wrote the bodies.", "content.body",
        optional=False, display=Display("body", 0, 9),
    ),
    Column("bytes", "number", "Bytes of all bodies.", optional=False),
    Column("smallest", "number", "Bytes of the smallest body.", display=Display("sizes", 80, text=_sizes)),
    Column("largest", "number", "Bytes of the largest body."),
    Column(
        "delivery", "text", "express, recoverable or transactional.", "content.delivery",
        choices=("express", "recoverable", "transactional"), display=Display("delivery", 90),
    ),
    Column(
        "priority", "number", "Priority, 0 to 7.", "content.priority", most=7,
        display=Display("priority", 110),
    ),
    Column(
        "acknowledgments", "text", "Acknowledgments asked for: PA, PR, NA, NR.", "content.acknowledgments",
        display=Display("asks", 100, text=_asks),
    ),
    Column("journaling", "text", "Source journaling asked for: JN, JP.", "content.journaling"),
    Column(
        "response_queue", "text", "Format name of the queue for answers.", "content.response_queue",
        reveals="host", display=Display("answers to", 130, 12, end=True, style="name"),
    ),
    Column(
        "signed", "flag", "Whether there is a signature.", "content.signed", optional=False,
        display=Display("protection", 120, text=_protection),
    ),
    Column("encrypted", "flag", "Whether the body is encrypted.", "content.encrypted", optional=False),
    Column(
        "via", "text", "tcp; rpc for what came in a call; http for SRMP.", "content.via",
        choices=("tcp", "rpc", "http"), optional=False, display=Display("via", 140, style="dim"),
    ),
)  # fmt: skip
"""The columns of the table."""


def inventory(sums: Inventory, again: int, brought: int, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 18; ``again`` counts resent messages, ``brought`` the messages in calls."""
    found = sums.lines()
    if not found:
        builder.facts = {"rows": [], "messages": 0, "left_out": 0}
        return
    total = sum(line.messages for line in found) + sums.left_out
    queues = len({line.content.queue for line in found})
    first = min((line.first for line in found), key=lambda at: at.record)
    last = max((line.last for line in found), key=lambda at: at.record)
    size = count(sum(line.bytes for line in found), "byte")
    text = f"In the capture: {count(total, 'message')} for {count(queues, 'queue')}"
    text += f", in {len(found):,} rows of the table" if len(found) > 1 else ""
    text += f"; the body has {size}; " if total == 1 else f"; the bodies have {size} in total; "
    where = words.frame(first)
    text += where if first == last else f"first in {where}, last in {words.frame(last)}"
    builder.say(f"{text}.", first, last)
    answers, asks, journals, transactional, signed, encrypted = (
        sum(line.messages for line in found if is_so(line.content))
        for is_so in (
            lambda one: one.response_queue is not None,
            lambda one: one.acknowledgments,
            lambda one: one.journaling,
            lambda one: one.delivery == "transactional",
            lambda one: one.signed,
            lambda one: one.encrypted,
        )
    )
    builder.say(
        f"With a response queue: {answers:,}; acknowledgments asked for: {asks:,}; journaling or "
        f"dead-lettering: {journals:,}; transactional: {transactional:,}; signed: {signed:,}; "
        f"encrypted: {encrypted:,}."
    )
    if sums.left_out:
        builder.add_caveats(f"{count(sums.left_out, 'message')} of further kinds are not in the table")
    builder.add_caveats(each_time(again, brought))
    builder.facts = {
        "messages": total,
        "left_out": sums.left_out,
        "rows": [{one.name: one.value(line) for one in INVENTORY_COLUMNS} for line in found],
    }
