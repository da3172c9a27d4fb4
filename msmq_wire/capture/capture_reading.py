"""The frames of a capture that may be several files, as chunks, and what they complete, as packet batches.

The rule kept here: a file keeps its order, and files take turns by the largest time so far of each. So one
file gives exactly what `read_capture` gives, and rotated files give what one file with all frames would. The
files of vantage points give what the command line reads of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import BinaryIO, Literal, NamedTuple, cast

import numpy as np

from msmq_wire.capture.batch_builder import batch_of
from msmq_wire.capture.chunks import ChunkDecoder
from msmq_wire.capture.content_digest import ContentHash, FileDigest
from msmq_wire.capture.index import Array, Chunk, interfaces_of, read_chunks
from msmq_wire.capture.listing import Capture, CaptureFile, open_file, open_source
from msmq_wire.capture.numbering import Numbering, PointsNumbering
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.pcapng import CaptureLosses
from msmq_wire.capture.source import Source
from msmq_wire.capture.splits import clocks, index_file
from msmq_wire.capture.vantage.merged_frames import MergedFrames
from msmq_wire.capture.vantage.point_frames import PointFile
from msmq_wire.capture.vantage.points_capture import PointsCapture
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.bulk import gather
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.joined_capture import JoinedCapture
from msmq_wire.records.record import Record
from msmq_wire.rpc.pdu_protection import Negotiator

_SLACK = 64
"""Bytes behind a chunk, as `msmq_wire.capture.index` wants them."""
_WHOLE = 1 << 60


class Damage(NamedTuple):
    """Why a file could not be read to its end, and where in it."""

    path: str
    reason: str
    offset: int


class _Cursor:
    """Where a file is read: the chunk, the times so far of its frames, and the first frame not taken."""

    def __init__(
        self, file: CaptureFile, base: int, chunk_bytes: int, lengths: Iterable[int] | None = None
    ) -> None:
        self.path = file.path
        self.base = base
        self.count = 0
        self.digest: FileDigest | None = None
        self._source = open_source(file.path)
        self._hash = None if lengths is None else ContentHash(self._source, lengths)
        self._chunks = self._read(chunk_bytes)
        self.over = False
        self._clock = 0

    def _read(self, chunk_bytes: int) -> Iterator[Chunk]:
        with self._source as source:
            try:
                yield from read_chunks(source.window(), chunk_bytes, source.losses)
            except CaptureError:
                self._finish_hash()
                raise
            self._finish_hash()

    def _finish_hash(self) -> None:
        if self._hash is not None:
            self.digest = self._hash.finish()

    def advance(self) -> bool:
        """Go to the next chunk; False at the end of the file."""
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self.count += len(chunk)
        chunk.numbers = chunk.numbers + self.base
        self.chunk = chunk
        self.clocks = clocks(chunk, self._clock)
        self._clock = int(self.clocks[-1])
        self.at = 0
        return True

    @property
    def end(self) -> int:
        """The time so far at the end of the chunk."""
        return self._clock

    @property
    def losses(self) -> CaptureLosses:
        """What the file says of what it lacks, once it is read."""
        return self._source.losses

    def close(self) -> None:
        self._source.close()


class CaptureReading:
    """Reads one capture; iterate once.

    The files in ``marks`` are hashed as they are read: ``digests`` has their contents by path, with marks at
    those lengths, once they were read to their end.

    ``name`` is that of the capture, as its records have it.

    ``damage`` are the files that ended early and those that could not be opened, ``numbering`` says which
    frame is which, ``frames`` counts them. ``finder`` has the counts of what was understood and skipped.
    """

    def __init__(
        self,
        capture: Capture,
        *,
        wanted: Callable[[Chunk], Array] | None = None,
        chunk_bytes: int,
        ports: frozenset[int] = frozenset(),
        streams: bool = False,
        negotiator: Negotiator | None = None,
        marks: Mapping[str, Iterable[int]] | None = None,
    ) -> None:
        self.capture = capture
        self.damage: list[Damage] = []
        self.digests: dict[str, FileDigest] = {}
        self.numbering = Numbering()
        self.frames = 0
        self._marks = marks or {}
        self._losses = _Losses()
        self._ended: list[tuple[str, _Losses, list[Damage]]] = []
        self._latest: _Cursor | None = None
        self._wanted = wanted
        self._chunk_bytes = chunk_bytes
        self._streams = streams
        self._joined: JoinedCapture | None = None
        if capture.shared is not None:
            self._joined = PointsCapture(capture.shared, name=capture.name)
            self.numbering = PointsNumbering(self._joined)
        elif capture.in_turn:
            self._joined = JoinedCapture([file.path for file in capture.files], name=capture.name)
        self.name = self._joined or capture.name
        self.finder = PacketFinder(capture=self.name, ports=ports, negotiator=negotiator)

    def __iter__(self) -> Iterator[PacketBatch]:
        """Yield what is complete; the last batch holds what was left open, and the damage."""
        for batch in self._batches():
            yield from batch.shown(streams=self._streams)

    def _batches(self) -> Iterator[PacketBatch]:
        chunks = ChunkDecoder(self.finder)
        for chunk in self.chunks():
            yield from self._ends()
            yield chunks.take(chunk, self.name)
        yield from self._ends()
        items = list(self.finder.finish())
        if self._joined is None:
            # It is about all files; the first one stands for them.
            items += self._reported(self.capture.files[0].path, self._losses, self.damage)
        if items:
            yield batch_of(self.name, items)

    def _ends(self) -> Iterator[PacketBatch]:
        """What is known of files that ended, where each is told of by itself."""
        ended, self._ended = self._ended, []
        for path, losses, damage in ended:
            items = self._reported(path, losses, damage)
            if items:
                yield batch_of(self.name, items)

    def _reported(self, path: str, losses: _Losses, damage: Iterable[Damage]) -> list[Record]:
        lacks = self.finder.lacks(losses.dropped, losses.filters, losses.cut, losses.snapped)
        for lack in lacks:
            self._own(lack, path)
        for one in damage:
            error = self.finder.file_error(one.reason, one.offset)
            self._own(error, one.path)
            lacks.append(error)
        return lacks

    def _own(self, record: Record, path: str) -> None:
        self.numbering.owned[record.id] = path
        if self._joined is not None:
            self._joined.own(record.id, path)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the frames that are wanted; a chunk is used up before the next one is asked for."""
        for chunk in self._merged():
            self.frames += len(chunk)
            self._losses.take_chunk(chunk)
            if self._wanted is not None:
                chunk = chunk.select(np.flatnonzero(self._wanted(chunk)))
            if len(chunk):
                yield chunk

    def _merged(self) -> Iterator[Chunk]:
        if isinstance(self._joined, PointsCapture):
            yield from self._of_points(self._joined)
            return
        waiting = list(self.capture.files)
        active: list[_Cursor] = []
        try:
            while waiting or active:
                if not active:
                    self._open(waiting.pop(0), active)
                    continue
                until = min(cursor.end for cursor in active)
                if waiting and not self.capture.in_turn and (waiting[0].first_time or 0) < until:
                    self._open(waiting.pop(0), active)
                    continue
                yield _turn(active, until)
                for cursor in [one for one in active if one.at == len(one.chunk)]:
                    self._advance(cursor, active)
        finally:
            for cursor in active:
                cursor.close()

    def _of_points(self, capture: PointsCapture) -> Iterator[Chunk]:
        """What vantage points recorded; each file is told of once all are read."""
        merged = MergedFrames(capture, opened=open_source, watch=self._hashed)
        # It has all that is asked of a binary file.
        with contextlib.closing(merged), Source(cast(BinaryIO, merged)) as source:
            yield from read_chunks(source.window(), self._chunk_bytes)
        for file in merged.files:
            self._losses = _Losses(file.cut, file.snapped)
            self._losses.take_file(file.losses)
            error = file.error
            self._end(file.name, None if error is None else Damage(file.name, error.message, error.offset))

    @contextlib.contextmanager
    def _hashed(self, file: PointFile) -> Iterator[None]:
        """Hash a file of a vantage point while it is read, if that is wanted."""
        lengths = self._marks.get(file.name)
        content = None if lengths is None else ContentHash(file.source, lengths)
        yield
        digest = None if content is None else content.finish()
        if digest is not None:
            self.digests[file.name] = digest

    def _open(self, file: CaptureFile, active: list[_Cursor]) -> None:
        base = self._base()
        self.numbering.add(file.path, base)
        if self._joined is not None:
            self._joined.begin(file.path, base)
        if file.error is not None:
            self._end(file.path, Damage(file.path, file.error, 0))
            return
        try:
            cursor = _Cursor(file, base, self._chunk_bytes, self._marks.get(file.path))
        except CaptureError as error:
            self._end(file.path, Damage(file.path, error.message, error.offset))
            return
        self._latest = cursor
        active.append(cursor)
        self._advance(cursor, active)

    def _base(self) -> int:
        latest = self._latest
        if latest is None:
            return 0
        # Where files overlap, the one before is not read to its end yet: only a walk tells its frames.
        count = latest.count if latest.over else index_file(latest.path, _WHOLE, opener=open_file).frames
        return latest.base + count

    def _advance(self, cursor: _Cursor, active: list[_Cursor]) -> None:
        damage: Damage | None = None
        try:
            if cursor.advance():
                return
        except CaptureError as error:
            damage = Damage(cursor.path, error.message, error.offset)
        self._losses.take_file(cursor.losses)
        if cursor.digest is not None:
            self.digests[cursor.path] = cursor.digest
        cursor.close()
        cursor.over = True
        active.remove(cursor)
        self._end(cursor.path, damage)

    def _end(self, path: str, damage: Damage | None) -> None:
        """Note that a file is read, as far as it can be."""
        found = [] if damage is None else [damage]
        self.damage += found
        if self._joined is not None:
            self._ended.append((path, self._losses, found))
            self._losses = _Losses()


