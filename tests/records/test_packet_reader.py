"""Bytes of connections in, packets and gaps out, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from msmq_wire.records import packet_reader
from msmq_wire.records.packet_reader import PacketReader
from msmq_wire.records.record import FoundPacket, Item, Record

# A BaseHeader: version, reserved, flags, signature, PacketSize 20, TimeToReachQueue; four bytes behind it.
_PACKET = bytes.fromhex("10000300 4c494f52 14000000 ffffffff 01020304")
_CLIENT, _SERVER = "192.0.2.1:49152", "192.0.2.2:1801"


class _Reading:
    """A reader, what it numbered, and the bytes that began no packet."""

    def __init__(self) -> None:
        self.count = 0
        self.unknown: list[tuple[int, bytes]] = []
        self.reader = PacketReader(
            record=self._record,
            packet=self._packet,
            names=lambda stream, direction: (_SERVER, _CLIENT) if direction else (_CLIENT, _SERVER),
            path=lambda stream: b"",
            frames=lambda frames: frames,
            unknown=lambda stream, data: self.unknown.append((stream, data)),
        )

    def _number(self) -> int:
        self.count += 1
        return self.count

    def _record(self, *, time: int | None, **values: Any) -> Record:
        return Record(id=self._number(), capture="", time=time, **values)

    def _packet(
        self,
        data: bytes,
        frames: tuple[int, ...],
        time: int,
        names: tuple[str, str],
        stream: int | None,
        offset: int,
        path: bytes,
    ) -> FoundPacket:
        return FoundPacket(self._number(), "", data, frames, time, *names, stream, offset, path)


def _reported(items: list[Item]) -> list[tuple[Any, ...]]:
    """Of a packet its bytes, frames, source and offset; of a gap its frames, missing bytes and reason."""
    return [
        (item.data, item.frames, item.src, item.offset)
        if isinstance(item, FoundPacket)
        else (item.type, item.frames, item.missing, item.reason)
        for item in items
    ]


def test_packets_are_cut_in_each_direction_by_itself() -> None:
    reader = _Reading().reader
    assert _reported(reader.feed(0, 0, _PACKET[:7], 1, 10)) == []
    assert _reported(reader.feed(0, 1, _PACKET, 2, 20)) == [(_PACKET, (2,), _SERVER, 0)]
    assert _reported(reader.feed(0, 0, _PACKET[7:] + _PACKET, 3, 30)) == [
        (_PACKET, (1, 3), _CLIENT, 0),
        (_PACKET, (3,), _CLIENT, 20),
    ]
    assert reader.finish() == []


def test_bytes_in_front_of_a_direction_move_its_offsets() -> None:
    reader = _Reading().reader
    reader.advance(0, 28)
    assert _reported(reader.feed(0, 0, _PACKET, 1, 10)) == [(_PACKET, (1,), _CLIENT, 28)]


def test_missing_bytes_cut_the_packet_that_is_open() -> None:
    reader = _Reading().reader
    reader.feed(0, 0, _PACKET[:18], 1, 10)
    cut, gap, whole = _reported([*reader.gap(0, 0, 2, "loss", 4, 40, 1), *reader.feed(0, 0, _PACKET, 4, 40)])
    assert cut == (_PACKET[:18], (1,), _CLIENT, 0)
    assert gap[2:] == (2, "loss")
    assert whole == (_PACKET, (4,), _CLIENT, 20)


@pytest.mark.parametrize("end", ["side", "connection", "capture"])
def test_the_end_gives_what_is_open_once(end: str) -> None:
    reader = _Reading().reader
    reader.feed(7, 1, _PACKET[:18], 1, 10)
    ends = {
        "side": lambda: reader.end_side(7, 1),
        "connection": lambda: reader.end(7),
        "capture": reader.finish,
    }
    assert _reported(ends[end]()) == [(_PACKET[:18], (1,), _SERVER, 0)]
    assert reader.end(7) == []


def test_bytes_that_begin_no_packet_are_handed_on() -> None:
    reading = _Reading()
    reading.reader.feed(3, 0, b"GET / HTTP/1.1\r\n\r\n", 1, 10)
    (gap,) = reading.reader.finish()
    assert (gap.length, gap.missing, gap.reason) == (18, 0, "no-signature")  # type: ignore[union-attr]  # a Record
    assert reading.unknown == [(3, b"GET / HTTP/1.1\r\n\r\n")]


def test_where_too_much_is_held_the_direction_silent_for_longest_gives_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packet_reader, "_MAX_HELD", 300)
    reader = _Reading().reader
    assert reader.has_room(0, 100, 1)
    assert not reader.has_room(200, 101, 0)
    found: list[Item] = []
    for stream in range(8):
        found += reader.feed(stream, 0, _PACKET[:18], stream + 1, 10)
    reasons = [one.reason for one in found if isinstance(one, Record)]
    assert reasons
    assert set(reasons) == {"pending-limit"}
    assert found[0].stream == 0
