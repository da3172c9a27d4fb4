"""Messages arrive once, whatever happens to their connections; capture, sessions, lives and log agree."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from msmq_wire.lab.binary_client import BinaryClient, window_for
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.sessions import MessageLife, Story, follow
from msmq_wire.sessions.followed_message import message_key, message_name
from msmq_wire.wire.partial import reached
from tests.effort import WHOLE
from tests.lab.lab_process import LabProcess
from tests.lab.lab_scene import HOST, ORDERS, ORDERS_TX, QUIET, Kind, client_manager, messages, records_of

KINDS: tuple[Kind, ...] = get_args(Kind)
OUTCOMES = {"express": "acknowledged", "recoverable": "stored", "transactional": "ordered"}
LIFE_OUTCOMES = {"express": "acknowledged", "recoverable": "stored", "transactional": "delivered"}
FAULTS = FaultPlan(drop=0.004, cut=0.002)
WINDOWS: dict[Kind, int] = {"express": 2, "recoverable": 2, "transactional": 64}
SIGNATURE, INTERNAL = 8, 20
"""Where the signature of BaseHeader ends, and the flags of an InternalHeader."""


class Scene:
    """What was sent to a server that drops connections, and what came of it.

    ``copies`` are the records of each message, by its identifier, also those of packets that were cut;
    ``lives`` are theirs. What was cut each time is neither: an OrderAck may end before the bytes that say
    what it is.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        self.outcomes: dict[Kind, Counter[str]] = {}
        self.connections = 0
        path = folder / "many.pcap"
        with LabProcess("--capture", str(path), "--fault", "drop=0.003", "--seed", "5") as self.server:
            asyncio.run(self._send(self.server.ports["binary"]))
        self.records: list[Record] = records_of(path)
        self.story: Story = follow(self.records)
        self.copies: dict[str, list[Record]] = {}
        for record in self.records:
            name = _name(record)
            if name is not None:
                self.copies.setdefault(name, []).append(record)
        for name, copies in list(self.copies.items()):
            if all(one.error for one in copies):
                del self.copies[name]
        self.lives = [life for life in self.story.lives if life.message_id in self.copies]

    async def _send(self, port: int) -> None:
        for number, kind in enumerate(KINDS):
            manager, window = client_manager(number + 1), WINDOWS[kind]
            async with BinaryClient(
                manager, HOST, port, log=QUIET, faults=FAULTS, seed=number, window_size=window
            ) as client:
                self.outcomes[kind] = Counter(await client.send(messages(kind, self.count)))
            self.connections += client.reached

    @property
    def peers(self) -> dict[int, str]:
        """The clients of the sessions of the log."""
        return {one["session"]: one["peer"] for one in self.server.named("session-open")}

    def arrivals(self) -> list[tuple[dict[str, Any], MessageLife]]:
        """What the server logged of each message, and its life."""
        came = [(one, self.story.lives.by_id(one["id"])) for one in self.server.named("message-in")]
        return [(event, life) for event, life in came if life is not None]


def _name(record: Record) -> str | None:
    if record.type != "user_message":
        return None
    user = reached(record.packet, "user_header")
    number = reached(user, "message_id")
    return None if number is None else message_name(message_key(user.source_queue_manager, number))


# One process sends all of it, once.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("many_messages")]


@pytest.fixture(
    scope="module",
    params=[300, *([10_000] if WHOLE else [])],
    ids="{} of each".format,
)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("many"), request.param)


def test_every_message_is_acknowledged_over_many_connections(scene: Scene) -> None:
    assert scene.outcomes == {kind: {OUTCOMES[kind]: scene.count} for kind in KINDS}
    assert scene.connections > 6


def test_every_message_arrives_once(scene: Scene) -> None:
    came = scene.server.named("message-in")
    assert Counter((one["queue"], one["delivery"]) for one in came) == {
        (ORDERS, "express"): scene.count,
        (ORDERS, "recoverable"): scene.count,
        (ORDERS_TX, "transactional"): scene.count,
    }
    assert len({one["id"] for one in came}) == 3 * scene.count


def test_transactional_messages_arrive_in_order(scene: Scene) -> None:
    came = [one for one in scene.server.named("message-in") if one["delivery"] == "transactional"]
    numbers = [int(one["id"].rpartition("\\")[2]) for one in came]
    assert numbers == list(range(1, scene.count + 1))


