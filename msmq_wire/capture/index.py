"""Where the frames of a capture are, a chunk of the file at a time, without an object for each frame.

The rule kept here: the same frames and the same damage as `msmq_wire.capture.pcap` and
`msmq_wire.capture.pcapng` tell. Only the lengths of the records are looked at one by one; what else the
record headers say is read for all frames of a chunk at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any, TypeAlias

import numpy as np

from msmq_wire.capture.pcap import FILE_HEADER, Frame, PcapHeader, Window, read_header
from msmq_wire.capture.pcapng import (
    BLOCK_HEADER,
    END_OF_TIME,
    ENHANCED_PACKET,
    PCAPNG_MAGIC,
    Blocks,
    CaptureLosses,
)
from msmq_wire.errors import CaptureError
from msmq_wire.units import SECOND

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_MAX_FRAMES = 1 << 17
_SLACK = 64  # bytes behind the chunk, so that a header of fixed size can be read wherever a frame starts


class Chunk:
    """Whole frames of a capture, in order.

    ``data`` holds the bytes of the file, ``position`` is the offset of its first byte; it is used again for
    the next chunk. The arrays have one int64 per frame: ``numbers`` are those of the frames, ``record`` and
    ``at`` are offsets in ``data`` of the record and of the captured bytes, ``captured`` and ``length`` count
    these and the bytes on the wire, ``time`` is nanoseconds since 1970 (0 when there is none), ``link_type``
    a LINKTYPE number, ``interface`` the number of the capture interface: None where it is 0 for all.
    """

    __slots__ = (
        "at", "captured", "data", "interface", "length", "link_type", "numbers", "position", "record", "time",
    )  # fmt: skip

    def __init__(
        self,
        data: bytearray,
        position: int,
        numbers: Array,
        *,
        record: Array,
        at: Array,
        captured: Array,
        length: Array,
        time: Array,
        link_type: Array,
        interface: Array | None = None,
    ) -> None:
        self.data = data
        self.position = position
        self.numbers = numbers
        self.record = record
        self.at = at
        self.captured = captured
        self.length = length
        self.time = time
        self.link_type = link_type
        self.interface = interface

    def __len__(self) -> int:
        return len(self.at)

    def select(self, places: Array) -> Chunk:
        """Return the frames at ``places`` alone, over the same bytes."""
        names = ("numbers", "record", "at", "captured", "length", "time", "link_type")
        columns = {name: getattr(self, name)[places] for name in names}
        interface = None if self.interface is None else self.interface[places]
        return Chunk(self.data, self.position, **columns, interface=interface)

    def cut(self) -> tuple[int, int]:
        """Return how many frames were captured in part, and the bytes of the largest part."""
        cut = self.captured[self.length > self.captured]
        return len(cut), int(cut.max(initial=0))

    def frame(self, index: int) -> Frame:
        """Return a frame as the exact readers give it, except that no time is time 0."""
        at = int(self.at[index])
        return Frame(
            int(self.numbers[index]),
            int(self.time[index]),
            int(self.link_type[index]),
            bytes(self.data[at : at + int(self.captured[index])]),
            int(self.length[index]),
            self.position + int(self.record[index]),
            0 if self.interface is None else int(self.interface[index]),
        )


def interfaces_of(parts: Sequence[Chunk]) -> Array | None:
    """Return the interfaces of the frames of several chunks."""
    if all(part.interface is None for part in parts):
        return None
    zero = np.zeros(max(map(len, parts)), np.int64)
    return np.concatenate([zero[: len(one)] if one.interface is None else one.interface for one in parts])


def rows_at(data: bytearray, dtype: Any, offsets: Array) -> Array:
    """Return what lies at ``offsets`` of ``data`` as an array of ``dtype``; they need not be aligned.

    The offsets must leave room for one ``dtype`` each.
    """
    kind = np.dtype(dtype)
    # numpy copies records field by field, and bytes without a type at once: up to 15 times as fast.
    shape, regular = (len(data) - kind.itemsize + 1,), f"V{kind.itemsize}"
    everywhere: Array = np.ndarray(shape, regular, data, strides=(1,))
    return everywhere[offsets].view(kind)


def read_chunks(window: Window, size: int, losses: CaptureLosses | None = None) -> Iterator[Chunk]:
    """Yield the frames of the pcap or pcapng file at the window's first byte, about ``size`` bytes at a time.

    A chunk is used up before the next one is asked for. Raises `CaptureError` after the frames before the
    damage.
    """
    if window.buffer[:4] == PCAPNG_MAGIC:
        yield from pcapng_chunks(window, size, Blocks(losses=losses))
    else:
        header = read_header(window)
        window.more(FILE_HEADER, 0)
        yield from pcap_chunks(window, size, header)


class _Buffer:
    """The part of the file that is looked at: ``data[:used]``; ``start`` is the offset of ``data[0]``."""

    def __init__(self, window: Window, size: int) -> None:
        self._window = window
        self._size = max(size, FILE_HEADER)
        self.data = bytearray(self._size + _SLACK)
        self.used = 0
        self.start = window.start

    def refill(self, at: int, need: int) -> bool:
        """Drop the bytes before ``at`` and read on; False when fewer than ``need`` are there then."""
        kept = self.data[at : self.used]
        self.start += at
        if need > self._size:
            self._size = need
            self.data = bytearray(need + _SLACK)
        self.data[: len(kept)] = kept
        self.used = len(kept)
        with memoryview(self.data) as view:
            while self.used < self._size:
                count = self._window.read_into(view[self.used : self._size])
                if not count:
                    break
                self.used += count
        return self.used >= need

    def ends_cleanly(self) -> bool:
        """Whether nothing is left, and nothing was wrong with the stream."""
        return not self.used and self._window.failure is None

    def cut(self, what: str) -> CaptureError:
        """Return the error for a file that ends inside ``what``, which starts at ``data[0]``."""
        return self._window.failure or CaptureError(f"the file is cut inside {what}", offset=self.start)


def pcap_chunks(window: Window, size: int, header: PcapHeader, number: int = 1) -> Iterator[Chunk]:
    """Yield the frames of a classic pcap file from the window's first byte on, which starts a record.

    ``header`` is what the file header says, ``number`` that of the first frame; otherwise as `read_chunks`.
    """
    buffer = _Buffer(window, size)
    claimed = Struct(header.order + "8xI").unpack_from
    if header.swaps:
        claimed = _smaller(header.order)
    fields = np.dtype([(name, header.order + "u4") for name in ("seconds", "fraction", "captured", "length")])
    size = header.header
    at, need = 0, size
    while True:
        data, used = buffer.data, buffer.used
        if used - at >= need:
            record, at = _walk(data, at, used, size, claimed)
            rows = rows_at(data, fields, record)
            captured, length = (rows[name].astype(np.int64) for name in ("captured", "length"))
            if header.swaps:
                captured, length = np.minimum(captured, length), np.maximum(captured, length)
            too_large = np.flatnonzero(captured > header.largest)
            if len(too_large):
                at = int(record[too_large[0]])
                record, rows, captured, length = (
                    part[: too_large[0]] for part in (record, rows, captured, length)
                )
            if len(record):
                time = rows["seconds"].astype(np.int64) * SECOND
                yield Chunk(
                    data,
                    buffer.start,
                    np.arange(number, number + len(record)),
                    record=record,
                    at=record + size,
                    captured=captured,
                    length=length,
                    time=time + rows["fraction"].astype(np.int64) * header.unit,
                    link_type=np.full(len(record), header.link_type, np.int64),
                )
                number += len(record)
        need = size
        if used - at >= size:
            (claim,) = claimed(data, at)
            if claim > header.largest:
                raise CaptureError(
                    f"a record claims {claim} bytes, over {header.largest}", offset=buffer.start + at
                )
            need += claim
            if used - at >= need:
                continue
        whole = buffer.refill(at, need)
        at = 0
        if not whole:
            if need == size and buffer.used < size:
                if buffer.ends_cleanly():
                    return
                raise buffer.cut("a record header")
            raise buffer.cut(f"a record of {need - size} bytes")


def _smaller(order: str) -> Any:
    """What a record claims whose lengths may be swapped."""
    both = Struct(order + "8xII").unpack_from
    return lambda data, at: (min(both(data, at)),)


def _walk(data: bytearray, at: int, used: int, header: int, claimed: Any) -> tuple[Array, int]:
    """Return where whole records start in ``data[at:used]``, and where the next one does."""
    found: list[int] = []
    append = found.append
    end = used - header
    while at <= end and len(found) < _MAX_FRAMES:
        # No counter in the inner loop: so many records take at least so many headers.
        last = min(end, at + (_MAX_FRAMES - len(found) - 1) * header)
        while at <= last:
            append(at)
            at += header + claimed(data, at)[0]
    if at > used:
        at = found.pop()
    return np.array(found, np.int64), at


def pcapng_chunks(window: Window, size: int, blocks: Blocks) -> Iterator[Chunk]:
    """Yield the frames of a pcapng file from the window's first byte on, which starts a block.

    ``blocks`` knows what the blocks before it say; otherwise as `read_chunks`.
    """
    buffer = _Buffer(window, size)
    at = 0
    buffer.refill(0, BLOCK_HEADER)
    while True:
        # Blocks of other kinds may stand between any packets: what one buffer holds is one chunk.
        parts: list[Chunk] = []
        try:
            at, need = _take_blocks(buffer, blocks, at, parts)
        except CaptureError:
            if parts:
                yield _joined(parts)
            raise
        if parts:
            yield _joined(parts)
        if not need:
            continue
        whole = buffer.refill(at, need)
        at = 0
        if not whole:
            if buffer.used < BLOCK_HEADER:
                if buffer.ends_cleanly() and blocks.section >= 0:
                    return
                raise buffer.cut("a block header")
            if need > BLOCK_HEADER:
                raise buffer.cut(f"a block of {need} bytes")


def _take_blocks(buffer: _Buffer, blocks: Blocks, at: int, parts: list[Chunk]) -> tuple[int, int]:
    """Add the frames from ``at`` on to ``parts``; return where they end, and the bytes needed to go on.

    No bytes are needed when there are only too many frames for one chunk.
    """
    first = blocks.number
    while blocks.number - first < _MAX_FRAMES:
        found, at = _walk_blocks(buffer, blocks, at)
        if found:
            # One by one: what comes before damage counts.
            for chunk in _enhanced(buffer, blocks, np.array(found, np.int64)):
                parts.append(chunk)
        need = BLOCK_HEADER
        if buffer.used - at < need:
            return at, need
        need = blocks.measure(buffer.data, at, buffer.start + at)
        if buffer.used - at < need:
            return at, need
        frame = blocks.take(buffer.data, at, need, buffer.start + at)
        if frame is not None:
            parts.append(_single(buffer, frame, at))
        at += need
    return at, 0


def _joined(parts: list[Chunk]) -> Chunk:
    """Chunks of one buffer, one behind the other, as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    names = ("numbers", "record", "at", "captured", "length", "time", "link_type")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Chunk(first.data, first.position, **columns, interface=interfaces_of(parts))


