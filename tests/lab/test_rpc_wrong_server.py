"""Servers that do not behave: the client tells what is wrong, once, and never waits for what cannot come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from msmq_wire.errors import DecodeError, MsmqWireError
from msmq_wire.lab import rpc_client
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.lab.rpc_negotiation import accept
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters, PortResponse
from msmq_wire.rpc.ndr import NDR
from msmq_wire.rpc.pdu.decoding import decode_pdu
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import (
    BIG_ENDIAN,
    PFC_FIRST_FRAG,
    PFC_LAST_FRAG,
    Bind,
    BindAck,
    BindNak,
    Fault,
    Orphaned,
    Pdu,
    Request,
    Response,
    UnknownPdu,
)
from tests.lab.raw_client import RR, WHOLE


@asynccontextmanager
async def prepared(*answers: bytes, features: bool = True) -> AsyncIterator[tuple[int, list[Pdu]]]:
    """A port that accepts a bind, then sends one of ``answers`` for each PDU; and what it was sent."""
    said: list[Pdu] = []
    connections: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        left = list(answers)
        try:
            while left or not said:
                header = await reader.readexactly(16)
                pdu = decode_pdu(
                    header + await reader.readexactly(int.from_bytes(header[8:10], "little") - 16)
                )
                said.append(pdu)
                if isinstance(pdu, Bind) and len(said) == 1:
                    elements = pdu.contexts if features else pdu.contexts[:-1]
                    results = accept(elements, {RR.uuid: 1}, NDR)[0]
                    ack = BindAck(WHOLE, 1, max_recv_frag=4280, sec_addr_padding=bytes(2), results=results)
                    writer.write(encode_pdu(ack))
                elif left:
                    writer.write(left.pop(0))
            while data := await reader.read(65536):
                said.append(decode_pdu(data))
        except (asyncio.IncompleteReadError, ConnectionError, DecodeError):
            return
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1], said
    finally:
        listener.close()
        for writer in connections:
            writer.close()
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0.005)


async def bound(port: int) -> RpcClient:
    client = await RpcClient.connect("127.0.0.1", port)
    await client.bind(RR)
    return client


WRONG = {
    "garbage": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "no PDU"),
    "a PDU without its content": (
        encode_pdu(Response(WHOLE, 2))[:8] + b"\x10\0\0\0\2\0\0\0",
        "that is wrong",
    ),
    "a request": (encode_pdu(Request(WHOLE, 2)), "a PDU of type 0"),
    "another type": (encode_pdu(UnknownPdu(WHOLE, 2, ptype=40)), "a PDU of type 40"),
    "an ack that nobody waits for": (encode_pdu(BindNak(WHOLE, 2)), "a PDU of type 13"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "reported"), WRONG.values(), ids=WRONG.keys())
async def test_what_is_no_answer_ends_the_connection_and_says_why(answer: bytes, reported: str) -> None:
    async with prepared(answer) as (port, _), await bound(port) as client:
        with pytest.raises(MsmqWireError, match=reported):
            await client.call(RR, 0, NoParameters())
        assert not client.connected
        with pytest.raises(MsmqWireError, match=reported):
            await client.bind(RR)


@pytest.mark.slow
async def test_a_stub_that_does_not_decode_fails_its_call_alone() -> None:
    good = encode_pdu(Response(WHOLE, 3, stub=bytes.fromhex("39080000")))
    async with (
        prepared(encode_pdu(Response(WHOLE, 2, stub=b"\1\2")), good) as (port, _),
        await bound(port) as client,
    ):
        with pytest.raises(DecodeError):
            await client.call(RR, 0, NoParameters())
        assert await client.call(RR, 0, NoParameters()) == CallResult(PortResponse(return_value=2105))


@pytest.mark.slow
async def test_a_big_endian_answer_in_fragments_is_read() -> None:
    parts = (PFC_FIRST_FRAG, b"\0\0"), (0, b""), (PFC_LAST_FRAG, b"\x08\x39")
    answer = b"".join(encode_pdu(Response(flags, 2, BIG_ENDIAN, stub=part)) for flags, part in parts)
    async with prepared(answer) as (port, _), await bound(port) as client:
        assert (await client.call(RR, 0, NoParameters())).response.return_value == 2105


@pytest.mark.slow
async def test_answers_to_no_call_are_passed_over() -> None:
    stray = encode_pdu(Response(WHOLE, 77, stub=b"x")) + encode_pdu(Fault(WHOLE, 78, status=5))
    answer = encode_pdu(Response(WHOLE, 2, stub=bytes.fromhex("39080000")))
    async with prepared(stray + answer) as (port, _), await bound(port) as client:
        assert (await client.call(RR, 0, NoParameters())).response.return_value == 2105


@pytest.mark.slow
async def test_an_answer_without_end_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc_client, "_MAX_RESPONSE", 10_000)
    endless = encode_pdu(Response(PFC_FIRST_FRAG, 2, stub=bytes(4000))) * 3
    async with prepared(endless) as (port, _), await bound(port) as client:
        with pytest.raises(MsmqWireError, match="R_GetServerPort is too large"):
            await client.call(RR, 0, NoParameters())


async def test_a_fault_for_an_alter_context_is_told() -> None:
    async with prepared(encode_pdu(Fault(WHOLE, 2, status=5))) as (port, _), await bound(port) as client:
        with pytest.raises(MsmqWireError, match="refused the context: fault 0x00000005"):
            await client.bind(RR)
        assert client.connected


@pytest.mark.slow
async def test_only_one_bind_waits_at_a_time() -> None:
    async with prepared(b"") as (port, _), await bound(port) as client:
        first = asyncio.create_task(client.bind(RR))
        await asyncio.sleep(0)
        with pytest.raises(MsmqWireError, match="another bind"):
            await client.bind(RR)
        client.abort()
        with pytest.raises(MsmqWireError, match="connection ended"):
            await first


@pytest.mark.slow
@pytest.mark.parametrize("features", [True, False], ids=["kept", "not-kept"])
async def test_the_connection_stays_after_an_orphan_only_where_the_server_said_so(features: bool) -> None:
    async with prepared(b"", features=features) as (port, said), await bound(port) as client:
        pending = await client.begin(RR, 0, NoParameters())
        client.give_up(pending)
        client.give_up(pending)
        client.cancel(pending)
        assert pending.answer.cancelled()
        while len(said) < 3:
            await asyncio.sleep(0.005)
        assert [type(one) for one in said[1:]] == [Request, Orphaned]
        if not features:
            while client.connected:
                await asyncio.sleep(0.005)
        assert client.connected is features


async def test_a_client_waits_for_a_server_that_does_not_read() -> None:
    async with prepared() as (port, _), await bound(port) as client:
        client.pause_writing()
        call = asyncio.create_task(client.call(RR, 0, NoParameters()))
        await asyncio.sleep(0.02)
        assert not call.done()
        client.abort()
        with pytest.raises(MsmqWireError, match="connection ended"):
            await call
