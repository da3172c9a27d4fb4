"""The job: captures in, tables out, every capture once, whatever it is called.

The rule kept here: what a run costs grows with what is new. Tasks decode and write files; the driver commits
what has ended, whole captures at a time, so a run that is ended at any point leaves tables that are right.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from msmq_wire.capture.listing import list_files
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.spark.capture_job import CaptureTask, JobPlan, TaskResult, decode_captures
from msmq_wire.spark.planning import (
    files_again,
    refuse_twice,
    warnings_about,
    work_of,
)
from msmq_wire.spark.publishing import JobRun, Publisher, plain_value
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.shares import decode_all, divided
from msmq_wire.spark.task_rows import bundles
from msmq_wire.spark.tasks import core_count, finished
from msmq_wire.tables.store.store import Store
from msmq_wire.tables.table_schemas import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_TABLES = tuple(table for table in TABLES if table != "packets")
"""What is filled unless something else is asked for: packets repeat every byte of the captures."""

_SMALL = 64 << 10
"""What a capture counts for beside its bytes, when tasks are made."""
_EACH = 2
"""Tasks for each core, where captures are many or large enough."""
_LEAST = 4 << 20
"""Bytes that are worth files of their own."""
_ROUNDS = 10
"""How often captures are looked at again that other runs changed meanwhile."""


def run_job(
    spark: SparkSession,
    output: str,
    options: ReadOptions,
    *,
    tables: Iterable[str] = DEFAULT_TABLES,
    again: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    warn: Callable[[str], None] = lambda text: None,
) -> JobRun:
    """Fill the tables below ``output``, a folder or URL, with the captures that ``options`` name.

    A capture whose content the tables hold is left alone, whatever it is called, and whatever options or
    version it was read with, unless ``again``: then its rows are replaced. Of one that grew the rows are
    replaced, too. Tables that the output has are filled even if they are not asked for. ``tell`` is given a
    line of progress now and then, ``warn`` each of the `JobRun.warnings`, before anything is decoded. Raises
    MsmqWireError where ``output`` cannot be written, or it has a file as a part of another capture already;
    with ``onError=fail`` also where a file cannot be read.
    """
    started = datetime.now(UTC)
    store = Store(output)
    # Sessions need the steps of connections; these are no rows of messages.
    options = replace(options, streams=True, paths=tuple(map(_absolute, options.paths)))
    listing = list_files(options.paths, pattern=options.glob, recursive=options.recursive)
    if options.on_error == "fail":
        for file in listing.files:
            if file.error is not None:
                raise CaptureError(file.error)
    store.make()
    snapshot = store.snapshot()
    wanted = {*snapshot.tables, *tables}
    plan = JobPlan(
        place=store.place,
        options=options,
        tables=tuple(table for table in TABLES if table in wanted),
        run=f"{started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        key=_key(options),
    )
    refuse_twice(snapshot, listing.files, options.scope)
    work = work_of(spark, snapshot, listing.files, options.scope, again)
    warnings = () if again else tuple(warnings_about(snapshot, listing.files, plan, work))
    for text in warnings:
        warn(text)
    observed: Counter[str] = Counter()
    publisher = Publisher(store, plan, lambda text: tell(f"{text}, {observed_text(observed)}"))
    for _ in range(_ROUNDS):
        plan = publisher.begin(work, snapshot)
        decode = partial(
            finished,
            spark,
            task=partial(decode_captures, plan=plan),
            title="decode captures",
            measure=TaskResult.measures,
            observed=observed,
        )
        large, others = divided(work.todo, plan.tables, core_count(spark))
        for done in decode_all(decode, _parts(spark, others, options), large):
            publisher.take(done)
        publisher.flush()
        publisher.copies(work.copies)
        if not publisher.overtaken:
            break
        files = list_files(options.paths, pattern=options.glob, recursive=options.recursive).files
        snapshot = store.snapshot()
        lost = files_again(files, publisher.overtaken, options.scope)
        work = work_of(spark, snapshot, lost, options.scope, False)
    else:
        raise MsmqWireError(f"{output}: other runs changed the same captures {_ROUNDS} times")
    run = publisher.run(started, listing.left_out, warnings)
    store.add_run(msgspec.structs.asdict(run))
    return run


def _absolute(path: str) -> str:
    return path if not path or "://" in path else os.path.abspath(path)


def _parts(spark: SparkSession, todo: Sequence[CaptureTask], options: ReadOptions) -> list[list[CaptureTask]]:
    """What a task decodes each: some captures for every core, but few enough files for all of them.

    The largest come first: one that began last would keep one core at work alone.
    """
    if not todo:
        return []
    by_size = sorted(todo, key=lambda one: -one.capture.size)
    costs = [one.capture.size + _SMALL for one in by_size]
    most = sum(costs) // (_EACH * core_count(spark))
    return bundles(by_size, costs, min(max(most, _LEAST), options.split_bytes), opening=0)


def observed_text(observed: Counter[str]) -> str:
    """What Spark observed of the tasks that ended, in words."""
    text = count_text(observed["frames"], "frame")
    return f"{text}, {count_text(observed['errors'], 'error')}" if observed["errors"] else text


def _key(options: ReadOptions) -> str:
    """What stands for everything that changes rows; secrets are in it as the names of their files."""
    parts = {name: plain_value(getattr(options, name)) for name in _DECIDES}
    text = msgspec.json.encode(parts, order="deterministic", enc_hook=sorted)
    return hashlib.sha256(text).hexdigest()[:16]


_DECIDES = (
    "ports",
    "hosts",
    "since",
    "until",
    "scope",
    "payload",
    "frame",
    "followed",
    "nt_password_file",
    "nt_hash_file",
    "keytabs",
    "rsa_keys",
    "rsa_key_password_file",
)
