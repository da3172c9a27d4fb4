"""Servers of qm2qm, qmcomm and qmcomm2 that keep all rules are never found to break one; liars are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CACCreateRemoteCursor,
    CACTransferBufferV1,
    TransferSend,
)
from tests.lab.model.qmcomm.qmcomm2_scene import ROOM, body, body_room, receiving, sending
from tests.replay.servers import LOOKUP, START, START2, Reader, Servers, granted, rules
from tests.replay.test_sent import FULL_MESSAGE, ROOM_FOR_ALL, ROOM_FOR_NAMES

_ACTIONS = (0, 0, 0x80000000, 0x80000001, 7)
_LOOKUPS = (0x40000010, 0x40000011, 0x40000012, 0x40000020, 0x40000021, 0x40000022, 0)
_BUFFER = CACTransferBufferV1(arm=TransferSend())
_STEP = st.tuples(
    st.integers(0, 1), st.integers(0, 14), st.integers(0, 7), st.integers(0, 7), st.integers(1, 30)
)


def step(servers: Servers, who: Reader, kind: int, one: int, other: int, delay: int) -> None:
    """One step of a client; what it cannot do because it has nothing is an opening."""
    if kind == 0:
        servers.put(one % 2, other)
    elif kind == 1:
        servers.wait(one * 400)
    elif kind <= 8:
        _over_qm2qm(servers, who, kind, one, other, delay)
    else:
        _over_qmcomm(servers, who, kind, one, other, delay)


def _open_remote(servers: Servers, who: Reader, one: int, other: int) -> None:
    asked: dict[str, Any] = {
        "p_queue_format": servers.format(one % 2),
        "dw_desired_access": (1, 0x20)[other % 2],
        "dw_share_mode": int(one == 7),
    }
    opened = servers.call("R_QMOpenRemoteQueue", None, who, **asked)
    if opened is None or opened.status:
        return
    number, context = opened.response.ph_queue, opened.response.pph_context
    servers.call("RemoteQMOpenQueue", None, who, h_queue=number, p_queue=number, dwp_context=number)
    if other > 3:
        servers.call("R_QMCloseRemoteQueueContext", None, who, pph_context=context)


def _open(servers: Servers, who: Reader, one: int, other: int) -> None:
    asked: dict[str, Any] = {
        "p_queue_format": servers.format(one % 2),
        "dw_desired_access": (1, 0x20, 2)[other % 3],
        "dw_share_mode": int(one > 5 and other % 3 < 2),
        "lplp_remote_queue_name": NULL_POINTEE,
    }
    servers.call("rpc_QMOpenQueueInternal", None, who, **asked)


def _over_qm2qm(servers: Servers, who: Reader, kind: int, one: int, other: int, delay: int) -> None:
    if kind == 2 or not who.sessions:
        _open_remote(servers, who, one, other)
        return
    session, number = who.sessions[one % len(who.sessions)]
    cursor = who.cursors[other % len(who.cursors)] if who.cursors else (number, 77)
    match kind:
        case 3:
            servers.read(START, number, who, delay, dw_request_id=other, ul_action=_ACTIONS[one % 5])
        case 4:
            servers.read(START2, number, who, delay, dw_request_id=other, ul_timeout=500 * one)
        case 5 if one % 2:
            there = servers.queues[one % 2].message_position_list
            names = [slot.message_reference.lookup_identifier for slot in there] or [one]
            names += [0, (1 << 64) - 1, one]
            wanted = {"ul_action": _LOOKUPS[other % 7], "lookup_id": names[delay % len(names)]}
            servers.read(LOOKUP, number, who, delay, **wanted)
        case 5:
            more = {"h_cursor": cursor[1], "ul_action": _ACTIONS[other % 4]}
            servers.read((START, START2)[other % 2], cursor[0], who, delay, dw_request_id=9, **more)
        case 6 if who.received:
            taken = who.received[other % len(who.received)]
            servers.call("RemoteQMEndReceive", None, who, delay, pph_context=taken, dw_ack=1 + one % 2)
        case 7 if other % 2:
            servers.call("R_QMCreateRemoteCursor", None, who, delay, h_queue=number, ptb1=_BUFFER)
        case 7:
            asked = {"h_queue": number, "p_queue": number, "dw_request_id": other}
            servers.call("RemoteQMCancelReceive", None, who, delay, **asked)
        case _ if other == 0:
            servers.call("RemoteQMCloseQueue", None, who, delay, pph_context=session)
        case _ if other == 1:
            servers.call("RemoteQMPurgeQueue", None, who, delay, h_queue=number)
        case _ if other < 4:
            servers.call("RemoteQMCloseCursor", None, who, delay, h_queue=cursor[0], h_cursor=cursor[1])


def _over_qmcomm(servers: Servers, who: Reader, kind: int, one: int, other: int, delay: int) -> None:
    if kind == 9 or not who.handles:
        _open(servers, who, one, other)
        return
    handle, context = who.handles[one % len(who.handles)]
    match kind:
        case 10 | 11:
            cursor = who.own_cursors[other % len(who.own_cursors)] if who.own_cursors and other > 3 else 0
            how: dict[str, Any] = {"cursor": cursor} | body_room()
            if one > 5:
                how |= ROOM_FOR_ALL | {"arm": ROOM_FOR_NAMES}
            elif one > 1:
                how |= {"pp_message_id": ROOM, "p_sent_time": 0, "p_priority": 0}
            buffer = receiving(_ACTIONS[other % 5], 500 * (one % 3), **how)
            servers.call("rpc_ACReceiveMessageEx", None, who, delay, h_qm_context=context, ptb=buffer)
        case 12:
            more = FULL_MESSAGE if one > 5 else {"p_priority": other} | body(b"body" * one)
            buffer = sending(**more)
            servers.call(
                "rpc_ACSendMessageEx", None, who, delay, h_queue=handle, ptb=buffer, p_message_id=ROOM
            )
        case 13 if other > 1:
            made = CACCreateRemoteCursor()
            answer = servers.call("rpc_ACCreateCursorEx", None, who, delay, h_queue=handle, pcc=made)
            if answer is not None and answer.status == 0:
                who.own_cursors.append(answer.response.pcc.h_cursor)
        case 13:
            closed = who.own_cursors[one % len(who.own_cursors)] if who.own_cursors else 7
            servers.call("rpc_ACCloseCursor", None, who, delay, h_queue=handle, h_cursor=closed)
        case _ if other < 2:
            servers.call("rpc_ACCloseHandle", None, who, delay, ph_queue=handle)
        case _:
            servers.call("rpc_ACPurgeQueue", None, who, delay, h_queue=handle)


def talk(steps: list[tuple[int, int, int, int, int]]) -> Servers:
    """A conversation; everything that waits ends."""
    servers = Servers(clients=2)
    for who, *what in steps:
        step(servers, servers.clients[who], *what)
    servers.wait(10_000)
    return servers


@given(st.lists(_STEP, max_size=40))
def test_no_conversation_with_honest_servers_deviates(steps: list[tuple[int, int, int, int, int]]) -> None:
    found = talk(steps).found()
    assert [(str(one.rule), one.message) for one in found] == []


_REFUSED = {
    "RemoteQMStartReceive",
    "RemoteQMStartReceive2",
    "RemoteQMCloseQueue",
    "RemoteQMEndReceive",
    "rpc_ACCloseHandle",
    "rpc_ACSendMessageEx",
    "rpc_ACPurgeQueue",
}
_BY_PARAMETERS_OR_HANDLES = {0xC00E0006, 0xC00E0007, 0xC00E0025, 0xC000000D, 0x1C00001A}


@pytest.mark.slow
@given(st.lists(_STEP, min_size=8, max_size=40), st.integers(0, 100))
def test_a_refusal_that_is_turned_into_a_success_is_found(
    steps: list[tuple[int, int, int, int, int]], which: int
) -> None:
    servers = talk(steps)
    refused = [
        number
        for number, call in enumerate(servers.calls)
        if call.method in _REFUSED and call.answer.status in _BY_PARAMETERS_OR_HANDLES
    ]
    assume(refused)
    lie = refused[which % len(refused)]
    found = servers.found({lie: granted(servers.calls[lie])})
    assert (servers.calls[lie].ended,) in [one.frames for one in found]
    assert rules(found)
