"""The diagnosis of captures that a command reads: the digest, the answers and the story behind them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

import msgspec

from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.detection.diagnosis import JUDGED, QUESTIONS, Answer, Diagnosis, Digest, rules_for_diagnosis
from msmq_wire.report.redaction.redacted_findings import RedactedFindings
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.sessions import Story


class DiagnosisResult(msgspec.Struct, frozen=True):
    """What was found; without a ``digest`` and answers where nothing could be read."""

    story: Story
    digest: Digest | None = None
    answers: tuple[Answer, ...] = ()


def diagnosed(
    reading: CaptureSet, redactor: Redactor, zone: tzinfo | None, questions: Sequence[int] = ()
) -> DiagnosisResult:
    """Read captures and diagnose them; with ``questions`` only these are answered, without a digest."""
    numbers = sorted(set(questions or QUESTIONS))
    story, diagnosis = _follow(reading, redactor, judged=bool(JUDGED & set(numbers)))
    if not reading.counts.frames and reading.status:
        return DiagnosisResult(story)
    answers = diagnosis.answers(story, numbers=numbers, zone=zone)
    digest = None if questions else diagnosis.digest(answers, story, frames=reading.counts.frames)
    return DiagnosisResult(story, digest, answers)


def _follow(reading: CaptureSet, redactor: Redactor, *, judged: bool) -> tuple[Story, Diagnosis]:
    """Follow and diagnose all records as they may be shown.

    Rules see what was captured, and take most of the time: they are asked only where an answer heeds them.
    """
    redacted = RedactedFindings(rules_for_diagnosis() if judged else {}, redactor, budget=reading.budget)
    for _ in redacted.judged(reading.batched()):
        pass
    _, story = redacted.finish()
    return story, redacted.diagnosis
