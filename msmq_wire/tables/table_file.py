"""`TableFile`: record batches as a file that other programs read, Parquet or an Arrow IPC file."""

from __future__ import annotations

from types import TracebackType
from typing import Any, BinaryIO, Literal, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs

TableFormat: TypeAlias = Literal["parquet", "arrow"]
"""What a file is, as its name ends."""

_ROWS = 1 << 16
_BYTES = 1 << 26
"""What a row group of Parquet holds at most: readers skip and divide a file by row groups."""


class TableFile:
    """Writes batches of one schema as they come; at the end of its block the file has its end, too.

    An Arrow file has them as they are, a Parquet file some together as a row group. ``rows`` counts.
    """

    def __init__(self, file: BinaryIO, format_: TableFormat, schema: Any) -> None:
        self.rows = 0
        self._waiting: list[Any] = []
        self._writer: Any = (
            pa.ipc.new_file(file, schema)
            if format_ == "arrow"
            # Dictionaries suit the names and addresses that repeat.
            else pq.ParquetWriter(file, schema, compression="zstd")
        )
        self._grouped = format_ == "parquet"

    def write(self, batch: Any) -> None:
        """Write a record batch."""
        self.rows += len(batch)
        if not self._grouped:
            self._writer.write_batch(batch)
            return
        self._waiting.append(batch)
        rows, size = (sum(map(count, self._waiting)) for count in (len, lambda one: one.nbytes))
        if rows >= _ROWS or size >= _BYTES:
            self._write_group()

    def __enter__(self) -> TableFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._waiting and kind is None:
            self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        table = pa.Table.from_batches(self._waiting)
        self._writer.write_table(table, row_group_size=len(table))
        self._waiting = []
