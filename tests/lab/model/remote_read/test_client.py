"""The client of RemoteRead against the server, in memory, rule by rule. [MS-MQRR] 3.2"""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any, TypeVar

import msgspec
import pytest

from msmq_wire.lab.model.events.transaction import transaction_commit
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.remote_read.client import RemoteReadClient
from msmq_wire.lab.model.remote_read.client_values import (
    EPT_S_NOT_REGISTERED,
    ClientTransaction,
    OpenRemoteQueue,
    OpenResult,
    ReceiveResult,
)
from msmq_wire.rpc.interfaces import METHODS, Role
from msmq_wire.rpc.interfaces.remote_read import OpenQueueRequest
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.lab.model.remote_read.scene import (
    ACK,
    ACTION_RECEIVE,
    CANCELLED,
    IO_TIMEOUT,
    LOOKUP_PEEK_NEXT,
    LOOKUP_RECEIVE_CURRENT,
    MESSAGE_NOT_FOUND,
    MOVE,
    NACK,
    OK,
    PEEK,
    PEEK_CURRENT,
    PEEK_NEXT,
    QUEUE_NOT_FOUND,
    RECEIVE,
    TRANSACTION,
    TRANSACTION_SEQUENCE,
    Scene,
)
from tests.lab.model.scene import body_of, format_name, labels, put, run, states

T = TypeVar("T")
Steps = Generator[tuple[str, Any], CallResult, T]
ORDERS = "DIRECT=OS:host\\private$\\orders"
DONE = ORDERS + ";done"
IDENTIFIER = GUID(b"the client's QM."[:16])
EXTERNAL = ClientTransaction(identifier=TRANSACTION, propagation_token=b"a token")


class Conversation:
    """A client, the server it speaks to, and all that was said: ``log`` holds (opnum, request, answer)."""

    def __init__(self, scene: Scene, **machine: Any) -> None:
        self.scene = scene
        self.reader = RemoteReadClient(identifier=IDENTIFIER, randomness=random.Random(5), **machine)
        self.log: list[tuple[int, Any, CallResult]] = []

    def run(self, steps: Steps[T]) -> T:
        """Drive an operation whose calls are all answered at once."""
        return run(self._call, steps)

    def _call(self, method: str, request: Any) -> CallResult:
        answer = self.scene.client.call(method, request)
        self.log.append((METHODS[method].opnum, request, answer))
        return answer

    def open(self, name: str = ORDERS, access: int = RECEIVE) -> OpenRemoteQueue:
        opened = self.run(self.reader.open_queue(name, access))
        assert opened.queue is not None
        return opened.queue

    def open_for_move(self, name: str) -> OpenRemoteQueue:
        opened = self.run(self.reader.open_queue_for_move(name))
        assert opened.queue is not None
        return opened.queue

    def cursor(self, queue: OpenRemoteQueue) -> int:
        return self.run(self.reader.create_cursor(queue))

    def peek(self, queue: OpenRemoteQueue, *how: int, **more: Any) -> ReceiveResult:
        return self.run(self.reader.peek(queue, *how, **more))

    def receive(self, queue: OpenRemoteQueue, *how: int, **more: Any) -> ReceiveResult:
        return self.run(self.reader.receive(queue, *how, **more))

    def not_sent(self, match: str, *operations: Steps[Any]) -> None:
        """Operations that are refused before anything is sent."""
        before = len(self.log)
        for steps in operations:
            with pytest.raises(ValueError, match=match):
                self.run(steps)
        assert len(self.log) == before

    @property
    def opnums(self) -> list[int]:
        """The methods that were called, in order."""
        return [opnum for opnum, _, _ in self.log]

    def request(self, opnum: int) -> Any:
        """The last request of a method."""
        return next(request for number, request, _ in reversed(self.log) if number == opnum)


@pytest.fixture
def talk() -> Conversation:
    return Conversation(Scene())


@pytest.fixture
def queue(talk: Conversation) -> OpenRemoteQueue:
    return talk.open()


def _put(talk: Conversation, *bodies: bytes) -> list[int]:
    return [put(talk.scene.queue, body).lookup_identifier for body in bodies]


def _open_request(
    name: str, access: int, share: int, *, routing: bool, domain: bool, **version: int
) -> OpenQueueRequest:
    return OpenQueueRequest(
        p_queue_format=QueueFormat.of(FormatName.parse(name)),
        dw_access=access,
        dw_share_mode=share,
        p_client_id=IDENTIFIER,
        f_non_routing_server=0 if routing else 1,
        f_workgroup=0 if domain else 1,
        **version,
    )


def _body(received: ReceiveResult) -> bytes:
    assert received.status == OK
    assert received.packet is not None
    return body_of(received.packet)


@pytest.mark.rule("CMQRR-3.1.4.1-2", "CMQRR-3.2.4.1-3")
def test_the_port_can_be_asked_for_before_all_else(talk: Conversation) -> None:
    assert talk.run(talk.reader.get_server_port()) == 2103
    steps = talk.reader.get_server_port()
    assert next(steps)[0] == "R_GetServerPort"
    with pytest.raises(StopIteration) as end:
        steps.send(CallResult(fault=0x1C010002))
    assert end.value.value == 0


