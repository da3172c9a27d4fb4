"""Questions 2, 6, 7 and 8: connections, identities, addresses and ports.

The rule kept here: statements say what answered, and what did not, as the frames show it. The reason is
unknown, so the answer says what a reset or a silence can mean.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.facts import Facts, PortUse
from msmq_wire.detection.diagnosis.failed_connections import (
    add_ack_timeouts,
    add_failed_connections,
    detailed_failure,
    failure,
)
from msmq_wire.detection.diagnosis.network_causes import OF_CONNECTIONS, add_network_causes
from msmq_wire.detection.diagnosis.network_phrases import fault_clause
from msmq_wire.detection.diagnosis.path_losses import PathLosses
from msmq_wire.detection.diagnosis.peers import FindingSums, is_naked
from msmq_wire.detection.diagnosis.phrases import ASK, Phrases, count, host, later, listed, part, port, short
from msmq_wire.detection.diagnosis.whereabouts import Whereabouts
from msmq_wire.detection.network_faults import final_fault
from msmq_wire.detection.session_places import one_sided, position_of
from msmq_wire.detection.sweeps import sweeps_of
from msmq_wire.detection.translated_hosts import distinct_hosts, translated_hosts
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT
from msmq_wire.records.visibility import Visibility
from msmq_wire.sessions import Moment, PingExchange, Session, Story
from msmq_wire.wire.types.guid import GUID, NULL_GUID

_MOST_GROUPS = 4096
_MOST_HOSTS = 64


_MEANS = {
    "reset": "A reset to a SYN comes from a host where nothing listens on the port, or from a firewall.",
    "icmp": "ICMP comes from a firewall or from a host where nothing listens on the port.",
    "silence": "Silence to a SYN comes from a firewall that drops it, or from a host that is off.",
    "establishing": "TCP was answered, so the port is open; the queue manager behind it said nothing.",
    "undelivered": "TCP acknowledged none of it: the queue manager was never asked. Look at the network.",
    "stalled": "A receive window of 0 comes from a host whose service does not read: load, memory or disk.",
    "refused": "CS is the refusal of the queue manager: a wrong ServerGuid or a limit on sessions.",
}


def connections(
    story: Story, sums: FindingSums, losses: PathLosses, words: Phrases, builder: AnswerBuilder
) -> None:
    """Question 2, [MS-MQQB] 3.1.5.2, 3.1.5.3 and 3.1.5.4."""
    where = Whereabouts(story)
    failures: dict[tuple[str, str, str], list[Session]] = {}
    counts: dict[tuple[str, str, str], int] = {}
    opened = 0
    for session in story.sessions:
        kind = failure(session)
        if session.reached == "open":
            builder.claim("opened", f"session {session.number}")
        elif kind is not None:
            builder.claim("not_opened", f"session {session.number}")
        if kind is None:
            opened += session.reached == "open"
            continue
        key = (detailed_failure(session) or "", host(session.client), session.server)
        if key not in counts and len(counts) >= _MOST_GROUPS:
            continue
        counts[key] = counts.get(key, 0) + 1
        kept = failures.setdefault(key, [])
        if len(kept) < MOST:
            kept.append(session)
    total = len(story.sessions)
    if not total:
        return
    if opened:
        builder.say(f"{part(opened, total, 'connection')} to port 1801 could carry messages.")
    half = [session for session in story.sessions if one_sided(session)]
    if half:
        text = (
            f"Only one direction of {count(len(half), 'connection')} was captured: the answers are not known;"
        )
        builder.say(f"{text} first {words.frame(half[0].first)}.", half[0].first)
    for (kind, client, server), number in list(counts.items())[:MOST]:
        kept = failures[kind, client, server]
        gone = lost_opening(kept[0], where)
        text = f"{client} to {server}: {gone or _failure_text(kept[0], words)}{_also_lost(kept[0], losses)}"
        if number > 1:
            others = words.frames((one.first for one in kept[1:]), number - 1)
            text += f" The same is true of {count(number - 1, 'more connection')}, begun in {others}."
        builder.say(text, *_moments(kept))
    if len(counts) > MOST:
        builder.say(f"And {len(counts) - MOST:,} more pairs of hosts whose connections failed.")
    unknown = [
        kind
        for (kind, *_), kept in failures.items()
        if not lost_opening(kept[0], where) and not _also_lost(kept[0], losses)
    ]
    for meaning in dict.fromkeys(map(_MEANS.get, unknown)):
        if meaning:
            builder.say(meaning)
    _ends(story, words, builder)
    add_failed_connections(story, sums.candidates, builder)
    add_ack_timeouts(story, sums.candidates, builder)
    builder.facts = {"connections": total, "opened": opened, "failed": sum(counts.values())}
    add_network_causes(story, OF_CONNECTIONS, sums.candidates, words, builder)


def lost_opening(session: Session, where: Whereabouts) -> str:
    """What of an opening was lost between vantage points; empty where nobody knows of such a thing."""
    client, server = session.client, session.server
    for name, moment, src, dst in (
        ("ConnectionParameters", session.parameters_request, client, server),
        ("the answer to EstablishConnection", session.establish_response, server, client),
        ("EstablishConnection", session.establish_request, client, server),
        ("the SYN-ACK", session.syn_ack, server, client),
        ("the SYN", session.syn, client, server),
    ):
        loss = where.loss(moment, src, dst)
        if loss is not None:
            return f"{name} was {loss.text_at(host(src), host(dst))}."
    return ""


def _also_lost(session: Session, losses: PathLosses) -> str:
    """Where what the client had sent to this server before was lost, for a SYN without an answer."""
    if failure(session) != "silence" or session.syn is None:
        return ""
    client, server = host(session.client), host(session.server)
    loss = losses.before(session.syn, client, server)
    return "" if loss is None else f" What {client} had sent before was lost between {loss.between}."


def _failure_text(session: Session, words: Phrases) -> str:
    end = _end(session, words)
    match failure(session):
        case "refused_tcp":
            what = "ICMP" if session.closed_by == "unreachable" else "a reset"
            return f"{what} in {words.frame(session.close)} answered the SYN in {words.frame(session.syn)}."
        case "silence":
            again = f", sent {count(session.syn_retransmissions, 'time')} more"
            again = again if session.syn_retransmissions else ""
            return f"nothing answered the SYN in {words.frame(session.syn)}{again}."
        case "tcp_only":
            accepted = (
                f"TCP was accepted in {words.frame(session.syn_ack)}, and no EstablishConnection was sent"
            )
            there = session.directions[0]
            if there.messages:
                sent = f"{count(there.messages, 'message')} ({words.frame(there.first_message)})"
                accepted += f", but {sent}, which no queue manager does"
            return f"{accepted}; {end}."
        case "refused":
            at = session.establish_response or session.parameters_response or session.last
            who = "the queue manager" if session.refused_by == "server" else "the client"
            return f"{who} refused the session in {words.frame(at)} (CS is set); {end}."
        case "establishing":
            asked = words.frame(session.establish_request)
            return f"nothing answered EstablishConnection in {asked}{_below(session)}; {end}."
    asked = words.frame(session.parameters_request or session.establish_response)
    return f"ConnectionParameters were not exchanged after {asked}{_below(session)}; {end}."


def _below(session: Session) -> str:
    """What happened below the session, if that is why there is no answer."""
    fault = final_fault(session)
    if fault is not None:
        return f": {fault_clause(fault)}"
    return ": TCP did not acknowledge it either" if detailed_failure(session) == "undelivered" else ""


def _end(session: Session, words: Phrases) -> str:
    if session.close is None or session.closed_by in ("silent", "capture_end"):
        return "this was still so when the capture ended"
    since = session.establish_request or session.syn_ack or session.first
    who = f"the {session.closer}" if session.closer else "one side"
    how = {"fin": "closed it", "reset": "reset it"}.get(session.closed_by, "ended it")
    return f"{who} {how} in {words.frame(session.close)}{later(since, session.close)}"


def _ends(story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    reset = [one for one in story.sessions if one.reached == "open" and one.closed_by == "reset"]
    if reset:
        frames = words.frames((one.close for one in reset[:MOST]), len(reset))
        text = f"{count(len(reset), 'connection')} that could carry messages ended with a reset"
        text += f"{_from_whom(reset)}: {frames}."
        builder.say(text, *(one.close for one in reset), attention="info")
    late = [
        one
        for one in story.sessions
        if one.reason == "ack_timeout"
        and builder.was_captured(("both_sides", "whole"), one.client, one.server, one.last)
    ]
    if late:
        frames = words.frames((one.close for one in late[:MOST]), len(late))
        text = (
            f"{count(len(late), 'connection')} ended because acknowledgments had not come in time: {frames}."
        )
        builder.say(text, *(one.close for one in late), attention="info")


def _from_whom(reset: list[Session]) -> str:
    """Who sent resets, where that is known of all of them."""
    hosts: dict[str, None] = {}
    for one in reset:
        forged = one.network is not None and one.network.reset is not None and one.network.reset.forged_by
        if one.closer is None or forged:
            return ""
        hosts[host(one.client if one.closer == "client" else one.server)] = None
    return f" from {listed(list(hosts))}" if len(hosts) <= MOST else ""


def _moments(sessions: Iterable[Session]) -> list[Moment | None]:
    return [moment for one in sessions for moment in (one.syn, one.establish_request, one.close)]


def identities(story: Story, sums: FindingSums, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 6: the identifier of a queue manager is unique, [MS-MQQB] note 34."""
    seen: dict[str, dict[str, Moment]] = {}

    def take(guid: bytes | None, endpoint: str, moment: Moment | None) -> None:
        if guid is None or guid == NULL_GUID or moment is None:
            return
        hosts = seen.setdefault(str(guid), {}) if len(seen) < _MOST_GROUPS else seen.get(str(guid))
        if hosts is not None and len(hosts) < _MOST_HOSTS:
            hosts.setdefault(host(endpoint), moment)

    for session in story.sessions:
        take(session.client_queue_manager, session.client, session.establish_request)
        take(session.server_queue_manager, session.server, session.establish_response)
    for ping in story.pings:
        take(ping.client_queue_manager, ping.client, ping.request)
        take(ping.server_queue_manager, ping.server, ping.response)
    translated = translated_hosts(story)
    shared = {
        guid: {name: hosts[name] for name in own}
        for guid, hosts in seen.items()
        if len(own := distinct_hosts(hosts, translated)) > 1
    }
    for guid, hosts in list(shared.items())[:MOST]:
        places = [f"{name} ({words.frame(moment)})" for name, moment in hosts.items()]
        text = f"Queue manager {guid} appears at {listed(places)}."
        builder.say(text, *hosts.values(), attention="info")
    # Whether that may be one host, the rule has weighed.
    for group in sums.candidates.groups() if shared else ():
        builder.raise_attention(group.severity if group.lead.id == "ID-CLONE" else None)
    if len(shared) > MOST:
        builder.say(f"And {len(shared) - MOST:,} more queue managers appear at several addresses.")
    if shared:
        builder.say(
            "A cloned installation does this; so do a cluster, address translation, a new DHCP lease, and a "
            "host with several addresses."
        )
    elif seen:
        hosts_ = len({name for hosts in seen.values() for name in hosts})
        at = count(hosts_, "address", "addresses")
        reported = f"1 queue manager at {at}"
        if len(seen) > 1:
            reported = (
                f"each of the {len(seen):,} queue managers was seen at one address only, and together they "
            )
            reported += f"use {at}"
        first = [next(iter(hosts.values())) for hosts in list(seen.values())[:MOST]]
        builder.say(f"No: {reported}.", *first)
    shown = dict(list(shared.items())[:_MOST_HOSTS])
    builder.facts = {
        "queue_managers": len(seen),
        "shared": {guid: list(hosts) for guid, hosts in shown.items()},
    }


