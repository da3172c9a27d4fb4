"""The object exporter: activation, references, and objects that nobody needs any more. [MS-DCOM] 3.1"""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.com.object_exporter import (
    MSMQ_QUEUE,
    MSMQ_QUEUE_INFO,
    ActivationServer,
    MessageServer,
    ObjectExporter,
    QueueInfoServer,
    QueueServer,
    QueueServer2,
    QueueServer3,
    QueueServer4,
    RemUnknownServer,
)
from msmq_wire.lab.model.com.receive_current import OLE_E_BLANK
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation
from msmq_wire.rpc.com.activation import QueryInterfaceRequest, RemoteActivationRequest, pointer_of
from msmq_wire.rpc.com.exported import (
    QUEUE_INFO,
    InterfaceReferencesRequest,
    OpenRequest,
    RemInterfaceRef,
    TextRequest,
)
from msmq_wire.rpc.com.objref import decode_objref
from msmq_wire.rpc.com.queue_interfaces import OrpcRequest, ReceiveCurrentRequest
from msmq_wire.rpc.com.variant import FlaggedWordBlob, Variant
from msmq_wire.rpc.ndr import StubValue, encode_stub
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.scene import Scene, labels, pass_time, put

DISCONNECTED, NO_INTERFACE, NO_CLASS, INVALID = 0x80010108, 0x80004002, 0x80040154, 0x80070057
ORDERS = "DIRECT=OS:host\\private$\\orders"
QUEUES = (QueueServer, QueueServer2, QueueServer3, QueueServer4)
SERVERS = (ActivationServer, RemUnknownServer, QueueInfoServer, *QUEUES, MessageServer)
VT_I4 = 3
MINUTES = 60_000


def ipid_of(pointer: Any) -> GUID:
    given = pointer_of(pointer)
    assert given is not None
    return given[0]


