"""Calls of the remote read interfaces as plain values: what the encoder oracles are given.

A case is ``(name, interface, opnum, direction, values)``; how values are written: `rpc_impacket_types`.
"""

from __future__ import annotations

from typing import Any

Case = tuple[str, str, int, str, dict[str, Any]]

_MACHINE = "5c1f0e67-2d3b-4a58-9e01-7f8091a2b304"
_LIST = "0a1b2c3d-4e5f-4051-8263-748596a7d8e9"
_OWNER = {"Lineage": _MACHINE, "Uniquifier": 0x51}
_CONTEXT = {"hex": "00000000" + _MACHINE.replace("-", "")}
_NULL_CONTEXT = {"hex": "00" * 20}
_UOW = {"hex": "101112131415161718191a1b1c1d1e1f"}


def queue_format(kind: int, arm: str, value: Any, suffix: int = 0) -> dict[str, Any]:
    """A QUEUE_FORMAT as a value."""
    return {"m_qft": kind, "m_SuffixAndFlags": suffix, "m_reserved": 0, "u": {arm: value}}


QUEUE_FORMATS: dict[str, dict[str, Any]] = {
    "unknown": queue_format(0, "none", {"hex": ""}),
    "public": queue_format(1, "m_gPublicID", _LIST),
    "public_journal": queue_format(1, "m_gPublicID", _LIST, 0x81),
    "private": queue_format(2, "m_oPrivateID", _OWNER),
    "direct": queue_format(3, "m_pDirectID", "OS:srv01.corp.example\\private$\\orders"),
    "direct_odd_length": queue_format(3, "m_pDirectID", "TCP:192.0.2.10\\private$\\ab"),
    "direct_null": queue_format(3, "m_pDirectID", None),
    "machine_deadletter": queue_format(4, "m_gMachineID", _MACHINE, 0x82),
    "connector_transactional": queue_format(5, "m_GConnectorID", _MACHINE, 0x04),
    "distribution_list": queue_format(6, "m_DlID", {"m_DlGuid": _LIST, "m_pwzDomain": "corp.example"}),
    "distribution_list_no_domain": queue_format(6, "m_DlID", {"m_DlGuid": _LIST, "m_pwzDomain": None}),
    "multicast": queue_format(7, "m_MulticastID", {"m_address": 0x0A0101E0, "m_port": 8001}),
    "subqueue": queue_format(8, "m_pDirectSubqueueID", "OS:srv01\\private$\\orders;retry", 0x05),
}


def open_queue(queue: dict[str, Any]) -> dict[str, Any]:
    """Parameters of R_OpenQueue."""
    return {
        "pQueueFormat": queue,
        "dwAccess": 1,
        "dwShareMode": 0,
        "pClientId": _MACHINE,
        "fNonRoutingServer": 0,
        "Major": 6,
        "Minor": 3,
        "BuildNumber": 9600,
        "fWorkgroup": 1,
    }


def _section(kind: int, data: bytes, allocated: int) -> dict[str, Any]:
    sizes = {"SectionSizeAlloc": allocated, "SectionSize": len(data)}
    return {"SectionBufferType": kind, **sizes, "pSectionBuffer": {"hex": data.hex()}}


def started(sections: list[dict[str, Any]] | None, status: int = 0) -> dict[str, Any]:
    """Results of R_StartReceive."""
    return {
        "pdwArriveTime": 1_700_000_000,
        "pSequenceId": 0x0006_0504_0302_0107,
        "pdwNumberOfSections": len(sections or []),
        "ppPacketSections": sections,
        "status": status,
    }


def _format_name_group(role: str, text: str | None, length: int) -> dict[str, Any]:
    name = None if text is None else text + "\0" * (length - len(text))
    prop = 0 if text is None else len(text) + 1
    return {
        f"ul{role}FormatNameLen": length if text is not None else 0,
        f"pp{role}FormatName": name,
        f"pul{role}FormatNameLenProp": prop,
    }


