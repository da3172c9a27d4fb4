"""The findings of a report, grouped by cause, with evidence and meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from msmq_wire.detection import RULES, SEVERITIES, Evidence, Finding
from msmq_wire.detection.causes import causes, layer_shown
from msmq_wire.detection.folding import FindingGroup, Fold
from msmq_wire.detection.judge import beyond
from msmq_wire.markup import Markup, badge, joined, scrolling, tag, visible
from msmq_wire.records.joined_capture import located
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.report.links import PageLinks
from msmq_wire.report.wording import count_text, date_text

_KEPT = 10
"""Findings of one rule about one sender that the page shows."""
_MOST_SHOWN = 600
"""Findings that are shown with their bytes; of further causes the first one is, as long as there are few."""
_MOST_GROUPS = 300
_MOST_OPEN = 3
_PLACES = 4
_FRAMES = 12
_FOLDERS = re.compile(r"[/\\]")


class FindingSample:
    """Keeps the first findings of each rule about each sender; counts all of them.

    ``more`` are those that the judge itself counted only, by rule.
    """

    def __init__(self) -> None:
        self.severities: Counter[str] = Counter()
        self.kept: dict[tuple[str, str], list[Finding]] = {}
        self.more: Counter[str] = Counter()
        self._fold = Fold()

    def add(self, findings: Iterable[Finding]) -> None:
        """Take findings."""
        for finding in findings:
            self.severities[finding.severity] += 1
            self._fold.add(finding)
            kept = self.kept.setdefault((finding.group, finding.id), [])
            if len(kept) < _KEPT:
                kept.append(finding)

    @property
    def total(self) -> int:
        """All findings that were given."""
        return self.severities.total()

    @cached_property
    def _causes(self) -> tuple[FindingGroup, ...]:
        return tuple(sorted(causes(self._fold.groups()), key=lambda group: group.place))

    def shown(self) -> tuple[FindingGroup, ...]:
        """The causes that the page tells, the gravest first."""
        return self._causes[:_MOST_GROUPS]

    def left_out(self) -> int:
        """How many causes the page only counts."""
        return max(0, len(self._causes) - _MOST_GROUPS)


class ReportedFindings:
    """Findings told on the page: ``found`` are anchors and words by the record that they are about."""

    def __init__(self, links: PageLinks) -> None:
        self.links = links
        self.found: dict[int, list[tuple[str, str]]] = {}
        self._left = _MOST_SHOWN

    def of(self, sample: FindingSample, group: FindingGroup) -> Markup:
        """What was kept of the rule of a group."""
        kept = sample.kept.get((group.id, group.lead.id)) or [group.lead]
        reported = kept[: max(1, self._left)]
        self._left -= len(reported)
        anchor = self.links.finding(group)
        for finding in reported:
            words = f"{finding.id}: {finding.title}"
            shown = finding.evidence[:_PLACES]
            for record in dict.fromkeys(one.record for one in shown if one.record is not None):
                marks = self.found.setdefault(record, [])
                if (anchor, words) not in marks:
                    marks.append((anchor, words))
        return tag("ol", *(tag("li", _one(finding, self.links)) for finding in reported), class_="findings")


def finding_section(
    sample: FindingSample, groups: Sequence[FindingGroup], reported: ReportedFindings
) -> Markup:
    """The findings, those of one cause together, the gravest first; what is only info is folded away."""
    if not sample.total:
        return tag("p", "No rule found anything.")
    counted = [
        tag("li", badge(severity), f" {sample.severities[severity]:,}")
        for severity in reversed(SEVERITIES)
        if sample.severities[severity]
    ]
    loud = [group for group in groups if group.rank]
    quiet = [group for group in groups if not group.rank]
    words = (
        f"{count_text(sample.total, 'finding')}, grouped into {count_text(len(loud) + len(quiet), 'cause')}."
    )
    parts = [tag("p", words), tag("ul", *counted, class_="severities")]
    parts += (
        _of_group(sample, group, reported, opened=at < _MOST_OPEN and group.severity == "high")
        for at, group in enumerate(loud)
    )
    if quiet:
        inside = [_of_group(sample, group, reported) for group in quiet]
        occurrences = sum(group.occurrences for group in quiet)
        summary = tag("summary", f"{count_text(occurrences, 'finding')} of level info")
        parts.append(tag("details", summary, tag("div", *inside, class_="inside"), class_="quiet"))
    left_out = sample.left_out()
    if left_out:
        parts.append(tag("p", f"{count_text(left_out, 'further cause')} not shown.", class_="note"))
    more = beyond(sample.more)
    if more:
        parts.append(tag("p", f"Not kept: {'; '.join(more)}.", class_="note"))
    return joined(*parts)


def _of_group(
    sample: FindingSample, group: FindingGroup, reported: ReportedFindings, *, opened: bool = False
) -> Markup:
    lead = group.lead
    explained = sum(one.count for one in group.all_explained)
    summary = tag(
        "summary",
        badge(group.severity),
        " ",
        tag("code", lead.id),
        " ",
        tag("strong", lead.title),
        tag(
            "span", f" ({layer_shown(group)})" if layer_shown(group) else "", _repeated(group), class_="muted"
        ),
        tag("span", f"; explains {count_text(explained, 'other finding')}", class_="muted")
        if explained
        else None,
    )
    about: list[Markup | None] = [*_rule(lead)]
    about += (reported.of(sample, group), _rest(sample, group))
    for one in group.all_explained:
        about.append(
            tag(
                "h4",
                "Explains: ",
                tag("code", one.lead.id),
                f" {one.lead.title}",
                tag("span", _repeated(one), class_="muted"),
                id=reported.links.finding(one),
            )
        )
        about += (reported.of(sample, one), _rest(sample, one))
    return tag(
        "details",
        summary,
        tag("div", *about, class_="inside"),
        class_=f"finding {group.severity}",
        open=opened,
        id=reported.links.finding(group),
    )


def _repeated(group: FindingGroup) -> str:
    words = f" from {visible(group.sender, 80)}" if group.sender else ""
    if group.count > 1:
        words += f", {group.count:,} times"
        if group.first is not None and group.last is not None and group.last > group.first:
            words += f", {date_text(group.first).removesuffix(' UTC')} to {date_text(group.last)}"
    return words


def _rest(sample: FindingSample, group: FindingGroup) -> Markup | None:
    rule = group.lead.id
    rest = group.count - len(sample.kept.get((group.id, rule), ()))
    if rest <= 0:
        return None
    return tag("p", f"And {rest:,} more: msmq-wire findings --rule {rule} lists them.", class_="note")


def _rule(first: Finding) -> list[Markup]:
    rule = RULES.get(first.id)
    about = []
    if rule is not None:
        about.append(tag("p", rule.meaning))
        about.append(tag("p", tag("strong", "What to do: "), rule.action))
        if rule.harmless:
            about.append(tag("p", tag("strong", "May be harmless: "), rule.harmless))
    sources = [first.spec] if first.spec else []
    sources += (f"matches the published condition of {cve}" for cve in first.cves)
    sources.append(f"msmq-wire explain {first.id}")
    return [*about, tag("p", "; ".join(sources), class_="muted")]


def _one(finding: Finding, links: PageLinks) -> Markup:
    caveats = [tag("p", f"Note: {caveat}", class_="muted") for caveat in finding.caveats]
    evidence = tuple(dict.fromkeys(finding.evidence))
    places = [_place(one, links) for one in evidence[:_PLACES]]
    rest = len(evidence) - _PLACES
    more = tag("p", f"and {count_text(rest, 'place')} more", class_="muted") if rest > 0 else None
    confidence = tag("span", f" (confidence: {finding.confidence})", class_="muted")
    words = tag("p", visible(with_queue_names(finding.message), 600), confidence)
    return joined(words, *caveats, *places, more)


def _place(place: Evidence, links: PageLinks) -> Markup:
    known = links.of_place(place)
    place = located(place)
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
    if known is not None:
        facts.append(("See", known))
    listed = tag("dl", *(tag("div", tag("dt", name), " ", tag("dd", value)) for name, value in facts))
    dump = None
    if place.data:
        dump = scrolling("Bytes", tag("pre", tag("code", _hex(place))))
    return tag("div", listed, dump, class_="place")


def _hex(place: Evidence) -> Markup:
    lines = []
    for at in range(0, len(place.data), 16):
        part = place.data[at : at + 16]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        lines.append(joined(f"{place.offset + at:08x}  {part.hex(' '):<47}  {text}"))
    return Markup("\n".join(lines))
