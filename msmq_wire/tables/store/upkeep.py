"""What is done with tables beside runs: say what they hold, check, forget, copy and compact it.

The rule kept here: nothing of this starts Spark, or leaves a capture half, whatever runs do meanwhile.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.places import Place, place_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store.snapshot import Snapshot, StoredFile, among, line_of, reading
from msmq_wire.tables.store.store import Store, one_of
from msmq_wire.tables.store.table_files import FILE_BYTES, write_file
from msmq_wire.tables.table_schemas import BOOKS, TABLES

_PREFIX = 8
"""Digits of a digest that may stand for all of it."""
_COPIED = 1 << 20
_AT_ONCE = 8
_READERS = 4
_TOGETHER = 1 << 14
"""Rows that are read at a time."""
_NAMED = 1000
"""Captures whose rows are deleted at a time."""
_MANY = 64
_GROUP_ROWS = 1 << 15
_GROUP_BYTES = 1 << 25
"""Rows, and bytes of them as Arrow, that are written at a time."""
_SHOWN = 3


class TableStatus(msgspec.Struct, frozen=True):
    """A table as it is now; ``small`` counts small files.

    ``others`` are rows that do not count: of runs that died, or of captures that were replaced.
    """

    table: str
    version: int
    rows: int
    others: int
    files: int
    small: int
    bytes: int


class DecoderCount(msgspec.Struct, frozen=True):
    """So many captures were decoded by a version of msmq-wire with the same options."""

    version: str
    options: str
    scope: str
    captures: int
    damaged: int


class LastRun(msgspec.Struct, frozen=True):
    """A run in short; the table ``runs`` has all of it."""

    name: str
    started: datetime
    ended: datetime
    version: str
    captures: int
    unchanged: int
    damaged: int


class StoreStatus(msgspec.Struct, frozen=True):
    """What tables hold: by table, how their captures were read, and the latest runs, the last one first."""

    place: str
    captures: int
    tables: tuple[TableStatus, ...]
    kinds: tuple[DecoderCount, ...]
    runs: tuple[LastRun, ...]


def status(store: Store, *, small: int = FILE_BYTES // 2, runs: int = 5) -> StoreStatus:
    """What the tables hold now; files of fewer than ``small`` bytes are small. Reads no table of rows."""
    snapshot = store.snapshot()
    held = snapshot.rows("captures", ["version", "options", "scope", "damage"])
    counts = {table: sum(some.values()) for table, some in _counts(snapshot).items()}
    kinds: dict[tuple[str, str, str], list[int]] = {}
    for row in held.to_pylist():
        kind = kinds.setdefault((row["version"], row["options"], row["scope"]), [0, 0])
        kind[0] += 1
        kind[1] += bool(row["damage"])
    return StoreStatus(
        store.place.url,
        len(held),
        tuple(_table(snapshot, table, counts, small) for table in (*BOOKS, *snapshot.tables)),
        tuple(
            DecoderCount(*key, *count) for key, count in sorted(kinds.items(), key=lambda kind: -kind[1][0])
        ),
        tuple(_runs(snapshot)[:runs]),
    )


def _table(snapshot: Snapshot, table: str, counts: Mapping[str, int], small: int) -> TableStatus:
    files, opened = snapshot.files(table), snapshot.table(table)
    there = sum(file.rows for file in files)
    if table == "sources":
        counts = {table: len(snapshot.rows(table, ["capture"]))}
    rows = counts.get(table, 0) if table in (*TABLES, "sources") else there
    return TableStatus(
        table,
        -1 if opened is None else opened.version(),
        rows,
        there - rows,
        len(files),
        sum(file.size < small for file in files),
        sum(file.size for file in files),
    )


def _counts(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """How many rows each capture has by table, as ``captures`` says."""
    found: dict[str, dict[str, int]] = {table: {} for table in snapshot.tables}
    for row in snapshot.rows("captures", ["capture", "rows"]).to_pylist():
        for table, count in row["rows"] or ():
            if count:
                found.setdefault(table, {})[row["capture"]] = count
    return found


def _runs(snapshot: Snapshot) -> list[LastRun]:
    names = ("name", "started", "ended", "version", "captures", "unchanged", "damage")
    rows = snapshot.rows("runs", names).sort_by([("started", "descending")]).to_pylist()
    return [LastRun(damaged=len(row.pop("damage") or ()), **row) for row in rows]


def forget(store: Store, words: Iterable[str]) -> list[str]:
    """Take captures out of all tables, as if they had never been read; return their names.

    Words are names of captures, or the first digits (8 or more) of their digests. Raises MsmqWireError for
    one that is none, or several captures, and nothing is taken out then.
    """
    return store.forget(lambda snapshot: _named(snapshot, words))


def _named(snapshot: Snapshot, words: Iterable[str]) -> frozenset[str]:
    names, unknown = set(), []
    for word in words:
        wanted = among("capture", [word, os.path.abspath(word)])
        if len(word) >= _PREFIX and set(word) <= set("0123456789abcdef"):
            # After f come no more digits.
            wanted |= (ds.field("digest") >= word) & (ds.field("digest") < f"{word}g")
        found = snapshot.rows("captures", ["capture"], wanted).column("capture").to_pylist()
        if len(found) > 1 and word in found:
            found = [word]
        if len(found) > 1:
            raise MsmqWireError(f"{word} is {len(found)} captures: {_some(sorted(found))}")
        unknown += [] if found else [word]
        names.update(found)
    if unknown:
        raise MsmqWireError(f"no capture in {snapshot.place.url} is called {_some(unknown)}")
    return frozenset(names)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


class Copies(msgspec.Struct, frozen=True):
    """What was written: files, their bytes, and the rows by table."""

    files: int
    bytes: int
    rows: Mapping[str, int]


def export(store: Store, to: str, tables: Iterable[str] = ()) -> Copies:
    """Copy the rows that count to ``to``, a folder or URL: ``TABLE/day=.../*.parquet``, and no log.

    With ``tables`` only these. Raises MsmqWireError for a table that there is not, where ``to`` holds
    something, and where a file cannot be read or written.
    """
    snapshot, place = store.snapshot(), place_of(to)
    there = [name for name in (*snapshot.tables, *BOOKS) if snapshot.table(name) is not None]
    wanted = list(tables) or there
    lacking = [name for name in wanted if name not in there]
    if lacking:
        raise MsmqWireError(f"{store.place.url} has no table {_some(lacking)}: there are {', '.join(there)}")
    files = [(name, file) for name in wanted for file in snapshot.files(name)]
    try:
        if place.list():
            raise MsmqWireError(f"{place.url} holds something: name a folder that is empty or not there")
        place.make_folder()
        for name in wanted:
            place.join(name).make_folder()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            sizes = list(pool.map(lambda one: _copy(snapshot, one[0], one[1], place), files))
    except OSError as error:
        raise MsmqWireError(f"cannot write {place.url}: {error.strerror or error}") from error
    rows = dict.fromkeys(wanted, 0)
    for (name, _), (count, _) in zip(files, sizes, strict=True):
        rows[name] += count
    written = [size for count, size in sizes if count]
    return Copies(len(written), sum(written), rows)


def _copy(snapshot: Snapshot, table: str, file: StoredFile, to: Place) -> tuple[int, int]:
    """Copy the rows of a file that count, if there are any; return how many they are, and the bytes."""
    place, names = snapshot.place, file.path.split("/")
    with reading(place):
        source = pq.ParquetFile(place.join(table, *names).open_input())
        rows = whole = source.metadata.num_rows
        if table in (*TABLES, "sources"):
            rows = pc.sum(snapshot.counts(source.read(["capture", "run"]))).as_py() or 0
    if not rows:
        return 0, 0
    target = to.join(table)
    for name in names[:-1]:
        target = target.join(name)
        target.make_folder()
    with source, target.join(names[-1]).open_output() as copy:
        if rows == whole:
            given = place.join(table, *names).open_input()
            for block in _read(place, iter(partial(given.read, _COPIED), b"")):
                copy.write(block)
        else:
            with pq.ParquetWriter(copy, source.schema_arrow, compression="zstd") as writer:
                for batch in _read(place, source.iter_batches(_TOGETHER)):
                    writer.write_batch(batch.filter(snapshot.counts(batch)))
        # That of what is not closed lacks the footer of a file that was written anew.
        return rows, copy.tell()


def _read(place: Place, items: Iterator[Any]) -> Iterator[Any]:
    """The items of what reads tables, with its errors as ours."""
    while True:
        with reading(place):
            found = next(items, None)
        if found is None:
            return
        yield found


def verify(store: Store) -> Iterator[str]:
    """Read all files of all tables; yield a line for each that is damaged, and for counts that are wrong.

    A file must be there with the bytes and rows that the log says, its pages must have their checksums, and
    there must be as many rows of a capture as ``captures`` says. Rows that do not count are read, too.
    """
    snapshot = store.snapshot()
    counts = _counts(snapshot)
    for table in (*BOOKS, *snapshot.tables):
        found: Counter[str] = Counter()
        files = snapshot.files(table)
        with ThreadPoolExecutor(_READERS) as pool:
            for file, (fault, rows) in zip(
                files, pool.map(partial(_checked, snapshot, table), files), strict=True
            ):
                found.update(rows)
                if fault:
                    yield f"{table}/{file.path} {fault}"
        for name, count in counts.get(table, {}).items():
            if found[name] != count:
                yield f"{table} has {found[name]} rows of {name}, not {count}"
        for name in sorted(found.keys() - counts.get(table, {}).keys()):
            yield f"{table} has {found[name]} rows of {name}, not 0"


def _checked(snapshot: Snapshot, table: str, file: StoredFile) -> tuple[str, Counter[str]]:
    """What is wrong with a file, empty for nothing, and its rows that count, by capture."""
    place, found = snapshot.place.join(table, *file.path.split("/")), Counter[str]()
    try:
        size = place.info().size
        if size != file.size:
            return ("is not there" if size is None else f"has {size} bytes, not {file.size}"), found
        with place.open_input() as source:
            parquet = pq.ParquetFile(source, page_checksum_verification=True)
            if parquet.metadata.num_rows != file.rows:
                return f"has {parquet.metadata.num_rows} rows, not {file.rows}", found
            for batch in parquet.iter_batches(_TOGETHER):
                if table in TABLES:
                    names = batch.column("capture").filter(snapshot.counts(batch))
                    found.update({one["values"]: one["counts"] for one in pc.value_counts(names).to_pylist()})
    except (OSError, pa.ArrowException) as error:
        return f"cannot be read: {line_of(error)}", found
    return "", found


class Compaction(msgspec.Struct, kw_only=True):
    """What was done: so many files became so many others; ``removed`` rows did not count any more."""

    before: int = 0
    after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    removed: int = 0


def compact(
    store: Store, *, hours: int, target: int = FILE_BYTES, tell: Callable[[str], None] = lambda text: None
) -> Compaction:
    """Put small files of all tables together, up to ``target`` bytes each, without rows that do not count.

    These go once the run that wrote them, and the one that replaced them, began more than ``hours`` ago: an
    older run must not be at work, nor who opened the tables before. ``tell`` is given a line for each table.
    Raises MsmqWireError where the tables cannot be written.
    """
    snapshot, done = store.snapshot(), Compaction()
    began = f"{datetime.now(UTC) - timedelta(hours=hours):%Y%m%dT%H%M%SZ}"
    for table in store.written():
        for run, rows in _garbage(snapshot, table, began).items():
            done.removed += rows.total()
            names = sorted(rows)
            for at in range(0, len(names), _NAMED):
                some = one_of("capture", names[at : at + _NAMED])
                store.delete(table, f"{one_of('run', [run])} AND {some}")
    for table in (*store.written(), "captures", "runs"):
        before = done.before
        merge(store, table, done, target=target)
        if done.before > before:
            tell(f"{table}: {done.before - before} files were put together")
    return done


def tidy(store: Store) -> None:
    """Put the files of ``captures`` and of ``sources`` together where they are many: each run adds some."""
    for table in ("captures", "sources"):
        if len(store.snapshot().files(table)) >= _MANY:
            merge(store, table, Compaction())


def merge(store: Store, table: str, done: Compaction, *, target: int = FILE_BYTES) -> None:
    """Put files of a table that are smaller than half of ``target`` together; count that in ``done``."""
    small = [file for file in store.snapshot().files(table) if file.size < target // 2]
    small.sort(key=lambda file: (file.day or "", file.least.get("capture", ""), file.path))
    bundles: list[list[StoredFile]] = []
    for file in small:
        if not bundles or bundles[-1][0].day != file.day or sum(one.size for one in bundles[-1]) > target:
            bundles.append([])
        bundles[-1].append(file)
    for files in bundles:
        begun: list[Place] = []
        if len(files) < 2:
            continue
        made = write_file(store.place, table, files[0].day, _groups(store, table, files), begun)
        if not store.replace(table, files, made):
            # Somebody else put them together, or took rows out: the next finds what is left.
            begun[0].delete()
            continue
        done.before += len(files)
        done.after += 1
        done.bytes_before += sum(file.size for file in files)
        done.bytes_after += made.size


def _groups(store: Store, table: str, files: Iterable[StoredFile]) -> Iterator[Any]:
    """The rows of files, those of small ones together."""
    waiting, rows, size = list[Any](), 0, 0
    for file in files:
        for batch in store.batches(table, file):
            waiting.append(batch)
            rows, size = rows + len(batch), size + batch.nbytes
            if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
                yield pa.Table.from_batches(waiting)
                waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _garbage(snapshot: Snapshot, table: str, began: str) -> dict[str, Counter[str]]:
    """How many rows do not count, by run and capture; both runs that a capture has have begun before."""
    found: dict[str, Counter[str]] = {}
    everything = snapshot.everything(table)
    if everything is None:
        return {}
    held = snapshot.held()
    young = set(held.filter(pc.greater_equal(held.column("run"), began)).column("capture").to_pylist())
    with reading(snapshot.place):
        for batch in everything.to_batches(columns=["capture", "run"], filter=ds.field("run") < began):
            rows = pa.Table.from_batches([batch.filter(pc.invert(snapshot.counts(batch)))])
            for row in rows.group_by(["capture", "run"]).aggregate([([], "count_all")]).to_pylist():
                if row["capture"] not in young:
                    found.setdefault(row["run"], Counter())[row["capture"]] += row["count_all"]
    return found
