"""Splits stand where their files stand in a capture; a kept index counts only for files as they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.capture.opened_file import Opener
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.splits import FileIndex, index_file
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark import split_planning
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.sources import PacketDataReader
from msmq_wire.spark.split_planning import (
    INDEX_SCHEMA,
    PlacedSplit,
    index_captures,
    place_splits,
    read_index,
    write_index,
)
from msmq_wire.spark.task_rows import read_packets

pytestmark = pytest.mark.needs("pyspark")

CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
START = 1_700_000_000_000_000_000
SPLIT_BYTES = 200


def write(path: Path, count: int, start: int = 0, step: int = 1) -> Path:
    frames = [Frame(0, START + start + number * step, 1, bytes(30), 30, 0) for number in range(count)]
    write_pcap(path, frames)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four files that overlap in time, one of them cut, and one that is no capture."""
    place = tmp_path / "captures"
    place.mkdir()
    write(place / "a.pcap", 20, 50, 10)
    write(place / "b.pcap", 7, 0, 100)
    cut = write(place / "c.pcap", 9, 120)
    cut.write_bytes(cut.read_bytes()[:-1])
    write(place / "d.pcap", 0)
    write(place / "e.pcap", 3, 1000)
    (place / "text.pcap").write_text("no capture")
    return place


def placed(folder: Path, known: Any = None, **options: Any) -> list[PlacedSplit]:
    options.setdefault("split_bytes", SPLIT_BYTES)
    files = list_files([str(folder)]).files
    asked = ReadOptions(paths=(str(folder),), **options)
    return place_splits(captures_of(files, asked.scope), asked, known or {})


def test_splits_of_a_group_number_frames_as_the_reading_does(folder: Path) -> None:
    splits = placed(folder, scope="group")
    (capture,) = captures_of(list_files([str(folder)]).files, "group")
    reading = CaptureReading(capture, chunk_bytes=300)
    numbered: dict[tuple[str, int], int] = {}
    for chunk in reading.chunks():
        places, own = reading.numbering.locate(chunk.numbers)
        for place, number, whole in zip(places.tolist(), own.tolist(), chunk.numbers.tolist(), strict=True):
            numbered[reading.numbering.paths[place], number] = whole
    rows = [
        row
        for one in splits
        for batch in read_packets(one, ReadOptions())
        for row in batch.to_pylist()
        if row["error"] is None
    ]
    assert {(row["path"], row["frame_no"]): row["number"] for row in rows} == numbered
    assert sorted(row["number"] for row in rows) == list(range(1, 20 + 7 + 8 + 3 + 1))
    assert {row["capture"] for row in rows} == {str(folder)}
    # Both say the same of what is damaged.
    reported = {(one.path, one.error, one.error_offset) for one in splits if one.split is None}
    assert reported == {(one.path, one.reason, one.offset) for one in reading.damage}
    assert {os.path.basename(path) for path, *_ in reported} == {"c.pcap", "text.pcap"}


def test_with_scope_file_every_file_begins_with_frame_1(folder: Path) -> None:
    splits = placed(folder)
    assert {one.base for one in splits} == {0}
    assert all(one.capture == one.path for one in splits)
    assert sum(one.split.frames for one in splits if one.split is not None) == 20 + 7 + 8 + 3


def test_what_is_not_there_is_placed_with_its_error(folder: Path) -> None:
    files = list_files([str(folder / "gone.pcap")]).files
    (one,) = place_splits(captures_of(files, "file"), ReadOptions(), {})
    assert one.split is None
    assert one.error == f"cannot open {folder / 'gone.pcap'}: No such file or directory"


