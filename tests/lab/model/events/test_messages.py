"""Events that put messages into queues and take them out. [MS-MQDMPR] 3.1.7.1.9 to 3.1.7.1.13"""

from __future__ import annotations

import pytest

from msmq_wire.lab.model.data.elements import ModelMessage, Queue, Transaction
from msmq_wire.lab.model.data.enumerations import CursorState, PositionState, QueueAccessType
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.enqueue import (
    begin_flow_control,
    end_flow_control,
    enqueue_message,
    enqueue_message_to_an_open_queue,
)
from msmq_wire.lab.model.events.message import dequeue_message, dequeue_message_begin, purge_queue
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from tests.lab.model.events.scene import Place, Told, opened, operations, transaction
from tests.lab.model.scene import (
    START,
    format_name,
    labels,
    make_queue,
    open_descriptor,
    pass_time,
    position,
    put,
    states,
)
from tests.rules import rule_table

ACK_RECEIVE = 0x4000
NACK_Q_PURGED = 0xC001
SECOND = 1000


@pytest.mark.rule("MQDMPR-3.1.7.1.9-1", "MQDMPR-3.1.7.2.5-1", "MQDMPR-3.1.7.2.6-1")
def test_nothing_comes_in_under_flow_control(place: Place) -> None:
    begin_flow_control(place.manager)
    assert enqueue_message(place.queue, ModelMessage()) == 2
    assert (len(place.queue.message_position_list), place.manager.sequential_id) == (0, 0)
    end_flow_control(place.manager)
    assert enqueue_message(place.queue, ModelMessage()) == 0


@pytest.mark.rule("MQDMPR-3.1.7.1.9-2")
def test_the_quota_of_the_queue_manager_is_kilobytes_of_all_queues(place: Place) -> None:
    place.manager.quota = 1
    assert enqueue_message(place.queue, ModelMessage(size=1000)) == 0
    assert enqueue_message(place.other, ModelMessage(size=25)) == 2
    assert enqueue_message(place.other, ModelMessage(size=24)) == 0
    assert place.manager.total_bytes == 1024


@pytest.mark.rule("MQDMPR-3.1.7.1.9-3")
def test_the_quota_of_a_queue_is_kilobytes(place: Place) -> None:
    place.queue.quota = 1
    assert enqueue_message(place.queue, ModelMessage(size=1025)) == 1
    assert enqueue_message(place.queue, ModelMessage(size=1024)) == 0
    assert enqueue_message(place.queue, ModelMessage(size=1)) == 1
    assert len(place.queue.message_position_list) == 1


@pytest.mark.rule("MQDMPR-3.1.7.1.9-4")
@pytest.mark.parametrize(("late", "status"), [(10, 0), (11, 3)])
def test_a_message_that_was_on_its_way_too_long_is_refused(place: Place, late: int, status: int) -> None:
    properties = MessageProperties(time_to_reach_queue=10)
    assert enqueue_message(place.queue, ModelMessage(sent_time=START - late, properties=properties)) == status
    assert len(place.queue.message_position_list) == (status == 0)


@pytest.mark.rule("MQDMPR-3.1.7.1.9-5", "MQDMPR-3.1.7.1.9-6", "MQDMPR-3.1.7.1.9-7", "MQDMPR-3.1.7.1.9-9")
@pytest.mark.rule("MQDMPR-3.1.7.1.9-14", "MQDMPR-3.1.7.1.9-15")
def test_a_message_gets_a_slot_a_time_and_a_number(place: Place) -> None:
    place.manager.sequential_id = 41
    pass_time(place.manager, 5 * SECOND)
    message = ModelMessage(label="a")
    assert enqueue_message(place.queue, message) == 0
    slot = position(message)
    assert (slot.message_reference, slot.queue_reference) == (message, place.queue)
    assert slot.state is PositionState.AVAILABLE
    assert (message.arrival_time, place.manager.sequential_id) == (START + 5, 42)
    assert message.lookup_identifier == 42