_V1_REST: dict[str, Any] = {
    "pClass": 0x4002,
    "ppMessageID": _OWNER,
    "ppCorrelationID": {"hex": bytes(range(0x40, 0x54)).hex()},
    "pSentTime": 1_700_000_001,
    "pArrivedTime": 1_700_000_002,
    "pPriority": 5,
    "pDelivery": 1,
    "pAcknowledge": 0x0C,
    "pAuditing": 3,
    "pApplicationTag": 0x01020304,
    "ppBody": {"hex": b"<order id='17'/>".hex(), "max_count": 32},
    "ulBodyBufferSizeInBytes": 16,
    "ulAllocBodyBufferInBytes": 32,
    "pBodySize": 16,
    "ppTitle": "order 17\0",
    "ulTitleBufferSizeInWCHARs": 9,
    "pulTitleBufferSizeInWCHARs": 9,
    "ulAbsoluteTimeToQueue": 1_700_003_600,
    "pulRelativeTimeToQueue": 3600,
    "ulRelativeTimeToLive": 7200,
    "pulRelativeTimeToLive": 7201,
    "pTrace": 1,
    "pulSenderIDType": 1,
    "ppSenderID": {"hex": "0105000000000005150000000102030411121314212223242a040000"},
    "pulSenderIDLenProp": 28,
    "pulPrivLevel": 2,
    "ulAuthLevel": 4,
    "pAuthenticated": 1,
    "pulHashAlg": 0x8004,
    "pulEncryptAlg": 0x6610,
    "ppSenderCert": {"hex": bytes(range(0x30, 0x3D)).hex()},
    "ulSenderCertLen": 13,
    "pulSenderCertLenProp": 13,
    "ppwcsProvName": "Provider\0",
    "ulProvNameLen": 9,
    "pulAuthProvNameLenProp": 9,
    "pulProvType": 1,
    "fDefaultProvider": 1,
    "ppSymmKeys": {"hex": "0102030405060708"},
    "ulSymmKeysSize": 8,
    "pulSymmKeysSizeProp": 8,
    "bEncrypted": 1,
    "bAuthenticated": 1,
    "uSenderIDLen": 28,
    "ppSignature": {"hex": "5152535455"},
    "ulSignatureSize": 5,
    "pulSignatureSizeProp": 5,
    "ppSrcQMID": _MACHINE,
    "pUow": _UOW,
    "ppMsgExtension": {"hex": "616263"},
    "ulMsgExtensionBufferInBytes": 3,
    "pMsgExtensionSize": 3,
    "ppConnectorType": _LIST,
    "pulBodyType": 8,
    "pulVersion": 0x10,
}
_SEND = {
    "pAdminQueueFormat": QUEUE_FORMATS["direct"],
    "pResponseQueueFormat": QUEUE_FORMATS["private"],
}
_RECEIVE = {
    "RequestTimeout": 5000,
    "Action": 0x80000000,
    "Asynchronous": 0,
    "Cursor": 0,
    **_format_name_group("Response", "DIRECT=OS:srv01\\private$\\r", 64),
    **_format_name_group("Admin", None, 0),
    **_format_name_group("Dest", "PRIVATE=5c1f0e67-2d3b-4a58-9e01-7f8091a2b304\\00000051", 64),
    **_format_name_group("Ordering", "DIRECT=TCP:192.0.2.10\\private$\\order_queue$", 63),
}


def _is_pointer(name: str) -> bool:
    return name.startswith("p")


_NULLS = {name: None if _is_pointer(name) else 0 for name in _V1_REST}
_SCALARS = {
    name: None if name.startswith("pp") or name == "pUow" else value if _is_pointer(name) else 0
    for name, value in _V1_REST.items()
}
_RECEIVE_NULL = {name: None if _is_pointer(name) else 0 for name in _RECEIVE}


