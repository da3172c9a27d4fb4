"""`QmmgmtServer`: qmmgmt as a function of the model. [MS-MQMR] 3.1.4

The rule kept here: to ask changes nothing. The text opens the queue to read what it has (SHOULD); then nobody
could ask about a queue that somebody reads alone, and the queue would be active for having been asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msmq_wire.lab.model.data.elements import OutgoingQueue, Queue, QueueManager
from msmq_wire.lab.model.events.message import purge_queue
from msmq_wire.lab.model.events.queue import (
    pause_queue,
    queue_to_manage,
    resend_transactional_sequence,
    resume_queue,
)
from msmq_wire.lab.model.qmmgmt.properties import MACHINE, QUEUE
from msmq_wire.lab.model.server import Association, Call, Server
from msmq_wire.rpc.constants import ManagementAction, MgmtObjectType
from msmq_wire.rpc.interfaces import qmmgmt
from msmq_wire.rpc.interfaces.qmmgmt import (
    QMMgmtActionRequest,
    QMMgmtGetInfoRequest,
    QMMgmtGetInfoResponse,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.management import write_value
from msmq_wire.rpc.properties import PropertyKind
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.management_object import MgmtObject
from msmq_wire.rpc.types.propvariant import PropVariant
from msmq_wire.rpc.types.queue_format import QueueFormat

ManagementDeed: TypeAlias = Literal["ask", "manage"]
"""What a client wants, when it is asked whether it may."""

_OF_MACHINE = (ManagementAction.CONNECT, ManagementAction.DISCONNECT, ManagementAction.TIDY)


def _everything(_: Association, __: ManagementDeed) -> bool:
    return True


class QmmgmtServer(Server):
    """Tells how a queue manager and its queues are, and has them act; ``permits`` knows administrators."""

    INTERFACE = qmmgmt.INTERFACE

    def __init__(
        self,
        manager: QueueManager,
        permits: Callable[[Association, ManagementDeed], bool] = _everything,
    ) -> None:
        super().__init__(manager)
        self.permits = permits

    def rundown(self, association: Association) -> None:
        """Nothing is held for clients."""

    def r_qm_mgmt_get_info(self, call: Call, request: QMMgmtGetInfoRequest) -> None:
        """Give properties of the computer or of a queue. [MS-MQMR] 3.1.4.1"""
        status, values = self._values(call, request)
        # Where it fails, the values stay what they were.
        call.reply(QMMgmtGetInfoResponse(ap_var=request.ap_var if values is None else values, status=status))

    def _values(
        self, call: Call, request: QMMgmtGetInfoRequest
    ) -> tuple[int, tuple[PropVariant, ...] | None]:
        kind = request.property_kind
        if kind is None:
            return Status.MQ_ERROR_INVALID_PARAMETER, None
        known = MACHINE if kind is PropertyKind.MANAGEMENT_MACHINE else QUEUE
        if any(propid not in known for propid in request.a_prop):
            return Status.MQ_ERROR_ILLEGAL_PROPID, None
        if not self.permits(call.association, "ask"):
            return Status.MQ_ERROR_ACCESS_DENIED, None
        if kind is PropertyKind.MANAGEMENT_MACHINE:
            machine = tuple(
                write_value(MACHINE[propid](self.manager), propid, kind) for propid in request.a_prop
            )
            return Status.MQ_OK, machine
        status, queue = self._queue(request.p_object_format)
        if queue is None:
            return status, None
        for told in self.manager.looked_at:
            told(queue)
        return Status.MQ_OK, tuple(
            write_value(QUEUE[propid](queue), propid, kind) for propid in request.a_prop
        )

    def _queue(self, wanted: MgmtObject) -> tuple[int, Queue | None]:
        name = wanted.arm.format_name if isinstance(wanted.arm, QueueFormat) else None
        if name is None:
            return Status.MQ_ERROR_ILLEGAL_FORMATNAME, None
        queue = queue_to_manage(self.manager, name)
        return (Status.MQ_ERROR_QUEUE_NOT_FOUND if queue is None else Status.MQ_OK), queue

    def r_qm_mgmt_action(self, call: Call, request: QMMgmtActionRequest) -> None:
        """Have the computer or an outgoing queue do something. [MS-MQMR] 3.1.4.2"""
        call.reply(StatusResponse(status=self._act(call, request)))

    def _act(self, call: Call, request: QMMgmtActionRequest) -> int:
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
            return Status.MQ_ERROR_INVALID_PARAMETER
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
