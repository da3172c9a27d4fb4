"""ReceiveCurrent_v1 and interface pointers by impacket: ``python tests/oracles/com_impacket.py [--read]``.

Without ``--read`` it prints a JSON list of ``{name, side, values, hex}``, stubs that impacket encoded. With
it, such a list is read from standard input (``side`` and ``hex`` are enough), and what impacket finds is
printed. A ``request`` has ``causality`` and four ``arguments`` of ``[vt, value]``, a ``response`` has
``objref`` (hex or null) and ``status``; ``objref`` is an OBJREF alone, ``activation`` an answer of
RemoteCreateInstance. impacket fills gaps with 0xAB and the like and makes referents up, so values are
compared, not bytes.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

# impacket has no types.
dcomrt: Any = import_module("impacket.dcerpc.v5.dcomrt")
oaut: Any = import_module("impacket.dcerpc.v5.dcom.oaut")
NULL: Any = import_module("impacket.dcerpc.v5.dtypes").NULL
_uuid: Any = import_module("impacket.uuid")

VT_I4, VT_BSTR, VT_DISPATCH, VT_ERROR, VT_BOOL = 3, 8, 9, 10, 11
_ARMS = {VT_I4: "lVal", VT_BSTR: "bstrVal", VT_DISPATCH: "pdispVal", VT_ERROR: "scode", VT_BOOL: "boolVal"}
_NAMES = ("Transaction", "WantDestinationQueue", "WantBody", "ReceiveTimeout")
CAUSALITY = "2f5b0c11-7a64-4d0e-9b53-8e1c6f2a9d40"
IID_MESSAGE = "d7d6e074-dccd-11d0-aa4b-0060970debae"
IPID = "0000a803-0f3c-0e94-5d1b-77c2a1e94c60"


_ARGUMENTS = tuple((name, oaut.VARIANT) for name in _NAMES)
_RESULTS = (("ppmsg", dcomrt.PMInterfacePointer), ("ErrorCode", dcomrt.error_status_t))
ReceiveCurrent: Any = type("ReceiveCurrent", (dcomrt.DCOMCALL,), {"opnum": 17, "structure": _ARGUMENTS})
ReceiveCurrentResponse: Any = type("ReceiveCurrentResponse", (dcomrt.DCOMANSWER,), {"structure": _RESULTS})


def _standard(address: str) -> bytes:
    """An OBJREF_STANDARD with one string binding and one security binding."""
    reference = dcomrt.OBJREF_STANDARD()
    reference["iid"] = _uuid.string_to_bin(IID_MESSAGE)
    standard = reference["std"]
    standard["flags"], standard["cPublicRefs"] = 0x1000, 5
    standard["oxid"], standard["oid"] = 0x8A11B33C55D077EE, 0x0123456789ABCDEF
    standard["ipid"] = _uuid.string_to_bin(IPID)
    strings = b"\x07\0" + address.encode("utf-16-le") + b"\0\0" + b"\0\0"
    security = b"\x0a\0\xff\xff\0\0" + b"\0\0"
    sizes = (len(strings + security) // 2, len(strings) // 2)
    packed = b"".join(one.to_bytes(2, "little") for one in sizes)
    reference["saResAddr"] = packed + strings + security
    return bytes(reference.getData())


def _request(values: dict[str, Any]) -> bytes:
    call = ReceiveCurrent()
    this = call["ORPCthis"]
    this["version"]["MajorVersion"], this["version"]["MinorVersion"] = 5, 7
    this["cid"] = _uuid.string_to_bin(values["causality"])
    this["extensions"] = NULL
    for name, (kind, value) in zip(_NAMES, values["arguments"], strict=True):
        variant = call[name]
        variant["clSize"] = 3
        variant["vt"] = variant["_varUnion"]["tag"] = kind
        if kind == VT_DISPATCH:
            data = bytes.fromhex(value)
            variant["_varUnion"]["pdispVal"]["ulCntData"] = len(data)
            variant["_varUnion"]["pdispVal"]["abData"] = list(data)
        elif kind == VT_BSTR:
            variant["_varUnion"]["bstrVal"]["asData"] = value
        else:
            variant["_varUnion"][_ARMS[kind]] = value
    return bytes(call.getData())


def _response(values: dict[str, Any]) -> bytes:
    answer = ReceiveCurrentResponse()
    answer["ORPCthat"]["flags"] = 0
    answer["ORPCthat"]["extensions"] = NULL
    if values["objref"] is None:
        answer["ppmsg"] = NULL
    else:
        data = bytes.fromhex(values["objref"])
        answer["ppmsg"]["ulCntData"] = len(data)
        answer["ppmsg"]["abData"] = list(data)
    answer["ErrorCode"] = values["status"]
    return bytes(answer.getData())


def _activation(values: dict[str, Any]) -> bytes:
    """An answer of RemoteCreateInstance that gives one interface."""
    data = bytes.fromhex(values["objref"])
    pointer = dcomrt.PMInterfacePointer()
    pointer["ulCntData"], pointer["abData"] = len(data), list(data)
    given = dcomrt.PropsOutInfo()
    given["cIfs"] = 1
    iid = dcomrt.IID()
    iid["Data"] = _uuid.string_to_bin(IID_MESSAGE)
    given["piid"].append(iid)
    result = dcomrt.DWORD()
    result["Data"] = 0
    given["phresults"].append(result)
    given["ppIntfData"].append(pointer)
    properties = given.getData() + given.getDataReferents()
    properties += bytes(-len(properties) % 8)
    blob = dcomrt.ACTIVATION_BLOB()
    header = blob["CustomHeader"]
    header["destCtx"] = 2
    header["pdwReserved"] = NULL
    name = dcomrt.CLSID()
    name["Data"] = _uuid.string_to_bin("00000339-0000-0000-c000-000000000046")
    header["pclsid"].append(name)
    size = dcomrt.DWORD()
    size["Data"] = len(properties)
    header["pSizes"].append(size)
    blob["Property"] = properties
    reference = dcomrt.OBJREF_CUSTOM()
    reference["iid"] = _uuid.string_to_bin("000001a3-0000-0000-c000-000000000046")
    reference["clsid"] = _uuid.string_to_bin("00000339-0000-0000-c000-000000000046")
    reference["pObjectData"] = blob.getData()
    reference["ObjectReferenceSize"] = len(reference["pObjectData"])
    packed = reference.getData()
    answer = dcomrt.RemoteCreateInstanceResponse()
    answer["ORPCthat"]["extensions"] = NULL
    answer["ppActProperties"]["ulCntData"] = len(packed)
    answer["ppActProperties"]["abData"] = list(packed)
    answer["ErrorCode"] = 0
    return bytes(answer.getData())


def _cases() -> list[dict[str, Any]]:
    missing = [VT_ERROR, -2147352572]
    reference = _standard("192.0.2.10").hex()
    requests = {
        "nothing specified": [missing] * 4,
        "no transaction, no wait": [[VT_I4, 0], [VT_BOOL, 0xFFFF], [VT_BOOL, 0], [VT_I4, 0]],
        "a transaction object": [[VT_DISPATCH, reference], missing, missing, [VT_I4, 2500]],
        "a text where none belongs": [[VT_BSTR, "none"], missing, missing, missing],
    }
    cases: list[dict[str, Any]] = [
        {"name": name, "side": "request", "values": {"causality": CAUSALITY, "arguments": arguments}}
        for name, arguments in requests.items()
    ]
    for name, objref, status in (("a message", reference, 0), ("none came", None, 0xC00E001B)):
        cases.append({"name": name, "side": "response", "values": {"objref": objref, "status": status}})
    cases.append({"name": "an activation", "side": "activation", "values": {"objref": reference}})
    make = {"request": _request, "response": _response, "activation": _activation}
    for case in cases:
        case["hex"] = make[case["side"]](case["values"]).hex()
    cases.append({"name": "an interface pointer", "side": "objref", "values": {}, "hex": reference})
    return cases


def _text(guid: bytes) -> str:
    return str(_uuid.bin_to_string(guid)).lower()


def _read(side: str, data: bytes) -> dict[str, Any]:
    if side == "objref":
        head = dcomrt.OBJREF(data)
        kind = dcomrt.OBJREF_STANDARD(data)
        standard = kind["std"]
        return {
            "flags": head["flags"],
            "iid": _text(head["iid"]),
            "oxid": standard["oxid"],
            "oid": standard["oid"],
            "ipid": _text(standard["ipid"]),
            "public_refs": standard["cPublicRefs"],
        }
    if side == "response":
        answer = ReceiveCurrentResponse(data)
        pointer = answer["ppmsg"]
        none = isinstance(pointer, bytes) and not pointer
        objref = None if none else b"".join(pointer["abData"]).hex()
        return {"objref": objref, "status": answer["ErrorCode"]}
    call = ReceiveCurrent(data)
    arguments = []
    for name in _NAMES:
        variant = call[name]
        kind = variant["vt"]
        value = variant["_varUnion"][_ARMS[kind]]
        if kind == VT_DISPATCH:
            value = b"".join(value["abData"]).hex()
        elif kind == VT_BSTR:
            value = value["asData"]
        arguments.append([kind, value])
    return {"causality": _text(call["ORPCthis"]["cid"]), "arguments": arguments}


def main() -> None:
    """Print cases, or what stubs say."""
    if "--read" in sys.argv[1:]:
        found: Any = [_read(one["side"], bytes.fromhex(one["hex"])) for one in json.load(sys.stdin)]
    else:
        found = _cases()
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
