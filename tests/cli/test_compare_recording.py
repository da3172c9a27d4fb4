"""``msmq-wire compare-recording``: what it prints, how it ends, and what a stranger's folder cannot do."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.cli.recording_folder import MAX_RECORDING
from tests.cli.conftest import Outcome
from tests.schemas import schema_of

_ROOT = Path(__file__).resolve().parents[2]
_SMALL = _ROOT / "fixtures" / "recordings" / "small"

Run = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the small recording."""
    return Path(shutil.copytree(_SMALL, tmp_path / "recorded"))


def _edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "recording.json"
    reported = json.loads(path.read_text(encoding="utf-8"))
    change(reported)
    path.write_text(json.dumps(reported), encoding="utf-8")


def _step(reported: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in reported["steps"] if step["name"] == name)


def _five(reported: dict[str, Any]) -> None:
    _step(reported, "express")["messages"][0]["label"] = "expres"
    lost = {**_step(reported, "for-poison")["messages"][0], "message_id": "0\\7", "label": "lost"}
    _step(reported, "for-poison")["messages"].append(lost)
    _step(reported, "open-missing")["status"] = 0xC00E0007
    _step(reported, "receive-by-lookup")["messages"][0]["sent_time"] = "2026-11-21T00:00:00Z"
    _step(reported, "receive-from-poison")["messages"][0]["body_sha256"] = "0" * 64


def _differences(outcome: Outcome) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    return [row for row in rows if row["kind"] == "difference"]


@pytest.mark.slow
def test_a_recording_of_the_lab_agrees(run: Run) -> None:
    outcome = run("compare-recording", _SMALL)
    assert outcome.status == 0
    assert "differs" not in outcome.out
    assert "no differences; " in outcome.err
    assert [line.split()[1:] for line in outcome.out.splitlines() if " express " in line] == [
        ["express", "message", "18,", "session", "1"]
    ]


def test_five_changes_are_told_first_and_no_more(run: Run, folder: Path) -> None:
    _edit(folder, _five)
    outcome = run("compare-recording", folder)
    assert outcome.status == 3
    lines = outcome.out.splitlines()
    assert [line.split()[:4] for line in lines if line.startswith("differs")] == [
        ["differs", "express", "message", "label"],
        ["differs", "for-poison", "message", "on_the_wire"],
        ["differs", "open-missing", "call", "status"],
        ["differs", "receive-by-lookup", "message", "sent_time"],
        ["differs", "receive-from-poison", "message", "body_sha256"],
    ]
    assert not any(line.startswith("differs") for line in lines[5:])
    assert 'recorded "expres"; captured "express"  C18' in lines[0]
    assert "recorded MQ_ERROR_INVALID_HANDLE; captured MQ_ERROR_QUEUE_NOT_FOUND" in lines[2]
    assert outcome.err.rstrip().split("; ")[-3] == "5 differences"


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--publish",)], ids=["plain", "published"])
def test_every_row_fits_the_schema(run: Run, folder: Path, words: tuple[str, ...]) -> None:
    _edit(folder, _five)
    outcome = run("compare-recording", folder, "--format", "jsonl", *words)
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert {row["kind"] for row in rows} == {"difference", "agreement", "not_compared"}
    assert [fault for row in rows for fault in schema_of("comparison").faults(row)] == []
    assert not schema_of("comparison").fits(rows[0] | {"field": "nonsense"})
    assert not schema_of("comparison").fits({"kind": "difference"})


def test_a_difference_has_its_place(run: Run, folder: Path) -> None:
    _edit(folder, _five)
    label, lost, *_ = _differences(run("compare-recording", folder, "--format", "jsonl"))
    assert (label["path"], label["offset"] > 0, len(label["frames"])) == (
        "message_properties_header.label",
        True,
        1,
    )
    assert (lost["frames"], lost["offset"], lost["captured"]) == ([], None, None)


@pytest.mark.slow
def test_what_is_published_names_no_host(run: Run, folder: Path) -> None:
    def change(reported: dict[str, Any]) -> None:
        _five(reported)
        message = _step(reported, "every-property")["messages"][0]
        message["response_queue"] = "DIRECT=OS:SECRET-HOST\\private$\\q"
        message["message_id"] = "11111111-2222-3333-4444-555555555555\\7"
        _step(reported, "properties-of-the-queue")["reason"] = "SECRET-HOST does not answer"

    _edit(folder, change)
    own = json.loads((folder / "recording.json").read_text(encoding="utf-8"))["own"]["queue_manager"]
    for format_ in ("table", "jsonl"):
        plain = run("compare-recording", folder, "--format", format_)
        shown = run("compare-recording", folder, "--format", format_, "--publish")
        for word in ("SECRET-HOST", "11111111-2222", own, "OS:own"):
            assert word in plain.out
            assert word not in shown.out
        assert "127.0.0" not in shown.out + shown.err
        assert shown.status == plain.status == 3
        assert len(shown.out.splitlines()) == len(plain.out.splitlines())


@pytest.mark.slow
def test_a_stand_in_is_the_same_wherever_a_queue_manager_stands(run: Run, folder: Path) -> None:
    def change(reported: dict[str, Any]) -> None:
        for name in ("express", "every-property"):
            _step(reported, name)["messages"][0]["message_id"] = "11111111-2222-3333-4444-555555555555\\7"

    _edit(folder, change)
    rows = _differences(run("compare-recording", folder, "--format", "jsonl", "--publish"))
    assert len({row["recorded"] for row in rows if row["field"] == "message_id"}) == 1


