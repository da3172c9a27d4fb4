"""SES-CONNECT: TCP connections to port 1801 that nobody accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from msmq_wire.findings.finding import Severity
from msmq_wire.findings.rule import Context, Detection, Rule
from msmq_wire.findings.session_places import accepted, asked_again, place_in
from msmq_wire.records.coverage import Need
from msmq_wire.records.endpoint import host_of
from msmq_wire.sessions import Session, Story
from msmq_wire.spec import SpecRef
from msmq_wire.units import SECOND

_MOST_PAIRS = 4096
_SHOWN = 8
_PATIENCE = 60 * SECOND
"""Within this before the end of a capture the answer to a first SYN may still come."""
_NOTHING = "nothing"
_CAPTURED: tuple[Need, ...] = ("counted", "in_time")
_LATER = "a later connection of the same client was accepted"


class _Pile(msgspec.Struct):
    """Connections of one client to one server that were not accepted; ``sessions`` are the first of them.

    ``again`` says that each of them shows by SYNs that were sent again that nothing answered.
    """

    sessions: list[Session]
    answers: Counter[str]
    syns: int = 0
    later: bool = False
    again: bool = True


def _check(story: Story, context: Context) -> Iterator[Detection]:
    piles: dict[tuple[str, str], _Pile] = {}
    for session in story.sessions:
        pair = host_of(session.client), session.server
        answer = _answer(session, story)
        if answer is None:
            if pair in piles and accepted(session):
                piles[pair].later = True
            continue
        if pair not in piles and len(piles) >= _MOST_PAIRS:
            continue
        pile = piles.setdefault(pair, _Pile([], Counter()))
        pile.answers[answer] += 1
        pile.syns += 1 + session.syn_retransmissions
        pile.later = False
        pile.again &= answer == _NOTHING and asked_again(session)
        if len(pile.sessions) < _SHOWN:
            pile.sessions.append(session)
    for (client, server), pile in piles.items():
        severity: Severity | None = "info" if pile.later else None
        yield Detection(
            message=_said(client, server, pile),
            evidence=tuple(place_in(one, one.syn or one.first, 0) for one in pile.sessions),
            severity=severity,
            caveats=(_LATER,) if pile.later else (),
            # What the client does tells it: the other direction need not have been captured.
            needs=_CAPTURED if pile.again else None,
        )


def _answer(session: Session, story: Story) -> str | None:
    """What answered the SYN in the place of TCP; None where TCP did, or may still do so."""
    if session.state == "refused_tcp":
        return "ICMP" if session.closed_by == "unreachable" else "a reset"
    if session.syn is None or accepted(session):
        return None
    since, last = session.syn.time, story.last
    waited = since is None or last is None or last - since >= _PATIENCE
    return _NOTHING if waited or session.syn_retransmissions else None


def _said(client: str, server: str, pile: _Pile) -> str:
    total = pile.answers.total()
    tried = f"{client} tries to connect to {server}{'' if total == 1 else f' {total:,} times'}"
    if len(pile.answers) == 1:
        (answer,) = pile.answers
        syns = f"any of {pile.syns:,} SYNs" if answer == _NOTHING else "each SYN"
        return f"{tried}, and {answer} answers {'the SYN' if pile.syns == 1 else syns}"
    answers = [f"{answer} ({number:,} times)" for answer, number in pile.answers.items()]
    return f"{tried}, and what answers is {' and '.join(answers)}"


RULE = Rule(
    id="SES-CONNECT",
    title="No connection to port 1801",
    severity="medium",
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
