"""The methods of qm2qm about open queues: open, close, cursors, cancel, purge. [MS-MQQP] 3.1.4.3 to 3.1.4.7

The rule kept here: queues and cursors are named by the numbers that qmcomm gave; a number that names nothing
is answered as the method answers unknown handles.
"""

from __future__ import annotations

from typing import ClassVar

from msmq_wire.lab.model.data.elements import ModelQueueManager, OpenQueueDescriptor
from msmq_wire.lab.model.data.enumerations import QueueAccessType, RemoteReadState
from msmq_wire.lab.model.events.message import purge_queue
from msmq_wire.lab.model.events.position import cancel_waiting_message_read_request, close_cursor
from msmq_wire.lab.model.events.queue import close_queue
from msmq_wire.lab.model.interface_server import BAD_STUB_DATA, InterfaceServer, ServerCall
from msmq_wire.lab.model.qm2qm.entries import (
    OpenQueueEntry,
    OpenQueueEntryCollection,
    Qm2qmConfiguration,
    RemoteReadEntry,
    RemoteReadEntryCollection,
)
from msmq_wire.rpc.interfaces import qm2qm
from msmq_wire.rpc.interfaces.method import Interface
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.statuses import Status

CONTEXT_MISMATCH = 0x1C00001A
"""nca_s_fault_context_mismatch: the client holds no such context handle. [C706] appendix E"""

_HIGHEST_MQS = 16
_RECEIVING = (
    QueueAccessType.RECEIVE_ACCESS,
    QueueAccessType.RECEIVE_ADMIN_ACCESS,
    QueueAccessType.MOVE_ACCESS,
)


def may_receive(descriptor: OpenQueueDescriptor) -> bool:
    """Whether messages can be taken through a descriptor; a peek handle only reads. [MS-MQMP] 3.1.4.2"""
    return descriptor.access_type in _RECEIVING


