"""Rows of packets say what the exact reader and `dissect` say of each frame, however a file is split."""

from __future__ import annotations

import gzip
import ipaddress
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import InputPartition

from msmq_wire.capture.index import read_chunks
from msmq_wire.capture.link import dissect
from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.capture.network import IcmpUnreachable, Skipped, UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import Source, read_frames
from msmq_wire.capture.splits import clocks
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.sources import PacketDataReader
from msmq_wire.spark.split_planning import place_splits
from msmq_wire.spark.task_rows import read_packets
from msmq_wire.tables.packet_columns import PACKET_SCHEMA, error_batch, packet_batch
from tests.effort import examples, in_batches, remembered

pytestmark = pytest.mark.needs("pyspark")

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
CAPTURES = sorted(FIXTURES.glob("**/*.pcap*"))
WHOLE = 1 << 50
START = 1_700_000_000_000_000_000

Row = dict[str, Any]

# Fields that a row has only for some frames.
ABSENT: Row = dict.fromkeys(
    ("protocol", "src", "sport", "dst", "dport", "seq", "ack", "flags", "cut", "payload_length", "payload")
) | {"skipped": None, "error": None}


def ip(address: bytes) -> str:
    return str(ipaddress.ip_address(address))


def said_of(frame: Frame) -> Row:
    """What `dissect` says of a frame, as columns."""
    (found,) = dissect(frame)
    if isinstance(found, Skipped):
        return ABSENT | {"skipped": found.reason}
    row = ABSENT | {"src": ip(found.src), "dst": ip(found.dst)}
    if isinstance(found, IcmpUnreachable):
        return row | {"protocol": "icmp_unreachable"}
    row |= {"payload": found.payload, "payload_length": len(found.payload)}
    if isinstance(found, IpFragment):
        return row | {"protocol": "fragment"}
    row |= {"sport": found.sport, "dport": found.dport, "cut": found.cut}
    if isinstance(found, UdpDatagram):
        return row | {"protocol": "udp"}
    assert isinstance(found, TcpSegment)
    return row | {"protocol": "tcp", "seq": found.seq, "ack": found.ack, "flags": found.flags}


def expected_rows(path: Path) -> list[Row]:
    """The rows of a capture, frame by frame; its damage is the last one."""
    rows: list[Row] = []
    clock = 0
    place = {"capture": str(path), "path": str(path)}
    try:
        for frame in read_frames(path):
            clock = max(clock, frame.time or 0)
            where = {
                "frame_no": frame.number,
                "number": frame.number,
                "offset": frame.position,
                "time_ns": frame.time or None,
                "time": frame.time // 1000 if frame.time else None,
                "clock": clock,
                "link_type": frame.link_type,
                "captured": len(frame.data),
                "length": frame.length,
                "frame": frame.data,
            }
            rows.append(place | where | said_of(frame))
    except CaptureError as error:
        nothing = dict.fromkeys(PACKET_SCHEMA.names) | place
        nothing |= dict.fromkeys(("frame_no", "number", "clock", "link_type", "captured", "length"), 0)
        rows.append(nothing | {"offset": error.offset, "error": error.message})
    return rows


def as_rows(batches: Iterable[Any]) -> list[Row]:
    found: list[Row] = []
    for batch in batches:
        assert batch.schema.equals(PACKET_SCHEMA, check_metadata=True)
        batch.validate(full=True)
        times = batch.column("time").cast(pa.int64()).to_pylist()
        found += [{**row, "time": time} for row, time in zip(batch.to_pylist(), times, strict=True)]
    return found


def rows_of(path: Path, **options: Any) -> list[Row]:
    """The rows of a file as the tasks give them, one after the other."""
    reader = PacketDataReader(ReadOptions(paths=(str(path),), frame=True, **options))
    return as_rows(batch for one in reader.partitions() for batch in reader.read(one))


@remembered
def whole_rows(path: Path) -> list[Row]:
    """The rows of a file that one task reads."""
    return rows_of(path, split_bytes=WHOLE)


def without_conversation(rows: Iterable[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != "conversation"} for row in rows]


@in_batches(CAPTURES)
def test_rows_say_what_the_exact_reader_says(path: Path) -> None:
    rows = whole_rows(path)
    assert without_conversation(rows) == without_conversation(expected_rows(path))
    for row in rows:
        assert (row["conversation"] is None) == (row["src"] is None)


@pytest.mark.slow
@in_batches(CAPTURES)
def test_splits_of_any_size_give_the_rows_of_the_whole_file(path: Path) -> None:
    whole = whole_rows(path)
    assert rows_of(path, split_bytes=1 << 16) == whole
    assert rows_of(path, split_bytes=997, chunk_bytes=500) == whole


