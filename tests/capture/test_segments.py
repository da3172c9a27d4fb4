"""How a side is cut into segments changes no record, nor does a PROXY header, nor reserved bits of a PDU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import FoundPacket, Record
from tests.capture.test_pathologies import datagrams
from tests.effort import in_batches

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_FIN, _SYN, _PSH, _ACK = 1, 2, 8, 16
_CAPTURES = sorted(
    path
    for path in (*(_FIXTURES / "captures").glob("*.pcap"), *(_FIXTURES / "rpc_captures").glob("*.pcap"))
    # Whose frames are damaged on purpose gives other records when they are cut otherwise.
    if not path.name.startswith("path_") or path.name.startswith("path_srmp_message")
)
_PDU_FLAGS = 3


def segments(path: Path) -> list[TcpSegment]:
    return [one for one in datagrams(path) if isinstance(one, TcpSegment)]


def cut(segment: TcpSegment, size: int) -> Iterator[TcpSegment]:
    """A segment as several of at most so many bytes; what ends the connection comes with the last."""
    if not segment.payload or segment.cut:
        yield segment
        return
    data, last = segment.payload, (len(segment.payload) - 1) // size * size
    for at in range(0, len(data), size):
        # A single byte that nobody pushes is a probe.
        flags = segment.flags & (0xFF if at == last else ~_FIN) | _PSH
        yield msgspec.structs.replace(
            segment, payload=data[at : at + size], seq=(segment.seq + at) & 0xFFFFFFFF, flags=flags
        )


def reported(path: Path, change: Callable[[TcpSegment], Iterator[TcpSegment]]) -> list[tuple[Any, ...]]:
    """What is found: types, ends and bytes of records, in the order of the streams."""
    finder = PacketFinder()
    items = [item for one in segments(path) for part in change(one) for item in finder.segment(part)]
    items += finder.finish()
    records = [item.record() if isinstance(item, FoundPacket) else item for item in items]
    return sorted(map(_facts, records), key=repr)


def _facts(record: Record) -> tuple[Any, ...]:
    error = None if record.error is None else record.error.code
    kinds = tuple(anomaly.code for anomaly in record.anomalies)
    return record.type, record.src, record.dst, record.stream, record.offset, record.length, error, kinds


def whole(segment: TcpSegment) -> Iterator[TcpSegment]:
    yield segment


@pytest.mark.parametrize("size", [1, 7, 15, 16])
@in_batches(_CAPTURES)
def test_segments_of_any_size_give_the_same_records(path: Path, size: int) -> None:
    assert reported(path, lambda one: cut(one, size)) == reported(path, whole)


class Proxied:
    """Puts a PROXY header in front of what the client of each connection says whose SYN was captured."""

    def __init__(self, header: bytes, size: int = 1 << 16) -> None:
        self.header = header
        self.size = size
        self._starts: dict[tuple[bytes, int, bytes, int], int] = {}
        self._put: set[tuple[bytes, int, bytes, int]] = set()

    def __call__(self, segment: TcpSegment) -> Iterator[TcpSegment]:
        there = (segment.src, segment.sport, segment.dst, segment.dport)
        back = (*there[2:], *there[:2])
        if segment.flags & _SYN and not segment.flags & _ACK:
            self._starts[there] = segment.seq + 1
            self._put -= {there, back}
        if segment.payload and self._starts.get(there) == segment.seq:
            self._put.add(there)
            segment = msgspec.structs.replace(segment, payload=self.header + segment.payload)
        elif there in self._put:
            segment = msgspec.structs.replace(segment, seq=(segment.seq + len(self.header)) & 0xFFFFFFFF)
        elif back in self._put:
            segment = msgspec.structs.replace(segment, ack=(segment.ack + len(self.header)) & 0xFFFFFFFF)
        yield from cut(segment, self.size)


@pytest.mark.parametrize(
    "header",
    [
        b"PROXY TCP4 198.51.100.21 192.0.2.10 50017 1801\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc6\x33\x64\x15\xc0\0\2\n\xc3\x61\7\x09",
    ],
    ids=["v1", "v2"],
)
@in_batches(_CAPTURES)
def test_a_header_in_front_of_a_connection_changes_no_record(path: Path, header: bytes) -> None:
    once = reported(path, Proxied(header))
    assert _without_offsets(once) == _without_offsets(reported(path, whole))
    for size in (1, 7, 16):
        assert reported(path, Proxied(header, size)) == once


def _without_offsets(facts: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What is found beside the steps of connections, wherever it is."""
    return sorted(((*one[:4], *one[5:]) for one in facts if one[0] != "tcp_stream"), key=repr)


@pytest.mark.parametrize("bit", [0x08, 0x20, 0x40])
def test_reserved_flags_of_a_bind_hide_nothing(bit: int) -> None:
    path = _FIXTURES / "rpc_captures" / "rpc_qmcomm_qm2qm.pcap"

    def flagged(segment: TcpSegment) -> Iterator[TcpSegment]:
        data = bytearray(segment.payload)
        if data[:3] == b"\5\0\x0b":
            data[_PDU_FLAGS] |= bit
        yield msgspec.structs.replace(segment, payload=bytes(data))

    assert reported(path, flagged) == reported(path, whole)


@pytest.mark.parametrize(
    ("flags", "note"),
    [
        (0x03, ""),
        (0x17, ""),
        (0x00, "the bind is not marked as its first and last fragment: flags 0x00"),
        (0x02, "the bind is not marked as its first and last fragment: flags 0x02"),
        (0x4B, "the bind has flags that no bind has: 0x4b"),
        (0xA3, "the bind has flags that no bind has: 0xa3"),
    ],
)
def test_odd_flags_of_a_bind_are_told(flags: int, note: str) -> None:
    finder, notes = PacketFinder(), set()
    for one in segments(_FIXTURES / "rpc_captures" / "rpc_qmcomm_qm2qm.pcap"):
        data = bytearray(one.payload)
        if data[:3] == b"\5\0\x0b":
            data[_PDU_FLAGS] = flags
        for item in finder.segment(msgspec.structs.replace(one, payload=bytes(data))):
            if isinstance(item, Record) and item.type == "rpc_bind" and not item.packet.alter_context:
                notes.add(item.packet.note)
    assert notes == {note}
    assert any(note in reported for reported in finder.notices) or not note
