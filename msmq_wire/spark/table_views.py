"""The tables below a folder as views of a session.

The rule kept here: a table that was not filled is an empty view with its columns, so a query never fails for
a lack of rows.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.table_schemas import DAY, TABLES, table_schemas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["VIEWS", "folder_problem", "register_views"]

_COUNTS = "map<string, bigint>"
_LEDGER = {
    "captures": (
        "capture string, "
        "sources array<struct<path: string, size: bigint, mtime_ns: bigint, first_time: bigint, "
        "error: string>>, options string, run string, "
        "files array<struct<table: string, folder: string, name: string, rows: bigint>>, "
        f"rows {_COUNTS}, frames bigint, understood bigint, skipped {_COUNTS}, notices {_COUNTS}, "
        f"more {_COUNTS}, damage array<string>, tables array<string>, "
        "version string"
    ),
    "runs": (
        "name string, version string, inputs array<string>, options map<string, string>, "
        "tables array<string>, started timestamp, ended timestamp, captures bigint, unchanged bigint, "
        f"left_out bigint, frames bigint, understood bigint, rows {_COUNTS}, skipped {_COUNTS}, "
        "damage array<string>, warnings array<string>"
    ),
}
"""What a run notes down beside the tables, a JSON file each."""
VIEWS = (*TABLES, *_LEDGER)
"""The names of all views."""

_GLOB = re.compile(r"([\\*?\[\]{}])")


def register_views(spark: SparkSession, folder: str, statement: str = "") -> None:
    """Make each table below ``folder`` a view of its name, and what the runs noted: ``captures``, ``runs``.

    Every table has its columns and the partition ``day``, a date. With a ``statement`` only the views that it
    names are made, or all if it names none: Spark looks at every file of a table first. Raises MsmqWireError
    where the folder holds no output of a run.
    """
    problem = folder_problem(folder)
    if problem is not None:
        raise MsmqWireError(problem)
    named = set(re.findall(r"\w+", statement.lower()))
    for table in TABLES:
        if table in named or named.isdisjoint(VIEWS):
            _table(spark, folder, table).createOrReplaceTempView(table)
    for name, columns in _LEDGER.items():
        if name not in named and not named.isdisjoint(VIEWS):
            continue
        path = os.path.join(folder, name)
        # The files are written with indentation: a value spans lines.
        read = spark.read.schema(columns).option("multiLine", True)
        frame = read.json(_url(path)) if os.path.isdir(path) else spark.createDataFrame([], columns)
        frame.createOrReplaceTempView(name)


def folder_problem(folder: str) -> str | None:
    """Say why a folder cannot be asked, or None."""
    if not os.path.isdir(folder):
        return f"there is no folder {folder}"
    if not any(os.path.isdir(os.path.join(folder, view)) for view in VIEWS):
        return f"{folder} holds no tables: msmq-wire spark run --output {folder} makes them"
    return None


def _table(spark: SparkSession, folder: str, table: str) -> DataFrame:
    schema = _schema(table)
    path = os.path.join(folder, table)
    if not os.path.isdir(path):
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).parquet(_url(path))


def _schema(table: str) -> StructType:
    # pyspark is needed for this alone.
    from pyspark.sql.types import DateType

    from msmq_wire.spark.spark_schema import spark_schema

    return spark_schema(table_schemas()[table]).add(
        DAY, DateType(), True, {"comment": "Day of the time, UTC."}
    )


def _url(path: str) -> str:
    """A path as Spark reads it: on this file system, and no pattern."""
    return "file:" + _GLOB.sub(r"\\\1", os.path.abspath(path))
