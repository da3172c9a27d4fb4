"""Which file is which capture: by what is in it, whatever it is called and wherever it lies.

The rule kept here: a file is a copy of another, or another that grew, only after all bytes of the shorter one
were compared, by their SHA-256. Size, name and the first bytes only say which files are worth a look.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from msmq_wire.capture.content_digest import FileDigest, content_digest
from msmq_wire.capture.listing import CaptureFile, open_file, open_source
from msmq_wire.errors import CaptureError

SOURCE_COLUMNS = ("capture", "path", "size", "mtime_ns", "key", "head", "length", "digest")
"""What ``sources`` says of a file."""
_HEAD = 4096


class NewFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the tables do not know by its place; ``content`` is None where nothing begins like it."""

    file: CaptureFile
    head: str
    content: FileDigest | None = None


class StoredCapture(NamedTuple):
    """A file that the tables know: the capture that it is, what was in it, and whether that is all of it.

    It is not where the capture has grown since.
    """

    capture: str
    path: str
    head: str
    length: int
    digest: str
    whole: bool = True


class IdentifiedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file and the capture that it is: ``new``, a ``copy`` of one, or one that ``grew``."""

    seen: NewFile
    capture: str
    kind: Literal["new", "copy", "grew"]


def file_key(file: CaptureFile) -> str:
    """What stands for path, size and time of change: a file with a key that is known is not opened again."""
    text = f"{file.path}\0{file.size}\0{file.mtime_ns}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def head_of(file: CaptureFile) -> str:
    """The SHA-256 of the first 4 KiB of the content; empty for a file that cannot be read."""
    if file.error is not None:
        return ""
    with contextlib.suppress(CaptureError), open_source(file.path) as source:
        window = source.window()
        window.more(0, _HEAD)
        if window.failure is None:
            return hashlib.sha256(window.buffer[:_HEAD]).hexdigest()
    with contextlib.suppress(OSError, ValueError), open_file(file.path) as raw:
        return hashlib.sha256(raw.read(_HEAD)).hexdigest()
    return ""


def content_of(file: CaptureFile, lengths: Iterable[int] = ()) -> FileDigest | None:
    """Read all of a file; ``lengths`` are the beginnings to mark. None where it cannot be read."""
    if file.error is None:
        with contextlib.suppress(CaptureError), open_source(file.path) as source:
            return content_digest(source, lengths)
    return None


def source_row(capture: str, file: CaptureFile, head: str, content: FileDigest) -> dict[str, Any]:
    """The row of ``sources`` of a file."""
    return {
        "capture": capture,
        "path": file.path,
        "size": file.size,
        "mtime_ns": file.mtime_ns,
        "key": file_key(file),
        "head": head,
        "length": content.length,
        "digest": content.digest,
    }


def candidates(seen: Iterable[NewFile], known: Iterable[StoredCapture]) -> dict[str, set[int]]:
    """The files that may be a copy or may have grown, by path: the lengths of what they may begin with.

    Files whose content is known are left out unless it lacks one of these: how long the content of a
    compressed file is can be said only after it was read.
    """
    lengths: dict[str, set[int]] = {}
    starts: dict[str, set[int]] = {}
    heads: dict[str, list[NewFile]] = {}
    for one in known:
        if one.length < _HEAD:
            # A longer one that grew begins as before.
            lengths.setdefault(one.path, set()).add(one.length)
        starts.setdefault(one.head, set()).add(one.length)
    for new in seen:
        heads.setdefault(new.head, []).append(new)
    found = {}
    for head, alike in heads.items():
        sizes = {one.file.size if one.content is None else one.content.length for one in alike}
        for new in alike:
            path, content = new.file.path, new.content
            if head and (head in starts or path in lengths or len(alike) > 1):
                wanted = starts.get(head, set()) | lengths.get(path, set()) | sizes
                if content is None or {one for one in wanted if one < content.length} - {0, *content.marks}:
                    found[path] = wanted
    return found


def place_files(
    seen: Sequence[NewFile], known: Sequence[StoredCapture], names: Iterable[str]
) -> list[IdentifiedFile]:
    """Say which capture each file is. ``names`` are taken already."""
    taken = set(names)
    captures = {one.digest: one.capture for one in known}
    # What is not all of a capture any more, or grew into one of the others here, grows no second time.
    growing = [one for one in known if one.whole]
    whole: list[tuple[FileDigest, str]] = []
    placed = []
    # What grew most comes first: shorter files may be what it was before.
    for one in sorted(seen, key=lambda one: (-(one.content.length if one.content else 0), one.file.path)):
        content = one.content
        same = None if content is None else _same(content, captures, whole)
        grew = None if content is None or same is not None else _grew(one.file.path, content, growing)
        if same is not None:
            placed.append(IdentifiedFile(seen=one, capture=same, kind="copy"))
            continue
        name = grew if grew is not None else free_name(one.file.path, taken)
        taken.add(name)
        growing = [other for other in growing if other.capture != name]
        placed.append(IdentifiedFile(seen=one, capture=name, kind="new" if grew is None else "grew"))
        if content is not None:
            captures[content.digest] = name
            whole.append((content, name))
    return sorted(placed, key=lambda one: one.seen.file.path)


def _same(
    content: FileDigest, captures: Mapping[str, str], whole: Iterable[tuple[FileDigest, str]]
) -> str | None:
    before = (name for one, name in whole if one.marks.get(content.length) == content.digest)
    return captures.get(content.digest) or next(before, None)


def _grew(path: str, content: FileDigest, known: Iterable[StoredCapture]) -> str | None:
    begins = [
        one
        for one in known
        if (not one.length or content.marks.get(one.length) == one.digest)
        # Captures that have just begun begin all alike.
        and (one.length >= _HEAD or one.capture.partition("#")[0] == path.partition("#")[0])
    ]
    return max(begins, key=lambda one: one.length).capture if begins else None


def free_name(path: str, taken: set[str]) -> str:
    """The path, or with a number where other content has that name."""
    name, number = path, 2
    while name in taken:
        name, number = f"{path}#{number}", number + 1
    return name
