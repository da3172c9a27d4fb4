"""Files that follow each other are one capture in the tables, as on the command line, and stay one."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.listing import Scope
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.cli.app import main
from msmq_wire.spark.job import run_job
from msmq_wire.spark.publishing import JobRun
from tests.spark.test_job import one_process, options_of, rows_in, visible

pytestmark = pytest.mark.needs("pyspark")

__all__ = ["one_process"]

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RINGS = ("captures/clean_business_day", "captures/clean_srmp", "rpc_captures/rpc_qmcomm_qm2qm")


def cut(folder: Path, count: int, source: str = RINGS[0], called: str = "day{}.pcap") -> list[Path]:
    """Write a capture as so many files that follow each other."""
    folder.mkdir(parents=True, exist_ok=True)
    frames = list(read_frames(FIXTURES / f"{source}.pcap"))
    each = len(frames) // count
    paths = [folder / called.format(number) for number in range(count)]
    for number, path in enumerate(paths):
        stop = None if number == count - 1 else (number + 1) * each
        write_pcap(path, frames[number * each : stop])
    return paths


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    main([*words[:1], "--quiet", "--format", "jsonl", *words[1:]])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def run(session: Any, output: Path, *paths: Path, scope: Scope = "ring", again: bool = False) -> JobRun:
    return run_job(session, str(output), options_of(*paths, scope=scope), again=again)


def captures_in(output: Path) -> list[tuple[str, int]]:
    return sorted((row["capture"], row["files"]) for row in rows_in(output, "captures"))


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "cut"])
@pytest.mark.parametrize("source", RINGS)
def test_a_ring_has_the_rows_that_the_command_line_prints(
    source: str, damaged: bool, one_process: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    paths = cut(folder, 3, source)
    if damaged:
        paths[1].write_bytes(paths[1].read_bytes()[:-5])
    run(one_process, output, folder)
    assert captures_in(output) == [(f"{paths[0]} to {paths[2].name}", 3)]
    told = printed(capsys, "decode", "--streams", str(folder))
    rows = {row["id"]: row for table in ("messages", "calls") for row in rows_in(output, table)}
    shown = {row["id"]: row for row in told if row["type"] not in ("tcp_stream", "error")}
    assert {key: (row["parent"], row["type"]) for key, row in rows.items()} == {
        key: (row["parent"], row["type"]) for key, row in shown.items()
    }
    placed = [
        (row["path"], row["frame_no"]) == (shown[key]["capture"], shown[key]["frames"][-1])
        for key, row in rows.items()
        if row["type"] in ("user_message", "session_ack") and not damaged
    ]
    # Behind a gap rows have the frame that completes them.
    assert all(placed)
    assert placed or damaged or source != RINGS[0]
    errors = [(row["path"], row["message"]) for row in rows_in(output, "errors") if row["type"] == "error"]
    assert errors == [(row["capture"], row["error"]["message"]) for row in told if row["type"] == "error"]
    assert len(errors) == damaged

    found = sorted(
        (row["rule"], row["message"], [(one["capture"], one["frames"]) for one in row["evidence"]])
        for row in rows_in(output, "findings")
    )
    assert found == sorted(
        (row["id"], row["message"], [(one["capture"], one["frames"]) for one in row["evidence"]])
        for row in printed(capsys, "findings", str(folder))
    )
    bodies = {row["id"]: row["body"] for row in rows_in(output, "messages") if row["body"] is not None}
    for row in printed(capsys, "messages", str(folder)):
        if row.get("body_base64") is not None:
            assert base64.b64decode(row["body_base64"]) == bodies[row["id"]]


@pytest.mark.slow
def test_a_ring_that_goes_on_is_replaced_and_what_it_overwrote_stays(
    one_process: Any, tmp_path: Path
) -> None:
    whole, folder, output = tmp_path / "whole", tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    paths = cut(whole, 5)

    def move(*numbers: int) -> list[Path]:
        """Let the ring be these of its files."""
        for number, path in enumerate(paths):
            if number not in numbers:
                (folder / path.name).unlink(missing_ok=True)
            elif not (folder / path.name).exists():
                shutil.copy2(path, folder)
        return [folder / paths[number].name for number in numbers]

    def named(ring: list[Path]) -> tuple[str, int]:
        return str(ring[0]) if len(ring) == 1 else f"{ring[0]} to {ring[-1].name}", len(ring)

    def grows(*numbers: int) -> list[Path]:
        ring, fresh = move(*numbers), tmp_path / f"fresh {numbers}"
        done = run(one_process, output, folder)
        assert (done.captures, done.unchanged) == (1, 0)
        assert captures_in(output) == [named(ring)]
        run(one_process, fresh, folder)
        assert visible(output, "run") == visible(fresh, "run")
        assert run(one_process, output, folder).unchanged == 1
        return ring

    grows(0)
    grows(0, 1)
    first = grows(0, 1, 2)
    # The last file goes on.
    last, data = folder / paths[2].name, paths[2].read_bytes()
    write_pcap(paths[2], list(read_frames(last))[:-3])
    last.unlink()
    move(0, 1, 2)
    assert run(one_process, output, folder, again=True).captures == 1
    last.write_bytes(data)
    grows(0, 1, 2)
    # The first is overwritten: what was seen of it stays, with nothing new and with new files.
    move(1, 2)
    before = visible(output, "run")
    assert run(one_process, output, folder).unchanged == 1
    assert run(one_process, output, folder, again=True).captures == 0
    assert visible(output, "run") == before
    new = move(1, 2, 3, 4)[2:]
    assert run(one_process, output, folder).captures == 1
    assert captures_in(output) == sorted([named(first), named(new)])
    after = visible(output, "run")
    assert all(set(before[table]) <= set(after[table]) for table in before)


@pytest.mark.slow
def test_a_ring_is_told_from_others_of_its_name_and_from_copies(one_process: Any, tmp_path: Path) -> None:
    folder, output = tmp_path / "in", tmp_path / "out"
    first = cut(folder / "a", 2)
    other = cut(folder / "b", 2, RINGS[1])
    single = cut(folder / "c", 1, RINGS[2], "calls.pcap")
    copy = shutil.copy(first[0], folder / "c" / "again.pcap")
    done = run(one_process, output, folder / "a", folder / "b", single[0])
    assert done.captures == 3
    done = run(one_process, output, folder / "a", folder / "b", folder / "c")
    # A file of a ring that lies elsewhere, too, is no capture of its own.
    assert (done.captures, done.unchanged) == (0, 4)
    before = visible(output, "run")
    # Another capture in files of the same names: both stay.
    for path in other:
        path.unlink()
    cut(folder / "b", 2, "captures/clean_routed")
    done = run(one_process, output, folder / "a", folder / "b", Path(copy))
    assert (done.captures, done.unchanged) == (1, 2)
    assert [name for name, _ in captures_in(output)] == [
        f"{first[0]} to day1.pcap",
        f"{other[0]} to day1.pcap",
        f"{other[0]} to day1.pcap#2",
        str(single[0]),
    ]
    after = visible(output, "run")
    assert all(set(before[table]) <= set(after[table]) for table in before)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["ring", "places", "file", "group"])
def test_each_scope_puts_files_together_in_its_way(scope: Scope, one_process: Any, tmp_path: Path) -> None:
    paths, output = cut(tmp_path / "in", 2), tmp_path / "out"
    cut(tmp_path / "in", 1, RINGS[1], "other.pcap")
    assert run(one_process, output, tmp_path / "in", scope=scope).damage == ()
    ring, other = f"{paths[0]} to day1.pcap", str(tmp_path / "in" / "other.pcap")
    names = {
        "ring": [(ring, 2), (other, 1)],
        "places": [(ring, 2), (other, 1)],
        "file": [(str(paths[0]), 1), (str(paths[1]), 1), (other, 1)],
        "group": [(str(tmp_path / "in"), 3)],
    }
    assert captures_in(output) == names[scope]
    again = run(one_process, output, tmp_path / "in", scope=scope)
    assert (again.captures, again.unchanged) == (0, len(names[scope]))
    assert run(one_process, output, tmp_path / "in", scope=scope, again=True).captures == len(names[scope])
    assert captures_in(output) == names[scope]
