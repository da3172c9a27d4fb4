"""`QmmgmtServer`: qmmgmt as a function of the model. [MS-MQMR] 3.1.4

The rule kept here: to ask changes nothing. The text opens the queue to read what it has (SHOULD); then nobody
could ask about a queue that somebody reads alone, and the queue would be active for having been asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

from msmq_wire.lab.model.data.elements import ModelQueueManager, OutgoingQueue, OutgoingTransferInfo, Queue
from msmq_wire.lab.model.data.enumerations import ModelQueueType, OutgoingQueueState, PositionState
from msmq_wire.lab.model.data.queue_attributes import qualified_pathname
from msmq_wire.lab.model.events.message import purge_queue
from msmq_wire.lab.model.events.queue import (
    pause_queue,
    queue_to_manage,
    resend_transactional_sequence,
    resume_queue,
)
from msmq_wire.lab.model.interface_server import ClientAssociation, InterfaceServer, ServerCall
from msmq_wire.rpc.constants import ManagementAction, MgmtObjectType
from msmq_wire.rpc.interfaces import qmmgmt
from msmq_wire.rpc.interfaces.qmmgmt import (
    QMMgmtActionRequest,
    QMMgmtGetInfoRequest,
    QMMgmtGetInfoResponse,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.management_properties import ManagementValue, write_value
from msmq_wire.rpc.properties import PropertyKind
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.management_object import MgmtObject
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import QueueFormat

ManagementRequest: TypeAlias = Literal["ask", "manage"]
"""What a client wants, when it is asked whether it may."""

_OF_MACHINE = (ManagementAction.CONNECT, ManagementAction.DISCONNECT, ManagementAction.TIDY)

_TYPES = {
    ModelQueueType.PUBLIC: "PUBLIC",
    ModelQueueType.PRIVATE: "PRIVATE",
    ModelQueueType.SYSTEM: "MACHINE",
    ModelQueueType.CONNECTOR: "CONNECTOR",
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


def _everything(_: ClientAssociation, __: ManagementRequest) -> bool:
    return True


class QmmgmtServer(InterfaceServer):
    """Tells how a queue manager and its queues are, and has them act; ``permits`` knows administrators."""

    INTERFACE = qmmgmt.INTERFACE

    def __init__(
        self,
        manager: ModelQueueManager,
        permits: Callable[[ClientAssociation, ManagementRequest], bool] = _everything,
    ) -> None:
        super().__init__(manager)
        self.permits = permits

    def rundown(self, association: ClientAssociation) -> None:
        """Nothing is held for clients."""

    def r_qm_mgmt_get_info(self, call: ServerCall, request: QMMgmtGetInfoRequest) -> None:
        """Give properties of the computer or of a queue. [MS-MQMR] 3.1.4.1"""
        status, values = self._values(call, request)
        # Where it fails, the values stay what they were.
        call.reply(QMMgmtGetInfoResponse(ap_var=request.ap_var if values is None else values, status=status))

    def _values(
        self, call: ServerCall, request: QMMgmtGetInfoRequest
    ) -> tuple[int, tuple[PropVariant, ...] | None]:
        kind = request.property_kind
        if kind is None:
            return Status.MQ_ERROR_INVALID_PARAMETER, None
        known = _MACHINE if kind is PropertyKind.MANAGEMENT_MACHINE else _QUEUE
        if any(propid not in known for propid in request.a_prop):
            return Status.MQ_ERROR_ILLEGAL_PROPID, None
        if not self.permits(call.association, "ask"):
            return Status.MQ_ERROR_ACCESS_DENIED, None
        if kind is PropertyKind.MANAGEMENT_MACHINE:
            machine = tuple(
                write_value(_MACHINE[propid](self.manager), propid, kind) for propid in request.a_prop
            )
            return Status.MQ_OK, machine
        status, queue = self._queue(request.p_object_format)
        if queue is None:
            return status, None
        for reported in self.manager.looked_at:
            reported(queue)
        return Status.MQ_OK, tuple(
            write_value(_QUEUE[propid](queue), propid, kind) for propid in request.a_prop
        )

    def _queue(self, wanted: MgmtObject) -> tuple[int, Queue | None]:
        name = wanted.arm.format_name if isinstance(wanted.arm, QueueFormat) else None
        if name is None:
            return Status.MQ_ERROR_ILLEGAL_FORMATNAME, None
        queue = queue_to_manage(self.manager, name)
        return (Status.MQ_ERROR_QUEUE_NOT_FOUND if queue is None else Status.MQ_OK), queue

    def r_qm_mgmt_action(self, call: ServerCall, request: QMMgmtActionRequest) -> None:
        """Have the computer or an outgoing queue do something. [MS-MQMR] 3.1.4.2"""
        call.reply(StatusResponse(status=self._act(call, request)))

    def _act(self, call: ServerCall, request: QMMgmtActionRequest) -> int:
        text = request.lpwsz_action.text.partition("\0")[0].upper()
        kind = request.p_object_format.type
        if text not in set(ManagementAction):
            return Status.MQ_ERROR_INVALID_PARAMETER
        action = ManagementAction(text)
        # Which actions are a machine's and which a queue's, the table says.
        if kind != (MgmtObjectType.MGMT_MACHINE if action in _OF_MACHINE else MgmtObjectType.MGMT_QUEUE):
            return Status.MQ_ERROR_INVALID_PARAMETER
        if not self.permits(call.association, "manage"):
            return Status.MQ_ERROR_ACCESS_DENIED
        if action in _OF_MACHINE:
            self._manage_machine(action)
            return Status.MQ_OK
        status, queue = self._queue(request.p_object_format)
        if queue is None:
            return status
        if not isinstance(queue, OutgoingQueue):
            # A local queue has no sequence to send again; the other actions are for outgoing queues only.
            resends = action is ManagementAction.EOD_RESEND
            return Status.MQ_OK if resends else Status.MQ_ERROR_INVALID_PARAMETER
        {
            ManagementAction.PAUSE: pause_queue,
            ManagementAction.RESUME: resume_queue,
            ManagementAction.EOD_RESEND: resend_transactional_sequence,
        }[action](queue)
        return Status.MQ_OK

    def _manage_machine(self, action: ManagementAction) -> None:
        """Bring Online, Take Offline, and Purge Queue of each queue. [MS-MQDMPR] 3.1.4.13, 3.1.4.12"""
        if action is not ManagementAction.TIDY:
            self.manager.connection_active = action is ManagementAction.CONNECT
            return
        for queue in self.manager.queue_collection.values():
            purge_queue(queue)


def _active_queues(manager: ModelQueueManager) -> tuple[str, ...]:
    collections = (manager.queue_collection, manager.outgoing_queue_collection)
    return tuple(_format_name(one) for each in collections for one in each.values() if one.active)


def _private_queues(manager: ModelQueueManager) -> tuple[str, ...]:
    queues = manager.queue_collection.values()
    return tuple(one.pathname for one in queues if one.queue_type is ModelQueueType.PRIVATE)


def _directory_server(manager: ModelQueueManager) -> str | None:
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
        return "NO" if queue.queue_type is ModelQueueType.PRIVATE else "UNKNOWN"
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


# The values of properties, in the order of [MS-MQMR] 3.1.4.1; None is what the model has no value for.
_MACHINE: Final[Mapping[int, Callable[[ModelQueueManager], ManagementValue | None]]] = {
    1: _active_queues,
    2: _private_queues,
    3: _directory_server,
    4: lambda manager: "CONNECTED" if manager.connection_active else "DISCONNECTED",
    5: lambda _: "",
    6: lambda manager: sum(queue.total_bytes for queue in manager.queue_collection.values()),
}
"""PROPID_MGMT_MSMQ_* -> its value."""
_QUEUE: Final[Mapping[int, Callable[[Queue], ManagementValue | None]]] = {
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
