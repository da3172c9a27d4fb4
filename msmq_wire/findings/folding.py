"""`Fold`: findings in, one `Group` for each cause out.

The rule kept here: a fold judges nothing and loses no count. What has one cause is what has one
`Finding.group`, so it stands in what is shown, and who reads redacted findings folds by what is left of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from msmq_wire.findings.finding import CONFIDENCES, SEVERITIES, Confidence, Finding, Severity
from msmq_wire.records.endpoint import host_of

__all__ = ["MOST_GROUPS", "MOST_KEPT", "Fold", "Group"]

MOST_GROUPS = 10_000
"""Causes that are told apart by sender; beyond that a cause is one group whoever sent it."""
MOST_KEPT = 32
"""Hosts, frames and captures that a group keeps."""
_T = TypeVar("_T")


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule said of one sender, ``count`` times, and what it explains.

    ``id`` is the `Finding.group` of all of them. ``lead`` is the first of the gravest and surest. ``first``
    and ``last`` are in nanoseconds. ``hosts`` begin with the sender, ``frames`` are those of the capture of
    ``lead``; of these and of ``captures`` the first `MOST_KEPT` are there. ``explained`` are told by rule,
    each with its own count. ``severity`` is the gravest of all, and ``confidence`` the surest of the gravest.
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
    explained: tuple[Group, ...] = ()

    @property
    def sender(self) -> str:
        """Who sent what it is about; empty where nobody is known or several did."""
        return self.id.partition(" ")[2]

    @property
    def rank(self) -> int:
        """The place of its severity in `SEVERITIES`."""
        return SEVERITIES.index(self.severity)

    @property
    def occurrences(self) -> int:
        """All findings in it, the explained ones too."""
        return self.count + sum(one.count for one in self.explained)


class Fold:
    """Takes findings in any order (`add`); `groups` are those so far, the gravest first.

    With ``by_capture`` a group has findings of one capture.
    """

    def __init__(self, *, by_capture: bool = False) -> None:
        self._by_capture = by_capture
        self._piles: dict[tuple[str, str], dict[str, _Tally]] = {}

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

    def groups(self) -> tuple[Group, ...]:
        """By severity, then confidence, then time."""
        found = [group for (_, id_), pile in self._piles.items() for group in _groups(id_, pile)]
        return tuple(sorted(_answered(found), key=_place))


class _Tally:
    """What is kept of the findings of one rule in one group."""

    def __init__(self, lead: Finding) -> None:
        self.lead = lead
        self.count = 0
        self.first: int | None = None
        self.last: int | None = None
        self.hosts: dict[str, None] = {}
        self.captures: dict[str, None] = {}
        self.frames: dict[int, None] = {}

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

    def group(self, id_: str, explained: Iterable[_Tally] = ()) -> Group:
        told = tuple(sorted((one.group(id_) for one in explained), key=_place))
        weights = [_weight(self.lead), *((one.rank, CONFIDENCES.index(one.confidence)) for one in told)]
        rank, sure = max(weights)
        return Group(
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
            explained=told,
        )


def _groups(id_: str, pile: dict[str, _Tally]) -> Iterator[Group]:
    """The group of a cause with what it explains; without the cause, that by itself.

    What says more than the cause, and is as grave, stands in its place.
    """
    cause = pile.get(id_.partition(" ")[0])
    if cause is None:
        yield from (one.group(id_) for one in pile.values())
        return
    more = (one for one in pile.values() if one.lead.first and one.lead.rank >= cause.lead.rank)
    lead = next(more, cause)
    yield lead.group(id_, (one for one in pile.values() if one is not lead))


def _answered(groups: Sequence[Group]) -> Iterator[Group]:
    """The groups; what an answer says of hosts by a rule takes in what the rule saw of them."""
    answered = [group for group in groups if group.lead.answered]
    rest = []
    for group in groups:
        if group.lead.answered:
            continue
        alike = (at for at, one in enumerate(answered) if _covers(one, group))
        at = next(alike, None)
        if at is None:
            rest.append(group)
        else:
            one = answered[at]
            frames = tuple(dict.fromkeys((*one.frames, *group.frames)))[:MOST_KEPT]
            answered[at] = msgspec.structs.replace(
                one,
                count=one.count + group.count,
                frames=frames,
                explained=(*one.explained, *group.explained),
            )
    yield from (*answered, *rest)


def _covers(answer: Group, group: Group) -> bool:
    same = answer.lead.id == group.lead.id and answer.captures == group.captures
    return same and group.rank <= answer.rank and {*group.hosts} <= {*answer.hosts}


def _keep(kept: dict[_T, None], more: Iterable[_T]) -> None:
    for one in more:
        if len(kept) >= MOST_KEPT:
            return
        kept[one] = None


def _capture(finding: Finding) -> str:
    return finding.evidence[0].capture if finding.evidence else ""


def _weight(finding: Finding) -> tuple[int, int]:
    return finding.rank, CONFIDENCES.index(finding.confidence)


def _place(group: Group) -> tuple[int, int, bool, int, str, str]:
    sure = CONFIDENCES.index(group.confidence)
    return -group.rank, -sure, group.first is None, group.first or 0, group.id, group.lead.id
