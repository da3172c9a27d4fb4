"""`read_capture`: a capture file in, its records out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from msmq_wire.arguments import nearest, shown
from msmq_wire.capture.capture_summary import Summary
from msmq_wire.capture.frames import FrameDecoder
from msmq_wire.capture.pcapng import CaptureLosses
from msmq_wire.capture.source import CaptureSource, Source
from msmq_wire.engines.codec import default_engine
from msmq_wire.errors import ArgumentError, CaptureError
from msmq_wire.records.decoder import decoded
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.joined_capture import JoinedCapture
from msmq_wire.records.projection import ProjectedRows, Projection, projected_records
from msmq_wire.records.recognition import Ports
from msmq_wire.records.record import Record
from msmq_wire.representation import reading_line
from msmq_wire.rpc.pdu_protection import Negotiator

if TYPE_CHECKING:
    from msmq_wire.capture.packet_batch import PacketBatch

_T = TypeVar("_T")
_CHUNK_SIZE = 1 << 21
"""Bytes that are taken together: rows gain nothing from more, and what is made of small frames is 20 times as
much."""
_WORTH_COLUMNS = 3 << 20
"""Bytes of a file that take longer to read frame by frame than it takes to load numpy and pyarrow."""
_SOONER = 3
"""The part of them that is enough for batches, which gain more than records, and where both are loaded."""


def _loaded() -> bool:
    return "pyarrow" in sys.modules


class MergedFile(Protocol):
    """A file among those that the frames of a source were merged from.

    ``losses`` are what it says of itself, ``cut`` the frames of it that were given and hold at most
    ``snapped`` bytes. ``error`` says why it was not read to its end, ``is_capture`` that it began like one.
    """

    name: str
    cut: int
    snapped: int
    error: CaptureError | None

    @property
    def losses(self) -> CaptureLosses: ...
    @property
    def is_capture(self) -> bool: ...


class CaptureReader:
    """Iterates over the records of one capture, in order of completion.

    ``source`` is a path, ``"-"`` for standard input or a binary file object: pcap or pcapng, plain, gzip or
    zstd. ``ports`` are TCP ports to follow beside 1801; a mapping, as ``{8085: "http"}``, also says what they
    carry: msmq, rpc or http. ``streams`` shows the steps of connections, which
    have ids in any case; ``first_id`` numbers the first record. ``negotiator`` opens sealed calls: that of
    `msmq_wire.rpc.unseal`. Memory stays bounded. Raises CaptureError when the source cannot be opened or is
    no capture; damage later on ends the iteration with an ``error`` record. ``summary`` counts as it goes.

    ``columns`` says whether frames are read by column, many at once: the same records several times faster.
    That needs numpy and pyarrow, and waits for whole chunks. By default it is done for what is seekable and
    not small, if both are installed and ``MSMQ_WIRE_ENGINE`` does not ask for the reference engine.

    A capture may lie in several files, each with a reader: ``joined`` is its name, the same for all of them,
    and ``after`` the reader of the file before, which was read to its end. Connections go on over the border,
    frames and ids are numbered on, ``summary.packets`` counts those of all files. What is still open after
    the last file is what `finish` of its reader gives. Frames have their own number in their file where
    `msmq_wire.records.joined_capture.located` tells it. ``parts`` are the files of a source that was merged
    from several (`msmq_wire.capture.vantage`): each says what is missing from it.
    """

    def __init__(
        self,
        source: CaptureSource,
        *,
        ports: Ports = (),
        streams: bool = False,
        first_id: int = 1,
        negotiator: Negotiator | None = None,
        columns: bool | None = None,
        joined: JoinedCapture | None = None,
        after: CaptureReader | None = None,
        parts: Sequence[MergedFile] = (),
    ) -> None:
        self.source = Source(source)
        self.summary: Summary = Summary() if after is None else Summary(packets=after.summary.packets)
        self._columns = columns
        self._joined = joined
        self._parts = parts
        self._after: int = 0 if after is None else after._after + after.summary.frames
        if joined is not None:
            joined.begin(self.source.name, self._after)
        if after is None:
            self._finder = PacketFinder(
                capture=self.source.name if joined is None else joined,
                ports=ports,
                first_id=first_id,
                negotiator=negotiator,
            )
            self._decoder = FrameDecoder(self._finder)
        else:
            self._finder, self._decoder = after._finder, after._decoder
        self._streams = streams
        self._ended = False

    def __repr__(self) -> str:
        given = self.summary.packets.total()
        return reading_line(self, self.source.name, "record", given, ended=self._ended)

    def __enter__(self) -> CaptureReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self.source.close()

    def __iter__(self) -> Iterator[Record]:
        for record in self._walk(lambda batch: batch.records()):
            self.summary.packets[record.type] += 1
            yield record

    def projected(self, projection: Projection) -> Iterator[Record | ProjectedRows]:
        """Iterate over records, and over rows in place of those that are messages."""
        if not self._by_column():
            yield from projected_records(self, projection)
            return
        for item in self._walk(partial(_briefed, projection)):
            self.summary.packets.update((item.type,) if isinstance(item, Record) else item.types)
            yield item

    def batched(self) -> Iterator[Record | PacketBatch]:
        """Iterate over batches where frames are read by column, and over the records of all else."""
        self._columns = self._by_column(batched=True)
        for item in self._walk(lambda batch: iter((batch,))):
            self.summary.packets.update((item.type,) if isinstance(item, Record) else item.types())
            yield item

    @property
    def last_id(self) -> int:
        """The id that was given last, that of a step which is not shown included."""
        return self._finder.next_id - 1

    def count(self) -> int:
        """Read to the end; give the id of the last record. No packet is decoded by column."""
        for _ in self._walk(lambda batch: iter(())):
            pass
        return self.last_id

    def _by_column(self, *, batched: bool = False) -> bool:
        """Whether frames are read by column, which is said or gains time."""
        if self._columns is not None:
            return self._columns
        total, enough = self.source.total, _WORTH_COLUMNS
        if batched or _loaded():
            enough //= _SOONER
        if total is None or total < enough or default_engine() == "reference":
            return False
        return find_spec("numpy") is not None and find_spec("pyarrow") is not None

    def _walk(self, reported: Callable[[PacketBatch], Iterator[_T]]) -> Iterator[Record | _T]:
        """Everything in order, each batch as it is to be ``reported``."""
        finder, summary = self._finder, self.summary
        summary.skipped, summary.notices = finder.skipped, finder.notices
        failure: CaptureError | None = None
        try:
            yield from self._read_columns(reported) if self._by_column() else self._read_frames()
        except CaptureError as error:
            if not self.source.is_capture:
                raise
            failure = error
        if self._joined is None:
            yield from self._open_ends()
        name, losses = self.source.name, self.source.losses
        lacking = [] if self._parts else [(name, losses, summary.cut, summary.snapped, failure)]
        for part in self._parts:
            damage = part.error if part.is_capture else None
            lacking.append((part.name, part.losses, part.cut, part.snapped, damage))
        found = [(one[0], record) for one in lacking for record in self._lacks(*one[1:])]
        summary.understood = finder.understood
        for file, record in found:
            if self._joined is not None:
                self._joined.own(record.id, file)
            yield record
        self._ended = True

    def _lacks(
        self, losses: CaptureLosses, cut: int, snapped: int, failure: CaptureError | None
    ) -> list[Record]:
        """What a file lacks as a whole."""
        lacking = self._finder.lacks(losses.dropped, losses.filters, cut, snapped)
        if failure is not None:
            lacking.append(self._finder.file_error(failure.message, failure.offset))
        return lacking

    @property
    def on_ports(self) -> bool:
        """Whether any frame was on a port of MSMQ; calls and HTTP on other ports may be of others."""
        return self._finder.on_ports

    def _open_ends(self) -> Iterator[Record]:
        yield from decoded(self._finder.finish(), streams=self._streams)

    def finish(self) -> Iterator[Record]:
        """Yield what the last file of a joined capture leaves open."""
        for record in self._open_ends():
            self.summary.packets[record.type] += 1
            yield record
        self.summary.understood = self._finder.understood

    def _read_frames(self) -> Iterator[Record]:
        finder, summary = self._finder, self.summary
        frames, after = self._decoder, self._after
        for frame in self.source.frames():
            summary.frames += 1
            size = len(frame.data)
            if frame.length > size:
                summary.cut += 1
                summary.snapped = max(summary.snapped, size)
            if after:
                frame = msgspec.structs.replace(frame, number=frame.number + after)
            if frame.time:
                summary.first = frame.time if summary.first is None else min(summary.first, frame.time)
                summary.last = frame.time if summary.last is None else max(summary.last, frame.time)
            yield from decoded(frames.frame(frame), streams=self._streams)
            summary.understood = finder.understood

    def _read_columns(self, reported: Callable[[PacketBatch], Iterator[_T]]) -> Iterator[_T]:
        # Loads numpy and pyarrow, which nothing else here needs.
        from msmq_wire.capture.batches import BatchReader

        finder, summary = self._finder, self.summary
        batches = BatchReader(
            self.source,
            finder,
            chunk_size=_CHUNK_SIZE,
            decoder=self._decoder,
            after=self._after,
            capture=self._joined,
        )
        try:
            for batch in batches:
                summary.frames, summary.understood = batches.frames, finder.understood
                for shown in batch.shown(streams=self._streams):
                    yield from reported(shown)
        finally:
            # Frames that complete nothing count as well, also those before the damage of a file.
            summary.frames, summary.first, summary.last = batches.frames, batches.first, batches.last
            summary.cut, summary.snapped = batches.cut, batches.snapped


def _briefed(projection: Projection, batch: PacketBatch) -> Iterator[Record | ProjectedRows]:
    # Loads numpy and pyarrow, which nothing else here needs.
    from msmq_wire.capture.projected_rows import projected

    return projected(batch, projection)


def read_capture(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    negotiator: Negotiator | None = None,
    type: str | None = None,
) -> Iterator[Record]:
    """Yield the records of a capture, those of one ``type`` where it is given.

    The type ``tcp_stream`` asks for ``streams``. The other arguments, and errors, as for `CaptureReader`;
    ArgumentError where no record is of such a type.
    """
    if type is not None:
        _check_type(type)
        streams = streams or type == "tcp_stream"
    with CaptureReader(source, ports=ports, streams=streams, negotiator=negotiator) as reader:
        yield from (record for record in reader if type is None or record.type == type)


def _check_type(name: str) -> None:
    # Loads what calls and SRMP are made of.
    from msmq_wire.records.composed import RECORD_TYPES

    if name not in RECORD_TYPES:
        near = nearest(name, RECORD_TYPES)
        known = f"did you mean {near!r}?" if near else f"there are {', '.join(sorted(RECORD_TYPES))}"
        raise ArgumentError(f"no record is of type {shown(name)}: {known}")
