"""Question 13: whether a host behaves as a peer, or sends what scanners and exploits send.

The rule kept here: the answer says what was observed, and which rules it breaks. Intent is for the analyst.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.message_sums import SenderTrouble
from msmq_wire.detection.diagnosis.phrases import ASK, Phrases, count, host, listed, part
from msmq_wire.detection.finding import SEVERITIES, Evidence, Finding, Severity
from msmq_wire.detection.folding import Fold
from msmq_wire.detection.rule import Rule
from msmq_wire.detection.session_places import needs_of, noted, position_of
from msmq_wire.records.visibility import Visibility
from msmq_wire.sessions import Moment, Session, SessionDirection, Story

_MOST_HOSTS = 4096
_MOST_IDS = 64
_FROM = SEVERITIES.index("medium")
_OF_ALL = frozenset(("ID-CLONE",))
"""Rules that are about every host of their evidence."""
_UNANSWERED = frozenset(("SES-CONNECT",))
"""Rules about missing answers, which are not about the sender of the request."""


class _Marks(msgspec.Struct):
    """Findings about what one host sent."""

    severity: Severity
    first: Moment
    ids: Counter[str]
    titles: dict[str, str]
    cves: dict[str, None]


_EVEN = "BOD-ENC"


def diagnosis_needs(rule: Rule) -> bool:
    """Whether a diagnosis needs the findings of a rule.

    Of the rules with severity info, it needs only the one about bodies that look random. It makes the
    findings over causes itself.
    """
    return rule.over != "cause" and (rule.severity != "info" or rule.id == _EVEN)


class FindingSums:
    """Takes findings; counts those of medium severity or more by the host that sent the evidence.

    ``even`` counts bodies that look random, by sender and receiver.
    """

    def __init__(self) -> None:
        self.hosts: dict[str, _Marks] = {}
        self.unanswered: set[str] = set()
        self.even: Counter[tuple[str, str]] = Counter()
        self.severities: Counter[str] = Counter()
        self.candidates = Fold()

    def feed(self, findings: Iterable[Finding]) -> None:
        """Take findings, without those that a diagnosis makes."""
        findings = tuple(one for one in findings if not one.answered)
        for finding in findings:
            self.severities[finding.severity] += 1
            if finding.rank:
                self.candidates.add(finding)
            if finding.id == _EVEN and len(self.even) < _MOST_HOSTS:
                place = finding.evidence[0]
                self.even[host(place.src or ""), host(place.dst or "")] += 1
            if finding.rank < _FROM:
                continue
            places = finding.evidence if finding.id in _OF_ALL else finding.evidence[:1]
            for place in places or (Evidence(),):
                self._mark(finding, place)

    def _mark(self, finding: Finding, place: Evidence) -> None:
        name = host(place.src or "")
        if finding.id in _UNANSWERED:
            if len(self.unanswered) < _MOST_HOSTS:
                self.unanswered.add(name)
            return
        marks = self.hosts.get(name)
        if marks is None:
            if len(self.hosts) >= _MOST_HOSTS:
                return
            moment = Moment(place.record or 0, place.frames[-1] if place.frames else None, place.time)
            marks = self.hosts[name] = _Marks(finding.severity, moment, Counter(), {}, {})
        if SEVERITIES.index(finding.severity) > SEVERITIES.index(marks.severity):
            marks.severity = finding.severity
        if finding.id in marks.ids or len(marks.ids) < _MOST_IDS:
            marks.ids[finding.id] += 1
            marks.titles[finding.id] = finding.title
            marks.cves |= dict.fromkeys(finding.cves)


class _Conduct(msgspec.Struct):
    """What a client did in its sessions."""

    first: Moment
    connections: int = 0
    opened: int = 0
    completed: int = 0
    messages: int = 0
    taken: int = 0
    naked: int = 0


def is_naked(session: Session, visibility: Visibility) -> bool:
    """Whether the capture shows a message before the session was open."""
    return any(
        not visibility.lacking(needs_of(session, note), position_of(session, note.first, note.direction))
        for note in noted(session, "message_before_open")
    )


def _unacknowledged(there: SessionDirection, story: Story) -> Iterator[str]:
    """The messages of a session without a session acknowledgment, if identifiers distinguish them."""
    for message_id in there.unacknowledged_ids:
        message = story.lives.kept(message_id)
        # Where nothing was sent again, another message with that identifier was acknowledged.
        if message is None or message.acknowledged is None or message.resends:
            yield message_id


def peers(
    story: Story,
    sums: FindingSums,
    troubles: Mapping[str, SenderTrouble],
    words: Phrases,
    builder: AnswerBuilder,
) -> None:
    """Question 13."""
    clients: dict[str, _Conduct] = {}
    for session in story.sessions:
        name = host(session.client)
        conduct = clients.get(name)
        if conduct is None:
            if len(clients) >= _MOST_HOSTS:
                continue
            conduct = clients[name] = _Conduct(first=session.first)
        there = session.directions[0]
        conduct.connections += 1
        conduct.opened += session.reached == "open"
        conduct.completed += session.reached == "open" and session.parameters_response is not None
        builder.claim("opened" if session.reached == "open" else "not_opened", f"session {session.number}")
        builder.claim("not_in_session", *_unacknowledged(there, story))
        conduct.messages += there.messages
        conduct.taken += there.messages - there.unacknowledged
        conduct.naked += is_naked(session, story.visibility)
    ranked = sorted(sums.hosts.items(), key=lambda one: -SEVERITIES.index(one[1].severity))
    for name, marks in ranked[:MOST]:
        reported = [
            f"{id_} ({marks.titles[id_]}{_times(number)})" for id_, number in sorted(marks.ids.items())
        ]
        text = f"Findings about {name or 'an unknown host'}: {listed(reported)}; first in "
        conduct = clients.get(name)
        text += f"{words.frame(marks.first)}. "
        if conduct is not None:
            text += _conduct((name,), (conduct,), troubles.get(name)).replace(_like(1), "")
        text += _trouble(troubles.get(name))
        if marks.cves:
            text = text.rstrip() + f" It matches the published condition of {listed(list(marks.cves))}."
        builder.say(text.rstrip(), marks.first, attention=marks.severity)
    quiet = {name: conduct for name, conduct in clients.items() if name not in sums.hosts}
    grouped = [
        name
        for name, conduct in quiet.items()
        if conduct.completed == conduct.connections and 0 < conduct.taken == conduct.messages
        and not conduct.naked and name not in troubles and name not in sums.unanswered
    ]  # fmt: skip
    if len(grouped) > 1:
        conducts = [quiet.pop(name) for name in grouped]
        text = f"{_conduct(grouped, conducts)} No finding of medium or high severity is about them."
        builder.say(text, *(conduct.first for conduct in conducts[:MOST]))
    for name, conduct in list(quiet.items())[:MOST]:
        text = f"{_conduct((name,), (conduct,), troubles.get(name))}{_trouble(troubles.get(name))}"
        if name in sums.unanswered:
            text += f" Nobody accepted some of its connections: {ASK.format(2)}."
        else:
            text += " No finding of medium or high severity is about it."
        builder.say(text, conduct.first, attention="medium" if conduct.naked else None)
    if len(ranked) > MOST or len(quiet) > MOST:
        rest = max(len(ranked) - MOST, 0) + max(len(quiet) - MOST, 0)
        builder.say(f"And {count(rest, 'more host')}: findings lists what was observed.")
    builder.facts = {
        "findings": dict(sums.severities),
        "hosts": {name: dict(marks.ids) for name, marks in ranked[:64]},
        "clients": {
            name: {
                "connections": conduct.connections,
                "opened": conduct.opened,
                "messages": conduct.messages,
                "acknowledged": conduct.taken,
            }
            for name, conduct in list(clients.items())[:64]
        },
    }


def _like(number: int) -> str:
    """A phrase about what the acknowledgments show about one host, or several."""
    return ": it behaves like a queue manager" if number == 1 else ": they behave like queue managers"


def _times(number: int) -> str:
    return "" if number == 1 else f", {number:,} times"


def _conduct(names: Sequence[str], conducts: Sequence[_Conduct], trouble: SenderTrouble | None = None) -> str:
    """What hosts with the same conduct did in their sessions."""
    name, conduct = listed(names), conducts[0]
    if conduct.naked:
        return f"{name} sent a message before a session was open."
    if not conduct.opened:
        sent = f"{count(conduct.messages, 'message')} sent" if conduct.messages else "no message sent"
        return f"{name}: {count(conduct.connections, 'connection')}, no session opened, {sent}."
    text = f"{name} opened {count(sum(one.completed for one in conducts), 'session')}"
    if not conduct.completed:
        text = f"{name} was in {count(conduct.opened, 'session')} whose opening was not captured"
    if conduct.taken:
        number, total = sum(one.taken for one in conducts), sum(one.messages for one in conducts)
        again = trouble is not None and trouble.resends
        taken = part(
            number, total, *(("packet with a message", "packets with messages") if again else ("message",))
        )
        taken = taken[:1].lower() + taken[1:]
        return f"{text} and {taken} {'was' if number == 1 else 'were'} acknowledged{_like(len(names))}."
    sent = "no message"
    if conduct.messages:
        where = "its session" if conduct.messages == 1 else "their sessions"
        sent = f"{count(conduct.messages, 'message')}, not acknowledged in {where}"
    return f"{text} and sent {sent}."


def _trouble(trouble: SenderTrouble | None) -> str:
    """What happened to the acknowledged messages."""
    if trouble is None:
        return ""
    text = ""
    if trouble.refused:
        was = "was" if trouble.refused == 1 else "were"
        text += f" {trouble.refused:,} of its messages {was} refused: {ASK.format(5)}."
    if trouble.waiting:
        text += f" No OrderAck covers {trouble.waiting:,} of its messages: {ASK.format(12)}."
    return text
