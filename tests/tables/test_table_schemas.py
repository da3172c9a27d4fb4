"""Every table has one schema, which says what its columns mean and which Spark can read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.detection import Finding
from msmq_wire.records.join_keys import JoinKeys
from msmq_wire.sessions import MessageLife, Session
from msmq_wire.tables.spark_types import TIME
from msmq_wire.tables.table_schemas import (
    BOUNDED,
    DAY,
    STORIES,
    TABLES,
    delta_schema,
    file_schema,
    table_schemas,
)


def test_there_is_a_schema_for_each_table() -> None:
    assert tuple(table_schemas()) == TABLES
    assert set(STORIES) < set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_names_its_capture_and_has_a_time_to_be_partitioned_by(table: str) -> None:
    schema = table_schemas()[table]
    assert schema.names[0] == "capture"
    assert schema.field("capture").type == pa.string()
    assert schema.field("time").type == TIME
    assert DAY not in schema.names
    assert len(set(map(str.lower, schema.names))) == len(schema)


@pytest.mark.parametrize("table", ["sessions", "lives", "findings", "anomalies", "errors", "packets"])
def test_every_column_says_what_it_is(table: str) -> None:
    assert all((one.metadata or {}).get(b"doc") for one in table_schemas()[table])


def plain(kind: Any) -> str:
    """A type without what Spark calls otherwise, or does not know of the inside of columns."""
    return str(kind).replace(" not null", "").replace("list<element:", "list<item:")


@pytest.mark.needs("pyspark")
@pytest.mark.parametrize("table", TABLES)
def test_spark_reads_what_arrow_writes(table: str) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    from msmq_wire.spark.spark_schema import spark_schema

    schema = table_schemas()[table]
    again = to_arrow_schema(spark_schema(schema), timezone="UTC")
    assert again.names == schema.names
    for one, other in zip(schema, again, strict=True):
        assert plain(one.type) == plain(other.type)


def test_values_that_are_told_have_a_column_for_each_field() -> None:
    sessions, lives, findings = (table_schemas()[name] for name in STORIES)
    assert set(sessions.names) - {"time"} == set(Session.__struct_fields__) | {"capture"}
    assert set(lives.names) - {"time", "capture"} == set(MessageLife.__struct_fields__)
    # Where the cause was seen stands in the finding that tells it.
    renamed = {"id": "rule", "cause": "group"}
    fields = {renamed.get(name, name) for name in Finding.__struct_fields__} - {"first", "answered"}
    assert set(findings.names) - {"time", "capture", "src", "dst", *JoinKeys._fields} == fields


@pytest.mark.parametrize("table", TABLES)
def test_what_has_bounds_is_among_the_columns_that_readers_keep_them_of(table: str) -> None:
    """Spark and deltalake read the statistics of the first 32 columns."""
    names = file_schema(table).names
    assert names[:2] == ["capture", "run"]
    assert all(names.index(one) < 32 for one in BOUNDED if one in names)
    assert delta_schema(table).names == [*names, DAY]
