"""RemoteRead under random clients: nothing is lost, nothing comes twice, nothing is left behind."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from msmq_wire.lab.model.data.elements import Queue
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.lab.model.events.transaction import transaction_abort, transaction_commit
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.rpc.interfaces.remote_read import (
    INTERFACE,
    CancelReceiveRequest,
    CloseCursorRequest,
    CloseQueueRequest,
    ContextRequest,
    EndReceiveRequest,
    MoveMessageRequest,
    OpenQueueRequest,
    QMEnlistRemoteTransactionRequest,
    SetUserAcknowledgementClassRequest,
    StartReceiveRequest,
    StartTransactionalReceiveRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import DlId, MulticastId, ObjectId, QueueFormat
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import examples
from tests.lab.model.remote_read.scene import (
    ACK,
    ACTION_RECEIVE,
    LOOKUP_PEEK_CURRENT,
    LOOKUP_RECEIVE_CURRENT,
    LOOKUP_RECEIVE_NEXT,
    LOOKUP_RECEIVE_PREV,
    MOVE,
    NACK,
    OK,
    PEEK,
    PEEK_CURRENT,
    PEEK_NEXT,
    RECEIVE,
    UNKNOWN_HANDLE,
    Reader,
    Scene,
)
from tests.lab.model.scene import Waiting, format_name, make_packet, pass_time, position, put

FIVE_MINUTES = 300_000
TRANSACTIONS = [GUID(bytes([n]) * 16) for n in (1, 2)]
ACTIONS = [
    ACTION_RECEIVE,
    ACTION_RECEIVE,
    ACTION_RECEIVE,
    PEEK_CURRENT,
    PEEK_NEXT,
    LOOKUP_PEEK_CURRENT,
    LOOKUP_RECEIVE_CURRENT,
    LOOKUP_RECEIVE_NEXT,
    LOOKUP_RECEIVE_PREV,
]
RECEIVING = {ACTION_RECEIVE, LOOKUP_RECEIVE_CURRENT, LOOKUP_RECEIVE_NEXT, LOOKUP_RECEIVE_PREV}
PACKET = make_packet(b"any")
small = st.integers(0, 7)


class _Open:
    """An open queue of a client."""

    def __init__(self, client: Reader, handle: ContextHandle, queue: Queue, access: int, number: int) -> None:
        self.client = client
        self.handle = handle
        self.queue = queue
        self.access = access
        self.number = number
        self.cursors: list[int] = []


class _Held:
    """A message that somebody received; ``until`` is when that is cleaned up, None after an RR_ACK."""

    def __init__(self, opened: _Open, request_id: int, transaction: GUID | None, until: int) -> None:
        self.opened = opened
        self.request_id = request_id
        self.transaction = transaction
        self.until: int | None = until


class RandomClients(RuleBasedStateMachine):
    """Clients of the server beside a plain account of who holds which message."""

    @initialize()
    def begin(self) -> None:
        self.scene = Scene()
        self.manager = self.scene.manager
        self.clients = [Reader(self.scene.server, number) for number in range(3)]
        self.open: list[_Open] = []
        self.arrived: dict[int, tuple[int, int]] = {}
        self.where: dict[int, Queue] = {}
        self.gone: dict[int, int] = {}
        self.held: dict[int, _Held] = {}
        self.releasing: set[int] = set()
        self.moving: dict[int, tuple[GUID, Queue]] = {}
        self.purged: set[int] = set()
        self.leaving: set[int] = set()
        self.arrivals = 0
        self.manager.position_deleted.append(
            lambda queue, position, reason: self._left(position.message_reference.lookup_identifier, reason)
        )
        for client in range(3):
            self.open_queue(0, client, RECEIVE)
        self.open_queue(2, 0, MOVE)
        for priority in (3, 5):
            self.send(0, priority)

    def _left(self, lookup_id: int, reason: int) -> None:
        assert lookup_id not in self.gone, "a message left twice"
        received = reason == MessageClass.MQMSG_CLASS_ACK_RECEIVE
        assert not received or lookup_id in self.leaving, "a message left that nobody acknowledged"
        self.gone[lookup_id] = reason
        del self.where[lookup_id]

    def _pick(self, number: int, *, reads: bool = False) -> _Open | None:
        found = [one for one in self.open if one.access != MOVE] if reads else self.open
        return found[number % len(found)] if found else None

    def _free(self, queue: Queue) -> list[int]:
        """What can be taken from a queue for certain, the best first."""
        free = [
            lookup_id
            for lookup_id, here in self.where.items()
            if here is queue
            and lookup_id not in self.held
            and lookup_id not in self.moving
            and lookup_id not in self.releasing
        ]
        return sorted(free, key=lambda lookup_id: self.arrived[lookup_id])

    def _expire(self, now: int) -> None:
        for lookup_id, held in list(self.held.items()):
            if held.until is not None and held.until <= now:
                del self.held[lookup_id]
                self.releasing.add(lookup_id)

    @rule(which=st.integers(0, 2), priority=st.integers(0, 7))
    def send(self, which: int, priority: int) -> None:
        orders = self.scene.queue
        queue = [orders, self.scene.letters, *orders.subqueue_collection][
            which % (2 + len(orders.subqueue_collection))
        ]
        self.arrivals += 1
        # Who waits is answered while the message is put: it is known before.
        expected = self.manager.sequential_id + 1
        self.pending_arrival = (expected, queue, priority)
        message = put(queue, priority=priority, packet=PACKET)
        self._arrive(message.lookup_identifier, queue, priority)
        del self.pending_arrival

    def _arrive(self, lookup_id: int, queue: Queue, priority: int) -> None:
        if lookup_id not in self.arrived:
            self.arrived[lookup_id] = (-priority, self.arrivals)
            self.where[lookup_id] = queue

    @rule(which=st.integers(0, 2), client=st.integers(0, 2), access=st.sampled_from([RECEIVE, PEEK, MOVE]))
    def open_queue(self, which: int, client: int, access: int) -> None:
        names = [format_name(self.scene.queue), format_name(self.scene.letters)]
        name = [*names, names[0] + ";done"][which]
        reader, number = self.clients[client], 0
        if access == MOVE:
            handle, number = reader.open_for_move(name)
        else:
            handle = reader.open(name, access)
        queue = self.scene.context(handle, reader).descriptor.queue_reference
        assert queue is not None
        self.open.append(_Open(reader, handle, queue, access, number))

    @rule(which=small)
    def close_queue(self, which: int) -> None:
        opened = self._pick(which)
        if opened is None:
            return
        self._let_go([opened])
        assert opened.client.close(opened.handle).status == OK
        self.releasing.clear()
        self.open.remove(opened)

    @rule(which=st.integers(0, 2))
    def disconnect(self, which: int) -> None:
        client = self.clients[which]
        theirs = [one for one in self.open if one.client is client]
        self._let_go(theirs)
        client.disconnect()
        self.releasing.clear()
        self.open = [one for one in self.open if one not in theirs]
        assert not client.association.handles
        assert not client.waiting

    def _let_go(self, opened: list[_Open]) -> None:
        for lookup_id, held in list(self.held.items()):
            if held.opened in opened and held.until is not None:
                del self.held[lookup_id]
                self.releasing.add(lookup_id)

    @rule(which=small)
    def create_cursor(self, which: int) -> None:
        opened = self._pick(which, reads=True)
        if opened is not None:
            opened.cursors.append(opened.client.create_cursor(opened.handle))

    @rule(which=small, cursor=small)
    def close_cursor(self, which: int, cursor: int) -> None:
        opened = self._pick(which, reads=True)
        if opened is not None and opened.cursors:
            number = opened.cursors.pop(cursor % len(opened.cursors))
            assert opened.client.close_cursor(opened.handle, number) == OK

    @rule(
        which=small,
        action=st.sampled_from(ACTIONS),
        request_id=st.integers(1, 4),
        timeout=st.sampled_from([0, 0, 10, 400_000, 0xFFFFFFFF]),
        cursor=small,
        lookup=small,
        transaction=st.sampled_from([None, None, NULL_GUID, *TRANSACTIONS]),
    )
    def read(
        self,
        which: int,
        action: int,
        request_id: int,
        timeout: int,
        cursor: int,
        lookup: int,
        transaction: GUID | None,
    ) -> None:
        opened = self._pick(which, reads=True)
        if opened is None:
            return
        by_lookup = bool(action & 0x40000000)
        number = opened.cursors[cursor % len(opened.cursors)] if cursor > 3 and opened.cursors else 0
        here = [lookup_id for lookup_id, queue in self.where.items() if queue is opened.queue]
        request: dict[str, Any] = {
            "ph_context": opened.handle,
            "ul_action": action,
            "dw_request_id": request_id,
            "h_cursor": 0 if by_lookup else number,
            "ul_timeout": 0 if by_lookup else timeout,
            "lookup_id": here[lookup % len(here)] if by_lookup and here else int(by_lookup),
            "dw_max_body_size": 100,
        }
        stem, value = "r_start_receive", StartReceiveRequest(**request)
        if transaction is not None:
            stem = "r_start_transactional_receive"
            value = StartTransactionalReceiveRequest(**request, p_transaction_id=transaction)
        if transaction == NULL_GUID:
            transaction = None
        plain = action == ACTION_RECEIVE and not number
        machine, call = self, Waiting()

        def done(answer: CallResult) -> None:
            assert call.answer is None
            call.answer = answer
            if call in opened.client.waiting:
                opened.client.waiting.remove(call)
            if answer.status == OK:
                machine._delivered(opened, answer, request_id, transaction, action in RECEIVING, plain)

        opnum = next(one.opnum for one in INTERFACE.methods.values() if one.stem == stem)
        self.scene.server.serve(opened.client.association, opnum, value, done)
        if call.answer is None:
            opened.client.waiting.append(call)

    @rule(
        which=small, timeout=st.sampled_from([0, 400_000]), transaction=st.sampled_from([None, *TRANSACTIONS])
    )
    def receive(self, which: int, timeout: int, transaction: GUID | None) -> None:
        """A read that mostly succeeds, so that there is something to end."""
        orders = self.scene.queue
        found = [one for one in self.open if one.access == RECEIVE and one.queue is orders]
        if not found:
            return
        number = self.open.index(found[which % len(found)])
        used = {held.request_id for held in self.held.values() if held.opened is self.open[number]}
        request_id = next((one for one in range(1, 5) if one not in used), 1)
        readable = [one for one in self.open if one.access != MOVE].index(self.open[number])
        self.read(readable, ACTION_RECEIVE, request_id, timeout, 0, 0, transaction)

    def _delivered(
        self,
        opened: _Open,
        answer: CallResult,
        request_id: int,
        transaction: GUID | None,
        receives: bool,
        plain: bool,
    ) -> None:
        sequence = answer.response.p_sequence_id
        if hasattr(self, "pending_arrival") and self.pending_arrival[0] == sequence:
            _, queue, priority = self.pending_arrival
            (slot,) = [
                one
                for one in queue.message_position_list
                if one.message_reference.lookup_identifier & (1 << 56) - 1 == sequence
            ]
            self._arrive(slot.message_reference.lookup_identifier, queue, priority)
        (lookup_id,) = [one for one in self.arrived if one & (1 << 56) - 1 == sequence]
        now = self.manager.timers.now
        self._expire(now)
        assert self.where[lookup_id] is opened.queue or lookup_id in self.moving
        assert lookup_id not in self.held, "delivered while somebody has it"
        if not receives:
            return
        if plain:
            better = [one for one in self._free(opened.queue) if self.arrived[one] < self.arrived[lookup_id]]
            assert not better, "a message before it was passed over"
        self.releasing.discard(lookup_id)
        self.held[lookup_id] = _Held(opened, request_id, transaction, now + FIVE_MINUTES)

    @rule(which=small, ack=st.sampled_from([ACK, NACK]), request_id=st.integers(1, 12), within=st.booleans())
    def end(self, which: int, ack: int, request_id: int, within: bool) -> None:
        pending = [held for held in self.held.values() if held.until is not None]
        if pending and request_id > 4:
            opened, request_id = (
                pending[which % len(pending)].opened,
                pending[which % len(pending)].request_id,
            )
        else:
            picked = self._pick(which, reads=True)
            if picked is None:
                return
            opened = picked
        found = [
            (lookup_id, held)
            for lookup_id, held in self.held.items()
            if held.opened is opened and held.request_id == request_id and held.until is not None
        ]
        transactional = found[0][1].transaction is not None if found else within
        if found and ack == ACK and not transactional:
            self.leaving.add(found[0][0])
        if found and ack == NACK:
            del self.held[found[0][0]]
            self.releasing.add(found[0][0])
        status = opened.client.end(opened.handle, ack, request_id=request_id, transactional=transactional)
        self.releasing.clear()
        if not found:
            assert status != OK
            return
        assert status == OK
        lookup_id, held = found[0]
        if ack == ACK and transactional:
            held.until = None
        elif ack == ACK:
            del self.held[lookup_id]
            assert lookup_id in self.gone
        self.leaving.clear()

    @rule(which=small, request_id=st.integers(1, 4))
    def cancel(self, which: int, request_id: int) -> None:
        opened = self._pick(which, reads=True)
        if opened is not None:
            before = len(opened.client.waiting)
            status = opened.client.cancel(opened.handle, request_id)
            assert before - len(opened.client.waiting) == (status == OK)

    @rule(source=small, to=small, lookup=small, transaction=st.sampled_from([NULL_GUID, *TRANSACTIONS]))
    def move(self, source: int, to: int, lookup: int, transaction: GUID) -> None:
        sources = [one for one in self.open if one.access == RECEIVE]
        targets = [one for one in self.open if one.access == MOVE]
        if not sources or not targets:
            return
        opened, goal = sources[source % len(sources)], targets[to % len(targets)]
        free = self._free(opened.queue)
        lookup_id = free[lookup % len(free)] if free else 1
        if transaction != NULL_GUID:
            opened.client.enlist(transaction)
        self.arrivals += 1
        now = bool(free) and transaction == NULL_GUID
        if now:
            before = self.where[lookup_id], self.arrived[lookup_id]
            self.where[lookup_id] = goal.queue
            self.arrived[lookup_id] = (before[1][0], self.arrivals)
        status = opened.client.move(opened.handle, goal.number, lookup_id, transaction)
        if status == OK and not now:
            self.moving[lookup_id] = (transaction, goal.queue)
        elif status != OK and now:
            self.where[lookup_id], self.arrived[lookup_id] = before

    @rule(which=st.integers(0, 1), commits=st.booleans())
    def end_transaction(self, which: int, commits: bool) -> None:
        transaction = TRANSACTIONS[which]
        received = [one for one, held in self.held.items() if held.transaction == transaction]
        moved = {one: target for one, (of, target) in self.moving.items() if of == transaction}
        for lookup_id in received:
            del self.held[lookup_id]
        for lookup_id, target in moved.items():
            del self.moving[lookup_id]
            if commits:
                self.arrivals += 1
                self.where[lookup_id] = target
                self.arrived[lookup_id] = (self.arrived[lookup_id][0], self.arrivals)
        self.releasing.update(received, moved)
        if commits:
            self.leaving.update(received)
        # Its entries may still be pending: they find that their lock was lost.
        end = transaction_commit if commits else transaction_abort
        known = transaction in self.manager.transaction_collection
        assert (end(self.manager, transaction) == OK) == known
        self.releasing.clear()
        self.leaving.clear()
        for lookup_id in received:
            assert (lookup_id in self.gone) == (commits or lookup_id in self.purged)

    @rule(which=small)
    def purge(self, which: int) -> None:
        readers = [one for one in self.open if one.access == RECEIVE]
        if readers:
            opened = readers[which % len(readers)]
            self.purged.update(one for one, queue in self.where.items() if queue is opened.queue)
            assert opened.client.purge(opened.handle) == OK

    @rule(milliseconds=st.sampled_from([1, 10, 1000, 299_000, 300_000, 700_000]))
    def wait(self, milliseconds: int) -> None:
        pass_time(self.manager, milliseconds)
        self._expire(self.manager.timers.now)
        self.releasing.clear()

    @invariant()
    def every_message_is_in_one_place(self) -> None:
        queues = [self.scene.queue, self.scene.letters, *self.scene.queue.subqueue_collection]
        listed = [
            (one.message_reference.lookup_identifier, queue)
            for queue in queues
            for one in queue.message_position_list
        ]
        assert len(listed) == len(self.where)
        assert {lookup_id: id(queue) for lookup_id, queue in listed} == {
            lookup_id: id(queue) for lookup_id, queue in self.where.items()
        }
        assert set(self.where) | set(self.gone) == set(self.arrived)
        assert not set(self.where) & set(self.gone)

    @invariant()
    def what_nobody_holds_can_be_read(self) -> None:
        for queue in (self.scene.queue, self.scene.letters, *self.scene.queue.subqueue_collection):
            for slot in queue.message_position_list:
                lookup_id = slot.message_reference.lookup_identifier
                locked = lookup_id in self.held or lookup_id in self.moving
                assert (slot.state.value != "Available") == locked
                assert position(slot.message_reference) is slot

    @invariant()
    def nothing_is_kept_that_nobody_uses(self) -> None:
        state = self.scene.state()
        waiting = sum(len(client.waiting) for client in self.clients)
        assert state["waiting"] == waiting
        assert state["timers"] <= state["pending"] + waiting
        assert state["descriptors"] == sorted(
            self.scene.context(one.handle, one.client).descriptor.handle for one in self.open
        )
        assert len(state["cursors"]) == sum(len(one.cursors) for one in self.open)
        table = self.scene.server.pending_request_table
        for one in self.open:
            context = self.scene.context(one.handle, one.client)
            readers = context.descriptor.waiting_message_read_operation_collection
            peeks = {reader.tag for reader in readers if not reader.destructive_read}
            assert context.waiting_peeks == peeks
            for request_id in range(1, 5):
                entry = table.find(context, request_id)
                assert entry is None or entry.waiting == any(
                    reader.tag == request_id and reader.destructive_read for reader in readers
                )
        for held in self.held.values():
            if held.until is not None:
                entry = table.find(
                    self.scene.context(held.opened.handle, held.opened.client), held.request_id
                )
                assert entry is not None
                assert entry.timer is not None
                assert entry.timer.due == held.until

    @invariant()
    def reasons_are_what_happened(self) -> None:
        for lookup_id, reason in self.gone.items():
            if reason == MessageClass.MQMSG_CLASS_NACK_Q_PURGED:
                assert lookup_id in self.purged
            else:
                assert reason == MessageClass.MQMSG_CLASS_ACK_RECEIVE

    def teardown(self) -> None:
        if not hasattr(self, "scene"):
            return
        for which in range(3):
            self.disconnect(which)
        for which in range(2):
            self.end_transaction(which, False)
        state = self.scene.state()
        assert (state["descriptors"], state["cursors"], state["pending"]) == ([], {}, 0)
        assert (state["timers"], state["waiting"], state["transactions"]) == (0, 0, {})
        assert self.held == {}
        self.every_message_is_in_one_place()
        self.what_nobody_holds_can_be_read()


TestRandomClients = RandomClients.TestCase
TestRandomClients.settings = settings(max_examples=examples(100), stateful_step_count=40)


_handles = st.sampled_from(["own", "moving", "closed", "unknown", "null"])
_dwords = st.one_of(st.integers(0, 9), st.sampled_from(ACTIONS), st.integers(0, 0xFFFFFFFF))
_hypers = st.one_of(st.integers(0, 9), st.integers(0, (1 << 64) - 1))
_guids = st.one_of(st.sampled_from([NULL_GUID, *TRANSACTIONS]), st.binary(min_size=16, max_size=16).map(GUID))
_texts = st.one_of(
    st.sampled_from(["OS:host\\private$\\orders", "OS:host\\private$\\orders;x", "TCP:1.2.3.4\\q", ""]),
    st.text(max_size=30),
).map(WcharText.of)
_arms = st.one_of(
    st.none(),
    _guids,
    _texts,
    st.builds(ObjectId, lineage=_guids, uniquifier=_dwords),
    st.builds(DlId, m_dl_guid=_guids, m_pwz_domain=st.one_of(st.none(), _texts)),
    st.builds(MulticastId, m_address=_dwords, m_port=_dwords),
)
_formats = st.builds(QueueFormat, m_qft=st.integers(0, 10), m_suffix_and_flags=st.integers(0, 255), arm=_arms)
_longs = st.integers(-(1 << 31), (1 << 31) - 1)
_bytes = st.integers(0, 255)
_opens = st.builds(
    OpenQueueRequest,
    p_queue_format=_formats,
    dw_access=_dwords,
    dw_share_mode=_dwords,
    p_client_id=_guids,
    f_non_routing_server=_longs,
    major=_bytes,
    minor=_bytes,
    build_number=st.integers(0, 65_535),
    f_workgroup=_longs,
)
_reads: dict[str, Any] = {
    "lookup_id": _hypers,
    "h_cursor": _dwords,
    "ul_action": _dwords,
    "ul_timeout": _dwords,
    "dw_request_id": _dwords,
    "dw_max_body_size": _dwords,
    "dw_max_compound_message_size": _dwords,
}
_ends = st.builds(EndReceiveRequest, dw_ack=_dwords, dw_request_id=_dwords)
_requests: dict[int, st.SearchStrategy[Any]] = {
    0: st.just(NoParameters()),
    2: _opens,
    3: st.builds(CloseQueueRequest),
    4: st.builds(ContextRequest),
    5: st.builds(CloseCursorRequest, h_cursor=_dwords),
    6: st.builds(ContextRequest),
    7: st.builds(StartReceiveRequest, **_reads),
    8: st.builds(CancelReceiveRequest, dw_request_id=_dwords),
    9: _ends,
    10: st.builds(MoveMessageRequest, ull_context_to=_hypers, lookup_id=_hypers, p_transaction_id=_guids),
    11: _opens,
    12: st.builds(
        QMEnlistRemoteTransactionRequest,
        p_transaction_id=_guids,
        cb_propagation_token=st.one_of(st.just(3), _dwords),
        pb_propagation_token=st.one_of(st.just(b"abc"), st.binary(max_size=5)),
        p_queue_format=_formats,
    ),
    13: st.builds(StartTransactionalReceiveRequest, p_transaction_id=_guids, **_reads),
    14: st.builds(SetUserAcknowledgementClassRequest, lookup_id=_hypers, us_class=_dwords),
    15: _ends,
}
_calls = st.integers(0, 16).flatmap(
    lambda opnum: st.tuples(st.just(opnum), _handles, _requests.get(opnum, st.just(NoParameters())))
)


@given(st.lists(_calls, min_size=1, max_size=12), st.booleans())
def test_every_request_is_answered_now_or_when_time_passes(
    calls: list[tuple[int, str, Any]], deleted: bool
) -> None:
    scene = Scene()
    for number in range(3):
        put(scene.queue, packet=PACKET if number else b"no packet")
    client = scene.client
    handles = {
        "own": client.open(scene.queue),
        "moving": client.open_for_move(scene.queue)[0],
        "closed": client.open(scene.queue),
        "unknown": UNKNOWN_HANDLE,
        "null": ContextHandle(),
    }
    client.close(handles["closed"])
    client.create_cursor(handles["own"])
    started = []
    for opnum, which, request in calls:
        for field in ("ph_context", "pph_context", "ph_context_from"):
            if field in request.__struct_fields__:
                values = {name: getattr(request, name) for name in request.__struct_fields__}
                request = type(request)(**{**values, field: handles[which]})
        started.append(client.start_opnum(opnum, request))
    if deleted:
        delete_queue(scene.manager, scene.queue)
    pass_time(scene.manager, 1 << 33)
    for call in started:
        if call.answer is None:
            # Only who waits without end is left, until it is gone itself.
            assert call in client.waiting
    client.disconnect()
    assert all(call.answer is not None for call in started)
    state = scene.state()
    assert (state["descriptors"], state["cursors"], state["pending"]) == ([], {}, 0)
    assert (state["timers"], state["waiting"]) == (0, 0)
