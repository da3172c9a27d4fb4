"""Events that put messages into queues and take them out. [MS-MQDMPR] 3.1.7.1.9 to 3.1.7.1.13"""

from __future__ import annotations

import pytest

from msmq_wire.model.data.elements import Message, Transaction
from msmq_wire.model.data.enumerations import CursorState, MessageSeekAction, PositionState, QueueAccessType
from msmq_wire.model.data.timers import INFINITE
from msmq_wire.model.events.cursor import open_cursor
from msmq_wire.model.events.message import (
    begin_flow_control,
    cancel_waiting_message_read_request,
    dequeue_message,
    dequeue_message_begin,
    dequeue_message_end,
    end_flow_control,
    enqueue_message,
    enqueue_message_to_an_open_queue,
    purge_queue,
    read_message_by_lookup_identifier,
)
from msmq_wire.model.events.queue import delete_queue, open_queue
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from tests.model.events.scene import Told, opened, operations, reasons, transaction
from tests.model.scene import (
    START,
    format_name,
    labels,
    make_manager,
    make_queue,
    pass_time,
    position,
    put,
    states,
)

ACK_RECEIVE = 0x4000
NACK_Q_PURGED = 0xC001
SECOND = 1000


@pytest.mark.rule("MQDMPR-3.1.7.1.9-1", "MQDMPR-3.1.7.2.5-1", "MQDMPR-3.1.7.2.6-1")
def test_nothing_comes_in_under_flow_control() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    begin_flow_control(manager)
    assert enqueue_message(queue, Message()) == 2
    assert (len(queue.message_position_list), manager.sequential_id) == (0, 0)
    end_flow_control(manager)
    assert enqueue_message(queue, Message()) == 0


@pytest.mark.rule("MQDMPR-3.1.7.1.9-2")
def test_the_quota_of_the_queue_manager_is_kilobytes_of_all_queues() -> None:
    manager = make_manager()
    queue, other = make_queue(manager, "a"), make_queue(manager, "b")
    manager.quota = 1
    assert enqueue_message(queue, Message(size=1000)) == 0
    assert enqueue_message(other, Message(size=25)) == 2
    assert enqueue_message(other, Message(size=24)) == 0
    assert manager.total_bytes == 1024


@pytest.mark.rule("MQDMPR-3.1.7.1.9-3")
def test_the_quota_of_a_queue_is_kilobytes() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    queue.quota = 1
    assert enqueue_message(queue, Message(size=1025)) == 1
    assert enqueue_message(queue, Message(size=1024)) == 0
    assert enqueue_message(queue, Message(size=1)) == 1
    assert len(queue.message_position_list) == 1


@pytest.mark.rule("MQDMPR-3.1.7.1.9-4")
@pytest.mark.parametrize(("late", "status"), [(10, 0), (11, 3)])
def test_a_message_that_was_on_its_way_too_long_is_refused(late: int, status: int) -> None:
    manager = make_manager()
    queue = make_queue(manager)
    properties = MessageProperties(time_to_reach_queue=10)
    assert enqueue_message(queue, Message(sent_time=START - late, properties=properties)) == status
    assert len(queue.message_position_list) == (status == 0)


@pytest.mark.rule("MQDMPR-3.1.7.1.9-5", "MQDMPR-3.1.7.1.9-6", "MQDMPR-3.1.7.1.9-7", "MQDMPR-3.1.7.1.9-9")
@pytest.mark.rule("MQDMPR-3.1.7.1.9-14", "MQDMPR-3.1.7.1.9-15")
def test_a_message_gets_a_slot_a_time_and_a_number() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    manager.sequential_id = 41
    pass_time(manager, 5 * SECOND)
    message = Message(label="a")
    assert enqueue_message(queue, message) == 0
    slot = position(message)
    assert (slot.message_reference, slot.queue_reference) == (message, queue)
    assert slot.state is PositionState.AVAILABLE
    assert (message.arrival_time, manager.sequential_id) == (START + 5, 42)
    assert message.lookup_identifier == 42


