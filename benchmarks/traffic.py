"""Packets to captures: TCP connections, in order or the way a real network delivers them."""

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
_FIN, _SYN, _PSH, _ACK = 0x01, 0x02, 0x08, 0x10
_HEADERS = len(_ETHERNET) + 40
_FLUSH = 1 << 22
_START = 1_700_000_000_000_000_000
_BETWEEN_FRAMES = 20_000
_IPV4 = struct.Struct(">BBHHHBBH4s4s").pack
_TCP = struct.Struct(">2s2sIIBBHHH").pack


class Sender:
    """One TCP connection to a server: stream bytes to Ethernet frames, an ACK every other segment.

    ``address`` is the client's, four bytes; without it there are 250 of them in turn.
    """

    def __init__(self, number: int = 0, *, address: bytes = b"", port: int = 1801) -> None:
        address = address or bytes((192, 0, 2, 1 + number % 250))
        self._ends = {
            True: struct.pack(">4sH", address, 40000 + number),
            False: struct.pack(">4sH", bytes((192, 0, 2, 254)), port),
        }
        self._next = {True: 1000, False: 2000}
        self._unacknowledged = 0

    def open(self) -> Iterator[bytes]:
        """Yield the frames of the handshake."""
        yield self.say(b"", flags=_SYN)
        yield self.say(b"", flags=_SYN | _ACK, sent=False)
        yield self.say(b"", flags=_ACK)

    def close(self) -> Iterator[bytes]:
        """Yield the frames with which both sides end."""
        yield self.say(b"", flags=_FIN | _ACK)
        yield self.say(b"", flags=_FIN | _ACK, sent=False)
        yield self.say(b"", flags=_ACK)

    def send(self, data: bytes, sizes: Iterable[int] = itertools.repeat(_SEGMENT)) -> Iterator[bytes]:
        """Yield the frames that carry ``data``, in segments of at most these sizes."""
        at = 0
        for size in sizes:
            if at >= len(data):
                break
            yield self.say(data[at : at + size])
            at += size
            self._unacknowledged += 1
            if self._unacknowledged == 2:
                self._unacknowledged = 0
                yield self.say(b"", flags=_ACK, sent=False)

    def say(self, payload: bytes, *, sent: bool = True, flags: int = _ACK | _PSH) -> bytes:
        """Return one frame of the client's, or the server's."""
        src, dst = self._ends[sent], self._ends[not sent]
        ipv4 = _IPV4(0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0, src[:4], dst[:4])
        other = self._next[not sent] if flags & _ACK else 0
        tcp = _TCP(src[4:], dst[4:], self._next[sent], other, 5 << 4, flags, 65535, 0, 0)
        # A SYN and a FIN take a sequence number of their own.
        taken = len(payload) + bool(flags & (_SYN | _FIN))
        self._next[sent] = self._next[sent] + taken & 0xFFFFFFFF
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
