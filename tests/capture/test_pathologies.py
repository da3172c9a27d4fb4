"""Every capture of fixtures/captures gives the records that were put in, and the bytes that tshark sees."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from msmq_wire.capture.link import dissect, transport
from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.capture.source import read_frames
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.ip import IpFragment, IpReassembler
from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import Endpoints, StreamBytes, StreamGap, TcpEvent, TcpSegment
from msmq_wire.records.endpoint import endpoint
from msmq_wire.records.record import Record
from tests.effort import in_batches

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = ("com_", "lab_", "routed_")
"""Beginnings of names of captures that have builders, or recorders, and tests of their own."""
CAPTURES = [
    path
    for path in sorted((ROOT / "fixtures" / "captures").glob("*.pcap*"))
    if not path.name.startswith(ELSEWHERE)
]

Row = dict[str, Any]
Side = tuple[int, str]
"""A direction of a connection: its stream and its source."""

SHOWN_BY_TSHARK = {
    "loss": b"[%d bytes missing in capture file]\0",
    "snaplen": b"",
}
"""What `follow` writes between two runs of bytes where we tell a gap of this many bytes.

Both are shortcuts of a view that has nothing but bytes, so we are right in both: the note is no payload, and
what the snap length cut off is missing although nothing says so. See docs/deviations-tshark.md.
"""
DEVIATIONS = {
    "path_loss_between_messages.pcap": "loss",
    "path_loss_in_message.pcap": "loss",
    "path_loss_of_header.pcap": "loss",
    "path_snaplen_96.pcap": "snaplen",
    "path_srmp_loss_between.pcap": "loss",
    "path_srmp_loss_in_body.pcap": "loss",
    "path_srmp_loss_of_head.pcap": "loss",
    "path_srmp_loss_of_response.pcap": "loss",
    "published.pcap": "snaplen",
}
"""Captures in which `follow` shows other bytes than ours, and the kind of gap that explains it."""

LATE = {"path_srmp_late_segment.pcap": 400}
"""Captures in which so many bytes stand behind their acknowledgment: `follow` takes them for missing."""


def expected(capture: Path) -> list[Row]:
    rows: list[Row] = json.loads(capture.with_suffix(".json").read_text(encoding="utf-8"))
    return rows


def row(record: Record) -> Row:
    """A record as the files beside the captures write it."""
    shown: Row = {
        "type": record.type,
        "frames": list(record.frames),
        "src": record.src,
        "dst": record.dst,
        "stream": record.stream,
        "offset": record.offset,
        "length": record.length,
    }
    if record.type in ("user_message", "order_ack", "final_ack"):
        user = reached(record.packet, "user_header")
        label = reached(reached(record.packet, "message_properties_header"), "label")
        queue = reached(user, "destination_queue")
        shown["queue"] = None if queue is None else user.format_name("destination_queue")
        shown["label"] = None if label is None else label.text
    if record.type in ("srmp_message", "srmp_receipt"):
        shown |= exchange(record)
    if record.type == "gap":
        shown["missing"] = record.missing
        if record.frames_missing is not None:
            shown["frames_missing"] = record.frames_missing
    if record.reason is not None:
        shown["reason"] = record.reason
    if record.event is not None:
        shown["event"] = record.event
    if record.error is not None:
        shown["error"] = record.error.code
    return shown


def exchange(record: Record) -> Row:
    """What a request and its response say."""
    packet = record.packet
    texts = {name: getattr(packet, name) for name in ("body", "extension")}
    words = ("kind", "method", "target", "queue", "label", "message_id", "certain")
    return {
        **{name: getattr(packet, name) for name in words},
        **{name: None if text is None else text.hex() for name, text in texts.items()},
        "status": None if packet.response is None else packet.response.status,
        "interim": list(packet.interim),
        "anomalies": [anomaly.code for anomaly in record.anomalies],
    }


def reached(part: Any, name: str) -> Any:
    value = getattr(part, name, None)
    return None if value is msgspec.UNSET else value


def datagrams(capture: Path) -> Iterator[object]:
    """What the frames carry, IP fragments put together."""
    fragments = IpReassembler()
    for frame in read_frames(capture):
        for datagram in dissect(frame):
            if not isinstance(datagram, IpFragment):
                yield datagram
            elif (whole := fragments.feed(datagram)) is not None:
                place = datagram.src, datagram.dst, whole.payload, datagram.frame, datagram.time
                yield from transport(whole.protocol, *place)


def reassembled(capture: Path) -> tuple[list[TcpEvent], dict[int, Endpoints]]:
    """The events of every TCP connection of a capture, and the endpoints of each."""
    reassembler = TcpReassembler()
    events: list[TcpEvent] = []
    try:
        for datagram in datagrams(capture):
            if isinstance(datagram, TcpSegment):
                events += reassembler.feed(datagram)
    except CaptureError:
        assert "error" in {row["type"] for row in expected(capture)}
    events += reassembler.finish()
    return events, {event.stream: reassembler.connection(event.stream) for event in events}


def payload(capture: Path, gaps: dict[str, bytes]) -> dict[Side, bytes]:
    """The bytes of every direction that has any, with what ``gaps`` has for a gap in its place."""
    events, connections = reassembled(capture)
    found: dict[Side, bytes] = {}
    for event in events:
        if isinstance(event, StreamBytes):
            data = event.data
        elif isinstance(event, StreamGap) and event.reason in gaps:
            note = gaps[event.reason]
            data = note % event.length if note else b""
        else:
            continue
        src, sport, dst, dport = connections[event.stream]
        source = endpoint(src, sport) if event.direction == 0 else endpoint(dst, dport)
        found[event.stream, source] = found.get((event.stream, source), b"") + data
    return found


def followed_by_tshark(capture: Path, streams: int) -> dict[Side, bytes]:
    """The same from ``tshark -z follow,tcp,raw,N`` for that many streams."""
    command = ["tshark", "-r", str(capture), "-q"]
    for stream in range(streams):
        command += ["-z", f"follow,tcp,raw,{stream}"]
    reported = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found: dict[Side, bytes] = {}
    stream, nodes = 0, ["", ""]
    for line in reported.splitlines():
        if filtered := re.fullmatch(r"Filter: tcp\.stream eq (\d+)", line):
            stream = int(filtered[1])
        elif node := re.fullmatch(r"Node ([01]): (.*)", line):
            nodes[int(node[1])] = node[2]
        elif re.fullmatch(r"\t?[0-9a-f]+", line):
            # The second node's lines are indented.
            side = stream, nodes[line.startswith("\t")]
            found[side] = found.get(side, b"") + bytes.fromhex(line)
    return found


@in_batches(CAPTURES, name="capture", every=1)
def test_a_capture_gives_exactly_the_records_that_were_put_in(capture: Path) -> None:
    assert [row(record) for record in read_capture(capture, streams=True)] == expected(capture)


@in_batches(CAPTURES, name="capture", every=1)
def test_without_streams_only_conflicts_are_told_of_a_connection(capture: Path) -> None:
    reported = [row for row in expected(capture) if row["type"] != "tcp_stream" or row["event"] == "conflict"]
    assert [row(record) for record in read_capture(capture)] == reported


@in_batches(CAPTURES, name="capture", every=1)
def test_every_frame_is_understood_or_skipped_for_a_reason(capture: Path) -> None:
    with CaptureReader(capture) as reader:
        rows = [record.type for record in reader]
        summary = reader.summary
    assert summary.understood + sum(summary.skipped.values()) == summary.frames
    assert summary.packets == {kind: rows.count(kind) for kind in set(rows)}


@in_batches(CAPTURES, name="capture", every=1)
def test_the_bytes_of_packets_and_gaps_lie_one_behind_the_other(capture: Path) -> None:
    ends: dict[tuple[int | None, str | None], int] = {}
    records = list(read_capture(capture))
    # An exchange has bytes of both directions: tests/records/test_srmp_captures.py counts those.
    exchanges = {record.stream for record in records if record.type.startswith("srmp_")}
    for record in records:
        if record.stream is None or record.stream in exchanges or record.type == "tcp_stream":
            continue
        side = record.stream, record.src
        assert record.offset == ends.get(side, 0)
        ends[side] = record.offset + record.length + (record.missing or 0)


@in_batches(CAPTURES, name="capture", every=1)
def test_a_packet_has_the_time_of_the_frame_that_completes_it(capture: Path) -> None:
    times: list[int | None] = []
    with suppress(CaptureError):
        times.extend(frame.time for frame in read_frames(capture))
    for record in read_capture(capture):
        if record.type not in ("gap", "error"):
            carrying = [time for frame in record.frames if (time := times[frame - 1]) is not None]
            assert record.time == max(carrying, default=None)


@pytest.mark.slow
def test_the_committed_captures_are_what_the_builder_builds(tmp_path: Path) -> None:
    builder = ROOT / "fixtures" / "build_captures.py"
    subprocess.run([sys.executable, "-B", builder, tmp_path], check=True, capture_output=True)
    committed = ROOT / "fixtures" / "captures"
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    files = [path for path in committed.iterdir() if not path.name.startswith(ELSEWHERE)]
    assert {path.name: path.read_bytes() for path in files} == built


@pytest.mark.check
@pytest.mark.tshark
@in_batches(CAPTURES)
def test_tshark_follows_the_same_bytes(path: Path) -> None:
    _, connections = reassembled(path)
    kind = DEVIATIONS.get(path.name)
    gaps = {} if kind is None else {kind: SHOWN_BY_TSHARK[kind]}
    # One stream more than we have: tshark must not know it either.
    followed = followed_by_tshark(path, len(connections) + 1)
    ours = payload(path, gaps)
    if path.name in LATE:
        note = SHOWN_BY_TSHARK["loss"] % LATE[path.name]
        for side, data in followed.items():
            before, _, after = data.partition(note)
            if after:
                followed[side] = before + ours[side][len(before) :][: LATE[path.name]] + after
    assert followed == ours


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_deviation_is_explained_by_the_gaps_we_tell(name: str) -> None:
    capture = ROOT / "fixtures" / "captures" / name
    events, _ = reassembled(capture)
    reasons = {event.reason for event in events if isinstance(event, StreamGap)}
    assert reasons == {DEVIATIONS[name]}
