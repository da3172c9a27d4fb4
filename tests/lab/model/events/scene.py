"""Open queues, answers and what is told, for tests of the shared events."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msmq_wire.lab.model.data.elements import (
    ModelMessage,
    ModelQueueManager,
    OpenQueueDescriptor,
    Queue,
    Transaction,
    WaitingMessageReadOperation,
)
from msmq_wire.lab.model.data.enumerations import (
    CursorState,
    MessageSeekAction,
    QueueAccessType,
    QueueShareMode,
)
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.events.message import (
    dequeue_message,
    dequeue_message_end,
    read_message_by_lookup_identifier,
)
from msmq_wire.lab.model.events.position import cancel_waiting_message_read_request
from msmq_wire.lab.model.events.transaction import create_transaction
from msmq_wire.rpc.statuses import Status
from tests.lab.model.scene import Scene, format_name, make_queue, open_descriptor, position


class Told:
    """What events told: ``got`` the statuses and labels in their order."""

    def __init__(self) -> None:
        self.got: list[tuple[int, str | None]] = []

    def __call__(self, status: int, message: ModelMessage | None) -> None:
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


def opened(
    queue: Queue,
    access: QueueAccessType = QueueAccessType.RECEIVE_ACCESS,
    mode: QueueShareMode = QueueShareMode.DENY_NONE,
) -> OpenQueueDescriptor:
    """An opening of a queue."""
    return open_descriptor(queue.queue_manager, format_name(queue), access, mode)


def reasons(manager: ModelQueueManager) -> list[int]:
    """Why messages leave their queues from now on."""
    reported: list[int] = []
    manager.position_deleted.append(lambda queue, position, reason: reported.append(reason))
    return reported


def transaction(manager: ModelQueueManager, identifier: bytes = b"x" * 16) -> Transaction:
    """A transaction that was begun."""
    return create_transaction(manager, identifier)


class Place(Scene):
    """A queue, opened, with a cursor; ``reported`` is what a reader was told."""

    def __init__(self, *bodies: bytes) -> None:
        super().__init__(*bodies)
        self.reported = Told()
        self.slots = [position(message) for message in self.messages]
        self.descriptor = self.opened()
        cursor = open_cursor(self.descriptor)
        assert cursor is not None
        self.cursor = cursor

    @cached_property
    def other(self) -> Queue:
        """A second queue."""
        return make_queue(self.manager, "other")

    @cached_property
    def unit(self) -> Transaction:
        """A transaction that was begun."""
        return transaction(self.manager)

    @property
    def gone(self) -> list[int]:
        """Why messages left."""
        return [reason for _, reason in self.deleted]

    @property
    def standing(self) -> tuple[CursorState, Any]:
        """The state of the cursor and where it stands."""
        return self.cursor.cursor_state, self.cursor.message_position_reference

    def stand(self, state: CursorState, at: int | None) -> None:
        """Put the cursor on a slot or before all of them."""
        self.cursor.cursor_state = state
        self.cursor.message_position_reference = "start" if at is None else self.slots[at]

    @property
    def waiting(self) -> list[WaitingMessageReadOperation]:
        """Who waits at the opening."""
        return self.descriptor.waiting_message_read_operation_collection

    def cancel(self, tag: int, status: int = Status.MQ_ERROR_OPERATION_CANCELLED) -> int:
        """Call off a wait."""
        return cancel_waiting_message_read_request(self.descriptor, tag, status)

    def end(self, message: ModelMessage, *, delete: bool = True, transactional: bool = False) -> int:
        """End a receive that has begun."""
        return dequeue_message_end(
            self.descriptor, message, delete_message=delete, transactional=transactional
        )

    def look_up(self, lookup_identifier: int, *, peek: bool, **how: Any) -> tuple[int, ModelMessage | None]:
        """Read the message of a lookup identifier."""
        current = MessageSeekAction.SEEK_CURRENT
        return read_message_by_lookup_identifier(
            self.descriptor, lookup_identifier, current, peek_operation=peek, **how
        )

    def dequeue(self, **how: Any) -> Told:
        """What is told about a receive."""
        reported = Told()
        dequeue_message(self.descriptor, reported, **how)
        return reported


def operations(transaction: Transaction) -> list[tuple[Any, ...]]:
    """What a transaction will do: kind, label, reason."""
    return [
        (one.operation_type.value, one.message_position_reference.message_reference.label, one.dequeue_reason)
        for one in transaction.transactional_operation_collection
    ]
