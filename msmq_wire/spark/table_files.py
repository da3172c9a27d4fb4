"""Rows into the Parquet files of tables, hidden until the capture they come from is done.

The rule kept here: a task only adds files with names of its own, which no reader of the tables sees. What a
task that failed left behind harms nobody and is swept away later.
"""

from __future__ import annotations

import contextlib
import os
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
import pyarrow.fs as pafs  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.spark.table_schemas import DAY, table_schemas

__all__ = ["HIDDEN", "NO_DAY", "TableWriter", "WrittenFile"]

HIDDEN = "."
"""What the name of a file starts with until it counts."""
NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""The partition of rows without a time, and of those of days for which there would be too many files."""

_MICROSECONDS = 86_400_000_000
_ROWS = 1 << 15
_BYTES = 1 << 24
_GROUPS = 64
"""Row groups of one file: what Parquet keeps of them stays in memory until the file is closed."""
_JUDGED = ("capture", "path", "type", "time", "time_ns", "src", "dst", "queue", "message_id", "rule", "code")
"""The columns whose least and largest value stand in the files, so that queries can leave groups out."""
_MOST_WAITING = 1 << 26
"""Bytes that wait in all files of one task."""
_MOST_OPEN = 32
"""Files that one task holds open: captures seldom span more days."""
_MOST_FILES = 1000
"""Files of one table that one task makes for a capture: times may be anything, and a file is some 50 KB."""


class WrittenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that counts once it is published: ``folder`` is below the output, ``name`` without `HIDDEN`."""

    table: str
    folder: str
    name: str
    rows: int


class _Part:
    """The rows of one table and day that one task has written so far, and those that wait."""

    def __init__(self, output: str, table: str, day: str, stem: str) -> None:
        self.folder = os.path.join(table, f"{DAY}={day}")
        self.table = table
        self.name = f"part-{stem}-{secrets.token_hex(8)}.parquet"
        self.rows = 0
        self._waiting: list[Any] = []
        self._waiting_rows = 0
        self.waiting_bytes = 0
        os.makedirs(os.path.join(output, self.folder), exist_ok=True)
        self._path = os.path.join(output, self.folder, HIDDEN + self.name)
        self._schema = table_schemas()[table]
        self._writer: Any = None
        self._groups = 0

    @property
    def is_full(self) -> bool:
        """Whether rows should go to another file."""
        return self._groups >= _GROUPS

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
            self._writer = pq.ParquetWriter(
                self._path,
                self._schema,
                compression="zstd",
                use_dictionary=_repeated(self._schema),
                write_statistics=[name for name in _JUDGED if name in self._schema.names],
                # A name with a colon is no address of another file system.
                filesystem=pafs.LocalFileSystem(),
            )
        self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._groups += 1
        self.rows += self._waiting_rows
        self._waiting, self._waiting_rows, self.waiting_bytes = [], 0, 0

    def close(self) -> WrittenFile:
        self.flush()
        if self._writer is not None:
            self._writer.close()
        return self.place

    @property
    def place(self) -> WrittenFile:
        return WrittenFile(table=self.table, folder=self.folder, name=self.name, rows=self.rows)

    def discard(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(OSError, pa.ArrowException):
                # There may be no room for the end of the file.
                self._writer.close()


class TableWriter:
    """Writes rows of one capture; ``files`` are what to publish, complete when the block is left.

    ``stem`` is part of the names of its files. An exception in the block takes the files away.
    """

    def __init__(self, output: str, stem: str, tables: Iterable[str]) -> None:
        self.files: list[WrittenFile] = []
        self._output = output
        self._stem = stem
        self._tables = frozenset(tables)
        self._open: dict[tuple[str, str], _Part] = {}
        self._made: Counter[str] = Counter()

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        for part in self._open.values():
            part.discard()
            self.files.append(part.place)
        for file in self.files:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._output, file.folder, HIDDEN + file.name))
        self.files = []

    def close(self) -> list[WrittenFile]:
        """End all files and return them."""
        self.files += [part.close() for part in self._open.values()]
        self._open.clear()
        return self.files

    def wants(self, table: str) -> bool:
        """Whether rows of a table are kept."""
        return table in self._tables

    def write(self, table: str, batch: Any) -> None:
        """Add rows of a table's schema."""
        if table not in self._tables or not len(batch):
            return
        day = pc.divide(batch.column("time").cast(pa.int64()), _MICROSECONDS)
        days = pc.unique(day)
        if len(days) == 1:
            self._add(table, days[0].as_py(), batch)
            return
        order = pc.array_sort_indices(day)
        sorted_days = pc.fill_null(day.take(order), -1).to_numpy()
        edges = np.append(np.flatnonzero(np.diff(sorted_days, prepend=-2)), len(sorted_days))
        late = []
        for start, stop in pairwise(edges.tolist()):
            rows, value = order.slice(start, stop - start), int(sorted_days[start])
            if value < 0 or self._is_excess(table, value):
                late.append(rows)
            else:
                # A slice would keep the whole batch while it waits.
                self._add(table, value, batch.take(rows))
        if late:
            # In their order, whatever day each is of.
            places = np.sort(np.concatenate([rows.to_numpy() for rows in late]))
            self._add(table, None, batch.take(pa.array(places)))

    def _add(self, table: str, day: int | None, rows: Any) -> None:
        self._part(table, day).add(rows)
        waiting = self._open.values()
        if sum(part.waiting_bytes for part in waiting) > _MOST_WAITING:
            max(waiting, key=lambda part: part.waiting_bytes).flush()

    def _is_excess(self, table: str, day: int | None) -> bool:
        return self._made[table] >= _MOST_FILES and (table, _name(day)) not in self._open

    def _part(self, table: str, day: int | None) -> _Part:
        name = NO_DAY if self._is_excess(table, day) else _name(day)
        part = self._open.get((table, name))
        if part is not None and part.is_full:
            self.files.append(self._open.pop((table, name)).close())
            # Not one more: what is large may be in many files.
            self._made[table] -= 1
            part = None
        if part is None:
            if len(self._open) >= _MOST_OPEN:
                oldest = next(iter(self._open))
                self.files.append(self._open.pop(oldest).close())
            part = self._open[table, name] = _Part(self._output, table, name, self._stem)
            self._made[table] += 1
        return part


def _name(day: int | None) -> str:
    """The partition of a day, counted since 1970."""
    # Not every number of nanoseconds is a date that Python knows, but all that 63 bits hold are.
    return NO_DAY if day is None else datetime.fromtimestamp(day * 86_400, UTC).date().isoformat()


def _repeated(schema: Any) -> list[str]:
    """The columns whose values are often the same: texts, but not those that are long."""
    long = {"label", "body", "payload", "frame", "request", "response", "what"}
    return [one.name for one in schema if pa.types.is_string(one.type) and one.name not in long]
