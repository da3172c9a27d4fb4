"""A connection of the binary protocol: a session of the model on a TCP connection, on either side.

The rules kept here: bytes go from the socket to the session and from the session to the socket, nothing else
does. Bytes are taken in small pieces, and only while the peer reads (`Backpressure`). The capture holds what
the session was given: what still waits when the connection ends is in neither, so capture and log agree.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import msgspec

from msmq_wire.capture.conversation_writer import CapturedConnection, CaptureWriter, Endpoint, endpoint
from msmq_wire.lab.backpressure import Backpressure
from msmq_wire.lab.clock import LoopClock
from msmq_wire.lab.connection_table import ConnectionTable
from msmq_wire.lab.faults import ConnectionFaults, FaultPlan, FaultySender
from msmq_wire.lab.log import LabLog
from msmq_wire.lab.model.binary.binary_session import BinarySession
from msmq_wire.lab.model.binary.protocol import BinaryProtocol
from msmq_wire.lab.model.binary.session_opening import SessionState

_ROUND = 1.0
_PIECE = 8 << 10
"""Bytes of a peer that are processed in one turn of the loop."""


class BinaryLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The resources that peers may use; a connection over the limit is closed.

    ``held_bytes`` are the bytes of incomplete packets and of unread answers, for all ``connections``
    together. ``stalled_seconds`` is how long a peer may stop reading.
    """

    connections: int = 1100
    held_bytes: int = 16 << 20
    stalled_seconds: float = 60.0


class BinaryConnections:
    """The shared state of the connections of a queue manager. The model changes only inside ``clock``."""

    def __init__(
        self,
        protocol: BinaryProtocol,
        clock: LoopClock,
        *,
        limits: BinaryLimits = BinaryLimits(),  # noqa: B008  (a value that does not change)
        capture: CaptureWriter | None = None,
        faults: FaultPlan | None = None,
        seed: int = 0,
        log: LabLog,
    ) -> None:
        self.protocol = protocol
        self.clock = clock
        self.limits = limits
        self.capture = capture
        self.log = log
        self.open: ConnectionTable[BinaryConnection] = ConnectionTable(limits.connections, limits.held_bytes)
        self._faults = faults
        self._seed = seed
        self._count = 0
        self._round: asyncio.TimerHandle | None = None

    def next_faults(self) -> ConnectionFaults | None:
        """The faults of the next connection."""
        self._count += 1
        return None if self._faults is None else self._faults.connection(self._seed, self._count)

    def ping_faults(self) -> ConnectionFaults | None:
        """The faults of pings."""
        return None if self._faults is None else self._faults.connection(self._seed, "ping")

    @property
    def count(self) -> int:
        """The number of connections so far."""
        return self._count

    def enter(self, connection: BinaryConnection) -> None:
        """Add a new connection."""
        self.open.enter(connection)
        if self._round is None:
            self._look_around()

    async def close(self) -> None:
        """Close all sessions, and wait until the connections are gone; those that stay are broken off."""
        if self._round is not None:
            self._round.cancel()
            self._round = None
        with self.clock.event():
            self.protocol.stop()
        gone = [connection.closed for connection in self.open]
        if gone:
            _, slow = await asyncio.wait(gone, timeout=1.0)
            for connection in self.open:
                if connection.closed in slow:
                    connection.drop()
            await asyncio.wait(gone)

    def _look_around(self) -> None:
        self._round = None
        now = asyncio.get_running_loop().time()
        for connection in self.open:
            connection.check(now)
        if self.open:
            self._round = asyncio.get_running_loop().call_later(_ROUND, self._look_around)


