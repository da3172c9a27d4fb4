"""`TransactionTracker`: numbers, gaps and acknowledgments of transactional sequences. [MS-MQQB] 3.1.1.5

The rule kept here: PreviousTxSequenceNumber tells what is missing, not the number itself, since messages that
expired leave numbers unused. A sequence belongs to its sender and its destination; sessions only carry it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions.accepted import AcceptedSequence
from msmq_wire.sessions.budget import Budget
from msmq_wire.sessions.followed_message import FollowedMessage, message_name
from msmq_wire.sessions.listener import SessionListener
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.streams import (
    StrayAck,
    StrayKind,
    TransactionalStream,
    TransactionBridge,
    TransactionGap,
)
from msmq_wire.wire.partial import reached
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_STREAM = 2100
"""Bytes of a sequence, beside the name of its queue."""
_NUMBER = 48
_ACK = 120
_GAP = 220
"""Bytes of a number that waits, of an OrderAck, of a gap."""
_MAX_AWAITING = 1 << 16
"""Numbers of one sequence that wait for an OrderAck, and OrderAcks of one sequence, that are kept."""
_MAX_GAPS = 256
_MAX_STRAY = 1000


StreamKey: TypeAlias = tuple[bytes, int, str | None]
"""What names a sequence: the queue manager that sends it, its identifier, and the queue that it goes to."""

_Meant: TypeAlias = tuple[int, bytes | None, tuple[str, str] | None]
"""What an acknowledgment may know of a sequence: its identifier, who sends it, and between which hosts."""

Place: TypeAlias = tuple[int, int, int]
"""The number of a message in its sequence, the one before it, and the flags of its TransactionHeader."""


class _Stream:
    __slots__ = (
        "acked_by", "acknowledged", "acks", "ahead", "awaiting", "bridges", "bridges_left_out",
        "certain", "dst", "final_acks", "first",
        "first_ack", "first_number", "gaps", "gaps_left_out", "last", "last_ack", "last_number", "messages",
        "number",
        "order_acks", "queue", "repeats", "sequence", "sessions", "source", "src", "taken",
    )  # fmt: skip

    def __init__(
        self, number: int, source: bytes, sequence: int, queue: str | None, ends: tuple[str, str], at: Moment
    ) -> None:
        self.number, self.source, self.sequence, self.queue = number, GUID(source), sequence, queue
        self.src, self.dst = ends
        self.first = self.last = at
        self.messages = self.first_number = self.last_number = self.repeats = 0
        self.gaps: list[TransactionGap] = []
        self.bridges: list[TransactionBridge] = []
        self.bridges_left_out = self.gaps_left_out = self.order_acks = self.acknowledged = 0
        self.acked_by: GUID | None = None
        self.first_ack: Moment | None = None
        self.last_ack: Moment | None = None
        self.ahead: Moment | None = None
        self.awaiting: list[int] = []
        self.acks: list[tuple[int, Moment]] = []
        self.final_acks: dict[int, int] = {}
        self.sessions: dict[int, None] = {}
        self.certain = True
        self.taken = 0

    def meant(self) -> tuple[_Meant, ...]:
        """What acknowledgments may know of it."""
        way = (host_of(self.src), host_of(self.dst))
        return tuple((self.sequence, source, one) for source in (None, self.source) for one in (None, way))

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        size = _STREAM + len(self.queue or "") + _NUMBER * len(self.awaiting) + _ACK * len(self.acks)
        return size + _GAP * (len(self.gaps) + len(self.bridges))


class TransactionTracker:
    """Follows transactional sequences.

    ``leave`` is given the oldest that ``budget`` has no room for, ``left_out`` counts them. ``strays`` are
    the first 1,000 acknowledgments of what was not seen, ``strays_left_out`` counts others. Only with a
    ``listener`` it is followed what receivers can have accepted.
    """

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        leave: Callable[[TransactionalStream], None] | None = None,
    ) -> None:
        self._share = (budget or Budget()).share(self._give)
        self._leave = leave
        self._streams: OrderedDict[StreamKey, _Stream] = OrderedDict()
        self._meant: dict[_Meant, list[_Stream]] = {}
        self._numbered: dict[int, _Stream] = {}
        self._changed: dict[_Stream, None] = {}
        self._accepted: dict[int, AcceptedSequence] = {}
        self._count = 0
        self.listener: SessionListener | None = None
        self.left_out = 0
        self.strays: list[StrayAck] = []
        self.strays_left_out = 0

    def sent(
        self,
        message: FollowedMessage,
        key: StreamKey,
        place: Place,
        ends: tuple[str, str],
        at: Moment,
        session: int | None,
        certain: bool,
    ) -> None:
        """Take a message with a TransactionHeader, carried by ``session`` between two ``ends``.

        ``key`` names its sequence.
        """
        stream = self._streams.get(key) or self._begin(key, ends, at)
        self._place(stream, message, place, at, session)
        stream.certain &= certain
        stream.last = at
        stream.messages += 1
        self._changed[stream] = None

    def sent_all(
        self,
        messages: list[FollowedMessage],
        key: StreamKey,
        places: list[Place],
        ends: tuple[str, str],
        certain: bool,
    ) -> None:
        """Take messages of one sequence, the first between two ``ends``, all carried by sessions."""
        stream = self._streams.get(key) or self._begin(key, ends, messages[0].first)
        for message, place in zip(messages, places, strict=True):
            self._place(stream, message, place, message.first, message.session)
        stream.certain &= certain
        stream.last = messages[-1].first
        stream.messages += len(messages)
        self._changed[stream] = None

    def begin(self) -> None:
        """Another capture begins."""
        self._accepted.clear()

    def accept(
        self, identifier: int, message: FollowedMessage, place: Place, to: GUID | None, time: int | None
    ) -> AcceptedSequence:
        """Take a message that was `sent` to a queue manager, as its receiver does."""
        number, previous, _ = place
        sequence = self._accepted.get(identifier)
        if sequence is None:
            sequence = AcceptedSequence(message.stream, to, previous == 0)
            self._accepted[identifier] = sequence
        sequence.several |= sequence.stream != message.stream
        if sequence.destination != to:
            sequence.destination = None
        for early in sequence.sent(number, previous, time):
            assert self.listener is not None
            self.listener.filled(early)
        return sequence

    def beginning(self, keys: Iterable[StreamKey]) -> int:
        """How many bytes sequences take that would begin with these keys."""
        return sum(_STREAM + len(key[2] or "") for key in keys if key not in self._streams)

    def _place(
        self, stream: _Stream, message: FollowedMessage, place: Place, at: Moment, session: int | None
    ) -> None:
        number, previous, flags = place
        if session is not None and session not in stream.sessions and len(stream.sessions) < 64:
            stream.sessions[session] = None
        if previous == stream.last_number == number - 1 and stream.first_number:
            stream.last_number = number
            self._await(stream, number)
        else:
            self._number(stream, number, previous, at)
        message.stream, message.place, message.transaction = stream.number, number, flags

    def _begin(self, key: StreamKey, ends: tuple[str, str], at: Moment) -> _Stream:
        source, sequence, queue = key
        stream = self._streams[key] = _Stream(self._count, source, sequence, queue, ends, at)
        self._numbered[self._count] = stream
        self._count += 1
        for meant in stream.meant():
            self._meant.setdefault(meant, []).append(stream)
        return stream

    def weigh(self) -> None:
        """Count what sequences take that something came for."""
        for stream in self._changed:
            size = stream.size
            self._share.take(size - stream.taken)
            stream.taken = size
        self._changed.clear()

    def _give(self) -> None:
        if not self._streams:
            return
        _, oldest = self._streams.popitem(last=False)
        del self._numbered[oldest.number]
        for meant in oldest.meant():
            same = self._meant[meant]
            # No other one began before it.
            del same[0]
            if not same:
                del self._meant[meant]
        accepted = self._accepted.get(oldest.sequence)
        if accepted is not None and accepted.stream == oldest.number:
            del self._accepted[oldest.sequence]
        self._share.take(-oldest.taken)
        self.left_out += 1
        if self._leave is not None:
            self._leave(_summary(oldest))

    def _number(self, stream: _Stream, number: int, previous: int, at: Moment) -> None:
        """Judge the place of a message as its receiver would, [MS-MQQB] 3.1.5.8.6."""
        last = stream.last_number
        if previous <= last and number - previous > 1:
            if len(stream.bridges) < _MAX_GAPS:
                stream.bridges.append(TransactionBridge(number=number, previous=previous, at=at))
            else:
                stream.bridges_left_out += 1
        if not stream.first_number:
            stream.first_number = number
        elif number <= last:
            if self._fills(stream, number, at):
                self._await(stream, number)
            else:
                stream.repeats += 1
            return
        elif previous > last:
            if len(stream.gaps) < _MAX_GAPS:
                stream.gaps.append(TransactionGap(after=last, previous=previous, number=number, at=at))
            else:
                stream.gaps_left_out += 1
        stream.last_number = number
        self._await(stream, number)

    @staticmethod
    def _await(stream: _Stream, number: int) -> None:
        if number > stream.acknowledged:
            awaiting = stream.awaiting
            if not awaiting or awaiting[-1] <= number:
                awaiting.append(number)
            else:
                insort(awaiting, number)
            if len(awaiting) > _MAX_AWAITING:
                del awaiting[0]

    @staticmethod
    def _fills(stream: _Stream, number: int, at: Moment) -> bool:
        """Whether a number below the last one lies in a gap, and did not come before."""
        # Each begins behind the number after the one before.
        i = bisect_left(stream.gaps, number, key=_after) - 1
        if i < 0 or number > stream.gaps[i].previous or number >= stream.gaps[i].number:
            return False
        if stream.gaps[i].filled is None:
            stream.gaps[i] = msgspec.structs.replace(stream.gaps[i], filled=at)
            return True
        place = bisect_left(stream.awaiting, number)
        return number > stream.acknowledged and stream.awaiting[place : place + 1] != [number]

    def order(self, identifier: int, number: int, by: GUID, stream: int, at: Moment) -> None:
        """Tell of a whole OrderAck that came over a connection, if it is known what it is about."""
        sequence = self._accepted.get(identifier)
        if self.listener is not None and sequence is not None and not sequence.several:
            self.listener.order_ack(identifier, sequence, number, by, stream, at)
            sequence.ordered(number, stream, at.frame)

    def acknowledge(
        self,
        sequence: int,
        number: int,
        class_: int,
        to: GUID | None,
        by: GUID | None,
        ends: tuple[str, str],
        at: Moment,
    ) -> None:
        """Take an OrderAck of a class ``to`` a queue manager ``by`` another, for ``number`` of a sequence."""
        stream = self._acknowledged(sequence, to, ends)
        if stream is None:
            self.stray("order_ack", class_, ends, at, sequence, number)
            return
        stream.order_acks += 1
        stream.first_ack = stream.first_ack or at
        stream.last_ack = at
        stream.acked_by = by
        if number > stream.last_number:
            stream.ahead = stream.ahead or at
        if number > stream.acknowledged:
            stream.acknowledged = number
            del stream.awaiting[: bisect_right(stream.awaiting, number)]
            if len(stream.acks) < _MAX_AWAITING:
                stream.acks.append((number, at))
            self._changed[stream] = None

    def ordered(self, number: int | None, place: int | None) -> Moment | None:
        """When the message ``place`` of the sequence ``number`` was acknowledged by an OrderAck."""
        stream = None if number is None else self._numbered.get(number)
        if stream is None or place is None or not stream.acks:
            return None
        at = bisect_left(stream.acks, place, key=lambda ack: ack[0])
        return stream.acks[at][1] if at < len(stream.acks) else None

    def settle(
        self,
        place: tuple[int, int],
        key: bytes,
        class_: int,
        ends: tuple[str, str],
        at: Moment,
        *,
        known: bool,
    ) -> None:
        """Take a FinalAck of a class for the message of a key, known or not, at a place of its sequence."""
        stream = self._acknowledged(place[0], key[:16], ends)
        if stream is not None:
            stream.final_acks[class_] = stream.final_acks.get(class_, 0) + 1
        elif not known:
            self.stray("final_ack", class_, ends, at, *place, key)

    def _acknowledged(self, sequence: int, target: bytes | None, ends: tuple[str, str]) -> _Stream | None:
        """The sequence that an acknowledgment means: that of the host, then the queue manager, it goes to."""
        known = target and target != NULL_GUID and (sequence, target, None) in self._meant
        source = target if known else None
        way = (host_of(ends[1]), host_of(ends[0]))
        found = self._meant.get((sequence, source, way)) or self._meant.get((sequence, source, None))
        return found[0] if found else None

    def stray(
        self,
        kind: StrayKind,
        class_: int,
        ends: tuple[str, str],
        at: Moment,
        sequence: int | None = None,
        number: int | None = None,
        key: bytes | str | None = None,
    ) -> None:
        """Keep an acknowledgment of what was not seen."""
        if len(self.strays) >= _MAX_STRAY:
            self.strays_left_out += 1
            return
        self.strays.append(
            StrayAck(
                kind=kind,
                message_class=class_,
                at=at,
                src=ends[0],
                dst=ends[1],
                tx_sequence_id=sequence,
                number=number,
                message_id=None if key is None else message_name(key),
            )
        )

    def finish(self) -> tuple[TransactionalStream, ...]:
        """All sequences that are kept, by order of appearance."""
        return tuple(map(_summary, self._streams.values()))


def _after(gap: TransactionGap) -> int:
    return gap.after


def place_of(packet: Any) -> tuple[int, Place] | None:
    """The identifier of the sequence of a transactional message, and its place; None where they are cut."""
    header = reached(packet, "transaction_header")
    previous = reached(header, "previous_tx_sequence_number")
    if previous is None:
        return None
    return header.tx_sequence_id.value, (header.tx_sequence_number, previous, header.flags)


def _summary(stream: _Stream) -> TransactionalStream:
    return TransactionalStream(
        number=stream.number,
        source_queue_manager=stream.source,
        tx_sequence_id=stream.sequence,
        queue=stream.queue,
        src=stream.src,
        dst=stream.dst,
        first=stream.first,
        last=stream.last,
        messages=stream.messages,
        first_number=stream.first_number,
        last_number=stream.last_number,
        repeats=stream.repeats,
        gaps=tuple(
            gap if stream.certain else msgspec.structs.replace(gap, certain=False) for gap in stream.gaps
        ),
        gaps_left_out=stream.gaps_left_out,
        bridges=tuple(stream.bridges),
        bridges_left_out=stream.bridges_left_out,
        order_acks=stream.order_acks,
        progress=tuple(stream.acks[:_MAX_STRAY]),
        acknowledged=stream.acknowledged,
        acknowledged_by=stream.acked_by,
        first_order_ack=stream.first_ack,
        last_order_ack=stream.last_ack,
        acknowledged_ahead=stream.ahead,
        awaiting=len(stream.awaiting),
        awaiting_numbers=tuple(stream.awaiting[:_MAX_STRAY]),
        final_acks=tuple(sorted(stream.final_acks.items())),
        sessions=tuple(stream.sessions),
        certain=stream.certain,
    )
