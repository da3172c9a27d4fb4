"""Findings for a page: kept by rule, shown with their evidence and what it means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from msmq_wire.findings import RULES, SEVERITIES, Evidence, Finding
from msmq_wire.report.markup import Markup, joined, tag, visible
from msmq_wire.report.wording import count_text, date_text

__all__ = ["Shelf", "finding_section"]

_KEPT = 10
"""Findings of one rule and severity that the page shows."""
_PLACES = 4
_FRAMES = 12
_FOLDERS = re.compile(r"[/\\]")


class Shelf:
    """Keeps the first findings of each rule and severity; counts all of them.

    ``more`` are those that the judge itself counted only, by rule.
    """

    def __init__(self) -> None:
        self.severities: Counter[str] = Counter()
        self.counts: Counter[tuple[str, str]] = Counter()
        self.kept: dict[tuple[str, str], list[Finding]] = {}
        self.more: Counter[str] = Counter()

    def add(self, findings: Iterable[Finding]) -> None:
        """Take findings."""
        for finding in findings:
            self.severities[finding.severity] += 1
            key = (finding.severity, finding.id)
            self.counts[key] += 1
            kept = self.kept.setdefault(key, [])
            if len(kept) < _KEPT:
                kept.append(finding)

    @property
    def total(self) -> int:
        """All findings that were given."""
        return self.severities.total()


def finding_section(shelf: Shelf) -> Markup:
    """The findings by severity, the worst first, those of one rule together."""
    if not shelf.total:
        return tag("p", "No rule found anything.")
    parts = []
    for severity in reversed(SEVERITIES):
        rules = sorted(id_ for level, id_ in shelf.counts if level == severity)
        if rules:
            heading = f"{severity.capitalize()}: {count_text(shelf.severities[severity], 'finding')}"
            parts.append(tag("h3", heading, id=f"severity-{severity}"))
            parts += (_of_rule(shelf, severity, id_) for id_ in rules)
    more = [f"{count:,} of {id_}" for id_, count in sorted(shelf.more.items()) if count]
    if more:
        parts.append(tag("p", f"Counted and not kept: {', '.join(more)}.", class_="note"))
    return joined(*parts)


def _of_rule(shelf: Shelf, severity: str, id_: str) -> Markup:
    findings = shelf.kept[severity, id_]
    count = shelf.counts[severity, id_]
    first = findings[0]
    summary = tag(
        "summary",
        tag("span", severity, class_=f"badge {severity}"),
        " ",
        tag("code", id_),
        " ",
        tag("strong", first.title),
        tag("span", f" {count:,} times" if count > 1 else "", class_="muted"),
    )
    rule = RULES.get(id_)
    about = []
    if rule is not None:
        about.append(tag("p", rule.meaning))
        about.append(tag("p", tag("strong", "What to do: "), rule.action))
        if rule.harmless:
            about.append(tag("p", tag("strong", "May be harmless: "), rule.harmless))
    sources = [first.spec] if first.spec else []
    sources += (f"matches the published condition of {cve}" for cve in first.cves)
    sources.append(f"msmq-wire explain {id_}")
    about.append(tag("p", "; ".join(sources), class_="muted"))
    rest = count - len(findings)
    more = None
    if rest > 0:
        more = tag("p", f"And {rest:,} more: msmq-wire findings --rule {id_} lists them.", class_="note")
    shown = (tag("li", _one(finding)) for finding in findings)
    return tag(
        "details",
        summary,
        tag("div", *about, tag("ol", *shown, class_="findings"), more, class_="inside"),
        class_=f"finding {severity}",
        open=severity == "high",
    )


def _one(finding: Finding) -> Markup:
    caveats = [tag("p", f"Beside that: {caveat}", class_="muted") for caveat in finding.caveats]
    evidence = tuple(dict.fromkeys(finding.evidence))
    places = [_place(one) for one in evidence[:_PLACES]]
    rest = len(evidence) - _PLACES
    more = tag("p", f"and {count_text(rest, 'place')} more", class_="muted") if rest > 0 else None
    confidence = tag("span", f" (confidence: {finding.confidence})", class_="muted")
    words = tag("p", visible(finding.message, 600), confidence)
    return joined(words, *caveats, *places, more)


def _place(place: Evidence) -> Markup:
    facts: list[tuple[str, object]] = []
    if place.src or place.dst:
        facts.append(("From, to", f"{place.src or '?'} → {place.dst or '?'}"))
    if place.time is not None:
        facts.append(("Time", date_text(place.time)))
    if place.frames:
        frames = ", ".join(map(str, place.frames[:_FRAMES]))
        if len(place.frames) > _FRAMES:
            frames += f" and {len(place.frames) - _FRAMES:,} more"
        facts.append(("Frames", frames))
    if place.capture:
        facts.append(("Capture", _FOLDERS.split(place.capture)[-1]))
    if place.record is not None:
        facts.append(("Item", place.record))
    if place.path:
        facts.append(("Field", tag("code", visible(place.path))))
    if place.path or place.length:
        facts.append(("Offset", f"{place.offset:,}, {count_text(place.length, 'byte')}"))
    listed = tag("dl", *(tag("div", tag("dt", name), " ", tag("dd", value)) for name, value in facts))
    dump = None
    if place.data:
        lines = tag("pre", tag("code", _hex(place)))
        dump = tag(
            "div",
            lines,
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Bytes, scrolls sideways",
        )
    return tag("div", listed, dump, class_="place")


def _hex(place: Evidence) -> Markup:
    lines = []
    for at in range(0, len(place.data), 16):
        part = place.data[at : at + 16]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        lines.append(joined(f"{place.offset + at:08x}  {part.hex(' '):<47}  {text}"))
    return Markup("\n".join(lines))
