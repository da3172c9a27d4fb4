"""RTE-HOPS: a message has passed too many routing servers."""

from __future__ import annotations

from msmq_wire.findings.hop_places import deviating
from msmq_wire.findings.rule import Rule
from msmq_wire.routing.hop import DeviationKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RTE-HOPS",
    title="A message has passed too many routing servers",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "3.1.5.8.2"), SpecRef("MS-MQMQ", "2.2.19.2")),
    meaning="RC in the UserHeader counts the routing servers that passed a message on. Here it is higher "
    "than on any route that the topology allows. The message took a detour or went in a circle, or the "
    "count did not start at 0.",
    action="Follow the message with msmq-wire timeline and msmq-wire route-audit --all.",
    harmless="A topology that is not up to date.",
    over="hop",
    check=deviating(DeviationKind.TOO_MANY_HOPS),
)
