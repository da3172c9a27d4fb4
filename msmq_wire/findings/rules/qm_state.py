"""QM-STATE: a queue manager says that it is offline, paused, or that it could not connect."""

from __future__ import annotations

from msmq_wire.findings.causal import causal
from msmq_wire.findings.rule import Rule
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="QM-STATE",
    title="A queue manager or queue that does not send",
    severity="medium",
    confidence="certain",
    spec=(SpecRef("MS-MQMR", "3.1.4.1"),),
    meaning="A queue manager told an administrator that it is offline, that messages wait in an outgoing "
    "queue and why, or that its last attempt to connect failed. Until that changes, it sends nothing from "
    "there.",
    action="Set the queue manager online, resume the queue, or check whether the next host can be reached.",
    harmless="An administrator who took it offline on purpose.",
    over="cause",
    check=causal,
)
