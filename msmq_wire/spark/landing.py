"""Captures that landed in folders: a log that says which content counts, in which order, once.

The rule kept here: an entry never changes once it is written, and a frame belongs to one entry. So what is
read of an entry is the same whenever it is read, or is said to be gone.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import secrets
import time
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from msmq_wire.capture.listing import CaptureFile, has_changed, list_files, open_file
from msmq_wire.capture.places import Place, local_folder
from msmq_wire.capture.splits import index_file
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.units import SECOND

T = TypeVar("T")

_FOLDER = ".msmq-wire-seen"
_EDGE = 1 << 20
"""Bytes at each end of a file that tell it from others, beside its size."""
_WHOLE = 1 << 60


class LandedFrames(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the log: the frames from ``after`` + 1 to ``frames`` of a file as it was when it landed.

    ``number`` counts from 1. ``capture`` names it: the path, and ``#`` with the number when an entry before
    it has that name. ``size`` is in bytes, ``mtime_ns`` since 1970. ``fingerprint`` stands for the content,
    empty when that could not be read. ``damage`` says why the file is not whole. With ``error`` it is no
    capture at all and there is nothing to read.
    """

    number: int
    capture: str
    path: str
    size: int
    mtime_ns: int
    fingerprint: str
    after: int = 0
    frames: int = 0
    damage: str | None = None
    error: str | None = None


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a log is about; ``log`` is a name that no other log has."""

    log: str
    paths: tuple[str, ...]
    glob: str | None
    recursive: bool


class _Check(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds."""

    fingerprint: str
    frames: int = 0
    damage: str | None = None
    error: str | None = None


class _Watch(msgspec.Struct, kw_only=True):
    """What is known of a file while size and time stay the same; ``done`` when that is in the log."""

    size: int
    mtime_ns: int
    check: _Check | None = None
    done: bool = False


