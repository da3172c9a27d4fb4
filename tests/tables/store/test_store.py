"""What counts is what the table of captures names: whole captures, whoever writes at the same time."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from msmq_wire.capture.places import Place
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store import store as module
from msmq_wire.tables.store.snapshot import Snapshot, StoredFile
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.table_files import TableWriter, WrittenFile
from msmq_wire.tables.table_schemas import DAY, delta_schema, file_schema, table_schemas

MICROSECONDS = 86_400_000_000
TOLD = ("findings", "errors")


def written(store: Store, mark: str, *captures: str, days: int = 2) -> list[WrittenFile]:
    """Files of two tables that captures share, with a row a day whose text is ``mark``."""
    with TableWriter(store.place, TOLD) as writer:
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


def change(
    store: Store, mark: str, *captures: str, gone: Iterable[str] = (), forgotten: Iterable[str] = ()
) -> Change:
    """What adds captures, with a file each, instead of others."""
    return Change(
        files=written(store, mark, *captures),
        tables=TOLD,
        gone=frozenset(gone),
        forgotten=frozenset(forgotten),
        books={
            "captures": [{"capture": name, "digest": mark} for name in captures],
            "sources": [{"capture": name, "path": f"/{name}", "key": name.encode()} for name in captures],
        },
    )


def add(store: Store, mark: str, *captures: str, **more: Any) -> Snapshot:
    made = change(store, mark, *captures, **more)
    return store.publish(lambda snapshot: made)


def die(store: Store, mark: str, capture: str, *, before: str) -> None:
    """Begin to put a capture in the place of ``a``, and end before the commit on a table."""
    write = Store._write

    def dying(self: Store, stands: Any, name: str, *more: Any) -> None:
        if name == before:
            raise KeyboardInterrupt
        write(self, stands, name, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "_write", dying)
        with pytest.raises(KeyboardInterrupt):
            add(store, mark, capture, gone=["a"])


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


def on_disk(store: Store, table: str) -> set[str]:
    return {path.relative_to(Path(store.place.path) / table).as_posix() for path in _parquet(store, table)}


def _parquet(store: Store, table: str) -> Iterable[Path]:
    found = (Path(store.place.path) / table).rglob("*.parquet")
    return (path for path in found if path.parent.name != "_delta_log")


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
    assert (store.snapshot().tables, store.snapshot().versions) == ((), {})
    assert shown(store.snapshot()) == whole()
    assert store.snapshot().dataset("errors") is None


@pytest.mark.slow
def test_what_is_published_is_there_and_a_snapshot_stays_as_it_was(store: Store) -> None:
    first = add(store, "one", "a", "b")
    assert shown(first) == shown(store.snapshot()) == whole(("a", "one"), ("b", "one"))
    assert first.tables == TOLD
    second = add(store, "two", "c")
    assert shown(second) == whole(("a", "one"), ("b", "one"), ("c", "two"))
    assert shown(first) == whole(("a", "one"), ("b", "one"))
    # Another process sees the same.
    assert shown(Store(store.place.url).snapshot()) == shown(second)
    assert store.publish(lambda snapshot: None).version == second.version


@pytest.mark.slow
def test_rows_have_their_day_and_files_say_which_captures_they_hold(store: Store) -> None:
    snapshot = add(store, "one", "a", "c")
    rows = snapshot.dataset("errors").to_table().to_pylist()
    assert Counter((row["time"].date() == row[DAY]) for row in rows) == {True: 4}
    files = snapshot.files("errors")
    assert [(one.day, one.first, one.last, one.rows) for one in sorted(files, key=lambda one: one.path)] == [
        ("1970-01-01", "a", "c", 2),
        ("1970-01-02", "a", "c", 2),
    ]
    may = {name: files[0].may_hold([name]) for name in ("A", "a", "b", "c", "d")}
    assert may == {"A": False, "a": True, "b": True, "c": True, "d": False}
    assert not files[0].may_hold([])
    assert files[0].may_hold(["A", "b", "d"])
    add(store, "two", "d")
    assert len(store.snapshot().dataset("errors", holding=["d"]).files) == 2
    assert snapshot.table("packets") is None


@pytest.mark.slow
def test_a_capture_is_replaced_in_files_that_it_shares(store: Store) -> None:
    before = add(store, "one", "a", "b", "c")
    after = add(store, "two", "b", gone=["b"])
    expected = whole(("a", "one"), ("b", "two"), ("c", "one"))
    # What was known of its files stays.
    expected["sources"] = sorted([*expected["sources"], ("b", "/b")])
    assert shown(after) == expected
    for table in TOLD:
        names = [{one.first, one.last} for one in after.files(table)]
        assert sorted(map(sorted, names)) == [["a", "c"], ["a", "c"], ["b"], ["b"]]
    assert shown(before) == whole(("a", "one"), ("b", "one"), ("c", "one"))


@pytest.mark.slow
def test_what_is_forgotten_is_gone_from_all_tables(store: Store) -> None:
    add(store, "one", "a", "b")
    add(store, "two", "c")
    after = store.publish(lambda _: Change(gone=frozenset("bc"), forgotten=frozenset("bc")))
    assert shown(after) == whole(("a", "one"))
    after = store.publish(lambda _: Change(gone=frozenset("a"), forgotten=frozenset("a")))
    assert shown(after) == whole()
    assert all(not after.files(table) for table in (*TOLD, "captures", "sources"))


@pytest.mark.slow
def test_files_that_others_replace_are_exchanged_in_one_commit(store: Store) -> None:
    for name in "abc":
        add(store, "one", name)
    snapshot = store.snapshot()
    old = frozenset(one.path for one in snapshot.files("errors"))
    assert len(old) == 6
    with TableWriter(store.place, ("errors",)) as writer:
        for file in snapshot.files("errors"):
            for batch in store.batches("errors", file):
                writer.write("errors", batch)
    after = store.publish(lambda _: Change(files=writer.files, merged={"errors": old}))
    assert shown(after) == whole(*((name, "one") for name in "abc"))
    assert {one.path for one in after.files("errors")} == {one.path for one in writer.files}
    assert len(writer.files) == 2


@pytest.mark.slow
def test_who_loses_a_commit_begins_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.001)
    mine, other = change(store, "mine", "a"), change(store, "other", "b")
    asked = []

    def make(snapshot: Snapshot) -> Change:
        asked.append(shown(snapshot)["captures"])
        if len(asked) == 1:
            Store(store.place.url).publish(lambda _: other)
        return mine

    assert shown(store.publish(make)) == whole(("a", "mine"), ("b", "other"))
    assert asked == [[], [("b", "other")]]


@pytest.mark.slow
@pytest.mark.parametrize("table", ["errors", "findings", "sources", "captures"])
def test_a_table_that_is_ahead_of_what_captures_names_is_put_back(
    table: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of somebody who died after the commit on the table before."""
    monkeypatch.setattr(module, "_PAUSE", 0.001)
    add(store, "one", "a")
    for mark in ("nothing", "again nothing"):
        die(store, mark, "b", before=table)
        assert shown(store.snapshot()) == whole(("a", "one"))
    assert shown(add(store, "two", "c")) == whole(("a", "one"), ("c", "two"))


