"""RPL-ACCESS: a read is accepted that the handle was not opened for."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-ACCESS",
    title="A server lets a client read through a handle not opened for it",
    severity="high",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQQP", "3.1.4.1"), SpecRef("MS-MQMP", "3.1.5.3")),
    meaning="The handle was opened to peek, to send or to move, and a message was received through it. "
    "Rights are checked only when a queue is opened, so a client that may only look can take messages away.",
    action="Treat it as a breach of the queue's permissions: find out which messages were received, by "
    "which account. Do not offer this server to clients that are not trusted.",
    over="reply",
    check=contradicting(ReplayKind.ACCESS),
)
