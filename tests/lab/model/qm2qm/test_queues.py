"""The rules of qm2qm about receives that end, queues, cursors, cancels, purges, ports and clients that go."""

from __future__ import annotations

import pytest

from msmq_wire.lab.model.data.elements import Cursor, ModelMessage
from msmq_wire.lab.model.data.enumerations import (
    PositionState,
    QueueAccessType,
    QueueShareMode,
    RemoteReadState,
)
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.events.queue import close_queue, delete_queue, open_queue
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_commit
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qm2qm.entries import OpenQueueEntry, Qm2qmConfiguration
from msmq_wire.rpc.constants import PortProtocol, RemoteReadAck
from msmq_wire.rpc.interfaces import qm2qm
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.qm2qm.scene import LICENCE, NULL, PEEK, RECEIVE, START, START2, Scene, both, read_of
from tests.lab.model.scene import Client, format_name, labels, pass_time, position, put, states
from tests.rules import rule_table

BAD_STUB_DATA, CONTEXT_MISMATCH, UNKNOWN_METHOD = 0x000006F7, 0x1C00001A, 0x1C010002
ACK, NACK = RemoteReadAck.RR_ACK, RemoteReadAck.RR_NACK
both_acks = pytest.mark.parametrize("ack", [ACK, NACK])


def _received(scene: Scene, body: bytes = b"m") -> tuple[ModelMessage, ContextHandle]:
    message = put(scene.queue, body)
    handle = scene.read(RECEIVE).response.pph_context
    assert isinstance(handle, ContextHandle)
    return message, handle


# RemoteQMEndReceive


@pytest.mark.rule("MQQP-3.1.4.2-1")
def test_the_null_handle_ends_no_receive() -> None:
    answer = Scene().end(NULL)
    assert (answer.fault, answer.status) == (None, Status.MQ_ERROR_INVALID_HANDLE)
    assert answer.response.pph_context == NULL


@pytest.mark.rule("MQQP-3.1.4.2-2")
def test_a_receive_that_the_client_does_not_have_is_a_fault(scene: Scene) -> None:
    message, handle = _received(scene)
    stranger = Client(scene.server, 2)
    request = qm2qm.RemoteQMEndReceiveRequest(pph_context=handle, dw_ack=ACK)
    assert stranger.call("remote_qm_end_receive", request).fault == CONTEXT_MISMATCH
    assert scene.end(scene.session).fault == CONTEXT_MISMATCH
    assert scene.end(ContextHandle(uuid=GUID(b"0123456789abcdef"))).fault == CONTEXT_MISMATCH
    assert position(message).state is PositionState.LOCKED
    assert scene.end(handle).status == Status.MQ_OK
    assert scene.end(handle).fault == CONTEXT_MISMATCH


@pytest.mark.parametrize("ack", [0, 3, 0xFFFFFFFF])
@pytest.mark.rule("MQQP-3.1.4.2-3")
def test_an_acknowledgment_out_of_range_is_a_fault_and_ends_nothing(scene: Scene, ack: int) -> None:
    message, handle = _received(scene)
    assert scene.end(handle, ack).fault == BAD_STUB_DATA
    assert position(message).state is PositionState.LOCKED
    assert scene.end(handle).status == Status.MQ_OK


@pytest.mark.rule("MQQP-3.1.4.2-5")
def test_only_an_old_server_looks_whether_the_queue_is_open_when_a_receive_ends() -> None:
    for search, status, left in ((False, Status.MQ_OK, []), (True, Status.MQ_ERROR_INVALID_PARAMETER, ["m"])):
        scene = Scene(configuration=Qm2qmConfiguration(search_open_queues=search))
        _, handle = _received(scene)
        assert scene.close().status == Status.MQ_OK
        assert scene.end(handle).status == status
        assert labels(scene.queue) == left


@pytest.mark.rule("MQQP-3.1.4.2-4", "MQQP-3.1.4.2-6", "MQQP-3.1.4.2-7", "MQQP-3.1.4.2-8", "MQQP-3.1.4.2-10")
@pytest.mark.rule("MQQP-3.1.4.2-16", "MQQP-3.1.4.2-17", "MQQP-3.1.4.2-18")
def test_an_acknowledged_receive_removes_its_message_for_good(scene: Scene) -> None:
    _, handle = _received(scene)
    put(scene.queue, b"n")
    answer = scene.end(handle, ACK)
    assert (answer.status, answer.response.pph_context) == (Status.MQ_OK, NULL)
    assert labels(scene.queue) == ["n"]
    assert scene.deleted == [("m", MessageClass.MQMSG_CLASS_ACK_RECEIVE)]
    assert handle.uuid not in scene.client.association.handles


