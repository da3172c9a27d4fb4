"""Delivery of received user messages into the queues, and what is told of them. [MS-MQQB] 3.1.5.8, 3.1.7.2

The rule kept here: a message is delivered once. One that is not transactional is known by its source and its
number, a transactional one by its place in the sequence to its queue; both are remembered when the message is
in its queue, or was refused for good, so that what found no room can come again.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from msmq_wire.engines.codec import decode
from msmq_wire.errors import DecodeError
from msmq_wire.lab.model.binary.acknowledgments import final_ack, order_ack, order_queue
from msmq_wire.lab.model.binary.ledger import Ledger
from msmq_wire.lab.model.binary.outgoing import TransmissionQueue
from msmq_wire.lab.model.binary.outgoing_message import OutgoingMessage
from msmq_wire.lab.model.data.elements import MessagePosition, ModelMessage, Queue
from msmq_wire.lab.model.data.elements import OutgoingQueue as Elsewhere
from msmq_wire.lab.model.data.enumerations import ModelQueueType
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.model.data.timers import Timer
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.journaling import keep_journals
from msmq_wire.rpc.management_properties import TransferSource
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

_MOST_SEQUENCES = 1 << 14
_MOST_WAYS = 1 << 12
_MOST_HOPS = 0x1D
_EB = 0x20
_MANAGER_FULL = 2
_NOT_ENQUEUED = {
    1: MessageClass.MQMSG_CLASS_NACK_Q_EXCEED_QUOTA,
    3: MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT,
}
"""What Enqueue Message gives for a queue that is full and for a message that is late."""


class Delivery:
    """Takes user messages and tells their senders; one for all sessions of a queue manager.

    It subscribes to the messages that leave queues, so that applications that receive are acknowledged.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._manager = ledger.manager
        self._history: OrderedDict[tuple[GUID, int], int] = OrderedDict()
        self._history_timer: Timer | None = None
        self._sequences: OrderedDict[tuple[GUID, str], _IncomingSequence] = OrderedDict()
        self._ways: OrderedDict[GUID, TransmissionQueue] = OrderedDict()
        self._held_reasons: list[tuple[MessagePosition, int]] | None = None
        keep_journals(self._manager)
        self._manager.position_deleted.append(self._deleted)
        self._manager.looked_at.append(self._look)

    def _look(self, queue: Queue) -> None:
        """Put down which sequences come into a queue. [MS-MQQB] 3.1.5.8.5"""
        since = self._manager.time_offset
        queue.incoming_transactional_transfer_info_collection = tuple(
            TransferSource(
                format_name=sequence.format_name,
                sender_identifier=source,
                sequence_identifier=sequence.identifier.value,
                sequence_number=sequence.number,
                last_access_time=since + sequence.last_access // 1000,
                reject_count=sequence.reject_count,
            )
            for (source, name), sequence in self._sequences.items()
            if sequence.number and self._ledger.local_queue(name) is queue
        )

    def sequence(self, source: GUID, queue: str) -> _IncomingSequence | None:
        """What is known of the transactional messages of a queue manager to a format name."""
        return self._sequences.get((source, queue.casefold()))

    def deliver(self, packet: UserMessage, data: bytes, channel: TransmissionQueue) -> bool:
        """Take a message; ``channel`` leads back to who sent it. False where the session must be closed.

        That is when the queue manager has no room; the message may come again then.
        """
        user, transaction = packet.user_header, packet.transaction_header
        source = user.source_queue_manager
        key = (source, user.message_id)
        queue = self._destination(packet)
        sequence: _IncomingSequence | None = None
        if transaction is None:
            if key in self._history:
                self._history[key] = self._manager.current_time
                self._history.move_to_end(key)
                return True
        elif queue is not None:
            # Where there is no queue nothing is remembered, and each message is refused.
            sequence = self._sequence(source, user.format_name("destination_queue") or "")
            self._schedule_order_ack(sequence, channel)
            sequence.last_access = self._manager.timers.now
            if not sequence.accepts(transaction):
                sequence.reject_count += 1
                self._acknowledge_again(sequence, transaction, channel)
                return True
        self._remember_way(source, channel)
        refusal = self._refusal(packet, queue)
        kept: UserMessage | int = packet
        if refusal is None and queue is not None:
            kept = self._secured(packet, queue)
            if isinstance(kept, int):
                refusal = kept
        if refusal is None and queue is not None and not isinstance(kept, int):
            message = message_of(kept, data if kept is packet else None)
            message.source_address = channel.remote_address
            status = self._enqueue(queue, message, kept, channel)
            if status == _MANAGER_FULL:
                return False
            refusal = _NOT_ENQUEUED.get(status)
        if transaction is None:
            self._remember(key)
        elif sequence is not None:
            sequence.advance(transaction)
        if refusal is not None:
            self._refuse(packet, refusal, channel)
        return True

    def _destination(self, packet: UserMessage) -> Queue | None:
        """Determining Message Destination: here, or the outgoing queue to the next hop. [MS-MQQB] 3.1.5.8.5

        The acknowledgments of a sequence go to the host that sent the packet, which would be a router. So
        transactional messages are not forwarded.
        """
        if self._is_for_another(packet):
            forwarded = packet.transaction_header is None
            return self._ledger.queue_to_forward(packet) if forwarded else None
        return self._ledger.local_queue(packet.user_header.format_name("destination_queue"))

    def _is_for_another(self, packet: UserMessage) -> bool:
        return packet.user_header.queue_manager_address not in (NULL_GUID, self._manager.identifier)

    def _refusal(self, packet: UserMessage, queue: Queue | None) -> int | None:
        """The class with which a message is refused. [MS-MQQB] 3.1.5.8.2, 3.1.7.1.2"""
        if self._is_for_another(packet) and packet.user_header.bit("rc") + 1 > _MOST_HOPS:
            return MessageClass.MQMSG_CLASS_NACK_HOP_COUNT_EXCEEDED
        if queue is None:
            return MessageClass.MQMSG_CLASS_NACK_BAD_DST_Q
        if packet.transaction_header is not None and not queue.transactional:
            return MessageClass.MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_Q
        if packet.transaction_header is None and queue.transactional:
            return MessageClass.MQMSG_CLASS_NACK_NOT_TRANSACTIONAL_MSG
        if self._ledger.expired(packet):
            return MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT
        return None

    def _secured(self, packet: UserMessage, queue: Queue) -> UserMessage | int:
        """The message as it is kept, or the class with which it is refused. [MS-MQQB] 3.1.5.8.3, 3.1.7.1.2

        Without keys encrypted bodies are refused, and where a queue takes authenticated messages only, all.
        What is forwarded is not looked at: it gets one more hop ([MS-MQQB] 3.1.5.8.2).
        """
        if isinstance(queue, Elsewhere):
            user = packet.user_header
            return msgspec.structs.replace(packet, user_header=user.with_bits(rc=user.bit("rc") + 1))
        checks, header = self._manager.message_security, packet.security_header
        kept: UserMessage | int = packet
        if checks is not None:
            kept = checks.check(packet)
        elif header is not None and header.flags & _EB:
            kept = MessageClass.MQMSG_CLASS_NACK_BAD_ENCRYPTION
        if isinstance(kept, int) or not queue.authentication:
            return kept
        checked = None if checks is None else kept.security_header
        if checked is None or not checked.bit("as"):
            return MessageClass.MQMSG_CLASS_NACK_BAD_SIGNATURE
        return kept

    def _enqueue(
        self, queue: Queue, message: ModelMessage, packet: UserMessage, channel: TransmissionQueue
    ) -> int:
        """Inserting a Message into a Local Queue, its report and its acknowledgment.

        [MS-MQQB] 3.1.5.8.8 to 3.1.5.8.10
        """
        # Somebody may wait and take it at once; that it arrived is told first.
        held: list[tuple[MessagePosition, int]] = []
        before, self._held_reasons = self._held_reasons, held
        try:
            with self._ledger.reports_held():
                status = enqueue_message(queue, message)
                if not status:
                    self._ledger.report(packet)
        finally:
            self._held_reasons = before
        properties = packet.message_properties_header
        arrived = not status and not isinstance(queue, Elsewhere)
        if arrived and properties is not None and properties.bit("pa"):
            self._ledger.acknowledge(packet, MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE, channel)
        for position, reason in held:
            self._tell(position, reason)
        return status

    def _refuse(self, packet: UserMessage, message_class: int, channel: TransmissionQueue) -> None:
        properties, transaction = packet.message_properties_header, packet.transaction_header
        if properties is not None and properties.bit("na"):
            self._ledger.acknowledge(packet, message_class, channel)
        if transaction is not None:
            self._acknowledge_finally(packet, message_class, channel)
        elif packet.user_header.bit("jn") and message_class in (
            MessageClass.MQMSG_CLASS_NACK_Q_EXCEED_QUOTA,
            MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT,
        ):
            self._ledger.keep_copy(packet, self._manager.system_deadletter_queue)

    def _acknowledge_finally(
        self, packet: UserMessage, message_class: int, channel: TransmissionQueue
    ) -> None:
        """Send Transactional Acknowledgment of one message. [MS-MQQB] 3.1.7.17"""
        transaction = packet.transaction_header
        assert transaction is not None
        queue = order_queue(channel.remote_queue_manager, channel.remote_address, direct=channel.direct)
        made = final_ack(queue, self._manager.identifier, packet, transaction, message_class)
        if made is not None:
            channel.send(made)

    def _deleted(self, queue: Queue, position: MessagePosition, reason: int) -> None:
        """Message Position Deleted. [MS-MQQB] 3.1.7.2"""
        # Only of a final destination queue; what becomes of an outgoing message is told where it is sent.
        if queue.queue_type is ModelQueueType.SYSTEM or isinstance(queue, Elsewhere):
            return
        message = position.message_reference
        if message.srmp or not (message.acknowledgements_requested or message.transactional):
            return
        if self._held_reasons is not None:
            self._held_reasons.append((position, reason))
        else:
            self._tell(position, reason)

    def _tell(self, position: MessagePosition, reason: int) -> None:
        message = position.message_reference
        try:
            packet = decode(message.packet, "user_message")
        except DecodeError:
            return
        user, transaction = packet.user_header, packet.transaction_header
        channel = self._ways.get(user.source_queue_manager)
        received = reason == MessageClass.MQMSG_CLASS_ACK_RECEIVE
        if received and message.user_acknowledgement_class:
            reason = message.user_acknowledgement_class
            received = reason == MessageClass.MQMSG_CLASS_ACK_RECEIVE
        properties = packet.message_properties_header
        if properties is not None and properties.bit("pr" if received else "nr"):
            self._ledger.acknowledge(packet, reason, channel)
        if channel is None or transaction is None:
            return
        if user.bit("jn") or user.bit("jp") or transaction.bit("fa"):
            self._acknowledge_finally(packet, reason, channel)

    def _remember(self, key: tuple[GUID, int]) -> None:
        self._history[key] = self._manager.current_time
        if len(self._history) > self._ledger.settings.history_size:
            self._history.popitem(last=False)
        if self._history_timer is None or not self._history_timer.running:
            self._start_history_timer()

    def _start_history_timer(self) -> None:
        lifetime = self._ledger.settings.history_lifetime
        self._history_timer = self._manager.timers.start(lifetime, self._clean_history)

    def _clean_history(self) -> None:
        """MessageIDHistory Cleanup Timer Event. [MS-MQQB] 3.1.6.7"""
        oldest = self._manager.current_time - self._ledger.settings.history_lifetime // 1000
        for key in [key for key, time in self._history.items() if time < oldest]:
            del self._history[key]
        if self._history:
            self._start_history_timer()

    def _remember_way(self, source: GUID, channel: TransmissionQueue) -> None:
        self._ways[source] = channel
        self._ways.move_to_end(source)
        if len(self._ways) > _MOST_WAYS:
            self._ways.popitem(last=False)

    def _sequence(self, source: GUID, name: str) -> _IncomingSequence:
        key = (source, name.casefold())
        sequence = self._sequences.get(key)
        if sequence is None:
            now = self._manager.timers.now
            sequence = _IncomingSequence(format_name=name, last_order_ack=now)
            self._sequences[key] = sequence
        self._sequences.move_to_end(key)
        if len(self._sequences) > _MOST_SEQUENCES:
            self._sequences.popitem(last=False)
        return sequence

    def _schedule_order_ack(self, sequence: _IncomingSequence, channel: TransmissionQueue) -> None:
        """Transactional Message Processing: when to send an OrderAck. [MS-MQQB] 3.1.5.8.6"""
        timers, settings = self._manager.timers, self._ledger.settings
        timer = sequence.order_ack_timer
        if timer is not None and timer.running:
            if timers.now - sequence.last_order_ack >= settings.maximum_order_ack_delay:
                return
            timer.cancel()
        sequence.order_ack_timer = timers.start(
            settings.order_ack_timeout, lambda: self._send_order_ack(sequence, channel)
        )

    def _acknowledge_again(
        self, sequence: _IncomingSequence, header: TransactionHeader, channel: TransmissionQueue
    ) -> None:
        """Tell a sender that begins a session with what is here already: it knows of no OrderAck for that.

        The text stops the timer with the session, and starts it again with each message of the next one: a
        sender whose sessions are short would not be told for long. It does not forbid an OrderAck that comes
        before the timer is due. [MS-MQQB] 3.1.5.9, 3.1.2.7
        """
        seen = header.tx_sequence_id == sequence.identifier and header.tx_sequence_number <= sequence.number
        if not seen or channel.session is None:
            return
        # One of the millisecond in which the session began may be of the session before: then it is kept, and
        # sent in this one, as long as nobody has acknowledged it.
        if sequence.last_order_ack >= channel.session.begun:
            return
        if sequence.order_ack_timer is not None:
            sequence.order_ack_timer.cancel()
        self._send_order_ack(sequence, channel)

    def _send_order_ack(self, sequence: _IncomingSequence, channel: TransmissionQueue) -> None:
        """Order Ack Send Timer Event. [MS-MQQB] 3.1.6.9"""
        if channel.session is None or not sequence.number:
            return
        queue = order_queue(channel.remote_queue_manager, channel.remote_address, direct=channel.direct)
        made = order_ack(queue, self._manager.identifier, sequence.identifier, sequence.number)
        if made is None:
            return
        sequence.last_order_ack = self._manager.timers.now
        if sequence.order_ack is not None:
            # The one before says less than this one, which is sent again in its place.
            sequence.order_ack.queue.withdraw(sequence.order_ack)
        sequence.order_ack = channel.send(made)


