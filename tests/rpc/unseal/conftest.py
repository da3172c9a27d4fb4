"""Runs an oracle in a process of its own, and cuts the PDUs it prints as an association would."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.rpc.pdu_protection import ProtectedPdu

_ORACLES = Path(__file__).parents[2] / "oracles"
_REQUEST, _RESPONSE = 0, 2
_OBJECT_UUID = 0x80

Oracle = Callable[..., dict[str, Any]]


@functools.cache
def _run(script: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, str(_ORACLES / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    reported: dict[str, Any] = json.loads(done.stdout)
    return reported


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """Call with the name of a library and arguments: what its script under tests/oracles prints."""

    def run(library: str, *arguments: object) -> dict[str, Any]:
        return _run(f"unseal_{library}.py", *map(str, arguments))

    return run


@pytest.fixture(scope="session")
def cut() -> Callable[[bytes, bool], ProtectedPdu | bytes]:
    """Call with a PDU and whether the client sent it: a request or response cut, of others the auth_value."""

    def cut_pdu(data: bytes, from_client: bool) -> ProtectedPdu | bytes:
        size = int.from_bytes(data[10:12], "little")
        start = len(data) - size - 8
        if data[2] not in (_REQUEST, _RESPONSE):
            return data[start + 8 :]
        body = 24 + 16 * bool(data[3] & _OBJECT_UUID)
        trailer = data[start : start + 8]
        return ProtectedPdu(
            from_client,
            trailer[1],
            data[:body],
            data[body:start],
            trailer,
            data[start + 8 :],
            header_signing=False,
        )

    return cut_pdu
