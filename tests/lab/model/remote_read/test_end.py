"""RemoteRead: how receives end, rule by rule. [MS-MQRR] 3.1.4.8, 3.1.4.9, 3.1.4.15, 3.1.5, 3.1.6"""

from __future__ import annotations

import pytest

from msmq_wire.lab.model.data.enumerations import CursorState, PositionState
from msmq_wire.lab.model.events.message import purge_queue
from msmq_wire.lab.model.events.position import message_position_deleted
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.lab.model.events.transaction import transaction_abort, transaction_commit
from msmq_wire.lab.model.remote_read import pending as remote_read_pending
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.remote_read.scene import (
    ACK,
    BAD_STUB_DATA,
    CANCELLED,
    CONTEXT_MISMATCH,
    INVALID_HANDLE,
    INVALID_PARAMETER,
    MESSAGE_NOT_FOUND,
    NACK,
    OK,
    PEEK_CURRENT,
    QUEUE_NOT_AVAILABLE,
    STATUS_NOT_FOUND,
    TRANSACTION,
    TRANSACTION_SEQUENCE,
    Scene,
    body,
    both,
)
from tests.lab.model.scene import labels, pass_time, position, put, states

PURGED = int(MessageClass.MQMSG_CLASS_NACK_Q_PURGED)
RECEIVED = int(MessageClass.MQMSG_CLASS_ACK_RECEIVE)
FIVE_MINUTES = 300_000


@pytest.mark.rule("MQRR-3.1.4.8-4", "MQRR-3.1.4.8-8")
def test_nothing_to_cancel_is_not_found(scene: Scene) -> None:
    put(scene.queue, b"a")
    handle, (for_moves, _) = scene.client.open(scene.queue), scene.client.open_for_move(scene.queue)
    with scene.unchanged():
        assert scene.client.cancel(handle, 1) == STATUS_NOT_FOUND
        assert scene.client.cancel(for_moves, 1) == STATUS_NOT_FOUND


@pytest.mark.rule("MQRR-3.1.4.8-9", "MQRR-3.1.4.8-8")
@both
def test_a_receive_that_was_answered_cannot_be_cancelled(scene: Scene) -> None:
    handle, _ = scene.taken()
    with scene.unchanged():
        assert scene.client.cancel(handle) == STATUS_NOT_FOUND
    assert states(scene.queue) == ["Locked"]


@pytest.mark.rule("MQRR-3.1.4.8-10", "MQRR-3.1.4.8-6")
def test_a_receive_of_another_handle_is_not_cancelled(scene: Scene) -> None:
    handle, other = scene.client.open(scene.queue), scene.another_client()
    others = other.open(scene.queue)
    waiting = other.begin(others, timeout=1000)
    assert scene.client.cancel(handle) == STATUS_NOT_FOUND
    assert waiting.answer is None
    assert scene.server.pending_request_table.find(scene.context(others, other), 1) is not None


@pytest.mark.rule("MQRR-3.1.4.8-5", "MQRR-3.1.4.8-6", "MQRR-3.1.4.8-7", "MQRR-3.1.4.8-11", "MQRR-3.1.4.8-12")
@pytest.mark.rule("MQRR-3.1.4.8-13", "MQRR-3.1.4.8-14", "MQRR-3.1.4.8-15", "MQRR-2.2.4.1-1")
@both
def test_a_receive_that_waits_is_cancelled_and_leaves_nothing(scene: Scene, handle: ContextHandle) -> None:
    waiting = scene.client.begin(handle, request_id=1, timeout=1000)
    another = scene.client.begin(handle, request_id=2, timeout=1000)
    _, timer = scene.pending(handle, 1)
    assert scene.client.cancel(handle, 1) == OK
    assert waiting.status == CANCELLED
    assert another.answer is None
    assert scene.entry(handle, 1) is None
    assert not timer.running
    assert not any(scene.state()["transactions"].values())
    put(scene.queue, b"a")
    assert another.status == OK


