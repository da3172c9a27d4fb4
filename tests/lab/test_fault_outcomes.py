"""Every fault over real connections, on either side: what it does there, and that messages arrive once."""

from __future__ import annotations

import asyncio
import random
import struct
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

import msgspec
import pytest

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.engines.codec import decode
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab import binary_server
from msmq_wire.lab.binary_client import BinaryClient, ping
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.lab.http_client import HttpClient
from msmq_wire.lab.log import LabEvent
from msmq_wire.lab.model.binary.outgoing_message import Outcome
from msmq_wire.lab.queue_reader import connect_reader
from msmq_wire.lab.server import LabServer
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.statuses import Status
from tests.lab.conftest import Run
from tests.lab.lab_scene import (
    ANY_PORTS,
    HOST,
    ORDERS,
    QUIET,
    Kind,
    client_manager,
    deviations_of,
    messages,
    records_of,
)
from tests.lab.test_server import READER, post, put

Side = Literal["server", "client"]
SIDES: tuple[Side, ...] = get_args(Side)
KINDS: tuple[Kind, ...] = get_args(Kind)
OUTCOMES = {"express": "acknowledged", "recoverable": "stored", "transactional": "ordered"}
WINDOWS: dict[Kind, int] = {"express": 2, "recoverable": 2, "transactional": 8}
COUNT = 16
BREAKS = {"drop": FaultPlan(drop=0.1), "cut": FaultPlan(cut=0.1)}
DELAY = 0.02
NAME = f"DIRECT=OS:lab\\{ORDERS}"

breaks = pytest.mark.parametrize("plan", BREAKS.values(), ids=BREAKS.keys())
sides = pytest.mark.parametrize("side", SIDES)


class Sent:
    """Messages of every kind that were sent with faults on one side, and what the server saw."""

    def __init__(self, run: Run, folder: Path, side: Side, plan: FaultPlan) -> None:
        self.connections: dict[Kind, int] = {}
        self.outcomes: dict[Kind, Counter[Outcome]] = {}
        self.events: list[LabEvent] = []
        self._server = plan if side == "server" else None
        self._client = plan if side == "client" else None
        path = folder / "faults.pcap"
        run(self._talk(path))
        self.records: list[Record] = records_of(path)
        self.port = next(one.dst for one in self.records if one.event == "syn")

    async def _talk(self, path: Path) -> None:
        settings = msgspec.structs.replace(ANY_PORTS, faults=self._server, seed=2)
        with CaptureWriter(path) as capture:
            async with LabServer(settings, capture=capture, write=self.events.append) as lab:
                services = await lab.start()
                for number, kind in enumerate(KINDS):
                    async with BinaryClient(
                        client_manager(number + 1),
                        *services.binary,
                        log=QUIET,
                        faults=self._client,
                        seed=number,
                        window_size=WINDOWS[kind],
                    ) as client:
                        self.outcomes[kind] = await client.send(messages(kind, COUNT))
                    self.connections[kind] = client.reached

    @property
    def arrived_once(self) -> bool:
        """Whether all are known to have arrived, and each is in its queue once."""
        came = Counter(one.fields["id"] for one in self.events if one.event == "message-in")
        reported = {kind: {OUTCOMES[kind]: COUNT} for kind in KINDS}
        return self.outcomes == reported and len(came) == 3 * COUNT and set(came.values()) == {1}

    def cut(self) -> set[Side]:
        """Who sent packets that are not whole."""
        return {"server" if one.src == self.port else "client" for one in self.records if one.error}

    def turns(self) -> Iterator[tuple[Side, float]]:
        """Who answered whom in the beginning of each session, and after how many seconds."""
        opening = ("establish_connection", "connection_parameters")
        packets = [one for one in self.records if one.type in opening and one.time is not None]
        for before, after in pairwise(packets):
            if before.stream == after.stream and before.src != after.src:
                side: Side = "server" if after.src == self.port else "client"
                yield side, ((after.time or 0) - (before.time or 0)) / 1e9


@pytest.mark.slow
@sides
@breaks
def test_what_a_broken_connection_loses_is_sent_again(
    run: Run, tmp_path: Path, side: Side, plan: FaultPlan
) -> None:
    sent = Sent(run, tmp_path, side, plan)
    assert sent.arrived_once
    assert sum(sent.connections.values()) > 3
    assert sent.cut() == {side}


@pytest.mark.check
@sides
def test_a_delay_holds_up_what_its_side_sends_and_nothing_else(run: Run, tmp_path: Path, side: Side) -> None:
    sent = Sent(run, tmp_path, side, FaultPlan(delay=DELAY))
    assert sent.arrived_once
    assert set(sent.connections.values()) == {1}
    assert sent.cut() == set()
    held_up = [seconds for who, seconds in sent.turns() if who == side]
    assert len(held_up) >= 3
    # Two clocks are compared, which need not agree on the last part of it.
    assert min(held_up) > 0.9 * DELAY


