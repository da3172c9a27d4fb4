"""What counts of the tables below one place: their versions, files and rows.

The rule kept here: the last commit of the table ``captures`` says at which versions the others hold all that
it lists, so whoever goes through a `Snapshot` sees captures whole or not at all.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Annotated, Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.fs as pafs  # type: ignore[import-untyped]  # it has no stubs
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from msmq_wire.capture.places import Place
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store.table_files import FILE_PATH
from msmq_wire.tables.store.table_folders import LOG, brief, check_log, damaged
from msmq_wire.tables.table_schemas import DAY, TABLES, delta_schema

_CAPTURES = "captures"
_READS = 40
"""How often rows are asked for in an object store."""
_READER = 1
"""The version of the Delta protocol that a reader needs: 2 renames columns, 3 leaves rows out."""
_SAID = 110
"""Characters of the error of a library that are shown."""
_Count = Annotated[int, msgspec.Meta(ge=0)]


class StoredFile(msgspec.Struct, frozen=True):
    """A file of a version of a table: path below the table, bytes, rows, and the captures it may hold."""

    path: str
    size: _Count
    rows: _Count
    day: str | None
    first: str
    last: str

    @property
    def partition(self) -> str | None:
        """The partition that its folder names; None in a table without."""
        return self.path.split("/")[0].removeprefix(f"{DAY}=") if "/" in self.path else None

    def may_hold(self, names: Sequence[str]) -> bool:
        """Whether rows of one of the captures ``names``, which are sorted, may be in it."""
        at = bisect_left(names, self.first)
        return at < len(names) and names[at] <= self.last


class Snapshot:
    """The tables as they were when all captures that ``captures`` lists were whole in them.

    ``versions`` are those of the other tables, by name: a table that is not there has no row yet.
    """

    def __init__(self, place: Place, captures: DeltaTable) -> None:
        self.place = place
        self.captures = captures
        self.version = captures.version()
        self._files: dict[str, list[StoredFile]] = {}
        with reading(place):
            found = {name: captures.transaction_version(name) for name in (*TABLES, "sources")}
        self.versions: Mapping[str, int] = {name: one for name, one in found.items() if one is not None}

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables of rows, in their order."""
        return tuple(table for table in TABLES if table in self.versions)

    def table(self, name: str) -> DeltaTable | None:
        """A table at the version that counts; None where it has no row yet."""
        if name == _CAPTURES:
            return self.captures
        with reading(self.place):
            if name == "runs":
                return open_table(self.place, name) if is_table(self.place, name) else None
            version = self.versions.get(name)
            return None if version is None else open_table(self.place, name, version)

    def latest(self, name: str) -> int:
        """The last version of a table, be it above the one that counts; -1 where it is not there."""
        with reading(self.place):
            return int(open_table(self.place, name).version()) if is_table(self.place, name) else -1

    def files(self, name: str) -> list[StoredFile]:
        """The files of a table."""
        if name not in self._files:
            self._files[name] = self._listed(name)
        return self._files[name]

    def _listed(self, name: str) -> list[StoredFile]:
        table = self.table(name)
        if table is None:
            return []
        with reading(self.place):
            found = pa.table(table.get_add_actions(flatten=True)).to_pylist()
        return [self._stored(name, one) for one in found]

    def _stored(self, name: str, action: Mapping[str, Any]) -> StoredFile:
        """The file that an action of a log adds: the one place where what it says is taken or refused."""
        path, day = action["path"], action.get(f"partition.{DAY}")
        if FILE_PATH.fullmatch(path) is None:
            raise damaged(self.place, f"the log of {name} names {brief(path)}, which is no file of a table")
        values = {
            "path": path,
            "size": action["size_bytes"],
            "rows": action["num_records"] or 0,
            "day": day.isoformat() if isinstance(day, date) else day,
            # What a file has no bounds of may be in it.
            "first": action.get("min.capture") or "",
            "last": action.get("max.capture") or "\U0010ffff",
        }
        try:
            if day is not None:
                date.fromisoformat(values["day"])
            return msgspec.convert(values, StoredFile)
        except (TypeError, ValueError) as error:
            raise damaged(self.place, f"the log of {name} says of {brief(path)}: {error}") from None

    def dataset(self, name: str, *, holding: Sequence[str] | None = None) -> Any:
        """A table as a pyarrow dataset with all columns; None where it has no row yet.

        With ``holding`` only the files that may hold rows of these captures, which are sorted.
        """
        files = self.files(name)
        if not files:
            return None
        if holding is not None:
            files = [one for one in files if one.may_hold(holding)]
        place = self.place.join(name)
        days = None
        if name in TABLES:
            day = ds.field(DAY)
            days = [day.is_null() if one.day is None else day == date.fromisoformat(one.day) for one in files]
        return ds.FileSystemDataset.from_paths(
            [one.path for one in files],
            schema=delta_schema(name),
            format=ds.ParquetFileFormat(),
            filesystem=pafs.SubTreeFileSystem(place.path, place.filesystem()),
            partitions=days,
        )

    def rows(self, name: str, columns: Sequence[str], wanted: Any = None) -> Any:
        """Columns of a table, of the rows that a pyarrow expression wants."""
        found = self.dataset(name)
        if found is None:
            schema = delta_schema(name)
            return pa.table({one: pa.array([], schema.field(one).type) for one in columns})
        for _ in range(0 if self.place.is_local else _READS):
            # Of few bytes pyarrow reads an object store's error as their end, and does not ask again.
            with contextlib.suppress(OSError):
                return found.to_table(columns=list(columns), filter=wanted)
        with reading(self.place):
            return found.to_table(columns=list(columns), filter=wanted)


