"""Several files read as one capture give what one file with all their frames gives."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from msmq_wire import read_capture
from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.frames import FrameDecoder
from msmq_wire.capture.listing import Scope, captures_of, list_files
from msmq_wire.capture.numbering import Numbering
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import CaptureError
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import RpcCall
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.tables.message_columns import batches_of
from tests.effort import examples, in_batches, remembered

CAPTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "captures").glob("*.pcap*"))
RPC = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "rpc_captures").glob("*.pcap"))
LARGE = 1 << 23
START = 1_700_000_000_000_000_000

# A folder for each example takes what pytest gives to the whole test.
FOLDERS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))


@remembered
def frames_of(path: Path) -> tuple[Frame, ...]:
    """The frames of a capture, a microsecond and a bit apart."""
    found: list[Frame] = []
    try:
        for number, frame in enumerate(read_frames(path), 1):
            time = START + number * 1001
            found.append(Frame(number, time, frame.link_type, frame.data, frame.length, 0))
    except CaptureError:
        pass
    return tuple(found)


def opened(folder: Path, **options: Any) -> CaptureReading:
    """The files of a folder as one capture."""
    (capture,) = captures_of(list_files([str(folder)]).files, "group")
    assert capture.name == str(folder)
    options.setdefault("chunk_bytes", LARGE)
    return CaptureReading(capture, **options)


def write_parts(folder: Path, parts: Sequence[Sequence[Frame]]) -> list[Path]:
    folder.mkdir()
    paths = [folder / f"part-{index:03d}.pcap" for index in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        write_pcap(path, part)
    return paths


def records_in(reading: CaptureReading) -> list[Record]:
    return sorted((one for batch in reading for one in batch.records()), key=lambda one: one.id)


def renamed(records: Sequence[Record], name: str) -> list[Record]:
    """Records as those of another capture; errors compare by their text."""
    return [_with(one, capture=name, error=None if one.error is None else str(one.error)) for one in records]


def _with(record: Record, **values: Any) -> Record:
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    return Record(**(fields | values))


def whole_records(folder: Path, frames: Sequence[Frame]) -> list[Record]:
    """What `read_capture` says of one file with all frames."""
    path = folder / "whole.pcap"
    write_pcap(path, frames)
    return list(read_capture(path, streams=True))


def cut_in(frames: Sequence[Frame], count: int) -> list[Sequence[Frame]]:
    edges = [len(frames) * index // count for index in range(count + 1)]
    return [frames[start:stop] for start, stop in pairwise(edges)]


# Its frames are of two interfaces by turns; the writer numbers those of each file anew.
INTERFACES = "path_pcapng_two_interfaces.pcapng"


@pytest.mark.slow
@in_batches([path for path in [*CAPTURES, *RPC] if path.name != INTERFACES])
def test_rotated_files_give_the_records_of_the_whole_file(path: Path, tmp_path: Path) -> None:
    frames = frames_of(path)
    expected = renamed(whole_records(tmp_path, frames), "")
    for count, chunk_bytes in ((2, LARGE), (5, 1000)):
        folder = tmp_path / str(count)
        write_parts(folder, cut_in(frames, count))
        reading = opened(folder, chunk_bytes=chunk_bytes, streams=True)
        assert renamed(records_in(reading), "") == expected
        assert reading.frames == len(frames)
        assert reading.damage == []


def as_whole(reading: CaptureReading, records: Sequence[Record], numbers: dict[tuple[str, int], int]) -> Any:
    """Records with the numbers that frames have in the whole file."""

    def of(frames: Sequence[int]) -> tuple[int, ...]:
        places, own = reading.numbering.locate(np.array(frames, np.int64))
        found = zip(places.tolist(), own.tolist(), strict=True)
        return tuple(sorted(numbers[reading.numbering.paths[place], number] for place, number in found))

    return in_order([_with(one, frames=of(one.frames), packet=_packet(one.packet, of)) for one in records])


def in_order(records: Sequence[Record]) -> list[Record]:
    """Records whose frames are in the order of their numbers, without what follows from that order.

    Where files overlap a larger number does not mean a later frame.
    """

    def of(frames: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(frames))

    return renamed(
        [_with(one, time=None, frames=of(one.frames), packet=_packet(one.packet, of)) for one in records], ""
    )


def _packet(packet: Any, of: Callable[[Sequence[int]], tuple[int, ...]]) -> Any:
    """A packet with other numbers of frames."""
    if isinstance(packet, RpcCall):
        return replace(packet, opened_frame=None, started_frame=None, latency=None)
    if isinstance(packet, SrmpMessage):
        response = packet.response
        response = None if response is None else replace(response, frames=of(response.frames))
        return replace(packet, response=response, latency=None)
    return packet


# A response after a loss waits by the time of its request, which is told by the largest number; what waited
# for a hole comes in the order of numbers.
UNSORTED = (
    "path_loss_in_message.pcap",
    "path_srmp_loss_between.pcap",
    "path_srmp_loss_in_body.pcap",
    "path_srmp_loss_of_head.pcap",
)
LOST = "path_srmp_loss_of_response.pcap"


def compare_dealt(tmp_path: Path, frames: Sequence[Frame], deal: Sequence[int], chunk_bytes: int) -> None:
    """Compare frames that were dealt out to several files with all of them in one."""
    expected = in_order(whole_records(tmp_path, frames))
    parts = [
        [one for one, to in zip(frames, deal, strict=True) if to == index] for index in range(max(deal) + 1)
    ]
    folder = tmp_path / "parts"
    paths = write_parts(folder, parts)
    try:
        reading = opened(folder, chunk_bytes=chunk_bytes, streams=True)
        records = records_in(reading)
        numbers = {
            (str(path), own): frame.number
            for path, part in zip(paths, parts, strict=True)
            for own, frame in enumerate(part, 1)
        }
        assert as_whole(reading, records, numbers) == expected
    finally:
        for path in paths:
            path.unlink()
        folder.rmdir()


def compare_halves(tmp_path: Path, path: Path) -> None:
    """Compare two files that hold every other frame of a capture with the capture."""
    frames = frames_of(path)
    if frames:
        compare_dealt(tmp_path, frames, [number % 2 for number in range(len(frames))], 3000)


@pytest.mark.slow
@in_batches([path for path in [*CAPTURES, *RPC] if path.name not in (*UNSORTED, INTERFACES)])
def test_files_that_hold_every_other_frame_give_the_records_of_the_whole_file(
    path: Path, tmp_path: Path
) -> None:
    compare_halves(tmp_path, path)


@pytest.mark.slow
@pytest.mark.xfail(reason="the larger number of a frame is taken for the later frame")
@pytest.mark.parametrize("name", UNSORTED)
def test_what_comes_after_a_loss_is_in_the_order_of_time_also_in_files_that_overlap(
    name: str, tmp_path: Path
) -> None:
    compare_halves(tmp_path, CAPTURES[0].with_name(name))


@pytest.mark.slow
@pytest.mark.xfail(reason="the larger number of a frame is taken for the later frame")
def test_a_response_after_a_loss_waits_for_its_request_also_in_a_file_of_its_own(tmp_path: Path) -> None:
    compare_dealt(tmp_path, frames_of(CAPTURES[0].with_name(LOST)), [0, 0, 0, 0, 1, 0, 0, 0, 0], 1)


@pytest.mark.parametrize("name", ["clean_business_day.pcap", "clean_parallel_cut_off.pcap", "demo.pcap"])
def test_a_file_for_each_direction_gives_the_records_of_the_whole_file(name: str, tmp_path: Path) -> None:
    frames = frames_of(next(path for path in CAPTURES if path.name == name))
    # Ethernet without tags: the destination port of TCP, MSMQ's own goes to the first file.
    deal = [int(frame.data[36:38] != (1801).to_bytes(2, "big")) for frame in frames]
    assert set(deal) == {0, 1}
    compare_dealt(tmp_path, frames, deal, LARGE)


@pytest.mark.parametrize(
    "name", ["demo.pcap", "clean_parallel_cut_off.pcap", "path_ipv6_fragments.pcap", "path_srmp_chunked.pcap"]
)
@pytest.mark.parametrize("dealt", [False, True])
def test_rows_name_the_file_and_the_frame_that_completed_them(name: str, dealt: bool, tmp_path: Path) -> None:
    frames = frames_of(next(path for path in CAPTURES if path.name == name))
    completed: dict[int, int] = {}
    decoder = FrameDecoder(PacketFinder())
    for frame in frames:
        completed |= {item.id: frame.number for item in decoder.frame(frame)}
    parts = [frames[index::3] for index in range(3)] if dealt else cut_in(frames, 3)
    paths = write_parts(tmp_path / "parts", parts)
    numbers = {
        (str(path), own): frame.number
        for path, part in zip(paths, parts, strict=True)
        for own, frame in enumerate(part, 1)
    }
    reading = opened(tmp_path / "parts", chunk_bytes=2000, streams=True)
    found = [
        (row["id"], row["capture"], numbers[row["path"], row["frame_no"]])
        for batch in reading
        for made in batches_of(batch, reading.numbering).values()
        for row in made.to_pylist()
        if row["id"] in completed
    ]
    assert sorted(found) == [
        (id_, str(tmp_path / "parts"), number) for id_, number in sorted(completed.items())
    ]


@cache
def small_captures() -> list[Path]:
    left = (*UNSORTED, LOST)
    return [path for path in CAPTURES if 0 < len(frames_of(path)) < 60 and path.name not in left]


@pytest.mark.slow
@FOLDERS
@given(data=st.data())
def test_files_that_overlap_anyhow_give_the_records_of_the_whole_file(
    data: st.DataObject, tmp_path: Path
) -> None:
    frames = frames_of(data.draw(st.sampled_from(small_captures())))
    deal = data.draw(st.lists(st.integers(0, 4), min_size=len(frames), max_size=len(frames)))
    compare_dealt(tmp_path, frames, deal, data.draw(st.sampled_from([1, 700, LARGE])))


@pytest.mark.slow
@FOLDERS
@given(
    files=st.lists(st.lists(st.integers(0, 9), min_size=0, max_size=12), min_size=1, max_size=5),
    chunk_bytes=st.sampled_from([1, 60, 150, LARGE]),
)
def test_frames_come_by_the_time_so_far_then_by_file(
    files: list[list[int]], chunk_bytes: int, tmp_path: Path
) -> None:
    parts = [
        [Frame(0, START + time, 1, bytes([index, number]), 2, 0) for number, time in enumerate(times)]
        for index, times in enumerate(files)
    ]
    folder = tmp_path / "times"
    paths = write_parts(folder, parts)
    try:
        reading = opened(folder, chunk_bytes=chunk_bytes)
        got = [chunk.frame(index).data for chunk in reading.chunks() for index in range(len(chunk))]
    finally:
        for path in paths:
            path.unlink()
        folder.rmdir()
    order = sorted((times[0] + START if times else 0, index) for index, times in enumerate(files))
    expected = [
        (max(times[: number + 1]), place, number, bytes([index, number]))
        for place, (_, index) in enumerate(order)
        for times in (files[index],)
        for number in range(len(times))
    ]
    assert got == [data for *_, data in sorted(expected)]


def test_files_without_times_come_one_after_the_other(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    frames = [Frame(0, 0, 1, bytes([index]) * 20, 20, 0) for index in range(30)]
    write_parts(folder, [frames[:9], frames[9:20], frames[20:]])
    reading = opened(folder, chunk_bytes=50)
    got = [chunk.frame(index) for chunk in reading.chunks() for index in range(len(chunk))]
    assert [(frame.number, frame.data[0]) for frame in got] == [(index + 1, index) for index in range(30)]


def demo() -> tuple[Frame, ...]:
    return frames_of(next(path for path in CAPTURES if path.name == "clean_business_day.pcap"))


def test_damaged_files_of_a_group_are_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    frames = demo()
    folder = tmp_path / "parts"
    first, second, third = cut_in(frames, 3)
    paths = write_parts(folder, [first, second, third])
    # The last record of the second file lacks its last byte.
    data = paths[1].read_bytes()
    paths[1].write_bytes(data[:-1])
    (folder / "text.pcap").write_text("no capture at all")
    (folder / "nothing.pcap").write_bytes(b"")
    (folder / "other.pcap.gz").write_bytes(gzip.compress(b"no capture either, but compressed"))
    kept = [*first, *second[:-1], *third]
    expected = renamed(whole_records(tmp_path, kept), "")
    for chunk_bytes in (500, LARGE):
        reading = opened(folder, chunk_bytes=chunk_bytes, streams=True)
        records = records_in(reading)
        assert renamed([one for one in records if one.type != "error"], "") == expected
        errors = {reading.numbering.owned[one.id]: one for one in records if one.type == "error"}
        assert sorted(os.path.basename(path) for path in errors) == [
            "nothing.pcap",
            "other.pcap.gz",
            "part-001.pcap",
            "text.pcap",
        ]
        cut = errors[str(paths[1])]
        assert (cut.reason, cut.offset) == _damage_of(paths[1])
        assert [one.id for one in records] == list(range(1, len(records) + 1))
        assert len(reading.damage) == 4
        assert reading.frames == len(kept)


def _damage_of(path: Path) -> tuple[str, int]:
    with pytest.raises(CaptureError) as error:
        list(read_frames(path))
    return error.value.message, error.value.offset


def test_damage_before_the_first_frame_says_where_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    paths = write_parts(folder, [demo()[:5], demo()[5:9]])
    paths[0].write_bytes(paths[0].read_bytes()[:30])
    (error,) = _read(opened(folder)).damage
    assert (error.path, error.reason, error.offset) == (str(paths[0]), *_damage_of(paths[0]))
    assert error.offset == 24


def _read(reading: CaptureReading) -> CaptureReading:
    records_in(reading)
    return reading


def test_a_file_of_a_group_that_is_not_there_gives_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    paths = write_parts(folder, cut_in(demo(), 2))
    files = list_files([str(folder), str(folder / "gone.pcap")]).files
    (capture,) = captures_of(files, "group")
    reading = CaptureReading(capture, chunk_bytes=LARGE)
    records = records_in(reading)
    (error,) = (one for one in records if one.type == "error")
    assert reading.numbering.owned == {error.id: str(folder / "gone.pcap")}
    assert error.reason == f"cannot open {folder / 'gone.pcap'}: No such file or directory"
    assert reading.frames == sum(len(list(read_frames(path))) for path in paths)


def test_a_file_that_went_away_after_it_was_listed_gives_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    paths = write_parts(folder, cut_in(demo(), 3))
    (capture,) = captures_of(list_files([str(folder)]).files, "group")
    paths[1].unlink()
    reading = CaptureReading(capture, chunk_bytes=LARGE)
    assert [one.reason for one in records_in(reading) if one.type == "error"] == [
        f"cannot open {paths[1]}: No such file or directory"
    ]
    assert reading.frames == sum(len(list(read_frames(path))) for path in (paths[0], paths[2]))


def test_compressed_files_of_a_group_are_read_like_others(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    paths = write_parts(folder, cut_in(demo(), 3))
    paths[1].with_suffix(".pcap.gz").write_bytes(gzip.compress(paths[1].read_bytes()))
    paths[1].unlink()
    expected = renamed(whole_records(tmp_path, demo()), "")
    assert renamed(records_in(opened(folder, streams=True)), "") == expected


def test_a_file_called_minus_is_not_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pcap("-", demo())
    scopes: tuple[Scope, ...] = ("file", "group")
    for scope in scopes:
        (capture,) = captures_of(list_files(["-"]).files, scope)
        reading = CaptureReading(capture, chunk_bytes=LARGE)
        records_in(reading)
        assert (reading.frames, reading.damage) == (len(demo()), [])
        assert capture.files[0].first_time == (None if scope == "file" else demo()[0].time)


@in_batches(CAPTURES)
def test_counts_are_those_of_the_summary(path: Path) -> None:
    with CaptureReader(path) as reader:
        try:
            list(reader)
        except CaptureError:
            return
    (capture,) = captures_of(list_files([str(path)]).files, "file")
    reading = _read(CaptureReading(capture, chunk_bytes=5000))
    finder, summary = reading.finder, reader.summary
    assert (reading.frames, finder.understood) == (summary.frames, summary.understood)
    assert (finder.skipped, finder.notices) == (summary.skipped, summary.notices)


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_the_number_of_a_frame_tells_its_file_and_its_number_there(counts: list[int]) -> None:
    numbering = Numbering()
    expected: list[tuple[str, int]] = []
    for index, count in enumerate(counts):
        numbering.add(f"{index}.pcap", len(expected))
        expected += [(f"{index}.pcap", own) for own in range(1, count + 1)]
    places, own = numbering.locate(np.arange(1, len(expected) + 1))
    found = [
        (numbering.paths[place], number) for place, number in zip(places.tolist(), own.tolist(), strict=True)
    ]
    assert found == expected
