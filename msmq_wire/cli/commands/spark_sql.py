"""``msmq-wire spark sql``: runs SQL over the tables of ``msmq-wire spark run``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from msmq_wire.cli.formats import RowFormat
from msmq_wire.cli.options import Color, ColorOption, Quiet, screen_for
from msmq_wire.cli.render.safe_text import escaped
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.table import Table, TableRow
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.cli.row_writers import CsvWriter, JsonWriter
from msmq_wire.cli.spark_rows import cell_of, distinct_names, plain_value
from msmq_wire.cli.spark_session import DriverMemory, Master, check_spark, running_session
from msmq_wire.cli.store_options import errors_told
from msmq_wire.records.display import Display
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.spark.queries import QUERIES, query_problem
from msmq_wire.spark.session import spark_problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BAD_USAGE = 2
_LIMIT = 1000
_SMALLEST = 8
_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")


class Engine(StrEnum):
    """An engine that reads Delta tables."""

    DUCKDB = "duckdb"
    SPARK = "spark"
    TRINO = "trino"


def sql(
    statement: Annotated[
        str | None, typer.Argument(metavar="SQL", help="What to ask.", show_default=False)
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(
            "--tables",
            metavar="DIR",
            help="The folder, or URL, that msmq-wire spark run wrote to.",
            show_default=False,
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="NAME", help="Ask what has a name; see --list.", show_default=False),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List what has a name; jsonl and csv show its SQL too.")
    ] = False,
    views: Annotated[
        Engine | None,
        typer.Option(
            "--views",
            help="Print the SQL that makes the tables views of another engine.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[RowFormat, typer.Option("--format", help="How to print rows.")] = RowFormat.TABLE,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="Rows to print at most; 0 prints all.")
    ] = _LIMIT,
    master: Master = None,
    driver_memory: DriverMemory = None,
    color: ColorOption = Color.AUTO,
    quiet: Quiet = False,
) -> None:
    """Query the tables in SQL.

    The views are packets, messages, calls, sessions, lives, findings, anomalies and errors, each with the
    column day; captures, sources and runs tell what was read when. A table that was not filled is empty.
    DESCRIBE messages names its columns. Only SELECT, WITH, SHOW, DESCRIBE and EXPLAIN are run, so nothing is
    changed.
    Times are UTC; bytes are printed in base64. With --views no Java is needed.

    Exit status: 0 done, rows or none; 1 DIR holds no tables, the query failed while it ran, or Spark or Java
    is missing; 2 bad usage, SQL that is wrong among it.

    Examples:

        msmq-wire spark sql --tables tables --query top_queues

        msmq-wire spark sql --tables tables "SELECT src, count(*) FROM messages GROUP BY src"

        msmq-wire spark sql --tables tables "SELECT * FROM findings" --limit 0 --format csv > findings.csv

        msmq-wire spark sql --tables tables --views duckdb > views.sql
    """
    if list_:
        if statement is not None or query is not None:
            raise typer.BadParameter("--list asks nothing")
        _list_queries(format_, color)
        return
    if views is not None and (statement is not None or query is not None):
        raise typer.BadParameter("--views asks nothing")
    text = "" if views is not None else _statement(statement, query)
    if tables is None:
        raise typer.BadParameter("name the folder of the tables", param_hint="--tables")
    check_spark(master, driver_memory)
    from msmq_wire.tables.engine_views import engine_views
    from msmq_wire.tables.store.store import Store
    from msmq_wire.tables.table_schemas import BOOKS, TABLES

    with errors_told():
        snapshot = Store(tables).snapshot()
        if views is not None:
            there = [table for table in (*TABLES, *BOOKS) if snapshot.table(table) is not None]
            sys.stdout.write(engine_views(views, snapshot.place, there))
            return
    with running_session(master, driver_memory) as spark:
        _print(_ask(spark, tables, text), format_, limit, color, quiet=quiet)


def _list_queries(format_: RowFormat, color: Color) -> None:
    rows = [{"name": one.name, "meaning": one.meaning, "sql": one.sql} for one in QUERIES.values()]
    names = ["name", "meaning", "sql"][: 2 if format_ is RowFormat.TABLE else 3]
    _write(rows, format_, screen_for(color), names)


def _statement(statement: str | None, query: str | None) -> str:
    """What is asked. Raises typer.BadParameter."""
    if (statement is None) == (query is None):
        raise typer.BadParameter("ask one thing: SQL, or --query with a name (--list shows them)")
    if query is not None:
        if query not in QUERIES:
            raise typer.BadParameter(
                f"{query!r} is no query; there are {', '.join(QUERIES)}", param_hint="--query"
            )
        return QUERIES[query].sql
    assert statement is not None
    problem = query_problem(statement)
    if problem is not None:
        raise typer.BadParameter(problem, param_hint="SQL")
    return statement


def _ask(spark: SparkSession, tables: str, text: str) -> DataFrame:
    """The rows of a query, none of them read; ends with status 2 where Spark does not understand it."""
    from pyspark.errors import AnalysisException, ParseException

    from msmq_wire.spark.table_views import ask

    try:
        return ask(spark, tables, text)
    except (AnalysisException, ParseException) as error:
        print_error(f"SQL: {spark_problem(error)}")
        raise typer.Exit(_BAD_USAGE) from None


def _print(frame: DataFrame, format_: RowFormat, limit: int, color: Color, *, quiet: bool) -> None:
    names = distinct_names(frame.columns)
    numbers = frozenset(
        name
        for name, field in zip(names, frame.schema.fields, strict=True)
        if field.dataType.typeName() in _NUMBERS
    )
    found = frame.limit(limit + 1).collect() if limit else frame.toLocalIterator()
    shown = 0

    def rows() -> Iterable[Mapping[str, Any]]:
        nonlocal shown
        for row in found:
            if limit and shown == limit:
                return
            shown += 1
            yield dict(zip(names, map(plain_value, row), strict=True))

    screen = screen_for(color)
    if format_ is RowFormat.TABLE and names == ["plan"]:
        for row in rows():
            for line in str(row["plan"]).splitlines():
                screen.line([(screen.safe(line), "")])
        return
    _write(rows(), format_, screen, names, numbers)
    if not limit or len(found) <= limit:  # type: ignore[arg-type]  # with a limit it is a list
        if not quiet:
            print_note(count_text(shown, "row") if shown else "no rows")
        return
    # Told with --quiet too: an answer that is cut must not pass for a whole one.
    print_note(f"{count_text(shown, 'row')} shown, {frame.count() - shown} more are not: --limit 0 shows all")


def _write(
    rows: Iterable[Mapping[str, Any]],
    format_: RowFormat,
    screen: Screen,
    names: Sequence[str],
    numbers: frozenset[str] = frozenset(),
) -> None:
    if format_ is RowFormat.JSONL:
        write = JsonWriter()
        for row in rows:
            write(dict(row))
        return
    cells = ({name: cell_of(row[name]) for name in names} for row in rows)
    if format_ is RowFormat.CSV:
        titles = {name: escaped(name) for name in names}
        write = CsvWriter(list(titles.values()))
        for row in cells:
            write({titles[name]: value for name, value in row.items()})
        return
    table = Table(screen, [_column(screen, name, name in numbers) for name in names])
    for row in cells:
        table.add(row)
    table.finish()


def _column(screen: Screen, name: str, number: bool) -> Display:
    cell: Callable[[TableRow], Any] = lambda row: row[name]  # noqa: E731  (a value of its own)
    smallest = None if number else _SMALLEST
    return Display(screen.safe(name), smallest=smallest, text=cell, number=number)
