"""A server that keeps all rules is never found to break one; one that does not check is found."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from msmq_wire.records.record import Record
from tests.model.replay_world import Observed, World, deviations

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
