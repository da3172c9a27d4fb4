"""Rows of calls are the calls, binds and faults of `read_capture`, with the messages that calls carried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.capture.reader import read_capture
from msmq_wire.capture.tables import read_tables
from msmq_wire.errors import CaptureError
from msmq_wire.records.call_story import CarriedMessage, call_story, carries_packet, is_answered, is_cut
from msmq_wire.records.message import message_view
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.view import anomaly_view, error_view
from msmq_wire.rpc.hresults import describe
from msmq_wire.spark.key_options import negotiator_of
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.tables.call_columns import call_batches, call_schema
from msmq_wire.tables.message_columns import CALLS, batches_of
from msmq_wire.tables.spark_types import spark_type
from tests.effort import in_batches, remembered

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = sorted(FIXTURES.glob("**/*.pcap*"))
CARRIED = ("id", "queue", "label", "message_id", "message_class", "body_type", "body_size")
STORY = ("account", "status_name", "answered", "cut", "what")
PLACE = ("id", "parent", "src", "dst", "stream", "offset", "length")
SMALL, LARGE = 4000, 1 << 23

Rows = dict[int, dict[str, Any]]


def reading_of(path: Path, chunk_bytes: int = LARGE, **options: Any) -> CaptureReading:
    (capture,) = captures_of(list_files([str(path)]).files, "file")
    return CaptureReading(capture, chunk_bytes=chunk_bytes, **options)


def call_rows(reading: CaptureReading) -> Rows:
    found: Rows = {}
    for batch in reading:
        for made in call_batches(batch, reading.numbering):
            assert made.schema.equals(call_schema(), check_metadata=True)
            made.validate(full=True)
            times = made.column("time").cast(pa.int64()).to_pylist()
            for row, time in zip(made.to_pylist(), times, strict=True):
                assert row["id"] not in found
                found[row["id"]] = {**row, "time": time}
    return found


@remembered
def whole_rows(path: Path) -> Rows:
    """The rows of a capture that is read at once."""
    return call_rows(reading_of(path))


@remembered
def records_of(path: Path) -> list[Record]:
    try:
        return list(read_capture(str(path)))
    except CaptureError:
        return []


def said_of(record: Record, carried: list[Record]) -> dict[str, Any]:
    """What `msmq-wire calls` says of a call."""
    call: RpcCall = record.packet
    found = [(one.type, row) for one in carried if (row := message_view(one)) is not None]
    reported = None
    if found and carries_packet(call):
        reported = CarriedMessage(found[0][1]["body_size"], found[0][1]["label"])
    return {
        "account": call.account or None,
        "cut": is_cut(call),
        "status_name": None if call.status is None else describe(call.status).symbol,
        "answered": is_answered(call),
        "what": call_story(call, reported),
        "messages": [{"type": type_} | {name: row[name] for name in CARRIED} for type_, row in found],
    }


@pytest.mark.check
@in_batches(CAPTURES)
def test_calls_and_messages_together_are_all_records(path: Path) -> None:
    records = records_of(path)
    reading = reading_of(path)
    found: list[tuple[int, str]] = []
    for batch in reading:
        rows = [*batches_of(batch, reading.numbering).values(), *call_batches(batch, reading.numbering)]
        for made in rows:
            found += zip(made.column("id").to_pylist(), made.column("type").to_pylist(), strict=True)
    if records:
        assert sorted(found) == [(record.id, record.type) for record in records]
    else:
        assert [type_ for _, type_ in found] in ([], ["error"])


WITH_CALLS = sorted(
    path
    for place in ("rpc_captures/*.pcap*", "findings/RPC-*/*.pcap*", "captures/com_*.pcap")
    for path in FIXTURES.glob(place)
)


@pytest.mark.slow
def test_there_are_captures_with_calls() -> None:
    assert {one.type for path in WITH_CALLS for one in records_of(path)} > set(CALLS)


@pytest.mark.slow
@in_batches(WITH_CALLS)
def test_rows_say_where_calls_were_found_and_what_they_did(path: Path) -> None:
    records = records_of(path)
    calls = [record for record in records if record.type in CALLS]
    rows = whole_rows(path)
    assert sorted(rows) == [record.id for record in calls]
    for record in calls:
        row = rows[record.id]
        assert (row["capture"], row["path"], row["type"]) == (str(path), str(path), record.type)
        assert {name: row[name] for name in PLACE} == {name: getattr(record, name) for name in PLACE}
        assert tuple(row["frames"]) == record.frames
        assert row["frame_no"] in range(max(record.frames), 1 << 20)
        assert row["time_ns"] == record.time
        assert row["time"] == (None if record.time is None else record.time // 1000)
        assert row["anomalies"] == [anomaly_view(one) for one in record.anomalies]
        assert row["error"] == error_view(record.error)
        assert (row["consumed"], row["remainder"]) == (record.consumed, record.remainder)
        story = {name: row[name] for name in (*STORY, "messages")}
        if record.type in ("rpc_call", "com_call"):
            carried = [one for one in records if one.parent == record.id and one.type != "srmp_message"]
            assert story == said_of(record, carried)
        else:
            assert story == dict.fromkeys(story)


@pytest.mark.slow
@in_batches(WITH_CALLS)
def test_fields_of_calls_are_those_of_the_tables(path: Path) -> None:
    rows = whole_rows(path)
    for tables in read_tables(str(path)):
        for table in CALLS:
            if table not in tables:
                continue
            names = [name for name in tables[table].schema.names if name not in (*PLACE, "time", "frames")]
            for narrow in tables[table].select(["id", *names]).to_pylist():
                row = rows[narrow["id"]]
                fields = {name: narrow[name] for name in names}
                for name in ("anomalies", "consumed", "remainder", "error"):
                    assert row[name] == fields.pop(name)
                if table in ("rpc_call", "com_call"):
                    added = row["com_call"] if table == "com_call" else {}
                    fields["account"] = fields["account"] or None
                    assert {name: row[name] for name in fields.keys() - added.keys()} | added == fields
                    assert row["rpc_bind"] is row["rpc_fault"] is None
                    assert (row["com_call"] is None) == (table == "rpc_call")
                else:
                    assert row[table] == fields


@pytest.mark.slow
@in_batches(WITH_CALLS)
def test_small_chunks_give_the_rows_of_large_ones(path: Path) -> None:
    assert call_rows(reading_of(path, SMALL)) == whole_rows(path)


def test_messages_that_calls_carried_stand_beside_them_and_in_their_own_table() -> None:
    path = FIXTURES / "rpc_captures" / "rpc_sections.pcap"
    rows = whole_rows(path)
    carried = [(one["id"], row["id"]) for row in rows.values() for one in row["messages"] or ()]
    assert carried
    parents = {record.id: record.parent for record in records_of(path)}
    assert all(parents[message] == call for message, call in carried)


def test_without_keys_the_account_of_a_sealed_call_is_told() -> None:
    path = FIXTURES / "rpc_captures" / "rpc_ntlm_privacy.pcap"
    negotiator = negotiator_of(ReadOptions())
    rows = call_rows(reading_of(path, negotiator=negotiator))
    records = {one.id: one for one in read_capture(str(path), negotiator=negotiator_of(ReadOptions()))}
    for number, row in rows.items():
        if row["type"] == "rpc_call":
            call: RpcCall = records[number].packet
            assert (row["account"], row["sealed"]) == (call.account, call.sealed)
    assert any(row["sealed"] for row in rows.values())


def test_captures_without_calls_give_no_batch() -> None:
    reading = reading_of(FIXTURES / "captures" / "clean_all_deliveries.pcap")
    assert [made for batch in reading for made in call_batches(batch, reading.numbering)] == []


def test_every_column_says_what_it_means_and_has_a_type_of_spark() -> None:
    for one in call_schema():
        assert one.metadata[b"doc"]
        assert spark_type(one.type) == one.type
