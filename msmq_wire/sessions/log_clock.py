"""How the clock of an event log stands to that of the capture: `LogClock`.

The rule kept here: cause before effect. A message is put into the queue of its receiver after its last byte
was seen and before its acknowledgment was, and into the outgoing queue of its sender before its last byte was
seen. Each message bounds the offset so. What most bounds have in common is told, with its two ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import msgspec

ENOUGH = 3
"""Messages that must agree before a clock is told."""
_MOST = 1 << 14
Bounds: TypeAlias = tuple[int | None, int | None]
"""The least and the most that a clock is ahead (ns); None where a message does not bound it."""


class LogClock(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Nanoseconds that the clock of a log is ahead of that of the capture: between ``least`` and ``most``.

    One of them is None where no message bounds it: then ``spread`` is how far apart the three closest bounds
    are, as messages that waited show another one each. ``agreeing`` of ``pairs`` messages fit.
    """

    least: int | None
    most: int | None
    agreeing: int
    pairs: int
    spread: int = 0

    @property
    def offset(self) -> int:
        """The middle, or the one bound that is known."""
        if self.least is None or self.most is None:
            return self.least if self.least is not None else self.most or 0
        return (self.least + self.most) // 2

    @property
    def uncertainty(self) -> int | None:
        """Half of what lies between both bounds; None where one is not known."""
        if self.least is None or self.most is None:
            return None
        return -(-(self.most - self.least) // 2)


class _End(NamedTuple):
    """An end of the bounds of a message; a beginning at a time comes before an end there."""

    at: int
    is_end: bool


def clock_of(bounds: Sequence[Bounds]) -> LogClock | None:
    """The clock that most messages agree with; None where fewer than three do, or less than two thirds."""
    known = [one for one in bounds[:_MOST] if one[0] is None or one[1] is None or one[0] <= one[1]]
    starts = sum(least is None for least, _ in known)
    ends = sorted(
        _End(at, is_end)
        for one in known
        for at, is_end in zip(one, (False, True), strict=True)
        if at is not None
    )
    count = best = starts
    since: int | None = None
    span: tuple[int | None, int | None] = (None, None)
    is_best = True
    for end in ends:
        if not end.is_end:
            count += 1
            if count > best:
                best, since, is_best = count, end.at, True
            continue
        if is_best and count == best:
            span, is_best = (since, end.at), False
        count -= 1
    if is_best:
        span = since, None
    if best < ENOUGH or best * 3 < len(bounds[:_MOST]) * 2 or span == (None, None):
        return None
    spread = 0
    if span[1] is None:
        spread = _apart(
            sorted((at for at, _ in known if at is not None and at <= (span[0] or 0)), reverse=True)
        )
    elif span[0] is None:
        spread = _apart(sorted(at for _, at in known if at is not None and at >= span[1]))
    return LogClock(least=span[0], most=span[1], agreeing=best, pairs=len(bounds[:_MOST]), spread=spread)


def _apart(closest: list[int]) -> int:
    """How far apart the first three of some bounds are."""
    return abs(closest[min(ENOUGH, len(closest)) - 1] - closest[0]) if closest else 0
