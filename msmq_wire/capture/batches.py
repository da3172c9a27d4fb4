"""`read_batches`: reads a capture as batches of packets by column, without an object for each frame."""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.capture.batch_builder import batch_of
from msmq_wire.capture.chunks import ChunkDecoder
from msmq_wire.capture.frames import FrameDecoder
from msmq_wire.capture.index import read_chunks
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.source import CaptureSource, Source
from msmq_wire.errors import CaptureError
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.recognition import Ports
from msmq_wire.rpc.pdu_protection import Negotiator

CHUNK_SIZE = 1 << 23
"""Bytes of a capture that are read together; small enough for the cache of a processor."""


class BatchReader:
    """Reads a source through ``finder``, and iterates over its batches.

    ``frames`` counts the frames so far. ``first`` and ``last`` are their earliest and latest time, None if no
    frame has a time. ``cut`` counts truncated frames, ``snapped`` is the largest captured size of one.

    If the source continues a capture of several files, ``decoder`` is the one that read the files before,
    ``after`` is the number of their frames, and ``capture`` is the name of the capture.
    """

    def __init__(
        self,
        source: Source,
        finder: PacketFinder,
        *,
        chunk_size: int | None = None,
        decoder: FrameDecoder | None = None,
        after: int = 0,
        capture: str | None = None,
    ) -> None:
        self._source = source
        self._capture = source.name if capture is None else capture
        self._after = after
        self._chunks = ChunkDecoder(finder, decoder)
        self._chunk_size = chunk_size or CHUNK_SIZE
        self.frames = 0
        self.first: int | None = None
        self.last: int | None = None
        self.cut = 0
        self.snapped = 0

    def __iter__(self) -> Iterator[PacketBatch]:
        """Yield batches of complete packets; raises as `read_frames` does."""
        for chunk in read_chunks(self._source.window(), self._chunk_size, self._source.losses):
            self.frames += len(chunk)
            cut, snapped = chunk.cut()
            self.cut, self.snapped = self.cut + cut, max(self.snapped, snapped)
            times = chunk.time[chunk.time > 0]
            if len(times):
                first, last = int(times.min()), int(times.max())
                self.first = first if self.first is None else min(self.first, first)
                self.last = last if self.last is None else max(self.last, last)
            if self._after:
                chunk.numbers = chunk.numbers + self._after
            batch = self._chunks.take(chunk, self._capture)
            if len(batch) or batch.others:
                yield batch


def read_batches(
    source: CaptureSource,
    *,
    ports: Ports = (),
    chunk_size: int | None = None,
    streams: bool = False,
    negotiator: Negotiator | None = None,
) -> Iterator[PacketBatch]:
    """Yield the packets and records of a capture in batches, the same ones as `read_capture`.

    A batch has the packets that end in about ``chunk_size`` bytes of the capture. Needs numpy and pyarrow.
    The other arguments, and the errors, are those of `CaptureReader`.
    """
    with Source(source) as opened:
        finder = PacketFinder(capture=opened.name, ports=ports, negotiator=negotiator)
        failure: CaptureError | None = None
        batches = BatchReader(opened, finder, chunk_size=chunk_size)
        try:
            for batch in batches:
                yield from batch.shown(streams=streams)
        except CaptureError as error:
            if not opened.is_capture:
                raise
            failure = error
        losses = opened.losses
        items = list(finder.finish())
        items += finder.lacks(losses.dropped, losses.filters, batches.cut, batches.snapped)
        if failure is not None:
            items.append(finder.file_error(failure.message, failure.offset))
        if items:
            yield from batch_of(opened.name, items).shown(streams=streams)
