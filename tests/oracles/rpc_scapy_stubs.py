# SPDX-License-Identifier: GPL-2.0-or-later
"""Stubs encoded by scapy with the definitions of scapy-rpc: ``python tests/oracles/rpc_scapy_stubs.py``.

Prints a JSON list like `rpc_impacket_stubs`, with the same names and values. scapy is GPL: this file runs in
a process of its own. Only what the two encode rightly is asked for (scapy 2.8.0, scapy-rpc 0.0.8). Not so:

* SectionBuffer** and every ``size_is(, n) T**``: arrays of pointers where the IDL has a pointer to an array;
* results of the void methods R_OpenQueue, R_OpenQueueForMove, RemoteQmGetVersion and
  R_QMCloseRemoteQueueContext: an extra status word;
* R_QMSetObjectProperties: unique arrays without their referent;
* NDR64 unions with an arm of alignment 4 (QUEUE_FORMAT 1, 2, 4, 5, 7): the arm is not aligned to the largest;
* a pointer to a pointer: the inner referent is dropped on build;
* arrays of structures: alignment starts anew at each.

Every referent identifier is 0x00020000 with scapy; here they count up in stub order, as in
`rpc_impacket_stubs`.
"""

from __future__ import annotations

import importlib
import json
import sys
import uuid
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.oracles.rpc_cases import CASES

_ndr: Any = importlib.import_module("scapy.layers.dcerpc")
_DEFINITIONS: dict[str, Any] = {
    "RemoteRead": importlib.import_module("msrpcs.ms_mqrr"),
    "qmcomm2": importlib.import_module("msrpcs.ms_mqmp"),
    "qm2qm": importlib.import_module("msrpcs.ms_mqqp"),
}
_METHODS = {
    ("RemoteRead", 2): "R_OpenQueue",
    ("RemoteRead", 3): "R_CloseQueue",
    ("RemoteRead", 5): "R_CloseCursor",
    ("RemoteRead", 7): "R_StartReceive",
    ("RemoteRead", 8): "R_CancelReceive",
    ("RemoteRead", 9): "R_EndReceive",
    ("RemoteRead", 10): "R_MoveMessage",
    ("RemoteRead", 12): "R_QMEnlistRemoteTransaction",
    ("RemoteRead", 13): "R_StartTransactionalReceive",
    ("RemoteRead", 14): "R_SetUserAcknowledgementClass",
    ("RemoteRead", 15): "R_EndTransactionalReceive",
    ("qmcomm2", 0): "QMSendMessageInternalEx",
    ("qmcomm2", 2): "rpc_ACReceiveMessageEx",
    ("qm2qm", 0): "RemoteQMStartReceive",
    ("qm2qm", 9): "RemoteQMStartReceive2",
    ("qm2qm", 10): "RemoteQMStartReceiveByLookupId",
}
_TRANSFER_BUFFERS = {"send_nulls", "send_scalars", "receive_nulls", "receive_scalars"}
_NDR64_ARMS = {0, 3, 6, 8}


def _right(name: str, interface: str, direction: str, values: dict[str, Any], wide: bool) -> bool:
    queue = values.get("pQueueFormat")
    if wide and queue is not None and queue["m_qft"] not in _NDR64_ARMS:
        return False
    if interface == "RemoteRead":
        return direction == "request" and (not wide or name.startswith("open_queue_"))
    if interface == "qmcomm2":
        return name in _TRANSFER_BUFFERS
    return True


def _guid(library: Any, text: str) -> Any:
    data = uuid.UUID(text).bytes_le
    numbers = uuid.UUID(text).fields
    return library.GUID(Data1=numbers[0], Data2=numbers[1], Data3=numbers[2], Data4=data[8:])


def _arm(library: Any, value: Any) -> Any:
    """The value of a union arm: its class is known from the members."""
    if isinstance(value, dict) and "hex" in value:
        return b""
    if not isinstance(value, dict):
        is_guid = isinstance(value, str) and len(value) == 36 and value.count("-") == 4
        return _guid(library, value) if is_guid else value and value.encode()
    by_member = {
        "Lineage": "OBJECTID",
        "m_DlGuid": "DL_ID",
        "m_address": "MULTICAST_ID",
        "pAdminQueueFormat": "Send_sub0",
        "RequestTimeout": "Receive_sub1",
    }
    return _packet(library, getattr(library, by_member[next(iter(value))]), value)


def _union(library: Any, tag: int, value: dict[str, Any]) -> Any:
    (arm,) = value.values()
    built = _arm(library, arm)
    return _ndr.NDRUnion(tag=tag, value=built)


def _value(library: Any, name: str, value: Any) -> Any:
    if isinstance(value, dict) and "hex" in value:
        data = bytes.fromhex(value["hex"])
        if "Context" in name and len(data) == 20:
            return _ndr.NDRContextHandle(attributes=int.from_bytes(data[:4], "little"), uuid=data[4:])
        return library.XACTUOW(rgb=data) if name == "pTransactionId" else data
    if isinstance(value, str):
        return _guid(library, value) if len(value) == 36 and value.count("-") == 4 else value.encode()
    if not isinstance(value, dict):
        return value
    by_parameter = {
        "pQueueFormat": "QUEUE_FORMAT",
        "ptb": "CACTransferBufferV2",
        "old": "CACTransferBufferV1",
        "lpRemoteReadDesc": "REMOTEREADDESC",
        "pRemoteReadDesc": "REMOTEREADDESC",
        "lpRemoteReadDesc2": "REMOTEREADDESC2",
        "pMessageID": "OBJECTID",
    }
    return _packet(library, getattr(library, by_parameter[name]), value)


# The one parameter that scapy-rpc names otherwise.
_OTHER_NAMES = {("qm2qm", "phContext"): "pphContext"}


def _packet(library: Any, kind: Any, values: dict[str, Any]) -> Any:
    tag = values.get("m_qft", values.get("uTransferType", 0))
    members = {
        "value" if name == "u" else name: _union(library, tag, value)
        if name == "u"
        else _value(library, name, value)
        for name, value in values.items()
    }
    return kind(**members)


def _numbered(first: bytes, ndr64: bool) -> bytes:
    """The stub with referents counting up; no value of a case holds scapy's constant."""
    size = 8 if ndr64 else 4
    stub, number = bytearray(first), 0
    for at in range(0, len(first) - size + 1, size):
        if first[at : at + size] == (0x20000).to_bytes(size, "little"):
            stub[at : at + size] = (0x20000 + 4 * number).to_bytes(size, "little")
            number += 1
    return bytes(stub)


def _stub(interface: str, opnum: int, direction: str, values: dict[str, Any], ndr64: bool) -> bytes:
    library = _DEFINITIONS[interface]
    kind = getattr(library, f"{_METHODS[interface, opnum]}_{direction.title()}")
    named = {_OTHER_NAMES.get((interface, name), name): value for name, value in values.items()}
    call = _packet(library, kind, named)
    call.ndr64 = ndr64
    return _numbered(bytes(call), ndr64)


def main() -> None:
    """Print every case that scapy gets right."""
    found = []
    for name, interface, opnum, direction, values in CASES:
        for syntax in ("ndr", "ndr64"):
            wide = syntax == "ndr64"
            if (interface, opnum) in _METHODS and _right(name, interface, direction, values, wide):
                found.append(
                    {
                        "name": name,
                        "interface": interface,
                        "opnum": opnum,
                        "method": _METHODS[interface, opnum],
                        "direction": direction,
                        "syntax": syntax,
                        "values": values,
                        "hex": _stub(interface, opnum, direction, values, wide).hex(),
                    }
                )
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
