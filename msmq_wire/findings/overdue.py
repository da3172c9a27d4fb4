"""When an acknowledgment in a session, or the end of a read, is due: a rule and an answer ask.

The rule kept here: a SessionAck for recoverable messages is due after RecoverableAckTimeout, any other after
half of AckTimeout. [MS-MQQB] 2.2.2.1, 3.1.5.8.2, 3.1.5.8.7. What was received is put back after five minutes,
or when its queue is closed. [MS-MQRR] 3.1.4.7
"""

from __future__ import annotations

from typing import NamedTuple

from msmq_wire.sessions import RemoteRead, Session, Story
from msmq_wire.units import MILLISECOND, SECOND

__all__ = ["Due", "closed_queues", "due_in", "is_late", "is_put_back"]

_ACK_TIMEOUT = 20_000
"""Milliseconds, where no ConnectionParameters were captured: [MS-MQQB] note 51."""
_CLEAN_UP = 300 * SECOND
_SLACK = 5 * SECOND
"""What a network and a disk may add to a time that was agreed, before anybody would look."""


class Due(NamedTuple):
    """Nanoseconds, and whether they are those of messages that are all recoverable."""

    after: int
    recoverable: bool


def due_in(session: Session, side: int) -> Due:
    """When packets that a side sends have to be acknowledged; 0 is the client."""
    there = session.directions[side]
    agreed = session.parameters[0] or session.parameters[1]
    if agreed is None:
        return Due(_ACK_TIMEOUT // 2 * MILLISECOND, recoverable=False)
    if there.recoverable == there.messages:
        return Due(agreed.recoverable_ack_timeout * MILLISECOND, recoverable=True)
    return Due(agreed.ack_timeout // 2 * MILLISECOND, recoverable=False)


def is_late(session: Session, side: int) -> bool:
    """Whether an acknowledgment came so late that its sender had to wait.

    OrderAcks and FinalAcks keep nobody waiting.
    """
    there = session.directions[side]
    if there.messages == there.acknowledgments:
        return False
    return (there.longest_wait or 0) > due_in(session, side).after + _SLACK


def closed_queues(story: Story) -> set[int]:
    """The numbers of the queues that were opened for reads and closed again."""
    return {queue.number for queue in story.queues if queue.closed is not None}


def is_put_back(read: RemoteRead, closed: set[int], story: Story) -> bool:
    """Whether the server put a message back that nobody said to have received, before the capture ended."""
    since, last = read.at.time, story.last
    waited = since is not None and last is not None and last - since >= _CLEAN_UP
    return read.opened in closed or waited
