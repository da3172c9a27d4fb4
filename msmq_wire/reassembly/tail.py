"""What one direction of a connection delivered last, kept to compare later copies with."""

from __future__ import annotations

from bisect import bisect_left

TAIL_BYTES = 1 << 16
TAIL_RUNS = 64  # runs of bytes without a gap; what is older is not kept
SEGMENT_COST = 256  # what a kept piece costs besides its bytes: the tuple, its numbers, the bytes object

Range = tuple[int, int]


class Tail:
    """The last `TAIL_BYTES` positions before the end, as far as they were captured.

    How the bytes came in pieces makes no difference. ``cost`` is what they cost: themselves, and a little
    for every run without a gap.
    """

    __slots__ = ("_end", "_runs", "cost")

    def __init__(self) -> None:
        self._runs: list[tuple[int, bytearray]] = []
        self._end = 0
        self.cost = 0

    def extend(self, start: int, data: bytes | memoryview) -> None:
        """Take the bytes delivered at ``start``, which is at or behind the end."""
        runs, end = self._runs, start + len(data)
        if self._end == start and runs:
            runs[-1][1].extend(data)
        else:
            runs.append((start, bytearray(data)))
            if len(runs) > TAIL_RUNS:
                del runs[0]
        self._end = end
        oldest = end - TAIL_BYTES
        first, run = runs[0]
        while first + len(run) <= oldest:
            del runs[0]
            first, run = runs[0]
        if first < oldest:
            # Moving the bytes that stay is worth it only now and then.
            if oldest - first > TAIL_BYTES:
                del run[: oldest - first]
                runs[0] = (oldest, run)
            first = oldest
        self.cost = end - first + SEGMENT_COST
        if len(runs) > 1:
            kept = sum(len(run) + SEGMENT_COST for _, run in runs)
            self.cost = kept - (first - runs[0][0])

    def covers(self, start: int, end: int) -> int:
        """Return how many bytes from ``start`` to ``end`` are kept."""
        start = max(start, self._end - TAIL_BYTES)
        kept = (min(end, first + len(run)) - max(start, first) for first, run in self._runs)
        return sum(one for one in kept if one > 0)

    def differs(self, start: int, data: bytes) -> Range | None:
        """Return from where to where ``data``, a later copy, differs from what is kept."""
        differing: Range | None = None
        end, oldest = start + len(data), self._end - TAIL_BYTES
        low = max(0, bisect_left(self._runs, start, key=_first) - 1)
        for first, run in self._runs[low : bisect_left(self._runs, end, key=_first)]:
            common, common_end = max(start, first, oldest), min(end, first + len(run))
            if common < common_end:
                fresh = data[common - start : common_end - start]
                differing = differ(common, run[common - first : common_end - first], fresh, differing)
        return differing


def differ(position: int, kept: bytes | bytearray, fresh: bytes, differing: Range | None) -> Range | None:
    """Widen ``differing`` to the last byte that differs; it starts with the first."""
    if kept == fresh:
        return differing
    # The first and the last byte that differ, without looking at each of them in Python.
    unequal = int.from_bytes(kept, "big") ^ int.from_bytes(fresh, "big")
    first = len(kept) - (unequal.bit_length() + 7) // 8
    last = len(kept) - 1 - ((unequal & -unequal).bit_length() - 1) // 8
    return position + first if differing is None else differing[0], position + last + 1


def _first(run: tuple[int, bytearray]) -> int:
    return run[0]
