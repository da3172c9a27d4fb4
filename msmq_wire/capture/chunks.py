"""The records of a chunk of a capture: what is regular by columns, everything else frame by frame.

The rule kept here: the result, and every state left behind, is what `FrameDecoder` leaves when it takes the
frames one by one. A piece of the chunk in which a limit that connections share could be reached is cut in
half until it cannot, or taken frame by frame; what an IP fragment completes cannot be told in advance, so
fragments cut a chunk into pieces.
"""

from __future__ import annotations

import msgspec
import numpy as np

from msmq_wire.capture.batch_builder import BatchBuilder
from msmq_wire.capture.frames import FrameDecoder
from msmq_wire.capture.index import Array, Chunk
from msmq_wire.capture.link import Datagram, dissect
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.regular_frames import RegularFrames, read_regular
from msmq_wire.capture.segment_batch import SegmentBatch
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.recognition import NOT_MSMQ_UDP

FEW_FRAMES = 64
"""Fewer frames than that are taken one by one: the arrays would cost more."""


class ChunkDecoder:
    """Takes the chunks of a capture in order; ``frames`` is what took the frames before them, if any."""

    def __init__(self, finder: PacketFinder, frames: FrameDecoder | None = None) -> None:
        self._finder = finder
        self._frames = FrameDecoder(finder) if frames is None else frames

    def take(self, chunk: Chunk, capture: str) -> PacketBatch:
        """Return what the frames of a chunk complete, as records of ``capture``."""
        first_id = self._finder.next_id
        builder = BatchBuilder(chunk.numbers, chunk.time)
        _Parts(chunk, self._finder, self._frames, builder).take()
        batch = builder.batch(capture, first_id)
        self._finder.next_id = first_id + len(batch) + len(batch.others)
        return batch


class _Parts:
    """The parts of one chunk."""

    def __init__(
        self, chunk: Chunk, finder: PacketFinder, frames: FrameDecoder, builder: BatchBuilder
    ) -> None:
        self._chunk = chunk
        self._finder = finder
        self._frames = frames
        self._builder = builder

    def take(self) -> None:
        """Take the whole chunk."""
        chunk = self._chunk
        if len(chunk) < FEW_FRAMES:
            self._one_by_one(0, len(chunk))
            return
        regular = read_regular(chunk)
        self._others: list[tuple[int, Datagram]] = []
        self._odd: dict[int, TcpSegment] = {}
        fragments: list[int] = []
        for index in regular.other.tolist():
            for datagram in dissect(chunk.frame(index)):
                if isinstance(datagram, TcpSegment):
                    self._odd[index] = datagram
                else:
                    self._others.append((index, datagram))
                    if isinstance(datagram, IpFragment):
                        fragments.append(index)
        if self._odd:
            regular = regular.with_segments(list(self._odd), list(self._odd.values()))
        self._regular = regular
        self._other_places = np.array([index for index, _ in self._others], np.int64)
        start = 0
        for index in fragments:
            self._take(start, index)
            self._one_by_one(index, index + 1)
            start = index + 1
        self._take(start, len(chunk))

    def _take(self, start: int, stop: int) -> None:
        """Take the frames from ``start`` to ``stop``, none of them a fragment."""
        if stop - start < max(FEW_FRAMES, 2):
            self._one_by_one(start, stop)
            return
        low, high = np.searchsorted(self._regular.index, (start, stop)).tolist()
        if low < high:
            segment_batch = SegmentBatch(
                self._chunk, _rows(self._regular, low, high), self._odd, self._finder
            )
            if not segment_batch.take(self._builder):
                half = (start + stop) // 2
                self._take(start, half)
                self._take(half, stop)
                return
        first, last = np.searchsorted(self._other_places, (start, stop)).tolist()
        for index, datagram in self._others[first:last]:
            self._builder.add(self._frames.datagram(datagram), index)
        first, last = np.searchsorted(self._regular.udp, (start, stop)).tolist()
        if first < last:
            self._finder.skipped[NOT_MSMQ_UDP] += last - first

    def _one_by_one(self, start: int, stop: int) -> None:
        for index in range(start, stop):
            self._builder.add(self._frames.frame(self._chunk.frame(index)), index)


def _rows(regular: RegularFrames, low: int, high: int) -> RegularFrames:
    """The segments from row ``low`` to ``high``."""
    names = (
        "index", "source", "target", "sport", "dport", "seq", "ack", "flags", "at", "size", "cut", "window",
        "network",
    )  # fmt: skip
    columns: dict[str, Array] = {name: getattr(regular, name)[low:high] for name in names}
    wide = None if regular.wide is None else regular.wide[low:high]
    path = None if regular.path is None else regular.path[low:high]
    return msgspec.structs.replace(regular, **columns, wide=wide, path=path)
