"""What a lab does, event by event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

__all__ = ["LabEvent", "LabLog"]

Field: TypeAlias = str | int | None


class LabEvent(msgspec.Struct, frozen=True):
    """Something that happened: ``time`` in nanoseconds since 1970, what, and its details by name."""

    time: int
    event: str
    fields: Mapping[str, Field]


class LabLog:
    """Gives events to ``write``, with the time of ``now``; without ``write`` nothing is logged."""

    def __init__(self, now: Callable[[], int], write: Callable[[LabEvent], None] | None = None) -> None:
        self._now = now
        self._write = write

    def say(self, event: str, **fields: Field) -> None:
        """Log an event; details that are None are left out."""
        if self._write is not None:
            told = {name: value for name, value in fields.items() if value is not None}
            self._write(LabEvent(self._now(), event, told))