def test_who_always_loses_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    monkeypatch.setattr(module, "_ATTEMPTS", 3)

    def lost(*_: Any) -> None:
        raise CommitFailedError("another one")

    monkeypatch.setattr(Store, "_publish", lost)
    with pytest.raises(MsmqWireError, match=r"cannot write .*tables: other runs were faster 3 times"):
        add(store, "one", "a")


@pytest.mark.slow
def test_two_publishers_at_once_lose_and_double_nothing(store: Store) -> None:
    names = [f"{side}{number}" for side in "ab" for number in range(6)]
    start = threading.Barrier(3)
    problems: list[BaseException] = []
    seen: list[dict[str, list[tuple[str, str]]]] = []
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
        for name in (name for name in names if name.startswith(side)):
            add(own, "some", name)

    def read() -> None:
        while not ended.is_set():
            seen.append(shown(Store(store.place.url).snapshot()))

    threads = [guarded(lambda: publish("a")), guarded(lambda: publish("b")), guarded(read)]
    for thread in threads:
        thread.start()
    for thread in threads[:2]:
        thread.join()
    ended.set()
    threads[2].join()
    assert problems == []
    assert shown(store.snapshot()) == whole(*((name, "some") for name in names))
    # Nobody sees a part of a capture.
    assert seen
    for one in seen:
        assert one == whole(*one["captures"])


