"""The client of qm2qm: which calls it makes, in which order, with which values. [MS-MQQP] 3.2

The rule kept here: the driver speaks to nobody. Each operation is a generator of steps ``(method, request)``
that is sent the `CallResult` of each and returns what came of it; steps of several operations may be open at
the same time, as a read that waits and the one that cancels it. `BIND` and `UNBIND` are no calls: they ask
for a binding handle to be made or given up.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import msgspec

from msmq_wire.engines.codec import decode
from msmq_wire.errors import DecodeError
from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.rpc.constants import PortProtocol, ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces import qm2qm
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2
from msmq_wire.wire.types.guid import GUID

BIND = "bind"
"""Make a binding handle to qm2qm; the request is the TCP port, 0 for the endpoint that the server names."""
UNBIND = "unbind"
"""Give up the binding handle; the request is its port, as it was with `BIND`."""

Step: TypeAlias = tuple[str, Any]

_START_RECEIVE2_SINCE = (5, 1, 951)
_PEEKS = (ReceiveAction.MQ_ACTION_PEEK_CURRENT, ReceiveAction.MQ_ACTION_PEEK_NEXT)
_FIRST_LOOKUP, _FIRST_LOOKUP_RECEIVE = (
    ReceiveAction.MQ_LOOKUP_PEEK_CURRENT,
    ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT,
)
_NEXT = (ReceiveAction.MQ_LOOKUP_PEEK_NEXT, ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT)
_HIGHEST_REQUEST = 0xFFFF_FFFF


class RemoteOpenQueueEntry(msgspec.Struct, eq=False, kw_only=True):
    """A remote queue that is open. [MS-MQQP] 3.2.1

    ``open_queue_descriptor_handle`` is phQueue of R_QMOpenRemoteQueue and ``queue_descriptor`` its dwpQueue;
    ``port`` is that of the binding handle that all calls of this queue use.
    """

    open_queue_descriptor_handle: int
    queue_descriptor: int
    rr_session_handle: ContextHandle
    port: int = 0


class PendingRemoteReadEntry(msgspec.Struct, eq=False, kw_only=True):
    """A read that is not over. [MS-MQQP] 3.2.1"""

    open_queue_descriptor_handle: int
    request_id: int
    remote_read_handle: ContextHandle = ContextHandle()
    cancelled: bool = False


class ReadResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a read: the message with MQ_OK, and with Windows XP and later its lookup identifier."""

    status: int
    message: ModelMessage | None = None
    sequential_id: int | None = None
    arrival_time: int = 0


Steps: TypeAlias = Generator[Step, CallResult, int]
Reading: TypeAlias = Generator[Step, CallResult, ReadResult]


def answered_status(answer: CallResult) -> int:
    """The status of an answer; a fault is a failure as any other. [MS-MQQP] 3.1.4"""
    return Status.MQ_OK if answer.status is None else answer.status


