# SPDX-License-Identifier: AGPL-3.0-or-later
"""`Members`: the files of one image, all of them regular files in the folder of the image.

The rule kept here: an image names files by text from hostile hands. Only the last part of a name counts, and
it is looked up in the folder of the image. Nothing else is touched: on Windows a look at a path on another
host already sends credentials to that host.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from array import array
from collections import OrderedDict
from functools import lru_cache
from threading import Lock
from typing import Literal, TypeAlias

from msmq_wire.errors import CaptureError

__all__ = ["Member", "Members", "Order", "cut"]

Order: TypeAlias = Literal["little", "big"]
"""The order of the bytes of a number."""
_LINKS = 8
"""Links that are followed to a file, one after the other."""
_OPEN = 64
"""Files that are open at the same time."""
_WINDOW = 1 << 16
"""Bytes of a table that are read at once."""
_WINDOWS = 128
_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK")
)
_SHOWN = 48


def cut(text: str, most: int = _SHOWN) -> str:
    """The end of a text from an image, quoted, in printable ASCII: names are told apart by their ends."""
    end = text if len(text) <= most else f"...{text[-most:]}"
    return ascii(end)


class Member:
    """One file of an image: ``name``, ``path``, ``size``. What it cannot read in full raises CaptureError."""

    def __init__(self, files: Members, path: str, status: os.stat_result, size: int) -> None:
        self.name = os.path.basename(path)
        self.path = path
        self.size = size
        self.status = status
        self._files = files

    def damage(self, reason: str) -> CaptureError:
        """The error for wrong bytes in this file."""
        return CaptureError(reason if self is self._files.first else f"in {cut(self.name)} {reason}")

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes that must be there."""
        if not 0 <= offset <= offset + length <= self.size:
            raise self.damage("its end is not there")
        data = self._files.read(self, offset, length)
        if len(data) != length:
            raise self.damage("it became shorter")
        return data

    def table(self, offset: int, length: int) -> bytes:
        """Read a part of a table; what lies near it is kept."""
        number, start = divmod(offset, _WINDOW)
        if start + length > _WINDOW or not 0 <= offset <= offset + length <= self.size:
            return self.read(offset, length)
        return self._files.window(self, number)[start : start + length]

    def number(self, offset: int, length: int, order: Order = "little") -> int:
        """Read a number of a table."""
        return int.from_bytes(self.table(offset, length), order)

    def numbers(self, offset: int, count: int, form: str, order: Order = "little") -> array[int]:
        """Read a whole table of ``count`` numbers that lies in this file; ``form`` is that of `array`."""
        found: array[int] = array(form)
        if offset + count * found.itemsize > self.size:
            raise self.damage(f"a table of {count:,} entries is longer than the file")
        found.frombytes(self.read(offset, count * found.itemsize))
        if order != sys.byteorder:
            found.byteswap()
        return found


class Members:
    """The files of the image at ``path``, in the order in which they were found: ``all``."""

    def __init__(self, path: str) -> None:
        real = os.path.realpath(path)
        self.folder = os.path.dirname(real)
        self.all: list[Member] = []
        self._known: dict[tuple[int, int], Member] = {}
        self._handles: OrderedDict[str, io.FileIO] = OrderedDict()
        self._lock = Lock()
        self.window = lru_cache(_WINDOWS)(self._window)
        self.first = self._add(real, os.stat(real), block=True)

    def named(self, hint: str, role: str) -> Member:
        """The file that an image names as its ``role``. Raises CaptureError where it is not in the folder."""
        found = self.find(hint, role)
        if found is None:
            raise CaptureError(f"its {role} {cut(hint)} is not in the folder of the image")
        return found

    def find(self, hint: str, role: str) -> Member | None:
        """The file of that name in the folder, None where there is none. Raises CaptureError for no file."""
        name = hint.replace("\\", "/").replace(":", "/").rpartition("/")[2]
        if name.strip(". ") == "" or "\0" in name:
            raise CaptureError(f"its {role} {cut(hint)} is no name of a file")
        try:
            for _ in range(_LINKS):
                path = os.path.join(self.folder, name)
                status = os.lstat(path)
                if not stat.S_ISLNK(status.st_mode):
                    break
                target = os.path.normpath(os.path.join(self.folder, os.readlink(path)))
                if os.path.dirname(target) != self.folder:
                    raise CaptureError(f"its {role} {cut(hint)} is a link out of the folder of the image")
                name = os.path.basename(target)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise CaptureError(f"its {role} {cut(hint)} cannot be looked up: {_reported(error)}") from error
        known = self._known.get((status.st_dev, status.st_ino))
        return self._add(path, status, of=f"its {role} {cut(hint)}") if known is None else known

    def _add(self, path: str, status: os.stat_result, *, block: bool = False, of: str = "it") -> Member:
        # A pipe would wait for a writer, and a device may do anything: neither is opened.
        if not (stat.S_ISREG(status.st_mode) or (block and stat.S_ISBLK(status.st_mode))):
            raise CaptureError(f"{of} is no regular file")
        member = Member(self, path, status, status.st_size)
        try:
            with self._lock:
                member.size = self._opened(member).seek(0, os.SEEK_END)
        except OSError as error:
            raise CaptureError(f"{of} cannot be opened: {_reported(error)}") from error
        self.all.append(member)
        self._known[status.st_dev, status.st_ino] = member
        return member

    def read(self, member: Member, offset: int, length: int) -> bytes:
        """Read up to ``length`` bytes of a file: fewer at its end."""
        parts: list[bytes] = []
        try:
            with self._lock:
                file = self._opened(member)
                file.seek(offset)
                while length > 0 and (part := file.read(length)):
                    parts.append(part)
                    length -= len(part)
        except (OSError, ValueError) as error:
            raise CaptureError(f"cannot read {cut(member.name)}: {_reported(error)}") from error
        return b"".join(parts)

    def _window(self, member: Member, number: int) -> bytes:
        return self.read(member, number * _WINDOW, _WINDOW)

    def _opened(self, member: Member) -> io.FileIO:
        file = self._handles.get(member.path)
        if file is None:
            file = io.FileIO(os.open(member.path, _FLAGS))
            if not os.path.samestat(os.fstat(file.fileno()), member.status):
                file.close()
                raise OSError("another file lies there now")
            self._handles[member.path] = file
            if len(self._handles) > _OPEN:
                self._handles.popitem(last=False)[1].close()
        self._handles.move_to_end(member.path)
        return file

    def close(self) -> None:
        """Close every file."""
        with self._lock:
            for file in self._handles.values():
                file.close()
            self._handles.clear()


def _reported(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
