"""The segments of many TCP connections put in order at once, by columns.

The rule kept here: only what the short path of `TcpReassembler.feed` would take one by one is taken together:
data that follows without a hole, and acknowledgements. Whether it follows what came before is for the caller
to compare with the reassembler.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.reassembly.tcp_events import ACK, FIN, RST, SYN
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE, SIGNATURE, VERSION_NUMBER

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_CONTROL = FIN | SYN | RST
_PLAIN = _CONTROL | ACK
_ROW_BITS = 20
_ROWS = np.uint64((1 << _ROW_BITS) - 1)
_MIX = ((0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F), (0xD6E8FEB86659FD93, 0xA0761D6478BD642F))

_BASE_HEADER = 16
_SESSION_HEADER = 16
_SIZED = 12
_SMALLEST = 20
_HEADER = np.dtype(
    {
        "names": ["version", "flags", "signature", "packet_size"],
        "formats": ["u1", "u1", "<u4", "<u4"],
        "offsets": [0, 2, 4, 8],
        "itemsize": _SIZED,
    }
)
_read_header = Struct("<2xB1xII").unpack_from

_VIEW = np.dtype([("size", "<i4"), ("inline", "V4"), ("buffer", "<i4"), ("at", "<i4")])
_INLINE = 12  # bytes that Arrow keeps in the view itself


def gather(data: Any, at: Array, size: Array) -> Array:
    """Copy the pieces ``data[at : at + size]`` one behind the other; ``data`` goes 12 bytes further.

    Returns an array of uint8 with 12 bytes more than the pieces have.
    """
    views = np.zeros(len(at) + 1, _VIEW)
    views["size"][:-1], views["at"][:-1] = size, at
    short = np.flatnonzero(size <= _INLINE)
    if len(short):
        inline = views.view(np.uint8).reshape(-1, _VIEW.itemsize)
        columns = np.arange(_INLINE)
        piece = np.frombuffer(data, np.uint8)[at[short, None] + columns]
        inline[short, 4:] = np.where(columns < size[short, None], piece, 0)
    views["size"][-1] = _INLINE
    pieces = pa.Array.from_buffers(
        pa.binary_view(), len(views), [None, pa.py_buffer(views), pa.py_buffer(data)]
    )
    joined = pieces.cast(pa.large_binary()).buffers()[2]
    return np.frombuffer(joined, np.uint8, int(size.sum()) + _INLINE)


def credible(data: bytearray, at: Array, size: Array) -> Array:
    """`is_credible` for the payloads at ``data[at : at + size]``; ``data`` goes 12 bytes further."""
    header = _headers(data, at)
    good = (size >= _SIZED) & (header["signature"] == SIGNATURE) & (header["version"] == VERSION_NUMBER)
    found: Array = good & (header["packet_size"] >= _SMALLEST) & (header["packet_size"] <= MAX_PACKET_SIZE)
    return found


def _headers(data: Any, at: Array) -> Array:
    # numpy copies records field by field, and bytes without a type at once.
    everywhere: Array = np.ndarray((len(data) - _SIZED + 1,), f"V{_SIZED}", data, strides=(1,))
    return everywhere[at].view(_HEADER)


class Connections(msgspec.Struct, frozen=True, eq=False):
    """Rows (segments) sorted by connection, in the order of the capture within each.

    ``order`` are the rows, ``starts`` says where in it each connection begins, and ends with its length.
    ``reverse`` tells, for each place in ``order``, the segments that go from the greater endpoint.
    """

    order: Array
    starts: Array
    reverse: Array

    def rows(self) -> Array:
        """The first row of each connection."""
        found: Array = self.order[self.starts[:-1]]
        return found

    def spread(self, values: Array) -> Array:
        """A value a connection as a value a place."""
        found: Array = np.repeat(values, np.diff(self.starts))
        return found

    def any(self, places: Array) -> Array:
        """For each connection, whether ``places`` holds anywhere in it."""
        found: Array = np.add.reduceat(places.astype(np.int64), self.starts[:-1]) > 0
        return found


def group(source: Array, target: Array, wide: Array | None) -> Connections | None:
    """Sort at least one and at most 2**20 segments by connection.

    ``source`` and ``target`` are uint64 for the endpoints, ``wide`` six uint64 a row (three an endpoint) for
    what they may fail to tell apart. None when connections cannot be told apart by hashing, which nobody
    meets by accident.
    """
    reverse = source > target
    low, high = np.where(reverse, target, source), np.where(reverse, source, target)
    if wide is not None:
        wide = np.where(reverse[:, None], wide[:, (3, 4, 5, 0, 1, 2)], wide)
    row = np.arange(len(source), dtype=np.uint64)
    for first, second in _MIX:
        mixed: Array = low * np.uint64(first) + high * np.uint64(second)
        mixed = mixed ^ mixed >> np.uint64(32)
        mixed = mixed * np.uint64(second)
        # Sorting numbers that hold their row is several times faster than sorting rows by a number.
        keyed = np.sort((mixed & ~_ROWS) | row)
        order = (keyed & _ROWS).astype(np.int64)
        new = np.ones(len(order), np.bool_)
        new[1:] = keyed[1:] >> np.uint64(_ROW_BITS) != keyed[:-1] >> np.uint64(_ROW_BITS)
        first_low, first_high = low[order], high[order]
        differs = (first_low[1:] != first_low[:-1]) | (first_high[1:] != first_high[:-1])
        if wide is not None:
            sorted_wide = wide[order]
            differs |= (sorted_wide[1:] != sorted_wide[:-1]).any(axis=1)
        if not (differs & ~new[1:]).any():
            starts = np.append(np.flatnonzero(new), len(order))
            return Connections(order=order, starts=starts, reverse=reverse[order])
    return None


class Payloads(msgspec.Struct, frozen=True, eq=False):
    """The payload of segments by place: first all of direction 0 (not reverse), then those of direction 1.

    ``place`` says where in `Connections.order` each one is, ``split`` where direction 1 starts, ``until``
    (one longer) where in ``data`` they start and the last one ends.
    """

    place: Array
    split: int
    until: Array
    data: Array


class Runs(msgspec.Struct, frozen=True, eq=False):
    """Where connections are regular: runs of places in which every segment follows what was before it.

    ``start`` is the first place of each run (ending with the number of places), ``low`` and ``high`` are the
    first payloads (`Payloads.place`) of direction 0 and 1 in it, ``of`` (one longer than there are
    connections) the first run of each connection. ``acks`` are the other places, one array a direction:
    all of them acknowledge. ``control`` marks places that are for the reassembler alone.
    """

    start: Array
    low: Array
    high: Array
    of: Array
    acks: tuple[Array, Array]
    control: Array

    @classmethod
    def find(
        cls,
        connections: Connections,
        payload_places: tuple[Array, Array],
        *,
        seq: Array,
        size: Array,
        flags: Array,
        alone: Array,
    ) -> Runs:
        """Find the runs; the arrays are by place, ``alone`` marks what is no plain segment."""
        reverse = connections.reverse
        control = alone | (flags & _PLAIN != ACK)
        breaks = control.copy()
        breaks[1:] |= control[:-1]
        breaks[connections.starts[:-1]] = True
        number = connections.spread(np.arange(len(connections.starts) - 1))
        for place in payload_places:
            before, here = place[:-1], place[1:]
            follows = seq[here] == seq[before] + size[before].astype(np.uint32)
            breaks[here[~follows & (number[here] == number[before])]] = True
        start = np.flatnonzero(breaks)
        split = len(payload_places[0])
        plain = ~control
        return cls(
            start=np.append(start, len(reverse)),
            low=np.append(np.searchsorted(payload_places[0], start), split),
            high=np.append(np.searchsorted(payload_places[1], start), len(payload_places[1])) + split,
            of=np.searchsorted(start, connections.starts),
            acks=(np.flatnonzero(plain & ~reverse), np.flatnonzero(plain & reverse)),
            control=control,
        )


class PacketChain:
    """Where packets are in `Payloads`, given where one starts.

    Most packets start with a segment: which of those follow each other is found for all of them at once.
    """

    def __init__(self, payloads: Payloads, max_pending: int) -> None:
        self._until = payloads.until
        self._data = payloads.data.data
        self._max_pending = max_pending
        at = payloads.until[:-1]
        header = _headers(payloads.data, at)
        length = _lengths(header["flags"], header["packet_size"])
        good = (header["signature"] == SIGNATURE) & (length <= max_pending)
        good &= np.diff(payloads.until) >= _SIZED
        self._start = at[good]
        self._stop = self._start + length[good]
        self._last = np.flatnonzero(np.append(self._stop[:-1] != self._start[1:], np.ones(1, np.bool_)))

    def follow(self, at: int, stop: int) -> tuple[Array, Array]:
        """Return where some packets from ``at`` on start and stop; none if none is whole before ``stop``."""
        first = int(np.searchsorted(self._start, at))
        if first < len(self._start) and self._start[first] == at:
            last = int(self._last[np.searchsorted(self._last, first)]) + 1
            last = min(last, first + int(np.searchsorted(self._stop[first:last], stop, side="right")))
            if last > first:
                return self._start[first:last], self._stop[first:last]
        return self._step(at, stop)

    def _step(self, at: int, stop: int) -> tuple[Array, Array]:
        found = [at]
        data, most = self._data, self._max_pending
        while stop - at >= _SIZED and len(found) <= 64:
            flags, signature, packet_size = _read_header(data, at)
            length = packet_size + (_SESSION_HEADER if flags & 0x18 == 0x10 else 0)
            length = max(length, _BASE_HEADER)
            if signature != SIGNATURE or length > stop - at or length > most:
                break
            at += length
            found.append(at)
        edges = np.array(found, np.int64)
        return edges[:-1], edges[1:]


def _lengths(flags: Array, packet_size: Array) -> Array:
    extra = np.where(flags & 0x18 == 0x10, _SESSION_HEADER, 0)
    found: Array = np.maximum(packet_size.astype(np.int64) + extra, _BASE_HEADER)
    return found