@pytest.mark.rule("MQDMPR-3.1.7.1.9-8")
@pytest.mark.parametrize(
    ("transactional", "priority", "identifier"),
    [(True, 0, 0x0700000000000001), (True, 7, 1), (False, 0, 1), (False, 7, 1)],
)
def test_the_lookup_identifier_holds_the_priority_of_transactional_messages(
    queue: Queue, transactional: bool, priority: int, identifier: int
) -> None:
    message = ModelMessage(transactional=transactional, priority=priority)
    enqueue_message(queue, message)
    assert message.lookup_identifier == identifier


@pytest.mark.rule("MQDMPR-3.1.7.1.9-10")
def test_messages_stand_by_priority_and_then_by_arrival(place: Place) -> None:
    for body, priority in [(b"a", 3), (b"b", 7), (b"c", 0), (b"d", 3), (b"e", 7)]:
        put(place.queue, body, priority=priority)
    assert labels(place.queue) == ["b", "e", "a", "d", "c"]


@pytest.mark.rule("MQDMPR-3.1.7.1.9-11")
def test_the_time_to_be_received_begins_when_a_message_comes(place: Place) -> None:
    message = put(place.queue, b"a", time_to_be_received=5)
    assert message.time_to_be_received_timer is not None
    assert place.manager.timers.next_due == 5 * SECOND


@pytest.mark.rule("MQDMPR-3.1.7.1.9-12", "MQDMPR-3.1.7.1.9-13")
def test_a_message_sent_in_a_transaction_is_locked(place: Place) -> None:
    dequeue_message(place.descriptor, place.reported)
    assert enqueue_message(place.queue, ModelMessage(label="a"), place.unit) == 0
    assert states(place.queue) == ["Locked"]
    assert operations(place.unit) == [("Enqueue", "a", None)]
    assert place.reported.got == []


@pytest.mark.rule("MQDMPR-3.1.7.1.10-1", "MQDMPR-3.1.7.1.10-19", "MQDMPR-3.1.7.1.10-20")
@pytest.mark.parametrize("two_phase", [False, True])
def test_a_message_received_in_a_transaction_is_locked(place: Place, two_phase: bool) -> None:
    put(place.queue, b"a")
    assert place.dequeue(transaction=place.unit, two_phase_read=two_phase).got == [(Status.MQ_OK, "a")]
    assert states(place.queue) == ["Locked"]
    assert operations(place.unit) == [("Dequeue", "a", ACK_RECEIVE)]
    assert place.gone == []


@pytest.mark.rule("MQDMPR-3.1.7.1.10-2", "MQDMPR-3.1.7.1.11-1")
def test_nothing_is_received_from_a_deleted_queue(place: Place) -> None:
    delete_queue(place.manager, place.queue)
    for event in (dequeue_message, dequeue_message_begin):
        reported = Told()
        event(place.descriptor, reported)
        assert reported.got == [(Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None)]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-3", "MQDMPR-3.1.7.1.11-2")
def test_who_gives_no_timeout_waits_without_end(place: Place) -> None:
    for event in (dequeue_message, dequeue_message_begin):
        reported = Told()
        event(place.descriptor, reported)
        pass_time(place.manager, 10**12)
        assert reported.got == []
    assert place.manager.timers.running == 0


@pytest.mark.rule("MQDMPR-3.1.7.1.10-4", "MQDMPR-3.1.7.1.10-13", "MQDMPR-3.1.7.1.10-14")
@pytest.mark.rule("MQDMPR-3.1.7.1.10-22", "MQDMPR-3.1.7.1.10-23")
@pytest.mark.parametrize("unit", [None, Transaction(identifier=b"")])
def test_the_first_message_is_taken_at_once(unit: Transaction | None) -> None:
    place = Place(b"a", b"b")
    assert place.dequeue(transaction=unit).got == [(Status.MQ_OK, "a")]
    assert (labels(place.queue), place.gone) == (["b"], [ACK_RECEIVE])


@pytest.mark.rule("MQDMPR-3.1.7.1.10-21", "MQDMPR-3.1.7.1.11-3", "MQDMPR-3.1.7.1.11-4")
def test_a_message_whose_receive_has_begun_is_locked(place: Place) -> None:
    put(place.queue, b"a")
    dequeue_message_begin(place.descriptor, place.reported)
    assert place.reported.got == [(Status.MQ_OK, "a")]
    assert (states(place.queue), place.gone) == (["Locked"], [])


