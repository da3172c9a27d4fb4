"""RTE-FEW: a message has passed too few routing servers."""

from __future__ import annotations

from msmq_wire.findings.hop_places import deviating
from msmq_wire.findings.rule import Rule
from msmq_wire.routing.hop import DeviationKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RTE-FEW",
    title="A message has passed too few routing servers",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.2"), SpecRef("MS-MQMQ", "2.2.19.2")),
    meaning="Every routing server that passes a message on adds 1 to RC in the UserHeader. Here RC is lower "
    "than on any route to this sender. A routing server does not count, or the message was created here and "
    "names another host as its source.",
    action="Ask whether the sender of this hop is the source under another name. If it is not, treat the "
    "message as forged.",
    harmless="A host that answers for several queue managers, as a cluster does.",
    over="hop",
    check=deviating(DeviationKind.TOO_FEW_HOPS),
)
