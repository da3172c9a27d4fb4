"""`Visibility`: what a capture could see, of all of it and of each connection; who claims something asks it.

The rule kept here: what was not captured is unknown, never absent. Records tell what is missing in the order
in which both sides of a connection come, so that what lies before a record is known when it is judged.
"""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from operator import attrgetter, itemgetter
from typing import TypeAlias

from msmq_wire.records.coverage import ENDS, FORGOTTEN, NEVER, Coverage, Need, Position
from msmq_wire.records.endpoint import host_of
from msmq_wire.records.joined_capture import JoinedCapture, located
from msmq_wire.records.record import Record, is_file_error
from msmq_wire.records.run import Run, is_ordered, last_frames
from msmq_wire.units import SECOND

_NOT_IN_TIME = "frames of this capture are not in the order of their time"
_HALF_CAPTURE = "only one direction of other connections was captured"
_ONE_WAY = "what these hosts sent in the other direction was not captured"
_BETWEEN = "bytes of a session between these hosts are missing from the capture"
_TO_SOURCE = "bytes of sessions of the sender are missing from the capture"
_DROPPED = "the capture dropped frames: what seems missing may have been in them"
_LET_GO = "sessions were dropped to save memory: what seems missing may be among them"
_LOSSY = "the capture lost frames: what seems missing may have been in them"
_EARLY = (
    "by the clock of its sender a message was captured before it was sent: frames may have changed places"
)
_NETWORKS = "the same addresses and ports are in use in several networks"
_FRAME = 1460
"""Payload of a frame, at most, as nearly everywhere."""
_MOST_SPANS = 1 << 10
_MOST_LOOKED = 1 << 10
_SLACK = SECOND
"""Nanoseconds that frames of different connections may be out of order without a word."""
MOST = 20 << 20
"""Bytes of connections that are remembered, and of those that something is missing of."""
_MOST = 1 << 16
"""Pairs of hosts that are remembered."""
_TAKES = 1400
"""Bytes of a connection, and as many again while something is missing of it."""
_SPAN = 130
"""Bytes of the place of a gap."""
_STEPS = frozenset(("fin", "rst", "closed"))


_Key: TypeAlias = tuple[str, int]
"""A capture, and the number of a connection in it."""


