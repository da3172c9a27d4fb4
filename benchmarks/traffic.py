"""Packets to captures: TCP connections, in order or the way a real network delivers them."""

from __future__ import annotations

import itertools
import random
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

__all__ = ["Sender", "Written", "disordered", "in_order", "lossy", "payload_of", "write"]

_ETHERNET = bytes.fromhex("020000000002 020000000001 0800")
_SEGMENT = 1460
_FIN, _SYN, _PSH, _ACK = 0x01, 0x02, 0x08, 0x10
_HEADERS = len(_ETHERNET) + 40
_PROTOCOL = 23
_PROTOCOL_TCP, _PROTOCOL_UDP = 6, 17
_ENDS = slice(26, 38)
"""Addresses and ports of a frame."""
_FLUSH = 1 << 22
_START = 1_700_000_000_000_000_000
_BETWEEN_FRAMES = 20_000
_IPV4 = struct.Struct(">BBHHHBBH4s4s").pack
_TCP = struct.Struct(">2s2sIIBBHHH").pack
_UDP = struct.Struct(">HHHH").pack


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

    def send(
        self, data: bytes, sizes: Iterable[int] = itertools.repeat(_SEGMENT), *, sent: bool = True
    ) -> Iterator[bytes]:
        """Yield the frames that carry ``data``, in segments of at most these sizes; ``sent`` as in `say`."""
        at = 0
        for size in sizes:
            if at >= len(data):
                break
            yield self.say(data[at : at + size], sent=sent)
            at += size
            self._unacknowledged += 1
            if self._unacknowledged == 2:
                self._unacknowledged = 0
                yield self.say(b"", flags=_ACK, sent=not sent)

    def say(self, payload: bytes, *, sent: bool = True, flags: int = _ACK | _PSH) -> bytes:
        """Return one frame of the client's, or the server's."""
        src, dst = self._ends[sent], self._ends[not sent]
        ipv4 = _IPV4(0x45, 0, 40 + len(payload), 0, 0x4000, 64, _PROTOCOL_TCP, 0, src[:4], dst[:4])
        other = self._next[not sent] if flags & _ACK else 0
        tcp = _TCP(src[4:], dst[4:], self._next[sent], other, 5 << 4, flags, 65535, 0, 0)
        # A SYN and a FIN take a sequence number of their own.
        taken = len(payload) + bool(flags & (_SYN | _FIN))
        self._next[sent] = self._next[sent] + taken & 0xFFFFFFFF
        return b"".join((_ETHERNET, ipv4, tcp, payload))

    def datagram(self, payload: bytes, *, sent: bool = True, port: int = 3527) -> bytes:
        """Return one frame with a UDP datagram between the same two, from ``port`` to ``port``."""
        src, dst = self._ends[sent], self._ends[not sent]
        size = 8 + len(payload)
        ipv4 = _IPV4(0x45, 0, 20 + size, 0, 0x4000, 64, _PROTOCOL_UDP, 0, src[:4], dst[:4])
        return b"".join((_ETHERNET, ipv4, _UDP(port, port, size, 0), payload))


def payload_of(frame: bytes) -> bytes:
    """Return what the TCP segment of a frame carries; nothing for another protocol."""
    return frame[_HEADERS:] if frame[_PROTOCOL] == _PROTOCOL_TCP else b""


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


def lossy(frames: Iterable[bytes], sent: list[bytes]) -> Iterator[bytes]:
    """Yield the frames as a poor capture has them: of the segments with payload, 1 % come twice (the second
    time 20 frames later), 1 % after the one that follows them, and 0.5 % are missing.

    ``sent`` gets a packet before the frames that carry it, whose segments carry nothing else. At the end it
    has those alone of which nothing is missing.
    """
    source = random.Random(51)
    copies: deque[tuple[int, bytes]] = deque()
    waiting: dict[frozenset[bytes], bytes] = {}
    packet: dict[bytes, int] = {}
    broken: set[int] = set()
    late = 0
    for number, frame in enumerate(frames):
        while copies and copies[0][0] <= number:
            yield copies.popleft()[1]
        ends, payload = frame[_ENDS], payload_of(frame)
        if payload[4:8] == b"LIOR":
            packet[ends] = len(sent) - 1
        fate = source.random() if payload else 1
        kept = [frame]
        if fate < 0.005:
            broken.add(packet[ends])
            kept = []
        elif fate < 0.015:
            copies.append((number + 20, frame))
        elif fate < 0.025:
            late += 1
        connection = frozenset((ends[:4] + ends[8:10], ends[4:8] + ends[10:]))
        before = waiting.pop(connection, None)
        if before is not None:
            # Nothing of the other direction comes between the two, so that nothing acknowledges the late one.
            swapped = bool(kept and payload) and before[_ENDS] == ends
            late -= swapped
            kept = [*kept, before] if swapped else [before, *kept]
        elif kept and payload and late > len(waiting):
            waiting[connection] = kept.pop()
        yield from kept
    yield from waiting.values()
    yield from (frame for _, frame in copies)
    sent[:] = [one for number, one in enumerate(sent) if number not in broken]


class Written(msgspec.Struct, frozen=True):
    """A capture on disk: where, how many frames, and how many bytes of payload their segments carry.

    ``rows`` is how many packets or other records a reader has to find, where that is said.
    """

    path: Path
    frames: int
    payload: int
    rows: int = 0


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
            payload += len(payload_of(frame))
            if held >= _FLUSH:
                file.write(b"".join(parts))
                parts, held = [], 0
        file.write(b"".join(parts))
    return Written(path, count, payload)
