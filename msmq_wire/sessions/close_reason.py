"""`close_reason`: the rule of [MS-MQQB] that explains why a session was closed.

The rule kept here: no packet says why, so this is a conclusion; where no rule fits, nothing is said.
"""

from __future__ import annotations

from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.session import CloseReason, NoteKind, Session
from msmq_wire.units import MILLISECOND, SECOND

_INITIALIZATION = 54
"""Seconds; the timer is 60 by default, [MS-MQQB] note 43, and both ends have one."""
_IDLE = 108
"""Seconds; the timer is 120 on a routing server and 300 elsewhere by default, [MS-MQQB] note 44."""
_BROKEN: tuple[tuple[CloseReason, tuple[NoteKind, ...]], ...] = (
    ("not_open", ("message_before_open", "ack_before_open")),
    ("second_establish", ("establish_again", "establish_after_open")),
    ("message_counts", ("sent_count", "recoverable_count")),
)


def close_reason(session: Session) -> CloseReason | None:
    """The rule that demands the closing, None where none fits or the session was not closed in order."""
    close = session.close
    if close is None or session.closer is None or session.state == "refused_tcp":
        return None
    if session.refused_by is not None:
        return "refused"
    closer = 0 if session.closer == "client" else 1
    # Whoever receives what is wrong closes.
    noted = {note.kind for note in session.notes if note.direction == 1 - closer}
    for reason, kinds in _BROKEN if session.certain else ():
        fits = (reason == "not_open") == (session.opened is None) or reason == "second_establish"
        if fits and noted.intersection(kinds):
            return reason
    if session.opened is None:
        since = session.establish_response or session.establish_request
        waited = _seconds(since, close)
        return "initialization_timeout" if since and waited >= _INITIALIZATION else None
    return _timed_out(session, closer, close)


def _timed_out(session: Session, closer: int, close: Moment) -> CloseReason | None:
    directions = session.directions
    parameters = session.parameters[0] or session.parameters[1]
    waiting = directions[closer].waiting_since
    if waiting is not None:
        heard = [one for one in (directions[closer].last_ack, directions[1 - closer].last_message) if one]
        since = max((waiting, *heard), key=lambda one: one.record)
        timeout = None if parameters is None else parameters.ack_timeout * MILLISECOND / SECOND
        return "ack_timeout" if timeout is not None and _seconds(since, close) >= timeout else None
    last = [one.last_message for one in directions if one.last_message is not None]
    active = max(last, key=lambda one: one.record, default=session.opened)
    quiet = _seconds(active, close) >= _IDLE
    return "idle" if quiet and not directions[1 - closer].unacknowledged else None


def _seconds(since: Moment | None, until: Moment) -> float:
    if since is None or since.time is None or until.time is None:
        return 0.0
    return (until.time - since.time) / SECOND
