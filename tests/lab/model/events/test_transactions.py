"""Moves and transactions, rule by rule. [MS-MQDMPR] 3.1.4.3 to 3.1.4.5, 3.1.7.1.16"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode
from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.data.enumerations import PositionState
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.message import dequeue_message, move_message, purge_queue
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.lab.model.events.transaction import transaction_abort, transaction_commit, transaction_prepare
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from tests.lab.model.events.scene import Place, Told, opened, operations, transaction
from tests.lab.model.scene import labels, make_manager, make_packet, make_queue, position, put, states
from tests.rules import rule_table

ACK_RECEIVE = 0x4000
NACK_Q_PURGED = 0xC001
X = b"x" * 16


def under_way() -> Place:
    """In a transaction one message was taken and one moves."""
    place = Place(b"taken", b"moved")
    place.dequeue(transaction=place.unit)
    move_message(place.slots[1], place.other, place.unit)
    return place


@pytest.mark.rule("MQDMPR-3.1.7.1.16-1")
def test_nothing_moves_into_a_system_queue_in_a_transaction(place: Place) -> None:
    journal = place.queue.journal_queue_reference
    assert journal is not None
    move_message(position(put(place.queue, b"a")), journal, place.unit)
    assert (states(place.queue), labels(journal), operations(place.unit)) == (["Available"], [], [])


@pytest.mark.rule("MQDMPR-3.1.7.1.16-2", "MQDMPR-3.1.7.1.16-3", "MQDMPR-3.1.7.1.16-4", "MQDMPR-3.1.7.1.16-5")
def test_a_message_moves_to_its_place_in_the_other_queue(place: Place) -> None:
    put(place.other, b"low", priority=1)
    put(place.other, b"high", priority=7)
    message = put(place.queue, b"middle", priority=4)
    old = position(message)
    total = place.other.total_bytes
    move_message(old, place.other)
    assert (labels(place.queue), labels(place.other)) == ([], ["high", "middle", "low"])
    assert (old.state, position(message).state) == (PositionState.DELETED, PositionState.AVAILABLE)
    assert position(message).queue_reference is place.other
    assert (place.queue.total_bytes, place.other.total_bytes, place.gone) == (0, total + message.size, [])
    waiting = place.dequeue()
    move_message(position(message), place.queue)
    assert waiting.got == [(Status.MQ_OK, "middle")]


@pytest.mark.rule("MQDMPR-3.1.7.1.16-6")
def test_a_move_into_a_system_queue_wakes_nobody(place: Place) -> None:
    journal = place.queue.journal_queue_reference
    assert journal is not None
    message = put(place.queue, b"a")
    move_message(position(message), journal)
    assert (labels(place.queue), labels(journal), journal.total_bytes) == ([], ["a"], message.size)


@pytest.mark.rule("MQDMPR-3.1.7.1.16-7", "MQDMPR-3.1.7.1.16-8")
def test_a_move_in_a_transaction_waits_for_its_end(place: Place) -> None:
    move_message(position(put(place.queue, b"a")), place.other, place.unit)
    assert (states(place.queue), labels(place.other)) == (["Locked"], [])
    assert operations(place.unit) == [("Move", "a", None)]
    assert place.unit.transactional_operation_collection[0].target_queue_reference is place.other


@pytest.mark.rule("MQDMPR-3.1.4.3-1", "MQDMPR-3.1.4.3-3", "MQDMPR-3.1.4.3-6", "MQDMPR-3.1.4.3-7")
def test_prepare_says_how_many_phases_there_are(place: Place) -> None:
    unit = place.unit
    assert transaction_prepare(place.manager, X) == Status.MQ_OK
    assert unit.single_phase
    assert transaction_prepare(place.manager, X, single_phase=False) == Status.MQ_OK
    assert not unit.single_phase


@rule_table(
    "event",
    ("MQDMPR-3.1.4.3-2", transaction_prepare),
    ("MQDMPR-3.1.4.4-1", transaction_commit),
    ("MQDMPR-3.1.4.5-1", transaction_abort),
)
def test_an_unknown_transaction(place: Place, event: object) -> None:
    transaction(place.manager)
    assert callable(event)
    assert event(place.manager, b"y" * 16) == Status.MQ_ERROR_TRANSACTION_SEQUENCE
    assert list(place.manager.transaction_collection) == [X]


@pytest.mark.rule("MQDMPR-3.1.4.3-4", "MQDMPR-3.1.4.3-5")
def test_prepare_marks_the_first_and_the_last_message(place: Place) -> None:
    messages = [
        ModelMessage(packet=make_packet(transaction=TransactionHeader()), properties=MessageProperties())
        for _ in range(3)
    ]
    for message in messages:
        enqueue_message(place.queue, message, place.unit)
    transaction_prepare(place.manager, X)
    marks = [(one.properties.first_in_transaction, one.properties.last_in_transaction) for one in messages]
    assert marks == [(True, None), (None, None), (None, True)]
    headers = [decode(one.packet, as_="user_message").transaction_header for one in messages]
    assert [(one.bit("fm"), one.bit("lm")) for one in headers] == [(1, 0), (0, 0), (0, 1)]


@pytest.mark.rule("MQDMPR-3.1.4.3-4", "MQDMPR-3.1.4.3-5", "MQDMPR-3.1.4.3-6")
def test_prepare_marks_no_message_that_is_received_or_moved(place: Place) -> None:
    taken, sent, moved = (ModelMessage(properties=MessageProperties()) for _ in range(3))
    enqueue_message(place.queue, taken)
    enqueue_message(place.queue, moved)

    def marks() -> list[tuple[bool | None, bool | None]]:
        assert transaction_prepare(place.manager, X) == Status.MQ_OK
        found = [one.properties for one in (taken, sent, moved)]
        return [(one.first_in_transaction, one.last_in_transaction) for one in found]

    place.dequeue(transaction=place.unit)
    assert marks() == [(None, None)] * 3
    enqueue_message(place.other, sent, place.unit)
    move_message(position(moved), place.other, place.unit)
    assert marks() == [(None, None), (True, True), (None, None)]


@pytest.mark.rule("MQDMPR-3.1.4.4-2", "MQDMPR-3.1.4.4-3", "MQDMPR-3.1.4.4-4", "MQDMPR-3.1.4.4-5")
@pytest.mark.rule("MQDMPR-3.1.4.4-6", "MQDMPR-3.1.4.4-7", "MQDMPR-3.1.4.4-8", "MQDMPR-3.1.4.4-9")
@pytest.mark.rule("MQDMPR-3.1.4.4-10")
def test_a_commit_does_all_in_its_order() -> None:
    place = Place(b"taken", b"moved")
    old = place.slots[1]
    enqueue_message(place.other, ModelMessage(label="sent first"), place.unit)
    place.dequeue(transaction=place.unit)
    move_message(old, place.other, place.unit)
    enqueue_message(place.other, ModelMessage(label="sent last"), place.unit)
    order: list[str] = []
    reader = opened(place.other)
    for _ in range(3):
        dequeue_message(reader, lambda status, message: order.append(getattr(message, "label", "")))
    assert transaction_commit(place.manager, X) == Status.MQ_OK
    assert order == ["sent first", "moved", "sent last"]
    assert old.state is PositionState.DELETED
    assert place.gone == [ACK_RECEIVE] * 4
    assert (labels(place.queue), place.queue.total_bytes) == ([], 0)
    assert (labels(place.other), place.other.total_bytes) == ([], 0)
    assert (place.unit.transactional_operation_collection, place.manager.transaction_collection) == ([], {})
    assert transaction_commit(place.manager, X) == Status.MQ_ERROR_TRANSACTION_SEQUENCE
    assert transaction_abort(place.manager, X) == Status.MQ_ERROR_TRANSACTION_SEQUENCE


@pytest.mark.rule("MQDMPR-3.1.4.5-3", "MQDMPR-3.1.4.5-4", "MQDMPR-3.1.4.5-5", "MQDMPR-3.1.4.5-6")
@pytest.mark.rule("MQDMPR-3.1.4.5-7")
def test_an_abort_leaves_all_as_it_was() -> None:
    place = under_way()
    enqueue_message(place.other, ModelMessage(label="sent", time_to_be_received=9), place.unit)
    total = place.queue.total_bytes
    assert transaction_abort(place.manager, X) == Status.MQ_OK
    assert (labels(place.queue), states(place.queue)) == (["taken", "moved"], ["Available", "Available"])
    assert (labels(place.other), place.gone) == ([], [])
    assert (place.queue.total_bytes, place.other.total_bytes) == (total, 0)
    assert (place.unit.transactional_operation_collection, place.manager.transaction_collection) == ([], {})
    assert place.manager.timers.running == 0


@pytest.mark.rule("MQDMPR-3.1.4.5-2")
def test_an_abort_lets_go_of_what_was_purged_meanwhile() -> None:
    place = under_way()
    purge_queue(place.queue)
    transaction_abort(place.manager, X)
    assert (labels(place.queue), labels(place.other), place.gone) == ([], [], [NACK_Q_PURGED] * 2)


@pytest.mark.parametrize("commit", [False, True])
def test_a_transaction_does_nothing_to_a_queue_that_was_deleted(commit: bool) -> None:
    place = under_way()
    enqueue_message(place.queue, ModelMessage(label="sent"), place.unit)
    delete_queue(place.manager, place.queue)
    place.deleted.clear()
    end = transaction_commit if commit else transaction_abort
    assert end(place.manager, X) == Status.MQ_OK
    assert (labels(place.other), place.gone, place.queue.total_bytes) == ([], [], 0)


@pytest.mark.slow
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
            enqueue_message(target, ModelMessage(label=sent[-1]), unit)
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
