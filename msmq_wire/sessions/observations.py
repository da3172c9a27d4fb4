"""What sessions need of packets that were not decoded, as plain values.

The rule kept here: these are whole packets on a connection; what is said of one is what its record says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from msmq_wire.records.record import Record
from msmq_wire.sessions.clocks import Sender
from msmq_wire.sessions.followed_message import FollowedMessage, message_key
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.transaction_tracker import Place, StreamKey
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SeenAck(msgspec.Struct, frozen=True, gc=False):
    """A SessionAck of a stream from an end of a pair of addresses to the other."""

    at: Moment
    stream: int
    ends: tuple[str, str]
    counts: SessionHeader


class SeenMessage(msgspec.Struct, frozen=True, gc=False):
    """A UserMessage: what is kept of it if it is new, and what its session and its sequence ask of it.

    ``sequence`` names its sequence.
    """

    message: FollowedMessage
    stream: int
    ends: tuple[str, str]
    sender: Sender
    size: int
    counts: SessionHeader | None
    sequence: StreamKey | None
    place: Place

    @property
    def at(self) -> Moment:
        """When it was seen."""
        return self.message.first


class SeenMessages(msgspec.Struct, gc=False):
    """UserMessages in order, by column; fields as in `SeenMessage`, one value for each.

    ``ways`` are their streams and ends. Those from one on and before ``until`` of that one follow each other
    without anything between them, and are plain: they neither are acknowledgments nor carry any; where that
    is not so it is their own place. ``charged`` is what all before each take of a budget at most, in sessions
    and sequences, too. What is equal among ways, senders and sequences is one object.
    """

    messages: list[FollowedMessage]
    ways: list[tuple[int, tuple[str, str]]]
    senders: list[Sender]
    sizes: list[int]
    counts: list[SessionHeader | None]
    sequences: list[StreamKey | None]
    places: list[Place]
    until: list[int]
    charged: NDArray[Any]

    def one(self, row: int) -> SeenMessage:
        """One of them."""
        return SeenMessage(
            self.messages[row],
            *self.ways[row],
            self.senders[row],
            self.sizes[row],
            self.counts[row],
            self.sequences[row],
            self.places[row],
        )


class SeenUserAck(msgspec.Struct, frozen=True, gc=False):
    """An acknowledgment of a class, and the sequence and the number there that it is about."""

    at: Moment
    stream: int
    ends: tuple[str, str]
    size: int
    flags: int
    counts: SessionHeader | None
    class_: int
    key: bytes
    place: tuple[int, int]


class SeenOrderAck(SeenUserAck, frozen=True, gc=False):
    """An OrderAck: who sends it, and to whom."""

    source: GUID
    to: GUID


class SeenFinalAck(SeenUserAck, frozen=True, gc=False):
    """A FinalAck: the key of the message that it is about."""

    about: bytes


Observation: TypeAlias = SeenMessage | SeenAck | SeenOrderAck | SeenFinalAck


def seen_ack(record: Record, at: Moment) -> SeenOrderAck | SeenFinalAck | None:
    """What is seen of an ``order_ack`` or ``final_ack`` record, None without its body."""
    packet, body = record.packet, reached(record.packet, f"{record.type}_body")
    if body is None:
        return None
    user, class_ = packet.user_header, packet.message_properties_header.message_class
    manager, place = user.source_queue_manager, (body.tx_sequence_id.value, body.tx_sequence_number)
    ends, key = (record.src or "", record.dst or ""), message_key(manager, user.message_id)
    stream = -1 if record.stream is None else record.stream
    values = (at, stream, ends, record.length, user.flags, None, class_, key, place)
    if record.type == "order_ack":
        return SeenOrderAck(*values, manager, user.queue_manager_address)
    return SeenFinalAck(*values, message_key(body.source_guid, body.message_id))
