"""The rules of RemoteQMStartReceive and RemoteQMStartReceive2, which are the same but for one parameter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode
from msmq_wire.lab.model.data.elements import Cursor, ModelMessage
from msmq_wire.lab.model.data.enumerations import CursorState, PositionState, QueueAccessType
from msmq_wire.lab.model.data.message_packet import count_move
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.events.queue import close_queue, delete_queue
from msmq_wire.lab.model.qm2qm.entries import Qm2qmConfiguration, RemoteReadEntry
from msmq_wire.rpc.constants import RemoteReadAck
from msmq_wire.rpc.interfaces import qm2qm
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc2
from tests.lab.model.qm2qm.scene import (
    NULL,
    PEEK,
    PEEK_NEXT,
    RECEIVE,
    START2,
    Scene,
    body_read,
    both,
    read_of,
)
from tests.lab.model.scene import labels, make_queue, pass_time, position, put, states

BAD_STUB_DATA = 0x000006F7
EPOCH = 1_700_000_000
every_action = pytest.mark.parametrize("action", [RECEIVE, PEEK, PEEK_NEXT])


@both
@pytest.mark.rule("MQQP-3.1.4.1-1", "MQQP-3.1.4.10-2", "MQQP-3.1.4.1-46", "MQQP-3.1.4.10-49")
def test_a_peek_is_over_with_its_answer_and_gives_no_handle(scene: Scene) -> None:
    message = put(scene.queue, b"m")
    answer = scene.read(PEEK)
    assert (answer.status, answer.response.pph_context) == (Status.MQ_OK, NULL)
    assert scene.nothing_happened(message)


@both
@pytest.mark.rule("MQQP-3.1.4.1-2", "MQQP-3.1.4.10-3", "MQQP-3.1.4.1-24", "MQQP-3.1.4.10-26")
@pytest.mark.rule("MQQP-3.1.4.1-45", "MQQP-3.1.4.10-48")
def test_a_receive_locks_the_first_available_message_until_it_is_ended(scene: Scene) -> None:
    first, second = put(scene.queue, b"first"), put(scene.queue, b"second")
    position(first).state = PositionState.LOCKED
    answer = scene.read(RECEIVE)
    assert (answer.status, body_read(answer)) == (Status.MQ_OK, b"second")
    assert position(second).state is PositionState.LOCKED
    assert labels(scene.queue) == ["first", "second"]
    assert scene.read(RECEIVE).status == Status.MQ_ERROR_IO_TIMEOUT
    handle = answer.response.pph_context
    assert not handle.null
    entry = scene.client.association.thing(handle, RemoteReadEntry)
    assert entry.user_message_packet is second


@both
@pytest.mark.parametrize("queue", [0, 12345])
@pytest.mark.rule("MQQP-3.1.4.1-4", "MQQP-3.1.4.1-5", "MQQP-3.1.4.10-6", "MQQP-3.1.4.10-7")
def test_dw_queue_must_be_the_remote_queue(scene: Scene, queue: int) -> None:
    scene.refuses(Status.MQ_ERROR_INVALID_PARAMETER, RECEIVE, dw_queue=queue)


@both
@pytest.mark.rule("MQQP-3.1.4.1-4", "MQQP-3.1.4.10-6")
def test_dw_queue_is_looked_at_before_the_action(scene: Scene) -> None:
    assert scene.read(PEEK_NEXT, queue=0).status == Status.MQ_ERROR_INVALID_PARAMETER


@pytest.mark.rule("MQQP-3.1.4.10-5")
def test_a_descriptor_that_is_null_is_an_invalid_handle(scene: Scene) -> None:
    message = put(scene.queue, b"m")
    request = qm2qm.RemoteQMStartReceive2Request(lp_remote_read_desc2=RemoteReadDesc2())
    assert scene.client.call(START2, request).status == Status.MQ_ERROR_INVALID_HANDLE
    assert scene.nothing_happened(message)


@both
@every_action
@pytest.mark.rule("MQQP-3.1.4.1-6", "MQQP-3.1.4.10-8")
def test_a_request_identifier_that_waits_is_refused_and_goes_on_waiting(scene: Scene, action: int) -> None:
    waiting = scene.start(RECEIVE, ul_timeout=1000, dw_request_id=7)
    assert scene.read(action, dw_request_id=7).status == Status.MQ_ERROR_INVALID_PARAMETER
    assert scene.pending == 1
    put(scene.queue, b"m")
    assert waiting.status == Status.MQ_OK


@both
@pytest.mark.rule("MQQP-3.1.4.1-7", "MQQP-3.1.4.10-9")
def test_a_request_identifier_of_another_handle_or_of_an_answered_read_is_accepted(scene: Scene) -> None:
    other = scene.opened()
    scene.open(handle=other.handle)
    scene.start(PEEK, ul_timeout=1000, dw_request_id=7, queue=other.handle)
    waiting = scene.start(RECEIVE, ul_timeout=1000, dw_request_id=7)
    assert scene.pending == 2
    put(scene.queue, b"m")
    assert waiting.status == Status.MQ_OK
    assert scene.read(RECEIVE, dw_request_id=7).status == Status.MQ_ERROR_IO_TIMEOUT


@both
@pytest.mark.rule("MQQP-3.1.4.1-8", "MQQP-3.1.4.10-10")
def test_the_next_message_is_next_to_a_cursor(scene: Scene) -> None:
    scene.refuses(Status.STATUS_INVALID_PARAMETER, PEEK_NEXT)
    # Before the look at the queue: it is another code.
    assert scene.read(PEEK_NEXT, queue=99).status == Status.STATUS_INVALID_PARAMETER


@both
@pytest.mark.parametrize("action", [1, 0x7FFFFFFF, 0x80000002, 0x40000010, 0x40000020, 0xFFFFFFFF])
@pytest.mark.rule("MQQP-3.1.4.1-9", "MQQP-3.1.4.10-11")
def test_another_action_is_refused(scene: Scene, action: int) -> None:
    scene.refuses(Status.MQ_ERROR_INVALID_PARAMETER, action)


@both
@every_action
@pytest.mark.rule("MQQP-3.1.4.1-10", "MQQP-3.1.4.10-12")
def test_a_queue_that_was_not_opened_or_was_closed_is_refused(method: str, action: int) -> None:
    scene = Scene(opened=False, method=method)
    message = put(scene.queue, b"m")
    cursor = scene.cursor()
    assert scene.read(action, h_cursor=cursor.handle).status == Status.MQ_ERROR_INVALID_PARAMETER
    session = scene.open()
    assert scene.close(session).status == Status.MQ_OK
    assert scene.read(action, h_cursor=cursor.handle).status == Status.MQ_ERROR_INVALID_PARAMETER
    assert scene.nothing_happened(message)


@both
@pytest.mark.rule("MQQP-3.1.4.1-11", "MQQP-3.1.4.10-13")
def test_the_descriptor_is_found_among_all_queues(scene: Scene) -> None:
    elsewhere = make_queue(scene.manager, "elsewhere")
    put(scene.queue, b"orders")
    put(elsewhere, b"elsewhere")
    handle = scene.opened().handle
    scene.open(handle=handle)
    assert body_read(scene.read(PEEK, queue=handle)) == b"orders"


@both
@pytest.mark.rule("MQQP-3.1.4.1-12", "MQQP-3.1.4.10-14")
def test_an_entry_without_a_descriptor_reads_nothing(scene: Scene) -> None:
    close_queue(scene.manager, scene.descriptor)
    scene.refuses(Status.MQ_ERROR_INVALID_PARAMETER, RECEIVE)


@both
@pytest.mark.rule("MQQP-3.1.4.1-13", "MQQP-3.1.4.10-15")
def test_a_handle_for_peeks_receives_nothing(method: str) -> None:
    scene = Scene(QueueAccessType.PEEK_ACCESS, method=method)
    scene.refuses(Status.MQ_ERROR_ACCESS_DENIED, RECEIVE)
    assert scene.read(PEEK).status == Status.MQ_OK


@both
@every_action
@pytest.mark.rule("MQQP-3.1.4.1-15", "MQQP-3.1.4.10-17")
def test_a_cursor_that_is_not_of_the_descriptor_is_refused(scene: Scene, action: int) -> None:
    message = put(scene.queue, b"m")
    others = scene.cursor(scene.opened())
    for cursor in (4711, others.handle):
        assert scene.read(action, h_cursor=cursor).status == Status.STATUS_INVALID_PARAMETER
    assert scene.nothing_happened(message)


@both
@pytest.mark.rule("MQQP-3.1.4.1-16", "MQQP-3.1.4.10-18", "MQQP-3.1.4.1-17", "MQQP-3.1.4.10-19")
@pytest.mark.rule("MQQP-3.1.4.1-18", "MQQP-3.1.4.10-20", "MQQP-3.1.4.1-19", "MQQP-3.1.4.10-21")
@pytest.mark.rule("MQQP-3.1.4.1-20", "MQQP-3.1.4.10-22")
def test_a_receive_that_waits_has_an_entry_and_a_waiting_operation(scene: Scene) -> None:
    scene.start(RECEIVE, ul_timeout=1500, dw_request_id=7, lp_buffer=b"x", dw_size=1)
    entry = scene.server.remote_read_entry_collection.find(scene.handle, 7)
    assert entry is not None
    assert (entry.open_queue_descriptor_handle, entry.request_id) == (scene.handle, 7)
    assert (entry.timeout, entry.action, entry.user_message_packet) == (1500, RECEIVE, None)
    (reader,) = scene.descriptor.waiting_message_read_operation_collection
    assert (reader.destructive_read, reader.tag, reader.cursor_reference) == (True, 7, None)


@both
@pytest.mark.rule("MQQP-3.1.4.1-21", "MQQP-3.1.4.10-23", "MQQP-3.1.4.1-14", "MQQP-3.1.4.10-16")
def test_a_peek_that_waits_has_a_tag_and_the_cursor(scene: Scene, cursor: Cursor) -> None:
    scene.start(PEEK, ul_timeout=1500, dw_request_id=7, h_cursor=cursor.handle)
    (reader,) = scene.descriptor.waiting_message_read_operation_collection
    assert (reader.destructive_read, reader.tag, reader.cursor_reference) == (False, 7, cursor)
    assert cursor.cursor_state is CursorState.WAIT_PEEK


@both
@pytest.mark.rule("MQQP-3.1.4.1-22", "MQQP-3.1.4.10-24")
def test_a_peek_at_the_next_message_that_waits_has_a_tag_and_the_cursor(scene: Scene, cursor: Cursor) -> None:
    put(scene.queue, b"m")
    assert scene.read(PEEK, h_cursor=cursor.handle).status == Status.MQ_OK
    waiting = scene.start(PEEK_NEXT, ul_timeout=1500, dw_request_id=7, h_cursor=cursor.handle)
    (reader,) = scene.descriptor.waiting_message_read_operation_collection
    assert (reader.destructive_read, reader.tag, reader.cursor_reference) == (False, 7, cursor)
    put(scene.queue, b"n")
    assert body_read(waiting) == b"n"


@both
@every_action
@pytest.mark.rule("MQQP-3.1.4.1-23", "MQQP-3.1.4.10-25", "MQQP-3.1.4.1-33", "MQQP-3.1.4.10-35")
@pytest.mark.rule("MQQP-3.1.4.1-35", "MQQP-3.1.4.10-37", "MQQP-3.1.4.1-44", "MQQP-3.1.4.10-47")
@pytest.mark.rule("MQQP-3.1.4.1-47", "MQQP-3.1.4.10-50", "MQQP-3.1.2-1", "MQQP-3.1.2-2", "MQQP-3.1.5-1")
def test_a_read_waits_as_many_milliseconds_as_it_said(scene: Scene, cursor: Cursor, action: int) -> None:
    if action == PEEK_NEXT:
        put(scene.queue, b"m")
        scene.read(PEEK, h_cursor=cursor.handle)
    waiting = scene.start(action, ul_timeout=1500, h_cursor=cursor.handle if action == PEEK_NEXT else 0)
    assert scene.manager.timers.running == 1
    pass_time(scene.manager, 1499)
    assert waiting.answer is None
    assert scene.pending == 1
    pass_time(scene.manager, 1)
    assert waiting.status == Status.MQ_ERROR_IO_TIMEOUT
    assert waiting.response.pph_context == NULL
    assert scene.nothing_happened()
    assert scene.manager.timers.running == 0
    assert scene.descriptor.waiting_message_read_operation_collection == []


@both
@every_action
@pytest.mark.rule("MQQP-2.2.2.1-11", "MQQP-3.1.2-2")
def test_a_timeout_of_all_ones_never_ends(scene: Scene, cursor: Cursor, action: int) -> None:
    put(scene.queue, b"m")
    scene.read(PEEK, h_cursor=cursor.handle)
    if action != PEEK_NEXT:
        assert scene.end(scene.read(RECEIVE).response.pph_context).status == Status.MQ_OK
    waiting = scene.start(action, ul_timeout=INFINITE, h_cursor=cursor.handle if action == PEEK_NEXT else 0)
    assert scene.manager.timers.running == 0
    pass_time(scene.manager, 10 * INFINITE)
    assert waiting.answer is None
    put(scene.queue, b"n")
    assert waiting.status == Status.MQ_OK


@both
@pytest.mark.rule("MQQP-3.1.4.1-25", "MQQP-3.1.4.10-27", "MQQP-3.1.4.1-14", "MQQP-3.1.4.10-16")
def test_a_receive_with_a_cursor_goes_on_from_its_place(scene: Scene, cursor: Cursor) -> None:
    messages = [put(scene.queue, body) for body in (b"a", b"b", b"c")]
    scene.read(PEEK, h_cursor=cursor.handle)
    scene.read(PEEK_NEXT, h_cursor=cursor.handle)
    read = [scene.read(RECEIVE, h_cursor=cursor.handle) for _ in range(2)]
    assert [body_read(one) for one in read] == [b"b", b"c"]
    assert states(scene.queue) == ["Available", "Locked", "Locked"]
    assert cursor.message_position_reference is position(messages[2])


@both
@pytest.mark.rule("MQQP-3.1.4.1-26", "MQQP-3.1.4.10-28")
def test_a_peek_returns_the_front_and_changes_nothing(scene: Scene) -> None:
    put(scene.queue, b"low", priority=1)
    put(scene.queue, b"high", priority=7)
    for _ in range(2):
        answer = scene.read(PEEK)
        assert (answer.status, body_read(answer)) == (Status.MQ_OK, b"high")
    assert states(scene.queue) == ["Available", "Available"]


@both
@pytest.mark.rule("MQQP-3.1.4.1-27", "MQQP-3.1.4.10-29")
def test_a_peek_at_a_cursor_stays_at_its_message(scene: Scene, cursor: Cursor) -> None:
    put(scene.queue, b"a")
    put(scene.queue, b"b")
    scene.read(PEEK, h_cursor=cursor.handle)
    scene.read(PEEK_NEXT, h_cursor=cursor.handle)
    place = cursor.message_position_reference
    for _ in range(2):
        answer = scene.read(PEEK, h_cursor=cursor.handle)
        assert (answer.status, body_read(answer)) == (Status.MQ_OK, b"b")
    assert cursor.message_position_reference is place
    assert states(scene.queue) == ["Available", "Available"]


@both
@pytest.mark.rule("MQQP-3.1.4.1-28", "MQQP-3.1.4.10-30")
def test_a_peek_at_the_next_message_moves_the_cursor(scene: Scene, cursor: Cursor) -> None:
    messages = [put(scene.queue, body) for body in (b"a", b"b")]
    scene.read(PEEK, h_cursor=cursor.handle)
    answer = scene.read(PEEK_NEXT, h_cursor=cursor.handle)
    assert (answer.status, body_read(answer)) == (Status.MQ_OK, b"b")
    assert cursor.message_position_reference is position(messages[1])
    assert labels(scene.queue) == ["a", "b"]


@both
@pytest.mark.rule("MQQP-3.1.4.1-29", "MQQP-3.1.4.10-31")
def test_a_cursor_that_read_nothing_has_no_next_message(scene: Scene, cursor: Cursor) -> None:
    scene.refuses(Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION, PEEK_NEXT, h_cursor=cursor.handle)
    assert cursor.message_position_reference == "start"


@both
@pytest.mark.parametrize("action", [RECEIVE, PEEK])
@pytest.mark.rule("MQQP-3.1.4.1-30", "MQQP-3.1.4.10-32")
def test_a_cursor_at_a_message_that_another_reader_took_finds_no_other(scene: Scene, action: int) -> None:
    cursor = scene.cursor()
    put(scene.queue, b"a")
    other = put(scene.queue, b"b")
    scene.read(PEEK, h_cursor=cursor.handle)
    scene.read(RECEIVE)
    answer = scene.read(action, h_cursor=cursor.handle, ul_timeout=1000)
    assert answer.status == Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED
    assert position(other).state is PositionState.AVAILABLE


@both
@pytest.mark.parametrize(("action", "cursor"), [(RECEIVE, False), (PEEK, False), (PEEK, True)])
@pytest.mark.rule("MQQP-3.1.4.1-31", "MQQP-3.1.4.10-33", "MQQP-3.1.2-3")
def test_without_time_an_empty_queue_is_a_timeout_at_once(scene: Scene, action: int, cursor: bool) -> None:
    handle = scene.cursor().handle if cursor else 0
    assert scene.read(action, h_cursor=handle).status == Status.MQ_ERROR_IO_TIMEOUT
    assert scene.nothing_happened()
    assert scene.manager.timers.running == 0


@both
@pytest.mark.rule("MQQP-3.1.4.1-32", "MQQP-3.1.4.10-34")
def test_without_time_a_receive_with_a_cursor_finds_no_message(scene: Scene) -> None:
    answer = scene.read(RECEIVE, h_cursor=scene.cursor().handle)
    assert answer.status == Status.MQ_ERROR_MESSAGE_NOT_FOUND
    assert scene.nothing_happened()


@both
@pytest.mark.parametrize(("action", "state"), [(RECEIVE, "Locked"), (PEEK, "Available")])
@pytest.mark.rule("MQQP-3.1.4.1-34", "MQQP-3.1.4.10-36")
def test_an_arrival_ends_the_wait(scene: Scene, action: int, state: str) -> None:
    waiting = scene.start(action, ul_timeout=1000)
    put(scene.queue, b"m")
    assert waiting.status == Status.MQ_OK
    assert body_read(waiting) == b"m"
    assert states(scene.queue) == [state]
    assert waiting.response.pph_context.null is (action == PEEK)
    assert scene.pending == 0
    assert scene.manager.timers.running == 0


@both
@every_action
@pytest.mark.rule("MQQP-3.1.4.1-36", "MQQP-3.1.4.10-38")
def test_a_cancelled_read_returns_what_the_cancel_gave(scene: Scene, cursor: Cursor, action: int) -> None:
    put(scene.queue, b"m")
    scene.read(PEEK, h_cursor=cursor.handle)
    if action != PEEK_NEXT:
        scene.read(RECEIVE)
    waiting = scene.start(action, ul_timeout=1000, h_cursor=cursor.handle if action == PEEK_NEXT else 0)
    assert scene.cancel().status == Status.MQ_OK
    assert waiting.status == Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT
    assert waiting.response.pph_context == NULL
    assert read_of(waiting).lp_buffer is None


@both
@pytest.mark.rule("MQQP-3.1.4.1-37", "MQQP-3.1.4.10-39")
def test_a_queue_that_is_closed_otherwise_ends_the_wait(scene: Scene) -> None:
    waiting = scene.start(RECEIVE, ul_timeout=1000)
    close_queue(scene.manager, scene.descriptor)
    assert waiting.status == Status.MQ_ERROR_OPERATION_CANCELLED
    assert scene.nothing_happened()


@both
@pytest.mark.parametrize("action", [RECEIVE, PEEK])
@pytest.mark.rule("MQQP-3.1.4.1-38", "MQQP-3.1.4.10-40")
def test_a_queue_that_was_deleted_is_not_available(scene: Scene, action: int) -> None:
    put(scene.queue, b"m")
    assert delete_queue(scene.manager, scene.queue) == Status.MQ_OK
    answer = scene.read(action, ul_timeout=1000)
    assert answer.status == Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
    assert scene.nothing_happened()


@both
@pytest.mark.parametrize("action", [RECEIVE, PEEK])
@pytest.mark.rule("MQQP-3.1.4.1-39", "MQQP-3.1.4.10-41", "MQQP-3.1.4.1-40", "MQQP-3.1.4.10-42")
@pytest.mark.rule("MQQP-3.1.4.1-41", "MQQP-3.1.4.10-43", "MQQP-3.1.4.1-42", "MQQP-3.1.4.10-44")
@pytest.mark.rule("MQQP-3.1.4.1-48", "MQQP-3.1.4.10-51", "MQQP-2.2.2.1-3", "MQQP-2.2.2.1-5", "MQQP-2.2.2.1-6")
def test_a_message_comes_as_its_packet_with_its_size_and_arrival(scene: Scene, action: int) -> None:
    pass_time(scene.manager, 61_999)
    message = put(scene.queue, b"the body")
    pass_time(scene.manager, 5_000)
    answer = scene.read(action)
    read = read_of(answer)
    assert answer.status == Status.MQ_OK
    assert read.lp_buffer == message.packet
    assert read.dw_size == decode(message.packet, as_="user_message").base_header.packet_size
    assert read.dw_arrive_time == EPOCH + 61


@both
@pytest.mark.parametrize("action", [RECEIVE, PEEK])
@pytest.mark.rule("MQQP-3.1.4.1-42", "MQQP-3.1.4.10-44", "MQQP-2.2.2.1-5")
def test_a_message_that_was_moved_comes_as_it_was_sent(scene: Scene, action: int) -> None:
    message = put(scene.queue, b"the body")
    sent = message.packet
    count_move(message, scene.queue, EPOCH)
    assert len(message.packet) == len(sent) + 188
    read = read_of(scene.read(action))
    assert (read.lp_buffer, read.dw_size) == (sent, len(sent))


@both
@pytest.mark.rule("MQQP-3.1.4.1-43", "MQQP-3.1.4.10-46", "MQQP-2.2.2.1-2", "MQQP-2.2.2.1-8")
def test_a_failure_returns_no_message_whatever_the_buffer_held(scene: Scene) -> None:
    answer = scene.read(RECEIVE, lp_buffer=b"12345", dw_size=5)
    read = read_of(answer)
    assert (answer.status, read.lp_buffer, read.dw_size) == (Status.MQ_ERROR_IO_TIMEOUT, None, 0)
    assert read.reserved == 1
    refused = scene.read(1, lp_buffer=b"12345", dw_size=5)
    assert (read_of(refused).lp_buffer, read_of(refused).dw_size) == (None, 0)


@both
@pytest.mark.rule("MQQP-2.2.2.1-1")
def test_a_size_out_of_range_is_a_fault(scene: Scene) -> None:
    message = put(scene.queue, b"m")
    assert scene.start(RECEIVE, dw_size=0x420001).status == BAD_STUB_DATA
    assert scene.nothing_happened(message)
    assert scene.read(PEEK, dw_size=0x420000, lp_buffer=None).status == Status.MQ_OK


@both
@pytest.mark.rule("MQQP-2.2.2.1-4")
def test_a_packet_that_cannot_be_marshalled_stays_and_goes_to_who_can_take_it(scene: Scene) -> None:
    packet = bytes(0x420001)
    waiting = [scene.start(RECEIVE, ul_timeout=1000, dw_request_id=number) for number in (1, 2)]
    got: list[tuple[int, ModelMessage | None]] = []
    dequeue_message(scene.descriptor, lambda status, message: got.append((status, message)))
    message = put(scene.queue, packet=packet)
    assert [one.status for one in waiting] == [Status.MQ_ERROR] * 2
    assert got == [(Status.MQ_OK, message)]
    largest = put(scene.queue, packet=packet[1:])
    assert scene.read(PEEK).status == Status.MQ_OK
    assert read_of(scene.read(RECEIVE)).lp_buffer == largest.packet
    too_large = put(scene.queue, packet=packet)
    for action in (PEEK, RECEIVE):
        answer = scene.read(action)
        assert (answer.status, answer.response.pph_context) == (Status.MQ_ERROR, NULL)
        assert position(too_large).state is PositionState.AVAILABLE


@both
@given(
    reserved=st.integers(0, 0xFFFFFFFF),
    ack=st.sampled_from(RemoteReadAck),
    timeout=st.integers(0, 0xFFFFFFFF),
    request=st.integers(0, 0xFFFFFFFF),
)
@pytest.mark.rule("MQQP-2.2.2.1-7", "MQQP-2.2.2.1-8", "MQQP-2.2.2.1-9", "MQQP-2.2.2.1-10")
def test_what_the_client_said_comes_back_and_what_means_nothing_is_ignored(
    method: str, reserved: int, ack: RemoteReadAck, timeout: int, request: int
) -> None:
    scene = Scene(method=method)
    put(scene.queue, b"m")
    cursor = scene.cursor().handle
    said = {"ul_timeout": timeout, "dw_request_id": request, "h_cursor": cursor}
    answer = scene.read(PEEK, reserved=reserved, e_ack_nack=ack, **said)
    read = read_of(answer)
    assert answer.status == Status.MQ_OK
    assert read.reserved == 1
    assert (read.h_remote_queue, read.dw_queue, read.h_cursor) == (scene.handle, scene.handle, cursor)
    assert (read.ul_action, read.ul_timeout, read.dw_request_id) == (PEEK, timeout, request)


@pytest.mark.rule("MQQP-2.2.2.2-1", "MQQP-2.2.2.2-2", "MQQP-3.1.4.10-45")
def test_the_sequential_identifier_is_the_lookup_identifier_without_its_high_byte(scene: Scene) -> None:
    message = ModelMessage(packet=b"p", priority=0, transactional=True)
    assert enqueue_message(scene.queue, message) == 0
    assert message.lookup_identifier >> 56 == 7
    answer = scene.read(PEEK, method=START2)
    assert answer.response.lp_remote_read_desc2.sequential_id == message.lookup_identifier & (1 << 56) - 1
    assert (
        scene.lookup(0x40000010, message.lookup_identifier).response.lp_remote_read_desc2.sequential_id == 1
    )


@pytest.mark.rule("MQQP-3.1.4.10-1", "MQQP-3.1.4.9-1", "MQQP-3.1.4.11-1")
@pytest.mark.parametrize("opnum", [8, 9, 10])
def test_windows_2000_has_no_methods_behind_the_eighth(opnum: int) -> None:
    scene = Scene(configuration=Qm2qmConfiguration(version=(5, 0, 2195)))
    request = scene.server.INTERFACE.methods[opnum].request.cls()
    assert scene.client.start_opnum(opnum, request).status == 0x1C010002
    newer = Scene(configuration=Qm2qmConfiguration(version=(5, 1, 1020)))
    assert newer.client.call_opnum(opnum, request).fault is None


def test_a_call_that_was_given_up_takes_no_message(scene: Scene) -> None:
    answers: list[int | None] = []
    request = qm2qm.RemoteQMStartReceiveRequest(lp_remote_read_desc=scene.wanted(RECEIVE, ul_timeout=1000))
    call = scene.server.serve(
        scene.client.association, 0, request, lambda answer: answers.append(answer.status)
    )
    assert call is not None
    call.throw(1)
    message = put(scene.queue, b"m")
    assert answers == [1]
    assert scene.nothing_happened(message)