@pytest.mark.rule("MQQP-3.1.4.2-8", "MQQP-3.1.4.2-11", "MQQP-3.1.4.2-16", "MQQP-3.1.4.2-17")
def test_a_receive_that_is_not_acknowledged_puts_the_message_back_in_its_place(scene: Scene) -> None:
    _, handle = _received(scene)
    put(scene.queue, b"n")
    answer = scene.end(handle, NACK)
    assert (answer.status, answer.response.pph_context) == (Status.MQ_OK, NULL)
    assert (labels(scene.queue), states(scene.queue)) == (["m", "n"], ["Available", "Available"])
    assert scene.deleted == []
    assert handle.uuid not in scene.client.association.handles


@both_acks
@pytest.mark.rule("MQQP-3.1.4.2-9")
def test_a_receive_whose_queue_was_closed_is_settled_all_the_same(scene: Scene, ack: int) -> None:
    _, handle = _received(scene)
    assert scene.close().status == Status.MQ_OK
    assert scene.end(handle, ack).status == Status.MQ_OK
    assert states(scene.queue) == (["Available"] if ack == NACK else [])


@pytest.mark.rule("MQQP-3.1.4.2-12")
def test_a_message_that_comes_back_wakes_who_waits(scene: Scene) -> None:
    message, handle = _received(scene)
    waiting = scene.start(RECEIVE, ul_timeout=1000, method=START2)
    assert scene.end(handle, NACK).status == Status.MQ_OK
    assert read_of(waiting).lp_buffer == message.packet
    assert position(message).state is PositionState.LOCKED


@both_acks
@pytest.mark.rule("MQQP-3.1.4.2-13")
def test_a_message_that_was_purged_meanwhile_goes_whatever_the_client_says(scene: Scene, ack: int) -> None:
    _, handle = _received(scene)
    assert scene.purge().status == Status.MQ_OK
    assert labels(scene.queue) == ["m"]
    assert scene.end(handle, ack).status == Status.MQ_OK
    assert labels(scene.queue) == []
    assert scene.deleted == [("m", MessageClass.MQMSG_CLASS_NACK_Q_PURGED)]


@both_acks
@pytest.mark.rule("MQQP-3.1.4.2-14", "MQQP-3.1.4.2-16", "MQQP-3.1.4.2-17")
def test_a_message_that_is_available_already_is_out_of_sequence(scene: Scene, ack: int) -> None:
    message, handle = _received(scene)
    position(message).state = PositionState.AVAILABLE
    answer = scene.end(handle, ack)
    assert (answer.status, answer.response.pph_context) == (Status.MQ_ERROR_TRANSACTION_SEQUENCE, NULL)
    assert states(scene.queue) == ["Available"]
    assert handle.uuid not in scene.client.association.handles


@both_acks
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.rule("MQQP-3.1.4.2-15", "MQQP-3.1.4.2-16", "MQQP-3.1.4.2-17")
def test_a_receive_of_a_queue_that_was_deleted_changes_nothing(scene: Scene, ack: int, closed: bool) -> None:
    message, handle = _received(scene)
    if closed:
        assert scene.close().status == Status.MQ_OK
    assert delete_queue(scene.manager, scene.queue) == Status.MQ_OK
    answer = scene.end(handle, ack)
    assert (answer.status, answer.response.pph_context) == (Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, NULL)
    assert position(message).state is PositionState.DELETED
    assert scene.queue.total_bytes == 0


# RemoteQMOpenQueue


def _open(
    client: Client, *, mqs: int = 0, h_queue: int = 0, p_queue: int = 0, context: int = 0
) -> CallResult:
    request = qm2qm.RemoteQMOpenQueueRequest(
        p_lic_guid=LICENCE, dw_mqs=mqs, h_queue=h_queue, p_queue=p_queue, dwp_context=context
    )
    return client.call("remote_qm_open_queue", request)


@pytest.mark.rule("MQQP-3.1.4.3-1")
def test_dw_mqs_out_of_range_is_a_fault() -> None:
    scene = Scene(opened=False)
    assert _open(scene.client, mqs=17, p_queue=scene.handle, context=scene.handle).fault == BAD_STUB_DATA
    assert _open(scene.client, mqs=16, p_queue=scene.handle, context=scene.handle).status == Status.MQ_OK


