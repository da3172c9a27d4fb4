"""Any segments in any order: bytes come out once, in order, and what is missing is accounted for.

Input: one byte of limits, then segments of eight bytes and their payload: connection and direction (1), TCP
flags (1), sequence number relative to that direction's first (2, signed; with the top bit of the cut byte
shifted 20 bits), acknowledgment likewise (2), payload length (1), bytes cut off (1).
"""

from __future__ import annotations

import runpy
from collections import defaultdict
from pathlib import Path

from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import (
    ACK,
    SYN,
    StreamBytes,
    StreamConflict,
    StreamGap,
    TcpEvent,
    TcpSegment,
)

_HEADER = 8
_FIRST = (0xFFFFFF00, 1000)  # sequence numbers of both directions; one is about to wrap
_ENDS = ((b"\x0a\0\0\1", 40000), (b"\x0a\0\0\2", 1801))


def test_one_input(data: bytes) -> None:
    """Judge one input; raises AssertionError, or what must not be raised."""
    if not data:
        return
    limits = data[0]
    pending = 1 << (9 + (limits & 7)) if limits & 8 else 1 << 20
    tcp = TcpReassembler(
        max_pending_bytes=pending,
        max_pending_total=2 * pending,
        max_connections=2 if limits & 16 else 1 << 16,
        idle_timeout=5000 if limits & 32 else None,
    )
    segments = _segments(data[1:])
    events: list[TcpEvent] = []
    for segment in segments:
        reported = tcp.feed(segment)
        assert tcp.pending_bytes <= 2 * pending
        for event in reported:
            tcp.connection(event.stream)
            assert event.frame <= segment.frame
        events += reported
    events += tcp.finish()
    assert tcp.pending_bytes == 0
    assert tcp.finish() == []
    _account(events, segments)


def _segments(data: bytes) -> list[TcpSegment]:
    segments: list[TcpSegment] = []
    at = 0
    while len(data) - at >= _HEADER and len(segments) < 200:
        who, flags, size, cut = data[at], data[at + 1], data[at + 6], data[at + 7]
        shift = 20 if cut & 0x80 else 0
        seq = int.from_bytes(data[at + 2 : at + 4], "little", signed=True) << shift
        ack = int.from_bytes(data[at + 4 : at + 6], "little", signed=True)
        payload = data[at + _HEADER : at + _HEADER + size]
        at += _HEADER + size
        direction = who & 1
        (src, sport), (dst, dport) = _ENDS[direction], _ENDS[1 - direction]
        port = who >> 1 & 3
        frame = len(segments) + 1
        segments.append(
            TcpSegment(
                src=src,
                sport=sport + port if direction == 0 else sport,
                dst=dst,
                dport=dport + port if direction == 1 else dport,
                seq=_FIRST[direction] + seq & 0xFFFFFFFF,
                ack=_FIRST[1 - direction] + ack & 0xFFFFFFFF if flags & ACK else 0,
                flags=flags,
                payload=payload,
                frame=frame,
                time=frame * 1000 if who < 0xF0 else frame * 100_000,
                cut=cut & 0x3F,
            )
        )
    return segments


def _account(events: list[TcpEvent], segments: list[TcpSegment]) -> None:
    """Offsets of each direction run on without a hole, and every byte stands where its frame puts it."""
    by_frame = {segment.frame: segment for segment in segments}
    position: dict[tuple[int, int], int] = defaultdict(int)
    starts: dict[tuple[int, int], set[int]] = {}
    delivered = 0
    for event in events:
        assert event.frame in by_frame
        key = (event.stream, getattr(event, "direction", 0))
        if isinstance(event, StreamBytes):
            assert event.offset == position[key]
            assert event.data
            found = _starts(event, by_frame[event.frame])
            starts[key] = starts.get(key, found) & found
            assert starts[key]
            position[key] += len(event.data)
            delivered += len(event.data)
        elif isinstance(event, StreamGap):
            assert event.offset == position[key]
            assert event.length is None or event.length > 0
            position[key] += event.length or 0
            if event.length is None:
                # From here on offsets and sequence numbers are apart by another distance.
                starts.pop(key, None)
        elif isinstance(event, StreamConflict):
            assert event.length > 0
            assert event.offset >= 0
    assert delivered <= sum(len(segment.payload) for segment in segments)


def _starts(event: StreamBytes, segment: TcpSegment) -> set[int]:
    """The sequence numbers that offset 0 can have, going by where the bytes are in their segment."""
    first = segment.seq + (1 if segment.flags & SYN else 0) - event.offset
    found = set()
    at = segment.payload.find(event.data)
    while at >= 0:
        found.add(first + at & 0xFFFFFFFF)
        at = segment.payload.find(event.data, at + 1)
    return found


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("run.py")))["fuzz"](__file__)
