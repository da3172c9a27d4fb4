# SPDX-License-Identifier: AGPL-3.0-or-later
"""`Layer`: what an image file says of each place of its disk, and the layers of a chain of such files.

The rule kept here: a layer answers for one place at a time, from tables that it reads then. So nothing is
allocated by what a header claims, and what is not allocated costs nothing.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeAlias

from msmq_dissect.images.members import Member, Order
from msmq_wire.units import size_text

__all__ = [
    "LARGEST_DISK", "LARGEST_UNIT", "Flat", "Joined", "Layer", "OpenParent", "Packed", "Run",
    "check_apart", "check_size", "check_unit", "equal_bits", "inflated", "layer_at",
]  # fmt: skip

LARGEST_UNIT = 16 << 20
"""Bytes that are unpacked at once: the largest chunk of EWF, and more than other formats use."""
LARGEST_DISK = {"VHD": 2040 << 30, "VHDX": 64 << 40, "VMDK": 64 << 40}
"""What a format allows by its documents. A disk of another one ends where its tables do."""
_ANY = 1 << 60
_BITMAP = 1 << 12
"""Bytes of a bitmap that are looked at together."""


class Packed(NamedTuple):
    """A compressed unit: bytes ``stored``, bytes unpacked at most, and where in these a run begins."""

    stored: int
    size: int
    inside: int
    unpack: Callable[[bytes, int], bytes]


class Run(NamedTuple):
    """What lies at a place, ``span`` bytes long: bytes of a file at ``place``, or ``below``, or zeros."""

    span: int
    member: Member | None = None
    place: int = 0
    packed: Packed | None = None
    below: bool = False


class Layer(Protocol):
    """One image file, with the layer that it changes, if there is one."""

    size: int
    below: Layer | None

    def at(self, offset: int) -> Run:
        """What lies at an offset of the disk."""


OpenParent: TypeAlias = Callable[[str], Layer]
"""Opens the parent that an image names."""


class Flat:
    """Bytes of a file as they are."""

    below: Layer | None = None

    def __init__(self, member: Member, size: int | None = None, start: int = 0) -> None:
        self.size = member.size - start if size is None else size
        if not 0 <= start <= start + self.size <= member.size:
            raise member.damage("its end is not there")
        self._member = member
        self._start = start

    def at(self, offset: int) -> Run:
        """See `Layer`."""
        return Run(self.size - offset, self._member, self._start + offset)


class Joined:
    """Layers one behind the other, each with its length; None stands for zeros."""

    def __init__(self, parts: Sequence[tuple[Layer | None, int]], below: Layer | None = None) -> None:
        self.below = below
        self._layers = [layer for layer, _ in parts]
        self._ends: list[int] = []
        self.size = 0
        for _, length in parts:
            self.size += length
            self._ends.append(self.size)

    def at(self, offset: int) -> Run:
        """See `Layer`."""
        part = bisect_right(self._ends, offset)
        start = self._ends[part - 1] if part else 0
        layer = self._layers[part]
        left = self._ends[part] - offset
        if layer is None:
            return Run(left)
        run = layer.at(offset - start)
        return run._replace(span=min(run.span, left))


def layer_at(layer: Layer, offset: int) -> Run:
    """What lies at an offset of a chain of layers. A disk is larger than one below it: the rest is zeros."""
    span = layer.size - offset
    found: Layer | None = layer
    while found is not None and offset < found.size:
        run = found.at(offset)
        span = min(span, run.span, found.size - offset)
        if not run.below:
            return run._replace(span=span)
        found = found.below
    return Run(span)


def inflated(bits: int) -> Callable[[bytes, int], bytes]:
    """Unpacks deflate, with the window that ``bits`` says, to no more than so many bytes."""
    return lambda data, most: zlib.decompressobj(bits).decompress(data, most)


def equal_bits(member: Member, bitmap: int, bit: int, most: int, order: Order) -> tuple[bool, int]:
    """A bit of a bitmap in a file, and how many in a row have its value: at least 1, ``most`` at most."""
    first, skip = divmod(bit, 8)
    length = min((skip + most + 7) // 8, _BITMAP)
    data = int.from_bytes(member.table(bitmap + first, length), order)
    size = 8 * length
    if order == "big":
        # Bit 0 is the highest one.
        data = int(f"{data:0{size}b}"[::-1], 2)
    data >>= skip
    value = bool(data & 1)
    other = ~data if value else data
    count = (other & -other).bit_length() - 1 if other else size
    return value, max(1, min(count, most, size - skip))


def check_size(format_: str, member: Member, size: int) -> None:
    """Refuse a disk that no such image can hold."""
    most = LARGEST_DISK.get(format_, _ANY)
    if not 0 <= size <= most:
        raise member.damage(f"its disk has {size_text(size)}: {format_} allows {size_text(most)}")


def check_unit(member: Member, what: str, size: int, least: int, most: int = LARGEST_UNIT) -> None:
    """Refuse a unit of bytes that is no power of two, or outside of bounds."""
    if not least <= size <= most or size & (size - 1):
        raise member.damage(
            f"{what} has {size_text(size)}: {size_text(least)} to {size_text(most)} are possible"
        )


def check_apart(member: Member, places: Sequence[int], size: int) -> None:
    """Refuse tables that lie over each other: few bytes would be walked again and again."""
    known = sorted(places)
    if any(second - first < size for first, second in pairwise(known)):
        raise member.damage("its tables lie over each other")
