"""Rows of declared columns as record batches: types, nulls, and how many rows go together."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.detection.columns import JSON_COLUMNS
from msmq_wire.detection.finding import Evidence, Finding
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.column import Column
from msmq_wire.records.display import Kind
from msmq_wire.records.message import COLUMNS
from msmq_wire.tables import declared_rows
from msmq_wire.tables.declared_rows import RowBatches, row_batches, rows_schema
from msmq_wire.wire.types.guid import GUID

_GUID = "557358d1-9150-9595-4997-b6e611ea26c6"


def _column(kind: Kind, values: list[Any]) -> Any:
    (batch,) = row_batches([Column("one", kind, "What it is.")], [[(value,) for value in values]])
    return batch.column("one")


def test_the_schema_is_that_of_the_declarations() -> None:
    known = {one.name: one for one in (*CALL_COLUMNS, *COLUMNS)}
    names = ("id", "time", "queue", "frames", "fault", "latency", "src")
    schema = rows_schema(known[name] for name in names)
    assert [(one.name, str(one.type), one.nullable) for one in schema] == [
        ("id", "int64", False),
        ("time", "timestamp[ns, tz=UTC]", True),
        ("queue", "string", True),
        ("frames", "list<item: int64>", False),
        ("fault", "bool", False),
        ("latency", "int64", True),
        ("src", "string", True),
    ]
    assert schema.field("queue").metadata == {b"doc": b"Format name of the destination."}


@pytest.mark.parametrize(
    ("kind", "values", "cells"),
    [
        ("number", [1, None, (1 << 63) - 1], [1, None, (1 << 63) - 1]),
        ("number", [1, 1 << 63, None], [1, None, None]),
        ("duration", [-(1 << 63), -(1 << 63) - 1], [-(1 << 63), None]),
        ("number", [1, "one", True, None], [1, None, None, None]),
        ("text", ["66 of 1204", False], ["66 of 1204", None]),
        ("flag", ["yes", False], [None, False]),
        ("flag", [True, None, False], [True, None, False]),
        ("text", ["", None, "order 4711"], ["", None, "order 4711"]),
        # The name of a file that is no UTF-8, as Python gives it.
        ("text", ["a\udcff", None], ["a?", None]),
        ("guid", [GUID.parse(_GUID), None], [_GUID, None]),
        ("guids", [(GUID.parse(_GUID),), ()], [[_GUID], []]),
        ("numbers", [(1, 2), (), None], [[1, 2], [], None]),
        ("texts", [("a",), None], [["a"], None]),
        ("bytes", [b"\x00\xff", None], [b"\x00\xff", None]),
    ],
)
def test_a_value_is_what_its_kind_says(kind: Kind, values: list[Any], cells: list[Any]) -> None:
    assert _column(kind, values).to_pylist() == cells


def test_a_time_keeps_its_nanoseconds_and_one_that_arrow_cannot_have_is_null() -> None:
    # 2026-11-20 09:14:07.525 and 1 ns; the year 9999.
    times = _column("time", [1_795_166_047_525_000_001, None, 253_370_764_800 * 10**9])
    assert times.cast(pa.int64()).to_pylist() == [1_795_166_047_525_000_001, None, None]
    assert str(times[0]) == "2026-11-20 09:14:07.525000001+00:00"


def test_a_finding_has_its_evidence_as_a_list() -> None:
    finding = Finding(
        id="FRM-SIG",
        title="Signature",
        severity="high",
        confidence="certain",
        message="It is wrong.",
        evidence=(Evidence(capture="a.pcap", record=3, frames=(7, 8), path="base_header", data=b"\x01"),),
        caveats=("cut",),
        spec="[MS-MQMQ] 2.2.19.1",
    )
    values = [tuple(one.value(finding) for one in JSON_COLUMNS)]
    (batch,) = row_batches(JSON_COLUMNS, [values])
    (row,) = batch.to_pylist()
    (evidence,) = row["evidence"]
    assert (row["id"], row["caveats"], row["spec"]) == ("FRM-SIG", ["cut"], ["[MS-MQMQ] 2.2.19.1"])
    assert (evidence["record"], evidence["frames"], evidence["time"]) == (3, [7, 8], None)
    assert (evidence["path"], evidence["data"]) == ("base_header", b"\x01")


def test_batches_are_full_but_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared_rows, "ROWS", 4)
    columns = [Column("n", "number", "A number.")]
    rows = [[(n,) for n in range(3)], [(n,) for n in range(3, 9)], [], [(9,)]]
    batches = [batch.column("n").to_pylist() for batch in row_batches(columns, rows)]
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert list(row_batches(columns, [])) == []


def test_large_bodies_do_not_wait_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared_rows, "_MOST_TEXT", 10)
    batches = RowBatches([Column("body_text", "text", "The body.", reveals="body")])
    assert list(batches.add([("x" * 10,), (None,)])) == []
    (batch,) = batches.add([("x",)])
    assert batch.num_rows == 3
    assert list(batches.rest()) == []
