"""Captures whose connections cross files, or that are too large for one task: frames, shuffled by hosts.

All frames between two hosts go to one task, which takes them in the order of the capture and has one such
conversation open at a time. That is what fragments, connections and handles of calls have in common, so a
task can do what `CaptureReading` does, in the memory that `PacketFinder` bounds.

The rule kept here: ids are not counted, since nobody sees all records: they are made of the frame that
completes a record, so they are the same in every run, and come in the same order as those of `read_capture`
unless files overlap.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from msmq_wire.capture.batch_builder import batch_of
from msmq_wire.capture.chunks import ChunkDecoder
from msmq_wire.capture.index import Array, Chunk
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.errors import CaptureError
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Record
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.spark.frame_ranges import IndexedFile, RangeReader, starts_of_reads, worth_a_read
from msmq_wire.spark.frame_runs import KEY

_ORDINAL = 24
"""Bits for the items of one frame, or of the end, which may release all bytes that were held back."""
_AT_END = 1 << 61
"""Set in the ids of what the end of the capture completes: they come last."""
_LAST = (1 << 63) - 1
_BEGINS = frozenset(("syn", "syn_ack", "start_midstream"))
_ENDS = frozenset(("closed", "evicted"))
_MOST_ENDED = 1 << 17
"""Connections that are remembered after their end: a late segment may still tell of one."""

_SLACK = 64
"""Bytes behind a chunk, as `msmq_wire.capture.index` wants them."""
_TOGETHER = 1 << 21
_KEY_BYTES = 64
_HELD = np.dtype([*((name, KEY[name]) for name in KEY.names or ()), ("source", "<i8")])


class _Conversation:
    """The frames between two hosts of one capture."""

    def __init__(
        self, capture: str, ports: frozenset[int], negotiator: Negotiator | None, reader: RangeReader
    ) -> None:
        self.capture = capture
        self.frames = FrameOrder(reader)
        self.finder = PacketFinder(capture=capture, ports=ports, negotiator=negotiator)
        self._chunks = ChunkDecoder(self.finder)
        self._first_frames: dict[int, int] = {}
        self._ended: deque[int] = deque()
        self._last = 0
        self.clocks: Array = np.zeros(0, np.int64)

    def take(self, chunk: Chunk, clocks: Array) -> PacketBatch | None:
        """Take frames that follow those before, with the times so far of each."""
        self._last = int(chunk.numbers[-1])
        batch = self._chunks.take(chunk, self.capture)
        if not len(batch) and not batch.others:
            return None
        order = np.argsort(chunk.numbers)
        place = np.searchsorted(chunk.numbers[order], _completed(batch))
        self.clocks = clocks[order[place]]
        return self._renumbered(batch)

    def finish(self) -> PacketBatch | None:
        """Return what was left open."""
        items = list(self.finder.finish())
        self.clocks = np.full(len(items), _LAST, np.int64)
        return self._renumbered(batch_of(self.capture, items)) if items else None

    def _renumbered(self, batch: PacketBatch) -> PacketBatch:
        """Give ids and streams that mean the same in all conversations of the capture."""
        for record in batch.others:
            if record.type == "tcp_stream" and record.event in _BEGINS and record.stream is not None:
                self._first_frames.setdefault(record.stream, record.frames[-1])
        own = np.concatenate((batch.id, np.array([record.id for record in batch.others], np.int64)))
        completed = _completed(batch)
        order = np.argsort(own)
        made = np.empty(len(own), np.int64)
        made[order] = self._ids(completed[order])
        ids = dict(zip(own.tolist(), made.tolist(), strict=True))
        streams = batch.stream.copy()
        for stream in np.unique(streams).tolist():
            if stream >= 0:
                streams[batch.stream == stream] = self._stream(stream)
        others = tuple(self._renamed(record, ids) for record in batch.others)
        for record in batch.others:
            if record.type == "tcp_stream" and record.event in _ENDS and record.stream is not None:
                self._ended.append(record.stream)
        while len(self._ended) > _MOST_ENDED:
            # Two hosts may have any number of connections.
            self._first_frames.pop(self._ended.popleft(), None)
        return replace(batch, id=made[: len(batch)], stream=streams, others=others)

    def _ids(self, completed: Array) -> Array:
        """Ids for items in order: the frame that completed each, and its place among those of that frame."""
        count = len(completed)
        place = np.arange(count)
        if not completed.all():
            # All of this batch comes with the end, and stays together.
            found: Array = self._last << _ORDINAL | place | _AT_END
            return found
        starts = np.flatnonzero(np.append(True, completed[1:] != completed[:-1]))
        ordinal = place - np.repeat(starts, np.diff(np.append(starts, count)))
        found = completed << _ORDINAL | ordinal
        return found

    def _stream(self, stream: int) -> int:
        return self._first_frames.get(stream, stream)

    def _renamed(self, record: Record, ids: Mapping[int, int]) -> Record:
        return replace(
            record,
            id=ids[record.id],
            parent=None if record.parent is None else ids[record.parent],
            stream=None if record.stream is None else self._stream(record.stream),
        )


def _completed(batch: PacketBatch) -> Array:
    found: Array = np.concatenate((batch.completed, batch.others_completed))
    return found


class Conversations:
    """Decodes sorted frames.

    ``clocks`` are the times so far when the items of the latest batch were complete, packets first: with
    their ids they make the order of all items of a capture. ``counts`` says of each capture what was
    understood, skipped and is broken.
    """

    def __init__(self, ports: frozenset[int], negotiator: Negotiator | None) -> None:
        self._ports = ports
        self._negotiator = negotiator
        self._reader = RangeReader()
        self._open: _Conversation | None = None
        self._place: tuple[str, int] | None = None
        self._passed: tuple[str, int] | None = None
        self.clocks: Array = np.zeros(0, np.int64)
        self.counts: dict[str, dict[str, Any]] = {}

    def decode(self, batches: Iterable[Any]) -> Iterator[PacketBatch]:
        """Yield what frames complete; ``batches`` have `RUN_SCHEMA`, sorted by `RUN_ORDER`."""
        try:
            for batch in batches:
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    yield from self._take(*row)
            yield from self._close()
        finally:
            self._reader.close()

    def _take(
        self,
        capture: str,
        conversation: int | None,
        clock: int,
        number: int,
        path: str,
        size: int,
        mtime_ns: int,
        keys: bytes,
        data: bytes | None,
        reported: str | None,
    ) -> Iterator[PacketBatch]:
        if reported is not None:
            self._note(capture, path, number, json.loads(reported))
            return
        assert conversation is not None
        if (capture, conversation) != self._place:
            yield from self._close()
            self._place = (capture, conversation)
            self._open = _Conversation(capture, self._ports, self._negotiator, self._reader)
        assert self._open is not None
        file = IndexedFile(path, size, mtime_ns)
        yield from self._decoded(self._open.frames.add(np.frombuffer(keys, KEY), file, data))

    def _decoded(self, chunks: Iterable[tuple[Chunk, Array]]) -> Iterator[PacketBatch]:
        assert self._open is not None
        for chunk, clocks in chunks:
            found = self._open.take(chunk, clocks)
            if found is not None:
                self.clocks = self._open.clocks
                yield found

    def _close(self) -> Iterator[PacketBatch]:
        if self._open is None:
            return
        yield from self._decoded(self._open.frames.finish())
        found = self._open.finish()
        if found is not None:
            self.clocks = self._open.clocks
            yield found
        self._count(self._open)
        self._open = None

    def _note(self, capture: str, path: str, number: int, reported: Mapping[str, Any]) -> None:
        """Take note of damage, and of frames that have no hosts, each once."""
        counts = self._counts(capture)
        if "damage" in reported:
            damage = (path, *reported["damage"])
            if damage not in counts["damage"]:
                counts["damage"].append(damage)
        elif (capture, number) != self._passed:
            self._passed = (capture, number)
            _add(counts["skipped"], reported["skipped"])

    def _counts(self, capture: str) -> dict[str, Any]:
        nothing = {"understood": 0, "skipped": {}, "notices": {}, "damage": []}
        return self.counts.setdefault(capture, nothing)

    def _count(self, conversation: _Conversation) -> None:
        finder = conversation.finder
        counts = self._counts(conversation.capture)
        counts["understood"] += finder.understood
        _add(counts["skipped"], finder.skipped)
        _add(counts["notices"], finder.notices)
        counts["damage"] += conversation.frames.damage


def _add(counts: dict[str, int], more: Mapping[str, int]) -> None:
    for reason, count in more.items():
        counts[reason] = counts.get(reason, 0) + count


class FrameOrder:
    """Takes runs of frames (`msmq_wire.spark.frame_runs`), the first frames of which are in order.

    The order of the others is made, and a frame that comes twice counts once. What waits for earlier frames
    is keys; bytes are read where they are used.
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
