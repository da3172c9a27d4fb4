"""How long packets took between two vantage points, and which of the two is nearer the sender.

The rule kept here: an order of two points is told only where the time between them is longer than their
clocks may be wrong, or where the TTL fell. Memory does not grow with the number of packets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

_MOST = 4096
"""Pairs of hosts and of points that are kept."""
_SAMPLE = 2048
_MOST_FRAMES = 16
_NOISE = 20_000
"""Nanoseconds by which times of one place may differ."""


_Key: TypeAlias = tuple[str, str, int, int]
"""Both hosts, and both points."""


class Transit(msgspec.Struct):
    """Packets of one direction that two points saw: the times (ns) from the first point to the second.

    ``count`` is how many, ``smallest`` and ``largest`` their times. ``uncertainty`` is by how much all of
    them may be wrong (ns), None where that is not known. ``fell`` counts those whose TTL or hop limit was
    smaller at the second point, ``rose`` those whose was larger. Of about ``total`` packets those were taken.

    ``missed`` counts packets that only the first point saw, and that only the second one saw, although their
    bytes came to the other one when they were sent again; ``first_missed`` and ``last_missed`` are the times
    of the first and the last of each (ns since 1970), ``longest_held`` is how long after the first sending
    all their bytes came, at most (ns; 0 where that is not known), ``missed_frames`` are the first frames,
    each with its time.
    ``repeated`` counts segments that were sent
    again although both points had seen their bytes before.
    """

    uncertainty: int | None = None
    count: int = 0
    smallest: int = 0
    largest: int = 0
    fell: int = 0
    rose: int = 0
    sample: list[int] = []
    every: int = 1
    total: int = 0
    missed: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    first_missed: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    last_missed: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    longest_held: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    missed_frames: list[list[tuple[int, int]]] = msgspec.field(default_factory=lambda: [[], []])
    repeated: int = 0

    def add(self, time: int, hops: int = 0, weight: int = 1) -> None:
        """Take a packet that took ``time`` ns, and whose TTL is smaller by ``hops`` at the second point.

        It stands for ``weight`` packets.
        """
        self.total += weight
        if self.count % self.every == 0:
            self.sample.append(time)
            if len(self.sample) >= _SAMPLE:
                del self.sample[1::2]
                self.every *= 2
        self.smallest = min(self.smallest, time) if self.count else time
        self.largest = max(self.largest, time) if self.count else time
        self.count += 1
        self.fell += hops > 0
        self.rose += hops < 0

    def miss(self, point: int, time: int, held: int = 0, frame: int = 0) -> None:
        """Take a packet, in a ``frame``, that only the first or the second point saw (0 or 1), at a time.

        Its bytes came to the other one ``held`` ns after that.
        """
        if frame and len(self.missed_frames[point]) < _MOST_FRAMES:
            self.missed_frames[point].append((frame, time))
        self.longest_held[point] = max(self.longest_held[point], held)
        self.first_missed[point] = min(self.first_missed[point] or time, time)
        self.last_missed[point] = max(self.last_missed[point], time)
        self.missed[point] += 1

    @property
    def median(self) -> int:
        """The time in the middle."""
        return sorted(self.sample)[len(self.sample) // 2] if self.sample else 0

    @property
    def order_by_hops(self) -> int:
        """The same as `order`, by the TTL alone."""
        if bool(self.fell) == bool(self.rose):
            return 0
        return 1 if self.fell else -1

    @property
    def order(self) -> int:
        """1 where the first point is nearer the sender, -1 where the second one is, 0 where nobody knows."""
        if self.order_by_hops:
            return self.order_by_hops
        median = self.median
        if not self.count or self.uncertainty is None or abs(median) < max(self.uncertainty, 1):
            return 0
        return 1 if median > 0 else -1


class Transits:
    """The `Transit` of each direction between two hosts, for each two points by their numbers.

    ``uncertainties`` are those of the clocks of the points (ns), None where one is not known.
    """

    def __init__(self, uncertainties: tuple[int | None, ...]) -> None:
        self._uncertainties = uncertainties
        self._known: dict[_Key, Transit] = {}
        self._named: Callable[[str], str] | None = None
        self._shown: dict[_Key, Transit] = {}

    def named(self, named: Callable[[str], str]) -> Transits:
        """The same with other names of the hosts."""
        other = Transits(self._uncertainties)
        other._known, other._named = self._known, named
        return other

    def add(
        self, ends: tuple[str, str], points: tuple[int, int], time: int, hops: int = 0, weight: int = 1
    ) -> None:
        """Take a packet between two hosts that the second point saw ``time`` ns after the first one.

        ``hops`` is by how much its TTL was smaller there, ``weight`` for how many packets it stands.
        """
        sign = -1 if points[0] > points[1] else 1
        known = self._of(ends, points)
        if known is not None:
            known.add(sign * time, sign * hops, weight)

    def lose(
        self, ends: tuple[str, str], points: tuple[int, int], time: int, held: int = 0, frame: int = 0
    ) -> None:
        """Take a packet that the first point saw at a time, and the second one when it was sent again.

        That was ``held`` ns later, 0 where it is not known; ``frame`` is what the first point saw.
        """
        known = self._of(ends, points)
        if known is not None:
            known.miss(int(points[0] > points[1]), time, held, frame)

    def repeat(self, ends: tuple[str, str], points: tuple[int, int]) -> None:
        """Take a segment that was sent again although both points had seen its bytes before."""
        known = self._of(ends, points)
        if known is not None:
            known.repeated += 1

    def _of(self, ends: tuple[str, str], points: tuple[int, int]) -> Transit | None:
        """What is known of a direction between two hosts; None where too much is known."""
        first, second = min(points), max(points)
        key = (*ends, first, second)
        known = self._known.get(key)
        if known is None and len(self._known) < _MOST:
            known = self._known[key] = Transit(self.uncertainty(first, second))
        return known

    def uncertainty(self, first: int, second: int) -> int | None:
        """By how much the clocks of two points may be wrong against each other (ns); None for unknown."""
        one, other = self._uncertainties[first], self._uncertainties[second]
        return None if one is None or other is None else one + other

    def order(self, src: str, dst: str, first: int, second: int) -> int:
        """As `Transit.order` for what goes from one host to another, by both directions between them.

        Where the two points tell nothing of each other, a point that lies between them does.
        """
        order = self._order(src, dst, first, second)
        others = (one for one in range(len(self._uncertainties)) if one not in (first, second))
        while not order and (other := next(others, None)) is not None:
            half = self._order(src, dst, first, other)
            order = half if half and half == self._order(src, dst, other, second) else 0
        return order

    def _order(self, src: str, dst: str, first: int, second: int) -> int:
        if first > second:
            return -self._order(src, dst, second, first)
        known = self._by_name()
        there, back = known.get((src, dst, first, second)), known.get((dst, src, first, second))
        hops = [0 if one is None else one.order_by_hops for one in (there, back)]
        times = [0 if one is None else one.order for one in (there, back)]
        return hops[0] or -hops[1] or _by_round_trip(there, back) or times[0] or -times[1]

    def next_to(self, src: str, dst: str, first: int, second: int) -> bool:
        """Whether what goes from one host to another passes the second point after the first, and no other
        point is known to lie between them."""
        if self.order(src, dst, first, second) != 1:
            return False
        return not any(
            self.order(src, dst, first, other) == self.order(src, dst, other, second) == 1
            for other in range(len(self._uncertainties))
            if other not in (first, second)
        )

    def path(self, src: str, dst: str) -> tuple[int, ...]:
        """The points in the order in which packets pass them; empty where that is not known of all."""
        points = range(len(self._uncertainties))
        behind = {
            one: sum(self.order(src, dst, other, one) == 1 for other in points if other != one)
            for one in points
        }
        ordered = sorted(points, key=behind.__getitem__)
        return tuple(ordered) if [behind[one] for one in ordered] == list(points) else ()

    def all(self) -> list[tuple[tuple[str, str], tuple[int, int], Transit]]:
        """Each direction between two hosts, two points, and what is known of both."""
        return [
            ((src, dst), (one, other), known) for (src, dst, one, other), known in self._by_name().items()
        ]

    def _by_name(self) -> Mapping[_Key, Transit]:
        """What is known, by the names of the hosts."""
        named = self._named
        if named is None:
            return self._known
        if len(self._shown) < len(self._known):
            self._shown = {
                (named(src), named(dst), first, second): one
                for (src, dst, first, second), one in self._known.items()
            }
        return self._shown


def _by_round_trip(there: Transit | None, back: Transit | None) -> int:
    """The order of two points, by the shortest way there and back: no clock has a part in that."""
    if there is None or back is None or not there.count or not back.count or there.uncertainty is None:
        return 0
    least = max(there.uncertainty, _NOISE)
    if there.smallest - back.largest > least:
        return 1
    return -1 if back.smallest - there.largest > least else 0


NO_TRANSITS = Transits(())
"""Those of a capture without vantage points."""
