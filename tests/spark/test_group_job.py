"""Captures that are decoded together give what each gives alone, whatever brings their frames."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import rand

from msmq_wire.capture.listing import Capture, captures_of, list_files
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.places import Place
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.records.record import Record
from msmq_wire.spark import group_job
from msmq_wire.spark.capture_job import TaskResult
from msmq_wire.spark.conversations import Conversations
from msmq_wire.spark.frame_runs import KEY, RUN_ORDER, RUN_SCHEMA
from msmq_wire.spark.group_job import decode_groups, frames_of, sorted_frames
from msmq_wire.spark.key_options import negotiator_of
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.split_planning import place_splits
from msmq_wire.tables.table_schemas import table_schemas
from tests.effort import share
from tests.spark.test_capture_job import (
    WRITTEN,
    as_text,
    expected_errors,
    finding_row,
    judged,
    plan_of,
    records_of,
    story_rows,
    todo_of,
)
from tests.spark.test_conversations import frames_below, in_order, shuffled

pytestmark = pytest.mark.needs("pyspark")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = sorted(FIXTURES.rglob("*.pcap*"))


class Kept:
    """In place of a writer: keeps what all tasks write, by capture and table."""

    tables: ClassVar[dict[str, dict[str, list[Any]]]] = {}

    def __init__(self, place: Place, tables: Sequence[str]) -> None:
        self.rows: Counter[str] = Counter()
        self._wanted = tables

    def wants(self, table: str) -> bool:
        return table in self._wanted

    def write(self, table: str, batch: Any) -> None:
        assert batch.schema.equals(table_schemas()[table])
        if table in ("messages", "calls"):
            # They have hundreds of columns, which their own tests look at.
            batch = batch.select(["capture", "time", "id"])
        place = batch.schema.get_field_index("time")
        batch = batch.set_column(place, "time", batch.column(place).cast(pa.int64()))
        for row in batch.to_pylist():
            Kept.tables.setdefault(row["capture"], {}).setdefault(table, []).append(row)

    def close(self) -> list[Any]:
        return []


def tasks_of(table: Any, columns: Sequence[str], tasks: int) -> list[Any]:
    """The rows of each task: equal values of the columns go to one."""
    keys = table.select(columns).to_pylist()
    places = [crc32(repr(list(key.values())).encode()) % tasks for key in keys]
    return [table.filter(pa.array([place == task for place in places])) for task in range(tasks)]


def decoded_together(
    frames: Any, tasks: int, rows: int, captures: list[Capture], **options: Any
) -> dict[str, list[Any]]:
    """What the two shuffles of the job do, without Spark; returns what was said of each capture."""
    plan = plan_of(**options)
    files = [file for capture in captures for file in capture.files]
    numberings = group_job._numberings(place_splits(files, plan.options, {}))
    items = []
    for part in tasks_of(in_order(frames), ("capture", "conversation"), tasks):
        part = part.sort_by([(name, "ascending") for name in RUN_ORDER]).combine_chunks()
        items += list(group_job._decode(part.to_batches(max_chunksize=rows), plan, numberings))
    said: dict[str, list[Any]] = {}
    for part in tasks_of(shuffled(pa.Table.from_batches(items, group_job._ITEMS), 1, 0), ("capture",), tasks):
        part = part.sort_by([(name, "ascending") for name in group_job._ORDER]).combine_chunks()
        for batch in group_job._judge(part.to_batches(max_chunksize=rows), plan):
            for row in batch.to_pylist():
                said.setdefault(row["capture"], []).append(pickle.loads(row["record"]))
    return said


def records_in(frames: Any) -> dict[str, list[Record]]:
    """The records of captures, in the order in which they are judged."""
    conversations = Conversations(frozenset(), negotiator_of(ReadOptions()))
    found: dict[str, list[tuple[int, int, Record]]] = {}
    for batch in conversations.decode(in_order(frames).to_batches()):
        numbers = [*batch.id.tolist(), *(record.id for record in batch.others)]
        clocks = dict(zip(numbers, conversations.clocks.tolist(), strict=True))
        for record in batch.records():
            found.setdefault(batch.capture, []).append((clocks[record.id], record.id, record))
    return {name: [one[2] for one in sorted(items, key=lambda one: one[:2])] for name, items in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("tasks", share([6, 1]))
def test_captures_decoded_together_are_judged_like_each_alone(
    tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_job, "TableWriter", Kept)
    monkeypatch.setattr(Kept, "tables", {})
    # A fourth each time: together they take as long as all other tests here.
    paths = share(CAPTURES[tasks % 4 :: 4], 3)
    captures = captures_of(list_files(map(str, paths)).files, "file")
    frames = frames_below(*paths, scope="file", split_bytes=1 << 16)
    said = decoded_together(shuffled(frames, tasks), tasks, 100 * tasks, captures)
    found = records_in(frames)
    assert len(found) > len(paths) * 0.6
    for name, records in found.items():
        tables = Kept.tables.get(name, {})
        findings, judging = judged(records)
        story = judging.story
        assert story is not None
        assert as_text(tables.get("sessions", [])) == as_text(story_rows(story.sessions, name, "sessions"))
        assert as_text(tables.get("lives", [])) == as_text(story_rows(story.lives, name, "lives"))
        assert as_text(tables.get("findings", [])) == [as_text(finding_row(one, name)) for one in findings]
        ids = Counter(one.id for one in records if one.type not in ("tcp_stream", "error"))
        rows = tables.get("messages", []) + tables.get("calls", [])
        assert Counter(row["id"] for row in rows) == ids
        reported = ("code", "message", "field", "offset", "missing")
        place = ("record", "type", "time_ns", "src", "dst", "stream", *reported)
        errors = Counter(tuple(row[key] for key in place) for row in tables.get("errors", []))
        assert errors == expected_errors(records)
        anomalies = [(one.id, odd.code) for one in records for odd in one.anomalies]
        assert sorted((row["record"], row["code"]) for row in tables.get("anomalies", [])) == sorted(
            anomalies
        )
    mores = {
        name: [one.counts["more"] for one in some if "more" in one.counts] for name, some in said.items()
    }
    assert all(len(mores[name]) == 1 for name in found)


def rotated(folder: Path) -> tuple[Path, Path]:
    """A capture as one file, and as five, the last of which is cut."""
    frames = [
        Frame(number, 1_700_000_000_000_000_000 + number * 1_000_000, one.link_type, one.data, one.length, 0)
        for number, one in enumerate(
            (
                frame
                for name in ("clean_business_day.pcap", "clean_ipv6.pcap", "path_loss_in_message.pcap")
                for frame in read_frames(FIXTURES / "captures" / name)
                if frame.link_type == 1
            ),
            1,
        )
    ]
    parts = folder / "parts"
    parts.mkdir()
    step = len(frames) // 5 + 1
    for number, start in enumerate(range(0, len(frames), step)):
        write_pcap(parts / f"{number}.pcap", frames[start : start + step])
    last = parts / "4.pcap"
    last.write_bytes(last.read_bytes()[:-1])
    whole = folder / "whole.pcap"
    write_pcap(whole, frames[:-1])
    return whole, parts


def tables_in(output: Path, done: TaskResult) -> dict[str, list[str]]:
    """The rows of a capture as texts, without what names its files, in an order of their own."""
    found: dict[str, list[str]] = {}
    for file in done.files:
        table = pq.ParquetFile(output / file.table / file.path).read()
        found.setdefault(file.table, []).extend(map(repr, table.to_pylist()))
    return {table: sorted(rows) for table, rows in found.items()}


@pytest.mark.check
@pytest.mark.spark
def test_frames_in_any_order_and_twice_give_the_same_tables(spark: SparkSession, tmp_path: Path) -> None:
    whole, parts = rotated(tmp_path)
    captures = captures_of(list_files([str(parts)]).files, "group")
    plan = plan_of(tmp_path / "tables", scope="group", split_bytes=4000)
    todo = [todo_of(capture) for capture in captures]
    done = decode_groups(spark, todo, plan)
    (entry,) = done.entries
    expected = tables_in(tmp_path / "tables", done)
    assert set(expected) == set(WRITTEN) - {"calls", "anomalies"}

    splits = place_splits(captures[0].files, plan.options, {})
    frames = frames_of(spark, splits, plan.options)
    twice = frames.unionByName(frames.where("number % 3 = 0 or told is not null")).orderBy(rand(7))
    for tasks in (1, 5):
        another = decode_groups(spark, todo, plan, frames=twice.repartition(7), tasks=tasks)
        (again,) = another.entries
        assert tables_in(tmp_path / "tables", another) == expected
        for name in ("frames", "understood", "skipped", "notices", "damage", "rows", "more", "sources"):
            assert getattr(again, name) == getattr(entry, name)
    assert [text.partition(": ")[0] for text in entry.damage] == [str(parts / "4.pcap")]
    # What is judged is what one file gives.
    records = records_of(whole)
    assert entry.frames == len(list(read_frames(whole)))
    findings, judging = judged(records)
    assert entry.rows["findings"] == len(findings)
    assert judging.story is not None
    assert entry.rows["lives"] == len(judging.story.lives)
    assert entry.rows["sessions"] == len(judging.story.sessions)
    assert entry.rows["errors"] == sum(expected_errors(records).values()) + 1


@pytest.mark.check
@pytest.mark.spark
def test_frames_come_in_the_order_of_the_capture(spark: SparkSession, tmp_path: Path) -> None:
    _, parts = rotated(tmp_path)
    files = list_files([str(parts)]).files
    options = ReadOptions(scope="group", split_bytes=3000)
    splits = [one for one in place_splits(files, options, {}) if one.split is not None]
    frames = sorted_frames(frames_of(spark, splits, options).orderBy(rand(3)), 3)
    assert frames.columns == RUN_SCHEMA.names
    runs = frames.where("told is null")
    counted = runs.selectExpr("spark_partition_id() as task", "conversation", "number", "keys").collect()
    tasks: dict[int, set[int]] = {}
    for row in counted:
        tasks.setdefault(row.conversation, set()).add(row.task)
    assert all(len(some) == 1 for some in tasks.values())
    order: dict[int, list[int]] = {}
    for row in counted:
        order.setdefault(row.conversation, []).append(row.number)
    assert all(numbers == sorted(numbers) for numbers in order.values())
    held = [number for row in counted for number in np.frombuffer(row.keys, KEY)["number"].tolist()]
    assert sorted(held) == list(range(1, sum(one.split.frames for one in splits if one.split) + 1))


@pytest.mark.check
@pytest.mark.spark
def test_no_frames_at_all_give_an_entry_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "none" / "empty.pcap"
    path.parent.mkdir()
    write_pcap(path, [])
    todo = [todo_of(capture) for capture in captures_of(list_files([str(path)]).files, "group")]
    done = decode_groups(spark, todo, plan_of(tmp_path / "tables", scope="group"))
    (entry,) = done.entries
    assert (done.files, entry.frames, entry.damage) == ([], 0, ())


def test_frames_of_taps_on_each_side_are_judged_in_the_order_of_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = FIXTURES / "captures" / "clean_business_day.pcap"
    frames = list(read_frames(whole))
    first = frames[0].data[26:30]
    for number, side in enumerate((True, False)):
        write_pcap(tmp_path / f"{number}.pcap", [one for one in frames if (one.data[26:30] == first) is side])
    monkeypatch.setattr(group_job, "TableWriter", Kept)
    monkeypatch.setattr(Kept, "tables", {})
    captures = captures_of(list_files([str(tmp_path)]).files, "group")
    table = frames_below(tmp_path)
    assert sum(len(keys) for keys in table["keys"].to_pylist()) == len(frames) * KEY.itemsize
    decoded_together(shuffled(table, 1), 3, 10, captures, scope="group")
    tables = Kept.tables[str(tmp_path)]
    findings, judging = judged(records_of(whole))
    story = judging.story
    assert story is not None
    assert [row["rule"] for row in tables["findings"]] == [one.id for one in findings]
    assert [(row["message_id"], row["outcome"]) for row in tables["lives"]] == [
        (one.message_id, one.outcome) for one in story.lives
    ]
    assert [(row["state"], row["closed_by"]) for row in tables["sessions"]] == [
        (one.state, one.closed_by) for one in story.sessions
    ]