@pytest.mark.rule("MQRR-3.1.4.8-11", "MQRR-3.1.4.8-14", "MQRR-3.1.4.7-62")
def test_a_peek_that_waits_is_cancelled(scene: Scene, handle: ContextHandle) -> None:
    waiting = scene.client.begin(handle, PEEK_CURRENT, request_id=3, timeout=1000)
    assert scene.client.cancel(handle, 3) == OK
    assert waiting.status == CANCELLED
    assert (scene.state()["timers"], scene.context(handle).waiting_peeks) == (0, set())


@pytest.mark.rule("MQRR-3.1.4.8-16")
@both
def test_a_cursor_whose_wait_is_cancelled_is_unread(scene: Scene, handle: ContextHandle) -> None:
    number = scene.client.create_cursor(handle)
    scene.client.begin(handle, cursor=number, timeout=1000)
    assert scene.manager.cursors[number].cursor_state is CursorState.WAIT_RECEIVE
    assert scene.client.cancel(handle) == OK
    assert scene.manager.cursors[number].cursor_state is CursorState.UNREAD


@pytest.mark.rule("MQRR-3.1.4.9-3", "MQRR-3.1.4.15-3")
@both
@pytest.mark.parametrize("ack", [0, 3, 0xFFFFFFFF])
def test_an_acknowledgment_out_of_range_is_a_fault(scene: Scene, ack: int) -> None:
    handle, _ = scene.taken()
    with scene.unchanged():
        assert scene.client.end(handle, ack) == BAD_STUB_DATA


@pytest.mark.rule("MQRR-3.1.4.9-4", "MQRR-3.1.4.15-4")
@both
def test_a_handle_without_requests_ends_none(scene: Scene) -> None:
    put(scene.queue, b"a")
    handle, other = scene.client.open(scene.queue), scene.client.open(scene.queue)
    scene.client.take(other)
    with scene.unchanged():
        assert scene.client.end(handle) == INVALID_HANDLE


@pytest.mark.rule("MQRR-3.1.4.9-5", "MQRR-3.1.4.15-5")
@both
def test_a_request_that_the_handle_does_not_have_is_not_ended(scene: Scene) -> None:
    handle, _ = scene.taken()
    with scene.unchanged():
        assert scene.client.end(handle, request_id=2) == INVALID_PARAMETER


@pytest.mark.rule("MQRR-3.1.4.9-6", "MQRR-3.1.4.15-6", "MQRR-3.1.4.9-10", "MQRR-3.1.4.15-10")
@both
@pytest.mark.parametrize("ack", [ACK, NACK])
def test_a_request_is_ended_once(scene: Scene, handle: ContextHandle, ack: int) -> None:
    scene.put(b"a", b"b")
    scene.client.take(handle, request_id=1)
    assert scene.client.end(handle, ack, request_id=1) == OK
    assert scene.client.end(handle, ack, request_id=1) == INVALID_HANDLE
    scene.client.take(handle, request_id=2)
    assert scene.client.end(handle, ack, request_id=1) == INVALID_PARAMETER
    assert scene.entry(handle, 2) is not None


@pytest.mark.rule("MQRR-3.1.4.9-7", "MQRR-3.1.4.15-7")
@both
def test_each_way_to_receive_has_its_own_end(scene: Scene, way: GUID | None) -> None:
    handle, _ = scene.taken()
    with scene.unchanged():
        assert scene.client.end(handle, transactional=way is None) == INVALID_PARAMETER
    assert scene.client.end(handle) == OK


