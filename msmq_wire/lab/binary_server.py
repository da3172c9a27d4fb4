"""The binary protocol on a TCP port, and ping on a UDP port. [MS-MQQB] 2.1"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from msmq_wire.capture.conversation_writer import Endpoint, endpoint
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.binary_connection import BinaryConnection, BinaryConnections
from msmq_wire.lab.faults import ConnectionFaults
from msmq_wire.lab.log import why
from msmq_wire.lab.model.binary.pings import PingResponder

_BACKLOG = 1024
_LARGEST_PING = 64
_MOST_WAITING = 1000
"""At most so many delayed answers to pings wait."""


def cannot_serve(host: str, port: int, error: OSError) -> MsmqWireError:
    """The error for a port that cannot be opened."""
    return MsmqWireError(f"cannot serve {host} port {port}: {why(error)}")


class BinaryServer:
    """Accepts sessions for the queue manager of ``connections``; `close` it before the loop ends."""

    def __init__(self, connections: BinaryConnections) -> None:
        self._connections = connections
        self._listeners: list[asyncio.Server] = []
        self._pings: list[asyncio.DatagramTransport] = []

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> Endpoint:
        """Serve a TCP port, any free one for 0, and return it; `MsmqWireError` where that is not possible."""
        shared = self._connections

        def connection() -> BinaryConnection:
            return BinaryConnection(
                shared,
                lambda peer, changed: shared.protocol.accept(peer, changed=changed),
                is_client=False,
            )

        loop = asyncio.get_running_loop()
        try:
            listener = await loop.create_server(connection, host, port, backlog=_BACKLOG)
        except OSError as error:
            raise cannot_serve(host, port, error) from error
        self._listeners.append(listener)
        return endpoint(listener.sockets[0].getsockname())

    async def listen_for_pings(self, host: str = "127.0.0.1", port: int = 0) -> Endpoint:
        """Answer pings on a UDP port, any free one for 0, and return it; errors as for `listen`."""
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_datagram_endpoint(
                lambda: _PingAnswers(self._connections), local_addr=(host, port)
            )
        except OSError as error:
            raise cannot_serve(host, port, error) from error
        self._pings.append(transport)
        return endpoint(transport.get_extra_info("sockname"))

    async def close(self) -> None:
        """Take no more connections, and close all sessions."""
        for transport in self._pings:
            transport.close()
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.close()
        await self._connections.close()
        for listener in listeners:
            await listener.wait_closed()


class _PingAnswers(asyncio.DatagramProtocol):
    """Answers pings, except its own. Some get no answer if too many answers wait to be sent."""

    def __init__(self, connections: BinaryConnections) -> None:
        self._connections = connections
        self._faults: ConnectionFaults | None = connections.ping_faults()
        self._responder = PingResponder(connections.protocol.manager)
        self._full = False
        self._waiting = 0
        self._transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        # That of a selector loop is one, without saying so.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer a ping; ignore other datagrams."""
        shared = self._connections
        here, peer = endpoint(self._transport.get_extra_info("sockname")), endpoint(addr)
        if shared.capture is not None and len(data) <= _LARGEST_PING:
            shared.capture.datagram(peer, here, data)
        faults = self._faults
        accepting = shared.protocol.accepting and not (faults is not None and faults.refused())
        if peer == here or self._full:
            return
        with shared.clock.event():
            answer = self._responder.answer(data, peer, accepting=accepting)
        if answer is None:
            return
        shared.log.say("ping", peer=peer[0], accepted=int(accepting))
        if faults is None:
            self._send(answer, addr)
            return
        applied, copies = faults.applied(len(answer)), 1 + faults.duplicated()
        if applied.keep is not None:
            return
        if not applied.delay:
            self._send(answer, addr, copies)
        elif self._waiting < _MOST_WAITING:
            self._waiting += 1
            asyncio.get_running_loop().call_later(applied.delay, self._send_late, answer, addr, copies)

    def _send_late(self, answer: bytes, addr: Any, copies: int) -> None:
        self._waiting -= 1
        if not self._transport.is_closing():
            self._send(answer, addr, copies)

    def _send(self, answer: bytes, addr: Any, copies: int = 1) -> None:
        capture = self._connections.capture
        for _ in range(copies):
            if capture is not None:
                here = endpoint(self._transport.get_extra_info("sockname"))
                capture.datagram(here, endpoint(addr), answer)
            self._transport.sendto(answer, addr)

    def pause_writing(self) -> None:
        """Stop answering: too many answers wait."""
        self._full = True

    def resume_writing(self) -> None:
        """Answer again."""
        self._full = False

    def error_received(self, exc: Exception) -> None:
        """Ignore the error: the client is gone."""
