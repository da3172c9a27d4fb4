# SPDX-License-Identifier: AGPL-3.0-or-later
"""VHDX: blocks, found by one table. After [MS-VHDX]."""

from __future__ import annotations

import struct
from uuid import UUID

from msmq_dissect.images.layer import Layer, OpenParent, Run, check_size, check_unit, equal_bits
from msmq_dissect.images.members import Member

__all__ = ["MAGIC", "VhdxLayer"]

MAGIC = b"vhdxfile"
_REGIONS = (192 << 10, 256 << 10)
_MOST = 2047
"""Entries of a table of regions or of metadata."""
_BAT, _METADATA, _PARAMETERS, _SIZE, _SECTOR, _LOCATOR = (
    UUID(text).bytes_le
    for text in (
        "2DC27766-F623-4200-9D64-115E9BFD4A08",
        "8B7CA206-4790-4B9A-B8FE-575F050F886E",
        "CAA16737-FA36-4D43-B3B6-33F0AA44E76B",
        "2FA54224-CD1B-4876-B211-5DBED83BF4B8",
        "8141BF1D-A96F-4709-BA47-F233A8FAAB5F",
        "A8D35F2D-B30B-454D-ABF7-D3D84834AB0C",
    )
)
_ABSENT, _PRESENT, _PARTIAL = 0, 6, 7
_HAS_PARENT = 2
_LONGEST_NAME = 4096
_NAMES = ("relative_path", "absolute_win32_path", "volume_path")


class VhdxLayer:
    """The disk in a VHDX file."""

    def __init__(self, member: Member, open_parent: OpenParent) -> None:
        self._member = member
        regions = self._regions()
        metadata = self._entries(regions[_METADATA][0], b"metadata", 32, 10, "<H")
        where = {
            data[:16]: regions[_METADATA][0] + struct.unpack_from("<I", data, 16)[0] for data in metadata
        }
        for needed in (_PARAMETERS, _SIZE, _SECTOR):
            if needed not in where:
                raise member.damage("its metadata are not complete")
        self._unit, flags = struct.unpack("<II", member.read(where[_PARAMETERS], 8))
        self.size = member.number(where[_SIZE], 8)
        self._sector = member.number(where[_SECTOR], 4)
        check_unit(member, "a block", self._unit, 1 << 20, 256 << 20)
        check_unit(member, "a sector", self._sector, 512, 4096)
        check_size("VHDX", member, self.size)
        self._ratio = (self._sector << 23) // self._unit
        """Blocks that have one bitmap."""
        self._bat, room = regions[_BAT]
        blocks = -(-self.size // self._unit)
        if 8 * (blocks + (blocks - 1) // self._ratio) > min(room, member.size - self._bat):
            raise member.damage(f"its table of {blocks:,} blocks does not fit")
        self.below: Layer | None = None
        if flags & _HAS_PARENT:
            if _LOCATOR not in where:
                raise member.damage("it does not name its parent")
            self.below = open_parent(self._parent(where[_LOCATOR]))

    def _regions(self) -> dict[bytes, tuple[int, int]]:
        """Where the regions begin, and their lengths."""
        for place in _REGIONS:
            if self._member.read(place, 4) == b"regi":
                found = self._entries(place, b"regi", 16, 8, "<I")
                regions = {data[:16]: struct.unpack_from("<QI", data, 16) for data in found}
                if _BAT in regions and _METADATA in regions:
                    return regions
        raise self._member.damage("its table of regions is not there")

    def _entries(self, place: int, magic: bytes, head: int, count_at: int, form: str) -> list[bytes]:
        data = self._member.read(place, head)
        (count,) = struct.unpack_from(form, data, count_at)
        if not data.startswith(magic) or count > _MOST:
            raise self._member.damage(f"the table {magic.decode()!r} is not there, or has {count:,} entries")
        table = self._member.read(place + head, 32 * count)
        return [table[at : at + 32] for at in range(0, len(table), 32)]

    def _parent(self, place: int) -> str:
        """The name of the parent, by the first of its paths."""
        (count,) = struct.unpack_from("<H", self._member.read(place, 20), 18)
        found: dict[str, str] = {}
        for entry in range(min(count, 64)):
            values = struct.unpack("<IIHH", self._member.read(place + 20 + 12 * entry, 12))
            key, value = (
                self._member.read(place + at, min(length, _LONGEST_NAME)).decode("utf-16-le", "replace")
                for at, length in zip(values[:2], values[2:], strict=True)
            )
            found[key] = value
        return next((found[name] for name in _NAMES if name in found), "")

    def at(self, offset: int) -> Run:
        """See `Layer`."""
        block, inside = divmod(offset, self._unit)
        chunk = block // self._ratio
        here = self._member.number(self._bat + 8 * (block + chunk), 8)
        state, place = here & 7, here >> 20 << 20
        left = self._unit - inside
        if state == _PARTIAL and self.below is not None:
            bitmap = self._member.number(self._bat + 8 * ((chunk + 1) * (self._ratio + 1) - 1), 8) >> 20 << 20
            sector, skip = divmod(block % self._ratio * self._unit + inside, self._sector)
            own, count = equal_bits(self._member, bitmap, sector, -(-left // self._sector), "little")
            left = min(left, count * self._sector - skip)
            state = _PRESENT if own else _ABSENT
        if state == _PRESENT:
            return Run(left, self._member, place + inside)
        if state == _PARTIAL:
            raise self._member.damage("a block has parts of a parent that is not named")
        return Run(left, below=state == _ABSENT)
