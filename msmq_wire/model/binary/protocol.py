"""`BinaryProtocol`: what a queue manager keeps for all its sessions. [MS-MQQB] 3.1.1.3

The rule kept here: what must survive a session is here and in the queues: identifiers, sequences, what is
awaited. What a peer can make up, such as queue managers that do not exist, is bounded; the oldest goes first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import msgspec

from msmq_wire.model.binary.delivery import Delivery
from msmq_wire.model.binary.outgoing import Budget, Outcome, OutgoingMessage, OutgoingQueue
from msmq_wire.model.binary.session import BinarySession
from msmq_wire.model.binary.transactional_sequences import OutgoingSequence
from msmq_wire.model.data.elements import Queue, QueueManager
from msmq_wire.model.data.timers import INFINITE
from msmq_wire.model.events.stored_message import keep_message, message_of
from msmq_wire.reassembly.stream import MAX_PENDING
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

__all__ = ["BinaryProtocol", "BinarySettings"]

_MOST_RETURNS = 1 << 12
"""Queue managers that came here and for which something may wait."""
_MOST_RETURN_BYTES = 1 << 25
_MOST_AWAITED = 1 << 16
"""Transactional messages that wait for a FinalAck."""


class BinarySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the text leaves to configuration; the defaults are those of its notes.

    Milliseconds, but ``resend_intervals`` (ResendTimerTable, note 24) in seconds. ``window_size`` is
    WindowSize (note 50), ``ack_wait_timeout`` AckWaitTimeout (51), ``direct_ack_wait_multiple`` what it is
    multiplied with for direct names (46), ``history_size`` the entries of MessageIDHistoryTable (25) and
    ``history_lifetime`` the duration of its timer (47), ``send_insecure_nacks`` SendInsecureNacks (28).
    ``most_packet_bytes`` bounds a packet.
    """

    window_size: int = 64
    ack_wait_timeout: int = 20_000
    direct_ack_wait_multiple: int = 2
    initialization_timeout: int = 60_000
    cleanup_interval: int = 300_000
    retry_interval: int = 5_000
    order_ack_timeout: int = 500
    maximum_order_ack_delay: int = 10_000
    resend_intervals: tuple[int, ...] = (30, 30, 30, 300, 300, 300, 1800, 1800, 1800, 21_600)
    history_size: int = 10_000
    history_lifetime: int = 1_800_000
    send_insecure_nacks: bool = False
    most_packet_bytes: int = MAX_PENDING


