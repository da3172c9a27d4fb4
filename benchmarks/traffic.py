"""Packets to captures: TCP connections to port 1801, in order or the way a real network delivers them."""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

__all__ = ["Sender", "Written", "disordered", "in_order", "write"]

_ETHERNET = bytes.fromhex("020000000002 020000000001 0800")
_SEGMENT = 1460
_SYN, _ACK, _PSH = 0x02, 0x10, 0x08
_HEADERS = len(_ETHERNET) + 40
_FLUSH = 1 << 22
_START = 1_700_000_000_000_000_000
_BETWEEN_FRAMES = 20_000
_IPV4 = struct.Struct(">BBHHHBBH4s4s").pack
_TCP = struct.Struct(">2s2sIIBBHHH").pack


class Sender:
    """One TCP connection to port 1801: stream bytes to Ethernet frames, an ACK every other segment."""

    def __init__(self, number: int) -> None:
        self._client = struct.pack(">4sH", bytes((192, 0, 2, 1 + number % 250)), 40000 + number)
        self._server = struct.pack(">4sH", bytes((192, 0, 2, 254)), 1801)
        self._seq = 1000
        self._unacknowledged = 0

    def open(self) -> Iterator[bytes]:
        """Yield the frames of the handshake."""
        yield self._frame(_SYN, b"", sent=True)
        self._seq += 1
        yield self._frame(_SYN | _ACK, b"", sent=False)
        yield self._frame(_ACK, b"", sent=True)

    def send(self, data: bytes, sizes: Iterable[int] = itertools.repeat(_SEGMENT)) -> Iterator[bytes]:
        """Yield the frames that carry ``data``, in segments of at most these sizes."""
        at = 0
        for size in sizes:
            if at >= len(data):
                break
            payload = data[at : at + size]
            at += size
            yield self._frame(_ACK | _PSH, payload, sent=True)
            self._seq = self._seq + len(payload) & 0xFFFFFFFF
            self._unacknowledged += 1
            if self._unacknowledged == 2:
                self._unacknowledged = 0
                yield self._frame(_ACK, b"", sent=False)

    def _frame(self, flags: int, payload: bytes, *, sent: bool) -> bytes:
        src, dst = (self._client, self._server) if sent else (self._server, self._client)
        # A SYN takes a sequence number of its own, so the server's numbers start one later, too.
        own, other = (self._seq, 2001) if sent else (2000 if flags & _SYN else 2001, self._seq)
        ipv4 = _IPV4(0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0, src[:4], dst[:4])
        other = 0 if flags == _SYN else other
        tcp = _TCP(src[4:], dst[4:], own, other, 5 << 4, flags, 65535, 0, 0)
        return b"".join((_ETHERNET, ipv4, tcp, payload))


def in_order(packets: Iterable[bytes], connections: int = 8) -> Iterator[bytes]:
    """Yield the frames of connections that send the packets in turn, each packet in segments of its own."""
    senders = [Sender(number) for number in range(connections)]
    for sender in senders:
        yield from sender.open()
    for sender, packet in zip(itertools.cycle(senders), packets, strict=False):
        yield from sender.send(packet)


def disordered(packets: Iterable[bytes], connections: int = 8) -> Iterator[bytes]:
    """Yield frames whose segments begin and end anywhere; one of 50 comes late, one of 100 twice."""
    source = random.Random(1801)
    senders = [Sender(number) for number in range(connections)]
    for sender in senders:
        yield from sender.open()
    remaining = iter(packets)
    for sender in itertools.cycle(senders):
        data = b"".join(itertools.islice(remaining, 4))
        if not data:
            return
        sizes = iter(lambda: source.randint(200, _SEGMENT), None)
        late: bytes | None = None
        for frame in sender.send(data, sizes):
            if late is None and len(frame) > _HEADERS and source.random() < 0.02:
                late = frame
                continue
            yield frame
            if len(frame) > _HEADERS and source.random() < 0.01:
                yield frame
            if late is not None:
                yield late
                late = None
        if late is not None:
            yield late


class Written(msgspec.Struct, frozen=True):
    """A capture on disk: where, how many frames, and how many bytes of payload they carry."""

    path: Path
    frames: int
    payload: int


def write(path: Path, frames: Iterable[bytes], *, after: int = 0) -> Written:
    """Write a pcap file with nanoseconds; the frames come 20 microseconds apart, ``after`` so many others."""
    pack = struct.Struct("<IIII").pack
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)]
    held = count = payload = 0
    with path.open("wb") as file:
        for frame in frames:
            seconds, nanoseconds = divmod(_START + (after + count) * _BETWEEN_FRAMES, 1_000_000_000)
            size = len(frame)
            parts += (pack(seconds, nanoseconds, size, size), frame)
            held += size
            count += 1
            payload += size - _HEADERS
            if held >= _FLUSH:
                file.write(b"".join(parts))
                parts, held = [], 0
        file.write(b"".join(parts))
    return Written(path, count, payload)
