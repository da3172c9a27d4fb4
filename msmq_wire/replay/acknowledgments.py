"""`AcknowledgmentReplayer`: holds acknowledgments of messages against the messages that they are about.

The rule kept here: an acknowledgment is judged against a message that was seen, never against silence. What a
message asks for is the union of all its copies. A message to several queues has an end of its own in each:
nothing is concluded from it. An OrderAck that passes over a gap waits until the end: what fills the gap may
stand behind it in a file whose frames are not in the order of their time. 65,536 messages and sequences are
known, and 1,024 OrderAcks wait.
"""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from msmq_wire.records.record import Record
from msmq_wire.replay.deviation import ProcessingRule, ReplayDeviation, ReplayKind
from msmq_wire.replay.packets import frame_text, mqqb, packet_deviation
from msmq_wire.replay.state import Table
from msmq_wire.replay.user_packet import Asked, Placed, UserPacket
from msmq_wire.sessions.message import message_name
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID

_PA, _PR, _NA, _NR = 1, 2, 4, 8
_JN, _JP, _AQ, _TH, _CQ = 1 << 8, 1 << 9, 7 << 13, 1 << 20, 1 << 22
_FA = 2
_REACHED = int(MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE)
_RECEIVED = int(MessageClass.MQMSG_CLASS_ACK_RECEIVE)
_NEGATIVE = 0x8000
_REMOVED = frozenset(
    (
        _RECEIVED,
        int(MessageClass.MQMSG_CLASS_NACK_Q_DELETED),
        int(MessageClass.MQMSG_CLASS_NACK_Q_PURGED),
        int(MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT),
        int(MessageClass.MQMSG_CLASS_NACK_RECEIVE_REJECTED),
    )
)
"""Classes that say how a message left its destination queue, where it had arrived."""
_BY_DESTINATION = _REMOVED - {int(MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT)}
"""Those of them that nobody can tell on the way; the time of a message may be over anywhere."""
_REFUSED = frozenset(
    (
        int(MessageClass.MQMSG_CLASS_NACK_BAD_DST_Q),
        int(MessageClass.MQMSG_CLASS_NACK_Q_EXCEED_QUOTA),
        int(MessageClass.MQMSG_CLASS_NACK_ACCESS_DENIED),
        int(MessageClass.MQMSG_CLASS_NACK_HOP_COUNT_EXCEEDED),
        int(MessageClass.MQMSG_CLASS_NACK_BAD_SIGNATURE),
        int(MessageClass.MQMSG_CLASS_NACK_BAD_ENCRYPTION),
        int(MessageClass.MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_Q),
        int(MessageClass.MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_MSG),
        int(MessageClass.MQMSG_CLASS_NACK_UNSUPPORTED_CRYPTO_PROVIDER),
    )
)
"""Classes of one that was turned away on arrival. That its time was over can be said on the way, too."""
_MOST_PENDING = 64
_MOST_ACKS = 16
_MOST_AHEAD = 1024
_MOST_CARRIED = 1024
"""Sequences of one connection that are known to be on it."""


class _Ack(msgspec.Struct, frozen=True, gc=False):
    """An acknowledgment of a message: what it says, who made it, its own name and its frame."""

    message_class: int
    source: GUID
    key: bytes
    frame: int | None


class _Message(msgspec.Struct, eq=False, gc=False):
    """A message. ``flags`` are those of UserHeader, ``wanted`` of MessagePropertiesHeader, ``final`` is FA.

    ``destination`` is the queue manager that it is for, None where that is not known.
    """

    frame: int | None
    flags: int
    wanted: int
    final: bool
    destination: GUID | None
    several: bool
    copies: int = 1
    acks: tuple[_Ack, ...] = ()


class _Ahead(msgspec.Struct, eq=False, gc=False):
    """An OrderAck for a number behind a gap, when it came, and what is said if nothing fills the gap."""

    number: int
    time: int
    said: ReplayDeviation


