"""The scenario as the lab records it, compared: all of it agrees, and five changes are told, each once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.lab.recorder import record
from tests.cli.conftest import Outcome

_SCENARIO = Path(__file__).resolve().parents[2] / "fixtures" / "record" / "scenario.json"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    record(folder, _SCENARIO.read_bytes(), begin=1_795_300_000)
    return folder


@pytest.mark.slow
def test_all_that_the_lab_records_agrees(run: Callable[..., Outcome], recorded: Path) -> None:
    outcome = run("compare-recording", recorded)
    assert (outcome.status, [one for one in outcome.out.splitlines() if one.startswith("differs")]) == (0, [])
    agreeing = {line.split()[1] for line in outcome.out.splitlines() if line.startswith("agrees")}
    steps = json.loads((recorded / "recording.json").read_text(encoding="utf-8"))["steps"]
    assert {step["name"] for step in steps if step["remote"]} <= agreeing


def test_five_changes_in_it_are_told_at_their_steps(
    run: Callable[..., Outcome], recorded: Path, tmp_path: Path
) -> None:
    reported = json.loads((recorded / "recording.json").read_text(encoding="utf-8"))
    steps: dict[str, Any] = {step["name"]: step for step in reported["steps"]}
    steps["odd-label"]["messages"][0]["label"] = "odd"
    lost = {**steps["transaction"]["messages"][0], "message_id": "0\\7", "label": "transaction 4"}
    steps["transaction"]["messages"].append(lost)
    steps["receive-from-an-empty-queue"]["status"] = 0xC00E0088
    steps["receive-first"]["messages"][0]["arrived_time"] = "2026-11-20T00:00:00Z"
    steps["receive-large"]["messages"][0]["body_sha256"] = "0" * 64
    (tmp_path / "recording.json").write_text(json.dumps(reported), encoding="utf-8")
    for name in ("capture.pcap", "scenario.json"):
        (tmp_path / name).write_bytes((recorded / name).read_bytes())
    outcome = run("compare-recording", tmp_path, "--format", "jsonl")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    differences = [row for row in rows if row["kind"] == "difference"]
    assert outcome.status == 3
    assert [(row["step"], row["field"], bool(row["frames"])) for row in differences] == [
        ("odd-label", "label", True),
        ("transaction", "on_the_wire", False),
        ("receive-first", "arrived_time", True),
        ("receive-large", "body_sha256", True),
        ("receive-from-an-empty-queue", "status", True),
    ]
