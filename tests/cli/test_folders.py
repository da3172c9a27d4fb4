"""A folder in the place of a file: its captures, or one line that says why there is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_COMMANDS = (
    "decode",
    "messages",
    "calls",
    "diagnose",
    "findings",
    "replay",
    "export",
    "report",
    "timeline",
    "why",
)
_NAMED = "a file that is named itself is read, whatever its name"
_LEFT_OUT = f"1 other file left out: {_NAMED}"

Run = Callable[..., Any]


def _target(command: str, folder: Path) -> tuple[object, ...]:
    """What a command wants behind its files."""
    more = {"export": ("--to", folder / "out"), "report": ("-o", folder / "out"), "why": ("order 4711",)}
    return more.get(command, ())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two captures, what is none, and a folder with another one."""
    folder = tmp_path / "captures"
    (folder / "deeper").mkdir(parents=True)
    for name in ("b.pcap", "a.pcap1", "deeper/c.pcap"):
        shutil.copy(_FIXTURES / "captures" / "demo.pcap", folder / name)
    (folder / "readme.txt").write_text("no capture\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_folder_stands_for_the_captures_in_it_in_the_order_of_their_names(
    run: Run, folder: Path, tmp_path: Path, command: str
) -> None:
    arguments = [f"{folder}/a.pcap1", f"{folder}/b.pcap"]
    named = run(command, *arguments, *_target(command, tmp_path))
    (tmp_path / "out").unlink(missing_ok=True)
    outcome = run(command, folder, *_target(command, tmp_path))
    assert (outcome.status, outcome.out) == (named.status, named.out)
    assert "50 frames read" in outcome.err
    left_out = f"; {_LEFT_OUT}; 1 folder inside left out: --recursive reads those, too"
    assert left_out in outcome.err
    assert outcome.err.replace(left_out, "") == named.err


@pytest.mark.parametrize("command", ["decode", "messages", "why"])
def test_folders_in_folders_are_read_on_request(run: Run, folder: Path, tmp_path: Path, command: str) -> None:
    outcome = run(command, folder, "--recursive", *_target(command, tmp_path))
    assert outcome.err.count("75 frames read") == 1
    assert _LEFT_OUT in outcome.err
    assert "inside" not in outcome.err


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_folder_without_captures_is_one_line_and_never_silence(
    run: Run, folder: Path, tmp_path: Path, command: str
) -> None:
    empty = tmp_path / "empty"
    (empty / "deeper").mkdir(parents=True)
    (empty / "notes").touch()
    outcome = run(command, empty, *_target(command, tmp_path))
    reported = f"1 other file, named otherwise: {_NAMED}; --recursive reads its folders, too"
    line = f"{empty}: no capture in this folder; {reported}"
    assert (outcome.status, outcome.err.splitlines()[0]) == (1, f"msmq-wire: {line}")
    assert not (tmp_path / "out").exists()
    # What else is named is read all the same.
    outcome = run(command, empty, folder / "b.pcap", *_target(command, tmp_path))
    assert outcome.status == 1
    assert line in outcome.err
    assert "25 frames read" in outcome.err


def test_a_command_for_one_file_says_so(run: Run, folder: Path) -> None:
    outcome = run("packet", folder)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == f"msmq-wire: {folder}: cannot read it: this is a folder, name one of its files\n"


def test_a_folder_of_captures_is_audited_like_its_captures(run: Run, tmp_path: Path) -> None:
    shutil.copy(_FIXTURES / "captures" / "routed_mixed.pcap", tmp_path)
    topology = ("--topology", _FIXTURES / "routing" / "example.toml", "--format", "csv")
    named = run("route-audit", *topology, tmp_path / "routed_mixed.pcap")
    assert run("route-audit", *topology, tmp_path)[:2] == named[:2]
    assert named.out.count("\n") > 1
