"""The client of qmcomm opens, uses and closes queues and cursors, here and elsewhere. [MS-MQMP] 3.2.4"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.client.client import QmcommClient
from msmq_wire.lab.model.qmcomm.client.planned_calls import Endpoint, OpenQueueContext, Result, Steps
from msmq_wire.lab.model.qmcomm.client.request_buffers import Room, receiving_buffer
from msmq_wire.rpc.interfaces.qmcomm2 import RpcACCreateCursorExResponse
from msmq_wire.rpc.interfaces.qmcomm_queues import (
    ACHandleToFormatNameResponse,
    CreateRemoteCursorResponse,
    GetRemoteQueueNameResponse,
    OpenQueueInternalResponse,
    OpenRemoteQueueResponse,
)
from msmq_wire.rpc.interfaces.shared_parameters import PortResponse
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import CACCreateRemoteCursor, CACTransferBufferV1, TransferSend
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.qmcomm.client_scene import (
    FAILURES,
    FAR,
    HANDLE,
    NOT_THERE,
    OK,
    ORDERS,
    PEEK,
    RECEIVE,
    SEND,
    World,
)
from tests.lab.model.scene import labels, put

NO_CURSOR = 0x0000000B
OPENING = ["rpc_QMOpenQueueInternal"]
REMOTE_OPENING = [
    "rpc_QMOpenQueueInternal",
    "R_QMGetRTQMServerPort",
    "R_QMOpenRemoteQueue",
    "rpc_QMOpenQueueInternal",
    "R_QMCloseRemoteQueueContext",
]
HOST, ELSEWHERE = Endpoint(computer="host"), Endpoint(computer="elsewhere", port=2103)


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.rule("CMQMP-3.2.4.7-1", "CMQMP-3.2.4.7-2", "CMQMP-2.2.1.1.2-1", "CMQMP-3.1.4.17-1")
@pytest.mark.rule("CMQMP-3.1.4.17-2")
@pytest.mark.parametrize(("access", "share"), [(RECEIVE, 0), (RECEIVE, 1), (PEEK, 0), (SEND, 0)])
def test_a_queue_of_the_server_is_opened_with_one_call(world: World, access: int, share: int) -> None:
    world.open(ORDERS, access, share)
    assert world.names == OPENING
    request = world.request("rpc_QMOpenQueueInternal")
    assert str(request.p_queue_format.format_name) == ORDERS
    assert (request.dw_desired_access, request.dw_share_mode) == (access, share)
    numbers = (request.h_remote_queue, request.dwp_queue, request.dwp_remote_context)
    assert (numbers, request.dw_remote_protocol) == ((0, 0, 0), 0)
    assert request.lplp_remote_queue_name is NULL_POINTEE
    assert request.p_lic_guid == world.client.licence_guid
    assert bytes(request.lp_client_name) == b"d\0e\0s\0k\0\0\0"


@pytest.mark.rule("CMQMP-3.2.1-1", "CMQMP-3.2.1.2-1", "CMQMP-3.2.4.7-3")
def test_handle_and_context_are_kept_together(world: World) -> None:
    one, other = world.open(), world.open(access=PEEK)
    association = world.host.associations[0]
    for queue in (one, other):
        opened = association.handles[queue.handle.uuid]
        assert opened.open_queue_descriptor_reference.handle == queue.context
    assert one.handle != other.handle
    assert world.client.queues == [one, other]
    assert (other.format_name, other.access, other.closed) == (ORDERS, PEEK, False)


@pytest.mark.parametrize(
    ("name", "access", "share"), [("nonsense", 1, 0), (ORDERS, 3, 0), (ORDERS, 0, 0), (ORDERS, 1, 2)]
)
def test_what_no_queue_is_opened_with_is_not_sent(world: World, name: str, access: int, share: int) -> None:
    with pytest.raises(ValueError, match=r"nonsense|dwDesiredAccess|ShareMode"):
        world.run(world.client.open_queue(name, access, share))
    assert world.log == []


@pytest.mark.rule("CMQMP-3.2.4.7-4", "CMQMP-3.2.4.7-5", "CMQMP-3.2.4.7-6", "CMQMP-3.2.4.7-8")
@pytest.mark.rule("CMQMP-3.2.4.7-9", "CMQMP-2.2.1.1.3-1", "CMQMP-2.2.1.1.3-2", "CMQMP-3.1.4.3-1")
@pytest.mark.rule("CMQMP-3.1.4.17-3")
def test_a_queue_of_another_computer_is_opened_there_and_taken_over(world: World) -> None:
    put(world.far, b"one")
    queue = world.open(FAR, RECEIVE, 1)
    assert world.names == REMOTE_OPENING
    assert [step.endpoint for step in world.log] == [
        HOST,
        Endpoint(computer="elsewhere"),
        ELSEWHERE,
        HOST,
        ELSEWHERE,
    ]
    there = world.request("R_QMOpenRemoteQueue")
    assert str(there.p_queue_format.format_name) == FAR
    assert (there.dw_calling_process_id, there.dw_desired_access, there.dw_share_mode) == (0, RECEIVE, 1)
    assert there.p_lic_guid == world.client.licence_guid
    (descriptor,) = world.far.open_queue_descriptor_collection
    second = world.log[3].request
    assert (second.h_remote_queue, second.dwp_queue, second.dwp_remote_context) == (descriptor.handle,) * 3
    assert (second.dw_desired_access, second.dw_share_mode, second.dw_remote_protocol) == (RECEIVE, 1, 0)
    assert second.lplp_remote_queue_name is NULL_POINTEE
    assert not world.elsewhere.associations[2103].handles
    proxy = world.host.associations[0].handles[queue.handle.uuid]
    assert (proxy.context, queue.endpoint) == (queue.context, HOST)
    assert world.run(world.client.purge(queue)) == OK
    assert labels(world.far) == []


@pytest.mark.rule("CMQMP-3.1.4.2-3")
def test_the_client_says_what_it_runs(world: World) -> None:
    world.open(FAR)
    assert world.request("R_QMOpenRemoteQueue").dw_mqs == 0x100
    world.client.system = 0x400
    world.open(FAR)
    assert world.request("R_QMOpenRemoteQueue").dw_mqs == 0x400


def test_a_client_that_asks_for_no_port_calls_the_other_computer_at_once(world: World) -> None:
    world.client.ask_port = False
    world.open(FAR)
    assert world.names == [name for name in REMOTE_OPENING if name != "R_QMGetRTQMServerPort"]
    assert world.endpoint("R_QMOpenRemoteQueue") == Endpoint(computer="elsewhere")


def pointing(path: str) -> OpenQueueInternalResponse:
    """The answer that a queue is elsewhere, with numbers that say nothing."""
    return OpenQueueInternalResponse(
        lplp_remote_queue_name=WcharText.of(path), pdw_qm_context=99, ph_queue=HANDLE
    )


@pytest.mark.rule("CMQMP-3.1.4.17-4")
def test_numbers_beside_the_name_of_another_computer_are_ignored(world: World) -> None:
    steps = world.client.open_queue(FAR)
    next(steps)
    asked = steps.send(CallResult(pointing("elsewhere\\private$\\far")))
    assert (asked.name, asked.endpoint.computer) == ("R_QMGetRTQMServerPort", "elsewhere")
    steps.send(CallResult(PortResponse(return_value=2103)))
    opened = OpenRemoteQueueResponse(pph_context=HANDLE, pdw_context=1, dwp_queue=2, ph_queue=3)
    second = steps.send(CallResult(opened)).request
    assert (second.h_remote_queue, second.dwp_queue, second.dwp_remote_context) == (3, 2, 1)
    assert world.client.queues == []


@pytest.mark.rule("CMQMP-3.2.4.7-7")
def test_the_name_in_the_second_answer_is_ignored(world: World) -> None:
    steps = world.client.open_queue(FAR)
    next(steps)
    steps.send(CallResult(pointing("elsewhere\\private$\\far")))
    steps.send(CallResult(PortResponse(return_value=2103)))
    steps.send(CallResult(OpenRemoteQueueResponse(pph_context=HANDLE, ph_queue=3)))
    closing = steps.send(CallResult(pointing("a third one\\private$\\far")))
    assert closing.name == "R_QMCloseRemoteQueueContext"
    assert closing.request.pph_context == HANDLE
    with pytest.raises(StopIteration) as end:
        steps.send(CallResult(closing.request))
    assert end.value.value.value.context == 99


@pytest.mark.rule("CMQMP-3.1.4.2-1", "CMQMP-3.2.4.7-10")
@pytest.mark.parametrize(
    ("name", "access", "path"),
    [
        (FAR, SEND, "elsewhere\\private$\\far"),
        (FAR, 0x81, "elsewhere\\private$\\far"),
        ("DL=00000000-0000-0000-0000-000000000001", RECEIVE, "elsewhere\\private$\\far"),
        ("MULTICAST=234.1.2.3:5", RECEIVE, "elsewhere\\private$\\far"),
        ("DIRECT=HTTP://elsewhere/msmq/far", RECEIVE, "elsewhere\\private$\\far"),
        (FAR, RECEIVE, ""),
        (FAR, RECEIVE, "no path name"),
    ],
)
def test_what_cannot_be_opened_elsewhere_is_not_asked_for(
    world: World, name: str, access: int, path: str
) -> None:
    world.answers["rpc_QMOpenQueueInternal"] = CallResult(pointing(path))
    assert world.run(world.client.open_queue(name, access)).status == Status.MQ_ERROR
    assert (world.names, world.client.queues) == (OPENING, [])


@pytest.mark.rule("CMQMP-3.2.4.7-10", "CMQMP-3.1.4.24-2")
def test_a_computer_without_a_port_cannot_be_reached(world: World) -> None:
    world.answers["R_QMGetRTQMServerPort"] = CallResult(PortResponse())
    result = world.run(world.client.open_queue(FAR))
    assert result.status == Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE
    assert world.names == REMOTE_OPENING[:2]


@pytest.mark.rule("CMQMP-3.1.4.2-4", "CMQMP-3.2.4.7-10")
@pytest.mark.parametrize("answer", [*FAILURES, CallResult(fault=5)])
def test_nothing_is_taken_over_that_was_not_opened(world: World, answer: Any) -> None:
    if isinstance(answer, CallResult):
        world.answers["R_QMOpenRemoteQueue"] = answer
    else:
        world.fails("R_QMOpenRemoteQueue", answer, pph_context=HANDLE, ph_queue=7)
    result = world.run(world.client.open_queue(FAR))
    assert result.status == (5 if isinstance(answer, CallResult) else answer)
    assert (world.names, world.client.queues) == (REMOTE_OPENING[:3], [])


@pytest.mark.rule("CMQMP-3.2.4.7-10", "CMQMP-3.2.4.7-11", "CMQMP-2.2.1.1.3-2")
def test_the_other_computer_lets_go_also_where_the_server_refuses(world: World) -> None:
    steps = world.client.open_queue(FAR)
    next(steps)
    steps.send(CallResult(pointing("elsewhere\\private$\\far")))
    steps.send(CallResult(PortResponse(return_value=2103)))
    steps.send(CallResult(OpenRemoteQueueResponse(pph_context=HANDLE, ph_queue=3)))
    refused = OpenQueueInternalResponse(status=Status.MQ_ERROR_ACCESS_DENIED, ph_queue=HANDLE)
    closing = steps.send(CallResult(refused))
    assert (closing.name, closing.request.pph_context) == ("R_QMCloseRemoteQueueContext", HANDLE)
    assert closing.endpoint == ELSEWHERE
    with pytest.raises(StopIteration) as end:
        steps.send(CallResult(closing.request))
    assert (end.value.value.status, world.client.queues) == (Status.MQ_ERROR_ACCESS_DENIED, [])


@pytest.mark.rule("CMQMP-3.2.4.7-10", "CMQMP-2.2.1.1.2-2")
def test_a_queue_that_the_other_computer_does_not_let_go_is_not_open(world: World) -> None:
    world.answers["R_QMCloseRemoteQueueContext"] = CallResult(fault=5)
    result = world.run(world.client.open_queue(FAR))
    assert (result.status, result.value, world.client.queues) == (5, None, [])
    assert world.names == [*REMOTE_OPENING, "rpc_ACCloseHandle"]
    assert not world.host.associations[0].handles


@pytest.mark.rule("CMQMP-3.2.4.15-1", "CMQMP-2.2.1.1.2-2", "CMQMP-3.1.4.18-1")
def test_a_queue_is_closed_once(world: World) -> None:
    queue = world.open()
    assert world.run(world.client.close_queue(queue)) == OK
    assert world.request("rpc_ACCloseHandle").ph_queue == queue.handle
    assert world.client.queues == []
    assert not world.orders.open_queue_descriptor_collection
    with pytest.raises(ValueError, match="was closed"):
        world.run(world.client.close_queue(queue))


@pytest.mark.rule("CMQMP-3.1.4.18-2")
@pytest.mark.parametrize("status", FAILURES)
def test_a_queue_is_given_up_whatever_its_closing_comes_to(world: World, status: int) -> None:
    queue = world.open()
    handle = queue.handle
    world.fails("rpc_ACCloseHandle", status, ph_queue=HANDLE)
    assert world.run(world.client.close_queue(queue)) == status
    assert (queue.handle, queue.closed) == (handle, True)


USES: list[tuple[str, Callable[[QmcommClient, OpenQueueContext], Steps[Any]]]] = [
    ("rpc_ACPurgeQueue", lambda client, queue: client.purge(queue)),
    ("rpc_ACHandleToFormatName", lambda client, queue: client.handle_to_format_name(queue)),
    ("rpc_ACCreateCursorEx", lambda client, queue: client.create_cursor(queue)),
    ("rpc_ACCloseCursor", lambda client, queue: client.close_cursor(queue, NO_CURSOR)),
    ("rpc_ACReceiveMessageEx", lambda client, queue: client.peek(queue)),
    ("rpc_ACReceiveMessageEx", lambda client, queue: client.receive(queue)),
]
OUT_PARAMETERS: dict[str, dict[str, Any]] = {
    "rpc_ACHandleToFormatName": {"lpwcs_format_name": WcharText.of("secret"), "pdw_length": 7},
    "rpc_ACCreateCursorEx": {"pcc": CACCreateRemoteCursor(h_cursor=5)},
    "rpc_ACReceiveMessageEx": {"ptb": receiving_buffer(Room(), 0x80000000)},
}


@pytest.mark.rule("CMQMP-3.1.4.21-3", "CMQMP-3.1.4.22-2", "CMQMP-3.1.5.3-13", "CMQMP-3.1.5.4-3")
@pytest.mark.rule("CMQMP-3.2.4.8-2")
@pytest.mark.parametrize("fault", [False, True])
@pytest.mark.parametrize("status", [*FAILURES, NOT_THERE.fault])
@pytest.mark.parametrize(("method", "use"), USES)
def test_all_failures_of_a_use_mean_the_same_and_nothing_is_read_from_them(
    world: World, method: str, use: Any, status: int, fault: bool
) -> None:
    queue = world.open()
    world.log.clear()
    if fault:
        world.answers[method] = CallResult(fault=status)
    else:
        world.fails(method, status, **OUT_PARAMETERS.get(method, {}))
    assert world.run(use(world.client, queue)) in (status, Result(status=status))
    assert (world.names, queue.cursors) == ([method], set())


@pytest.mark.rule("CMQMP-3.1.4.21-2", "CMQMP-3.1.4.22-1", "CMQMP-3.1.5.3-1", "CMQMP-3.1.5.4-1")
@pytest.mark.parametrize("how", ["closed", "deleted"])
def test_a_queue_that_is_closed_or_deleted_is_not_used(world: World, how: str) -> None:
    queue, far = world.open(), world.open(FAR)
    if how == "closed":
        world.run(world.client.close_queue(queue))
    else:
        assert world.run(world.client.delete_queue(ORDERS.upper())) == OK
    calls = len(world.log)
    for _, use in USES:
        with pytest.raises(ValueError, match=how):
            world.run(use(world.client, queue))
    assert len(world.log) == calls
    assert world.run(world.client.purge(far)) == OK


@pytest.mark.rule("CMQMP-3.2.4.9-1")
def test_a_queue_is_purged(world: World) -> None:
    put(world.orders, b"one")
    queue = world.open()
    assert world.run(world.client.purge(queue)) == OK
    assert world.request("rpc_ACPurgeQueue").h_queue == queue.handle
    assert labels(world.orders) == []


@pytest.mark.rule("CMQMP-3.2.4.14-1", "CMQMP-3.2.4.14-2", "CMQMP-3.2.4.14-3", "CMQMP-3.2.4.14-4")
@pytest.mark.rule("CMQMP-3.1.4.21-1")
@pytest.mark.parametrize(("room", "rooms"), [(0, [0, 31]), (5, [5, 31]), (31, [31]), (200, [200])])
def test_the_name_of_an_open_queue_gets_the_room_it_needs(world: World, room: int, rooms: list[int]) -> None:
    queue = world.open()
    world.log.clear()
    assert world.good(world.client.handle_to_format_name(queue, room)) == ORDERS
    assert [step.request.dw_format_name_rpc_buffer_len for step in world.log] == rooms
    for step in world.log:
        request = step.request
        assert request.h_queue == queue.handle
        assert request.pdw_length == request.dw_format_name_rpc_buffer_len
        assert len(request.lpwcs_format_name or b"") == 2 * request.pdw_length
        assert (request.lpwcs_format_name is None) == (request.pdw_length == 0)


@pytest.mark.parametrize("length", [0, 5, 524_289, 0xFFFFFFFF])
def test_a_name_that_needs_no_room_or_too_much_is_not_asked_for_again(world: World, length: int) -> None:
    queue = world.open()
    world.fails("rpc_ACHandleToFormatName", Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL, pdw_length=length)
    result = world.run(world.client.handle_to_format_name(queue, 5))
    assert result.status == Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL
    assert world.names.count("rpc_ACHandleToFormatName") == 1
    with pytest.raises(ValueError, match="room"):
        world.run(world.client.handle_to_format_name(queue, 524_289))


def test_a_success_without_a_name_and_a_fault_are_failures(world: World) -> None:
    queue = world.open()
    world.answers["rpc_ACHandleToFormatName"] = CallResult(ACHandleToFormatNameResponse())
    assert world.run(world.client.handle_to_format_name(queue)).status == Status.MQ_ERROR
    world.answers["rpc_ACHandleToFormatName"] = CallResult(fault=0)
    assert world.run(world.client.handle_to_format_name(queue)).status == Status.MQ_ERROR


@pytest.mark.rule("CMQMP-3.2.4.8-1", "CMQMP-3.2.4.8-3", "CMQMP-3.2.1-1", "CMQMP-3.2.4.16-1")
@pytest.mark.rule("CMQMP-3.1.4.19-1")
def test_a_cursor_is_created_and_closed(world: World) -> None:
    queue = world.open()
    cursor = world.good(world.client.create_cursor(queue))
    request = world.request("rpc_ACCreateCursorEx")
    assert request.h_queue == queue.handle
    assert isinstance(request.pcc, CACCreateRemoteCursor)
    assert queue.cursors == {cursor} == set(world.host.manager.cursors)
    assert world.names[-1] == "rpc_ACCreateCursorEx"
    assert world.run(world.client.close_cursor(queue, cursor)) == OK
    closing = world.request("rpc_ACCloseCursor")
    assert (closing.h_queue, closing.h_cursor) == (queue.handle, cursor)
    assert (queue.cursors, world.host.manager.cursors) == (set(), {})


@pytest.mark.rule("CMQMP-3.1.4.19-1")
def test_only_a_cursor_of_the_queue_or_none_is_closed(world: World) -> None:
    one, other = world.open(), world.open()
    cursor = world.good(world.client.create_cursor(one))
    with pytest.raises(ValueError, match="is no cursor"):
        world.run(world.client.close_cursor(other, cursor))
    assert world.run(world.client.close_cursor(other, NO_CURSOR)) == OK
    assert world.request("rpc_ACCloseCursor").h_cursor == NO_CURSOR


@pytest.mark.rule("CMQMP-3.1.4.19-2")
@pytest.mark.parametrize("status", FAILURES)
def test_a_cursor_is_given_up_whatever_its_closing_comes_to(world: World, status: int) -> None:
    queue = world.open()
    cursor = world.good(world.client.create_cursor(queue))
    world.fails("rpc_ACCloseCursor", status)
    assert world.run(world.client.close_cursor(queue, cursor)) == status
    assert queue.cursors == set()


@pytest.mark.rule("CMQMP-3.1.5.4-2")
def test_a_cursor_is_created_at_the_port_that_the_server_named(world: World) -> None:
    world.run(world.client.get_server_port())
    queue = world.open()
    world.good(world.client.create_cursor(queue))
    assert world.endpoint("rpc_ACCreateCursorEx") == Endpoint(computer="host", port=2103)


CURSOR_CALLS = [
    "rpc_ACCreateCursorEx",
    "R_QMGetRemoteQueueName",
    "R_QMGetRTQMServerPort",
    "R_QMCreateRemoteCursor",
    "rpc_ACSetCursorProperties",
]


@pytest.mark.rule("CMQMP-3.2.4.8-4", "CMQMP-3.2.4.8-5", "CMQMP-3.2.4.8-6", "CMQMP-3.2.4.8-7")
@pytest.mark.rule("CMQMP-3.2.4.8-8", "CMQMP-3.2.4.8-10", "CMQMP-3.1.4.1-1", "CMQMP-3.1.4.4-1")
@pytest.mark.rule("CMQMP-3.1.4.20-1", "CMQMP-3.1.4.20-2")
def test_a_cursor_of_another_computer_is_created_there_where_the_server_says_so() -> None:
    world = World(old=True)
    queue = world.open(FAR)
    world.log.clear()
    cursor = world.good(world.client.create_cursor(queue))
    assert world.names == CURSOR_CALLS
    assert [step.endpoint for step in world.log] == [
        HOST,
        HOST,
        Endpoint(computer="elsewhere"),
        ELSEWHERE,
        HOST,
    ]
    proxy = world.host.associations[0].handles[queue.handle.uuid]
    naming = world.request("R_QMGetRemoteQueueName")
    assert (naming.p_queue, naming.lplp_remote_queue_name) == (proxy.context, NULL_POINTEE)
    creating = world.request("R_QMCreateRemoteCursor")
    (descriptor,) = world.far.open_queue_descriptor_collection
    assert creating.h_queue == descriptor.handle
    assert creating.ptb1 == CACTransferBufferV1(arm=TransferSend())
    (there,) = world.elsewhere.manager.cursors
    tying = world.request("rpc_ACSetCursorProperties")
    assert (tying.h_proxy, tying.h_cursor, tying.h_remote_cursor) == (queue.handle, cursor, there)
    (made,) = proxy.cursor_proxy_collection
    assert (made.handle, made.remote_cursor_handle) == (cursor, there)
    assert queue.cursors == {cursor}


@pytest.mark.rule("CMQMP-3.2.4.8-9", "CMQMP-3.1.4.1-2", "CMQMP-3.1.4.4-2", "CMQMP-3.1.4.20-3")
@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize(("failing", "calls"), [(1, 2), (3, 4), (4, 5)])
def test_a_cursor_that_is_not_created_elsewhere_is_closed_again(
    failing: int, calls: int, status: int
) -> None:
    world = World(old=True)
    queue = world.open(FAR)
    world.log.clear()
    values: dict[int, dict[str, Any]] = {
        1: {"lplp_remote_queue_name": WcharText.of("elsewhere\\private$\\far")},
        3: {"ph_cursor": 8},
    }
    world.fails(CURSOR_CALLS[failing], status, **values.get(failing, {}))
    result = world.run(world.client.create_cursor(queue))
    assert (result.status, result.value, queue.cursors) == (status, None, set())
    assert world.names == [*CURSOR_CALLS[:calls], "rpc_ACCloseCursor"]
    closing = world.request("rpc_ACCloseCursor")
    assert (closing.h_queue, closing.h_cursor != 0) == (queue.handle, True)
    assert not world.host.associations[0].handles[queue.handle.uuid].cursor_proxy_collection


@pytest.mark.parametrize("name", [None, NULL_POINTEE, WcharText.of("no path name")])
def test_a_cursor_needs_the_name_of_the_other_computer(name: Any) -> None:
    world = World(old=True)
    queue = world.open(FAR)
    world.answers["R_QMGetRemoteQueueName"] = CallResult(
        GetRemoteQueueNameResponse(lplp_remote_queue_name=name)
    )
    result = world.run(world.client.create_cursor(queue))
    assert result.status == Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE
    assert world.names[-1] == "rpc_ACCloseCursor"


def test_faults_while_a_cursor_is_created_are_failures() -> None:
    world = World(old=True)
    queue = world.open(FAR)
    steps = world.client.create_cursor(queue)
    next(steps)
    made = CACCreateRemoteCursor(h_cursor=6, srv_h_ac_queue=7, cli_p_qm_queue=8)
    pending = Status.MQ_INFORMATION_REMOTE_OPERATION
    assert steps.send(CallResult(RpcACCreateCursorExResponse(pcc=made, status=pending))).request.p_queue == 8
    name = WcharText.of("elsewhere\\private$\\far")
    steps.send(CallResult(GetRemoteQueueNameResponse(lplp_remote_queue_name=name)))
    assert steps.send(CallResult(PortResponse(return_value=2103))).request.h_queue == 7
    steps.send(CallResult(CreateRemoteCursorResponse(ph_cursor=9)))
    assert steps.send(CallResult(fault=5)).request.h_cursor == 6
    with pytest.raises(StopIteration) as end:
        steps.send(CallResult(fault=5))
    assert (end.value.value.status, queue.cursors) == (5, set())
    world.answers["rpc_ACCreateCursorEx"] = CallResult(fault=int(pending))
    assert world.run(world.client.create_cursor(queue)).value is None
