"""The parameter lists of the remote read interfaces, for `rpc_impacket_types.encode`.

From the IDL of [MS-MQRR] 6, [MS-MQMP] 6 and [MS-MQQP] 6. A pointer parameter without [unique] or [ptr] is
a ref pointer and stands as its target. Methods with PROPVARIANT arrays are absent: impacket aligns a small
arm of a union to four octets whatever its type.
"""

from __future__ import annotations

from typing import Any

from tests.oracles.rpc_impacket_types import (
    BYTES,
    CAC_CREATE_REMOTE_CURSOR,
    CAC_TRANSFER_BUFFER_V1,
    CAC_TRANSFER_BUFFER_V2,
    CONTEXT_HANDLE,
    GUID,
    I32,
    OBJECT_FORMAT,
    OBJECTID,
    QUEUE_FORMAT,
    REMOTEREADDESC,
    REMOTEREADDESC2,
    SECTION_BUFFERS,
    U8,
    U16,
    U32,
    U64,
    WCHARS_VARYING,
    WSTRING,
    XACTUOW,
    encode,
    pointer,
)

Parameters = tuple[tuple[str, Any], ...]

INTERFACES = {
    "RemoteRead": "1a9134dd-7b39-45ba-ad88-44d01ca47f28",
    "qmcomm": "fdb3a030-065f-11d1-bb9b-00a024ea5525",
    "qmcomm2": "76d12b80-3467-11d3-91ff-0090272f9ea3",
    "qm2qm": "1088a980-eae5-11d0-8d9b-00a02453c337",
}

_STATUS: Parameters = (("status", U32),)
_CONTEXT: Parameters = (("phContext", CONTEXT_HANDLE),)
_CLOSE: Parameters = (("pphContext", CONTEXT_HANDLE), *_STATUS)
_OPEN: Parameters = (
    ("pQueueFormat", QUEUE_FORMAT),
    ("dwAccess", U32),
    ("dwShareMode", U32),
    ("pClientId", GUID),
    ("fNonRoutingServer", I32),
    ("Major", U8),
    ("Minor", U8),
    ("BuildNumber", U16),
    ("fWorkgroup", I32),
)
_START: Parameters = (
    ("phContext", CONTEXT_HANDLE),
    ("LookupId", U64),
    ("hCursor", U32),
    ("ulAction", U32),
    ("ulTimeout", U32),
    ("dwRequestId", U32),
    ("dwMaxBodySize", U32),
    ("dwMaxCompoundMessageSize", U32),
)
_STARTED: Parameters = (
    ("pdwArriveTime", U32),
    ("pSequenceId", U64),
    ("pdwNumberOfSections", U32),
    ("ppPacketSections", SECTION_BUFFERS),
    *_STATUS,
)
_END: Parameters = (("phContext", CONTEXT_HANDLE), ("dwAck", U32), ("dwRequestId", U32))

_REMOTE_READ: dict[int, tuple[str, Parameters, Parameters]] = {
    0: ("R_GetServerPort", (), (("port", U32),)),
    2: ("R_OpenQueue", _OPEN, (("pphContext", CONTEXT_HANDLE),)),
    3: ("R_CloseQueue", (("pphContext", CONTEXT_HANDLE),), _CLOSE),
    4: ("R_CreateCursor", _CONTEXT, (("phCursor", U32), *_STATUS)),
    5: ("R_CloseCursor", (*_CONTEXT, ("hCursor", U32)), _STATUS),
    6: ("R_PurgeQueue", _CONTEXT, _STATUS),
    7: ("R_StartReceive", _START, _STARTED),
    8: ("R_CancelReceive", (*_CONTEXT, ("dwRequestId", U32)), _STATUS),
    9: ("R_EndReceive", _END, _STATUS),
    10: (
        "R_MoveMessage",
        (
            ("phContextFrom", CONTEXT_HANDLE),
            ("ullContextTo", U64),
            ("LookupId", U64),
            ("pTransactionId", XACTUOW),
        ),
        _STATUS,
    ),
    11: ("R_OpenQueueForMove", _OPEN, (("pMoveContext", U64), ("pphContext", CONTEXT_HANDLE))),
    12: (
        "R_QMEnlistRemoteTransaction",
        (
            ("pTransactionId", XACTUOW),
            ("cbPropagationToken", U32),
            ("pbPropagationToken", BYTES),
            ("pQueueFormat", QUEUE_FORMAT),
        ),
        _STATUS,
    ),
    13: ("R_StartTransactionalReceive", (*_START, ("pTransactionId", XACTUOW)), _STARTED),
    14: (
        "R_SetUserAcknowledgementClass",
        (*_CONTEXT, ("LookupId", U64), ("usClass", U16)),
        _STATUS,
    ),
    15: ("R_EndTransactionalReceive", _END, _STATUS),
}

