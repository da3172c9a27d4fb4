"""RPC-RARE: a client took messages that another one usually reads."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPC-RARE",
    title="A client reads a queue that another one usually reads",
    severity="medium",
    confidence="likely",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"),),
    meaning="One client reads most of the messages of a queue. Another client looked at some of them, or "
    "took them. The usual reader never gets a message that was taken.",
    action="Find out who uses the client, and whether it may read the queue.",
    harmless="An administrator who looks for a message, or a second reader that just started.",
    over="cause",
    check=causal,
)
