"""Exact splits of a capture file: parts that can be read each by itself, and that keep the frame numbers.

A file is walked once from its first record to its last, so that a split never starts at bytes which only look
like a record: captures of a capture being copied are full of them.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from msmq_wire.capture.index import Array, Chunk, pcap_chunks, pcapng_chunks, read_chunks
from msmq_wire.capture.opened_file import OpenedFile, Opener, open_local, opened, reason_of
from msmq_wire.capture.pcap import FILE_HEADER, Frame, Window, read_header
from msmq_wire.capture.pcapng import (
    PCAPNG_MAGIC,
    Blocks,
    CaptureInterface,
    pack_interfaces,
    unpack_interfaces,
)
from msmq_wire.capture.source import Source
from msmq_wire.errors import CaptureError

_CHUNK_SIZE = 1 << 23
_SMALL_STATE = 1024
_STATE_SHARE = 8
"""A split is at least so many times as long as what its state has over `_SMALL_STATE`: a file of nothing but
interfaces would otherwise make an index larger than itself."""


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a capture file: ``frames`` frames, the first of which has the number ``first_frame``.

    ``start`` is the offset of the first of them and ``end`` where the next split starts, or for the last one
    where the file ends or its damage begins. A ``compressed`` file is one split, from 0; its ``end`` counts
    uncompressed bytes. ``size`` and ``mtime_ns`` are those of the file when it was indexed. ``clock`` is the
    latest time of the frames before, nanoseconds since 1970, 0 if they have none. ``state`` is what
    `read_split` must know of the bytes before.
    """

    path: str
    size: int
    mtime_ns: int
    start: int
    end: int
    first_frame: int
    frames: int
    clock: int
    state: bytes
    compressed: bool


class FileIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The splits of a file in order, none if it has no frame; ``frames`` is their number.

    ``first_time`` and ``last_time`` are the smallest and the largest time of a frame, nanoseconds since 1970,
    None when no frame has one. ``error`` says what is wrong with the bytes that follow the last split, at
    offset ``error_offset``; both are None for a whole file.
    """

    path: str
    size: int
    mtime_ns: int
    splits: tuple[Split, ...]
    frames: int
    first_time: int | None
    last_time: int | None
    error: str | None
    error_offset: int | None


class _PcapState(msgspec.Struct, frozen=True, array_like=True, tag="pcap"):
    header: bytes


class _PcapngState(msgspec.Struct, frozen=True, array_like=True, tag="pcapng"):
    order: Literal["<", ">"]
    section: int
    interfaces: bytes


_State = _PcapState | _PcapngState
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_State).decode


def clocks(chunk: Chunk, clock: int) -> Array:
    """Return the time so far at each frame of ``chunk``: the latest of ``clock`` and the times up to it."""
    found: Array = np.maximum(np.maximum.accumulate(chunk.time), clock)
    return found


def index_file(
    path: str | os.PathLike[str],
    split_bytes: int,
    *,
    chunk_size: int = _CHUNK_SIZE,
    opener: Opener = open_local,
) -> FileIndex:
    """Cut a pcap or pcapng file at record boundaries into splits that can be read apart.

    A split ends at the first frame at or after ``split_bytes`` bytes and holds at least one frame; with more
    than 67 pcapng interfaces it may be up to 8 MB longer. Blocks without a frame belong to the split that
    they follow. A file compressed with gzip, bzip2, xz or zstd is one split. About ``chunk_size`` bytes are
    held at a time, beside the splits. ``opener`` opens a file that is elsewhere.
    Raises `CaptureError` when the file cannot be opened or is no capture; damage later on is told in the
    index.
    """
    name = os.fspath(path)
    file = opened(name, opener)
    with Source(file, owned=True) as source:
        size, mtime_ns = _status(file)
        cuts = _Cuts(name, size, mtime_ns, split_bytes)
        failure: CaptureError | None = None
        try:
            cuts.walk(source.window(), chunk_size)
        except CaptureError as error:
            if not source.is_capture:
                raise
            failure = error
    splits = cuts.finish()
    return FileIndex(
        path=name,
        size=size,
        mtime_ns=mtime_ns,
        splits=splits,
        frames=cuts.frames,
        first_time=cuts.first_time,
        last_time=cuts.clock or None,
        error=None if failure is None else failure.message,
        error_offset=None if failure is None else failure.offset,
    )


class _Mark(NamedTuple):
    """What holds for the frames after the first ``number``: a section with its first ``known`` interfaces."""

    number: int
    order: Literal["<", ">"]
    section: int
    interfaces: list[CaptureInterface]
    known: int


class _MarkedBlocks(Blocks):
    """Blocks that remember from which frame on there was another section or interface.

    ``end`` is the offset after the last block taken by itself, packets that were taken together not counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.end = 0
        self._marks: list[_Mark] = []

    def take(self, buffer: bytes | bytearray, at: int, total: int, position: int) -> Frame | None:
        before = self.section, len(self.interfaces)
        frame = super().take(buffer, at, total, position)
        self.end = position + total
        if (self.section, len(self.interfaces)) != before:
            # Without a frame since, nobody needs the last one.
            if self._marks and self._marks[-1].number == self.number:
                self._marks.pop()
            order: Literal["<", ">"] = "<" if self.order.byte_order == "<" else ">"
            mark = _Mark(self.number, order, self.section, self.interfaces, len(self.interfaces))
            self._marks.append(mark)
        return frame

    def mark(self, number: int) -> _Mark:
        """Return what holds for the frame ``number``, of those since `forget`."""
        return self._marks[bisect_left(self._marks, number, key=lambda mark: mark.number) - 1]

    def forget(self) -> None:
        """Drop what holds for none of the frames to come."""
        kept = bisect_left(self._marks, self.number + 1, key=lambda mark: mark.number) - 1
        del self._marks[: max(kept, 0)]


