"""Which frames of several vantage points are copies of one transmission: `Transmissions`.

The rule kept here: a frame is a copy where another point has one with the same bytes of the same direction
that has no copy from here yet. Bytes that differ are no copy, so that what was injected between two points is
seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from zlib import crc32

from msmq_wire.capture.link import dissect
from msmq_wire.capture.network import IcmpUnreachable, UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.vantage.byte_ranges import Ranges, within, without
from msmq_wire.capture.vantage.frame_writer import FrameWriter
from msmq_wire.capture.vantage.packet_bytes import hops_of, link_header, tcp_frame, udp_frame
from msmq_wire.capture.vantage.points_capture import MOST_POINTS, PointsCapture, UnseenBytes
from msmq_wire.capture.vantage.sightings import (
    PointTimes,
    Spans,
    UnseenDatagram,
    UnseenRange,
    note,
)
from msmq_wire.capture.vantage.transmission import CopyIndex, Identity, SentDirection, Transmission
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import ACK, FIN, RST, SYN, Endpoints, TcpSegment

_BITS = (1 << MOST_POINTS) - 1
_ETHERNET, _IPV4 = 1, b"\x08\0"
_CONTROL = FIN | SYN | RST
_ALL_CROSSINGS, _SOME_CROSSINGS = 64, 16
"""Of a direction so many times between two points are taken, and then one of so many."""
_LEAST_REPEATED = 2
"""A segment of fewer bytes may ask whether the other side is there, which is not sent again."""
_MOST_DIRECTIONS = 1 << 14
_MOST_PAIRS = 1 << 15
_MOST_UNSEEN = 1 << 17
_MOST_LATE = 1 << 16
"""Frames that were given before their time came, for want of room, and are known by their sums."""


class Transmissions:
    """Takes the frames of all points in order of time; `release` gives one when it has waited enough.

    ``hold`` are the nanoseconds within which copies are looked for, ``copies`` counts those that were found.
    """

    def __init__(
        self, capture: PointsCapture, times: Sequence[PointTimes], writer: FrameWriter, hold: int
    ) -> None:
        self.copies = 0
        self._capture = capture
        self._times = times
        self._writer = writer
        self._hold = hold
        self._points = len(times)
        self._all = (1 << self._points) - 1
        self._here = {(one.point, one.there): one.here for one in capture.shared.translations}
        self._hosts: dict[tuple[int, bytes], bytes | None] = {}
        for one in capture.shared.translations:
            for there, here in ((one.there[0], one.here[0]), (one.there[2], one.here[2])):
                # An address that stands for several hosts says nothing of a datagram.
                known = self._hosts.setdefault((one.point, there), here)
                self._hosts[one.point, there] = here if known == here else None
        self._young: dict[Endpoints, SentDirection] = {}
        self._old: dict[Endpoints, SentDirection] = {}
        self._pairs: dict[tuple[bytes, bytes, int], Spans] = {}
        self._others = CopyIndex(self._points)
        self._late: deque[Transmission] = deque()
        self._unseen = 0

    def take(self, point: int, frame: Frame, time: int, key: int, place: int) -> Transmission | None:
        """Take a frame; return it where it waits to be given."""
        late = self._late
        while late and (len(late) > _MOST_LATE or key - late[0].key > self._hold):
            _forget(late.popleft())
        sent = Transmission(point, frame, time, key, place)
        carried = dissect(frame)[0]
        if isinstance(carried, TcpSegment):
            return self._segment(sent, carried)
        sent.identity = self._identity(sent, carried)
        return self._matched(sent, self._others)

    def release(self, sent: Transmission, now: int) -> None:
        """Give what no other gives of a frame; ``now`` is the place in time of the last one that came."""
        if sent.alive and self._is_second_copy(sent):
            self.copies += 1
        elif sent.alive:
            self._give(sent)
        sent.end_giving()
        if sent.index is not None:
            if now - sent.key > self._hold:
                _forget(sent)
            else:
                self._late.append(sent)

    def _is_second_copy(self, sent: Transmission) -> bool:
        """Whether a point recorded a frame twice whose bytes were given as another point has them."""
        direction, end = sent.direction, sent.end + sent.takes_a_number
        if not sent.point or direction is None or sent.start == end:
            return False
        return direction.paths.has_copies(sent.point) and any(
            not seen.missing(sent.start, end) for seen in direction.seen[: sent.point]
        )

    def _segment(self, sent: Transmission, segment: TcpSegment) -> Transmission | None:
        ends: Endpoints = (segment.src, segment.sport, segment.dst, segment.dport)
        if self._here:
            ends = self._here.get((sent.point, ends), ends)
        direction = self._young.get(ends) or self._direction(ends, segment.seq)
        flags = segment.flags
        control = flags & _CONTROL
        size = len(segment.payload) + segment.cut
        start = direction.move(segment.seq)
        sent.start, sent.end = start, start + size
        sent.again = not size or not direction.seen[sent.point].missing(start, start + size)
        direction.saw(sent.point, sent.time, start, start + size + (1 if control & (SYN | FIN) else 0))
        if flags & ACK and direction.reverse is not None:
            direction.reverse.acknowledge(segment.ack, sent.time)
        # Segments that take no place in the stream differ by what they acknowledge.
        sent.identity = (
            (start, size, control) if size or control & ~RST else (start, control, segment.ack, None)
        )
        sent.carried, sent.direction, sent.ends = segment, direction, ends
        if (sent.point, segment.path) not in direction.paths:
            own = sent.frame.interface, sent.frame.link_type, segment.path
            direction.paths.add((sent.point, segment.path), own)
        return self._matched(sent, direction.sent)

    def _direction(self, ends: Endpoints, seq: int) -> SentDirection:
        """The direction between two ends, new or not used for long."""
        known = self._old.pop(ends, None)
        src, sport, dst, dport = ends
        if known is None:
            known = SentDirection(seq, self._pair(ends), self._points)
        back = (dst, dport, src, sport)
        reverse = self._young.get(back) or self._old.get(back)
        if reverse is not None:
            known.reverse, reverse.reverse = reverse, known
            known.paths = reverse.paths
        if len(self._young) >= _MOST_DIRECTIONS:
            # Those that were silent since the last time are forgotten.
            self._old, self._young = self._young, {}
        self._young[ends] = known
        return known

    def _pair(self, ends: Endpoints) -> Spans:
        """When each point saw anything that goes the same way between two hosts."""
        src, sport, dst, dport = ends
        pair = (src, dst, min(sport, dport))
        times = self._pairs.get(pair)
        if times is None:
            times = [None] * self._points
            if len(self._pairs) < _MOST_PAIRS:
                self._pairs[pair] = times
        return times

    def _identity(self, sent: Transmission, carried: object) -> Identity:
        """What makes a frame that carries no segment equal to another one."""
        if isinstance(carried, UdpDatagram):
            ends: Endpoints = (carried.src, carried.sport, carried.dst, carried.dport)
            sent.ends = self._datagram_ends(sent.point, ends) if self._here else ends
            sent.carried = carried
            sent.end = len(carried.payload) + carried.cut
            note(self._pair(sent.ends), sent.point, sent.time)
            # A port of the sender may be translated as well.
            return (sent.ends[0], sent.ends[2], sent.end, crc32(carried.payload))
        if isinstance(carried, IpFragment):
            number, offset, payload = carried.identification, carried.offset, carried.payload
            return (carried.src, carried.dst, number, offset, len(payload), crc32(payload))
        if isinstance(carried, IcmpUnreachable):
            quoted = (carried.original_src, carried.original_sport, carried.original_dst)
            return (carried.src, carried.dst, carried.code, *quoted, carried.original_dport)
        return _without_hops(sent.frame)

    def _datagram_ends(self, point: int, ends: Endpoints) -> Endpoints:
        """The ends of a datagram, with the addresses that its hosts have at the first point."""
        src, sport, dst, dport = ends
        hosts = self._hosts
        return (hosts.get((point, src)) or src, sport, hosts.get((point, dst)) or dst, dport)

    def _matched(self, sent: Transmission, index: CopyIndex) -> Transmission | None:
        """Take a frame as a copy of another one, or keep it for one; None where it is not given."""
        point = sent.point
        if not index.others_wait(point):
            index.add(sent)
            return sent
        same = index.find(sent)
        if same is None:
            if sent.direction is not None and sent.end > sent.start:
                return self._by_bytes(sent, index)
            index.add(sent)
            return sent
        self.copies += 1
        self._note_transit(same, sent)
        self._note_again(same, sent, exact=True)
        if point < same.point and not same.given:
            sent.seen |= same.seen
            _fill(sent, same)
            same.alive = False
            index.remove(same)
            if sent.seen != self._all:
                index.add(sent)
            return sent
        same.seen |= 1 << point
        if same.given and same.direction is None:
            self._capture.saw_later(same.number, point)
        _fill(same, sent)
        if same.seen == self._all:
            index.remove(same)
        return None

    def _note_transit(self, one: Transmission, two: Transmission) -> None:
        """Take the time between two copies of a segment that is not an acknowledgment alone."""
        direction, first, second = one.direction, one.carried, two.carried
        if direction is None or not (one.time and two.time) or one.end + one.takes_a_number == one.start:
            return
        direction.crossed[two.point] += 1
        crossed = direction.crossed[two.point]
        weight = 1 if crossed <= _ALL_CROSSINGS else _SOME_CROSSINGS
        if crossed % weight:
            return
        if not isinstance(first, TcpSegment) or not isinstance(second, TcpSegment) or one.ends is None:
            return
        here, there = hops_of(one.frame.data, first), hops_of(two.frame.data, second)
        hops = 0 if here is None or there is None else here - there
        hosts, points = direction.hosts_of(one.ends), (one.point, two.point)
        self._capture.transits.add(hosts, points, two.time - one.time, hops, weight)

    def _note_loss(self, sent: Transmission, direction: SentDirection, point: int, frame: int) -> None:
        """Take a segment that never came to a point, which saw its bytes when they were sent again.

        It was given as ``frame``. What its own point saw before may be a copy that it recorded twice.
        """
        if sent.ends is None or sent.again or direction.paths.has_copies(sent.point):
            return
        if sent.free_of(point) and not self._times[point].lossy:
            hosts = direction.hosts_of(sent.ends)
            held = direction.held_until(point, sent.start, sent.end)
            for other in range(self._points):
                if sent.seen >> other & 1:
                    self._capture.transits.lose(
                        hosts, (other, point), sent.time, max(held - sent.time, 0), frame
                    )

    def _note_again(self, one: Transmission, two: Transmission, *, exact: bool) -> None:
        """Take what two points saw of a segment of which one had seen the bytes before."""
        direction = one.direction
        if direction is None or not (one.again or two.again) or one.start == one.end:
            return
        if one.again and two.again:
            twice = any(direction.paths.has_copies(sent.point) for sent in (one, two))
            is_data = exact and one.end - one.start >= _LEAST_REPEATED
            if is_data and one.ends is not None and not twice:
                self._capture.transits.repeat(direction.hosts_of(one.ends), (one.point, two.point))
            return
        direction.note_came(two if one.again else one)

    def _by_bytes(self, sent: Transmission, index: CopyIndex) -> Transmission | None:
        """The same for a segment that others may have in other parts."""
        for other in index.overlapping(sent):
            shared = within(other.free_of(sent.point), sent.free_of(other.point))
            for start, end in shared:
                if not sent.equals(other, start, end):
                    continue
                self._note_again(other, sent, exact=False)
                sent.take_from(other.point, _less(sent.free_of(other.point), start, end))
                other.take_from(sent.point, _less(other.free_of(sent.point), start, end))
                loser = other if sent.point < other.point and not other.given else sent
                given = ((loser.start, loser.end),) if loser.give is None else loser.give
                loser.give = _less(given, start, end)
            if other.give == () and other.alive and not other.given:
                other.alive = False
                self.copies += 1
                sent.seen |= other.seen & ~(1 << other.point)
            if not other.alive or other.seen == self._all:
                index.remove(other)
        if sent.give == ():
            self.copies += 1
            return None
        if sent.seen != self._all:
            index.add(sent)
        return sent

    def _give(self, sent: Transmission) -> None:
        """Write what no other transmission gives of a frame, and tell the capture who saw it."""
        direction, frame = sent.direction, sent.frame
        for data, length, link_type, interface, start, end in self._frames_of(sent):
            seen, outside, missed, later = sent.seen, 0, 0, []
            for point, times in enumerate(self._times):
                if seen >> point & 1:
                    continue
                if direction is not None and start < end and not direction.seen[point].missing(start, end):
                    seen |= 1 << point
                    later.append(point)
                elif times.outside(sent.time):
                    outside |= 1 << point
                else:
                    missed |= 1 << point
            self._writer.write(data, length, sent.time, link_type, interface)
            number = self._capture.add(sent.place, frame.number, seen & _BITS, outside=outside & _BITS)
            sent.number = number
            if direction is not None:
                for point in later:
                    self._note_loss(sent, direction, point, number)
            if missed:
                self._miss(sent, number, missed, start, end)

    def _miss(self, sent: Transmission, number: int, missed: int, start: int, end: int) -> None:
        """Tell the capture of a frame that some points did not see."""
        direction = sent.direction
        if sent.ends is None or (direction is not None and start == end and not sent.resets):
            # Acknowledgments alone may be left out or put together on the way.
            return
        for point in range(self._points):
            if missed >> point & 1 and self._unseen < _MOST_UNSEEN:
                self._unseen += 1
                unseen: UnseenBytes
                if direction is None:
                    unseen = UnseenDatagram(self._pair(sent.ends), point, self._times, sent.time)
                else:
                    unseen = UnseenRange(direction, point, self._times, sent.time, start, end)
                self._capture.miss(number, point, unseen)

    def _frames_of(self, sent: Transmission) -> Iterator[tuple[bytes, int, int, int, int, int]]:
        """The frames to write: bytes, length, link type and interface, and the offsets of what they carry."""
        frame, carried, direction, ends = sent.frame, sent.carried, sent.direction, sent.ends
        control = 1 if sent.takes_a_number else 0
        whole = (frame.data, frame.length, frame.link_type, frame.interface, sent.start, sent.end + control)
        if isinstance(carried, UdpDatagram) and ends is not None:
            around = link_header(frame.link_type, carried.path, len(ends[0]))
            if around is None or ends == (carried.src, carried.sport, carried.dst, carried.dport):
                yield whole
            else:
                yield (*udp_frame(carried, ends, around), *whole[2:])
            return
        if not isinstance(carried, TcpSegment) or direction is None or ends is None:
            yield whole
            return
        own = frame.interface, frame.link_type, carried.path
        interface, link_type, path = direction.paths.target((sent.origin, carried.path), own)
        pieces = sent.give or ((sent.start, sent.end),)
        is_same = path == carried.path and ends == (carried.src, carried.sport, carried.dst, carried.dport)
        around = link_header(link_type, path, len(ends[0]))
        if (is_same and pieces == ((sent.start, sent.end),)) or around is None:
            yield whole
            return
        for start, end in pieces:
            data, length = tcp_frame(frame.data, carried, ends, around, start - sent.start, end - sent.start)
            yield data, length, link_type, interface, start, end + (control if end == sent.end else 0)


def _forget(sent: Transmission) -> None:
    if sent.index is not None:
        sent.index.remove(sent)


def _fill(sent: Transmission, other: Transmission) -> None:
    """Take the bytes of a copy that is cut less."""
    mine, others = sent.carried, other.carried
    if mine is not None and others is not None and others.cut < mine.cut and not sent.given:
        sent.frame, sent.carried, sent.place, sent.origin = other.frame, others, other.place, other.point


def _less(ranges: Ranges | None, start: int, end: int) -> Ranges:
    return () if not ranges else without(ranges, start, end)


def _without_hops(frame: Frame) -> Identity:
    """What a frame holds, without what each host on its way changes."""
    data = frame.data
    if frame.link_type != _ETHERNET:
        return (frame.link_type, len(data), crc32(data))
    if data[12:14] == _IPV4:
        # Without its hops and its checksum.
        return (_ETHERNET, len(data), crc32(data[26:], crc32(data[14:22] + data[23:24])))
    return (_ETHERNET, len(data), crc32(data[12:]))
