"""Records in, the story of a capture out: `StoryFollower`, `follow` and `Story`.

The rule kept here: every record is looked at once, in order, and by whom it concerns; what is kept shares one
budget, and what leaves it is told as it stands then.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from msmq_wire.records.log_event import EventLogFile
from msmq_wire.records.record import Record, is_read
from msmq_wire.records.run import Run, bounds
from msmq_wire.records.seen_at import point_names
from msmq_wire.records.visibility import Visibility
from msmq_wire.representation import struct_line
from msmq_wire.sessions.budget import Budget
from msmq_wire.sessions.clocks import Clocks, sender_of
from msmq_wire.sessions.computer_logs import ComputerLogs
from msmq_wire.sessions.conversation import Conversation
from msmq_wire.sessions.discoveries import ServerDiscovery
from msmq_wire.sessions.followed_message import FollowedMessage, destination_of, is_whole, moment_of
from msmq_wire.sessions.life import MessageLife
from msmq_wire.sessions.listener import SessionListener
from msmq_wire.sessions.message_lives import LifeTracker, MessageLives, ends_of
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.observations import (
    Observation,
    SeenAck,
    SeenFinalAck,
    SeenMessage,
    SeenMessages,
    SeenOrderAck,
    seen_ack,
)
from msmq_wire.sessions.outcomes import is_plain, life_of
from msmq_wire.sessions.point_sights import PointSights
from msmq_wire.sessions.reads import ReadTracker, RemoteQueue, RemoteRead
from msmq_wire.sessions.session import PingExchange, Session
from msmq_wire.sessions.streams import StrayAck, TransactionalStream
from msmq_wire.sessions.trace_step import Trace
from msmq_wire.sessions.trace_tracker import REPORT
from msmq_wire.sessions.tracker import SESSION_RECORDS, SessionTracker
from msmq_wire.sessions.transaction_tracker import TransactionTracker, place_of

T = TypeVar("T")
_TOGETHER = 16
_MOST_TOGETHER = 1024
"""Messages that are taken sooner together than one by one, and as many as they are looked at together."""
_BEGINS = 3500
_GROWS = 6000
"""More bytes than a direction of a session takes that begins with plain messages, beside these, and than any
packet adds to a session and a sequence that are there."""
Leaving: TypeAlias = Session | MessageLife | TransactionalStream | RemoteRead | RemoteQueue
"""What is kept no longer, as it stands then."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How many values of each kind are not kept: limits bound memory, and the oldest go.

    ``waiting`` are packets of which it was given up to know whether they were acknowledged and stored.
    """

    sessions: int = 0
    streams: int = 0
    reads: int = 0
    lives: int = 0
    waiting: int = 0
    pings: int = 0
    strays: int = 0
    discoveries: int = 0
    reports: int = 0


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """What a capture tells.

    ``sessions`` by their numbers; ``streams`` are transactional sequences; ``reads`` remote reads and
    ``queues`` the queues opened for them; ``lives`` one value a message, made when looked at; ``pings`` the
    exchanges on UDP 3527, ``followed`` the hosts of those that a session came behind which is not kept;
    ``discoveries`` those on UDP 1801; ``traces`` what report messages tell; ``strays`` acknowledgments of
    what was not seen; ``clocks`` those of the senders; ``visibility`` what the capture could see;
    ``point_sights`` what each vantage point saw, None where there are none; ``logs`` the event logs
    beside the capture, None without any. ``first`` and ``last`` are the times of the first and the last
    record (ns since 1970, UTC).
    """

    sessions: tuple[Session, ...]
    streams: tuple[TransactionalStream, ...]
    reads: tuple[RemoteRead, ...]
    queues: tuple[RemoteQueue, ...]
    lives: MessageLives
    pings: tuple[PingExchange, ...]
    strays: tuple[StrayAck, ...]
    clocks: Clocks
    first: int | None
    last: int | None
    left_out: LeftOut
    visibility: Visibility
    discoveries: tuple[ServerDiscovery, ...] = ()
    followed: frozenset[tuple[str, str]] = frozenset()
    traces: tuple[Trace, ...] = ()
    point_sights: PointSights | None = None
    logs: ComputerLogs | None = None

    __repr__ = struct_line

    @classmethod
    def of_stream(cls, stream: TransactionalStream, now: int | None) -> Story:
        """A story of nothing but a transactional sequence, as it stands."""
        empty = MessageLives({}, _untold)
        return cls(
            sessions=(), streams=(stream,), reads=(), queues=(), lives=empty, pings=(), strays=(),
            clocks=Clocks(), first=now, last=now, left_out=LeftOut(), visibility=Visibility(),
        )  # fmt: skip

    def beside(self, files: Sequence[EventLogFile]) -> Story:
        """The story with event logs beside it; the same without files."""
        if not files:
            return self
        logs = ComputerLogs(files, self.lives, self.first, self.last)
        return msgspec.structs.replace(self, logs=logs)

    def session(self, number: int) -> Session | None:
        """The session of a number; None where it is not kept."""
        at = bisect_left(self.sessions, number, key=lambda one: one.number)
        found = self.sessions[at : at + 1]
        return found[0] if found and found[0].number == number else None


def _untold(message: FollowedMessage) -> MessageLife:
    return life_of(message, None, None)


class StoryFollower:
    """Takes records in order of their ids; ``finish`` gives the `Story`. Nothing is raised on any record.

    ``budget`` is how many bytes sessions, messages, transactional sequences and remote reads take together
    (`BUDGET` by default): beyond it the oldest go of what takes most. What is known of the capture takes half
    as many beside that, and ``messages`` bounds the messages. ``leave`` is given each that is kept no longer,
    as it stands then; it is not in the `Story`. Of a run ``at`` is meanwhile the id of the record at which it
    goes. Without ``lives`` messages are not given:
    there are many, and each has to be told.
    """

    def __init__(
        self,
        *,
        budget: int | None = None,
        messages: int | None = None,
        leave: Callable[[Leaving], None] | None = None,
        lives: bool = True,
    ) -> None:
        self._budget = Budget(budget)
        gone = None if leave is None or not lives else lambda message: leave(self._tell(message))
        self._lives = LifeTracker(messages, gone, budget=self._budget)
        self.visibility = Visibility(None if budget is None else budget // 2)
        self._sessions = SessionTracker(
            self._lives.messages, budget=self._budget, leave=leave, forgotten=self._forget
        )
        self._transactions = TransactionTracker(budget=self._budget, leave=leave)
        self._reads = ReadTracker(budget=self._budget, leave=leave)
        self._clocks = Clocks()
        self._point_sights: PointSights | None = None
        self._first: int | None = None
        self._last: int | None = None
        self._listener: SessionListener | None = None
        self._capture = ""
        self._run: Run | None = None
        self._record: Record | None = None
        self.at = 0

    def _forget(self, capture: str, stream: int) -> None:
        self.visibility.forget(capture, stream, self.at)

    def listen(self, listener: SessionListener) -> None:
        """Tell somebody what packets show from now on."""
        self._listener = self._sessions.listener = listener
        self._transactions.listener = self._lives.copies.listener = listener

    def record(self, at: Moment) -> Record:
        """The record that is taken at a moment, for who is told of it meanwhile."""
        if self._record is not None:
            return self._record
        assert self._run is not None
        return self._run.record(int(self._run.id.searchsorted(at.record)))

    def _begin(self, capture: str, since: int) -> None:
        self._capture = capture
        self._transactions.begin()
        self._lives.copies.begin(since)
        if self._point_sights is None and point_names(capture):
            self._point_sights = PointSights()
        if self._point_sights is not None:
            self._point_sights.begin(capture, since)
        if self._listener is not None:
            self._listener.begin()

    @property
    def taken(self) -> int:
        """How many bytes of the budget are taken."""
        return self._budget.taken

    def feed(self, record: Record) -> None:
        """Take the next record; what lies at rest tells nothing of a connection."""
        self.visibility.feed(record)
        self._feed(record)
        if self._point_sights is not None:
            self._point_sights.feed(record)

    def _feed(self, record: Record) -> None:
        self.at = record.id
        if record.grade is not None:
            return
        self._record = record
        if record.capture != self._capture:
            self._begin(record.capture, record.id)
        self._at(record.time)
        type_ = record.type
        if type_ == "user_message":
            if is_read(record):
                self._carried(record, self._lives.read(record))
            else:
                self._message(record)
        elif type_ in ("order_ack", "final_ack"):
            moment = moment_of(record)
            self._sessions.feed(record, self._lives.reader.key(record), None, moment)
            ack = seen_ack(record, moment)
            if ack is not None:
                self._acknowledged(ack, whole=record.stream is not None and is_whole(record))
        elif type_ in SESSION_RECORDS:
            self._sessions.feed(record)
        elif type_ == "rpc_call":
            self._reads.call(record)
            self._lives.call(record)
        elif type_ == "message_packet":
            self._carried(record, self._lives.read(record))
        elif type_ == "transfer_buffer":
            self._carried(record, self._lives.buffer(record))
        elif type_ == "srmp_message":
            self._lives.http(record)
        elif type_ == "srmp_receipt":
            stray = self._lives.receipt(record)
            if stray is not None:
                self._transactions.stray(
                    "receipt", stray[0], ends_of(record), moment_of(record), key=stray[1]
                )
        self._transactions.weigh()
        self._budget.settle()

    def take(self, run: Run) -> None:
        """Take everything of a run, in order."""
        self.follow(run)
        self.visibility.advance()

    def follow(self, run: Run) -> None:
        """The same, but for ``visibility``, which begins it: the caller lets that advance."""
        # Loads numpy, which a run has loaded.
        from msmq_wire.sessions.columns import sighted

        self.visibility.begin(run)
        self._run = run
        if run.capture != self._capture:
            self._begin(run.capture, bounds(run)[0])
        if self._point_sights is not None:
            self._point_sights.take(run)
        others = iter(run.others)
        other = next(others, None)
        budget, capture, ids = self._budget, run.capture, run.id.tolist()
        found, messages = sighted(run)
        place = grown = alone = 0
        while place < len(found):
            while other is not None and other.id < ids[place]:
                self._weigh()
                self._feed(other)
                other = next(others, None)
                grown = 0
            one = found[place]
            self.at, self._record = ids[place], None
            place += 1
            if isinstance(one, int):
                row = one
                if row >= alone and messages.until[row] - row >= _TOGETHER:
                    self._weigh()
                    grown = 0
                    taken, alone = self._together(capture, messages, row)
                    if taken:
                        place += taken - 1
                        continue
                one = messages.one(row)
            if one is None or not self._see(capture, one):
                self._weigh()
                self._feed(run.record(place - 1))
                grown = 0
                continue
            grown += _GROWS
            if budget.room < grown:
                self._weigh()
                budget.settle()
                grown = 0
        self._weigh()
        while other is not None:
            self._feed(other)
            other = next(others, None)
        self._run = None

    def _together(self, capture: str, seen: SeenMessages, row: int) -> tuple[int, int]:
        """Take plain messages of a run together from one on, as many as surely fit the budget.

        Tells how many these are, and the row up to which it is in vain to try again.
        """
        until = min(seen.until[row], row + _MOST_TOGETHER, row + self._lives.room())
        room, charged = self._budget.room, seen.charged[row : until + 1] - seen.charged[row]
        until = row + int(charged.searchsorted(room, "right")) - 1
        ways, sequences = _grouped(seen.ways, row, until), _grouped(seen.sequences, row, until)
        room -= _BEGINS * len(ways)
        room -= self._transactions.beginning(key for key, _ in sequences if key is not None)
        end = min(until, row + int(charged.searchsorted(room, "right")) - 1)
        if end - row < max(_TOGETHER, 4 * len(ways)):
            return 0, row + _TOGETHER
        conversations: dict[int, Conversation] = {}
        for (stream, _), rows in ways:
            conversation = self._sessions.open(capture, stream)
            if conversation is None:
                end = min(end, rows[0])
                break
            conversations[stream] = conversation
        messages = seen.messages[row:end]
        if len(messages) < _TOGETHER or not self._lives.put_all(messages):
            return 0, max(end, row + 1)
        if end < until:
            ways, sequences = _before(ways, end), _before(sequences, end)
        for (stream, (src, _)), rows in ways:
            conversation = conversations[stream]
            sent = [seen.messages[at] for at in rows]
            conversation.messages(conversation.from_(src), sent, sum([seen.sizes[at] for at in rows]))
            for message in sent:
                message.session = conversation.number
        for (stream, _), rows in sorted(ways, key=_last):
            conversation, moment = conversations[stream], seen.messages[rows[-1]].first
            conversation.last = moment
            self._sessions.touched(conversation, moment)
        for sender, message in zip(seen.senders[row:end], messages, strict=True):
            self._clocks.take(sender, message.sent_time, message.first.time)
        for key, rows in sequences:
            if key is None:
                continue
            used = dict.fromkeys([seen.ways[at] for at in rows])
            certain = all(conversations[stream].certain for stream, _ in used)
            sent, places = [seen.messages[at] for at in rows], [seen.places[at] for at in rows]
            self._transactions.sent_all(sent, key, places, seen.ways[rows[0]][1], certain)
            if self._listener is not None:
                for message, place, at in zip(sent, places, rows, strict=True):
                    to, time = message.destination, message.first.time
                    sequence = self._transactions.accept(key[1], message, place, to, time)
                    conversations[seen.ways[at][0]].carries(sequence)
        self._at(messages[0].first.time)
        self._at(messages[-1].first.time)
        self._weigh()
        return len(messages), 0

    def _weigh(self) -> None:
        """Count what packets added that were not decoded."""
        self._sessions.weigh()
        self._transactions.weigh()

    def _see(self, capture: str, one: Observation) -> bool:
        """Take a packet that was not decoded; tell whether no more has to be known of it."""
        conversation = self._sessions.open(capture, one.stream)
        if conversation is None:
            return False
        direction, moment = conversation.from_(one.ends[0]), one.at
        self._at(moment.time)
        if isinstance(one, SeenMessage):
            message = one.message
            key = message.key
            if message.message_class == REPORT or self._lives.collisions.knows(key):
                return False
            self._lives.put(message)
            conversation.message(direction, moment, key, message, message.flags, one.size, one.counts)
            self._clocks.take(one.sender, message.sent_time, moment.time)
            message.session = conversation.number
            if one.sequence is not None:
                session, certain = conversation.number, conversation.certain
                self._transactions.sent(message, one.sequence, one.place, one.ends, moment, session, certain)
                if self._listener is not None:
                    sequence, to = one.sequence[1], message.destination
                    conversation.carries(
                        self._transactions.accept(sequence, message, one.place, to, moment.time)
                    )
            if message.message_class:
                self._acknowledges(message, one.ends, moment)
                self._lives.copies.acknowledges(message, moment)
        elif isinstance(one, SeenAck):
            conversation.session_ack(one.counts, direction, moment)
        else:
            sent = conversation.message(direction, moment, one.key, None, one.flags, one.size, one.counts)
            sent.acknowledgments += 1
            self._acknowledged(one, whole=True)
        self._sessions.touched(conversation, moment)
        return True

    def _acknowledged(self, one: SeenOrderAck | SeenFinalAck, *, whole: bool) -> None:
        """Take an acknowledgment of a sequence or a message; ``whole`` if it came so over a connection."""
        at = one.at
        if isinstance(one, SeenOrderAck):
            self._transactions.acknowledge(*one.place, one.class_, one.to, one.source, one.ends, at)
            if whole:
                self._transactions.order(*one.place, one.source, one.stream, at)
            return
        about = self._lives.collisions.named(one.about, one.ends[1])
        if about is not None:
            self._lives.acknowledged(about, "final_ack", one.class_, one.ends, at)
        known = about is not None
        self._transactions.settle(one.place, one.about, one.class_, one.ends, at, known=known)
        if whole:
            self._lives.copies.acknowledged(one.about, one.class_, one.key, one.flags, at, final=True)

    def _at(self, time: int | None) -> None:
        """Say when something was captured."""
        if time is not None:
            if self._first is None:
                self._first = time
            self._last = time

    def _message(self, record: Record) -> None:
        moment = moment_of(record)
        copy = self._lives.copies.sent(record, moment)
        message, sight = self._lives.sent(record, moment, self._ordered)
        key = None if message is None else message.key
        conversation = self._sessions.feed(record, key, message, moment, sight=sight)
        if message is None:
            return
        if sight == "first" and isinstance(key, bytes):
            self._clocks.take(sender_of(key[:16], message.src), message.sent_time, moment.time)
        if conversation is not None:
            self._lives.placed(message, conversation.number)
        place = place_of(record.packet) if message.delivery == "transactional" else None
        ends = ends_of(record)
        if place is not None:
            session = None if conversation is None else conversation.number
            certain = conversation is None or conversation.certain
            named = (record.packet.user_header.source_queue_manager, place[0], message.queue)
            self._transactions.sent(message, named, place[1], ends, moment, session, certain)
            if self._listener is not None and conversation is not None and is_whole(record):
                to = destination_of(record.packet.user_header.queue_manager_address)
                conversation.carries(self._transactions.accept(place[0], message, place[1], to, moment.time))
        if message.message_class:
            self._acknowledges(message, ends, moment)
            self._lives.report(record, message)
        if conversation is not None and is_whole(record):
            self._lives.copies.acknowledges(copy or message, moment)

    def _ordered(self, message: FollowedMessage) -> bool:
        return self._transactions.ordered(message.stream, message.place) is not None

    def _acknowledges(self, message: FollowedMessage, ends: tuple[str, str], moment: Moment) -> None:
        if self._lives.acknowledgment(message, ends, moment):
            class_, about = message.message_class or 0, message.correlation_id
            self._transactions.stray("administration_ack", class_, ends, moment, key=about)

    def _carried(self, record: Record, message: FollowedMessage | None) -> None:
        if message is None:
            return
        self._reads.carried(record, message)
        self._lives.found_in(message, self._reads.queue_of(record), moment_of(record))
        self._lives.report(record, message)
        if message.message_class and message.via == "rpc":
            self._lives.acknowledgment(message, ends_of(record), moment_of(record))

    def _tell(self, message: FollowedMessage) -> MessageLife:
        ordered = self._transactions.ordered(message.stream, message.place)
        key = message.key
        clock = None if isinstance(key, str) else self._clocks.of(sender_of(key[:16], message.src))
        purges = self._reads.purges_of(message.queue) if self._reads.purged else ()
        traces, report = self._lives.traces, message.history and message.history.report
        return life_of(
            message,
            ordered,
            self._last,
            clock,
            purges,
            traces.of(key) if message.traced else (),
            traces.named(report) if report else (),
        )

    def finish(self) -> Story:
        """Tell the story; the follower is used up."""
        reads, queues = self._reads.finish()
        sessions, streams = self._sessions.finish(), self._transactions.finish()
        transactions, pings = self._transactions, self._sessions.pings
        self.visibility.early = self._clocks.early()
        self.visibility.let_go = bool(self._sessions.left_out or pings.left_out)
        return Story(
            sessions=sessions,
            streams=streams,
            reads=reads,
            queues=queues,
            lives=MessageLives(
                self._lives.with_reported(), self._tell, None if self._reads.purged else is_plain
            ),
            pings=pings.exchanges(),
            strays=tuple(transactions.strays),
            clocks=self._clocks,
            first=self._first,
            last=self._last,
            left_out=LeftOut(
                sessions=self._sessions.left_out,
                streams=transactions.left_out,
                reads=self._reads.left_out,
                lives=self._lives.left_out,
                waiting=self._sessions.overlooked,
                pings=pings.left_out,
                strays=transactions.strays_left_out,
                discoveries=self._sessions.discoveries.left_out,
                reports=self._lives.traces.left_out,
            ),
            visibility=self.visibility,
            discoveries=self._sessions.discoveries.discoveries(),
            followed=frozenset(pings.followed),
            traces=tuple(self._lives.traces.traces()),
            point_sights=self._point_sights,
        )


def _grouped(values: list[T], start: int, end: int) -> list[tuple[T, list[int]]]:
    """The places of each value from a place on, and before another; what is equal is one object."""
    found: dict[int, list[int]] = {}
    for at, value in enumerate(map(id, values[start:end]), start):
        rows = found.get(value)
        if rows is None:
            found[value] = [at]
        else:
            rows.append(at)
    return [(values[rows[0]], rows) for rows in found.values()]


def _before(groups: list[tuple[T, list[int]]], end: int) -> list[tuple[T, list[int]]]:
    """What is left of groups before a place."""
    cut = ((value, rows[: bisect_left(rows, end)]) for value, rows in groups)
    return [(value, rows) for value, rows in cut if rows]


def _last(group: tuple[Any, list[int]]) -> int:
    return group[1][-1]


def follow(records: Iterable[Record]) -> Story:
    """Follow all records of a capture, read with ``streams=True`` so that connections have their steps."""
    follower = StoryFollower()
    for record in records:
        follower.feed(record)
    return follower.finish()
