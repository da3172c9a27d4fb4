"""Many times and durations in little space: counts in buckets that grow with the span.

The rule kept here: counts are exact, memory is bounded whatever the times are.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msmq_wire.units import MILLISECOND

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_WIDTHS = tuple(
    milliseconds * MILLISECOND
    for milliseconds in (
        *(1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000),
        *(3_600_000, 21_600_000, 86_400_000, 864_000_000, 8_640_000_000, 86_400_000_000, 864_000_000_000),
    )
)
"""Nanoseconds; each divides the next one, so buckets merge without loss."""
_FEW = 12
"""Times that are counted sooner one by one."""
_LONGEST = 1 << 63
_SHORTEST = 10_000


class TimeBuckets:
    """Counts by time, in at most ``most`` buckets of equal ``width`` (nanoseconds)."""

    def __init__(self, most: int = 240) -> None:
        self._most = most
        self._step = 0
        self._low = self._high = 0
        self.counts: dict[int, int] = {}
        self.total = 0

    @property
    def width(self) -> int:
        """The width of a bucket; the key of one times this is when it begins."""
        return _WIDTHS[self._step]

    def add(self, time: int, count: int = 1) -> None:
        """Count something at a time (nanoseconds since 1970)."""
        self._reach(time, time)
        key = time // _WIDTHS[self._step]
        self.counts[key] = self.counts.get(key, 0) + count
        self.total += count

    def add_all(self, times: Array) -> None:
        """Count something at each of these times, an array of at least one."""
        self._reach(int(times.min()), int(times.max()))
        if len(times) < _FEW:
            for time in times.tolist():
                self.add(time)
            return
        import numpy as np

        keys, counts = np.unique(times // _WIDTHS[self._step], return_counts=True)
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            self.counts[key] = self.counts.get(key, 0) + count
        self.total += len(times)

    def _reach(self, first: int, last: int) -> None:
        low, high = first // _WIDTHS[self._step], last // _WIDTHS[self._step]
        if self.counts:
            if self._low <= low and high <= self._high:
                return
            low, high = min(self._low, low), max(self._high, high)
        self._low, self._high = low, high
        while self._high - self._low >= self._most and self._step < len(_WIDTHS) - 1:
            self._widen()

    def _widen(self) -> None:
        factor = _WIDTHS[self._step + 1] // _WIDTHS[self._step]
        self._step += 1
        merged: dict[int, int] = {}
        for key, count in self.counts.items():
            merged[key // factor] = merged.get(key // factor, 0) + count
        self.counts = merged
        self._low, self._high = self._low // factor, self._high // factor

    def items(self) -> Iterator[tuple[int, int]]:
        """Where each bucket that is not empty begins (nanoseconds since 1970), and its count, in order."""
        width = self.width
        return ((key * width, self.counts[key]) for key in sorted(self.counts))


class Durations:
    """Counts by duration, in steps of 1, 2, 5, 10...; quantiles come from at most 65,536 of the values."""

    FIRST = 12
    _KEPT = 1 << 16

    def __init__(self) -> None:
        self.total = 0
        self.longest = 0
        self.bins: dict[int, int] = {}
        self._every = 1
        self._values = array("q")

    def add(self, duration: int) -> None:
        """Count a duration in nanoseconds; one below 0 counts as 0."""
        duration = min(max(duration, 0), _LONGEST - 1)
        if self.total % self._every == 0:
            self._values.append(duration)
            if len(self._values) > self._KEPT:
                self._values = self._values[::2]
                self._every *= 2
        self.total += 1
        self.longest = max(self.longest, duration)
        place = self.place(duration)
        self.bins[place] = self.bins.get(place, 0) + 1

    @staticmethod
    def place(duration: int) -> int:
        """The bin of a duration: 3 for each power of ten; the first has all below 20 microseconds."""
        if duration < _SHORTEST:
            return Durations.FIRST
        power = len(str(duration)) - 1
        unit = 10**power
        return 3 * power + (2 if duration >= 5 * unit else 1 if duration >= 2 * unit else 0)

    @staticmethod
    def start(place: int) -> int:
        """Where a bin begins, in nanoseconds."""
        return int((1, 2, 5)[place % 3] * 10 ** (place // 3))

    @property
    def values(self) -> list[int]:
        """The values from the shortest on: all of them where there are not too many."""
        return sorted(self._values)

    def quantile(self, part: float) -> int:
        """The duration that this part of all does not exceed, about; 0 where there is none."""
        values = self.values
        return 0 if not values else values[min(len(values) - 1, int(part * len(values)))]
