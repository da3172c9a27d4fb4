"""Events of slots, waits, timers and seeks, rule by rule. [MS-MQDMPR] 3.1.2, 3.1.6.3, 3.1.7.2, 3.1.7.3"""

from __future__ import annotations

import pytest

from msmq_wire.lab.model.data.elements import MessagePosition, ModelMessage, Queue
from msmq_wire.lab.model.data.enumerations import CursorState, MessageSeekAction, PositionState
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.cursor import get_next_message_for_peek, open_cursor
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.message import dequeue_message, peek_message
from msmq_wire.lab.model.events.position import (
    message_position_available,
    message_position_deleted,
    time_to_be_received_timer_expired,
    wait_for_new_message,
)
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.lab.model.events.seeking import (
    seek_available_message_position,
    seek_available_message_position_with_id,
)
from msmq_wire.lab.model.events.transaction import transaction_commit
from msmq_wire.rpc.statuses import Status
from tests.lab.model.events.scene import Place, Told, opened, operations
from tests.lab.model.scene import START, labels, make_manager, make_queue, pass_time, position, put, states
from tests.rules import rule_table

SECOND = 1000
NACK_RECEIVE_TIMEOUT = 0xC002
LOCKED = PositionState.LOCKED


@pytest.mark.rule("MQDMPR-3.1.7.1.17-1", "MQDMPR-3.1.7.1.17-2", "MQDMPR-3.1.7.1.17-3", "MQDMPR-3.1.7.1.17-4")
def test_one_waiting_read_with_the_tag_is_called_off(place: Place) -> None:
    foreign = opened(place.queue)
    first, second, other, untagged = Told(), Told(), Told(), Told()
    dequeue_message(place.descriptor, untagged)
    dequeue_message(foreign, other, tag=5)
    dequeue_message(place.descriptor, first, tag=5, timeout=SECOND)
    dequeue_message(place.descriptor, second, tag=5)
    assert place.cancel(5, 0x400E03E9) == Status.MQ_OK
    assert first.got == [(0x400E03E9, None)]
    assert second.got == other.got == untagged.got == []
    assert len(place.waiting) == 2
    assert place.manager.timers.running == 0


@pytest.mark.rule("MQDMPR-3.1.7.1.17-5")
def test_no_waiting_read_has_the_tag(place: Place) -> None:
    dequeue_message(place.descriptor, place.reported)
    assert place.cancel(5) == Status.STATUS_NOT_FOUND
    assert place.reported.got == []


@pytest.mark.rule("MQDMPR-3.1.7.2.1-1", "MQDMPR-3.1.7.2.1-2", "MQDMPR-3.1.7.2.1-3", "MQDMPR-3.1.7.2.1-4")
def test_a_message_that_leaves_is_counted_off_and_told(place: Place) -> None:
    first, second = put(place.queue, b"a"), put(place.queue, b"b")
    cursor = open_cursor(place.descriptor)
    assert cursor is not None
    cursor.cursor_state, cursor.message_position_reference = CursorState.READ, position(first)
    message_position_deleted(position(first), 0x4000)
    assert (place.queue.total_bytes, place.gone) == (second.size, [0x4000])
    assert (position(first).state, labels(place.queue)) == (PositionState.DELETED, ["b"])
    assert get_next_message_for_peek(cursor) == ("Succeeded", position(second))


@pytest.mark.rule("MQDMPR-3.1.7.2.2-1", "MQDMPR-3.1.7.2.2-2", "MQDMPR-3.1.7.2.2-6")
def test_a_message_is_counted_once_however_often_it_comes_back(place: Place) -> None:
    message = put(place.queue, b"a")
    for _ in range(3):
        position(message).state = LOCKED
        message_position_available(place.queue, position(message))
    assert (place.queue.total_bytes, states(place.queue)) == (message.size, ["Available"])


@pytest.mark.rule("MQDMPR-3.1.7.2.2-3", "MQDMPR-3.1.7.2.2-4")
def test_who_waits_is_served_opening_by_opening_until_one_takes_the_message(place: Place) -> None:
    first, second = opened(place.queue), opened(place.queue)
    order: list[str] = []
    dequeue_message(second, lambda status, message: order.append("second opening"))
    dequeue_message(first, lambda status, message: order.append("first opening, first"))
    dequeue_message(first, lambda status, message: order.append("first opening, second"))
    put(place.queue, b"a")
    assert order == ["first opening, first"]
    put(place.queue, b"b")
    put(place.queue, b"c")
    assert order == ["first opening, first", "first opening, second", "second opening"]
    assert labels(place.queue) == []


