"""Any pcapng file, or compressed bytes: frames, at most one CaptureError; records, and never another error.

Input: the file; bytes that start with neither a section header nor a known compression get a section and two
interfaces (one Ethernet, one with a clock of its own) in front.
"""

from __future__ import annotations

import io
import json
import runpy
from pathlib import Path

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.pcapng import PCAPNG_MAGIC
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import CaptureError
from msmq_wire.records.message import message_view
from msmq_wire.records.view import record_view

HEADER = bytes.fromhex(
    "0a0d0d0a 1c000000 4d3c2b1a 0100 0000 ffffffffffffffff 1c000000"
    "01000000 14000000 0100 0000 00000000 14000000"
    "01000000 20000000 6500 0000 40000000 0900 0100 8a000000 00000000 20000000"
)
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_MOST = 2000  # a few compressed bytes can stand for millions of empty frames


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    if data[:4] != PCAPNG_MAGIC and not data.startswith(_COMPRESSED):
        data = HEADER + data
    frames, error = _read(io.BytesIO(data))
    if data[:4] == PCAPNG_MAGIC:
        assert _read(_Drops(data)) == (frames, error)
    before = -1
    for number, frame in enumerate(frames, 1):
        assert frame.number == number
        assert frame.position > before
        assert frame.time is None or 0 <= frame.time < 1 << 63
        before = frame.position
    copy = io.BytesIO()
    assert write_pcap(copy, frames).frames == len(frames)
    copied, copy_error = _read(io.BytesIO(copy.getvalue()))
    assert copy_error is None
    assert [(f.time, f.link_type, f.data, f.length) for f in copied] == [
        (f.time or 0, f.link_type, f.data, f.length) for f in frames
    ]
    if len(frames) == _MOST:
        return
    reader = CaptureReader(io.BytesIO(data), streams=True)
    try:
        records = list(reader)
    except CaptureError:
        assert not frames
        return
    assert reader.summary.frames == len(frames)
    for record in records:
        json.dumps(record_view(record))
        json.dumps(message_view(record, acknowledgments=True))


def _read(source: io.BytesIO) -> tuple[list[Frame], tuple[str, int] | None]:
    frames: list[Frame] = []
    try:
        for frame in read_frames(source):
            frames.append(frame)
            if len(frames) == _MOST:
                break
    except CaptureError as error:
        return frames, (error.message, error.offset)
    return frames, None


class _Drops(io.BytesIO):
    """A stream that gives 13 bytes a read."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read1(13)


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)
