"""Hosts that connect to many others and open no session, as causes: `port_sweeps`.

The rule kept here: what was tried and how it was answered is told; a scan does this, and a host that is cut
off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from msmq_wire.findings.cause import Cause
from msmq_wire.findings.diagnosis.answer import Telling
from msmq_wire.findings.diagnosis.words import count, host, listed, span
from msmq_wire.sessions import Moment, Session, Story

_MANY = 10
"""Hosts without a session, from which on it is a sweep."""
_MOST_CLIENTS = 4096
_MOST_HOSTS = 65_536
_MOST_MOMENTS = 64
_MOST_NAMED = 5


class _Sweep(msgspec.Struct):
    """What one host tried: the hosts, how each of them answered, and when."""

    hosts: dict[str, str] = {}
    moments: list[Moment] = []
    first: int | None = None
    last: int | None = None

    def add(self, server: str, how: str, moment: Moment) -> None:
        self.hosts[server] = how
        if len(self.moments) < _MOST_MOMENTS:
            self.moments.append(moment)
        if moment.time is not None:
            self.first = moment.time if self.first is None else self.first
            self.last = moment.time


def port_sweeps(story: Story, failure: Callable[[Session], str | None], telling: Telling) -> frozenset[str]:
    """Name the hosts that connect to port 1801 of many others in vain; return them."""
    sweeps: dict[str, _Sweep] = {}
    kinds = [failure(session) for session in story.sessions]
    # With these there is a session, or there may be one.
    others = {
        (host(session.client), host(session.server))
        for session, kind in zip(story.sessions, kinds, strict=True)
        if kind is None
    }
    for session, kind in zip(story.sessions, kinds, strict=True):
        client, server = host(session.client), host(session.server)
        if kind is None or (client, server) in others:
            continue
        if client not in sweeps and len(sweeps) >= _MOST_CLIENTS:
            continue
        how = "was silent" if kind == "silence" else "refused" if kind.startswith("refused") else "answered"
        sweep = sweeps.setdefault(client, _Sweep())
        if server in sweep.hosts or len(sweep.hosts) < _MOST_HOSTS // max(len(sweeps), 16):
            sweep.add(server, how, session.first)
    found = {client: sweep for client, sweep in sweeps.items() if len(sweep.hosts) >= _MANY}
    for client, sweep in found.items():
        telling.blame(_cause(client, sweep))
    return frozenset(found)


def _cause(client: str, sweep: _Sweep) -> Cause:
    time = "" if sweep.first is None or sweep.last is None else f" in {span(sweep.last - sweep.first)}"
    answered = [name for name, how in sweep.hosts.items() if how == "answered"]
    told = []
    for how, number in Counter(sweep.hosts.values()).items():
        text = f"{number:,} {how if number == 1 else how.replace('was', 'were')}"
        named = f" ({listed(answered[:_MOST_NAMED], number)})" if how == "answered" else ""
        told.append(text + named)
    return Cause(
        text=f"{client} tried port 1801 of {count(len(sweep.hosts), 'host')}{time} and opened no "
        f"session with them: {listed(told)}; a scan does this, and a host that is cut off",
        severity="medium",
        confidence="likely",
        moments=tuple(sweep.moments),
        who=(client, *answered[:_MOST_NAMED]),
        action=f"find out what {client} is",
        count=len(sweep.hosts),
        rules=("SES-CONNECT", "SES-REFUSED"),
    )
