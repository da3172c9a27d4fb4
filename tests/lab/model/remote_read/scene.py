"""A RemoteRead server with two queues, and clients that call it by short words."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import msgspec
import pytest

from msmq_wire.lab.model.data.elements import ModelMessage, Queue
from msmq_wire.lab.model.data.timers import Timer
from msmq_wire.lab.model.events.message import dequeue_message_begin
from msmq_wire.lab.model.interface_server import CallResult, InterfaceServer
from msmq_wire.lab.model.remote_read.pending import PendingRequestEntry, QueueContext
from msmq_wire.lab.model.remote_read.server import RemoteReadServer
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
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from tests.lab.model.scene import (
    Client,
    ServerScene,
    Waiting,
    body_of,
    format_name,
    make_queue,
)

RECEIVE, PEEK, MOVE = 1, 0x20, 4
ACTION_RECEIVE, PEEK_CURRENT, PEEK_NEXT = 0, 0x80000000, 0x80000001
LOOKUP_PEEK_CURRENT, LOOKUP_PEEK_NEXT, LOOKUP_PEEK_PREV = 0x40000010, 0x40000011, 0x40000012
LOOKUP_RECEIVE_CURRENT, LOOKUP_RECEIVE_NEXT, LOOKUP_RECEIVE_PREV = 0x40000020, 0x40000021, 0x40000022
RECEIVES = (ACTION_RECEIVE, LOOKUP_RECEIVE_CURRENT, LOOKUP_RECEIVE_NEXT, LOOKUP_RECEIVE_PREV)
NACK, ACK = 1, 2

OK = 0
IO_TIMEOUT = 0xC00E001B
INVALID_PARAMETER = 0xC00E0006
INVALID_HANDLE = 0xC00E0007
CANCELLED = 0xC00E0008
SHARING_VIOLATION = 0xC00E0009
QUEUE_NOT_FOUND = 0xC00E0003
QUEUE_NOT_AVAILABLE = 0xC00E004B
ILLEGAL_CURSOR_ACTION = 0xC00E001C
ALREADY_RECEIVED = 0xC00E001D
ACCESS_DENIED = 0xC00E0025
TRANSACTION_USAGE = 0xC00E0050
TRANSACTION_SEQUENCE = 0xC00E0051
MESSAGE_NOT_FOUND = 0xC00E0088
MESSAGE_LOCKED = 0xC00E009C
STATUS_INVALID_HANDLE = 0xC0000008
STATUS_INVALID_PARAMETER = 0xC000000D
STATUS_ACCESS_DENIED = 0xC0000022
STATUS_NOT_FOUND = 0xC0000225
CONTEXT_MISMATCH = 0x1C00001A
BAD_STUB_DATA = 0x000006F7
UNKNOWN_METHOD = 0x1C010002

TRANSACTION = GUID(b"one transaction.")
UNKNOWN_HANDLE = ContextHandle(uuid=GUID(b"nobody's handle."))
WAYS = {"plain": None, "in no transaction": NULL_GUID, "in a transaction": TRANSACTION}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
both = pytest.mark.parametrize("way", [None, TRANSACTION], ids=["plain", "in a transaction"])


class Reader(Client):
    """A client of RemoteRead. ``way`` is the transaction of its receives: none, or their identifier."""

    def __init__(self, server: InterfaceServer, number: int = 1, way: GUID | None = None) -> None:
        super().__init__(server, number)
        self.way = way

    def open(self, name: str | Queue, access: int = RECEIVE, share: int = 0) -> ContextHandle:
        """Open a queue that must open."""
        answer = self.call("r_open_queue", open_request(name, access, share))
        assert answer.fault is None, hex(answer.fault)
        handle: ContextHandle = answer.response.pph_context
        return handle

    def open_for_move(self, name: str | Queue) -> tuple[ContextHandle, int]:
        """Open a queue for moves: its handle and its number."""
        answer = self.call("r_open_queue_for_move", open_request(name, MOVE))
        assert answer.fault is None, hex(answer.fault)
        return answer.response.pph_context, answer.response.p_move_context

    def open_in_any_way(self, name: str | Queue, access: int) -> ContextHandle:
        """Open a queue to receive, to peek or for moves."""
        return self.open_for_move(name)[0] if access == MOVE else self.open(name, access)

    def begin(
        self,
        handle: ContextHandle,
        action: int = ACTION_RECEIVE,
        *,
        transaction: GUID | EllipsisType | None = ...,
        request_id: int = 1,
        cursor: int = 0,
        lookup_id: int = 0,
        timeout: int = 0,
        max_body_size: int = 0xFFFFFFFF,
        max_compound_message_size: int = 0xFFFFFFFF,
    ) -> Waiting:
        """R_StartReceive, or R_StartTransactionalReceive with a transaction (all zero for none).

        Unless one is given, receives go the way of the client, and peeks are plain.
        """
        if isinstance(transaction, EllipsisType):
            transaction = self.way if action in RECEIVES else None
        fields: dict[str, Any] = {
            "ph_context": handle,
            "lookup_id": lookup_id,
            "h_cursor": cursor,
            "ul_action": action,
            "ul_timeout": timeout,
            "dw_request_id": request_id,
            "dw_max_body_size": max_body_size,
            "dw_max_compound_message_size": max_compound_message_size,
        }
        if transaction is None:
            return self.start("r_start_receive", StartReceiveRequest(**fields))
        request = StartTransactionalReceiveRequest(**fields, p_transaction_id=transaction)
        return self.start("r_start_transactional_receive", request)

    def take(self, handle: ContextHandle, action: int = ACTION_RECEIVE, **more: Any) -> bytes:
        """Begin a receive or a peek that gives a message at once: its body."""
        call = self.begin(handle, action, **more)
        assert call.status == OK, hex(call.status or 0)
        return body(call)

    def end(
        self, handle: ContextHandle, ack: int = ACK, *, request_id: int = 1, transactional: bool | None = None
    ) -> int | None:
        """R_EndReceive, or R_EndTransactionalReceive, by the way of the client: its status."""
        if transactional is None:
            transactional = self.way is not None
        stem = "r_end_transactional_receive" if transactional else "r_end_receive"
        request = EndReceiveRequest(ph_context=handle, dw_ack=ack, dw_request_id=request_id)
        return self.call(stem, request).status

    def cancel(self, handle: ContextHandle, request_id: int = 1) -> int | None:
        """R_CancelReceive: its status."""
        request = CancelReceiveRequest(ph_context=handle, dw_request_id=request_id)
        return self.call("r_cancel_receive", request).status

    def close(self, handle: ContextHandle) -> CallResult:
        """R_CloseQueue."""
        return self.call("r_close_queue", CloseQueueRequest(pph_context=handle))

    def create_cursor(self, handle: ContextHandle) -> int:
        """A new cursor."""
        answer = self.call("r_create_cursor", ContextRequest(ph_context=handle))
        assert answer.status == OK
        number: int = answer.response.ph_cursor
        return number

    def close_cursor(self, handle: ContextHandle, cursor: int) -> int | None:
        """R_CloseCursor: its status."""
        request = CloseCursorRequest(ph_context=handle, h_cursor=cursor)
        return self.call("r_close_cursor", request).status

    def purge(self, handle: ContextHandle) -> int | None:
        """R_PurgeQueue: its status."""
        return self.call("r_purge_queue", ContextRequest(ph_context=handle)).status

    def move(
        self, source: ContextHandle, target: int, lookup_id: int, transaction: GUID = NULL_GUID
    ) -> int | None:
        """R_MoveMessage: its status."""
        request = MoveMessageRequest(
            ph_context_from=source, ull_context_to=target, lookup_id=lookup_id, p_transaction_id=transaction
        )
        return self.call("r_move_message", request).status

    def enlist(self, transaction: GUID = TRANSACTION, token: bytes = b"token") -> int | None:
        """R_QMEnlistRemoteTransaction: its status."""
        request = QMEnlistRemoteTransactionRequest(
            p_transaction_id=transaction, cb_propagation_token=len(token), pb_propagation_token=token
        )
        return self.call("r_qm_enlist_remote_transaction", request).status

    def classify(self, handle: ContextHandle, lookup_id: int, us_class: int = 0xC004) -> int | None:
        """R_SetUserAcknowledgementClass: its status."""
        request = SetUserAcknowledgementClassRequest(
            ph_context=handle, lookup_id=lookup_id, us_class=us_class
        )
        return self.call("r_set_user_acknowledgement_class", request).status


class Scene(ServerScene[RemoteReadServer]):
    """A server, its queues ``orders`` (transactional) and ``letters``, and a reader of it."""

    client: Reader

    def __init__(self, *, way: GUID | None = None, **options: Any) -> None:
        super().__init__(RemoteReadServer, transactional=True, **options)
        self.letters = make_queue(self.manager, "letters")
        self.client = Reader(self.server, 1, way)

    def another_client(self) -> Reader:
        """One more client."""
        return Reader(self.server, 2)

    def taken(self) -> tuple[ContextHandle, ModelMessage]:
        """A message that the client has received and not ended, and with which handle."""
        (message,), handle = self.put(b"a"), self.client.open(self.queue)
        self.client.take(handle)
        return handle, message

    def context(self, handle: ContextHandle, client: Reader | None = None) -> QueueContext:
        """What a handle stands for."""
        found = (client or self.client).association.handles[handle.uuid]
        assert isinstance(found, QueueContext)
        return found

    def entry(self, handle: ContextHandle, request_id: int = 1) -> PendingRequestEntry | None:
        """The entry of a request."""
        return self.server.pending_request_table.find(self.context(handle), request_id)

    def pending(self, handle: ContextHandle, request_id: int = 1) -> tuple[PendingRequestEntry, Timer]:
        """The entry of a request that has one, and its timer."""
        entry = self.entry(handle, request_id)
        assert entry is not None
        assert entry.timer is not None
        return entry, entry.timer

    def lose_descriptor(self, handle: ContextHandle) -> None:
        """Let the descriptor of a handle be known no more, as when somebody else closed it."""
        del self.manager.descriptors[self.context(handle).descriptor.handle]

    def lock(self, queue: Queue) -> None:
        """Let another reader of this computer lock the first message of a queue."""
        descriptor = self.opened(name=format_name(queue))
        dequeue_message_begin(descriptor, lambda status, message: None, timeout=0)

    def state(self) -> dict[str, Any]:
        """All that a call could have changed."""
        return super().state() | {"pending": len(self.server.pending_request_table)}


def open_request(name: str | Queue, access: int = RECEIVE, share: int = 0) -> OpenQueueRequest:
    """A request that opens a queue by its format name."""
    text = format_name(name) if isinstance(name, Queue) else name
    return OpenQueueRequest(
        p_queue_format=QueueFormat.of(FormatName.parse(text)),
        dw_access=access,
        dw_share_mode=share,
        p_client_id=GUID(b"some other queue"[:16]),
    )


def changed(request: Any, **changes: Any) -> Any:
    """A request with other values, also such as the wire cannot hold."""
    return msgspec.structs.replace(request, **changes)


def body(answered: CallResult | Waiting) -> bytes:
    """The body of the message in an answer, whole."""
    (section,) = answered.response.pp_packet_sections
    return body_of(section.data)
