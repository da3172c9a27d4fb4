"""Ranges of bytes as sorted pairs of offsets, from the first byte to before the second one; `SeenBytes`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]

_MOST = 1 << 9
"""Ranges that are kept of one direction."""


def within(ranges: Ranges, others: Ranges) -> Ranges:
    """The bytes that are in both."""
    return tuple(
        (max(one, first), min(other, last))
        for one, other in ranges
        for first, last in others
        if one < last and first < other
    )


def without(ranges: Ranges, start: int, end: int) -> Ranges:
    """The ranges without the bytes from ``start`` to before ``end``."""
    kept: list[tuple[int, int]] = []
    for one, other in ranges:
        if one < start:
            kept.append((one, min(other, start)))
        if end < other:
            kept.append((max(one, end), other))
    return tuple(pair for pair in kept if pair[0] < pair[1])


class SeenBytes:
    """The bytes of a direction that a point saw; nothing is known of those before ``known``.

    ``top`` is the offset behind the last of them, None where there are none.
    """

    __slots__ = ("_ends", "_starts", "known", "top")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.known: int | None = None
        self.top: int | None = None

    def add(self, start: int, end: int) -> None:
        """Add bytes."""
        top = self.top
        if top == start:
            self._ends[-1] = self.top = end
            return
        starts, ends = self._starts, self._ends
        if top is None or start > top:
            starts.append(start)
            ends.append(end)
            self.top = end
            if len(starts) > _MOST:
                self.known = ends[0]
                del starts[0], ends[0]
            return
        # All ranges that touch these bytes become one.
        first = bisect_left(ends, start)
        last = bisect_right(starts, end)
        if first < last:
            start, end = min(start, starts[first]), max(end, ends[last - 1])
        starts[first:last], ends[first:last] = [start], [end]
        self.top = ends[-1]
        if len(starts) > _MOST:
            self.known = ends[0]
            del starts[0], ends[0]

    def missing(self, start: int, end: int) -> Ranges:
        """Those of some bytes that were not seen."""
        rest: Ranges = ((start, end),)
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        for place in range(first, last):
            rest = without(rest, self._starts[place], self._ends[place])
        return rest