@pytest.mark.rule("MQDMPR-3.1.7.1.9-8")
@pytest.mark.parametrize(
    ("transactional", "priority", "identifier"),
    [(True, 0, 0x0700000000000001), (True, 7, 1), (False, 0, 1), (False, 7, 1)],
)
def test_the_lookup_identifier_holds_the_priority_of_transactional_messages(
    transactional: bool, priority: int, identifier: int
) -> None:
    message = Message(transactional=transactional, priority=priority)
    enqueue_message(make_queue(make_manager()), message)
    assert message.lookup_identifier == identifier


@pytest.mark.rule("MQDMPR-3.1.7.1.9-10")
def test_messages_stand_by_priority_and_then_by_arrival() -> None:
    queue = make_queue(make_manager())
    for body, priority in [(b"a", 3), (b"b", 7), (b"c", 0), (b"d", 3), (b"e", 7)]:
        put(queue, body, priority=priority)
    assert labels(queue) == ["b", "e", "a", "d", "c"]


@pytest.mark.rule("MQDMPR-3.1.7.1.9-11")
def test_the_time_to_be_received_begins_when_a_message_comes() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    message = put(queue, b"a", time_to_be_received=5)
    assert message.time_to_be_received_timer is not None
    assert manager.timers.next_due == 5 * SECOND


@pytest.mark.rule("MQDMPR-3.1.7.1.9-12", "MQDMPR-3.1.7.1.9-13")
def test_a_message_sent_in_a_transaction_is_locked() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    unit = transaction(manager)
    told = Told()
    dequeue_message(opened(queue), told)
    assert enqueue_message(queue, Message(label="a"), unit) == 0
    assert states(queue) == ["Locked"]
    assert operations(unit) == [("Enqueue", "a", None)]
    assert told.got == []


@pytest.mark.rule("MQDMPR-3.1.7.1.10-1", "MQDMPR-3.1.7.1.10-19", "MQDMPR-3.1.7.1.10-20")
@pytest.mark.parametrize("two_phase", [False, True])
def test_a_message_received_in_a_transaction_is_locked(two_phase: bool) -> None:
    manager = make_manager()
    queue = make_queue(manager)
    unit, told, gone = transaction(manager), Told(), reasons(manager)
    put(queue, b"a")
    dequeue_message(opened(queue), told, transaction=unit, two_phase_read=two_phase)
    assert told.got == [(Status.MQ_OK, "a")]
    assert states(queue) == ["Locked"]
    assert operations(unit) == [("Dequeue", "a", ACK_RECEIVE)]
    assert gone == []


@pytest.mark.rule("MQDMPR-3.1.7.1.10-2", "MQDMPR-3.1.7.1.11-1")
def test_nothing_is_received_from_a_deleted_queue() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptor = opened(queue)
    delete_queue(manager, queue)
    for event in (dequeue_message, dequeue_message_begin):
        told = Told()
        event(descriptor, told)
        assert told.got == [(Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None)]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-3", "MQDMPR-3.1.7.1.11-2")
def test_who_gives_no_timeout_waits_without_end() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    for event in (dequeue_message, dequeue_message_begin):
        told = Told()
        event(opened(queue), told)
        pass_time(manager, 10**12)
        assert told.got == []
    assert manager.timers.running == 0


@pytest.mark.rule("MQDMPR-3.1.7.1.10-4", "MQDMPR-3.1.7.1.10-13", "MQDMPR-3.1.7.1.10-14")
@pytest.mark.rule("MQDMPR-3.1.7.1.10-22", "MQDMPR-3.1.7.1.10-23")
@pytest.mark.parametrize("unit", [None, Transaction(identifier=b"")])
def test_the_first_message_is_taken_at_once(unit: Transaction | None) -> None:
    manager = make_manager()
    queue = make_queue(manager)
    told, gone = Told(), reasons(manager)
    put(queue, b"a")
    put(queue, b"b")
    dequeue_message(opened(queue), told, transaction=unit)
    assert told.got == [(Status.MQ_OK, "a")]
    assert (labels(queue), gone) == (["b"], [ACK_RECEIVE])


