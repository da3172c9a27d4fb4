"""RTE-PATH: a message is off the ways that the topology allows."""

from __future__ import annotations

from msmq_wire.findings.hop_places import deviating
from msmq_wire.findings.rule import Rule
from msmq_wire.routing.hop import DeviationKind
from msmq_wire.spec import SpecRef

RULE = Rule(
    id="RTE-PATH",
    title="A message takes a route that the topology does not allow",
    severity="medium",
    confidence="likely",
    spec=(SpecRef("MS-MQBR", "3.1.5"),),
    meaning="No least-cost path and no routing list of the given topology has this hop. The sender uses a "
    "routing table that differs from the topology, or somebody sends in its name.",
    action="Compare the given topology with the directory. Then look at the sender: which queue manager is "
    "it, and what is its routing configuration?",
    harmless="The directory changed, and the queue manager has not read it yet. Queue managers read it "
    "every hour.",
    over="hop",
    check=deviating(DeviationKind.OFF_PATH),
)
