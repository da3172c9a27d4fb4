"""Sends messages over the binary protocol, and waits until all are acknowledged."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any, cast

from msmq_wire.capture.conversation_writer import CaptureWriter, endpoint
from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.binary_connection import BinaryConnections, BinaryLimits
from msmq_wire.lab.binary_dialer import BinaryDialer
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.closing import Closing
from msmq_wire.lab.faults import FaultPlan
from msmq_wire.lab.log import LabLog, why
from msmq_wire.lab.model.binary.outgoing import TransmissionQueue
from msmq_wire.lab.model.binary.outgoing_message import Outcome, OutgoingMessage
from msmq_wire.lab.model.binary.pings import Pinger
from msmq_wire.lab.model.binary.protocol import BinaryProtocol
from msmq_wire.lab.model.binary.settings import BinarySettings
from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import NULL_GUID

_HALF_WINDOW = 32
_MOST_KEPT = 2000
"""At most so many messages wait for acknowledgments."""
_RETRY = 50
"""Milliseconds until a connection is retried."""


def window_for(count: int) -> int:
    """A window whose half divides the number of messages, so that the last ones are acknowledged at once.

    A server acknowledges after half a window; a smaller rest waits up to 10 seconds.
    [MS-MQQB] 3.1.2.5
    """
    half = next(number for number in range(_HALF_WINDOW, 0, -1) if count % number == 0)
    return 2 * half


class BinaryClient(Closing):
    """Sends from a queue manager to the one at an address; use it as a context.

    ``faults`` with ``seed`` apply to its packets, by connection. ``reached`` counts connections.
    ``window_size`` is proposed to the server; see `window_for`.
    """

    def __init__(
        self,
        manager: ModelQueueManager,
        host: str,
        port: int,
        *,
        capture: CaptureWriter | None = None,
        faults: FaultPlan | None = None,
        seed: int = 0,
        log: LabLog,
        ping_sent: bool = False,
        message_id_ordinal: int = 0,
        window_size: int = 64,
    ) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self._server = host, port
        self._clock = LoopClock(manager.timers)
        self._protocol = BinaryProtocol(
            manager,
            BinarySettings(retry_interval=_RETRY, window_size=window_size),
            message_id_ordinal=message_id_ordinal,
        )
        self._connections = BinaryConnections(
            self._protocol,
            self._clock,
            limits=BinaryLimits(connections=4),
            capture=capture,
            faults=faults,
            seed=seed,
            log=log,
        )
        self._dialer = BinaryDialer(self._connections, ping_sent=ping_sent)
        self._queue = self._protocol.outgoing_queue(
            remote_host_name=host, connect=self._connect, settled=self._settled
        )
        # A client has no directory: its reports go where its messages go.
        self._protocol.ledger.report_channel = self._queue
        self._news = asyncio.Event()

    @property
    def reached(self) -> int:
        """The number of connections."""
        return self._dialer.reached

    async def send(self, messages: Iterable[UserMessage], *, patience: float = 60.0) -> Counter[Outcome]:
        """Send messages and wait for all; return how many came to which outcome.

        Raises `MsmqWireError` where nothing was heard of them for ``patience`` seconds, with the reason, and
        `EncodeError` for a packet that contradicts itself.
        """
        for message in messages:
            while len(self._queue) >= _MOST_KEPT:
                await self._wait(patience)
            with self._clock.event():
                if self._queue.send(message) is None:
                    raise MsmqWireError("the message is larger than all that may wait")
            if not len(self._queue) % 64:
                await asyncio.sleep(0)
        while len(self._queue):
            await self._wait(patience)
        return self.outcomes

    async def close(self) -> None:
        """Close the session; what was not acknowledged is given up."""
        self._queue.clear()
        await self._connections.close()
        self._clock.stop()
        await self._dialer.close()

    async def _wait(self, patience: float) -> None:
        self._news.clear()
        try:
            await asyncio.wait_for(self._news.wait(), patience)
        except TimeoutError:
            raise MsmqWireError(f"{self._trouble}; {self._left}") from None

    @property
    def _trouble(self) -> str:
        """Why there is no answer."""
        name = f"{self._server[0]} port {self._server[1]}"
        if self._dialer.failure is not None:
            return f"cannot connect to {name}: {why(self._dialer.failure)}"
        if self._queue.remote_queue_manager == NULL_GUID:
            return f"{name} opens no session: it refuses them, or is no binary port"
        return f"{name} says no more"

    @property
    def _left(self) -> str:
        done, left = sum(self.outcomes.values()), len(self._queue)
        others = f", {done} {'was' if done == 1 else 'were'}" if done else ""
        return f"{left} message{' was' if left == 1 else 's were'} not acknowledged{others}"

    def _connect(self, outgoing: TransmissionQueue) -> None:
        self._dialer.dial(outgoing, *self._server)

    def _settled(self, message: OutgoingMessage, outcome: Outcome) -> None:
        properties = message.packet.message_properties_header
        if properties is None or properties.message_class != MessageClass.MQMSG_CLASS_REPORT:
            self.outcomes[outcome] += 1
        self._news.set()


async def ping(
    manager: ModelQueueManager, host: str, port: int, *, capture: CaptureWriter | None = None
) -> bool:
    """Ask a UDP port whether sessions are accepted; False where no answer comes within a second."""
    clock = LoopClock(manager.timers)
    pinger = Pinger(manager)
    answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    try:
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _PingRequests(pinger, clock, capture), remote_addr=(host, port)
        )
    except OSError as error:
        raise MsmqWireError(f"cannot ping {host} port {port}: {why(error)}") from error
    try:
        with clock.event():
            data = pinger.request(answer.set_result)
        if capture is not None:
            here, peer = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
            capture.datagram(endpoint(here), endpoint(peer), data)
        transport.sendto(data)
        return await answer
    finally:
        clock.stop()
        transport.close()


class _PingRequests(asyncio.DatagramProtocol):
    """Receives the answer to a ping."""

    def __init__(self, pinger: Pinger, clock: LoopClock, capture: CaptureWriter | None) -> None:
        self._pinger = pinger
        self._clock = clock
        self._capture = capture
        self._transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        # That of a selector loop is one, without saying so.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Receive an answer."""
        if self._capture is not None:
            here = endpoint(self._transport.get_extra_info("sockname"))
            self._capture.datagram(endpoint(addr), here, data)
        with self._clock.event():
            self._pinger.feed(data)

    def error_received(self, exc: Exception) -> None:
        """The host is unreachable: no answer will come."""
