"""`causes`: which groups of findings have one cause, for findings, digest and report alike.

The rule kept here: what one group may say of another is declared in `EDGES`. A connection on which something
hostile was sent has one cause, and that is who sent it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import msgspec

from msmq_wire.findings.folding import SCANNERS, Group
from msmq_wire.findings.registry import RULES

__all__ = ["EDGES", "causes", "is_standing"]

_MOST_LEADS = 128
"""Of more, the gravest are looked at for what they explain."""
_OPENING = frozenset(("SES-GUID", "RPL-ECHO", "RPL-GOESON"))
"""Rules about the answer that opens a session, and what follows from it."""
_CLONE, _CLONED = "ID-CLONE", frozenset(("RPL-CONTENT", "RPL-TWICE"))
"""A queue manager that runs at several addresses, and what its messages look like then."""
_ANY = "FRM-MUST"


def is_standing(group: Group) -> bool:
    """Whether a group says how a host is set up, and not what went wrong."""
    rule = RULES.get(group.lead.id)
    return rule is not None and rule.standing


def _is_attack(lead: Group, group: Group) -> bool:
    return bool(lead.attacker) and lead.attacker == group.attacker


def _has_its_frames(lead: Group, group: Group) -> bool:
    return bool(group.frames) and {*group.frames} <= {*lead.frames}


def _opens_with_it(lead: Group, group: Group) -> bool:
    return {lead.lead.id, group.lead.id} <= _OPENING and {*lead.hosts} == {*group.hosts}


def _is_clone(lead: Group, group: Group) -> bool:
    return lead.lead.id == _CLONE and group.lead.id in _CLONED and {*group.hosts} <= {*lead.hosts}


EDGES: tuple[Callable[[Group, Group], bool], ...] = (_is_attack, _has_its_frames, _opens_with_it, _is_clone)
"""Whether the first of two groups tells the cause of the second, which is no graver."""


def causes(groups: Iterable[Group]) -> list[Group]:
    """Groups, each with those that it explains; what is only info stands alone."""
    leads: dict[Hashable, list[int]] = {}
    kept: list[list[Group]] = []
    for group in sorted(groups, key=_order):
        rivals = leads.setdefault(_kind(group), []) if group.rank else []
        at = next((one for one in rivals if any(edge(kept[one][0], group) for edge in EDGES)), None)
        if at is not None:
            kept[at].append(group)
            continue
        if len(rivals) < _MOST_LEADS:
            rivals.append(len(kept))
        kept.append([group])
    return [
        msgspec.structs.replace(lead, explained=(*lead.explained, *others)) if others else lead
        for lead, *others in kept
    ]


def _kind(group: Group) -> Hashable:
    """What groups have in common that one may explain the other."""
    return group.attacker or (is_standing(group), group.captures)


def _order(group: Group) -> tuple[bool | int, ...]:
    """The gravest first; of what an attacker sent, what says most of it."""
    id_ = group.lead.id
    if not group.attacker:
        return True, is_standing(group), -group.rank, id_ == _ANY, id_ != _CLONE
    rule = RULES.get(id_)
    over, scanner = rule is None or rule.over != "record", id_.startswith(SCANNERS)
    specific = not group.lead.cves, not scanner, id_ == "FPR-SAMPLE", over and not scanner
    return False, -group.rank, *specific
