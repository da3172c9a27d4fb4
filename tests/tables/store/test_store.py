"""What counts is what captures names: whole captures, whoever writes at the same time, and dies."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

from msmq_wire.capture.places import Place
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store import store as module
from msmq_wire.tables.store.snapshot import Snapshot
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.table_files import TableWriter, WrittenFile
from msmq_wire.tables.store.upkeep import compact, verify
from msmq_wire.tables.table_schemas import DAY, LAYOUT, delta_schema, file_schema, table_schemas
from tests.tables.store.filled_stores import run_name

MICROSECONDS = 86_400_000_000
TOLD = ("findings", "errors")


def written(store: Store, mark: str, run: str, *captures: str, days: int = 2) -> list[WrittenFile]:
    """Files of two tables that captures share, with a row a day whose text is ``mark``."""
    with TableWriter(store.place, TOLD, run) as writer:
        for capture in captures:
            for table, text in zip(TOLD, ("rule", "code"), strict=True):
                rows = [
                    {"capture": capture, "time": day * MICROSECONDS, text: mark, "type": "gap"}
                    | {"severity": "low", "confidence": "guess", "rule": mark}
                    for day in range(days)
                ]
                schema = table_schemas()[table]
                kept = [{name: row[name] for name in row if name in schema.names} for row in rows]
                writer.write(table, pa.RecordBatch.from_pylist(kept, schema=schema))
    return writer.files


def change(store: Store, mark: str, *captures: str, run: str = "", number: int = 1) -> Change:
    """What adds captures, which share files, or puts them in the place of others of their names."""
    run = run or run_name()
    rows = dict.fromkeys(TOLD, 2)
    return Change(
        run=run,
        number=number,
        files=written(store, mark, run, *captures),
        tables=TOLD,
        captures=[
            {"capture": name, "digest": mark, "run": run, "tables": TOLD, "rows": rows} for name in captures
        ],
        sources=[{"capture": name, "path": f"/{name}", "key": name, "run": run} for name in captures],
    )


def add(store: Store, mark: str, *captures: str) -> Snapshot:
    store.publish(change(store, mark, *captures))
    return store.snapshot()


COMMITS = (*TOLD, "sources", "captures")
"""The tables in the order in which a publication comes to them, but that those of rows are sorted."""


class Ended(BaseException):
    """In place of the end of a process."""


def die(store: Store, made: Change, table: str, *, after: bool) -> None:
    """Publish, and end before or after the commit on a table."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((DeltaTable, "create_write_transaction"), (module, "write_deltalake")):
            patch.setattr(owner, name, _ending(getattr(owner, name), table, Ended, after=after))
        with pytest.raises(Ended):
            store.publish(made)


def _ending(call: Any, table: str, error: Any, *, after: bool, times: int = 1) -> Any:
    left = [times]

    def step(stands: DeltaTable, *args: Any, **more: Any) -> None:
        is_it = left[0] and stands.table_uri.rstrip("/").endswith(f"/{table}")
        left[0] -= bool(is_it)
        if is_it and not after:
            raise error
        call(stands, *args, **more)
        if is_it:
            raise error

    return step


def shown(snapshot: Snapshot) -> dict[str, list[tuple[str, str]]]:
    """What captures have in each table: their names and marks."""
    found = {}
    for table, text in (
        ("errors", "code"),
        ("findings", "rule"),
        ("captures", "digest"),
        ("sources", "path"),
    ):
        rows = snapshot.rows(table, ["capture", text]).to_pylist()
        found[table] = sorted((row["capture"], row[text]) for row in rows)
    return found


def whole(*captures: tuple[str, str]) -> dict[str, list[tuple[str, str]]]:
    """What captures have that are whole, by their marks."""
    return {
        "errors": sorted([*captures] * 2),
        "findings": sorted([*captures] * 2),
        "captures": sorted(captures),
        "sources": sorted((name, f"/{name}") for name, _ in captures),
    }


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(str(tmp_path / "tables"))
    made.make()
    return made


