"""Moves and transactions, rule by rule. [MS-MQDMPR] 3.1.4.3 to 3.1.4.5, 3.1.7.1.16"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode
from msmq_wire.model.data.elements import Message
from msmq_wire.model.data.enumerations import PositionState
from msmq_wire.model.events.message import dequeue_message, enqueue_message, move_message, purge_queue
from msmq_wire.model.events.queue import delete_queue
from msmq_wire.model.events.transaction import transaction_abort, transaction_commit, transaction_prepare
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from tests.model.events.scene import Told, opened, operations, reasons, transaction
from tests.model.scene import labels, make_manager, make_packet, make_queue, position, put, states

ACK_RECEIVE = 0x4000
NACK_Q_PURGED = 0xC001
X = b"x" * 16


@pytest.mark.rule("MQDMPR-3.1.7.1.16-1")
def test_nothing_moves_into_a_system_queue_in_a_transaction() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    unit = transaction(manager)
    journal = queue.journal_queue_reference
    assert journal is not None
    move_message(position(put(queue, b"a")), journal, unit)
    assert (states(queue), labels(journal), operations(unit)) == (["Available"], [], [])


@pytest.mark.rule("MQDMPR-3.1.7.1.16-2", "MQDMPR-3.1.7.1.16-3", "MQDMPR-3.1.7.1.16-4", "MQDMPR-3.1.7.1.16-5")
def test_a_message_moves_to_its_place_in_the_other_queue() -> None:
    manager = make_manager()
    source, target = make_queue(manager, "a"), make_queue(manager, "b")
    told = reasons(manager)
    put(target, b"low", priority=1)
    put(target, b"high", priority=7)
    message = put(source, b"middle", priority=4)
    old = position(message)
    total = target.total_bytes
    move_message(old, target)
    assert (labels(source), labels(target)) == ([], ["high", "middle", "low"])
    assert (old.state, position(message).state) == (PositionState.DELETED, PositionState.AVAILABLE)
    assert position(message).queue_reference is target
    assert (source.total_bytes, target.total_bytes, told) == (0, total + message.size, [])
    waiting = Told()
    dequeue_message(opened(source), waiting)
    move_message(position(message), source)
    assert waiting.got == [(Status.MQ_OK, "middle")]


@pytest.mark.rule("MQDMPR-3.1.7.1.16-6")
def test_a_move_into_a_system_queue_wakes_nobody() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    journal = queue.journal_queue_reference
    assert journal is not None
    message = put(queue, b"a")
    move_message(position(message), journal)
    assert (labels(queue), labels(journal), journal.total_bytes) == ([], ["a"], message.size)


@pytest.mark.rule("MQDMPR-3.1.7.1.16-7", "MQDMPR-3.1.7.1.16-8")
def test_a_move_in_a_transaction_waits_for_its_end() -> None:
    manager = make_manager()
    source, target = make_queue(manager, "a"), make_queue(manager, "b")
    unit = transaction(manager)
    move_message(position(put(source, b"a")), target, unit)
    assert (states(source), labels(target)) == (["Locked"], [])
    assert operations(unit) == [("Move", "a", None)]
    assert unit.transactional_operation_collection[0].target_queue_reference is target


@pytest.mark.rule("MQDMPR-3.1.4.3-1", "MQDMPR-3.1.4.3-3", "MQDMPR-3.1.4.3-6", "MQDMPR-3.1.4.3-7")
def test_prepare_says_how_many_phases_there_are() -> None:
    manager = make_manager()
    unit = transaction(manager)
    assert transaction_prepare(manager, X) == Status.MQ_OK
    assert unit.single_phase
    assert transaction_prepare(manager, X, single_phase=False) == Status.MQ_OK
    assert not unit.single_phase


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(transaction_prepare, marks=pytest.mark.rule("MQDMPR-3.1.4.3-2")),
        pytest.param(transaction_commit, marks=pytest.mark.rule("MQDMPR-3.1.4.4-1")),
        pytest.param(transaction_abort, marks=pytest.mark.rule("MQDMPR-3.1.4.5-1")),
    ],
)
def test_an_unknown_transaction(event: object) -> None:
    manager = make_manager()
    transaction(manager)
    assert callable(event)
    assert event(manager, b"y" * 16) == Status.MQ_ERROR_TRANSACTION_SEQUENCE
    assert list(manager.transaction_collection) == [X]


@pytest.mark.rule("MQDMPR-3.1.4.3-4", "MQDMPR-3.1.4.3-5")
def test_prepare_marks_the_first_and_the_last_message() -> None:
    manager = make_manager()
    queue = make_queue(manager)
    unit = transaction(manager)
    messages = [
        Message(packet=make_packet(transaction=TransactionHeader()), properties=MessageProperties())
        for _ in range(3)
    ]
    for message in messages:
        enqueue_message(queue, message, unit)
    transaction_prepare(manager, X)
    marks = [(one.properties.first_in_transaction, one.properties.last_in_transaction) for one in messages]
    assert marks == [(True, None), (None, None), (None, True)]
    headers = [decode(one.packet, as_="user_message").transaction_header for one in messages]
    assert [(one.bit("fm"), one.bit("lm")) for one in headers] == [(1, 0), (0, 0), (0, 1)]


@pytest.mark.rule("MQDMPR-3.1.4.4-2", "MQDMPR-3.1.4.4-3", "MQDMPR-3.1.4.4-4", "MQDMPR-3.1.4.4-5")
@pytest.mark.rule("MQDMPR-3.1.4.4-6", "MQDMPR-3.1.4.4-7", "MQDMPR-3.1.4.4-8", "MQDMPR-3.1.4.4-9")
@pytest.mark.rule("MQDMPR-3.1.4.4-10")
def test_a_commit_does_all_in_its_order() -> None:
    manager = make_manager()
    source, target = make_queue(manager, "a"), make_queue(manager, "b")
    told, unit = reasons(manager), transaction(manager)
    put(source, b"taken")
    moved = put(source, b"moved")
    old = position(moved)
    enqueue_message(target, Message(label="sent first"), unit)
    dequeue_message(opened(source), Told(), transaction=unit)
    move_message(old, target, unit)
    enqueue_message(target, Message(label="sent last"), unit)
    order: list[str] = []
    for _ in range(3):
        dequeue_message(opened(target), lambda status, message: order.append(getattr(message, "label", "")))
    assert transaction_commit(manager, X) == Status.MQ_OK
    assert order == ["sent first", "moved", "sent last"]
    assert old.state is PositionState.DELETED
    assert told == [ACK_RECEIVE] * 4
    assert (labels(source), labels(target), source.total_bytes, target.total_bytes) == ([], [], 0, 0)
    assert (unit.transactional_operation_collection, manager.transaction_collection) == ([], {})
    assert transaction_commit(manager, X) == Status.MQ_ERROR_TRANSACTION_SEQUENCE
    assert transaction_abort(manager, X) == Status.MQ_ERROR_TRANSACTION_SEQUENCE


@pytest.mark.rule("MQDMPR-3.1.4.5-3", "MQDMPR-3.1.4.5-4", "MQDMPR-3.1.4.5-5", "MQDMPR-3.1.4.5-6")
@pytest.mark.rule("MQDMPR-3.1.4.5-7")
def test_an_abort_leaves_all_as_it_was() -> None:
    manager = make_manager()
    source, target = make_queue(manager, "a"), make_queue(manager, "b")
    told, unit = reasons(manager), transaction(manager)
    put(source, b"taken")
    moved = put(source, b"moved")
    dequeue_message(opened(source), Told(), transaction=unit)
    move_message(position(moved), target, unit)
    enqueue_message(target, Message(label="sent", time_to_be_received=9), unit)
    total = source.total_bytes
    assert transaction_abort(manager, X) == Status.MQ_OK
    assert (labels(source), states(source)) == (["taken", "moved"], ["Available", "Available"])
    assert (labels(target), told) == ([], [])
    assert (source.total_bytes, target.total_bytes) == (total, 0)
    assert (unit.transactional_operation_collection, manager.transaction_collection) == ([], {})
    assert manager.timers.running == 0


@pytest.mark.rule("MQDMPR-3.1.4.5-2")
def test_an_abort_lets_go_of_what_was_purged_meanwhile() -> None:
    manager = make_manager()
    source, target = make_queue(manager, "a"), make_queue(manager, "b")
    unit = transaction(manager)
    put(source, b"taken")
    moved = put(source, b"moved")
    dequeue_message(opened(source), Told(), transaction=unit)
    move_message(position(moved), target, unit)
    purge_queue(source)
    told = reasons(manager)
    transaction_abort(manager, X)
    assert (labels(source), labels(target), told) == ([], [], [NACK_Q_PURGED] * 2)


@pytest.mark.parametrize("commit", [False, True])
def test_a_transaction_does_nothing_to_a_queue_that_was_deleted(commit: bool) -> None:
    manager = make_manager()
    source, target = make_queue(manager, "a"), make_queue(manager, "b")
    unit = transaction(manager)
    put(source, b"taken")
    moved = put(source, b"moved")
    dequeue_message(opened(source), Told(), transaction=unit)
    move_message(position(moved), target, unit)
    enqueue_message(source, Message(label="sent"), unit)
    delete_queue(manager, source)
    told = reasons(manager)
    end = transaction_commit if commit else transaction_abort
    assert end(manager, X) == Status.MQ_OK
    assert (labels(target), told, source.total_bytes) == ([], [], 0)


@given(st.integers(0, 2**32), st.lists(st.sampled_from("srm"), max_size=30), st.booleans())
def test_transactions_are_all_or_nothing(seed: int, steps: list[str], commit: bool) -> None:
    manager = make_manager()
    source, target = make_queue(manager, "a"), make_queue(manager, "b")
    chosen = random.Random(seed)
    unit = transaction(manager)
    for number in range(10):
        put(source, f"{number}".encode(), priority=chosen.randrange(8))
    before = labels(source)
    descriptor = opened(source)
    taken, moved, sent = [], [], []
    for number, step in enumerate(steps):
        free = [one for one in source.message_position_list if one.state is PositionState.AVAILABLE]
        if step == "s":
            sent.append(f"s{number}")
            enqueue_message(target, Message(label=sent[-1]), unit)
        elif step == "r" and free:
            taken.append(free[0].message_reference.label)
            dequeue_message(descriptor, Told(), timeout=0, transaction=unit)
        elif step == "m" and free:
            slot = chosen.choice(free)
            moved.append(slot.message_reference.label)
            move_message(slot, target, unit)
    assert labels(source) == before
    if commit:
        transaction_commit(manager, X)
        assert set(labels(source)) == set(before) - set(taken) - set(moved)
        assert sorted(labels(target)) == sorted(sent + moved)
    else:
        transaction_abort(manager, X)
        assert (labels(source), labels(target)) == (before, [])
    assert set(states(source) + states(target)) <= {"Available"}
    assert source.total_bytes == sum(one.message_reference.size for one in source.message_position_list)
