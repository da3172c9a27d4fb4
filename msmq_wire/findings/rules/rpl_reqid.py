"""RPL-REQID: a request identifier is accepted twice."""

from __future__ import annotations

from msmq_wire.findings.deviation_places import contradicting
from msmq_wire.findings.rule import Rule
from msmq_wire.replay.deviation import ReplayKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RPL-REQID",
    title="A server accepts a request identifier that is in use",
    severity="medium",
    spec=(SpecRef("MS-MQRR", "3.1.4.7"), SpecRef("MS-MQQP", "3.1.4.1")),
    meaning="Two receives of one handle have the same identifier. The client cannot end or cancel one of "
    "them alone, and may acknowledge a message that was never processed.",
    action="Look at the messages of both receives: was one of them lost or read twice? Then ask why the "
    "client used the number again.",
    harmless="Windows 2000 and XP do not check it in qm2qm.",
    over="reply",
    check=contradicting(ReplayKind.REQUEST),
)
