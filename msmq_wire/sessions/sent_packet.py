"""`SentPacket`: a packet that waits for its acknowledgment, or to be stored."""

from __future__ import annotations

from collections import OrderedDict, deque

import msgspec

from msmq_wire.sessions.moment import Moment
from msmq_wire.sessions.session import Counts


class SentPacket(msgspec.Struct, gc=False):
    """A packet that waits; ``recoverable`` is 0 for one that is not.

    ``key`` names its message, None where nothing names it; ``kept`` says that the message is followed.
    """

    number: int
    recoverable: int
    moment: Moment
    key: bytes | str | None
    kept: bool


# Of most directions nothing waits: these stand for it, and nothing is ever put into them.
NOTHING_WAITS: deque[SentPacket] = deque(maxlen=0)
NOTHING_UNSTORED: OrderedDict[int, SentPacket] = OrderedDict()
NOTHING_EARLY: deque[tuple[Counts, Moment]] = deque(maxlen=0)


def before(one: Moment, other: Moment) -> bool:
    """Whether something was captured before something else."""
    if one.frame is not None and other.frame is not None:
        return one.frame < other.frame
    return one.time is not None and other.time is not None and one.time < other.time
