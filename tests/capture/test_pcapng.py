"""pcapng, blocks written by hand from the file format's description."""

from __future__ import annotations

import importlib
import io
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.pcap import Frame, Window
from msmq_wire.capture.pcapng import read_pcapng
from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.errors import CaptureError
from msmq_wire.records.view import record_view
from tests.schemas import schema_of

SECTION = bytes.fromhex("0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000")
BIG_SECTION = bytes.fromhex("0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c")
ETHERNET = bytes.fromhex("01000000 14000000 0100 0000 00000000 14000000")
BIG_RAW = bytes.fromhex("00000001 00000014 0065 0000 00000000 00000014")
# 3 bytes of 9 from interface 0, ticks 0x0000000100000002.
ENHANCED = bytes.fromhex("06000000 24000000 00000000 01000000 02000000 03000000 09000000 61626300 24000000")
BIG_ENHANCED = bytes.fromhex(
    "00000006 00000024 00000000 00000001 00000002 00000003 00000009 61626300 00000024"
)
SIMPLE = bytes.fromhex("03000000 14000000 03000000 61626300 14000000")
OBSOLETE = bytes.fromhex("02000000 24000000 0000 ffff 01000000 02000000 03000000 09000000 61626300 24000000")
TICKS = 0x0000000100000002


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) & 3)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def interface(options: bytes, link_type: int = 1, snap_length: int = 0) -> bytes:
    return block(1, struct.pack("<HHI", link_type, 0, snap_length) + options)


def option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) & 3)


def read(data: bytes, size: int = 1 << 20) -> tuple[list[Frame], CaptureError | None]:
    stream = io.BytesIO(data)
    frames: list[Frame] = []
    try:
        for frame in read_pcapng(Window(iter(lambda: stream.read(size), b""))):
            frames.append(frame)
    except CaptureError as error:
        return frames, error
    return frames, None


@pytest.mark.parametrize(
    ("data", "link_type"),
    [
        (SECTION + ETHERNET + ENHANCED, 1),
        (BIG_SECTION + BIG_RAW + BIG_ENHANCED, 101),
        (SECTION + ETHERNET + OBSOLETE, 1),
    ],
)
def test_packet_blocks_are_read_in_both_byte_orders(data: bytes, link_type: int) -> None:
    assert read(data) == ([Frame(1, TICKS * 1000, link_type, b"abc", 9, 48, 0, 0)], None)


def test_a_simple_packet_has_no_time() -> None:
    assert read(SECTION + ETHERNET + SIMPLE) == ([Frame(1, None, 1, b"abc", 3, 48, 0, 0)], None)


def test_a_simple_packet_is_as_long_as_the_snap_length_says() -> None:
    data = SECTION + interface(b"", snap_length=2) + block(3, struct.pack("<I", 9) + b"abcd")
    frames, error = read(data)
    assert error is None
    assert (frames[0].data, frames[0].length) == (b"ab", 9)


def test_a_simple_packet_longer_than_its_block_is_damage() -> None:
    error = read(SECTION + ETHERNET + block(3, struct.pack("<I", 9) + b"abcd"))[1]
    assert error is not None
    assert error.offset == 48


