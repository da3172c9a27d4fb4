"""What tables hold is said, captures go out of them whole, and a copy is one snapshot."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.capture.places import Place
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store import upkeep
from msmq_wire.tables.store.snapshot import Snapshot
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.table_files import TableWriter
from msmq_wire.tables.store.upkeep import (
    Compaction,
    DecoderCount,
    compact,
    export,
    forget,
    status,
    tidy,
    verify,
)
from msmq_wire.tables.table_schemas import delta_schema
from tests.tables.store.filled_stores import WRITTEN, fill, rows_of, run_name
from tests.tables.store.s3_server import BUCKET, S3Server

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "captures"
DEMO, OTHER = FOLDER / "demo.pcap", FOLDER / "path_ipv6.pcap"
TABLES = (*WRITTEN, "captures", "sources")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two captures that share their files."""
    return fill(tmp_path / "out", DEMO, OTHER, each=2)


def names(store: Store, table: str) -> set[str]:
    return set(store.snapshot().rows(table, ["capture"]).column("capture").to_pylist())


def digest_of(store: Store, path: Path) -> str:
    rows = store.snapshot().rows("captures", ["capture", "digest"]).to_pylist()
    [digest] = [str(row["digest"]) for row in rows if row["capture"] == str(path)]
    return digest


@pytest.mark.slow
def test_status_counts_what_is_there(store: Store, tmp_path: Path) -> None:
    fill(tmp_path / "out", FOLDER / "path_cut_file.pcap", key="another key")
    for hour in (8, 9):
        store.add_run(
            {"name": f"at {hour}", "started": datetime(2026, 1, 31, hour, tzinfo=UTC), "captures": hour}
        )
    found = status(store, runs=1)
    assert found.captures == 3
    tables = {one.table: one for one in found.tables}
    assert set(tables) == {*TABLES, "runs"}
    snapshot = store.snapshot()
    for name, one in tables.items():
        paths = [tmp_path / "out" / name / file.path for file in snapshot.files(name)]
        assert one.rows == sum(rows_of(snapshot, name).values())
        assert (one.files, one.bytes) == (len(paths), sum(path.stat().st_size for path in paths))
        assert one.small == one.files
        opened = snapshot.table(name)
        assert opened is not None
        assert (one.others, one.version) == (0, opened.version())
    assert [(kind.options, kind.captures, kind.damaged) for kind in found.kinds] == [
        ("a key", 2, 0),
        ("another key", 1, 1),
    ]
    assert isinstance(found.kinds[0], DecoderCount)
    assert [(run.name, run.captures) for run in found.runs] == [("at 9", 9)]


@pytest.mark.slow
def test_status_says_how_many_rows_do_not_count(store: Store, tmp_path: Path) -> None:
    before = {one.table: one.rows for one in status(store).tables}
    fill(tmp_path / "out", DEMO)
    tables = {one.table: one for one in status(store).tables}
    assert {name: one.rows for name, one in tables.items()} == before | {"sources": 2}
    assert (tables["messages"].others, tables["captures"].others) == (13, 0)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["name", "digest", "prefix", "relative path"])
