# SPDX-License-Identifier: AGPL-3.0-or-later
"""EWF: an image in segments, each a list of sections, with tables of the places of compressed chunks.

After "Expert Witness Compression Format specification" of libewf, for E01, L01 and S01 files.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from msmq_dissect.images.layer import LARGEST_UNIT, Layer, Packed, Run, check_size, inflated
from msmq_dissect.images.members import Member, Members
from msmq_wire.errors import CaptureError
from msmq_wire.units import size_text

__all__ = ["SIGNATURES", "EwfLayer"]

SIGNATURES = (b"EVF\x09\x0d\x0a\xff\x00", b"LVF\x09\x0d\x0a\xff\x00")
_HEADER, _SECTION, _TABLE = 13, 76, 24
_MOST = 14_971
"""Segments that have names: from E01 to ZZZ."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_unpack = inflated(15)


class _Table(NamedTuple):
    member: Member
    section: int
    end: int
    entries: int
    chunks: int
    base: int


class EwfLayer:
    """The disk in all segments of an EWF image."""

    below: Layer | None = None

    def __init__(self, first: Member, files: Members) -> None:
        self._unit = self.size = self._chunks = 0
        self._tables: list[_Table] = []
        self._starts: list[int] = []
        names = _names(first.name)
        member: Member | None = first
        for number in range(1, _MOST + 1):
            if member is None:
                raise CaptureError(f"segment {number} of the EWF image is not there")
            try:
                more = self._segment(member, number)
            except CaptureError as error:
                if number == 1:
                    raise
                raise CaptureError(
                    f"segment {number} of the EWF image is damaged: {error.message}"
                ) from error
            if not more:
                break
            name = next(names, None)
            member = None if name is None else files.find(name, f"segment {number + 1}")
        if not self._unit:
            raise first.damage("no section tells the size of its disk")
        check_size("EWF", first, self.size)

    def _segment(self, member: Member, number: int) -> bool:
        """Read the sections of a segment; whether another segment follows."""
        head = member.read(0, _HEADER)
        (said,) = struct.unpack_from("<H", head, 9)
        if head[:8] not in SIGNATURES:
            raise member.damage("it is no segment of EWF")
        if said != number:
            raise CaptureError(f"{member.name} is segment {said} of an EWF image: segment {number} is wanted")
        offset = _HEADER
        while True:
            name, following, size = struct.unpack_from("<16sQQ", member.table(offset, _SECTION))
            kind = name.rstrip(b"\0")
            if kind in (b"volume", b"disk") and not self._unit:
                self._volume(member, offset, size)
            elif kind == b"table":
                self._table(member, offset, size)
            elif kind in (b"next", b"done"):
                return bool(kind == b"next")
            if following <= offset:
                raise member.damage(f"section {kind!r} leads back")
            offset = following

    def _volume(self, member: Member, offset: int, size: int) -> None:
        data = member.read(offset + _SECTION, 24)
        chunks, sectors, sector, total = struct.unpack_from("<4xIIIQ", data)
        unit = sectors * sector
        if not sector or not 0 < unit <= LARGEST_UNIT:
            raise member.damage(
                f"a chunk has {size_text(unit)}: up to {size_text(LARGEST_UNIT)} are possible"
            )
        if size - _SECTION != 1052:
            total &= 0xFFFFFFFF
        self._unit = unit
        # Who acquires from a pipe may not know the number of sectors.
        self.size = total * sector if 0 < total <= chunks * sectors else chunks * unit

    def _table(self, member: Member, offset: int, size: int) -> None:
        count, base = struct.unpack_from("<I4xQ", member.table(offset + _SECTION, _TABLE))
        entries = offset + _SECTION + _TABLE
        if entries + 4 * count > min(offset + size, member.size):
            raise member.damage(f"a table of {count:,} chunks is longer than its section")
        if count:
            self._starts.append(self._chunks)
            self._tables.append(_Table(member, offset, offset + size, entries, count, base))
            self._chunks += count

    def at(self, offset: int) -> Run:
        """See `Layer`."""
        number, inside = divmod(offset, self._unit)
        if number >= self._chunks:
            raise CaptureError("its end is not there")
        which = bisect_right(self._starts, number) - 1
        table = self._tables[which]
        entry = number - self._starts[which]
        numbers = table.member.table(table.entries + 4 * entry, 4 if entry + 1 == table.chunks else 8)
        (here,) = struct.unpack_from("<I", numbers)
        place = table.base + (here & 0x7FFFFFFF)
        # The chunks lie before their table, of old writers behind it.
        following = table.section if place < table.section else table.end
        if len(numbers) == 8:
            following = table.base + (int.from_bytes(numbers[4:], "little") & 0x7FFFFFFF)
        if following <= place:
            raise table.member.damage("its chunks are not in order")
        span = self._unit - inside
        if not here >> 31:
            return Run(span, table.member, place + inside)
        # Deflate makes nothing much longer.
        stored = min(following - place, self._unit + (self._unit >> 3) + 64)
        return Run(span, table.member, place, Packed(stored, self._unit, inside, _unpack))


def _names(first: str) -> Iterator[str]:
    """Names of the segments behind the first one: from E02 to E99, from EAA to ZZZ."""
    stem, letters = first[:-3], first[-3:]
    if len(first) < 5 or first[-4] != "." or letters[1:] != "01" or not letters[0].isalpha():
        return
    lower = letters[0].islower()
    ends = [f"{letters[0].upper()}{number:02}" for number in range(2, 100)]
    start = _LETTERS.index(letters[0].upper()) if letters[0].upper() in _LETTERS else len(_LETTERS)
    ends += [a + b + c for a in _LETTERS[start:] for b in _LETTERS for c in _LETTERS]
    yield from (stem + (end.lower() if lower else end) for end in ends)
