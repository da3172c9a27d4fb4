"""RemoteRead: moves, transactions and rejections, rule by rule. [MS-MQRR] 3.1.4.10, .12, .14"""

from __future__ import annotations

import struct

import pytest

from msmq_wire.engines.codec import inspect
from msmq_wire.lab.model.data.elements import ModelMessage, Queue
from msmq_wire.lab.model.data.enumerations import OperationType
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_abort, transaction_commit
from msmq_wire.lab.model.remote_read import server as remote_read
from msmq_wire.rpc.interfaces.remote_read import QMEnlistRemoteTransactionRequest
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.lab.model.remote_read.scene import (
    ACK,
    BAD_STUB_DATA,
    INVALID_HANDLE,
    INVALID_PARAMETER,
    LOOKUP_PEEK_CURRENT,
    MESSAGE_LOCKED,
    MESSAGE_NOT_FOUND,
    MOVE,
    NACK,
    OK,
    PEEK,
    PEEK_CURRENT,
    QUEUE_NOT_AVAILABLE,
    STATUS_ACCESS_DENIED,
    STATUS_INVALID_PARAMETER,
    TRANSACTION,
    TRANSACTION_SEQUENCE,
    TRANSACTION_USAGE,
    Scene,
    body,
)
from tests.lab.model.scene import START, format_name, labels, make_packet, pass_time, position, put, states
from tests.rules import rule_table

ORDERS = "DIRECT=OS:host\\private$\\orders"
LETTERS = "DIRECT=OS:host\\private$\\letters"
DONE = ORDERS + ";done"
REJECTED = int(MessageClass.MQMSG_CLASS_NACK_RECEIVE_REJECTED)


def _queue(scene: Scene, name: str) -> Queue:
    """A queue of the scene that was opened, by its format name."""
    for one in (scene.queue, scene.letters):
        for queue in (one, *one.subqueue_collection):
            if format_name(queue).casefold() == name.casefold():
                return queue
    raise AssertionError(name)


def _ends(scene: Scene) -> tuple[ContextHandle, int]:
    """``orders``, open to receive, and the number of its subqueue ``done``, open for moves."""
    return scene.client.open(scene.queue), scene.client.open_for_move(DONE)[1]


def _moves(
    scene: Scene, source: str, target: str, transaction: GUID = NULL_GUID
) -> tuple[int | None, ModelMessage, Queue, Queue]:
    handle = scene.client.open(source)
    _, number = scene.client.open_for_move(target)
    from_queue, to_queue = _queue(scene, source), _queue(scene, target)
    message = put(from_queue, b"a")
    status = scene.client.move(handle, number, message.lookup_identifier, transaction)
    return status, message, from_queue, to_queue


@pytest.mark.rule("MQRR-3.1.4.10-4")
@pytest.mark.parametrize("access", [PEEK, MOVE])
def test_a_source_must_be_open_to_receive(scene: Scene, access: int) -> None:
    message = put(scene.queue, b"a")
    handle = scene.client.open_in_any_way(scene.queue, access)
    _, number = scene.client.open_for_move(DONE)
    with scene.unchanged():
        assert scene.client.move(handle, number, message.lookup_identifier) == STATUS_ACCESS_DENIED


@pytest.mark.rule("MQRR-3.1.4.10-5", "MQRR-3.1.4.10-6", "MQRR-3.1.4.10-7", "MQRR-3.1.4.10-8")
def test_a_target_must_be_open_for_moves(scene: Scene, handle: ContextHandle) -> None:
    message = put(scene.queue, b"a")
    closed, gone = scene.client.open_for_move(DONE)
    scene.client.close(closed)
    read = scene.context(scene.client.open(DONE)).descriptor.context_value
    with scene.unchanged():
        for number in (0, 0xDEAD_BEEF_0000_0001, gone, read):
            assert scene.client.move(handle, number, message.lookup_identifier) == INVALID_HANDLE


