"""Findings as text: one line each in a pipe, a short block each on a terminal.

The rule kept here: on a terminal messages are folded, in a pipe every finding is one line.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, tzinfo

from msmq_wire.cli.render.block import GAP, WHOLE_SECONDS, ends_text, folded, head
from msmq_wire.cli.render.screen import Screen, Segment
from msmq_wire.cli.render.values import timestamp_text
from msmq_wire.findings import SEVERITIES, Evidence, Finding, Severity

__all__ = ["SEVERITY_STYLES", "FindingTable", "frames_text"]

SEVERITY_STYLES: dict[Severity, str] = {"info": "dim", "low": "name", "medium": "warning", "high": "error"}
"""The style of each severity."""

_SEVERITY_WIDTH = max(map(len, SEVERITIES))
_ENDS_WIDTH = len("192.0.2.100:65535") * 2 + 3
_FRAMES = 5


class FindingTable:
    """Prints findings; ``id_width`` is that of the longest id, zone None is local time.

    With ``several`` captures the name of each stands above its findings, in a pipe before the frames.
    """

    def __init__(
        self, screen: Screen, id_width: int, zone: tzinfo | None = UTC, *, several: bool = False
    ) -> None:
        self.screen = screen
        self._several = several
        self._capture: str | None = None
        self._id_width = id_width
        self._zone = zone

    def add(self, finding: Finding) -> None:
        """Print one finding."""
        place = finding.evidence[0] if finding.evidence else Evidence()
        if self.screen.width is None:
            self.screen.line(self._line(finding, place))
            return
        if self._several and place.capture != self._capture:
            self._capture = place.capture
            self.screen.line([(self.screen.safe(place.capture), "title")])
        for segments in self._block(finding, place, self.screen.width):
            self.screen.line(segments)

    def _line(self, finding: Finding, place: Evidence) -> Iterator[Segment]:
        yield from self._head(finding)
        yield f"{self._time(place)}{GAP}", ""
        yield f"{self._ends(place):<{_ENDS_WIDTH}}{GAP}", ""
        capture = f"{self.screen.safe(place.capture)} " if self._several else ""
        yield f"{capture}{_where(place)}{GAP}", "dim"
        yield self.screen.safe(finding.message), ""
        for caveat in finding.caveats:
            yield f" (but: {self.screen.safe(caveat)})", "dim"

    def _block(self, finding: Finding, place: Evidence, width: int) -> Iterator[list[Segment]]:
        texts = (self._time(place)[:WHOLE_SECONDS], ""), (self._ends(place), "strong")
        yield from head(self.screen, width, self._head(finding), texts)
        yield from folded(self.screen, width, finding.message)
        for caveat in finding.caveats:
            yield from folded(self.screen, width, f"but: {caveat}", "dim")
        yield from folded(self.screen, width, _where(place), "spec")

    def _head(self, finding: Finding) -> Iterator[Segment]:
        yield f"{finding.severity:<{_SEVERITY_WIDTH}}{GAP}", SEVERITY_STYLES[finding.severity]
        yield f"{finding.id:<{self._id_width}}{GAP}", "title"

    def _time(self, place: Evidence) -> str:
        return "" if place.time is None else timestamp_text(place.time, self._zone)

    def _ends(self, place: Evidence) -> str:
        if place.src is None and place.dst is None:
            return ""
        return ends_text(self.screen, place.src, place.dst)


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
