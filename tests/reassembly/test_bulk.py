"""What is put in order by columns is what the reassembler and the framer make of the same segments."""

from __future__ import annotations

import itertools
import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.reassembly.bulk import PacketChain, Payloads, Runs, credible, gather, group
from msmq_wire.reassembly.packet_framer import MAX_PENDING, FramedPacket, PacketFramer, is_credible
from msmq_wire.reassembly.tail import TAIL_BYTES
from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import ACK, SYN, StreamConflict, TcpSegment
from msmq_wire.reassembly.tcp_flow import Flow

CLIENT, SERVER = (b"\x0a\0\0\1", 40000), (b"\x0a\0\0\2", 1801)


def header(size: int, flags: int = 0) -> bytes:
    return struct.pack("<BBH4sII", 0x10, 0, flags, b"LIOR", size, 0)


@given(st.binary(max_size=80), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 40)), max_size=12))
def test_gather_joins_the_pieces(data: bytes, pieces: list[tuple[int, int]]) -> None:
    pieces = [(min(at, len(data)), min(size, max(0, len(data) - at))) for at, size in pieces]
    at, size = np.array([pieces]).reshape(-1, 2).T.astype(np.int64)
    joined = gather(bytearray(data + bytes(12)), at, size)
    assert bytes(joined[:-12]) == b"".join(data[at : at + size] for at, size in pieces)
    assert len(joined) == sum(size for _, size in pieces) + 12


@given(
    st.lists(
        st.binary(max_size=20)
        | st.builds(
            lambda size, cut: header(size)[:cut],
            st.sampled_from((0, 19, 20, 4194304, 4194305)),
            st.integers(0, 16),
        )
    )
)
def test_credible_is_what_is_credible_says(payloads: list[bytes]) -> None:
    data = bytearray(b"".join(payloads) + bytes(12))
    size = np.array([len(one) for one in payloads], np.int64)
    at = np.cumsum(size) - size
    assert credible(data, at, size).tolist() == [is_credible(one) for one in payloads]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_connections_keep_the_order_of_their_segments(ends: list[tuple[int, int]]) -> None:
    source, target = (np.array(column, np.uint64) for column in zip(*ends, strict=True))
    found = group(source, target, None)
    assert found is not None
    starts = found.starts.tolist()
    groups = [found.order[low:high].tolist() for low, high in itertools.pairwise(starts)]
    expected: dict[frozenset[int], list[int]] = {}
    for row, pair in enumerate(ends):
        expected.setdefault(frozenset(pair), []).append(row)
    assert sorted(groups) == sorted(expected.values())
    assert found.reverse.tolist() == [ends[row][0] > ends[row][1] for row in found.order.tolist()]


def test_connections_that_hash_alike_are_told_apart_or_given_up() -> None:
    same, wide = np.full(2, 7, np.uint64), np.arange(12, dtype=np.uint64).reshape(2, 6)
    assert group(same, same, wide) is None
    assert group(same, same, wide[[0, 0]]) is not None


def test_a_run_ends_where_a_segment_does_not_follow() -> None:
    #        data  data  ACK  hole  data  SYN
    seq = np.array([10, 15, 99, 30, 35, 1], np.uint32)
    size = np.array([5, 5, 0, 5, 5, 0])
    flags = np.array([ACK, ACK, ACK, ACK, ACK, SYN])
    one = np.zeros(6, np.uint64)
    source, target = one + np.uint64(1), one + np.uint64(2)
    source[2], target[2] = 2, 1
    connections = group(source, target, None)
    assert connections is not None
    payload = (np.array([0, 1, 3, 4]), np.array([], np.int64))
    alone = np.zeros(6, np.bool_)
    runs = Runs.find(connections, payload, seq=seq, size=size, flags=flags, alone=alone)
    assert runs.start.tolist() == [0, 3, 5, 6]
    assert runs.low.tolist() == [0, 2, 4, 4]
    assert [one.tolist() for one in runs.acks] == [[0, 1, 3, 4], [2]]
    assert runs.control.tolist() == [False] * 5 + [True]


def test_sequence_numbers_follow_each_other_over_the_wrap() -> None:
    seq, size = np.array([0xFFFFFFFE, 3], np.uint32), np.array([5, 5])
    ends = np.ones(2, np.uint64)
    connections = group(ends, ends + np.uint64(1), None)
    assert connections is not None
    payload = (np.array([0, 1]), np.array([], np.int64))
    flags, alone = np.full(2, ACK), np.zeros(2, np.bool_)
    assert Runs.find(connections, payload, seq=seq, size=size, flags=flags, alone=alone).start.tolist() == [
        0,
        2,
    ]


