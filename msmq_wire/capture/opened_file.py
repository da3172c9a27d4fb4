"""Opens capture files that are read in parts: local ones, or others through an opener.

The rule kept here: an open file says how large and how old it is now, so that nobody takes parts of two files
for one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from io import FileIO
from types import TracebackType
from typing import Protocol, TypeAlias

from msmq_wire.errors import CaptureError


class OpenedFile(Protocol):
    """An open binary file that is read anywhere in it. What fails raises OSError."""

    @property
    def name(self) -> object:
        """What errors call it."""

    def read(self, size: int = -1, /) -> bytes:
        """Read up to so many bytes, all that are left without a number."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Read once into ``buffer``; return how many bytes, 0 only at the end."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a place; return it."""

    def tell(self) -> int:
        """Return the place."""

    def seekable(self) -> bool:
        """Whether `seek` works."""

    def close(self) -> None:
        """Close it."""

    def status(self) -> tuple[int, int]:
        """Bytes, and time of the last change (ns since 1970), as they are now."""

    def __enter__(self) -> OpenedFile: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


Opener: TypeAlias = Callable[[str], OpenedFile]
"""Opens the file that a name stands for, or raises OSError or ValueError."""


class LocalFile(FileIO):
    """A file of this machine."""

    def status(self) -> tuple[int, int]:
        """See `OpenedFile`."""
        found = os.fstat(self.fileno())
        return found.st_size, found.st_mtime_ns


def open_local(path: str) -> OpenedFile:
    """Open a file of this machine; a pipe is refused, because it would wait for somebody to write to it."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    return LocalFile(path)


def opened(path: str, opener: Opener) -> OpenedFile:
    """Open a file. Raises `CaptureError` where it cannot be opened."""
    try:
        return opener(path)
    except (OSError, ValueError) as error:
        raise CaptureError(f"cannot open {path}: {reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """What the system says of an error, without its number: one line."""
    return (getattr(error, "strerror", None) or str(error)).partition("\n")[0]
