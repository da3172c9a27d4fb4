"""RPL-ACKAGAIN: a SessionAck says nothing new."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-ACKAGAIN",
    title="A session acknowledgment says nothing new",
    severity="low",
    spec=(SpecRef("MS-MQQB", "3.1.6.4"),),
    meaning="A SessionAck is sent if and only if something was received since the last acknowledgment. This "
    "one repeats the number of the last one and acknowledges no recoverable message. It keeps an idle "
    "session busy.",
    action="Look at the sender of the SessionAck: how often does it come, and is it a queue manager?",
    harmless="An implementation that uses SessionAck packets to keep the connection alive.",
    over="reply",
    check=contradicting(ReplayKind.ACKED_AGAIN),
)