def addresses(story: Story, facts: Facts, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 7: the addresses of connections, calls and pings, and the addresses in messages."""
    ways: dict[tuple[str, str], list[Session]] = {}
    for session in story.sessions:
        key = (host(session.client), session.server)
        if key in ways or len(ways) < _MOST_GROUPS:
            ways.setdefault(key, []).append(session)
    names = _names(story)
    for (client, server), sessions in list(ways.items())[:MOST]:
        builder.say(_way_text(client, server, sessions, names, words), sessions[0].first)
    if len(ways) > MOST:
        builder.say(f"And {len(ways) - MOST:,} more pairs of hosts.")
    reported = {(client, host(server)) for client, server in ways}
    for (number, role), use in facts.ports.items():
        pairs = [pair for pair in use.pairs if pair not in reported]
        if pairs:
            ends = listed([f"{client} to {_at(server, number)}" for client, server in pairs])
            builder.say(
                f"{role[:1].upper()}{role[1:]}: {ends}; first in {words.frame(use.first)}.", use.first
            )
    reported |= {pair for use in facts.ports.values() for pair in use.pairs}
    pinged: dict[str, list[PingExchange]] = {}
    for ping in story.pings:
        if (host(ping.client), host(ping.server)) not in reported:
            pinged.setdefault(host(ping.client), []).append(ping)
    for client, pings in list(pinged.items())[:MOST]:
        to = list(dict.fromkeys(host(one.server) for one in pings))
        hosts = to[0] if len(to) == 1 else count(len(to), "host")
        first = pings[0].request or pings[0].response
        text = (
            f"{client} pinged {hosts} without a connection, first in {words.frame(first)}: {ASK.format(1)}."
        )
        builder.say(text, first)
    for (header, text), moment in list(facts.addresses.items())[:MOST]:
        said = f"A message that {words.frame(moment)} returns from a queue has {text} as its source address "
        said += f"({header})."
        builder.say(said, moment)
    builder.facts = {
        "ways": [
            {"client": client, "server": server, "connections": len(sessions)}
            for (client, server), sessions in list(ways.items())[:_MOST_HOSTS]
        ],
        "addresses": [{"header": one, "address": text} for one, text in list(facts.addresses)[:_MOST_HOSTS]],
    }


def _at(server: str, number: int) -> str:
    return f"[{server}]:{number}" if ":" in server else f"{server}:{number}"


def _names(story: Story) -> dict[str, set[GUID]]:
    """The queue managers at each host, by their own packets."""
    names: dict[str, set[GUID]] = {}
    for session in story.sessions:
        for guid, endpoint in (
            (session.client_queue_manager, session.client),
            (session.server_queue_manager, session.server),
        ):
            if guid is not None and guid != NULL_GUID and len(names) < _MOST_GROUPS:
                names.setdefault(host(endpoint), set()).add(guid)
    return names


def _way_text(
    client: str, server: str, sessions: list[Session], names: dict[str, set[GUID]], words: Phrases
) -> str:
    reported = []
    for name, guids in (
        (client, [one.client_queue_manager for one in sessions]),
        (host(server), [one.server_queue_manager for one in sessions]),
    ):
        known = next((guid for guid in guids if guid), None)
        elsewhere = names.get(name, set())
        if known is not None:
            reported.append(f"queue manager {short(str(known))}")
        elif len(elsewhere) == 1:
            reported.append(f"queue manager {short(str(next(iter(elsewhere))))} in other sessions")
        else:
            reported.append("queue manager not known")
    number, unmade = len(sessions), sum(failure(one) in ("silence", "refused_tcp") for one in sessions)
    from_ = listed(list(dict.fromkeys(str(port(one.client)) for one in sessions)))
    verb = "tried to connect" if unmade == number else "connected"
    text = f"{client} ({reported[0]}) {verb} to {server} ({reported[1]})"
    text += f" from port {from_}" if number == 1 else f" {number:,} times, from ports {from_}"
    if unmade == number:
        text += ", and no connection was made"
    elif unmade:
        text += f"; {unmade:,} of these connections {'were' if unmade > 1 else 'was'} not made"
    return f"{text}; first in {words.frame(sessions[0].first)}."


_ROLES = {
    MSMQ_PORT: "messages",
    2101: "RPC: the directory service of MSMQ",
    2103: "RPC: qmcomm, qmcomm2, RemoteRead",
    2105: "RPC: qm2qm",
}


class _Odd(msgspec.Struct):
    """What a client did on a port that a queue manager does not do."""

    first: Moment
    why: dict[str, None]


Way = tuple[tuple[str, int], str, str]
"""Transport and port, client and server."""


def ports(story: Story, facts: Facts, sums: FindingSums, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 8: the ports of servers, their clients, and the clients that are not queue managers."""
    used: dict[tuple[str, int], dict[str, PortUse]] = {}
    odd: dict[Way, _Odd] = {}
    for session in story.sessions:
        number, why = port(session.server), _unlike_queue_manager(session, story.visibility)
        if number is None or (session.reached == "tcp_only" and not why):
            continue
        _add(used, ("TCP", number), "messages", session.first, session.client, session.server)
        if why:
            _mark(odd, (("TCP", number), host(session.client), host(session.server)), session.first, why)
    for ping in story.pings:
        moment, number = ping.request or ping.response, port(ping.server)
        if moment is not None and number is not None:
            _add(used, ("UDP", number), "pings", moment, ping.client, ping.server)
    for discovery in story.discoveries:
        for reply in discovery.replies:
            number = port(reply.server)
            if number is not None:
                _add(used, ("UDP", number), "directory servers", reply.at, reply.client, reply.server)
    for (number, role), use in facts.ports.items():
        used.setdefault(("TCP", number), {})[role] = use
    sweeps = {sweep.client: sweep for sweep in sweeps_of(story) if not sweep.again}
    many: dict[tuple[str, str], tuple[str, ...]] = {}
    for sweep in sweeps.values():
        first = sweep.pings[0].request or sweep.pings[0].response
        if first is not None:
            followed = "connected to few of them" if sweep.followed else sweep.connected
            why = f"pinged them{f' and {followed}' if followed else ''}"
            to = count(len(sweep.hosts), "host")
            many[sweep.client, to] = sweep.hosts
            _mark(odd, (("UDP", PING_PORT), sweep.client, to), first, why)
    listed_ports = sorted(used.items(), key=lambda one: (one[0][1], one[0][0]))
    for key, roles in listed_ports:
        for client, server in {pair: None for use in roles.values() for pair in use.pairs}:
            marks = sums.hosts.get(client)
            if marks is not None and marks.severity == "high" and not (key[0] == "UDP" and client in sweeps):
                _mark(odd, (key, client, server), marks.first, f"caused {listed(sorted(marks.ids))}")
    for key, roles in listed_ports[:64]:
        uses = list(roles.values())
        pairs = dict.fromkeys(pair for use in uses for pair in use.pairs)
        if key[0] == "UDP":
            # A scan is one line here.
            pairs = dict.fromkeys(pair for pair in pairs if pair[0] not in sweeps)
        pairs |= dict.fromkeys((client, server) for at, client, server in odd if at == key)
        ways = listed(
            [
                f"{client} to {server}"
                f"{' (not as a queue manager does, see below)' if (key, client, server) in odd else ''}"
                for client, server in pairs
            ]
        )
        first = min((use.first for use in uses), key=lambda one: one.record)
        text = f"{key[0]} {key[1]}: {listed(list(roles))}; {ways}; first in {words.frame(first)}."
        builder.say(text, first)
    for (key, client, server), one in list(odd.items())[:MOST]:
        text = f"{client} does not behave like a queue manager at {key[0]} {key[1]} of {server}: it "
        text += f"{listed(list(one.why))}, first in {words.frame(one.first)}. That is no reason to let it "
        text += "through a firewall: {ASK.format(13)}."
        builder.say(text, one.first, attention="medium")
    if len(odd) > MOST:
        builder.say(
            f"And {len(odd) - MOST:,} more pairs of hosts of which one is no queue manager.",
            attention="medium",
        )
    _tried(used, facts, words, builder)
    for (method, number), moment in list(facts.named_ports.items())[:MOST]:
        builder.say(f"{method} in {words.frame(moment)} answered: use port {number}.", moment)
    if builder.statements:
        builder.add_caveats(
            "only ports that carried MSMQ in this capture are listed: port 135 (RPC endpoint mapper) and "
            "HTTPS are left out"
        )
    builder.facts = {
        "ports": [
            {"transport": transport, "port": number, "roles": list(roles)}
            for (transport, number), roles in listed_ports
        ],
        "no_peers": [
            {"transport": key[0], "port": key[1], "client": client, "server": server_, "why": list(one.why)}
            for (key, client, server), one in list(odd.items())[:_MOST_HOSTS]
            for server_ in many.get((client, server), (server,))[:_MOST_HOSTS]
        ],
    }


def _unlike_queue_manager(session: Session, visibility: Visibility) -> str:
    """What the client of a session did that a queue manager does not do; empty if nothing."""
    there = session.directions[0]
    if is_naked(session, visibility):
        return "sent a message before a session was open"
    spoke = session.reached == "tcp_only" and (there.messages or there.gaps)
    seen = not visibility.lacking(("opening", "both_sides", "before"), position_of(session, session.last))
    return "sent bytes and never began a session" if spoke and seen else ""


def _mark(odd: dict[Way, _Odd], way: Way, first: Moment, why: str) -> None:
    if way in odd or len(odd) < _MOST_GROUPS:
        one = odd.setdefault(way, _Odd(first, {}))
        one.why[why] = None
        one.first = min(one.first, first, key=lambda at: at.record)


def _tried(
    used: dict[tuple[str, int], dict[str, PortUse]], facts: Facts, words: Phrases, builder: AnswerBuilder
) -> None:
    """Connection attempts that carried no data."""
    for number, use in sorted(facts.tried.items()):
        if number not in _ROLES and number - 11 not in _ROLES:
            continue
        known = {pair for one in used.get(("TCP", number), {}).values() for pair in one.pairs}
        pairs = [pair for pair in use.pairs if pair not in known]
        if not pairs or len(known) >= _MOST_HOSTS:
            continue
        ways = listed([f"{client} to {server}" for client, server in pairs])
        role = _ROLES.get(number) or _ROLES[number - 11]
        where = f"; {words.frame(use.first)}" if not known else ""
        builder.say(f"TCP {number}: a connection was tried ({role}); {ways}{where}.", use.first)


def _add(
    used: dict[tuple[str, int], dict[str, PortUse]],
    key: tuple[str, int],
    role: str,
    first: Moment,
    client: str,
    server: str,
) -> None:
    use = used.setdefault(key, {}).setdefault(role, PortUse(first=first, pairs={}))
    use.count += 1
    pair = (host(client), host(server))
    if len(use.pairs) < _MOST_HOSTS:
        use.pairs[pair] = use.pairs.get(pair, 0) + 1
