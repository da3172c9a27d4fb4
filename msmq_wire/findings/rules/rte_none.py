"""RTE-NONE: a message has no way to its destination."""

from __future__ import annotations

from msmq_wire.findings.hop_places import deviating
from msmq_wire.findings.rule import Rule
from msmq_wire.routing.hop import DeviationKind
from msmq_wire.spec import SpecRef

__all__ = ["RULE"]

RULE = Rule(
    id="RTE-NONE",
    title="A message has no way to its destination",
    severity="medium",
    confidence="likely",
    spec=(SpecRef("MS-MQBR", "3.1.5.1"),),
    meaning="Between the source and the destination in the packet the topology has no way: no routing link, "
    "no gate or no routing server. The message was sent all the same: it may stay at a host until "
    "it expires, or the topology file is wrong.",
    action="Run msmq-wire route with the two: it says where the ways end and why.",
    harmless="A topology that is not complete.",
    over="hop",
    check=deviating(DeviationKind.NO_ROUTE),
)
