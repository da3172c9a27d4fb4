"""qm2qm, [MS-MQQP] 3.1.4: how the supporting server of an application reads a queue of another one."""

from typing import Annotated, ClassVar

from msmq_wire.rpc.constants import PortProtocol, RemoteReadAck
from msmq_wire.rpc.interfaces.method import HResult, interface, method
from msmq_wire.rpc.interfaces.role import (
    ACTION,
    CURSOR,
    FOUND,
    GIVES,
    HANDLE,
    LOOKUP_ID,
    MESSAGE,
    PORT,
    RECEIVE,
    REQUEST_ID,
    TIMEOUT,
    Role,
)
from msmq_wire.rpc.interfaces.shared_parameters import NoParameters, PortResponse, StatusResponse
from msmq_wire.rpc.ndr import BYTE, DWORD, HYPER, UUID, WORD, NdrStruct, Ranged
from msmq_wire.rpc.types.context_handle import CONTEXT_HANDLE, ContextHandle
from msmq_wire.rpc.types.remote_read_descriptor import (
    REMOTE_READ_DESC,
    REMOTE_READ_DESC2,
    RemoteReadDesc,
    RemoteReadDesc2,
)
from msmq_wire.spec import SpecRef
from msmq_wire.wire.private import HOST
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_MS_MQQP = SpecRef("MS-MQQP", "3.1.4")
_READ = (
    ("h_remote_queue", HANDLE),
    ("dw_request_id", REQUEST_ID),
    ("h_cursor", CURSOR),
    ("ul_action", ACTION),
    ("ul_timeout", TIMEOUT),
)
_IN_DESCRIPTOR = tuple(one.at(path) for path, one in _READ)
_IN_DESCRIPTOR2 = tuple(one.at(f"p_remote_read_desc.{path}") for path, one in _READ)
LAST_OF_WINDOWS_2000 = 7
"""The last opnum that Windows NT and 2000 have."""


class RemoteQMStartReceiveRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What to read."""

    lp_remote_read_desc: Annotated[RemoteReadDesc, REMOTE_READ_DESC, *_IN_DESCRIPTOR, "What to read."] = (
        RemoteReadDesc()
    )


class RemoteQMStartReceiveResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The message, and the receive that RemoteQMEndReceive ends; a peek has none."""

    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, RECEIVE, "The receive."] = ContextHandle()
    lp_remote_read_desc: Annotated[
        RemoteReadDesc, REMOTE_READ_DESC, MESSAGE.at("lp_buffer"), "What was read."
    ] = RemoteReadDesc()
    status: HResult = 0


class RemoteQMEndReceiveRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Whether the client has the message."""

    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, RECEIVE, "The receive."] = ContextHandle()
    dw_ack: Annotated[int, Ranged(DWORD, 1, 2), RemoteReadAck, "1 puts it back, 2 removes it."] = 0


class HandleResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """NULL where what the handle stood for is closed."""

    SPEC: ClassVar[SpecRef] = _MS_MQQP
    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, "NULL on success."] = ContextHandle()
    status: HResult = 0


class RemoteQMOpenQueueRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue that qmcomm's R_QMOpenRemoteQueue opened, by the numbers that it gave."""

    p_lic_guid: Annotated[GUID, UUID, HOST, "The client."] = NULL_GUID
    dw_mqs: Annotated[int, Ranged(DWORD, 0, 16), "1 for a routing or directory server."] = 0
    h_queue: Annotated[int, DWORD, HANDLE, "phQueue of R_QMOpenRemoteQueue."] = 0
    p_queue: Annotated[int, DWORD, "dwpQueue of R_QMOpenRemoteQueue."] = 0
    dwp_context: Annotated[int, DWORD, "pdwContext of R_QMOpenRemoteQueue."] = 0


class RemoteQMOpenQueueResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The open queue."""

    ph_context: Annotated[ContextHandle, CONTEXT_HANDLE, GIVES, "The open queue."] = ContextHandle()
    status: HResult = 0


class RemoteQMCloseQueueRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """An open queue to close."""

    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, HANDLE, "The open queue."] = ContextHandle()


class RemoteQMCloseCursorRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A cursor to close."""

    h_queue: Annotated[int, DWORD, HANDLE, "The open queue."] = 0
    h_cursor: Annotated[int, DWORD, CURSOR, "The cursor."] = 0


class RemoteQMCancelReceiveRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A receive to give up."""

    h_queue: Annotated[int, DWORD, HANDLE, "The open queue."] = 0
    p_queue: Annotated[int, DWORD, "The same."] = 0
    dw_request_id: Annotated[int, DWORD, REQUEST_ID, "As in REMOTEREADDESC."] = 0


class RemoteQMPurgeQueueRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """A queue to empty."""

    h_queue: Annotated[int, DWORD, HANDLE, "The open queue."] = 0


class RemoteQMGetQMQMServerPortRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """Which port is asked for."""

    dw_port_type: Annotated[int, Ranged(DWORD, 0, 3), PortProtocol, PORT, "Interface and transport."] = 0


class RemoteQmGetVersionResponse(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The server's version."""

    p_major: Annotated[int, BYTE, "Its first part."] = 0
    p_minor: Annotated[int, BYTE, "Its second part."] = 0
    p_build_number: Annotated[int, WORD, "Its build."] = 0


class RemoteQMStartReceive2Request(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What to read."""

    lp_remote_read_desc2: Annotated[RemoteReadDesc2, REMOTE_READ_DESC2, *_IN_DESCRIPTOR2, "What to read."] = (
        RemoteReadDesc2()
    )


class RemoteQMStartReceive2Response(NdrStruct, frozen=True, kw_only=True, gc=False):
    """The message and its lookup identifier, and the receive that RemoteQMEndReceive ends."""

    pph_context: Annotated[ContextHandle, CONTEXT_HANDLE, RECEIVE, "The receive."] = ContextHandle()
    lp_remote_read_desc2: Annotated[
        RemoteReadDesc2,
        REMOTE_READ_DESC2,
        FOUND.at("sequential_id"),
        MESSAGE.at("p_remote_read_desc.lp_buffer"),
        "What was read.",
    ] = RemoteReadDesc2()
    status: HResult = 0


class RemoteQMStartReceiveByLookupIdRequest(NdrStruct, frozen=True, kw_only=True, gc=False):
    """What to read, by its lookup identifier."""

    lookup_id: Annotated[
        int, HYPER, LOOKUP_ID, "The message; 0 with NEXT is the first, all ones with PREV the last."
    ] = 0
    lp_remote_read_desc2: Annotated[RemoteReadDesc2, REMOTE_READ_DESC2, *_IN_DESCRIPTOR2, "What to read."] = (
        RemoteReadDesc2()
    )


INTERFACE = interface(
    "qm2qm",
    "1088a980-eae5-11d0-8d9b-00a02453c337",
    _MS_MQQP,
    {
        0: method(
            "RemoteQMStartReceive",
            "3.1.4.1",
            RemoteQMStartReceiveRequest,
            RemoteQMStartReceiveResponse,
            Role.START,
        ),
        1: method("RemoteQMEndReceive", "3.1.4.2", RemoteQMEndReceiveRequest, HandleResponse, Role.END),
        2: method(
            "RemoteQMOpenQueue",
            "3.1.4.3",
            RemoteQMOpenQueueRequest,
            RemoteQMOpenQueueResponse,
            Role.BEGIN_READING,
        ),
        3: method("RemoteQMCloseQueue", "3.1.4.4", RemoteQMCloseQueueRequest, HandleResponse, Role.CLOSE),
        4: method(
            "RemoteQMCloseCursor", "3.1.4.5", RemoteQMCloseCursorRequest, StatusResponse, Role.CLOSE_CURSOR
        ),
        5: method(
            "RemoteQMCancelReceive", "3.1.4.6", RemoteQMCancelReceiveRequest, StatusResponse, Role.CANCEL
        ),
        6: method("RemoteQMPurgeQueue", "3.1.4.7", RemoteQMPurgeQueueRequest, StatusResponse, Role.PURGE),
        7: method(
            "RemoteQMGetQMQMServerPort",
            "3.1.4.8",
            RemoteQMGetQMQMServerPortRequest,
            PortResponse,
            Role.ASK_PORT,
        ),
        8: method(
            "RemoteQmGetVersion", "3.1.4.9", NoParameters, RemoteQmGetVersionResponse, Role.ASK_VERSION
        ),
        9: method(
            "RemoteQMStartReceive2",
            "3.1.4.10",
            RemoteQMStartReceive2Request,
            RemoteQMStartReceive2Response,
            Role.START,
        ),
        10: method(
            "RemoteQMStartReceiveByLookupId",
            "3.1.4.11",
            RemoteQMStartReceiveByLookupIdRequest,
            RemoteQMStartReceive2Response,
            Role.START,
        ),
    },
    # 3.2.4.1
    call_timeouts={"RemoteQMOpenQueue": 300_000},
)
