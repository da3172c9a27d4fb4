"""The queue manager of a lab: queues in memory, bounded as a whole, and a log of what comes and goes.

The rule kept here: what clients can make (messages, subqueues, queues) is counted with what it costs here,
and not only with the bytes that the wire had.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from typing import TypeVar

from msmq_wire.errors import MsmqWireError
from msmq_wire.lab.log import LabLog
from msmq_wire.lab.model.data.elements import MessagePosition, ModelQueueManager, OutgoingQueue, Queue
from msmq_wire.lab.model.data.enumerations import ModelQueueType
from msmq_wire.lab.model.data.position_list import MessagePositionList
from msmq_wire.lab.model.data.timers import Timers
from msmq_wire.lab.model.events.queue import create_queue, queue_key
from msmq_wire.lab.model.interface_server import ClientAssociation
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_MESSAGE_COST = 1600
"""Bytes that a message takes besides its packet and body."""
_MOST_QUEUES = 256
_JOURNAL_QUOTA = 8192
_MOST_CURSORS = 65_536
_MOST_TRANSACTIONS = 10_000
_SWEEP = 5_000
_COLLECTED = 8 << 20


class _ObservedPositions(MessagePositionList[MessagePosition]):
    """The slots of a queue; ``arrived`` is told of new ones."""

    def __init__(self, arrived: Callable[[MessagePosition], None]) -> None:
        super().__init__()
        self._arrived = arrived

    def insert(self, position: MessagePosition) -> None:
        """Put a new slot behind all of its message's priority."""
        super().insert(position)
        self._arrived(position)


_Q = TypeVar("_Q", bound=Queue)


class _Queues(dict[str, _Q]):
    """Queues of a queue manager; ``arrived`` is told of the messages that come into them."""

    def __init__(self, arrived: Callable[[MessagePosition], None]) -> None:
        super().__init__()
        self._arrived = arrived

    def __setitem__(self, key: str, queue: _Q) -> None:
        # A queue is empty when it is made.
        queue.message_position_list = _ObservedPositions(self._arrived)
        super().__setitem__(key, queue)


class LabQueueManager(ModelQueueManager, eq=False, kw_only=True):
    """A queue manager whose ``quota`` bounds memory: messages count with their cost, in whatever queue."""

    removed_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """What the messages of all queues, journals and subqueues take here."""
        return sum(
            2 * queue.total_bytes + _MESSAGE_COST * len(queue.message_position_list)
            for queue in self.all_queues
        )

    @property
    def all_queues(self) -> Iterator[Queue]:
        """Every queue with its subqueues and its journal, and the outgoing queues."""
        yield from self.outgoing_queue_collection.values()
        for queue in self.queue_collection.values():
            yield queue
            yield from queue.subqueue_collection
            if queue.journal_queue_reference is not None:
                yield queue.journal_queue_reference

    def add_queue(self, name: str, *, transactional: bool = False, identifier: GUID = NULL_GUID) -> Queue:
        """Make a queue, named as ``private$\\orders``, or ``orders`` for a public one, with its identifier.

        Raises `MsmqWireError` for what is no such name.
        """
        queue = Queue(
            queue_manager=self,
            pathname=f"{self.computer_name}\\{name}",
            identifier=identifier,
            transactional=transactional,
            journal_quota=_JOURNAL_QUOTA,
        )
        status = create_queue(self, queue)
        if status == Status.MQ_ERROR_QUEUE_EXISTS:
            raise MsmqWireError(f"the queue {name} is there twice")
        if status != Status.MQ_OK:
            raise MsmqWireError(f"{name} is no name of a queue: write it as private$\\orders")
        return queue

    def permits(self, association: ClientAssociation, action: str, queue: Queue | None) -> bool:
        """Whether a client of qmcomm may do something: all, but make queues and outgoing ones without end."""
        if action == "open" and queue is None:
            return len(self.outgoing_queue_collection) < _MOST_QUEUES
        return action != "create" or len(self.queue_collection) < _MOST_QUEUES

    def has_room_for_cursor(self) -> bool:
        """Whether one more cursor may be made, of any queue by any client."""
        descriptors = (one for queue in self.all_queues for one in queue.open_queue_descriptor_collection)
        return sum(len(one.cursor_collection) for one in descriptors) < _MOST_CURSORS

    def has_room_for_transaction(self) -> bool:
        """Whether one more transaction may be enlisted."""
        return len(self.transaction_collection) < _MOST_TRANSACTIONS

    def removed(self, size: int) -> None:
        """A message is gone; free the memory of those that are gone once they are large enough.

        A message and its slot name each other, so that they stay until Python looks for such circles; and it
        looks when there are many objects, whatever their size.
        """
        self.removed_bytes += size
        if self.removed_bytes > _COLLECTED:
            self.removed_bytes = 0
            self.timers.start(1, _collect)

    def sweep(self) -> None:
        """Forget subqueues and outgoing queues that hold nothing and are not open, now and then again."""
        operations = (
            one
            for transaction in self.transaction_collection.values()
            for one in transaction.transactional_operation_collection
        )
        needed = {id(one.target_queue_reference) for one in operations}
        outgoing = self.outgoing_queue_collection
        for key in [
            key for key, one in outgoing.items() if not (one.active or len(one.message_position_list))
        ]:
            del outgoing[key]
        for queue in self.queue_collection.values():
            if queue.subqueue_collection:
                queue.subqueue_collection = [
                    one
                    for one in queue.subqueue_collection
                    if one.active or len(one.message_position_list) or id(one) in needed
                ]
        self.timers.start(_SWEEP, self.sweep)