@rule_table(
    "source, target",
    ("MQRR-3.1.4.10-9", DONE, ORDERS),
    ("MQRR-3.1.4.10-10", ORDERS, DONE),
    ("MQRR-3.1.4.10-11", DONE, ORDERS + ";failed"),
)
@pytest.mark.rule("MQRR-3.1.4.10-19", "MQRR-3.1.4.10-20", "MQRR-3.1.4.10-22")
@pytest.mark.rule("MQRR-3.1.4.10-23", "MQRR-3.1.4.10-28")
def test_a_message_moves_between_a_queue_and_its_subqueues(scene: Scene, source: str, target: str) -> None:
    reader = scene.another_client()
    waiting = reader.begin(reader.open(target), PEEK_CURRENT, timeout=1000)
    status, message, from_queue, to_queue = _moves(scene, source, target)
    assert status == OK
    assert (labels(from_queue), labels(to_queue), states(to_queue)) == ([], ["a"], ["Available"])
    assert position(message).queue_reference is to_queue
    assert body(waiting) == b"a"
    assert scene.deleted == []


@rule_table(
    "source, target",
    ("MQRR-3.1.4.10-12", ORDERS, LETTERS),
    ("MQRR-3.1.4.10-12", DONE, LETTERS),
    ("MQRR-3.1.4.10-12", DONE, LETTERS + ";done"),
    ("MQRR-3.1.4.10-13", ORDERS, ORDERS),
    ("MQRR-3.1.4.10-13", DONE, DONE),
)
def test_a_message_moves_nowhere_else(scene: Scene, source: str, target: str) -> None:
    status, _, from_queue, _ = _moves(scene, source, target)
    assert status == STATUS_INVALID_PARAMETER
    assert (labels(from_queue), states(from_queue)) == (["a"], ["Available"])


@pytest.mark.rule("MQRR-3.1.4.10-14")
def test_a_target_that_is_not_transactional_takes_part_in_no_transaction(scene: Scene) -> None:
    create_transaction(scene.manager, bytes(TRANSACTION))
    status, _, from_queue, _ = _moves(scene, LETTERS, LETTERS + ";done", TRANSACTION)
    assert status == TRANSACTION_USAGE
    assert states(from_queue) == ["Available"]


@pytest.mark.rule("MQRR-3.1.4.10-15")
def test_a_message_that_the_source_does_not_have_is_not_moved(scene: Scene) -> None:
    message = put(scene.letters, b"a")
    handle, number = _ends(scene)
    with scene.unchanged():
        assert scene.client.move(handle, number, message.lookup_identifier) == MESSAGE_NOT_FOUND


@pytest.mark.rule("MQRR-3.1.4.10-16", "MQRR-3.1.4.10-17")
@pytest.mark.parametrize("transaction", [None, TRANSACTION])
def test_a_locked_message_is_not_moved(scene: Scene, transaction: GUID | None) -> None:
    message = put(scene.queue, b"a")
    handle, number = _ends(scene)
    scene.client.enlist()
    scene.client.take(handle, transaction=transaction)
    with scene.unchanged():
        for within in (NULL_GUID, TRANSACTION):
            assert scene.client.move(handle, number, message.lookup_identifier, within) == MESSAGE_LOCKED


@pytest.mark.rule("MQRR-3.1.4.10-14", "MQRR-3.1.4.10-15", "MQRR-3.1.4.10-16", "MQRR-3.1.4.10-18")
def test_of_several_reasons_not_to_move_the_first_is_told(scene: Scene) -> None:
    message = put(scene.queue, b"a")
    letters, orders = scene.client.open(scene.letters), scene.client.open(scene.queue)
    _, plain = scene.client.open_for_move(LETTERS + ";done")
    _, done = scene.client.open_for_move(DONE)
    scene.client.take(orders)
    found = message.lookup_identifier
    assert scene.client.move(letters, 0, 99, TRANSACTION) == INVALID_HANDLE
    assert scene.client.move(orders, plain, 99, TRANSACTION) == STATUS_INVALID_PARAMETER
    assert scene.client.move(letters, plain, 99, TRANSACTION) == TRANSACTION_USAGE
    assert scene.client.move(orders, done, 99, TRANSACTION) == MESSAGE_NOT_FOUND
    assert scene.client.move(orders, done, found, TRANSACTION) == MESSAGE_LOCKED
    assert scene.client.end(orders, NACK) == OK
    assert scene.client.move(orders, done, found, TRANSACTION) == TRANSACTION_SEQUENCE


