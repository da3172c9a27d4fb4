"""The server of qmcomm2: an application sends to and receives from its supporting server. [MS-MQMP] 3.1.5

The rule kept here: a message that does not fit the buffer of who receives it stays where it is, and a
cursor that would have moved over it does, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import msgspec

from msmq_wire.errors import EncodeError, FormatNameError
from msmq_wire.lab.model.data.elements import (
    Cursor,
    ModelMessage,
    ModelQueueManager,
    OpenQueueDescriptor,
    OutgoingQueue,
    Transaction,
)
from msmq_wire.lab.model.data.enumerations import QueueAccessType
from msmq_wire.lab.model.events.cursor import open_cursor
from msmq_wire.lab.model.events.enqueue import enqueue_message_to_an_open_queue
from msmq_wire.lab.model.events.message import (
    dequeue_message,
    dequeue_message_end,
    peek_message,
    peek_next_message,
)
from msmq_wire.lab.model.events.position import (
    cancel_waiting_message_read_request,
    message_position_available,
)
from msmq_wire.lab.model.events.queue import close_queue, find_queue, open_queue
from msmq_wire.lab.model.interface_server import CallResult, ClientAssociation, InterfaceServer, ServerCall
from msmq_wire.lab.model.qmcomm.local_queue_context import (
    LocalQueueContextHandle,
    RemoteQueueProxyHandle,
    add_cursor_proxy,
    local_queue_of_context,
    remote_queue_of_context,
    rundown_queue_handles,
)
from msmq_wire.lab.model.qmcomm.remote_receive import receive_remotely
from msmq_wire.lab.model.qmcomm.sent_message import properties_to_send, sent_message, sent_to
from msmq_wire.lab.model.qmcomm.transfer_buffers import filled_buffer, properties_to_receive
from msmq_wire.lab.model.qmcomm.transfer_checks import check_receive, check_send, undispatched
from msmq_wire.rpc.constants import ReceiveAction
from msmq_wire.rpc.interfaces.method import Interface
from msmq_wire.rpc.interfaces.qmcomm2 import (
    INTERFACE,
    MessageIdResponse,
    QMSendMessageInternalExRequest,
    RpcACCreateCursorExRequest,
    RpcACCreateCursorExResponse,
    RpcACReceiveMessageExRequest,
    RpcACReceiveMessageExResponse,
    RpcACSendMessageExRequest,
)
from msmq_wire.rpc.interfaces.qmcomm_queues import CreateRemoteCursorRequest
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CACCreateRemoteCursor,
    CACTransferBufferV1,
    CACTransferBufferV2,
    TransferSend,
)
from msmq_wire.rpc.types.queue_format import ObjectId, QueueFormat
from msmq_wire.wire.names import QueueFormatType

_Deliver: TypeAlias = Callable[[int, CACTransferBufferV2], None]

_PEEKING = (QueueAccessType.PEEK_ACCESS, QueueAccessType.PEEK_ADMIN_ACCESS)
_RECEIVING = (QueueAccessType.RECEIVE_ACCESS, QueueAccessType.RECEIVE_ADMIN_ACCESS)


class _Receive(msgspec.Struct, eq=False):
    """A receive that was begun; ``descriptor`` is None for a queue of another queue manager."""

    association: ClientAssociation
    tag: int
    descriptor: OpenQueueDescriptor | None = None


class Qmcomm2Server(InterfaceServer):
    """qmcomm2 for a queue manager.

    ``supporting_server`` is SupportingServer of the queue manager. ``answers_retry`` makes it one that
    answers STATUS_RETRY to rpc_ACSendMessageEx, as Windows NT and 2000 do, and so serves
    QMSendMessageInternalEx; ``makes_local_cursors`` leaves remote cursors to the client, as servers before
    Windows Server 2003 do. ``decrypt`` gives the clear body of an encrypted message, or None.
    """

    INTERFACE: ClassVar[Interface] = INTERFACE

    def __init__(
        self,
        manager: ModelQueueManager,
        *,
        supporting_server: bool = True,
        answers_retry: bool = False,
        makes_local_cursors: bool = False,
        decrypt: Callable[[MessageProperties], bytes | None] = lambda _: None,
    ) -> None:
        super().__init__(manager)
        self.supporting_server = supporting_server
        self.answers_retry = answers_retry
        self.makes_local_cursors = makes_local_cursors
        self.decrypt = decrypt
        self._receives: dict[int, _Receive] = {}
        self._last_tag = 0

    def rundown(self, association: ClientAssociation) -> None:
        """The client is gone, and with it its open queues, cursors and waiting receives. [MS-MQMP] 3.1.7.1

        A receive may wait in a queue that another client opened: what comes there is not for who is gone.
        """
        for receive in [one for one in self._receives.values() if one.association is association]:
            del self._receives[receive.tag]
            if receive.descriptor is not None:
                cancel_waiting_message_read_request(receive.descriptor, receive.tag)
        rundown_queue_handles(self.manager, association)

    def qm_send_message_internal_ex(self, call: ServerCall, request: QMSendMessageInternalExRequest) -> None:
        """QMSendMessageInternalEx: open, send and close. [MS-MQMP] 3.1.5.1"""
        if request.ptb is not None and (fault := undispatched(request.ptb)) is not None:
            call.throw(fault)
            return
        status, name = self._send_internal(request)
        call.reply(MessageIdResponse(p_message_id=_reported(request.p_message_id, name), status=status))

    def _send_internal(self, request: QMSendMessageInternalExRequest) -> tuple[int, ObjectId | None]:
        if not self.supporting_server:
            return Status.MQ_ERROR, None
        if not self.answers_retry:
            return Status.MQ_ERROR_ILLEGAL_OPERATION, None
        status, format_name = self._local_name(request.p_queue_format)
        if status != Status.MQ_OK:
            return status, None
        direct = request.p_queue_format.m_qft in (QueueFormatType.DIRECT, QueueFormatType.SUBQUEUE)
        if check_send(request.ptb, direct=direct) != Status.MQ_OK:
            return Status.MQ_ERROR_INVALID_PARAMETER, None
        _, descriptor = open_queue(self.manager, format_name, QueueAccessType.SEND_ACCESS)
        if descriptor is None:
            return Status.MQ_ERROR_QUEUE_NOT_FOUND, None
        sent = self._send(descriptor, request.ptb, retried=True)
        close_queue(self.manager, descriptor)
        return sent

    def _local_name(self, queue_format: QueueFormat | None) -> tuple[int, str]:
        """The name of a queue of this queue manager, which is sent to without being open."""
        if queue_format is None:
            return Status.MQ_ERROR_INVALID_PARAMETER, ""
        name = queue_format.format_name
        if name is None:
            return Status.MQ_ERROR_ILLEGAL_FORMATNAME, ""
        if name.kind is QueueFormatType.MACHINE or name.is_system:
            return Status.MQ_ERROR_ACCESS_DENIED, ""
        here = find_queue(self.manager, name) is not None or name.host.casefold() in self._hosts()
        if not here:
            return Status.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION, ""
        return Status.MQ_OK, str(name)

    def _hosts(self) -> set[str]:
        manager = self.manager
        names = (manager.computer_name, manager.qualified_computer_name, *manager.addresses, ".", "localhost")
        return {name.casefold() for name in names if name}

    def rpc_ac_send_message_ex(self, call: ServerCall, request: RpcACSendMessageExRequest) -> None:
        """rpc_ACSendMessageEx: a message for an open queue. [MS-MQMP] 3.1.5.2"""
        if request.ptb is not None and (fault := undispatched(request.ptb)) is not None:
            call.throw(fault)
            return
        status, name = self._send_open(call.association, request)
        call.reply(MessageIdResponse(p_message_id=_reported(request.p_message_id, name), status=status))

    def _send_open(
        self, association: ClientAssociation, request: RpcACSendMessageExRequest
    ) -> tuple[int, ObjectId | None]:
        if not self.supporting_server:
            return Status.MQ_ERROR, None
        opened = association.thing(request.h_queue, LocalQueueContextHandle)
        if opened is None:
            return Status.MQ_ERROR_INVALID_HANDLE, None
        descriptor: OpenQueueDescriptor = opened.open_queue_descriptor_reference
        if descriptor.access_type is not QueueAccessType.SEND_ACCESS:
            return Status.MQ_ERROR_ACCESS_DENIED, None
        if _stale(descriptor):
            return Status.MQ_ERROR_STALE_HANDLE, None
        status = check_send(request.ptb, direct=descriptor.format_name.upper().startswith("DIRECT="))
        if status != Status.MQ_OK:
            return status, None
        return self._send(descriptor, request.ptb)

    def _send(
        self, descriptor: OpenQueueDescriptor, buffer: CACTransferBufferV2, *, retried: bool = False
    ) -> tuple[int, ObjectId | None]:
        """Send what was checked; ``retried`` if the client was told to come here."""
        if buffer.old.b_encrypted and self.answers_retry and not retried:
            return Status.STATUS_RETRY, None
        transaction: Transaction | None = None
        if buffer.old.p_uow is not None:
            transaction = self.manager.transaction_collection.get(bytes(buffer.old.p_uow))
            if transaction is None:
                return Status.MQ_ERROR_TRANSACTION_ENLIST, None
        properties = properties_to_send(buffer, self.manager, transaction)
        here = not isinstance(descriptor.queue_reference, OutgoingQueue)
        if here and properties.body_encrypted and properties.symmetric_key:
            body = self.decrypt(properties)
            if body is None:
                return Status.MQ_ERROR_CORRUPTED_SECURITY_DATA, None
            properties = msgspec.structs.replace(
                properties, body=body, body_length=len(body), body_encrypted=False
            )
        # The packet for each queue of several has its own destination.
        several = descriptor.open_queue_descriptor_collection if descriptor.multiple else (descriptor,)
        try:
            messages = [
                (one, sent_message(sent_to(properties, one), self.manager, transaction)) for one in several
            ]
        except (EncodeError, FormatNameError):
            return Status.MQ_ERROR_INVALID_PARAMETER, None
        for one, message in messages:
            if enqueue_message_to_an_open_queue(one, message, transaction):
                return Status.MQ_ERROR_INSUFFICIENT_RESOURCES, None
        return Status.MQ_OK, properties.identifier

    def rpc_ac_receive_message_ex(self, call: ServerCall, request: RpcACReceiveMessageExRequest) -> None:
        """rpc_ACReceiveMessageEx: peek or receive, now or when there is a message. [MS-MQMP] 3.1.5.3"""
        if request.ptb is not None and (fault := undispatched(request.ptb)) is not None:
            call.throw(fault)
            return

        self._last_tag += 1
        receive = self._receives[self._last_tag] = _Receive(call.association, self._last_tag)

        def answer(status: int, buffer: CACTransferBufferV2) -> None:
            self._receives.pop(receive.tag, None)
            call.reply(RpcACReceiveMessageExResponse(ptb=buffer, status=status))

        if not self.supporting_server:
            answer(Status.MQ_ERROR, request.ptb)
            return
        status = self._receive(receive, request.h_qm_context, request.ptb, answer)
        if status != Status.MQ_OK:
            answer(status, request.ptb)

    def _receive(self, receive: _Receive, context: int, buffer: CACTransferBufferV2, answer: _Deliver) -> int:
        """Begin to receive; the status is that of what forbids it, and no answer comes then."""
        proxy = remote_queue_of_context(self.manager, context)
        opened = local_queue_of_context(self.manager, context)
        descriptor: OpenQueueDescriptor | None = None
        if proxy is None:
            if opened is None:
                return Status.MQ_ERROR_INVALID_HANDLE
            descriptor = opened.open_queue_descriptor_reference
            if descriptor.access_type not in (*_PEEKING, *_RECEIVING):
                return Status.MQ_ERROR_ACCESS_DENIED
            if _stale(descriptor):
                return Status.MQ_ERROR_STALE_HANDLE
        if (status := check_receive(buffer)) != Status.MQ_OK:
            return status
        transaction: Transaction | None = None
        if buffer.old.p_uow is not None:
            transaction = self.manager.transaction_collection.get(bytes(buffer.old.p_uow))
            if transaction is None or proxy is not None:
                return Status.MQ_ERROR_TRANSACTION_USAGE
        if proxy is not None:
            return receive_remotely(
                self.manager, proxy, buffer, answer, waits=lambda: receive.tag in self._receives
            )
        assert descriptor is not None
        receive.descriptor = descriptor
        return self._receive_here(descriptor, receive.tag, transaction, buffer, answer)

    def _receive_here(
        self,
        descriptor: OpenQueueDescriptor,
        tag: int,
        transaction: Transaction | None,
        buffer: CACTransferBufferV2,
        answer: _Deliver,
    ) -> int:
        wanted = buffer.old.arm
        action = wanted.action
        if action == ReceiveAction.MQ_ACTION_RECEIVE and descriptor.access_type in _PEEKING:
            return Status.MQ_ERROR_ACCESS_DENIED
        cursor: Cursor | None = None
        if wanted.cursor:
            cursor = next((one for one in descriptor.cursor_collection if one.handle == wanted.cursor), None)
            if cursor is None:
                return Status.MQ_ERROR_INVALID_HANDLE
        elif action == ReceiveAction.MQ_ACTION_PEEK_NEXT:
            return Status.MQ_ERROR_ILLEGAL_CURSOR_ACTION
        if action == ReceiveAction.MQ_ACTION_RECEIVE:
            self._dequeue(descriptor, tag, cursor, transaction, buffer, answer)
            return Status.MQ_OK

        def peeked(status: int, message: ModelMessage | None) -> None:
            answer(*self._filled(buffer, status, message))

        timeout = wanted.request_timeout
        if action == ReceiveAction.MQ_ACTION_PEEK_NEXT:
            peek_next_message(descriptor, cursor, peeked, timeout=timeout, tag=tag)
        else:
            peek_message(descriptor, peeked, timeout=timeout, cursor=cursor, tag=tag)
        return Status.MQ_OK

    def _dequeue(
        self,
        descriptor: OpenQueueDescriptor,
        tag: int,
        cursor: Cursor | None,
        transaction: Transaction | None,
        buffer: CACTransferBufferV2,
        answer: _Deliver,
    ) -> None:
        """Dequeue Message, in two phases so that a message which does not fit can stay."""
        before = None if cursor is None else (cursor.cursor_state, cursor.message_position_reference)

        def dequeued(status: int, message: ModelMessage | None) -> None:
            filled = self._filled(buffer, status, message)
            if message is not None and filled[0] == Status.MQ_OK:
                dequeue_message_end(
                    descriptor, message, delete_message=True, transactional=transaction is not None
                )
            elif message is not None:
                if cursor is not None and before is not None:
                    cursor.cursor_state, cursor.message_position_reference = before
                _put_back(message, transaction)
            answer(*filled)

        dequeue_message(
            descriptor,
            dequeued,
            timeout=buffer.old.arm.request_timeout,
            cursor=cursor,
            transaction=transaction,
            tag=tag,
            two_phase_read=True,
        )

    def _filled(
        self, buffer: CACTransferBufferV2, status: int, message: ModelMessage | None
    ) -> tuple[int, CACTransferBufferV2]:
        if message is None:
            return status, buffer
        return filled_buffer(buffer, properties_to_receive(message, self.manager.current_time))

    def rpc_ac_create_cursor_ex(self, call: ServerCall, request: RpcACCreateCursorExRequest) -> None:
        """rpc_ACCreateCursorEx: a cursor for an open queue. [MS-MQMP] 3.1.5.4"""

        def answer(status: int, cursor: int = 0, **remote: Any) -> None:
            made = CACCreateRemoteCursor(h_cursor=cursor, **remote)
            call.reply(RpcACCreateCursorExResponse(pcc=made, status=status))

        if not self.supporting_server:
            answer(Status.MQ_ERROR)
            return
        opened = call.association.thing(request.h_queue, (LocalQueueContextHandle, RemoteQueueProxyHandle))
        if opened is None:
            answer(Status.MQ_ERROR_INVALID_HANDLE)
        elif request.pcc is None:
            answer(Status.MQ_ERROR_INVALID_PARAMETER)
        elif isinstance(opened, RemoteQueueProxyHandle):
            self._create_remote_cursor(opened, answer)
        elif _stale(opened.open_queue_descriptor_reference):
            answer(Status.MQ_ERROR_STALE_HANDLE)
        else:
            cursor = open_cursor(opened.open_queue_descriptor_reference)
            if cursor is None:
                answer(Status.MQ_ERROR_INVALID_HANDLE)
            else:
                answer(Status.MQ_OK, cursor.handle)

    def _create_remote_cursor(self, proxy: RemoteQueueProxyHandle, answer: Callable[..., None]) -> None:
        if self.makes_local_cursors:
            answer(
                Status.MQ_INFORMATION_REMOTE_OPERATION,
                add_cursor_proxy(self.manager, proxy).handle,
                srv_h_ac_queue=proxy.remote_context,
                cli_p_qm_queue=proxy.context,
            )
            return

        def made(got: CallResult) -> None:
            if got.status == Status.MQ_OK and got.response is not None:
                cursor = add_cursor_proxy(self.manager, proxy, got.response.ph_cursor)
                answer(Status.MQ_OK, cursor.handle)
            else:
                answer(Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE)

        # The buffer means nothing, but has to be there.
        empty = CACTransferBufferV1(arm=TransferSend())
        request = CreateRemoteCursorRequest(ptb1=empty, h_queue=proxy.remote_context)
        proxy.remote_binding_handle("R_QMCreateRemoteCursor", request, made)


def _reported(wanted: ObjectId | None, name: ObjectId | None) -> ObjectId | None:
    """pMessageID: the new name for who gave room for it, else what came."""
    return wanted if wanted is None or name is None else name


def _stale(descriptor: OpenQueueDescriptor) -> bool:
    """Whether the queue was deleted since it was opened."""
    return descriptor.queue_reference is None and not descriptor.multiple


def _put_back(message: ModelMessage, transaction: Transaction | None) -> None:
    """A message that was taken can be read again."""
    position = message.message_position_reference
    assert position is not None
    if transaction is not None:
        operations = transaction.transactional_operation_collection
        operations[:] = [one for one in operations if one.message_position_reference is not position]
    message_position_available(position.queue_reference, position)
