"""The tables of a store as views of a session.

The rule kept here: a view has the rows that count, those whose capture and run stand in ``captures``. That is
opened first, so captures are whole, as long as the session lasts; a table without rows is an empty view.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from msmq_wire.capture.places import Place
from msmq_wire.spark.column_pruning import Load
from msmq_wire.spark.column_pruning import ask as ask_views
from msmq_wire.spark.spark_schema import spark_schema
from msmq_wire.spark.table_source import MsmqTables
from msmq_wire.tables.store.snapshot import Snapshot, StoredFile
from msmq_wire.tables.store.store import Store
from msmq_wire.tables.table_schemas import BOOKS, TABLES, delta_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEWS = (*TABLES, *BOOKS)
"""The names of all views."""

PAIR = ("capture", "run")
"""What decides whether a row counts."""
_NAMED = 4096
"""So many files are named to Spark one by one."""
_GLOB = re.compile(r"([\\*?\[\]{}])")


def register_views(spark: SparkSession, output: str, statement: str = "") -> None:
    """Make each table below ``output``, a folder or URL, a view of its name.

    The tables of rows have the partition ``day``, a date. With a ``statement`` only the views that it names
    are made, or all if it names none. Raises MsmqWireError where there are no tables.
    """
    for name, load in _loads(spark, output, statement).items():
        load().createOrReplaceTempView(name)


def ask(spark: SparkSession, output: str, statement: str) -> DataFrame:
    """The rows of a statement over the views that it names, which read only the columns that it needs.

    Raises as `register_views`, and what Spark raises for a statement that it does not understand.
    """
    return ask_views(spark, statement, _loads(spark, output, statement))


def _loads(spark: SparkSession, output: str, statement: str) -> dict[str, Load]:
    snapshot = Store(output).snapshot()
    named = set(re.findall(r"\w+", statement.lower()))
    views = [view for view in VIEWS if view in named or named.isdisjoint(VIEWS)]
    held = cache(lambda: _rows(spark, snapshot, "captures", PAIR).hint("broadcast"))
    return {view: partial(_view, spark, snapshot, held, view) for view in views}


def _view(
    spark: SparkSession,
    snapshot: Snapshot,
    held: Callable[[], DataFrame],
    name: str,
    columns: Sequence[str] | None = None,
) -> DataFrame:
    """The rows of a table that count, those of the pairs that are ``held``, with some columns."""
    names = delta_schema(name).names if columns is None else list(columns)
    if name == "captures" or not {*PAIR} <= {*delta_schema(name).names}:
        return _rows(spark, snapshot, name, names or delta_schema(name).names[:1]).select(names)
    rows = _rows(spark, snapshot, name, [*dict.fromkeys((*names, *PAIR))])
    return rows.join(held(), [*PAIR], "left_semi").select(names)


def _rows(spark: SparkSession, snapshot: Snapshot, name: str, columns: Sequence[str]) -> DataFrame:
    files = snapshot.files(name) if snapshot.place.is_local else []
    schema = spark_schema(delta_schema(name))
    if 0 < len(files) <= _NAMED:
        # Spark reads them faster itself; for a store it would need jars.
        place = snapshot.place.join(name)
        paths = [_url(place, one) for one in files]
        return (
            spark.read.schema(schema)
            .option("basePath", f"file:{place.path}")
            .parquet(*paths)
            .select(*columns)
        )
    if snapshot.place.is_local and not files:
        return spark.createDataFrame([], schema).select(*columns)
    spark.dataSource.register(MsmqTables)
    options = {"table": name, "columns": ",".join(columns), "version": str(snapshot.version)}
    return spark.read.format(MsmqTables.name()).options(**options).load(snapshot.place.url)


def _url(place: Place, file: StoredFile) -> str:
    """A path as Spark reads it: on this file system, and no pattern."""
    return "file:" + _GLOB.sub(r"\\\1", place.join(*file.path.split("/")).path)
