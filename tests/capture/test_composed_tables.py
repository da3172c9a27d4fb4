"""Calls and messages over HTTP in Arrow tables: what `read_capture` gives, however the capture is read."""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.capture import batches, chunks
from msmq_wire.capture.batch_builder import batch_of
from msmq_wire.capture.composed_tables import composed_arrays, composed_fields
from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.capture.tables import OTHER, TABLES, read_tables, schema
from msmq_wire.errors import DecodeError
from msmq_wire.records.composed import COMPOSED
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall, TransferBuffer
from msmq_wire.records.view import anomaly_view, error_view, view
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.rpc.unseal.negotiation import negotiator
from msmq_wire.rpc.unseal.secrets import Secrets
from msmq_wire.spec import SpecRef
from msmq_wire.wire.musts import Anomaly
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText
from tests.effort import examples, share

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURES = sorted([*_FIXTURES.glob("*captures/rpc_*.pcap*"), *_FIXTURES.glob("captures/com_*.pcap")])
_SRMP = sorted(_FIXTURES.glob("captures/path_*srmp*.pcap*"))
_SMALL = [path for path in _CAPTURES if path.stat().st_size < 100_000 and path.suffix != ".gz"]
_HEADERS = 16 + 14 + 20 + 20
"""Bytes of a record before the payload: those of pcap, Ethernet, IP and TCP."""
_WHERE = ("id", "parent", "src", "dst", "stream", "offset", "length")
_SECRETS = Secrets.of(passwords=["Passw0rd!"])


def _tables(source: Any, **options: Any) -> dict[int, tuple[str, dict[str, Any]]]:
    """Table and row of every id."""
    found: dict[int, tuple[str, dict[str, Any]]] = {}
    for tables in read_tables(source, **options):
        for table, batch in tables.items():
            assert batch.schema.equals(schema(table), check_metadata=True)
            batch.validate(full=True)
            for row in batch.drop_columns(["time"]).to_pylist():
                assert row["id"] not in found
                found[row["id"]] = table, row
    return found


def _shows(cell: Any, shown: Any) -> bool:
    """Whether a cell says what the JSON view says."""
    if isinstance(shown, dict) and "raw" in shown:
        return bool(cell == shown["raw"])
    if isinstance(cell, dict) and isinstance(shown, dict):
        cell = {
            **cell,
            "queue_manager_address": cell.get("queue_manager_address") or cell.get("address_overlay"),
        }
        # Where there is no text, the bytes stand beside it.
        return all(
            _shows(cell.get(f"{name}_raw") if cell[name] is None else cell[name], value)
            for name, value in shown.items()
            if name != "same_as"
        )
    if isinstance(cell, list) and isinstance(shown, list):
        return all(_shows(one, other) for one, other in zip_longest(cell, shown))
    return bool((base64.b64encode(cell).decode() if isinstance(cell, bytes) else cell) == shown)


def _check(source: Callable[[], Any], **options: Any) -> dict[str, int]:
    """Compare every row with its record; return how many rows each table has."""
    records = {record.id: record for record in read_capture(source(), **options)}
    rows = _tables(source(), **options)
    assert sorted(rows) == sorted(records)
    counts: dict[str, int] = {}
    for number, (table, row) in rows.items():
        record = records[number]
        counts[table] = counts.get(table, 0) + 1
        assert tuple(row["frames"]) == record.frames
        assert [row[name] for name in _WHERE] == [getattr(record, name) for name in _WHERE]
        assert table == (OTHER if record.type in ("gap", "tcp_stream") else record.type)
        if table == OTHER:
            continue
        assert row["anomalies"] == [anomaly_view(anomaly) for anomaly in record.anomalies]
        assert row["error"] == error_view(record.error)
        assert (row["consumed"], row["remainder"]) == (record.consumed, record.remainder)
        texts = {
            "rpc_call": ("request", "response"),
            "com_call": ("request", "response"),
            "srmp_message": ("envelope",),
            "srmp_receipt": ("envelope",),
        }
        row |= {name: row[name] and json.loads(row[name]) for name in texts.get(table, ())}
        assert _shows(row, view(record.packet)), (table, number)
    return counts


def _records(path: Path) -> list[bytes]:
    """The records of a little-endian pcap file, heads included."""
    data, found, at = path.read_bytes(), [], 24
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at + 8)
        found.append(data[at : at + 16 + size])
        at += 16 + size
    return found