class Visibility:
    """Feed it all records, or begin runs and let them advance, in order of their ids.

    ``frames`` counts those with payload that were captured of connections, ``lost_frames`` those that are
    missing, at least; ``holes`` and ``missing`` count the gaps and their bytes, ``holed`` the connections
    that have some, ``cut`` the places in them where bytes were cut off, ``cut_frames`` the frames that were
    captured in part (``snapped`` bytes at most), ``dropped`` those that the capture itself counts, ``halves``
    the connections of which one direction was captured. ``first_hole`` and ``first_cut`` are the records of
    the first gap and the first packet cut off, ``broken`` says of each file that could not be read to its
    end why. ``let_go`` says that sessions or pings were dropped to save memory, ``several_networks`` that two
    connections with the same ends went on at a time, ``early`` are hosts of which a message was captured
    before it was sent. ``most`` is how many bytes connections may take (`MOST` by default): beyond it the
    oldest go, and of claims about what is not known any more something is missing.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = MOST if most is None else most
        self._latest: OrderedDict[_Key, Coverage] = OrderedDict()
        self._damaged: OrderedDict[_Key, Coverage] = OrderedDict()
        self._of_ends: dict[frozenset[str], dict[_Key, Coverage]] = {}
        self._of_hosts: dict[frozenset[str], dict[_Key, Coverage]] = {}
        self._holed_pairs: set[frozenset[str]] = set()
        self._holed_hosts: set[str] = set()
        self._ways: set[tuple[str, str]] = set()
        self._known: set[tuple[str | None, str | None]] = set()
        self.frames = 0
        self.lost_frames = 0
        self.holes = 0
        self.holed = 0
        self.missing = 0
        self.cut = 0
        self.first_hole: Record | None = None
        self.first_cut: Record | None = None
        self.dropped = 0
        self.cut_frames = self.snapped = 0
        self.halves = 0
        self.broken: list[str] = []
        self._broken_at: list[Record] = []
        self._capture: str | None = None
        self._several_captures = False
        self.let_go = False
        self._forgotten = False
        self._spans = 0
        self.several_networks = False
        self.early: frozenset[str] = frozenset()
        self.backwards = 0
        self.disordered = 0
        self._furthest: tuple[str, int, int] = ("", 0, 0)
        self._coming: Iterator[int] = iter(())
        self._next: int | None = None
        self._leaving: deque[tuple[int, _Key]] = deque()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Visibility) and _known(self) == _known(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def feed(self, record: Record) -> None:
        """Take the next record; what lies at rest tells nothing of a connection."""
        if record.grade is not None or record.parent is not None or record.event == "capture_end":
            return
        self._read(record.capture)
        if is_file_error(record):
            self.broken.append(record.reason or "")
            self._broken_at.append(record)
        if record.stream is None:
            if record.type == "gap" and record.reason == "snaplen":
                self.cut_frames += record.frames_missing or 0
                self.snapped = max(self.snapped, record.length)
            elif record.type == "gap":
                self.dropped += record.frames_missing or 0
            self._way(record.src, record.dst)
            return
        coverage = self._of(record.capture, record.stream, record.src or "", record.dst or "", record.id)
        side = coverage.side(record.src)
        if record.frames and record.time is not None:
            self._time(coverage, max(record.frames), record.time)
        if record.type == "tcp_stream":
            self._step(coverage, record, side)
        elif record.type == "gap":
            self._gap(coverage, record, side)
        else:
            self.frames += len(record.frames)
            self._talk(coverage, side)

    def begin(self, run: Run) -> None:
        """Take what comes before a run; `advance` takes what it has."""
        self.advance()
        self._read(run.capture)
        self._coming = self._steps(run)
        self._next = next(self._coming, None)

    def _read(self, capture: str) -> None:
        """Take note of which captures there are."""
        if capture != self._capture:
            self._several_captures |= self._capture is not None
            self._capture = capture

    def advance(self, until: int | None = None) -> None:
        """Take what a run has up to an id, or all that it has."""
        while self._next is not None and (until is None or self._next <= until):
            self._drop(self._next - 1)
            self._next = next(self._coming, None)
        self._drop(until)

    def _steps(self, run: Run) -> Iterator[int]:
        """The ids of what is taken of a run; each is taken when the next one is asked for."""
        pairs = max(1, len(run.pairs))
        self.frames += int((run.last - run.first)[run.stream >= 0].sum())
        ways, ids = (run.stream * pairs + run.pair).tolist(), run.id.tolist()
        frames = last_frames(run)
        items: list[tuple[int, Record | int]] = [(record.id, record) for record in run.others]
        grows = 2 * _TAKES * len(set(run.stream.tolist())) + (2 * _TAKES + _SPAN) * len(run.others)
        if self._taken + grows <= self._most and is_ordered(run, frames):
            # No connection is let go meanwhile. Between the first and the last packet of one nothing can be
            # out of order.
            ends = dict(zip(ways[::-1], range(len(ids) - 1, -1, -1), strict=True))
            lasts = dict(zip(run.stream.tolist(), range(len(ids)), strict=True))
            items += [(ids[row], row) for row in {*ends.values(), *lasts.values()}]
        else:
            items += zip(ids, range(len(ids)), strict=True)
        for number, item in sorted(items, key=itemgetter(0)):
            yield number
            if isinstance(item, Record):
                self.feed(item)
                continue
            stream, pair = divmod(ways[item], pairs)
            src, dst = run.pairs[pair]
            if stream < 0:
                self._way(src, dst)
                continue
            coverage = self._of(run.capture, stream, src, dst, number)
            time = int(run.time[item])
            if time:
                self._time(coverage, int(frames[item]), time)
            self._talk(coverage, coverage.side(src))

    def lacking(self, needs: Collection[Need], place: Position) -> tuple[str, ...]:
        """What was not seen of what a claim needs at a place, as caveats."""
        found = self.coverage(place)
        where = place.frame, place.src, place.until
        reported: Iterable[str] = () if found is None else (found.lacks(need, *where) for need in needs)
        if found is None and self._forgotten and place.src:
            reported = (FORGOTTEN,)
        more = (self._lacks(need, host_of(place.src), host_of(place.dst)) for need in needs)
        lacking = dict.fromkeys(one for one in (*reported, *more) if one)
        if len(lacking) > 1:
            # Where something else is missing the end, which may be known later, does not matter.
            lacking.pop(ENDS, None)
        return tuple(lacking)

    def lacking_between(self, needs: Collection[Need], frame: int, src: str, dst: str) -> tuple[str, ...]:
        """The same of all connections between two hosts."""
        damaged = islice(self._of_hosts.get(frozenset((src, dst)), {}).values(), _MOST_LOOKED)
        reported = (one.lacks(need, frame) for one in damaged for need in needs)
        more = (self._lacks(need, src, dst) for need in needs)
        return tuple(dict.fromkeys(one for one in (*reported, *more) if one))

    def coverage(self, place: Position) -> Coverage | None:
        """The connection between two ends at a record, if it is known."""
        known = self._of_ends.get(frozenset((place.src or "", place.dst or "")), {})
        for one in islice(reversed(known.values()), _MOST_LOOKED):
            if one.first <= place.record and (not place.capture or one.capture == place.capture):
                return one if not one.over or place.record <= one.over else None
        return None

    def lacking_connections(self) -> list[Coverage]:
        """Those that something is missing of, in the order in which they began."""
        found = [one for one in self._damaged.values() if one.is_lacking]
        return sorted(found, key=attrgetter("first"))

    def forget(self, capture: str, stream: int, at: int = 0) -> None:
        """Take note that a connection that goes on is followed no longer, for want of memory.

        ``at`` is the record at which that is so: of a run it is told ahead.
        """
        self._leaving.append((at, (capture, stream)))
        if self._next is None:
            self._drop()

    def _drop(self, until: int | None = None) -> None:
        while self._leaving and (until is None or self._leaving[0][0] <= until):
            _, key = self._leaving.popleft()
            coverage = self._known_of(*key)
            if coverage is not None:
                coverage.dropped = True
                self._damage(coverage)

    def started(self, record: Record) -> bool:
        """Whether the beginning of the connection of a record was captured."""
        found = self._known_of(record.capture, record.stream)
        return found is not None and found.started

    @property
    def share(self) -> float:
        """How much of the frames with payload is missing, as far as that can be seen."""
        return self.lost_frames / max(1, self.frames + self.lost_frames)

    @property
    def told_elsewhere(self) -> bool:
        """Whether of each file that could not be read to its end another place recorded the same traffic."""
        return bool(self._broken_at) and all(map(_is_told_elsewhere, self._broken_files().items()))

    def _broken_files(self) -> dict[str, set[str]]:
        """The files that could not be read to their end, by their capture."""
        found: dict[str, set[str]] = {}
        for one in self._broken_at:
            found.setdefault(one.capture, set()).add(located(one).capture)
        return found

    @property
    def _broken_file(self) -> str:
        """The name of the first file that could not be read to its end, where there are several files."""
        first = self._broken_at[0]
        if not self._several_captures and not isinstance(first.capture, JoinedCapture):
            return ""
        return f"in {os.path.basename(located(first).capture)} "

    def said(self, place: Callable[[Record], str]) -> tuple[tuple[str, Record | None], ...]:
        """What the capture lacks, in clauses, each with the first record that shows it, where it names that.

        ``place`` gives the name of a record.
        """
        reported: list[tuple[str, Record | None]] = []
        if self.broken:
            reported.append((f"{self._broken_file}{self.broken[0]}: what follows could not be read", None))
        more = len(self.broken) - 1
        if more > 0:
            files = "1 more file" if more == 1 else f"{more:,} more files"
            reported.append((f"{files} could not be read to {'its' if more == 1 else 'their'} end", None))
        if self.halves:
            halves = "1 connection" if self.halves == 1 else f"{self.halves:,} connections"
            reported.append((f"only one direction of {halves} was captured{self._half}", None))
        if self.dropped:
            frames = "1 frame" if self.dropped == 1 else f"{self.dropped:,} frames"
            reported.append((f"the capture lost {frames}, by its own count", None))
        if self.first_hole is not None:
            reported.append((self._lost(place(self.first_hole)), self.first_hole))
        if self.cut_frames and self.first_cut is not None:
            frames = "1 frame is" if self.cut_frames == 1 else f"{self.cut_frames:,} frames are"
            first = "" if self.cut_frames == 1 else "first "
            cut = f"{frames} cut off at {self.snapped:,} bytes, {first}{place(self.first_cut)}"
            reported.append((cut, self.first_cut))
        if self.disordered or self.backwards:
            reported.append(("frames are not in the order of their time; reordercap sorts them", None))
        return tuple(reported)

    def _lost(self, before: str) -> str:
        """How much is missing; ``before`` names the frame behind the first gap."""
        if self.holes == 1 and 0 < self.missing <= _FRAME:
            missing = f"{self.missing:,} bytes are missing from the capture just before {before}"
            return f"{missing}, at least 1 frame"
        share = f"about {self.share:.0%}" if self.share >= 0.005 else "less than 1%"
        gaps = "1 gap" if self.holes == 1 else f"{self.holes:,} gaps"
        connections = "1 connection" if self.holed == 1 else f"{self.holed:,} connections"
        return f"the capture lost {share} of the frames: {gaps} in {connections}, first before {before}"

    @property
    def _half(self) -> str:
        """Which direction was captured, where it is one."""
        half = (one for one in self._damaged.values() if one.talked and one.one_sided)
        one = next(half, None) if self.halves == 1 else None
        if one is None:
            return ""
        src, dst = map(host_of, one.ends if one.seen[0] else reversed(one.ends))
        return f", from {src} to {dst}"

    def _lacks(self, need: Need, src: str, dst: str) -> str:
        """What was not seen of a need that is not about one connection."""
        match need:
            case "both_ways":
                return "" if (dst, src) in self._ways else _ONE_WAY
            case "between":
                return _BETWEEN if frozenset((src, dst)) in self._holed_pairs else ""
            case "to_source":
                return _TO_SOURCE if src in self._holed_hosts else ""
            case "two_way":
                return _HALF_CAPTURE if self.halves else ""
            case "in_time":
                return _NOT_IN_TIME if self.backwards else ""
            case "after_sent":
                return _EARLY if self.early & {src, dst} else ""
            case "one_network":
                return _NETWORKS if self.several_networks else ""
            case "counted":
                return _DROPPED if self.dropped else ""
            case "kept":
                return _LET_GO if self.let_go else ""
            case "nothing_lost":
                return _LOSSY if self.holes or self.dropped else ""
            case _:
                return ""

    # Connections: the latest, and of those before them the ones that something is missing of.

    def _of(self, capture: str, stream: int, src: str, dst: str, record: int) -> Coverage:
        coverage = self._known_of(capture, stream)
        if coverage is None:
            key = (capture, stream)
            coverage = self._latest[key] = Coverage(capture, stream, (src, dst), record)
            known = self._of_ends.setdefault(frozenset(coverage.ends), {})
            before = next(reversed(known.values()), None)
            if before is not None and before.capture == capture:
                before.followed = True
            known[key] = coverage
            # Until its beginning and both ends were seen it is not whole.
            self._damage(coverage)
            self._settle()
        return coverage

    @property
    def _taken(self) -> int:
        """Bytes that connections take, about."""
        return _TAKES * (len(self._latest) + len(self._damaged)) + _SPAN * self._spans

    def _settle(self) -> None:
        """Let the oldest connections go, but never the last one."""
        while self._taken > self._most and len(self._latest) + len(self._damaged) > 2:
            if len(self._damaged) > len(self._latest):
                self._forget()
            else:
                self._leave(next(iter(self._latest)))

    def _leave(self, key: _Key) -> None:
        """Let a connection go that is not among the latest any more, unless something is missing of it."""
        gone = self._latest.pop(key)
        if key not in self._damaged:
            _take_out(self._of_ends, frozenset(gone.ends), key)

    def _known_of(self, capture: str, stream: int | None) -> Coverage | None:
        key = (capture, -1 if stream is None else stream)
        return self._latest.get(key) or self._damaged.get(key)

    def _forget(self) -> None:
        """Let the oldest go of those that something is missing of: it is unknown from then on."""
        key, gone = self._damaged.popitem(last=False)
        self._forgotten = True
        self._spans -= len(gone.spans)
        _take_out(self._of_hosts, gone.hosts, key)
        self._latest.pop(key, None)
        _take_out(self._of_ends, frozenset(gone.ends), key)

    def _damage(self, coverage: Coverage) -> None:
        key = (coverage.capture, coverage.stream)
        if key in self._damaged:
            return
        self._damaged[key] = coverage
        self._of_hosts.setdefault(coverage.hosts, {})[key] = coverage
        self._settle()

    def _mend(self, coverage: Coverage) -> None:
        """Remember it no longer among those that something is missing of, where nothing is."""
        key = (coverage.capture, coverage.stream)
        if coverage.is_whole and self._damaged.pop(key, None) is not None:
            _take_out(self._of_hosts, coverage.hosts, key)
            self._spans -= len(coverage.spans)
            if key not in self._latest:
                _take_out(self._of_ends, frozenset(coverage.ends), key)

    def _way(self, src: str | None, dst: str | None) -> None:
        """Take note that something went from one host to another."""
        if (src, dst) not in self._known and len(self._known) < _MOST:
            self._known.add((src, dst))
            self._ways.add((host_of(src), host_of(dst)))

    def _talk(self, coverage: Coverage, side: int) -> None:
        if not coverage.talked:
            coverage.talked = True
            self.halves += coverage.one_sided
        self._see(coverage, side)

    def _see(self, coverage: Coverage, side: int) -> None:
        if coverage.followed and not coverage.over:
            self.several_networks = True
        if not coverage.seen[side]:
            coverage.seen = (True, coverage.seen[1]) if side == 0 else (coverage.seen[0], True)
            self._way(coverage.ends[side], coverage.ends[1 - side])
            self.halves -= coverage.talked and not coverage.one_sided
            self._mend(coverage)

    def _step(self, coverage: Coverage, record: Record, side: int) -> None:
        if record.event == "evicted":
            coverage.over = record.id
            return
        frame = record.frames[-1] if record.frames else 0
        if record.event in ("syn", "syn_ack"):
            coverage.started = True
            self._mend(coverage)
        elif record.event == "unseen":
            coverage.unseen = min(coverage.unseen, frame)
            self._hole(coverage)
        elif record.event in _STEPS:
            coverage.ended = coverage.ended or frame
            coverage.over = record.id if record.event == "closed" else coverage.over
        if record.event == "fin" and coverage.started:
            # Whoever closes what it opened was answered.
            self._talk(coverage, side)
        self._see(coverage, side)

    def _gap(self, coverage: Coverage, record: Record, side: int) -> None:
        if record.missing == 0:
            coverage.unread += 1
            self._damage(coverage)
            return
        first, last = [*coverage.first_hole], [*coverage.last_hole]
        since = record.frames[0] if len(record.frames) > 1 else 0
        until = record.frames[-1] if record.frames else 0
        if record.reason == "snaplen":
            since = until
        first[side], last[side] = min(first[side], since), max(last[side], until)
        if len(coverage.spans) < _MOST_SPANS:
            coverage.spans.append((since, until))
            self._spans += 1
        coverage.first_hole, coverage.last_hole = (first[0], first[1]), (last[0], last[1])
        if record.reason == "snaplen":
            coverage.cut += 1
            self.cut += 1
            self.first_cut = self.first_cut or record
        else:
            self.holed += not coverage.holes
            coverage.holes += 1
            coverage.missing += record.missing or 0
            self.holes += 1
            self.missing += record.missing or 0
            self.lost_frames += max(1, -(-(record.missing or 0) // _FRAME))
            self.first_hole = self.first_hole or record
        self._hole(coverage)
        self._settle()

    def _time(self, coverage: Coverage, frame: int, time: int) -> None:
        """Take the time of a frame of a connection: that of a later frame is not earlier."""
        last, latest = coverage.furthest
        if not coverage.begun:
            coverage.since, coverage.begun = frame, time
        if coverage.disordered == NEVER and (
            time < latest if frame > last else time > latest and frame < last
        ):
            coverage.disordered = frame
            self.disordered += 1
            self._hole(coverage)
        if frame > last:
            coverage.furthest = frame, max(time, latest)
        capture, last, latest = self._furthest
        if capture != coverage.capture or frame > last:
            same = capture == coverage.capture
            self.backwards += same and latest - time > _SLACK
            self._furthest = coverage.capture, frame, max(time, latest) if same else time

    def _hole(self, coverage: Coverage) -> None:
        """Take note that something is missing of a connection."""
        self._damage(coverage)
        if len(self._holed_pairs) < _MOST:
            self._holed_pairs.add(coverage.hosts)
            self._holed_hosts |= coverage.hosts


def _is_told_elsewhere(one: tuple[str, set[str]]) -> bool:
    capture, broken = one
    points = capture.point_files if isinstance(capture, JoinedCapture) else ()
    return any(broken.isdisjoint(files) for files in points)


def _known(seen: Visibility) -> dict[str, object]:
    return {name: value for name, value in vars(seen).items() if name != "_coming"}


def _take_out(index: dict[frozenset[str], dict[_Key, Coverage]], name: frozenset[str], key: _Key) -> None:
    found = index[name]
    del found[key]
    if not found:
        del index[name]
