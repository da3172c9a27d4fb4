# SPDX-License-Identifier: AGPL-3.0-or-later
"""VHD: blocks, found by one table. After "Virtual Hard Disk Image Format Specification" of Microsoft."""

from __future__ import annotations

import struct

from msmq_dissect.images.layer import (
    Flat,
    Layer,
    OpenParent,
    Run,
    check_size,
    check_unit,
    equal_bits,
)  # fmt: skip
from msmq_dissect.images.members import Member

__all__ = ["MAGIC", "footer_of", "vhd_layer"]

MAGIC = b"conectix"
_FIXED, _CHANGES = 2, 4
_SECTOR = 512
_ABSENT = 0xFFFFFFFF


def footer_of(member: Member) -> bytes | None:
    """The footer of a VHD file, which old writers made a byte shorter; None where there is none."""
    for length in (512, 511):
        if member.size >= length:
            footer = member.read(member.size - length, length)
            if footer.startswith(MAGIC):
                return footer
    return None


def vhd_layer(member: Member, open_parent: OpenParent) -> Layer:
    """The disk in a VHD file."""
    footer = footer_of(member)
    if footer is None:
        raise member.damage("its footer is not there")
    (header,) = struct.unpack_from(">Q", footer, 16)
    size, kind = struct.unpack_from(">Q4xI", footer, 48)
    check_size("VHD", member, size)
    if kind == _FIXED:
        return Flat(member, size)
    return _Blocks(member, size, header, open_parent if kind == _CHANGES else None)


class _Blocks:
    """The disk in a VHD file that grows, or has the changes of another one."""

    def __init__(self, member: Member, size: int, header: int, open_parent: OpenParent | None) -> None:
        head = member.read(header, 1024)
        self._table, blocks, self._unit = struct.unpack_from(">Q4xII", head, 16)
        check_unit(member, "a block", self._unit, _SECTOR, 256 << 20)
        if size > blocks * self._unit or self._table + 4 * blocks > member.size:
            raise member.damage(f"its table of {blocks:,} blocks does not fit")
        self._bitmap = -(-self._unit // _SECTOR // 8 // _SECTOR) * _SECTOR or _SECTOR
        self._member, self.size = member, size
        self.below: Layer | None = None
        if open_parent is not None:
            self.below = open_parent(head[64:576].decode("utf-16-be", "replace").partition("\0")[0])

    def at(self, offset: int) -> Run:
        """See `Layer`."""
        block, inside = divmod(offset, self._unit)
        here = self._member.number(self._table + 4 * block, 4, "big")
        left = self._unit - inside
        if here == _ABSENT:
            return Run(left, below=True)
        place = here * _SECTOR
        if self.below is not None:
            sector, skip = divmod(inside, _SECTOR)
            own, count = equal_bits(self._member, place, sector, -(-left // _SECTOR), "big")
            left = min(left, count * _SECTOR - skip)
            if not own:
                return Run(left, below=True)
        return Run(left, self._member, place + self._bitmap + inside)