@pytest.mark.rule("MQDMPR-3.1.7.1.10-21", "MQDMPR-3.1.7.1.11-3", "MQDMPR-3.1.7.1.11-4")
def test_a_message_whose_receive_has_begun_is_locked() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    told, gone = Told(), reasons(manager)
    put(queue, b"a")
    dequeue_message_begin(opened(queue), told)
    assert told.got == [(Status.MQ_OK, "a")]
    assert (states(queue), gone) == (["Locked"], [])


@pytest.mark.rule("MQDMPR-3.1.7.1.10-5", "MQDMPR-3.1.7.1.10-6")
def test_a_cursor_says_what_is_taken() -> None:
    queue = make_queue(make_manager())
    descriptor = opened(queue)
    cursor = open_cursor(descriptor)
    put(queue, b"a")
    put(queue, b"b")
    for expected in ("a", "b"):
        told = Told()
        dequeue_message(descriptor, told, cursor=cursor, timeout=0)
        assert told.got == [(Status.MQ_OK, expected)]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-7")
def test_a_cursor_on_a_message_that_is_gone_takes_nothing() -> None:
    queue = make_queue(make_manager())
    descriptor = opened(queue)
    cursor = open_cursor(descriptor)
    assert cursor is not None
    gone = put(queue, b"a")
    put(queue, b"b")
    cursor.cursor_state, cursor.message_position_reference = CursorState.READ, position(gone)
    dequeue_message(descriptor, Told())
    told = Told()
    dequeue_message(descriptor, told, cursor=cursor)
    assert told.got == [(Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED, None)]
    assert (labels(queue), cursor.cursor_state) == (["b"], CursorState.READ)


@pytest.mark.rule("MQDMPR-3.1.7.1.10-8")
def test_a_cursor_at_the_end_finds_nothing_without_time() -> None:
    queue = make_queue(make_manager())
    descriptor = opened(queue)
    told = Told()
    dequeue_message(descriptor, told, cursor=open_cursor(descriptor), timeout=0)
    assert told.got == [(Status.MQ_ERROR_MESSAGE_NOT_FOUND, None)]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-9", "MQDMPR-3.1.7.1.10-10", "MQDMPR-3.1.7.1.10-11")
def test_a_cursor_at_the_end_waits() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptor = opened(queue)
    cursor = open_cursor(descriptor)
    assert cursor is not None
    told = Told()
    dequeue_message(descriptor, told, cursor=cursor, timeout=9 * SECOND, tag=4)
    (reader,) = descriptor.waiting_message_read_operation_collection
    assert (reader.destructive_read, reader.tag, reader.cursor_reference) == (True, 4, cursor)
    assert (cursor.cursor_state, manager.timers.next_due) == (CursorState.WAIT_RECEIVE, 9 * SECOND)
    message = put(queue, b"a")
    assert told.got == [(Status.MQ_OK, "a")]
    assert (cursor.cursor_state, cursor.message_position_reference) == (
        CursorState.UNREAD,
        position(message),
    )
    assert manager.timers.running == 0


@pytest.mark.rule("MQDMPR-3.1.7.1.10-12")
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_wait_of_a_cursor_that_ends_otherwise(cancelled: bool) -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptor = opened(queue)
    cursor = open_cursor(descriptor)
    assert cursor is not None
    told = Told()
    dequeue_message(descriptor, told, cursor=cursor, timeout=SECOND, tag=4)
    if cancelled:
        cancel_waiting_message_read_request(descriptor, 4)
    pass_time(manager, SECOND)
    assert told.status == (Status.MQ_ERROR_OPERATION_CANCELLED if cancelled else Status.MQ_ERROR_IO_TIMEOUT)
    assert cursor.cursor_state is CursorState.UNREAD


