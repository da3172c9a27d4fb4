"""`Medium`: what is searched for packets, piece by piece: a file, a disk, a dump, an image, a stream.

The rule kept here: everything is opened to be read, and nothing is written, beside it or anywhere else. What
cannot be read is a hole, and counted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import entry_points
from threading import Event
from types import TracebackType
from typing import BinaryIO, NamedTuple, Protocol, cast

from msmq_wire.capture.carve.addresses import MemoryMap, memory_map
from msmq_wire.capture.carve.hashing import HashedFile, Hasher
from msmq_wire.capture.opened_file import OpenedFile, Opener, opened, reason_of
from msmq_wire.capture.source import Source
from msmq_wire.errors import CaptureError

READ_SIZE = 1 << 20
"""Bytes that are searched at once: what the cache of a processor holds."""
_BAD = 4096
"""Bytes that are passed over where a disk cannot be read."""
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_IMAGES = (
    (b"EVF\x09\x0d\x0a\xff\x00", "an EWF image"),
    (b"EVF2", "an EWF image"),
    (b"KDMV", "a VMDK image"),
    (b"# Disk DescriptorFile", "a VMDK image"),
    (b"QFI\xfb", "a QCOW2 image"),
    (b"vhdxfile", "a VHDX image"),
    (b"conectix", "a VHD image"),
)
_VDI, _VDI_AT = b"\x7f\x10\xda\xbe", 64
_HEAD = 72
"""Bytes that tell an image."""
_BUFFERS = 3
"""Pieces in memory: one is searched, one is read, one may still be hashed."""
_GROUP = "msmq_wire.images"
_GAP = READ_SIZE
"""Bytes that lie nowhere, and are read as zeros all the same: a message may have as many in its body."""
_LEAST = 20
"""Bytes of the smallest packet: what is shorter on both sides holds no find."""


class Extent(NamedTuple):
    """Bytes at an ``offset``; those of a piece that is not ``joined`` do not continue the piece before."""

    offset: int
    data: memoryview
    joined: bool


class _Span(NamedTuple):
    offset: int
    length: int


class _Disk(Protocol):
    """The disk in an image: ``files`` are the paths of the files that the image consists of, itself first."""

    files: Sequence[str]

    def extents(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The stretches that lie somewhere, in order: all else reads as zeros. Raises CaptureError."""


