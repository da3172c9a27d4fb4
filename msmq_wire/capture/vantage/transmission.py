"""`Transmission`, a frame that one point captured; `CopyIndex`, in which copies of it are found."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias
from zlib import crc32

from msmq_wire.capture.network import UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.vantage.byte_ranges import Ranges
from msmq_wire.capture.vantage.sightings import SeenDirection, Spans
from msmq_wire.reassembly.tcp_events import FIN, RST, SYN, Endpoints, TcpSegment
from msmq_wire.records.endpoint import endpoint, host_of

Identity: TypeAlias = tuple[object, ...]
"""What copies have in common."""

_NO_FRAME = Frame(0, None, 0, b"", 0, 0)
_BUCKET_BITS = 16
_MOST_COMPARED = 1 << 7
_MOST_CAME = 64
_TWICE = 2_000_000
"""Nanoseconds within which equal segments are taken to be recorded twice, not sent again."""
_LARGEST = 1 << 17
"""A segment that claims more bytes is compared with equal ones only."""


class Transmission:
    """A frame that waits to be given, or was given and may have copies yet.

    ``place`` is that of its file, ``key`` its place in the order of time, ``time`` its corrected time.
    ``seen`` has a bit for each point that saw it, ``given`` says that it is written, as frame ``number``,
    ``again`` that its point had seen its bytes before.
    ``start`` and ``end`` are the offsets of its payload on the wire; ``give`` are those bytes of it that no
    other transmission gives, ``free`` those that a point has no copy of yet, by point: None and absent stand
    for all.
    """

    __slots__ = (
        "again",
        "alive",
        "carried",
        "check",
        "direction",
        "end",
        "ends",
        "frame",
        "free",
        "give",
        "given",
        "identity",
        "index",
        "key",
        "number",
        "origin",
        "place",
        "point",
        "seen",
        "start",
        "time",
    )

    def __init__(self, point: int, frame: Frame, time: int, key: int, place: int) -> None:
        self.point = self.origin = point
        self.frame = frame
        self.time = time
        self.key = key
        self.place = place
        self.seen = 1 << point
        self.alive = True
        self.again = False
        self.given = False
        self.identity: Identity = ()
        self.index: CopyIndex | None = None
        self.carried: TcpSegment | UdpDatagram | None = None
        self.direction: SentDirection | None = None
        self.ends: Endpoints | None = None
        self.start = self.end = self.check = self.number = 0
        self.give: Ranges | None = None
        self.free: dict[int, Ranges] | None = None

    @property
    def takes_a_number(self) -> bool:
        """Whether SYN or FIN takes a sequence number behind its payload."""
        return isinstance(self.carried, TcpSegment) and bool(self.carried.flags & (SYN | FIN))

    @property
    def resets(self) -> bool:
        """Whether it is a reset."""
        return isinstance(self.carried, TcpSegment) and bool(self.carried.flags & RST)

    def free_of(self, point: int) -> Ranges:
        """The bytes that a point has no copy of yet."""
        if self.seen >> point & 1:
            return ()
        whole = ((self.start, self.end),)
        return whole if self.free is None else self.free.get(point, whole)

    def take_from(self, point: int, rest: Ranges) -> None:
        """Set the bytes that a point has no copy of yet."""
        if not rest:
            self.seen |= 1 << point
        elif self.free is None:
            self.free = {point: rest}
        else:
            self.free[point] = rest

    def end_giving(self) -> None:
        """Say that it was written: of its bytes no more is kept than tells others from them."""
        self.given = True
        if self.carried is not None:
            self.check = crc32(self.carried.payload)
            self.carried = None
        self.frame = _NO_FRAME

    def equals(self, other: Transmission, start: int, end: int) -> bool:
        """Whether both have the same bytes from one offset to another, as far as both have them."""
        mine, others = self.carried, other.carried
        if mine is None or others is None:
            known = (self if mine is None else other).check
            there = others if mine is None else mine
            return there is None or start != self.start or end != self.end or crc32(there.payload) == known
        one, two = mine.payload, others.payload
        if len(one) == len(two) and self.start == other.start and end - start == len(one):
            return one == two
        end = min(end, self.start + len(one), other.start + len(two))
        if end <= start:
            return True
        first, second = start - self.start, start - other.start
        return one[first : first + end - start] == two[second : second + end - start]


class CopyIndex:
    """Transmissions that some point has no copy of yet; of those of one connection also by their bytes."""

    __slots__ = ("_buckets", "_equal", "_waiting")

    def __init__(self, points: int) -> None:
        self._equal: dict[Identity, list[Transmission]] = {}
        self._buckets: dict[int, list[Transmission]] | None = None
        self._waiting = [0] * points

    def find(self, sent: Transmission) -> Transmission | None:
        """An equal one of another point that has no copy of this point yet.

        Of those that were sent again it is the nearest in time, of copies that a point recorded twice the
        first.
        """
        found: Transmission | None = None
        for other in self._equal.get(sent.identity, ()):
            untouched = not other.seen >> sent.point & 1 and other.free is None and other.give is None
            if not untouched or (
                found is not None and abs(other.time - sent.time) + _TWICE >= abs(found.time - sent.time)
            ):
                continue
            if sent.equals(other, sent.start, sent.end):
                found = other
        return found

    def others_wait(self, point: int) -> bool:
        """Whether there are any of another point."""
        return any(count and place != point for place, count in enumerate(self._waiting))

    def add(self, sent: Transmission) -> None:
        """Add one."""
        sent.index = self
        self._waiting[sent.point] += 1
        same = self._equal.get(sent.identity)
        if same is None:
            self._equal[sent.identity] = [sent]
        else:
            same.append(sent)
        if self._buckets is not None:
            self._into_buckets(sent)

    def remove(self, sent: Transmission) -> None:
        """Remove one; nothing where it is not there any more."""
        if sent.index is None:
            return
        sent.index = None
        self._waiting[sent.point] -= 1
        same = self._equal[sent.identity]
        if len(same) == 1:
            del self._equal[sent.identity]
            if not self._equal:
                self._buckets = None
        else:
            same.remove(sent)

    def overlapping(self, sent: Transmission) -> list[Transmission]:
        """Those of other points with bytes that a segment has as well: those with the same bytes first, and
        the nearest in time, since bytes that were lost are sent again in other segments."""
        if sent.end - sent.start > _LARGEST:
            return []
        if self._buckets is None:
            self._buckets = {}
            for same in self._equal.values():
                for one in same:
                    self._into_buckets(one)
        found: dict[int, Transmission] = {}
        for number in _buckets_of(sent):
            bucket = self._buckets.get(number)
            if bucket is None:
                continue
            bucket[:] = [one for one in bucket if one.index is not None][-_MOST_COMPARED:]
            for one in bucket:
                if one.point != sent.point and one.start < sent.end and sent.start < one.end:
                    found[id(one)] = one

        def order(one: Transmission) -> tuple[bool, int]:
            return (one.start, one.end) != (sent.start, sent.end), abs(one.time - sent.time)

        return sorted(found.values(), key=order)

    def _into_buckets(self, sent: Transmission) -> None:
        if self._buckets is not None and 0 < sent.end - sent.start <= _LARGEST:
            for number in _buckets_of(sent):
                self._buckets.setdefault(number, []).append(sent)


class SentDirection(SeenDirection):
    """A direction with its segments that some point has no copy of yet, in ``sent``.

    ``crossed`` counts those that had a copy at each point, ``hosts`` are the texts of its addresses, once
    they are known. ``came`` are the last segments that a point saw first when they were sent again: the
    point, the time there, and their offsets.
    """

    __slots__ = ("came", "crossed", "hosts", "sent")

    def __init__(self, seq: int, pair: Spans, points: int) -> None:
        super().__init__(seq, pair, points)
        self.sent = CopyIndex(points)
        self.crossed = [0] * points
        self.came: deque[tuple[int, int, int, int]] | None = None
        self.hosts: tuple[str, str] = ("", "")

    def note_came(self, sent: Transmission) -> None:
        """Take a segment that a point saw first when it was sent again."""
        if self.came is None:
            self.came = deque(maxlen=_MOST_CAME)
        self.came.append((sent.point, sent.time, sent.start, sent.end))

    def held_until(self, point: int, start: int, end: int) -> int:
        """When the last bytes of a segment came to a point that saw them when they were sent again.

        0 where that is not known.
        """
        came = self.came or ()
        return max((at for of, at, one, two in came if of == point and one < end and start < two), default=0)

    def hosts_of(self, ends: Endpoints) -> tuple[str, str]:
        """The texts of both hosts."""
        if not self.hosts[0]:
            src, sport, dst, dport = ends
            self.hosts = host_of(endpoint(src, sport)), host_of(endpoint(dst, dport))
        return self.hosts


def _buckets_of(sent: Transmission) -> range:
    return range(sent.start >> _BUCKET_BITS, (sent.end - 1 >> _BUCKET_BITS) + 1)
