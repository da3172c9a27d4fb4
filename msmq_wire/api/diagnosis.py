"""`diagnose`: what is wrong in captures, as a Python object: causes, answers and the story behind them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo

import msgspec

from msmq_wire.api.capture_iterator import CaptureReport, Captures
from msmq_wire.api.log_files import LogPaths, damage_texts, read_logs
from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.detection.diagnosis import (
    JUDGED,
    QUESTIONS,
    Answer,
    Diagnosis,
    Digest,
    DigestLine,
    diagnosis_needs,
)
from msmq_wire.detection.diagnosis.phrases import count
from msmq_wire.detection.registry import RULES
from msmq_wire.errors import CaptureError
from msmq_wire.html_values import facts_html, rows_html
from msmq_wire.invisible import escaped
from msmq_wire.records.log_event import EventLogFile
from msmq_wire.records.recognition import Ports
from msmq_wire.report.redaction.redacted_findings import RedactedFindings
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.representation import line, shortened
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.sessions import Story


class DiagnosisResult(msgspec.Struct, frozen=True):
    """What was found: ``causes``, the most important first, and the ``answers`` to all questions.

    ``str`` gives the text of the command ``diagnose``. Without a ``digest`` no causes were asked for, or
    nothing could be read. ``story`` has the sessions and messages. ``errors`` say which files could not be
    read to their end, ``notices`` what else to know of the reading.
    """

    story: Story
    digest: Digest | None = None
    answers: tuple[Answer, ...] = ()
    errors: tuple[CaptureError, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def causes(self) -> tuple[DigestLine, ...]:
        """What is wrong: at most five lines of the digest, the root cause first."""
        return () if self.digest is None else self.digest.causes

    @property
    def lacking(self) -> tuple[DigestLine, ...]:
        """The line of the digest about what the capture does not hold, if there is one."""
        lines = () if self.digest is None else self.digest.lines
        return tuple(line for line in lines if line not in self.causes)

    def __repr__(self) -> str:
        if not self.causes:
            return line(self, "" if self.digest is None else shortened(self.digest.nothing, 120))
        return line(self, f"{count(len(self.causes), 'cause')}:", shortened(self.causes[0].text, 120))

    def _repr_html_(self) -> str:
        if self.digest is None or not self.digest.causes:
            return facts_html("Diagnosis", (("result", "" if self.digest is None else self.digest.nothing),))
        names = ("severity", "how sure", "layer", "what", "where", "what to do")
        lines = self.digest.lines
        rows = [(one.severity, one.confidence, one.layer, one.text, one.where, one.action) for one in lines]
        return rows_html("What is wrong", names, rows)

    def __str__(self) -> str:
        return "" if self.digest is None else "\n".join(map(escaped, self.digest.text_lines()))


def diagnose(
    path: Captures,
    *,
    ports: Ports = (),
    negotiator: Negotiator | None = None,
    memory: int | None = None,
    recursive: bool = False,
    events: LogPaths = (),
) -> DiagnosisResult:
    """Say what is wrong in captures; other arguments and errors as for `messages`, times in UTC.

    ``events`` are event logs of Windows, .evtx or XML, that the answers compare with the captures. Captures
    are read once, and wholly. Raises MissingExtraError for .evtx without the package evtx.
    """
    logs = read_logs(events)
    report = CaptureReport(
        path, ports=ports, streams=True, negotiator=negotiator, memory=memory, recursive=recursive
    )
    found = diagnosed(report.sequence, Redactor(set()), UTC, logs=logs)
    report.dropped, report.more = found.story.left_out, damage_texts(logs)
    report.warn()
    return msgspec.structs.replace(found, errors=report.errors, notices=report.notices)


def diagnosed(
    reading: CaptureSequence,
    redactor: Redactor,
    zone: tzinfo | None,
    questions: Sequence[int] = (),
    logs: Sequence[EventLogFile] = (),
) -> DiagnosisResult:
    """Read captures and diagnose them; with ``questions`` only these are answered, without a digest.

    ``logs`` are event logs beside the captures, redacted as the captures will be.
    """
    numbers = sorted(set(questions or QUESTIONS))
    story, diagnosis = _follow(reading, redactor, judged=bool(JUDGED & set(numbers)))
    story = story.beside(logs)
    if not reading.counts.frames and reading.counts.status:
        return DiagnosisResult(story)
    answers = diagnosis.answers(story, numbers=numbers, zone=zone)
    digest = None if questions else diagnosis.digest(answers, story, frames=reading.counts.frames)
    return DiagnosisResult(story, digest, answers)


def _follow(reading: CaptureSequence, redactor: Redactor, *, judged: bool) -> tuple[Story, Diagnosis]:
    """Follow and diagnose all records as they may be shown.

    Rules see what was captured, and take most of the time: they are asked only where an answer heeds them.
    """
    rules = RULES if judged else {}
    redacted = RedactedFindings(rules, redactor, budget=reading.budget, wanted=diagnosis_needs)
    for _ in redacted.judged(reading.batched()):
        pass
    _, story = redacted.finish()
    return story, redacted.diagnosis