class Medium:
    """One source, opened: a path or ``"-"`` for standard input. Offsets count its bytes, unpacked.

    ``kind`` says what it is; ``total`` is its size in bytes, None where that cannot be known, ``bytes_read``
    how many of them were read. ``unreadable`` counts bytes that gave an error. ``before_read`` is called
    before each read. With ``hashing`` SHA-256 is taken on the way, and is known after the last piece: of a
    file as it lies in `sha256`, of the disk in an image in `disk_sha256`. ``files`` are those of which an
    image consists, each hashed as it lies by a second reading beside the search. ``opener`` opens what is not
    on this machine; a ``regular`` file is not asked what is in it. Raises `CaptureError` when it cannot be
    opened.
    """

    def __init__(
        self, path: str, *, hashing: bool = True, opener: Opener | None = None, regular: bool = False
    ) -> None:
        self.name = "standard input" if path == "-" else path
        self.kind = "file"
        self.total: int | None = None
        self.bytes_read = 0
        self.unreadable = 0
        self.failure: CaptureError | None = None
        self.before_read: Callable[[], None] | None = None
        self.map: MemoryMap | None = None
        self.image_files: Sequence[str] = ()
        self.files: list[HashedFile] = []
        self.hashing = hashing
        self._hasher = Hasher(wanted=hashing)
        self._regular = regular
        self._source: Source | None = None
        self._file: BinaryIO | OpenedFile | None = None
        self._path: str | None = None
        if path == "-":
            self._source = Source("-")
            return
        try:
            mode = 0 if opener is not None else os.stat(path).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode):
                self._source = Source(path)
                return
            self._open(path, opener)
        except (OSError, ValueError) as error:
            raise CaptureError(f"cannot open {path}: {reason_of(error)}") from error

    def _open(self, path: str, opener: Opener | None) -> None:
        file: BinaryIO | OpenedFile
        file = open(path, "rb", buffering=0) if opener is None else opener(path)  # noqa: SIM115  (by close)
        try:
            head = b"" if self._regular else file.read(_HEAD)
            image = next((what for magic, what in _IMAGES if head.startswith(magic)), None)
            if head.startswith(_VDI, _VDI_AT):
                image = "a VDI image"
            if head.startswith(_PACKED):
                file.close()
                self._source = Source(path) if opener is None else Source(opened(path, opener), owned=True)
                self.total = self._source.total
                return
            if image is not None:
                file.close()
                if opener is not None:
                    raise CaptureError(
                        f"{path} begins like {image}: only a file of this machine is read as one"
                    )
                file = _opened_image(path, image)
                self.kind = image.partition(" ")[2]
                self.image_files = cast(_Disk, file).files
            # A block device has no size but its end.
            self.total = file.seek(0, os.SEEK_END)
            self._file = file
            if image is None:
                # What an opener opens is elsewhere, and has no holes.
                self._path = path if opener is None else None
                self.map = None if self._regular else memory_map(self.read, self.total)
                self.kind = "file" if self.map is None else self.map.kind
        except BaseException:
            file.close()
            raise

    def __enter__(self) -> Medium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened."""
        if self._source is not None:
            self._source.close()
        if self._file is not None:
            self._file.close()

    @property
    def is_stream(self) -> bool:
        """Whether what was passed cannot be read again."""
        return self._file is None

    @property
    def sha256(self) -> str | None:
        """The hash of the file as it lies; None where none was wanted, or ``unhashed`` says why."""
        if self.image_files:
            return self.files[0].sha256 if self.files else None
        return self._hasher.sha256

    @property
    def disk_sha256(self) -> str | None:
        """The hash of the disk in an image."""
        return self._hasher.sha256 if self.image_files else None

    @property
    def unhashed(self) -> str | None:
        """Why there is no hash though one was wanted."""
        return self._hasher.reason

    def read(self, offset: int, length: int) -> bytes:
        """Read up to ``length`` bytes at an offset; only where it is no stream. Raises OSError."""
        assert self._file is not None
        if self.total is not None and offset >= self.total:
            return b""
        self._file.seek(offset)
        parts: list[bytes] = []
        while length > 0 and (part := self._file.read(min(length, READ_SIZE))):
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def extents(self, start: int = 0, stop: int | None = None) -> Iterator[Extent]:
        """Yield the bytes from ``start`` to ``stop``, by default all, in order; a piece lives until the next.

        Ranges that a file does not have, or that cannot be read, are left out. What is damaged on the way
        ends a stream, and stands in ``failure``.
        """
        if self._source is not None:
            yield from self._unpacked(self._source)
            return
        assert self.total is not None
        end = self.total if stop is None else min(stop, self.total)
        self._hasher.allow_zeros(self._held())
        spans = self._spans(start, end)
        borders = [] if self.map is None else self.map.borders()
        buffers = [memoryview(bytearray(READ_SIZE)) for _ in range(_BUFFERS)]
        ahead: deque[tuple[_Span, memoryview, Future[list[tuple[int, int]]]]] = deque()
        reached, number = start, 0
        hashed = _FilesHasher(self)
        self.files = hashed.files
        with hashed, self._hasher as hasher, ThreadPoolExecutor(1) as reader:
            while True:
                # A piece is read while the one before it is searched, and hashed while the next one is.
                while len(ahead) < _BUFFERS - 1 and (span := next(spans, None)) is not None:
                    view = buffers[(number + len(ahead)) % _BUFFERS][: span.length]
                    ahead.append((span, view, reader.submit(self._fill, view, span.offset)))
                if not ahead:
                    break
                self._before()
                span, view, reading = ahead.popleft()
                good = reading.result()
                hasher.zeros(span.offset - reached, self.total, self._before)
                hasher.update(view)
                for first, last in good:
                    yield from _between(borders, span.offset + first, view[first:last], joined=not first)
                reached = span.offset + span.length
                self.bytes_read = reached
                number += 1
            hasher.zeros(end - reached, self.total, self._before)
            self.bytes_read = end

    def _held(self) -> int:
        """Bytes that lie somewhere, by what the system says of the files."""
        paths = self.image_files or ([] if self._path is None else [self._path])
        held = 0
        for path in paths:
            # A file that went away since then holds nothing.
            with contextlib.suppress(OSError):
                found = os.stat(path)
                held += found.st_blocks * 512 if hasattr(found, "st_blocks") else found.st_size
        return held

    def _spans(self, start: int, end: int) -> Iterator[_Span]:
        """The ranges that are read at once: in no hole, unless that is small."""
        at = stop = start
        for first, last in self._extents(start, end):
            if first - stop > _GAP or at == start == stop:
                if at < stop:
                    yield _Span(at, stop - at)
                at = first
            stop = last
            while stop - at >= READ_SIZE:
                yield _Span(at, READ_SIZE)
                at += READ_SIZE
        if at < stop:
            yield _Span(at, stop - at)

    def _fill(self, view: memoryview, offset: int) -> list[tuple[int, int]]:
        """Read into ``view``; where in it are bytes that could be read. The rest of it is zeros."""
        assert self._file is not None
        good: list[tuple[int, int]] = []
        at, size = 0, len(view)
        step = size
        while at < size:
            try:
                self._file.seek(offset + at)
                # Files that are opened here are raw.
                count = int(cast(OpenedFile, self._file).readinto(view[at : at + step]) or 0)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise CaptureError(
                        f"cannot read {self.name}: {reason_of(error)}", offset=offset
                    ) from error
                if step > _BAD:
                    step = _BAD
                    continue
                bad = min(step, size - at)
                view[at : at + bad] = bytes(bad)
                self.unreadable += bad
                at += bad
                continue
            if count == 0:
                # It became shorter.
                view[at:] = bytes(size - at)
                break
            if good and good[-1][1] == at:
                good[-1] = (good[-1][0], at + count)
            else:
                good.append((at, at + count))
            at += count
        return good

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The ranges that lie somewhere, in order; only where it is no stream. Raises CaptureError."""
        return self._extents(0, self.total or 0)

    def _extents(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The ranges that lie somewhere; all of it where neither the image nor the system says."""
        if self.image_files:
            yield from cast(_Disk, self._file).extents(start, end)
            return
        if self._path is None or not hasattr(os, "SEEK_DATA"):
            yield start, end
            return
        # The place in the file that is read belongs to the reader, on its own thread.
        with open(self._path, "rb", buffering=0) as file:
            at = start
            while at < end:
                try:
                    at = file.seek(at, os.SEEK_DATA)
                    hole = file.seek(at, os.SEEK_HOLE)
                except OSError as error:
                    if error.errno != errno.ENXIO:
                        # A device has no holes.
                        yield at, end
                    # Else there are no data behind it.
                    return
                if at < end:
                    yield at, min(hole, end)
                at = hole

    def _unpacked(self, source: Source) -> Iterator[Extent]:
        view = memoryview(bytearray(READ_SIZE))
        source.before_read = self._before
        with self._hasher as hasher:
            source.after_read = hasher.copy
            try:
                window = source.unpacked()
                offset = 0
                while count := window.read_into(view):
                    self.bytes_read = source.bytes_read
                    yield Extent(offset, view[:count], True)
                    offset += count
                self.failure = window.failure
            except CaptureError as error:
                self.failure = error
            source.read_rest()
        self.bytes_read = source.bytes_read
        if source.compressed:
            self.kind = "compressed file"

    def _before(self) -> None:
        if self.before_read is not None:
            self.before_read()


def _between(borders: Sequence[int], offset: int, data: memoryview, *, joined: bool) -> Iterator[Extent]:
    """The pieces of bytes between borders, except for those that are too short to hold anything."""
    at, end = offset, offset + len(data)
    number = bisect_right(borders, offset - 1)
    if number < len(borders) and borders[number] == offset:
        joined = False
        number += 1
    while at < end:
        stop = min(end, borders[number]) if number < len(borders) else end
        # What goes on in the next piece may be long enough.
        if stop - at >= _LEAST or stop == end or joined:
            yield Extent(at, data[at - offset : stop - offset], joined)
        at, joined = stop, False
        number += 1


class _Stopped(Exception):
    """Nobody waits for the hashes any more."""


class _FilesHasher:
    """Hashes the files of an image as they lie, on a thread of its own, beside the search of their disk.

    Their bytes are read once more for it: the disk has them in another order, packed, or not at all.
    ``files`` are known at the end; damage of the image does not stop it.
    """

    def __init__(self, medium: Medium) -> None:
        self.files: list[HashedFile] = []
        self._paths = medium.image_files
        self._wanted = medium.hashing
        self._stop = Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> _FilesHasher:
        self._running = self._pool.submit(self._hash) if self._paths else None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and not issubclass(kind, CaptureError):
            self._stop.set()
        self._pool.shutdown()
        if self._running is not None:
            self._running.result()

    def _hash(self) -> None:
        with contextlib.suppress(_Stopped):
            for path in self._paths:
                self.files.append(self._hashed(path))

    def _hashed(self, path: str) -> HashedFile:
        name = os.path.basename(path)
        try:
            with Medium(path, hashing=self._wanted, regular=True) as medium:
                medium.before_read = self._check
                for _ in medium.extents() if self._wanted else ():
                    pass
                size, sha256 = medium.total or 0, medium.sha256
                return HashedFile(name=name, size=size, sha256=sha256, reason=medium.unhashed)
        except CaptureError as error:
            return HashedFile(name=name, size=0, reason=error.message)

    def _check(self) -> None:
        if self._stop.is_set():
            raise _Stopped


def _opened_image(path: str, what: str) -> BinaryIO:
    """Open an image of a disk by what is installed for that, which is under another licence."""
    for entry in entry_points(group=_GROUP):
        try:
            opener = entry.load()
        except ImportError:
            break
        try:
            file: BinaryIO = opener(path)
        except CaptureError as error:
            reason = error.message.removeprefix(f"cannot open {path}: ")
            raise CaptureError(f"{path} begins like {what} and cannot be read: {reason}") from error
        return file
    raise CaptureError(f"{path} begins like {what}: reading it needs the package msmq_dissect of msmq-wire")
