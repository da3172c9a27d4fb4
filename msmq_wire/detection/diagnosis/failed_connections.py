"""Adds the causes of connections to port 1801 that failed, and of pings that were refused.

The rule kept here: a capture does not show why nobody answered. The action follows from what a silence or a
reset can mean.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import AnswerBuilder
from msmq_wire.detection.diagnosis.network_phrases import below, fault_action, fault_clause, layer_of_fault
from msmq_wire.detection.diagnosis.phrases import count, host, listed, span
from msmq_wire.detection.diagnosis.port_sweeps import port_sweeps
from msmq_wire.detection.finding import Confidence, Connection, Layer, Severity, connection_of
from msmq_wire.detection.folding import Fold
from msmq_wire.detection.network_faults import final_fault, is_unacknowledged
from msmq_wire.detection.session_places import accepted, asked_again, one_sided
from msmq_wire.records.coverage import Need
from msmq_wire.sessions import Moment, PingExchange, Session, Story
from msmq_wire.units import SECOND

_MOST_SERVERS = 4096
_MOST_CLIENTS = 32
_MOST_MOMENTS = 16
_MOST_EARLY_FAILURES = 3
"""So many failed connections are only a note if a later connection succeeds."""
_LEAST_FAILED_SERVERS = 3
"""If one client fails with so many servers, the cause is about the client."""
_OPENING_TIMEOUT = 60 * SECOND
"""A connection that is not a session after this time is closed, [MS-MQQB] 3.1.2.1."""


class _Failure(NamedTuple):
    """How a connection fails: in words, what to do, where the cause is, and what a capture must hold.

    ``shown`` says that a packet shows it; otherwise an answer is missing.
    """

    words: str
    action: str
    layer: Layer
    needs: tuple[Need, ...] = ()
    shown: bool = False


_ANSWER_NEEDS: tuple[Need, ...] = ("both_sides", "whole", "counted")
_RETRANSMITTED_SYN_NEEDS: tuple[Need, ...] = ("whole", "counted", "in_time")
"""What a capture must hold to show a silence when the SYN was retransmitted."""
_FAILURES: dict[str, _Failure] = {
    "reset": _Failure(
        "a reset answered the SYN",
        "check whether Message Queuing runs on {server}, and the firewalls in front of it",
        "host",
        shown=True,
    ),
    "icmp": _Failure(
        "ICMP answered the SYN",
        "check the firewall in front of {server}, and whether Message Queuing runs there",
        "network",
        shown=True,
    ),
    "silence": _Failure(
        "no answer came to the SYN",
        "check whether {server} is up, and whether a firewall drops TCP 1801",
        "network",
        ("two_way", *_RETRANSMITTED_SYN_NEEDS),
    ),
    "tcp_only": _Failure(
        "TCP was accepted, but no EstablishConnection was sent",
        "find out what {client} is",
        "host",
        ("both_sides", "whole", "end", "counted"),
    ),
    "establishing": _Failure(
        "no answer came to EstablishConnection",
        "look at the queue manager of {server}: its port is open, and it says nothing",
        "queue manager",
        _ANSWER_NEEDS,
    ),
    "refused": _Failure(
        "the queue manager refused the session (CS is set)",
        "compare the ServerGuid that {client} asked for; look at the limit on sessions of {server}",
        "queue manager",
        shown=True,
    ),
    "parameters": _Failure(
        "ConnectionParameters were not exchanged",
        "look at the queue managers of both hosts",
        "queue manager",
        _ANSWER_NEEDS,
    ),
    "undelivered": _Failure(
        "TCP was accepted, but what opens the session got no acknowledgment from TCP either",
        "capture at {server}, too: do the segments arrive? Check the firewalls between them",
        "network",
        _ANSWER_NEEDS,
    ),
    "interrupted": _Failure(
        "TCP was accepted, and a reset ended the connection that neither side seems to have sent",
        "look for a firewall, load balancer or intrusion prevention between {client} and {server}",
        "network",
        _ANSWER_NEEDS,
    ),
    "stalled": _Failure(
        "TCP was accepted, but the TCP receive window was closed, so what opens the session was not read",
        "look at the load, the memory and the disk of {server}",
        "host",
        _ANSWER_NEEDS,
    ),
}
_WITHOUT_ANSWER = ("establishing", "parameters")
"""Failures for want of an answer, unless TCP shows that the question did not arrive."""
_NOT_DELIVERED = ("undelivered", "stalled", "interrupted")
_BEFORE_SESSION = ("tcp_only", *_WITHOUT_ANSWER, *_NOT_DELIVERED)
"""Failures before the session is open, when no message can be sent."""


def failure(session: Session) -> str | None:
    """How a session failed to open; None if it opened, or if the capture does not show it."""
    if session.state in ("refused_tcp", "refused"):
        return session.state
    if session.reached == "open" or not session.started or one_sided(session):
        return None
    if session.reached == "tcp_only":
        if session.syn_ack is None:
            return None if accepted(session) else "silence"
        return "tcp_only"
    return session.reached


def never_accepted(session: Session) -> bool:
    """Whether TCP never accepted a connection: nothing, a reset or ICMP answered its SYN."""
    return failure(session) in ("refused_tcp", "silence") and not any(
        one.messages for one in session.directions
    )


def detailed_failure(session: Session) -> str | None:
    """Like `failure`, but ``icmp`` or ``reset`` in place of ``refused_tcp``.

    ``undelivered``, ``stalled`` and ``interrupted`` say that TCP did not deliver what has no answer.
    """
    kind = failure(session)
    if kind == "refused_tcp":
        return "icmp" if session.closed_by == "unreachable" else "reset"
    if kind in _WITHOUT_ANSWER:
        side = 1 if session.establish_response is not None and session.parameters_request is None else 0
        fault = final_fault(session)
        if fault is not None:
            return {"window": "stalled", "reset": "interrupted"}.get(fault.kind, "undelivered")
        if is_unacknowledged(session, side):
            return "undelivered"
    return kind


class _ServerFailures(msgspec.Struct):
    """Failed connections to one server.

    ``clients`` has the number of the last failed session of each client, ``last`` how the last one failed.
    """

    kinds: Counter[str]
    clients: dict[str, int]
    moments: list[Moment]
    connections: dict[Connection, None]
    last: str = ""
    unanswered_syns: int = 0
    below: dict[str, None] = {}
    """The kinds of causes in the network that kept each from an answer; an empty one for none."""


def add_failed_connections(story: Story, candidates: Fold, builder: AnswerBuilder) -> None:
    """Add a cause for each server, or each client, whose connections did not become sessions."""
    failed: dict[str, _ServerFailures] = {}
    opened: Counter[str] = Counter()
    last_opened: dict[tuple[str, str], int] = {}
    swept = port_sweeps(story, failure, builder)
    for session in story.sessions:
        kind = detailed_failure(session)
        if kind is None:
            if session.reached == "open":
                opened[host(session.server)] += 1
                last_opened[host(session.client), session.server] = session.number
            continue
        if host(session.client) in swept:
            continue
        if kind == "tcp_only" and candidates.mentions(session.client, session.server):
            continue
        if kind in _BEFORE_SESSION and any(one.messages for one in session.directions):
            # Messages without a session are a different fault.
            continue
        if candidates.hostile(session.client, session.server) or _is_still_opening(session, story):
            continue
        needs = (
            _RETRANSMITTED_SYN_NEEDS if kind == "silence" and asked_again(session) else _FAILURES[kind].needs
        )
        if not builder.was_captured(needs, session.client, session.server, session.last):
            continue
        if session.server not in failed and len(failed) >= _MOST_SERVERS:
            continue
        failures = failed.setdefault(session.server, _ServerFailures(Counter(), {}, [], {}))
        if len(failures.connections) < _MOST_MOMENTS:
            failures.connections[connection_of(session.client, session.server)] = None
        failures.kinds[kind] += 1
        failures.unanswered_syns += 1 + session.syn_retransmissions if kind == "silence" else 0
        failures.last = kind
        failures.below[below(final_fault(session) if kind in _NOT_DELIVERED else None)] = None
        # There are at most as many clients as sessions.
        failures.clients[host(session.client)] = session.number
        opening = session.syn, session.establish_request, session.establish_response
        for moment in (*opening, session.parameters_request, session.parameters_response, session.close):
            if moment is not None and len(failures.moments) < _MOST_MOMENTS:
                failures.moments.append(moment)
    by_client: dict[str, dict[str, _ServerFailures]] = {}
    for server, failures in failed.items():
        over = all(last_opened.get((client, server), -1) > last for client, last in failures.clients.items())
        if over and failures.kinds.total() <= _MOST_EARLY_FAILURES:
            failed_ = count(failures.kinds.total(), "connection")
            builder.add_note(f"{failed_} to {server} failed before one became a session")
            continue
        if len(failures.clients) == 1 and not opened[host(server)] and not over:
            by_client.setdefault(next(iter(failures.clients)), {})[server] = failures
            continue
        builder.add_cause(_server_cause(server, failures, opened[host(server)], over=over))
    for client, by_server in by_client.items():
        if len(by_server) < _LEAST_FAILED_SERVERS:
            for server, failures in by_server.items():
                builder.add_cause(_server_cause(server, failures, 0, over=False))
        else:
            builder.add_cause(_client_cause(client, by_server))


def add_ack_timeouts(story: Story, candidates: Fold, builder: AnswerBuilder) -> None:
    """Add a cause for each pair of hosts whose connections ended because no acknowledgment came.

    Those where TCP got none either are a cause by themselves.
    """
    timeouts: dict[tuple[str, str, bool], list[Session]] = {}
    for session in story.sessions:
        if session.reason == "ack_timeout" and not candidates.hostile(session.client, session.server):
            if not builder.was_captured(
                ("both_sides", "whole"), session.client, session.server, session.last
            ):
                continue
            key = host(session.client), host(session.server), final_fault(session) is not None
            if key in timeouts or len(timeouts) < _MOST_SERVERS:
                timeouts.setdefault(key, []).append(session)
    for (client, server, _), sessions in timeouts.items():
        builder.add_cause(_timeout_cause(client, server, sessions))


def _timeout_cause(client: str, server: str, sessions: list[Session]) -> Cause:
    fault = final_fault(sessions[0])
    ended = f"{count(len(sessions), 'connection')} from {client} to {server} ended"
    why = "" if fault is None else f" ({fault_clause(fault)})"
    return Cause(
        text=f"{ended} without an acknowledgment in time{why}{_waiting_text(sessions)}: the sender sends "
        "recoverable messages again, and may lose express messages",
        severity="low",
        confidence="likely",
        moments=tuple(one.close for one in sessions[:_MOST_MOMENTS] if one.close is not None),
        who=(server, client),
        action=f"find out why {server} was silent: load, memory, disk, or a firewall"
        if fault is None
        else fault_action(fault),
        count=len(sessions),
        rules=("SES-ACKLATE",),
        kind="late",
        about=server,
        brief=ended,
        connections=tuple(connection_of(one.client, one.server) for one in sessions[:_MOST_MOMENTS]),
        layer=None if fault is None else layer_of_fault(fault),
        below=below(fault),
    )


def _waiting_text(sessions: list[Session]) -> str:
    """How many messages waited for an acknowledgment, and for how long at most."""
    sides = [(one.close, side) for one in sessions for side in one.directions if side.unacknowledged]
    messages = count(sum(side.unacknowledged for _, side in sides), "message")
    waits = [
        end.time - side.waiting_since.time
        for end, side in sides
        if end is not None and end.time and side.waiting_since is not None and side.waiting_since.time
    ]
    return f" ({messages} had waited {'up to ' if len(waits) > 1 else ''}{span(max(waits))})" if waits else ""


def add_refused_pings(story: Story, builder: AnswerBuilder) -> None:
    """Add a cause for each server that refuses pings, [MS-MQQB] 2.2.7."""
    by_server: dict[str, list[PingExchange]] = {}
    for ping in story.pings:
        if ping.refused and (ping.server in by_server or len(by_server) < _MOST_SERVERS):
            by_server.setdefault(ping.server, []).append(ping)
    for server, pings in by_server.items():
        clients = list(dict.fromkeys(host(one.client) for one in pings))
        answers = [one.response for one in pings[:_MOST_MOMENTS] if one.response is not None]
        builder.add_cause(
            Cause(
                text=f"{host(server)} answered {count(len(pings), 'ping')} of {listed(clients)} with "
                "a refusal (RF is set): it accepts no connections from there for now",
                severity="low",
                confidence="certain",
                moments=tuple(answers),
                who=(host(server), *clients[:_MOST_CLIENTS]),
                action=f"look at the number of sessions and licences on {host(server)}",
                count=len(pings),
                rules=("PNG-RF",),
            )
        )


def _is_still_opening(session: Session, story: Story) -> bool:
    """Whether the capture ended before the opening could fail."""
    if session.close is not None or session.closed_by == "unreachable" or session.first.time is None:
        return False
    if session.syn_retransmissions and session.syn_ack is None:
        return False
    return session.refused_by is None and (story.last or 0) - session.first.time < _OPENING_TIMEOUT


def _server_cause(server: str, failures: _ServerFailures, opened: int, *, over: bool) -> Cause:
    total = failures.kinds.total()
    clients = listed(list(failures.clients))
    what = f"{clients} got no session with {server}"
    if opened:
        what = f"{count(total, 'connection')} of {clients} to {server} did not become a session"
    elif total > 1:
        what += f" in {count(total, 'connection')}"
    # A server that accepts the last connection is up.
    severity: Severity = "low" if over or failures.last == "tcp_only" else "medium"
    first = _main_failure(failures.kinds)
    return Cause(
        text=f"{what}: {listed(_reasons(failures.kinds, failures.unanswered_syns))}",
        severity=severity,
        confidence=_confidence(failures.kinds),
        moments=tuple(failures.moments),
        who=(*list(failures.clients)[:_MOST_CLIENTS], host(server)),
        action=first.action.format(server=host(server), client=next(iter(failures.clients))),
        count=total,
        rules=("SES-REFUSED", "SES-CONNECT"),
        kind="unopened",
        about=host(server),
        explains=("unanswered",) if severity == "medium" else (),
        brief=what,
        connections=tuple(failures.connections),
        layer=first.layer,
        below=next(iter(failures.below)) if len(failures.below) == 1 else "",
    )


def _main_failure(kinds: Counter[str]) -> _Failure:
    """The failure that says what to do: a client that sends nothing tells least."""
    return _FAILURES[next((kind for kind in kinds if kind != "tcp_only"), "tcp_only")]


def _confidence(kinds: Counter[str]) -> Confidence:
    return "certain" if all(_FAILURES[kind].shown for kind in kinds) else "likely"


def _reasons(kinds: Counter[str], syns: int) -> list[str]:
    """Why connections failed, in words; ``syns`` counts unanswered SYNs."""
    words = {kind: _FAILURES[kind].words for kind in kinds}
    if "silence" in kinds and syns > 1:
        words["silence"] = f"no answer came to {syns:,} SYNs"
    if len(kinds) == 1:
        return [words[kind] for kind in kinds]
    return [
        words[kind] + ("" if number == 1 or (kind == "silence" and syns > 1) else f" ({number:,} times)")
        for kind, number in kinds.items()
    ]


def _client_cause(client: str, by_server: dict[str, _ServerFailures]) -> Cause:
    """The cause for one client that opens no session with any of several servers."""
    kinds: Counter[str] = Counter()
    for failures in by_server.values():
        kinds += failures.kinds
    syns = sum(failures.unanswered_syns for failures in by_server.values())
    servers = [host(server) for server in by_server]
    what = f"{client} got no session with port 1801 of {count(len(servers), 'host')} ({listed(servers)})"
    quiet = all(failures.last == "tcp_only" for failures in by_server.values())
    return Cause(
        text=f"{what}: {listed(_reasons(kinds, syns))}",
        severity="low" if quiet else "medium",
        confidence=_confidence(kinds),
        moments=tuple(moment for failures in by_server.values() for moment in failures.moments[:2])[
            :_MOST_MOMENTS
        ],
        who=(client, *servers[:_MOST_CLIENTS]),
        action=f"look at the network of {client}, and ask what it is: a scan does this, too",
        count=kinds.total(),
        rules=("SES-REFUSED", "SES-CONNECT"),
        kind="unopened",
        about=client,
        brief=what,
        connections=tuple(one for failures in by_server.values() for one in failures.connections)[
            :_MOST_MOMENTS
        ],
        layer=_main_failure(kinds).layer,
    )