@pytest.mark.rule("CMQRR-2.2.4-1", "CMQRR-3.1.4.2-2", "CMQRR-3.1.4.2-3", "CMQRR-3.1.4.2-4", "CMQRR-3.1.4.2-5")
@pytest.mark.rule("CMQRR-3.1.4.2-6", "CMQRR-3.1.4.2-7", "CMQRR-3.1.4.2-8", "CMQRR-3.1.4.2-9")
@pytest.mark.rule("CMQRR-3.1.4.2-10", "CMQRR-3.1.4.2-11", "CMQRR-3.1.4.2-12", "CMQRR-3.1.4.2-13")
@pytest.mark.rule("CMQRR-3.2.1-1", "CMQRR-3.2.4.1-1", "CMQRR-3.2.4.1-5", "CMQRR-3.2.4.1-6", "CMQRR-3.2.4.1-7")
@pytest.mark.rule("CMQRR-3.2.4.1-8", "CMQRR-3.2.4.1-9", "CMQRR-3.2.4.1-11")
@pytest.mark.parametrize("routing", [True, False])
@pytest.mark.parametrize("domain", [True, False])
@pytest.mark.parametrize(("access", "share"), [(RECEIVE, 0), (RECEIVE, 1), (PEEK, 0)])
def test_opening_says_what_for_and_who_the_client_is(
    access: int, share: int, domain: bool, routing: bool
) -> None:
    talk = Conversation(Scene(), routing_server=routing, in_domain=domain, version=(5, 2, 3790))
    opened = talk.run(talk.reader.open_queue(ORDERS, access, share))
    ((opnum, request, answer),) = talk.log
    assert opnum == 2
    version = {"major": 5, "minor": 2, "build_number": 3790}
    assert request == _open_request(ORDERS, access, share, routing=routing, domain=domain, **version)
    assert opened.queue is not None
    assert opened.queue.handle == answer.response.pph_context
    assert talk.reader.queues == [opened.queue]


@pytest.mark.rule("CMQRR-3.1.4.11-2", "CMQRR-3.1.4.11-3", "CMQRR-3.1.4.11-4", "CMQRR-3.1.4.11-5")
@pytest.mark.rule("CMQRR-3.1.4.11-6", "CMQRR-3.1.4.11-7", "CMQRR-3.1.4.11-8", "CMQRR-3.1.4.11-9")
@pytest.mark.rule("CMQRR-3.1.4.11-10", "CMQRR-3.1.4.11-11", "CMQRR-3.1.4.11-12", "CMQRR-3.1.4.11-13")
@pytest.mark.rule("CMQRR-2.2.4-1")
@pytest.mark.parametrize("routing", [True, False])
@pytest.mark.parametrize("domain", [True, False])
def test_opening_for_moves_says_so_and_who_the_client_is(domain: bool, routing: bool) -> None:
    talk = Conversation(Scene(), routing_server=routing, in_domain=domain)
    opened = talk.run(talk.reader.open_queue_for_move(DONE))
    ((opnum, request, answer),) = talk.log
    assert opnum == 11
    version = {"major": 6, "minor": 1, "build_number": 7601}
    assert request == _open_request(DONE, MOVE, 0, routing=routing, domain=domain, **version)
    assert opened.queue is not None
    assert opened.queue.move_context == answer.response.p_move_context != 0


@pytest.mark.rule("CMQRR-3.1.4.2-2", "CMQRR-3.1.4.11-2")
@pytest.mark.parametrize(
    "name",
    [
        "DIRECT=HTTP://host/msmq/private$/orders",
        "DL=00000000-0000-0000-0000-000000000001",
        "MULTICAST=224.0.0.1:8001",
    ],
)
def test_a_name_that_nobody_can_read_from_is_not_sent(talk: Conversation, name: str) -> None:
    with pytest.raises(ValueError, match="no name of a queue"):
        talk.run(talk.reader.open_queue(name))
    with pytest.raises(ValueError, match="no name of a queue"):
        talk.run(talk.reader.open_queue_for_move(name))
    assert talk.log == []


@pytest.mark.rule("CMQRR-3.1.4-2", "CMQRR-3.1.4-3", "CMQRR-3.1.4.2-5")
def test_a_queue_that_does_not_open_is_none(talk: Conversation) -> None:
    for steps in (
        talk.reader.open_queue("DIRECT=OS:host\\private$\\none"),
        talk.reader.open_queue_for_move("DIRECT=OS:host\\private$\\none"),
    ):
        assert talk.run(steps) == OpenResult(status=QUEUE_NOT_FOUND)
    assert talk.reader.queues == []
    with pytest.raises(ValueError, match="7"):
        talk.run(talk.reader.open_queue(ORDERS, RECEIVE, 7))


@pytest.mark.rule("CMQRR-3.2.4.1-10")
def test_a_server_that_is_not_registered_is_one_for_qm2qm(talk: Conversation) -> None:
    steps = talk.reader.open_queue(ORDERS)
    next(steps)
    with pytest.raises(StopIteration) as end:
        steps.send(CallResult(fault=EPT_S_NOT_REGISTERED))
    assert end.value.value.use_qm2qm
    assert not OpenResult(status=QUEUE_NOT_FOUND).use_qm2qm


