# SPDX-License-Identifier: GPL-2.0-or-later
"""Stubs of dscomm, dscomm2 and qmmgmt by scapy with scapy-rpc: run this file.

Prints a JSON list of {"name", "interface", "callback", "opnum", "direction", "syntax", "hex"}. scapy is GPL:
this file runs in a process of its own. Only what the two encode rightly is asked for (scapy 2.8.0, scapy-rpc
0.0.8). Not so:

* path names: the IDL declares them without ``string``, and scapy-rpc has one character of each; the text of
  the document wants texts with their end;
* ``size_is(, n) GUID**``: an array of pointers where the IDL has a pointer to an array;
* ``wchar_t**``: the inner referent is the same as the outer, and in NDR64 it stands where the text belongs.

* R_QMMgmtAction: the action is one character likewise;
* PROPVARIANT: in NDR it is aligned to 4 and its arms to 2, where the 64-bit arms make it 8; in NDR64 several
  of them in an array, and arms of 32 bits, lack the padding up to 8.
"""

from __future__ import annotations

import importlib
import json
import sys
import uuid
from collections.abc import Iterator
from typing import Any

_ndr: Any = importlib.import_module("scapy.layers.dcerpc")
_mqds: Any = importlib.import_module("msrpcs.ms_mqds")
_mqmr: Any = importlib.import_module("msrpcs.ms_mqmr")
_BOTH = ("ndr", "ndr64")
_ID = "f7ae9466-2c20-48f7-9732-3b35156199d0"


def _guid(text: str) -> Any:
    numbers = uuid.UUID(text).fields
    data = uuid.UUID(text).bytes_le
    return _mqds.GUID(Data1=numbers[0], Data2=numbers[1], Data3=numbers[2], Data4=data[8:])


def _handle(first: int = 1) -> Any:
    return _ndr.NDRContextHandle(attributes=0, uuid=bytes(range(first, first + 16)))


def _calls() -> Iterator[tuple[str, bool, int, Any]]:
    """Interface, whether it is a callback, opnum, and the call."""
    nothing = _ndr.NDRContextHandle(attributes=0, uuid=bytes(16))
    yield "dscomm", False, 8, _mqds.S_DSLookupEnd_Request(phContext=_handle())
    yield "dscomm", False, 8, _mqds.S_DSLookupEnd_Response(phContext=nothing, status=0)
    yield "dscomm", False, 23, _mqds.S_DSCloseServerHandle_Request(pphServerAuth=_handle())
    call = _mqds.S_DSCloseServerHandle_Response(pphServerAuth=nothing, status=0xC00E0007)
    yield "dscomm", False, 23, call
    yield "dscomm", False, 10, _mqds.S_DSDeleteObjectGuid_Request(dwObjectType=1, pGuid=_guid(_ID))
    for opnum, kind in (
        (13, _mqds.S_DSGetObjectSecurityGuid_Request),
        (21, _mqds.S_DSQMGetObjectSecurity_Request),
    ):
        more = {"dwContext": 77} if opnum == 21 else {}
        call = kind(
            dwObjectType=2,
            pGuid=_guid(_ID),
            SecurityInformation=7,
            nLength=512,
            phServerAuth=_handle(),
            pdwServerSignatureSize=128,
            **more,
        )
        yield "dscomm", False, opnum, call
    columns = _mqds.MQCOLUMNSET(aCol=[301, 302])
    nowhere = {"pwcsContext": None, "pRestriction": None, "pSort": None}
    call = _mqds.S_DSLookupBegin_Request(pColumns=columns, phServerAuth=_handle(), **nowhere)
    yield "dscomm", False, 6, call
    yield "dscomm", False, 6, _mqds.S_DSLookupBegin_Response(pHandle=_handle(9), status=0)
    call = _mqds.S_DSLookupNext_Request(
        Handle=_handle(9), dwSize=64, phServerAuth=_handle(), pdwServerSignatureSize=128
    )
    yield "dscomm", False, 7, call
    yield "dscomm", False, 22, _mqds.S_DSValidateServer_Response(pphServerAuth=_handle(), status=0)
    yield "dscomm", False, 27, _mqds.S_DSGetServerPort_Request(fIP=1)
    for token in (b"", b"a token of 19 bytes"):
        call = _mqds.S_DSValidateServer_Request(
            pguidEnterpriseId=_guid(_ID), fSetupMode=0, dwContext=5, pClientBuff=token
        )
        yield "dscomm", False, 22, call
        call = _mqds.S_InitSecCtx_Request(dwContext=5, pServerbuff=token, dwClientBuffMaxSize=4096)
        yield "dscomm", True, 2, call
    for opnum, kind in (
        (4, _mqds.S_DSGetObjectSecurity_Response),
        (13, _mqds.S_DSGetObjectSecurityGuid_Response),
        (21, _mqds.S_DSQMGetObjectSecurity_Response),
    ):
        call = kind(
            pSecurityDescriptor=b"descriptor", lpnLengthNeeded=10, pbServerSignature=b"signature", status=0
        )
        yield "dscomm", False, opnum, call
    yield "dscomm2", False, 3, _mqds.S_DSBeginDeleteNotification_Response(pHandle=_handle(), status=0)
    yield "dscomm2", False, 4, _mqds.S_DSNotifyDelete_Request(Handle=_handle())
    yield "dscomm2", False, 5, _mqds.S_DSEndDeleteNotification_Request(pHandle=_handle())
    servers = "10gc01.example,11gc02.example".encode("utf-16-le")
    call = _mqds.S_DSGetGCListInDomain_Response(
        lplpwszGCList=servers, pbServerSignature=b"signature", status=0
    )
    yield "dscomm2", False, 8, call


