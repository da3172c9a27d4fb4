"""``msmq-wire replay``: which replies are told, how, what is left out, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture import packet_batch, reader
from tests.cli.conftest import Outcome
from tests.effort import in_batches
from tests.runs import CAPTURES

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_TWICE = _FIXTURES / "findings" / "RPL-TWICE" / "hit_locked.pcap"
_ORDER = _FIXTURES / "findings" / "RPL-ORDER" / "hit_priority.pcap"
_HONEST = _FIXTURES / "findings" / "RPL-TWICE" / "miss_put_back.pcap"
_STRANGER = _FIXTURES / "findings" / "RPL-STRANGER" / "hit_reached.pcap"
_AHEAD = _FIXTURES / "findings" / "SES-ACKBACK" / "hit_ahead.pcap"
_LOST = _FIXTURES / "findings" / "SES-ACKBACK" / "miss_lost_frames.pcap"
_DEMO = _FIXTURES / "captures" / "demo.pcap"

Run = Callable[..., Outcome]


def _rows(outcome: Outcome) -> list[Any]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_a_deviation_is_one_line_in_a_pipe_with_the_rule_what_was_due_and_what_came(run: Run) -> None:
    outcome = run("replay", _TWICE)
    assert outcome.status == 3
    (line,) = outcome.out.splitlines()
    assert [part.strip() for part in line.split("  ") if part] == [
        "high",
        "twice",
        "2026-11-20 09:14:07.525000Z",
        "192.0.2.21:50113 → 192.0.2.10:2103",
        "frames 10, 11",
        "MQRR-3.1.4.7-89 [MS-MQRR] 3.1.4.7",
        "R_StartReceive returns message a1d30c5b-247e-4f45-9a31-c5d20e6f7788\\4097, though R_StartReceive "
        "(frame 9) has it and did not put it back; due: another message, or none; came: the same message",
        "DIRECT=OS:msg01\\private$\\orders",
    ]
    assert outcome.err.strip().endswith("1 deviation: 1 high; 5 calls")


def test_a_deviation_is_a_block_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.setenv("FORCE_COLOR", "1")
    outcome = run("replay", _ORDER, _TWICE, "--color", "always")
    lines = outcome.out.splitlines()
    assert len(lines) > 10
    assert any("but: likely only" in line for line in lines)
    assert sum("hit_locked.pcap" in line for line in lines) == 1


def test_a_row_says_all_of_it(run: Run) -> None:
    (row,) = _rows(run("replay", _TWICE, "--format", "jsonl"))
    assert {name: row[name] for name in ("id", "severity", "kind", "certain", "server", "method")} == {
        "id": "RPL-TWICE",
        "severity": "high",
        "kind": "twice",
        "certain": True,
        "server": "192.0.2.10",
        "method": "R_StartReceive",
    }
    assert (row["rule"], row["spec"]) == ("MQRR-3.1.4.7-89", "[MS-MQRR] 3.1.4.7")
    assert (row["frames"], row["time"]) == ([10, 11], "2026-11-20T09:14:07.525000000Z")


def test_a_packet_of_a_session_is_told_like_a_reply(run: Run) -> None:
    (row,) = _rows(run("replay", _STRANGER, "--format", "jsonl"))
    assert {name: row[name] for name in ("id", "severity", "kind", "server", "interface", "method")} == {
        "id": "RPL-STRANGER",
        "severity": "high",
        "kind": "stranger",
        "server": "192.0.2.10",
        "interface": "MQQB",
        "method": "UserMessage",
    }
    assert (row["rule"], row["spec"]) == ("MQQB-3.1.5.8.10", "[MS-MQQB] 3.1.5.8.10")
    assert row["expected"] == "queue manager c277e190-3d6a-4c4b-8d05-f21b9ac83e44"
    (line,) = run("replay", _STRANGER).out.splitlines()
    assert "frame 10  [MS-MQQB] 3.1.5.8.10  an acknowledgment of message" in line


def test_what_the_rules_about_sessions_tell_comes_with_their_ids(run: Run) -> None:
    (row,) = _rows(run("replay", _AHEAD, "--format", "jsonl"))
    assert {name: row[name] for name in ("id", "severity", "kind", "certain", "server", "method")} == {
        "id": "SES-ACKBACK",
        "severity": "medium",
        "kind": "ses-ackback",
        "certain": True,
        "server": "192.0.2.10",
        "method": "SessionAck",
    }
    assert (row["message"], row["expected"], row["came"]) == (
        "AckSequenceNumber is 5, but the last packet sent is number 2",
        "",
        "",
    )
    assert (row["rule"], row["record"], row["frames"]) == ("MQQB-3.1.5.5.1", 10, [16])
    found = _rows(run("findings", _AHEAD, "--format", "jsonl", "--rule", "SES-ACKBACK"))
    assert [one["message"] for one in found] == [row["message"]]


def test_nothing_is_told_twice_of_a_capture_with_calls_and_sessions(run: Run) -> None:
    words = ("--format", "jsonl")
    alone = [_rows(run("replay", path, *words)) for path in (_TWICE, _STRANGER, _AHEAD)]
    together = _rows(run("replay", _TWICE, _STRANGER, _AHEAD, *words))
    assert sorted(row["id"] for row in together) == sorted(row["id"] for rows in alone for row in rows)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((_HONEST,), 0),
        ((_DEMO,), 0),
        ((_ORDER,), 3),
        ((_ORDER, "--fail-on", "medium"), 0),
        ((_TWICE, "--fail-on", "high"), 3),
        ((_TWICE, "--filter", "opnum == 2"), 0),
        ((_TWICE, "--filter", "opnum == 7"), 3),
        ((_STRANGER,), 3),
        ((_STRANGER, "--filter", "type == session_ack"), 0),
        ((_AHEAD,), 3),
        ((_AHEAD, "--fail-on", "high"), 0),
        ((_AHEAD, "--filter", "type == session_ack"), 3),
        ((_AHEAD, "--filter", "type == user_message"), 0),
        ((_LOST,), 0),
        (("absent.pcap",), 1),
        ((_TWICE, "--fail-on", "worst"), 2),
    ],
)
def test_the_status_tells_how_it_ended(run: Run, words: tuple[object, ...], status: int) -> None:
    assert run("replay", *words).status == status


def test_an_honest_capture_prints_nothing_but_its_summary(run: Run) -> None:
    outcome = run("replay", _HONEST)
    assert outcome.out == ""
    assert outcome.err.strip().endswith("no deviations; 6 calls")
    assert run("replay", _HONEST, "--quiet").err == ""


def test_a_filter_tells_how_many_it_hides(run: Run) -> None:
    outcome = run("replay", _TWICE, "--filter", "opnum == 2")
    assert outcome.err.strip().endswith("no deviations; 0 of 1 deviation match; 5 calls")


def test_standard_input_is_a_capture(run: Run) -> None:
    outcome = run("replay", "-", "--format", "jsonl", stdin=_TWICE.read_bytes())
    assert [row["id"] for row in _rows(outcome)] == ["RPL-TWICE"]


@pytest.mark.parametrize("what", ["hosts", "bodies", "labels"])
def test_redaction_finds_the_same_and_names_no_host(run: Run, what: str) -> None:
    for path in (_TWICE, _ORDER, _STRANGER, _AHEAD):
        plain = _rows(run("replay", path, "--format", "jsonl"))
        outcome = run("replay", path, "--format", "jsonl", "--redact", what)
        assert [(row["id"], row["record"]) for row in _rows(outcome)] == [
            (row["id"], row["record"]) for row in plain
        ]
        if what == "hosts":
            for host in ("192.0.2.", "msg01", "a1d30c5b", "c277e190"):
                assert host not in outcome.out + outcome.err


def test_findings_ask_the_same_rules(run: Run) -> None:
    (row,) = _rows(run("findings", _TWICE, "--format", "jsonl", "--rule", "RPL-TWICE"))
    assert row["message"].endswith("expected: another message, or none (rule MQRR-3.1.4.7-89)")
    assert row["confidence"] == "certain"
    assert row["evidence"][0]["frames"] == [10, 11]
    (row,) = _rows(run("findings", _ORDER, "--format", "jsonl", "--rule", "RPL-ORDER"))
    assert (row["confidence"], len(row["caveats"])) == ("likely", 1)


@pytest.mark.slow
@in_batches(CAPTURES, every=27)
def test_rows_are_the_same_in_the_same_order_when_packets_are_read_by_column(
    run: Run, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    filtered = ("--filter", "type == session_ack or method ~ Receive")
    alone = [run("replay", path, _STRANGER, *more) for more in ((), filtered)]
    monkeypatch.setattr(reader, "_WORTH_COLUMNS", 0)
    monkeypatch.setattr(packet_batch, "_WORTH_COLUMNS", 1)
    assert [run("replay", path, _STRANGER, *more) for more in ((), filtered)] == alone
