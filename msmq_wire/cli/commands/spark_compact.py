"""``msmq-wire spark compact``: merges small files of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from msmq_wire.cli.options import Quiet
from msmq_wire.cli.reporting import print_note
from msmq_wire.cli.store_options import TablesFolder, opened_store, size_of
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.units import size_text

if TYPE_CHECKING:
    from msmq_wire.tables.store.upkeep import Compaction

_WEEK = 168


def compact(
    tables: TablesFolder,
    target_size: Annotated[
        str,
        typer.Option(
            "--target-size",
            metavar="SIZE",
            help="Bytes that files have then, as 128m.",
        ),
    ] = "128m",
    hours: Annotated[
        int,
        typer.Option(
            "--older-than",
            metavar="HOURS",
            min=0,
            help="Remove rows that do not count only of runs that began so many hours ago.",
        ),
    ] = _WEEK,
    quiet: Quiet = False,
) -> None:
    """Merge small files, and remove rows that do not count.

    Queries and runs then have fewer files to open. Rows that do not count are those of runs that were ended,
    and of captures that were replaced. They stay while a run or a query that needs them may be at work: no
    run takes more than HOURS. Runs and queries may go on meanwhile. Where a run changed a table at the same
    time, the next compact merges its files. The old files stay for who still reads them, until msmq-wire
    spark vacuum deletes them. Spark is not started.

    Exit status: 0 done, also where nothing was small; 1 DIR holds no tables or cannot be written, or the
    extra spark is not installed; 2 bad usage.

    Examples:

        msmq-wire spark compact --tables tables

        msmq-wire spark compact --tables s3://bucket/tables --target-size 256m
    """
    target = size_of(target_size, "--target-size")
    with opened_store(tables) as store:
        from msmq_wire.tables.store.upkeep import compact as put_together

        done = put_together(store, hours=hours, target=target, tell=_nothing if quiet else print_note)
    if not quiet:
        print_note(_summary(done))


def _summary(done: Compaction) -> str:
    text = "nothing to put together"
    if done.before:
        text = (
            f"{count_text(done.before, 'file')} of {size_text(done.bytes_before)} are "
            f"{count_text(done.after, 'file')} of {size_text(done.bytes_after)}"
        )
    if done.removed:
        text += f"; {count_text(done.removed, 'row')} removed that did not count"
    return text


def _nothing(text: str) -> None:
    """Where no progress is wanted."""
