"""Links detections to the detection of another rule that explains them.

The rule kept here: nothing that was seen is dropped. It names the rule that tells its cause; only what that
rule says of the same bytes, and takes at least as seriously, becomes a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from msmq_wire.detection.finding import SEVERITIES, Evidence
from msmq_wire.detection.rule import Detection, Rule

_MOST = 100
"""At most so many detections of one rule in one record are tried as an explanation."""
_Sighting: TypeAlias = tuple[Rule, Detection]
_SeenBy: TypeAlias = dict[str, list[_Sighting]]
_Place: TypeAlias = tuple[str, int | None] | tuple[str, str | None, str | None]


def explained(sightings: Sequence[_Sighting]) -> Iterator[_Sighting]:
    """All detections in one record, in the same order, each linked to the one that explains it.

    If that one is explained, too, both get its cause.
    """
    seen_by: _SeenBy = {}
    for one in sightings:
        some = seen_by.setdefault(one[0].id, [])
        # A packet may be made so that one rule sees very much in it.
        if len(some) < _MOST:
            some.append(one)
    able = {id_: _candidate_rules(some[0][0], seen_by) for id_, some in seen_by.items()}
    for one in sightings:
        rule, seen = one
        if not able[rule.id]:
            yield one
            continue
        changes: dict[str, object] = {}
        special = (other for id_ in able[rule.id] for other in seen_by[id_] if _says_more(one, other))
        by = next((other[0] for other in special if _rank(other) >= _rank(one)), None)
        if by is not None:
            caveat = f"same bytes as {by.id}"
            changes = {"severity": "info", "caveats": (*seen.caveats, caveat)}
        cause, reported = _cause(one, seen_by, {rule.id})
        if cause is not rule:
            changes |= {"explained_by": cause.id, "cause": reported.evidence[0]}
        yield rule, msgspec.structs.replace(seen, **changes) if changes else seen


class Explainers:
    """Remembers detections that explain later ones in the same packet or direction."""

    def __init__(self) -> None:
        self._of: dict[_Place, dict[str, tuple[tuple[str, ...], Rule, Evidence]]] = {}

    def add(self, rule: Rule, seen: Detection) -> None:
        """Remember a detection, if it may explain others."""
        if seen.explained_by is not None:
            return
        for place in seen.evidence:
            for key, ids in ((_packet(place), rule.explains), (_direction(place), rule.explains_later)):
                if ids:
                    self._of.setdefault(key, {}).setdefault(rule.id, (ids, rule, seen.evidence[0]))

    def explain(self, rule: Rule, seen: Detection) -> Detection:
        """Link a detection, or its explanation, to an earlier detection that explains it.

        A later rule that says more about the same bytes takes the place of both.
        """
        if not self._of:
            return seen
        id_ = seen.explained_by or rule.id
        for place in seen.evidence:
            for key in (_packet(place), _direction(place)):
                for ids, by, cause in self._of.get(key, {}).values():
                    if by.id != id_ and _is_one_of(id_, ids):
                        first = rule.id in by.behind
                        return msgspec.structs.replace(seen, explained_by=by.id, cause=cause, first=first)
        return seen


def _cause(one: _Sighting, seen_by: _SeenBy, passed: set[str]) -> _Sighting:
    """The root cause of a detection; the detection itself if nothing explains it."""
    rule, _ = one
    for id_ in _candidate_rules(rule, seen_by):
        for other in seen_by[id_] if id_ not in passed else ():
            if _says_more(one, other) or _covers(other[0], rule):
                return _cause(other, seen_by, passed | {id_})
    return one


def _candidate_rules(rule: Rule, seen_by: _SeenBy) -> list[str]:
    """The rules with detections that may explain another rule, in the order of the detections."""
    return [
        id_
        for id_, some in seen_by.items()
        if id_ != rule.id and (id_ in rule.behind or _covers(some[0][0], rule))
    ]


def _covers(by: Rule, rule: Rule) -> bool:
    return _is_one_of(rule.id, by.explains) or _is_one_of(rule.id, by.explains_later)


def _says_more(general: _Sighting, special: _Sighting) -> bool:
    """Whether the second detection says more about all bytes of the first one."""
    (rule, seen), (by, reported) = general, special
    if by.id not in rule.behind:
        return False
    paths = {*reported.tells, *(place.path for place in reported.evidence)}
    return all(place.path in paths for place in seen.evidence)


def _is_one_of(id_: str, ids: tuple[str, ...]) -> bool:
    return any(id_ == one or (one.endswith("-") and id_.startswith(one)) for one in ids)


def _packet(place: Evidence) -> _Place:
    return place.capture, place.record


def _direction(place: Evidence) -> _Place:
    return place.capture, place.src, place.dst


def _rank(one: _Sighting) -> int:
    rule, seen = one
    return SEVERITIES.index(seen.severity or rule.severity)