@pytest.mark.rule("MQRR-3.1.4.9-9", "MQRR-3.1.4.15-9")
@both
@pytest.mark.parametrize("ack", [ACK, NACK])
def test_the_end_of_a_receive_that_waits_takes_its_entry(
    scene: Scene, handle: ContextHandle, ack: int
) -> None:
    waiting = scene.client.begin(handle, timeout=1000)
    _, timer = scene.pending(handle)
    assert scene.client.end(handle, ack) == MESSAGE_NOT_FOUND
    assert scene.entry(handle) is None
    assert not timer.running
    assert scene.client.end(handle, ack) == INVALID_HANDLE
    put(scene.queue, b"a")
    assert waiting.status == OK
    assert states(scene.queue) == ["Locked"]
    # Nobody can end it: it comes back by itself.
    pass_time(scene.manager, FIVE_MINUTES)
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQRR-3.1.4.9-10", "MQRR-3.1.4.9-11", "MQRR-3.1.4.15-10", "MQRR-3.1.4.15-11")
@pytest.mark.rule("MQRR-3.1.4.9-12", "MQRR-3.1.4.15-12")
@both
def test_an_end_without_a_descriptor_takes_the_entry_and_its_timer(scene: Scene) -> None:
    handle, _ = scene.taken()
    _, timer = scene.pending(handle)
    scene.lose_descriptor(handle)
    assert scene.client.end(handle) == INVALID_HANDLE
    assert scene.entry(handle) is None
    assert not timer.running
    assert states(scene.queue) == ["Locked"]


@pytest.mark.rule("MQRR-3.1.4.9-13", "MQRR-3.1.4.15-13")
@both
def test_a_message_that_is_gone_is_not_found_and_the_entry_goes(scene: Scene) -> None:
    handle, message = scene.taken()
    message_position_deleted(position(message), RECEIVED)
    assert scene.client.end(handle) == MESSAGE_NOT_FOUND
    assert scene.entry(handle) is None
    assert scene.state()["timers"] == 0


@pytest.mark.rule("MQRR-3.1.4.9-14", "MQRR-3.1.4.9-15", "MQRR-3.1.4.9-16", "MQRR-3.1.4.9-23")
@pytest.mark.rule("MQRR-3.1.4.15-14", "MQRR-3.1.4.15-15", "MQRR-3.1.4.15-16", "MQRR-3.1.4.15-17")
@pytest.mark.rule("MQRR-3.1.4.15-25")
@both
@pytest.mark.parametrize("ack", [ACK, NACK])
def test_an_end_raises_dequeue_message_end_and_returns_its_status(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, ack: int, way: GUID | None
) -> None:
    handle, message = scene.taken()
    calls = []

    def noting(descriptor: object, message: object, **named: bool) -> int:
        calls.append((descriptor, message, named))
        return 0xC00E0001

    monkeypatch.setattr(remote_read_pending, "dequeue_message_end", noting)
    assert scene.client.end(handle, ack) == 0xC00E0001
    # A message that comes back is taken out of the transaction, and the event has to let it go.
    transactional = way is not None and ack == ACK
    named = {"delete_message": ack == ACK, "transactional": transactional}
    assert calls == [(scene.context(handle).descriptor, message, named)]


@pytest.mark.rule("MQRR-3.1.4.9-17", "MQRR-3.1.4.9-11")
def test_an_acknowledged_message_is_gone(scene: Scene) -> None:
    handle, _ = scene.taken()
    assert scene.client.end(handle, ACK) == OK
    assert (labels(scene.queue), scene.deleted) == ([], [("a", RECEIVED)])
    assert scene.state()["timers"] == 0


@pytest.mark.rule("MQRR-3.1.4.9-18", "MQRR-3.1.4.15-20")
@both
def test_a_message_that_is_not_acknowledged_comes_back_to_its_place(scene: Scene, way: GUID | None) -> None:
    scene.put(b"a", b"b")
    handle = scene.client.open(scene.queue)
    scene.client.take(handle, request_id=1)
    scene.client.take(handle, request_id=2)
    waiting = scene.another_client()
    waiting_call = waiting.begin(waiting.open(scene.queue), timeout=1000)
    assert scene.client.end(handle, NACK, request_id=2) == OK
    assert body(waiting_call) == b"b"
    assert scene.client.end(handle, NACK, request_id=1) == OK
    assert (labels(scene.queue), states(scene.queue)) == (["a", "b"], ["Available", "Locked"])
    if way is not None:
        assert not scene.manager.transaction_collection[way].transactional_operation_collection
        assert transaction_commit(scene.manager, way) == OK
        assert labels(scene.queue) == ["a", "b"]


