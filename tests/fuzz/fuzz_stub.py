"""Any bytes, as any stub: a value or a DecodeError, and every byte comes back.

Input: one byte that picks the method (in the order of interfaces and opnums), one whose lowest bit picks the
direction (0 request) and whose other bits pick the syntax; then the stub.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path

from msmq_wire.errors import DecodeError
from msmq_wire.records.view import view
from msmq_wire.rpc.interfaces import INTERFACES, Method
from msmq_wire.rpc.ndr import NDR, NDR64, NDR_BIG_ENDIAN, StubValue, decode_stub, encode_stub, inspect_stub
from msmq_wire.rpc.ndr.stub_stream import MAX_PROBLEMS

METHODS: tuple[Method, ...] = tuple(
    method for interface in INTERFACES.values() for method in interface.all_methods
)
SYNTAXES = (NDR, NDR64, NDR_BIG_ENDIAN)


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    if len(data) < 2:
        return
    method = METHODS[data[0] % len(METHODS)]
    parameters = method.response if data[1] & 1 else method.request
    syntax = SYNTAXES[(data[1] >> 1) % len(SYNTAXES)]
    stub = data[2:]
    result = inspect_stub(parameters, stub, syntax)
    json.dumps(view(result.value))
    assert len(result.anomalies) <= MAX_PROBLEMS
    for anomaly in result.anomalies:
        assert anomaly.code
        assert anomaly.path
        assert 0 <= anomaly.offset <= anomaly.offset + anomaly.length <= len(stub), anomaly
    error: DecodeError | None = None
    try:
        decoded = decode_stub(parameters, stub, syntax)
    except DecodeError as caught:
        error = caught
    if error is not None:
        assert str(error) == str(result.error)
        # A result that kept frames would keep them for ever: they hold the result.
        assert result.error is not None
        assert result.error.__traceback__ is None
        assert result.error.__context__ is None
        assert error.path
        assert error.spec is not None
        assert 0 <= error.offset <= len(stub)
        return
    assert result.error is None, str(result.error)
    assert decoded == StubValue(result.value, result.residue, result.remainder)
    assert encode_stub(parameters, decoded, syntax) == stub


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)
