"""`CauseCollector`: runs a diagnosis beside a judge and collects its causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.cause_detection import detect_cause
from msmq_wire.detection.diagnosis import Diagnosis
from msmq_wire.detection.finding import SEVERITIES, Evidence, Finding
from msmq_wire.detection.folding import FindingGroup
from msmq_wire.detection.rule import Detection, Rule
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.records.run import Run
from msmq_wire.sessions import Leaving, Story

_MOST_RANKS = 1 << 16
"""At most so many pairs of a rule and a host are remembered."""


class CauseCollector:
    """Runs ``diagnosis`` on the records and findings of a judge, and yields its causes at the end.

    With ``answers`` the diagnosis answers its questions, too.
    """

    def __init__(self, rules: Mapping[str, Rule], *, answers: bool) -> None:
        self._rules = rules
        self.diagnosis = Diagnosis(answers=answers)
        self._ranks: dict[tuple[str, str], int] = {}

    def feed(self, record: Record, found: Iterable[Finding]) -> None:
        """Take a record and its findings."""
        self.diagnosis.feed(record, found)

    def take(self, run: Run, found: Iterable[Finding]) -> None:
        """Take the packets and records of a run, and their findings."""
        self.diagnosis.take(run, found)

    def leave(self, gone: Leaving) -> None:
        """Take sessions and messages that are not followed any more."""
        self.diagnosis.leave(gone)

    def add(self, rule: Rule, seen: Detection) -> None:
        """Remember the severity of a detection for each of its hosts."""
        rank = SEVERITIES.index(seen.severity or rule.severity)
        for key in _about(rule.id, seen.evidence):
            if len(self._ranks) < _MOST_RANKS:
                self._ranks[key] = max(rank, self._ranks.get(key, 0))

    def finish(self, story: Story, found: Iterable[Finding]) -> Iterator[tuple[Rule, Detection]]:
        """Yield each cause that no other finding reports about the same hosts with the same severity or more.

        ``found`` are the findings at the end of the capture.
        """
        self.diagnosis.found(found)
        # Collect all of them first: two causes of one rule may be about the same hosts.
        unreported = [
            (cause, lead) for cause, lead in self.diagnosis.causes(story) if not self._is_reported(cause)
        ]
        for cause, lead in unreported:
            rule = self._rules.get(cause.rules[0])
            if rule is not None:
                yield from (
                    (rule, seen if lead is None else _explained_by(lead, seen))
                    for seen in detect_cause(cause)
                )

    def _is_reported(self, cause: Cause) -> bool:
        """Whether a finding reports the cause about one of its hosts with the same severity or more."""
        rank = SEVERITIES.index(cause.severity)
        return any(self._ranks.get((id_, host), -1) >= rank for id_ in cause.rules for host in cause.who)


def _explained_by(lead: FindingGroup, seen: Detection) -> Detection:
    """Link a detection to the findings that explain it."""
    cause = lead.lead.cause or lead.lead.evidence[0]
    return msgspec.structs.replace(seen, explained_by=lead.id.partition(" ")[0], cause=cause)


def _about(id_: str, evidence: Iterable[Evidence]) -> Iterator[tuple[str, str]]:
    for place in evidence:
        yield id_, host_of(place.src)
        yield id_, host_of(place.dst)
