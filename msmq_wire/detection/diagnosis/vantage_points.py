"""Where vantage points are, how long packets took between them, and what their recordings lack.

The rule kept here: a time is told with the uncertainty of the clocks, and not at all where they cannot be
compared. What one recording lacks, another one may have.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from msmq_wire.detection.cause import Cause
from msmq_wire.detection.diagnosis.answer import MOST, AnswerBuilder
from msmq_wire.detection.diagnosis.path_losses import NET_PATH, between
from msmq_wire.detection.diagnosis.phrases import Phrases, count, host, listed, span
from msmq_wire.detection.diagnosis.whereabouts import Loss, short_points
from msmq_wire.records.joined_capture import JoinedCapture
from msmq_wire.records.seen_at import point_names
from msmq_wire.records.transit import Transit, Transits
from msmq_wire.sessions import Moment, Story
from msmq_wire.sessions.point_sights import PointSights

_MOST_FACTS = 64
_RARE = 1000
"""One packet of so many is lost now and then: that is no cause."""
_LEAST_DROPPED = 2
"""One packet alone may be what a recording lost without a trace: that is no cause either."""
_DOUBTED = 4
"""Packets that were sent again are lost on the way only if they are more than so many times those that the
recording is known to have lost: what it lost otherwise looks the same."""


def recordings(story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 19: where the points are, and what their recordings lack."""
    sights = story.point_sights
    if sights is None:
        return
    for capture in sights.captures:
        builder.say(f"{listed(short_points(capture))} recorded the same traffic: it is read as one.")
        for text in (*_nearer(capture), *_clocks(capture), *_translations(capture)):
            builder.say(text)
    for text in _alone(story, sights):
        builder.say(text)
    for text in recording_gaps(sights):
        builder.say(f"{text}.")
    for text in _limits(sights, words):
        builder.say(text)


def _alone(story: Story, sights: PointSights) -> Iterator[str]:
    """The captures that no other one is a place of, in sentences; by their hosts."""
    joint = set(map(str, sights.captures))
    hosts: set[str] = set()
    alone: dict[str, set[str]] = {}
    for one in story.sessions:
        ends = {host(one.client), host(one.server)}
        if one.capture in joint:
            hosts |= ends
        elif one.capture in alone or len(alone) < _MOST_FACTS:
            alone.setdefault(one.capture, set()).update(ends)
    for name, ends in list(alone.items())[:MOST]:
        why = " has other hosts and nothing in common with the others: it" if hosts.isdisjoint(ends) else ""
        yield f"{os.path.basename(name)}{why} is read by itself."
    if len(alone) > MOST:
        yield f"The same is true of {count(len(alone) - MOST, 'more capture')}."


def _nearer(capture: JoinedCapture) -> Iterator[str]:
    """Which points are nearer which host."""
    names, transits = short_points(capture), capture.transits
    told: set[frozenset[str]] = set()
    for (src, dst), _, _ in transits.all():
        path = [names[point] for point in transits.path(src, dst)]
        if len(path) < 2 or frozenset((src, dst)) in told or len(told) >= MOST:
            continue
        told.add(frozenset((src, dst)))
        if len(path) == 2:
            yield f"{path[0]} is nearer {src}, and {path[1]} nearer {dst}."
        else:
            yield f"What {src} sends to {dst} passes {listed(path)}, in this order."


def _clocks(capture: JoinedCapture) -> Iterator[str]:
    """How the clock of each point differs from that of the first one."""
    names, points = short_points(capture), list(enumerate(capture.clock_offsets))
    for at, offset in points[1:]:
        uncertainty = capture.transits.uncertainty(0, at)
        if uncertainty is not None:
            way = "behind" if offset > 0 else "ahead of"
            yield (
                f"Times are those of {names[0]}; the clock of {names[at]} is {span(abs(offset))} {way} it "
                f"(± {span(uncertainty)})."
            )


def _translations(capture: JoinedCapture) -> Iterator[str]:
    """Which addresses are translated between the points."""
    names, found = short_points(capture), capture.translations
    shown = [f"{there} in {names[point]} is {here} in {names[0]}" for point, there, here in found[:MOST]]
    if shown:
        yield f"Addresses are translated (NAT) between the places: {listed(shown, len(found))}."


def recording_gaps(sights: PointSights | None) -> list[str]:
    """What recordings lack that came to their places, in sentences."""
    if sights is None:
        return []
    lost: Counter[str] = Counter()
    for (capture, at), number in _lost_by_recordings(sights).items():
        lost[short_points(capture)[at]] += number
    shares = _lost_shares(sights)
    least = "at least " if sights.more else ""
    return [
        f"The recording {name} lost frames{shares.get(name, '')}: {least}{count(number, 'packet')} that came "
        f"there {_is(number)} not in it"
        for name, number in lost.items()
    ]