class _Losses:
    """What files lack, as far as they are read."""

    def __init__(self, cut: int = 0, snapped: int = 0) -> None:
        self.cut, self.snapped, self.dropped = cut, snapped, 0
        self.filters: dict[str, None] = {}

    def take_file(self, losses: CaptureLosses) -> None:
        self.dropped += losses.dropped
        self.filters |= losses.filters

    def take_chunk(self, chunk: Chunk) -> None:
        cut, snapped = chunk.cut()
        self.cut, self.snapped = self.cut + cut, max(self.snapped, snapped)


def _turn(active: Sequence[_Cursor], until: int) -> Chunk:
    """Take the frames up to a time from all files that are open, in the order of the times so far."""
    parts: list[Chunk] = []
    times: list[Array] = []
    side: Literal["left", "right"] = "right"
    for cursor in active:
        stop = int(np.searchsorted(cursor.clocks, until, side=side))
        if cursor.end == until:
            # Its next chunk may go on at that time, and comes before that time of later files.
            side = "left"
        if stop > cursor.at:
            places = np.arange(cursor.at, stop)
            parts.append(cursor.chunk if len(places) == len(cursor.chunk) else cursor.chunk.select(places))
            times.append(cursor.clocks[cursor.at : stop])
            cursor.at = stop
    if len(parts) == 1:
        return parts[0]
    # Files are in order, and the sort is stable: the earlier file first, frames as they stand in it.
    return joined_chunk(parts).select(np.argsort(np.concatenate(times), kind="stable"))


def joined_chunk(parts: Sequence[Chunk]) -> Chunk:
    """Return frames of several buffers as frames of one; they have no place in a file any more."""
    size = sum(int(part.captured.sum()) for part in parts)
    data = bytearray(size + _SLACK)
    columns: dict[str, list[Array]] = {name: [] for name in ("numbers", "captured", "length", "time")}
    columns |= {"at": [], "link_type": []}
    start = 0
    for part in parts:
        packed = gather(part.data, part.at, part.captured)
        total = int(part.captured.sum())
        data[start : start + total] = packed[:total].data
        columns["at"].append(start + np.cumsum(part.captured) - part.captured)
        for name in ("numbers", "captured", "length", "time", "link_type"):
            columns[name].append(getattr(part, name))
        start += total
    made = {name: np.concatenate(arrays) for name, arrays in columns.items()}
    return Chunk(data, 0, record=made["at"], **made, interface=interfaces_of(parts))