@pytest.mark.rule("MQQP-3.1.4.3-2", "MQQP-3.1.4.3-10")
def test_windows_2000_goes_by_h_queue() -> None:
    scene = Scene(opened=False, configuration=Qm2qmConfiguration(version=(5, 0, 2195)))
    refused = _open(scene.client, h_queue=4711, p_queue=scene.handle, context=scene.handle)
    assert refused.status == Status.MQ_ERROR_INVALID_PARAMETER
    answer = _open(scene.client, h_queue=scene.handle, p_queue=1001, context=1002)
    assert answer.status == Status.MQ_OK
    entry = scene.client.association.thing(answer.response.ph_context, OpenQueueEntry)
    assert entry.open_queue_descriptor_handle == scene.handle


@pytest.mark.rule("MQQP-3.1.4.3-3", "MQQP-3.1.4.3-9", "MQQP-3.1.4.3-10", "MQQP-3.1.4.3-11", "MQQP-3.1.4.3-12")
@pytest.mark.rule("MQQP-3.1.4.3-15")
def test_an_opened_queue_is_an_entry_with_a_handle() -> None:
    scene = Scene(opened=False)
    answer = _open(scene.client, h_queue=4711, p_queue=scene.handle, context=scene.handle)
    assert answer.status == Status.MQ_OK
    handle = answer.response.ph_context
    assert not handle.null
    entry = scene.client.association.thing(handle, OpenQueueEntry)
    assert (entry.open_queue_descriptor_handle, entry.client_id) == (scene.handle, LICENCE)
    assert scene.handle in scene.server.open_queue_entry_collection
    assert scene.descriptor.remote_read_state is RemoteReadState.READY_FOR_READ


@rule_table(
    "p_queue, context",
    ("MQQP-3.1.4.3-5", 0, 5),
    ("MQQP-3.1.4.3-6", 5, 0),
    ("MQQP-3.1.4.3-7", 5, 6),
)
@pytest.mark.rule("MQQP-3.1.4.3-16")
def test_two_numbers_that_are_not_one_open_nothing(p_queue: int, context: int) -> None:
    scene = Scene(opened=False)
    answer = _open(scene.client, h_queue=scene.handle, p_queue=p_queue, context=context)
    assert answer.status == Status.MQ_ERROR_INVALID_PARAMETER
    assert answer.response.ph_context == NULL
    assert len(scene.server.open_queue_entry_collection) == 0
    assert scene.client.association.handles == {}


@pytest.mark.rule("MQQP-3.1.4.3-8")
def test_no_number_of_clients_is_too_many(scene: Scene) -> None:
    for number in range(2, 100):
        client = Client(scene.server, number)
        assert _open(client, p_queue=scene.handle, context=scene.handle).status == Status.MQ_OK
    assert len(scene.server.open_queue_entry_collection) == 99


@pytest.mark.rule("MQQP-3.1.4.3-13")
def test_a_number_of_no_descriptor_is_opened_and_then_reads_nothing() -> None:
    scene = Scene(opened=False)
    assert _open(scene.client, p_queue=4711, context=4711).status == Status.MQ_OK
    answer = scene.read(PEEK, queue=4711)
    assert answer.status == Status.MQ_ERROR_INVALID_PARAMETER


@pytest.mark.rule("MQQP-3.1.4.3-14")
def test_a_queue_that_is_opened_twice_has_two_handles(scene: Scene) -> None:
    second = scene.open()
    assert second != scene.session
    assert len(scene.server.open_queue_entry_collection) == 2


# RemoteQMCloseQueue


@pytest.mark.rule("MQQP-3.1.4.4-1")
def test_the_null_handle_closes_no_queue(scene: Scene) -> None:
    assert scene.close(NULL).status == Status.MQ_ERROR_INVALID_HANDLE
    assert scene.handle in scene.server.open_queue_entry_collection


@pytest.mark.rule("MQQP-3.1.4.4-2")
def test_a_queue_that_the_client_does_not_have_open_is_a_fault(scene: Scene) -> None:
    _, receive = _received(scene)
    request = qm2qm.RemoteQMCloseQueueRequest(pph_context=scene.session)
    assert Client(scene.server, 2).call("remote_qm_close_queue", request).fault == CONTEXT_MISMATCH
    assert scene.close(receive).fault == CONTEXT_MISMATCH
    assert scene.close().status == Status.MQ_OK
    assert scene.close().fault == CONTEXT_MISMATCH


