"""Random clients of qmcomm: nothing is raised, nothing is left over, no message is lost or comes twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from msmq_wire.lab.model.data.elements import (
    MessagePosition,
    ModelMessage,
    OpenQueueDescriptor,
    Queue,
    Transaction,
)
from msmq_wire.lab.model.data.enumerations import QueueAccessType
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.local_queue_context import LocalQueueContextHandle, add_cursor_proxy
from msmq_wire.lab.model.qmcomm.server import QmcommServer
from msmq_wire.rpc.interfaces import qmcomm_objects as objects
from msmq_wire.rpc.interfaces import qmcomm_queues as queues
from msmq_wire.rpc.interfaces.qm2qm import RemoteQMOpenQueueResponse
from msmq_wire.rpc.ndr import NULL_POINTEE, members
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV1, TransferSend
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.propvariant import Blob, PropVariant
from msmq_wire.rpc.types.queue_format import DlId, MulticastId, ObjectFormat, ObjectId, QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import examples
from tests.lab.model.qmcomm.scene import (
    ELSEWHERE,
    ORDERS,
    REMOTE_HANDLE,
    UNKNOWN,
    Scene,
    creating,
    opening,
    opening_for_others,
    queue_format,
    remote_cursor,
)
from tests.lab.model.scene import QUEUE_MANAGER, Client, make_manager, pass_time, put

dwords = st.one_of(
    st.sampled_from([0, 1, 2, 3, 4, 8, 0x0B, 0x20, 0x81, 0xA0, 129, 524288, 0xFFFF_FFFF]),
    st.integers(0, 0xFFFF_FFFF),
)
guids = st.one_of(st.sampled_from([NULL_GUID, QUEUE_MANAGER]), st.binary(min_size=16, max_size=16).map(GUID))
path_names = st.sampled_from(
    [".\\private$\\orders", ".\\private$\\new", "host\\private$\\x", "far\\private$\\x", ".\\x", ""]
)
texts = st.one_of(
    st.one_of(path_names, st.text(max_size=20)).map(WcharText.of), st.binary(max_size=20).map(WcharText)
)
rooms = st.one_of(st.none(), st.just(NULL_POINTEE), texts)
names = st.sampled_from(
    [
        ORDERS,
        ELSEWHERE,
        ORDERS + ";journal",
        ORDERS + ";sub",
        f"PRIVATE={QUEUE_MANAGER}\\00000001",
        f"PUBLIC={QUEUE_MANAGER}",
        f"MACHINE={QUEUE_MANAGER};deadletter",
        f"DL={QUEUE_MANAGER}@domain",
        "MULTICAST=224.0.0.1:80",
        "DIRECT=HTTP://host/msmq/private$/orders",
    ]
).map(FormatName.parse)
arms = st.one_of(
    st.none(),
    guids,
    texts,
    st.builds(ObjectId, lineage=guids, uniquifier=dwords),
    st.builds(DlId, m_dl_guid=guids, m_pwz_domain=st.one_of(st.none(), texts)),
    st.builds(MulticastId, m_address=dwords, m_port=dwords),
)
queue_formats = st.one_of(
    names.map(QueueFormat.of),
    st.builds(QueueFormat, m_qft=st.integers(0, 10), m_suffix_and_flags=st.integers(0, 255), arm=arms),
)
object_formats = st.one_of(
    names.map(lambda name: ObjectFormat(arm=QueueFormat.of(name))),
    st.builds(ObjectFormat, obj_type=st.integers(0, 3), arm=st.one_of(st.none(), queue_formats)),
)
variants = st.one_of(
    st.just(PropVariant(vt=1)),
    st.just(PropVariant(vt=31, arm=WcharText.of("text"))),
    st.builds(
        PropVariant,
        vt=st.one_of(st.sampled_from([1, 2, 3, 17, 19, 31, 65, 72]), st.integers(0, 0xFFFF)),
        arm=st.one_of(st.none(), st.integers(-5, 300), guids, texts, st.just(Blob())),
    ),
)
propids = st.one_of(st.integers(101, 126), dwords)
octets = st.binary(max_size=30)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "a_prop": st.lists(propids, max_size=3).map(tuple),
    "ap_var": st.lists(variants, max_size=3).map(tuple),
    "cb_cookie": st.integers(0, 9),
    "cb_buf_size": st.integers(0, 1000),
    "cp": st.integers(0, 3),
    "dw_format_name_rpc_buffer_len": st.integers(0, 60),
    "pdw_length": st.integers(0, 60),
    "lpwcs_format_name": st.one_of(st.none(), texts),
    "lpwcs_path_name": texts,
    "lp_client_name": texts,
    "lplp_remote_queue_name": rooms,
    "n_length": st.integers(0, 1000),
    "p_lic_guid": guids,
    "p_object_format": object_formats,
    "p_queue_format": queue_formats,
    "p_security_descriptor": st.one_of(st.none(), octets),
    "p_uow": guids,
    "pb_cookie": octets,
    "ptb1": st.just(CACTransferBufferV1(arm=TransferSend())),
    "sd_size": st.integers(0, 30),
}


def _requests(opnum: int, handles: list[ContextHandle]) -> st.SearchStrategy[Any]:
    cls = QmcommServer.INTERFACE.methods[opnum].request.cls
    blank = cls()
    given_ = {
        member.name: st.sampled_from(handles)
        if isinstance(getattr(blank, member.name), ContextHandle)
        else FIELDS.get(member.name, dwords)
        for member in members(cls)
    }
    return st.builds(cls, **given_)


@pytest.mark.rule("MQMP-2.2-1")
@settings(max_examples=examples(300))
@given(st.data())
def test_any_request_is_answered_with_a_success_a_failure_or_a_fault(data: st.DataObject) -> None:
    scene = Scene(
        obsolete_methods=data.draw(st.booleans()), supporting_server=data.draw(st.integers(0, 9)) > 0
    )
    handles = [ContextHandle(), UNKNOWN]
    if scene.server.environment.supporting_server:
        proxy = scene.open_far()
        add_cursor_proxy(scene.manager, proxy, 3)
        begun = scene.begin(QUEUE_MANAGER)
        handles += [scene.open().ph_queue, proxy.handle, begun]
    opened = scene.open_for_others(0x20)
    handles.append(opened.pph_context)
    waits = data.draw(st.sampled_from(["", "RemoteQMOpenQueue", "RemoteQMPurgeQueue", "RemoteQMCloseCursor"]))
    scene.other.answers.pop(waits, None)
    calls = []
    for _ in range(3):
        opnum = data.draw(st.sampled_from(sorted(QmcommServer.INTERFACE.methods)))
        request = data.draw(_requests(opnum, handles))
        calls.append(scene.client.start_opnum(opnum, request))
    pass_time(scene.manager, 300_000)
    for call in calls:
        assert call.answer is not None
        status = call.answer.status
        if call.answer.fault is None and status is not None:
            assert status == Status.MQ_OK or status & 0x8000_0000
    scene.client.disconnect()
    for late in scene.other.waiting:
        late(CallResult(RemoteQMOpenQueueResponse(ph_context=REMOTE_HANDLE)))
    manager = scene.manager
    assert (manager.descriptors, manager.cursors, manager.transaction_collection) == ({}, {}, {})
    assert (scene.client.association.handles, manager.timers.running) == ({}, 0)


class _Work(msgspec.Struct, eq=False, kw_only=True):
    """A transaction of a client, and what was done in it."""

    client: Client
    handle: ContextHandle
    transaction: Transaction
    sent: list[str] = []
    received: list[str] = []


class Clients(RuleBasedStateMachine):
    """Clients open, close, create, delete and purge queues; messages come and go, also in transactions."""

    opened = Bundle("opened")
    works = Bundle("works")

    @initialize()
    def begin(self) -> None:
        self.manager = make_manager()
        self.manager.position_deleted.append(self._deleted)
        self.server = QmcommServer(self.manager)
        self.clients = [Client(self.server, number) for number in range(3)]
        self.number = 0
        self.sent: set[str] = set()
        self.given_up: set[str] = set()
        self.received: Counter[str] = Counter()
        self.gone: Counter[str] = Counter()
        self.held: dict[str, _Work] = {}
        for name in "ab":
            self._call(0, "r_qm_create_object_internal", creating(f".\\private$\\{name}"))

    def _call(self, client: int, stem: str, request: Any) -> Any:
        answer = self.clients[client].call(stem, request)
        assert answer.fault is None
        return answer.response

    def _deleted(self, _: Queue, position: MessagePosition, reason: int) -> None:
        label = position.message_reference.label
        self.gone[label] += 1
        if reason != MessageClass.MQMSG_CLASS_ACK_RECEIVE:
            self.given_up.add(label)

    @rule(
        target=opened,
        client=st.integers(0, 2),
        name=st.sampled_from("ab"),
        access=st.sampled_from([1, 2, 0x20]),
        share=st.sampled_from([0, 0, 0, 1]),
    )
    def open_queue(self, client: int, name: str, access: int, share: int) -> Any:
        before = len(self.manager.descriptors)
        request = opening(_name(name), access, share if access != 2 else 0)
        response = self._call(client, "rpc_qm_open_queue_internal", request)
        assert len(self.manager.descriptors) == before + (response.status == Status.MQ_OK)
        return multiple() if response.status else (client, response.ph_queue, response.pdw_qm_context)

    @rule(
        target=opened, client=st.integers(0, 2), name=st.sampled_from("ab"), access=st.sampled_from([1, 0x20])
    )
    def open_for_another_server(self, client: int, name: str, access: int) -> Any:
        response = self._call(client, "r_qm_open_remote_queue", opening_for_others(_name(name), access))
        return multiple() if response.status else (client, response.pph_context, response.ph_queue)

    @rule(one=consumes(opened))
    def close(self, one: tuple[int, ContextHandle, int]) -> None:
        client, handle, _ = one
        thing = self.clients[client].association.handles.get(handle.uuid)
        if thing is None:
            return
        if isinstance(thing, LocalQueueContextHandle):
            response = self._call(client, "rpc_ac_close_handle", queues.QueueHandleRequest(ph_queue=handle))
            assert (response.status, response.ph_queue.null) == (Status.MQ_OK, True)
        else:
            request = queues.CloseRemoteQueueContext(pph_context=handle)
            assert self._call(client, "r_qm_close_remote_queue_context", request).pph_context.null
        assert handle.uuid not in self.clients[client].association.handles

    @rule(one=opened)
    def make_and_close_a_cursor(self, one: tuple[int, ContextHandle, int]) -> None:
        client, handle, number = one
        response = self._call(client, "r_qm_create_remote_cursor", remote_cursor(number))
        descriptor = self._descriptor(one)
        assert (response.status == Status.MQ_OK) is (descriptor is not None)
        thing = self.clients[client].association.handles.get(handle.uuid)
        if descriptor is not None and isinstance(thing, LocalQueueContextHandle) and number % 2:
            request = queues.CursorRequest(h_queue=handle, h_cursor=response.ph_cursor)
            assert self._call(client, "rpc_ac_close_cursor", request).status == Status.MQ_OK
            assert response.ph_cursor not in self.manager.cursors

    def _descriptor(self, one: tuple[int, ContextHandle, int]) -> OpenQueueDescriptor | None:
        descriptor = self.manager.descriptors.get(one[2])
        return None if descriptor is None or descriptor.queue_reference is None else descriptor

    @rule(one=opened)
    def purge(self, one: tuple[int, ContextHandle, int]) -> None:
        client, handle, _ = one
        thing = self.clients[client].association.handles.get(handle.uuid)
        if isinstance(thing, LocalQueueContextHandle):
            response = self._call(client, "rpc_ac_purge_queue", queues.QueueRequest(h_queue=handle))
            if response.status == Status.MQ_OK:
                queue = thing.open_queue_descriptor_reference.queue_reference
                assert queue is not None
                assert all(one.state.value == "PurgePending" for one in queue.message_position_list)

    @rule(client=st.integers(0, 2), name=st.sampled_from("ab"))
    def create_or_delete(self, client: int, name: str) -> None:
        there = f"private$\\{name}" in self.manager.queue_collection
        if there and self.number % 5 == 0:
            request = objects.ObjectRequest(p_object_format=ObjectFormat(arm=queue_format(_name(name))))
            assert self._call(client, "r_qm_delete_object", request).status == Status.MQ_OK
        else:
            status = self._call(
                client, "r_qm_create_object_internal", creating(f".\\private$\\{name}")
            ).status
            assert status == (Status.MQ_ERROR_QUEUE_EXISTS if there else Status.MQ_OK)

    @rule(target=works, client=st.integers(0, 2), number=st.integers(0, 3))
    def begin_work(self, client: int, number: int) -> Any:
        identifier = bytes([number] * 16)
        known = identifier in self.manager.transaction_collection
        request = objects.EnlistInternalTransactionRequest(p_uow=GUID(identifier))
        response = self._call(client, "r_qm_enlist_internal_transaction", request)
        assert response.status == (Status.MQ_ERROR_TRANSACTION_SEQUENCE if known else Status.MQ_OK)
        if known:
            return multiple()
        transaction = self.manager.transaction_collection[identifier]
        return _Work(client=self.clients[client], handle=response.ph_int_xact, transaction=transaction)

    def _open(self, work: _Work) -> bool:
        return work.handle.uuid in work.client.association.handles

    @rule(work=consumes(works), commit=st.booleans())
    def end_work(self, work: _Work, commit: bool) -> None:
        if not self._open(work):
            return
        stem = "r_qm_commit_transaction" if commit else "r_qm_abort_transaction"
        lost_before = set(self.given_up)
        request = objects.TransactionRequest(ph_int_xact=work.handle)
        answer = work.client.call(stem, request)
        assert answer.status == Status.MQ_OK
        assert answer.response.ph_int_xact.null
        present = self._present()
        if commit:
            for label in work.received:
                self.received[label] += label not in lost_before
                assert label not in present
            for label in work.sent:
                assert label in present or label in self.received or label in self.given_up
        else:
            assert not any(label in present or label in self.received for label in work.sent)
            self.sent -= set(work.sent)
            for label in work.received:
                assert label in present or label in self.received or label in self.given_up

    @rule(name=st.sampled_from("ab"), priority=st.integers(0, 7))
    def send(self, name: str, priority: int) -> None:
        queue = self.manager.queue_collection.get(f"private$\\{name}")
        if queue is not None:
            self.number += 1
            self.sent.add(f"m{self.number}")
            put(queue, f"m{self.number}".encode(), priority=priority)

    @rule(work=works, name=st.sampled_from("ab"), priority=st.integers(0, 7))
    def send_in_work(self, work: _Work, name: str, priority: int) -> None:
        queue = self.manager.queue_collection.get(f"private$\\{name}")
        if queue is None or not self._open(work):
            return
        self.number += 1
        label = f"m{self.number}"
        self.sent.add(label)
        work.sent.append(label)
        message = ModelMessage(label=label, priority=priority, size=1)
        assert enqueue_message(queue, message, work.transaction) == 0

    @rule(one=opened, timeout=st.sampled_from([0, 500]), by_cursor=st.booleans())
    def receive(self, one: tuple[int, ContextHandle, int], timeout: int, by_cursor: bool) -> None:
        descriptor = self._descriptor(one)
        if descriptor is None or descriptor.access_type is not QueueAccessType.RECEIVE_ACCESS:
            return
        cursor = open_cursor(descriptor) if by_cursor else None

        def done(status: int, message: ModelMessage | None) -> None:
            if status == Status.MQ_OK and message is not None:
                self.received[message.label] += 1

        dequeue_message(descriptor, done, timeout=timeout, cursor=cursor)

    @rule(one=opened, work=works)
    def receive_in_work(self, one: tuple[int, ContextHandle, int], work: _Work) -> None:
        descriptor = self._descriptor(one)
        receiving = descriptor is not None and descriptor.access_type is QueueAccessType.RECEIVE_ACCESS
        if descriptor is None or not receiving or not self._open(work):
            return

        def done(status: int, message: ModelMessage | None) -> None:
            if status == Status.MQ_OK and message is not None:
                work.received.append(message.label)

        dequeue_message(descriptor, done, timeout=0, transaction=work.transaction)

    @rule(client=st.integers(0, 2))
    def disconnect(self, client: int) -> None:
        held = [
            work.transaction_reference
            for work in self.clients[client].association.handles.values()
            if hasattr(work, "transaction_reference")
        ]
        labels = {
            operation.message_position_reference.message_reference.label
            for transaction in held
            for operation in transaction.transactional_operation_collection
            if operation.operation_type.value == "Enqueue"
        }
        self.clients[client].disconnect()
        assert self.clients[client].association.handles == {}
        assert not labels & self._present()
        self.sent -= labels

    @rule(milliseconds=st.sampled_from([1, 499, 1000, 400_000]))
    def let_time_pass(self, milliseconds: int) -> None:
        pass_time(self.manager, milliseconds)

    def _present(self) -> set[str]:
        return {
            position.message_reference.label
            for queue in self.manager.queue_collection.values()
            for position in queue.message_position_list
        }

    @invariant()
    def messages_come_once_and_none_is_lost(self) -> None:
        present = self._present()
        assert all(count == 1 for count in self.received.values())
        assert all(count == 1 for count in self.gone.values())
        assert not present & set(self.received)
        assert self.sent <= present | set(self.received) | self.given_up

    @invariant()
    def slots_are_in_order(self) -> None:
        for queue in self.manager.queue_collection.values():
            order = [
                (-one.priority, one.message_reference.lookup_identifier)
                for one in queue.message_position_list
            ]
            assert order == sorted(order)

    @invariant()
    def who_waits_is_the_only_reason_for_a_timer(self) -> None:
        waiting = sum(
            len(one.waiting_message_read_operation_collection) for one in self.manager.descriptors.values()
        )
        assert self.manager.timers.running == waiting

    def teardown(self) -> None:
        if not hasattr(self, "clients"):
            return
        for client in self.clients:
            client.disconnect()
            assert (client.association.handles, client.waiting) == ({}, [])
        manager = self.manager
        assert (manager.descriptors, manager.cursors, manager.transaction_collection) == ({}, {}, {})
        assert manager.timers.running == 0
        for queue in manager.queue_collection.values():
            assert queue.open_queue_descriptor_collection == []
            assert all(one.state.value == "Available" for one in queue.message_position_list)


def _name(name: str) -> str:
    return f"DIRECT=OS:host\\private$\\{name}"


TestClients = Clients.TestCase
TestClients.settings = settings(max_examples=examples(80), stateful_step_count=40, deadline=None)
