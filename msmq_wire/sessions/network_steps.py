"""What the steps of a connection tell of the network, as `NetworkEvidence`.

The rule kept here: as much for each session, whatever comes. Of ICMP messages the first different ones are
told, and of each how often it came.
"""

from __future__ import annotations

import msgspec

from msmq_wire.reassembly.tcp_evidence import (
    FrameTime,
    ResetEvidence,
    SideEvidence,
    TcpEvidence,
    TooBigEvidence,
)
from msmq_wire.records.endpoint import endpoint, host_of
from msmq_wire.records.joined_capture import JoinedCapture
from msmq_wire.records.record import Record
from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.network_evidence import (
    ConnectionReset,
    NetworkEvidence,
    PacketTooBig,
    SentEvidence,
)

_MOST_TOO_BIG = 4


def with_step(network: NetworkEvidence | None, record: Record, direction: int) -> NetworkEvidence | None:
    """What is known with a step more; ``direction`` is that of the step: 0 from the client."""
    step = record.network
    if isinstance(step, TcpEvidence):
        return _with_tcp(network or NetworkEvidence(), record, step.seen_from(direction))
    if isinstance(step, TooBigEvidence):
        return _with_too_big(network or NetworkEvidence(), record, step, direction)
    return network


def _with_tcp(network: NetworkEvidence, record: Record, evidence: TcpEvidence) -> NetworkEvidence:
    first, second = (_sent(record.id, side) for side in evidence.sides)
    return msgspec.structs.replace(
        network,
        directions=(first, second),
        reset=None if evidence.reset is None else _reset(record, evidence.reset),
        certain=not evidence.lossy,
    )


def _moment(record: int, at: FrameTime | None) -> Moment | None:
    return None if at is None else Moment(record, at.frame, at.time or None)


def _sent(record: int, side: SideEvidence) -> SentEvidence:
    return SentEvidence(
        retransmissions=side.retransmissions,
        recovered=side.recovered,
        first_retransmission=_moment(record, side.first_retransmission),
        last_retransmission=_moment(record, side.last_retransmission),
        unanswered=side.unanswered,
        unanswered_since=_moment(record, side.unanswered_since),
        unanswered_time=side.unanswered_time,
        idle_before=side.idle_before,
        unacknowledged=side.unacknowledged,
        zero_windows=side.zero_windows,
        window_closings=side.window_closings,
        first_zero_window=_moment(record, side.first_zero_window),
        last_zero_window=_moment(record, side.last_zero_window),
        longest_zero_window=side.longest_zero_window,
        window_closed=side.closed_since is not None,
    )


def _reset(record: Record, reset: ResetEvidence) -> ConnectionReset:
    # Places of recording see the same packet with different hop limits: there they tell nothing.
    capture = record.capture
    one_place = not isinstance(capture, JoinedCapture) or len(capture.point_files) < 2
    return ConnectionReset(
        at=Moment(record.id, reset.at.frame, reset.at.time or None),
        direction=reset.side,
        idle=reset.idle,
        silent=reset.silent,
        hop_limit=reset.hop_limit,
        usual_hop_limit=reset.usual_hop_limit if one_place else None,
        forged_by=reset.forged_by if one_place or reset.forged_by != "hop_limit" else None,
    )


def _with_too_big(
    network: NetworkEvidence, record: Record, step: TooBigEvidence, direction: int
) -> NetworkEvidence:
    router, mtu = host_of(endpoint(step.router, 0)), step.mtu or None
    moment = Moment(record.id, record.frames[-1] if record.frames else None, record.time)
    known = list(network.too_big)
    for place, one in enumerate(known):
        if (one.direction, one.router, one.mtu) == (direction, router, mtu):
            known[place] = msgspec.structs.replace(one, count=one.count + 1, last=moment)
            break
    else:
        if len(known) < _MOST_TOO_BIG:
            known.append(
                PacketTooBig(direction=direction, router=router, mtu=mtu, count=1, first=moment, last=moment)
            )
    return msgspec.structs.replace(network, too_big=tuple(known))