# [in, out, ptr, string] WCHAR**: a full pointer to a pointer to a string.
_NAME_OUT = ("lplpRemoteQueueName", pointer(pointer(WSTRING)))
_FORMAT_NAME: Parameters = (("lpwcsFormatName", pointer(WCHARS_VARYING)), ("pdwLength", U32))

_QMCOMM: dict[int, tuple[str, Parameters, Parameters]] = {
    1: ("R_QMGetRemoteQueueName", (("pQueue", U32), _NAME_OUT), (_NAME_OUT, *_STATUS)),
    2: (
        "R_QMOpenRemoteQueue",
        (
            ("pQueueFormat", pointer(QUEUE_FORMAT)),
            ("dwCallingProcessID", U32),
            ("dwDesiredAccess", U32),
            ("dwShareMode", U32),
            ("pLicGuid", GUID),
            ("dwMQS", U32),
        ),
        (("pphContext", CONTEXT_HANDLE), ("dwpContext", U32), ("dwpQueue", U32), ("phQueue", U32), *_STATUS),
    ),
    3: ("R_QMCloseRemoteQueueContext", _CONTEXT, _CONTEXT),
    4: (
        "R_QMCreateRemoteCursor",
        (("ptb1", CAC_TRANSFER_BUFFER_V1), ("hQueue", U32)),
        (("phCursor", U32), *_STATUS),
    ),
    7: (
        "R_QMSetObjectSecurityInternal",
        (
            ("pObjectFormat", OBJECT_FORMAT),
            ("SecurityInformation", U32),
            ("SDSize", U32),
            ("pSecurityDescriptor", pointer(BYTES)),
        ),
        _STATUS,
    ),
    8: (
        "R_QMGetObjectSecurityInternal",
        (("pObjectFormat", OBJECT_FORMAT), ("RequestedInformation", U32), ("nLength", U32)),
        (("pSecurityDescriptor", BYTES), ("lpnLengthNeeded", U32), *_STATUS),
    ),
    9: ("R_QMDeleteObject", (("pObjectFormat", OBJECT_FORMAT),), _STATUS),
    12: (
        "R_QMObjectPathToObjectFormat",
        (("lpwcsPathName", WSTRING), ("pObjectFormat", OBJECT_FORMAT)),
        (("pObjectFormat", OBJECT_FORMAT), *_STATUS),
    ),
    14: (
        "R_QMGetTmWhereabouts",
        (("cbBufSize", U32),),
        (("pbWhereabouts", BYTES), ("pcbWhereabouts", U32), *_STATUS),
    ),
    15: (
        "R_QMEnlistTransaction",
        (("pUow", XACTUOW), ("cbCookie", U32), ("pbCookie", BYTES)),
        _STATUS,
    ),
    16: ("R_QMEnlistInternalTransaction", (("pUow", XACTUOW),), (("phIntXact", CONTEXT_HANDLE), *_STATUS)),
    17: (
        "R_QMCommitTransaction",
        (("phIntXact", CONTEXT_HANDLE),),
        (("phIntXact", CONTEXT_HANDLE), *_STATUS),
    ),
    18: ("R_QMAbortTransaction", (("phIntXact", CONTEXT_HANDLE),), (("phIntXact", CONTEXT_HANDLE), *_STATUS)),
    19: (
        "rpc_QMOpenQueueInternal",
        (
            ("pQueueFormat", QUEUE_FORMAT),
            ("dwDesiredAccess", U32),
            ("dwShareMode", U32),
            ("hRemoteQueue", U32),
            _NAME_OUT,
            ("dwpQueue", U32),
            ("pLicGuid", GUID),
            ("lpClientName", WSTRING),
            ("dwRemoteProtocol", U32),
            ("dwpRemoteContext", U32),
        ),
        (_NAME_OUT, ("pdwQMContext", U32), ("phQueue", CONTEXT_HANDLE), *_STATUS),
    ),
    20: ("rpc_ACCloseHandle", (("phQueue", CONTEXT_HANDLE),), (("phQueue", CONTEXT_HANDLE), *_STATUS)),
    22: ("rpc_ACCloseCursor", (("hQueue", CONTEXT_HANDLE), ("hCursor", U32)), _STATUS),
    23: (
        "rpc_ACSetCursorProperties",
        (("hProxy", CONTEXT_HANDLE), ("hCursor", U32), ("hRemoteCursor", U32)),
        _STATUS,
    ),
    26: (
        "rpc_ACHandleToFormatName",
        (("hQueue", CONTEXT_HANDLE), ("dwFormatNameRPCBufferLen", U32), *_FORMAT_NAME),
        (*_FORMAT_NAME, *_STATUS),
    ),
    27: ("rpc_ACPurgeQueue", (("hQueue", CONTEXT_HANDLE),), _STATUS),
    28: (
        "R_QMQueryQMRegistryInternal",
        (("dwQueryType", U32),),
        (("lplpMQISServer", pointer(WSTRING)), *_STATUS),
    ),
    31: ("R_QMGetRTQMServerPort", (("fIP", U32),), (("port", U32),)),
}

