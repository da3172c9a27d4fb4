"""TCP segments in, the bytes of each direction out: in order, once, and every missing byte accounted for.

The rules kept here and in `tcp_flow`:

* The first copy of a byte wins. A later copy that differs is a `StreamConflict`, checked against what is
  pending and what was delivered last (64 KiB a direction, 16 MiB in all); what is older cannot be compared.
* A hole is lost when the receiver acknowledged past it and 8 later segments with data have arrived since
  (captures swap neighbours: an acknowledgement alone proves nothing), when more is pending than the limits
  allow, or when the connection is over: RST, both FINs acknowledged, a new connection on the same
  addresses, eviction, `finish`. No clock is asked.
* While a direction waits for a hole below what the other side acknowledged, that side waits, too: what both
  bring comes out in the order of the frames.
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
* A SYN that comes again within 10 ms is the same frame captured twice: nobody sends it again that soon.
* Bytes acknowledged but never captured are a gap at the end, except a single one: a FIN not captured.
"""

from __future__ import annotations

import itertools
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator

import msgspec

from msmq_wire.errors import MsmqWireError
from msmq_wire.reassembly.tcp_events import (
    ACK,
    FIN,
    RST,
    SYN,
    Endpoints,
    Kind,
    StreamEvent,
    StreamGap,
    TcpEvent,
    TcpSegment,
)
from msmq_wire.reassembly.tcp_evidence import COPY_TIME
from msmq_wire.reassembly.tcp_flow import (
    MASK,
    START_REACH,
    TAIL_TOTAL,
    WINDOW,
    Connection,
    Flow,
    Shared,
    signed,
)
from msmq_wire.reassembly.tcp_observer import evidence_of, heard, observe, observe_reset

_CONTROL = FIN | SYN | RST
_PLAIN = _CONTROL | ACK
_BARE = 1 << 32  # equals no sequence number


def _syn_of(flow: Flow, segment: TcpSegment) -> bool:
    """Whether a SYN can be the one that began this connection, captured late at worst."""
    if flow.isn is not None:
        return flow.isn == segment.seq & MASK
    if flow.seq0 is not None:
        return 0 <= signed(flow.seq0 - segment.seq - 1) <= START_REACH
    if segment.flags & ACK or flow.peer.seq0 is None:
        return True
    # The peer spoke first: its SYN may cross this one (simultaneous open), anything else rules it out.
    return flow.peer.isn is not None and not flow.connection.live


def _replaces(flow: Flow, segment: TcpSegment) -> bool:
    """Whether a segment begins, or proves begun, another connection between the same endpoints."""
    connection, peer, seq = flow.connection, flow.peer, segment.seq & MASK
    kind = segment.flags & (SYN | ACK)
    if segment.flags & RST:
        return False
    if kind == SYN:
        if connection.closed:
            return connection.reset or flow.isn != seq
        return not connection.live and not _syn_of(flow, segment)
    if kind == SYN | ACK:
        if peer.candidate is not None:
            return segment.ack & MASK == (peer.candidate.seq + 1) & MASK
        answers = peer.isn is not None and segment.ack & MASK == (peer.isn + 1) & MASK
        return connection.closed and flow.isn != seq and not answers
    if flow.candidate is None or peer.acked is not None:
        return False
    return seq == (flow.candidate.seq + 1) & MASK


