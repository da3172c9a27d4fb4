"""Filters of Spark are taken where they can be decided, and are left to it elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    In,
    IsNotNull,
    IsNull,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)

from msmq_wire.spark.row_filter import RowFilter, takes
from msmq_wire.tables.spark_types import TIME

pytestmark = pytest.mark.needs("pyspark")

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("number", pa.int64()),
        ("time", TIME),
        ("head", pa.struct([("flags", pa.int32()), ("list", pa.list_(pa.int64()))])),
        ("data", pa.binary()),
    ]
)
ROWS = pa.RecordBatch.from_pylist(
    [
        {"text": "orders", "number": 1, "time": NOON, "head": {"flags": 7, "list": [1]}, "data": b"1"},
        {"text": "\uffff", "number": None, "time": NOON, "head": {"flags": None}},
        {"text": "\U00010000", "number": 3, "time": None, "head": None},
        {"text": None, "number": 2},
    ],
    schema=SCHEMA,
)


@pytest.mark.parametrize(
    ("one", "kept"),
    [
        (EqualTo(("text",), "orders"), [0]),
        (Not(EqualTo(("text",), "orders")), [1, 2]),
        (EqualNullSafe(("number",), 1), [0]),
        (Not(EqualNullSafe(("number",), 1)), [1, 2, 3]),
        (In(("number",), (1, 2)), [0, 3]),
        (Not(In(("number",), (1, 2))), [2]),
        (IsNull(("number",)), [1]),
        (IsNotNull(("head", "flags")), [0]),
        (IsNull(("head", "flags")), [1, 2, 3]),
        (GreaterThan(("head", "flags"), 6), [0]),
        (LessThanOrEqual(("time",), NOON), [0, 1]),
        # By bytes, not by the units of UTF-16.
        (GreaterThan(("text",), "\uffff"), [2]),
        (StringContains(("text",), "der"), [0]),
        (StringStartsWith(("text",), "or.e"), []),
        (IsNotNull(("data",)), [0]),
    ],
)
def test_a_filter_keeps_what_sql_keeps(one: Filter, kept: list[int]) -> None:
    assert takes(one, SCHEMA)
    wanted = RowFilter([one], SCHEMA)
    assert wanted(ROWS).to_pylist() == kept
    both = RowFilter([one, EqualTo(("number",), 1)], SCHEMA)
    assert both(ROWS).to_pylist() == [0] * (0 in kept)
    assert both.columns == wanted.columns | {"number"}


@pytest.mark.parametrize(
    "one",
    [
        EqualTo(("text",), 1),
        EqualTo(("number",), Decimal("1.5")),
        EqualTo(("number",), 1 << 64),
        EqualTo(("gone",), 1),
        EqualTo(("text", "inner"), "a"),
        EqualTo(("head",), {"flags": 7}),
        EqualTo(("head", "list"), [1]),
        EqualTo(("data",), b"1"),
        In(("number",), (1, None)),
        # Which zone is meant, only the session knows.
        GreaterThan(("time",), NOON.replace(tzinfo=None)),
        StringContains(("number",), "1"),
        Not(EqualTo(("gone",), 1)),
    ],
)
def test_what_is_not_sure_is_left_to_spark(one: Any) -> None:
    assert not takes(one, SCHEMA)
