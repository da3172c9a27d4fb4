"""Which files are read, and which of them are one capture.

The rule kept here: what is named is read or gives an error row; what is left out of a folder is counted.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import glob
import os
import re
import stat
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from msmq_wire.capture.opened_file import OpenedFile, opened, reason_of
from msmq_wire.capture.places import Place, input_path, is_there
from msmq_wire.capture.rings import rings
from msmq_wire.capture.source import Source
from msmq_wire.capture.vantage.points import SharedTraffic
from msmq_wire.capture.vantage.points_capture import points_name
from msmq_wire.capture.vantage.shared_traffic import shared_rings
from msmq_wire.errors import CaptureError
from msmq_wire.records.joined_capture import joined_name

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo  # type: ignore[import-untyped]  # it has no stubs

Scope: TypeAlias = Literal["ring", "places", "file", "group"]

_CAPTURE_NAME = re.compile(r"\.(?:pcap|pcapng|cap|dmp)[0-9]*(?:\.(?:gz|bz2|xz|zst))?\Z", re.IGNORECASE)
"""Names that are taken for captures in a folder: those of tcpdump -C, which end in a number, too."""
_HIDDEN = (".", "_")
_LISTERS = 16
"""Folders that are listed at once; each waits for its answer most of the time."""


class CaptureFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file when it was listed: bytes, time of its last change (ns), why it cannot be read if that is known.

    ``first_time`` is the time of its first frame (ns since 1970), None without one.
    """

    path: str
    size: int
    mtime_ns: int
    first_time: int | None = None
    error: str | None = None