def _lost_shares(sights: PointSights) -> dict[str, str]:
    """How many of the frames with data that came to a point are not in its recording, where that is known."""
    shares: dict[str, str] = {}
    for capture in sights.captures:
        for point, name in enumerate(short_points(capture)):
            lost = capture.lost_frames(point)
            ways: Counter[tuple[str, str]] = Counter()
            for ends, points, transit in capture.transits.all():
                if point in points:
                    ways[ends] = max(ways[ends], transit.total)
            if lost and ways.total():
                percent = round(100 * lost / (lost + ways.total()))
                shares[name] = f", {f'about {percent}' if percent else 'less than 1'} % of those with data"
    return shares


def _lost_by_recordings(sights: PointSights) -> Counter[tuple[JoinedCapture, int]]:
    """How many packets came to each point and are not in its recording."""
    lost: Counter[tuple[JoinedCapture, int]] = Counter()
    for seen, each in sights.partly_seen():
        lost.update((seen.capture, at) for at, (_, one) in enumerate(each) if one.reason == "lost")
    return lost


def _limits(sights: PointSights, words: Phrases) -> Iterator[str]:
    """What recordings do not cover: times, and directions."""
    outside: Counter[tuple[JoinedCapture, int]] = Counter()
    for seen, each in sights.partly_seen():
        outside.update((seen.capture, at) for at, (_, one) in enumerate(each) if one.reason == "outside")
    for (capture, at), number in outside.items():
        name, times = short_points(capture)[at], sights.times[capture][at]
        packets = f"{count(number, 'packet')} {'was' if number == 1 else 'were'}"
        if times is not None:
            yield f"{name} has packets {between(*times, words)} only: {packets} sent before or after that."
    for capture, point, src, dst in sights.one_sided()[:MOST]:
        name = dict(zip(point_names(capture), short_points(capture), strict=True))[point]
        yield f"{name} has only what {src} sent to {dst}: what {dst} sent is not in it."


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def dropped_packets(story: Story, words: Phrases, builder: AnswerBuilder) -> None:
    """Question 4: packets that were lost between two points, and came when TCP sent them again."""
    dropped: list[_Dropped] = []
    sights = story.point_sights
    lost = Counter[tuple[JoinedCapture, int]]() if sights is None else _lost_by_recordings(sights)
    for capture in () if sights is None else sights.captures:
        names = short_points(capture)
        for (src, dst), points, transit in capture.transits.all():
            for place, seen in enumerate(points):
                missing = points[1 - place]
                if transit.missed[place] <= _DOUBTED * lost[capture, missing]:
                    continue
                # What only a point further on its way saw is missing in the recording of the other one.
                if transit.missed[place] and capture.transits.next_to(src, dst, seen, missing):
                    times = transit.first_missed[place], transit.last_missed[place]
                    held = transit.longest_held[place]
                    known = 0 if sights is None else sights.first_record(capture)
                    # Frames of a third point do not show what this one saw.
                    moments = tuple(
                        Moment(known, one, time or None)
                        for one, time in transit.missed_frames[place]
                        if capture.locate(one)[0] in capture.point_files[seen]
                    )
                    number = transit.missed[place]
                    total = max(one.total for ends, _, one in capture.transits.all() if ends == (src, dst))
                    loss = Loss((names[seen],), (names[missing],), True, len(names) == 2)
                    dropped.append(_Dropped(src, dst, loss, number, total, times, held, moments))
        for text in _repeated(capture):
            builder.say(text, attention="info")
    dropped.sort(key=lambda one: -one.number)
    for one in dropped[:MOST]:
        where = f" ({words.frames(one.moments, one.number)})" if one.moments else ""
        frames = [at.frame for at in one.moments if at.frame is not None]
        text = f"{one.text}, {between(*one.times, words)}{where}. {one.came}"
        builder.say(text, frames=frames, attention="info")
        if one.number >= _LEAST_DROPPED and one.number * _RARE >= one.total:
            builder.add_cause(_dropped_cause(one))
    if len(dropped) > MOST:
        builder.say(f"And packets of {count(len(dropped) - MOST, 'more pair')} of hosts were lost so.")
    if dropped:
        builder.facts["lost_and_sent_again"] = [
            {
                "from": one.src,
                "to": one.dst,
                "seen_at": list(one.loss.seen),
                "never_at": list(one.loss.missing),
                "packets": one.number,
                "first_time": one.times[0],
                "last_time": one.times[1],
                "longest_held": one.held or None,
            }
            for one in dropped[:_MOST_FACTS]
        ]


