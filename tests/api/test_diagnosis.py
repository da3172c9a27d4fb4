"""What is wrong in captures, as a Python object."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import msmq_wire as mw
from msmq_wire.detection.diagnosis import DigestLine

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_ATTACK = _FIXTURES / "digest" / "fault_and_attack.pcap"


def test_causes_have_severity_count_times_frames_and_command() -> None:
    found = mw.diagnose(_ATTACK)
    first, second = found.causes
    assert (first.severity, first.confidence, first.count, first.frames) == ("high", "published", 2, (106,))
    assert first.first_time == first.last_time == datetime(2026, 11, 20, 9, 15, 42, 615900, UTC)
    assert first.command == "findings --rule LEN-ENV"
    assert first.text.startswith("SRMP envelope longer than its packet (198.51.100.66 to 192.0.2.10")
    assert (second.severity, second.count, second.frames) == ("medium", 2, (59, 63, 95, 99))
    assert second.first_time == datetime(2026, 11, 20, 9, 14, 54, 657500, UTC)
    assert second.last_time == datetime(2026, 11, 20, 9, 15, 39, 93900, UTC)
    assert second.command == 'why "id 33"'
    assert [answer.number for answer in found.answers] == list(range(1, 20))
    assert (found.lacking, found.errors, found.notices) == ((), (), ())


def test_the_text_is_that_of_the_command() -> None:
    title, first, second, looked_at = str(mw.diagnose(_ATTACK)).splitlines()
    assert title == "What is wrong, most important first [severity, how sure, layer]"
    assert first.startswith(" 1. [high, as published, host] SRMP envelope longer than its packet")
    assert second.startswith(" 2. [medium, certain, queue manager] 2 messages, first 0f9a63c8…\\2004")
    assert looked_at == "    Looked at 21 messages and 3 sessions in 154 frames."


def test_the_text_of_a_cause_is_all_of_its_line() -> None:
    found = mw.diagnose(_ATTACK)
    lines = str(found).splitlines()
    assert [f" {number}. {cause}" for number, cause in enumerate(found.causes, 1)] == lines[1:3]
    assert str(found.causes[1]).endswith(found.causes[1].action)


def test_the_text_of_a_cause_controls_no_screen() -> None:
    cause = DigestLine(
        severity="low", confidence="guess", layer="host", text="It is \x1b[2Jslow.", action="Wait.\u202e"
    )
    assert str(cause) == r"[low, a guess, host] It is \x1b[2Jslow. Wait.\u202e"


def test_a_capture_without_a_cause_says_so() -> None:
    found = mw.diagnose(_FIXTURES / "captures" / "demo.pcap")
    assert found.causes == ()
    assert str(found) == "Nothing wrong seen in 3 messages, 1 session and 1 ping in 25 frames."


def test_damage_is_said_beside_the_causes() -> None:
    with pytest.warns(mw.CaptureWarning, match="cut inside a record"):
        found = mw.diagnose(_FIXTURES / "captures" / "path_cut_file.pcap")
    assert [error.offset for error in found.errors] == [856]
    with pytest.raises(mw.CaptureError, match="cannot open"):
        mw.diagnose("no such file")