@pytest.mark.parametrize(
    "name", ["demo.pcap", "path_pcapng_two_sections.pcapng", "path_gzip.pcap", "path_cut_file.pcap"]
)
def test_a_split_for_every_frame_gives_the_rows_of_the_whole_file(name: str) -> None:
    path = FIXTURES / "captures" / name
    options = ReadOptions(paths=(str(path),), frame=True, split_bytes=1)
    splits = place_splits(captures_of(list_files(options.paths).files, "file"), options)
    whole = rows_of(path, split_bytes=WHOLE)
    frames = [one for one in splits if one.split is not None]
    assert len(frames) == (1 if "gzip" in name else sum(row["error"] is None for row in whole))
    assert as_rows(batch for one in splits for batch in read_packets(one, options)) == whole
    # Tasks may come in any order.
    shuffled = as_rows(batch for one in reversed(splits) for batch in read_packets(one, options))
    assert sorted(shuffled, key=lambda row: (row["error"] is not None, row["number"])) == whole


def test_a_split_reads_only_its_own_frames() -> None:
    path = FIXTURES / "captures" / "clean_business_day.pcap"
    options = ReadOptions(paths=(str(path),), split_bytes=2000)
    splits = place_splits(captures_of(list_files(options.paths).files, "file"), options)
    assert len(splits) > 5
    for one in splits:
        assert one.split is not None
        rows = as_rows(read_packets(one, options))
        assert [row["frame_no"] for row in rows] == list(
            range(one.split.first_frame, one.split.first_frame + one.split.frames)
        )


def test_without_payload_and_frame_only_lengths_are_told() -> None:
    path = FIXTURES / "captures" / "demo.pcap"
    reader = PacketDataReader(ReadOptions(paths=(str(path),), payload=False))
    rows = as_rows(batch for one in reader.partitions() for batch in reader.read(one))
    bare = [row | {"payload": None, "frame": None} for row in rows_of(path)]
    assert rows == bare
    assert any(row["payload_length"] for row in rows)


# Captures that are hard to split.


def ethernet(payload: bytes, number: int, src: str = "192.0.2.1", dst: str = "192.0.2.2") -> bytes:
    """A TCP segment over IPv4 and Ethernet; checksums are zero."""
    tcp = struct.pack(">HHIIBBHHH", 49152, 1801, 1000 + number, 7, 0x50, 0x18, 8192, 0, 0)
    addresses = ipaddress.ip_address(src).packed + ipaddress.ip_address(dst).packed
    total = 20 + len(tcp) + len(payload)
    header = struct.pack(">BBHHHBBH", 0x45, 0, total, number & 0xFFFF, 0x4000, 64, 6, 0) + addresses
    return bytes(12) + b"\x08\x00" + header + tcp + payload


def pcap(frames: Sequence[bytes], order: str = "<") -> bytes:
    parts = [struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1)]
    for number, frame in enumerate(frames):
        parts += (struct.pack(order + "IIII", 1_700_000_000 + number, 0, len(frame), len(frame)), frame)
    return b"".join(parts)


