"""Stubs of dscomm and dscomm2 by an encoder that another hand wrote: same values, same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import (
    NDR,
    NDR64,
    NDR_BIG_ENDIAN,
    NdrStruct,
    StubValue,
    Syntax,
    encode_stub,
    inspect_stub,
)
from msmq_wire.rpc.ndr.pointers import NullPointee
from msmq_wire.rpc.types.context_handle import ContextHandle
from msmq_wire.rpc.types.propvariant import Blob, CountedArray, PropVariant
from msmq_wire.spec import snake_case
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_SCRIPT = Path(__file__).resolve().parents[1] / "oracles" / "rpc_dscomm_stubs.py"
_BY_NAME = {interface.name: interface for interface in INTERFACES.values()}
_SYNTAXES = (("ndr", False), ("ndr", True), ("ndr64", False))


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    found = subprocess.run([sys.executable, str(_SCRIPT)], check=True, capture_output=True, timeout=60).stdout
    listed: list[dict[str, Any]] = json.loads(found)
    return listed


def reported(value: Any) -> Any:
    """A value as the script writes it, under the names of members."""
    match value:
        case None | NullPointee():
            return None
        case WcharText():
            return value.text
        case GUID():
            return str(value)
        case ContextHandle():
            return {"attributes": value.attributes, "uuid": str(value.uuid)}
        case Blob():
            return None if value.p_blob_data is None else {"hex": value.p_blob_data.hex()}
        case CountedArray():
            elements = value.p_elems
            return list(elements) if isinstance(elements, bytes) else reported(elements)
        case PropVariant(vt=11):
            # The definition has a short, which is signed; its TRUE is written 0xFFFF.
            return {"vt": 11, "value": value.arm & 0xFFFF}
        case PropVariant():
            return {"vt": value.vt, "value": reported(value.arm)}
        case NdrStruct():
            return {name: reported(getattr(value, name)) for name in value.__struct_fields__}
        case tuple():
            return [reported(one) for one in value]
        case bytes():
            return value.hex()
    return value


def named(value: Any) -> Any:
    """What the script writes under the names of the definition."""
    if isinstance(value, dict):
        return {snake_case(name): named(one) for name, one in value.items()}
    return [named(one) for one in value] if isinstance(value, list) else value


def _syntax(case: dict[str, Any]) -> Syntax:
    if case["syntax"] == "ndr64":
        return NDR64
    return NDR_BIG_ENDIAN if case["big_endian"] else NDR


def test_every_method_and_callback_comes_both_ways_in_each_syntax(cases: list[dict[str, Any]]) -> None:
    assert {
        (one["interface"], one["callback"], one["opnum"], one["direction"], one["syntax"], one["big_endian"])
        for one in cases
    } == {
        (name, callback, opnum, way, *how)
        for name in ("dscomm", "dscomm2")
        for callback, methods in ((False, _BY_NAME[name].methods), (True, _BY_NAME[name].callbacks))
        for opnum in methods
        for way in ("request", "response")
        for how in _SYNTAXES
    }


@pytest.mark.slow
def test_values_and_bytes_are_those_of_another_hand(cases: list[dict[str, Any]]) -> None:
    for case in cases:
        method = _BY_NAME[case["interface"]].method(case["opnum"], callback=case["callback"])
        assert method is not None
        parameters = method.parameters(case["direction"])
        data, syntax, name = bytes.fromhex(case["hex"]), _syntax(case), (case["name"], case["syntax"])
        read = inspect_stub(parameters, data, syntax)
        assert (read.error, read.anomalies, read.remainder) == (None, (), b""), name
        expected = named(case["values"])
        values = {field: reported(getattr(read.value, field)) for field in read.value.__struct_fields__}
        if "return_value" in values:
            values["status"] = values.pop("return_value")
        # Of what only the request tells, a response has the room alone.
        assert values == {field: expected[field] for field in values}, name
        # A room that only the request tells is kept beside the value.
        value = StubValue(read.value, read.residue) if read.residue.counts else StubValue(read.value)
        assert encode_stub(parameters, value, syntax) == data, name
