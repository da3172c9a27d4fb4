"""`BinarySession`: one connection of the binary protocol, as bytes in and bytes out. [MS-MQQB] 3.1.5

The rule kept here: nothing is read or written; who owns the connection feeds what came, takes what is to be
sent, says when it is gone, and ends it when ``closed``. Time passes in the timers of the queue manager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from msmq_wire.engines.codec import decode, encode
from msmq_wire.errors import DecodeError
from msmq_wire.lab.model.binary.delivery import Delivery
from msmq_wire.lab.model.binary.ledger import Ledger
from msmq_wire.lab.model.binary.outgoing import TransmissionQueue
from msmq_wire.lab.model.binary.outgoing_message import OutgoingMessage
from msmq_wire.lab.model.binary.session_counts import ReceivedCounts, SentCounts
from msmq_wire.lab.model.binary.session_opening import (
    ClosedFor,
    SessionState,
    ack_timeout_of,
    establish_request,
    establish_response,
    is_refused,
    parameters_request,
    parameters_response,
    recoverable_ack_timeout_of,
)
from msmq_wire.lab.model.data.timers import INFINITE, Timer
from msmq_wire.reassembly.packet_framer import FramedPacket, PacketFramer
from msmq_wire.rpc.constants import ConnectionStatus
from msmq_wire.wire.headers.base_header import VERSION_NUMBER
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from msmq_wire.wire.packets.establish_connection import EstablishConnection
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.identification import acknowledgment_type
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.session_ack import SessionAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import NULL_GUID

_SH = 0x10
_INTERNAL_SIZE = 1024
"""No packet is longer that comes before a session is open."""
_PIGGYBACK = 0.75
"""How much of the Session Ack Send Timer has elapsed when a user packet takes the acknowledgment with it."""
_MOST_OUTPUT = 1 << 20
"""Bytes that wait to be taken before no more user packets are sent."""


class SessionOwner(Protocol):
    """Who makes sessions, as they see it: see `BinaryProtocol`."""

    accepting: bool
    delivery: Delivery
    ledger: Ledger

    def opened(self, session: BinarySession) -> TransmissionQueue:
        """The queue that a session sends from."""

    def ended(self, session: BinarySession) -> None:
        """A session was closed."""


class BinarySession:
    """A session, made by `BinaryProtocol.accept` or `BinaryProtocol.initiate`.

    ``remote_queue_manager`` is RemoteQMGuid, NULL until it is known. ``changed`` is called when there are
    bytes to take or the session is closed; what is left to take then is still to be sent. ``close_reason``
    is None while it is not closed. ``outgoing`` is what it sends from, None for an acceptor before it is
    open. ``begun`` is when it began and ``last_packet`` when the last whole packet came, in the milliseconds
    of the timers.
    """

    def __init__(
        self,
        host: SessionOwner,
        role: Literal["initiator", "acceptor"],
        *,
        outgoing: TransmissionQueue | None = None,
        remote_address: str = "",
        ping_sent: bool = False,
        changed: Callable[[BinarySession], None] | None = None,
    ) -> None:
        self.host = host
        self._manager = host.ledger.manager
        self._settings = settings = host.ledger.settings
        self.role = role
        self.outgoing = outgoing
        self.remote_address = remote_address
        self.remote_queue_manager = NULL_GUID if outgoing is None else outgoing.requested_queue_manager
        self.state = SessionState.WAITING_EC_MSG
        self.close_reason: ClosedFor | None = None
        self.sent: SentCounts[OutgoingMessage] = SentCounts()
        self.received = ReceivedCounts()
        self.received_window_size = self.window_size = settings.window_size
        self.ack_wait_timeout = ack_timeout_of(settings.ack_wait_timeout)
        self.recoverable_ack_send_timeout = INFINITE
        self._direct = self.remote_queue_manager == NULL_GUID
        self._timers = self._manager.timers
        self.begun = self.last_packet = self._timers.now
        self._framer = PacketFramer(max_pending=settings.most_packet_bytes)
        self._output: list[bytes] = []
        self._output_size = 0
        self._changed = changed
        self._active = False
        self._received_ack = False
        self._ack_send: Timer | None = None
        self._ack_send_time = 0
        self._ack_wait: Timer | None = None
        self._ack_wait_due = 0
        self._initialization = self._start(settings.initialization_timeout, "initialization_timeout")
        self._cleanup = self._timers.start(settings.cleanup_interval, self._clean_up)
        if role == "initiator":
            self._establish(ping_sent)

    @property
    def closed(self) -> bool:
        """Whether the connection is to be ended, once what is left was sent."""
        return self.state is SessionState.CLOSED

    @property
    def pending_bytes(self) -> int:
        """Bytes held of a packet that is not complete."""
        return self._framer.pending_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes held of a packet that is not complete, and of what is not taken."""
        return self.pending_bytes + self._output_size

    @property
    def can_send(self) -> bool:
        """Whether it is open and its window lets a user packet through. [MS-MQQB] 3.1.7.1"""
        fits = self.sent.unacknowledged < self._window and self._output_size < _MOST_OUTPUT
        return self.state is SessionState.OPEN and fits

    @property
    def _window(self) -> int:
        return max(1, min(self.window_size, self.received_window_size))

    def take(self) -> bytes:
        """The bytes that are to be sent; each is given once."""
        data = b"".join(self._output)
        self._output.clear()
        full, self._output_size = self._output_size >= _MOST_OUTPUT, 0
        if full and self.outgoing is not None:
            self.outgoing.dispatch()
        return data

    def _emit(self, packet: EstablishConnection | ConnectionParameters | SessionAck | UserMessage) -> None:
        data = encode(packet)
        self._output.append(data)
        self._output_size += len(data)
        self._tell()

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed(self)

    def feed(self, data: bytes) -> None:
        """Take what came; after the session was closed nothing is looked at."""
        if self.closed:
            return
        for event in self._framer.feed(data, 0, 0):
            if not isinstance(event, FramedPacket) or not event.complete:
                self.close("bad_packet")
            else:
                self._packet(event.data)
            if self.closed:
                return
        if self._framer.wanted is None:
            # No signature where a packet must start. [MS-MQQB] 3.1.5.1.2
            self.close("bad_packet")
        elif self.state is not SessionState.OPEN and self.pending_bytes > _INTERNAL_SIZE:
            self.close("not_open")

    def disconnected(self) -> None:
        """The connection is gone. [MS-MQQB] 3.1.7.3"""
        self.close("disconnected")

    def close(self, reason: ClosedFor) -> None:
        """Closing a Session. [MS-MQQB] 3.1.5.9"""
        if self.closed:
            return
        self.state, self.close_reason = SessionState.CLOSED, reason
        for timer in (self._initialization, self._cleanup, self._ack_send, self._ack_wait):
            if timer is not None:
                timer.cancel()
        self._tell()
        self.host.ended(self)

    def _start(self, milliseconds: int, reason: ClosedFor) -> Timer:
        return self._timers.start(milliseconds, lambda: self.close(reason))

    def _packet(self, data: bytes) -> None:
        """Receiving Any Packet. [MS-MQQB] 3.1.5.1"""
        self._received_ack = True
        self.last_packet = self._timers.now
        try:
            packet = decode(data)
        except DecodeError:
            self.close("bad_packet")
            return
        match packet:
            case _ if packet.base_header.version_number != VERSION_NUMBER:
                self.close("bad_packet")
            case EstablishConnection():
                self._established(packet)
            case ConnectionParameters():
                self._agreed(packet)
            case _ if self.state is not SessionState.OPEN:
                self.close("not_open")
            case SessionAck():
                self._headed(packet.session_header)
                if not self.closed and self.outgoing is not None:
                    self.outgoing.dispatch()
            case UserMessage(message_properties_header=None):
                self.close("bad_packet")
            case _:
                self._user_packet(packet, data)

    def _establish(self, ping_sent: bool) -> None:
        self.state = SessionState.WAITING_ECR_MSG
        own, stamp = self._manager.identifier, self._time_stamp
        self._emit(establish_request(own, self.remote_queue_manager, stamp, ping_sent=ping_sent))
        if self.outgoing is not None:
            self.outgoing.note(ConnectionStatus.IN_PROCESS)

    @property
    def _time_stamp(self) -> int:
        return self._timers.now & 0xFFFF_FFFF

    def _established(self, packet: EstablishConnection) -> None:
        """Receiving an EstablishConnection Packet. [MS-MQQB] 3.1.5.3"""
        if self.state is SessionState.WAITING_EC_MSG:
            self._answer_establish(packet)
        elif self.state is SessionState.WAITING_ECR_MSG:
            self._propose(packet)
        else:
            self.close("second_establish")

    def _answer_establish(self, packet: EstablishConnection) -> None:
        """Take a request. [MS-MQQB] 3.1.5.3.1

        The text goes on to wait for parameters also where it refuses; read as: they cannot come, and the
        session is closed.
        """
        header, own = packet.establish_connection_header, self._manager.identifier
        self.remote_queue_manager = header.client_guid
        self._direct = header.server_guid == NULL_GUID
        wrong = header.server_guid not in (NULL_GUID, own)
        refused = wrong or not self.host.accepting
        self._emit(establish_response(header, own, refused=refused))
        if refused:
            self.close("wrong_queue_manager" if wrong else "refused")
        else:
            self.state = SessionState.WAITING_CP_MSG

    def _propose(self, packet: EstablishConnection) -> None:
        """Take a response. [MS-MQQB] 3.1.5.3.2"""
        header = packet.establish_connection_header
        own = header.client_guid == self._manager.identifier
        if is_refused(packet):
            self.close("refused")
        elif not own or self.remote_queue_manager not in (NULL_GUID, header.server_guid):
            self.close("wrong_queue_manager")
        else:
            self.remote_queue_manager = header.server_guid
            round_trip = (self._time_stamp - header.time_stamp) & 0xFFFF_FFFF
            self.recoverable_ack_send_timeout = recoverable_ack_timeout_of(round_trip * 8)
            self._emit(
                parameters_request(self.recoverable_ack_send_timeout, self.ack_wait_timeout, self.window_size)
            )
            self.state = SessionState.WAITING_CPR_MSG
            if self.outgoing is not None:
                self.outgoing.note(ConnectionStatus.ESTABLISH_PACKET_RECEIVED)

    def _agreed(self, packet: ConnectionParameters) -> None:
        """Receiving a ConnectionParameters Packet. [MS-MQQB] 3.1.5.4

        Times out of their range are answered as they are, and the nearest ones are kept.
        """
        header = packet.connection_parameters_header
        if self.state not in (SessionState.WAITING_CP_MSG, SessionState.WAITING_CPR_MSG):
            self.close("second_establish" if self.state is SessionState.OPEN else "not_open")
            return
        if is_refused(packet):
            self.close("refused")
            return
        self.received_window_size = header.window_size
        if self.state is SessionState.WAITING_CP_MSG:
            self.ack_wait_timeout = ack_timeout_of(header.ack_timeout)
            self.recoverable_ack_send_timeout = recoverable_ack_timeout_of(header.recoverable_ack_timeout)
            self._emit(parameters_response(header, self.window_size))
        self._initialization.cancel()
        self.state = SessionState.OPEN
        self.outgoing = self.host.opened(self)
        self.outgoing.attach(self)

    def _headed(self, header: SessionHeader) -> None:
        """Take a SessionHeader. [MS-MQQB] 3.1.5.5"""
        self.received_window_size = header.window_size
        received, stored = self.sent.acknowledge(header)
        for message in received:
            message.acknowledged()
        for message in stored:
            message.stored()
        if not self.received.agrees(header):
            self.close("message_counts")
        elif self.sent.waiting:
            self._wait_for_ack()

    def _user_packet(self, packet: UserMessage, data: bytes) -> None:
        """Receiving a UserMessage Packet. [MS-MQQB] 3.1.5.8

        The text counts neither duplicates nor, where a SessionHeader is judged, the recoverable packet that
        carries it, and so would close the session of every sender that counts them; read as: all count.
        """
        self.received.add()
        self._active = True
        if self._ack_send is None or not self._ack_send.running:
            self._start_ack_send(self.ack_wait_timeout // 2)
        if packet.user_header.bit("dm") == 1:
            if self.received.full:
                self._acknowledge()
            if not self.received.flags:
                self._start_ack_send(self.recoverable_ack_send_timeout)
            self.received.store()
        queue = self.outgoing
        assert queue is not None
        if packet.user_header.bit("dq") == QueueType.DIRECT:
            queue.direct = True
        if packet.session_header is not None:
            self._headed(packet.session_header)
        if isinstance(packet, OrderAck):
            self.host.ledger.order_acknowledged(packet)
        elif isinstance(packet, FinalAck):
            self.host.ledger.finally_acknowledged(packet)
        elif not self.host.delivery.deliver(packet, data, queue):
            self.close("quota")
        if self.closed:
            return
        # How many packets make an acknowledgment worth while is not said; half a window keeps them coming.
        if self.received.unacknowledged >= max(1, self._window // 2):
            self._acknowledge()
        queue.dispatch()

    def transmit(self, message: OutgoingMessage) -> None:
        """Send a user packet, with a SessionHeader if one is due. [MS-MQQB] 3.1.7.1.3, 3.1.7.11"""
        packet = message.packet
        self.sent.add(message, recoverable=message.recoverable)
        # The flags of an OrderAck or a FinalAck are 0, so neither has room for it.
        if self._acknowledgment_due and acknowledgment_type(packet) is None:
            base = msgspec.structs.replace(packet.base_header, flags=packet.base_header.flags | _SH)
            header = self._header(self.window_size)
            packet = msgspec.structs.replace(packet, base_header=base, session_header=header)
        if self._ack_wait is None or not self._ack_wait.running:
            self._wait_for_ack()
        self._active = True
        self._emit(packet)
        self.host.ledger.report(message.packet, self.remote_address)

    @property
    def _acknowledgment_due(self) -> bool:
        timer = self._ack_send
        if timer is None or not timer.running or not self.received.unacknowledged:
            return False
        elapsed = self._ack_send_time - (timer.due - self._timers.now)
        return elapsed > _PIGGYBACK * self._ack_send_time

    def _header(self, window: int) -> SessionHeader:
        # With nothing left to acknowledge the timer waits for the next packet.
        if self._ack_send is not None:
            self._ack_send.cancel()
        return self.received.header(self.sent, window)

    def _acknowledge(self) -> None:
        """Session Ack Send Timer Event. [MS-MQQB] 3.1.6.4

        There is something to acknowledge: each header stops the timer.
        """
        self._emit(SessionAck(session_header=self._header(self.window_size)))

    def pause(self) -> None:
        """Pause Queue Event: the other side is to send one packet at a time. [MS-MQQB] 3.1.7.13"""
        self._emit(SessionAck(session_header=self._header(1)))
        self._active = False

    def _start_ack_send(self, milliseconds: int) -> None:
        if self._ack_send is not None:
            self._ack_send.cancel()
        self._ack_send_time = milliseconds
        self._ack_send = self._timers.start(milliseconds, self._acknowledge)

    def _wait_for_ack(self) -> None:
        # [MS-MQQB] 3.1.2.4, note 46
        multiple = self._settings.direct_ack_wait_multiple if self._direct else 1
        self._ack_wait_due = self._timers.now + self.ack_wait_timeout * multiple
        # A flood of acknowledgments is no flood of timers: the one that runs looks again when it goes off.
        if self._ack_wait is None or not self._ack_wait.running:
            self._ack_wait = self._timers.start(self.ack_wait_timeout * multiple, self._unacknowledged)

    def _unacknowledged(self) -> None:
        """Session Ack Wait Timer Event. [MS-MQQB] 3.1.6.3"""
        left = self._ack_wait_due - self._timers.now
        if left > 0:
            self._ack_wait = self._timers.start(left, self._unacknowledged)
            return
        heard, self._received_ack = self._received_ack, False
        if self.sent.waiting:
            if heard:
                self._wait_for_ack()
            else:
                self.close("ack_timeout")

    def _clean_up(self) -> None:
        """Session Cleanup Timer Event. [MS-MQQB] 3.1.6.2"""
        if self._active:
            self._active = False
            self._cleanup = self._timers.start(self._settings.cleanup_interval, self._clean_up)
        else:
            self.close("idle")