def _repeated(capture: JoinedCapture) -> Iterator[str]:
    """Segments that were sent again although they had come to the last point on their way."""
    names, transits = short_points(capture), capture.transits
    found = [(transit.repeated, ends, points) for ends, points, transit in transits.all() if transit.repeated]
    for number, (src, dst), points in sorted(found, reverse=True)[:MOST]:
        path = transits.path(src, dst)
        if path and {path[0], path[-1]} == {*points}:
            yield (
                f"{src} sent {count(number, 'segment')} to {dst} again whose bytes had arrived at the "
                f"place of {names[path[-1]]} before: acknowledgments were lost or late, and no data."
            )


class _Dropped(NamedTuple):
    """Packets from one host to another that were lost between two points, of about so many."""

    src: str
    dst: str
    loss: Loss
    number: int
    total: int
    times: tuple[int, int]
    held: int
    moments: tuple[Moment, ...]

    @property
    def came(self) -> str:
        """That they came, and how much later."""
        late = f", held up by {span(self.held)}{' at most' * (self.number > 1)}" if self.held else ""
        return f"They came when TCP sent them again{late}: nothing is lost by that but time."

    @property
    def text(self) -> str:
        """Where how many were lost."""
        loss = self.loss.text_at(self.src, self.dst)
        packets = f"at least {count(self.number, 'packet')} of about {self.number + self.total:,}"
        return f"{loss[:1].upper()}{loss[1:]}: {packets} from {self.src} to {self.dst}"


def _dropped_cause(one: _Dropped) -> Cause:
    return Cause(
        text=f"{one.text}, which TCP sent again",
        severity="low",
        confidence="certain",
        moments=one.moments,
        segments=True,
        who=(one.src, one.dst),
        action=f"look at what lies between {one.loss.between}: lines, switches, load",
        count=one.number,
        rules=(NET_PATH,),
        layer="network",
        kind="dropped",
        about=one.dst,
        explains=("network resent",),
        odd=True,
    )


def transit_times(story: Story, builder: AnswerBuilder) -> None:
    """Question 4: how long packets took from one vantage point to the next."""
    sights = story.point_sights
    facts: list[dict[str, str | int | None]] = []
    for capture in () if sights is None else sights.captures:
        names, told, transits = short_points(capture), 0, capture.transits
        for (src, dst), points, transit in transits.all():
            first, second = points if _forward(transit) else points[::-1]
            ordered = bool(transits.order(src, dst, first, second))
            if not transit.count or (ordered and _is_sum(transits, (src, dst), (first, second))):
                continue
            if transit.uncertainty is not None and told < MOST:
                told += 1
                builder.say(_transit_text(f"{src} to {dst}", f"{names[first]} to {names[second]}", transit))
            if len(facts) < _MOST_FACTS:
                facts.append(
                    {"from": src, "to": dst, "first": names[first], "second": names[second]} | _times(transit)
                )
        if any(one.uncertainty is None for _, _, one in capture.transits.all()):
            builder.add_caveats(
                "how long packets took between the places of recording is not known: only one direction was "
                "recorded at both, so that their clocks cannot be compared"
            )
    if facts:
        builder.facts["transit_times"] = facts


def _is_sum(transits: Transits, ends: tuple[str, str], points: tuple[int, int]) -> bool:
    """Whether the times from one point to another are told as those to and from one between them."""
    first, second = points
    known = {places for each, places, one in transits.all() if each == ends and one.count}
    ways = known | {places[::-1] for places in known}
    others = {place for places in known for place in places} - {first, second}
    return any(
        (first, other) in ways
        and (other, second) in ways
        and transits.order(*ends, first, other) == transits.order(*ends, other, second) == 1
        for other in others
    )


def _times(transit: Transit) -> dict[str, int | None]:
    known = transit.uncertainty is not None
    smallest, median, largest = _in_order(transit)
    return {
        "packets": transit.count,
        "smallest": smallest if known else None,
        "median": median if known else None,
        "largest": largest if known else None,
        "uncertainty": transit.uncertainty,
    }


def _forward(transit: Transit) -> bool:
    """Whether packets came to the first point before the second one."""
    return (transit.order or transit.median) >= 0


def _in_order(transit: Transit) -> tuple[int, int, int]:
    """The smallest, the middle and the largest time, from the point that packets came to first."""
    if not _forward(transit):
        return -transit.largest, -transit.median, -transit.smallest
    return transit.smallest, transit.median, transit.largest


def _transit_text(ends: str, places: str, transit: Transit) -> str:
    smallest, median, largest = (span(max(time, 0)) for time in _in_order(transit))
    took = median if smallest == largest else f"{smallest} to {largest}"
    middle = "" if smallest == largest else f"median {median}, "
    return (
        f"Packets from {ends} took {took} from {places} ({middle}± {span(transit.uncertainty or 0)} by the "
        f"clocks; {count(transit.count, 'packet')})."
    )
