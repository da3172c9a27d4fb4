"""Bad clients cost little, the others are answered, and the server ends clean.

Garbage on every port, half-open connections, a thousand sessions at once, receives that are never ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable

import pytest

from msmq_wire import encode
from msmq_wire.lab import http_server, queue_manager
from msmq_wire.lab.binary_client import BinaryClient
from msmq_wire.lab.http_client import HttpClient
from msmq_wire.lab.log import LabEvent
from msmq_wire.lab.model.binary.session_opening import establish_request, parameters_request
from msmq_wire.lab.queue_reader import connect_reader
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.lab.server import LabServer, raise_file_limit
from msmq_wire.rpc.interfaces import remote_read as rr
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.lab.lab_process import LabProcess
from tests.lab.lab_scene import ANY_PORTS, HOST, ORDERS, QUIET, client_manager, message, messages

MEGABYTE = 1 << 20
SESSIONS = 1000
SLOW = 250
"""More connections than HTTP has places for."""
OPENING = encode(establish_request(GUID(b"c" * 16), NULL_GUID, 1, ping_sent=False))
PARAMETERS = encode(parameters_request(500, 20_000, 64))


@contextlib.asynccontextmanager
async def connected(port: int, count: int = 1) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Connections that are broken off in the end."""
    writers: list[asyncio.StreamWriter] = []
    try:
        for _ in range(count):
            writers.append((await asyncio.open_connection(HOST, port))[1])
        yield writers
    finally:
        for writer in writers:
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def push(writer: asyncio.StreamWriter, *data: bytes) -> None:
    """Send as much as the server takes, for a while."""
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(2):
            for one in data:
                writer.write(one)
                await writer.drain()


async def others_are_answered(ports: dict[str, int], number: int) -> None:
    """A message is sent and received, and the queues are listed."""
    async with BinaryClient(
        client_manager(number), HOST, ports["binary"], log=QUIET, window_size=2
    ) as sender:
        assert await sender.send(messages("express", 1), patience=30) == {"acknowledged": 1}
    async with await connect_reader(
        HOST, ports["rpc"], identifier=GUID(b"r" * 16), randomness=random.Random(1)
    ) as reader:
        queue = await reader.open(f"DIRECT=OS:lab\\{ORDERS}")
        assert (await reader.receive(queue, timeout=10_000)).status == 0
        await reader.close_queue(queue)
    async with HttpClient(HOST, ports["http"]) as client:
        answer = await client.request(b"GET /queues HTTP/1.1\r\nHost: lab\r\n\r\n", "GET")
        assert answer.status == 200


async def garbage(ports: dict[str, int]) -> None:
    noise = random.Random(7)
    kinds: list[Callable[[], bytes]] = [
        lambda: noise.randbytes(5000),
        lambda: bytes(100_000),
        lambda: OPENING + noise.randbytes(3000),
        lambda: OPENING + PARAMETERS + b"\x10\0\x03\0LIOR\xff\xff\x3f\0" + noise.randbytes(60_000),
        lambda: b"\x05\0\x0b\x03\x10\0\0\0\xff\xff\0\0" + noise.randbytes(70_000),
        lambda: b"POST /msmq/private$/orders HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n" + bytes(100_000),
        lambda: b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n<a/>\n" * 50,
        lambda: b"GET " + b"/" * 70_000,
    ]
    for name in ("binary", "rpc", "http"):
        for kind in kinds:
            async with connected(ports[name]) as (writer,):
                await push(writer, kind())
    await others_are_answered(ports, 11)


async def half_open(ports: dict[str, int]) -> None:
    beginnings = {"binary": OPENING[:300], "rpc": b"\x05\0\x0b\x03", "http": b"POST /msmq HTTP/1.1\r\n"}
    async with contextlib.AsyncExitStack() as stack:
        for name, beginning in beginnings.items():
            for writer in await stack.enter_async_context(connected(ports[name], 100)):
                await push(writer, beginning)
        await others_are_answered(ports, 12)


async def slow_posts(ports: dict[str, int]) -> None:
    head = b"POST /msmq/private$/orders HTTP/1.1\r\nContent-Length: 1000\r\n"
    async with connected(ports["http"], SLOW) as writers:
        for number, piece in enumerate((head, b"\r\n", b"<a>")):
            for writer in writers:
                await push(writer, piece)
            await others_are_answered(ports, 100 + number)


async def many_sessions(ports: dict[str, int]) -> None:
    raise_file_limit()
    async with connected(ports["binary"], SESSIONS) as writers:
        for number, writer in enumerate(writers):
            guid = GUID(number.to_bytes(16, "big"))
            writer.write(encode(establish_request(guid, NULL_GUID, 1, ping_sent=False)) + PARAMETERS)
        await others_are_answered(ports, 13)


async def large_packets_that_never_end(ports: dict[str, int]) -> None:
    head = encode(message("express", bytes(4 * MEGABYTE - 4096)))
    async with connected(ports["binary"], 60) as writers:
        for writer in writers:
            await push(writer, OPENING + PARAMETERS, head[: 3 * MEGABYTE])
        await others_are_answered(ports, 14)


async def more_messages_than_there_is_room(ports: dict[str, int]) -> None:
    async with connected(ports["binary"], 1) as (writer,):
        await push(writer, OPENING + PARAMETERS)
        for number in range(60):
            packet = message("express", bytes(2 * MEGABYTE))
            user = packet.user_header
            one = encode(packet).replace(bytes(user.source_queue_manager), number.to_bytes(16, "big"), 1)
            await push(writer, one)
    async with await connect_reader(
        HOST, ports["rpc"], identifier=GUID(b"r" * 16), randomness=random.Random(1)
    ) as reader:
        queue = await reader.open(f"DIRECT=OS:lab\\{ORDERS}")
        assert await reader.run(reader.calls.purge(queue)) == 0
        await reader.close_queue(queue)
    await others_are_answered(ports, 15)


