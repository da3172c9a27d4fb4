"""Filters by time, address and port choose the frames that a plain reading of each frame chooses."""

from __future__ import annotations

import ipaddress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.index import read_chunks
from msmq_wire.capture.link import dissect
from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.capture.network import IcmpUnreachable, UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import Source, read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.spark.frame_filter import FrameFilter
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.sources import PacketDataReader
from tests.effort import examples, in_batches, remembered

pytestmark = pytest.mark.needs("pyspark")

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
CAPTURES = sorted(FOLDER.glob("*.pcap*"))
HOSTS = ["192.0.2.10", "192.0.2.0/24", "192.0.2.16/28", "2001:db8::/32", "2001:db8::1", "0.0.0.0/0", "::/0"]
PORTS = [1801, 3527, 80, 135, 49731, 2103]


@remembered
def frames_of(path: Path) -> tuple[Frame, ...]:
    found: list[Frame] = []
    try:
        for frame in read_frames(path):
            found.append(frame)
    except CaptureError:
        pass
    return tuple(found)


@cache
def small_captures() -> list[Path]:
    return [path for path in CAPTURES if 0 < len(frames_of(path)) < 200]


def wanted(frame: Frame, options: ReadOptions) -> bool:
    """The rule, for one frame."""
    time = frame.time or 0
    if options.since is not None and time < options.since:
        return False
    if options.until is not None and time >= options.until:
        return False
    if not options.ports and not options.hosts:
        return True
    (found,) = dissect(frame)
    if isinstance(found, TcpSegment | UdpDatagram):
        ports, hosts = {found.sport, found.dport}, [found.src, found.dst]
    elif isinstance(found, IcmpUnreachable):
        ports = {found.original_sport, found.original_dport}
        hosts = [found.original_src, found.original_dst]
    elif isinstance(found, IpFragment):
        ports, hosts = set(options.ports), [found.src, found.dst]
    else:
        return False
    networks = [ipaddress.ip_network(host) for host in options.hosts]
    near = [network for network in networks if any(ipaddress.ip_address(host) in network for host in hosts)]
    return (not options.ports or bool(ports & options.ports)) and (not networks or bool(near))


def chosen(path: Path, options: ReadOptions, chunk_bytes: int = 1 << 23) -> list[int]:
    """The numbers of the frames that the filter lets through."""
    select = FrameFilter(options)
    found: list[int] = []
    try:
        with Source(path) as source:
            for chunk in read_chunks(source.window(), chunk_bytes):
                mask = select(chunk)
                assert len(mask) == len(chunk)
                assert mask.dtype.kind == "b"
                found += chunk.numbers[mask].tolist()
    except CaptureError:
        pass
    return found


def of(**values: str) -> ReadOptions:
    return ReadOptions.of({"path": "x", **values})