def test_a_capture_is_forgotten_in_every_table(
    store: Store, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    digest = digest_of(store, DEMO)
    kept = {table: rows_of(store.snapshot(), table) for table in TABLES}
    fill(Path(store.place.path), DEMO)
    word = {
        "name": str(DEMO),
        "digest": digest,
        "prefix": digest[:8],
        "relative path": DEMO.name,
    }[by]
    assert forget(store, [word]) == [str(DEMO)]
    for table in TABLES:
        found = rows_of(store.snapshot(), table)
        everything = store.snapshot().everything(table)
        assert everything is None or set(map(str, everything.to_table()["capture"])) == {str(OTHER)}
        assert found == {row: count for row, count in kept[table].items() if str(DEMO) not in row}
    assert names(store, "captures") == names(store, "sources") == {str(OTHER)}


@pytest.mark.slow
def test_what_was_forgotten_can_come_again(store: Store, tmp_path: Path) -> None:
    columns = {
        table: [one for one in delta_schema(table).names if one not in ("run", "day")] for table in TABLES
    }
    before = {table: rows_of(store.snapshot(), table, *columns[table]) for table in TABLES}
    forget(store, [str(DEMO), str(OTHER), str(DEMO)])
    assert all(not rows_of(store.snapshot(), table) for table in TABLES)
    fill(tmp_path / "out", DEMO, OTHER)
    assert {table: rows_of(store.snapshot(), table, *columns[table]) for table in TABLES} == before


def test_nothing_is_forgotten_where_one_is_not_known(store: Store) -> None:
    version = store.snapshot().version
    with pytest.raises(MsmqWireError, match=r"is called /nowhere\.pcap, abcdef01$"):
        forget(store, [str(DEMO), "/nowhere.pcap", "abcdef01"])
    digest = digest_of(store, DEMO)
    with pytest.raises(MsmqWireError, match=f"is called {digest[:7]}$"):
        forget(store, [digest[:7]])
    assert store.snapshot().version == version


def test_a_beginning_of_several_digests_is_refused(store: Store) -> None:
    row = store.snapshot().rows("captures", ["digest", "scope", "options", "run"]).to_pylist()[0]
    rows = [{**row, "capture": name, "digest": "abcdef01" + name * 8} for name in "23"]
    store.publish(Change(run="r", number=1, captures=rows))
    with pytest.raises(MsmqWireError, match="abcdef01 is 2 captures: 2, 3"):
        forget(store, ["abcdef01"])
    assert forget(store, ["abcdef0122"]) == ["2"]


@pytest.mark.slow
def test_a_capture_that_another_forgot_meanwhile_is_no_harm(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_of = Snapshot.runs_of
    faster = [True]

    def late(self: Snapshot, *asked: Any) -> list[str]:
        if faster:
            faster.clear()
            forget(store, [str(DEMO)])
        return runs_of(self, *asked)

    monkeypatch.setattr(Snapshot, "runs_of", late)
    assert forget(store, [str(DEMO), str(OTHER)]) == [str(DEMO), str(OTHER)]
    assert names(store, "captures") == set()
    assert not rows_of(store.snapshot(), "messages")


@pytest.mark.slow
def test_a_copy_has_the_rows_of_the_snapshot_and_nothing_else(store: Store, tmp_path: Path) -> None:
    forget(store, [str(OTHER)])
    # Rows that do not count: of a capture that was replaced with others in its file.
    fill(tmp_path / "out", OTHER, DEMO, each=2)
    fill(tmp_path / "out", OTHER)
    assert sum(one.others for one in status(store).tables) > 15
    done = export(store, str(tmp_path / "to" / "plain"))
    for table in TABLES:
        folder = tmp_path / "to" / "plain" / table
        assert not (folder / "_delta_log").exists()
        kind = ds.partitioning(flavor="hive") if table in WRITTEN else None
        found = ds.dataset(str(folder), format="parquet", partitioning=kind).to_table()
        expected = store.snapshot().dataset(table)
        assert found.num_rows == done.rows[table] == (0 if expected is None else expected.count_rows())
        if expected is not None and len(found):
            columns = [name for name in expected.schema.names if name != "day"]
            assert Counter(map(repr, found.select(columns).to_pylist())) == rows_of(
                store.snapshot(), table, *columns
            )
    files = [path for path in (tmp_path / "to").rglob("*") if path.is_file()]
    assert (done.files, done.bytes) == (len(files), sum(path.stat().st_size for path in files))


@pytest.mark.slow
def test_a_copy_of_one_table_is_that_table(store: Store, tmp_path: Path) -> None:
    done = export(store, str(tmp_path / "to"), ["messages"])
    assert list(done.rows) == ["messages"]
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["messages"]
    with pytest.raises(MsmqWireError, match="has no table packets: there are messages, "):
        export(store, str(tmp_path / "more"), ["packets"])


@pytest.mark.slow
def test_a_folder_that_holds_something_takes_no_copy(store: Store, tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "notes").touch()
    with pytest.raises(MsmqWireError, match="holds something"):
        export(store, str(tmp_path / "to"))
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["notes"]
    with pytest.raises(MsmqWireError, match="cannot write"):
        export(store, str(tmp_path / "to" / "notes"))


@pytest.mark.check
def test_tables_in_an_object_store_are_looked_at_forgotten_and_copied_there(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_COPIED", 1000)
    store = fill(f"s3://{BUCKET}/tables", DEMO, OTHER)
    assert status(store).captures == 2
    forget(store, [str(OTHER)])
    expected = rows_of(store.snapshot(), "messages")
    assert sum(expected.values()) == 13
    export(store, f"s3://{BUCKET}/plain", ["messages"])
    export(store, str(tmp_path / "plain"), ["messages"])
    there = {one.path.rpartition("/")[2]: one.size for one in _files(Place(f"s3://{BUCKET}/plain/messages"))}
    here = {path.name: path.stat().st_size for path in (tmp_path / "plain").rglob("*.parquet")}
    assert there == here
    assert len(store.vacuum(0, dry=False)) > 0
    assert rows_of(store.snapshot(), "messages") == expected


def _files(place: Place) -> list[Any]:
    return [one for one in place.list(recursive=True) if one.is_file]


@pytest.mark.slow
def test_what_no_reader_needs_is_deleted_with_what_was_never_committed(store: Store, tmp_path: Path) -> None:
    forget(store, [str(OTHER)])
    stray = tmp_path / "out" / "messages" / "day=2026-11-20" / "part-0.parquet"
    shutil.copy(DEMO, stray)
    assert store.vacuum(24, dry=False) == {}
    found = store.vacuum(0, dry=True)
    assert found["messages/day=2026-11-20/part-0.parquet"] == DEMO.stat().st_size
    assert store.vacuum(0, dry=False) == found
    assert not stray.exists()
    snapshot = store.snapshot()
    expected = {tmp_path / "out" / table / file.path for table in TABLES for file in snapshot.files(table)}
    assert {
        path for path in (tmp_path / "out").rglob("*.parquet") if "_delta_log" not in path.parts
    } == expected
    assert store.vacuum(0, dry=True) == {}
    fill(tmp_path / "out", OTHER)
    assert names(store, "captures") == {str(DEMO), str(OTHER)}, "a vacuum is in nobody's way"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "acts"),
    [
        ("captures/*.parquet", ("status", "forget", "export")),
        ("messages/day=*/*.parquet", ("forget", "export")),
        ("messages/_delta_log/*", ("status", "export")),
    ],
)
def test_what_cannot_be_read_of_tables_is_told_in_one_line(
    lost: str, acts: tuple[str, ...], store: Store, tmp_path: Path
) -> None:
    for path in (tmp_path / "out").glob(lost):
        path.unlink()
    deeds: dict[str, Callable[[], object]] = {
        "status": lambda: status(store),
        "forget": lambda: forget(store, [str(DEMO)]),
        "export": lambda: export(store, str(tmp_path / "copy")),
    }
    for act in acts:
        with pytest.raises(MsmqWireError) as refused:
            deeds[act]()
        assert str(refused.value).startswith(f"cannot read the tables in {tmp_path / 'out'}"), act
        assert "\n" not in str(refused.value)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a missing file": (Path.unlink, "is not there"),
    "a file that was cut": (lambda path: os.truncate(path, path.stat().st_size - 100), "bytes, not "),
    "a footer": (lambda path: flip(path, -7), "cannot be read: "),
    "a page": (lambda path: flip(path, page_of(path)), "CRC checksum verification failed"),
    "a lost row": (lambda path: without_a_row(path), "rows of "),
}


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def page_of(path: Path) -> int:
    """A place in a page, and not in its header."""
    group = pq.read_metadata(path).row_group(0)
    found = max(
        (group.column(at) for at in range(group.num_columns)), key=lambda one: one.total_compressed_size
    )
    return int((found.dictionary_page_offset or found.data_page_offset) + found.total_compressed_size - 2)


