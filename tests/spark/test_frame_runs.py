"""Frames that are put together as runs say where their bytes are; those that are dear to read bring them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from msmq_wire.capture.listing import list_files
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import CaptureError
from msmq_wire.spark import frame_runs
from msmq_wire.spark.frame_runs import KEY, RUN_SCHEMA
from msmq_wire.spark.group_job import read_runs
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.split_planning import place_splits
from tests.effort import in_batches
from tests.runs import CAPTURES
from tests.spark.test_conversations import frames_below

pytestmark = pytest.mark.needs("pyspark")

START = 1_700_000_000_000_000_000


def tcp(client: int, size: int) -> bytes:
    """A frame of one of many clients, with so many bytes of payload."""
    ip = bytes.fromhex("4500") + (40 + size).to_bytes(2, "big") + bytes.fromhex("0000000040060000")
    ends = bytes((10, 0, 0, client)) + bytes((10, 0, 1, 1))
    ports = (40000).to_bytes(2, "big") + (1801).to_bytes(2, "big")
    return (
        bytes(12)
        + b"\x08\x00"
        + ip
        + ends
        + ports
        + bytes(8)
        + bytes.fromhex("5010000000000000")
        + bytes(size)
    )


def capture(path: Path, frames: list[bytes]) -> Path:
    write_pcap(path, [Frame(n, START + n, 1, data, len(data), 0) for n, data in enumerate(frames, 1)])
    return path


def frames_in(runs: Any) -> dict[int, tuple[Any, ...]]:
    """The frames of runs by number: time, bytes, length, link type, interface."""
    found = {}
    for row in runs.to_pylist():
        if row["told"] is not None:
            continue
        keys = np.frombuffer(row["keys"], KEY)
        assert (int(keys["clock"][0]), int(keys["number"][0])) == (row["clock"], row["number"])
        whole = row["data"]
        place = 0
        for _, time, number, at, size, length, link_type, interface in keys.tolist():
            if whole is None:
                with Path(row["path"]).open("rb") as file:
                    file.seek(at)
                    data = file.read(size)
            else:
                data, place = whole[place : place + size], place + size
            assert number not in found
            found[number] = (time, data, length, link_type, interface)
    return found


@in_batches(CAPTURES)
def test_runs_hold_every_frame_that_has_hosts(path: Path) -> None:
    expected = {}
    try:
        for frame in read_frames(path):
            expected[frame.number] = (
                frame.time or 0,
                frame.data,
                frame.length,
                frame.link_type,
                frame.interface,
            )
    except CaptureError:
        pass
    runs = frames_below(path, split_bytes=1 << 12)
    found = frames_in(runs)
    reported = [json.loads(one) for one in runs["told"].drop_null().to_pylist()]
    skipped = sum(count for one in reported for count in one.get("skipped", {}).values())
    assert len(found) + skipped == len(expected)
    assert found.items() <= expected.items()


def test_what_lies_together_is_read_again_and_what_is_scattered_travels(tmp_path: Path) -> None:
    many = [tcp(2 + number % 100, 1000) for number in range(400)]
    path = capture(tmp_path / "a.pcap", [*many, *[tcp(1, 1400)] * 200])
    runs = frames_below(path)
    brought = {len(row["keys"]) // KEY.itemsize: row["data"] is not None for row in runs.to_pylist()}
    assert brought == {4: True, 200: False}
    assert len(frames_in(runs)) == 600


def test_frames_of_a_compressed_file_travel(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", [tcp(1, 1400)] * 20)
    packed = tmp_path / "a.pcap.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    runs = frames_below(packed)
    assert runs["data"].null_count == 0
    assert frames_in(runs) == frames_in(frames_below(path))


def test_a_row_is_small_whatever_a_chunk_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = capture(tmp_path / "a.pcap", [tcp(1, 1000)] * 100)
    whole = frames_in(frames_below(path))
    monkeypatch.setattr(frame_runs, "_MOST_BYTES", 5000)
    runs = frames_below(path)
    assert frames_in(runs) == whole
    assert max(len(keys) for keys in runs["keys"].to_pylist()) <= 5 * KEY.itemsize


def test_only_frames_that_are_asked_for_are_in_runs(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", [tcp(1, 10), tcp(2, 10), tcp(1, 20)])
    assert sorted(frames_in(frames_below(path, hosts=("10.0.0.1",)))) == [1, 3]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", [tcp(1, 10)])
    options = ReadOptions(paths=(str(path),))
    (placed,) = place_splits(list_files([str(path)]).files, options, {})
    path.unlink()
    (batch,) = read_runs(placed, options)
    (row,) = pa.Table.from_batches([batch], RUN_SCHEMA).to_pylist()
    reason, offset = json.loads(row["told"])["damage"]
    assert reason.startswith("cannot open")
    assert (row["path"], row["conversation"], offset) == (str(path), None, 0)
