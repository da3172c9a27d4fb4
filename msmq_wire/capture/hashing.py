"""SHA-256 of files, taken as they are read: `Hashing`; `FileRead` is what is kept of one.

The rule kept here: a hash is that of the bytes as they lie in the file, packed or damaged, and of no others.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

import msgspec

from msmq_wire.capture.capture_summary import Summary
from msmq_wire.capture.source import Source


class FileRead(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was read: ``size`` and ``sha256`` are of all its bytes, unless it is not ``whole``.

    ``first`` and ``last`` are the times of its earliest and latest frame, in nanoseconds since 1970.
    """

    name: str
    size: int
    sha256: str
    whole: bool
    frames: int
    first: int | None
    last: int | None


class ReadFile(Protocol):
    """What reads a file, and counts its frames."""

    @property
    def source(self) -> Source: ...
    @property
    def summary(self) -> Summary: ...


class Hashing:
    """Hashes what a reader reads from now on."""

    def __init__(self, reader: ReadFile) -> None:
        self._reader = reader
        self._digest = hashlib.sha256()
        reader.source.after_read = self._digest.update

    def result(self, name: str, *, at_end: bool) -> FileRead:
        """What the reader read; ``at_end`` says whether a pipe was read to its end."""
        source, summary = self._reader.source, self._reader.summary
        # What follows damage is part of the file as well; nobody waits for more of a pipe.
        whole = source.read_rest() if source.total else at_end
        return FileRead(
            name=name,
            size=source.bytes_read,
            sha256=self._digest.hexdigest(),
            whole=whole,
            frames=summary.frames,
            first=summary.first,
            last=summary.last,
        )
