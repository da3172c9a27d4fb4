"""Random traffic for tests: many connections side by side, and most of what goes wrong in captures."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator

import pytest

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
SIGNATURE = b"LIOR"
MASK = 0xFFFFFFFF
_FULL, _FAR = 150, 40
"""Of so many segments one has a receive window of 0, and of so many packets one took another way."""
_APART = 700_000
"""Nanoseconds between two frames."""


def packet(source: random.Random) -> bytes:
    """A packet of the binary protocol, most often of a kind that nobody defined."""
    flags = source.choice((0x0003, 0x0008, 0x0010, 0x0018, 0x0000))
    body = source.randbytes(source.choice((0, 4, 4, 30, 200, 900, 3000)))
    if source.random() < 0.1:
        # A whole packet as the body of another one.
        body = struct.pack("<BBH4sII", 0x10, 0, 0, SIGNATURE, 40, 0) + bytes(24) + body
    size = 16 + len(body)
    session = bytes(16) if flags & 0x18 == 0x10 else b""
    claimed = size if source.random() < 0.97 else source.choice((0, 15, size + 5, size - 1, 1 << 23))
    return struct.pack("<BBH4sII", 0x10, 0, flags, SIGNATURE, claimed, 0) + body + session


class Side:
    """One direction of a connection: what it still has to send."""

    def __init__(self, source: random.Random, endpoint: tuple[bytes, int], data: bytes) -> None:
        self.endpoint = endpoint
        self.seq = source.choice((source.getrandbits(32), MASK - source.randrange(3000)))
        self.data = data
        self.sent = 0


class Talk:
    """One TCP connection as segments: ``(source side, flags, seq, ack, payload)``."""

    def __init__(self, source: random.Random, client: tuple[bytes, int], server: tuple[bytes, int]) -> None:
        self.source = source
        self.sides = (
            Side(source, client, self._content(server[1])),
            Side(source, server, self._content(server[1]) if source.random() < 0.6 else b""),
        )

    def _content(self, port: int) -> bytes:
        source = self.source
        if port in (80, 443, 8080) and source.random() < 0.9:
            kinds = (
                b"\x16\x03\x01\x00\x40\x01" + bytes(60),
                b"POST /msmq/private$/q HTTP/1.1\r\n\r\n",
                b"POST /other HTTP/1.1\r\n\r\n",
                b"GET / HTTP/1.1\r\n\r\n",
            )
            return source.choice(kinds) + source.randbytes(source.randrange(4000))
        parts = [packet(source) for _ in range(source.randrange(1, 40))]
        if source.random() < 0.15:
            parts.insert(source.randrange(len(parts)), source.randbytes(source.randrange(1, 60)))
        return b"".join(parts)

    def segments(self) -> Iterator[tuple[int, int, int, int, bytes]]:
        source, sides = self.source, self.sides
        if source.random() < 0.7:
            yield 0, SYN, sides[0].seq - 1 & MASK, 0, b""
            yield 1, SYN | ACK, sides[1].seq - 1 & MASK, sides[0].seq, b""
            yield 0, ACK, sides[0].seq, sides[1].seq, b""
        steady = source.random() < 0.6
        while any(side.sent < len(side.data) for side in sides):
            number = source.randrange(2)
            side, peer = sides[number], sides[1 - number]
            ack = peer.seq + peer.sent & MASK
            if side.sent < len(side.data):
                size = 1460 if steady else source.choice((1, 5, 11, 13, 100, 536, 1460, 1460))
                payload = side.data[side.sent : side.sent + size]
                yield number, ACK | PSH * source.randrange(2), side.seq + side.sent & MASK, ack, payload
                side.sent += len(payload)
            elif source.random() < 0.5:
                yield number, ACK, side.seq + side.sent & MASK, ack, b""
        end = source.random()
        ack = sides[1].seq + sides[1].sent & MASK
        if end < 0.2:
            yield 0, RST | ACK, sides[0].seq + sides[0].sent & MASK, ack, b""
        elif end < 0.7:
            yield 0, FIN | ACK, sides[0].seq + sides[0].sent & MASK, ack, b""
            yield 1, FIN | ACK, ack, sides[0].seq + sides[0].sent + 1 & MASK, b""
            yield 0, ACK, sides[0].seq + sides[0].sent + 1 & MASK, ack + 1 & MASK, b""

    def frames(self, faults: float) -> Iterator[bytes]:
        """The segments as Ethernet frames, with losses, copies and other faults."""
        source = self.source
        dialect = source.choice(("plain", "plain", "plain", "vlan", "qinq", "mixed"))
        for number, flags, seq, ack, payload in self.segments():
            src, dst = self.sides[number].endpoint, self.sides[1 - number].endpoint
            frame = link(source, dialect, faults, src, dst, (flags, seq, ack, payload))
            chance = source.random()
            if chance >= faults:
                yield frame
            elif chance < faults * 0.3:
                continue
            elif chance < faults * 0.5:
                yield frame
                yield frame
            elif chance < faults * 0.6:
                yield frame
                other = source.randbytes(len(payload))
                yield link(source, dialect, faults, src, dst, (flags, seq, ack, other))
            elif chance < faults * 0.7:
                yield link(source, dialect, faults, src, dst, (ACK, seq - 1 & MASK, ack, b"\0"))
                yield frame
            elif chance < faults * 0.8:
                yield frame[: source.randrange(len(frame))]
            elif chance < faults * 0.85:
                yield link(source, dialect, faults, src, dst, (SYN, source.getrandbits(32), 0, b""))
                yield frame
            else:
                yield from fragments(source, src, dst, (flags, seq, ack, payload))


def tcp(src: tuple[bytes, int], dst: tuple[bytes, int], segment: tuple[int, int, int, bytes]) -> bytes:
    flags, seq, ack, payload = segment
    window = 0 if zlib.crc32(struct.pack(">II", seq, ack)) % _FULL == 0 else 65535
    return struct.pack(">HHIIHHHH", src[1], dst[1], seq, ack, 5 << 12 | flags, window, 0, 0) + payload


def ip(source: random.Random, protocol: int, src: bytes, dst: bytes, payload: bytes) -> tuple[int, bytes]:
    # A frame that is captured twice is the same packet, a segment that is sent again another one.
    packet = zlib.crc32(payload) & 0xFFFF
    hops = 63 if packet % _FAR == 0 else 64
    if len(src) == 16:
        return 0x86DD, struct.pack(">IHBB16s16s", 6 << 28, len(payload), protocol, hops, src, dst) + payload
    options = b"\1" * (4 * source.choice((0, 0, 0, 1)))
    first, total = 0x45 + len(options) // 4, 20 + len(options) + len(payload)
    header = struct.pack(">BBHHHBBH4s4s", first, 0, total, packet, 0x4000, hops, protocol, 0, src, dst)
    return 0x0800, header + options + payload


def ethernet(ethertype: int, payload: bytes, tags: tuple[int, ...] = ()) -> bytes:
    stack = b"".join(struct.pack(">HH", tag, 5) for tag in tags)
    return bytes(12) + stack + struct.pack(">H", ethertype) + payload


def link(
    source: random.Random,
    dialect: str,
    faults: float,
    src: tuple[bytes, int],
    dst: tuple[bytes, int],
    segment: tuple[int, int, int, bytes],
) -> bytes:
    ethertype, data = ip(source, 6, src[0], dst[0], tcp(src, dst, segment))
    tags = {"vlan": (0x8100,), "qinq": (0x88A8, 0x8100)}.get(dialect, ())
    if dialect == "mixed" and source.random() < faults:
        # Through a tunnel: nothing that is read by columns.
        vxlan = struct.pack(">II", 8 << 24, 0) + ethernet(ethertype, data)
        udp = struct.pack(">HHHH", 5, 4789, 8 + len(vxlan), 0) + vxlan
        ethertype, data = ip(source, 17, bytes(4), bytes(4), udp)
    return ethernet(ethertype, data, tags).ljust(60, b"\0")


def fragments(
    source: random.Random,
    src: tuple[bytes, int],
    dst: tuple[bytes, int],
    segment: tuple[int, int, int, bytes],
) -> Iterator[bytes]:
    data = tcp(src, dst, segment)
    if len(src[0]) == 16 or len(data) < 24:
        yield link(source, "plain", 0, src, dst, segment)
        return
    name = source.getrandbits(16)
    for at, piece, more in ((0, data[:24], 0x2000), (3, data[24:], 0)):
        header = struct.pack(
            ">BBHHHBBH4s4s", 0x45, 0, 20 + len(piece), name, at | more, 64, 6, 0, src[0], dst[0]
        )
        yield ethernet(0x0800, header + piece)


def other(source: random.Random) -> bytes:
    """A frame without TCP."""
    src, dst = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))
    kind = source.randrange(5)
    if kind == 0:
        return ethernet(0x0806, bytes(46))
    if kind == 1:
        ethertype, data = ip(source, 1, src, dst, bytes((8, 0)) + bytes(30))
        return ethernet(ethertype, data)
    payload = struct.pack("<HHIH14s", 1, 0x5548, 7, 0, bytes(14)) if kind == 2 else source.randbytes(20)
    ports = (5000, 3527) if kind < 4 else (53, 4000)
    ethertype, data = ip(source, 17, src, dst, struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload)
    return ethernet(ethertype, data)


def in_paths(source: random.Random, frames: Iterator[bytes]) -> Iterator[bytes]:
    """The frames of a connection in another VLAN, in two by turns or by direction, or as copies."""
    way, first, second = source.choice(("one", "turns", "sides", "copies")), *source.sample((0, 6, 7, 8), 2)
    for frame in frames:
        if way in ("one", "copies"):
            yield retagged(frame, first)
        if way == "copies" and source.random() < 0.95:
            yield retagged(frame, second)
        if way == "turns":
            yield retagged(frame, source.choice((first, second)))
        if way == "sides":
            yield retagged(frame, first if zlib.crc32(frame[26:30]) & 1 else second)


def retagged(frame: bytes, vlan: int) -> bytes:
    return frame[:12] + struct.pack(">HH", 0x8100, vlan) + frame[12:] if vlan else frame


class Traffic:
    """Frames of ``count`` connections side by side, made from ``seed``: ``paths`` lets them share ends."""

    def __init__(self, seed: int, count: int, faults: float, *, paths: bool = False) -> None:
        self._source = random.Random(seed)
        self._paths = paths
        self._count = count
        self._faults = faults

    def _talk(self) -> Iterator[bytes]:
        source = self._source
        wide = source.random() < 0.3
        network = bytes.fromhex("20010db8") + bytes(11) if wide else bytes((192, 0, 2))
        port = source.choice((1801, 1801, 1801, 2000, 4000, 80, 443, 8080))
        clients, ports = (1, 2) if self._paths else (3, 6)
        client = network + bytes((source.randrange(1, clients + 1),)), 40000 + source.randrange(ports)
        server = network + bytes((254,)), port
        ends = (server, client) if source.random() < 0.1 else (client, server)
        frames = Talk(source, *ends).frames(self._faults)
        return in_paths(source, frames) if self._paths else frames

    def frames(self) -> list[bytes]:
        source, found = self._source, list[bytes]()
        talks = [self._talk() for _ in range(self._count)]
        while talks:
            talk = source.choice(talks)
            burst = source.choice((1, 1, 2, 8, 60))
            for _ in range(burst):
                frame = next(talk, None)
                if frame is None:
                    talks.remove(talk)
                    break
                found.append(frame)
            if source.random() < self._faults:
                found.append(other(source))
        for at in range(len(found) - 3):
            if source.random() < self._faults / 3:
                # The capture swapped neighbours.
                to = at + source.randrange(1, 4)
                found[at], found[to] = found[to], found[at]
        return found

    def capture(self, order: str) -> bytes:
        """The frames as a classic pcap file."""
        parts = [struct.pack(order + "IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)]
        for number, frame in enumerate(self.frames()):
            second, nanosecond = divmod(number * _APART, 10**9)
            times = 1_700_000_000 + second, nanosecond
            parts += (struct.pack(order + "IIII", *times, len(frame), len(frame)), frame)
        return b"".join(parts)


@pytest.fixture(scope="session")
def traffic() -> Callable[..., bytes]:
    """Make a capture of random traffic: ``traffic(seed, connections, faults, order, paths=False)``."""

    def capture(
        seed: int, connections: int = 12, faults: float = 0.05, order: str = "<", *, paths: bool = False
    ) -> bytes:
        return Traffic(seed, connections, faults, paths=paths).capture(order)

    return capture
