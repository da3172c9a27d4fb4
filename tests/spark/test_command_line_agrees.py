"""The tables have the rows that the commands print: the same ids, the same names, the same values.

The rule kept here: what differs between a table and JSON lines stands in `DIFFERENT`, with the reason.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from deltalake import DeltaTable

from msmq_wire.capture.composed_tables import composed_fields
from msmq_wire.capture.listing import Capture, captures_of, list_files
from msmq_wire.capture.places import place_of
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.cli.app import main
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.join_keys import JoinKeys
from msmq_wire.records.message import ROW
from msmq_wire.records.view import time_text
from msmq_wire.spark.job import run_job
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.tables.message_columns import CALLS, message_schema
from tests.effort import in_batches
from tests.spark.one_run import run
from tests.spark.test_capture_job import decoded, plan_of
from tests.tables.store.s3_server import BUCKET, S3Server
from tests.tables.test_message_columns import OWN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("pyspark")

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_CAPTURES = sorted(_FIXTURES.rglob("*.pcap*"))
_TELLING = (
    "captures/structures.pcapng",
    "captures/com_cut.pcap",
    "captures/lab_remote_read.pcap",
    "captures/lab_srmp.pcap",
    "findings/LEN-SEC/hit_sid_length.pcap",
)
"""Captures that have all that is `DIFFERENT`."""
_MESSAGES = ("user_message", "message_packet", "transfer_buffer", "srmp_message")
_CALLS = ("rpc_call", "com_call")
_HEADERS = [name for name in message_schema().names if name.endswith(("_header", "_ack_body"))] + [
    "undeclared"
]
_SUMMED = {one.name for one in (*ROW, *CALL_COLUMNS)}
_STORED = (*_TELLING[1:], "captures/path_cut_file.pcap", "captures/path_overlap_differing_bytes.pcap")
"""Captures that go the whole way into a store."""
_TABLES = ("messages", "calls", "sessions", "lives", "findings", "errors")

_ASKED = "printed where --columns asks for it"
_OVERLAY = "the one of a stored message is no GUID, and has a column of its own"
_NO_SID = "JSON has what is no SID as base64 in its place"
_NAME = "JSON goes back to bytes: it has those that a name does not give again"
_PLACE = "JSON has it in `capture` and `frames`"
DIFFERENT: Mapping[str, Mapping[str, str]] = {
    "decode": {
        "table: path": _PLACE,
        "table: frame_no": _PLACE,
        "table: time_ns": "the same time",
        "table: body": "the one of `packet`, whatever carried it",
        "table: messages": "the rows whose `parent` is the call",
        "printed: packet.user_header.response_queue.same_as": "both queues have a name",
        "other: packet.user_header.queue_manager_address": _OVERLAY,
        "table: packet.user_header.address_overlay": _OVERLAY,
        "other: packet.security_header.security_data.security_id": _NO_SID,
        "table: packet.security_header.security_data.security_id_raw": _NO_SID,
        "printed: packet.user_header.destination_queue_raw": _NAME,
        "printed: packet.user_header.response_queue_raw": _NAME,
        "other: packet.account": "decode prints the fields of a call as they are: what is not known is empty",
    },
    "messages": dict.fromkeys(
        (
            *("printed: action", "printed: body_text", "printed: signature", "printed: signed_by"),
            *("printed: trusted_by", "printed: vlan", "printed: vni", "printed: gre_key"),
            *("printed: proxied_client", "printed: proxied_server", "printed: report"),
            *("printed: traced_message", "printed: traced_hops", "printed: next_hop"),
            *("printed: queue_name", "printed: queue_label"),
        ),
        _ASKED,
    ),
    "calls": dict.fromkeys(
        (
            *("printed: vlan", "printed: vni", "printed: gre_key"),
            *("printed: proxied_client", "printed: proxied_server"),
            *("printed: queue_name", "printed: queue_label"),
        ),
        _ASKED,
    ),
    "findings": {
        **{f"table: {name}": "those of the first place of `evidence`" for name in JoinKeys._fields},
        **{f"printed: evidence.{name}": "the first ones are columns" for name in JoinKeys._fields},
        "table: evidence.transport": "what `community_id` is made of",
    },
    "timeline": {"other: network": "the kinds of its faults; the table has the evidence of TCP and ICMP"},
    "why": {},
}
"""What only JSON lines have, only the table has, or is other in both, by command; and why.