def among(name: str, values: Iterable[Any]) -> Any:
    """What wants the rows whose column ``name`` has one of some values."""
    kind = pa.binary() if name == "key" else pa.string()
    return ds.field(name).isin(pa.array(values, kind))


def open_table(place: Place, table: str, version: int | None = None) -> DeltaTable:
    """A table below ``place`` at a version, or at its last one. Raises MsmqWireError for what is not ours."""
    latest = check_log(place, table)
    if version is not None and version > latest >= 0:
        raise damaged(place, f"{table} is wanted at version {version}, and its log ends at {latest}")
    inside = place.join(table)
    try:
        found = DeltaTable(inside.table_url, version=version, storage_options=inside.storage_options)
    except OverflowError:
        raise damaged(place, f"the log of {table} names a version that cannot be") from None
    needed = found.protocol().min_reader_version
    if needed > _READER:
        raise damaged(place, f"the log of {table} needs reader version {needed} of Delta, not {_READER}")
    return found


def is_table(place: Place, table: str) -> bool:
    """Whether there is a table, and not only the folder of one whose maker died before its first commit."""
    # That commit goes where there are checkpoints.
    names = (log_file(place, table, 0), place.join(table, LOG, "_last_checkpoint"))
    return any(name.exists() for name in names)


def log_file(place: Place, table: str, version: int) -> Place:
    """Where the log of a table has the commit that made ``version``."""
    return place.join(table, LOG, f"{version:020}.json")


@contextlib.contextmanager
def reading(place: Place) -> Iterator[None]:
    """Raise MsmqWireError for what of the tables below ``place`` cannot be read in the block."""
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise MsmqWireError(f"cannot read the tables in {place.url}: {line_of(error)}") from error


def line_of(error: BaseException) -> str:
    """What an error says, in one line that is not long: it may quote what it read."""
    text = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
    if "AWS Error NETWORK_CONNECTION" in text:
        text = f"the object store cannot be reached: {text.rpartition('Details: ')[2]}"
    return text if len(text) <= _SAID else f"{text[:_SAID]}..."
