"""SES-CONNECT: TCP connections to port 1801 that are not accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from msmq_wire.detection.finding import Severity
from msmq_wire.detection.rule import Context, Detection, Rule
from msmq_wire.detection.session_places import accepted, asked_again, place_in
from msmq_wire.records.coverage import Need
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Session, Story
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND

_MOST_PAIRS = 4096
_SHOWN = 8
_SYN_TIMEOUT = 60 * SECOND
"""So long before the end of a capture, a first SYN may still be answered."""
_NOTHING = "nothing"
_CAPTURED: tuple[Need, ...] = ("counted", "in_time")
_LATER = "a later connection of the same client was accepted"


class _FailedAttempts(msgspec.Struct):
    """Connections of one client to one server that were not accepted; ``sessions`` are the first ones.

    ``unanswered`` is true if retransmitted SYNs show for every connection that nothing answered.
    """

    sessions: list[Session]
    answers: Counter[str]
    syns: int = 0
    later: bool = False
    unanswered: bool = True


def _check(story: Story, context: Context) -> Iterator[Detection]:
    by_pair: dict[tuple[str, str], _FailedAttempts] = {}
    for session in story.sessions:
        pair = host_of(session.client), session.server
        answer = _failure(session, story)
        if answer is None:
            if pair in by_pair and accepted(session):
                by_pair[pair].later = True
            continue
        if pair not in by_pair and len(by_pair) >= _MOST_PAIRS:
            continue
        attempts = by_pair.setdefault(pair, _FailedAttempts([], Counter()))
        attempts.answers[answer] += 1
        attempts.syns += 1 + session.syn_retransmissions
        attempts.later = False
        attempts.unanswered &= answer == _NOTHING and asked_again(session)
        if len(attempts.sessions) < _SHOWN:
            attempts.sessions.append(session)
    for (client, server), attempts in by_pair.items():
        severity: Severity | None = "info" if attempts.later else None
        yield Detection(
            message=_message(client, server, attempts),
            evidence=tuple(place_in(one, one.syn or one.first, 0) for one in attempts.sessions),
            severity=severity,
            caveats=(_LATER,) if attempts.later else (),
            # Retransmitted SYNs show it, even if the other direction was not captured.
            needs=_CAPTURED if attempts.unanswered else None,
        )


def _failure(session: Session, story: Story) -> str | None:
    """What answered the SYN if the connection failed; None if it was accepted, or still may be."""
    if session.state == "refused_tcp":
        return "ICMP" if session.closed_by == "unreachable" else "a reset"
    if session.syn is None or accepted(session):
        return None
    since, last = session.syn.time, story.last
    waited = since is None or last is None or last - since >= _SYN_TIMEOUT
    return _NOTHING if waited or session.syn_retransmissions else None


def _message(client: str, server: str, attempts: _FailedAttempts) -> str:
    total = attempts.answers.total()
    tried = f"{client} tries to connect to {server}{'' if total == 1 else f' {total:,} times'}"
    if len(attempts.answers) == 1:
        (answer,) = attempts.answers
        syns = f"any of {attempts.syns:,} SYNs" if answer == _NOTHING else "each SYN"
        return f"{tried}, and {answer} answers {'the SYN' if attempts.syns == 1 else syns}"
    answers = [f"{answer} ({number:,} times)" for answer, number in attempts.answers.items()]
    return f"{tried}, and what answers is {' and '.join(answers)}"


RULE = Rule(
    id="SES-CONNECT",
    title="No connection to port 1801",
    severity="medium",
    layer="network",
    spec=(SpecRef("MS-MQQB", "2.1.1"), SpecRef("MS-MQQB", "3.1.5.2")),
    meaning="A session needs a TCP connection, and none was opened. The messages that the client has for "
    "this server wait.",
    action="Check whether the server is up and Message Queuing runs there, and check the firewalls in front "
    "of it.",
    harmless="The server was being restarted, or its answers were not captured.",
    over="story",
    needs=("two_way", *_CAPTURED),
    check=_check,
)