@pytest.mark.rule("MQQP-3.1.4.4-4")
def test_only_an_old_server_looks_for_the_queue_that_is_to_be_closed() -> None:
    for search, status in ((False, Status.MQ_OK), (True, Status.MQ_ERROR_INVALID_PARAMETER)):
        scene = Scene(configuration=Qm2qmConfiguration(search_open_queues=search))
        entry = scene.client.association.thing(scene.session, OpenQueueEntry)
        scene.server.open_queue_entry_collection.remove(entry)
        assert scene.close().status == status


@pytest.mark.rule("MQQP-3.1.4.4-3", "MQQP-3.1.4.4-5", "MQQP-3.1.4.4-9", "MQQP-3.1.4.4-10", "MQQP-3.1.4.4-12")
@pytest.mark.rule("MQQP-3.1.4.4-13", "MQQP-3.1.4.4-14")
def test_a_closed_queue_is_free_for_others_and_has_no_cursors(scene: Scene, cursor: Cursor) -> None:
    scene.descriptor.share_mode = QueueShareMode.DENY_RECEIVE
    name = format_name(scene.queue)
    shared = open_queue(scene.manager, name, QueueAccessType.RECEIVE_ACCESS)
    assert shared == (Status.MQ_ERROR_SHARING_VIOLATION, None)
    answer = scene.close()
    assert (answer.status, answer.response.pph_context) == (Status.MQ_OK, NULL)
    assert scene.queue.open_queue_descriptor_collection == []
    assert cursor.handle not in scene.manager.cursors
    assert scene.handle not in scene.manager.descriptors
    assert len(scene.server.open_queue_entry_collection) == 0
    assert scene.client.association.handles == {}
    assert open_queue(scene.manager, name, QueueAccessType.RECEIVE_ACCESS)[0] == Status.MQ_OK


@pytest.mark.rule("MQQP-3.1.4.4-6", "MQQP-3.1.4.4-7", "MQQP-3.1.4.4-14")
def test_closing_cancels_the_reads_of_this_handle_and_of_no_other(scene: Scene) -> None:
    other = scene.opened().handle
    scene.open(handle=other)
    of_other = scene.start(RECEIVE, ul_timeout=1000, queue=other)
    waiting = [
        scene.start(RECEIVE, ul_timeout=1000, dw_request_id=1),
        scene.start(PEEK, ul_timeout=1000, dw_request_id=2, method=START2),
    ]
    assert scene.close().status == Status.MQ_OK
    assert [one.status for one in waiting] == [Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT] * 2
    assert of_other.answer is None
    put(scene.queue, b"m")
    assert of_other.status == Status.MQ_OK


@pytest.mark.rule("MQQP-3.1.4.4-8")
def test_closing_leaves_a_receive_that_was_started(scene: Scene) -> None:
    message, handle = _received(scene)
    assert scene.close().status == Status.MQ_OK
    assert position(message).state is PositionState.LOCKED
    assert scene.end(handle).status == Status.MQ_OK


@pytest.mark.rule("MQQP-3.1.4.4-11")
def test_closing_a_queue_whose_descriptor_is_gone_succeeds(scene: Scene) -> None:
    close_queue(scene.manager, scene.descriptor)
    assert scene.close().status == Status.MQ_OK
    assert len(scene.server.open_queue_entry_collection) == 0


# RemoteQMCloseCursor


@pytest.mark.rule("MQQP-3.1.4.5-1", "MQQP-3.1.4.5-2", "MQQP-3.1.4.5-5", "MQQP-3.1.4.5-7")
def test_a_closed_cursor_is_unknown(scene: Scene, cursor: Cursor) -> None:
    assert scene.close_cursor(cursor.handle).status == Status.MQ_OK
    assert scene.descriptor.cursor_collection == []
    assert scene.read(PEEK, h_cursor=cursor.handle).status == Status.STATUS_INVALID_PARAMETER
    assert scene.close_cursor(cursor.handle).status == Status.MQ_ERROR_INVALID_HANDLE