@pytest.mark.slow
def test_what_a_stranger_wrote_does_not_reach_the_terminal(run: Run, folder: Path) -> None:
    odd = "\x1b[2J\u202e\nnext"

    def change(reported: dict[str, Any]) -> None:
        _step(reported, "express")["messages"][0]["label"] = odd
        _step(reported, "express")["name"] = odd
        _step(reported, "properties-of-the-queue")["reason"] = odd
        reported["steps"][-1]["format_name"] = odd * 1000

    _edit(folder, change)
    for format_ in ("table", "jsonl"):
        outcome = run("compare-recording", folder, "--format", format_)
        assert "\x1b" not in outcome.out + outcome.err
        assert "\u202e" not in outcome.out + outcome.err
        assert "\\x1b" in outcome.out or "\\u001b" in outcome.out


@pytest.mark.slow
def test_on_a_terminal_lines_are_folded(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _edit(folder, _five)
    arguments = ("compare-recording", folder, "--color", "never")
    wide = run(*arguments).out
    monkeypatch.setattr("msmq_wire.cli.render.screen.Screen._width", lambda self: 72)
    narrow = run(*arguments).out
    assert max(map(len, (line for line in narrow.splitlines() if line.startswith("   ")))) <= 72
    assert narrow.count("differs") == wide.count("differs") == 5
    assert max(len(line.rstrip()) for line in narrow.splitlines()) <= 72
    assert narrow.count("not compared") == wide.count("not compared") > 1
    assert "touches C18" in narrow


def _fails(run: Run, folder: Path, said: str) -> None:
    outcome = run("compare-recording", folder)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err


def test_a_folder_that_is_none_or_has_no_recording_is_told(run: Run, tmp_path: Path) -> None:
    _fails(run, tmp_path / "nowhere", "no folder")
    _fails(run, tmp_path, "recording.json: cannot read it")
    (tmp_path / "recording.json").mkdir()
    _fails(run, tmp_path, "no file")


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[" * 100_000, b'{"version":1,"made_by":"\xed\xa0\x80"}', b" " * (MAX_RECORDING + 1)],
    ids=["empty", "object", "deep", "surrogate", "large"],
)
def test_a_recording_that_is_none_is_told(run: Run, folder: Path, data: bytes) -> None:
    (folder / "recording.json").write_bytes(data)
    _fails(run, folder, "recording.json: ")


def test_a_scenario_that_is_none_is_told(run: Run, folder: Path) -> None:
    (folder / "scenario.json").write_bytes(b"{")
    _fails(run, folder, "scenario.json: not a scenario")


@pytest.mark.parametrize("key", ["capture", "storage"])
@pytest.mark.parametrize(
    "name",
    ["../capture.pcap", "..", ".", "", "/etc/passwd", "a/../../x", "..\\x", "C:\\x", "\\\\host\\x", "a\0b"],
)
def test_a_name_leads_to_a_file_in_the_folder_or_nowhere(run: Run, folder: Path, key: str, name: str) -> None:
    shutil.copy(folder / "capture.pcap", folder.parent / "capture.pcap")
    _edit(folder, lambda reported: reported.update({key: name}))
    _fails(run, folder, "this folder")


def test_a_link_out_of_the_folder_is_not_followed(run: Run, folder: Path) -> None:
    outside = folder.parent / "elsewhere.pcap"
    os.replace(folder / "capture.pcap", outside)
    (folder / "capture.pcap").symlink_to(outside)
    _fails(run, folder, "leads out of this folder")
    (folder / "capture.pcap").unlink()
    os.replace(folder / "recording.json", folder.parent / "recording.json")
    (folder / "recording.json").symlink_to(folder.parent / "recording.json")
    _fails(run, folder, "leads out of this folder")


def test_a_capture_that_is_missing_or_none_is_told(run: Run, folder: Path) -> None:
    (folder / "capture.pcap").write_bytes(b"nothing of the kind")
    _fails(run, folder, "capture.pcap")
    (folder / "capture.pcap").unlink()
    _fails(run, folder, "no capture is there")
    _edit(folder, lambda reported: reported.update(capture=None))
    _fails(run, folder, "it names no capture")


def test_a_capture_that_is_cut_is_compared_as_far_as_it_goes(run: Run, folder: Path) -> None:
    data = (folder / "capture.pcap").read_bytes()
    (folder / "capture.pcap").write_bytes(data[: len(data) - 10])
    outcome = run("compare-recording", folder)
    assert outcome.status in (1, 3)
    assert "agrees        express" in outcome.out


@pytest.mark.slow
def test_without_a_scenario_of_its_own_ours_counts_where_it_is_the_one(run: Run, folder: Path) -> None:
    (folder / "scenario.json").unlink()
    outcome = run("compare-recording", folder)
    assert outcome.status == 3
    assert "the scenario that was run is not known" in outcome.out
    ours = (_ROOT / "fixtures" / "record" / "scenario.json").read_bytes()
    (folder / "scenario.json").write_bytes(ours)
    assert "recording scenario_sha256" in run("compare-recording", folder).out


def test_bad_usage_is_told(run: Run, folder: Path) -> None:
    assert run("compare-recording").status == 2
    assert run("compare-recording", folder, "--format", "csv").status == 2
    assert run("compare-recording", folder, "--format", "jsonl", "--local").status == 2
    assert run("compare-recording", folder, "--nt-hash", "nonsense").status == 2
