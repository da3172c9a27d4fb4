"""The store: Delta tables below one place, and how captures come into them and go.

The rule kept here: a row counts if ``captures`` has its capture with its run. First each other table is
given the files of a run, then one commit on ``captures`` makes them count, and what they replace counts no
more. There is no lock: each commit has a number of its own in the log (``txn``), so none is made twice, and
of two commits on ``captures`` one fails, and is made again if its captures are as they were.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from msmq_wire.capture.places import place_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store.snapshot import (
    Snapshot,
    StoredFile,
    among,
    is_table,
    of_another_version,
    open_table,
    reading,
)
from msmq_wire.tables.store.table_files import FILE_PATH, WrittenFile
from msmq_wire.tables.store.table_folders import check_folders
from msmq_wire.tables.table_schemas import BOOKS, BOUNDED, DAY, LAYOUT, TABLES, delta_schema, file_schema

_ATTEMPTS = 40
_PAUSE = 0.05
"""Seconds that who lost a commit waits at first; they grow with every attempt, up to `_LONGEST`."""
_LONGEST = 2.0
_AT_ONCE = 8
"""Files that are deleted at once."""
_PROPERTIES = {
    "delta.checkpointInterval": "50",
    "delta.enableChangeDataFeed": "true",
    # The log has a number of each run: that of a run that has ended is for nobody.
    "delta.setTransactionRetentionDuration": "interval 30 days",
}
_CAPTURES = "captures"
_LISTS = "msmq-wire"
"""Who commits on ``captures`` in the log: everybody, so that of two at once one fails."""
_CHANGES = "_change_data/"
"""Where deltalake keeps the rows that it took away, for who follows the changes of a table."""


class Change(msgspec.Struct, kw_only=True):
    """What a run adds: files, rows of ``sources``, and rows of ``captures``, which make it count.

    ``number`` grows with each change of the run. ``tables`` are to be there, with rows or without. ``gone``
    are captures that count no more beside those that have a new row.
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

    Raises MsmqWireError where tables cannot be there, read or written, for those of another version of
    msmq-wire, and for folders with links.
    """

    def __init__(self, output: str) -> None:
        self.place = place_of(output)
        self._name = output
        self.place.join(_CAPTURES).table_url  # noqa: B018  (raises for a name that no table can have)
        self._is_checked = False
        with reading(self.place):
            check_folders(self.place)
            # Those before there was a log.
            without_log = any(one.path.endswith(".json") for one in self.place.join(_CAPTURES).list())
        if without_log and not self.exists:
            raise of_another_version(self.place)

    @property
    def exists(self) -> bool:
        """Whether there are tables."""
        with reading(self.place):
            return is_table(self.place, _CAPTURES)

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

    def written(self) -> list[str]:
        """The tables that are there and have the runs of their rows."""
        with reading(self.place):
            return [table for table in (*TABLES, "sources") if is_table(self.place, table)]

    def make(self, table: str = _CAPTURES) -> None:
        """Make a table where it is not there."""
        if is_table(self.place, table):
            return
        place, schema = self.place.join(table), delta_schema(table)
        bounded = ",".join(name for name in BOUNDED if name in schema.names)
        # Of a column without bounds deltalake's dataset for pyarrow thinks that it has no value at all.
        properties = _PROPERTIES | ({"delta.dataSkippingStatsColumns": bounded} if bounded else {})
        try:
            with reading(self.place, "write"):
                place.make_folder()
                DeltaTable.create(
                    place.table_url,
                    # deltalake 1.6 loses the bounds of columns behind the first struct.
                    schema=pa.schema(sorted(schema, key=lambda one: pa.types.is_nested(one.type))),
                    partition_by=[DAY] if table in TABLES else [],
                    description=LAYOUT,
                    configuration=properties,
                    storage_options=place.storage_options,
                )
        except MsmqWireError:
            # Another run may have made it meanwhile.
            if not is_table(self.place, table):
                raise

    def publish(
        self, change: Change, late: Callable[[Snapshot], Collection[str]] = lambda snapshot: ()
    ) -> frozenset[str]:
        """Add what a run has done; return the captures that do not count, because ``late`` named them.

        ``late`` is asked before each attempt to commit on ``captures``.
        """
        for table in sorted({*change.tables, *(file.table for file in change.files)}):
            self._append(table, change, [file for file in change.files if file.table == table])
        if change.sources:
            self._append("sources", change, change.sources)
        dropped: frozenset[str] = frozenset()

        def commit() -> None:
            nonlocal dropped
            snapshot = self.snapshot()
            dropped = frozenset(late(snapshot))
            rows = [row for row in change.captures if row["capture"] not in dropped]
            names = {row["capture"] for row in rows} | change.gone
            if not rows:
                return
            self._widen(snapshot.captures, _CAPTURES)
            made, once = pa.Table.from_pylist(rows, schema=delta_schema(_CAPTURES)), _next(snapshot)
            if len(snapshot.rows(_CAPTURES, ["capture"], among("capture", names))):
                before = one_of("capture", names)
                write_deltalake(
                    snapshot.captures, made, mode="overwrite", predicate=before, commit_properties=once
                )
            else:
                write_deltalake(snapshot.captures, made, mode="append", commit_properties=once)

        def is_made() -> bool:
            there = set(map(tuple, (row.values() for row in self.snapshot().held().to_pylist())))
            return all(
                (row["capture"], row["run"]) in there or row["capture"] in dropped for row in change.captures
            )

        if change.captures:
            self._until(commit, is_made)
        return dropped

    def add_run(self, row: Mapping[str, Any]) -> None:
        """Add a row to ``runs``."""
        self._append("runs", Change(run=row["name"], number=1), [row])

    def _append(self, table: str, change: Change, what: Sequence[Any]) -> None:
        """Add files, or rows of a book, to a table, once."""

        def is_made() -> bool:
            return (open_table(self.place, table).transaction_version(change.run) or 0) >= change.number

        def commit() -> None:
            self.make(table)
            stands = open_table(self.place, table)
            self._widen(stands, table)
            if not what or is_made():
                return
            schema, once = delta_schema(table), _numbered(change.run, change.number)
            if table in BOOKS:
                rows = pa.Table.from_pylist(list(what), schema=schema)
                write_deltalake(stands, rows, mode="append", commit_properties=once)
            else:
                files: list[Any] = list(map(_added, what))
                stands.create_write_transaction(
                    files, "append", schema, partition_by=[DAY], commit_properties=once
                )

        self._until(commit, is_made)

    def _until(self, commit: Callable[[], None], is_made: Callable[[], bool]) -> None:
        """Commit; again where another commit was faster, and no more where only the answer was lost."""
        pause = _PAUSE
        for _ in range(_ATTEMPTS):
            try:
                with reading(self.place, "write"):
                    commit()
                return
            except MsmqWireError as error:
                if error.__cause__ is None:
                    raise
                with contextlib.suppress(MsmqWireError), reading(self.place):
                    if is_made():
                        return
                if not isinstance(error.__cause__, CommitFailedError):
                    raise
            time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
            pause = min(pause * 2, _LONGEST)
        raise MsmqWireError(f"cannot write {self.place.url}: other runs were faster {_ATTEMPTS} times")

    def forget(self, choose: Callable[[Snapshot], Collection[str]]) -> list[str]:
        """Take captures out of all tables, those that ``choose`` names; return them.

        They count no more before the first of their rows goes.
        """
        names: list[str] = []
        written: dict[str, list[str]] = {}

        def commit() -> None:
            nonlocal names, written
            snapshot = self.snapshot()
            names = names or sorted(choose(snapshot))
            # Only what is there before they go: a run may be adding one of them anew.
            written = {table: snapshot.runs_of(table, names) for table in self.written()}
            if names:
                self._delete(snapshot.captures, _CAPTURES, one_of("capture", names), _next(snapshot))

        def is_made() -> bool:
            return not len(self.snapshot().rows(_CAPTURES, ["capture"], among("capture", names)))

        self._until(commit, is_made)
        for table, runs in written.items():
            if runs:
                self.delete(table, f"{one_of('capture', names)} AND {one_of('run', runs)}")
        return names

    def delete(self, table: str, predicate: str) -> None:
        """Delete rows of a table; a vacuum deletes the files that had them."""

        def commit() -> None:
            self._delete(open_table(self.place, table), table, predicate)

        self._until(commit, lambda: False)

    def _delete(
        self, stands: DeltaTable, table: str, predicate: str, once: CommitProperties | None = None
    ) -> None:
        # In files that `DeltaTable.delete` writes texts are views, and pyarrow does not compare them.
        nothing = delta_schema(table).empty_table()
        write_deltalake(stands, nothing, mode="overwrite", predicate=predicate, commit_properties=once)

    def batches(self, table: str, file: StoredFile) -> Iterator[Any]:
        """The rows of a file, as the schema of its table has them now."""
        place, schema = self.place.join(table, *file.path.split("/")), file_schema(table)
        with reading(self.place), place.open_input() as opened:
            source = ds.ParquetFileFormat().make_fragment(opened)
            yield from source.to_batches(schema, batch_size=1 << 13, batch_readahead=1)

    def replace(self, table: str, old: Sequence[StoredFile], new: WrittenFile) -> bool:
        """Put a file with the same rows in the place of others; False where one of them is there no more."""
        now, days = time.time_ns() // 1_000_000, table in TABLES
        removed = [
            RemoveAction(one.path, False, now, one.size, {DAY: one.day} if days else {}) for one in old
        ]
        actions: list[Any] = [*removed, _added(new, is_new=False)]

        def paths() -> set[str]:
            opened = open_table(self.place, table)
            return set(pa.table(opened.get_add_actions()).column("path").to_pylist())

        def commit() -> None:
            stands = open_table(self.place, table)
            # Of two at once, which may take away the same files, one must fail and look again.
            if {one.path for one in old} <= paths():
                stands.create_write_transaction(
                    actions,
                    "append",
                    delta_schema(table),
                    partition_by=[DAY] if days else [],
                    commit_properties=CommitProperties(max_commit_retries=0),
                )

        def is_made() -> bool:
            return new.path in paths()

        self._until(commit, is_made)
        return is_made()

    def vacuum(self, hours: int, *, dry: bool) -> dict[str, int]:
        """Delete files that no version of the last ``hours`` has. Returns their bytes by path.

        Of the logs goes what is older than 30 days. A run that began longer ago loses what it has not
        committed.
        """
        self.snapshot()
        found: dict[str, int] = {}
        with reading(self.place, "clean"):
            for table in (one for one in (*TABLES, *BOOKS) if is_table(self.place, one)):
                stands, place = open_table(self.place, table), self.place.join(table)
                gone = stands.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
                start = len(place.path) + 1
                sizes = {one.path[start:]: one.size for one in place.list(recursive=True)}
                # Deleted here, and only what a writer of tables made: deltalake deletes what a log names.
                ours = (path for path in gone if FILE_PATH.fullmatch(path.removeprefix(_CHANGES)))
                paths = [path for path in ours if path in sizes]
                found |= {f"{table}/{path}": sizes[path] for path in paths}
                if not dry:
                    with ThreadPoolExecutor(_AT_ONCE) as pool:
                        list(pool.map(lambda path, place=place: place.join(*path.split("/")).delete(), paths))
                    stands.cleanup_metadata()
        return found

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


def _added(file: WrittenFile, *, is_new: bool = True) -> AddAction:
    now, day = time.time_ns() // 1_000_000, {DAY: file.day} if file.table in TABLES else {}
    return AddAction(file.path, file.size, day, now, is_new, file.statistics)


def _numbered(who: str, number: int) -> CommitProperties:
    """A commit that the log has once: another with this number, or at the same time, fails."""
    return CommitProperties(app_transactions=[Transaction(who, number)])


def _next(snapshot: Snapshot) -> CommitProperties:
    return _numbered(_LISTS, int(snapshot.captures.transaction_version(_LISTS) or 0) + 1)


def one_of(column: str, values: Iterable[str]) -> str:
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