@pytest.fixture
def chunked(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Set the size of a chunk, and how few frames are taken one by one."""

    def set_sizes(size: int, few: int) -> None:
        monkeypatch.setattr(batches, "CHUNK_SIZE", size)
        monkeypatch.setattr(chunks, "FEW_FRAMES", few)

    return set_sizes


def test_there_are_captures_of_calls_and_of_messages_over_http() -> None:
    assert len(_CAPTURES) >= 6
    assert _SMALL
    assert len(_SRMP) >= 20


@pytest.mark.parametrize("path", _SRMP, ids=lambda path: path.name)
def test_the_tables_of_messages_over_http_hold_the_records(path: Path) -> None:
    counts = _check(lambda: path)
    assert counts.get("srmp_message", 0) + counts.get("srmp_receipt", 0)


@pytest.mark.parametrize("path", _CAPTURES, ids=lambda path: path.name)
def test_the_tables_of_calls_hold_the_records(path: Path) -> None:
    counts = _check(lambda: path)
    assert counts.get("rpc_bind") or "midstream" in path.name
    assert counts.get("rpc_call") or counts.get("com_call")


@pytest.mark.slow
@pytest.mark.parametrize("path", share([*_SMALL, *_SRMP], 3), ids=lambda path: path.name)
def test_calls_that_cross_chunks_are_the_same(path: Path, chunked: Callable[[int, int], None]) -> None:
    for size, few in ((100, 0), (700, 3), (3000, 64)):
        chunked(size, few)
        _check(lambda: path)


@pytest.mark.parametrize("path", [*_CAPTURES, *_SRMP], ids=lambda path: path.name)
def test_calls_give_the_same_records_by_column(path: Path, chunked: Callable[[int, int], None]) -> None:
    def read(columns: bool) -> list[Any]:
        with CaptureReader(path, columns=columns) as capture:
            found = [
                (msgspec.structs.replace(record, error=None), error_view(record.error)) for record in capture
            ]
            summary = capture.summary
        return [found, summary.frames, summary.understood, summary.skipped, summary.notices, summary.packets]

    expected = read(columns=False)
    for size, few in ((700, 0), (1 << 20, 3)) if path in (*_SMALL, *_SRMP) else ((1 << 16, 3),):
        chunked(size, few)
        assert read(columns=True) == expected


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(st.data())
def test_calls_with_changed_bytes_give_the_same_in_tables(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([*_SMALL, *_SRMP]))
    records = [bytearray(record) for record in _records(path)]
    carrying = [record for record in records if len(record) > _HEADERS]
    for _ in range(data.draw(st.integers(1, 6))):
        record = data.draw(st.sampled_from(carrying))
        place = data.draw(st.integers(_HEADERS, len(record) - 1))
        record[place] = data.draw(st.one_of(st.sampled_from((0, 1, 0xFF)), st.integers(0, 0xFF)))
    changed = path.read_bytes()[:24] + b"".join(records)
    _check(lambda: io.BytesIO(changed), negotiator=negotiator(_SECRETS))


@pytest.mark.slow
def test_every_kind_of_call_record_is_seen() -> None:
    kinds = {record.type for path in (*_SMALL, *_SRMP) for record in read_capture(path)}
    assert kinds >= {*COMPOSED, "message_packet"}


@pytest.mark.slow
def test_calls_and_packets_of_one_capture_stand_in_tables_of_one_reading(
    chunked: Callable[[int, int], None],
) -> None:
    demo = _FIXTURES / "captures" / "demo.pcap"
    calls = next(path for path in _SMALL if path.stem == "rpc_qmcomm_qm2qm")
    pairs = zip_longest(_records(demo), _records(calls), fillvalue=b"")
    data = demo.read_bytes()[:24] + b"".join(one + other for one, other in pairs)
    for size, few in ((700, 0), (1 << 20, 64)):
        chunked(size, few)
        counts = _check(lambda: io.BytesIO(data))
        assert counts["user_message"]
        assert counts["rpc_call"]
        assert counts["transfer_buffer"]


def test_what_came_in_a_call_points_at_it() -> None:
    rows = _tables(next(path for path in _SMALL if path.stem == "rpc_qmcomm_qm2qm"))
    kinds = ("user_message", "transfer_buffer", "rpc_fault")
    carried = [row for table, row in rows.values() if table in kinds]
    assert {table for table, _ in rows.values()} >= set(kinds)
    assert {rows[row["parent"]][0] for row in carried} == {"rpc_call"}
    assert all(row["parent"] is None for table, row in rows.values() if table in ("rpc_bind", "rpc_call"))


def test_sealed_calls_are_opened_on_the_way_into_tables() -> None:
    path = next(path for path in _SMALL if path.stem == "rpc_ntlm_privacy")
    sealed = [row for table, row in _tables(path).values() if table == "rpc_call"]
    assert any(row["sealed"] and row["response"] is None for row in sealed)
    counts = _check(lambda: path, negotiator=negotiator(_SECRETS))
    assert counts["message_packet"]
    opened = [
        row for table, row in _tables(path, negotiator=negotiator(_SECRETS)).values() if table == "rpc_call"
    ]
    assert len(opened) == len(sealed)
    assert all(row["verified"] and not row["sealed"] for row in opened if row["auth_level"] == 6)


@pytest.mark.parametrize("table", [*COMPOSED])
def test_the_columns_of_a_table_are_the_fields_of_its_declaration(table: str) -> None:
    names = [name for name in schema(table).names if not name.endswith("_raw")]
    where = ["id", "parent", "frames", "time", "src", "dst", "stream", "offset", "length"]
    own = list(COMPOSED[table].__struct_fields__)
    assert names == [*where, *own, "anomalies", "consumed", "remainder", "error"]


def _all_fields(fields: Any) -> list[Any]:
    found = []
    for field in fields:
        found.append(field)
        kind = field.type.value_type if hasattr(field.type, "value_type") else field.type
        if str(kind).startswith("struct"):
            found += _all_fields(list(kind))
    return found


@pytest.mark.parametrize("table", [*COMPOSED])
def test_every_column_says_what_it_means_and_where_that_is_written(table: str) -> None:
    for field in _all_fields(composed_fields(table)):
        about = {key.decode(): value.decode() for key, value in field.metadata.items()}
        assert about["doc"].endswith(".")
        assert about["spec"].startswith(("[MS-", "[MC-"))


def test_a_column_may_be_null_where_its_field_may_be_none() -> None:
    call = {field.name: field for field in composed_fields("rpc_call")}
    assert [name for name in ("interface", "call_id", "sealed", "note") if call[name].nullable] == []
    nullable = ("opnum", "method", "status", "queue", "verified", "request")
    assert [name for name in nullable if not call[name].nullable] == []
    assert str(call["request"].type) == "string"
    assert str(call["verified"].type) == "bool"


def test_a_transfer_buffer_shows_texts_identifiers_and_bytes() -> None:
    properties = MessageProperties(
        identifier=ObjectId(lineage=GUID.parse("5c1f0e67-2d3b-4a58-9e01-7f8091a2b304"), uniquifier=81),
        label=WcharText("grün\0".encode("utf-16-le")),
        authentication_provider_name=WcharText(b"\x00\xd8"),
        body=b"\0\xff",
        body_length=2,
        first_in_transaction=True,
        truncated=("body",),
    )
    record = Record(
        id=1, type="transfer_buffer", packet=TransferBuffer(queue="DIRECT=OS:h\\q", properties=properties)
    )
    queue, cells = (
        array.to_pylist()[0] for array in composed_arrays([record], composed_fields("transfer_buffer"))
    )
    assert queue == "DIRECT=OS:h\\q"
    assert cells["identifier"] == {"lineage": "5c1f0e67-2d3b-4a58-9e01-7f8091a2b304", "uniquifier": 81}
    assert (cells["label"], cells["label_raw"]) == ("grün", None)
    raw = cells["authentication_provider_name"], cells["authentication_provider_name_raw"]
    assert raw == ("\N{REPLACEMENT CHARACTER}", b"\x00\xd8")
    assert (cells["body"], cells["body_length"], cells["first_in_transaction"]) == (b"\0\xff", 2, True)
    assert cells["truncated"] == ["body"]
    assert cells["sender_certificate"] is None


def test_anomalies_and_errors_of_a_call_stand_in_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = SpecRef("C706", "14.3.8")
    anomaly = Anomaly(code="ndr.union-tag", message="no", path="request.a", offset=1, length=2, spec=spec)
    error = DecodeError("missing-bytes", "cut", path="request.b", offset=3)
    packet = RpcCall(interface="qmcomm", opnum=2, method=None, syntax="ndr")
    record = Record(id=7, type="rpc_call", packet=packet, anomalies=(anomaly,), error=error)
    batch = batch_of("a.pcap", [record])
    monkeypatch.setattr("msmq_wire.capture.tables.read_batches", lambda source, **_: [batch])
    (tables,) = read_tables("a.pcap")
    (row,) = tables["rpc_call"].to_pylist()
    assert row["anomalies"] == [anomaly_view(anomaly)]
    assert row["error"] == error_view(error)
    assert (row["request"], row["opnum"], row["time"]) == (None, 2, None)
    (tables,) = read_tables("a.pcap", judge=False)
    assert tables["rpc_call"].column("anomalies").to_pylist() == [[]]


def test_all_tables_have_a_schema() -> None:
    assert len(set(TABLES)) == len(TABLES)
    for table in TABLES:
        assert schema(table).names[:2] == ["id", "parent"]
