"""TXN-AGAIN: a sender does not act on OrderAcks."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="TXN-AGAIN",
    title="A message that is sent again though it was confirmed",
    severity="low",
    confidence="likely",
    spec=(
        SpecRef("MS-MQQB", "3.1.2.6"),
        SpecRef("MS-MQQB", "3.1.5.8.6"),
    ),
    meaning="A sender sends a transactional message again until an OrderAck covers it. An OrderAck "
    "covered this one, and it was sent again several times: the sender does not get the "
    "OrderAcks, or does not act on them.",
    action="Look at the queue manager of the sender: restart it, and compare its outgoing queue with the"
    " destination queue.",
    harmless="OrderAcks that are lost between the place of the capture and the sender.",
    over="cause",
    check=causal,
)
