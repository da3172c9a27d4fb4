"""Rows of records of any type: what a row has of a message, a call, or neither."""

from __future__ import annotations

from pathlib import Path

import msmq_wire as mw
from msmq_wire.records.item_rows import USUAL, item_columns, item_row

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_DEMO = _FIXTURES / "captures" / "demo.pcap"


def test_only_what_records_have_is_sure_to_be_there() -> None:
    known = {one.name: one for one in item_columns()}
    assert set(USUAL) <= set(known)
    assert [name for name in USUAL if not known[name].optional] == [
        *("id", "type", "capture", "frames", "offset", "length", "anomalies", "anomaly_codes", "what"),
    ]
    assert known["via"].optional


def test_a_row_has_the_columns_of_the_message_that_a_record_is() -> None:
    rows = [item_row(record) for record in mw.read_capture(_DEMO)]
    first = next(row for row in rows if row["type"] == "user_message")
    assert (first["label"], first["how"], first["status"]) == ("order 4711", "sent", None)
    assert (rows[0]["what"], rows[0]["label"]) == ("request, cookie 7", None)


def test_what_is_hidden_is_none() -> None:
    record = next(one for one in mw.read_capture(_DEMO) if one.type == "user_message")
    assert item_row(record, hidden=("label",))["label"] is None
