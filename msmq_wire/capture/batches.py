"""`read_batches`: a capture in, its packets by column out, without an object for each frame."""

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
"""Bytes of a capture that are taken together: small enough for a processor's cache."""


class BatchReader:
    """Reads a source through ``finder``; ``frames`` counts those read so far.

    ``first`` and ``last`` are their earliest and latest time, None where none has one. ``cut`` counts those
    that were captured in part, ``snapped`` is the largest part. Where the source goes on with a capture,
    ``decoder`` took the frames of the files before, ``after`` in number, and ``capture`` is what the capture
    is called.
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
        """Yield what is complete; errors as for `read_frames`."""
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
    """Yield the packets and records of a capture in batches; together they are those of `read_capture`.

    ``chunk_size`` is about how many bytes of the capture are taken together; a batch is what they complete.
    Needs numpy and pyarrow. Arguments and errors are otherwise those of `CaptureReader`.
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
