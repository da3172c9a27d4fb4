"""Small files are put together, and no row is lost, doubled or held up, whatever runs do meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from pyspark.sql import SparkSession

from msmq_wire.spark import compaction
from msmq_wire.spark.compaction import Bundle, Compaction, bundles_of, compact
from msmq_wire.tables.store.snapshot import Snapshot, StoredFile
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.table_files import NO_DAY, TableWriter
from msmq_wire.tables.table_schemas import table_schemas
from tests.tables.store.filled_stores import WRITTEN, fill, rows_of

pytestmark = pytest.mark.needs("pyspark")

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap"
TABLES = (*WRITTEN, "captures", "sources")


def copies(folder: Path, count: int) -> list[Path]:
    """The capture under some names, the time of its first frame another each time."""
    folder.mkdir()
    paths = [folder / f"{number:02}.pcap" for number in range(count)]
    for number, path in enumerate(paths):
        data = bytearray(DEMO.read_bytes())
        data[28:32] = number.to_bytes(4, "little")
        path.write_bytes(data)
    return paths


def all_rows(snapshot: Snapshot) -> dict[str, Any]:
    return {table: rows_of(snapshot, table) for table in TABLES}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks run here, one after the other."""
    monkeypatch.setattr(compaction, "finished", lambda spark, parts, task: map(task, parts))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Six captures, each in files of its own."""
    return fill(tmp_path / "out", *copies(tmp_path / "in", 6))


def before_the_commit(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something after the files were read and before what was made of them is committed."""

    def finished(spark: object, parts: Sequence[Any], task: Callable[[Any], Any]) -> Iterator[Any]:
        done = list(map(task, parts))
        act()
        yield from done

    monkeypatch.setattr(compaction, "finished", finished)


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_every_row_is_there_as_often_as_before_in_one_file_a_day(store: Store) -> None:
    before = store.snapshot()
    expected = all_rows(before)
    reported: list[str] = []
    done = compact(None, store, tell=reported.append)  # type: ignore[arg-type]  # no task asks it
    after = store.snapshot()
    assert all_rows(after) == expected
    assert sum(expected["messages"].values()) == 78
    for table in ("messages", "sessions", "lives", "findings", "captures", "sources"):
        assert (len(before.files(table)), len(after.files(table))) == (6, 1), table
    [file] = after.files("messages")
    assert [file.first[-7:], file.last[-7:]] == ["00.pcap", "05.pcap"]
    assert file.rows == 78
    assert (done.before, done.after, done.dropped) == (36, 6, 0)
    assert done.bytes_after < done.bytes_before / 3
    assert reported == ["6 of 6 groups of files, 36 files are 6"]
    assert all_rows(before) == expected, "who opened the tables before still reads them"
    assert compact(None, store) == Compaction()  # type: ignore[arg-type]  # no task asks it


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_a_capture_can_be_forgotten_after_its_file_was_put_together(store: Store) -> None:
    compact(None, store)  # type: ignore[arg-type]  # no task asks it
    name = store.snapshot().files("messages")[0].first
    store.publish(lambda _: Change(gone=frozenset((name,)), forgotten=frozenset((name,))))
    snapshot = store.snapshot()
    assert sum(rows_of(snapshot, "messages").values()) == 65
    assert not any(name in row for table in TABLES for row in rows_of(snapshot, table, "capture"))