class _Cuts:
    """Cuts the chunks of a file, as they come, into splits."""

    def __init__(self, path: str, size: int, mtime_ns: int, split_bytes: int) -> None:
        self._path = path
        self._size, self._mtime_ns = size, mtime_ns
        self._split_bytes = split_bytes
        self._splits: list[Split] = []
        self._compressed = False
        self._blocks: _MarkedBlocks | None = None
        self._state = b""
        self._mark: _Mark | None = None
        self._end = 0
        # Of the split that is not closed yet; none before the first frame.
        self._start = self._first = self._first_clock = self._limit = 0
        self.frames = 0
        self.first_time: int | None = None
        self.clock = 0

    def walk(self, window: Window, chunk_size: int) -> None:
        """Take the whole file; CaptureError after the frames before the damage."""
        # A file that is opened by its path has it, unless its bytes must be decompressed.
        self._compressed = window.fill is None
        if window.buffer[:4] == PCAPNG_MAGIC:
            self._blocks = _MarkedBlocks()
            chunks = pcapng_chunks(window, chunk_size, self._blocks)
        else:
            header = read_header(window)
            self._state = _encode(_PcapState(window.buffer[:FILE_HEADER]))
            window.more(FILE_HEADER, 0)
            chunks = pcap_chunks(window, chunk_size, header)
        for chunk in chunks:
            self._take(chunk)

    def finish(self) -> tuple[Split, ...]:
        """Close the last split; return all."""
        if self.frames:
            self._close(self._end if self._blocks is None else max(self._end, self._blocks.end), self.frames)
        return tuple(self._splits)

    def _take(self, chunk: Chunk) -> None:
        positions = chunk.record + chunk.position
        running = clocks(chunk, self.clock)
        before = int(chunk.numbers[0]) - 1
        if not self.frames:
            self._open(0 if self._compressed else int(positions[0]), 1, 0)
        while not self._compressed:
            at = max(int(np.searchsorted(positions, self._limit)), self._first - before)
            if at >= len(chunk):
                break
            position = int(positions[at])
            self._close(position, before + at)
            self._open(position, before + at + 1, int(running[at - 1]) if at else self.clock)
        times = chunk.time[chunk.time > 0]
        if len(times):
            earliest = int(times.min())
            self.first_time = earliest if self.first_time is None else min(self.first_time, earliest)
        self.clock = int(running[-1])
        self.frames = before + len(chunk)
        self._end = chunk.position + self._record_end(chunk)
        if self._blocks is not None:
            self._blocks.forget()

    def _record_end(self, chunk: Chunk) -> int:
        """The place in ``chunk.data`` behind its last record."""
        if self._blocks is None:
            return int(chunk.at[-1] + chunk.captured[-1])
        record = int(chunk.record[-1])
        order = self._blocks.mark(int(chunk.numbers[-1])).order
        total = int.from_bytes(chunk.data[record + 4 : record + 8], "little" if order == "<" else "big")
        return record + total

    def _open(self, start: int, first: int, clock: int) -> None:
        """Begin a split at ``start``, with the frame ``first``, at the time ``clock``."""
        self._start, self._first, self._first_clock = start, first, clock
        if self._blocks is not None and not self._compressed:
            mark = self._blocks.mark(first)
            if mark is not self._mark:
                self._mark = mark
                packed = pack_interfaces(mark.interfaces[: mark.known])
                self._state = _encode(_PcapngState(mark.order, mark.section, packed))
        self._limit = start + max(self._split_bytes, _STATE_SHARE * (len(self._state) - _SMALL_STATE))

    def _close(self, end: int, last: int) -> None:
        """End the split at ``end``, with the frame ``last``."""
        split = Split(
            path=self._path,
            size=self._size,
            mtime_ns=self._mtime_ns,
            start=self._start,
            end=end,
            first_frame=self._first,
            frames=last + 1 - self._first,
            clock=self._first_clock,
            state=b"" if self._compressed else self._state,
            compressed=self._compressed,
        )
        self._splits.append(split)