HERE: Any = None
"""No session: a few files are walked without one."""


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were walked, by name."""
    found: list[str] = []

    def counted(path: str, split_bytes: int, *, opener: Opener) -> FileIndex:
        found.append(os.path.basename(path))
        return index_file(path, split_bytes, opener=opener)

    monkeypatch.setattr(split_planning, "index_file", counted)
    return found


def test_an_index_is_walked_once_and_again_for_what_changed(
    folder: Path, tmp_path: Path, walked: list[str]
) -> None:
    kept = str(tmp_path / "index")

    def files() -> Any:
        return list_files([str(folder)], pattern="[a-e].pcap").files

    assert index_captures(HERE, files(), kept, SPLIT_BYTES) == 5
    assert index_captures(HERE, files(), kept, SPLIT_BYTES) == 0
    # One is written again with the same bytes, one grows, one is new.
    path = folder / "a.pcap"
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    status = write(folder / "e.pcap", 4, 1000).stat()
    os.utime(folder / "e.pcap", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert index_captures(HERE, files(), kept, SPLIT_BYTES) == 2
    assert index_captures(HERE, files(), kept, SPLIT_BYTES) == 0
    assert walked == ["a.pcap", "b.pcap", "c.pcap", "d.pcap", "e.pcap", "a.pcap", "e.pcap"]
    known = read_index(kept, files(), SPLIT_BYTES)
    assert known == {file.path: index_file(file.path, SPLIT_BYTES) for file in files()}
    assert os.listdir(kept) == ["captures.parquet"]


def test_an_index_of_other_splits_does_not_count(folder: Path, tmp_path: Path) -> None:
    kept = str(tmp_path / "index")
    files = list_files([str(folder / "a.pcap")]).files
    assert index_captures(HERE, files, kept, SPLIT_BYTES) == 1
    assert read_index(kept, files, SPLIT_BYTES + 1) == {}
    assert len(read_index(kept, files, SPLIT_BYTES)) == 1


def test_files_that_cannot_be_opened_are_not_walked(folder: Path, tmp_path: Path, walked: list[str]) -> None:
    files = list_files([str(folder / "gone.pcap")]).files
    assert index_captures(HERE, files, str(tmp_path / "index"), SPLIT_BYTES) == 0
    assert walked == []


def test_what_is_no_capture_is_not_in_the_index(folder: Path, tmp_path: Path) -> None:
    (folder / "text.pcap").write_text("no capture")
    files = list_files([str(folder / "text.pcap")]).files
    assert index_captures(HERE, files, str(tmp_path / "index"), SPLIT_BYTES) == 1
    assert read_index(str(tmp_path / "index"), files, SPLIT_BYTES) == {}


def test_what_is_known_is_not_walked_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = str(tmp_path / "index")
    files = list_files([str(folder)], pattern="[a-e].pcap").files
    index_captures(HERE, files, kept, SPLIT_BYTES)
    options = ReadOptions(paths=(str(folder),), glob="[a-e].pcap", split_bytes=SPLIT_BYTES, index=kept)
    walked = placed(folder)

    def refuse(*_: object) -> FileIndex:
        raise AssertionError("it is known")

    monkeypatch.setattr(split_planning, "index_file", refuse)
    splits = [one for partition in PacketDataReader(options).partitions() for one in partition.value]
    assert splits == [one for one in walked if "text" not in one.path]


def test_a_folder_without_an_index_knows_nothing(folder: Path, tmp_path: Path) -> None:
    assert read_index(str(tmp_path / "none"), list_files([str(folder)]).files, SPLIT_BYTES) == {}


@pytest.mark.parametrize("columns", [["path"], ["other"], ["path", "size", "mtime_ns", "split_bytes"]])
def test_a_foreign_table_is_no_index(folder: Path, tmp_path: Path, columns: list[str]) -> None:
    (file,) = list_files([str(folder / "a.pcap")]).files
    values = {"path": file.path, "size": file.size, "mtime_ns": file.mtime_ns, "split_bytes": SPLIT_BYTES}
    table = pa.table({name: [values.get(name, "x")] for name in columns})
    kept = tmp_path / "index"
    kept.mkdir()
    pq.write_table(table, kept / "captures.parquet")
    before = (kept / "captures.parquet").read_bytes()
    with pytest.raises(MsmqWireError, match="holds no index") as error:
        index_captures(HERE, [file], str(kept), SPLIT_BYTES)
    assert "\n" not in str(error.value)
    assert (kept / "captures.parquet").read_bytes() == before


@pytest.mark.parametrize("data", [b"", b"PAR1", b"some text", bytes(100)])
def test_what_is_no_parquet_is_no_index(folder: Path, tmp_path: Path, data: bytes) -> None:
    kept = tmp_path / "index"
    kept.mkdir()
    (kept / "captures.parquet").write_bytes(data)
    with pytest.raises(MsmqWireError, match="holds no index"):
        read_index(str(kept), list_files([str(folder)]).files, SPLIT_BYTES)


@pytest.mark.parametrize(
    "name", ["path_pcapng_two_sections.pcapng", "path_gzip.pcap", "path_cut_file.pcap", "demo.pcap"]
)
def test_an_index_comes_back_as_it_was_written(name: str, tmp_path: Path) -> None:
    path = str(CAPTURES / name)
    index = index_file(path, 300)
    write_index(str(tmp_path / "index"), [index], 300)
    assert read_index(str(tmp_path / "index"), list_files([path]).files, 300) == {path: index}
    assert pq.read_schema(tmp_path / "index" / "captures.parquet").equals(INDEX_SCHEMA)
