"""How a side is cut into segments changes no record, nor do bits of a PDU that are reserved."""

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
_SYN, _FIN, _PSH = 2, 1, 8
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


def told(path: Path, change: Callable[[TcpSegment], Iterator[TcpSegment]]) -> list[tuple[Any, ...]]:
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
    assert told(path, lambda one: cut(one, size)) == told(path, whole)


@pytest.mark.parametrize("bit", [0x08, 0x20, 0x40])
def test_reserved_flags_of_a_bind_hide_nothing(bit: int) -> None:
    path = _FIXTURES / "rpc_captures" / "rpc_qmcomm_qm2qm.pcap"

    def flagged(segment: TcpSegment) -> Iterator[TcpSegment]:
        data = bytearray(segment.payload)
        if data[:3] == b"\5\0\x0b":
            data[_PDU_FLAGS] |= bit
        yield msgspec.structs.replace(segment, payload=bytes(data))

    assert told(path, flagged) == told(path, whole)


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
    assert any(note in told for told in finder.notices) or not note