def new_queue_manager(
    computer_name: str, identifier: GUID, timers: Timers, time_offset: int, quota: int, log: LabLog
) -> LabQueueManager:
    """A queue manager without queues but those of the system; ``quota`` in kilobytes.

    Its messages are logged as they come (``message-in``) and go (``message-out``).
    """

    def arrived(position: MessagePosition) -> None:
        message, queue = position.message_reference, position.queue_reference
        log.say(
            "message-in",
            queue=_shown(queue),
            id=_identifier(message.identifier),
            delivery=_delivery(message.transactional, message.recoverable),
            lookup_id=message.lookup_identifier,
            bytes=message.size,
        )

    def deleted(queue: Queue, position: MessagePosition, reason: int) -> None:
        message = position.message_reference
        manager.removed(message.size)
        log.say(
            "message-out",
            queue=_shown(queue),
            id=_identifier(message.identifier),
            lookup_id=message.lookup_identifier,
            reason=_reason(reason),
        )

    manager = LabQueueManager(
        identifier=identifier,
        computer_name=computer_name,
        timers=timers,
        time_offset=time_offset,
        randomness=random.Random(str(identifier)),
        quota=quota,
        queue_collection=_Queues(arrived),
        outgoing_queue_collection=_Queues(arrived),
    )
    manager.position_deleted.append(deleted)
    manager.system_journal_queue = _system_queue(manager, "JOURNAL")
    manager.system_deadletter_queue = _system_queue(manager, "DEADLETTER")
    manager.system_transactional_deadletter_queue = _system_queue(manager, "DEADXACT")
    manager.sweep()
    return manager


def _collect() -> None:
    gc.collect()


def _system_queue(manager: ModelQueueManager, name: str) -> Queue:
    return Queue(
        queue_manager=manager,
        pathname=f"{manager.computer_name}\\system$;{name}",
        queue_type=ModelQueueType.SYSTEM,
        quota=_JOURNAL_QUOTA,
    )


def _shown(queue: Queue) -> str:
    """A queue as it is logged."""
    return queue.pathname if isinstance(queue, OutgoingQueue) else queue_key(queue.pathname)


def _identifier(identifier: bytes) -> str:
    """An identifier as it is shown: the queue manager that sent the message, and its number there."""
    return f"{GUID(identifier[:16])}\\{int.from_bytes(identifier[16:20], 'little')}"


def _delivery(transactional: bool, recoverable: bool) -> str:
    if transactional:
        return "transactional"
    return "recoverable" if recoverable else "express"


def _reason(reason: int) -> str:
    try:
        return MessageClass(reason).name
    except ValueError:
        return f"{reason:#06x}"
