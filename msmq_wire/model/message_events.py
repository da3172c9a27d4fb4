"""Events about the messages of a queue: enqueue, peek, dequeue, move and what wakes who waits.

The rule kept here: an event takes the branches of its section, in its order. Where a section waits, what
comes of it is told to ``done``, now or later; it is told once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msmq_wire.model.cursor_events import (
    get_message_for_peek,
    get_next_message_for_dequeue,
    get_next_message_for_peek,
    message_available,
    wait_time_expired,
)
from msmq_wire.model.elements import (
    Cursor,
    Message,
    MessagePosition,
    OpenQueueDescriptor,
    Queue,
    Transaction,
    TransactionalOperation,
    WaitingMessageReadOperation,
)
from msmq_wire.model.enumerations import MessageSeekAction, OperationType, PositionState, QueueType
from msmq_wire.model.seeking import seek_available_message_position, seek_available_message_position_with_id
from msmq_wire.model.status import Status
from msmq_wire.model.timers import INFINITE
from msmq_wire.wire.types.enumerations import MessageClass

__all__ = [
    "Done",
    "cancel_all_waiting",
    "cancel_waiting_message_read_request",
    "close_cursor",
    "dequeue_message",
    "dequeue_message_begin",
    "dequeue_message_end",
    "enqueue_message",
    "message_position_available",
    "message_position_deleted",
    "move_message",
    "peek_message",
    "peek_next_message",
    "place_in",
    "purge_queue",
    "read_message_by_lookup_identifier",
    "time_to_be_received_timer_expired",
    "wait_for_new_message",
]

Done: TypeAlias = Callable[[int, Message | None], None]
"""Takes the status and, with MQ_OK, the message."""

_KILOBYTE = 1024


def enqueue_message(queue: Queue, message: Message, transaction: Transaction | None = None) -> int:
    """Enqueue Message: 0; 1 and 2 where a quota of the queue or the queue manager would be exceeded.

    [MS-MQDMPR] 3.1.7.1.9
    """
    manager = queue.queue_manager
    limited = manager.quota != INFINITE
    if manager.throttled or (limited and _exceeds(manager.total_bytes + message.size, manager.quota)):
        return 2
    if _exceeds(queue.total_bytes + message.size, queue.quota):
        return 1
    position = MessagePosition(message_reference=message, queue_reference=queue)
    message.message_position_reference = position
    message.arrival_time = manager.current_time
    manager.sequential_id += 1
    high = 7 - message.priority if message.transactional else 0
    message.lookup_identifier = high << 56 | manager.sequential_id & (1 << 56) - 1
    queue.message_position_list.insert(position)
    if message.time_to_be_received != INFINITE:
        message.time_to_be_received_timer = manager.timers.start(
            message.time_to_be_received * 1000, lambda: _timed_out(message)
        )
    if transaction is not None:
        position.state = PositionState.LOCKED
        transaction.transactional_operation_collection.append(
            TransactionalOperation(operation_type=OperationType.ENQUEUE, message_position_reference=position)
        )
    else:
        message_position_available(queue, position)
    return 0


def _exceeds(size: int, quota: int) -> bool:
    return quota != INFINITE and size > quota * _KILOBYTE


def _timed_out(message: Message) -> None:
    position = message.message_position_reference
    if position is not None and position.listed:
        time_to_be_received_timer_expired(message)


def time_to_be_received_timer_expired(message: Message) -> None:
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
    for subscriber in queue.queue_manager.position_deleted:
        subscriber(queue, position, reason)


def message_position_available(queue: Queue, position: MessagePosition) -> None:
    """Message Position Available: a message can be read; those who wait are served, in their order.

    One who receives ends it, those who peek let the next one in. [MS-MQDMPR] 3.1.7.2.2
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
            if reader.destructive_read or position.state is not PositionState.AVAILABLE:
                return


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

    Without time to wait the text gives Failed, for which no code is named; read as MQ_ERROR_IO_TIMEOUT.
    """
    queue = descriptor.queue_reference
    if queue is None or timeout <= 0:
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
        if reader.tag == tag:
            _stop_waiting(descriptor, reader)
            reader.stopped(status)
            return Status.MQ_OK
    return Status.STATUS_NOT_FOUND


def cancel_all_waiting(descriptor: OpenQueueDescriptor, cursor: Cursor | None = None) -> None:
    """Tell all who wait on a descriptor, or with a cursor, that they wait no more."""
    for reader in list(descriptor.waiting_message_read_operation_collection):
        if cursor is None or reader.cursor_reference is cursor:
            _stop_waiting(descriptor, reader)
            reader.stopped(Status.MQ_ERROR_OPERATION_CANCELLED)


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


def purge_queue(queue: Queue) -> None:
    """Purge Queue: messages that can be read go now, the others when they are let go.

    [MS-MQDMPR] 3.1.7.1.7
    """
    for position in queue.message_position_list:
        if position.state is PositionState.AVAILABLE:
            message_position_deleted(position, MessageClass.MQMSG_CLASS_NACK_Q_PURGED)
        else:
            position.state = PositionState.PURGE_PENDING


def dequeue_message(
    descriptor: OpenQueueDescriptor,
    done: Done,
    *,
    timeout: int = INFINITE,
    cursor: Cursor | None = None,
    transaction: Transaction | None = None,
    tag: int | None = None,
    two_phase_read: bool = False,
) -> None:
    """Dequeue Message: take the first message, or the one at the cursor; ``timeout`` in milliseconds.

    [MS-MQDMPR] 3.1.7.1.10
    """
    queue = descriptor.queue_reference
    if queue is None:
        done(Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None)
        return

    def take(position: MessagePosition) -> None:
        _take(position, transaction, two_phase_read)
        done(Status.MQ_OK, position.message_reference)

    def satisfied(position: MessagePosition) -> None:
        if cursor is not None:
            message_available(cursor, position)
        take(position)

    def stopped(status: int) -> None:
        if cursor is not None:
            wait_time_expired(cursor)
        done(status, None)

    position: MessagePosition | None
    if cursor is not None:
        found, position = get_next_message_for_dequeue(cursor, no_wait=timeout == 0)
        if found == "AlreadyReceived":
            done(Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED, None)
            return
        if found == "NotFound":
            done(Status.MQ_ERROR_MESSAGE_NOT_FOUND, None)
            return
    else:
        position = seek_available_message_position(queue, "start", peek_operation=False)
    if position is not None:
        take(position)
        return
    wait_for_new_message(
        descriptor,
        timeout,
        destructive_read=True,
        tag=tag,
        cursor=cursor,
        satisfied=satisfied,
        stopped=stopped,
    )


def _take(position: MessagePosition, transaction: Transaction | None, two_phase_read: bool) -> None:
    if transaction is not None:
        position.state = PositionState.LOCKED
        transaction.transactional_operation_collection.append(
            TransactionalOperation(
                operation_type=OperationType.DEQUEUE,
                message_position_reference=position,
                dequeue_reason=MessageClass.MQMSG_CLASS_ACK_RECEIVE,
            )
        )
    elif two_phase_read:
        position.state = PositionState.LOCKED
    else:
        message_position_deleted(position, MessageClass.MQMSG_CLASS_ACK_RECEIVE)


def dequeue_message_begin(
    descriptor: OpenQueueDescriptor,
    done: Done,
    *,
    timeout: int = INFINITE,
    cursor: Cursor | None = None,
    transaction: Transaction | None = None,
    tag: int | None = None,
) -> None:
    """Dequeue Message Begin: take a message that stays locked until it is ended. [MS-MQDMPR] 3.1.7.1.11"""
    dequeue_message(
        descriptor,
        done,
        timeout=timeout,
        cursor=cursor,
        transaction=transaction,
        tag=tag,
        two_phase_read=True,
    )


def dequeue_message_end(
    descriptor: OpenQueueDescriptor, message: Message, *, delete_message: bool, transactional: bool = False
) -> int:
    """Dequeue Message End: the message goes, or can be read again. [MS-MQDMPR] 3.1.7.1.12"""
    position = message.message_position_reference
    if descriptor.queue_reference is None:
        return Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
    if position is None or position.state is PositionState.AVAILABLE:
        return Status.MQ_ERROR_TRANSACTION_SEQUENCE
    if transactional:
        return Status.MQ_OK
    purged = position.state is PositionState.PURGE_PENDING
    if purged or delete_message:
        reason = MessageClass.MQMSG_CLASS_NACK_Q_PURGED if purged else MessageClass.MQMSG_CLASS_ACK_RECEIVE
        message_position_deleted(position, reason)
    else:
        message_position_available(descriptor.queue_reference, position)
    return Status.MQ_OK


def read_message_by_lookup_identifier(
    descriptor: OpenQueueDescriptor,
    lookup_id: int,
    lookup_operation: MessageSeekAction,
    *,
    peek_operation: bool,
    transaction: Transaction | None = None,
    two_phase_read: bool = False,
) -> tuple[int, Message | None]:
    """Read Message By Lookup Identifier: the status and, with MQ_OK, the message. [MS-MQDMPR] 3.1.7.1.13"""
    if descriptor.queue_reference is None:
        return Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None
    status, position = seek_available_message_position_with_id(
        descriptor.queue_reference, lookup_id, lookup_operation, peek_operation=peek_operation
    )
    if position is None:
        return status, None
    if not peek_operation:
        _take(position, transaction, two_phase_read)
    return Status.MQ_OK, position.message_reference


def peek_next_message(
    descriptor: OpenQueueDescriptor,
    cursor: Cursor,
    done: Done,
    *,
    timeout: int = INFINITE,
    tag: int | None = None,
) -> None:
    """Peek Next Message: read the message behind the cursor. [MS-MQDMPR] 3.1.7.1.14"""
    if descriptor.queue_reference is None:
        done(Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None)
        return
    found, position = get_next_message_for_peek(cursor)
    if found == "IllegalCursorAction":
        done(Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION, None)
    elif position is not None:
        done(Status.MQ_OK, position.message_reference)
    else:
        _wait_to_peek(descriptor, cursor, done, timeout, tag)


def peek_message(
    descriptor: OpenQueueDescriptor,
    done: Done,
    *,
    timeout: int = INFINITE,
    cursor: Cursor | None = None,
    tag: int | None = None,
) -> None:
    """Peek Message: read the first message, or the one at the cursor. [MS-MQDMPR] 3.1.7.1.15

    The text has no tag for who waits to peek, so that nobody could call it off; read as with receives.
    """
    queue = descriptor.queue_reference
    if queue is None:
        done(Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None)
        return
    position: MessagePosition | None
    if cursor is not None:
        found, position = get_message_for_peek(cursor)
        if found == "AlreadyReceived":
            done(Status.MQ_ERROR_MESSAGE_ALREADY_RECEIVED, None)
            return
    else:
        position = seek_available_message_position(queue, "start", peek_operation=True)
    if position is not None:
        done(Status.MQ_OK, position.message_reference)
    else:
        _wait_to_peek(descriptor, cursor, done, timeout, tag)


def _wait_to_peek(
    descriptor: OpenQueueDescriptor, cursor: Cursor | None, done: Done, timeout: int, tag: int | None
) -> None:
    def satisfied(position: MessagePosition) -> None:
        if cursor is not None:
            message_available(cursor, position)
        done(Status.MQ_OK, position.message_reference)

    def stopped(status: int) -> None:
        if cursor is not None:
            wait_time_expired(cursor)
        done(status, None)

    wait_for_new_message(
        descriptor,
        timeout,
        destructive_read=False,
        tag=tag,
        cursor=cursor,
        satisfied=satisfied,
        stopped=stopped,
    )


def move_message(
    position: MessagePosition, target_queue: Queue, transaction: Transaction | None = None
) -> None:
    """Move Message: into another queue, now or when the transaction commits. [MS-MQDMPR] 3.1.7.1.16"""
    if transaction is not None:
        position.state = PositionState.LOCKED
        transaction.transactional_operation_collection.append(
            TransactionalOperation(
                operation_type=OperationType.MOVE,
                message_position_reference=position,
                target_queue_reference=target_queue,
            )
        )
        return
    place_in(position, target_queue)


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
    if target_queue.queue_type is QueueType.SYSTEM:
        target_queue.total_bytes += message.size
        new.counted = True
    else:
        message_position_available(target_queue, new)
