"""The data source ``msmq-tables``: a table of a store, in a folder or an object store, without jars.

The rule kept here: the statistics in the log decide which files are read for a filter, those of a file which
of its row groups, and only columns that are asked for are read. Rows are those of the table, whether they
count or not: views join them with ``captures``.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.fs as pafs  # type: ignore[import-untyped]  # it has no stubs
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from msmq_wire.capture.places import place_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.row_filter import RowFilter, filtered
from msmq_wire.spark.spark_schema import spark_schema
from msmq_wire.spark.task_rows import partitions_of
from msmq_wire.tables.spark_types import columns_of
from msmq_wire.tables.store.snapshot import Snapshot, StoredFile, open_table
from msmq_wire.tables.table_schemas import BOOKS, DAY, TABLES, delta_schema

_PARQUET = ds.ParquetFileFormat()
_TASK_BYTES = 64 << 20
"""What the files of a task have together, if they are not larger each."""
_ROWS = 1 << 13
"""Rows of a batch."""


class MsmqTables(DataSource):
    """``spark.read.format("msmq-tables").option("table", "messages").load("tables")``.

    Options: ``path``, the folder or URL of the tables; ``table``; ``columns``, separated by commas, by
    default all; ``version`` of the table ``captures``, by default the last. Raises MsmqWireError for a table
    or column that is none.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._path, self._table = (options.get(one, "") for one in ("path", "table"))
        if self._table not in (*TABLES, *BOOKS):
            raise MsmqWireError(f"the option table is {', '.join((*TABLES, *BOOKS))}, not {self._table!r}")
        names = frozenset(one.strip() for one in options.get("columns", "").split(",")) - {""}
        unknown = sorted(names.difference(delta_schema(self._table).names))
        if unknown:
            raise MsmqWireError(f"the option columns names columns of {self._table}: {unknown[0]} is none")
        self._columns = columns_of(delta_schema(self._table), names or None)
        self._version = int(options["version"]) if "version" in options else None

    @classmethod
    def name(cls) -> str:
        return "msmq-tables"

    def schema(self) -> StructType:
        return spark_schema(self._columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        reader = TableReader(self._path, self._table, self._columns.names, self._version)
        return filtered(reader, delta_schema(self._table))


class TableReader(DataSourceReader):
    """Reads files of a table; ``row_filter``, if set, selects files, row groups and rows."""

    def __init__(self, path: str, table: str, columns: Sequence[str], version: int | None = None) -> None:
        self._place, self._table, self._columns = place_of(path), table, tuple(columns)
        self._version = version
        self.row_filter: RowFilter | None = None

    def partitions(self) -> Sequence[InputPartition]:
        version = self._version if self._table == "captures" else None
        snapshot = Snapshot(self._place, open_table(self._place, "captures", version))
        files = self._wanted(snapshot.files(self._table))
        return partitions_of(files, [one.size for one in files], _TASK_BYTES)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        for file in partition.value:
            yield from self._rows(file)

    def _wanted(self, files: Sequence[StoredFile]) -> Sequence[StoredFile]:
        if self.row_filter is None or not files:
            return files
        dataset = ds.FileSystemDataset.from_paths(
            [str(number) for number in range(len(files))],
            schema=delta_schema(self._table),
            format=_PARQUET,
            filesystem=pafs.LocalFileSystem(),
            partitions=[_known(one) for one in files],
        )
        return [files[int(one.path)] for one in dataset.get_fragments(filter=self.row_filter.expression)]

    def _rows(self, file: StoredFile) -> Iterator[Any]:
        schema = delta_schema(self._table).remove_metadata()
        wanted = pa.schema([schema.field(name) for name in self._columns])
        constant = {DAY: _day(file)} | {
            name: value for name, value in file.least.items() if value == file.most.get(name)
        }
        looked = {*wanted.names, *(() if self.row_filter is None else self.row_filter.columns)}
        if looked <= {"capture", "run", DAY} & constant.keys():
            # The log says all, and that of every row: a count of rows opens no file.
            row = pa.RecordBatch.from_pylist([constant], schema=pa.schema(map(schema.field, sorted(looked))))
            kept = file.rows if self.row_filter is None or len(self.row_filter(row)) else 0
            for start in range(0, kept, _ROWS):
                places = pa.repeat(0, min(_ROWS, kept - start))
                yield row.select(wanted.names).take(places)
            return
        with self._place.join(self._table, *file.path.split("/")).open_input() as source:
            fragment = _PARQUET.make_fragment(source, partition_expression=_known(file))
            rows = fragment.to_batches(
                schema=schema,
                columns=wanted.names,
                filter=None if self.row_filter is None else self.row_filter.expression,
                batch_size=_ROWS,
                batch_readahead=1,
            )
            for batch in rows:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=wanted)


def _day(file: StoredFile) -> datetime.date | None:
    return None if file.day is None else datetime.date.fromisoformat(file.day)


def _known(file: StoredFile) -> Any:
    """What holds for every row of a file, by its folder and the statistics in the log."""
    day = ds.field(DAY)
    known = day.is_null() if file.day is None else day == pa.scalar(_day(file))
    for bounds, side in ((file.least, "__ge__"), (file.most, "__le__")):
        for name, value in bounds.items():
            column = ds.field(name)
            known = known & (getattr(column, side)(pa.scalar(value)) | column.is_null())
    return known
