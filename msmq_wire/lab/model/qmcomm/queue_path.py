"""Path names of queues: which computer they name, which queue, and Get Queue Path. [MS-MQDMPR] 3.1.7.1.26"""

from __future__ import annotations

import msgspec

from msmq_wire.lab.model.data.elements import ModelQueueManager, Queue
from msmq_wire.lab.model.data.enumerations import ModelQueueType
from msmq_wire.lab.model.events.queue import queue_key
from msmq_wire.lab.model.qmcomm.environment import QueueDirectory
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.names import FormatName, PathName, QueueFormatType, QueueSuffixType
from msmq_wire.wire.names.grammar import suffix_text
from msmq_wire.wire.types.guid import GUID


class QueuePath(msgspec.Struct, frozen=True, kw_only=True):
    """What Get Queue Path gives; names that are not known are empty."""

    path_name: str = ""
    machine_name: str = ""
    status: int = Status.MQ_OK


def queue_of_path(manager: ModelQueueManager, path: PathName) -> Queue | None:
    """The queue of the queue collection that has a path name, whatever the name of this computer in it."""
    if path.suffix is not QueueSuffixType.NONE or not manager.is_called(path.computer):
        return None
    return manager.queue_collection.get(queue_key(str(path)))


def get_queue_path(
    manager: ModelQueueManager, directory: QueueDirectory | None, name: FormatName
) -> QueuePath:
    """Get Queue Path: the path name of a format name, and the computer. [MS-MQDMPR] 3.1.7.1.26

    ``directory`` None knows nothing.
    """
    match name.kind:
        case QueueFormatType.DIRECT:
            path = f"{name.host}{name.path}{suffix_text(name.suffix, name.subqueue)}"
            return QueuePath(path_name=path, machine_name=name.host)
        case QueueFormatType.PUBLIC:
            found = None if directory is None else directory.queue(GUID.parse(name.guid))
            if found is None:
                return QueuePath(status=Status.MQ_ERROR_ILLEGAL_FORMATNAME)
            return QueuePath(path_name=found[0], machine_name=found[1])
        case QueueFormatType.PRIVATE:
            return _private(manager, directory, name)
    return QueuePath()


def _private(manager: ModelQueueManager, directory: QueueDirectory | None, name: FormatName) -> QueuePath:
    identifier = GUID.parse(name.guid)
    if identifier == manager.identifier:
        queue = next((one for one in manager.queue_collection.values() if _is(one, name.number)), None)
        return QueuePath(
            path_name="" if queue is None else queue.pathname, machine_name=manager.computer_name
        )
    computer = None if directory is None else directory.queue_manager(identifier)
    if computer is None:
        return QueuePath(status=Status.MQ_ERROR_ILLEGAL_FORMATNAME)
    return QueuePath(machine_name=computer)


def _is(queue: Queue, number: int) -> bool:
    return queue.queue_type is ModelQueueType.PRIVATE and queue.private_queue_number == number