@pytest.mark.rule("MQQP-3.1.4.5-3", "MQQP-3.1.4.5-4")
def test_a_cursor_is_closed_by_its_own_queue_only(scene: Scene, cursor: Cursor) -> None:
    assert scene.close_cursor(cursor.handle, 4711).status == Status.MQ_ERROR_INVALID_HANDLE
    assert scene.close_cursor(cursor.handle, scene.opened().handle).status == Status.MQ_ERROR_INVALID_HANDLE
    assert scene.close_cursor(4711).status == Status.MQ_ERROR_INVALID_HANDLE
    assert scene.descriptor.cursor_collection == [cursor]


@pytest.mark.rule("MQQP-3.1.4.5-6")
def test_who_waits_with_a_cursor_that_is_closed_waits_no_more(scene: Scene, cursor: Cursor) -> None:
    waiting = scene.start(RECEIVE, ul_timeout=1000, h_cursor=cursor.handle)
    assert scene.close_cursor(cursor.handle).status == Status.MQ_OK
    assert waiting.status == Status.MQ_ERROR_OPERATION_CANCELLED
    assert scene.nothing_happened()


# RemoteQMCancelReceive


@rule_table(
    "h_queue, p_queue",
    ("MQQP-3.1.4.6-1", None, 0),
    ("MQQP-3.1.4.6-2", None, 4711),
    ("MQQP-3.1.4.6-3", 0, 4711),
    ("MQQP-3.1.4.6-1", 0, 0),
)
def test_a_cancel_names_its_queue_twice(scene: Scene, h_queue: int | None, p_queue: int) -> None:
    waiting = scene.start(RECEIVE, ul_timeout=1000)
    answer = scene.cancel(handle=h_queue, same=p_queue)
    assert answer.status == Status.MQ_ERROR_INVALID_PARAMETER
    assert waiting.answer is None


@pytest.mark.rule("MQQP-3.1.4.6-4", "MQQP-3.1.4.6-6", "MQQP-3.1.4.6-7")
def test_a_cancel_where_nothing_is_pending_is_an_invalid_handle(scene: Scene) -> None:
    other = scene.opened().handle
    scene.open(handle=other)
    assert scene.cancel(handle=4711).status == Status.MQ_ERROR_INVALID_HANDLE
    waiting = scene.start(RECEIVE, ul_timeout=1000, queue=other)
    assert scene.cancel().status == Status.MQ_ERROR_INVALID_HANDLE
    assert waiting.answer is None
    message, _ = _received(scene, b"n")
    assert waiting.status == Status.MQ_OK
    assert scene.cancel(handle=other).status == Status.MQ_ERROR_INVALID_HANDLE
    assert position(message).state is PositionState.LOCKED


@pytest.mark.rule("MQQP-3.1.4.6-5", "MQQP-3.1.4.6-6", "MQQP-3.1.4.6-7")
def test_a_cancel_of_a_request_that_is_not_pending_fails(scene: Scene) -> None:
    message, _ = _received(scene)
    waiting = scene.start(RECEIVE, ul_timeout=1000, dw_request_id=2)
    other = scene.opened().handle
    scene.open(handle=other)
    scene.start(RECEIVE, ul_timeout=1000, dw_request_id=3, queue=other)
    for request in (1, 3, 4):
        assert scene.cancel(request).status == Status.MQ_ERROR
    assert waiting.answer is None
    assert position(message).state is PositionState.LOCKED


@pytest.mark.rule("MQQP-3.1.4.6-9")
def test_a_cancel_without_a_descriptor_is_an_invalid_handle(scene: Scene) -> None:
    scene.start(RECEIVE, ul_timeout=1000)
    del scene.manager.descriptors[scene.handle]
    assert scene.cancel().status == Status.MQ_ERROR_INVALID_HANDLE
    assert scene.pending == 1


@pytest.mark.parametrize("action", [RECEIVE, PEEK])
@both
@pytest.mark.rule("MQQP-3.1.4.6-8", "MQQP-3.1.4.6-10", "MQQP-3.1.4.6-12", "MQQP-3.1.4.6-13")
@pytest.mark.rule("MQQP-3.1.4.6-16", "MQQP-3.1.4.6-17")
def test_a_cancelled_read_is_answered_and_its_request_identifier_is_free(scene: Scene, action: int) -> None:
    waiting = scene.start(action, ul_timeout=1000)
    assert scene.cancel().status == Status.MQ_OK
    assert waiting.status == Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT
    assert waiting.response.pph_context == NULL
    assert read_of(waiting).lp_buffer is None
    assert scene.pending == 0
    assert scene.manager.timers.running == 0
    assert scene.start(action, ul_timeout=1000).answer is None