@pytest.mark.rule("MQDMPR-3.1.7.2.2-5", "MQDMPR-3.1.7.3.6-1", "MQDMPR-3.1.7.3.7-1", "MQDMPR-3.1.7.3.7-2")
def test_those_who_peek_let_the_next_reader_in(place: Place) -> None:
    reported = [Told(), Told(), Told()]
    peek_message(place.descriptor, reported[0])
    peek_message(place.descriptor, reported[1])
    dequeue_message(place.descriptor, reported[2])
    put(place.queue, b"a")
    assert [one.got for one in reported] == [[(Status.MQ_OK, "a")]] * 3
    peek_message(place.descriptor, reported[0])
    put(place.queue, b"b")
    assert labels(place.queue) == ["b"]


@pytest.mark.rule("MQDMPR-3.1.7.2.7-1")
def test_a_held_message_expires_when_it_is_put_back(place: Place) -> None:
    message = put(place.queue, b"a", time_to_be_received=5)
    place.dequeue(two_phase_read=True)
    pass_time(place.manager, 6 * SECOND)
    assert (states(place.queue), place.gone) == (["Locked"], [])
    place.end(message, delete=False)
    assert (states(place.queue), place.gone) == ([], [NACK_RECEIVE_TIMEOUT])


@pytest.mark.rule("MQDMPR-3.1.7.2.7-2", "MQDMPR-3.1.7.2.7-3")
def test_a_message_that_expires_in_its_transaction_goes_with_it(place: Place) -> None:
    message = ModelMessage(label="a", time_to_be_received=5, transaction_identifier=place.unit.identifier)
    enqueue_message(place.queue, message, place.unit)
    pass_time(place.manager, 5 * SECOND)
    assert states(place.queue) == ["Locked"]
    assert operations(place.unit) == [("Enqueue", "a", None), ("Dequeue", "a", NACK_RECEIVE_TIMEOUT)]
    transaction_commit(place.manager, place.unit.identifier)
    assert (states(place.queue), place.gone) == ([], [NACK_RECEIVE_TIMEOUT])


@rule_table(
    "identifier",
    ("MQDMPR-3.1.7.2.7-4", b"x" * 16),
    ("MQDMPR-3.1.7.2.7-5", b""),
)
def test_a_message_that_nobody_holds_expires(place: Place, identifier: bytes) -> None:
    message = ModelMessage(label="a", transaction_identifier=identifier)
    enqueue_message(place.queue, message)
    time_to_be_received_timer_expired(message)
    assert (states(place.queue), place.gone) == ([], [NACK_RECEIVE_TIMEOUT])


@pytest.mark.rule("MQDMPR-3.1.2.4-1")
def test_a_message_without_an_end_has_no_timer(place: Place) -> None:
    put(place.queue, b"a", time_to_be_received=INFINITE)
    assert place.manager.timers.running == 0


@pytest.mark.rule("MQDMPR-3.1.2.4-2", "MQDMPR-3.1.2.4-4")
def test_the_time_to_be_received_counts_from_when_a_message_was_sent(place: Place) -> None:
    enqueue_message(place.queue, ModelMessage(sent_time=START - 3, time_to_be_received=10))
    pass_time(place.manager, 7 * SECOND - 1)
    assert states(place.queue) == ["Available"]
    pass_time(place.manager, 1)
    assert (states(place.queue), place.gone) == ([], [NACK_RECEIVE_TIMEOUT])


@pytest.mark.rule("MQDMPR-3.1.2.4-3")
@pytest.mark.parametrize("sent", [0, START, START - 99])
def test_a_message_without_time_to_be_received_expires_at_once(place: Place, sent: int) -> None:
    enqueue_message(place.queue, ModelMessage(sent_time=sent, time_to_be_received=0))
    pass_time(place.manager, 0)
    assert states(place.queue) == []


@pytest.mark.rule("MQDMPR-3.1.2.4-5")
def test_a_message_that_is_gone_does_not_expire(place: Place) -> None:
    put(place.queue, b"a", time_to_be_received=5)
    place.dequeue()
    pass_time(place.manager, 9 * SECOND)
    assert place.gone == [0x4000]


