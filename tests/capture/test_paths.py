"""Tenants and copies in captures, frames written by hand: the same by column as frame by frame."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator

import pytest

from msmq_wire.capture import chunks, regular_frames
from msmq_wire.capture.index import Chunk, read_chunks
from msmq_wire.capture.link import dissect
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.segment_batch import SegmentBatch
from msmq_wire.capture.source import Source
from msmq_wire.reassembly.tcp_events import TcpSegment

CLIENT, SERVER = bytes((192, 0, 2, 21)), bytes((192, 0, 2, 10))
SYN, ACK = 2, 16
PACKETS = 30

Wrap = Callable[[bytes], bytes]
Row = tuple[int, str, str | None, int | None, tuple[int, ...], int]


def packet(name: int, number: int) -> bytes:
    """A packet of 100 bytes that is read, but not understood."""
    return struct.pack("<BBH4sII", 0x10, 0, 3, b"LIOR", 100, 0) + bytes((name, number)) * 42


def ip4(protocol: int, payload: bytes, src: bytes, dst: bytes) -> bytes:
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 7, 0, 64, protocol, 0, src, dst) + payload


def talk(name: int, isn: int) -> Iterator[bytes]:
    """The IP packets of a connection."""
    for back, flags, seq, payload in (
        (False, SYN, isn, b""),
        (True, SYN | ACK, isn, b""),
        (False, ACK, isn + 1, b""),
        *((False, ACK, isn + 1 + 100 * number, packet(name, number)) for number in range(PACKETS)),
    ):
        ends = (SERVER, 1801, CLIENT, 50_000) if back else (CLIENT, 50_000, SERVER, 1801)
        src, sport, dst, dport = ends
        ack = isn + 1 if flags & ACK else 0
        tcp = struct.pack(">HHIIHHHH", sport, dport, seq, ack, 5 << 12 | flags, 8192, 0, 0)
        yield ip4(6, tcp + payload, src, dst)


def ethernet(payload: bytes, *tags: int) -> bytes:
    return bytes(12) + b"".join(struct.pack(">HH", 0x8100, tag) for tag in tags) + b"\x08\0" + payload


def vxlan(vni: int) -> Wrap:
    def wrap(inner: bytes) -> bytes:
        data = struct.pack(">II", 8 << 24, vni << 8) + ethernet(inner)
        return ethernet(ip4(17, struct.pack(">HHHH", 5, 4789, 8 + len(data), 0) + data, CLIENT, SERVER))

    return wrap


def geneve(vni: int) -> Wrap:
    def wrap(inner: bytes) -> bytes:
        data = struct.pack(">HHI", 0, 0x6558, vni << 8) + ethernet(inner)
        return ethernet(ip4(17, struct.pack(">HHHH", 5, 6081, 8 + len(data), 0) + data, CLIENT, SERVER))

    return wrap


def gre(key: int) -> Wrap:
    return lambda inner: ethernet(ip4(47, struct.pack(">HHI", 0x2000, 0x0800, key) + inner, CLIENT, SERVER))


def vlans(*tags: int) -> Wrap:
    return lambda inner: ethernet(inner, *tags)


WAYS: dict[str, tuple[Wrap, Wrap]] = {
    "VLAN": (vlans(10), vlans(20)),
    "a VLAN and none": (vlans(), vlans(10)),
    "QinQ, inner tag": (vlans(5, 10), vlans(5, 20)),
    "QinQ, outer tag": (vlans(5, 10), vlans(6, 10)),
    "VXLAN": (vxlan(5001), vxlan(5002)),
    "GENEVE": (geneve(5001), geneve(5002)),
    "GRE": (gre(11), gre(12)),
    "interface": (vlans(), vlans()),
}


def pcapng(frames: list[tuple[int, int, bytes]]) -> bytes:
    """A file with two interfaces; frames are interface, microseconds and bytes."""
    parts = [struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)]
    parts += [struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)] * 2
    for interface, time, data in frames:
        size = 32 + len(data) + -len(data) % 4
        head = struct.pack(
            "<IIIIIII", 6, size, interface, time >> 32, time & 0xFFFFFFFF, len(data), len(data)
        )
        parts += [head, data.ljust(size - 32, b"\0"), struct.pack("<I", size)]
    return b"".join(parts)


def tenants(way: str, isns: tuple[int, int]) -> list[tuple[int, int, bytes]]:
    first, second = WAYS[way]
    there = [first(one) for one in talk(1, isns[0])]
    back = [second(one) for one in talk(2, isns[1])]
    frames = [frame for pair in zip(there, back, strict=True) for frame in pair]
    used = way == "interface"
    return [(number % 2 if used else 0, 1000 * number + 10**15, one) for number, one in enumerate(frames)]


def copies(way: str) -> list[tuple[int, int, bytes]]:
    """One connection; each frame comes again 20 microseconds later, through the other path."""
    first, second = WAYS[way]
    frames: list[tuple[int, int, bytes]] = []
    for number, one in enumerate(talk(1, 1000)):
        time = 1000 * number + 10**15
        frames += [(0, time, first(one)), (int(way == "interface"), time + 20, second(one))]
    return frames


def reported(frames: list[tuple[int, int, bytes]], columns: bool) -> tuple[list[Row], int]:
    with CaptureReader(io.BytesIO(pcapng(frames)), columns=columns, streams=True) as capture:
        rows = [(one.id, one.type, one.event, one.stream, one.frames, one.offset) for one in capture]
    assert capture.summary.notices == {}
    return rows, capture.summary.understood


@pytest.mark.parametrize("few", [0, 64])
@pytest.mark.parametrize("isns", [(1000, 1000), (1000, 1050), (1000, 1 << 30)])
@pytest.mark.parametrize("way", WAYS)
def test_two_tenants_have_all_their_packets(
    way: str, isns: tuple[int, int], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "FEW_FRAMES", few)
    frames = tenants(way, isns)
    rows, understood = reported(frames, columns=True)
    assert (rows, understood) == reported(frames, columns=False)
    assert understood == len(frames)
    packets = [(stream, of) for _, kind, _, stream, of, _ in rows if kind == "user_message"]
    assert sorted(packets) == [
        (stream, (7 + stream + 2 * number,)) for stream in (0, 1) for number in range(PACKETS)
    ]
    steps = [(stream, event) for _, kind, event, stream, *_ in rows if kind == "tcp_stream"]
    assert sorted(steps) == [(n, step) for n in (0, 1) for step in ("established", "syn", "syn_ack")]


@pytest.mark.parametrize("few", [0, 64])
@pytest.mark.parametrize("way", WAYS)
def test_copies_are_one_connection(way: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "FEW_FRAMES", few)
    frames = copies(way)
    rows, understood = reported(frames, columns=True)
    assert (rows, understood) == reported(frames, columns=False)
    assert understood == len(frames)
    packets = [(stream, of) for _, kind, _, stream, of, _ in rows if kind == "user_message"]
    assert packets == [(0, (7 + 2 * number,)) for number in range(PACKETS)]
    assert [event for _, kind, event, *_ in rows if kind == "tcp_stream"] == ["syn", "syn_ack", "established"]


def chunk_of(frames: list[tuple[int, int, bytes]]) -> Chunk:
    return next(read_chunks(Source(io.BytesIO(pcapng(frames))).window(), 1 << 20))


@pytest.mark.parametrize("way", WAYS)
def test_the_column_of_paths_says_what_each_frame_says(way: str) -> None:
    chunk = chunk_of(tenants(way, (1, 1)))
    found = regular_frames.read_regular(chunk)
    other = {}
    for index in found.other.tolist():
        (datagram,) = dissect(chunk.frame(index))
        assert isinstance(datagram, TcpSegment)
        other[index] = datagram
    if other:
        found = found.with_segments(list(other), list(other.values()))
    for row, index in enumerate(found.index.tolist()):
        (datagram,) = dissect(chunk.frame(index))
        assert isinstance(datagram, TcpSegment)
        assert found.path_at(row) == datagram.path
    assert found.path is not None
    assert len(set(found.path.tolist())) == 2


def test_frames_without_a_path_have_no_column_for_it() -> None:
    assert (
        regular_frames.read_regular(chunk_of([(0, 1, ethernet(one)) for one in talk(1, 1000)])).path is None
    )


def test_a_connection_in_one_vlan_is_taken_by_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take_one = SegmentBatch._take_one

    def counted(self: SegmentBatch, *arguments: object) -> None:
        taken.append(1)
        take_one(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(SegmentBatch, "_take_one", counted)
    monkeypatch.setattr(chunks, "FEW_FRAMES", 0)
    reported([(0, 1, ethernet(one, 10)) for one in talk(1, 1000)], columns=True)
    assert len(taken) == 3
