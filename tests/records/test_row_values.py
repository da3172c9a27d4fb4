"""The values of a row: those of columns, as they are and as JSON, and those at paths of the packet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import msmq_wire as mw
from msmq_wire.records.column import RecordRow
from msmq_wire.records.message import message_of
from msmq_wire.records.row_values import RowValues

_DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"


@pytest.mark.parametrize(
    ("name", "value", "json"),
    [
        ("label", "order 4711", "order 4711"),
        ("time", 1_795_166_047_525_000_000, "2026-11-20T09:14:07.525000000Z"),
        ("frames", (11,), [11]),
        ("offset", 604, 604),
        ("user_header.message_id", 4162, 4162),
        ("queue", None, None),
    ],
)
def test_a_value_is_what_the_first_source_says(name: str, value: Any, json: Any) -> None:
    record = next(one for one in mw.read_capture(_DEMO) if one.type == "user_message")
    message = message_of(record)
    assert message is not None
    row = RowValues(record, message, RecordRow(record), hidden=("queue",))
    assert (row[name], row.get(name)) == (value, json)