class _IncomingSequence(msgspec.Struct, eq=False, kw_only=True):
    """IncomingTxSequenceID, IncomingTxSequenceNumber and what an OrderAck needs. [MS-MQQB] 3.1.1.3.1

    ``number`` is 0 before anything was accepted; ``last_order_ack`` and ``last_access``, when a message came,
    are in the milliseconds of the timers; ``format_name`` is what the sender calls the queue;
    ``order_ack`` is the last OrderAck, which may wait to be sent.
    """

    identifier: TxSequenceID = TxSequenceID()
    number: int = 0
    reject_count: int = 0
    format_name: str = ""
    last_access: int = 0
    last_order_ack: int
    order_ack_timer: Timer | None = None
    order_ack: OutgoingMessage | None = None

    def accepts(self, header: TransactionHeader) -> bool:
        """Whether a message is the next one: in order, and not seen before. [MS-MQQB] 3.1.5.8.6"""
        stated, previous = header.tx_sequence_number, header.previous_tx_sequence_number
        if header.tx_sequence_id == self.identifier:
            return stated > self.number >= previous
        return header.tx_sequence_id.value > self.identifier.value and previous == 0 and stated > 0

    def advance(self, header: TransactionHeader) -> None:
        """The message was accepted."""
        self.identifier, self.number = header.tx_sequence_id, header.tx_sequence_number
        self.reject_count = 0
