"""Samples of the segments of captures, in memory that does not depend on their size: `read_samples`.

The rule kept here: what is left out of a sample depends on what it is. Of two captures with the same segments
the same ones remain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from msmq_wire.capture.index import Array, Chunk, interfaces_of, read_chunks
from msmq_wire.capture.opened_file import OpenedFile, Opener
from msmq_wire.capture.source import Source
from msmq_wire.capture.vantage.segment_sample import COARSE, SegmentSample, joined, sampled
from msmq_wire.errors import CaptureError
from msmq_wire.records.endpoint import MSMQ_PORT, RPC_PORTS

_CHUNK, _SMALL = 1 << 21, 1 << 17
"""Bytes that are looked at together, and of a file that is looked at together with others."""
_TICKS = (15_625_000, 15_600_100, 1_000_000)
"""Nanoseconds after which coarse clocks of Windows go on."""
_EQUAL = 10
"""Of so many frames of a coarse clock one has the time of the one before."""
_NO_TICK, _ROUNDED, _STEPS_SEEN = 1 << 62, 3000, 256
_LEVELS = 64
_PRIORITY = np.array(sorted({MSMQ_PORT, *RPC_PORTS}))


def read_samples(
    captures: Mapping[int, Sequence[str]], opener: Opener, most: int
) -> dict[int, SegmentSample]:
    """Read the files of captures, and keep about ``most`` rows of each; those without any are left out.

    What cannot be read has no rows. Small captures are looked at together.
    """
    kept = {number: _Kept(most) for number in captures}
    together: list[Chunk] = []
    for number, files in captures.items():
        for file in files:
            try:
                with opener(file) as opened:
                    for chunk in _chunks(opened):
                        if len(files) > 1 or opened.status()[0] > _SMALL:
                            kept[number].take(chunk.time, sampled(chunk))
                            continue
                        # The file may go on in the same buffer.
                        chunk.data, chunk.numbers = bytearray(chunk.data), np.full(len(chunk), number)
                        together.append(chunk)
            except (OSError, ValueError, CaptureError):
                # What is wrong with a file is said when it is its turn.
                continue
        if sum(len(chunk.data) for chunk in together) > _CHUNK:
            _take_together(together, kept)
            together = []
    _take_together(together, kept)
    found = {number: one.result() for number, one in kept.items()}
    return {number: sample for number, sample in found.items() if len(sample)}


def _chunks(opened: OpenedFile) -> Iterator[Chunk]:
    source = Source(opened, owned=True)
    window = source.window()
    size = _CHUNK if source.compressed else min(_CHUNK, source.total or _CHUNK)
    yield from read_chunks(window, size)


def _take_together(chunks: list[Chunk], kept: Mapping[int, _Kept]) -> None:
    """Take chunks of several captures, whose frames all have the number of their capture."""
    if not chunks:
        return
    joint = _one_chunk(chunks)
    for chunk in chunks:
        kept[int(chunk.numbers[0])].take(chunk.time, ())
    for part in filter(len, sampled(joint)):
        owners = joint.numbers[part["frame"]]
        order = np.argsort(owners, kind="stable")
        numbers, first = np.unique(owners[order], return_index=True)
        for number, rows in zip(numbers.tolist(), np.split(order, first[1:]), strict=True):
            kept[number].take(np.zeros(0, np.int64), (part.select(rows),))


def _one_chunk(chunks: Sequence[Chunk]) -> Chunk:
    """The frames of several chunks over the bytes of all of them."""
    ends = np.cumsum([len(chunk.data) for chunk in chunks]).tolist()
    names = ("numbers", "captured", "length", "time", "link_type")
    columns = {name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in names}
    at = np.concatenate([chunk.at + start for chunk, start in zip(chunks, [0, *ends], strict=False)])
    data = bytearray().join(chunk.data for chunk in chunks)
    return Chunk(data, 0, record=at, at=at, **columns, interface=interfaces_of(chunks))


class _Kept:
    """The rows that are kept of a capture while it is read."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[SegmentSample] = []
        self._rows = 0
        self._frames = self._equal = 0
        self._tick = _NO_TICK
        self._unit = 1000

    def take(self, times: Array, samples: Iterable[SegmentSample]) -> None:
        """Take the times of frames, and what was chosen of them."""
        for part in samples:
            del part.columns["frame"]
            self._parts.append(part)
            self._rows += len(part)
        if len(times):
            self._look_at_clock(times)
        if self._rows > 2 * self._most:
            self._parts = [_thinned(_without_copies(self._parts), self._most)]
            self._rows = len(self._parts[0])

    def result(self) -> SegmentSample:
        sample = _without_copies(self._parts)
        if len(sample) > self._most:
            sample = _thinned(sample, self._most)
        coarse = self._equal * _EQUAL >= self._frames and COARSE <= self._tick < _NO_TICK
        # Times that are far apart have steps of many ticks; traffic that is regular has steps as well.
        known = (tick for tick in _TICKS if coarse and _common_step(self._tick, tick) == tick)
        sample.tick = next(known, self._unit)
        return sample

    def _look_at_clock(self, times: Array) -> None:
        while self._unit > 1 and (times % self._unit).any():
            self._unit //= 10
        apart = np.abs(np.diff(times))
        moved = apart[apart > 0]
        self._frames += len(apart)
        self._equal += len(apart) - len(moved)
        if self._tick >= COARSE:
            for step in np.unique(moved)[:_STEPS_SEEN].tolist():
                self._tick = step if self._tick == _NO_TICK else _common_step(self._tick, step)