@pytest.mark.slow
def test_a_capture_inside_a_capture_is_not_taken_for_frames(tmp_path: Path) -> None:
    inner = pcap([ethernet(bytes([number % 251]) * 200, number) for number in range(400)])
    pieces = [inner[at : at + 1400] for at in range(0, len(inner), 1400)]
    path = tmp_path / "outer.pcap"
    path.write_bytes(pcap([ethernet(piece, number) for number, piece in enumerate(pieces)]))
    whole = rows_of(path, split_bytes=WHOLE)
    assert [row["payload"] for row in whole] == pieces
    for split_bytes in (1, 250, 1000, 1460, 1 << 16):
        assert rows_of(path, split_bytes=split_bytes) == whole


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) & 3)
    size = len(body) + 12
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def section(order: str, resolution: int, frames: Sequence[tuple[int, bytes]]) -> bytes:
    """A section of pcapng with one Ethernet interface."""
    parts = [block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    options = struct.pack(order + "HHB3xHH", 9, 1, resolution, 0, 0)
    parts.append(block(order, 1, struct.pack(order + "HHI", 1, 0, 0) + options))
    for ticks, data in frames:
        fields = struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        parts.append(block(order, 6, fields + data))
    return b"".join(parts)


@pytest.mark.slow
def test_sections_of_both_byte_orders_are_read_apart(tmp_path: Path) -> None:
    path = tmp_path / "sections.pcapng"
    frames = [ethernet(bytes([number]) * number, number) for number in range(40)]
    micro = [(1_700_000_000_000_000 + number, frame) for number, frame in enumerate(frames[:20])]
    nano = [(1_700_000_001_000_000_000 + number, frame) for number, frame in enumerate(frames[20:])]
    path.write_bytes(section("<", 6, micro) + section(">", 9, nano))
    times = [START + number * 1000 for number in range(20)]
    times += [START + 1_000_000_000 + number for number in range(20)]
    for split_bytes in (1, 300, 1 << 16, WHOLE):
        rows = rows_of(path, split_bytes=split_bytes)
        assert [row["time_ns"] for row in rows] == times
        assert [row["frame"] for row in rows] == frames
        assert [row["seq"] for row in rows] == [1000 + number for number in range(40)]
        assert [row["frame_no"] for row in rows] == list(range(1, 41))


@pytest.mark.parametrize("name", ["demo.pcap", "path_pcapng_two_sections.pcapng", "path_cut_file.pcap"])
def test_compressed_captures_have_the_rows_of_plain_ones(name: str, tmp_path: Path) -> None:
    plain = FIXTURES / "captures" / name
    data = plain.read_bytes()
    for suffix, packed in (("gz", gzip.compress(data)), ("zst", zstd.compress(data))):
        path = tmp_path / f"{name}.{suffix}"
        path.write_bytes(packed)
        named = {"capture": str(path), "path": str(path)}
        for split_bytes in (1, WHOLE):
            assert rows_of(path, split_bytes=split_bytes) == [row | named for row in rows_of(plain)]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))
@given(
    times=st.lists(st.integers(0, 50), min_size=1, max_size=30),
    split_bytes=st.integers(1, 400),
    chunk_bytes=st.integers(1, 400),
)
def test_the_clock_never_goes_back(
    times: list[int], split_bytes: int, chunk_bytes: int, tmp_path: Path
) -> None:
    path = tmp_path / "times.pcap"
    write_pcap(path, [Frame(0, START + time, 1, b"frame", 5, 0) for time in times])
    rows = rows_of(path, split_bytes=split_bytes, chunk_bytes=chunk_bytes)
    assert [row["clock"] for row in rows] == [START + max(times[: end + 1]) for end in range(len(times))]
    assert [row["time_ns"] for row in rows] == [START + time for time in times]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(
    frames=st.lists(
        st.tuples(st.sampled_from([0, 1, 12, 101, 113, 228, 229, 276]), st.binary(max_size=80)), max_size=8
    )
)
def test_any_bytes_of_a_frame_give_what_dissect_says(frames: list[tuple[int, bytes]], tmp_path: Path) -> None:
    path = tmp_path / "any.pcap"
    write_pcap(path, [Frame(0, START, link, data, len(data), 0) for link, data in frames])
    assert without_conversation(rows_of(path)) == without_conversation(expected_rows(path))


# Conversations.


def ipv6(src: str, dst: str, payload: bytes = b"") -> bytes:
    tcp = struct.pack(">HHIIBBHHH", 49152, 1801, 5, 6, 0x50, 0x18, 8192, 0, 0) + payload
    addresses = ipaddress.ip_address(src).packed + ipaddress.ip_address(dst).packed
    return bytes(12) + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + addresses + tcp


def fragment(src: str, dst: str, offset: int, payload: bytes, more: bool) -> bytes:
    addresses = ipaddress.ip_address(src).packed + ipaddress.ip_address(dst).packed
    word = offset >> 3 | more << 13
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 9, word, 64, 6, 0) + addresses
    return bytes(12) + b"\x08\x00" + header + payload


def unreachable(src: str, dst: str, about: bytes) -> bytes:
    """An ICMP message of ``src`` to ``dst`` about an Ethernet frame."""
    icmp = struct.pack(">BBHI", 3, 3, 0, 0) + about[14 : 14 + 28]
    addresses = ipaddress.ip_address(src).packed + ipaddress.ip_address(dst).packed
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(icmp), 9, 0, 64, 1, 0) + addresses
    return bytes(12) + b"\x08\x00" + header + icmp


def conversations(frames: Sequence[bytes], folder: Path) -> list[Any]:
    path = folder / "conversations.pcap"
    write_pcap(path, [Frame(0, START, 1, data, len(data), 0) for data in frames])
    rows = rows_of(path)
    assert without_conversation(rows) == without_conversation(expected_rows(path))
    return [row["conversation"] for row in rows]


