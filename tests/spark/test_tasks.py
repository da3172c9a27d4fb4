"""What a task gives is there as soon as its wave has ended, and who stops early stops the others."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from msmq_wire.spark import tasks
from msmq_wire.spark.tasks import core_count, each, finished
from tests.spark.standalone import wait_for
from tests.spark.test_job import one_after_the_other, one_process

pytestmark = pytest.mark.needs("pyspark")

__all__ = ["one_process"]


def double(number: int) -> int:
    return 2 * number


def counted(result: int) -> dict[str, int]:
    return {"frames": result, "errors": 1}


@pytest.mark.parametrize("count", [0, 1, 5, 100])
def test_every_part_is_given_once_and_measured(count: int, one_process: Any) -> None:
    observed: Counter[str] = Counter()
    found = finished(one_process, range(count), double, measure=counted, observed=observed)
    assert sorted(found) == [2 * number for number in range(count)]
    assert observed == Counter({"frames": count * (count - 1), "errors": count})


@pytest.mark.parametrize(
    ("cores", "count", "waves"),
    [(1, 3, [1, 1, 1]), (8, 20, [1] * 20), (40, 100, [5] * 20), (40, 7, [5, 2])],
)
def test_waves_are_small_enough_that_several_run(
    cores: int, count: int, waves: list[int], one_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def run_wave(spark: Any, parts: Any, task: Any, measure: Any) -> Any:
        sizes.append(len(parts))
        return one_after_the_other(spark, parts, task, measure)

    monkeypatch.setattr(tasks, "run_wave", run_wave)
    one_process.sparkContext.defaultParallelism = cores
    assert sorted(finished(one_process, range(count), double)) == [2 * number for number in range(count)]
    assert sorted(sizes, reverse=True) == waves


def test_waves_are_named_by_the_items_of_their_parts(one_process: Any) -> None:
    list(finished(one_process, [[1, 2, 3], [4]], len, title="decode captures"))
    names = [call.args[0] for call in one_process.sparkContext.setJobDescription.call_args_list]
    assert sorted(names) == [
        "msmq-wire: decode captures 1 to 3 of 4",
        "msmq-wire: decode captures 4 to 4 of 4",
    ]


def test_what_a_task_raises_is_raised_and_the_others_are_interrupted(
    one_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = threading.Event()
    one_process.sparkContext.cancelJobsWithTag = lambda tag: interrupted.set()

    def run_wave(spark: Any, parts: Any, task: Any, measure: Any) -> Any:
        if parts == [1]:
            raise ZeroDivisionError
        assert interrupted.wait(60)
        return [], {}

    monkeypatch.setattr(tasks, "run_wave", run_wave)
    with pytest.raises(ZeroDivisionError):
        list(finished(one_process, [0, 1, 2], double))
    assert interrupted.is_set()


@pytest.mark.parametrize("count", [0, 32, 33, 600])
def test_each_keeps_the_order_and_asks_spark_only_for_many(
    count: int, one_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def run_wave(spark: Any, parts: Any, task: Any, measure: Any) -> Any:
        asked.append(len(parts))
        return one_after_the_other(spark, parts, task, measure)

    monkeypatch.setattr(tasks, "run_wave", run_wave)
    assert each(one_process, range(count), double) == [2 * number for number in range(count)]
    assert asked == {0: [], 32: [], 33: [1], 600: [1, 1, 1]}[count]


def which_task(part: int) -> tuple[int, int]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return part, context.taskAttemptId()


@pytest.mark.spark
def test_on_spark_each_part_is_a_task_of_its_own(spark: SparkSession) -> None:
    observed: Counter[str] = Counter()
    done = list(
        finished(spark, range(40), which_task, measure=lambda one: {"frames": one[0]}, observed=observed)
    )
    assert [part for part, _ in sorted(done)] == list(range(40))
    assert len({attempt for _, attempt in done}) == 40
    assert observed == Counter({"frames": 780, "bytes": 0, "errors": 0})
    assert core_count(spark) == 2


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
    work: Iterator[str] = finished(spark, ["a", "b"], waiting(tmp_path))
    (tmp_path / "b").touch()
    assert next(work) == "b"
    (tmp_path / "a").touch()
    assert list(work) == ["a"]


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark_tasks_that_nobody_waits_for_are_ended(spark: SparkSession, tmp_path: Path) -> None:
    work = finished(spark, ["a", "b"], waiting(tmp_path))
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
