# SPDX-License-Identifier: AGPL-3.0-or-later
"""VMDK: a text that names extents, and extents of grains, found by two levels of tables.

After "Virtual Disk Format 5.0" of VMware; COWD and SESPARSE extents after block/vmdk.c of QEMU.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from msmq_dissect.images.layer import (
    Flat,
    Joined,
    Layer,
    OpenParent,
    Packed,
    Run,
    check_apart,
    check_size,
    check_unit,
    inflated,
)  # fmt: skip
from msmq_dissect.images.members import Member, Members, cut
from msmq_wire.errors import CaptureError

__all__ = ["MAGICS", "vmdk_layer"]

_TEXT, _SPARSE, _COWD, _SE = b"# Disk DescriptorFile", b"KDMV", b"COWD", b"\xbe\xba\xfe\xca\0\0\0\0"
MAGICS = (_TEXT[:4], _SPARSE, _COWD, _SE)
_SECTOR = 512
_LONGEST_TEXT = 1 << 20
_MOST_ENTRIES = 1 << 16
"""Entries of a table of grains: VMware makes 512, or 4,096."""
_COMPRESSED, _MARKED = 1 << 16, 1 << 17
_EXTENT = re.compile(
    r'(RW|RDONLY|NOACCESS) (\d{1,18}) ([A-Z]{1,16})(?: "([^"]{1,1024})")?(?: (\d{1,18}))?(?: |\Z)'
)
_NO_PARENT = "ffffffff"
_unpack = inflated(15)


class _Text(NamedTuple):
    """What a descriptor says: the name of a parent, and extents (sectors, type, name, first sector)."""

    parent: str | None
    extents: list[tuple[int, str, str, int]]


def vmdk_layer(member: Member, files: Members, open_parent: OpenParent) -> Layer:
    """The disk in a VMDK file, and in the extents that it names."""
    if member.read(0, 4) != _TEXT[:4]:
        sparse = _Grains(member)
        if sparse.text is not None and sparse.text.parent is not None:
            sparse.below = open_parent(sparse.text.parent)
        return sparse
    if member.size > _LONGEST_TEXT:
        raise member.damage(f"its text has {member.size:,} bytes")
    text = _text(member, member.read(0, member.size))
    below = None if text.parent is None else open_parent(text.parent)
    parts: list[tuple[Layer | None, int]] = []
    for sectors, kind, name, start in text.extents:
        size = sectors * _SECTOR
        layer: Layer | None = None
        if kind in ("SPARSE", "VMFSSPARSE", "SESPARSE"):
            layer = _Grains(files.named(name, "extent"))
            if layer.size < size:
                raise member.damage(f"its extent {cut(name)} is too short")
        elif kind in ("FLAT", "VMFS"):
            layer = Flat(files.named(name, "extent"), size, start * _SECTOR)
        elif kind != "ZERO":
            raise CaptureError(f"its extent {cut(name)} of type {kind} is no file")
        parts.append((layer, size))
    if not parts:
        raise member.damage("its text names no extent")
    joined = Joined(parts, below)
    check_size("VMDK", member, joined.size)
    return joined


def _text(member: Member, data: bytes) -> _Text:
    settings: dict[str, str] = {}
    extents: list[tuple[int, str, str, int]] = []
    for line in data.partition(b"\0")[0].decode("utf-8", "surrogateescape").splitlines():
        found = _EXTENT.match(line.strip())
        if found is not None:
            extents.append((int(found[2]), found[3], found[4] or "", int(found[5] or 0)))
        elif line.startswith(("RW ", "RDONLY ", "NOACCESS ")):
            raise member.damage(f"its extent {cut(line)} cannot be read")
        else:
            name, _, value = line.partition("=")
            settings.setdefault(name.strip(), value.strip().strip('"'))
    changes = settings.get("parentCID", _NO_PARENT).lower() != _NO_PARENT
    return _Text(settings.get("parentFileNameHint", "") if changes else None, extents)


class _Grains:
    """The disk in a sparse extent, or a part of it."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self.below: Layer | None = None
        self.text: _Text | None = None
        self._flags, self._width, self._first, self._tables = 0, 4, 0, 0
        head = member.read(0, _SECTOR)
        if head.startswith(_SPARSE):
            directory, entries = self._sparse(head)
        elif head.startswith(_COWD):
            self._flags, capacity, grain, directory = struct.unpack_from("<4I", head, 8)
            self._set(capacity, grain, 4096)
            entries = self._entries
        elif head.startswith(_SE):
            capacity, grain, table = struct.unpack_from("<3Q", head, 16)
            directory, room, self._tables = struct.unpack_from("<3Q", head, 128)
            (self._first,) = struct.unpack_from("<Q", head, 192)
            self._width = 8
            self._set(capacity, grain, table * _SECTOR // 8)
            entries = min(self._entries, room * _SECTOR // 8)
        else:
            raise member.damage("it is no extent of VMDK")
        if entries < self._entries:
            raise member.damage(
                f"its directory has {entries:,} entries, and its disk needs {self._entries:,}"
            )
        form = "Q" if self._width == 8 else "I"
        data = member.numbers(directory * _SECTOR, self._entries, form)
        self._directory = [self._table(one) for one in data]
        check_apart(member, [one for one in self._directory if one], self._covers * self._width)

    def _sparse(self, head: bytes) -> tuple[int, int]:
        member = self._member
        if head[56:64] == b"\xff" * 8:
            # The header that counts stands behind everything.
            head = member.read(member.size - 1024, _SECTOR)
            if not head.startswith(_SPARSE):
                raise member.damage("its footer is not there")
        (self._flags,) = struct.unpack_from("<I", head, 8)
        capacity, grain, text, length, covers = struct.unpack_from("<4QI", head, 12)
        (directory,) = struct.unpack_from("<Q", head, 56)
        self._set(capacity, grain, covers)
        if length:
            if length * _SECTOR > _LONGEST_TEXT:
                raise member.damage(f"its text has {length * _SECTOR:,} bytes")
            self.text = _text(member, member.read(text * _SECTOR, length * _SECTOR))
        return directory, self._entries

    def _set(self, capacity: int, grain: int, covers: int) -> None:
        """Take the size of the disk and of a grain, in sectors, and the grains of a table."""
        member = self._member
        self.size, self._unit, self._covers = capacity * _SECTOR, grain * _SECTOR, covers
        check_size("VMDK", member, self.size)
        check_unit(member, "a grain", self._unit, _SECTOR)
        if not 0 < covers <= _MOST_ENTRIES:
            raise member.damage(f"a table has {covers:,} grains: 1 to {_MOST_ENTRIES:,} are possible")
        self._entries = -(-capacity // (grain * covers))

    def _table(self, entry: int) -> int:
        """Where the table of an entry of the directory lies; 0 without one."""
        if self._width == 4:
            return entry * _SECTOR
        if entry >> 32 != 0x10000000:
            return 0
        return (self._tables + (entry & 0xFFFFFFFF) * (self._covers * 8 // _SECTOR)) * _SECTOR

    def at(self, offset: int) -> Run:
        """See `Layer`."""
        grain, inside = divmod(offset, self._unit)
        first, second = divmod(grain, self._covers)
        table = self._directory[first]
        if not table:
            return Run((self._covers - second) * self._unit - inside, below=True)
        here = self._member.number(table + second * self._width, self._width)
        left = self._unit - inside
        if self._width == 8:
            here = self._se_grain(here)
        if here < 2:
            return Run(left, below=not here)
        place = here * _SECTOR
        if not self._flags & _COMPRESSED:
            return Run(left, self._member, place + inside)
        head = 12 if self._flags & _MARKED else 4
        stored = int.from_bytes(self._member.read(place + head - 4, 4), "little")
        if stored > self._unit + (self._unit >> 3) + 64:
            raise self._member.damage(f"a packed grain has {stored:,} bytes")
        return Run(left, self._member, place + head, Packed(stored, self._unit, inside, _unpack))

    def _se_grain(self, entry: int) -> int:
        """What an entry of SESPARSE is in one of the others: 0 absent, 1 zeros, else a sector."""
        kind = entry >> 60
        if kind == 3:
            number = (entry >> 48 & 0xFFF) | (entry & 0xFFFFFFFFFFFF) << 12
            return self._first + number * (self._unit // _SECTOR)
        if kind > 3:
            raise self._member.damage("a grain of an unknown type")
        return int(kind == 2)
