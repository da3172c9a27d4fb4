"""Sending, peeking and receiving, from the client's side. [MS-MQMP] 3.1.5.1 to 3.1.5.3, 3.2.4.10 to 3.2.4.12

The rule kept here: of an answer that is a failure, nothing is read but its status.
"""

from __future__ import annotations

import msgspec

from msmq_wire.lab.model.qmcomm.client.machine import MachineOperations
from msmq_wire.lab.model.qmcomm.client.planned_calls import (
    EnlistedTransaction,
    OpenQueueContext,
    PlannedCall,
    Result,
    Steps,
    answered,
)
from msmq_wire.lab.model.qmcomm.client.request_buffers import Room, receiving_buffer, sending_buffer
from msmq_wire.lab.model.qmcomm.transfer_checks import check_send, undispatched
from msmq_wire.rpc.constants import AccessMode, ReceiveAction
from msmq_wire.rpc.interfaces.qmcomm2 import (
    QMSendMessageInternalExRequest,
    RpcACReceiveMessageExRequest,
    RpcACSendMessageExRequest,
)
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import MessageProperties, message_properties
from msmq_wire.rpc.types.queue_format import ObjectId, QueueFormat
from msmq_wire.wire.names import FormatName, QueueFormatType
from msmq_wire.wire.types.guid import GUID

_DWORDS = 1 << 32
_DEFAULT_ROOM = Room()


class MessageOperations(MachineOperations):
    """Send to, peek in and receive from open queues."""

    def send(
        self,
        queue: OpenQueueContext,
        properties: MessageProperties,
        transaction: EnlistedTransaction | None = None,
        *,
        identifier_wanted: bool = True,
    ) -> Steps[Result[ObjectId]]:
        """Send a message; the value is its identifier, None where that is not wanted. [MS-MQMP] 3.2.4.10

        ``properties`` are those of `MessageProperties` that a message has before it is sent; what is None
        gets its default from the server, for TimeToReachQueue from its settings. One that is told to come
        again does.
        """
        queue.check_in_use()
        if queue.access != AccessMode.MQ_SEND_ACCESS:
            raise ValueError(f"{queue.format_name} was not opened to send")
        name = FormatName.parse(queue.format_name)
        if properties.time_to_reach_queue is None:
            default = self.default_time_to_reach_queue
            properties = msgspec.structs.replace(properties, time_to_reach_queue=default)
        buffer = sending_buffer(properties, self._identifier(queue, transaction))
        refused = check_send(buffer, direct=name.kind is QueueFormatType.DIRECT)
        if refused != Status.MQ_OK or undispatched(buffer) is not None:
            raise ValueError(f"properties that no server takes: 0x{refused:08X}")
        place = ObjectId() if identifier_wanted else None
        request = RpcACSendMessageExRequest(h_queue=queue.handle, ptb=buffer, p_message_id=place)
        answer = yield PlannedCall.of("rpc_ACSendMessageEx", request, queue.endpoint)
        if answer.fault is None and answer.status == Status.STATUS_RETRY:
            again = QMSendMessageInternalExRequest(
                p_queue_format=QueueFormat.of(name), ptb=buffer, p_message_id=place
            )
            answer = yield PlannedCall.of("QMSendMessageInternalEx", again, queue.endpoint)
        status = answered(answer)
        sent = status == Status.MQ_OK
        return Result(status=status, value=answer.response.p_message_id if sent else None)

    def peek(
        self,
        queue: OpenQueueContext,
        *,
        cursor: int = 0,
        next_one: bool = False,
        timeout: int = 0,
        room: Room = _DEFAULT_ROOM,
        asynchronous: bool = False,
    ) -> Steps[Result[MessageProperties]]:
        """Peek the first message, or the one at or behind a cursor; ``timeout`` in milliseconds.

        [MS-MQMP] 3.2.4.11. ``asynchronous`` tells the server that nobody is kept waiting.
        """
        if next_one and not cursor:
            raise ValueError("the next message is that of a cursor")
        action = ReceiveAction.MQ_ACTION_PEEK_NEXT if next_one else ReceiveAction.MQ_ACTION_PEEK_CURRENT
        return (yield from self._read(queue, action, None, cursor, timeout, room, asynchronous))

    def receive(
        self,
        queue: OpenQueueContext,
        transaction: EnlistedTransaction | None = None,
        *,
        cursor: int = 0,
        timeout: int = 0,
        room: Room = _DEFAULT_ROOM,
        asynchronous: bool = False,
    ) -> Steps[Result[MessageProperties]]:
        """Receive the first message, or the one at a cursor; ``timeout`` in milliseconds.

        [MS-MQMP] 3.2.4.12. A message for which ``room`` is too small stays in its queue.
        """
        if queue.access & AccessMode.MQ_PEEK_ACCESS:
            raise ValueError(f"{queue.format_name} was opened to peek")
        action = ReceiveAction.MQ_ACTION_RECEIVE
        return (yield from self._read(queue, action, transaction, cursor, timeout, room, asynchronous))

    def _read(
        self,
        queue: OpenQueueContext,
        action: ReceiveAction,
        transaction: EnlistedTransaction | None,
        cursor: int,
        timeout: int,
        room: Room,
        asynchronous: bool,
    ) -> Steps[Result[MessageProperties]]:
        queue.check_in_use()
        if queue.access == AccessMode.MQ_SEND_ACCESS:
            raise ValueError(f"{queue.format_name} was opened to send")
        if cursor:
            queue.check_cursor(cursor)
        if not 0 <= timeout < _DWORDS:
            raise ValueError(f"{timeout} milliseconds are no time-out")
        buffer = receiving_buffer(
            room,
            action,
            timeout=timeout,
            cursor=cursor,
            asynchronous=asynchronous,
            transaction=self._identifier(queue, transaction),
        )
        request = RpcACReceiveMessageExRequest(h_qm_context=queue.context, ptb=buffer)
        answer = yield PlannedCall.of("rpc_ACReceiveMessageEx", request, queue.endpoint)
        status = answered(answer)
        if status != Status.MQ_OK:
            return Result(status=status)
        return Result(status=status, value=message_properties(answer.response.ptb))

    def _identifier(self, queue: OpenQueueContext, transaction: EnlistedTransaction | None) -> GUID | None:
        """pUow: of a transaction that the server of the queue is enlisted in."""
        if transaction is None:
            return None
        if transaction.ended or transaction.endpoint.computer != queue.endpoint.computer:
            raise ValueError("the transaction has ended, or is that of another server")
        return transaction.identifier
