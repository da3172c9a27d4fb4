"""Values of messages that are more than a field: in a packet, in a transfer buffer, in SRMP.

The rule kept here: what was not reached, and half a name, is None. What a value is, the column of its name in
`COLUMNS` says.
"""

from __future__ import annotations

import msgspec

from msmq_wire.records.record import Record
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.partial import reached, reached_number
from msmq_wire.wire.types.enumerations import MessageClass

_TRANSACTIONAL, _RECOVERABLE = (
    table.bits[name].mask for name in ("th", "dm") if (table := UserHeader.BITS) is not None
)


_CLASSES = {int(one): one.name.removeprefix("MQMSG_CLASS_").lower() for one in MessageClass}


def class_name(class_: int) -> str:
    """A message class by its name, without what all begin with; by its number where it has none."""
    return _CLASSES.get(class_) or f"class {class_:#06x}"


def delivery_of(flags: int) -> str:
    """How a message is delivered, by the flags of its UserHeader."""
    return "transactional" if flags & _TRANSACTIONAL else "recoverable" if flags & _RECOVERABLE else "express"


def _cut_in(record: Record, path: str) -> bool:
    """Whether the bytes end inside a field: half a name is no name, and a row has no place to say so."""
    return record.error is not None and record.error.path.startswith(path)


def cut_of(record: Record) -> str | None:
    """Bytes captured of those sent, of what was captured in part; their number may be cut off, too."""
    if record.error is None or record.error.code != "missing-bytes" or record.parent is not None:
        return None
    size = reached_number(record.packet, "base_header.packet_size")
    return f"{record.length} of {'?' if size is None or size <= record.length else size}"


def packet_queue(record: Record) -> str | None:
    user = reached(record.packet, "user_header")
    if user is None or _cut_in(record, "user_header.destination_queue"):
        return None
    if record.error is not None and reached(user, "destination_queue") is None:
        return None
    name: str | None = user.format_name("destination_queue")
    return name


def packet_label(record: Record) -> str | None:
    try:
        label: str = record.packet.message_properties_header.label.text
    except AttributeError:
        return None
    return None if _cut_in(record, "message_properties_header.label") else label


def packet_delivery(record: Record) -> str | None:
    flags = reached(reached(record.packet, "user_header"), "flags")
    return None if flags is None else delivery_of(flags)


def packet_message_id(record: Record) -> str | None:
    user = reached(record.packet, "user_header")
    number = reached(user, "message_id")
    return None if number is None else message_id(user.source_queue_manager, number)


def message_id(source: object, number: int) -> str:
    return f"{source}\\{number}"


def packet_body_size(record: Record) -> int | None:
    compound = getattr(record.packet, "compound_message_header", None)
    size: int | None
    if compound is None or compound is msgspec.UNSET:
        size = reached(reached(record.packet, "message_properties_header"), "message_size")
    else:
        size = reached(compound, "msg_body_size")
    return size


def buffer_queue(record: Record) -> str | None:
    queue: str | None = record.packet.properties.destination_queue_format_name or record.packet.queue
    return queue


def buffer_delivery(record: Record) -> str | None:
    message = record.packet.properties
    if message.first_in_transaction or message.last_in_transaction:
        return "transactional"
    if message.delivery_guarantee is None:
        return None
    return "recoverable" if message.delivery_guarantee else "express"


def buffer_message_id(record: Record) -> str | None:
    identifier = record.packet.properties.identifier
    number = reached(identifier, "uniquifier")
    return None if number is None else f"{reached(identifier, 'lineage')}\\{number}"


def srmp_delivery(record: Record) -> str | None:
    header = reached(record.packet.envelope, "header")
    if header is None:
        return None
    durable = reached(reached(header, "services"), "durable")
    return "transactional" if header.stream else "recoverable" if durable else "express"


def srmp_sent_time(record: Record) -> int | None:
    sent_at = reached(reached(reached(record.packet.envelope, "header"), "properties"), "sent_at")
    seconds: int | None = None if sent_at is None else sent_at.seconds
    return seconds


def srmp_body_size(record: Record) -> int | None:
    return None if record.packet.body is None else len(record.packet.body)
