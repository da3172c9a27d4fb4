"""Parameter lists of the methods of qmcomm that open, close and use queues, [MS-MQMP] 3.1.4."""

from typing import Annotated

from msmq_wire.rpc.constants import (
    AccessMode,
    OperatingSystemCategory,
    PortProtocol,
    RegistryQueryType,
    RemoteProtocol,
    ShareMode,
)
from msmq_wire.rpc.interfaces.method import HResult
from msmq_wire.rpc.interfaces.role import ACCESS, CREATES, CURSOR, GIVES, HANDLE, PORT, QUEUE, number
from msmq_wire.rpc.ndr import (
    DWORD,
    UUID,
    WCHAR,
    ConformantVarying,
    Full,
    NdrStruct,
    NullPointee,
    Ranged,
    String,
    Unique,
)
from msmq_wire.rpc.types.cac_transfer_buffer import CAC_TRANSFER_BUFFER_V1, CACTransferBufferV1
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.rpc.types.queue_format import QUEUE_FORMAT, QueueFormat
from msmq_wire.wire.expressions import this
from msmq_wire.wire.private import HOST, QUEUE_NAME
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.wchar_text import WcharText

_TEXT = Full(Full(String()))
"""``[in, out, ptr, string] WCHAR**``."""


class GetRemoteQueueNameRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue whose name is asked for."""

    p_queue: Annotated[int, DWORD, "cli_pQMQueue of rpc_ACCreateCursorEx."] = 0
    lplp_remote_queue_name: Annotated[WcharText | NullPointee | None, _TEXT, QUEUE_NAME, "Room for it."] = (
        None
    )


class GetRemoteQueueNameResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The name of the queue."""

    lplp_remote_queue_name: Annotated[
        WcharText | NullPointee | None, _TEXT, QUEUE_NAME, "Its format name."
    ] = None
    status: HResult = 0


class OpenRemoteQueueRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue to open for another host, for what, and who asks."""

    p_queue_format: Annotated[QueueFormat | None, Unique(QUEUE_FORMAT), QUEUE, "The queue."] = None
    dw_calling_process_id: Annotated[int, DWORD, "Process of the client."] = 0
    dw_desired_access: Annotated[int, DWORD, AccessMode, ACCESS, "Receive or peek."] = 0
    dw_share_mode: Annotated[int, DWORD, ShareMode, "Whether others may receive from it meanwhile."] = 0
    p_lic_guid: Annotated[GUID, UUID, HOST, "The client."] = NULL_GUID
    dw_mqs: Annotated[int, DWORD, OperatingSystemCategory, "The client's kind of system."] = 0


class OpenRemoteQueueResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The open queue, and the numbers by which qm2qm knows it."""

    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, GIVES, "The open queue."] = ContextHandle()
    pdw_context: Annotated[int, DWORD, number("h_queue"), "dwpContext of RemoteQMOpenQueue."] = 0
    dwp_queue: Annotated[int, DWORD, "pQueue of RemoteQMOpenQueue."] = 0
    ph_queue: Annotated[int, DWORD, number("h_queue"), "hQueue of RemoteQMOpenQueue."] = 0
    status: HResult = 0


