"""Captures followed to their end: the story of sessions and messages, and the words that name its frames."""

from __future__ import annotations

from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.sessions import Story, StoryFollower


def follow_story(reading: CaptureSequence, redactor: Redactor) -> tuple[Story, Phrases]:
    """Follow captures as they may be shown; give their story, and words that name the file of a frame."""
    follower = StoryFollower(budget=reading.budget)
    captures: list[tuple[int, str]] = []
    for record in reading:
        shown = redactor.record(record)
        if not captures or captures[-1][1] != shown.capture:
            captures.append((shown.id, shown.capture))
        follower.feed(shown)
    return follower.finish(), Phrases(captures)
