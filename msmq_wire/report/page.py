"""The page: everything that was counted and told, as one HTML file that loads nothing.

The rule kept here: a policy in the page forbids all network, and names the only script and style by hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Sized
from importlib.resources import files

import msgspec

from msmq_wire.capture.hashing import FileRead
from msmq_wire.detection.diagnosis import Answer
from msmq_wire.detection.diagnosis.digest_lines import Digest
from msmq_wire.markup import Markup, joined, tag
from msmq_wire.records.outcome import OUTCOMES
from msmq_wire.report.at_rest import AtRest
from msmq_wire.report.evicted_totals import EvictedTotals
from msmq_wire.report.finding_section import FindingSample, ReportedFindings, finding_section
from msmq_wire.report.hosts import hosts_of, talk_section
from msmq_wire.report.html_tables import queue_section, read_section, table, when
from msmq_wire.report.links import PageLinks
from msmq_wire.report.message_table import message_section
from msmq_wire.report.outcome_totals import OutcomeTotals
from msmq_wire.report.overview import answer_section, digest_section, flagged_hosts_of, verdict
from msmq_wire.report.plots import flow_section
from msmq_wire.report.session_lanes import listed_sessions, session_section
from msmq_wire.report.totals import Totals
from msmq_wire.report.wording import bytes_text, count_text, date_text, duration_text
from msmq_wire.sessions import Story

_MOST_CAPTURES = 4
_MOST_LISTED = 1000

_MOST_LINES = 50


class ReadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What whoever read the captures knows: ``captures`` are those named, ``files`` those that were opened.

    ``frames`` are those read, ``skipped`` counts frames that are not MSMQ by reason, ``notices`` and
    ``failures`` are lines of text, ``redacted`` names what was blanked out, ``program`` is the name and
    version of the writer. ``at_rest`` is what was found in files that are no captures. Where files are one
    capture, ``starts`` has for each of ``files`` how many frames of its capture lie before it, None where
    frames of others lie between its own.
    """

    program: str
    captures: tuple[str, ...] = ()
    files: tuple[FileRead, ...] = ()
    frames: int = 0
    understood: int = 0
    skipped: Counter[str] = msgspec.field(default_factory=Counter)
    notices: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    at_rest: AtRest | None = None
    starts: tuple[int | None, ...] = ()


def report_page(
    totals: Totals,
    story: Story,
    sample: FindingSample,
    facts: ReadFacts,
    gone: EvictedTotals | None = None,
    *,
    answers: Sequence[Answer] = (),
    digest: Digest | None = None,
) -> Iterator[str]:
    """The page in parts, one after the other; the same input gives the same page.

    ``gone`` is what left the story before its end, ``answers`` and ``digest`` are those of a diagnosis.
    """
    gone = gone or EvictedTotals()
    outcome_totals = gone.outcome_totals
    outcome_totals.look_at(story.lives)
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
    groups, sessions = sample.shown(), listed_sessions(story)
    links = PageLinks(totals, sessions, groups)
    reported = ReportedFindings(links)
    sections: tuple[tuple[str, str, Callable[[], Markup]], ...] = (
        (
            "summary",
            "What was found",
            lambda: _summary(totals, story, gone, facts, hosts, digest, answers, links),
        ),
        ("answers", "Answers", lambda: answer_section(answers, links)),
        ("findings", "Findings", lambda: finding_section(sample, groups, reported)),
        (
            "hosts",
            "Who talks to whom",
            lambda: talk_section(hosts, ways, totals.edges_left_out, flagged_hosts_of(digest)),
        ),
        ("flow", "Rate and latency", lambda: flow_section(totals.rate, outcome_totals)),
        ("queues", "Queues", lambda: queue_section(outcome_totals, story)),
        ("sessions", "Sessions", lambda: session_section(story, totals)),
        ("reads", "Remote reads", lambda: read_section(story)),
        (
            "messages",
            "Messages",
            lambda: message_section(
                totals, story, gone.outcomes, found=reported.found, sessions=links.sessions
            ),
        ),
        ("captures", "Captures", lambda: capture_section(facts.files, facts.starts)),
        (
            "limits",
            "Limits, and what is missing",
            lambda: _limit_section(
                totals, story, outcome_totals, facts.skipped, (*facts.failures, *facts.notices)
            ),
        ),
    )
    shown = [one for one in sections if one[0] != "answers" or digest is not None]
    rest = facts.at_rest
    if rest is not None:
        instead = {"summary": rest.summary, "queues": rest.queue_section, "captures": rest.file_section}
        instead["limits"] = lambda: rest.limit_section(facts.failures)
        shown = [
            (id_, title if id_ != "captures" else "Files", instead.get(id_, content))
            for id_, title, content in shown
            if id_ not in ("answers", "hosts", "flow", "sessions", "reads")
        ]
    toc = (tag("li", tag("a", title, href=f"#{id_}")) for id_, title, _ in shown)
    yield tag(
        "header",
        tag("h1", "MSMQ report"),
        tag(
            "p",
            _captures(facts, _MOST_CAPTURES),
            " ",
            tag("a", "(all of them)", href="#captures"),
            class_="muted",
        )
        if len(facts.captures) > _MOST_CAPTURES
        else tag("p", _captures(facts, _MOST_CAPTURES), class_="muted"),
        tag("nav", tag("ul", *toc), aria_label="Sections"),
    )
    yield '\n<main id="main" tabindex="-1">\n'
    for id_, title, content in shown:
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


