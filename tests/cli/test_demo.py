"""``msmq-wire demo``: a diagnosis, six messages and a packet of the built-in capture, on one screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "digest" / "fault_and_attack.pcap"
_LINES = 40
"""What one screen holds."""

Run = Callable[..., Any]


@pytest.fixture(params=[80, 120])
def shown(request: pytest.FixtureRequest, run: Run, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(request.param))
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    lines: list[str] = out.splitlines()
    assert max(map(len, lines)) <= request.param
    return lines


def test_it_fits_on_one_screen_and_ends_with_the_next_two_commands(shown: list[str]) -> None:
    assert len(shown) <= _LINES
    assert shown[-1] == "Next: msmq-wire demo --save demo.pcap, then msmq-wire demo.pcap -v"


def test_it_begins_with_the_attack_and_the_fault_as_diagnose_does(
    shown: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    *digest, more = run("diagnose", _DEMO, "-q").out.splitlines()
    assert "--question N" in more
    assert shown[: len(digest)] == digest
    assert shown[1].startswith(" 1. [high, as published, host] SRMP envelope longer than its packet")
    assert [line for line in shown if line.startswith(" 2. [medium, certain, queue manager] 2 messages, ")]


def test_its_rows_and_its_packet_have_the_numbers_that_other_commands_know(
    shown: list[str], run: Run
) -> None:
    at = next(at for at, line in enumerate(shown) if line.startswith("Messages and acknowledgments"))
    rows = [line.split() for line in shown[at + 2 : at + 6]]
    assert shown[at + 6] == ""
    listed = run("messages", _DEMO, "--format", "csv", "--columns", "id,label").out.splitlines()[1:]
    assert shown[at].endswith(f"4 of {len(listed)}")
    ids = [row[0] for row in rows]
    assert [line.partition(",")[0] for line in listed if line.partition(",")[0] in ids] == ids
    packet = shown[at + 7].partition(" ")[0].removeprefix("#")
    assert packet in ids
    decoded = run("decode", _DEMO, "--id", packet, "--format", "jsonl").out
    assert '"code":"past-packet-size"' in decoded
    assert "past-packet-size" in "\n".join(shown)


def test_it_is_saved_for_other_commands(run: Run, tmp_path: Path) -> None:
    saved = tmp_path / "saved.pcap"
    assert run("demo", "--save", saved) == (0, "", f"written to {saved}. Next: msmq-wire {saved}\n")
    assert saved.read_bytes() == _DEMO.read_bytes()
    assert run("demo", "--save", saved, "--force", "-q") == (0, "", "")
    assert run("demo", "--force").status == 2
