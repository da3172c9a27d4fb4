"""Events that look at messages, and cursors, rule by rule. [MS-MQDMPR] 3.1.7.1.1, .2, .14, .15, 3.2.7"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from msmq_wire.lab.model.data.elements import Cursor
from msmq_wire.lab.model.data.enumerations import CursorState, PositionState
from msmq_wire.lab.model.events.cursor import (
    get_message_for_peek,
    get_next_message_for_dequeue,
    get_next_message_for_peek,
    message_available,
    open_cursor,
    wait_time_expired,
)
from msmq_wire.lab.model.events.message import peek_message, peek_next_message
from msmq_wire.lab.model.events.position import close_cursor
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.rpc.statuses import Status
from tests.lab.model.events.scene import Place, Told
from tests.lab.model.scene import labels, pass_time, position, put
from tests.rules import rule_table

SECOND = 1000
UNREAD, READ = CursorState.UNREAD, CursorState.READ
WAIT_PEEK, WAIT_RECEIVE = CursorState.WAIT_PEEK, CursorState.WAIT_RECEIVE


@pytest.mark.rule("MQDMPR-3.1.7.1.1-1", "MQDMPR-3.2.7.1-1")
def test_a_deleted_queue_has_no_cursors() -> None:
    place = Place()
    delete_queue(place.manager, place.queue)
    assert open_cursor(place.descriptor) is None
    assert place.manager.cursors == {}


@pytest.mark.rule("MQDMPR-3.1.7.1.1-2", "MQDMPR-3.1.7.1.1-3", "MQDMPR-3.1.7.1.1-4", "MQDMPR-3.2.7.1-2")
@pytest.mark.rule("MQDMPR-3.2.7.1-3", "MQDMPR-3.2.7.1-4", "MQDMPR-3.2.7.1-5")
def test_a_new_cursor_stands_before_the_first_message() -> None:
    place = Place(b"a")
    other = open_cursor(place.descriptor)
    assert other is not None
    assert other.handle != place.cursor.handle
    assert place.descriptor.cursor_collection == [place.cursor, other]
    assert other.open_queue_descriptor_reference is place.descriptor
    assert (other.message_position_reference, other.cursor_state) == ("start", UNREAD)


@pytest.mark.rule("MQDMPR-3.1.7.1.2-1", "MQDMPR-3.1.7.1.2-2", "MQDMPR-3.1.7.1.2-3")
def test_closing_a_cursor_ends_its_waiting_read_and_no_other() -> None:
    place = Place()
    mine, plain = place.dequeue(cursor=place.cursor), place.dequeue()
    close_cursor(place.cursor)
    assert (mine.got, plain.got) == ([(Status.MQ_ERROR_OPERATION_CANCELLED, None)], [])
    assert (place.descriptor.cursor_collection, place.manager.cursors) == ([], {})
    put(place.queue, b"a")
    assert plain.got == [(Status.MQ_OK, "a")]


Peek = Callable[..., Told]


def peek_here(place: Place, **how: Any) -> Told:
    reported = Told()
    peek_message(place.descriptor, reported, cursor=place.cursor, **how)
    return reported


def peek_next(place: Place, **how: Any) -> Told:
    reported = Told()
    peek_next_message(place.descriptor, place.cursor, reported, **how)
    return reported


def peek_plain(place: Place, **how: Any) -> Told:
    reported = Told()
    peek_message(place.descriptor, reported, **how)
    return reported


@rule_table(
    "peek",
    ("MQDMPR-3.1.7.1.14-1", peek_next),
    ("MQDMPR-3.1.7.1.15-1", peek_here),
)
def test_nothing_is_peeked_at_in_a_deleted_queue(peek: Peek) -> None:
    place = Place(b"a")
    delete_queue(place.manager, place.queue)
    reported = peek(place)
    assert reported.got == [(Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None)]


@rule_table(
    "peek, before",
    ("MQDMPR-3.1.7.1.14-2", peek_next, READ),
    ("MQDMPR-3.1.7.1.15-2", peek_plain, UNREAD),
)
def test_a_peek_without_a_timeout_waits_without_end(peek: Peek, before: CursorState) -> None:
    place = Place()
    place.cursor.cursor_state = before
    reported = peek(place)
    pass_time(place.manager, 10**12)
    assert reported.got == []


@pytest.mark.rule("MQDMPR-3.1.7.1.14-3", "MQDMPR-3.1.7.1.14-5")
def test_a_peek_at_the_next_message_moves_the_cursor() -> None:
    place = Place(b"a", b"b")
    assert peek_here(place).got == [(Status.MQ_OK, "a")]
    assert peek_next(place).got == [(Status.MQ_OK, "b")]
    assert place.standing == (READ, place.slots[1])


@pytest.mark.rule("MQDMPR-3.1.7.1.14-4")
def test_a_peek_at_the_next_message_needs_a_cursor() -> None:
    place = Place(b"a")
    reported = Told()
    peek_next_message(place.descriptor, None, reported)
    assert reported.got == [(Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION, None)]


@pytest.mark.rule("MQDMPR-3.1.7.1.14-6", "MQDMPR-3.2.7.3-1")
def test_a_cursor_that_has_read_nothing_has_no_next_message() -> None:
    place = Place(b"a")
    assert peek_next(place).got == [(Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION, None)]
    assert place.standing == (UNREAD, "start")


@rule_table(
    "peek, before",
    (
        (
            "MQDMPR-3.1.7.1.14-7 MQDMPR-3.1.7.1.14-8 MQDMPR-3.1.7.1.14-9 MQDMPR-3.1.7.1.14-10 "
            "MQDMPR-3.1.7.1.14-11"
        ),
        peek_next,
        READ,
    ),
    (
        (
            "MQDMPR-3.1.7.1.15-6 MQDMPR-3.1.7.1.15-7 MQDMPR-3.1.7.1.15-8 MQDMPR-3.1.7.1.15-9 "
            "MQDMPR-3.1.7.1.15-10"
        ),
        peek_here,
        UNREAD,
    ),
    ("MQDMPR-3.1.7.1.15-13 MQDMPR-3.1.7.1.15-14", peek_plain, None),
)
def test_a_peek_that_waited_lets_the_next_reader_in(peek: Peek, before: CursorState | None) -> None:
    place = Place()
    if before is not None:
        place.cursor.cursor_state = before
    reported = peek(place, timeout=9 * SECOND)
    (reader,) = place.waiting
    assert (reader.destructive_read, reader.tag) == (False, None)
    assert reader.cursor_reference is (place.cursor if before is not None else None)
    assert place.manager.timers.next_due == 9 * SECOND
    behind = place.dequeue()
    slot = position(put(place.queue, b"a"))
    assert reported.got == behind.got == [(Status.MQ_OK, "a")]
    if before is not None:
        assert place.standing == (READ, slot)
    assert labels(place.queue) == []
    assert place.manager.timers.running == 0


@pytest.mark.parametrize("cancelled", [False, True])
@rule_table(
    "peek, before",
    ("MQDMPR-3.1.7.1.14-12 MQDMPR-3.2.7.6-3", peek_next, READ),
    ("MQDMPR-3.1.7.1.15-11", peek_here, UNREAD),
    ("MQDMPR-3.1.7.1.15-15", peek_plain, None),
)
def test_a_peek_that_waited_for_nothing(peek: Peek, before: CursorState | None, cancelled: bool) -> None:
    place = Place()
    if before is not None:
        place.cursor.cursor_state = before
    reported = peek(place, timeout=SECOND, tag=7)
    if cancelled:
        place.cancel(7)
    pass_time(place.manager, SECOND)
    assert reported.status == (
        Status.MQ_ERROR_OPERATION_CANCELLED if cancelled else Status.MQ_ERROR_IO_TIMEOUT
    )
    assert place.standing == (before or UNREAD, "start")
    assert place.waiting == []


@pytest.mark.rule("MQDMPR-3.1.7.1.15-3", "MQDMPR-3.1.7.1.15-4")
def test_a_cursor_is_peeked_at_again_and_again() -> None:
    place = Place(b"a", b"b")
    for _ in range(2):
        assert peek_here(place).got == [(Status.MQ_OK, "a")]
        assert place.standing == (READ, place.slots[0])


@pytest.mark.rule("MQDMPR-3.1.7.1.15-5", "MQDMPR-3.2.7.2-5")
def test_a_cursor_whose_message_is_gone_says_so() -> None:
    place = Place(b"a", b"b")
    peek_here(place)
    place.dequeue()
    assert peek_here(place).got == [(Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED, None)]
    assert place.standing == (READ, place.slots[0])


@pytest.mark.rule("MQDMPR-3.1.7.1.15-12", "MQDMPR-3.1.7.1.15-16")
def test_without_a_cursor_the_first_message_is_peeked_at() -> None:
    place = Place(b"a", b"b")
    assert peek_plain(place).got == [(Status.MQ_OK, "a")]
    assert labels(place.queue) == ["a", "b"]


def dequeue(cursor: Cursor) -> object:
    return get_next_message_for_dequeue(cursor, no_wait=False)


def dequeue_now(cursor: Cursor) -> object:
    return get_next_message_for_dequeue(cursor, no_wait=True)


PEEK, PEEK_NEXT = get_message_for_peek, get_next_message_for_peek
DONE, GONE = "Succeeded", "AlreadyReceived"


@rule_table(
    "event, start, at, answer, found, after, there",
    ("MQDMPR-3.2.7.2-1 MQDMPR-3.2.7.2-3", PEEK, UNREAD, None, DONE, 0, READ, 0),
    ("MQDMPR-3.2.7.2-2", PEEK, UNREAD, 1, "Waiting", None, WAIT_PEEK, 1),
    ("MQDMPR-3.2.7.2-4", PEEK, READ, 0, DONE, 0, READ, 0),
    ("MQDMPR-3.2.7.2-6", PEEK, WAIT_PEEK, None, GONE, None, WAIT_PEEK, None),
    ("MQDMPR-3.2.7.3-2 MQDMPR-3.2.7.3-4", PEEK_NEXT, READ, 0, DONE, 1, READ, 1),
    ("MQDMPR-3.2.7.3-3", PEEK_NEXT, READ, 1, "Waiting", None, WAIT_PEEK, 1),
    ("MQDMPR-3.2.7.3-5", *(PEEK_NEXT, WAIT_RECEIVE, 0, "IllegalCursorAction", None, WAIT_RECEIVE, 0)),
    ("MQDMPR-3.2.7.4-1 MQDMPR-3.2.7.4-4", *(dequeue, UNREAD, None, DONE, 0, UNREAD, 0)),
    ("MQDMPR-3.2.7.4-2", dequeue_now, UNREAD, 1, "NotFound", None, UNREAD, 1),
    ("MQDMPR-3.2.7.4-3", dequeue, UNREAD, 1, "Waiting", None, WAIT_RECEIVE, 1),
    ("MQDMPR-3.2.7.4-5", dequeue, READ, 0, DONE, 0, UNREAD, 0),
    ("MQDMPR-3.2.7.4-7", dequeue, WAIT_PEEK, None, GONE, None, WAIT_PEEK, None),
)
def test_what_a_cursor_does(
    event: Callable[[Cursor], object],
    start: CursorState,
    at: int | None,
    answer: str,
    found: int | None,
    after: CursorState,
    there: int | None,
) -> None:
    place = Place(b"a", b"b")
    place.stand(start, at)
    assert event(place.cursor) == (answer, None if found is None else place.slots[found])
    assert place.standing == (after, "start" if there is None else place.slots[there])


@pytest.mark.rule("MQDMPR-3.2.7.4-6")
def test_a_cursor_on_a_held_message_takes_nothing() -> None:
    place = Place(b"a", b"b")
    place.stand(READ, 0)
    place.slots[0].state = PositionState.LOCKED
    assert get_next_message_for_dequeue(place.cursor, no_wait=False) == ("AlreadyReceived", None)
    assert place.standing == (READ, place.slots[0])


@rule_table(
    "start, after",
    ("MQDMPR-3.2.7.5-1 MQDMPR-3.2.7.5-3", WAIT_PEEK, READ),
    ("MQDMPR-3.2.7.5-2", WAIT_RECEIVE, UNREAD),
)
def test_what_a_cursor_waited_for_is_where_it_stands(start: CursorState, after: CursorState) -> None:
    place = Place(b"a")
    place.stand(start, None)
    message_available(place.cursor, place.slots[0])
    assert place.standing == (after, place.slots[0])


@pytest.mark.rule("MQDMPR-3.2.7.6-1", "MQDMPR-3.2.7.6-2", "MQDMPR-3.1.7.3.2-4")
def test_a_cursor_that_waited_to_receive_stands_behind_all_that_is_there() -> None:
    place = Place(b"a", b"b")
    place.stand(WAIT_RECEIVE, None)
    wait_time_expired(place.cursor)
    assert place.cursor.cursor_state is UNREAD
    assert get_next_message_for_dequeue(place.cursor, no_wait=True) == ("NotFound", None)
    slot = position(put(place.queue, b"c"))
    assert get_next_message_for_dequeue(place.cursor, no_wait=True) == ("Succeeded", slot)
