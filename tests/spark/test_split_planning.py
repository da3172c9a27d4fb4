"""Splits stand where their files stand in a capture."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.writer import write_pcap
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.split_planning import PlacedSplit, place_splits
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


def placed(folder: Path, **options: Any) -> list[PlacedSplit]:
    options.setdefault("split_bytes", SPLIT_BYTES)
    files = list_files([str(folder)]).files
    asked = ReadOptions(paths=(str(folder),), **options)
    return place_splits(captures_of(files, asked.scope), asked)


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
    (one,) = place_splits(captures_of(files, "file"), ReadOptions())
    assert one.split is None
    assert one.error == f"cannot open {folder / 'gone.pcap'}: No such file or directory"
