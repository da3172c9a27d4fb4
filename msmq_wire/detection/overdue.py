"""When an acknowledgment in a session, the next session, or the end of a read is due.

The rule kept here: a SessionAck for recoverable messages is due after RecoverableAckTimeout, any other after
half of AckTimeout. [MS-MQQB] 2.2.2.1, 3.1.5.8.2, 3.1.5.8.7. A sender whose session closed before its messages
were acknowledged opens the next one after five seconds, and sends them again. [MS-MQQB] 3.1.2.3, 3.1.6.1.
What no OrderAck covers it sends again after thirty. [MS-MQQB] 3.1.2.6.
What was received is put back after five minutes, or when its queue is closed. [MS-MQRR] 3.1.4.7
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import RemoteRead, Session, Story
from msmq_wire.units import MILLISECOND, SECOND

PATIENCE = 120 * SECOND
"""A sender waits at most so long for an acknowledgment, [MS-MQQB] 2.2.2.1."""

RESENDS = 30 * SECOND
"""The time until a sender first resends messages without an OrderAck: [MS-MQQB] 3.1.2.6, note 24."""
_ACK_TIMEOUT = 20_000
"""Milliseconds, if no ConnectionParameters were captured: [MS-MQQB] note 51."""
_CLEAN_UP = 300 * SECOND
_SLACK = 5 * SECOND
"""The delay of network and disk that is tolerated in addition to an agreed time."""
_RECONNECTS = 5 * SECOND
"""The default time until a sender opens the next session: [MS-MQQB] 3.1.2.3, note 45."""


class Deadline(NamedTuple):
    """A time-out in nanoseconds, and whether it is the one for recoverable messages only."""

    after: int
    recoverable: bool


def due_in(session: Session, side: int) -> Deadline:
    """The time-out for acknowledgments of the packets of one side; 0 is the client."""
    there = session.directions[side]
    agreed = session.parameters[0] or session.parameters[1]
    if agreed is None:
        return Deadline(_ACK_TIMEOUT // 2 * MILLISECOND, recoverable=False)
    if there.recoverable == there.messages:
        return Deadline(agreed.recoverable_ack_timeout * MILLISECOND, recoverable=True)
    return Deadline(agreed.ack_timeout // 2 * MILLISECOND, recoverable=False)


def is_late(session: Session, side: int) -> bool:
    """Whether an acknowledgment came so late that its sender had to wait.

    No sender waits for the acknowledgment of an OrderAck or FinalAck.
    """
    there = session.directions[side]
    if there.messages == there.acknowledgments:
        return False
    return (there.longest_wait or 0) > due_in(session, side).after + _SLACK


def patience_of(session: Session) -> int:
    """Nanoseconds after which an acknowledgment in a session is too late."""
    known = [one.ack_timeout for one in session.parameters if one is not None]
    return max(known) * MILLISECOND if known else PATIENCE


class NextSessions:
    """Finds the next session between the same hosts, quickly even among many sessions."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._last = story.last
        self._of: dict[frozenset[str], list[Session]] = {}
        # By time: a file may have an earlier capture after a later one.
        for session in sorted(story.sessions, key=_began):
            self._of.setdefault(_hosts(session), []).append(session)

    def may_come(self, number: int | None, src: str) -> bool:
        """Whether the capture ends before ``src`` could resend the unacknowledged messages of a session.

        It could resend if the next session ended, or lasted longer than its AckTimeout. Without a next
        session, the sender may be about to open one, unless the other side reset the connection.
        """
        session = None if number is None else self._story.session(number)
        if session is None:
            return False
        side = 0 if src == session.client else 1
        sent, close = session.directions[side].last_message, session.close
        if sent is None or close is None or close.time is None or self._last is None:
            return False
        sessions = self._of[_hosts(session)]
        after = bisect_right(sessions, sent.time or 0, key=_began)
        if after < len(sessions):
            following = sessions[after]
            age = self._last - _began(following)
            return following.close is None and age < patience_of(following)
        refused = session.closed_by == "reset" and session.closer != ("client", "server")[side]
        return not refused and self._last - close.time < _RECONNECTS + _SLACK


def _began(session: Session) -> int:
    return session.first.time or 0


def _hosts(session: Session) -> frozenset[str]:
    return frozenset((host_of(session.client), host_of(session.server)))


def closed_queues(story: Story) -> set[int]:
    """The numbers of queues that were opened for reads and closed."""
    return {queue.number for queue in story.queues if queue.closed is not None}


def is_put_back(read: RemoteRead, closed: set[int], story: Story) -> bool:
    """Whether the server put an unconfirmed message back before the capture ended."""
    since, last = read.at.time, story.last
    waited = since is not None and last is not None and last - since >= _CLEAN_UP
    return read.opened in closed or waited
