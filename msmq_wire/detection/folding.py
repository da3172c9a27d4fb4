"""`Fold`: merges findings into one `FindingGroup` for each rule and sender.

The rule kept here: a fold loses no count. What is one group is what has one `Finding.group`, so it stands in
what is shown, and who reads redacted findings folds by what is left of them. Which groups have one cause,
`causes` says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import TypeVar

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.finding import (
    CONFIDENCES,
    SEVERITIES,
    Confidence,
    Connection,
    Finding,
    Severity,
    connection_of,
)
from msmq_wire.records.endpoint import host_of

MOST_GROUPS = 10_000
"""At most so many groups are kept by sender; beyond that, a rule has one group for all senders."""
MOST_KEPT = 32
"""Hosts, frames and captures that a group keeps."""
SCANNERS = "FPR-"
"""The prefix of rules that recognize a scanner by its packets."""
_REPLIES = "RPL-"
_MOST_HOSTILE = 4096
_MOST_CONNECTIONS = 64
_MOST_TOLD = 65_536
_T = TypeVar("_T")


class FindingGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of one rule about one sender, and the groups that they explain.

    ``id`` is the `Finding.group` of all of them, ``count`` their number. ``lead`` is the first one with the
    highest severity and confidence. ``first`` and ``last`` are times in nanoseconds. ``hosts`` begin with the
    sender; ``frames`` are in the capture of ``lead``. Of hosts, frames and ``captures`` the first `MOST_KEPT`
    are kept, of ``connections`` the first 64.

    ``explained`` are the explained groups, one for each rule. ``severity`` is the highest of all, and
    ``confidence`` the highest of the most severe. ``attacker`` sent hostile packets on all the connections.
    If the group is a cause of a diagnosis, this is ``answer``, and ``count`` is its count.
    """

    id: str
    lead: Finding
    severity: Severity
    confidence: Confidence
    count: int
    first: int | None
    last: int | None
    hosts: tuple[str, ...]
    frames: tuple[int, ...] = ()
    captures: tuple[str, ...] = ()
    explained: tuple[FindingGroup, ...] = ()
    connections: frozenset[Connection] = frozenset()
    attacker: str = ""
    answer: Cause | None = None

    @property
    def sender(self) -> str:
        """The sender of the evidence; empty if it is unknown, or if there are several."""
        return self.id.partition(" ")[2]

    @property
    def rank(self) -> int:
        """The index of its severity in `SEVERITIES`."""
        return SEVERITIES.index(self.severity)

    @property
    def occurrences(self) -> int:
        """The number of its findings, including the explained ones."""
        return self.count + sum(one.count for one in self.all_explained)

    @property
    def all_explained(self) -> tuple[FindingGroup, ...]:
        """The groups that it explains, directly or indirectly."""
        return tuple(part for one in self.explained for part in (one, *one.all_explained))

    @property
    def place(self) -> tuple[int, int, bool, int, str, str]:
        """The sort key: severity, then confidence, then time."""
        sure = CONFIDENCES.index(self.confidence)
        return -self.rank, -sure, self.first is None, self.first or 0, self.id, self.lead.id