class Qm2qmClient:
    """A queue manager that reads queues of another one for its applications.

    ``identifier`` is QueueManager.Identifier; ``is_server`` says that it is a routing or directory server.
    ``ask_port`` has it ask for the port first, as Windows up to Server 2003 does; without ``ask_version``
    it reads with RemoteQMStartReceive always, as Windows 2000 does. ``keep`` takes over a message that was
    received; one that it refuses goes back to its queue. What is asked of a queue that is not open here is
    MQ_ERROR_INVALID_HANDLE without a call.
    """

    def __init__(
        self,
        identifier: GUID,
        *,
        is_server: bool = False,
        ask_port: bool = True,
        ask_version: bool = True,
        keep: Callable[[ModelMessage], bool] = lambda message: True,
    ) -> None:
        self.identifier = identifier
        self.is_server = is_server
        self.ask_port = ask_port
        self.ask_version = ask_version
        self.keep = keep
        self.pending_remote_read_entry_collection: dict[tuple[int, int], PendingRemoteReadEntry] = {}
        self.remote_open_queue_entry_collection: dict[int, RemoteOpenQueueEntry] = {}
        self.last_request = 0

    def open_queue(self, queue_handle: int, queue_descriptor: int, open_context: int) -> Steps:
        """Open a queue by phQueue, dwpQueue and pdwContext of R_QMOpenRemoteQueue; the status.

        [MS-MQQP] 3.2.4.1. Who makes the call of RemoteQMOpenQueue waits no longer than its
        `call_timeout`.
        """
        bound = yield BIND, 0
        port = 0
        if bound.fault is None and self.ask_port:
            which = qm2qm.RemoteQMGetQMQMServerPortRequest(dw_port_type=PortProtocol.IP_READ)
            asked = yield "RemoteQMGetQMQMServerPort", which
            port = 0 if asked.fault is not None else asked.response.return_value
            if port:
                bound = yield BIND, port
            yield UNBIND, 0
            if not port:
                return Status.MQ_ERROR
        if bound.fault is not None:
            return bound.fault
        opened = yield (
            "RemoteQMOpenQueue",
            qm2qm.RemoteQMOpenQueueRequest(
                p_lic_guid=self.identifier,
                dw_mqs=int(self.is_server),
                h_queue=queue_handle,
                p_queue=queue_descriptor,
                dwp_context=open_context,
            ),
        )
        status = answered_status(opened)
        if status != Status.MQ_OK:
            yield UNBIND, port
            return status
        self.remote_open_queue_entry_collection[queue_handle] = RemoteOpenQueueEntry(
            open_queue_descriptor_handle=queue_handle,
            queue_descriptor=queue_descriptor,
            rr_session_handle=opened.response.ph_context,
            port=port,
        )
        return status

    def peek(self, queue_handle: int, timeout: int) -> Reading:
        """Read the first message; ``timeout`` in milliseconds. [MS-MQQP] 3.2.4.2"""
        return self._read(queue_handle, 0, ReceiveAction.MQ_ACTION_PEEK_CURRENT, timeout)

    def receive(self, queue_handle: int, timeout: int) -> Reading:
        """Take the first message; ``timeout`` in milliseconds. [MS-MQQP] 3.2.4.3"""
        return self._read(queue_handle, 0, ReceiveAction.MQ_ACTION_RECEIVE, timeout)

    def peek_by_cursor(
        self, queue_handle: int, cursor: int, timeout: int, *, next_one: bool = False
    ) -> Reading:
        """Read the message at a cursor of R_QMCreateRemoteCursor, or the one behind it. [MS-MQQP] 3.2.4.5"""
        return self._read(queue_handle, cursor, _PEEKS[next_one], timeout)

    def receive_by_cursor(self, queue_handle: int, cursor: int, timeout: int) -> Reading:
        """Take the message at a cursor of R_QMCreateRemoteCursor. [MS-MQQP] 3.2.4.6"""
        return self._read(queue_handle, cursor, ReceiveAction.MQ_ACTION_RECEIVE, timeout)

    def read_by_lookup_identifier(
        self, queue_handle: int, lookup_id: int, action: ReceiveAction = _FIRST_LOOKUP_RECEIVE
    ) -> Reading:
        """Read or take a message by an MQ_LOOKUP_ action. [MS-MQQP] 3.1.4.11

        What the server must refuse (another action, no LookupId where one is needed) is not asked for.
        """
        lookup = action >= _FIRST_LOOKUP and action not in _PEEKS
        if not lookup or (not lookup_id and action not in _NEXT):
            return ReadResult(status=Status.MQ_ERROR_INVALID_PARAMETER)
        queue = self.remote_open_queue_entry_collection.get(queue_handle)
        if queue is None:
            return ReadResult(status=Status.MQ_ERROR_INVALID_HANDLE)
        entry = self._pending(queue_handle)
        try:
            wanted = _descriptor(queue, entry, 0, action, 0)
            request = qm2qm.RemoteQMStartReceiveByLookupIdRequest(
                lookup_id=lookup_id, lp_remote_read_desc2=RemoteReadDesc2(p_remote_read_desc=wanted)
            )
            started = yield "RemoteQMStartReceiveByLookupId", request
            return (yield from self._started(entry, started, received=action >= _FIRST_LOOKUP_RECEIVE))
        finally:
            self._over(entry)

    def purge(self, queue_handle: int) -> Steps:
        """Empty a queue; the status. [MS-MQQP] 3.2.4.4"""
        if queue_handle not in self.remote_open_queue_entry_collection:
            return Status.MQ_ERROR_INVALID_HANDLE
        request = qm2qm.RemoteQMPurgeQueueRequest(h_queue=queue_handle)
        return answered_status((yield "RemoteQMPurgeQueue", request))

    def cancel(self, queue_handle: int, request_id: int) -> Steps:
        """Call off a read that is pending; the status. [MS-MQQP] 3.2.4.7

        Should the read have a message by then, it puts it back.
        """
        entry = self.pending_remote_read_entry_collection.get((queue_handle, request_id))
        queue = self.remote_open_queue_entry_collection.get(queue_handle)
        if entry is None or queue is None:
            return Status.MQ_ERROR_INVALID_HANDLE
        entry.cancelled = True
        answer = yield (
            "RemoteQMCancelReceive",
            qm2qm.RemoteQMCancelReceiveRequest(
                h_queue=queue_handle, p_queue=queue.queue_descriptor, dw_request_id=request_id
            ),
        )
        self._over(entry)
        return answered_status(answer)

    def close_cursor(self, queue_handle: int, cursor: int) -> Steps:
        """Close a cursor; the status. [MS-MQQP] 3.2.4.8"""
        if queue_handle not in self.remote_open_queue_entry_collection:
            return Status.MQ_ERROR_INVALID_HANDLE
        request = qm2qm.RemoteQMCloseCursorRequest(h_queue=queue_handle, h_cursor=cursor)
        return answered_status((yield "RemoteQMCloseCursor", request))

    def close_queue(self, queue_handle: int) -> Steps:
        """Close a queue, its pending reads first; the status. [MS-MQQP] 3.2.4.9"""
        queue = self.remote_open_queue_entry_collection.get(queue_handle)
        if queue is None:
            return Status.MQ_ERROR_INVALID_HANDLE
        for handle, request_id in list(self.pending_remote_read_entry_collection):
            if handle == queue_handle:
                yield from self.cancel(handle, request_id)
        request = qm2qm.RemoteQMCloseQueueRequest(pph_context=queue.rr_session_handle)
        closed = yield "RemoteQMCloseQueue", request
        self.remote_open_queue_entry_collection.pop(queue_handle, None)
        yield UNBIND, queue.port
        return answered_status(closed)

    def _read(self, queue_handle: int, cursor: int, action: ReceiveAction, timeout: int) -> Reading:
        queue = self.remote_open_queue_entry_collection.get(queue_handle)
        if queue is None:
            return ReadResult(status=Status.MQ_ERROR_INVALID_HANDLE)
        entry = self._pending(queue_handle)
        try:
            version = (yield "RemoteQmGetVersion", NoParameters()) if self.ask_version else None
            wanted = _descriptor(queue, entry, cursor, action, timeout)
            request: Any = qm2qm.RemoteQMStartReceiveRequest(lp_remote_read_desc=wanted)
            second = _has_second(version)
            if second:
                request = qm2qm.RemoteQMStartReceive2Request(
                    lp_remote_read_desc2=RemoteReadDesc2(p_remote_read_desc=wanted)
                )
            started = yield ("RemoteQMStartReceive2" if second else "RemoteQMStartReceive"), request
            received = action is ReceiveAction.MQ_ACTION_RECEIVE
            return (yield from self._started(entry, started, received=received))
        finally:
            self._over(entry)

    def _started(self, entry: PendingRemoteReadEntry, answer: CallResult, *, received: bool) -> Reading:
        """What a start gave; a receive is ended, with RR_NACK where the message is not taken over."""
        status = answered_status(answer)
        if status != Status.MQ_OK:
            return ReadResult(status=status)
        entry.remote_read_handle = answer.response.pph_context
        result = _rebuilt(answer.response)
        if not received:
            return result
        taken = result.message is not None and not entry.cancelled and self.keep(result.message)
        ack = RemoteReadAck.RR_ACK if taken else RemoteReadAck.RR_NACK
        request = qm2qm.RemoteQMEndReceiveRequest(pph_context=entry.remote_read_handle, dw_ack=ack)
        status = answered_status((yield "RemoteQMEndReceive", request))
        if taken and status == Status.MQ_OK:
            return result
        if entry.cancelled:
            return ReadResult(status=Status.MQ_INFORMATION_REMOTE_CANCELED_BY_CLIENT)
        return ReadResult(status=Status.MQ_ERROR if status == Status.MQ_OK else status)

    def _pending(self, queue_handle: int) -> PendingRemoteReadEntry:
        taken = {request_id for _, request_id in self.pending_remote_read_entry_collection}
        while True:
            self.last_request = self.last_request % _HIGHEST_REQUEST + 1
            if self.last_request not in taken:
                break
        entry = PendingRemoteReadEntry(
            open_queue_descriptor_handle=queue_handle, request_id=self.last_request
        )
        self.pending_remote_read_entry_collection[queue_handle, entry.request_id] = entry
        return entry

    def _over(self, entry: PendingRemoteReadEntry) -> None:
        key = entry.open_queue_descriptor_handle, entry.request_id
        if self.pending_remote_read_entry_collection.get(key) is entry:
            del self.pending_remote_read_entry_collection[key]