async def receives_that_are_never_ended(ports: dict[str, int]) -> None:
    async with BinaryClient(client_manager(16), HOST, ports["binary"], log=QUIET, window_size=2) as sender:
        await sender.send(messages("express", 200))
    async with await RpcClient.connect(HOST, ports["rpc"]) as client:
        await client.bind(rr.INTERFACE)
        name = QueueFormat.of(FormatName.parse(f"DIRECT=OS:lab\\{ORDERS}"))
        opened = await client.call(rr.INTERFACE, 2, rr.OpenQueueRequest(p_queue_format=name, dw_access=1))
        handle = opened.response.pph_context
        pending = []
        for number in range(600):
            start = rr.StartReceiveRequest(
                ph_context=handle, dw_request_id=number, ul_timeout=60_000, dw_max_body_size=1 << 20
            )
            pending.append(await client.begin(rr.INTERFACE, 7, start))
        for one in pending[:200]:
            assert (await one.answer).status == 0
        # Nothing is left for others but what is sent now, and the first who waits gets that.
        async with HttpClient(HOST, ports["http"]) as other:
            answer = await other.request(b"GET /queues HTTP/1.1\r\nHost: lab\r\n\r\n", "GET")
            assert answer.status == 200
    # The client is gone: all of it can be received again.
    await others_are_answered(ports, 17)


@pytest.fixture(scope="module")
def server() -> LabProcess:
    """A server behind all bad clients, one kind after another; each of them sees that others are answered."""
    with LabProcess() as process:
        for kind in (
            garbage,
            half_open,
            slow_posts,
            many_sessions,
            large_packets_that_never_end,
            more_messages_than_there_is_room,
            receives_that_are_never_ended,
        ):
            asyncio.run(kind(process.ports))
    return process


@pytest.mark.check
def test_the_server_stays_within_200_megabytes(server: LabProcess) -> None:
    assert server.peak_bytes < 200 * MEGABYTE


@pytest.mark.slow
def test_the_server_ends_clean_and_complains_of_nothing(server: LabProcess) -> None:
    assert server.status == 0
    assert server.complaints.count("\n") == 1


@pytest.mark.slow
def test_sessions_were_held_all_at_once(server: LabProcess) -> None:
    opened = {one["queue_manager"] for one in server.named("session-open")}
    assert len(opened) > SESSIONS


@pytest.mark.slow
def test_slow_clients_of_http_give_way_to_others(server: LabProcess) -> None:
    assert len(server.named("http-slow")) >= SLOW - 200


@pytest.mark.slow
@pytest.mark.parametrize(
    "beginning", [b"POST /msmq HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n"]
)
async def test_a_request_that_comes_byte_by_byte_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(http_server, "_REQUEST", 0.2)
    monkeypatch.setattr(http_server, "_ROUND", 0.05)
    async with LabServer(ANY_PORTS) as lab:
        services = await lab.start()
        reader, writer = await asyncio.open_connection(*services.http)
        writer.write(beginning)
        ended = asyncio.ensure_future(reader.read())
        while not ended.done():
            writer.write(b"x")
            await asyncio.sleep(0.02)
        with contextlib.suppress(ConnectionError):
            assert await ended == b""
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_connection_that_is_used_again_is_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_REQUEST", 0.2)
    monkeypatch.setattr(http_server, "_ROUND", 0.05)

    events: list[LabEvent] = []
    async with LabServer(ANY_PORTS, write=events.append) as lab:
        services = await lab.start()
        async with HttpClient(*services.http) as client:
            for _ in range(3):
                answer = await client.request(b"GET /queues HTTP/1.1\r\nHost: lab\r\n\r\n", "GET")
                assert answer.status == 200
                # It waits longer than a request may take.
                await asyncio.sleep(0.3)
    assert events == []


async def test_cursors_and_transactions_are_bounded_for_all_clients_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue_manager, "_MOST_CURSORS", 3)
    monkeypatch.setattr(queue_manager, "_MOST_TRANSACTIONS", 2)
    async with LabServer(ANY_PORTS) as lab:
        services = await lab.start()
        async with await RpcClient.connect(*services.rpc) as client:
            await client.bind(rr.INTERFACE)
            name = QueueFormat.of(FormatName.parse(f"DIRECT=OS:lab\\{ORDERS}"))
            opened = await client.call(rr.INTERFACE, 2, rr.OpenQueueRequest(p_queue_format=name, dw_access=1))
            handle = opened.response.pph_context
            cursors = [
                await client.call(rr.INTERFACE, 4, rr.ContextRequest(ph_context=handle)) for _ in range(4)
            ]
            assert [one.status for one in cursors] == [0, 0, 0, Status.MQ_ERROR_INSUFFICIENT_RESOURCES]
            closing = rr.CloseCursorRequest(ph_context=handle, h_cursor=cursors[0].response.ph_cursor)
            assert (await client.call(rr.INTERFACE, 5, closing)).status == 0
            again = await client.call(rr.INTERFACE, 4, rr.ContextRequest(ph_context=handle))
            assert again.status == 0
            enlisted = [
                await client.call(
                    rr.INTERFACE,
                    12,
                    rr.QMEnlistRemoteTransactionRequest(
                        p_transaction_id=GUID(bytes([number] * 16)),
                        cb_propagation_token=1,
                        pb_propagation_token=b"t",
                        p_queue_format=name,
                    ),
                )
                for number in (1, 2, 3)
            ]
            assert [one.status for one in enlisted] == [0, 0, Status.MQ_ERROR_INSUFFICIENT_RESOURCES]