@pytest.mark.rule("CMQRR-3.1.4.7-2", "CMQRR-3.1.4.7-6", "CMQRR-3.1.4.7-8", "CMQRR-3.1.4.7-9")
@pytest.mark.rule("CMQRR-3.2.4.3-1", "CMQRR-3.2.4.3-2", "CMQRR-3.2.4.3-3", "CMQRR-3.2.4.3-4")
@pytest.mark.rule("CMQRR-3.2.4.3-5", "CMQRR-3.2.4.3-6", "CMQRR-3.2.4.3-7", "CMQRR-3.2.4.3-8")
@pytest.mark.rule("CMQRR-3.2.4.3-9", "CMQRR-3.2.4.3-10", "CMQRR-3.2.4.3-11", "CMQRR-2.2.6-1")
@pytest.mark.parametrize(
    ("action", "timeout", "expected"), [(PEEK_CURRENT, 50, b"first one"), (LOOKUP_PEEK_NEXT, 0, b"second")]
)
def test_a_peek_is_one_call_that_gives_the_message(
    talk: Conversation, action: int, timeout: int, expected: bytes
) -> None:
    first, second = _put(talk, b"first one", b"second")
    queue = talk.open(access=PEEK)
    lookup_id = first if action == LOOKUP_PEEK_NEXT else 0
    limits = {"max_body_size": 100, "max_compound_message_size": 200}
    received = talk.peek(queue, action, lookup_id=lookup_id, timeout=timeout, **limits)
    assert _body(received) == expected
    assert received.sequence_id in (first & (1 << 56) - 1, second & (1 << 56) - 1)
    assert talk.opnums == [2, 7]
    request = talk.request(7)
    assert (request.ph_context, request.h_cursor, request.lookup_id) == (queue.handle, 0, lookup_id)
    assert (request.ul_action, request.ul_timeout) == (action, timeout)
    assert (request.dw_max_body_size, request.dw_max_compound_message_size) == (100, 200)
    assert not queue.pending
    assert states(talk.scene.queue) == ["Available", "Available"]


@pytest.mark.rule("CMQRR-2.2.6-1", "CMQRR-3.2.4.3-10")
def test_a_body_that_was_cut_says_what_is_missing(talk: Conversation) -> None:
    _put(talk, b"0123456789")
    received = talk.peek(talk.open(), max_body_size=4)
    assert received.packet is not None
    # The body needs no padding; 188 bytes of trailing headers follow.
    assert received.packet[:-188].endswith(b"0123")
    assert received.missing == ((len(received.packet) - 188, 6),)


@pytest.mark.rule("CMQRR-3.1.4.9-2", "CMQRR-3.1.4.9-3", "CMQRR-3.1.4.9-4", "CMQRR-3.1.4.9-5")
@pytest.mark.rule("CMQRR-3.1.4.9-7", "CMQRR-3.1.4.7-3", "CMQRR-3.2.4.4-1", "CMQRR-3.2.4.4-2")
@pytest.mark.rule("CMQRR-3.2.4.4.1-1", "CMQRR-3.2.4.4.1-2", "CMQRR-3.2.4.4.1-3", "CMQRR-3.2.4.4.1-4")
@pytest.mark.rule("CMQRR-3.2.4.4.1-5", "CMQRR-3.2.4.4.1-6", "CMQRR-3.2.4.4.1-7", "CMQRR-3.2.4.4.1-8")
@pytest.mark.rule("CMQRR-3.2.4.4.1-9", "CMQRR-3.2.4.4.1-10", "CMQRR-3.2.4.4.1-12", "CMQRR-3.2.4.4.1-13")
@pytest.mark.rule("CMQRR-3.2.4.4.1-14", "CMQRR-3.2.4.4.1-15", "CMQRR-3.2.4.4.1-16")
@pytest.mark.parametrize(("action", "timeout"), [(ACTION_RECEIVE, 50), (LOOKUP_RECEIVE_CURRENT, 0)])
def test_a_receive_is_two_calls_the_second_with_an_ack(talk: Conversation, action: int, timeout: int) -> None:
    (lookup_id,) = _put(talk, b"a")
    queue = talk.open()
    wanted = lookup_id if action else 0
    received = talk.receive(queue, action, lookup_id=wanted, timeout=timeout, max_body_size=9)
    assert _body(received) == b"a"
    assert talk.opnums == [2, 7, 9]
    start, end = talk.request(7), talk.request(9)
    assert (start.ph_context, start.h_cursor, start.lookup_id) == (queue.handle, 0, wanted)
    assert (start.ul_action, start.ul_timeout, start.dw_max_body_size) == (action, timeout, 9)
    assert (end.ph_context, end.dw_ack, end.dw_request_id) == (queue.handle, ACK, start.dw_request_id)
    assert labels(talk.scene.queue) == []
    assert not queue.pending


