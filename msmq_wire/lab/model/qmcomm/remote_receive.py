"""Receiving from another queue manager for an application, over qm2qm. [MS-MQMP] 3.1.5.3

The rule kept here: what another queue manager has handed over is either with the application or told to be
kept there: each receive that was started is ended, also when nobody waits for it any more.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from msmq_wire.engines.codec import inspect
from msmq_wire.errors import EncodeError
from msmq_wire.lab.model.data.elements import ModelQueueManager
from msmq_wire.lab.model.data.stored_message import message_of
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.local_queue_context import RemoteQueueProxyHandle, remote_queue_of_context
from msmq_wire.lab.model.qmcomm.transfer_buffers import filled_buffer, properties_to_receive
from msmq_wire.rpc.constants import ReceiveAction, RemoteReadAck
from msmq_wire.rpc.interfaces.qm2qm import RemoteQMEndReceiveRequest, RemoteQMStartReceiveRequest
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV2
from msmq_wire.rpc.types.remote_read_descriptor import RemoteReadDesc
from msmq_wire.wire.packets.user_message import UserMessage


def receive_remotely(
    manager: ModelQueueManager,
    proxy: RemoteQueueProxyHandle,
    buffer: CACTransferBufferV2,
    answer: Callable[[int, CACTransferBufferV2], None],
    waits: Callable[[], bool],
) -> int:
    """Ask the other queue manager; the status is that of what forbids it, and no answer comes then.

    ``waits`` says whether the application still waits for the answer.
    """
    wanted = buffer.old.arm
    remote_cursor = 0
    if wanted.cursor:
        cursor = next((one for one in proxy.cursor_proxy_collection if one.handle == wanted.cursor), None)
        if cursor is None or not cursor.is_remote_cursor_handle_initialized:
            return Status.MQ_ERROR_INVALID_HANDLE
        remote_cursor = cursor.remote_cursor_handle

    def started(got: CallResult) -> None:
        if got.response is None:
            answer(Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE, buffer)
            return
        if got.status != Status.MQ_OK:
            answer(got.response.status, buffer)
            return
        status, filled = _filled(manager, buffer, got.response.lp_remote_read_desc)
        if wanted.action != ReceiveAction.MQ_ACTION_RECEIVE:
            answer(status, filled)
            return
        held = waits() and remote_queue_of_context(manager, proxy.context) is proxy
        ack = RemoteReadAck.RR_ACK if status == Status.MQ_OK and held else RemoteReadAck.RR_NACK

        def ended(end: CallResult) -> None:
            if ack is RemoteReadAck.RR_NACK:
                answer(Status.MQ_ERROR_BUFFER_OVERFLOW, buffer)
            elif end.response is None:
                answer(Status.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE, buffer)
            else:
                answer(end.response.status, filled if end.response.status == Status.MQ_OK else buffer)

        request = RemoteQMEndReceiveRequest(pph_context=got.response.pph_context, dw_ack=ack)
        proxy.remote_binding_handle("RemoteQMEndReceive", request, ended)

    description = RemoteReadDesc(
        h_remote_queue=proxy.remote_context,
        h_cursor=remote_cursor,
        ul_action=wanted.action,
        ul_timeout=wanted.request_timeout,
        dw_queue=proxy.remote_context,
        dw_request_id=manager.new_handle(),
        e_ack_nack=RemoteReadAck.RR_UNKNOWN,
    )
    request = RemoteQMStartReceiveRequest(lp_remote_read_desc=description)
    proxy.remote_binding_handle("RemoteQMStartReceive", request, started)
    return Status.MQ_OK


def _filled(
    manager: ModelQueueManager, buffer: CACTransferBufferV2, description: RemoteReadDesc
) -> tuple[int, CACTransferBufferV2]:
    """Get Message Data Element From Buffer, [MS-MQQB] 3.1.7.10, and into the client's buffer."""
    found = inspect(description.lp_buffer or b"", as_="user_message")
    if found.error is not None or not isinstance(found.packet, UserMessage):
        return Status.MQ_ERROR_BUFFER_OVERFLOW, buffer
    try:
        message = message_of(found.packet)
    except EncodeError:
        return Status.MQ_ERROR_BUFFER_OVERFLOW, buffer
    message = msgspec.structs.replace(message, arrival_time=description.dw_arrive_time)
    return filled_buffer(buffer, properties_to_receive(message, manager.current_time))
