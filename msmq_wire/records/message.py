"""What a message is, whichever way it came: `MessageValues`, and its columns, declared in `COLUMNS`.

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

from msmq_wire.records.column import CAPTURED, Column, join_columns, placed
from msmq_wire.records.display import AS_JSON, Display
from msmq_wire.records.message_body import BODY_FIELDS, MessageBody, body_of, message_body
from msmq_wire.records.message_values import (
    buffer_delivery,
    buffer_message_id,
    buffer_queue,
    class_name,
    cut_of,
    delivery_of,
    message_id,
    packet_body_size,
    packet_delivery,
    packet_label,
    packet_message_id,
    packet_queue,
    srmp_body_size,
    srmp_delivery,
    srmp_sent_time,
)
from msmq_wire.records.queue_names import short_queue
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.registered_queues import sure_label, sure_name
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.signatures import signature, signed_by, trusted_by
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.units import SECOND
from msmq_wire.wire.fields import Field, fields
from msmq_wire.wire.musts import Bit
from msmq_wire.wire.private import Private, What, privacy
from msmq_wire.wire.registry import HEADERS
from msmq_wire.wire.report_message import ReportBody, ReportLabel, ReportMessage
from msmq_wire.wire.types.enumerations import BodyType, MessageClass

Carrier: TypeAlias = Literal["packet", "buffer", "srmp"]
"""What brought it: a packet of the binary protocol or of a remote read, a CACTransferBuffer, HTTP."""
Value: TypeAlias = Callable[[Record], Any]
Where: TypeAlias = str | Value
"""A dotted path of ``record.packet`` as its JSON has it, a function of the record, or "" for nowhere."""

DATES = range(-62_000_000_000, 253_000_000_000)
"""Seconds of dates that exist in every zone."""
_PACKETS = frozenset(("user_message", "message_packet"))
_PROPERTIES = "message_properties_header"
_ACKNOWLEDGMENTS = frozenset(("order_ack", "final_ack"))
_UNSEAL = ("cryptography", "Cryptodome")


def none(value: Any) -> None:
    """Nothing, whatever there is."""


class WholePacket(msgspec.Struct, frozen=True):
    """Where a value is in a packet of the binary protocol that is whole and breaks no MUST.

    ``paths`` are those of JSON; what is at several is ``made`` to one value. Where there is one of
    ``unless``, and of numbers not 0, the packet has to be asked.
    """

    paths: tuple[str, ...] = ()
    made: Callable[..., Any] | None = None
    unless: tuple[str, ...] = ()


_UNSIGNED = WholePacket(made=lambda: None, unless=("security_header", "multi_queue_format_header"))
"""Of a message that has nowhere to keep a signature."""


class MessageColumn(Column, frozen=True, kw_only=True):
    """A column of a message: what it is called and means, and where its value is.

    ``where`` is of the record, where the carrier makes no difference; else ``packet``, ``buffer`` and
    ``srmp`` say where the value is in each `Carrier`, and ``whole`` where it is read without decoding a
    packet, if that is more than its path. A column ``of`` another is ``made`` from its value.
    """

    packet: Where = ""
    buffer: Where = ""
    srmp: Where = ""
    whole: WholePacket | None = None
    of: str = ""
    made: Callable[[Any], Any] = none

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
        said = privacy(Record).get(str(self.where)) if self.field is None else self.field.private
        return self.reveals or (said.what if isinstance(said, Private) else None)

    @property
    def names(self) -> type[IntEnum] | None:
        """The names of its numbers."""
        return None if self.field is None or self.bit is not None else self.field.names

    @property
    def unit(self) -> str:
        """What its numbers count, as `Unit` says."""
        return "" if self.field is None else self.field.unit

    @property
    def in_whole(self) -> WholePacket | None:
        """Where it is in a packet that is whole; None where it is no more than an attribute of the record."""
        if self.of:
            inner = _by_name()[self.of].in_whole
            assert inner is not None
            made = self.made if inner.made is None else _after(inner.made, self.made)
            return msgspec.structs.replace(inner, made=made)
        return self.whole or (WholePacket((self.path,)) if self.path else None)

    @cached_property
    def values(self) -> Mapping[Carrier, Value]:
        """What gives the value of a record, by what brought it."""
        if self.of:
            return {carrier: self._made(value) for carrier, value in _by_name()[self.of].values.items()}
        places: dict[Carrier, Where] = {"packet": self.packet, "buffer": self.buffer, "srmp": self.srmp}
        if self.where:
            return dict.fromkeys(places, self.value)
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


def _after(first: Callable[..., Any], made: Callable[[Any], Any]) -> Callable[..., Any]:
    """Makes a value of what ``first`` gives, where that is one."""

    def both(*values: Any) -> Any:
        found = first(*values)
        return None if found is None else made(found)

    return both


class MessageValues:
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
        return _shown(self.carrier)[name](self.record)

    def row(self) -> dict[str, Any]:
        """The columns as JSON: a row of ``messages``."""
        record, shown = self.record, _shown(self.carrier)
        return {one.name: shown[one.name](record) for one in ROW}


def message_of(
    record: Record, *, acknowledgments: bool = False, inside: bool = False
) -> MessageValues | None:
    """The message in a record; None when it is none, or an acknowledgment not asked for.

    An SRMP message ``inside`` a packet is that message once more.
    """
    packet = record.packet
    if isinstance(packet, TransferBuffer):
        return MessageValues(record, "buffer")
    if isinstance(packet, SrmpMessage):
        listed = acknowledgments or record.type == "srmp_message"
        return MessageValues(record, "srmp") if listed and (inside or record.parent is None) else None
    listed = is_listed(record.type, acknowledgments=acknowledgments)
    return MessageValues(record, "packet") if listed else None


def is_listed(type_: str, *, acknowledgments: bool = False) -> bool:
    """Whether packets of a type are messages."""
    return type_ in _PACKETS or (acknowledgments and type_ in _ACKNOWLEDGMENTS)


def message_view(record: Record, *, acknowledgments: bool = False) -> dict[str, Any] | None:
    """A record as a row of ``messages``; None as for `message_of`."""
    message = message_of(record, acknowledgments=acknowledgments)
    return None if message is None else message.row()


def _name_in(names: type[IntEnum]) -> Callable[[int], str | None]:
    known = {int(one): one.name for one in names}
    return lambda number: known.get(number)


def _via(record: Record) -> str:
    if record.grade is not None:
        return "file"
    if isinstance(record.packet, SrmpMessage):
        return "http"
    return "rpc" if is_read(record) or isinstance(record.packet, TransferBuffer) else "tcp"


def _how(record: Record) -> str:
    if record.grade is not None:
        return "stored"
    return record.how or ("read" if is_read(record) else "sent")


def _style(name: str) -> str:
    """How a table shows a class: what was refused stands out."""
    return "error" if name.startswith("nack") else ""


def _sent_as(class_: int | None) -> str:
    """What a message of a class is that was sent: an acknowledgment, or an ordinary one."""
    return class_name(class_) if class_ else "sent"


def _action(carrier: Carrier) -> Callable[[Record], str]:
    """What was done with a message that a carrier brought; of an acknowledgment its class."""

    def action(record: Record) -> str:
        how = _how(record)
        return how if how != "sent" else _sent_as(_by_name()["message_class"].values[carrier](record))

    return action


def _reported(name: str) -> Callable[[MessageBody], Any]:
    """Makes a value of what label and body of a report message say."""

    def made(body: MessageBody) -> Any:
        label, text = ReportLabel.parse(body.label), ReportBody.parse(body.data)
        if label is None or text is None:
            return None
        return getattr(ReportMessage(label=label, body=text), name)

    return made


COLUMNS: tuple[MessageColumn, ...] = (
    *(placed(name, MessageColumn) for name in ("id", "parent", "time", "src", "dst")),
    MessageColumn(
        "queue", "text", "Format name of the destination.",
        packet=packet_queue, buffer=buffer_queue, srmp="queue", reveals="host",
        whole=WholePacket(("user_header.destination_queue.format_name",)),
        display=Display("queue", 0, 12, end=True, style="name", short=short_queue),
    ),
    MessageColumn(
        "label", "text", "Label of the message.",
        packet=packet_label, buffer="properties.label.text", srmp="label", reveals="label",
        whole=WholePacket((f"{_PROPERTIES}.label",)),
        display=Display("label", 64, 7, style="note"),
    ),
    MessageColumn(
        "message_class", "number", "Class of the message.",
        packet="message_properties_header.message_class", buffer="properties.message_class",
        srmp="envelope.header.msmq.class", display=Display("class", 120, 8, tint=_style),
    ),
    MessageColumn(
        "priority", "number", "Priority, 0 to 7.",
        packet="base_header.flags.pr", buffer="properties.priority", srmp="envelope.header.msmq.priority",
        most=7,
    ),
    MessageColumn(
        "delivery", "text", "express, recoverable or transactional.",
        packet=packet_delivery, buffer=buffer_delivery, srmp=srmp_delivery,
        whole=WholePacket(("user_header.flags",), delivery_of),
        choices=("express", "recoverable", "transactional"),
    ),
    MessageColumn(
        "sent_time", "number", "When it was sent, seconds since 1970 by the clock of the sender.",
        packet="user_header.sent_time", buffer="properties.sent_time", srmp=srmp_sent_time,
    ),
    MessageColumn(
        "message_id", "text",
        "GUID of the sending queue manager, a backslash and the number there.",
        packet=packet_message_id, buffer=buffer_message_id, srmp="message_id",
        whole=WholePacket(("user_header.source_queue_manager", "user_header.message_id"), message_id),
        pattern=r"^[0-9a-f-]{36}\\[0-9]+$", reveals="host",
    ),
    MessageColumn(
        "body_type", "number", "Type of the body.",
        packet="message_properties_header.body_type", buffer="properties.body_type",
        srmp="envelope.header.msmq.body_type",
    ),
    MessageColumn(
        "body_size", "number", "Bytes of the body that its header claims.",
        packet=packet_body_size, buffer="properties.body_length", srmp=srmp_body_size,
        whole=WholePacket((f"{_PROPERTIES}.message_size",), unless=("compound_message_header",)),
        display=Display("size", 110),
    ),
    MessageColumn(
        "via", "text", "tcp; rpc for what came in a call; http for SRMP; file for what was found at rest.",
        packet=_via, buffer=_via, srmp=_via, choices=("tcp", "rpc", "http", "file"), optional=False,
        whole=WholePacket(made=lambda: "tcp"),
        display=Display("via", 130, style="dim"),
    ),
    placed("frames", MessageColumn),
    placed("capture", MessageColumn),
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
        "sent; received or peeked by a remote read; read, where its call does not say which of the two; "
        "stored, where it was found at rest.",
        where=_how, choices=("sent", "received", "peeked", "read", "stored"), optional=False,
        display=Display("how", 60, 8),
        whole=WholePacket(made=lambda: "sent"),
    ),
    MessageColumn(
        "action", "text", "What `how` says; of an acknowledgment that was sent its class.",
        packet=_action("packet"), buffer=_action("buffer"), srmp=_action("srmp"), asked=True,
        display=Display("action", 60, 10, tint=_style),
        whole=WholePacket((f"{_PROPERTIES}.message_class",), _sent_as),
    ),
    MessageColumn(
        "cut", "text", "Bytes captured of those sent, where it was captured in part, as 66 of 1204.",
        where=cut_of, display=Display("cut", 58, seldom=True), whole=WholePacket(made=lambda: None),
    ),
    *join_columns(MessageColumn),
    MessageColumn(
        "body", "body", "The body.",
        where=message_body, reveals="body", asked=True, display=Display("body", 100, 8),
        whole=WholePacket(
            tuple(f"{_PROPERTIES}.{name}" for name in BODY_FIELDS), body_of,
            unless=("compound_message_header", f"{_PROPERTIES}.privacy_level", "security_header.flags.eb"),
        ),
    ),
    MessageColumn(
        "body_text", "text", "The body where it is text, opened.",
        of="body", made=lambda body: body.content.text, reveals="body", asked=True,
    ),
    MessageColumn(
        "opened_with", "text", "What opened the body, where it is encrypted and a key does.",
        of="body", made=lambda body: body.opened_with or None, reveals="body", asked=True,
    ),
    MessageColumn(
        "signature", "text",
        "Whether its signature is verified, not verified, sealed and not checked, or has no certificate: "
        "see Signatures.",
        where=signature, reveals="secret", asked=True, needs=_UNSEAL, whole=_UNSIGNED,
        choices=("verified", "not verified", "sealed, not checked", "no certificate"),
    ),
    MessageColumn(
        "signed_by", "text", "Subject of the certificate that came with the signature.",
        where=signed_by, reveals="secret", asked=True, needs=_UNSEAL, whole=_UNSIGNED,
    ),
    MessageColumn(
        "trusted_by", "text", "Subject of the certificate given with --trust that it is, or that issued it.",
        where=trusted_by, reveals="secret", asked=True, needs=_UNSEAL, whole=_UNSIGNED,
    ),
    *(MessageColumn(**msgspec.structs.asdict(one)) for one in CAPTURED),
    MessageColumn(
        "report", "text", "What a report message tells of a traced message: received or sent.",
        of="body", made=_reported("kind"), reveals="body", asked=True, choices=("received", "sent"),
    ),
    MessageColumn(
        "traced_message", "text",
        "The traced message: four digits of its queue manager, a backslash and its number.",
        of="body", made=_reported("traced"), reveals="body", asked=True, pattern=r"^[0-9a-f]{4}\\[0-9]+$",
    ),
    MessageColumn(
        "traced_hops", "number", "Hop count of the traced message.",
        of="body", made=_reported("hops"), asked=True, most=255,
    ),
    MessageColumn(
        "next_hop", "text", "Address to which the traced message was sent.",
        of="body", made=_reported("next_hop"), reveals="body", asked=True,
    ),
    MessageColumn(
        "queue_name", "text", "What its queue manager calls `queue`, where --queues says it for sure.",
        of="queue", made=sure_name, reveals="host", asked=True,
    ),
    MessageColumn(
        "queue_label", "text", "Label of that queue.",
        of="queue", made=sure_label, reveals="label", asked=True,
    ),
)  # fmt: skip
"""The columns in their order."""

ROW = tuple(one for one in COLUMNS if not one.asked)
"""Those that a row has if nothing else is asked for."""


@cache
def _by_name() -> Mapping[str, MessageColumn]:
    return {one.name: one for one in COLUMNS}


@cache
def _shown(carrier: Carrier) -> Mapping[str, Value]:
    """What gives the value of each column as JSON."""

    def shown(column: MessageColumn) -> Value:
        as_json, value = AS_JSON.get(column.kind), column.values[carrier]
        if as_json is None:
            return value
        return lambda record: None if (found := value(record)) is None else as_json(found)

    return {one.name: shown(one) for one in COLUMNS}