@pytest.mark.slow
@sides
def test_a_stream_of_bytes_duplicates_nothing(run: Run, tmp_path: Path, side: Side) -> None:
    sent = Sent(run, tmp_path, side, FaultPlan(duplicate=1.0))
    assert sent.arrived_once
    assert set(sent.connections.values()) == {1}
    assert [one.type for one in sent.records].count("user_message") == 3 * COUNT


@pytest.mark.slow
@sides
def test_a_server_refuses_sessions_and_a_client_has_none_to_refuse(
    run: Run, tmp_path: Path, side: Side
) -> None:
    sent = Sent(run, tmp_path, side, FaultPlan(nack=0.6))
    assert sent.arrived_once
    reasons = {one.fields["reason"] for one in sent.events if one.event == "session-closed"}
    assert reasons == ({"refused", "disconnected"} if side == "server" else {"disconnected"})
    assert (sum(sent.connections.values()) > 3) == (side == "server")


@pytest.mark.check
@pytest.mark.parametrize(
    ("plan", "answered", "packets"),
    [
        (FaultPlan(drop=1.0), False, 1),
        (FaultPlan(cut=1.0), False, 1),
        (FaultPlan(delay=DELAY), True, 2),
        (FaultPlan(duplicate=1.0), True, 3),
        (FaultPlan(nack=1.0), False, 2),
    ],
    ids=["drop", "cut", "delay", "duplicate", "nack"],
)
async def test_a_ping_meets_the_faults_of_the_server(
    tmp_path: Path, plan: FaultPlan, answered: bool, packets: int
) -> None:
    path = tmp_path / "ping.pcap"
    settings = msgspec.structs.replace(ANY_PORTS, faults=plan)
    with CaptureWriter(path) as capture:
        async with LabServer(settings, capture=capture) as lab:
            services = await lab.start()
            assert await ping(client_manager(), *services.ping) is answered
    times = datagrams(path)
    assert len(times) == packets
    if plan.delay:
        assert times[1] - times[0] > 0.9 * plan.delay


def datagrams(path: Path) -> list[float]:
    """When the frames of a capture passed, in seconds, all of which have to be UDP over IPv4."""
    data, at, times = path.read_bytes(), 24, []
    while at < len(data):
        seconds, nanoseconds, size, _ = struct.unpack_from("<IIII", data, at)
        assert data[at + 16 + 9] == 17
        times.append(seconds + nanoseconds / 1e9)
        at += 16 + size
    return times


async def test_answers_to_pings_that_wait_are_not_sent_by_a_server_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "ping.pcap"
    settings = msgspec.structs.replace(ANY_PORTS, faults=FaultPlan(delay=1.2))
    with CaptureWriter(path) as capture:
        async with LabServer(settings, capture=capture) as lab:
            services = await lab.start()
            assert not await ping(client_manager(), *services.ping)
        await asyncio.sleep(0.4)
    assert len(datagrams(path)) == 1


@pytest.mark.slow
async def test_no_more_answers_to_pings_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary_server, "_MOST_WAITING", 3)
    settings = msgspec.structs.replace(ANY_PORTS, faults=FaultPlan(delay=0.3))
    async with LabServer(settings) as lab:
        services = await lab.start()
        asked = [ping(client_manager(number), *services.ping) for number in range(10)]
        assert (await asyncio.gather(*asked)).count(True) == 3
        # Those that were answered make room.
        assert await ping(client_manager(), *services.ping)


class Read:
    """What clients received that came again until the queue was empty, with faults on one side.

    ``failures`` counts connections that were lost.
    """

    def __init__(self, run: Run, folder: Path, side: Side, plan: FaultPlan) -> None:
        self.got: list[bytes] = []
        self.failures = 0
        self.events: list[LabEvent] = []
        self.path = folder / "reads.pcap"
        self._side = side
        self._plan = plan
        run(self._talk())
        self.records = records_of(self.path)

    async def _talk(self) -> None:
        faults = self._plan if self._side == "server" else None
        settings = msgspec.structs.replace(ANY_PORTS, faults=faults, seed=3)
        with CaptureWriter(self.path) as capture:
            async with LabServer(settings, capture=capture, write=self.events.append) as lab:
                put(lab.manager, COUNT)
                port = (await lab.start()).rpc[1]
                positions, attempt = lab.manager.queue_collection[ORDERS].message_position_list, 0
                while len(positions):
                    attempt += 1
                    try:
                        await self._read(port, attempt)
                    except MsmqWireError:
                        self.failures += 1

    async def _read(self, port: int, attempt: int) -> None:
        faults = None if self._side == "server" else self._plan.connection("reader", attempt)
        async with await connect_reader(
            HOST, port, identifier=READER, randomness=random.Random(attempt), faults=faults
        ) as reader:
            queue = await reader.open(NAME)
            taken = await reader.receive(queue)
            while not taken.status:
                self.got.append(decode(taken.packet, taken.kind).message_properties_header.message_body)
                taken = await reader.receive(queue)
            await reader.close_queue(queue)

    def answered(self, method: str, status: int | None) -> int:
        """How many calls of a method were answered with a status, or with nothing that is whole."""
        calls = [one.packet for one in self.records if isinstance(one.packet, RpcCall)]
        return len([one for one in calls if (one.method, one.status) == (method, status)])

    @property
    def removed(self) -> Counter[str | int | None]:
        """How often each message was taken out of its queue, by its lookup identifier."""
        return Counter(one.fields["lookup_id"] for one in self.events if one.event == "message-out")


