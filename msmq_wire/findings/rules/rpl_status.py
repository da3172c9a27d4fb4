"""RPL-STATUS: a status that the method cannot give."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-STATUS",
    title="An answer with a status that does not fit the call",
    severity="low",
    spec=(SpecRef("MS-MQRR", "3.1.4"), SpecRef("MS-MQQP", "3.1.4")),
    meaning="The method cannot return this status, or the status says that something does not exist "
    "although the capture shows that it does. Clients decide by the status what happens to a message.",
    action="Compare the status with what the client did next. A handle that a server forgot points to a "
    "restart of the server, or a fault in it.",
    harmless="The server's service was restarted, or somebody closed the handle at the server.",
    over="reply",
    check=contradicting(ReplayKind.STATUS),
)
