# SPDX-License-Identifier: AGPL-3.0-or-later
"""`open_container`: the disk in an image of EWF, VMDK, QCOW2, VHDX, VHD or VDI, as one file to read.

The rule kept here: what an image lacks is an error, never fewer bytes or zeros. Nothing is written.
"""

from __future__ import annotations

import io
import os
from pathlib import Path, PosixPath, WindowsPath
from typing import Any

from dissect.target import container  # type: ignore[import-untyped]  # it has no annotations

from msmq_dissect.reading import DAMAGE, reason_of
from msmq_wire.errors import CaptureError

__all__ = ["FORMATS", "open_container"]

FORMATS = {
    "ewf": "EWF", "qcow2": "QCOW2", "vdi": "VDI", "vhd": "VHD", "vhdx": "VHDX", "vmdk": "VMDK",
}  # fmt: skip
"""The names of formats by those that dissect gives its classes."""


class Disk(io.RawIOBase):
    """The disk in an image: read-only, anywhere in it. Raises CaptureError where the image is damaged."""

    def __init__(self, path: str, disk: Any, files: list[io.IOBase]) -> None:
        super().__init__()
        self.name = path
        self.size: int = disk.size
        self._disk = disk
        self._files = files
        self._at = 0

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

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer, up to the end of the disk."""
        view = memoryview(buffer).cast("B")
        wanted = max(0, min(len(view), self.size - self._at))
        if not wanted:
            return 0
        try:
            self._disk.seek(self._at)
            data = self._disk.read(wanted)
        except DAMAGE as error:
            raise self._damaged(reason_of(error), self._at) from error
        if len(data) != wanted:
            raise self._damaged("its end is not there", self._at + len(data))
        view[:wanted] = data
        self._at += wanted
        return wanted

    def close(self) -> None:
        """Close the image, and every file that it is made of."""
        for file in self._files:
            file.close()
        super().close()

    def _damaged(self, reason: str, offset: int) -> CaptureError:
        format_ = FORMATS[self._disk.__type__]
        return CaptureError(f"{self.name}: the {format_} image is damaged: {reason}", offset=offset)


def open_container(path: str | os.PathLike[str]) -> Disk:
    """Open the disk in an image; ``offset`` of errors counts bytes of the disk.

    Files that an image names (further segments and extents, a disk below it) are opened, too. Raises
    CaptureError, in one line, where there is no image of these formats, and for what is damaged or missing.
    """
    name = os.fspath(path)
    opened: list[io.IOBase] = []
    try:
        disk = container.open(_watched(opened)(name))
        found = getattr(disk, "__type__", "")
        if found not in FORMATS:
            raise CaptureError(f"{name} is no disk image of a format that is known")
        if found == "ewf":
            _check_segments(name, disk)
    except DAMAGE as error:
        _close(opened)
        raise CaptureError(f"cannot open {name}: {reason_of(error)}") from error
    except CaptureError:
        _close(opened)
        raise
    return Disk(name, disk, opened)


def _watched(opened: list[io.IOBase]) -> type[Path]:
    """A class of paths that notes the files opened by them: dissect leaves many of them open."""
    kind: type[Path] = PosixPath if os.name == "posix" else WindowsPath

    def open_(self: Path, *args: Any, **options: Any) -> Any:
        file = kind.open(self, *args, **options)
        # Of many segments dissect closes some again.
        opened[:] = [one for one in opened if not one.closed] + [file]
        return file

    return type(kind.__name__, (kind,), {"open": open_})


def _check_segments(name: str, disk: Any) -> None:
    """Refuse EWF of which a segment is missing between others: dissect puts the rest in its place."""
    for number in range(len(disk.ewf.fh)):
        try:
            said = disk.ewf.segment(number).ewfheader.segment_number
        except DAMAGE as error:
            told = reason_of(error)
            raise CaptureError(f"{name}: segment {number + 1} of the EWF image is damaged: {told}") from error
        if said != number + 1:
            raise CaptureError(f"{name}: segment {number + 1} of the EWF image is not there")


def _close(files: list[io.IOBase]) -> None:
    for file in files:
        file.close()
