"""DSD-UNASKED: a directory server reply without a request, or to another host than the requester."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import DiscoveryReply, Story
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND

_EARLY = 20 * SECOND
"""A reply this early may answer a request before the capture: a client waits 15 s."""


def _check(story: Story, context: Context) -> Iterator[Detection]:
    for discovery in story.discoveries:
        for reply in discovery.replies:
            if discovery.request is None:
                at = reply.at.time
                early = at is None or story.first is None or at - story.first < _EARLY
                yield Detection(
                    message=f"{host_of(reply.server)} answers {host_of(reply.client)}, but no request "
                    f"with RequestID {discovery.request_id} was captured",
                    evidence=(_place(reply),),
                    severity="info" if early else None,
                    caveats=("the request may have been sent before the capture began",) if early else (),
                )
            elif host_of(reply.client) != host_of(discovery.client):
                yield Detection(
                    message=f"{host_of(reply.server)} answers {host_of(reply.client)}, but the "
                    f"request with RequestID {discovery.request_id} came from {host_of(discovery.client)}",
                    evidence=(_place(reply),),
                )


def _place(reply: DiscoveryReply) -> Evidence:
    return Evidence(
        record=reply.at.record,
        frames=() if reply.at.frame is None else (reply.at.frame,),
        time=reply.at.time,
        src=reply.server,
        dst=reply.client,
        transport="udp",
        path="correlation_id",
        offset=4,
        length=16,
    )


RULE = Rule(
    id="DSD-UNASKED",
    title="Directory servers that nobody asked for",
    severity="medium",
    confidence="likely",
    spec=(SpecRef("MS-MQSD", "2.2.3"), SpecRef("MS-MQSD", "3.1.5.2"), SpecRef("MS-MQSD", "3.2.5.1")),
    meaning="A reply goes to the host that sent the request, and its CorrelationID repeats the RequestID of "
    "the request. Nothing in the protocol proves who answers. A client that accepts another reply asks "
    "servers that somebody else chose for queues and keys.",
    action="Check whether the capture has the broadcasts of the client; if it has, find out what the sender "
    "is.",
    harmless="A capture that began late, or was made on another network than that of the request.",
    over="story",
    check=_check,
)
