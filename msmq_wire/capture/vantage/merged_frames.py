"""`MergedFrames`: the frames of several vantage points as one pcapng stream, each frame once.

The rule kept here: frames of the first point are given as they are. Those of another point are given where
the first has no copy of them, counted per transmission, so that a retransmission stays one. Which copy is
whose is decided within a few seconds of traffic; memory is bounded by time and by bytes.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from msmq_wire.capture.source import Source, size_of
from msmq_wire.capture.vantage.frame_writer import FrameWriter
from msmq_wire.capture.vantage.point_frames import PointFile, PointFrames, Watch
from msmq_wire.capture.vantage.points_capture import PointsCapture
from msmq_wire.capture.vantage.transmission import Transmission
from msmq_wire.capture.vantage.transmissions import Transmissions
from msmq_wire.units import SECOND

HOLD = 5 * SECOND
"""Nanoseconds of traffic within which copies of one frame are found."""
HELD_BYTES = 1 << 26
"""Bytes of frames that wait for their copies, at most."""
_FRAME_COST = 1 << 11
"""Bytes that a frame takes beside its own."""
_ENOUGH = 1 << 16
"""Bytes that are made before they are given."""


class MergedFrames:
    """A binary file object, read once from its beginning; not seekable.

    ``capture`` says which files are which points, and is told of each frame that is given. ``given`` has
    binary file objects by name, other files are ``opened``. ``watch`` is entered with each file while it is
    read.
    ``files`` tell what was read, ``copies`` counts the frames that are left out as copies. Damage of one file
    does not stop the others. Memory stays below about 250 MiB.
    """

    def __init__(
        self,
        capture: PointsCapture,
        *,
        given: Mapping[str, BinaryIO] | None = None,
        opened: Callable[[str], Source] = Source,
        watch: Watch = contextlib.nullcontext,
        hold: int = HOLD,
        held_bytes: int = HELD_BYTES,
    ) -> None:
        self.name = str(capture)
        self._given = given or {}
        self._opened = opened
        names = iter(enumerate(capture.files))
        self._hold = hold + max(2 * (point.uncertainty or 0) for point in capture.shared.points)
        self._held_bytes = held_bytes
        self._points = [
            PointFrames(
                number,
                point,
                [PointFile(name, place) for _, (place, name) in zip(point.files, names, strict=False)],
                self._source,
                watch,
            )
            for number, point in enumerate(capture.shared.points)
        ]
        self.files = [file for point in self._points for file in point.files]
        self._writer = FrameWriter()
        self._transmissions = Transmissions(
            capture, [point.times for point in self._points], self._writer, self._hold
        )
        self._made = self._make()
        self._rest = b""

    @property
    def total(self) -> int | None:
        """Bytes of all files; None where a pipe is among them."""
        sizes = [size_of(self._given.get(file.name, file.name)) for file in self.files]
        return None if None in sizes else sum(filter(None, sizes))

    @property
    def copies(self) -> int:
        """Frames that were left out, as copies of others."""
        return self._transmissions.copies

    @property
    def bytes_read(self) -> int:
        """Bytes of the files that were read."""
        return sum(file.source.bytes_read for file in self.files if file.opened is not None)

    def seekable(self) -> bool:
        """Whether it can be read again."""
        return False

    def read(self, size: int = -1, /) -> bytes:
        """Read up to so many bytes, fewer only at the end; all that are left without a number."""
        parts, have = [self._rest], len(self._rest)
        while size < 0 or have < size:
            made = next(self._made, None)
            if made is None:
                break
            parts.append(made)
            have += len(made)
        joined = b"".join(parts)
        end = len(joined) if size < 0 else size
        self._rest = joined[end:]
        return joined[:end]

    def readinto(self, buffer: memoryview, /) -> int:
        """Read into ``buffer``; return how many bytes, 0 only at the end."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the files."""
        for point in self._points:
            point.close()

    def _source(self, name: str) -> Source:
        return Source(self._given[name]) if name in self._given else self._opened(name)

    def _make(self) -> Iterator[bytes]:
        writer, transmissions = self._writer, self._transmissions
        waiting: deque[tuple[Transmission, int]] = deque()
        held = key = 0
        yield writer.begin()
        for point, key in self._in_order():
            frame = point.head
            assert frame is not None
            sent = transmissions.take(point.number, frame, point.time, key, point.file.place)
            if sent is not None:
                cost = len(frame.data) + _FRAME_COST
                waiting.append((sent, cost))
                held += cost
            while waiting and (held > self._held_bytes or key - waiting[0][0].key > self._hold):
                first, cost = waiting.popleft()
                held -= cost
                self._release(first, key)
            if writer.size > _ENOUGH:
                yield writer.taken()
        for sent, _ in waiting:
            self._release(sent, key)
        yield writer.taken()

    def _release(self, sent: Transmission, now: int) -> None:
        if sent.alive:
            self.files[sent.place].give(sent.frame)
        self._transmissions.release(sent, now)

    def _in_order(self) -> Iterator[tuple[PointFrames, int]]:
        """The points, each as often as it has frames, in the order of their times."""
        points = [point for point in self._points if point.head is not None]
        while points:
            first = min(points, key=lambda point: point.key)
            others = [point.key for point in points if point is not first]
            until = min(others) if others else None
            while first.head is not None and (until is None or first.key <= until):
                yield first, first.key
                first.advance()
            if first.head is None:
                points.remove(first)
