"""What each vantage point saw of a direction of a connection, and why it did not see the rest.

The rule kept here: bytes are `absent` at a point only where it was recording before and after them, where
nobody was seen to acknowledge them, and where enough came later for a retransmission to be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msmq_wire.capture.vantage.byte_ranges import SeenBytes
from msmq_wire.capture.vantage.connection_paths import ConnectionPaths
from msmq_wire.records.joined_capture import Unseen
from msmq_wire.units import SECOND

SETTLED = 20 * SECOND
"""Nanoseconds after which bytes that a point did not see are taken to be missing there."""
_MARGIN = SECOND
"""Nanoseconds that a point must go on recording after bytes that it is said not to have seen."""
_NEAR = 1 << 21
"""An acknowledgment of bytes further ahead than this of all that was seen is not believed."""
_HALF, _ALL = 1 << 31, (1 << 32) - 1

Spans: TypeAlias = list[list[int] | None]
"""The first and the last time that each point saw something; None where it did not."""


class PointTimes:
    """When a point recorded, by corrected times.

    ``ended`` is set at its end, ``lossy`` if it says that it dropped frames.
    """

    __slots__ = ("ended", "first", "last", "lossy")

    def __init__(self) -> None:
        self.first: int | None = None
        self.last = 0
        self.ended = self.lossy = False

    def outside(self, time: int) -> bool:
        """Whether the point did not record at a time, as far as is known."""
        return self.first is None or time < self.first or (self.ended and time > self.last)


class SeenDirection:
    """One direction of a connection: what each point saw of it.

    Offsets count from its first byte that was seen. ``spans`` are the times of this direction, ``pair`` those
    of all directions between the same hosts and the same port of the server. ``acked`` is the highest offset
    that was acknowledged at any point, at ``acked_at`` the last time. ``paths`` are those of the connection.
    """

    __slots__ = (
        "_last",
        "_last_seq",
        "acked",
        "acked_at",
        "pair",
        "paths",
        "reverse",
        "seen",
        "spans",
    )

    def __init__(self, seq: int, pair: Spans, points: int) -> None:
        self._last, self._last_seq = 0, seq
        self.acked: int | None = None
        self.acked_at = 0
        self.reverse: SeenDirection | None = None
        self.spans: Spans = [None] * points
        self.seen = [SeenBytes() for _ in range(points)]
        self.pair = pair
        self.paths = ConnectionPaths()

    def offset(self, seq: int) -> int:
        """The offset that a sequence number stands for, near the last one."""
        return self._last + ((seq - self._last_seq + _HALF) & _ALL) - _HALF

    def move(self, seq: int) -> int:
        """The same; later ones are taken to be near this one."""
        self._last = offset = self._last + ((seq - self._last_seq + _HALF) & _ALL) - _HALF
        self._last_seq = seq
        return offset

    def saw(self, point: int, time: int, start: int, end: int) -> None:
        """Take note of a segment that a point saw."""
        note(self.spans, point, time)
        note(self.pair, point, time)
        if start != end:
            self.seen[point].add(start, end)

    def acknowledge(self, ack: int, time: int) -> None:
        """Take an acknowledgment of this direction that some point saw."""
        offset = self.offset(ack)
        if self.acked is not None and offset <= self.acked:
            self.acked_at = max(self.acked_at, time)
            return
        highest = max((seen.top for seen in self.seen if seen.top is not None), default=None)
        if highest is not None and offset <= highest + _NEAR:
            self.acked, self.acked_at = offset, max(self.acked_at, time)


class UnseenRange:
    """Bytes of a direction, or a frame without any, that a point had not seen when they were given."""

    __slots__ = ("_direction", "_end", "_point", "_points", "_start", "_time")

    def __init__(
        self,
        direction: SeenDirection,
        point: int,
        points: Sequence[PointTimes],
        time: int,
        start: int,
        end: int,
    ) -> None:
        self._direction = direction
        self._point = point
        self._points = points
        self._time = time
        self._start = start
        self._end = end

    @property
    def partial(self) -> bool:
        """Whether the point saw some of the bytes."""
        start, end = self._start, self._end
        return start < end and self._direction.seen[self._point].missing(start, end) != ((start, end),)

    def reason(self) -> Unseen | None:
        """Why the point did not see all of them, by what is known now; None where it did, later on."""
        direction, time, end = self._direction, self._time, self._end
        mine, seen = self._points[self._point], direction.seen[self._point]
        span, pair = direction.spans[self._point], direction.pair[self._point]
        if span is None and pair is None:
            # What goes this way may not pass the point, or only one direction was recorded there.
            return "unknown"
        if self._start < end:
            if not seen.missing(self._start, end):
                return None
            if seen.known is not None and self._start < seen.known:
                return "unknown"
            if direction.acked is not None and direction.acked >= end:
                return "lost"
            if seen.top is not None and seen.top > end and direction.acked_at < time:
                # Later bytes are there, and no acknowledgment says that these did not arrive.
                return "lost"
        recorded = span is not None and span[0] <= time and mine.last >= time + _MARGIN
        return _absent(direction.pair, self._point, self._points, time, recorded=recorded)


class UnseenDatagram:
    """A datagram that a point had not seen when it was given: it is sent once, and nobody acknowledges it."""

    __slots__ = ("_pair", "_point", "_points", "_time")
    partial = False

    def __init__(self, pair: Spans, point: int, points: Sequence[PointTimes], time: int) -> None:
        self._pair = pair
        self._point = point
        self._points = points
        self._time = time

    def reason(self) -> Unseen | None:
        """See `UnseenRange.reason`."""
        return _absent(self._pair, self._point, self._points, self._time, recorded=False)


def _absent(pair: Spans, point: int, points: Sequence[PointTimes], time: int, *, recorded: bool) -> Unseen:
    """Whether something is absent at a point; ``recorded`` says that it recorded this direction then."""
    if points[point].lossy:
        return "unknown"
    span = pair[point]
    around = span is not None and span[0] <= time <= span[1] - _MARGIN
    settled = all(one.ended or one.last >= time + SETTLED for one in points)
    return "absent" if (recorded or around) and settled else "unknown"


def note(spans: Spans, point: int, time: int) -> None:
    """Take note that a point saw something."""
    span = spans[point]
    if span is None:
        spans[point] = [time, time]
    elif time > span[1]:
        span[1] = time
