"""Servers that let go on what has ended, or give to two what is one's alone, are found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.records.record import Record
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.interfaces.qmcomm_queues import CreateRemoteCursorResponse
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.types.cac_transfer_buffer import CACCreateRemoteCursor, CACTransferBufferV1, TransferSend
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.qmcomm.qmcomm2_scene import ROOM, body, receiving, sending
from tests.lab.model.qmcomm.scene import OtherQueueManager
from tests.replay.servers import LOOKUP, START, START2, Call, Servers, granted, rules
from tests.replay.test_answers import put
from tests.replay.test_broken_servers import reported, slower
from tests.replay.test_refusals import public_name, queue_object
from tests.replay.world import call_record

_PEEK, _TIMED_OUT = 0x80000000, 0xC00E001B
_UNIT = GUID(b"one transaction.")
_FAR: dict[str, Any] = {
    "p_queue_format": QueueFormat.of(FormatName.parse("DIRECT=OS:elsewhere\\private$\\far")),
    "lplp_remote_queue_name": NULL_POINTEE,
    "h_remote_queue": 7,
    "dwp_queue": 8,
    "dwp_remote_context": 9,
}


def given(servers: Servers, place: int, **values: Any) -> list[Record]:
    """A call that was refused, as one that opens a queue."""
    call = servers.calls[place]
    source = next(one for one in servers.calls if one.method == call.method and not one.answer.status)
    return call.records(msgspec.structs.replace(source.answer.response, **values))


def _open(servers: Servers, method: str, client: int, access: int, share: int) -> CallResult:
    asked: dict[str, Any] = {
        "p_queue_format": servers.format(),
        "dw_desired_access": access,
        "dw_share_mode": share,
    }
    if method == "rpc_QMOpenQueueInternal":
        asked["lplp_remote_queue_name"] = NULL_POINTEE
    answer = servers.call(method, None, servers.clients[client], **asked)
    assert answer is not None
    servers.wait(10)
    return answer


_LOCAL, _REMOTE = "rpc_QMOpenQueueInternal", "R_QMOpenRemoteQueue"
_OTHER: dict[str, dict[str, Any]] = {
    _LOCAL: {"ph_queue": ContextHandle(uuid=GUID(b"another handle..")), "pdw_qm_context": 999},
    _REMOTE: {"pph_context": ContextHandle(uuid=GUID(b"another handle.."))},
}


@pytest.mark.parametrize("first", [_LOCAL, _REMOTE])
@pytest.mark.parametrize(
    ("rule", "method", "modes", "asked"),
    [
        ("MQMP-3.1.4.2-16", _REMOTE, (1, 0), (1, 1)),
        ("MQMP-3.1.4.2-17", _REMOTE, (1, 1), (1, 0)),
        ("MQMP-3.1.4.17-19", _LOCAL, (1, 0), (1, 1)),
        ("MQMP-3.1.4.17-20", _LOCAL, (1, 1), (1, 0)),
        ("MQMP-3.1.4.17-19", _LOCAL, (1, 1), (0x20, 1)),
        ("MQMP-3.1.4.17-20", _LOCAL, (0x20, 1), (1, 0)),
    ],
)
def test_a_queue_that_is_opened_though_another_keeps_it_is_found(
    rule: str, method: str, modes: tuple[int, int], asked: tuple[int, int], first: str
) -> None:
    servers = Servers(clients=2)
    _open(servers, first, 0, *modes)
    refused = _open(servers, method, 1, *asked)
    assert refused.status == 0xC00E0009 or refused.fault is not None or refused.status == 0xC0000043
    response = _OTHER[method]
    call = servers.calls[-1]
    if method == _REMOTE:
        response = response | {"pdw_context": 999, "dwp_queue": 999, "ph_queue": 999}
    made = msgspec.structs.replace(_response(method), **response)
    assert ("status", rule) in reported(servers, {len(servers.calls) - 1: call.records(made)})


def _response(method: str) -> Any:
    methods = [one.methods.values() for one in INTERFACES.values()]
    return next(one for group in methods for one in group if one.name == method).response.cls()


@pytest.mark.parametrize("how", ["closed", "peeks", "elsewhere", "session"])
def test_a_queue_that_is_kept_may_be_opened_when_it_is_free_or_to_peek(how: str) -> None:
    servers = Servers(clients=2)
    opened = _open(servers, _REMOTE if how == "session" else _LOCAL, 0, 1, 1)
    if how == "closed":
        servers.call("rpc_ACCloseHandle", None, ph_queue=opened.response.ph_queue)
        servers.wait(10)
    elif how == "session":
        number = opened.response.pdw_context
        servers.call("RemoteQMOpenQueue", None, h_queue=number, p_queue=number, dwp_context=number)
        servers.call("R_QMCloseRemoteQueueContext", None, pph_context=opened.response.pph_context)
        servers.call("RemoteQMCloseQueue", None, pph_context=servers.clients[0].sessions[0][0])
        servers.wait(10)
    if how == "elsewhere":
        servers.open(queue=1, client=servers.clients[1])
    else:
        assert _open(servers, _LOCAL, 1, 0x20 if how == "peeks" else 1, 0).status == 0
    assert rules(servers.found()) == []


@pytest.mark.parametrize("method", [_LOCAL, _REMOTE])
def test_a_queue_is_not_told_to_be_kept_where_it_may_have_been_closed(method: str) -> None:
    servers = Servers(clients=2)
    opened = _open(servers, method, 0, 1, 1)
    if method == _LOCAL:
        servers.call("rpc_ACCloseHandle", None, ph_queue=opened.response.ph_queue)
    else:
        servers.call("R_QMCloseRemoteQueueContext", None, pph_context=opened.response.pph_context)
    sealed = len(servers.calls) - 1
    call = servers.calls[sealed]
    servers.wait(10)
    assert _open(servers, _LOCAL, 1, 1, 0).status == 0
    assert rules(servers.found()) == []
    times = {"begun": call.begun, "ended": call.ended, "stream": call.stream}
    unknown = call_record(call.method, None, None, client=call.client, **times)
    assert rules(servers.found({sealed: unknown})) == []


@pytest.mark.parametrize(
    ("rule", "method", "values"),
    [
        ("MQMP-3.1.1.3-1", _LOCAL, ("ph_queue",)),
        ("MQMP-3.1.1.8-1", _REMOTE, ("pph_context",)),
        ("MQMP-3.1.1.10-1", "R_QMEnlistInternalTransaction", ("ph_int_xact",)),
        ("MQMP-3.1.1.5-1", "proxy", ("ph_queue",)),
        ("MQMP-3.1.1.5-2", "proxy", ("pdw_qm_context",)),
    ],
)
def test_a_handle_that_is_given_twice_is_found(rule: str, method: str, values: tuple[str, ...]) -> None:
    servers = Servers(bind=lambda _: OtherQueueManager())
    for turn in range(2):
        if method == "proxy":
            servers.call(_LOCAL, None, dw_desired_access=1, **_FAR)
        elif method == "R_QMEnlistInternalTransaction":
            servers.call(method, None, p_uow=GUID(b"a transaction, %d" % turn))
        else:
            _open(servers, method, 0, 1, 0)
        servers.wait(10)
    first, second = (one.answer.response for one in servers.calls[-2:])
    again = {name: getattr(first, name) for name in values}
    changed = servers.calls[-1].records(msgspec.structs.replace(second, **again))
    assert ("handle", rule) in reported(servers, {len(servers.calls) - 1: changed})


_DELETED: list[tuple[str, str, dict[str, Any]]] = [
    ("MQQP-3.1.4.1-38", START, {}),
    ("MQQP-3.1.4.10-40", START2, {}),
    ("MQQP-3.1.4.11-37", LOOKUP, {"ul_action": 0x40000011}),
    (
        "MQMP-3.1.4.4-5",
        "R_QMCreateRemoteCursor",
        {"h_queue": "number", "ptb1": CACTransferBufferV1(arm=TransferSend())},
    ),
    ("MQMP-3.1.4.21-7", "rpc_ACHandleToFormatName", {"h_queue": "handle"}),
    ("MQMP-3.1.4.22-3", "rpc_ACPurgeQueue", {"h_queue": "handle"}),
    ("MQMP-3.1.5.2-3", "rpc_ACSendMessageEx", {"h_queue": "sender", "ptb": sending()}),
    ("MQMP-3.1.5.3-3", "rpc_ACReceiveMessageEx", {"h_qm_context": "context", "ptb": receiving()}),
    ("MQMP-3.1.5.4-2", "rpc_ACCreateCursorEx", {"h_queue": "handle", "pcc": CACCreateRemoteCursor()}),
]


@pytest.mark.parametrize(("rule", "method", "values"), _DELETED)
def test_who_goes_on_with_a_deleted_queue_is_found(rule: str, method: str, values: dict[str, Any]) -> None:
    servers = Servers()
    handle, context = servers.open()
    sender, _ = servers.open(2)
    number = servers.open_remote()
    servers.call("R_QMDeleteObject", None, p_object_format=queue_object(servers))
    assert servers.calls[-1].answer.status == 0
    servers.wait(10)
    known: dict[str, Any] = {"handle": handle, "context": context, "number": number, "sender": sender}
    servers.ask(method, number, known, values)
    assert ("handle", rule) in reported(servers, servers.last_granted())


def test_who_ends_a_receive_of_a_deleted_queue_is_found() -> None:
    servers = Servers()
    servers.put()
    servers.read(START, servers.open_remote())
    servers.call("R_QMDeleteObject", None, p_object_format=queue_object(servers))
    servers.wait(10)
    servers.call("RemoteQMEndReceive", None, pph_context=servers.clients[0].received[0], dw_ack=1)
    assert ("handle", "MQQP-3.1.4.2-15") in reported(servers, servers.last_granted())


@pytest.mark.parametrize(
    ("rule", "method"),
    [("MQMP-3.1.5.2-92", "rpc_ACSendMessageEx"), ("MQMP-3.1.5.3-135", "rpc_ACReceiveMessageEx")],
)
@pytest.mark.parametrize("ending", ["R_QMCommitTransaction", "R_QMAbortTransaction"])
def test_who_works_in_a_transaction_that_has_ended_is_found(rule: str, method: str, ending: str) -> None:
    servers = Servers()
    handle, context = servers.open(2 if method == "rpc_ACSendMessageEx" else 1)
    begun = servers.call("R_QMEnlistInternalTransaction", None, p_uow=_UNIT)
    assert begun is not None
    servers.call(ending, None, ph_int_xact=begun.response.ph_int_xact)
    servers.wait(10)
    if method == "rpc_ACSendMessageEx":
        servers.call(method, None, h_queue=handle, ptb=sending(p_uow=_UNIT))
    else:
        servers.call(method, None, h_qm_context=context, ptb=receiving(p_uow=_UNIT))
    assert ("action", rule) in reported(servers, servers.last_granted())


def test_a_transaction_that_is_enlisted_anew_goes_on() -> None:
    servers = Servers()
    handle, _ = servers.open(2)
    for _ in range(2):
        begun = servers.call("R_QMEnlistInternalTransaction", None, p_uow=_UNIT)
        assert begun is not None
        buffer = sending(p_uow=_UNIT, **body(b"x"))
        servers.call("rpc_ACSendMessageEx", None, h_queue=handle, ptb=buffer, p_message_id=ROOM)
        assert servers.calls[-1].answer.status == 0
        servers.call("R_QMCommitTransaction", None, ph_int_xact=begun.response.ph_int_xact)
        servers.wait(10)
    assert rules(servers.found()) == []


def test_who_encrypts_for_a_direct_format_name_is_found() -> None:
    servers = Servers()
    asked = sending(pul_priv_level=1, pul_encrypt_alg=0x6602)
    for name in (servers.format(), public_name(servers)):
        handle, _ = servers.open(2, p_queue_format=name)
        servers.call("rpc_ACSendMessageEx", None, h_queue=handle, ptb=asked)
    changed = {
        place: granted(call) for place, call in enumerate(servers.calls) if call.method.startswith("rpc_ACS")
    }
    assert reported(servers, changed) == [("action", "MQMP-3.1.5.2-11")]


def test_who_sends_through_a_handle_of_a_queue_elsewhere_is_found() -> None:
    servers = Servers(bind=lambda _: OtherQueueManager())
    servers.call(_LOCAL, None, dw_desired_access=1, **_FAR)
    servers.call(
        "rpc_ACSendMessageEx", None, h_queue=servers.calls[-1].answer.response.ph_queue, ptb=sending()
    )
    assert ("access", "MQMP-3.1.5.2-90") in reported(servers, servers.last_granted())


def test_who_receives_in_a_transaction_from_afar_is_found() -> None:
    servers = Servers(bind=lambda _: OtherQueueManager())
    servers.call("R_QMEnlistInternalTransaction", None, p_uow=_UNIT)
    servers.call(_LOCAL, None, dw_desired_access=1, **_FAR)
    context = servers.calls[-1].answer.response.pdw_qm_context
    buffer = receiving(p_uow=_UNIT)
    servers.call("rpc_ACReceiveMessageEx", None, h_qm_context=context, ptb=buffer)
    last = len(servers.calls) - 1
    assert servers.calls[last].answer.status
    assert ("action", "MQMP-3.1.5.3-137") in reported(servers, {last: granted(servers.calls[last])})


def _waiting(method: str) -> tuple[Servers, int]:
    """A read that waits until its queue is closed, and its place."""
    servers = Servers(clients=2)
    if method == "rpc_ACReceiveMessageEx":
        handle, context = servers.open()
        servers.call(method, None, h_qm_context=context, ptb=receiving(timeout=5000))
        servers.wait(1000)
        servers.call("rpc_ACCloseHandle", None, ph_queue=handle)
    else:
        number = servers.open_remote()
        servers.read(method, number, ul_timeout=5000)
        servers.wait(1000)
        servers.call("RemoteQMCloseQueue", None, pph_context=servers.clients[0].sessions[0][0])
    servers.wait(9000)
    return servers, next(place for place, one in enumerate(servers.calls) if one.method == method)


@pytest.mark.parametrize(
    ("rule", "method"),
    [
        ("MQQP-3.1.4.4-6", START),
        ("MQQP-3.1.4.4-6", START2),
        ("MQMP-3.1.4.18-6", "rpc_ACReceiveMessageEx"),
    ],
)
def test_a_read_that_is_left_waiting_when_its_queue_is_closed_is_found(rule: str, method: str) -> None:
    servers, place = _waiting(method)
    call = servers.calls[place]
    late = msgspec.structs.replace(call, ended=call.begun + 5000)
    response = msgspec.structs.replace(_response(method), status=_TIMED_OUT)
    assert reported(servers, {place: _at(servers, late, response)}) == [("cancel", rule)]


def _at(servers: Servers, call: Call, response: Any) -> list[Record]:
    """A call that ended at another time; it stands there in the capture, too."""
    place = next(place for place, one in enumerate(servers.calls) if one.begun == call.begun)
    servers.calls[place] = call
    return call.records(response)


@pytest.mark.parametrize(
    ("rule", "method", "member"),
    [
        ("MQQP-3.1.4.8-8", "RemoteQMGetQMQMServerPort", "dw_port_type"),
        ("MQMP-3.1.4.24-7", "R_QMGetRTQMServerPort", "f_ip"),
    ],
)
def test_a_port_that_changes_is_found(rule: str, method: str, member: str) -> None:
    servers = Servers()
    for _ in range(2):
        asked: dict[str, Any] = {member: 1}
        servers.call(method, None, **asked)
        servers.wait(10)
    call = servers.calls[-1]
    changed = call.records(put(return_value=2116)(call.answer.response))
    assert reported(servers, {1: changed}) == [("status", rule)]


def test_a_wait_that_is_not_slower_than_the_close_is_none_that_was_left() -> None:
    servers, place = _waiting(START)
    assert reported(servers, {place: slower(servers.calls[place], 900)}) == []
    assert ReplayKind.CANCEL not in [one.kind for one in servers.found()]


_THROWN: list[tuple[str, str, dict[str, Any]]] = [
    ("MQQP-3.1.4-3", "RemoteQMCloseCursor", {"h_queue": 5, "h_cursor": 5}),
    ("MQQP-3.1.4-3", "RemoteQMCancelReceive", {"h_queue": 5, "p_queue": 5}),
    ("MQMP-3.1.4.3-7", "R_QMCloseRemoteQueueContext", {}),
    ("MQMP-3.1.5.1-14", "QMSendMessageInternalEx", {"p_queue_format": QueueFormat(), "ptb": sending()}),
    ("MQMP-3.1.5.2-105", "rpc_ACSendMessageEx", {"ptb": sending()}),
    ("MQMP-3.1.5.3-181", "rpc_ACReceiveMessageEx", {"h_qm_context": 5, "ptb": receiving()}),
    ("MQMP-3.1.5.4-24", "rpc_ACCreateCursorEx", {"pcc": CACCreateRemoteCursor()}),
]


@pytest.mark.parametrize(("rule", "method", "values"), _THROWN)
def test_a_failure_that_is_thrown_and_not_returned_is_found(
    rule: str, method: str, values: dict[str, Any]
) -> None:
    servers = Servers()
    servers.call(method, None, **values)
    call = servers.calls[-1]
    thrown = msgspec.structs.replace(call, answer=CallResult(None, fault=0xC00E0007))
    assert reported(servers, {0: thrown.records()}) == [("status", rule)]


def test_a_purge_may_throw_its_failure() -> None:
    servers = Servers()
    servers.call("RemoteQMPurgeQueue", None, h_queue=5)
    thrown = msgspec.structs.replace(servers.calls[-1], answer=CallResult(None, fault=0xC00E0007))
    assert reported(servers, {0: thrown.records()}) == []


def test_a_cursor_of_another_server_that_is_given_twice_is_found() -> None:
    other = OtherQueueManager()
    other.answers["R_QMCreateRemoteCursor"] = CallResult(CreateRemoteCursorResponse(ph_cursor=5))
    servers = Servers(bind=lambda _: other)
    servers.call(_LOCAL, None, dw_desired_access=1, **_FAR)
    handle = servers.calls[-1].answer.response.ph_queue
    for _ in range(2):
        servers.call("rpc_ACCreateCursorEx", None, h_queue=handle, pcc=CACCreateRemoteCursor())
        servers.wait(10)
    first, second = servers.calls[-2:]
    assert first.answer.status == second.answer.status == 0
    changed = second.records(first.answer.response)
    assert reported(servers, {len(servers.calls) - 1: changed}) == [("cursor", "MQMP-3.1.1.6-1")]