@given(
    st.lists(st.tuples(st.integers(12, 90), st.sampled_from((0, 0x08, 0x10, 0x18))), max_size=30),
    st.lists(st.integers(1, 120), min_size=1, max_size=40),
    st.binary(max_size=30),
)
def test_packets_are_where_the_framer_finds_them(
    packets: list[tuple[int, int]], sizes: list[int], rest: bytes
) -> None:
    stream = b"".join(
        header(size, flags).ljust(max(16, size + (16 if flags == 0x10 else 0)), b"\1")
        for size, flags in packets
    )
    data = stream + rest
    until = [0]
    while until[-1] < len(data):
        until.append(min(len(data), until[-1] + sizes[len(until) % len(sizes)]))
    count = len(until) - 1
    payloads = Payloads(
        place=np.arange(count),
        split=count,
        until=np.array(until, np.int64),
        data=np.frombuffer(data + bytes(12), np.uint8),
    )
    chain = PacketChain(payloads, MAX_PENDING)
    found: list[tuple[int, int]] = []
    at = 0
    while True:
        starts, stops = chain.follow(at, len(data))
        if not len(starts):
            break
        found += zip(starts.tolist(), stops.tolist(), strict=True)
        at = found[-1][1]
    framed = [
        (event.offset, event.offset + len(event.data))
        for event in PacketFramer().feed(data, 1, 1)
        if isinstance(event, FramedPacket)
    ]
    assert found == framed[: len(found)]
    assert at >= len(stream)


def test_a_framer_says_what_it_wants() -> None:
    framer, packet = PacketFramer(), header(100).ljust(100, b"\1")
    assert framer.wanted == 0
    framer.feed(packet[:5], 1, 1)
    assert framer.wanted == 7
    framer.feed(packet[5:20], 2, 2)
    assert framer.wanted == 80
    assert len(framer.feed(packet[20:], 3, 3)) == 1
    assert framer.wanted == 0
    framer.feed(bytes(20), 4, 4)
    assert framer.wanted is None


def test_a_framer_goes_on_behind_what_was_framed_elsewhere() -> None:
    framer, packet = PacketFramer(), header(40).ljust(40, b"\1")
    framer.feed(packet, 1, 1)
    framer.advance(1000)
    (event,) = framer.feed(packet, 2, 2)
    assert event.offset == 1040


def established(data: bytes, *, size: int) -> tuple[TcpReassembler, Flow]:
    """A reassembler that was fed ``data`` in segments of ``size`` bytes, and the direction it came from."""
    tcp = TcpReassembler()
    tcp.feed(segment(SYN, 99, b""))
    tcp.feed(segment(SYN | ACK, 0, b"", back=True))
    tcp.feed(segment(ACK, 100, b""))
    for at in range(0, len(data), size):
        tcp.feed(segment(ACK, 100 + at, data[at : at + size]))
    flow = tcp.flow((*CLIENT, *SERVER))
    assert flow is not None
    return tcp, flow


def segment(flags: int, seq: int, payload: bytes, *, back: bool = False) -> TcpSegment:
    src, dst = (SERVER, CLIENT) if back else (CLIENT, SERVER)
    ack = 100 if back else 1
    return TcpSegment(*src, *dst, seq & 0xFFFFFFFF, ack if flags & ACK else 0, flags, payload, 1, 1)


@pytest.mark.parametrize("total", [1, 5000, TAIL_BYTES - 1, TAIL_BYTES + 3000, 3 * TAIL_BYTES])
@pytest.mark.parametrize("before", [0, 700, 2 * TAIL_BYTES])
def test_bytes_delivered_at_once_leave_the_state_of_bytes_fed(total: int, before: int) -> None:
    data = random.Random(total).randbytes(before + total)
    fed, one = established(data, size=1000)
    bulk, other = established(data[:before], size=1000)
    other.delivered(total, memoryview(data)[max(before, len(data) - TAIL_BYTES) :], 0)
    assert (one.next, one.expected) == (other.next, other.expected)
    assert fed.tail_bytes == bulk.tail_bytes
    for back in (2, 10, TAIL_BYTES - 1, TAIL_BYTES, TAIL_BYTES + 1):
        if back > len(data):
            continue
        at = len(data) - back
        copy = segment(ACK, 100 + at, bytes((data[at] ^ 1,)) + data[at + 1 : at + 9])
        events = fed.feed(copy)
        assert bulk.feed(copy) == events
        assert [type(event) for event in events] == [StreamConflict] * (back <= TAIL_BYTES)
