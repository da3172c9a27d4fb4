"""Exchanges of SRMP over HTTP in captures: their bytes, their parts, and what tshark sees of them.

That every capture gives the records that were put in is tested in tests/capture/test_pathologies.py.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.capture.link import dissect
from msmq_wire.capture.reader import CaptureReader, read_capture
from msmq_wire.capture.source import read_frames
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.record import Record
from tests.effort import share

CAPTURES = Path(__file__).resolve().parents[2] / "fixtures" / "captures"
SCENES = sorted(path.stem for path in CAPTURES.glob("path_srmp_*.pcap"))
LOSSY = [name for name in SCENES if "_loss_" in name]
WHOLE = [name for name in SCENES if name not in LOSSY and name != "path_srmp_reset"]
"""Scenes in which every request was captured to its end."""
FROM_THE_MIDDLE = ["path_srmp_midstream", "path_srmp_port_5555_after_get"]
"""Scenes in which a connection is followed from its first message on."""
OTHER_REQUESTS = {"/msmq/status", "/api/orders", "/"}
"""Targets of the requests that are no SRMP."""
SEEN_BY_TSHARK = [name for name in WHOLE if name != "path_srmp_midstream"]
"""tshark takes the first message behind the rest of another for a part of it."""
OVERTAKEN = ["path_srmp_late_segment", "path_srmp_response_first"]
"""Scenes in which a response stands before the end of its request."""
SENT_TWICE = "path_srmp_out_of_order"
WITH_OTHER_REQUESTS = ["path_srmp_keep_alive_with_get", "path_srmp_other_path"]
AS_HTTP = ("-d", "tcp.port==5555,http", "-d", "tcp.port==8001,http")
IN_ORDER = ("-o", "tcp.reassemble_out_of_order:TRUE")


def exchanges(scene: str) -> list[Record]:
    """The records of a scene's requests and responses."""
    records = read_capture(CAPTURES / f"{scene}.pcap")
    return [record for record in records if record.type in ("srmp_message", "srmp_receipt")]


def segments(scene: str) -> dict[int, TcpSegment]:
    """The segments of a scene by the number of their frame."""
    found = {}
    for frame in read_frames(CAPTURES / f"{scene}.pcap"):
        for datagram in dissect(frame):
            assert isinstance(datagram, TcpSegment)
            found[datagram.frame] = datagram
    return found


def told_by_tshark(scene: str, shown: str, *fields: str) -> list[tuple[str, ...]]:
    """The values of ``fields`` for every message that the filter ``shown`` lets through."""
    command = ["tshark", "-r", str(CAPTURES / f"{scene}.pcap"), *AS_HTTP, *IN_ORDER, "-Y", shown]
    command += ["-T", "fields", "-E", "aggregator=|"]
    for field in fields:
        command += ["-e", field]
    reported = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    values: list[tuple[str, ...]] = []
    for line in reported.splitlines():
        # A frame that completes several messages has the values of each.
        values += zip(*(value.split("|") for value in line.split("\t")), strict=True)
    return values


def request_of(record: Record) -> tuple[int, ...]:
    """The frames of the request alone."""
    response = record.packet.response
    answered = set() if response is None else set(response.frames)
    return tuple(frame for frame in record.frames if frame not in answered)


def header(record: Record, name: str) -> str | None:
    return next((field.value for field in record.packet.headers if field.name.lower() == name), None)


@pytest.mark.parametrize("scene", [name for name in SCENES if name not in FROM_THE_MIDDLE])
def test_every_frame_of_a_connection_that_begins_with_a_message_is_understood(scene: str) -> None:
    with CaptureReader(CAPTURES / f"{scene}.pcap") as reader:
        assert list(reader)
        summary = reader.summary
    assert (summary.understood, summary.skipped) == (summary.frames, {})


