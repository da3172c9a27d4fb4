# SPDX-License-Identifier: AGPL-3.0-or-later
"""QCOW2: clusters, found by two levels of tables. After docs/interop/qcow2.txt of QEMU."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from msmq_dissect.images.layer import (
    Layer,
    OpenParent,
    Packed,
    Run,
    check_apart,
    check_size,
    check_unit,
    inflated,
)  # fmt: skip
from msmq_dissect.images.members import Member, Members
from msmq_wire.errors import CaptureError

__all__ = ["MAGIC", "Qcow2Layer"]

MAGIC = b"QFI\xfb"
_PLACE = 0x00FFFFFFFFFFFE00
_COPIED, _COMPRESSED, _ZERO = 1 << 63, 1 << 62, 1
_DATA_FILE, _SUBCLUSTERS, _KNOWN = 4, 16, 31
"""Bits of the features without which an image cannot be read."""
_DATA_FILE_NAME = 0x44415441
_LONGEST_NAME = 1023
_inflate = inflated(-12)


class Qcow2Layer:
    """The disk in a QCOW2 file."""

    def __init__(self, member: Member, files: Members, open_parent: OpenParent) -> None:
        head = member.read(0, 72)
        version, backing, backing_size, bits, size, crypt, l1_size, l1 = struct.unpack_from(
            ">4xIQIIQIIQ", head
        )
        if version not in (2, 3):
            raise member.damage(f"QCOW2 version {version} is not known")
        if crypt:
            raise CaptureError(f"{member.name} is encrypted")
        check_unit(member, "a cluster", 1 << min(bits, 63), 512, 2 << 20)
        check_size("QCOW2", member, size)
        features, length, self._zstd = 0, 72, False
        if version == 3:
            (features,) = struct.unpack(">Q", member.read(72, 8))
            (length,) = struct.unpack(">I", member.read(100, 4))
            self._zstd = length > 104 and member.read(104, 1) == b"\1"
        if features & ~_KNOWN:
            raise member.damage("it has features that are not known")
        self.size = size
        self._unit, self._member = 1 << bits, member
        self._parts = 32 if features & _SUBCLUSTERS else 1
        """Subclusters of a cluster."""
        self._width = 16 if self._parts > 1 else 8
        self._covers = self._unit // self._width
        """Clusters of a table of the second level."""
        self._data = member
        if features & _DATA_FILE:
            name = next((data for kind, data in self._extensions(length) if kind == _DATA_FILE_NAME), b"")
            self._data = files.named(name.decode("utf-8", "surrogateescape"), "data file")
        needed = -(-size // (self._unit * self._covers))
        if needed > l1_size:
            raise member.damage(f"its first table has {l1_size:,} entries, and its disk needs {needed:,}")
        self._l1 = member.numbers(l1, needed, "Q", "big")
        check_apart(member, [one & _PLACE for one in self._l1 if one & _PLACE], self._covers * self._width)
        self.below: Layer | None = None
        if backing:
            if backing_size > _LONGEST_NAME:
                raise member.damage(f"the name of its parent has {backing_size:,} bytes")
            self.below = open_parent(member.read(backing, backing_size).decode("utf-8", "surrogateescape"))

    def _extensions(self, offset: int) -> Iterator[tuple[int, bytes]]:
        while offset + 8 <= min(self._unit, self._member.size):
            kind, length = struct.unpack(">II", self._member.table(offset, 8))
            if not kind or length > self._unit - offset - 8:
                return
            yield kind, self._member.read(offset + 8, length)
            offset += 8 + length + -length % 8

    def at(self, offset: int) -> Run:
        """See `Layer`."""
        cluster, inside = divmod(offset, self._unit)
        first, second = divmod(cluster, self._covers)
        table = self._l1[first] & _PLACE
        if not table:
            return Run((self._covers - second) * self._unit - inside, below=True)
        entry = self._member.table(table + second * self._width, self._width)
        (here,) = struct.unpack_from(">Q", entry)
        left = self._unit - inside
        if here & _COMPRESSED:
            return Run(left, self._member, *self._packed(here, inside))
        place = here & _PLACE
        there = bool(place or (self._data is not self._member and here & _COPIED))
        zero = bool(here & _ZERO)
        if self._parts > 1:
            size = self._unit // self._parts
            part = inside // size
            bits = int.from_bytes(entry[8:], "big") >> part
            left = size - inside % size
            zero, there = bool(bits >> 32 & 1), there and bool(bits & 1)
        if zero:
            return Run(left)
        return Run(left, self._data, place + inside) if there else Run(left, below=True)

    def _packed(self, entry: int, inside: int) -> tuple[int, Packed]:
        shift = 62 - (self._unit.bit_length() - 9)
        place = entry & ((1 << shift) - 1)
        sectors = (entry >> shift & ((1 << 62 - shift) - 1)) + 1
        stored = max(0, min(sectors * 512 - place % 512, self._member.size - place))
        return place, Packed(stored, self._unit, inside, _unzstd if self._zstd else _inflate)


def _unzstd(data: bytes, most: int) -> bytes:
    try:
        from backports import zstd
    except ImportError as error:
        raise CaptureError("a QCOW2 image with zstd needs the package backports.zstd") from error
    try:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 27}).decompress(
            data, most
        )
    except zstd.ZstdError as error:
        raise CaptureError(f"a cluster cannot be unpacked: {error}") from error
