"""Records in, the story of a capture out: `Follower`, `follow` and `Story`.

The rule kept here: every record is looked at once, in order, and by whom it concerns; what is kept shares one
budget, and what leaves it is told as it stands then.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from msmq_wire.records.record import Record, is_read
from msmq_wire.records.run import Run, in_order
from msmq_wire.sessions.budget import Budget
from msmq_wire.sessions.clocks import Clocks, sender_of
from msmq_wire.sessions.life import MessageLife
from msmq_wire.sessions.lives import LifeTracker, Lives
from msmq_wire.sessions.message import FollowedMessage, moment_of
from msmq_wire.sessions.outcomes import life_of
from msmq_wire.sessions.reads import ReadTracker, RemoteQueue, RemoteRead
from msmq_wire.sessions.session import Moment, PingExchange, Session
from msmq_wire.sessions.tracker import SESSION_RECORDS, SessionTracker
from msmq_wire.sessions.transactions import StrayAck, TransactionalStream, TransactionTracker
from msmq_wire.wire.partial import reached

__all__ = ["Follower", "Leaving", "LeftOut", "Story", "follow"]

Leaving: TypeAlias = Session | MessageLife | TransactionalStream | RemoteRead | RemoteQueue
"""What is kept no longer, as it stands then."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How many values of each kind are not kept: limits bound memory, and the oldest go."""

    sessions: int = 0
    streams: int = 0
    reads: int = 0
    lives: int = 0
    pings: int = 0
    strays: int = 0


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """What a capture tells.

    ``sessions`` by their numbers; ``streams`` are transactional sequences; ``reads`` remote reads and
    ``queues`` the queues opened for them; ``lives`` one value a message, made when looked at; ``pings`` the
    exchanges on UDP 3527; ``strays`` acknowledgments of what was not seen; ``clocks`` those of the
    senders. ``first`` and ``last`` are the
    times of the first and the last record (ns since 1970, UTC).
    """

    sessions: tuple[Session, ...]
    streams: tuple[TransactionalStream, ...]
    reads: tuple[RemoteRead, ...]
    queues: tuple[RemoteQueue, ...]
    lives: Lives
    pings: tuple[PingExchange, ...]
    strays: tuple[StrayAck, ...]
    clocks: Clocks
    first: int | None
    last: int | None
    left_out: LeftOut

    @classmethod
    def of_stream(cls, stream: TransactionalStream, now: int | None) -> Story:
        """A story of nothing but a transactional sequence, as it stands."""
        empty = Lives({}, _untold)
        return cls(
            sessions=(), streams=(stream,), reads=(), queues=(), lives=empty, pings=(), strays=(),
            clocks=Clocks(), first=now, last=now, left_out=LeftOut(),
        )  # fmt: skip

    def session(self, number: int) -> Session | None:
        """The session of a number; None where it is not kept."""
        at = bisect_left(self.sessions, number, key=lambda one: one.number)
        found = self.sessions[at : at + 1]
        return found[0] if found and found[0].number == number else None


def _untold(message: FollowedMessage) -> MessageLife:
    return life_of(message, None, None)