_Found: TypeAlias = tuple[str, CaptureFile | None]
"""A name, and the file of that name; None for a folder."""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The files that were found, by path, and how many others were in their folders."""

    files: tuple[CaptureFile, ...]
    left_out: int


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """Files that are one capture, in the order of their first frames.

    ``name`` is the path of the file, of a ring or of vantage points what the command line calls it, or the
    path of the folder (scope ``group``). ``in_turn`` says that the files are read one after the other, as
    those of a ring are; others may overlap in time. ``shared`` says which vantage points the files are.
    """

    name: str
    files: tuple[CaptureFile, ...]
    in_turn: bool = False
    shared: SharedTraffic | None = None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def is_capture_name(path: str) -> bool:
    """Whether a file is called as captures are."""
    return _CAPTURE_NAME.search(path) is not None


def list_files(paths: Iterable[str], *, pattern: str | None = None, recursive: bool = False) -> Listing:
    """Find the files that ``paths`` name: files, folders, and globs of both; URLs of `place_of`, too.

    Of a folder those are taken whose name matches the glob ``pattern``, without one those that end like a
    capture (``.pcap``, ``.pcapng``, ``.cap``, ``.dmp``, with a number or ``.gz`` and its like behind it); of
    its folders none, unless ``recursive``. Names that start with ``.`` or ``_`` are left out. A file that is
    named itself is taken whatever its name is. What is not there has an ``error``, and so has a file whose
    name is no text: no table could hold it. No file is opened. Raises MsmqWireError for other URLs.
    """
    found: dict[str, CaptureFile] = {}
    left_out = 0
    with ThreadPoolExecutor(_LISTERS) as pool:
        named = [one for path in paths for one in _named(input_path(path), recursive, pool)]
        while named:
            folders = [path for path, file in named if file is None]
            for path, file in named:
                if file is not None:
                    found.setdefault(path, file)
            named = []
            for inside, others in pool.map(partial(_inside, pattern=pattern), folders):
                named += [one for one in inside if recursive or one[1] is not None]
                left_out += others
    # Two names may be written alike.
    named_alike = {found[path].path: found[path] for path in sorted(found)}
    return Listing(files=tuple(named_alike.values()), left_out=left_out)


def _named(path: str, recursive: bool, pool: ThreadPoolExecutor) -> list[_Found]:
    """What a path names: itself, unless it is a glob and nothing is called that."""
    place = Place(path)
    if not glob.has_magic(path) or not place.is_local:
        found = _looked_at(path)
        if found is None or found.error is None or not glob.has_magic(path):
            return [(path, found)]
        try:
            matches = place.glob(recursive=recursive, each=pool.map)
        except OSError:
            # It is not there, as the look at it said.
            matches = []
        return [_listed(place, info) for info in matches] or [(path, found)]
    matches = [] if os.path.lexists(path) else sorted(glob.glob(path, recursive=recursive))
    return [(one, _looked_at(one)) for one in matches or [path]]


def _inside(folder: str, pattern: str | None) -> tuple[list[_Found], int]:
    """What a folder has: the folders in it, the files that are taken, and how many are not."""
    place = Place(folder)
    known: dict[str, CaptureFile | None] = {}
    try:
        if place.is_local:
            with os.scandir(folder) as entries:
                inside = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
        else:
            known = dict(_listed(place, info) for info in place.list())
            inside = [(path, file is None) for path, file in known.items()]
    except OSError as error:
        reason = "it is no file" if place.is_local else reason_of(error)
        return [(folder, _unread(legible(folder), reason))], 0
    found: list[_Found] = []
    left_out = 0
    for path, is_folder in inside:
        name = path.rpartition("/")[2]
        if name.startswith(_HIDDEN):
            continue
        if is_folder:
            found.append((path, None))
        elif _CAPTURE_NAME.search(name) if pattern is None else fnmatch.fnmatchcase(name, pattern):
            found.append((path, known.get(path) or _file(path)))
        else:
            left_out += 1
    return found, left_out


def _listed(place: Place, info: FileInfo) -> _Found:
    """What a listing of an object store says of a file or folder."""
    path = place.within(info).url
    if info.size is None:
        return path, None
    return path, CaptureFile(path=path, size=info.size, mtime_ns=place.changed_ns(info))


def _looked_at(path: str) -> CaptureFile | None:
    """A file as it is now; None for a folder."""
    place = Place(path)
    if place.is_local:
        return None if os.path.isdir(path) else _file(path)
    try:
        info = place.info()
    except OSError as error:
        return _unread(path, reason_of(error))
    if not is_there(info):
        return _unread(path, os.strerror(errno.ENOENT))
    return _listed(place, info)[1]


def open_file(path: str) -> OpenedFile:
    """Open a file that `list_files` found, to be read in parts: an opener of `msmq_wire.capture.splits`."""
    return Place(path).open_ranges()


def open_source(path: str) -> Source:
    """Open a file that `list_files` found, to be read from its start. Raises `CaptureError`."""
    return Source(opened(path, open_file), owned=True)


def legible(text: str) -> str:
    """A text that can be written: names of files need not be one."""
    return text.encode("utf-8", "backslashreplace").decode()


def _file(path: str) -> CaptureFile:
    """A file of this machine as it is now; it is not opened."""
    name = legible(path)
    if name != path:
        with contextlib.suppress(OSError, ValueError):
            changed = os.lstat(path).st_mtime_ns
            return msgspec.structs.replace(_unread(name, "its name is not UTF-8"), mtime_ns=changed)
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        return _unread(name, reason_of(error))
    # Opening a pipe would wait for somebody to write to it.
    if not stat.S_ISREG(found.st_mode):
        return _unread(name, "it is no file")
    return CaptureFile(path=path, size=found.st_size, mtime_ns=found.st_mtime_ns)


def _unread(path: str, reason: str) -> CaptureFile:
    return CaptureFile(path=path, size=0, mtime_ns=0, error=f"cannot open {path}: {reason}")


def has_changed(file: CaptureFile) -> bool:
    """Whether a file is not as it was when it was listed."""
    now = _looked_at(file.path)
    return now is None or (now.size, now.mtime_ns, now.error) != (file.size, file.mtime_ns, file.error)


def captures_of(files: Sequence[CaptureFile], scope: Scope) -> list[Capture]:
    """Put files together: those that follow each other in time (``ring``), beside these those that recorded
    the same traffic at several places (``places``), none (``file``), or all files of a folder (``group``).

    The times of files must be known: with ``ring`` those are opened whose names differ in nothing but digits,
    with ``group`` all; with ``places`` those are read whose times may touch.
    """
    if scope == "file":
        return [Capture(name=file.path, files=(file,)) for file in files]
    if scope == "ring":
        return _rings(files)
    if scope == "places":
        return _places(files)
    folders: dict[str, list[CaptureFile]] = {}
    with ThreadPoolExecutor(_LISTERS) as pool:
        for file in pool.map(_dated, files):
            folders.setdefault(os.path.dirname(file.path) or ".", []).append(file)
    return [
        Capture(name=name, files=tuple(sorted(inside, key=lambda one: (one.first_time or 0, one.path))))
        for name, inside in folders.items()
    ]


def _rings(files: Sequence[CaptureFile]) -> list[Capture]:
    known = {file.path: file for file in files}
    with ThreadPoolExecutor(_LISTERS) as pool:
        found = rings(list(known), opener=open_file, each=pool.map)
    return [
        Capture(name=joined_name(ring), files=tuple(known[path] for path in ring), in_turn=len(ring) > 1)
        for ring in found
    ]


def _places(files: Sequence[CaptureFile]) -> list[Capture]:
    known = {file.path: file for file in files}
    captures = {tuple(file.path for file in one.files): one for one in _rings(files)}
    # Opening what is no file may wait for ever.
    closed = {one for one in captures if any(known[path].error is not None for path in one)}
    found = [captures[one] for one in captures if one in closed]
    readable = [one for one in captures if one not in closed]
    for one in shared_rings(readable, list(known), opener=open_file):
        if isinstance(one, SharedTraffic):
            own = tuple(known[path] for point in one.points for path in point.files)
            found.append(Capture(name=points_name(one), files=own, shared=one))
        else:
            found.append(captures.get(one) or Capture(name=one[0], files=(known[one[0]],)))
    return found


def _dated(file: CaptureFile) -> CaptureFile:
    if file.error is not None:
        return file
    try:
        with open_source(file.path) as source:
            first = next(source.frames(), None)
    except CaptureError:
        # What is wrong with it, and where, is said when it is read.
        return file
    return file if first is None else msgspec.structs.replace(file, first_time=first.time)
