"""Files of a ring buffer, in any order or as a folder, say what the whole capture says."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.source import read_frames
from tests.splitting import split

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
_DUMPCAP = (
    "ring_00001_20261128120000.pcap",
    "ring_00002_20261128121500.pcap",
    "ring_00003_20261128123000.pcap",
)
_ONE = "3 files read as one capture, in order of time"
_PLACES = ("capture", "frames", "opened_frame", "started_frame")
_SPLIT = {
    # The second file begins in the middle of a message, of a call, of an envelope, of a datagram.
    "clean_business_day": (72, 143),
    "clean_large_message": (10, 14),
    "lab_remote_read": (21, 42),
    "lab_srmp": (10, 21),
    "path_ipv4_fragments_reversed": (4, 8),
    "path_ipv6_fragments": (4, 7),
    "com_receive_current": (8, 16),
}

Run = Callable[..., Any]


def _said(text: str) -> list[Any]:
    return [_anywhere(json.loads(line)) for line in text.splitlines()]


def _anywhere(value: Any) -> Any:
    """A row without files and frames."""
    if isinstance(value, dict):
        return {name: _anywhere(one) for name, one in value.items() if name not in _PLACES}
    return [_anywhere(one) for one in value] if isinstance(value, list) else value


@pytest.fixture
def ring(tmp_path: Path) -> list[Path]:
    """The demo in three files; the third begins inside of a message of three frames: 6 to 8 of the second."""
    return split(_CAPTURES / "demo.pcap", tmp_path, _DUMPCAP, (9, 16))


@pytest.mark.parametrize("name", _SPLIT)
@pytest.mark.parametrize(
    "options", [("decode", "--streams"), ("messages", "--all"), ("calls",), ("findings",)]
)
def test_files_of_a_ring_say_what_the_whole_capture_says(
    run: Run, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    capture = _CAPTURES / f"{name}.pcap"
    first, second, third = split(capture, tmp_path, _DUMPCAP, _SPLIT[name])
    whole = run(options[0], capture, *options[1:], "--format", "jsonl")
    parts = run(options[0], third, first, second, *options[1:], "--format", "jsonl")
    assert _said(parts.out) == _said(whole.out)
    assert parts.status == whole.status
    assert _ONE in parts.err


@pytest.mark.parametrize("name", _SPLIT)
def test_frame_by_frame_and_by_column_files_of_a_ring_give_the_same(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    files = split(_CAPTURES / f"{name}.pcap", tmp_path, _DUMPCAP, _SPLIT[name])
    for command in ("decode", "messages"):
        expected = run(command, *files, "--format", "jsonl").out
        with monkeypatch.context() as patch:
            patch.setattr("msmq_wire.capture.reader._WORTH_COLUMNS", 1)
            assert run(command, *files, "--format", "jsonl").out == expected


@pytest.mark.parametrize("name", ["clean_business_day", "lab_remote_read", "demo"])
def test_a_diagnosis_of_a_ring_is_that_of_the_whole_capture(run: Run, tmp_path: Path, name: str) -> None:
    capture = _CAPTURES / f"{name}.pcap"
    middle = sum(1 for _ in read_frames(str(capture))) // 2
    files = split(capture, tmp_path, ("trace.pcap", "trace.pcap1"), (middle,))
    whole = json.loads(run("diagnose", capture, "--format", "jsonl").out.splitlines()[0])
    parts = json.loads(run("diagnose", *reversed(files), "--format", "jsonl").out.splitlines()[0])
    texts = [re.sub(r"[Ff]rames? .*", "", one["text"]) for one in whole["statements"]]
    assert [re.sub(r"[Ff]rames? .*", "", one["text"]) for one in parts["statements"]] == texts
    # Frames are numbered through both files here.
    assert parts["digest"]["looked_at"] == whole["digest"]["looked_at"]
    assert [one["frames"] for one in parts["statements"]] == [one["frames"] for one in whole["statements"]]


def test_a_folder_with_a_ring_is_one_capture(run: Run, ring: list[Path], tmp_path: Path) -> None:
    assert len(ring) == 3
    outcome = run("diagnose", tmp_path)
    assert outcome.status == 0
    assert outcome.out.startswith("Nothing wrong seen in 3 messages, 1 session and 1 ping in 25 frames.")
    assert _ONE in outcome.err


@pytest.mark.parametrize(
    "names",
    [
        ("name_00009.pcap", "name_00010.pcap", "name_00011.pcap"),
        ("trace.pcap", "trace.pcap1", "trace.pcap2"),
        ("trace3.pcap", "trace4.pcap", "trace0.pcap"),
        ("name_20261128235900.pcap", "name_20261129000000.pcap", "name_20261129000100.pcap"),
    ],
)
def test_names_of_dumpcap_and_tcpdump_are_those_of_a_ring(
    run: Run, tmp_path: Path, names: tuple[str, ...]
) -> None:
    files = split(_CAPTURES / "demo.pcap", tmp_path, names, (9, 16))
    outcome = run("findings", files[2], files[0], files[1])
    assert _ONE in outcome.err


def test_a_frame_has_the_number_that_it_has_in_its_file(run: Run, ring: list[Path]) -> None:
    rows = [
        json.loads(line) for line in run("messages", *reversed(ring), "--format", "jsonl").out.splitlines()
    ]
    # The catalogue is in frames 15 to 17 of the demo: 6 and 7 of the second file, 1 of the third.
    assert [(row["label"], Path(row["capture"]).name, row["frames"]) for row in rows] == [
        ("order 4711", _DUMPCAP[1], [2]),
        ("payment 93", _DUMPCAP[1], [4]),
        ("catalogue 2026-11-20", _DUMPCAP[2], [1]),
    ]
    reported = run("diagnose", *ring, "--question", "3").out
    assert "frame 2 of 00002_20261128121500" in reported
    assert "frame 1 of 00003_20261128123000" in reported


def test_export_writes_the_frames_of_all_files_of_an_item(run: Run, ring: list[Path], tmp_path: Path) -> None:
    rows = [json.loads(line) for line in run("messages", *ring, "--format", "jsonl").out.splitlines()]
    target = tmp_path / "one.out"
    assert run("export", ring[2], ring[1], ring[0], "--id", rows[2]["id"], "--to", target).status == 0
    whole = list(read_frames(str(_CAPTURES / "demo.pcap")))
    assert [one.data for one in read_frames(str(target))] == [one.data for one in whole[14:17]]


def test_an_id_is_that_of_the_whole_capture(run: Run, ring: list[Path]) -> None:
    for number in (1, 5, 12):
        whole = run("decode", _CAPTURES / "demo.pcap", "--id", number, "--format", "jsonl").out
        assert _said(run("decode", *ring, "--id", number, "--format", "jsonl").out) == _said(whole)


def test_verbose_lists_the_files_in_their_order(run: Run, ring: list[Path]) -> None:
    err = run("messages", ring[2], ring[0], ring[1], "-v").err
    assert f"{_ONE} ({ring[0]}, {ring[1]}, {ring[2]})" in err
    hidden = run("messages", ring[2], ring[0], ring[1], "-v", "--redact", "hosts").err
    assert f"{_ONE} (file 2, file 3, file 1)" in hidden


def test_redacted_rows_of_a_ring_name_no_file(run: Run, ring: list[Path]) -> None:
    for command in ("decode", "messages", "findings"):
        out = run(command, *ring, "--redact", "hosts", "--format", "jsonl").out
        assert "ring_0" not in out
        assert '"capture":"file 2"' in out


def test_files_that_overlap_are_captures_of_their_own(run: Run, tmp_path: Path) -> None:
    files = [tmp_path / f"server{number}.pcap" for number in (1, 2)]
    for file in files:
        shutil.copy(_CAPTURES / "demo.pcap", file)
    outcome = run("diagnose", *files)
    assert "one capture" not in outcome.err
    assert "2 sessions" in outcome.out


def test_files_of_other_names_are_captures_of_their_own(run: Run, tmp_path: Path) -> None:
    files = split(_CAPTURES / "demo.pcap", tmp_path, ("before.pcap", "after.pcap"), (16,))
    assert "one capture" not in run("messages", *files).err


def test_a_file_that_is_named_twice_is_read_twice(run: Run, ring: list[Path]) -> None:
    outcome = run("messages", ring[1], ring[1], "--format", "jsonl")
    # Two messages, and what there is of the third.
    assert len(outcome.out.splitlines()) == 2 * 3
    assert "one capture" not in outcome.err


def test_after_damage_the_next_file_goes_on(run: Run, ring: list[Path]) -> None:
    # The last frame of the second file is cut: it is the second one of the catalogue.
    ring[1].write_bytes(ring[1].read_bytes()[:-20])
    outcome = run("decode", *ring, "--format", "jsonl", "--streams")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    errors = [row for row in rows if row["type"] == "error"]
    gaps = [row for row in rows if row["type"] == "gap" and row["missing"]]
    assert outcome.status == 1
    assert outcome.err.count("the file is cut inside a record") == 1
    assert [(Path(row["capture"]).name, row["frames"]) for row in errors] == [(_DUMPCAP[1], [])]
    assert len(gaps) == 1
    # One connection, as in the whole capture.
    assert {row["stream"] for row in rows if row["stream"] is not None} == {0}
    assert "1 session" in run("diagnose", *ring).out


def test_a_file_without_frames_is_a_capture_of_its_own(run: Run, ring: list[Path], tmp_path: Path) -> None:
    empty = tmp_path / "ring_00004_20261128124500.pcap"
    empty.write_bytes(ring[0].read_bytes()[:24])
    outcome = run("messages", *ring, empty, "--format", "jsonl")
    assert len(outcome.out.splitlines()) == 3
    assert _ONE in outcome.err
    assert f"{empty}: no MSMQ traffic in 0 frames" in outcome.err


def test_processes_take_a_ring_as_one(run: Run, ring: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "day.pcap"
    shutil.copy(_CAPTURES / "clean_business_day.pcap", other)
    for command in ("decode", "messages", "calls"):
        given = (command, ring[1], other, ring[0], ring[2], "--format", "jsonl")
        assert run(*given, "--jobs", 2) == run(*given)


def test_a_report_names_the_file_of_a_frame(run: Run, ring: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("report", *reversed(ring), "-o", page).status == 0
    text = page.read_text(encoding="utf-8")
    assert "Their frames are numbered on from file to file" in text
    # 9, 7 and 9 frames.
    for numbers in ("1 to 9", "10 to 16", "17 to 25"):
        assert f">{numbers}<" in text
