"""``msmq-wire spark compact``: merges small files of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from msmq_wire.cli.options import Quiet
from msmq_wire.cli.reporting import print_note
from msmq_wire.cli.spark_session import DriverMemory, Master, check_spark, running_session
from msmq_wire.cli.store_options import TablesFolder, errors_told, size_of
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.units import size_text

if TYPE_CHECKING:
    from msmq_wire.spark.compaction import Compaction


def compact(
    tables: TablesFolder,
    target_size: Annotated[
        str,
        typer.Option(
            "--target-size",
            metavar="SIZE",
            help="Bytes that files have then, as 128m; those of half of it and more stay as they are.",
        ),
    ] = "128m",
    master: Master = None,
    driver_memory: DriverMemory = None,
    quiet: Quiet = False,
) -> None:
    """Merge small files of all tables.

    Queries and runs then have fewer files to open. No row changes. Files of one day are put together,
    neighbours by the names of their captures, a task for each new file. Runs and queries may go on meanwhile:
    where a run replaced one of the files, what was made of them is thrown away, and the next time finds what
    is left. The old files stay for who still reads them, until msmq-wire spark vacuum deletes them.

    Exit status: 0 done, also where nothing was small; 1 DIR holds no tables or cannot be written, or Spark or
    Java is missing; 2 bad usage.

    Examples:

        msmq-wire spark compact --tables tables

        msmq-wire spark compact --tables s3://bucket/tables --target-size 256m --master spark://host:7077
    """
    target = size_of(target_size, "--target-size")
    check_spark(master, driver_memory)
    from msmq_wire.tables.store.store import Store

    with errors_told():
        store = Store(tables)
        store.snapshot()
    with running_session(master, driver_memory, quiet=quiet) as spark:
        from msmq_wire.spark.compaction import compact as put_together

        done = put_together(spark, store, target=target, tell=_nothing if quiet else print_note)
    if not quiet:
        print_note(_summary(done))


def _summary(done: Compaction) -> str:
    if not done.before and not done.dropped:
        return "nothing to put together"
    text = (
        f"{count_text(done.before, 'file')} of {size_text(done.bytes_before)} are "
        f"{count_text(done.after, 'file')} of {size_text(done.bytes_after)}"
    )
    more = f"; {count_text(done.dropped, 'file')} left, because others changed them meanwhile"
    return text + (more if done.dropped else "")


def _nothing(text: str) -> None:
    """Where no progress is wanted."""
