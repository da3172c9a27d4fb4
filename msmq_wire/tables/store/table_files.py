"""Rows into the Parquet files of tables, which nobody reads before a commit names them.

The rule kept here: a task only adds files with names of its own. What a task that failed left behind is in no
version of a table, and is swept away later.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.places import Place
from msmq_wire.tables.table_schemas import DAY, file_schema

NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""The partition of rows without a time, and of those of days for which there would be too many files."""
FILE_PATH = re.compile(
    rf"(?:{DAY}=(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{NO_DAY})/)?part-[0-9A-Za-z][0-9A-Za-z._-]{{0,99}}\.parquet"
)
"""The paths below a table that files have: those of `TableWriter`, and of deltalake in the table ``runs``."""

_MICROSECONDS = 86_400_000_000
_ROWS = 1 << 15
_BYTES = 1 << 25
_GROUPS = 64
"""Row groups of one file: what Parquet keeps of them stays in memory until the file is closed."""
FILE_BYTES = 128 << 20
"""Bytes after which rows go to another file: few enough to be read by one task."""
_JUDGED = ("capture", "path", "type", "time", "time_ns", "src", "dst", "queue", "message_id", "rule", "code")
"""The columns whose least and largest value stand in the files, so that queries can leave groups out."""
_MOST_WAITING = 1 << 26
"""Bytes that wait in all files of one task."""
_MOST_OPEN = 32
"""Files that one task holds open: captures seldom span more days."""
_MOST_FILES = 1000
"""Files of one table that one task makes: times may be anything, and a file is some 50 KB."""


class WrittenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that counts once it is committed: ``path`` is below its table, ``size`` in bytes.

    ``first`` and ``last`` are the least and the largest name of a capture in it, None without such a column.
    """

    table: str
    path: str
    day: str | None
    size: int
    rows: int
    first: str | None
    last: str | None


class _Part:
    """The rows of one table and day that one task has written so far, and those that wait."""

    def __init__(self, place: Place, table: str, day: str | None) -> None:
        self._table = table
        self._day = None if day == NO_DAY else day
        name = f"part-{secrets.token_hex(16)}.parquet"
        folder = place.join(table)
        # Each for itself: a link is not followed.
        folder.make_folder()
        if day is not None:
            folder = folder.join(f"{DAY}={day}")
            folder.make_folder()
        self.place = folder.join(name)
        self._path = name if day is None else f"{DAY}={day}/{name}"
        self._rows = 0
        self._names: set[str] = set()
        self._waiting: list[Any] = []
        self._waiting_rows = 0
        self.waiting_bytes = 0
        self._schema = file_schema(table)
        self._writer: Any = None
        self._sink: Any = None
        self.groups = 0

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return 0 if self._sink is None else int(self._sink.tell())

    def add(self, batch: Any) -> None:
        self._waiting.append(batch)
        self._waiting_rows += len(batch)
        self.waiting_bytes += batch.nbytes
        if self._waiting_rows >= _ROWS or self.waiting_bytes >= _BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            self._sink = self.place.open_output()
            self._writer = pq.ParquetWriter(
                self._sink,
                self._schema,
                compression="zstd",
                use_dictionary=_repeated(self._schema),
                write_statistics=[name for name in _JUDGED if name in self._schema.names],
            )
        rows = pa.Table.from_batches(self._waiting, self._schema)
        if "capture" in self._schema.names:
            bounds = pc.min_max(rows.column("capture"))
            self._names |= {bounds["min"].as_py(), bounds["max"].as_py()}
        self._writer.write_table(rows)
        self.groups += 1
        self._rows += self._waiting_rows
        self._waiting, self._waiting_rows, self.waiting_bytes = [], 0, 0

    def close(self) -> WrittenFile:
        self.flush()
        self._writer.close()
        size = self.size
        self._sink.close()
        return WrittenFile(
            table=self._table,
            path=self._path,
            day=self._day,
            size=size,
            rows=self._rows,
            first=min(self._names, default=None),
            last=max(self._names, default=None),
        )

    def discard(self) -> None:
        """Take the file away, if it is there."""
        # There may be no room for the end of the file.
        with contextlib.suppress(OSError, pa.ArrowException):
            if self._writer is not None:
                self._writer.close()
        with contextlib.suppress(OSError):
            if self._sink is not None:
                self._sink.close()
        with contextlib.suppress(OSError):
            self.place.delete()


class TableWriter:
    """Writes rows into files below a place; ``files`` are what to commit, complete when the block is left.

    ``rows`` counts those written so far, by table.
    An exception in the block takes the files away. Tables that are not ``partitioned`` have no column `DAY`.
    A file ends after ``size`` bytes or ``groups`` row groups.
    """

    def __init__(
        self,
        place: Place,
        tables: Iterable[str],
        *,
        partitioned: bool = True,
        size: int = FILE_BYTES,
        groups: int = _GROUPS,
    ) -> None:
        self.files: list[WrittenFile] = []
        self.rows: Counter[str] = Counter()
        self._place = place
        self._tables = frozenset(tables)
        self._partitioned = partitioned
        self._size = size
        self._groups = groups
        self._open: dict[tuple[str, str | None], _Part] = {}
        self._made: Counter[str] = Counter()

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._discard()
            return
        try:
            self.close()
        except (OSError, pa.ArrowException):
            self._discard()
            raise

    def _discard(self) -> None:
        """Take all files away."""
        for part in self._open.values():
            part.discard()
        for file in self.files:
            with contextlib.suppress(OSError):
                self._place.join(file.table, *file.path.split("/")).delete()
        self.files = []

    def close(self) -> list[WrittenFile]:
        """End all files and return them."""
        while self._open:
            self._end(next(iter(self._open)))
        return self.files

    def wants(self, table: str) -> bool:
        """Whether rows of a table are kept."""
        return table in self._tables

    def write(self, table: str, batch: Any, day: str | None = None) -> None:
        """Add rows of a table's schema; all are of the partition ``day``, where that is known."""
        if table not in self._tables or not len(batch):
            return
        self.rows[table] += len(batch)
        if not self._partitioned or day is not None:
            self._add(table, day, batch)
            return
        of_rows = pc.divide(batch.column("time").cast(pa.int64()), _MICROSECONDS)
        days = pc.unique(of_rows)
        if len(days) == 1:
            self._add(table, self._day(table, days[0].as_py()), batch)
            return
        order = pc.array_sort_indices(of_rows)
        sorted_days = pc.fill_null(of_rows.take(order), -1).to_numpy()
        edges = np.append(np.flatnonzero(np.diff(sorted_days, prepend=-2)), len(sorted_days))
        late = []
        for start, stop in pairwise(edges.tolist()):
            rows, value = order.slice(start, stop - start), int(sorted_days[start])
            name = self._day(table, None if value < 0 else value)
            if name == NO_DAY:
                late.append(rows)
            else:
                # A slice would keep the whole batch while it waits.
                self._add(table, name, batch.take(rows))
        if late:
            # In their order, whatever day each is of.
            places = np.sort(np.concatenate([rows.to_numpy() for rows in late]))
            self._add(table, NO_DAY, batch.take(pa.array(places)))

    def _day(self, table: str, day: int | None) -> str:
        """The partition of a day, counted since 1970."""
        # Not every number of nanoseconds is a date that Python knows, but all that 63 bits hold are.
        name = NO_DAY if day is None else datetime.fromtimestamp(day * 86_400, UTC).date().isoformat()
        return NO_DAY if self._made[table] >= _MOST_FILES and (table, name) not in self._open else name

    def _add(self, table: str, day: str | None, rows: Any) -> None:
        self._part(table, day).add(rows)
        waiting = self._open.values()
        if sum(part.waiting_bytes for part in waiting) > _MOST_WAITING:
            max(waiting, key=lambda part: part.waiting_bytes).flush()

    def _part(self, table: str, day: str | None) -> _Part:
        part = self._open.get((table, day))
        if part is not None and (part.groups >= self._groups or part.size >= self._size):
            self._end((table, day))
            # Not one more: what is large may be in many files.
            self._made[table] -= 1
            part = None
        if part is None:
            if len(self._open) >= _MOST_OPEN:
                self._end(next(iter(self._open)))
            part = self._open[table, day] = _Part(self._place, table, day)
            self._made[table] += 1
        return part

    def _end(self, key: tuple[str, str | None]) -> None:
        self.files.append(self._open[key].close())
        del self._open[key]


def _repeated(schema: Any) -> list[str]:
    """The columns whose values are often the same: texts, but not those that are long."""
    long = {"label", "body", "payload", "frame", "request", "response", "what", "digest", "head"}
    return [one.name for one in schema if pa.types.is_string(one.type) and one.name not in long]
