"""RPL-STATUS: a status that the method cannot give."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

RULE = Rule(
    id="RPL-STATUS",
    title="A server answers with a status that does not fit",
    severity="low",
    spec=(SpecRef("MS-MQRR", "3.1.4"), SpecRef("MS-MQQP", "3.1.4")),
    meaning="The method cannot give this status, or it says that something is not there that is known to be "
    "there. Clients decide by the status what becomes of a message.",
    action="Compare the status with what the client did next. A handle that a server forgot tells of a "
    "restart of the server, or of a fault in it.",
    harmless="The server's service was restarted, or somebody closed the handle at the server.",
    over="reply",
    check=contradicting(ReplayKind.STATUS),
)
