"""The job: every capture is in the tables once, whatever is in the folders and wherever a run ends."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import shutil
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import msgspec
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from pyspark.sql import SparkSession

import msmq_wire
from msmq_wire.capture.listing import Capture, CaptureFile, captures_of, list_files
from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark import publishing
from msmq_wire.spark import tasks as spark_tasks
from msmq_wire.spark.capture_job import TaskResult
from msmq_wire.spark.job import DEFAULT_TABLES, run_job
from msmq_wire.spark.publishing import JobRun
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.table_views import register_views
from msmq_wire.tables.packet_columns import PACKET_SCHEMA
from msmq_wire.tables.store.identity import content_of
from msmq_wire.tables.store.store import Change, Store, one_of
from msmq_wire.tables.table_schemas import DAY, TABLES, delta_schema
from tests.effort import share
from tests.spark.test_capture_job import decoded, plan_of

pytestmark = pytest.mark.needs("pyspark")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
DEMO = FIXTURES / "captures" / "demo.pcap"
FOLDERS = (FIXTURES / "captures", FIXTURES / "rpc_captures")

Visible = dict[str, list[str]]


def one_after_the_other(spark: Any, parts: Sequence[Any], task: Any, measure: Any) -> Any:
    """In place of `msmq_wire.spark.tasks.run_wave`: every part here, with what goes to it pickled."""
    results = [pickle.loads(pickle.dumps(task))(pickle.loads(pickle.dumps(one))) for one in parts]
    sums: Counter[str] = Counter()
    for one in results if measure is not None else ():
        sums.update(measure(one))
    return [pickle.loads(pickle.dumps(one)) for one in results], sums


@pytest.fixture
def one_process() -> Iterator[Any]:
    """A session that runs tasks in this process: what the job needs of Spark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_tasks, "run_wave", one_after_the_other)
        yield SimpleNamespace(sparkContext=Mock(defaultParallelism=2))


def options_of(*paths: Path, **options: Any) -> ReadOptions:
    return ReadOptions(paths=tuple(map(str, paths)), **options)


def files_in(output: Path) -> set[str]:
    """The files of the tables that count, with their tables."""
    snapshot = Store(str(output)).snapshot()
    return {f"{table}/{file.path}" for table in snapshot.tables for file in snapshot.files(table)}