@pytest.mark.rule("CMQRR-2.2.8-2", "CMQRR-3.1.4.13-2", "CMQRR-3.1.4.13-3", "CMQRR-3.1.4.13-6")
@pytest.mark.rule("CMQRR-3.1.4.13-8", "CMQRR-3.1.4.13-9", "CMQRR-3.1.4.13-10", "CMQRR-3.1.4.15-2")
@pytest.mark.rule("CMQRR-3.1.4.15-3", "CMQRR-3.1.4.15-4", "CMQRR-3.1.4.15-5", "CMQRR-3.1.4.15-7")
@pytest.mark.rule("CMQRR-3.2.4.4-1", "CMQRR-3.2.4.4-3", "CMQRR-3.2.4.4.2-1", "CMQRR-3.2.4.4.2-3")
@pytest.mark.rule("CMQRR-3.2.4.4.2-4", "CMQRR-3.2.4.4.2-5", "CMQRR-3.2.4.4.2-6", "CMQRR-3.2.4.4.2-7")
@pytest.mark.rule("CMQRR-3.2.4.4.2-8", "CMQRR-3.2.4.4.2-9", "CMQRR-3.2.4.4.2-10", "CMQRR-3.2.4.4.2-11")
@pytest.mark.rule("CMQRR-3.2.4.4.2-12", "CMQRR-3.2.4.4.2-13", "CMQRR-3.2.4.4.2-15", "CMQRR-3.2.4.4.2-16")
@pytest.mark.rule("CMQRR-3.2.4.4.2-17", "CMQRR-3.2.4.4.2-18", "CMQRR-3.2.4.4.2-19")
def test_a_receive_in_an_internal_transaction_needs_no_enlisting(talk: Conversation) -> None:
    _put(talk, b"a")
    queue = talk.open()
    transaction, another = talk.reader.new_transaction(), talk.reader.new_transaction()
    assert transaction.identifier not in (another.identifier, NULL_GUID)
    limits = {"max_body_size": 9, "max_compound_message_size": 8}
    received = talk.receive(queue, transaction=transaction, timeout=50, **limits)
    assert _body(received) == b"a"
    assert talk.opnums == [2, 13, 15]
    start, end = talk.request(13), talk.request(15)
    assert (start.ph_context, start.h_cursor, start.lookup_id) == (queue.handle, 0, 0)
    assert (start.ul_action, start.ul_timeout) == (ACTION_RECEIVE, 50)
    assert (start.dw_max_body_size, start.dw_max_compound_message_size) == (9, 8)
    assert start.p_transaction_id == transaction.identifier
    assert (end.ph_context, end.dw_ack, end.dw_request_id) == (queue.handle, ACK, start.dw_request_id)
    assert states(talk.scene.queue) == ["Locked"]
    assert transaction_commit(talk.scene.manager, transaction.identifier) == OK
    assert labels(talk.scene.queue) == []


@pytest.mark.rule("CMQRR-3.1.4.12-2", "CMQRR-3.1.4.12-4", "CMQRR-3.1.4.12-5", "CMQRR-3.1.4.12-6")
@pytest.mark.rule("CMQRR-3.2.4.2-1", "CMQRR-3.2.4.2-2", "CMQRR-3.2.4.2-3", "CMQRR-3.2.4.2-4")
@pytest.mark.rule("CMQRR-3.2.4.2-5", "CMQRR-3.2.4.4.2-2", "CMQRR-3.2.4.10.2-1")
def test_an_external_transaction_is_enlisted_in_once_and_before_all_else(talk: Conversation) -> None:
    _put(talk, b"a", b"b")
    queue = talk.open()
    cursor = talk.cursor(queue)
    talk.receive(queue, transaction=EXTERNAL, cursor=cursor)
    talk.receive(queue, transaction=EXTERNAL)
    assert talk.opnums == [2, 4, 12, 13, 15, 13, 15]
    enlisted = talk.request(12)
    assert (enlisted.p_transaction_id, enlisted.pb_propagation_token) == (TRANSACTION, b"a token")
    assert enlisted.cb_propagation_token == 7
    assert enlisted.p_queue_format == QueueFormat.of(FormatName.parse(ORDERS))
    assert {request.p_transaction_id for number, request, _ in talk.log if number == 13} == {TRANSACTION}
    assert transaction_commit(talk.scene.manager, TRANSACTION) == OK
    talk.reader.ended(EXTERNAL)
    assert talk.reader.enlisted == set()
    assert labels(talk.scene.queue) == []


@pytest.mark.rule("CMQRR-3.2.4.4.2-2", "CMQRR-3.2.4.2-1", "CMQRR-3.1.4-2")
def test_nothing_is_received_or_moved_where_enlisting_failed() -> None:
    talk = Conversation(Scene(enlist=lambda identifier, token: TRANSACTION_SEQUENCE))
    (lookup_id,) = _put(talk, b"a")
    queue, target = talk.open(), talk.open_for_move(DONE)
    received = talk.receive(queue, transaction=EXTERNAL)
    assert received == ReceiveResult(status=TRANSACTION_SEQUENCE)
    assert talk.run(talk.reader.move(queue, target, lookup_id, EXTERNAL)) == TRANSACTION_SEQUENCE
    assert talk.opnums == [2, 11, 12, 12]
    assert states(talk.scene.queue) == ["Available"]


@pytest.mark.rule("CMQRR-3.1.4-3", "CMQRR-3.2.4.4.1-18", "CMQRR-3.2.4.4.2-21", "CMQRR-3.2.4.10.1-16")
@pytest.mark.rule("CMQRR-3.2.4.10.2-18")
@pytest.mark.parametrize("with_cursor", [True, False])
@pytest.mark.parametrize("transaction", [None, EXTERNAL])
def test_a_receive_that_did_not_begin_is_not_ended(
    talk: Conversation, queue: OpenRemoteQueue, transaction: ClientTransaction | None, with_cursor: bool
) -> None:
    cursor = talk.cursor(queue) if with_cursor else 0
    received = talk.receive(queue, transaction=transaction, cursor=cursor)
    assert received == ReceiveResult(status=MESSAGE_NOT_FOUND if with_cursor else IO_TIMEOUT)
    assert talk.opnums[-1] == (7 if transaction is None else 13)
    assert not queue.pending


