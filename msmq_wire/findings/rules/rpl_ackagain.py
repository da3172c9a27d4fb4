"""RPL-ACKAGAIN: a SessionAck says nothing new."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Context, Rule, Seen
from msmq_wire.replay.deviation import ReplayDeviation, ReplayKind
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]


def _check(one: ReplayDeviation, context: Context) -> Iterator[Seen]:
    return contradicting(one, ReplayKind.ACKED_AGAIN, context)


RULE = Rule(
    id="RPL-ACKAGAIN",
    title="A session acknowledgment says nothing new",
    severity="low",
    spec=(SpecRef("MS-MQQB", "3.1.6.4"),),
    meaning="A SessionAck is sent if and only if something was received since the last acknowledgment. This "
    "one repeats the number before, and no recoverable message: it keeps a session busy that has nothing to "
    "say.",
    action="Look at the sender of the SessionAck: how often does it come, and is it a queue manager?",
    harmless="An implementation that uses SessionAck packets to keep the connection alive.",
    over="reply",
    check=_check,
)