def naming(name: str) -> TextRequest:
    """A request of put_FormatName."""
    text = WcharText(name.encode("utf-16-le"))
    return TextRequest(text=FlaggedWordBlob(c_bytes=len(text), cl_size=len(text) // 2, as_data=text))


class Exporter(Scene):
    """An exporter with the queue ``orders``, and one client of its objects."""

    def __init__(self) -> None:
        super().__init__()
        self.exporter = ObjectExporter(self.manager, "192.0.2.10[2103]")
        self.servers = {kind: kind(self.exporter) for kind in SERVERS}
        self.association = ClientAssociation(number=1)

    def start(self, kind: Any, opnum: int, request: Any, ipid: GUID | None = None) -> list[CallResult]:
        """Call a method; what it answers can be encoded."""
        server, answers = self.servers[kind].at(ipid), []

        def done(answer: CallResult) -> None:
            if answer.fault is None:
                encode_stub(server.INTERFACE.methods[opnum].response, StubValue(answer.response))
            answers.append(answer)

        server.serve(self.association, opnum, request, done)
        return answers

    def call(self, kind: Any, opnum: int, request: Any, ipid: GUID | None = None) -> CallResult:
        (answer,) = self.start(kind, opnum, request, ipid)
        return answer

    def activate(self, clsid: GUID = MSMQ_QUEUE_INFO, iid: GUID = QUEUE_INFO.uuid) -> Any:
        request = RemoteActivationRequest(clsid=clsid, p_iids=(iid,))
        return self.call(ActivationServer, 0, request).response

    def info(self) -> GUID:
        """The IPID of a new MSMQQueueInfo."""
        return ipid_of(self.activate().pp_interface_data[0])

    def open(self, name: str | None = ORDERS, access: int = 1, mode: int = 0) -> CallResult:
        ipid = self.info()
        if name is not None:
            assert self.call(QueueInfoServer, 15, naming(name), ipid).status == 0
        return self.call(QueueInfoServer, 34, OpenRequest(access=access, share_mode=mode), ipid)

    def opened_ipid(self) -> GUID:
        """The IPID of an open queue."""
        return ipid_of(self.open().response.pointer)

    def receive(self, ipid: GUID, timeout: int = 0) -> list[CallResult]:
        request = ReceiveCurrentRequest(receive_timeout=Variant(vt=VT_I4, arm=timeout))
        return self.start(QueueServer, 17, request, ipid)

    def query(self, ipid: GUID, *iids: GUID) -> CallResult:
        request = QueryInterfaceRequest(ripid=ipid, c_iids=len(iids), iids=iids)
        return self.call(RemUnknownServer, 3, request, self.exporter.ipid_rem_unknown)

    def references(self, opnum: int, ipid: GUID, count: int) -> CallResult:
        request = InterfaceReferencesRequest(
            c_interface_refs=1, interface_refs=(RemInterfaceRef(ipid=ipid, c_public_refs=count),)
        )
        return self.call(RemUnknownServer, opnum, request, self.exporter.ipid_rem_unknown)


@pytest.fixture
def scene() -> Exporter:
    return Exporter()


def test_an_activation_gives_the_object_and_where_it_is(scene: Exporter) -> None:
    answer = scene.activate()
    assert (answer.phr, answer.p_results, answer.p_oxid) == (0, (0,), scene.exporter.oxid)
    assert answer.pipid_rem_unknown == scene.exporter.ipid_rem_unknown
    found = decode_objref(answer.pp_interface_data[0].ab_data)
    assert found.iid == QUEUE_INFO.uuid
    assert found.resolver is not None
    assert [one.network_address for one in found.resolver.string_bindings] == ["192.0.2.10[2103]"]
    assert [one.authentication_service for one in found.resolver.security_bindings] == [10]


@pytest.mark.parametrize(
    ("clsid", "iid", "status"),
    [(NULL_GUID, QUEUE_INFO.uuid, NO_CLASS), (MSMQ_QUEUE_INFO, NULL_GUID, NO_INTERFACE)],
)
def test_what_is_not_here_is_not_activated(clsid: GUID, iid: GUID, status: int) -> None:
    answer = Exporter().activate(clsid, iid)
    assert (answer.phr, answer.p_results, answer.pp_interface_data) == (status, (NO_INTERFACE,), (None,))


def test_a_message_is_received_as_an_object_with_its_label(scene: Exporter) -> None:
    put(scene.queue, b"first")
    (answer,) = scene.receive(scene.opened_ipid())
    text = scene.call(MessageServer, 36, OrpcRequest(), ipid_of(answer.response.ppmsg)).response.text
    assert (text.as_data.text, labels(scene.queue)) == ("first", [])


def test_a_queue_info_tells_the_name_that_it_was_given(scene: Exporter) -> None:
    ipid = scene.info()
    assert scene.call(QueueInfoServer, 14, OrpcRequest(), ipid).response.text.as_data == b""
    for request, text in ((naming("DIRECT=OS:a\\b"), "DIRECT=OS:a\\b"), (TextRequest(), "")):
        scene.call(QueueInfoServer, 15, request, ipid)
        reported = scene.call(QueueInfoServer, 14, OrpcRequest(), ipid).response.text.as_data
        assert reported == text.encode("utf-16-le")


@pytest.mark.parametrize(
    ("name", "access", "mode", "status"),
    [
        (None, 1, 0, INVALID),
        (ORDERS, 3, 0, INVALID),
        (ORDERS, 1, 2, INVALID),
        ("nonsense", 1, 0, Status.MQ_ERROR_ILLEGAL_FORMATNAME),
        ("DIRECT=OS:host\\private$\\none", 1, 0, Status.MQ_ERROR_QUEUE_NOT_FOUND),
    ],
)
def test_a_queue_that_cannot_be_opened_gives_no_object(
    scene: Exporter, name: str | None, access: int, mode: int, status: int
) -> None:
    answer = scene.open(name, access, mode)
    assert (answer.status, answer.response.pointer, scene.manager.descriptors) == (status, None, {})


@pytest.mark.parametrize(
    ("kind", "opnum", "request_"),
    [
        (QueueInfoServer, 14, OrpcRequest()),
        (QueueInfoServer, 15, TextRequest()),
        (QueueInfoServer, 34, OpenRequest()),
        (QueueServer, 17, ReceiveCurrentRequest()),
        (MessageServer, 36, OrpcRequest()),
        (RemUnknownServer, 3, QueryInterfaceRequest()),
        (RemUnknownServer, 4, InterfaceReferencesRequest()),
        (RemUnknownServer, 5, InterfaceReferencesRequest()),
    ],
)
def test_an_ipid_that_is_not_found_is_disconnected(kind: Any, opnum: int, request_: Any) -> None:
    scene = Exporter()
    other = scene.opened_ipid() if kind is not QueueServer else scene.info()
    for ipid in (None, NULL_GUID, GUID(b"no such ipid...."), other):
        assert scene.call(kind, opnum, request_, ipid).fault == DISCONNECTED


def test_an_object_gives_its_interface_again_and_no_other(scene: Exporter) -> None:
    ipid = scene.info()
    answer = scene.query(ipid, QUEUE_INFO.uuid, NULL_GUID)
    first, second = answer.response.pp_qi_results
    assert (answer.status, first.h_result, second.h_result) == (NO_INTERFACE, 0, NO_INTERFACE)
    assert first.std.ipid not in (ipid, NULL_GUID)
    assert scene.call(QueueInfoServer, 14, OrpcRequest(), first.std.ipid).status == 0
    assert scene.query(NULL_GUID, QUEUE_INFO.uuid, NULL_GUID).fault == DISCONNECTED


@pytest.mark.rule("MQAC-3.11.4-1", "MQAC-3.11.4-2", "MQAC-3.11.4-3", "MQAC-3.11.4-4", "MQAC-3.11.4-5")
@pytest.mark.parametrize("kind", QUEUES)
def test_a_queue_receives_by_each_of_its_four_interfaces(scene: Exporter, kind: Any) -> None:
    put(scene.queue, b"first")
    (found,) = scene.query(scene.opened_ipid(), kind.INTERFACE.uuid).response.pp_qi_results
    received = scene.call(kind, 17, ReceiveCurrentRequest(), found.std.ipid)
    assert (received.status, labels(scene.queue)) == (0, [])


@pytest.mark.rule("MQAC-3.11.4-8")
@pytest.mark.parametrize("kind", QUEUES)
def test_an_activated_queue_is_a_blank_one_of_all_its_interfaces(scene: Exporter, kind: Any) -> None:
    answer = scene.activate(MSMQ_QUEUE, kind.INTERFACE.uuid)
    given = pointer_of(answer.pp_interface_data[0])
    assert given is not None
    assert given[1] == kind.INTERFACE.uuid
    assert scene.call(kind, 17, ReceiveCurrentRequest(), given[0]).status == OLE_E_BLANK


def test_with_its_last_reference_an_open_queue_is_closed(scene: Exporter) -> None:
    ipid = scene.opened_ipid()
    assert scene.references(4, ipid, 2).response.p_results == (0,)
    scene.references(5, ipid, 6)
    assert scene.queue.active
    scene.references(5, ipid, 1)
    assert (scene.queue.active, scene.manager.descriptors) == (False, {})
    assert scene.receive(ipid)[0].fault == DISCONNECTED
    assert scene.references(4, ipid, 1).response.p_results == (DISCONNECTED,)


def test_an_object_that_nobody_calls_is_let_go(scene: Exporter) -> None:
    ipid = scene.opened_ipid()
    pass_time(scene.manager, 7 * MINUTES)
    assert scene.receive(ipid)[0].status == Status.MQ_ERROR_MESSAGE_NOT_FOUND
    pass_time(scene.manager, 8 * MINUTES - 1)
    assert scene.queue.active
    pass_time(scene.manager, 1)
    assert not scene.queue.active
    assert scene.manager.timers.running == 0


@pytest.mark.slow
def test_the_oldest_object_goes_where_there_are_too_many(scene: Exporter) -> None:
    ipids = [scene.info() for _ in range(1001)]
    found = [scene.call(QueueInfoServer, 14, OrpcRequest(), one).fault for one in (*ipids[:2], ipids[-1])]
    assert found == [DISCONNECTED, None, None]


def test_who_is_gone_waits_for_no_message_and_the_object_stays(scene: Exporter) -> None:
    ipid = scene.opened_ipid()
    answers = scene.receive(ipid, 5000)
    scene.servers[QueueServer].rundown(ClientAssociation(number=2))
    assert answers == []
    scene.servers[QueueServer].rundown(scene.association)
    assert [one.status for one in answers] == [Status.MQ_ERROR_OPERATION_CANCELLED]
    put(scene.queue, b"first")
    assert [one.status for one in scene.receive(ipid)] == [0]
