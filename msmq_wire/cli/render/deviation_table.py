"""Deviations of replies and sessions as text: one line each in a pipe, a short block each on a terminal.

The rule kept here: on a terminal sentences are folded, in a pipe every deviation is one line. What the rule
asks for stands before what was answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, tzinfo

from msmq_wire.cli.render.block import GAP, WHOLE_SECONDS, ends_text, folded, head
from msmq_wire.cli.render.finding_table import SEVERITY_STYLES, frames_text
from msmq_wire.cli.render.screen import Screen
from msmq_wire.detection import SEVERITIES, Severity
from msmq_wire.detection.conduct import CONDUCT
from msmq_wire.records.joined_capture import located
from msmq_wire.records.tree.srmp_nodes import shortened
from msmq_wire.records.tree.tree_screen import Segment
from msmq_wire.records.tree.value_text import timestamp_text
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind

_SEVERITY_WIDTH = max(map(len, SEVERITIES))
_KIND_WIDTH = max(map(len, (*ReplayKind, *CONDUCT)))


class DeviationTable:
    """Prints deviations. Zone None is local time.

    With ``several`` captures the name of each stands above its deviations, in a pipe before the frames.
    """

    def __init__(self, screen: Screen, zone: tzinfo | None = UTC, *, several: bool = False) -> None:
        self.screen = screen
        self._zone = zone
        self._several = several
        self._capture: str | None = None

    def add(self, one: ReplayDeviation, severity: Severity) -> None:
        """Print one deviation."""
        one = located(one)
        if self.screen.width is None:
            self.screen.line(self._line(one, severity))
            return
        if self._several and one.capture != self._capture:
            self._capture = one.capture
            self.screen.line([(self.screen.safe(one.capture), "title")])
        for segments in self._block(one, severity, self.screen.width):
            self.screen.line(segments)

    def _line(self, one: ReplayDeviation, severity: Severity) -> Iterator[Segment]:
        yield from self._head(one, severity)
        yield f"{self._time(one)}{GAP}", ""
        yield f"{self._ends(one)}{GAP}", ""
        place = frames_text(one.frames)
        if self._several:
            place = f"{self.screen.safe(one.capture)} {place}"
        yield f"{place}{GAP}", "dim"
        yield f"{_rule_text(one)}{GAP}", "spec"
        yield "; ".join(self.screen.safe(text) for text in self._sentences(one)), ""
        if one.queue:
            yield f"{GAP}{self.screen.safe(shortened(one.queue))}", "dim"

    def _block(self, one: ReplayDeviation, severity: Severity, width: int) -> Iterator[list[Segment]]:
        texts = (self._time(one)[:WHOLE_SECONDS], ""), (self._ends(one), "strong")
        yield from head(self.screen, width, self._head(one, severity), texts)
        for text in self._sentences(one):
            yield from folded(self.screen, width, text)
        if one.queue:
            yield from folded(self.screen, width, f"queue {shortened(one.queue)}", "dim")
        place = f"{frames_text(one.frames)} {one.path}".rstrip()
        yield from folded(self.screen, width, f"{_rule_text(one)}, {place}", "spec")

    def _head(self, one: ReplayDeviation, severity: Severity) -> Iterator[Segment]:
        yield f"{severity:<{_SEVERITY_WIDTH}}{GAP}", SEVERITY_STYLES[severity]
        yield f"{one.kind:<{_KIND_WIDTH}}{GAP}", "title"

    def _sentences(self, one: ReplayDeviation) -> Iterator[str]:
        yield one.message
        if one.expected:
            yield f"due: {one.expected}; came: {one.came}"
        if one.contradiction:
            where = f"docs/deviations.md, {one.contradiction}"
            yield f"but: likely only, the documents contradict each other ({where})"
        elif not one.certain:
            yield "but: likely only, something that was not captured may explain it"

    def _time(self, one: ReplayDeviation) -> str:
        return "" if one.time is None else timestamp_text(one.time, self._zone)

    def _ends(self, one: ReplayDeviation) -> str:
        return ends_text(self.screen, one.src, one.dst)


def _rule_text(one: ReplayDeviation) -> str:
    """The number of the rule and its section, once where the section is all that there is."""
    return f"{one.rule} {one.spec}" if one.rule.row else str(one.spec)