def _interrupted(
    talk: Conversation, steps: Steps[ReceiveResult], damage: Any
) -> tuple[ReceiveResult, list[tuple[int, Any]]]:
    """Drive a receive whose first answer is damaged on its way."""
    calls: list[tuple[int, Any]] = []

    def call(method: str, request: Any) -> CallResult:
        calls.append((METHODS[method].opnum, request))
        answer = talk.scene.client.call(method, request)
        if METHODS[method].role is Role.START:
            answer = CallResult(response=msgspec.structs.replace(answer.response, **damage))
        return answer

    return run(call, steps), calls


@pytest.mark.rule("CMQRR-3.1.4.9-6", "CMQRR-3.1.4.15-6", "CMQRR-3.2.4.4.1-11", "CMQRR-3.2.4.4.2-14")
@pytest.mark.rule("CMQRR-3.2.4.10.1-12", "CMQRR-3.2.4.10.2-14")
@pytest.mark.parametrize("with_cursor", [True, False])
@pytest.mark.parametrize("transaction", [None, ClientTransaction(identifier=TRANSACTION)])
@pytest.mark.parametrize("damage", ["no sections", "no packet", "sizes"])
def test_a_message_that_cannot_be_rebuilt_is_given_back(
    talk: Conversation,
    queue: OpenRemoteQueue,
    damage: str,
    transaction: ClientTransaction | None,
    with_cursor: bool,
) -> None:
    _put(talk, b"a")
    cursor = talk.cursor(queue) if with_cursor else 0
    whole = talk.peek(queue).packet
    assert whole is not None
    section = talk.log[-1][2].response.pp_packet_sections[0]
    broken = {
        "no sections": None,
        "no packet": (msgspec.structs.replace(section, data=bytes(len(section.data))),),
        "sizes": (msgspec.structs.replace(section, section_size=3),),
    }[damage]
    steps = talk.reader.receive(queue, transaction=transaction, cursor=cursor)
    received, calls = _interrupted(talk, steps, {"pp_packet_sections": broken})
    assert (received.status, received.packet) == (0xC00E0001, None)
    assert [opnum for opnum, _ in calls] == ([7, 9] if transaction is None else [13, 15])
    start, end = calls[0][1], calls[1][1]
    assert (end.dw_ack, end.dw_request_id, end.ph_context) == (NACK, start.dw_request_id, queue.handle)
    assert states(talk.scene.queue) == ["Available"]


@pytest.mark.rule("CMQRR-3.2.4.4.1-17", "CMQRR-3.2.4.10.1-15", "CMQRR-3.2.4.4.2-20", "CMQRR-3.2.4.10.2-17")
@pytest.mark.parametrize("with_cursor", [True, False])
@pytest.mark.parametrize("transaction", [None, ClientTransaction(identifier=TRANSACTION)])
def test_an_end_that_fails_matters_only_to_a_transaction(
    talk: Conversation, queue: OpenRemoteQueue, transaction: ClientTransaction | None, with_cursor: bool
) -> None:
    _put(talk, b"a")
    cursor = talk.cursor(queue) if with_cursor else 0
    steps = talk.reader.receive(queue, transaction=transaction, cursor=cursor)
    method, request = next(steps)
    steps.send(talk.scene.client.call(method, request))
    with pytest.raises(StopIteration) as end:
        steps.send(CallResult(fault=0x1C00001A))
    received = end.value.value
    if transaction is None:
        assert _body(received) == b"a"
    else:
        assert received == ReceiveResult(status=0x1C00001A)


@pytest.mark.rule("CMQRR-3.1.4.14-2", "CMQRR-3.1.4.14-3", "CMQRR-3.1.4.14-4", "CMQRR-3.1.4.14-5")
@pytest.mark.rule("CMQRR-3.2.4.5-1", "CMQRR-3.2.4.5-2", "CMQRR-3.2.4.5-3", "CMQRR-3.2.4.5-4")
@pytest.mark.rule("CMQRR-3.2.4.5-5")
def test_a_message_is_rejected_between_its_receive_and_the_commit(talk: Conversation) -> None:
    (lookup_id,) = _put(talk, b"a")
    queue = talk.open()
    talk.receive(queue, transaction=EXTERNAL)
    assert talk.run(talk.reader.reject(queue, lookup_id)) == OK
    request = talk.request(14)
    assert (request.ph_context, request.lookup_id, request.us_class) == (queue.handle, lookup_id, 0xC004)
    assert talk.opnums == [2, 12, 13, 15, 14]
    transaction_commit(talk.scene.manager, TRANSACTION)
    assert talk.scene.deleted == [("a", 0xC004)]


@pytest.mark.rule("CMQRR-3.1.4.10-2", "CMQRR-3.1.4.10-3", "CMQRR-3.1.4.10-4", "CMQRR-3.1.4.10-5")
@pytest.mark.rule("CMQRR-3.1.4.10-6", "CMQRR-3.1.4.10-7", "CMQRR-3.2.4.6-1", "CMQRR-3.2.4.6-2")
@pytest.mark.rule("CMQRR-3.2.4.6-3", "CMQRR-3.2.4.6-4", "CMQRR-3.2.4.6-5", "CMQRR-3.2.4.6-6")
@pytest.mark.rule("CMQRR-3.2.4.6-7", "CMQRR-3.2.4.6-8", "CMQRR-3.2.4.6-9")
@pytest.mark.parametrize("transaction", [None, EXTERNAL])
def test_a_move_names_the_number_of_its_target(
    talk: Conversation, transaction: ClientTransaction | None
) -> None:
    (lookup_id,) = _put(talk, b"a")
    source, target = talk.open(), talk.open_for_move(DONE)
    assert talk.run(talk.reader.move(source, target, lookup_id, transaction)) == OK
    assert talk.opnums == [2, 11, 10] if transaction is None else [2, 11, 12, 10]
    request = talk.request(10)
    assert (request.ph_context_from, request.lookup_id) == (source.handle, lookup_id)
    assert request.ull_context_to == target.move_context != 0
    assert request.p_transaction_id == (NULL_GUID if transaction is None else TRANSACTION)
    if transaction is not None:
        transaction_commit(talk.scene.manager, TRANSACTION)
    assert labels(talk.scene.queue.subqueue_collection[0]) == ["a"]


