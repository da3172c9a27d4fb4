"""Commands that follow sessions do so within a budget: what leaves is judged, and one line says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from msmq_wire import GUID, build_message, encode
from tests.cli.conftest import Outcome, pcap_bytes, tcp_frame

Run = Callable[..., Outcome]
COUNT = 60


@pytest.fixture
def lone(tmp_path: Path) -> Path:
    """A capture in which each message has a connection and a queue of its own."""
    frames = []
    for number in range(COUNT):
        message = build_message(
            rf"DIRECT=OS:msg01\private$\q{number}",
            b"x",
            message_id=1,
            source_queue_manager=GUID(number.to_bytes(16, "little")),
        )
        frames.append(tcp_frame(encode(message), 1, src=f"10.0.0.{number}"))
    path = tmp_path / "lone.pcap"
    path.write_bytes(pcap_bytes(frames))
    return path


def line_of(outcome: Outcome) -> list[str]:
    return [line for line in outcome.err.splitlines() if "dropped to save memory" in line]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["findings", "diagnose", "timeline", "replay", "report"])
def test_one_line_says_that_more_was_captured_than_is_followed(
    command: str, run: Run, lone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ("-o", tmp_path / "page.html", "--force") if command == "report" else ()
    assert line_of(run(command, lone, *more)) == []
    (line,) = line_of(run(command, lone, *more, "--quiet", "--memory", "20k"))
    assert " sessions, " in line
    assert " messages, " in line
    assert "told as they stood in 1 MiB" in line
    assert line.endswith("--memory 8m follows more")
    monkeypatch.setenv("MSMQ_WIRE_MEMORY", "20k")
    assert line_of(run(command, lone, *more, "--quiet")) == [line]


def test_findings_about_sessions_that_leave_are_those_about_sessions_that_stay(run: Run, lone: Path) -> None:
    def found(*more: str) -> list[str]:
        outcome = run("findings", lone, "--format", "jsonl", "--rule", "SES-NAKED", *more)
        return sorted(row["evidence"][0]["src"] for row in map(json.loads, outcome.out.splitlines()))

    whole = found()
    assert len(whole) == COUNT
    assert found("--memory", "20k") == whole


@pytest.mark.slow
def test_a_report_and_a_diagnosis_count_messages_that_left(run: Run, lone: Path, tmp_path: Path) -> None:
    def reported(*more: str) -> tuple[str, list[str]]:
        page = tmp_path / "page.html"
        assert run("report", lone, "-o", page, "--force", *more).status == 0
        text = page.read_text(encoding="utf-8")
        answers = run("diagnose", lone, "--question", "3", *more).out.splitlines()
        return text, [line for line in answers if "message" in line]

    page, answers = reported()
    with_less, fewer = reported("--memory", "20k")
    for text in (page, with_less):
        assert f"Of {COUNT} different messages: {COUNT} unknown." in text
    # Every row has its outcome.
    assert with_less.count("<td>unknown</td>") == page.count("<td>unknown</td>") == COUNT
    assert answers[0] == fewer[0]
    assert "messages dropped to save memory before an end was seen, and not counted here" in " ".join(fewer)
    assert "were judged before the end of the capture" in with_less
