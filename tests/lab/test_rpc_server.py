"""What the server says to PDUs, right ones and wrong ones: each costs its own connection at most."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.rpc_negotiation import offer
from msmq_wire.lab.rpc_server import RpcServer
from msmq_wire.rpc.ndr import NDR
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import (
    BIG_ENDIAN,
    PFC_CONC_MPX,
    PFC_FIRST_FRAG,
    PFC_LAST_FRAG,
    PFC_MAYBE,
    AlterContext,
    AlterContextResp,
    Auth3,
    Bind,
    BindAck,
    BindNak,
    CoCancel,
    Fault,
    Orphaned,
    Request,
    Response,
    Shutdown,
)
from tests.effort import examples
from tests.lab.conftest import SmallServer
from tests.lab.raw_client import (
    BIND,
    NTLM,
    PORT,
    RR,
    WHOLE,
    connected,
    gone,
    handle_of,
    is_well,
    opening,
    receiving,
)


@pytest.mark.slow
async def test_requests_byte_by_byte_are_as_good_as_whole_ones(small_server: SmallServer) -> None:
    async with connected(small_server) as (_, client):
        client.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in encode_pdu(BIND) + encode_pdu(PORT):
            client.send(bytes((byte,)))
            await asyncio.sleep(0)
        answer = await client.read()
        assert isinstance(answer, BindAck)
        assert answer.pfc_flags == WHOLE | PFC_CONC_MPX
        assert (answer.max_xmit_frag, answer.max_recv_frag) == (4280, 4280)
        assert answer.sec_addr == f"{client.port}\0".encode()
        assert [one.result for one in answer.results] == [0, 2]
        # A port of 2105, and nothing else.
        assert await client.read() == Response(
            WHOLE, 2, alloc_hint=4, context_id=0, stub=bytes.fromhex("39080000")
        )


@pytest.mark.slow
async def test_requests_in_one_segment_are_answered_each(small_server: SmallServer) -> None:
    async with connected(small_server) as (_, client):
        client.send(BIND, *(Request(WHOLE, number) for number in range(2, 50)))
        assert isinstance(await client.read(), BindAck)
        for number in range(2, 50):
            assert (await client.read()).call_id == number


@pytest.mark.slow
async def test_a_big_endian_client_is_understood(small_server: SmallServer) -> None:
    async with connected(small_server) as (_, client):
        bind = Bind(WHOLE, 1, BIG_ENDIAN, max_recv_frag=4280, contexts=offer((RR,), (NDR,)))
        # No transaction, a token of three bytes behind their number, then the name of no queue.
        stub = bytes(16) + (3).to_bytes(4, "big") + (3).to_bytes(4, "big") + b"\1\2\3\0" + bytes(8)
        client.send(bind, Request(WHOLE, 2, BIG_ENDIAN, opnum=12, stub=stub))
        assert isinstance(await client.read(), BindAck)
        answer = await client.read()
        assert isinstance(answer, Response)
        assert answer.stub == (6).to_bytes(4, "little")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (Request(WHOLE, 2, context_id=0, opnum=1), 0x1C010002),
        (Request(WHOLE, 2, context_id=0, opnum=15), 0x1C010002),
        (Request(WHOLE, 2, context_id=1, opnum=0), 0x1C010003),
        (Request(WHOLE, 2, context_id=9, opnum=0), 0x1C00001C),
        (Request(WHOLE, 2, context_id=0, opnum=2, stub=b"short"), 0x6F7),
        (Request(WHOLE, 2, context_id=0, opnum=6, stub=bytes(20)), 0x1C00001A),
        (Request(WHOLE, 2, context_id=0, opnum=0, sec_trailer=NTLM), 0x721),
    ],
    ids=["no-opnum", "not-served", "no-interface", "no-context", "bad-stub", "null-handle", "signed"],
)
async def test_what_is_not_there_gets_a_fault_that_says_it_was_not_done(
    small_server: SmallServer, request_: Request, status: int
) -> None:
    async with connected(small_server) as (_, client):
        client.send(BIND, request_, Request(WHOLE, 3))
        await client.read()
        fault = await client.read()
        assert isinstance(fault, Fault)
        assert (fault.call_id, fault.status, fault.pfc_flags) == (2, status, WHOLE | 0x20)
        assert isinstance(await client.read(), Response)


@pytest.mark.slow
async def test_a_bind_with_authentication_is_refused_and_the_reason_named(small_server: SmallServer) -> None:
    async with connected(small_server) as (server, client):
        client.send(Bind(WHOLE, 1, contexts=BIND.contexts, sec_trailer=NTLM))
        answer = await client.read()
        assert isinstance(answer, BindNak)
        assert (answer.reject_reason, answer.versions) == (8, ((5, 0), (5, 1)))
        assert await client.ended()
        await client.close()
        await gone(server)


@pytest.mark.slow
async def test_contexts_are_added_and_not_without_end(small_server: SmallServer) -> None:
    async with connected(small_server, contexts=10) as (_, client):
        client.send(BIND)
        await client.read()
        client.send(AlterContext(WHOLE, 2, contexts=offer((RR,), (NDR,), first=5)))
        answer = await client.read()
        assert isinstance(answer, AlterContextResp)
        assert (answer.assoc_group_id, answer.sec_addr, len(answer.results)) == (1, b"", 1)
        client.send(Request(WHOLE, 3, context_id=5))
        assert isinstance(await client.read(), Response)
        client.send(AlterContext(WHOLE, 4, contexts=BIND.contexts, sec_trailer=NTLM))
        fault = await client.read()
        assert isinstance(fault, Fault)
        assert fault.status == 0x6D3
        client.send(AlterContext(WHOLE, 5, contexts=BIND.contexts * 4))
        refused = await client.read()
        assert isinstance(refused, BindNak)
        assert refused.reject_reason == 2
        assert await client.ended()


GARBAGE = {
    "http": b"GET / HTTP/1.1\r\nHost: lab01\r\n\r\n",
    "zeros": bytes(40),
    "binary protocol": b"\x10\x00\x0b\x00LIOR" + bytes(60),
    "a request before the bind": encode_pdu(PORT),
    "an alter_context before the bind": encode_pdu(AlterContext(WHOLE, 1, contexts=BIND.contexts)),
    "a response": encode_pdu(BIND) + encode_pdu(Response(WHOLE, 1)),
    "a shutdown": encode_pdu(BIND) + encode_pdu(Shutdown(WHOLE, 1)),
    "an auth3": encode_pdu(BIND) + encode_pdu(Auth3(WHOLE, 1)),
    "a second bind": encode_pdu(BIND) * 2,
    "a bind whose contexts are not there": encode_pdu(BIND)[:24] + b"\xff" + encode_pdu(BIND)[25:],
    "garbage behind the bind": encode_pdu(BIND) + b"x" * 20,
    "a middle without a beginning": encode_pdu(BIND) + encode_pdu(Request(0, 2)),
    "a request inside another one": encode_pdu(BIND) + encode_pdu(Request(PFC_FIRST_FRAG, 2)) * 2,
    "a part of another request": encode_pdu(BIND)
    + encode_pdu(Request(PFC_FIRST_FRAG, 2))
    + encode_pdu(Request(PFC_LAST_FRAG, 3)),
}


@pytest.mark.check
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
async def test_who_breaks_the_protocol_loses_the_connection(
    small_server: SmallServer, garbage: bytes
) -> None:
    async with connected(small_server) as (server, client):
        client.send(garbage)
        if garbage.startswith(encode_pdu(BIND)):
            assert isinstance(await client.read(), BindAck)
        assert await client.ended()
        await client.close()
        await gone(server)
        await is_well(client.port)


@settings(max_examples=examples(25))
@given(garbage=st.one_of(st.binary(max_size=200), st.integers()))
def test_any_bytes_end_in_an_answer_or_a_lost_connection(garbage: bytes | int) -> None:
    small_server = SmallServer()
    if isinstance(garbage, int):
        # A good conversation with a few wrong bytes in it.
        source, talked = random.Random(garbage), bytearray(encode_pdu(BIND) + encode_pdu(PORT) * 3)
        for _ in range(source.randrange(1, 4)):
            talked[source.randrange(len(talked))] = source.randrange(256)
        garbage = bytes(talked)

    async def talk() -> None:
        complaints: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, reported: complaints.append(reported))
        async with connected(small_server) as (server, client):
            client.send(garbage)
            client.writer.write_eof()
            with contextlib.suppress(ConnectionError):
                await asyncio.wait_for(client.reader.read(), 20)
            await client.close()
            await gone(server)
            await is_well(client.port)
        assert complaints == []

    asyncio.run(talk())


@pytest.mark.slow
async def test_a_call_number_in_use_is_not_taken_again(small_server: SmallServer) -> None:
    async with connected(small_server) as (server, client):
        client.send(BIND, Request(WHOLE, 2, opnum=2, stub=opening()))
        await client.read()
        twice = Request(WHOLE, 3, opnum=7, stub=receiving(await handle_of(client)))
        client.send(twice, twice)
        assert await client.ended()
        await client.close()
        await gone(server)
        assert server.calls == 0


@pytest.mark.slow
async def test_a_call_that_wants_no_answer_gets_none(small_server: SmallServer) -> None:
    async with connected(small_server) as (_, client):
        client.send(BIND, Request(WHOLE | PFC_MAYBE, 2), Request(WHOLE, 3))
        await client.read()
        assert (await client.read()).call_id == 3
        assert small_server.served == ["port", "port"]


@pytest.mark.slow
async def test_cancels_are_counted_and_orphans_are_not_answered(small_server: SmallServer) -> None:
    async with connected(small_server) as (_, client):
        client.send(BIND, Request(WHOLE, 2, opnum=2, stub=opening()))
        await client.read()
        handle = await handle_of(client)
        client.send(*(Request(WHOLE, number, opnum=7, stub=receiving(handle)) for number in (3, 4)))
        client.send(CoCancel(WHOLE, 4), CoCancel(WHOLE, 4), Orphaned(WHOLE, 3))
        # One of nothing, one of a request that is not whole, and that one again.
        client.send(CoCancel(WHOLE, 77), Request(PFC_FIRST_FRAG, 5), Orphaned(WHOLE, 5), Request(WHOLE, 5))
        assert (await client.read()).call_id == 5
        small_server.wake()
        answer = await client.read()
        assert isinstance(answer, Response)
        assert (answer.call_id, answer.cancel_count) == (4, 2)
        client.send(Request(WHOLE, 6))
        assert (await client.read()).call_id == 6


@pytest.mark.slow
async def test_a_port_that_is_taken_is_told(small_server: SmallServer) -> None:
    async with RpcServer([small_server]) as server:
        _, port = await server.listen()
        with pytest.raises(MsmqWireError, match=f"cannot serve 127.0.0.1 port {port}"):
            await server.listen(port=port)
