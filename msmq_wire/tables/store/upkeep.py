"""What is done with tables beside runs: say what they hold, take captures out, copy them.

The rule kept here: nothing of this starts Spark, reads all rows, or leaves a capture half.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import msgspec
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.places import Place, place_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store.snapshot import Snapshot, among, reading
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.table_files import FILE_BYTES
from msmq_wire.tables.table_schemas import BOOKS

_PREFIX = 8
"""Digits of a digest that may stand for all of it."""
_COPIED = 1 << 20
_AT_ONCE = 8
_SHOWN = 3


class TableStatus(msgspec.Struct, frozen=True):
    """A table at the version that counts; ``latest`` is the last that it has, ``small`` counts small files.

    A table that stands by itself (``runs``), and one that no run has ended yet, has no ``version``.
    """

    table: str
    version: int | None
    latest: int
    rows: int
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
    kinds: dict[tuple[str, str, str], list[int]] = {}
    for row in held.to_pylist():
        counts = kinds.setdefault((row["version"], row["options"], row["scope"]), [0, 0])
        counts[0] += 1
        counts[1] += bool(row["damage"])
    return StoreStatus(
        store.place.url,
        len(held),
        tuple(_table(snapshot, table, small) for table in ("captures", "sources", "runs", *snapshot.tables)),
        tuple(
            DecoderCount(*key, *counts) for key, counts in sorted(kinds.items(), key=lambda kind: -kind[1][0])
        ),
        tuple(_runs(snapshot)[:runs]),
    )


def _table(snapshot: Snapshot, table: str, small: int) -> TableStatus:
    files = snapshot.files(table)
    version = snapshot.version if table == "captures" else snapshot.versions.get(table)
    return TableStatus(
        table,
        version,
        snapshot.version if table == "captures" else snapshot.latest(table),
        sum(file.rows for file in files),
        len(files),
        sum(file.size < small for file in files),
        sum(file.size for file in files),
    )


def _runs(snapshot: Snapshot) -> list[LastRun]:
    names = ("name", "started", "ended", "version", "captures", "unchanged", "damage")
    rows = snapshot.rows("runs", names).sort_by([("started", "descending")]).to_pylist()
    return [LastRun(damaged=len(row.pop("damage") or ()), **row) for row in rows]


def forget(store: Store, words: Iterable[str]) -> list[str]:
    """Take captures out of all tables, as if they had never been read; return their names.

    Words are names of captures, or the first digits (8 or more) of their digests. Raises MsmqWireError for
    one that is none, or several captures, and nothing is taken out then.
    """
    names: set[str] = set()

    def change(snapshot: Snapshot) -> Change | None:
        there = _named(snapshot, words) if not names else _still(snapshot, names)
        names.update(there)
        return Change(gone=there, forgotten=there) if there else None

    store.publish(change)
    return sorted(names)


def _still(snapshot: Snapshot, names: Iterable[str]) -> frozenset[str]:
    wanted = among("capture", sorted(names))
    return frozenset(snapshot.rows("captures", ["capture"], wanted).column("capture").to_pylist())


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
    """Copy the files of a snapshot to ``to``, a folder or URL: ``TABLE/day=.../*.parquet``, and no log.

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
            paths = [(name, *file.path.split("/")) for name, file in files]
            list(pool.map(lambda path: _copy(store.place.join(*path), place.join(*path)), paths))
    except OSError as error:
        raise MsmqWireError(f"cannot write {place.url}: {error.strerror or error}") from error
    rows = {name: sum(file.rows for file in snapshot.files(name)) for name in wanted}
    return Copies(len(files), sum(file.size for _, file in files), rows)


def _copy(source: Place, target: Place) -> None:
    Place(target.url.rpartition("/")[0]).make_folder()
    with reading(source):
        given = source.open_input()
    with given, target.open_output() as copy:
        while True:
            with reading(source):
                block = given.read(_COPIED)
            if not block:
                return
            copy.write(block)
