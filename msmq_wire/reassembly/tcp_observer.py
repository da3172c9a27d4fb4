"""Looks at the segments that the short path of reassembly does not take, for what they show of the network.

The rule kept here: nothing here changes what is delivered. A connection that keeps to the rules costs nothing
but the time, the hop limit and the identification of the latest segment.
"""

from __future__ import annotations

from msmq_wire.reassembly.tcp_events import ACK, FIN, PSH, RST, SYN, TcpSegment
from msmq_wire.reassembly.tcp_evidence import (
    COPY_TIME,
    ForgedBy,
    FrameTime,
    ResetEvidence,
    SideEvidence,
    TcpEvidence,
    between,
    is_same_packet,
)
from msmq_wire.reassembly.tcp_flow import MASK, RESYNC_REACH, WINDOW, Connection, Flow


def observe(flow: Flow, segment: TcpSegment) -> None:
    """Take note of a segment that is about to be reassembled, other than the SYN of a connection."""
    flags = segment.flags
    if flags & (SYN | RST):
        return
    peer = flow.peer
    carries = bool(segment.payload) or segment.cut > 0 or flags & FIN != 0
    if flow.evidence is None and peer.evidence is None and segment.window and flow.fin is None:
        # Nothing was odd so far, nothing is missing, and most segments follow.
        follows = flow.started and (segment.seq - (flow.seq0 or 0) - flow.next) & MASK == 0
        if follows and not flow.pieces and not peer.pieces:
            if carries:
                flow.sent_at, flow.ident = segment.time, segment.ident
            heard(flow, segment)
            return
    known = flow.started or bool(flow.pieces)
    if known and abs(flow.position(segment.seq) - flow.next) > WINDOW:
        return
    at = FrameTime(segment.frame, segment.time)
    if peer.evidence is not None:
        peer.evidence.answered()
    if segment.window == 0 and not flags & FIN:
        _evidence(flow).window(0, at)
    elif segment.window > 0 and flow.evidence is not None:
        flow.evidence.window(segment.window, at)
    if carries and known:
        carries = _sent(flow, segment, at)
    elif flags & ACK and peer.pieces and peer.started and peer.position(segment.ack) == peer.next:
        _evidence(peer).asks(segment.ident)
    if carries:
        flow.sent_at, flow.ident = segment.time, segment.ident
    heard(flow, segment)


def heard(flow: Flow, segment: TcpSegment) -> None:
    """Take note that a segment of this side was captured."""
    hop_limit = segment.hop_limit
    if hop_limit != flow.hop_limit:
        flow.hop_limits_vary |= bool(hop_limit and flow.hop_limit)
        flow.hop_limit = hop_limit
    flow.heard_at = segment.time


def observe_reset(flow: Flow, segment: TcpSegment) -> None:
    """Take note of a reset, also of one that fits nothing; the first that is forged is kept."""
    connection = flow.connection
    before = connection.reset_evidence
    if not connection.established or (before is not None and before.forged_by is not None):
        return
    known = flow.started or bool(flow.pieces)
    distance = abs(flow.position(segment.seq) - flow.next) if known else 0
    hop_limit, usual = segment.hop_limit or None, flow.hop_limit or None
    forged_by: ForgedBy | None = None
    if distance > RESYNC_REACH:
        forged_by = "sequence_number"
    elif hop_limit and usual and hop_limit != usual and not flow.hop_limits_vary:
        forged_by = "hop_limit"
    connection.reset_evidence = ResetEvidence(
        at=FrameTime(segment.frame, segment.time),
        side=flow.direction,
        idle=between(connection.before, segment.time),
        silent=between(flow.heard_at, segment.time),
        hop_limit=hop_limit,
        usual_hop_limit=usual,
        forged_by=forged_by,
    )


def evidence_of(connection: Connection) -> TcpEvidence | None:
    """What a connection showed that is over, or followed no longer; None for nothing."""
    flows = connection.flows
    odd = any(flow.evidence is not None and flow.evidence.is_odd for flow in flows)
    if connection.reset_evidence is None and not odd:
        return None
    for flow in flows:
        if flow.evidence is not None:
            flow.evidence.measure(connection.time)
            if flow.started and flow.peer.acked is not None:
                flow.evidence.unacknowledged = max(0, flow.top - flow.received)
    return TcpEvidence(
        sides=(flows[0].evidence or SideEvidence(), flows[1].evidence or SideEvidence()),
        reset=connection.reset_evidence,
        lossy=connection.lossy or connection.unseen,
    )


def _evidence(flow: Flow) -> SideEvidence:
    if flow.evidence is None:
        flow.evidence = SideEvidence()
    return flow.evidence


def _sent(flow: Flow, segment: TcpSegment, at: FrameTime) -> bool:
    """Take note of data, or of a FIN, in a direction that has some; False for a probe and for a copy."""
    size = len(segment.payload) + max(0, segment.cut)
    start, top = flow.position(segment.seq), flow.top
    end = start + size
    if size == 1 and end <= top and not segment.flags & PSH:
        # A keep-alive probe.
        return False
    if not size:
        again = flow.fin is not None and flow.fin.start == end
    elif start < flow.next:
        # One byte more than is new: it was sent before to probe a full receive window.
        again = end > min(0, flow.next) and not start + 1 == flow.next < end
    elif start >= top:
        if start > top and flow.started:
            evidence = _evidence(flow)
            evidence.holes += 1
            evidence.asked *= bool(flow.pieces)
        again = False
    else:
        opened = flow.pieces[0].time
        again = flow.holds_some(start, end)
        if not again and _evidence(flow).is_recovery(opened, segment.time):
            _evidence(flow).sent_again(at, recovers=True)
    if not again:
        return True
    if _is_copy(flow, segment):
        return False
    evidence = _evidence(flow)
    evidence.sent_again(at, recovers=False)
    if flow.peer.heard:
        evidence.unanswered_by(at, FrameTime(flow.latest, flow.sent_at), flow.peer.heard_at)
    return True


def _is_copy(flow: Flow, segment: TcpSegment) -> bool:
    """Whether a segment that comes again is a frame that was captured twice, as far as can be told."""
    same = is_same_packet(flow.ident, segment.ident)
    if same is not None:
        # A packet keeps its identification however late it is captured again, as in another network.
        return same
    if not 0 <= segment.time - flow.sent_at <= COPY_TIME:
        return False
    # Who sends again this soon has heard from the other side, that something is missing.
    return flow.peer.heard_at <= flow.sent_at
