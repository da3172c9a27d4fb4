"""PNG-NOANS: a ping that nobody answers."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_at
from msmq_wire.detection.sweeps import sweeps_of
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Story
from msmq_wire.spec import SpecRef


def _check(story: Story, context: Context) -> Iterator[Detection]:
    sweeps = {sweep.client: sweep.pings[0] for sweep in sweeps_of(story)}
    for ping in story.pings:
        if ping.request is None or ping.response is not None:
            continue
        first = sweeps.get(host_of(ping.client))
        asked = ping.request
        message = f"{ping.client} pings {ping.server} {ping.requests} times, cookie {ping.cookie}: no answer"
        if ping.unreachable is not None:
            message += ", and ICMP says that the port cannot be reached"
        place = Evidence(
            record=asked.record,
            frames=() if asked.frame is None else (asked.frame,),
            time=asked.time,
            src=ping.client,
            dst=ping.server,
            transport="udp",
            path="cookie",
            offset=4,
            length=4,
        )
        if first is None or first.request is None:
            yield Detection(message=message, evidence=(place,))
        else:
            cause = place_at(first.request, first.client, first.server, transport="udp")
            yield Detection(message=message, evidence=(place,), explained_by="PNG-SCAN", cause=cause)


RULE = Rule(
    id="PNG-NOANS",
    title="A ping without an answer",
    severity="info",
    layer="host",
    spec=(SpecRef("MS-MQQB", "2.2.7"), SpecRef("MS-MQQB", "3.1.5.2.2")),
    meaning="The sender waits for the answer before it connects. If no answer comes, the connection is late, "
    "or does not come.",
    action="Check whether TCP port 1801 can be reached. A session does not need the answer to the ping.",
    harmless="Windows Vista and later do not answer pings unless they are configured to.",
    over="story",
    check=_check,
)