def rows_in(output: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table that count; none where it has none."""
    found = Store(str(output)).snapshot().dataset(table)
    rows: list[dict[str, Any]] = [] if found is None else found.to_table().to_pylist()
    return rows


def told_columns(table: str) -> list[str] | None:
    """The columns that say where a row of messages or calls comes from; None where all are compared."""
    if table not in ("messages", "calls"):
        return None
    names = ["capture", "path", "frame_no", "id", "parent", "type", "time_ns", "src", "dst", "offset"]
    return names + (["queue", "label"] if table == "messages" else ["method"])


def as_texts(rows: Iterable[dict[str, Any]], leave_out: Sequence[str]) -> list[str]:
    left_out = {*leave_out, "run"}
    return [repr({name: value for name, value in row.items() if name not in left_out}) for row in rows]


def visible(output: Path, *leave_out: str) -> Visible:
    """The rows that a reader of the tables sees, as texts; those of messages and calls by their place."""
    snapshot = Store(str(output)).snapshot()
    found: Visible = {}
    for table in snapshot.tables:
        dataset = snapshot.dataset(table)
        if dataset is None:
            continue
        names = told_columns(table) or dataset.schema.names
        rows = dataset.to_table(columns=[*dict.fromkeys((*names, "time", DAY))]).to_pylist()
        for row in rows:
            assert row[DAY] == (None if row["time"] is None else row["time"].date())
            for name in {"time", DAY} - {*names} | {DAY}:
                del row[name]
        if rows:
            found[table] = sorted(as_texts(rows, leave_out))
    return found


def seen_in(folder: Path, parts: Iterable[TaskResult], *leave_out: str) -> Visible:
    """The rows in the files of tasks, as `visible` gives them."""
    found: Visible = {}
    for file in (file for done in parts for file in done.files):
        rows = pq.ParquetFile(folder / file.table / file.path).read(columns=told_columns(file.table))
        found.setdefault(file.table, []).extend(as_texts(rows.to_pylist(), leave_out))
    return {table: sorted(rows) for table, rows in found.items()}


def expected_of(folder: Path, *paths: Path, **options: Any) -> Visible:
    """What captures give one by one, without a job."""
    captures = captures_of(list_files(map(str, paths)).files, "file")
    return seen_in(folder, [decoded(one, plan_of(folder, DEFAULT_TABLES, **options)) for one in captures])


def another(number: int) -> bytes:
    """The demo, whose first frame was captured a number of microseconds later: never twice the same bytes."""
    data = bytearray(DEMO.read_bytes())
    struct.pack_into("<I", data, 28, struct.unpack_from("<I", data, 28)[0] + 1 + number)
    return bytes(data)


def different(folder: Path, count: int) -> list[Path]:
    """Captures that differ in the time of a frame, and give equally many rows."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"copy-{number:04}.pcap" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(another(number))
    return paths


def run_of(output: Path, name: str) -> JobRun:
    """A run as it is kept."""
    [row] = [row for row in rows_in(output, "runs") if row["name"] == name]
    maps = {one: dict(row[one]) for one in ("options", "rows", "skipped")}
    return msgspec.convert(row | maps, JobRun)


def test_an_empty_folder_gives_a_run_and_no_tables(one_process: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    run = run_job(one_process, str(tmp_path / "out"), options_of(tmp_path / "in"))
    assert (run.captures, run.unchanged, run.left_out, run.damage) == (0, 0, 0, ())
    assert run.rows == dict.fromkeys(DEFAULT_TABLES, 0)
    assert run_of(tmp_path / "out", run.name) == run
    assert files_in(tmp_path / "out") == set()
    assert visible(tmp_path / "out") == {}


@pytest.mark.slow
def test_what_cannot_be_read_is_named_and_the_rest_is_in_the_tables(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    good = different(folder, 20)
    good += [folder / name for name in ("with space.pcap", "day=1.pcap", "ünï.pcap", "100%#?.pcap")]
    for number, path in enumerate(good[20:], 20):
        path.write_bytes(another(number))
    (folder / "folder.pcap").mkdir()
    (folder / "to-folder.pcap").symlink_to(folder / "folder.pcap")
    (folder / "dangling.pcap").symlink_to(folder / "nowhere")
    (folder / "text.pcap").write_text("no capture")
    (folder / "empty.pcap").touch()
    (folder / "cut.pcap").write_bytes(DEMO.read_bytes()[:-1])
    (folder / "notes.txt").write_text("notes")
    with open(os.fsencode(folder) + b"/\xff\xfe.pcap", "wb") as file:
        file.write(DEMO.read_bytes())
    run = run_job(one_process, str(output), options_of(folder))
    assert (run.captures, run.left_out) == (30, 1)
    errors = rows_in(output, "errors")
    with pytest.raises(CaptureError) as damage:
        list(read_frames(folder / "cut.pcap"))
    reported = {
        Path(row["path"]).name: (row["offset"], row["message"]) for row in errors if row["type"] == "error"
    }
    assert sum(row["type"] == "error" for row in errors) == len(reported) == len(run.damage) == 6
    unread = f"cannot open {folder}/"
    assert reported == {
        "cut.pcap": (damage.value.offset, damage.value.message),
        "empty.pcap": (0, reported["empty.pcap"][1]),
        "text.pcap": (0, reported["text.pcap"][1]),
        "dangling.pcap": (0, f"{unread}dangling.pcap: No such file or directory"),
        "to-folder.pcap": (0, f"{unread}to-folder.pcap: it is no file"),
        "\\udcff\\udcfe.pcap": (0, f"{unread}\\udcff\\udcfe.pcap: its name is not UTF-8"),
    }
    assert "is text" in str(reported["text.pcap"][1])
    messages = Counter(json.dumps(row.split("'path'")[0]) for row in visible(output)["messages"])
    assert len(messages) == 25
    assert len({count for name, count in messages.items() if "cut.pcap" not in name}) == 1

    # What was read stays, what was not is tried again.
    again = run_job(one_process, str(output), options_of(folder))
    assert (again.captures, again.unchanged) == (3, 27)
    assert sum("'type': 'error'" in row for row in visible(output)["errors"]) == 6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["text.pcap", "cut.pcap", "dangling.pcap"])
def test_with_on_error_fail_the_file_is_named(name: str, one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    different(folder, 2)
    if name == "dangling.pcap":
        (folder / name).symlink_to(folder / "nowhere")
    else:
        (folder / name).write_bytes(b"no capture" if name == "text.pcap" else DEMO.read_bytes()[:-1])
    with pytest.raises(CaptureError, match=name):
        run_job(one_process, str(output), options_of(folder, on_error="fail"))
    (folder / name).unlink()
    run = run_job(one_process, str(output), options_of(folder, on_error="fail"))
    assert run.captures + run.unchanged == 2
    assert visible(output) == expected_of(tmp_path / "expected", folder)


@pytest.mark.slow
def test_only_what_is_new_is_read_and_nothing_is_doubled(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    paths = different(folder, 3)
    shutil.copy(FIXTURES / "captures" / "path_cut_file.pcap", folder / "cut.pcap")
    first = run_job(one_process, str(output), options_of(folder))
    assert (first.captures, first.unchanged) == (4, 0)
    before, files = visible(output), files_in(output)
    assert before == expected_of(tmp_path / "expected", folder)
    assert {table: len(rows) for table, rows in before.items()} == {
        table: count for table, count in first.rows.items() if count
    }

    again = run_job(one_process, str(output), options_of(folder))
    assert (again.captures, again.unchanged, sum(again.rows.values())) == (0, 4, 0)
    # What was touched only, moved, packed, linked or copied is what it was.
    os.utime(paths[0], ns=(5, 5))
    paths[1].rename(folder / "moved.pcap")
    (folder / "packed.pcap.gz").write_bytes(gzip.compress(another(2)))
    (folder / "link.pcap").symlink_to(paths[0])
    (folder / "linked").symlink_to(folder)
    shutil.copy(folder / "cut.pcap", tmp_path)
    third = run_job(one_process, str(output), options_of(folder, folder / "linked", tmp_path / "cut.pcap"))
    assert (third.captures, third.unchanged) == (0, 13)
    fourth = run_job(one_process, str(output), options_of(folder, folder / "linked", tmp_path / "cut.pcap"))
    assert (fourth.captures, fourth.unchanged) == (0, 13)
    assert files_in(output) == files


@pytest.mark.slow
def test_a_capture_that_grew_is_replaced_and_other_content_is_another_capture(
    one_process: Any, tmp_path: Path
) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    paths = different(folder, 3)
    whole = paths[0].read_bytes()
    paths[0].write_bytes(whole[:-1000])
    first = run_job(one_process, str(output), options_of(folder))
    assert (first.captures, first.unchanged, len(first.damage)) == (3, 0, 1)
    paths[0].write_bytes(whole)
    run = run_job(one_process, str(output), options_of(folder))
    assert (run.captures, run.unchanged, run.damage) == (1, 2, ())
    assert visible(output) == expected_of(tmp_path / "expected", folder)

    # What is gone from the folder stays in the tables, and so does what had the name before.
    gone = [decoded(path, plan_of(tmp_path / "gone", DEFAULT_TABLES)) for path in paths]
    paths[2].unlink()
    shutil.copy(FIXTURES / "captures" / "clean_ipv6.pcap", paths[1])
    (tmp_path / "in" / "grew.pcap.gz").write_bytes(gzip.compress(whole + whole[24:]))
    run = run_job(one_process, str(output), options_of(folder))
    assert (run.captures, run.unchanged) == (2, 1)
    grew = Capture(name=str(paths[0]), files=captures_at(folder / "grew.pcap.gz"))
    other = Capture(name=f"{paths[1]}#2", files=captures_at(paths[1]))
    made = [decoded(one, plan_of(tmp_path / "then", DEFAULT_TABLES)) for one in (grew, other)]
    expected = [seen_in(tmp_path / "gone", gone[1:]), seen_in(tmp_path / "then", made)]
    tables = {table for part in expected for table in part}
    assert visible(output) == {
        table: sorted(row for part in expected for row in part.get(table, ())) for table in tables
    }


def captures_at(path: Path) -> tuple[CaptureFile, ...]:
    return list_files([str(path)]).files


@pytest.mark.slow
def test_a_path_that_the_tables_name_is_never_opened(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    shutil.copy(DEMO, folder / "a.pcap")
    shutil.copy(FIXTURES / "captures" / "path_ipv6.pcap", tmp_path / "canary.pcap")
    run_job(one_process, str(output), options_of(folder))
    store = Store(str(output))
    [row] = store.snapshot().rows("sources", delta_schema("sources").names).to_pylist()
    other = {**row, "path": str(tmp_path / "canary.pcap")}
    store.delete("sources", one_of("capture", [row["capture"]]))
    store.publish(Change(run=row["run"], number=99, sources=[other]))
    run = run_job(one_process, str(output), options_of(folder), again=True)
    assert (run.captures, run.rows["messages"]) == (1, 13)


@pytest.mark.slow
def test_with_again_what_is_named_is_decoded_again_and_nothing_else(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    paths = different(folder, 3)
    (folder / "a copy.pcap").write_bytes(another(0))
    (folder / "a stage.pcap").write_bytes(another(1)[:-2000])
    first = run_job(one_process, str(output), options_of(folder))
    assert (first.captures, first.unchanged) == (3, 2)
    # Of several files with one content any may be read.
    before, files = visible(output, "path"), files_in(output)
    run = run_job(one_process, str(output), options_of(*paths[:2]), again=True)
    assert (run.captures, run.unchanged) == (2, 0)
    assert visible(output, "path") == before
    assert files < files_in(output), "who reads them still finds them"
    runs = {row["capture"]: row["run"] for row in rows_in(output, "captures")}
    assert runs == dict(
        zip([f"{folder}/a copy.pcap", *map(str, paths[1:])], [run.name] * 2 + [first.name], strict=True)
    )
    # A stage of a capture is no reason to forget what came behind it, be it known or new.
    for name in ("a stage.pcap", "another stage.pcap"):
        (folder / name).write_bytes(another(1)[:-2000])
        assert run_job(one_process, str(output), options_of(folder / name), again=True).captures == 0
    run = run_job(one_process, str(output), options_of(folder), again=True)
    assert (run.captures, run.unchanged) == (3, 3)
    assert visible(output, "path") == before


@pytest.mark.slow
def test_captures_read_with_other_options_are_told_and_left_alone(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    different(folder, 2)
    run_job(one_process, str(output), options_of(folder))
    before = visible(output)
    others: list[dict[str, Any]] = [
        {"ports": frozenset((5,))},
        {"payload": False},
        {"hosts": ("198.51.100.0/24",)},
        {"since": 5},
    ]
    for options in others:
        reported: list[str] = []
        run = run_job(one_process, str(output), options_of(folder, **options), warn=reported.append)
        assert (run.captures, run.unchanged, list(run.warnings)) == (0, 2, reported)
        assert reported == [
            f"2 captures stay as they are, read with other options ({folder}/copy-0000.pcap and 1 more): "
            "--again decodes what is named again"
        ]
        assert visible(output) == before
    # How they are read is no matter.
    same = {"split_bytes": 1 << 16, "chunk_bytes": 5000, "on_error": "fail"}
    assert run_job(one_process, str(output), options_of(folder, **same)).warnings == ()

    run = run_job(one_process, str(output), options_of(folder, **others[2]), again=True)
    assert (run.captures, run.warnings) == (2, ())
    assert visible(output) == expected_of(tmp_path / "expected", folder, **others[2])
    assert run_of(output, run.name).options == {"hosts": "['198.51.100.0/24']"}


@pytest.mark.slow
def test_secrets_are_kept_as_the_names_of_their_files(one_process: Any, tmp_path: Path) -> None:
    output, secret = tmp_path / "out", tmp_path / "secret"
    secret.write_text("a password")
    run_job(one_process, str(output), options_of(DEMO, nt_password_file=str(secret)))
    texts = [path.read_bytes() for path in output.rglob("*") if path.is_file()]
    assert any(b"nt_password_file" in text for text in texts)
    assert not [text for text in texts if b"a password" in text]


@pytest.mark.slow
def test_what_another_version_decoded_is_told(
    one_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out"
    monkeypatch.setattr(msmq_wire, "__version__", "0.0.1")
    assert run_job(one_process, str(output), options_of(DEMO)).warnings == ()
    monkeypatch.undo()
    shutil.copy(DEMO, tmp_path / "copy.pcap")
    for path in (DEMO, tmp_path / "copy.pcap"):
        run = run_job(one_process, str(output), options_of(path))
        assert run.warnings == (
            f"1 capture stays as it is, decoded by another version of msmq-wire ({DEMO}): "
            "--again decodes what is named again",
        )
        assert run_of(output, run.name) == run
    assert run_job(one_process, str(output), options_of(DEMO), again=True).warnings == ()
    assert run_job(one_process, str(output), options_of(DEMO)).warnings == ()


@pytest.mark.slow
def test_what_a_run_says_of_other_captures_is_not_told(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    paths = different(folder, 2)
    paths[1].write_bytes(paths[1].read_bytes()[:-1000])
    run_job(one_process, str(output), options_of(*paths), tables=("lives",))
    # Neither what is elsewhere nor what grew, though a file that it was is still there.
    paths[1].rename(folder / "before.pcap")
    paths[1].write_bytes(another(1))
    run = run_job(one_process, str(output), options_of(folder / "before.pcap", paths[1], payload=False))
    assert (run.captures, run.unchanged, run.warnings) == (1, 1, ())


@pytest.mark.slow
def test_a_table_that_is_there_is_filled_with_all_new_captures(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    paths = different(folder, 2)
    run_job(one_process, str(output), options_of(paths[0]), tables=("lives",))
    assert set(visible(output)) == {"lives"}
    run = run_job(one_process, str(output), options_of(folder), tables=("messages",))
    assert (run.tables, run.captures) == (("messages", "lives"), 1)
    assert run.warnings == (
        f"1 capture stays as it is, without rows in some of the tables ({paths[0]}): "
        "--again decodes what is named again",
    )
    assert {row["capture"] for row in rows_in(output, "messages")} == {str(paths[1])}
    assert {row["capture"] for row in rows_in(output, "lives")} == set(map(str, paths))
    run = run_job(one_process, str(output), options_of(paths[0]), again=True, tables=())
    assert (run.tables, run.captures) == (("messages", "lives"), 1)
    assert {row["capture"] for row in rows_in(output, "messages")} == set(map(str, paths))
    run = run_job(one_process, str(output), options_of(folder), tables=("lives",))
    assert (run.captures, run.unchanged, run.warnings) == (0, 2, ())


@pytest.mark.slow
def test_a_capture_has_one_name_wherever_the_run_is_started(
    one_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    different(folder, 2)
    monkeypatch.chdir(tmp_path)
    run = run_job(one_process, "out", ReadOptions(paths=("in",)))
    assert run.captures == 2
    rows = visible(output)
    monkeypatch.chdir(folder)
    for paths in ((".",), ("../in/",), (str(folder),), ("*.pcap",), ("copy-0000.pcap", str(folder))):
        again = run_job(one_process, str(output), ReadOptions(paths=paths))
        assert (again.captures, again.unchanged) == (0, 2)
    assert visible(output) == rows


@pytest.mark.slow
def test_a_file_is_in_the_tables_by_one_scope_only(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    (path, _) = different(folder, 2)
    run_job(one_process, str(output), options_of(folder))
    before = files_in(output)
    with pytest.raises(MsmqWireError, match="read with another scope") as error:
        run_job(one_process, str(output), options_of(folder, scope="group"), again=True)
    assert str(path) in str(error.value)
    assert files_in(output) == before


def test_an_output_that_is_no_text_is_told_of(one_process: Any, tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    with pytest.raises(MsmqWireError, match=r"udcff: its name is not UTF-8"):
        run_job(one_process, name, options_of(DEMO))


@pytest.mark.slow
def test_names_that_are_no_text_do_not_end_a_run(one_process: Any, tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    os.mkdir(folder)
    shutil.copy(DEMO, folder)
    for paths in ((folder,), (f"{folder}/demo.pcap",), (f"{folder}/*",), ("\ud800.pcap",)):
        output = tmp_path / "out"
        run = run_job(one_process, str(output), ReadOptions(paths=paths))
        assert len(run.damage) == 1
        assert run_of(output, run.name) == run


class Killed(BaseException):
    """The run ends here."""


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.0, 1e9])
def test_a_run_that_is_ended_goes_on_where_it_was(
    pause: float, one_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    different(folder, 3)
    expected = expected_of(tmp_path / "expected", folder)
    monkeypatch.setattr(publishing, "_PAUSE", pause)
    options = options_of(folder, split_bytes=1)
    publish = Store.publish
    for count in range(3):
        output = tmp_path / f"out-{count}"
        left = [count]

        def dying(self: Store, *asked: Any, left: list[int] = left) -> Any:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return publish(self, *asked)

        with monkeypatch.context() as patch:
            patch.setattr(Store, "publish", dying)
            # All at once when nobody waits: nothing is left to be killed after the first.
            if pause and count:
                run_job(one_process, str(output), options)
            else:
                with pytest.raises(Killed):
                    run_job(one_process, str(output), options)
        there = 3 if pause and count else count
        assert len({row["capture"] for row in rows_in(output, "messages")}) == there
        run = run_job(one_process, str(output), options)
        assert (run.captures, run.unchanged) == (3 - there, there)
        assert visible(output) == expected


@pytest.mark.slow
def test_a_copy_is_not_known_before_what_it_is_a_copy_of(
    one_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    (path,) = different(folder, 1)
    shutil.copy(path, folder / "other.pcap")

    def dying(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(publishing.Publisher, "flush", dying)
        with pytest.raises(Killed):
            run_job(one_process, str(output), options_of(folder))
    path.unlink()
    assert run_job(one_process, str(output), options_of(folder)).captures == 1
    assert {row["capture"] for row in rows_in(output, "messages")} == {f"{folder}/other.pcap"}


@pytest.mark.slow
def test_a_run_says_how_far_it_is_by_captures_and_bytes(
    one_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "_PAUSE", 0.0)
    different(tmp_path / "in", 2)
    reported: list[str] = []
    run_job(
        one_process, str(tmp_path / "out"), options_of(tmp_path / "in", split_bytes=1), tell=reported.append
    )
    size = DEMO.stat().st_size
    assert reported == [
        f"{n} of 2 captures, {n * size / 1e3:.1f} kB of {2 * size / 1e3:.1f} kB, {n * 25} frames"
        for n in (1, 2)
    ]


@pytest.mark.slow
def test_packets_are_every_frame(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    different(folder, 2)
    (folder / "text.pcap").write_text("no capture")
    run = run_job(one_process, str(output), options_of(folder, split_bytes=1000), tables=TABLES)
    packets = Counter(row["error"] is None for row in rows_in(output, "packets"))
    assert packets[True] == run.frames == 2 * len(list(read_frames(DEMO)))
    assert (packets[False], run.rows["packets"]) == (1, run.frames + 1)


@pytest.mark.check
@pytest.mark.spark
def test_every_table_holds_what_the_captures_give_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    output = tmp_path / "out"
    paths = share(sorted(path for folder in FOLDERS for path in folder.glob("*.pcap*")))
    run = run_job(spark, str(output), options_of(*paths, split_bytes=1 << 20))
    # Some of them are others, compressed.
    first = {one.digest: path for path in reversed(paths) if (one := content_of(captures_at(path)[0]))}
    assert (run.captures, run.unchanged) == (len(first), len(paths) - len(first))
    expected = expected_of(tmp_path / "expected", *first.values())
    found = visible(output)
    assert set(found) == set(expected) == set(DEFAULT_TABLES)
    for table in DEFAULT_TABLES:
        assert found[table] == expected[table], table
        assert len(found[table]) == run.rows[table]
    again = run_job(spark, str(output), options_of(*paths))
    assert (again.captures, again.unchanged) == (0, len(paths))
    register_views(spark, str(output))
    rows = spark.table("messages")
    assert rows.count() == run.rows["messages"]
    assert dict(rows.dtypes)["day"] == "date"
    wrong = rows.where("not (day <=> cast(time as date))").count()
    assert wrong == 0


@pytest.mark.spark
@pytest.mark.check
def test_groups_give_what_their_files_give_when_they_are_read_in_turn(
    spark: SparkSession, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, names in zip(
        folders,
        (("clean_business_day", "clean_ipv6", "clean_expired"), ("clean_expired", "demo")),
        strict=True,
    ):
        folder.mkdir()
        for name in names:
            shutil.copy(FIXTURES / "captures" / f"{name}.pcap", folder)
    cut = folders[0] / "clean_expired.pcap"
    cut.write_bytes(cut.read_bytes()[:-9])
    (folders[1] / "text.pcap").write_text("no capture")
    options = options_of(*folders, scope="group", split_bytes=4000)
    run = run_job(spark, str(output), options, tables=TABLES)
    assert (run.captures, len(run.damage)) == (2, 2)
    found = visible(output, "id", "parent", "record", "stream", "number", "first", "last")

    # Ids are other ones, so only what does not depend on them is compared here.
    expected, made = tmp_path / "expected", []
    for capture in captures_of(list_files(map(str, folders)).files, "group"):
        made.append(decoded(capture, plan_of(expected, DEFAULT_TABLES, scope="group")))
    frames = sum(done.entries[0].frames for done in made)
    theirs = seen_in(expected, made, "id", "parent", "record", "stream", "number", "first", "last")
    for table in ("messages", "anomalies"):
        assert found.get(table) == theirs.get(table)
    for table in DEFAULT_TABLES:
        assert len(found.get(table, ())) == len(theirs.get(table, ())) == run.rows[table]
    # What could not be read is a row, too.
    assert run.frames == frames == len(found["packets"]) - len(run.damage)

    source = spark.read.format("msmq-packets").option("scope", "group")
    packets = source.load([str(folder) for folder in folders]).where("error is null")
    columns = [name for name in PACKET_SCHEMA.names if name not in ("payload", "frame")]
    register_views(spark, str(output))
    written = spark.table("packets").where("error is null")
    assert sorted(map(repr, written.select(columns).collect())) == sorted(
        map(repr, packets.select(columns).collect())
    )
    assert written.select("payload").exceptAll(packets.select("payload")).count() == 0

    again = run_job(spark, str(output), options, tables=TABLES)
    assert (again.captures, again.unchanged) == (0, 2)
    os.utime(folders[0] / "clean_ipv6.pcap")
    third = run_job(spark, str(output), options)
    assert (third.captures, third.unchanged) == (0, 2)
    fourth = run_job(spark, str(output), options, again=True)
    assert (fourth.captures, fourth.unchanged) == (2, 0)
    assert visible(output, "id", "parent", "record", "stream", "number", "first", "last") == found
