"""DSD-SITE: a server in the site of the client answers like a server in another site."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Story
from msmq_wire.spec import SpecRef


def _check(story: Story, context: Context) -> Iterator[Detection]:
    for discovery in story.discoveries:
        for reply in discovery.replies if discovery.site is not None else ():
            if reply.site != discovery.site:
                continue
            place = Evidence(
                record=reply.at.record,
                frames=() if reply.at.frame is None else (reply.at.frame,),
                time=reply.at.time,
                src=reply.server,
                dst=reply.client,
                transport="udp",
                path="directory_service_server_size",
                offset=28,
                length=4,
            )
            yield Detection(
                message=f"{host_of(reply.server)} says that it is in the client's own site ({reply.site}), "
                f"and lists {len(reply.servers)} servers; a server of the same site must not list any",
                evidence=(place,),
            )


RULE = Rule(
    id="DSD-SITE",
    title="A list of directory servers from the client's own site",
    severity="medium",
    spec=(SpecRef("MS-MQSD", "2.2.3"), SpecRef("MS-MQSD", "3.2.5.1")),
    meaning="A server in the site that the client asks for must set DirectoryServiceServerSize to 0 and "
    "send no list. The client then keeps the servers that it has. This reply makes the client use the "
    "servers in the list.",
    action="Find out what the sender is, and whether the listed hosts are directory servers.",
    harmless="A server that does not follow the specification.",
    over="story",
    check=_check,
)
