"""MSG-EXPIRED: the time that messages had was over, and their sender had not asked to be told."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="MSG-EXPIRED",
    title="Messages whose time limit had passed",
    severity="medium",
    confidence="likely",
    spec=(
        SpecRef("MS-MQMQ", "2.2.19.1"),
        SpecRef("MS-MQMQ", "2.2.18.1.6"),
    ),
    meaning="The messages did not reach their queue, or were not read, within their time limit. The "
    "severity is low if an acknowledgment told the sender, and medium if nothing did.",
    action="Find out what delayed them, or why nobody read the queue. Compare the clocks of both hosts. "
    "Give the messages more time.",
    harmless="A sender that lets old messages expire on purpose and asks for no report.",
    over="cause",
    check=causal,
)
