"""`findings`: what the rules find in captures, as Python objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import Self

import msgspec

from msmq_wire.api.capture_iterator import CaptureIterator, CaptureReport, Captures
from msmq_wire.api.filters import OUTCOME_AT_END, OUTCOME_WAY, Expressions, expressions_in
from msmq_wire.arguments import nearest, shown, texts
from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.detection import RULES, SEVERITIES, Finding, Severity
from msmq_wire.detection.filtering import FindingFilter, findings_vocabulary
from msmq_wire.detection.judge import beyond
from msmq_wire.detection.named_rules import rules_named
from msmq_wire.detection.rule import Rule
from msmq_wire.errors import ArgumentError
from msmq_wire.records.filter.expression_tree import names_in
from msmq_wire.records.filter.parser import parsed
from msmq_wire.records.joined_capture import located
from msmq_wire.records.outcome import OUTCOME
from msmq_wire.records.recognition import Ports
from msmq_wire.records.record import Record
from msmq_wire.report.redaction.redacted_findings import RedactingJudge
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.rpc.pdu_protection import Negotiator


def findings(
    path: Captures,
    *,
    level: Severity = "info",
    rules: str | Sequence[str] | None = None,
    filter: Expressions = None,
    ports: Ports = (),
    negotiator: Negotiator | None = None,
    memory: int | None = None,
    recursive: bool = False,
) -> CaptureIterator[Finding]:
    """Iterate over the findings in captures, in the order of JSON lines; other arguments as for `messages`.

    ``level`` is the least severity, ``rules`` are the ids of the rules to ask, all by default. ``filter``
    asks what a finding says, and the item in which it has evidence. Signatures are checked within
    `msmq_wire.records.signatures.checking_signatures`. Rules about routing need a topology and do not run.

    Raises ArgumentError for a wrong filter, rule or level, and CaptureError as `messages` does.
    """
    asked = FindingChoice.of(level, rules, filter)
    report = CaptureReport(
        path, ports=ports, streams=True, negotiator=negotiator, memory=memory, recursive=recursive
    )
    return CaptureIterator(report, matching_findings(report, asked))


class FindingChoice(msgspec.Struct, frozen=True):
    """Which findings are asked for: of some rules, from a severity on, those that match."""

    rules: Mapping[str, Rule] = RULES
    least: int = 0
    matches: FindingFilter | None = None

    @classmethod
    def of(cls, level: Severity, rules: str | Sequence[str] | None, filter_: Expressions) -> Self:
        """What the arguments ask for. Raises ArgumentError for a wrong one."""
        if level not in SEVERITIES:
            near = nearest(level, SEVERITIES)
            guess = near and f": did you mean {near!r}?"
            raise ArgumentError(f"level is one of {', '.join(SEVERITIES)}, not {shown(level)}{guess}")
        asked = RULES if rules is None else rules_named(texts("rules", rules))
        return cls(asked, SEVERITIES.index(level), finding_filter_of(filter_))


def finding_filter_of(given: Expressions) -> FindingFilter | None:
    """The expressions as a filter of findings, None without any. Raises ArgumentError."""
    expressions = expressions_in(given)
    vocabulary = findings_vocabulary(outcomes=True)
    if any(OUTCOME.name in names_in(parsed(one, vocabulary)) for one in expressions):
        raise ArgumentError(f"{OUTCOME_AT_END}: {OUTCOME_WAY}")
    return FindingFilter(expressions) if expressions else None


def judged(
    reading: CaptureSequence, judge: RedactingJudge, wanted: FindingFilter | None
) -> Iterator[Finding]:
    """Judge what is read, to its end; a filter sees each item before its findings."""
    for item in reading.batched():
        if isinstance(item, Record):
            if wanted is not None:
                wanted.see(item)
            yield from judge.feed(item)
        else:
            if wanted is not None:
                wanted.take(item)
            yield from judge.take(item)
    if reading.at_end:
        yield from judge.finish()


def matching_findings(report: CaptureReport, asked: FindingChoice) -> Iterator[Finding]:
    """The findings that are asked for."""
    judge = RedactingJudge(asked.rules, Redactor(set()), budget=report.sequence.budget)
    for finding in judged(report.sequence, judge, asked.matches):
        if finding.rank >= asked.least and (asked.matches is None or finding in asked.matches):
            yield _located(finding)
    report.dropped = judge.left_out
    report.more = tuple(beyond(judge.more))


def _located(finding: Finding) -> Finding:
    """A finding with the files and the frames of its evidence where a capture lies in several files."""
    evidence = tuple(map(located, finding.evidence))
    cause = finding.cause if finding.cause is None else located(finding.cause)
    if all(map(is_, (*evidence, cause), (*finding.evidence, finding.cause))):
        return finding
    return msgspec.structs.replace(finding, evidence=evidence, cause=cause)
