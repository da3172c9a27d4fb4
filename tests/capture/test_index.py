"""The index of a capture gives the frames that the exact readers give, and the plain ones by column."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.index import read_chunks
from msmq_wire.capture.link import dissect
from msmq_wire.capture.network import Skipped
from msmq_wire.capture.regular_frames import read_regular
from msmq_wire.capture.source import Source, read_frames
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.tcp_events import TcpSegment
from tests.effort import in_batches

CAPTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "captures").glob("*.pcap*"))
SIZES = (1, 64, 300, 5_000, 1 << 20)

Row = tuple[int, int, int, bytes, int, int]
Damage = tuple[str, int | None] | None


def exact(data: bytes) -> tuple[list[Row], Damage]:
    rows: list[Row] = []
    try:
        for one in read_frames(io.BytesIO(data)):
            rows.append((one.number, one.time or 0, one.link_type, one.data, one.length, one.position))
    except CaptureError as error:
        return rows, (error.message, error.offset)
    return rows, None


def indexed(data: bytes, size: int) -> tuple[list[Row], Damage]:
    rows: list[Row] = []
    try:
        for chunk in read_chunks(Source(io.BytesIO(data)).window(), size):
            for one in map(chunk.frame, range(len(chunk))):
                rows.append((one.number, one.time or 0, one.link_type, one.data, one.length, one.position))
    except CaptureError as error:
        return rows, (error.message, error.offset)
    return rows, None


@in_batches(CAPTURES, name="capture", every=1)
def test_chunks_of_any_size_hold_the_frames_of_the_exact_reader(capture: Path) -> None:
    data = capture.read_bytes()
    for size in SIZES:
        assert indexed(data, size) == exact(data)


@given(
    st.sampled_from(CAPTURES),
    st.integers(0, 1 << 16),
    st.lists(st.tuples(st.integers(0, 1 << 16), st.sampled_from((0, 1, 255, 0x80))), max_size=4),
    st.sampled_from(SIZES),
)
def test_a_cut_or_damaged_file_gives_the_same_frames_and_the_same_error(
    capture: Path, kept: int, changes: list[tuple[int, int]], size: int
) -> None:
    data = bytearray(capture.read_bytes())
    del data[max(4, len(data) - kept % len(data)) :]
    for at, value in changes:
        data[at % len(data)] = value
    assert indexed(bytes(data), size) == exact(bytes(data))


def test_a_file_is_read_the_same_as_its_bytes(tmp_path: Path, traffic: Callable[..., bytes]) -> None:
    data = traffic(1)
    path = tmp_path / "capture.pcap"
    path.write_bytes(data)
    with Source(path) as source:
        rows = [
            one.data
            for chunk in read_chunks(source.window(), 4096)
            for one in map(chunk.frame, range(len(chunk)))
        ]
        assert source.bytes_read == len(data)
    assert rows == [row[3] for row in exact(data)[0]]


def judge(data: bytes) -> None:
    """Compare what is read by column with `dissect`, frame by frame."""
    with Source(io.BytesIO(data)) as source:
        for chunk in read_chunks(source.window(), 1 << 16):
            plain = read_regular(chunk)
            columns = (plain.sport, plain.dport, plain.seq, plain.ack, plain.flags, plain.cut)
            numbers = zip(*(column.tolist() for column in columns), strict=True)
            places = zip(plain.index.tolist(), plain.at.tolist(), plain.size.tolist(), strict=True)
            ends: dict[tuple[bytes, int], int] = {}
            for (index, at, size), values in zip(places, numbers, strict=True):
                (segment,) = dissect(chunk.frame(index))
                assert isinstance(segment, TcpSegment)
                shown = segment.sport, segment.dport, segment.seq, segment.ack, segment.flags, segment.cut
                assert values == shown
                assert bytes(chunk.data[at : at + size]) == segment.payload
                row = plain.index.tolist().index(index)
                for end, column in (
                    ((segment.src, segment.sport), plain.source),
                    ((segment.dst, segment.dport), plain.target),
                ):
                    assert ends.setdefault(end, int(column[row])) == int(column[row])
            assert len(set(ends.values())) == len(ends)
            for index in plain.udp.tolist():
                (datagram,) = dissect(chunk.frame(index))
                assert not isinstance(datagram, (TcpSegment, Skipped))
            seen = [*plain.index.tolist(), *plain.udp.tolist(), *plain.other.tolist()]
            assert sorted(seen) == list(range(len(chunk)))


@in_batches(CAPTURES, name="capture", every=1)
def test_plain_frames_of_the_fixtures_are_what_dissect_gives(capture: Path) -> None:
    try:
        judge(capture.read_bytes())
    except CaptureError:
        assert "cut" in capture.name or "damaged" in capture.name or "empty" in capture.name


@pytest.mark.parametrize("seed", range(6))
def test_plain_frames_of_damaged_traffic_are_what_dissect_gives(
    seed: int, traffic: Callable[..., bytes]
) -> None:
    data = bytearray(traffic(seed, 4))
    source = random.Random(seed)
    # The headers of the frames, not those of the records.
    at = 24
    while at < len(data):
        size = int.from_bytes(data[at + 8 : at + 12], "little")
        for _ in range(source.randrange(3)):
            data[at + 16 + source.randrange(min(size, 70))] = source.choice((0, 6, 17, 0x45, 0x81, 255))
        data[20] = source.choice((1, 1, 1, 101, 113, 12))
        at += 16 + size
    judge(bytes(data))


def test_most_ordinary_traffic_is_plain(traffic: Callable[..., bytes]) -> None:
    with Source(io.BytesIO(traffic(3, 12, 0))) as source:
        for chunk in read_chunks(source.window(), 1 << 20):
            assert len(read_regular(chunk).index) > 0.9 * len(chunk)


def test_blocks_between_packets_do_not_make_a_chunk_of_every_packet() -> None:
    def block(kind: int, body: bytes) -> bytes:
        size = len(body) + 12
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

    parts = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", 1, 0, 0)),
    ]
    for number in range(300):
        parts.append(block(6, struct.pack("<IIIII", 0, 0, number, 60, 60) + bytes(60)))
        parts.append(block(5, bytes(12)))
    chunks = list(read_chunks(Source(io.BytesIO(b"".join(parts))).window(), 1 << 20))
    assert [len(chunk) for chunk in chunks] == [300]
    assert chunks[0].numbers.tolist() == list(range(1, 301))
    assert chunks[0].time.tolist() == [number * 1000 for number in range(300)]
