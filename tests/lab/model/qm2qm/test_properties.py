"""Clients of qm2qm at random: nothing is lost, doubled, out of order or left behind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from msmq_wire.lab.model.data.elements import Cursor, MessagePosition, ModelMessage, Queue, Transaction
from msmq_wire.lab.model.data.enumerations import PositionState
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_abort, transaction_commit
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qm2qm.entries import Qm2qmConfiguration
from msmq_wire.lab.model.qm2qm.server import Qm2qmServer
from msmq_wire.rpc.constants import ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces import qm2qm
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2
from msmq_wire.wire.types.guid import GUID
from tests.effort import examples
from tests.lab.model.qm2qm.scene import LOOKUP, PEEK, PEEK_NEXT, RECEIVE, START, START2
from tests.lab.model.scene import Client, format_name, make_manager, make_queue, open_descriptor, pass_time

_CLIENTS, _QUEUES = 3, 2
clients = st.integers(0, _CLIENTS - 1)
queues = st.integers(0, _QUEUES - 1)


class _Open(msgspec.Struct, eq=False):
    """A queue that a client has open."""

    handle: int
    session: ContextHandle
    queue: Queue
    cursors: list[Cursor]


class _Held(msgspec.Struct, eq=False):
    """A message that a client received and did not end."""

    handle: ContextHandle
    message: ModelMessage


class _Read(msgspec.Struct, eq=False):
    """A read that is not answered yet."""

    client: int
    queue: Queue
    handle: int
    request_id: int
    timeout: int
    cursor: bool


class Readers(RuleBasedStateMachine):
    """A ledger of all messages beside the model: available, held, in a transaction, purged or gone."""

    def __init__(self) -> None:
        super().__init__()
        self.manager = make_manager()
        self.queues = [make_queue(self.manager, f"q{number}") for number in range(_QUEUES)]
        self.server = Qm2qmServer(self.manager)
        self.clients = [Client(self.server, number) for number in range(_CLIENTS)]
        self.local = [open_descriptor(self.manager, format_name(queue)) for queue in self.queues]
        self.open: list[list[_Open]] = [[] for _ in self.clients]
        self.held: list[list[_Held]] = [[] for _ in self.clients]
        self.reads: list[_Read] = []
        self.messages: dict[bytes, ModelMessage] = {}
        self.ledger: dict[bytes, str] = {}
        self.transactions: list[tuple[Transaction, list[bytes], list[bytes]]] = []
        self.numbers = 0

    def _number(self) -> int:
        self.numbers += 1
        return self.numbers

    @initialize()
    def begin(self) -> None:
        for client in range(_CLIENTS):
            self.open_queue(client, client % _QUEUES)

    @rule(client=clients, queue=queues)
    def open_queue(self, client: int, queue: int) -> None:
        descriptor = open_descriptor(self.manager, format_name(self.queues[queue]))
        request = qm2qm.RemoteQMOpenQueueRequest(p_queue=descriptor.handle, dwp_context=descriptor.handle)
        answer = self.clients[client].call("remote_qm_open_queue", request)
        assert answer.status == Status.MQ_OK
        opened = _Open(descriptor.handle, answer.response.ph_context, self.queues[queue], [])
        self.open[client].append(opened)

    def _some(self, data: st.DataObject, client: int) -> _Open | None:
        opened = self.open[client]
        return data.draw(st.sampled_from(opened)) if opened else None

    @rule(queue=queues, priority=st.integers(0, 7), transactional=st.booleans())
    def put(self, queue: int, priority: int, transactional: bool) -> None:
        body = b"%d" % self._number()
        message = ModelMessage(packet=body, priority=priority, size=len(body), transactional=transactional)
        self.messages[body] = message
        self.ledger[body] = "available"
        assert enqueue_message(self.queues[queue], message) == 0

    @rule(client=clients, data=st.data())
    def make_cursor(self, client: int, data: st.DataObject) -> None:
        opened = self._some(data, client)
        if opened is not None:
            cursor = open_cursor(self.manager.descriptors[opened.handle])
            assert cursor is not None
            opened.cursors.append(cursor)

    @rule(
        client=clients,
        data=st.data(),
        method=st.sampled_from([START, START2]),
        action=st.sampled_from([RECEIVE, RECEIVE, PEEK, PEEK_NEXT]),
        timeout=st.sampled_from([0, 0, 10, 1000, INFINITE]),
    )
    def read(self, client: int, data: st.DataObject, method: str, action: int, timeout: int) -> None:
        opened = self._some(data, client)
        if opened is None:
            return
        cursor = data.draw(st.sampled_from([None, *opened.cursors]))
        if action == PEEK_NEXT and cursor is None:
            return
        read = _Read(client, opened.queue, opened.handle, self._number(), timeout, cursor is not None)
        wanted = RemoteReadDesc(
            h_remote_queue=opened.handle,
            dw_queue=opened.handle,
            h_cursor=0 if cursor is None else cursor.handle,
            ul_action=action,
            ul_timeout=timeout,
            dw_request_id=read.request_id,
        )
        request: Any = qm2qm.RemoteQMStartReceiveRequest(lp_remote_read_desc=wanted)
        if method == START2:
            request = qm2qm.RemoteQMStartReceive2Request(
                lp_remote_read_desc2=RemoteReadDesc2(p_remote_read_desc=wanted)
            )
        self._serve(read, 9 if method == START2 else 0, request, action)

    @rule(client=clients, data=st.data(), action=st.sampled_from(list(ReceiveAction)[3:]))
    def look_up(self, client: int, data: st.DataObject, action: int) -> None:
        opened = self._some(data, client)
        if opened is None:
            return
        known = [message.lookup_identifier for message in self.messages.values()]
        read = _Read(client, opened.queue, opened.handle, self._number(), 0, True)
        wanted = RemoteReadDesc(h_remote_queue=opened.handle, ul_action=action, dw_request_id=read.request_id)
        request = qm2qm.RemoteQMStartReceiveByLookupIdRequest(
            lookup_id=data.draw(st.sampled_from([0, 2**64 - 1, *known])),
            lp_remote_read_desc2=RemoteReadDesc2(p_remote_read_desc=wanted),
        )
        self._serve(read, 10, request, action)

    def _serve(self, read: _Read, opnum: int, request: Any, action: int) -> None:
        first = next((one for one in self._available(read.queue)), None)
        self.reads.append(read)

        def done(answer: CallResult) -> None:
            self.reads.remove(read)
            at_once = not returned
            self._answered(read, answer, action, first if at_once and not read.cursor else None)

        returned: list[bool] = []
        self.server.serve(self.clients[read.client].association, opnum, request, done)
        returned.append(True)

    def _answered(self, read: _Read, answer: CallResult, action: int, first: MessagePosition | None) -> None:
        assert answer.fault is None
        response = answer.response
        found = (
            getattr(response, "lp_remote_read_desc", None) or response.lp_remote_read_desc2.p_remote_read_desc
        )
        received = action == RECEIVE or (action & 0x60 == 0x20 and action < 0x8000_0000)
        if answer.status != Status.MQ_OK:
            assert (found.lp_buffer, response.pph_context.null) == (None, True)
            if first is not None:
                raise AssertionError("a message was there and was not read")
            return
        body = found.lp_buffer
        assert self.ledger[body] == "available"
        if first is not None:
            assert body == first.message_reference.packet
        assert response.pph_context.null is not received
        if received:
            self.ledger[body] = "held"
            self.held[read.client].append(_Held(response.pph_context, self.messages[body]))

    def _available(self, queue: Queue) -> list[MessagePosition]:
        """The messages that can be read, by priority and then by arrival."""
        bodies = [body for body, state in self.ledger.items() if state == "available"]
        slots = [self.messages[body].message_position_reference for body in bodies]
        found = [slot for slot in slots if slot is not None and slot.queue_reference is queue]
        return sorted(found, key=lambda slot: (-slot.priority, slot.order))

    @rule(client=clients, data=st.data(), ack=st.sampled_from([RemoteReadAck.RR_ACK, RemoteReadAck.RR_NACK]))
    def end(self, client: int, data: st.DataObject, ack: RemoteReadAck) -> None:
        if not self.held[client]:
            return
        held = data.draw(st.sampled_from(self.held[client]))
        self.held[client].remove(held)
        self._let_go(held.message.packet, ack == RemoteReadAck.RR_ACK)
        request = qm2qm.RemoteQMEndReceiveRequest(pph_context=held.handle, dw_ack=ack)
        assert self.clients[client].call("remote_qm_end_receive", request).status == Status.MQ_OK

    def _let_go(self, body: bytes, taken: bool) -> None:
        self.ledger[body] = "gone" if taken or self.ledger[body] == "purged" else "available"

    @precondition(lambda self: self.reads)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        read = data.draw(st.sampled_from(self.reads))
        request = qm2qm.RemoteQMCancelReceiveRequest(
            h_queue=read.handle, p_queue=read.handle, dw_request_id=read.request_id
        )
        answer = self.clients[0].call("remote_qm_cancel_receive", request)
        assert answer.status == Status.MQ_OK
        assert read not in self.reads

    @rule(client=clients, data=st.data())
    def close(self, client: int, data: st.DataObject) -> None:
        opened = self._some(data, client)
        if opened is not None:
            self.open[client].remove(opened)
            request = qm2qm.RemoteQMCloseQueueRequest(pph_context=opened.session)
            assert self.clients[client].call("remote_qm_close_queue", request).status == Status.MQ_OK
            assert opened.handle not in [read.handle for read in self.reads]

    @rule(client=clients, data=st.data())
    def close_cursor(self, client: int, data: st.DataObject) -> None:
        opened = self._some(data, client)
        if opened is not None and opened.cursors:
            cursor = data.draw(st.sampled_from(opened.cursors))
            opened.cursors.remove(cursor)
            request = qm2qm.RemoteQMCloseCursorRequest(h_queue=opened.handle, h_cursor=cursor.handle)
            assert self.clients[client].call("remote_qm_close_cursor", request).status == Status.MQ_OK

    @rule(client=clients, data=st.data())
    def purge(self, client: int, data: st.DataObject) -> None:
        opened = self._some(data, client)
        if opened is None:
            return
        request = qm2qm.RemoteQMPurgeQueueRequest(h_queue=opened.handle)
        assert self.clients[client].call("remote_qm_purge_queue", request).status == Status.MQ_OK
        for body, state in self.ledger.items():
            slot = self.messages[body].message_position_reference
            if slot is not None and slot.queue_reference is opened.queue and state != "gone":
                self.ledger[body] = "gone" if state == "available" else "purged"

    @rule(client=clients)
    def disconnect(self, client: int) -> None:
        # Who waits with this client does not get what it gives back.
        for held in self.held[client]:
            self._let_go(held.message.packet, False)
        self.held[client] = []
        self.open[client] = []
        self.clients[client].disconnect()
        assert self.clients[client].association.handles == {}
        assert client not in [read.client for read in self.reads]

    @rule(milliseconds=st.sampled_from([1, 10, 1000]))
    def time_passes(self, milliseconds: int) -> None:
        pass_time(self.manager, milliseconds)

    @rule(queue=queues, receives=st.integers(0, 2), sends=st.integers(0, 2))
    def begin_transaction(self, queue: int, receives: int, sends: int) -> None:
        transaction = create_transaction(self.manager, self._number().to_bytes(16, "little"))
        received: list[bytes] = []
        sent: list[bytes] = []
        for _ in range(receives):
            dequeue_message(
                self.local[queue],
                lambda status, message: received.append(message.packet) if message else None,
                timeout=0,
                transaction=transaction,
            )
        for _ in range(sends):
            body = b"%d" % self._number()
            self.messages[body] = ModelMessage(packet=body, size=len(body))
            assert enqueue_message(self.queues[queue], self.messages[body], transaction) == 0
            sent.append(body)
        assert all(self.ledger[body] == "available" for body in received)
        self.ledger.update(dict.fromkeys(received + sent, "in a transaction"))
        self.transactions.append((transaction, received, sent))

    @precondition(lambda self: self.transactions)
    @rule(data=st.data(), commit=st.booleans())
    def end_transaction(self, data: st.DataObject, commit: bool) -> None:
        ended = data.draw(st.sampled_from(self.transactions))
        self.transactions.remove(ended)
        transaction, received, sent = ended
        for body in received:
            self._let_go(body, commit)
        for body in sent:
            # Sending in a transaction is no reading: a purge does not reach what is not sent yet.
            self.ledger[body] = "available" if commit else "gone"
        act = transaction_commit if commit else transaction_abort
        assert act(self.manager, transaction.identifier) == Status.MQ_OK

    @invariant()
    def every_message_is_where_the_ledger_has_it(self) -> None:
        states = {
            "available": {PositionState.AVAILABLE},
            "held": {PositionState.LOCKED},
            "in a transaction": {PositionState.LOCKED},
            "purged": {PositionState.PURGE_PENDING},
            "gone": {PositionState.DELETED},
        }
        for body, state in self.ledger.items():
            slot = self.messages[body].message_position_reference
            assert slot is not None
            assert slot.state in states[state]
            assert slot.listed is (state != "gone")

    @invariant()
    def who_waits_has_an_entry_and_a_timer_and_nobody_else_has(self) -> None:
        assert len(self.server.remote_read_entry_collection) == len(self.reads)
        assert self.manager.timers.running == sum(read.timeout != INFINITE for read in self.reads)
        assert len(self.server.open_queue_entry_collection) == sum(map(len, self.open))
        assert len(self.manager.descriptors) == sum(map(len, self.open)) + len(self.local)
        assert len(self.manager.cursors) == sum(len(one.cursors) for own in self.open for one in own)

    @invariant()
    def nobody_waits_for_the_first_message_while_there_is_one(self) -> None:
        for read in self.reads:
            if not read.cursor:
                assert self._available(read.queue) == []

    def teardown(self) -> None:
        for client in range(_CLIENTS):
            self.disconnect(client)
        assert self.reads == []
        assert self.manager.timers.running == 0
        left = {body for body, state in self.ledger.items() if state != "gone"}
        listed = [slot.message_reference.packet for one in self.queues for slot in one.message_position_list]
        assert sorted(listed) == sorted(left)
        for queue in self.queues:
            assert queue.open_queue_descriptor_collection == [self.local[self.queues.index(queue)]]


TestReaders = Readers.TestCase
TestReaders.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)


# Any request value


_numbers = st.one_of(st.integers(0, 12), st.integers(0, 0xFFFFFFFF))
_actions = st.one_of(st.sampled_from(list(ReceiveAction)).map(int), st.integers(0, 0xFFFFFFFF))
_wanted = st.builds(
    RemoteReadDesc,
    h_remote_queue=_numbers,
    h_cursor=_numbers,
    ul_action=_actions,
    ul_timeout=st.one_of(st.just(0), st.integers(0, 0xFFFFFFFF)),
    dw_size=st.integers(0, 0xFFFFFFFF),
    dw_queue=_numbers,
    dw_request_id=_numbers,
    lp_buffer=st.one_of(st.none(), st.binary(max_size=4)),
)
_sane = st.integers(1, 4).flatmap(
    lambda queue: st.builds(
        RemoteReadDesc,
        h_remote_queue=st.just(queue),
        dw_queue=st.just(queue),
        h_cursor=st.sampled_from([0, 0, 5, 6, 7]),
        ul_action=st.sampled_from(list(ReceiveAction)).map(int),
        ul_timeout=st.sampled_from([0, 0, 50]),
        dw_request_id=st.integers(0, 3),
    )
)
_descriptors = st.one_of(_wanted, _sane)
_descriptors2 = st.builds(RemoteReadDesc2, p_remote_read_desc=st.one_of(st.none(), _descriptors))
_requests: dict[str, st.SearchStrategy[Any]] = {
    START: st.builds(qm2qm.RemoteQMStartReceiveRequest, lp_remote_read_desc=_descriptors),
    START2: st.builds(qm2qm.RemoteQMStartReceive2Request, lp_remote_read_desc2=_descriptors2),
    LOOKUP: st.builds(
        qm2qm.RemoteQMStartReceiveByLookupIdRequest,
        lookup_id=st.one_of(_numbers, st.integers(0, 2**64 - 1)),
        lp_remote_read_desc2=_descriptors2,
    ),
    "remote_qm_open_queue": st.one_of(
        st.integers(1, 4).map(lambda n: qm2qm.RemoteQMOpenQueueRequest(h_queue=n, p_queue=n, dwp_context=n)),
        st.builds(
            qm2qm.RemoteQMOpenQueueRequest,
            dw_mqs=_numbers,
            h_queue=_numbers,
            p_queue=_numbers,
            dwp_context=_numbers,
        ),
    ),
    "remote_qm_close_cursor": st.builds(
        qm2qm.RemoteQMCloseCursorRequest, h_queue=_numbers, h_cursor=_numbers
    ),
    "remote_qm_cancel_receive": st.builds(
        qm2qm.RemoteQMCancelReceiveRequest, h_queue=_numbers, p_queue=_numbers, dw_request_id=_numbers
    ),
    "remote_qm_purge_queue": st.builds(qm2qm.RemoteQMPurgeQueueRequest, h_queue=_numbers),
    "remote_qm_get_qmqm_server_port": st.builds(
        qm2qm.RemoteQMGetQMQMServerPortRequest, dw_port_type=_numbers
    ),
}
_handles = st.one_of(st.none(), st.binary(min_size=16, max_size=16), st.integers(0, 9))


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(data=st.data(), old=st.booleans())
def test_every_call_is_answered_whatever_is_asked(data: st.DataObject, old: bool) -> None:
    manager = make_manager()
    queue = make_queue(manager)
    descriptors = [open_descriptor(manager, format_name(queue)) for _ in range(2)]
    for descriptor in descriptors:
        open_cursor(descriptor)
    configuration = Qm2qmConfiguration(version=(5, 0, 0) if old else (6, 1, 0), search_open_queues=old)
    server = Qm2qmServer(manager, configuration)
    peers = [Client(server, number) for number in range(2)]
    for number in range(data.draw(st.integers(0, 4))):
        enqueue_message(queue, ModelMessage(packet=b"%d" % number))
    for _ in range(data.draw(st.integers(1, 12))):
        peer = data.draw(st.sampled_from(peers))
        stem = data.draw(st.sampled_from([*_requests, "remote_qm_end_receive", "remote_qm_close_queue"]))
        if stem in _requests:
            answered = peer.start(stem, data.draw(_requests[stem])).answer
        else:
            which = data.draw(_handles)
            handles = list(peer.association.handles)
            uuid = GUID(which) if isinstance(which, bytes) else GUID(bytes(16))
            if isinstance(which, int) and which < len(handles):
                uuid = handles[which]
            handle = ContextHandle(attributes=data.draw(st.integers(0, 1)), uuid=uuid)
            request: Any = qm2qm.RemoteQMCloseQueueRequest(pph_context=handle)
            if stem == "remote_qm_end_receive":
                request = qm2qm.RemoteQMEndReceiveRequest(
                    pph_context=handle, dw_ack=data.draw(st.integers(0, 3))
                )
            answered = peer.call(stem, request)
        if answered is not None and answered.status is not None:
            ordinary = (Status.MQ_OK, Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT)
            fault = answered.fault is not None
            assert fault or answered.status in ordinary or answered.status >= 0x8000_0000
        pass_time(manager, data.draw(st.sampled_from([0, 1, 100])))
    pass_time(manager, INFINITE)
    still = [call for peer in peers for call in peer.waiting]
    assert len(still) == len(server.remote_read_entry_collection)
    for peer in peers:
        peer.disconnect()
    assert [call for peer in peers for call in peer.waiting] == []
    assert len(server.remote_read_entry_collection) == len(server.open_queue_entry_collection) == 0
    assert manager.timers.running == 0
    assert all(slot.state is PositionState.AVAILABLE for slot in queue.message_position_list)
