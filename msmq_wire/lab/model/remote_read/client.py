"""The client's side of RemoteRead, without I/O: what it calls, in which order. [MS-MQRR] 3.2

The rule kept here: an operation is a generator that yields a call, which is a method's name and a request,
and is sent its `CallResult`; it returns what the application gets. Whoever drives it owns the connection and
may drive several at once.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from itertools import count
from typing import TypeAlias

import msgspec

from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.remote_read.client_values import (
    ClientTransaction,
    OpenRemoteQueue,
    OpenResult,
    ReceiveResult,
    received_of,
    status_of,
)
from msmq_wire.lab.model.remote_read.receive import action_of
from msmq_wire.rpc.constants import AccessMode, ReceiveAction, RemoteReadAck, ShareMode
from msmq_wire.rpc.interfaces.remote_read import (
    CancelReceiveRequest,
    CloseCursorRequest,
    CloseQueueRequest,
    ContextRequest,
    EndReceiveRequest,
    MoveMessageRequest,
    OpenQueueRequest,
    QMEnlistRemoteTransactionRequest,
    SetUserAcknowledgementClassRequest,
    StartReceiveRequest,
    StartTransactionalReceiveRequest,
)
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters
from msmq_wire.rpc.ndr import NdrStruct
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName, QueueFormatType
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_EVERYTHING = 0xFFFF_FFFF
_DWORDS = 1 << 32
_KINDS = (QueueFormatType.PUBLIC, QueueFormatType.PRIVATE, QueueFormatType.MACHINE)

_Call: TypeAlias = tuple[str, NdrStruct]
_Outcome: TypeAlias = Generator[_Call, CallResult, int]
_Opening: TypeAlias = Generator[_Call, CallResult, OpenResult]
_Reading: TypeAlias = Generator[_Call, CallResult, ReceiveResult]


class RemoteReadClient:
    """Reads queues of one server.

    ``identifier`` is the client's queue manager; ``routing_server`` and ``in_domain`` say what its machine
    is, ``version`` is (major, minor, build) of its operating system. ``randomness`` makes the identifiers of
    internal transactions. Methods raise ValueError for what the application must not ask for.
    """

    def __init__(
        self,
        *,
        identifier: GUID,
        randomness: random.Random,
        routing_server: bool = False,
        in_domain: bool = True,
        version: tuple[int, int, int] = (6, 1, 7601),
    ) -> None:
        self.identifier = identifier
        self.queues: list[OpenRemoteQueue] = []
        self.enlisted: set[GUID] = set()
        self._randomness = randomness
        self._routing_server = routing_server
        self._in_domain = in_domain
        self._version = version
        self._request_ids = count(1)

    def get_server_port(self) -> _Outcome:
        """Ask for the port of the interface; 0 where the server names none. [MS-MQRR] 3.2.4.1"""
        answer = yield "R_GetServerPort", NoParameters()
        port: int = 0 if answer.fault is not None else answer.response.return_value
        return port

    def open_queue(
        self,
        format_name: str,
        access: int = AccessMode.MQ_RECEIVE_ACCESS,
        share_mode: int = ShareMode.MQ_DENY_NONE,
    ) -> _Opening:
        """Open a queue to peek or receive. [MS-MQRR] 3.2.4.1"""
        answer = yield "R_OpenQueue", self._open_request(format_name, access, share_mode)
        return self._opened(answer, format_name, access)

    def open_queue_for_move(self, format_name: str) -> _Opening:
        """Open a queue to move messages into it. [MS-MQRR] 3.1.4.11"""
        access = AccessMode.MQ_MOVE_ACCESS
        answer = yield "R_OpenQueueForMove", self._open_request(format_name, access, ShareMode.MQ_DENY_NONE)
        return self._opened(answer, format_name, access)

    def _open_request(self, format_name: str, access: int, share_mode: int) -> OpenQueueRequest:
        major, minor, build = self._version
        return OpenQueueRequest(
            p_queue_format=QueueFormat.of(_readable(format_name)),
            dw_access=AccessMode(access),
            dw_share_mode=ShareMode(share_mode),
            p_client_id=self.identifier,
            f_non_routing_server=int(not self._routing_server),
            major=major,
            minor=minor,
            build_number=build,
            f_workgroup=int(not self._in_domain),
        )

    def _opened(self, answer: CallResult, format_name: str, access: int) -> OpenResult:
        if answer.fault is not None:
            return OpenResult(status=answer.fault)
        queue = OpenRemoteQueue(
            handle=answer.response.pph_context,
            format_name=format_name,
            access=access,
            move_context=getattr(answer.response, "p_move_context", 0),
        )
        self.queues.append(queue)
        return OpenResult(status=Status.MQ_OK, queue=queue)

    def new_transaction(self) -> ClientTransaction:
        """An internal transaction with an identifier of its own. [MS-MQRR] 2.2.8"""
        return ClientTransaction(identifier=GUID(self._randomness.randbytes(16)))

    def enlist(self, transaction: ClientTransaction, format_name: str) -> _Outcome:
        """Enlist the server in an external transaction, once. [MS-MQRR] 3.2.4.2"""
        token = transaction.propagation_token
        if token is None or transaction.identifier in self.enlisted:
            return Status.MQ_OK
        answer = yield (
            "R_QMEnlistRemoteTransaction",
            QMEnlistRemoteTransactionRequest(
                p_transaction_id=transaction.identifier,
                cb_propagation_token=len(token),
                pb_propagation_token=token,
                p_queue_format=QueueFormat.of(FormatName.parse(format_name)),
            ),
        )
        status = status_of(answer)
        if status == Status.MQ_OK:
            self.enlisted.add(transaction.identifier)
        return status

    def ended(self, transaction: ClientTransaction) -> None:
        """A transaction was committed or aborted."""
        self.enlisted.discard(transaction.identifier)

    def new_request_id(self) -> int:
        """A number that no pending call of this client has."""
        pending = {number for queue in self.queues for number in queue.pending}
        return next(number for each in self._request_ids if (number := each % _DWORDS) not in pending)

    def peek(
        self,
        queue: OpenRemoteQueue,
        action: int = ReceiveAction.MQ_ACTION_PEEK_CURRENT,
        *,
        cursor: int = 0,
        lookup_id: int = 0,
        timeout: int = 0,
        max_body_size: int = _EVERYTHING,
        max_compound_message_size: int = _EVERYTHING,
        request_id: int | None = None,
    ) -> _Reading:
        """Peek a message, with or without a cursor. [MS-MQRR] 3.2.4.3, 3.2.4.9"""
        if ReceiveAction(action).removes or queue.move_context:
            raise ValueError("to peek needs an action that peeks and a queue that was opened to read")
        request = self._start_request(
            queue, action, cursor, lookup_id, timeout, max_body_size, max_compound_message_size, request_id
        )
        try:
            answer = yield "R_StartReceive", request
        finally:
            queue.pending.pop(request.dw_request_id, None)
        return received_of(answer) or ReceiveResult(status=Status.MQ_ERROR)

    def receive(
        self,
        queue: OpenRemoteQueue,
        action: int = ReceiveAction.MQ_ACTION_RECEIVE,
        *,
        transaction: ClientTransaction | None = None,
        cursor: int = 0,
        lookup_id: int = 0,
        timeout: int = 0,
        max_body_size: int = _EVERYTHING,
        max_compound_message_size: int = _EVERYTHING,
        request_id: int | None = None,
    ) -> _Reading:
        """Receive a message, in a transaction or without. [MS-MQRR] 3.2.4.4, 3.2.4.10

        A message that cannot be rebuilt is not acknowledged; its status is MQ_ERROR. Without a transaction
        the message counts as received whatever the acknowledgment came to.
        """
        if not ReceiveAction(action).removes:
            raise ValueError("to receive with an action that peeks")
        _check_receives(queue)
        if transaction is not None:
            status = yield from self.enlist(transaction, queue.format_name)
            if status != Status.MQ_OK:
                return ReceiveResult(status=status)
        request = self._start_request(
            queue, action, cursor, lookup_id, timeout, max_body_size, max_compound_message_size, request_id
        )
        start, end = "R_StartReceive", "R_EndReceive"
        if transaction is not None:
            start, end = "R_StartTransactionalReceive", "R_EndTransactionalReceive"
            request = StartTransactionalReceiveRequest(
                **msgspec.structs.asdict(request), p_transaction_id=transaction.identifier
            )
        try:
            answer = yield start, request
            if status_of(answer) != Status.MQ_OK:
                return ReceiveResult(status=status_of(answer))
            received = received_of(answer)
            ack = RemoteReadAck.RR_NACK if received is None else RemoteReadAck.RR_ACK
            answer = yield (
                end,
                EndReceiveRequest(ph_context=queue.handle, dw_ack=ack, dw_request_id=request.dw_request_id),
            )
        finally:
            queue.pending.pop(request.dw_request_id, None)
        if received is None:
            return ReceiveResult(status=Status.MQ_ERROR)
        if transaction is not None and status_of(answer) != Status.MQ_OK:
            return ReceiveResult(status=status_of(answer))
        return received

    def _start_request(
        self,
        queue: OpenRemoteQueue,
        action: int,
        cursor: int,
        lookup_id: int,
        timeout: int,
        max_body_size: int,
        max_compound_message_size: int,
        request_id: int | None,
    ) -> StartReceiveRequest:
        _check_open(queue)
        _check_cursor(queue, cursor)
        number = self.new_request_id() if request_id is None else request_id
        request = StartReceiveRequest(
            ph_context=queue.handle,
            lookup_id=lookup_id,
            h_cursor=cursor,
            ul_action=action,
            ul_timeout=timeout,
            dw_request_id=number,
            dw_max_body_size=max_body_size,
            dw_max_compound_message_size=max_compound_message_size,
        )
        if number in queue.pending:
            raise ValueError(f"request {number} is pending")
        if action_of(request) is None:
            raise ValueError("cursor, lookup identifier and time-out do not fit the action")
        queue.pending[number] = cursor
        return request

    def reject(self, queue: OpenRemoteQueue, lookup_id: int) -> _Outcome:
        """Reject a message that was received in a transaction. [MS-MQRR] 3.2.4.5"""
        _check_receives(queue)
        answer = yield (
            "R_SetUserAcknowledgementClass",
            SetUserAcknowledgementClassRequest(
                ph_context=queue.handle,
                lookup_id=lookup_id,
                us_class=MessageClass.MQMSG_CLASS_NACK_RECEIVE_REJECTED,
            ),
        )
        return status_of(answer)

    def move(
        self,
        source: OpenRemoteQueue,
        target: OpenRemoteQueue,
        lookup_id: int,
        transaction: ClientTransaction | None = None,
    ) -> _Outcome:
        """Move a message to a queue that was opened for that; ``transaction`` where that is transactional.

        [MS-MQRR] 3.2.4.6
        """
        _check_receives(source)
        _check_open(target)
        if not target.move_context or not _related(source.format_name, target.format_name):
            raise ValueError(
                "the target must be opened for moves and be a queue and subqueue with the source"
            )
        if transaction is not None:
            status = yield from self.enlist(transaction, source.format_name)
            if status != Status.MQ_OK:
                return status
        answer = yield (
            "R_MoveMessage",
            MoveMessageRequest(
                ph_context_from=source.handle,
                ull_context_to=target.move_context,
                lookup_id=lookup_id,
                p_transaction_id=NULL_GUID if transaction is None else transaction.identifier,
            ),
        )
        return status_of(answer)

    def purge(self, queue: OpenRemoteQueue) -> _Outcome:
        """Remove all messages of a queue. [MS-MQRR] 3.2.4.7"""
        _check_receives(queue)
        answer = yield "R_PurgeQueue", ContextRequest(ph_context=queue.handle)
        return status_of(answer)

    def create_cursor(self, queue: OpenRemoteQueue) -> _Outcome:
        """Make a cursor: its number, or 0 where the server refuses. [MS-MQRR] 3.2.4.8"""
        _check_open(queue)
        if queue.move_context:
            raise ValueError("a queue that was opened for moves has no cursors")
        answer = yield "R_CreateCursor", ContextRequest(ph_context=queue.handle)
        if status_of(answer) != Status.MQ_OK:
            return 0
        cursor: int = answer.response.ph_cursor
        queue.cursors.add(cursor)
        return cursor

    def cancel(self, queue: OpenRemoteQueue, request_id: int) -> _Outcome:
        """Call off a peek or a receive that waits; the call that waits is answered. [MS-MQRR] 3.2.4.11"""
        _check_open(queue)
        answer = yield (
            "R_CancelReceive",
            CancelReceiveRequest(ph_context=queue.handle, dw_request_id=request_id),
        )
        return status_of(answer)

    def close_cursor(self, queue: OpenRemoteQueue, cursor: int) -> _Outcome:
        """Close a cursor; what waits with it is cancelled first. [MS-MQRR] 3.2.4.12"""
        _check_open(queue)
        _check_cursor(queue, cursor)
        for request_id in [number for number, used in queue.pending.items() if used == cursor]:
            yield from self.cancel(queue, request_id)
        return (yield from self._close_cursor(queue, cursor))

    @staticmethod
    def _close_cursor(queue: OpenRemoteQueue, cursor: int) -> _Outcome:
        answer = yield "R_CloseCursor", CloseCursorRequest(ph_context=queue.handle, h_cursor=cursor)
        queue.cursors.discard(cursor)
        return status_of(answer)

    def close(self, queue: OpenRemoteQueue) -> _Outcome:
        """Close a queue: what is pending is cancelled first, then its cursors are closed.

        [MS-MQRR] 3.2.4.13
        """
        _check_open(queue)
        for request_id in sorted(queue.pending):
            yield from self.cancel(queue, request_id)
        for cursor in sorted(queue.cursors):
            yield from self._close_cursor(queue, cursor)
        answer = yield "R_CloseQueue", CloseQueueRequest(pph_context=queue.handle)
        queue.closed = True
        self.queues.remove(queue)
        return status_of(answer)


def _check_open(queue: OpenRemoteQueue) -> None:
    if queue.closed:
        raise ValueError(f"{queue.format_name} was closed")


def _check_receives(queue: OpenRemoteQueue) -> None:
    _check_open(queue)
    if queue.access != AccessMode.MQ_RECEIVE_ACCESS:
        raise ValueError(f"{queue.format_name} was not opened to receive")


def _check_cursor(queue: OpenRemoteQueue, cursor: int) -> None:
    if cursor and cursor not in queue.cursors:
        raise ValueError(f"{cursor} is no cursor of {queue.format_name}")


def _readable(format_name: str) -> FormatName:
    name = FormatName.parse(format_name)
    direct = name.kind is QueueFormatType.DIRECT and name.protocol in ("OS", "TCP")
    if not direct and name.kind not in _KINDS:
        raise ValueError(f"{format_name} is no name of a queue to read from")
    return name


def _related(source: str, target: str) -> bool:
    """Whether names may be those of a queue and its subqueue or of two subqueues; unlike names may."""
    one, other = FormatName.parse(source), FormatName.parse(target)
    if one.compare_key == other.compare_key:
        return False
    keys = [name.compare_key.partition(";")[0] for name in (one, other)]
    return one.kind is not other.kind or one.protocol != other.protocol or keys[0] == keys[1]
