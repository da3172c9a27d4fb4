"""Events that put messages into queues. [MS-MQDMPR] 3.1.7.1.9, 3.1.7.1.27, 3.1.7.2.5, 3.1.7.2.6

The rule kept here: a message is in a queue or it is not; where it is refused, nothing has changed.
"""

from __future__ import annotations

import msgspec

from msmq_wire.lab.model.data.elements import (
    MessagePosition,
    ModelMessage,
    ModelQueueManager,
    OpenQueueDescriptor,
    Queue,
    Transaction,
    TransactionalOperation,
)
from msmq_wire.lab.model.data.enumerations import OperationType, PositionState
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.position import message_position_available, time_to_be_received_timer_expired
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties

_KILOBYTE = 1024


def begin_flow_control(manager: ModelQueueManager) -> None:
    """Begin Flow Control: nothing is enqueued from now on. [MS-MQDMPR] 3.1.7.2.5"""
    manager.throttled = True


def end_flow_control(manager: ModelQueueManager) -> None:
    """End Flow Control. [MS-MQDMPR] 3.1.7.2.6"""
    manager.throttled = False


def enqueue_message(queue: Queue, message: ModelMessage, transaction: Transaction | None = None) -> int:
    """Enqueue Message: 0; 1 and 2 where a quota of the queue or the queue manager would be exceeded; 3 late.

    A SentTime of 0 says that it is not known; then the time to be received counts from now.
    [MS-MQDMPR] 3.1.7.1.9
    """
    manager = queue.queue_manager
    limited = manager.quota != INFINITE
    if manager.throttled or (limited and _exceeds(manager.total_bytes + message.size, manager.quota)):
        return 2
    if _exceeds(queue.total_bytes + message.size, queue.quota):
        return 1
    if _late(message, manager.current_time):
        return 3
    position = MessagePosition(message_reference=message, queue_reference=queue)
    message.message_position_reference = position
    message.arrival_time = manager.current_time
    manager.sequential_id += 1
    high = 7 - message.priority if message.transactional else 0
    message.lookup_identifier = high << 56 | manager.sequential_id & (1 << 56) - 1
    queue.message_position_list.insert(position)
    if message.time_to_be_received != INFINITE:
        spent = max(0, manager.current_time - message.sent_time) if message.sent_time else 0
        left = max(0, message.time_to_be_received - spent)
        message.time_to_be_received_timer = manager.timers.start(left * 1000, lambda: _timed_out(message))
    if transaction is not None:
        position.state = PositionState.LOCKED
        transaction.transactional_operation_collection.append(
            TransactionalOperation(operation_type=OperationType.ENQUEUE, message_position_reference=position)
        )
    else:
        message_position_available(queue, position)
    return 0


def enqueue_message_to_an_open_queue(
    descriptor: OpenQueueDescriptor, message: ModelMessage, transaction: Transaction | None = None
) -> int:
    """Enqueue Message To An Open Queue: as Enqueue Message; copies go to all queues of a Multiple opening.

    [MS-MQDMPR] 3.1.7.1.27. What a packet says of its destination is left to who made the packet.
    """
    for one in descriptor.open_queue_descriptor_collection if descriptor.multiple else (descriptor,):
        if one.queue_reference is None:
            return Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
        copy = _copy(message) if descriptor.multiple else message
        if isinstance(copy.properties, MessageProperties) and (
            descriptor.multiple or not copy.properties.destination_queue_format_name
        ):
            copy.properties = msgspec.structs.replace(
                copy.properties, destination_queue_format_name=one.format_name
            )
        status = enqueue_message(one.queue_reference, copy, transaction)
        if status:
            return status
    return 0


def _exceeds(size: int, quota: int) -> bool:
    return quota != INFINITE and size > quota * _KILOBYTE


def _late(message: ModelMessage, now: int) -> bool:
    """Whether it came after its TimeToReachQueue."""
    properties = message.properties
    seconds = properties.time_to_reach_queue if isinstance(properties, MessageProperties) else None
    if seconds is None or seconds == INFINITE or not message.sent_time:
        return False
    return message.sent_time + seconds < now


def _copy(message: ModelMessage) -> ModelMessage:
    copy: ModelMessage = msgspec.structs.replace(message, message_position_reference=None)
    return copy


def _timed_out(message: ModelMessage) -> None:
    position = message.message_position_reference
    if position is not None and position.listed:
        time_to_be_received_timer_expired(message)
