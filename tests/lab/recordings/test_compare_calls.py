"""Calls of every interface that a step may have: qm2qm, RemoteRead, and transfer buffers of qmcomm."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from msmq_wire.capture.reader import read_capture
from msmq_wire.lab.recordings.compare_calls import CallComparison
from msmq_wire.lab.recordings.compare_fields import Found
from msmq_wire.lab.recordings.compare_sightings import Sightings, WireCall, WireMessage
from msmq_wire.lab.recordings.compare_values import Difference
from msmq_wire.lab.recordings.recording import RecordedMessage, RecordedStep
from msmq_wire.records.view import time_text
from msmq_wire.sessions import Story, StoryFollower

_FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
_CAPTURES = (
    "captures/lab_qm2qm.pcap",
    "captures/lab_remote_read.pcap",
    "rpc_captures/rpc_none_ndr.pcap",
    "rpc_captures/rpc_none_ndr64.pcap",
    "rpc_captures/rpc_qmcomm_qm2qm.pcap",
)


def _read(capture: str) -> tuple[Sightings, Story]:
    sightings, follower = Sightings(), StoryFollower()
    for record in read_capture(_FIXTURES / capture, streams=True):
        sightings.feed(record)
        follower.feed(record)
    return sightings, follower.finish()


def _steps(sightings: Sightings, story: Story) -> list[RecordedStep]:
    """A step for each read that has a message, or failed, and for each purge."""
    reads = {read.at.record: read for read in story.reads}
    steps: list[RecordedStep] = []
    for call in sightings.calls:
        read = reads.get(call.location.record or 0)
        if call.action not in ("read", "purge") or call.status is None:
            continue
        wire = sightings.carried.get(call.location.record or 0)
        message = () if wire is None else (_message(wire),)
        steps.append(
            RecordedStep(
                name=f"{len(steps)}",
                do="purge" if read is None else "receive" if read.removes else "peek",
                outcome="refused" if call.status else "done",
                status=call.status,
                format_name=call.queue,
                remote=True,
                begun=_moment(call.begun),
                ended=_moment(call.location.time),
                messages=message,
            )
        )
    return steps


def _message(wire: WireMessage) -> RecordedMessage:
    label, class_ = wire.values.get("label", ""), wire.values.get("message_class", 0)
    assert isinstance(label, str)
    assert isinstance(class_, int)
    return RecordedMessage(message_id=wire.message_id, label=label, message_class=class_)


def _moment(time: int | None) -> str | None:
    return time_text(time)


def _compared(sightings: Sightings, story: Story, steps: list[RecordedStep]) -> list[Found]:
    comparison = CallComparison(sightings.calls, sightings.carried, story.reads, steps)
    return [one for step in steps for one in comparison.step(step)]


@pytest.mark.parametrize("capture", _CAPTURES)
def test_each_read_is_found_whatever_interface_it_is_of(capture: str) -> None:
    sightings, story = _read(capture)
    steps = _steps(sightings, story)
    assert len(steps) >= 2
    found = _compared(sightings, story, steps)
    assert [one for one in found if isinstance(one, Difference)] == []


@pytest.mark.parametrize("capture", _CAPTURES)
def test_another_status_is_told_at_its_call(capture: str) -> None:
    sightings, story = _read(capture)
    steps = _steps(sightings, story)
    other = [msgspec.structs.replace(steps[-1], status=0xC00E0001)]
    reported = [one for one in _compared(sightings, story, steps[:-1] + other) if isinstance(one, Difference)]
    last = [call for call in sightings.calls if call.action in ("read", "purge")][-1]
    assert [(one.field, one.recorded, one.captured) for one in reported] == [
        ("status", 0xC00E0001, last.status)
    ]
    assert reported[0].location == last.location


def test_a_message_from_a_queue_of_another_name_is_told_as_that() -> None:
    sightings, story = _read("captures/lab_qm2qm.pcap")
    steps = _steps(sightings, story)
    other = msgspec.structs.replace(steps[1], format_name="PRIVATE=other\\1")
    reported = [one for one in _compared(sightings, story, [other]) if isinstance(one, Difference)]
    assert [(one.field, one.recorded, one.captured) for one in reported] == [
        ("queue", "PRIVATE=other\\1", steps[1].format_name)
    ]


def _call(**fields: object) -> WireCall:
    record, _ = _read("captures/lab_qm2qm.pcap")
    return msgspec.structs.replace(record.calls[0], **fields)


def test_a_call_that_succeeds_in_no_step_is_told_unless_it_is_of_no_consequence() -> None:
    plain = {"status": 0, "sealed": False, "queue": "DIRECT=OS:a\\q"}
    calls = [
        _call(action=action, method=action, **plain) for action in ("other", "open", "read", "purge", "move")
    ]
    numbered = [
        msgspec.structs.replace(call, location=msgspec.structs.replace(call.location, record=number))
        for number, call in enumerate(calls)
    ]
    reported = [
        one for one in CallComparison(numbered, {}, (), ()).unclaimed() if isinstance(one, Difference)
    ]
    assert [one.captured for one in reported] == ["open", "read", "purge", "move"]
