"""What is in a file is hashed as it is read, whatever is in it and however it is read."""

from __future__ import annotations

import bz2
import gzip
import hashlib
from pathlib import Path

import pytest

from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.content_digest import FileDigest, content_digest
from msmq_wire.capture.listing import captures_of, list_files, open_source

DEMO = (Path(__file__).resolve().parents[2] / "fixtures" / "captures" / "demo.pcap").read_bytes()
PACKED = gzip.compress(DEMO)
MARKS = (24, 4096, len(DEMO), 10**6)
FILES = {
    "plain": (DEMO, DEMO),
    "gzip": (PACKED, DEMO),
    "bzip2": (bz2.compress(DEMO), DEMO),
    "gzip in gzip": (gzip.compress(PACKED), DEMO),
    "cut inside a record": (DEMO[:-9], DEMO[:-9]),
    "cut inside a record, gzip": (gzip.compress(DEMO[:-9]), DEMO[:-9]),
    "damaged in the middle": (DEMO[:4000] + b"\xff" * 400 + DEMO[4400:],) * 2,
    "gzip that is cut": (PACKED[:-200],) * 2,
    "gzip with damage": (PACKED[:2000] + b"\xff" * 40 + PACKED[2040:],) * 2,
    "text": (b"no capture",) * 2,
    "text, gzip": (gzip.compress(b"no capture"),) * 2,
}
"""What lies in a file, and what is hashed of it."""


def expected(data: bytes) -> FileDigest:
    marks = {mark: hashlib.sha256(data[:mark]).hexdigest() for mark in MARKS if mark <= len(data)}
    return FileDigest(len(data), hashlib.sha256(data).hexdigest(), marks)


@pytest.mark.parametrize(("data", "content"), FILES.values(), ids=FILES)
def test_what_is_in_a_file_is_hashed(data: bytes, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(data)
    with open_source(str(path)) as source:
        assert content_digest(source, MARKS) == expected(content)


@pytest.mark.parametrize("chunk_bytes", [500, 1 << 20])
@pytest.mark.parametrize(("data", "content"), FILES.values(), ids=FILES)
def test_it_is_hashed_as_it_is_decoded(data: bytes, content: bytes, chunk_bytes: int, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(data)
    (capture,) = captures_of(list_files([str(path)]).files, "file")
    reading = CaptureReading(capture, chunk_bytes=chunk_bytes, marks={str(path): MARKS})
    assert reading.digests == {}
    for _ in reading:
        pass
    # What is no capture cannot be decoded, and is hashed all the same.
    assert reading.digests == {str(path): expected(content)}


def test_an_empty_file_is_known_by_its_emptiness(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(b"")
    with open_source(str(path)) as source:
        assert content_digest(source) == FileDigest(0, hashlib.sha256(b"").hexdigest())