class BinaryProtocol:
    """The binary protocol of one queue manager: makes its sessions and its outgoing queues.

    ``accepting`` says whether sessions are accepted. ``message_id_ordinal`` is the number of the last message
    that was sent before (MessageIdOrdinal of the queue manager); who is started again under the same
    identifier goes on where it was, since receivers drop numbers that they saw. ``connect_back`` is the
    ``connect`` of the queues that hold acknowledgments for those who came; without it they wait until these
    come again.
    """

    def __init__(
        self,
        manager: QueueManager,
        settings: BinarySettings | None = None,
        *,
        message_id_ordinal: int = 0,
        connect_back: Callable[[OutgoingQueue], None] | None = None,
    ) -> None:
        self.manager = manager
        self.settings = BinarySettings() if settings is None else settings
        manager.message_id_ordinal = message_id_ordinal or manager.message_id_ordinal
        self.accepting = True
        self.connect_back = connect_back
        self.sessions: list[BinarySession] = []
        self.delivery = Delivery(self)
        self._returns: OrderedDict[GUID, OutgoingQueue] = OrderedDict()
        self._return_budget = Budget(most=_MOST_RETURN_BYTES)
        self._awaited: OrderedDict[int, OutgoingMessage] = OrderedDict()
        self._sequences: dict[int, OutgoingSequence] = {}
        self._last_time_stamp = 0

    def accept(
        self, remote_address: str = "", *, changed: Callable[[BinarySession], None] | None = None
    ) -> BinarySession:
        """Handling an Incoming Transport Connection from an IP address. [MS-MQQB] 3.1.5.10"""
        session = BinarySession(self, "acceptor", remote_address=remote_address, changed=changed)
        self.sessions.append(session)
        return session

    def initiate(
        self,
        outgoing: OutgoingQueue,
        *,
        ping_sent: bool = False,
        changed: Callable[[BinarySession], None] | None = None,
    ) -> BinarySession:
        """Establish a Protocol Session on a connection that was made; its first bytes are there at once.

        [MS-MQQB] 3.1.5.2.3
        """
        session = BinarySession(
            self,
            "initiator",
            outgoing=outgoing,
            remote_address=outgoing.remote_address,
            ping_sent=ping_sent,
            changed=changed,
        )
        self.sessions.append(session)
        return session

    def outgoing_queue(
        self,
        *,
        remote_queue_manager: GUID = NULL_GUID,
        remote_address: str = "",
        connect: Callable[[OutgoingQueue], None] | None = None,
        settled: Callable[[OutgoingMessage, Outcome], None] | None = None,
    ) -> OutgoingQueue:
        """A queue for what is sent to one queue manager; NULL where only its address is known."""
        return OutgoingQueue(
            self,
            remote_queue_manager=remote_queue_manager,
            remote_address=remote_address,
            connect=connect,
            settled=settled,
        )

    def stop(self) -> None:
        """Queue Manager Stopped: all sessions are closed. [MS-MQQB] 3.1.4.2"""
        self.accepting = False
        for session in list(self.sessions):
            session.close("stopped")

    def opened(self, session: BinarySession) -> OutgoingQueue:
        """The queue that a session sends from: its own, or what waits for who came."""
        if session.outgoing is not None:
            return session.outgoing
        who = session.remote_queue_manager
        queue = self._returns.get(who)
        if queue is None:
            self._make_room()
            queue = self._returns[who] = OutgoingQueue(
                self,
                remote_queue_manager=who,
                connect=self.connect_back,
                budget=self._return_budget,
            )
        self._returns.move_to_end(who)
        return queue

    def _make_room(self) -> None:
        """Give up what waits for those who came first and are not here, where there is too much of it."""
        budget = self._return_budget
        while len(self._returns) >= _MOST_RETURNS or budget.used > budget.most // 2:
            idle = next((who for who, queue in self._returns.items() if queue.session is None), None)
            if idle is None:
                return
            self._returns.pop(idle).clear()

    def ended(self, session: BinarySession) -> None:
        """A session was closed."""
        if session in self.sessions:
            self.sessions.remove(session)
        if session.outgoing is not None:
            session.outgoing.lost(session)

    def identified(self, packet: UserMessage) -> UserMessage:
        """The packet with a source, a number and a time, where it has none. [MS-MQQB] 3.1.7.1.1"""
        user = packet.user_header
        source = user.source_queue_manager
        if source != NULL_GUID and user.message_id and user.sent_time:
            return packet
        number = user.message_id
        if not number:
            number = self.manager.new_message_id()
        user = msgspec.structs.replace(
            user,
            source_queue_manager=self.manager.identifier if source == NULL_GUID else source,
            message_id=number,
            sent_time=user.sent_time or self.manager.current_time,
        )
        return msgspec.structs.replace(packet, user_header=user)

    def new_sequence(self, sequence: OutgoingSequence) -> TxSequenceID:
        """An identifier greater than all before, for a sequence to a queue. [MS-MQQB] 3.1.1.3.1"""
        self._last_time_stamp = max(self._last_time_stamp + 1, self.manager.current_time)
        made = TxSequenceID(ordinal=1, time_stamp=self._last_time_stamp & 0xFFFF_FFFF)
        self._sequences[made.value] = sequence
        return made

    def next_sequence(self, sequence: OutgoingSequence) -> TxSequenceID:
        """The identifier of what follows a sequence that was acknowledged whole. [MS-MQQB] 3.1.5.6"""
        before = sequence.identifier
        self._sequences.pop(before.value, None)
        made = TxSequenceID(ordinal=before.ordinal + 1 & 0xFFFF_FFFF, time_stamp=before.time_stamp)
        self._sequences[made.value] = sequence
        return made

    def order_acknowledged(self, packet: OrderAck) -> None:
        """Receiving an OrderAck Packet. [MS-MQQB] 3.1.5.6"""
        body = packet.order_ack_body
        sequence = None if body is None else self._sequences.get(body.tx_sequence_id.value)
        if body is None or sequence is None:
            return
        for message in sequence.acknowledge(body.tx_sequence_number):
            if not message.wants_final_ack:
                self._awaited.pop(message.message_id, None)
            message.queue.settle(message, "ordered")

    def await_final_ack(self, message: OutgoingMessage) -> None:
        """A FinalAck may come for a message, before its OrderAck or after. [MS-MQQB] 3.1.1.3.1"""
        self._awaited[message.message_id] = message
        if len(self._awaited) > _MOST_AWAITED:
            self._awaited.popitem(last=False)

    def finally_acknowledged(self, packet: FinalAck) -> None:
        """Receiving a FinalAck Packet. [MS-MQQB] 3.1.5.7"""
        body, properties = packet.final_ack_body, packet.message_properties_header
        if body is None or properties is None or body.source_guid != self.manager.identifier:
            return
        message = self._awaited.pop(body.message_id, None)
        if message is None:
            return
        message.final_class = properties.message_class
        received = message.final_class == MessageClass.MQMSG_CLASS_ACK_RECEIVE
        if message.sequence is not None:
            message.sequence.leave_out(message)
        message.queue.settle(message, "received" if received else "refused")
        user = message.packet.user_header
        if received and user.bit("jp"):
            self.keep_copy(message.packet, self.manager.system_journal_queue)
        elif not received and user.bit("jn"):
            self.keep_copy(message.packet, self.manager.system_transactional_deadletter_queue)

    def expired(self, packet: UserMessage) -> bool:
        """Checking for Message Expiration. [MS-MQQB] 3.1.7.1.2"""
        limit = packet.base_header.time_to_reach_queue
        return limit != INFINITE and self.manager.current_time - packet.user_header.sent_time > limit

    def seconds_left(self, packet: UserMessage) -> int | None:
        """Seconds until a message has expired, None for one that never does. [MS-MQQB] 3.1.7.1.2"""
        limit = packet.base_header.time_to_reach_queue
        if limit == INFINITE:
            return None
        return max(0, packet.user_header.sent_time + limit + 1 - self.manager.current_time)

    def expire(self, message: OutgoingMessage) -> None:
        """A message is too late to be sent: acknowledge and journal that. [MS-MQQB] 3.1.7.1.2"""
        self._awaited.pop(message.message_id, None)
        packet, properties = message.packet, message.packet.message_properties_header
        if properties is not None and properties.bit("na"):
            timed_out = MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT
            self.delivery.acknowledge(packet, timed_out, message.queue)
        if packet.user_header.bit("jn"):
            manager = self.manager
            transactional = packet.transaction_header is not None
            queue = manager.system_transactional_deadletter_queue
            self.keep_copy(packet, queue if transactional else manager.system_deadletter_queue)

    def journal(self, message: OutgoingMessage) -> None:
        """Source Journaling of a message that was acknowledged. [MS-MQQB] 3.1.5.5.4"""
        if message.packet.user_header.bit("jp"):
            self.keep_copy(message.packet, self.manager.system_journal_queue)

    def keep_copy(self, packet: UserMessage, queue: Queue | None) -> None:
        """Put a packet into a journal or a dead-letter queue, where there is one and room in it."""
        if queue is not None:
            keep_message(message_of(packet), queue)
