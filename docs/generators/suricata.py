"""The signatures for Suricata, the captures that they were tried on, and the rules that have none."""

from __future__ import annotations

from collections import defaultdict

from docs.generators.markers import code, table
from msmq_wire.detection import RULES
from msmq_wire.detection.rule import Rule
from msmq_wire.detection.suricata_rules import left_out, rendered
from tests.detection.suricata_trials import ALSO, UNSEEN, UNSEEN_BY_7, captures, expected

__all__ = ["blocks"]


def blocks() -> dict[str, str]:
    """The generated blocks of the page."""
    return {
        "signatures": _signatures(),
        "sightings": _sightings(),
        "trials": _trials(),
        "left-out": _left_out(),
    }


def _signatures() -> str:
    lines = [one for one in rendered() if one.rule is not None]
    rows = (
        (one.sid, _link(one.rule), one.severity, one.says, code(one.signature.on.header))
        for one in lines
        if one.rule is not None
    )
    rules = {one.rule.id for one in lines if one.rule is not None}
    head = ("sid", "Finding", "Severity", "Alert", "Where")
    return f"{len(lines)} rules for {len(rules)} of {len(RULES)} findings.\n\n{table(head, rows)}"


def _sightings() -> str:
    rows = (
        (one.sid, "bits only" if one.signature.silent else "off", one.says, code(one.signature.on.header))
        for one in rendered()
        if one.rule is None
    )
    return table(("sid", "State", "What it sees", "Where"), rows)


def _trials() -> str:
    rows = []
    for rule in RULES.values():
        if rule.suricata:
            fired = expected(rule.id)
            names = [*captures(rule.id, "hit"), *captures(rule.id, "miss")]
            silent = [name for name in names if name not in fired]
            rows.append((_link(rule), _short(fired), "<br>".join(map(_silent, silent))))
    return table(("Finding", "Speaks on", "Silent on"), rows)


def _short(names: list[str]) -> str:
    return "<br>".join(_noted(name) for name in names)


def _noted(name: str) -> str:
    why = ALSO.get(name) or UNSEEN_BY_7.get(name)
    return code(name.partition("/")[2]) + (f": {why}" if why else "")


def _silent(name: str) -> str:
    why = UNSEEN.get(name)
    return code(name.partition("/")[2]) + (f": {why}" if why else "")


def _left_out() -> str:
    reasons: dict[str, list[Rule]] = defaultdict(list)
    for rule in RULES.values():
        if not rule.suricata:
            reasons[left_out(rule)].append(rule)
    rows = ((why, ", ".join(map(_link, rules))) for why, rules in reasons.items())
    return table(("Why", "Findings"), rows)


def _link(rule: Rule) -> str:
    return f"[{rule.id}](findings/{rule.stem}.md)"