@pytest.mark.rule("CMQRR-3.1.4.6-2", "CMQRR-3.2.4.7-1", "CMQRR-3.2.4.7-2", "CMQRR-3.2.4.7-3")
def test_a_purge_is_one_call(talk: Conversation, queue: OpenRemoteQueue) -> None:
    _put(talk, b"a")
    assert talk.run(talk.reader.purge(queue)) == OK
    assert (talk.opnums, talk.request(6).ph_context) == ([2, 6], queue.handle)
    assert labels(talk.scene.queue) == []


@pytest.mark.rule("CMQRR-3.1.4.4-2", "CMQRR-3.1.4.5-2", "CMQRR-3.1.4.5-3", "CMQRR-3.1.4.5-4", "CMQRR-3.2.1-2")
@pytest.mark.rule("CMQRR-3.2.4.8-1", "CMQRR-3.2.4.8-2", "CMQRR-3.2.4.8-3", "CMQRR-3.2.4.8-4")
@pytest.mark.rule("CMQRR-3.2.4.8-5", "CMQRR-3.2.4.12-1", "CMQRR-3.2.4.12-3", "CMQRR-3.2.4.12-4")
@pytest.mark.rule("CMQRR-3.2.4.12-5", "CMQRR-3.2.4.12-6")
def test_a_cursor_is_recorded_until_it_is_closed(talk: Conversation, queue: OpenRemoteQueue) -> None:
    cursor = talk.cursor(queue)
    assert queue.cursors == {cursor} == set(talk.scene.manager.cursors)
    assert talk.request(4).ph_context == queue.handle
    assert talk.run(talk.reader.close_cursor(queue, cursor)) == OK
    assert (talk.request(5).ph_context, talk.request(5).h_cursor) == (queue.handle, cursor)
    assert queue.cursors == set()
    assert talk.opnums == [2, 4, 5]


@pytest.mark.rule("CMQRR-3.1.4-3")
def test_a_cursor_that_the_server_refuses_is_none(talk: Conversation, queue: OpenRemoteQueue) -> None:
    talk.scene.lose_descriptor(queue.handle)
    assert talk.cursor(queue) == 0
    assert queue.cursors == set()


@pytest.mark.rule("CMQRR-3.1.4.7-4", "CMQRR-3.2.4.9-1", "CMQRR-3.2.4.9-2", "CMQRR-3.2.4.9-3")
@pytest.mark.rule("CMQRR-3.2.4.9-4", "CMQRR-3.2.4.9-5", "CMQRR-3.2.4.9-6", "CMQRR-3.2.4.9-7")
@pytest.mark.rule("CMQRR-3.2.4.9-8", "CMQRR-3.2.4.9-9", "CMQRR-3.2.4.9-10", "CMQRR-3.2.4.9-11")
def test_a_cursor_peeks_message_by_message(talk: Conversation) -> None:
    _put(talk, b"a", b"b", b"c")
    queue = talk.open(access=PEEK)
    cursor = talk.cursor(queue)
    bodies = []
    for action in (PEEK_CURRENT, PEEK_NEXT, PEEK_NEXT):
        received = talk.peek(queue, action, cursor=cursor, timeout=7, max_body_size=9)
        bodies.append(_body(received))
        request = talk.request(7)
        assert (request.ph_context, request.h_cursor, request.lookup_id) == (queue.handle, cursor, 0)
        assert (request.ul_action, request.ul_timeout, request.dw_max_body_size) == (action, 7, 9)
    assert bodies == [b"a", b"b", b"c"]
    numbers = [request.dw_request_id for opnum, request, _ in talk.log if opnum == 7]
    assert len(set(numbers)) == 3


