"""Which network a TCP segment belongs to, where its addresses and ports come in several paths.

A path is what segments are captured in: an interface, VLANs, virtual networks, tunnel keys. Two tenants may
use the same addresses and ports in two of them, and then they have two connections. Or the frames of one
connection come in several paths: as copies of a mirror port, with a path for each direction, or by turns.

The rule kept here: another path belongs to a connection that is known unless sequence numbers or bytes
contradict that. Equal sequence numbers prove nothing where the path opens a connection of its own: its
segments are held until enough bytes can be compared. What is held is bounded, and given back at the end.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from msmq_wire.reassembly.tail import SEGMENT_COST
from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import FIN, RST, SYN, Endpoints, TcpSegment
from msmq_wire.reassembly.tcp_flow import Flow

_MOST_ENDS = 1 << 16
"""Pairs of ends with several paths that are remembered, the latest."""
_MOST_PATHS = 16
_MOST_WAITING = 8
_MOST_HELD = 1 << 20
"""What held segments may cost together, each its payload and `SEGMENT_COST`."""
_ENOUGH = 64
"""Equal bytes that prove a copy: acknowledgment packets of two tenants may be equal."""
_MARKS = 1 << 16


class _Paths:
    """The paths of one pair of ends: the network of each, and the segments of those not decided about."""

    __slots__ = ("count", "numbers", "waiting")

    def __init__(self, first: bytes) -> None:
        self.numbers = {first: 0}
        self.waiting: dict[bytes, list[TcpSegment]] = {}
        self.count = 1


class Networks:
    """Tells the networks of one capture apart.

    Network 0 is that of the path that came first. Segments of others get the number of their network behind
    their addresses (see `address_of`), so that everything keyed by address keeps them apart. ``held`` is what
    held segments cost. ``used`` says whether any segment had a path.
    """

    def __init__(self, tcp: TcpReassembler) -> None:
        self._tcp = tcp
        self._paths: OrderedDict[Endpoints, _Paths] = OrderedDict()  # longest unused first
        self.held = 0
        self.used = False

    def has_several(self, endpoints: Endpoints) -> bool:
        """Whether segments between ``(src, sport, dst, dport)`` came in several paths."""
        return _pair(endpoints) in self._paths

    def take(self, segment: TcpSegment) -> Sequence[TcpSegment]:
        """Return the segments to reassemble now, in order: this one, none, or what waited for it, too."""
        self.used = True
        endpoints = (segment.src, segment.sport, segment.dst, segment.dport)
        pair = _pair(endpoints)
        paths, path = self._paths.get(pair), segment.path
        ready: list[TcpSegment] = []
        if paths is None:
            flow = self._tcp.flow(endpoints)
            if flow is None or flow.connection.path == path:
                return (segment,)
            paths = self._paths[pair] = _Paths(flow.connection.path)
            if len(self._paths) > _MOST_ENDS:
                ready += self._settle_all(self._paths.popitem(last=False)[1])
        else:
            self._paths.move_to_end(pair)
        number = paths.numbers.get(path)
        if number is not None:
            ready.append(_numbered(segment, number))
            return ready
        if path not in paths.waiting and len(paths.waiting) == _MOST_PATHS:
            ready += self._settle(paths, next(iter(paths.waiting)))
        waiting = paths.waiting.setdefault(path, [])
        waiting.append(segment)
        self.held += _cost(segment)
        verdicts = [self._belongs(number, waiting) for number in _networks(paths)]
        decided = True in verdicts or None not in verdicts
        if decided or len(waiting) == _MOST_WAITING or self.held > _MOST_HELD:
            ready += self._settle(paths, path)
        return ready

    def finish(self) -> Iterator[TcpSegment]:
        """Yield what is held: the capture ends here."""
        for paths in self._paths.values():
            yield from self._settle_all(paths)

    def _settle_all(self, paths: _Paths) -> list[TcpSegment]:
        return [one for path in list(paths.waiting) for one in self._settle(paths, path)]

    def _settle(self, paths: _Paths, path: bytes) -> list[TcpSegment]:
        """Decide about a path; return its segments, but for those that a connection has already."""
        waiting = paths.waiting.pop(path)
        self.held -= sum(map(_cost, waiting))
        verdicts = {number: self._belongs(number, waiting) for number in _networks(paths)}
        certain = [number for number, verdict in verdicts.items() if verdict]
        possible = [number for number, verdict in verdicts.items() if verdict is None]
        if len(paths.numbers) == _MOST_PATHS:
            del paths.numbers[next(iter(paths.numbers))]
        if certain or possible:
            number = paths.numbers[path] = (certain or possible)[0]
            return [_numbered(one, number) for one in waiting if self._adds(number, one)]
        number = paths.numbers[path] = paths.count
        paths.count = paths.count % (_MARKS - 1) + 1
        return [_numbered(one, number) for one in waiting]

    def _belongs(self, number: int, waiting: Sequence[TcpSegment]) -> bool | None:
        """Whether the segments of a path belong to the connection in a network; None when that is open."""
        equal, opens = 0, False
        for segment in waiting:
            flow = self._flow(number, segment)
            if flow is None or not flow.suits(segment):
                return False
            known = flow.known(segment)
            if known is None:
                return False
            equal += known
            opens = opens or segment.flags & SYN != 0
        if equal >= _ENOUGH:
            return True
        # One path for each direction: this one is not in the connection yet.
        heard = flow is not None and flow.heard
        if opens:
            return True if len(waiting) == 1 and not heard else None
        goes_on = not heard or segment.flags & (FIN | RST) or len(segment.payload) > (known or 0)
        return True if goes_on else None

    def _adds(self, number: int, segment: TcpSegment) -> bool:
        """Whether a segment may tell a connection something that its own did not."""
        flow = self._flow(number, segment)
        if segment.flags & SYN and flow is not None and flow.isn == segment.seq and not segment.payload:
            return False
        bare = not segment.payload and not segment.cut and not segment.flags & (SYN | FIN | RST)
        return not bare or flow is None or not flow.heard

    def _flow(self, number: int, segment: TcpSegment) -> Flow | None:
        one = _numbered(segment, number)
        return self._tcp.flow((one.src, one.sport, one.dst, one.dport))


def address_of(address: bytes) -> bytes:
    """Return an address without the number of its network."""
    return address[:-2] if len(address) in (6, 18) else address


def _pair(endpoints: Endpoints) -> Endpoints:
    """The ends in one order for both directions."""
    src, sport, dst, dport = endpoints
    return endpoints if (src, sport) <= (dst, dport) else (dst, dport, src, sport)


def _networks(paths: _Paths) -> list[int]:
    return sorted(set(paths.numbers.values()))


def _numbered(segment: TcpSegment, number: int) -> TcpSegment:
    if not number:
        return segment
    mark = number.to_bytes(2, "big")
    return replace(segment, src=segment.src + mark, dst=segment.dst + mark)


def _cost(segment: TcpSegment) -> int:
    return len(segment.payload) + SEGMENT_COST
