"""Wireshark's dissector on streams: however TCP delivers the bytes, the same packets are shown."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from msmq_wire.capture.pcap import Frame
from tests.dissectors.wireshark.test_parity import _framed
from tests.dissectors.wireshark.tshark_view import Shown, run, show, tcp_frames, write
from tests.hex_files import hex_bytes

pytestmark = pytest.mark.tshark

_FIXTURES = Path(__file__).parents[3] / "fixtures" / "packets"
_STREAM = [
    _framed(hex_bytes(_FIXTURES / name))
    for name in (
        "establish_connection/frame_3_request.hex",
        "connection_parameters/frame_5_request.hex",
        "user_message/session_header.hex",
        "user_message/direct_destination.hex",
        "session_ack/frame_8.hex",
    )
]
_KINDS = ["establish_connection", "connection_parameters", "user_message", "user_message", "session_ack"]


def _segments(data: bytes, size: int) -> list[tuple[int, bytes]]:
    return [(at, data[at : at + size]) for at in range(0, len(data), size)]


def _kinds(shown: list[Shown]) -> list[str]:
    return [kind for one in shown for _, node, _ in one.trees if (kind := node.text("type"))]


def _shown(tmp_path: Path, frames: list[Frame], *arguments: str) -> list[Shown]:
    return show(write(tmp_path / "stream.pcap", frames), *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 16, 100, 1460])
def test_segments_of_any_size_give_the_same_packets(tmp_path: Path, size: int) -> None:
    shown = _shown(tmp_path, tcp_frames(1, _segments(b"".join(_STREAM), size)))
    assert _kinds(shown) == _KINDS
    trees = [node for one in shown for _, node, _ in one.trees]
    assert not any("skipped" in node.children or "error" in node.children for node in trees)


@pytest.mark.slow
def test_several_packets_in_one_segment_are_all_shown_and_counted(tmp_path: Path) -> None:
    frames = tcp_frames(1, [(0, b"".join(_STREAM))])
    assert _kinds(_shown(tmp_path, frames)) == _KINDS
    reported = run(write(tmp_path / "one.pcap", frames), "-T", "fields", "-e", "_ws.col.Info")
    assert reported.rstrip().endswith("+4 packets")


@pytest.mark.slow
def test_segments_out_of_order_are_put_in_order_where_wireshark_is_asked_to(tmp_path: Path) -> None:
    segments = _segments(b"".join(_STREAM), 200)
    first, rest = segments[0], segments[1:]
    random.Random(1801).shuffle(rest)
    shown = _shown(tmp_path, tcp_frames(1, [first, *rest]), "-o", "tcp.reassemble_out_of_order:TRUE")
    assert _kinds(shown) == _KINDS


@pytest.mark.slow
def test_bytes_that_are_no_packet_are_shown_as_skipped(tmp_path: Path) -> None:
    message = _STREAM[3]
    shown = _shown(tmp_path, tcp_frames(1, [(0, b"no packet starts here" + message + b"nor here")]))
    names = [("skipped" in node.children, node.text("type")) for _, node, _ in shown[0].trees]
    assert names == [(True, None), (False, "user_message"), (True, None)]


@pytest.mark.slow
def test_a_stream_that_begins_inside_a_packet_is_read_from_the_next_one(tmp_path: Path) -> None:
    stream = _STREAM[3][50:] + _STREAM[3] + _STREAM[4]
    assert _kinds(_shown(tmp_path, tcp_frames(1, _segments(stream, 1)))) == ["user_message", "session_ack"]


@pytest.mark.slow
def test_a_packet_that_the_capture_cuts_shows_what_is_there_and_says_so(tmp_path: Path) -> None:
    shown = _shown(tmp_path, tcp_frames(1, [(0, _STREAM[3])], cut=100))
    (_, node, experts), = shown[0].trees  # fmt: skip
    assert node.children["user_header"][0].text("message_id") is not None
    assert "cut" in experts


def test_a_packet_size_that_no_packet_can_have_is_not_waited_for(tmp_path: Path) -> None:
    lying = bytearray(_STREAM[3])
    lying[8:12] = b"\xff\xff\xff\x7f"
    shown = _shown(tmp_path, tcp_frames(1, [(0, bytes(lying)), (len(lying), _STREAM[4])]))
    assert _kinds(shown) == ["user_message", "session_ack"]


@pytest.mark.slow
def test_judging_can_be_switched_off(tmp_path: Path) -> None:
    wrong = bytearray(_STREAM[3])
    wrong[0] = 0x11
    frames = tcp_frames(1, [(0, bytes(wrong))])
    (_, _, experts), = _shown(tmp_path, frames)[0].trees  # fmt: skip
    assert "base_header.version-number" in experts
    (_, _, experts), = _shown(tmp_path, frames, "-o", "msmq.judge:FALSE")[0].trees  # fmt: skip
    assert experts == []


def test_messages_over_http_are_marked_with_their_queue() -> None:
    capture = _FIXTURES.parent / "captures" / "path_srmp_message.pcap"
    reported = run(capture, "-T", "fields", "-e", "msmq.srmp.queue", "-Y", "msmq")
    assert reported.strip() != ""