def _walk_blocks(buffer: _Buffer, blocks: Blocks, at: int) -> tuple[list[int], int]:
    """Return where enhanced packet blocks start, up to the first block that is something else."""
    found: list[int] = []
    if not blocks.interfaces:
        return found, at
    data, used, block = buffer.data, buffer.used, blocks.order.block
    last = used - BLOCK_HEADER
    while at <= last and len(found) < _MAX_FRAMES:
        kind, total = block(data, at)
        if kind != ENHANCED_PACKET or total < 32 or total & 3 or at + total > used:
            break
        found.append(at)
        at += total
    return found, at


def _enhanced(buffer: _Buffer, blocks: Blocks, record: Array) -> Iterator[Chunk]:
    data, start = buffer.data, buffer.start
    names = ("kind", "total", "interface", "high", "low", "captured", "length")
    rows = rows_at(data, np.dtype([(name, blocks.order.byte_order + "u4") for name in names]), record)
    total, interface = rows["total"].astype(np.int64), rows["interface"].astype(np.int64)
    captured = rows["captured"].astype(np.int64)
    trailer = rows_at(data, blocks.order.byte_order + "u4", record + total - 4)
    wrong = np.flatnonzero(
        (trailer != rows["total"]) | (interface >= len(blocks.interfaces)) | (captured > total - 32)
    )
    count = int(wrong[0]) if len(wrong) else len(record)
    if count:
        options = record + 28 + captured + (-captured & 3)
        for row in np.flatnonzero(record + total - 4 - options >= 12).tolist():
            if row < count:
                blocks.dropped_before(data, int(options[row]), int(record[row] + total[row]) - 4)
        ticks = rows["high"].astype(np.uint64) << np.uint64(32) | rows["low"]
        times = np.zeros(count, np.int64)
        links = np.zeros(count, np.int64)
        for index in np.unique(interface[:count]).tolist():
            its = np.flatnonzero(interface[:count] == index)
            clock = blocks.interfaces[index]
            links[its] = clock.link_type
            times[its] = _times(ticks[its], clock.multiplier, clock.divisor, clock.offset)
        yield Chunk(
            data,
            start,
            np.arange(blocks.number + 1, blocks.number + 1 + count),
            record=record[:count],
            at=record[:count] + 28,
            captured=captured[:count],
            length=rows["length"][:count].astype(np.int64),
            time=times,
            link_type=links,
            interface=interface[:count] if interface[:count].any() else None,
        )
        blocks.number += count
    if count < len(record):
        at = int(record[count])
        blocks.take(data, at, int(total[count]), start + at)