class _Sequence(msgspec.Struct, eq=False):
    """A transactional sequence.

    ``whole`` says that it was seen from its beginning. ``accepted`` is the highest number that its receiver
    can have accepted, ``last`` the highest that was sent; ``pending`` are those after a gap, each with its
    predecessor. ``again`` says that a number came which was not above all before. ``orders`` are the highest
    OrderAck of each connection, ``ahead`` those that wait.
    """

    source: GUID
    queue: Any
    destination: GUID | None
    whole: bool
    several: bool = False
    again: bool = False
    accepted: int = 0
    last: int = 0
    pending: list[tuple[int, int]] = []
    orders: dict[int | None, tuple[int, int | None]] = {}
    ahead: list[_Ahead] = []


class AcknowledgmentReplayer:
    """Feed user packets, with what is known of their connection."""

    def __init__(self) -> None:
        self._messages: Table[_Message] = Table()
        self._sequences: Table[_Sequence] = Table()
        self._carried: Table[set[int]] = Table()
        self._ahead: OrderedDict[_Ahead, _Sequence] = OrderedDict()

    def finish(self) -> list[ReplayDeviation]:
        """What is said of the OrderAcks that pass over a gap which nothing filled before them."""
        return [one.said for one in self._ahead]

    def lost(self, stream: int | None) -> None:
        """Bytes of a connection are missing: of the sequences on it nobody knows what was sent."""
        for identifier in self._carried.get(stream, ()):
            sequence = self._sequences.get(identifier)
            if sequence is not None:
                sequence.whole = False

    def take(self, packet: UserPacket, record: Asked, *, whole: bool) -> Iterable[ReplayDeviation]:
        """Take a user packet; ``whole`` says that nothing of its connection is missing so far."""
        if packet.type == "user_message":
            self._sent(packet, whole=whole)
            return self._administration_ack(packet, record) if packet.message_class else ()
        return (self._order_ack if packet.type == "order_ack" else self._final_ack)(packet, record)

    def _sent(self, packet: UserPacket, *, whole: bool) -> None:
        final = False
        if packet.transaction is not None:
            self._placed(packet, packet.transaction, whole=whole)
            final = bool(packet.transaction.flags & _FA)
        known = self._messages.get(packet.key)
        if known is None:
            one = _Message(
                packet.frame, packet.flags, packet.wanted, final, packet.destination, packet.several
            )
            self._messages.put(packet.key, one)
            return
        known.copies += 1
        known.flags |= packet.flags
        known.wanted |= packet.wanted
        known.final |= final
        known.several |= packet.several
        if known.destination != packet.destination:
            known.destination = None

    def _placed(self, packet: UserPacket, placed: Placed, *, whole: bool) -> None:
        """Take the place of a transactional message, as its receiver would. 3.1.5.8.6"""
        identifier, number, previous = placed.sequence, placed.number, placed.previous
        sequence = self._sequences.get(identifier)
        if sequence is None:
            one = _Sequence(packet.source, packet.queue, packet.destination, whole and previous == 0)
            sequence = self._sequences.put(identifier, one)
        elif sequence.source != packet.source or sequence.queue != packet.queue:
            sequence.several = True
        if not whole:
            sequence.whole = False
        if sequence.destination != packet.destination:
            sequence.destination = None
        carried = self._carried.get(packet.stream)
        if carried is None:
            carried = self._carried.put(packet.stream, set())
        if identifier not in carried:
            if len(carried) < _MOST_CARRIED:
                carried.add(identifier)
            else:
                sequence.whole = False
        if number <= sequence.last:
            sequence.again = True
        else:
            sequence.last = number
        if previous > sequence.accepted:
            insort(sequence.pending, (previous, number))
            if len(sequence.pending) > _MOST_PENDING:
                sequence.whole = False
                del sequence.pending[0]
            return
        if number > sequence.accepted:
            sequence.accepted = number
        while sequence.pending and sequence.pending[0][0] <= sequence.accepted:
            sequence.accepted = max(sequence.accepted, sequence.pending.pop(0)[1])
        for ahead in [*sequence.ahead]:
            if ahead.number <= sequence.accepted and (packet.time or 0) <= ahead.time:
                sequence.ahead.remove(ahead)
                del self._ahead[ahead]

    def _order_ack(self, packet: UserPacket, record: Asked) -> Iterator[ReplayDeviation]:
        identifier, number = packet.about or (None, 0)
        sequence = self._sequences.get(identifier)
        if sequence is None or sequence.several:
            return
        named = f"sequence {identifier:#x}"
        path = "order_ack_body.tx_sequence_number"
        yield from _stranger(packet, record, sequence.destination, named, mqqb("3.1.1.6.2"))
        before = sequence.orders.get(packet.stream)
        if before is None or number >= before[0]:
            sequence.orders[packet.stream] = number, packet.frame
            if len(sequence.orders) > _MOST_ACKS:
                del sequence.orders[next(iter(sequence.orders))]
        if not sequence.whole:
            return
        if before is not None and number < before[0] and not sequence.again:
            yield packet_deviation(
                ReplayKind.ORDER_ACK, record(), mqqb("3.1.1.6.2"),
                f"the OrderAck of {named} goes back to number {number}, after one for number {before[0]}"
                f"{frame_text(before[1])}",
                f"{before[0]} or a higher number", str(number), path=path,
            )  # fmt: skip
        elif sequence.accepted < number <= sequence.last:
            said = packet_deviation(
                ReplayKind.ORDER_ACK, record(), mqqb("3.1.5.8.6"),
                f"an OrderAck of {named} covers a message that comes after a gap",
                f"at most number {sequence.accepted}", str(number),
                path=path, certain=False,
            )  # fmt: skip
            yield from self._wait(sequence, _Ahead(number, packet.time or 0, said))

    def _wait(self, sequence: _Sequence, one: _Ahead) -> Iterator[ReplayDeviation]:
        """Let an OrderAck wait until its gap is filled; of too many the oldest waits no longer."""
        sequence.ahead.append(one)
        self._ahead[one] = sequence
        if len(self._ahead) > _MOST_AHEAD:
            oldest, of = self._ahead.popitem(last=False)
            of.ahead.remove(oldest)
            yield oldest.said

    def _final_ack(self, packet: UserPacket, record: Asked) -> Iterator[ReplayDeviation]:
        class_ = packet.message_class
        message = self._messages.get(packet.about)
        if message is None or message.several:
            return
        named = _named(packet, message)
        if class_ in _REMOVED:
            if class_ in _BY_DESTINATION:
                yield from _stranger(packet, record, _made_by(message, packet), named, mqqb("3.1.7.2.2"))
            if not message.flags & (_JN | _JP) and not message.final:
                yield _unasked(
                    record(), mqqb("3.1.7.2.2"), f"a FinalAck comes for {named}, which asks for none",
                    "no FinalAck (JN, JP and FA are not set)", class_,
                )  # fmt: skip
        elif class_ in _REFUSED and not message.flags & _TH:
            yield _unasked(
                record(), mqqb("3.1.5.8.2"), f"a FinalAck refuses {named}, which is not transactional",
                "no FinalAck (it has no TransactionHeader)", class_,
            )  # fmt: skip
        yield from self._outcome(packet, record, message, named)

    def _administration_ack(self, packet: UserPacket, record: Asked) -> Iterator[ReplayDeviation]:
        class_ = packet.message_class
        message = self._messages.get(packet.about)
        # Anything else, as a report, has other reasons to come.
        is_ack = class_ in (_REACHED, _RECEIVED) or class_ & _NEGATIVE
        if message is None or message.several or not is_ack:
            return
        named = _named(packet, message)
        if class_ == _REACHED:
            yield from _stranger(packet, record, _made_by(message, packet), named, mqqb("3.1.5.8.10"))
        elif class_ in _BY_DESTINATION:
            yield from _stranger(packet, record, _made_by(message, packet), named, mqqb("3.1.7.2.1"))
        unasked = _why_unasked(message, class_)
        if unasked is not None:
            section, due = unasked
            text = f"an administration acknowledgment comes for {named}, which asks for none of this kind"
            yield _unasked(record(), mqqb(section), text, due, class_)
        yield from self._outcome(packet, record, message, named)

    @staticmethod
    def _outcome(
        packet: UserPacket, record: Asked, message: _Message, named: str
    ) -> Iterator[ReplayDeviation]:
        """One queue manager says two things of a message that was sent once."""
        class_ = packet.message_class
        ack = _Ack(class_, packet.source, packet.key, packet.frame)
        if message.copies == 1:
            for other in message.acks:
                if other.source == ack.source and other.key != ack.key and _contradict(other, ack):
                    yield packet_deviation(
                        ReplayKind.OUTCOME, record(), mqqb("3.1.7.2.1"),
                        f"{named} got {_words(other.message_class)}{frame_text(other.frame)}, and then "
                        f"{_words(class_)}",
                        "nothing that contradicts the first one", _words(class_),
                        path="message_properties_header.message_class", certain=False,
                    )  # fmt: skip
                    break
        if len(message.acks) < _MOST_ACKS:
            message.acks += (ack,)


