"""Classic pcap, bytes written by hand from the file format's description."""

from __future__ import annotations

import io
import struct
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.pcap import Frame, Window, read_pcap
from msmq_wire.errors import CaptureError

LITTLE_MICRO = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 00000400 01000000")
BIG_MICRO = bytes.fromhex("a1b2c3d4 0002 0004 00000000 00000000 00040000 00000001")
LITTLE_NANO = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000")
BIG_NANO = bytes.fromhex("a1b23c4d 0002 0004 00000000 00000000 00040000 00000065")
KUZNETZOV = bytes.fromhex("34cdb2a1 0200 0400 00000000 00000000 00000400 01000000")

LITTLE_RECORD = bytes.fromhex("80969800 05000000 03000000 09000000 616263")
BIG_RECORD = bytes.fromhex("00989680 00000005 00000003 00000009 616263")


def read(data: bytes, size: int = 1 << 20) -> tuple[list[Frame], CaptureError | None]:
    stream = io.BytesIO(data)
    frames: list[Frame] = []
    try:
        for frame in read_pcap(Window(iter(lambda: stream.read(size), b""))):
            frames.append(frame)
    except CaptureError as error:
        return frames, error
    return frames, None


@pytest.mark.parametrize(
    ("data", "time", "link_type"),
    [
        (LITTLE_MICRO + LITTLE_RECORD, 10_000_000_000_005_000, 1),
        (BIG_MICRO + BIG_RECORD, 10_000_000_000_005_000, 1),
        (LITTLE_NANO + LITTLE_RECORD, 10_000_000_000_000_005, 1),
        (BIG_NANO + BIG_RECORD, 10_000_000_000_000_005, 101),
    ],
)
def test_both_byte_orders_and_both_resolutions_are_read(data: bytes, time: int, link_type: int) -> None:
    assert read(data) == ([Frame(1, time, link_type, b"abc", 9, 24, 0, 0)], None)


def test_kuznetzovs_records_have_eight_more_header_bytes() -> None:
    record = LITTLE_RECORD[:16] + bytes.fromhex("02000000 0008 00 00") + b"abc"
    frames, error = read(KUZNETZOV + record * 2)
    assert error is None
    assert [(frame.data, frame.position) for frame in frames] == [(b"abc", 24), (b"abc", 51)]


def test_the_link_type_is_the_low_sixteen_bits_and_the_check_sequence_stays() -> None:
    header = LITTLE_MICRO[:20] + bytes.fromhex("01000024")
    frames, error = read(header + LITTLE_RECORD)
    assert error is None
    assert (frames[0].link_type, frames[0].data) == (1, b"abc")


def test_a_record_may_hold_more_than_was_on_the_wire() -> None:
    record = struct.pack("<IIII", 1, 0, 3, 2) + b"abc"
    frames, error = read(LITTLE_MICRO + record)
    assert error is None
    assert (frames[0].data, frames[0].length) == (b"abc", 2)


def test_a_snap_length_that_is_too_small_is_not_believed() -> None:
    header = LITTLE_MICRO[:16] + struct.pack("<II", 2, 1)
    assert read(header + LITTLE_RECORD)[1] is None


def test_a_file_with_a_header_alone_has_no_frames() -> None:
    assert read(LITTLE_MICRO) == ([], None)


@pytest.mark.parametrize("length", range(1, 19))
def test_a_cut_record_yields_everything_before_it(length: int) -> None:
    frames, error = read(LITTLE_MICRO + LITTLE_RECORD + LITTLE_RECORD[:length])
    assert [frame.data for frame in frames] == [b"abc"]
    assert error is not None
    assert error.offset == 24 + 19
    assert "cut" in error.message


@pytest.mark.parametrize("length", [0, 3, 4, 23])
def test_a_cut_file_header_is_an_error(length: int) -> None:
    frames, error = read(LITTLE_MICRO[:length])
    assert frames == []
    assert error is not None
    assert "file header" in error.message


def test_other_magic_bytes_are_an_error() -> None:
    assert read(b"abcd" + bytes(40))[1] is not None


def test_another_major_version_is_an_error() -> None:
    error = read(LITTLE_MICRO[:4] + b"\x03\x00" + LITTLE_MICRO[6:])[1]
    assert error is not None
    assert "3.4" in error.message


def test_a_record_of_four_gigabytes_is_damage_and_allocates_nothing() -> None:
    damaged = struct.pack("<IIII", 1, 0, 0xFFFFFFFF, 0xFFFFFFFF) + bytes(100)
    tracemalloc.start()
    frames, error = read(LITTLE_MICRO + LITTLE_RECORD + damaged)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(frames) == 1
    assert error is not None
    assert (error.offset, "4294967295" in error.message) == (43, True)
    assert peak < 1 << 20


def test_a_claimed_record_that_is_allowed_but_not_there_allocates_nothing() -> None:
    header = LITTLE_MICRO[:16] + struct.pack("<II", 0xFFFFFFFF, 1)
    tracemalloc.start()
    frames, error = read(header + struct.pack("<IIII", 1, 0, 1 << 27, 1 << 27) + bytes(100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert frames == []
    assert error is not None
    assert peak < 1 << 20


@given(
    st.lists(st.tuples(st.integers(0, 0xFFFFFFFF), st.integers(0, 999_999_999), st.binary(max_size=70))),
    st.integers(1, 100),
)
def test_any_split_of_the_stream_gives_the_same_frames(
    records: list[tuple[int, int, bytes]], size: int
) -> None:
    data = LITTLE_NANO + b"".join(
        struct.pack("<IIII", seconds, fraction, len(payload), len(payload)) + payload
        for seconds, fraction, payload in records
    )
    frames, error = read(data, size)
    assert error is None
    assert [(frame.time, frame.data) for frame in frames] == [
        (seconds * 10**9 + fraction, payload) for seconds, fraction, payload in records
    ]
    assert [frame.number for frame in frames] == list(range(1, len(records) + 1))
    assert all(data[frame.position + 16 :].startswith(frame.data) for frame in frames)


@given(st.binary(max_size=200), st.sampled_from([LITTLE_MICRO, BIG_NANO, KUZNETZOV]), st.integers(1, 64))
def test_any_bytes_after_a_header_give_frames_then_perhaps_one_error(
    data: bytes, header: bytes, size: int
) -> None:
    frames, error = read(header + data, size)
    assert (frames, str(error)) == (read(header + data)[0], str(read(header + data)[1]))


def test_the_window_keeps_the_bytes_before_a_failure_of_its_stream() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"abcdef"
        raise CaptureError("the disk is gone")

    window = Window(chunks())
    assert window.more(0, 4)
    assert not window.more(2, 10)
    assert (window.buffer, window.start) == (b"cdef", 2)
    assert window.failure is not None
    assert window.failure.offset == 6
    assert window.cut(0, "anything") is window.failure