@pytest.mark.rule("MQDMPR-3.1.7.1.10-15", "MQDMPR-3.1.7.1.10-16")
def test_who_finds_nothing_waits_for_the_next_message() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptor = opened(queue)
    told = Told()
    dequeue_message(descriptor, told, timeout=SECOND, tag=4)
    (reader,) = descriptor.waiting_message_read_operation_collection
    assert (reader.destructive_read, reader.tag, reader.cursor_reference) == (True, 4, None)
    put(queue, b"a")
    assert (told.got, labels(queue)) == ([(Status.MQ_OK, "a")], [])


@pytest.mark.rule("MQDMPR-3.1.7.1.10-17")
def test_a_wait_that_ends_without_a_message() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptor = opened(queue)
    late, called_off = Told(), Told()
    dequeue_message(descriptor, late, timeout=SECOND)
    dequeue_message(descriptor, called_off, tag=4)
    cancel_waiting_message_read_request(descriptor, 4)
    pass_time(manager, SECOND)
    assert late.status == Status.MQ_ERROR_IO_TIMEOUT
    assert called_off.status == Status.MQ_ERROR_OPERATION_CANCELLED
    put(queue, b"a")
    assert labels(queue) == ["a"]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-18")
def test_without_time_nothing_is_waited_for() -> None:
    queue = make_queue(make_manager())
    told = Told()
    dequeue_message(opened(queue), told, timeout=0)
    assert told.got == [(Status.MQ_ERROR_IO_TIMEOUT, None)]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-24")
@pytest.mark.parametrize("with_cursor", [False, True])
def test_who_waits_in_a_transaction_that_has_ended_takes_nothing(with_cursor: bool) -> None:
    manager = make_manager()
    queue = make_queue(manager)
    unit, dead, alive = transaction(manager), Told(), Told()
    descriptor = opened(queue)
    cursor = open_cursor(descriptor) if with_cursor else None
    dequeue_message(descriptor, dead, cursor=cursor, transaction=unit)
    dequeue_message(opened(queue), alive)
    del manager.transaction_collection[unit.identifier]
    put(queue, b"a")
    assert dead.got == [(Status.MQ_ERROR_TRANSACTION_SEQUENCE, None)]
    assert alive.got == [(Status.MQ_OK, "a")]
    if cursor is not None:
        assert (cursor.cursor_state, cursor.message_position_reference) == (CursorState.UNREAD, "start")


@pytest.mark.rule("MQDMPR-3.1.7.1.12-1")
def test_a_receive_from_a_deleted_queue_has_no_end() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptor = opened(queue)
    message = put(queue, b"a")
    dequeue_message_begin(descriptor, Told())
    delete_queue(manager, queue)
    assert (
        dequeue_message_end(descriptor, message, delete_message=True) == Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
    )


ENDS = [
    pytest.param(
        "free",
        True,
        False,
        Status.MQ_ERROR_TRANSACTION_SEQUENCE,
        ["Available"],
        [],
        marks=pytest.mark.rule("MQDMPR-3.1.7.1.12-2"),
    ),
    pytest.param(
        "held", True, True, Status.MQ_OK, ["Locked"], [], marks=pytest.mark.rule("MQDMPR-3.1.7.1.12-3")
    ),
    pytest.param(
        "purged",
        True,
        False,
        Status.MQ_OK,
        [],
        [NACK_Q_PURGED],
        marks=pytest.mark.rule("MQDMPR-3.1.7.1.12-4"),
    ),
    pytest.param("purged", False, False, Status.MQ_OK, [], [NACK_Q_PURGED], id="purged, NACK"),
    pytest.param(
        "held",
        True,
        False,
        Status.MQ_OK,
        [],
        [ACK_RECEIVE],
        marks=pytest.mark.rule("MQDMPR-3.1.7.1.12-5", "MQDMPR-3.1.7.1.12-7"),
    ),
    pytest.param(
        "held",
        False,
        False,
        Status.MQ_OK,
        ["Available"],
        [],
        marks=pytest.mark.rule("MQDMPR-3.1.7.1.12-6"),
    ),
    pytest.param("gone", True, False, Status.MQ_ERROR_TRANSACTION_SEQUENCE, [], [], id="ended twice"),
]


