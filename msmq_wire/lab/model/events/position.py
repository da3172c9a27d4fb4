"""Events about those who wait for a message, and about messages that come and go.

The rule kept here: who waits is told once, either of a message or of a status, and waits no more by then.
"""

from __future__ import annotations

from collections.abc import Callable

from msmq_wire.lab.model.data.elements import (
    Cursor,
    MessagePosition,
    ModelMessage,
    OpenQueueDescriptor,
    Queue,
    TransactionalOperation,
    WaitingMessageReadOperation,
)
from msmq_wire.lab.model.data.enumerations import ModelQueueType, OperationType, PositionState
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.enumerations import MessageClass


def time_to_be_received_timer_expired(message: ModelMessage) -> None:
    """Time To Be Received Timer Expired: the message goes, with its transaction if it has one.

    [MS-MQDMPR] 3.1.7.2.7. A message that somebody has locked stays until that is decided.
    """
    position = message.message_position_reference
    assert position is not None
    manager = position.queue_reference.queue_manager
    transaction = manager.transaction_collection.get(message.transaction_identifier)
    if transaction is not None:
        position.state = PositionState.LOCKED
        transaction.transactional_operation_collection.append(
            TransactionalOperation(
                operation_type=OperationType.DEQUEUE,
                message_position_reference=position,
                dequeue_reason=MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT,
            )
        )
    elif position.state is PositionState.AVAILABLE:
        message_position_deleted(position, MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT)


def message_position_deleted(position: MessagePosition, reason: int) -> None:
    """Message Position Deleted: a message leaves its queue; ``reason`` is a message class.

    [MS-MQDMPR] 3.1.7.2.1. Who subscribed to it at the queue manager is told.
    """
    queue, message = position.queue_reference, position.message_reference
    if position.listed and position.counted:
        queue.total_bytes -= message.size
        position.counted = False
    position.state = PositionState.DELETED
    queue.message_position_list.remove(position)
    if message.time_to_be_received_timer is not None:
        message.time_to_be_received_timer.cancel()
    for subscriber in list(queue.queue_manager.position_deleted):
        subscriber(queue, position, reason)


def message_position_available(queue: Queue, position: MessagePosition) -> None:
    """Message Position Available: a message can be read; those who wait are served, in their order.

    One who receives ends it, those who peek let the next one in; of what is left, who subscribed to it at
    the queue manager is told. [MS-MQDMPR] 3.1.7.2.2
    """
    message = position.message_reference
    if not position.counted:
        queue.total_bytes += message.size
        position.counted = True
    position.state = PositionState.AVAILABLE
    timer = message.time_to_be_received_timer
    if timer is not None and not timer.running:
        message_position_deleted(position, MessageClass.MQMSG_CLASS_NACK_RECEIVE_TIMEOUT)
        return
    for descriptor in list(queue.open_queue_descriptor_collection):
        for reader in list(descriptor.waiting_message_read_operation_collection):
            if reader not in descriptor.waiting_message_read_operation_collection:
                continue
            _stop_waiting(descriptor, reader)
            reader.satisfied(position)
            # Who receives has taken it, unless the transaction to receive in has ended meanwhile.
            if position.state is not PositionState.AVAILABLE:
                return
    for subscriber in list(queue.queue_manager.position_available):
        subscriber(queue, position)


def _stop_waiting(descriptor: OpenQueueDescriptor, reader: WaitingMessageReadOperation) -> None:
    descriptor.waiting_message_read_operation_collection.remove(reader)
    if reader.timer is not None:
        reader.timer.cancel()


def wait_for_new_message(
    descriptor: OpenQueueDescriptor,
    timeout: int,
    *,
    destructive_read: bool,
    tag: int | None,
    cursor: Cursor | None,
    satisfied: Callable[[MessagePosition], None],
    stopped: Callable[[int], None],
) -> None:
    """Wait For New Message; ``timeout`` is in milliseconds. [MS-MQDMPR] 3.1.7.3.1

    Without a queue, and without time to wait, the text gives Failed, for which no code is named; read as
    MQ_ERROR_QUEUE_NOT_AVAILABLE and as MQ_ERROR_IO_TIMEOUT.
    """
    queue = descriptor.queue_reference
    if queue is None:
        stopped(Status.MQ_ERROR_QUEUE_NOT_AVAILABLE)
        return
    if timeout <= 0:
        stopped(Status.MQ_ERROR_IO_TIMEOUT)
        return
    reader = WaitingMessageReadOperation(
        destructive_read=destructive_read,
        tag=tag,
        cursor_reference=cursor,
        satisfied=satisfied,
        stopped=stopped,
    )
    descriptor.waiting_message_read_operation_collection.append(reader)

    def expired() -> None:
        _stop_waiting(descriptor, reader)
        stopped(Status.MQ_ERROR_IO_TIMEOUT)

    reader.timer = queue.queue_manager.timers.start(timeout, expired)


def cancel_waiting_message_read_request(
    descriptor: OpenQueueDescriptor, tag: int, status: int = Status.MQ_ERROR_OPERATION_CANCELLED
) -> int:
    """Cancel Waiting Message Read Request: MQ_OK, or STATUS_NOT_FOUND. [MS-MQDMPR] 3.1.7.1.17

    The text looks through all descriptors of the queue, where another client may have chosen the same tag;
    read as: through the descriptor of who asks.
    """
    for reader in descriptor.waiting_message_read_operation_collection:
        if reader.tag is not None and reader.tag == tag:
            _stop_waiting(descriptor, reader)
            reader.stopped(status)
            return Status.MQ_OK
    return Status.STATUS_NOT_FOUND


def cancel_all_waiting(
    descriptor: OpenQueueDescriptor,
    cursor: Cursor | None = None,
    status: int = Status.MQ_ERROR_OPERATION_CANCELLED,
) -> None:
    """Tell all who wait on a descriptor, or with a cursor, that they wait no more."""
    for reader in list(descriptor.waiting_message_read_operation_collection):
        # What one is told can make another one stop waiting.
        waiting = reader in descriptor.waiting_message_read_operation_collection
        if waiting and (cursor is None or reader.cursor_reference is cursor):
            _stop_waiting(descriptor, reader)
            reader.stopped(status)


def close_cursor(cursor: Cursor) -> None:
    """Close Cursor. [MS-MQDMPR] 3.1.7.1.2

    The text forgets who waits with it; read as: they are told that it was cancelled.
    """
    descriptor = cursor.open_queue_descriptor_reference
    cancel_all_waiting(descriptor, cursor)
    if cursor in descriptor.cursor_collection:
        descriptor.cursor_collection.remove(cursor)
    queue = descriptor.queue_reference
    if queue is not None:
        queue.queue_manager.cursors.pop(cursor.handle, None)


def place_in(position: MessagePosition, target_queue: Queue) -> None:
    """Take a message out of its slot and put it into one of another queue."""
    message, source = position.message_reference, position.queue_reference
    if position.counted:
        source.total_bytes -= message.size
        position.counted = False
    position.state = PositionState.DELETED
    source.message_position_list.remove(position)
    new = MessagePosition(message_reference=message, queue_reference=target_queue)
    message.message_position_reference = new
    target_queue.message_position_list.insert(new)
    if target_queue.queue_type is ModelQueueType.SYSTEM:
        target_queue.total_bytes += message.size
        new.counted = True
    else:
        message_position_available(target_queue, new)