@pytest.mark.slow
@sides
@breaks
def test_a_receive_that_breaks_takes_a_message_once_or_leaves_it_where_it_is(
    run: Run, tmp_path: Path, side: Side, plan: FaultPlan
) -> None:
    read = Read(run, tmp_path, side, plan)
    assert read.failures > 0
    assert (set(read.removed.values()), len(read.removed)) == ({1}, COUNT)
    # What a client was not told of is out of the queue nevertheless; what it did not end comes again.
    unacknowledged = read.answered("R_EndReceive", None) if side == "server" else 0
    assert len(set(read.got)) == len(read.got) == COUNT - unacknowledged
    assert deviations_of(read.path) == []


@pytest.mark.slow
@sides
def test_receives_that_are_delayed_are_answered_one_after_another(
    run: Run, tmp_path: Path, side: Side
) -> None:
    read = Read(run, tmp_path, side, FaultPlan(delay=0.005))
    assert read.got == [b"body %d" % number for number in range(COUNT)]
    assert read.failures == 0
    times = [one.time or 0 for one in read.records if isinstance(one.packet, RpcCall)]
    assert times[-1] - times[0] > 0.9e9 * 0.005 * 2 * COUNT
    assert deviations_of(read.path) == []


@pytest.mark.slow
@sides
def test_a_call_that_is_made_twice_takes_one_message(run: Run, tmp_path: Path, side: Side) -> None:
    read = Read(run, tmp_path, side, FaultPlan(duplicate=1.0))
    assert read.got == [b"body %d" % number for number in range(COUNT)]
    assert read.failures == 0
    # A server duplicates no answers: a connection is a stream of bytes.
    again = COUNT if side == "client" else 0
    assert read.answered("R_StartReceive", Status.MQ_ERROR_INVALID_PARAMETER) == again
    assert read.answered("R_EndReceive", Status.MQ_ERROR_INVALID_HANDLE) == again
    assert deviations_of(read.path) == []


@pytest.mark.slow
@sides
def test_a_receive_whose_end_is_refused_leaves_its_message_for_the_next(
    run: Run, tmp_path: Path, side: Side
) -> None:
    read = Read(run, tmp_path, side, FaultPlan(nack=0.2))
    refused = read.answered("R_EndReceive", Status.MQ_ERROR_INSUFFICIENT_RESOURCES)
    assert (refused > 0) == (side == "server")
    assert len(read.got) == COUNT + refused
    assert len(set(read.got)) == COUNT
    assert (set(read.removed.values()), len(read.removed)) == ({1}, COUNT)
    assert deviations_of(read.path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "status"),
    [
        (FaultPlan(drop=0.5), 200),
        (FaultPlan(cut=0.5), 200),
        (FaultPlan(delay=DELAY), 200),
        (FaultPlan(duplicate=1.0), 200),
        (FaultPlan(nack=1.0), 500),
    ],
    ids=["drop", "cut", "delay", "duplicate", "nack"],
)
async def test_a_post_is_in_its_queue_once_or_is_refused(
    tmp_path: Path, plan: FaultPlan, status: int
) -> None:
    path = tmp_path / "posts.pcap"
    events: list[LabEvent] = []
    settings = msgspec.structs.replace(ANY_PORTS, faults=plan, seed=1)
    with CaptureWriter(path) as capture:
        async with LabServer(settings, capture=capture, write=events.append) as lab:
            services = await lab.start()
            async with HttpClient(*services.http) as client:
                for number in range(5):
                    assert (await client.request(post("orders", number))).status == status
    came = [one.fields["id"] for one in events if one.event == "message-in"]
    assert len(set(came)) == len(came) == (5 if status == 200 else 0)
    posts = [one.fields["status"] for one in events if one.event == "srmp-post"]
    assert set(posts) == {status}
    assert (len(posts) > 5) == (plan.drop + plan.cut > 0)
    found = [one.type for one in records_of(path)]
    assert found.count("srmp_message") == len(posts)