class BinaryConnection(asyncio.Protocol):
    """One connection; ``begin`` makes its session when it is open. ``closed`` is done when it has ended."""

    def __init__(
        self,
        connections: BinaryConnections,
        begin: Callable[[str, Callable[[BinarySession], None]], BinarySession],
        *,
        is_client: bool,
    ) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.session: BinarySession | None = None
        self.number = 0
        self._connections = connections
        self._begin = begin
        self._is_client = is_client
        self._captured: CapturedConnection | None = None
        self._refuse = False
        self._reported = False
        self._peer_ended = False
        self._unread = bytearray()
        self._ending = False
        self._peer: Endpoint
        self._transport: asyncio.Transport
        self._flow: Backpressure
        self._sender: FaultySender

    @property
    def held(self) -> int:
        """The bytes of waiting input, of an incomplete packet, and of unsent output."""
        if self.session is None:
            return 0
        unsent = self._transport.get_write_buffer_size() + self._sender.pending
        return len(self._unread) + self.session.held_bytes + unsent

    @property
    def waiting_since(self) -> float:
        """The time of the last whole packet, or of the start of the session, in timer milliseconds."""
        return 0.0 if self.session is None else self.session.last_packet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a session."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer, shared = transport.get_extra_info("peername"), self._connections
        if peer is None:
            # It is gone again.
            transport.abort()
            return
        self._flow = Backpressure(transport, self._work)
        self._peer, here = endpoint(peer), endpoint(transport.get_extra_info("sockname"))
        shared.enter(self)
        # A peer that is gone without a word is found out in the end.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        faults = shared.next_faults()
        self.number = shared.count
        self._refuse = not self._is_client and faults is not None and faults.refused()
        if shared.capture is not None:
            ends = (here, self._peer) if self._is_client else (self._peer, here)
            self._captured = shared.capture.connection(*ends)
        self._sender = FaultySender(transport, faults, self._sent)
        with shared.clock.event():
            self.session = self._begin(self._peer[0], self._changed)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the session."""
        if self.session is not None:
            self._sender.stop()
            with self._connections.clock.event():
                self.session.disconnected()
            # Connection and session know each other; what the session holds goes now, not when that is found.
            self.session = None
        self._connections.open.leave(self)
        if self._captured is not None:
            self._captured.ended(
                exc, from_client=self._peer_ended is not self._is_client, broken_by_client=not self._is_client
            )
        self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Take the next bytes."""
        if self.session is None:
            return
        self._unread += data
        self._flow.wake()
        self._connections.open.weigh(self)

    def eof_received(self) -> None:
        """End the connection: the peer sends no more."""
        self._peer_ended = True

    def pause_writing(self) -> None:
        """Stop reading: the peer does not read."""
        self._flow.pause()

    def resume_writing(self) -> None:
        """Read again: the peer reads."""
        self._flow.resume()
        if self.session is not None and not self._transport.is_closing():
            with self._connections.clock.event():
                self._changed(self.session)

    def drop(self) -> None:
        """Abort the connection."""
        self._transport.abort()

    def give_up(self) -> None:
        """Abort the connection, because another one needs its place."""
        self._connections.log.say("binary-slow", peer=self._peer[0])
        self.drop()

    def check(self, now: float) -> None:
        """Abort the connection if the peer has not read for too long."""
        stalled = self._flow.stalled_since
        if stalled is not None and now - stalled > self._connections.limits.stalled_seconds:
            self.drop()

    def _work(self) -> bool:
        """Process a piece of the input; return whether there is more."""
        session, protocol = self.session, self._connections.protocol
        if session is None:
            return False
        piece = bytes(self._unread[:_PIECE])
        del self._unread[:_PIECE]
        if self._captured is not None:
            self._captured.feed(not self._is_client, piece)
        accepting = protocol.accepting
        with self._connections.clock.event():
            protocol.accepting = accepting and not self._refuse
            try:
                session.feed(piece)
            finally:
                protocol.accepting = accepting
            self._tell_open(session)
        self._connections.open.weigh(self)
        return bool(self._unread)

    def _changed(self, session: BinarySession) -> None:
        """Send the output of the session, or close the connection."""
        self._tell_open(session)
        if self._flow.stalled_since is None or session.closed:
            data = session.take()
            if data and not self._transport.is_closing():
                self._sender.send(data)
        self._connections.open.weigh(self)
        if session.closed and not self._ending:
            self._ending = True
            self._connections.log.say(
                "session-closed",
                session=self.number,
                received=session.received.messages,
                recoverable=session.received.recoverable,
                sent=session.sent.messages,
                reason=session.close_reason,
            )
            if session.close_reason != "disconnected":
                self._sender.close()
                # Whoever does not read what is left has a while for it, and no longer.
                if self._flow.stalled_since is None and self._transport.get_write_buffer_size():
                    self._flow.stalled_since = asyncio.get_running_loop().time()

    def _tell_open(self, session: BinarySession) -> None:
        if session.state is SessionState.OPEN and not self._reported:
            self._reported = True
            self._connections.log.say(
                "session-open",
                session=self.number,
                peer=f"{self._peer[0]}:{self._peer[1]}",
                queue_manager=str(session.remote_queue_manager),
            )

    def _sent(self, data: bytes) -> None:
        if self._captured is not None:
            self._captured.feed(self._is_client, data)