def read_split(
    split: Split, chunk_size: int = _CHUNK_SIZE, *, opener: Opener = open_local
) -> Iterator[Chunk]:
    """Yield the frames of a split as `msmq_wire.capture.index.read_chunks` does for the whole file.

    Of a file that is not compressed no other bytes are read. ``opener`` is as in `index_file`.
    Raises `CaptureError` when the file cannot be read, when its size or time is not that of the index, and
    when it turns out to be another one or shorter while it is read: then some frames were given before.
    """
    with opened(split.path, opener) as file:
        _check(file, split)
        left = split.frames
        for chunk in _chunks(file, split, chunk_size):
            left -= len(chunk)
            if left < 0:
                raise _changed(split)
            yield chunk
            if not left:
                break
        if left:
            raise _changed(split)
        _check(file, split)


def _chunks(file: OpenedFile, split: Split, chunk_size: int) -> Iterator[Chunk]:
    if split.compressed:
        return read_chunks(Source(file).window(), chunk_size)
    window = Window(())
    window.start = split.start
    window.fill = _Range(file, split).fill
    try:
        state = _decode(split.state)
    except msgspec.MsgspecError as error:
        raise CaptureError(f"the state of a split of {split.path} is damaged: {error}") from error
    if isinstance(state, _PcapState):
        return pcap_chunks(window, chunk_size, read_header(Window((state.header,))), split.first_frame)
    interfaces = unpack_interfaces(state.interfaces)
    blocks = Blocks(split.first_frame - 1, state.section, state.order, interfaces)
    return pcapng_chunks(window, chunk_size, blocks)


class _Range:
    """The bytes of a split."""

    def __init__(self, file: OpenedFile, split: Split) -> None:
        self._file = file
        self._split = split
        self._left = split.end - split.start
        file.seek(split.start)

    def fill(self, view: memoryview) -> int:
        """Read the next bytes into ``view``; return how many, 0 at the end of the split."""
        wanted = min(len(view), self._left)
        if not wanted:
            return 0
        try:
            count = self._file.readinto(view[:wanted])
        except (OSError, ValueError) as error:
            raise CaptureError(f"cannot read {self._split.path}: {reason_of(error)}") from error
        if not count:
            raise _changed(self._split)
        self._left -= count
        return count


def _status(file: OpenedFile) -> tuple[int, int]:
    try:
        return file.status()
    except OSError as error:
        raise CaptureError(f"cannot read {file.name}: {reason_of(error)}") from error


def _check(file: OpenedFile, split: Split) -> None:
    if _status(file) != (split.size, split.mtime_ns):
        raise _changed(split)


def _changed(split: Split) -> CaptureError:
    return CaptureError(f"{split.path} changed after it was indexed")
