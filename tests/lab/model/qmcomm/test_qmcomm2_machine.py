"""Whatever applications do, nothing is lost, doubled, out of order or left behind. [MS-MQMP] 3.1.5"""

from __future__ import annotations

import functools
import types
import typing
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from msmq_wire.lab.model.data.elements import Queue
from msmq_wire.lab.model.data.enumerations import PositionState
from msmq_wire.lab.model.events.position import close_cursor
from msmq_wire.lab.model.events.queue import close_queue
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_abort, transaction_commit
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation
from msmq_wire.lab.model.qmcomm.local_queue_context import (
    LocalQueueContextHandle,
    add_cursor_proxy,
    add_local_queue,
    add_remote_queue,
)
from msmq_wire.lab.model.qmcomm.qmcomm2 import Qmcomm2Server
from msmq_wire.rpc.interfaces.qmcomm2 import (
    INTERFACE,
    RpcACCreateCursorExRequest,
    RpcACReceiveMessageExRequest,
    RpcACSendMessageExRequest,
)
from msmq_wire.rpc.ndr import NULL_POINTEE, NullPointee
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CACCreateRemoteCursor,
    CACTransferBufferV1,
    CACTransferBufferV2,
    TransferReceive,
    TransferSend,
)
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import examples
from tests.lab.model.qmcomm.qmcomm2_scene import (
    ACTION_PEEK,
    ACTION_PEEK_NEXT,
    ACTION_RECEIVE,
    RECEIVE,
    SEND,
    Scene,
    body,
    body_room,
    changed,
    receiving,
    sending,
    taken,
)
from tests.lab.model.scene import (
    START,
    format_name,
    make_manager,
    make_queue,
    open_descriptor,
    pass_time,
    put,
)

SECOND = 1000
CLIENTS = range(3)
QUEUES = range(2)
UNITS = range(3)


class Reader(msgspec.Struct, eq=False):
    """A receive: where, in which transaction, and what it got."""

    queue: int
    unit: int | None
    action: int
    roomy: bool
    answers: list[CallResult]
    counted: bool = False


