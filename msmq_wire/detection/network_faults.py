"""`faults_of`: what the network, or the TCP of a host, did to a session, as `Session.network` shows it.

The rule kept here: nothing accuses the network where the capture itself lost frames of the connection. What
did not come to a host, or was not read there, its queue manager cannot answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from msmq_wire.records.coverage import Need, Position
from msmq_wire.records.visibility import Visibility
from msmq_wire.sessions import ConnectionReset, Moment, NetworkEvidence, Session
from msmq_wire.units import SECOND

FaultKind: TypeAlias = Literal["unanswered", "resent", "window", "reset", "idle", "mtu"]

FAULT_NEEDS: Mapping[FaultKind, tuple[Need, ...]] = {
    "unanswered": ("both_sides", "counted", "in_time", "one_network"),
    "resent": ("one_network",),
    "window": ("both_sides", "in_time", "one_network"),
    "reset": ("one_network",),
    "idle": ("both_sides", "counted", "in_time", "one_network"),
    "mtu": ("one_network",),
}
"""What a capture must hold of a connection to show each fault; a segment or a message shows the others."""

_LEAST_AGAIN = 2
_LEAST_TIME = SECOND
"""Bytes are unanswered if they were sent again so often, over so long. TCP doubles the time each time."""
_LEAST_RESENT, _LEAST_SHARE = 10, 0.02
"""Segments that are sent again are told from so many on, and from such a share of those of the direction."""
_LEAST_CLOSED = SECOND
"""A window that is full for less than this is ordinary flow control."""
_LEAST_IDLE = 60 * SECOND
"""No firewall is known to give up a connection sooner."""
_LONGEST_PAUSE = 60 * SECOND
_ANSWER = 3 * SECOND
"""A reset that answers a message comes within this time; a sender sends again after it at the latest."""
_SEGMENT = 1460
_LEAST_TOO_BIG = 3
"""A sender that heeds the first message sends nothing too big again, but a few segments may be on the way."""


class NetworkFault(NamedTuple):
    """One fault of a session. ``side`` is who suffers: whose bytes did not arrive, or were not read.

    0 is the client. ``times`` counts segments, messages or closings. ``idle`` is the time without traffic
    before, ``lasted`` how long it is known to have gone on, in nanoseconds.
    """

    kind: FaultKind
    session: Session
    side: int
    times: int
    moments: tuple[Moment, ...]
    lasted: int = 0
    idle: int = 0

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends, the one that suffers first."""
        ends = self.session.client, self.session.server
        return (ends[1], ends[0]) if self.side else ends


def faults_of(session: Session) -> tuple[NetworkFault, ...]:
    """The faults of a session, those that explain most first; none where the capture lost frames of it."""
    evidence = session.network
    if evidence is None or not evidence.certain:
        return ()
    found = [_reset(session, evidence), *(_of_side(session, evidence, side) for side in (0, 1))]
    found += (_window(session, evidence, side) for side in (0, 1))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: _ORDER.index(one.kind)))


_ORDER: tuple[FaultKind, ...] = ("idle", "mtu", "unanswered", "window", "reset", "resent")


def final_fault(session: Session) -> NetworkFault | None:
    """The fault after which nothing could be acknowledged any more; None if there is none."""
    return next((one for one in faults_of(session) if _is_final(one)), None)


def shown_fault(session: Session | None, visibility: Visibility) -> NetworkFault | None:
    """The final fault of a session, if the capture holds what shows it."""
    fault = None if session is None else final_fault(session)
    return None if fault is None or lacks(fault, visibility) else fault


def shown_faults(session: Session, visibility: Visibility) -> tuple[NetworkFault, ...]:
    """All faults of a session that the capture can show."""
    return tuple(one for one in faults_of(session) if not lacks(one, visibility))


def lacks(fault: NetworkFault, visibility: Visibility) -> tuple[str, ...]:
    """What was not captured of what shows a fault, as caveats."""
    session = fault.session
    place = Position(
        session.capture, session.first.record, session.first.frame or 0, session.client, session.server
    )
    return visibility.lacking(FAULT_NEEDS[fault.kind], place)


def delay_fault(session: Session, since: Moment | None, waited: int | None) -> NetworkFault | None:
    """The fault that went on while a message waited so many nanoseconds for its acknowledgment.

    Few segments that were sent again are no fault of the session, but one of the wait.
    """
    if since is None or since.time is None or not waited:
        return None
    until = since.time + waited
    found = next((one for one in faults_of(session) if _overlaps(one, since.time, until)), None)
    if found is not None or session.network is None or not session.network.certain:
        return found
    both = (_resent(session, side) for side in (0, 1))
    return next((one for one in both if one is not None and _fills(one, since.time, until)), None)


def is_unacknowledged(session: Session, side: int) -> bool:
    """Whether TCP acknowledged not all that a side sent, so that its queue manager cannot blame another."""
    evidence = session.network
    if evidence is None or not evidence.certain:
        return False
    sent = evidence.directions[side]
    return bool(sent.unacknowledged or sent.unanswered)


