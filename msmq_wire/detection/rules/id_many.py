"""ID-MANY: several queue managers at one address."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_in
from msmq_wire.detection.translated_hosts import translated_hosts
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Story
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_SHOWN = 8
_PATH = "establish_connection_header.client_guid"
_OFFSET = 20


def _check(story: Story, context: Context) -> Iterator[Detection]:
    hosts: dict[str, dict[GUID, Evidence]] = {}
    for session in story.sessions:
        moment, guid = session.establish_request, session.client_queue_manager
        if moment is None or guid is None or guid == NULL_GUID:
            continue
        guids = hosts.setdefault(host_of(session.client), {})
        if guid not in guids:
            guids[guid] = place_in(session, moment, 0, path=_PATH, offset=_OFFSET, length=16, data=guid)
    behind = translated_hosts(story)
    for host, guids in hosts.items():
        # Behind an address that is translated (NAT) there are as many hosts as another place saw.
        if len(guids) > max(1, len(behind.get(host, ()))):
            names = ", ".join(map(str, list(guids)[:_SHOWN]))
            more = f" and {len(guids) - _SHOWN} more" if len(guids) > _SHOWN else ""
            yield Detection(
                message=f"{host} opens sessions for {len(guids)} queue managers: {names}{more}",
                evidence=tuple(guids.values())[:_SHOWN],
            )


RULE = Rule(
    id="ID-MANY",
    title="Several queue managers at one address",
    severity="low",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "2.2.3.1"),),
    meaning="A host has one queue manager, and its GUID stays the same. Here one address opens sessions "
    "under several GUIDs: several hosts share the address, or a program invents GUIDs.",
    action="Find out what has this address; look at the other findings about its sessions.",
    harmless="NAT, a cluster, or MSMQ that was installed again.",
    standing=True,
    over="story",
    needs=("one_network",),
    check=_check,
)