class TcpReassembler:
    """Feed segments in capture order; take events of any stream they bear on.

    ``max_pending_bytes`` bounds what one connection holds back, ``max_pending_total`` what all do; a piece
    costs its length and 256. Beyond, the gap before it is given up (``pending-limit``): in that connection,
    or in the one that has waited longest. ``max_connections`` bounds the connections followed (closed ones
    included, for their late segments): the one longest without a segment is evicted. ``idle_timeout``,
    nanoseconds of packet time or None, evicts those silent for longer.

    Direction 0 goes from the endpoint that sent the SYN; mid-stream from the endpoint whose port is not in
    ``server_ports`` when exactly one is, or else from the first endpoint seen.

    ``open_ends`` are the ``capture_end`` steps after ``finish`` or `ends`, which do not give them.
    ``ignored`` counts segments that no event shows: ``out_of_window``, ``after_rst``, ``after_close``,
    ``after_fin``, ``before_start``, ``probe``, ``unconfirmed_syn``; ``unread`` counts the payload bytes in
    them that were not delivered before. No segment makes ``feed`` raise.
    """

    def __init__(
        self,
        *,
        max_pending_bytes: int = 1 << 20,
        max_connections: int = 1 << 14,
        max_pending_total: int = 1 << 26,
        idle_timeout: int | None = None,
        server_ports: Collection[int] = (1801,),
    ) -> None:
        self._max_pending = max_pending_bytes
        self._max_connections = max(1, max_connections)
        self._max_pending_total = max_pending_total
        self._idle_timeout = idle_timeout
        self._server_ports = frozenset(server_ports)
        self._shared = Shared()
        self._streams = 0
        self._flows: dict[Endpoints, Flow] = {}
        self._connections: OrderedDict[int, Connection] = OrderedDict()  # least recently fed first
        self._latest: Connection | None = None
        self._gone: OrderedDict[int, tuple[Endpoints, bytes, bool]] = OrderedDict()
        self.open_ends: list[StreamEvent] = []

    @property
    def ignored(self) -> Counter[str]:
        return self._shared.ignored

    @property
    def unread(self) -> Counter[str]:
        return self._shared.unread

    @property
    def pending_bytes(self) -> int:
        """What all pending pieces cost now, never more than ``max_pending_total``."""
        return self._shared.pending

    @property
    def tail_bytes(self) -> int:
        """What is kept of delivered bytes to compare later copies with, in cost; see `TAIL_TOTAL`."""
        return self._shared.tail

    def flow(self, endpoints: Endpoints) -> Flow | None:
        """Return the direction that starts at ``endpoints``, if its connection is followed."""
        return self._flows.get(endpoints)

    def pass_by(self, connection: Connection) -> None:
        """Take note that a segment of ``connection`` passed, for the order of evictions."""
        if connection.stream in self._connections:
            self._connections.move_to_end(connection.stream)
            self._latest = connection

    def evicted_by(self, count: int) -> list[Connection] | None:
        """Return the connections that go if ``count`` others come; None when some of those would go, too."""
        if count > self._max_connections:
            return None
        excess = max(0, len(self._connections) + count - self._max_connections)
        return list(itertools.islice(self._connections.values(), excess))

    def connection(self, stream: int) -> Endpoints:
        """Return ``(src, sport, dst, dport)`` of direction 0.

        Known for the connections followed and the latest ``max_connections`` before them; others raise
        `MsmqWireError`.
        """
        return self._known(stream)[0]

    def path(self, stream: int) -> bytes:
        """Return what its first segment was captured in, as `TcpSegment.path`; known as `connection` is."""
        return self._known(stream)[1]

    def is_opened(self, stream: int) -> bool:
        """Return whether its SYN or SYN-ACK was captured: offset 0 is its start. Known as `connection` is."""
        return self._known(stream)[2]

    def _known(self, stream: int) -> tuple[Endpoints, bytes, bool]:
        followed = self._connections.get(stream)
        known = followed.known if followed is not None else self._gone.get(stream)
        if known is None:
            raise MsmqWireError(f"no stream {stream} is known, or it ended too long ago")
        return known

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
            before = connection.time
            connection.frame, connection.time = segment.frame, segment.time
            plain = flow.expected >= 0 and segment.flags & _PLAIN == ACK and segment.window != 0
            if plain and not segment.cut:
                payload = segment.payload
                if not payload or segment.seq == flow.expected:
                    flow.acked = segment.ack
                    flow.heard_at, flow.hop_limit = segment.time, segment.hop_limit
                    if segment.ack != flow.peer.expected and flow.peer.runs_ahead:
                        self._acknowledge(flow, segment, events)
                    if payload:
                        flow.sent_at, flow.ident = segment.time, segment.ident
                        flow.expected = (segment.seq + len(payload)) & MASK
                        flow.deliver(payload, segment.frame, segment.time, events)
                        if self._shared.tail > TAIL_TOTAL:
                            self._trim_tails()
                    return events
            connection.before = before
        flow = self._feed_slowly(flow, segment, events)
        events = self._in_order(flow.connection, events)
        while flow.connection.pending > self._max_pending:
            events += self._relieved(next(one for one in flow.connection.flows if one.pieces), segment)
        while self._shared.pending > self._max_pending_total:
            events += self._relieved(next(iter(self._shared.waiting)), segment)
        if self._shared.tail > TAIL_TOTAL:
            self._trim_tails()
        return events

    def _in_order(self, connection: Connection, events: list[TcpEvent]) -> list[TcpEvent]:
        """The events that may come out now: while one direction waits for a hole, the other waits, too."""
        waits = connection.waits
        if not waits and not connection.waiting and StreamGap not in map(type, events):
            return events
        connection.keep([event for event in events if event.stream == connection.stream])
        others = [event for event in events if event.stream != connection.stream]
        return others if waits else others + connection.released()

    def _relieved(self, flow: Flow, segment: TcpSegment) -> list[TcpEvent]:
        """Stop waiting for the first hole of a direction."""
        events: list[TcpEvent] = []
        flow.relieve(segment.frame, segment.time, events)
        return self._in_order(flow.connection, events)

    def finish(self) -> list[TcpEvent]:
        """Return what is pending, with the gaps around it, and forget every connection; counters stay."""
        return [event for events in self.ends() for event in events]

    def ends(self) -> Iterator[list[TcpEvent]]:
        """What `finish` returns, connection by connection: together it may be as much as all limits allow."""
        for connection in list(self._connections.values()):
            events: list[TcpEvent] = []
            self._forget(connection, connection.frame, connection.time, events)
            evidence = None if connection.closed else evidence_of(connection)
            if evidence is not None:
                stream, frame, time = connection.stream, connection.frame, connection.time
                self.open_ends.append(StreamEvent(stream, "capture_end", 0, frame, time, evidence))
            yield events

    def _feed_slowly(self, flow: Flow | None, segment: TcpSegment, events: list[TcpEvent]) -> Flow:
        flags = segment.flags
        if flow is not None and _replaces(flow, segment):
            kind = flags & (SYN | ACK)
            first = None if kind == SYN else flow.peer.candidate if kind == SYN | ACK else flow.candidate
            replaced = flow.connection
            self._forget(replaced, segment.frame, segment.time, events)
            if not replaced.closed:
                _tell(flow, "closed", segment, events)
            flow = None
            if first is not None:
                self._feed_slowly(None, first, events)
                flow = self._flows[segment.src, segment.sport, segment.dst, segment.dport]
        if flow is None:
            flow = self._open(segment, events)
        connection = flow.connection
        carries = bool(segment.payload) or segment.cut > 0
        if not flow.heard:
            flow.heard = True
            if not (carries or flags & _CONTROL or events):
                _tell(flow, "bare_ack", segment, events)
        if connection.closed:
            if carries:
                self._ignore("after_rst" if connection.reset else "after_close", flow, segment)
            return flow
        observe(flow, segment)
        if flags & RST:
            self._reset(flow, segment, events)
        elif not flags & SYN or self._handshake(flow, segment, events):
            if flow.seq0 is None:
                flow.seq0 = segment.seq & MASK
            if flags & ACK:
                self._acknowledge(flow, segment, events)
            if carries:
                flow.take(segment, events)
            if flags & FIN:
                flow.take_fin(segment, events)
            if carries:
                flow.peer.wait(segment.frame, segment.time, events)
            # Once both ends are acknowledged nothing more is sent: holes stay.
            if flow.has_ended and flow.peer.has_ended:
                self._close(flow, segment, events)
        flow.expected = _expected(flow)
        flow.peer.expected = _expected(flow.peer)
        return flow

    def _open(self, segment: TcpSegment, events: list[TcpEvent]) -> Flow:
        if len(self._connections) >= self._max_connections:
            self._evict(next(iter(self._connections.values())), segment, events)
        there = (segment.src, segment.sport, segment.dst, segment.dport)
        back = (segment.dst, segment.dport, segment.src, segment.sport)
        if segment.flags & SYN:
            reverse = bool(segment.flags & ACK)
        else:
            reverse = segment.sport in self._server_ports and segment.dport not in self._server_ports
        connection = Connection(self._streams, back if reverse else there, self._shared, segment.path)
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

    def _ignore(self, reason: str, flow: Flow | None, segment: TcpSegment) -> None:
        """Count a segment whose payload nobody reads; the part of it that ``flow`` delivered is a copy."""
        self.ignored[reason] += 1
        size = len(segment.payload)
        if flow is not None and flow.seq0 is not None:
            size = min(size, max(0, flow.position(segment.seq) + size - flow.next))
        self.unread[reason] += size

    def _handshake(self, flow: Flow, segment: TcpSegment, events: list[TcpEvent]) -> bool:
        """Take a SYN or SYN-ACK; False when it does not belong to this connection and is to be ignored."""
        ack, peer = bool(segment.flags & ACK), flow.peer
        stray = ack and peer.started and not 0 <= peer.position(segment.ack) <= peer.top + START_REACH
        if stray or not _syn_of(flow, segment):
            self._ignore("unconfirmed_syn", None, segment)
            if not ack:
                flow.candidate = msgspec.structs.replace(segment, payload=b"", cut=0)
            return False
        heard(flow, segment)
        before, flow.syn_time = flow.syn_time, segment.time
        if flow.isn is not None and (flow.syn_acked or not ack):
            if ack == flow.syn_acked and before and 0 <= segment.time - before <= COPY_TIME:
                return True
            _tell(flow, "syn_retransmission", segment, events)
            return True
        _tell(flow, "syn_ack" if ack else "syn", segment, events)
        flow.syn_acked = ack
        flow.isn = segment.seq & MASK
        if not flow.started:
            if flow.seq0 is None:
                flow.seq0 = (segment.seq + 1) & MASK
            origin = flow.position(segment.seq + 1)
            flow.begin(min(origin, flow.pieces[0].start) if flow.pieces else origin, events)
        if ack and peer.seq0 is None:
            peer.seq0 = segment.ack & MASK
            peer.begin(0, events)
        return True

    def _acknowledge(self, flow: Flow, segment: TcpSegment, events: list[TcpEvent]) -> None:
        flow.acked = segment.ack & MASK
        connection, peer = flow.connection, flow.peer
        if not connection.established and not segment.flags & SYN and flow.started and peer.started:
            connection.established = True
            _tell(flow, "established", segment, events)
        if peer.pieces and not peer.started and peer.received > peer.pieces[0].start:
            peer.begin(peer.pieces[0].start, events)
        # One byte more is that of a FIN.
        if peer.runs_ahead:
            connection.unseen = True
            _tell(flow, "unseen", segment, events)

    def _reset(self, flow: Flow, segment: TcpSegment, events: list[TcpEvent]) -> None:
        observe_reset(flow, segment)
        if (flow.started or flow.pieces) and abs(flow.position(segment.seq) - flow.next) > WINDOW:
            self.ignored["out_of_window"] += 1
            return
        flow.connection.reset = True
        self._close(flow, segment, events)

    def _close(self, flow: Flow, segment: TcpSegment, events: list[TcpEvent]) -> None:
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

    def _evict(self, connection: Connection, segment: TcpSegment, events: list[TcpEvent]) -> None:
        self._forget(connection, segment.frame, segment.time, events)
        _tell(connection.flows[0], "evicted", segment, events)

    def _forget(self, connection: Connection, frame: int, time: int, events: list[TcpEvent]) -> None:
        own: list[TcpEvent] = []
        for flow in connection.flows:
            if not connection.closed:
                flow.flush(frame, time, own)
            flow.drop_tail()
        events += self._in_order(connection, own)
        src, sport, dst, dport = connection.endpoints
        del self._flows[connection.endpoints]
        self._flows.pop((dst, dport, src, sport), None)
        del self._connections[connection.stream]
        if self._latest is connection:
            self._latest = None
        self._gone[connection.stream] = connection.known
        if len(self._gone) > self._max_connections:
            self._gone.popitem(last=False)

    def _trim_tails(self) -> None:
        """Drop the tails of the connections longest silent, half of the total at once so it stays rare."""
        for connection in self._connections.values():
            for flow in connection.flows:
                flow.drop_tail()
            if self._shared.tail <= TAIL_TOTAL // 2:
                return


def _expected(flow: Flow) -> int:
    """Return what the short path may take in this direction; see `Flow.expected`."""
    connection, peer = flow.connection, flow.peer
    if connection.closed or flow.fin is not None or not flow.heard:
        return -1
    if flow.pieces or peer.pieces or connection.waiting:
        return -1
    if not connection.established and (peer.started or not flow.started):
        return -1
    if flow.evidence is not None and flow.evidence.closed_since is not None:
        # The segment that opens the window must not pass unseen, nor the one that answers.
        return -1
    if peer.evidence is not None and peer.evidence.unanswered:
        return -1
    return ((flow.seq0 or 0) + flow.next) & MASK if flow.started else _BARE


def _tell(flow: Flow, kind: Kind, segment: TcpSegment, events: list[TcpEvent]) -> None:
    connection = flow.connection
    evidence = evidence_of(connection) if kind in ("closed", "evicted") else None
    events.append(StreamEvent(connection.stream, kind, flow.direction, segment.frame, segment.time, evidence))