def older(patch: pytest.MonkeyPatch, table: str, alter: Callable[[pa.Schema], pa.Schema]) -> None:
    """Let a table have another schema, as before this version."""
    schema = file_schema(table)

    def file(name: str) -> Any:
        return alter(schema) if name == table else file_schema(name)

    def delta(name: str) -> Any:
        return alter(delta_schema(name)) if name == table else delta_schema(name)

    patch.setattr(module, "file_schema", file)
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
    with monkeypatch.context() as patch:
        older(patch, table, without(column, member))
        store.make()
        with TableWriter(store.place, (table,), partitioned=table in TOLD) as writer:
            if table in TOLD:
                schema = without(column, member)(file_schema(table))
                row = {"capture": "a", "time": 0, "rule": "one", "severity": "low", "confidence": "guess"}
                writer.write(table, pa.RecordBatch.from_pylist([row], schema=schema))
        files = writer.files
        store.publish(
            lambda _: Change(
                files=files, tables=TOLD, books={"captures": [{"capture": "a", "digest": "one"}]}
            )
        )
        before = on_disk(store, table)
    after = add(store, "two", "b")
    assert before <= on_disk(store, table)
    found = after.table(table)
    assert found is not None
    fields = pa.schema(found.schema().to_arrow())
    assert set(fields.names) == set(delta_schema(table).names)
    if member is not None:
        assert member in [one.name for one in fields.field(column).type.value_type]
    rows = after.dataset(table).to_table().to_pylist()
    assert {row["capture"] for row in rows} >= {"b"}
    assert column in rows[0]
    assert [row["capture"] for row in after.rows("captures", ["capture"]).to_pylist()] in (
        ["a", "b"],
        ["b", "a"],
    )


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
        store.make()
        store.publish(lambda _: Change(tables=TOLD, books={"sources": [{"capture": "a", "path": "/a"}]}))
    with pytest.raises(MsmqWireError, match=f"the table {table} is of another version of msmq-wire") as error:
        add(store, "two", "b")
    assert "\n" not in str(error.value)
    assert shown(store.snapshot())["captures"] == []


def test_tables_of_before_there_was_a_log_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / "0123456789abcdef.json").write_text("{}")
    with pytest.raises(MsmqWireError, match=f"{tmp_path} holds tables of an older msmq-wire") as error:
        Store(str(tmp_path))
    assert "decode the captures into another folder" in str(error.value)


@pytest.mark.slow
def test_vacuum_deletes_what_no_commit_names_and_keeps_the_rest(store: Store) -> None:
    add(store, "one", "a", "b")
    after = add(store, "two", "b", gone=["b"])
    left = written(store, "nothing", "c")
    named = {table: {one.path for one in after.files(table)} for table in (*TOLD, "captures", "sources")}
    # A run may be writing what is not named yet.
    assert store.vacuum(1, dry=False) == {}
    would = store.vacuum(0, dry=True)
    assert {f"{one.table}/{one.path}" for one in left} < set(would)
    assert len(would) == len(left) + 4 + 1
    assert all((Path(store.place.path) / path).stat().st_size == size for path, size in would.items())
    assert all(named[table] < on_disk(store, table) for table in TOLD)
    assert store.vacuum(0, dry=False) == would
    for table, paths in named.items():
        assert on_disk(store, table) == paths
    assert shown(store.snapshot()) == shown(after)
    assert shown(add(store, "three", "d"))["captures"] == [("a", "one"), ("b", "two"), ("d", "three")]