def _named(ack: UserPacket, message: _Message) -> str:
    """The message that an acknowledgment is about, and where it was sent."""
    sent = "" if message.frame is None else f" (sent in frame {message.frame})"
    return f"message {message_name(ack.about)}{sent}"


def _made_by(message: _Message, ack: UserPacket) -> GUID | None:
    """Who can say how a message ended; None where it is not known.

    A connector server speaks for the foreign system that a message is for.
    """
    return None if (message.flags | ack.flags) & _CQ else message.destination


def _stranger(
    packet: UserPacket, record: Asked, destination: GUID | None, named: str, rule: ProcessingRule
) -> Iterator[ReplayDeviation]:
    """An acknowledgment that only the queue manager that a message is for can make."""
    source = packet.source
    if destination is not None and source != destination:
        yield packet_deviation(
            ReplayKind.STRANGER, record(), rule,
            f"an acknowledgment of {named} comes from a queue manager that is not the destination",
            f"queue manager {destination}", f"queue manager {source}",
            path="user_header.source_queue_manager",
        )  # fmt: skip


def _unasked(record: Record, rule: ProcessingRule, message: str, due: str, class_: int) -> ReplayDeviation:
    path = "message_properties_header.message_class"
    return packet_deviation(ReplayKind.UNASKED, record, rule, message, due, _words(class_), path=path)


def _why_unasked(message: _Message, class_: int) -> tuple[str, str] | None:
    """Section and what is due where a message does not ask for an administration acknowledgment."""
    if not message.flags & _AQ:
        return "3.1.7.15", "none (it names no administration queue)"
    if class_ == _REACHED and not message.wanted & _PA:
        return "3.1.5.8.10", "none (PA is not set)"
    if class_ == _RECEIVED and not message.wanted & _PR:
        return "3.1.7.2.1", "none (PR is not set)"
    if class_ & _NEGATIVE and not message.wanted & (_NA | _NR):
        return "3.1.7.15", "none (neither NA nor NR is set)"
    return None


def _contradict(one: _Ack, other: _Ack) -> bool:
    classes = {one.message_class, other.message_class}
    ends = classes & (_REMOVED | _REFUSED)
    return len(ends) == 2 or (_REACHED in classes and bool(classes & _REFUSED))


def _words(class_: int) -> str:
    """A class by its name, without what all of them begin with."""
    try:
        return MessageClass(class_).name.removeprefix("MQMSG_CLASS_")
    except ValueError:
        return f"class {class_:#06x}"
