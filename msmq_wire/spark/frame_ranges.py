"""Bytes of a capture that are read again, by the task that decodes them.

The rule kept here: what is read is what was indexed, or the file is said to have changed; pieces that lie
close to each other are one read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from msmq_wire.capture.index import Array
from msmq_wire.capture.listing import open_file
from msmq_wire.capture.opened_file import OpenedFile
from msmq_wire.capture.places import Place
from msmq_wire.errors import CaptureError

WORTH_A_READ = 1 << 16
WORTH_A_REQUEST = 1 << 18
"""What a read of this machine's files, and a request to a store, should bring: bytes."""
_MOST_OPEN = 16


class IndexedFile(NamedTuple):
    """A file with its size and its time of change (ns) when it was indexed."""

    path: str
    size: int
    mtime_ns: int


def worth_a_read(path: str) -> int:
    """Bytes that a read of a file should bring, and may bring in vain where that saves another one."""
    return WORTH_A_READ if Place(path).is_local else WORTH_A_REQUEST


def starts_of_reads(at: Array, end: Array, gap: int) -> Array:
    """Say of each piece ``at`` to ``end`` of a file, in order, whether a read starts with it.

    Up to ``gap`` bytes between two pieces are read in vain.
    """
    found: Array = np.append(True, (at[1:] < at[:-1]) | (at[1:] - end[:-1] > gap))
    return found


class RangeReader:
    """Reads ranges of files, some of which it keeps open until it is closed."""

    def __init__(self) -> None:
        self._open: OrderedDict[IndexedFile, OpenedFile] = OrderedDict()

    def read(self, file: IndexedFile, ranges: Iterable[tuple[int, int]], into: memoryview) -> None:
        """Put ranges (start, size) of a file one behind the other.

        Raises CaptureError where the file cannot be read, or is not what was indexed.
        """
        try:
            source = self._opened(file)
            place = 0
            for start, size in ranges:
                end = place + size
                source.seek(start)
                while place < end:
                    count = source.readinto(into[place:end])
                    if not count:
                        raise _changed(file)
                    place += count
            status = source.status()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CaptureError(f"cannot read {file.path}: {reason}") from error
        if status != (file.size, file.mtime_ns):
            raise _changed(file)

    def _opened(self, file: IndexedFile) -> OpenedFile:
        found = self._open.pop(file, None) or open_file(file.path)
        self._open[file] = found
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        return found

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._open.popitem()[1].close()


def _changed(file: IndexedFile) -> CaptureError:
    return CaptureError(f"{file.path} changed after it was indexed")
