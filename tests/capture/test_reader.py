"""`read_capture` and `CaptureReader`: where records come from, how they are numbered, what is counted."""

from __future__ import annotations

import io
import os
import shutil
import struct
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire import CaptureError, CaptureReader, Record, read_capture
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap

CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
DEMO = CAPTURES / "demo.pcap"
DEMO_BYTES = DEMO.read_bytes()
RAW_IP = 101
DEMO_TYPES = [
    "ping",
    "ping",
    "establish_connection",
    "establish_connection",
    "connection_parameters",
    "connection_parameters",
    "user_message",
    "user_message",
    "order_ack",
    "user_message",
    "session_ack",
    "final_ack",
    "session_ack",
]


def types(records: Iterator[Record]) -> list[str]:
    return [record.type for record in records]


def segment(number: int, host: int, seq: int, payload: bytes, port: int = 1801) -> Frame:
    """A segment from 10.x.x.x as raw IP, without checksums, which nobody judges."""
    src, dst = struct.pack(">I", 0x0A000000 + host), bytes((192, 0, 2, 10))
    tcp = struct.pack(">HHIIHHHH", 50_000, port, seq, 1, 0x5018, 8212, 0, 0) + payload
    total = 20 + len(tcp)
    packet = struct.pack(">BBHIBBH4s4s", 0x45, 0, total, 0, 64, 6, 0, src, dst) + tcp
    return Frame(number, number, RAW_IP, packet, len(packet), 0)


def capture_of(*frames: Frame) -> io.BytesIO:
    file = io.BytesIO()
    write_pcap(file, frames)
    file.seek(0)
    return file


def with_payload(frame: Frame, payload: bytes) -> Frame:
    """The same segment with a payload: Ethernet padding makes room for it."""
    data = bytearray(frame.data[:54] + payload)
    data[16:18] = (40 + len(payload)).to_bytes(2, "big")
    return Frame(frame.number, frame.time, frame.link_type, bytes(data), len(data), 0)


def test_the_demo_gives_its_records_in_order_and_numbers_steps_that_are_not_shown() -> None:
    records = list(read_capture(DEMO))
    assert [record.type for record in records] == DEMO_TYPES
    # Two pings; the three steps of a handshake.
    assert [record.id for record in records][:4] == [1, 2, 6, 7]
    shown = list(read_capture(DEMO, streams=True))
    assert [record.id for record in shown] == list(range(1, len(shown) + 1))
    assert [record for record in shown if record.type != "tcp_stream"] == records
    assert {record.capture for record in records} == {str(DEMO)}
    assert {record.parent for record in records} == {None}
    assert [record.anomalies for record in records] == [()] * 13
    assert [record.error for record in records] == [None] * 13


def test_one_type_of_record_is_chosen_and_keeps_its_ids() -> None:
    whole = list(read_capture(DEMO))
    chosen = list(read_capture(DEMO, type="user_message"))
    assert chosen == [record for record in whole if record.type == "user_message"]
    assert len(chosen) == 3
    assert {record.event for record in read_capture(DEMO, type="tcp_stream")} >= {"syn", "fin"}


def test_a_type_that_no_record_has_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^no record is of type 'usermessage': did you mean 'user_message'\?$"
    ):
        next(read_capture(DEMO, type="usermessage"))


def test_a_type_that_looks_like_none_is_refused_with_all_there_are() -> None:
    with pytest.raises(
        ValueError, match=r"^no record is of type 'http': there are com_call, .*, user_message$"
    ):
        next(read_capture(DEMO, type="http"))


def test_a_reader_says_how_far_it_is() -> None:
    reader = CaptureReader(io.BytesIO(DEMO.read_bytes()))
    assert repr(reader) == "<CaptureReader the stream: 0 records so far>"
    records = iter(reader)
    next(records)
    assert repr(reader) == "<CaptureReader the stream: 1 record so far>"
    assert len(list(records)) == 12
    assert repr(reader) == "<CaptureReader the stream: 13 records, ended>"
    with CaptureReader(DEMO) as closed:
        next(iter(closed))
    assert repr(closed).endswith("demo.pcap: 1 record, ended>")


def test_first_id_lets_one_numbering_run_over_several_files() -> None:
    ids: list[int] = []
    captures: list[str] = []
    last = 0
    for name in ("demo.pcap", "published.pcap", "path_no_msmq.pcap", "path_ipv6.pcap"):
        with CaptureReader(CAPTURES / name, streams=True, first_id=last + 1) as reader:
            for record in reader:
                ids.append(record.id)
                captures.append(Path(record.capture).name)
            last = reader.last_id
    assert ids == list(range(1, last + 1))
    assert list(dict.fromkeys(captures)) == ["demo.pcap", "published.pcap", "path_ipv6.pcap"]