class Applications(RuleBasedStateMachine):
    """Clients that send, receive, peek, commit, wait, and go away, beside a ledger of every message."""

    def __init__(self) -> None:
        super().__init__()
        self.manager = make_manager()
        self.queues: list[Queue] = [make_queue(self.manager, f"q{number}") for number in QUEUES]
        self.server = Qmcomm2Server(self.manager)
        self.clients = [ClientAssociation(number=number) for number in CLIENTS]
        self.opened: list[tuple[int, int, bool, LocalQueueContextHandle]] = []
        self.readers: list[Reader] = []
        self.sent = 0
        self.in_queue: dict[int, set[bytes]] = {number: set() for number in QUEUES}
        self.delivered: set[bytes] = set()
        self.unit_sends: dict[int, list[tuple[int, bytes]]] = {}
        self.unit_takes: dict[int, list[tuple[int, bytes]]] = {}

    def _identifier(self, unit: int | None) -> GUID | None:
        return None if unit is None else GUID(bytes([unit + 1]) * 16)

    def _call(self, client: int, opnum: int, request: Any) -> list[CallResult]:
        answers: list[CallResult] = []
        self.server.serve(self.clients[client], opnum, request, answers.append)
        return answers

    def _settle(self) -> None:
        """Write down what was delivered since, in the order in which it was."""
        for reader in self.readers:
            if reader.counted or not reader.answers:
                continue
            reader.counted = True
            (answer,) = reader.answers
            got = taken(answer)
            if not isinstance(got, bytes) or reader.action != ACTION_RECEIVE:
                continue
            assert got in self.in_queue[reader.queue], "delivered what is not there"
            self.in_queue[reader.queue].discard(got)
            if reader.unit is None:
                assert got not in self.delivered, "delivered twice"
                self.delivered.add(got)
            else:
                self.unit_takes[reader.unit].append((reader.queue, got))
        self.readers = [reader for reader in self.readers if not reader.counted]

    @rule(client=st.sampled_from(CLIENTS), queue=st.sampled_from(QUEUES), sends=st.booleans())
    def open(self, client: int, queue: int, sends: bool) -> None:
        access = SEND if sends else RECEIVE
        descriptor = open_descriptor(self.manager, format_name(self.queues[queue]), access)
        opened = add_local_queue(self.manager, self.clients[client], descriptor)
        self.opened.append((client, queue, sends, opened))

    @rule(unit=st.sampled_from(UNITS))
    def begin(self, unit: int) -> None:
        if unit not in self.unit_sends:
            create_transaction(self.manager, bytes([unit + 1]) * 16)
            self.unit_sends[unit], self.unit_takes[unit] = [], []

    @precondition(lambda self: any(sends for _, _, sends, _ in self.opened))
    @rule(data=st.data(), priority=st.integers(0, 7), in_unit=st.booleans())
    def send(self, data: st.DataObject, priority: int, in_unit: bool) -> None:
        client, queue, _, opened = data.draw(st.sampled_from([one for one in self.opened if one[2]]))
        unit = data.draw(st.sampled_from(sorted(self.unit_sends))) if in_unit and self.unit_sends else None
        self.sent += 1
        content = f"{self.sent}".encode()
        if unit is None:
            self.in_queue[queue].add(content)
        buffer = sending(p_priority=priority, p_uow=self._identifier(unit), **body(content))
        request = RpcACSendMessageExRequest(h_queue=opened.handle, ptb=buffer)
        (answer,) = self._call(client, 1, request)
        assert answer.status == Status.MQ_OK
        if unit is not None:
            self.unit_sends[unit].append((queue, content))
        self._settle()

    @precondition(lambda self: not all(sends for _, _, sends, _ in self.opened))
    @rule(
        data=st.data(),
        action=st.sampled_from([ACTION_RECEIVE, ACTION_RECEIVE, ACTION_PEEK, ACTION_PEEK_NEXT]),
        seconds=st.integers(0, 5),
        with_cursor=st.booleans(),
        in_unit=st.booleans(),
        roomy=st.booleans(),
    )
    def read(
        self, data: st.DataObject, action: int, seconds: int, with_cursor: bool, in_unit: bool, roomy: bool
    ) -> None:
        client, queue, _, opened = data.draw(st.sampled_from([one for one in self.opened if not one[2]]))
        unit = data.draw(st.sampled_from(sorted(self.unit_takes))) if in_unit and self.unit_takes else None
        cursors = opened.open_queue_descriptor_reference.cursor_collection
        cursor = data.draw(st.sampled_from(cursors)).handle if with_cursor and cursors else 0
        buffer = receiving(
            action, seconds * SECOND, cursor, p_uow=self._identifier(unit), **body_room(20 if roomy else 0)
        )
        context = opened.open_queue_descriptor_reference.handle
        free = [one for one in self.queues[queue].message_position_list if one.state.value == "Available"]
        request = RpcACReceiveMessageExRequest(h_qm_context=context, ptb=buffer)
        answers = self._call(client, 2, request)
        if free and not cursor and roomy and action != ACTION_PEEK_NEXT:
            first = max(free, key=lambda one: (one.priority, -one.order))
            assert taken(answers[0]) == first.message_reference.properties.body, "out of order"
        self.readers.append(Reader(queue, unit, action, roomy, answers))
        self._settle()

    @precondition(lambda self: not all(sends for _, _, sends, _ in self.opened))
    @rule(data=st.data())
    def create_cursor(self, data: st.DataObject) -> None:
        client, _, _, opened = data.draw(st.sampled_from([one for one in self.opened if not one[2]]))
        (answer,) = self._call(client, 3, RpcACCreateCursorExRequest(h_queue=opened.handle))
        assert answer.status == Status.MQ_OK

    @precondition(lambda self: self.manager.cursors)
    @rule(data=st.data())
    def close_cursor(self, data: st.DataObject) -> None:
        close_cursor(self.manager.cursors[data.draw(st.sampled_from(sorted(self.manager.cursors)))])
        self._settle()

    @precondition(lambda self: self.opened)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.opened))
        self.opened.remove(one)
        close_queue(self.manager, one[3].open_queue_descriptor_reference)
        self.clients[one[0]].forget(one[3].handle)
        self._settle()

    @precondition(lambda self: self.unit_sends)
    @rule(data=st.data(), commit=st.booleans())
    def end(self, data: st.DataObject, commit: bool) -> None:
        unit = data.draw(st.sampled_from(sorted(self.unit_sends)))
        identifier = bytes([unit + 1]) * 16
        sent, took = self.unit_sends.pop(unit), self.unit_takes.pop(unit)
        if commit:
            assert not self.delivered & {content for _, content in took}, "delivered twice"
            self.delivered |= {content for _, content in took}
            for queue, content in sent:
                self.in_queue[queue].add(content)
            assert transaction_commit(self.manager, identifier) == Status.MQ_OK
        else:
            for queue, content in took:
                self.in_queue[queue].add(content)
            assert transaction_abort(self.manager, identifier) == Status.MQ_OK
        self._settle()

    @rule(seconds=st.integers(1, 6))
    def wait(self, seconds: int) -> None:
        pass_time(self.manager, seconds * SECOND)
        self._settle()

    @rule(client=st.sampled_from(CLIENTS))
    def go_away(self, client: int) -> None:
        self.server.rundown(self.clients[client])
        self.opened = [one for one in self.opened if one[0] != client]
        assert self.clients[client].handles == {}
        self._settle()

    @invariant()
    def every_message_is_where_the_ledger_has_it(self) -> None:
        for number, queue in enumerate(self.queues):
            found = {
                one.message_reference.properties.body
                for one in queue.message_position_list
                if one.state is PositionState.AVAILABLE
            }
            assert found == self.in_queue[number]
            assert queue.total_bytes == sum(
                one.message_reference.size for one in queue.message_position_list if one.counted
            )

    def teardown(self) -> None:
        for unit in list(self.unit_sends):
            transaction_abort(self.manager, bytes([unit + 1]) * 16)
        for client in self.clients:
            self.server.rundown(client)
        assert all(len(reader.answers) == 1 for reader in self.readers)
        assert (self.manager.descriptors, self.manager.cursors) == ({}, {})
        assert not any(queue.active for queue in self.queues)
        assert self.manager.timers.running == 0
        assert self.manager.transaction_collection == {}


