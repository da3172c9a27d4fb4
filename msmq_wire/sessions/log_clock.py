"""How the clock of an event log stands to that of the capture: `LogClock` and `clocks_of`.

The rule kept here: cause before effect. A message is put into the queue of its receiver after its last byte
was seen and before its acknowledgment was, and into the outgoing queue of its sender before its last byte was
seen. Each message bounds the offset so. What most bounds have in common is told, with both ends. A clock that
was set in between has one offset before and one after.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

ENOUGH = 3
"""Messages that must agree before a clock is told."""
_MOST = 1 << 14
_MOST_CLOCKS = 3
"""A clock that seems to be set more often runs unevenly, or the messages are not what they seem."""


class Bounds(NamedTuple):
    """The least and the most that a clock is ahead (ns), by one message; None where that does not bound it.

    ``record`` is the EventRecordID of its event, None where that is not known.
    """

    least: int | None
    most: int | None
    record: int | None = None


class LogClock(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How far the clock of a log is ahead of that of the capture, in ns: between ``least`` and ``most``.

    One of them is None where no message bounds it. ``spread`` is how far apart the three closest bounds are
    on the side that ``offset`` is taken from: where messages waited, each shows another one. ``agreeing`` of
    ``pairs`` messages fit. ``since`` is the EventRecordID from which on it holds, None for the whole log.
    """

    least: int | None
    most: int | None
    agreeing: int
    pairs: int
    spread: int = 0
    since: int | None = None

    @property
    def offset(self) -> int:
        """What the messages show that waited least.

        A receiver puts a message into its queue within milliseconds, its acknowledgment may take longer.
        """
        return self.most if self.most is not None else self.least or 0

    @property
    def width(self) -> int | None:
        """How far apart both bounds are; None where one is not known."""
        return None if self.least is None or self.most is None else self.most - self.least


def clocks_of(bounds: Sequence[Bounds]) -> tuple[LogClock, ...]:
    """The clocks of a log, in the order of the log: none where too few messages agree, several if it was set.

    At least three messages must agree, and two thirds of all.
    """
    known = [one for one in bounds[:_MOST] if one.least is None or one.most is None or one.least <= one.most]
    parts = _parts(known) if all(one.record is not None for one in known) else []
    if 1 < len(parts) <= _MOST_CLOCKS and 3 * sum(map(len, parts)) >= 2 * len(bounds[:_MOST]):
        found = [_common(part, len(part)) for part in parts]
        clocks = [one for one in found if one is not None]
        if len(clocks) == len(parts):
            return tuple(
                msgspec.structs.replace(clock, since=part[0].record if number else None)
                for number, (clock, part) in enumerate(zip(clocks, parts, strict=True))
            )
    whole = _common(known, len(bounds[:_MOST]))
    return () if whole is None else (whole,)


def _parts(bounds: Iterable[Bounds]) -> list[list[Bounds]]:
    """Stretches of a log within which all messages agree, and that do not agree with each other."""
    parts: list[list[Bounds]] = []
    for one in bounds:
        if parts and _agree([*parts[-1], one]):
            parts[-1].append(one)
        else:
            parts.append([one])
    kept: list[list[Bounds]] = []
    for part in parts:
        if len(part) < ENOUGH:
            continue
        if kept and _agree([*kept[-1], *part]):
            kept[-1] += part
        else:
            kept.append(part)
    return kept


def _agree(bounds: Sequence[Bounds]) -> bool:
    least = [one.least for one in bounds if one.least is not None]
    most = [one.most for one in bounds if one.most is not None]
    return not least or not most or max(least) <= min(most)


class _End(NamedTuple):
    """An end of the bounds of a message; a beginning at a time comes before an end there."""

    at: int
    is_end: bool


def _common(bounds: Sequence[Bounds], pairs: int) -> LogClock | None:
    """What most of some bounds have in common."""
    starts = sum(one.least is None for one in bounds)
    ends = sorted(
        _End(at, is_end)
        for one in bounds
        for at, is_end in ((one.least, False), (one.most, True))
        if at is not None
    )
    count = best = starts
    since: int | None = None
    least: int | None = None
    most: int | None = None
    is_open = True
    for end in ends:
        if not end.is_end:
            count += 1
            if count > best:
                best, since, is_open = count, end.at, True
            continue
        if is_open and count == best:
            least, most, is_open = since, end.at, False
        count -= 1
    if is_open:
        least, most = since, None
    if best < ENOUGH or best * 3 < pairs * 2 or (least is None and most is None):
        return None
    if most is not None:
        closest = sorted(one.most for one in bounds if one.most is not None and one.most >= most)
    else:
        closest = sorted(
            (one.least for one in bounds if one.least is not None and one.least <= (least or 0)), reverse=True
        )
    spread = abs(closest[min(ENOUGH, len(closest)) - 1] - closest[0]) if closest else 0
    return LogClock(least=least, most=most, agreeing=best, pairs=pairs, spread=spread)
