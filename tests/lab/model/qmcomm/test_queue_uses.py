"""rpc_ACCloseHandle to R_QMGetRTQMServerPort: handles and cursors, purges, and what the server tells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.lab.model.data.elements import Cursor
from msmq_wire.lab.model.data.enumerations import QueueAccessType
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.events.message import dequeue_message
from msmq_wire.lab.model.events.queue import delete_queue
from msmq_wire.lab.model.events.transaction import create_transaction, transaction_abort
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.environment import free_port
from msmq_wire.lab.model.qmcomm.local_queue_context import CursorProxy, add_cursor_proxy
from msmq_wire.rpc.interfaces.qm2qm import HandleResponse
from msmq_wire.rpc.interfaces.qmcomm_queues import (
    ACHandleToFormatNameRequest,
    CursorRequest,
    GetServerPortRequest,
    QueryRegistryRequest,
    QueueHandleRequest,
    QueueRequest,
    SetCursorPropertiesRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.scene import ELSEWHERE, ORDERS, REMOTE_HANDLE, Scene
from tests.lab.model.scene import QUEUE_MANAGER, labels, pass_time, put, states
from tests.rules import rule_table

BAD_STUB_DATA = 0x000006F7
NOT_AVAILABLE = 0xC00E0069
ILLEGAL_OPERATION = 0xC00E0064
INVALID_HANDLE = Status.MQ_ERROR_INVALID_HANDLE
NO_CURSOR = 0x0000000B
CLOSE = "rpc_ac_close_handle"
CLOSE_CURSOR = "rpc_ac_close_cursor"
SET_CURSOR = "rpc_ac_set_cursor_properties"
NAME = "rpc_ac_handle_to_format_name"
PURGE = "rpc_ac_purge_queue"
ASK = "r_qm_query_qm_registry_internal"
PORT = "r_qm_get_rtqm_server_port"


def closing(handle: ContextHandle) -> QueueHandleRequest:
    return QueueHandleRequest(ph_queue=handle)


def purging(handle: ContextHandle) -> QueueRequest:
    return QueueRequest(h_queue=handle)


def naming(handle: ContextHandle, room: int = 200, **more: Any) -> ACHandleToFormatNameRequest:
    more.setdefault("lpwcs_format_name", WcharText("x".encode("utf-16-le") * room))
    more.setdefault("pdw_length", room)
    return ACHandleToFormatNameRequest(h_queue=handle, dw_format_name_rpc_buffer_len=room, **more)


def cursor_of(handle: ContextHandle, number: int) -> CursorRequest:
    return CursorRequest(h_queue=handle, h_cursor=number)


@rule_table(
    "stem, request_for",
    ("MQMP-3.1.4.18-9", CLOSE, closing),
    ("MQMP-3.1.4.21-9", NAME, naming),
    ("MQMP-3.1.4.22-8", PURGE, purging),
)
def test_a_handle_of_no_queue_is_refused(scene: Scene, stem: str, request_for: Any) -> None:
    put(scene.queue, b"one")
    other = scene.client.association.handle(scene.manager, object())
    with scene.unchanged():
        response = scene.call(stem, request_for(other))
    assert response.status == INVALID_HANDLE
    assert getattr(response, "ph_queue", other) == other


@rule_table(
    "stem, request_for",
    ("MQMP-3.1.4.21-7 MQMP-3.1.4.21-16", NAME, naming),
    ("MQMP-3.1.4.22-3", PURGE, purging),
)
def test_a_deleted_queue_is_neither_named_nor_purged(scene: Scene, stem: str, request_for: Any) -> None:
    handle = scene.open().ph_queue
    delete_queue(scene.manager, scene.queue)
    assert scene.status(stem, request_for(handle)) == Status.MQ_ERROR_QUEUE_DELETED


@pytest.mark.rule("MQMP-3.1.4.18-3", "MQMP-3.1.4.18-4", "MQMP-3.1.4.18-5", "MQMP-3.1.4.18-6")
@pytest.mark.rule("MQMP-3.1.4.18-7")
def test_a_local_queue_is_closed_with_cursors_and_who_waits(scene: Scene) -> None:
    handle = scene.open().ph_queue
    descriptor = scene.descriptor(handle)
    open_cursor(descriptor)
    seen: list[int] = []
    dequeue_message(descriptor, lambda status, _: seen.append(status))
    response = scene.call(CLOSE, closing(handle))
    assert (response.status, response.ph_queue.null) == (Status.MQ_OK, True)
    assert seen == [Status.MQ_ERROR_OPERATION_CANCELLED]
    assert (scene.manager.descriptors, scene.manager.cursors) == ({}, {})
    assert (scene.client.association.handles, scene.manager.timers.running) == ({}, 0)


@pytest.mark.rule("MQMP-3.1.4.18-8")
def test_the_handle_of_a_deleted_queue_is_closed(scene: Scene) -> None:
    handle = scene.open().ph_queue
    delete_queue(scene.manager, scene.queue)
    assert scene.status(CLOSE, closing(handle)) == Status.MQ_OK
    assert (scene.manager.descriptors, scene.client.association.handles) == ({}, {})


@pytest.mark.rule("MQMP-3.1.4.18-10", "MQMP-3.1.4.18-11", "MQMP-3.1.4.18-12", "MQMP-3.1.4.18-13")
@pytest.mark.rule("MQMP-3.1.4.18-14")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        CallResult(HandleResponse()),
        CallResult(HandleResponse(status=0xC00E0007)),
        CallResult(fault=0x6BA),
    ],
)
def test_a_remote_queue_is_closed_whatever_the_other_queue_manager_says(answer: CallResult | None) -> None:
    scene = Scene()
    proxy = scene.open_far()
    scene.other.calls.clear()
    scene.other.answers["RemoteQMCloseQueue"] = answer
    response = scene.call(CLOSE, closing(proxy.handle))
    assert (response.status, response.ph_queue.null) == (Status.MQ_OK, True)
    assert [(name, one.pph_context) for name, one in scene.other.calls] == [
        ("RemoteQMCloseQueue", REMOTE_HANDLE)
    ]
    assert (scene.client.association.handles, scene.manager.timers.running) == ({}, 0)


def _cursor(scene: Scene, handle: ContextHandle) -> Cursor:
    cursor = open_cursor(scene.descriptor(handle))
    assert cursor is not None
    return cursor


@pytest.mark.rule("MQMP-3.1.4.19-3")
def test_the_cursor_that_is_none_is_closed_on_any_handle(scene: Scene) -> None:
    handles = [scene.open().ph_queue, scene.open_far().handle]
    handles.append(scene.client.association.handle(scene.manager, object()))
    with scene.unchanged():
        for handle in handles:
            request = cursor_of(handle, NO_CURSOR)
            assert scene.status(CLOSE_CURSOR, request) == Status.MQ_OK


def test_no_cursor_gets_the_number_that_means_none(scene: Scene) -> None:
    handle = scene.open().ph_queue
    for _ in range(2 * NO_CURSOR):
        request = CursorRequest(h_queue=handle, h_cursor=_cursor(scene, handle).handle)
        assert scene.status(CLOSE_CURSOR, request) == Status.MQ_OK
    assert scene.manager.cursors == {}


@pytest.mark.rule("MQMP-3.1.4.19-4", "MQMP-3.1.4.19-6", "MQMP-3.1.4.19-7")
def test_a_cursor_is_closed_with_the_handle_that_it_was_made_with(scene: Scene) -> None:
    first, second = scene.open().ph_queue, scene.open().ph_queue
    cursor = _cursor(scene, first)
    other = scene.client.association.handle(scene.manager, object())
    for handle, number in ((first, cursor.handle + 1), (second, cursor.handle), (other, cursor.handle)):
        request = cursor_of(handle, number)
        assert scene.refusal(CLOSE_CURSOR, request) == INVALID_HANDLE


@pytest.mark.rule("MQMP-3.1.4.19-5")
def test_a_cursor_of_a_local_queue_is_closed(scene: Scene) -> None:
    handle = scene.open().ph_queue
    kept, closed = _cursor(scene, handle), _cursor(scene, handle)
    seen: list[int] = []
    dequeue_message(
        scene.descriptor(handle), lambda status, _: seen.append(status), cursor=kept, timeout=1000
    )
    request = cursor_of(handle, closed.handle)
    assert scene.status(CLOSE_CURSOR, request) == Status.MQ_OK
    assert (scene.manager.cursors, seen) == ({kept.handle: kept}, [])
    assert scene.status(CLOSE_CURSOR, request) == INVALID_HANDLE


@pytest.mark.rule("MQMP-3.1.4.19-8")
def test_a_cursor_that_a_remote_queue_does_not_have_is_not_closed(scene: Scene) -> None:
    proxy = scene.open_far()
    add_cursor_proxy(scene.manager, proxy, 5)
    assert scene.refusal(CLOSE_CURSOR, cursor_of(proxy.handle, 5555)) == INVALID_HANDLE
    assert len(proxy.cursor_proxy_collection) == 1


@pytest.mark.rule("MQMP-3.1.4.19-9", "MQMP-3.1.4.19-11", "MQMP-3.1.4.19-12")
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (CallResult(StatusResponse()), Status.MQ_OK),
        (CallResult(StatusResponse(status=Status.MQ_ERROR)), Status.MQ_ERROR),
        (CallResult(fault=0x6BA), NOT_AVAILABLE),
        (None, NOT_AVAILABLE),
    ],
)
def test_a_cursor_of_a_remote_queue_is_closed_there(
    scene: Scene, answer: CallResult | None, status: int
) -> None:
    proxy = scene.open_far()
    cursor = add_cursor_proxy(scene.manager, proxy, 55)
    scene.other.calls.clear()
    scene.other.answers["RemoteQMCloseCursor"] = answer
    waiting = scene.start(CLOSE_CURSOR, cursor_of(proxy.handle, cursor.handle))
    pass_time(scene.manager, 300_000)
    assert waiting.status == status
    assert [(name, one.h_queue, one.h_cursor) for name, one in scene.other.calls] == [
        ("RemoteQMCloseCursor", 7, 55)
    ]
    assert (proxy.cursor_proxy_collection, scene.manager.timers.running) == ([], 0)


@pytest.mark.rule("MQMP-3.1.4.19-10", "MQMP-3.1.4.19-11")
def test_a_remote_cursor_that_was_never_made_is_closed_here_alone(scene: Scene) -> None:
    proxy = scene.open_far()
    cursor = add_cursor_proxy(scene.manager, proxy)
    scene.other.calls.clear()
    assert scene.status(CLOSE_CURSOR, cursor_of(proxy.handle, cursor.handle)) == Status.MQ_OK
    assert (scene.other.calls, proxy.cursor_proxy_collection) == ([], [])


def _remote_cursor(scene: Scene) -> tuple[ContextHandle, CursorProxy]:
    proxy = scene.open_far()
    return proxy.handle, add_cursor_proxy(scene.manager, proxy)


@pytest.mark.rule("MQMP-3.1.4.20-2")
def test_the_properties_of_a_cursor_are_not_set_any_more(scene: Scene) -> None:
    handle, cursor = _remote_cursor(scene)
    request = SetCursorPropertiesRequest(h_proxy=handle, h_cursor=cursor.handle, h_remote_cursor=5)
    answer = scene.client.call(SET_CURSOR, request)
    assert (answer.fault, answer.status) == (None, ILLEGAL_OPERATION)
    assert not cursor.is_remote_cursor_handle_initialized


@pytest.mark.rule("MQMP-3.1.4.20-3", "MQMP-3.1.4.20-4")
def test_the_properties_of_no_cursor_are_not_set() -> None:
    scene = Scene(obsolete_methods=True)
    handle, cursor = _remote_cursor(scene)
    local = scene.open().ph_queue
    for one, number in ((local, cursor.handle), (handle, cursor.handle + 1)):
        request = SetCursorPropertiesRequest(h_proxy=one, h_cursor=number, h_remote_cursor=5)
        assert scene.status(SET_CURSOR, request) == INVALID_HANDLE
    assert not cursor.is_remote_cursor_handle_initialized


@pytest.mark.rule("MQMP-3.1.4.20-5", "MQMP-3.1.4.20-6", "MQMP-3.1.4.20-7")
def test_a_cursor_is_tied_to_that_of_the_other_queue_manager() -> None:
    scene = Scene(obsolete_methods=True)
    handle, cursor = _remote_cursor(scene)
    request = SetCursorPropertiesRequest(h_proxy=handle, h_cursor=cursor.handle, h_remote_cursor=5)
    assert scene.status(SET_CURSOR, request) == Status.MQ_OK
    assert (cursor.remote_cursor_handle, cursor.is_remote_cursor_handle_initialized) == (5, True)


@pytest.mark.rule("MQMP-3.1.4.21-3")
def test_too_much_room_for_a_format_name_is_not_dispatched(scene: Scene) -> None:
    request = naming(scene.open().ph_queue, 524289)
    assert scene.fault(NAME, request) == BAD_STUB_DATA


@pytest.mark.rule("MQMP-3.1.4.21-4")
def test_room_for_a_format_name_that_is_not_there_is_not_dispatched(scene: Scene) -> None:
    request = naming(scene.open().ph_queue, 5, lpwcs_format_name=None)
    assert scene.fault(NAME, request) == BAD_STUB_DATA


@pytest.mark.rule("MQMP-3.1.4.21-6")
def test_room_for_a_format_name_of_two_sizes_is_refused(scene: Scene) -> None:
    handle = scene.open().ph_queue
    for request in (naming(handle, 5, pdw_length=6), naming(handle, 0, pdw_length=6)):
        assert scene.refusal(NAME, request) == Status.MQ_ERROR_INVALID_PARAMETER


@pytest.mark.rule("MQMP-3.1.4.21-5", "MQMP-3.1.4.21-14", "MQMP-3.1.4.21-15")
@pytest.mark.parametrize("buffer", [None, WcharText()])
def test_a_format_name_is_measured(scene: Scene, buffer: WcharText | None) -> None:
    response = scene.call(NAME, naming(scene.open().ph_queue, 0, lpwcs_format_name=buffer))
    assert response.status == Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL
    assert (response.pdw_length, response.lpwcs_format_name) == (len(ORDERS) + 1, buffer)


@pytest.mark.rule("MQMP-3.1.4.21-8", "MQMP-3.1.4.21-11", "MQMP-3.1.4.21-12")
@pytest.mark.parametrize("more", [0, 1, 100])
def test_a_format_name_that_fits_is_given(scene: Scene, more: int) -> None:
    room = len(ORDERS) + 1 + more
    response = scene.call(NAME, naming(scene.open().ph_queue, room))
    assert (response.status, response.pdw_length) == (Status.MQ_OK, len(ORDERS) + 1)
    assert response.lpwcs_format_name == (ORDERS + "\0" + "x" * more).encode("utf-16-le")


@pytest.mark.rule("MQMP-3.1.4.21-10")
def test_the_format_name_of_a_remote_queue_is_that_which_opened_it(scene: Scene) -> None:
    response = scene.call(NAME, naming(scene.open_far().handle, len(ELSEWHERE) + 1))
    assert (response.status, response.lpwcs_format_name.text) == (Status.MQ_OK, ELSEWHERE)


@pytest.mark.rule("MQMP-3.1.4.21-13", "MQMP-3.1.4.21-15")
@pytest.mark.parametrize("room", [1, 2, 10, len(ORDERS)])
def test_a_format_name_that_does_not_fit_is_cut(scene: Scene, room: int) -> None:
    response = scene.call(NAME, naming(scene.open().ph_queue, room))
    assert response.status == Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL
    assert response.pdw_length == len(ORDERS) + 1
    assert response.lpwcs_format_name == (ORDERS[: room - 1] + "\0").encode("utf-16-le")


@given(st.integers(0, 60))
def test_a_format_name_never_leaves_its_room(room: int) -> None:
    scene = Scene()
    response = scene.call(NAME, naming(scene.open().ph_queue, room))
    assert len(response.lpwcs_format_name) == 2 * room
    assert (response.status == Status.MQ_OK) is (room > len(ORDERS))


@pytest.mark.rule("MQMP-3.1.4.22-4")
@pytest.mark.parametrize(
    "opened_for",
    [QueueAccessType.SEND_ACCESS, QueueAccessType.PEEK_ACCESS, QueueAccessType.PEEK_ADMIN_ACCESS],
)
def test_who_may_not_receive_does_not_purge(scene: Scene, opened_for: QueueAccessType) -> None:
    put(scene.queue, b"one")
    handle = scene.open().ph_queue
    scene.descriptor(handle).access_type = opened_for
    assert scene.status(PURGE, purging(handle)) == Status.MQ_ERROR_ACCESS_DENIED
    assert labels(scene.queue) == ["one"]


@pytest.mark.rule("MQMP-3.1.4.22-5", "MQMP-3.1.4.22-6")
def test_a_purged_queue_is_empty(scene: Scene) -> None:
    for body in (b"one", b"two"):
        put(scene.queue, body)
    assert scene.status(PURGE, purging(scene.open().ph_queue)) == Status.MQ_OK
    assert (labels(scene.queue), scene.queue.total_bytes) == ([], 0)


@pytest.mark.rule("MQMP-3.1.4.22-7")
def test_what_a_transaction_holds_is_gone_after_a_purge_and_an_abort(scene: Scene) -> None:
    for body in (b"held", b"free"):
        put(scene.queue, body)
    handle = scene.open().ph_queue
    transaction = create_transaction(scene.manager, b"a unit of work!!")
    dequeue_message(scene.descriptor(handle), lambda *_: None, transaction=transaction)
    assert scene.status(PURGE, purging(handle)) == Status.MQ_OK
    assert (labels(scene.queue), states(scene.queue)) == (["held"], ["PurgePending"])
    transaction_abort(scene.manager, transaction.identifier)
    assert labels(scene.queue) == []


@pytest.mark.rule("MQMP-3.1.4.22-9", "MQMP-3.1.4.22-10", "MQMP-3.1.4.22-11")
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (CallResult(StatusResponse()), Status.MQ_OK),
        (CallResult(StatusResponse(status=Status.MQ_ERROR_ACCESS_DENIED)), Status.MQ_ERROR_ACCESS_DENIED),
        (CallResult(fault=0x6BA), NOT_AVAILABLE),
        (None, NOT_AVAILABLE),
    ],
)
@pytest.mark.parametrize("access", [1, 0x20])
def test_a_remote_queue_is_purged_there(answer: CallResult | None, status: int, access: int) -> None:
    scene = Scene()
    response = scene.open(ELSEWHERE, access, h_remote_queue=7, dwp_queue=8, dwp_remote_context=9)
    scene.other.calls.clear()
    scene.other.answers["RemoteQMPurgeQueue"] = answer
    waiting = scene.start(PURGE, purging(response.ph_queue))
    pass_time(scene.manager, 300_000)
    assert waiting.status == status
    assert [(name, one.h_queue) for name, one in scene.other.calls] == [("RemoteQMPurgeQueue", 7)]


def test_a_client_that_goes_while_a_queue_is_purged_elsewhere_leaves_no_timer(scene: Scene) -> None:
    proxy = scene.open_far()
    del scene.other.answers["RemoteQMPurgeQueue"]
    waiting = scene.start(PURGE, purging(proxy.handle))
    scene.client.disconnect()
    assert (waiting.status, scene.manager.timers.running) == (NOT_AVAILABLE, 0)
    scene.other.waiting[0](CallResult(StatusResponse()))
    assert scene.other.names[-1] == "RemoteQMCloseQueue"


@pytest.mark.rule("MQMP-3.1.4.23-2")
@pytest.mark.parametrize("kind", [5, 0xFFFF_FFFF])
def test_a_setting_that_there_is_not_is_refused(kind: int) -> None:
    response = Scene().call(ASK, QueryRegistryRequest(dw_query_type=kind))
    assert (response.status, response.lplp_mqis_server) == (Status.MQ_ERROR_INVALID_PARAMETER, None)


@pytest.mark.rule("MQMP-3.1.4.23-10")
@rule_table(
    "kind, text",
    ("MQMP-3.1.4.23-3", 0, "first,second"),
    ("MQMP-3.1.4.23-5", 1, "345600"),
    ("MQMP-3.1.4.23-6", 2, "73696874-6920-2073-7468-6520666f7265"),
    ("MQMP-3.1.4.23-7", 3, "6.1.7601"),
    ("MQMP-3.1.4.23-8", 4, "20656874-7571-7565-6520-6d616e616765"),
)
def test_settings_are_told_as_text(kind: int, text: str) -> None:
    scene = Scene(forest=GUID(b"this is the forest"[:16]))
    scene.manager.directory_server_list = ("first", "second")
    response = scene.call(ASK, QueryRegistryRequest(dw_query_type=kind))
    assert response.status == Status.MQ_OK
    assert bytes(response.lplp_mqis_server) == (text + "\0").encode("utf-16-le")
    assert scene.manager.identifier == QUEUE_MANAGER


@pytest.mark.rule("MQMP-3.1.4.23-4")
def test_no_directory_servers_are_an_empty_text() -> None:
    response = Scene().call(ASK, QueryRegistryRequest(dw_query_type=0))
    assert (response.status, bytes(response.lplp_mqis_server)) == (Status.MQ_OK, b"\0\0")


@pytest.mark.rule("MQMP-3.1.4.23-9")
def test_a_workgroup_has_no_forest() -> None:
    response = Scene().call(ASK, QueryRegistryRequest(dw_query_type=2))
    assert (response.status, response.lplp_mqis_server) == (Status.MQ_ERROR, None)


@rule_table(
    "kind, spx, port",
    ("MQMP-3.1.4.24-1", 4, True, 0),
    ("MQMP-3.1.4.24-1", 0xFFFF_FFFF, True, 0),
    ("MQMP-3.1.4.24-2", 0, False, 2103),
    ("MQMP-3.1.4.24-3", 1, False, 2105),
    ("MQMP-3.1.4.24-4", 2, True, 2103),
    ("MQMP-3.1.4.24-5", 3, True, 2105),
    ("MQMP-3.1.4.24-6", 2, False, 0),
    ("MQMP-3.1.4.24-6", 3, False, 0),
)
def test_ports_are_told(kind: int, spx: bool, port: int) -> None:
    scene = Scene(spx=spx)
    assert scene.call(PORT, GetServerPortRequest(f_ip=kind)).return_value == port


@pytest.mark.rule("MQMP-3.1.4.24-7")
def test_ports_are_those_that_were_found_at_the_start() -> None:
    scene = Scene(handshake_port=2114, read_port=2127)
    for _ in range(2):
        ports = [scene.call(PORT, GetServerPortRequest(f_ip=kind)).return_value for kind in (0, 1)]
        assert ports == [2114, 2127]


@pytest.mark.rule("MQMP-3.1.4.24-8")
@pytest.mark.parametrize(
    ("first", "taken", "port"),
    [
        (2103, set(), 2103),
        (2103, {2103}, 2114),
        (2103, {2103, 2114}, 2125),
        (2105, {2103, 2105}, 2116),
        (2103, range(65536), 0),
    ],
)
def test_a_port_that_is_taken_is_raised_by_11(first: int, taken: Any, port: int) -> None:
    assert free_port(first, taken) == port
