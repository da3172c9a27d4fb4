"""Frames of one conversation, put in the order of the capture and given their bytes.

The rule kept here: the order of frames is made, never assumed, and a frame that comes twice counts once; what
waits for earlier frames is keys, and bytes are read where they are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from msmq_wire.capture.index import Array, Chunk
from msmq_wire.errors import CaptureError
from msmq_wire.spark.frame_ranges import IndexedFile, RangeReader, starts_of_reads, worth_a_read
from msmq_wire.spark.frame_runs import KEY

_SLACK = 64
"""Bytes behind a chunk, as `msmq_wire.capture.index` wants them."""
_TOGETHER = 1 << 21
_KEY_BYTES = 64
_HELD = np.dtype([*((name, KEY[name]) for name in KEY.names or ()), ("source", "<i8")])


class FrameOrder:
    """Takes runs of frames (`msmq_wire.spark.frame_runs`), the first frames of which are in order.

    ``damage`` says of files that cannot be read again: path, reason, offset.
    """

    def __init__(self, reader: RangeReader) -> None:
        self._reader = reader
        self._files: dict[IndexedFile, int] = {}
        self._bytes: dict[int, bytes] = {}
        self._waiting: list[Array] = []
        self._weight = 0
        self._most = _TOGETHER
        self._runs = self._latest = self._gap = 0
        self.damage: dict[tuple[str, str, int], None] = {}

    def add(self, keys: Array, file: IndexedFile, data: bytes | None) -> Iterator[tuple[Chunk, Array]]:
        """Take a run, whose bytes are ``data`` or in the file; yield frames before it, with their clocks."""
        if self._weight >= self._most:
            yield from self._before(int(keys["clock"][0]), int(keys["number"][0]))
            # What overlaps waits: it is not to be sorted again with each run that comes.
            self._most = max(_TOGETHER, 2 * self._weight)
        held = np.empty(len(keys), _HELD)
        for name in KEY.names or ():
            held[name] = keys[name]
        if data is None:
            held["source"] = self._files.setdefault(file, len(self._files))
            self._gap = worth_a_read(file.path)
        else:
            held["at"] = np.cumsum(keys["captured"], dtype=np.int64) - keys["captured"]
            self._runs += 1
            held["source"] = -self._runs
            self._bytes[-self._runs] = data
        self._waiting.append(held)
        self._weight += int(_weights(held).sum())

    def finish(self) -> Iterator[tuple[Chunk, Array]]:
        """Yield what waits."""
        if self._waiting:
            yield from self._before(1 << 63, 0)

    def _before(self, clock: int, number: int) -> Iterator[tuple[Chunk, Array]]:
        keys = np.concatenate(self._waiting)
        keys = keys[np.lexsort((keys["number"], keys["clock"]))]
        ready = (keys["clock"] < clock) | (keys["clock"] == clock) & (keys["number"] < number)
        later, keys = keys[~ready], keys[ready]
        # Equal frames are neighbours now, whatever brought them twice.
        keys = keys[keys["number"] != np.append(self._latest, keys["number"])[:-1]]
        if len(keys):
            self._latest = int(keys["number"][-1])
            part = np.cumsum(_weights(keys)) // _TOGETHER
            for some in np.split(keys, np.flatnonzero(np.diff(part)) + 1):
                chunk, clocks = self._chunk(some)
                if len(chunk):
                    yield chunk, clocks
        self._waiting, self._weight = [later], int(_weights(later).sum())
        self._bytes = {run: self._bytes[run] for run in np.unique(later["source"]).tolist() if run < 0}

    def _chunk(self, keys: Array) -> tuple[Chunk, Array]:
        """The frames of keys but for those that cannot be read."""
        order = np.lexsort((keys["at"], keys["source"]))
        source, at = keys["source"][order], keys["at"][order]
        end = at + keys["captured"][order]
        starts = starts_of_reads(at, end, self._gap)
        starts[1:] |= source[1:] != source[:-1]
        first = np.flatnonzero(starts)
        last = np.append(first[1:], len(at))[: len(first)] - 1
        size = end[last] - at[first]
        places = np.cumsum(size) - size
        data = bytearray(int(size.sum()) + _SLACK)
        good = np.ones(len(keys), bool)
        with memoryview(data) as view:
            for number in np.unique(source).tolist():
                reads = np.flatnonzero(source[first] == number)
                ranges = list(zip(at[first[reads]].tolist(), size[reads].tolist(), strict=True))
                place = int(places[reads[0]])
                if not self._read(number, ranges, view[place:]):
                    good[order[source == number]] = False
        found = np.empty(len(keys), np.int64)
        found[order] = at + (places - at[first])[np.cumsum(starts) - 1]
        keys, found = keys[good], found[good]
        names = ("captured", "length", "time", "link_type", "interface")
        columns = {name: keys[name].astype(np.int64) for name in names}
        chunk = Chunk(data, 0, keys["number"].copy(), record=found, at=found, **columns)
        return chunk, keys["clock"].copy()

    def _read(self, source: int, ranges: Sequence[tuple[int, int]], into: memoryview) -> bool:
        if source < 0:
            place = 0
            for start, size in ranges:
                into[place : place + size] = self._bytes[source][start : start + size]
                place += size
            return True
        file = next(one for one, number in self._files.items() if number == source)
        try:
            self._reader.read(file, ranges, into)
        except CaptureError as error:
            self.damage[file.path, error.message, error.offset] = None
            return False
        return True


def _weights(keys: Array) -> Array:
    found: Array = keys["captured"].astype(np.int64) + _KEY_BYTES
    return found
