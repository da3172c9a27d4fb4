"""MSG-WAITS: messages that ask for dead-lettering reached their queue, and no word came of their receipt."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="MSG-WAITS",
    title="Messages that wait at their sender",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.6"),),
    meaning="A sender that asks for dead-lettering keeps its copy of a message until a FinalAck says that "
    "the message was received. These messages reached their queue, but no FinalAck for them was captured.",
    action="Check whether the application that reads the queue runs, and whether it keeps up.",
    harmless="An application that reads the queue later, after the end of the capture.",
    over="cause",
    check=causal,
)
