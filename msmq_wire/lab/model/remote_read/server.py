"""RemoteRead as a server of the model: how other queue managers read its queues. [MS-MQRR] 3.1

The rule kept here: a handle, and all that was begun with it, ends with R_CloseQueue or with its client.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TypeAlias

from msmq_wire.lab.model.data.elements import (
    ModelQueueManager,
    OpenQueueDescriptor,
    Queue,
    TransactionalOperation,
)
from msmq_wire.lab.model.data.enumerations import (
    OperationType,
    PositionState,
    QueueAccessType,
    QueueShareMode,
)
from msmq_wire.lab.model.data.message_packet import begin_move, count_move
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.events.message import move_message, purge_queue
from msmq_wire.lab.model.events.position import close_cursor
from msmq_wire.lab.model.events.queue import close_queue, find_queue, open_queue
from msmq_wire.lab.model.events.transaction import create_transaction
from msmq_wire.lab.model.interface_server import BAD_STUB_DATA, ClientAssociation, ServerCall
from msmq_wire.lab.model.remote_read.pending import CLEANUP_TIMEOUT, QueueContext
from msmq_wire.lab.model.remote_read.receive import RemoteReadReceives
from msmq_wire.rpc.constants import AccessMode, ShareMode
from msmq_wire.rpc.interfaces.remote_read import (
    CloseCursorRequest,
    CloseQueueRequest,
    CloseQueueResponse,
    ContextRequest,
    CreateCursorResponse,
    MoveMessageRequest,
    OpenQueueForMoveResponse,
    OpenQueueRequest,
    OpenQueueResponse,
    QMEnlistRemoteTransactionRequest,
    SetUserAcknowledgementClassRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters, PortResponse, StatusResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName, QueueFormatType
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID

Permits: TypeAlias = Callable[[ClientAssociation, Queue, QueueAccessType], bool]
"""Says whether a client may open a queue so."""
Enlist: TypeAlias = Callable[[bytes, bytes], int]
"""Takes a transaction's identifier and propagation token to its transaction manager; gives a status."""

_TOKEN_LIMIT = 131_072
_FIRST_PORT, _PORT_STEP, _PORT_LIMIT = 2103, 11, 0x10000
_NAMES = (
    QueueFormatType.PUBLIC,
    QueueFormatType.PRIVATE,
    QueueFormatType.DIRECT,
    QueueFormatType.MACHINE,
    QueueFormatType.SUBQUEUE,
)
_SHARE_MODES: dict[int, QueueShareMode] = {
    ShareMode.MQ_DENY_NONE: QueueShareMode.DENY_NONE,
    ShareMode.MQ_DENY_RECEIVE_SHARE: QueueShareMode.DENY_RECEIVE,
}


def _everybody(association: ClientAssociation, queue: Queue, access: QueueAccessType) -> bool:
    return True


def _enlist(identifier: bytes, token: bytes) -> int:
    return Status.MQ_OK


