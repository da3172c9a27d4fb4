# SPDX-License-Identifier: AGPL-3.0-or-later
"""`open_container`: the disk in an image of EWF, VMDK, QCOW2, VHDX, VHD or VDI, as one file to read.

The rules kept here:

* What an image lacks is an error, never fewer bytes or zeros. Nothing is written.
* Only regular files in the folder of the image are opened (`Members`).
* An image is bounded by its own bytes: however its tables lead, a pass over its disk reads each byte of its
  files about once, and unpacks at most `_RATIO` times as many.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from typing import Any

from msmq_dissect.images.ewf import SIGNATURES, EwfLayer
from msmq_dissect.images.layer import Flat, Layer, Packed, Run, layer_at
from msmq_dissect.images.members import Member, Members, cut
from msmq_dissect.images.qcow2 import MAGIC as QCOW2_MAGIC
from msmq_dissect.images.qcow2 import Qcow2Layer
from msmq_dissect.images.vdi import MAGIC as VDI_MAGIC
from msmq_dissect.images.vdi import MAGIC_AT as VDI_MAGIC_AT
from msmq_dissect.images.vdi import VdiLayer
from msmq_dissect.images.vhd import footer_of, vhd_layer
from msmq_dissect.images.vhdx import MAGIC as VHDX_MAGIC
from msmq_dissect.images.vhdx import VhdxLayer
from msmq_dissect.images.vmdk import MAGICS as VMDK_MAGICS
from msmq_dissect.images.vmdk import vmdk_layer
from msmq_wire.errors import CaptureError

__all__ = ["Disk", "open_container"]

_DEEPEST = 32
"""Parents one below the other."""
_STRETCH = 64 << 20
"""Bytes of a longest stretch."""
_MOST_UNITS = 1 << 20
"""Compressed units that are looked at for repetition: of more the image is large itself."""
_RATIO = 2048
"""How many times more bytes an image may unpack to than it has: deflate reaches 1,032."""


def _is_repeated(units: dict[tuple[Member, int], int], member: Member, place: int, start: int) -> bool:
    """Whether a compressed unit stands at another place of the disk, too: no program writes that."""
    if len(units) >= _MOST_UNITS:
        return False
    return units.setdefault((member, place), start) != start


class Disk(io.RawIOBase):
    """The disk in an image: read-only, anywhere in it. Raises CaptureError where the image is damaged.

    ``files`` are the paths of the files that the image consists of, the image itself first.
    """

    def __init__(self, path: str, format_: str, layer: Layer, members: Members) -> None:
        super().__init__()
        self.name = path
        self.format = format_
        self.size = layer.size
        self._layer = layer
        self._members = members
        self._at = 0
        self._unpacked: tuple[Member, int, bytes] | None = None

    @property
    def files(self) -> list[str]:
        """See `Disk`."""
        return [one.path for one in self._members.all]

    def readable(self) -> bool:
        """See `io.IOBase`."""
        return True

    def seekable(self) -> bool:
        """See `io.IOBase`."""
        return True

    def tell(self) -> int:
        """See `io.IOBase`."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """See `io.IOBase`."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}.get(whence)
        if start is None or start + offset < 0:
            raise ValueError(f"cannot seek to {offset} from {whence}")
        self._at = start + offset
        return self._at

    def extents(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The stretches of the disk that have bytes in a file, in order; all other bytes are zeros.

        Raises CaptureError where the tables of the image lead to the same bytes again and again.
        """
        left = sum(one.size for one in self._members.all)
        units: dict[tuple[Member, int], int] = {}
        first = at = start
        while at < end:
            run = self._run(at)
            stop = min(at + run.span, end)
            if run.member is None:
                if first < at:
                    yield first, at
                first = stop
            elif run.packed is None or _is_repeated(units, run.member, run.place, at - run.packed.inside):
                left -= stop - at
            else:
                left -= (stop - at) // _RATIO
            if left < 0:
                raise self._damaged(CaptureError("its tables lead to the same bytes again and again"), at)
            at = stop
            if at - first >= _STRETCH:
                # Nobody waits until all tables are walked.
                yield first, at
                first = at
        if first < at:
            yield first, at

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer, up to the end of the disk."""
        view = memoryview(buffer).cast("B")
        wanted = max(0, min(len(view), self.size - self._at))
        done = 0
        while done < wanted:
            run = self._run(self._at)
            count = min(run.span, wanted - done)
            try:
                view[done : done + count] = self._bytes(run, count)
            except CaptureError as error:
                raise self._damaged(error, self._at) from error
            done += count
            self._at += count
        return wanted

    def close(self) -> None:
        """Close every file that the image is made of."""
        self._members.close()
        super().close()

    def _run(self, offset: int) -> Run:
        try:
            return layer_at(self._layer, offset)
        except CaptureError as error:
            raise self._damaged(error, offset) from error

    def _bytes(self, run: Run, count: int) -> bytes:
        if run.member is None:
            return bytes(count)
        if run.packed is None:
            return run.member.read(run.place, count)
        data = self._unit(run.member, run.place, run.packed)[run.packed.inside :][:count]
        if len(data) < count:
            raise run.member.damage("a compressed part is too short")
        return data

    def _unit(self, member: Member, place: int, packed: Packed) -> bytes:
        known = self._unpacked
        if known is None or known[:2] != (member, place):
            try:
                data = packed.unpack(member.read(place, packed.stored), packed.size)
            except zlib.error as error:
                raise member.damage(f"a compressed part cannot be unpacked: {error}") from error
            known = self._unpacked = (member, place, data)
        return known[2]

    def _damaged(self, error: CaptureError, offset: int) -> CaptureError:
        return CaptureError(
            f"{self.name}: the {self.format} image is damaged: {error.message}", offset=offset
        )


def open_container(path: str | os.PathLike[str]) -> Disk:
    """Open the disk in an image; ``offset`` of errors counts bytes of the disk.

    Files that an image names (further segments and extents, a disk below it) are opened, too, where they lie
    in its folder. Raises CaptureError, in one line, where there is no image of these formats, and for what is
    damaged or missing.
    """
    name = os.fspath(path)
    members: Members | None = None
    try:
        members = Members(name)
        format_, layer = _layer(members.first, members, ())
        if layer is None:
            raise CaptureError("it is no disk image of a format that is known")
    except (CaptureError, OSError, ValueError) as error:
        if members is not None:
            members.close()
        reported = getattr(error, "message", None) or getattr(error, "strerror", None) or str(error)
        raise CaptureError(f"cannot open {name}: {reported}") from error
    return Disk(name, format_, layer, members)


def _layer(member: Member, members: Members, above: tuple[Member, ...]) -> tuple[str, Layer | None]:
    """The format of a file and the disk in it, with all below; none where the format is not known."""
    if member in above:
        raise CaptureError(f"{cut(member.name)} is below itself: its parents are a circle")
    if len(above) > _DEEPEST:
        raise CaptureError(f"it has more than {_DEEPEST} parents, one below the other")

    def parent(hint: str) -> Layer:
        below = members.named(hint, "parent")
        found, layer = _layer(below, members, (*above, member))
        # Of these formats only QCOW2 has parents of any other.
        if found != format_ and format_ != "QCOW2":
            raise CaptureError(f"its parent {cut(hint)} is no {format_} image")
        return Flat(below) if layer is None else layer

    head = member.read(0, min(member.size, 72))
    format_ = "EWF"
    if head.startswith(SIGNATURES):
        return format_, EwfLayer(member, members)
    format_ = "QCOW2"
    if head.startswith(QCOW2_MAGIC):
        return format_, Qcow2Layer(member, members, parent)
    format_ = "VMDK"
    if head.startswith(VMDK_MAGICS):
        return format_, vmdk_layer(member, members, parent)
    format_ = "VHDX"
    if head.startswith(VHDX_MAGIC):
        return format_, VhdxLayer(member, parent)
    format_ = "VDI"
    if head[VDI_MAGIC_AT:].startswith(VDI_MAGIC):
        return format_, VdiLayer(member)
    format_ = "VHD"
    if footer_of(member) is not None:
        return format_, vhd_layer(member, parent)
    return "", None
