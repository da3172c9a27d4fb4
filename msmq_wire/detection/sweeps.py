"""Pings of one host to many others within a minute: `sweeps_of`.

The rule kept here: a queue manager pings whom it has messages for, and connects to those that are there; who
pings many hosts and connects to few of them looks for something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import PingExchange, Story
from msmq_wire.units import SECOND

APART = 60 * SECOND
"""Pings within this time count together."""
MANY = 10
"""A sweep pings at least so many hosts within a minute."""
_AGAIN = 2
"""With so many pings of each host on average, the client pings repeatedly."""


class Sweep(msgspec.Struct, frozen=True):
    """Pings of ``client`` to many hosts, in order; ``followed`` are the hosts that it then connected to.

    ``again`` is true if it pings them repeatedly, as a queue manager with messages for them does. ``known``
    is true if no session was dropped to save memory, so that ``followed`` is complete.
    """

    client: str
    pings: tuple[PingExchange, ...]
    hosts: tuple[str, ...]
    followed: tuple[str, ...]
    again: bool
    known: bool

    @property
    def connected(self) -> str:
        """The number of hosts that it connected to."""
        if not self.known and not self.followed:
            return ""
        return f"connected to {f'{len(self.followed):,}' if self.followed else 'none'} of them"

    @property
    def answered(self) -> tuple[PingExchange, ...]:
        """The first answered ping of each host."""
        return _first_of_each(one for one in self.pings if one.response is not None)

    @property
    def unreachable(self) -> tuple[PingExchange, ...]:
        """The first ping of each host that ICMP answered with port unreachable."""
        return _first_of_each(one for one in self.pings if one.unreachable is not None)

    @property
    def lasted(self) -> int | None:
        """Nanoseconds from the first to the last."""
        times = [one.request.time for one in self.pings if one.request is not None]
        known = [time for time in times if time is not None]
        return max(known) - min(known) if known else None


def sweeps_of(story: Story) -> tuple[Sweep, ...]:
    """Yield the clients that pinged many hosts in a minute and connected to less than half of them."""
    by_client: dict[str, list[PingExchange]] = {}
    for ping in story.pings:
        if ping.request is not None:
            by_client.setdefault(host_of(ping.client), []).append(ping)
    many = {client: pings for client, pings in by_client.items() if _many_at_once(pings)}
    if not many:
        return ()
    connected = {(host_of(one.client), host_of(one.server)) for one in story.sessions} | story.followed
    found = []
    for client, pings in many.items():
        hosts = tuple(dict.fromkeys(host_of(one.server) for one in pings))
        followed = tuple(host for host in hosts if (client, host) in connected)
        if len(followed) * 2 < len(hosts):
            again = len(pings) >= _AGAIN * len(hosts)
            known = not story.left_out.sessions
            found.append(Sweep(client, tuple(pings), hosts, followed, again, known))
    return tuple(found)


def _first_of_each(pings: Iterable[PingExchange]) -> tuple[PingExchange, ...]:
    found: dict[str, PingExchange] = {}
    for ping in pings:
        found.setdefault(host_of(ping.server), ping)
    return tuple(found.values())


def _many_at_once(pings: list[PingExchange]) -> bool:
    """Whether the pings are to many hosts within a minute."""
    if len(pings) < MANY:
        return False
    at = [(one.request.time or 0, host_of(one.server)) for one in pings if one.request is not None]
    within: Counter[str] = Counter()
    begin = 0
    for time, host in at:
        within[host] += 1
        while time - at[begin][0] > APART:
            within[at[begin][1]] -= 1
            if not within[at[begin][1]]:
                del within[at[begin][1]]
            begin += 1
        if len(within) >= MANY:
            return True
    return False
