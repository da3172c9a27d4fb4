"""RTE-LOOP: a message goes back to where it was."""

from __future__ import annotations

from msmq_wire.findings.hop_places import deviating
from msmq_wire.findings.rule import Rule
from msmq_wire.routing.hop import DeviationKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RTE-LOOP",
    title="A message returns to a queue manager that it had passed",
    severity="medium",
    confidence="certain",
    spec=(SpecRef("MS-MQBR", "3.1.5"), SpecRef("MS-MQQB", "3.1.5.8.2")),
    meaning="A queue manager gets a message that it had already passed on. This cannot happen if all "
    "routing tables come from one directory. The message circles until it has passed 29 routing servers and "
    "is rejected.",
    action="Compare the routing tables of the two: their in- and out-routing servers, and when they read the "
    "directory last.",
    harmless="The directory was changed while the message was on its way.",
    over="hop",
    check=deviating(DeviationKind.LOOP),
)
