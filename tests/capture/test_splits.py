"""Splits of a capture file, read one by one, are the frames of the exact reader with their numbers."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import struct
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.index import Chunk, read_chunks
from msmq_wire.capture.pcapng import Blocks, pack_interfaces, unpack_interfaces
from msmq_wire.capture.source import Source, read_frames
from msmq_wire.capture.splits import FileIndex, Split, clocks, index_file, read_split
from msmq_wire.errors import CaptureError
from tests.effort import in_batches

CAPTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "captures").glob("*.pcap*"))
WHOLE = 1 << 40
SIZES = (1, 100, 1 << 16, WHOLE)

Row = tuple[int, int, int, bytes, int, int]
Damage = tuple[str | None, int | None]


def exact(path: Path) -> tuple[list[Row], Damage]:
    rows: list[Row] = []
    try:
        for one in read_frames(path):
            rows.append((one.number, one.time or 0, one.link_type, one.data, one.length, one.position))
    except CaptureError as error:
        return rows, (error.message, error.offset)
    return rows, (None, None)


def rows_in(chunk: Chunk) -> list[Row]:
    return [
        (one.number, one.time or 0, one.link_type, one.data, one.length, one.position)
        for one in map(chunk.frame, range(len(chunk)))
    ]


def rows_of(split: Split, chunk_size: int = 4096) -> list[Row]:
    return [row for chunk in read_split(split, chunk_size) for row in rows_in(chunk)]


def refusal(call: Callable[[], object]) -> Damage | None:
    try:
        call()
    except CaptureError as error:
        return error.message, error.offset
    return None


def edges(rows: list[Row], split_bytes: int) -> list[int]:
    """The offsets at which splits start, by the rule alone."""
    found: list[int] = []
    for row in rows:
        if not found or row[5] >= found[-1] + split_bytes:
            found.append(row[5])
    return found


def judge(path: Path, split_bytes: int, chunk_size: int = 1 << 16) -> FileIndex:
    """Compare the splits of a file, and what they say, with the exact reader."""
    rows, damage = exact(path)
    index = index_file(path, split_bytes, chunk_size=chunk_size)
    assert (index.error, index.error_offset) == damage
    assert (index.path, index.size, index.frames) == (str(path), path.stat().st_size, len(rows))
    times = [row[1] for row in rows if row[1]]
    assert (index.first_time, index.last_time) == (min(times, default=None), max(times, default=None))
    found: list[Row] = []
    for split in index.splits:
        assert split.first_frame == len(found) + 1
        assert split.frames > 0
        assert split.clock == max((row[1] for row in found), default=0)
        assert (split.path, split.size, split.mtime_ns) == (index.path, index.size, index.mtime_ns)
        found += rows_of(split)
        assert len(found) == split.first_frame + split.frames - 1
        assert split.start <= found[split.first_frame - 1][5]
        assert found[-1][5] < split.end
    assert found == rows
    for one, other in itertools.pairwise(index.splits):
        assert one.end == other.start
    if rows and not index.splits[0].compressed:
        assert [split.start for split in index.splits] == edges(rows, split_bytes)
        if index.error is None:
            assert index.splits[-1].end == index.size
    return index


def pcap(frames: list[bytes], order: str = "<", magic: int = 0xA1B2C3D4) -> bytes:
    extra = bytes(8) if magic == 0xA1B2CD34 else b""
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 1 << 18, 1)]
    for number, frame in enumerate(frames):
        # The clock steps back at every third frame.
        seconds = 1_700_000_000 + number - 5 * (number % 3 == 2)
        parts += (struct.pack(order + "IIII", seconds, number, len(frame), len(frame) + 4), extra, frame)
    return b"".join(parts)


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) & 3)
    size = len(body) + 12
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def section(order: str) -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, link_type: int, resolution: int, offset: int = 0, snap_length: int = 0) -> bytes:
    options = struct.pack(order + "HHB3x", 9, 1, resolution) + struct.pack(order + "HHq", 14, 8, offset)
    return block(order, 1, struct.pack(order + "HHI", link_type, 0, snap_length) + options + bytes(4))


def enhanced(order: str, index: int, ticks: int, data: bytes) -> bytes:
    fields = struct.pack(order + "IIIII", index, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(order, 6, fields + data)


def obsolete(order: str, index: int, ticks: int, data: bytes) -> bytes:
    fields = (index, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(order, 2, struct.pack(order + "HHIIII", *fields) + data)


def simple(order: str, length: int, data: bytes) -> bytes:
    return block(order, 3, struct.pack(order + "I", length) + data)


def two_sections() -> bytes:
    """Sections of both byte orders; interfaces of four clocks, one of them between packets; other blocks."""
    first = [
        section("<"),
        block("<", 4, bytes(16)),
        interface("<", 1, 6),
        enhanced("<", 0, 1_700_000_000_000_000, b"micro" * 9),
        interface("<", 101, 9, offset=1_600_000_000, snap_length=8),
        enhanced("<", 1, 100_000_000_000_000_123, b"nano" * 7),
        block("<", 5, bytes(12)),
        obsolete("<", 1, 7, b"old"),
        simple("<", 20, bytes(20)),
        enhanced("<", 0, 1_700_000_001_000_000, b""),
    ]
    second = [
        section(">"),
        interface(">", 113, 0x80 | 20, snap_length=12),
        block(">", 0x0BAD, bytes(400)),
        simple(">", 50, b"cut to snap "),
        enhanced(">", 0, 1_700_000_002 << 20 | 1, b"power of two" * 5),
        interface(">", 228, 12, offset=1_683_000_000),
        enhanced(">", 1, 17_000_000_000_000_001_999, b"pico"),
        interface(">", 1, 0x80 | 127),
        enhanced(">", 2, 1 << 63, b"slow"),
        block(">", 4, bytes(8)),
    ]
    return b"".join(first + second + [section("<"), interface("<", 1, 9), enhanced("<", 0, 5, b"last")])


def stored(folder: Path, data: bytes, name: str = "capture.bin") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("splits")


@pytest.mark.parametrize("split_bytes", SIZES)
@in_batches(CAPTURES, name="capture", every=1)
def test_splits_hold_the_frames_of_the_exact_reader(capture: Path, split_bytes: int) -> None:
    judge(capture, split_bytes)


@pytest.mark.parametrize("split_bytes", [1, 50, 100, 200, 300, WHOLE])
@pytest.mark.parametrize("chunk_size", [1, 100, 4096])
def test_sections_of_both_byte_orders_keep_their_interfaces(
    folder: Path, split_bytes: int, chunk_size: int
) -> None:
    path = stored(folder, two_sections())
    rows, _ = exact(path)
    assert [row[1] for row in rows] == [
        1_700_000_000_000_000_000,
        1_700_000_000_000_000_123,
        1_600_000_000_000_000_007,
        0,
        1_700_000_001_000_000_000,
        0,
        1_700_000_002_000_000_953,
        1_700_000_000_000_000_001,
        0,
        5,
    ]
    index = judge(path, split_bytes, chunk_size)
    if split_bytes == 1:
        assert len(index.splits) == len(rows)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34])
def test_every_kind_of_classic_pcap_is_split(folder: Path, order: str, magic: int) -> None:
    path = stored(folder, pcap([bytes([number]) * number for number in range(60)], order, magic))
    for split_bytes in (1, 100, 1000):
        index = judge(path, split_bytes, chunk_size=256)
        assert len(index.splits) > 1
        assert index.splits[0].start == 24


def test_a_capture_of_a_capture_is_not_split_at_the_records_it_carries(folder: Path) -> None:
    inner = pcap([bytes(40 + number % 17) for number in range(400)])
    outer = pcap([inner[at : at + 1400] for at in range(0, len(inner), 1400)])
    path = stored(folder, outer)
    rows, _ = exact(path)
    for split_bytes in (200, 300, 700, 3000):
        assert {split.start for split in judge(path, split_bytes).splits} <= {row[5] for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("data", [two_sections(), pcap([bytes(30), b"", b"x" * 70])], ids=["pcapng", "pcap"])
def test_a_file_cut_anywhere_gives_the_same_frames_and_the_same_error(folder: Path, data: bytes) -> None:
    # Blocks have lengths in multiples of 4.
    for kept in range(4, len(data), 3):
        path = stored(folder, data[:kept])
        for split_bytes in (1, WHOLE):
            judge(path, split_bytes, chunk_size=300)


@given(
    st.sampled_from(CAPTURES),
    st.integers(0, 1 << 16),
    st.lists(st.tuples(st.integers(0, 1 << 16), st.sampled_from((0, 1, 255, 0x80))), max_size=4),
    st.one_of(st.sampled_from(SIZES), st.integers(1, 5000)),
    st.sampled_from((1, 500, 1 << 16)),
)
def test_a_cut_or_damaged_file_splits_into_what_comes_before_the_damage(
    folder: Path,
    capture: Path,
    kept: int,
    changes: list[tuple[int, int]],
    split_bytes: int,
    chunk_size: int,
) -> None:
    data = bytearray(capture.read_bytes())
    del data[max(4, len(data) - kept % len(data)) :]
    for at, value in changes:
        data[at % len(data)] = value
    path = stored(folder, bytes(data))
    with Source(path) as source:
        refused = refusal(source.window)
    if refused is None:
        judge(path, split_bytes, chunk_size)
    else:
        assert refusal(lambda: index_file(path, split_bytes)) == refused


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("data", [two_sections(), pcap([bytes(90)] * 50)], ids=["pcapng", "pcap"])
def test_a_compressed_file_is_one_split(
    folder: Path, compress: Callable[[bytes], bytes], data: bytes
) -> None:
    half = len(data) // 2
    whole = compress(data[:half]) + compress(data[half:])
    (split,) = judge(stored(folder, whole), 1).splits
    assert (split.compressed, split.start, split.end) == (True, 0, len(data))
    damaged = judge(stored(folder, whole[:-9]), 1, chunk_size=256)
    assert damaged.error is not None
    assert [one.compressed for one in damaged.splits] == [True]
    assert damaged.splits[0].end <= len(data)


def test_a_long_capture_is_indexed_the_same_in_pieces(folder: Path, traffic: Callable[..., bytes]) -> None:
    path = stored(folder, traffic(5))
    indexes = [index_file(path, 30_000, chunk_size=size) for size in (1, 5000, 1 << 23)]
    assert indexes[0] == indexes[1] == indexes[2]
    assert len(judge(path, 30_000).splits) > 5


def test_the_clock_of_a_split_is_where_the_frames_before_left_it(folder: Path) -> None:
    path = stored(folder, pcap([bytes(20)] * 40))
    with Source(path) as source:
        (chunk,) = read_chunks(source.window(), 1 << 16)
        so_far = clocks(chunk, 0)
    assert so_far.tolist() == list(itertools.accumulate(chunk.time.tolist(), max))
    assert clocks(chunk, 1 << 62).tolist() == [1 << 62] * 40
    for split_bytes in (1, 90, 400):
        parts = [
            clocks(chunk, split.clock)
            for split in index_file(path, split_bytes).splits
            for chunk in read_split(split)
        ]
        assert np.concatenate(parts).tolist() == so_far.tolist()


def test_a_split_survives_storage(folder: Path) -> None:
    index = index_file(stored(folder, two_sections()), 100)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(index), type=FileIndex) == index


def test_interfaces_of_every_resolution_survive_packing() -> None:
    blocks = Blocks()
    data = [section("<")]
    data += [
        interface("<", one, one, offset, 1 << 31) for one in range(256) for offset in (-(1 << 63), 0, 77)
    ]
    at, joined = 0, b"".join(data)
    while at < len(joined):
        total = blocks.measure(joined, at, at)
        blocks.take(joined, at, total, at)
        at += total
    assert len(blocks.interfaces) == 768
    packed = pack_interfaces(blocks.interfaces)
    assert len(packed) == 768 * 15
    assert unpack_interfaces(packed) == blocks.interfaces
    with pytest.raises(CaptureError, match="packed interfaces of 14 bytes"):
        unpack_interfaces(packed[:14])


@pytest.mark.slow
def test_interfaces_do_not_make_the_index_larger_than_the_file(folder: Path) -> None:
    data = b"".join(
        [
            section("<"),
            *(block("<", 1, struct.pack("<HHI", 1, 0, 0)) for _ in range(1 << 16)),
            *(enhanced("<", number, number, bytes(60_000)) for number in range(300)),
        ]
    )
    index = index_file(stored(folder, data), 1)
    assert index.frames == 300
    assert 1 < len(index.splits) < 4
    assert all(split.end - split.start < 8 << 20 for split in index.splits)
    assert sum(len(split.state) for split in index.splits) < len(data) / 4
    assert [row[0] for split in index.splits for row in rows_of(split)] == list(range(1, 301))


@pytest.mark.slow
def test_a_new_interface_before_every_packet_costs_a_part_of_the_file(folder: Path) -> None:
    packets = (interface("<", 1, 9) + enhanced("<", number, number, b"") for number in range(3000))
    data = section("<") + b"".join(packets)
    index = index_file(stored(folder, data), 1 << 14)
    assert index.frames == 3000
    assert len(index.splits) > 2
    assert sum(len(split.state) for split in index.splits[:-1]) < len(data) / 4
    assert [row[1] for split in index.splits for row in rows_of(split)] == list(range(3000))


@pytest.mark.parametrize("head", [pcap([]), section("<") + interface("<", 1, 6), section(">")])
def test_a_capture_without_frames_has_no_splits(folder: Path, head: bytes) -> None:
    index = judge(stored(folder, head), 1)
    assert (index.splits, index.error) == ((), None)


@pytest.mark.parametrize(
    "data",
    [b"", b"no capture at all", b"\xd4\xc3\xb2", gzip.compress(b"text"), gzip.compress(pcap([]))[:11]],
    # gzip writes the time, and a name must not change with it.
    ids=["empty", "text", "part_of_a_mark", "gzip_of_text", "part_of_gzip"],
)
def test_a_file_that_is_no_capture_is_refused_as_the_reader_refuses_it(folder: Path, data: bytes) -> None:
    path = stored(folder, data)
    expected = refusal(lambda: list(read_frames(path)))
    assert expected is not None
    assert refusal(lambda: index_file(path, 1)) == expected


def test_a_damaged_file_header_is_damage_of_a_capture(folder: Path) -> None:
    for data in (pcap([])[:20], pcap([])[:4] + b"\x09" + pcap([])[5:], section("<")[:20]):
        assert judge(stored(folder, data), 1).error is not None


def test_what_cannot_be_opened_as_a_file_is_refused(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    for path, reason in (
        (folder / "absent", "No such file"),
        (folder, "Is a directory"),
        (pipe, "no regular file"),
        (Path("a\0b"), "null (byte|character)"),
    ):
        with pytest.raises(CaptureError, match=reason):
            index_file(path, 1)


def test_a_dash_is_a_file_and_not_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(folder, pcap([b"frame"]), "-")
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    (split,) = index_file("-", 1).splits
    assert [row[3] for row in rows_of(split)] == [b"frame"]


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(16))


def touched(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def disguised(path: Path) -> None:
    before = path.stat()
    path.write_bytes(pcap([bytes(1)] * 200).ljust(before.st_size, b"\0")[: before.st_size])
    os.utime(path, ns=(0, before.st_mtime_ns))


@pytest.mark.parametrize("change", [grown, touched, cut, disguised, Path.unlink])
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_that_changed_after_indexing_is_refused(
    tmp_path: Path, change: Callable[[Path], None], compress: Callable[[bytes], bytes]
) -> None:
    path = stored(tmp_path, compress(pcap([os.urandom(40)] * 100)))
    splits = index_file(path, 500).splits
    change(path)
    for split in splits:
        with pytest.raises(CaptureError):
            rows_of(split)


@pytest.mark.parametrize("left", [24, 3000, 30_000, 30_020])
def test_a_file_cut_while_it_is_read_gives_whole_frames_and_then_an_error(tmp_path: Path, left: int) -> None:
    path = stored(tmp_path, pcap([bytes(84)] * 500))
    expected = exact(path)[0]
    (split,) = index_file(path, WHOLE).splits
    found: list[Row] = []

    def read() -> None:
        for chunk in read_split(split, 1000):
            if not found:
                os.truncate(path, left)
            found.extend(rows_in(chunk))

    with pytest.raises(CaptureError, match="changed after it was indexed"):
        read()
    assert found == expected[: len(found)]
    assert len(found) == max(10, (left - 24) // 100)


def test_a_damaged_state_is_an_error_of_the_capture(tmp_path: Path) -> None:
    for data in (pcap([bytes(9)]), two_sections()):
        split, *_ = index_file(stored(tmp_path, data), WHOLE).splits
        for state in (b"", b"\xc1", split.state[:-1], msgspec.msgpack.encode(["pcap", b"\0" * 24])):
            with pytest.raises(CaptureError):
                rows_of(msgspec.structs.replace(split, state=state))
