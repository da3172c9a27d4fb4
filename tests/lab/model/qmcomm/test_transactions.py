"""R_QMGetTmWhereabouts to R_QMAbortTransaction: transactions of the DTC and of one client alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_commit
from msmq_wire.rpc.interfaces.qmcomm_objects import (
    EnlistInternalTransactionRequest,
    EnlistTransactionRequest,
    GetTmWhereaboutsRequest,
    TransactionRequest,
)
from msmq_wire.rpc.statuses import Status
from tests.lab.model.qmcomm.scene import UOW, Coordinator, Scene
from tests.lab.model.scene import labels, put, states

BAD_STUB_DATA = 0x000006F7
BUFFER_TOO_SMALL = 0xC00E0028
BEGINNING = EnlistInternalTransactionRequest(p_uow=UOW)
WHEREABOUTS = "r_qm_get_tm_whereabouts"
ENLIST = "r_qm_enlist_transaction"
BEGIN = "r_qm_enlist_internal_transaction"
COMMIT = "r_qm_commit_transaction"
ABORT = "r_qm_abort_transaction"


def enlisting(cookie: bytes = b"cookie") -> EnlistTransactionRequest:
    return EnlistTransactionRequest(p_uow=UOW, cb_cookie=len(cookie), pb_cookie=cookie)


@pytest.mark.rule("MQMP-3.1.4.12-2", "MQMP-3.1.4.13-2")
def test_too_much_room_or_cookie_is_not_dispatched() -> None:
    scene = Scene(transaction_manager=Coordinator())
    assert scene.fault(WHEREABOUTS, GetTmWhereaboutsRequest(cb_buf_size=131073)) == BAD_STUB_DATA
    assert scene.fault(ENLIST, enlisting(bytes(131073))) == BAD_STUB_DATA


@pytest.mark.rule("MQMP-3.1.4.12-4", "MQMP-3.1.4.12-7", "MQMP-3.1.4.12-8")
@pytest.mark.parametrize("room", [0, 1, 3])
def test_whereabouts_that_do_not_fit_are_measured(room: int) -> None:
    scene = Scene(transaction_manager=Coordinator())
    response = scene.call(WHEREABOUTS, GetTmWhereaboutsRequest(cb_buf_size=room))
    assert (response.status, response.pcb_whereabouts) == (BUFFER_TOO_SMALL, 4)
    assert response.pb_whereabouts == bytes(room)


@pytest.mark.rule("MQMP-3.1.4.12-5", "MQMP-3.1.4.12-9", "MQMP-3.1.4.12-10", "MQMP-3.1.4.12-11")
@pytest.mark.parametrize("room", [4, 10, 131072])
def test_whereabouts_that_fit_are_given(room: int) -> None:
    dtc = Coordinator()
    scene = Scene(transaction_manager=dtc)
    response = scene.call(WHEREABOUTS, GetTmWhereaboutsRequest(cb_buf_size=room))
    assert (response.status, response.pcb_whereabouts) == (Status.MQ_OK, 4)
    assert response.pb_whereabouts == b"here" + bytes(room - 4)
    assert dtc.asked == [("whereabouts", None)]


@pytest.mark.rule("MQMP-3.1.4.12-6")
@pytest.mark.parametrize("dtc", [None, Coordinator(None)])
def test_without_a_dtc_there_are_no_whereabouts(dtc: Coordinator | None) -> None:
    scene = Scene(transaction_manager=dtc)
    assert scene.status(WHEREABOUTS, GetTmWhereaboutsRequest(cb_buf_size=9)) == Status.MQ_ERROR_DTC_CONNECT


@pytest.mark.rule("MQMP-3.1.4.13-3")
@pytest.mark.parametrize("size", [0, 5, 7])
def test_a_cookie_of_another_size_than_told_is_not_dispatched(size: int) -> None:
    scene = Scene(transaction_manager=Coordinator())
    request = EnlistTransactionRequest(p_uow=UOW, cb_cookie=size, pb_cookie=b"cookie")
    assert scene.fault(ENLIST, request) == BAD_STUB_DATA


@pytest.mark.rule("MQMP-3.1.4.13-5")
def test_a_transaction_that_is_known_is_enlisted_already() -> None:
    dtc = Coordinator()
    scene = Scene(transaction_manager=dtc)
    create_transaction(scene.manager, bytes(UOW))
    assert scene.refusal(ENLIST, enlisting(b"no cookie")) == Status.MQ_OK
    assert dtc.asked == []


@pytest.mark.rule("MQMP-3.1.4.13-6", "MQMP-3.1.4.13-8", "MQMP-3.1.4.13-11", "MQMP-3.1.4.13-12")
@pytest.mark.rule("MQMP-3.1.4.13-13")
def test_a_transaction_of_the_dtc_is_imported_and_enlisted() -> None:
    dtc = Coordinator()
    scene = Scene(transaction_manager=dtc)
    assert scene.status(ENLIST, enlisting()) == Status.MQ_OK
    assert dtc.asked == [("import", b"cookie"), ("enlist", ("transaction", b"cookie"))]
    assert list(scene.manager.transaction_collection) == [bytes(UOW)]
    assert scene.client.association.handles == {}
    scene.client.disconnect()
    assert list(scene.manager.transaction_collection) == [bytes(UOW)]


@pytest.mark.rule("MQMP-3.1.4.13-7")
@pytest.mark.parametrize("dtc", [None, Coordinator()])
def test_a_cookie_that_is_none_begins_nothing(dtc: Coordinator | None) -> None:
    scene = Scene(transaction_manager=dtc)
    assert scene.refusal(ENLIST, enlisting(b"no cookie")) == Status.MQ_ERROR_TRANSACTION_ENLIST
    assert dtc is None or [name for name, _ in dtc.asked] == ["import"]


@pytest.mark.rule("MQMP-3.1.4.13-9")
def test_an_enlistment_that_fails_begins_nothing() -> None:
    scene = Scene(transaction_manager=Coordinator(enlists=False))
    assert scene.refusal(ENLIST, enlisting()) == Status.MQ_ERROR_TRANSACTION_ENLIST


@pytest.mark.rule("MQMP-3.1.4.13-10")
def test_there_are_so_many_transactions_and_no_more() -> None:
    scene = Scene(transaction_manager=Coordinator(), transaction_limit=1)
    create_transaction(scene.manager, b"some other work!")
    assert scene.refusal(ENLIST, enlisting()) == Status.MQ_ERROR_INSUFFICIENT_RESOURCES
    assert scene.refusal(BEGIN, BEGINNING) == Status.MQ_ERROR_INSUFFICIENT_RESOURCES


@pytest.mark.rule("MQMP-3.1.4.14-3")
@pytest.mark.parametrize("external", [False, True])
def test_a_transaction_is_not_begun_twice(external: bool) -> None:
    scene = Scene(transaction_manager=Coordinator())
    if external:
        scene.call(ENLIST, enlisting())
    else:
        scene.begin()
    assert scene.refusal(BEGIN, BEGINNING) == Status.MQ_ERROR_TRANSACTION_SEQUENCE


@pytest.mark.rule("MQMP-3.1.4.14-4", "MQMP-3.1.4.14-5", "MQMP-3.1.4.14-6", "MQMP-3.1.4.14-7")
@pytest.mark.rule("MQMP-3.1.4.14-8")
def test_an_internal_transaction_gets_a_handle(scene: Scene) -> None:
    handle = scene.begin()
    (transaction,) = scene.manager.transaction_collection.values()
    assert transaction.identifier == bytes(UOW)
    entry = scene.thing(handle)
    assert (entry.handle, entry.transaction_reference) == (handle, transaction)
    assert not handle.null


@pytest.mark.rule("MQMP-3.1.4.14-9")
@pytest.mark.parametrize("end", [COMMIT, ABORT])
def test_a_unit_of_work_that_has_ended_can_begin_again(scene: Scene, end: str) -> None:
    first = scene.begin()
    scene.call(end, TransactionRequest(ph_int_xact=first))
    assert scene.begin() != first
    assert list(scene.manager.transaction_collection) == [bytes(UOW)]


@pytest.mark.rule("MQMP-3.1.4.15-4", "MQMP-3.1.4.16-4")
@pytest.mark.parametrize("end", [COMMIT, ABORT])
def test_a_handle_of_something_else_ends_no_transaction(scene: Scene, end: str) -> None:
    scene.begin()
    queue = scene.open().ph_queue
    with scene.unchanged():
        response = scene.call(end, TransactionRequest(ph_int_xact=queue))
    assert (response.status, response.ph_int_xact) == (Status.MQ_ERROR_INVALID_HANDLE, queue)


@pytest.mark.rule("MQMP-3.1.4.15-5", "MQMP-3.1.4.15-7", "MQMP-3.1.4.15-8", "MQMP-3.1.4.15-9")
@pytest.mark.rule("MQMP-3.1.4.16-5", "MQMP-3.1.4.16-7", "MQMP-3.1.4.16-8", "MQMP-3.1.4.16-9")
@pytest.mark.parametrize(("end", "left"), [(COMMIT, ["sent"]), (ABORT, ["received"])])
def test_a_transaction_happens_whole_or_not_at_all(scene: Scene, end: str, left: list[str]) -> None:
    put(scene.queue, b"received")
    descriptor = scene.descriptor(scene.open().ph_queue)
    handle = scene.begin()
    transaction = scene.thing(handle).transaction_reference
    dequeue_message(descriptor, lambda *_: None, transaction=transaction)
    assert enqueue_message(scene.queue, ModelMessage(label="sent", size=1), transaction) == 0
    assert states(scene.queue) == ["Locked", "Locked"]
    response = scene.call(end, TransactionRequest(ph_int_xact=handle))
    assert (response.status, response.ph_int_xact.null) == (Status.MQ_OK, True)
    assert (labels(scene.queue), states(scene.queue)) == (left, ["Available"])
    assert scene.manager.transaction_collection == {}
    assert scene.thing(handle) is None


@pytest.mark.rule("MQMP-3.1.4.15-6", "MQMP-3.1.4.16-6")
@pytest.mark.parametrize("end", [COMMIT, ABORT])
def test_a_transaction_that_ended_otherwise_is_out_of_sequence_and_its_handle_goes(end: str) -> None:
    scene = Scene()
    handle = scene.begin()
    transaction_commit(scene.manager, bytes(UOW))
    response = scene.call(end, TransactionRequest(ph_int_xact=handle))
    assert response.status == Status.MQ_ERROR_TRANSACTION_SEQUENCE
    assert (response.ph_int_xact.null, scene.client.association.handles) == (True, {})


@pytest.mark.parametrize("end", [COMMIT, ABORT])
def test_a_handle_does_not_end_what_somebody_else_began_under_the_same_identifier(end: str) -> None:
    scene = Scene()
    handle = scene.begin()
    transaction_commit(scene.manager, bytes(UOW))
    anew = create_transaction(scene.manager, bytes(UOW))
    assert scene.status(end, TransactionRequest(ph_int_xact=handle)) == Status.MQ_ERROR_TRANSACTION_SEQUENCE
    assert scene.manager.transaction_collection == {bytes(UOW): anew}


@given(st.integers(0, 40), st.integers(0, 40))
def test_whereabouts_fill_the_room_that_they_are_given(size: int, room: int) -> None:
    scene = Scene(transaction_manager=Coordinator(b"w" * size))
    response = scene.call(WHEREABOUTS, GetTmWhereaboutsRequest(cb_buf_size=room))
    assert (response.pcb_whereabouts, len(response.pb_whereabouts)) == (size, room)
    assert (response.status == Status.MQ_OK) is (size <= room)
