"""Rows that stand for TCP segments, the same choice at each place of recording: `SegmentSample`, `sampled`.

The rule kept here: the choice depends on sequence numbers and payload alone, never on addresses, times or how
the bytes were cut into segments. Network cards put segments together, and routers change addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from msmq_wire.capture.index import Array, Chunk, rows_at
from msmq_wire.capture.link import dissect
from msmq_wire.capture.regular_frames import RegularFrames, read_regular
from msmq_wire.reassembly.tcp_events import ACK, FIN, RST, SYN, TcpSegment

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
COARSE = 900_000
"""Nanoseconds from which on the steps of a clock are coarse."""

_OTHER = np.arange(1 << 16) < 1024
_OTHER[[80, 135, 443, 593]] = False
"""Ports of services that carry neither MSMQ nor RPC nor HTTP: they say nothing that is asked of a capture."""
_GOLDEN = 0x9E3779B97F4A7C15
_MIX = np.array([pow(_GOLDEN, power, 1 << 64) for power in range(1, 13)], np.uint64)
"""Odd, so that multiplying loses nothing."""
_WIDE = np.uint64(1 << 63)


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


def sampled(chunk: Chunk) -> Iterator[SegmentSample]:
    """Yield the rows of the frames of a chunk, with their place there: the regular ones, and the others."""
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
    usable = (time > 0) & (flags & RST == 0) & ~(_OTHER[frames.sport] | _OTHER[frames.dport])
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
            "frame": frames.index[rows],
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