@pytest.mark.slow
def test_vacuum_leaves_what_is_named_where_another_commit_died_above_it(
    store: Store,
) -> None:
    add(store, "one", "a")
    die(store, "nothing", "b", before="captures")
    store.vacuum(0, dry=False)
    assert shown(store.snapshot()) == whole(("a", "one"))


@pytest.mark.slow
def test_small_files_of_the_books_become_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MANY", 4)
    counts = []
    for number in range(9):
        snapshot = add(store, "some", f"c{number}")
        counts.append((len(snapshot.files("captures")), len(snapshot.files("sources"))))
        assert shown(snapshot) == whole(*((f"c{one}", "some") for one in range(number + 1)))
    assert counts == [(one, one) for one in (1, 2, 3, 4, 1, 2, 3, 4, 1)]
    monkeypatch.setattr(module, "_SMALL", 1)
    for number in range(9, 15):
        snapshot = add(store, "some", f"c{number}")
    assert len(snapshot.files("captures")) == 7


def test_runs_stand_by_themselves(store: Store) -> None:
    assert store.snapshot().table("runs") is None
    for name in ("one", "two"):
        store.append("runs", {"name": name, "rows": {"errors": 5}, "damage": []})
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


def test_a_name_that_no_table_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MsmqWireError, match="in its name is not taken by Delta"):
        Store(str(tmp_path / "a[b]"))


@pytest.mark.slow
def test_a_full_disk_is_one_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = change(store, "one", "a")

    def full(self: Place) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Place, "make_folder", full)
        with pytest.raises(MsmqWireError, match=r"cannot write .*tables: No space left on device"):
            store.publish(lambda _: made)
    assert shown(store.snapshot()) == whole()
    assert shown(store.publish(lambda _: made)) == whole(("a", "one"))


def test_a_file_without_bounds_may_hold_any_capture() -> None:
    file = StoredFile("x", 1, 1, None, "", "\U0010ffff")
    assert file.may_hold(["a"])


def test_the_runs_are_put_together(store: Store) -> None:
    for name in "abc":
        store.append("runs", {"name": name, "rows": {"messages": 1}})
    store.compact_runs(1 << 20)
    assert len(store.snapshot().files("runs")) == 1
    rows = store.snapshot().rows("runs", ["name", "rows"]).to_pylist()
    assert sorted(row["name"] for row in rows) == ["a", "b", "c"]
    assert rows[0]["rows"] == [("messages", 1)]
    version = store.snapshot().latest("runs")
    store.compact_runs(1 << 20)
    assert store.snapshot().latest("runs") == version


def test_who_puts_runs_together_opens_no_file_elsewhere(store: Store, tmp_path: Path) -> None:
    for name in "abc":
        store.append("runs", {"name": name})
    log = tmp_path / "tables" / "runs" / "_delta_log"
    # What it says of rows to be left out is in a file that is not there.
    elsewhere = {"storageType": "p", "pathOrInlineDv": f"file://{tmp_path}/x", "offset": 1}
    text = (log / f"{3:020}.json").read_text()
    added = next(json.loads(line) for line in text.splitlines() if '"add"' in line)
    added["add"]["deletionVector"] = {**elsewhere, "sizeInBytes": 40, "cardinality": 1}
    (log / f"{4:020}.json").write_text(json.dumps(added))
    store.compact_runs(1 << 20)
    names = store.snapshot().rows("runs", ["name"]).column("name").to_pylist()
    assert {*names} == {"a", "b", "c"}