@pytest.mark.rule("MQRR-3.1.4.9-19", "MQRR-3.1.4.9-20")
@pytest.mark.parametrize("ack", [ACK, NACK])
def test_a_message_that_was_purged_meanwhile_goes_however_it_is_ended(scene: Scene, ack: int) -> None:
    handle, _ = scene.taken()
    purge_queue(scene.queue)
    assert states(scene.queue) == ["PurgePending"]
    assert scene.client.end(handle, ack) == OK
    assert (labels(scene.queue), scene.deleted) == ([], [("a", PURGED)])


@pytest.mark.rule("MQRR-3.1.4.15-21", "MQRR-3.1.4.15-22")
@pytest.mark.parametrize("ack", [ACK, NACK])
def test_a_message_purged_within_a_transaction_goes_now_or_with_it(scene: Scene, ack: int) -> None:
    put(scene.queue, b"a")
    handle = scene.client.open(scene.queue)
    scene.client.take(handle, transaction=TRANSACTION)
    purge_queue(scene.queue)
    assert scene.client.end(handle, ack, transactional=True) == OK
    if ack == ACK:
        assert states(scene.queue) == ["PurgePending"]
        assert transaction_abort(scene.manager, TRANSACTION) == OK
    assert (labels(scene.queue), scene.deleted) == ([], [("a", PURGED)])


@pytest.mark.rule("MQRR-3.1.4.9-21", "MQRR-3.1.4.15-23")
@both
def test_a_lock_that_was_lost_is_a_wrong_sequence(scene: Scene) -> None:
    handle, message = scene.taken()
    position(message).state = PositionState.AVAILABLE
    assert scene.client.end(handle) == TRANSACTION_SEQUENCE
    assert (labels(scene.queue), states(scene.queue)) == (["a"], ["Available"])


@pytest.mark.rule("MQRR-3.1.4.15-23")
@pytest.mark.parametrize("ack", [ACK, NACK])
def test_an_end_after_the_abort_does_not_touch_what_somebody_else_received(scene: Scene, ack: int) -> None:
    put(scene.queue, b"a")
    handle = scene.client.open(scene.queue)
    scene.client.take(handle, transaction=TRANSACTION)
    transaction_abort(scene.manager, TRANSACTION)
    other = scene.another_client()
    others = other.open(scene.queue)
    assert other.take(others) == b"a"
    assert scene.client.end(handle, ack, transactional=True) == TRANSACTION_SEQUENCE
    assert states(scene.queue) == ["Locked"]
    assert other.end(others) == OK


@pytest.mark.rule("MQRR-3.1.4.9-22", "MQRR-3.1.4.15-24")
@both
def test_an_end_in_a_deleted_queue_is_not_available(scene: Scene) -> None:
    handle, _ = scene.taken()
    delete_queue(scene.manager, scene.queue)
    assert scene.client.end(handle) == QUEUE_NOT_AVAILABLE
    assert scene.entry(handle) is None


@pytest.mark.rule("MQRR-3.1.4.15-18", "MQRR-3.1.4.15-19", "MQRR-3.1.4.12-13")
@pytest.mark.parametrize("commits", [True, False])
def test_an_acknowledged_message_of_a_transaction_goes_with_the_commit(scene: Scene, commits: bool) -> None:
    scene.put(b"a", b"b")
    handle = scene.client.open(scene.queue)
    for number in (1, 2):
        scene.client.take(handle, transaction=TRANSACTION, request_id=number)
        assert scene.client.end(handle, ACK, request_id=number, transactional=True) == OK
    assert states(scene.queue) == ["Locked", "Locked"]
    end = transaction_commit if commits else transaction_abort
    assert end(scene.manager, TRANSACTION) == OK
    assert labels(scene.queue) == ([] if commits else ["a", "b"])
    assert states(scene.queue) == ([] if commits else ["Available", "Available"])


