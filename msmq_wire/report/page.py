"""The page: everything that was counted and told, as one HTML file that loads nothing.

The rule kept here: a policy in the page forbids all network, and names the only script and style by hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files

import msgspec

from msmq_wire.findings import SEVERITIES
from msmq_wire.report.evidence import Shelf, finding_section
from msmq_wire.report.gone import Gone
from msmq_wire.report.hosts import hosts_of, talk_section
from msmq_wire.report.lanes import session_section
from msmq_wire.report.limits import limit_section
from msmq_wire.report.markup import Markup, escaped, joined, tag
from msmq_wire.report.messages import message_section
from msmq_wire.report.plots import flow_section
from msmq_wire.report.tables import OUTCOMES, queue_section, read_section
from msmq_wire.report.totals import Totals
from msmq_wire.report.wording import bytes_text, count_text, date_text, duration_text
from msmq_wire.sessions import Story

__all__ = ["ReadFacts", "report_page"]

_MOST_CAPTURES = 20


class ReadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever read the captures knows: ``captures`` are their names, ``frames`` those read.

    ``skipped`` counts frames that are not MSMQ by reason, ``notices`` and ``failures`` are lines of text,
    ``redacted`` names what was blanked out, ``program`` is the name and version of the writer.
    """

    program: str
    captures: tuple[str, ...] = ()
    frames: int = 0
    understood: int = 0
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    notices: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()


def report_page(
    totals: Totals, story: Story, shelf: Shelf, facts: ReadFacts, gone: Gone | None = None
) -> Iterator[str]:
    """The page in parts, one after the other; the same input gives the same page.

    ``gone`` is what left the story before its end.
    """
    gone = gone or Gone()
    fates = gone.fates
    fates.look_at(story.lives)
    style = (files("msmq_wire.report") / "report.css").read_text(encoding="utf-8")
    script = (files("msmq_wire.report") / "report.js").read_text(encoding="utf-8")
    yield '<!DOCTYPE html>\n<html lang="en">\n'
    yield tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"MSMQ report: {_captures(facts, 3)}"),
        tag("style", Markup(style)),
    )
    yield '\n<body>\n<a class="skip" href="#main">Skip to the report</a>\n'
    hosts, ways = hosts_of(totals, story, gone)
    sections: tuple[tuple[str, str, Callable[[], Markup]], ...] = (
        ("summary", "Summary", lambda: _summary(totals, story, shelf, gone, facts, len(hosts))),
        ("findings", "Findings", lambda: finding_section(shelf)),
        ("hosts", "Who talks to whom", lambda: talk_section(hosts, ways, totals.edges_left_out)),
        ("flow", "Rate and latency", lambda: flow_section(totals.rate, fates)),
        ("queues", "Queues", lambda: queue_section(fates)),
        ("sessions", "Sessions", lambda: session_section(story, totals)),
        ("reads", "Remote reads", lambda: read_section(story)),
        ("messages", "Messages", lambda: message_section(totals, story, gone.outcomes)),
        (
            "limits",
            "Limits, and what is missing",
            lambda: limit_section(totals, story, fates, facts.skipped, (*facts.failures, *facts.notices)),
        ),
    )
    links = (tag("li", tag("a", title, href=f"#{id_}")) for id_, title, _ in sections)
    yield tag(
        "header",
        tag("h1", "MSMQ report"),
        tag("p", _captures(facts, _MOST_CAPTURES), class_="muted"),
        tag("nav", tag("ul", *links), aria_label="Sections"),
    )
    yield '\n<main id="main" tabindex="-1">\n'
    for id_, title, content in sections:
        heading = tag("h2", title, id=f"{id_}-heading")
        # A section may be most of the page: it is not copied into another text.
        yield tag("section", heading, id=id_, aria_labelledby=f"{id_}-heading").removesuffix("</section>")
        yield content()
        yield "</section>\n"
    yield "</main>\n"
    yield tag("footer", tag("p", f"Written by {facts.program}. This page loads nothing from a network."))
    yield f"\n<script>{script}</script>\n</body>\n</html>\n"


def _policy(style: str, script: str) -> str:
    """Nothing is allowed but the style and the script with these bytes."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"sha256-{digest}"


def _captures(facts: ReadFacts, most: int) -> str:
    names = ", ".join(facts.captures[:most])
    rest = len(facts.captures) - most
    return f"{names} and {rest:,} more" if rest > 0 else names


def _summary(totals: Totals, story: Story, shelf: Shelf, gone: Gone, facts: ReadFacts, hosts: int) -> Markup:
    fates = gone.fates
    span = "-"
    if totals.first is not None and totals.last is not None:
        length = duration_text(totals.last - totals.first)
        span = f"{date_text(totals.first)} to {date_text(totals.last)} ({length})"
    opened = gone.opened + sum(session.opened is not None for session in story.sessions)
    sessions = len(story.sessions) + story.left_out.sessions
    cards = [
        _card(f"{totals.messages:,}", "messages", bytes_text(totals.bytes)),
        _card(f"{sessions:,}", "sessions", f"{opened:,} opened"),
        _card(f"{hosts:,}", "hosts", f"{count_text(len(fates.queues), 'queue')} named"),
        _card(f"{facts.frames:,}", "frames", f"{facts.understood:,} of MSMQ"),
        _card(f"{shelf.total + shelf.more.total():,}", "findings", _worst(shelf)),
    ]
    counted = [
        tag("li", tag("span", severity, class_=f"badge {severity}"), f" {shelf.severities[severity]:,}")
        for severity in reversed(SEVERITIES)
    ]
    came = [
        joined(tag("dt", outcome), tag("dd", f"{fates.outcomes[outcome]:,}"))
        for outcome in OUTCOMES
        if fates.outcomes[outcome]
    ]
    parts = [
        tag("ul", *cards, class_="cards"),
        tag("p", tag("strong", "Time: "), span),
        tag("p", tag("strong", "Findings by severity")),
        tag("ul", *counted, class_="severities"),
    ]
    if came:
        parts += (
            tag("p", tag("strong", f"What became of {count_text(fates.messages, 'different message')}")),
            tag("dl", *came, class_="outcomes"),
        )
    if totals.gaps or totals.cut or totals.sealed or facts.failures:
        parts.append(
            tag("p", "Parts are missing: see ", tag("a", "limits", href="#limits"), ".", class_="note")
        )
    if facts.redacted:
        parts.append(tag("p", f"Redacted: {', '.join(facts.redacted)}.", class_="note"))
    return joined(*parts)


def _card(number: str, noun: str, more: str) -> Markup:
    return tag("li", tag("b", number), tag("span", noun), tag("small", escaped(more)))


def _worst(shelf: Shelf) -> str:
    for severity in reversed(SEVERITIES):
        if shelf.severities[severity]:
            return f"{shelf.severities[severity]:,} {severity}"
    return "nothing odd"