@pytest.mark.parametrize(("before", "delete", "transactional", "status", "after", "told"), ENDS)
def test_how_a_receive_ends(
    before: str, delete: bool, transactional: bool, status: int, after: list[str], told: list[int]
) -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptor = opened(queue)
    message = put(queue, b"a")
    if before != "free":
        dequeue_message_begin(descriptor, Told())
    if before == "purged":
        purge_queue(queue)
    if before == "gone":
        dequeue_message_end(descriptor, message, delete_message=True)
    gone = reasons(manager)
    assert (
        dequeue_message_end(descriptor, message, delete_message=delete, transactional=transactional) == status
    )
    assert (states(queue), gone) == (after, told)


CURRENT = MessageSeekAction.SEEK_CURRENT


@pytest.mark.rule("MQDMPR-3.1.7.1.13-1", "MQDMPR-3.1.7.1.13-6", "MQDMPR-3.1.7.1.13-7")
def test_a_peek_by_lookup_identifier_changes_nothing() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    unit = transaction(manager)
    message = put(queue, b"a")
    found = read_message_by_lookup_identifier(
        opened(queue), message.lookup_identifier, CURRENT, peek_operation=True, transaction=unit
    )
    assert found == (Status.MQ_OK, message)
    assert (states(queue), operations(unit)) == (["Available"], [])


@pytest.mark.rule("MQDMPR-3.1.7.1.13-3")
def test_nothing_is_looked_up_in_a_deleted_queue() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptor = opened(queue)
    delete_queue(manager, queue)
    assert read_message_by_lookup_identifier(descriptor, 1, CURRENT, peek_operation=True) == (
        Status.MQ_ERROR_QUEUE_NOT_AVAILABLE,
        None,
    )


@pytest.mark.rule("MQDMPR-3.1.7.1.13-4", "MQDMPR-3.1.7.1.13-5")
@pytest.mark.parametrize(
    ("peek", "locked", "status"),
    [
        (True, True, Status.MQ_ERROR_TRANSACTION_USAGE),
        (False, True, Status.MQ_ERROR_MESSAGE_NOT_FOUND),
        (False, False, Status.MQ_ERROR_MESSAGE_NOT_FOUND),
    ],
)
def test_a_lookup_that_fails(peek: bool, locked: bool, status: int) -> None:
    queue = make_queue(make_manager())
    descriptor = opened(queue)
    message = put(queue, b"a")
    dequeue_message(descriptor, Told(), two_phase_read=locked)
    found = read_message_by_lookup_identifier(
        descriptor, message.lookup_identifier, CURRENT, peek_operation=peek
    )
    assert found == (status, None)
    assert states(queue) == ["Locked"] * locked


