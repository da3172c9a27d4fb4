"""A capture that several tasks decode has the rows, ids and counts of one that one task decodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire.spark import capture_job, shares
from msmq_wire.spark.capture_job import CaptureTask, JobPlan, TaskResult, TaskShare, decode_captures
from msmq_wire.spark.shares import decode_all, divided, shares_of
from msmq_wire.tables.table_schemas import STORIES
from tests.effort import in_batches
from tests.spark import one_run
from tests.spark.test_capture_job import (
    CAPTURES,
    FIXTURES,
    WRITTEN,
    Kept,
    as_text,
    capture_at,
    plan_of,
    todo_of,
)

pytestmark = pytest.mark.needs("pyspark")

RECORDS = tuple(table for table in WRITTEN if table not in STORIES)
DEMO = FIXTURES / "captures" / "demo.pcap"

Rows = dict[str, list[str]]


class Tasks:
    """Runs tasks one after the other, and keeps the rows that each wrote."""

    def __init__(self, plan: JobPlan) -> None:
        self.plan = plan
        self.rows: list[dict[str, list[dict[str, Any]]]] = []
        self.shares: list[list[TaskShare | None]] = []

    def __call__(self, parts: Iterable[Sequence[CaptureTask]]) -> Iterator[TaskResult]:
        for part in parts:
            self.shares.append([one.share for one in part])
            yield decode_captures(part, self.plan)
            self.rows.append(Kept.tables)

    def sorted_rows(self) -> Rows:
        tables = {table for rows in self.rows for table in rows}
        return {
            table: sorted(repr(as_text(row)) for rows in self.rows for row in rows.get(table, ()))
            for table in tables
        }


@pytest.mark.slow
@in_batches(CAPTURES)
def test_shares_write_the_rows_of_one_task(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_job, "TableWriter", Kept)
    todo = todo_of(capture_at(path))
    # Little by little, so that every turn has something to write.
    plan = plan_of(chunk_bytes=3000)
    alone, together = Tasks(plan), Tasks(plan)
    (whole,) = decode_all(alone, [[todo]], [])
    parts = [
        msgspec.structs.replace(todo, share=one) for one in (*shares_of(STORIES, 3), *shares_of(RECORDS, 3))
    ]
    assert len(parts) == 5
    (done,) = decode_all(together, [], [parts])
    assert together.sorted_rows() == alone.sorted_rows()
    assert done == whole


@pytest.mark.parametrize(
    ("tables", "cores", "expected"),
    [
        (WRITTEN, 2, [(("findings",), 1), ((*RECORDS, "sessions", "lives"), 1)]),
        (WRITTEN, 8, [(("findings",), 1), (("sessions", "lives"), 1), (RECORDS, 1)]),
        (RECORDS, 2, [(RECORDS, 2), (RECORDS, 2)]),
        (("messages", "lives"), 2, [(("lives",), 1), (("messages",), 1)]),
        (("findings",), 2, [(("findings",), 1)]),
    ],
)
def test_shares_take_about_as_long_as_each_other(
    tables: tuple[str, ...], cores: int, expected: list[tuple[tuple[str, ...], int]]
) -> None:
    found = shares_of(tables, cores)
    assert [(one.tables, one.turns) for one in found] == expected
    assert [one.measured for one in found] == [True, *(False for _ in found[1:])]


def sized(*sizes: int) -> list[CaptureTask]:
    todo = todo_of(capture_at(DEMO))
    capture = todo.capture
    return [
        msgspec.structs.replace(
            todo,
            capture=msgspec.structs.replace(
                capture, name=str(size), files=(msgspec.structs.replace(capture.files[0], size=size),)
            ),
        )
        for size in sizes
    ]


@pytest.mark.parametrize(
    ("sizes", "tables", "cores", "names"),
    [
        ((400, 10), WRITTEN, 2, ["400"]),
        # One after the other keeps all cores at work.
        ((400, 300, 300), WRITTEN, 2, []),
        ((400,), WRITTEN, 1, []),
        ((400,), ("findings",), 2, []),
        ((99,), WRITTEN, 2, []),
        ((), WRITTEN, 2, []),
    ],
)
def test_what_keeps_one_core_at_work_is_divided(
    sizes: Sequence[int],
    tables: tuple[str, ...],
    cores: int,
    names: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shares, "DIVIDED", 100)
    found, others = divided(sized(*sizes), tables, cores)
    assert [some[0].capture.name for some in found] == names
    assert all(one.share is not None for some in found for one in some)
    assert [one.capture.size for one in others] == [size for size in sizes if str(size) not in names]


@pytest.mark.slow
def test_a_capture_that_grows_meanwhile_is_decoded_by_one_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture_job, "TableWriter", Kept)
    path = tmp_path / "grows.pcap"
    data = DEMO.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    todo = todo_of(capture_at(path))
    tasks = Tasks(plan_of())

    def growing(parts: Iterable[Sequence[CaptureTask]]) -> Iterator[TaskResult]:
        for done in tasks(parts):
            yield done
            path.write_bytes(data)

    parts = [msgspec.structs.replace(todo, share=one) for one in shares_of(WRITTEN, 3)]
    (done,) = decode_all(growing, [], [parts])
    assert tasks.shares == [*([one] for one in shares_of(WRITTEN, 3)), [None]]
    assert done.entries[0].rows == {table: len(rows) for table, rows in tasks.rows[-1].items() if rows}


@pytest.mark.slow
def test_a_run_divides_a_large_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "DIVIDED", 1000)
    found = []
    for output, core in (("divided", divided), ("whole", lambda todo, *_: ([], todo))):
        monkeypatch.setattr("msmq_wire.spark.job.divided", core)
        run = one_run.run(str(tmp_path / output), DEMO)
        found.append(run.rows)
    assert found[0] == found[1]
