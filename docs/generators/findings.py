"""The pages of the rules and their index, from the rules themselves."""

from __future__ import annotations

from collections import defaultdict

from docs.generators.markers import code, table
from msmq_wire.detection import RULES
from msmq_wire.detection.rule import Rule
from msmq_wire.wire.registry import STRUCTURES

__all__ = ["index", "pages"]

_OVER = {
    "hop": "every hop of a message, where there is a [topology](../topology.md)",
    "reply": "every reply or packet of a queue manager that a [replay](../replay.md) finds to be wrong",
    "session": "every protocol session, when the captures end",
    "life": "the life of every message, when the captures end",
    "story": "all sessions and messages together, when the captures end",
    "cause": "what the [answers of a diagnosis](../diagnose.md) call wrong, when the captures end",
}


def index() -> str:
    """Every rule with its severity and title, in the order of ``explain --list``."""
    rows = (
        (f"[{rule.id}](findings/{rule.stem}.md)", rule.severity, _text(rule.title), ", ".join(rule.cves))
        for rule in RULES.values()
    )
    return f"{len(RULES)} rules.\n\n" + table(("Id", "Severity", "Title", "CVE"), rows)


def pages() -> dict[str, tuple[str, str]]:
    """The title and the generated block of every page, by the stem of its rule."""
    return {rule.stem: (rule.id, _page(rule)) for rule in RULES.values()}


def _page(rule: Rule) -> str:
    parts = [
        f"**{_text(rule.title)}.** Severity {rule.severity}, confidence {rule.confidence}: "
        "[what that means](../findings.md#severity-and-confidence).",
        f"## What it means\n\n{_text(rule.meaning)}",
        f"## What to do\n\n{_text(rule.action)}",
    ]
    if rule.harmless:
        parts.append(f"## Harmless explanations\n\n{_text(rule.harmless)}")
    if rule.cves:
        names = ", ".join(rule.cves)
        claim = "Tests and scanners send the same bytes: it is no proof of an attack."
        parts.append(f"## Published condition\n\nIt belongs to the published condition of {names}. {claim}")
    if rule.event:
        provider, number = rule.event.split()
        parts.append(
            "## Windows event\n\nThe receiver may have logged the packet as corrupted: "
            f"event {number} of the provider {provider}. Look for it at the time of the finding."
        )
    parts.append("## What it rests on\n\n" + "\n".join(f"* {line}" for line in _grounds(rule)))
    return "\n\n".join(parts)


def _grounds(rule: Rule) -> list[str]:
    described = _structures()
    lines = [
        f"{section}: {', '.join(described[section])}" if section in described else section
        for section in map(str, rule.spec)
    ]
    if rule.over in _OVER:
        lines.append(f"Judges {_OVER[rule.over]}.")
    elif rule.types:
        lines.append(f"Judges items of type {', '.join(map(code, rule.types))}.")
    if rule.codes:
        lines.append(f"Anomalies: {', '.join(map(code, rule.codes))}, see [Anomaly codes](../anomalies.md).")
    return lines


def _structures() -> dict[str, list[str]]:
    """Links to the pages of structures by the section that defines them."""
    found = defaultdict(list)
    for stem, cls in STRUCTURES.items():
        found[str(cls.SPEC)].append(f"[{stem}](../structures/{stem}.md)")
    return found


def _text(text: str) -> str:
    """A text without what Markdown would take for markup."""
    for character in "\\`*_":
        text = text.replace(character, f"\\{character}")
    return text.replace("<", "&lt;")
