"""Queues of other queue managers through qmcomm2, rule by rule. [MS-MQMP] 3.1.5.3, 3.1.5.4"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from msmq_wire.lab.model.events.transaction import create_transaction
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.local_queue_context import (
    RemoteQueueProxyHandle,
    add_cursor_proxy,
    add_remote_queue,
)
from msmq_wire.rpc.interfaces.qm2qm import HandleResponse, RemoteQMStartReceiveResponse
from msmq_wire.rpc.interfaces.qmcomm2 import RpcACReceiveMessageExRequest
from msmq_wire.rpc.interfaces.qmcomm_queues import CreateRemoteCursorResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import CACCreateRemoteCursor
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.qmcomm.qmcomm2_scene import (
    ACTION_PEEK,
    ACTION_PEEK_NEXT,
    ACTION_RECEIVE,
    Scene,
    body_room,
    receiving,
    sending,
    taken,
)
from tests.lab.model.scene import make_packet

UNKNOWN = Status.MQ_ERROR_INVALID_HANDLE
UNAVAILABLE = Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE
REMOTE = ContextHandle(uuid=GUID(b"the remote queue"))
STARTED = ContextHandle(uuid=GUID(b"the remote start"))
UOW = GUID(b"a unit of work..")
CONTEXT = 55
ACK, NACK = 2, 1
FAULT = CallResult(fault=0x1C010014)


class Remote:
    """Another queue manager: what it was asked, and what it says to each method."""

    def __init__(self, **how: Any) -> None:
        self.scene = Scene(**how)
        self.asked: list[tuple[str, Any]] = []
        self.pending: list[Callable[[CallResult], None]] = []
        self.waits = False
        self.answers: dict[str, CallResult] = {
            "RemoteQMStartReceive": started(),
            "RemoteQMEndReceive": CallResult(response=HandleResponse()),
            "RemoteQMCloseQueue": CallResult(response=HandleResponse()),
            "R_QMCreateRemoteCursor": CallResult(response=CreateRemoteCursorResponse(ph_cursor=91)),
        }
        self.proxy: RemoteQueueProxyHandle = add_remote_queue(
            self.scene.manager,
            self.scene.association,
            remote_handle=REMOTE,
            remote_binding_handle=self.call,
            remote_context=CONTEXT,
            path_name="other\\private$\\q",
            format_name="DIRECT=OS:other\\private$\\q",
        )

    def call(self, name: str, request: Any, done: Callable[[CallResult], None]) -> None:
        self.asked.append((name, request))
        if self.waits:
            self.pending.append(done)
        else:
            done(self.answers[name])

    def receive(self, action: int = ACTION_RECEIVE, cursor: int = 0, **old: Any) -> CallResult:
        buffer = receiving(action, 1234, cursor, **{**body_room(), **old})
        return self.scene.receive(buffer, self.proxy.context)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


def started(packet: bytes | None = None, status: int = 0) -> CallResult:
    data = make_packet(b"far away") if packet is None else packet
    description = RemoteReadDesc(lp_buffer=data, dw_size=len(data), dw_arrive_time=77)
    return CallResult(
        response=RemoteQMStartReceiveResponse(
            pph_context=STARTED, lp_remote_read_desc=description, status=status
        )
    )


@pytest.fixture
def remote() -> Remote:
    return Remote()


@pytest.mark.rule("MQMP-3.1.5.3-137")
def test_no_transaction_reaches_a_remote_queue(remote: Remote) -> None:
    create_transaction(remote.scene.manager, bytes(UOW))
    assert remote.receive(p_uow=UOW).status == Status.MQ_ERROR_TRANSACTION_USAGE
    assert remote.asked == []


@pytest.mark.rule("MQMP-3.1.5.3-138", "MQMP-3.1.5.3-139", "MQMP-3.1.5.3-140")
def test_a_remote_read_needs_a_cursor_that_is_known_there(remote: Remote) -> None:
    uninitialised = add_cursor_proxy(remote.scene.manager, remote.proxy)
    for number in (99999, uninitialised.handle):
        assert remote.receive(cursor=number).status == UNKNOWN
    assert remote.asked == []


@pytest.mark.rule("MQMP-3.1.5.3-136", "MQMP-3.1.5.3-141", "MQMP-3.1.5.3-142", "MQMP-3.1.5.3-143")
@pytest.mark.rule("MQMP-3.1.5.3-144", "MQMP-3.1.5.3-145", "MQMP-3.1.5.3-146", "MQMP-3.1.5.3-147")
@pytest.mark.rule("MQMP-3.1.5.3-149", "MQMP-3.1.5.3-150", "MQMP-3.1.5.3-151")
@pytest.mark.parametrize("action", [ACTION_RECEIVE, ACTION_PEEK, ACTION_PEEK_NEXT])
@pytest.mark.parametrize("with_cursor", [False, True])
def test_what_the_other_queue_manager_is_asked(remote: Remote, action: int, with_cursor: bool) -> None:
    cursor = add_cursor_proxy(remote.scene.manager, remote.proxy, 91).handle if with_cursor else 0
    remote.receive(action, cursor)
    name, request = remote.asked[0]
    asked = request.lp_remote_read_desc
    assert name == "RemoteQMStartReceive"
    assert asked == RemoteReadDesc(
        h_remote_queue=CONTEXT,
        h_cursor=91 if with_cursor else 0,
        ul_action=action,
        ul_timeout=1234,
        dw_queue=CONTEXT,
        dw_request_id=asked.dw_request_id,
        reserved=0,
        e_ack_nack=0,
        dw_size=0,
        lp_buffer=None,
    )


@pytest.mark.rule("MQMP-3.1.5.3-148")
def test_calls_that_wait_have_numbers_of_their_own(remote: Remote) -> None:
    remote.waits = True
    for _ in range(3):
        remote.scene.start_receive(receiving(timeout=9), remote.proxy.context)
    assert len({request.lp_remote_read_desc.dw_request_id for _, request in remote.asked}) == 3


@pytest.mark.rule("MQMP-3.1.5.3-152")
@pytest.mark.parametrize("status", [Status.MQ_ERROR_IO_TIMEOUT, Status.MQ_ERROR_MESSAGE_NOT_FOUND])
def test_what_the_start_returns_is_returned(remote: Remote, status: int) -> None:
    remote.answers["RemoteQMStartReceive"] = started(b"", status)
    assert remote.receive().status == status
    assert remote.names == ["RemoteQMStartReceive"]


@pytest.mark.rule("MQMP-3.1.5.3-153", "MQMP-3.1.5.3-154", "MQMP-3.1.5.3-155", "MQMP-3.1.5.3-158")
@pytest.mark.parametrize("status", [Status.MQ_OK, Status.MQ_ERROR_INVALID_HANDLE])
def test_a_message_that_came_over_is_acknowledged(remote: Remote, status: int) -> None:
    remote.answers["RemoteQMEndReceive"] = CallResult(response=HandleResponse(status=status))
    answer = remote.receive(p_arrived_time=0)
    assert answer.status == status
    name, request = remote.asked[1]
    assert (name, request.pph_context, request.dw_ack) == ("RemoteQMEndReceive", STARTED, ACK)
    if status == Status.MQ_OK:
        assert (taken(answer), answer.response.ptb.old.p_arrived_time) == (b"far away", 77)


@pytest.mark.rule("MQMP-3.1.5.3-156", "MQMP-3.1.5.3-159")
@pytest.mark.parametrize("how", ["no packet", "too long"])
def test_a_message_that_did_not_come_over_stays_there(remote: Remote, how: str) -> None:
    if how == "no packet":
        remote.answers["RemoteQMStartReceive"] = started(b"garbage")
        answer = remote.receive()
    else:
        answer = remote.receive(**body_room(3))
    assert answer.status == Status.MQ_ERROR_BUFFER_OVERFLOW
    assert [request.dw_ack for name, request in remote.asked if name == "RemoteQMEndReceive"] == [NACK]


@pytest.mark.rule("MQMP-3.1.5.3-157")
def test_a_peek_has_no_end(remote: Remote) -> None:
    assert taken(remote.receive(ACTION_PEEK)) == b"far away"
    assert remote.names == ["RemoteQMStartReceive"]


@pytest.mark.parametrize("name", ["RemoteQMStartReceive", "RemoteQMEndReceive"])
def test_a_machine_that_is_gone(remote: Remote, name: str) -> None:
    remote.answers[name] = FAULT
    assert remote.receive().status == UNAVAILABLE


def test_a_message_that_comes_when_the_client_is_gone_stays_there(remote: Remote) -> None:
    remote.waits = True
    call = remote.scene.start_receive(receiving(timeout=9), remote.proxy.context)
    remote.scene.client.disconnect()
    remote.waits = False
    remote.pending[0](started())
    assert remote.names == ["RemoteQMStartReceive", "RemoteQMCloseQueue", "RemoteQMEndReceive"]
    assert remote.asked[1][1].pph_context == REMOTE
    assert remote.asked[2][1].dw_ack == NACK
    assert call.status == Status.MQ_ERROR_BUFFER_OVERFLOW
    assert remote.scene.association.handles == {}


@pytest.mark.rule("MQMP-3.1.1-1", "MQMP-3.1.5.3-136")
def test_a_remote_queue_is_found_by_its_number_whoever_opened_it(remote: Remote) -> None:
    request = RpcACReceiveMessageExRequest(h_qm_context=remote.proxy.context, ptb=receiving())
    answer = remote.scene.another_client().call_opnum(2, request)
    assert (answer.status, remote.names) == (Status.MQ_OK, ["RemoteQMStartReceive", "RemoteQMEndReceive"])


def test_a_message_that_comes_when_who_asked_is_gone_stays_there_though_the_queue_is_open() -> None:
    remote = Remote()
    gone = remote.scene.another_client()
    remote.waits = True
    request = RpcACReceiveMessageExRequest(h_qm_context=remote.proxy.context, ptb=receiving())
    gone.start_opnum(2, request)
    gone.disconnect()
    remote.waits = False
    remote.pending[0](started())
    assert remote.names == ["RemoteQMStartReceive", "RemoteQMEndReceive"]
    assert remote.asked[1][1].dw_ack == NACK


def test_nothing_is_sent_through_a_remote_queue(remote: Remote) -> None:
    assert remote.scene.send(sending(), remote.proxy.handle).status == UNKNOWN


@pytest.mark.rule("MQMP-3.1.5.4-12", "MQMP-3.1.5.4-13", "MQMP-3.1.5.4-15", "MQMP-3.1.5.4-16")
@pytest.mark.rule("MQMP-3.1.5.4-17", "MQMP-3.1.5.4-18", "MQMP-3.1.5.4-19")
def test_a_cursor_of_a_remote_queue_is_made_there(remote: Remote) -> None:
    answers = [remote.scene.create_cursor(remote.proxy.handle) for _ in range(2)]
    assert [answer.status for answer in answers] == [Status.MQ_OK] * 2
    assert remote.names == ["R_QMCreateRemoteCursor"] * 2
    assert remote.asked[0][1].h_queue == CONTEXT
    proxies = remote.proxy.cursor_proxy_collection
    assert [answer.response.pcc.h_cursor for answer in answers] == [one.handle for one in proxies]
    assert len({one.handle for one in proxies}) == 2
    assert {(one.remote_cursor_handle, one.is_remote_cursor_handle_initialized) for one in proxies} == {
        (91, True)
    }


@pytest.mark.rule("MQMP-3.1.5.4-14")
@pytest.mark.parametrize(
    "answer", [FAULT, CallResult(response=CreateRemoteCursorResponse(status=Status.MQ_ERROR_INVALID_HANDLE))]
)
def test_a_cursor_that_is_not_made_there_is_not_made_here(remote: Remote, answer: CallResult) -> None:
    remote.answers["R_QMCreateRemoteCursor"] = answer
    assert remote.scene.create_cursor(remote.proxy.handle).status == UNAVAILABLE
    assert remote.proxy.cursor_proxy_collection == []


@pytest.mark.rule("MQMP-3.1.5.4-20", "MQMP-3.1.5.4-21", "MQMP-3.1.5.4-22", "MQMP-3.1.5.4-23")
@pytest.mark.rule("MQMP-2.2.3.4-2", "MQMP-2.2.3.4-3")
def test_old_servers_leave_remote_cursors_to_the_client() -> None:
    remote = Remote(makes_local_cursors=True)
    answer = remote.scene.create_cursor(remote.proxy.handle)
    (cursor,) = remote.proxy.cursor_proxy_collection
    assert answer.status == Status.MQ_INFORMATION_REMOTE_OPERATION
    assert answer.response.pcc == CACCreateRemoteCursor(
        h_cursor=cursor.handle, srv_h_ac_queue=CONTEXT, cli_p_qm_queue=remote.proxy.context
    )
    assert not cursor.is_remote_cursor_handle_initialized
    assert remote.asked == []
    assert remote.receive(cursor=cursor.handle).status == UNKNOWN
