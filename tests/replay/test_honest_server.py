"""A server that keeps all rules is never found to break one; one that does not check is found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from msmq_wire.records.record import Record
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import GUID
from tests.replay.talk import END, END_TRANSACTIONAL, START, TRANSACTIONAL, Talk
from tests.replay.world import Observed, World, deviations

_ACTIONS = (0, 0x80000000, 0x80000001, 0x40000010, 0x40000011, 0x40000020, 0x40000022, 7)
_STEP = st.tuples(
    st.integers(0, 2), st.integers(0, 12), st.integers(0, 7), st.integers(0, 7), st.integers(0, 30)
)


def _step(world: World, client: Observed, kind: int, one: int, other: int, delay: int) -> None:
    """One step of a client; what it cannot do because it has nothing is an opening."""
    if kind == 0:
        world.put(one % 2, other)
        return
    if kind == 1:
        world.wait(one * 400)
        return
    if kind == 2 or not client.handles:
        world.open(client, one % 2, (1, 0x20, 4, 1)[other % 4], delay)
        return
    handle = client.handles[one % len(client.handles)]
    cursor = client.cursors[other % len(client.cursors)] if client.cursors else (handle, 77)
    match kind:
        case 3 | 4:
            world.start(client, handle, other, delay)
        case 5:
            world.start(client, handle, other, delay, ul_timeout=500 * one)
        case 6:
            world.start(client, handle, 9, delay, ul_action=_ACTIONS[other], lookup_id=one)
        case 7:
            action = (0x80000000, 0x80000001, 0)[one % 3]
            world.start(client, cursor[0], 10, delay, ul_action=action, h_cursor=cursor[1])
        case 8 if client.received:
            ended, request_id = client.received[one % len(client.received)]
            world.end(client, ended, request_id, 1 + other % 2, delay)
        case 9 if client.waiting:
            waiting, request_id = client.waiting[one % len(client.waiting)]
            world.cancel(client, waiting, request_id, delay)
        case 10:
            world.make_cursor(client, handle)
        case 11:
            (world.purge if other % 2 else world.close)(client, handle)
        case _:
            world.close_cursor(client, *cursor)


@given(st.lists(_STEP, max_size=40))
def test_no_conversation_with_an_honest_server_deviates(steps: list[tuple[int, int, int, int, int]]) -> None:
    world = World()
    for who, kind, one, other, delay in steps:
        _step(world, world.clients[who], kind, one, other, delay)
    world.wait(10_000)
    assert [(str(one.rule), one.message) for one in world.deviations()] == []


_ALL = st.tuples(
    st.integers(0, 1),
    st.integers(0, 17),
    st.integers(0, 7),
    st.integers(0, 7),
    st.sampled_from([1, 5, 30, 900]),
)
_TRANSACTIONS = (GUID(bytes(16)), GUID(b"one transaction."), GUID(b"two transactions"))
_SUBS = ("", ";one", ";two")


class _Movers(Talk):
    """What was opened to move, and which messages arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[tuple[ContextHandle, int]] = []
        self.lookups: list[int] = [1]


def _any(talk: _Movers, who: Observed, kind: int, one: int, other: int, delay: int) -> None:
    """One step of a client with any method of the interface."""
    queue, lookup = (2, 2, 2, 0)[other % 4], talk.lookups[-1 - one % len(talk.lookups)]
    if kind < 2:
        talk.lookups.append(talk.arrive(queue, one % 2))
    elif kind == 2:
        talk.wait(one * 600)
    elif kind == 3 or not who.handles:
        share, access = int(other == 7), 0x20 if one == 4 else 1
        name = talk.name(queue, _SUBS[max(0, one - 5)])
        talk.ask("R_OpenQueue", who, delay, p_queue_format=name, dw_access=access, dw_share_mode=share)
    elif kind == 4:
        answer = talk.ask(
            "R_OpenQueueForMove", who, delay, p_queue_format=talk.name(queue, _SUBS[one % 3]), dw_access=4
        )
        if answer is not None and answer.response is not None:
            talk.targets.append((answer.response.pph_context, answer.response.p_move_context))
    else:
        _with_handle(talk, who, kind, one, other, delay, lookup)