@rule_table(
    "deleted, timeout, status",
    ("MQDMPR-3.1.7.3.1-1", True, SECOND, Status.MQ_ERROR_QUEUE_NOT_AVAILABLE),
    ("MQDMPR-3.1.7.3.1-2", False, 0, Status.MQ_ERROR_IO_TIMEOUT),
    pytest.param("", False, -1, Status.MQ_ERROR_IO_TIMEOUT, id="less than nothing"),
)
def test_nothing_is_waited_for(place: Place, deleted: bool, timeout: int, status: int) -> None:
    if deleted:
        delete_queue(place.manager, place.queue)
    got: list[int] = []
    wait_for_new_message(
        place.descriptor,
        timeout,
        destructive_read=True,
        tag=None,
        cursor=None,
        satisfied=lambda slot: got.append(-1),
        stopped=got.append,
    )
    assert got == [status]
    assert place.waiting == []


class Wait(Place):
    """Wait For New Message on a new queue."""

    def __init__(self, timeout: int = SECOND) -> None:
        super().__init__()
        self.found: list[MessagePosition] = []
        self.stopped: list[int] = []
        peek_message(self.descriptor, Told())
        wait_for_new_message(
            self.descriptor,
            timeout,
            destructive_read=False,
            tag=6,
            cursor=self.cursor,
            satisfied=self.found.append,
            stopped=self.stopped.append,
        )


@pytest.mark.rule("MQDMPR-3.1.7.3.1-3", "MQDMPR-3.1.7.3.1-4", "MQDMPR-3.1.7.3.1-5", "MQDMPR-3.1.7.3.4-1")
@pytest.mark.rule("MQDMPR-3.1.2.3-1")
def test_who_waits_stands_behind_those_who_waited_before() -> None:
    wait = Wait()
    _, reader = wait.waiting
    assert (reader.destructive_read, reader.tag, reader.cursor_reference) == (False, 6, wait.cursor)
    assert wait.manager.timers.next_due == SECOND


@pytest.mark.rule("MQDMPR-3.1.7.3.1-6", "MQDMPR-3.1.7.3.1-9", "MQDMPR-3.1.7.3.5-1", "MQDMPR-3.1.6.3-1")
@pytest.mark.rule("MQDMPR-3.1.2.3-2")
def test_a_wait_ends_when_its_time_has_passed() -> None:
    wait = Wait()
    pass_time(wait.manager, SECOND - 1)
    assert wait.stopped == []
    pass_time(wait.manager, 1)
    assert wait.stopped == [Status.MQ_ERROR_IO_TIMEOUT]
    assert len(wait.waiting) == 1


@pytest.mark.rule("MQDMPR-3.1.7.3.5-2")
def test_a_wait_that_is_called_off_has_no_timer_any_more() -> None:
    wait = Wait()
    wait.cancel(6, 0x400E03E9)
    assert (wait.stopped, wait.manager.timers.running) == ([0x400E03E9], 0)


@pytest.mark.rule("MQDMPR-3.1.7.3.1-7", "MQDMPR-3.1.7.3.1-8")
def test_a_wait_ends_with_a_message() -> None:
    wait = Wait()
    message = put(wait.queue, b"a")
    assert (wait.found, wait.stopped) == ([position(message)], [])
    assert wait.manager.timers.running == 0
    assert wait.waiting == []


@pytest.mark.rule("MQDMPR-3.1.2.3-3")
def test_a_wait_without_end_does_not_end() -> None:
    wait = Wait(INFINITE)
    pass_time(wait.manager, 2 * INFINITE)
    assert (wait.found, wait.stopped) == ([], [])


def filled(slots: str) -> tuple[Queue, list[MessagePosition]]:
    """A queue with a slot for each letter: a available, l locked, L locked and peekable, p to be purged."""
    queue = make_queue(make_manager())
    made = []
    for letter in slots:
        message = put(queue, letter.encode())
        message.allow_peek_when_locked = letter == "L"
        slot = position(message)
        slot.state = {"a": PositionState.AVAILABLE, "p": PositionState.PURGE_PENDING}.get(letter, LOCKED)
        made.append(slot)
    return queue, made


