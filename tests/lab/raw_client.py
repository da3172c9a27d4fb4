"""A client that sends what it is told, PDU by PDU or byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.rpc_client import RpcClient
from msmq_wire.lab.rpc_negotiation import offer
from msmq_wire.lab.rpc_server import RpcServer
from msmq_wire.lab.rpc_service import RpcLimits
from msmq_wire.rpc.interfaces import qm2qm
from msmq_wire.rpc.interfaces import remote_read as rr
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters
from msmq_wire.rpc.ndr import NDR, StubValue, encode_stub
from msmq_wire.rpc.pdu.decoding import decode_pdu
from msmq_wire.rpc.pdu.encoding import encode_pdu
from msmq_wire.rpc.pdu.values import (
    PFC_CONC_MPX,
    PFC_FIRST_FRAG,
    PFC_LAST_FRAG,
    Bind,
    Pdu,
    Request,
    Response,
    SecTrailer,
)
from tests.lab.conftest import SmallServer

RR = rr.INTERFACE
WHOLE = PFC_FIRST_FRAG | PFC_LAST_FRAG
NTLM = SecTrailer(auth_type=10, auth_level=6, auth_value=b"NTLMSSP\0")
BIND = Bind(
    WHOLE | PFC_CONC_MPX,
    1,
    max_xmit_frag=4280,
    max_recv_frag=4280,
    contexts=offer((RR, qm2qm.INTERFACE), (NDR,)),
)
PORT = Request(WHOLE, 2, context_id=0, opnum=0)


class Raw:
    """A client that sends what it is told, and reads PDUs."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int) -> Raw:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    @property
    def port(self) -> int:
        """The port of the server."""
        return int(self.writer.get_extra_info("peername")[1])

    def send(self, *pdus: Pdu | bytes) -> None:
        self.writer.write(b"".join(one if isinstance(one, bytes) else encode_pdu(one) for one in pdus))

    async def read(self) -> Pdu:
        header = await self.reader.readexactly(16)
        size = int.from_bytes(header[8:10], "little")
        return decode_pdu(header + await self.reader.readexactly(size - 16))

    async def ended(self) -> bool:
        """Whether the server ends the connection, without another word."""
        try:
            return await asyncio.wait_for(self.reader.read(1), 20) == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


@contextlib.asynccontextmanager
async def connected(small_server: SmallServer, **limits: Any) -> AsyncIterator[tuple[RpcServer, Raw]]:
    """A server with these limits, and a client of it."""
    async with RpcServer([small_server], limits=RpcLimits(**limits)) as server:
        _, port = await server.listen()
        client = await Raw.connect(port)
        try:
            yield server, client
        finally:
            await client.close()


async def gone(server: RpcServer) -> None:
    while server.connections:
        await asyncio.sleep(0.005)


async def is_well(port: int) -> None:
    """Another client is served."""
    async with await RpcClient.connect("127.0.0.1", port) as client:
        await client.bind(RR)
        assert (await client.call(RR, 0, NoParameters())).response.return_value == 2105


def opening() -> bytes:
    return encode_stub(RR.methods[2].request, StubValue(rr.OpenQueueRequest(dw_access=1)))


def receiving(handle: bytes, size: int = 0, timeout: int = INFINITE) -> bytes:
    request = rr.StartReceiveRequest(ul_timeout=timeout, dw_max_body_size=size)
    return handle + encode_stub(RR.methods[7].request, StubValue(request))[20:]


async def handle_of(client: Raw) -> bytes:
    answer = await client.read()
    assert isinstance(answer, Response)
    return answer.stub
