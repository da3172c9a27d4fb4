"""`CaptureSequence`: the records of several captures, one file after the other.

The rule kept here: files that follow each other in time are one capture, and are read in that order; those
that recorded the same traffic at several places are one capture, and are read side by side. Ids run on
through all captures.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

from msmq_wire.capture.capture_counts import CaptureCounts, nothing_found
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.rings import rings
from msmq_wire.capture.source import can_seek
from msmq_wire.capture.vantage.points import SharedTraffic
from msmq_wire.capture.vantage.points_capture import PointsCapture
from msmq_wire.capture.vantage.shared_traffic import shared_rings
from msmq_wire.errors import CaptureError
from msmq_wire.records.joined_capture import JoinedCapture, located
from msmq_wire.records.projection import ProjectedRows, Projection
from msmq_wire.records.recognition import Ports, check_ports
from msmq_wire.records.record import Record, is_file_error
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.rpc.pdu_protection import Negotiator

if TYPE_CHECKING:
    from msmq_wire.capture.packet_batch import PacketBatch
    from msmq_wire.capture.vantage.merged_frames import MergedFrames
    from msmq_wire.capture.vantage.point_frames import PointFile

    Read: TypeAlias = Record | ProjectedRows | PacketBatch
    ItemsOf: TypeAlias = Callable[[CaptureReader], Iterator[Read]]

_PROGRAM = 192 << 20
"""Bytes that a program takes beside what it follows: its code, a chunk of the capture, open packets."""


class CaptureSequence:
    """Reads captures in order; iterate once.

    ``files`` are paths, or ``"-"`` for standard input; ``given`` has binary file objects by the names that
    they have among ``files``. ``ports``, ``streams`` and ``negotiator`` are those of `CaptureReader`.
    ``memory`` are bytes for all of a program that follows sessions. ``captures`` puts those files together
    that are one capture (`msmq_wire.capture.rings`), or several of the same traffic: ``shared`` says by the
    files of such a capture which vantage points they are (`msmq_wire.capture.vantage`).

    A file that cannot be read raises CaptureError. Damage later on is kept in ``errors``, what else should be
    known of a file in ``notices``; ``counts`` counts as it goes.
    """

    def __init__(
        self,
        files: Sequence[str],
        *,
        given: Mapping[str, BinaryIO] | None = None,
        ports: Ports = (),
        streams: bool = False,
        negotiator: Negotiator | None = None,
        memory: int | None = None,
    ) -> None:
        check_ports(ports)
        self.files = list(files)
        self.ports = ports
        self.streams = streams
        self.negotiator = negotiator
        self.memory = memory
        self.several = len(self.files) > 1
        self.errors: list[CaptureError] = []
        self.notices: list[str] = []
        self.counts = CaptureCounts()
        self._given = given or {}
        self._starts = {name: file.tell() for name, file in self._given.items() if can_seek(file)}
        self._last_id = 0
        self._shared: dict[tuple[str, ...], SharedTraffic] = {}

    def __iter__(self) -> Iterator[Record]:
        # Without a projection there are no projected rows.
        return cast("Iterator[Record]", self._read(iter))

    def projected(self, projection: Projection | None) -> Iterator[Record | ProjectedRows]:
        """Iterate over records, and with a projection over rows in place of those that it makes needless."""
        if projection is None:
            return iter(self)
        return cast(
            "Iterator[Record | ProjectedRows]", self._read(lambda reader: reader.projected(projection))
        )

    def batched(self) -> Iterator[Record | PacketBatch]:
        """Iterate over batches of what is read by column, and over the records of all else."""
        return cast("Iterator[Record | PacketBatch]", self._read(lambda reader: reader.batched()))

    def again(self) -> CaptureSequence:
        """Another reading of the same captures, with their steps and the same ids."""
        other = CaptureSequence(
            self.files,
            given=self._given,
            ports=self.ports,
            streams=True,
            negotiator=self.negotiator,
            memory=self.memory,
        )
        other._starts, other.captures, other._shared = self._starts, self.captures, self._shared
        return other

    def _read(self, items_of: ItemsOf) -> Iterator[Read]:
        return self._all(items_of)

    @cached_property
    def captures(self) -> list[tuple[str, ...]]:
        """The files by capture, each capture in order of time; one vantage point after the other."""
        if not self.several:
            return [(file,) for file in self.files]
        found: list[tuple[str, ...]] = []
        for capture in self._grouped(rings(self.files)):
            if isinstance(capture, SharedTraffic):
                files = tuple(file for point in capture.points for file in point.files)
                self._shared[files], capture = capture, files
            found.append(capture)
        return found

    @property
    def shared(self) -> dict[tuple[str, ...], SharedTraffic]:
        """The captures that several vantage points recorded, by their files."""
        return self._shared if self.captures else {}

    def _grouped(self, captures: list[tuple[str, ...]]) -> Sequence[tuple[str, ...] | SharedTraffic]:
        """The captures, those of the same traffic as one."""
        # A file object stands for what is read once, and a file that is named twice is read twice.
        if self.once or self._given or len(set(self.files)) < len(self.files):
            return captures
        return shared_rings(captures, self.files)

    @property
    def budget(self) -> int | None:
        """Bytes of the ``memory`` for what is followed; None where that of the library counts."""
        # What is known of the capture takes half as many.
        return None if self.memory is None else max(self.memory // 2, self.memory - _PROGRAM) * 2 // 3

    @property
    def at_end(self) -> bool:
        """Whether all was read that was captured."""
        return True

    @cached_property
    def as_it_comes(self) -> bool:
        """Whether something is read that may go on for as long as somebody writes to it."""
        return any(_is_pipe(file) for file in self.files if file not in self._given)

    @property
    def once(self) -> bool:
        """Whether it cannot be read again: it may go on, or comes through standard input."""
        return self.as_it_comes or "-" in self.files or len(self._starts) < len(self._given)

    def _all(self, items_of: ItemsOf) -> Generator[Read, None, None]:
        for files in self.captures:
            yield from self._capture(files, items_of)

    def _opened(
        self,
        file: str,
        first_id: int,
        joined: JoinedCapture | None = None,
        after: CaptureReader | None = None,
    ) -> CaptureReader:
        given = self._given.get(file)
        if given is not None and file in self._starts:
            given.seek(self._starts[file])
        return CaptureReader(
            file if given is None else given,
            ports=self.ports,
            streams=self.streams,
            first_id=first_id,
            negotiator=self.negotiator,
            joined=joined,
            after=after,
        )

    def _joined(self, files: Sequence[str]) -> JoinedCapture | None:
        """The name of a capture that lies in several files."""
        shared = self.shared.get(tuple(files))
        if shared is not None:
            return PointsCapture(shared)
        return JoinedCapture(files) if len(files) > 1 else None

    def merged(self, files: Sequence[str]) -> MergedFrames | None:
        """The frames of a capture that several vantage points recorded, once more; None for any other."""
        joined = self._joined(files)
        if not isinstance(joined, PointsCapture):
            return None
        return self._frames_of(joined)

    def _frames_of(
        self,
        capture: PointsCapture,
        watch: Callable[[PointFile], AbstractContextManager[object]] = nullcontext,
    ) -> MergedFrames:
        # Loads what no capture of one place needs.
        from msmq_wire.capture.vantage.merged_frames import MergedFrames

        return MergedFrames(capture, given=self._given, watch=watch)

    def _merged(
        self, capture: PointsCapture, first_id: int, *, watched: bool = True
    ) -> tuple[MergedFrames, CaptureReader]:
        """The frames of vantage points as one file, and the reader of it."""
        merged = self._frames_of(capture, self._watched_file if watched else nullcontext)
        # It has all that a reader asks of a binary file.
        file = cast("BinaryIO", merged)
        reader = CaptureReader(
            file,
            ports=self.ports,
            streams=self.streams,
            first_id=first_id,
            negotiator=self.negotiator,
            joined=capture,
            parts=merged.files,
        )
        return merged, reader

    def _points(self, capture: PointsCapture, items_of: ItemsOf) -> Iterator[Read]:
        """What several vantage points recorded."""
        seen, told = Seen(), set[str]()
        merged, reader = self._merged(capture, self._last_id + 1)
        try:
            with contextlib.closing(merged), reader:
                self._say_unreadable(merged, seen, told)
                try:
                    yield from self._items(reader, capture, items_of, seen)
                finally:
                    self.counts.frames += reader.summary.frames
                    self.counts.copies += merged.copies
                self._say_unreadable(merged, seen, told)
            yield from self._ended(reader, seen)
        finally:
            self._last_id = reader.last_id
            self.counts.take(reader.summary)
        if not seen.found and not seen.damaged:
            self._nothing_found(capture, reader, reader.summary.frames)

    def _say_unreadable(self, merged: MergedFrames, seen: Seen, told: set[str]) -> None:
        """Say of which files nothing could be read, once of each."""
        for file in merged.files:
            if file.error is not None and not file.is_capture and file.name not in told:
                told.add(file.name)
                seen.damaged = True
                self._unreadable(file.name, file.error)

    def _ended(self, reader: CaptureReader, seen: Seen) -> Iterator[Record]:
        """What the last file of a capture leaves open."""
        for record in reader.finish():
            seen.found = seen.found or tells(record, reader)
            self.counts.sealed += _is_sealed(record)
            yield record

    def _capture(self, files: Sequence[str], items_of: ItemsOf) -> Iterator[Read]:
        joined, seen, frames = self._joined(files), Seen(), self.counts.frames
        if isinstance(joined, PointsCapture):
            yield from self._points(joined, items_of)
            return
        last: CaptureReader | None = None
        try:
            for file in files:
                try:
                    if file not in self._given and os.path.isdir(file):
                        raise CaptureError(self._folder_text(file))
                    with self._opened(file, self._last_id + 1, joined, last) as reader:
                        last = reader
                        try:
                            yield from self._items(reader, file, items_of, seen)
                        finally:
                            self.counts.frames += reader.summary.frames
                except CaptureError as error:
                    seen.damaged = True
                    self._unreadable(file, error)
            if joined is not None and last is not None:
                yield from self._ended(last, seen)
        finally:
            if last is not None:
                self._last_id = last.last_id
                self.counts.take(last.summary)
        if last is not None and not seen.found and not seen.damaged:
            self._nothing_found(joined or files[0], last, self.counts.frames - frames)

    def _items(self, reader: CaptureReader, file: str, items_of: ItemsOf, seen: Seen) -> Iterator[Read]:
        """What a file holds; take note in ``seen`` of what that is."""
        seen.damaged_here = False
        with self._watched(reader, file, seen):
            try:
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
                            seen.damaged = seen.damaged_here = True
                            of = located(record).capture if isinstance(file, PointsCapture) else file
                            self._damaged(of, record)
                            continue
                        seen.found = seen.found or tells(record, reader)
                        self.counts.sealed += _is_sealed(record)
                    yield item
            finally:
                self.counts.bytes += reader.source.bytes_read
                self._last_id = reader.last_id

    def _watched(self, reader: CaptureReader, file: str, seen: Seen) -> AbstractContextManager[object]:
        """What goes on while a file is read."""
        return nullcontext()

    def _watched_file(self, file: PointFile) -> AbstractContextManager[object]:
        """What goes on while a file of a vantage point is read."""
        return nullcontext()

    def _folder_text(self, folder: str) -> str:
        """What is wrong with a folder among the files."""
        return f"no capture in this folder: {folder}"

    def _unreadable(self, file: str, error: CaptureError) -> None:
        """Say that a file cannot be read."""
        raise error

    def _damaged(self, file: str, record: Record) -> None:
        """Say that a file cannot be read to its end."""
        self.counts.status = 1
        self.errors.append(CaptureError(damage_text(file, record), offset=record.offset))

    def _nothing_found(self, name: str, reader: CaptureReader, frames: int) -> None:
        """Say that a capture holds nothing of MSMQ."""
        self.counts.status = 1
        self.notices.append(named(name, nothing_found(reader, frames)))


class Seen:
    """Whether anything was found in files of one capture, whether any is damaged, and whether this one is."""

    found = damaged = damaged_here = False


def damage_text(file: str, record: Record) -> str:
    """What a record says of a damaged file."""
    return named(file, record.reason or "the file is damaged")


def tells(record: Record, reader: CaptureReader) -> bool:
    """Whether a record tells of MSMQ: no gap of a whole file, nor a step of what others talk about."""
    return reader.on_ports if record.type == "tcp_stream" else record.frames_missing is None


def named(file: str, message: str) -> str:
    """The message with the name of the file in front, unless it has it already."""
    name = "standard input" if file == "-" else file
    return message if name in message else f"{name}: {message}"


def _is_sealed(record: Record) -> bool:
    return isinstance(record.packet, RpcCall) and record.packet.sealed


def _is_pipe(file: str) -> bool:
    try:
        mode = (os.fstat(sys.stdin.fileno()) if file == "-" else os.stat(file)).st_mode
    except (OSError, ValueError):
        # Standard input that is no file of the system.
        return file == "-"
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)
