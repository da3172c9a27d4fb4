"""Question 1: pings and requests for directory servers, what answered them, and who pings many hosts.

The rule kept here: an answer shows that Message Queuing runs. Silence shows nothing, because most hosts do
not answer.
"""

from __future__ import annotations

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.failed_connections import add_refused_pings
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, later, listed, span
from msmq_wire.detection.sweeps import Sweep, sweeps_of
from msmq_wire.sessions import DiscoveryReply, Moment, PingExchange, ServerDiscovery, Session, Story

_MOST_MOMENTS = 64


def pings(story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 1, [MS-MQQB] 2.1.2 and 2.2.7."""
    followers: dict[tuple[str, str, int], Session] = {}
    for session in story.sessions:
        if session.ping is not None and session.syn is not None:
            followers.setdefault((session.ping.client, session.ping.server, session.ping.cookie), session)
    answered = sum(ping.response is not None for ping in story.pings)
    asked = sum(ping.request is not None for ping in story.pings)
    sweeps = sweeps_of(story)
    for sweep in sweeps[:MOST]:
        builder.say(_swept(sweep, words), *_moments(sweep))
        builder.add_cause(_cause(sweep))
    clients = {sweep.client for sweep in sweeps}
    others = [ping for ping in story.pings if host(ping.client) not in clients]
    for ping in others[:MOST]:
        follower = followers.get((ping.client, ping.server, ping.cookie))
        builder.say(
            _ping(ping, words) + _delay(ping, follower, words),
            ping.request,
            ping.response,
            ping.unreachable,
            None if follower is None else follower.syn,
            attention="info",
        )
    if len(others) > MOST:
        builder.say(f'And {len(others) - MOST:,} more pings: decode --filter "type == ping" lists them.')
    if asked > answered:
        builder.say(
            "A ping without an answer is usual: Windows from Vista and Server 2008 on does not answer pings "
            "unless EnablePingService is set, and messages do not need them."
        )
    for discovery in story.discoveries[:MOST]:
        builder.say(
            _discoveries(discovery, words), discovery.request, *(one.at for one in discovery.replies[:MOST]),
            attention="info",
        )  # fmt: skip
    add_refused_pings(story, builder)
    builder.facts = {"pings": len(story.pings), "answered": answered, "requests": asked}


def _discoveries(discovery: ServerDiscovery, words: Phrases) -> str:
    """Requests for directory servers, and the answers of each server. [MS-MQSD] 3.1.5.2"""
    asked = "Somebody"
    if discovery.request is not None:
        asked = f"{host(discovery.client)} in {words.frame(discovery.request)}"
    reported = [_answered(reply, words) for reply in discovery.replies[:MOST]]
    more = len(discovery.replies) + discovery.more - len(reported)
    if more:
        reported.append(f"{more} more answered")
    return f"{asked} asked for directory servers (UDP 1801): {'; '.join(reported) or 'nobody answered'}."


def _answered(reply: DiscoveryReply, words: Phrases) -> str:
    text = f"{host(reply.server)} answered in {words.frame(reply.at)}"
    if reply.site is None:
        return f"{text} that it is in the same site"
    names = [server.name for server in reply.servers[:MOST]]
    return f"{text} for site {reply.site}, servers {listed(names) or 'none'}"


def _ping(ping: PingExchange, words: Phrases) -> str:
    if ping.request is None:
        return (
            f"{host(ping.server)} answered {host(ping.client)} in {words.frame(ping.response)}, "
            "but the request was not captured."
        )
    text = f"{host(ping.client)} pinged {host(ping.server)} in {words.frame(ping.request)}"
    if ping.requests > 1:
        text += f" and {count(ping.requests - 1, 'time')} more"
    if ping.response is not None:
        says = "refuses a connection (RF is set)" if ping.refused else "accepts connections"
        after = later(ping.request, ping.response)
        return f"{text}; the answer in {words.frame(ping.response)}{after} says that it {says}."
    if ping.unreachable is not None:
        return f"{text}; ICMP in {words.frame(ping.unreachable)} says that the port cannot be reached."
    return f"{text}; no answer was captured."


def _delay(ping: PingExchange, session: Session | None, words: Phrases) -> str:
    if session is None:
        return " No connection followed it."
    end = ping.response or ping.request
    if session.syn is None or end is None or session.syn.time is None or end.time is None:
        return ""
    what = "answer" if ping.response is not None else "request"
    return (
        f" The connection to port 1801 began in {words.frame(session.syn)}, "
        f"{span(session.syn.time - end.time)} after the {what}."
    )


def _swept(sweep: Sweep, words: Phrases) -> str:
    """Statements about pings of one host to many."""
    lasted = "" if sweep.lasted is None else f" in {span(sweep.lasted)}"
    first, last = words.frame(sweep.pings[0].request), words.frame(sweep.pings[-1].request)
    text = f"{sweep.client} pinged {count(len(sweep.hosts), 'host')}{lasted}, {sweep.hosts[0]} first and "
    text += f"{sweep.hosts[-1]} last, {first} to {last}."
    answered, unreachable = sweep.answered, sweep.unreachable
    if answered:
        text += f" An answer came from {_named([(one, one.response) for one in answered], words)}."
    if unreachable:
        named = _named([(one, one.unreachable) for one in unreachable], words)
        text += f" ICMP says that the port of {named} cannot be reached."
    silent = len(sweep.hosts) - len(answered) - len(unreachable)
    if silent > 0:
        text += f" No answer of {count(silent, 'host')} was captured."
    named = f": {listed(sweep.followed)}" if sweep.followed else ""
    return f"{text} It {sweep.connected}{named}." if sweep.connected else text


def _named(pings: list[tuple[PingExchange, Moment | None]], words: Phrases) -> str:
    shown = [f"{host(ping.server)} ({words.frame(moment)})" for ping, moment in pings[:MOST]]
    return listed(shown, len(pings))


def _moments(sweep: Sweep) -> list[Moment]:
    reported = (moment for one in sweep.pings for moment in (one.response, one.unreachable))
    shown = (sweep.pings[0].request, *reported, sweep.pings[-1].request)
    return [moment for moment in shown if moment is not None]


def _cause(sweep: Sweep) -> Cause:
    lasted = "" if sweep.lasted is None else f" in {span(sweep.lasted)}"
    answered = [host(one.server) for one in sweep.answered]
    found = f"; {listed(answered[:5], len(answered))} answered" if answered else ""
    few = f" and {sweep.connected}" if sweep.connected else ""
    sure = sweep.known and not sweep.again
    return Cause(
        text=f"{sweep.client} pinged {count(len(sweep.hosts), 'host')}{lasted}{few}{found}",
        severity="medium" if sure else "low",
        confidence="likely" if sure else "guess",
        moments=tuple(_moments(sweep)[:_MOST_MOMENTS]),
        who=(sweep.client, *answered[:5]),
        action=f"find out what {sweep.client} is: a scan does this, and a queue manager that is cut off",
        count=len(sweep.hosts),
        rules=("PNG-SCAN", "PNG-NOANS"),
    )
