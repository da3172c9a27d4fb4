"""What a task gives is there as soon as it has ended, and who stops early stops the others."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from msmq_wire.spark.tasks import each, finished
from tests.spark.standalone import wait_for
from tests.spark.test_job import one_process

pytestmark = pytest.mark.needs("pyspark")

__all__ = ["one_process"]


def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("count", [0, 1, 5])
def test_every_part_is_given_once(count: int, one_process: Any) -> None:
    assert sorted(finished(one_process, range(count), double)) == [2 * number for number in range(count)]


def test_what_a_task_raises_is_raised_behind_what_ended_before(one_process: Any) -> None:
    def task(number: int) -> int:
        return 6 // (2 - number)

    # A function of a test does not come through pickle by itself.
    one_process.sparkContext.parallelize = lambda parts, count: Here(parts)
    found: list[int] = []
    with pytest.raises(ZeroDivisionError):
        found.extend(finished(one_process, range(4), task))
    assert found == [3, 6]


class Here:
    """Tasks in their order, in this process."""

    def __init__(self, parts: Any) -> None:
        self._parts = parts

    def foreach(self, task: Any) -> None:
        for part in self._parts:
            task(part)


def test_who_stops_early_cancels_the_tasks_that_are_left(one_process: Any) -> None:
    cancelled: list[str] = []
    named: list[str] = []
    context = one_process.sparkContext
    context.setJobGroup = lambda group, *_, **more: named.append(group)
    context.cancelJobGroup = cancelled.append
    work = finished(one_process, range(3), double)
    assert next(work) == 0
    work.close()  # type: ignore[attr-defined]  # it is a generator
    assert cancelled == named
    assert len(named) == 1
    # Who takes all of them cancels nothing.
    assert sorted(finished(one_process, range(3), double)) == [0, 2, 4]
    assert len(cancelled) == 1


@pytest.mark.parametrize("count", [0, 32, 33, 600])
def test_each_keeps_the_order_and_asks_spark_only_for_many(count: int, one_process: Any) -> None:
    parallelize, asked = one_process.sparkContext.parallelize, []

    def counted(parts: Any, tasks: int) -> Any:
        asked.append(tasks)
        return parallelize(pickle.loads(pickle.dumps(parts)), tasks)

    one_process.sparkContext.parallelize = counted
    assert each(one_process, range(count), double) == [2 * number for number in range(count)]
    assert asked == {0: [], 32: [], 33: [1], 600: [3]}[count]


def waiting(folder: Path) -> Any:
    """A task that goes to its end when there is a file of its name."""

    def task(name: str) -> str:
        import time

        (folder / f"{name} began").touch()
        while not (folder / name).exists():
            time.sleep(0.01)
        return name

    return task


@pytest.mark.spark
def test_on_spark_what_ends_first_comes_first(spark: SparkSession, tmp_path: Path) -> None:
    work: Iterator[str] = finished(spark, ["a", "b", "c"], waiting(tmp_path))
    (tmp_path / "b").touch()
    assert next(work) == "b"
    (tmp_path / "c").touch()
    assert next(work) == "c"
    (tmp_path / "a").touch()
    assert list(work) == ["a"]


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark_tasks_that_nobody_waits_for_are_ended(spark: SparkSession, tmp_path: Path) -> None:
    work = finished(spark, ["a", "b", "c"], waiting(tmp_path))
    (tmp_path / "b").touch()
    assert next(work) == "b"
    work.close()  # type: ignore[attr-defined]  # it is a generator
    tracker = spark.sparkContext.statusTracker()
    wait_for("no job runs", lambda: not tracker.getActiveJobsIds())
    # The session goes on, and knows nothing of what was ended.
    (tmp_path / "d").touch()
    assert list(finished(spark, ["d"], waiting(tmp_path))) == ["d"]


@pytest.mark.spark
def test_on_spark_what_a_task_raises_is_raised(spark: SparkSession, tmp_path: Path) -> None:
    def task(number: int) -> float:
        return 6 / number

    with pytest.raises(Exception, match="ZeroDivisionError"):
        list(finished(spark, [0], task))
