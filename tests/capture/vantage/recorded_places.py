"""A network that is recorded at several places: traffic in true time, and what each place writes of it."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.writer import write_pcap
from msmq_wire.units import SECOND

BEGIN = 1_795_166_047 * SECOND + 123_456_000
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
End = tuple[bytes, int]


class Segment(msgspec.Struct, frozen=True):
    """A segment in true time: ``sent`` is ns after the begin, at the end that sends it."""

    sent: int
    source: End
    target: End
    seq: int
    ack: int
    flags: int
    payload: bytes
    by_client: bool


class Place(msgspec.Struct, kw_only=True):
    """A place of recording.

    ``distance`` is ns from the client. Its clock is ``behind`` by so many ns at the begin, and loses ``slow``
    ns each second; it shows multiples of ``tick`` from ``phase`` on. ``jitter`` is ns on the way, on average.
    ``named`` changes an end. ``merges`` puts segments of one direction together, up to so many bytes.
    """

    distance: int = 0
    behind: int = 0
    slow: int = 0
    tick: int = 1000
    phase: int = 0
    jitter: int = 0
    loss: float = 0
    first: int = 0
    last: int = 1 << 62
    named: Callable[[End], End] = lambda end: end
    merges: int = 0
    only: bool | None = None
    """Whether only what the client sends is recorded (True), or what the server sends (False)."""
    snap: int = 1 << 18
    tag: int = 0


class Network:
    """Traffic between clients and servers, ``length`` ns from the client to the server."""

    def __init__(self, seed: int = 1, length: int = 400_000) -> None:
        self.random = random.Random(seed)
        self.length = length
        self.segments: list[Segment] = []

    def talk(
        self,
        client: End,
        server: End,
        *,
        at: float = 0.0,
        sizes: Sequence[int] = (300,) * 10,
        every: float = 0.01,
        handshake: bool = True,
        isns: tuple[int, int] | None = None,
        payload: Callable[[int], bytes] | None = None,
        answers: int = 40,
    ) -> None:
        """A connection: the client sends ``sizes`` bytes, one after the other, and the server answers."""
        isn, peer = isns or (self.random.getrandbits(32), self.random.getrandbits(32))
        seq, ack = isn + 1, peer + 1
        now = int(at * SECOND)
        make = payload or self.random.randbytes

        def add(by_client: bool, sent: int, seq: int, ack: int, flags: int, payload: bytes) -> None:
            ends = (client, server) if by_client else (server, client)
            numbers = seq & 0xFFFFFFFF, ack & 0xFFFFFFFF
            self.segments.append(Segment(sent, *ends, *numbers, flags, payload, by_client))

        trip = self.length
        if handshake:
            add(True, now, isn, 0, SYN, b"")
            add(False, now + trip, peer, isn + 1, SYN | ACK, b"")
            add(True, now + 2 * trip, isn + 1, peer + 1, ACK, b"")
        for number, size in enumerate(sizes, 1):
            now = int((at + number * every) * SECOND)
            data = make(size)
            for place in range(0, size, 1460):
                add(True, now + place, seq + place, ack, ACK | PSH, data[place : place + 1460])
            seq += size
            answer = make(answers)
            add(False, now + size + trip, ack, seq, ACK | PSH, answer)
            ack += len(answer)
            add(True, now + size + 2 * trip, seq, ack, ACK, b"")

    def frames(self, place: Place) -> list[Frame]:
        """What a place records, in the order of its clock."""
        source = random.Random(f"{self.random.random()} {place.distance} {place.behind}")
        found: list[tuple[int, bytes]] = []
        for one in merged(self.segments, place.merges):
            if place.only is not None and place.only is not one.by_client:
                continue
            way = place.distance if one.by_client else self.length - place.distance
            late = int(source.expovariate(1 / place.jitter)) if place.jitter and way else 0
            true = one.sent + way + late
            if source.random() < place.loss or not place.first <= true <= place.last:
                continue
            clock = BEGIN + true - place.behind - place.slow * true // SECOND
            clock -= (clock - place.phase) % place.tick
            found.append((clock, ethernet(one, place)))
        found.sort(key=lambda entry: entry[0])
        return [
            Frame(number, clock, 1, data[: place.snap], len(data), 0)
            for number, (clock, data) in enumerate(found, 1)
        ]

    def record(self, path: Path, place: Place) -> tuple[str, ...]:
        """Write what a place records; the files of a capture."""
        write_pcap(str(path), iter(self.frames(place)))
        return (str(path),)


def merged(segments: Sequence[Segment], most: int) -> Iterator[Segment]:
    """Segments as a network card shows them: those that follow each other as one of up to ``most`` bytes."""
    last: Segment | None = None
    for one in segments:
        if last is None:
            last = one
        elif (
            last.source == one.source
            and last.payload
            and one.payload
            and last.seq + len(last.payload) & 0xFFFFFFFF == one.seq
            and last.ack == one.ack
            and len(last.payload) + len(one.payload) <= most
        ):
            last = msgspec.structs.replace(last, payload=last.payload + one.payload)
        else:
            yield last
            last = one
    if last is not None:
        yield last


def ethernet(segment: Segment, place: Place) -> bytes:
    src, dst = place.named(segment.source), place.named(segment.target)
    data = struct.pack(
        ">HHIIHHHH", src[1], dst[1], segment.seq, segment.ack, 5 << 12 | segment.flags, 65535, 0, 0
    )
    data += segment.payload
    tag = struct.pack(">HH", 0x8100, place.tag) if place.tag else b""
    if len(src[0]) == 16:
        header = struct.pack(">IHBB16s16s", 6 << 28, len(data), 6, 64, src[0], dst[0])
        return bytes(12) + tag + b"\x86\xdd" + header + data
    header = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, min(20 + len(data), 65535), 7, 0x4000, 64, 6, 0, src[0], dst[0]
    )
    return bytes(12) + tag + b"\x08\0" + header + data


SERVER = (bytes((10, 0, 1, 10)), 1801)


def ten_connections() -> Network:
    """Ten connections of two clients with a queue manager in a minute."""
    found = Network()
    for number in range(10):
        client = (bytes((10, 0, 0, 1 + number % 2)), 50_000 + number)
        found.talk(client, SERVER, at=number * 6.0, sizes=[200, 1460, 700, 3000, 90], every=0.1)
    return found
