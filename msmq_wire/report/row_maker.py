"""Rows of the message table, made from a record or from columns of a batch.

The rule kept here: a row says the same whichever it was made from, and everything in it is text that shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from msmq_wire.markup import visible
from msmq_wire.records.bodies import preview
from msmq_wire.records.message import COLUMNS, DATES, MessageColumn, MessageValues
from msmq_wire.records.message_body import MessageBody
from msmq_wire.records.record import Record
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.report.wording import date_text, duration_text
from msmq_wire.units import SECOND
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.partial import reached

_LONGEST_LABEL = 124
_LONGEST_QUEUE = 400
_PREVIEW = 96
_MOST_FACTS = 4096

ASKED: tuple[MessageColumn, ...] = tuple(
    {one.name: one for one in COLUMNS}[name]
    for name in (
        *("id", "time", "src", "dst", "queue", "label", "delivery", "body_size", "message_class", "frames"),
        *(
            "message_id",
            "via",
            "message_class_name",
            "priority",
            "body_type_name",
            "sent_time",
            "how",
            "body",
        ),
    )
)
"""The columns of a message that a row is made of."""
OF_HEADERS = (
    "user_header.admin_queue.format_name",
    "user_header.response_queue.format_name",
    "user_header.flags",
    "user_header.time_to_be_received",
    "base_header.time_to_reach_queue",
    "message_properties_header.flags",
    "message_properties_header.application_tag",
    "security_header.flags",
    "security_header.signature_size",
)
"""Paths in a packet of the binary protocol that a row is made of beside them."""
_FOREVER = 0xFFFFFFFF
_EB = 0x20


class MessageRow(msgspec.Struct, frozen=True, gc=False):
    """A message of the table; ``time`` is nanoseconds since 1970, ``frame`` the first of its frames.

    ``facts`` are what its headers say beside that, as ``name: value`` lines; ``preview`` is how its body
    begins, ``sent`` the time that its sender gives, in seconds since 1970. ``lies`` says of what was found at
    rest where that is, and what it is worth.
    """

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
    facts: str = ""
    preview: str = ""
    sent: int | None = None
    lies: str = ""


class RowMaker:
    """Makes rows; bodies that are redacted are of no kind and begin with nothing."""

    def __init__(self, *, bodies: bool = True) -> None:
        self._bodies = bodies
        self._facts: dict[tuple[Any, ...], str] = {}

    def of_message(self, message: MessageValues) -> MessageRow:
        """The row of a record."""
        values = [message[one.name] for one in ASKED]
        record = message.record
        row = self.of_values(values, _headers_of(record) if message.carrier == "packet" else ())
        return row if record.grade is None else msgspec.structs.replace(row, lies=_lies(record))

    def of_values(self, values: list[Any], headers: tuple[Any, ...]) -> MessageRow:
        """The row of what is asked, in the order of `ASKED`, and of `OF_HEADERS` where it has headers."""
        id_, time, src, dst, queue, label, delivery, size, class_, frames, *others = values
        message_id, via, class_name, priority, body_type, sent, how, body = others
        known = (class_, class_name, priority, body_type, how, *headers)
        facts = self._facts.get(known)
        if facts is None:
            facts = self._reported(*known)
            if len(self._facts) < _MOST_FACTS:
                self._facts[known] = facts
        return MessageRow(
            id=id_,
            time=time,
            src=visible(src or "?", _LONGEST_LABEL),
            dst=visible(dst or "?", _LONGEST_LABEL),
            queue=visible(with_queue_names(queue or ""), _LONGEST_QUEUE),
            label=visible(label or "", _LONGEST_LABEL),
            delivery=delivery or "",
            size=size,
            message_class=class_,
            frame=frames[0] if frames else None,
            message_id=visible(message_id or "", _LONGEST_QUEUE),
            via=via,
            facts=facts,
            preview=self._preview(body),
            sent=sent if isinstance(sent, int) and sent in DATES else None,
        )

    def _preview(self, body: MessageBody | None) -> str:
        if body is None or not self._bodies:
            return ""
        return visible(preview(body.content, _PREVIEW), _PREVIEW)

    def _reported(
        self,
        class_: int | None,
        class_name: str | None,
        priority: int | None,
        body_type: str | None,
        how: str,
        admin: str | None = None,
        response: str | None = None,
        flags: int | None = None,
        to_be_received: int | None = None,
        to_reach: int | None = None,
        wanted: int | None = None,
        tag: int | None = None,
        security: int | None = None,
        signature: int | None = None,
    ) -> str:
        lines = {
            "Class": class_name or (None if class_ is None else f"0x{class_:04x}"),
            "Priority": None if priority is None else str(priority),
            "Body type": body_type if self._bodies else None,
            "How it was seen": None if how in ("sent", "stored") else how,
            "Administration queue": admin,
            "Response queue": response,
            "Acknowledgments wanted": _bits(wanted, _WANTED),
            "Copies kept": _bits(flags, _KEPT),
            "Must reach its queue": _within(to_reach, how),
            "Must be received": _within(to_be_received, how),
            "Application tag": str(tag) if tag else None,
            "Secured": _bits((security or 0) & _EB | bool(signature), {_EB: "encrypted", 1: "signed"}),
        }
        return "\n".join(
            f"{name}: {visible(with_queue_names(text), _LONGEST_QUEUE)}"
            for name, text in lines.items()
            if text
        )


def _masks(table: Any, words: Mapping[str, str]) -> Mapping[int, str]:
    return {table.bits[name].mask: word for name, word in words.items()}


_WANTED = _masks(
    MessagePropertiesHeader.BITS,
    {"pa": "arrival", "pr": "receipt", "na": "failed delivery", "nr": "failed receipt"},
)
_KEPT = _masks(UserHeader.BITS, {"jn": "dead letter", "jp": "journal"})


def _bits(word: int | None, words: Mapping[int, str]) -> str | None:
    return ", ".join(text for mask, text in words.items() if word & mask) if word else None


def _within(seconds: int | None, how: str) -> str | None:
    if seconds is None or seconds == _FOREVER:
        return None
    if how == "stored":
        # Nobody has seen what a queue manager makes of it in its files.
        return f"{seconds:,} seconds, if the value is stored as it was sent"
    # What was stored has a date there.
    return f"within {duration_text(seconds * SECOND)}" if how == "sent" else date_text(seconds * SECOND)


def _lies(record: Record) -> str:
    more = len(record.locations) - 1
    also = f", and {more:,} more" if more else ""
    name = record.capture.replace("\\", "/").rpartition("/")[2]
    return visible(f"{record.grade}: {name} at {record.offset:,}{also}", _LONGEST_QUEUE)


def _queue(name: str) -> Callable[[Any], Any]:
    def value(packet: Any) -> Any:
        user = reached(packet, "user_header")
        return None if user is None or reached(user, name) is None else user.format_name(name)

    return value


def _field(header: str, name: str) -> Callable[[Any], Any]:
    def value(packet: Any) -> Any:
        return reached(reached(packet, header), name)

    return value


_READ: tuple[Callable[[Any], Any], ...] = tuple(
    _queue(path.split(".")[1]) if path.endswith(".format_name") else _field(*path.split("."))
    for path in OF_HEADERS
)


def _headers_of(record: Record) -> tuple[Any, ...]:
    return tuple(read(record.packet) for read in _READ)
