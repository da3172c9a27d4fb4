"""Several captures, read one after the other without a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from msmq_wire.capture.capture_sequence import CaptureSequence
from msmq_wire.errors import CaptureError

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
