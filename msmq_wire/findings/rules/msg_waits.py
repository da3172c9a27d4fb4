"""MSG-WAITS: messages that ask for dead-lettering reached their queue, and no word came of their receipt."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

RULE = Rule(
    id="MSG-WAITS",
    title="Messages that wait at their sender",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.6"),),
    meaning="A sender keeps a message that asks for dead-lettering until it hears that it was received. "
    "These came into their queue, and no word of their receipt was captured.",
    action="See whether the application that reads the queue runs, and keeps pace.",
    harmless="An application that reads later, behind the end of the capture.",
    over="cause",
    check=causal,
)
