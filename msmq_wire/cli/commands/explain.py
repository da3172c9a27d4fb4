"""``msmq-wire explain``: what a rule looks for, what it means and what to do; what a document asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import typer

from msmq_wire.cli.completion import rule_ids
from msmq_wire.cli.options import Color, ColorOption, screen_for
from msmq_wire.cli.render.finding_table import SEVERITY_STYLES
from msmq_wire.cli.render.screen import Screen, Segment, fold
from msmq_wire.cli.render.table import Column, Table
from msmq_wire.cli.rule_names import rules_named, rules_that_name
from msmq_wire.findings import RULES
from msmq_wire.findings.rule import Rule

if TYPE_CHECKING:
    from msmq_wire.replay.rows import Row

__all__ = ["explain"]

_INDENT = 2
_WIDEST = 100
"""Columns of running text: longer lines are hard to read."""
_PIPE = 80
_NUMBER = re.compile(r"[cC]?[mM][sSqQ][a-zA-Z]*-[0-9.]+-[0-9]+")
"""How rows of the documents are numbered: hardly anybody asks for one, and they are read only then."""

Lines = Iterator[list[Segment]]


def explain(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...",
            help="Ids of rules, as FRM-SIG or MQRR-3.1.4.2-8, or what rules name: a CVE, MS05-017.",
            autocompletion=rule_ids,
            show_default=False,
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List every rule with its severity and title.")
    ] = False,
    color: ColorOption = Color.AUTO,
) -> None:
    """Explain rules of msmq-wire findings: what they look for, what it means, what to do.

    For a CVE, or a bulletin of Microsoft, come all rules that name it. For the number of a
    rule that a replay names comes what the document asks for.

    Exit status: 0 done; 2 no rule has that id or names that, or bad usage.

    Examples:

        msmq-wire explain --list

        msmq-wire explain FLG-AH-WIRE

        msmq-wire explain CVE-2023-21554

        msmq-wire explain MQRR-3.1.4.2-8
    """
    if list_ == bool(ids):
        raise typer.BadParameter("either ids of rules or --list")
    screen = screen_for(color)
    if list_:
        _list(screen)
        return
    width = min(screen.width or _PIPE, _WIDEST)
    rules: dict[str, Rule | Row] = {}
    references = []
    for text in ids or ():
        if _NUMBER.fullmatch(text.strip()):
            row = _row_numbered(text.strip().upper())
            rules[row.id] = row
            continue
        naming = rules_that_name(text)
        if naming:
            references.append(f"{text.strip().upper()}: {', '.join(rule.id for rule in naming)}")
        rules |= {rule.id: rule for rule in naming} or rules_named([text], "ID")
    for reference in references:
        for line in fold(reference, width):
            screen.line([(line, "")])
    for number, rule in enumerate(rules.values()):
        if number or references:
            screen.line([])
        for segments in _explained(rule, width) if isinstance(rule, Rule) else _row(rule, width):
            screen.line(segments)


def _row_numbered(number: str) -> Row:
    """Raises typer.BadParameter, which names the numbers that come close."""
    from msmq_wire.replay.rows import all_rows

    row = all_rows().get(number)
    if row is None:
        close = get_close_matches(number[:40], all_rows(), n=3, cutoff=0.5)
        near = f"; did you mean {' or '.join(close)}?" if close else ""
        raise typer.BadParameter(f"no rule has the number {number}{near}", param_hint="ID")
    return row


def _list(screen: Screen) -> None:
    columns = (
        Column("id", lambda row: row["id"], style="strong"),
        Column("severity", lambda row: row["severity"]),
        Column("title", lambda row: row["title"], smallest=20),
    )
    table = Table(screen, columns)
    for rule in RULES.values():
        table.add({"id": rule.id, "severity": rule.severity, "title": rule.title})
    table.finish()


def _explained(rule: Rule, width: int) -> Lines:
    yield [
        (rule.id, "title"),
        ("  ", ""),
        (rule.severity, SEVERITY_STYLES[rule.severity]),
        (f", {rule.confidence}", "dim"),
    ]
    yield from _paragraph("", rule.title + ".", width, "strong")
    yield from _paragraph("", rule.meaning, width)
    yield from _paragraph("What to do: ", rule.action, width)
    if rule.harmless:
        yield from _paragraph("Harmless explanations: ", rule.harmless, width)
    yield []
    yield from _paragraph("Sections: ", ", ".join(map(str, rule.spec)), width, blank=False)
    if rule.cves:
        yield from _paragraph("Published condition of: ", ", ".join(rule.cves), width, blank=False)
    if rule.event:
        yield from _paragraph("Windows event: ", rule.event, width, blank=False)
    yield from _paragraph("More: ", f"docs/findings/{rule.stem}.md", width, blank=False)


def _row(row: Row, width: int) -> Lines:
    from msmq_wire.replay.rows import REASONS

    yield [(row.id, "title"), ("  ", ""), (f"binds the {row.binds}", "dim")]
    yield from _paragraph("", f"{row.heading}.", width, "strong")
    yield from _paragraph("When: ", row.when, width)
    yield from _paragraph(f"The {row.binds}: ", row.does, width, blank=False)
    if row.reply != "-":
        yield from _paragraph("The reply: ", row.reply, width, blank=False)
    if row.checks:
        yield from _paragraph("A breach: ", "msmq-wire replay tells it.", width)
    elif row.reason:
        yield from _paragraph("A replay tells no breach: ", f"{REASONS[row.reason]}.", width)
    yield []
    yield from _paragraph("Section: ", str(row.spec), width, blank=False)
    if row.method is not None and row.method.role is not None:
        yield from _paragraph("Method: ", f"{row.method.name} ({row.method.role})", width, blank=False)
    yield from _paragraph("More: ", f"docs/spec-coverage/{row.part}.md", width, blank=False)


def _paragraph(label: str, text: str, width: int, style: str = "", *, blank: bool = True) -> Lines:
    if blank:
        yield []
    for number, line in enumerate(fold(label + text, width - _INDENT)):
        segments: list[Segment] = [(" " * _INDENT, "")]
        if label and number == 0:
            segments += [(label, "name"), (line.removeprefix(label), style)]
        else:
            segments.append((line, style))
        yield segments