@pytest.mark.rule("MQRR-3.1.4.10-18")
def test_a_transaction_that_nobody_enlisted_moves_nothing(scene: Scene) -> None:
    status, _, from_queue, _ = _moves(scene, ORDERS, DONE, TRANSACTION)
    assert status == TRANSACTION_SEQUENCE
    assert states(from_queue) == ["Available"]
    assert not scene.manager.transaction_collection


@pytest.mark.rule("MQRR-3.1.4.10-21", "MQRR-3.1.4.10-24", "MQRR-3.1.4.12-13", "MQRR-3.1.4.10-28")
@pytest.mark.parametrize("commits", [True, False])
def test_a_move_in_a_transaction_happens_with_its_commit(scene: Scene, commits: bool) -> None:
    scene.client.enlist()
    status, message, source, target = _moves(scene, ORDERS, DONE, TRANSACTION)
    assert status == OK
    assert (labels(target), states(source)) == ([], ["Locked"])
    (operation,) = scene.manager.transaction_collection[TRANSACTION].transactional_operation_collection
    assert operation.operation_type is OperationType.MOVE
    assert operation.message_position_reference is position(message)
    assert operation.target_queue_reference is target
    end = transaction_commit if commits else transaction_abort
    assert end(scene.manager, TRANSACTION) == OK
    where = target if commits else source
    assert (labels(where), states(where)) == (["a"], ["Available"])
    assert len(source.message_position_list) + len(target.message_position_list) == 1


def test_a_queue_that_was_deleted_has_no_moves(scene: Scene) -> None:
    handle, number = _ends(scene)
    delete_queue(scene.manager, scene.queue)
    assert scene.client.move(handle, number, 1) == QUEUE_NOT_AVAILABLE


def _handed_out(scene: Scene, message: ModelMessage) -> bytes:
    """The packet that a reader of the message's queue gets."""
    handle = scene.client.open(position(message).queue_reference, PEEK)
    message.allow_peek_when_locked = True
    call = scene.client.begin(handle, LOOKUP_PEEK_CURRENT, lookup_id=message.lookup_identifier)
    (section,) = call.response.pp_packet_sections
    data: bytes = section.data
    return data


def _header(scene: Scene, message: ModelMessage) -> SubqueueHeader:
    """The SubqueueHeader that a reader of the message's queue gets."""
    data = _handed_out(scene, message)
    found = inspect(data, as_="message_packet")
    assert (found.error, found.anomalies, found.remainder) == (None, (), b"")
    assert found.packet.base_header.packet_size == len(data)
    header: SubqueueHeader = found.packet.subqueue_header
    return header


@pytest.mark.rule("MQRR-3.1.4.10-25", "MQRR-2.2.5.3-6", "MQRR-2.2.5.3-7", "MQRR-2.2.5.3-8", "MQRR-2.2.5.3-9")
@pytest.mark.rule("MQRR-2.2.5.3-11")
def test_a_moved_message_says_how_often_and_when_and_where(scene: Scene) -> None:
    handle, done = scene.client.open(scene.queue), scene.client.open(DONE)
    _, to_done = scene.client.open_for_move(DONE)
    _, to_orders = scene.client.open_for_move(ORDERS)
    message = put(scene.queue, b"a")
    assert _header(scene, message) == SubqueueHeader()
    pass_time(scene.manager, 7_000)
    scene.client.move(handle, to_done, message.lookup_identifier)
    header = _header(scene, message)
    assert (header.move_counter, header.last_move_time) == (1, START + 7)
    assert (header.subqueue_name.text, header.target_subqueue_name.text) == ("done", "")
    pass_time(scene.manager, 1_000)
    scene.client.move(done, to_orders, message.lookup_identifier)
    header = _header(scene, message)
    assert (header.move_counter, header.last_move_time) == (2, START + 8)
    assert header.subqueue_name.text == ""