_MESSAGE_ID: Parameters = (("pMessageID", pointer(OBJECTID)),)
_QMCOMM2: dict[int, tuple[str, Parameters, Parameters]] = {
    0: (
        "QMSendMessageInternalEx",
        (("pQueueFormat", QUEUE_FORMAT), ("ptb", CAC_TRANSFER_BUFFER_V2), *_MESSAGE_ID),
        (*_MESSAGE_ID, *_STATUS),
    ),
    1: (
        "rpc_ACSendMessageEx",
        (("hQueue", CONTEXT_HANDLE), ("ptb", CAC_TRANSFER_BUFFER_V2), *_MESSAGE_ID),
        (*_MESSAGE_ID, *_STATUS),
    ),
    2: (
        "rpc_ACReceiveMessageEx",
        (("hQMContext", U32), ("ptb", CAC_TRANSFER_BUFFER_V2)),
        (("ptb", CAC_TRANSFER_BUFFER_V2), *_STATUS),
    ),
    3: (
        "rpc_ACCreateCursorEx",
        (("hQueue", CONTEXT_HANDLE), ("pcc", CAC_CREATE_REMOTE_CURSOR)),
        (("pcc", CAC_CREATE_REMOTE_CURSOR), *_STATUS),
    ),
}

_SESSION: Parameters = (("phContext", CONTEXT_HANDLE),)
_DESC2: Parameters = (("lpRemoteReadDesc2", REMOTEREADDESC2),)
_QM2QM: dict[int, tuple[str, Parameters, Parameters]] = {
    0: (
        "RemoteQMStartReceive",
        (("lpRemoteReadDesc", REMOTEREADDESC),),
        (*_SESSION, ("lpRemoteReadDesc", REMOTEREADDESC), *_STATUS),
    ),
    1: ("RemoteQMEndReceive", (*_SESSION, ("dwAck", U32)), (*_SESSION, *_STATUS)),
    2: (
        "RemoteQMOpenQueue",
        (("pLicGuid", GUID), ("dwMQS", U32), ("hQueue", U32), ("pQueue", U32), ("dwpContext", U32)),
        (*_SESSION, *_STATUS),
    ),
    3: ("RemoteQMCloseQueue", _SESSION, (*_SESSION, *_STATUS)),
    4: ("RemoteQMCloseCursor", (("hQueue", U32), ("hCursor", U32)), _STATUS),
    5: ("RemoteQMCancelReceive", (("hQueue", U32), ("pQueue", U32), ("dwRequestID", U32)), _STATUS),
    6: ("RemoteQMPurgeQueue", (("hQueue", U32),), _STATUS),
    7: ("RemoteQMGetQMQMServerPort", (("dwPortType", U32),), (("port", U32),)),
    8: ("RemoteQmGetVersion", (), (("pMajor", U8), ("pMinor", U8), ("pBuildNumber", U16))),
    9: ("RemoteQMStartReceive2", _DESC2, (*_SESSION, *_DESC2, *_STATUS)),
    10: (
        "RemoteQMStartReceiveByLookupId",
        (("LookupId", U64), *_DESC2),
        (*_SESSION, *_DESC2, *_STATUS),
    ),
}

METHODS = {"RemoteRead": _REMOTE_READ, "qmcomm": _QMCOMM, "qmcomm2": _QMCOMM2, "qm2qm": _QM2QM}


def stub(interface: str, opnum: int, direction: str, values: dict[str, Any], *, ndr64: bool = False) -> bytes:
    """The stub of a request or response; ``values`` names every parameter."""
    _, request, response = METHODS[interface][opnum]
    parameters = request if direction == "request" else response
    if [name for name, _ in parameters] != list(values):
        raise ValueError(f"{interface} {opnum} {direction} takes {[name for name, _ in parameters]}")
    return encode([(name, kind, values[name]) for name, kind in parameters], ndr64=ndr64)
