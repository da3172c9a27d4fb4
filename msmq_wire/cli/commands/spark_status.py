"""``msmq-wire spark status``: prints what the tables contain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from msmq_wire.cli.formats import TableFormat
from msmq_wire.cli.options import Color, ColorOption, screen_for
from msmq_wire.cli.render.screen import Screen
from msmq_wire.cli.render.table import Table
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.cli.row_writers import JsonWriter
from msmq_wire.cli.spark_rows import plain_value
from msmq_wire.cli.store_options import opened_store
from msmq_wire.records.display import Display
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.units import size_text

if TYPE_CHECKING:
    from msmq_wire.tables.store.upkeep import StoreStatus

_RUNS = 5
_KINDS = 10
_MANY = 64
"""So many small files of a table are worth a word."""


def status(
    tables: Annotated[
        str,
        typer.Argument(
            metavar="DIR", help="The folder, or URL, that msmq-wire spark run wrote to.", show_default=False
        ),
    ],
    format_: Annotated[TableFormat, typer.Option("--format", help="How to print it.")] = TableFormat.TABLE,
    verify: Annotated[
        bool, typer.Option("--verify", help="Also read all files, and say which are damaged.")
    ] = False,
    color: ColorOption = Color.AUTO,
) -> None:
    """Show what the tables hold and how the latest runs ended.

    It shows captures, rows, files and bytes, and how they were read. A row counts if captures has its capture
    with its run. The column "others" has the rows that do not count: of runs that were ended, and of captures
    that were replaced. Small files have less than 64 MB. msmq-wire spark compact puts them together.

    With --verify all files are read. They must be there with the sizes and rows that the log of their table
    says, each page must have its checksum, and captures must have as many rows as when they were written.

    With --format jsonl each line has what it is about: table, captures (with the same version and options),
    run, damage. Spark is not started.

    Exit status: 0 done; 1 DIR holds no tables, --verify found damage, or the extra spark is not installed; 2
    bad usage.

    Examples:

        msmq-wire spark status tables

        msmq-wire spark status tables --verify

        msmq-wire spark status s3://bucket/tables --format jsonl
    """
    with opened_store(tables) as store:
        from msmq_wire.tables.store.upkeep import status as display
        from msmq_wire.tables.store.upkeep import verify as check

        found = display(store, runs=_RUNS)
        if format_ is TableFormat.JSONL:
            _print_lines(found)
        else:
            _print_table(found, screen_for(color))
        count = 0
        for count, damage in enumerate(check(store) if verify else (), 1):  # noqa: B007  (it is used below)
            if format_ is TableFormat.JSONL:
                JsonWriter()({"about": "damage", "what": damage})
            print_error(damage)
    if count:
        raise typer.Exit(1)
    if verify:
        print_note("no damage found")


def _print_lines(found: StoreStatus) -> None:
    write = JsonWriter()
    for about, rows in (("table", found.tables), ("captures", found.kinds), ("run", found.runs)):
        for row in rows:
            values = {name: plain_value(getattr(row, name)) for name in row.__struct_fields__}
            write({"about": about, **values})


def _print_table(found: StoreStatus, screen: Screen) -> None:
    def line(text: str) -> None:
        screen.line([(screen.safe(text), "")])

    line(f"{found.place}: {count_text(found.captures, 'capture')}, {size_text(_bytes(found))}")
    line("")
    numbers: tuple[tuple[str, Any], ...] = (
        ("rows", lambda one: one.rows),
        ("others", lambda one: one.others),
        ("files", lambda one: one.files),
        ("small", lambda one: one.small),
        ("size", lambda one: size_text(one.bytes)),
        ("version", lambda one: one.version),
    )
    columns = [Display("table", text=lambda row: row["of"].table)]
    columns += [Display(name, text=_cell(value), number=True) for name, value in numbers]
    table = Table(screen, columns)
    for one in found.tables:
        if one.version >= 0:
            table.add({"of": one})
    table.finish()
    line("")
    for kind in found.kinds[:_KINDS]:
        damaged = f", {kind.damaged} of them damaged" if kind.damaged else ""
        line(
            f"{count_text(kind.captures, 'capture')} by version {kind.version}, "
            f"scope {kind.scope}, options {kind.options}{damaged}"
        )
    for run in found.runs:
        damaged = f", {run.damaged} damaged" if run.damaged else ""
        line(
            f"run {plain_value(run.started)} to {plain_value(run.ended)}: "
            f"{count_text(run.captures, 'capture')} decoded, {run.unchanged} there already{damaged}"
        )
    if any(one.small >= _MANY for one in found.tables):
        line("many files are small: msmq-wire spark compact puts them together")


def _cell(value: Any) -> Any:
    def cell(row: Any) -> Any:
        return value(row["of"])

    return cell


def _bytes(found: StoreStatus) -> int:
    return sum(one.bytes for one in found.tables)
