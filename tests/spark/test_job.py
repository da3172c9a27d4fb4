"""The job: every capture is in the tables once, whatever is in the folders and wherever a run ends."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from msmq_wire.spark.ledger import Entry, Ledger, capture_key
from pyspark.sql import SparkSession

from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark import job
from msmq_wire.spark.capture_job import decode_capture
from msmq_wire.spark.captures import captures_of, list_files
from msmq_wire.spark.job import DEFAULT_TABLES, Run, index_captures, run_job
from msmq_wire.spark.packet_columns import PACKET_SCHEMA
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.table_files import HIDDEN
from msmq_wire.spark.table_schemas import TABLES
from tests.effort import share
from tests.spark.test_capture_job import plan_of

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
DEMO = FIXTURES / "captures" / "demo.pcap"
FOLDERS = (FIXTURES / "captures", FIXTURES / "rpc_captures")

Visible = dict[str, list[str]]


class Tasks:
    """In place of what Spark makes of a list: every part is a task, with what goes to it pickled."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = parts

    def map(self, task: Callable[[Any], Any]) -> Tasks:
        return Tasks(
            [pickle.loads(pickle.dumps(task(pickle.loads(pickle.dumps(one))))) for one in self._parts]
        )

    def collect(self) -> list[Any]:
        return list(self._parts)


@pytest.fixture
def one_process() -> Any:
    """A session that runs tasks at once: what scope file needs of Spark."""
    context = SimpleNamespace(defaultParallelism=2, parallelize=lambda parts, count: Tasks(parts))
    return SimpleNamespace(sparkContext=context)


def options_of(*paths: Path, **options: Any) -> ReadOptions:
    return ReadOptions(paths=tuple(map(str, paths)), **options)


def files_in(output: Path) -> list[Path]:
    return sorted(path for path in output.glob("*/day=*/*.parquet") if not path.name.startswith(HIDDEN))


def visible(output: Path, *leave_out: str) -> Visible:
    """The rows that a reader of the tables sees, as texts; those of messages and calls by their place."""
    found: Visible = {}
    for path in files_in(output):
        table = path.parent.parent.name
        names = None
        if table in ("messages", "calls"):
            names = ["capture", "path", "frame_no", "id", "parent", "type", "time_ns", "src", "dst", "offset"]
            names += ["queue", "label"] if table == "messages" else ["method"]
        rows = pq.ParquetFile(path).read(columns=names).to_pylist()
        found.setdefault(table, []).extend(
            repr({name: value for name, value in row.items() if name not in leave_out}) for row in rows
        )
    return {table: sorted(rows) for table, rows in found.items()}


def expected_of(folder: Path, *paths: Path, **options: Any) -> Visible:
    """What captures give one by one, without a job."""
    files: list[Any] = []
    for capture in captures_of(list_files(map(str, paths)).files, "file"):
        files += decode_capture(capture, plan_of(folder, DEFAULT_TABLES, **options)).files
    for file in files:
        (folder / file.folder / (HIDDEN + file.name)).rename(folder / file.folder / file.name)
    return visible(folder)


def copies(folder: Path, count: int, source: Path = DEMO) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"copy-{number:04}.pcap" for number in range(count)]
    for path in paths:
        shutil.copy(source, path)
    return paths


def run_of(output: Path, name: str) -> Run:
    return msgspec.json.decode((output / "runs" / f"{name}.json").read_bytes(), type=Run)


