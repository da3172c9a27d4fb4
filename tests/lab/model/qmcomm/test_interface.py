"""qmcomm as a whole: who may call, what the RPC runtime refuses, the tables, and clients that are gone."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.data.enumerations import RemoteReadState
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation
from msmq_wire.lab.model.qmcomm.local_queue_context import add_cursor_proxy
from msmq_wire.lab.model.qmcomm.server import QmcommServer
from msmq_wire.rpc.interfaces import qmcomm_objects as objects
from msmq_wire.rpc.interfaces import qmcomm_queues as queues
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.scene import (
    ELSEWHERE,
    PATH,
    REMOTE_HANDLE,
    UNKNOWN,
    UOW,
    Scene,
    creating,
    object_format,
    opening,
    remote_cursor,
)
from tests.lab.model.scene import Client, labels, make_manager, make_packet, pass_time, put
from tests.rules import rule_table

BAD_STUB_DATA = 0x000006F7
CONTEXT_MISMATCH = 0x1C00001A
NO_SUCH_METHOD = 0x1C010002
ACCESS_DENIED = 0x00000005
OPEN = "rpc_qm_open_queue_internal"
CREATE = "r_qm_create_object_internal"
TO_FORMAT = "r_qm_object_path_to_object_format"
CUT = WcharText(PATH.encode("utf-16-le"))
NULL = PropVariant(vt=1)


def object_requests(named: ObjectFormat) -> dict[int, Any]:
    """Requests of the methods about an object, by their numbers."""
    label: dict[str, Any] = {"cp": 1, "a_prop": (108,), "ap_var": (NULL,)}
    return {
        7: objects.SetObjectSecurityRequest(p_object_format=named),
        8: objects.GetObjectSecurityRequest(p_object_format=named),
        9: objects.ObjectRequest(p_object_format=named),
        10: objects.GetObjectPropertiesRequest(p_object_format=named, **label),
        11: objects.SetObjectPropertiesRequest(p_object_format=named, **label),
        12: objects.ObjectPathToObjectFormatRequest(
            lpwcs_path_name=WcharText.of(PATH), p_object_format=named
        ),
    }


WITH_SUPPORT: dict[int, Any] = {
    1: queues.GetRemoteQueueNameRequest(),
    6: creating(),
    **object_requests(object_format()),
    14: objects.GetTmWhereaboutsRequest(),
    15: objects.EnlistTransactionRequest(p_uow=UOW),
    16: objects.EnlistInternalTransactionRequest(p_uow=UOW),
    19: opening(),
    28: queues.QueryRegistryRequest(dw_query_type=4),
}
HANDLED = {3: "pph_context", 17: "ph_int_xact", 18: "ph_int_xact", 20: "ph_queue", 23: "h_proxy"}


@pytest.mark.rule("MQMP-3.1.4.1-1", "MQMP-3.1.4.5-1", "MQMP-3.1.4.6-1", "MQMP-3.1.4.7-1", "MQMP-3.1.4.8-1")
@pytest.mark.rule("MQMP-3.1.4.9-1", "MQMP-3.1.4.10-1", "MQMP-3.1.4.11-1", "MQMP-3.1.4.12-1")
@pytest.mark.rule("MQMP-3.1.4.13-1", "MQMP-3.1.4.14-1", "MQMP-3.1.4.15-1", "MQMP-3.1.4.16-1")
@pytest.mark.rule("MQMP-3.1.4.17-1", "MQMP-3.1.4.18-1", "MQMP-3.1.4.19-1", "MQMP-3.1.4.20-1")
@pytest.mark.rule("MQMP-3.1.4.21-1", "MQMP-3.1.4.22-1", "MQMP-3.1.4.23-1", "MQMP-3.1.4-6")
@pytest.mark.parametrize("opnum", [1, *range(6, 13), *range(14, 21), 22, 23, 26, 27, 28])
def test_a_server_that_is_no_supporting_server_does_nothing(opnum: int) -> None:
    scene = Scene(supporting_server=False, obsolete_methods=True)
    held = scene.client.association.handle(scene.manager, object())
    cls = QmcommServer.INTERFACE.methods[opnum].request.cls
    request = WITH_SUPPORT.get(opnum) or cls(**{HANDLED.get(opnum, "h_queue"): held})
    with scene.unchanged():
        answer = scene.client.call_opnum(opnum, request)
    assert (answer.fault, answer.status) == (None, Status.MQ_ERROR)


@pytest.mark.rule("MQMP-3.1.4-5", "MQMP-3.1.4.24-10")
def test_four_methods_are_served_by_every_server() -> None:
    scene = Scene(supporting_server=False)
    opened = scene.open_for_others()
    assert opened.status == Status.MQ_OK
    cursor = scene.call("r_qm_create_remote_cursor", remote_cursor(opened.ph_queue))
    assert (cursor.status, list(scene.manager.cursors)) == (Status.MQ_OK, [cursor.ph_cursor])
    closed = scene.call(
        "r_qm_close_remote_queue_context", queues.CloseRemoteQueueContext(pph_context=opened.pph_context)
    )
    assert closed.pph_context.null
    assert scene.manager.descriptors == {}
    port = scene.call("r_qm_get_rtqm_server_port", queues.GetServerPortRequest(f_ip=0))
    assert port.return_value == 2103


@pytest.mark.rule("MQMP-3.1.4-7")
def test_the_first_rule_that_is_broken_decides() -> None:
    both = creating("no path", dw_object_type=2, a_prop=(1,), ap_var=(NULL,))
    assert Scene().refusal(CREATE, both) == Status.MQ_ERROR_INVALID_PARAMETER
    assert Scene(supporting_server=False).status(CREATE, both) == Status.MQ_ERROR


LOCAL_USE = (0, 5, 13, 21, 24, 25, 29, 30, 32, 33, 34)
ABOVE_THE_LAST = (35, 36, 0xFFFF)


@rule_table(
    "opnum",
    *(("MQMP-3.1.4-3", opnum) for opnum in LOCAL_USE),
    *(("MQMP-3.1.4-4", opnum) for opnum in ABOVE_THE_LAST),
)
def test_an_opnum_for_local_use_or_above_the_last_one_is_not_offered(scene: Scene, opnum: int) -> None:
    with scene.unchanged():
        assert scene.client.call_opnum(opnum, None).fault == NO_SUCH_METHOD


@pytest.mark.rule("MQMP-2.1-3")
def test_every_user_is_served(scene: Scene) -> None:
    for account in ("", "guest", "host\\administrator"):
        client = Client(scene.server, account=account)
        assert client.call(OPEN, opening()).status == Status.MQ_OK


@pytest.mark.rule("MQMP-2.1-4")
def test_who_calls_decides_what_is_permitted() -> None:
    scene = Scene(permits=lambda association, _, __: association.account == "clerk")
    assert scene.refusal(OPEN, opening()) == Status.MQ_ERROR_ACCESS_DENIED
    clerk = Client(scene.server, account="clerk")
    assert clerk.call(OPEN, opening()).status == Status.MQ_OK


@pytest.mark.rule("MQMP-5.1-1", "MQMP-5.1-2")
def test_a_server_can_ask_for_authentication_but_not_for_its_port() -> None:
    scene = Scene(authentication_required=True)
    assert scene.fault(OPEN, opening()) == ACCESS_DENIED
    port = scene.call("r_qm_get_rtqm_server_port", queues.GetServerPortRequest(f_ip=1))
    assert port.return_value == 2105
    scene.client.association = ClientAssociation(number=3, auth_level=6)
    assert scene.open().pdw_qm_context in scene.manager.descriptors


@pytest.mark.rule("MQMP-2.2-2", "MQMP-3.1.4-2", "MQMP-3.1.4.17-28")
@pytest.mark.parametrize(
    ("stem", "request_"),
    [
        (OPEN, opening(lp_client_name=WcharText("pc".encode("utf-16-le")))),
        (TO_FORMAT, objects.ObjectPathToObjectFormatRequest(lpwcs_path_name=CUT)),
        (TO_FORMAT, objects.ObjectPathToObjectFormatRequest(lpwcs_path_name=WcharText(b"x"))),
    ],
)
def test_a_string_without_a_null_character_is_not_dispatched(stem: str, request_: Any) -> None:
    assert Scene().fault(stem, request_) == BAD_STUB_DATA


@pytest.mark.rule("MQMP-2.2-3")
@pytest.mark.parametrize("kind", [9, 255])
def test_a_kind_of_format_name_without_an_arm_is_not_dispatched(scene: Scene, kind: int) -> None:
    strange = QueueFormat(m_qft=kind)
    for stem, request in (
        (OPEN, queues.OpenQueueInternalRequest(p_queue_format=strange)),
        ("r_qm_open_remote_queue", queues.OpenRemoteQueueRequest(p_queue_format=strange)),
        ("r_qm_delete_object", objects.ObjectRequest(p_object_format=ObjectFormat(arm=strange))),
    ):
        assert scene.fault(stem, request) == BAD_STUB_DATA


@pytest.mark.rule("MQMP-2.2.3.5-1")
def test_object_type_1_is_a_queue_format(scene: Scene) -> None:
    request = objects.ObjectRequest(p_object_format=object_format())
    assert scene.status("r_qm_delete_object", request) == Status.MQ_OK
    assert scene.manager.queue_collection == {}


@pytest.mark.rule("MQMP-2.2.3.5-2", "MQMP-2.2.3.5-4")
@pytest.mark.parametrize("object_format_", [ObjectFormat(obj_type=2), ObjectFormat(obj_type=1, arm=None)])
def test_an_object_format_without_a_queue_is_an_invalid_parameter(object_format_: ObjectFormat) -> None:
    scene = Scene()
    with scene.unchanged():
        for opnum, request in object_requests(object_format_).items():
            status = scene.client.call_opnum(opnum, request).status
            assert status == Status.MQ_ERROR_INVALID_PARAMETER, opnum


@pytest.mark.rule("MQMP-2.2.3.5-3")
@pytest.mark.parametrize("kind", [0, 3, 0xFFFF_FFFF])
def test_an_object_type_outside_its_range_is_not_dispatched(scene: Scene, kind: int) -> None:
    with scene.unchanged():
        for opnum, request in object_requests(ObjectFormat(obj_type=kind)).items():
            assert scene.client.call_opnum(opnum, request).fault == BAD_STUB_DATA, opnum


@pytest.mark.rule("MQMP-3.1.4.3-6", "MQMP-3.1.4.15-2", "MQMP-3.1.4.15-3", "MQMP-3.1.4.16-2")
@pytest.mark.rule("MQMP-3.1.4.16-3", "MQMP-3.1.4.18-2", "MQMP-3.1.4.19-2", "MQMP-3.1.4.21-2")
@pytest.mark.rule("MQMP-3.1.4.22-2")
@pytest.mark.parametrize("handle", [ContextHandle(), UNKNOWN])
def test_a_handle_that_the_client_does_not_hold_is_not_dispatched(handle: ContextHandle) -> None:
    scene = Scene(obsolete_methods=True)
    # What another client holds is unknown to this one.
    other = scene.another_client()
    theirs = other.call(OPEN, opening()).response.ph_queue
    for one in (handle, theirs):
        with scene.unchanged():
            for opnum in (3, 17, 18, 20, 22, 23, 26, 27):
                cls = scene.server.INTERFACE.methods[opnum].request.cls
                request = cls(**{HANDLED.get(opnum, "h_queue"): one})
                assert scene.client.call_opnum(opnum, request).fault == CONTEXT_MISMATCH


@pytest.mark.rule("MQMP-3.1.1-1", "MQMP-3.1.1.2-1", "MQMP-3.1.1.4-1", "MQMP-3.1.1.7-1", "MQMP-3.1.1.9-1")
def test_each_kind_of_handle_is_found_by_its_handle_and_as_no_other_kind() -> None:
    scene = Scene(obsolete_methods=True)
    local = scene.open().ph_queue
    remote = scene.open_far().handle
    begun = scene.begin()
    opened = scene.open_for_others().pph_context
    kinds = [type(scene.thing(one)).__name__ for one in (local, remote, opened, begun)]
    assert kinds == [
        "LocalQueueContextHandle",
        "RemoteQueueProxyHandle",
        "RemoteQueueOpenContextHandle",
        "TransactionHandle",
    ]
    invalid = Status.MQ_ERROR_INVALID_HANDLE
    for one in (local, remote, opened):
        request = objects.TransactionRequest(ph_int_xact=one)
        assert scene.status("r_qm_commit_transaction", request) == invalid
    for one in (opened, begun):
        assert scene.status("rpc_ac_close_handle", queues.QueueHandleRequest(ph_queue=one)) == invalid
    for one in (local, begun):
        request_ = queues.SetCursorPropertiesRequest(h_proxy=one)
        assert scene.status("rpc_ac_set_cursor_properties", request_) == invalid


@pytest.mark.rule("MQMP-3.1.1-2")
def test_what_others_do_to_the_queue_manager_is_seen_here(scene: Scene) -> None:
    put(scene.queue, b"from elsewhere")
    response = scene.open()
    assert scene.descriptor(response.ph_queue) is scene.manager.descriptors[response.pdw_qm_context]
    request = queues.QueueRequest(h_queue=response.ph_queue)
    assert scene.status("rpc_ac_purge_queue", request) == Status.MQ_OK
    assert labels(scene.queue) == []


@pytest.mark.rule("MQMP-3.1.1.3-1", "MQMP-3.1.1.5-1", "MQMP-3.1.1.5-2", "MQMP-3.1.1.8-1", "MQMP-3.1.1.10-1")
def test_no_two_handles_are_the_same(scene: Scene) -> None:
    proxies = [scene.open_far() for _ in range(3)]
    handles = [scene.open().ph_queue.uuid for _ in range(3)] + [one.handle.uuid for one in proxies]
    handles += [scene.open_for_others(0x20).pph_context.uuid for _ in range(3)]
    handles += [scene.begin(GUID(bytes([number] * 16))).uuid for number in range(3)]
    assert len(set(handles)) == 12
    assert len({one.context for one in proxies}) == 3


@pytest.mark.rule("MQMP-3.1.1.3-2", "MQMP-3.1.1.8-2", "MQMP-3.1.1.10-2")
def test_handles_keep_what_they_stand_for(scene: Scene) -> None:
    opened = scene.open()
    descriptor = scene.descriptor(opened.ph_queue)
    assert descriptor is scene.manager.descriptors[opened.pdw_qm_context]
    remote = scene.open_for_others()
    thing = scene.thing(remote.pph_context)
    assert thing.open_queue_descriptor_reference is scene.manager.descriptors[remote.ph_queue]
    begun = scene.begin()
    transaction = scene.thing(begun).transaction_reference
    assert transaction is scene.manager.transaction_collection[bytes(UOW)]


@pytest.mark.rule("MQMP-3.1.1.5-3", "MQMP-3.1.1.5-4")
def test_the_handle_of_a_remote_queue_keeps_how_to_reach_it(scene: Scene) -> None:
    proxy = scene.open_far()
    assert proxy.remote_handle == REMOTE_HANDLE
    assert proxy.remote_binding_handle is scene.other
    assert (proxy.remote_context, proxy.path_name) == (7, "elsewhere\\private$\\far")
    assert proxy.format_name == ELSEWHERE
    assert proxy.cursor_proxy_collection == []


@pytest.mark.rule("MQMP-3.1.1.6-1", "MQMP-3.1.1.6-2")
def test_cursors_of_a_remote_queue_have_numbers_of_their_own(scene: Scene) -> None:
    proxy = scene.open_far()
    cursors = [add_cursor_proxy(scene.manager, proxy) for _ in range(3)]
    assert len({one.handle for one in cursors}) == 3
    scene.other.calls.clear()
    for one in cursors:
        request = queues.CursorRequest(h_queue=proxy.handle, h_cursor=one.handle)
        assert scene.status("rpc_ac_close_cursor", request) == Status.MQ_OK
    assert scene.other.calls == []


@pytest.mark.rule("MQMP-3.1.2-1", "MQMP-3.1.6-1")
def test_time_that_passes_changes_nothing(scene: Scene) -> None:
    scene.open()
    scene.open_far()
    scene.begin()
    assert scene.manager.timers.running == 0
    with scene.unchanged():
        pass_time(scene.manager, 10**9)


@pytest.mark.rule("MQMP-3.1.7.1-1", "MQMP-3.1.7.1-2")
def test_a_client_that_is_gone_leaves_no_open_queue(scene: Scene) -> None:
    scene.open(share=1)
    scene.client.disconnect()
    assert (scene.manager.descriptors, scene.client.association.handles) == ({}, {})
    assert scene.queue.open_queue_descriptor_collection == []
    assert scene.another_client().call(OPEN, opening()).status == Status.MQ_OK


@pytest.mark.rule("MQMP-3.1.7.1-3", "MQMP-3.1.7.1-4", "MQMP-3.1.7.1-5")
@pytest.mark.parametrize("status", [Status.MQ_OK, Status.MQ_ERROR_INVALID_HANDLE])
def test_a_client_that_is_gone_leaves_no_queue_of_others_open(scene: Scene, status: int) -> None:
    scene.open_far()
    scene.other.answers["RemoteQMCloseQueue"] = CallResult(StatusResponse(status=status))
    scene.other.calls.clear()
    scene.client.disconnect()
    assert [(name, request.pph_context) for name, request in scene.other.calls] == [
        ("RemoteQMCloseQueue", REMOTE_HANDLE)
    ]
    assert scene.client.association.handles == {}
    scene.client.disconnect()
    assert len(scene.other.calls) == 1


@pytest.mark.rule("MQMP-3.1.7.1-6")
def test_a_client_that_held_nothing_leaves_everything_as_it_was(scene: Scene) -> None:
    scene.open()
    with scene.unchanged():
        scene.another_client().disconnect()


@pytest.mark.rule("MQMP-3.1.7.2-1", "MQMP-3.1.7.2-2")
@pytest.mark.parametrize("ready", [False, True])
def test_what_was_opened_for_another_server_goes_unless_that_one_reads_it(scene: Scene, ready: bool) -> None:
    opened = scene.open_for_others()
    descriptor = scene.manager.descriptors[opened.ph_queue]
    if ready:
        descriptor.remote_read_state = RemoteReadState.READY_FOR_READ
    scene.client.disconnect()
    assert scene.client.association.handles == {}
    assert (descriptor in scene.queue.open_queue_descriptor_collection) is ready


@pytest.mark.rule("MQMP-3.1.7.3-1")
def test_a_transaction_of_a_client_that_is_gone_is_aborted(scene: Scene) -> None:
    kept = put(scene.queue, b"kept")
    opened = scene.open()
    scene.begin()
    transaction = scene.manager.transaction_collection[bytes(UOW)]
    dequeue_message(scene.descriptor(opened.ph_queue), lambda *_: None, transaction=transaction)
    new = ModelMessage(packet=make_packet(b"new"), label="new", size=10)
    assert enqueue_message(scene.queue, new, transaction) == 0
    scene.client.disconnect()
    assert scene.manager.transaction_collection == {}
    assert labels(scene.queue) == ["kept"]
    assert kept.message_position_reference is not None
    assert kept.message_position_reference.state.value == "Available"


def test_a_transaction_that_somebody_else_began_anew_outlives_the_first_client(scene: Scene) -> None:
    request = objects.EnlistInternalTransactionRequest(p_uow=UOW)
    scene.call("r_qm_enlist_internal_transaction", request)
    del scene.manager.transaction_collection[bytes(UOW)]
    other = scene.another_client()
    assert other.call("r_qm_enlist_internal_transaction", request).status == Status.MQ_OK
    scene.client.disconnect()
    assert list(scene.manager.transaction_collection) == [bytes(UOW)]


def test_a_manager_without_queues_is_served() -> None:
    manager = make_manager()
    client = Client(QmcommServer(manager))
    answer = client.call(OPEN, opening())
    assert answer.status == Status.MQ_ERROR_QUEUE_NOT_FOUND
    assert (manager.queue_collection, manager.descriptors) == ({}, {})