TestApplications = Applications.TestCase
TestApplications.settings = settings(max_examples=examples(150), stateful_step_count=40)

NUMBERS = st.sampled_from(
    [0, 1, 2, 3, 7, 8, 20, 250, 251, 1024, 1025, 0x8004, 0x6602, 0x80000000, 0x80000001, 0xFFFFFFFF]
) | st.integers(0, 0xFFFFFFFF)


NAMES = [
    QueueFormat(),
    QueueFormat(m_qft=3, arm=WcharText.of("nonsense")),
    QueueFormat(m_qft=77, arm=msgspec.UNSET),
    *(
        QueueFormat.of(FormatName.parse(name))
        for name in (
            "DIRECT=OS:host\\private$\\orders",
            "DIRECT=OS:host\\private$\\orders;journal",
            "DIRECT=OS:host\\private$\\orders;sub",
            f"PRIVATE={GUID(b'the queue manager'[:16])}\\00000001",
            f"PUBLIC={GUID(bytes(16))}",
            f"DL={GUID(bytes(16))}",
            f"MACHINE={GUID(bytes(16))};DEADXACT",
            "MULTICAST=234.1.1.1:8001",
        )
    ),
]


@functools.cache
def any_value(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a declared type, whether they fit together or not."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return st.one_of([any_value(one) for one in typing.get_args(kind)])
    if kind is Any:
        return st.one_of(
            st.just(msgspec.UNSET),
            st.none(),
            *(any_value(one) for one in (TransferSend, TransferReceive, CACCreateRemoteCursor)),
        )
    if kind is int:
        return NUMBERS
    if kind is types.NoneType:
        return st.none()
    if kind is NullPointee:
        return st.just(NULL_POINTEE)
    if kind is GUID:
        return st.sampled_from([GUID(bytes(16)), UOW]) | st.binary(min_size=16, max_size=16).map(GUID)
    if isinstance(kind, type) and issubclass(kind, WcharText):
        return (st.binary(max_size=30) | st.text(max_size=12).map(WcharText.of)).map(kind)
    if kind is QueueFormat:
        return st.sampled_from(NAMES)
    if kind is bytes:
        return st.just(bytes(20)) | st.binary(max_size=30)
    hints = typing.get_type_hints(kind)
    needed: dict[str, st.SearchStrategy[Any]] = {}
    members: dict[str, st.SearchStrategy[Any]] = {}
    for one in msgspec.structs.fields(kind):
        (needed if one.required else members)[one.name] = any_value(hints[one.name])
    return st.fixed_dictionaries(needed, optional=members).map(lambda found: kind(**found))


UOW = GUID(b"a unit of work..")
METHODS = list(INTERFACE.methods)


def members_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The members of a structure with their types."""
    hints = typing.get_type_hints(kind)
    return {one.name: hints[one.name] for one in msgspec.structs.fields(kind)}


MEMBERS = members_of(CACTransferBufferV1)
WANTED = members_of(TransferReceive)


@st.composite
def nearly_right(draw: st.DrawFn, base: CACTransferBufferV2) -> CACTransferBufferV2:
    """A buffer of which a few members are anything."""
    arm = base.old.arm
    if isinstance(arm, TransferReceive):
        names = draw(st.lists(st.sampled_from(sorted(WANTED)), max_size=2))
        arm = msgspec.structs.replace(arm, **{name: draw(any_value(WANTED[name])) for name in names})
    names = draw(st.lists(st.sampled_from(sorted(set(MEMBERS) - {"arm"})), max_size=6))
    return changed(base, arm=arm, **{name: draw(any_value(MEMBERS[name])) for name in names})


@settings(max_examples=examples(400))
@given(st.data(), st.booleans(), st.booleans())
def test_no_request_raises_and_each_is_answered(data: st.DataObject, retry: bool, local: bool) -> None:
    scene = Scene(answers_retry=retry, makes_local_cursors=local, decrypt=lambda properties: b"clear")
    scene.client.encodes = False
    create_transaction(scene.manager, bytes(UOW))
    places = [scene.open(SEND), scene.open(RECEIVE)]
    put(scene.queue, b"a")
    scene.cursor(places[1])
    proxy = add_remote_queue(
        scene.manager,
        scene.association,
        remote_handle=ContextHandle(),
        remote_binding_handle=lambda name, request, done: done(CallResult(fault=5)),
        remote_context=9,
        path_name="other\\q",
        format_name="DIRECT=OS:other\\q",
    )
    add_cursor_proxy(scene.manager, proxy, 1)
    for _ in range(3):
        opnum = data.draw(st.sampled_from(METHODS))
        request = data.draw(any_value(INTERFACE.methods[opnum].request.cls))
        known: dict[str, Any] = {}
        if opnum in (1, 3):
            handles = [places[0].handle, places[1].handle, proxy.handle]
            known["h_queue"] = data.draw(st.sampled_from(handles))
        if opnum == 2:
            contexts = [one.open_queue_descriptor_reference.handle for one in places]
            known["h_qm_context"] = data.draw(st.sampled_from([*contexts, proxy.context]))
        if opnum != 3 and data.draw(st.booleans()):
            base = receiving(**body_room(30)) if opnum == 2 else sending(**body(b"b", "b"))
            known["ptb"] = data.draw(nearly_right(base))
        request = msgspec.structs.replace(request, **known)
        call = scene.client.start_opnum(opnum, request)
        pass_time(scene.manager, 0xFFFF_FFFE)
        if call.answer is None:
            assert request.ptb.old.arm.request_timeout == 0xFFFF_FFFF
    scene.client.disconnect()
    assert (scene.manager.descriptors, scene.manager.cursors, scene.association.handles) == (
        {},
        {},
        {},
    )
    assert scene.manager.current_time > START
