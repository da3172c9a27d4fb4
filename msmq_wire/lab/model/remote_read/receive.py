"""RemoteRead: receives in two phases, opnums 7, 8, 9, 13 and 15. [MS-MQRR] 3.1.4.7 to 3.1.4.9, .13, .15

The rule kept here: what the parameters alone decide is decided before the queue is looked at, and a call that
fails has changed neither the queue nor a cursor nor the table of pending requests.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from msmq_wire.lab.model.data.elements import (
    Cursor,
    ModelMessage,
    ModelQueueManager,
    OpenQueueDescriptor,
    Transaction,
)
from msmq_wire.lab.model.data.enumerations import MessageSeekAction, QueueAccessType
from msmq_wire.lab.model.data.message_packet import begin_read, message_packet, packet_sections
from msmq_wire.lab.model.events.message import (
    dequeue_message_begin,
    peek_message,
    peek_next_message,
    read_message_by_lookup_identifier,
)
from msmq_wire.lab.model.events.position import cancel_waiting_message_read_request
from msmq_wire.lab.model.events.transaction import create_transaction
from msmq_wire.lab.model.interface_server import BAD_STUB_DATA, InterfaceServer, ServerCall
from msmq_wire.lab.model.remote_read.pending import CLEANUP_TIMEOUT, PendingRequestTable, QueueContext
from msmq_wire.rpc.constants import ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces.method import Interface
from msmq_wire.rpc.interfaces.remote_read import (
    INTERFACE,
    CancelReceiveRequest,
    EndReceiveRequest,
    StartReceiveRequest,
    StartReceiveResponse,
    StartTransactionalReceiveRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import StatusResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.wire.types.guid import NULL_GUID

CONTEXT_MISMATCH = 0x1C00001A
"""nca_s_fault_context_mismatch"""

_ACTIONS = {int(action): action for action in ReceiveAction}
_SEEKS = {
    ReceiveAction.MQ_LOOKUP_PEEK_CURRENT: MessageSeekAction.SEEK_CURRENT,
    ReceiveAction.MQ_LOOKUP_PEEK_NEXT: MessageSeekAction.SEEK_NEXT,
    ReceiveAction.MQ_LOOKUP_PEEK_PREV: MessageSeekAction.SEEK_PREVIOUS,
    ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT: MessageSeekAction.SEEK_CURRENT,
    ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT: MessageSeekAction.SEEK_NEXT,
    ReceiveAction.MQ_LOOKUP_RECEIVE_PREV: MessageSeekAction.SEEK_PREVIOUS,
}
_LOW_7_BYTES = (1 << 56) - 1
_DWORD = 0xFFFF_FFFF

_Refusal: TypeAlias = Status | None


def action_of(request: StartReceiveRequest) -> ReceiveAction | None:
    """The action, where LookupId, hCursor and ulTimeout fit it; None for a call that is invalid by itself."""
    action = _ACTIONS.get(request.ul_action)
    if action is None:
        return None
    if action.lookup:
        fits = request.lookup_id != 0 and request.h_cursor == 0 and request.ul_timeout == 0
    else:
        cursor_needed = action is ReceiveAction.MQ_ACTION_PEEK_NEXT
        fits = request.lookup_id == 0 and (request.h_cursor != 0 or not cursor_needed)
    return action if fits else None


class RemoteReadReceives(InterfaceServer):
    """The part of the server that reads messages. ``cleanup_timeout`` is in milliseconds."""

    INTERFACE: ClassVar[Interface] = INTERFACE

    def __init__(self, manager: ModelQueueManager, *, cleanup_timeout: int = CLEANUP_TIMEOUT) -> None:
        super().__init__(manager)
        self.pending_request_table = PendingRequestTable(manager, cleanup_timeout)

    def context(self, call: ServerCall, handle: ContextHandle) -> QueueContext | None:
        """What a handle of the client stands for; else the call is refused as the RPC runtime does."""
        context: QueueContext | None = call.association.thing(handle, QueueContext)
        if context is None:
            call.throw(CONTEXT_MISMATCH)
        return context

    def descriptor(self, context: QueueContext) -> OpenQueueDescriptor | None:
        """The descriptor of a handle; None where it was closed by another than the client."""
        found = self.manager.descriptors.get(context.descriptor.handle)
        return found if found is context.descriptor else None

    def r_start_receive(self, call: ServerCall, request: StartReceiveRequest) -> None:
        """Peek a message, or begin to receive it. [MS-MQRR] 3.1.4.7"""
        self._start(call, request, transactional=False)

    def r_start_transactional_receive(
        self, call: ServerCall, request: StartTransactionalReceiveRequest
    ) -> None:
        """Begin to receive a message in a transaction. [MS-MQRR] 3.1.4.13"""
        self._start(call, request, transactional=True)

    def _start(self, call: ServerCall, request: StartReceiveRequest, *, transactional: bool) -> None:
        context = self.context(call, request.ph_context)
        if context is None:
            return
        identifier = NULL_GUID
        if isinstance(request, StartTransactionalReceiveRequest):
            identifier = request.p_transaction_id
        action = action_of(request)
        if action is None or self._in_use(context, request.dw_request_id):
            _refuse(call, Status.MQ_ERROR_INVALID_PARAMETER)
            return
        descriptor = self.descriptor(context)
        if descriptor is None:
            _refuse(call, Status.MQ_ERROR_INVALID_HANDLE)
            return
        if not _permits(descriptor, action, transactional):
            _refuse(call, Status.MQ_ERROR_INVALID_PARAMETER)
            return
        cursor = self.manager.cursors.get(request.h_cursor)
        if request.h_cursor and (cursor is None or cursor.open_queue_descriptor_reference is not descriptor):
            _refuse(call, Status.STATUS_INVALID_HANDLE)
            return
        transaction = None
        if identifier != NULL_GUID:
            refusal = _refuses_transaction(descriptor, action)
            if refusal is not None:
                _refuse(call, refusal)
                return
            transaction = self.manager.transaction_collection.get(bytes(identifier))
            if transaction is None:
                transaction = create_transaction(self.manager, bytes(identifier))
        if action.removes:
            self._receive(call, request, context, cursor, transaction, transactional=transactional)
        else:
            self._peek(call, request, context, cursor, action)

    def _in_use(self, context: QueueContext, request_id: int) -> bool:
        pending = self.pending_request_table.find(context, request_id)
        return pending is not None or request_id in context.waiting_peeks

    def _receive(
        self,
        call: ServerCall,
        request: StartReceiveRequest,
        context: QueueContext,
        cursor: Cursor | None,
        transaction: Transaction | None,
        *,
        transactional: bool,
    ) -> None:
        table = self.pending_request_table
        # Before the event is raised, so that a call that waits can be cancelled.
        entry = table.add(
            context, request.dw_request_id, transactional=transactional, transaction=transaction
        )

        def done(status: int, message: ModelMessage | None) -> None:
            if message is None:
                table.remove(entry)
                _refuse(call, status)
            else:
                if transaction is not None:
                    begin_read(message, transaction)
                table.answered(entry, message.lookup_identifier)
                self._give(call, request, message)

        descriptor, seek = context.descriptor, _SEEKS.get(_ACTIONS[request.ul_action])
        if seek is None:
            dequeue_message_begin(
                descriptor,
                done,
                timeout=request.ul_timeout,
                cursor=cursor,
                transaction=transaction,
                tag=request.dw_request_id,
            )
            table.hold(entry)
        else:
            done(
                *read_message_by_lookup_identifier(
                    descriptor,
                    request.lookup_id,
                    seek,
                    peek_operation=False,
                    transaction=transaction,
                    two_phase_read=True,
                )
            )

    def _peek(
        self,
        call: ServerCall,
        request: StartReceiveRequest,
        context: QueueContext,
        cursor: Cursor | None,
        action: ReceiveAction,
    ) -> None:
        def done(status: int, message: ModelMessage | None) -> None:
            context.waiting_peeks.discard(request.dw_request_id)
            if message is None:
                _refuse(call, status)
            else:
                self._give(call, request, message)

        descriptor, tag, timeout = context.descriptor, request.dw_request_id, request.ul_timeout
        if action in _SEEKS:
            found = read_message_by_lookup_identifier(
                descriptor, request.lookup_id, _SEEKS[action], peek_operation=True
            )
            done(*found)
            return
        context.waiting_peeks.add(tag)
        if action is ReceiveAction.MQ_ACTION_PEEK_NEXT and cursor is not None:
            peek_next_message(descriptor, cursor, done, timeout=timeout, tag=tag)
        else:
            peek_message(descriptor, done, timeout=timeout, cursor=cursor, tag=tag)

    def _give(self, call: ServerCall, request: StartReceiveRequest, message: ModelMessage) -> None:
        sections = packet_sections(
            message_packet(message), request.dw_max_body_size, request.dw_max_compound_message_size
        )
        call.reply(
            StartReceiveResponse(
                pdw_arrive_time=message.arrival_time & _DWORD,
                p_sequence_id=message.lookup_identifier & _LOW_7_BYTES,
                pdw_number_of_sections=len(sections),
                pp_packet_sections=sections,
                status=Status.MQ_OK,
            )
        )

    def r_cancel_receive(self, call: ServerCall, request: CancelReceiveRequest) -> None:
        """Call off a peek or a receive that waits. [MS-MQRR] 3.1.4.8"""
        context = self.context(call, request.ph_context)
        if context is None:
            return
        descriptor = self.descriptor(context)
        status = Status.MQ_ERROR_INVALID_HANDLE
        if descriptor is not None:
            # Who waited is told, and then the entry goes.
            status = Status(cancel_waiting_message_read_request(descriptor, request.dw_request_id))
        call.reply(StatusResponse(status=status))

    def r_end_receive(self, call: ServerCall, request: EndReceiveRequest) -> None:
        """Say whether the message of a receive arrived. [MS-MQRR] 3.1.4.9"""
        self._end(call, request, transactional=False)

    def r_end_transactional_receive(self, call: ServerCall, request: EndReceiveRequest) -> None:
        """Say whether the message of a receive in a transaction arrived. [MS-MQRR] 3.1.4.15"""
        self._end(call, request, transactional=True)

    def _end(self, call: ServerCall, request: EndReceiveRequest, *, transactional: bool) -> None:
        if request.dw_ack not in (RemoteReadAck.RR_NACK, RemoteReadAck.RR_ACK):
            call.throw(BAD_STUB_DATA)
            return
        context = self.context(call, request.ph_context)
        if context is not None:
            call.reply(StatusResponse(status=self._end_status(context, request, transactional)))

    def _end_status(self, context: QueueContext, request: EndReceiveRequest, transactional: bool) -> int:
        table = self.pending_request_table
        if not table.has(context):
            return Status.MQ_ERROR_INVALID_HANDLE
        entry = table.find(context, request.dw_request_id)
        # One that was begun for a transaction but without one may be ended either way.
        if entry is None or (not entry.transactional if transactional else entry.transaction is not None):
            return Status.MQ_ERROR_INVALID_PARAMETER
        table.remove(entry)
        if entry.waiting:
            return Status.MQ_ERROR_MESSAGE_NOT_FOUND
        if self.descriptor(context) is None:
            return Status.MQ_ERROR_INVALID_HANDLE
        return table.end(entry, delete_message=request.dw_ack == RemoteReadAck.RR_ACK)


def _refuse(call: ServerCall, status: int) -> None:
    call.reply(StartReceiveResponse(status=status))


def _permits(descriptor: OpenQueueDescriptor, action: ReceiveAction, transactional: bool) -> bool:
    """Whether a queue was opened for an action."""
    access = descriptor.access_type
    if access is QueueAccessType.RECEIVE_ACCESS:
        return True
    return access is QueueAccessType.PEEK_ACCESS and not action.removes and not transactional


def _refuses_transaction(descriptor: OpenQueueDescriptor, action: ReceiveAction) -> _Refusal:
    queue = descriptor.queue_reference
    if queue is None:
        return Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
    if not queue.transactional or not action.removes:
        return Status.MQ_ERROR_TRANSACTION_USAGE
    return None
