"""MSG-REFUSED: a negative acknowledgment, or the one who read it, says that a message was refused."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="MSG-REFUSED",
    title="Messages that were refused or lost",
    severity="medium",
    confidence="certain",
    spec=(SpecRef("MS-MQMQ", "2.2.18.1.6"),),
    meaning="A negative acknowledgment says that messages did not reach their queue, or that nobody can "
    "read them any more. Its class says why. Refusals by one server, for one queue and one reason, are one "
    "finding, which gives their number.",
    action="Do what the class asks for: create the queue, give the sender the right to write to it, raise "
    "its quota. Look for the messages in the dead-letter queue of the sender.",
    harmless="A test of an application, or a queue that was purged on purpose.",
    over="cause",
    check=causal,
)