@pytest.mark.rule("MQRR-3.1.5.1-1", "MQRR-3.1.5.1-2", "MQRR-3.1.5.1-3", "MQRR-3.1.5.1-4", "MQRR-3.1.5.1-6")
@pytest.mark.rule("MQRR-3.1.5.1-7", "MQRR-3.1.5.1-8", "MQRR-3.1.5.1-11", "MQRR-3.1.5.1-12")
@both
def test_a_receive_that_nobody_ends_gives_its_message_back(scene: Scene, way: GUID | None) -> None:
    scene.put(b"a", b"b")
    handle = scene.client.open(scene.queue)
    scene.client.take(handle, request_id=1)
    pass_time(scene.manager, 1)
    scene.client.take(handle, request_id=2)
    pass_time(scene.manager, FIVE_MINUTES - 1)
    assert (labels(scene.queue), states(scene.queue)) == (["a", "b"], ["Available", "Locked"])
    assert (scene.entry(handle, 1), scene.entry(handle, 2) is None) == (None, False)
    assert scene.manager.timers.running == 1
    if way is not None:
        operations = scene.manager.transaction_collection[way].transactional_operation_collection
        assert [one.message_position_reference.message_reference.label for one in operations] == ["b"]
    status = scene.client.end(handle, ACK, request_id=1)
    assert status == INVALID_PARAMETER
    pass_time(scene.manager, 1)
    assert scene.client.end(handle, ACK, request_id=2) == INVALID_HANDLE
    assert states(scene.queue) == ["Available", "Available"]


@pytest.mark.rule("MQRR-3.1.5.1-5")
@both
def test_a_purged_message_goes_when_its_receive_is_cleaned_up(scene: Scene) -> None:
    scene.taken()
    purge_queue(scene.queue)
    pass_time(scene.manager, FIVE_MINUTES)
    assert (labels(scene.queue), scene.deleted) == ([], [("a", PURGED)])


@pytest.mark.rule("MQRR-3.1.5.1-9")
@both
@pytest.mark.parametrize("gone", ["message", "queue"])
def test_what_is_gone_is_only_forgotten(scene: Scene, gone: str) -> None:
    handle, message = scene.taken()
    if gone == "message":
        message_position_deleted(position(message), RECEIVED)
    else:
        delete_queue(scene.manager, scene.queue)
    pass_time(scene.manager, FIVE_MINUTES)
    assert (scene.entry(handle), scene.state()["timers"]) == (None, 0)
    assert labels(scene.queue) == []


@pytest.mark.rule("MQRR-3.1.2.2-3", "MQRR-3.1.5.1-10")
@both
def test_the_time_to_end_a_receive_counts_from_its_answer(scene: Scene, handle: ContextHandle) -> None:
    scene.client.begin(handle, timeout=2 * FIVE_MINUTES)
    pass_time(scene.manager, FIVE_MINUTES + 1)
    put(scene.queue, b"a")
    pass_time(scene.manager, FIVE_MINUTES - 1)
    assert states(scene.queue) == ["Locked"]
    pass_time(scene.manager, 1)
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQRR-3.1.6.1-1", "MQRR-3.1.6.1-2", "MQRR-3.1.6.1-3", "MQRR-3.1.6.1-4", "MQRR-3.1.6.1-5")
def test_a_failed_connection_closes_cursors_and_queues_and_leaves_what_is_pending(scene: Scene) -> None:
    put(scene.queue, b"a")
    handle, lost = scene.client.open(scene.queue), scene.client.open(scene.queue)
    scene.lose_descriptor(lost)
    scene.client.create_cursor(handle)
    scene.client.take(handle)
    other = scene.another_client()
    kept = other.open(scene.queue)
    scene.server.rpc_failure(scene.client.association)
    assert not scene.manager.cursors
    assert list(scene.manager.descriptors.values()) == [scene.context(kept, other).descriptor]
    assert scene.entry(handle) is not None
    assert states(scene.queue) == ["Locked"]


