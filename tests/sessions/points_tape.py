"""Records written by hand of a capture that two places recorded, and what each of them saw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msmq_wire.capture.vantage.points import SharedTraffic, VantagePoint
from msmq_wire.capture.vantage.points_capture import FixedReason, PointsCapture
from msmq_wire.records.joined_capture import Unseen
from msmq_wire.records.record import Record
from tests.sessions.tape import Tape

CLIENT, SERVER = "192.0.2.21", "192.0.2.10"
MS = 1_000_000


class PointsTape(Tape):
    """Two points: ``sender.pcap`` beside the client, ``receiver.pcap`` beside the server.

    All records are seen at both but for those inside of `only`. With ``apart`` packets take 2 ms between
    them, by clocks that may be wrong by 0.1 ms.
    """

    def __init__(self, *, apart: bool = True, uncertainty: int | None = 100_000) -> None:
        super().__init__()
        points = (
            VantagePoint(files=("x/sender.pcap",)),
            VantagePoint(files=("x/receiver.pcap",), uncertainty=uncertainty),
        )
        self.capture = PointsCapture(SharedTraffic(points=points))
        self._seen = 3
        self._reason: Unseen = "absent"
        if apart:
            for number in range(3):
                self.capture.transits.add((CLIENT, SERVER), (0, 1), (2 + number) * MS)
                self.capture.transits.add((SERVER, CLIENT), (0, 1), -2 * MS)

    def add(self, type_: str, side: int = 0, on: int | None = 0, **more: Any) -> Record:
        """See `Tape.add`."""
        number, file = len(self.records) + 1, 0 if self._seen & 1 else 1
        frame = self.capture.add(file, number, self._seen)
        for point in (0, 1):
            if not self._seen >> point & 1:
                self.capture.miss(frame, point, FixedReason(self._reason))
        return super().add(type_, side, on, capture=self.capture, **more)

    @contextmanager
    def only(self, point: int, reason: Unseen = "absent") -> Iterator[None]:
        """Records inside are seen at one point only."""
        self._seen, self._reason = 1 << point, reason
        yield
        self._seen = 3