@pytest.mark.rule("MQRR-3.1.4.10-26", "MQRR-3.1.4.10-27", "MQRR-3.1.4.10-25", "MQRR-2.2.5.3-4")
@pytest.mark.rule("MQRR-2.2.5.3-5", "MQRR-2.2.5.3-12", "MQRR-2.2.5.3-14")
def test_a_moving_message_says_where_to_and_how_often_that_failed(scene: Scene) -> None:
    handle, number = _ends(scene)
    message = put(scene.queue, b"a")
    for aborts in (0, 1):
        scene.client.enlist()
        scene.client.move(handle, number, message.lookup_identifier, TRANSACTION)
        header = _header(scene, message)
        assert (header.target_subqueue_name.text, header.abort_counter) == ("done", aborts)
        transaction_abort(scene.manager, TRANSACTION)
        header = _header(scene, message)
        assert (header.target_subqueue_name.text, header.abort_counter) == ("", aborts + 1)
        assert header.move_counter == 0
    scene.client.enlist()
    scene.client.move(handle, number, message.lookup_identifier, TRANSACTION)
    transaction_commit(scene.manager, TRANSACTION)
    header = _header(scene, message)
    assert (header.move_counter, header.abort_counter, header.subqueue_name.text) == (1, 0, "done")


@pytest.mark.rule("MQRR-3.1.4.13-124", "MQRR-2.2.5.3-4")
def test_a_transaction_that_read_a_moved_message_and_failed_is_counted(scene: Scene) -> None:
    _, message, _, target = _moves(scene, ORDERS, DONE)
    reader = scene.client.open(target)
    for aborts in (1, 2):
        scene.client.enlist()
        scene.client.take(reader, transaction=TRANSACTION)
        assert scene.client.end(reader, transactional=True) == OK
        transaction_abort(scene.manager, TRANSACTION)
        header = _header(scene, message)
        assert (header.move_counter, header.abort_counter) == (1, aborts)
    unmoved = put(scene.queue, b"b")
    orders = scene.client.open(scene.queue)
    scene.client.enlist()
    scene.client.take(orders, transaction=TRANSACTION)
    transaction_abort(scene.manager, TRANSACTION)
    assert _header(scene, unmoved) == SubqueueHeader()


def _extension(flags: int, rest: int) -> bytes:
    return struct.pack("<IIB3x", 12, rest, flags)


def _subqueue(aborts: int, moves: int, time: int, name: str, target: str) -> bytes:
    names = name.encode("utf-16-le").ljust(64, b"\0") + target.encode("utf-16-le").ljust(64, b"\0")
    return struct.pack("<5I", 148, 0, aborts, moves, time) + names


NO_ADDRESS = struct.pack("<I24x", 28)
THIS_HOST = struct.pack("<IHHI4s12x", 28, 4, 1, 0, bytes((127, 0, 0, 1)))
THIS_HOST_OVERLAY = struct.pack("<HHI4s4x", 4, 1, 0, bytes((127, 0, 0, 1)))
DEAD_LETTER_PATH = "host\\private$\\dead"
DEAD_LETTER = struct.pack("<I", 44) + DEAD_LETTER_PATH.encode("utf-16-le") + bytes(4)


