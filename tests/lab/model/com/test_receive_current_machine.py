"""Whatever MSMQQueue objects receive, nothing is lost, doubled, out of order or left behind. [MC-MQAC] 3.11

Beside the model stands a ledger of plain lists that knows what each call must give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from msmq_wire.lab.model.com.receive_current import (
    Argument,
    MsmqMessage,
    MsmqQueue,
    MsmqTransaction,
    open_msmq_queue,
    receive_current_v1,
)
from msmq_wire.lab.model.data.elements import ModelMessage, OpenQueueDescriptor, Queue
from msmq_wire.lab.model.data.enumerations import PositionState, QueueAccessType
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.message import dequeue_message, peek_message, peek_next_message, purge_queue
from msmq_wire.lab.model.events.queue import close_queue
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_abort, transaction_commit
from msmq_wire.rpc.com.variant import DISP_E_PARAMNOTFOUND, VariantType
from msmq_wire.rpc.transfer_properties import MessageProperties
from tests.lab.model.scene import format_name, make_manager, make_queue, open_descriptor, pass_time

OK = 0
INVALID_HANDLE = 0xC00E0007
CANCELLED = 0xC00E0008
IO_TIMEOUT = 0xC00E001B
ILLEGAL_CURSOR_ACTION = 0xC00E001C
ALREADY_RECEIVED = 0xC00E001D
ACCESS_DENIED = 0xC00E0025
TRANSACTION_USAGE = 0xC00E0050
TRANSACTION_SEQUENCE = 0xC00E0051
MESSAGE_NOT_FOUND = 0xC00E0088

QUEUES = 2
CONTEXTS = [b"context transact", b"another context!"]
NOT_SPECIFIED: Argument = (VariantType.VT_ERROR, DISP_E_PARAMNOTFOUND)
WAITS: list[tuple[Argument, int]] = [
    ((VariantType.VT_I4, 0), 0),
    ((VariantType.VT_I4, 1), 1),
    ((VariantType.VT_I4, 1500), 1500),
    ((VariantType.VT_I4, 4000), 4000),
    ((VariantType.VT_I4, -1), INFINITE),
    (NOT_SPECIFIED, INFINITE),
]
picks = st.integers(0, 11)

Answer: TypeAlias = tuple[int, str | None]
"""What a call gave: its status and the label of the message."""


class Timer(msgspec.Struct, eq=False):
    """Something that happens when it is ``due``."""

    due: int
    action: Callable[[], None]


class Letter(msgspec.Struct, eq=False):
    """A message of the ledger. ``place`` orders those of a queue: by priority, then by arrival."""

    label: str
    place: tuple[int, int]
    free: bool = False
    purged: bool = False
    expired: bool = False
    timer: Timer | None = None


class Unit(msgspec.Struct, eq=False):
    """A transaction of the ledger: letters it sends (True) or takes (False), with their queues."""

    steps: list[tuple[bool, int, Letter]] = []


class Call(msgspec.Struct, eq=False):
    """A receive or a peek: what it gave, and what it must have given; None while it waits."""

    takes: bool
    given: list[Answer] = []
    due: Answer | None = None
    unit: Unit | None = None
    timer: Timer | None = None


class Reader(msgspec.Struct, eq=False):
    """What an MSMQQueue does by the ledger; ``place`` is where its cursor stands, None for the start.

    ``read`` is the letter that a peek found there.
    """

    queue: int
    receives: bool
    model: MsmqQueue
    descriptor: OpenQueueDescriptor
    place: tuple[int, int] | None = None
    read: Letter | None = None
    waiting: Call | None = None


class Ledger:
    """What must come of everything, in lists."""

    def __init__(self) -> None:
        self.now = 0
        self.timers: list[Timer] = []
        self.letters: list[list[Letter]] = [[] for _ in range(QUEUES)]
        self.journals: list[list[Letter]] = [[] for _ in range(QUEUES)]
        self.journaling = [False] * QUEUES
        self.readers: list[Reader] = []
        self.units: dict[bytes, Unit] = {}
        self.sent: list[str] = []
        self.gone: list[str] = []
        self.delivered: list[str] = []

    def start(self, milliseconds: int, action: Callable[[], None]) -> Timer | None:
        if milliseconds == INFINITE:
            return None
        timer = Timer(self.now + milliseconds, action)
        self.timers.append(timer)
        return timer

    def stop(self, timer: Timer | None) -> None:
        if timer in self.timers:
            self.timers.remove(timer)

    def wait(self, milliseconds: int) -> None:
        end = self.now + milliseconds
        while due := [one for one in self.timers if one.due <= end]:
            first = min(due, key=lambda one: one.due)
            self.timers.remove(first)
            self.now = first.due
            first.action()
        self.now = end

    def send(self, queue: int, label: str, priority: int, seconds: int | None, unit: Unit | None) -> None:
        letter = Letter(label, (-priority, len(self.sent)))
        self.sent.append(label)
        self.letters[queue].append(letter)
        self.letters[queue].sort(key=lambda one: one.place)
        if seconds is not None:
            letter.timer = self.start(seconds * 1000, lambda: self.expire(queue, letter))
        if unit is None:
            self.arrive(queue, letter)
        else:
            unit.steps.append((True, queue, letter))

    def expire(self, queue: int, letter: Letter) -> None:
        letter.expired = True
        if letter.free:
            self.lose(queue, letter)

    def lose(self, queue: int, letter: Letter) -> None:
        self.stop(letter.timer)
        letter.free = False
        self.letters[queue].remove(letter)
        self.gone.append(letter.label)

    def arrive(self, queue: int, letter: Letter) -> None:
        letter.free, letter.purged = True, False
        if letter.expired:
            self.lose(queue, letter)
            return
        for reader in self.readers:
            call = reader.waiting if reader.queue == queue else None
            if call is None:
                continue
            if call.takes and call.unit is not None and call.unit not in self.units.values():
                self.answer(reader, call, TRANSACTION_SEQUENCE)
                continue
            reader.place, reader.read = letter.place, None if call.takes else letter
            self.answer(reader, call, OK, letter)
            if call.takes:
                self.take(queue, letter, call.unit)
                return

    def answer(self, reader: Reader, call: Call, status: int, letter: Letter | None = None) -> None:
        assert call.due is None
        call.due = status, None if letter is None else letter.label
        self.stop(call.timer)
        if reader.waiting is call:
            reader.waiting = None

    def take(self, queue: int, letter: Letter, unit: Unit | None) -> None:
        assert letter.free
        letter.free = False
        if unit is None:
            self.deliver(queue, letter)
        else:
            unit.steps.append((False, queue, letter))

    def deliver(self, queue: int, letter: Letter) -> None:
        self.stop(letter.timer)
        self.letters[queue].remove(letter)
        self.delivered.append(letter.label)
        if self.journaling[queue]:
            self.journals[queue].append(letter)

    def purge(self, queue: int) -> None:
        for letter in list(self.letters[queue]):
            if letter.free:
                self.lose(queue, letter)
            else:
                letter.purged = True

    def commit(self, identifier: bytes) -> None:
        for sends, queue, letter in self.units.pop(identifier).steps:
            (self.arrive if sends else self.deliver)(queue, letter)

    def abort(self, identifier: bytes) -> None:
        for sends, queue, letter in self.units.pop(identifier).steps:
            (self.lose if sends or letter.purged else self.arrive)(queue, letter)

    def behind(self, reader: Reader) -> Letter | None:
        """The first letter that can be had behind the place of a reader."""
        letters = self.letters[reader.queue]
        return next(
            (one for one in letters if one.free and (reader.place is None or one.place > reader.place)), None
        )

    def receive(self, reader: Reader, call: Call, milliseconds: int) -> None:
        if reader.waiting is not None:
            self.answer(reader, call, ALREADY_RECEIVED if milliseconds else MESSAGE_NOT_FOUND)
            return
        if reader.read is not None and not reader.read.free:
            self.answer(reader, call, ALREADY_RECEIVED)
            return
        found = self.behind(reader) if reader.read is None else reader.read
        if found is not None:
            reader.place, reader.read = found.place, None
            self.answer(reader, call, OK, found)
            self.take(reader.queue, found, call.unit)
        elif milliseconds:
            self.await_arrival(reader, call, milliseconds)
        else:
            self.answer(reader, call, MESSAGE_NOT_FOUND)

    def peek(self, reader: Reader, call: Call, milliseconds: int, *, onwards: bool) -> None:
        if onwards and (reader.read is None or reader.waiting is not None):
            self.answer(reader, call, ILLEGAL_CURSOR_ACTION)
            return
        if reader.waiting is not None or (not onwards and reader.read is not None and not reader.read.free):
            self.answer(reader, call, ALREADY_RECEIVED)
            return
        found = reader.read if reader.read is not None and not onwards else self.behind(reader)
        if found is not None:
            reader.place, reader.read = found.place, found
            self.answer(reader, call, OK, found)
        elif milliseconds:
            self.await_arrival(reader, call, milliseconds)
        else:
            self.answer(reader, call, IO_TIMEOUT)

    def await_arrival(self, reader: Reader, call: Call, milliseconds: int) -> None:
        reader.waiting = call

        def too_late() -> None:
            self.answer(reader, call, IO_TIMEOUT)
            if call.takes:
                # Behind what is the last letter now.
                reader.place = max((one.place for one in self.letters[reader.queue]), default=None)

        call.timer = self.start(milliseconds, too_late)

    def close(self, reader: Reader) -> None:
        self.readers.remove(reader)
        if reader.waiting is not None:
            self.answer(reader, reader.waiting, CANCELLED)


class Objects(RuleBasedStateMachine):
    """MSMQQueue objects that open, peek, receive and close, beside others who send, receive and purge."""

    def __init__(self) -> None:
        super().__init__()
        self.manager = make_manager()
        self.queues: list[Queue] = [make_queue(self.manager, f"q{number}") for number in range(QUEUES)]
        self.ledger = Ledger()
        self.calls: list[Call] = []
        self.closed: list[MsmqQueue] = []
        self.internal: dict[bytes, MsmqTransaction] = {}
        self.ended: list[MsmqTransaction] = []
        self.begun = 0
        self.others = [self._open(number, QueueAccessType.RECEIVE_ACCESS) for number in range(QUEUES)]

    def _open(self, queue: int, access: QueueAccessType) -> OpenQueueDescriptor:
        return open_descriptor(self.manager, format_name(self.queues[queue]), access)

    def _reader(self, pick: int) -> Reader:
        return self.ledger.readers[pick % len(self.ledger.readers)]

    def _call(self, takes: bool) -> Call:
        call = Call(takes)
        self.calls.append(call)
        return call

    @initialize(queues=st.lists(st.integers(0, QUEUES - 1), min_size=1, max_size=3))
    def open_some(self, queues: list[int]) -> None:
        for queue in queues:
            self.open(queue, True)

    @precondition(lambda self: len(self.ledger.readers) < 5)
    @rule(queue=st.integers(0, QUEUES - 1), receives=st.sampled_from([True, True, True, False]))
    def open(self, queue: int, receives: bool) -> None:
        access = QueueAccessType.RECEIVE_ACCESS if receives else QueueAccessType.PEEK_ACCESS
        descriptor = self._open(queue, access)
        opened = open_msmq_queue(self.manager, descriptor)
        self.ledger.readers.append(Reader(queue, receives, opened, descriptor))

    @precondition(lambda self: self.ledger.readers)
    @rule(pick=picks)
    def close(self, pick: int) -> None:
        reader = self._reader(pick)
        self.ledger.close(reader)
        close_queue(self.manager, reader.descriptor)
        reader.model.is_closed = True
        self.closed.append(reader.model)

    @rule(
        queue=st.integers(0, QUEUES - 1),
        priority=st.integers(2, 4),
        seconds=st.sampled_from([None, None, 1, 3]),
        pick=st.none() | picks,
    )
    def send(self, queue: int, priority: int, seconds: int | None, pick: int | None) -> None:
        label = f"{len(self.ledger.sent)}"
        identifier = None
        if pick is not None and self.ledger.units:
            identifier = list(self.ledger.units)[pick % len(self.ledger.units)]
        message = ModelMessage(
            properties=MessageProperties(body=label.encode()),
            priority=priority,
            size=100 + len(label),
            time_to_be_received=INFINITE if seconds is None else seconds,
            label=label,
        )
        unit = None if identifier is None else self.ledger.units[identifier]
        self.ledger.send(queue, label, priority, seconds, unit)
        transaction = None if identifier is None else self.manager.transaction_collection[identifier]
        assert enqueue_message(self.queues[queue], message, transaction) == OK

    @rule()
    def begin(self) -> None:
        self.begun += 1
        identifier = b"internal %07d" % self.begun
        self.internal[identifier] = MsmqTransaction(transaction=create_transaction(self.manager, identifier))
        self.ledger.units[identifier] = Unit()

    @precondition(lambda self: self.ledger.units)
    @rule(pick=picks, commits=st.booleans())
    def end(self, pick: int, commits: bool) -> None:
        identifier = list(self.ledger.units)[pick % len(self.ledger.units)]
        if identifier in self.internal:
            one = self.internal.pop(identifier)
            one.ended = True
            self.ended.append(one)
        (self.ledger.commit if commits else self.ledger.abort)(identifier)
        assert (transaction_commit if commits else transaction_abort)(self.manager, identifier) == OK

    @precondition(lambda self: self.ledger.readers)
    @rule(
        pick=picks,
        wait=st.sampled_from(WAITS),
        kind=st.sampled_from(["default", 0, 1, 2, 3, "object", "ended"]),
        context=st.sampled_from([None, *CONTEXTS]),
        which=picks,
        wants=st.tuples(st.booleans(), st.booleans()),
    )
    def receive(
        self,
        pick: int,
        wait: tuple[Argument, int],
        kind: int | str,
        context: bytes | None,
        which: int,
        wants: tuple[bool, bool],
    ) -> None:
        reader, call = self._reader(pick), self._call(True)
        argument: Argument = NOT_SPECIFIED
        identifier = context if kind in ("default", 1, 2) else None
        if isinstance(kind, int):
            argument = VariantType.VT_I4, kind
        elif kind == "object" and self.internal:
            identifier = list(self.internal)[which % len(self.internal)]
            argument = VariantType.VT_DISPATCH, self.internal[identifier]
        elif kind == "ended":
            old = self.ended[which % len(self.ended)] if self.ended else MsmqTransaction()
            argument = VariantType.VT_DISPATCH, old
        elif kind == "object":
            argument = VariantType.VT_I4, 0
        if not reader.receives:
            call.due = ACCESS_DENIED, None
        elif kind == "ended":
            call.due = TRANSACTION_USAGE, None
        else:
            if identifier is not None:
                call.unit = self.ledger.units.setdefault(identifier, Unit())
            self.ledger.receive(reader, call, wait[1])

        def done(status: int, got: MsmqMessage | None) -> None:
            call.given.append((status, None if got is None else got.message.label))
            if got is not None:
                assert got.body == (got.message.label.encode() if wants[0] else None)
                assert got.want_destination_queue is wants[1]

        receive_current_v1(
            self.manager,
            reader.model,
            done,
            transaction=argument,
            want_destination_queue=(VariantType.VT_BOOL, -1 if wants[1] else 0),
            want_body=(VariantType.VT_BOOL, -1 if wants[0] else 0),
            receive_timeout=wait[0],
            context_transaction=context,
        )

    @precondition(lambda self: self.closed)
    @rule(pick=picks)
    def receive_from_a_closed_object(self, pick: int) -> None:
        call = self._call(True)
        call.due = INVALID_HANDLE, None
        one = self.closed[pick % len(self.closed)]
        receive_current_v1(self.manager, one, lambda status, _: call.given.append((status, None)))

    @precondition(lambda self: self.ledger.readers)
    @rule(pick=picks, wait=st.sampled_from(WAITS), onwards=st.booleans())
    def peek(self, pick: int, wait: tuple[Argument, int], onwards: bool) -> None:
        reader, call = self._reader(pick), self._call(False)
        self.ledger.peek(reader, call, wait[1], onwards=onwards)

        def done(status: int, message: ModelMessage | None) -> None:
            call.given.append((status, None if message is None else message.label))

        if onwards:
            peek_next_message(reader.descriptor, reader.model.cursor, done, timeout=wait[1])
        else:
            peek_message(reader.descriptor, done, cursor=reader.model.cursor, timeout=wait[1])

    @precondition(lambda self: any(self._has_read(one) for one in self.ledger.readers))
    @rule(pick=picks, purged=st.booleans(), wait=st.sampled_from(WAITS))
    def receive_what_has_gone(self, pick: int, purged: bool, wait: tuple[Argument, int]) -> None:
        found = [number for number, one in enumerate(self.ledger.readers) if self._has_read(one)]
        number = found[pick % len(found)]
        queue, letter = self.ledger.readers[number].queue, self.ledger.readers[number].read
        assert letter is not None
        while letter.free:
            (self.purge if purged else self.another_application_receives)(queue)
        self.receive(number, wait, 0, None, 0, (True, True))

    @staticmethod
    def _has_read(reader: Reader) -> bool:
        return reader.receives and reader.read is not None and reader.waiting is None

    @precondition(lambda self: self._held_up())
    @rule(pick=picks, commits=st.booleans(), priority=st.integers(2, 4))
    def end_what_somebody_waits_in(self, pick: int, commits: bool, priority: int) -> None:
        held_up = self._held_up()
        queue, number = held_up[pick % len(held_up)]
        self.end(number, commits)
        self.send(queue, priority, None, None)

    def _held_up(self) -> list[tuple[int, int]]:
        """Queue and transaction, by their numbers, of those who wait to receive in one."""
        units = list(self.ledger.units.values())
        waiting = [(one.queue, one.waiting) for one in self.ledger.readers if one.waiting is not None]
        return [(queue, units.index(call.unit)) for queue, call in waiting if call.unit in units]

    @rule(queue=st.integers(0, QUEUES - 1))
    def another_application_receives(self, queue: int) -> None:
        call = self._call(True)
        first = next((one for one in self.ledger.letters[queue] if one.free), None)
        call.due = (IO_TIMEOUT, None) if first is None else (OK, first.label)
        if first is not None:
            self.ledger.take(queue, first, None)

        def done(status: int, message: ModelMessage | None) -> None:
            call.given.append((status, None if message is None else message.label))

        dequeue_message(self.others[queue], done, timeout=0)

    @rule(queue=st.integers(0, QUEUES - 1))
    def purge(self, queue: int) -> None:
        self.ledger.purge(queue)
        purge_queue(self.queues[queue])

    @rule(queue=st.integers(0, QUEUES - 1))
    def switch_journaling(self, queue: int) -> None:
        self.ledger.journaling[queue] = not self.ledger.journaling[queue]
        self.queues[queue].journaling = self.ledger.journaling[queue]

    @rule(milliseconds=st.sampled_from([0, 1, 499, 1000, 1500, 2500]))
    def wait(self, milliseconds: int) -> None:
        self.ledger.wait(milliseconds)
        pass_time(self.manager, milliseconds)

    @invariant()
    def every_call_gave_once_what_it_must(self) -> None:
        for call in self.calls:
            assert call.given == ([] if call.due is None else [call.due])
        self.calls = [call for call in self.calls if call.due is None]

    @invariant()
    def every_message_is_in_one_place_and_in_order(self) -> None:
        held: list[str] = []
        for number, queue in enumerate(self.queues):
            letters = self.ledger.letters[number]
            assert [
                (one.message_reference.label, one.state is PositionState.AVAILABLE)
                for one in queue.message_position_list
            ] == [(one.label, one.free) for one in letters]
            held += [one.label for one in letters]
            counted = [one for one in queue.message_position_list if one.counted]
            assert queue.total_bytes == sum(one.message_reference.size for one in counted)
            assert queue.journal_queue_reference is not None
            journal = sorted(self.ledger.journals[number], key=lambda one: one.place[0])
            assert [
                one.message_reference.label for one in queue.journal_queue_reference.message_position_list
            ] == [one.label for one in journal]
        assert sorted(held + self.ledger.delivered + self.ledger.gone) == sorted(self.ledger.sent)

    @invariant()
    def every_cursor_keeps_its_place(self) -> None:
        for reader in self.ledger.readers:
            cursor = reader.model.cursor
            assert cursor is not None
            here: Any = cursor.message_position_reference
            label = None if isinstance(here, str) else here.message_reference.label
            place = None if label is None else (-here.priority, self.ledger.sent.index(label))
            assert place == reader.place
            waiting = "WaitReceive" if reader.waiting is not None and reader.waiting.takes else "WaitPeek"
            still = "Unread" if reader.read is None else "Read"
            assert cursor.cursor_state.value == (still if reader.waiting is None else waiting)

    @invariant()
    def nothing_is_left_behind(self) -> None:
        assert self.manager.timers.running == len(self.ledger.timers)
        assert list(self.manager.transaction_collection) == list(self.ledger.units)
        assert len(self.manager.cursors) == len(self.ledger.readers)
        assert len(self.manager.descriptors) == len(self.ledger.readers) + QUEUES
        for reader in self.ledger.readers:
            waiting = reader.descriptor.waiting_message_read_operation_collection
            assert len(waiting) == (reader.waiting is not None)

    def teardown(self) -> None:
        while self.ledger.units:
            self.end(0, False)
        while self.ledger.readers:
            self.close(0)
        self.every_call_gave_once_what_it_must()
        assert self.calls == []
        for number in range(QUEUES):
            self.purge(number)
        self.every_message_is_in_one_place_and_in_order()
        self.nothing_is_left_behind()
        assert self.manager.timers.running == 0
        assert sorted(self.ledger.delivered + self.ledger.gone) == sorted(self.ledger.sent)
        assert len(set(self.ledger.delivered)) == len(self.ledger.delivered)
        assert [queue.total_bytes for queue in self.queues] == [0] * QUEUES


TestObjects = Objects.TestCase
TestObjects.settings = settings(stateful_step_count=30)
