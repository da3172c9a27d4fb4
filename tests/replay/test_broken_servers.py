"""Servers of qm2qm, qmcomm and qmcomm2 that break one rule of a conversation: it is found, and no other."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from msmq_wire.records.record import Record
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CACCreateRemoteCursor,
    CACTransferBufferV1,
    TransferSend,
)
from msmq_wire.rpc.types.queue_format import ObjectFormat, QueueFormat
from msmq_wire.rpc.types.remote_read_descriptor import read_descriptor
from msmq_wire.wire.types.guid import GUID
from tests.lab.model.qmcomm.qmcomm2_scene import body, body_room, receiving, sending
from tests.replay.servers import LOOKUP, METHODS, START, START2, Call, Servers, granted, rules
from tests.replay.test_answers import conversation, in_descriptor, in_second

_PEEK, _NEXT = 0x80000000, 0x80000001
_TIMED_OUT, _CANCELED = 0xC00E001B, 0x400E03E9


def reported(servers: Servers, changed: dict[int, list[Record]]) -> list[tuple[str, str]]:
    """Kind and rule of what is found where some calls are others."""
    assert rules(servers.found()) == []
    return [(str(one.kind), str(one.rule)) for one in servers.found(changed)]


def brings(servers: Servers, place: int, other: int) -> list[Record]:
    """A call that brings the message of another call."""
    source = servers.calls[other].answer.response
    answered = read_descriptor(source)
    assert answered is not None
    call = servers.calls[place]
    response = in_descriptor(lp_buffer=answered.lp_buffer, dw_size=answered.dw_size)(call.answer.response)
    if hasattr(source, "lp_remote_read_desc2"):
        response = in_second(sequential_id=source.lp_remote_read_desc2.sequential_id)(response)
    return call.records(response)


def slower(call: Call, milliseconds: int) -> list[Record]:
    """A call that took another time."""
    return msgspec.structs.replace(call, begun=call.ended - milliseconds).records()


@pytest.mark.parametrize(
    ("method", "more", "rule"),
    [
        (START, {}, "MQQP-3.1.4.1-2"),
        (START2, {}, "MQQP-3.1.4.10-3"),
        (LOOKUP, {"ul_action": 0x40000021}, "MQQP-3.1.4.11-30"),
    ],
)
def test_a_message_that_is_given_twice_is_found(method: str, more: dict[str, Any], rule: str) -> None:
    servers = Servers(clients=2)
    for client in servers.clients:
        servers.put()
        servers.read(method, servers.open_remote(client=client), client, **more)
    last = len(servers.calls) - 1
    first = next(place for place, call in enumerate(servers.calls) if call.method == method)
    assert reported(servers, {last: brings(servers, last, first)}) == [("twice", rule)]


@pytest.mark.parametrize("method", [START, START2])
@pytest.mark.parametrize(("end", "rule"), [("ack", "MQQP-3.1.4.2-10"), ("purge", "MQQP-3.1.4.7-6")])
def test_a_message_that_comes_after_it_was_removed_is_found(method: str, end: str, rule: str) -> None:
    servers = Servers()
    number = servers.open_remote()
    servers.put()
    servers.read(method, number, ul_action=0 if end == "ack" else _PEEK)
    first = len(servers.calls) - 1
    if end == "ack":
        servers.call("RemoteQMEndReceive", None, pph_context=servers.clients[0].received[0], dw_ack=2)
    else:
        servers.call("RemoteQMPurgeQueue", None, h_queue=number)
    servers.put()
    servers.wait(10)
    servers.read(method, number, ul_action=_PEEK)
    last = len(servers.calls) - 1
    assert reported(servers, {last: brings(servers, last, first)}) == [("gone", rule)]


def test_a_message_that_is_put_back_may_come_again() -> None:
    servers = Servers()
    number = servers.open_remote()
    servers.put()
    for _ in range(2):
        servers.read(START2, number)
        taken = servers.clients[0].received[-1]
        servers.call("RemoteQMEndReceive", None, pph_context=taken, dw_ack=1)
    assert rules(servers.found()) == []


@pytest.mark.parametrize(("method", "rule"), [(START, "MQQP-3.1.4.1-24"), (START2, "MQQP-3.1.4.10-26")])
def test_a_message_that_is_passed_over_is_found(method: str, rule: str) -> None:
    servers = Servers()
    number = servers.open_remote()
    servers.put(priority=1)
    servers.read(method, number, ul_action=_PEEK)
    low = len(servers.calls) - 1
    servers.put(priority=6)
    for _ in range(3):
        servers.read(method, number, ul_action=_PEEK)
    assert reported(servers, {low + 2: brings(servers, low + 2, low)}) == [("order", rule)]


@pytest.mark.parametrize(("method", "rule"), [(START, "MQQP-3.1.4.1-35"), (START2, "MQQP-3.1.4.10-37")])
@pytest.mark.parametrize("took", [100, 60_000])
def test_a_wait_that_ends_at_the_wrong_time_is_found(method: str, rule: str, took: int) -> None:
    servers = Servers()
    servers.read(method, servers.open_remote(), ul_timeout=5000)
    servers.wait(6000)
    last = len(servers.calls) - 1
    assert reported(servers, {last: slower(servers.calls[last], took)}) == [("time", rule)]


@pytest.mark.parametrize("took", [100, 60_000])
def test_a_wait_of_an_application_that_ends_at_the_wrong_time_is_found(took: int) -> None:
    servers = Servers()
    _, context = servers.open()
    buffer = receiving(timeout=5000)
    servers.call("rpc_ACReceiveMessageEx", None, h_qm_context=context, ptb=buffer)
    servers.wait(6000)
    last = len(servers.calls) - 1
    assert reported(servers, {last: slower(servers.calls[last], took)}) == [("time", "MQMP-3.1.5.3-170")]


@pytest.mark.parametrize(("method", "rule"), [(START, "MQQP-3.1.4.1-36"), (START2, "MQQP-3.1.4.10-38")])
def test_a_read_that_brings_a_message_though_it_was_cancelled_is_found(method: str, rule: str) -> None:
    servers = Servers()
    number = servers.open_remote()
    servers.put()
    servers.read(method, number, ul_action=_PEEK)
    servers.call("RemoteQMPurgeQueue", None, h_queue=number)
    servers.read(method, number, ul_timeout=5000, ul_action=_PEEK, dw_request_id=3, delay=50)
    servers.wait(1000)
    servers.call("RemoteQMCancelReceive", None, h_queue=number, p_queue=number, dw_request_id=3)
    place = next(place for place, call in enumerate(servers.calls) if call.answer.status == _CANCELED)
    found = reported(servers, {place: granted(servers.calls[place])})
    assert ("cancel", rule) in found


@pytest.mark.parametrize(("answered", "rule"), [(False, "MQQP-3.1.4.6-5"), (True, "MQQP-3.1.4.6-7")])
def test_a_cancel_of_nothing_is_found(answered: bool, rule: str) -> None:
    servers = Servers()
    number = servers.open_remote()
    if answered:
        servers.put()
        servers.read(START, number, ul_action=_PEEK, dw_request_id=3)
    servers.call("RemoteQMCancelReceive", None, h_queue=number, p_queue=number, dw_request_id=3)
    assert reported(servers, servers.last_granted()) == [("cancel", rule)]


@pytest.mark.parametrize(("method", "rule"), [(START, "MQQP-3.1.4.1-6"), (START2, "MQQP-3.1.4.10-8")])
def test_a_request_identifier_that_is_in_use_is_found(method: str, rule: str) -> None:
    servers = Servers()
    number = servers.open_remote()
    for _ in range(2):
        servers.read(method, number, ul_timeout=5000, ul_action=_PEEK, dw_request_id=3)
    assert servers.calls[-1].answer.status == 0xC00E0006
    servers.wait(2000)
    servers.put()
    refused = len(servers.calls) - 2
    call = msgspec.structs.replace(
        servers.calls[refused],
        ended=servers.calls[-1].ended + 1,
        answer=servers.calls[-1].answer,
    )
    assert reported(servers, {refused: call.records()})[-1] == ("reqid", rule)


def test_a_transaction_that_is_enlisted_twice_is_found() -> None:
    servers = Servers()
    for _ in range(2):
        servers.call("R_QMEnlistInternalTransaction", None, p_uow=GUID(b"one transaction."))
    assert reported(servers, {1: granted(servers.calls[1])})[-1] == ("handle", "MQMP-3.1.4.14-3")


_AFTER_CLOSE: list[tuple[str, str, dict[str, Any]]] = [
    ("MQQP-3.1.4.1-10", START, {}),
    ("MQQP-3.1.4.10-12", START2, {}),
    ("MQQP-3.1.4.11-13", LOOKUP, {"ul_action": 0x40000011}),
    ("MQQP-3.1.4.4-2", "RemoteQMCloseQueue", {"pph_context": "session"}),
    ("MQQP-3.1.4.5-3", "RemoteQMCloseCursor", {"h_queue": "number", "h_cursor": 5}),
    ("MQQP-3.1.4.6-4", "RemoteQMCancelReceive", {"h_queue": "number", "p_queue": 1, "dw_request_id": 3}),
    ("MQQP-3.1.4.7-1", "RemoteQMPurgeQueue", {"h_queue": "number"}),
    (
        "MQMP-3.1.4.4-4",
        "R_QMCreateRemoteCursor",
        {"h_queue": "number", "ptb1": CACTransferBufferV1(arm=TransferSend())},
    ),
    ("MQMP-3.1.4.18-2", "rpc_ACCloseHandle", {"ph_queue": "handle"}),
    ("MQMP-3.1.4.19-2", "rpc_ACCloseCursor", {"h_queue": "handle", "h_cursor": 5}),
    ("MQMP-3.1.4.21-2", "rpc_ACHandleToFormatName", {"h_queue": "handle"}),
    ("MQMP-3.1.4.22-2", "rpc_ACPurgeQueue", {"h_queue": "handle"}),
    ("MQMP-3.1.5.2-4", "rpc_ACSendMessageEx", {"h_queue": "handle", "ptb": sending()}),
    ("MQMP-3.1.5.3-4", "rpc_ACReceiveMessageEx", {"h_qm_context": "context", "ptb": receiving()}),
    ("MQMP-3.1.5.4-3", "rpc_ACCreateCursorEx", {"h_queue": "handle", "pcc": CACCreateRemoteCursor()}),
    ("MQMP-3.1.4.3-6", "R_QMCloseRemoteQueueContext", {"pph_context": "remote"}),
    ("MQMP-3.1.4.15-3", "R_QMCommitTransaction", {"ph_int_xact": "transaction"}),
    ("MQMP-3.1.4.16-3", "R_QMAbortTransaction", {"ph_int_xact": "transaction"}),
]


@pytest.mark.parametrize(("rule", "method", "values"), _AFTER_CLOSE)
def test_who_goes_on_with_what_is_closed_is_found(rule: str, method: str, values: dict[str, Any]) -> None:
    servers = Servers()
    handle, context = servers.open()
    number = servers.open_remote()
    remote = servers.calls[-2].answer.response.pph_context
    session = servers.clients[0].sessions[0][0]
    begun = servers.call("R_QMEnlistInternalTransaction", None, p_uow=GUID(b"one transaction."))
    assert begun is not None
    transaction = begun.response.ph_int_xact
    servers.call("R_QMCommitTransaction", None, ph_int_xact=transaction)
    servers.call("RemoteQMCloseQueue", None, pph_context=session)
    servers.call("rpc_ACCloseHandle", None, ph_queue=handle)
    servers.call("R_QMCloseRemoteQueueContext", None, pph_context=remote)
    servers.wait(10)
    known = {
        "handle": handle,
        "context": context,
        "number": number,
        "session": session,
        "remote": remote,
        "transaction": transaction,
    }
    servers.ask(method, number, known, values)
    assert ("handle", rule) in reported(servers, servers.last_granted())


_NULL_HANDLES = [
    ("MQQP-3.1.4.2-1", "RemoteQMEndReceive", {"dw_ack": 2}),
    ("MQQP-3.1.4.4-1", "RemoteQMCloseQueue", {}),
    ("MQMP-3.1.4.15-2", "R_QMCommitTransaction", {}),
    ("MQMP-3.1.4.16-2", "R_QMAbortTransaction", {}),
]


@pytest.mark.parametrize(("rule", "method", "values"), _NULL_HANDLES)
def test_who_takes_no_handle_is_found(rule: str, method: str, values: dict[str, Any]) -> None:
    servers = Servers()
    servers.call(method, None, **values)
    assert reported(servers, {0: granted(servers.calls[0])}) == [("handle", rule)]


def test_an_end_of_what_has_ended_is_found() -> None:
    servers = Servers()
    servers.put()
    servers.read(START, servers.open_remote())
    taken = servers.clients[0].received[0]
    for _ in range(2):
        servers.call("RemoteQMEndReceive", None, pph_context=taken, dw_ack=2)
        servers.wait(10)
    assert reported(servers, servers.last_granted()) == [("end", "MQQP-3.1.4.2-2")]


@pytest.mark.parametrize(
    ("rule", "method", "access"),
    [
        ("MQQP-3.1.4.1-13", START, 0x20),
        ("MQQP-3.1.4.10-15", START2, 0x20),
        ("MQQP-3.1.4.11-16", LOOKUP, 0x20),
        ("MQQP-3.1.4.7-4", "RemoteQMPurgeQueue", 0x20),
        ("MQMP-3.1.4.22-4", "rpc_ACPurgeQueue", 0x20),
        ("MQMP-3.1.4.22-4", "rpc_ACPurgeQueue", 2),
        ("MQMP-3.1.5.2-2", "rpc_ACSendMessageEx", 1),
        ("MQMP-3.1.5.3-162", "rpc_ACReceiveMessageEx", 2),
        ("MQMP-3.1.5.3-163", "rpc_ACReceiveMessageEx", 0x20),
    ],
)
def test_who_does_what_the_queue_was_not_opened_for_is_found(rule: str, method: str, access: int) -> None:
    servers = Servers()
    servers.put()
    if method in (START, START2, LOOKUP):
        more: dict[str, Any] = {"ul_action": 0x40000021} if method == LOOKUP else {}
        servers.read(method, servers.open_remote(access), **more)
    elif method == "RemoteQMPurgeQueue":
        servers.call(method, None, h_queue=servers.open_remote(access))
    elif method == "rpc_ACReceiveMessageEx":
        servers.call(method, None, h_qm_context=servers.open(access)[1], ptb=receiving())
    else:
        more = {"ptb": sending()} if method == "rpc_ACSendMessageEx" else {}
        servers.call(method, None, h_queue=servers.open(access)[0], **more)
    found = servers.found(servers.last_granted())
    assert rule in [str(one.rule) for one in found if one.kind in (ReplayKind.ACCESS, ReplayKind.PURGE)]
    assert rules(servers.found()) == []


@pytest.mark.parametrize(
    ("rule", "method", "which"),
    [
        ("MQQP-3.1.4.1-15", START, "unknown"),
        ("MQQP-3.1.4.1-15", START, "other"),
        ("MQQP-3.1.4.10-17", START2, "unknown"),
        ("MQQP-3.1.4.10-17", START2, "other"),
        ("MQQP-3.1.4.5-4", "RemoteQMCloseCursor", "unknown"),
        ("MQQP-3.1.4.5-4", "RemoteQMCloseCursor", "other"),
        ("MQMP-3.1.5.3-9", "rpc_ACReceiveMessageEx", "unknown"),
        ("MQMP-3.1.5.3-10", "rpc_ACReceiveMessageEx", "other"),
        ("MQMP-3.1.5.3-11", "rpc_ACReceiveMessageEx", "closed"),
        ("MQMP-3.1.4.19-4", "rpc_ACCloseCursor", "unknown"),
        ("MQMP-3.1.4.19-6", "rpc_ACCloseCursor", "other"),
    ],
)
def test_a_cursor_that_is_not_there_is_found(rule: str, method: str, which: str) -> None:
    servers = Servers()
    servers.put()
    far = method in (START, START2, "RemoteQMCloseCursor")
    cursors = []
    for _ in range(2):
        if far:
            number = servers.open_remote()
            made = servers.call(
                "R_QMCreateRemoteCursor", None, h_queue=number, ptb1=CACTransferBufferV1(arm=TransferSend())
            )
            assert made is not None
            cursors.append(made.response.ph_cursor)
        else:
            handle, context = servers.open()
            made = servers.call("rpc_ACCreateCursorEx", None, h_queue=handle, pcc=CACCreateRemoteCursor())
            assert made is not None
            cursors.append(made.response.pcc.h_cursor)
    cursor = {"unknown": 77, "other": cursors[0], "closed": cursors[1]}[which]
    if which == "closed":
        servers.call("rpc_ACCloseCursor", None, h_queue=handle, h_cursor=cursor)
    servers.wait(10)
    if method in (START, START2):
        servers.read(method, number, h_cursor=cursor, ul_action=_PEEK)
    elif far:
        servers.call(method, None, h_queue=number, h_cursor=cursor)
    elif method == "rpc_ACCloseCursor":
        servers.call(method, None, h_queue=handle, h_cursor=cursor)
    else:
        buffer = receiving(_PEEK, cursor=cursor, **body_room())
        servers.call(method, None, h_qm_context=context, ptb=buffer)
    assert ("cursor", rule) in reported(servers, servers.last_granted())


@pytest.mark.parametrize(
    ("rule", "method", "wanted"),
    [
        ("MQQP-3.1.4.1-4", START, {"dw_queue": 0}),
        ("MQQP-3.1.4.1-5", START, {"dw_queue": 999}),
        ("MQQP-3.1.4.1-8", START, {"ul_action": _NEXT}),
        ("MQQP-3.1.4.1-9", START, {"ul_action": 3}),
        ("MQQP-3.1.4.10-6", START2, {"dw_queue": 0}),
        ("MQQP-3.1.4.10-7", START2, {"dw_queue": 999}),
        ("MQQP-3.1.4.10-10", START2, {"ul_action": _NEXT}),
        ("MQQP-3.1.4.10-11", START2, {"ul_action": 3}),
        ("MQQP-3.1.4.11-4", LOOKUP, {"h_remote_queue": 0, "ul_action": 0x40000011}),
        ("MQQP-3.1.4.11-5", LOOKUP, {"ul_timeout": 5, "ul_action": 0x40000011}),
        ("MQQP-3.1.4.11-6", LOOKUP, {"h_cursor": 5, "ul_action": 0x40000011}),
        ("MQQP-3.1.4.11-7", LOOKUP, {"ul_action": 0}),
        ("MQQP-3.1.4.11-8", LOOKUP, {"ul_action": 0x40000010}),
        ("MQQP-3.1.4.11-9", LOOKUP, {"ul_action": 0x40000012}),
        ("MQQP-3.1.4.11-10", LOOKUP, {"ul_action": 0x40000020}),
        ("MQQP-3.1.4.11-11", LOOKUP, {"ul_action": 0x40000022}),
        ("MQMP-3.1.5.3-7", "rpc_ACReceiveMessageEx", {"action": 0x40000010}),
        ("MQMP-3.1.5.3-176", "rpc_ACReceiveMessageEx", {"action": _NEXT}),
    ],
)
def test_an_action_that_its_parameters_forbid_is_found(
    rule: str, method: str, wanted: dict[str, Any]
) -> None:
    servers = Servers()
    servers.put()
    if method == "rpc_ACReceiveMessageEx":
        servers.call(method, None, h_qm_context=servers.open()[1], ptb=receiving(**wanted))
    else:
        servers.read(method, servers.open_remote(), **wanted)
    assert ("action", rule) in reported(servers, servers.last_granted())


@pytest.mark.parametrize(
    ("action", "rule"), [(0x40000010, "MQQP-3.1.4.11-27"), (0x40000011, "MQQP-3.1.4.11-28")]
)
def test_a_lookup_that_brings_another_message_is_found(action: int, rule: str) -> None:
    servers = Servers()
    number = servers.open_remote()
    for _ in range(3):
        servers.put()
    servers.read(START2, number, ul_action=_PEEK)
    first = servers.calls[-1].answer.response.lp_remote_read_desc2.sequential_id
    whole = [one.message_reference.lookup_identifier for one in servers.queues[0].message_position_list]
    wanted = next(one for one in whole if one & ((1 << 56) - 1) == first)
    servers.read(LOOKUP, number, ul_action=action, lookup_id=wanted)
    call = servers.calls[-1]
    assert call.answer.status == 0
    wrong = first + 9 if action == 0x40000010 else first
    changed = call.records(in_second(sequential_id=wrong)(call.answer.response))
    assert ("lookup", rule) in reported(servers, {len(servers.calls) - 1: changed})


_SUCCESSES = {
    "peek": "MQQP-3.1.4.1-48",
    "peek 2": "MQQP-3.1.4.10-51",
    "peek by lookup": "MQQP-3.1.4.11-48",
    "end": "MQQP-3.1.4.2-18",
    "open over qm2qm": "MQQP-3.1.4.3-15",
    "close over qm2qm": "MQQP-3.1.4.4-14",
    "open for qm2qm": "MQMP-3.1.4.2-35",
    "remote cursor": "MQMP-3.1.4.4-9",
    "security": "MQMP-3.1.4.7-26",
    "format": "MQMP-3.1.4.11-13",
    "whereabouts": "MQMP-3.1.4.12-11",
    "enlist": "MQMP-3.1.4.14-8",
    "Commit": "MQMP-3.1.4.15-9",
    "Abort": "MQMP-3.1.4.16-9",
    "open": "MQMP-3.1.4.17-57",
    "close": "MQMP-3.1.4.18-5",
    "name": "MQMP-3.1.4.21-12",
    "registry 0": "MQMP-3.1.4.23-10",
    "send": "MQMP-3.1.5.2-103",
    "receive": "MQMP-3.1.5.3-171",
    "cursor": "MQMP-3.1.5.4-9",
}


@pytest.mark.parametrize(("name", "rule"), _SUCCESSES.items())
def test_a_success_that_the_method_does_not_have_is_found(name: str, rule: str) -> None:
    servers, places = conversation()
    call = servers.calls[places[name]]
    changed = call.records(msgspec.structs.replace(call.answer.response, status=1))
    assert ("status", rule) in reported(servers, {places[name]: changed})


@pytest.mark.parametrize(
    ("rule", "method", "make"),
    [
        ("MQQP-3.1.4.5-7", "RemoteQMCloseCursor", "number"),
        ("MQQP-3.1.4.6-17", "RemoteQMCancelReceive", "number"),
        ("MQQP-3.1.4.7-9", "RemoteQMPurgeQueue", "number"),
        ("MQMP-3.1.4.19-5", "rpc_ACCloseCursor", "handle"),
        ("MQMP-3.1.4.22-6", "rpc_ACPurgeQueue", "handle"),
    ],
)
def test_another_success_that_the_method_does_not_have_is_found(rule: str, method: str, make: str) -> None:
    servers = Servers()
    handle: Any = servers.open_remote() if make == "number" else servers.open()[0]
    servers.call(method, None, h_queue=handle)
    call = servers.calls[-1]
    response = call.answer.response
    changed = call.records(msgspec.structs.replace(response, status=1))
    assert ("status", rule) in reported(servers, {len(servers.calls) - 1: changed})


@pytest.mark.parametrize(
    ("rule", "method", "asked"),
    [
        ("MQMP-3.1.4.1-6", "R_QMGetRemoteQueueName", {}),
        ("MQMP-3.1.4.6-18", "R_QMSetObjectSecurityInternal", {"p_object_format": ObjectFormat(obj_type=2)}),
        ("MQMP-3.1.4.8-12", "R_QMDeleteObject", {"p_object_format": ObjectFormat(obj_type=2)}),
        ("MQMP-3.1.4.13-13", "R_QMEnlistTransaction", {}),
        ("MQMP-3.1.4.20-7", "rpc_ACSetCursorProperties", {}),
        ("MQMP-3.1.5.1-13", "QMSendMessageInternalEx", {"p_queue_format": QueueFormat(), "ptb": sending()}),
    ],
)
def test_a_success_that_a_method_which_was_refused_does_not_have_is_found(
    rule: str, method: str, asked: dict[str, Any]
) -> None:
    servers = Servers()
    servers.call(method, None, **asked)
    response = METHODS[method][1].response.cls(status=1)
    assert ("status", rule) in reported(servers, {0: servers.calls[0].records(response)})


def test_a_peek_changes_nothing_that_is_told() -> None:
    servers = Servers()
    number = servers.open_remote()
    servers.put()
    servers.call("rpc_ACSendMessageEx", None, h_queue=servers.open(2)[0], ptb=sending(**body(b"x")))
    for method in (START, START2):
        servers.read(method, number, ul_action=_PEEK)
    call = servers.calls[-1]
    other = call.records(in_descriptor(reserved=0)(call.answer.response))
    assert reported(servers, {len(servers.calls) - 1: other}) == []
