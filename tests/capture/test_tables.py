"""Captures as Arrow tables: all rows together are the records of `read_capture`."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.capture.tables import ARROW_TYPES, OTHER, RESULT, column_field, read_tables, schema
from msmq_wire.engines import arrow
from msmq_wire.errors import CaptureError
from msmq_wire.records.column import Column
from msmq_wire.records.display import Kind
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.records.view import anomaly_view, error_view, time_text
from msmq_wire.wire.registry import PACKETS
from tests.effort import in_batches

_CAPTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "captures").glob("*.pcap*"))
_WHERE = ["id", "parent", "frames", "time", "src", "dst", "stream", "offset", "length"]


def _nanoseconds(moment: Any) -> int | None:
    return None if moment is None else int(moment.value)


def _rows(source: Any, **options: Any) -> dict[int, tuple[str, dict[str, Any]]]:
    """Table and row of every id."""
    found: dict[int, tuple[str, dict[str, Any]]] = {}
    for tables in read_tables(source, **options):
        for table, batch in tables.items():
            assert batch.schema.equals(schema(table), check_metadata=True)
            batch.validate(full=True)
            times = batch.column("time").cast(pa.int64()).to_pylist()
            plain = batch.drop_columns(["time"])
            for row, time in zip(plain.to_pylist(), times, strict=True):
                assert row["id"] not in found
                found[row["id"]] = table, {**row, "time": time}
    return found


def _agrees(record: Record, table: str, row: dict[str, Any]) -> None:
    assert tuple(row["frames"]) == record.frames
    for name in ("id", "parent", "time", "src", "dst", "stream", "offset", "length"):
        assert row[name] == getattr(record, name), name
    if table == OTHER:
        assert row["type"] == record.type
        for name in ("missing", "reason", "event", "remainder"):
            assert row[name] == getattr(record, name), name
        return
    assert table == record.type
    assert row["anomalies"] == [anomaly_view(anomaly) for anomaly in record.anomalies]
    assert row["error"] == error_view(record.error)
    assert (row["consumed"], row["remainder"]) == (record.consumed, record.remainder)


@pytest.mark.slow
@in_batches(_CAPTURES, every=1)
def test_the_tables_of_a_capture_hold_its_records(path: Path) -> None:
    for streams in (False, True):
        records = {record.id: record for record in read_capture(path, streams=streams)}
        rows = _rows(path, streams=streams)
        assert sorted(rows) == sorted(records)
        for number, (table, row) in rows.items():
            _agrees(records[number], table, row)


@pytest.mark.slow
def test_the_tables_of_much_traffic_hold_its_records(traffic: Callable[..., bytes]) -> None:
    data = traffic(6, 40, 1)
    records = {record.id: record for record in read_capture(io.BytesIO(data))}
    rows = _rows(io.BytesIO(data))
    assert sorted(rows) == sorted(records)
    for number, (table, row) in rows.items():
        _agrees(records[number], table, row)


@pytest.mark.slow
def test_without_judging_there_are_no_anomalies(traffic: Callable[..., bytes]) -> None:
    rows = _rows(io.BytesIO(traffic(3, 20, 2)), judge=False)
    assert rows
    assert all(not row["anomalies"] for table, row in rows.values() if table != OTHER)


@pytest.mark.parametrize("stem", sorted(PACKETS))
def test_a_table_says_where_a_packet_was_found_and_then_what_it_holds(stem: str) -> None:
    names = schema(stem).names
    assert names[: len(_WHERE)] == _WHERE
    assert names[len(_WHERE) :] == arrow.schema(stem).names[1:]
    assert all(field.metadata[b"doc"] for field in schema(stem))


def test_the_tables_of_the_rest_have_schemas_too() -> None:
    assert schema(UNKNOWN_PACKET).names[: len(_WHERE)] == _WHERE
    assert schema(OTHER).names == [*_WHERE, "type", "missing", "frames_missing", "reason", "event", *RESULT]


def test_what_is_no_capture_is_an_error() -> None:
    with pytest.raises(CaptureError):
        list(read_tables(io.BytesIO(b"some text, but no capture at all")))


def test_the_time_is_that_of_the_record() -> None:
    path = next(path for path in _CAPTURES if path.name == "demo.pcap")
    (batch, *_) = (tables["user_message"] for tables in read_tables(path))
    first = next(record for record in read_capture(path) if record.type == "user_message")
    assert _nanoseconds(batch.column("time")[0]) == first.time
    assert time_text(_nanoseconds(batch.column("time")[0])) is not None


def test_packets_that_came_decoded_stand_in_the_table_of_their_kind() -> None:
    path = next(path for path in _CAPTURES if path.name == "path_ping_wrong_signature.pcap")
    (tables,) = read_tables(path)
    assert list(tables) == ["ping"]
    rows = tables["ping"].to_pylist()
    assert [(row["id"], row["signature"], len(row["anomalies"])) for row in rows] == [
        (1, 18517, 1),
        (2, 0x5548, 0),
    ]


def test_every_kind_of_value_has_an_arrow_type() -> None:
    assert {*ARROW_TYPES, "objects"} == set(get_args(Kind))


def test_objects_are_a_list_of_structs_with_their_own_columns() -> None:
    own = (Column("name", "text", ""), Column("frames", "numbers", ""))
    column = column_field(Column("places", "objects", "Where it is.", optional=False, columns=own))
    assert column.type == pa.list_(pa.struct([("name", pa.string()), ("frames", pa.list_(pa.int64()))]))
    assert (column.name, column.nullable, column.metadata) == ("places", False, {b"doc": b"Where it is."})
    assert column_field(own[0]).nullable
    assert not column_field(own[0], nullable=False).nullable
