"""One client that asks a lot, or does not read, costs the others neither their turns nor the memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from msmq_wire import GUID, encode
from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.lab.log import LabEvent
from msmq_wire.lab.model.binary.session_opening import establish_request, parameters_request
from msmq_wire.lab.server import LabServer
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import Request
from msmq_wire.wire.types.guid import NULL_GUID
from tests.lab.fake_transport import HIGH_WATER, Transport, lab_of, turns
from tests.lab.lab_scene import message, records_of
from tests.lab.raw_client import BIND, WHOLE

MANY = 1000
GET = b"GET /queues HTTP/1.1\r\nHost: lab\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
OPENING = encode(establish_request(GUID(b"c" * 16), NULL_GUID, 1, ping_sent=False)) + encode(
    parameters_request(500, 20_000, 64)
)
PLACES = {"http": 200, "binary": 1100, "rpc": 1100}
FIRST = {"http": GET, "binary": OPENING, "rpc": encode_pdu(BIND)}
"""What a new client sends first, and is answered."""


def calls(count: int) -> bytes:
    return b"".join(encode_pdu(Request(WHOLE, 2 + one, context_id=0, opnum=0)) for one in range(count))


def numbered_messages(count: int) -> bytes:
    one = encode(message("express", "text"))
    source = message("express", "text").user_header.source_queue_manager
    return b"".join(one.replace(bytes(source), number.to_bytes(16, "big"), 1) for number in range(1, count))


MANY_OF: dict[str, Callable[[], bytes]] = {
    "http": lambda: GET * MANY,
    "binary": lambda: numbered_messages(MANY + 1),
    "rpc": lambda: calls(MANY),
}


def served(port: str, lab: LabServer, client: Transport) -> int:
    """How many requests of a client were answered, or how many of its messages are in the queue."""
    if port == "http":
        return client.written.count(OK)
    if port == "rpc":
        return client.written.count(b"\x05\0\x02\x03")
    return sum(len(one.message_position_list) for one in lab.manager.queue_collection.values())


@pytest.mark.slow
@pytest.mark.parametrize("port", ["http", "binary", "rpc"])
async def test_a_thousand_requests_at_once_are_served_in_many_turns_of_the_loop(port: str) -> None:
    async with lab_of() as (lab, serve):
        client = Transport(serve[port]())
        if port != "http":
            client.feed(FIRST[port])
        client.feed(MANY_OF[port]())
        assert served(port, lab, client) < 60
        # Nothing more is taken until these are done, and another client has its turn before that.
        assert not client.taking
        other = Transport(serve["http"]())
        other.feed(GET)
        assert other.written.startswith(OK)
        await turns(MANY + 10)
        assert served(port, lab, client) == MANY
        assert client.taking


@pytest.mark.slow
async def test_a_capture_holds_the_messages_that_the_log_counts_when_a_connection_ends_early(
    tmp_path: Path,
) -> None:
    events: list[LabEvent] = []
    path = tmp_path / "server.pcap"
    with CaptureWriter(path) as capture:
        async with lab_of(write=events.append, capture=capture) as (_, serve):
            client = Transport(serve["binary"]())
            client.feed(FIRST["binary"])
            client.feed(MANY_OF["binary"]())
            await turns(3)
            client.abort()
            await turns(3)
    [received] = [int(one.fields["received"] or 0) for one in events if one.event == "session-closed"]
    assert 0 < received < MANY
    captured = [one for one in records_of(path) if one.type == "user_message" and not one.error]
    assert len(captured) == received


@pytest.mark.slow
async def test_requests_of_a_client_that_does_not_read_wait_until_it_reads() -> None:
    async with lab_of() as (_, serve):
        client = Transport(serve["http"](), reads=False)
        client.feed(GET * 3 * MANY)
        await turns(4 * MANY)
        size = len(client.written) // client.written.count(OK)
        assert HIGH_WATER < client.waiting <= HIGH_WATER + size
        assert not client.taking
        client.read()
        await turns(4 * MANY)
        assert client.written.count(OK) == 3 * MANY
        assert client.taking


@pytest.mark.slow
@pytest.mark.parametrize("port", ["http", "binary", "rpc"])
async def test_where_silent_connections_have_all_places_the_oldest_gives_way(port: str) -> None:
    events: list[LabEvent] = []
    async with lab_of(write=events.append) as (_, serve):
        silent = [Transport(serve[port]()) for _ in range(PLACES[port])]
        client = Transport(serve[port]())
        client.feed(FIRST[port])
        assert client.written
        assert not client.is_closing()
        assert [one.is_closing() for one in silent].count(True) == 1
    assert [one.event for one in events if one.event.endswith("-slow")] == [f"{port}-slow"]


async def test_a_body_of_tiny_chunks_takes_many_turns_and_has_an_end() -> None:
    async with lab_of() as (_, serve):
        client = Transport(serve["http"]())
        client.feed(
            b"POST /msmq/private$/q HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        client.feed(b"1\r\nA\r\n" * 30_000)
        turns = 0
        while not client.is_closing():
            await asyncio.sleep(0)
            turns += 1
            assert turns < 10_000
        assert turns > 4
        assert client.written.startswith(b"HTTP/1.1 400 ")
