"""Rows into the Parquet files of tables, which nobody reads before a commit names them.

The rule kept here: a task only adds files with names of its own. What a task that failed left behind is in no
version of a table, and is swept away later.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
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
from msmq_wire.tables.table_schemas import BOUNDED, DAY, TABLES, file_schema

NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""The partition of rows without a time, and of those of days for which there would be too many files."""
FILE_PATH = re.compile(
    rf"(?:{DAY}=(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{NO_DAY})/)?part-[0-9A-Za-z][0-9A-Za-z._-]{{0,99}}\.parquet"
)
"""The paths below a table that files have: those of `TableWriter`, and of deltalake."""
FILE_BYTES = 128 << 20
"""Bytes of a file that compaction makes: few enough to be read by one task."""

_MICROSECONDS = 86_400_000_000
_GROUP_ROWS = 1 << 15
_MOST_WAITING = 1 << 26
"""Bytes, as Arrow, that wait in one task; then the table with most of them is written."""
_MOST_BATCHES = 256
"""So many batches that wait become one: a small one takes more than its rows."""
_MOST_FILES = 1000
"""Files of one table that one task makes beside one each time: times may be anything, and a file is 50 KB."""
_MOST_TEXT = 64
"""Characters of a bound in the log; a capture has its name."""
_LARGEST = "\U0010ffff"
_JUDGED = (*BOUNDED, "path", "type", "time_ns", "message_id", "rule", "code")
"""The columns whose least and largest value stand in the files, so that queries can leave groups out."""
_LONG = {"label", "body", "payload", "frame", "request", "response", "what", "digest", "head"}
"""Texts that are seldom the same."""


class WrittenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that counts once it is committed: ``path`` is below its table, ``size`` in bytes.

    ``statistics`` are those of Delta: JSON with the count of rows and the bounds of `BOUNDED`.
    """

    table: str
    path: str
    day: str | None
    size: int
    rows: int
    statistics: str


class TableWriter:
    """Writes rows of a run into files below a place; ``files`` are what to commit, complete after the block.

    ``rows`` counts those written so far, by table. An exception in the block takes the files away. At most
    `_MOST_WAITING` bytes wait, and become a file for each day of the table that has most of them.
    """

    def __init__(self, place: Place, tables: Iterable[str], run: str) -> None:
        self.files: list[WrittenFile] = []
        self.rows: Counter[str] = Counter()
        self._place = place
        self._run = run
        self._waiting: dict[str, list[Any]] = {table: [] for table in tables}
        self._bytes: Counter[str] = Counter()
        self._made: Counter[str] = Counter()
        self._begun: list[Place] = []

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            try:
                self.close()
            except (OSError, pa.ArrowException):
                self._discard()
                raise
        else:
            self._discard()

    def _discard(self) -> None:
        """Take all files away."""
        for place in self._begun:
            with contextlib.suppress(OSError):
                place.delete()
        self.files = []

    def close(self) -> list[WrittenFile]:
        """Write what waits, and return all files."""
        for table in self._waiting:
            self._flush(table)
        return self.files

    def wants(self, table: str) -> bool:
        """Whether rows of a table are kept."""
        return table in self._waiting

    def write(self, table: str, batch: Any) -> None:
        """Add rows of a table, as `table_schemas` has them."""
        waiting = self._waiting.get(table)
        if waiting is None or not len(batch):
            return
        waiting.append(batch)
        self.rows[table] += len(batch)
        self._bytes[table] += batch.nbytes
        if len(waiting) >= _MOST_BATCHES:
            waiting[:] = [pa.concat_batches(waiting)]
        if self._bytes.total() > _MOST_WAITING:
            self._flush(max(self._bytes, key=self._bytes.__getitem__))

    def _flush(self, table: str) -> None:
        """Write what waits of a table, a file a day."""
        batches, self._waiting[table], self._bytes[table] = self._waiting[table], [], 0
        if not batches:
            return
        found = pa.Table.from_batches(batches)
        run = pa.repeat(pa.scalar(self._run, pa.string()), len(found))
        schema = file_schema(table)
        arrays = (run if name == "run" else found.column(name) for name in schema.names)
        rows = pa.Table.from_arrays(list(arrays), schema=schema)
        days = pc.divide(rows.column("time").cast(pa.int64()), _MICROSECONDS)
        if len(pc.unique(days)) == 1:
            self._write(table, days[0].as_py(), rows)
            return
        order = pc.array_sort_indices(days.combine_chunks())
        sorted_days = pc.fill_null(days.take(order), -1).to_numpy()
        edges = np.append(np.flatnonzero(np.diff(sorted_days, prepend=-2)), len(sorted_days))
        late = []
        for start, stop in pairwise(edges.tolist()):
            day, places = int(sorted_days[start]), order.slice(start, stop - start)
            if day < 0 or (start and self._made[table] >= _MOST_FILES):
                late.append(places.to_numpy())
                continue
            self._made[table] += bool(start)
            self._write(table, day, rows.take(places))
        if late:
            # In their order, whatever day each is of.
            self._write(table, None, rows.take(pa.array(np.sort(np.concatenate(late)))))

    def _write(self, table: str, day: int | None, rows: Any) -> None:
        # Not every number of nanoseconds is a date that Python knows, but all that 63 bits hold are.
        value = None if day is None else datetime.fromtimestamp(day * 86_400, UTC).date().isoformat()
        self.files.append(write_file(self._place, table, value, [rows], self._begun))


def write_file(
    place: Place, table: str, day: str | None, parts: Iterable[Any], begun: list[Place]
) -> WrittenFile:
    """Write a file of a table from tables of its `file_schema`; its place is added to ``begun`` first."""
    name = f"part-{secrets.token_hex(16)}.parquet"
    folders = [f"{DAY}={day or NO_DAY}"] if table in TABLES else []
    folder, schema = place.join(table), file_schema(table)
    folder.make_folder()
    # Each for itself: a link is not followed.
    for one in folders:
        folder = folder.join(one)
        folder.make_folder()
    begun.append(folder.join(name))
    texts = {one.name for one in schema if pa.types.is_string(one.type)}
    bounds = _Bounds([one for one in BOUNDED if one in schema.names])
    with begun[-1].open_output() as sink:
        with pq.ParquetWriter(
            sink,
            schema,
            compression="zstd",
            use_dictionary=sorted(texts - _LONG),
            write_statistics=[one for one in _JUDGED if one in schema.names],
            write_page_checksum=True,
        ) as writer:
            for rows in parts:
                writer.write_table(rows, row_group_size=_GROUP_ROWS)
                bounds.take(rows)
        size = int(sink.tell())
    path = "/".join([*folders, name])
    return WrittenFile(table=table, path=path, day=day, size=size, rows=bounds.rows, statistics=bounds.text())


class _Bounds:
    """The statistics of Delta of some columns of a file."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.rows = 0
        self._nulls = dict.fromkeys(columns, 0)
        self._found: dict[str, list[Any]] = {name: [] for name in columns}

    def take(self, rows: Any) -> None:
        self.rows += len(rows)
        for name, found in self._found.items():
            self._nulls[name] += rows.column(name).null_count
            bounds = pc.min_max(rows.column(name)).values()
            values = [*found, *(one.as_py() for one in bounds if one.is_valid)]
            found[:] = [min(values), max(values)] if values else []

    def text(self) -> str:
        """JSON: the count of rows, and for each column its bounds, and how many rows lack it."""
        least, most = (
            {name: self._bound(name, at) for name, found in self._found.items() if found} for at in (0, 1)
        )
        return json.dumps(
            {"numRecords": self.rows, "minValues": least, "maxValues": most, "nullCount": self._nulls}
        )

    def _bound(self, name: str, at: int) -> str:
        value = self._found[name][at]
        text: str = value if isinstance(value, str) else value.isoformat().replace("+00:00", "Z")
        if name == "capture" or len(text) <= _MOST_TEXT or (at and text[_MOST_TEXT] == _LARGEST):
            return text
        return text[:_MOST_TEXT] + _LARGEST * at