def _descriptor(
    queue: RemoteOpenQueueEntry,
    entry: PendingRemoteReadEntry,
    cursor: int,
    action: ReceiveAction,
    timeout: int,
) -> RemoteReadDesc:
    return RemoteReadDesc(
        h_remote_queue=queue.open_queue_descriptor_handle,
        h_cursor=cursor,
        ul_action=action,
        ul_timeout=timeout,
        dw_queue=queue.queue_descriptor,
        dw_request_id=entry.request_id,
    )


def _has_second(version: CallResult | None) -> bool:
    """Whether a server has RemoteQMStartReceive2, by what RemoteQmGetVersion answered."""
    if version is None or version.fault is not None:
        return False
    reported = version.response
    return (reported.p_major, reported.p_minor, reported.p_build_number) >= _START_RECEIVE2_SINCE


def _rebuilt(response: Any) -> ReadResult:
    """The message of a start that succeeded; a failure where its packet is none."""
    sequential_id: int | None = None
    if isinstance(response, qm2qm.RemoteQMStartReceive2Response):
        read = response.lp_remote_read_desc2.p_remote_read_desc
        sequential_id = response.lp_remote_read_desc2.sequential_id
    else:
        read = response.lp_remote_read_desc
    try:
        if read is None or read.lp_buffer is None:
            return ReadResult(status=Status.MQ_ERROR)
        message = message_of(decode(read.lp_buffer, as_="user_message"), read.lp_buffer)
    except DecodeError:
        return ReadResult(status=Status.MQ_ERROR)
    message.arrival_time = read.dw_arrive_time
    return ReadResult(
        status=Status.MQ_OK, message=message, sequential_id=sequential_id, arrival_time=read.dw_arrive_time
    )
