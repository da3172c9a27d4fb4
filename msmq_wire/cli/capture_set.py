"""`CaptureSet`: the records of several captures, one file after the other, with progress and summary.

The rule kept here: a file that fails does not stop the next one; every failure is one line and status 1.
Files that follow each other in time are one capture, and are read in that order.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msmq_wire.api.accounts import without_secrets
from msmq_wire.api.limits import dropped_text
from msmq_wire.capture.capture_sequence import CaptureSequence, Seen, damage_text, named
from msmq_wire.capture.hashing import FileRead, Hashing, ReadFile
from msmq_wire.capture.named_captures import captures_named
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.source import Source
from msmq_wire.capture.vantage.points_capture import PointsCapture
from msmq_wire.cli.folders import NAMED_IS_READ, nothing_in_folder
from msmq_wire.cli.interrupts import Interrupts
from msmq_wire.cli.points_text import copies_text, points_text
from msmq_wire.cli.progress import Progress
from msmq_wire.cli.queue_options import unsure_managers, unsure_names_text
from msmq_wire.cli.read_counts import ReadCounts, nothing_found
from msmq_wire.cli.reporting import hide_file, print_error, print_note
from msmq_wire.errors import CaptureError
from msmq_wire.records.recognition import Ports
from msmq_wire.records.record import Record
from msmq_wire.records.tree.value_text import count_text
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.rpc.pdu_protection import Negotiator

if TYPE_CHECKING:
    from msmq_wire.capture.capture_sequence import ItemsOf, Read
    from msmq_wire.capture.carve.reader import SearchedFile
    from msmq_wire.capture.vantage.point_frames import PointFile
    from msmq_wire.sessions import LeftOut

_T = TypeVar("_T")
_WAITING = 1 << 24
"""Bytes of captures that are read while rows of a table wait for others: well below a second of reading."""


class CaptureSet(CaptureSequence):
    """Reads captures in order; ids run on through all of them. Iterate once, then ask for ``status``.

    A folder stands for the captures in it, ``recursive`` also for those in its folders; ``files`` names them,
    ``captures`` puts those together that are one capture (`msmq_wire.capture.rings`).
    ``negotiator`` opens sealed calls. Where ``redactor`` hides hosts, the summary names no host and no
    account, and files are called by their place. With ``verbose`` the summary counts by kind. What is read
    is shown as it comes: standard output is flushed before more is waited for, and ``show_waiting``, if a
    command sets it, is called now and then. Where ``hashing`` is
    set, ``hashed`` tells of each file that was opened. ``memory`` are bytes for all of a program that
    follows sessions.

    Ctrl+C ends the reading of a command that prints ``rows`` as it reads, and of whatever comes through a
    pipe, as if nothing more had been captured; `print_summary` then says so and raises KeyboardInterrupt. In
    any other case that is done at once: half a capture is no answer.
    """

    at_rest = False
    """Whether what is read lies in files that are no captures."""

    def __init__(
        self,
        files: Sequence[str],
        *,
        ports: Ports = (),
        streams: bool = False,
        quiet: bool = False,
        verbose: bool = False,
        negotiator: Negotiator | None = None,
        redactor: Redactor | None = None,
        rows: bool = False,
        recursive: bool = False,
        memory: int | None = None,
    ) -> None:
        listed, self.left_out, self.deeper = self._listed(files, recursive)
        super().__init__(listed, ports=ports, streams=streams, negotiator=negotiator, memory=memory)
        self.quiet = quiet
        self.verbose = verbose
        self.redactor = Redactor(set()) if redactor is None else redactor
        for file in self.files:
            hide_file(file, self.redactor.file(file))
        self.rows = rows
        self.recursive = recursive
        self.show_waiting: Callable[[], None] | None = None
        self.hashing = False
        self.hashed: list[FileRead] = []
        self.searched: list[SearchedFile] = []
        self.interrupted = False
        self.counts: ReadCounts = ReadCounts()
        self.interrupts = Interrupts()
        self._shown_at = 0
        self._part = False
        self._mark: Callable[[int], None] | None = None

    def _listed(self, files: Sequence[str], recursive: bool) -> tuple[list[str], int, int]:
        """The files, of folders those in them, and how many other files and folders are left out there."""
        return captures_named(files, recursive)

    def _read(self, items_of: ItemsOf) -> Iterator[Read]:
        with self.interrupts:
            try:
                with contextlib.closing(self._all(items_of)) as items:
                    for item in items:
                        self.interrupts.waiting = False
                        yield item
                        self.interrupts.raise_if_any()
            except KeyboardInterrupt:
                self.interrupt()
        self.end_if_interrupted()

    def interrupt(self) -> None:
        """Take note that Ctrl+C ends the reading."""
        self.interrupted = True
        self.counts.status = 1

    def end_if_interrupted(self) -> None:
        """Raise KeyboardInterrupt where half a capture is no answer."""
        if self.interrupted and not (self.rows or self.as_it_comes):
            self.print_summary()

    @property
    def status(self) -> int:
        """The exit status: 1 where a file could not be read, or not to its end, or holds nothing."""
        return self.counts.status

    @property
    def at_end(self) -> bool:
        """Whether all was read that was captured: not where Ctrl+C left the rest of a file."""
        return not self.interrupted or self.as_it_comes

    @contextlib.contextmanager
    def _watched(self, reader: CaptureReader, file: str, seen: Seen) -> Iterator[None]:
        """Show progress while a file is read, and hash it."""
        reader.source.before_read = partial(self._show, reader.source)
        with Progress(reader.source, self.redactor.file(file), show=not (self.quiet or self._part)):
            if isinstance(file, PointsCapture):
                # Each of its files is hashed as it is read.
                yield
                return
            with self._hashed(reader, file, lambda: seen.damaged_here):
                yield

    @contextlib.contextmanager
    def _hashed(self, read: ReadFile, file: str, damaged: Callable[[], bool]) -> Iterator[None]:
        """Hash a file while it is read."""
        hashing, ended = Hashing(read) if self.hashing else None, False
        try:
            yield
            ended = True
        except GeneratorExit:
            if read.source.total:
                # Nothing is told of a file that is left: its rest need not be read.
                hashing = None
            raise
        finally:
            if hashing is not None:
                at_end = ended and not damaged()
                self.hashed.append(hashing.result(file, at_end=at_end))

    def _watched_file(self, file: PointFile) -> AbstractContextManager[object]:
        return self._hashed(file, file.name, lambda: file.error is not None)

    def _points(self, capture: PointsCapture, items_of: ItemsOf) -> Iterator[Read]:
        before = len(self.hashed)
        yield from super()._points(capture, items_of)
        # They ended in the order of their times.
        self.hashed[before:] = sorted(self.hashed[before:], key=lambda one: capture.files.index(one.name))

    def _folder_text(self, folder: str) -> str:
        return nothing_in_folder(folder, self.recursive)

    def _unreadable(self, file: str, error: CaptureError) -> None:
        self._fail(named(file, error.message))

    def _damaged(self, file: str, record: Record) -> None:
        self._fail(damage_text(file, record))

    def _nothing_found(self, name: str, reader: CaptureReader, frames: int) -> None:
        self._fail(named(name, nothing_found(reader, frames, streams=self.streams)))

    def again(self) -> SecondReading:
        """Another reading of the same captures, with their steps and the same ids; it says nothing."""
        return SecondReading(self)

    def records_in(self, files: Sequence[str]) -> int:
        """How many records a capture has; what is wrong with its files is said when they are read."""
        if len(files) == 1:
            with contextlib.suppress(CaptureError), self._opened(files[0], 1) as reader:
                return reader.count()
            return 0
        joined, last = self._joined(files), None
        if isinstance(joined, PointsCapture):
            merged, last = self._merged(joined, 1, watched=False)
            with contextlib.closing(merged):
                last.count()
            files = ()
        for file in files:
            with contextlib.suppress(CaptureError), self._opened(file, 1, joined, last) as reader:
                last = reader
                reader.count()
        if last is None:
            return 0
        for _ in last.finish():
            pass
        return last.last_id

    def only(
        self, number: int, last_id: int, work: Callable[[], _T], mark: Callable[[int], None] | None
    ) -> tuple[_T, ReadCounts]:
        """Do some work as if there were but one capture, and ids up to another one were given already.

        ``mark`` is told how many of its bytes are read.
        """
        captures, self.captures, self._last_id, self._mark = (
            self.captures,
            [self.captures[number]],
            last_id,
            mark,
        )
        self._part = True
        self.counts = ReadCounts()
        found = work()
        self.captures = captures
        self.counts.unsure_managers = unsure_managers()
        return found, self.counts

    def reached(self, read: int) -> None:
        """Show the rows that wait, if much was read for them; ``read`` are bytes of a file."""
        done = self.counts.bytes + read
        if self.show_waiting is not None and done - self._shown_at >= _WAITING:
            self._shown_at = done
            self.show_waiting()

    def _show(self, source: Source) -> None:
        """Show what there is before more is read."""
        (self._mark or self.reached)(source.bytes_read)
        sys.stdout.flush()
        self.interrupts.raise_if_any()
        self.interrupts.waiting = self.as_it_comes

    def _fail(self, message: str) -> None:
        self.counts.status = 1
        print_error(message)

    def tell_left_out(self, left_out: LeftOut) -> None:
        """Say that not everything was followed to the end for want of memory, if that is so."""
        reported = dropped_text(left_out)
        if reported:
            # Whoever has left something out has loaded it.
            from msmq_wire.sessions import BUDGET

            size = max(1, (self.memory or BUDGET) >> 20)
            print_note(
                f"dropped to save memory, the oldest first: {reported}, "
                f"told as they stood in {size} MiB; "
                f"what came for them later is not told of them: --memory {8 * size}m follows more"
            )

    def print_summary(self, *more: str) -> None:
        """Print the summary line, unless nothing could be read and the errors say so.

        Raises KeyboardInterrupt where Ctrl+C ended the reading.
        """
        if not self.quiet and (self.counts.frames or not self.counts.status):
            print_note("; ".join((self.summary(), *more)))
            unsure = unsure_names_text(self.counts.unsure_managers)
            if unsure is not None:
                print_note(unsure)
        if self.interrupted:
            raise KeyboardInterrupt

    def _joined_text(self) -> str:
        """Which files are one capture; with ``verbose`` each is named."""
        joined = [files for files in self.captures if len(files) > 1 and files not in self.shared]
        text = "".join(f"; {points_text(traffic, self.redactor.file)}" for traffic in self.shared.values())
        if self.counts.copies:
            text += f"; {copies_text(self.counts.copies)}"
        if not joined:
            return text
        one = "one capture" if len(joined) == 1 else f"{len(joined)} captures"
        text += f"; {sum(map(len, joined))} files read as {one}, in order of time"
        if self.verbose:
            listed = "; ".join(", ".join(map(self.redactor.file, files)) for files in joined)
            text += f" ({listed})"
        return text

    def summary(self) -> str:
        """What was read, in one line; what was left out is always told."""
        text = "interrupted: " if self.interrupted else ""
        text += self.counts.frames_text(verbose=self.verbose) + self._joined_text()
        text += self.counts.closed_text(key_options=self.negotiator in (None, without_secrets))
        text += self.counts.notices_text(anonymous=self.redactor.hides_hosts)
        if self.left_out:
            text += f"; {count_text(self.left_out, 'other file')} left out: {NAMED_IS_READ}"
        if self.deeper:
            text += f"; {count_text(self.deeper, 'folder')} inside left out: --recursive reads those, too"
        return text


class SecondReading(CaptureSet):
    """Another reading of the files of a reading, in the same order and with the same ids; it says nothing."""

    def __init__(self, reading: CaptureSet) -> None:
        super().__init__(
            reading.files,
            ports=reading.ports,
            streams=True,
            quiet=reading.quiet,
            negotiator=reading.negotiator,
            redactor=reading.redactor,
            memory=reading.memory,
        )
        self.captures, self._shared = reading.captures, reading.shared

    def _fail(self, message: str) -> None:
        self.counts.status = 1