def test_the_capture_decodes_but_for_what_a_drop_cut(scene: Scene) -> None:
    assert [one.type for one in scene.records if one.anomalies] == []
    assert [one for one in scene.records if one.type == "gap"] == []
    cut = [one for one in scene.records if one.error is not None]
    assert len(cut) > 3
    last = {(one.stream, one.src): one.id for one in scene.records if one.type != "tcp_stream"}
    # A connection ends with its fault: nothing follows in that direction.
    assert [one.id for one in cut] == [one.id for one in cut if last[one.stream, one.src] == one.id]
    # Which packet it was is said by its first bytes; without them it is unknown, and rightly so.
    unknown = {one.id for one in scene.records if one.type == UNKNOWN_PACKET}
    assert unknown == {one.id for one in cut if one.length < (INTERNAL if _internal(one) else SIGNATURE)}


def _internal(cut: Record) -> bool:
    """Whether it is a packet with an InternalHeader that was cut, as far as its bytes tell."""
    flags = reached(reached(cut.packet, "base_header"), "flags")
    return flags is not None and bool(flags & 0x08)


def test_sessions_are_those_of_the_log(scene: Scene) -> None:
    sessions, peers = scene.story.sessions, scene.peers
    assert [session.notes for session in sessions] == [()] * len(sessions)
    reached_by = {session.client for session in sessions if session.reached == "open"}
    # The server opens a session with its answer; the client, when that answer was not cut on its way.
    answered = {
        one.dst for one in scene.records if one.type == "connection_parameters" and not one.error
    } & set(peers.values())
    assert reached_by == answered
    closed = scene.server.named("session-closed")
    assert peers.keys() <= {one["session"] for one in closed}
    received: Counter[str] = Counter()
    for one in closed:
        if one["session"] in peers:
            received[peers[one["session"]]] += one["received"]
    found = [one for one in scene.records if one.type == "user_message"]
    captured = Counter(one.src or "" for one in found if not one.error)
    reported: Counter[str] = Counter()
    for session in sessions:
        reported[session.client] += session.directions[0].messages
    cut = Counter(one.src or "" for one in found if one.error)
    assert +received == captured == reported - cut


def test_what_came_more_than_once_is_all_that_did_not_go_into_a_queue(scene: Scene) -> None:
    received = sum(one["received"] for one in scene.server.named("session-closed"))
    again = [len([one for one in copies if not one.error]) - 1 for copies in scene.copies.values()]
    assert min(again) == 0
    assert sum(again) > 0
    assert received == len(scene.server.named("message-in")) + sum(again)


def test_lives_are_those_of_the_messages_of_the_log(scene: Scene) -> None:
    assert {life.message_id for life in scene.lives} == {
        one["id"] for one in scene.server.named("message-in")
    }
    assert len(scene.arrivals()) == len(scene.lives) == 3 * scene.count


def test_every_life_has_the_queue_the_kind_and_the_outcome_of_the_log(scene: Scene) -> None:
    for event, life in scene.arrivals():
        kind = event["delivery"]
        acknowledged = {"express": life.acknowledged, "recoverable": life.stored}
        assert life.queue is not None
        assert life.queue.endswith("\\" + event["queue"])
        assert (life.delivery, life.outcome) == (kind, LIFE_OUTCOMES[kind]), life
        assert acknowledged.get(kind, life.order_ack) is not None
        assert (life.accepted, life.acknowledgments, life.received) == (None, (), None)


def test_every_life_began_in_the_session_that_carried_it_first(scene: Scene) -> None:
    clients = {session.number: session.client for session in scene.story.sessions}
    assert {life.message_id: clients[life.session or 0] for life in scene.lives} == {
        name: copies[0].src for name, copies in scene.copies.items()
    }


def test_messages_are_logged_in_the_session_that_brought_them_whole(scene: Scene) -> None:
    open_now: dict[int, str] = {}
    for event in scene.server.events:
        if event["event"] == "session-open":
            open_now[event["session"]] = event["peer"]
        elif event["event"] == "session-closed":
            open_now.pop(event["session"], None)
        elif event["event"] == "message-in":
            first = next(one for one in scene.copies[event["id"]] if not one.error)
            assert first.src in open_now.values(), event


def test_every_life_counts_how_often_its_message_was_sent_again(scene: Scene) -> None:
    for life in scene.lives:
        copies = scene.copies[life.message_id]
        assert life.resends == len(copies) - 1, life
        if copies[0].error is not None:
            continue
        known = life.order_ack if life.delivery == "transactional" else life.acknowledged
        assert known is not None
        # Who sends again what was acknowledged did not hear of it: the connection was lost.
        assert life.duplicates == sum(one.id > known.record for one in copies[1:]), life


def test_the_server_ends_clean(scene: Scene) -> None:
    assert scene.server.status == 0
    assert scene.server.complaints.count("\n") == 1
    assert scene.server.peak_bytes < 200 << 20


@pytest.mark.parametrize(("count", "window"), [(1, 2), (6, 12), (64, 64), (300, 60), (997, 2), (10_000, 50)])
def test_half_a_window_divides_the_messages(count: int, window: int) -> None:
    assert window_for(count) == window
