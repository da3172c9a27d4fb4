"""What is followed shares one budget of bytes, and what leaves it is told once, as it stands."""

from __future__ import annotations

import gc
import tracemalloc
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from msmq_wire import GUID, build_message
from msmq_wire.records.record import Record
from msmq_wire.sessions import (
    Leaving,
    MessageLife,
    RemoteQueue,
    RemoteRead,
    Session,
    StoryFollower,
    TransactionalStream,
)
from msmq_wire.sessions.budget import Budget, Share
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from tests.effort import share
from tests.sessions.tape import SENDER, START, Tape, lone


class Kind:
    """Entries of one size that give the oldest."""

    def __init__(self, budget: Budget, size: int) -> None:
        self.share: Share = budget.share(self.give)
        self.entries: deque[int] = deque()
        self.size = size

    def add(self, *entries: int) -> None:
        self.entries.extend(entries)
        self.share.take(self.size * len(entries))

    def give(self) -> None:
        if self.entries:
            self.entries.popleft()
            self.share.take(-self.size)


def test_what_takes_most_gives_its_oldest_and_the_others_keep_theirs() -> None:
    budget = Budget(6400)
    few, many = Kind(budget, 100), Kind(budget, 10)
    few.add(*range(5))
    many.add(*range(591))
    budget.settle()
    # A sixty-fourth of the budget is free then.
    assert budget.taken == 6300
    assert list(few.entries) == [0, 1, 2, 3, 4]
    assert many.entries[0] == 11


def test_nothing_goes_while_there_is_room_and_what_cannot_give_is_not_asked_again() -> None:
    budget = Budget(1000)
    kind = Kind(budget, 100)
    kind.add(*range(10))
    budget.settle()
    assert len(kind.entries) == 10
    stuck = budget.share(lambda: None)
    stuck.take(5000)
    budget.settle()
    assert (budget.taken, len(kind.entries)) == (5000, 0)


def whole(number: int) -> Iterator[Record]:
    """A whole session with a message that is acknowledged, on a connection of its own."""
    tape = Tape()
    tape.time += number
    tape.open(on=number)
    sender = GUID(number.to_bytes(16, "little"))
    tape.message(1, on=number, source_queue_manager=sender)
    tape.ack(1, on=number)
    tape.tcp("rst", on=number)
    tape.tcp("closed", on=number)
    return iter(tape.records)


def lost(number: int) -> Iterator[Record]:
    """A message of one long session that nothing acknowledges."""
    tape = Tape()
    tape.message(number, delivery="recoverable")
    return iter(tape.records)


@pytest.mark.slow
@pytest.mark.parametrize("kind", share([lone, whole, lost]))
def test_a_connection_takes_no_more_memory_than_is_counted_for_it(kind: Any) -> None:
    follower = StoryFollower()
    feeding = ([kind(number)] if kind is lone else kind(number) for number in range(1, 1001))

    def feed(count: int) -> None:
        for _ in range(count):
            for record in next(feeding):
                follower.feed(record)

    feed(200)
    # What waits to be collected is nobody's memory, and how much of it there is depends on the tests before.
    gc.collect()
    tracemalloc.start()
    growth = []
    try:
        # What is loaded when it is first used counts once, in one of the two.
        for _ in range(2):
            counted, before = follower.taken, tracemalloc.get_traced_memory()[0]
            feed(400)
            gc.collect()
            growth.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    grown = min(growth)
    assert grown < 7500 * 400
    # Beside the budget there is the clock of each of the first 4,096 senders, and what was captured of
    # connections, of which each takes twice as much while something is missing.
    assert grown < follower.taken - counted + 3400 * 400


def everything(follower: StoryFollower, records: Iterator[Record], left: list[Leaving]) -> list[Leaving]:
    """What left, and what the story has."""
    for record in records:
        follower.feed(record)
    story = follower.finish()
    return [*left, *story.sessions, *story.lives, *story.streams, *story.reads, *story.queues]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [1, 20_000, 100_000, 1 << 30])
