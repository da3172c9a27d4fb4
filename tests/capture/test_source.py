"""Opening captures: what is recognised, what is refused, what survives damage."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import stat
import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.reader import read_capture
from msmq_wire.capture.source import Source, read_frames
from msmq_wire.errors import CaptureError

HEADER = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000")
SECTION = bytes.fromhex("0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000")
ETHERNET = bytes.fromhex("01000000 14000000 0100 0000 00000000 14000000")
SIMPLE = bytes.fromhex("03000000 14000000 03000000 61626300 14000000")


def packed(data: bytes) -> bytes:
    """Gzip without a time, so that a test has the same name in every process."""
    return gzip.compress(data, mtime=0)


def record(payload: bytes) -> bytes:
    return struct.pack("<IIII", 1, 2, len(payload), len(payload)) + payload


CAPTURE = HEADER + b"".join(record(bytes([n]) * n) for n in range(60))


def read(source: str | Path | io.BytesIO | Source) -> tuple[list[Frame], CaptureError | None]:
    frames: list[Frame] = []
    try:
        for frame in read_frames(source):
            frames.append(frame)
    except CaptureError as error:
        return frames, error
    return frames, None


def zstd(data: bytes, level: int = 3, checksum: bool = True) -> bytes:
    module = importlib.import_module("backports.zstd")
    parameter = module.CompressionParameter
    options = {parameter.compression_level: level, parameter.checksum_flag: int(checksum)}
    compressed: bytes = module.compress(data, options=options)
    return compressed


WHOLE, _ = read(io.BytesIO(CAPTURE))


def test_pcap_and_pcapng_are_recognised_by_their_first_bytes() -> None:
    assert [len(frame.data) for frame in WHOLE] == list(range(60))
    frames, error = read(io.BytesIO(SECTION + ETHERNET + SIMPLE))
    assert error is None
    assert [frame.data for frame in frames] == [b"abc"]


@pytest.mark.parametrize(
    "data",
    [
        packed(CAPTURE),
        packed(CAPTURE[:500]) + packed(CAPTURE[500:501]) + packed(CAPTURE[501:]),
        packed(CAPTURE) + bytes(512),
        packed(packed(CAPTURE)),
    ],
)
def test_gzip_members_one_after_another_and_one_inside_another_are_read(data: bytes) -> None:
    assert read(io.BytesIO(data)) == (WHOLE, None)


def test_zstd_frames_one_after_another_and_inside_gzip_are_read() -> None:
    skippable = bytes.fromhex("5a2a4d18 05000000") + b"hello"
    for data in (
        zstd(CAPTURE),
        zstd(CAPTURE, level=19, checksum=False),
        zstd(CAPTURE[:500]) + skippable + zstd(b"") + zstd(CAPTURE[500:]),
        skippable + zstd(CAPTURE) + skippable,
        packed(zstd(CAPTURE)),
    ):
        assert read(io.BytesIO(data)) == (WHOLE, None)


def test_a_long_zstd_capture_of_all_kinds_of_blocks_is_read() -> None:
    noise = zlib.compress(bytes(range(256)) * 9) * 4000
    capture = HEADER + record(bytes(900_000)) + record(noise[:700_000]) + record(b"text " * 50_000)
    frames, error = read(io.BytesIO(zstd(capture)))
    assert error is None
    assert b"".join(record(frame.data) for frame in frames) == capture[24:]


def test_three_compressions_are_refused() -> None:
    frames, error = read(io.BytesIO(packed(packed(packed(CAPTURE)))))
    assert frames == []
    assert error is not None
    assert "more than 2 times" in error.message


def test_a_path_and_standard_input_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "capture.pcap.gz"
    path.write_bytes(packed(CAPTURE))
    assert read(path) == (WHOLE, None)
    assert read(str(path)) == (WHOLE, None)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CAPTURE)))
    assert read("-") == (WHOLE, None)
    assert not sys.stdin.closed


def test_a_pipe_is_read_before_it_ends(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe, Source(pipe) as source:
        assert source.total is None
        frames = source.frames()
        os.write(writing, HEADER + record(b"first"))
        assert next(frames).data == b"first"
        os.write(writing, record(b"second"))
        os.close(writing)
        assert [frame.data for frame in frames] == [b"second"]


def test_progress_counts_the_bytes_of_the_file_not_those_inside_it(tmp_path: Path) -> None:
    compressed = packed(CAPTURE)
    path = tmp_path / "capture.gz"
    path.write_bytes(compressed)
    with Source(path) as source:
        assert (source.bytes_read, source.total, source.name) == (0, len(compressed), str(path))
        assert sum(1 for _ in read_frames(source)) == 60
        assert source.bytes_read == len(compressed)
    assert Source(io.BytesIO(CAPTURE)).total == len(CAPTURE)


def test_a_file_object_is_read_from_where_it_stands_and_left_open() -> None:
    stream = io.BytesIO(b"junk" + CAPTURE)
    stream.seek(4)
    assert read(stream) == (WHOLE, None)
    assert not stream.closed


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"No.  Time  Source\n", "is text"),
        (b"{}", "is text"),
        (b"PK\x03\x04rest", "is a zip archive"),
        (b"GMBU....", "Network Monitor"),
        (b"\x00\x01\x02\x03\x04", "starts with 00010203"),
        (packed(b""), "is empty"),
        (packed(b"just text"), "is text"),
        (b"\x1f\x8b", "gzip stream is cut"),
        (b"\x1f\x8b\x08\x00\xff\xff\xff\xff", "gzip stream is cut"),
        (b"\x1f\x8b\x09\xff\xff\xff\xff\xff", "gzip stream is damaged"),
    ],
)
def test_what_is_no_capture_is_refused_with_one_clear_sentence(data: bytes, words: str) -> None:
    frames, error = read(io.BytesIO(data))
    assert frames == []
    assert error is not None
    assert words in error.message
    assert "\n" not in error.message


def test_paths_that_cannot_be_opened_are_capture_errors(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(CAPTURE)
    secret.chmod(0)
    paths: list[Path | str] = [tmp_path, tmp_path / "absent", "nul\0byte"]
    if not os.access(secret, os.R_OK):
        paths.append(secret)
    for path in paths:
        with pytest.raises(CaptureError, match="cannot open"):
            next(read_frames(path))
    secret.chmod(stat.S_IRUSR)


def test_a_stream_of_text_is_a_capture_error() -> None:
    class Words:
        def read(self, size: int = -1) -> str:
            return "text"

    error = read(Words())[1]  # type: ignore[arg-type]  # what a caller may do by mistake
    assert error is not None
    assert "binary" in error.message


def test_a_stream_that_fails_yields_what_it_gave_before() -> None:
    class Broken(io.RawIOBase):
        def __init__(self) -> None:
            self.parts = [CAPTURE[:1000]]

        def read(self, size: int = -1) -> bytes:
            if self.parts:
                return self.parts.pop()
            raise OSError(5, "Input/output error")

    frames, error = read(Broken())  # type: ignore[arg-type]  # a raw stream
    assert frames == WHOLE[: len(frames)]
    assert len(frames) > 10
    assert error is not None
    assert ("Input/output error" in error.message, error.offset) == (True, 1000)


@pytest.mark.parametrize("keep", [12, 40, 90])
def test_a_cut_gzip_file_yields_everything_before_the_cut(keep: int) -> None:
    noisy = HEADER + b"".join(record(zlib.compress(bytes([n]) * n)) for n in range(60))
    compressed = packed(noisy)
    whole = read(io.BytesIO(noisy))[0]
    frames, error = read(io.BytesIO(compressed[: len(compressed) * keep // 100]))
    assert frames == whole[: len(frames)]
    assert error is not None
    assert "gzip stream is cut" in error.message
    assert frames == [] or error.offset >= frames[-1].position + 16 + len(frames[-1].data)


def test_a_gzip_file_without_its_last_bytes_yields_every_frame() -> None:
    for missing in range(1, 9):
        frames, error = read(io.BytesIO(packed(CAPTURE)[:-missing]))
        assert frames == WHOLE
        assert error is not None
        assert (error.message, error.offset) == ("the gzip stream is cut", len(CAPTURE))


def test_a_gzip_file_with_a_wrong_checksum_yields_every_frame() -> None:
    compressed = bytearray(packed(CAPTURE))
    compressed[-6] ^= 1
    frames, error = read(io.BytesIO(bytes(compressed)))
    assert frames == WHOLE
    assert error is not None
    assert (error.message, error.offset) == ("the gzip stream is damaged", len(CAPTURE))


def test_damage_inside_a_gzip_stream_costs_only_what_comes_after_it() -> None:
    first = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = first.compress(CAPTURE) + first.flush(zlib.Z_FULL_FLUSH)
    frames, error = read(io.BytesIO(data + b"\xff" * 100))
    assert frames == WHOLE
    assert error is not None
    assert (error.message, error.offset) == ("the gzip stream is damaged", len(CAPTURE))


def test_bytes_after_a_gzip_member_that_are_no_member_are_damage() -> None:
    frames, error = read(io.BytesIO(packed(CAPTURE) + b"junk"))
    assert frames == WHOLE
    assert error is not None


def test_a_cut_or_damaged_zstd_file_yields_everything_before_it() -> None:
    noise = zlib.compress(bytes(range(256)) * 9)
    capture = HEADER + b"".join(record(bytes([n & 255]) * 7 + noise[n % 50 :]) for n in range(3000))
    whole = read(io.BytesIO(capture))[0]
    compressed = zstd(capture)
    for data in (
        compressed[:-1],
        compressed[:-4],
        compressed[: len(compressed) // 2],
        compressed[:-1] + bytes([compressed[-1] ^ 1]),
        compressed + b"junk",
    ):
        frames, error = read(io.BytesIO(data))
        assert frames == whole[: len(frames)]
        assert error is not None
        assert "zstd" in error.message
    assert len(read(io.BytesIO(compressed[:-1]))[0]) == 3000
    for keep in range(12):
        assert "zstd stream is cut" in str(read(io.BytesIO(compressed[: 4 + keep]))[1])


def test_zstd_without_its_package_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.delattr("backports.zstd", raising=False)
    error = read(io.BytesIO(b"\x28\xb5\x2f\xfd" + bytes(20)))[1]
    assert error is not None
    assert "needs the package backports.zstd" in error.message


@pytest.mark.slow
def test_a_compressed_capture_is_never_held_whole() -> None:
    capture = HEADER + record(bytes(60_000)) * 1000
    sources = [packed(capture), zstd(capture)]
    del capture
    for data in sources:
        tracemalloc.start()
        count = sum(1 for _ in read_frames(io.BytesIO(data)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == 1000
        assert peak < 20 << 20


def test_a_zstd_frame_that_asks_for_a_huge_window_is_refused() -> None:
    # Window descriptor 0xa8: 2**31 bytes.
    error = read(io.BytesIO(bytes.fromhex("28b52ffd 00 a8 010000") + bytes(50)))[1]
    assert error is not None
    assert "zstd" in error.message


@given(
    st.sampled_from([b"", HEADER, SECTION + ETHERNET, b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"]),
    st.binary(max_size=300),
)
def test_any_bytes_give_frames_then_perhaps_one_capture_error(head: bytes, data: bytes) -> None:
    frames, error = read(io.BytesIO(head + data))
    assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
    assert error is None or error.offset >= 0


@given(st.sampled_from(["gzip", "zstd"]), st.integers(0, 1 << 16), st.integers(1, 255))
def test_one_changed_byte_in_a_compressed_file_costs_frames_only_with_an_error(
    kind: str, where: int, change: int
) -> None:
    data = bytearray(packed(CAPTURE) if kind == "gzip" else zstd(CAPTURE))
    data[where % len(data)] ^= change
    frames, error = read(io.BytesIO(bytes(data)))
    assert error is not None or frames == WHOLE


@pytest.mark.slow
def test_a_cut_gzip_file_gives_every_byte_that_its_input_stands_for() -> None:
    capture = HEADER + record(bytes(60_000)) * 20
    compressed = packed(capture)
    # Around the first mebibyte of output, where a run of zeros is cut by the size of a piece.
    middle = len(compressed) * (1 << 20) // len(capture)
    for cut in range(middle - 60, middle + 60):
        expected = len(zlib.decompressobj(31).decompress(compressed[:cut]))
        error = read(io.BytesIO(compressed[:cut]))[1]
        assert error is not None
        assert (error.message, error.offset) == ("the gzip stream is cut", expected)


@pytest.mark.parametrize(("pack", "kind"), [(bz2.compress, "bzip2"), (lzma.compress, "xz")])
def test_bzip2_and_xz_are_read_up_to_where_they_are_cut_or_damaged(
    pack: Callable[[bytes], bytes], kind: str
) -> None:
    frames, error = read(io.BytesIO(pack(CAPTURE) + pack(b"")))
    assert (len(frames), error) == (len(read(io.BytesIO(CAPTURE))[0]), None)
    packed_ = pack(CAPTURE)
    _, cut = read(io.BytesIO(packed_[:-5]))
    assert cut is not None
    assert cut.message == f"the {kind} stream is cut"
    damaged = bytearray(packed_)
    damaged[len(packed_) // 2] ^= 0xFF
    _, broken = read(io.BytesIO(bytes(damaged)))
    assert broken is not None
    assert broken.message.startswith(f"the {kind} stream is damaged")


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_little_that_unpacks_to_much_is_read_a_piece_at_a_time(pack: Callable[[bytes], bytes]) -> None:
    little = pack(CAPTURE + record(bytes(60_000)) * 1_000)
    tracemalloc.start()
    assert sum(1 for _ in read_frames(io.BytesIO(little))) == 1_060
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_what_holds_no_frames_is_named_with_the_way_out() -> None:
    log = bytearray(1 << 16)
    log[:4] = (1 << 16).to_bytes(4, "little")
    log[72:76] = b"\2\0\2\xc0"
    for data, words in (
        (bytes(log), "an event trace log (ETL), not pcap or pcapng: pktmon etl2pcap FILE"),
        (b"GMBU" + bytes(60), "a capture of Network Monitor 2, not pcap or pcapng: editcap FILE"),
        (b"\x04\x22\x4d\x18" + bytes(60), "lz4 -d FILE unpacks it"),
    ):
        _, error = read(io.BytesIO(data))
        assert error is not None
        assert words in error.message


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            b"\xd4\xc3\xb2\xa1",
            "source must be a path, '-' or a binary file object, not bytes: io.BytesIO(data)",
        ),
        (
            io.StringIO("text"),
            "source must be a path, '-' or a binary file object, not StringIO: open it with \"rb\"",
        ),
        (5, "source must be a path, '-' or a binary file object, not int"),
        (None, "source must be a path, '-' or a binary file object, not NoneType"),
    ],
)
def test_what_is_no_source_is_refused_in_one_line(source: Any, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        list(read_capture(source))
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("folder", "cannot open {path}: Is a directory"),
        ("missing.pcap", "cannot open {path}: No such file or directory"),
        ("notes.txt", "{path} is text, not pcap or pcapng"),
        ("empty.pcap", "{path} is empty"),
    ],
)
def test_what_is_no_capture_is_told_in_one_line(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("lines of text\n" * 20)
    (tmp_path / "empty.pcap").touch()
    path = tmp_path / name
    with pytest.raises(CaptureError) as caught:
        list(read_capture(path))
    assert str(caught.value) == text.format(path=path)
