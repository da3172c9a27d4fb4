"""Any bytes, as any body: something is said about it, and never an error.

Input: two bytes of body type, low byte first; one that says how many of the bytes that follow are
ExtensionData; then these and the body.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from msmq_wire.records.bodies import caption, layout, open_body, preview

CONFIDENCES = {"declared", "certain", "likely", "guess"}
MOST_ROWS = 1000


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    if len(data) < 3:
        return
    body_type, size = int.from_bytes(data[:2], "little"), data[2]
    extension, rest = data[3 : 3 + size], data[3 + size :]
    body = open_body(rest, body_type, extension=extension)
    assert body.kind
    assert body.confidence in CONFIDENCES
    assert body.extension.isalnum()
    assert len(body.details) < MOST_ROWS
    if body.text is not None:
        # Text of JSON and Arrow: it has no lone surrogates.
        body.text.encode("utf-8")
    for name, value in body.details:
        assert name or value or body.convention
    for width in (0, 1, 40):
        shown = preview(body, width)
        assert len(shown) <= width
        assert shown.isprintable()
    caption(body)
    layout(body)


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)
