"""`TransmissionQueue`: what waits for a remote queue manager, until it has it. [MS-MQQB] 3.1.1.3.1, 3.1.7.1

The rule kept here: a message stays until it is known to have arrived: an express one until it is
acknowledged, a recoverable one until it is acknowledged as stored, a transactional one until its sequence is.
What a session leaves behind is sent again in the next one, in the same order: by priority, then as it came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Protocol

import msgspec

from msmq_wire.engines.codec import encode
from msmq_wire.lab.model.binary.ledger import Ledger
from msmq_wire.lab.model.binary.outgoing_message import Outcome, OutgoingMessage, OutgoingSequence
from msmq_wire.lab.model.data.stored_message import without_session_header
from msmq_wire.lab.model.data.timers import Timer
from msmq_wire.rpc.constants import ConnectionStatus
from msmq_wire.rpc.management_properties import ConnectionAttempt
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_MOST_BYTES = 1 << 28
_MOST_ATTEMPTS = 32
_OVERHEAD = 2048
"""What a message costs besides its bytes."""


class ByteQuota(msgspec.Struct, eq=False, kw_only=True):
    """Bytes that may be kept, by one queue or by several that share them."""

    most: int
    used: int = 0


class OpenSession(Protocol):
    """A session as the queue sees it that sends in it: see `BinarySession`."""

    begun: int
    remote_address: str
    remote_queue_manager: GUID

    @property
    def can_send(self) -> bool:
        """Whether its window lets a user packet through."""

    def transmit(self, message: OutgoingMessage) -> None:
        """Send a user packet."""

    def pause(self) -> None:
        """Tell the other side that the queue is paused."""


class TransmissionQueue:
    """What waits for one remote queue manager, for any queue there. One session at a time sends it.

    ``connect`` is called when a session is wanted; who made it calls `BinaryProtocol.initiate`, or `failed`.
    Without it messages wait until the other side comes. ``settled`` is told of each message that is kept no
    longer, with its outcome. ``direct`` is DirectFormatSession. ``requested_queue_manager`` is whom sessions
    are made with, NULL for whoever is at the address; ``remote_queue_manager`` is who was there last.
    ``remote_host_name`` is what the other side is called, a name or an address. ``addresses`` is what it was
    resolved to; with a connection, its address alone.
    ``connection_history`` are the last attempts to connect.
    Messages are kept within ``budget``.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        remote_queue_manager: GUID = NULL_GUID,
        remote_host_name: str = "",
        connect: Callable[[TransmissionQueue], None] | None = None,
        settled: Callable[[OutgoingMessage, Outcome], None] | None = None,
        budget: ByteQuota | None = None,
    ) -> None:
        self._ledger = ledger
        self._timers = ledger.manager.timers
        self.requested_queue_manager = self.remote_queue_manager = remote_queue_manager
        self.remote_host_name = remote_host_name
        self.addresses: tuple[str, ...] = ()
        self.direct = remote_queue_manager == NULL_GUID
        self.session: OpenSession | None = None
        self.connection_history: deque[ConnectionAttempt] = deque(maxlen=_MOST_ATTEMPTS)
        self._connect = connect
        self._settled = settled
        self._budget = ByteQuota(most=_MOST_BYTES) if budget is None else budget
        self._count = 0
        self._kept: dict[int, OutgoingMessage] = {}
        self._heap: list[tuple[tuple[int, int], OutgoingMessage]] = []
        self._sequences: dict[str, OutgoingSequence] = {}
        self._connecting = False
        self._retry: Timer | None = None
        self._dispatching = False

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def remote_address(self) -> str:
        """RemoteQMAddress, empty before it is known. [MS-MQQB] 3.1.1.3.1"""
        return self.addresses[0] if self.addresses else ""

    def send(self, packet: UserMessage) -> OutgoingMessage | None:
        """Take a message; None where the queue is full.

        Source, number and time are given to a packet that has none; the numbers in its TransactionHeader are
        those of the sequence to its destination. [MS-MQQB] 3.1.7.1.1, 3.1.7.1.3
        """
        packet = self._ledger.identified(without_session_header(packet))
        size = len(encode(packet)) + _OVERHEAD
        if self._budget.used + size > self._budget.most:
            return None
        self._count += 1
        message = OutgoingMessage(packet=packet, number=self._count, size=size, queue=self)
        own = packet.user_header.source_queue_manager == self._ledger.manager.identifier
        if packet.transaction_header is not None and own:
            message.sequence = self._sequence_to(packet)
            self._ledger.await_final_ack(message)
        self._kept[message.number] = message
        self._budget.used += size
        heappush(self._heap, (message.place, message))
        self._await_lateness(message)
        self.dispatch()
        if self.session is None:
            self._wish()
        return message

    def withdraw(self, message: OutgoingMessage) -> None:
        """Send a message no more: it was taken away, or a newer one says more. Where it was sent it may have
        arrived.
        """
        self._forget(message)

    @property
    def waits_for_session(self) -> bool:
        """Whether a connection is being made, or will be tried again."""
        return self._connecting or (self._retry is not None and self._retry.running)

    def sequence(self, destination: str) -> OutgoingSequence | None:
        """The sequence to a queue by its format name; None before a transactional message was sent there."""
        return self._sequences.get(destination.casefold())

    def clear(self) -> None:
        """Forget all that is kept."""
        for message in list(self._kept.values()):
            self._forget(message)

    def _sequence_to(self, packet: UserMessage) -> OutgoingSequence:
        # A sequence belongs to its destination: a receiver that keeps one for each queue finds no gaps.
        name = (packet.user_header.format_name("destination_queue") or "").casefold()
        sequence = self._sequences.get(name)
        if sequence is None:
            sequence = self._sequences[name] = self._ledger.new_sequence(self._resend)
        return sequence

    def attach(self, session: OpenSession) -> None:
        """A session is open: all that is kept is sent in it."""
        self.session = session
        self._connecting = False
        self.remote_queue_manager = session.remote_queue_manager
        if session.remote_address:
            self.addresses = (session.remote_address,)
        self.note(ConnectionStatus.ESTABLISHED)
        for sequence in self._sequences.values():
            sequence.begin_session()
        self._begin_again()
        self.dispatch()

    def lost(self, session: OpenSession, *, refused: bool = False) -> None:
        """A session was closed, perhaps before it was open: then the other side may have refused it.

        [MS-MQQB] 3.1.5.9
        """
        if self.session is not None and self.session is not session:
            return
        opened = self.session is not None
        self.session = None
        for sequence in self._sequences.values():
            sequence.stop()
        self._begin_again()
        if opened:
            self._try_later()
        else:
            self.failed(ConnectionStatus.CONNECTION_REFUSED if refused else ConnectionStatus.UNKNOWN_FAILURE)

    def failed(self, status: ConnectionStatus = ConnectionStatus.UNKNOWN_FAILURE) -> None:
        """There is no connection: try again after a while, if there is anything to send."""
        self.note(status, Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE)
        self._try_later()

    def note(self, status: ConnectionStatus, error: int = 0) -> None:
        """Append an entry to ConnectionHistory. [MS-MQQB] 3.1.5.2, 3.1.5.2.3, 3.1.5.3.2, 3.1.5.4.2"""
        now = self._ledger.manager.current_time
        self.connection_history.append(
            ConnectionAttempt(status=status, time=now, error=int(error), addresses=self.addresses[:1])
        )

    def _try_later(self) -> None:
        self._connecting = False
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._kept and self._connect is not None:
            interval = self._ledger.settings.retry_interval
            self._retry = self._timers.start(interval, self._retried)

    def _retried(self) -> None:
        # [MS-MQQB] 3.1.6.1
        self._retry = None
        self._wish()

    def _wish(self) -> None:
        if self._connect is None or self.waits_for_session or self.session is not None:
            return
        if self._kept:
            self._connecting = True
            # [MS-MQQB] 3.1.5.2.1: the name is resolved anew.
            self.addresses = ()
            self._connect(self)

    def _begin_again(self) -> None:
        for message in self._kept.values():
            message.waiting = True
            self._await_lateness(message)
        self._heap = [(message.place, message) for message in self._kept.values()]
        heapify(self._heap)

    def _resend(self, messages: list[OutgoingMessage]) -> None:
        """Send again what was sent. [MS-MQQB] 3.1.6.5"""
        for message in messages:
            if not message.waiting:
                message.waiting = True
                heappush(self._heap, (message.place, message))
        self.dispatch()

    def dispatch(self) -> None:
        """Send what the window of the session allows. [MS-MQQB] 3.1.7.1"""
        if self._dispatching:
            return
        self._dispatching = True
        try:
            while self._heap and self.session is not None and self.session.can_send:
                _, message = heappop(self._heap)
                if message.outcome is None and message.waiting:
                    self._transmit(message, self.session)
        finally:
            self._dispatching = False

    def _transmit(self, message: OutgoingMessage, session: OpenSession) -> None:
        if self._ledger.expired(message.packet):
            self._expire(message)
            return
        if message.sequence is not None:
            message.packet = message.sequence.place(message)
        message.waiting = False
        message.transmissions += 1
        session.transmit(message)

    def _await_lateness(self, message: OutgoingMessage) -> None:
        """Look again when a message is too late, also where no session comes that would send it.

        [MS-MQDMPR] 3.1.1.12, Class: NackReachQueueTimeout
        """
        if message.lateness is not None:
            message.lateness.cancel()
        left = self._ledger.seconds_left(message.packet)
        if left is not None:
            message.lateness = self._timers.start(left * 1000, lambda: self._look_whether_late(message))

    def _look_whether_late(self, message: OutgoingMessage) -> None:
        # One that was sent may have arrived: it is looked at again when its session is lost.
        if message.outcome is None and message.waiting and self._ledger.expired(message.packet):
            self._expire(message)

    def _expire(self, message: OutgoingMessage) -> None:
        self._ledger.expire(message)
        self.settle(message, "expired")

    def settle(self, message: OutgoingMessage, outcome: Outcome) -> None:
        """The message is kept no longer."""
        if message.outcome is not None:
            return
        message.outcome = outcome
        self._forget(message)
        if outcome in ("acknowledged", "stored"):
            self._ledger.journal(message)
        elif outcome == "ordered":
            self._ledger.ordered(message)
        if self._settled is not None:
            self._settled(message, outcome)

    def _forget(self, message: OutgoingMessage) -> None:
        message.waiting = False
        if message.lateness is not None:
            message.lateness.cancel()
            message.lateness = None
        if self._kept.pop(message.number, None) is not None:
            self._budget.used -= message.size
            if message.sequence is not None:
                message.sequence.leave_out(message)
