"""Where connections hold too much together, those that hold most go, and nobody waits for their end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import pytest

from msmq_wire import GUID, encode
from msmq_wire.lab.connection_table import ConnectionTable
from msmq_wire.lab.http_client import HttpClient
from msmq_wire.lab.model.binary.session_opening import establish_request, parameters_request
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import PFC_FIRST_FRAG, Request
from msmq_wire.wire.types.guid import NULL_GUID
from tests.lab.fake_transport import READ_SIZE, Transport, lab_of
from tests.lab.lab_process import LabProcess
from tests.lab.lab_scene import HOST, message
from tests.lab.raw_client import BIND

SIZE = 3_984_588
"""3.8 MiB of something that is not whole."""
HELD = {"http": 12 << 20, "binary": 16 << 20, "rpc": 16 << 20}
"""What the connections of a port may hold together."""
GET = b"GET /queues HTTP/1.1\r\nHost: lab\r\n\r\n"


def unfinished_post() -> bytes:
    return b"POST /msmq/private$/orders HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n" + bytes(SIZE)


def unfinished_packet() -> bytes:
    opening = encode(establish_request(GUID(b"c" * 16), NULL_GUID, 1, ping_sent=False))
    parameters = encode(parameters_request(500, 20_000, 64))
    return opening + parameters + encode(message("express", bytes((4 << 20) - 4096)))[:SIZE]


def unfinished_request() -> bytes:
    size = 5000
    fragments = [
        encode_pdu(Request(PFC_FIRST_FRAG if first else 0, 2, opnum=12, stub=bytes(size)))
        for first in (True, False)
    ]
    return encode_pdu(BIND) + fragments[0] + fragments[1] * (SIZE // size - 1)


UNFINISHED: dict[str, Callable[[], bytes]] = {
    "http": unfinished_post,
    "binary": unfinished_packet,
    "rpc": unfinished_request,
}


@pytest.mark.slow
@pytest.mark.parametrize("port", ["http", "binary", "rpc"])
async def test_who_holds_most_goes_and_nobody_waits_for_it(port: str) -> None:
    async with lab_of() as (_, serve):
        data = UNFINISHED[port]()
        clients = [Transport(serve[port]()) for _ in range(8)]
        for client in clients:
            client.feed(data)
        assert [one.is_closing() for one in clients].count(False) == HELD[port] // SIZE
        other = Transport(serve["http"]())
        other.feed(GET)
        assert other.written.startswith(b"HTTP/1.1 200 OK\r\n")


class _Connection:
    def __init__(self, held: int, ended: list[int]) -> None:
        self.held = held
        self.waiting_since = 0.0
        self._ended = ended

    def drop(self) -> None:
        self._ended.append(self.held)

    give_up = drop


def test_as_few_go_as_need_to_and_the_largest_first() -> None:
    ended: list[int] = []
    held: ConnectionTable[_Connection] = ConnectionTable(10, 10)
    connections = [_Connection(size, ended) for size in (1, 4, 3, 2)]
    for one in connections:
        held.enter(one)
        held.weigh(one)
    assert ended == []
    connections[0].held = 5
    held.weigh(connections[0])
    assert ended == [5]
    # It holds them still, and counts no more.
    held.weigh(connections[0])
    connections[3].held = 3
    held.weigh(connections[3])
    assert ended == [5]
    held.leave(connections[1])
    late = _Connection(4, ended)
    held.enter(late)
    held.weigh(late)
    assert ended == [5]


def test_what_was_sent_meanwhile_is_not_held() -> None:
    ended: list[int] = []
    held: ConnectionTable[_Connection] = ConnectionTable(10, 10)
    first, second = _Connection(8, ended), _Connection(8, ended)
    for one in (first, second):
        held.enter(one)
    held.weigh(first)
    first.held = 0
    held.weigh(second)
    assert ended == []


async def _hold(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send as much as the server takes."""
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(2):
            for at in range(0, len(data), READ_SIZE):
                writer.write(data[at : at + READ_SIZE])
                await writer.drain()


async def _seconds_of_an_answer(port: int) -> float:
    begun = time.monotonic()
    async with asyncio.timeout(60), HttpClient(HOST, port) as client:
        answer = await client.request(GET, "GET")
    assert answer is not None
    assert answer.status == 200
    return time.monotonic() - begun


async def _many_hold(ports: dict[str, int], kind: str) -> list[float]:
    """How long an answer took while forty connections sent, and when they had; they stay."""
    data = UNFINISHED[kind]()
    writers = [(await asyncio.open_connection(HOST, ports[kind]))[1] for _ in range(40)]
    try:
        sending = asyncio.gather(*(_hold(one, data) for one in writers))
        meanwhile = await _seconds_of_an_answer(ports["http"])
        await sending
        return [meanwhile, await _seconds_of_an_answer(ports["http"])]
    finally:
        for one in writers:
            one.transport.abort()


@pytest.mark.check
@pytest.mark.parametrize("kind", ["http", "binary", "rpc"])
def test_forty_that_hold_too_much_stop_neither_the_server_nor_its_end(kind: str) -> None:
    with LabProcess() as process:
        seconds = asyncio.run(_many_hold(process.ports, kind))
    print(kind, "answers after", seconds, "end after", process.seconds_to_end)
    assert process.status == 0
    assert process.seconds_to_end < 60
