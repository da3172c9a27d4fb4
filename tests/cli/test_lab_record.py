"""``msmq-wire lab record``: what it prints, what it refuses, and what it leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from msmq_wire.cli import built_in
from msmq_wire.cli.recording_folder import default_scenario
from tests.cli.conftest import Outcome

Run = Callable[..., Outcome]
SCENARIO = {
    "version": 1,
    "queues": [{"name": "theirs"}],
    "steps": [
        {"name": "send", "do": "send", "queue": "theirs", "label": "one"},
        {"name": "wrong", "do": "receive", "queue": "theirs;late"},
        {"name": "sign", "do": "send", "queue": "theirs", "needs": ["domain"]},
    ],
}


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(SCENARIO), encoding="utf-8")
    return path


def test_a_recording_is_made_and_read_as_any_capture(run: Run, scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "recorded"
    made = run("lab", "record", folder, "--scenario", scenario, "--time", 1_700_000_000, "--seed", 5)
    assert (made.status, made.out) == (0, "3 steps: 1 done, 1 refused, 1 skipped\n")
    assert made.err == "sign was skipped: the lab has no directory, and so neither certificates nor keys\n"
    assert sorted(path.name for path in folder.iterdir()) == [
        "capture.pcap",
        "recording.json",
        "scenario.json",
    ]
    assert (folder / "scenario.json").read_bytes() == scenario.read_bytes()
    recording = json.loads((folder / "recording.json").read_bytes())
    assert recording["begun"].startswith("2023-11-14T22:13:20.")
    rows = run("messages", folder / "capture.pcap", "--format", "jsonl").out.splitlines()
    assert [json.loads(row)["message_id"] for row in rows] == [
        recording["steps"][0]["messages"][0]["message_id"]
    ]


def test_a_recording_that_is_there_is_written_over_with_force_only(
    run: Run, scenario: Path, tmp_path: Path
) -> None:
    (tmp_path / "capture.pcap").write_bytes(b"precious")
    refused = run("lab", "record", tmp_path, "--scenario", scenario)
    assert (refused.status, refused.out) == (2, "")
    assert "capture.pcap is there: --force writes over it" in refused.err
    assert (tmp_path / "capture.pcap").read_bytes() == b"precious"
    assert run("lab", "record", tmp_path, "--scenario", scenario, "--force").status == 0
    assert (tmp_path / "capture.pcap").read_bytes() != b"precious"


def test_a_scenario_that_is_there_already_stays_and_another_one_does_not(
    run: Run, scenario: Path, tmp_path: Path
) -> None:
    assert run("lab", "record", tmp_path, "--scenario", scenario).status == 0
    (tmp_path / "capture.pcap").unlink()
    (tmp_path / "recording.json").unlink()
    refused = run("lab", "record", tmp_path)
    assert (refused.status, refused.out) == (2, "")
    assert "scenario.json is there: --force writes over it" in refused.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a scenario: Input data was truncated"),
        ('{"version": 2, "queues": [], "steps": []}', "not a scenario: "),
        ('{"version": 1, "queues": [], "steps": [], "more": 1}', "unknown field `more`"),
        (
            '{"version": 1, "queues": [], "steps": [{"name": "a", "do": "peek", "queue": "b;journal"}]}',
            "step a names the queue b;journal, which is not there",
        ),
        ('{"version": 1, "queues": [{"name": "a"}, {"name": "a"}], "steps": []}', "two queues have one name"),
        (
            '{"version": 1, "queues": [], "steps": [{"name": "a", "do": "wait", "seconds": 3601}]}',
            "Expected `int` <= 3600",
        ),
        (
            '{"version": 1, "queues": [{"name": "q"}], "steps": [{"name": "a", "do": "send", "queue": "q", '
            '"body": "xx", "repeat": 4194304}]}',
            "step a has a body of more than 4194304 bytes",
        ),
        (" " * (1 << 20) + "{}", "larger than 1048576 bytes: no scenario"),
    ],
    ids=("cut", "version", "more", "queue", "twice", "seconds", "body", "large"),
)
def test_what_is_no_scenario_is_one_line_and_status_1(
    run: Run, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "scenario.json"
    path.write_text(text, encoding="utf-8")
    refused = run("lab", "record", tmp_path / "recorded", "--scenario", path)
    assert (refused.status, refused.out) == (1, "")
    assert f"{path}: " in refused.err
    assert message in refused.err
    assert refused.err.count("\n") == 1
    assert not list((tmp_path / "recorded").glob("*"))


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "DIR"),
        (("-",), 2, "- is no folder here"),
        (("x", "--seed", "many"), 2, "--seed"),
        (("x", "--time", "-1"), 2, "--time"),
        ((__file__,), 1, "File exists"),
        (("x", "--scenario", "/nowhere/at/all"), 1, "/nowhere/at/all: No such file or directory"),
    ],
)
def test_bad_usage_and_what_cannot_be_read_are_one_line(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    status: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("lab", "record", *arguments)
    assert (refused.status, refused.out) == (status, "")
    assert message in refused.err
    assert refused.err.count("\n") == 1


def test_the_scenario_of_a_wheel_comes_before_that_of_the_repository(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_repository = default_scenario()
    assert json.loads(in_repository)["version"] == 1
    (tmp_path / "scenario.json").write_bytes(b"of the wheel")
    monkeypatch.setattr(built_in, "files", lambda name: tmp_path / os.curdir)
    assert default_scenario() == b"of the wheel"