def test_an_empty_folder_gives_a_run_and_no_tables(one_process: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    run = run_job(one_process, str(tmp_path / "out"), options_of(tmp_path / "in"))
    assert (run.captures, run.unchanged, run.left_out, run.damage) == (0, 0, 0, ())
    assert run.rows == dict.fromkeys(DEFAULT_TABLES, 0)
    assert run_of(tmp_path / "out", run.name) == run
    assert files_in(tmp_path / "out") == []


def test_what_cannot_be_read_is_named_and_the_rest_is_in_the_tables(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    good = copies(folder, 20)
    good += [folder / name for name in ("with space.pcap", "day=1.pcap", "ünï.pcap", "100%#?.pcap")]
    for path in good[20:]:
        shutil.copy(DEMO, path)
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
    errors = [
        row
        for path in files_in(output)
        if path.parent.parent.name == "errors"
        for row in pq.ParquetFile(path).read().to_pylist()
    ]
    with pytest.raises(CaptureError) as damage:
        list(read_frames(folder / "cut.pcap"))
    told = {
        Path(row["path"]).name: (row["offset"], row["message"]) for row in errors if row["type"] == "error"
    }
    assert sum(row["type"] == "error" for row in errors) == len(told) == len(run.damage) == 6
    unread = f"cannot open {folder}/"
    assert told == {
        "cut.pcap": (damage.value.offset, damage.value.message),
        "empty.pcap": (0, told["empty.pcap"][1]),
        "text.pcap": (0, told["text.pcap"][1]),
        "dangling.pcap": (0, f"{unread}dangling.pcap: No such file or directory"),
        "to-folder.pcap": (0, f"{unread}to-folder.pcap: it is no file"),
        "\\udcff\\udcfe.pcap": (0, f"{unread}\\udcff\\udcfe.pcap: its name is not UTF-8"),
    }
    assert "is text" in str(told["text.pcap"][1])
    messages = Counter(json.dumps(row.split("'path'")[0]) for row in visible(output)["messages"])
    assert len(messages) == 25
    assert len({count for name, count in messages.items() if "cut.pcap" not in name}) == 1

    # What was read stays, what was not is tried again.
    again = run_job(one_process, str(output), options_of(folder))
    assert (again.captures, again.unchanged) == (3, 27)
    assert sum("'type': 'error'" in row for row in visible(output)["errors"]) == 6


@pytest.mark.parametrize("name", ["text.pcap", "cut.pcap", "dangling.pcap"])
def test_with_on_error_fail_the_file_is_named(name: str, one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    copies(folder, 2)
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


@pytest.mark.check
def test_only_what_changed_is_read_again_and_nothing_is_doubled(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    paths = copies(folder, 3)
    shutil.copy(FIXTURES / "captures" / "path_cut_file.pcap", folder / "cut.pcap")
    first = run_job(one_process, str(output), options_of(folder))
    assert (first.captures, first.unchanged) == (4, 0)
    before, files = visible(output), {path: path.stat().st_mtime_ns for path in files_in(output)}
    assert before == expected_of(tmp_path / "expected", folder)
    assert {table: len(rows) for table, rows in before.items()} == {
        table: count for table, count in first.rows.items() if count
    }

    again = run_job(one_process, str(output), options_of(folder))
    assert (again.captures, again.unchanged, sum(again.rows.values())) == (0, 4, 0)
    assert {path: path.stat().st_mtime_ns for path in files_in(output)} == files

    os.utime(paths[0])
    third = run_job(one_process, str(output), options_of(folder))
    assert (third.captures, third.unchanged) == (1, 3)
    assert visible(output) == before
    changed = {path.name.split("-")[1] for path in set(files_in(output)) ^ set(files)}
    assert changed == {capture_key(str(paths[0]))}

    shutil.copy(FIXTURES / "captures" / "clean_ipv6.pcap", paths[1])
    paths[2].unlink()
    run_job(one_process, str(output), options_of(folder))
    # What is gone from the folder stays in the tables.
    shutil.copy(DEMO, paths[2])
    assert visible(output) == expected_of(tmp_path / "expected again", folder)

    forced = run_job(one_process, str(output), options_of(folder), force=True)
    assert (forced.captures, forced.unchanged) == (4, 0)
    assert visible(output) == expected_of(tmp_path / "expected then", folder)
    with Ledger(str(output)) as ledger:
        assert {entry.run for entry in ledger.entries.values()} == {forced.name}


@pytest.mark.check
def test_other_options_read_captures_again(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    copies(folder, 2)
    runs: list[dict[str, Any]] = [
        {},
        {"ports": frozenset((5,))},
        {"payload": False},
        {"hosts": ("192.0.2.0/24",)},
        {"since": 5},
    ]
    for options in runs:
        assert run_job(one_process, str(output), options_of(folder, **options)).captures == 2
        # How they are read is no matter.
        same = {**options, "split_bytes": 1 << 16, "chunk_bytes": 5000, "on_error": "fail"}
        assert run_job(one_process, str(output), options_of(folder, **same)).captures == 0
    secret = tmp_path / "secret"
    secret.write_text("a password")
    run_job(one_process, str(output), options_of(folder, nt_password_file=str(secret)))
    assert not [path for path in output.rglob("*.json") if "a password" in path.read_text()]


def test_a_table_that_is_there_is_filled_with_all_captures(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    copies(folder, 2)
    run_job(one_process, str(output), options_of(folder), tables=("lives",))
    assert set(visible(output)) == {"lives"}
    run = run_job(one_process, str(output), options_of(folder), tables=("messages",))
    assert run.tables == ("messages", "lives")
    assert (set(visible(output)), run.captures) == ({"messages", "lives"}, 2)
    again = run_job(one_process, str(output), options_of(folder), tables=("lives",))
    assert (again.captures, again.unchanged) == (0, 2)


def test_a_capture_has_one_name_wherever_the_run_is_started(
    one_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    copies(folder, 2)
    monkeypatch.chdir(tmp_path)
    run = run_job(one_process, "out", ReadOptions(paths=("in",)))
    assert run.captures == 2
    rows = visible(output)
    monkeypatch.chdir(folder)
    for paths in ((".",), ("../in/",), (str(folder),), ("*.pcap",), ("copy-0000.pcap", str(folder))):
        again = run_job(one_process, str(output), ReadOptions(paths=paths))
        assert (again.captures, again.unchanged) == (0, 2)
    assert visible(output) == rows


def test_a_file_is_in_the_tables_by_one_scope_only(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    (path, _) = copies(folder, 2)
    run_job(one_process, str(output), options_of(folder))
    before = files_in(output)
    with pytest.raises(MsmqWireError, match="read with another scope") as error:
        run_job(one_process, str(output), options_of(folder, scope="group"), force=True)
    assert str(path) in str(error.value)
    assert files_in(output) == before


def test_an_output_that_is_no_text_is_told_of(one_process: Any, tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    with pytest.raises(MsmqWireError, match=r"cannot write .*udcff: its name is not UTF-8"):
        run_job(one_process, name, options_of(DEMO))


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


@pytest.mark.parametrize("wave", share([1, 2]))
def test_a_run_that_is_ended_goes_on_where_it_was(
    wave: int, one_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    copies(folder, 3)
    expected = expected_of(tmp_path / "expected", folder)
    monkeypatch.setattr(job, "_WAVE", wave)
    options = options_of(folder, split_bytes=1)
    publish = Ledger.publish
    for count in range(3):
        output = tmp_path / f"out-{count}"
        left = [count]

        def dying(self: Ledger, entry: Entry, left: list[int] = left) -> None:
            if not left[0]:
                raise Killed
            left[0] -= 1
            publish(self, entry)

        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "publish", dying)
            with pytest.raises(Killed):
                run_job(one_process, str(output), options)
        rows = visible(output)
        assert len({row.split("'path'")[0] for row in rows.get("messages", ())}) == count
        run = run_job(one_process, str(output), options)
        assert (run.captures, run.unchanged) == (3 - count, count)
        assert visible(output) == expected
        assert not list(output.rglob(f"{HIDDEN}part-*"))


def test_a_second_run_at_the_same_time_is_refused(one_process: Any, tmp_path: Path) -> None:
    output = tmp_path / "out"
    with Ledger(str(output)), pytest.raises(MsmqWireError, match="another run writes to"):
        run_job(one_process, str(output), options_of(DEMO))


def test_captures_are_published_in_waves_that_keep_the_cores_at_work(
    one_process: Any, tmp_path: Path
) -> None:
    copies(tmp_path / "in", 40)
    captures = captures_of(list_files([str(tmp_path / "in")]).files, "file")

    def sizes(**options: Any) -> list[int]:
        waves = list(job._waves(one_process, captures, ReadOptions(**options)))
        assert [one for wave in waves for one in wave] == captures
        return [len(wave) for wave in waves]

    assert sizes() == [40]
    assert sizes(split_bytes=1) == [16, 16, 8]
    # Opening counts, too: a million small files are not one wave.
    assert sizes(split_bytes=5 << 20) == [20, 20]
    assert sizes(split_bytes=1, scope="group") == [1] * 40


def test_only_files_that_are_not_in_the_index_are_walked(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    paths = copies(folder, 3)
    (folder / "text.pcap").write_text("no capture")
    options = options_of(folder, split_bytes=1000)
    run_job(one_process, str(output), options, tables=TABLES)
    files = list_files([str(folder)]).files
    assert index_captures(one_process, files[:3], str(output / "index"), 1000) == 0
    os.utime(paths[0])
    run_job(one_process, str(output), options, tables=TABLES)
    files = list_files([str(folder)]).files
    # Those that were left alone are still in it.
    assert index_captures(one_process, files[:3], str(output / "index"), 1000) == 0
    assert index_captures(one_process, files[:3], str(output / "index"), 2000) == 3
    packets = visible(output)["packets"]
    assert len(packets) == 3 * len(list(read_frames(DEMO)))


@pytest.mark.check
@pytest.mark.spark
def test_every_table_holds_what_the_captures_give_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    output = tmp_path / "out"
    paths = share(sorted(path for folder in FOLDERS for path in folder.glob("*.pcap*")))
    run = run_job(spark, str(output), options_of(*paths, split_bytes=1 << 20))
    expected = expected_of(tmp_path / "expected", *paths)
    found = visible(output)
    assert set(found) == set(expected) == set(DEFAULT_TABLES)
    for table in DEFAULT_TABLES:
        assert found[table] == expected[table], table
        assert len(found[table]) == run.rows[table]
    again = run_job(spark, str(output), options_of(*paths))
    assert (again.captures, again.unchanged) == (0, run.captures)
    rows = spark.read.parquet(str(output / "messages"))
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
        (("clean_business_day", "clean_ipv6", "path_cut_file"), ("clean_expired", "demo")),
        strict=True,
    ):
        folder.mkdir()
        for name in names:
            shutil.copy(FIXTURES / "captures" / f"{name}.pcap", folder)
    (folders[1] / "text.pcap").write_text("no capture")
    options = options_of(*folders, scope="group", split_bytes=4000)
    run = run_job(spark, str(output), options, tables=TABLES)
    assert (run.captures, len(run.damage)) == (2, 2)
    found = visible(output, "id", "parent", "record", "stream", "number", "first", "last")

    # Ids are other ones, so only what does not depend on them is compared here.
    expected = tmp_path / "expected"
    frames = 0
    for capture in captures_of(list_files(map(str, folders)).files, "group"):
        entry = decode_capture(capture, plan_of(expected, DEFAULT_TABLES, scope="group"))
        frames += entry.frames
        for file in entry.files:
            (expected / file.folder / (HIDDEN + file.name)).rename(expected / file.folder / file.name)
    theirs = visible(expected, "id", "parent", "record", "stream", "number", "first", "last")
    for table in ("messages", "anomalies"):
        assert found.get(table) == theirs.get(table)
    for table in DEFAULT_TABLES:
        assert len(found.get(table, ())) == len(theirs.get(table, ())) == run.rows[table]
    assert run.frames == frames == len(found["packets"])

    source = spark.read.format("msmq-packets").option("scope", "group")
    packets = source.load([str(folder) for folder in folders]).where("error is null")
    columns = [name for name in PACKET_SCHEMA.names if name not in ("payload", "frame")]
    written = spark.read.schema(source.load(str(folders[0])).schema).parquet(str(output / "packets"))
    assert sorted(map(repr, written.select(columns).collect())) == sorted(
        map(repr, packets.select(columns).collect())
    )
    assert written.select("payload").exceptAll(packets.select("payload")).count() == 0

    again = run_job(spark, str(output), options, tables=TABLES)
    assert (again.captures, again.unchanged) == (0, 2)
    os.utime(folders[0] / "clean_ipv6.pcap")
    third = run_job(spark, str(output), options)
    assert (third.captures, third.unchanged) == (1, 1)
    assert visible(output, "id", "parent", "record", "stream", "number", "first", "last") == found