@pytest.mark.slow
@in_batches(CAPTURES)
def test_the_filter_chooses_what_a_plain_reading_chooses(path: Path) -> None:
    frames = frames_of(path)
    times = sorted(frame.time or 0 for frame in frames) or [0]
    middle = times[len(times) // 2]
    kinds = [
        of(ports="1801"),
        of(ports="3527,80"),
        of(ports="49731"),
        *(of(hosts=host) for host in HOSTS),
        of(hosts="192.0.2.10", ports="1801"),
        of(hosts="198.51.100.0/24,2001:db8::/64", ports="80,1801"),
        ReadOptions(since=middle),
        ReadOptions(until=middle),
        ReadOptions(since=times[0] + 1, until=times[-1], ports=frozenset([1801])),
    ]
    for options in kinds:
        expected = [frame.number for frame in frames if wanted(frame, options)]
        assert chosen(path, options) == expected
        assert chosen(path, options, 400) == expected


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(data=st.data())
def test_any_filter_chooses_what_a_plain_reading_chooses(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(small_captures()))
    frames = frames_of(path)
    edges = (
        st.none()
        | st.sampled_from([frame.time or 0 for frame in frames])
        | st.integers(-(1 << 63), (1 << 63) - 1)
    )
    options = ReadOptions(
        ports=frozenset(data.draw(st.lists(st.sampled_from(PORTS), max_size=2))),
        hosts=tuple(data.draw(st.lists(st.sampled_from(HOSTS), max_size=2))),
        since=data.draw(edges),
        until=data.draw(edges),
    )
    assert chosen(path, options, 1000) == [frame.number for frame in frames if wanted(frame, options)]


def test_a_time_that_no_frame_can_have_is_no_error() -> None:
    path = FOLDER / "demo.pcap"
    everything = [frame.number for frame in frames_of(path)]
    assert chosen(path, of(since="0001-01-01", until="9999-12-31T23:59:59Z")) == everything
    assert chosen(path, of(since="9999-12-31")) == []
    assert chosen(path, of(until="0001-01-01")) == []


def test_until_with_nanoseconds_is_exact(tmp_path: Path) -> None:
    start = 1_700_000_000_000_000_000
    path = tmp_path / "times.pcap"
    write_pcap(path, [Frame(0, start + number, 1, b"x", 1, 0) for number in range(5)])
    assert chosen(path, of(since="2023-11-14T22:13:20.000000002Z")) == [3, 4, 5]
    assert chosen(path, of(until="2023-11-14T22:13:20.000000002Z")) == [1, 2]


def test_packets_have_only_rows_of_frames_that_are_wanted_with_their_own_clock() -> None:
    path = FOLDER / "clean_business_day.pcap"

    def rows(**options: Any) -> list[dict[str, Any]]:
        reader = PacketDataReader(
            ReadOptions(paths=(str(path),), chunk_bytes=3000, split_bytes=5000, **options)
        )
        return [row for one in reader.partitions() for batch in reader.read(one) for row in batch.to_pylist()]

    options: dict[str, Any] = {"hosts": ("192.0.2.0/25",), "ports": frozenset([1801])}
    kept = {frame.number for frame in frames_of(path) if wanted(frame, ReadOptions(**options))}
    assert rows(**options) == [row for row in rows() if row["frame_no"] in kept]
    assert rows(hosts=("198.18.0.1",)) == []


def test_records_come_from_the_frames_that_are_wanted_and_keep_their_numbers() -> None:
    path = FOLDER / "clean_parallel_cut_off.pcap"
    (capture,) = captures_of(list_files([str(path)]).files, "file")
    whole = CaptureReading(capture, chunk_bytes=1 << 23)
    records = [one for batch in whole for one in batch.records()]
    pairs = sorted({one.src for one in records if one.src and one.type == "user_message"})
    assert len(pairs) > 1
    port = int(pairs[0].rpartition(":")[2])
    options = ReadOptions(ports=frozenset([port]))
    reading = CaptureReading(capture, chunk_bytes=1 << 23, wanted=FrameFilter(options))
    found = [one for batch in reading for one in batch.records()]
    expected = [
        one for one in records if str(port) in {str(name).rpartition(":")[2] for name in (one.src, one.dst)}
    ]
    assert [(one.type, one.src, one.frames, one.packet) for one in found] == [
        (one.type, one.src, one.frames, one.packet) for one in expected
    ]
    assert found
    assert reading.frames == whole.frames


def test_the_unspecified_address_of_ipv6_is_no_ipv4_address(tmp_path: Path) -> None:
    # IPv6 from :: to :: with a TCP header of port 1801.
    tcp = bytes.fromhex("c0000709000000010000000250102000" + "00000000")
    data = bytes(12) + b"\x86\xdd" + bytes.fromhex("6000000000140640") + bytes(32) + tcp
    path = tmp_path / "zero.pcap"
    write_pcap(path, [Frame(0, 1, 1, data, len(data), 0)])
    assert chosen(path, of(hosts="::/128", ports="1801")) == [1]
    assert chosen(path, of(hosts="0.0.0.0/0")) == []
