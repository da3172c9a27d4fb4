"""Events about queues: create, delete, open, close, pause and resume. [MS-MQDMPR] 3.1.7.1, 3.1.7.2

The rule kept here: what is read is a queue of this queue manager. A queue of another one can be opened to
send only, or to be administered, and then it is the outgoing queue that is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from msmq_wire.errors import FormatNameError
from msmq_wire.lab.model.data.elements import ModelQueueManager, OpenQueueDescriptor, OutgoingQueue, Queue
from msmq_wire.lab.model.data.enumerations import (
    AdministrativeAction,
    ModelQueueType,
    OutgoingQueueState,
    QueueAccessType,
    QueueShareMode,
)
from msmq_wire.lab.model.data.position_list import MessagePositionList
from msmq_wire.lab.model.events.position import cancel_all_waiting, close_cursor, message_position_deleted
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.names import FormatName, PathName
from msmq_wire.wire.names.format_name import parse_multiple
from msmq_wire.wire.names.queue_format_types import QueueFormatType, QueueSuffixType
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_RECEIVING = (QueueAccessType.RECEIVE_ACCESS, QueueAccessType.RECEIVE_ADMIN_ACCESS)
_PEEKING = (QueueAccessType.PEEK_ACCESS, QueueAccessType.PEEK_ADMIN_ACCESS)
_MOST_FORWARDED = 1 << 12
_ADMINISTERING = (QueueAccessType.RECEIVE_ADMIN_ACCESS, QueueAccessType.PEEK_ADMIN_ACCESS)


def queue_key(pathname: str) -> str:
    """The queue in a path name without its computer, as `ModelQueueManager.queue_collection` knows it."""
    return pathname.partition("\\")[2].casefold()


def find_queue(manager: ModelQueueManager, name: FormatName) -> Queue | None:
    """The local queue of a format name; a subqueue is made when its queue is there."""
    queue: Queue | None = None
    match name.kind:
        case QueueFormatType.DIRECT:
            if name.protocol in ("HTTP", "HTTPS") or not manager.is_called(name.address):
                return None
            path = name.path.lstrip("\\").casefold()
            if path == "system$":
                return _system_queue(manager, name.suffix)
            queue = manager.queue_collection.get(path)
        case QueueFormatType.PUBLIC:
            queue = _first(manager, lambda one: str(one.identifier) == name.guid)
        case QueueFormatType.PRIVATE if name.guid == str(manager.identifier):
            queue = _first(manager, lambda one: one.private_queue_number == name.number)
        case QueueFormatType.MACHINE if name.guid == str(manager.identifier):
            return _system_queue(manager, name.suffix)
    if queue is None:
        return None
    if name.suffix == QueueSuffixType.JOURNAL:
        return queue.journal_queue_reference
    if name.suffix == QueueSuffixType.SUBQUEUE:
        return _subqueue(queue, name.subqueue)
    return queue if name.suffix == QueueSuffixType.NONE else None


def _first(manager: ModelQueueManager, fits: Callable[[Queue], bool]) -> Queue | None:
    return next((one for one in manager.queue_collection.values() if fits(one)), None)


def _system_queue(manager: ModelQueueManager, suffix: QueueSuffixType) -> Queue | None:
    return {
        QueueSuffixType.JOURNAL: manager.system_journal_queue,
        QueueSuffixType.DEADLETTER: manager.system_deadletter_queue,
        QueueSuffixType.DEADXACT: manager.system_transactional_deadletter_queue,
    }.get(suffix)


def _known_subqueue(queue: Queue, name: str) -> Queue | None:
    key = name.casefold()
    for one in queue.subqueue_collection:
        if one.pathname.rpartition(";")[2].casefold() == key:
            return one
    return None


def _subqueue(queue: Queue, name: str) -> Queue:
    known = _known_subqueue(queue, name)
    if known is not None:
        return known
    made = Queue(
        queue_manager=queue.queue_manager,
        pathname=f"{queue.pathname};{name}",
        identifier=queue.identifier,
        queue_type=queue.queue_type,
        transactional=queue.transactional,
        parent=queue,
    )
    queue.subqueue_collection.append(made)
    return made


def queue_to_manage(manager: ModelQueueManager, name: FormatName) -> Queue | None:
    """The queue that an administrator means, a local one or the outgoing queue to another; none is made."""
    if name.suffix == QueueSuffixType.SUBQUEUE:
        whole = find_queue(manager, msgspec.structs.replace(name, suffix=QueueSuffixType.NONE, subqueue=""))
        return None if whole is None else _known_subqueue(whole, name.subqueue)
    return find_queue(manager, name) or manager.outgoing_queue_collection.get(name.compare_key)


def create_queue(manager: ModelQueueManager, queue: Queue) -> int:
    """Create Queue: add a queue, and a journal for it. [MS-MQDMPR] 3.1.7.1.3"""
    try:
        path = PathName.parse(queue.pathname)
    except FormatNameError:
        return Status.MQ_ERROR_ILLEGAL_QUEUE_PATHNAME
    key = queue_key(queue.pathname)
    if key in manager.queue_collection:
        return Status.MQ_ERROR_QUEUE_EXISTS
    if queue.identifier == NULL_GUID:
        queue.identifier = manager.new_guid()
    queue.queue_type = _queue_type(path)
    queue.total_bytes = 0
    queue.message_position_list = MessagePositionList()
    queue.subqueue_collection = []
    queue.open_queue_descriptor_collection = []
    if queue.queue_type is ModelQueueType.PRIVATE and not queue.private_queue_number:
        taken = (one.private_queue_number for one in manager.queue_collection.values())
        queue.private_queue_number = 1 + max(taken, default=0)
    queue.create_time = queue.modify_time = manager.current_time
    queue.journal_queue_reference = None
    if path.suffix is not QueueSuffixType.SUBQUEUE:
        queue.journal_queue_reference = Queue(
            queue_manager=manager,
            pathname=f"{queue.pathname};JOURNAL",
            queue_type=ModelQueueType.SYSTEM,
            quota=queue.journal_quota,
            parent=queue,
        )
    manager.queue_collection[key] = queue
    return Status.MQ_OK


def _queue_type(path: PathName) -> ModelQueueType:
    if path.is_system or path.path.casefold().startswith("\\system$"):
        return ModelQueueType.SYSTEM
    return ModelQueueType.PRIVATE if path.is_private else ModelQueueType.PUBLIC


def delete_queue(manager: ModelQueueManager, queue: Queue) -> int:
    """Delete Queue: it goes with all its messages. [MS-MQDMPR] 3.1.7.1.4"""
    if manager.queue_collection.get(queue_key(queue.pathname)) is not queue:
        return Status.MQ_ERROR_QUEUE_NOT_FOUND
    journal = () if queue.journal_queue_reference is None else (queue.journal_queue_reference,)
    for one in (queue, *queue.subqueue_collection, *journal):
        for position in one.message_position_list:
            message_position_deleted(position, MessageClass.MQMSG_CLASS_NACK_Q_DELETED)
        for descriptor in list(one.open_queue_descriptor_collection):
            cancel_all_waiting(descriptor, status=Status.MQ_ERROR_QUEUE_DELETED)
            for cursor in list(descriptor.cursor_collection):
                close_cursor(cursor)
            descriptor.queue_reference = None
        one.open_queue_descriptor_collection.clear()
    del manager.queue_collection[queue_key(queue.pathname)]
    return Status.MQ_OK


def open_queue(
    manager: ModelQueueManager,
    format_name: str,
    required_access: QueueAccessType,
    shared_mode: QueueShareMode = QueueShareMode.DENY_NONE,
) -> tuple[int, OpenQueueDescriptor | None]:
    """Open Queue: the status and, with MQ_OK, a descriptor. [MS-MQDMPR] 3.1.7.1.5

    There is no directory to ask: of public queues elsewhere those in ``public_queue_owners`` are known.
    Whether anything takes messages out of an outgoing queue is another matter.
    """
    expanded = expand_format_name(format_name)
    if expanded is None:
        return Status.MQ_ERROR_ILLEGAL_FORMATNAME, None
    if "," in expanded:
        return _open_multiple(manager, expanded, required_access, shared_mode)
    name = FormatName.parse(expanded)
    sending = required_access is QueueAccessType.SEND_ACCESS
    http = name.protocol in ("HTTP", "HTTPS")
    machine = name.kind is QueueFormatType.MACHINE
    if (sending and machine) or (not sending and (http or name.kind is QueueFormatType.MULTICAST)):
        return Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION, None
    queue = find_queue(manager, name)
    owner = owner_of(manager, name)
    if queue is None and sending and name.kind is QueueFormatType.PUBLIC and owner == NULL_GUID:
        return Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION, None
    if queue is None and (sending or required_access in _ADMINISTERING):
        queue = _outgoing_queue(manager, name, owner, made=sending)
    if queue is None:
        return Status.MQ_ERROR_QUEUE_NOT_FOUND, None
    if _shared(queue, required_access, shared_mode):
        return Status.MQ_ERROR_SHARING_VIOLATION, None
    descriptor = _descriptor(manager, queue, required_access, shared_mode, str(name))
    queue.open_queue_descriptor_collection.append(descriptor)
    return Status.MQ_OK, descriptor


def owner_of(manager: ModelQueueManager, name: FormatName) -> GUID:
    """The queue manager that has a queue elsewhere; NULL where that is not known."""
    match name.kind:
        case QueueFormatType.PUBLIC:
            return manager.public_queue_owners.get(GUID.parse(name.guid), NULL_GUID)
        case QueueFormatType.PRIVATE | QueueFormatType.MACHINE | QueueFormatType.CONNECTOR:
            return GUID.parse(name.guid)
    return NULL_GUID


def queue_to_forward(manager: ModelQueueManager, name: FormatName, owner: GUID) -> OutgoingQueue | None:
    """The outgoing queue of a message that came on its way to the queue manager ``owner``.

    None where no next hop is known, and for direct names, which are not routed. [MS-MQQB] 3.1.5.8.5
    """
    if name.kind is QueueFormatType.DIRECT or owner not in manager.routing_table:
        return None
    # Who sends can make up names of queues without end.
    room = len(manager.outgoing_queue_collection) < _MOST_FORWARDED
    return _outgoing_queue(manager, name, owner, made=room)


def _outgoing_queue(
    manager: ModelQueueManager, name: FormatName, owner: GUID, *, made: bool
) -> OutgoingQueue | None:
    """The outgoing queue to a queue of another queue manager, perhaps a new one."""
    here = {QueueFormatType.DIRECT: manager.is_called(name.host)}
    if here.get(name.kind, name.guid == str(manager.identifier)):
        return None
    queue = manager.outgoing_queue_collection.get(name.compare_key)
    if queue is None and made:
        locked = manager.hardened_security and name.protocol not in ("HTTP", "HTTPS")
        queue = OutgoingQueue(
            queue_manager=manager,
            pathname=str(name),
            identifier=manager.new_guid(),
            label=str(name),
            destination_format_name=str(name),
            destination_queue_manager=owner,
            multicast=name.kind is QueueFormatType.MULTICAST,
            state=OutgoingQueueState.LOCKED if locked else OutgoingQueueState.INACTIVE,
        )
        manager.outgoing_queue_collection[name.compare_key] = queue
    return queue


def _descriptor(
    manager: ModelQueueManager, queue: Queue | None, access: QueueAccessType, mode: QueueShareMode, name: str
) -> OpenQueueDescriptor:
    descriptor = OpenQueueDescriptor(
        handle=manager.new_handle(),
        context_value=manager.new_handle(),
        access_type=access,
        share_mode=mode,
        queue_reference=queue,
        format_name=name,
        multiple=queue is None,
    )
    manager.descriptors[descriptor.handle] = descriptor
    return descriptor


def _open_multiple(
    manager: ModelQueueManager, name: str, access: QueueAccessType, mode: QueueShareMode
) -> tuple[int, OpenQueueDescriptor | None]:
    if access is not QueueAccessType.SEND_ACCESS:
        return Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION, None
    if mode is not QueueShareMode.DENY_NONE:
        return Status.MQ_ERROR_UNSUPPORTED_ACCESS_MODE, None
    descriptor = _descriptor(manager, None, access, mode, name)
    for element in name.split(","):
        status, opened = open_queue(manager, element, access, mode)
        if opened is None:
            close_queue(manager, descriptor)
            return status, None
        descriptor.open_queue_descriptor_collection.append(opened)
    return Status.MQ_OK, descriptor


def _no_directory(_: FormatName) -> Sequence[str] | None:
    return None


def expand_format_name(
    format_name: str, resolve: Callable[[FormatName], Sequence[str] | None] = _no_directory
) -> str | None:
    """Expand Format Name: the name without lists; None for what is no name or cannot be resolved.

    ``resolve`` gives the format names in a distribution list, or None. A list that was met before is not
    resolved again, so that lists which hold each other come to an end. [MS-MQDMPR] 3.1.7.3.8
    """
    try:
        names = list(parse_multiple(format_name)) if "," in format_name else [FormatName.parse(format_name)]
        if len(names) == 1 and names[0].kind is not QueueFormatType.DL:
            return format_name
        found: dict[str, FormatName] = {}
        met: set[str] = set()
        for name in names:
            if name.kind is not QueueFormatType.DL:
                found.setdefault(str(name).casefold(), name)
            elif name.guid not in met:
                met.add(name.guid)
                elements = resolve(name)
                if elements is None:
                    return None
                names += [FormatName.parse(element) for element in elements]
    except FormatNameError:
        return None
    return ",".join(str(found[key]) for key in sorted(found)) or None


def _shared(queue: Queue, access: QueueAccessType, mode: QueueShareMode) -> bool:
    """Whether another descriptor keeps a queue from being opened so."""
    deny = QueueShareMode.DENY_RECEIVE
    opened = {(one.share_mode, one.access_type) for one in queue.open_queue_descriptor_collection}
    if any((deny, one) in opened for one in _RECEIVING):
        return mode is deny or access in _RECEIVING
    if any((deny, one) in opened for one in _PEEKING):
        return access in _RECEIVING
    if any((QueueShareMode.DENY_NONE, one) in opened for one in _RECEIVING):
        return mode is deny
    return False


def close_queue(manager: ModelQueueManager, descriptor: OpenQueueDescriptor) -> None:
    """Close Queue: with its cursors; who waits is told that it was cancelled. [MS-MQDMPR] 3.1.7.1.6"""
    manager.descriptors.pop(descriptor.handle, None)
    for one in descriptor.open_queue_descriptor_collection:
        close_queue(manager, one)
    queue = descriptor.queue_reference
    if queue is None:
        return
    cancel_all_waiting(descriptor)
    for cursor in list(descriptor.cursor_collection):
        close_cursor(cursor)
    if descriptor in queue.open_queue_descriptor_collection:
        queue.open_queue_descriptor_collection.remove(descriptor)


def pause_queue(queue: OutgoingQueue) -> None:
    """Pause Queue: nothing of it is sent any more. [MS-MQDMPR] 3.1.7.2.3"""
    queue.state = OutgoingQueueState.ON_HOLD
    _administer(queue, AdministrativeAction.PAUSE)


def resume_queue(queue: OutgoingQueue) -> None:
    """Resume Queue: what waits in it is sent again. [MS-MQDMPR] 3.1.7.2.4"""
    queue.state = OutgoingQueueState.INACTIVE
    _administer(queue, AdministrativeAction.RESUME)


def resend_transactional_sequence(queue: OutgoingQueue) -> None:
    """Resend Transactional Sequence: what no order acknowledgment came for is sent again. [MS-MQMR] 3.1.4.2

    [MS-MQDMPR] has no such event.
    """
    _administer(queue, AdministrativeAction.RESEND)


def _administer(queue: OutgoingQueue, action: AdministrativeAction) -> None:
    for reported in queue.queue_manager.administered:
        reported(queue, action)
