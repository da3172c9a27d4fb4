"""Adds the causes that lie in the network or in the TCP of a host, for questions 2 and 17.

The rule kept here: one cause for each fault and direction between two hosts. It names who sent, who did not
answer, and what else can do the same: a capture at one place does not show where a segment was lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.network_phrases import (
    ACTIONS,
    again_clause,
    below,
    fault_clause,
    forged_clause,
    router_clause,
    still_closed,
)
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, later, listed, short, span
from msmq_wire.detection.diagnosis.whereabouts import Loss, Whereabouts
from msmq_wire.detection.finding import Confidence, Connection, connection_of
from msmq_wire.detection.folding import Fold
from msmq_wire.detection.network_faults import (
    FaultKind,
    NetworkFault,
    delay_fault,
    faults_of,
    lacks,
    share_resent,
    shown_fault,
)
from msmq_wire.sessions import ConnectionReset, MessageLife, Moment, Session, Story
from msmq_wire.units import SECOND

OF_CONNECTIONS: tuple[FaultKind, ...] = ("idle", "mtu", "unanswered", "reset", "resent")
"""Faults of the network, which question 2 tells."""
OF_WINDOWS: tuple[FaultKind, ...] = ("window",)
"""The fault of a host that question 17 tells."""
_MOST_PAIRS = 1024
_MOST_MOMENTS = 16
_MOST_CONNECTIONS, _MOST_CONNECTIONS_OF_ALL = 64, 8192
_MOST_NAMED = 3
_MOST_FACTS, _MOST_HOSTS = 64, 16
_SILENT: tuple[FaultKind, ...] = ("idle", "unanswered")
"""Faults that leave open whether the other host was there."""
_SOON = 60 * SECOND
"""Nanoseconds within which the next connection says something of the host at the end of one."""


class _Kind(NamedTuple):
    """How a kind of fault is reported."""

    rule: str
    confidence: Confidence


_KINDS: dict[FaultKind, _Kind] = {
    "unanswered": _Kind("NET-LOSS", "likely"),
    "resent": _Kind("NET-LOSS", "likely"),
    "window": _Kind("NET-WINDOW", "certain"),
    "reset": _Kind("NET-RESET", "likely"),
    "idle": _Kind("NET-IDLE", "likely"),
    "mtu": _Kind("NET-MTU", "likely"),
}


class _Faults(msgspec.Struct):
    """The faults of one kind from some hosts to others; ``worst`` is the one that lasted longest."""

    worst: NetworkFault
    senders: dict[str, None]
    receivers: dict[str, None]
    count: int = 0
    sessions: int = 0
    shortest_idle: int = 0
    share: float = 0.0
    moments: list[Moment] = []
    connections: dict[Connection, None] = {}

    def add(self, fault: NetworkFault) -> None:
        """Count a fault."""
        self.sessions += 1
        self.count += fault.times
        self.share = max(self.share, share_resent(fault.session, fault.side))
        self.shortest_idle = min(self.shortest_idle or fault.idle, fault.idle)
        if fault.lasted > self.worst.lasted:
            self.worst = fault
        self.moments += fault.moments[: max(_MOST_MOMENTS - len(self.moments), 0)]
        if len(self.connections) < _MOST_CONNECTIONS:
            self.connections[connection_of(fault.session.client, fault.session.server)] = None

    def join(self, other: _Faults) -> None:
        """Add the faults of another pair of hosts."""
        self.senders |= other.senders
        self.receivers |= other.receivers
        self.sessions += other.sessions
        self.count += other.count
        self.share = max(self.share, other.share)
        self.shortest_idle = min(self.shortest_idle, other.shortest_idle)
        self.worst = max(self.worst, other.worst, key=lambda fault: fault.lasted)
        self.moments += other.moments[: max(_MOST_MOMENTS - len(self.moments), 0)]
        if len(self.connections) < _MOST_CONNECTIONS_OF_ALL:
            self.connections |= other.connections

    @property
    def named(self) -> tuple[str, str]:
        """The senders and the receivers, in words."""
        first, last = (
            listed(list(hosts)[:_MOST_NAMED], len(hosts)) for hosts in (self.senders, self.receivers)
        )
        return first, last


def add_network_causes(
    story: Story, kinds: Collection[FaultKind], candidates: Fold, words: Phrases, builder: AnswerBuilder
) -> None:
    """Add a statement and a cause for each kind of fault and host, and the numbers by pair as facts.

    Of one receiver with several senders, and of one sender with several receivers, this is one cause.
    """
    found: dict[tuple[FaultKind, str, str], _Faults] = {}
    for session in story.sessions:
        for fault in faults_of(session) if session.network is not None else ():
            if fault.kind not in kinds:
                continue
            missing = lacks(fault, builder.visibility)
            builder.add_caveats(*missing)
            if missing or candidates.hostile(session.client, session.server):
                continue
            sender, receiver = map(host, fault.ends)
            key = fault.kind, sender, receiver
            if key in found or len(found) < _MOST_PAIRS:
                ends = {sender: None}, {receiver: None}
                found.setdefault(key, _Faults(fault, *ends)).add(fault)
    if found:
        builder.facts["network"] = list(_facts(found.items()))
    merged, where = _merged(found), Whereabouts(story)
    for number, faults in enumerate(merged):
        loss = _loss(faults, where)
        text = _text(faults, words, loss)
        builder.add_cause(_cause(faults, text, loss))
        if number < MOST:
            after = _next_opened(faults.worst, story)
            said = f"{text[:1].upper()}{text[1:]}{_shown(faults.moments, words)}."
            said += _next_text(faults.worst, after, words)
            opened = None if after is None else after.first
            builder.say(said, opened, frames=_frames(faults.moments), attention="info")
    if len(merged) > MOST:
        builder.say(f"And {count(len(merged) - MOST, 'more fault')} of the network between other hosts.")


def _frames(moments: Iterable[Moment]) -> list[int]:
    """The frames that show a fault: no record has them, only a step of the connection tells of them."""
    return [one.frame for one in moments if one.frame is not None]


def _shown(moments: Sequence[Moment], words: Phrases) -> str:
    """The same in words: `` (frames 127 and 132)``; empty where none is known."""
    return f" ({words.frames(moments)})" if _frames(moments) else ""


def _merged(found: Mapping[tuple[FaultKind, str, str], _Faults]) -> list[_Faults]:
    """One value for each host that several others have the same fault with, and for each other pair."""
    partners = Counter((kind, 1, receiver) for kind, _, receiver in found)
    partners.update((kind, 0, sender) for kind, sender, _ in found)
    merged: dict[Hashable, _Faults] = {}
    for (kind, sender, receiver), faults in found.items():
        shared: tuple[FaultKind, int, str] = kind, 1, receiver
        if partners[shared] < partners[kind, 0, sender]:
            shared = kind, 0, sender
        if shared in merged:
            merged[shared].join(faults)
        else:
            merged[shared] = faults
    return list(merged.values())


def add_undelivered(
    never: Sequence[MessageLife], story: Story, words: Phrases, builder: AnswerBuilder
) -> None:
    """Say which messages TCP did not deliver, so that no queue manager could acknowledge them."""
    by_session: dict[int, list[MessageLife]] = {}
    for life in never:
        if life.session is not None:
            by_session.setdefault(life.session, []).append(life)
    for number, lives in by_session.items():
        fault = shown_fault(story.session(number), story.visibility)
        if fault is None:
            continue
        ids = listed([f"{short(life.message_id)} ({words.frame(life.first)})" for life in lives])
        text = f"No queue manager is to blame for {ids}: {fault_clause(fault)}{_shown(fault.moments, words)}."
        builder.say(text, *(life.first for life in lives), frames=_frames(fault.moments))


def _loss(faults: _Faults, where: Whereabouts) -> Loss | None:
    """Between which vantage points the bytes were lost that one connection sent in vain."""
    worst = faults.worst
    if worst.kind != "unanswered" or faults.sessions > 1:
        return None
    return where.loss(worst.moments[0], *worst.ends)


def _cause(faults: _Faults, text: str, loss: Loss | None) -> Cause:
    worst, kind = faults.worst, faults.worst.kind
    of, (sender, receiver) = _KINDS[kind], faults.named
    hosts = (*list(faults.senders)[:_MOST_HOSTS], *list(faults.receivers)[:_MOST_HOSTS])
    reset = _reset_of(worst)
    by_number = reset is not None and reset.forged_by == "sequence_number"
    return Cause(
        text=text,
        # What follows from it raises that: sessions that did not open, messages without an acknowledgment.
        severity="low",
        # A number may be left from an earlier connection of the same ports.
        confidence="guess" if kind == "reset" and by_number else of.confidence,
        moments=tuple(faults.moments),
        who=tuple(reversed(hosts)) if kind == "window" else hosts,
        action=ACTIONS[kind].format(sender=sender, receiver=receiver) if loss is None else loss.action,
        count=faults.sessions,
        rules=(of.rule,),
        kind=below(worst),
        about=next(iter(faults.receivers)),
        connections=tuple(faults.connections),
        # A step of the connection tells of them.
        segments=True,
    )


def _text(faults: _Faults, words: Phrases, loss: Loss | None) -> str:
    sender, receiver = faults.named
    worst, several = faults.worst, faults.sessions > 1
    where, up_to = f" in {count(faults.sessions, 'connection')}" if several else "", "up to " * several
    reset = _reset_of(worst)
    match worst.kind:
        case "unanswered":
            lost = f"the network dropped it or the answers, or {receiver} is down"
            lost = lost if loss is None else f"lost between {loss.between}"
            return (
                f"TCP of {receiver} acknowledged nothing more of what {sender} sent{where}, "
                f"{again_clause(worst)}: {lost}"
            )
        case "resent":
            share = f"{faults.share:.0%}".replace("%", " %")
            return (
                f"{sender} sent {count(faults.count, 'segment')} to {receiver} again, about {up_to}{share} "
                f"of its segments{where}: they or their acknowledgments were lost"
            )
        case "window":
            times = f", {count(faults.count, 'time')}" if faults.count > 1 else ""
            return (
                f"{receiver} took no bytes from {sender} for {up_to}{span(worst.lasted)}{where}: its TCP "
                f"receive window was 0{times}{still_closed(worst)}{_behind(worst, words)}"
            )
        case "reset":
            assert reset is not None
            victim, bearer = map(host, worst.ends)
            return (
                f"the reset in {words.frame(reset.at)} bears the address of {bearer}, and a device between "
                f"it and {victim} seems to have sent it{where}: {forged_clause(reset, bearer)}"
            )
        case "idle":
            came = f"got a reset{_forged(reset, receiver)}" if not worst.lasted else "got no answer"
            came += f" ({again_clause(worst)})" if worst.lasted else ""
            return (
                f"the connection between {sender} and {receiver} was dropped while it was idle{where}: "
                f"after {span(faults.shortest_idle)} without traffic {sender} {came}"
            )
        case "mtu":
            return f"{router_clause(worst)}: what {sender} sends to {receiver} is too big for it{where}"


def _next_opened(fault: NetworkFault, story: Story) -> Session | None:
    """The next connection between the same ends after one that got no answer any more, where it opened."""
    dead = fault.session
    if fault.kind not in _SILENT or dead.close is None:
        return None
    client, after = host(dead.client), dead.close.record
    others = (
        one
        for one in story.sessions
        if one.number > dead.number and one.server == dead.server and host(one.client) == client
    )
    first = next((one for one in others if one.first.record >= after), None)
    return first if first is not None and first.reached == "open" else None


def _next_text(fault: NetworkFault, after: Session | None, words: Phrases) -> str:
    """That the next connection between the hosts opened, so that only one was dead; empty without one."""
    if after is None or after.syn is None or after.syn_ack is None:
        return ""
    took = (after.syn.time or 0) - (fault.session.close.time or 0) if fault.session.close else _SOON
    only = ": only the one before it was dead" if fault.kind == "idle" and took < _SOON else ""
    return (
        f" The next connection between them, begun in {words.frame(after.syn)}"
        f"{later(fault.session.close, after.syn)}, was accepted{only}."
    )


def _forged(reset: ConnectionReset | None, bearer: str) -> str:
    """That somebody between the hosts seems to have sent a reset, and why; empty where nothing says so."""
    if reset is None or reset.forged_by is None:
        return ""
    return f" that a device between them seems to have sent ({forged_clause(reset, bearer)})"


def _behind(fault: NetworkFault, words: Phrases) -> str:
    """The messages that waited for a window that was full."""
    there = fault.session.directions[fault.side]
    if still_closed(fault) and there.unacknowledged:
        return f"; {count(there.unacknowledged, 'message')} still waited behind it"
    held = delay_fault(fault.session, there.longest_wait_at, there.longest_wait)
    if there.longest_wait is None or held is None or held.kind != fault.kind:
        return ""
    return (
        f"; the message in {words.frame(there.longest_wait_at)} waited {span(there.longest_wait)} behind it"
    )


def _reset_of(fault: NetworkFault) -> ConnectionReset | None:
    return None if fault.session.network is None else fault.session.network.reset


def _facts(found: Iterable[tuple[tuple[FaultKind, str, str], _Faults]]) -> Iterator[dict[str, Any]]:
    """The faults as data, at most 64; times are nanoseconds."""
    for (kind, sender, receiver), faults in islice(found, _MOST_FACTS):
        yield {
            "fault": kind,
            "sender": sender,
            "receiver": receiver,
            "connections": faults.sessions,
            "segments": faults.count,
            "longest": faults.worst.lasted,
            "idle": faults.shortest_idle or None,
        }
