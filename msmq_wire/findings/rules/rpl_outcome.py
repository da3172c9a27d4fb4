"""RPL-OUTCOME: two acknowledgments of a message contradict each other."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-OUTCOME",
    title="Two acknowledgments contradict each other",
    severity="medium",
    spec=(SpecRef("MS-MQQB", "3.1.7.2.1"), SpecRef("MS-MQQB", "3.1.5.8.2")),
    meaning="A message leaves its queue once: it is received, purged, expired or rejected. A refused "
    "message never reached it. Here one queue manager reports two such outcomes of one message, so one "
    "report is false.",
    action="Look at the queue and its journal: what happened to the message?",
    harmless="The message was sent again on a connection that was not captured, and had another outcome "
    "then.",
    over="reply",
    check=contradicting(ReplayKind.OUTCOME),
)
