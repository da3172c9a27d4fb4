"""MSG-UNACKED: messages were sent, and nothing in a whole connection acknowledges them."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="MSG-UNACKED",
    title="Messages without an acknowledgment in the capture",
    severity="medium",
    confidence="likely",
    spec=(
        SpecRef("MS-MQQB", "3.1.5.8.2"),
        SpecRef("MS-MQQB", "3.1.5.8.6"),
    ),
    meaning="The next host has to acknowledge a message. The capture shows no acknowledgment of these "
    "messages before their connection ended, or within the time that both sides agreed on. For "
    "transactional messages it shows no OrderAck. A sender keeps recoverable messages and sends them again. "
    "It loses express messages.",
    action="Look into the outgoing queue of the sender. Check whether the messages arrived at the receiver.",
    harmless="The acknowledgment took another path, or came after the end of the capture.",
    over="cause",
    check=causal,
)