def share_resent(session: Session, side: int) -> float:
    """About which share of the segments of a side were sent again.

    How many it sent is known at least: one for each message and acknowledgment, or for each 1,460 bytes.
    """
    assert session.network is not None
    sent = session.network.directions[side]
    there, back = session.directions[side], session.directions[1 - side]
    again = sent.retransmissions + sent.recovered
    segments = max(there.messages + back.session_acks + 2, there.bytes // _SEGMENT)
    return again / (segments + again)


def _is_final(fault: NetworkFault) -> bool:
    evidence = fault.session.network
    assert evidence is not None
    match fault.kind:
        case "window":
            return evidence.directions[1 - fault.side].window_closed
        case "mtu":
            return evidence.directions[fault.side].unanswered >= _LEAST_AGAIN
        case "resent":
            return False
    return True


def _overlaps(fault: NetworkFault, since: int, until: int) -> bool:
    """Whether a fault of the session went on in the time of a wait, and explains it."""
    times = [one.time for one in fault.moments if one.time is not None]
    if fault.kind in ("reset", "resent") or not times:
        return False
    first, last = min(times), max(*times, min(times) + fault.lasted)
    # A window that was full for a moment does not explain a long wait.
    long_enough = fault.kind != "window" or 2 * fault.lasted >= until - since
    return first <= until and last >= since and long_enough


def _fills(fault: NetworkFault, since: int, until: int) -> bool:
    """Whether segments were sent again for most of a wait; a sender waits a minute at most between two."""
    times = [one.time for one in fault.moments if one.time is not None]
    if fault.times < _LEAST_AGAIN or len(times) < 2 or max(times) - min(times) > fault.times * _LONGEST_PAUSE:
        return False
    return 2 * (min(max(times), until) - max(min(times), since)) >= until - since


def _resent(session: Session, side: int) -> NetworkFault | None:
    assert session.network is not None
    sent = session.network.directions[side]
    first, last = sent.first_retransmission, sent.last_retransmission
    if first is None or last is None:
        return None
    return NetworkFault("resent", session, side, sent.retransmissions + sent.recovered, (first, last))


def _of_side(session: Session, evidence: NetworkEvidence, side: int) -> NetworkFault | None:
    """What happened to the bytes of a side: nothing answered them, or many were sent again."""
    sent = evidence.directions[side]
    told = [one for one in evidence.too_big if one.direction == side]
    lasted, idle = sent.unanswered_time or 0, sent.idle_before or 0
    # A sender also asks again and again whether a window has opened.
    lost = sent.unanswered >= _LEAST_AGAIN and lasted >= _LEAST_TIME
    lost = lost and not evidence.directions[1 - side].window_closed
    moments = tuple(one for one in (sent.unanswered_since, sent.last_retransmission) if one is not None)
    if told and (lost or sum(one.count for one in told) >= _LEAST_TOO_BIG):
        at = tuple(moment for one in told for moment in dict.fromkeys((one.first, one.last)))
        return NetworkFault("mtu", session, side, sum(one.count for one in told), (*at, *moments), lasted)
    if lost:
        kind: FaultKind = "idle" if idle >= _LEAST_IDLE else "unanswered"
        return NetworkFault(kind, session, side, sent.unanswered, moments, lasted, idle)
    again = _resent(session, side)
    if again is None or again.times < _LEAST_RESENT or share_resent(session, side) < _LEAST_SHARE:
        return None
    return again


def _window(session: Session, evidence: NetworkEvidence, side: int) -> NetworkFault | None:
    """The times at which the other side of ``side`` had no room for its bytes."""
    other = evidence.directions[1 - side]
    longest = other.longest_zero_window or 0
    if not other.zero_windows or (longest < _LEAST_CLOSED and not other.window_closed):
        return None
    both = (other.first_zero_window, other.last_zero_window)
    moments = tuple(dict.fromkeys(one for one in both if one is not None))
    return NetworkFault("window", session, side, max(other.window_closings, 1), moments, longest)


def _reset(session: Session, evidence: NetworkEvidence) -> NetworkFault | None:
    """A reset that somebody between the two sides seems to have sent, or that answers what ends a silence.

    Where a side sends after a long time, and gets a reset at once, the other end of the connection is gone:
    a device forgot it, or the host was restarted.
    """
    reset = evidence.reset
    if reset is None:
        return None
    side = 1 - reset.direction
    idle = max((reset.idle or 0) * (reset.forged_by is not None), _silence_before(session, side, reset))
    if reset.forged_by is None and idle < _LEAST_IDLE:
        return None
    kind: FaultKind = "idle" if idle >= _LEAST_IDLE else "reset"
    return NetworkFault(kind, session, side, 1, (reset.at,), 0, idle)


def _silence_before(session: Session, side: int, reset: ConnectionReset) -> int:
    """The time without messages before the first one that a reset answers at once; 0 if it answers none.

    Who was silent in TCP for less has taken part until then.
    """
    there, back = session.directions[side], session.directions[1 - side]
    since, last = there.waiting_since, there.last_message
    heard = (there.last_ack, back.last_message, back.last_ack, session.opened)
    times = [one.time for one in heard if one is not None and one.time is not None]
    if since is None or last is None or None in (since.time, last.time, reset.at.time) or not times:
        return 0
    assert since.time is not None
    assert last.time is not None
    assert reset.at.time is not None
    silence = since.time - max(times)
    silence = silence if reset.silent is None else min(silence, reset.silent)
    return silence if 0 <= reset.at.time - last.time <= _ANSWER else 0
