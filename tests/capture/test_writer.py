"""Written captures are read by this package, by scapy and by tshark."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import WriteSummary, write_pcap
from msmq_wire.errors import CaptureError


def frame(data: bytes, *, time: int | None = 1_500_000_007, link_type: int = 1, length: int = 9) -> Frame:
    return Frame(1, time, link_type, data, length, 0)


def written(*frames: Frame) -> tuple[WriteSummary, bytes]:
    target = io.BytesIO()
    result = write_pcap(target, frames)
    return result, target.getvalue()


def test_one_link_type_makes_nanosecond_pcap() -> None:
    assert written(frame(b"abc", link_type=113)) == (
        WriteSummary(1, "pcap"),
        bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 00000400 71000000")
        + bytes.fromhex("01000000 0765cd1d 03000000 09000000 616263"),
    )


def test_several_link_types_make_pcapng_with_an_interface_each() -> None:
    result, data = written(frame(b"abc"), frame(b"wxyz", link_type=101), frame(b"", time=None))
    assert result == WriteSummary(3, "pcapng")
    assert data == (
        bytes.fromhex("0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000")
        + bytes.fromhex("01000000 20000000 0100 0000 00000000 0900 0100 09000000 0000 0000 20000000")
        + bytes.fromhex("06000000 24000000 00000000 00000000 072f6859 03000000 09000000 61626300 24000000")
        + bytes.fromhex("01000000 20000000 6500 0000 00000000 0900 0100 09000000 0000 0000 20000000")
        + bytes.fromhex("06000000 24000000 01000000 00000000 072f6859 04000000 09000000 7778797a 24000000")
        + bytes.fromhex("06000000 20000000 00000000 00000000 00000000 00000000 09000000 20000000")
    )


def test_a_time_that_pcap_cannot_hold_makes_pcapng() -> None:
    late = (1 << 32) * 10**9 + 5
    result, data = written(frame(b"abc"), frame(b"abc", time=late))
    assert result.format == "pcapng"
    assert [back.time for back in read_frames(io.BytesIO(data))] == [1_500_000_007, late]


def test_no_frames_make_an_empty_ethernet_capture() -> None:
    result, data = written()
    assert (result, len(data), data[20]) == (WriteSummary(0, "pcap"), 24, 1)
    assert list(read_frames(io.BytesIO(data))) == []


def test_a_frame_over_the_usual_snap_length_raises_the_one_in_the_header() -> None:
    _, data = written(frame(bytes(3 << 20)))
    assert data[16:20] == (3 << 20).to_bytes(4, "little")
    assert [len(back.data) for back in read_frames(io.BytesIO(data))] == [3 << 20]


def test_a_path_and_a_stream_that_cannot_seek_get_the_same_bytes(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.parts: list[bytes] = []

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.parts.append(bytes(data))  # type: ignore[call-overload]  # a buffer
            return len(self.parts[-1])

    for frames in ([frame(b"abc")], [frame(b"abc"), frame(b"d", link_type=101)]):
        pipe, path = Pipe(), tmp_path / "out"
        with io.BufferedWriter(pipe) as stream:
            assert write_pcap(stream, frames) == write_pcap(path, frames, force=True)
        assert b"".join(pipe.parts) == path.read_bytes() == written(*frames)[1]


def test_frames_before_an_error_of_their_source_are_in_a_stream_and_no_file_is_made(tmp_path: Path) -> None:
    def damaged() -> Iterator[Frame]:
        yield frame(b"abc", link_type=101)
        raise CaptureError("the file is cut")

    path = tmp_path / "out"
    with pytest.raises(CaptureError, match="cut"):
        write_pcap(path, damaged())
    target = io.BytesIO()
    with pytest.raises(CaptureError, match="cut"):
        write_pcap(target, damaged())
    assert target.getvalue() == written(frame(b"abc", link_type=101))[1]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_replaced_unless_that_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"precious")
    with pytest.raises(CaptureError, match="cannot write the capture: it is there"):
        write_pcap(path, [frame(b"abc")], force=False)
    assert path.read_bytes() == b"precious"
    write_pcap(path, [frame(b"abc")], force=True)
    assert path.read_bytes() == written(frame(b"abc"))[1]


def test_a_pipe_gets_the_bytes_of_a_file(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_pcap(pipe, [frame(b"abc"), frame(b"d", link_type=101)])
    reader.join()
    assert read == [written(frame(b"abc"), frame(b"d", link_type=101))[1]]


@pytest.mark.parametrize(
    "wrong",
    [
        frame(b"", link_type=0x10000),
        frame(b"", length=1 << 32),
        frame(b"", time=1 << 64),
        frame(b"", time=-1),
    ],
)
def test_a_frame_that_no_file_can_hold_is_refused(wrong: Frame) -> None:
    with pytest.raises(CaptureError, match="frame 1 has"):
        written(wrong)
    with pytest.raises(CaptureError, match="frame 1 has"):
        written(frame(b"", link_type=3), frame(b"", link_type=4), wrong)


def test_a_target_that_cannot_be_written_is_a_capture_error(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot write"):
        write_pcap(tmp_path, [])


FRAMES = st.lists(
    st.builds(
        Frame,
        st.just(1),
        st.integers(0, (1 << 63) - 1),
        st.sampled_from([0, 1, 101]),
        st.binary(max_size=40),
        st.integers(0, 0xFFFFFFFF),
        st.just(0),
    )
)


@given(FRAMES)
def test_what_was_written_is_read_back(frames: list[Frame]) -> None:
    result, data = written(*frames)
    back = list(read_frames(io.BytesIO(data)))
    assert result.frames == len(frames)
    assert [(f.time, f.link_type, f.data, f.length) for f in back] == [
        (f.time, f.link_type, f.data, f.length) for f in frames
    ]


def test_scapy_reads_what_was_written(tmp_path: Path) -> None:
    utils = importlib.import_module("scapy.utils")
    path = tmp_path / "out"
    for frames in (
        [frame(b"abcd", length=4)],
        [frame(b"abcd", length=4), frame(b"d", link_type=101, length=1)],
    ):
        write_pcap(path, frames, force=True)
        with utils.RawPcapReader(str(path)) as reader:
            assert [data for data, _ in reader] == [one.data for one in frames]


def test_what_scapy_wrote_is_read(tmp_path: Path) -> None:
    utils = importlib.import_module("scapy.utils")
    packets = importlib.import_module("scapy.packet")
    raw = packets.Raw(b"\x02" * 33)
    raw.time = 1700000000.5
    for options in ({}, {"nano": True}, {"endianness": ">"}, {"gz": True}):
        path = tmp_path / "scapy"
        with utils.PcapWriter(str(path), linktype=1, **options) as writer:
            writer.write(raw)
        (back,) = read_frames(path)
        assert (back.time, back.data, back.length) == (1_700_000_000_500_000_000, b"\x02" * 33, 33)


@pytest.mark.slow
@pytest.mark.tshark
def test_tshark_reads_what_was_written(tmp_path: Path) -> None:
    ethernet = bytes(12) + b"\x12\x34" + bytes(46)
    raw = bytes.fromhex("4500 0014 0007 0000 40fd 0000 c0000201 c0000202")
    path = tmp_path / "out"
    for frames in (
        [frame(ethernet, length=60)],
        [frame(ethernet, length=60), frame(raw, link_type=101, length=99, time=1_600_000_000_123_456_789)],
    ):
        write_pcap(path, frames, force=True)
        command = ["tshark", "-r", str(path), "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len"]
        reported = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        expected = ["1.500000007 60", "1600000000.123456789 99"]
        assert [" ".join(line.split()) for line in reported.splitlines()] == expected[: len(frames)]