def test_what_two_hosts_say_to_each_other_is_one_conversation(tmp_path: Path) -> None:
    there, back = ethernet(b"x" * 30, 1), ethernet(b"y", 2, "192.0.2.2", "192.0.2.1")
    frames = [
        there,
        back,
        fragment("192.0.2.1", "192.0.2.2", 0, there[34:58], True),
        fragment("192.0.2.2", "192.0.2.1", 24, bytes(8), False),
        unreachable("192.0.2.2", "192.0.2.1", there),
        # A router tells it, which is no part of the conversation.
        unreachable("203.0.113.9", "192.0.2.2", back),
    ]
    assert len(set(conversations(frames, tmp_path))) == 1


def test_other_hosts_have_other_conversations(tmp_path: Path) -> None:
    pairs = [("192.0.2.1", f"192.0.2.{number}") for number in range(2, 200)]
    frames = [ethernet(b"", 0, *pair) for pair in pairs]
    frames += [ipv6("2001:db8::1", f"2001:db8::{number:x}") for number in range(2, 200)]
    frames += [ipv6("::", f"::{number:x}") for number in range(2, 50)]
    frames.append(ethernet(b"", 0, "192.0.2.1", "192.0.2.1"))
    numbers = conversations(frames, tmp_path)
    assert None not in numbers
    assert len(set(numbers)) == len(frames)


def test_ipv6_hosts_speak_in_both_directions(tmp_path: Path) -> None:
    frames = [ipv6("2001:db8::1", "::"), ipv6("::", "2001:db8::1", b"back")]
    one, other = conversations(frames, tmp_path)
    assert one == other


def test_the_unspecified_address_of_ipv6_is_no_ipv4_address(tmp_path: Path) -> None:
    path = tmp_path / "zero.pcap"
    frames = [ipv6("::", "::"), ethernet(b"", 0, "0.0.0.0", "0.0.0.0")]
    write_pcap(path, [Frame(0, START, 1, data, len(data), 0) for data in frames])
    assert [(row["src"], row["dst"]) for row in rows_of(path)] == [("::", "::"), ("0.0.0.0", "0.0.0.0")]


def test_the_number_of_a_conversation_is_the_same_everywhere(tmp_path: Path) -> None:
    # It decides where rows of a shuffle go, so it must not change with the process, the file or its place.
    one, *_ = conversations([ethernet(b"", 0)], tmp_path)
    *_, last = conversations(
        [*(ethernet(b"", 0, "198.51.100.7") for _ in range(99)), ethernet(b"", 0)], tmp_path
    )
    assert one == last


# What stands beside frames.


def test_numbers_go_on_where_those_of_the_file_before_end() -> None:
    path = FIXTURES / "captures" / "demo.pcap"
    with Source(path) as source:
        (chunk,) = read_chunks(source.window(), 1 << 23)
        arguments: Any = {"capture": "folder", "path": "folder/second.pcap", "payload": True, "frame": False}
        (batch,) = [packet_batch(chunk, clocks(chunk, 0), base=1000, **arguments)]
    rows = batch.to_pylist()
    assert [row["number"] - row["frame_no"] for row in rows] == [1000] * len(chunk)
    assert [row["frame_no"] for row in rows] == np.arange(1, len(chunk) + 1).tolist()
    assert {row["capture"] for row in rows} == {"folder"}


def test_the_row_of_damage_is_no_frame() -> None:
    (row,) = error_batch("folder", "folder/file.pcap", "the file is cut", 77).to_pylist()
    assert (row["path"], row["frame_no"], row["offset"], row["error"]) == (
        "folder/file.pcap",
        0,
        77,
        "the file is cut",
    )


def test_a_file_that_changed_after_it_was_planned_gives_an_error_row(tmp_path: Path) -> None:
    path = tmp_path / "changing.pcap"
    path.write_bytes((FIXTURES / "captures" / "demo.pcap").read_bytes())
    reader = PacketDataReader(ReadOptions(paths=(str(path),)))
    (partition,) = reader.partitions()
    path.unlink()
    (row,) = as_rows(reader.read(partition))
    assert (row["path"], row["error"]) == (str(path), f"cannot open {path}: No such file or directory")
    failing = PacketDataReader(ReadOptions(paths=(str(path),), on_error="fail"))
    with pytest.raises(CaptureError, match=path.name):
        list(failing.read(partition))


def test_a_task_without_splits_gives_nothing() -> None:
    assert list(PacketDataReader(ReadOptions(paths=("x",))).read(InputPartition(()))) == []


def test_every_column_says_what_it_means() -> None:
    assert all(one.metadata[b"doc"] for one in PACKET_SCHEMA)
