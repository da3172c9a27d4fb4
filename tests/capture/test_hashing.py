"""`Hashing`: what is known of a file that was read, whatever is in it and however much of it could be."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from msmq_wire.capture.hashing import FileRead, Hashing
from msmq_wire.capture.reader import CaptureReader

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
_DEMO = _CAPTURES / "demo.pcap"
_AT_ONCE = 1000


class _Pipe(io.RawIOBase):
    """What comes through a pipe, a little at a time."""

    def __init__(self, data: bytes) -> None:
        self._rest = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        some, self._rest = self._rest[:_AT_ONCE], self._rest[_AT_ONCE:]
        buffer[: len(some)] = some
        return len(some)


def _pipe(data: bytes) -> BinaryIO:
    return io.BufferedReader(_Pipe(data), _AT_ONCE)


def _read(
    source: str | BinaryIO, *, at_end: bool = True, columns: bool | None = None, records: int = 10**6
) -> FileRead:
    with CaptureReader(source, columns=columns) as reader:
        hashing = Hashing(reader)
        for _ in zip(range(records), reader, strict=False):
            pass
        return hashing.result("a name", at_end=at_end)


@pytest.mark.parametrize("columns", [False, True], ids=["frames", "columns"])
@pytest.mark.parametrize(
    "name", ["demo.pcap", "path_gzip.pcap", "path_damaged_record.pcap", "path_cut_file.pcap"]
)
def test_a_file_is_hashed_as_it_lies_there_packed_or_damaged(name: str, columns: bool) -> None:
    path = _CAPTURES / name
    data, read = path.read_bytes(), _read(str(path), columns=columns)
    assert (read.sha256, read.size, read.whole) == (hashlib.sha256(data).hexdigest(), len(data), True)


@pytest.mark.parametrize("columns", [False, True], ids=["frames", "columns"])
def test_frames_and_times_are_those_of_the_capture(columns: bool) -> None:
    path = str(_CAPTURES / "path_srmp_port_5555_after_get.pcap")
    with CaptureReader(path) as reader:
        times = [frame.time or 0 for frame in reader.source.frames()]
    read = _read(path, columns=columns)
    assert (read.name, read.frames, read.first, read.last) == ("a name", len(times), min(times), max(times))


def test_of_a_file_that_is_left_the_rest_is_hashed_too(tmp_path: Path) -> None:
    path = tmp_path / "long.pcap"
    data = _DEMO.read_bytes()
    path.write_bytes(data + data[24:] * 400)
    read = _read(str(path), records=1, columns=False)
    assert read.size == path.stat().st_size
    assert read.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert read.whole
    assert read.frames < 30


@pytest.mark.parametrize("at_end", [False, True])
def test_a_pipe_is_whole_where_it_was_read_to_its_end_and_nobody_waits_for_more(*, at_end: bool) -> None:
    data = _DEMO.read_bytes()
    read = _read(_pipe(data), at_end=at_end)
    assert (read.sha256, read.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert read.whole is at_end


def test_of_a_pipe_that_is_left_only_what_was_read_is_hashed() -> None:
    data = _DEMO.read_bytes()
    read = _read(_pipe(data), at_end=False, records=1)
    assert read.size < len(data)
    assert read.sha256 == hashlib.sha256(data[: read.size]).hexdigest()
    assert not read.whole