def without_a_row(path: Path) -> None:
    """Let a file lack a row, and its log know of it: as a program that deletes rows does."""
    rows = pq.read_table(path, partitioning=None)
    pq.write_table(rows.slice(1), path)
    log = path.parents[1] / "_delta_log"
    for commit in log.glob("*.json"):
        lines = [json.loads(line) for line in commit.read_text().splitlines()]
        for line in lines:
            added = line.get("add", {})
            if added.get("path", "").endswith(path.name):
                added |= {"size": path.stat().st_size, "stats": json.dumps({"numRecords": len(rows) - 1})}
        commit.write_text("\n".join(map(json.dumps, lines)))


@pytest.mark.slow
@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_verify_finds_what_is_damaged(damage: str, compacted: bool, store: Store) -> None:
    if compacted:
        fill(Path(store.place.path), FOLDER / "path_cut_file.pcap")
        compact(store, hours=-1)
    assert list(verify(store)) == []
    act, said = DAMAGES[damage]
    for table in ("messages", "lives"):
        [path] = (Path(store.place.path) / table / file.path for file in store.snapshot().files(table))
        act(path)
    found = list(verify(store))
    assert [one.startswith(("messages", "lives")) for one in found] == [True] * len(found)
    assert {one.split("/")[0].split()[0] for one in found if said in one} == {"messages", "lives"}
    assert all("\n" not in one for one in found)


def copies(folder: Path, count: int) -> list[Path]:
    """The capture under some names, the time of its first frame another each time."""
    folder.mkdir()
    paths = [folder / f"{number:02}.pcap" for number in range(count)]
    for number, path in enumerate(paths):
        data = bytearray(DEMO.read_bytes())
        data[28:32] = number.to_bytes(4, "little")
        path.write_bytes(data)
    return paths