def test_there_are_no_tables_before_they_are_made(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "out"))
    assert not store.exists
    with pytest.raises(MsmqWireError, match=r"out holds no tables: msmq-wire spark run --output .*out makes"):
        store.snapshot()
    assert not (tmp_path / "out").exists()
    store.make()
    store.make()
    assert store.exists
    assert store.snapshot().tables == ()
    assert shown(store.snapshot()) == whole()
    assert store.snapshot().dataset("errors") is None


@pytest.mark.slow
def test_what_is_published_is_there_and_a_snapshot_stays_as_it_was(store: Store) -> None:
    first = add(store, "one", "a", "b")
    assert shown(first) == shown(store.snapshot()) == whole(("a", "one"), ("b", "one"))
    assert {*first.tables} == {*TOLD}
    second = add(store, "two", "b", "c")
    assert shown(second) == whole(("a", "one"), ("b", "two"), ("c", "two"))
    # What it counted is still there.
    assert shown(first) == whole(("a", "one"), ("b", "one"))
    late = Snapshot(first.place, first.captures)
    assert shown(late) == whole(("a", "one"), ("b", "one"))
    # Another process sees the same.
    assert shown(Store(store.place.url).snapshot()) == shown(second)
    assert first.held().to_pylist() != second.held().to_pylist()


@pytest.mark.slow
def test_rows_have_their_day_and_files_say_what_they_hold(store: Store) -> None:
    snapshot = add(store, "one", "a", "c")
    rows = snapshot.dataset("errors").to_table().to_pylist()
    assert Counter((row["time"].date() == row[DAY]) for row in rows) == {True: 4}
    files = sorted(snapshot.files("errors"), key=lambda one: one.path)
    [run] = set(snapshot.held().column("run").to_pylist())
    assert [(one.day, one.rows, one.least["capture"], one.most["capture"]) for one in files] == [
        ("1970-01-01", 2, "a", "c"),
        ("1970-01-02", 2, "a", "c"),
    ]
    assert all(one.least["run"] == one.most["run"] == run for one in files)
    assert [one.least["time"].isoformat()[:10] for one in files] == [one.day for one in files]
    assert "src" not in files[0].least
    may = {name: files[0].may_hold([name]) for name in ("A", "a", "b", "c", "d")}
    assert may == {"A": False, "a": True, "b": True, "c": True, "d": False}
    assert not files[0].may_hold([])
    assert files[0].may_hold(["A", "b", "d"])
    assert files[0].may_hold(["x"], "src")
    add(store, "two", "d")
    assert len(store.snapshot().dataset("errors", holding=["d"]).files) == 2
    assert snapshot.table("packets") is None


@pytest.mark.slow
def test_a_capture_is_replaced_in_files_that_it_shares_and_none_is_written_anew(store: Store) -> None:
    before = add(store, "one", "a", "b", "c")
    assert len(before.files("errors")) == 2
    after = add(store, "two", "b")
    assert shown(after) == whole(("a", "one"), ("b", "two"), ("c", "one"))
    assert {one.path for one in before.files("errors")} < {one.path for one in after.files("errors")}
    assert len(after.everything("errors").to_table()) == 8
    assert len(after.dataset("errors").to_table()) == after.dataset("errors").count_rows() == 6


@pytest.mark.slow
def test_a_capture_takes_others_away_that_are_a_part_of_it(store: Store) -> None:
    add(store, "one", "a", "b", "c")
    made = change(store, "two", "b")
    made.gone = frozenset("ac")
    assert store.publish(made) == frozenset()
    assert shown(store.snapshot()) == whole(("b", "two"))