@pytest.mark.rule("MQDMPR-3.1.7.1.10-5", "MQDMPR-3.1.7.1.10-6")
def test_a_cursor_says_what_is_taken() -> None:
    place = Place(b"a", b"b")
    for expected in ("a", "b"):
        assert place.dequeue(cursor=place.cursor, timeout=0).got == [(Status.MQ_OK, expected)]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-7")
def test_a_cursor_on_a_message_that_is_gone_takes_nothing() -> None:
    place = Place(b"a", b"b")
    place.stand(CursorState.READ, 0)
    place.dequeue()
    assert place.dequeue(cursor=place.cursor).got == [(Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED, None)]
    assert (labels(place.queue), place.cursor.cursor_state) == (["b"], CursorState.READ)


@pytest.mark.rule("MQDMPR-3.1.7.1.10-8")
def test_a_cursor_at_the_end_finds_nothing_without_time(place: Place) -> None:
    reported = place.dequeue(cursor=place.cursor, timeout=0)
    assert reported.got == [(Status.MQ_ERROR_MESSAGE_NOT_FOUND, None)]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-9", "MQDMPR-3.1.7.1.10-10", "MQDMPR-3.1.7.1.10-11")
def test_a_cursor_at_the_end_waits(place: Place) -> None:
    dequeue_message(place.descriptor, place.reported, cursor=place.cursor, timeout=9 * SECOND, tag=4)
    (reader,) = place.waiting
    assert (reader.destructive_read, reader.tag, reader.cursor_reference) == (True, 4, place.cursor)
    assert place.cursor.cursor_state is CursorState.WAIT_RECEIVE
    assert place.manager.timers.next_due == 9 * SECOND
    message = put(place.queue, b"a")
    assert place.reported.got == [(Status.MQ_OK, "a")]
    assert place.standing == (CursorState.UNREAD, position(message))
    assert place.manager.timers.running == 0


@pytest.mark.rule("MQDMPR-3.1.7.1.10-12")
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_wait_of_a_cursor_that_ends_otherwise(place: Place, cancelled: bool) -> None:
    dequeue_message(place.descriptor, place.reported, cursor=place.cursor, timeout=SECOND, tag=4)
    if cancelled:
        place.cancel(4)
    pass_time(place.manager, SECOND)
    over = Status.MQ_ERROR_OPERATION_CANCELLED if cancelled else Status.MQ_ERROR_IO_TIMEOUT
    assert place.reported.status == over
    assert place.cursor.cursor_state is CursorState.UNREAD


@pytest.mark.rule("MQDMPR-3.1.7.1.10-15", "MQDMPR-3.1.7.1.10-16")
def test_who_finds_nothing_waits_for_the_next_message(place: Place) -> None:
    dequeue_message(place.descriptor, place.reported, timeout=SECOND, tag=4)
    (reader,) = place.waiting
    assert (reader.destructive_read, reader.tag, reader.cursor_reference) == (True, 4, None)
    put(place.queue, b"a")
    assert (place.reported.got, labels(place.queue)) == ([(Status.MQ_OK, "a")], [])


@pytest.mark.rule("MQDMPR-3.1.7.1.10-17")
def test_a_wait_that_ends_without_a_message(place: Place) -> None:
    late, called_off = place.dequeue(timeout=SECOND), place.dequeue(tag=4)
    place.cancel(4)
    pass_time(place.manager, SECOND)
    assert late.status == Status.MQ_ERROR_IO_TIMEOUT
    assert called_off.status == Status.MQ_ERROR_OPERATION_CANCELLED
    put(place.queue, b"a")
    assert labels(place.queue) == ["a"]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-18")
def test_without_time_nothing_is_waited_for(place: Place) -> None:
    assert place.dequeue(timeout=0).got == [(Status.MQ_ERROR_IO_TIMEOUT, None)]


