"""The tables of a store as views of a session.

The rule kept here: what a view shows is one snapshot, all captures of it whole, as long as the session lasts;
a table that has no row yet is an empty view with its columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from msmq_wire.capture.places import Place
from msmq_wire.spark.spark_schema import spark_schema
from msmq_wire.tables.spark_types import table_rows
from msmq_wire.tables.store.snapshot import Snapshot, StoredFile
from msmq_wire.tables.store.store import Store
from msmq_wire.tables.table_schemas import BOOKS, DAY, TABLES, delta_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEWS = (*TABLES, *BOOKS)
"""The names of all views."""

_GLOB = re.compile(r"([\\*?\[\]{}])")


def register_views(spark: SparkSession, output: str, statement: str = "") -> None:
    """Make each table below ``output``, a folder or URL, a view of its name.

    The tables of rows have the partition ``day``, a date. With a ``statement`` only the views that it names
    are made, or all if it names none. Raises MsmqWireError where there are no tables.
    """
    snapshot = Store(output).snapshot()
    named = set(re.findall(r"\w+", statement.lower()))
    for view in VIEWS:
        if view in named or named.isdisjoint(VIEWS):
            _table(spark, snapshot, view).createOrReplaceTempView(view)


def _table(spark: SparkSession, snapshot: Snapshot, name: str) -> DataFrame:
    schema = spark_schema(delta_schema(name))
    files = snapshot.files(name)
    if not files:
        return spark.createDataFrame([], schema)
    place = snapshot.place.join(name)
    if not place.is_local:
        # Spark would need jars for the store; what wrote the files can read them, too.
        parts = spark.createDataFrame([(one.path, one.day) for one in files], f"path string, {DAY} string")
        spread = parts.repartition(len(files))
        return spread.mapInArrow(partial(_read, place=place, name=name), schema)
    paths = [_url(place, one) for one in files]
    return spark.read.schema(schema).option("basePath", f"file:{place.path}").parquet(*paths)


def _read(batches: Iterable[Any], place: Place, name: str) -> Iterator[Any]:
    """The rows of files that are named, a batch at a time."""
    import datetime

    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs

    schema = delta_schema(name).remove_metadata()
    for batch in batches:
        for row in batch.to_pylist():
            day = None if row[DAY] is None else datetime.date.fromisoformat(row[DAY])
            with place.join(*row["path"].split("/")).open_input() as source:
                for rows in pq.ParquetFile(source).iter_batches(1 << 13):
                    columns = {one: rows.column(one) for one in rows.schema.names}
                    if DAY in schema.names:
                        columns[DAY] = pa.repeat(pa.scalar(day, pa.date32()), len(rows))
                    yield table_rows(columns, len(rows), schema)


def _url(place: Place, file: StoredFile) -> str:
    """A path as Spark reads it: on this file system, and no pattern."""
    return "file:" + _GLOB.sub(r"\\\1", place.join(*file.path.split("/")).path)
