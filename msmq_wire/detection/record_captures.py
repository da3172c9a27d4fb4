"""Which capture a record came from, for messages about records that were dropped."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from msmq_wire.detection.finding import Evidence


class Sources:
    """Captures by their first record; they are read in sequence, with rising ids."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._names: list[str] = []

    def add(self, record: int, capture: str) -> None:
        """Add a capture that starts with this record."""
        if not self._names or self._names[-1] != capture:
            self._firsts.append(record)
            self._names.append(capture)

    def named(self, evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
        """The same evidence, with the capture of each place."""
        return tuple(map(self._named, evidence))

    def _named(self, place: Evidence) -> Evidence:
        if place.capture or place.record is None:
            return place
        at = bisect_right(self._firsts, place.record)
        return msgspec.structs.replace(place, capture=self._names[at - 1]) if at else place
