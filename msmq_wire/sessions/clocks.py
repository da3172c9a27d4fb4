"""How the clocks of senders stand to that of the capture: `Clocks`, fed with SentTimes and capture times.

The rule kept here: one judgement, for everything that compares times. A message is sent after its SentTime,
so those that waited least show the clock; a pair that no clock would give (a message that waited, a SentTime
that was made up) has nothing beside it on the line that others lie on, and counts for nothing. Of a sender
16 points are kept, of senders 4,096.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.units import SECOND
from msmq_wire.wire.headers.base_header import SIGNATURE
from msmq_wire.wire.types.guid import GUID, NULL_GUID

AHEAD = 300
"""Seconds that clocks may differ; a domain allows as much."""
NEAR = 4 * 86400
"""Seconds around the letters LIOR within which they may be a time after all."""
_DAY = 86400
_CLOSE = 2 * SECOND
"""Pairs this close agree: SentTime has whole seconds, and the network takes its time."""
_POINTS = 16
_SENDERS = 4096
_NAMED = 3
"""So many hosts are named."""
_ENOUGH = 3
"""Pairs that must agree before a clock is sure."""
_APART = 10 * SECOND
"""How far apart they must lie: what waited together is sent together, and agrees as well."""
_HOSTS = 2
"""So many hosts that differ by the same time show that the capture does."""
_STEEPEST = 0.05
"""A clock gains or loses no more than this; what looks so is a queue that empties, or a time that stands."""
PERIODS = ((_DAY, "day", "days"), (3600, "h", "h"), (60, "min", "min"), (1, "s", "s"))
"""Units of time: seconds, and what one and several are called."""


def is_time(sent: int | None, captured: int | None) -> bool:
    """Whether a SentTime may be one: neither 0 nor the letters LIOR of the sample frame, [MS-MQQB] 4.1.7.

    ``captured`` is the time of the capture (ns); in captures of October 2013 the letters may be a time.
    """
    if not sent:
        return False
    return sent != SIGNATURE or (captured is not None and abs(captured // SECOND - sent) <= NEAR)


def length_of_time(seconds: int) -> str:
    """``4 min 10 s``, ``5 days``: the two largest units."""
    parts = []
    for size, one, many in PERIODS:
        number, seconds = divmod(seconds, size)
        if number:
            parts.append(f"{number:,} {one if number == 1 else many}")
    return " ".join(parts[:2]) or "0 s"


def difference_text(clock: str, ahead: int, others: Sequence[HostClock], recording: str = "") -> str:
    """How many seconds a clock is ahead of others that agree, and of that of a ``recording``.

    ``the clock of the capturing host is 23 h ahead of those of 192.0.2.21 and 192.0.2.10``.
    """
    hosts = list(dict.fromkeys(one.host or "a sender" for one in others))
    names = hosts[:_NAMED] + ([recording] if recording else [])
    if len(hosts) > _NAMED:
        names.append(f"{len(hosts) - _NAMED:,} more hosts")
    *first, last = names
    listed = f"those of {', '.join(first)} and {last}" if first else f"that of {last}"
    how = "ahead of" if ahead > 0 else "behind"
    return f"the clock of {clock} is {length_of_time(abs(ahead))} {how} {listed}"


class Sender(NamedTuple):
    """Whose clock it is: the queue manager that set SentTime, and the address that its messages come from.

    Behind a router, or with an identifier that another host borrows, the pairs stay apart.
    """

    queue_manager: bytes
    host: str


@lru_cache(maxsize=256)
def sender_of(queue_manager: bytes, src: str | None) -> Sender:
    """The sender of a message that came from ``src`` (``address:port``)."""
    return Sender(bytes(queue_manager), host_of(src))


class HostClock(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known of the clock of a sender.

    ``offset`` is how many seconds it is ahead of the clock of the capture (negative: behind) at the time
    ``at`` (ns), ``drift`` the seconds that it gains a day, 0 where none can be seen. ``pairs`` counts the
    messages that were compared, ``agreeing`` those that show this offset, ``span`` the nanoseconds between
    the first and the last of these. ``sure`` says that they are enough and far enough apart: else the
    messages may have waited, or one time may be made up.
    """

    host: str
    queue_manager: GUID | None
    offset: int
    at: int
    drift: float
    pairs: int
    agreeing: int
    span: int
    sure: bool

    @property
    def astray(self) -> bool:
        """Whether it differs from that of the capture by more than clocks may."""
        return abs(self.offset) > AHEAD

    def ahead(self, captured: int) -> int:
        """Seconds that it is ahead at a time of the capture (ns)."""
        return self.offset + round(self.drift * (captured - self.at) / (_DAY * SECOND))

    @property
    def said(self) -> str:
        """``the clock of 192.0.2.21 is 5 days behind that of the capture``."""
        how = "behind" if self.offset < 0 else "ahead of"
        clock = f"the clock of {self.host or 'its sender'}"
        return f"{clock} is {length_of_time(abs(self.offset))} {how} that of the capture"


