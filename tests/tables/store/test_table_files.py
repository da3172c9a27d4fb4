"""Rows go to the files of their day, which say what they hold."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from msmq_wire.capture.places import Place, place_of
from msmq_wire.tables.store import table_files
from msmq_wire.tables.store.table_files import NO_DAY, TableWriter, WrittenFile
from msmq_wire.tables.table_schemas import TABLES, file_schema, table_schemas
from tests.effort import examples

DAY = 86_400_000_000
LATEST = ((1 << 63) - 1) // 1000


def errors(*times: int | None) -> Any:
    """Rows of errors at times in microseconds; ``missing`` numbers them."""
    rows = [{"capture": "x", "type": "gap", "time": time, "missing": at} for at, time in enumerate(times)]
    return pa.RecordBatch.from_pylist(rows, schema=table_schemas()["errors"])


def content(output: Path, files: list[WrittenFile]) -> dict[str, list[int]]:
    """The numbers of rows by the folder they are in; every file holds what it says."""
    found: dict[str, list[int]] = {}
    for file in files:
        path = output / file.table / file.path
        table = pq.ParquetFile(path).read()
        assert len(table) == file.rows > 0
        assert table.schema.equals(file_schema(file.table))
        assert set(table["run"].to_pylist()) == {"a run"}
        assert file.size == path.stat().st_size
        assert json.loads(file.statistics)["numRecords"] == file.rows
        assert path.parent.name == f"day={file.day or NO_DAY}"
        found.setdefault(f"{file.table}/{path.parent.name}", []).extend(table["missing"].to_pylist())
    assert len({file.path for file in files}) == len(files)
    return found


def test_rows_are_partitioned_by_the_day_of_their_time_in_utc(tmp_path: Path) -> None:
    day = (date(2026, 1, 31) - date(1970, 1, 1)).days
    with TableWriter(Place(str(tmp_path)), TABLES, "a run") as writer:
        writer.write(
            "errors", errors(day * DAY - 1, day * DAY, None, (day + 1) * DAY - 1, None, day * DAY - 2)
        )
        writer.write("errors", errors())
        writer.write("errors", errors(day * DAY))
    assert content(tmp_path, writer.files) == {
        "errors/day=2026-01-30": [0, 5],
        "errors/day=2026-01-31": [1, 3, 0],
        f"errors/day={NO_DAY}": [2, 4],
    }
    assert writer.rows == {"errors": 7}


def test_the_first_and_the_last_time_that_a_capture_can_have_are_days(tmp_path: Path) -> None:
    last = datetime.fromtimestamp(LATEST // 1_000_000, UTC).date()
    with TableWriter(Place(str(tmp_path)), TABLES, "a run") as writer:
        writer.write("errors", errors(0, LATEST))
        writer.write("errors", errors(0))
        writer.write("errors", errors(LATEST))
    assert str(last) == "2262-04-11"
    assert content(tmp_path, writer.files) == {
        "errors/day=1970-01-01": [0, 0],
        "errors/day=2262-04-11": [1, 0],
    }


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))
@given(
    batches=st.lists(st.lists(st.none() | st.integers(0, 90), max_size=60), max_size=6),
    most_files=st.integers(1, 20),
    most_batches=st.integers(1, 4),
    most_waiting=st.integers(1, 4000),
)
def test_every_row_is_in_one_file_however_many_days_there_are(
    batches: list[list[int | None]],
    most_files: int,
    most_batches: int,
    most_waiting: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    output = tmp_path_factory.mktemp("days")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("_MOST_FILES", most_files),
            ("_MOST_BATCHES", most_batches),
            ("_MOST_WAITING", most_waiting),
        ):
            patch.setattr(table_files, name, value)
        with TableWriter(Place(str(output)), TABLES, "a run") as writer:
            expected: Counter[tuple[str, int]] = Counter()
            for days in batches:
                writer.write("errors", errors(*(None if day is None else day * DAY for day in days)))
                expected.update((_folder(day), number) for number, day in enumerate(days))
                assert writer._bytes.total() <= most_waiting
    found = content(output, writer.files)
    rows = Counter((folder, number) for folder, numbers in found.items() for number in numbers)
    nowhere = f"errors/day={NO_DAY}"
    # What is not in the folder of its day is in the one without.
    late = expected - rows
    assert sum(rows.values()) == sum(expected.values())
    assert Counter(number for _, number in late.elements()) == Counter(
        number for folder, number in (rows - expected).elements() if folder == nowhere
    )
    if sum(len({*days}) for days in batches) <= most_files:
        assert rows == expected
        for folder, numbers in found.items():
            assert numbers == [
                number for some in batches for number, day in enumerate(some) if _folder(day) == folder
            ]


def _folder(day: int | None) -> str:
    return f"errors/day={NO_DAY if day is None else date.fromordinal(date(1970, 1, 1).toordinal() + day)}"


@pytest.mark.slow
def test_times_that_mean_nothing_do_not_make_files_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "_MOST_FILES", 50)
    with TableWriter(Place(str(tmp_path)), TABLES, "a run") as writer:
        for start in range(0, 3000, 1000):
            writer.write("errors", errors(*(day * DAY for day in range(start, start + 1000))))
    found = content(tmp_path, writer.files)
    # One each time that is written, beside those.
    assert len(writer.files) <= 53
    assert sum(map(len, found.values())) == 3000
    assert len(found[f"errors/day={NO_DAY}"]) >= 2947


def test_tables_that_are_not_wanted_are_not_written(tmp_path: Path) -> None:
    with TableWriter(Place(str(tmp_path)), ("findings",), "a run") as writer:
        assert writer.wants("findings")
        assert not writer.wants("errors")
        writer.write("errors", errors(1))
    assert writer.files == []
    assert list(tmp_path.iterdir()) == []


def test_an_exception_takes_all_files_away_also_those_that_were_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "_MOST_WAITING", 2)

    def fail() -> None:
        with TableWriter(Place(str(tmp_path)), TABLES, "a run") as writer:
            writer.write("errors", errors(*(day * DAY for day in range(8) for _ in range(3))))
            assert len(list(tmp_path.rglob("*.parquet"))) > 5
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.rglob("*.parquet")) == []


@pytest.mark.parametrize("name", ["with space", "a:b", "day=1", "ünï", "100%", "*?["])
def test_the_output_may_have_any_name(name: str, tmp_path: Path) -> None:
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        with TableWriter(place_of(name), TABLES, "a run") as writer:
            writer.write("errors", errors(DAY))
    finally:
        os.chdir(before)
    assert content(tmp_path / name, writer.files) == {"errors/day=1970-01-02": [0]}


def test_a_file_says_between_what_its_columns_are(tmp_path: Path) -> None:
    """As Delta has it: times in UTC, texts cut but never too small, no bounds of what has no value."""
    long, time = "x" * 70, datetime(2026, 1, 31, 10, tzinfo=UTC)
    rows = [
        {"capture": long, "time": time.replace(microsecond=7), "src": "b", "type": "gap"},
        {"capture": "a", "time": time, "src": long, "type": "gap"},
    ]
    with TableWriter(Place(str(tmp_path)), TABLES, "r") as writer:
        writer.write("errors", pa.RecordBatch.from_pylist(rows, schema=table_schemas()["errors"]))
    [file] = writer.files
    assert json.loads(file.statistics) == {
        "numRecords": 2,
        "minValues": {"capture": "a", "run": "r", "time": "2026-01-31T10:00:00Z", "src": "b"},
        "maxValues": {
            "capture": long,
            "run": "r",
            "time": "2026-01-31T10:00:00.000007Z",
            "src": "x" * 64 + "\U0010ffff",
        },
        "nullCount": {"capture": 0, "run": 0, "time": 0, "src": 0, "dst": 2},
    }


def test_pages_have_checksums(tmp_path: Path) -> None:
    with TableWriter(Place(str(tmp_path)), TABLES, "r") as writer:
        writer.write("errors", errors(1, 2, 3))
    path = tmp_path / "errors" / writer.files[0].path
    found = pq.read_metadata(path).row_group(0).column(0)
    data = bytearray(path.read_bytes())
    data[found.data_page_offset + found.total_compressed_size // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        pq.ParquetFile(path, page_checksum_verification=True).read()
