"""Receives that a client has begun and not yet ended: `PendingRequestTable`. [MS-MQRR] 3.1.1.2, 3.1.1.3

The rule kept here: an entry that goes, however it goes, takes its timer with it, and the message that it held
is either gone or can be read again.
"""

from __future__ import annotations

import msgspec

from msmq_wire.lab.model.data.elements import (
    MessagePosition,
    ModelQueueManager,
    OpenQueueDescriptor,
    Transaction,
)
from msmq_wire.lab.model.data.enumerations import OperationType, PositionState
from msmq_wire.lab.model.data.timers import Timer
from msmq_wire.lab.model.events.message import dequeue_message_end
from msmq_wire.rpc.statuses import Status

CLEANUP_TIMEOUT = 300_000
"""Pending Request Cleanup Timer, in milliseconds. [MS-MQRR] 3.1.2.2"""


class QueueContext(msgspec.Struct, eq=False, kw_only=True):
    """What a queue context handle of this interface stands for. [MS-MQRR] 2.2.4

    ``waiting_peeks`` are the request identifiers of peeks that wait: they have no entry in the table.
    """

    descriptor: OpenQueueDescriptor
    waiting_peeks: set[int] = set()


class PendingRequestEntry(msgspec.Struct, eq=False, kw_only=True):
    """A receive that was begun. [MS-MQRR] 3.1.1.2

    ``time_stamp`` is in milliseconds and wraps at 32 bits. ``transactional`` says that it came by
    R_StartTransactionalReceive, ``transaction`` is None where that had none. ``waiting`` holds until the call
    is answered.
    """

    request_id: int
    queue_context_handle: QueueContext
    time_stamp: int
    lookup_identifier: int = 0
    transactional: bool = False
    transaction: Transaction | None = None
    waiting: bool = True
    timer: Timer | None = None


class PendingRequestTable:
    """Entries by queue context handle and request identifier. [MS-MQRR] 3.1.1.3

    Each has a Pending Request Cleanup Timer of ``cleanup_timeout`` milliseconds; it counts from the answer
    of the call. One that was ended while it waited has it, too: nobody else could let go of its message.
    """

    def __init__(self, manager: ModelQueueManager, cleanup_timeout: int = CLEANUP_TIMEOUT) -> None:
        self._manager = manager
        self._cleanup_timeout = cleanup_timeout
        self._entries: dict[QueueContext, dict[int, PendingRequestEntry]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def has(self, context: QueueContext) -> bool:
        """Whether a handle has entries."""
        return context in self._entries

    def find(self, context: QueueContext, request_id: int) -> PendingRequestEntry | None:
        """The entry of a request of a handle."""
        return self._entries.get(context, {}).get(request_id)

    def add(
        self,
        context: QueueContext,
        request_id: int,
        *,
        transactional: bool = False,
        transaction: Transaction | None = None,
    ) -> PendingRequestEntry:
        """Make an entry and start its timer."""
        entry = PendingRequestEntry(
            request_id=request_id,
            queue_context_handle=context,
            time_stamp=self._manager.timers.now & 0xFFFF_FFFF,
            transactional=transactional,
            transaction=transaction,
        )
        self._entries.setdefault(context, {})[request_id] = entry
        self._start_timer(entry)
        return entry

    def hold(self, entry: PendingRequestEntry) -> None:
        """The call waits: nothing is to be cleaned up meanwhile."""
        if entry.waiting and entry.timer is not None:
            entry.timer.cancel()

    def answered(self, entry: PendingRequestEntry, lookup_identifier: int) -> None:
        """The call is answered with a message: the time in which it must be ended begins."""
        entry.waiting = False
        entry.lookup_identifier = lookup_identifier
        self._start_timer(entry)

    def remove(self, entry: PendingRequestEntry) -> None:
        """Take an entry out and stop its timer; what it holds stays as it is."""
        if entry.timer is not None:
            entry.timer.cancel()
        context = entry.queue_context_handle
        of_handle = self._entries.get(context, {})
        if of_handle.get(entry.request_id) is entry:
            del of_handle[entry.request_id]
            if not of_handle:
                del self._entries[context]

    def end(self, entry: PendingRequestEntry, *, delete_message: bool) -> int:
        """Dequeue Message End for the message of an entry that was removed: its status.

        [MS-MQRR] 3.1.4.9, 3.1.4.15. Within a transaction the message of an acknowledged receive stays locked
        until the transaction ends; one that is not acknowledged can be read again and leaves the transaction.
        Where the transaction has ended before, the lock was lost: somebody else may hold the message now.
        """
        descriptor = entry.queue_context_handle.descriptor
        if descriptor.queue_reference is None:
            return Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
        position = descriptor.queue_reference.message_position_list.find(entry.lookup_identifier)
        if position is None:
            return Status.MQ_ERROR_MESSAGE_NOT_FOUND
        if position.state is PositionState.AVAILABLE or not self._holds(entry):
            return Status.MQ_ERROR_TRANSACTION_SEQUENCE
        transactional = entry.transaction is not None and delete_message
        if not transactional:
            _forget_operation(entry, position)
        return dequeue_message_end(
            descriptor, position.message_reference, delete_message=delete_message, transactional=transactional
        )

    def release(self, context: QueueContext) -> None:
        """Remove the entries of a handle; their messages can be read again. [MS-MQRR] 3.1.6.2"""
        for entry in list(self._entries.get(context, {}).values()):
            self._let_go(entry)

    def _let_go(self, entry: PendingRequestEntry) -> None:
        self.remove(entry)
        if not entry.waiting:
            self.end(entry, delete_message=False)

    def _holds(self, entry: PendingRequestEntry) -> bool:
        transaction = entry.transaction
        return (
            transaction is None
            or self._manager.transaction_collection.get(transaction.identifier) is transaction
        )

    def _start_timer(self, entry: PendingRequestEntry) -> None:
        if entry.timer is not None:
            entry.timer.cancel()
        # Pending Request Cleanup Timer Event, [MS-MQRR] 3.1.5.1.
        entry.timer = self._manager.timers.start(self._cleanup_timeout, lambda: self._let_go(entry))


def _forget_operation(entry: PendingRequestEntry, position: MessagePosition) -> None:
    """Take the receive out of its transaction, whose commit would delete a message that others may have."""
    if entry.transaction is None:
        return
    operations = entry.transaction.transactional_operation_collection
    for index in range(len(operations) - 1, -1, -1):
        operation = operations[index]
        if (
            operation.operation_type is OperationType.DEQUEUE
            and operation.message_position_reference is position
        ):
            del operations[index]
            return