@pytest.mark.rule("MQDMPR-3.1.7.1.10-24")
@pytest.mark.parametrize("with_cursor", [False, True])
def test_who_waits_in_a_transaction_that_has_ended_takes_nothing(place: Place, with_cursor: bool) -> None:
    alive = Told()
    dead = place.dequeue(cursor=place.cursor if with_cursor else None, transaction=place.unit)
    dequeue_message(opened(place.queue), alive)
    del place.manager.transaction_collection[place.unit.identifier]
    put(place.queue, b"a")
    assert dead.got == [(Status.MQ_ERROR_TRANSACTION_SEQUENCE, None)]
    assert alive.got == [(Status.MQ_OK, "a")]
    assert place.standing == (CursorState.UNREAD, "start")


@pytest.mark.rule("MQDMPR-3.1.7.1.12-1")
def test_a_receive_from_a_deleted_queue_has_no_end(place: Place) -> None:
    message = put(place.queue, b"a")
    dequeue_message_begin(place.descriptor, Told())
    delete_queue(place.manager, place.queue)
    assert place.end(message) == Status.MQ_ERROR_QUEUE_NOT_AVAILABLE


OK, SEQUENCE = Status.MQ_OK, Status.MQ_ERROR_TRANSACTION_SEQUENCE
HELD, FREE = ["Locked"], ["Available"]


@rule_table(
    "before, delete, transactional, status, after, reported",
    ("MQDMPR-3.1.7.1.12-2", "free", True, False, SEQUENCE, FREE, []),
    ("MQDMPR-3.1.7.1.12-3", "held", True, True, OK, HELD, []),
    ("MQDMPR-3.1.7.1.12-4", "purged", True, False, OK, [], [NACK_Q_PURGED]),
    pytest.param("", "purged", False, False, OK, [], [NACK_Q_PURGED], id="purged, NACK"),
    ("MQDMPR-3.1.7.1.12-5 MQDMPR-3.1.7.1.12-7", *("held", True, False, OK, [], [ACK_RECEIVE])),
    ("MQDMPR-3.1.7.1.12-6", "held", False, False, OK, FREE, []),
    pytest.param("", "gone", True, False, SEQUENCE, [], [], id="ended twice"),
)
def test_how_a_receive_ends(
    place: Place,
    before: str,
    delete: bool,
    transactional: bool,
    status: int,
    after: list[str],
    reported: list[int],
) -> None:
    message = put(place.queue, b"a")
    if before != "free":
        dequeue_message_begin(place.descriptor, Told())
    if before == "purged":
        purge_queue(place.queue)
    if before == "gone":
        place.end(message)
    place.deleted.clear()
    assert place.end(message, delete=delete, transactional=transactional) == status
    assert (states(place.queue), place.gone) == (after, reported)


@pytest.mark.rule("MQDMPR-3.1.7.1.13-1", "MQDMPR-3.1.7.1.13-6", "MQDMPR-3.1.7.1.13-7")
def test_a_peek_by_lookup_identifier_changes_nothing(place: Place) -> None:
    message = put(place.queue, b"a")
    found = place.look_up(message.lookup_identifier, peek=True, transaction=place.unit)
    assert found == (Status.MQ_OK, message)
    assert (states(place.queue), operations(place.unit)) == (["Available"], [])


@pytest.mark.rule("MQDMPR-3.1.7.1.13-3")
def test_nothing_is_looked_up_in_a_deleted_queue(place: Place) -> None:
    delete_queue(place.manager, place.queue)
    assert place.look_up(1, peek=True) == (Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None)


@pytest.mark.rule("MQDMPR-3.1.7.1.13-4", "MQDMPR-3.1.7.1.13-5")
@pytest.mark.parametrize(
    ("peek", "locked", "status"),
    [
        (True, True, Status.MQ_ERROR_TRANSACTION_USAGE),
        (False, True, Status.MQ_ERROR_MESSAGE_NOT_FOUND),
        (False, False, Status.MQ_ERROR_MESSAGE_NOT_FOUND),
    ],
)
def test_a_lookup_that_fails(place: Place, peek: bool, locked: bool, status: int) -> None:
    message = put(place.queue, b"a")
    place.dequeue(two_phase_read=locked)
    assert place.look_up(message.lookup_identifier, peek=peek) == (status, None)
    assert states(place.queue) == ["Locked"] * locked


