"""What tables hold is said, captures go out of them whole, and a copy is one snapshot."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.capture.places import Place
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store import upkeep
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.upkeep import DecoderCount, export, forget, status
from tests.tables.store.filled_stores import WRITTEN, fill, rows_of
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
        store.append(
            "runs",
            {"name": f"at {hour}", "started": datetime(2026, 1, 31, hour, tzinfo=UTC), "captures": hour},
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
        assert one.latest == (one.version if name != "runs" else 2)
    assert tables["captures"].version == snapshot.version
    assert [(kind.options, kind.captures, kind.damaged) for kind in found.kinds] == [
        ("a key", 2, 0),
        ("another key", 1, 1),
    ]
    assert isinstance(found.kinds[0], DecoderCount)
    assert [(run.name, run.captures) for run in found.runs] == [("at 9", 9)]


@pytest.mark.slow
def test_status_says_which_table_stands_above_what_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write = Store._write

    def die(self: Store, stands: object, table: str, *more: object) -> None:
        if table == "captures":
            raise KeyboardInterrupt
        write(self, stands, table, *more)  # type: ignore[arg-type]  # as it was asked

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_write", die)
        with pytest.raises(KeyboardInterrupt):
            fill(tmp_path / "out", FOLDER / "path_http_post_msmq.pcap")
    ahead = {
        one.table for one in status(store).tables if one.version is not None and one.latest > one.version
    }
    assert "sources" in ahead
    assert "captures" not in ahead
    fill(tmp_path / "out", FOLDER / "path_http_post_msmq.pcap")
    assert all(one.version in (None, one.latest) for one in status(store).tables)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["name", "digest", "prefix", "relative path"])
def test_a_capture_is_forgotten_in_every_table(
    store: Store, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    digest = digest_of(store, DEMO)
    kept = {table: rows_of(store.snapshot(), table) for table in TABLES}
    word = {
        "name": str(DEMO),
        "digest": digest,
        "prefix": digest[:8],
        "relative path": DEMO.name,
    }[by]
    assert forget(store, [word]) == [str(DEMO)]
    for table in TABLES:
        found = rows_of(store.snapshot(), table)
        assert found == {row: count for row, count in kept[table].items() if str(DEMO) not in row}
    assert names(store, "captures") == names(store, "sources") == {str(OTHER)}


@pytest.mark.slow
def test_what_was_forgotten_can_come_again(store: Store, tmp_path: Path) -> None:
    before = {table: rows_of(store.snapshot(), table) for table in TABLES}
    forget(store, [str(DEMO), str(OTHER), str(DEMO)])
    assert all(not rows_of(store.snapshot(), table) for table in TABLES)
    fill(tmp_path / "out", DEMO, OTHER)
    assert {table: rows_of(store.snapshot(), table) for table in TABLES} == before


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
    store.publish(lambda _: Change(books={"captures": rows}))
    with pytest.raises(MsmqWireError, match="abcdef01 is 2 captures: 2, 3"):
        forget(store, ["abcdef01"])
    assert forget(store, ["abcdef0122"]) == ["2"]


@pytest.mark.slow
def test_a_capture_that_another_forgot_meanwhile_is_no_harm(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Store._write
    faster = [True]

    def late(self: Store, stands: object, table: str, *more: object) -> None:
        if faster:
            faster.clear()
            forget(store, [str(DEMO)])
        write(self, stands, table, *more)  # type: ignore[arg-type]  # as it was asked

    monkeypatch.setattr(Store, "_write", late)
    assert forget(store, [str(DEMO), str(OTHER)]) == [str(DEMO), str(OTHER)]
    assert names(store, "captures") == set()
    assert not rows_of(store.snapshot(), "messages")


@pytest.mark.slow
def test_a_copy_has_the_rows_of_the_snapshot_and_nothing_else(store: Store, tmp_path: Path) -> None:
    forget(store, [str(OTHER)])
    done = export(store, str(tmp_path / "to" / "plain"))
    for table in TABLES:
        folder = tmp_path / "to" / "plain" / table
        assert not (folder / "_delta_log").exists()
        kind = ds.partitioning(flavor="hive") if table in WRITTEN else None
        found = ds.dataset(str(folder), format="parquet", partitioning=kind).to_table()
        expected = store.snapshot().dataset(table)
        assert found.num_rows == done.rows[table] == (0 if expected is None else expected.count_rows())
        if expected is not None:
            columns = [name for name in expected.schema.names if name != "day"]
            assert found.select(columns).to_pylist() == expected.to_table(columns=columns).to_pylist()
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
