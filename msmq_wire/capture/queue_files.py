"""The files in which a queue manager registers its queues: one a queue in ``storage\\lqs``.

The rule kept here: what these files hold is documented in part only. Every key is kept as it is, a known one
has its meaning beside it, and nothing is read that is no regular file of the folder.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import PurePosixPath, PureWindowsPath
from typing import NamedTuple

import msgspec

from msmq_wire.errors import CaptureError
from msmq_wire.records.registered_queues import QueueNames, RegisteredQueue

LARGEST = 1 << 20
"""Bytes of a file: a security descriptor may have hundreds of kilobytes (KB826820), as text twice that."""
MOST_FILES = 20_000
_MOST_NAMES = 1_000_000
_MOST_BYTES = 1 << 28
_MOST_LINES = 1000
_LONGEST_TEXT = 256
_FOLDER = "lqs"
_NAME = re.compile(
    r"(?P<number>[0-9a-f]{8})(?:\.[0-9a-f]{1,8})?",
    re.IGNORECASE,
)
_OWNED = re.compile(r"\{?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\}?=(.+)", re.IGNORECASE | re.DOTALL)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_ANSI = "ANSI, read as Windows-1252"


def _size(value: str) -> str:
    return f"{len(value) // 2:,} bytes in hexadecimal" if value else ""


def _nothing(value: str) -> str:
    return ""


class _Key(NamedTuple):
    """What a key means, and what its value says in words."""

    doc: str
    shown: Callable[[str], str] = _nothing


KEYS: Mapping[str, _Key] = {
    "queuename": _Key("name of the queue"),
    "pathname": _Key("path name of the queue"),
    "queuelabel": _Key("label of the queue"),
    "security": _Key("security descriptor: owner and permissions", _size),
}
"""The keys that public articles and programs know, in small letters."""


class QueueProperty(msgspec.Struct, frozen=True):
    """A line of a file: its section, its key and its value. A line without ``=`` has no key."""

    section: str
    key: str
    value: str

    @property
    def meaning(self) -> str:
        """What the key means, and what the value says; empty for a key that is not known."""
        known = KEYS.get(self.key.lower())
        if known is None:
            return ""
        shown = known.shown(self.value)
        return f"{known.doc}: {shown}" if shown else known.doc


class QueueFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a file registers.

    ``number`` is that of a private queue by the name of the file; ``lines_left_out`` counts further lines.
    """

    path: str
    number: int | None
    encoding: str
    properties: tuple[QueueProperty, ...]
    lines_left_out: int = 0

    @property
    def name(self) -> str:
        """The name of the queue, as ``private$\\orders``."""
        return (self.get("QueueName") or self.get("PathName")).lstrip("\\")[:_LONGEST_TEXT]

    @property
    def label(self) -> str:
        """The label of the queue."""
        return self.get("QueueLabel")[:_LONGEST_TEXT]

    def get(self, key: str) -> str:
        """The first value of a key, in any letter case; empty without one."""
        wanted = key.lower()
        return next((one.value for one in self.properties if one.key.lower() == wanted), "")

    @property
    def queue(self) -> RegisteredQueue:
        """The queue, without the rest of what the file says."""
        known = self.encoding != _ANSI or (self.name + self.label).isascii()
        return RegisteredQueue(name=self.name, label=self.label, number=self.number, sure=known)


class QueueFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The queues in a folder; ``left_out`` counts by reason what of it was not read, or registers nothing."""

    path: str
    queues: tuple[RegisteredQueue, ...]
    left_out: Mapping[str, int]


def is_queue_file_name(path: str) -> bool:
    """Whether a file is called as those that register queues."""
    return _NAME.fullmatch(_last(path)) is not None


def read_queue_file(path: str) -> QueueFile:
    """Read a file. Raises CaptureError where it is none of these, is a link, or is larger than 1 MiB."""
    return _parsed(path, _read(path))


def queue_folder(path: str) -> str | None:
    """The folder ``lqs`` in a folder, in any letter case; None without one, or where it is a link."""
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.lower() == _FOLDER and entry.is_dir(follow_symlinks=False):
                    return entry.path
    except OSError:
        pass
    return None


def read_queue_folder(path: str) -> QueueFolder:
    """Read the queues that a folder registers, a folder with ``lqs`` in it, or a single file.

    At most 20,000 files and 256 MiB are read. Links are not followed. Raises CaptureError where nothing in it
    registers a queue.
    """
    if not os.path.isdir(path):
        return QueueFolder(path=path, queues=(read_queue_file(path).queue,), left_out={})
    folder = queue_folder(path) or path
    queues: list[RegisteredQueue] = []
    left_out: dict[str, int] = {}
    size = 0
    for number, name in enumerate(_names(folder)):
        reason = None
        if number >= MOST_FILES or size >= _MOST_BYTES:
            reason = "too many"
        elif not is_queue_file_name(name):
            reason = "other names"
        else:
            try:
                data = _read(os.path.join(folder, name))
                size += len(data)
                queues.append(_parsed(name, data).queue)
            except CaptureError:
                reason = "not readable, or no queue in it"
        if reason is not None:
            left_out[reason] = left_out.get(reason, 0) + 1
    if not queues:
        raise CaptureError(
            f"{folder}: no file here registers a queue: such a file is called as 0000000b.1a2b3c4d and has a "
            "line QueueName="
        )
    return QueueFolder(path=folder, queues=tuple(queues), left_out=left_out)


def manager_and_folder(text: str) -> tuple[str | None, str]:
    """The GUID of a queue manager and the folder in ``GUID=DIR``; no GUID in ``DIR``."""
    owned = _OWNED.fullmatch(text)
    return (None, text) if owned is None else (owned[1].lower(), owned[2])


def read_queue_names(*folders: str) -> QueueNames:
    """The names in folders, each ``DIR`` or ``GUID=DIR``, for `naming_queues`; as for `read_queue_folder`."""
    names = QueueNames()
    for text in folders:
        manager, path = manager_and_folder(text)
        folder = read_queue_folder(path)
        names.add(folder.queues, manager, folder.path)
    return names


def _names(folder: str) -> Iterable[str]:
    try:
        with os.scandir(folder) as entries:
            files = (one.name for one in entries if one.is_file(follow_symlinks=False))
            return sorted(islice(files, _MOST_NAMES))
    except OSError as error:
        raise CaptureError(f"{folder}: {error.strerror or error}") from error


def _read(path: str) -> bytes:
    """The bytes of a regular file. Raises CaptureError."""
    try:
        before = os.lstat(path)
        if stat.S_ISLNK(before.st_mode):
            raise CaptureError(f"{path}: a link, which is not followed")
        if not stat.S_ISREG(before.st_mode):
            raise CaptureError(f"{path}: not a regular file")
        with open(path, "rb") as file:
            if not os.path.samestat(before, os.fstat(file.fileno())):
                raise CaptureError(f"{path}: another file by now")
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise CaptureError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > LARGEST:
        raise CaptureError(f"{path}: larger than 1 MiB, which no file that registers a queue is")
    return data


def _parsed(path: str, data: bytes) -> QueueFile:
    text, encoding = _decoded(data)
    properties: list[QueueProperty] = []
    section, more = "", 0
    for line in filter(None, map(str.strip, text.split("\n"))):
        if line[0] == "[" and line[-1] == "]":
            section = line[1:-1]
        elif len(properties) >= _MOST_LINES:
            more += 1
        else:
            key, equals, value = line.partition("=")
            if not equals:
                key, value = "", line
            properties.append(QueueProperty(section, key.strip(), value.strip()))
    named = _NAME.fullmatch(_last(path))
    found = QueueFile(
        path=path,
        number=None if named is None else int(named["number"], 16),
        encoding=encoding,
        properties=tuple(properties),
        lines_left_out=more,
    )
    if "\0" in text or not found.name:
        raise CaptureError(f"{path}: registers no queue: it has no line QueueName= or PathName=")
    return found


def _decoded(data: bytes) -> tuple[str, str]:
    """The text, and its encoding in words; what is neither UTF-8 nor UTF-16 is of some code page."""
    for bom, codec, name in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(codec, "replace"), name
    if data[1:2] == b"\0":
        return data.decode("utf-16-le", "replace"), "UTF-16"
    try:
        return data.decode(), "UTF-8"
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), _ANSI


def _last(path: str) -> str:
    return PureWindowsPath(PurePosixPath(path).name).name