@rule_table(
    "unit, two_phase, after, gone",
    ("MQDMPR-3.1.7.1.13-8 MQDMPR-3.1.7.1.13-9", b"x" * 16, False, ["Locked"], []),
    ("MQDMPR-3.1.7.1.13-10", b"", True, ["Locked"], []),
    pytest.param("", None, True, ["Locked"], [], id="two phases"),
    ("MQDMPR-3.1.7.1.13-11 MQDMPR-3.1.7.1.13-12", b"", False, [], [ACK_RECEIVE]),
    ("MQDMPR-3.1.7.1.13-2", None, None, [], [ACK_RECEIVE]),
)
def test_a_receive_by_lookup_identifier(
    place: Place, unit: bytes | None, two_phase: bool | None, after: list[str], gone: list[int]
) -> None:
    message = put(place.queue, b"a")
    given = None if unit is None else transaction(place.manager, unit)
    more = {} if two_phase is None else {"two_phase_read": two_phase}
    found = place.look_up(message.lookup_identifier, peek=False, transaction=given, **more)
    assert found == (Status.MQ_OK, message)
    assert (states(place.queue), place.gone) == (after, gone)
    if given is not None:
        assert operations(given) == ([("Dequeue", "a", ACK_RECEIVE)] if unit else [])


@pytest.mark.rule("MQDMPR-3.1.7.1.27-1")
def test_nothing_is_sent_to_a_deleted_queue(place: Place) -> None:
    descriptor = opened(place.queue, QueueAccessType.SEND_ACCESS)
    delete_queue(place.manager, place.queue)
    status = enqueue_message_to_an_open_queue(descriptor, ModelMessage())
    assert status == Status.MQ_ERROR_QUEUE_NOT_AVAILABLE


@pytest.mark.rule("MQDMPR-3.1.7.1.27-2", "MQDMPR-3.1.7.1.27-3")
@pytest.mark.parametrize("name", [None, "DIRECT=OS:other\\q"])
def test_a_message_for_one_queue_says_which(place: Place, name: str | None) -> None:
    message = ModelMessage(label="a", properties=MessageProperties(destination_queue_format_name=name))
    descriptor = opened(place.queue, QueueAccessType.SEND_ACCESS)
    assert enqueue_message_to_an_open_queue(descriptor, message, place.unit) == 0
    assert operations(place.unit) == [("Enqueue", "a", None)]
    assert message.properties.destination_queue_format_name == (name or format_name(place.queue))
    place.queue.quota = 0
    assert enqueue_message_to_an_open_queue(descriptor, ModelMessage(size=1)) == 1


@pytest.mark.rule("MQDMPR-3.1.7.1.27-5", "MQDMPR-3.1.7.1.27-6", "MQDMPR-3.1.7.1.27-8")
def test_every_queue_of_several_gets_a_copy(place: Place) -> None:
    queues = [make_queue(place.manager, name) for name in "ab"]
    descriptor = open_descriptor(
        place.manager, ",".join(map(format_name, queues)), QueueAccessType.SEND_ACCESS
    )
    message = ModelMessage(label="a", properties=MessageProperties())
    assert enqueue_message_to_an_open_queue(descriptor, message, place.unit) == 0
    copies = [one.message_reference for queue in queues for one in queue.message_position_list]
    assert len(copies) == 2
    assert message not in copies
    assert [one.properties.destination_queue_format_name for one in copies] == [*map(format_name, queues)]
    assert operations(place.unit) == [("Enqueue", "a", None)] * 2


@pytest.mark.rule("MQDMPR-3.1.7.1.27-7")
def test_what_one_queue_refuses_the_next_ones_do_not_get(place: Place) -> None:
    queues = [make_queue(place.manager, name) for name in "abc"]
    queues[1].quota = 0
    descriptor = open_descriptor(
        place.manager, ",".join(map(format_name, queues)), QueueAccessType.SEND_ACCESS
    )
    assert enqueue_message_to_an_open_queue(descriptor, ModelMessage(label="x", size=1)) == 1
    assert [labels(queue) for queue in queues] == [["x"], [], []]


def test_a_message_without_a_sent_time_lives_from_when_it_comes(place: Place) -> None:
    put(place.queue, b"a", time_to_be_received=INFINITE - 1)
    pass_time(place.manager, 1)
    assert labels(place.queue) == ["a"]
