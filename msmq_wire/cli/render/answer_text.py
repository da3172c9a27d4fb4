"""Answers of a diagnosis as text: number and question, the sentences below, what is missing at the end.

The rule kept here: on a terminal lines are folded under their sentence, in a pipe every sentence is one line;
what calls for attention says so in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.cells import cell_len

from msmq_wire.cli.render.finding_table import SEVERITY_STYLES
from msmq_wire.cli.render.screen import Screen, Segment, fold
from msmq_wire.cli.render.table import table_of
from msmq_wire.findings.diagnosis import Answer
from msmq_wire.findings.diagnosis.inventory import INVENTORY_COLUMNS
from msmq_wire.findings.diagnosis.words import listed

__all__ = ["AnswerText", "plain_dots"]

_INDENT = "    "
_MOST_ROWS = 20
_LOOK = {"low": "look", "medium": "look here", "high": "look here first"}


def plain_dots(screen: Screen, text: str) -> str:
    """The text made safe; where the encoding has no ellipsis, three full stops."""
    return screen.safe(text if screen.unicode else text.replace("…", "..."))


class _Indented(Screen):
    """The part of a screen where the sentences stand."""

    def __init__(self, screen: Screen) -> None:
        self.__dict__.update(screen.__dict__)
        self.width = None if screen.width is None else screen.width - len(_INDENT)

    def lines(self, texts: Iterable[str]) -> None:
        super().lines(f"{_INDENT}{text}" for text in texts)


class AnswerText:
    """Prints answers."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._first = True

    def add(self, answer: Answer) -> None:
        """Print one answer."""
        if self.screen.width is not None and not self._first:
            self.screen.line([])
        self._first = False
        self._head(answer)
        style = "" if answer.posed else "dim"
        for statement in answer.statements:
            self._sentence(statement.text, style)
        self._table(answer.facts.get("rows", ()))
        for caveat in answer.caveats:
            self._sentence(f"But: {caveat[:1].upper()}{caveat[1:].removesuffix('.')}.", "dim")

    def _table(self, rows: list[dict[str, Any]]) -> None:
        """The first rows of what is in a migration."""
        table = table_of(INVENTORY_COLUMNS, _Indented(self.screen))
        for row in rows[:_MOST_ROWS]:
            table.add(row)
        table.finish()
        if rows and table.left_out:
            self._sentence(f"A wider screen shows {listed(table.left_out)}, too.", "dim")
        if len(rows) > _MOST_ROWS:
            rest = sum(row["messages"] for row in rows[_MOST_ROWS:])
            text = f"{len(rows) - _MOST_ROWS:,} more rows with {rest:,} messages: --format csv has all."
            self._sentence(text, "dim")

    def _head(self, answer: Answer) -> None:
        number: Segment = (f"{answer.number:>2}. ", "dim")
        mark: Segment = ("", "")
        if answer.attention is not None and answer.attention in _LOOK:
            mark = f"[{_LOOK[answer.attention]}: {answer.attention}]", SEVERITY_STYLES[answer.attention]
        width = self.screen.width
        if width is None or len(number[0] + answer.question + mark[0]) + 2 <= width:
            self.screen.line([number, (answer.question, "title"), ("  ", ""), mark])
            return
        for line in fold(answer.question, width - len(_INDENT)):
            self.screen.line([number, (line, "title")])
            number = (_INDENT, "")
        if mark[0]:
            self.screen.line([(_INDENT, ""), mark])

    def _sentence(self, text: str, style: str) -> None:
        safe = plain_dots(self.screen, text)
        width = self.screen.width
        if width is None or cell_len(safe) + len(_INDENT) <= width:
            self.screen.line([(_INDENT, ""), (safe, style)])
            return
        # What goes on below a sentence stands further in, so that each sentence is seen to begin.
        head, *_ = fold(safe, width - len(_INDENT))
        self.screen.line([(_INDENT, ""), (head, style)])
        rest = safe[len(head) :].lstrip()
        for line in fold(rest, width - len(_INDENT) - 2):
            self.screen.line([(f"{_INDENT}  ", ""), (line, style)])
