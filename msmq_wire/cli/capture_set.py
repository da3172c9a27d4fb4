"""`CaptureSet`: the records of several captures, one file after the other, with progress and summary.

The rule kept here: a file that fails does not stop the next one; every failure is one line and status 1.
Files that follow each other in time are one capture, and are read in that order.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from msmq_wire.capture.hashing import FileRead, Hashing
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.rings import rings
from msmq_wire.capture.source import Source
from msmq_wire.cli.folders import NAMED_IS_READ, captures_named, nothing_in_folder
from msmq_wire.cli.interrupts import Interrupts
from msmq_wire.cli.progress import Progress
from msmq_wire.cli.read_counts import ReadCounts, nothing_found
from msmq_wire.cli.render.value_text import count_text
from msmq_wire.cli.reporting import hide_file, print_error, print_note
from msmq_wire.cli.secret_options import without_secrets
from msmq_wire.errors import CaptureError
from msmq_wire.records.joined_capture import JoinedCapture
from msmq_wire.records.projection import ProjectedRows, Projection
from msmq_wire.records.recognition import Ports
from msmq_wire.records.record import Record, is_file_error
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.report.redaction.redactor import Redactor
from msmq_wire.rpc.pdu_protection import Negotiator

if TYPE_CHECKING:
    from msmq_wire.capture.carve.reader import SearchedFile
    from msmq_wire.capture.packet_batch import PacketBatch
    from msmq_wire.sessions import LeftOut

    Read: TypeAlias = Record | ProjectedRows | PacketBatch
    ItemsOf: TypeAlias = Callable[[CaptureReader], Iterator[Read]]

_T = TypeVar("_T")
_WAITING = 1 << 24
"""Bytes of captures that are read while rows of a table wait for others: well below a second of reading."""
_PROGRAM = 192 << 20
"""Bytes that a program takes beside what it follows: its code, a chunk of the capture, open packets."""


class CaptureSet:
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
        self.files, self.left_out, self.deeper = self._listed(files, recursive)
        self.ports = ports
        self.streams = streams
        self.quiet = quiet
        self.verbose = verbose
        self.negotiator = negotiator
        self.redactor = Redactor(set()) if redactor is None else redactor
        for file in self.files:
            hide_file(file, self.redactor.file(file))
        self.rows = rows
        self.memory = memory
        self.recursive = recursive
        self.several = len(self.files) > 1
        self.show_waiting: Callable[[], None] | None = None
        self.hashing = False
        self.hashed: list[FileRead] = []
        self.searched: list[SearchedFile] = []
        self.interrupted = False
        self.counts = ReadCounts()
        self.interrupts = Interrupts()
        self._last_id = 0
        self._shown_at = 0
        self._part = False
        self._mark: Callable[[int], None] | None = None

    def _listed(self, files: Sequence[str], recursive: bool) -> tuple[list[str], int, int]:
        """The files, of folders those in them, and how many other files and folders are left out there."""
        return captures_named(files, recursive)

    def __iter__(self) -> Iterator[Record]:
        # Without a briefing there are no briefs.
        return cast("Iterator[Record]", self._read(iter))

    def projected(self, projection: Projection | None) -> Iterator[Record | ProjectedRows]:
        """Iterate over records, and with a briefing over briefs in place of those that it makes needless."""
        if projection is None:
            return iter(self)
        return cast(
            "Iterator[Record | ProjectedRows]", self._read(lambda reader: reader.projected(projection))
        )

    def batched(self) -> Iterator[Record | PacketBatch]:
        """Iterate over batches of what is read by column, and over the records of all else."""
        return cast("Iterator[Record | PacketBatch]", self._read(lambda reader: reader.batched()))

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

    @cached_property
    def captures(self) -> list[tuple[str, ...]]:
        """The files by capture, each capture in order of time."""
        return rings(self.files) if self.several else [(file,) for file in self.files]

    def _all(self, items_of: ItemsOf) -> Generator[Read, None, None]:
        for files in self.captures:
            yield from self._capture(files, items_of)

    @property
    def budget(self) -> int | None:
        """Bytes of the ``memory`` for what is followed; None where that of the library counts."""
        # What is known of the capture takes half as many.
        return None if self.memory is None else max(self.memory // 2, self.memory - _PROGRAM) * 2 // 3

    @property
    def at_end(self) -> bool:
        """Whether all was read that was captured: not where Ctrl+C left the rest of a file."""
        return not self.interrupted or self.as_it_comes

    @cached_property
    def as_it_comes(self) -> bool:
        """Whether something is read that may go on for as long as somebody writes to it."""
        return any(map(_is_pipe, self.files))

    @property
    def once(self) -> bool:
        """Whether it cannot be read again: it may go on, or comes through standard input."""
        return self.as_it_comes or "-" in self.files

    def _opened(
        self,
        file: str,
        first_id: int,
        joined: JoinedCapture | None = None,
        after: CaptureReader | None = None,
    ) -> CaptureReader:
        return CaptureReader(
            file,
            ports=self.ports,
            streams=self.streams,
            first_id=first_id,
            negotiator=self.negotiator,
            joined=joined,
            after=after,
        )

    def _capture(self, files: Sequence[str], items_of: ItemsOf) -> Iterator[Read]:
        joined, seen, frames = JoinedCapture(files) if len(files) > 1 else None, _Seen(), self.counts.frames
        last: CaptureReader | None = None
        try:
            for file in files:
                try:
                    if os.path.isdir(file):
                        raise CaptureError(nothing_in_folder(file, self.recursive))
                    with self._opened(file, self._last_id + 1, joined, last) as reader:
                        last = reader
                        try:
                            yield from self._items(reader, file, items_of, seen)
                        finally:
                            self.counts.frames += reader.summary.frames
                except CaptureError as error:
                    seen.damaged = True
                    self._fail(named(file, error.message))
            if joined is not None and last is not None:
                for record in last.finish():
                    seen.found = seen.found or tells(record, last)
                    self.counts.sealed += _is_sealed(record)
                    yield record
        finally:
            if last is not None:
                self._last_id = last.last_id
                self.counts.take(last.summary)
        if last is not None and not seen.found and not seen.damaged:
            why = nothing_found(last, self.counts.frames - frames, streams=self.streams)
            self._fail(named(joined or files[0], why))

    def _items(self, reader: CaptureReader, file: str, items_of: ItemsOf, seen: _Seen) -> Iterator[Read]:
        """What a file holds; take note in ``seen`` of what that is."""
        damaged = ended = False
        reader.source.before_read = partial(self._show, reader.source)
        hashing = Hashing(reader) if self.hashing else None
        try:
            with Progress(reader.source, self.redactor.file(file), show=not (self.quiet or self._part)):
                for item in items_of(reader):
                    records: tuple[Record, ...] = ()
                    if isinstance(item, Record):
                        records = (item,)
                    elif isinstance(item, ProjectedRows):
                        seen.found = True
                    else:
                        records, seen.found = item.others, seen.found or len(item) > 0
                    for record in records:
                        if is_file_error(record):
                            seen.damaged = damaged = True
                            self._fail(named(file, record.reason or "the file is damaged"))
                            continue
                        seen.found = seen.found or tells(record, reader)
                        self.counts.sealed += _is_sealed(record)
                    yield item
            ended = True
        except GeneratorExit:
            if reader.source.total:
                # Nothing is told of a file that is left: its rest need not be read.
                hashing = None
            raise
        finally:
            self.counts.bytes += reader.source.bytes_read
            self._last_id = reader.last_id
            if hashing is not None:
                self.hashed.append(hashing.result(file, at_end=ended and not damaged))

    def records_in(self, files: Sequence[str]) -> int:
        """How many records a capture has; what is wrong with its files is said when they are read."""
        if len(files) == 1:
            with contextlib.suppress(CaptureError), self._opened(files[0], 1) as reader:
                return reader.count()
            return 0
        joined, last = JoinedCapture(files), None
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
        counts = (
            (left_out.sessions, "session", "sessions"),
            (left_out.lives, "message", "messages"),
            (left_out.streams, "transactional sequence", "transactional sequences"),
            (left_out.reads, "remote read", "remote reads"),
            (left_out.waiting, "packet that waited", "packets that waited"),
        )
        reported = [f"{count:,} {one if count == 1 else more}" for count, one, more in counts if count]
        if reported:
            # Whoever has left something out has loaded it.
            from msmq_wire.sessions import BUDGET

            size = max(1, (self.memory or BUDGET) >> 20)
            print_note(
                f"dropped to save memory, the oldest first: {', '.join(reported)}, "
                f"told as they stood in {size} MiB; "
                f"what came for them later is not told of them: --memory {8 * size}m follows more"
            )

    def print_summary(self, *more: str) -> None:
        """Print the summary line, unless nothing could be read and the errors say so.

        Raises KeyboardInterrupt where Ctrl+C ended the reading.
        """
        if not self.quiet and (self.counts.frames or not self.counts.status):
            print_note("; ".join((self.summary(), *more)))
        if self.interrupted:
            raise KeyboardInterrupt

    def _joined_text(self) -> str:
        """Which files are one capture; with ``verbose`` each is named."""
        joined = [files for files in self.captures if len(files) > 1]
        if not joined:
            return ""
        one = "one capture" if len(joined) == 1 else f"{len(joined)} captures"
        text = f"; {sum(map(len, joined))} files read as {one}, in order of time"
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


class _Seen:
    """Whether anything was found in files of one capture, and whether any is damaged."""

    found = damaged = False


def _is_pipe(file: str) -> bool:
    try:
        mode = (os.fstat(sys.stdin.fileno()) if file == "-" else os.stat(file)).st_mode
    except (OSError, ValueError):
        # Standard input that is no file of the system.
        return file == "-"
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


def _is_sealed(record: Record) -> bool:
    return isinstance(record.packet, RpcCall) and record.packet.sealed


def tells(record: Record, reader: CaptureReader) -> bool:
    """Whether a record tells of MSMQ: no gap of a whole file, nor a step of what others talk about."""
    return reader.on_ports if record.type == "tcp_stream" else record.frames_missing is None


def named(file: str, message: str) -> str:
    """The message with the name of the file in front, unless it has it already."""
    name = "standard input" if file == "-" else file
    return message if name in message else f"{name}: {message}"
