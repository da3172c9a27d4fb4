"""`AcceptedSequence`: how far the receiver of a transactional sequence can have come. [MS-MQQB] 3.1.5.8.6

The rule kept here: a receiver accepts a message whose predecessor it accepted; those behind a gap wait until
it is filled. It is kept where somebody judges by it, and of one capture.
"""

from __future__ import annotations

from bisect import insort

import msgspec

from msmq_wire.wire.types.guid import GUID

_MOST_PENDING = 64
_MOST_CONNECTIONS = 16


class EarlyOrderAck(msgspec.Struct, eq=False, gc=False):
    """An OrderAck for a number behind a gap, and the time when it came."""

    number: int
    time: int


class AcceptedSequence(msgspec.Struct, eq=False):
    """A transactional sequence as its receiver sees it.

    ``stream`` is its number among those that are followed, ``destination`` the queue manager that it goes to,
    None where that is not known. ``whole`` says that it was seen from its beginning, ``several`` that others
    have its identifier. ``accepted`` is the highest number that its receiver can have accepted, ``last`` the
    highest that was sent; ``pending`` are those after a gap, each behind its predecessor. ``repeated`` says
    that a number came which was not above all before. ``order_acks`` are the highest OrderAck of each
    connection and its frame, ``early`` those that wait for what fills a gap.
    """

    stream: int | None
    destination: GUID | None
    whole: bool
    several: bool = False
    repeated: bool = False
    accepted: int = 0
    last: int = 0
    pending: list[tuple[int, int]] = []
    order_acks: dict[int, tuple[int, int | None]] = {}
    early: list[EarlyOrderAck] = []

    def sent(self, number: int, previous: int, time: int | None) -> list[EarlyOrderAck]:
        """Take a message behind the number of another; return the OrderAcks whose gap it fills in time."""
        if number <= self.last:
            self.repeated = True
        else:
            self.last = number
        if previous > self.accepted:
            insort(self.pending, (previous, number))
            if len(self.pending) > _MOST_PENDING:
                self.whole = False
                del self.pending[0]
            return []
        if number > self.accepted:
            self.accepted = number
        while self.pending and self.pending[0][0] <= self.accepted:
            self.accepted = max(self.accepted, self.pending.pop(0)[1])
        if not self.early:
            return self.early
        filled = [one for one in self.early if one.number <= self.accepted and (time or 0) <= one.time]
        self.early = [one for one in self.early if one not in filled]
        return filled

    def ordered(self, number: int, stream: int, frame: int | None) -> None:
        """Take an OrderAck that came over a connection."""
        before = self.order_acks.get(stream)
        if before is None or number >= before[0]:
            self.order_acks[stream] = number, frame
            if len(self.order_acks) > _MOST_CONNECTIONS:
                del self.order_acks[next(iter(self.order_acks))]
