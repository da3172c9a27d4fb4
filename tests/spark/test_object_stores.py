"""Captures in an object store: found, read in ranges, damaged, and read where one request in ten fails."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from fixtures.build_at_rest import message
from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.listing import Capture, CaptureFile, captures_of, has_changed, list_files, open_file
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.places import place_of
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.splits import index_file, read_split
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import CaptureError
from msmq_wire.spark.job import run_job
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.sources import CarvedReader, PacketDataReader
from msmq_wire.tables.message_columns import batches_of
from msmq_wire.units import SECOND
from tests.effort import share
from tests.spark.test_job import one_process
from tests.spark.test_planning import cut
from tests.tables.store.s3_server import BUCKET, S3Server

pytestmark = pytest.mark.needs("pyspark")

__all__ = ["one_process"]

ROOT = f"s3://{BUCKET}"


def put(key: str, data: bytes) -> str:
    """Put an object into the bucket; return its URL."""
    place = place_of(f"{ROOT}/{key}")
    with place.open_output() as file:
        file.write(data)
    return place.url


def names(*paths: str, **options: Any) -> list[str]:
    """What is found there, below the bucket."""
    files = list_files([f"{ROOT}/{path}" for path in paths], **options).files
    assert [file.error for file in files] == [None] * len(files)
    return [file.path.removeprefix(f"{ROOT}/") for file in files]


KEYS = [
    "x/a.pcap",
    "x/b c#%20.pcapng",
    "x/notes.txt",
    "x/_temporary.pcap",
    "x/.hidden.pcap",
    "x/d[1].pcap",
    "x/d1.pcap",
    "x/deep/e.pcap.gz",
    "x/deep/er/f.cap",
    "x/.secret/g.pcap",
    "y/deep/h.pcap",
    "y/i.pcap",
]


@pytest.fixture
def bucket(s3: S3Server) -> S3Server:
    """A bucket with files in folders."""
    for key in KEYS:
        put(key, key.encode())
    s3.reset()
    return s3


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """The same files in a folder."""
    for key in KEYS:
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(key.encode())
    return tmp_path


PATHS = [
    "",
    "x",
    "x/a.pcap",
    "x/notes.txt",
    "x/d[1].pcap",
    "x/d?.pcap",
    "*/*.pcap",
    "?/deep",
    "*/deep/h.pcap",
]
PATHS += ["x/[ab]*", "**/*.pcap", "x/**", "**/deep/*", "x/.*", "x/**/er/f.cap", "*/a.pcap", "x/.secret/*"]


@pytest.mark.slow
@pytest.mark.parametrize("recursive", [False, True])
def test_a_bucket_is_listed_as_a_folder_is(bucket: S3Server, mirror: Path, recursive: bool) -> None:
    for path in PATHS:
        here = list_files([str(mirror / path)], recursive=recursive)
        there = list_files([f"{ROOT}/{path}"], recursive=recursive)
        # What ** names is the folder itself, too, where a folder is more than its files.
        assert there.left_out == here.left_out or path.endswith("**"), path
        found = [(file.path.removeprefix(ROOT), file.size) for file in there.files]
        assert found == [(file.path.removeprefix(str(mirror)), file.size) for file in here.files], path
    assert names("x", pattern="*.txt") == ["x/notes.txt"]


@pytest.mark.slow
def test_sizes_and_times_come_with_the_listing(bucket: S3Server) -> None:
    files = list_files([f"{ROOT}/x"], recursive=True).files
    assert [file.size for file in files] == [len(file.path) - len(ROOT) - 1 for file in files]
    # One request to see that it is no file, two that say that it is a folder, one for each folder.
    assert bucket.requests <= 6
    assert not bucket.ranges
    for file in files:
        status = place_of(file.path).open_ranges().status()
        assert status == (file.size, file.mtime_ns)
        assert file.mtime_ns % SECOND == 0
        assert not has_changed(file)
    put("x/a.pcap", b"more than before")
    assert has_changed(files[0])


def test_what_is_not_there_has_an_error(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (f"{ROOT}/gone.pcap", f"{ROOT}/*.pcap", "s3://nothing/x.pcap", f"{ROOT}/x/*/y"):
        (file,) = list_files([path]).files
        assert file == CaptureFile(
            path=path, size=0, mtime_ns=0, error=f"cannot open {path}: No such file or directory"
        )
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("msmq_wire.capture.places._ATTEMPTS", 1)
        (file,) = list_files([f"{ROOT}/x.pcap"]).files
    assert file.error is not None
    assert file.error.startswith(f"cannot open {ROOT}/x.pcap: When getting information for key 'x.pcap'")


def rows(*paths: str) -> list[list[dict[str, Any]]]:
    """The rows of messages of each file, its path left out."""
    found = []
    for capture in captures_of(list_files(paths).files, "file"):
        reading = CaptureReading(capture, chunk_bytes=5000, streams=True)
        batches = [one for batch in reading for one in batches_of(batch, reading.numbering).values()]
        table = [row for batch in batches for row in pa.Table.from_batches([batch]).to_pylist()]
        found.append([{name: row[name] for name in row if name not in ("capture", "path")} for row in table])
        assert not reading.damage
    return found


def stored(captures: Path, folder: Path) -> list[Path]:
    """Captures of each kind in a folder."""
    shutil.copy(captures / "demo.pcap", folder)
    other = next(iter(sorted(captures.glob("*.pcapng"))))
    shutil.copy(other, folder)
    (folder / "packed.pcap.gz").write_bytes(gzip.compress((captures / "demo.pcap").read_bytes()))
    return sorted(path for path in folder.iterdir() if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("fail_every", [0, 3])
def test_a_capture_in_a_bucket_gives_the_rows_that_the_file_gives(
    s3: S3Server, captures: Path, tmp_path: Path, fail_every: int
) -> None:
    files = stored(captures, tmp_path)
    urls = [put(f"in/{path.name}", path.read_bytes()) for path in files]
    s3.reset()
    s3.fail_every = fail_every
    found = rows(*urls)
    assert [len(one) > 0 for one in found] == [True] * 3
    assert found == rows(*map(str, files))
    assert bool(s3.failed) == bool(fail_every)


def frames_of(path: str, split_bytes: int) -> list[tuple[int, bytes]]:
    """Numbers and bytes of all frames, read split by split."""
    return [
        (int(number), bytes(chunk.data[at : at + size]))
        for split in index_file(path, split_bytes, opener=open_file).splits
        for chunk in read_split(split, 4000, opener=open_file)
        for number, at, size in zip(chunk.numbers, chunk.at, chunk.captured, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("fail_every", [0, 10])
def test_splits_of_a_bucket_are_those_of_the_file(
    s3: S3Server, captures: Path, tmp_path: Path, fail_every: int
) -> None:
    for path in stored(captures, tmp_path):
        url = put(path.name, path.read_bytes())
        s3.fail_every = fail_every
        assert frames_of(url, 10_000) == frames_of(str(path), 10_000)
        s3.fail_every = 0
    assert bool(s3.failed) == bool(fail_every)


@pytest.mark.slow
def test_a_split_asks_for_its_own_bytes_alone(s3: S3Server, tmp_path: Path) -> None:
    path = tmp_path / "large.pcap"
    write_pcap(path, [Frame(0, number, 1, os.urandom(990), 990, 0) for number in range(1, 2001)])
    size = path.stat().st_size
    url = put("large.pcap", path.read_bytes())
    index = index_file(url, size // 10, opener=open_file)
    assert [split.size for split in index.splits] == [size] * 10
    s3.reset()
    for split in (index.splits[7], index.splits[0]):
        taken = sum(len(chunk) for chunk in read_split(split, 1 << 16, opener=open_file))
        assert taken == split.frames
    assert s3.sent == sum(split.end - split.start for split in (index.splits[7], index.splits[0]))
    asked = [tuple(map(int, text.removeprefix("bytes=").split("-"))) for _, text in s3.ranges]
    assert min(start for start, _ in asked[: len(asked) // 2]) == index.splits[7].start
    assert max(last for _, last in asked[len(asked) // 2 :]) == index.splits[0].end - 1


def test_a_task_of_the_source_reads_a_bucket(s3: S3Server, captures: Path) -> None:
    url = put("demo.pcap", (captures / "demo.pcap").read_bytes())

    def found(path: str) -> list[dict[str, Any]]:
        reader = PacketDataReader(ReadOptions.of({"path": path, "splitBytes": "5000"}))
        batches = [batch for part in reader.partitions() for batch in reader.read(part)]
        return [row for batch in batches for row in batch.drop_columns(["capture", "path"]).to_pylist()]

    assert found(url.replace("s3:", "s3a:")) == found(str(captures / "demo.pcap"))


@pytest.mark.slow
@pytest.mark.parametrize("fail_every", share([0, 10]))
def test_images_of_a_bucket_are_carved_in_parts(s3: S3Server, tmp_path: Path, fail_every: int) -> None:
    one = message(1, "order 4711", "<order id='4711'/>")
    data = bytearray(12 << 20)
    for at in (700, (1 << 20) - 50, (10 << 20) - 9, (12 << 20) - 100):
        data[at : at + len(one)] = one[: len(data) - at]
    for name, content in (("disk.dd", data), ("disk.gz", gzip.compress(data, 1)), ("x.vmdk", b"KDMV")):
        (tmp_path / name).write_bytes(content)
        put(f"images/{name}", bytes(content))

    def found(path: str) -> list[dict[str, Any]]:
        reader = CarvedReader(ReadOptions.of({"path": path, "splitBytes": "1m"}))
        batches = [batch for part in reader.partitions() for batch in reader.read(part)]
        return [row for batch in batches for row in batch.drop_columns(["capture"]).to_pylist()]

    s3.fail_every = fail_every
    for name in ("disk.dd", "disk.gz"):
        rows = found(f"s3a://{BUCKET}/images/{name}")
        assert rows == found(str(tmp_path / name))
        assert [row["grade"] for row in rows] == ["whole", "whole", "whole", "head"]
    (row,) = found(f"{ROOT}/images/x.vmdk")
    assert row["reason"].endswith(
        "x.vmdk begins like a VMDK image: only a file of this machine is read as one"
    )
    s3.fail_every = 0
    assert bool(s3.failed) == bool(fail_every)


def test_files_of_a_folder_are_one_capture_by_time(s3: S3Server, tmp_path: Path) -> None:
    for name, time in (("b", 3), ("a", 7)):
        write_pcap(tmp_path / name, [Frame(0, time, 1, b"x", 1, 0)])
        put(f"group/{name}.pcap", (tmp_path / name).read_bytes())
    (capture,) = captures_of(list_files([f"{ROOT}/group"]).files, "group")
    assert capture.name == f"{ROOT}/group"
    assert [(file.path[-6:], file.first_time) for file in capture.files] == [("b.pcap", 3), ("a.pcap", 7)]


def damage(path: str) -> list[tuple[str, int]]:
    """What is wrong with a file, and where."""
    reading = CaptureReading(Capture(name=path, files=list_files([path]).files), chunk_bytes=5000)
    assert list(reading)
    return [(one.reason.replace(path, "it"), one.offset) for one in reading.damage]


@pytest.mark.slow
def test_a_damaged_file_is_damaged_alike_in_a_bucket(s3: S3Server, captures: Path, tmp_path: Path) -> None:
    whole = (captures / "demo.pcap").read_bytes()
    cases = {
        "cut.pcap": whole[:-7],
        "claims.pcap": whole[:24] + whole[24:32] + b"\xff" * 8 + whole[40:],
        "cut.pcap.gz": gzip.compress(whole)[:-9],
        "empty.pcap": b"",
        "text.pcap": b"no capture",
    }
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
        expected = damage(str(tmp_path / name))
        assert damage(put(name, data)) == expected != []


@pytest.mark.slow
def test_files_of_a_ring_are_one_capture_in_a_bucket(s3: S3Server, tmp_path: Path) -> None:
    for number, path in enumerate(cut(tmp_path / "ring", 3)):
        data = path.read_bytes()
        put(f"ring/{path.name}{'.gz' if number == 1 else ''}", gzip.compress(data) if number == 1 else data)
    files = list_files([f"{ROOT}/ring"]).files
    found = captures_of(files, "ring")
    assert [(one.name, len(one.files)) for one in found] == [
        (f"{ROOT}/ring/day0.pcap to day2.pcap", 2),
        (f"{ROOT}/ring/day1.pcap.gz", 1),
    ]
    reading = CaptureReading(found[0], chunk_bytes=1 << 20)
    here = [CaptureFile(path=str(tmp_path / "ring" / f"day{n}.pcap"), size=0, mtime_ns=0) for n in (0, 2)]
    local = CaptureReading(Capture(name="here", files=tuple(here), in_turn=True), chunk_bytes=1 << 20)
    assert [len(batch) for batch in reading] == [len(batch) for batch in local]
    assert reading.frames == local.frames > 0


def noise(number: int) -> Frame:
    """A frame of no protocol that is known."""
    data = b"\xff" * 12 + b"\x88\xb5" + Random(number).randbytes(1400)
    return Frame(0, 1_800_000_000 * SECOND + number, 1, data, len(data), 0)


@pytest.mark.slow
def test_a_run_downloads_each_capture_once(
    s3: S3Server, captures: Path, tmp_path: Path, one_process: Any
) -> None:
    frames = list(read_frames(captures / "clean_business_day.pcap"))
    path, size = tmp_path / "a.pcap", 0
    for name, count in (("a.pcap", 500), ("b.pcap.gz", 1000), ("c.pcap", 2000)):
        write_pcap(path, [*frames[count // 500 :], *map(noise, range(count))])
        data = path.read_bytes()
        data = gzip.compress(data) if name.endswith(".gz") else data
        put(f"once/{name}", data)
        size += len(data)
    s3.reset()
    done = run_job(one_process, str(tmp_path / "out"), ReadOptions(paths=(f"{ROOT}/once",)))
    assert (done.captures, done.damage) == (3, ())
    assert size <= s3.sent <= 1.05 * size
    s3.reset()
    assert run_job(one_process, str(tmp_path / "out"), ReadOptions(paths=(f"{ROOT}/once",))).unchanged == 3
    assert s3.sent == 0


def test_a_file_that_goes_away_or_changes_is_told(s3: S3Server, captures: Path) -> None:
    url = put("demo.pcap", (captures / "demo.pcap").read_bytes())
    listed = list_files([url]).files
    (split,) = index_file(url, 1 << 30, opener=open_file).splits
    put("demo.pcap", b"")
    with pytest.raises(CaptureError, match="changed after it was indexed"):
        list(read_split(split, opener=open_file))
    place_of(url).delete()
    with pytest.raises(CaptureError, match=f"cannot open {url}: No such file or directory"):
        list(read_split(split, opener=open_file))
    with pytest.raises(CaptureError, match=f"cannot open {url}: No such file or directory"):
        index_file(url, 1, opener=open_file)
    reading = CaptureReading(Capture(name=url, files=listed), chunk_bytes=5000)
    assert list(reading)
    assert [one.reason for one in reading.damage] == [f"cannot open {url}: No such file or directory"]
