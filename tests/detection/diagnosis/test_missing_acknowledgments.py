"""Acknowledgments that did not come are counted exactly, and not where they may come or were dropped."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from msmq_wire import read_capture
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.missing_acknowledgments import MissingAcknowledgments
from msmq_wire.sessions import MessageLife, Story, follow
from msmq_wire.units import SECOND

_CAPTURE = Path(__file__).resolve().parents[3] / "fixtures/findings/MSG-UNTOLD/hit_two_of_five.pcap"


@pytest.fixture(scope="module")
def story() -> Story:
    return follow(read_capture(_CAPTURE, streams=True))


def late(life: MessageLife, seconds: int, story: Story) -> MessageLife:
    """The same message so many seconds before the capture ends."""
    assert story.last is not None
    first = msgspec.structs.replace(life.first, time=story.last - seconds * SECOND)
    return msgspec.structs.replace(life, first=first)


def reported(story: Story, *more: MessageLife) -> list[str]:
    unacknowledged, builder = MissingAcknowledgments(), AnswerBuilder(story.visibility)
    for life in (*story.lives, *more):
        unacknowledged.feed(life)
    unacknowledged.add_causes(story, builder)
    return [cause.text for cause in builder.causes]


def silent(story: Story) -> MessageLife:
    return next(one for one in story.lives if one.label == "claim 7102")


def test_messages_whose_acknowledgment_may_come_yet_are_not_among_them(story: Story) -> None:
    life = silent(story)
    longest = [late(life, 100, story)] * 20
    (text,) = reported(story, *longest, *[late(life, 30, story)] * 7)
    assert text.startswith("22 of 32 messages")


def test_nothing_is_missed_where_messages_were_dropped_for_memory(story: Story) -> None:
    assert len(reported(story)) == 1
    left_out = msgspec.structs.replace(story.left_out, lives=1)
    assert reported(msgspec.structs.replace(story, left_out=left_out)) == []
