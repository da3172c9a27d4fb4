"""Samples of captures of all kinds: what is chosen is the same however a file holds it, and bounded."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from msmq_wire.capture.opened_file import open_local
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.vantage import sample_reading
from msmq_wire.capture.vantage.points import SharedTraffic
from msmq_wire.capture.vantage.sample_reading import read_samples
from msmq_wire.capture.vantage.segment_sample import SegmentSample
from msmq_wire.capture.vantage.shared_traffic import find_shared
from msmq_wire.capture.writer import write_pcap
from msmq_wire.units import SECOND
from tests.capture.vantage.recorded_places import ACK, SERVER, Network, Place, Segment, ten_connections

_THERE = Place(distance=400_000, behind=5 * SECOND)
_CLIENT = (bytes((10, 0, 0, 1)), 50_000)


def _write(path: Path, frames: list[Frame]) -> tuple[str, ...]:
    write_pcap(str(path), iter(frames))
    return (str(path),)


def _in_vxlan(frame: Frame) -> Frame:
    data = struct.pack(">II", 8 << 24, 77 << 8) + frame.data
    udp = struct.pack(">HHHH", 5, 4789, 8 + len(data), 0) + data
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 7, 0, 64, 17, 0, bytes(4), bytes(4)) + udp
    return replace(frame, data=bytes(12) + b"\x08\0" + ip, length=14 + len(ip))


def _raw(frame: Frame) -> Frame:
    return replace(frame, data=frame.data[14:], length=frame.length - 14, link_type=101)


def _tapped_twice(frames: list[Frame]) -> list[Frame]:
    return [copy for one in frames for copy in (one, replace(one, time=(one.time or 0) + 3000))]


# However the second place holds the segments, its clock is 5 s behind, and all are found.
@pytest.mark.parametrize(
    "changed",
    [
        lambda frames: [_in_vxlan(one) for one in frames],
        lambda frames: [_raw(one) for one in frames],
        _tapped_twice,
    ],
    ids=["in VXLAN", "raw IP", "each frame twice"],
)
def test_segments_are_found_in_any_encapsulation(
    tmp_path: Path, changed: Callable[[list[Frame]], list[Frame]]
) -> None:
    network = ten_connections()
    here = _write(tmp_path / "a.pcap", network.frames(Place()))
    there = _write(tmp_path / "b.pcap", changed(network.frames(_THERE)))
    (found,) = find_shared([here, there])
    assert isinstance(found, SharedTraffic)
    assert [(point.files, point.offset, point.uncertainty) for point in found.points] == [
        (here, 0, 0),
        (there, 5 * SECOND, 401_000),
    ]


def _block(kind: int, body: bytes) -> bytes:
    total = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + total + body + total


def _pcapng(frames: list[Frame]) -> bytes:
    """The frames by turns on two interfaces."""
    blocks = [_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    blocks += [_block(1, struct.pack("<HHI", 1, 0, 0))] * 2
    for number, one in enumerate(frames):
        ticks = (one.time or 0) // 1000
        head = struct.pack("<IIIII", number & 1, ticks >> 32, ticks & 0xFFFFFFFF, len(one.data), one.length)
        blocks.append(_block(6, head + one.data + bytes(-len(one.data) & 3)))
    return b"".join(blocks)


def test_a_file_with_several_interfaces_is_one_place(tmp_path: Path) -> None:
    network = ten_connections()
    here = _write(tmp_path / "a.pcap", network.frames(Place()))
    (tmp_path / "b.pcapng").write_bytes(_pcapng(network.frames(_THERE)))
    (found,) = find_shared([here, (str(tmp_path / "b.pcapng"),)])
    assert isinstance(found, SharedTraffic)
    assert [point.offset for point in found.points] == [0, 5 * SECOND]


@pytest.mark.parametrize("cut", [0, 5000])
def test_a_packed_file_is_a_place_also_where_its_end_is_cut_off(tmp_path: Path, cut: int) -> None:
    network = ten_connections()
    here = network.record(tmp_path / "a.pcap", Place())
    (plain,) = network.record(tmp_path / "b.pcap", _THERE)
    packed = gzip.compress(Path(plain).read_bytes())
    (tmp_path / "b.pcap.gz").write_bytes(packed[: len(packed) - cut])
    (found,) = find_shared([here, (str(tmp_path / "b.pcap.gz"),)])
    assert isinstance(found, SharedTraffic)
    assert [point.offset for point in found.points] == [0, 5 * SECOND]


def test_rings_are_places_and_what_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    network = ten_connections()
    here, there = network.frames(Place()), network.frames(_THERE)
    first = (*_write(tmp_path / "a1.pcap", here[:90]), *_write(tmp_path / "a2.pcap", here[90:]))
    second = (*_write(tmp_path / "b1.pcap", there[:50]), *_write(tmp_path / "b2.pcap", there[50:]))
    gone, folder, pipe = (str(tmp_path / "gone.pcap"),), (str(tmp_path),), ("-",)
    found = find_shared([first, gone, second, folder, pipe])
    assert isinstance(found[0], SharedTraffic)
    assert [point.files for point in found[0].points] == [first, second]
    assert found[1:] == [gone, folder, pipe]


def test_what_is_looked_at_together_is_what_is_looked_at_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {}
    for number in range(6):
        network = Network(number)
        network.talk(_CLIENT, SERVER)
        files[number] = network.record(tmp_path / f"{number}.pcap", Place())

    def read() -> dict[int, list[tuple[int, ...]]]:
        names = ("place", "content", "time", "source", "target")
        return {
            number: sorted(zip(*(sample[name].tolist() for name in names), strict=True))
            for number, sample in read_samples(files, open_local, 1000).items()
        }

    together = read()
    monkeypatch.setattr(sample_reading, "_SMALL", 0)
    assert read() == together
    # A handshake, and ten times a message, an answer and its acknowledgment; a message has at most one place.
    assert all(33 <= len(rows) <= 43 for rows in together.values())


def _many(connections: int, each: int) -> list[Frame]:
    network = Network(7)
    for number in range(connections):
        client = (bytes((10, 1, number >> 8, number & 255)), 50_000)
        network.talk(client, SERVER, at=number / 1000, sizes=(100,) * each, handshake=False)
    return network.frames(Place())


@pytest.mark.parametrize(("connections", "each"), [(400, 1), (400, 5), (2, 1000)])
def test_a_sample_is_bounded_and_has_all_connections(tmp_path: Path, connections: int, each: int) -> None:
    frames = _many(connections, each)
    files = {0: _write(tmp_path / "a.pcap", frames)}
    sample = read_samples(files, open_local, 500)[0]
    assert len(sample) <= 500
    assert len(np.unique(sample.connection())) == connections


def test_two_captures_keep_the_same_segments(tmp_path: Path) -> None:
    frames = _many(100, 20)
    # The second one has lost the first tenth.
    files = {
        0: _write(tmp_path / "a.pcap", frames),
        1: _write(tmp_path / "b.pcap", frames[len(frames) // 10 :]),
    }
    one, two = (set(sample.key().tolist()) for sample in read_samples(files, open_local, 1000).values())
    assert len(one & two) >= 0.8 * min(len(one), len(two))


def test_equal_segments_are_one_row(tmp_path: Path) -> None:
    network = Network()
    network.segments = [
        Segment(number * 1000, _CLIENT, SERVER, 1, 1, ACK, bytes(60), True) for number in range(5000)
    ]
    sample = read_samples({0: network.record(tmp_path / "a.pcap", Place())}, open_local, 500)[0]
    assert len(sample) == 1
    assert int(sample["last"][0] - sample["time"][0]) == 4999 * 1000


@pytest.mark.parametrize(
    ("tick", "every", "expected"),
    [(15_625_000, 0.0031, 15_625_000), (1_000_000, 0.00031, 1_000_000), (1000, 0.0031, 1000), (1, 0.0031, 1)],
)
def test_the_tick_of_a_clock_is_known(tmp_path: Path, tick: int, every: float, expected: int) -> None:
    network = Network()
    network.talk(_CLIENT, SERVER, sizes=(100,) * 300, every=every)
    sample = read_samples({0: network.record(tmp_path / "a.pcap", Place(tick=tick))}, open_local, 5000)[0]
    assert sample.tick == expected


def test_rows_know_their_ends(tmp_path: Path) -> None:
    network = Network()
    client = (b"\xfd" + bytes(14) + b"\1", 50_000)
    network.talk(client, (b"\xfd" + bytes(14) + b"\2", 1801))
    network.talk(_CLIENT, SERVER)
    sample: SegmentSample = read_samples({0: network.record(tmp_path / "a.pcap", Place())}, open_local, 500)[
        0
    ]
    assert {sample.ends(row) for row in range(len(sample))} == {
        (*client, b"\xfd" + bytes(14) + b"\2", 1801),
        (b"\xfd" + bytes(14) + b"\2", 1801, *client),
        (*_CLIENT, *SERVER),
        (*SERVER, *_CLIENT),
    }


def test_other_services_are_left_out(tmp_path: Path) -> None:
    network = Network()
    network.talk(_CLIENT, (SERVER[0], 445))
    assert read_samples({0: network.record(tmp_path / "a.pcap", Place())}, open_local, 500) == {}