def _managed(kind: int, value: Any) -> Any:
    """A MGMT_OBJECT."""
    return _mqmr.MGMT_OBJECT(type=kind, value=_ndr.NDRUnion(tag=kind, value=value))


def _variant(vt: int, value: Any = b"") -> Any:
    return _mqmr.tag_inner_PROPVARIANT(vt=vt, _varUnion=_ndr.NDRUnion(tag=vt, value=value))


def _management() -> Iterator[tuple[str, bool, int, Any, tuple[str, ...]]]:
    """Calls of qmmgmt, likewise, and the syntaxes in which they are right."""
    for about in (_managed(1, 0), _managed(3, 0xDEADBEEF)):
        asked = _mqmr.R_QMMgmtGetInfo_Request(pObjectFormat=about, aProp=[5], apVar=[_variant(1)])
        yield "qmmgmt", False, 0, asked, ("ndr",)
    for vt, value in (
        (1, b""),
        (20, _mqmr.LARGE_INTEGER(QuadPart=5_000_000_000)),
        (31, b"CONNECTED"),
        (65, _mqmr.BLOB(pBlobData=bytes(range(16)))),
    ):
        reported = _mqmr.R_QMMgmtGetInfo_Response(apVar=[_variant(vt, value)], status=0)
        yield "qmmgmt", False, 0, reported, ("ndr64",)
    for status in (0, 0xC00E0006):
        yield "qmmgmt", False, 1, _mqmr.R_QMMgmtAction_Response(status=status), _BOTH


def main() -> None:
    """Print every case in both syntaxes."""
    found = []
    for interface, callback, opnum, call, syntaxes in (*((*one, _BOTH) for one in _calls()), *_management()):
        for syntax in syntaxes:
            call.ndr64 = syntax == "ndr64"
            found.append(
                {
                    "name": type(call).__name__,
                    "interface": interface,
                    "callback": callback,
                    "opnum": opnum,
                    "direction": "request" if type(call).__name__.endswith("_Request") else "response",
                    "syntax": syntax,
                    "hex": bytes(call).hex(),
                }
            )
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
