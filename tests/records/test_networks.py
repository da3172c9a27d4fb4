"""The same addresses and ports in several VLANs: two tenants, or copies of one connection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from msmq_wire.reassembly.tcp_events import ACK, FIN, PSH, RST, SYN, TcpSegment
from msmq_wire.records import networks
from msmq_wire.records.decoder import decoded
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.networks import address_of
from msmq_wire.records.record import Item, Record
from tests.hex_files import hex_bytes

PACKETS = Path(__file__).resolve().parents[2] / "fixtures" / "packets"
CLIENT, SERVER = bytes((192, 0, 2, 21)), bytes((192, 0, 2, 10))
PLAIN, RED, BLUE = b"", b"v\0\7", b"v\0\x08"
MILLISECOND = 1_000_000


def bytes_of(name: str) -> bytes:
    return hex_bytes(PACKETS / f"{name}.hex")


PARAMETERS = bytes_of("connection_parameters/frame_5_request")
"""32 bytes."""
MESSAGE = bytes_of("user_message/direct_destination")
OTHER = MESSAGE[:-4] + bytes(4)
SIZE = len(MESSAGE)


class Wire:
    """Feeds a finder; frames are a millisecond apart. Both ends number their first byte ``isn + 1``."""

    def __init__(self) -> None:
        self.finder = PacketFinder()
        self.records: list[Record] = []
        self.frame = 0
        self.time = 0

    def send(
        self,
        path: bytes,
        offset: int,
        payload: bytes = b"",
        *,
        flags: int = PSH | ACK,
        back: bool = False,
        isn: int = 1000,
        ack: int = 0,
        port: int = 1801,
        after: int = MILLISECOND,
    ) -> None:
        self.frame += 1
        self.time += after
        ends = (CLIENT, 50_000), (SERVER, port)
        (src, sport), (dst, dport) = reversed(ends) if back else ends
        seq, ack = isn + 1 + offset, isn + 1 + ack if flags & ACK else 0
        self.keep(
            self.finder.segment(
                TcpSegment(src, sport, dst, dport, seq, ack, flags, payload, self.frame, self.time, path=path)
            )
        )

    def keep(self, items: Iterable[Item]) -> None:
        self.records += decoded(items, streams=True)

    def open(self, path: bytes, *, isn: int = 1000, port: int = 1801) -> None:
        self.send(path, -1, flags=SYN, isn=isn, port=port)
        self.send(path, -1, flags=SYN | ACK, back=True, isn=isn, port=port)
        self.send(path, 0, flags=ACK, isn=isn, port=port)

    def packets(self) -> list[tuple[int | None, str, tuple[int, ...]]]:
        """Stream, type and frames of what is no step of a connection."""
        return [(one.stream, one.type, one.frames) for one in self.records if one.type != "tcp_stream"]

    def events(self) -> list[tuple[int | None, str | None]]:
        return [(one.stream, one.event) for one in self.records if one.type == "tcp_stream"]


OPENED = ["syn", "syn_ack", "established"]


def test_two_tenants_have_two_connections_of_the_same_name() -> None:
    wire = Wire()
    wire.open(RED)
    wire.open(BLUE, isn=5_000_000)
    wire.send(RED, 0, MESSAGE)
    wire.send(BLUE, 0, MESSAGE, isn=5_000_000)
    assert wire.packets() == [(0, "user_message", (7,)), (1, "user_message", (8,))]
    assert wire.events() == [(stream, event) for stream in (0, 1) for event in OPENED]
    names = {(one.src, one.dst) for one in wire.records if one.type == "user_message"}
    assert names == {("192.0.2.21:50000", "192.0.2.10:1801")}
    assert wire.finder.understood == 8


def test_two_tenants_with_the_same_sequence_numbers_are_told_apart_by_their_bytes() -> None:
    wire = Wire()
    wire.open(RED)
    wire.open(PLAIN)
    wire.send(RED, 0, MESSAGE)
    assert wire.events() == [(0, event) for event in OPENED]
    wire.send(PLAIN, 0, OTHER)
    wire.send(RED, SIZE, MESSAGE)
    wire.send(PLAIN, SIZE, OTHER)
    assert wire.packets() == [(n, "user_message", (frame,)) for n, frame in ((0, 7), (1, 8), (0, 9), (1, 10))]
    assert wire.events() == [(stream, event) for stream in (0, 1) for event in OPENED]
    assert wire.finder.notices == {}


def test_a_tenant_that_sends_before_the_other_does_is_held_until_bytes_can_be_compared() -> None:
    wire = Wire()
    wire.open(RED)
    wire.open(BLUE)
    wire.send(BLUE, 0, OTHER)
    assert wire.packets() == []
    wire.send(RED, 0, MESSAGE)
    wire.send(BLUE, SIZE, OTHER)
    assert wire.packets() == [
        (0, "user_message", (8,)),
        (1, "user_message", (7,)),
        (1, "user_message", (9,)),
    ]


def test_short_packets_that_are_equal_prove_no_copy() -> None:
    wire = Wire()
    wire.open(RED)
    wire.open(BLUE)
    for path, message in ((RED, MESSAGE), (BLUE, OTHER)):
        wire.send(path, 0, PARAMETERS)
        wire.send(path, 32, message)
    assert [one[:2] for one in wire.packets()] == [
        (stream, kind) for stream in (0, 1) for kind in ("connection_parameters", "user_message")
    ]


@pytest.mark.parametrize("lost", [(), (2,), (5,), (6, 7)])
def test_copies_20_microseconds_later_are_one_connection(lost: Sequence[int]) -> None:
    wire = Wire()
    steps = [
        {"offset": -1, "flags": SYN},
        {"offset": -1, "flags": SYN | ACK, "back": True},
        {"offset": 0, "flags": ACK},
        {"offset": 0, "payload": MESSAGE},
        {"offset": 0, "flags": ACK, "back": True, "ack": SIZE},
        {"offset": SIZE, "payload": MESSAGE},
        {"offset": 2 * SIZE, "payload": PARAMETERS, "flags": PSH | ACK | FIN},
        {"offset": 0, "flags": FIN | ACK, "back": True, "ack": 2 * SIZE + 33},
        {"offset": 2 * SIZE + 33, "flags": ACK, "ack": 1},
    ]
    for number, step in enumerate(steps):
        wire.send(PLAIN, **step)  # type: ignore[arg-type]
        if number not in lost:
            wire.send(RED, **step, after=20_000)  # type: ignore[arg-type]
    wire.keep(wire.finder.finish())
    kinds = ["user_message", "user_message", "connection_parameters"]
    assert [one[:2] for one in wire.packets()] == [(0, kind) for kind in kinds]
    assert wire.events() == [(0, event) for event in (*OPENED, "fin", "fin", "closed")]
    assert wire.finder.notices == {}
    assert wire.finder.understood == 2 * len(steps) - len(lost)


def test_a_path_for_each_direction_is_one_connection() -> None:
    wire = Wire()
    wire.send(RED, -1, flags=SYN)
    wire.send(BLUE, -1, flags=SYN | ACK, back=True)
    wire.send(RED, 0, flags=ACK)
    wire.send(RED, 0, MESSAGE)
    wire.send(BLUE, 0, PARAMETERS, back=True, ack=SIZE)
    assert wire.packets() == [(0, "user_message", (4,)), (0, "connection_parameters", (5,))]
    assert wire.events() == [(0, event) for event in OPENED]


def test_a_connection_whose_frames_come_in_two_paths_by_turns_has_no_gap() -> None:
    wire = Wire()
    wire.open(PLAIN)
    for number in range(6):
        wire.send((PLAIN, RED)[number % 2], number * SIZE, MESSAGE)
    assert wire.packets() == [(0, "user_message", (4 + number,)) for number in range(6)]


@pytest.mark.parametrize(
    ("isn", "message", "streams"),
    [(1000, MESSAGE, [0, 0]), (1000, OTHER, [0, 0, 1]), (1 << 30, MESSAGE, [0, 0, 1])],
)
def test_a_path_that_appears_with_a_later_segment_is_known_by_its_numbers_and_bytes(
    isn: int, message: bytes, streams: list[int]
) -> None:
    wire = Wire()
    wire.open(RED)
    wire.send(RED, 0, MESSAGE)
    wire.send(RED, SIZE, MESSAGE)
    wire.send(BLUE, SIZE, message, isn=isn)
    wire.send(BLUE, 0, flags=ACK, back=True, isn=isn, ack=2 * SIZE)
    assert [one[0] for one in wire.packets()] == streams
    assert wire.finder.understood == 7


def test_a_tenant_whose_connection_is_refused_is_told_of() -> None:
    wire = Wire()
    wire.open(RED)
    wire.send(BLUE, -1, flags=SYN, isn=5_000_000)
    wire.send(BLUE, -5_000_001, flags=RST | ACK, back=True, isn=5_000_000)
    assert wire.events()[3:] == [(1, "syn"), (1, "rst"), (1, "closed")]


def test_a_syn_again_in_another_path_is_a_retransmission_when_it_comes_seconds_later() -> None:
    wire = Wire()
    wire.send(PLAIN, -1, flags=SYN)
    wire.send(RED, -1, flags=SYN, after=20_000)
    wire.send(PLAIN, -1, flags=SYN, after=3_000 * MILLISECOND)
    wire.send(RED, -1, flags=SYN, after=20_000)
    wire.keep(wire.finder.finish())
    assert wire.events() == [(0, "syn"), (0, "syn_retransmission")]


def test_the_tenants_of_another_port_are_told_apart_once_one_is_recognised() -> None:
    wire = Wire()
    wire.open(RED, port=4000)
    wire.open(BLUE, port=4000)
    wire.send(RED, 0, MESSAGE, port=4000)
    wire.send(BLUE, 0, OTHER, port=4000)
    assert wire.packets() == [(0, "user_message", (7,)), (1, "user_message", (8,))]
    assert wire.events() == [(stream, event) for stream in (0, 1) for event in OPENED]
    assert (wire.finder.understood, wire.finder.skipped) == (8, {})


def test_what_is_held_at_the_end_belongs_to_the_connection_it_does_not_contradict() -> None:
    wire = Wire()
    wire.open(RED)
    wire.open(BLUE)
    wire.send(BLUE, 0, MESSAGE)
    assert wire.packets() == []
    wire.keep(wire.finder.finish())
    assert wire.packets() == [(0, "user_message", (7,))]
    assert wire.finder.networks.held == 0


def test_no_more_than_eight_segments_of_a_path_are_held() -> None:
    wire = Wire()
    wire.open(RED)
    wire.open(BLUE)
    for number in range(4):
        wire.send(BLUE, number * SIZE, MESSAGE)
    assert wire.packets() == []
    wire.send(BLUE, 4 * SIZE, MESSAGE)
    assert wire.packets() == [(0, "user_message", (7 + number,)) for number in range(5)]
    assert wire.finder.networks.held == 0


def test_what_all_paths_hold_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "_MOST_HELD", 3 * 256 + SIZE)
    wire = Wire()
    wire.open(RED)
    wire.open(BLUE)
    wire.send(BLUE, 0, MESSAGE)
    assert wire.packets() == [(0, "user_message", (7,))]
    assert wire.finder.networks.held == 0


def test_the_path_seen_first_is_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "_MOST_PATHS", 2)
    wire = Wire()
    for number, path in enumerate((PLAIN, RED, BLUE)):
        wire.open(path, isn=number << 28)
    wire.send(RED, 0, MESSAGE, isn=1 << 28)
    wire.send(BLUE, 0, MESSAGE, isn=2 << 28)
    assert [one[0] for one in wire.packets()] == [1, 2]
    wire.send(PLAIN, 0, MESSAGE, isn=0)
    assert wire.events()[-1] == (3, "start_midstream")


def test_ends_longest_unused_are_forgotten_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "_MOST_ENDS", 1)
    wire = Wire()
    for port in (1801, 4000):
        for path, isn in ((PLAIN, 1000), (RED, 1 << 28)):
            wire.open(path, isn=isn, port=port)
            wire.send(path, 0, MESSAGE, isn=isn, port=port)
    assert not wire.finder.networks.has_several((CLIENT, 50_000, SERVER, 1801))
    assert wire.finder.networks.has_several((SERVER, 4000, CLIENT, 50_000))
    for path, isn in ((PLAIN, 1000), (RED, 1 << 28)):
        wire.send(path, SIZE, MESSAGE, isn=isn)
    assert [one[0] for one in wire.packets()] == [0, 1, 2, 3, 0, 1]


def test_payload_that_is_in_no_connection_is_told_at_the_end() -> None:
    wire = Wire()
    wire.open(PLAIN)
    wire.send(PLAIN, 0, MESSAGE)
    wire.send(PLAIN, 1 << 31, MESSAGE)
    wire.keep(wire.finder.finish())
    assert wire.finder.notices == {"payload bytes in no connection: outside the window": SIZE}


@pytest.mark.parametrize("address", [bytes(4), bytes(16)])
def test_an_address_is_the_same_without_the_number_of_a_network(address: bytes) -> None:
    assert address_of(address) == address_of(address + b"\0\1") == address
