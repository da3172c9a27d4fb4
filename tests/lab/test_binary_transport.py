"""The binary protocol on sockets: pings, sessions, faults, and what the log says of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, gaierror
from typing import Any

import msgspec
import pytest

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.engines.codec import decode, encode
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.binary_client import BinaryClient, ping
from msmq_wire.lab.binary_connection import BinaryConnections
from msmq_wire.lab.binary_dialer import BinaryDialer
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.lab.log import LabEvent
from msmq_wire.lab.model.binary.protocol import BinaryProtocol
from msmq_wire.lab.model.binary.session_opening import establish_request
from msmq_wire.lab.server import LabServer
from msmq_wire.rpc.constants import ConnectionStatus
from msmq_wire.sessions import follow
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.lab.lab_scene import ANY_PORTS, HOST, ORDERS, QUIET, client_manager, message, messages, records_of


@pytest.mark.slow
async def test_a_ping_is_answered_and_captured_on_both_sides(tmp_path: Path) -> None:
    paths = tmp_path / "server.pcap", tmp_path / "client.pcap"
    with CaptureWriter(paths[0]) as served, CaptureWriter(paths[1]) as asked:
        async with LabServer(ANY_PORTS, capture=served) as lab:
            services = await lab.start()
            assert await ping(client_manager(), *services.ping, capture=asked)
    frames = [path.read_bytes()[24 + 16 + 28 :] for path in paths]
    assert decode(frames[0][:24], "ping") == decode(frames[1][:24], "ping")


@pytest.mark.slow
async def test_a_ping_that_nobody_answers_is_false_after_a_second() -> None:
    loop = asyncio.get_running_loop()
    silent, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, local_addr=(HOST, 0))
    assert not await ping(client_manager(), *silent.get_extra_info("sockname"))
    silent.close()


@pytest.mark.slow
async def test_datagrams_that_are_no_pings_are_ignored() -> None:
    async with LabServer(ANY_PORTS) as lab:
        services = await lab.start()
        loop = asyncio.get_running_loop()
        got: list[bytes] = []

        class Sender(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: Any) -> None:
                got.append(data)

        sender, _ = await loop.create_datagram_endpoint(Sender, remote_addr=services.ping)
        for data in (b"", b"x", bytes(24), bytes(60_000)):
            sender.sendto(data)
        assert await ping(client_manager(), *services.ping)
        sender.close()
        assert got == []


@pytest.mark.slow
async def test_a_session_is_seen_the_same_from_both_sides(tmp_path: Path) -> None:
    paths = tmp_path / "server.pcap", tmp_path / "client.pcap"
    events: list[LabEvent] = []
    with CaptureWriter(paths[0]) as served, CaptureWriter(paths[1]) as sent:
        async with LabServer(ANY_PORTS, capture=served, write=events.append) as lab:
            services = await lab.start()
            async with BinaryClient(
                client_manager(), *services.binary, capture=sent, log=QUIET, window_size=2
            ) as client:
                assert await client.send(messages("recoverable", 20)) == {"stored": 20}
    stories = [follow(records_of(path)) for path in paths]
    for story in stories:
        assert [session.notes for session in story.sessions] == [()]
    closed = [one.fields for one in events if one.event == "session-closed"]
    assert [(one["received"], one["recoverable"], one["reason"]) for one in closed] == [
        (20, 20, "disconnected")
    ]
    assert [one.event for one in events].count("session-open") == 1


@pytest.mark.slow
async def test_a_message_to_no_queue_is_refused_to_its_transactional_sender() -> None:
    async with LabServer(ANY_PORTS) as lab:
        services = await lab.start()
        async with BinaryClient(client_manager(), *services.binary, log=QUIET) as client:
            lost = message("transactional", "to nobody", "private$\\nowhere")
            assert await client.send([lost]) == {"refused": 1}


@pytest.mark.slow
async def test_a_client_without_a_server_says_why_it_gives_up() -> None:
    async with LabServer(ANY_PORTS) as lab:
        port = (await lab.start()).binary[1]
    async with BinaryClient(client_manager(), HOST, port, log=QUIET) as client:
        with pytest.raises(MsmqWireError, match=r"cannot connect to .*; 3 messages were not ack"):
            await client.send(messages("recoverable", 3), patience=0.5)


@pytest.mark.slow
async def test_a_client_whose_server_is_gone_says_what_arrived_before() -> None:
    async with LabServer(ANY_PORTS) as lab:
        services = await lab.start()
        client = BinaryClient(client_manager(), *services.binary, log=QUIET, window_size=2)
        assert await client.send(messages("recoverable", 3)) == {"stored": 3}
    with pytest.raises(MsmqWireError, match=r"refused; 1 message was not acknowledged, 3 were$"):
        await client.send(messages("recoverable", 1), patience=0.5)
    await client.close()


@pytest.mark.slow
async def test_a_session_that_the_server_refuses_is_tried_again() -> None:
    events: list[LabEvent] = []
    settings = msgspec.structs.replace(ANY_PORTS, faults=FaultPlan(nack=0.5), seed=4)
    async with LabServer(settings, write=events.append) as lab:
        services = await lab.start()
        async with BinaryClient(
            client_manager(),
            *services.binary,
            log=QUIET,
            faults=FaultPlan(cut=0.2),
            seed=3,
            window_size=2,
        ) as client:
            assert await client.send(messages("recoverable", 12)) == {"stored": 12}
        assert len(lab.manager.queue_collection[ORDERS].message_position_list) == 12
    reasons = {one.fields["reason"] for one in events if one.event == "session-closed"}
    assert {"refused", "disconnected"} <= reasons


@pytest.mark.slow
async def test_a_server_that_stops_closes_its_sessions() -> None:
    events: list[LabEvent] = []
    async with LabServer(ANY_PORTS, write=events.append) as lab:
        services = await lab.start()
        reader, writer = await asyncio.open_connection(*services.binary)
        writer.write(encode(establish_request(GUID(b"c" * 16), NULL_GUID, 1, ping_sent=False)))
        assert decode(await reader.readexactly(572)).establish_connection_header.client_guid == b"c" * 16
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    assert [one.fields["reason"] for one in events if one.event == "session-closed"] == ["stopped"]


def ping_sockets() -> list[asyncio.DatagramProtocol]:
    """What answers pings in this loop from now on, so that a test can give it what a network gives."""
    made: list[asyncio.DatagramProtocol] = []
    loop = asyncio.get_running_loop()
    create = loop.create_datagram_endpoint

    async def keep(factory: Any, *arguments: Any, **options: Any) -> Any:
        transport, protocol = await create(factory, *arguments, **options)
        made.append(protocol)
        return transport, protocol

    loop.create_datagram_endpoint = keep  # type: ignore[assignment,method-assign]  # of this loop only
    return made


async def test_a_ping_that_seems_to_come_from_the_lab_itself_is_not_answered() -> None:
    events: list[LabEvent] = []
    made = ping_sockets()
    async with LabServer(ANY_PORTS, write=events.append) as lab:
        services = await lab.start()
        made[0].datagram_received(bytes.fromhex("0000485507000000") + b"x" * 16, services.ping)
        # What it may have sent to itself arrives before what is sent now.
        assert await ping(client_manager(), *services.ping)
    assert [one.event for one in events] == ["ping"]


@pytest.mark.slow
async def test_two_labs_do_not_answer_each_other_without_end() -> None:
    events: list[LabEvent] = []
    made = ping_sockets()
    other = msgspec.structs.replace(ANY_PORTS, identifier=GUID(b"o" * 16))
    async with LabServer(ANY_PORTS, write=events.append) as one, LabServer(other) as two:
        await one.start()
        there = await two.start()
        made[0].datagram_received(bytes.fromhex("0000485507000000") + b"x" * 16, there.ping)
        for _ in range(5):
            assert await ping(client_manager(), *there.ping)
    assert [one.event for one in events].count("ping") < 3


@pytest.mark.parametrize(
    ("own", "other", "reaches"),
    [
        ("127.0.0.2", "127.0.0.3", True),
        ("192.0.2.10", "192.0.2.11", True),
        ("2001:db8::1", "2001:db8::2", True),
        ("127.0.0.1", "192.0.2.11", False),
        ("192.0.2.10", "127.0.0.1", False),
        ("192.0.2.10", "2001:db8::2", False),
        ("0.0.0.0", "192.0.2.11", False),
        ("127.0.0.1", "lab", False),
        ("", "127.0.0.1", False),
    ],
)
async def test_a_connection_comes_from_the_own_address_where_that_reaches_the_other(
    own: str, other: str, reaches: bool
) -> None:
    asked: dict[str, Any] = {}

    async def create_connection(*_: Any, **how: Any) -> None:
        asked.update(how)
        raise ConnectionRefusedError

    async def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        return []

    loop = asyncio.get_running_loop()
    loop.getaddrinfo, loop.create_connection = getaddrinfo, create_connection  # type: ignore[assignment]  # no socket
    manager = client_manager()
    protocol = BinaryProtocol(manager)
    clock = LoopClock(manager.timers)
    dialer = BinaryDialer(BinaryConnections(protocol, clock, log=QUIET), local_address=own)
    dialer.dial(protocol.outgoing_queue(remote_host_name="b"), other, 1801)
    while not asked:
        await asyncio.sleep(0)
    await dialer.close()
    clock.stop()
    assert asked == {"local_addr": (own, 0) if reaches else None}


@pytest.mark.parametrize(
    ("found", "status", "addresses"),
    [
        (
            ["192.0.2.10", "192.0.2.11", "192.0.2.10"],
            ConnectionStatus.SOCKET_CONNECT_FAILURE,
            ("192.0.2.10",),
        ),
        ([], ConnectionStatus.DNS_FAILURE, ()),
    ],
)
async def test_a_connection_that_fails_stands_in_the_history_with_the_address_of_the_name(
    found: list[str], status: ConnectionStatus, addresses: tuple[str, ...]
) -> None:
    async def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        if not found:
            raise gaierror
        return [(AF_INET, SOCK_STREAM, 6, "", (address, 1801)) for address in found]

    async def create_connection(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError

    loop = asyncio.get_running_loop()
    loop.getaddrinfo, loop.create_connection = getaddrinfo, create_connection  # type: ignore[assignment]  # no socket
    manager = client_manager()
    protocol, clock = BinaryProtocol(manager), LoopClock(manager.timers)
    dialer = BinaryDialer(BinaryConnections(protocol, clock, log=QUIET))
    outgoing = protocol.outgoing_queue(remote_host_name="b")
    dialer.dial(outgoing, "b", 1801)
    while not outgoing.connection_history:
        await asyncio.sleep(0)
    await dialer.close()
    clock.stop()
    (failed,) = outgoing.connection_history
    assert (failed.status, failed.addresses) == (status, addresses)
    assert outgoing.addresses == tuple(dict.fromkeys(found))


async def test_a_queue_that_has_a_name_knows_the_address_that_it_is_connected_to() -> None:
    async with LabServer(ANY_PORTS) as lab:
        _, port = (await lab.start()).binary
        manager = client_manager()
        protocol, clock = BinaryProtocol(manager), LoopClock(manager.timers)
        connections = BinaryConnections(protocol, clock, log=QUIET)
        dialer = BinaryDialer(connections)
        outgoing = protocol.outgoing_queue(remote_host_name="b")
        dialer.dial(outgoing, "localhost", port)
        while outgoing.session is None:
            await asyncio.sleep(0.01)
        assert outgoing.addresses == ("127.0.0.1",)
        assert [one.addresses for one in outgoing.connection_history] == [("127.0.0.1",)] * 3
        await dialer.close()
        await connections.close()
        clock.stop()