def _summary(
    totals: Totals,
    story: Story,
    gone: EvictedTotals,
    facts: ReadFacts,
    hosts: Sized,
    digest: Digest | None,
    answers: Sequence[Answer],
    links: PageLinks,
) -> Markup:
    """The digest, and in two sentences what there is."""
    outcome_totals = gone.outcome_totals
    opened = gone.opened + sum(session.opened is not None for session in story.sessions)
    sessions = len(story.sessions) + story.left_out.sessions
    held = (
        f"{count_text(totals.messages, 'message')} ({bytes_text(totals.bytes)}) in "
        f"{count_text(sessions, 'session')}, {opened:,} of them open, between "
        f"{count_text(len(hosts), 'host')}; {count_text(facts.frames, 'frame')}, "
        f"{facts.understood:,} of them in connections that were followed."
    )
    parts = [] if digest is None else [verdict(digest)]
    parts += _counted(outcome_totals)
    if digest is not None:
        parts.append(digest_section(digest, answers, links))
    parts.append(tag("p", held))
    if totals.first is not None and totals.last is not None:
        length = duration_text(totals.last - totals.first)
        parts.append(tag("p", f"{date_text(totals.first)} to {date_text(totals.last)} ({length})."))
    if totals.gaps or facts.failures:
        parts.append(
            tag("p", "Parts are missing: see ", tag("a", "limits", href="#limits"), ".", class_="note")
        )
    if facts.redacted:
        parts.append(tag("p", f"Redacted: {', '.join(facts.redacted)}.", class_="note"))
    return joined(*parts)


def _counted(outcome_totals: OutcomeTotals) -> Iterator[Markup]:
    """What became of the messages, in numbers."""
    came = ", ".join(
        f"{outcome_totals.outcomes[one]:,} {one}" for one in OUTCOMES if outcome_totals.outcomes[one]
    )
    if came:
        more = (
            (outcome_totals.acknowledgments, "acknowledged others"),
            (outcome_totals.reports, "reported on others"),
            (outcome_totals.reported, "only report messages tell of"),
        )
        others = " and ".join(
            f"{count_text(number, 'message')} that {what}" for number, what in more if number
        )
        beside = f" Besides them {others}." if others else ""
        looked = count_text(outcome_totals.outcomes.total(), "different message")
        yield tag("p", f"Of {looked}: {came}.{beside}")


