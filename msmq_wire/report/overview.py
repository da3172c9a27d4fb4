"""The first section of a report: the digest and the answers, with links to the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msmq_wire.detection.diagnosis import Answer
from msmq_wire.detection.diagnosis.digest_lines import Digest, DigestLine
from msmq_wire.detection.finding import SEVERITIES
from msmq_wire.markup import Markup, badge, joined, tag, visible
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.report.links import PageLinks
from msmq_wire.report.wording import count_text

_FLAGGED = ("high", "medium")
_SURE = {
    "published": "matches a published condition",
    "certain": "certain, the bytes say so",
    "likely": "likely",
    "guess": "a guess",
}
_LONGEST = 1500
_AT_ONCE = 3
"""Sentences of an answer that are not folded away."""


def digest_section(digest: Digest, answers: Sequence[Answer], links: PageLinks) -> Markup:
    """At most five lines, the cause first; where nothing is wrong, that, and what was looked at."""
    parts = []
    if digest.lines:
        parts.append(tag("ol", *(_line(line, answers, links) for line in digest.lines), class_="told"))
    if digest.more:
        parts.append(
            tag("p", f"{count_text(digest.more, 'further cause')}: see the findings.", class_="note")
        )
    if digest.looked_at:
        parts.append(tag("p", f"Looked at: {visible(digest.looked_at, _LONGEST)}.", class_="muted"))
    return joined(*parts)


def verdict(digest: Digest) -> Markup:
    """In one sentence how much is wrong, and how grave the gravest of it is."""
    causes = digest.causes
    if not causes:
        return tag("p", f"Nothing {'else ' if digest.lines else ''}wrong seen.", class_="fine verdict")
    counts = Counter(line.severity for line in causes)
    things = count_text(len(causes) + digest.more, "thing")
    if len(causes) + digest.more == 1:
        return tag("p", f"{things} is wrong, of {causes[0].severity} severity.", class_="verdict")
    shown = ", ".join(f"{counts[one]} {one}" for one in reversed(SEVERITIES) if counts[one])
    more = f", and {digest.more:,} more" if digest.more else ""
    return tag("p", f"{things} are wrong: {shown}{more}.", class_="verdict")


def flagged_hosts_of(digest: Digest | None) -> frozenset[str]:
    """The hosts that something of high severity comes from."""
    lines = () if digest is None else digest.causes
    return frozenset(line.who[0] for line in lines if line.severity == "high" and line.who)


def _line(line: DigestLine, answers: Sequence[Answer], links: PageLinks) -> Markup:
    question = None
    if line.question is not None and any(one.number == line.question for one in answers):
        question = tag("a", f"question {line.question}", href=f"#question-{line.question}")
    rule = None if line.rule is None else links.of_rule(line.rule, line.who)
    shown = joined(rule, " " if rule else None, question, " " if question else None)
    records = links.of_records(line.records)
    return tag(
        "li",
        tag("p", badge(line.severity), " ", visible(with_queue_names(line.text), _LONGEST), class_="lead"),
        tag("p", tag("strong", "What to do: "), visible(with_queue_names(line.action), _LONGEST))
        if line.action
        else None,
        tag(
            "p",
            f"Layer: {line.layer}. Confidence: {_SURE[line.confidence]}.",
            f" {line.where[0].upper()}{visible(line.where[1:], _LONGEST)}." if line.where else None,
            " ",
            tag("span", shown, records, class_="links") if shown or records else None,
            class_="muted",
        ),
        class_=line.severity,
    )


def answer_section(answers: Sequence[Answer], links: PageLinks) -> Markup:
    """The answers that somebody should look at, and folded behind them what else the capture poses."""
    posed = [answer for answer in answers if answer.posed]
    flagged = [answer for level in _FLAGGED for answer in posed if answer.attention == level]
    others = [answer for answer in posed if answer.attention not in _FLAGGED]
    parts = []
    if flagged:
        parts.append(tag("ul", *(_answer(answer, links) for answer in flagged), class_="told"))
    else:
        parts.append(tag("p", "No answer needs your attention."))
    if others:
        folded = tag("ul", *(_answer(answer, links) for answer in others), class_="told")
        summary = tag("summary", count_text(len(others), "other answer"))
        parts.append(tag("details", summary, tag("div", folded, class_="inside")))
    return joined(*parts)


def _answer(answer: Answer, links: PageLinks) -> Markup:
    statements = []
    for statement in answer.statements:
        records = links.of_records(statement.records)
        text = visible(with_queue_names(statement.text), _LONGEST)
        statements.append(tag("p", text, " " if records else None, records))
    if len(statements) > _AT_ONCE + 1:
        rest = statements[_AT_ONCE:]
        statements[_AT_ONCE:] = [tag("details", tag("summary", f"{len(rest)} more sentences"), *rest)]
    mark = joined(badge(answer.attention), " ") if answer.attention else None
    return tag(
        "li",
        tag("p", mark, f"{answer.number}. {answer.question}", class_="lead"),
        *statements,
        *(
            tag("p", f"Note: {visible(caveat.removesuffix('.'), _LONGEST)}.", class_="muted")
            for caveat in answer.caveats
        ),
        class_=answer.attention or "none",
        id=f"question-{answer.number}",
    )