Everywhere, times are timestamps, beside `time` in nanoseconds as `time_ns`; in structs they are nanoseconds.
Bytes are bytes, a word with bits is its number. Parameters of calls and envelopes are JSON texts.
"""
Row = dict[str, Any]
Tables = Mapping[str, list[Row]]
Printed = Callable[..., list[Row]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """What a command prints as JSON lines."""

    def run(command: str, *arguments: str) -> list[Row]:
        main([command, "--quiet", "--format", "jsonl", *arguments])
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def differences(shown: Any, cell: Any, at: str) -> Iterator[str]:
    """The names of what differs between a printed value and a cell."""
    if isinstance(shown, dict) and isinstance(cell, dict):
        for name, value in shown.items():
            inside = f"{at}.{name}" if at else name
            yield from differences(value, cell[name], inside) if name in cell else [f"printed: {inside}"]
        for name, value in cell.items():
            if name not in shown and value is not None:
                yield f"table: {at}.{name}" if at else f"table: {name}"
    elif isinstance(shown, list) and isinstance(cell, list) and len(shown) == len(cell):
        for one, other in zip(shown, cell, strict=True):
            yield from differences(one, other, at)
    else:
        if isinstance(cell, bytes):
            cell = base64.b64encode(cell).decode("ascii")
        if isinstance(shown, dict) and isinstance(cell, int):
            shown = shown["raw"]
        elif isinstance(shown, dict) and isinstance(cell, str):
            cell = json.loads(cell)
        if (type(shown), shown) != (type(cell), cell):
            yield f"other: {at}"


def rows_of(found: Any) -> list[Row]:
    """The rows of a table, their times as JSON has them."""
    for place, one in enumerate(found.schema):
        if pa.types.is_timestamp(one.type):
            found = found.set_column(place, one.name, found.column(place).cast(pa.int64()))
    rows: list[Row] = found.to_pylist()
    for row in rows:
        for name in ("time", "sent_at"):
            if row.get(name) is not None:
                assert name != "time" or row[name] == row.get("time_ns", row[name] * 1000) // 1000
                nanoseconds = row["time_ns"] if name == "time" and "time_ns" in row else row[name] * 1000
                row[name] = time_text(nanoseconds)
    return rows


def tables_of(path: Path | Capture, output: Path) -> Tables:
    """The tables of a capture, as a task writes them."""
    found: dict[str, list[Row]] = {name: [] for name in _TABLES}
    for file in decoded(path, plan_of(output, _TABLES)).files:
        rows = rows_of(pq.ParquetFile(output / file.table / file.path).read())
        # Every row has the run that wrote it, which no command knows.
        found[file.table] += [{name: row[name] for name in row if name != "run"} for row in rows]
    return found


def packet_of(row: Row) -> Any:
    """What the JSON of a record has as its packet, taken out of a row."""
    type_ = row["type"]
    if type_ in ("rpc_bind", "rpc_fault"):
        return row.pop(type_)
    if type_ in CALLS:
        packet = {one.name: row.pop(one.name) for one in composed_fields("rpc_call")}
        return packet | (row.pop("com_call") or {})
    if type_ in OWN:
        return row.pop(OWN[type_])
    packet = {name: row.pop(name) for name in _HEADERS}
    if packet["message_properties_header"] is not None:
        packet["message_properties_header"]["message_body"] = row.pop("body")
    return packet if any(value is not None for value in packet.values()) else None


def compared_records(tables: Tables, shown: list[Row]) -> Iterator[str]:
    """How the lines of ``decode`` differ from the rows of messages and calls, and damage from errors."""
    rows = {row["id"]: row for row in (*tables["messages"], *tables["calls"])}
    assert len(rows) == len(tables["messages"]) + len(tables["calls"])
    damage = [{**one["error"], "spec": None} for one in shown if one["type"] == "error"]
    told = [row for row in tables["errors"] if row["type"] == "error" and row["record"] is not None]
    names = {"code": "code", "message": "message", "path": "field", "offset": "offset"}
    assert [{name: row[own] for name, own in names.items()} | {"spec": None} for row in told] == damage
    shown = [one for one in shown if one["type"] != "error"]
    assert sorted(rows) == [one["id"] for one in shown]
    for one in shown:
        row = dict(rows[one["id"]])
        row["packet"] = packet_of(row)
        unsaid = {name for name, value in row.items() if value is None} | _SUMMED
        row = {name: value for name, value in row.items() if name in one or name not in unsaid}
        yield from differences(one, row, "")


def compared_rows(rows: list[Row], shown: list[Row], types: tuple[str, ...]) -> Iterator[str]:
    """How the lines of ``messages`` or ``calls`` differ from the rows of their table."""
    found = {row["id"]: row for row in rows}
    # An SRMP message in a packet is that message once more.
    wanted = [row["id"] for row in rows if row["type"] in types and not (row["parent"] and row["srmp"])]
    assert [one["id"] for one in shown] == sorted(wanted)
    for one in shown:
        row = found[one["id"]]
        names = {name: {"client": "src", "server": "dst"}.get(name, name) for name in one}
        yield from differences(one, {name: row[own] for name, own in names.items() if own in row}, "")


def compared_findings(rows: list[Row], shown: list[Row]) -> Iterator[str]:
    """How the lines of ``findings`` differ from the rows of the table."""

    def order(row: Row) -> str:
        return json.dumps([row["rule"], [place["record"] for place in row["evidence"]], row["message"]])

    for one in shown:
        # What two places show of the network has no packet.
        first = (*one["evidence"], dict.fromkeys(("capture", "src", "dst", "time")))[0]
        one["rule"] = one.pop("id")
        one |= {name: first[name] for name in ("capture", "src", "dst")}
        one["time"] = first["time"] and f"{first['time'][:-4]}000Z"
    assert len(rows) == len(shown)
    for one, row in zip(sorted(shown, key=order), sorted(rows, key=order), strict=True):
        for place in row["evidence"]:
            place["time"] = time_text(place["time"])
        yield from differences(one, row, "")


def compared_sessions(rows: list[Row], shown: list[Row]) -> Iterator[str]:
    """How the sessions that ``timeline`` lists differ from the rows of the table."""
    assert len(rows) == len(shown)
    for one, row in zip(shown, sorted(rows, key=lambda row: int(row["number"])), strict=True):
        first = {"capture": row["capture"], "frame": row["first"]["frame"]}
        directions = [
            {name: way[name] for name in ("messages", "unacknowledged")} for way in row["directions"]
        ]
        cells = {name: row[name] for name in one if name in row} | {
            "session": row["number"],
            "first": first | {"time": time_text(row["first"]["time"])},
            "messages": [way["messages"] for way in directions],
            "unacknowledged": [way["unacknowledged"] for way in directions],
        }
        yield from differences(one, cells, "")


def compared_lives(rows: list[Row], shown: list[Row]) -> Iterator[str]:
    """How what ``why`` says of messages differs from the rows of lives."""
    lives = {(row["first"]["record"], row["message_id"]): row for row in rows}
    for one in shown:
        row = lives[one["record"], one["message_id"]]
        names = ("message_id", "record", "capture", "frame", "time", "label", "queue", "outcome")
        cells = row | row["first"]
        cells["time"] = time_text(cells["time"])
        yield from differences(
            {name: one[name] for name in names}, {name: cells[name] for name in names if name in cells}, ""
        )


def compared(path: str, tables: Tables, printed: Printed) -> Iterator[tuple[str, str]]:
    """How what the commands print of a capture differs from its tables, by command."""
    messages = printed("messages", "--columns", "all", path)
    outcomes = {(row["first"]["record"], row["message_id"]): row["outcome"] for row in tables["lives"]}
    known = {(row["message_id"], row["outcome"]) for row in tables["lives"]}
    for one in messages:
        outcome = one.pop("outcome")
        # A message that goes on to the next host is in one row of lives.
        assert outcome == outcomes.get((one["id"], one["message_id"]), outcome)
        assert outcome is None or (one["message_id"], outcome) in known
    found: dict[str, Iterator[str]] = {
        "decode": compared_records(tables, printed("decode", path)),
        "messages": compared_rows(tables["messages"], messages, _MESSAGES),
        "calls": compared_rows(tables["calls"], printed("calls", "--columns", "all", path), _CALLS),
        "findings": compared_findings(tables["findings"], printed("findings", path)),
        "timeline": compared_sessions(tables["sessions"], printed("timeline", path)),
    }
    if outcomes:
        found["why"] = compared_lives(tables["lives"], printed("why", path, f"id {min(outcomes)[0]}"))
    for command, differing in found.items():
        yield from ((command, name) for name in differing)


def declared() -> set[tuple[str, str]]:
    """All that is `DIFFERENT`."""
    return {(command, name) for command, names in DIFFERENT.items() for name in names}


@pytest.mark.slow
@in_batches(_CAPTURES)
def test_tables_have_the_rows_ids_and_values_that_commands_print(
    path: Path, tmp_path: Path, printed: Printed
) -> None:
    found = set(compared(str(path), tables_of(path, tmp_path), printed))
    assert found <= declared()


@pytest.mark.slow
def test_what_is_said_to_differ_does(tmp_path: Path, printed: Printed) -> None:
    found: set[tuple[str, str]] = set()
    for number, name in enumerate(_TELLING):
        path = _FIXTURES / name
        found |= set(compared(str(path), tables_of(path, tmp_path / str(number)), printed))
    assert found == declared()


@pytest.mark.slow
def test_ids_of_several_captures_run_on_in_the_order_of_each(tmp_path: Path, printed: Printed) -> None:
    paths = [_FIXTURES / name for name in ("captures/demo.pcap", "captures/clean_ipv6.pcap")]
    shown, after = printed("decode", *map(str, paths)), 0
    for number, path in enumerate(paths):
        ids = [one["id"] for one in shown if one["capture"] == str(path)]
        tables = tables_of(path, tmp_path / str(number))
        first = min(ids) - min(row["id"] for row in tables["messages"])
        assert first >= after
        own = [row["id"] + first for row in (*tables["messages"], *tables["calls"])]
        assert sorted(own) == ids
        after = max(ids)


@pytest.mark.slow
def test_a_ring_of_files_has_the_ids_of_one_file(tmp_path: Path, printed: Printed) -> None:
    ring = tmp_path / "ring"
    ring.mkdir()
    frames = list(read_frames(_FIXTURES / "captures" / "lab_remote_read.pcap"))
    files = [ring / "ring_00001.pcap", ring / "ring_00002.pcap"]
    for file, part in zip(files, (frames[:31], frames[31:]), strict=True):
        write_pcap(file, part)
    (capture,) = captures_of(list_files([str(ring)]).files, "group")
    tables = tables_of(capture, tmp_path / "tables")
    rows = {row["id"]: row for row in (*tables["messages"], *tables["calls"])}
    shown = printed("decode", *map(str, files))
    assert {one["capture"] for one in shown} == set(map(str, files))
    places = {one["id"]: (one["capture"], one["frames"][-1]) for one in shown}
    assert {number: (row["path"], row["frame_no"]) for number, row in rows.items()} == places
    records = [[place["record"] for place in row["evidence"]] for row in tables["findings"]]
    assert records == [
        [place["record"] for place in one["evidence"]] for one in printed("findings", *map(str, files))
    ]


def stored(output: str) -> Mapping[str, Tables]:
    """The tables of each capture in a store, as any reader of Delta tables gets them."""
    options = {"allow_http": "true", "aws_conditional_put": "etag"} if output.startswith("s3:") else {}
    found: dict[str, dict[str, list[Row]]] = {}
    written = DeltaTable(f"{output}/captures", storage_options=options).to_pyarrow_table().to_pylist()
    runs = {row["capture"]: row["run"] for row in written}
    for name in _TABLES:
        table = DeltaTable(f"{output}/{name}", storage_options=options).to_pyarrow_table()
        for row in rows_of(table):
            run = row.pop("run", runs[row["capture"]])
            if run == runs[row["capture"]]:
                own = found.setdefault(row["capture"], {name: [] for name in _TABLES})
                own[name].append({one: value for one, value in row.items() if one != "day"})
    return found


@pytest.mark.spark
def test_the_job_stores_what_commands_print(spark: SparkSession, tmp_path: Path, printed: Printed) -> None:
    paths = [str(_FIXTURES / name) for name in _STORED]
    run_job(spark, str(tmp_path / "tables"), ReadOptions(paths=tuple(paths)))
    tables = stored(str(tmp_path / "tables"))
    assert sorted(tables) == sorted(paths)
    for path in paths:
        assert set(compared(path, tables[path], printed)) <= declared()


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A cell with other names of captures in it."""
    if isinstance(value, dict):
        return {name: renamed(one, names) for name, one in value.items()}
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.mark.slow
def test_a_bucket_stores_what_commands_print(s3: S3Server, printed: Printed) -> None:
    names = {f"s3://{BUCKET}/in/{Path(name).name}": str(_FIXTURES / name) for name in _STORED}
    for url, path in names.items():
        with place_of(url).open_output() as file:
            file.write(Path(path).read_bytes())
    run(f"s3://{BUCKET}/tables", *names)
    tables = stored(f"s3://{BUCKET}/tables")
    assert sorted(tables) == sorted(names)
    for url, path in names.items():
        assert set(compared(path, renamed(tables[url], names), printed)) <= declared()