def capture_section(captures: Sequence[FileRead], starts: Sequence[int | None] = ()) -> Markup:
    """What tells the captures from all others; ``starts`` as in `ReadFacts`."""
    if not captures:
        return tag("p", "Nothing is known of the files.")
    rows = [
        (
            one.name,
            f"{one.size:,}",
            tag("span", one.sha256, "" if one.whole else " (of what was read)", class_="sum"),
            f"{one.frames:,}",
            when(one.first),
            when(one.last),
        )
        for one in captures[:_MOST_LISTED]
    ]
    heads: tuple[str, ...] = ("File", "#Bytes", "SHA-256", "#Frames", "First frame (UTC)", "Last frame (UTC)")
    if not starts:
        return table("Captures", heads, rows, more=len(captures) - len(rows))
    heads += ("Numbers of frames",)
    numbered = [(*row, _numbers(one, start)) for row, one, start in zip(rows, captures, starts, strict=False)]
    ring = (
        "Files that follow each other in time are one capture. Their frames are numbered on from file to "
        "file, except where a file is named beside them."
    )
    points = (
        "Captures of the same traffic at several places are read as one. Their frames are numbered as they "
        "were merged, each once, except where a file is named beside them."
    )
    note = points if None in starts else ring
    shown = table("Captures", heads, numbered, more=len(captures) - len(rows))
    return joined(tag("p", note, class_="note"), shown)


def _numbers(file: FileRead, start: int | None) -> str:
    """The numbers that the frames of a file have in their capture."""
    if start is None:
        return "merged"
    return f"{start + 1:,} to {start + file.frames:,}" if file.frames else ""


def _limit_section(
    totals: Totals, story: Story, outcome_totals: OutcomeTotals, skipped: Counter[str], notices: Sequence[str]
) -> Markup:
    """A list of what is missing, and a table of the gaps."""
    lines = [*notices[:_MOST_LINES]]
    if len(notices) > _MOST_LINES:
        lines.append(f"{count_text(len(notices) - _MOST_LINES, 'other notice')}")
    lines += totals.of_files[:_MOST_LINES]
    gaps = totals.holes
    if gaps:
        known = f", {bytes_text(totals.missing)} as far as that is known" if totals.missing else ""
        lines.append(
            f"{count_text(gaps, 'gap')} in connections{known}: bytes that were sent and not captured."
        )
    if totals.cut:
        lines.append(f"{count_text(totals.cut, 'packet')} could not be decoded to the end.")
    if totals.sealed:
        lines.append(
            f"{count_text(totals.sealed, 'call')} sealed: without a key their content cannot be shown."
        )
    late = sum(not session.started for session in story.sessions)
    if late:
        lines.append(f"{count_text(late, 'session')} began before the capture.")
    uncertain = sum(not session.certain for session in story.sessions) - late
    if uncertain > 0:
        lines.append(
            f"{count_text(uncertain, 'session')} with parts missing: which messages were not acknowledged is "
            "not certain."
        )
    for name in story.left_out.__struct_fields__:
        count = getattr(story.left_out, name)
        if count:
            judged = ", and were judged before the end of the capture" if name in _JUDGED else ""
            lines.append(
                f"{count:,} {_NAMES.get(name, name)} are not listed one by one{judged}: too many were "
                "captured."
            )
    if outcome_totals.every > 1:
        every, of = outcome_totals.every, outcome_totals.messages
        lines.append(f"What became of a message is shown for one in {every} of {of:,} messages.")
    if totals.messages > len(totals.rows):
        lines.append(f"The table of messages has {len(totals.rows):,} of {totals.messages:,} messages.")
    if skipped:
        most = ", ".join(f"{count:,} {reason}" for reason, count in skipped.most_common(6))
        lines.append(f"{count_text(skipped.total(), 'frame')} skipped: {most}.")
    lines.append("A message without a captured acknowledgment may still have arrived.")
    parts = [tag("ul", *(tag("li", line) for line in lines))]
    if totals.gaps:
        rows = [
            (
                when(gap.time),
                gap.src,
                gap.dst,
                "not known" if gap.missing is None else f"{gap.missing:,}",
                gap.reason.replace("_", " "),
                gap.frame or "-",
            )
            for gap in totals.gaps
        ]
        heads = ("Time (UTC)", "From", "To", "#Missing bytes", "Why", "#Frame")
        parts.append(table("Gaps", heads, rows, more=gaps - len(rows)))
    return joined(*parts)


_JUDGED = ("sessions", "streams", "lives")
_NAMES = {
    "streams": "transactional sequences",
    "reads": "remote reads",
    "lives": "messages",
    "waiting": "packets that waited for an acknowledgment",
    "strays": "acknowledgments of messages that were not seen",
    "reports": "report messages",
}
