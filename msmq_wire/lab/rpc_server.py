"""A DCE/RPC server over TCP (ncacn_ip_tcp) for the servers of the model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msmq_wire.capture.conversation_writer import CaptureWriter, Endpoint, endpoint
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.closing import Closing
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.lab.log import LabLog, why
from msmq_wire.lab.model.server import Server
from msmq_wire.lab.rpc_connection import RpcConnection
from msmq_wire.lab.rpc_service import RpcLimits, RpcService
from msmq_wire.rpc.ndr import NDR64, Syntax

_BACKLOG = 512
_SHORTEST_ROUND, _LONGEST_ROUND = 0.02, 15.0
_GRACE = 1.0


class RpcServer(Closing):
    """Serves interfaces on TCP ports, without authentication: a bind that brings some is refused.

    ``clock`` drives the timers of the model whenever a call changes it; ``capture`` takes down what passes;
    ``faults`` with ``seed`` say what goes wrong on purpose; of several transfer syntaxes that a client offers
    for an interface ``preferred`` is taken. What one client asks for in one association is run down when its
    last connection is gone (``rundown`` of each server). Use it as a context, or `close` it.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        *,
        limits: RpcLimits = RpcLimits(),  # noqa: B008  (a value that does not change)
        clock: LoopClock | None = None,
        capture: CaptureWriter | None = None,
        faults: FaultPlan | None = None,
        seed: int = 0,
        preferred: Syntax = NDR64,
        log: LabLog | None = None,
    ) -> None:
        self._service = RpcService(
            servers,
            limits=limits,
            clock=clock,
            capture=capture,
            faults=faults,
            seed=seed,
            preferred=preferred,
            log=LabLog(lambda: 0) if log is None else log,
        )
        self._listeners: list[asyncio.Server] = []
        self._round: asyncio.TimerHandle | None = None

    @property
    def connections(self) -> int:
        """How many connections there are."""
        return len(self._service.connections)

    @property
    def calls(self) -> int:
        """How many calls are in progress."""
        return self._service.calls

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> Endpoint:
        """Serve a port, any free one for 0, and return it; `MsmqWireError` where that is not possible."""
        loop = asyncio.get_running_loop()
        try:
            listener = await loop.create_server(
                lambda: RpcConnection(self._service), host, port, backlog=_BACKLOG
            )
        except OSError as error:
            raise MsmqWireError(f"cannot serve {host} port {port}: {why(error)}") from error
        self._listeners.append(listener)
        if self._round is None:
            self._look_around()
        return endpoint(listener.sockets[0].getsockname())

    async def close(self) -> None:
        """Take no more connections and tell the clients to go; those that stay are broken off soon."""
        if self._round is not None:
            self._round.cancel()
            self._round = None
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.close()
        connections = tuple(self._service.connections)
        for connection in connections:
            connection.retire()
        gone = [connection.closed for connection in connections]
        if gone:
            _, slow = await asyncio.wait(gone, timeout=_GRACE)
            for connection in connections:
                if connection.closed in slow:
                    connection.drop()
            await asyncio.wait(gone)
        for listener in listeners:
            await listener.wait_closed()

    def _look_around(self) -> None:
        """Break off the connections that took too long, and look again after a while."""
        loop = asyncio.get_running_loop()
        limits = self._service.limits
        shortest = min(limits.bind_seconds, limits.idle_seconds, limits.stalled_seconds)
        delay = min(max(shortest / 4, _SHORTEST_ROUND), _LONGEST_ROUND)
        self._round = loop.call_later(delay, self._look_around)
        for connection in self._service.connections:
            connection.check(loop.time())
