"""``msmq-wire spark export``: writes the tables as plain Parquet."""

from __future__ import annotations

from typing import Annotated

import typer

from msmq_wire.cli.options import Quiet
from msmq_wire.cli.reporting import print_note
from msmq_wire.cli.store_options import TablesFolder, opened_store
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.units import size_text


def export(
    tables: TablesFolder,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FOLDER_OR_URL",
            help="Where to write; it must be empty, or not there.",
            show_default=False,
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="Copy only this table. May be repeated.",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Copy the tables to plain Parquet files.

    Programs that read files and know no log can use the copy. Each table is a folder with folders day=... of
    Parquet files; captures, sources and runs have files alone. A table without rows is an empty folder. It is
    one snapshot: every capture is whole in it, whatever runs do meanwhile, and only rows that count are. The
    copy knows nothing of later runs. Spark is not started.

    Exit status: 0 done; 1 DIR holds no tables, or not this one, FOLDER_OR_URL holds something or cannot be
    written, or the extra spark is not installed; 2 bad usage.

    Examples:

        msmq-wire spark export --tables tables --to snapshot

        msmq-wire spark export --tables tables --to s3://bucket/snapshot --table messages
    """
    with opened_store(tables) as store:
        from msmq_wire.tables.store.upkeep import export as copy

        done = copy(store, to, names or ())
    if not quiet:
        rows = ", ".join(f"{count} {table}" for table, count in done.rows.items())
        print_note(f"{count_text(done.files, 'file')} of {size_text(done.bytes)} in {to}; rows: {rows}")