@rule_table(
    "slots, place, forward, peek, found",
    ("MQDMPR-3.1.7.3.2-2 MQDMPR-3.1.7.3.2-5", "aa", "start", True, False, 0),
    ("MQDMPR-3.1.7.3.2-3 MQDMPR-3.1.7.3.2-15", "aa", 0, True, False, 1),
    ("MQDMPR-3.1.7.3.2-6", "aLa", 0, True, True, 1),
    ("MQDMPR-3.1.7.3.2-7", "aLla", 0, True, False, 3),
    ("MQDMPR-3.1.7.3.2-8", "alp", 0, True, True, None),
    pytest.param("", "aa", "end", True, False, None, id="nothing is behind the end"),
    ("MQDMPR-3.1.7.3.2-9 MQDMPR-3.1.7.3.2-11", "aa", "end", False, False, 1),
    ("MQDMPR-3.1.7.3.2-10", "aa", 1, False, False, 0),
    ("MQDMPR-3.1.7.3.2-12", "aLa", 2, False, True, 1),
    ("MQDMPR-3.1.7.3.2-13", "aLla", 3, False, False, 0),
    ("MQDMPR-3.1.7.3.2-14", "lpa", 2, False, False, None),
    ("MQDMPR-3.1.7.3.2-16", "", "start", True, True, None),
)
def test_a_walk_over_the_slots(
    slots: str, place: int | str, forward: bool, peek: bool, found: int | None
) -> None:
    queue, made = filled(slots)
    initial = made[place] if isinstance(place, int) else place
    got = seek_available_message_position(queue, initial, peek_operation=peek, forward=forward)  # type: ignore[arg-type]  # "start" and "end" by their text
    assert got is (None if found is None else made[found])


@pytest.mark.rule("MQDMPR-3.1.7.3.2-1")
def test_a_walk_goes_forward_unless_told_otherwise() -> None:
    queue, made = filled("aaa")
    assert seek_available_message_position(queue, made[1], peek_operation=False) is made[2]


FIRST, LAST = MessageSeekAction.SEEK_FIRST, MessageSeekAction.SEEK_LAST
PREVIOUS, NEXT = MessageSeekAction.SEEK_PREVIOUS, MessageSeekAction.SEEK_NEXT
CURRENT = MessageSeekAction.SEEK_CURRENT
NOT_FOUND, IN_USE = Status.MQ_ERROR_MESSAGE_NOT_FOUND, Status.MQ_ERROR_TRANSACTION_USAGE


@rule_table(
    "slots, at, action, peek, found",
    ("MQDMPR-3.1.7.3.3-1", "aa", None, CURRENT, True, NOT_FOUND),
    pytest.param("", "aa", None, NEXT, True, NOT_FOUND, id="next of nothing"),
    pytest.param("", "aa", None, PREVIOUS, True, NOT_FOUND, id="previous of nothing"),
    ("MQDMPR-3.1.7.3.3-2 MQDMPR-3.1.7.3.3-3", "Laa", None, FIRST, False, 1),
    pytest.param("", "Laa", 2, FIRST, True, 0, id="first, whatever the identifier"),
    ("MQDMPR-3.1.7.3.3-4 MQDMPR-3.1.7.3.3-5", "aLa", 2, PREVIOUS, False, 0),
    ("MQDMPR-3.1.7.3.3-6", "aaa", 1, CURRENT, False, 1),
    ("MQDMPR-3.1.7.3.3-7", "L", 0, CURRENT, True, 0),
    ("MQDMPR-3.1.7.3.3-8", "l", 0, CURRENT, True, IN_USE),
    ("MQDMPR-3.1.7.3.3-10", "L", 0, CURRENT, False, NOT_FOUND),
    pytest.param("", "p", 0, CURRENT, True, NOT_FOUND, id="to be purged"),
    ("MQDMPR-3.1.7.3.3-11 MQDMPR-3.1.7.3.3-12", "ala", 0, NEXT, True, 2),
    ("MQDMPR-3.1.7.3.3-13 MQDMPR-3.1.7.3.3-14", "aal", None, LAST, True, 1),
    ("MQDMPR-3.1.7.3.3-15", "", None, FIRST, True, NOT_FOUND),
    pytest.param("", "", None, LAST, True, NOT_FOUND, id="no last one"),
    pytest.param("", "a", 0, NEXT, True, NOT_FOUND, id="none behind the last one"),
    pytest.param("", "a", 0, PREVIOUS, True, NOT_FOUND, id="none before the first one"),
)
def test_a_lookup_among_the_slots(
    slots: str, at: int | None, action: MessageSeekAction, peek: bool, found: int
) -> None:
    queue, made = filled(slots)
    identifier = 99 if at is None else made[at].message_reference.lookup_identifier
    got = seek_available_message_position_with_id(queue, identifier, action, peek_operation=peek)
    assert got == ((Status.MQ_OK, made[found]) if found < 99 else (found, None))
