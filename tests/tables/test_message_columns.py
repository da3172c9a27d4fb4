"""Rows of messages are the records of `read_capture`: their place, what they hold, what is said of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from fixtures.build_frames import pcap
from fixtures.build_scene import Scene
from msmq_wire.capture.batch_builder import batch_of
from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.frames import FrameDecoder
from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.capture.numbering import Numbering
from msmq_wire.capture.reader import read_capture
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.tables import OTHER, read_tables
from msmq_wire.engines.codec import encode
from msmq_wire.errors import CaptureError
from msmq_wire.records.body_keys import opening_bodies
from msmq_wire.records.decoder import decoded
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.join_keys import JoinKeys, keys_of
from msmq_wire.records.message import ROW, message_of
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.records.view import anomaly_view, record_error_view
from msmq_wire.sealing.opening import BodyOpener
from msmq_wire.tables.message_columns import CALLS, batches_of, message_schema
from msmq_wire.tables.spark_types import spark_type
from msmq_wire.units import SECOND
from tests.effort import in_batches, remembered
from tests.sealing.sealed_scene import BODY, key, message, sealer_for

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = sorted(FIXTURES.glob("**/*.pcap*"))
LARGE, SMALL = 1 << 23, 2000

PLACE = ("id", "parent", "time", "src", "dst", "stream", "offset", "length")
SUMMARY = [one.name for one in ROW if one.name not in (*PLACE, *JoinKeys._fields, "frames", "capture")]
# What the tables call by a name of their own, by the type of the record.
OWN = {
    "ping": "ping",
    "topology_client_request": "topology_client_request",
    "topology_server_reply": "topology_server_reply",
    "transfer_buffer": "transfer_buffer",
    "srmp_message": "srmp",
    "srmp_receipt": "srmp",
}

Rows = dict[int, dict[str, Any]]


def rows_of(path: Path, *, chunk_bytes: int = LARGE, streams: bool = False, payload: bool = True) -> Rows:
    """The rows of a capture by id; every batch has the schema of the table."""
    (capture,) = captures_of(list_files([str(path)]).files, "file")
    reading = CaptureReading(capture, chunk_bytes=chunk_bytes, streams=streams)
    found: Rows = {}
    for batch in reading:
        for made in batches_of(batch, reading.numbering, payload=payload).values():
            assert made.schema.equals(message_schema(), check_metadata=True)
            # Columns of nulls are parts of a long one, and a full check looks at all of it.
            made.validate(full=not payload)
            times = made.column("time").cast(pa.int64()).to_pylist()
            for row, time in zip(made.to_pylist(), times, strict=True):
                assert row["id"] not in found
                found[row["id"]] = {**row, "time": time}
    return found


@remembered
def whole_rows(path: Path) -> Rows:
    """The rows of a capture that is read at once."""
    return rows_of(path)


def records_of(path: Path, streams: bool) -> list[Record]:
    """The records that are rows of messages."""
    return [one for one in read_capture(str(path), streams=streams) if one.type not in CALLS]


@remembered
def refusal(path: Path) -> tuple[str, int] | None:
    """Why a file is no capture."""
    try:
        next(read_capture(str(path)), None)
    except CaptureError as error:
        return error.message, error.offset
    return None


def completing_frames(path: Path, streams: bool) -> dict[int, int]:
    """The frame that completes each record, by taking one frame after the other."""
    finder = PacketFinder()
    frames = FrameDecoder(finder)
    found: dict[int, int] = {}
    try:
        for frame in read_frames(path):
            for record in decoded(frames.frame(frame), streams=streams):
                found[record.id] = frame.number
    except CaptureError:
        pass
    return found


def body_of(record: Record) -> bytes | None:
    packet = record.packet
    if isinstance(packet, TransferBuffer):
        return packet.properties.body
    if isinstance(packet, SrmpMessage):
        return packet.body
    header = getattr(packet, "message_properties_header", None)
    body: Any = getattr(header, "message_body", None)
    return None if body is msgspec.UNSET else body


def holds(wide: Any, narrow: Any) -> bool:
    """Whether a cell says what a cell of `read_tables` says, and nothing more."""
    if isinstance(narrow, dict):
        known = {name: value for name, value in narrow.items() if name != "message_body"}
        return (
            isinstance(wide, dict)
            and all(holds(wide[name], value) for name, value in known.items())
            and all(value is None for name, value in wide.items() if name not in known)
        )
    if isinstance(narrow, list):
        return (
            isinstance(wide, list)
            and len(wide) == len(narrow)
            and all(holds(one, other) for one, other in zip(wide, narrow, strict=True))
        )
    return type(wide) is type(narrow) and wide == narrow


def agrees(row: dict[str, Any], record: Record, path: Path, completed: dict[int, int]) -> None:
    """Compare a row with its record, all but the columns of headers."""
    assert row["type"] == record.type
    assert row["capture"] == str(path)
    for name in PLACE:
        value = getattr(record, name)
        if name == "time":
            assert row["time_ns"] == value
            value = None if value is None else value // 1000
        assert row[name] == value, name
    assert {name: row[name] for name in JoinKeys._fields} == keys_of(record)._asdict()
    assert tuple(row["frames"]) == record.frames
    frame = completed.get(record.id) or (record.frames[-1] if record.frames else None)
    assert row["frame_no"] == frame
    assert row["path"] == str(path)
    for name in ("missing", "frames_missing", "reason", "event", "consumed", "remainder"):
        assert row[name] == getattr(record, name), name
    assert row["anomalies"] == [anomaly_view(one) for one in record.anomalies]
    assert row["error"] == record_error_view(record)
    assert row["body"] == body_of(record)
    said = message_of(record, acknowledgments=True) or dict.fromkeys(SUMMARY)
    for name in SUMMARY:
        value = said[name]
        if name == "sent_at" and value is not None:
            value = datetime.fromtimestamp(value // SECOND, UTC)
        assert row[name] == value, name


@pytest.mark.slow
@in_batches(CAPTURES)
def test_rows_are_the_records_of_the_capture(path: Path) -> None:
    damage = refusal(path)
    if damage is not None:
        (row,) = rows_of(path).values()
        assert (row["type"], row["reason"], row["offset"]) == ("error", *damage)
        assert (row["path"], row["frame_no"], row["frames"]) == (str(path), None, [])
        return
    records = records_of(path, streams=True)
    rows = rows_of(path, streams=True)
    assert sorted(rows) == [record.id for record in records]
    completed = completing_frames(path, streams=True)
    for record in records:
        agrees(rows[record.id], record, path, completed)


@pytest.mark.slow
@in_batches(CAPTURES)
def test_small_chunks_give_the_rows_of_large_ones(path: Path) -> None:
    rows = whole_rows(path)
    assert rows_of(path, chunk_bytes=SMALL) == rows
    if refusal(path) is not None:
        return
    records = records_of(path, streams=False)
    assert [rows[number]["type"] for number in sorted(rows)] == [record.type for record in records]


@pytest.mark.slow
@in_batches(CAPTURES)
def test_headers_are_the_columns_of_the_tables(path: Path) -> None:
    rows = whole_rows(path)
    headers = {name for name in message_schema().names if "header" in name or name.endswith("_body")}
    try:
        parts = list(read_tables(str(path)))
    except CaptureError:
        assert all(row[name] is None for row in rows.values() for name in headers)
        return
    for tables in parts:
        for table, batch in tables.items():
            if table in CALLS or table == OTHER:
                continue
            for narrow in batch.drop_columns(["time"]).to_pylist():
                wide = rows[narrow["id"]]
                decoded_columns = {name: value for name, value in narrow.items() if name not in PLACE}
                for name in ("frames", "anomalies", "consumed", "remainder", "error"):
                    assert wide[name] == decoded_columns.pop(name)
                if table in OWN:
                    decoded_columns = {OWN[table]: decoded_columns}
                for name, value in decoded_columns.items():
                    assert holds(wide[name], value), (table, name)
                absent = (headers | set(OWN.values())) - decoded_columns.keys()
                assert all(wide[name] is None for name in absent)


def lacks_bytes(value: Any, body: bytes) -> bool:
    """Whether no part of a cell is a body."""
    if isinstance(value, dict):
        return all(lacks_bytes(one, body) for one in value.values())
    if isinstance(value, list):
        return all(lacks_bytes(one, body) for one in value)
    return bool(value != body)


@pytest.mark.parametrize(
    "name",
    [
        "captures/clean_all_deliveries.pcap",
        "captures/clean_srmp.pcap",
        "rpc_captures/rpc_none_ndr.pcap",
        "rpc_captures/rpc_sections.pcap",
        "rpc_captures/rpc_qmcomm_qm2qm.pcap",
    ],
)
def test_without_payload_bodies_are_null_and_the_rest_stays(name: str) -> None:
    path = FIXTURES / name
    whole, bare = rows_of(path), rows_of(path, payload=False)
    assert sorted(whole) == sorted(bare)
    bodies = [row["body"] for row in whole.values() if row["body"]]
    assert bodies
    for number, row in bare.items():
        assert row["body"] is None
        for column in ("compound_message_header", "transfer_buffer", "srmp"):
            assert lacks_bytes(row[column], whole[number]["body"] or b"\0" * 99)
        same = message_schema().names
        same = [
            one for one in same if one not in ("body", "compound_message_header", "transfer_buffer", "srmp")
        ]
        assert {one: row[one] for one in same} == {one: whole[number][one] for one in same}


def test_without_judging_there_are_no_anomalies() -> None:
    path = FIXTURES / "captures" / "path_ping_wrong_signature.pcap"
    assert any(row["anomalies"] for row in rows_of(path).values())
    (capture,) = captures_of(list_files([str(path)]).files, "file")
    reading = CaptureReading(capture, chunk_bytes=LARGE)
    made = [one for batch in reading for one in batches_of(batch, reading.numbering, judge=False).values()]
    assert made
    assert not any(anomalies for one in made for anomalies in one.column("anomalies").to_pylist())


def test_every_column_says_what_it_means_and_has_a_type_of_spark() -> None:
    for one in message_schema():
        assert one.metadata[b"doc"]
        assert spark_type(one.type) == one.type


@pytest.mark.parametrize("number", [1 << 63, (1 << 64) - 1, 10**40, -(10**40)])
def test_a_number_that_no_column_holds_is_null(number: int) -> None:
    records = read_capture(FIXTURES / "captures" / "clean_srmp.pcap")
    record = next(one for one in records if one.type == "srmp_message")
    replace = msgspec.structs.replace
    envelope = record.packet.envelope
    msmq = replace(envelope.header.msmq, priority=number, class_=number, body_type=number)
    envelope = replace(envelope, header=replace(envelope.header, msmq=msmq))
    changed = replace(record, packet=replace(record.packet, envelope=envelope))
    batch = batch_of("capture", [changed])
    [rows] = batches_of(batch, Numbering(["capture"], [0])).values()
    [row] = rows.to_pylist()
    assert (row["priority"], row["message_class"], row["body_type"]) == (None, None, None)
    assert row["message_id"] == record.packet.message_id
    assert str(number) in row["srmp"]["envelope"]


def test_bodies_that_keys_open_have_columns_of_their_own(tmp_path: Path) -> None:
    scene = Scene()
    connection = scene.connect()
    for sealer in (None, sealer_for(0), sealer_for(1)):
        connection.send(0, encode(message(seal=sealer)))
    connection.close()
    path = tmp_path / "sealed.pcap"
    path.write_bytes(pcap(scene.frames))

    def reported(**options: bool) -> list[tuple[object, ...]]:
        rows = rows_of(path, **options).values()
        return [
            (row["opened_body"], row["opened_with"], row["body"] is None)
            for row in rows
            if row["type"] == "user_message"
        ]

    assert reported() == [(None, None, False)] * 3
    with opening_bodies(BodyOpener([key()])):
        assert reported() == [(None, None, False), (BODY, "AES-256 in CBC", False), (None, None, False)]
        assert reported(payload=False) == [
            (None, None, True),
            (None, "AES-256 in CBC", True),
            (None, None, True),
        ]
