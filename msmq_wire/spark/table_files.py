"""Rows into the Parquet files of tables, hidden until the capture they come from is done.

The rule kept here: a task only adds files with names of its own, which no reader of the tables sees. What a
task that failed left behind harms nobody and is swept away later.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.spark.table_schemas import DAY, table_schemas

__all__ = ["HIDDEN", "NO_DAY", "TableWriter", "WrittenFile"]

HIDDEN = "."
"""What the name of a file starts with until it counts."""
NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""The partition of rows without a time."""

_MICROSECONDS = 86_400_000_000
_ROWS = 1 << 15
_BYTES = 1 << 24
_GROUPS = 64
"""Row groups of one file: what Parquet keeps of them stays in memory until the file is closed."""
_JUDGED = ("capture", "path", "type", "time", "time_ns", "src", "dst", "queue", "message_id", "rule", "code")
"""The columns whose least and largest value stand in the files, so that queries can leave groups out."""
_MOST_OPEN = 32
"""Files that one task holds open: captures seldom span more days."""


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
        self._waiting_bytes = 0
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
        self._waiting_bytes += batch.nbytes
        if self._waiting_rows >= _ROWS or self._waiting_bytes >= _BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._path,
                self._schema,
                compression="zstd",
                use_dictionary=_repeated(self._schema),
                write_statistics=[name for name in _JUDGED if name in self._schema.names],
            )
        self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._groups += 1
        self.rows += self._waiting_rows
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0

    def close(self) -> WrittenFile:
        self._flush()
        if self._writer is not None:
            self._writer.close()
        return WrittenFile(table=self.table, folder=self.folder, name=self.name, rows=self.rows)

    def discard(self) -> None:
        if self._writer is not None:
            self._writer.close()
            os.unlink(self._path)


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
            self._part(table, days[0].as_py()).add(batch)
            return
        for value in days.to_pylist():
            mask = pc.is_null(day) if value is None else pc.fill_null(pc.equal(day, value), False)
            self._part(table, value).add(batch.filter(mask))

    def _part(self, table: str, day: int | None) -> _Part:
        name = NO_DAY if day is None else _date(day)
        part = self._open.get((table, name))
        if part is not None and part.is_full:
            self.files.append(self._open.pop((table, name)).close())
            part = None
        if part is None:
            if len(self._open) >= _MOST_OPEN:
                oldest = next(iter(self._open))
                self.files.append(self._open.pop(oldest).close())
            part = self._open[table, name] = _Part(self._output, table, name, self._stem)
        return part


def _date(day: int) -> str:
    # Not every number of nanoseconds is a date that Python knows, but all that 63 bits hold are.
    return datetime.fromtimestamp(day * 86_400, UTC).date().isoformat()


def _repeated(schema: Any) -> list[str]:
    """The columns whose values are often the same: texts, but not those that are long."""
    long = {"label", "body", "payload", "frame", "request", "response", "what"}
    return [one.name for one in schema if pa.types.is_string(one.type) and one.name not in long]
