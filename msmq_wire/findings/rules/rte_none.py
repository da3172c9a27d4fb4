"""RTE-NONE: a message has no way to its destination."""

from __future__ import annotations

from msmq_wire.findings.hop_places import deviating
from msmq_wire.findings.rule import Rule
from msmq_wire.routing.hop import DeviationKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RTE-NONE",
    title="A message has no route to its destination",
    severity="medium",
    confidence="likely",
    spec=(SpecRef("MS-MQBR", "3.1.5.1"),),
    meaning="The topology file has no route from the source to the destination in the packet: no routing "
    "link, no site gate or no routing server. The message was sent all the same. It may stay at a host "
    "until it expires, or the file is wrong.",
    action="Run msmq-wire route with source and destination: it says where routes end, and why.",
    harmless="A topology file that is not complete.",
    over="hop",
    check=deviating(DeviationKind.NO_ROUTE),
)
