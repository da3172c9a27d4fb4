"""Ranges of a file are read as they are, and a file that is another one now is told from what was indexed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from msmq_wire.errors import CaptureError
from msmq_wire.spark import frame_ranges
from msmq_wire.spark.frame_ranges import WORTH_A_READ, IndexedFile, RangeReader, starts_of_reads, worth_a_read


@pytest.fixture
def reader() -> Iterator[RangeReader]:
    made = RangeReader()
    yield made
    made.close()


def indexed(path: Path) -> IndexedFile:
    status = path.stat()
    return IndexedFile(str(path), status.st_size, status.st_mtime_ns)


def bytes_of(reader: RangeReader, file: IndexedFile, *ranges: tuple[int, int]) -> bytes:
    into = bytearray(sum(size for _, size in ranges))
    reader.read(file, ranges, memoryview(into))
    return bytes(into)


def test_ranges_come_one_behind_the_other(reader: RangeReader, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(range(100)))
    file = indexed(path)
    assert bytes_of(reader, file, (10, 3), (90, 10), (0, 0), (5, 1)) == bytes(
        (10, 11, 12, *range(90, 100), 5)
    )


def test_pieces_that_lie_close_are_one_read() -> None:
    at = np.array([0, 10, 10 + WORTH_A_READ, 30 + 2 * WORTH_A_READ, 5])
    end = at + np.array([10, 0, 19, 1, 2])
    assert starts_of_reads(at, end, WORTH_A_READ).tolist() == [True, False, False, True, True]


def test_a_request_is_to_bring_more_than_a_read() -> None:
    assert worth_a_read("/captures/s3/a.pcap") < worth_a_read("s3://captures/a.pcap")


@pytest.mark.parametrize("change", ["longer", "shorter", "touched", "gone"])
def test_a_file_that_changed_is_told(change: str, reader: RangeReader, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(100))
    file = indexed(path)
    if change == "touched":
        os.utime(path, ns=(0, file.mtime_ns + 1))
    elif change == "gone":
        path.unlink()
    else:
        path.write_bytes(bytes(101 if change == "longer" else 40))
        os.utime(path, ns=(0, file.mtime_ns))
    expected = "cannot read .*: No such file" if change == "gone" else "changed after it was indexed"
    with pytest.raises(CaptureError, match=expected):
        bytes_of(reader, file, (50, 10))


def test_a_file_that_took_the_place_of_another_is_not_that_one(reader: RangeReader, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"first")
    first = indexed(path)
    assert bytes_of(reader, first, (0, 5)) == b"first"
    (tmp_path / "b").write_bytes(b"second")
    (tmp_path / "b").replace(path)
    assert bytes_of(reader, indexed(path), (0, 6)) == b"second"


def test_only_some_files_stay_open(
    reader: RangeReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_ranges, "_MOST_OPEN", 2)
    files = []
    for name in "abcd":
        (tmp_path / name).write_bytes(name.encode())
        files.append(indexed(tmp_path / name))
    for _ in range(2):
        assert [bytes_of(reader, file, (0, 1)) for file in files] == [b"a", b"b", b"c", b"d"]
    assert [file.path[-1] for file in reader._open] == ["c", "d"]
    handles = list(reader._open.values())
    reader.close()
    for handle in handles:
        with pytest.raises(ValueError, match="closed"):
            handle.seek(0)
