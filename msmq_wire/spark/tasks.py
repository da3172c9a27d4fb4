"""Work for many items as tasks of Spark, with what each gives as soon as it has ended."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.accumulators import AccumulatorParam

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")

_POLL = 0.05
_FEW = 32
"""So many items are not worth a task."""
_TOGETHER = 256


class _Lists(AccumulatorParam[list[Any]]):
    """Lists, one behind the other."""

    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
        value1.extend(value2)
        return value1


def finished(spark: SparkSession, parts: Sequence[T], task: Callable[[T], R]) -> Iterator[R]:
    """Yield what ``task`` gives for each of the parts, a task of Spark for each, in the order they end.

    What Spark raises is raised here; who stops early cancels the tasks that are left.
    """
    context = spark.sparkContext
    # Spark counts what a task adds once, however often the task is tried.
    reported = context.accumulator([], _Lists())
    failed: list[BaseException] = []
    group = f"msmq-wire-{secrets.token_hex(8)}"

    def run() -> None:
        try:
            context.setJobGroup(group, "msmq-wire", interruptOnCancel=True)
            context.parallelize(parts, max(1, len(parts))).foreach(
                partial(_tell, task=task, reported=reported)
            )
        except BaseException as error:  # noqa: BLE001  (raised in the thread that asked)
            failed.append(error)

    work = threading.Thread(target=run, daemon=True)
    work.start()
    left = len(parts)
    try:
        while left:
            alive = work.is_alive()
            while reported.value:
                yield reported.value.pop(0)
                left -= 1
            if not alive and left:
                break
            work.join(_POLL if left else None)
    finally:
        if left:
            context.cancelJobGroup(group)
        work.join()
    if failed:
        raise failed[0]


def _tell(part: Any, task: Callable[[Any], Any], reported: Any) -> None:
    reported.add([task(part)])


def each(spark: SparkSession, items: Sequence[T], task: Callable[[T], R]) -> list[R]:
    """What ``task`` gives for each item, in their order: here where they are few, else by tasks."""
    if len(items) <= _FEW:
        return [task(item) for item in items]
    parts = [items[at : at + _TOGETHER] for at in range(0, len(items), _TOGETHER)]
    found = spark.sparkContext.parallelize(parts, len(parts)).map(partial(_all, task=task)).collect()
    return [one for part in found for one in part]


def _all(items: Sequence[Any], task: Callable[[Any], Any]) -> list[Any]:
    return [task(item) for item in items]
