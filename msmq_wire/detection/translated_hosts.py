"""Hosts whose addresses are translated (NAT) between vantage points: `translated_hosts`, `distinct_hosts`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Story


def translated_hosts(story: Story) -> dict[str, set[str]]:
    """What other vantage points call each host that is translated; empty where there are no points."""
    found: dict[str, set[str]] = {}
    for capture in () if story.point_sights is None else story.point_sights.captures:
        for _, there, here in capture.translations:
            if host_of(there) != host_of(here):
                found.setdefault(host_of(here), set()).add(host_of(there))
    return found


def distinct_hosts(hosts: Iterable[str], translated: Mapping[str, set[str]]) -> list[str]:
    """The hosts, each once: without those that another one of them may be, by a translated address.

    An address that stands for several of them goes, and these stay.
    """
    known = list(hosts)
    if not translated:
        return known
    near: dict[str, set[str]] = {host: set() for host in known}
    for here, names in translated.items():
        for there in names & near.keys() if here in near else ():
            near[here].add(there)
            near[there].add(here)
    left = set(known)
    # Of two the later one goes.
    for at in sorted(range(len(known)), key=lambda at: (-len(near[known[at]]), -at)):
        host = known[at]
        if near[host] & left:
            left.remove(host)
    return [host for host in known if host in left]
