"""The server of qm2qm: how the queue manager of an application reads a queue of another one. [MS-MQQP] 3.1

The rule kept here: what the RPC runtime refuses before a method is reached (an unknown context handle, a
value out of its range) is a fault; what the method refuses is its return value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from msmq_wire.lab.model.data.elements import Cursor, ModelMessage, OpenQueueDescriptor
from msmq_wire.lab.model.data.enumerations import MessageSeekAction, PositionState
from msmq_wire.lab.model.data.message_packet import user_message_packet
from msmq_wire.lab.model.events.message import (
    dequeue_message_begin,
    dequeue_message_end,
    peek_message,
    peek_next_message,
    read_message_by_lookup_identifier,
)
from msmq_wire.lab.model.interface_server import BAD_STUB_DATA, CallResult, ClientAssociation, ServerCall
from msmq_wire.lab.model.qm2qm.entries import OpenQueueEntry, RemoteReadEntry
from msmq_wire.lab.model.qm2qm.queues import CONTEXT_MISMATCH, Qm2qmQueues, may_receive
from msmq_wire.rpc.constants import PortProtocol, ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces import Role, qm2qm
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters, PortResponse
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc, RemoteReadDesc2

_LARGEST_PACKET = 0x0042_0000
_SEQUENTIAL_IDENTIFIER = (1 << 56) - 1
_LAST = (1 << 64) - 1
_NO_AUTHENTICATION = 1
_ACTIONS = (
    ReceiveAction.MQ_ACTION_RECEIVE,
    ReceiveAction.MQ_ACTION_PEEK_CURRENT,
    ReceiveAction.MQ_ACTION_PEEK_NEXT,
)
_LOOKUP_PEEKS: dict[int, MessageSeekAction] = {
    ReceiveAction.MQ_LOOKUP_PEEK_CURRENT: MessageSeekAction.SEEK_CURRENT,
    ReceiveAction.MQ_LOOKUP_PEEK_NEXT: MessageSeekAction.SEEK_NEXT,
    ReceiveAction.MQ_LOOKUP_PEEK_PREV: MessageSeekAction.SEEK_PREVIOUS,
}
_LOOKUP_RECEIVES: dict[int, MessageSeekAction] = {
    ReceiveAction.MQ_LOOKUP_RECEIVE_CURRENT: MessageSeekAction.SEEK_CURRENT,
    ReceiveAction.MQ_LOOKUP_RECEIVE_NEXT: MessageSeekAction.SEEK_NEXT,
    ReceiveAction.MQ_LOOKUP_RECEIVE_PREV: MessageSeekAction.SEEK_PREVIOUS,
}
_LOOKUPS = _LOOKUP_PEEKS | _LOOKUP_RECEIVES

_Answering: TypeAlias = Callable[[int, ContextHandle, ModelMessage | None], None]
"""Answers a start with its status, its context handle and, with MQ_OK, the message."""


class Qm2qmServer(Qm2qmQueues):
    """The interface qm2qm of a queue manager."""

    def serve(
        self, association: ClientAssociation, opnum: int, request: Any, done: Callable[[CallResult], None]
    ) -> ServerCall | None:
        """Take a call, unless the configuration has no such method or wants to know who calls."""
        if self.configuration.windows_2000 and opnum > qm2qm.LAST_OF_WINDOWS_2000:
            done(CallResult(fault=self.UNKNOWN_METHOD))
            return None
        method = self.INTERFACE.methods.get(opnum)
        refuses = self.configuration.refuse_unauthenticated and association.auth_level <= _NO_AUTHENTICATION
        if method and refuses and method.role is not Role.ASK_PORT:
            call = ServerCall(association=association, method=method, done=done)
            if method.returns_status:
                call.reply(method.response.cls(status=Status.MQ_ERROR_ACCESS_DENIED))
            else:
                call.throw(Status.MQ_ERROR_ACCESS_DENIED)
            return call
        return super().serve(association, opnum, request, done)

    def rundown(self, association: ClientAssociation) -> None:
        """The connection is broken: reads are cancelled, receives end with RR_NACK, queues are closed.

        Waiting reads go first, so that no message that comes back is given to who is gone.
        [MS-MQQP] 3.1.6.1, 3.1.6.2
        """
        for entry in self.remote_read_entry_collection.of_client(association):
            self._cancel(entry)
            self.remote_read_entry_collection.remove(entry)
        for uuid, thing in list(association.handles.items()):
            if isinstance(thing, OpenQueueEntry):
                self._close(thing)
            elif isinstance(thing, RemoteReadEntry):
                self._end(thing, acknowledged=False)
            else:
                continue
            del association.handles[uuid]

    def remote_qm_start_receive(self, call: ServerCall, request: qm2qm.RemoteQMStartReceiveRequest) -> None:
        """RemoteQMStartReceive. [MS-MQQP] 3.1.4.1"""
        descriptor = request.lp_remote_read_desc

        def answer(status: int, handle: ContextHandle, message: ModelMessage | None) -> None:
            answered = _answered(descriptor, message)
            call.reply(
                qm2qm.RemoteQMStartReceiveResponse(
                    pph_context=handle, lp_remote_read_desc=answered, status=status
                )
            )

        self._start(call, descriptor, answer)

    def remote_qm_start_receive2(self, call: ServerCall, request: qm2qm.RemoteQMStartReceive2Request) -> None:
        """RemoteQMStartReceive2. [MS-MQQP] 3.1.4.10"""
        self._start(call, request.lp_remote_read_desc2.p_remote_read_desc, _answering2(call, request))

    def remote_qm_start_receive_by_lookup_id(
        self, call: ServerCall, request: qm2qm.RemoteQMStartReceiveByLookupIdRequest
    ) -> None:
        """RemoteQMStartReceiveByLookupId. [MS-MQQP] 3.1.4.11"""
        wanted = request.lp_remote_read_desc2.p_remote_read_desc
        answer = _answering2(call, request)
        if wanted is not None and wanted.dw_size > _LARGEST_PACKET:
            call.throw(BAD_STUB_DATA)
            return
        found = self._lookup_queue(wanted, request.lookup_id)
        if wanted is None or isinstance(found, Status):
            refused = found if isinstance(found, Status) else Status.MQ_ERROR_INVALID_HANDLE
            answer(refused, ContextHandle(), None)
            return
        entry = self._entry(call, wanted, found)
        status, message = read_message_by_lookup_identifier(
            found,
            request.lookup_id,
            _seek(request.lookup_id, _LOOKUPS[wanted.ul_action]),
            peek_operation=wanted.ul_action in _LOOKUP_PEEKS,
            two_phase_read=wanted.ul_action in _LOOKUP_RECEIVES,
        )
        self._finish(call, entry, answer, status, message)

    def remote_qm_end_receive(self, call: ServerCall, request: qm2qm.RemoteQMEndReceiveRequest) -> None:
        """RemoteQMEndReceive. [MS-MQQP] 3.1.4.2"""
        handle = request.pph_context
        entry = call.association.thing(handle, RemoteReadEntry)
        if entry is None and not handle.null:
            call.throw(CONTEXT_MISMATCH)
        elif request.dw_ack not in (RemoteReadAck.RR_NACK, RemoteReadAck.RR_ACK):
            call.throw(BAD_STUB_DATA)
        elif entry is None:
            call.reply(qm2qm.HandleResponse(pph_context=handle, status=Status.MQ_ERROR_INVALID_HANDLE))
        elif self.configuration.search_open_queues and not self._open(entry.open_queue_descriptor_handle):
            call.reply(qm2qm.HandleResponse(pph_context=handle, status=Status.MQ_ERROR_INVALID_PARAMETER))
        else:
            call.association.forget(handle)
            status = self._end(entry, acknowledged=request.dw_ack == RemoteReadAck.RR_ACK)
            call.reply(qm2qm.HandleResponse(status=status))

    def remote_qm_get_qmqm_server_port(
        self, call: ServerCall, request: qm2qm.RemoteQMGetQMQMServerPortRequest
    ) -> None:
        """RemoteQMGetQMQMServerPort. [MS-MQQP] 3.1.4.8"""
        ports: dict[int, int] = {
            PortProtocol.IP_HANDSHAKE: self.configuration.handshake_port,
            PortProtocol.IP_READ: self.configuration.read_port,
            PortProtocol.IPX_HANDSHAKE: self.configuration.spx_handshake_port,
            PortProtocol.IPX_READ: self.configuration.spx_read_port,
        }
        call.reply(PortResponse(return_value=ports.get(request.dw_port_type, 0)))

    def remote_qm_get_version(self, call: ServerCall, request: NoParameters) -> None:
        """RemoteQmGetVersion. [MS-MQQP] 3.1.4.9"""
        major, minor, build = self.configuration.version
        call.reply(qm2qm.RemoteQmGetVersionResponse(p_major=major, p_minor=minor, p_build_number=build))

    def _start(self, call: ServerCall, wanted: RemoteReadDesc | None, answer: _Answering) -> None:
        """The steps that RemoteQMStartReceive and RemoteQMStartReceive2 have in common."""
        if wanted is not None and wanted.dw_size > _LARGEST_PACKET:
            call.throw(BAD_STUB_DATA)
            return
        found = self._queue(wanted)
        if wanted is None or isinstance(found, Status):
            refused = found if isinstance(found, Status) else Status.MQ_ERROR_INVALID_HANDLE
            answer(refused, ContextHandle(), None)
            return
        descriptor, cursor = found
        entry = self._entry(call, wanted, descriptor)

        def done(status: int, message: ModelMessage | None) -> None:
            self._finish(call, entry, answer, status, message)

        timeout, tag = wanted.ul_timeout, wanted.dw_request_id
        if wanted.ul_action == ReceiveAction.MQ_ACTION_RECEIVE:
            dequeue_message_begin(descriptor, done, timeout=timeout, cursor=cursor, tag=tag)
        elif wanted.ul_action == ReceiveAction.MQ_ACTION_PEEK_CURRENT or cursor is None:
            peek_message(descriptor, done, timeout=timeout, cursor=cursor, tag=tag)
        else:
            peek_next_message(descriptor, cursor, done, timeout=timeout, tag=tag)

    def _queue(self, wanted: RemoteReadDesc | None) -> tuple[OpenQueueDescriptor, Cursor | None] | Status:
        """What a start reads from, or why it is refused. [MS-MQQP] 3.1.4.1, 3.1.4.10"""
        if wanted is None:
            return Status.MQ_ERROR_INVALID_HANDLE
        handle = wanted.h_remote_queue
        if not wanted.dw_queue or wanted.dw_queue != handle:
            return Status.MQ_ERROR_INVALID_PARAMETER
        if self.remote_read_entry_collection.find(handle, wanted.dw_request_id) is not None:
            return Status.MQ_ERROR_INVALID_PARAMETER
        if not wanted.h_cursor and wanted.ul_action == ReceiveAction.MQ_ACTION_PEEK_NEXT:
            return Status.STATUS_INVALID_PARAMETER
        descriptor = self.manager.descriptors.get(handle)
        if wanted.ul_action not in _ACTIONS or not self._open(handle) or descriptor is None:
            return Status.MQ_ERROR_INVALID_PARAMETER
        if wanted.ul_action == ReceiveAction.MQ_ACTION_RECEIVE and not may_receive(descriptor):
            return Status.MQ_ERROR_ACCESS_DENIED
        if not wanted.h_cursor:
            return descriptor, None
        cursor = self.manager.cursors.get(wanted.h_cursor)
        if cursor is None or cursor.open_queue_descriptor_reference is not descriptor:
            return Status.STATUS_INVALID_PARAMETER
        return descriptor, cursor

    def _lookup_queue(self, wanted: RemoteReadDesc | None, lookup_id: int) -> OpenQueueDescriptor | Status:
        """What a lookup reads from, or why it is refused. [MS-MQQP] 3.1.4.11"""
        if wanted is None:
            return Status.MQ_ERROR_INVALID_HANDLE
        seek = _LOOKUPS.get(wanted.ul_action)
        if (
            not wanted.h_remote_queue
            or wanted.ul_timeout
            or wanted.h_cursor
            or seek is None
            or (not lookup_id and seek is not MessageSeekAction.SEEK_NEXT)
        ):
            return Status.MQ_ERROR_INVALID_PARAMETER
        descriptor = self.manager.descriptors.get(wanted.h_remote_queue)
        if not self._open(wanted.h_remote_queue) or descriptor is None:
            return Status.MQ_ERROR_INVALID_PARAMETER
        if wanted.ul_action in _LOOKUP_RECEIVES and not may_receive(descriptor):
            return Status.MQ_ERROR_ACCESS_DENIED
        return descriptor

    def _entry(
        self, call: ServerCall, wanted: RemoteReadDesc, descriptor: OpenQueueDescriptor
    ) -> RemoteReadEntry:
        entry = RemoteReadEntry(
            open_queue_descriptor_handle=wanted.h_remote_queue,
            timeout=wanted.ul_timeout,
            action=wanted.ul_action,
            request_id=wanted.dw_request_id,
            open_queue_descriptor=descriptor,
            association=call.association,
        )
        self.remote_read_entry_collection.add(entry)
        return entry

    def _finish(
        self,
        call: ServerCall,
        entry: RemoteReadEntry,
        answer: _Answering,
        status: int,
        message: ModelMessage | None,
    ) -> None:
        """A read has come to an end: its entry goes, or becomes what the context handle stands for."""
        self.remote_read_entry_collection.remove(entry)
        handle = ContextHandle()
        if message is not None:
            receive = entry.action == ReceiveAction.MQ_ACTION_RECEIVE or entry.action in _LOOKUP_RECEIVES
            unwanted = call.answered or len(user_message_packet(message)) > _LARGEST_PACKET
            if receive and unwanted:
                # It was never taken: who waits behind this reader gets it.
                _put_back(message)
            elif receive:
                entry.user_message_packet = message
                handle = call.association.handle(self.manager, entry)
            if unwanted:
                status, message = Status.MQ_ERROR, None
        answer(status, handle, message)

    def _end(self, entry: RemoteReadEntry, *, acknowledged: bool) -> int:
        """The steps of RemoteQMEndReceive once the entry is found.

        The descriptor may be closed by now; it still tells the queue that the message is in.
        """
        message = entry.user_message_packet
        position = None if message is None else message.message_position_reference
        if message is None or position is None or position.state is PositionState.DELETED:
            return Status.MQ_ERROR_QUEUE_NOT_AVAILABLE
        return dequeue_message_end(entry.open_queue_descriptor, message, delete_message=acknowledged)


def _answering2(
    call: ServerCall,
    request: qm2qm.RemoteQMStartReceive2Request | qm2qm.RemoteQMStartReceiveByLookupIdRequest,
) -> _Answering:
    wanted = request.lp_remote_read_desc2.p_remote_read_desc

    def answer(status: int, handle: ContextHandle, message: ModelMessage | None) -> None:
        answered = RemoteReadDesc2(
            p_remote_read_desc=None if wanted is None else _answered(wanted, message),
            sequential_id=0 if message is None else message.lookup_identifier & _SEQUENTIAL_IDENTIFIER,
        )
        call.reply(
            qm2qm.RemoteQMStartReceive2Response(
                pph_context=handle, lp_remote_read_desc2=answered, status=status
            )
        )

    return answer


def _answered(wanted: RemoteReadDesc, message: ModelMessage | None) -> RemoteReadDesc:
    """What the client sent, with what the server fills in. [MS-MQQP] 2.2.2.1"""
    if message is None:
        return msgspec.structs.replace(wanted, dw_size=0, lp_buffer=None, reserved=1)
    packet = user_message_packet(message)
    return msgspec.structs.replace(
        wanted,
        dw_size=len(packet),
        lp_buffer=packet,
        dw_arrive_time=message.arrival_time & 0xFFFF_FFFF,
        reserved=1,
    )


def _put_back(message: ModelMessage) -> None:
    position = message.message_position_reference
    assert position is not None
    position.state = PositionState.AVAILABLE


def _seek(lookup_id: int, seek: MessageSeekAction) -> MessageSeekAction:
    """iLookupOperation of the event, which has names for the ends of the queue. [MS-MQQP] 3.1.4.11"""
    if seek is MessageSeekAction.SEEK_NEXT and not lookup_id:
        return MessageSeekAction.SEEK_FIRST
    if seek is MessageSeekAction.SEEK_PREVIOUS and lookup_id == _LAST:
        return MessageSeekAction.SEEK_LAST
    return seek
