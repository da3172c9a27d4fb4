"""Frames of a conversation come in the order of the capture, whatever files they are in, with their bytes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.writer import write_pcap
from msmq_wire.spark import conversations, frame_runs
from msmq_wire.spark.conversations import FrameOrder
from msmq_wire.spark.frame_ranges import IndexedFile, RangeReader
from msmq_wire.spark.frame_runs import KEY
from tests.effort import share
from tests.spark.test_conversations import frames_below, in_order, shuffled
from tests.spark.test_frame_runs import START, tcp

pytestmark = pytest.mark.needs("pyspark")


@pytest.fixture
def reader() -> Iterator[RangeReader]:
    made = RangeReader()
    yield made
    made.close()


def given(order: FrameOrder, runs: Any) -> list[tuple[int, int, bytes]]:
    """Clock, number and bytes of the frames that runs give."""
    found = []

    def take(chunks: Any) -> None:
        for chunk, clocks in chunks:
            assert sum(chunk.captured[1:]) + 64 * (len(chunk) - 1) <= conversations._TOGETHER
            for place, clock in enumerate(clocks.tolist()):
                frame = chunk.frame(place)
                assert frame.time == clock
                found.append((clock, frame.number, frame.data))

    for row in in_order(runs).to_pylist():
        file = IndexedFile(row["path"], row["size"], row["mtime_ns"])
        take(order.add(np.frombuffer(row["keys"], KEY), file, row["data"]))
    take(order.finish())
    return found


def overlapping(folder: Path, source: random.Random) -> list[tuple[int, int, bytes]]:
    """Three files with frames of the same time and conversation; the frames of all in order."""
    times = sorted(source.randrange(200) for _ in range(400))
    frames = [(START + time, bytearray(tcp(1, source.randrange(1400)))) for time in times]
    found = []
    number = 0
    for name in "abc":
        # All start at once: files are numbered by when they start, then by name.
        some = [(START, bytearray(tcp(1, 10))), *(one for one in frames if source.random() < 0.5)]
        for place, (_, data) in enumerate(some):
            data[0:6] = number.to_bytes(2, "big") + place.to_bytes(4, "big")
        rows = [
            Frame(place, time, 1, bytes(data), len(data), 0) for place, (time, data) in enumerate(some, 1)
        ]
        write_pcap(folder / f"{name}.pcap", rows)
        found += [(one.time or 0, number + one.number, one.data) for one in rows]
        number += len(rows)
    return sorted(found, key=lambda one: one[:2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("together", "brought"), share([*itertools.product([1, 3000, 20_000, 1 << 21], [True, False])], 3)
)
def test_frames_of_files_that_overlap_come_in_the_order_of_time(
    together: int, brought: bool, reader: RangeReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "_TOGETHER", together)
    monkeypatch.setattr(frame_runs, "worth_a_read", lambda path: 1 << 30 if brought else 0)
    expected = overlapping(tmp_path, random.Random(together))
    for split_bytes in (1, 5000, 1 << 30):
        runs = shuffled(frames_below(tmp_path, split_bytes=split_bytes), together)
        assert runs["data"].null_count == (0 if brought else len(runs))
        assert given(FrameOrder(reader), runs) == expected


@pytest.mark.slow
def test_frames_are_given_before_all_came_and_what_overlaps_waits(
    reader: RangeReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "_TOGETHER", 10_000)
    overlapping(tmp_path, random.Random(1))
    order = FrameOrder(reader)
    most = 0
    for row in in_order(frames_below(tmp_path, split_bytes=1000)).to_pylist():
        file = IndexedFile(row["path"], row["size"], row["mtime_ns"])
        list(order.add(np.frombuffer(row["keys"], KEY), file, row["data"]))
        most = max(most, order._weight)
    assert 10_000 < most < 30_000


def test_frames_of_a_file_that_changed_are_left_out_and_told_once(
    reader: RangeReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "_TOGETHER", 3000)
    monkeypatch.setattr(frame_runs, "worth_a_read", lambda path: 0)
    expected = overlapping(tmp_path, random.Random(2))
    runs = frames_below(tmp_path)
    path = tmp_path / "b.pcap"
    path.write_bytes(path.read_bytes() + b"more")
    order = FrameOrder(reader)
    found = given(order, runs)
    others = {one["path"]: len(one["keys"]) // KEY.itemsize for one in runs.to_pylist()}
    first, last = others[str(tmp_path / "a.pcap")], others[str(path)]
    assert found == [one for one in expected if not first < one[1] <= first + last]
    assert list(order.damage) == [(str(path), f"{path} changed after it was indexed", 0)]
