"""`PointsCapture`: a capture that was recorded at several vantage points, each frame of it given once.

The rule kept here: frames are numbered as they were merged. What is printed names the file that a frame was
taken from and its number there, and a point that did not see bytes is told with the reason.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, Self

import msgspec

from msmq_wire.capture.vantage.points import SharedTraffic
from msmq_wire.reassembly.tcp_events import Endpoints
from msmq_wire.records.endpoint import endpoint
from msmq_wire.records.joined_capture import JoinedCapture, Sight, Unseen, joined_name
from msmq_wire.records.transit import Transits

MOST_POINTS = 63
"""Points that have a bit of their own; nothing is known of what others saw."""


class UnseenBytes(Protocol):
    """Bytes that a point had not seen when their frame was given."""

    @property
    def partial(self) -> bool:
        """Whether it saw some of them."""

    def reason(self) -> Unseen | None:
        """Why it did not see them, by what is known now; None where it saw them later."""


class FixedReason(msgspec.Struct, frozen=True):
    """A reason that does not change."""

    value: Unseen | None
    partial: bool = False

    def reason(self) -> Unseen | None:
        """See `UnseenBytes`."""
        return self.value


_SEEN, _OUTSIDE, _UNKNOWN = FixedReason(None), FixedReason("outside"), FixedReason("unknown")


class _Frames:
    """What is known of merged frames, as runs of frames that have it in common."""

    def __init__(self) -> None:
        self.count = 0
        self.first = array("Q")
        self.file = array("H")
        self.shift = array("q")
        self.seen = array("Q")
        self.outside = array("Q")
        self.unseen: dict[tuple[int, int], UnseenBytes] = {}

    def add(self, file: int, number: int, seen: int, outside: int) -> int:
        self.count += 1
        shift = number - self.count
        if (
            not self.first
            or self.shift[-1] != shift
            or self.seen[-1] != seen
            or self.file[-1] != file
            or self.outside[-1] != outside
        ):
            self.first.append(self.count)
            self.file.append(file)
            self.shift.append(shift)
            self.seen.append(seen)
            self.outside.append(outside)
        return self.count

    def run(self, frame: int) -> int:
        return max(bisect_right(self.first, frame) - 1, 0)


class PointsCapture(JoinedCapture):
    """The name of a capture that several vantage points recorded; ``shared`` says which.

    ``files`` are those of all points, one point after the other. `add` numbers the frames from 1 on.
    """

    shared: SharedTraffic
    _frames: _Frames
    _transits: Transits
    _named: Callable[[str], str]

    def __new__(
        cls, shared: SharedTraffic, known: PointsCapture | None = None, *, name: str | None = None
    ) -> Self:
        """Make a name; that of a capture which is ``known`` by other names tells of the same frames."""
        files = [file for point in shared.points for file in point.files]
        joined = super().__new__(cls, files, known, name=name or points_name(shared))
        joined.shared = shared
        joined._frames = _Frames() if known is None else known._frames
        uncertainties = tuple(point.uncertainty for point in shared.points)
        joined._transits = Transits(uncertainties) if known is None else known._transits
        joined._named = str if known is None else known._named
        return joined

    @property
    def point_files(self) -> tuple[tuple[str, ...], ...]:
        """See `JoinedCapture.point_files`."""
        return tuple(point.files for point in self.shared.points)

    @property
    def transits(self) -> Transits:
        """See `JoinedCapture.transits`; whoever merges the frames adds each that two points saw."""
        return self._transits

    def add(self, file: int, number: int, seen: int, *, outside: int = 0) -> int:
        """Take a frame that is given, and return its number.

        It is frame ``number`` of the file at place ``file`` of ``files``. The bits of ``seen`` are the points
        that saw its bytes, bit 0 the first point; those of ``outside`` the points that did not record then.
        """
        return self._frames.add(file, number, seen, outside)

    def miss(self, frame: int, point: int, bytes_: UnseenBytes) -> None:
        """Say of a frame that a point had not seen its bytes when it was given."""
        self._frames.unseen[frame, point] = bytes_

    def saw_later(self, frame: int, point: int) -> None:
        """Say that a point saw the bytes of a frame after all."""
        if (frame, point) in self._frames.unseen:
            self._frames.unseen[frame, point] = _SEEN

    def begin(self, file: str, after: int) -> None:
        """Nothing: each frame says which file it is from."""

    def locate(self, frame: int) -> tuple[str, int]:
        """See `JoinedCapture.locate`."""
        frames = self._frames
        if not frames.count:
            return self.files[0], frame
        run = frames.run(frame)
        return self.files[frames.file[run]], frame + frames.shift[run]

    def runs(self) -> Iterator[tuple[str, int, int, int]]:
        """Frames of a file that follow each other: the file, the first number there and here, how many."""
        frames = self._frames
        ends = (*frames.first[1:], frames.count + 1)
        for first, end, place, shift in zip(frames.first, ends, frames.file, frames.shift, strict=True):
            yield self.files[place], first + shift, first, end - first

    def own(self, record: int, file: str) -> None:
        """Say which file a record without frames is about, where it is about one."""
        if file in self.files:
            super().own(record, file)

    @property
    def clock_offsets(self) -> tuple[int, ...]:
        """See `JoinedCapture.clock_offsets`."""
        return tuple(point.offset for point in self.shared.points)

    @property
    def translations(self) -> tuple[tuple[int, str, str], ...]:
        """See `JoinedCapture.translations`; those of both directions, each once."""
        found: dict[tuple[int, str, str], None] = {}
        for one in self.shared.translations:
            for there, here in zip(_ends(one.there), _ends(one.here), strict=True):
                if there != here:
                    found[one.point, self._named(there), self._named(here)] = None
        return tuple(found)

    def renamed(self, files: Sequence[str], named: Callable[[str], str] = str) -> PointsCapture:
        """See `JoinedCapture.renamed`."""
        names = dict(zip(self.files, files, strict=True))
        points = tuple(
            msgspec.structs.replace(point, files=tuple(names[file] for file in point.files))
            for point in self.shared.points
        )
        other = PointsCapture(msgspec.structs.replace(self.shared, points=points), self)
        other._named = named
        # A host of IPv6 stands in brackets where it has a port.
        other._transits = self._transits.named(lambda host: named(f"[{host}]" if ":" in host else host))
        return other

    def seen_at(self, frames: Iterable[int]) -> tuple[Sight, ...]:
        """What each point saw of the bytes in some frames, in the order of ``shared.points``.

        What comes later in the capture may change an answer from ``unknown`` to another one, and from
        ``absent`` to that a point saw the bytes after all.
        """
        numbers = tuple(frames)
        return tuple(self._sight(place, numbers) for place in range(len(self.shared.points)))

    def lost_frames(self, point: int) -> int:
        """See `JoinedCapture.lost_frames`."""
        unseen = self._frames.unseen.items()
        return sum(at == point and bytes_.reason() == "lost" for (_, at), bytes_ in unseen)

    def _sight(self, point: int, frames: Sequence[int]) -> Sight:
        unseen = [self._unseen(point, frame) for frame in frames]
        reasons = [one.reason() for one in unseen]
        if frames and not any(reasons):
            return Sight("whole")
        seen_some = any(reason is None or one.partial for one, reason in zip(unseen, reasons, strict=True))
        # The weaker reason counts where there are two.
        weakest: Unseen = min((one for one in reasons if one), key=_STRENGTH.index, default="unknown")
        return Sight("part" if seen_some else "none", weakest)

    def _unseen(self, point: int, frame: int) -> UnseenBytes:
        known = self._frames
        if point >= MOST_POINTS or not 0 < frame <= known.count:
            return _UNKNOWN
        run, bit = known.run(frame), 1 << point
        if known.seen[run] & bit:
            return _SEEN
        return _OUTSIDE if known.outside[run] & bit else known.unseen.get((frame, point), _UNKNOWN)


def _ends(ends: Endpoints) -> tuple[str, str]:
    src, sport, dst, dport = ends
    return endpoint(src, sport), endpoint(dst, dport)


_STRENGTH: tuple[Unseen, ...] = ("unknown", "outside", "lost", "absent")


def points_name(shared: SharedTraffic) -> str:
    """What a capture of several points is called: by the files of each."""
    names = [joined_name(point.files) for point in shared.points]
    first, *others = names
    folder = os.path.dirname(first)
    same = all(os.path.dirname(one) == folder for point in shared.points for one in point.files)
    short = [
        os.path.basename(one) if same and len(point.files) == 1 else one
        for one, point in zip(others, shared.points[1:], strict=True)
    ]
    return " and ".join((", ".join((first, *short[:-1])), *short[-1:]))
