"""`causes`: merges groups of findings and answers with one cause, for findings, digest and report.

The rule kept here: what one group may say of another is declared in `EDGES` and `EDGES_TO_ANSWERS`. A
connection on which something hostile was sent has one cause, and that is who sent it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence

import msgspec

from msmq_wire.detection.finding import SEVERITIES, Layer
from msmq_wire.detection.folding import MOST_KEPT, SCANNERS, FindingGroup
from msmq_wire.detection.registry import RULES

_MOST_LEADS = 128
"""At most so many groups are tried as an explanation, the most severe first."""
_OPENING = frozenset(("SES-GUID", "RPL-ECHO", "RPL-GOESON"))
"""Rules about the answer that opens a session, and what follows from it."""
_CLONE, _CLONED = "ID-CLONE", frozenset(("RPL-CONTENT", "RPL-TWICE"))
"""The rule for a queue manager at several addresses, and the rules that its messages then break."""
_ANY, _NAMES = "FRM-MUST", "PNG-GUID"
_UNOPENED = "unopened"
"""The kind of a cause about sessions that did not open."""
_PACKETS = ("FRM-", "FLG-", "LEN-", "SES-", "RPL-", "ID-CLONE")
"""Rules about packets that may make a receiver refuse them or close the session."""
_ANSWERS = "answers"
"""The key of groups that may explain causes of answers."""


def is_standing(group: FindingGroup) -> bool:
    """Whether a group is about the configuration of a host, not about a failure."""
    rule = RULES.get(group.lead.id)
    return rule is not None and rule.standing


def layer_of(group: FindingGroup) -> Layer:
    """Where the cause is. What hostile packets break says nothing of a queue manager: a host sent them."""
    return "host" if group.attacker else group.lead.layer


def layer_shown(group: FindingGroup) -> str:
    """The layer in words where the group is a cause of a diagnosis; empty where a rule saw it in packets."""
    return layer_of(group) if group.lead.answered else ""


def _is_attack(lead: FindingGroup, group: FindingGroup) -> bool:
    return bool(lead.attacker) and lead.attacker == group.attacker


def _has_its_frames(lead: FindingGroup, group: FindingGroup) -> bool:
    if lead.lead.answered or group.lead.answered or not group.frames:
        return False
    return _kind(lead) == _kind(group) and {*group.frames} <= {*lead.frames}


def _opens_with_it(lead: FindingGroup, group: FindingGroup) -> bool:
    return {lead.lead.id, group.lead.id} <= _OPENING and {*lead.hosts} == {*group.hosts}


def _is_clone(lead: FindingGroup, group: FindingGroup) -> bool:
    return lead.lead.id == _CLONE and group.lead.id in _CLONED and {*group.hosts} <= {*lead.hosts}


def _explains(lead: FindingGroup, group: FindingGroup) -> bool:
    """Whether the cause of one answer declares that it explains the cause of another.

    Both are about the same host, or the other one says that it follows from such a cause of its connections.
    """
    one, other = lead.answer, group.answer
    if one is None or other is None:
        return False
    if other.below and other.below == one.kind:
        return {*other.connections} <= {*one.connections}
    return other.kind in one.explains and other.about == one.about


def _is_behind(lead: FindingGroup, group: FindingGroup) -> bool:
    """Whether a packet that breaks a rule explains the cause of an answer: a receiver may refuse it."""
    cause = group.answer
    if cause is None or lead.answer is not None or lead.attacker or not cause.brief or cause.kind == "slow":
        return False
    if lead.lead.id == _NAMES and cause.kind == _UNOPENED and {*cause.who} <= {*lead.hosts}:
        return True
    parts = (lead, *(one for one in lead.explained if one.id != lead.id))
    refused = {one for part in parts if part.lead.id.startswith(_PACKETS) for one in part.connections}
    if cause.kind != "late" and cause.connections and refused.issuperset(cause.connections):
        return True
    return bool(cause.moments) and {one.frame for one in cause.moments} <= {*lead.frames}


EDGES: tuple[Callable[[FindingGroup, FindingGroup], bool], ...] = (
    _is_attack,
    _has_its_frames,
    _opens_with_it,
    _is_clone,
)
"""Tests whether the first of two groups of findings explains the second, which is not more severe."""
EDGES_TO_ANSWERS: tuple[Callable[[FindingGroup, FindingGroup], bool], ...] = (
    _explains,
    _is_behind,
    _has_its_frames,
)
"""Tests whether the first of two groups explains the second, which is a cause of an answer."""


def causes(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    """The groups, each with the groups that it explains; groups of severity info explain nothing."""
    leads: dict[Hashable, list[int]] = {}
    kept: list[list[FindingGroup]] = []
    groups = once(groups)
    explained = {key for group in groups if group.answer is not None for key in _keys_of_explained(group)}
    for group in sorted(groups, key=lambda group: _order(group, explained)):
        edges = EDGES if group.answer is None else EDGES_TO_ANSWERS
        rivals = (
            (one for key in _keys_of_explanations(group) for one in leads.get(key, ())) if group.rank else ()
        )
        at = next((one for one in rivals if any(edge(kept[one][0], group) for edge in edges)), len(kept))
        if at < len(kept):
            kept[at].append(group)
        else:
            kept.append([group])
        if group.rank:
            for key in _keys_of_explained(group, is_lead=kept[at][0] is group):
                some = leads.setdefault(key, [])
                if len(some) < _MOST_LEADS:
                    some.append(at)
    return [_with(lead, others) if others else lead for lead, *others in kept]


def once(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    """Merge the groups that report one problem twice.

    A cause of an answer absorbs the findings of its rule about the same hosts, if they are not more severe. A
    rule, and no answer, reports the packets of an attacker.
    """
    rest: list[FindingGroup] = []
    answers: list[FindingGroup] = []
    hostile: set[tuple[str, str]] = set()
    for group in groups:
        (answers if group.lead.answered else rest).append(group)
        if group.attacker:
            hostile |= {(group.lead.id, host) for host in group.hosts}
    answers = [
        one
        for one in answers
        if not hostile & {(id_, who) for id_ in one.lead.answered for who in _main_host(one)}
    ]
    by_rule: dict[str, list[int]] = {}
    for at, answer in enumerate(answers):
        for id_ in answer.lead.answered:
            by_rule.setdefault(id_, []).append(at)
    left: list[FindingGroup] = []
    for group in rest:
        rivals = () if group.attacker else by_rule.get(group.lead.id, ())
        taker = next((at for at in rivals if _covers(answers[at], group)), None)
        if taker is None:
            left.append(group)
        else:
            answers[taker] = _absorb(answers[taker], group)
    return left + answers


def _main_host(answer: FindingGroup) -> tuple[str, ...]:
    return () if answer.answer is None else answer.answer.who[:1]


def _covers(answer: FindingGroup, group: FindingGroup) -> bool:
    if answer.answer is None:
        same = answer.captures == group.captures and {*group.hosts} <= {*answer.hosts}
        return same and group.rank <= answer.rank
    return bool({*answer.answer.who} & {*group.hosts})


def _absorb(answer: FindingGroup, group: FindingGroup) -> FindingGroup:
    """Merge a group into the answer; an answer without evidence gets the evidence of the group."""
    cause = answer.answer
    if cause is None and group.lead.id != answer.lead.id:
        return msgspec.structs.replace(answer, explained=(*answer.explained, group))
    if cause is None:
        frames = tuple(dict.fromkeys((*answer.frames, *group.frames)))[:MOST_KEPT]
        count, explained = answer.count + group.count, (*answer.explained, *group.explained)
        return msgspec.structs.replace(answer, count=count, frames=frames, explained=explained)
    if answer.lead.evidence:
        return answer
    lead = group.lead
    if group.rank < answer.rank:
        lead = msgspec.structs.replace(answer.lead, evidence=lead.evidence)
    return msgspec.structs.replace(answer, lead=lead, frames=group.frames, captures=group.captures)


def _with(lead: FindingGroup, others: Sequence[FindingGroup]) -> FindingGroup:
    rank = max(lead.rank, *(one.rank for one in others))
    return msgspec.structs.replace(lead, explained=(*lead.explained, *others), severity=SEVERITIES[rank])


def _keys_of_explanations(group: FindingGroup) -> tuple[Hashable, ...]:
    """The keys of the groups that may explain a group."""
    if group.answer is None:
        return (_kind(group),)
    cause = group.answer
    below = ((cause.below, one) for one in cause.connections[:1] if cause.below)
    return *below, (cause.kind, cause.about), _ANSWERS


def _keys_of_explained(group: FindingGroup, *, is_lead: bool = False) -> Iterator[Hashable]:
    """The keys under which a group may explain others; an explained finding explains nothing."""
    if group.answer is not None:
        cause = group.answer
        yield from ((kind, cause.about) for kind in cause.explains)
        yield from ((cause.kind, one) for one in cause.connections if cause.kind)
    if is_lead and not group.lead.answered:
        yield from (_kind(group), _ANSWERS)


def _kind(group: FindingGroup) -> Hashable:
    """The key that two groups of findings must share if one explains the other."""
    return group.attacker or (is_standing(group), group.captures)


def _order(group: FindingGroup, explained: Container[Hashable]) -> tuple[bool | int, ...]:
    """The sort key: the most severe first, the most specific first for an attacker, answers last."""
    id_, cause = group.lead.id, group.answer
    effect = cause is not None and any(key in explained for key in _keys_of_explanations(group))
    if cause is not None and (group.lead.answered or effect):
        return 2, effect, not cause.explains
    if not group.attacker:
        return 1, is_standing(group), -group.rank, id_ == _ANY, id_ != _CLONE
    rule = RULES.get(id_)
    over, scanner = rule is None or rule.over != "record", id_.startswith(SCANNERS)
    specific = not group.lead.cves, not scanner, id_ == "FPR-SAMPLE", over and not scanner
    return 0, -group.rank, *specific