def _common_step(one: int, two: int) -> int:
    """The largest number that both are multiples of, but for what was rounded."""
    while two > _ROUNDED and one >= COARSE:
        rest = one % two
        one, two = two, min(rest, two - rest)
    return one


def _without_copies(parts: list[SegmentSample]) -> SegmentSample:
    """Each segment once, with the first and the last time of its copies."""
    if not parts:
        return _nothing()
    rows = joined(parts)
    if not len(rows):
        return rows
    same = rows.key() + rows.flow()
    order = np.argsort(same)
    same = same[order]
    first = np.flatnonzero(np.append(True, same[1:] != same[:-1]))
    one = rows.select(order[first])
    one.columns["time"] = np.minimum.reduceat(rows["time"][order], first)
    one.columns["last"] = np.maximum.reduceat(rows["last"][order], first)
    return one


def _nothing() -> SegmentSample:
    zero: dict[str, Any] = dict.fromkeys(("place", "content", "source", "target"), np.zeros(0, np.uint64))
    zero |= dict.fromkeys(("time", "last"), np.zeros(0, np.int64))
    zero |= {"ports": np.zeros((0, 2), np.uint16), "wide": np.zeros((0, 0), np.uint64)}
    return SegmentSample(zero | {"kind": np.zeros(0, np.uint8)})


def _thinned(rows: SegmentSample, most: int) -> SegmentSample:
    """Fewer rows: of every connection some, as many as there is room for; those on ports of MSMQ last.

    Which ones depends on what they are: of two captures with the same segments the same ones remain.
    """
    is_wanted = np.isin(rows["ports"], _PRIORITY).any(axis=1)
    wanted, other = np.flatnonzero(is_wanted), np.flatnonzero(~is_wanted)
    wanted = wanted[_some(rows.select(wanted), most - min(len(other), most // 2))]
    other = other[_some(rows.select(other), most - len(wanted))]
    return rows.select(np.concatenate((wanted, other)))


def _some(rows: SegmentSample, most: int) -> Array:
    """At most ``most`` of the rows: one of each connection, and more of those that have fewer than others."""
    if len(rows) <= most:
        return np.arange(len(rows))
    connection, place = rows.connection(), rows["place"]
    order = np.argsort(connection)
    ordered = connection[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    counts = np.diff(np.append(first, len(order)))
    level = _level(place)
    # A connection with twice as many as there is room for loses half of them, and so on.
    room = max((most - len(first)) / len(first), 1)
    lost = np.ceil(np.log2(np.maximum(counts / room, 1))).astype(np.int64)
    missing = np.zeros(len(order), np.int64)
    missing[order] = np.maximum(np.repeat(lost, counts) - level[order], 0)
    smallest = np.zeros(len(order), np.bool_)
    smallest[order] = place[order] == np.repeat(np.minimum.reduceat(place[order], first), counts)
    kept = np.flatnonzero((missing == 0) | smallest)
    for last in (~smallest, smallest):
        floor = 0
        while len(kept) > most and floor < _LEVELS:
            floor += 1
            kept = kept[~last[kept] | (level[kept] >= floor)]
    return kept


def _level(place: Array) -> Array:
    """How many low bits are 0."""
    lowest = place & (~place + np.uint64(1))
    levels: Array = np.log2(np.maximum(lowest, 1).astype(np.float64)).astype(np.int64)
    return levels
