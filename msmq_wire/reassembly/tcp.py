"""TCP segments in, the bytes of each direction out: in order, once, and every missing byte accounted for.

The rules this module keeps:

* The first copy of a byte wins. A later copy that differs is a `StreamConflict`, checked against what is
  pending and what was delivered last (64 KiB a direction, 16 MiB in all); what is older cannot be compared.
* A hole is lost when the receiver acknowledged past it and 8 later segments of that direction have arrived
  since (captures swap neighbours: an acknowledgement alone proves nothing), when more is pending than the
  limits allow, or when the connection is over: RST, both FINs acknowledged, a new connection on the same
  addresses, eviction, `finish`. No clock is asked.
* A direction whose SYN was captured starts at offset 0 with the byte after it. A direction met mid-stream
  starts with the lowest byte among its first 4 segments, fewer if the peer acknowledges them or the direction
  ends; what arrives below that afterwards cannot be delivered and is counted. One byte without PSH is no
  start: it is a keep-alive probe.
* A sequence number more than 1 GiB (the largest window, RFC 7323 2.3) away from the expected one is not
  believed, unless the peer acknowledges there: then more was lost than sequence numbers can tell, and the gap
  has no length.
* A SYN with another initial sequence number begins a new stream when the old one has ended or never got
  anywhere. Anybody can forge a SYN: on a live connection it is believed once a SYN-ACK answers it, or once
  data follows it where the peer was never captured.
* Bytes acknowledged but never captured are a gap at the end, except a single one: a FIN not captured.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Collection
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from msmq_wire.errors import MsmqWireError

__all__ = [
    "ACK",
    "FIN",
    "PSH",
    "RST",
    "SYN",
    "StreamBytes",
    "StreamConflict",
    "StreamEvent",
    "StreamGap",
    "TcpEvent",
    "TcpReassembler",
    "TcpSegment",
]

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
_CONTROL = FIN | SYN | RST
_MASK = 0xFFFFFFFF
_HALF = 1 << 31
_BARE = 1 << 32  # equals no sequence number

WINDOW = 1 << 30
RESYNC_REACH = 1 << 24  # how near an acknowledgement must be to make a far segment believed
START_REACH = 1 << 16  # how far below the first captured segment a direction may still start
START_SEGMENTS = 4
LOSS_SEGMENTS = 8
TAIL_BYTES = 1 << 16
TAIL_TOTAL = 1 << 24
PIECE_COST = 256  # what a kept piece costs besides its bytes: the tuple, its numbers, the bytes object

Endpoints: TypeAlias = tuple[bytes, int, bytes, int]
Direction: TypeAlias = Literal[0, 1]
Reason: TypeAlias = Literal["loss", "snaplen", "pending-limit"]
Kind: TypeAlias = Literal[
    "syn",
    "syn_ack",
    "syn_retransmission",
    "established",
    "start_midstream",
    "fin",
    "rst",
    "closed",
    "evicted",
]


class TcpSegment(msgspec.Struct, frozen=True, gc=False):
    """One segment as captured: packed addresses (4 or 16 bytes), numbers as on the wire.

    ``cut`` counts payload bytes that were on the wire after ``payload`` but not captured (snap length).
    ``frame`` is 1-based, ``time`` is nanoseconds since the epoch, UTC. Source: RFC 9293 3.1.
    """

    src: bytes
    sport: int
    dst: bytes
    dport: int
    seq: int
    ack: int
    flags: int
    payload: bytes
    frame: int
    time: int
    cut: int = 0


class StreamBytes(msgspec.Struct, frozen=True, gc=False):
    """The next bytes of a direction; ``frame`` and ``time`` are those of the segment that carried them."""

    stream: int
    direction: Direction
    offset: int
    data: bytes
    frame: int
    time: int


class StreamGap(msgspec.Struct, frozen=True, gc=False):
    """Bytes missing from the capture; ``length`` is None when unknown, and then offsets do not move.

    ``frame`` and ``time`` are those of the segment that showed the loss, or that was cut.
    """

    stream: int
    direction: Direction
    offset: int
    length: int | None
    reason: Reason
    frame: int
    time: int


class StreamConflict(msgspec.Struct, frozen=True, gc=False):
    """A later copy in ``frame`` differs from the copy kept.

    ``offset`` is the first byte that differs, ``length`` reaches to the last; bytes between may be equal, or
    in a gap.
    """

    stream: int
    direction: Direction
    offset: int
    length: int
    frame: int
    time: int


class StreamEvent(msgspec.Struct, frozen=True, gc=False):
    """A step in the life of a connection; ``fin`` comes after the last byte of its direction."""

    stream: int
    kind: Kind
    direction: Direction
    frame: int
    time: int


TcpEvent: TypeAlias = StreamBytes | StreamGap | StreamConflict | StreamEvent


class _Piece(NamedTuple):
    """Bytes that wait for a hole before them; ``data`` is None where the snap length cut them off."""

    start: int
    end: int
    data: bytes | None
    frame: int
    time: int


_Range: TypeAlias = tuple[int, int]


def _start(piece: _Piece) -> int:
    return piece.start


def _signed(difference: int) -> int:
    """Return the difference of two sequence numbers as the nearest signed distance."""
    return ((difference + _HALF) & _MASK) - _HALF


class _Shared:
    """What all directions of one reassembler count together."""

    __slots__ = ("ignored", "pending", "tail", "waiting")

    def __init__(self) -> None:
        self.ignored: Counter[str] = Counter()
        self.pending = 0
        self.tail = 0
        self.waiting: dict[_Flow, None] = {}  # directions with pending pieces, longest waiting first


class _Flow:
    """One direction. A position counts from offset 0, or before the start from the first segment seen."""

    __slots__ = (
        "acked", "candidate", "connection", "cost", "direction", "expected", "fin", "fin_told", "held", "isn",
        "mark", "next", "peer", "pieces", "seq0", "shared", "started", "syn_acked", "tail", "tail_cost",
    )  # fmt: skip

    def __init__(self, connection: _Connection, direction: Direction, shared: _Shared) -> None:
        self.connection = connection
        self.direction = direction
        self.shared = shared
        self.peer = self
        self.expected = -1  # what the short path takes: a sequence number, -1 nothing, _BARE bare ACKs
        self.seq0: int | None = None  # sequence number of position 0
        self.next = 0  # position of the next byte to deliver
        self.started = False
        self.isn: int | None = None
        self.syn_acked = False
        self.candidate: TcpSegment | None = None  # a SYN that may begin another connection
        self.acked: int | None = None  # the last acknowledgement number this side sent
        self.fin: _Piece | None = None
        self.fin_told = False
        self.pieces: list[_Piece] = []  # sorted, never overlapping
        self.cost = 0
        self.mark = 0  # position below which holes are lost once `held` later segments are pending
        self.held = 0
        self.tail: list[tuple[int, bytes]] = []  # what was delivered last
        self.tail_cost = 0

    def position(self, seq: int) -> int:
        """Return the position of a sequence number, taken as near as possible to the next byte."""
        return self.next + _signed(seq - (self.seq0 or 0) - self.next)

    @property
    def received(self) -> int:
        """Position the peer acknowledged up to; the next byte when that is unknown or not plausible."""
        if self.peer.acked is None or self.seq0 is None:
            return self.next
        position = self.position(self.peer.acked)
        return position if position - self.next <= WINDOW else self.next

    @property
    def top(self) -> int:
        return self.pieces[-1].end if self.pieces else self.next

    def deliver(self, data: bytes, frame: int, time: int, events: list[TcpEvent]) -> None:
        offset, size = self.next, len(data)
        events.append(StreamBytes(self.connection.stream, self.direction, offset, data, frame, time))
        self.next = offset + size
        tail = self.tail
        tail.append((offset, data))
        grown = size + PIECE_COST
        while self.tail_cost + grown > TAIL_BYTES and len(tail) > 1:
            grown -= len(tail.pop(0)[1]) + PIECE_COST
        self.tail_cost += grown
        self.shared.tail += grown

    def gap(self, length: int, reason: Reason, frame: int, time: int, events: list[TcpEvent]) -> None:
        stream = self.connection.stream
        events.append(StreamGap(stream, self.direction, self.next, length, reason, frame, time))
        self.next += length

    def begin(self, origin: int, events: list[TcpEvent]) -> None:
        """Make ``origin`` offset 0, and deliver what follows it."""
        self.seq0 = ((self.seq0 or 0) + origin) & _MASK
        self.next = self.held = self.mark = 0
        self.started = True
        self.pieces = [p._replace(start=p.start - origin, end=p.end - origin) for p in self.pieces]
        self.drain(events)

    def drain(self, events: list[TcpEvent]) -> None:
        """Deliver the pieces that follow without a hole, and the FIN behind them."""
        count = 0
        for piece in self.pieces:
            if piece.start != self.next:
                break
            count += 1
            if piece.data is None:
                self.gap(piece.end - piece.start, "snaplen", piece.frame, piece.time, events)
            else:
                self.deliver(piece.data, piece.frame, piece.time, events)
        if count:
            self._charge(-sum(map(_cost, self.pieces[:count])))
            del self.pieces[:count]
            if not self.pieces:
                self.shared.waiting.pop(self, None)
        if self.fin is not None and self.next == self.fin.start and not self.fin_told:
            self.fin_told = True
            stream = self.connection.stream
            events.append(StreamEvent(stream, "fin", self.direction, self.fin.frame, self.fin.time))

    def skip(self, limit: int, reason: Reason, frame: int, time: int, events: list[TcpEvent]) -> None:
        """Give up the holes below ``limit``."""
        while self.next < limit:
            end = min(limit, self.pieces[0].start) if self.pieces else limit
            self.gap(end - self.next, reason, frame, time, events)
            self.drain(events)

    def relieve(self, frame: int, time: int, events: list[TcpEvent]) -> None:
        """Stop waiting for the first hole."""
        if self.started:
            self.skip(self.pieces[0].start, "pending-limit", frame, time, events)
        else:
            self.begin(self.pieces[0].start, events)

    def flush(self, frame: int, time: int, events: list[TcpEvent]) -> None:
        """Nothing more comes: deliver all, and the gap after it that the FIN or the peer proves."""
        if self.pieces and not self.started:
            self.begin(self.pieces[0].start, events)
        if self.started:
            self.skip(self.top, "loss", frame, time, events)
            end = self.received if self.fin is None else self.fin.start
            if self.fin is not None or end - self.next > 1:
                self.skip(end, "loss", frame, time, events)

    def drop_tail(self) -> None:
        if self.tail:
            self.shared.tail -= self.tail_cost
            self.tail_cost = 0
            self.tail = []

    def take(self, segment: TcpSegment, events: list[TcpEvent]) -> None:
        """Take the payload of a segment, wherever it lies."""
        payload, cut, frame, time = segment.payload, max(segment.cut, 0), segment.frame, segment.time
        size = len(payload) + cut
        seq = segment.seq + (1 if segment.flags & SYN else 0)
        ignored = self.shared.ignored
        if not self.started and not self.pieces:
            if size == 1 and not segment.flags & PSH:
                ignored["probe"] += 1
                return
            self.seq0, self.next = seq & _MASK, -START_REACH
        start = self.position(seq)
        if size > WINDOW or (abs(start - self.next) > WINDOW and not self._resync(seq, frame, time, events)):
            ignored["out_of_window"] += 1
            return
        start = self.position(seq)
        end = start + size
        # A probe repeats the last byte, with any value; past a hole only the acknowledgement gives it away.
        acked = start > self.next and end == self.received and not segment.flags & PSH
        if size == 1 and (end == self.top or acked):
            ignored["probe"] += 1
            return
        if self.fin is not None and end > self.fin.start:
            ignored["after_fin"] += 1
            payload = payload[: max(0, self.fin.start - start)]
            cut = max(0, min(cut, self.fin.start - start - len(payload)))
            end = start + len(payload) + cut
        if start < self.next:
            if start < min(self.next, 0):
                ignored["before_start"] += 1
            self._compare(start, payload, frame, time, events)
            behind = self.next - start
            payload, cut = payload[behind:], cut - max(0, behind - len(payload))
            start = self.next
        if start >= end:
            return
        if start == self.next and not self.pieces:
            if payload:
                self.deliver(payload, frame, time, events)
            if cut > 0:
                self.gap(cut, "snaplen", frame, time, events)
            self.drain(events)
        else:
            self._hold(start, end, payload, frame, time, events)

    def take_fin(self, segment: TcpSegment, events: list[TcpEvent]) -> None:
        seq = segment.seq + (1 if segment.flags & SYN else 0)
        if not self.started:
            if not self.pieces:
                self.seq0, self.next = seq & _MASK, 0
            self.begin(self.pieces[0].start if self.pieces else 0, events)
        end = self.position(seq) + len(segment.payload) + max(segment.cut, 0)
        if self.fin is None and self.top <= end <= self.next + WINDOW:
            self.fin = _Piece(end, end, None, segment.frame, segment.time)
            self.drain(events)
        elif self.fin is None or self.fin.start != end:
            self.shared.ignored["out_of_window"] += 1

    def _resync(self, seq: int, frame: int, time: int, events: list[TcpEvent]) -> bool:
        """Go on at a far sequence number when the peer acknowledges there."""
        acked = self.peer.acked
        if not self.started or self.fin is not None or acked is None:
            return False
        if abs(_signed(acked - seq)) > RESYNC_REACH:
            return False
        self.skip(self.top, "loss", frame, time, events)
        stream = self.connection.stream
        events.append(StreamGap(stream, self.direction, self.next, None, "loss", frame, time))
        self.seq0 = (seq - self.next) & _MASK
        self.drop_tail()
        return True

    def _hold(
        self, start: int, end: int, payload: bytes, frame: int, time: int, events: list[TcpEvent]
    ) -> None:
        cost = self.cost
        if payload:
            self._insert(start, payload, frame, time, events)
        self._insert_cut(start + len(payload), end, frame, time)
        self.shared.waiting[self] = None
        if self.cost != cost:
            self.held += 1
        if not self.started:
            if self.held >= START_SEGMENTS:
                self.begin(self.pieces[0].start, events)
        elif self.pieces[0].start == self.next:
            self.drain(events)
        elif self.mark <= self.next:
            self.mark, self.held = min(self.received, self.top), 0
        elif self.held >= LOSS_SEGMENTS:
            self.skip(self.mark, "loss", frame, time, events)
            self.mark, self.held = min(self.received, self.top), 0

    def _insert(self, start: int, data: bytes, frame: int, time: int, events: list[TcpEvent]) -> None:
        """Put bytes where no piece has any yet."""
        pieces, end = self.pieces, start + len(data)
        low = bisect_left(pieces, start, key=_start)
        if low and pieces[low - 1].end > start:
            low -= 1
        high = bisect_left(pieces, end, low, key=_start)
        merged: list[_Piece] = []
        differing: _Range | None = None
        at = start
        for piece in pieces[low:high]:
            if at < piece.start:
                merged.append(_Piece(at, piece.start, data[at - start : piece.start - start], frame, time))
            common, at = max(start, piece.start), min(end, piece.end)
            fresh = data[common - start : at - start]
            if piece.data is not None:
                kept = piece.data[common - piece.start : at - piece.start]
                differing = _differ(common, kept, fresh, differing)
                merged.append(piece)
                continue
            if piece.start < common:
                merged.append(piece._replace(end=common))
            merged.append(_Piece(common, at, fresh, frame, time))
            if at < piece.end:
                merged.append(piece._replace(start=at))
        if at < end:
            merged.append(_Piece(at, end, data[at - start :], frame, time))
        self._charge(sum(map(_cost, merged)) - sum(map(_cost, pieces[low:high])))
        pieces[low:high] = merged
        self._conflict(differing, frame, time, events)

    def _insert_cut(self, start: int, end: int, frame: int, time: int) -> None:
        """Mark bytes as cut off by the snap length, up to the next piece at most."""
        at = bisect_left(self.pieces, start, key=_start)
        if at:
            start = max(start, self.pieces[at - 1].end)
        if at < len(self.pieces):
            end = min(end, self.pieces[at].start)
        if start < end:
            self.pieces.insert(at, _Piece(start, end, None, frame, time))
            self._charge(PIECE_COST)

    def _charge(self, cost: int) -> None:
        self.cost += cost
        self.shared.pending += cost

    def _compare(self, start: int, data: bytes, frame: int, time: int, events: list[TcpEvent]) -> None:
        """Compare a later copy with what was delivered."""
        differing: _Range | None = None
        end = start + len(data)
        first = max(0, bisect_left(self.tail, start, key=_offset) - 1)
        for offset, kept in self.tail[first : bisect_left(self.tail, end, key=_offset)]:
            common, common_end = max(start, offset), min(end, offset + len(kept))
            if common < common_end:
                fresh = data[common - start : common_end - start]
                differing = _differ(common, kept[common - offset : common_end - offset], fresh, differing)
        self._conflict(differing, frame, time, events)

    def _conflict(self, differing: _Range | None, frame: int, time: int, events: list[TcpEvent]) -> None:
        if differing is not None:
            (start, end), stream = differing, self.connection.stream
            events.append(StreamConflict(stream, self.direction, start, end - start, frame, time))


def _cost(piece: _Piece) -> int:
    return PIECE_COST + (len(piece.data) if piece.data is not None else 0)


def _offset(delivered: tuple[int, bytes]) -> int:
    return delivered[0]


def _differ(position: int, kept: bytes, fresh: bytes, differing: _Range | None) -> _Range | None:
    """Widen ``differing`` to the last byte that differs; it starts with the first."""
    if kept == fresh:
        return differing
    unequal = [index for index in range(len(kept)) if kept[index] != fresh[index]]
    start = position + unequal[0] if differing is None else differing[0]
    return start, position + unequal[-1] + 1


class _Connection:
    __slots__ = ("closed", "endpoints", "established", "flows", "frame", "reset", "stream", "time")

    def __init__(self, stream: int, endpoints: Endpoints, shared: _Shared) -> None:
        self.stream = stream
        self.endpoints = endpoints
        self.frame = 0
        self.time = 0
        self.established = False
        self.closed = False
        self.reset = False
        self.flows = (_Flow(self, 0, shared), _Flow(self, 1, shared))
        self.flows[0].peer, self.flows[1].peer = self.flows[1], self.flows[0]

    @property
    def live(self) -> bool:
        """Whether a SYN here would hit a connection in use, rather than follow one."""
        first, second = self.flows
        used = second.isn is not None or any(flow.next > 0 or flow.pieces for flow in self.flows)
        return used and first.fin is None and second.fin is None


def _syn_of(flow: _Flow, segment: TcpSegment) -> bool:
    """Whether a SYN can be the one that began this connection, captured late at worst."""
    if flow.isn is not None:
        return flow.isn == segment.seq & _MASK
    if flow.seq0 is not None:
        return 0 <= _signed(flow.seq0 - segment.seq - 1) <= START_REACH
    if segment.flags & ACK or flow.peer.seq0 is None:
        return True
    # The peer spoke first: its SYN may cross this one (simultaneous open), anything else rules it out.
    return flow.peer.isn is not None and not flow.connection.live


def _replaces(flow: _Flow, segment: TcpSegment) -> bool:
    """Whether a segment begins, or proves begun, another connection between the same endpoints."""
    connection, peer, seq = flow.connection, flow.peer, segment.seq & _MASK
    kind = segment.flags & (SYN | ACK)
    if segment.flags & RST:
        return False
    if kind == SYN:
        if connection.closed:
            return connection.reset or flow.isn != seq
        return not connection.live and not _syn_of(flow, segment)
    if kind == SYN | ACK:
        if peer.candidate is not None:
            return segment.ack & _MASK == (peer.candidate.seq + 1) & _MASK
        answers = peer.isn is not None and segment.ack & _MASK == (peer.isn + 1) & _MASK
        return connection.closed and flow.isn != seq and not answers
    if flow.candidate is None or peer.acked is not None:
        return False
    return seq == (flow.candidate.seq + 1) & _MASK


class TcpReassembler:
    """Feed segments in capture order; take events of any stream they bear on.

    ``max_pending_bytes`` bounds what one direction holds back, ``max_pending_total`` what all do; a piece
    costs its length and 256. Beyond, the gap before it is given up (``pending-limit``): in that direction, or
    in the one that has waited longest. ``max_connections`` bounds the connections followed (closed ones
    included, for their late segments): the one longest without a segment is evicted. ``idle_timeout``,
    nanoseconds of packet time or None, evicts those silent for longer.

    Direction 0 goes from the endpoint that sent the SYN; mid-stream from the endpoint whose port is not in
    ``server_ports`` when exactly one is, or else from the first endpoint seen.

    ``ignored`` counts segments that no event shows: ``out_of_window``, ``after_rst``, ``after_close``,
    ``after_fin``, ``before_start``, ``probe``, ``unconfirmed_syn``. No segment makes ``feed`` raise.
    """

    def __init__(
        self,
        *,
        max_pending_bytes: int = 1 << 20,
        max_connections: int = 1 << 16,
        max_pending_total: int = 1 << 26,
        idle_timeout: int | None = None,
        server_ports: Collection[int] = (1801,),
    ) -> None:
        self._max_pending = max_pending_bytes
        self._max_connections = max(1, max_connections)
        self._max_pending_total = max_pending_total
        self._idle_timeout = idle_timeout
        self._server_ports = frozenset(server_ports)
        self._shared = _Shared()
        self._streams = 0
        self._flows: dict[Endpoints, _Flow] = {}
        self._connections: OrderedDict[int, _Connection] = OrderedDict()  # least recently fed first
        self._latest: _Connection | None = None
        self._gone: OrderedDict[int, Endpoints] = OrderedDict()

    @property
    def ignored(self) -> Counter[str]:
        return self._shared.ignored

    @property
    def pending_bytes(self) -> int:
        """What all pending pieces cost now, never more than ``max_pending_total``."""
        return self._shared.pending

    def connection(self, stream: int) -> Endpoints:
        """Return ``(src, sport, dst, dport)`` of direction 0.

        Known for the connections followed and the latest ``max_connections`` before them; others raise
        `MsmqWireError`.
        """
        followed = self._connections.get(stream)
        endpoints = followed.endpoints if followed is not None else self._gone.get(stream)
        if endpoints is None:
            raise MsmqWireError(f"no stream {stream} is known, or it ended too long ago")
        return endpoints

    def feed(self, segment: TcpSegment) -> list[TcpEvent]:
        """Return the events that ``segment`` brings about, in order."""
        events: list[TcpEvent] = []
        if self._idle_timeout is not None:
            self._expire(segment, self._idle_timeout, events)
        flow = self._flows.get((segment.src, segment.sport, segment.dst, segment.dport))
        if flow is not None:
            connection = flow.connection
            if connection is not self._latest:
                self._connections.move_to_end(connection.stream)
                self._latest = connection
            connection.frame, connection.time = segment.frame, segment.time
            if flow.expected >= 0 and not segment.flags & _CONTROL and not segment.cut:
                payload = segment.payload
                if not payload or segment.seq == flow.expected:
                    if segment.flags & ACK:
                        flow.acked = segment.ack
                    if payload:
                        flow.expected = (segment.seq + len(payload)) & _MASK
                        flow.deliver(payload, segment.frame, segment.time, events)
                        if self._shared.tail > TAIL_TOTAL:
                            self._trim_tails()
                    return events
        flow = self._feed_slowly(flow, segment, events)
        while flow.cost > self._max_pending:
            flow.relieve(segment.frame, segment.time, events)
        while self._shared.pending > self._max_pending_total:
            next(iter(self._shared.waiting)).relieve(segment.frame, segment.time, events)
        if self._shared.tail > TAIL_TOTAL:
            self._trim_tails()
        return events

    def finish(self) -> list[TcpEvent]:
        """Return what is pending, with the gaps around it, and forget every connection; counters stay."""
        events: list[TcpEvent] = []
        for connection in list(self._connections.values()):
            self._forget(connection, connection.frame, connection.time, events)
        return events

    def _feed_slowly(self, flow: _Flow | None, segment: TcpSegment, events: list[TcpEvent]) -> _Flow:
        flags = segment.flags
        if flow is not None and _replaces(flow, segment):
            kind = flags & (SYN | ACK)
            first = None if kind == SYN else flow.peer.candidate if kind == SYN | ACK else flow.candidate
            self._forget(flow.connection, segment.frame, segment.time, events)
            flow = None
            if first is not None:
                self._feed_slowly(None, first, events)
                flow = self._flows[segment.src, segment.sport, segment.dst, segment.dport]
        if flow is None:
            flow = self._open(segment, events)
        connection = flow.connection
        carries = bool(segment.payload) or segment.cut > 0
        if connection.closed:
            if carries:
                self.ignored["after_rst" if connection.reset else "after_close"] += 1
            return flow
        if flags & RST:
            self._reset(flow, segment, events)
        elif not flags & SYN or self._handshake(flow, segment, events):
            if flow.seq0 is None:
                flow.seq0 = segment.seq & _MASK
            if flags & ACK:
                self._acknowledge(flow, segment, events)
            if carries:
                flow.take(segment, events)
            if flags & FIN:
                flow.take_fin(segment, events)
            # Once both ends are acknowledged nothing more is sent: holes stay.
            if all(
                side.fin is not None and (side.fin_told or side.received > side.fin.start)
                for side in connection.flows
            ):
                self._close(flow, segment, events)
        for side in connection.flows:
            side.expected = _expected(side)
        return flow

    def _open(self, segment: TcpSegment, events: list[TcpEvent]) -> _Flow:
        if len(self._connections) >= self._max_connections:
            self._evict(next(iter(self._connections.values())), segment, events)
        there = (segment.src, segment.sport, segment.dst, segment.dport)
        back = (segment.dst, segment.dport, segment.src, segment.sport)
        if segment.flags & SYN:
            reverse = bool(segment.flags & ACK)
        else:
            reverse = segment.sport in self._server_ports and segment.dport not in self._server_ports
        connection = _Connection(self._streams, back if reverse else there, self._shared)
        self._streams += 1
        self._connections[connection.stream] = self._latest = connection
        # An endpoint that talks to itself has one key for both directions; direction 0 takes it.
        self._flows[there if reverse else back] = connection.flows[1]
        self._flows[connection.endpoints] = connection.flows[0]
        connection.frame, connection.time = segment.frame, segment.time
        flow = self._flows[there]
        if not segment.flags & SYN:
            connection.established = True
            _tell(flow, "start_midstream", segment, events)
        return flow

    def _handshake(self, flow: _Flow, segment: TcpSegment, events: list[TcpEvent]) -> bool:
        """Take a SYN or SYN-ACK; False when it does not belong to this connection and is to be ignored."""
        ack, peer = bool(segment.flags & ACK), flow.peer
        stray = ack and peer.started and not 0 <= peer.position(segment.ack) <= peer.top + START_REACH
        if stray or not _syn_of(flow, segment):
            self.ignored["unconfirmed_syn"] += 1
            if not ack:
                flow.candidate = msgspec.structs.replace(segment, payload=b"", cut=0)
            return False
        if flow.isn is not None and (flow.syn_acked or not ack):
            _tell(flow, "syn_retransmission", segment, events)
            return True
        _tell(flow, "syn_ack" if ack else "syn", segment, events)
        flow.syn_acked = ack
        flow.isn = segment.seq & _MASK
        if not flow.started:
            if flow.seq0 is None:
                flow.seq0 = (segment.seq + 1) & _MASK
            origin = flow.position(segment.seq + 1)
            flow.begin(min(origin, flow.pieces[0].start) if flow.pieces else origin, events)
        if ack and peer.seq0 is None:
            peer.seq0 = segment.ack & _MASK
            peer.begin(0, events)
        return True

    def _acknowledge(self, flow: _Flow, segment: TcpSegment, events: list[TcpEvent]) -> None:
        flow.acked = segment.ack & _MASK
        connection, peer = flow.connection, flow.peer
        if not connection.established and not segment.flags & SYN and flow.started and peer.started:
            connection.established = True
            _tell(flow, "established", segment, events)
        if peer.pieces and not peer.started and peer.received > peer.pieces[0].start:
            peer.begin(peer.pieces[0].start, events)

    def _reset(self, flow: _Flow, segment: TcpSegment, events: list[TcpEvent]) -> None:
        if (flow.started or flow.pieces) and abs(flow.position(segment.seq) - flow.next) > WINDOW:
            self.ignored["out_of_window"] += 1
            return
        flow.connection.reset = True
        self._close(flow, segment, events)

    def _close(self, flow: _Flow, segment: TcpSegment, events: list[TcpEvent]) -> None:
        connection = flow.connection
        for side in connection.flows:
            side.flush(segment.frame, segment.time, events)
            side.drop_tail()
        if connection.reset:
            _tell(flow, "rst", segment, events)
        connection.closed = True
        _tell(flow, "closed", segment, events)

    def _expire(self, segment: TcpSegment, timeout: int, events: list[TcpEvent]) -> None:
        while self._connections:
            oldest = next(iter(self._connections.values()))
            if segment.time - oldest.time <= timeout:
                return
            self._evict(oldest, segment, events)

    def _evict(self, connection: _Connection, segment: TcpSegment, events: list[TcpEvent]) -> None:
        self._forget(connection, segment.frame, segment.time, events)
        _tell(connection.flows[0], "evicted", segment, events)

    def _forget(self, connection: _Connection, frame: int, time: int, events: list[TcpEvent]) -> None:
        for flow in connection.flows:
            if not connection.closed:
                flow.flush(frame, time, events)
            flow.drop_tail()
        src, sport, dst, dport = connection.endpoints
        del self._flows[connection.endpoints]
        self._flows.pop((dst, dport, src, sport), None)
        del self._connections[connection.stream]
        if self._latest is connection:
            self._latest = None
        self._gone[connection.stream] = connection.endpoints
        if len(self._gone) > self._max_connections:
            self._gone.popitem(last=False)

    def _trim_tails(self) -> None:
        """Drop the tails of the connections longest silent, half of the total at once so it stays rare."""
        for connection in self._connections.values():
            for flow in connection.flows:
                flow.drop_tail()
            if self._shared.tail <= TAIL_TOTAL // 2:
                return


def _expected(flow: _Flow) -> int:
    """Return what the short path may take in this direction; see `_Flow.expected`."""
    connection, peer = flow.connection, flow.peer
    if connection.closed or flow.pieces or flow.fin is not None or (peer.pieces and not peer.started):
        return -1
    if not connection.established and (peer.started or not flow.started):
        return -1
    return ((flow.seq0 or 0) + flow.next) & _MASK if flow.started else _BARE


def _tell(flow: _Flow, kind: Kind, segment: TcpSegment, events: list[TcpEvent]) -> None:
    events.append(StreamEvent(flow.connection.stream, kind, flow.direction, segment.frame, segment.time))
