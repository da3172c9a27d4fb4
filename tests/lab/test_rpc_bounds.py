"""Clients that take too much, or too long: what is held for them is bounded, and others are served."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path

import pytest

from msmq_wire.capture.conversation_writer import CaptureWriter
from msmq_wire.capture.reader import read_capture
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.lab.rpc_server import RpcServer
from msmq_wire.lab.rpc_service import RpcLimits
from msmq_wire.rpc.interfaces import remote_read as rr
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import PFC_FIRST_FRAG, PFC_LAST_FRAG, BindAck, Fault, Request, Response
from tests.lab.conftest import SmallServer
from tests.lab.raw_client import BIND, RR, WHOLE, Raw, connected, gone, handle_of, is_well, opening, receiving


async def test_a_request_that_is_too_large_is_refused_and_the_rest_of_it_skipped(
    small_server: SmallServer,
) -> None:
    async with connected(small_server, request_bytes=10_000) as (_, client):
        client.send(BIND, Request(PFC_FIRST_FRAG, 2, opnum=12, stub=bytes(4000)))
        client.send(*(Request(0, 2, opnum=12, stub=bytes(4000)) for _ in range(5)))
        await client.read()
        fault = await client.read()
        assert isinstance(fault, Fault)
        assert (fault.call_id, fault.status) == (2, 5)
        client.send(Request(PFC_LAST_FRAG, 2, opnum=12), Request(WHOLE, 3))
        assert isinstance(await client.read(), Response)
        assert small_server.served == ["port"]


@pytest.mark.slow
async def test_where_all_places_are_taken_the_client_goes_that_did_nothing_for_the_longest_time(
    small_server: SmallServer,
) -> None:
    async with RpcServer([small_server], limits=RpcLimits(connections=3)) as server:
        _, port = await server.listen()
        clients = [await RpcClient.connect("127.0.0.1", port) for _ in range(3)]
        for client in reversed(clients):
            await client.bind(RR)
        await is_well(port)
        while server.connections == 3:
            await asyncio.sleep(0.005)
        assert [one.connected for one in clients] == [True, True, False]
        for client in clients:
            await client.close()


@pytest.mark.slow
async def test_a_client_whose_receive_waits_keeps_its_place(small_server: SmallServer) -> None:
    async with RpcServer([small_server], limits=RpcLimits(connections=3)) as server:
        _, port = await server.listen()
        clients = [await RpcClient.connect("127.0.0.1", port) for _ in range(3)]
        for client in clients:
            await client.bind(RR)
        opened = await clients[0].call(RR, 2, rr.OpenQueueRequest(dw_access=1))
        waits = rr.StartReceiveRequest(ph_context=opened.response.pph_context, ul_timeout=INFINITE)
        pending = await clients[0].begin(RR, 7, waits)
        for client in clients[:0:-1]:
            await client.call(RR, 0, NoParameters())
        await is_well(port)
        while server.connections == 3:
            await asyncio.sleep(0.005)
        assert [one.connected for one in clients] == [True, True, False]
        small_server.wake()
        assert (await pending.answer).fault is None
        for client in clients:
            await client.close()


async def test_calls_and_handles_beyond_the_limits_are_refused(small_server: SmallServer) -> None:
    async with RpcServer([small_server], limits=RpcLimits(calls=2, handles=2)) as server:
        _, port = await server.listen()
        async with await RpcClient.connect("127.0.0.1", port) as client:
            await client.bind(RR)
            opened = [await client.call(RR, 2, rr.OpenQueueRequest(dw_access=1)) for _ in range(3)]
            assert [one.fault for one in opened] == [None, None, 0x1C010014]
            handle = opened[0].response.pph_context
            # A call that names a handle goes on, or none could ever be closed.
            assert (await client.call(RR, 3, rr.CloseQueueRequest(pph_context=handle))).fault is None
            other = opened[1].response.pph_context
            waits = rr.StartReceiveRequest(ph_context=other, ul_timeout=INFINITE)
            pending = [await client.begin(RR, 7, waits) for _ in range(2)]
            assert (await client.call(RR, 0, NoParameters())).fault == 0x1C010014
            small_server.wake()
            for one in pending:
                assert (await one.answer).fault is None
            assert (await client.call(RR, 0, NoParameters())).fault is None


@pytest.mark.slow
async def test_who_holds_most_handles_loses_them_when_all_hold_too_many(small_server: SmallServer) -> None:
    async with RpcServer([small_server], limits=RpcLimits(all_handles=4)) as server:
        _, port = await server.listen()
        greedy = await RpcClient.connect("127.0.0.1", port)
        await greedy.bind(RR)
        opening = rr.OpenQueueRequest(dw_access=1)
        opened = [await greedy.call(RR, 2, opening) for _ in range(5)]
        assert [one.fault for one in opened] == [None] * 4 + [0x1C010014]
        async with await RpcClient.connect("127.0.0.1", port) as client:
            await client.bind(RR)
            for _ in range(3):
                assert (await client.call(RR, 2, opening)).fault is None
            while greedy.connected:
                await asyncio.sleep(0.005)
            assert small_server.gone == [1]
        await greedy.close()


@pytest.mark.check
async def test_connections_that_never_bind_or_are_idle_are_closed_and_waiting_ones_are_not(
    small_server: SmallServer,
) -> None:
    limits = RpcLimits(bind_seconds=0.6, idle_seconds=1.2)
    async with RpcServer([small_server], limits=limits) as server:
        _, port = await server.listen()
        silent, half = await Raw.connect(port), await Raw.connect(port)
        half.send(encode_pdu(BIND)[:20])
        waiting = await RpcClient.connect("127.0.0.1", port)
        await waiting.bind(RR)
        opened = await waiting.call(RR, 2, rr.OpenQueueRequest(dw_access=1))
        request = rr.StartReceiveRequest(ph_context=opened.response.pph_context, ul_timeout=INFINITE)
        pending = await waiting.begin(RR, 7, request)
        idle = await Raw.connect(port)
        idle.send(BIND)
        assert isinstance(await idle.read(), BindAck)
        for client in (silent, half, idle):
            assert await client.ended()
            await client.close()
        assert server.connections == 1
        small_server.wake()
        assert (await pending.answer).fault is None
        # Idle now, it is closed as well.
        while waiting.connected:
            await asyncio.sleep(0.005)
        await waiting.close()


@pytest.mark.slow
async def test_a_client_that_never_reads_is_dropped_and_costs_little(small_server: SmallServer) -> None:
    async with connected(small_server, stalled_seconds=0.3) as (server, client):
        client.send(BIND, Request(WHOLE, 2, opnum=2, stub=opening()))
        await client.read()
        greedy = receiving(await handle_of(client), size=1 << 20, timeout=0)
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport that reads
        tracemalloc.start()
        client.send(*(Request(WHOLE, number, opnum=7, stub=greedy) for number in range(3, 500)))
        await is_well(client.port)
        await gone(server)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # Only what the sockets take was answered; one answer of a megabyte and copies of it are held.
        assert small_server.served.count("receive") < 100
        assert peak < 40 << 20


@pytest.mark.slow
async def test_who_holds_most_goes_when_all_hold_too_much(small_server: SmallServer) -> None:
    async with connected(small_server, held_bytes=6 << 20) as (server, greedy):
        greedy.send(BIND, Request(WHOLE, 2, opnum=2, stub=opening()))
        await greedy.read()
        handle = await handle_of(greedy)
        greedy.send(
            *(Request(WHOLE, n, opnum=7, stub=receiving(handle, size=3 << 20)) for n in range(3, 103))
        )
        modest = await Raw.connect(greedy.port)
        modest.send(BIND, Request(PFC_FIRST_FRAG, 2, opnum=12, stub=bytes(60_000)))
        await modest.read()
        while len(small_server.waiting) < 100:
            await asyncio.sleep(0.005)
        greedy.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport that reads
        tracemalloc.start()
        small_server.wake()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 60 << 20
        modest.send(Request(PFC_LAST_FRAG, 2, opnum=12), Request(WHOLE, 3))
        assert [(await modest.read()).call_id for _ in range(2)] == [2, 3]
        await modest.close()
        await gone(server)


@pytest.mark.slow
async def test_a_server_ends_although_clients_do_not_go(small_server: SmallServer) -> None:
    server = RpcServer([small_server])
    _, port = await server.listen()
    stubborn = await Raw.connect(port)
    stubborn.send(BIND, Request(WHOLE, 2, opnum=2, stub=opening()))
    await stubborn.read()
    handle = await handle_of(stubborn)
    stubborn.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport that reads
    stubborn.send(Request(WHOLE, 3, opnum=7, stub=receiving(handle, size=8 << 20, timeout=0)))
    while "receive" not in small_server.served:
        await asyncio.sleep(0.005)
    silent = await Raw.connect(port)
    while server.connections < 2:
        await asyncio.sleep(0.005)
    await server.close()
    assert server.connections == 0
    assert small_server.gone == [1]
    await stubborn.close()
    await silent.close()


@pytest.mark.slow
async def test_a_client_that_reads_late_gets_all_that_it_asked_for(small_server: SmallServer) -> None:
    async with connected(small_server) as (_, client):
        client.send(BIND, Request(WHOLE, 2, opnum=2, stub=opening()))
        await client.read()
        large = receiving(await handle_of(client), size=1 << 20, timeout=0)
        client.send(*(Request(WHOLE, number, opnum=7, stub=large) for number in range(3, 43)))
        await is_well(client.port)
        # Some of the requests wait for their turn, unless the sockets took all.
        assert small_server.served.count("receive") <= 40
        received = dict.fromkeys(range(3, 43), 0)
        while True:
            answer = await client.read()
            assert isinstance(answer, Response)
            received[answer.call_id] += len(answer.stub)
            if answer.call_id == 42 and answer.pfc_flags & PFC_LAST_FRAG:
                break
        assert len(set(received.values())) == 1
        assert received[42] > 1 << 20


@pytest.mark.slow
async def test_connections_that_are_broken_off_are_captured_so(
    small_server: SmallServer, tmp_path: Path
) -> None:
    with CaptureWriter(tmp_path / "lab.pcap") as capture:
        async with RpcServer([small_server], capture=capture) as server:
            _, port = await server.listen()
            wrong = await Raw.connect(port)
            wrong.send(BIND, b"no PDU at all, and long enough")
            assert isinstance(await wrong.read(), BindAck)
            assert await wrong.ended()
            await wrong.close()
            await gone(server)
        async with RpcServer([small_server], capture=capture) as server:
            _, port = await server.listen()
            client = await RpcClient.connect("127.0.0.1", port)
            await client.bind(RR)
            client.abort()
            await client.close()
            await gone(server)
    records = list(read_capture(tmp_path / "lab.pcap", streams=True))
    steps = [one.event for one in records if one.type == "tcp_stream"]
    assert steps.count("rst") + steps.count("fin") >= 2
    assert "rst" in steps
    assert [one.type for one in records].count("rpc_bind") == 2
