"""Statements over data sources that read only the columns that they need.

The rule kept here: Spark's optimizer says which columns a statement needs. It tells a Python data source
nothing of that, so the statement is planned over empty Parquet files first.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LENGTH = "spark.sql.maxMetadataStringLength"


class Load(Protocol):
    """Gives the rows of a view with all columns, or with those that are named and maybe more."""

    def __call__(self, columns: Sequence[str] | None = None) -> DataFrame: ...


def ask(spark: SparkSession, statement: str, views: Mapping[str, Load]) -> DataFrame:
    """The rows of a statement over ``views``, each of which reads only the columns that it needs.

    The views stay, with all columns. Raises what Spark raises for a statement that it does not understand.
    """
    whole = {name: load() for name, load in views.items()}
    try:
        for name, needed in _needed(spark, statement, whole).items():
            _only(views[name](needed), whole[name], needed).createOrReplaceTempView(name)
        return spark.sql(statement)
    finally:
        for name, rows in whole.items():
            rows.createOrReplaceTempView(name)


def _needed(spark: SparkSession, statement: str, views: Mapping[str, DataFrame]) -> Mapping[str, list[str]]:
    """The columns that a statement needs of views, in their order; a view that its plan lacks is left out."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import StructType

    found: dict[str, set[str]] = defaultdict(set)
    length = spark.conf.get(_LENGTH) or ""
    with (
        tempfile.TemporaryDirectory() as folder,
        # A server on another machine has no such folder; an error in the statement is raised later.
        contextlib.suppress(AnalysisException),
        contextlib.redirect_stdout(io.StringIO()) as plan,
    ):
        for name, rows in views.items():
            (Path(folder) / name).mkdir()
            empty = spark.read.schema(rows.schema).parquet(f"file:{folder}/{name}")
            empty.createOrReplaceTempView(name)
        spark.conf.set(_LENGTH, 1 << 20)
        spark.sql(statement).explain()
    spark.conf.set(_LENGTH, length)
    for scan in plan.getvalue().split("FileScan parquet ")[1:]:
        # Literals of the statement may have lines, and look like anything.
        name = scan.partition(f"[file:{folder}/")[2].partition("]")[0]
        schema = scan.rpartition(", ReadSchema: ")[2].partition("\n")[0]
        if name in views:
            pruned: Any = StructType.fromDDL(schema) if schema.startswith("struct<") else views[name].schema
            found[name] |= set(pruned.names)
    return {name: [one for one in views[name].columns if one in names] for name, names in found.items()}


def _only(rows: DataFrame, whole: DataFrame, needed: Sequence[str]) -> DataFrame:
    """Rows with all columns, of which only some can be asked for."""
    from pyspark.sql.functions import col, lit, raise_error

    columns = [
        col(one.name)
        if one.name in needed
        else raise_error(lit(f"{one.name} was not read"))
        .cast(one.dataType)
        .alias(one.name, metadata=one.metadata)
        for one in whole.schema
    ]
    return rows.select(columns)
