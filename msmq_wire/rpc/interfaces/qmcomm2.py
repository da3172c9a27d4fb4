"""qmcomm2, [MS-MQMP] 3.1.5: how an application sends and receives through its supporting server."""

from typing import Annotated, ClassVar

from msmq_wire.rpc.interfaces.method import HResult, interface, method
from msmq_wire.rpc.interfaces.role import ACTION, CREATES, CURSOR, HANDLE, MESSAGE, QUEUE, TIMEOUT, Role
from msmq_wire.rpc.ndr import DWORD, NdrStruct, Unique
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CAC_CREATE_REMOTE_CURSOR,
    CAC_TRANSFER_BUFFER_V2,
    CACCreateRemoteCursor,
    CACTransferBufferV1,
    CACTransferBufferV2,
)
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.rpc.types.queue_format import OBJECT_ID, QUEUE_FORMAT, ObjectId, QueueFormat
from msmq_wire.spec import SpecRef

_MS_MQMP = SpecRef("MS-MQMP", "3.1.5")
_NOTHING = CACTransferBufferV2(old=CACTransferBufferV1())


class QMSendMessageInternalExRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A message for a queue that is not open."""

    p_queue_format: Annotated[QueueFormat, QUEUE_FORMAT, QUEUE, "The queue."] = QueueFormat()
    ptb: Annotated[CACTransferBufferV2, CAC_TRANSFER_BUFFER_V2, MESSAGE, "The message."] = _NOTHING
    p_message_id: Annotated[ObjectId | None, Unique(OBJECT_ID), "Room for its identifier."] = None


class MessageIdResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The identifier that the message got."""

    SPEC: ClassVar[SpecRef] = _MS_MQMP
    p_message_id: Annotated[ObjectId | None, Unique(OBJECT_ID), "The identifier."] = None
    status: HResult = 0


class RpcACSendMessageExRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A message for an open queue."""

    h_queue: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    ptb: Annotated[CACTransferBufferV2, CAC_TRANSFER_BUFFER_V2, MESSAGE, "The message."] = _NOTHING
    p_message_id: Annotated[ObjectId | None, Unique(OBJECT_ID), "Room for its identifier."] = None


class RpcACReceiveMessageExRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Which message, and which of its properties, are wanted."""

    h_qm_context: Annotated[int, DWORD, HANDLE, "pdwQMContext of rpc_QMOpenQueueInternal."] = 0
    ptb: Annotated[
        CACTransferBufferV2,
        CAC_TRANSFER_BUFFER_V2,
        CURSOR.at("old.receive.cursor"),
        ACTION.at("old.receive.action"),
        TIMEOUT.at("old.receive.request_timeout"),
        "What is wanted.",
    ] = _NOTHING


class RpcACReceiveMessageExResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The message."""

    ptb: Annotated[CACTransferBufferV2, CAC_TRANSFER_BUFFER_V2, MESSAGE, "The message."] = _NOTHING
    status: HResult = 0


class RpcACCreateCursorExRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A cursor for an open queue."""

    h_queue: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    pcc: Annotated[CACCreateRemoteCursor, CAC_CREATE_REMOTE_CURSOR, "Room for it."] = CACCreateRemoteCursor()


class RpcACCreateCursorExResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The cursor, or where a remote one has to be made."""

    pcc: Annotated[CACCreateRemoteCursor, CAC_CREATE_REMOTE_CURSOR, CREATES.at("h_cursor"), "The cursor."] = (
        CACCreateRemoteCursor()
    )
    status: HResult = 0


INTERFACE = interface(
    "qmcomm2",
    "76d12b80-3467-11d3-91ff-0090272f9ea3",
    _MS_MQMP,
    {
        0: method(
            "QMSendMessageInternalEx", "3.1.5.1", QMSendMessageInternalExRequest, MessageIdResponse, Role.SEND
        ),
        1: method("rpc_ACSendMessageEx", "3.1.5.2", RpcACSendMessageExRequest, MessageIdResponse, Role.SEND),
        2: method(
            "rpc_ACReceiveMessageEx",
            "3.1.5.3",
            RpcACReceiveMessageExRequest,
            RpcACReceiveMessageExResponse,
            Role.RECEIVE,
        ),
        3: method(
            "rpc_ACCreateCursorEx",
            "3.1.5.4",
            RpcACCreateCursorExRequest,
            RpcACCreateCursorExResponse,
            Role.CREATE_CURSOR,
        ),
    },
)