def _times(ticks: Array, multiplier: int, divisor: int, offset: int) -> Array:
    """Return nanoseconds; 0 where they do not fit 63 bits."""
    low, high = int(ticks.min()) * multiplier + offset, int(ticks.max()) * multiplier + offset
    # Neither the product nor the offset alone may leave 64 bits on the way.
    if divisor == 1 and abs(offset) < END_OF_TIME and low >= 0 and max(high, high - offset) < END_OF_TIME:
        found: Array = ticks.astype(np.int64) * multiplier + offset
        return found
    exact = [tick * multiplier // divisor + offset for tick in ticks.tolist()]
    return np.array([time if 0 <= time < END_OF_TIME else 0 for time in exact], np.int64)


def _single(buffer: _Buffer, frame: Frame, record: int) -> Chunk:
    """The chunk for a frame that was read by itself; its bytes end 4 bytes before the block at the most."""
    at = buffer.data.find(frame.data, record) if frame.data else record

    def one(value: int) -> Array:
        return np.array([value], np.int64)

    return Chunk(
        buffer.data,
        buffer.start,
        one(frame.number),
        record=one(record),
        at=one(at),
        captured=one(len(frame.data)),
        length=one(frame.length),
        time=one(frame.time or 0),
        link_type=one(frame.link_type),
        interface=one(frame.interface) if frame.interface else None,
    )