def test_the_summary_counts_frames_and_records() -> None:
    with CaptureReader(CAPTURES / "path_no_msmq.pcap") as reader:
        assert list(reader) == []
    assert reader.summary.frames == 10
    assert reader.summary.understood == 0
    assert reader.summary.skipped == {"UDP, not MSMQ": 2, "TCP, not MSMQ": 8}
    assert reader.summary.packets == {}

    with CaptureReader(DEMO) as reader:
        assert types(iter(reader)) == DEMO_TYPES
    assert (reader.summary.frames, reader.summary.understood) == (25, 25)
    assert reader.summary.skipped == {}
    assert reader.summary.packets == {
        "ping": 2,
        "establish_connection": 2,
        "connection_parameters": 2,
        "user_message": 3,
        "order_ack": 1,
        "final_ack": 1,
        "session_ack": 2,
    }


def test_what_may_be_msmq_and_cannot_be_read_is_counted_apart() -> None:
    with CaptureReader(CAPTURES / "path_tls_on_443.pcap") as reader:
        assert list(reader) == []
    assert reader.summary.notices == {"TLS on port 443: may carry SRMP, cannot be read": 1}


def test_fragments_are_counted_once_as_what_they_carry() -> None:
    with CaptureReader(CAPTURES / "path_ipv4_fragments_reversed.pcap") as reader:
        assert types(iter(reader)) == ["user_message", "user_message"]
    assert reader.summary.skipped == {}
    assert reader.summary.understood == reader.summary.frames


def test_fragments_without_the_others_are_counted() -> None:
    frames = list(read_frames(CAPTURES / "path_ipv4_fragments_in_order.pcap"))
    with CaptureReader(capture_of(*frames[:5])) as reader:
        assert list(reader) == []
    assert reader.summary.skipped == {"IP fragments, not put together": 2}


@pytest.mark.parametrize("name", ["path_cut_file.pcap", "path_damaged_record.pcap"])
def test_a_damaged_file_gives_all_before_the_damage_and_one_error(name: str) -> None:
    with CaptureReader(CAPTURES / name) as reader:
        *before, error = reader
    assert [record.type for record in before] == (
        ["user_message", "session_ack"] if "cut" in name else ["user_message", "user_message"]
    )
    assert error.type == "error"
    assert error.id == reader.last_id > before[-1].id
    assert error.reason
    assert error.offset > 24
    assert (error.frames, error.time, error.src, error.dst, error.stream) == ((), None, None, None, None)
    assert reader.summary.packets["error"] == 1


@pytest.mark.parametrize("size", [24 + 16, 24 + 15, 24 + 1])
def test_a_file_cut_in_its_first_record_is_damaged(size: int) -> None:
    assert types(read_capture(io.BytesIO(DEMO_BYTES[:size]))) == ["error"]


def test_a_message_that_the_damage_cuts_comes_before_the_error() -> None:
    # The second of three frames with the catalogue is cut, so the message ends after the first.
    frames = list(read_frames(DEMO))
    cut = read_capture(io.BytesIO(DEMO_BYTES[: frames[15].position + 100]))
    *_, message, error = cut
    assert (message.type, message.frames, message.length) == ("user_message", (15,), 1460)
    assert message.error is not None
    assert message.error.code == "missing-bytes"
    assert error.type == "error"
    assert error.offset == frames[15].position


@pytest.mark.parametrize("data", [b"", b"\x10\0\0\0LIOR", b"Date,Queue\n", b"PK\x03\x04", bytes(100)])
def test_what_is_no_capture_raises(data: bytes) -> None:
    with pytest.raises(CaptureError):
        list(read_capture(io.BytesIO(data)))


def test_a_capture_that_is_cut_in_its_first_header_is_an_error_record() -> None:
    (error,) = read_capture(io.BytesIO(b"\xd4\xc3\xb2\xa1\2\0"))
    assert (error.type, error.stream) == ("error", None)


def test_a_path_that_cannot_be_opened_raises_and_names_it(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="missing\\.pcap"):
        CaptureReader(tmp_path / "missing.pcap")
    with pytest.raises(CaptureError, match="cannot open"):
        list(read_capture(tmp_path))


def test_ports_are_followed_whatever_their_first_bytes_look_like() -> None:
    frames = [frame for frame in read_frames(CAPTURES / "path_other_port.pcap") if frame.number not in (1, 2)]
    # The ACK of the handshake becomes junk, so that nothing tells what the connection carries.
    junk = with_payload(frames[0], b"junk")
    assert types(read_capture(capture_of(junk))) == []
    assert types(read_capture(capture_of(junk), ports=(18010,))) == ["gap"]
    assert types(read_capture(capture_of(*frames), ports=[18010])) == ["user_message", "session_ack"]


def test_streams_adds_the_steps_of_connections_between_the_packets() -> None:
    records = list(read_capture(CAPTURES / "path_ipv6.pcap", streams=True))
    steps = ["syn", "syn_ack", "established", None, None, "fin", "fin", "closed"]
    assert [record.event for record in records] == steps
    assert [record.id for record in records] == list(range(1, 9))
    assert records[0].src == "[2001:db8::21]:49731"
    assert records[0].dst == "[2001:db8::10]:1801"


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DEMO_BYTES)))
    records = list(read_capture("-"))
    assert [record.type for record in records] == DEMO_TYPES
    assert {record.capture for record in records} == {"standard input"}


