"""What a message is, whichever way it came: `Message`, and its columns, each declared once in `COLUMNS`.

The rule kept here: tables, CSV, JSON lines, their schema, filters, Spark and the documentation read them in
`COLUMNS`, and nobody lists them once more. A column says for each carrier where its value is, as a path of
the record's packet or as a function of the record. What was not reached, and half a name, is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cache, cached_property
from keyword import iskeyword
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import msgspec

from msmq_wire.records.look import AS_JSON, CAPTURE, Kind, Look
from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.units import SECOND
from msmq_wire.wire.fields import Field, fields
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.musts import Bit
from msmq_wire.wire.partial import reached
from msmq_wire.wire.private import Private, What, privacy
from msmq_wire.wire.registry import HEADERS
from msmq_wire.wire.types.enumerations import BodyType, MessageClass

__all__ = [
    "COLUMNS",
    "DATES",
    "ROW",
    "Carrier",
    "Message",
    "MessageColumn",
    "delivery_of",
    "message_of",
    "message_view",
]

Carrier: TypeAlias = Literal["packet", "buffer", "srmp"]
"""What brought it: a packet of the binary protocol or of a remote read, a CACTransferBuffer, HTTP."""
Value: TypeAlias = Callable[[Record], Any]
Where: TypeAlias = str | Value
"""A dotted path of ``record.packet`` as its JSON has it, a function of the record, or "" for nowhere."""

_TRANSACTIONAL, _RECOVERABLE = (
    table.bits[name].mask for name in ("th", "dm") if (table := UserHeader.BITS) is not None
)
DATES = range(-62_000_000_000, 253_000_000_000)
"""Seconds of dates that exist in every zone."""
_PACKETS = frozenset(("user_message", "message_packet"))
_ACKNOWLEDGMENTS = frozenset(("order_ack", "final_ack"))


def none(value: Any) -> None:
    """Nothing, whatever there is."""


class MessageColumn(msgspec.Struct, frozen=True, dict=True):
    """A column of a message: what it is called and means, and where its value is.

    ``record`` is an attribute of the record, or a function of it, where the carrier makes no difference;
    else ``packet``, ``buffer`` and ``srmp`` say where the value is in each `Carrier`. ``choices`` are all the
    texts that there are, ``pattern`` what a text matches, ``least`` and ``most`` the bounds of a number;
    without ``optional`` there always is a value. A column ``of`` another is ``made`` from its value.
    ``reveals`` is what a column tells that is more than a field. A row has what is ``asked`` for only where
    it was, and a table what has no ``look``.
    """

    name: str
    kind: Kind
    doc: str
    record: Where = ""
    packet: Where = ""
    buffer: Where = ""
    srmp: Where = ""
    choices: tuple[str, ...] = ()
    pattern: str = ""
    least: int = 0
    most: int | None = None
    optional: bool = True
    of: str = ""
    made: Callable[[Any], Any] = none
    reveals: What | None = None
    asked: bool = False
    look: Look | None = None

    @property
    def path(self) -> str:
        """The path of the field in a packet, empty where the column is more than a field."""
        return self.packet if isinstance(self.packet, str) else ""

    @cached_property
    def field(self) -> Field | None:
        """The field that it is, or is bits of, as its header declares it."""
        stem, _, rest = self.path.partition(".")
        name = rest.partition(".")[0]
        return next(one for one in fields(HEADERS[stem]) if one.name == name) if stem else None

    @cached_property
    def bit(self) -> Bit | None:
        """The bits of the field that it is."""
        stem, *steps = self.path.split(".")
        table = HEADERS[stem].BITS if len(steps) == 2 else None
        return None if table is None else table.bits[steps[1]]

    @cached_property
    def tells(self) -> What | None:
        """With what a redaction takes its values away: as ``reveals`` or the marker of its field says."""
        said = privacy(Record).get(str(self.record)) if self.field is None else self.field.private
        return self.reveals or (said.what if isinstance(said, Private) else None)

    @property
    def names(self) -> type[IntEnum] | None:
        """The names of its numbers."""
        return None if self.field is None or self.bit is not None else self.field.names

    @property
    def unit(self) -> str:
        """What its numbers count, as `Unit` says."""
        return "" if self.field is None else self.field.unit

    @cached_property
    def values(self) -> Mapping[Carrier, Value]:
        """What gives the value of a record, by what brought it."""
        if self.of:
            return {carrier: self._made(value) for carrier, value in _by_name()[self.of].values.items()}
        places: dict[Carrier, Where] = {"packet": self.packet, "buffer": self.buffer, "srmp": self.srmp}
        if self.record:
            whole = attrgetter(self.record) if isinstance(self.record, str) else self.record
            return dict.fromkeys(places, whole)
        return {carrier: self._value(where) for carrier, where in places.items()}

    def _made(self, value: Value) -> Value:
        def made(record: Record) -> Any:
            found = value(record)
            return None if found is None else self.made(found)

        return made

    def _value(self, where: Where) -> Value:
        if not isinstance(where, str):
            return where
        if not where:
            return none
        bit = self.bit if where == self.packet else None
        steps = where.split(".")[: None if bit is None else -1]
        get = attrgetter(".".join(("packet", *(f"{one}_" if iskeyword(one) else one for one in steps))))
        wanted = int if self.kind == "number" else str
        mask, shift = (-1, 0) if bit is None else (bit.mask, bit.shift)

        def value(record: Record) -> Any:
            try:
                found = get(record)
            except AttributeError:
                # Absent, or not reached.
                return None
            # A number that is none in its envelope is null.
            return found if isinstance(found, wanted) else None

        def bits(record: Record) -> Any:
            try:
                return (get(record) & mask) >> shift
            except (AttributeError, TypeError):
                return None

        return value if bit is None else bits


class Message:
    """A message in a record: the value of each column by its name, as ``message["queue"]``."""

    __slots__ = ("carrier", "record")

    def __init__(self, record: Record, carrier: Carrier) -> None:
        self.record = record
        self.carrier: Carrier = carrier

    def __contains__(self, name: object) -> bool:
        return name in _by_name()

    def __getitem__(self, name: str) -> Any:
        return _by_name()[name].values[self.carrier](self.record)

    def json(self, name: str) -> Any:
        """The value of a column as JSON."""
        as_json = AS_JSON.get(_by_name()[name].kind)
        value = self[name]
        return value if as_json is None else as_json(value)

    def row(self) -> dict[str, Any]:
        """The columns as JSON: a row of ``messages``."""
        record = self.record
        return {name: value(record) for name, value in _shown(self.carrier)}


def message_of(record: Record, *, acknowledgments: bool = False, inside: bool = False) -> Message | None:
    """The message in a record; None when it is none, or an acknowledgment not asked for.

    An SRMP message ``inside`` a packet is that message once more.
    """
    packet = record.packet
    if isinstance(packet, TransferBuffer):
        return Message(record, "buffer")
    if isinstance(packet, SrmpMessage):
        listed = acknowledgments or record.type == "srmp_message"
        return Message(record, "srmp") if listed and (inside or record.parent is None) else None
    if record.type in _PACKETS or (acknowledgments and record.type in _ACKNOWLEDGMENTS):
        return Message(record, "packet")
    return None


def message_view(record: Record, *, acknowledgments: bool = False) -> dict[str, Any] | None:
    """A record as a row of ``messages``; None as for `message_of`."""
    message = message_of(record, acknowledgments=acknowledgments)
    return None if message is None else message.row()


def delivery_of(flags: int) -> str:
    """How a message is delivered, by the flags of its UserHeader."""
    return "transactional" if flags & _TRANSACTIONAL else "recoverable" if flags & _RECOVERABLE else "express"


def _cut_in(record: Record, path: str) -> bool:
    """Whether the bytes end inside a field: half a name is no name, and a row has no place to say so."""
    return record.error is not None and record.error.path.startswith(path)


def _packet_queue(record: Record) -> str | None:
    user = reached(record.packet, "user_header")
    if user is None or _cut_in(record, "user_header.destination_queue"):
        return None
    if record.error is not None and reached(user, "destination_queue") is None:
        return None
    name: str | None = user.format_name("destination_queue")
    return name


def _packet_label(record: Record) -> str | None:
    try:
        label: str = record.packet.message_properties_header.label.text
    except AttributeError:
        return None
    return None if _cut_in(record, "message_properties_header.label") else label


def _packet_delivery(record: Record) -> str | None:
    flags = reached(reached(record.packet, "user_header"), "flags")
    return None if flags is None else delivery_of(flags)


def _packet_message_id(record: Record) -> str | None:
    user = reached(record.packet, "user_header")
    number = reached(user, "message_id")
    return None if number is None else f"{user.source_queue_manager}\\{number}"


def _packet_body_size(record: Record) -> int | None:
    compound = getattr(record.packet, "compound_message_header", None)
    size: int | None
    if compound is None or compound is msgspec.UNSET:
        size = reached(reached(record.packet, "message_properties_header"), "message_size")
    else:
        size = reached(compound, "msg_body_size")
    return size


def _buffer_queue(record: Record) -> str | None:
    queue: str | None = record.packet.properties.destination_queue_format_name or record.packet.queue
    return queue


def _buffer_delivery(record: Record) -> str | None:
    message = record.packet.properties
    if message.first_in_transaction or message.last_in_transaction:
        return "transactional"
    if message.delivery_guarantee is None:
        return None
    return "recoverable" if message.delivery_guarantee else "express"


def _buffer_message_id(record: Record) -> str | None:
    identifier = record.packet.properties.identifier
    number = reached(identifier, "uniquifier")
    return None if number is None else f"{reached(identifier, 'lineage')}\\{number}"


def _srmp_delivery(record: Record) -> str | None:
    header = reached(record.packet.envelope, "header")
    if header is None:
        return None
    durable = reached(reached(header, "services"), "durable")
    return "transactional" if header.stream else "recoverable" if durable else "express"


def _srmp_sent_time(record: Record) -> int | None:
    sent_at = reached(reached(reached(record.packet.envelope, "header"), "properties"), "sent_at")
    seconds: int | None = None if sent_at is None else sent_at.seconds
    return seconds


def _srmp_body_size(record: Record) -> int | None:
    return None if record.packet.body is None else len(record.packet.body)


def _name_in(names: type[IntEnum]) -> Callable[[int], str | None]:
    known = {int(one): one.name for one in names}
    return lambda number: known.get(number)


COLUMNS: tuple[MessageColumn, ...] = (
    MessageColumn(
        "id", "number", "Number of the item, as `decode` counts them.",
        record="id", least=1, optional=False, look=Look("id", style="strong"),
    ),
    MessageColumn("parent", "number", "Id of the row that carried it.", record="parent"),
    MessageColumn("time", "time", "Of the frame that completes it.", record="time", look=Look("time", 72)),
    MessageColumn(
        "src", "endpoint", "Address and port it came from.",
        record="src", look=Look("src", 0, 10, last=True),
    ),
    MessageColumn(
        "dst", "endpoint", "Address and port it went to.",
        record="dst", look=Look("dst", 0, 10, last=True),
    ),
    MessageColumn(
        "queue", "text", "Format name of the destination.",
        packet=_packet_queue, buffer=_buffer_queue, srmp="queue", reveals="host",
        look=Look("queue", 0, 12, end=True, style="name"),
    ),
    MessageColumn(
        "label", "text", "Label of the message.",
        packet=_packet_label, buffer="properties.label.text", srmp="label", reveals="label",
        look=Look("label", 64, 7, style="note"),
    ),
    MessageColumn(
        "message_class", "number", "Class of the message.",
        packet="message_properties_header.message_class", buffer="properties.message_class",
        srmp="envelope.header.msmq.class", look=Look("class", 120, 8),
    ),
    MessageColumn(
        "priority", "number", "Priority, 0 to 7.",
        packet="base_header.flags.pr", buffer="properties.priority", srmp="envelope.header.msmq.priority",
        most=7,
    ),
    MessageColumn(
        "delivery", "text", "express, recoverable or transactional.",
        packet=_packet_delivery, buffer=_buffer_delivery, srmp=_srmp_delivery,
        choices=("express", "recoverable", "transactional"),
    ),
    MessageColumn(
        "sent_time", "number", "When it was sent, seconds since 1970 by the clock of the sender.",
        packet="user_header.sent_time", buffer="properties.sent_time", srmp=_srmp_sent_time,
    ),
    MessageColumn(
        "message_id", "text",
        "GUID of the sending queue manager, a backslash and the number there.",
        packet=_packet_message_id, buffer=_buffer_message_id, srmp="message_id",
        pattern=r"^[0-9a-f-]{36}\\[0-9]+$", reveals="host",
    ),
    MessageColumn(
        "body_type", "number", "Type of the body.",
        packet="message_properties_header.body_type", buffer="properties.body_type",
        srmp="envelope.header.msmq.body_type",
    ),
    MessageColumn(
        "body_size", "number", "Bytes of the body that its header claims.",
        packet=_packet_body_size, buffer="properties.body_length", srmp=_srmp_body_size,
        look=Look("size", 110),
    ),
    MessageColumn(
        "via", "text", "tcp; rpc for what came in a call; http for SRMP.",
        packet=lambda record: "rpc" if is_read(record) else "tcp", buffer=lambda record: "rpc",
        srmp=lambda record: "http", choices=("tcp", "rpc", "http"), optional=False,
        look=Look("via", 130, style="dim"),
    ),
    MessageColumn(
        "frames", "numbers", "Numbers of the frames that carry it, from 1.",
        record="frames", optional=False,
    ),
    MessageColumn(
        "capture", "text", "The file.", record="capture", optional=False, look=CAPTURE,
    ),
    MessageColumn(
        "sent_at", "time", "The time of `sent_time`.",
        of="sent_time", made=lambda seconds: seconds * SECOND if seconds in DATES else None,
    ),
    MessageColumn(
        "message_class_name", "text", "The name of `message_class`.",
        of="message_class", made=_name_in(MessageClass),
    ),
    MessageColumn(
        "body_type_name", "text", "The name of `body_type`.", of="body_type", made=_name_in(BodyType),
    ),
    MessageColumn(
        "how", "text",
        "sent; received or peeked by a remote read; read, where its call does not say which of the two.",
        record=lambda record: record.how or ("read" if is_read(record) else "sent"),
        choices=("sent", "received", "peeked", "read"), optional=False, look=Look("how", 60, 3),
    ),
    MessageColumn(
        "body", "body", "The body.",
        record=message_body, reveals="body", asked=True, look=Look("body", 100, 8),
    ),
    MessageColumn(
        "body_text", "text", "The body where it is text, opened.",
        of="body", made=lambda body: body.content.text, reveals="body", asked=True,
    ),
)  # fmt: skip
"""The columns in their order."""

ROW = tuple(one for one in COLUMNS if not one.asked)
"""Those that a row has if nothing else is asked for."""


@cache
def _by_name() -> Mapping[str, MessageColumn]:
    return {one.name: one for one in COLUMNS}


@cache
def _shown(carrier: Carrier) -> tuple[tuple[str, Value], ...]:
    """What gives the values of a row as JSON."""

    def shown(column: MessageColumn) -> Value:
        as_json, value = AS_JSON.get(column.kind), column.values[carrier]
        return value if as_json is None else lambda record: as_json(value(record))

    return tuple((one.name, shown(one)) for one in ROW)