class Fold:
    """Takes findings in any order with `add`; `groups` returns the groups so far, the most severe first.

    With ``by_capture`` a group has findings of one capture. Findings of high severity and findings about
    scanners are hostile; a server that breaks the protocol is not.
    """

    def __init__(self, *, by_capture: bool = False) -> None:
        self._by_capture = by_capture
        self._piles: dict[tuple[str, str], dict[str, _Tally]] = {}
        self._attackers: dict[Connection, str] = {}
        self._reported: set[Connection] = set()

    def add(self, finding: Finding) -> None:
        """Count a finding."""
        part = _capture(finding) if self._by_capture else ""
        key = part, finding.group
        if key not in self._piles and len(self._piles) >= MOST_GROUPS:
            key = "", finding.explained_by or finding.id
        pile = self._piles.setdefault(key, {})
        tally = pile.get(finding.id)
        if tally is None:
            tally = pile[finding.id] = _Tally(finding)
        tally.add(finding)
        if finding.rank:
            self._follow(finding, tally)

    def _follow(self, finding: Finding, tally: _Tally) -> None:
        """Remember the connections of a finding, and the senders of hostile packets on them."""
        connections = [connection_of(place.src, place.dst) for place in finding.evidence]
        for connection in connections:
            if len(self._reported) < _MOST_TOLD:
                self._reported.add(connection)
            if len(tally.connections) < _MOST_CONNECTIONS:
                tally.connections[connection] = None
        hostile = finding.severity == "high" and not finding.id.startswith(_REPLIES)
        if (hostile or finding.id.startswith(SCANNERS)) and len(self._attackers) < _MOST_HOSTILE:
            self._attackers.setdefault(connections[0], finding.sender)

    def hostile(self, one: str | None, other: str | None) -> bool:
        """Whether hostile packets were sent between two ends."""
        return connection_of(one, other) in self._attackers

    def mentions(self, one: str | None, other: str | None) -> bool:
        """Whether a finding above info is about the connection of two ends."""
        return connection_of(one, other) in self._reported

    def groups(self) -> tuple[FindingGroup, ...]:
        """The groups, sorted by severity, then confidence, then time."""
        found = [group for (_, id_), pile in self._piles.items() for group in self._groups(id_, pile)]
        return tuple(sorted(found, key=lambda group: group.place))

    def _groups(self, id_: str, pile: dict[str, _Tally]) -> Iterator[FindingGroup]:
        """The group of a cause with the groups that it explains; these alone if the cause is missing.

        A group that says more than the cause, and is as severe, takes its place.
        """
        known = dict.fromkeys(one for tally in pile.values() for one in tally.connections)
        connections = frozenset(islice(known, _MOST_CONNECTIONS))
        attacker = self._attacker(id_, connections)
        cause = pile.get(id_.partition(" ")[0])
        if cause is None:
            yield from (one.group(id_, connections, attacker) for one in pile.values())
            return
        more = (one for one in pile.values() if one.lead.first and one.lead.rank >= cause.lead.rank)
        lead = next(more, cause)
        others = (one for one in pile.values() if one is not lead)
        yield lead.group(id_, connections, attacker, others)

    def _attacker(self, id_: str, connections: Collection[Connection]) -> str:
        """The host that sent hostile packets on all of some connections; empty if there is none."""
        attackers = {self._attackers.get(one) for one in connections}
        if len(connections) < _MOST_CONNECTIONS:
            return (attackers.pop() or "") if len(attackers) == 1 else ""
        sender = id_.partition(" ")[2]
        return sender if sender in attackers else ""


class _Tally:
    """The sums of the findings of one rule in one group."""

    def __init__(self, lead: Finding) -> None:
        self.lead = lead
        self.count = 0
        self.first: int | None = None
        self.last: int | None = None
        self.hosts: dict[str, None] = {}
        self.captures: dict[str, None] = {}
        self.frames: dict[int, None] = {}
        self.connections: dict[Connection, None] = {}

    def add(self, finding: Finding) -> None:
        self.count += 1
        if _weight(finding) > _weight(self.lead):
            if _capture(finding) != _capture(self.lead):
                self.frames = {}
            self.lead = finding
        for one in finding.evidence:
            if one.time is not None:
                self.first = one.time if self.first is None else min(self.first, one.time)
                self.last = one.time if self.last is None else max(self.last, one.time)
            _keep(self.hosts, (host for host in (host_of(one.src), host_of(one.dst)) if host))
            _keep(self.captures, (one.capture,))
            if one.capture == _capture(self.lead):
                _keep(self.frames, one.frames)

    def group(
        self,
        id_: str,
        connections: frozenset[Connection] = frozenset(),
        attacker: str = "",
        explained: Iterable[_Tally] = (),
    ) -> FindingGroup:
        reported = tuple(sorted((one.group(id_) for one in explained), key=lambda group: group.place))
        weights = [_weight(self.lead), *((one.rank, CONFIDENCES.index(one.confidence)) for one in reported)]
        rank, sure = max(weights)
        return FindingGroup(
            id=id_,
            lead=self.lead,
            severity=SEVERITIES[rank],
            confidence=CONFIDENCES[sure],
            count=self.count,
            first=self.first,
            last=self.last,
            hosts=tuple(self.hosts),
            frames=tuple(self.frames),
            captures=tuple(self.captures),
            explained=reported,
            connections=connections,
            attacker=attacker,
        )


def _keep(kept: dict[_T, None], more: Iterable[_T]) -> None:
    for one in more:
        if len(kept) >= MOST_KEPT:
            return
        kept[one] = None


def _capture(finding: Finding) -> str:
    return finding.evidence[0].capture if finding.evidence else ""


def _weight(finding: Finding) -> tuple[int, int]:
    return finding.rank, CONFIDENCES.index(finding.confidence)
