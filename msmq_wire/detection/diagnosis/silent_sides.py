"""Hosts to which nothing was captured any more, although bytes came to them: `silent_sides`.

The rule kept here: that a host is told nothing is no gap. What it acknowledges, or what is missing behind it,
must show of each connection that went on that the recording lacks what came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

import msgspec

from msmq_wire.detection.diagnosis.phrases import Phrases, host
from msmq_wire.records.coverage import NEVER, Coverage
from msmq_wire.sessions import Moment, Session, Story
from msmq_wire.units import SECOND

_LEAST = 5 * SECOND
"""Nanoseconds for which a host must have gone on sending."""
_MOST_SHOWN = 3
_MOST_HOSTS = 4096


class SilentSide(NamedTuple):
    """A host, the last packet to it that was captured, and the last one from it."""

    host: str
    last: Moment
    until: Moment


class _Side(msgspec.Struct):
    """What was captured of a host: the last packets, and each connection that something to it lacks of."""

    to: Moment | None = None
    sent: Moment | None = None
    whole: int = 0
    """When a connection that nothing to it lacks of last had a packet of either side (ns)."""
    lacking: bool = False


def silent_sides(story: Story) -> list[SilentSide]:
    """The hosts to which nothing was captured any more, at most three; none where nothing is missing."""
    lacking = {(one.capture, one.stream): one for one in story.visibility.lacking_connections()}
    if not lacking:
        return []
    sides: dict[tuple[str, str], _Side] = {}
    for session in story.sessions:
        coverage = lacking.get((session.capture, -1 if session.stream is None else session.stream))
        for number, end in enumerate((session.client, session.server)):
            key = session.capture, host(end)
            if key in sides or len(sides) < _MOST_HOSTS:
                _take(sides.setdefault(key, _Side()), session, number, coverage)
    found = (
        SilentSide(name, side.to, side.sent)
        for (_, name), side in sides.items()
        if side.to is not None and side.sent is not None and side.lacking and _is_silent(side)
    )
    return sorted(found, key=lambda one: one.last.record)[:_MOST_SHOWN]


def silent_clauses(story: Story, words: Phrases) -> Iterator[tuple[str, Moment]]:
    """The same in clauses, each with its last packet."""
    for one in silent_sides(story):
        last = f"{words.frame(one.last)}{words.period([one.last])}"
        yield f"no packet to {one.host} is in the capture after {last}", one.last


def _take(side: _Side, session: Session, number: int, coverage: Coverage | None) -> None:
    mine, other = session.directions[number], session.directions[1 - number]
    to = _latest((mine.last_ack, other.last_message, session.establish_response if not number else None))
    sent = _latest((mine.last_message, other.last_ack))
    side.to, side.sent = _latest((side.to, to)), _latest((side.sent, sent))
    if coverage is not None and _lacks(coverage, (session.client, session.server)[1 - number]):
        side.lacking = True
    else:
        side.whole = max(side.whole, *(one.time or 0 for one in (to, sent) if one is not None), 0)


def _lacks(coverage: Coverage, end: str) -> bool:
    """Whether something of what an end of a connection sent was not captured."""
    sent_by = coverage.ends.index(end) if end in coverage.ends else 0
    return coverage.unseen != NEVER or coverage.first_hole[sent_by] != NEVER


def _is_silent(side: _Side) -> bool:
    last = 0 if side.to is None else side.to.time or 0
    until = 0 if side.sent is None else side.sent.time or 0
    return last > 0 and until >= last + _LEAST and side.whole <= last


def _latest(moments: Iterable[Moment | None]) -> Moment | None:
    return max((one for one in moments if one is not None), key=attrgetter("record"), default=None)
