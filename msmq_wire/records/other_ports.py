"""Connections on other ports: nothing is known of them until one begins like MSMQ.

The rule kept here: what waits is bounded, and what is let go is counted.
"""

from __future__ import annotations

from collections import Counter, OrderedDict

from msmq_wire.reassembly.tcp_events import SYN, Endpoints, TcpSegment
from msmq_wire.records.recognition import HTTPS_PORTS, Content, may_begin, may_carry, recognise

NOT_MSMQ = "TCP, not MSMQ"
"""Why a frame is skipped that belongs to another TCP connection."""
UNKNOWN_CALLS = "DCE/RPC calls whose interface was not captured: not decoded"
"""What is counted of calls that may be MSMQ's: they are sealed, or too small to tell."""
_MAX_CONNECTIONS = 4096
"""Connections that are remembered: those that are followed, and as many that are undecided."""
_MAX_BEGINNINGS = 1 << 16
"""Segments with too few bytes to tell what they begin, all connections together."""
_BARE_SEGMENTS, _BARE_ALL = 8, 32
"""Without bytes: of one path, where each may be captured twice, and of all paths between the same ends."""


class OtherPorts:
    """Recognises connections by how a side begins, and keeps the segments before that for as long.

    What is not followed is counted in ``skipped``; what may be MSMQ and cannot be read, in ``notices``.
    """

    def __init__(self, skipped: Counter[str], notices: Counter[str]) -> None:
        self._skipped = skipped
        self._notices = notices
        self._followed: OrderedDict[Endpoints, Content] = OrderedDict()
        self._undecided: OrderedDict[Endpoints, list[TcpSegment]] = OrderedDict()
        self._beginnings = 0

    def __bool__(self) -> bool:
        """Whether any connection is followed, or is not decided about."""
        return bool(self._followed or self._undecided)

    def content(self, endpoints: Endpoints) -> Content | None:
        """What a connection is followed as, in either direction; None where it is not."""
        return self._followed.get(endpoints) or self._followed.get(_reverse(endpoints))

    def hesitates(self, endpoints: Endpoints) -> bool:
        """Whether segments are kept until it is known what the connection is."""
        return endpoints in self._undecided or _reverse(endpoints) in self._undecided

    def holds_beginning(self, endpoints: Endpoints) -> bool:
        """Whether a side began with too few bytes to tell what it is."""
        waiting = self._undecided.get(endpoints) or self._undecided.get(_reverse(endpoints)) or ()
        return any(one.payload for one in waiting)

    def may_forget(self, count: int) -> bool:
        """Whether ``count`` more connections could push out one that is followed."""
        return len(self._followed) + count > _MAX_CONNECTIONS

    def take(self, segment: TcpSegment) -> list[TcpSegment]:
        """The segments to follow now: none while a connection is undecided or is something else."""
        key = (segment.src, segment.sport, segment.dst, segment.dport)
        if self.content(key) is not None:
            return [segment]
        reverse = _reverse(key)
        place = reverse if reverse in self._undecided else key
        begun = self._begun(place, segment)
        content = recognise(begun, segment.dport) or recognise(segment.payload, segment.dport)
        if content is not None:
            waiting = self._taken(place)
            self._followed[key] = content
            if len(self._followed) > _MAX_CONNECTIONS:
                self._followed.popitem(last=False)
            return [*waiting, segment]
        if segment.payload and may_begin(begun):
            self._wait(place, segment)
        elif segment.payload:
            if segment.dport in HTTPS_PORTS:
                self.note(segment.payload, segment.dport)
            self._skipped[NOT_MSMQ] += len(self._taken(place)) + 1
        elif segment.flags & SYN or place in self._undecided:
            self._wait(place, segment)
        else:
            self._skipped[NOT_MSMQ] += 1
        return []

    def note(self, data: bytes, port: int) -> None:
        """Take note of content that may be MSMQ but is not read here."""
        reported = may_carry(data, port)
        if reported:
            self._notices[reported] += 1

    def finish(self) -> None:
        """Count what is still undecided: the capture ends here."""
        for segments in self._undecided.values():
            self._skipped[NOT_MSMQ] += len(segments)
        self._undecided.clear()

    def _begun(self, place: Endpoints, segment: TcpSegment) -> bytes:
        """What a side began with, in the segments that wait and this one."""
        waiting = self._undecided.get(place)
        if not waiting:
            return segment.payload
        own = [one for one in waiting if one.payload and (one.src, one.sport) == (segment.src, segment.sport)]
        return b"".join(one.payload for one in own) + segment.payload if own else segment.payload

    def _wait(self, place: Endpoints, segment: TcpSegment) -> None:
        # The handshake, which belongs to the story if packets follow, and too few bytes to tell.
        waiting = self._undecided.setdefault(place, [])
        waiting.append(segment)
        self._beginnings += bool(segment.payload)
        bare = [one.path for one in waiting if not one.payload]
        if bare.count(segment.path) > _BARE_SEGMENTS or len(bare) > _BARE_ALL:
            self._skipped[NOT_MSMQ] += len(self._taken(place))
        while len(self._undecided) > _MAX_CONNECTIONS or self._beginnings > _MAX_BEGINNINGS:
            self._skipped[NOT_MSMQ] += len(self._taken(next(iter(self._undecided))))

    def _taken(self, place: Endpoints) -> list[TcpSegment]:
        """What waits of a connection; it does not any more."""
        waiting = self._undecided.pop(place, [])
        self._beginnings -= sum(bool(one.payload) for one in waiting)
        return waiting


def _reverse(endpoints: Endpoints) -> Endpoints:
    src, sport, dst, dport = endpoints
    return dst, dport, src, sport