@pytest.mark.parametrize(
    ("unit", "two_phase", "after", "gone"),
    [
        pytest.param(
            b"x" * 16,
            False,
            ["Locked"],
            [],
            marks=pytest.mark.rule("MQDMPR-3.1.7.1.13-8", "MQDMPR-3.1.7.1.13-9"),
        ),
        pytest.param(b"", True, ["Locked"], [], marks=pytest.mark.rule("MQDMPR-3.1.7.1.13-10")),
        pytest.param(None, True, ["Locked"], [], id="two phases"),
        pytest.param(
            b"",
            False,
            [],
            [ACK_RECEIVE],
            marks=pytest.mark.rule("MQDMPR-3.1.7.1.13-11", "MQDMPR-3.1.7.1.13-12"),
        ),
        pytest.param(None, None, [], [ACK_RECEIVE], marks=pytest.mark.rule("MQDMPR-3.1.7.1.13-2")),
    ],
)
def test_a_receive_by_lookup_identifier(
    unit: bytes | None, two_phase: bool | None, after: list[str], gone: list[int]
) -> None:
    manager = make_manager()
    queue = make_queue(manager)
    told = reasons(manager)
    message = put(queue, b"a")
    given = None if unit is None else transaction(manager, unit)
    more = {} if two_phase is None else {"two_phase_read": two_phase}
    found = read_message_by_lookup_identifier(
        opened(queue), message.lookup_identifier, CURRENT, peek_operation=False, transaction=given, **more
    )
    assert found == (Status.MQ_OK, message)
    assert (states(queue), told) == (after, gone)
    if given is not None:
        assert operations(given) == ([("Dequeue", "a", ACK_RECEIVE)] if unit else [])


@pytest.mark.rule("MQDMPR-3.1.7.1.27-1")
def test_nothing_is_sent_to_a_deleted_queue() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptor = opened(queue, QueueAccessType.SEND_ACCESS)
    delete_queue(manager, queue)
    status = enqueue_message_to_an_open_queue(descriptor, Message())
    assert status == Status.MQ_ERROR_QUEUE_NOT_AVAILABLE


@pytest.mark.rule("MQDMPR-3.1.7.1.27-2", "MQDMPR-3.1.7.1.27-3")
@pytest.mark.parametrize("name", [None, "DIRECT=OS:other\\q"])
def test_a_message_for_one_queue_says_which(name: str | None) -> None:
    manager = make_manager()
    queue = make_queue(manager)
    unit = transaction(manager)
    message = Message(label="a", properties=MessageProperties(destination_queue_format_name=name))
    descriptor = opened(queue, QueueAccessType.SEND_ACCESS)
    assert enqueue_message_to_an_open_queue(descriptor, message, unit) == 0
    assert operations(unit) == [("Enqueue", "a", None)]
    assert message.properties.destination_queue_format_name == (name or format_name(queue))
    queue.quota = 0
    assert enqueue_message_to_an_open_queue(descriptor, Message(size=1)) == 1


@pytest.mark.rule("MQDMPR-3.1.7.1.27-5", "MQDMPR-3.1.7.1.27-6", "MQDMPR-3.1.7.1.27-8")
def test_every_queue_of_several_gets_a_copy() -> None:
    manager = make_manager()
    queues = [make_queue(manager, name) for name in "ab"]
    _, descriptor = open_queue(manager, ",".join(map(format_name, queues)), QueueAccessType.SEND_ACCESS)
    assert descriptor is not None
    unit = transaction(manager)
    message = Message(label="a", properties=MessageProperties())
    assert enqueue_message_to_an_open_queue(descriptor, message, unit) == 0
    copies = [one.message_reference for queue in queues for one in queue.message_position_list]
    assert len(copies) == 2
    assert message not in copies
    assert [one.properties.destination_queue_format_name for one in copies] == [*map(format_name, queues)]
    assert operations(unit) == [("Enqueue", "a", None)] * 2


@pytest.mark.rule("MQDMPR-3.1.7.1.27-7")
def test_what_one_queue_refuses_the_next_ones_do_not_get() -> None:
    manager = make_manager()
    queues = [make_queue(manager, name) for name in "abc"]
    queues[1].quota = 0
    _, descriptor = open_queue(manager, ",".join(map(format_name, queues)), QueueAccessType.SEND_ACCESS)
    assert descriptor is not None
    assert enqueue_message_to_an_open_queue(descriptor, Message(label="x", size=1)) == 1
    assert [labels(queue) for queue in queues] == [["x"], [], []]


def test_a_message_without_a_sent_time_lives_from_when_it_comes() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    put(queue, b"a", time_to_be_received=INFINITE - 1)
    pass_time(manager, 1)
    assert labels(queue) == ["a"]
