"""Captures of the same traffic at several places are one capture in the tables, as on the command line."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.capture.content_digest import FileDigest
from msmq_wire.capture.listing import Capture, captures_of, list_files
from msmq_wire.cli.app import main
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.publishing import JobRun
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.sources import MessageReader, PacketDataReader
from msmq_wire.spark.streaming import stream_job
from msmq_wire.spark.task_rows import open_capture
from msmq_wire.tables.store.identity import content_of
from tests.spark.test_capture_job import decoded, plan_of
from tests.spark.test_command_line_agrees import Row, Tables, compared, declared, rows_of
from tests.spark.test_job import files_in, one_process, rows_in, visible
from tests.spark.test_planning import captures_in, run

pytestmark = pytest.mark.needs("pyspark")

__all__ = ["one_process"]

PLACES = Path(__file__).resolve().parents[2] / "fixtures" / "places"
TABLES = ("packets", "messages", "calls", "sessions", "lives", "findings", "errors")
ASKED = {("timeline", "printed: seen_at")}
"""What the table of sessions lacks beside what is `declared`: each row of messages has it."""


def capture_in(folder: Path) -> Capture:
    (capture,) = captures_of(list_files([str(folder)]).files, "places")
    return capture


def copied(name: str, folder: Path, *files: str) -> Path:
    """Copy some files of a fixture, all without ``files``."""
    folder.mkdir(exist_ok=True)
    for path in (PLACES / name).glob("*.pcap"):
        if not files or path.name in files:
            shutil.copy2(path, folder)
    return folder


def tables_of(capture: Capture, output: Path) -> Tables:
    """The tables of a capture with files and frames as commands print them: the last file, and its frames."""
    found: dict[str, list[Row]] = {name: [] for name in TABLES}
    for file in decoded(capture, plan_of(output, TABLES, scope="places")).files:
        rows = rows_of(pq.ParquetFile(output / file.table / file.path).read())
        assert {row["capture"] for row in rows} == {capture.name}
        found[file.table] += [{name: row[name] for name in row if name != "run"} for row in rows]
    # Copies of frames that another place gave have no number.
    where = {row["number"]: (row["path"], row["frame_no"]) for row in found["packets"] if row["number"]}
    assert sorted(where) == list(range(1, len(where) + 1))
    for row in (*found["messages"], *found["calls"], *found["errors"]):
        row["capture"] = row["path"]
        if row.get("frames"):
            assert (row["path"], row["frame_no"]) == where[row["frames"][-1]]
            placed = [where[frame] for frame in row["frames"]]
            row["frames"] = [number for path, number in placed if path == row["path"]]
    for row in (*found["sessions"], *found["lives"]):
        row["capture"], row["first"]["frame"] = where[row["first"]["frame"]]
    for row in found["findings"]:
        row["capture"] = row["evidence"][0]["capture"] if row["evidence"] else None
    return found


def printed(capsys: pytest.CaptureFixture[str], command: str, *words: str) -> list[Row]:
    main([command, "--quiet", "--format", "jsonl", *words])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "packets", "frames"), [("cut_between", 239, 152), ("three_points", 776, 266)]
)
def test_tables_have_the_rows_and_values_that_commands_print(
    name: str, packets: int, frames: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = capture_in(PLACES / name)
    paths = [file.path for file in capture.files]

    def shown(command: str, *words: str) -> list[Row]:
        named = [paths if word == capture.name else [word] for word in words]
        return printed(capsys, command, *(word for some in named for word in some))

    tables = tables_of(capture, tmp_path)
    assert set(compared(capture.name, tables, shown)) <= declared() | ASKED
    assert len(tables["packets"]) == packets
    assert sum(row["number"] > 0 for row in tables["packets"]) == frames
    assert {len(row["seen_at"]) for row in tables["messages"]} == {len(paths)}


def test_a_capture_of_several_places_goes_to_the_tasks() -> None:
    capture = capture_in(PLACES / "cut_between")
    assert capture.shared is not None
    assert [len(point.files) for point in capture.shared.points] == [1, 1]
    assert pickle.loads(pickle.dumps(capture)) == capture


def damage_in(folder: Path, output: Path) -> tuple[list[Row], dict[str, FileDigest]]:
    """The errors of a capture, and what was in its files."""
    capture = capture_in(folder)
    done = decoded(capture, plan_of(output, ("errors",)))
    (entry,) = done.entries
    paths = [output / "errors" / file.path for file in done.files]
    errors = [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]
    contents = {
        file.path: one for file, one in zip(capture.files, entry.contents, strict=True) if one is not None
    }
    assert [one.partition(": ")[0] for one in entry.damage] == [row["path"] for row in errors]
    return errors, contents


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_damage_is_that_of_its_file_and_all_bytes_are_known(
    packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied("cut_between", tmp_path / "in")
    receiver = folder / "receiver.pcap"
    data = receiver.read_bytes()[:-5]
    if packed:
        receiver.unlink()
        receiver = folder / "receiver.pcap.gz"
        data = gzip.compress(data)
    receiver.write_bytes(data)
    errors, contents = damage_in(folder, tmp_path / "out")
    told = [one for one in printed(capsys, "decode", str(folder)) if one["type"] == "error"]
    assert [(row["record"], row["path"], row["offset"]) for row in errors] == [
        (one["id"], one["capture"], one["offset"]) for one in told
    ]
    assert [row["path"] for row in errors] == [str(receiver)]
    assert contents == {file.path: content_of(file) for file in capture_in(folder).files}


def test_a_file_that_went_away_leaves_the_others(tmp_path: Path) -> None:
    folder = copied("cut_between", tmp_path / "in")
    capture = capture_in(folder)
    (folder / "receiver.pcap").unlink()
    reading = open_capture(capture, ReadOptions(), marks={file.path: () for file in capture.files})
    assert sum(len(batch) for batch in reading) > 0
    (damage,) = reading.damage
    assert (damage.path, damage.reason) == (
        str(folder / "receiver.pcap"),
        f"cannot open {folder / 'receiver.pcap'}: No such file or directory",
    )
    assert list(reading.digests) == [str(folder / "sender.pcap")]


def runs(session: Any, output: Path, *paths: Path) -> JobRun:
    return run(session, output, *paths, scope="places")


@pytest.mark.slow
def test_a_place_that_comes_later_replaces_the_capture(one_process: Any, tmp_path: Path) -> None:
    names = ("1_sender.pcap", "2_firewall.pcap", "3_receiver.pcap")
    folder, output, fresh = tmp_path / "in", tmp_path / "out", tmp_path / "fresh"
    called = (
        f"{folder / names[0]}",
        f"{folder / names[0]} and {names[1]}",
        f"{folder / names[0]}, {names[1]} and {names[2]}",
    )
    for count, name in enumerate(called, 1):
        copied("three_points", folder, names[count - 1])
        done = runs(one_process, output, folder)
        assert (done.captures, done.unchanged, done.damage) == (1, 0, ())
        assert captures_in(output) == [(name, count)]
        files = files_in(output)
        again = runs(one_process, output, folder)
        assert (again.captures, again.unchanged, sum(again.rows.values())) == (0, 1, 0)
        assert files_in(output) == files
    runs(one_process, fresh, folder)
    assert visible(output, "run") == visible(fresh, "run")
    held = {row["path"]: FileDigest(row["length"], row["digest"]) for row in rows_in(output, "sources")}
    assert held == {file.path: content_of(file) for file in list_files([str(folder)]).files}


@pytest.mark.slow
def test_what_is_gone_stays_and_what_is_copied_is_known(one_process: Any, tmp_path: Path) -> None:
    names = ("1_sender.pcap", "2_firewall.pcap", "3_receiver.pcap")
    folder, output = copied("three_points", tmp_path / "in", *names[:2]), tmp_path / "out"
    assert runs(one_process, output, folder).captures == 1
    # A copy elsewhere is what it was, alone and beside a new place.
    copy = copied("three_points", tmp_path / "elsewhere", names[1])
    assert (done := runs(one_process, output, folder, copy)).captures == 0
    assert done.unchanged == 2
    both = f"{folder / names[0]} and {names[1]}"
    assert captures_in(output) == [(both, 2)]
    # One of two is gone: its rows stay, and the new place is a capture by itself.
    (folder / names[1]).unlink()
    before = visible(output, "run")
    copied("three_points", folder, names[2])
    assert runs(one_process, output, folder).captures == 1
    assert captures_in(output) == sorted([(both, 2), (str(folder / names[2]), 1)])
    after = visible(output, "run")
    assert all(set(before[table]) <= set(after[table]) for table in before)
    assert runs(one_process, output, folder).captures == 0


def test_a_stream_never_has_all_places() -> None:
    with pytest.raises(MsmqWireError, match="the option scope is ring or file, not places"):
        stream_job(Mock(), "in", "out", ReadOptions(scope="places"))


def test_packets_are_read_by_file(tmp_path: Path) -> None:
    options = ReadOptions(paths=(str(PLACES / "cut_between"),), scope="places")
    (task,) = PacketDataReader(options).partitions()
    names = [str(PLACES / "cut_between" / name) for name in ("receiver.pcap", "sender.pcap")]
    assert [(one.capture, one.base) for one in task.value] == [(name, 0) for name in names]
    (task,) = MessageReader(options).partitions()
    assert [one.name for one in task.value] == [capture_in(PLACES / "cut_between").name]
