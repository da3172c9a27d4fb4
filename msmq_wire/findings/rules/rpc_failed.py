"""RPC-FAILED: a call to open a queue, or to read it, failed."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPC-FAILED",
    title="A queue that could not be opened or read",
    severity="medium",
    confidence="certain",
    spec=(
        SpecRef("MS-MQRR", "3.1.4.2"),
        SpecRef("MS-MQRR", "3.1.4.7"),
    ),
    meaning="A client asked to open a queue or to read it, and the server refused. If access was denied, "
    "the account of the client has no right to the queue: a setting is wrong, or somebody tries to get in.",
    action="Look up the status code of the answer. If access was denied, give the account the right to the "
    "queue, or find out who tries to read it.",
    harmless="A program that checks whether a queue exists, or a client that stopped waiting when its time "
    "was up.",
    over="cause",
    check=causal,
)
