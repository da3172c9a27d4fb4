"""The rules of ReceiveCurrent_v1, with the objects of the model in the place of those of COM."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.engines.codec import decode
from msmq_wire.lab.model.com.receive_current import (
    E_INVALIDARG,
    OLE_E_BLANK,
    Argument,
    MsmqMessage,
    MsmqQueue,
    MsmqTransaction,
    open_msmq_queue,
    receive_current_v1,
)
from msmq_wire.lab.model.data.elements import ModelMessage, Queue, Transaction
from msmq_wire.lab.model.data.enumerations import (
    CursorState,
    ModelQueueType,
    OperationType,
    PositionState,
    QueueAccessType,
)
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.message import (
    dequeue_message,
    dequeue_message_begin,
    dequeue_message_end,
    peek_message,
    purge_queue,
)
from msmq_wire.lab.model.events.queue import close_queue, delete_queue
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_abort, transaction_commit
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES, RECEIVE_CURRENT, ReceiveCurrentRequest
from msmq_wire.rpc.com.variant import DISP_E_PARAMNOTFOUND, VariantType
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.scene import (
    Scene,
    labels,
    make_packet,
    pass_time,
    position,
    put,
    states,
)
from tests.rules import rule_table

S_OK = 0
UNIT_OF_WORK = b"a unit of work.."
NOT_SPECIFIED: Argument = (VariantType.VT_ERROR, DISP_E_PARAMNOTFOUND)
not_specified = pytest.mark.parametrize("argument", [NOT_SPECIFIED, None, (VariantType.VT_EMPTY, None)])


def i4(value: int) -> Argument:
    """A VT_I4."""
    return VariantType.VT_I4, value


def boolean(value: int) -> Argument:
    """A VT_BOOL; VARIANT_TRUE is -1."""
    return VariantType.VT_BOOL, value


AT_ONCE = i4(0)


class Desk(Scene):
    """A queue with messages that an MSMQQueue has open, and what its receives gave."""

    def __init__(self, *bodies: bytes, access: QueueAccessType = QueueAccessType.RECEIVE_ACCESS) -> None:
        super().__init__(*bodies)
        self.descriptor = self.opened(access)
        self.object = open_msmq_queue(self.manager, self.descriptor, "info")
        assert self.object.cursor is not None
        self.cursor = self.object.cursor

    def start(
        self, queue: MsmqQueue | None = None, /, **arguments: Any
    ) -> list[tuple[int, MsmqMessage | None]]:
        """Call the method; the list has what it answered, as soon as it answers."""
        answers: list[tuple[int, MsmqMessage | None]] = []
        receive_current_v1(
            self.manager, queue or self.object, lambda *answer: answers.append(answer), **arguments
        )
        return answers

    def receive(self, queue: MsmqQueue | None = None, /, **arguments: Any) -> tuple[int, MsmqMessage | None]:
        """A call that is answered at once."""
        (answer,) = self.start(queue, **{"receive_timeout": AT_ONCE, **arguments})
        assert (answer[1] is not None) is (answer[0] == S_OK)
        return answer

    def label(self, **arguments: Any) -> str:
        """The label of the message that a call receives."""
        status, message = self.receive(**arguments)
        assert status == S_OK
        assert message is not None
        return message.message.label

    def peek(self) -> None:
        """Read the message at the cursor of the object, as PeekCurrent does."""
        peek_message(self.descriptor, lambda status, message: None, cursor=self.cursor, timeout=0)


def refusal(**arguments: Any) -> int:
    """The status of a call that receives nothing and leaves everything as it was."""
    desk = Desk(b"m")
    status, message = desk.receive(**arguments)
    assert (message, states(desk.queue), desk.manager.transaction_collection) == (None, ["Available"], {})
    return status


def journal(queue: Queue) -> list[str]:
    """The labels of the copies in the journal of a queue."""
    assert queue.journal_queue_reference is not None
    return labels(queue.journal_queue_reference)


# The interfaces

QUEUES = {
    "IMSMQQueue": "d7d6e076-dccd-11d0-aa4b-0060970debae",
    "IMSMQQueue2": "ef0574e0-06d8-11d3-b100-00e02c074f6b",
    "IMSMQQueue3": "eba96b1b-2168-11d3-898c-00e02c074f6b",
    "IMSMQQueue4": "eba96b20-2168-11d3-898c-00e02c074f6b",
}


@pytest.fixture
def desk() -> Desk:
    return Desk()


@rule_table(
    "name, method",
    ("MQAC-3.11.4-1", "IMSMQQueue", "ReceiveCurrent"),
    ("MQAC-3.11.4-2", "IMSMQQueue2", "ReceiveCurrent_v1"),
    ("MQAC-3.11.4-3", "IMSMQQueue3", "ReceiveCurrent_v1"),
    ("MQAC-3.11.4-4", "IMSMQQueue4", "ReceiveCurrent_v1"),
)
@pytest.mark.rule("MQAC-3.11.4-5", "MQAC-3.11.4-7")
def test_opnum_17_of_the_four_revisions_is_the_method(name: str, method: str) -> None:
    methods = COM_INTERFACES[GUID.parse(QUEUES[name])].methods
    assert RECEIVE_CURRENT == 17
    assert methods[17].name == method
    assert methods[17].request.cls is ReceiveCurrentRequest
    assert methods[17].request.names == (
        "orpcthis",
        "transaction",
        "want_destination_queue",
        "want_body",
        "receive_timeout",
    )
    assert [methods[opnum].name for opnum in range(3, 8)] == [
        "GetTypeInfoCount",
        "GetTypeInfo",
        "GetIDsOfNames",
        "Invoke",
        "get_Access",
    ]
    assert set(range(3)).isdisjoint(methods)


@pytest.mark.rule("MQAC-3.11.4-6")
def test_the_first_revision_ends_with_opnum_19() -> None:
    assert max(COM_INTERFACES[GUID.parse(QUEUES["IMSMQQueue"])].methods) == 19
    assert COM_INTERFACES[GUID.parse(QUEUES["IMSMQQueue2"])].methods[22].name == "ReceiveCurrent"


# The object


@pytest.mark.rule("MQAC-3.11.3-1", "MQAC-3.11.3-2", "MQAC-3.11.3-3", "MQAC-3.11.3-4", "MQAC-3.11.3-5")
def test_an_object_that_was_opened_is_at_the_start_of_its_queue(desk: Desk) -> None:
    assert desk.object.open_queue_descriptor is desk.descriptor
    assert (desk.cursor.cursor_state, desk.cursor.message_position_reference) == (CursorState.UNREAD, "start")
    assert desk.descriptor.cursor_collection == [desk.cursor]
    assert (desk.object.is_closed, desk.object.is_initialized) == (False, True)
    assert desk.object.msmq_queue_info_object == "info"


@pytest.mark.rule("MQAC-3.11.3-6", "MQAC-3.11.3-7", "MQAC-3.11.3-8", "MQAC-3.11.4.1.11-14")
@pytest.mark.rule("MQAC-3.11.4.1.11-16")
def test_an_object_that_a_client_made_is_blank() -> None:
    desk = Desk(b"m")
    made = MsmqQueue()
    assert (made.open_queue_descriptor, made.is_closed, made.is_initialized) == (None, True, False)
    # Before the arguments are looked at.
    assert desk.receive(made, transaction=i4(99)) == (OLE_E_BLANK, None)
    assert states(desk.queue) == ["Available"]


@pytest.mark.rule("MQAC-3.11.4.1.11-15", "MQAC-3.11.1.1-1")
def test_a_closed_object_receives_nothing() -> None:
    desk = Desk(b"m")
    desk.object.is_closed = True
    assert desk.receive() == (Status.MQ_ERROR_INVALID_HANDLE, None)
    assert states(desk.queue) == ["Available"]


@pytest.mark.parametrize("access", list(QueueAccessType))
@pytest.mark.rule("MQAC-3.11.4.1.11-17")
def test_a_queue_must_be_open_to_receive(access: QueueAccessType) -> None:
    desk = Desk(b"m", access=access)
    allowed = access in (QueueAccessType.RECEIVE_ACCESS, QueueAccessType.RECEIVE_ADMIN_ACCESS)
    status, _ = desk.receive()
    assert status == (S_OK if allowed else Status.MQ_ERROR_ACCESS_DENIED)
    assert labels(desk.queue) == ([] if allowed else ["m"])


# Arguments


@not_specified
@pytest.mark.rule("MQAC-3.1.4.2-1", "MQAC-3.1.4.2-2", "MQAC-3.11.4.1.11-1", "MQAC-3.11.4.1.11-2")
@pytest.mark.rule("MQAC-3.11.4.1.11-5", "MQAC-3.11.4.1.11-10", "MQAC-3.11.4.1.11-45")
def test_what_is_not_specified_has_its_default(desk: Desk, argument: Argument) -> None:
    answers = desk.start(
        transaction=argument,
        want_destination_queue=argument,
        want_body=argument,
        receive_timeout=argument,
        context_transaction=UNIT_OF_WORK,
    )
    pass_time(desk.manager, 2 * INFINITE)
    assert answers == []
    assert desk.manager.timers.running == 0
    put(desk.queue, b"m")
    ((status, message),) = answers
    assert status == S_OK
    assert message is not None
    assert (message.want_body, message.want_destination_queue) == (True, False)
    # MQ_MTS_TRANSACTION: in the transaction of the context.
    assert states(desk.queue) == ["Locked"]
    assert len(desk.manager.transaction_collection[UNIT_OF_WORK].transactional_operation_collection) == 1


_names = ["transaction", "want_destination_queue", "want_body", "receive_timeout"]


@pytest.mark.parametrize("name", _names)
@pytest.mark.rule("MQAC-3.1.4.2-3", "MQAC-3.1.4.3-2", "MQAC-3.11.4.1.11-61")
def test_another_error_in_an_argument_fails(name: str) -> None:
    assert refusal(**{name: (VariantType.VT_ERROR, 0x80020005)}) == E_INVALIDARG


@rule_table(
    "name",
    ("MQAC-3.11.4.1.11-9", "want_destination_queue"),
    ("MQAC-3.11.4.1.11-9", "want_body"),
    ("MQAC-3.11.4.1.11-12", "receive_timeout"),
)
@pytest.mark.parametrize(
    "argument",
    [(VariantType.VT_BSTR, "yes"), (VariantType.VT_DISPATCH, None), (VariantType.VT_I4, None), (8192, 1)],
)
def test_an_argument_of_another_type_fails(name: str, argument: Argument) -> None:
    assert refusal(**{name: argument}) == E_INVALIDARG


def _sent(desk: Desk) -> ModelMessage:
    packet = make_packet(b"the body")
    message = message_of(decode(packet, as_="user_message"), packet)
    assert enqueue_message(desk.queue, message) == 0
    return message


@rule_table(
    "value, body, destination",
    ("MQAC-3.11.4.1.11-4 MQAC-3.11.4.1.11-7 MQAC-3.17.3-5", 0, None, None),
    ("MQAC-3.11.4.1.11-3 MQAC-3.11.4.1.11-6", -1, b"the body", "DIRECT=OS:host\\private$\\orders"),
    ("MQAC-3.11.4.1.11-8", 1, b"the body", "DIRECT=OS:host\\private$\\orders"),
    ("", 0xFFFF, b"the body", "DIRECT=OS:host\\private$\\orders"),
)
@pytest.mark.rule("MQAC-3.11.4.1.11-48", "MQAC-3.11.4.1.11-49", "MQAC-3.11.4.1.11-13")
def test_body_and_destination_are_in_the_object_when_they_are_wanted(
    desk: Desk, value: int, body: bytes | None, destination: str | None
) -> None:
    _sent(desk)
    status, message = desk.receive(want_body=boolean(value), want_destination_queue=boolean(value))
    assert status == S_OK
    assert message is not None
    assert (message.body, message.destination_queue_format_name) == (body, destination)
    assert labels(desk.queue) == []


@pytest.mark.rule("MQAC-3.17.3-1", "MQAC-3.17.3-2", "MQAC-3.17.3-3", "MQAC-3.17.3-4")
def test_a_message_object_has_what_the_message_has_and_nothing_of_its_own(desk: Desk) -> None:
    sent = _sent(desk)
    _, message = desk.receive()
    assert message is not None
    assert message.message is sent
    assert message.requested_authentication_level == 0
    assert (message.soap_body, message.soap_header) == (None, None)
    assert (message.sender_identifier_cache, message.sender_certificate_cache) == (None, None)


@pytest.mark.rule("MQAC-3.11.4.1.11-11", "MQAC-3.11.2-1", "MQAC-3.11.4.1.11-44", "MQAC-3.11.4.1.11-38")
@pytest.mark.parametrize(("value", "milliseconds"), [(1500, 1500), (-2, 0xFFFFFFFE)])
def test_the_timeout_is_in_milliseconds_and_has_a_timer(desk: Desk, value: int, milliseconds: int) -> None:
    answers = desk.start(receive_timeout=i4(value))
    assert desk.manager.timers.running == 1
    pass_time(desk.manager, milliseconds - 1)
    assert answers == []
    pass_time(desk.manager, 1)
    assert answers == [(Status.MQ_ERROR_IO_TIMEOUT, None)]
    assert desk.manager.timers.running == 0
    assert desk.descriptor.waiting_message_read_operation_collection == []


@pytest.mark.rule("MQAC-3.11.4.1.11-11", "MQAC-3.11.4.1.11-45", "MQAC-3.11.2-1")
def test_a_timeout_of_minus_one_is_infinite(desk: Desk) -> None:
    answers = desk.start(receive_timeout=i4(-1))
    assert desk.manager.timers.running == 0
    pass_time(desk.manager, 2 * INFINITE)
    assert answers == []


# Transactions


@rule_table(
    "value, context, state",
    ("MQAC-2.2.2.1-1 MQAC-3.11.4.1.11-24", 0, UNIT_OF_WORK, []),
    ("MQAC-2.2.2.1-4 MQAC-3.11.4.1.11-24", 3, UNIT_OF_WORK, []),
    ("MQAC-2.2.2.1-2", 1, UNIT_OF_WORK, ["Locked"]),
    ("MQAC-2.2.2.1-3", 2, UNIT_OF_WORK, ["Locked"]),
    ("MQAC-2.2.2.1-5", 1, None, []),
    ("MQAC-2.2.2.1-5", 2, None, []),
)
@pytest.mark.rule("MQAC-3.11.4.1.11-23", "MQAC-3.11.4.1.11-41", "MQAC-3.11.4.1.11-51")
def test_a_number_says_which_transaction_there_is(
    value: int, context: bytes | None, state: list[str]
) -> None:
    desk = Desk(b"m")
    assert desk.label(transaction=i4(value), context_transaction=context) == "m"
    assert states(desk.queue) == state
    assert list(desk.manager.transaction_collection) == ([UNIT_OF_WORK] if state else [])


@pytest.mark.parametrize("value", [-1, 4, 0x7FFFFFFF])
@pytest.mark.rule("MQAC-2.2.2.1-6")
def test_another_number_is_no_transaction(value: int) -> None:
    assert refusal(transaction=i4(value), context_transaction=UNIT_OF_WORK) == E_INVALIDARG


@pytest.mark.parametrize("by_reference", [0, int(VariantType.VT_BYREF)])
@pytest.mark.rule("MQAC-3.11.4.1.11-19", "MQAC-3.11.4.1.11-20", "MQAC-3.11.4.1.11-26", "MQAC-3.11.4.1.11-40")
def test_a_transaction_object_is_a_transaction_to_work_in(by_reference: int) -> None:
    desk = Desk(b"m")
    transaction = create_transaction(desk.manager, UNIT_OF_WORK)
    argument = VariantType.VT_DISPATCH | by_reference, MsmqTransaction(transaction=transaction)
    assert desk.label(transaction=argument) == "m"
    (operation,) = transaction.transactional_operation_collection
    assert operation.message_position_reference is desk.cursor.message_position_reference
    assert desk.manager.transaction_collection == {UNIT_OF_WORK: transaction}


@pytest.mark.parametrize("value", [None, MsmqQueue(), "an object"])
@pytest.mark.rule("MQAC-3.11.4.1.11-21")
def test_another_object_is_no_transaction(value: object) -> None:
    assert refusal(transaction=(VariantType.VT_DISPATCH, value)) == E_INVALIDARG


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.rule("MQAC-3.11.4.1.11-22")
def test_a_transaction_object_without_a_transaction_cannot_be_used(ended: bool) -> None:
    transaction = Transaction(identifier=UNIT_OF_WORK) if ended else None
    argument = VariantType.VT_DISPATCH, MsmqTransaction(transaction=transaction, ended=ended)
    assert refusal(transaction=argument) == Status.MQ_ERROR_TRANSACTION_USAGE


@pytest.mark.parametrize(
    "argument",
    [
        (VariantType.VT_BSTR, "1"),
        (VariantType.VT_I2, 0),
        (VariantType.VT_I4 | VariantType.VT_BYREF, 0),
        (VariantType.VT_UNKNOWN, MsmqTransaction()),
        (VariantType.VT_NULL, None),
    ],
)
@pytest.mark.rule("MQAC-3.11.4.1.11-25")
def test_a_transaction_of_another_type_fails(argument: Argument) -> None:
    assert refusal(transaction=argument) == E_INVALIDARG


@pytest.mark.rule("MQAC-3.11.4.1.11-27", "MQAC-3.11.4.1.11-28", "MQAC-3.11.4.1.11-29")
def test_a_transaction_that_is_not_known_is_made_and_stays(desk: Desk) -> None:
    assert desk.receive(context_transaction=UNIT_OF_WORK)[0] == Status.MQ_ERROR_MESSAGE_NOT_FOUND
    made = desk.manager.transaction_collection[UNIT_OF_WORK]
    assert (made.identifier, made.transactional_operation_collection) == (UNIT_OF_WORK, [])
    put(desk.queue, b"m")
    assert desk.label(context_transaction=UNIT_OF_WORK) == "m"
    assert desk.manager.transaction_collection[UNIT_OF_WORK] is made
    assert len(made.transactional_operation_collection) == 1


@pytest.mark.rule("MQAC-3.11.4.1.11-51", "MQAC-3.11.4.1.11-52", "MQAC-3.11.4.1.11-53", "MQAC-3.11.4.1.11-54")
def test_a_receive_in_a_transaction_is_one_operation_and_locks_the_message() -> None:
    desk = Desk(b"m")
    (message,) = desk.messages
    desk.label(context_transaction=UNIT_OF_WORK)
    (operation,) = desk.manager.transaction_collection[UNIT_OF_WORK].transactional_operation_collection
    assert operation.message_position_reference is position(message)
    assert (operation.operation_type, operation.dequeue_reason) == (OperationType.DEQUEUE, 0x4000)
    assert position(message).state is PositionState.LOCKED
    got: list[int] = []
    dequeue_message(desk.descriptor, lambda status, _: got.append(status), timeout=0)
    assert got == [Status.MQ_ERROR_IO_TIMEOUT]


@rule_table(
    "end, left",
    ("MQAC-3.11.4.1.11-55", transaction_commit, []),
    ("MQAC-3.11.4.1.11-56", transaction_abort, ["m", "n"]),
)
def test_a_transaction_is_all_or_nothing(end: Any, left: list[str]) -> None:
    desk = Desk(b"m", b"n")
    assert [desk.label(context_transaction=UNIT_OF_WORK) for _ in range(2)] == ["m", "n"]
    assert end(desk.manager, UNIT_OF_WORK) == Status.MQ_OK
    assert labels(desk.queue) == left
    assert set(states(desk.queue)) <= {"Available"}


# The cursor


@pytest.mark.parametrize("timeout", [AT_ONCE, i4(1000)])
@pytest.mark.rule("MQAC-3.11.4.1.11-30")
def test_a_message_that_was_taken_since_the_cursor_read_it_is_not_received(timeout: Argument) -> None:
    for take in ("purge", "receive"):
        desk = Desk(b"a")
        desk.peek()
        if take == "purge":
            purge_queue(desk.queue)
        else:
            dequeue_message_begin(desk.descriptor, lambda status, message: None)
        put(desk.queue, b"b")
        assert desk.receive(receive_timeout=timeout) == (Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED, None)
        assert states(desk.queue)[-1] == "Available"


@pytest.mark.rule("MQAC-3.11.4.1.11-31", "MQAC-3.11.4.1.11-39", "MQAC-3.11.4.1.11-50")
def test_a_message_that_was_peeked_at_is_received_and_then_the_one_behind_it() -> None:
    desk = Desk(b"a", b"b", b"c")
    desk.peek()
    put(desk.queue, b"urgent", priority=7)
    assert [desk.label() for _ in range(3)] == ["a", "b", "c"]
    assert labels(desk.queue) == ["urgent"]


@pytest.mark.rule("MQAC-3.11.4.1.11-32", "MQAC-3.11.4.1.11-37", "MQAC-3.11.4.1.11-62", "MQAC-3.1.4.3-1")
def test_a_cursor_that_read_nothing_receives_the_first_message_then_the_next() -> None:
    desk = Desk(b"a", b"b")
    assert [desk.label() for _ in range(2)] == ["a", "b"]
    assert desk.receive()[0] == Status.MQ_ERROR_MESSAGE_NOT_FOUND


@pytest.mark.rule("MQAC-3.11.4.1.11-33")
def test_a_message_that_somebody_holds_is_skipped() -> None:
    desk = Desk(b"locked", b"purged", b"free")
    position(desk.messages[0]).state = PositionState.LOCKED
    position(desk.messages[1]).state = PositionState.PURGE_PENDING
    assert desk.label() == "free"
    assert labels(desk.queue) == ["locked", "purged"]


@pytest.mark.rule("MQAC-3.11.4.1.11-34")
def test_a_message_that_came_back_is_behind_the_cursor() -> None:
    desk = Desk(b"a", b"b")
    assert desk.label(context_transaction=UNIT_OF_WORK) == "a"
    assert transaction_abort(desk.manager, UNIT_OF_WORK) == Status.MQ_OK
    assert desk.label() == "b"
    assert labels(desk.queue) == ["a"]


@pytest.mark.rule("MQAC-3.11.4.1.11-35")
def test_what_arrived_after_a_wait_in_vain_is_received() -> None:
    desk = Desk(b"a")
    assert desk.label() == "a"
    assert len(desk.start(receive_timeout=i4(10))) == 0
    pass_time(desk.manager, 10)
    put(desk.queue, b"b")
    put(desk.queue, b"c")
    assert desk.label() == "b"


@pytest.mark.rule("MQAC-3.11.4.1.11-36", "MQAC-3.11.4.1.11-46", "MQAC-3.11.4.1.11-13")
def test_at_the_end_of_the_queue_it_waits_for_what_arrives(desk: Desk) -> None:
    answers = desk.start(receive_timeout=i4(1000))
    assert answers == []
    (reader,) = desk.descriptor.waiting_message_read_operation_collection
    assert (reader.destructive_read, reader.cursor_reference) == (True, desk.cursor)
    put(desk.queue, b"m")
    ((status, message),) = answers
    assert status == S_OK
    assert message is not None
    assert message.message.label == "m"
    assert labels(desk.queue) == []
    assert desk.manager.timers.running == 0


@pytest.mark.rule("MQAC-3.11.4.1.11-42", "MQAC-3.11.4.1.11-43", "MQAC-3.11.4.1.11-61")
def test_without_time_nothing_is_waited_for_and_every_failure_is_not_found(desk: Desk) -> None:
    assert desk.receive() == (Status.MQ_ERROR_MESSAGE_NOT_FOUND, None)
    assert desk.manager.timers.running == 0
    assert delete_queue(desk.manager, desk.queue) == Status.MQ_OK
    assert desk.receive() == (Status.MQ_ERROR_MESSAGE_NOT_FOUND, None)


@pytest.mark.rule("MQAC-3.11.4.1.11-47", "MQAC-3.11.4.1.11-61")
def test_another_failure_is_the_status_of_the_event(desk: Desk) -> None:
    answers = desk.start(receive_timeout=i4(1000))
    close_queue(desk.manager, desk.descriptor)
    assert answers == [(Status.MQ_ERROR_OPERATION_CANCELLED, None)]
    other = Desk()
    assert delete_queue(other.manager, other.queue) == Status.MQ_OK
    assert other.receive(receive_timeout=i4(1000)) == (Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None)


# Journals


@rule_table(
    "journaling, queue_type, copies",
    ("MQAC-3.11.4.1.11-57", True, ModelQueueType.PRIVATE, ["m"]),
    ("MQAC-3.11.4.1.11-57", True, ModelQueueType.PUBLIC, ["m"]),
    ("MQAC-3.11.4.1.11-58", False, ModelQueueType.PRIVATE, []),
    ("MQAC-3.11.4.1.11-58", True, ModelQueueType.SYSTEM, []),
)
@pytest.mark.rule("MQAC-3.11.4.1.11-59")
def test_a_message_that_is_received_goes_to_the_journal(
    desk: Desk, journaling: bool, queue_type: ModelQueueType, copies: list[str]
) -> None:
    desk.queue.journaling, desk.queue.queue_type = journaling, queue_type
    message = put(desk.queue, b"m", time_to_be_received=5)
    assert desk.label() == "m"
    assert (labels(desk.queue), journal(desk.queue)) == ([], copies)
    assert position(message).state is PositionState.DELETED
    assert desk.queue.total_bytes == 0
    pass_time(desk.manager, 10_000)
    assert journal(desk.queue) == copies


@pytest.mark.parametrize(("end", "copies"), [(transaction_commit, ["m"]), (transaction_abort, [])])
@pytest.mark.rule("MQAC-3.11.4.1.11-60")
def test_a_receive_in_a_transaction_is_journaled_when_it_commits(end: Any, copies: list[str]) -> None:
    desk = Desk()
    desk.queue.journaling = True
    put(desk.queue, b"m")
    desk.label(context_transaction=UNIT_OF_WORK)
    assert journal(desk.queue) == []
    assert end(desk.manager, UNIT_OF_WORK) == Status.MQ_OK
    assert journal(desk.queue) == copies


def test_what_is_purged_or_put_back_is_not_journaled_and_a_journal_has_a_quota(desk: Desk) -> None:
    desk.queue.journaling = True
    open_msmq_queue(desk.manager, desk.descriptor)
    # One is the scene's own.
    assert len(desk.manager.position_deleted) == 2
    put(desk.queue, b"purged")
    purge_queue(desk.queue)
    message = put(desk.queue, b"put back")
    dequeue_message_begin(desk.descriptor, lambda status, message: None)
    assert dequeue_message_end(desk.descriptor, message, delete_message=False) == Status.MQ_OK
    assert journal(desk.queue) == []
    assert desk.queue.journal_queue_reference is not None
    desk.queue.journal_queue_reference.quota = 0
    assert desk.label() == "put back"
    assert journal(desk.queue) == []


_values = st.one_of(st.none(), st.integers(-(2**31), 2**32), st.text(max_size=3), st.builds(MsmqTransaction))
_kinds = st.one_of(st.sampled_from(list(VariantType)).map(int), st.integers(0, 0xFFFF))
_arguments = st.one_of(
    st.none(), st.just(NOT_SPECIFIED), st.tuples(_kinds, _values), st.builds(i4, st.integers(-1, 4))
)


@given(
    calls=st.lists(st.fixed_dictionaries(dict.fromkeys(_names, _arguments)), max_size=4),
    context=st.sampled_from([None, UNIT_OF_WORK]),
    messages=st.integers(0, 3),
)
def test_every_call_is_answered_once_or_waits_and_no_message_is_lost(
    calls: list[dict[str, Argument]], context: bytes | None, messages: int
) -> None:
    desk = Desk(*(b"%d" % number for number in range(messages)))
    answers = [desk.start(context_transaction=context, **call) for call in calls]
    pass_time(desk.manager, INFINITE)
    close_queue(desk.manager, desk.descriptor)
    assert [len(answer) for answer in answers] == [1] * len(calls)
    received = [message.message.label for ((_, message),) in answers if message is not None]
    assert len(set(received)) == len(received)
    if context is not None:
        transaction_abort(desk.manager, UNIT_OF_WORK)
    left = labels(desk.queue)
    assert set(left) | set(received) == {str(number) for number in range(messages)}
    assert set(states(desk.queue)) <= {"Available"}
    assert msgspec.structs.asdict(desk.descriptor)["waiting_message_read_operation_collection"] == []