class LandingLog:
    """The log of the captures that landed where ``options`` look, a folder with a small file for each.

    The folder is the option ``seen``, by default ``.msmq-wire-seen`` in the first folder that is read.
    Several queries over the same paths may share it, at the same time, too. It is made when it is first
    needed.

    A file is logged once it is ready: it has not changed for ``settle`` seconds (by its time of change, so
    one that is moved here with an old time is ready at once) and is whole. What is cut, damaged, no capture
    or cannot be opened becomes ready after ``patience`` seconds, so that its rows can say so. A time as far
    in the future counts, too.

    What counts is content: size and the first and last MiB. Content that is in the log is not logged again,
    under whatever name it comes. Other content under the same name is. A file that grew after it was logged
    gets an entry for the frames that were added: they are read like the next file of a rotation, so a
    connection that was open between is cut there, and no frame is read twice. For that it must keep its name.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self.folder = local_folder(options.seen or os.path.join(_first_folder(options.paths), _FOLDER))
        self._head: _Head | None = None
        self._entries: list[LandedFrames] = []
        self._latest: dict[str, LandedFrames] = {}
        self._names: set[str] = set()
        self._contents: set[tuple[str, int, str]] = set()
        self._watched: dict[str, _Watch] = {}

    @property
    def name(self) -> str:
        """A name that no other log has: that of a log that was deleted and made again is another one.

        Raises MsmqWireError when the log cannot be made or was made for other paths.
        """
        return self._opened().log

    def landed(self, now_ns: int | None = None) -> int:
        """Log what is new and ready, oldest first by time of change; return the number of entries.

        ``now_ns`` is nanoseconds since 1970, by default the clock. Raises MsmqWireError when the log cannot
        be read or written, and CaptureError when a path that was named, and is no glob, is not there.
        """
        now = time.time_ns() if now_ns is None else now_ns
        self._refresh()
        files = self._files()
        watched, self._watched = self._watched, {}
        for file in files:
            watch = watched.get(file.path)
            if watch is None or (watch.size, watch.mtime_ns) != (file.size, file.mtime_ns):
                watch = _Watch(size=file.size, mtime_ns=file.mtime_ns)
            self._watched[file.path] = watch
            if not watch.done and self._is_ready(file, watch, now):
                self._log(file, watch)
        return len(self._entries)

    def entries(self, start: int, end: int) -> Sequence[LandedFrames]:
        """Return the entries with the numbers ``start`` + 1 to ``end``.

        Raises MsmqWireError when the log does not have them.
        """
        if end > len(self._entries):
            self._refresh()
        if not 0 <= start <= end <= len(self._entries):
            raise MsmqWireError(
                f"the log {self.folder} has {len(self._entries)} captures, not {max(start, end)}: "
                "it is not the one that this query wrote (option seen)"
            )
        return self._entries[start:end]

    def _files(self) -> list[CaptureFile]:
        options = self._options
        found = []
        for file in list_files(options.paths, pattern=options.glob, recursive=options.recursive).files:
            if file.error is not None and not file.mtime_ns:
                # Of what cannot be read it has no time.
                changed = _change_of(file.path)
                if changed is None:
                    # A glob without a match waits for one, a bucket has folders only with something in them,
                    # and what a folder lost meanwhile did not land.
                    waits = glob.has_magic(file.path) or _may_come(file)
                    if file.path in options.paths and not waits:
                        raise CaptureError(file.error)
                    continue
                file = msgspec.structs.replace(file, mtime_ns=changed)
            found.append(file)
        return sorted(found, key=lambda file: (file.mtime_ns, file.path))

    def _is_ready(self, file: CaptureFile, watch: _Watch, now: int) -> bool:
        age = abs(now - file.mtime_ns)
        if age < self._options.settle * SECOND:
            return False
        latest = self._latest.get(file.path)
        if latest is not None:
            watch.done = (latest.size, latest.mtime_ns) == (file.size, file.mtime_ns)
        if watch.done:
            return False
        mark = "" if file.error is not None else fingerprint(file.path, file.size) or ""
        if self._is_known(file, mark):
            watch.done = True
            return False
        if watch.check is None or watch.check.fingerprint != mark:
            watch.check = _check(file, mark)
        if watch.check.error is None and watch.check.damage is None:
            return True
        return age >= self._options.patience * SECOND

    def _is_known(self, file: CaptureFile, mark: str) -> bool:
        path = file.path
        return ("", file.size, mark) in self._contents or (path, file.size, mark) in self._contents

    def _log(self, file: CaptureFile, watch: _Watch) -> None:
        check = watch.check
        if check is None or (file.error is None and has_changed(file)):
            return
        while not self._is_known(file, check.fingerprint):
            entry = self._entry(file, check)
            if entry is None:
                watch.done = True
                return
            if _create(self.folder, entry.number, entry):
                self._add(entry)
            else:
                # Another query was faster.
                self._refresh()

    def _entry(self, file: CaptureFile, check: _Check) -> LandedFrames | None:
        """The next entry, for a file that is not in the log; None when nothing was added to one that is."""
        path = file.path
        before = self._latest.get(path)
        after = 0
        if before is not None and before.size < file.size and holds(before):
            after = before.frames
            reported = check.error is None and (check.damage is None or before.damage is not None)
            if check.frames <= after and reported:
                return None
        number = len(self._entries) + 1
        return LandedFrames(
            number=number,
            capture=f"{path}#{number}" if path in self._names else path,
            path=path,
            size=file.size,
            mtime_ns=file.mtime_ns,
            fingerprint=check.fingerprint,
            after=after,
            frames=check.frames,
            damage=check.damage,
            error=check.error,
        )

    def _add(self, entry: LandedFrames) -> None:
        self._entries.append(entry)
        if entry.frames or entry.damage or entry.error:
            # It has rows with numbers of their own.
            self._names.add(entry.capture)
        if entry.frames:
            self._latest[entry.path] = entry
        # Of what holds no frame each file is told of.
        self._contents.add(("" if entry.frames else entry.path, entry.size, entry.fingerprint))

    def _refresh(self) -> None:
        """Take the entries that were written since."""
        self._opened()
        while (data := _read(self.folder, len(self._entries) + 1)) is not None:
            entry = _decoded(self.folder, data, LandedFrames)
            # Its path will be opened, and the log may come with the captures.
            if not any(_is_below(entry.path, path) for path in self._options.paths):
                raise MsmqWireError(
                    f"the log {self.folder} (option seen) is damaged: it names {entry.path!r:.80}, "
                    "which is not in the folders that are read"
                )
            self._add(entry)

    def _opened(self) -> _Head:
        if self._head is None:
            options = self._options
            for path in options.paths:
                # Before a folder is made in what is only misspelt; in a bucket nothing is made.
                if Place(path).is_local and not os.path.lexists(path) and not glob.has_magic(path):
                    raise CaptureError(f"cannot open {path}: there is no such file or folder")
            made = _Head(
                log=secrets.token_hex(8),
                paths=options.paths,
                glob=options.glob,
                recursive=options.recursive,
            )
            data = _read(self.folder, 0)
            if data is None:
                data = msgspec.json.encode(made) if _create(self.folder, 0, made) else _read(self.folder, 0)
            head = _decoded(self.folder, data or b"", _Head)
            if msgspec.structs.replace(head, log=made.log) != made:
                raise MsmqWireError(
                    f"the log {self.folder} was made for other paths, glob or recursive: "
                    "name another folder with the option seen"
                )
            self._head = head
        return self._head


def holds(entry: LandedFrames) -> bool:
    """Whether the file still begins with the content that landed; it may have grown."""
    return bool(entry.fingerprint) and fingerprint(entry.path, entry.size) == entry.fingerprint


def fingerprint(path: str, size: int) -> str | None:
    """The SHA-256 over ``size`` and the first and last MiB of the first ``size`` bytes of a file.

    None when it has fewer, is no regular file or cannot be read.
    """
    first = min(size, _EDGE)
    last = max(first, size - _EDGE)
    try:
        with open_file(path) as file:
            head = file.read(first)
            file.seek(last)
            tail = file.read(size - last)
    except (OSError, ValueError):
        return None
    if len(head) + len(tail) < first + size - last:
        return None
    return hashlib.sha256(size.to_bytes(8, "little") + head + tail).hexdigest()


def _check(file: CaptureFile, mark: str) -> _Check:
    if file.error is not None:
        return _Check(fingerprint=mark, error=file.error)
    try:
        index = index_file(file.path, _WHOLE, opener=open_file)
    except CaptureError as error:
        return _Check(fingerprint=mark, error=error.message)
    return _Check(fingerprint=mark, frames=index.frames, damage=index.error)


def _change_of(path: str) -> int | None:
    try:
        return os.lstat(path).st_mtime_ns
    except (OSError, ValueError):
        return None


def _may_come(file: CaptureFile) -> bool:
    return not Place(file.path).is_local and (file.error or "").endswith(os.strerror(errno.ENOENT))


def _first_folder(paths: Sequence[str]) -> str:
    if not paths:
        raise MsmqWireError("nothing to read: give a path to load")
    folder = paths[0]
    if not Place(folder).is_local:
        raise MsmqWireError(
            f"a stream over {folder} keeps its log in a folder: name one with the option seen"
        )
    if os.path.isdir(folder):
        return folder
    folder = os.path.dirname(folder)
    while glob.has_magic(folder) and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder or "."


def _is_below(path: str, wanted: str) -> bool:
    """Whether a path is one that was named, or below a folder or a pattern that was."""
    root = wanted
    while glob.has_magic(root):
        root = os.path.dirname(root)
    root = root and f"{root.rstrip('/')}/"
    inside = path.startswith(root) and not os.path.isabs(path[len(root) :])
    return path == wanted or (inside and ".." not in path[len(root) :].split("/"))


def _path(folder: str, number: int) -> str:
    return os.path.join(folder, f"{number:012}.json")


def _read(folder: str, number: int) -> bytes | None:
    try:
        with open(_path(folder, number), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise MsmqWireError(f"cannot read the log {folder} (option seen): {_reason(error)}") from error


def _decoded(folder: str, data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise MsmqWireError(f"the log {folder} (option seen) is damaged: {error}") from None


def _create(folder: str, number: int, value: LandedFrames | _Head) -> bool:
    """Write a file of the log as a whole; False when there is one already."""
    draft = os.path.join(folder, f".{secrets.token_hex(8)}")
    try:
        os.makedirs(folder, exist_ok=True)
        try:
            with open(draft, "xb") as file:
                file.write(msgspec.json.encode(value))
                file.flush()
                os.fsync(file.fileno())
            # Unlike a rename this fails where there is a file.
            os.link(draft, _path(folder, number))
        finally:
            if os.path.lexists(draft):
                os.unlink(draft)
    except FileExistsError:
        # The folder itself may be a file, too.
        if os.path.isdir(folder):
            return False
        reason = "it is no folder"
    except (OSError, ValueError) as error:
        reason = _reason(error)
    else:
        return True
    raise MsmqWireError(f"cannot write the log {folder}: {reason}; name another folder with the option seen")


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
