"""MSG-UNTOLD: messages asked for word of their arrival, and none came."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="MSG-UNTOLD",
    title="Requested acknowledgments that did not come",
    severity="low",
    confidence="likely",
    spec=(
        SpecRef("MS-MQMQ", "2.2.20.4"),
        SpecRef("MS-MQQB", "3.1.7.15"),
    ),
    meaning="PA in MessagePropertiesHeader asks the destination to acknowledge that a message reached its "
    "queue. The receiver acknowledged other messages of the same sender. The capture shows no such "
    "acknowledgment of these messages within a minute.",
    action="Look for the messages in their queue and in the dead-letter queues, and at the quota of the "
    "administration queue.",
    harmless="An administration queue at another host, whose traffic was not captured.",
    over="cause",
    check=causal,
)
