"""Any bytes, as any structure: a value or a DecodeError, and every bit comes back.

Input: one byte that picks the structure (0: recognised; then the stems in alphabetical order) and whose top
bit says that four bytes follow, start and length of a missing range (16 bits each, little endian); then the
bytes.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.engines.reference import MAX_ANOMALIES, layout
from msmq_wire.errors import DecodeError
from msmq_wire.records.view import inspect_view
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.registry import STRUCTURES

STEMS: tuple[str | None, ...] = (None, *sorted(STRUCTURES))


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    if len(data) < 5:
        return
    stem = STEMS[(data[0] & 0x7F) % len(STEMS)]
    missing: tuple[tuple[int, int], ...] = ()
    data, has_missing = data[1:], data[0] & 0x80
    if has_missing:
        missing = ((int.from_bytes(data[:2], "little"), int.from_bytes(data[2:4], "little")),)
        data = data[4:]
    result = inspect(data, stem, missing=missing)
    json.dumps(inspect_view(result))
    assert 0 <= result.consumed <= len(data)
    assert result.remainder == data[result.consumed :]
    assert len(result.anomalies) <= MAX_ANOMALIES
    reach = len(data) + sum(length for _, length in missing)
    for anomaly in result.anomalies:
        assert anomaly.code
        assert anomaly.offset >= 0
        assert anomaly.length >= 0
        assert anomaly.offset + anomaly.length <= reach, anomaly
    error: DecodeError | None = None
    try:
        packet = decode(data, stem, missing=missing)
    except DecodeError as caught:
        error = caught
    if error is not None:
        assert str(error) == str(result.error)
        # A result that kept frames would keep them for ever: they hold the result.
        assert result.error is not None
        assert result.error.__traceback__ is None
        assert result.error.__context__ is None
        assert error.code
        assert error.spec is not None
        assert 0 <= error.offset <= reach
        return
    assert result.error is None
    assert packet == result.packet
    assert encode(packet, missing=missing) == data[: result.consumed]
    if isinstance(packet, WireStruct) and not missing:
        for path, span in layout(packet).items():
            assert span.offset + span.length <= result.consumed, path


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)
