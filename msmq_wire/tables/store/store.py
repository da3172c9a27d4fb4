"""The store: Delta tables below one place, and which version of each of them counts.

The rule kept here: a version of a table counts only when the table ``captures`` names it. The commit on
``captures`` comes last and says with its rows at which versions the other tables hold all of them, so whoever
goes through a `Snapshot` sees captures whole or not at all. Who publishes builds on the versions that are
named; what stands above them is of somebody who died, or who will find that another commit was faster. There
is no lock: of two commits on ``captures`` one wins, and the other begins again.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from msmq_wire.capture.places import place_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store.snapshot import (
    Snapshot,
    StoredFile,
    among,
    is_table,
    line_of,
    log_file,
    open_table,
    reading,
)
from msmq_wire.tables.store.table_files import FILE_PATH, TableWriter, WrittenFile
from msmq_wire.tables.store.table_folders import check_folders
from msmq_wire.tables.table_schemas import BOOKS, DAY, TABLES, delta_schema, file_schema

_ATTEMPTS = 40
_PAUSE = 0.05
"""Seconds that who lost a commit waits at first; they grow with every attempt, up to `_LONGEST`."""
_LONGEST = 2.0
_SMALL = 8 << 20
_MANY = 32
"""So many small files of ``captures`` or ``sources`` become one when a row is added."""
_AT_ONCE = 8
"""Files that are deleted at once."""
_PROPERTIES = {
    "delta.checkpointInterval": "50",
    # A commit that captures never named must not take away the log of the version that it names.
    "delta.enableExpiredLogCleanup": "false",
    # Of a column without bounds deltalake's dataset for pyarrow thinks that it has no value at all.
    "delta.dataSkippingStatsColumns": "capture",
}
_CAPTURES = "captures"
_MARK = "msmq-wire.publish"


class Change(msgspec.Struct, kw_only=True):
    """What a commit of all tables does: files to add, rows of captures to take away, rows of books to add.

    ``tables`` are to be there, with rows or without. ``gone`` are captures whose rows go, ``forgotten`` those
    whose files are not known any more, either. Rows of captures ``without`` are left out of ``files``.
    ``merged`` are files that others of ``files`` replace, by table.
    """

    files: Sequence[WrittenFile] = ()
    without: frozenset[str] = frozenset()
    tables: Sequence[str] = ()
    gone: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()
    books: Mapping[str, Sequence[Mapping[str, Any]]] = {}
    merged: Mapping[str, frozenset[str]] = {}


Make: TypeAlias = Callable[[Snapshot], Change | None]


class Store:
    """The tables below ``output``, a folder or the URL of one.

    Raises MsmqWireError where tables cannot be there or read, for those of a version before there was a log,
    and for folders with links.
    """

    def __init__(self, output: str) -> None:
        self.place = place_of(output)
        self._name = output
        self.place.join(_CAPTURES).table_url  # noqa: B018  (raises for a name that no table can have)
        self._is_checked = False
        with reading(self.place):
            check_folders(self.place)
            older = self.place.join(_CAPTURES).list()
        if any(one.path.endswith(".json") for one in older) and not self.exists:
            raise MsmqWireError(
                f"{output} holds tables of an older msmq-wire, which have no log: "
                "decode the captures into another folder"
            )

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
            for table in (_CAPTURES, *found.versions, "runs"):
                found.files(table)
            self._is_checked = True
        return found

    def publish(self, make: Make) -> Snapshot:
        """Do what ``make`` says to a snapshot; ask it again where another commit was faster.

        Returns what counts then. Raises MsmqWireError where it cannot be written.
        """
        pause, mark = _PAUSE, secrets.token_hex(8)
        for _ in range(_ATTEMPTS):
            snapshot = self.snapshot()
            change = make(snapshot)
            if change is None:
                return snapshot
            try:
                self._publish(snapshot, change, mark)
                return self.snapshot()
            except CommitFailedError:
                if self._is_made(mark, int(snapshot.captures.version()) + 1):
                    return self.snapshot()
                time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
                pause = min(pause * 2, _LONGEST)
            except (DeltaError, OSError) as error:
                raise MsmqWireError(f"cannot write {self.place.url}: {line_of(error)}") from error
        raise MsmqWireError(f"cannot write {self.place.url}: other runs were faster {_ATTEMPTS} times")

    def _is_made(self, mark: str, version: int) -> bool:
        """Whether ``captures`` has the commit with this mark as its version: only the answer was lost."""
        commit = log_file(self.place, _CAPTURES, version)
        if not commit.exists():
            return False
        with commit.open_input() as file:
            return mark.encode() in file.read()

    def _publish(self, snapshot: Snapshot, change: Change, mark: str) -> None:
        self._widen(snapshot.captures, _CAPTURES)
        lacking = set(change.tables) - snapshot.versions.keys()
        touched = {file.table for file in change.files} | {*change.books, *change.merged, *lacking}
        if change.gone:
            touched |= snapshot.versions.keys()
        named = [
            Transaction(table, self._commit(snapshot, table, change))
            for table in sorted(touched - {_CAPTURES})
        ]
        actions = self._actions(snapshot, _CAPTURES, change)
        self._write(snapshot.captures, _CAPTURES, actions, _once(named, mark))

    def _commit(self, snapshot: Snapshot, table: str, change: Change) -> int:
        """Commit what is to be done to one table; return the version that has it and nothing else."""
        named = snapshot.versions.get(table)
        if named is None and not is_table(self.place, table):
            self._create(table)
        stands = open_table(self.place, table)
        if stands.version() != (named or 0):
            # Somebody died before captures named it, or is not there yet.
            stands.restore(named or 0, commit_properties=_once())
        self._widen(stands, table)
        actions = self._actions(snapshot, table, change)
        if not actions:
            return int(stands.version())
        self._write(stands, table, actions, _once())
        return int(stands.version()) + 1

    def _write(
        self, stands: DeltaTable, table: str, actions: list[Any], properties: CommitProperties
    ) -> None:
        stands.create_write_transaction(
            actions,
            mode="append",
            schema=delta_schema(table),
            partition_by=[DAY] if table in TABLES else [],
            commit_properties=properties,
        )

    def _actions(self, snapshot: Snapshot, table: str, change: Change) -> list[Any]:
        """Files to add to a table and to remove from it; shared files are written anew without what goes."""
        files = [file for file in change.files if file.table == table]
        out = set(change.merged.get(table, ()))
        rows = change.books.get(table, ())
        going = change.forgotten if table == "sources" else change.gone
        gone = sorted(going)
        stands = snapshot.files(table) if gone or out or table in BOOKS else []
        rewritten = [file for file in stands if file.path not in out and file.may_hold(gone)] if gone else []
        if rows and table in BOOKS:
            small = [file for file in stands if file.size < _SMALL]
            rewritten += [one for one in small if one not in rewritten] if len(small) >= _MANY else []
        left_out = []
        if change.without:
            left_out = [StoredFile(one.path, one.size, one.rows, one.day, "", "") for one in files]
            files = []
        if rewritten or rows or left_out:
            with TableWriter(self.place, (table,), partitioned=table in TABLES) as writer:
                for some, without in ((rewritten, going), (left_out, change.without)):
                    for file in some:
                        for batch in self.batches(table, file, without=without):
                            writer.write(table, batch, file.partition)
                if rows:
                    writer.write(table, pa.RecordBatch.from_pylist(list(rows), schema=file_schema(table)))
            files += writer.files
        out |= {file.path for file in rewritten}
        now = time.time_ns() // 1_000_000
        days = {file.path: file.day for file in stands}
        removed = [
            RemoveAction(path, True, now, None, {DAY: days[path]} if table in TABLES else {})
            for path in sorted(out)
        ]
        return [*removed, *(_added(file, now) for file in files)]

    def batches(
        self, table: str, file: StoredFile, *, without: frozenset[str] = frozenset()
    ) -> Iterator[Any]:
        """The rows of a file, as the schema of its table has them now; those of some captures left out."""
        schema = file_schema(table)
        place = self.place.join(table, *file.path.split("/"))
        wanted = ~among("capture", sorted(without)) if without else None
        with reading(self.place), place.open_input() as opened:
            source = ds.ParquetFileFormat().make_fragment(opened)
            for batch in source.to_batches(schema, filter=wanted, batch_size=1 << 13, batch_readahead=1):
                if len(batch):
                    yield batch

    def vacuum(self, hours: int, *, dry: bool) -> dict[str, int]:
        """Delete files that no version of the last ``hours`` has, and no named one.

        Returns their bytes by path. Of the logs goes what is older than 30 days and not needed for what is
        named. A run that began longer ago loses what it has not committed. Raises MsmqWireError where files
        cannot be deleted.
        """
        try:
            return self._vacuum(hours, dry=dry)
        except (DeltaError, OSError) as error:
            raise MsmqWireError(f"cannot clean {self.place.url}: {line_of(error)}") from error

    def _vacuum(self, hours: int, *, dry: bool) -> dict[str, int]:
        snapshot = self.snapshot()
        found: dict[str, int] = {}
        for table in (_CAPTURES, *snapshot.versions, *self._unnamed(snapshot)):
            stands = open_table(self.place, table)
            named = snapshot.version if table == _CAPTURES else snapshot.versions.get(table)
            gone = stands.vacuum(
                hours,
                dry_run=True,
                enforce_retention_duration=False,
                full=True,
                keep_versions=None if named is None else [named],
            )
            place = self.place.join(table)
            start = len(place.path) + 1
            sizes = {one.path[start:]: one.size for one in place.list(recursive=True)}
            # Deleted here, and only what a writer of these tables made: deltalake deletes what a log names.
            there = [path for path in gone if path in sizes and FILE_PATH.fullmatch(path)]
            if not dry:
                with ThreadPoolExecutor(_AT_ONCE) as pool:
                    list(pool.map(lambda path, place=place: place.join(*path.split("/")).delete(), there))
            found |= {f"{table}/{path}": sizes[path] for path in there}
            if named is not None and not dry:
                open_table(self.place, table, named).cleanup_metadata()
        return found

    def _unnamed(self, snapshot: Snapshot) -> list[str]:
        return [
            table
            for table in (*TABLES, *BOOKS[1:])
            if table not in snapshot.versions and is_table(self.place, table)
        ]

    def append(self, table: str, row: Mapping[str, Any]) -> None:
        """Add a row to a table that stands by itself: ``runs``."""
        if not is_table(self.place, table):
            self._create(table)
        rows = pa.Table.from_pylist([row], schema=delta_schema(table))
        try:
            write_deltalake(open_table(self.place, table), rows, mode="append", schema_mode="merge")
        except (DeltaError, OSError) as error:
            raise MsmqWireError(f"cannot write {self.place.url}: {line_of(error)}") from error

    def compact_runs(self, target: int) -> None:
        """Put small files of ``runs`` together, which no version of ``captures`` names."""
        if not is_table(self.place, "runs"):
            return
        try:
            # First: a run that ends meanwhile makes the commit fail.
            stands = open_table(self.place, "runs")
            self._widen(stands, "runs")
            snapshot = self.snapshot()
            small = [file for file in snapshot.files("runs") if file.size < target // 2]
            if len(small) < 2:
                return
            with TableWriter(self.place, ("runs",), partitioned=False, size=target) as writer:
                for file in small:
                    for batch in self.batches("runs", file):
                        writer.write("runs", batch)
            merged = {"runs": frozenset(file.path for file in small)}
            actions = self._actions(snapshot, "runs", Change(files=writer.files, merged=merged))
            self._write(stands, "runs", actions, _once())
        except CommitFailedError:
            # The next compaction finds them.
            return
        except (DeltaError, OSError) as error:
            raise MsmqWireError(f"cannot write {self.place.url}: {line_of(error)}") from error

    def _create(self, table: str) -> None:
        place = self.place.join(table)
        try:
            place.make_folder()
            DeltaTable.create(
                place.table_url,
                schema=delta_schema(table),
                partition_by=[DAY] if table in TABLES else [],
                configuration=_PROPERTIES if table != "runs" else {},
                storage_options=place.storage_options,
            )
        except (DeltaError, OSError) as error:
            # Another run may have made it meanwhile.
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
            empty = schema.empty_table()
            write_deltalake(stands, empty, mode="append", schema_mode="merge", commit_properties=_once())


def _once(named: Iterable[Transaction] = (), mark: str = "") -> CommitProperties:
    """A commit on the version that was read and no other: the next one, or none."""
    metadata = {_MARK: mark} if mark else None
    return CommitProperties(metadata, max_commit_retries=0, app_transactions=list(named) or None)


def _added(file: WrittenFile, now: int) -> AddAction:
    bounds = {"numRecords": file.rows, "nullCount": {}}
    if file.first is not None:
        bounds |= {"minValues": {"capture": file.first}, "maxValues": {"capture": file.last}}
    day = {DAY: file.day} if file.table in TABLES else {}
    return AddAction(file.path, file.size, day, now, True, json.dumps(bounds))


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