def test_every_session_and_message_is_told_once_and_few_are_kept_at_once(budget: int) -> None:
    left: list[Leaving] = []
    follower = StoryFollower(budget=budget, leave=left.append)
    kept = []
    for number in range(1, 301):
        follower.feed(lone(number))
        kept.append(number * 2 - len(left))
    assert follower.taken <= budget
    assert max(kept) <= max(2, budget // 800)
    reported = everything(follower, iter(()), left)
    sessions = [one for one in reported if isinstance(one, Session)]
    lives = [one for one in reported if isinstance(one, MessageLife)]
    assert sorted(one.number for one in sessions) == list(range(300))
    assert len({one.message_id for one in lives}) == len(lives) == 300
    assert bool(left) == (budget < 1 << 30)


@pytest.mark.slow
def test_what_left_is_counted_by_kind() -> None:
    left: list[Leaving] = []
    follower = StoryFollower(budget=20_000, leave=left.append)
    for number in range(1, 101):
        follower.feed(lone(number))
    counted = follower.finish().left_out
    assert counted.sessions == sum(isinstance(one, Session) for one in left) > 0
    assert counted.lives == sum(isinstance(one, MessageLife) for one in left) > 0


@pytest.mark.slow
def test_a_session_that_goes_on_stays_while_silent_ones_go() -> None:
    left: list[Leaving] = []
    follower = StoryFollower(budget=60_000, leave=left.append)
    busy = Tape()
    busy.open()
    for record in busy.records:
        follower.feed(record)
    for number in range(1, 201):
        follower.feed(lone(number))
        follower.feed(busy.message(number))
        follower.feed(busy.ack(number))
    gone = [one.number for one in left if isinstance(one, Session)]
    assert len(gone) > 100
    assert 0 not in gone
    session = follower.finish().session(0)
    assert session is not None
    assert (session.directions[0].messages, session.directions[0].unacknowledged) == (200, 0)


@pytest.mark.parametrize("acked", [0, 300, 400])
def test_packets_that_wait_go_before_connections_that_go_on(acked: int) -> None:
    tape = Tape()
    for on in range(4):
        tape.open(on=on)
    for number in range(1, 401):
        for on in range(4):
            tape.message(4 * number + on, on=on, delivery="recoverable")
    for on in range(4):
        tape.ack(acked, on=on)
    left: list[Leaving] = []
    follower = StoryFollower(budget=60_000, leave=left.append)
    for record in tape.records:
        follower.feed(record)
    story = follower.finish()
    # None began again, and what was acknowledged counts for packets that are not kept.
    assert [(one.number, one.started) for one in story.sessions] == [(on, True) for on in range(4)]
    assert [isinstance(one, Session) for one in left].count(True) == 0
    for session in story.sessions:
        sent = session.directions[0]
        assert (sent.messages, sent.acknowledged, sent.unacknowledged) == (400, acked, 400 - acked)
        # Nobody said of any that it was stored; of most it is not known whether somebody did.
        assert sent.unstored < 100
    assert story.left_out.waiting > 0


@pytest.mark.slow
def test_messages_that_wait_for_an_acknowledgment_leave_like_all_others(tape: Tape) -> None:
    tape.open()
    for number in range(1, 201):
        tape.message(number, delivery="recoverable")
    tape.ack(200)
    left: list[Leaving] = []
    follower = StoryFollower(messages=10, leave=left.append)
    for record in tape.records:
        follower.feed(record)
    story = follower.finish()
    assert {life.acknowledged is None for life in left if isinstance(life, MessageLife)} == {True}
    assert all(life.acknowledged is not None for life in story.lives)
    # The session knows all the same what was acknowledged.
    assert story.sessions[0].directions[0].acknowledged == 200
    assert story.sessions[0].directions[0].unacknowledged == 0


@pytest.mark.slow
def test_sequences_and_remote_reads_leave_too(tape: Tape) -> None:
    tape.open()
    for number in range(1, 101):
        record = tape.message(number, tx=(1, 0))
        packet = record.packet
        packet = build_message(
            r"DIRECT=OS:msg01\private$\orders", b"", message_id=number, delivery="recoverable",
            source_queue_manager=SENDER, sent_time=START // 1_000_000_000,
            transaction=type(packet.transaction_header)(
                tx_sequence_id=TxSequenceID(ordinal=number, time_stamp=7), tx_sequence_number=1
            ),
        )  # fmt: skip
        tape.records[-1] = Record(
            id=record.id, type="user_message", src=record.src, dst=record.dst, stream=0,
            frames=record.frames, time=record.time, packet=packet, length=200,
        )  # fmt: skip
        tape.call("R_OpenQueue", opened_frame=None)
        tape.call("R_StartReceive", status=0)
    left: list[Leaving] = []
    reported = everything(StoryFollower(budget=50_000, leave=left.append), iter(tape.records), left)
    for kind in (TransactionalStream, RemoteRead, RemoteQueue):
        assert any(isinstance(one, kind) for one in left), kind
        assert sorted(one.number for one in reported if isinstance(one, kind)) == list(range(100)), kind