@pytest.mark.rule("MQQP-3.1.4.6-11", "MQQP-3.1.1.3-1")
def test_a_cancel_is_for_one_descriptor_whoever_waits_on_it(scene: Scene) -> None:
    other = scene.opened().handle
    client = Client(scene.server, 2)
    scene.open(client, other)
    of_other = scene.start(RECEIVE, client=client, ul_timeout=1000, queue=other)
    of_client = scene.start(RECEIVE, client=client, ul_timeout=1000)
    assert scene.cancel().status == Status.MQ_OK
    assert of_client.status == Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT
    assert of_other.answer is None


@pytest.mark.rule("MQQP-3.1.4.6-14", "MQQP-3.1.4.6-16")
def test_a_cancel_of_a_read_that_does_not_wait_finds_nothing_and_removes_it(scene: Scene) -> None:
    scene.start(RECEIVE, ul_timeout=1000)
    scene.descriptor.waiting_message_read_operation_collection.clear()
    assert scene.cancel().status == Status.STATUS_NOT_FOUND
    assert scene.pending == 0


@pytest.mark.rule("MQQP-3.1.4.6-15")
def test_what_arrives_after_a_cancel_goes_to_the_next_reader(scene: Scene) -> None:
    scene.start(RECEIVE, ul_timeout=1000, dw_request_id=1)
    second = scene.start(RECEIVE, ul_timeout=1000, dw_request_id=2)
    assert scene.cancel(1).status == Status.MQ_OK
    put(scene.queue, b"m")
    assert second.status == Status.MQ_OK
    assert states(scene.queue) == ["Locked"]


# RemoteQMPurgeQueue


@pytest.mark.rule("MQQP-3.1.4.7-1", "MQQP-3.1.4.7-2")
def test_a_queue_that_is_not_open_is_not_purged() -> None:
    scene = Scene(opened=False)
    put(scene.queue, b"m")
    answer = scene.purge()
    assert (answer.response, answer.fault) == (None, Status.MQ_ERROR_INVALID_HANDLE)
    older = Scene(opened=False, configuration=Qm2qmConfiguration(throw_purge_failures=False))
    answer = older.purge()
    assert (answer.fault, answer.status) == (None, Status.MQ_ERROR_INVALID_HANDLE)
    scene.open()
    assert labels(scene.queue) == ["m"]
    assert scene.purge().status == Status.MQ_OK


@pytest.mark.rule("MQQP-3.1.4.7-3")
def test_an_entry_without_a_descriptor_purges_nothing(scene: Scene) -> None:
    put(scene.queue, b"m")
    close_queue(scene.manager, scene.descriptor)
    assert scene.purge().fault == Status.MQ_ERROR_INVALID_HANDLE
    assert labels(scene.queue) == ["m"]


@pytest.mark.rule("MQQP-3.1.4.7-4")
def test_a_handle_for_peeks_purges_nothing() -> None:
    scene = Scene(QueueAccessType.PEEK_ACCESS)
    put(scene.queue, b"m")
    assert scene.purge().fault == Status.MQ_ERROR_ACCESS_DENIED
    assert labels(scene.queue) == ["m"]


def test_a_queue_that_was_deleted_cannot_be_purged(scene: Scene) -> None:
    assert delete_queue(scene.manager, scene.queue) == Status.MQ_OK
    assert scene.purge().fault == Status.MQ_ERROR_QUEUE_NOT_AVAILABLE


@pytest.mark.rule("MQQP-3.1.4.7-5", "MQQP-3.1.4.7-6", "MQQP-3.1.4.7-7", "MQQP-3.1.4.7-9")
def test_a_purge_removes_what_is_available_and_marks_what_is_locked(scene: Scene) -> None:
    _, handle = _received(scene, b"received")
    put(scene.queue, b"in a transaction")
    transaction = create_transaction(scene.manager, b"t" * 16)
    dequeue_message(scene.descriptor, lambda status, message: None, transaction=transaction)
    put(scene.queue, b"available")
    answer = scene.purge()
    assert (answer.fault, answer.status) == (None, Status.MQ_OK)
    assert scene.deleted == [("available", MessageClass.MQMSG_CLASS_NACK_Q_PURGED)]
    assert states(scene.queue) == ["PurgePending", "PurgePending"]
    assert scene.end(handle, NACK).status == Status.MQ_OK
    assert transaction_commit(scene.manager, b"t" * 16) == Status.MQ_OK
    assert labels(scene.queue) == []
    assert scene.purge().status == Status.MQ_OK


