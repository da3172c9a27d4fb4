"""Where the bytes of a memory dump were in memory, from the tables in its header.

The rule kept here: a table that does not fit its file gives no address; nothing is read by what it claims.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

import msgspec

ReadAt = Callable[[int, int], bytes]
"""Gives up to so many bytes (second) from an offset (first)."""

HEADER = 4096
"""Bytes of a file that tell what dump it is."""
_MOST = 1 << 20
"""Ranges that are kept of a dump."""
_PAGE = 4096
_SPACE = 1 << 64
_SEGMENT = 56
"""Bytes of a program header of ELF."""


class Range(msgspec.Struct, frozen=True, gc=False):
    """Bytes of a file that were at consecutive addresses."""

    offset: int
    length: int
    address: int


class MemoryMap:
    """The ranges of a dump, which is a ``kind``; ``space`` says whether addresses are virtual or physical."""

    def __init__(self, kind: str, space: str, ranges: list[Range]) -> None:
        self.kind = kind
        self.space = space
        self.ranges = sorted(ranges, key=lambda one: one.offset)
        self._offsets = [one.offset for one in self.ranges]

    def address(self, offset: int) -> int | None:
        """Where the byte at an offset of the file was; None where no range says so."""
        place = bisect_right(self._offsets, offset) - 1
        if place < 0:
            return None
        found = self.ranges[place]
        return found.address + offset - found.offset if offset < found.offset + found.length else None

    def offsets(self, addresses: Iterable[int]) -> Iterator[int]:
        """Where the bytes at addresses lie in the file; what was at none of its ranges is left out."""
        ranges = sorted(self.ranges, key=lambda one: one.address)
        starts = [one.address for one in ranges]
        for address in addresses:
            place = bisect_right(starts, address) - 1
            if place >= 0 and address < ranges[place].address + ranges[place].length:
                yield ranges[place].offset + address - ranges[place].address

    def borders(self) -> list[int]:
        """Offsets at which bytes begin that do not follow those before them in memory."""
        # Bytes follow each other where they are as far from their addresses, and the next range begins there.
        starts = {(one.offset, one.offset - one.address) for one in self.ranges}
        found: list[int] = []
        joined: set[int] = set()
        end = -1
        away = 0
        for one in self.ranges:
            if (one.offset, one.offset - one.address) != (end, away):
                found.append(one.offset)
            end, away = one.offset + one.length, one.offset - one.address
            if (end, away) in starts:
                joined.add(end)
            else:
                found.append(end)
        return sorted(set(found) - joined)


def memory_map(read: ReadAt, size: int) -> MemoryMap | None:
    """The map of a minidump, a full dump of the kernel, or an ELF core; None for another file.

    MINIDUMP_HEADER and its lists of memory (Microsoft Learn, minidumpapiset.h); the physical memory runs of a
    64-bit kernel dump; program headers of ELF.
    """
    # What a short file lacks of a head says nothing.
    head = read(0, HEADER).ljust(HEADER, b"\0")
    if head[:4] == b"MDMP":
        return MemoryMap("minidump", "virtual", [*_kept(_minidump(read, head), size)])
    if head[:8] == b"PAGEDU64":
        return MemoryMap("kernel dump", "physical", [*_kept(_kernel(read, head, size), size)])
    if head[:6] == b"\x7fELF\x02\x01" and head[16:18] == b"\x04\0":
        return MemoryMap("ELF core", "virtual", [*_kept(_core(read, head), size)])
    return None


def _kept(ranges: Iterator[Range], size: int) -> Iterator[Range]:
    for number, one in enumerate(ranges):
        if number >= _MOST:
            return
        if one.length > 0 and 0 <= one.offset <= size - one.length and one.address <= _SPACE - one.length:
            yield one


def _minidump(read: ReadAt, head: bytes) -> Iterator[Range]:
    count, directory = struct.unpack_from("<II", head, 8)
    streams = read(directory, min(count, 1024) * 12)
    for at in range(0, len(streams) - 11, 12):
        kind, length, place = struct.unpack_from("<III", streams, at)
        if kind == 5:  # MemoryListStream
            listed = read(place, min(length, 4 + _MOST * 16))
            for one in range(4, len(listed) - 15, 16):
                address, size, offset = struct.unpack_from("<QII", listed, one)
                yield Range(offset, size, address)
        elif kind == 9:  # Memory64ListStream: one range behind the other
            listed = read(place, min(length, 16 + _MOST * 16))
            if len(listed) < 16:
                continue
            offset = int.from_bytes(listed[8:16], "little")
            for one in range(16, len(listed) - 15, 16):
                address, size = struct.unpack_from("<QQ", listed, one)
                yield Range(offset, size, address)
                offset += size


def _kernel(read: ReadAt, head: bytes, size: int) -> Iterator[Range]:
    """The runs of a full dump: pages one after the other behind a header of two pages."""
    if head[0xF98:0xF9C] != b"\x01\0\0\0":
        # A dump of some pages only has a bitmap instead of runs.
        return
    count = int.from_bytes(head[0x88:0x8C], "little")
    offset = 0x2000
    for at in range(0x98, 0x98 + 16 * min(count, 43), 16):
        first, pages = struct.unpack_from("<QQ", head, at)
        if pages > size // _PAGE:
            return
        yield Range(offset, pages * _PAGE, first * _PAGE)
        offset += pages * _PAGE


def _core(read: ReadAt, head: bytes) -> Iterator[Range]:
    table = int.from_bytes(head[32:40], "little")
    entry, count = struct.unpack_from("<HH", head, 54)
    # Another size is no known format, and would make a table of 4 GB.
    if entry != _SEGMENT:
        return
    segments = read(table, entry * count)
    for at in range(0, len(segments) - 55, entry):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", segments, at)
        if kind == 1:  # PT_LOAD
            yield Range(offset, length, address)
