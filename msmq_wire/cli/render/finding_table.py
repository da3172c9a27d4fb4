"""Findings as text: one line each in a pipe, a short block each on a terminal.

The rule kept here: on a terminal messages are folded, in a pipe every finding is one line.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, tzinfo

from rich.cells import cell_len

from msmq_wire.cli.render.screen import Screen, Segment, fold
from msmq_wire.cli.render.values import timestamp_text
from msmq_wire.findings import SEVERITIES, Evidence, Finding, Severity

__all__ = ["SEVERITY_STYLES", "FindingTable", "frames_text"]

SEVERITY_STYLES: dict[Severity, str] = {"info": "dim", "low": "name", "medium": "warning", "high": "error"}
"""The style of each severity."""

_GAP = "  "
_INDENT = 8
_SEVERITY_WIDTH = max(map(len, SEVERITIES))
_ENDS_WIDTH = len("192.0.2.100:65535") * 2 + 3
_WHOLE_SECONDS = 19
_FRAMES = 5
_LONGEST = 2000
"""Cells of a message on a terminal; folding more than that only takes time."""


class FindingTable:
    """Prints findings; ``id_width`` is that of the longest id, zone None is local time."""

    def __init__(self, screen: Screen, id_width: int, zone: tzinfo | None = UTC) -> None:
        self.screen = screen
        self._id_width = id_width
        self._zone = zone

    def add(self, finding: Finding) -> None:
        """Print one finding."""
        place = finding.evidence[0] if finding.evidence else Evidence()
        if self.screen.width is None:
            self.screen.line(self._line(finding, place))
            return
        for segments in self._block(finding, place, self.screen.width):
            self.screen.line(segments)

    def _line(self, finding: Finding, place: Evidence) -> Iterator[Segment]:
        yield from self._head(finding)
        yield f"{self._time(place)}{_GAP}", ""
        yield f"{self._ends(place):<{_ENDS_WIDTH}}{_GAP}", ""
        yield f"{_where(place)}{_GAP}", "dim"
        yield self.screen.safe(finding.message), ""
        for caveat in finding.caveats:
            yield f" (but: {self.screen.safe(caveat)})", "dim"

    def _block(self, finding: Finding, place: Evidence, width: int) -> Iterator[list[Segment]]:
        head = list(self._head(finding))
        below = []
        for text, style in ((self._time(place)[:_WHOLE_SECONDS], ""), (self._ends(place), "strong")):
            # What does not fit beside the id stands below it.
            if sum(cell_len(shown) for shown, _ in head) + cell_len(text) <= width:
                head += [(text, style), (_GAP, "")]
            else:
                below.append((text, style))
        yield head
        for text, style in below:
            yield from self._folded(text, width, style)
        yield from self._folded(finding.message, width, "")
        for caveat in finding.caveats:
            yield from self._folded(f"but: {caveat}", width, "dim")
        yield from self._folded(_where(place), width, "spec")

    def _head(self, finding: Finding) -> Iterator[Segment]:
        yield f"{finding.severity:<{_SEVERITY_WIDTH}}{_GAP}", SEVERITY_STYLES[finding.severity]
        yield f"{finding.id:<{self._id_width}}{_GAP}", "title"

    def _folded(self, text: str, width: int, style: str) -> Iterator[list[Segment]]:
        safe = self.screen.safe(text)
        if cell_len(safe) > _LONGEST:
            safe = safe[: _LONGEST // 2] + self.screen.choose("…", "~")
        if safe:
            yield from ([(" " * _INDENT, ""), (line, style)] for line in fold(safe, width - _INDENT))

    def _time(self, place: Evidence) -> str:
        return "" if place.time is None else timestamp_text(place.time, self._zone)

    def _ends(self, place: Evidence) -> str:
        if place.src is None and place.dst is None:
            return ""
        arrow = self.screen.choose("→", "->")
        return self.screen.safe(f"{place.src or '?'} {arrow} {place.dst or '?'}")


def _where(place: Evidence) -> str:
    """The frames and the field."""
    return " ".join(part for part in (frames_text(place.frames), place.path) if part)


def frames_text(frames: tuple[int, ...]) -> str:
    """``frame 11``, ``frames 11, 12``, and how many others there are; empty without any."""
    if not frames:
        return ""
    numbers = ", ".join(map(str, frames[:_FRAMES]))
    others = f" and {len(frames) - _FRAMES} more" if len(frames) > _FRAMES else ""
    return f"{'frame' if len(frames) == 1 else 'frames'} {numbers}{others}"