def _with_handle(
    talk: _Movers, who: Observed, kind: int, one: int, other: int, delay: int, lookup: int
) -> None:
    asked: dict[str, Any]
    handle = who.handles[-1 - (one % min(3, len(who.handles)))]
    if kind in (5, 6) and talk.targets:
        source = handle if other else talk.targets[0][0]
        unit = _TRANSACTIONS[(0, 0, 1)[other % 3]]
        target = talk.targets[other % len(talk.targets)][1]
        asked = {"ull_context_to": target, "lookup_id": lookup, "p_transaction_id": unit}
        talk.ask("R_MoveMessage", who, delay, ph_context_from=source, **asked)
    elif kind in (7, 8):
        unit, action = _TRANSACTIONS[one % 3], (0, 0, 0x40000020, 0x40000021, 0x80000000)[other % 5]
        values = {"ul_action": action, "lookup_id": lookup if action & 0x40000000 else 0}
        values |= {"ul_timeout": 0 if action & 0x40000000 else one * 700, "dw_request_id": other}
        talk.ask(TRANSACTIONAL, who, delay, ph_context=handle, p_transaction_id=unit, **values)
    elif kind in (9, 10):
        action = (0x40000010, 0x40000011, 0x40000012, 0x40000020, 0x40000021, 0x40000022, 0, 0x80000000)[
            other
        ]
        looks = bool(action & 0x40000000)
        values = {"lookup_id": lookup if looks else 0, "ul_timeout": 0 if looks else one * 700}
        talk.ask(START, who, delay, ph_context=handle, ul_action=action, dw_request_id=one, **values)
    elif kind in (11, 12) and who.cursors:
        handle, cursor = who.cursors[one % len(who.cursors)]
        action, timeout = (0, 0x80000000, 0x80000001)[other % 3], 500 * (other // 4)
        method = TRANSACTIONAL if one == 7 else START
        values = {"h_cursor": cursor, "ul_action": action, "ul_timeout": timeout, "dw_request_id": 8 + one}
        talk.ask(method, who, delay, ph_context=handle, **values)
    elif kind in (13, 14) and who.received:
        handle, request_id = who.received[one % len(who.received)]
        method = END if other % 2 else END_TRANSACTIONAL
        talk.ask(method, who, delay, ph_context=handle, dw_request_id=request_id, dw_ack=1 + other // 4)
    elif kind == 15 and other < 4:
        talk.make_cursor(who, talk.targets[0][0] if talk.targets and one > 6 else handle)
    elif kind == 15 and who.cursors:
        talk.close_cursor(who, *who.cursors[one % len(who.cursors)])
    elif kind == 16 and who.waiting:
        talk.cancel(who, *who.waiting[one % len(who.waiting)], delay)
    elif kind == 16:
        us_class = 0xC004 if other else 5
        talk.ask("R_SetUserAcknowledgementClass", who, ph_context=handle, lookup_id=lookup, us_class=us_class)
    elif other == 0 and one < 4:
        talk.close(who, talk.targets[0][0] if talk.targets and one == 0 else handle, delay)
    elif other == 1 and one < 3:
        talk.purge(who, handle)
    elif other == 2:
        token = b"token"[:one]
        asked = {"cb_propagation_token": len(token), "pb_propagation_token": token}
        talk.ask("R_QMEnlistRemoteTransaction", who, p_transaction_id=_TRANSACTIONS[one % 3], **asked)
    else:
        talk.ask(START, who, delay, ph_context=handle, dw_request_id=20 + one)


@given(st.lists(_ALL, max_size=40))
def test_no_conversation_over_all_methods_deviates(steps: list[tuple[int, int, int, int, int]]) -> None:
    talk = _Movers()
    for who, kind, one, other, delay in steps:
        _any(talk, talk.clients[who], kind, one, other, delay)
    talk.wait(20_000)
    assert [(str(one.rule), one.message) for one in talk.deviations()] == []


def test_a_receive_that_was_ended_while_it_waited_frees_its_number() -> None:
    talk = Talk()
    handle = talk.opened()

    def end() -> int | None:
        answer = talk.ask(END, ph_context=handle, dw_request_id=1, dw_ack=2)
        assert answer is not None
        return answer.status

    for _ in range(2):
        assert talk.ask(START, ph_context=handle, dw_request_id=1, ul_timeout=20_000) is None
        talk.wait(3000)
        assert end() == 0xC00E0088
    talk.arrive()
    talk.arrive()
    talk.wait(3000)
    # Both receives have a message, and nobody can end them.
    assert end() == 0xC00E0007
    assert [(str(one.rule), one.message) for one in talk.deviations()] == []


_REFUSALS = {
    ("R_EndReceive", 0xC00E0006),
    ("R_EndReceive", 0xC00E0007),
    ("R_CloseCursor", 0xC0000008),
    ("R_PurgeQueue", 0xC0000022),
    ("R_StartReceive", 0xC0000008),
}
"""Refusals that rest on nothing but what clients did."""


def _accepted(refused: list[Record]) -> list[Record]:
    """The call as a server answers it that does not check."""
    call = refused[0]
    response = msgspec.structs.replace(call.packet.response, status=0)
    packet = msgspec.structs.replace(call.packet, response=response, status=0)
    return [msgspec.structs.replace(call, packet=packet)]


@pytest.mark.slow
@given(st.lists(_STEP, min_size=5, max_size=40), st.integers(0, 100))
def test_a_refusal_that_is_turned_into_a_success_is_found(
    steps: list[tuple[int, int, int, int, int]], which: int
) -> None:
    world = World()
    for who, kind, one, other, delay in steps:
        _step(world, world.clients[who], kind, one, other, delay)
    calls = world.calls()
    refused = [
        number
        for number, call in enumerate(calls)
        if call[0].type == "rpc_call" and (call[0].packet.method, call[0].packet.status) in _REFUSALS
    ]
    assume(refused)
    lie = refused[which % len(refused)]
    calls[lie] = _accepted(calls[lie])
    frames = calls[lie][0].frames
    assert frames in [found.frames for found in deviations(*calls)]


@pytest.mark.parametrize("delay", [1, 400])
def test_a_message_that_wakes_another_reader_before_its_return_is_answered_was_put_back(delay: int) -> None:
    world = World()
    first, second = world.clients[:2]
    world.put(0)
    world.open(first, 0, 1)
    world.open(second, 0, 1)
    world.start(first, first.handles[0])
    world.start(second, second.handles[0], ul_timeout=5000)
    world.end(first, first.handles[0], 1, 1, delay)
    assert second.received
    assert world.deviations() == []