@pytest.mark.parametrize(
    ("options", "time"),
    [
        (option(9, b"\x06"), TICKS * 1000),
        (option(9, b"\x09"), TICKS),
        (option(9, b"\x00"), TICKS * 10**9),
        (option(9, b"\x0c"), TICKS // 1000),
        (option(9, b"\x8a"), TICKS * 10**9 // 1024),
        (option(9, b"\x7f"), 0),
        (option(9, b"\x09") + option(14, struct.pack("<q", -1)), TICKS - 10**9),
        (option(9, b"\x09") + option(14, struct.pack("<q", 1000)), TICKS + 1000 * 10**9),
        (option(9, b"\x09") + option(14, struct.pack("<q", -(1 << 63))), None),
        (option(9, b"\x09") + option(14, struct.pack("<q", (1 << 63) - 1)), None),
        (option(2, b"eth0 of a host") + option(9, b"\x09") + option(0, b""), TICKS),
        (option(0, b"") + option(9, b"\x09"), TICKS * 1000),
        (option(9, b"\x09\x09"), TICKS * 1000),
    ],
)
def test_the_clock_of_an_interface_is_read_from_its_options(options: bytes, time: int | None) -> None:
    frames, error = read(SECTION + interface(options) + ENHANCED)
    assert error is None
    assert frames[0].time == time


@pytest.mark.parametrize(
    "options", [b"\x09\x00\xff\x00\x09\x00\x00\x00", b"\x09\x00\x05\x00\x09\x00\x00\x00", b"\x02\x00\xff\xff"]
)
def test_an_option_that_runs_past_its_block_is_damage(options: bytes) -> None:
    frames, error = read(SECTION + ETHERNET + ENHANCED + interface(options) + ENHANCED)
    assert len(frames) == 1
    assert error is not None
    assert error.offset == 84


def test_a_new_section_has_its_own_byte_order_and_interfaces() -> None:
    second = BIG_SECTION + BIG_RAW + BIG_ENHANCED
    frames, error = read(SECTION + ETHERNET + ENHANCED + second)
    assert error is None
    assert [(frame.number, frame.section, frame.link_type) for frame in frames] == [(1, 0, 1), (2, 1, 101)]
    frames, error = read(SECTION + ETHERNET + ENHANCED + BIG_SECTION + BIG_ENHANCED)
    assert len(frames) == 1
    assert error is not None
    assert "interface 0" in error.message


def test_each_frame_names_its_interface() -> None:
    second = struct.pack("<IIIII", 1, 0, 7, 2, 2) + b"hi"
    frames, error = read(
        SECTION + ETHERNET + interface(option(9, b"\x09"), 113) + ENHANCED + block(6, second)
    )
    assert error is None
    assert [(frame.interface, frame.link_type, frame.time) for frame in frames] == [
        (0, 1, TICKS * 1000),
        (1, 113, 7),
    ]


def test_blocks_of_other_kinds_are_stepped_over() -> None:
    others = block(4, b"names") + block(5, bytes(12)) + block(10, b"secrets") + block(0xBAD, b"custom" * 99)
    frames, error = read(SECTION + others + ETHERNET + others + ENHANCED + others)
    assert error is None
    assert [frame.data for frame in frames] == [b"abc"]


def test_options_of_a_packet_are_no_part_of_its_data() -> None:
    body = struct.pack("<IIIII", 0, 0, 7, 2, 2) + b"hi\0\0" + option(1, b"a comment") + option(0, b"")
    frames, error = read(SECTION + ETHERNET + block(6, body))
    assert error is None
    assert frames[0].data == b"hi"


def statistics(interface: int, *options: bytes) -> bytes:
    """An Interface Statistics Block, at no time."""
    return block(5, struct.pack("<III", interface, 0, 0) + b"".join(options) + option(0, b""))


def number(code: int, value: int) -> bytes:
    return option(code, struct.pack("<Q", value))


def packet(*options: bytes, data: bytes = b"hi") -> bytes:
    body = struct.pack("<IIIII", 0, 0, 7, len(data), len(data)) + data + bytes(-len(data) & 3)
    return block(6, body + b"".join(options) + (option(0, b"") if options else b""))


IF_DROP, OS_DROP, ACCEPTED = 5, 7, 6


@pytest.mark.parametrize("few", [True, False], ids=["one by one", "by column"])
@pytest.mark.parametrize(
    ("blocks", "dropped"),
    [
        ((packet(),), 0),
        ((packet(), statistics(0, number(IF_DROP, 500))), 500),
        ((packet(), statistics(0, number(OS_DROP, 7), number(ACCEPTED, 900))), 7),
        # Counters go on: the last ones of an interface count, those of its two kinds together.
        ((statistics(0, number(IF_DROP, 200)), statistics(0, number(IF_DROP, 500), number(OS_DROP, 1))), 501),
        ((interface(b""), statistics(0, number(IF_DROP, 2)), statistics(1, number(IF_DROP, 3))), 5),
        ((statistics(0, number(IF_DROP, 2)), SECTION, ETHERNET, statistics(0, number(IF_DROP, 3))), 5),
        # What a packet says was dropped before it, between other options; twelve packets are read by column.
        ((packet(number(4, 3)), *[packet()] * 12, packet(option(1, b"note"), number(4, 5))), 8),
        # Both may be about the same frames.
        ((packet(number(4, 30)), statistics(0, number(IF_DROP, 20))), 30),
        # No such interface, cut options, another size.
        ((statistics(9, number(IF_DROP, 5)),), 0),
        ((block(5, bytes(4)), block(5, struct.pack("<III", 0, 0, 0) + number(IF_DROP, 5)[:8]),), 0),
        ((statistics(0, option(IF_DROP, b"\x05\0\0\0")),), 0),
    ],
)  # fmt: skip
def test_what_a_file_says_that_it_dropped_is_counted(
    blocks: tuple[bytes, ...], dropped: int, few: bool, tmp_path: Path
) -> None:
    path = tmp_path / "dropped.pcapng"
    path.write_bytes(SECTION + ETHERNET + b"".join(blocks) + packet())
    with CaptureReader(path, columns=not few) as reader:
        gaps = [(one.frames_missing, one.stream, one.reason) for one in reader if one.type == "gap"]
    assert gaps == ([(dropped, None, "dropped")] if dropped else [])
    if dropped:
        (row,) = (record_view(one) for one in read_capture(path))
        assert schema_of("record").faults(row) == []
    assert [one.type for one in read_capture(path)] == ["gap"] * bool(dropped)


def test_a_capture_filter_is_told_among_the_notices(tmp_path: Path) -> None:
    path = tmp_path / "filtered.pcapng"
    path.write_bytes(SECTION + interface(option(11, b"\0tcp dst port 1801")) + packet())
    with CaptureReader(path) as reader:
        assert list(reader) == []
    assert reader.summary.notices == {"recorded with the filter tcp dst port 1801": 1}


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        (struct.pack("<II", 6, 8) + bytes(40), "length of 8"),
        (struct.pack("<II", 6, 33) + bytes(40), "two different lengths"),
        (struct.pack("<II", 6, 0xFFFFFFFC) + bytes(40), "length of 4294967292"),
        (ENHANCED[:-4] + b"\x20\0\0\0", "two different lengths"),
        (block(6, bytes(16)), "too short"),
        (block(3, b""), "too short"),
        (block(1, b""), "too short"),
        (block(6, struct.pack("<IIIII", 1, 0, 0, 0, 0)), "interface 1"),
        (block(6, struct.pack("<IIIII", 0, 0, 0, 5, 5) + b"abcd"), "does not fit"),
        (block(6, struct.pack("<IIIII", 0, 0, 0, 0xFFFFFFFF, 5) + b"abcd"), "does not fit"),
        (SECTION[:8] + b"abcd" + SECTION[12:], "byte-order"),
        (block(0x0A0D0D0A, SECTION[8:16]), "too short"),
        (SECTION[:12] + b"\x02" + SECTION[13:], "2.0"),
        (ENHANCED[:11], "cut"),
        (ENHANCED[:12], "cut"),
        (ENHANCED[:-1], "cut"),
        (b"\0", "cut"),
    ],
)
def test_a_damaged_block_is_an_error_after_everything_before_it(damaged: bytes, words: str) -> None:
    frames, error = read(SECTION + ETHERNET + ENHANCED + damaged)
    assert [frame.data for frame in frames] == [b"abc"]
    assert error is not None
    assert words in error.message
    assert error.offset == 84


