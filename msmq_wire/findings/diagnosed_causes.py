"""`CauseCollector`: runs a diagnosis beside a judge and collects its causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from msmq_wire.findings.causal import causal
from msmq_wire.findings.cause import Cause
from msmq_wire.findings.diagnosis import Diagnosis
from msmq_wire.findings.finding import SEVERITIES, Evidence, Finding
from msmq_wire.findings.folding import FindingGroup
from msmq_wire.findings.rule import Detection, Rule
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.record import Record
from msmq_wire.records.run import Run
from msmq_wire.sessions import Leaving, Story

_MOST = 1 << 16
"""Pairs of a rule and a host of which is known how grave they are."""


class CauseCollector:
    """Feed it what a judge takes, finds and lets go; at the end it gives what the digest counts.

    ``diagnosis`` has been fed the same; with ``answers`` it has them, too.
    """

    def __init__(self, rules: Mapping[str, Rule], *, answers: bool) -> None:
        self._rules = rules
        self.diagnosis = Diagnosis(answers=answers)
        self._ranks: dict[tuple[str, str], int] = {}

    def feed(self, record: Record, found: Iterable[Finding]) -> None:
        """Take a record, and what is found with it."""
        self.diagnosis.feed(record, found)

    def take(self, run: Run, found: Iterable[Finding]) -> None:
        """Take everything of a run, and what is found with it."""
        self.diagnosis.take(run, found)

    def leave(self, gone: Leaving) -> None:
        """Take what is followed no longer."""
        self.diagnosis.leave(gone)

    def add(self, rule: Rule, seen: Detection) -> None:
        """Remember how grave a rule is about hosts."""
        rank = SEVERITIES.index(seen.severity or rule.severity)
        for key in _about(rule.id, seen.evidence):
            if len(self._ranks) < _MOST:
                self._ranks[key] = max(rank, self._ranks.get(key, 0))

    def finish(self, story: Story, found: Iterable[Finding]) -> Iterator[tuple[Rule, Detection]]:
        """The causes that no rule tells of these hosts as gravely; ``found`` is what is found at the end."""
        self.diagnosis.found(found)
        # All of them before one is told: two causes of one rule may be about the same hosts.
        unacknowledged = [
            (cause, lead) for cause, lead in self.diagnosis.causes(story) if not self._knows(cause)
        ]
        for cause, lead in unacknowledged:
            rule = self._rules.get(cause.rules[0])
            if rule is not None:
                yield from ((rule, seen if lead is None else _behind(lead, seen)) for seen in causal(cause))

    def _knows(self, cause: Cause) -> bool:
        """Whether a rule tells as much of the same hosts."""
        rank = SEVERITIES.index(cause.severity)
        return any(self._ranks.get((id_, host), -1) >= rank for id_ in cause.rules for host in cause.who)


def _behind(lead: FindingGroup, seen: Detection) -> Detection:
    """What was seen, with the packets that explain it."""
    cause = lead.lead.cause or lead.lead.evidence[0]
    return msgspec.structs.replace(seen, explained_by=lead.id.partition(" ")[0], cause=cause)


def _about(id_: str, evidence: Iterable[Evidence]) -> Iterator[tuple[str, str]]:
    for place in evidence:
        yield id_, host_of(place.src)
        yield id_, host_of(place.dst)
