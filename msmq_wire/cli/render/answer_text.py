"""Answers of a diagnosis as text: number and question, the sentences below, what is missing at the end.

The rule kept here: on a terminal lines are folded under their sentence, in a pipe every sentence is one line;
what calls for attention says so in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len

from msmq_wire.cli.render.finding_table import SEVERITY_STYLES
from msmq_wire.cli.render.screen import Screen, fold
from msmq_wire.cli.render.table import table_of
from msmq_wire.detection.diagnosis import QUESTIONS, Answer, Digest, DigestLine
from msmq_wire.detection.diagnosis.digest_lines import ORDER, TITLE
from msmq_wire.detection.diagnosis.inventory import INVENTORY_COLUMNS
from msmq_wire.detection.diagnosis.phrases import listed
from msmq_wire.records.registered_queues import with_queue_names
from msmq_wire.records.tree.tree_screen import Segment

_INDENT = "    "
_MOST_ROWS = 20
_LOOK = {"low": "look", "medium": "look here", "high": "look here first"}


def plain_dots(screen: Screen, text: str) -> str:
    """The text made safe; where the encoding has no ellipsis, three full stops."""
    text = with_queue_names(text)
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

    def digest(self, digest: Digest) -> None:
        """Print what is wrong, before the answers."""
        self._first = False
        if not digest.causes:
            for line in digest.lines:
                self._folded(f"{line.text} {line.action}".rstrip(), "strong", ("", ""))
            self._folded(digest.nothing, "strong", ("", ""))
            return
        has_room = self.screen.width is None or len(TITLE + ORDER) <= self.screen.width
        self.screen.line([(TITLE, "title"), (ORDER if has_room else "", "dim")])
        for number, line in enumerate(digest.lines, 1):
            self._line(f"{number:>2}. ", line)
        self._folded(digest.more_text, "")
        self._folded(f"Looked at {digest.looked_at}.", "dim")

    def _line(self, number: str, line: DigestLine) -> None:
        begun: Segment = (number, "dim")
        mark = f"{line.mark} ", SEVERITY_STYLES[line.severity]
        if self.screen.width is None:
            self._folded(line.whole, "", begun, mark)
            return
        self._folded(line.text, "", begun, mark)
        self._folded(line.details, "spec")
        if line.action:
            self._folded(line.action, "", (_INDENT, ""), (self.screen.choose("→ ", "-> "), "name"))

    def more(self, answers: Sequence[Answer]) -> None:
        """Print how many answers there are, and how to read them."""
        flagged = sum(answer.flagged for answer in answers)
        text = f"More: {len(answers)} of {len(QUESTIONS)} questions answered"
        text += f", {flagged} {'needs' if flagged == 1 else 'need'} a look" if flagged else ""
        text += " (-v, --question N)."
        self._folded(text, "dim")

    def add(self, answer: Answer) -> None:
        """Print one answer."""
        if self.screen.width is not None and not self._first:
            self.screen.line([])
        self._first = False
        self._head(answer)
        style = "" if answer.posed else "dim"
        for statement in answer.statements:
            self._folded(statement.text, style)
        self._table(answer.facts.get("rows", ()))
        for caveat in answer.caveats:
            self._folded(f"But: {caveat[:1].upper()}{caveat[1:].removesuffix('.')}.", "dim")

    def _table(self, rows: list[dict[str, Any]]) -> None:
        """The first rows of what is in a migration."""
        table = table_of(INVENTORY_COLUMNS, _Indented(self.screen))
        for row in rows[:_MOST_ROWS]:
            table.add(row)
        table.finish()
        if rows and table.left_out:
            self._folded(f"A wider screen shows {listed(table.left_out)}, too.", "dim")
        if len(rows) > _MOST_ROWS:
            rest = sum(row["messages"] for row in rows[_MOST_ROWS:])
            text = f"{len(rows) - _MOST_ROWS:,} more rows with {rest:,} messages: --format csv has all."
            self._folded(text, "dim")

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

    def _folded(
        self, text: str, style: str, begun: Segment = (_INDENT, ""), mark: Segment = ("", "")
    ) -> None:
        """A text behind its mark; what goes on below stands further in, so that each is seen to begin."""
        if not text:
            return
        width = self.screen.width
        safe = mark[0] + plain_dots(self.screen, text)
        if width is None or cell_len(safe) + len(begun[0]) <= width:
            self.screen.line([begun, mark, (safe[len(mark[0]) :], style)])
            return
        head, *_ = fold(safe, width - len(begun[0]))
        self.screen.line([begun, mark, (head[len(mark[0]) :], style)])
        for line in fold(safe[len(head) :].lstrip(), width - len(begun[0]) - 2):
            self.screen.line([(f"{' ' * len(begun[0])}  ", ""), (line, style)])