@pytest.mark.slow
def test_what_a_run_replaced_meanwhile_is_left_and_the_files_made_of_it_go(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = tmp_path / "in" / "03.pcap"
    before_the_commit(monkeypatch, lambda: fill(tmp_path / "out", replaced, run="again"))
    expected = all_rows(store.snapshot())
    done = compact(None, store)  # type: ignore[arg-type]  # no task asks it
    snapshot = store.snapshot()
    found = all_rows(snapshot)
    for table in WRITTEN:
        assert found[table] == expected[table], table
    assert sorted(snapshot.rows("captures", ["run"]).column("run").to_pylist()) == ["a run"] * 5 + ["again"]
    assert done.dropped > 0
    files = {path.relative_to(tmp_path / "out" / "messages") for path in tmp_path.rglob("messages/day=*/*")}
    assert {Path(file.path) for file in snapshot.files("messages")} < files
    assert len(files) == 7, "the six of before and the one of the second run"


@pytest.mark.slow
def test_what_a_run_added_meanwhile_is_there_beside_what_was_put_together(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = tmp_path / "more.pcap"
    shutil.copy(DEMO, more)
    before_the_commit(monkeypatch, lambda: fill(tmp_path / "out", more))
    expected = all_rows(store.snapshot())
    done = compact(None, store)  # type: ignore[arg-type]  # no task asks it
    snapshot = store.snapshot()
    found = all_rows(snapshot)
    for table in TABLES:
        assert found[table] >= expected[table], table
    assert sum(found["messages"].values()) == 91
    assert (len(snapshot.files("messages")), done.dropped) == (2, 0)


@pytest.mark.slow
def test_a_run_that_compacting_was_faster_than_loses_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "finished", lambda spark, parts, task: map(task, parts))
    more, write = tmp_path / "more.pcap", Store._write
    shutil.copy(DEMO, more)
    waits = [True]

    def late(self: Store, stands: Any, table: str, *more: Any) -> None:
        if table == "messages" and waits:
            waits.clear()
            compact(None, store)  # type: ignore[arg-type]  # no task asks it
        write(self, stands, table, *more)

    monkeypatch.setattr(Store, "_write", late)
    fill(tmp_path / "out", more)
    snapshot = store.snapshot()
    assert not waits
    assert sum(rows_of(snapshot, "messages").values()) == 91
    assert len(snapshot.files("messages")) == 2


def test_neighbours_go_together_up_to_the_size_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def file(name: str, size: int, day: str = "2026-01-31") -> StoredFile:
        return StoredFile(f"day={day}/{name}", size, 1, day, name, name)

    class Listed:
        tables = ("messages",)

        def files(self, table: str) -> list[StoredFile]:
            large = [file("b", 50_000_000), file("h", 64_000_000)]
            small = [file(name, 30_000_000) for name in "gfaced"]
            other = [file("x", 1000, "2026-02-01"), file("y", 9, NO_DAY), file("z", 9, NO_DAY)]
            return [*large, *small, *other] if table == "messages" else []

    found = bundles_of(Listed(), 100_000_000)  # type: ignore[arg-type]  # it is asked for files only
    assert [[one.first for one in bundle.files] for bundle in found] == [
        ["a", "c", "d"],
        ["e", "f", "g"],
        ["y", "z"],
    ]


def test_rows_stay_in_the_partition_of_their_file(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.make()
    schema = table_schemas()["errors"]
    files = []
    for name in "ab":
        rows = [{"capture": name, "type": "gap", "time": day * 86_400_000_000} for day in range(9)]
        with TableWriter(store.place, ("errors",)) as writer:
            writer.write("errors", pa.RecordBatch.from_pylist(rows, schema=schema), NO_DAY)
        files += writer.files
    store.publish(lambda _: Change(files=files))
    bundle = Bundle("errors", tuple(store.snapshot().files("errors")))
    _, [made] = compaction.merge(bundle, store, 1 << 20)
    assert (made.day, made.rows, made.first, made.last) == (None, 18, "a", "b")
    assert made.path.startswith(f"day={NO_DAY}/")


@pytest.mark.slow
def test_a_file_ends_where_it_is_large_enough(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    rows = pa.RecordBatch.from_pylist(
        [{"capture": f"{number:06}", "type": "gap", "message": "x"} for number in range(1 << 15)],
        schema=table_schemas()["errors"],
    )
    with TableWriter(store.place, ("errors",), size=1) as writer:
        for _ in range(3):
            writer.write("errors", rows)
    assert len(writer.files) == 3
    for file in writer.files:
        path = tmp_path / "errors" / file.path
        assert (path.stat().st_size, pq.read_metadata(path).num_rows) == (file.size, file.rows)


@pytest.mark.slow
def test_files_of_runs_are_put_together(store: Store) -> None:
    for number in range(3):
        store.append("runs", {"name": f"run {number}"})
    store.compact_runs(1 << 20)
    snapshot = store.snapshot()
    assert len(snapshot.files("runs")) == 1
    assert sorted(snapshot.rows("runs", ["name"]).column("name").to_pylist()) == ["run 0", "run 1", "run 2"]


@pytest.mark.slow
@pytest.mark.spark
def test_tasks_of_spark_do_the_same(spark: SparkSession, store: Store) -> None:
    expected = all_rows(store.snapshot())
    assert compact(spark, store).before == 36
    assert all_rows(store.snapshot()) == expected
    assert len(store.snapshot().files("messages")) == 1
