"""`causes`: which groups of findings and answers have one cause, for findings, digest and report alike.

The rule kept here: what one group may say of another is declared in `EDGES` and `EDGES_TO_ANSWERS`. A
connection on which something hostile was sent has one cause, and that is who sent it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence

import msgspec

from msmq_wire.findings.finding import SEVERITIES
from msmq_wire.findings.folding import MOST_KEPT, SCANNERS, FindingGroup
from msmq_wire.findings.registry import RULES

_MOST_LEADS = 128
"""Of more, the gravest are looked at for what they explain."""
_OPENING = frozenset(("SES-GUID", "RPL-ECHO", "RPL-GOESON"))
"""Rules about the answer that opens a session, and what follows from it."""
_CLONE, _CLONED = "ID-CLONE", frozenset(("RPL-CONTENT", "RPL-TWICE"))
"""A queue manager that runs at several addresses, and what its messages look like then."""
_ANY, _NAMES = "FRM-MUST", "PNG-GUID"
_UNOPENED = "unopened"
"""How an answer calls sessions that were not opened."""
_PACKETS = ("FRM-", "FLG-", "LEN-", "SES-", "RPL-", "ID-CLONE")
"""Rules about packets that a receiver may refuse, or close the session for."""
_ANSWERS = "answers"
"""Where the groups stand that answers may be behind."""


def is_standing(group: FindingGroup) -> bool:
    """Whether a group says how a host is set up, and not what went wrong."""
    rule = RULES.get(group.lead.id)
    return rule is not None and rule.standing


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
    """Whether an answer says that its cause is that of what another answer names."""
    one, other = lead.answer, group.answer
    return bool(one and other and other.kind in one.explains and other.about == one.about)


def _is_behind(lead: FindingGroup, group: FindingGroup) -> bool:
    """Whether a packet that breaks a rule is behind what an answer names: a receiver may refuse it."""
    cause = group.answer
    if cause is None or lead.answer is not None or lead.attacker or not cause.brief:
        return False
    if lead.lead.id == _NAMES and cause.kind == _UNOPENED and {*cause.who} <= {*lead.hosts}:
        return True
    parts = (lead, *(one for one in lead.explained if one.id != lead.id))
    refused = {one for part in parts if part.lead.id.startswith(_PACKETS) for one in part.connections}
    if cause.connections and refused.issuperset(cause.connections):
        return True
    return bool(cause.moments) and {one.frame for one in cause.moments} <= {*lead.frames}


EDGES: tuple[Callable[[FindingGroup, FindingGroup], bool], ...] = (
    _is_attack,
    _has_its_frames,
    _opens_with_it,
    _is_clone,
)
"""Whether the first of two groups of findings tells the cause of the second, which is no graver."""
EDGES_TO_ANSWERS: tuple[Callable[[FindingGroup, FindingGroup], bool], ...] = (
    _explains,
    _is_behind,
    _has_its_frames,
)
"""Whether the first of two groups tells the cause of the second, which an answer names."""


def causes(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    """Groups, each with those that it explains; what is only info stands alone."""
    leads: dict[Hashable, list[int]] = {}
    kept: list[list[FindingGroup]] = []
    groups = once(groups)
    explained = {key for group in groups if group.answer is not None for key in _below(group)}
    for group in sorted(groups, key=lambda group: _order(group, explained)):
        edges = EDGES if group.answer is None else EDGES_TO_ANSWERS
        rivals = (one for key in _above(group) for one in leads.get(key, ())) if group.rank else ()
        at = next((one for one in rivals if any(edge(kept[one][0], group) for edge in edges)), len(kept))
        if at < len(kept):
            kept[at].append(group)
        else:
            kept.append([group])
        if group.rank:
            for key in _below(group, is_lead=kept[at][0] is group):
                some = leads.setdefault(key, [])
                if len(some) < _MOST_LEADS:
                    some.append(at)
    return [_with(lead, others) if others else lead for lead, *others in kept]


def once(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    """Groups in which nothing is told twice.

    What an answer says of hosts by a rule takes in what that rule saw of them, if that is no graver. What
    somebody hostile sent is told by the rule that saw it, and by no answer.
    """
    rest: list[FindingGroup] = []
    answers: list[FindingGroup] = []
    hostile: set[tuple[str, str]] = set()
    for group in groups:
        (answers if group.lead.answered else rest).append(group)
        if group.attacker:
            hostile |= {(group.lead.id, host) for host in group.hosts}
    answers = [
        one for one in answers if not hostile & {(id_, who) for id_ in one.lead.answered for who in _who(one)}
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
            answers[taker] = _taking(answers[taker], group)
    return left + answers


def _who(answer: FindingGroup) -> tuple[str, ...]:
    return () if answer.answer is None else answer.answer.who[:1]


def _covers(answer: FindingGroup, group: FindingGroup) -> bool:
    if answer.answer is None:
        same = answer.captures == group.captures and {*group.hosts} <= {*answer.hosts}
        return same and group.rank <= answer.rank
    return bool({*answer.answer.who} & {*group.hosts})


def _taking(answer: FindingGroup, group: FindingGroup) -> FindingGroup:
    """An answer with what its rule saw; who has no place of its own has that of the other."""
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


def _above(group: FindingGroup) -> tuple[Hashable, ...]:
    """Where the groups stand that may explain one."""
    if group.answer is None:
        return (_kind(group),)
    return (group.answer.kind, group.answer.about), _ANSWERS


def _below(group: FindingGroup, *, is_lead: bool = False) -> Iterator[Hashable]:
    """Where a group stands for those that it may explain: only answers explain where they are explained."""
    if group.answer is not None:
        yield from ((kind, group.answer.about) for kind in group.answer.explains)
    if is_lead and not group.lead.answered:
        yield from (_kind(group), _ANSWERS)


def _kind(group: FindingGroup) -> Hashable:
    """What groups of findings have in common that one may explain the other."""
    return group.attacker or (is_standing(group), group.captures)


def _order(group: FindingGroup, explained: Container[Hashable]) -> tuple[bool | int, ...]:
    """The gravest first; of what an attacker sent, what says most of it. Answers come last."""
    id_, cause = group.lead.id, group.answer
    if cause is not None and (group.lead.answered or (cause.kind, cause.about) in explained):
        return 2, (cause.kind, cause.about) in explained, not cause.explains
    if not group.attacker:
        return 1, is_standing(group), -group.rank, id_ == _ANY, id_ != _CLONE
    rule = RULES.get(id_)
    over, scanner = rule is None or rule.over != "record", id_.startswith(SCANNERS)
    specific = not group.lead.cves, not scanner, id_ == "FPR-SAMPLE", over and not scanner
    return 0, -group.rank, *specific
