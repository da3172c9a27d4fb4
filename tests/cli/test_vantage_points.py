"""Captures of the same traffic at two hosts are read as one, by every command that reads captures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from tests.splitting import split
from tests.two_points import two_points

Run = Callable[..., Any]
_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
_NAMES = ("clean_business_day", "com_receive_current", "demo", "clean_large_message")
_OF_POINTS = ("capture", "frames", "opened_frame", "started_frame", "seen_at")


def written(folder: Path, name: str = "clean_business_day", **how: Any) -> tuple[Path, Path]:
    frames = list(read_frames(_CAPTURES / f"{name}.pcap"))
    paths = folder / "sender.pcap", folder / "receiver.pcap"
    for path, one in zip(paths, two_points(frames, offset=3_200_000, **how), strict=True):
        write_pcap(path, one)
    return paths


def _anywhere(value: Any) -> Any:
    """A row without files and frames."""
    if isinstance(value, dict):
        return {name: _anywhere(one) for name, one in value.items() if name not in _OF_POINTS}
    return [_anywhere(one) for one in value] if isinstance(value, list) else value


def _said(text: str) -> list[Any]:
    return [_anywhere(json.loads(line)) for line in text.splitlines()]


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize(
    "options", [("decode", "--streams"), ("messages", "--all"), ("calls",), ("findings",)]
)
def test_two_points_say_what_one_of_them_says(
    run: Run, tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    sender, receiver = written(tmp_path, name)
    alone = run(options[0], sender, *options[1:], "--format", "jsonl")
    both = run(options[0], sender, receiver, *options[1:], "--format", "jsonl")
    assert _said(both.out) == _said(alone.out)
    assert both.status == alone.status
    assert "sender.pcap and " in both.err
    assert "recorded the same traffic: read as one; clock of " in both.err


def test_the_summary_says_how_the_clocks_differ(run: Run, tmp_path: Path) -> None:
    found = run("messages", *written(tmp_path))
    assert found.err.startswith("215 frames read; ")
    assert "receiver.pcap 3.2 ms (\N{PLUS-MINUS SIGN} 40" in found.err
    assert "215 copies of frames left out" in found.err
    assert "recorded the same" not in run("messages", "--quiet", *written(tmp_path)).err


def test_names_are_hidden_where_hosts_are(run: Run, tmp_path: Path) -> None:
    found = run("findings", "--redact", "hosts", *written(tmp_path))
    assert "file 1 and file 2 recorded the same traffic" in found.err
    assert "sender" not in found.err + found.out


def test_several_processes_say_what_one_says(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other.pcap"
    write_pcap(other, read_frames(_CAPTURES / "demo.pcap"))
    files = (*written(tmp_path), other)
    one = run("messages", *files)
    assert run("messages", "--jobs", "2", *files) == one
    assert run("messages", "--jobs", "2", *reversed(files)).out == run("messages", *reversed(files)).out


def test_each_file_is_hashed(run: Run, tmp_path: Path) -> None:
    paths = written(tmp_path)
    page = tmp_path / "page.html"
    assert run("report", *paths, "--output", page).status == 0
    text = page.read_text("utf-8")
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
    assert 0 < text.index(sums[0]) < text.index(sums[1])
    assert "Their frames are numbered as they were merged" in text


def test_damage_of_one_file_is_said_once(run: Run, tmp_path: Path) -> None:
    sender, receiver = written(tmp_path)
    receiver.write_bytes(receiver.read_bytes()[:-7])
    found = run("messages", sender, receiver)
    assert found.status == 1
    assert found.err.count("receiver.pcap: the file is cut inside a record") == 1
    whole = run("messages", sender)
    assert found.out.count("\n") == whole.out.count("\n")


def test_a_ring_is_one_point(run: Run, tmp_path: Path) -> None:
    sender, receiver = written(tmp_path)
    names = [f"ring_{number:05}_20261128120000.pcap" for number in (1, 2, 3)]
    parts = split(sender, tmp_path, tuple(names), (70, 140))
    found = run("messages", "--all", *parts, receiver, "--format", "jsonl")
    assert _said(found.out) == _said(run("messages", "--all", sender, "--format", "jsonl").out)
    assert "ring_00001_20261128120000.pcap to ring_00003" in found.err


def test_a_copy_of_a_file_is_no_other_place(run: Run, tmp_path: Path) -> None:
    sender, _ = written(tmp_path)
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(sender.read_bytes())
    assert "recorded the same traffic" not in run("messages", sender, copy).err


@pytest.mark.parametrize("options", [(), ("--connections",)])
def test_exported_frames_are_written_once(run: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    sender, receiver = written(tmp_path)
    alone, both = tmp_path / "alone.pcap", tmp_path / "both.pcap"
    for files, to in (((sender,), alone), ((sender, receiver), both)):
        assert run("export", *files, "--to", to, "--filter", "queue ~ orders", *options).status == 0
    assert [(one.time, one.data) for one in read_frames(both)] == [
        (one.time, one.data) for one in read_frames(alone)
    ]


def test_what_one_recording_lost_is_taken_from_the_other(run: Run, tmp_path: Path) -> None:
    sender, receiver = written(tmp_path, hops=0)
    frames = list(read_frames(sender))
    whole = _said(run("messages", "--all", sender, "--format", "jsonl").out)
    write_pcap(sender, [one for one in frames if one.number % 7])
    write_pcap(receiver, [one for one in read_frames(receiver) if one.number % 5])
    found = run("messages", "--all", sender, receiver, "--format", "jsonl")
    rows = [json.loads(line) for line in found.out.splitlines()]
    assert {Path(row["capture"]).name for row in rows} == {"sender.pcap", "receiver.pcap"}
    lost = {one.number for one in frames if not one.number % 35}
    assert len(rows) >= len(whole) - len(lost)
    # Times differ by as little as the clocks may be wrong.
    assert {(row["label"], row["src"]) for row in rows} <= {(row["label"], row["src"]) for row in whole}
