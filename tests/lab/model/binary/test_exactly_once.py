"""Messages arrive once and in order, whatever the network does. [MS-MQQB] 3.1.1.4 to 3.1.1.6"""

from __future__ import annotations

from collections import defaultdict
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.lab.model.binary.settings import BinarySettings
from tests.effort import examples
from tests.lab.model.binary.world import Kind, World, bodies, journal, message, receive

KINDS: tuple[Kind, ...] = get_args(Kind)
SENDINGS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 7), st.sampled_from([0, 1, 30, 3000])), max_size=40
)


def send_all(world: World, sendings: list[tuple[Kind, int, int]]) -> dict[tuple[Kind, int], list[bytes]]:
    """Send messages with numbered bodies; what is expected, by kind and priority."""
    expected = defaultdict(list)
    for number, (kind, priority, size) in enumerate(sendings):
        body = b"%d|" % number + bytes(size)
        assert world.outgoing.send(message(kind, body, priority=priority))
        expected[kind, 0 if kind == "transactional" else priority].append(body)
        if world.random.random() < 0.3:
            world.settle()
    return expected


def arrived(world: World) -> dict[tuple[Kind, int], list[bytes]]:
    found = defaultdict(list)
    for queue in (world.orders, world.orders_tx):
        for position in queue.message_position_list:
            one = position.message_reference
            kind: Kind = "recoverable" if one.recoverable else "express"
            found["transactional" if one.transactional else kind, one.priority].append(one.properties.body)
    return found


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(
    sendings=SENDINGS,
    seed=st.integers(0, 1 << 16),
    largest=st.sampled_from([1, 7, 100, 5000]),
    drops=st.sampled_from([0.0, 0.01, 0.1]),
    window=st.sampled_from([1, 2, 5, 64]),
    connect_back=st.booleans(),
)
def test_everything_arrives_once_and_in_order_whatever_is_dropped(
    sendings: list[tuple[Kind, int, int]],
    seed: int,
    largest: int,
    drops: float,
    window: int,
    connect_back: bool,
) -> None:
    if largest == 1:
        sendings = [(kind, priority, min(size, 30)) for kind, priority, size in sendings]
        drops = min(drops, 0.001)
    world = World(
        seed, BinarySettings(window_size=window), largest=largest, drops=drops, connect_back=connect_back
    )
    expected = send_all(world, sendings)
    world.run(120_000)
    world.drops = 0
    world.run()
    assert arrived(world) == expected
    assert len(world.outgoing) == 0
    wanted = {"express": "acknowledged", "recoverable": "stored", "transactional": "ordered"}
    assert sorted(world.outcomes) == sorted(wanted[kind] for kind, _, _ in sendings)
    for session in world.story().sessions:
        assert session.notes == ()


@pytest.mark.check
@pytest.mark.parametrize("seed", range(6))
def test_with_many_drops_the_story_of_the_capture_agrees_with_the_sender(seed: int) -> None:
    world = World(seed, largest=300, drops=0.06)
    sendings = [(KINDS[number % 3], number % 8, 40) for number in range(150)]
    expected = send_all(world, sendings)
    world.run(600_000)
    world.drops = 0
    world.run(600_000)
    assert arrived(world) == expected
    assert len(world.wires) > 3
    story = world.story()
    assert [session.notes for session in story.sessions] == [()] * len(world.wires)
    assert not any(record.anomalies for record in world.records)
    for stream in story.streams:
        assert not stream.gaps
        assert not stream.awaiting
    for one, outcome in world.settled:
        life = story.lives.by_id(f"{one.packet.user_header.source_queue_manager}\\{one.message_id}")
        assert life is not None
        if outcome == "ordered":
            assert life.order_ack is not None
        elif outcome == "stored":
            assert life.stored is not None
        else:
            assert life.acknowledged is not None


def test_messages_that_are_received_meanwhile_arrive_once_and_are_acknowledged() -> None:
    world = World(5, largest=300, drops=0.01, connect_back=True)
    taken: dict[str, list[bytes]] = {"orders": [], "orders_tx": []}

    def take() -> None:
        for name, queue in (("orders", world.orders), ("orders_tx", world.orders_tx)):
            while bodies(queue):
                taken[name].append(receive(queue).properties.body)

    for number in range(60):
        kind: Kind = KINDS[number % 3]
        assert world.outgoing.send(message(kind, b"%d" % number, jp=1))
        world.run(200)
        take()
    world.drops = 0
    world.run()
    take()
    world.run(60_000)
    assert sorted(map(int, taken["orders"])) == [number for number in range(60) if number % 3 < 2]
    assert list(map(int, taken["orders_tx"])) == [number for number in range(60) if number % 3 == 2]
    # The copies of transactional ones wait for the FinalAck, those of the others for the session's.
    assert sorted(map(int, journal(world.sender))) == list(range(60))


@pytest.mark.rule("MQQB-3.1.7.1-2", "MQQB-3.1.7.1.3-9")
def test_one_window_is_sent_and_the_rest_waits_for_acknowledgments() -> None:
    world = World(0, BinarySettings(window_size=10))
    wire = world.open()
    server = wire.ends[1]
    for number in range(100):
        assert world.outgoing.send(message("express", b"%d" % number))
    # Nothing comes back: nothing is carried.
    assert wire.ends[0].sent.unacknowledged == 10
    assert not wire.ends[0].can_send
    assert len(bodies(world.orders)) == 1
    world.run()
    assert server.received.messages == 101
    assert len(bodies(world.orders)) == 101


@pytest.mark.slow
def test_counts_of_sixteen_bits_wrap_without_a_stop() -> None:
    world = World(0)
    wire = world.open()
    client, server = wire.ends
    sent = world.settled[0][0] if world.settled else world.outgoing.send(message())
    assert sent is not None
    world.run(60_000)
    while client.sent.messages < 0xFFF0:
        # As if packets had passed, and been acknowledged.
        client.sent.add(sent, recoverable=True)
        server.received.add()
        server.received.store()
        client.sent.acknowledge(server.received.header(server.sent, 64))
    for number in range(60):
        assert world.outgoing.send(message("recoverable", b"%d" % number))
    world.run(60_000)
    assert client.sent.messages == server.received.messages > 0x10000
    assert client.sent.recoverable == server.received.recoverable > 0x10000
    assert world.outcomes[-60:] == ["stored"] * 60
    assert not client.closed