class _Point(msgspec.Struct, gc=False):
    """The pair of a stretch of time that waited least: ``lead`` is SentTime less the time of the capture.

    ``agreeing`` counts pairs of the stretch that are close to it, from ``first`` to ``last``.
    """

    at: int
    lead: int
    agreeing: int
    first: int
    last: int

    def take(self, other: _Point) -> None:
        """Add what another point of the same stretch tells."""
        if other.lead > self.lead + _CLOSE:
            self.agreeing = 0
            self.first, self.last = other.first, other.last
        if other.lead >= self.lead - _CLOSE:
            self.agreeing += other.agreeing
            self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        if other.lead > self.lead:
            self.at, self.lead = other.at, other.lead

    def waited(self, lead: int, captured: int) -> bool:
        """Add a pair that waited as long, or a little longer; tell whether it is one."""
        if not self.lead - _CLOSE <= lead <= self.lead:
            return False
        self.agreeing += 1
        if captured > self.last:
            self.last = captured
        elif captured < self.first:
            self.first = captured
        return True


class _Pairs:
    """The pairs of one sender, put together in stretches of time that grow with the capture."""

    def __init__(self) -> None:
        self.count = 0
        self.points: dict[int, _Point] = {}
        self.judged: HostClock | None = None
        self._width = SECOND

    def take(self, sent: int, captured: int) -> None:
        self.count += 1
        self.judged = None
        lead = sent * SECOND - captured
        known = self.points.get(captured // self._width)
        if known is not None and known.waited(lead, captured):
            return
        self._put(_Point(captured, lead, 1, captured, captured))
        while len(self.points) > _POINTS:
            self._width *= 2
            points, self.points = self.points, {}
            for point in points.values():
                self._put(point)

    def _put(self, point: _Point) -> None:
        known = self.points.setdefault(point.at // self._width, point)
        if known is not point:
            known.take(point)


class Clocks:
    """Takes the first transmission of each message; tells the clock of its sender as known so far."""

    def __init__(self) -> None:
        self._pairs: dict[Sender, _Pairs] = {}
        self._of_manager: dict[bytes, Sender] = {}

    def take(self, sender: Sender, sent: int | None, captured: int | None) -> None:
        """Compare SentTime (seconds) with the time of the frame that brought it (ns)."""
        if captured is None or not sent or (sent == SIGNATURE and not is_time(sent, captured)):
            return
        pairs = self._pairs.get(sender)
        if pairs is None:
            if len(self._pairs) >= _SENDERS:
                return
            pairs = self._pairs[sender] = _Pairs()
            self._of_manager.setdefault(sender.queue_manager, sender)
        pairs.take(sent, captured)

    def of(self, sender: Sender) -> HostClock | None:
        """The clock of a sender; where only its queue manager is known, as that shows it elsewhere."""
        if sender not in self._pairs and any(sender.queue_manager):
            sender = self._of_manager.get(sender.queue_manager, sender)
        pairs = self._pairs.get(sender)
        if pairs is None:
            return None
        if pairs.judged is None:
            pairs.judged = _judge(sender, pairs)
        return pairs.judged

    def common(self) -> tuple[HostClock, ...]:
        """The clocks that are sure, where two hosts or more differ from the capture by the same time.

        Then it is likely the clock of the capturing host that is wrong. Empty where one differs from others.
        """
        sure = tuple(clock for clock in self if clock.sure)
        offsets = [clock.offset for clock in sure]
        hosts = {clock.host for clock in sure}
        managers = {clock.queue_manager or clock.host for clock in sure}
        if min(len(hosts), len(managers)) < _HOSTS or not all(clock.astray for clock in sure):
            return ()
        return sure if max(offsets) - min(offsets) <= AHEAD else ()

    def early(self) -> frozenset[str]:
        """Hosts of which a message was captured before it was sent, by a clock that is sure."""
        found = set()
        for sender, pairs in self._pairs.items():
            clock = self.of(sender)
            if clock is not None and clock.sure:
                leads = ((point.lead, clock.ahead(point.at) * SECOND) for point in pairs.points.values())
                if any(lead > ahead + _CLOSE for lead, ahead in leads):
                    found.add(sender.host)
        return frozenset(found)

    def __iter__(self) -> Iterator[HostClock]:
        """All clocks, in order of their first messages."""
        return (clock for sender in self._pairs if (clock := self.of(sender)) is not None)

    def __len__(self) -> int:
        return len(self._pairs)


def _judge(sender: Sender, pairs: _Pairs) -> HostClock:
    points = sorted(pairs.points.values(), key=lambda point: point.at)
    slope, agreeing = 0.0, _level(points)
    if len(agreeing) < len(points):
        steep, on_line = _line(points)
        # Two points lie on some line, and others beside it by chance.
        if len(on_line) >= max(len(agreeing) + 2, _ENOUGH + 2):
            slope, agreeing = steep, on_line
    at = agreeing[-1].at
    # What waited least of all that agree shows the clock best.
    lead = max(point.lead - round(slope * (point.at - at)) for point in agreeing)
    number = sum(point.agreeing for point in agreeing)
    span = max(point.last for point in agreeing) - min(point.first for point in agreeing)
    manager = GUID(sender.queue_manager)
    return HostClock(
        host=sender.host,
        queue_manager=None if manager == NULL_GUID else manager,
        # SentTime leaves out what is less than a second.
        offset=-(-lead // SECOND),
        at=at,
        drift=slope * _DAY,
        pairs=pairs.count,
        agreeing=number,
        span=span,
        sure=number >= _ENOUGH and span >= _APART and 3 * len(agreeing) >= len(points),
    )


def _level(points: list[_Point]) -> list[_Point]:
    """The points close below one of them: most of all, and of as many the highest."""
    best: list[_Point] = []
    for top in sorted(points, key=lambda point: -point.lead):
        below = [one for one in points if 0 <= top.lead - one.lead <= _CLOSE]
        if len(below) > len(best):
            best = below
        if len(best) * 2 > len(points):
            break
    return best


def _line(points: list[_Point]) -> tuple[float, list[_Point]]:
    """The slope of the line through two of the points that most of them are close to, and these."""
    best: tuple[float, list[_Point]] = 0.0, []
    least = (points[-1].at - points[0].at) // 4
    for number, one in enumerate(points):
        for other in points[number + 1 :]:
            apart = other.at - one.at
            slope = (other.lead - one.lead) / apart if apart > least else 1.0
            if abs(slope) > _STEEPEST:
                continue
            beside = [
                point
                for point in points
                if abs(point.lead - one.lead - slope * (point.at - one.at)) <= _CLOSE
            ]
            if len(beside) > len(best[1]):
                best = slope, beside
    return best
