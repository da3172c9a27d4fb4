"""A sample of the TCP segments of a capture, the same choice at every place that records them: `read_sample`.

The rule kept here: the choice depends on sequence numbers and payload alone, never on addresses, times or how
the bytes were cut into segments. Network cards put segments together, and routers change addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from msmq_wire.capture.index import Array, Chunk, read_chunks, rows_at
from msmq_wire.capture.link import dissect
from msmq_wire.capture.opened_file import OpenedFile, Opener
from msmq_wire.capture.regular_frames import RegularFrames, read_regular
from msmq_wire.capture.source import Source
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.tcp_events import ACK, FIN, RST, SYN, TcpSegment
from msmq_wire.records.endpoint import MSMQ_PORT, RPC_PORTS

_CHUNK = 1 << 21
_STEP = 1 << 10
"""Sequence numbers that are multiples of this are places of the stream that are looked at."""
_BYTES = 64
"""Bytes that are compared at a place; a packet of MSMQ has its time and its number in them."""
_FULL = 1400
"""Payload bytes of a segment that is full, and may be a part of another one elsewhere: its places tell."""
_PLACES_FROM = 256
SYN_ALONE, HANDSHAKE, BARE, DATA = 0, 1, 2, 3
"""What a row is: a SYN (32 bits that tell it), a SYN with an ACK, a segment without payload, payload."""
REPEATED = 2_000_000
"""Nanoseconds after which the same segment is a retransmission, and no copy by a second tap."""
_TICKS = (15_625_000, 15_600_100, 1_000_000)
"""Nanoseconds after which coarse clocks of Windows go on."""
_COARSE, _EQUAL = 900_000, 10
"""Steps of a coarse clock, in ns, at least, and of how many frames one has the time of the one before."""
_LEVELS = 64
_NO_TICK, _ROUNDED, _STEPS_SEEN = 1 << 62, 3000, 256

_MIX = np.random.default_rng(54).integers(1 << 62, 1 << 63, 12, np.uint64) * np.uint64(2) + np.uint64(1)
_WIDE = np.uint64(1 << 63)
_PRIORITY = np.array(sorted({MSMQ_PORT, *RPC_PORTS}))


class SegmentSample:
    """Rows of a sample, by column.

    ``place`` and ``content`` (uint64) stand for sequence numbers, and for the bytes there: 0 without payload.
    ``source`` and ``target`` are the ends, as in `RegularFrames`; ``wide`` has the addresses of IPv6, and no
    columns without any. ``time`` and ``last`` are when a segment was captured first and last, ``kind`` is
    what it is. ``tick`` is the resolution of the clock in ns.
    """

    __slots__ = ("columns", "tick")

    def __init__(self, columns: Mapping[str, Array], tick: int = 1) -> None:
        self.columns = dict(columns)
        self.tick = tick

    def __len__(self) -> int:
        return len(self.columns["place"])

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def select(self, rows: Array) -> SegmentSample:
        """Return some of the rows."""
        return SegmentSample({name: column[rows] for name, column in self.columns.items()}, self.tick)

    def key(self) -> Array:
        """Return what is equal for equal segments."""
        mixed: Array = self["place"] ^ self["content"] * _MIX[8]
        return mixed

    def flow(self) -> Array:
        """Return what is equal for equal directions of equal connections."""
        mixed: Array = self["source"] * _MIX[9] + self["target"] * _MIX[10]
        return _stirred(mixed)

    def connection(self) -> Array:
        """Return what is equal for both directions of a connection."""
        back = self["target"] * _MIX[9] + self["source"] * _MIX[10]
        found: Array = np.minimum(self.flow(), _stirred(back))
        return found

    def hosts(self) -> tuple[Array, Array]:
        """Return what is equal for equal addresses, of the sender and of the receiver."""
        wide = self["wide"]
        if not wide.shape[1]:
            return self["source"] >> np.uint64(16), self["target"] >> np.uint64(16)
        six = self["source"] >= _WIDE
        found = []
        for end, at in (("source", 0), ("target", 2)):
            mixed = _stirred(wide[:, at] * _MIX[0] + wide[:, at + 1] * _MIX[1]) | _WIDE
            found.append(np.where(six, mixed, self[end] >> np.uint64(16)))
        return found[0], found[1]

    def ends(self, row: int) -> tuple[bytes, int, bytes, int]:
        """Return addresses and ports of a row: (src, sport, dst, dport)."""
        source, target = int(self["source"][row]), int(self["target"][row])
        sport, dport = (int(port) for port in self["ports"][row])
        if source < int(_WIDE):
            return (source >> 16).to_bytes(4, "big"), sport, (target >> 16).to_bytes(4, "big"), dport
        wide = b"".join(int(half).to_bytes(8, "big") for half in self["wide"][row])
        return wide[:16], sport, wide[16:], dport


def read_sample(files: Sequence[str], opener: Opener, most: int) -> SegmentSample:
    """Read the files of one capture, and keep about ``most`` rows; what cannot be read has none."""
    kept = _Kept(most)
    for file in files:
        try:
            with opener(file) as opened:
                for chunk in _chunks(opened):
                    kept.take(chunk)
        except (OSError, ValueError, CaptureError):
            # What is wrong with a file is said when it is its turn.
            continue
    return kept.result()


def _chunks(opened: OpenedFile) -> Iterator[Chunk]:
    source = Source(opened, owned=True)
    window = source.window()
    size = _CHUNK if source.compressed else min(_CHUNK, source.total or _CHUNK)
    yield from read_chunks(window, size)


class _Kept:
    """The rows that are kept of a capture while it is read."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[SegmentSample] = []
        self._rows = 0
        self._frames = self._equal = 0
        self._tick = _NO_TICK
        self._unit = 1000

    def take(self, chunk: Chunk) -> None:
        for part in sampled(chunk):
            self._parts.append(part)
            self._rows += len(part)
        self._look_at_clock(chunk.time)
        if self._rows > 2 * self._most:
            self._parts = [_thinned(_without_copies(self._parts), self._most)]
            self._rows = len(self._parts[0])

    def result(self) -> SegmentSample:
        sample = _without_copies(self._parts)
        if len(sample) > self._most:
            sample = _thinned(sample, self._most)
        coarse = self._equal * _EQUAL >= self._frames and _COARSE <= self._tick < _NO_TICK
        # Times that are far apart have steps of many ticks; traffic that is regular has steps as well.
        known = (tick for tick in _TICKS if coarse and _common_step(self._tick, tick) == tick)
        sample.tick = next(known, self._unit)
        return sample

    def _look_at_clock(self, times: Array) -> None:
        while self._unit > 1 and (times % self._unit).any():
            self._unit //= 10
        apart = np.abs(np.diff(times))
        moved = apart[apart > 0]
        self._frames += len(apart)
        self._equal += len(apart) - len(moved)
        if self._tick >= _COARSE:
            for step in np.unique(moved)[:_STEPS_SEEN].tolist():
                self._tick = step if self._tick == _NO_TICK else _common_step(self._tick, step)