class CloseRemoteQueueContext(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An open queue to close; NULL in the answer."""

    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()


class CreateRemoteCursorRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A cursor for a queue of this server; the buffer means nothing."""

    ptb1: Annotated[CACTransferBufferV1, CAC_TRANSFER_BUFFER_V1, "Not used."] = CACTransferBufferV1()
    h_queue: Annotated[int, DWORD, HANDLE, "The open queue."] = 0


class CreateRemoteCursorResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The new cursor."""

    ph_cursor: Annotated[int, DWORD, CREATES, "The cursor."] = 0
    status: HResult = 0


class OpenQueueInternalRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue that an application opens, and what its server needs to know of a remote one."""

    p_queue_format: Annotated[QueueFormat, QUEUE_FORMAT, QUEUE, "The queue."] = QueueFormat()
    dw_desired_access: Annotated[int, DWORD, AccessMode, ACCESS, "Receive, peek or send."] = 0
    dw_share_mode: Annotated[int, DWORD, ShareMode, "Whether others may receive from it meanwhile."] = 0
    h_remote_queue: Annotated[int, DWORD, "phQueue of R_QMOpenRemoteQueue, or 0."] = 0
    lplp_remote_queue_name: Annotated[
        WcharText | NullPointee | None, _TEXT, QUEUE_NAME, "Room for its name."
    ] = None
    dwp_queue: Annotated[int, DWORD, "dwpQueue of R_QMOpenRemoteQueue, or 0."] = 0
    p_lic_guid: Annotated[GUID, UUID, HOST, "The client."] = NULL_GUID
    lp_client_name: Annotated[WcharText, String(), "The client's computer."] = WcharText(b"\0\0")
    dw_remote_protocol: Annotated[int, DWORD, RemoteProtocol, "How to reach the remote queue."] = 0
    dwp_remote_context: Annotated[int, DWORD, "pdwContext of R_QMOpenRemoteQueue, or 0."] = 0


class OpenQueueInternalResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The open queue, as a number and as a handle."""

    lplp_remote_queue_name: Annotated[
        WcharText | NullPointee | None, _TEXT, QUEUE_NAME, "Where a remote queue is."
    ] = None
    pdw_qm_context: Annotated[int, DWORD, number("h_qm_context"), "hQMContext of rpc_ACReceiveMessageEx."] = 0
    ph_queue: Annotated[ContextHandle, CONTEXT_HANDLE, GIVES, "The open queue."] = ContextHandle()
    status: HResult = 0


class QueueHandleRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An open queue to close."""

    ph_queue: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()


class QueueHandleResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """NULL where the queue was closed."""

    ph_queue: Annotated[ContextHandle, CONTEXT_HANDLE, "NULL on success."] = ContextHandle()
    status: HResult = 0


class CursorRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A cursor to close."""

    h_queue: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    h_cursor: Annotated[int, DWORD, CURSOR, "The cursor."] = 0


class SetCursorPropertiesRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A cursor and the remote one that it stands for."""

    h_proxy: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    h_cursor: Annotated[int, DWORD, CURSOR, "The cursor."] = 0
    h_remote_cursor: Annotated[int, DWORD, "phCursor of R_QMCreateRemoteCursor."] = 0


_FORMAT_NAME = Unique(
    ConformantVarying(
        WCHAR, size=this.dw_format_name_rpc_buffer_len, length=this.dw_format_name_rpc_buffer_len
    )
)


class ACHandleToFormatNameRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An open queue whose format name is asked for."""

    h_queue: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()
    dw_format_name_rpc_buffer_len: Annotated[int, Ranged(DWORD, 0, 524288), "Characters of room."] = 0
    lpwcs_format_name: Annotated[WcharText | None, _FORMAT_NAME, QUEUE_NAME, "Room for the name."] = None
    pdw_length: Annotated[int, DWORD, "Characters of room."] = 0


class ACHandleToFormatNameResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The format name."""

    lpwcs_format_name: Annotated[
        WcharText | None, Unique(ConformantVarying(WCHAR)), QUEUE_NAME, "The name."
    ] = None
    pdw_length: Annotated[int, DWORD, "Its characters."] = 0
    status: HResult = 0


class QueueRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue to empty."""

    h_queue: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()


class QueryRegistryRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A setting of the server that is asked for."""

    dw_query_type: Annotated[int, DWORD, RegistryQueryType, "Which setting."] = 0


class QueryRegistryResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The setting."""

    lplp_mqis_server: Annotated[WcharText | None, Unique(String()), "The setting as text."] = None
    status: HResult = 0


class GetServerPortRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Which port is asked for."""

    f_ip: Annotated[int, DWORD, PortProtocol, PORT, "Interface and transport."] = 0
