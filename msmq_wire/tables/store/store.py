"""The store: Delta tables below one place, and how captures come into them and go.

The rule kept here: a row counts if ``captures`` has its capture with its run. First each other table is given
the files of a run, then one commit on ``captures`` makes them count, and those that they replace count no more.
There is no lock: each commit has a number of its own in the log (``txn``), so none is made twice, and of two
commits on ``captures`` one fails, and is made again if its captures are as they were.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from deltalake.transaction import AddAction

from msmq_wire.capture.places import place_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store.snapshot import (
    Snapshot,
    among,
    is_of_tables,
    is_table,
    line_of,
    open_table,
    reading,
)
from msmq_wire.tables.store.table_files import FILE_PATH, WrittenFile
from msmq_wire.tables.store.table_folders import check_folders
from msmq_wire.tables.table_schemas import BOOKS, BOUNDED, DAY, LAYOUT, TABLES, delta_schema

_ATTEMPTS = 40
_PAUSE = 0.05
"""Seconds that who lost a commit waits at first; they grow with every attempt, up to `_LONGEST`."""
_LONGEST = 2.0
_MANY = 64
"""So many files of ``captures`` or ``sources`` become one after a commit."""
_AT_ONCE = 8
"""Files that are deleted at once."""
_CAPTURES = "captures"
_LISTS = "msmq-wire"
"""Who commits on ``captures`` in the log: everybody, so that of two at once one fails."""
_CHANGES = "_change_data/"
"""Where deltalake keeps the rows that it took away, for who follows the changes of a table."""


class Change(msgspec.Struct, kw_only=True):
    """What a run adds: files of tables and rows of ``sources``, then rows of ``captures`` that make them count.

    ``number`` grows with each change of the run. ``tables`` are to be there, with rows or without. ``gone`` are
    captures that count no more beside those that have a new row.
    """

    run: str
    number: int
    files: Sequence[WrittenFile] = ()
    tables: Sequence[str] = ()
    captures: Sequence[Mapping[str, Any]] = ()
    sources: Sequence[Mapping[str, Any]] = ()
    gone: frozenset[str] = frozenset()


class Store:
    """The tables below ``output``, a folder or the URL of one.

    Raises MsmqWireError where tables cannot be there or read, for those of another version of msmq-wire, and
    for folders with links.
    """

    def __init__(self, output: str) -> None:
        self.place = place_of(output)
        self._name = output
        self.place.join(_CAPTURES).table_url  # noqa: B018  (raises for a name that no table can have)
        self._is_checked = False
        with reading(self.place):
            check_folders(self.place)

    @property
    def exists(self) -> bool:
        """Whether there are tables."""
        with reading(self.place):
            return is_table(self.place, _CAPTURES)

    def make(self) -> None:
        """Make what is not there yet: an empty ``captures``."""
        if not self.exists:
            self._create(_CAPTURES)

    def snapshot(self) -> Snapshot:
        """What counts now. Raises MsmqWireError where there are no tables, or damaged ones."""
        try:
            with reading(self.place):
                found = Snapshot(self.place, open_table(self.place, _CAPTURES))
        except MsmqWireError as error:
            if not isinstance(error.__cause__, TableNotFoundError):
                raise
            raise MsmqWireError(
                f"{self._name} holds no tables: msmq-wire spark run --output {self._name} makes them"
            ) from None
        if not self._is_checked:
            # Before anything is done: later a part of it would be done.
            for table in (*BOOKS, *found.tables):
                found.files(table)
            self._is_checked = True
        return found

    def publish(
        self, change: Change, late: Callable[[Snapshot], Collection[str]] = lambda snapshot: ()
    ) -> frozenset[str]:
        """Add what a run has done; return the captures that do not count, because ``late`` named them.

        ``late`` is asked before each commit on ``captures``. Raises MsmqWireError where it cannot be written.
        """
        for table in sorted({*change.tables, *(file.table for file in change.files)}):
            self._append_files(table, change)
        if change.sources:
            rows = pa.Table.from_pylist(list(change.sources), schema=delta_schema("sources"))
            self._append_rows("sources", rows, change)
        dropped: frozenset[str] = frozenset()

        def commit() -> None:
            nonlocal dropped
            snapshot = self.snapshot()
            dropped = frozenset(late(snapshot))
            rows = [row for row in change.captures if row["capture"] not in dropped]
            if rows:
                self._list(snapshot, rows, change.gone)

        def is_made() -> bool:
            listed = {
                (row["capture"], row["run"]) for row in change.captures if row["capture"] not in dropped
            }
            held = self.snapshot().held()
            return listed <= set(zip(held["capture"].to_pylist(), held["run"].to_pylist(), strict=True))

        if change.captures:
            self._until(commit, is_made)
            self._tidy()
        return dropped

    def _list(self, snapshot: Snapshot, rows: Sequence[Mapping[str, Any]], gone: Iterable[str]) -> None:
        """Let captures count, in place of what counted of them and of those that are ``gone``."""
        names = {row["capture"] for row in rows}
        there = set(pc.unique(snapshot.held().column("capture")).to_pylist()) & {*names, *gone}
        self._widen(snapshot.captures, _CAPTURES)
        write_deltalake(
            snapshot.captures,
            pa.Table.from_pylist(list(rows), schema=delta_schema(_CAPTURES)),
            mode="overwrite" if there else "append",
            predicate=_one_of("capture", {*names, *there}) if there else None,
            commit_properties=_numbered(_LISTS, _next(snapshot)),
        )

    def _until(self, commit: Callable[[], None], is_made: Callable[[], bool]) -> None:
        """Commit; again where another commit was faster, and no more where only the answer was lost."""
        pause = _PAUSE
        for _ in range(_ATTEMPTS):
            try:
                commit()
                return
            except MsmqWireError:
                raise
            except BaseException as error:
                if not is_of_tables(error):
                    raise
                if is_made():
                    return
                if not isinstance(error, CommitFailedError):
                    raise MsmqWireError(f"cannot write {self.place.url}: {line_of(error)}") from error
            time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
            pause = min(pause * 2, _LONGEST)
        raise MsmqWireError(f"cannot write {self.place.url}: other runs were faster {_ATTEMPTS} times")

    def _append(
        self, table: str, change: Change, write: Callable[[DeltaTable, CommitProperties], None]
    ) -> None:
        def is_made() -> bool:
            return (open_table(self.place, table).transaction_version(change.run) or 0) >= change.number

        def commit() -> None:
            stands = self.table(table)
            self._widen(stands, table)
            if (stands.transaction_version(change.run) or 0) < change.number:
                write(stands, _numbered(change.run, change.number))

        self._until(commit, is_made)

    def _append_files(self, table: str, change: Change) -> None:
        files = [file for file in change.files if file.table == table]
        if not files:
            self.table(table)
            return
        now = time.time_ns() // 1_000_000
        actions = [
            AddAction(file.path, file.size, {DAY: file.day}, now, True, file.statistics) for file in files
        ]

        def write(stands: DeltaTable, numbered: CommitProperties) -> None:
            stands.create_write_transaction(
                actions, "append", delta_schema(table), partition_by=[DAY], commit_properties=numbered
            )

        self._append(table, change, write)

    def _append_rows(self, table: str, rows: Any, change: Change) -> None:
        def write(stands: DeltaTable, numbered: CommitProperties) -> None:
            write_deltalake(stands, rows, mode="append", commit_properties=numbered)

        self._append(table, change, write)

    def add_run(self, row: Mapping[str, Any]) -> None:
        """Add a row to ``runs``."""
        rows = pa.Table.from_pylist([row], schema=delta_schema("runs"))
        self._append_rows("runs", rows, Change(run=row["name"], number=1))

    def forget(self, choose: Callable[[Snapshot], Collection[str]]) -> frozenset[str]:
        """Take captures out of all tables, those that ``choose`` names; return them.

        They count no more before the first of their rows goes. Raises MsmqWireError.
        """
        names: frozenset[str] = frozenset()
        written: dict[str, set[str]] = {}

        def commit() -> None:
            nonlocal names, written
            snapshot = self.snapshot()
            names = names or frozenset(choose(snapshot))
            # Only what is there before they go: a run may be adding one of them anew.
            written = {table: self._runs_of(snapshot, table, names) for table in self.written() if names}
            there = set(snapshot.held().column("capture").to_pylist()) & names
            if there:
                numbered = _numbered(_LISTS, _next(snapshot))
                snapshot.captures.delete(_one_of("capture", there), commit_properties=numbered)

        def is_made() -> bool:
            return names.isdisjoint(self.snapshot().held().column("capture").to_pylist())

        self._until(commit, is_made)
        for table, runs in written.items():
            if runs:
                self.delete(table, f"{_one_of('capture', names)} AND {_one_of('run', runs)}")
        return names

    def _runs_of(self, snapshot: Snapshot, table: str, names: Collection[str]) -> set[str]:
        """The runs that wrote rows of captures, whether these count or not."""
        found = snapshot.everything(table, holding=sorted(names))
        if found is None:
            return set()
        with reading(self.place):
            runs = found.to_table(columns=["run"], filter=among("capture", sorted(names)))
        return set(pc.unique(runs.column("run")).to_pylist())

    def delete(self, table: str, predicate: str) -> None:
        """Delete rows of a table, for good once a vacuum has deleted the files that had them."""

        def commit() -> None:
            open_table(self.place, table).delete(predicate)

        self._until(commit, lambda: False)

    def written(self) -> list[str]:
        """The tables that have the runs of their rows, as far as they are there."""
        with reading(self.place):
            return [table for table in (*TABLES, "sources") if is_table(self.place, table)]

    def _tidy(self) -> None:
        """Put the files of ``captures`` and of ``sources`` together where they are many."""
        for table in (_CAPTURES, "sources"):
            try:
                stands = open_table(self.place, table)
                if len(stands.file_uris()) >= _MANY:
                    stands.optimize.compact(max_concurrent_tasks=1)
            except CommitFailedError:
                # Who was faster, or the next, does it.
                continue

    def vacuum(self, hours: int, *, dry: bool) -> dict[str, int]:
        """Delete files that no version of the last ``hours`` has. Returns their bytes by path.

        Of the logs goes what is older than 30 days. A run that began longer ago loses what it has not
        committed. Raises MsmqWireError where files cannot be deleted.
        """
        self.snapshot()
        found: dict[str, int] = {}
        for table in (*self.written(), _CAPTURES, "runs"):
            if not is_table(self.place, table):
                continue
            try:
                stands, place = open_table(self.place, table), self.place.join(table)
                gone = stands.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
                start = len(place.path) + 1
                sizes = {one.path[start:]: one.size for one in place.list(recursive=True)}
                # Deleted here, and only what a writer of these tables made: deltalake deletes what a log names.
                there = [
                    path
                    for path in gone
                    if path in sizes and FILE_PATH.fullmatch(path.removeprefix(_CHANGES))
                ]
                if not dry:
                    with ThreadPoolExecutor(_AT_ONCE) as pool:
                        list(pool.map(lambda path, place=place: place.join(*path.split("/")).delete(), there))
                    stands.cleanup_metadata()
            except BaseException as error:
                if isinstance(error, MsmqWireError) or not is_of_tables(error):
                    raise
                raise MsmqWireError(f"cannot clean {self.place.url}: {line_of(error)}") from error
            found |= {f"{table}/{path}": sizes[path] for path in there}
        return found

    def table(self, table: str) -> DeltaTable:
        """A table as it is now; it is made where it is not there."""
        if not is_table(self.place, table):
            self._create(table)
        return open_table(self.place, table)

    def _create(self, table: str) -> None:
        place, schema = self.place.join(table), delta_schema(table)
        bounded = [name for name in BOUNDED if name in schema.names]
        properties = {
            "delta.checkpointInterval": "50",
            "delta.enableChangeDataFeed": "true",
            # Of every run one number is in the log: that of a run that has ended is for nobody.
            "delta.setTransactionRetentionDuration": "interval 30 days",
        }
        if bounded:
            # Of a column without bounds deltalake's dataset for pyarrow thinks that it has no value at all.
            properties["delta.dataSkippingStatsColumns"] = ",".join(bounded)
        try:
            place.make_folder()
            DeltaTable.create(
                place.table_url,
                schema=schema,
                partition_by=[DAY] if table in TABLES else [],
                description=LAYOUT,
                configuration=properties,
                storage_options=place.storage_options,
            )
        except BaseException as error:
            # Another run may have made it meanwhile.
            if not is_of_tables(error):
                raise
            if not is_table(self.place, table):
                raise MsmqWireError(f"cannot write {self.place.url}: {line_of(error)}") from error

    def _widen(self, stands: DeltaTable, table: str) -> None:
        """Add the columns that a table lacks. Raises MsmqWireError where it has others than are written."""
        schema = delta_schema(table)
        try:
            lacks = _lacks(pa.struct(pa.schema(stands.schema().to_arrow())), pa.struct(schema))
        except TypeError as error:
            raise MsmqWireError(
                f"{self.place.url}: the table {table} is of another version of msmq-wire: {error}"
            ) from None
        if lacks:
            write_deltalake(stands, schema.empty_table(), mode="append", schema_mode="merge")


def _numbered(who: str, number: int) -> CommitProperties:
    """A commit that the log has once: another with this number, or at the same time, fails."""
    return CommitProperties(app_transactions=[Transaction(who, number)])


def _next(snapshot: Snapshot) -> int:
    return int(snapshot.captures.transaction_version(_LISTS) or 0) + 1


def _one_of(column: str, values: Iterable[str]) -> str:
    """The condition of SQL that a column has one of some values."""
    quoted = ("'" + value.replace("'", "''") + "'" for value in sorted(values))
    return f"{column} IN ({', '.join(quoted)})"


def _lacks(has: Any, wanted: Any) -> bool:
    """Whether a type has fewer members than ``wanted``. Raises TypeError where one is of another type."""
    if pa.types.is_list(wanted) and pa.types.is_list(has):
        return _lacks(has.value_type, wanted.value_type)
    if not (pa.types.is_struct(wanted) and pa.types.is_struct(has)):
        if pa.types.is_map(wanted) != pa.types.is_map(has) or (not pa.types.is_map(has) and has != wanted):
            raise TypeError(f"it has {has} where this version writes {wanted}")
        return False
    members = {one.name: one.type for one in has}
    return any(one.name not in members or _lacks(members[one.name], one.type) for one in wanted)
