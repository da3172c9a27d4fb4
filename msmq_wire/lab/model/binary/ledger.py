"""`Ledger`: what a queue manager keeps for all sessions of the binary protocol. [MS-MQQB] 3.1.1.3

The rule kept here: what must survive a session is here and in the queues: identifiers, sequences, what is
awaited. What a peer can make up is bounded; the oldest goes first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from msmq_wire.errors import FormatNameError
from msmq_wire.lab.model.binary.acknowledgments import INSECURE_NACKS, administration_ack
from msmq_wire.lab.model.binary.outgoing_message import OutgoingChannel, OutgoingMessage, OutgoingSequence
from msmq_wire.lab.model.binary.report_messages import report_message, report_queue_of
from msmq_wire.lab.model.binary.settings import BinarySettings
from msmq_wire.lab.model.data.elements import ModelQueueManager, OutgoingQueue, Queue
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.enqueue import enqueue_message
from msmq_wire.lab.model.events.journaling import keep_message
from msmq_wire.lab.model.events.queue import find_queue, queue_to_forward
from msmq_wire.wire.names import FormatName, public
from msmq_wire.wire.names.queue_format_types import QueueSuffixType
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.order_ack import OrderAck
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

_MOST_AWAITED = 1 << 16
"""Transactional messages that wait for a FinalAck."""


class Ledger:
    """One for a queue manager; its outgoing queues and its deliveries write and read it.

    ``report_channel`` takes the report messages whose queue is unknown here. Without it they are discarded.
    """

    def __init__(self, manager: ModelQueueManager, settings: BinarySettings) -> None:
        self.manager = manager
        self.settings = settings
        self.report_channel: OutgoingChannel | None = None
        self._held_reports: list[tuple[UserMessage, str]] | None = None
        self._awaited: OrderedDict[int, OutgoingMessage] = OrderedDict()
        self._sequences: dict[int, OutgoingSequence] = {}
        self._last_time_stamp = 0

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

    def new_sequence(self, resend: Callable[[list[OutgoingMessage]], None]) -> OutgoingSequence:
        """A sequence to a queue, with an identifier greater than all before. [MS-MQQB] 3.1.1.3.1"""
        self._last_time_stamp = max(self._last_time_stamp + 1, self.manager.current_time)
        identifier = TxSequenceID(ordinal=1, time_stamp=self._last_time_stamp & 0xFFFF_FFFF)
        made = OutgoingSequence(identifier, self.manager.timers, self.settings.resend_intervals, resend)
        self._sequences[identifier.time_stamp] = made
        return made

    def order_acknowledged(self, packet: OrderAck) -> None:
        """Receiving an OrderAck Packet. [MS-MQQB] 3.1.5.6"""
        body = packet.order_ack_body
        sequence = None if body is None else self._sequences.get(body.tx_sequence_id.time_stamp)
        # One of a sequence before says nothing about the messages of this one, which have the same numbers.
        if body is None or sequence is None or sequence.identifier != body.tx_sequence_id:
            return
        for message in sequence.acknowledge(body.tx_sequence_number):
            message.queue.settle(message, "ordered")
        sequence.begin_anew()

    def await_final_ack(self, message: OutgoingMessage) -> None:
        """A FinalAck may come for a message, before its OrderAck or after. [MS-MQQB] 3.1.1.3.1"""
        self._awaited[message.message_id] = message
        if len(self._awaited) > _MOST_AWAITED:
            self._awaited.popitem(last=False)

    def ordered(self, message: OutgoingMessage) -> None:
        """A message was ordered; only one that asks for a FinalAck is kept for it. [MS-MQQB] 3.1.5.6"""
        if not message.wants_final_ack:
            self._awaited.pop(message.message_id, None)

    def unread(self, sequence: OutgoingSequence) -> int:
        """How many messages of a sequence are known to have arrived, and not yet what became of them."""
        return sum(one.sequence is sequence and one.outcome == "ordered" for one in self._awaited.values())

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
            self.acknowledge(packet, timed_out, message.queue)
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

    def local_queue(self, text: str | None) -> Queue | None:
        """The queue here that a destination or an administration queue names."""
        try:
            name = None if text is None else FormatName.parse(text)
        except FormatNameError:
            return None
        # Journals, dead-letter queues and subqueues are no destinations.
        if name is None or name.suffix != QueueSuffixType.NONE:
            return None
        return find_queue(self.manager, name)

    def acknowledge(self, packet: UserMessage, message_class: int, channel: OutgoingChannel | None) -> None:
        """Send Administration Acknowledgment: into a local queue, or back the way. [MS-MQQB] 3.1.7.15"""
        if message_class in INSECURE_NACKS and not self.settings.send_insecure_nacks:
            return
        made = administration_ack(self.manager.identifier, packet, message_class)
        if made is None:
            return
        self._post(made, self.local_queue(packet.user_header.format_name("admin_queue")), channel)

    def report(self, packet: UserMessage, next_hop: str | None = None) -> None:
        """Send a report about a traced packet that was received, or that was sent to an address.

        [MS-MQQB] 3.1.5.8.9, 3.1.7.1.7
        """
        queue, channel, manager = report_queue_of(packet), self.report_channel, self.manager
        if queue is None:
            return
        if next_hop is not None and self._held_reports is not None:
            self._held_reports.append((packet, next_hop))
            return
        local = self.local_queue(public(str(queue)))
        owner = manager.public_queue_owners.get(queue, NULL_GUID) if local is None else manager.identifier
        if owner == NULL_GUID and channel is not None:
            owner = channel.remote_queue_manager
        made = report_message(packet, queue, owner, manager.identifier, manager.current_time, next_hop)
        if made is not None:
            self._post(made, local, channel)

    @contextmanager
    def reports_held(self) -> Iterator[None]:
        """Within, what is sent is not reported yet: that it was received comes first."""
        before, self._held_reports = self._held_reports, []
        try:
            yield
        finally:
            held, self._held_reports = self._held_reports, before
            for packet, next_hop in held:
                self.report(packet, next_hop)

    def _post(self, made: UserMessage, local: Queue | None, channel: OutgoingChannel | None) -> None:
        """Put a packet that was made here into a queue here, or on its way; else into a channel."""
        queue = local or self.queue_to_forward(made)
        if queue is None:
            if channel is not None:
                channel.send(made)
        elif not queue.transactional:
            enqueue_message(queue, message_of(self.identified(made)))

    def queue_to_forward(self, packet: UserMessage) -> OutgoingQueue | None:
        """The outgoing queue of a packet for another queue manager; None without a next hop."""
        user = packet.user_header
        owner = user.queue_manager_address
        try:
            name = FormatName.parse(user.format_name("destination_queue") or "")
        except FormatNameError:
            return None
        return queue_to_forward(self.manager, name, owner) if isinstance(owner, GUID) else None
