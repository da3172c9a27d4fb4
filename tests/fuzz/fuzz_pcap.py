"""Any classic pcap file: frames, then at most one CaptureError; records, and never another error.

Input: the file; bytes that start with no pcap magic get a file header in front.
"""

from __future__ import annotations

import io
import json
import runpy
from pathlib import Path

from msmq_wire.capture.pcap import PCAP_MAGICS, Frame
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import CaptureError
from msmq_wire.records.message import message_view
from msmq_wire.records.view import record_view

HEADER = bytes.fromhex("4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000")


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    if data[:4] not in PCAP_MAGICS:
        data = HEADER + data
    header = PCAP_MAGICS[data[:4]][2]
    frames, error = _read(io.BytesIO(data))
    assert _read(_Drops(data)) == (frames, error)
    at = 24
    for number, frame in enumerate(frames, 1):
        assert frame.number == number
        assert frame.position == at
        assert frame.data == data[at + header : at + header + len(frame.data)]
        at += header + len(frame.data)
    assert error is not None or at == len(data)
    copy = io.BytesIO()
    assert write_pcap(copy, frames).frames == len(frames)
    copied, copy_error = _read(io.BytesIO(copy.getvalue()))
    assert copy_error is None
    assert [(f.time, f.link_type, f.data, f.length) for f in copied] == [
        (f.time, f.link_type, f.data, f.length) for f in frames
    ]
    read_records(data, frames)


def read_records(data: bytes, frames: list[Frame]) -> None:
    """Read a capture to its end and count what comes out."""
    reader = CaptureReader(io.BytesIO(data), streams=True)
    try:
        records = list(reader)
    except CaptureError:
        assert not frames
        return
    assert reader.summary.frames == len(frames)
    assert [record.id for record in records] == list(range(1, len(records) + 1))
    for record in records:
        json.dumps(record_view(record))
        json.dumps(message_view(record, acknowledgments=True))
        assert all(1 <= number <= len(frames) for number in record.frames)
    # A frame can hold several packets, so what is counted may exceed the frames; never the other way round.
    assert reader.summary.understood + reader.summary.skipped.total() >= len(frames)


def _read(source: io.BytesIO) -> tuple[list[Frame], tuple[str, int] | None]:
    frames: list[Frame] = []
    try:
        for frame in read_frames(source):
            frames.append(frame)
    except CaptureError as error:
        return frames, (error.message, error.offset)
    return frames, None


class _Drops(io.BytesIO):
    """A stream that gives 13 bytes a read."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read1(13)


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)
