"""`Sending`: what comes into the outgoing queues of a queue manager goes out. [MS-MQQB] 3.1.7.12

The rule kept here: a message is in its outgoing queue until the other queue manager has it, or it is too
late; who takes it out before has taken it back.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

import msgspec

from msmq_wire.engines.codec import decode
from msmq_wire.errors import DecodeError
from msmq_wire.lab.model.binary.outgoing import ByteQuota, TransmissionQueue
from msmq_wire.lab.model.binary.outgoing_message import Outcome, OutgoingMessage
from msmq_wire.lab.model.binary.protocol import BinaryProtocol
from msmq_wire.lab.model.data.elements import MessagePosition, Queue
from msmq_wire.lab.model.data.elements import OutgoingQueue as Elsewhere
from msmq_wire.lab.model.data.enumerations import AdministrativeAction, OutgoingQueueState, PositionState
from msmq_wire.lab.model.events.position import message_position_deleted
from msmq_wire.wire.names import FormatName, QueueFormatType
from msmq_wire.wire.types.enumerations import MessageClass

_UNBOUNDED = 1 << 62
"""The queue manager's quota bounds what its outgoing queues hold."""
_STOPPED = (OutgoingQueueState.LOCKED, OutgoingQueueState.ON_HOLD)
_IPV4 = 4


class _OnItsWay(msgspec.Struct, eq=False, frozen=True):
    position: MessagePosition
    message: OutgoingMessage


class Sending:
    """Hands the messages of outgoing queues to the binary protocol.

    One queue of the protocol leads to each address, whatever queues there are named; ``connect`` is theirs.
    Messages for names over HTTP, multicast ones, and those for whose queue manager no next hop is known stay.
    """

    def __init__(self, protocol: BinaryProtocol, connect: Callable[[TransmissionQueue], None]) -> None:
        self._ledger = protocol.ledger
        self._connect = connect
        self._ways: dict[str, TransmissionQueue] = {}
        self._by_position: dict[int, _OnItsWay] = {}
        self._by_message: dict[int, _OnItsWay] = {}
        manager = protocol.manager
        manager.position_available.append(self._available)
        manager.position_deleted.append(self._deleted)
        manager.looked_at.append(self._look)
        manager.administered.append(self._administer)

    def _available(self, queue: Queue, position: MessagePosition) -> None:
        """Message Position Available Event. [MS-MQQB] 3.1.7.12"""
        # A message that was put back has never left.
        if not isinstance(queue, Elsewhere) or id(position) in self._by_position:
            return
        address = _address(queue)
        if address is None or queue.state in _STOPPED:
            return
        try:
            packet = decode(position.message_reference.packet, "user_message")
        except DecodeError:
            return
        message = self._way(address).send(packet)
        assert message is not None
        if message.outcome is not None:
            # A session was open, and it was too late for it.
            message_position_deleted(position, _reason(message, message.outcome))
            return
        found = _OnItsWay(position, message)
        self._by_position[id(position)] = self._by_message[id(message)] = found

    def _way(self, address: str) -> TransmissionQueue:
        key = address.casefold()
        if key not in self._ways:
            self._ways = {
                one: channel
                for one, channel in self._ways.items()
                if len(channel) or channel.session is not None
            }
            self._ways[key] = TransmissionQueue(
                self._ledger,
                remote_host_name=address,
                connect=self._connect,
                settled=self._settled,
                budget=ByteQuota(most=_UNBOUNDED),
            )
        return self._ways[key]

    def _settled(self, message: OutgoingMessage, outcome: Outcome) -> None:
        found = self._forget(self._by_message.get(id(message)))
        if found is not None:
            message_position_deleted(found.position, _reason(message, outcome))

    def _deleted(self, queue: Queue, position: MessagePosition, reason: int) -> None:
        """Message Position Deleted: somebody else took the message out. [MS-MQDMPR] 3.1.7.2.1"""
        self._take_back(position)

    def _look(self, queue: Queue) -> None:
        """Put down how far an outgoing queue is. [MS-MQQB] 3.1.5.8.8"""
        address = _address(queue) if isinstance(queue, Elsewhere) else None
        channel = None if address is None else self._ways.get(address.casefold())
        if not isinstance(queue, Elsewhere) or channel is None:
            return
        if queue.state not in _STOPPED:
            if channel.session is not None:
                queue.state = OutgoingQueueState.CONNECTED
            elif channel.waits_for_session:
                queue.state = OutgoingQueueState.WAITING
            else:
                queue.state = OutgoingQueueState.DISCONNECTED
        queue.connection_history = tuple(channel.connection_history)
        queue.next_hops = tuple(map(_next_hop, channel.addresses))
        sequence = channel.sequence(queue.destination_format_name)
        if sequence is not None:
            queue.outgoing_transfer_info_reference = sequence.transfer_info(
                queue.queue_manager.time_offset, self._ledger.unread(sequence)
            )

    def _administer(self, queue: Elsewhere, action: AdministrativeAction) -> None:
        """Pause and Resume Queue Event, and to send a sequence again. [MS-MQQB] 3.1.7.13, 3.1.7.14"""
        address = _address(queue)
        channel = None if address is None else self._ways.get(address.casefold())
        if action is AdministrativeAction.PAUSE:
            if channel is not None and channel.session is not None:
                channel.session.pause()
            for position in queue.message_position_list:
                self._take_back(position)
        elif action is AdministrativeAction.RESUME:
            for position in list(queue.message_position_list):
                if position.state is PositionState.AVAILABLE:
                    self._available(queue, position)
        elif channel is not None:
            sequence = channel.sequence(queue.destination_format_name)
            if sequence is not None:
                sequence.resend()

    def _take_back(self, position: MessagePosition) -> None:
        found = self._forget(self._by_position.get(id(position)))
        if found is not None:
            found.message.queue.withdraw(found.message)

    def _forget(self, found: _OnItsWay | None) -> _OnItsWay | None:
        if found is not None:
            del self._by_position[id(found.position)], self._by_message[id(found.message)]
        return found


def _address(queue: Elsewhere) -> str | None:
    """The computer that messages of an outgoing queue go to by the binary protocol, perhaps the next hop."""
    if queue.multicast:
        return None
    name = FormatName.parse(queue.destination_format_name)
    if name.kind is not QueueFormatType.DIRECT:
        return queue.queue_manager.routing_table.get(queue.destination_queue_manager)
    return None if name.protocol in ("HTTP", "HTTPS") else name.host


def _next_hop(address: str) -> str:
    """An address as PROPID_MGMT_QUEUE_NEXTHOPS has it. [MS-MQMQ] 2.3.12.12"""
    # A zone of an IPv6 address means something on one host only.
    bare = address.partition("%")[0]
    return f"IP={bare}" if ip_address(bare).version == _IPV4 else f"IPv6={bare}"


def _reason(message: OutgoingMessage, outcome: Outcome) -> int:
    """The message class that says why a message has left its outgoing queue."""
    if outcome == "expired":
        return MessageClass.MQMSG_CLASS_NACK_REACH_QUEUE_TIMEOUT
    if outcome == "refused" and message.final_class is not None:
        return message.final_class
    return MessageClass.MQMSG_CLASS_ACK_REACH_QUEUE
