"""What counts of the tables below one place: which rows, and in which files they are.

The rule kept here: a row counts if ``captures`` has its capture with its run. ``captures`` is opened first
and written last, so whoever goes through a `Snapshot` sees captures whole or not at all.
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
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.fs as pafs  # type: ignore[import-untyped]  # it has no stubs
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from msmq_wire.capture.places import Place
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.store.table_files import FILE_PATH
from msmq_wire.tables.store.table_folders import LOG, brief, check_log, damaged
from msmq_wire.tables.table_schemas import BOUNDED, DAY, LAYOUT, TABLES, delta_schema

_CAPTURES = "captures"
_READS = 40
"""How often rows are asked for in an object store."""
_READER = 1
"""The version of the Delta protocol that a reader needs: 2 renames columns, 3 leaves rows out."""
_SAID = 110
"""Characters of the error of a library that are shown."""
_APART = "\0"
"""Between a capture and its run; in no name."""
_Count = Annotated[int, msgspec.Meta(ge=0)]


class StoredFile(msgspec.Struct, frozen=True):
    """A file of a table: path below the table, bytes, rows, day, and bounds of the columns `BOUNDED`.

    ``least`` and ``most`` lack a column of which the log has no bounds. ``day`` is None for rows without.
    """

    path: str
    size: _Count
    rows: _Count
    day: str | None
    least: Mapping[str, Any] = {}
    most: Mapping[str, Any] = {}

    def may_hold(self, names: Sequence[str], column: str = "capture") -> bool:
        """Whether one of the texts ``names``, which are sorted, may be in a column of it."""
        at = bisect_left(names, self.least.get(column, ""))
        return at < len(names) and (column not in self.most or names[at] <= self.most[column])


class Snapshot:
    """The tables as they were when all captures that ``captures`` lists were whole in them.

    The other tables are opened when they are asked for: what they have got since then does not count.
    """

    def __init__(self, place: Place, captures: DeltaTable) -> None:
        self.place = place
        self.captures = captures
        self.version: int = captures.version()
        self._opened: dict[str, DeltaTable | None] = {_CAPTURES: captures}
        self._files: dict[str, list[StoredFile]] = {}

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables of rows that captures were written to, in their order."""
        lists = self.rows(_CAPTURES, ["tables"]).column("tables").combine_chunks()
        named = set(pc.unique(lists.flatten()).to_pylist())
        return tuple(table for table in TABLES if table in named)

    def held(self) -> Any:
        """The pairs of capture and run that count, as an Arrow table of these two columns."""
        return self._held

    @cached_property
    def _held(self) -> Any:
        return self.rows(_CAPTURES, ["capture", "run"])

    def table(self, name: str) -> DeltaTable | None:
        """A table as it was when it was asked for first; None where it has no row yet."""
        if name not in self._opened:
            with reading(self.place):
                there = name in self.tables or is_table(self.place, name)
                self._opened[name] = open_table(self.place, name) if there else None
        return self._opened[name]

    def files(self, name: str) -> list[StoredFile]:
        """The files of a table; some of their rows may not count."""
        if name not in self._files:
            table = self.table(name)
            found: list[dict[str, Any]] = []
            if table is not None:
                with reading(self.place):
                    found = pa.table(table.get_add_actions(flatten=True)).to_pylist()
            self._files[name] = [self._stored(name, one) for one in found]
        return self._files[name]

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
        }
        for side, kind in (("least", "min"), ("most", "max")):
            bounds = ((column, action.get(f"{kind}.{column}")) for column in BOUNDED)
            values[side] = {column: value for column, value in bounds if value is not None}
        try:
            if day is not None:
                date.fromisoformat(values["day"])
            return msgspec.convert(values, StoredFile)
        except (TypeError, ValueError) as error:
            raise damaged(self.place, f"the log of {name} says of {brief(path)}: {error}") from None

    def dataset(self, name: str, *, holding: Sequence[str] | None = None) -> Any:
        """A table as a pyarrow dataset with all columns, of the rows that count; None where it has no file.

        With ``holding`` only of these captures, which are sorted.
        """
        if name == _CAPTURES or "run" not in delta_schema(name).names:
            return self.everything(name)
        held = self.held()
        if holding is not None:
            held = held.filter(pc.is_in(held.column("capture"), pa.array(holding, pa.string())))
        names, runs = (sorted(set(held.column(one).to_pylist())) for one in ("capture", "run"))
        found = self.everything(name, holding=names, runs=runs)
        if found is None:
            return None
        of_row = pc.binary_join_element_wise(ds.field("capture"), ds.field("run"), pc.scalar(_APART))
        return found.filter(of_row.isin(_pairs(held)))

    def runs_of(self, name: str, captures: Sequence[str]) -> list[str]:
        """The runs that wrote rows of captures, which are sorted, to a table, whether these count or not."""
        found = self.everything(name, holding=captures)
        if found is None:
            return []
        with reading(self.place):
            runs = found.to_table(columns=["run"], filter=among("capture", captures)).column("run")
        return sorted(pc.unique(runs).to_pylist())

    def counts(self, rows: Any) -> Any:
        """Whether each row counts, of a batch or table with capture and run."""
        return pc.is_in(_pairs(rows), self._counting)

    @cached_property
    def _counting(self) -> Any:
        return _pairs(self.held())

    def everything(
        self, name: str, *, holding: Sequence[str] | None = None, runs: Sequence[str] | None = None
    ) -> Any:
        """A table as `dataset`, with rows that do not count, of files that may hold what is asked for."""
        files = self.files(name)
        for column, values in (("capture", holding), ("run", runs)):
            files = [one for one in files if values is None or one.may_hold(values, column)]
        if not files:
            return None
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
        """Columns of the rows that count of a table, and that a pyarrow expression wants."""
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