def _common_step(one: int, two: int) -> int:
    """The largest number that both are multiples of, but for what was rounded."""
    while two > _ROUNDED and one >= _COARSE:
        rest = one % two
        one, two = two, min(rest, two - rest)
    return one


def sampled(chunk: Chunk) -> Iterator[SegmentSample]:
    """Yield the rows of the frames of a chunk: the regular ones, and the others."""
    regular = read_regular(chunk)
    yield _rows(chunk.data, chunk.time, regular)
    odd: dict[int, TcpSegment] = {}
    for index in regular.other.tolist():
        for datagram in dissect(chunk.frame(index)):
            if isinstance(datagram, TcpSegment):
                odd[index] = datagram
    if odd:
        segments = list(odd.values())
        empty = read_regular(chunk.select(np.zeros(0, np.int64)))
        columns = empty.with_segments(list(odd), segments)
        sizes = np.array([len(one.payload) for one in segments], np.int64)
        columns.at[:] = np.cumsum(sizes) - sizes
        data = bytearray(b"".join(one.payload for one in segments) + bytes(_BYTES))
        yield _rows(data, chunk.time, columns)


def _rows(data: bytearray, times: Array, frames: RegularFrames) -> SegmentSample:
    """The rows of segments whose payload is at ``frames.at`` of ``data``."""
    flags, size, length = frames.flags, frames.size, frames.size + frames.cut
    time = times[frames.index]
    usable = (time > 0) & (flags & RST == 0)
    begins = flags & SYN > 0
    bare = np.flatnonzero(usable & ((length == 0) & (flags & ACK > 0) | begins))
    kind = np.where(begins[bare], np.where(flags[bare] & ACK > 0, HANDSHAKE, SYN_ALONE), BARE)
    ack = np.where(kind == SYN_ALONE, np.uint32(0), frames.ack[bare])
    parts = [(bare, frames.seq[bare], ack, kind * 2 + (flags[bare] & FIN), np.zeros(len(bare), np.uint64))]

    carries = usable & ~begins & (size > 0)
    whole = np.flatnonzero(carries & (length < _FULL) & (size >= np.minimum(length, _BYTES)))
    content = _content(data, frames.at[whole], size[whole])
    parts.append((whole, frames.seq[whole], frames.ack[whole], np.full(len(whole), 16), content))

    large = np.flatnonzero(carries & (length >= _PLACES_FROM))
    first = -frames.seq[large].astype(np.int64) & (_STEP - 1)
    counts = np.maximum((size[large] - _BYTES - first) // _STEP + 1, 0)
    row = np.repeat(large, counts)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    offset = np.repeat(first, counts) + nth * _STEP
    seq = (frames.seq[row].astype(np.int64) + offset).astype(np.uint32)
    full = np.full(len(row), _BYTES)
    parts.append(
        (row, seq, frames.ack[row], np.full(len(row), 17), _content(data, frames.at[row] + offset, full))
    )

    rows = np.concatenate([part[0] for part in parts])
    numbers = np.concatenate([part[1] for part in parts]).astype(np.uint64)
    numbers |= np.concatenate([part[2] for part in parts]).astype(np.uint64) << np.uint64(32)
    variant = np.concatenate([part[3] for part in parts]).astype(np.uint64)
    ports = np.stack((frames.sport[rows], frames.dport[rows]), 1).astype(np.uint16)
    return SegmentSample(
        {
            "place": _stirred(numbers * _MIX[0] + variant * _MIX[1]),
            "content": np.concatenate([part[4] for part in parts]),
            "time": time[rows],
            "last": time[rows],
            "source": frames.source[rows],
            "target": frames.target[rows],
            "ports": ports,
            "wide": np.zeros((len(rows), 0), np.uint64) if frames.wide is None else frames.wide[rows],
            "kind": np.concatenate((kind, np.full(len(rows) - len(bare), DATA))).astype(np.uint8),
        }
    )


def _stirred(numbers: Array) -> Array:
    """Numbers whose low bits depend on all bits."""
    stirred = numbers ^ numbers >> np.uint64(32)
    stirred = stirred * _MIX[11]
    result: Array = stirred ^ stirred >> np.uint64(29)
    return result


def _content(data: bytearray, at: Array, size: Array) -> Array:
    """A number for the bytes at ``at``, up to ``size`` of them."""
    if not len(at):
        return np.zeros(0, np.uint64)
    found = rows_at(data, f"V{_BYTES}", at).view(np.uint8).reshape(-1, _BYTES)
    short = np.flatnonzero(size < _BYTES)
    if len(short):
        found[short] *= np.arange(_BYTES) < size[short, None]
    words = found.view("<u8") * _MIX[:8]
    return _stirred(words.sum(axis=1, dtype=np.uint64)) | np.uint64(1)


def joined(samples: Iterable[SegmentSample]) -> SegmentSample:
    """Return all rows, one sample after the other."""
    parts = list(samples)
    columns = {
        name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns if name != "wide"
    }
    columns["wide"] = _joined_wide([part["wide"] for part in parts])
    return SegmentSample(columns)


def _joined_wide(parts: list[Array]) -> Array:
    if any(part.shape[1] for part in parts):
        parts = [part if part.shape[1] else np.zeros((len(part), 4), np.uint64) for part in parts]
    return np.concatenate(parts)


def _without_copies(parts: list[SegmentSample]) -> SegmentSample:
    """Each segment once, with the first and the last time of its copies."""
    if not parts:
        return _nothing()
    rows = joined(parts)
    if not len(rows):
        return rows
    same = rows.key() + rows.flow()
    order = np.argsort(same)
    same = same[order]
    first = np.flatnonzero(np.append(True, same[1:] != same[:-1]))
    one = rows.select(order[first])
    one.columns["time"] = np.minimum.reduceat(rows["time"][order], first)
    one.columns["last"] = np.maximum.reduceat(rows["last"][order], first)
    return one


def _nothing() -> SegmentSample:
    zero: dict[str, Any] = dict.fromkeys(("place", "content", "source", "target"), np.zeros(0, np.uint64))
    zero |= dict.fromkeys(("time", "last"), np.zeros(0, np.int64))
    zero |= {"ports": np.zeros((0, 2), np.uint16), "wide": np.zeros((0, 0), np.uint64)}
    return SegmentSample(zero | {"kind": np.zeros(0, np.uint8)})


def _thinned(rows: SegmentSample, most: int) -> SegmentSample:
    """Fewer rows: of every connection some, as many as there is room for; those on ports of MSMQ last.

    Which ones depends on what they are: of two captures with the same segments the same ones remain.
    """
    is_wanted = np.isin(rows["ports"], _PRIORITY).any(axis=1)
    wanted, other = np.flatnonzero(is_wanted), np.flatnonzero(~is_wanted)
    wanted = wanted[_some(rows.select(wanted), most - min(len(other), most // 2))]
    other = other[_some(rows.select(other), most - len(wanted))]
    return rows.select(np.concatenate((wanted, other)))


def _some(rows: SegmentSample, most: int) -> Array:
    """At most ``most`` of the rows: one of each connection, and more of those that have fewer than others."""
    if len(rows) <= most:
        return np.arange(len(rows))
    connection, place = rows.connection(), rows["place"]
    order = np.argsort(connection)
    ordered = connection[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    counts = np.diff(np.append(first, len(order)))
    level = _level(place)
    # A connection with twice as many as there is room for loses half of them, and so on.
    room = max((most - len(first)) / len(first), 1)
    lost = np.ceil(np.log2(np.maximum(counts / room, 1))).astype(np.int64)
    missing = np.zeros(len(order), np.int64)
    missing[order] = np.maximum(np.repeat(lost, counts) - level[order], 0)
    smallest = np.zeros(len(order), np.bool_)
    smallest[order] = place[order] == np.repeat(np.minimum.reduceat(place[order], first), counts)
    kept = np.flatnonzero((missing == 0) | smallest)
    for last in (~smallest, smallest):
        floor = 0
        while len(kept) > most and floor < _LEVELS:
            floor += 1
            kept = kept[~last[kept] | (level[kept] >= floor)]
    return kept


def _level(place: Array) -> Array:
    """How many low bits are 0."""
    lowest = place & (~place + np.uint64(1))
    levels: Array = np.log2(np.maximum(lowest, 1).astype(np.float64)).astype(np.int64)
    return levels
