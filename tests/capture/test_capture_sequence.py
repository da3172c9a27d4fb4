"""Several captures, read one after the other without a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from msgspec.structs import replace

from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import CaptureError
from msmq_wire.records.joined_capture import located
from tests.two_points import two_points

_CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
_DEMO = str(_CAPTURES / "demo.pcap")
_CUT = str(_CAPTURES / "path_cut_file.pcap")
_EMPTY = str(_CAPTURES / "path_empty.pcap")
_IDS = [1, 2, *range(6, 17)]
"""Of the records of the demonstration: steps of connections have ids, too."""
_ALL_IDS = 19


def test_ids_run_on_through_all_captures_and_frames_are_counted() -> None:
    reading = CaptureSequence([_DEMO, _DEMO])
    assert [record.id for record in reading] == _IDS + [number + _ALL_IDS for number in _IDS]
    assert reading.counts.frames == 50
    assert reading.captures == [(_DEMO,), (_DEMO,)]


def test_a_second_reading_gives_the_same_ids_and_the_steps_of_connections() -> None:
    again = CaptureSequence([_DEMO]).again()
    found = {record.id: record.type for record in again}
    assert [number for number, type_ in found.items() if type_ != "tcp_stream"] == _IDS
    assert list(found) == list(range(1, _ALL_IDS + 1))


def test_a_file_that_cannot_be_read_raises() -> None:
    with pytest.raises(CaptureError, match="cannot open"):
        list(CaptureSequence([_DEMO, "no such file.pcap"]))
    with pytest.raises(CaptureError, match="no capture in this folder"):
        list(CaptureSequence([str(_CAPTURES.parent / "bodies")]))


def test_a_damaged_file_gives_what_is_before_the_damage_and_an_error() -> None:
    reading = CaptureSequence([_CUT])
    assert [record.id for record in reading] == [4, 5, 9]
    assert [str(error) for error in reading.errors] == [
        f"{_CUT}: the file is cut inside a record of 60 bytes (at byte 856)"
    ]


def test_a_capture_without_msmq_is_a_notice() -> None:
    reading = CaptureSequence([_EMPTY])
    assert list(reading) == []
    assert reading.notices == [f"{_EMPTY}: no MSMQ traffic in 0 frames"]


def test_a_file_object_is_read_twice_if_it_can_be_sought() -> None:
    data = io.BytesIO(b"before" + Path(_DEMO).read_bytes())
    data.seek(6)
    reading = CaptureSequence(["the stream"], given={"the stream": data})
    assert not reading.once
    assert sum(record.type != "tcp_stream" for record in reading.again()) == len(_IDS)
    assert [record.id for record in reading] == _IDS


@pytest.fixture
def points(tmp_path: Path) -> list[str]:
    """The demonstration as two hosts recorded it."""
    frames = list(read_frames(_DEMO))
    files = [str(tmp_path / "sender.pcap"), str(tmp_path / "receiver.pcap")]
    for file, found in zip(files, two_points(frames, offset=5_000_000_000), strict=True):
        write_pcap(file, found)
    return files


def test_captures_of_the_same_traffic_are_read_as_one(points: list[str]) -> None:
    reading = CaptureSequence([*points, _CUT])
    assert [located(record).capture for record in reading][: len(_IDS)] == points[:1] * len(_IDS)
    assert reading.captures == [tuple(points), (_CUT,)]
    assert list(reading.shared) == [tuple(points)]
    assert reading.counts.copies == 25
    again = {record.id: record.type for record in reading.again()}
    assert [number for number, type_ in again.items() if type_ != "tcp_stream"][: len(_IDS)] == _IDS


def test_frames_of_the_same_traffic_can_be_read_once_more(points: list[str]) -> None:
    reading = CaptureSequence(points)
    (capture,) = reading.captures
    merged = reading.merged(capture)
    assert merged is not None
    assert len(list(read_frames(io.BytesIO(merged.read())))) == 25
    assert CaptureSequence([_DEMO]).merged((_DEMO,)) is None


def test_hosts_whose_clocks_are_far_apart_are_no_ring(points: list[str], tmp_path: Path) -> None:
    names = [str(tmp_path / f"host{number}.pcap") for number in (1, 2)]
    for name, file in zip(names, points, strict=True):
        Path(file).rename(name)
    write_pcap(names[1], [replace(one, time=(one.time or 0) + 10**12) for one in read_frames(names[1])])
    reading = CaptureSequence(names)
    assert list(reading.shared) == [tuple(names)]
    assert [record.id for record in reading] == _IDS


def test_a_damaged_file_of_a_point_gives_an_error(points: list[str]) -> None:
    for file in points:
        Path(file).write_bytes(Path(file).read_bytes()[:-3])
    reading = CaptureSequence(points)
    assert [record.reason for record in reading if record.type == "error"] == [
        error.message.partition(": ")[2] for error in reading.errors
    ]
    assert [error.message.partition(": ")[0] for error in reading.errors] == points