@pytest.mark.rule("MQQP-3.1.4.7-8")
def test_who_waits_goes_on_waiting_when_the_queue_is_purged(scene: Scene) -> None:
    waiting = scene.start(RECEIVE, ul_timeout=1000)
    assert scene.purge().status == Status.MQ_OK
    assert waiting.answer is None
    put(scene.queue, b"m")
    assert waiting.status == Status.MQ_OK


# RemoteQMGetQMQMServerPort and RemoteQmGetVersion


def _port(scene: Scene, kind: int) -> int:
    request = qm2qm.RemoteQMGetQMQMServerPortRequest(dw_port_type=kind)
    answer = scene.client.call("remote_qm_get_qmqm_server_port", request)
    port = answer.response.return_value
    assert isinstance(port, int)
    return port


@rule_table(
    "kind, port",
    ("MQQP-3.1.4.8-1", PortProtocol.IP_HANDSHAKE, 2103),
    ("MQQP-3.1.4.8-2", PortProtocol.IP_READ, 2105),
    ("MQQP-3.1.4.8-3", PortProtocol.IPX_HANDSHAKE, 0),
    ("MQQP-3.1.4.8-4", PortProtocol.IPX_READ, 0),
    ("MQQP-3.1.4.8-5", 4, 0),
    ("MQQP-3.1.4.8-5", 0xFFFFFFFF, 0),
)
@pytest.mark.rule("MQQP-3.1.4.8-8", "MQQP-3.1.4.8-10")
def test_a_port_is_told_by_its_kind_before_anything_is_open(kind: int, port: int) -> None:
    scene = Scene(opened=False)
    assert [_port(scene, kind) for _ in range(2)] == [port, port]


@pytest.mark.rule("MQQP-3.1.4.8-3", "MQQP-3.1.4.8-4", "MQQP-3.1.4.8-6")
def test_ports_are_those_of_the_configuration_and_none_is_0() -> None:
    configuration = Qm2qmConfiguration(
        handshake_port=2114, read_port=0, spx_handshake_port=2103, spx_read_port=2105
    )
    scene = Scene(configuration=configuration)
    assert [_port(scene, kind) for kind in PortProtocol] == [2114, 0, 2103, 2105]


@pytest.mark.rule("MQQP-3.1.4.9-2", "MQQP-3.1.4.9-3", "MQQP-3.1.4.9-4", "MQQP-3.1.4.9-5", "MQQP-3.1.4.9-6")
def test_the_version_is_told_without_a_status_before_anything_is_open() -> None:
    scene = Scene(opened=False)
    answer = scene.client.call("remote_qm_get_version", NoParameters())
    version = answer.response
    assert (version.p_major, version.p_minor, version.p_build_number) == (6, 1, 7601)
    assert (answer.fault, answer.status) == (None, None)


# All methods


@pytest.mark.parametrize("opnum", [11, 12, 255, 65535])
@pytest.mark.rule("MQQP-3.1.4-2")
def test_there_is_no_method_behind_the_last(opnum: int) -> None:
    assert Scene().client.call_opnum(opnum, NoParameters()).fault == UNKNOWN_METHOD


@pytest.mark.rule("MQQP-3.1.4-3", "MQQP-2.2-2")
@pytest.mark.parametrize("opnum", [0, 1, 2, 3, 4, 5, 9, 10])
def test_a_failure_is_the_return_value_and_no_fault(opnum: int) -> None:
    scene = Scene(opened=False)
    request = (
        qm2qm.RemoteQMEndReceiveRequest(dw_ack=1)
        if opnum == 1
        else scene.server.INTERFACE.methods[opnum].request.cls()
    )
    answer = scene.client.call_opnum(opnum, request)
    assert answer.fault is None
    assert answer.status is not None
    assert answer.status >= 0x80000000


@pytest.mark.rule("MQQP-5-1")
@pytest.mark.parametrize(
    ("refuse", "level", "refused"), [(False, 1, False), (True, 1, True), (True, 2, False)]
)
def test_a_client_that_says_nothing_about_itself_may_be_refused(
    refuse: bool, level: int, refused: bool
) -> None:
    scene = Scene(opened=False, configuration=Qm2qmConfiguration(refuse_unauthenticated=refuse))
    scene.client.association.auth_level = level
    answer = _open(scene.client, p_queue=scene.handle, context=scene.handle)
    assert (answer.status == Status.MQ_ERROR_ACCESS_DENIED) is refused
    version = scene.client.call("remote_qm_get_version", NoParameters())
    assert (version.fault == Status.MQ_ERROR_ACCESS_DENIED) is refused
    assert len(scene.server.open_queue_entry_collection) == (0 if refused else 1)