@pytest.mark.rule("CMQRR-3.2.4.10-1", "CMQRR-3.2.4.10-2", "CMQRR-3.2.4.10.1-1", "CMQRR-3.2.4.10.1-2")
@pytest.mark.rule("CMQRR-3.2.4.10.1-3", "CMQRR-3.2.4.10.1-4", "CMQRR-3.2.4.10.1-5", "CMQRR-3.2.4.10.1-6")
@pytest.mark.rule("CMQRR-3.2.4.10.1-7", "CMQRR-3.2.4.10.1-8", "CMQRR-3.2.4.10.1-9", "CMQRR-3.2.4.10.1-10")
@pytest.mark.rule("CMQRR-3.2.4.10.1-11", "CMQRR-3.2.4.10.1-12", "CMQRR-3.2.4.10.1-13", "CMQRR-3.2.4.10.1-14")
@pytest.mark.rule("CMQRR-3.1.4.13-4", "CMQRR-3.2.4.10-3", "CMQRR-3.2.4.10.2-2", "CMQRR-3.2.4.10.2-3")
@pytest.mark.rule("CMQRR-3.2.4.10.2-4", "CMQRR-3.2.4.10.2-5", "CMQRR-3.2.4.10.2-6", "CMQRR-3.2.4.10.2-7")
@pytest.mark.rule("CMQRR-3.2.4.10.2-8", "CMQRR-3.2.4.10.2-9", "CMQRR-3.2.4.10.2-10", "CMQRR-3.2.4.10.2-11")
@pytest.mark.rule("CMQRR-3.2.4.10.2-12", "CMQRR-3.2.4.10.2-13", "CMQRR-3.2.4.10.2-14", "CMQRR-3.2.4.10.2-15")
@pytest.mark.rule("CMQRR-3.2.4.10.2-16")
@pytest.mark.parametrize("transaction", [None, EXTERNAL])
def test_a_cursor_receives_message_by_message(
    talk: Conversation, queue: OpenRemoteQueue, transaction: ClientTransaction | None
) -> None:
    _put(talk, b"a", b"b")
    cursor = talk.cursor(queue)
    begin, finish = (7, 9) if transaction is None else (13, 15)
    numbers = set()
    for expected in (b"a", b"b"):
        received = talk.receive(queue, cursor=cursor, transaction=transaction, timeout=7, max_body_size=9)
        assert _body(received) == expected
        start, end = talk.request(begin), talk.request(finish)
        assert (start.ph_context, start.h_cursor, start.lookup_id) == (queue.handle, cursor, 0)
        assert (start.ul_action, start.ul_timeout, start.dw_max_body_size) == (ACTION_RECEIVE, 7, 9)
        assert getattr(start, "p_transaction_id", None) == (None if transaction is None else TRANSACTION)
        assert (end.ph_context, end.dw_ack) == (queue.handle, ACK)
        assert end.dw_request_id == start.dw_request_id
        numbers.add(start.dw_request_id)
    assert len(numbers) == 2
    if transaction is not None:
        transaction_commit(talk.scene.manager, TRANSACTION)
    assert labels(talk.scene.queue) == []


@pytest.mark.rule("CMQRR-3.1.4.8-2", "CMQRR-3.1.4.8-3", "CMQRR-3.2.4.11-1", "CMQRR-3.2.4.11-2")
@pytest.mark.rule("CMQRR-3.2.4.11-3", "CMQRR-3.2.4.11-4", "CMQRR-3.1.4.7-3", "CMQRR-3.1.4.7-7")
@pytest.mark.rule("CMQRR-3.1.4.13-7")
@pytest.mark.parametrize("transaction", [None, ClientTransaction(identifier=TRANSACTION)])
def test_a_receive_that_waits_is_cancelled_by_its_number(
    talk: Conversation, queue: OpenRemoteQueue, transaction: ClientTransaction | None
) -> None:
    steps = talk.reader.receive(queue, timeout=1000, request_id=77, transaction=transaction)
    waiting = talk.scene.client.start(*next(steps))
    assert queue.pending == {77: 0}
    with pytest.raises(ValueError, match="pending"):
        talk.receive(queue, request_id=77)
    assert talk.run(talk.reader.cancel(queue, 77)) == OK
    assert (talk.request(8).ph_context, talk.request(8).dw_request_id) == (queue.handle, 77)
    assert waiting.answer is not None
    with pytest.raises(StopIteration) as end:
        steps.send(waiting.answer)
    assert end.value.value == ReceiveResult(status=CANCELLED)
    assert not queue.pending


@pytest.mark.rule("CMQRR-3.1.4.7-6", "CMQRR-3.1.4.13-6", "CMQRR-3.2.4.3-9")
def test_numbers_of_requests_pass_over_those_that_are_pending(
    talk: Conversation, queue: OpenRemoteQueue
) -> None:
    queue.pending.update(dict.fromkeys((1, 2, 4), 0))
    assert [talk.reader.new_request_id() for _ in range(2)] == [3, 5]


@pytest.mark.rule("CMQRR-2.2.4-2", "CMQRR-3.1.4.3-2", "CMQRR-3.2.4.13-1", "CMQRR-3.2.4.13-2")
@pytest.mark.rule("CMQRR-3.2.4.13-3", "CMQRR-3.2.4.13-4", "CMQRR-3.2.4.13-5", "CMQRR-3.2.4.12-2")
def test_closing_cancels_what_waits_then_closes_cursors_then_the_queue(talk: Conversation) -> None:
    queue = talk.open()
    cursor = talk.cursor(queue)
    waits = [talk.reader.receive(queue, timeout=1000), talk.reader.peek(queue, cursor=cursor, timeout=1000)]
    calls = [talk.scene.client.start(*next(steps)) for steps in waits]
    assert talk.run(talk.reader.close(queue)) == OK
    assert talk.opnums == [2, 4, 8, 8, 5, 3]
    assert talk.request(3).pph_context == queue.handle
    assert [call.status for call in calls] == [CANCELLED, CANCELLED]
    assert (talk.reader.queues, queue.closed) == ([], True)
    assert talk.scene.state()["descriptors"] == []
    for_moves = talk.open_for_move(ORDERS)
    assert talk.run(talk.reader.close(for_moves)) == OK


