"""ID-CLONE: one queue manager GUID at several addresses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

import msgspec

from msmq_wire.detection.finding import Evidence, Severity
from msmq_wire.detection.fingerprints import SAMPLE_CLIENT, SAMPLE_SERVER
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import place_in
from msmq_wire.detection.translated_hosts import distinct_hosts, translated_hosts
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Session, Story
from msmq_wire.spec import SpecRef
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_SHOWN = 8
_PLACES = 64
_NO_HOST = (NULL_GUID, SAMPLE_CLIENT, SAMPLE_SERVER)
"""Scanners at many addresses use these; other rules report them."""
_HEADER = "establish_connection_header"
_GUIDS = (("client_guid", 20), ("server_guid", 36))


class _Use(msgspec.Struct):
    """The use of a GUID by one address: its first and last record, and the evidence of the first."""

    first: int
    last: int
    place: Evidence
    proxied: bool


def _check(story: Story, context: Context) -> Iterator[Detection]:
    uses: dict[GUID, dict[str, _Use]] = {}
    for session in story.sessions:
        for direction in (0, 1):
            _add_use(uses, session, direction)
    translated = translated_hosts(story)
    for guid, of_guid in uses.items():
        own = distinct_hosts(of_guid, translated)
        if len(own) > 1:
            yield _detection(guid, {host: of_guid[host] for host in own})


def _add_use(uses: dict[GUID, dict[str, _Use]], session: Session, direction: int) -> None:
    moment = (session.establish_request, session.establish_response)[direction]
    guid = (session.client_queue_manager, session.server_queue_manager)[direction]
    if moment is None or guid is None or guid in _NO_HOST:
        return
    of_guid = uses.setdefault(guid, {})
    host = host_of((session.client, session.server)[direction])
    known = of_guid.get(host)
    if known is not None:
        known.last = max(known.last, session.last.record)
        return
    name, offset = _GUIDS[direction]
    place = place_in(
        session, moment, direction, path=f"{_HEADER}.{name}", offset=offset, length=16, data=guid
    )
    of_guid[host] = _Use(moment.record, session.last.record, place, session.proxied)


def _detection(guid: GUID, of_guid: dict[str, _Use]) -> Detection:
    hosts = list(of_guid)
    severity, caveats = _severity_and_caveats(of_guid)
    where = f"{len(hosts)} addresses: {', '.join(hosts)}"
    if len(hosts) > _SHOWN:
        named = f"{', '.join(hosts[: _SHOWN - 1])} and {len(hosts) - _SHOWN} more to {hosts[-1]}"
        where = f"{len(hosts):,} addresses, {_most_at_once(of_guid):,} of them at once: {named}"
    return Detection(
        message=f"queue manager {guid} is at {where}",
        evidence=tuple(use.place for use in of_guid.values())[:_PLACES],
        severity=severity,
        caveats=caveats,
    )


def _most_at_once(of_guid: dict[str, _Use]) -> int:
    """The highest number of addresses that used the GUID at the same time."""
    steps = sorted(
        [(use.first, 1) for use in of_guid.values()] + [(use.last, -1) for use in of_guid.values()]
    )
    return max(accumulate(step for _, step in steps))


def _severity_and_caveats(of_guid: dict[str, _Use]) -> tuple[Severity | None, tuple[str, ...]]:
    if len({":" in host for host in of_guid}) == len(of_guid):
        return "info", ("one address is IPv4, the other IPv6: it may be one host",)
    if any(use.proxied for use in of_guid.values()):
        return "low", ("a PROXY header names another client: the addresses may be those of load balancers",)
    uses = sorted(of_guid.values(), key=lambda use: use.first)
    if all(one.last < other.first for one, other in pairwise(uses)):
        return "low", ("the addresses were used one after the other: the host may have got a new one",)
    return None, ()


RULE = Rule(
    id="ID-CLONE",
    title="One queue manager at several addresses",
    severity="medium",
    confidence="likely",
    spec=(SpecRef("MS-MQQB", "2.2.3.1"), SpecRef("MS-MQQB", "3.1.5.3.1")),
    meaning="Every installation has a GUID of its own, its QMId. Hosts that were cloned with MSMQ installed "
    "share one, and acknowledgments and duplicates get mixed up between them.",
    action="Compare QMId in the registry of both hosts; reinstall MSMQ on one of them.",
    harmless="NAT, a cluster that moved, a host with several addresses, a new DHCP lease, or a capture on "
    "both sides of a router that translates addresses.",
    over="story",
    check=_check,
)