@pytest.mark.rule("MQRR-3.1.6.2-1", "MQRR-3.1.6.2-3", "MQRR-3.1.6.2-4", "MQRR-3.1.6.2-5", "MQRR-3.1.6.2-6")
@pytest.mark.rule("MQRR-3.1.6.2-8", "MQRR-3.1.6.2-9", "MQRR-3.1.6.2-10", "MQRR-3.1.6.2-12", "MQRR-3.1.6.2-13")
@both
def test_a_client_that_is_gone_leaves_nothing_behind(scene: Scene) -> None:
    scene.put(b"a", b"b", b"c")
    handle, other = scene.client.open(scene.queue), scene.another_client()
    kept = other.open(scene.queue)
    scene.client.create_cursor(handle)
    scene.client.take(handle, request_id=1)
    scene.client.take(handle, request_id=2)
    other.take(kept)
    waiting = scene.client.begin(handle, request_id=3, timeout=1000)
    scene.client.disconnect()
    assert waiting.status == CANCELLED
    assert not scene.client.association.handles
    assert (labels(scene.queue), states(scene.queue)) == (
        ["a", "b", "c"],
        ["Available", "Available", "Locked"],
    )
    assert list(scene.manager.descriptors.values()) == [scene.context(kept, other).descriptor]
    assert len(scene.server.pending_request_table) == 1
    assert (scene.state()["cursors"], scene.state()["timers"]) == ({}, 1)
    assert not any(scene.state()["transactions"].values())
    assert scene.client.end(handle) == CONTEXT_MISMATCH


@pytest.mark.rule("MQRR-3.1.6.2-2", "MQRR-3.1.6.2-7")
def test_rundown_without_descriptor_or_message_removes_the_entries(scene: Scene) -> None:
    messages = scene.put(b"a", b"b")
    handle = scene.client.open(scene.queue)
    scene.client.take(handle, request_id=1)
    scene.client.take(handle, request_id=2)
    message_position_deleted(position(messages[0]), RECEIVED)
    scene.lose_descriptor(handle)
    scene.client.disconnect()
    assert len(scene.server.pending_request_table) == 0
    assert scene.state()["timers"] == 0
    assert states(scene.queue) == ["Available"]


@pytest.mark.rule("MQRR-3.1.6.2-11", "MQRR-3.1.4.3-9")
@pytest.mark.parametrize("how", ["close", "rundown"])
@pytest.mark.parametrize("commits", [True, False])
def test_what_a_transaction_has_received_waits_for_its_outcome(scene: Scene, how: str, commits: bool) -> None:
    put(scene.queue, b"a")
    handle = scene.client.open(scene.queue)
    scene.client.take(handle, transaction=TRANSACTION)
    scene.client.end(handle, ACK, transactional=True)
    if how == "close":
        scene.client.close(handle)
    else:
        scene.client.disconnect()
    assert states(scene.queue) == ["Locked"]
    end = transaction_commit if commits else transaction_abort
    assert end(scene.manager, TRANSACTION) == OK
    assert labels(scene.queue) == ([] if commits else ["a"])


def test_no_waiting_call_of_a_client_that_is_gone_gets_what_it_let_go(scene: Scene) -> None:
    put(scene.queue, b"a")
    first, second = scene.client.open(scene.queue), scene.client.open(scene.queue)
    scene.client.take(first)
    waiting = scene.client.begin(second, timeout=1000)
    scene.client.disconnect()
    assert waiting.status == CANCELLED
    assert states(scene.queue) == ["Available"]
