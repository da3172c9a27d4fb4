"""The data sources give the rows of the readers they stand on."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.capture.reader import read_capture
from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.records.message import message_view
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.sources import MessageReader, MsmqCalls, MsmqMessages, MsmqPackets
from msmq_wire.spark.task_rows import bundles
from msmq_wire.tables.call_columns import call_schema
from msmq_wire.tables.message_columns import CALLS, message_schema
from msmq_wire.tables.packet_columns import PACKET_SCHEMA
from tests.effort import share

pytestmark = pytest.mark.needs("pyspark")

RPC = Path(__file__).resolve().parents[2] / "fixtures" / "rpc_captures"
SOURCES = [MsmqPackets, MsmqMessages, MsmqCalls]
SCHEMAS = [PACKET_SCHEMA, message_schema(), call_schema()]


def rows_of(source: Any, **options: Any) -> list[dict[str, Any]]:
    """The rows of a source as its tasks give them; what goes to a task is pickled on its way."""
    made = source({name: str(value) for name, value in options.items()})
    reader = made.reader(made.schema())
    tasks = pickle.loads(pickle.dumps([(reader, one) for one in reader.partitions()]))
    found = [row for task, one in tasks for batch in task.read(one) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["capture"], row.get("id", row.get("number"))))


@pytest.fixture
def mixed(tmp_path: Path, captures: Path) -> Path:
    """A folder with good captures, one that is cut, one that is none, and files that nobody asked for."""
    folder = tmp_path / "mixed"
    (folder / "deep").mkdir(parents=True)
    shutil.copy(captures / "demo.pcap", folder / "demo.pcap")
    # Of other hosts than those of the demo.
    (folder / "cut.pcap").write_bytes((captures / "path_ipv6.pcap").read_bytes()[:-1])
    (folder / "text.pcap").write_text("no capture")
    (folder / "deep" / "ping.pcap.gz").write_bytes(
        gzip.compress((captures / "path_ping_wrong_signature.pcap").read_bytes())
    )
    (folder / "notes.txt").write_text("notes")
    return folder


def kinds_of(path: Path) -> list[tuple[str, str]]:
    """The rows of messages that a file should give: file and type."""
    try:
        return [(path.name, one.type) for one in read_capture(path) if one.type not in CALLS]
    except CaptureError:
        return [(path.name, "error")]


@pytest.mark.parametrize(("source", "schema"), list(zip(SOURCES, SCHEMAS, strict=True)))
def test_a_source_has_the_schema_of_its_table(source: Any, schema: Any) -> None:
    made = source({"path": "x"})
    assert made.name() == "msmq-" + source.__name__.removeprefix("Msmq").lower()
    assert made.schema().names == schema.names


@pytest.mark.parametrize("source", SOURCES)
def test_options_are_checked_when_the_source_is_made(source: Any) -> None:
    for options in ({"ports": "http"}, {"colour": "red"}):
        with pytest.raises(MsmqWireError):
            source({"path": "x", **options})


@pytest.mark.parametrize("source", SOURCES)
def test_columns_are_those_of_the_table_in_its_order(source: Any) -> None:
    names = [source({}).table().names[place] for place in (3, 0)]
    assert source({"columns": ", ".join(names).upper()}).schema().names == names[::-1]
    with pytest.raises(MsmqWireError, match=f"columns of {source.NAME}: colour is none"):
        source({"columns": f"{names[0]},colour"})
    with pytest.raises(MsmqWireError, match="the option columns is a list of names"):
        source({"columns": " ,"})


@pytest.mark.parametrize("source", SOURCES)
def test_without_a_path_that_is_said(source: Any) -> None:
    made = source({})
    with pytest.raises(MsmqWireError, match="nothing to read: give a path to load"):
        made.reader(made.schema()).partitions()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("scope", ["file", "group"])
def test_an_empty_folder_gives_one_task_and_no_rows(source: Any, scope: str, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    made = source({"path": str(folder), "scope": scope})
    reader = made.reader(made.schema())
    (one,) = reader.partitions()
    assert list(reader.read(one)) == []


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["file", "group"])
def test_what_cannot_be_read_gives_a_row_and_the_rest_is_read(mixed: Path, scope: str) -> None:
    rows = rows_of(MsmqMessages, path=mixed, recursive="true", scope=scope)
    found = sorted((os.path.basename(row["path"]), row["type"]) for row in rows)
    expected = [one for path in mixed.rglob("*.pcap*") for one in kinds_of(path)]
    assert found == sorted(expected)
    packets = rows_of(MsmqPackets, path=mixed, recursive="true", scope=scope)
    errors = [os.path.basename(row["path"]) for row in packets if row["error"] is not None]
    assert sorted(errors) == ["cut.pcap", "text.pcap"]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["text.pcap", "cut.pcap", "gone.pcap"])
@pytest.mark.parametrize("scope", ["file", "group"])
def test_with_on_error_fail_the_file_is_named(source: Any, name: str, scope: str, mixed: Path) -> None:
    paths = json.dumps([str(mixed / "demo.pcap"), str(mixed / name)])
    with pytest.raises(CaptureError, match=name):
        rows_of(source, paths=paths, onError="fail", scope=scope)


@pytest.mark.slow
def test_a_corrupt_file_in_a_group_does_not_hide_what_others_hold(mixed: Path) -> None:
    rows = rows_of(MsmqMessages, path=mixed, scope="group")
    whole = rows_of(MsmqMessages, path=mixed / "demo.pcap")
    columns = ("type", "message_id", "body", "src", "time_ns", "frame_no", "path")
    found = [[row[name] for name in columns] for row in rows if row["path"].endswith("demo.pcap")]
    assert found == [[row[name] for name in columns] for row in whole]


@given(
    sizes=st.lists(st.integers(0, 1 << 30), max_size=20),
    most=st.integers(1, 1 << 28),
)
def test_bundles_hold_everything_once_and_in_order(sizes: list[int], most: int) -> None:
    items = list(range(len(sizes)))
    found = bundles(items, sizes, most)
    assert [one for bundle in found for one in bundle] == items
    assert all(found)
    for bundle in found:
        # More than one only where there is room for all.
        assert len(bundle) == 1 or sum(sizes[one] for one in bundle) <= most


@pytest.mark.slow
def test_a_thousand_small_captures_are_no_thousand_tasks(tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / f"{number}.pcap").touch()
    files = list_files([str(tmp_path)]).files
    partitions = MessageReader(ReadOptions(paths=(str(tmp_path),))).partitions()
    assert len(partitions) < 100
    assert [one for partition in partitions for one in partition.value] == captures_of(files, "file")


@pytest.mark.spark
def test_messages_are_the_records_of_the_captures(spark: SparkSession, captures: Path) -> None:
    columns = ("path", "id", "type", "label", "body_size")
    # A folder is read in other tests.
    paths = share(sorted(captures.glob("*.pcap*")))
    rows = spark.read.format("msmq-messages").load(list(map(str, paths))).select(*columns).collect()
    expected: list[Any] = []
    for path in paths:
        for record in read_capture(path):
            if record.type not in CALLS:
                said = message_view(record, acknowledgments=True) or {"label": None, "body_size": None}
                expected.append((str(path), record.id, record.type, said["label"], said["body_size"]))
    assert sorted(map(tuple, rows), key=repr) == sorted(expected, key=repr)


@pytest.mark.slow
@pytest.mark.spark
def test_lists_globs_and_folders_in_folders_are_read(spark: SparkSession, mixed: Path) -> None:
    def kinds(path: Any, **options: str) -> list[tuple[str, str]]:
        rows = (
            spark.read.format("msmq-messages").options(**options).load(path).select("path", "type").collect()
        )
        return sorted((os.path.basename(row.path), row.type) for row in rows)

    def expected(*paths: Path) -> list[tuple[str, str]]:
        return sorted(one for path in paths for one in kinds_of(path))

    demo, cut, text = (mixed / f"{name}.pcap" for name in ("demo", "cut", "text"))
    ping = mixed / "deep" / "ping.pcap.gz"
    assert kinds([str(demo), str(ping)]) == expected(demo, ping)
    assert kinds(str(mixed / "[cd]*.pcap")) == expected(demo, cut)
    assert kinds(f"file://{mixed}") == expected(demo, cut, text)
    assert kinds(str(mixed), recursive="true", glob="*.gz") == expected(ping)


@pytest.mark.check
@pytest.mark.spark
def test_packets_are_the_frames_however_files_are_split(spark: SparkSession, captures: Path) -> None:
    path = captures / "clean_business_day.pcap"
    expected = [(frame.number, frame.time, frame.data) for frame in read_frames(path)]
    for split_bytes in ("2k", "1g"):
        options = {"splitBytes": split_bytes, "frame": "true"}
        read = spark.read.format("msmq-packets").options(**options).load(str(path))
        rows = read.select("frame_no", "time_ns", "frame").collect()
        assert sorted((row.frame_no, row.time_ns, bytes(row.frame)) for row in rows) == expected
    seconds = read.selectExpr(
        "unix_micros(time) * 1000 <= time_ns AND time_ns < unix_micros(time) * 1000 + 1000"
    )
    assert {row[0] for row in seconds.collect()} == {True}


@pytest.mark.spark
def test_calls_have_the_messages_that_they_carried(spark: SparkSession) -> None:
    path = RPC / "rpc_sections.pcap"
    rows = spark.read.format("msmq-calls").load(str(path)).select("id", "method", "messages").collect()
    records = {one.id: one for one in read_capture(path)}
    calls = {number: one.packet.method for number, one in records.items() if one.type == "rpc_call"}
    assert {row.id: row.method for row in rows if row.method is not None} == calls
    carried = {one.id: row.id for row in rows for one in row.messages or ()}
    assert carried == {one.id: one.parent for one in records.values() if message_view(one) and one.parent}
    assert carried


@pytest.mark.slow
@pytest.mark.spark
def test_errors_end_a_query_or_are_rows_as_asked_for(
    spark: SparkSession, mixed: Path, tmp_path: Path
) -> None:
    read = spark.read.format("msmq-messages")
    rows = read.load(str(mixed)).where("type = 'error'").select("path", "reason").collect()
    assert sorted(os.path.basename(row.path) for row in rows) == ["cut.pcap", "text.pcap"]
    assert all(row.reason for row in rows)
    with pytest.raises(PySparkException, match=r"text\.pcap"):
        read.option("onError", "fail").load(str(mixed / "text.pcap")).count()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert spark.read.format("msmq-packets").load(str(empty)).count() == 0
    with pytest.raises(PySparkException, match="the option ports is a list of numbers"):
        spark.read.format("msmq-packets").option("ports", "http").load(str(empty))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("handed_out", [False, True])
def test_a_query_gives_the_same_rows_whoever_filters(
    spark: SparkSession, captures: Path, handed_out: bool
) -> None:
    path = str(captures / "demo.pcap")
    messages = [row["id"] for row in rows_of(MsmqMessages, path=path) if row["type"] == "user_message"]
    frames = [row["frame_no"] for row in rows_of(MsmqPackets, path=path) if row["dport"] == 1801]
    assert messages
    assert frames
    setting = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(setting, str(handed_out).lower())
    try:
        read = spark.read.format("msmq-messages").load(path)
        found = read.where("queue IS NOT NULL AND type = 'user_message' AND length(queue) > 0")
        assert sorted(row.id for row in found.select("id").collect()) == messages
        plan = found._jdf.queryExecution().executedPlan().toString()
        assert ("= user_message" in plan) is not handed_out
        narrow = spark.read.format("msmq-packets").option("columns", "frame_no,dport,time").load(path)
        assert narrow.columns == ["frame_no", "time", "dport"]
        found = narrow.where("dport = 1801 AND time > '2000-01-01' AND time < '2100-01-01'")
        assert sorted(row.frame_no for row in found.collect()) == frames
        assert narrow.where("dport IN (1801, NULL) AND dport <> 1801").count() == 0
    finally:
        spark.conf.set(setting, "true")
