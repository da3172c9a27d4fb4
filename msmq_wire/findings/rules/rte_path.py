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
    meaning="No least-cost path and no routing list of the topology has this hop. The sender uses another "
    "routing table than that of the directory, or somebody sends in its name.",
    action="Compare the topology with the directory. Then look at the sender: which queue manager is it, and "
    "what is its routing configuration?",
    harmless="The directory was changed and not yet read again: queue managers read it every hour.",
    over="hop",
    check=deviating(DeviationKind.OFF_PATH),
)
