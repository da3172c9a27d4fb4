"""Stubs of dscomm, dscomm2 and qmmgmt by scapy with scapy-rpc, where it is right: ours are the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import NDR, NDR64, StubValue, encode_stub, inspect_stub

pytestmark = pytest.mark.needs("scapy-rpc")

_SCRIPT = Path(__file__).resolve().parents[1] / "oracles" / "rpc_scapy_administration.py"
_BY_NAME = {interface.name: interface for interface in INTERFACES.values()}


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    found = subprocess.run(
        [sys.executable, str(_SCRIPT)], check=True, capture_output=True, timeout=120
    ).stdout
    listed: list[dict[str, Any]] = json.loads(found)
    return listed


@pytest.mark.slow
def test_what_scapy_encodes_rightly_is_the_same_bytes(cases: list[dict[str, Any]]) -> None:
    assert len(cases) >= 40
    for case in cases:
        method = _BY_NAME[case["interface"]].method(case["opnum"], callback=case["callback"])
        assert method is not None
        assert case["name"].startswith(method.name)
        parameters = method.parameters(case["direction"])
        data, syntax = bytes.fromhex(case["hex"]), NDR64 if case["syntax"] == "ndr64" else NDR
        read = inspect_stub(parameters, data, syntax)
        assert (read.error, read.anomalies, read.remainder) == (None, (), b""), case["name"]
        assert encode_stub(parameters, StubValue(read.value), syntax) == data, case["name"]


@pytest.mark.slow
def test_all_interfaces_and_a_callback_are_asked_for(cases: list[dict[str, Any]]) -> None:
    assert {case["interface"] for case in cases} == {"dscomm", "dscomm2", "qmmgmt"}
    assert {case["syntax"] for case in cases} == {"ndr", "ndr64"}
    assert any(case["callback"] for case in cases)
