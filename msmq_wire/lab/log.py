"""Logs the events of a lab, and names the reasons of failures."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

_NUMBER = re.compile(r"\[Errno (\d{1,5})\]")

_LONGEST = 256
"""At most so many characters of a detail, because clients choose some of them."""

Field: TypeAlias = str | int | None


class LabEvent(msgspec.Struct, frozen=True):
    """An event: ``time`` in nanoseconds since 1970, its name, and its details by name."""

    time: int
    event: str
    fields: Mapping[str, Field]


class LabLog:
    """Passes events to ``write``, with the time of ``now``; without ``write``, logs nothing."""

    def __init__(self, now: Callable[[], int], write: Callable[[LabEvent], None] | None = None) -> None:
        self._now = now
        self._write = write

    def say(self, event: str, **fields: Field) -> None:
        """Log an event; leave out details that are None, and shorten long ones."""
        if self._write is not None:
            reported = {name: _cut(value) for name, value in fields.items() if value is not None}
            self._write(LabEvent(self._now(), event, reported))


def _cut(value: Field) -> Field:
    return f"{value[:_LONGEST]}..." if isinstance(value, str) and len(value) > _LONGEST else value


def why(error: OSError) -> str:
    """The reason of an error, as ``Connection refused``.

    asyncio puts addresses into the text of an error, and makes one without a number of those of several
    addresses; of these the first is told.
    """
    if isinstance(error, socket.gaierror):
        # Its numbers are not those of the system.
        return error.strerror or str(error)
    if error.errno is not None:
        return os.strerror(error.errno)
    found = _NUMBER.search(str(error))
    return str(error) if found is None else os.strerror(int(found[1]))
