"""The records of what lies in files that are no captures, as commands read those of captures."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msmq_wire.capture.carve.hashing import HashedFile
from msmq_wire.capture.carve.media import Medium
from msmq_wire.capture.carve.reader import PART, CarveReader, SearchedFile
from msmq_wire.capture.hashing import FileRead
from msmq_wire.capture.listing import list_files
from msmq_wire.capture.named_captures import folders_in, is_folder
from msmq_wire.capture.queue_files import is_queue_file_name, read_queue_file
from msmq_wire.cli.capture_set import CaptureSet
from msmq_wire.cli.progress import Progress
from msmq_wire.cli.reporting import print_note
from msmq_wire.errors import CaptureError
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.units import size_text

if TYPE_CHECKING:
    from msmq_wire.capture.capture_sequence import ItemsOf, Read

_GRADES = ("whole", "damaged", "head")
_ANY = "*"


def graded(grades: Counter[str]) -> str:
    """How many finds of which grade, in words."""
    return ", ".join(f"{grades[one]} {one}" for one in _GRADES if grades[one]) or "nothing"


def _as_file(searched: SearchedFile) -> tuple[HashedFile, ...]:
    """What was searched as a file of its own; what is a part of an image is told with that."""
    if searched.kind == PART:
        return ()
    return (HashedFile(name=searched.name, size=searched.size, sha256=searched.sha256),)


def _read(file: HashedFile) -> FileRead:
    hashed = file.sha256 is not None
    sha256 = file.sha256 or ""
    return FileRead(
        name=file.name, size=file.size, sha256=sha256, whole=hashed, frames=0, first=None, last=None
    )


def _is_inside(path: str, folder: str) -> bool:
    """Whether a file lies in a folder, links followed: evidence may link to files of whoever reads it."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def _queue_files(files: Sequence[str]) -> Iterator[str]:
    for file in files:
        if is_queue_file_name(file):
            with contextlib.suppress(CaptureError):
                yield read_queue_file(file).path


class CarveReading(CaptureSet):
    """Searches files; a folder stands for all files in it. Options as for `CaptureSet`.

    ``envelopes`` says whether SRMP is searched, too, ``hashing`` whether files are hashed on the way, and
    ``offsets`` where alone something is looked for.
    """

    at_rest = True

    def __init__(
        self,
        files: Sequence[str],
        *,
        envelopes: bool = True,
        offsets: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        self._empty: dict[str, str] = {}
        super().__init__(files, **options)
        self.envelopes = envelopes
        self.offsets = offsets
        self.told_before = 0
        self.data = b""
        """The bytes of the record read last."""
        self.registers = False
        """Whether a file that registers a queue is something, too: then ``queue_files`` are those."""
        self.queue_files: list[str] = []

    def _listed(self, files: Sequence[str], recursive: bool) -> tuple[list[str], int, int]:
        found: list[str] = []
        left_out = deeper = 0
        for file in files:
            named = [] if file == "-" else list_files([file], pattern=_ANY, recursive=recursive).files
            folder = [one.path for one in named if one.error is None]
            if folder and folder != [file]:
                inside = [one for one in folder if _is_inside(one, file)]
                left_out += len(named) - len(inside)
                found += inside
                deeper += 0 if recursive else folders_in(file)
            elif is_folder(file) and os.access(file, os.R_OK):
                more = not recursive and folders_in(file)
                self._empty[file] = "; --recursive reads its folders, too" if more else ""
            else:
                # What is wrong with it is said when it is opened.
                found.append(file)
        return found, left_out, deeper

    @contextlib.contextmanager
    def _reader(self) -> Iterator[CarveReader]:
        """The reader, with a bar that shows how far each file is searched."""
        with contextlib.ExitStack() as shown:
            reading = self

            class Watched(CarveReader):
                def opened(self, source: str) -> Medium:
                    shown.close()
                    medium = super().opened(source)
                    medium.before_read = reading._raise_if_any
                    reading._tell_size(medium)
                    shown.enter_context(
                        Progress(medium, reading.redactor.file(source), show=not reading.quiet)
                    )
                    return medium

            with Watched(
                self.files,
                envelopes=self.envelopes,
                hashing=self.hashing,
                offsets=self.offsets,
                first_id=self._last_id + 1,
            ) as reader:
                yield reader

    def _tell_size(self, medium: Medium) -> None:
        """Say what an image holds before hours are spent on it."""
        if medium.image_files and not self.quiet:
            files = count_text(len(medium.image_files), "file")
            size = size_text(medium.total or 0)
            print_note(f"{self.redactor.file(medium.name)}: a disk of {size} in the {medium.kind} of {files}")

    def _raise_if_any(self) -> None:
        self.interrupts.raise_if_any()

    def _all(self, items_of: ItemsOf) -> Generator[Read, None, None]:
        for folder, more in self._empty.items():
            self._fail(f"{folder}: no file in this folder{more}")
        with self._reader() as reader:
            self.searched = reader.searched
            for record in reader:
                self._last_id = record.id
                self.counts.packets[record.type] += record.grade is not None
                if record.type == "error" and record.grade is None:
                    self._fail(f"{record.capture}: {record.reason}")
                self.data = reader.data
                yield record
            self.told_before = reader.told_before
        for one in self.searched:
            self.counts.bytes += one.size
            self.hashed += map(_read, one.files or _as_file(one))
        if self.registers:
            self.queue_files = list(_queue_files(self.files))
        if not (self.status or self.queue_files or any(one.grades for one in self.searched)):
            self._fail(
                f"nothing of MSMQ in {size_text(self.counts.bytes)} of {count_text(len(self.files), 'file')}"
            )

    def print_summary(self, *more: str) -> None:
        """Print the summary line, unless nothing could be read and the errors say so."""
        self.counts.frames = 1 if self.counts.bytes else 0
        super().print_summary(*more)

    def summary(self) -> str:
        """What was searched, in one line."""
        grades: Counter[str] = sum((one.grades for one in self.searched), Counter())
        nested: Counter[str] = sum((one.nested for one in self.searched), Counter())
        text = "interrupted: " if self.interrupted else ""
        size, files = size_text(self.counts.bytes), count_text(len(self.searched), "file")
        text += f"{size} searched in {files}: {graded(grades)}"
        copies = sum(one.copies for one in self.searched)
        if copies:
            text += f", {copies} of them copies"
        if self.told_before:
            text += f" ({self.told_before} of what had been told)"
        packets = {type_: count for type_, count in self.counts.packets.items() if count}
        if packets:
            text += f"; {', '.join(f'{count} {name}' for name, count in packets.items())}"
        if self.queue_files:
            text += f"; registered queues: {len(self.queue_files):,}"
        if nested:
            text += f"; no finds: {', '.join(f'{count} {why}' for why, count in nested.most_common())}"
        unreadable = sum(one.unreadable for one in self.searched)
        if unreadable:
            text += f"; {size_text(unreadable)} could not be read"
        if self.left_out:
            text += f"; {self.left_out} left out: links out of the folder, pipes or devices"
        if self.deeper:
            text += f"; {count_text(self.deeper, 'folder')} inside left out: --recursive reads those, too"
        return text
