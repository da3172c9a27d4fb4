"""RTE-DIRECT: a message is routed though it could go directly."""

from __future__ import annotations

from msmq_wire.findings.hop_places import deviating
from msmq_wire.findings.rule import Rule
from msmq_wire.routing.hop import DeviationKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RTE-DIRECT",
    title="A message is routed though it could go directly",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MS-MQBR", "3.1.5.1"), SpecRef("MS-MQBR", "1.3.2")),
    meaning="Source and destination are in one site and have no routing servers assigned, so the routing "
    "algorithm connects them directly. Here a routing server got the message.",
    action="Check whether the two can reach each other on TCP port 1801: a failed connection is the usual "
    "reason.",
    harmless="A routing server may take over whenever a direct connection fails.",
    over="hop",
    check=deviating(DeviationKind.ROUTED_THOUGH_DIRECT),
)
