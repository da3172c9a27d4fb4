"""An application at its supporting server, for tests of qmcomm2: open queues, sends, receives, buffers."""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.lab.model.data.elements import ModelMessage, OpenQueueDescriptor, Queue
from msmq_wire.lab.model.data.enumerations import QueueAccessType
from msmq_wire.lab.model.interface_server import CallResult
from msmq_wire.lab.model.qmcomm.local_queue_context import LocalQueueContextHandle, add_local_queue
from msmq_wire.lab.model.qmcomm.qmcomm2 import Qmcomm2Server
from msmq_wire.rpc.interfaces.qmcomm2 import (
    RpcACCreateCursorExRequest,
    RpcACReceiveMessageExRequest,
    RpcACSendMessageExRequest,
)
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CACTransferBufferV1,
    CACTransferBufferV2,
    TransferReceive,
    TransferSend,
)
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.types.wchar_text import WcharText
from tests.lab.model.scene import ServerScene, Waiting, format_name

SEND, RECEIVE = QueueAccessType.SEND_ACCESS, QueueAccessType.RECEIVE_ACCESS
PEEK = QueueAccessType.PEEK_ACCESS
ACTION_RECEIVE, ACTION_PEEK, ACTION_PEEK_NEXT = 0x00000000, 0x80000000, 0x80000001
ROOM = ObjectId()
"""pMessageID of who wants to know the identifier."""


def sending(
    admin: Any = None, response: Any = None, outer: dict[str, Any] | None = None, **old: Any
) -> CACTransferBufferV2:
    """The buffer of a message without end, with other members as given."""
    members = {"ul_relative_time_to_live": 0xFFFFFFFF, "ul_absolute_time_to_queue": 0xFFFFFFFF, **old}
    arm = members.pop("arm", TransferSend(p_admin_queue_format=admin, p_response_queue_format=response))
    transfer = members.pop("u_transfer_type", 0)
    return CACTransferBufferV2(
        old=CACTransferBufferV1(u_transfer_type=transfer, arm=arm, **members), **(outer or {})
    )


def body(content: bytes, label: str = "") -> dict[str, Any]:
    """The members of a body and a label."""
    text = label.encode("utf-16-le")
    return {
        "pp_body": content,
        "ul_body_buffer_size_in_bytes": len(content),
        "ul_alloc_body_buffer_in_bytes": len(content),
        "pp_title": WcharText(text + bytes(2)),
        "ul_title_buffer_size_in_wchars": len(text) // 2 + 1,
    }


def receiving(
    action: int = ACTION_RECEIVE,
    timeout: int = 0,
    cursor: int = 0,
    arm: dict[str, Any] | None = None,
    outer: dict[str, Any] | None = None,
    **old: Any,
) -> CACTransferBufferV2:
    """The buffer of who receives or peeks, with room as given."""
    wanted = TransferReceive(action=action, request_timeout=timeout, cursor=cursor, **(arm or {}))
    members = {"u_transfer_type": 1, "arm": wanted, **old}
    return CACTransferBufferV2(old=CACTransferBufferV1(**members), **(outer or {}))


def body_room(size: int = 1000) -> dict[str, Any]:
    """Room for a body."""
    return {
        "pp_body": b"\xdb" * size,
        "ul_body_buffer_size_in_bytes": size,
        "ul_alloc_body_buffer_in_bytes": size,
        "p_body_size": 0xDBDBDBDB,
    }


class Scene(ServerScene[Qmcomm2Server]):
    """A server with a queue, and one application."""

    def __init__(self, **how: Any) -> None:
        super().__init__(Qmcomm2Server, **how)

    def open(
        self, access: QueueAccessType = RECEIVE, queue: Queue | None = None, name: str | None = None
    ) -> LocalQueueContextHandle:
        """What rpc_QMOpenQueueInternal leaves."""
        descriptor = self.opened(access, name or format_name(queue or self.queue))
        return add_local_queue(self.manager, self.association, descriptor)

    def send(
        self, buffer: Any = None, handle: ContextHandle | None = None, room: ObjectId | None = ROOM
    ) -> CallResult:
        """rpc_ACSendMessageEx."""
        handle = self.open(SEND).handle if handle is None else handle
        ptb = sending() if buffer is None else buffer
        return self.client.call_opnum(
            1, RpcACSendMessageExRequest(h_queue=handle, ptb=ptb, p_message_id=room)
        )

    def sent(self, **old: Any) -> ModelMessage:
        """The message that a send leaves in the queue."""
        answer = self.send(sending(**old))
        assert answer.status == Status.MQ_OK, hex(answer.status or 0)
        *_, slot = sorted(self.queue.message_position_list, key=lambda one: one.order)
        return slot.message_reference

    def start_receive(self, buffer: Any, opened: LocalQueueContextHandle | int) -> Waiting:
        """rpc_ACReceiveMessageEx."""
        context = opened if isinstance(opened, int) else opened.open_queue_descriptor_reference.handle
        return self.client.start_opnum(2, RpcACReceiveMessageExRequest(h_qm_context=context, ptb=buffer))

    def receive(self, buffer: Any, opened: LocalQueueContextHandle | int | None = None) -> CallResult:
        """rpc_ACReceiveMessageEx that is answered at once."""
        answer = self.start_receive(buffer, self.open() if opened is None else opened).answer
        assert answer is not None, "the call waits"
        return answer

    def create_cursor(self, handle: ContextHandle, **how: Any) -> CallResult:
        """rpc_ACCreateCursorEx."""
        return self.client.call_opnum(3, RpcACCreateCursorExRequest(h_queue=handle, **how))

    def cursor(self, opened: LocalQueueContextHandle) -> int:
        """A cursor that was created."""
        answer = self.create_cursor(opened.handle)
        assert answer.status == Status.MQ_OK
        number: int = answer.response.pcc.h_cursor
        return number

    def take(self, opened: LocalQueueContextHandle, action: int = ACTION_RECEIVE, **how: Any) -> bytes | int:
        """The body that is read, or the status."""
        answer = self.receive(receiving(action, **how, **body_room()), opened)
        return taken(answer)


def taken(answer: CallResult | Waiting) -> bytes | int:
    """The body in an answer, or the status."""
    if answer.status != Status.MQ_OK:
        return answer.status or 0
    old = answer.response.ptb.old
    return bytes(old.pp_body[: old.p_body_size])


def descriptor(opened: LocalQueueContextHandle) -> OpenQueueDescriptor:
    """What a handle stands for."""
    return opened.open_queue_descriptor_reference


def changed(buffer: CACTransferBufferV2, **old: Any) -> CACTransferBufferV2:
    """A buffer with other members."""
    made: CACTransferBufferV2 = msgspec.structs.replace(
        buffer, old=msgspec.structs.replace(buffer.old, **old)
    )
    return made
