# SPDX-License-Identifier: AGPL-3.0-or-later
"""VDI: blocks, found by one table. After VDICore.h of VirtualBox."""

from __future__ import annotations

import struct

from msmq_dissect.images.layer import Layer, Run, check_size, check_unit
from msmq_dissect.images.members import Member
from msmq_wire.errors import CaptureError

__all__ = ["MAGIC", "MAGIC_AT", "VdiLayer"]

MAGIC, MAGIC_AT = b"\x7f\x10\xda\xbe", 64
_FREE, _ZERO = 0xFFFFFFFF, 0xFFFFFFFE
_CHANGES = 4
"""The type of an image that has the changes of another one, and no name of it."""


class VdiLayer:
    """The disk in a VDI file."""

    below: Layer | None = None

    def __init__(self, member: Member) -> None:
        head = member.read(0, 392)
        (kind,) = struct.unpack_from("<I", head, 76)
        self._map, self._start = struct.unpack_from("<II", head, 340)
        self.size, self._unit, self._extra, blocks = struct.unpack_from("<QIII", head, 368)
        if kind == _CHANGES:
            raise CaptureError(f"{member.name} has changes of another image only, and no name of that image")
        check_unit(member, "a block", self._unit, 512, 1 << 30)
        check_size("VDI", member, self.size)
        if self.size > blocks * self._unit or self._map + 4 * blocks > member.size:
            raise member.damage(f"its table of {blocks:,} blocks does not fit")
        self._member = member

    def at(self, offset: int) -> Run:
        """See `Layer`."""
        block, inside = divmod(offset, self._unit)
        here = self._member.number(self._map + 4 * block, 4)
        left = self._unit - inside
        if here in (_FREE, _ZERO):
            return Run(left)
        stride = self._unit + self._extra
        return Run(left, self._member, self._start + here * stride + self._extra + inside)