def test_frames_before_the_first_message_are_skipped_as_not_msmq() -> None:
    skipped = {}
    for scene in FROM_THE_MIDDLE:
        with CaptureReader(CAPTURES / f"{scene}.pcap") as reader:
            assert list(reader)
            skipped[scene] = dict(reader.summary.skipped)
    assert skipped == dict(zip(FROM_THE_MIDDLE, ({"TCP, not MSMQ": 2}, {"TCP, not MSMQ": 5}), strict=True))


@pytest.mark.parametrize("scene", [name for name in WHOLE if name not in FROM_THE_MIDDLE])
def test_requests_without_srmp_give_a_notice_each(scene: str) -> None:
    with CaptureReader(CAPTURES / f"{scene}.pcap") as reader:
        assert list(reader)
        reported = sum(reader.summary.notices.values())
    assert reported == (scene in WITH_OTHER_REQUESTS)


@pytest.mark.parametrize(
    "scene", sorted({*SCENES} - {*WITH_OTHER_REQUESTS, *LOSSY, "path_srmp_out_of_order"})
)
def test_every_byte_of_the_exchanges_is_in_one_record(scene: str) -> None:
    carried: dict[int, int] = {number: len(one.payload) for number, one in segments(scene).items()}
    if scene in FROM_THE_MIDDLE:
        first = min(exchanges(scene)[0].frames)
        carried = {number: size for number, size in carried.items() if number >= first}
    assert sum(record.length for record in exchanges(scene)) == sum(carried.values())


@pytest.mark.parametrize("scene", LOSSY)
def test_bytes_that_were_lost_count_in_no_message(scene: str) -> None:
    records = [record for record in read_capture(CAPTURES / f"{scene}.pcap") if record.type != "tcp_stream"]
    captured = sum(len(one.payload) for one in segments(scene).values())
    assert any(record.missing for record in records)
    assert sum(record.length for record in records) <= captured


@pytest.mark.parametrize("scene", sorted({*WHOLE} - {"path_srmp_chunked", SENT_TWICE, "path_srmp_pipelined"}))
def test_a_body_lies_in_the_request_where_its_part_says(scene: str) -> None:
    sent = segments(scene)
    for record in exchanges(scene):
        request = b"".join(sent[frame].payload for frame in request_of(record))
        content = request[request.index(b"\r\n\r\n") + 4 :]
        lying = {part.role: content[part.offset : part.offset + part.length] for part in record.packet.parts}
        assert lying.get("body") == record.packet.body
        assert lying.get("extension") == record.packet.extension


def test_the_roles_of_parts_follow_their_ids_and_the_start_parameter() -> None:
    first, second = (record.packet.parts for record in exchanges("path_srmp_other_mime"))
    assert [part.role for part in first] == ["extension", "body", "envelope"]
    assert [part.role for part in second] == ["envelope", "body", "extension"]


def test_a_preamble_is_kept() -> None:
    first, second = (record.packet.preamble for record in exchanges("path_srmp_other_mime"))
    assert (first.strip(), second) == (b"This is a multipart message.", b"")


def test_headers_keep_their_names_and_their_order() -> None:
    (record,) = exchanges("path_srmp_message")
    fields = [(field.name, field.value) for field in record.packet.headers]
    assert [field for field in fields if field[0] != "Content-Length"] == [
        ("Host", "msg01"),
        ("Content-Type", 'multipart/related; boundary="MSMQ - SOAP boundary, 4711"; type=text/xml'),
        ("SOAPAction", '"MSMQMessage"'),
        ("Proxy-Accept", "NonInteractiveClient"),
    ]
    assert record.packet.http_version == "1.1"


