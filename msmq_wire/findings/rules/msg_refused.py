"""MSG-REFUSED: a negative acknowledgment, or the one who read it, says that a message was refused."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

RULE = Rule(
    id="MSG-REFUSED",
    title="Messages that were refused",
    severity="medium",
    confidence="certain",
    spec=(SpecRef("MS-MQMQ", "2.2.18.1.6"),),
    meaning="A negative acknowledgment says that messages did not come into their queue, or that nobody may "
    "read them any more; its class says why. Refusals of one server, for one queue "
    "and one reason, are one finding, which says how many they are.",
    action="Do what the class asks for: create the queue, give the sender the right to write to it, raise "
    "its quota. Look for the messages in the dead-letter queue of the sender.",
    harmless="A test of an application; a queue that was purged on purpose.",
    over="cause",
    check=causal,
)