def transfer_buffer_v1(kind: int, arm: str, value: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """A CACTransferBufferV1 as a value."""
    return {"uTransferType": kind, "u": {arm: value}, **rest}


def transfer_buffer(
    kind: int, arm: str, value: dict[str, Any], rest: dict[str, Any], tail: bool
) -> dict[str, Any]:
    """A CACTransferBufferV2 as a value; ``tail`` sets its three own pointers."""
    own = {"pbFirstInXact": 1, "pbLastInXact": 0, "ppXactID": _OWNER}
    return {
        "old": transfer_buffer_v1(kind, arm, value, rest),
        **(own if tail else dict.fromkeys(own)),
    }


_NO_QUEUES = {"pAdminQueueFormat": None, "pResponseQueueFormat": None}
FULL_SEND = transfer_buffer(0, "Send", _SEND, _V1_REST, True)
FULL_RECEIVE = transfer_buffer(1, "Receive", _RECEIVE, _V1_REST, True)


def describe(data: bytes | None, *, server: bool) -> dict[str, Any]:
    """A REMOTEREADDESC as a value, from the client or from the server ([MS-MQQP] 2.2.2.1)."""
    return {
        "hRemoteQueue": 0x00061050,
        "hCursor": 0,
        "ulAction": 0,
        "ulTimeout": 30_000,
        "dwSize": len(data or b""),
        "dwQueue": 0x00061050,
        "dwRequestID": 7,
        "Reserved": int(server),
        "dwArriveTime": 1_700_000_000 if server else 0,
        "eAckNack": 0,
        "lpBuffer": None if data is None else {"hex": data.hex()},
    }


def _remote_read() -> list[Case]:
    start = {
        "phContext": _CONTEXT,
        "LookupId": 0,
        "hCursor": 0,
        "ulAction": 0,
        "ulTimeout": 1000,
        "dwRequestId": 42,
        "dwMaxBodySize": 4096,
        "dwMaxCompoundMessageSize": 8192,
    }
    first, second = _section(1, bytes(range(200, 255)), 72), _section(2, bytes(range(9)), 12)
    opened = [
        (f"open_queue_{name}", "RemoteRead", 2, "request", open_queue(queue))
        for name, queue in QUEUE_FORMATS.items()
    ]
    end = {"phContext": _CONTEXT, "dwAck": 2, "dwRequestId": 42}
    lookup = start | {"LookupId": 0x0006_0504_0302_0107, "ulAction": 0x40000011, "ulTimeout": 0}
    enlist = {
        "pTransactionId": _UOW,
        "cbPropagationToken": 7,
        "pbPropagationToken": {"hex": "01020304050607"},
        "pQueueFormat": QUEUE_FORMATS["multicast"],
    }
    move = {"phContextFrom": _CONTEXT, "ullContextTo": 5, "LookupId": 6, "pTransactionId": _UOW}
    return [
        *opened,
        ("server_port", "RemoteRead", 0, "request", {}),
        ("server_port", "RemoteRead", 0, "response", {"port": 2103}),
        ("open_queue", "RemoteRead", 2, "response", {"pphContext": _CONTEXT}),
        ("close_queue", "RemoteRead", 3, "request", {"pphContext": _CONTEXT}),
        ("close_queue", "RemoteRead", 3, "response", {"pphContext": _NULL_CONTEXT, "status": 0}),
        ("create_cursor", "RemoteRead", 4, "response", {"phCursor": 3, "status": 0}),
        ("close_cursor", "RemoteRead", 5, "request", {"phContext": _CONTEXT, "hCursor": 3}),
        ("start_receive", "RemoteRead", 7, "request", start),
        ("start_receive_no_section", "RemoteRead", 7, "response", started(None, 0xC00E001B)),
        ("start_receive_one_section", "RemoteRead", 7, "response", started([_section(0, bytes(33), 33)])),
        ("start_receive_two_sections", "RemoteRead", 7, "response", started([first, second])),
        ("start_receive_empty_array", "RemoteRead", 7, "response", started([])),
        ("cancel_receive", "RemoteRead", 8, "request", {"phContext": _CONTEXT, "dwRequestId": 42}),
        ("end_receive", "RemoteRead", 9, "request", end),
        ("move_message", "RemoteRead", 10, "request", move),
        ("open_for_move", "RemoteRead", 11, "response", {"pMoveContext": 5, "pphContext": _CONTEXT}),
        ("enlist", "RemoteRead", 12, "request", enlist),
        ("transactional", "RemoteRead", 13, "request", lookup | {"pTransactionId": _UOW}),
        ("transactional", "RemoteRead", 13, "response", started([first, second])),
        (
            "user_class",
            "RemoteRead",
            14,
            "request",
            {"phContext": _CONTEXT, "LookupId": 6, "usClass": 0x4001},
        ),
        ("end_transactional", "RemoteRead", 15, "request", end),
    ]


def _transfer_buffers() -> list[Case]:
    queue = QUEUE_FORMATS["direct_odd_length"]
    nothing = transfer_buffer(0, "Send", _NO_QUEUES, _NULLS, False)
    scalars = transfer_buffer(0, "Send", _NO_QUEUES, _SCALARS, False)
    receive_null = transfer_buffer(1, "Receive", _RECEIVE_NULL, _NULLS, False)
    receive_scalars = transfer_buffer(1, "Receive", _RECEIVE_NULL, _SCALARS, False)
    send = {"pQueueFormat": queue, "ptb": FULL_SEND, "pMessageID": _OWNER}
    by_handle = {"hQueue": _CONTEXT, "ptb": FULL_SEND, "pMessageID": None}
    cursor = {"hCursor": 3, "srv_hACQueue": 4, "cli_pQMQueue": 5}
    return [
        ("send", "qmcomm2", 0, "request", send),
        ("send_nulls", "qmcomm2", 0, "request", send | {"ptb": nothing, "pMessageID": None}),
        ("send_scalars", "qmcomm2", 0, "request", send | {"ptb": scalars}),
        ("send", "qmcomm2", 0, "response", {"pMessageID": _OWNER, "status": 0}),
        ("send_by_handle", "qmcomm2", 1, "request", by_handle),
        ("receive_nulls", "qmcomm2", 2, "request", {"hQMContext": 9, "ptb": receive_null}),
        ("receive_scalars", "qmcomm2", 2, "request", {"hQMContext": 9, "ptb": receive_scalars}),
        ("receive", "qmcomm2", 2, "request", {"hQMContext": 9, "ptb": FULL_RECEIVE}),
        ("receive", "qmcomm2", 2, "response", {"ptb": FULL_RECEIVE, "status": 0}),
        ("create_cursor", "qmcomm2", 3, "request", {"hQueue": _CONTEXT, "pcc": cursor}),
        ("create_cursor", "qmcomm2", 3, "response", {"pcc": cursor, "status": 0}),
    ]


OPEN_REMOTE_RESULTS: dict[str, Any] = {
    "pphContext": _CONTEXT,
    "dwpContext": 3,
    "dwpQueue": 4,
    "phQueue": 0x00061050,
    "status": 0,
}
OPEN_INTERNAL: dict[str, Any] = {
    "pQueueFormat": QUEUE_FORMATS["direct"],
    "dwDesiredAccess": 1,
    "dwShareMode": 0,
    "hRemoteQueue": 0,
    "lplpRemoteQueueName": {"pointer": None},
    "dwpQueue": 0,
    "pLicGuid": _MACHINE,
    "lpClientName": "WS07",
    "dwRemoteProtocol": 0,
    "dwpRemoteContext": 0,
}
OPEN_INTERNAL_RESULTS: dict[str, Any] = {
    "lplpRemoteQueueName": "srv02\\private$\\q",
    "pdwQMContext": 9,
    "phQueue": _CONTEXT,
    "status": 0,
}
OPEN_REMOTE: dict[str, Any] = {
    "pQueueFormat": QUEUE_FORMATS["private"],
    "dwCallingProcessID": 4242,
    "dwDesiredAccess": 1,
    "dwShareMode": 0,
    "pLicGuid": _MACHINE,
    "dwMQS": 0x100,
}


def _qmcomm() -> list[Case]:
    path = ".\\private$\\orders"
    target = {"ObjType": 1, "u": {"pQueueFormat": QUEUE_FORMATS["direct"]}}
    descriptor = {"hex": "0100048014000000"}
    security = {
        "pObjectFormat": target,
        "SecurityInformation": 4,
        "SDSize": 8,
        "pSecurityDescriptor": descriptor,
    }
    v1 = transfer_buffer_v1(0, "Send", _NO_QUEUES, _NULLS)
    buffer = {"hQueue": _CONTEXT, "dwFormatNameRPCBufferLen": 5, "lpwcsFormatName": "abcd\0", "pdwLength": 5}
    whereabouts = {"pbWhereabouts": {"hex": "0102030405"}, "pcbWhereabouts": 5, "status": 0}
    path_to_format = {"lpwcsPathName": path, "pObjectFormat": {"ObjType": 1, "u": {"pQueueFormat": None}}}
    got = {"pSecurityDescriptor": descriptor, "lpnLengthNeeded": 8, "status": 0}
    return [
        ("remote_name", "qmcomm", 1, "request", {"pQueue": 4, "lplpRemoteQueueName": {"pointer": None}}),
        ("remote_name", "qmcomm", 1, "response", {"lplpRemoteQueueName": "srv02\\q", "status": 0}),
        ("open_remote", "qmcomm", 2, "request", OPEN_REMOTE),
        ("open_remote", "qmcomm", 2, "response", OPEN_REMOTE_RESULTS),
        ("close_remote", "qmcomm", 3, "response", {"phContext": _NULL_CONTEXT}),
        ("remote_cursor", "qmcomm", 4, "request", {"ptb1": v1, "hQueue": 0x00061050}),
        ("set_security", "qmcomm", 7, "request", security),
        ("get_security", "qmcomm", 8, "response", got),
        ("delete", "qmcomm", 9, "request", {"pObjectFormat": target}),
        ("path_to_format", "qmcomm", 12, "request", path_to_format),
        ("path_to_format", "qmcomm", 12, "response", {"pObjectFormat": target, "status": 0}),
        ("whereabouts", "qmcomm", 14, "response", whereabouts),
        ("enlist", "qmcomm", 15, "request", {"pUow": _UOW, "cbCookie": 3, "pbCookie": {"hex": "010203"}}),
        ("enlist_internal", "qmcomm", 16, "response", {"phIntXact": _CONTEXT, "status": 0}),
        ("open_internal", "qmcomm", 19, "request", OPEN_INTERNAL),
        ("open_internal", "qmcomm", 19, "response", OPEN_INTERNAL_RESULTS),
        ("format_name", "qmcomm", 26, "request", buffer),
        (
            "format_name",
            "qmcomm",
            26,
            "response",
            {"lpwcsFormatName": None, "pdwLength": 44, "status": 0xC00E001F},
        ),
        ("registry", "qmcomm", 28, "response", {"lplpMQISServer": "10srv01", "status": 0}),
        ("rt_port", "qmcomm", 31, "response", {"port": 2103}),
    ]


def _qm2qm() -> list[Case]:
    request, reply = describe(None, server=False), describe(bytes(range(180, 255)), server=True)
    wide, answer = (
        {"pRemoteReadDesc": request, "SequentialId": 0},
        {"pRemoteReadDesc": reply, "SequentialId": 6},
    )
    result = {"phContext": _CONTEXT, "lpRemoteReadDesc": reply, "status": 0}
    result2 = {"phContext": _CONTEXT, "lpRemoteReadDesc2": answer, "status": 0}
    opening = {"pLicGuid": _MACHINE, "dwMQS": 1, "hQueue": 0x00061050, "pQueue": 4, "dwpContext": 3}
    lookup = {"LookupId": 0x0006_0504_0302_0107, "lpRemoteReadDesc2": wide}
    return [
        ("start_receive", "qm2qm", 0, "request", {"lpRemoteReadDesc": request}),
        ("start_receive", "qm2qm", 0, "response", result),
        ("end_receive", "qm2qm", 1, "request", {"phContext": _CONTEXT, "dwAck": 2}),
        ("open_queue", "qm2qm", 2, "request", opening),
        ("open_queue", "qm2qm", 2, "response", {"phContext": _CONTEXT, "status": 0}),
        ("close_cursor", "qm2qm", 4, "request", {"hQueue": 0x00061050, "hCursor": 3}),
        ("cancel_receive", "qm2qm", 5, "request", {"hQueue": 0x00061050, "pQueue": 4, "dwRequestID": 7}),
        ("version", "qm2qm", 8, "response", {"pMajor": 6, "pMinor": 3, "pBuildNumber": 9600}),
        ("start_receive_2", "qm2qm", 9, "request", {"lpRemoteReadDesc2": wide}),
        ("start_receive_2", "qm2qm", 9, "response", result2),
        ("start_receive_lookup", "qm2qm", 10, "request", lookup),
        ("start_receive_lookup", "qm2qm", 10, "response", result2),
    ]


CASES: list[Case] = [*_remote_read(), *_transfer_buffers(), *_qmcomm(), *_qm2qm()]
