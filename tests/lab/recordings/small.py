"""The small recording among the fixtures, and what becomes of it when something in it is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from msmq_wire.capture.reader import read_capture
from msmq_wire.detection import Judge
from msmq_wire.lab.recordings.compare import RecordingComparison
from msmq_wire.lab.recordings.compare_values import ComparisonResult
from msmq_wire.lab.recordings.recording import RecordedMessage, RecordedStep, Recording, read_recording
from msmq_wire.lab.recordings.scenario import Scenario, read_scenario
from msmq_wire.records.record import Record

__all__ = ["FOLDER", "compared", "recording", "records", "scenario", "with_message", "with_step"]

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "recordings" / "small"
_SCENARIO = (FOLDER / "scenario.json").read_bytes()


@cache
def records() -> tuple[Record, ...]:
    """The capture of the recording."""
    return tuple(read_capture(FOLDER / "capture.pcap", streams=True))


@cache
def recording() -> Recording:
    """The recording as it is."""
    return read_recording((FOLDER / "recording.json").read_bytes())


@cache
def scenario() -> Scenario:
    """The scenario of the recording."""
    return read_scenario(_SCENARIO)


def compared(
    reported: Recording | None = None,
    captured: Iterable[Record] | None = None,
    *,
    planned: Scenario | None = None,
    known: bool = True,
) -> ComparisonResult:
    """The comparison of a recording with records, by default those of the folder."""
    judge = Judge()
    digest = sha256(_SCENARIO).hexdigest()
    comparison = RecordingComparison(
        reported or recording(), (planned or scenario()) if known else None, digest
    )
    for record in records() if captured is None else captured:
        comparison.feed(record)
        comparison.found(judge.feed(record))
    comparison.found(judge.finish())
    assert judge.story is not None
    return comparison.finish(judge.story)


def with_step(reported: Recording, name: str, change: Callable[[RecordedStep], RecordedStep]) -> Recording:
    """The recording with one step changed."""
    assert any(step.name == name for step in reported.steps)
    steps = tuple(change(step) if step.name == name else step for step in reported.steps)
    return msgspec.structs.replace(reported, steps=steps)


def with_message(reported: Recording, name: str, number: int = 0, **changed: Any) -> Recording:
    """The recording with one message of a step changed."""

    def change(step: RecordedStep) -> RecordedStep:
        messages: list[RecordedMessage] = list(step.messages)
        messages[number] = msgspec.structs.replace(messages[number], **changed)
        return msgspec.structs.replace(step, messages=tuple(messages))

    return with_step(reported, name, change)