def test_a_response_has_its_reason_headers_and_body() -> None:
    refused, without_body, to_the_end = (
        record.packet.response for record in exchanges("path_srmp_chunked_response")
    )
    assert (refused.status, refused.reason, refused.body) == (400, "Bad Request", b"bad one")
    assert [(field.name, field.value) for field in refused.headers] == [("Transfer-Encoding", "chunked")]
    assert (without_body.status, without_body.reason, without_body.body) == (204, "No Content", b"")
    assert (to_the_end.status, to_the_end.reason) == (503, "Service Unavailable")
    assert to_the_end.body == b"later"
    assert [refused.complete, without_body.complete, to_the_end.complete] == [True, True, True]


@pytest.mark.parametrize("scene", WHOLE)
def test_an_exchange_is_complete_and_certain_where_nothing_is_missing(scene: str) -> None:
    reported = [(record.packet.complete, record.packet.certain, record.error) for record in exchanges(scene)]
    assert reported
    assert set(reported) == {(True, True, None)}


def test_latency_is_the_time_between_the_request_and_its_response() -> None:
    (record,) = exchanges("path_srmp_message")
    sent = segments("path_srmp_message")
    request, response = record.frames
    assert record.packet.latency == sent[response].time - sent[request].time > 0


def test_a_request_without_a_response_has_no_latency() -> None:
    _, record = exchanges("path_srmp_no_response")
    assert (record.packet.response, record.packet.latency) == (None, None)


def test_the_rows_of_the_scenes_are_of_both_types() -> None:
    types: set[Any] = set()
    for scene in SCENES:
        rows = json.loads((CAPTURES / f"{scene}.json").read_text(encoding="utf-8"))
        types |= {row["type"] for row in rows}
    assert types == {"srmp_message", "srmp_receipt", "tcp_stream", "gap"}


@pytest.mark.check
@pytest.mark.tshark
@pytest.mark.parametrize("scene", share(sorted(SEEN_BY_TSHARK), 4))
def test_tshark_sees_the_same_requests(scene: str) -> None:
    fields = "http.request.method", "http.request.uri"
    reported = told_by_tshark(scene, "http.request", *fields)
    ours = [(record.packet.method, record.packet.target) for record in exchanges(scene)]
    # The order is that of completion, which for us includes the response.
    assert sorted(ours) == sorted(one for one in reported if one[1] not in OTHER_REQUESTS)


@pytest.mark.slow
@pytest.mark.tshark
@pytest.mark.parametrize("scene", share(sorted({*SEEN_BY_TSHARK} - {"path_srmp_chunked"}), 4))
def test_tshark_reads_the_same_content_lengths(scene: str) -> None:
    reported = told_by_tshark(scene, "http.request", "http.request.uri", "http.content_length_header")
    lengths = sorted(length for target, length in reported if target not in OTHER_REQUESTS)
    assert sorted(str(header(record, "content-length")) for record in exchanges(scene)) == lengths


def linked_by_tshark(scene: str) -> set[tuple[str, ...]]:
    """The last frame of a request and the status of its response, where tshark links them."""
    shown = "http.response && http.request_in"
    return set(told_by_tshark(scene, shown, "http.request_in", "http.response.code"))


def linked_by_us(scene: str) -> set[tuple[str, ...]]:
    return {
        (str(max(request_of(record))), str(record.packet.response.status))
        for record in exchanges(scene)
        if record.packet.response is not None
    }


@pytest.mark.slow
@pytest.mark.tshark
@pytest.mark.parametrize(
    "scene", share(sorted({*SEEN_BY_TSHARK} - {"path_srmp_continue", "path_srmp_pipelined", *OVERTAKEN}), 4)
)
def test_tshark_links_the_same_responses_to_the_requests(scene: str) -> None:
    ours = linked_by_us(scene)
    assert ours
    assert ours <= linked_by_tshark(scene)


@pytest.mark.slow
@pytest.mark.tshark
@pytest.mark.parametrize("scene", OVERTAKEN)
def test_tshark_does_not_shift_responses_behind_one_that_overtook_its_request(scene: str) -> None:
    reported = linked_by_tshark(scene)
    assert len(reported) == 2
    assert reported <= linked_by_us(scene)
