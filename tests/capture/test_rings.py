"""Which files are one capture: by their names and by the times at their ends."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.rings import TimeSpan, rings, span_of
from msmq_wire.capture.writer import write_pcap
from msmq_wire.units import SECOND

_BEGIN = 1_795_166_047 * SECOND


def _frames(seconds: Sequence[float], size: int = 60) -> list[Frame]:
    data = bytes(range(256)) * (size // 256 + 1)
    return [
        Frame(number, _BEGIN + int(second * SECOND), 1, data[:size], size, 0)
        for number, second in enumerate(seconds, 1)
    ]


def _write(path: Path, *seconds: float, size: int = 60) -> str:
    write_pcap(str(path), iter(_frames(seconds, size)))
    return str(path)


def test_files_that_follow_each_other_are_one_capture_in_order_of_time(tmp_path: Path) -> None:
    late, early = _write(tmp_path / "a1.pcap", 20, 30), _write(tmp_path / "a2.pcap", 0, 10)
    assert rings([late, early]) == [(early, late)]


def test_a_capture_stands_where_the_first_of_its_files_is_named(tmp_path: Path) -> None:
    first, second = _write(tmp_path / "a1.pcap", 0, 10), _write(tmp_path / "a2.pcap", 20, 30)
    other = _write(tmp_path / "b.pcap", 5)
    assert rings([second, other, first, "-"]) == [(first, second), (other,), ("-",)]


def test_one_overlap_leaves_all_files_of_these_names_alone(tmp_path: Path) -> None:
    one, two = _write(tmp_path / "host1_1.pcap", 0, 10), _write(tmp_path / "host2_1.pcap", 5, 14)
    three = _write(tmp_path / "host1_2.pcap", 20, 30)
    assert rings([one, two, three]) == [(one,), (two,), (three,)]


def test_a_capture_that_lies_inside_another_one_overlaps(tmp_path: Path) -> None:
    one, two = _write(tmp_path / "a1.pcap", 0, 1000), _write(tmp_path / "a2.pcap", 998, 999)
    assert rings([one, two]) == [(one,), (two,)]


def test_frames_that_change_places_at_a_border_are_no_overlap(tmp_path: Path) -> None:
    one, two = _write(tmp_path / "a1.pcap", 0, 10), _write(tmp_path / "a2.pcap", 9.999, 20)
    assert rings([two, one]) == [(one, two)]


def test_a_pause_of_more_than_a_day_parts_captures(tmp_path: Path) -> None:
    day = 24 * 3600
    one, two = _write(tmp_path / "a1.pcap", 0), _write(tmp_path / "a2.pcap", day, day + 5)
    three, four = _write(tmp_path / "a3.pcap", 2 * day + 6), _write(tmp_path / "a4.pcap", 2 * day + 7)
    assert rings([four, three, two, one]) == [(three, four), (one, two)]


def test_files_of_two_folders_are_two_captures(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    one, two = _write(tmp_path / "a1.pcap", 0), _write(tmp_path / "x" / "a2.pcap", 1)
    assert rings([one, two]) == [(one,), (two,)]


def test_what_cannot_be_read_is_alone(tmp_path: Path) -> None:
    one, two = _write(tmp_path / "a1.pcap", 0), _write(tmp_path / "a2.pcap", 1)
    gone, text = str(tmp_path / "a3.pcap"), tmp_path / "a4.pcap"
    text.write_text("no capture", encoding="utf-8")
    (tmp_path / "a5.pcap").mkdir()
    named = [gone, str(text), str(tmp_path / "a5.pcap"), two, one]
    assert rings(named) == [(gone,), (str(text),), (named[2],), (one, two)]


@pytest.mark.parametrize("size", [60, 1514, 9000])
@pytest.mark.parametrize("cut", [0, 1, 40])
def test_the_end_of_a_large_file_tells_the_time_of_its_last_whole_frame(
    tmp_path: Path, size: int, cut: int
) -> None:
    seconds = [number / 100 for number in range(5 * (1 << 20) // 2 // (size + 16))]
    path = Path(_write(tmp_path / "a.pcap", *seconds, size=size))
    path.write_bytes(path.read_bytes()[: -cut or None])
    last = seconds[-2] if cut else seconds[-1]
    assert span_of(str(path)) == TimeSpan(_BEGIN, _BEGIN + int(last * SECOND))


def test_a_large_file_that_is_packed_has_times(tmp_path: Path) -> None:
    seconds = [number / 10 for number in range(30_000)]
    path = Path(_write(tmp_path / "a.pcap", *seconds))
    packed = tmp_path / "a.pcap.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    assert span_of(str(packed)) == TimeSpan(_BEGIN, _BEGIN + int(seconds[-1] * SECOND))
    # What is missing is no more than the last frames.
    packed.write_bytes(packed.read_bytes()[:-2000])
    span = span_of(str(packed))
    assert span is not None
    assert _BEGIN + 2000 * SECOND < span.last < _BEGIN + 3000 * SECOND


def test_a_large_pcapng_file_has_times(tmp_path: Path) -> None:
    order: Literal["little"] = "little"

    def block(kind: int, body: bytes) -> bytes:
        total = (12 + len(body)).to_bytes(4, order)
        return kind.to_bytes(4, order) + total + body + total

    def packet(second: int) -> bytes:
        ticks = (_BEGIN // SECOND + second) * 1_000_000
        words = (0, ticks >> 32, ticks & 0xFFFFFFFF, 60, 60)
        return block(6, b"".join(word.to_bytes(4, order) for word in words) + bytes(60))

    section = block(0x0A0D0D0A, bytes.fromhex("4d3c2b1a01000000ffffffffffffffff"))
    interface = block(1, bytes.fromhex("0100000000000400"))
    statistics = block(5, bytes(12))
    data = section + interface + b"".join(map(packet, range(30_000))) + statistics
    path = tmp_path / "a.pcapng"
    path.write_bytes(data)
    assert span_of(str(path)) == TimeSpan(_BEGIN, _BEGIN + 29_999 * SECOND)
    path.write_bytes(data[: -len(statistics) - 10])
    assert span_of(str(path)) == TimeSpan(_BEGIN, _BEGIN + 29_998 * SECOND)
