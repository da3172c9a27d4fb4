"""`FollowedMessage`: the little that is kept of each message while a capture is read.

The rule kept here: a message is known by its sender and its number there, whatever carries it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec

from msmq_wire.records.message_values import delivery_of
from msmq_wire.records.record import Record
from msmq_wire.sessions.moment import Moment
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

Sight: TypeAlias = Literal["first", "hop", "resent", "duplicate"]
"""Where a message is seen: for the first time, on another way, again on the same way, or so after its
acknowledgment (a transactional one: after an OrderAck)."""
_UNKNOWN = "\0"
_KEPT = 1 << 22
"""Bytes of the texts of queues, and of labels, that are kept to be shared."""
_ENTRY = 500
"""Those of an entry beside its text: what it was read from."""
_TR = 1 << 8
"""BaseHeader.Flags: report messages are asked for. [MS-MQMQ] 2.2.19.1"""
_ACKNOWLEDGMENTS = frozenset(int(one) for one in MessageClass if one & 0xC002 and one != 0x00FF)
_SYSTEM_QUEUES = {
    ";JOURNAL": "journal",
    ";DEADLETTER": "dead_letter",
    ";DEADXACT": "transactional_dead_letter",
}


class History(msgspec.Struct):
    """What happens to few messages only; fields as in `MessageLife`.

    ``report`` is the `TraceStep` that a report message tells.
    """

    resent_at: list[Moment] = []
    hops: list[Any] = []
    acknowledgments: list[Any] = []
    reads: list[int] = []
    received: Moment | None = None
    received_by: str | None = None
    peeked: Moment | None = None
    rejected: Moment | None = None
    rejected_class: int | None = None
    moved: list[Moment] = []
    moved_to: list[str] = []
    found: Moment | None = None
    copies: list[tuple[str, Moment]] = []
    accepted: Moment | None = None
    http_status: int | None = None
    report: Any = None


class FollowedMessage(msgspec.Struct, gc=False):
    """A message and what is known of it; fields as in `MessageLife`.

    ``key`` is the 20 bytes by which an acknowledgment names it (queue manager, number), with more behind them
    where another message has these, or the text of an SRMP identifier of another form. ``flags`` are those of
    UserHeader, ``wanted`` those of MessagePropertiesHeader, ``transaction`` those of TransactionHeader.
    ``content`` stands for what does not change when a message is sent again, None where it was not seen
    whole. ``destination`` is the queue manager that it is for, None where that is not known, and
    ``several`` says that it is for several queues. ``traced`` is TR of BaseHeader. ``charged`` is for whoever
    counts what it takes of a budget.
    """

    key: bytes | str
    first: Moment
    via: str
    src: str
    dst: str
    size: int | None = None
    session: int | None = None
    queue: str | None = None
    label: str | None = None
    message_class: int | None = None
    priority: int | None = None
    delivery: str | None = None
    sent_time: int | None = None
    time_to_reach_queue: int | None = None
    time_to_be_received: int | None = None
    flags: int = 0
    wanted: int = 0
    admin_queue: str | None = None
    correlation_id: bytes | None = None
    content: int | None = None
    charged: int = 0
    destination: GUID | None = None
    several: bool = False
    traced: bool = False
    stream: int | None = None
    place: int | None = None
    acknowledged: Moment | None = None
    stored: Moment | None = None
    resends: int = 0
    duplicates: int = 0
    certain: bool = True
    history: History | None = None
    transaction: int = 0

    @property
    def acknowledged_key(self) -> bytes | None:
        """The key of the message that it acknowledges, if it is an administration ack."""
        return self.correlation_id if self.message_class in _ACKNOWLEDGMENTS else None

    def begun_history(self) -> History:
        """Its history, begun if it has none."""
        if self.history is None:
            self.history = History()
        return self.history


_OF_PACKET = (
    "size", "queue", "label", "message_class", "priority", "delivery", "sent_time", "time_to_reach_queue",
    "time_to_be_received", "flags", "wanted", "admin_queue", "correlation_id",
)  # fmt: skip


def is_acknowledgment(class_: int | None) -> bool:
    """Whether a message class is that of an administration ack, [MS-MQMQ] 2.2.18.1.6."""
    return class_ in _ACKNOWLEDGMENTS


def moment_of(record: Record) -> Moment:
    """When a record was completed."""
    frames = record.frames
    return Moment(record.id, frames[-1] if frames else None, record.time)


def is_whole(record: Record) -> bool:
    """Whether the packet of a record has a UserHeader and a MessagePropertiesHeader, and was not cut."""
    return record.error is None and reached(record.packet, "message_properties_header") is not None


def content_of(record: Record) -> int | None:
    """A number for what a message is: when it was sent, its label and its body; None for a part of one."""
    packet = record.packet
    properties = reached(packet, "message_properties_header")
    if record.error is not None or properties is None:
        return None
    parts = (properties.label, properties.extension_data, properties.message_body)
    return content(packet.user_header.sent_time, len(parts[0]), len(parts[1]), b"".join(parts))


def content(sent_time: int, label: int, extension: int, data: bytes) -> int:
    """A number for a message with these bytes, of which so many are the label and the extension."""
    return hash((sent_time, label, extension, data))


def message_key(queue_manager: bytes, number: int) -> bytes:
    """The 20 bytes that name a message, as a CorrelationID does: [MS-MQMQ] 2.2.8 OBJECTID."""
    return queue_manager + number.to_bytes(4, "little")


def system_queue(queue: str | None) -> str | None:
    """The name of a queue that holds copies of messages; None for those that messages are sent to."""
    upper = (queue or "").upper()
    return next((name for suffix, name in _SYSTEM_QUEUES.items() if upper.endswith(suffix)), None)


def message_name(key: bytes | str) -> str:
    """The name that rows give a message: queue manager and number, with a backslash between them."""
    if isinstance(key, str):
        return key
    return f"{manager_of(key[:16])[1]}\\{int.from_bytes(key[16:20], 'little')}"


def destination_of(manager: object) -> GUID | None:
    """The queue manager that a message is for, by QueueManagerAddress; None where that does not say."""
    if not isinstance(manager, GUID) or manager == NULL_GUID:
        return None
    return manager_of(manager)[0]


@lru_cache(maxsize=4096)
def manager_of(queue_manager: bytes) -> tuple[GUID, str]:
    """A queue manager, and its text."""
    found = GUID(queue_manager)
    return found, str(found)


class UserMessageReader:
    """Reads what is kept of a packet with a UserHeader; texts that come again are shared."""

    def __init__(self) -> None:
        self._queues: dict[object, str | None] = {}
        self._labels: dict[bytes, str] = {}
        self._kept = [0, 0]

    def key(self, record: Record) -> bytes | None:
        """Name the message in the packet of a record; None where its bytes end before that."""
        user = reached(record.packet, "user_header")
        number = reached(user, "message_id")
        return None if number is None else message_key(user.source_queue_manager, number)

    def read(self, key: bytes, record: Record, moment: Moment, via: str) -> FollowedMessage:
        """What is kept of the packet of ``record``."""
        packet = record.packet
        user, base = packet.user_header, packet.base_header
        properties = reached(packet, "message_properties_header")
        if record.error is not None or properties is None:
            return self._read_part(key, record, moment, via)
        flags: int = user.flags
        class_ = properties.message_class
        # By position: this is made for every message.
        return FollowedMessage(
            key,
            moment,
            via,
            record.src or "",
            record.dst or "",
            properties.message_size,
            None,
            self.queue(user, "destination_queue"),
            self._label(properties.label),
            class_,
            base.flags & 7,
            delivery_of(flags),
            user.sent_time,
            base.time_to_reach_queue,
            user.time_to_be_received,
            flags,
            properties.flags,
            self.queue(user, "admin_queue") if flags & 0xE000 else None,
            properties.correlation_id if class_ else None,
            destination=destination_of(user.queue_manager_address),
            several=reached(packet, "multi_queue_format_header") is not None,
            traced=bool(base.flags & _TR),
        )

    def _read_part(self, key: bytes, record: Record, moment: Moment, via: str) -> FollowedMessage:
        """What is kept of a packet that was cut."""
        packet = record.packet
        user, base = packet.user_header, packet.base_header
        properties = reached(packet, "message_properties_header")
        flags = reached(user, "flags")
        message = FollowedMessage(
            key,
            moment,
            via,
            record.src or "",
            record.dst or "",
            sent_time=user.sent_time,
            time_to_reach_queue=base.time_to_reach_queue,
            time_to_be_received=user.time_to_be_received,
            priority=base.flags & 7,
            traced=bool(base.flags & _TR),
        )
        if flags is None:
            return message
        message.flags = flags
        message.delivery = delivery_of(flags)
        # Half a name is no name.
        cut = "" if record.error is None else record.error.path
        if not cut.startswith("user_header.destination_queue"):
            message.queue = self.queue(user, "destination_queue")
        if not cut.startswith("user_header.admin_queue"):
            message.admin_queue = self.queue(user, "admin_queue")
        message.message_class = class_ = reached(properties, "message_class")
        message.wanted = reached(properties, "flags") or 0
        message.size = reached(properties, "message_size")
        label = reached(properties, "label")
        if isinstance(label, WcharText) and not cut.endswith("header.label"):
            message.label = self._label(label)
        if class_:
            message.correlation_id = reached(properties, "correlation_id")
        return message

    def complete(self, message: FollowedMessage, key: bytes, record: Record) -> None:
        """Tell of a message that was cut when it was seen first what its whole packet says."""
        whole = self.read(key, record, message.first, message.via)
        for name in _OF_PACKET:
            setattr(message, name, getattr(whole, name))

    def queue(self, user: UserHeader, field: str) -> str | None:
        """The format name of a queue in a header."""
        value = reached(user, field)
        if value is None:
            return None
        key = (field, user.source_queue_manager, user.queue_manager_address, user.flags & 0xFC00, value)
        name = self._queues.get(key, _UNKNOWN)
        if name is not _UNKNOWN:
            return name
        name = user.format_name(field)
        self._kept[0] += _ENTRY + 4 * len(name or "")
        if self._kept[0] > _KEPT:
            self._queues.clear()
            self._kept[0] = 0
        self._queues[key] = name
        return name

    def _label(self, label: WcharText) -> str:
        text = self._labels.get(label)
        if text is None:
            self._kept[1] += _ENTRY + len(label)
            if self._kept[1] > _KEPT:
                self._labels.clear()
                self._kept[1] = 0
            text = self._labels[label] = label.text
        return text
