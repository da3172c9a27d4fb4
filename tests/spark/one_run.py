"""Runs in processes of their own, without Java, each ended with SIGKILL at one of its steps.

A step is what changes a store: a folder or a file that is written, a commit.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
from deltalake import DeltaTable

from msmq_wire.capture.places import Place
from msmq_wire.spark import tasks
from msmq_wire.spark.job import DEFAULT_TABLES, run_job
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.tables.store import store
from msmq_wire.tables.store.upkeep import forget

__all__ = ["change_everything", "killed_runs", "no_java", "run"]

STEPS = {
    "create": (DeltaTable, "create"),
    "commit": (DeltaTable, "create_write_transaction"),
    "append": (store, "write_deltalake"),
    "make folder": (Place, "make_folder"),
    "make file": (pq.ParquetWriter, "__init__"),
    "write file": (pq.ParquetWriter, "write_table"),
    "end file": (pq.ParquetWriter, "close"),
}
"""What is wrapped, by the name of the step."""


def one_after_the_other(spark: Any, parts: Sequence[Any], task: Any, measure: Any) -> Any:
    """In place of `msmq_wire.spark.tasks.run_wave`: every part is done here."""
    return [task(one) for one in parts], {}


def no_java() -> Any:
    """What the job needs of a session, in this process."""
    tasks.run_wave = one_after_the_other
    return SimpleNamespace(sparkContext=Mock(defaultParallelism=2))


def run(
    output: str,
    *paths: str | Path,
    tables: Sequence[str] = DEFAULT_TABLES,
    again: bool = False,
    **options: Any,
) -> Any:
    """Fill tables with captures, without Java."""
    asked = ReadOptions(paths=tuple(map(str, paths)), **options)
    return run_job(no_java(), output, asked, tables=tables, again=again)


def change_everything(folder: Path, output: str, tables: Sequence[str]) -> None:
    """Add and replace what is in ``in``, read ``again.pcap`` again without payloads, forget ``gone.pcap``."""
    run(output, folder / "in", tables=tables)
    run(output, folder / "again.pcap", tables=tables, again=True, payload=False)
    there = store.Store(output)
    gone = str(folder / "gone.pcap")
    # A run that was ended there may have done it.
    if gone in there.snapshot().held().column("capture").to_pylist():
        forget(there, [gone])


def _count_steps(last: int) -> list[str]:
    """List the names of the steps from now on; the process ends in place of the one at ``last``."""
    met: list[str] = []

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **more: Any) -> Any:
            if len(met) == last:
                os.kill(os.getpid(), signal.SIGKILL)
            met.append(name)
            return call(*args, **more)

        return step

    for name, (owner, attribute) in STEPS.items():
        call = getattr(owner, attribute)
        is_bound = attribute == "create"
        setattr(owner, attribute, staticmethod(counted(name, call)) if is_bound else counted(name, call))
    return met


def killed_runs(folder: str, before: str, outputs: str, tables: Sequence[str], lasts: Sequence[int]) -> None:
    """For each of ``lasts`` copy the store ``before`` and change everything in it until that step.

    With -1 it is not ended, and says in ``steps.json`` which steps it made.
    """
    for last in lasts:
        output = outputs.format(last)
        shutil.copytree(before, output)
        child = os.fork()
        if not child:
            met = _count_steps(last)
            change_everything(Path(folder), output, tables)
            Path(outputs.format("steps.json")).write_text(json.dumps(met))
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert status == (0 if last < 0 else signal.SIGKILL), f"the run until step {last} ended with {status}"


if __name__ == "__main__":
    what, asked = sys.argv[1], json.loads(sys.argv[2])
    if what == "kill":
        killed_runs(**asked)
    else:
        made = run(asked["output"], *map(Path, asked["paths"]), tables=asked["tables"], again=asked["again"])
        print(json.dumps({"captures": made.captures, "unchanged": made.unchanged}))
