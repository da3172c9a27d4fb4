"""The table of what rules need to have been captured."""

from __future__ import annotations

from collections.abc import Iterable

from msmq_wire.detection import RULES
from msmq_wire.records.coverage import NEEDS

__all__ = ["needs_block"]


def needs_block() -> str:
    """What each need is, with the rules that say less or nothing where it was not captured."""
    lines = ["| needs | what has to be in the capture | a note without it | one step lower without it |"]
    lines.append("|---|---|---|---|")
    for need, meaning in NEEDS.items():
        noted = (id_ for id_, rule in RULES.items() if need in rule.needs)
        lowered = (id_ for id_, rule in RULES.items() if need in rule.prefers)
        lines.append(f"| `{need}` | {meaning} | {_links(noted)} | {_links(lowered)} |")
    return "\n".join(lines)


def _links(ids: Iterable[str]) -> str:
    return ", ".join(f"[{id_}](findings/{RULES[id_].stem}.md)" for id_ in ids)
