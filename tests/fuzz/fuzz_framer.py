"""Any stream with gaps: every byte is in exactly one event, however the stream was split.

Input: one byte with the number of marks (low 3 bits) and a small ``max_pending`` (top 5 bits, 0: the
default); a mark has two bytes of position and one of gap length (0: only a split, 255: unknown); then the
stream.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from msmq_wire.reassembly.packet_framer import FramedPacket, FramerEvent, PacketFramer

_SKIPPED = ("no-signature", "rest-of-packet", "packet-size")
_MARK = 3


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    if not data:
        return
    count, small = data[0] & 7, data[0] >> 3
    stream = data[1 + _MARK * count :]
    marks = sorted(
        (int.from_bytes(data[at : at + 2], "little") % (len(stream) + 1), data[at + 2])
        for at in range(1, 1 + _MARK * count, _MARK)
        if len(data) >= at + _MARK
    )
    limit = 32 * small
    gaps = [(at, None if length == 255 else length) for at, length in marks if length]
    whole = _run(stream, gaps, [], limit)
    _account(whole, stream, gaps)
    split = _run(stream, gaps, [at for at, length in marks if not length], limit)
    assert _content(split) == _content(whole)
    # Byte by byte where that is quick, else a few bytes at a time.
    step = 1 if len(stream) <= 256 else 11
    assert _content(_run(stream, gaps, list(range(0, len(stream), step)), limit)) == _content(whole)


def _run(
    stream: bytes, gaps: list[tuple[int, int | None]], splits: list[int], limit: int
) -> list[FramerEvent]:
    framer = PacketFramer(max_pending=limit) if limit else PacketFramer()
    events: list[FramerEvent] = []
    cuts = sorted({*splits, *(at for at, _ in gaps), len(stream)})
    before = 0
    for frame, cut in enumerate(cuts, 1):
        events += framer.feed(stream[before:cut], frame, frame * 1000)
        if limit:
            assert framer.pending_bytes <= max(64, limit) + 12
        before = cut
        for at, length in gaps:
            if at == cut:
                events += framer.gap(length, "loss", frame, frame * 1000)
    events += framer.finish()
    assert framer.pending_bytes == 0
    assert framer.offset == len(stream) + sum(length or 0 for _, length in gaps)
    assert framer.finish() == []
    for event in events:
        assert event.frames
        assert list(event.frames) == sorted(set(event.frames))
        assert event.time == event.frames[-1] * 1000
    return events


def _account(events: list[FramerEvent], stream: bytes, gaps: list[tuple[int, int | None]]) -> None:
    """Follow the events through the stream: they tile it, and hold its bytes."""
    at = offset = 0
    reported: list[int | None] = []
    for event in events:
        assert event.offset == offset
        if isinstance(event, FramedPacket):
            assert event.data == stream[at : at + len(event.data)]
            assert event.data
            at += len(event.data)
            offset += len(event.data)
        elif event.reason in _SKIPPED:
            assert event.length
            assert event.data == stream[at : at + event.length][: len(event.data)]
            assert len(event.data) == min(event.length, 256)
            at += event.length
            offset += event.length
        else:
            assert not event.data
            reported.append(event.length)
            offset += event.length or 0
    assert at == len(stream)
    assert reported == [length for _, length in gaps]


def _content(events: list[FramerEvent]) -> list[tuple[object, ...]]:
    """What must not depend on how the stream was split: everything but frames and times."""
    return [
        (event.offset, event.data, event.complete)
        if isinstance(event, FramedPacket)
        else (event.offset, event.length, event.reason, event.data)
        for event in events
    ]


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)
