"""Work for many items as tasks of Spark, classic or Connect: `finished` and `each`.

The rule kept here: one part is one partition, and so one task. Waves of tasks overlap, so that no core waits
for the last task of a wave, and what a wave gave can be used while others run.
"""

from __future__ import annotations

import pickle
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")

MEASURES = ("frames", "bytes", "errors")
"""What is observed of a wave, as metrics of its query: the tab SQL of Spark's UI shows them."""
_RESULT = pa.schema([*((name, pa.int64()) for name in MEASURES), ("result", pa.binary())])
_RESULT_DDL = ", ".join(f"{name} bigint" for name in MEASURES) + ", result binary"
_IN_FLIGHT = 2
"""Tasks for each core that are handed to Spark at a time."""
_WAVES = 16
"""Waves at a time, at most: each is a thread here."""
_AGAIN = 0.5
"""Seconds between two attempts to interrupt waves."""
_FEW = 32
"""So many items are not worth a task."""
_TOGETHER = 256


def _context_of(spark: SparkSession) -> SparkContext | None:
    """The context of a classic session; None on Spark Connect, which has none."""
    context: SparkContext | None = getattr(spark, "sparkContext", None)
    return context


def core_count(spark: SparkSession) -> int:
    """The tasks that run at a time, as far as Spark knows of its machines by now."""
    context = _context_of(spark)
    if context is not None:
        return max(1, context.defaultParallelism)
    from pyspark.sql import functions

    # A range has a partition for each core unless it is told otherwise.
    partitions = spark.range(0, 1 << 16).select(functions.spark_partition_id().alias("number"))
    found = partitions.agg(functions.max("number")).collect()
    return int(found[0][0]) + 1


def finished(
    spark: SparkSession,
    parts: Sequence[T],
    task: Callable[[T], R],
    *,
    title: str = "tasks",
    measure: Callable[[R], Mapping[str, int]] | None = None,
    observed: Counter[str] | None = None,
) -> Iterator[R]:
    """Yield what ``task`` gives for each of the parts, a task of Spark for each, wave by wave as they end.

    ``title`` says in the UI what is done with the items of the parts. ``measure`` counts the `MEASURES` of a
    result; Spark adds them up, and ``observed`` has the sums of the waves that ended. What Spark raises is
    raised here; who stops early interrupts the tasks that are left.
    """
    if not parts:
        return
    most = _IN_FLIGHT * core_count(spark)
    size = -(-most // _WAVES)
    waves = [parts[at : at + size] for at in range(0, len(parts), size)]
    jobs = _Jobs(spark, title, sum(map(_items_in, parts)))
    pool = ThreadPoolExecutor(min(len(waves), _WAVES, most), thread_name_prefix="msmq-wire")
    running: set[Future[tuple[list[R], Mapping[str, int]]]] = set()
    first = 1
    for wave in waves:
        last = first + sum(map(_items_in, wave)) - 1
        running.add(pool.submit(jobs.run, wave, task, measure, first, last))
        first = last + 1
    try:
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                results, sums = one.result()
                if observed is not None:
                    observed.update(sums)
                yield from results
    finally:
        jobs.stop()
        while running:
            jobs.interrupt()
            # One that had not begun to run yet is interrupted the next time.
            running = wait(running, _AGAIN).not_done
        pool.shutdown()


def _items_in(part: Any) -> int:
    return len(part) if isinstance(part, list) else 1


class _Jobs:
    """The jobs of Spark that some waves are: named, and interrupted together."""

    def __init__(self, spark: SparkSession, title: str, count: int) -> None:
        self._spark = spark
        self._context = _context_of(spark)
        self._title = title
        self._count = count
        self._tag = f"msmq-wire-{secrets.token_hex(8)}"
        self._stopped = threading.Event()

    def run(self, wave: Sequence[Any], task: Any, measure: Any, first: int, last: int) -> Any:
        """Run a wave in this thread: what its tasks gave, and what was observed of them."""
        if self._stopped.is_set():
            return [], {}
        self._name(f"msmq-wire: {self._title} {first} to {last} of {self._count}")
        return run_wave(self._spark, wave, task, measure)

    def _name(self, text: str) -> None:
        if self._context is None:
            self._spark.addTag(self._tag)
            return
        # What a classic session tags can be interrupted by the same thread only, and that one waits.
        self._context.addJobTag(self._tag)
        self._context.setInterruptOnCancel(True)
        self._context.setJobDescription(text)

    def stop(self) -> None:
        """Let no wave begin any more."""
        self._stopped.set()

    def interrupt(self) -> None:
        """Interrupt the waves that run."""
        if self._context is None:
            self._spark.interruptTag(self._tag)
        else:
            self._context.cancelJobsWithTag(self._tag)


def run_wave(
    spark: SparkSession,
    parts: Sequence[Any],
    task: Callable[[Any], Any],
    measure: Callable[[Any], Mapping[str, int]] | None,
) -> tuple[list[Any], Mapping[str, int]]:
    """Run a task for each part at once; return what they gave, in order, and the sums of their measures."""
    from pyspark.sql import Observation, functions

    pickled = [pickle.dumps(part) for part in parts]
    # Rows that are sent along may be put together in partitions, or end up in one by their hash.
    numbers = spark.range(0, len(parts), 1, len(parts))
    run = partial(_run_parts, pickled=pickled, task=task, measure=measure)
    rows = numbers.mapInArrow(run, _RESULT_DDL)
    if measure is None:
        return [pickle.loads(row.result) for row in rows.collect()], {}
    observation = Observation()
    sums = [functions.sum(name).alias(name) for name in MEASURES]
    found = [pickle.loads(row.result) for row in rows.observe(observation, *sums).collect()]
    return found, {name: count or 0 for name, count in observation.get.items()}


def _run_parts(
    batches: Iterable[Any],
    pickled: Sequence[bytes],
    task: Callable[[Any], Any],
    measure: Callable[[Any], Mapping[str, int]] | None,
) -> Iterator[Any]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            result = task(pickle.loads(pickled[number]))
            counts = {} if measure is None else measure(result)
            row = dict.fromkeys(MEASURES, 0) | {**counts, "result": pickle.dumps(result)}
            yield pa.RecordBatch.from_pylist([row], schema=_RESULT)


def each(spark: SparkSession, items: Sequence[T], task: Callable[[T], R], *, title: str = "files") -> list[R]:
    """What ``task`` gives for each item, in their order: of few by threads here, of many by tasks."""
    if len(items) <= _FEW:
        with ThreadPoolExecutor(_FEW) as pool:
            return list(pool.map(task, items))
    parts = [list(enumerate(items))[at : at + _TOGETHER] for at in range(0, len(items), _TOGETHER)]
    found = sorted(
        (one for part in finished(spark, parts, partial(_all, task=task), title=title) for one in part),
        key=lambda one: one[0],
    )
    return [result for _, result in found]


def _all(items: Sequence[tuple[int, Any]], task: Callable[[Any], Any]) -> list[tuple[int, Any]]:
    return [(number, task(item)) for number, item in items]
