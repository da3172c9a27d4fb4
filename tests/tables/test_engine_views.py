"""Views for other engines are SQL of theirs, and show the rows that count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.places import Place
from msmq_wire.tables.engine_views import ENGINES, engine_views
from msmq_wire.tables.store.store import Store
from msmq_wire.tables.table_schemas import BOOKS, TABLES
from tests.tables.store.filled_stores import fill

pytestmark = pytest.mark.needs("duckdb", "duckdb-extension-delta", "sqlglot", "pyspark")

CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
ODD = "s3://bucket/it's `odd` -- %20"


@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_has_a_view_of_each_table_that_begins_with_captures(engine: str) -> None:
    import sqlglot
    from sqlglot import exp

    text = engine_views(engine, Place(ODD), (*TABLES, *BOOKS))
    views: dict[str, Any] = {}
    for statement in sqlglot.parse(text, read=engine):
        if isinstance(statement, exp.Create):
            views[statement.this.name] = statement
    assert next(iter(views)) == "captures"
    assert {*views} == {*TABLES, *BOOKS}
    for name, view in views.items():
        joins = view.expression.args.get("joins") or []
        assert len(joins) == (name not in ("captures", "runs"))
        if joins:
            tables = [one.sql(engine) for one in view.find_all(exp.Table)][1:]
            assert view.expression.args["from_"].this.name == "captures"
            assert {one.sql() for one in joins[0].find_all(exp.EQ)} == {
                "t.capture = c.capture",
                "t.run = c.run",
            }
            assert tables
    assert text.count("it''s `odd`" if engine != "spark" else "it's ``odd``") == len(views)


@pytest.mark.slow
def test_duckdb_shows_the_rows_that_count(tmp_path: Path) -> None:
    import duckdb
    import duckdb_extension_delta  # type: ignore[import-untyped]  # it has no stubs

    output = tmp_path / "it's (odd) {é}?"
    paths = [CAPTURES / name for name in ("demo.pcap", "path_ipv6.pcap")]
    fill(output, *paths)
    # Captures that are decoded again: the rows of the first run count no more.
    store = fill(output, paths[0])
    snapshot = store.snapshot()
    tables = [table for table in (*TABLES, *BOOKS) if snapshot.files(table)]
    [extension] = Path(duckdb_extension_delta.__file__).parent.rglob("*.duckdb_extension")
    with duckdb.connect() as connection:
        text = engine_views("duckdb", Store(str(output)).place, tables)
        connection.execute(text.replace("LOAD delta", f"LOAD '{extension}'"))
        for table in tables:
            [(count,)] = connection.sql(f"SELECT count(*) FROM {table}").fetchall()
            assert count == snapshot.dataset(table).count_rows()
        labels = connection.sql("SELECT capture, id, label FROM messages ORDER BY ALL").fetchall()
    rows = snapshot.rows("messages", ["capture", "id", "label"]).to_pylist()
    assert labels == sorted((tuple(row.values()) for row in rows), key=lambda row: row[:2])
    assert snapshot.everything("messages").count_rows() > len(rows)
