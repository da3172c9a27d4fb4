"""``msmq-wire explain``: explains a rule, the public facts of a CVE, or the requirements of a document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import typer

from msmq_wire.cli.completion import explainable
from msmq_wire.cli.options import Color, ColorOption, screen_for
from msmq_wire.cli.render.finding_table import SEVERITY_STYLES
from msmq_wire.cli.render.screen import Screen, fold
from msmq_wire.cli.render.table import Table
from msmq_wire.cli.rule_names import rules_named
from msmq_wire.detection import RULES
from msmq_wire.detection.named_rules import rules_that_name
from msmq_wire.detection.rule import Rule
from msmq_wire.detection.vulnerabilities import REFERENCES
from msmq_wire.records.display import Display
from msmq_wire.records.tree.tree_screen import Segment
from msmq_wire.records.tree.value_text import count_text

if TYPE_CHECKING:
    from msmq_wire.replay.rule_table import RuleRow

_INDENT = 2
_WIDEST = 100
"""Columns of running text: longer lines are hard to read."""
_PIPE = 80
_NUMBER = re.compile(r"[cC]?[mM][sSqQ][a-zA-Z]*-[0-9.]+-[0-9]+")
"""How rows of the documents are numbered: hardly anybody asks for one, and they are read only then."""
_SECTION = re.compile(r"[cC]?[mM][sSqQ][a-zA-Z]*(?:-[0-9.]+)?")
"""A document, or a section of one."""

Lines = Iterator[list[Segment]]


def explain(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...",
            help="Ids of rules, as FRM-SIG or MQRR-3.1.4.2-8; a CVE, MS05-017; a section, as MQRR-3.1.4.2.",
            autocompletion=explainable,
            show_default=False,
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List all that can be explained, as without any ID.")
    ] = False,
    color: ColorOption = Color.AUTO,
) -> None:
    """Explain a finding: what it means and what to do.

    For a CVE, or a bulletin of Microsoft, comes what is public about it, and all rules that name it. For the
    number of a rule that a replay names comes what the document asks for, for a section the rules in it.
    Without any ID everything is listed.

    Exit status: 0 done; 2 no rule has that id or names that, or bad usage.

    Examples:

        msmq-wire explain --list

        msmq-wire explain FLG-AH-WIRE

        msmq-wire explain CVE-2023-21554

        msmq-wire explain MQRR-3.1.4.2-8
    """
    if list_ and ids:
        raise typer.BadParameter("either ids of rules or --list")
    screen = screen_for(color)
    if not ids:
        _list(screen)
        return
    width = min(screen.width or _PIPE, _WIDEST)
    rules: dict[str, Rule | RuleRow] = {}
    blocks: list[Lines] = []
    for text in ids:
        name = text.strip().upper()
        naming = rules_that_name(text)
        if _NUMBER.fullmatch(name):
            row = _row_numbered(name)
            rules[row.id] = row
        elif naming or name in REFERENCES:
            blocks.append(_reference(name, naming, width))
            rules |= {rule.id: rule for rule in naming}
        elif _SECTION.fullmatch(name) and (found := _rows_of(name)):
            blocks.append(_section(found, width))
        else:
            rules |= rules_named([text], "ID", also=REFERENCES)
    blocks += [
        _explained(rule, width) if isinstance(rule, Rule) else _row(rule, width) for rule in rules.values()
    ]
    for number, block in enumerate(blocks):
        if number:
            screen.line([])
        for segments in block:
            screen.line(segments)


def _reference(name: str, naming: list[Rule], width: int) -> Lines:
    said = _naming(naming) or "no rule names it"
    for line in fold(f"{name}: {said}", width):
        yield [(line, "")]
    known = REFERENCES.get(name)
    if known is not None:
        yield from _paragraph("", f"{known.title}.", width, "strong")
        yield from _paragraph("What is public: ", known.public, width)
        yield from _paragraph("What to do: ", known.action, width)


def _rows_of(section: str) -> list[RuleRow]:
    """The rows of a section, or of a document."""
    from msmq_wire.replay.rule_table import all_rows

    return [
        row for id_, row in all_rows().items() if section in (id_.partition("-")[0], id_.rpartition("-")[0])
    ]


def _section(rows: list[RuleRow], width: int) -> Lines:
    """Rows by their headings, with who is bound and when."""
    sections: dict[str, list[RuleRow]] = {}
    for row in rows:
        sections.setdefault(row.id.rpartition("-")[0], []).append(row)
    for number, (section, some) in enumerate(sections.items()):
        if len(sections) > 1:
            # Of a whole document what it has.
            text = f"{section}  {count_text(len(some), 'rule')}  {some[0].heading}"
            yield from ([(line, "")] for line in fold(text, width))
            continue
        if not number:
            yield [(section, "title"), (f"  {some[0].heading}", "")]
        for row in some:
            yield from _paragraph(
                f"{row.id}: ", f"{row.when}: the {row.binds} {row.does}", width, blank=False
            )


def _row_numbered(number: str) -> RuleRow:
    """Raises typer.BadParameter, which names the numbers that come close."""
    from msmq_wire.replay.rule_table import all_rows

    row = all_rows().get(number)
    if row is None:
        close = get_close_matches(number[:40], all_rows(), n=3, cutoff=0.5)
        near = f"; did you mean {' or '.join(close)}?" if close else ""
        raise typer.BadParameter(f"no rule has the number {number}{near}", param_hint="ID")
    return row


def _list(screen: Screen) -> None:
    """All that can be explained, a table for each kind."""
    from msmq_wire.replay.rule_table import PARTS, all_rows

    _table(screen, ("id", "severity", "title"), ((one.id, one.severity, one.title) for one in RULES.values()))
    screen.line([])
    named = [(name, _naming(rules_that_name(name)), known.title) for name, known in REFERENCES.items()]
    _table(screen, ("vulnerability", "rules", "title"), named)
    screen.line([])
    counts = Counter((id_.partition("-")[0], row.part) for id_, row in all_rows().items())
    parts = [(document, number, PARTS[part]) for (document, part), number in counts.items()]
    _table(screen, ("document", "rules", "about"), parts)


def _table(screen: Screen, heads: tuple[str, str, str], rows: Iterable[tuple[object, ...]]) -> None:
    first, second, third = heads
    table = Table(screen, (Display(first, style="strong"), Display(second), Display(third, smallest=20)))
    for row in rows:
        table.add(dict(zip(heads, row, strict=True)))
    table.finish()


def _naming(rules: list[Rule]) -> str:
    return ", ".join(rule.id for rule in rules)


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


def _row(row: RuleRow, width: int) -> Lines:
    from msmq_wire.replay.rule_table import FOUND, REASONS

    yield [(row.id, "title"), ("  ", ""), (f"binds the {row.binds}", "dim")]
    yield from _paragraph("", f"{row.heading}.", width, "strong")
    yield from _paragraph("When: ", row.when, width)
    yield from _paragraph(f"The {row.binds}: ", row.does, width, blank=False)
    if row.reply != "-":
        yield from _paragraph("The reply: ", row.reply, width, blank=False)
    found = row.part in FOUND
    if row.checks and found:
        yield from _paragraph("A breach: ", f"told by {', '.join(row.checks)}.", width)
    elif row.checks:
        yield from _paragraph("A breach: ", "msmq-wire replay tells it.", width)
    elif row.reason:
        teller = "No finding tells a breach" if found else "A replay tells no breach"
        yield from _paragraph(f"{teller}: ", f"{REASONS[row.reason]}.", width)
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
