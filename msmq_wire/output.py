"""Where results go: the one place of this package that opens a file to write it.

The rule kept here: what is there stays unless ``force`` is given, and a link is never written through. What
can be written whole is written beside and renamed; what streams is opened for one writer and written in
place, so that a process that is killed leaves what it had.

Pipes, terminals and ``/dev/null`` keep nothing, so both ways write them in place; ``/dev/stdout`` and
``/dev/fd/N`` are what this process was given, and no links of somebody else. Whatever is refused is a
`FileExistsError` whose ``strerror`` says why.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from io import FileIO
from typing import BinaryIO

_OWN = re.compile(r"/dev/(?:(stdout)|(stderr)|fd/([0-9]{1,9}))|/proc/self/fd/([0-9]{1,9})")
_NO_NAME = "has a NUL in its name"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

Path = str | os.PathLike[str]


def refusal(path: Path, *, force: bool = False, in_place: bool = False) -> str | None:
    """Why a path must not be written, as in "is there"; None where it may be, as far as that shows.

    With ``force`` a file may be there. One that is written ``in_place`` must have no second name then: what
    has that name would change, too.
    """
    if _own_descriptor(path) is not None:
        return None
    found = _found(path)
    if found is None:
        return _NO_NAME if "\0" in os.fspath(path) else None
    if stat.S_ISLNK(found.st_mode):
        return _about_link(path)
    if stat.S_ISDIR(found.st_mode):
        return "is a folder"
    if stat.S_ISBLK(found.st_mode):
        return "is a disk"
    if not stat.S_ISREG(found.st_mode):
        return None
    if not force:
        return "is there"
    return "has a second name, a hard link" if in_place and found.st_nlink > 1 else None


def folder_refusal(path: Path) -> str | None:
    """Why files must not be written into a folder, made or not: it is a link. None where they may be."""
    # With a stroke behind it a link is what it leads to.
    bare = _bare(os.fspath(path))
    found = _found(bare)
    if found is None:
        return _NO_NAME if "\0" in bare else None
    return _about_link(bare) if stat.S_ISLNK(found.st_mode) else None


def _bare(path: str) -> str:
    """A path without the strokes behind it, and the dots behind these."""
    end = len(path)
    while end > 1 and (path[end - 1] == "/" or path[end - 2 : end] == "/."):
        end -= 1
    return path[:end]


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there. Raises OSError."""
    reason = folder_refusal(path)
    if reason is not None:
        raise _refused(path, reason)
    os.makedirs(path, exist_ok=True)


def open_stream(path: Path, *, force: bool = False) -> FileIO:
    """Open a file that is written in place and unbuffered; with ``force`` what is there is emptied.

    Raises OSError, also (`BlockingIOError`) where somebody writes to the file that is there.
    """
    descriptor = _opened(path, force=force, in_place=True)
    file = FileIO(descriptor, "w")
    if _own_descriptor(path) is None and stat.S_ISREG(os.fstat(descriptor).st_mode):
        try:
            _lock(descriptor)
            file.truncate(0)
        except OSError:
            file.close()
            raise
    return file


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """A file that is there when the block is left without an error, and until then is as it was.

    It can be read and sought in; what keeps nothing is written in place and cannot. Raises OSError.
    """
    if _own_descriptor(path) is not None or _keeps_nothing(path):
        with os.fdopen(_opened(path, force=force, in_place=False), "wb") as file:
            yield file
        return
    reason = refusal(path, force=force)
    if reason is not None:
        raise _refused(path, reason)
    path = os.fspath(path)
    beside = os.path.join(os.path.dirname(path), f".msmq-wire-{os.urandom(8).hex()}.tmp")
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
        _rename(beside, path, force=force)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)


def _opened(path: Path, *, force: bool, in_place: bool) -> int:
    """A descriptor for what may be written in place."""
    own = _own_descriptor(path)
    if own is not None:
        return os.dup(own)
    reason = refusal(path, force=force, in_place=in_place)
    if reason is not None:
        raise _refused(path, reason)
    before = _found(path)
    if before is None:
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666)
        except FileExistsError:
            raise _refused(path, "is there now") from None
    descriptor = os.open(path, os.O_WRONLY | _NO_LINK)
    if not os.path.samestat(before, os.fstat(descriptor)):
        os.close(descriptor)
        raise _refused(path, "was another file a moment ago")
    return descriptor


def _rename(beside: str, path: str, *, force: bool) -> None:
    """Give a file its name; without ``force`` only if nothing has that name by now."""
    if not force:
        try:
            # Unlike a rename this fails where there is a file or a link.
            os.link(beside, path)
            return
        except FileExistsError:
            raise _refused(path, "is there now") from None
        except OSError:
            # Not every file system has hard links.
            if os.path.lexists(path):
                raise _refused(path, "is there now") from None
    else:
        with contextlib.suppress(FileNotFoundError):
            os.chmod(beside, stat.S_IMODE(os.lstat(path).st_mode))
    os.replace(beside, path)


def _lock(descriptor: int) -> None:
    """Lock a file for one writer; raises `BlockingIOError` where there is another."""
    try:
        import fcntl
    except ImportError:
        # Not a POSIX system: files cannot be locked this way.
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BlockingIOError(error.errno, "somebody else writes it now") from None
    except OSError:
        # Not every file system has locks.
        pass


def _own_descriptor(path: Path) -> int | None:
    """The number of a descriptor of this process that a path stands for."""
    match = _OWN.fullmatch(os.fspath(path))
    if match is None:
        return None
    return 1 if match[1] else 2 if match[2] else int(match[3] or match[4])


def _found(path: Path) -> os.stat_result | None:
    """What is there, a link itself; None where that cannot be known: then opening it says why."""
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _keeps_nothing(path: Path) -> bool:
    found = _found(path)
    return found is not None and (stat.S_ISFIFO(found.st_mode) or stat.S_ISCHR(found.st_mode))


def _about_link(path: Path) -> str:
    try:
        return f"is a link to {os.readlink(path)}, and no link is followed"
    except OSError:
        return "is a link, and no link is followed"


def _refused(path: Path, reason: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"it {reason}", os.fspath(path))
