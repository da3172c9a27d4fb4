"""Open queues, answers and what is told, for tests of the shared events."""

from __future__ import annotations

from typing import Any

from msmq_wire.model.data.elements import Message, OpenQueueDescriptor, Queue, QueueManager, Transaction
from msmq_wire.model.data.enumerations import QueueAccessType
from msmq_wire.model.events.queue import open_queue
from msmq_wire.model.events.transaction import create_transaction
from msmq_wire.rpc.statuses import Status
from tests.model.scene import format_name


class Told:
    """What events told: ``got`` the statuses and labels in their order."""

    def __init__(self) -> None:
        self.got: list[tuple[int, str | None]] = []

    def __call__(self, status: int, message: Message | None) -> None:
        self.got.append((status, None if message is None else message.label))

    @property
    def status(self) -> int:
        """The status of the only answer."""
        ((status, _),) = self.got
        return status

    @property
    def label(self) -> str | None:
        """The label of the message of the only answer."""
        ((_, label),) = self.got
        return label


def opened(queue: Queue, access: QueueAccessType = QueueAccessType.RECEIVE_ACCESS) -> OpenQueueDescriptor:
    """An opening of a queue."""
    status, descriptor = open_queue(queue.queue_manager, format_name(queue), access)
    assert status == Status.MQ_OK
    assert descriptor is not None
    return descriptor


def reasons(manager: QueueManager) -> list[int]:
    """Why messages leave their queues from now on."""
    told: list[int] = []
    manager.position_deleted.append(lambda queue, position, reason: told.append(reason))
    return told


def transaction(manager: QueueManager, identifier: bytes = b"x" * 16) -> Transaction:
    """A transaction that was begun."""
    return create_transaction(manager, identifier)


def operations(transaction: Transaction) -> list[tuple[Any, ...]]:
    """What a transaction will do: kind, label, reason."""
    return [
        (
            one.operation_type.value,
            one.message_position_reference.message_reference.label,
            one.dequeue_reason,
        )
        for one in transaction.transactional_operation_collection
    ]
