"""Open queues and their cursors, from the client's side. [MS-MQMP] 3.2.4.7 to 3.2.4.9, 3.2.4.14 to 3.2.4.16

The rule kept here: what a server was asked to keep for this client is closed again, also where a later call
fails.
"""

from __future__ import annotations

import msgspec

from msmq_wire.errors import FormatNameError
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.client.machine import MachineOperations
from msmq_wire.lab.model.qmcomm.client.planned_calls import (
    ATTEMPTS,
    Endpoint,
    OpenQueueContext,
    PlannedCall,
    Result,
    Steps,
    answered,
)
from msmq_wire.lab.model.qmcomm.methods import NO_CURSOR
from msmq_wire.lab.model.qmcomm.queues import ACCESS_TYPES
from msmq_wire.rpc.constants import AccessMode, ShareMode
from msmq_wire.rpc.interfaces.qmcomm2 import RpcACCreateCursorExRequest
from msmq_wire.rpc.interfaces.qmcomm_queues import (
    ACHandleToFormatNameRequest,
    CloseRemoteQueueContext,
    CreateRemoteCursorRequest,
    CursorRequest,
    GetRemoteQueueNameRequest,
    OpenQueueInternalRequest,
    OpenRemoteQueueRequest,
    QueueHandleRequest,
    QueueRequest,
    SetCursorPropertiesRequest,
)
from msmq_wire.rpc.ndr import NULL_POINTEE
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import CACCreateRemoteCursor, CACTransferBufferV1, TransferSend
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.wire.names import FormatName, PathName, QueueFormatType
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

_LONGEST_NAME = 524_288
_READING = (AccessMode.MQ_RECEIVE_ACCESS, AccessMode.MQ_PEEK_ACCESS)
_FOR_SENDING_ONLY = (QueueFormatType.DL, QueueFormatType.MULTICAST)
_ZEROED = CACTransferBufferV1(arm=TransferSend())


