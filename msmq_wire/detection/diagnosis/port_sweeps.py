"""`port_sweeps`: adds the causes of hosts that tried port 1801 of many others in vain.

The rule kept here: a scan does this, and so does a host that is cut off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.phrases import count, host, listed, span
from msmq_wire.sessions import Moment, Session, Story

_LEAST_HOSTS_OF_SWEEP = 10
"""A sweep tries at least so many hosts without a session."""
_MOST_SWEEPS = 4096
_MOST_HOSTS = 65_536
_MOST_MOMENTS_OF_SWEEP = 64
_MOST_NAMED = 5


class _Sweep(msgspec.Struct):
    """The hosts that one client tried, how each answered, and when."""

    hosts: dict[str, str] = {}
    moments: list[Moment] = []
    first: int | None = None
    last: int | None = None

    def add(self, server: str, how: str, moment: Moment) -> None:
        self.hosts[server] = how
        if len(self.moments) < _MOST_MOMENTS_OF_SWEEP:
            self.moments.append(moment)
        if moment.time is not None:
            self.first = moment.time if self.first is None else self.first
            self.last = moment.time


def port_sweeps(
    story: Story, failure: Callable[[Session], str | None], builder: AnswerBuilder
) -> frozenset[str]:
    """Add a cause for each client that opens no session with many hosts; return these clients.

    A scan does this, and so does a host that is cut off. The cause counts the hosts by their answers.
    """
    sweeps: dict[str, _Sweep] = {}
    kinds = [failure(session) for session in story.sessions]
    # These pairs of hosts have a session, or may have one.
    others = {
        (host(session.client), host(session.server))
        for session, kind in zip(story.sessions, kinds, strict=True)
        if kind is None
    }
    for session, kind in zip(story.sessions, kinds, strict=True):
        client, server = host(session.client), host(session.server)
        if kind is None or (client, server) in others:
            continue
        if client not in sweeps and len(sweeps) >= _MOST_SWEEPS:
            continue
        how = "was silent" if kind == "silence" else "refused" if kind.startswith("refused") else "answered"
        sweep = sweeps.setdefault(client, _Sweep())
        if server in sweep.hosts or len(sweep.hosts) < _MOST_HOSTS // max(len(sweeps), 16):
            sweep.add(server, how, session.first)
    found = {client: sweep for client, sweep in sweeps.items() if len(sweep.hosts) >= _LEAST_HOSTS_OF_SWEEP}
    for client, sweep in found.items():
        builder.add_cause(_sweep_cause(client, sweep))
    return frozenset(found)


def _sweep_cause(client: str, sweep: _Sweep) -> Cause:
    time = "" if sweep.first is None or sweep.last is None else f" in {span(sweep.last - sweep.first)}"
    answered = [name for name, how in sweep.hosts.items() if how == "answered"]
    reported = []
    for how, number in Counter(sweep.hosts.values()).items():
        text = f"{number:,} {how if number == 1 else how.replace('was', 'were')}"
        named = f" ({listed(answered[:_MOST_NAMED], number)})" if how == "answered" else ""
        reported.append(text + named)
    return Cause(
        text=f"{client} tried port 1801 of {count(len(sweep.hosts), 'host')}{time} and opened no "
        f"session with them: {listed(reported)}; a scan does this, and a host that is cut off",
        severity="medium",
        confidence="likely",
        moments=tuple(sweep.moments),
        who=(client, *answered[:_MOST_NAMED]),
        action=f"find out what {client} is",
        count=len(sweep.hosts),
        rules=("SES-CONNECT", "SES-REFUSED"),
        layer="host",
    )
