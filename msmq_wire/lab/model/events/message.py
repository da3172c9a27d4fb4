"""Events about the messages of a queue: peek, dequeue, move; with those that put them there and wake readers.

The rule kept here: an event takes the branches of its section, in its order. Where a section waits, what
comes of it is told to ``done``, now or later; it is told once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msmq_wire.lab.model.data.elements import (
    Cursor,
    MessagePosition,
    ModelMessage,
    OpenQueueDescriptor,
    Queue,
    Transaction,
    TransactionalOperation,
)
from msmq_wire.lab.model.data.enumerations import (
    CursorState,
    MessageSeekAction,
    ModelQueueType,
    OperationType,
    PositionState,
)
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.lab.model.events.cursor import (
    get_message_for_peek,
    get_next_message_for_dequeue,
    get_next_message_for_peek,
    message_available,
    wait_refused,
    wait_time_expired,
)
from msmq_wire.lab.model.events.position import (
    message_position_available,
    message_position_deleted,
    place_in,
    wait_for_new_message,
)
from msmq_wire.lab.model.events.seeking import (
    seek_available_message_position,
    seek_available_message_position_with_id,
)
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.enumerations import MessageClass

Done: TypeAlias = Callable[[int, ModelMessage | None], None]
"""Takes the status and, with MQ_OK, the message."""


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
        if _ended(transaction, queue):
            if cursor is not None:
                wait_refused(cursor)
            done(Status.MQ_ERROR_TRANSACTION_SEQUENCE, None)
            return
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


def _ended(transaction: Transaction | None, queue: Queue) -> bool:
    """Whether a transaction is over: what would be received in it would never be decided."""
    if transaction is None or not transaction.identifier:
        return False
    return queue.queue_manager.transaction_collection.get(transaction.identifier) is not transaction


def _take(position: MessagePosition, transaction: Transaction | None, two_phase_read: bool) -> None:
    # A transaction without an identifier is none.
    if transaction is not None and transaction.identifier:
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
    descriptor: OpenQueueDescriptor,
    message: ModelMessage,
    *,
    delete_message: bool,
    transactional: bool = False,
) -> int:
    """Dequeue Message End: the message goes, or can be read again. [MS-MQDMPR] 3.1.7.1.12"""
    position = message.message_position_reference
    if descriptor.queue_reference is None:
        return Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
    # A message that is gone is held as little as one that can be read.
    if position is None or position.state in (PositionState.AVAILABLE, PositionState.DELETED):
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
) -> tuple[int, ModelMessage | None]:
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
    cursor: Cursor | None,
    done: Done,
    *,
    timeout: int = INFINITE,
    tag: int | None = None,
) -> None:
    """Peek Next Message: read the message behind the cursor. [MS-MQDMPR] 3.1.7.1.14"""
    if descriptor.queue_reference is None:
        done(Status.MQ_ERROR_QUEUE_NOT_AVAILABLE, None)
        return
    if cursor is None:
        done(Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION, None)
        return
    found, position = get_next_message_for_peek(cursor)
    if found == "IllegalCursorAction":
        done(Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION, None)
    elif position is not None:
        done(Status.MQ_OK, position.message_reference)
    else:
        _wait_to_peek(descriptor, cursor, CursorState.READ, done, timeout, tag)


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
        _wait_to_peek(descriptor, cursor, CursorState.UNREAD, done, timeout, tag)


def _wait_to_peek(
    descriptor: OpenQueueDescriptor,
    cursor: Cursor | None,
    before: CursorState,
    done: Done,
    timeout: int,
    tag: int | None,
) -> None:
    """Wait, with a cursor that goes back to its state ``before`` when nothing comes."""

    def satisfied(position: MessagePosition) -> None:
        if cursor is not None:
            message_available(cursor, position)
        done(Status.MQ_OK, position.message_reference)

    def stopped(status: int) -> None:
        if cursor is not None:
            wait_time_expired(cursor, before)
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
    """Move Message: into another queue, now or when the transaction commits. [MS-MQDMPR] 3.1.7.1.16

    The text forbids to move into a system queue within a transaction; read as: nothing happens.
    """
    if transaction is not None and target_queue.queue_type is ModelQueueType.SYSTEM:
        return
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
