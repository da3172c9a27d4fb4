"""Stores with captures in them, made in this process: what the job does, without Spark."""

from __future__ import annotations

import secrets
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msmq_wire.capture.listing import Capture, list_files
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.tables.store.identity import head_of
from msmq_wire.tables.store.snapshot import Snapshot
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.table_schemas import TABLES
from tests.needs import need

__all__ = ["fill", "rows_of", "run_name"]

WRITTEN = tuple(table for table in TABLES if table != "packets")


def run_name(now: datetime | None = None) -> str:
    """The name of a run, as the job gives one."""
    return f"{now or datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def fill(output: Path | str, *paths: Path, each: int = 1, run: str = "", key: str = "a key") -> Store:
    """Add captures to the tables below ``output``, ``each`` so many in files and a commit of their own."""
    need("pyspark")
    # What the job does imports pyspark, though it starts no Spark.
    from msmq_wire.spark.capture_job import CaptureTask, JobPlan, decode_captures

    store = Store(str(output))
    store.make()
    run = run or run_name()
    plan = JobPlan(place=store.place, options=ReadOptions(streams=True), tables=WRITTEN, run=run, key=key)
    files = list_files([str(path) for path in paths]).files
    for at in range(0, len(files), each):
        todo = [
            CaptureTask(
                capture=Capture(name=file.path, files=(file,)), heads=(head_of(file),), contents=(None,)
            )
            for file in files[at : at + each]
        ]
        done = decode_captures(todo, plan)
        store.publish(
            Change(
                run=run,
                number=at + 1,
                files=done.files,
                tables=WRITTEN,
                captures=[entry.row() for entry in done.entries],
                sources=[{**row, "run": run} for entry in done.entries for row in entry.sources],
            )
        )
    return store


def rows_of(snapshot: Snapshot, table: str, *columns: str) -> Counter[str]:
    """The rows of a table as texts, each with how often it is there."""
    found: Any = snapshot.dataset(table)
    rows = [] if found is None else found.to_table(columns=list(columns) or None).to_pylist()
    return Counter(map(repr, rows))
