"""Event logs that somebody wrote who had not seen the program: what is read, and what is said of them.

`fixtures/events.toml` and the answers beside each log say what is true, what has to be said, and what must
not be said.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.capture.event_logs.event_log_reader import read_event_log
from msmq_wire.sessions import Story, follow
from msmq_wire.sessions.log_clock import ENOUGH

Run = Callable[..., Any]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_WRITTEN = tomllib.loads((_FIXTURES / "events.toml").read_text(encoding="utf-8"))
_EVENTS: dict[str, dict[str, Any]] = _WRITTEN["events"]
_HOSTILE: dict[str, dict[str, int]] = _WRITTEN["hostile"]
_CLEAN = _FIXTURES / "captures" / "clean_all_deliveries.pcap"
_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f\u202a-\u202e]")


def _files(name: str) -> list[str]:
    return [str(_FIXTURES / "events" / name / file) for file in _EVENTS[name]["files"]]


def _names(ranges: list[str]) -> Iterator[str]:
    for text in ranges:
        guid, _, numbers = text.partition("\\")
        first, _, last = numbers.partition("..")
        yield from (f"{guid}\\{number}" for number in range(int(first), int(last or first) + 1))


@cache
def _story(capture: str) -> Story:
    return follow(CaptureSequence([str(_FIXTURES / capture)], streams=True))


@pytest.mark.parametrize("name", _EVENTS)
def test_logs_are_read_and_joined_as_written(name: str) -> None:
    case, files = _EVENTS[name], [read_event_log(file) for file in _files(name)]
    story = _story(case["capture"]).beside(files)
    assert story.logs is not None
    put = [event for log in story.logs.logs for event in log.events if event.message_id is not None]
    others = sum(len(log.others) for log in story.logs.logs) + sum(file.foreign for file in files)
    assert (len(put), others) == (case["own"], case["foreign"])
    joined = {event.message_id for event in put if story.lives.by_id(event.message_id or "") is not None}
    assert joined == {*_names(case["joined"])}
    assert not any(file.damage for file in files)


@pytest.mark.parametrize("name", [name for name, case in _EVENTS.items() if case.get("clocks")])
def test_clocks_are_those_that_were_written_where_there_are_enough_messages(name: str) -> None:
    case = _EVENTS[name]
    logs = _story(case["capture"]).beside([read_event_log(file) for file in _files(name)]).logs
    assert logs is not None
    for log in logs.logs:
        written = [clock for clock in case["clocks"] if clock["computer"] == log.computer]
        if log.joined < ENOUGH:
            assert log.clocks == ()
            continue
        assert len(log.clocks) == len(written)
        for clock, right in zip(log.clocks, written, strict=True):
            assert abs(clock.offset - right["ahead"]) <= right["tolerance"]


def _pattern(text: str) -> str:
    return _WRITTEN["topics"][text[1:]] if text.startswith("@") else text


@pytest.mark.slow
@pytest.mark.parametrize("name", _EVENTS)
def test_what_has_to_be_said_is_said_and_nothing_that_is_not_so(run: Run, name: str) -> None:
    case = _EVENTS[name]
    capture = _FIXTURES / case["capture"]
    events = [word for file in _files(name) for word in ("--events", file)]
    runs: list[tuple[object, ...]] = [("diagnose", capture, "-v")]
    for message in case["asked"]:
        runs += [("why", capture, message), ("timeline", capture, "--message", message)]
    lines = []
    for arguments in runs:
        result = run(*arguments, *events)
        lines += [*result.out.splitlines(), *result.err.splitlines()]
    for sentence, *patterns in case["must"]:
        for text in patterns:
            assert any(re.search(_pattern(text), line) for line in lines), sentence
    for sentence, *patterns in case["never"]:
        said = [line for text in patterns for line in lines if re.search(_pattern(text), line)]
        assert not said, sentence


@pytest.mark.parametrize("name", _HOSTILE)
def test_a_file_that_lies_ends_soon_and_says_nothing_that_it_does_not_say(run: Run, name: str) -> None:
    path = _FIXTURES / "events" / "hostile" / name
    result = run("diagnose", _CLEAN, "-v", "--events", path)
    assert result.status in (0, 1)
    assert "Traceback" not in result.err
    assert _UNSAFE.findall(result.out + result.err) == []
    assert "has no event of" not in result.out
    errors = [line for line in result.err.splitlines() if line.startswith("msmq-wire: ")]
    assert len(errors) == result.status
    assert all(name in line and len(line) < 300 for line in errors)
    found = re.search(r"put into queues, (\d+|none) of them in the capture", result.out)
    joined = 0 if found is None or found[1] == "none" else int(found[1])
    assert _HOSTILE[name]["least"] <= joined <= _HOSTILE[name]["most"]
