"""The frames of one vantage point, file after file, with corrected times.

The rule kept here: a file that cannot be read, or not to its end, does not stop the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager

from msmq_wire.capture.capture_summary import Summary
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.pcapng import CaptureLosses
from msmq_wire.capture.source import Source
from msmq_wire.capture.vantage.points import VantagePoint
from msmq_wire.capture.vantage.sightings import PointTimes
from msmq_wire.errors import CaptureError


class PointFile:
    """A file of a point as it is read: the source that is ``opened``, and what is counted of it.

    ``error`` says why it was not read to its end. Of the frames that were given of it ``cut`` are captured in
    part, ``snapped`` is the largest part.
    """

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self.place = place
        self.opened: Source | None = None
        self.summary = Summary()
        self.error: CaptureError | None = None
        self.cut = self.snapped = 0

    @property
    def source(self) -> Source:
        """The opened file."""
        assert self.opened is not None
        return self.opened

    @property
    def losses(self) -> CaptureLosses:
        """What the file says of itself."""
        return CaptureLosses() if self.opened is None else self.opened.losses

    @property
    def is_capture(self) -> bool:
        """Whether it began like a capture."""
        return self.opened is not None and self.opened.is_capture

    def count(self, frame: Frame) -> None:
        """Count a frame."""
        summary, time = self.summary, frame.time
        summary.frames += 1
        if time:
            summary.first = time if summary.first is None else min(summary.first, time)
            summary.last = time if summary.last is None else max(summary.last, time)

    def give(self, frame: Frame) -> None:
        """Count a frame that is given."""
        size = len(frame.data)
        if frame.length > size:
            self.cut += 1
            self.snapped = max(self.snapped, size)


Watch = Callable[[PointFile], AbstractContextManager[object]]
"""What goes on while a file is read."""
Open = Callable[[str], Source]


class PointFrames:
    """Reads the files of a point; `head` is the next frame, ``key`` its place in time, ``file`` where it is.

    The key of a frame is its corrected time, or that of the frame behind it where that is smaller: one frame
    with a time in the future does not stop the others.
    """

    def __init__(
        self, number: int, point: VantagePoint, files: list[PointFile], open_file: Open, watch: Watch
    ) -> None:
        self.number = number
        self.times = PointTimes()
        self.files = files
        self._point = point
        self._open = open_file
        self._watch = watch
        self._walk = self._all()
        self._next = next(self._walk, None)
        self.head: Frame | None = None
        self.time = self.key = 0
        self.file = files[0]
        self.advance()

    def advance(self) -> None:
        """Go on to the next frame; there is no ``head`` at the end."""
        found = self._next
        if found is None:
            self.head = None
            self.times.ended = True
            return
        self.head, self.time, self.file = found
        self._next = next(self._walk, None)
        time = self.time or self.key
        if self._next is not None and 0 < self._next[1] < time:
            time = self._next[1]
        self.key = time
        times = self.times
        if self.time:
            if times.first is None or time < times.first:
                times.first = time
            if time > times.last:
                times.last = time

    def close(self) -> None:
        """Close what is open."""
        self._walk.close()

    def _all(self) -> Generator[tuple[Frame, int, PointFile], None, None]:
        point = self._point
        shifts = bool(point.offset or point.drift)
        for file in self.files:
            try:
                file.opened = self._open(file.name)
                with file.opened as source, self._watch(file):
                    try:
                        for frame in source.frames():
                            file.count(frame)
                            time = frame.time or 0
                            yield frame, point.corrected(time) if shifts else time, file
                    except CaptureError as error:
                        file.error = error
            except CaptureError as error:
                file.error = error
            if file.losses.dropped:
                self.times.lossy = True