@pytest.mark.rule("MQQP-5-2")
def test_the_port_is_told_to_everybody() -> None:
    scene = Scene(opened=False, configuration=Qm2qmConfiguration(refuse_unauthenticated=True))
    assert _port(scene, PortProtocol.IP_READ) == 2105


@pytest.mark.rule("MQQP-3.1.1.5-1")
def test_a_queue_that_one_client_opened_is_open_for_all(scene: Scene) -> None:
    put(scene.queue, b"m")
    client = Client(scene.server, 2)
    assert scene.start(PEEK, client=client).status == Status.MQ_OK


# Rundown


@pytest.mark.rule("MQQP-3.1.6.1-1")
def test_a_client_that_is_gone_has_no_queue_open_and_waits_for_nothing(scene: Scene, cursor: Cursor) -> None:
    waiting = scene.start(RECEIVE, ul_timeout=1000, h_cursor=cursor.handle)
    scene.client.disconnect()
    assert waiting.status == Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT
    assert scene.queue.open_queue_descriptor_collection == []
    assert len(scene.server.open_queue_entry_collection) == scene.pending == 0
    assert scene.client.association.handles == {}
    assert scene.manager.cursors == {}
    assert scene.manager.timers.running == 0


@pytest.mark.rule("MQQP-3.1.6.1-2")
def test_a_queue_that_was_closed_is_not_closed_again(scene: Scene) -> None:
    assert scene.close().status == Status.MQ_OK
    second = scene.opened()
    scene.client.disconnect()
    assert scene.queue.open_queue_descriptor_collection == [second]


@rule_table(
    "how",
    ("MQQP-3.1.6.2-1", START),
    ("MQQP-3.1.6.2-3", START2),
    ("MQQP-3.1.6.2-3", "lookup"),
)
@pytest.mark.rule("MQQP-3.1.6.2-2")
def test_a_receive_of_a_client_that_is_gone_puts_the_message_back(scene: Scene, how: str) -> None:
    message = put(scene.queue, b"m")
    started = scene.lookup(0x40000021, 0) if how == "lookup" else scene.read(RECEIVE, method=how)
    assert started.status == Status.MQ_OK
    assert position(message).state is PositionState.LOCKED
    scene.client.disconnect()
    assert (states(scene.queue), scene.deleted) == (["Available"], [])
    assert scene.client.association.handles == {}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.rule("MQQP-3.1.6.2-4")
def test_a_message_comes_back_once_in_whichever_order_handles_go(scene: Scene, backwards: bool) -> None:
    other = scene.opened()
    reader = Client(scene.server, 2)
    scene.open(reader, other.handle)
    message, _ = _received(scene)
    waiting = [
        scene.start(RECEIVE, client=reader, ul_timeout=1000, dw_request_id=number, queue=other.handle)
        for number in (1, 2)
    ]
    if backwards:
        handles = scene.client.association.handles
        scene.client.association.handles = dict(reversed(handles.items()))
    scene.client.disconnect()
    assert waiting[0].status == Status.MQ_OK
    assert waiting[1].answer is None
    assert position(message).state is PositionState.LOCKED


def test_a_message_that_comes_back_is_not_given_to_the_client_that_is_gone(scene: Scene) -> None:
    message, _ = _received(scene)
    other = scene.opened()
    scene.open(Client(scene.server, 2), other.handle)
    # Its read is on a queue that another client opened, so that no handle of its own stands for it.
    waiting = scene.start(RECEIVE, ul_timeout=5000, dw_request_id=2, queue=other.handle)
    scene.client.disconnect()
    assert waiting.status == Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT
    assert position(message).state is PositionState.AVAILABLE
    pass_time(scene.manager, 5000)
    assert scene.pending == 0


def test_a_handle_of_another_interface_is_left_to_it(scene: Scene) -> None:
    handle = scene.client.association.handle(scene.manager, "of another interface")
    scene.client.disconnect()
    assert scene.client.association.handles == {handle.uuid: "of another interface"}
