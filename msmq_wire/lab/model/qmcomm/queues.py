"""Methods of qmcomm that open and close queues for applications. [MS-MQMP] 3.1.4.17 to 3.1.4.20

The rule kept here: a handle of a remote queue is made when the other queue manager has said yes; a client
that is gone by then gets none, and the other one is told.
"""

from __future__ import annotations

from msmq_wire.lab.model.data.enumerations import QueueAccessType
from msmq_wire.lab.model.events.position import close_cursor
from msmq_wire.lab.model.events.queue import close_queue, find_queue, open_queue
from msmq_wire.lab.model.interface_server import CallResult, ServerCall
from msmq_wire.lab.model.qmcomm.local_queue_context import (
    LocalQueueContextHandle,
    RemoteQueueProxyHandle,
    add_local_queue,
    add_remote_queue,
    forget_queue,
)
from msmq_wire.lab.model.qmcomm.methods import (
    NO_CURSOR,
    QmcommMethods,
    fail,
    failed,
    name_of,
    remote_status,
    whatever_comes,
)
from msmq_wire.lab.model.qmcomm.queue_path import get_queue_path
from msmq_wire.lab.model.qmcomm.remote_queues import SHARE_MODES
from msmq_wire.rpc.constants import AccessMode
from msmq_wire.rpc.interfaces.qm2qm import (
    RemoteQMCloseCursorRequest,
    RemoteQMCloseQueueRequest,
    RemoteQMOpenQueueRequest,
)
from msmq_wire.rpc.interfaces.qmcomm_queues import (
    CursorRequest,
    OpenQueueInternalRequest,
    OpenQueueInternalResponse,
    QueueHandleRequest,
    QueueHandleResponse,
    SetCursorPropertiesRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.ndr import NULL_POINTEE, NullPointee
from msmq_wire.rpc.statuses import Status
from msmq_wire.wire.names import FormatName, QueueFormatType, QueueSuffixType
from msmq_wire.wire.types.wchar_text import WcharText

_RECEIVE, _SEND = int(AccessMode.MQ_RECEIVE_ACCESS), int(AccessMode.MQ_SEND_ACCESS)
_PEEK, _ADMIN = int(AccessMode.MQ_PEEK_ACCESS), int(AccessMode.MQ_ADMIN_ACCESS)
ACCESS_TYPES = {
    _RECEIVE: QueueAccessType.RECEIVE_ACCESS,
    _SEND: QueueAccessType.SEND_ACCESS,
    _PEEK: QueueAccessType.PEEK_ACCESS,
    _RECEIVE | _ADMIN: QueueAccessType.RECEIVE_ADMIN_ACCESS,
    _PEEK | _ADMIN: QueueAccessType.PEEK_ADMIN_ACCESS,
}
"""dwDesiredAccess -> what a queue is opened for. [MS-MQMP] 3.1.4.17"""

_READ_ONLY = (QueueFormatType.MACHINE, QueueFormatType.CONNECTOR)


class QueueMethods(QmcommMethods):
    """rpc_QMOpenQueueInternal to rpc_ACSetCursorProperties."""

    def rpc_qm_open_queue_internal(self, call: ServerCall, request: OpenQueueInternalRequest) -> None:
        """Open a queue, here or by way of another queue manager. [MS-MQMP] 3.1.4.17"""
        name = name_of(request.p_queue_format)
        if name is None:
            return fail(call, Status.MQ_ERROR_ILLEGAL_FORMATNAME)
        status = _constraints(request, name)
        if status != Status.MQ_OK:
            return fail(call, status)
        queue = find_queue(self.manager, name) if name.suffix is not QueueSuffixType.SUBQUEUE else None
        if not self.environment.permits(call.association, "open", queue):
            return fail(call, Status.MQ_ERROR_ACCESS_DENIED)
        if request.h_remote_queue:
            return self._open_remote(call, request, name)
        status, descriptor = open_queue(
            self.manager,
            str(name),
            ACCESS_TYPES[request.dw_desired_access],
            SHARE_MODES[request.dw_share_mode],
        )
        if descriptor is None:
            return self._point_elsewhere(call, request, name, status)
        opened = add_local_queue(self.manager, call.association, descriptor)
        call.reply(
            OpenQueueInternalResponse(
                lplp_remote_queue_name=_no_name(request),
                pdw_qm_context=descriptor.handle,
                ph_queue=opened.handle,
            )
        )

    def _point_elsewhere(
        self, call: ServerCall, request: OpenQueueInternalRequest, name: FormatName, status: int
    ) -> None:
        """The queue was not opened: name the computer that has it, or say why not."""
        if status != Status.MQ_ERROR_QUEUE_NOT_FOUND or request.dw_desired_access == _SEND:
            return fail(call, status)
        path = get_queue_path(self.manager, self.environment.directory, name)
        if path.status != Status.MQ_OK:
            return fail(call, path.status)
        if not path.path_name or self.manager.is_called(path.machine_name):
            return fail(call, Status.MQ_ERROR_QUEUE_NOT_FOUND)
        call.reply(OpenQueueInternalResponse(lplp_remote_queue_name=WcharText.of(path.path_name)))

    def _open_remote(self, call: ServerCall, request: OpenQueueInternalRequest, name: FormatName) -> None:
        """Take over what the client opened at another queue manager. [MS-MQQP] 3.2.4.1"""
        path = get_queue_path(self.manager, self.environment.directory, name)
        if path.status != Status.MQ_OK:
            return fail(call, path.status)
        if not path.path_name:
            return fail(call, Status.MQ_ERROR_QUEUE_NOT_FOUND)
        binding = self.environment.bind(path.machine_name)
        if binding is None:
            return fail(call, Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE)

        def opened(answer: CallResult) -> None:
            status = remote_status(answer)
            if failed(status):
                return fail(call, status)
            proxy = add_remote_queue(
                self.manager,
                call.association,
                remote_handle=answer.response.ph_context,
                remote_binding_handle=binding,
                remote_context=request.h_remote_queue,
                path_name=path.path_name,
                format_name=str(name),
            )
            call.reply(
                OpenQueueInternalResponse(
                    lplp_remote_queue_name=_no_name(request),
                    pdw_qm_context=proxy.context,
                    ph_queue=proxy.handle,
                )
            )

        def opened_too_late(answer: CallResult) -> None:
            if not failed(remote_status(answer)):
                close = RemoteQMCloseQueueRequest(pph_context=answer.response.ph_context)
                binding("RemoteQMCloseQueue", close, whatever_comes)

        open_there = RemoteQMOpenQueueRequest(
            p_lic_guid=self.manager.identifier,
            h_queue=request.h_remote_queue,
            p_queue=request.dwp_queue,
            dwp_context=request.dwp_remote_context,
        )
        self.ask(call, binding, "RemoteQMOpenQueue", open_there, opened, opened_too_late)

    def rpc_ac_close_handle(self, call: ServerCall, request: QueueHandleRequest) -> None:
        """Close a queue; another queue manager is told, its answer is not waited for. [MS-MQMP] 3.1.4.18"""
        thing = call.association.thing(request.ph_queue)
        if isinstance(thing, LocalQueueContextHandle):
            forget_queue(self.manager, call.association, thing)
            close_queue(self.manager, thing.open_queue_descriptor_reference)
        elif isinstance(thing, RemoteQueueProxyHandle):
            forget_queue(self.manager, call.association, thing)
            thing.remote_binding_handle(
                "RemoteQMCloseQueue",
                RemoteQMCloseQueueRequest(pph_context=thing.remote_handle),
                whatever_comes,
            )
        else:
            return fail(call, Status.MQ_ERROR_INVALID_HANDLE, ph_queue=request.ph_queue)
        call.reply(QueueHandleResponse())

    def rpc_ac_close_cursor(self, call: ServerCall, request: CursorRequest) -> None:
        """Close a cursor, here or at another queue manager. [MS-MQMP] 3.1.4.19"""
        if request.h_cursor == NO_CURSOR:
            return call.reply(StatusResponse())
        thing = call.association.thing(request.h_queue)
        if isinstance(thing, LocalQueueContextHandle):
            for cursor in thing.open_queue_descriptor_reference.cursor_collection:
                if cursor.handle == request.h_cursor:
                    close_cursor(cursor)
                    return call.reply(StatusResponse())
        elif isinstance(thing, RemoteQueueProxyHandle):
            for proxy in thing.cursor_proxy_collection:
                if proxy.handle != request.h_cursor:
                    continue
                thing.cursor_proxy_collection.remove(proxy)
                if not proxy.is_remote_cursor_handle_initialized:
                    return call.reply(StatusResponse())
                return self.ask(
                    call,
                    thing.remote_binding_handle,
                    "RemoteQMCloseCursor",
                    RemoteQMCloseCursorRequest(
                        h_queue=thing.remote_context, h_cursor=proxy.remote_cursor_handle
                    ),
                    lambda answer: fail(call, remote_status(answer)),
                )
        fail(call, Status.MQ_ERROR_INVALID_HANDLE)

    def rpc_ac_set_cursor_properties(self, call: ServerCall, request: SetCursorPropertiesRequest) -> None:
        """Tie a cursor to that of another queue manager; obsolete. [MS-MQMP] 3.1.4.20"""
        if not self.environment.obsolete_methods:
            return fail(call, Status.MQ_ERROR_ILLEGAL_OPERATION)
        proxy = call.association.thing(request.h_proxy, RemoteQueueProxyHandle)
        for cursor in () if proxy is None else proxy.cursor_proxy_collection:
            if cursor.handle == request.h_cursor:
                cursor.remote_cursor_handle = request.h_remote_cursor
                cursor.is_remote_cursor_handle_initialized = True
                return call.reply(StatusResponse())
        fail(call, Status.MQ_ERROR_INVALID_HANDLE)


def _no_name(request: OpenQueueInternalRequest) -> NullPointee | None:
    """NULL in lplpRemoteQueueName, at the place that the client has given for it."""
    return None if request.lplp_remote_queue_name is None else NULL_POINTEE


def _constraints(request: OpenQueueInternalRequest, name: FormatName) -> int:
    """MQ_OK, or the status of the first constraint that is broken."""
    access = request.dw_desired_access
    sending, reading = access == _SEND, access in (_RECEIVE, _PEEK)
    if access not in ACCESS_TYPES:
        return Status.MQ_ERROR_UNSUPPORTED_ACCESS_MODE
    outward = name.protocol in ("HTTP", "HTTPS") or name.kind is QueueFormatType.MULTICAST
    inward = name.suffix is QueueSuffixType.SUBQUEUE
    read_only = name.is_system or name.kind in _READ_ONLY
    if (outward and not sending) or (inward and sending) or (read_only and not reading):
        return Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION
    if request.h_remote_queue and not reading:
        return Status.MQ_ERROR_UNSUPPORTED_ACCESS_MODE
    if request.dw_share_mode not in SHARE_MODES or (sending and request.dw_share_mode):
        return Status.MQ_ERROR_INVALID_PARAMETER
    numbers = (request.dwp_queue, request.dwp_remote_context)
    if any(numbers) if not request.h_remote_queue else not all(numbers):
        return Status.MQ_ERROR_INVALID_PARAMETER
    return Status.MQ_OK