@pytest.mark.parametrize("data", [b"", SECTION[:11], ENHANCED + SECTION, SECTION + SIMPLE])
def test_a_file_that_does_not_start_as_it_must_is_an_error(data: bytes) -> None:
    frames, error = read(data)
    assert frames == []
    assert error is not None


def test_a_block_that_claims_more_than_the_file_allocates_nothing() -> None:
    tracemalloc.start()
    error = read(SECTION + struct.pack("<II", 6, 1 << 27) + bytes(40))[1]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error is not None
    assert peak < 1 << 20


BLOCKS = st.one_of(
    st.sampled_from([SECTION, BIG_SECTION, ETHERNET, ENHANCED, SIMPLE, OBSOLETE, BIG_RAW, BIG_ENHANCED]),
    st.builds(block, st.integers(0, 11), st.binary(max_size=60)),
    st.binary(max_size=12),
)


@given(st.lists(BLOCKS, max_size=12).map(b"".join), st.integers(1, 64))
def test_any_blocks_give_frames_then_perhaps_one_error_for_any_split(data: bytes, size: int) -> None:
    frames, error = read(SECTION + data, size)
    whole, whole_error = read(SECTION + data)
    assert (frames, str(error)) == (whole, str(whole_error))


def test_frames_written_by_an_independent_writer_are_read(tmp_path: Path) -> None:
    utils = importlib.import_module("scapy.utils")
    packets = importlib.import_module("scapy.packet")
    path = tmp_path / "scapy.pcapng"
    raw = packets.Raw(b"\x01" * 61)
    raw.time = 1700000000.25
    writer = utils.PcapNgWriter(str(path))
    writer.linktype = 1
    writer.write(raw)
    writer.close()
    frames, error = read(path.read_bytes())
    assert error is None
    assert [(frame.data, frame.time, frame.link_type) for frame in frames] == [
        (b"\x01" * 61, 1_700_000_000_250_000_000, 1)
    ]
