"""Makes the connections that outgoing queues need, one by one."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from socket import SOCK_STREAM, gaierror

from msmq_wire.lab.binary_connection import BinaryConnection, BinaryConnections
from msmq_wire.lab.log import why
from msmq_wire.lab.model.binary.outgoing import TransmissionQueue
from msmq_wire.rpc.constants import ConnectionStatus


class BinaryDialer:
    """Connects the outgoing queues of ``connections``; `close` it before the loop ends.

    ``failure`` is why the last connection failed, None if it succeeded. ``reached`` counts connections.
    ``local_address`` is where connections come from, where that can reach the other host.
    """

    def __init__(
        self, connections: BinaryConnections, *, ping_sent: bool = False, local_address: str = ""
    ) -> None:
        self.failure: OSError | None = None
        self.reached = 0
        self._connections = connections
        self._ping_sent = ping_sent
        self._local_address = local_address
        self._dialing: set[asyncio.Task[None]] = set()

    def dial(self, outgoing: TransmissionQueue, host: str, port: int) -> None:
        """Start to connect a queue to a port; the queue is informed of a failure."""
        task = asyncio.get_running_loop().create_task(self._dial(outgoing, host, port))
        self._dialing.add(task)
        task.add_done_callback(self._dialing.discard)

    async def close(self) -> None:
        """Give up the connections that are not made yet."""
        for task in self._dialing:
            task.cancel()
        if self._dialing:
            await asyncio.wait(self._dialing)

    async def _dial(self, outgoing: TransmissionQueue, host: str, port: int) -> None:
        shared = self._connections

        def connection() -> BinaryConnection:
            return BinaryConnection(
                shared,
                lambda peer, changed: shared.protocol.initiate(
                    outgoing, peer_address=peer, ping_sent=self._ping_sent, changed=changed
                ),
                is_client=True,
            )

        try:
            loop = asyncio.get_running_loop()
            found = await loop.getaddrinfo(host, port, type=SOCK_STREAM)
            with shared.clock.event():
                outgoing.addresses = tuple(dict.fromkeys(str(place[0]) for *_, place in found))
            own = (self._local_address, 0) if _reaches(self._local_address, host) else None
            _, made = await loop.create_connection(connection, host, port, local_addr=own)
        except OSError as error:
            self.failure = error
            shared.log.say("connect-failed", reason=why(error))
            with shared.clock.event():
                no_name = isinstance(error, gaierror)
                status = ConnectionStatus.DNS_FAILURE if no_name else ConnectionStatus.SOCKET_CONNECT_FAILURE
                outgoing.failed(status)
        else:
            self.failure = None
            self.reached += 1
            if made.session is None:
                # There are too many connections here, or it is gone already.
                with shared.clock.event():
                    outgoing.failed(ConnectionStatus.CONNECTION_LIMIT_REACHED)


def _reaches(own: str, other: str) -> bool:
    """Whether a connection to an address can come from another one: both or neither are loopback."""
    try:
        here, there = ip_address(own), ip_address(other)
    except ValueError:
        return False
    alike = here.version == there.version and here.is_loopback == there.is_loopback
    return alike and not here.is_unspecified
