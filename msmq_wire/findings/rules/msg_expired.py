"""MSG-EXPIRED: the time that messages had was over, and their sender had not asked to be told."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

RULE = Rule(
    id="MSG-EXPIRED",
    title="Messages whose time was over",
    severity="medium",
    confidence="likely",
    spec=(
        SpecRef("MS-MQMQ", "2.2.19.1"),
        SpecRef("MS-MQMQ", "2.2.18.1.6"),
    ),
    meaning="The time to reach the queue, or to be received, had passed before messages came there or were "
    "read. Low where an acknowledgment says so, medium where nobody told the sender.",
    action="Find out what delayed them, or who stopped to read the queue; compare the clocks of both hosts; "
    "give them more time.",
    harmless="A sender that lets old messages go on purpose and asks nobody to tell it.",
    over="cause",
    check=causal,
)
