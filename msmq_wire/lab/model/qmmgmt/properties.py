"""The values of management properties: attributes of the queue manager and of its queues. [MS-MQMR] 3.1.4.1

The rule kept here: one entry a property, in the order of the tables; None is what the model has no value for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msmq_wire.lab.model.data.elements import OutgoingQueue, OutgoingTransferInfo, Queue, QueueManager
from msmq_wire.lab.model.data.enumerations import OutgoingQueueState, PositionState, QueueType
from msmq_wire.lab.model.data.queue_properties import qualified_pathname
from msmq_wire.rpc.management import ManagementValue

_TYPES = {
    QueueType.PUBLIC: "PUBLIC",
    QueueType.PRIVATE: "PRIVATE",
    QueueType.SYSTEM: "MACHINE",
    QueueType.CONNECTOR: "CONNECTOR",
}
_STATES = {
    OutgoingQueueState.CONNECTED: "CONNECTED",
    OutgoingQueueState.DISCONNECTED: "DISCONNECTED",
    OutgoingQueueState.DISCONNECTING: "DISCONNECTING",
    OutgoingQueueState.INACTIVE: "INACTIVE",
    OutgoingQueueState.LOCKED: "LOCKED",
    OutgoingQueueState.NEED_VALIDATION: "NEED VALIDATION",
    OutgoingQueueState.WAITING: "WAITING",
    OutgoingQueueState.ON_HOLD: "ONHOLD",
}


def _active_queues(manager: QueueManager) -> tuple[str, ...]:
    collections = (manager.queue_collection, manager.outgoing_queue_collection)
    return tuple(_format_name(one) for each in collections for one in each.values() if one.active)


def _private_queues(manager: QueueManager) -> tuple[str, ...]:
    queues = manager.queue_collection.values()
    return tuple(one.pathname for one in queues if one.queue_type is QueueType.PRIVATE)


def _directory_server(manager: QueueManager) -> str | None:
    if not manager.directory_integrated or not manager.directory_server_list:
        return None
    return "\\\\" + manager.directory_server_list[0]


def _format_name(queue: Queue) -> str:
    """The format name of a queue: QualifiedPathname of the text is a path name, and the property is none."""
    if isinstance(queue, OutgoingQueue):
        return queue.destination_format_name
    return f"DIRECT=OS:{qualified_pathname(queue)}"


def _queue_type(queue: Queue) -> str:
    if isinstance(queue, OutgoingQueue) and queue.multicast:
        return "MULTICAST"
    return _TYPES[queue.queue_type]


def _foreign(queue: Queue) -> str:
    manager = queue.queue_manager
    if manager.directory_offline:
        return "NO" if queue.queue_type is QueueType.PRIVATE else "UNKNOWN"
    return "YES" if manager.foreign_system else "NO"


def _count(queue: Queue | None) -> int:
    if queue is None:
        return 0
    return sum(one.state is not PositionState.DELETED for one in queue.message_position_list)


def _journal_bytes(queue: Queue) -> int:
    journal = queue.journal_queue_reference
    return journal.total_bytes if queue.journaling and journal is not None else 0


def _state(queue: Queue) -> str:
    return _STATES[queue.state] if isinstance(queue, OutgoingQueue) else "LOCAL CONNECTION"


def _next_hops(queue: Queue) -> tuple[str, ...] | None:
    if not isinstance(queue, OutgoingQueue):
        return None
    if queue.state is OutgoingQueueState.CONNECTED and queue.multicast:
        return (queue.destination_format_name,)
    if queue.state in (OutgoingQueueState.CONNECTED, OutgoingQueueState.WAITING):
        return queue.next_hops
    return None


def _transfer(read: Callable[[OutgoingTransferInfo], Any]) -> Callable[[Queue], Any]:
    def value(queue: Queue) -> Any:
        return read(queue.outgoing_transfer_info_reference) if isinstance(queue, OutgoingQueue) else None

    return value


MACHINE: Final[Mapping[int, Callable[[QueueManager], ManagementValue | None]]] = {
    1: _active_queues,
    2: _private_queues,
    3: _directory_server,
    4: lambda manager: "CONNECTED" if manager.connection_active else "DISCONNECTED",
    5: lambda _: "",
    6: lambda manager: sum(queue.total_bytes for queue in manager.queue_collection.values()),
}
"""PROPID_MGMT_MSMQ_* -> its value."""
QUEUE: Final[Mapping[int, Callable[[Queue], ManagementValue | None]]] = {
    1: lambda queue: queue.pathname,
    2: _format_name,
    3: _queue_type,
    4: lambda queue: "REMOTE" if isinstance(queue, OutgoingQueue) else "LOCAL",
    5: lambda queue: "YES" if queue.transactional else "NO",
    6: _foreign,
    7: _count,
    8: lambda queue: queue.total_bytes,
    9: lambda queue: _count(queue.journal_queue_reference),
    10: _journal_bytes,
    11: _state,
    12: _next_hops,
    13: _transfer(lambda info: info.eod_last_ack if info.eod_no_ack_count else None),
    14: _transfer(lambda info: info.eod_last_ack_time),
    15: _transfer(lambda info: info.eod_last_ack_count),
    16: _transfer(lambda info: info.eod_first_non_ack),
    17: _transfer(lambda info: info.eod_last_non_ack),
    18: _transfer(lambda info: info.eod_next_seq),
    19: _transfer(lambda info: info.eod_no_read_count),
    20: _transfer(lambda info: info.eod_no_ack_count),
    21: _transfer(lambda info: info.eod_resend_time),
    22: _transfer(lambda info: info.eod_resend_interval),
    23: _transfer(lambda info: info.eod_resend_count),
    24: lambda queue: queue.incoming_transactional_transfer_info_collection,
    25: lambda queue: queue.connection_history if isinstance(queue, OutgoingQueue) else None,
    26: lambda queue: len(queue.subqueue_collection),
    27: lambda queue: tuple(one.pathname.rpartition(";")[2] for one in queue.subqueue_collection),
}
"""PROPID_MGMT_QUEUE_* -> its value."""
