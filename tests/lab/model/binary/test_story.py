"""What is sent, read by our own readers: sessions without notes, and the reasons why they ended."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from msmq_wire import encode
from msmq_wire.detection import judge
from msmq_wire.lab.model.binary.settings import BinarySettings
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.packets.session_ack import SessionAck
from tests.lab.model.binary.world import ADMIN, RECEIVER, SENDER, Kind, World, bodies, message, receive

KINDS: tuple[Kind, ...] = ("express", "recoverable", "transactional")


def converse(world: World) -> None:
    """Send messages of all kinds, and receive them."""
    for number in range(60):
        wanted = ["pa", "pr"] if number % 2 else []
        admin = ADMIN if wanted else None
        packet = message(
            KINDS[number % 3],
            b"%d" % number,
            priority=number % 8,
            jp=number % 2,
            acknowledge=wanted,
            admin_queue=admin,
        )
        world.outgoing.send(packet)
        world.run(100)
    world.drops = 0
    world.run(60_000)
    for queue in (world.orders, world.orders_tx):
        while bodies(queue):
            receive(queue)
    world.run(60_000)


@pytest.mark.slow
def test_a_conversation_is_clean_to_those_who_judge_captures() -> None:
    world = World(known=True, largest=1000)
    converse(world)
    story = world.story()
    (session,) = story.sessions
    assert (session.state, session.notes) == ("open", ())
    assert (session.client_queue_manager, session.server_queue_manager) == (SENDER, RECEIVER)
    assert [one.unacknowledged for one in session.directions] == [0, 0]
    assert [one.unstored for one in session.directions] == [0, 0]
    # Those who want an acknowledgment are known as received; acknowledgments of order have no life.
    assert Counter(life.outcome for life in story.lives if life.queue != ADMIN) == {
        "received": 30,
        "acknowledged": 10,
        "stored": 10,
        "delivered": 10,
    }
    assert all(life.certain for life in story.lives)
    assert (story.strays, [stream.gaps for stream in story.streams]) == ((), [()] * len(story.streams))
    assert list(judge(world.records)) == []


@pytest.mark.slow
@pytest.mark.parametrize("connect_back", [False, True])
def test_of_dropped_connections_only_the_resends_are_found(connect_back: bool) -> None:
    world = World(3, drops=0.05, connect_back=connect_back)
    converse(world)
    world.run()
    assert len(world.wires) > 2
    assert {(finding.id, finding.severity) for finding in judge(world.records)} == {("SES-RESEND", "info")}
    for session in world.story().sessions:
        assert session.notes == ()
        assert session.reason in (None, "idle")


def test_the_reason_of_the_capture_is_that_of_the_session_that_closed() -> None:
    def reason(world: World) -> object:
        world.run()
        return world.story().sessions[0].reason

    idle = World()
    idle.open()
    assert reason(idle) == "idle"

    refused = World()
    refused.remote.accepting = False
    refused.outgoing.send(message())
    refused.run(1000)
    assert refused.wires[0].ends[0].close_reason == "refused"
    assert refused.story().sessions[0].reason == "refused"

    counts = World()
    client, server = counts.open().ends
    wrong = SessionHeader(ack_sequence_number=1, user_msg_sequence_number=5)
    server._emit(SessionAck(session_header=wrong))
    assert reason(counts) == "message_counts"
    assert client.close_reason == "message_counts"


def test_a_silent_receiver_is_left_and_the_capture_says_why() -> None:
    quiet = BinarySettings(ack_wait_timeout=20_000, window_size=1000)
    world = World(settings=quiet, known=True)
    wire = world.open()
    server = wire.ends[1]
    world.run(30_000)
    world.outgoing.send(message())
    world.settle()
    # The receiver is there and says nothing more.
    for timer in (server._ack_send, server._cleanup):
        assert timer is not None
        timer.cancel()
    world.run(21_000)
    assert wire.ends[0].close_reason == "ack_timeout"
    assert world.story().sessions[0].reason == "ack_timeout"


@pytest.mark.slow
def test_what_is_sent_decodes_to_what_was_meant() -> None:
    world = World(largest=333)
    converse(world)
    for record in world.records:
        if record.packet is not None:
            assert not record.anomalies
            assert not record.remainder
            user = getattr(record.packet, "user_header", None)
            if user is not None:
                assert user.sent_time
                assert user.message_id
            assert len(encode(record.packet)) == record.length


def test_two_queue_managers_can_send_to_each_other_at_once() -> None:
    world = World(largest=100, drops=0.01, connect_back=True)
    back = world.remote.outgoing_queue(remote_host_name="192.0.2.21", connect=world.connect_back)
    for number in range(40):
        world.outgoing.send(message(KINDS[number % 3], b"%d" % number))
        packet = message("recoverable", b"%d" % number, queue=ADMIN)
        user = replace(packet.user_header, source_queue_manager=RECEIVER)
        back.send(replace(packet, user_header=user))
        world.run(100)
    world.drops = 0
    world.run(120_000)
    assert list(map(int, bodies(world.admin))) == list(range(40))
    assert len(bodies(world.orders)) + len(bodies(world.orders_tx)) == 40
    assert all(session.notes == () for session in world.story().sessions)
