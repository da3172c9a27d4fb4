"""Methods of qmcomm for clients whose supporting server is another one. [MS-MQMP] 3.1.4.1 to 3.1.4.4

The rule kept here: what is opened here is read through qm2qm by the client's own server, which the numbers
that come back lead to the descriptor.
"""

from __future__ import annotations

import msgspec

from msmq_wire.lab.model.data.elements import OpenQueueDescriptor
from msmq_wire.lab.model.data.enumerations import QueueAccessType, QueueShareMode, RemoteReadState
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.events.queue import close_queue, open_queue
from msmq_wire.lab.model.interface_server import ClientAssociation, ServerCall
from msmq_wire.lab.model.qmcomm.local_queue_context import remote_queue_of_context
from msmq_wire.lab.model.qmcomm.methods import QmcommMethods, fail, name_of
from msmq_wire.rpc.constants import AccessMode, ShareMode
from msmq_wire.rpc.interfaces.qmcomm_queues import (
    CloseRemoteQueueContext,
    CreateRemoteCursorRequest,
    CreateRemoteCursorResponse,
    GetRemoteQueueNameRequest,
    GetRemoteQueueNameResponse,
    OpenRemoteQueueRequest,
    OpenRemoteQueueResponse,
)
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.names import QueueFormatType
from msmq_wire.wire.types.wchar_text import WcharText

_ACCESS = {
    int(AccessMode.MQ_RECEIVE_ACCESS): QueueAccessType.RECEIVE_ACCESS,
    int(AccessMode.MQ_PEEK_ACCESS): QueueAccessType.PEEK_ACCESS,
}
SHARE_MODES = {
    int(ShareMode.MQ_DENY_NONE): QueueShareMode.DENY_NONE,
    int(ShareMode.MQ_DENY_RECEIVE_SHARE): QueueShareMode.DENY_RECEIVE,
}
"""dwShareMode -> how a queue is shared. [MS-MQMP] 3.1.4.2, 3.1.4.17"""

_FOR_SENDING_ONLY = (QueueFormatType.DL, QueueFormatType.MULTICAST)


class RemoteQueueOpenContextHandle(msgspec.Struct, eq=False, kw_only=True):
    """A PCTX_OPENREMOTE_HANDLE_TYPE. [MS-MQMP] 3.1.1.8"""

    handle: ContextHandle = ContextHandle()
    open_queue_descriptor_reference: OpenQueueDescriptor


class RemoteQueueMethods(QmcommMethods):
    """R_QMGetRemoteQueueName to R_QMCreateRemoteCursor."""

    def r_qm_get_remote_queue_name(self, call: ServerCall, request: GetRemoteQueueNameRequest) -> None:
        """Give the path name of a remote queue; obsolete. [MS-MQMP] 3.1.4.1"""
        if not self.environment.obsolete_methods:
            return call.throw(Status.MQ_ERROR_ILLEGAL_OPERATION)
        if request.lplp_remote_queue_name:
            return fail(call, Status.MQ_ERROR_INVALID_PARAMETER)
        proxy = remote_queue_of_context(self.manager, request.p_queue)
        if proxy is None:
            return fail(call, Status.MQ_ERROR_INVALID_HANDLE)
        call.reply(GetRemoteQueueNameResponse(lplp_remote_queue_name=WcharText.of(proxy.path_name)))

    def r_qm_open_remote_queue(self, call: ServerCall, request: OpenRemoteQueueRequest) -> None:
        """Open a queue of this server for another one. [MS-MQMP] 3.1.4.2

        Neither licences nor kinds of operating systems are counted.
        """
        if request.p_queue_format is None:
            return fail(call, Status.MQ_ERROR_INVALID_PARAMETER)
        name = name_of(request.p_queue_format)
        if name is None:
            return fail(call, Status.MQ_ERROR_ILLEGAL_FORMATNAME)
        if name.kind in _FOR_SENDING_ONLY or name.protocol in ("HTTP", "HTTPS"):
            return fail(call, Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION)
        access = _ACCESS.get(request.dw_desired_access)
        if access is None:
            return fail(call, Status.MQ_ERROR_UNSUPPORTED_ACCESS_MODE)
        share_mode = SHARE_MODES.get(request.dw_share_mode)
        if share_mode is None:
            return fail(call, Status.MQ_ERROR_INVALID_PARAMETER)
        status, descriptor = open_queue(self.manager, str(name), access, share_mode)
        if descriptor is None:
            shared = status == Status.MQ_ERROR_SHARING_VIOLATION
            return fail(call, Status.STATUS_SHARING_VIOLATION if shared else status)
        descriptor.remote_read_state = RemoteReadState.OPENED
        opened = RemoteQueueOpenContextHandle(open_queue_descriptor_reference=descriptor)
        opened.handle = call.association.handle(self.manager, opened)
        call.reply(
            OpenRemoteQueueResponse(
                pph_context=opened.handle,
                pdw_context=descriptor.handle,
                dwp_queue=descriptor.handle,
                ph_queue=descriptor.handle,
            )
        )

    def r_qm_close_remote_queue_context(self, call: ServerCall, request: CloseRemoteQueueContext) -> None:
        """Let go of the handle, and of the queue unless it is read already. [MS-MQMP] 3.1.4.3"""
        opened = call.association.thing(request.pph_context, RemoteQueueOpenContextHandle)
        if opened is None:
            return call.reply(request)
        self._close_remote(call.association, opened)
        call.reply(CloseRemoteQueueContext())

    def _close_remote(self, association: ClientAssociation, opened: RemoteQueueOpenContextHandle) -> None:
        descriptor = opened.open_queue_descriptor_reference
        if descriptor.remote_read_state is RemoteReadState.OPENED:
            close_queue(self.manager, descriptor)
        association.forget(opened.handle)

    def r_qm_create_remote_cursor(self, call: ServerCall, request: CreateRemoteCursorRequest) -> None:
        """Make a cursor for a queue that is read through qm2qm. [MS-MQMP] 3.1.4.4"""
        descriptor = self.manager.descriptors.get(request.h_queue)
        cursor = None if descriptor is None else open_cursor(descriptor)
        if cursor is None:
            return fail(call, Status.MQ_ERROR_INVALID_HANDLE)
        call.reply(CreateRemoteCursorResponse(ph_cursor=cursor.handle))

    def rundown_remote_queues(self, association: ClientAssociation) -> None:
        """Let go of what another client's server opened and has not taken over. [MS-MQMP] 3.1.7.2"""
        for thing in list(association.handles.values()):
            if isinstance(thing, RemoteQueueOpenContextHandle):
                self._close_remote(association, thing)
