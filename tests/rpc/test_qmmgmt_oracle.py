"""Stubs of qmmgmt by an encoder that another hand wrote from the definition: same values, same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.rpc.interfaces.qmmgmt import INTERFACE
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, StubValue, Syntax, encode_stub, inspect_stub
from msmq_wire.rpc.types.management_object import MgmtObject
from msmq_wire.rpc.types.propvariant import Blob, CountedArray, PropVariant
from msmq_wire.rpc.types.queue_format import DlId, MulticastId, ObjectId, QueueFormat
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_SCRIPT = Path(__file__).resolve().parents[1] / "oracles" / "rpc_qmmgmt_stubs.py"
_OBJECT_ARMS = {1: "Reserved1", 2: "pQueueFormat", 3: "Reserved2"}
_NAMES = {
    "p_object_format": "pObjectFormat",
    "cp": "cp",
    "a_prop": "aProp",
    "ap_var": "apVar",
    "lpwsz_action": "lpwszAction",
    "status": "status",
}


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    found = subprocess.run([sys.executable, str(_SCRIPT)], check=True, capture_output=True, timeout=60).stdout
    listed: list[dict[str, Any]] = json.loads(found)
    return listed


def reported(value: Any) -> Any:
    """A value as the script writes it."""
    match value:
        case WcharText():
            return value.text
        case GUID():
            return str(value)
        case ObjectId():
            return {"Lineage": reported(value.lineage), "Uniquifier": value.uniquifier}
        case DlId():
            return {"m_DlGuid": reported(value.m_dl_guid), "m_pwzDomain": reported(value.m_pwz_domain)}
        case MulticastId():
            return {"m_address": value.m_address, "m_port": value.m_port}
        case QueueFormat():
            return {
                "m_qft": value.m_qft,
                "m_SuffixAndFlags": value.m_suffix_and_flags,
                "m_reserved": value.m_reserved,
                "arm": reported(value.arm),
            }
        case MgmtObject():
            return {"type": value.type, _OBJECT_ARMS[value.type]: reported(value.arm)}
        case Blob():
            return {"hex": (value.p_blob_data or b"").hex()}
        case CountedArray():
            return reported(value.p_elems or ())
        case PropVariant(vt=11):
            # The definition has a short, which is signed; its TRUE is written 0xFFFF.
            return {"vt": 11, "value": value.arm & 0xFFFF}
        case PropVariant():
            return {"vt": value.vt, "value": reported(value.arm)}
        case tuple() | list():
            return [reported(one) for one in value]
        case bytes():
            return list(value)
    return value


def _syntax(case: dict[str, Any]) -> Syntax:
    if case["syntax"] == "ndr64":
        return NDR64
    return NDR_BIG_ENDIAN if case["big_endian"] else NDR


def test_every_kind_of_call_comes_in_each_syntax(cases: list[dict[str, Any]]) -> None:
    kinds = {(one["opnum"], one["direction"], one["syntax"], one["big_endian"]) for one in cases}
    syntaxes = (("ndr", False), ("ndr", True), ("ndr64", False))
    assert kinds >= {
        (opnum, way, *how) for opnum in (0, 1) for way in ("request", "response") for how in syntaxes
    }
    assert len(cases) >= 90


def test_values_and_bytes_are_those_of_another_hand(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        method = INTERFACE.methods[case["opnum"]]
        parameters = method.request if case["direction"] == "request" else method.response
        data, syntax, name = bytes.fromhex(case["hex"]), _syntax(case), (case["name"], case["syntax"])
        read = inspect_stub(parameters, data, syntax)
        assert (read.error, read.remainder) == (None, b""), name
        values = {
            _NAMES[field]: reported(getattr(read.value, field)) for field in read.value.__struct_fields__
        }
        assert values == case["values"], name
        assert encode_stub(parameters, StubValue(read.value), syntax) == data, name
