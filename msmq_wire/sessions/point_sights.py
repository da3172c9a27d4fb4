"""`PointSights`: records that not all vantage points of a capture saw, and what each saw of connections.

The rule kept here: what a point saw is asked at the end, when all of the capture is known. Memory is bounded:
records that prove nothing go first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple, TypeGuard

from msmq_wire.records.endpoint import host_of
from msmq_wire.records.joined_capture import JoinedCapture, Sight
from msmq_wire.records.record import Record
from msmq_wire.records.run import Run
from msmq_wire.records.seen_at import Sights, is_partly, point_names, sights_of
from msmq_wire.sessions.moment import Moment

_MOST = 1 << 15
"""Records that are kept."""
_MOST_STREAMS = 1 << 16
_TELLING = frozenset(("absent", "lost"))
_NOTHING_SENT = frozenset(("gap", "error"))


class PartlySeen(NamedTuple):
    """A record that not all points saw: its capture, its type or its step, both ends, and its frames."""

    capture: JoinedCapture
    type: str
    src: str
    dst: str
    stream: int | None
    at: Moment
    frames: tuple[int, ...]


class PointCount(NamedTuple):
    """How many of so many records of a connection a point saw whole."""

    point: str
    seen: int
    total: int


class PointSights:
    """Takes the records of captures that several points recorded; those of other captures are ignored.

    ``captures`` are these, in order, ``times`` the first and the last time (ns) that each point of them saw
    a record. ``more`` counts records that are kept no longer.
    """

    def __init__(self) -> None:
        self.captures: list[JoinedCapture] = []
        self._begun: list[tuple[int, JoinedCapture | None]] = []
        self.times: dict[JoinedCapture, list[tuple[int, int] | None]] = {}
        self.more = 0
        self._records: dict[int, PartlySeen] = {}
        self._streams: Counter[tuple[str, int]] = Counter()
        self._ways: Counter[tuple[JoinedCapture, str, str]] = Counter()

    def begin(self, capture: str, record: int) -> None:
        """Say from which record on it is about a capture."""
        points = capture if _has_points(capture) else None
        self._begun.append((record, points))
        if points is not None:
            self.captures.append(points)

    def capture_of(self, record: int) -> JoinedCapture | None:
        """The capture of a record, None for one without points."""
        place = bisect_right(self._begun, record, key=itemgetter(0))
        return self._begun[place - 1][1] if place else None

    def first_record(self, capture: JoinedCapture) -> int:
        """The record from which on it is about a capture; 0 for one that is not known."""
        return next((record for record, of in self._begun if of is capture), 0)

    def feed(self, record: Record) -> None:
        """Take the next record."""
        capture, frames = record.capture, record.frames
        if frames and _has_points(capture) and record.type not in _NOTHING_SENT:
            at = Moment(record.id, frames[-1], record.time)
            ends = record.src or "", record.dst or ""
            self._take(PartlySeen(capture, record.event or record.type, *ends, record.stream, at, frames))

    def take(self, run: Run) -> None:
        """Take everything of a run."""
        capture = run.capture
        if not _has_points(capture):
            return
        for record in run.others:
            self.feed(record)
        types = [""] * len(run)
        for proven in run.proven():
            stem = proven.cls.stem()
            for place in proven.places.tolist():
                types[place] = stem
        firsts, lasts, carriers = run.first.tolist(), run.last.tolist(), run.carriers.tolist()
        places = zip(run.id.tolist(), run.time.tolist(), run.stream.tolist(), run.pair.tolist(), strict=True)
        for place, (number, time, stream, pair) in enumerate(places):
            if not types[place]:
                self.feed(run.record(place))
                continue
            frames = tuple(carriers[firsts[place] : lasts[place]])
            at, on = Moment(number, frames[-1], time or None), None if stream < 0 else stream
            src, dst = run.pairs[pair]
            self._take(PartlySeen(capture, types[place], src, dst, on, at, frames))

    def _take(self, seen: PartlySeen) -> None:
        capture = seen.capture
        if seen.stream is not None:
            key = str(capture), seen.stream
            if key in self._streams or len(self._streams) < _MOST_STREAMS:
                self._streams[key] += 1
        way = capture, host_of(seen.src), host_of(seen.dst)
        if way in self._ways or len(self._ways) < _MOST_STREAMS:
            self._ways[way] += 1
        sights = capture.seen_at(seen.frames)
        if seen.at.time is not None:
            self._note_times(capture, sights, seen.at.time)
        if any(one.extent != "whole" for one in sights):
            if len(self._records) >= _MOST:
                self._settle()
            self._records[seen.at.record] = seen

    def _note_times(self, capture: JoinedCapture, sights: tuple[Sight, ...], time: int) -> None:
        times = self.times.setdefault(capture, [None] * len(sights))
        for number, one in enumerate(sights):
            if one.extent == "whole":
                known = times[number]
                times[number] = (time, time) if known is None else (min(known[0], time), max(known[1], time))

    def _settle(self) -> None:
        """Let records go that prove nothing, and of the others the oldest."""
        telling = [
            (number, one)
            for number, one in self._records.items()
            if not _TELLING.isdisjoint(sight.reason for _, sight in sights_of(one.capture, one.frames))
        ]
        kept = telling[-_MOST // 2 :]
        self.more += len(self._records) - len(kept)
        self._records = dict(kept)

    def of(self, record: int) -> Sights:
        """What each point saw of a record; empty where all saw it, or nobody knows."""
        seen = self._records.get(record)
        sights = () if seen is None else sights_of(seen.capture, seen.frames)
        return sights if is_partly(sights) else ()

    def partly_seen(self) -> Iterator[tuple[PartlySeen, Sights]]:
        """The records that not all points saw, by their ids."""
        for number in sorted(self._records):
            sights = self.of(number)
            if sights:
                yield self._records[number], sights

    def of_stream(self, capture: str, stream: int | None) -> tuple[PointCount, ...]:
        """How many records of a connection each point saw, once all are taken; empty where nobody knows."""
        total = 0 if stream is None or self.more else self._streams[str(capture), stream]
        if stream is None or not total:
            return ()
        unseen = self._unseen.get((str(capture), stream), Counter())
        return tuple(PointCount(name, total - unseen[name], total) for name in point_names(capture))

    def one_sided(self) -> list[tuple[JoinedCapture, str, str, str]]:
        """Points that saw what one host sent to another, and nothing of what came back.

        These are a capture, the name of the point, and both hosts; none where that is not known any more.
        """
        if self.more:
            return []
        unseen: Counter[tuple[tuple[JoinedCapture, str, str], str]] = Counter()
        for seen, sights in self.partly_seen():
            way = seen.capture, host_of(seen.src), host_of(seen.dst)
            unseen.update((way, name) for name, one in sights if one.extent == "none")
        return [
            (capture, name, src, dst)
            for (capture, src, dst), total in self._ways.items()
            for name in point_names(capture)
            if total > unseen[(capture, src, dst), name]
            and 0 < self._ways[capture, dst, src] == unseen[(capture, dst, src), name]
        ]

    @cached_property
    def _unseen(self) -> Mapping[tuple[str, int], Counter[str]]:
        """By connection how many records each point did not see whole."""
        found: dict[tuple[str, int], Counter[str]] = {}
        for seen, sights in self.partly_seen():
            if seen.stream is not None:
                counts = found.setdefault((str(seen.capture), seen.stream), Counter())
                counts.update(name for name, one in sights if one.extent != "whole")
        return found


def _has_points(capture: str) -> TypeGuard[JoinedCapture]:
    return isinstance(capture, JoinedCapture) and bool(capture.point_files)
