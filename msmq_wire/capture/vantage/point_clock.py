"""How far the clock of a point is from that of the first one: `estimate_clock`.

The rule kept here: a segment is captured later where it arrives than where it comes from. So each segment
that travels one way says that the clock is at least so far behind, each that travels the other way that it is
at most so far behind, and what lies between them is not known: that is the uncertainty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.units import SECOND

_STEEPEST = 1000e-6
"""Seconds that a clock may gain or lose in a second, whatever is wrong with it."""
_MOST = 250e-6
"""Seconds that a clock of a computer gains or loses in a second, at most; usual are 20 µs."""
_BLOCKS, _PARTS = 8, 32
_ENOUGH = 48
"""Segments that say how much the shortest time of travel changes from one part of the capture to the next."""
_STEPS = 60
_OUTLIERS = 20
"""One segment of so many may contradict the others: a retransmission whose first copy one place lost."""


class ClockEstimate(NamedTuple):
    """What to add to times of a point: see `VantagePoint`.

    ``contradiction`` is the ns by which segments arrive before they are sent, by the best estimate there is.
    """

    offset: int
    drift: int
    at: int
    uncertainty: int | None
    contradiction: int = 0

    def after(self, other: ClockEstimate) -> ClockEstimate:
        """The estimate relative to the first point; this one is relative to the point of ``other``."""
        here = self.at + self.offset
        offset = self.offset + other.offset + round(other.drift * (here - other.at) / SECOND)
        unknown = self.uncertainty is None or other.uncertainty is None
        uncertainty = None if unknown else (self.uncertainty or 0) + (other.uncertainty or 0)
        return ClockEstimate(offset, self.drift + other.drift, self.at, uncertainty)

    def reversed(self) -> ClockEstimate:
        """The estimate of the other point, relative to this one."""
        return ClockEstimate(-self.offset, -self.drift, self.at + self.offset, self.uncertainty)


def estimate_clock(
    time: Array, ahead: Array, towards: Array, ticks: tuple[int, int] = (1, 1)
) -> ClockEstimate:
    """Estimate offset and drift of a clock from segments that two points captured.

    ``time`` (int64, ns) is when a segment was captured at the point, ``ahead`` by how much the time that the
    first point gave it is greater. ``towards`` says which way it travelled: -1 passed the first point first,
    1 passed the other point first, 0 unknown. ``ticks`` are the resolutions of both clocks in ns, that of the
    first point first. There must be a segment.
    """
    at = int(time.min()) + (int(time.max()) - int(time.min())) // 2
    base = int(np.median(ahead))
    seconds = (time - at) / SECOND
    values = (ahead - base).astype(np.float64)
    first, later = towards < 0, towards > 0
    if not first.any() or not later.any():
        return _one_way(seconds, values, base, at)
    lower = _Envelope(seconds[first], values[first] - ticks[1], highest=True)
    upper = _Envelope(seconds[later], values[later] + ticks[0], highest=False)
    lower, upper = _without_outliers(lower, upper)

    def gap(slope: float) -> float:
        return upper.edge(slope) - lower.edge(slope)

    best = _highest(gap, _MOST)
    slope = round(best) if _told(gap, best, lower, upper) else 0
    middle = (upper.edge(slope) + lower.edge(slope)) / 2
    uncertainty = abs(gap(slope)) / 2
    coarse = max(ticks) > uncertainty
    half, few = float(np.ptp(seconds)) / 2, min(len(lower.values), len(upper.values)) < _ENOUGH
    other = [best]
    if coarse or (few and 2 * half * _MOST * SECOND > uncertainty):
        other = _possible(gap, best)
    for possible in other if gap(best) >= 0 else ():
        tilt = abs(possible - slope) * half
        high, low = upper.edge(possible) - middle, middle - lower.edge(possible)
        uncertainty = max(uncertainty, high + tilt, low + tilt)
    # Times may have been rounded to the nearest, not down.
    uncertainty += max(ticks) / 2 if coarse else 0
    contradiction = max(round(-gap(slope)), 0)
    return ClockEstimate(base + round(middle), slope, at, round(uncertainty), contradiction)


class _Envelope:
    """The edge of points, in ns over seconds: the highest ones or the lowest ones."""

    def __init__(self, seconds: Array, values: Array, *, highest: bool) -> None:
        self.seconds = seconds
        self.values = values
        self.highest = highest
        self.spread = float(seconds.max() - seconds.min())

    @cached_property
    def _hull(self) -> tuple[Array, Array]:
        return _hull(self.seconds, self.values if self.highest else -self.values)

    def edge(self, slope: float) -> float:
        """The outermost value where the line of ``slope`` through the middle of the time is 0."""
        x, y = self._hull
        return float((y - x * slope).max()) if self.highest else -float((y + x * slope).max())

    def select(self, rows: Array) -> _Envelope:
        return _Envelope(self.seconds[rows], self.values[rows], highest=self.highest)

    def noise(self, slope: float) -> float:
        """By how much the edge of a part of the time differs from the edge of all."""
        rest = self.values - slope * self.seconds
        rest = rest if self.highest else -rest
        order = np.argsort(self.seconds)
        blocks = np.array_split(rest[order], _BLOCKS)
        edges = np.array([block.max() for block in blocks if len(block)])
        return float(edges.max() - np.median(edges))


def _hull(seconds: Array, values: Array) -> tuple[Array, Array]:
    """The upper hull of points."""
    order = np.lexsort((values, seconds))
    hull: list[tuple[float, float]] = []
    for point in zip(seconds[order].tolist(), values[order].tolist(), strict=True):
        while len(hull) > 1 and _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return np.array([x for x, _ in hull]), np.array([y for _, y in hull])


def _turns_left(one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]) -> bool:
    return (two[0] - one[0]) * (three[1] - one[1]) >= (two[1] - one[1]) * (three[0] - one[0])


def _highest(gap: Callable[[float], float], limit: float) -> float:
    """The slope (ns a second), up to ``limit`` seconds a second, at which a concave function is highest."""
    low, high = -limit * SECOND, limit * SECOND
    for _ in range(_STEPS):
        third = (high - low) / 3
        if gap(low + third) < gap(high - third):
            low += third
        else:
            high -= third
    return (low + high) / 2


def _possible(gap: Callable[[float], float], best: float) -> list[float]:
    """Slopes that contradict nothing, as clocks have them, from the least to the greatest."""
    ends: list[float] = []
    for limit in (-_MOST * SECOND, _MOST * SECOND):
        good, bad = best, limit
        for _ in range(_STEPS // 2):
            middle = (good + bad) / 2
            good, bad = (middle, bad) if gap(middle) >= 0 else (good, middle)
        ends.append(good)
    found: list[float] = np.linspace(ends[0], ends[1], 33).tolist()
    return found


def _told(gap: Callable[[float], float], slope: float, lower: _Envelope, upper: _Envelope) -> bool:
    """Whether the drift differs from 0 by more than chance."""
    without = gap(0.0)
    if without < 0:
        # Where no drift explains all, one has to explain most.
        return gap(slope) * 2 > without
    if min(len(lower.values), len(upper.values)) < _ENOUGH:
        return False
    return gap(slope) - without > 3 * max(lower.noise(slope), upper.noise(slope))


def _without_outliers(lower: _Envelope, upper: _Envelope) -> tuple[_Envelope, _Envelope]:
    """Both without the few segments that contradict most of the others."""
    slope = rough_slope((lower.seconds, lower.values), (upper.seconds, upper.values))
    below, above = lower.values - slope * lower.seconds, upper.values - slope * upper.seconds
    apart = float(np.median(above) - np.median(below))
    middle = float(np.median(above) + np.median(below)) / 2
    limit = max(apart, 0.0) * 1.5
    good_below, good_above = below <= middle + limit, above >= middle - limit
    if (~good_below).sum() * _OUTLIERS <= len(below) and not good_below.all():
        lower = lower.select(good_below)
    if (~good_above).sum() * _OUTLIERS <= len(above) and not good_above.all():
        upper = upper.select(good_above)
    return lower, upper


def rough_slope(*groups: tuple[Array, Array]) -> float:
    """The median slope (ns a second) of points, each group seconds and ns, whatever some of them say.

    It comes from the medians of parts of the time.
    """
    slopes: list[float] = []
    for seconds, values in groups:
        parts = [part for part in np.array_split(np.argsort(seconds), _PARTS) if len(part)]
        x = np.array([np.median(seconds[part]) for part in parts])
        y = np.array([np.median(values[part]) for part in parts])
        run = x[:, None] - x[None, :]
        far = run > max(float(np.ptp(seconds)) / 4, 1e-6)
        slopes += ((y[:, None] - y[None, :])[far] / run[far]).tolist()
    limit = _STEEPEST * SECOND
    return float(np.clip(np.median(slopes), -limit, limit)) if slopes else 0.0


def _one_way(seconds: Array, values: Array, base: int, at: int) -> ClockEstimate:
    """The edge of the only direction there is: the one where the values are dense, the other has a tail."""
    both = [_Envelope(seconds, values, highest=highest) for highest in (True, False)]
    slope = rough_slope((seconds, values)) if len(values) >= _ENOUGH else 0.0
    rest = values - slope * seconds
    highest = float(rest.max() - np.median(rest)) < float(np.median(rest) - rest.min())
    edge = both[0] if highest else both[1]
    if len(values) >= _ENOUGH:
        slope = _tangent(edge)
        if abs(slope) * edge.spread / 2 <= 3 * edge.noise(slope):
            slope = 0.0
    slope = round(slope)
    return ClockEstimate(base + round(edge.edge(slope)), slope, at, None)


def _tangent(edge: _Envelope) -> float:
    """The slope of the line that touches the points, and has them near it on the whole."""
    mean = float(edge.seconds.mean())
    sign = 1 if edge.highest else -1

    def height(slope: float) -> float:
        # The line through the edge, where most points are.
        return -sign * (edge.edge(slope) + slope * mean)

    return _highest(height, _STEEPEST)