class Follower:
    """Takes records in order of their ids; ``finish`` gives the `Story`. Nothing is raised on any record.

    ``budget`` is how many bytes sessions, messages, transactional sequences and remote reads take together
    (`BUDGET` by default): beyond it the oldest go of what takes most. ``messages`` bounds the messages beside
    that. ``leave`` is given each that is kept no longer, as it stands then; it is not in the `Story`. Of a
    run ``at`` is meanwhile the id of the record at which it goes.
    """

    def __init__(
        self,
        *,
        budget: int | None = None,
        messages: int | None = None,
        leave: Callable[[Leaving], None] | None = None,
    ) -> None:
        self._budget = Budget(budget)
        gone = None if leave is None else lambda message: leave(self._tell(message))
        self._lives = LifeTracker(messages, gone, budget=self._budget)
        self._sessions = SessionTracker(self._lives.messages, budget=self._budget, leave=leave)
        self._transactions = TransactionTracker(budget=self._budget, leave=leave)
        self._reads = ReadTracker(budget=self._budget, leave=leave)
        self._clocks = Clocks()
        self._first: int | None = None
        self._last: int | None = None
        self.at = 0

    @property
    def taken(self) -> int:
        """How many bytes of the budget are taken."""
        return self._budget.taken

    def feed(self, record: Record) -> None:
        """Take the next record."""
        time = record.time
        if time is not None:
            if self._first is None:
                self._first = time
            self._last = time
        type_ = record.type
        if type_ == "user_message":
            if is_read(record):
                self._carried(record, self._lives.read(record))
            else:
                self._message(record)
        elif type_ == "order_ack":
            moment = moment_of(record)
            self._transactions.order_ack(record, moment)
            self._sessions.feed(record, self._lives.unkept(record, moment), moment)
        elif type_ == "final_ack":
            moment = moment_of(record)
            self._transactions.final_ack(record, moment, self._lives.final_ack(record, moment))
            self._sessions.feed(record, self._lives.unkept(record, moment), moment)
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
                self._transactions.stray("receipt", stray[0], record, moment_of(record), key=stray[1])
        self._budget.settle()

    def take(self, run: Run) -> None:
        """Take everything of a run, in order."""
        for record in in_order(run):
            self.at = record.id
            self.feed(record)

    def _message(self, record: Record) -> None:
        moment = moment_of(record)
        message, sight = self._lives.sent(record, moment, self._ordered)
        conversation = self._sessions.feed(record, message, moment, sight=sight)
        if message is None:
            return
        key = message.key
        if sight == "first" and isinstance(key, bytes):
            self._clocks.take(sender_of(key[:16], message.src), message.sent_time, moment.time)
        if conversation is not None:
            self._lives.placed(message, conversation.number)
        if message.delivery == "transactional" and reached(record.packet, "transaction_header") is not None:
            session = None if conversation is None else conversation.number
            certain = conversation is None or conversation.certain
            self._transactions.sent(record, message, moment, session, certain=certain)
        if message.message_class:
            self._acknowledges(message, record, moment)

    def _ordered(self, message: FollowedMessage) -> bool:
        return self._transactions.ordered(message.stream, message.place) is not None

    def _acknowledges(self, message: FollowedMessage, record: Record, moment: Moment) -> None:
        if self._lives.acknowledgment(message, record, moment):
            self._transactions.stray(
                "administration_ack",
                message.message_class or 0,
                record,
                moment,
                key=message.correlation_id,
            )

    def _carried(self, record: Record, message: FollowedMessage | None) -> None:
        if message is None:
            return
        self._reads.carried(record, message)
        self._lives.found_in(message, self._reads.queue_of(record), moment_of(record))
        if message.message_class and message.via == "rpc":
            self._lives.acknowledgment(message, record, moment_of(record))

    def _tell(self, message: FollowedMessage) -> MessageLife:
        ordered = self._transactions.ordered(message.stream, message.place)
        key = message.key
        clock = None if isinstance(key, str) else self._clocks.of(sender_of(key[:16], message.src))
        return life_of(message, ordered, self._last, clock)

    def finish(self) -> Story:
        """Tell the story; the follower is used up."""
        reads, queues = self._reads.finish()
        sessions, streams = self._sessions.finish(), self._transactions.finish()
        transactions = self._transactions

        return Story(
            sessions=sessions,
            streams=streams,
            reads=reads,
            queues=queues,
            lives=Lives(self._lives.messages, self._tell),
            pings=self._sessions.pings.exchanges(),
            strays=tuple(transactions.strays),
            clocks=self._clocks,
            first=self._first,
            last=self._last,
            left_out=LeftOut(
                sessions=self._sessions.left_out,
                streams=transactions.left_out,
                reads=self._reads.left_out,
                lives=self._lives.left_out,
                pings=self._sessions.pings.left_out,
                strays=transactions.strays_left_out,
            ),
        )


def follow(records: Iterable[Record]) -> Story:
    """Follow all records of a capture, read with ``streams=True`` so that connections have their steps."""
    follower = Follower()
    for record in records:
        follower.feed(record)
    return follower.finish()