def _pairs(rows: Any) -> Any:
    found = pc.binary_join_element_wise(rows.column("capture"), rows.column("run"), _APART)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def among(name: str, values: Iterable[Any]) -> Any:
    """What wants the rows whose column ``name`` has one of some values."""
    return ds.field(name).isin(pa.array(values, pa.string()))


def open_table(place: Place, table: str, version: int | None = None) -> DeltaTable:
    """A table below ``place``, as it is or was. Raises MsmqWireError for what is not ours."""
    check_log(place, table)
    inside = place.join(table)
    try:
        found = DeltaTable(inside.table_url, version=version, storage_options=inside.storage_options)
    except OverflowError:
        raise damaged(place, f"the log of {table} names a version that cannot be") from None
    needed = found.protocol().min_reader_version
    if needed > _READER:
        raise damaged(place, f"the log of {table} needs reader version {needed} of Delta, not {_READER}")
    if found.metadata().description != LAYOUT:
        raise of_another_version(place)
    return found


def of_another_version(place: Place) -> MsmqWireError:
    """The error of tables that this version neither reads nor changes."""
    return MsmqWireError(
        f"{place.url} holds tables of another version of msmq-wire: run again from the captures, "
        "into another folder"
    )


def is_table(place: Place, table: str) -> bool:
    """Whether there is a table, and not only the folder of one whose maker died before its first commit."""
    # That commit goes where there are checkpoints.
    names = ("00000000000000000000.json", "_last_checkpoint")
    return any(place.join(table, LOG, name).exists() for name in names)


@contextlib.contextmanager
def reading(place: Place, what: str = "read the tables in") -> Iterator[None]:
    """Raise MsmqWireError for what deltalake and pyarrow raise in the block; ``what`` cannot be done then."""
    try:
        yield
    except BaseException as error:
        # A damaged log can make deltalake panic: that is no Exception, and can be imported from nowhere.
        is_panic = type(error).__name__ == "PanicException"
        if not is_panic and not isinstance(error, DeltaError | OSError | pa.ArrowException | OverflowError):
            raise
        raise MsmqWireError(f"cannot {what} {place.url}: {line_of(error)}") from error


def line_of(error: BaseException) -> str:
    """What an error says, in one line that is not long: it may quote what it read."""
    text = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
    if "AWS Error NETWORK_CONNECTION" in text:
        text = f"the object store cannot be reached: {text.rpartition('Details: ')[2]}"
    return text if len(text) <= _SAID else f"{text[:_SAID]}..."
