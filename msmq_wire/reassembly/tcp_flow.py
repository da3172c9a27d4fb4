"""One direction of a TCP connection: put its segments in order, once each, and say what is missing.

The rule kept here: a byte that was captured is delivered or counted as ignored, and memory stays within what
`msmq_wire.reassembly.tcp`, which states all rules of reassembly, allows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, OrderedDict
from operator import itemgetter
from typing import NamedTuple

from msmq_wire.reassembly.tail import SEGMENT_COST, TAIL_BYTES, Range, Tail, differ
from msmq_wire.reassembly.tcp_events import (
    ACK,
    PSH,
    SYN,
    Direction,
    Endpoints,
    Reason,
    StreamBytes,
    StreamConflict,
    StreamEvent,
    StreamGap,
    TcpEvent,
    TcpSegment,
)
from msmq_wire.reassembly.tcp_evidence import ResetEvidence, SideEvidence

MASK = 0xFFFFFFFF
_HALF = 1 << 31

WINDOW = 1 << 30
RESYNC_REACH = 1 << 24  # how near an acknowledgement must be to make a far segment believed
START_REACH = 1 << 16  # how far below the first captured segment a direction may still start
START_SEGMENTS = 4
_CONFLICTS = 16
LOSS_SEGMENTS = 8
TAIL_TOTAL = 1 << 24


class _Piece(NamedTuple):
    """Bytes that wait for a hole before them; ``data`` is None where the snap length cut them off."""

    start: int
    end: int
    data: bytes | None
    frame: int
    time: int


# What most directions have, and nothing is ever put into.
_NO_PIECES: list[_Piece] = []
_NO_TAIL = Tail()
_NO_EVENTS: list[TcpEvent] = []


def _start(piece: _Piece) -> int:
    return piece.start


def signed(difference: int) -> int:
    """Return the difference of two sequence numbers as the nearest signed distance."""
    return ((difference + _HALF) & MASK) - _HALF


class Shared:
    """What all directions of one reassembler count together."""

    __slots__ = ("ignored", "pending", "tail", "unread", "waiting")

    def __init__(self) -> None:
        self.ignored: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()  # payload bytes, by why their segments are ignored
        self.pending = 0
        self.tail = 0
        # Directions with pending pieces, longest waiting first.
        self.waiting: OrderedDict[Flow, None] = OrderedDict()


class Flow:
    """One direction. A position counts from offset 0, or before the start from the first segment seen."""

    __slots__ = (
        "acked", "candidate", "conflicts", "connection", "cost", "direction", "evidence", "expected", "fin",
        "fin_told", "heard", "heard_at", "held", "hop_limit", "hop_limits_vary", "ident", "isn", "latest",
        "mark", "next", "peer", "pieces", "sent_at", "seq0", "shared", "started", "syn_acked", "syn_time",
        "tail",
    )  # fmt: skip

    def __init__(self, connection: Connection, direction: Direction, shared: Shared) -> None:
        self.connection = connection
        self.direction = direction
        self.shared = shared
        self.peer = self
        self.expected = -1  # what the short path takes: a sequence number, -1 nothing, 1 << 32 bare ACKs
        self.seq0: int | None = None  # sequence number of position 0
        self.next = 0  # position of the next byte to deliver
        self.latest = 0  # the frame that carried the byte before it
        self.started = False
        self.heard = False  # whether any segment of this direction was captured
        self.isn: int | None = None
        self.syn_acked = False
        self.syn_time = 0  # of the latest SYN
        self.candidate: TcpSegment | None = None  # a SYN that may begin another connection
        self.acked: int | None = None  # the last acknowledgement number this side sent
        self.fin: _Piece | None = None
        self.fin_told = False
        self.pieces = _NO_PIECES  # sorted, never overlapping
        self.conflicts: tuple[
            tuple[Range, int, int], ...
        ] = ()  # found before the start, told when it is known
        self.cost = 0
        self.mark = 0  # position below which holes are lost once `held` later segments are pending
        self.held = 0
        self.tail = _NO_TAIL
        # Of the latest segment, and of the latest one with data.
        self.heard_at = 0
        self.hop_limit = 0
        self.hop_limits_vary = False
        self.sent_at = 0
        self.ident = 0
        self.evidence: SideEvidence | None = None  # where something was odd

    def position(self, seq: int) -> int:
        """Return the position of a sequence number, taken as near as possible to the next byte."""
        return self.next + signed(seq - (self.seq0 or 0) - self.next)

    def suits(self, segment: TcpSegment) -> bool:
        """Whether the numbers of a segment in this direction are near those of the connection."""
        seq, ack, peer = segment.seq, segment.ack, self.peer
        if segment.flags & SYN:
            if self.isn is not None:
                return self.isn == seq & MASK
            first = peer.acked if self.seq0 is None else self.seq0
            if first is not None:
                return 0 <= signed(first - seq - 1) <= START_REACH
            return bool(segment.flags & ACK) and peer.isn is not None and ack & MASK == (peer.isn + 1) & MASK
        here = peer.acked if self.seq0 is None else self.seq0 + self.next
        there = self.acked if peer.seq0 is None else peer.seq0 + peer.next
        near = [] if here is None else [abs(signed(seq - here)) <= RESYNC_REACH]
        if segment.flags & ACK and there is not None:
            near.append(abs(signed(ack - there)) <= RESYNC_REACH)
        return bool(near) and all(near)

    def known(self, segment: TcpSegment) -> int | None:
        """Return how many bytes of a segment can be compared with what came before; None when one differs."""
        payload = segment.payload
        # One byte without PSH is a keep-alive probe, whatever its value is.
        if self.seq0 is None or not payload or (len(payload) == 1 and not segment.flags & PSH):
            return 0
        start = self.position(segment.seq + (1 if segment.flags & SYN else 0))
        end = start + len(payload)
        if self.tail.differs(start, payload) is not None:
            return None
        count = self.tail.covers(start, end)
        for piece in self.pieces:
            low, high = max(start, piece.start), min(end, piece.end)
            if piece.data is not None and low < high:
                if piece.data[low - piece.start : high - piece.start] != payload[low - start : high - start]:
                    return None
                count += high - low
        return count

    def holds_some(self, start: int, end: int) -> bool:
        """Whether any of some positions waits for a hole before it."""
        before = bisect_left(self.pieces, end, key=_start)
        return before > 0 and self.pieces[before - 1].end > start

    @property
    def received(self) -> int:
        """Position the peer acknowledged up to; the next byte when that is unknown or not plausible."""
        if self.peer.acked is None or self.seq0 is None:
            return self.next
        position = self.position(self.peer.acked)
        return position if position - self.next <= WINDOW else self.next

    @property
    def has_ended(self) -> bool:
        """Whether all up to its FIN was delivered, or the other side acknowledged the FIN."""
        return self.fin is not None and (self.fin_told or self.received > self.fin.start)

    @property
    def waits(self) -> bool:
        """Whether it waits for bytes that the other side acknowledged."""
        return bool(self.pieces) and self.started and self.received > self.next

    @property
    def runs_ahead(self) -> bool:
        """Whether the other side acknowledged what was not captured, and that was not told yet."""
        return self.started and not self.connection.unseen and self.received > self.top + 1

    @property
    def top(self) -> int:
        return self.pieces[-1].end if self.pieces else self.next

    def deliver(self, data: bytes, frame: int, time: int, events: list[TcpEvent]) -> None:
        offset, size = self.next, len(data)
        events.append(StreamBytes(self.connection.stream, self.direction, offset, data, frame, time))
        self.next, self.latest = offset + size, frame
        self._remember(data)

    def delivered(self, size: int, last: memoryview, frame: int) -> None:
        """Take note of ``size`` bytes in order that were delivered elsewhere, the last of them in a frame.

        ``last`` are the last of them, all or at least `TAIL_BYTES`.
        """
        self.next += size
        self.latest = frame
        self.expected = (self.expected + size) & MASK
        self._remember(last[-TAIL_BYTES:])

    def _remember(self, data: bytes | memoryview) -> None:
        """Keep what was delivered up to the next byte, to compare later copies with."""
        if self.tail is _NO_TAIL:
            self.tail = Tail()
        tail = self.tail
        self.shared.tail -= tail.cost
        tail.extend(self.next - len(data), data)
        self.shared.tail += tail.cost

    def gap(self, length: int, reason: Reason, frame: int, time: int, events: list[TcpEvent]) -> None:
        stream = self.connection.stream
        self.connection.lossy |= reason != "snaplen"
        events.append(StreamGap(stream, self.direction, self.next, length, reason, frame, time, self.latest))
        self.next += length

    def begin(self, origin: int, events: list[TcpEvent]) -> None:
        """Make ``origin`` offset 0, and deliver what follows it."""
        self.seq0 = ((self.seq0 or 0) + origin) & MASK
        self.next = self.held = self.mark = 0
        self.started = True
        if self.pieces:
            self.pieces = [p._replace(start=p.start - origin, end=p.end - origin) for p in self.pieces]
        for (start, end), frame, time in self.conflicts:
            self._conflict((start - origin, end - origin), frame, time, events)
        self.conflicts = ()
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
                self.pieces = _NO_PIECES
                self.shared.waiting.pop(self, None)
        if self.fin is not None and self.next == self.fin.start and not self.fin_told:
            self.fin_told = True
            stream = self.connection.stream
            events.append(StreamEvent(stream, "fin", self.direction, self.fin.frame, self.fin.time))

    def skip(self, limit: int, reason: Reason, frame: int, time: int, events: list[TcpEvent]) -> None:
        """Give up the holes below ``limit``."""
        while self.next < limit:
            end = limit
            if self.pieces:
                first = self.pieces[0]
                end, frame, time = min(limit, first.start), first.frame, first.time
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
        self.shared.tail -= self.tail.cost
        self.tail = _NO_TAIL

    def take(self, segment: TcpSegment, events: list[TcpEvent]) -> None:
        """Take the payload of a segment, wherever it lies."""
        payload, cut, frame, time = segment.payload, max(segment.cut, 0), segment.frame, segment.time
        size = len(payload) + cut
        seq = segment.seq + (1 if segment.flags & SYN else 0)
        ignored, unread = self.shared.ignored, self.shared.unread
        if not self.started and not self.pieces:
            if size == 1 and not segment.flags & PSH:
                ignored["probe"] += 1
                return
            self.seq0, self.next = seq & MASK, -START_REACH
        start = self.position(seq)
        if size > WINDOW or (abs(start - self.next) > WINDOW and not self._resync(seq, frame, time, events)):
            ignored["out_of_window"] += 1
            unread["out_of_window"] += len(payload)
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
            unread["after_fin"] += max(0, min(len(payload), start + len(payload) - self.fin.start))
            payload = payload[: max(0, self.fin.start - start)]
            cut = max(0, min(cut, self.fin.start - start - len(payload)))
            end = start + len(payload) + cut
        if start < self.next:
            if start < min(self.next, 0):
                ignored["before_start"] += 1
                unread["before_start"] += min(len(payload), min(self.next, 0) - start)
            self._conflict(self.tail.differs(start, payload), frame, time, events)
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
                self.seq0, self.next = seq & MASK, 0
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
        if abs(signed(acked - seq)) > RESYNC_REACH:
            return False
        self.skip(self.top, "loss", frame, time, events)
        self.connection.lossy = True
        stream = self.connection.stream
        events.append(StreamGap(stream, self.direction, self.next, None, "loss", frame, time, self.latest))
        self.seq0 = (seq - self.next) & MASK
        self.drop_tail()
        return True

    def _hold(
        self, start: int, end: int, payload: bytes, frame: int, time: int, events: list[TcpEvent]
    ) -> None:
        if self.pieces is _NO_PIECES:
            self.pieces = []
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
        else:
            self._despair(frame, time, events)

    def wait(self, frame: int, time: int, events: list[TcpEvent]) -> None:
        """Take note that the other side goes on while this one waits for a hole."""
        if self.pieces and self.started and self.received > self.next:
            self.held += 1
            self._despair(frame, time, events)

    def _despair(self, frame: int, time: int, events: list[TcpEvent]) -> None:
        """Give up holes below the mark once enough came after it; set the mark where there is none."""
        if self.mark <= self.next:
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
        differing: Range | None = None
        at = start
        for piece in pieces[low:high]:
            if at < piece.start:
                merged.append(_Piece(at, piece.start, data[at - start : piece.start - start], frame, time))
            common, at = max(start, piece.start), min(end, piece.end)
            fresh = data[common - start : at - start]
            if piece.data is not None:
                kept = piece.data[common - piece.start : at - piece.start]
                differing = differ(common, kept, fresh, differing)
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
            self._charge(SEGMENT_COST)

    def _charge(self, cost: int) -> None:
        self.cost += cost
        self.shared.pending += cost

    def _conflict(self, differing: Range | None, frame: int, time: int, events: list[TcpEvent]) -> None:
        if differing is None:
            return
        if not self.started:
            # A direction starts after a few segments; there is no need to keep more than that.
            if len(self.conflicts) < _CONFLICTS:
                self.conflicts += ((differing, frame, time),)
        else:
            (start, end), stream = differing, self.connection.stream
            events.append(StreamConflict(stream, self.direction, start, end - start, frame, time))


def _weight(event: TcpEvent) -> int:
    return SEGMENT_COST + (len(event.data) if isinstance(event, StreamBytes) else 0)


def _cost(piece: _Piece) -> int:
    return SEGMENT_COST + (len(piece.data) if piece.data is not None else 0)


class Connection:
    """Both directions between two endpoints; ``frame`` and ``time`` are those of its latest segment.

    ``waiting`` are events that come out as soon as no direction waits for a hole any more.
    """

    __slots__ = (
        "before", "closed", "cost", "endpoints", "established", "flows", "frame", "lossy", "path", "reset",
        "reset_evidence", "shared", "stream", "time", "unseen", "waiting",
    )  # fmt: skip

    def __init__(self, stream: int, endpoints: Endpoints, shared: Shared, path: bytes = b"") -> None:
        self.stream = stream
        self.shared = shared
        self.endpoints = endpoints
        self.path = path  # of the first segment
        self.waiting = _NO_EVENTS
        self.unseen = False  # whether what had not been captured was acknowledged
        self.cost = 0  # of what is waiting
        self.frame = 0
        self.time = 0
        self.before = 0  # the time of the segment before the latest one that was not plain
        self.lossy = False  # whether frames of it were not captured
        self.reset_evidence: ResetEvidence | None = None
        self.established = False
        self.closed = False
        self.reset = False
        self.flows = (Flow(self, 0, shared), Flow(self, 1, shared))
        self.flows[0].peer, self.flows[1].peer = self.flows[1], self.flows[0]

    @property
    def known(self) -> tuple[Endpoints, bytes, bool]:
        """Its ends, what it was captured in, and whether its SYN or SYN-ACK was captured."""
        return self.endpoints, self.path, any(flow.isn is not None for flow in self.flows)

    @property
    def waits(self) -> bool:
        """Whether a direction waits for bytes that the other side acknowledged."""
        return self.flows[0].waits or self.flows[1].waits

    @property
    def pending(self) -> int:
        """What is held back of both directions, in cost."""
        return self.cost + self.flows[0].cost + self.flows[1].cost

    def keep(self, events: list[TcpEvent]) -> None:
        """Let events wait until what is missing came, or was given up."""
        if self.waiting is _NO_EVENTS:
            self.waiting = []
        self.waiting += events
        self._charge(sum(_weight(event) for event in events))

    def released(self) -> list[TcpEvent]:
        """What waited, in the order of the frames; each direction in its own order."""
        latest, keyed = [0, 0], []
        for event in self.waiting:
            latest[event.direction] = max(latest[event.direction], event.frame)
            keyed.append((latest[event.direction], event))
        self.waiting = _NO_EVENTS
        self._charge(-self.cost)
        keyed.sort(key=itemgetter(0))
        return [event for _, event in keyed]

    def _charge(self, cost: int) -> None:
        self.cost += cost
        self.shared.pending += cost

    @property
    def live(self) -> bool:
        """Whether a SYN here would hit a connection in use, rather than follow one."""
        first, second = self.flows
        used = second.isn is not None or any(flow.next > 0 or flow.pieces for flow in self.flows)
        return used and first.fin is None and second.fin is None
