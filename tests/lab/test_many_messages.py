"""Messages arrive once, whatever happens to their connections; capture, sessions, lives and log agree."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from msmq_wire.lab.binary_client import BinaryClient, window_for
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.records.record import Record
from msmq_wire.sessions import Story, follow
from tests.lab.lab_process import LabProcess
from tests.lab.lab_scene import HOST, ORDERS, ORDERS_TX, QUIET, Kind, client_manager, messages, records_of

COUNT = 300
KINDS: tuple[Kind, ...] = get_args(Kind)
OUTCOMES = {"express": "acknowledged", "recoverable": "stored", "transactional": "ordered"}
FAULTS = FaultPlan(drop=0.004, cut=0.002)
WINDOWS: dict[Kind, int] = {"express": 2, "recoverable": 2, "transactional": 64}


class Scene:
    """What was sent to a server that drops connections, and what came of it."""

    def __init__(self, folder: Path) -> None:
        self.outcomes: dict[Kind, Counter[str]] = {}
        self.connections = 0
        path = folder / "many.pcap"
        with LabProcess("--capture", str(path), "--fault", "drop=0.003", "--seed", "5") as self.server:
            asyncio.run(self._send(self.server.ports["binary"]))
        self.records: list[Record] = records_of(path)
        self.story: Story = follow(self.records)

    async def _send(self, port: int) -> None:
        for number, kind in enumerate(KINDS):
            manager, window = client_manager(number), WINDOWS[kind]
            async with BinaryClient(
                manager, HOST, port, log=QUIET, faults=FAULTS, seed=number, window_size=window
            ) as client:
                self.outcomes[kind] = Counter(await client.send(messages(kind, COUNT)))
            self.connections += client.reached


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("many"))


def test_every_message_is_acknowledged_over_many_connections(scene: Scene) -> None:
    assert scene.outcomes == {kind: {OUTCOMES[kind]: COUNT} for kind in KINDS}
    assert scene.connections > 6


def test_every_message_arrives_once(scene: Scene) -> None:
    came = scene.server.named("message-in")
    assert Counter((one["queue"], one["delivery"]) for one in came) == {
        (ORDERS, "express"): COUNT,
        (ORDERS, "recoverable"): COUNT,
        (ORDERS_TX, "transactional"): COUNT,
    }
    assert len({one["id"] for one in came}) == 3 * COUNT


def test_transactional_messages_arrive_in_order(scene: Scene) -> None:
    came = [one for one in scene.server.named("message-in") if one["delivery"] == "transactional"]
    numbers = [int(one["id"].rpartition("\\")[2]) for one in came]
    assert numbers == sorted(numbers)


def test_the_capture_decodes_and_its_sessions_are_those_of_the_log(scene: Scene) -> None:
    assert [one.type for one in scene.records if one.anomalies] == []
    sessions = scene.story.sessions
    assert [session.notes for session in sessions] == [()] * len(sessions)
    peers = {one["session"]: one["peer"] for one in scene.server.named("session-open")}
    reached = {session.client for session in sessions if session.reached == "open"}
    # The answer that opens a session for the client may have been cut.
    assert reached <= set(peers.values())
    assert len(peers) - len(reached) <= 2
    closed = scene.server.named("session-closed")
    received = {peers[one["session"]]: one["received"] for one in closed if one["session"] in peers}
    captured = Counter(one.src for one in scene.records if one.type == "user_message" and not one.error)
    assert {peer: count for peer, count in received.items() if count} == {
        peer: count for peer, count in captured.items() if peer in received
    }


def test_every_message_of_the_log_has_a_life_that_arrived(scene: Scene) -> None:
    for event in scene.server.named("message-in"):
        life = scene.story.lives.by_id(event["id"])
        assert life is not None, event
        assert life.acknowledged or life.stored or life.order_ack, event


def test_the_server_ends_clean(scene: Scene) -> None:
    assert scene.server.status == 0
    assert scene.server.complaints.count("\n") == 1


@pytest.mark.parametrize(("count", "window"), [(1, 2), (6, 12), (64, 64), (300, 60), (997, 2), (10_000, 50)])
def test_half_a_window_divides_the_messages(count: int, window: int) -> None:
    assert window_for(count) == window