@pytest.mark.parametrize("commits", [None, True, False], ids=["no transaction", "commit", "abort"])
@pytest.mark.parametrize("dead_letter", [False, True])
@pytest.mark.rule("MQRR-3.1.4.10-25", "MQRR-3.1.4.10-26", "MQRR-3.1.4.10-27", "MQRR-2.2.5-1", "MQRR-2.2.5-2")
@pytest.mark.rule("MQRR-2.2.5-3", "MQRR-2.2.5.2-2", "MQRR-2.2.5.2-3", "MQRR-2.2.5.2-4", "MQRR-2.2.5.2-7")
@pytest.mark.rule("MQRR-2.2.5.3-4", "MQRR-2.2.5.3-5", "MQRR-2.2.5.3-6", "MQRR-2.2.5.3-7", "MQRR-2.2.5.3-8")
@pytest.mark.rule("MQRR-2.2.5.3-9", "MQRR-2.2.5.3-10", "MQRR-2.2.5.3-11", "MQRR-2.2.5.3-12")
@pytest.mark.rule("MQRR-2.2.5.3-13", "MQRR-2.2.5.3-14", "MQRR-2.2.5.4-2", "MQRR-2.2.5.4-3", "MQRR-2.2.5.4-4")
def test_the_trailing_headers_of_a_moved_message_are_counted_in_its_packet_size(
    scene: Scene, commits: bool | None, dead_letter: bool
) -> None:
    sent = make_packet(b"body")
    stored, flags, between = sent, 0x12, b""
    if dead_letter:
        flags, between = 0x13, DEAD_LETTER
        trailers = _extension(flags, 220) + _subqueue(0, 0, 0, "", "") + DEAD_LETTER + NO_ADDRESS
        stored = sent[:8] + struct.pack("<I", len(sent) + 232) + sent[12:] + trailers
    message = put(scene.queue, packet=stored)
    handle, number = _ends(scene)
    transaction = NULL_GUID
    if commits is not None:
        scene.client.enlist()
        transaction = TRANSACTION

    def expected(aborts: int, moves: int, name: str, target: str) -> bytes:
        rest = 176 + len(between)
        subqueue = _subqueue(aborts, moves, START if moves else 0, name, target)
        size = struct.pack("<I", len(sent) + 12 + rest)
        headers = sent[:8] + size + sent[12:32] + THIS_HOST_OVERLAY + sent[48:]
        return headers + _extension(flags, rest) + subqueue + between + THIS_HOST

    assert scene.client.move(handle, number, message.lookup_identifier, transaction) == OK
    if commits is not None:
        _header(scene, message)
        assert _handed_out(scene, message) == expected(0, 0, "", "done")
        (transaction_commit if commits else transaction_abort)(scene.manager, TRANSACTION)
    _header(scene, message)
    assert _handed_out(scene, message) == (
        expected(1, 0, "", "") if commits is False else expected(0, 1, "done", "")
    )


@pytest.mark.rule("MQRR-3.1.4.7-127", "MQRR-3.1.4.7-129", "MQRR-3.1.4.7-130")
def test_the_trailing_headers_of_a_moved_message_come_behind_a_body_that_was_cut(scene: Scene) -> None:
    _, message, _, target = _moves(scene, ORDERS, DONE)
    reader = scene.client.open(target)
    first, second = scene.client.begin(reader, PEEK_CURRENT, max_body_size=0).response.pp_packet_sections
    trailers = _extension(0x12, 176) + _subqueue(0, 1, START, "done", "") + THIS_HOST
    assert second.data == trailers
    assert (second.section_size, second.section_size_alloc) == (len(trailers), len(trailers))
    padded_body = b"a\0\0\0"
    kept = message.packet
    whole = kept[:32] + THIS_HOST_OVERLAY + kept[48 : -len(THIS_HOST)] + THIS_HOST
    assert first.data + padded_body + second.data == whole
    assert (first.section_size, first.section_size_alloc) == (len(first.data), len(first.data) + 1)


@pytest.mark.parametrize("transaction", [NULL_GUID, TRANSACTION])
def test_who_waits_in_the_target_gets_a_packet_that_says_so(scene: Scene, transaction: GUID) -> None:
    scene.client.enlist()
    target = scene.client.open(DONE)
    call = scene.client.begin(target, timeout=1000)
    _moves(scene, ORDERS, DONE, transaction)
    assert (call.answer is None) == (transaction == TRANSACTION)
    transaction_commit(scene.manager, TRANSACTION)
    (section,) = call.response.pp_packet_sections
    found = inspect(section.data, as_="message_packet")
    assert (found.error, found.anomalies) == (None, ())
    header = found.packet.subqueue_header
    assert header.move_counter == 1
    assert (header.subqueue_name.text, header.target_subqueue_name.text) == ("done", "")


def test_the_packet_says_where_a_message_is_whoever_reads_it(scene: Scene) -> None:
    scene.client.enlist()
    _, message, _, _ = _moves(scene, ORDERS, DONE, TRANSACTION)
    transaction_commit(scene.manager, TRANSACTION)
    header = inspect(message.packet, as_="message_packet").packet.subqueue_header
    assert (header.subqueue_name.text, header.target_subqueue_name.text) == ("done", "")


