"""Which files are read, and which of them are one capture.

The rule kept here: what is named is read or gives an error row; what is left out of a folder is counted.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError, MsmqWireError

__all__ = [
    "Capture",
    "CaptureFile",
    "Listing",
    "Scope",
    "captures_of",
    "folder_of",
    "has_changed",
    "legible",
    "list_files",
    "refuse_url",
]

Scope: TypeAlias = Literal["file", "group"]

_CAPTURE_NAME = re.compile(r"\.(?:pcap|pcapng|cap|dmp)[0-9]*(?:\.(?:gz|zst))?\Z", re.IGNORECASE)
"""Names that are taken for captures in a folder: those of tcpdump -C, which end in a number, too."""
_HIDDEN = (".", "_")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class CaptureFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file when it was listed: bytes, time of its last change (ns), why it cannot be read if that is known.

    ``first_time`` is the time of its first frame (ns since 1970), None without one.
    """

    path: str
    size: int
    mtime_ns: int
    first_time: int | None = None
    error: str | None = None


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The files that were found, by path, and how many others were in their folders."""

    files: tuple[CaptureFile, ...]
    left_out: int


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """Files that are one capture, in the order of their first frames.

    ``name`` is the path of the file (scope ``file``) or of the folder (scope ``group``).
    """

    name: str
    files: tuple[CaptureFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def list_files(paths: Iterable[str], *, pattern: str | None = None, recursive: bool = False) -> Listing:
    """Find the files that ``paths`` name: files, folders, and globs of both.

    Of a folder those are taken whose name matches the glob ``pattern``, without one those that end like a
    capture (``.pcap``, ``.pcapng``, ``.cap``, ``.dmp``, with a number or ``.gz`` or ``.zst`` behind it); of
    its folders none, unless ``recursive``. Names that start with ``.`` or ``_`` are left out. A file that is
    named itself is taken whatever its name is. What is not there has an ``error``, and so has a file whose
    name is no text: no table could hold it.
    """
    found: dict[str, CaptureFile] = {}
    left_out = 0
    for path in paths:
        named = [path]
        if not os.path.lexists(path) and glob.has_magic(path):
            named = sorted(glob.glob(path, recursive=recursive)) or [path]
        for one in named:
            if not os.path.isdir(one):
                found.setdefault(one, _file(one))
                continue
            for inside, taken in _inside(one, pattern, recursive):
                if taken:
                    found.setdefault(inside, _file(inside))
                else:
                    left_out += 1
    # Two names may be written alike.
    named_alike = {found[path].path: found[path] for path in sorted(found)}
    return Listing(files=tuple(named_alike.values()), left_out=left_out)


def _inside(folder: str, pattern: str | None, recursive: bool) -> Iterator[tuple[str, bool]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield folder, True
        return
    for entry in entries:
        hidden = entry.name.startswith(_HIDDEN)
        if entry.is_dir(follow_symlinks=False):
            if recursive and not hidden:
                yield from _inside(entry.path, pattern, recursive)
        elif not hidden:
            if pattern is None:
                yield entry.path, _CAPTURE_NAME.search(entry.name) is not None
            else:
                yield entry.path, fnmatch.fnmatchcase(entry.name, pattern)


def legible(text: str) -> str:
    """A text that can be written: names of files need not be one."""
    return text.encode("utf-8", "backslashreplace").decode()


def folder_of(path: str) -> str:
    """The absolute path of a folder that is written to: a capture must have one place, wherever a run or a
    task has its working folder.

    Raises MsmqWireError for a name that is no text, and as `refuse_url`.
    """
    if path != legible(path):
        raise MsmqWireError(f"cannot write {legible(path)}: its name is not UTF-8")
    if path.startswith("file:///"):
        path = path.removeprefix("file://")
    refuse_url(path)
    return os.path.abspath(path)


def refuse_url(path: str) -> None:
    """Raise MsmqWireError where a folder to write to is a URL: a folder ``s3a:`` would be made here."""
    if _URL.match(path):
        raise MsmqWireError(f"cannot write {path}: a mounted folder is needed, and this is a URL")


def _file(path: str) -> CaptureFile:
    name = legible(path)
    if name != path:
        with contextlib.suppress(OSError, ValueError):
            changed = os.lstat(path).st_mtime_ns
            error_text = f"cannot open {name}: its name is not UTF-8"
            return CaptureFile(path=name, size=0, mtime_ns=changed, error=error_text)
    try:
        found = os.stat(path)
        # Opening a pipe would wait for somebody to write to it.
        reason = None if stat.S_ISREG(found.st_mode) else "it is no file"
        if reason is None:
            with open(path, "rb"):
                pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return CaptureFile(path=name, size=0, mtime_ns=0, error=f"cannot open {name}: {reason}")
    if reason is not None:
        return CaptureFile(path=name, size=0, mtime_ns=0, error=f"cannot open {name}: {reason}")
    return CaptureFile(path=path, size=found.st_size, mtime_ns=found.st_mtime_ns)


def has_changed(file: CaptureFile) -> bool:
    """Whether a file is not as it was when it was listed."""
    now = _file(file.path)
    return (now.size, now.mtime_ns, now.error) != (file.size, file.mtime_ns, file.error)


def captures_of(files: Sequence[CaptureFile], scope: Scope) -> list[Capture]:
    """Put files together: every file is a capture (``file``), or all files of a folder are one (``group``).

    The files of a folder that belong together must be known with the times of their first frames, so with
    ``group`` each is opened.
    """
    if scope == "file":
        return [Capture(name=file.path, files=(file,)) for file in files]
    folders: dict[str, list[CaptureFile]] = {}
    for file in files:
        folders.setdefault(os.path.dirname(file.path) or ".", []).append(_dated(file))
    return [
        Capture(name=name, files=tuple(sorted(inside, key=lambda one: (one.first_time or 0, one.path))))
        for name, inside in folders.items()
    ]


def _dated(file: CaptureFile) -> CaptureFile:
    if file.error is not None:
        return file
    try:
        # As a Path, because the text "-" would be standard input.
        first = next(read_frames(Path(file.path)), None)
    except CaptureError:
        # What is wrong with it, and where, is said when it is read.
        return file
    return file if first is None else msgspec.structs.replace(file, first_time=first.time)