def test_a_file_object_is_read_from_where_it_stands_and_left_open() -> None:
    file = io.BytesIO(b"before" + DEMO_BYTES)
    file.seek(6)
    records = list(read_capture(file))
    assert [record.type for record in records] == DEMO_TYPES
    assert {record.capture for record in records} == {"the stream"}
    assert not file.closed


def test_an_open_file_gives_its_name() -> None:
    with DEMO.open("rb") as file:
        assert {record.capture for record in read_capture(file)} == {str(DEMO)}
        assert not file.closed


def test_a_pipe_is_read_as_it_comes() -> None:
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as pipe:
            pipe.write(DEMO_BYTES)

    writer = threading.Thread(target=write)
    writer.start()
    with open(reading, "rb") as pipe:
        assert types(read_capture(pipe)) == DEMO_TYPES
    writer.join()


def test_a_path_opened_by_the_reader_is_closed_by_it(tmp_path: Path) -> None:
    path = tmp_path / "copy.pcap"
    shutil.copy(DEMO, path)
    with CaptureReader(path) as reader:
        assert next(iter(reader)).type == "ping"
    # What was read is there; reading on is refused.
    (error,) = reader
    assert error.type == "error"
    assert error.reason is not None
    assert "closed file" in error.reason


@given(st.integers(24, len(DEMO_BYTES) - 1), st.integers(1, 255), st.booleans())
def test_a_changed_byte_costs_records_but_never_the_numbering(at: int, change: int, cut: bool) -> None:
    data = bytearray(DEMO_BYTES)
    data[at] ^= change
    records = list(read_capture(io.BytesIO(bytes(data[: at + 1] if cut else data)), streams=True))
    assert [record.id for record in records] == list(range(1, len(records) + 1))
    assert [record.type for record in records[:-1]].count("error") == 0


@given(st.integers(24, len(DEMO_BYTES)))
def test_a_cut_file_yields_what_its_whole_frames_held(size: int) -> None:
    whole = list(read_frames(DEMO))
    frames = [frame for frame in whole if frame.position + 16 + len(frame.data) <= size]
    damaged = list(read_capture(io.BytesIO(DEMO_BYTES[:size])))
    if damaged and damaged[-1].type == "error":
        damaged.pop()
    held = list(read_capture(capture_of(*frames)))
    assert [(r.id, r.type, r.frames, r.length) for r in damaged] == [
        (r.id, r.type, r.frames, r.length) for r in held
    ]


class _Lazy(io.RawIOBase):
    """A capture that is never in memory as a whole."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        return next(self._chunks, b"")


_PIECE = 1 << 14


def _half_open(connections: int, segments: int) -> Iterator[bytes]:
    """The start of a packet of 4 MiB on each connection, ``segments`` pieces of it."""
    yield capture_of().getvalue()[:20] + struct.pack("<I", RAW_IP)
    start = bytes.fromhex("10 00 03 00 4c494f52 00004000 ffffffff")
    number = 0
    for index in range(segments):
        for host in range(connections):
            number += 1
            payload = bytes(_PIECE) if index else start + bytes(_PIECE - len(start))
            frame = segment(number, host, 1 + index * _PIECE, payload)
            yield struct.pack("<IIII", number, 0, len(frame.data), frame.length) + frame.data


@pytest.mark.check
def test_half_open_packets_on_many_connections_stay_within_the_bound() -> None:
    connections, segments = 500, 14
    sent = connections * segments * _PIECE
    assert sent > 100 << 20
    source = cast(BinaryIO, _Lazy(_half_open(connections, segments)))
    counted = 0
    tracemalloc.start()
    try:
        with CaptureReader(source) as reader:
            for record in reader:
                counted += record.length + (len(record.remainder) if record.type == "gap" else 0)
            peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 64 MiB for packets that are not complete, 16 MiB of delivered bytes kept for comparison, and the rest.
    assert peak < 96 << 20
    assert reader.summary.understood == connections * segments
    assert counted > 64 << 20


@pytest.mark.slow
def test_half_open_connections_are_bounded_too() -> None:
    def frames(count: int, data: bytes) -> Iterator[bytes]:
        yield capture_of().getvalue()[:20] + struct.pack("<I", RAW_IP)
        for host in range(count):
            frame = segment(host + 1, host, 1, data, port=2000)
            yield struct.pack("<IIII", 1, 0, len(frame.data), frame.length) + frame.data

    def peak(count: int, data: bytes) -> int:
        tracemalloc.start()
        try:
            with CaptureReader(cast(BinaryIO, _Lazy(frames(count, data)))) as reader:
                assert list(reader) == []
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # What is neither on a port of MSMQ nor looks like it leaves nothing behind.
    assert peak(20_000, b"x") < peak(1_000, b"x") + (1 << 20)
    # What may begin like it waits for more, in 4,096 connections.
    assert peak(20_000, b"\x10") < peak(5_000, b"\x10") + (1 << 20)