def test_an_srmp_message_moves_as_it_is(scene: Scene) -> None:
    message = put(scene.queue, packet=make_packet(b"not really"), srmp=True)
    before = message.packet
    handle, number = _ends(scene)
    assert scene.client.move(handle, number, message.lookup_identifier) == OK
    assert message.packet == before


@pytest.mark.rule("MQRR-3.1.4.12-1", "MQRR-3.1.4.12-2", "MQRR-3.1.4.12-5", "MQRR-3.1.4.12-6")
@pytest.mark.parametrize(
    "request_",
    [
        QMEnlistRemoteTransactionRequest(
            p_transaction_id=None,  # type: ignore[arg-type]  # NULL where the method is called in place
            cb_propagation_token=1,
            pb_propagation_token=b"t",
        ),
        QMEnlistRemoteTransactionRequest(cb_propagation_token=1, pb_propagation_token=b"t"),
        QMEnlistRemoteTransactionRequest(
            p_transaction_id=TRANSACTION,
            cb_propagation_token=1,
            pb_propagation_token=None,  # type: ignore[arg-type]  # as above
        ),
        QMEnlistRemoteTransactionRequest(p_transaction_id=TRANSACTION),
    ],
)
def test_no_transaction_and_no_token_are_refused(
    scene: Scene, request_: QMEnlistRemoteTransactionRequest
) -> None:
    answer = scene.client.call("r_qm_enlist_remote_transaction", request_)
    assert answer.status == INVALID_PARAMETER
    assert not scene.manager.transaction_collection


@pytest.mark.rule("MQRR-3.1.4.12-3", "MQRR-3.1.4.12-4")
@pytest.mark.parametrize(("size", "length"), [(131_073, 131_073), (5, 4), (0, 1), (0xFFFFFFFF, 0)])
def test_a_token_of_another_size_is_a_fault(scene: Scene, size: int, length: int) -> None:
    request = QMEnlistRemoteTransactionRequest(
        p_transaction_id=TRANSACTION, cb_propagation_token=size, pb_propagation_token=b"t" * length
    )
    assert scene.client.call("r_qm_enlist_remote_transaction", request).fault == BAD_STUB_DATA
    assert not scene.manager.transaction_collection


@pytest.mark.rule("MQRR-3.1.4.12-6", "MQRR-3.1.4.12-9")
@pytest.mark.parametrize("status", [INVALID_PARAMETER, TRANSACTION_SEQUENCE])
def test_a_transaction_manager_that_refuses_makes_no_transaction(status: int) -> None:
    scene = Scene(enlist=lambda identifier, token: status)
    assert scene.client.enlist() == status
    assert not scene.manager.transaction_collection


@pytest.mark.rule("MQRR-3.1.4.12-7", "MQRR-3.1.4.12-8", "MQRR-3.1.4.12-10", "MQRR-3.1.4.12-12")
def test_enlisting_asks_the_transaction_manager_and_makes_the_transaction() -> None:
    asked: list[tuple[bytes, bytes]] = []

    def enlist(identifier: bytes, token: bytes) -> int:
        asked.append((identifier, token))
        return OK

    scene = Scene(enlist=enlist)
    assert scene.client.enlist(TRANSACTION, b"x" * 131_072) == OK
    assert asked == [(bytes(TRANSACTION), b"x" * 131_072)]
    (transaction,) = scene.manager.transaction_collection.values()
    assert transaction.identifier == bytes(TRANSACTION)


@pytest.mark.rule("MQRR-3.1.4.12-11")
def test_enlisting_twice_finds_the_transaction_that_is_there(scene: Scene, handle: ContextHandle) -> None:
    put(scene.queue, b"a")
    scene.client.enlist()
    scene.client.take(handle, transaction=TRANSACTION)
    before = scene.manager.transaction_collection[TRANSACTION]
    assert scene.client.enlist() == OK
    assert scene.manager.transaction_collection == {bytes(TRANSACTION): before}
    assert len(before.transactional_operation_collection) == 1


def _received(scene: Scene) -> tuple[ContextHandle, ModelMessage]:
    """A message that was received in a transaction, as far as the client is concerned."""
    message = put(scene.queue, b"a")
    handle = scene.client.open(scene.queue)
    scene.client.take(handle, transaction=TRANSACTION)
    scene.client.end(handle, ACK, transactional=True)
    return handle, message


