"""RTE: hops that deviate from the topology, one rule for each kind of deviation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msmq_wire.detection.finding import Confidence, Evidence, Severity
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.routing.hop import DeviationKind, ObservedHop
from msmq_wire.spec import sections

_HALF_KNOWN = "who {} is not known, only its address"


def _check(kind: DeviationKind, hop: ObservedHop, context: Context) -> Iterator[Detection]:
    """Yield the deviations of one kind, with the packet as evidence."""
    sighting = hop.sighting
    ends = (("sent it", hop.source), ("took it", hop.target))
    caveats = [_HALF_KNOWN.format(what) for what, identifier in ends if identifier is None]
    for one in hop.deviations:
        if one.kind is kind:
            yield Detection(
                message=one.message,
                evidence=(
                    Evidence(
                        capture=sighting.capture,
                        record=sighting.record,
                        frames=sighting.frames,
                        time=sighting.time,
                        src=sighting.src,
                        dst=sighting.dst,
                    ),
                ),
                caveats=tuple(caveats),
            )


def _rule(
    id_: str,
    kind: DeviationKind,
    severity: Severity,
    confidence: Confidence,
    title: str,
    spec: str,
    *,
    meaning: str,
    action: str,
    harmless: str,
) -> Rule:
    return Rule(
        id=id_,
        title=title,
        severity=severity,
        confidence=confidence,
        spec=sections(spec),
        meaning=meaning,
        action=action,
        harmless=harmless,
        over="hop",
        check=partial(_check, kind),
    )


RULES = (
    _rule(
        "RTE-PATH",
        DeviationKind.OFF_PATH,
        "medium",
        "likely",
        "A message takes a route that the topology does not allow",
        "MS-MQBR 3.1.5",
        meaning="No least-cost path and no routing list of the given topology has this hop. The sender "
        "uses a routing table that differs from the topology, or somebody sends in its name.",
        action="Compare the given topology with the directory. Then look at the sender: which queue "
        "manager is it, and what is its routing configuration?",
        harmless="The directory changed, and the queue manager has not read it yet. Queue managers read "
        "it every hour.",
    ),
    _rule(
        "RTE-DIRECT",
        DeviationKind.ROUTED_THOUGH_DIRECT,
        "low",
        "likely",
        "A message is routed though it could go directly",
        "MS-MQBR 3.1.5.1, MS-MQBR 1.3.2",
        meaning="Source and destination are in one site and have no routing servers assigned, so the "
        "routing algorithm connects them directly. Here a routing server got the message.",
        action="Check whether the two can reach each other on TCP port 1801: a failed connection is the "
        "usual reason.",
        harmless="A routing server may take over whenever a direct connection fails.",
    ),
    _rule(
        "RTE-HOPS",
        DeviationKind.TOO_MANY_HOPS,
        "low",
        "likely",
        "A message has passed too many routing servers",
        "MS-MQQB 3.1.5.8.2, MS-MQMQ 2.2.19.2",
        meaning="RC in the UserHeader counts the routing servers that passed a message on. Here it is "
        "higher than on any route that the topology allows. The message took a detour or went in a "
        "circle, or the count did not start at 0.",
        action="Follow the message with msmq-wire timeline and msmq-wire route-audit --all.",
        harmless="A topology that is not up to date.",
    ),
    _rule(
        "RTE-FEW",
        DeviationKind.TOO_FEW_HOPS,
        "low",
        "likely",
        "A message has passed too few routing servers",
        "MS-MQQB 3.1.5.8.2, MS-MQMQ 2.2.19.2",
        meaning="Every routing server that passes a message on adds 1 to RC in the UserHeader. Here RC "
        "is lower than on any route to this sender. A routing server does not count, or the message was "
        "created here and names another host as its source.",
        action="Ask whether the sender of this hop is the source under another name. If it is not, "
        "treat the message as forged.",
        harmless="A host that answers for several queue managers, as a cluster does.",
    ),
    _rule(
        "RTE-LOOP",
        DeviationKind.LOOP,
        "medium",
        "certain",
        "A message returns to a queue manager that it had passed",
        "MS-MQBR 3.1.5, MS-MQQB 3.1.5.8.2",
        meaning="A queue manager gets a message that it had already passed on. This cannot happen if "
        "all routing tables come from one directory. The message circles until it has passed 29 routing "
        "servers and is rejected.",
        action="Compare the routing tables of the two: their in- and out-routing servers, and when they "
        "read the directory last.",
        harmless="The directory was changed while the message was on its way.",
    ),
    _rule(
        "RTE-NONE",
        DeviationKind.NO_ROUTE,
        "medium",
        "likely",
        "A message has no route to its destination",
        "MS-MQBR 3.1.5.1",
        meaning="The topology file has no route from the source to the destination in the packet: no "
        "routing link, no site gate or no routing server. The message was sent all the same. It may stay "
        "at a host until it expires, or the file is wrong.",
        action="Run msmq-wire route with source and destination: it says where routes end, and why.",
        harmless="A topology file that is not complete.",
    ),
)