@pytest.mark.slow
def test_every_row_is_there_as_often_as_before_in_one_file_a_day(tmp_path: Path) -> None:
    store = fill(tmp_path / "out", *copies(tmp_path / "in", 6))
    store.add_run({"name": "x"})
    store.add_run({"name": "y"})
    before = store.snapshot()
    expected = {table: rows_of(before, table) for table in (*TABLES, "runs")}
    reported: list[str] = []
    done = compact(store, hours=-1, tell=reported.append)
    after = store.snapshot()
    assert {table: rows_of(after, table) for table in (*TABLES, "runs")} == expected
    assert sum(expected["messages"].values()) == 78
    for table in ("messages", "sessions", "lives", "findings", "captures", "sources"):
        assert (len(before.files(table)), len(after.files(table))) == (6, 1), table
    [file] = after.files("messages")
    assert [file.least["capture"][-7:], file.most["capture"][-7:]] == ["00.pcap", "05.pcap"]
    assert file.rows == 78
    assert (done.before, done.after, done.removed) == (38, 7, 0)
    assert done.bytes_after < done.bytes_before / 3
    assert "messages: 6 files were put together" in reported
    assert {table: rows_of(before, table) for table in TABLES} == {
        table: expected[table] for table in TABLES
    }, "who opened the tables before still reads them"
    assert compact(store, hours=-1) == Compaction()
    assert list(verify(store)) == []


@pytest.mark.slow
def test_rows_that_do_not_count_go_once_both_runs_are_old(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    old, young = (run_name(now - timedelta(hours=hours)) for hours in (30, 20))
    dead = run_name(now - timedelta(hours=29))
    store = fill(tmp_path / "out", DEMO, OTHER, each=2, run=old)
    fill(tmp_path / "out", DEMO, run=young)
    with TableWriter(store.place, ("messages",), dead) as writer:
        rows = store.snapshot().dataset("messages").to_table().drop_columns(["run", "day"])
        writer.write("messages", rows.combine_chunks().to_batches()[0])
    store.publish(Change(run=dead, number=1, files=writer.files))
    expected = {table: rows_of(store.snapshot(), table) for table in TABLES}

    def others() -> int:
        return {one.table: one.others for one in status(store).tables}["messages"]

    for hours, left in ((40, 13 + 15), (25, 13 + 13), (10, 0)):
        compact(store, hours=hours)
        assert (hours, others()) == (hours, left)
        assert {table: rows_of(store.snapshot(), table) for table in TABLES} == expected
        assert list(verify(store)) == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["forget", "run", "compact"])
def test_who_changes_tables_while_files_are_put_together_loses_nothing(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = copies(tmp_path / "in", 4)
    store = fill(tmp_path / "out", *paths[:3])
    acts: dict[str, Callable[[], object]] = {
        "forget": lambda: forget(Store(store.place.url), [str(paths[0])]),
        "run": lambda: fill(tmp_path / "out", paths[0], paths[3]),
        "compact": lambda: compact(Store(store.place.url), hours=-1),
    }
    replace = Store.replace
    waiting = [acts[what]]

    def late(self: Store, *asked: Any) -> bool:
        if waiting:
            waiting.pop()()
        return replace(self, *asked)

    monkeypatch.setattr(Store, "replace", late)
    compact(store, hours=-1)
    left = {"forget": paths[1:3], "run": paths, "compact": paths[:3]}[what]
    assert names(store, "captures") == names(store, "messages") == set(map(str, left))
    assert sum(rows_of(store.snapshot(), "messages").values()) == 13 * len(left)
    assert list(verify(store)) == []
    compact(store, hours=-1)
    assert len(store.snapshot().files("messages")) == 1
    assert list(verify(store)) == []
    store.vacuum(0, dry=False)
    assert list(verify(store)) == []


@pytest.mark.slow
def test_the_books_are_put_together_where_their_files_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_MANY", 4)
    store = fill(tmp_path / "out", *copies(tmp_path / "in", 4))
    fill(tmp_path / "out", DEMO, each=1)
    held = store.snapshot().held().num_rows
    tidy(store)
    assert [len(store.snapshot().files(table)) for table in ("captures", "sources", "messages")] == [1, 1, 5]
    assert store.snapshot().held().num_rows == held == 5
    assert list(verify(store)) == []


@pytest.mark.slow
def test_files_are_as_large_as_is_asked_for(tmp_path: Path) -> None:
    store = fill(tmp_path / "out", *copies(tmp_path / "in", 6))
    size = store.snapshot().files("lives")[0].size
    compact(store, hours=-1, target=3 * size)
    # Which of two files takes the third one depends on a few bytes.
    rows = [file.rows for file in store.snapshot().files("lives")]
    assert (len(rows), sum(rows)) == (2, 18)
    assert list(verify(store)) == []