class Qm2qmQueues(InterfaceServer):
    """The half of the server that opens and closes; `Qm2qmServer` adds the half that reads."""

    INTERFACE: ClassVar[Interface] = qm2qm.INTERFACE

    def __init__(self, manager: ModelQueueManager, configuration: Qm2qmConfiguration | None = None) -> None:
        super().__init__(manager)
        self.configuration = configuration or Qm2qmConfiguration()
        self.remote_read_entry_collection = RemoteReadEntryCollection()
        self.open_queue_entry_collection = OpenQueueEntryCollection()

    def remote_qm_open_queue(self, call: ServerCall, request: qm2qm.RemoteQMOpenQueueRequest) -> None:
        """RemoteQMOpenQueue. [MS-MQQP] 3.1.4.3"""
        if request.dw_mqs > _HIGHEST_MQS:
            call.throw(BAD_STUB_DATA)
            return
        old = self.configuration.windows_2000
        if (
            (old and request.h_queue not in self.manager.descriptors)
            or not request.p_queue
            or not request.dwp_context
            or (not old and request.p_queue != request.dwp_context)
        ):
            call.reply(qm2qm.RemoteQMOpenQueueResponse(status=Status.MQ_ERROR_INVALID_PARAMETER))
            return
        entry = OpenQueueEntry(
            open_queue_descriptor_handle=request.h_queue if old else request.dwp_context,
            client_id=request.p_lic_guid,
        )
        self.open_queue_entry_collection.add(entry)
        descriptor = self.manager.descriptors.get(entry.open_queue_descriptor_handle)
        if descriptor is not None:
            descriptor.remote_read_state = RemoteReadState.READY_FOR_READ
        handle = call.association.handle(self.manager, entry)
        call.reply(qm2qm.RemoteQMOpenQueueResponse(ph_context=handle, status=Status.MQ_OK))

    def remote_qm_close_queue(self, call: ServerCall, request: qm2qm.RemoteQMCloseQueueRequest) -> None:
        """RemoteQMCloseQueue. [MS-MQQP] 3.1.4.4"""
        handle = request.pph_context
        if handle.null:
            call.reply(qm2qm.HandleResponse(pph_context=handle, status=Status.MQ_ERROR_INVALID_HANDLE))
            return
        entry = call.association.thing(handle, OpenQueueEntry)
        if entry is None:
            call.throw(CONTEXT_MISMATCH)
            return
        # The search is one that [MS-MQQP] has and that always succeeds: an entry that a client holds is in
        # the collection.
        if self.configuration.search_open_queues and not self._open(entry.open_queue_descriptor_handle):
            call.reply(qm2qm.HandleResponse(pph_context=handle, status=Status.MQ_ERROR_INVALID_PARAMETER))
            return
        self._close(entry)
        call.association.forget(handle)
        call.reply(qm2qm.HandleResponse(status=Status.MQ_OK))

    def remote_qm_close_cursor(self, call: ServerCall, request: qm2qm.RemoteQMCloseCursorRequest) -> None:
        """RemoteQMCloseCursor. [MS-MQQP] 3.1.4.5"""
        descriptor = self.manager.descriptors.get(request.h_queue)
        cursor = self.manager.cursors.get(request.h_cursor)
        if descriptor is None or cursor is None or cursor.open_queue_descriptor_reference is not descriptor:
            call.reply(StatusResponse(status=Status.MQ_ERROR_INVALID_HANDLE))
            return
        close_cursor(cursor)
        call.reply(StatusResponse(status=Status.MQ_OK))

    def remote_qm_cancel_receive(self, call: ServerCall, request: qm2qm.RemoteQMCancelReceiveRequest) -> None:
        """RemoteQMCancelReceive. [MS-MQQP] 3.1.4.6"""
        call.reply(StatusResponse(status=self._cancel_receive(request)))

    def _cancel_receive(self, request: qm2qm.RemoteQMCancelReceiveRequest) -> int:
        if not request.p_queue or request.p_queue != request.h_queue:
            return Status.MQ_ERROR_INVALID_PARAMETER
        if not self.remote_read_entry_collection.of_queue(request.h_queue):
            return Status.MQ_ERROR_INVALID_HANDLE
        entry = self.remote_read_entry_collection.find(request.h_queue, request.dw_request_id)
        return Status.MQ_ERROR if entry is None else self._cancel(entry)

    def remote_qm_purge_queue(self, call: ServerCall, request: qm2qm.RemoteQMPurgeQueueRequest) -> None:
        """RemoteQMPurgeQueue. [MS-MQQP] 3.1.4.7"""
        status = self._purge(request.h_queue)
        if status.failed and self.configuration.throw_purge_failures:
            call.throw(status)
        else:
            call.reply(StatusResponse(status=status))

    def _purge(self, handle: int) -> Status:
        descriptor = self.manager.descriptors.get(handle)
        if not self._open(handle) or descriptor is None:
            return Status.MQ_ERROR_INVALID_HANDLE
        if not may_receive(descriptor):
            return Status.MQ_ERROR_ACCESS_DENIED
        if descriptor.queue_reference is None:
            return Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
        purge_queue(descriptor.queue_reference)
        return Status.MQ_OK

    def _open(self, handle: int) -> bool:
        return handle in self.open_queue_entry_collection

    def _close(self, entry: OpenQueueEntry) -> None:
        """Forget an open queue: who waits on it is told, and its descriptor is closed."""
        handle = entry.open_queue_descriptor_handle
        self.open_queue_entry_collection.remove(entry)
        for read in self.remote_read_entry_collection.of_queue(handle):
            self._cancel(read)
        descriptor = self.manager.descriptors.get(handle)
        if descriptor is not None:
            close_queue(self.manager, descriptor)

    def _cancel(self, entry: RemoteReadEntry) -> int:
        """The steps of RemoteQMCancelReceive once the entry is found."""
        descriptor = self.manager.descriptors.get(entry.open_queue_descriptor_handle)
        if descriptor is None:
            return Status.MQ_ERROR_INVALID_HANDLE
        status = cancel_waiting_message_read_request(
            descriptor, entry.request_id, Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT
        )
        self.remote_read_entry_collection.remove(entry)
        return status