class QueueOperations(MachineOperations):
    """Open and close queues and cursors, name and purge queues."""

    def open_queue(
        self,
        format_name: str,
        access: int = AccessMode.MQ_RECEIVE_ACCESS,
        share_mode: int = ShareMode.MQ_DENY_NONE,
    ) -> Steps[Result[OpenQueueContext]]:
        """Open a queue of the server, or one of another computer through it. [MS-MQMP] 3.2.4.7"""
        name = FormatName.parse(format_name)
        if access not in ACCESS_TYPES:
            raise ValueError(f"0x{access:X} is no dwDesiredAccess")
        request = OpenQueueInternalRequest(
            p_queue_format=QueueFormat.of(name),
            dw_desired_access=access,
            dw_share_mode=ShareMode(share_mode),
            lplp_remote_queue_name=NULL_POINTEE,
            p_lic_guid=self.licence_guid,
            lp_client_name=WcharText.of(self.computer_name),
        )
        endpoint = self.endpoint
        answer = yield from self.call("rpc_QMOpenQueueInternal", request)
        if answered(answer) == Status.MQ_OK:
            elsewhere = answer.response.lplp_remote_queue_name
            if isinstance(elsewhere, WcharText):
                return (yield from self._open_remote(request, name, endpoint, _computer(elsewhere)))
        return self._opened(answer, request, name, endpoint)

    def _open_remote(
        self, request: OpenQueueInternalRequest, name: FormatName, endpoint: Endpoint, computer: str | None
    ) -> Steps[Result[OpenQueueContext]]:
        """Open the queue at its computer, have the server take it over, and let go of it there."""
        sent_to = name.kind in _FOR_SENDING_ONLY or name.protocol in ("HTTP", "HTTPS")
        if computer is None or sent_to or request.dw_desired_access not in _READING:
            return Result(status=Status.MQ_ERROR)
        there = yield from self.bind(computer)
        if there is None:
            return Result(status=Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE)
        opening = OpenRemoteQueueRequest(
            p_queue_format=request.p_queue_format,
            dw_desired_access=request.dw_desired_access,
            dw_share_mode=request.dw_share_mode,
            p_lic_guid=request.p_lic_guid,
            dw_mqs=self.system,
        )
        answer = yield PlannedCall.of("R_QMOpenRemoteQueue", opening, there)
        if answered(answer) != Status.MQ_OK:
            return Result(status=answered(answer))
        remote = answer.response
        second = msgspec.structs.replace(
            request,
            h_remote_queue=remote.ph_queue,
            dwp_queue=remote.dwp_queue,
            dwp_remote_context=remote.pdw_context,
        )
        answer = yield PlannedCall.of("rpc_QMOpenQueueInternal", second, endpoint)
        letting_go = CloseRemoteQueueContext(pph_context=remote.pph_context)
        closed = yield PlannedCall.of("R_QMCloseRemoteQueueContext", letting_go, there)
        opened = self._opened(answer, request, name, endpoint)
        if opened.value is not None and closed.fault is not None:
            yield from self.close_queue(opened.value)
            return Result(status=answered(closed))
        return opened

    def _opened(
        self, answer: CallResult, request: OpenQueueInternalRequest, name: FormatName, endpoint: Endpoint
    ) -> Result[OpenQueueContext]:
        status = answered(answer)
        if status != Status.MQ_OK:
            return Result(status=status)
        if answer.response.ph_queue.null:
            return Result(status=Status.MQ_ERROR)
        queue = OpenQueueContext(
            handle=answer.response.ph_queue,
            context=answer.response.pdw_qm_context,
            format_name=str(name),
            access=request.dw_desired_access,
            endpoint=endpoint,
        )
        self.queues.append(queue)
        return Result(status=status, value=queue)

    def close_queue(self, queue: OpenQueueContext) -> Steps[int]:
        """Close a queue; the status, and the queue is not used again whatever it is. [MS-MQMP] 3.2.4.15"""
        if queue.closed:
            raise ValueError(f"{queue.format_name} was closed")
        self.queues.remove(queue)
        queue.closed = True
        request = QueueHandleRequest(ph_queue=queue.handle)
        return answered((yield PlannedCall.of("rpc_ACCloseHandle", request, queue.endpoint)))

    def handle_to_format_name(self, queue: OpenQueueContext, room: int = 0) -> Steps[Result[str]]:
        """Ask for the format name of an open queue, with ``room`` characters at first. [MS-MQMP] 3.2.4.14"""
        queue.check_in_use()
        if not 0 <= room <= _LONGEST_NAME:
            raise ValueError(f"room for a format name is 0 to {_LONGEST_NAME} characters")
        status = int(Status.MQ_ERROR)
        for _ in range(ATTEMPTS):
            request = ACHandleToFormatNameRequest(
                h_queue=queue.handle,
                dw_format_name_rpc_buffer_len=room,
                lpwcs_format_name=WcharText(bytes(2 * room)) if room else None,
                pdw_length=room,
            )
            answer = yield PlannedCall.of("rpc_ACHandleToFormatName", request, queue.endpoint)
            status = answered(answer)
            if answer.fault is not None:
                break
            text = answer.response.lpwcs_format_name
            if status == Status.MQ_OK and isinstance(text, WcharText):
                return Result(status=status, value=FixedWcharText(text).text)
            if status == Status.MQ_OK:
                return Result(status=Status.MQ_ERROR)
            length = answer.response.pdw_length
            too_small = status == Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL
            if not too_small or not room < length <= _LONGEST_NAME:
                break
            room = length
        return Result(status=status)

    def purge(self, queue: OpenQueueContext) -> Steps[int]:
        """Remove all messages of a queue; the status. [MS-MQMP] 3.2.4.9"""
        queue.check_in_use()
        request = QueueRequest(h_queue=queue.handle)
        return answered((yield PlannedCall.of("rpc_ACPurgeQueue", request, queue.endpoint)))

    def create_cursor(self, queue: OpenQueueContext) -> Steps[Result[int]]:
        """Create a cursor, also at another computer where the server leaves that to the client.

        [MS-MQMP] 3.2.4.8
        """
        queue.check_in_use()
        request = RpcACCreateCursorExRequest(h_queue=queue.handle)
        answer = yield PlannedCall.of("rpc_ACCreateCursorEx", request, queue.endpoint)
        status = answered(answer)
        if answer.fault is not None:
            return Result(status=status)
        made: CACCreateRemoteCursor = answer.response.pcc
        if status == Status.MQ_INFORMATION_REMOTE_OPERATION:
            status = yield from self._create_remote_cursor(queue, made)
            if status != Status.MQ_OK:
                unwanted = CursorRequest(h_queue=queue.handle, h_cursor=made.h_cursor)
                yield PlannedCall.of("rpc_ACCloseCursor", unwanted, queue.endpoint)
        if status != Status.MQ_OK:
            return Result(status=status)
        queue.cursors.add(made.h_cursor)
        return Result(status=status, value=made.h_cursor)

    def _create_remote_cursor(self, queue: OpenQueueContext, made: CACCreateRemoteCursor) -> Steps[int]:
        asking = GetRemoteQueueNameRequest(p_queue=made.cli_p_qm_queue, lplp_remote_queue_name=NULL_POINTEE)
        answer = yield PlannedCall.of("R_QMGetRemoteQueueName", asking, queue.endpoint)
        if answered(answer) != Status.MQ_OK:
            return answered(answer)
        text = answer.response.lplp_remote_queue_name
        computer = _computer(text) if isinstance(text, WcharText) else None
        there = None if computer is None else (yield from self.bind(computer))
        if there is None:
            return Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE
        creating = CreateRemoteCursorRequest(ptb1=_ZEROED, h_queue=made.srv_h_ac_queue)
        answer = yield PlannedCall.of("R_QMCreateRemoteCursor", creating, there)
        if answered(answer) != Status.MQ_OK:
            return answered(answer)
        tying = SetCursorPropertiesRequest(
            h_proxy=queue.handle, h_cursor=made.h_cursor, h_remote_cursor=answer.response.ph_cursor
        )
        return answered((yield PlannedCall.of("rpc_ACSetCursorProperties", tying, queue.endpoint)))

    def close_cursor(self, queue: OpenQueueContext, cursor: int) -> Steps[int]:
        """Close a cursor, or 0x0000000B, which is none; the status. [MS-MQMP] 3.2.4.16"""
        queue.check_in_use()
        if cursor != NO_CURSOR:
            queue.check_cursor(cursor)
            queue.cursors.remove(cursor)
        request = CursorRequest(h_queue=queue.handle, h_cursor=cursor)
        return answered((yield PlannedCall.of("rpc_ACCloseCursor", request, queue.endpoint)))


def _computer(path_name: WcharText) -> str | None:
    """The computer that a path name names; None where it is no path name."""
    try:
        return PathName.parse(path_name.text).computer
    except FormatNameError:
        return None
