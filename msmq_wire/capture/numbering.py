"""Which frame of a capture that may be several files is which frame of which file: `Numbering`.

The rule kept here: numbers in a capture are those that its records have, whatever those in its files are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.capture.vantage.points_capture import PointsCapture


class Numbering:
    """Numbers of frames in a capture: those of a file go on where those of the file before it end.

    ``owned`` are the files of records without frames, by the ids of these.
    """

    def __init__(self, paths: Sequence[str] = (), bases: Sequence[int] = ()) -> None:
        self.paths = list(paths)
        self.bases = list(bases)
        self.owned: dict[int, str] = {}

    def add(self, path: str, base: int) -> None:
        """Say that the frames of the next file are numbered from ``base`` + 1 on."""
        self.paths.append(path)
        self.bases.append(base)

    def locate(self, numbers: Array) -> tuple[Array, Array]:
        """Return the place of the file in ``paths``, and the number in it, of each frame number."""
        bases = np.array(self.bases, np.int64)
        place = np.maximum(np.searchsorted(bases, numbers, side="left") - 1, 0)
        return place, numbers - bases[place]


class PointsNumbering(Numbering):
    """Numbers of frames in a capture that vantage points recorded: in the order in which they were merged."""

    def __init__(self, capture: PointsCapture) -> None:
        super().__init__(capture.files, (0,) * len(capture.files))
        self._capture = capture

    def locate(self, numbers: Array) -> tuple[Array, Array]:
        """See `Numbering.locate`."""
        places = {path: place for place, path in enumerate(self.paths)}
        found = [self._capture.locate(number) for number in numbers.tolist()]
        place = np.array([places[path] for path, _ in found], np.int64)
        return place, np.array([own for _, own in found], np.int64)

    def given(self, path: str, own: Array) -> Array:
        """The numbers that frames of a file have in the capture; 0 for a copy of another frame.

        All must be read.
        """
        there, here, count = self._runs[path]
        run = np.searchsorted(there, own, side="right") - 1
        ahead = own - there[run]
        found: Array = np.where(ahead < count[run], here[run] + ahead, 0)
        return found

    @cached_property
    def _runs(self) -> Mapping[str, Array]:
        # A file that gave nothing has no frame 0 either.
        runs = {path: [(0, 0, 0)] for path in self.paths}
        for path, there, here, count in self._capture.runs():
            runs[path].append((there, here, count))
        return {path: np.array(sorted(some), np.int64).T for path, some in runs.items()}
