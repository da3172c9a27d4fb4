"""``msmq-wire spark vacuum``: deletes files that no reader needs."""

from __future__ import annotations

from typing import Annotated

import typer

from msmq_wire.cli.options import Quiet
from msmq_wire.cli.reporting import print_error, print_note
from msmq_wire.cli.store_options import TablesFolder, opened_store
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.units import size_text

_WEEK = 168
_DAY = 24


def vacuum(
    tables: TablesFolder,
    hours: Annotated[
        int,
        typer.Option(
            "--older-than",
            metavar="HOURS",
            min=0,
            help="Delete only what no reader has needed for so many hours.",
        ),
    ] = _WEEK,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also with fewer than 24 hours: neither a run nor a reader is at work."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Delete files that no table uses any more.

    These are files that were replaced, and files that interrupted runs left. What counts now is never
    deleted. A run, and a compaction, writes files that are in no table until it commits them, and a query
    reads files that may have been replaced meanwhile: with fewer HOURS than they take, they fail. So fewer
    than 24 need --force, and what you know of your runs. Rows of captures that were forgotten or replaced are
    on the disk until this deletes them. Spark is not started.

    Exit status: 0 done, also where there was nothing; 1 DIR holds no tables or cannot be written, or the
    extra spark is not installed; 2 bad usage.

    Examples:

        msmq-wire spark vacuum --tables tables --dry-run

        msmq-wire spark vacuum --tables tables --older-than 48
    """
    if hours < _DAY and not dry:
        text = "a run or a reader that is at work may lose files"
        if not force:
            raise typer.BadParameter(
                f"with fewer than {_DAY} hours {text}: --force deletes them all the same",
                param_hint="--older-than",
            )
        print_error(f"WARNING: {text}")
    with opened_store(tables) as store:
        found = store.vacuum(hours, dry=dry)
    if not quiet:
        done = "would be deleted" if dry else "deleted"
        print_note(f"{count_text(len(found), 'file')} of {size_text(sum(found.values()))} {done}")
