"""A time axis: where a moment stands on a picture, and which times are written under it.

The rule kept here: stretches in which nothing happened may be cut short, and then the cut is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from msmq_wire.markup import Markup, joined, tag
from msmq_wire.report.wording import clock_text, duration_text
from msmq_wire.units import SECOND

_CUT = 22
"""Pixels of a stretch that is cut short."""
_MOST_CUTS = 8
_LABEL = 118
"""Pixels that a time under the axis needs."""
_CHARACTER, _APART = 6.8, 8
"""Pixels of a character of a time, and between two times."""
_DATED = 2 * 86_400 * SECOND
"""Nanoseconds of an axis whose times need a date."""
_STEPS: tuple[int, ...] = tuple(
    lead * unit
    for unit, leads in (
        *((10**power, (1, 2, 5)) for power in range(3, 9)),
        *((unit * SECOND, (1, 2, 5, 10, 15, 30)) for unit in (1, 60)),
        *(
            (3600 * SECOND, (1, 2, 3, 6, 12)),
            (86_400 * SECOND, (1, 2, 5, 10, 30, 100, 365, 1000, 3650, 36_500)),
        ),
    )
    for lead in leads
)


class _Part(NamedTuple):
    start: int
    end: int
    left: float
    right: float


class TimeAxis:
    """Times from ``left`` to ``right`` (pixels); ``busy`` are the stretches that matter (start, end)."""

    def __init__(self, busy: Iterable[tuple[int, int]], left: float, right: float) -> None:
        merged = _merged(busy)
        self.first, self.last = merged[0][0], merged[-1][1]
        self.span = self.last - self.first
        quiet = sorted(
            ((start - end, end, start) for (_, end), (start, _) in pairwise(merged)),
            reverse=True,
        )
        spans = self.span
        cuts: list[tuple[int, int]] = []
        for length, end, start in quiet[:_MOST_CUTS]:
            # Only where it gives the rest notably more room, and there is a rest.
            if spans // 3 < length < spans:
                cuts.append((end, start))
                spans -= length
        self.parts = _parts(self.first, self.last, sorted(cuts), max(spans, 1), left, right)

    def x(self, time: int) -> float:
        """Where a time stands, in pixels."""
        for part in self.parts:
            if time <= part.end or part is self.parts[-1]:
                length = max(part.end - part.start, 1)
                share = min(max((time - part.start) / length, 0.0), 1.0)
                return part.left + share * (part.right - part.left)
        return self.parts[-1].right

    def drawn(self, top: float, bottom: float) -> Markup:
        """Times below ``bottom`` with lines up to ``top``, and the cuts."""
        marks: list[Markup] = []
        taken = -1000.0
        ends = {"start": (0.0, 1.0), "middle": (0.5, 0.5), "end": (1.0, 0.0)}
        dated = self.span > _DATED
        for at, part in enumerate(self.parts):
            step = _step(part)
            for time in _round_times(part, step):
                x = self.x(time)
                last = x > self.parts[-1].right - _LABEL / 2 and x > self.parts[0].left + _LABEL / 2
                anchor = "end" if last else "start" if x < part.left + 1 else "middle"
                before, behind = ends[anchor]
                text = clock_text(time, step, dated=dated)
                width = _CHARACTER * len(text) + _APART
                if x - before * width < taken or (x > part.right - 1 and at < len(self.parts) - 1):
                    continue
                taken = x + behind * width
                marks += (
                    tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=top, y2=bottom, class_="grid"),
                    tag(
                        "text",
                        text,
                        x=f"{x:.1f}",
                        y=bottom + 16,
                        class_="tick",
                        text_anchor=anchor,
                    ),
                )
            if at < len(self.parts) - 1:
                after = self.parts[at + 1]
                marks.append(
                    tag(
                        "rect",
                        tag("title", f"nothing for {duration_text(after.start - part.end)}"),
                        x=f"{part.right + 4:.1f}",
                        y=top,
                        width=_CUT - 8,
                        height=bottom - top,
                        class_="cut",
                    )
                )
        return joined(*marks)


def _step(part: _Part) -> int:
    """The shortest round time that gives every label its room."""
    needed = (part.end - part.start) * _LABEL / max(part.right - part.left, 1.0)
    return next((one for one in _STEPS if one >= needed), _STEPS[-1])


def _round_times(part: _Part, step: int) -> Iterable[int]:
    """The multiples of a step in a part; its start where there is none."""
    first = -(-part.start // step) * step
    return range(first, part.end + 1, step) if first <= part.end else (part.start,)


def _merged(busy: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(busy):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged or [(0, 0)]


def _parts(
    first: int, last: int, cuts: list[tuple[int, int]], spans: int, left: float, right: float
) -> list[_Part]:
    scale = (right - left - _CUT * len(cuts)) / spans
    parts = []
    start, at = first, left
    for end, following in [*cuts, (last, last)]:
        to = at + (end - start) * scale
        parts.append(_Part(start, end, at, to))
        start, at = following, to + _CUT
    return parts