@pytest.mark.rule("MQRR-3.1.4.14-4")
@pytest.mark.parametrize("access", [PEEK, MOVE])
def test_only_a_handle_to_receive_rejects(scene: Scene, access: int) -> None:
    _, message = _received(scene)
    handle = scene.client.open_in_any_way(scene.queue, access)
    with scene.unchanged():
        assert scene.client.classify(handle, message.lookup_identifier) == INVALID_HANDLE


@pytest.mark.rule("MQRR-3.1.4.14-5")
@pytest.mark.parametrize("us_class", [1, 0x1234, 0xC001, 0x4000, 0xFFFF])
def test_another_class_than_none_rejects(scene: Scene, us_class: int) -> None:
    handle, message = _received(scene)
    assert scene.client.classify(handle, message.lookup_identifier, us_class) == OK
    transaction_commit(scene.manager, TRANSACTION)
    assert scene.deleted == [("a", int(MessageClass.MQMSG_CLASS_NACK_RECEIVE_REJECTED))]


@pytest.mark.rule("MQRR-3.1.4.14-6")
def test_a_message_that_is_not_there_is_not_rejected(scene: Scene) -> None:
    handle, message = _received(scene)
    assert scene.client.classify(handle, message.lookup_identifier + 1) == MESSAGE_NOT_FOUND
    transaction_commit(scene.manager, TRANSACTION)
    assert scene.deleted == [("a", int(MessageClass.MQMSG_CLASS_ACK_RECEIVE))]


@pytest.mark.rule("MQRR-3.1.4.14-7")
@pytest.mark.parametrize("received", [True, False])
def test_a_message_of_no_transaction_is_not_rejected(scene: Scene, received: bool) -> None:
    message = put(scene.queue, b"a")
    handle = scene.client.open(scene.queue)
    if received:
        scene.client.take(handle)
    with scene.unchanged():
        for us_class in (0, 0xC004):
            status = scene.client.classify(handle, message.lookup_identifier, us_class)
            assert status == TRANSACTION_USAGE


@pytest.mark.rule("MQRR-3.1.4.14-8")
def test_a_message_that_moves_is_not_rejected(scene: Scene, handle: ContextHandle) -> None:
    scene.client.enlist()
    _, message, _, _ = _moves(scene, ORDERS, DONE, TRANSACTION)
    assert scene.client.classify(handle, message.lookup_identifier) == TRANSACTION_USAGE
    (operation,) = scene.manager.transaction_collection[TRANSACTION].transactional_operation_collection
    assert operation.dequeue_reason is None


@pytest.mark.rule("MQRR-3.1.4.14-9")
@pytest.mark.parametrize(
    ("end", "status"), [(transaction_abort, TRANSACTION_USAGE), (transaction_commit, MESSAGE_NOT_FOUND)]
)
def test_a_message_is_not_rejected_after_the_transaction(scene: Scene, end: object, status: int) -> None:
    handle, message = _received(scene)
    assert callable(end)
    end(scene.manager, TRANSACTION)
    assert scene.client.classify(handle, message.lookup_identifier) == status


@pytest.mark.rule("MQRR-3.1.4.14-10", "MQRR-3.1.4.14-11", "MQRR-3.1.4.14-12")
@pytest.mark.parametrize("us_class", [0, 0xC004])
def test_a_rejected_message_goes_as_rejected_with_the_commit(scene: Scene, us_class: int) -> None:
    handle, message = _received(scene)
    assert scene.client.classify(handle, message.lookup_identifier, us_class) == OK
    assert states(scene.queue) == ["Locked"]
    assert transaction_commit(scene.manager, TRANSACTION) == OK
    reason = REJECTED if us_class else int(MessageClass.MQMSG_CLASS_ACK_RECEIVE)
    assert scene.deleted == [("a", reason)]


def test_the_event_that_moves_is_given_what_was_found(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(remote_read, "move_message", lambda *arguments: calls.append(arguments))
    _, message, _, target = _moves(scene, ORDERS, DONE)
    assert calls == [(position(message), target)]
