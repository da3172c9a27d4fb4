"""Steps of a message as a list, steps of a session as a sequence diagram in ASCII.

The rule kept here: a diagram fits the width of the terminal, at least 60 and at most 110 columns; what does
not fit in its arrow goes on below.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo

from rich.cells import cell_len

from msmq_wire.cli.render.answer_text import plain_dots
from msmq_wire.cli.render.screen import Screen, fold
from msmq_wire.detection.diagnosis.phrases import Phrases
from msmq_wire.detection.diagnosis.timeline import TimelineStep, located, since_text, step_texts
from msmq_wire.records.seen_at import unseen_text
from msmq_wire.records.tree.srmp_nodes import shortened
from msmq_wire.records.tree.value_text import timestamp_text
from msmq_wire.sessions import Moment
from msmq_wire.units import SECOND

_PIPE_WIDTH = 100
_LEAST, _WIDEST = 60, 110
_LEFT = 18
"""Cells of time and frame before the diagram."""


class StepText:
    """Prints steps; times are relative to the first one. ``zone`` None is local time.

    Of several files, as ``words`` have them, each is named above its steps, with the frames that it has.
    """

    def __init__(self, screen: Screen, zone: tzinfo | None = UTC, words: Phrases | None = None) -> None:
        self.screen = screen
        self._zone = zone
        self._words = words or Phrases()
        self._day = ""

    def line(self, text: str, style: str = "", hang: int = 0) -> None:
        """Print a line of text, folded where it must be; what goes on below is indented by ``hang``."""
        safe = plain_dots(self.screen, text)
        if not self.screen.width or cell_len(safe) <= self.screen.width:
            self.screen.line([(safe, style)])
            return
        for place, piece in enumerate(fold(safe, self.screen.width - hang)):
            self.screen.line([(" " * hang if place else "", ""), (piece, style)])

    def heading(self, moment: Moment, above: str) -> str:
        """Name the file of a moment unless it is the one ``above``; give its name."""
        file = self._words.file(moment)
        if file != above:
            self.line(f"in {file}:", "dim")
        return file

    def steps(self, steps: Sequence[TimelineStep]) -> None:
        """One step a line: absolute time, time since the first, frame, what, who."""
        start = next((step.at.time for step in steps if step.at.time is not None), None)
        what = max((cell_len(step.what) for step in steps), default=0)
        file = ""
        for step in steps:
            file = file if step.put is not None else self.heading(step.at, file)
            self.step(step, start, what)

    def step(self, step: TimelineStep, start: int | None, what: int) -> None:
        """One step, ``start`` the time of the first; ``what`` happened has so many cells at least."""
        texts = step_texts(step, step.at.time, self._number(step), start, self._zone, self._to)
        clock = texts.clock if self._is_wide else texts.clock[11:26].rstrip("Z")
        text = f"{plain_dots(self.screen, texts.what):<{what}}"
        rest = plain_dots(self.screen, texts.rest)
        self._hung(f"{clock}  {texts.place}  ", text, f"  {rest}" if rest else "")

    def item(self, step: TimelineStep, start: int | None, what: int) -> None:
        """A step of a whole capture: as `step`, but where room is short the day is above and who is below."""
        if self._is_wide:
            self.step(step, start, what)
            return
        clock = "" if step.at.time is None else timestamp_text(step.at.time, self._zone)
        if clock and clock[:10] != self._day:
            self._day = clock[:10]
            self.line(self._day, "dim")
        head = f"{clock[11:26].rstrip('Z'):<15}  {self._frame(step)}  "
        ends = f"{step.src} {self._to} {step.dst}" if step.src or step.dst else ""
        event = plain_dots(self.screen, f"{step.what}  {shortened(step.detail)}".rstrip())
        width = (self.screen.width or _PIPE_WIDTH) - len(head)
        first, *more = fold(event, width)
        self.screen.line([(head, "dim"), (first, "strong")])
        for text in filter(None, (*more, ends, unseen_text(step.seen_at))):
            for piece in fold(plain_dots(self.screen, text), width):
                self.screen.line([(" " * len(head), ""), (piece, "")])

    @property
    def _is_wide(self) -> bool:
        return self.screen.width is None or self.screen.width >= 110

    @property
    def _to(self) -> str:
        return self.screen.choose("→", "->")

    def _hung(self, head: str, what: str, rest: str) -> None:
        width = self.screen.width
        if width is None or cell_len(head + what + rest) <= width:
            self.screen.line([(head, "dim"), (what, "strong"), (rest, "")])
            return
        self.screen.line([(head, "dim"), (what, "strong")])
        indent = " " * min(len(head), width // 3)
        for piece in fold(self.screen.safe(rest.strip()), width - len(indent)):
            self.screen.line([(indent, ""), (piece, "")])

    def _number(self, step: TimelineStep) -> int | None:
        return located(step, self._words)[1]

    def _frame(self, step: TimelineStep) -> str:
        frame = self._number(step)
        return f"{'' if frame is None else frame:>7}"

    def diagram(self, steps: Sequence[TimelineStep], client: str, server: str) -> None:
        """Client on the left, server on the right, an arrow for each step."""
        width = min(max(self.screen.width or _PIPE_WIDTH, _LEAST), _WIDEST)
        lane = width - _LEFT - 2
        start = next((step.at.time for step in steps if step.at.time is not None), None)
        names = self.screen.safe(client), self.screen.safe(server)
        space = max(lane + 2 - cell_len(names[0]) - cell_len(names[1]), 2)
        head = f"{'seconds':>9} {'frame':>7} "
        self.screen.line([(head, "dim"), (f"{names[0]}{' ' * space}{names[1]}", "strong")])
        before: int | None = None
        file = ""
        for step in steps:
            if before is not None and step.at.time is not None and step.at.time - before >= SECOND:
                wait = f"... {(step.at.time - before) / SECOND:,.1f} s ..."
                self.screen.line([(f"{'':{_LEFT}}|{wait:^{lane}}|", "dim")])
            if self._words.file(step.at) != file:
                file = self._words.file(step.at)
                for piece in fold(self.screen.safe(f"in {file}"), lane - 2):
                    blank = " " * (lane - cell_len(piece) - 1)
                    self.screen.line([(f"{'':{_LEFT}}| {piece}{blank}|", "dim")])
            before = step.at.time if step.at.time is not None else before
            self._arrow(step, step.src != server, lane, start)

    def _arrow(self, step: TimelineStep, rightward: bool, lane: int, start: int | None) -> None:
        room = lane - 8
        parts = (step.what, shortened(step.detail), unseen_text(step.seen_at))
        text = plain_dots(self.screen, "  ".join(part for part in parts if part))
        first, *others = fold(text, room)
        dashes = lane - cell_len(first) - 5
        line = "-" * dashes
        arrow = f"|-- {first} {line}>|" if rightward else f"|<{line} {first} --|"
        self.screen.line([(f"{since_text(step.at.time, start)} {self._frame(step)} ", "dim"), (arrow, "")])
        for other in others:
            space = lane - cell_len(other) - 4
            line = f"|    {other}{' ' * space}|" if rightward else f"|{' ' * space}{other}    |"
            self.screen.line([(" " * _LEFT, ""), (line, "")])
