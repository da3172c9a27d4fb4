"""Events about transactions: create, prepare, commit and abort. [MS-MQDMPR] 3.1.4.3 to 3.1.4.5, 3.1.7.1.8"""

from __future__ import annotations

import msgspec

from msmq_wire.engines.codec import encode, inspect
from msmq_wire.lab.model.data.elements import ModelMessage, ModelQueueManager, Transaction
from msmq_wire.lab.model.data.enumerations import OperationType, PositionState
from msmq_wire.lab.model.events.position import message_position_available, message_position_deleted, place_in
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.enumerations import MessageClass


def create_transaction(manager: ModelQueueManager, identifier: bytes) -> Transaction:
    """Create Transaction. [MS-MQDMPR] 3.1.7.1.8"""
    transaction = Transaction(identifier=identifier)
    manager.transaction_collection[identifier] = transaction
    return transaction


def transaction_prepare(manager: ModelQueueManager, identifier: bytes, *, single_phase: bool = True) -> int:
    """Transaction Prepare. [MS-MQDMPR] 3.1.4.3

    A message is first or last among those that the transaction sends ([MS-MQMQ] 2.2.20.5). The text counts
    those that it receives, too.
    """
    transaction = manager.transaction_collection.get(identifier)
    if transaction is None:
        return Status.MQ_ERROR_TRANSACTION_SEQUENCE
    transaction.single_phase = single_phase
    sent = [
        operation.message_position_reference.message_reference
        for operation in transaction.transactional_operation_collection
        if operation.operation_type is OperationType.ENQUEUE
    ]
    if sent:
        _mark(sent[0], "fm", "first_in_transaction")
        _mark(sent[-1], "lm", "last_in_transaction")
    return Status.MQ_OK


def _mark(message: ModelMessage, bit: str, attribute: str) -> None:
    """FirstInTransaction or LastInTransaction, in the properties and in the packet that was sent with it."""
    if isinstance(message.properties, MessageProperties):
        message.properties = msgspec.structs.replace(message.properties, **{attribute: True})
    found = inspect(message.packet, as_="user_message") if message.packet and not message.srmp else None
    if found is None or found.error is not None or not isinstance(found.packet, UserMessage):
        return
    header = found.packet.transaction_header
    if header is not None:
        message.packet = encode(
            msgspec.structs.replace(found.packet, transaction_header=header.with_bits(**{bit: 1}))
        )


def transaction_commit(manager: ModelQueueManager, identifier: bytes) -> int:
    """Transaction Commit: all of its operations happen, in their order. [MS-MQDMPR] 3.1.4.4"""
    transaction = manager.transaction_collection.pop(identifier, None)
    if transaction is None:
        return Status.MQ_ERROR_TRANSACTION_SEQUENCE
    for operation in transaction.transactional_operation_collection:
        position = operation.message_position_reference
        if not position.listed:
            # Its queue was deleted, or it expired, and who listens was told so.
            continue
        if operation.settled is not None:
            operation.settled(True)
        match operation.operation_type:
            case OperationType.ENQUEUE:
                message_position_available(position.queue_reference, position)
            case OperationType.DEQUEUE:
                reason = operation.dequeue_reason
                message_position_deleted(
                    position, MessageClass.MQMSG_CLASS_ACK_RECEIVE if reason is None else reason
                )
            case OperationType.MOVE:
                assert operation.target_queue_reference is not None
                place_in(position, operation.target_queue_reference)
    transaction.transactional_operation_collection.clear()
    return Status.MQ_OK


def transaction_abort(manager: ModelQueueManager, identifier: bytes) -> int:
    """Transaction Abort: none of its operations happen. [MS-MQDMPR] 3.1.4.5

    A message that was to be enqueued leaves without anybody being told.
    """
    transaction = manager.transaction_collection.pop(identifier, None)
    if transaction is None:
        return Status.MQ_ERROR_TRANSACTION_SEQUENCE
    for operation in transaction.transactional_operation_collection:
        position = operation.message_position_reference
        queue = position.queue_reference
        if operation.settled is not None:
            operation.settled(False)
        if operation.operation_type is OperationType.ENQUEUE:
            position.state = PositionState.DELETED
            queue.message_position_list.remove(position)
            timer = position.message_reference.time_to_be_received_timer
            if timer is not None:
                timer.cancel()
        elif position.state is PositionState.PURGE_PENDING:
            message_position_deleted(position, MessageClass.MQMSG_CLASS_NACK_Q_PURGED)
        elif position.listed:
            message_position_available(queue, position)
    transaction.transactional_operation_collection.clear()
    return Status.MQ_OK