@pytest.mark.slow
def test_what_is_forgotten_is_gone_from_all_tables(store: Store) -> None:
    add(store, "one", "a", "b")
    add(store, "two", "b", "c")
    assert store.forget(lambda _: ["b", "c"]) == ["b", "c"]
    assert shown(store.snapshot()) == whole(("a", "one"))
    everything = store.snapshot().everything("errors").to_table()
    assert set(everything["capture"].to_pylist()) == {"a"}, "those that counted no more, too"
    assert store.forget(lambda _: ["a"]) == ["a"]
    assert shown(store.snapshot()) == whole()
    assert all(not store.snapshot().files(table) for table in COMMITS)
    assert store.forget(lambda _: []) == []


@pytest.mark.slow
def test_what_a_run_is_adding_anew_is_not_forgotten(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a run that come after the capture counts no more, and before its rows are deleted."""
    add(store, "one", "a", "b")
    delete = Store.delete

    def late(self: Store, table: str, predicate: str) -> None:
        if table == "errors":
            add(Store(store.place.url), "two", "a")
        delete(self, table, predicate)

    monkeypatch.setattr(Store, "delete", late)
    assert store.forget(lambda _: ["a"]) == ["a"]
    assert shown(store.snapshot()) == whole(("a", "two"), ("b", "one"))


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("table", COMMITS)
def test_who_dies_at_a_commit_leaves_whole_captures_and_another_run_ends_it(
    table: str, after: bool, store: Store
) -> None:
    add(store, "one", "a", "b")
    die(store, change(store, "dead", "b", "c"), table, after=after)
    is_listed = table == "captures" and after
    assert shown(store.snapshot()) == (
        whole(("a", "one"), ("b", "dead"), ("c", "dead")) if is_listed else whole(("a", "one"), ("b", "one"))
    )
    assert list(verify(store)) == []
    assert shown(add(store, "two", "b", "c")) == whole(("a", "one"), ("b", "two"), ("c", "two"))
    compact(store, hours=-1)
    assert shown(store.snapshot()) == whole(("a", "one"), ("b", "two"), ("c", "two"))
    assert len(store.snapshot().everything("errors").to_table()) == 6
    assert list(verify(store)) == []


@pytest.mark.slow
@pytest.mark.parametrize("error", [CommitFailedError("conflict"), DeltaError("timeout"), OSError("reset")])
@pytest.mark.parametrize("table", COMMITS)
def test_a_commit_whose_answer_is_lost_is_made_once(
    table: str, error: Exception, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, "one", "a")
    for owner, name in ((DeltaTable, "create_write_transaction"), (module, "write_deltalake")):
        monkeypatch.setattr(owner, name, _ending(getattr(owner, name), table, error, after=True))
    store.publish(change(store, "two", "a", "b"))
    assert shown(store.snapshot()) == whole(("a", "two"), ("b", "two"))
    opened = store.snapshot().table(table)
    assert opened is not None
    # One that made it, where it has no row before, and one of each publication.
    assert opened.version() == 2


@pytest.mark.slow
def test_what_a_run_has_added_it_adds_once(store: Store) -> None:
    made = change(store, "one", "a")
    for _ in range(2):
        store.publish(made)
        assert shown(store.snapshot()) == whole(("a", "one"))
    assert len(store.snapshot().everything("errors").to_table()) == 2
    store.publish(change(store, "one", "b", run=made.run, number=2))
    assert shown(store.snapshot()) == whole(("a", "one"), ("b", "one"))


@pytest.mark.slow
def test_who_loses_a_commit_looks_again_whether_its_captures_are_as_they_were(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.001)
    add(store, "one", "a")
    mine, others = change(store, "mine", "a", "b"), [change(store, "other", "a"), change(store, "other", "c")]
    asked = []

    def late(snapshot: Snapshot) -> set[str]:
        asked.append(shown(snapshot)["captures"])
        if others:
            Store(store.place.url).publish(others.pop())
        return {name for name, mark in asked[-1] if name == "a" and mark == "other"}

    assert store.publish(mine, late) == {"a"}
    assert shown(store.snapshot()) == whole(("a", "other"), ("b", "mine"), ("c", "other"))
    assert [dict(one).get("a") for one in asked] == ["one", "one", "other"]


def test_who_always_loses_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    monkeypatch.setattr(module, "_ATTEMPTS", 3)

    def lost(*_: Any, **__: Any) -> None:
        raise CommitFailedError("another one")

    made = change(store, "one", "a")
    monkeypatch.setattr(module, "write_deltalake", lost)
    with pytest.raises(MsmqWireError, match=r"cannot write .*tables: other runs were faster 3 times"):
        store.publish(made)


def joined(url: str, read: Callable[[str, list[str]], list[dict[str, Any]]]) -> tuple[int, set[str]]:
    """Check that each capture has the rows that captures says; return how many there are, and their runs.

    ``read`` gives columns of a table at its latest version. captures is read first.
    """
    listed = read(f"{url}/captures", ["capture", "run", "rows"])
    runs = {row["capture"]: row["run"] for row in listed}
    assert len(runs) == len(listed)
    for table in TOLD:
        rows = read(f"{url}/{table}", ["capture", "run"])
        found = Counter(row["capture"] for row in rows if runs.get(row["capture"]) == row["run"])
        assert found == {row["capture"]: dict(row["rows"])[table] for row in listed}
    return len(listed), set(runs.values())


def by_deltalake(url: str, columns: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(url).to_pyarrow_table(columns=columns).to_pylist()
    return rows


def by_polars(url: str, columns: list[str]) -> list[dict[str, Any]]:
    polars = pytest.importorskip("polars")
    found: list[dict[str, Any]] = polars.scan_delta(url).select(columns).collect().to_dicts()
    return found


def by_duckdb(url: str, columns: list[str]) -> list[dict[str, Any]]:
    """Through Arrow: its own reader of Delta is an extension that it loads from elsewhere."""
    duckdb = pytest.importorskip("duckdb")
    table = DeltaTable(url).to_pyarrow_dataset()
    connection = duckdb.connect()
    connection.register("found", table)
    rows: list[dict[str, Any]] = (
        connection.execute(f"SELECT {', '.join(columns)} FROM found").to_arrow_table().to_pylist()
    )
    return rows


@pytest.mark.slow
@pytest.mark.needs("polars", "duckdb")
@pytest.mark.parametrize("same", [False, True])
def test_who_publishes_at_once_loses_and_doubles_nothing_and_any_reader_sees_whole_captures(
    same: bool, store: Store
) -> None:
    names = [f"{side}{number}" for side in "ab" for number in range(3)]
    add(store, "first", *names[:2])
    start = threading.Barrier(5)
    problems: list[BaseException] = []
    seen: dict[str, set[int]] = {}
    ended = threading.Event()

    def guarded(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                start.wait()
                work()
            except BaseException as error:  # noqa: BLE001  (told by the test)
                problems.append(error)

        return threading.Thread(target=run)

    def publish(side: str) -> None:
        own = Store(store.place.url)
        for name in (name for name in names if same or name.startswith(side)):
            add(own, "some", *{name, "a0"})

    def look(read: Callable[[str, list[str]], list[dict[str, Any]]]) -> None:
        while not ended.is_set():
            count, _ = joined(store.place.url, read)
            seen.setdefault(read.__name__, set()).add(count)

    writers = [guarded(lambda side=side: publish(side)) for side in "ab"]  # type: ignore[misc]
    readers = [guarded(lambda read=read: look(read)) for read in (by_deltalake, by_polars, by_duckdb)]  # type: ignore[misc]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join()
    ended.set()
    for thread in readers:
        thread.join()
    assert problems == []
    assert shown(store.snapshot()) == whole(*((name, "some") for name in names))
    assert list(verify(store)) == []
    assert {len(counts) > 1 for counts in seen.values()} == {True}


def test_changes_of_a_table_are_what_was_added_and_what_was_deleted(store: Store) -> None:
    """The change data feed, for who follows a table."""
    add(store, "one", "a", "b")
    add(store, "two", "b")
    store.forget(lambda _: ["a"])
    changes = {}
    for table, text in (("errors", "code"), ("captures", "digest")):
        feed = DeltaTable(f"{store.place.url}/{table}").load_cdf(0)
        rows = pa.table(feed).to_pylist()
        changes[table] = Counter((row["_change_type"], row["capture"], row[text]) for row in rows)
    one = {("insert", "a", "one"): 1, ("insert", "b", "one"): 1, ("insert", "b", "two"): 1}
    assert changes["errors"] == dict.fromkeys((*one, ("delete", "a", "one")), 2)
    assert changes["captures"] == {**one, ("delete", "b", "one"): 1, ("delete", "a", "one"): 1}
    compact(store, hours=-1)
    feed = DeltaTable(f"{store.place.url}/errors").load_cdf(0)
    kinds = Counter(row["_change_type"] for row in pa.table(feed).to_pylist())
    assert kinds == {"insert": 6, "delete": 4}, "files that are put together change nothing"


def older(patch: pytest.MonkeyPatch, table: str, alter: Callable[[pa.Schema], pa.Schema]) -> None:
    """Let a table have another schema, as before this version."""
    schema = file_schema(table)

    def file(name: str) -> Any:
        return alter(schema) if name == table else file_schema(name)

    def delta(name: str) -> Any:
        return alter(delta_schema(name)) if name == table else delta_schema(name)

    patch.setattr(module, "delta_schema", delta)
    patch.setattr("msmq_wire.tables.store.table_files.file_schema", file)


def without(column: str, member: str | None = None) -> Callable[[pa.Schema], pa.Schema]:
    """A schema without a column, or without a member of its structs."""

    def alter(schema: pa.Schema) -> pa.Schema:
        at = schema.get_field_index(column)
        if member is None:
            return schema.remove(at)
        one = schema.field(at)
        kept = [inside for inside in one.type.value_type if inside.name != member]
        return schema.set(at, one.with_type(pa.list_(pa.struct(kept))))

    return alter


@pytest.mark.parametrize(
    ("table", "column", "member"),
    [
        ("findings", "event", None),
        ("findings", "evidence", "frames"),
        ("sources", "mtime_ns", None),
        ("captures", "notices", None),
    ],
)
def test_a_new_column_is_added_and_nothing_is_written_anew(
    table: str, column: str, member: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = Store(str(tmp_path / "older"))
    made = change(store, "one", "a", run="r")
    with monkeypatch.context() as patch:
        older(patch, table, without(column, member))
        store.make()
        if table == "findings":
            # Rows that were made before there was the column.
            schema = without(column, member)(table_schemas()[table])
            row = {"capture": "a", "time": 0, "rule": "one", "severity": "low", "confidence": "guess"}
            with TableWriter(store.place, (table,), "r") as writer:
                writer.write(table, pa.RecordBatch.from_pylist([row, row], schema=schema))
            made.files = [*(file for file in made.files if file.table != table), *writer.files]
        store.publish(made)
    before = store.snapshot().files(table)
    after = add(store, "two", "b")
    assert {one.path for one in before} <= {one.path for one in after.files(table)}
    found = after.table(table)
    assert found is not None
    fields = pa.schema(found.schema().to_arrow())
    assert set(fields.names) == set(delta_schema(table).names)
    if member is not None:
        assert member in [one.name for one in fields.field(column).type.value_type]
    assert shown(after) == whole(("a", "one"), ("b", "two"))
    # Also where the old rows are written anew.
    compact(store, hours=-1)
    assert shown(store.snapshot()) == whole(("a", "one"), ("b", "two"))
    assert list(verify(store)) == []


@pytest.mark.parametrize("table", ["findings", "sources", "captures"])
def test_a_column_of_another_type_is_refused_in_one_line(
    table: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = Store(str(tmp_path / "older"))
    column = {"findings": "message", "sources": "head", "captures": "scope"}[table]

    def number(schema: pa.Schema) -> pa.Schema:
        at = schema.get_field_index(column)
        return schema.set(at, schema.field(at).with_type(pa.int64()))

    with monkeypatch.context() as patch:
        older(patch, table, number)
        for name in (*TOLD, "sources", "captures"):
            store.make(name)
    with pytest.raises(MsmqWireError, match=f"the table {table} is of another version of msmq-wire") as error:
        add(store, "two", "b")
    assert "\n" not in str(error.value)
    assert shown(store.snapshot())["captures"] == []


@pytest.mark.parametrize("description", [None, "msmq-wire tables 1", LAYOUT.replace("2", "3")])
def test_tables_of_another_layout_are_refused_in_one_line(description: str | None, tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path / "captures"), schema=delta_schema("captures"), description=description)
    for act in (lambda store: store.snapshot(), lambda store: add(store, "one", "a")):
        with pytest.raises(
            MsmqWireError, match="of another version of msmq-wire: run again from the"
        ) as error:
            act(Store(str(tmp_path)))
        assert "\n" not in str(error.value)


@pytest.mark.slow
def test_vacuum_deletes_what_no_commit_names_and_keeps_the_rest(store: Store) -> None:
    add(store, "one", "a", "b")
    store.forget(lambda _: ["b"])
    left = written(store, "nothing", "a run", "c")
    # A run may be writing what is not named yet.
    assert store.vacuum(1, dry=False) == {}
    would = store.vacuum(0, dry=True)
    assert {f"{one.table}/{one.path}" for one in left} < set(would)
    assert any("/_change_data/" in path for path in would), "what a follower of changes had a week to read"
    assert all((Path(store.place.path) / path).stat().st_size == size for path, size in would.items())
    assert store.vacuum(0, dry=False) == would
    for table in COMMITS:
        folder = Path(store.place.path) / table
        there = {one.relative_to(folder).as_posix() for one in folder.rglob("part-*.parquet")}
        assert there == {one.path for one in store.snapshot().files(table)}
    assert shown(store.snapshot()) == whole(("a", "one"))
    assert list(verify(store)) == []


def test_runs_stand_by_themselves(store: Store) -> None:
    assert store.snapshot().table("runs") is None
    for name in ("one", "two"):
        store.add_run({"name": name, "rows": {"errors": 5}, "damage": []})
    rows = store.snapshot().rows("runs", ["name", "rows"]).to_pylist()
    assert sorted((row["name"], row["rows"]) for row in rows) == [
        ("one", [("errors", 5)]),
        ("two", [("errors", 5)]),
    ]


def test_columns_say_what_they_are_in_the_log(store: Store) -> None:
    add(store, "one", "a")
    for table in ("errors", "captures"):
        fields = DeltaTable(f"{store.place.path}/{table}").schema().fields
        assert all(one.metadata["comment"] for one in fields)


@pytest.mark.parametrize("name", ["with space", "a:b", "day=1", "ünï", "100%", "#1?", "(x){y}"])
def test_tables_may_be_in_a_folder_of_any_name(name: str, tmp_path: Path) -> None:
    store = Store(str(tmp_path / name))
    store.make()
    add(store, "one", f"/{name}/a")
    assert shown(store.snapshot())["errors"] == [(f"/{name}/a", "one")] * 2


@pytest.mark.parametrize("name", ["a[b", "a]b", "a^b", "a|b", "a%41b", "a\\b", "a\tb"])
def test_a_name_that_no_table_can_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(MsmqWireError, match="in a name") as error:
        Store(str(tmp_path / name))
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_full_disk_is_one_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = change(store, "one", "a")

    def full(self: Place) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Place, "make_folder", full)
        with pytest.raises(MsmqWireError, match=r"cannot write .*tables: No space left on device"):
            store.publish(made)
    assert shown(store.snapshot()) == whole()
    store.publish(made)
    assert shown(store.snapshot()) == whole(("a", "one"))
