"""RPL-PURGE: a queue is purged without receive access."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-PURGE",
    title="A queue is purged through a handle for peeking only",
    severity="high",
    spec=(SpecRef("MS-MQRR", "3.1.4.6"), SpecRef("MS-MQQP", "3.1.4.7"), SpecRef("MS-MQMP", "3.1.4.22")),
    meaning="Only a handle that was opened to receive may purge. The server does not check this: a client "
    "that may only peek into a queue can destroy all of its messages.",
    action="See RPC-PURGE for what was lost. Do not offer this server to clients that are not trusted.",
    over="reply",
    check=contradicting(ReplayKind.PURGE),
)
