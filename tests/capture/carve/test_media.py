"""Files, devices, streams and images as pieces of bytes, and what goes wrong on the way."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from fixtures.build_at_rest import files
from msmq_wire.capture.carve import media
from msmq_wire.capture.carve.media import READ_SIZE, Extent, Medium
from msmq_wire.errors import CaptureError


def extents(medium: Medium, **parts: int) -> Iterator[tuple[int, bytes, bool]]:
    return ((one.offset, bytes(one.data), one.joined) for one in medium.extents(**parts))


def whole(medium: Medium) -> bytes:
    return b"".join(data for _, data, _ in extents(medium))


@pytest.fixture(scope="module")
def noise() -> bytes:
    return os.urandom(2 * READ_SIZE + 4321)


def test_a_file_comes_in_pieces_with_its_hash(tmp_path: Path, noise: bytes) -> None:
    path = tmp_path / "disk.img"
    path.write_bytes(noise)
    with Medium(str(path)) as medium:
        assert [offset for offset, _, _ in extents(medium)] == [0, READ_SIZE, 2 * READ_SIZE]
        assert medium.sha256 == hashlib.sha256(noise).hexdigest()
        assert (medium.kind, medium.total, medium.bytes_read) == ("file", len(noise), len(noise))
        assert medium.read(READ_SIZE - 3, 6) == noise[READ_SIZE - 3 : READ_SIZE + 3]


def test_a_part_of_a_file_is_read_without_the_rest(tmp_path: Path, noise: bytes) -> None:
    path = tmp_path / "disk.img"
    path.write_bytes(noise)
    with Medium(str(path), hashing=False) as medium:
        parts = list(extents(medium, start=100, stop=READ_SIZE + 200))
        assert b"".join(data for _, data, _ in parts) == noise[100 : READ_SIZE + 200]
        assert medium.sha256 is None


@pytest.mark.slow
def test_holes_are_left_out_and_hashed_as_zeros(tmp_path: Path) -> None:
    path = tmp_path / "sparse.img"
    with path.open("wb") as file:
        file.write(b"begin".ljust(4096, b"!"))
        file.seek(64 << 20)
        file.write(b"end".ljust(4096, b"!"))
        file.truncate(80 << 20)
    with Medium(str(path)) as medium:
        found = list(extents(medium))
        if found[0][1].count(b"\0"):
            pytest.skip("needs a file system with holes")
        assert [(offset, data[:5]) for offset, data, _ in found] == [(0, b"begin"), (64 << 20, b"end!!")]
        assert medium.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_packed_files_are_unpacked_and_hashed_as_they_lie(tmp_path: Path, pack: Any, noise: bytes) -> None:
    path = tmp_path / "disk.img.gz"
    path.write_bytes(pack(noise))
    with Medium(str(path)) as medium:
        assert whole(medium) == noise
        assert medium.is_stream
        assert medium.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert medium.kind == "compressed file"


def test_a_damaged_stream_gives_what_came_before(tmp_path: Path, noise: bytes) -> None:
    path = tmp_path / "disk.img.gz"
    path.write_bytes(gzip.compress(noise)[:-5000])
    with Medium(str(path)) as medium:
        assert noise.startswith(whole(medium))
        assert medium.failure is not None
        assert "gzip" in medium.failure.message


def test_standard_input_is_a_stream(monkeypatch: pytest.MonkeyPatch, noise: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(noise))))
    with Medium("-") as medium:
        assert (medium.name, medium.total, medium.is_stream) == ("standard input", None, True)
        assert whole(medium) == noise


def test_ranges_of_a_dump_are_not_joined(tmp_path: Path) -> None:
    data = files()[0]["memory.dmp"]
    path = tmp_path / "memory.dmp"
    path.write_bytes(data)
    begin = len(data) - 8192 - 4096
    with Medium(str(path)) as medium:
        assert medium.kind == "minidump"
        assert [(offset, joined) for offset, _, joined in extents(medium)] == [
            (0, True),
            (begin, False),
            (begin + 8192, False),
        ]


class Broken(io.FileIO):
    """A disk that cannot be read in one place."""

    bad = range(0)

    def readinto(self, buffer: Any) -> int:
        at = self.tell()
        if at < self.bad.stop and at + len(buffer) > self.bad.start:
            raise OSError(errno.EIO, "Input/output error")
        return int(super().readinto(buffer) or 0)


def test_what_a_disk_cannot_read_is_a_hole_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: bytes
) -> None:
    path = tmp_path / "disk.img"
    path.write_bytes(noise)
    monkeypatch.setattr(Broken, "bad", range(READ_SIZE + 8192, READ_SIZE + 8193))
    monkeypatch.setattr(media, "open", lambda path, mode, buffering: Broken(path), raising=False)
    with Medium(str(path)) as medium:
        found = list(extents(medium))
        assert medium.unreadable == 4096
    there = noise[: READ_SIZE + 8192] + noise[READ_SIZE + 12288 :]
    assert b"".join(data for _, data, _ in found) == there
    assert [offset for offset, _, _ in found] == [0, READ_SIZE, READ_SIZE + 12288, 2 * READ_SIZE]


@pytest.mark.parametrize(
    ("magic", "what"),
    [
        (b"EVF\x09\x0d\x0a\xff\x00", "an EWF image"),
        (b"QFI\xfb", "a QCOW2 image"),
        (b"KDMV", "a VMDK image"),
        (b"vhdxfile", "a VHDX image"),
    ],
)
def test_an_image_names_what_opens_it_where_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, magic: bytes, what: str
) -> None:
    monkeypatch.setattr(media, "entry_points", lambda group: ())
    path = tmp_path / "disk"
    path.write_bytes(magic.ljust(512, b"\0"))
    with pytest.raises(CaptureError, match=f"{what}.*dissect"):
        Medium(str(path))


def test_what_cannot_be_opened_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"cannot open .*No such file"):
        Medium(str(tmp_path / "nothing"))
    with pytest.raises(CaptureError, match=r"cannot open .*directory"):
        Medium(str(tmp_path))


def test_a_piece_names_its_parts() -> None:
    assert Extent(1, memoryview(b"x"), True)._fields == ("offset", "data", "joined")


def test_ranges_too_short_for_a_message_are_passed_over(tmp_path: Path) -> None:
    data = files()[0]["memory.dmp"]
    tiny = [(0x1000 * number, 3) for number in range(1, 50)]
    stored = data[-4096 - 8192 :][:8192]
    ranges = [*tiny, (0x1A2B0000, 8192), *tiny]
    head = struct.pack("<4sIIIIIQ", b"MDMP", 0, 1, 32, 0, 0, 2)
    listed = struct.pack("<QQ", len(ranges), 60 + 16 * len(ranges))
    listed += b"".join(struct.pack("<QQ", *one) for one in ranges)
    path = tmp_path / "tiny.dmp"
    path.write_bytes(
        head + struct.pack("<III", 9, len(listed), 44) + listed + b"abc" * 49 + stored + b"abc" * 49
    )
    begin = 60 + 16 * len(ranges) + 3 * 49
    with Medium(str(path)) as medium:
        found = list(extents(medium))
    assert [(offset, len(data)) for offset, data, _ in found[:2]] == [(0, begin - 147), (begin, 8192)]
    assert len(found) <= 3


@pytest.mark.slow
def test_a_hundred_thousand_bytes_each_in_a_range_of_its_own_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 100_000
    head = struct.pack("<4sIIIIIQ", b"MDMP", 0, 1, 32, 0, 0, 2)
    listed = struct.pack("<QQ", count, 60 + 16 * count)
    listed += b"".join(struct.pack("<QQ", number << 12, 1) for number in range(1, count + 1))
    path = tmp_path / "tiny.dmp"
    path.write_bytes(head + struct.pack("<III", 9, len(listed), 44) + listed + b"x" * count)
    filled, fill = list[int](), Medium._fill

    def counted(medium: Medium, view: memoryview, at: int) -> list[tuple[int, int]]:
        filled.append(at)
        return fill(medium, view, at)

    monkeypatch.setattr(Medium, "_fill", counted)
    with Medium(str(path)) as medium:
        found = [len(one.data) for one in medium.extents()]
    assert sum(found) <= path.stat().st_size
    assert len(found) <= 4
    assert len(filled) <= 4


def sparse(path: Path, size: int, *places: tuple[int, bytes]) -> Path:
    """A file of holes, but for bytes at places; the test is skipped where there are no holes."""
    with path.open("wb") as file:
        for place, data in places:
            file.seek(place)
            file.write(data)
        file.truncate(size)
    if not hasattr(os, "SEEK_DATA") or path.stat().st_blocks * 512 > size // 2:
        pytest.skip("needs a file system with holes")
    return path


def test_a_terabyte_of_holes_is_not_hashed_and_says_why(tmp_path: Path) -> None:
    path = sparse(tmp_path / "disk.img", 1 << 40, (1 << 39, b"here".ljust(4096, b"!")))
    with Medium(str(path)) as medium:
        assert [(one.offset, bytes(one.data[:4])) for one in medium.extents()] == [(1 << 39, b"here")]
        assert (medium.sha256, medium.unhashed) == (None, "most of 1.1 TB was never written")


def test_a_small_hole_is_read_as_zeros(tmp_path: Path) -> None:
    path = sparse(tmp_path / "disk.img", 8 << 20, (0, b"a" * 65536), (1 << 20, b"b" * 65536))
    with Medium(str(path)) as medium:
        assert whole(medium) == b"a" * 65536 + bytes((1 << 20) - 65536) + b"b" * 65536
        assert medium.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_table_behind_the_largest_offset_gives_no_addresses(tmp_path: Path) -> None:
    path = tmp_path / "core"
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQ", 4, 62, 1, 0, (1 << 64) - 8, 0)
    path.write_bytes((head + struct.pack("<IHHHHHH", 0, 64, 56, 9, 0, 0, 0)).ljust(8192, b"\0"))
    with Medium(str(path)) as medium:
        assert medium.kind == "ELF core"
        assert len(whole(medium)) == 8192
