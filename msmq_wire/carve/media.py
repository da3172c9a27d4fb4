"""`Medium`: what is searched for packets, piece by piece: a file, a disk, a dump, an image, a stream.

The rule kept here: everything is opened to be read, and nothing is written, beside it or anywhere else. What
cannot be read is a hole, and counted.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import entry_points
from types import TracebackType
from typing import BinaryIO, NamedTuple, cast

from msmq_wire.capture.opening import OpenedFile, Opener, opened, reason_of
from msmq_wire.capture.source import Source
from msmq_wire.carve.addresses import MemoryMap, memory_map
from msmq_wire.errors import CaptureError

__all__ = ["PIECE", "Medium", "Piece"]

PIECE = 1 << 20
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
_BUFFERS = 3
"""Pieces in memory: one is searched, one is read, one may still be hashed."""
_GROUP = "msmq_wire.images"


class Piece(NamedTuple):
    """Bytes at an ``offset``; those of a piece that is not ``joined`` do not continue the piece before."""

    offset: int
    data: memoryview
    joined: bool


class _Span(NamedTuple):
    offset: int
    length: int
    joined: bool


class Medium:
    """One source, opened: a path or ``"-"`` for standard input. Offsets count its bytes, unpacked.

    ``kind`` says what it is; ``total`` is its size in bytes, None where that cannot be known, ``bytes_read``
    how many of them were read. ``unreadable`` counts bytes that gave an error. ``before_read`` is called
    before each read. With ``hashing`` the SHA-256 of the file as it lies is taken on the way: `sha256` after
    the last piece. ``opener`` opens what is not on this machine. Raises `CaptureError` when it cannot be
    opened.
    """

    def __init__(self, path: str, *, hashing: bool = True, opener: Opener | None = None) -> None:
        self.name = "standard input" if path == "-" else path
        self.kind = "file"
        self.total: int | None = None
        self.bytes_read = 0
        self.unreadable = 0
        self.failure: CaptureError | None = None
        self.before_read: Callable[[], None] | None = None
        self.map: MemoryMap | None = None
        self._digest = hashlib.sha256() if hashing else None
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
            head = file.read(64)
            image = next((what for magic, what in _IMAGES if head.startswith(magic)), None)
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
            # A block device has no size but its end.
            self.total = file.seek(0, os.SEEK_END)
            self._file = file
            if image is None:
                # What an opener opens is elsewhere, and has no holes.
                self._path = path if opener is None else None
                self.map = memory_map(self.read, self.total)
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
        """The hash of what was read, of a stream before it was unpacked; None where none was wanted."""
        return None if self._digest is None else self._digest.hexdigest()

    def read(self, offset: int, length: int) -> bytes:
        """Read up to ``length`` bytes at an offset; only where it is no stream. Raises OSError."""
        assert self._file is not None
        self._file.seek(offset)
        parts: list[bytes] = []
        while length > 0 and (part := self._file.read(min(length, PIECE))):
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[Piece]:
        """Yield the bytes from ``start`` to ``stop``, by default all, in order; a piece lives until the next.

        Ranges that a file does not have, or that cannot be read, are left out. What is damaged on the way
        ends a stream, and stands in ``failure``.
        """
        if self._source is not None:
            yield from self._unpacked(self._source)
            return
        assert self.total is not None
        end = self.total if stop is None else min(stop, self.total)
        spans = self._spans(start, end)
        buffers = [memoryview(bytearray(PIECE)) for _ in range(_BUFFERS)]
        ahead: deque[tuple[_Span, memoryview, Future[list[tuple[int, int]]]]] = deque()
        reached = start
        with _Hasher(self._digest) as hasher, ThreadPoolExecutor(1) as reader:
            for number in itertools.count():
                # A piece is read while the one before it is searched, and hashed while the next one is.
                while len(ahead) < _BUFFERS - 1 and (span := next(spans, None)) is not None:
                    view = buffers[(number + len(ahead)) % _BUFFERS][: span.length]
                    ahead.append((span, view, reader.submit(self._fill, view, span.offset)))
                if not ahead:
                    break
                if self.before_read is not None:
                    self.before_read()
                span, view, reading = ahead.popleft()
                good = reading.result()
                hasher.zeros(span.offset - reached)
                hasher.update(view)
                for first, last in good:
                    yield Piece(span.offset + first, view[first:last], span.joined or first > 0)
                reached = span.offset + span.length
                self.bytes_read = reached
            hasher.zeros(end - reached)
            self.bytes_read = end

    def _spans(self, start: int, end: int) -> Iterator[_Span]:
        """The ranges that are read at once: in no hole, and over no border of the memory."""
        borders = deque([] if self.map is None else [one for one in self.map.borders() if start < one < end])
        for first, last in self._extents(start, end):
            while first < last:
                while borders and borders[0] < first:
                    borders.popleft()
                joined = not (borders and borders[0] == first)
                if not joined:
                    borders.popleft()
                stop = min(last, first + PIECE, *itertools.islice(borders, 1))
                yield _Span(first, stop - first, joined)
                first = stop

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

    def _extents(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The ranges that the file has; all of it where the system does not say."""
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

    def _unpacked(self, source: Source) -> Iterator[Piece]:
        view = memoryview(bytearray(PIECE))
        source.before_read = self._before
        with _Hasher(self._digest) as hasher:
            source.after_read = hasher.copy
            try:
                window = source.unpacked()
                offset = 0
                while count := window.read_into(view):
                    self.bytes_read = source.bytes_read
                    yield Piece(offset, view[:count], True)
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


class _Hasher:
    """Takes a hash beside the search, on a thread of its own: hashing needs no lock of the interpreter."""

    def __init__(self, digest: hashlib._Hash | None) -> None:
        self._digest = digest
        self._pool: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None

    def __enter__(self) -> _Hasher:
        if self._digest is not None:
            self._pool = ThreadPoolExecutor(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def update(self, data: memoryview) -> None:
        """Begin to hash bytes that stay until the next call."""
        self.wait()
        if self._pool is not None and self._digest is not None:
            self._running = self._pool.submit(self._digest.update, data)

    def wait(self) -> None:
        """Wait until the bytes given last are hashed."""
        if self._running is not None:
            self._running.result()
            self._running = None

    def copy(self, data: bytes | bytearray | memoryview) -> None:
        """Hash bytes that may change at once."""
        self.update(memoryview(bytes(data)))

    def zeros(self, count: int) -> None:
        """Hash a hole."""
        self.wait()
        while count > 0 and self._digest is not None:
            self._digest.update(_ZEROS[: min(count, len(_ZEROS))])
            count -= len(_ZEROS)


_ZEROS = memoryview(bytes(PIECE))


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
            raise CaptureError(f"{path} begins like {what}, and is none: {reason}") from error
        return file
    raise CaptureError(
        f"{path} begins like {what}: reading it needs dissect.target (pip install dissect.target)"
    )
