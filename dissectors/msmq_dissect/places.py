# SPDX-License-Identifier: AGPL-3.0-or-later
"""Where on a volume the bytes of its files lie.

The rule kept here: what a file system does not tell is None, never guessed.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from dissect.util.stream import RunlistStream  # type: ignore[import-untyped]  # it has no annotations

__all__ = ["Ranges", "found_file", "ranges_of"]


class Ranges:
    """Stretches of a volume; ``offset in ranges`` asks for one of its bytes."""

    def __init__(self) -> None:
        self._stretches: list[tuple[int, int]] = []
        self._sorted = True

    def add(self, stretches: list[tuple[int, int]]) -> None:
        """Add stretches, each as where it begins and ends."""
        self._stretches += stretches
        self._sorted = False

    def __contains__(self, offset: int) -> bool:
        if not self._sorted:
            self._stretches.sort()
            self._sorted = True
        place = bisect_right(self._stretches, (offset, offset))
        near = self._stretches[max(0, place - 1) : place + 1]
        return any(start <= offset < end for start, end in near)


def found_file(path: Any) -> Any:
    """The entry of the file system that a path of a target leads to."""
    entry = path.get()
    while hasattr(entry, "entries"):
        entry = entry.entries[0]
    return entry


def ranges_of(entry: Any) -> list[tuple[int, int]] | None:
    """The stretches of its volume in which a file lies; None where its file system does not tell them.

    NTFS, ext and FAT tell them. A file of a few hundred bytes lies in the MFT of NTFS, and has none.
    """
    stream = entry.open()
    if not isinstance(stream, RunlistStream):
        return None
    kind, fs = entry.fs.__type__, entry.fs
    if kind == "ntfs":
        start, cluster = 0, fs.ntfs.cluster_size
    elif kind == "ext":
        start, cluster = 0, fs.extfs.block_size
    elif kind == "fat":
        start, cluster = fs.fatfs.data_stream.offset, fs.fatfs.cluster_size
    else:
        return None
    # In a compressed file runs are shorter than what they hold: whole clusters count.
    left = stream.size if type(stream) is RunlistStream else None
    found = []
    for first, count in entry.entry.dataruns():
        length = count * cluster
        there = length if left is None else min(length, left)
        if first is not None and there:
            found.append((start + first * cluster, start + first * cluster + there))
        if left is not None:
            left -= there
    return found