class RemoteReadServer(RemoteReadReceives):
    """The interface RemoteRead. [MS-MQRR] 3.1.4

    ``ports_in_use`` are those that its own port must not be; ``cleanup_timeout`` is the Pending Request
    Cleanup Timer in milliseconds; ``permits`` stands for the access checks of 2.1 and ``enlist`` for the
    transaction manager of 3.1.4.12. Without them everybody may do everything and every token is good.
    """

    def __init__(
        self,
        manager: ModelQueueManager,
        *,
        ports_in_use: Container[int] = (),
        cleanup_timeout: int = CLEANUP_TIMEOUT,
        permits: Permits = _everybody,
        enlist: Enlist = _enlist,
    ) -> None:
        super().__init__(manager, cleanup_timeout=cleanup_timeout)
        ports = range(_FIRST_PORT, _PORT_LIMIT, _PORT_STEP)
        self.port = next((port for port in ports if port not in ports_in_use), 0)
        self._permits = permits
        self._enlist = enlist

    def r_get_server_port(self, call: ServerCall, request: NoParameters) -> None:
        """Name the port of the interface; 0 where none was free. [MS-MQRR] 3.1.4.1"""
        call.reply(PortResponse(return_value=self.port))

    def r_open_queue(self, call: ServerCall, request: OpenQueueRequest) -> None:
        """Open a queue to read from it. [MS-MQRR] 3.1.4.2"""
        receive = request.dw_access == AccessMode.MQ_RECEIVE_ACCESS
        access = QueueAccessType.RECEIVE_ACCESS if receive else QueueAccessType.PEEK_ACCESS
        descriptor = self._open(call, request, access)
        if descriptor is not None:
            call.reply(OpenQueueResponse(pph_context=self._handle(call, descriptor)))

    def r_open_queue_for_move(self, call: ServerCall, request: OpenQueueRequest) -> None:
        """Open a queue to move messages into it. [MS-MQRR] 3.1.4.11"""
        if request.dw_access != AccessMode.MQ_MOVE_ACCESS:
            call.throw(Status.MQ_ERROR_INVALID_PARAMETER)
            return
        descriptor = self._open(call, request, QueueAccessType.MOVE_ACCESS)
        if descriptor is None:
            return
        descriptor.context_value = self._new_move_context()
        call.reply(
            OpenQueueForMoveResponse(
                p_move_context=descriptor.context_value, pph_context=self._handle(call, descriptor)
            )
        )

    def _open(
        self, call: ServerCall, request: OpenQueueRequest, access: QueueAccessType
    ) -> OpenQueueDescriptor | None:
        # Pointers that cannot be NULL on the wire can be where the method is called in place.
        queue_format: QueueFormat | None = request.p_queue_format
        client_id: GUID | None = request.p_client_id
        if queue_format is not None and queue_format.m_qft > max(QueueFormatType):
            call.throw(BAD_STUB_DATA)
            return None
        name = None if queue_format is None else _format_name(queue_format)
        mode = _SHARE_MODES.get(request.dw_share_mode)
        if name is None or mode is None or client_id is None:
            call.throw(Status.MQ_ERROR_INVALID_PARAMETER)
            return None
        queue = find_queue(self.manager, name)
        if queue is None:
            call.throw(Status.MQ_ERROR_QUEUE_NOT_FOUND)
            return None
        if not self._permits(call.association, queue, access):
            call.throw(Status.MQ_ERROR_ACCESS_DENIED)
            return None
        status, descriptor = open_queue(self.manager, str(name), access, mode)
        if descriptor is None:
            call.throw(status)
        return descriptor

    def _handle(self, call: ServerCall, descriptor: OpenQueueDescriptor) -> ContextHandle:
        return call.association.handle(self.manager, QueueContext(descriptor=descriptor))

    def _new_move_context(self) -> int:
        taken = {one.context_value for one in self.manager.descriptors.values()}
        while not (value := self.manager.randomness.getrandbits(64)) or value in taken:
            pass
        return value

    def r_close_queue(self, call: ServerCall, request: CloseQueueRequest) -> None:
        """Close a queue, with its cursors and all that is pending. [MS-MQRR] 3.1.4.3"""
        handle = request.pph_context
        if handle.null:
            call.reply(CloseQueueResponse(pph_context=handle, status=Status.MQ_ERROR_INVALID_HANDLE))
            return
        context = self.context(call, handle)
        if context is None:
            return
        if self.descriptor(context) is None:
            call.reply(CloseQueueResponse(pph_context=handle, status=Status.MQ_ERROR_INVALID_HANDLE))
            return
        call.association.forget(handle)
        self._run_down(context)
        call.reply(CloseQueueResponse(pph_context=ContextHandle(), status=Status.MQ_OK))

    def r_create_cursor(self, call: ServerCall, request: ContextRequest) -> None:
        """Make a cursor. [MS-MQRR] 3.1.4.4"""
        context = self.context(call, request.ph_context)
        if context is None:
            return
        descriptor = self.descriptor(context)
        if descriptor is None or descriptor.access_type is QueueAccessType.MOVE_ACCESS:
            call.reply(CreateCursorResponse(status=Status.MQ_ERROR_INVALID_HANDLE))
            return
        cursor = open_cursor(descriptor)
        if cursor is None:
            call.reply(CreateCursorResponse(status=Status.MQ_ERROR_QUEUE_NOT_AVAILABLE))
        else:
            call.reply(CreateCursorResponse(ph_cursor=cursor.handle, status=Status.MQ_OK))

    def r_close_cursor(self, call: ServerCall, request: CloseCursorRequest) -> None:
        """Close a cursor. [MS-MQRR] 3.1.4.5"""
        context = self.context(call, request.ph_context)
        if context is None:
            return
        descriptor = self.descriptor(context)
        cursor = self.manager.cursors.get(request.h_cursor)
        status = Status.MQ_OK
        if descriptor is None:
            status = Status.MQ_ERROR_INVALID_HANDLE
        elif cursor is None or cursor.open_queue_descriptor_reference is not descriptor:
            status = Status.STATUS_INVALID_HANDLE
        else:
            close_cursor(cursor)
        call.reply(StatusResponse(status=status))

    def r_purge_queue(self, call: ServerCall, request: ContextRequest) -> None:
        """Remove all messages. [MS-MQRR] 3.1.4.6"""
        context = self.context(call, request.ph_context)
        if context is None:
            return
        descriptor = self.descriptor(context)
        status = Status.MQ_OK
        if descriptor is None:
            status = Status.MQ_ERROR_INVALID_HANDLE
        elif descriptor.access_type is not QueueAccessType.RECEIVE_ACCESS:
            status = Status.STATUS_ACCESS_DENIED
        elif descriptor.queue_reference is None:
            status = Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
        else:
            purge_queue(descriptor.queue_reference)
        call.reply(StatusResponse(status=status))

    def r_move_message(self, call: ServerCall, request: MoveMessageRequest) -> None:
        """Move a message between a queue and its subqueues. [MS-MQRR] 3.1.4.10"""
        context = self.context(call, request.ph_context_from)
        if context is not None:
            call.reply(StatusResponse(status=self._move(context, request)))

    def _move(self, context: QueueContext, request: MoveMessageRequest) -> int:
        source_descriptor = self.descriptor(context)
        if source_descriptor is None:
            return Status.MQ_ERROR_INVALID_HANDLE
        if source_descriptor.access_type is not QueueAccessType.RECEIVE_ACCESS:
            return Status.STATUS_ACCESS_DENIED
        number = request.ull_context_to
        opened = self.manager.descriptors.values()
        target_descriptor = next((one for one in opened if number and one.context_value == number), None)
        if target_descriptor is None or target_descriptor.access_type is not QueueAccessType.MOVE_ACCESS:
            return Status.MQ_ERROR_INVALID_HANDLE
        source, target = source_descriptor.queue_reference, target_descriptor.queue_reference
        if source is None or target is None:
            return Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
        if source is target or (source.parent or source) is not (target.parent or target):
            return Status.STATUS_INVALID_PARAMETER
        identifier = bytes(request.p_transaction_id)
        if identifier != NULL_GUID and not target.transactional:
            return Status.MQ_ERROR_TRANSACTION_USAGE
        position = source.message_position_list.find(request.lookup_id)
        if position is None:
            return Status.MQ_ERROR_MESSAGE_NOT_FOUND
        if position.state is not PositionState.AVAILABLE:
            return Status.MQ_ERROR_MESSAGE_LOCKED_UNDER_TRANSACTION
        message = position.message_reference
        if identifier == NULL_GUID:
            # The packet says that it was moved before somebody who waits in the target gets it.
            count_move(message, target, self.manager.current_time)
            move_message(position, target)
            return Status.MQ_OK
        transaction = self.manager.transaction_collection.get(identifier)
        if transaction is None:
            return Status.MQ_ERROR_TRANSACTION_SEQUENCE
        move_message(position, target, transaction)
        begin_move(message, transaction, target, self.manager.current_time)
        return Status.MQ_OK

    def r_qm_enlist_remote_transaction(
        self, call: ServerCall, request: QMEnlistRemoteTransactionRequest
    ) -> None:
        """Enlist in a transaction. [MS-MQRR] 3.1.4.12"""
        token: bytes | None = request.pb_propagation_token
        size = request.cb_propagation_token
        if size > _TOKEN_LIMIT or (token is not None and size != len(token)):
            call.throw(BAD_STUB_DATA)
            return
        transaction_id: GUID | None = request.p_transaction_id
        status: int = Status.MQ_ERROR_INVALID_PARAMETER
        if transaction_id is not None and transaction_id != NULL_GUID and token:
            identifier = bytes(transaction_id)
            status = self._enlist(identifier, token)
            if status == Status.MQ_OK and identifier not in self.manager.transaction_collection:
                create_transaction(self.manager, identifier)
        call.reply(StatusResponse(status=status))

    def r_set_user_acknowledgement_class(
        self, call: ServerCall, request: SetUserAcknowledgementClassRequest
    ) -> None:
        """Reject a message that a transaction receives. [MS-MQRR] 3.1.4.14"""
        context = self.context(call, request.ph_context)
        if context is not None:
            call.reply(StatusResponse(status=self._set_class(context, request)))

    def _set_class(self, context: QueueContext, request: SetUserAcknowledgementClassRequest) -> int:
        descriptor = self.descriptor(context)
        if descriptor is None or descriptor.access_type is not QueueAccessType.RECEIVE_ACCESS:
            return Status.MQ_ERROR_INVALID_HANDLE
        queue = descriptor.queue_reference
        position = None if queue is None else queue.message_position_list.find(request.lookup_id)
        if position is None:
            return Status.MQ_ERROR_MESSAGE_NOT_FOUND
        operation: TransactionalOperation | None = None
        if position.state is not PositionState.AVAILABLE:
            operation = next(
                (
                    one
                    for transaction in self.manager.transaction_collection.values()
                    for one in transaction.transactional_operation_collection
                    if one.message_position_reference is position
                ),
                None,
            )
        if operation is None or operation.operation_type is not OperationType.DEQUEUE:
            return Status.MQ_ERROR_TRANSACTION_USAGE
        if request.us_class:
            # Whichever it is: the two values bind the client.
            operation.dequeue_reason = MessageClass.MQMSG_CLASS_NACK_RECEIVE_REJECTED
        return Status.MQ_OK

    def rpc_failure(self, association: ClientAssociation) -> None:
        """The connection of a client failed: its queues are closed, with their cursors. [MS-MQRR] 3.1.6.1"""
        for context in self._contexts(association):
            descriptor = self.descriptor(context)
            if descriptor is not None:
                for cursor in list(descriptor.cursor_collection):
                    close_cursor(cursor)
                close_queue(self.manager, descriptor)

    def rundown(self, association: ClientAssociation) -> None:
        """The client is gone: its queues are closed and what it received can be read again.

        [MS-MQRR] 3.1.6.1, 3.1.6.2. All queues are closed first, so that no call of the client that waits
        gets what another one let go.
        """
        self.rpc_failure(association)
        for uuid, context in list(association.handles.items()):
            if isinstance(context, QueueContext):
                association.forget(ContextHandle(uuid=uuid))
                self._run_down(context)

    @staticmethod
    def _contexts(association: ClientAssociation) -> list[QueueContext]:
        return [one for one in association.handles.values() if isinstance(one, QueueContext)]

    def _run_down(self, context: QueueContext) -> None:
        descriptor = self.descriptor(context)
        if descriptor is not None:
            close_queue(self.manager, descriptor)
        self.pending_request_table.release(context)


def _format_name(queue_format: QueueFormat) -> FormatName | None:
    """The name of a queue that can be read from; None for another."""
    if queue_format.m_qft not in _NAMES:
        return None
    name = queue_format.format_name
    if name is None or (name.kind is QueueFormatType.DIRECT and name.protocol not in ("TCP", "OS")):
        return None
    return name
