"""`UserPacket`: what a replay asks of a whole packet with a UserHeader, however it was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from msmq_wire.records.record import Record
from msmq_wire.sessions.message import message_key
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID, NULL_GUID

Asked: TypeAlias = Callable[[], Record]
"""Gives the record that something is said about, which is made only then."""


class Placed(msgspec.Struct, frozen=True, gc=False):
    """Where a transactional message stands: fields of its TransactionHeader."""

    flags: int
    sequence: int
    number: int
    previous: int


class UserPacket(msgspec.Struct, frozen=True, gc=False):
    """A user message, an OrderAck or a FinalAck.

    ``time`` is that of its last frame. ``key`` are the 20 bytes that name it, ``source`` the queue manager
    that made it, ``destination`` that which it is for (None where that is not known) and ``queue``
    DestinationQueue. ``flags`` are those of UserHeader, ``wanted`` those of MessagePropertiesHeader;
    ``several`` says that it is for several queues.

    ``about`` is what an acknowledgment acknowledges: identifier and number of a sequence, or a message by its
    20 bytes; None where it does not say.
    """

    type: str
    stream: int | None
    frame: int | None
    time: int | None
    key: bytes
    source: GUID
    destination: GUID | None
    queue: Any
    flags: int
    wanted: int
    message_class: int
    several: bool
    transaction: Placed | None
    about: Any


def named(guid: Any) -> GUID | None:
    """A queue manager, None where it is not said which."""
    return None if guid == NULL_GUID else guid


def user_packet(record: Record) -> UserPacket | None:
    """The packet of a record; None where it is not whole."""
    packet = record.packet
    user, properties = reached(packet, "user_header"), reached(packet, "message_properties_header")
    if record.error is not None or user is None or properties is None:
        return None
    placed = reached(packet, "transaction_header")
    return UserPacket(
        record.type,
        record.stream,
        record.frames[-1] if record.frames else None,
        record.time,
        message_key(user.source_queue_manager, user.message_id),
        user.source_queue_manager,
        named(user.queue_manager_address),
        user.destination_queue,
        user.flags,
        properties.flags,
        properties.message_class,
        reached(packet, "multi_queue_format_header") is not None,
        None
        if placed is None
        else Placed(
            placed.flags,
            placed.tx_sequence_id.value,
            placed.tx_sequence_number,
            placed.previous_tx_sequence_number,
        ),
        _about(record, properties),
    )


def _about(record: Record, properties: Any) -> Any:
    if record.type == "order_ack":
        body = reached(record.packet, "order_ack_body")
        return None if body is None else (body.tx_sequence_id.value, body.tx_sequence_number)
    if record.type == "final_ack":
        body = reached(record.packet, "final_ack_body")
        return None if body is None else message_key(body.source_guid, body.message_id)
    return bytes(properties.correlation_id)