@pytest.mark.rule("CMQRR-3.2.4.12-2")
def test_closing_a_cursor_cancels_what_waits_with_it_first(
    talk: Conversation, queue: OpenRemoteQueue
) -> None:
    cursor, another = (talk.cursor(queue) for _ in range(2))
    peeks = [talk.reader.peek(queue, cursor=one, timeout=1000) for one in (cursor, another)]
    waiting, others = [talk.scene.client.start(*next(steps)) for steps in peeks]
    assert talk.run(talk.reader.close_cursor(queue, cursor)) == OK
    assert talk.opnums[-2:] == [8, 5]
    assert waiting.status == CANCELLED
    assert others.answer is None


@pytest.mark.rule("CMQRR-3.1.4.4-2", "CMQRR-3.1.4.5-2", "CMQRR-3.1.4.6-2", "CMQRR-3.1.4.7-2")
@pytest.mark.rule("CMQRR-3.1.4.8-2", "CMQRR-3.1.4.10-3", "CMQRR-3.1.4.14-2", "CMQRR-3.1.4.3-2")
def test_a_closed_queue_is_not_used(talk: Conversation) -> None:
    queue, target = talk.open(), talk.open_for_move(DONE)
    talk.run(talk.reader.close(queue))
    talk.not_sent(
        "was closed",
        talk.reader.peek(queue),
        talk.reader.receive(queue),
        talk.reader.create_cursor(queue),
        talk.reader.close_cursor(queue, 1),
        talk.reader.purge(queue),
        talk.reader.cancel(queue, 1),
        talk.reader.move(queue, target, 1),
        talk.reader.reject(queue, 1),
        talk.reader.close(queue),
    )


@pytest.mark.rule("CMQRR-3.1.4.6-2", "CMQRR-3.1.4.7-2", "CMQRR-3.1.4.10-2", "CMQRR-3.1.4.10-3")
@pytest.mark.rule("CMQRR-3.1.4.10-4", "CMQRR-3.1.4.13-2", "CMQRR-3.1.4.14-2", "CMQRR-3.1.4.4-2")
def test_a_queue_is_used_for_what_it_was_opened_for(talk: Conversation) -> None:
    source, peeked = talk.open(), talk.open(access=PEEK)
    target, other = talk.open_for_move(DONE), talk.open_for_move(format_name(talk.scene.letters))
    talk.not_sent(
        r"opened|cursors",
        talk.reader.receive(peeked),
        talk.reader.receive(peeked, transaction=EXTERNAL),
        talk.reader.receive(target),
        talk.reader.peek(target),
        talk.reader.purge(peeked),
        talk.reader.purge(target),
        talk.reader.reject(peeked, 1),
        talk.reader.create_cursor(target),
        talk.reader.move(peeked, target, 1),
        talk.reader.move(source, peeked, 1),
        talk.reader.move(source, other, 1),
    )


@pytest.mark.rule("CMQRR-3.1.4.5-4", "CMQRR-3.1.4.7-4", "CMQRR-3.1.4.7-5", "CMQRR-3.1.4.13-4")
@pytest.mark.rule("CMQRR-3.1.4.13-5")
def test_parameters_that_do_not_fit_are_not_sent(talk: Conversation) -> None:
    queue, other = talk.open(), talk.open()
    cursor = talk.cursor(other)
    before = len(talk.log)
    steps: list[Steps[Any]] = [
        talk.reader.peek(queue, ACTION_RECEIVE),
        talk.reader.receive(queue, PEEK_CURRENT),
        talk.reader.peek(queue, PEEK_NEXT),
        talk.reader.peek(queue, LOOKUP_PEEK_NEXT),
        talk.reader.receive(queue, LOOKUP_RECEIVE_CURRENT, lookup_id=1, timeout=1),
        talk.reader.receive(queue, lookup_id=1),
        talk.reader.receive(queue, transaction=EXTERNAL, lookup_id=1),
        talk.reader.receive(queue, cursor=cursor),
        talk.reader.receive(queue, cursor=cursor, transaction=ClientTransaction(identifier=TRANSACTION)),
        talk.reader.close_cursor(queue, cursor),
        talk.reader.peek(queue, 5),
    ]
    for one in steps:
        with pytest.raises(ValueError, match=r"action|cursor|valid"):
            talk.run(one)
    assert [opnum for opnum in talk.opnums[before:] if opnum != 12] == []
    assert not queue.pending


@pytest.mark.rule("CMQRR-3.1.4-1", "CMQRR-3.2.2-1")
def test_a_client_never_calls_what_is_reserved_and_starts_no_timer(talk: Conversation) -> None:
    (lookup_id, _, _) = _put(talk, b"a", b"b", b"c")
    talk.run(talk.reader.get_server_port())
    queue, target = talk.open(), talk.open_for_move(DONE)
    cursor = talk.cursor(queue)
    talk.run(talk.reader.move(queue, target, lookup_id))
    talk.receive(queue, cursor=cursor)
    talk.receive(queue, transaction=EXTERNAL)
    talk.run(talk.reader.close(queue))
    assert 1 not in talk.opnums
    assert talk.scene.manager.timers.running == 0


def test_an_operation_that_is_given_up_leaves_its_number_free(
    talk: Conversation, queue: OpenRemoteQueue
) -> None:
    steps = talk.reader.receive(queue, timeout=1000, request_id=5)
    next(steps)
    steps.close()
    assert not queue.pending


def test_a_handle_of_the_client_is_never_null(talk: Conversation) -> None:
    assert talk.open().handle != ContextHandle()
