"""Stubs of independent encoders, each in a process of its own: ours are the same bytes.

The encoders number referents and fill gaps as ours does, so a stub that is read and written again without its
residue has to be the stub itself. What scapy-rpc gets wrong it is not asked for (tests/oracles/README.md).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import NDR, NDR64, StubValue, encode_stub, inspect_stub

pytestmark = pytest.mark.needs("impacket", "scapy-rpc")

ORACLES = Path(__file__).resolve().parents[1] / "oracles"
METHODS = {
    (interface.name, opnum): method
    for interface in INTERFACES.values()
    for opnum, method in interface.methods.items()
}
ASKED_OF_IMPACKET = {
    ("RemoteRead", 2, "request"),
    ("RemoteRead", 7, "response"),
    ("qmcomm2", 0, "request"),
    ("qmcomm2", 2, "response"),
    ("qm2qm", 0, "request"),
    ("qm2qm", 0, "response"),
}


def stubs(script: str) -> list[dict[str, Any]]:
    command = [sys.executable, str(ORACLES / script)]
    found = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    listed: list[dict[str, Any]] = json.loads(found)
    return listed


def assert_same_bytes(case: dict[str, Any]) -> None:
    method = METHODS[case["interface"], case["opnum"]]
    parameters = method.request if case["direction"] == "request" else method.response
    syntax = NDR64 if case["syntax"] == "ndr64" else NDR
    data = bytes.fromhex(case["hex"])
    read = inspect_stub(parameters, data, syntax)
    assert read.error is None, (case["name"], case["syntax"])
    assert read.remainder == b"", (case["name"], case["syntax"])
    written = encode_stub(parameters, StubValue(read.value), syntax)
    assert written == data, (case["name"], case["syntax"])


@pytest.fixture(scope="module")
def impacket_stubs() -> list[dict[str, Any]]:
    return stubs("rpc_impacket_stubs.py")


@pytest.fixture(scope="module")
def scapy_stubs() -> list[dict[str, Any]]:
    return stubs("rpc_scapy_stubs.py")


@pytest.mark.slow
def test_stubs_by_impacket_are_ours_in_both_syntaxes(impacket_stubs: list[dict[str, Any]]) -> None:
    for syntax in ("ndr", "ndr64"):
        cases = [case for case in impacket_stubs if case["syntax"] == syntax]
        asked = {(case["interface"], case["opnum"], case["direction"]) for case in cases}
        assert asked >= ASKED_OF_IMPACKET
        for case in cases:
            assert_same_bytes(case)


@pytest.mark.slow
def test_stubs_by_scapy_rpc_are_ours_where_it_is_right(scapy_stubs: list[dict[str, Any]]) -> None:
    assert len(scapy_stubs) >= 50
    assert {case["syntax"] for case in scapy_stubs} == {"ndr", "ndr64"}
    for case in scapy_stubs:
        assert_same_bytes(case)


@pytest.mark.slow
def test_both_encoders_agree_where_both_are_asked(
    impacket_stubs: list[dict[str, Any]], scapy_stubs: list[dict[str, Any]]
) -> None:
    keys = ("name", "interface", "opnum", "direction", "syntax")
    known = {tuple(case[key] for key in keys): case["hex"] for case in impacket_stubs}
    shared = [case for case in scapy_stubs if tuple(case[key] for key in keys) in known]
    assert shared
    assert [case["name"] for case in shared if known[tuple(case[key] for key in keys)] != case["hex"]] == []
