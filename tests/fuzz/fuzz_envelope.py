"""Any bytes as an SRMP envelope: a value, anomalies inside the input, and what is built is read back."""

from __future__ import annotations

import runpy
from pathlib import Path

from msmq_wire.srmp.envelope import build_envelope, parse_envelope
from msmq_wire.srmp.xml.element_tree import MAX_ATTRIBUTES, MAX_NAME, MAX_TAG


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    parsed = parse_envelope(data)
    assert parsed.value is not None or parsed.error is not None
    for anomaly in parsed.anomalies:
        assert 0 <= anomaly.offset <= anomaly.offset + anomaly.length <= len(data)
        assert anomaly.path or anomaly.code.startswith("envelope.")
    if parsed.error is not None:
        assert 0 <= parsed.error.offset <= len(data)
    # A namespace that is written at each use may grow beyond the limits of the parser.
    if parsed.value is not None and len(data) < min(MAX_TAG, MAX_NAME * MAX_ATTRIBUTES) // 8:
        again = parse_envelope(build_envelope(parsed.value))
        assert again.error is None
        assert again.value == parsed.value


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)
