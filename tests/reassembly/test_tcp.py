from __future__ import annotations

import struct
import subprocess
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msmq_wire.errors import MsmqWireError
from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import (
    ACK,
    FIN,
    PSH,
    RST,
    SYN,
    StreamBytes,
    StreamConflict,
    StreamEvent,
    StreamGap,
    TcpEvent,
    TcpSegment,
)
from msmq_wire.reassembly.tcp_evidence import FrameTime, ResetEvidence, SideEvidence, TcpEvidence
from tests.effort import examples

CLIENT, SERVER = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
PORT = 40000
ISN, PEER_ISN = 1000, 9000


class Wire:
    """Feeds a reassembler; frames are numbered from 1 and the time of a frame is ten times its number.

    ``later`` is added to the time of the frames that follow.
    """

    def __init__(self, **limits: Any) -> None:
        self.tcp = TcpReassembler(**limits)
        self.frame = 0
        self.port = PORT
        self.later = 0

    def send(
        self, flags: int, seq: int, payload: bytes = b"", *, ack: int = 0, cut: int = 0, server: bool = False
    ) -> list[TcpEvent]:
        self.frame += 1
        ends = (SERVER, 1801, CLIENT, self.port) if server else (CLIENT, self.port, SERVER, 1801)
        seq, ack = seq % 2**32, ack % 2**32
        time = self.frame * 10 + self.later
        return self.tcp.feed(TcpSegment(*ends, seq, ack, flags, payload, self.frame, time, cut))

    def data(self, offset: int, payload: bytes, *, cut: int = 0) -> list[TcpEvent]:
        """Client data at an offset of the stream that `opened` began."""
        return self.send(PSH | ACK, ISN + 1 + offset, payload, ack=PEER_ISN + 1, cut=cut)

    def acknowledge(self, offset: int) -> list[TcpEvent]:
        """The server's bare acknowledgement of client bytes below an offset."""
        return self.send(ACK, PEER_ISN + 1, ack=ISN + 1 + offset, server=True)


def reset_of(side: int, frame: int, time: int) -> TcpEvidence:
    """A reset after a hole, by whom the time between two frames tells nothing more."""
    reset = ResetEvidence(
        at=FrameTime(frame, time),
        side=side,
        idle=10,
        silent=10,
        hop_limit=None,
        usual_hop_limit=None,
        forged_by=None,
    )
    holed = SideEvidence(holes=1, unacknowledged=4)
    return TcpEvidence(sides=(holed, SideEvidence()), reset=reset, lossy=True)


def opened(**limits: Any) -> Wire:
    """Three frames in: SYN, SYN-ACK, ACK."""
    wire = Wire(**limits)
    wire.send(SYN, ISN)
    wire.send(SYN | ACK, PEER_ISN, ack=ISN + 1, server=True)
    wire.send(ACK, ISN + 1, ack=PEER_ISN + 1)
    return wire


def midstream() -> Wire:
    """A direction met mid-stream that starts with b"start" at sequence number ISN + 1; two frames."""
    wire = Wire()
    wire.data(0, b"start")
    assert wire.acknowledge(5) == [
        StreamEvent(0, "bare_ack", 1, 2, 20),
        StreamBytes(0, 0, 0, b"start", 1, 10),
    ]
    return wire


def of(events: list[TcpEvent], direction: int = 0) -> bytes:
    return b"".join(e.data for e in events if isinstance(e, StreamBytes) and e.direction == direction)


def kinds(events: list[TcpEvent]) -> list[str]:
    return [e.kind for e in events if isinstance(e, StreamEvent)]


def gaps(events: list[TcpEvent]) -> list[tuple[int, int | None, str]]:
    return [(e.offset, e.length, e.reason) for e in events if isinstance(e, StreamGap)]


# Opening


def test_a_handshake_tells_syn_syn_ack_and_established() -> None:
    wire = Wire()
    assert wire.send(SYN, ISN) == [StreamEvent(0, "syn", 0, 1, 10)]
    assert wire.send(SYN | ACK, PEER_ISN, ack=ISN + 1, server=True) == [StreamEvent(0, "syn_ack", 1, 2, 20)]
    assert wire.send(ACK, ISN + 1, ack=PEER_ISN + 1) == [StreamEvent(0, "established", 0, 3, 30)]
    assert wire.tcp.connection(0) == (CLIENT, PORT, SERVER, 1801)


def test_retransmitted_syns_are_told_and_open_nothing() -> None:
    wire = Wire()
    wire.send(SYN, ISN)
    wire.later = 1_000_000_000
    assert wire.send(SYN, ISN) == [StreamEvent(0, "syn_retransmission", 0, 2, 1_000_000_020)]
    wire.send(SYN | ACK, PEER_ISN, ack=ISN + 1, server=True)
    wire.later = 2_000_000_000
    again = wire.send(SYN | ACK, PEER_ISN, ack=ISN + 1, server=True)
    assert again == [StreamEvent(0, "syn_retransmission", 1, 4, 2_000_000_040)]


def test_a_syn_within_10_milliseconds_is_the_same_frame_captured_twice() -> None:
    wire = Wire()
    wire.send(SYN, ISN)
    wire.later = 10_000_000 - 10
    assert wire.send(SYN, ISN) == []
    wire.send(SYN | ACK, PEER_ISN, ack=ISN + 1, server=True)
    assert wire.send(SYN | ACK, PEER_ISN, ack=ISN + 1, server=True) == []
    wire.later *= 3
    assert kinds(wire.send(SYN, ISN)) == ["syn_retransmission"]


def test_payload_bytes_that_no_event_shows_are_counted_without_what_was_delivered() -> None:
    wire = opened()
    wire.data(0, b"hello")
    wire.data(2**31 - 1, b"far away")
    wire.send(FIN | ACK, ISN + 6, ack=PEER_ISN + 1)
    wire.data(3, b"lo, and more")
    wire.send(RST, ISN + 7)
    wire.data(0, b"hello")
    wire.data(5, b"late")
    assert wire.tcp.unread == {"out_of_window": 8, "after_fin": 10, "after_rst": 4}


def test_the_syn_sender_is_direction_0_even_when_its_port_is_a_server_port() -> None:
    wire = Wire()
    assert wire.send(SYN, ISN, server=True) == [StreamEvent(0, "syn", 0, 1, 10)]
    assert wire.tcp.connection(0) == (SERVER, 1801, CLIENT, PORT)


def test_a_capture_that_starts_with_the_syn_ack_knows_where_both_directions_start() -> None:
    wire = Wire()
    assert wire.send(SYN | ACK, PEER_ISN, ack=ISN + 1, server=True) == [StreamEvent(0, "syn_ack", 1, 1, 10)]
    assert wire.data(0, b"hi") == [
        StreamEvent(0, "established", 0, 2, 20),
        StreamBytes(0, 0, 0, b"hi", 2, 20),
    ]
    assert wire.tcp.connection(0) == (CLIENT, PORT, SERVER, 1801)


def test_a_syn_captured_after_its_syn_ack_belongs_to_the_same_stream() -> None:
    wire = Wire()
    wire.send(SYN | ACK, PEER_ISN, ack=ISN + 1, server=True)
    assert wire.send(SYN, ISN) == [StreamEvent(0, "syn", 0, 2, 20)]


def test_a_syn_captured_after_the_first_data_belongs_to_the_same_stream() -> None:
    wire = Wire()
    wire.data(0, b"hi")
    assert wire.send(SYN, ISN) == [StreamEvent(0, "syn", 0, 2, 20), StreamBytes(0, 0, 0, b"hi", 1, 10)]


def test_a_simultaneous_open_is_one_stream() -> None:
    wire = Wire()
    assert kinds(wire.send(SYN, ISN)) == ["syn"]
    assert wire.send(SYN, PEER_ISN, server=True) == [StreamEvent(0, "syn", 1, 2, 20)]
    assert kinds(wire.send(SYN | ACK, ISN, ack=PEER_ISN + 1)) == ["syn_ack"]
    assert kinds(wire.send(SYN | ACK, PEER_ISN, ack=ISN + 1, server=True)) == ["syn_ack"]
    assert wire.data(0, b"hi") == [
        StreamEvent(0, "established", 0, 5, 50),
        StreamBytes(0, 0, 0, b"hi", 5, 50),
    ]


def test_data_in_a_syn_starts_the_stream() -> None:
    wire = Wire()
    assert wire.send(SYN, ISN, b"fast") == [
        StreamEvent(0, "syn", 0, 1, 10),
        StreamBytes(0, 0, 0, b"fast", 1, 10),
    ]
    wire.send(SYN | ACK, PEER_ISN, ack=ISN + 5, server=True)
    assert of(wire.data(4, b"er")) == b"er"


# Bytes in order


def test_segments_in_order_pass_without_a_copy() -> None:
    wire = opened()
    payload = bytes(range(100))
    events = wire.data(0, payload)
    assert events == [StreamBytes(0, 0, 0, payload, 4, 40)]
    assert isinstance(events[0], StreamBytes)
    assert events[0].data is payload
    assert wire.data(100, b"x") == [StreamBytes(0, 0, 100, b"x", 5, 50)]


def test_both_directions_have_their_own_offsets() -> None:
    wire = opened()
    assert wire.data(0, b"ping") == [StreamBytes(0, 0, 0, b"ping", 4, 40)]
    answer = wire.send(PSH | ACK, PEER_ISN + 1, b"pong!", ack=ISN + 5, server=True)
    assert answer == [StreamBytes(0, 1, 0, b"pong!", 5, 50)]
    assert wire.data(4, b"more") == [StreamBytes(0, 0, 4, b"more", 6, 60)]


def test_swapped_segments_come_out_in_order_with_the_frames_that_carried_them() -> None:
    wire = opened()
    assert wire.data(3, b"def") == []
    assert wire.data(0, b"abc") == [StreamBytes(0, 0, 0, b"abc", 5, 50), StreamBytes(0, 0, 3, b"def", 4, 40)]
    assert wire.tcp.pending_bytes == 0


def test_an_exact_retransmission_brings_nothing() -> None:
    wire = opened()
    wire.data(0, b"abc")
    assert wire.data(0, b"abc") == []


def test_a_retransmission_that_goes_further_brings_only_what_is_new() -> None:
    wire = opened()
    wire.data(0, b"abc")
    assert wire.data(1, b"bcde") == [StreamBytes(0, 0, 3, b"de", 5, 50)]


def test_a_segment_that_overlaps_the_pending_one_behind_it_brings_only_the_hole() -> None:
    wire = opened()
    wire.data(4, b"ef")
    assert wire.data(0, b"abcde") == [
        StreamBytes(0, 0, 0, b"abcd", 5, 50),
        StreamBytes(0, 0, 4, b"ef", 4, 40),
    ]


def test_a_segment_that_contains_pending_ones_fills_around_them() -> None:
    wire = opened()
    wire.data(2, b"c")
    wire.data(4, b"e")
    assert wire.data(0, b"abcdef") == [
        StreamBytes(0, 0, 0, b"ab", 6, 60),
        StreamBytes(0, 0, 2, b"c", 4, 40),
        StreamBytes(0, 0, 3, b"d", 6, 60),
        StreamBytes(0, 0, 4, b"e", 5, 50),
        StreamBytes(0, 0, 5, b"f", 6, 60),
    ]


def test_sequence_numbers_wrap() -> None:
    wire = Wire()
    wire.send(SYN, 2**32 - 4)
    wire.send(SYN | ACK, PEER_ISN, ack=2**32 - 3, server=True)
    assert of(wire.send(ACK, 2**32 - 3, b"abc", ack=PEER_ISN + 1)) == b"abc"
    assert wire.send(ACK, 2, b"fg", ack=PEER_ISN + 1) == []
    assert wire.send(ACK, 0, b"de", ack=PEER_ISN + 1) == [
        StreamBytes(0, 0, 3, b"de", 5, 50),
        StreamBytes(0, 0, 5, b"fg", 4, 40),
    ]


# Conflicts


def test_a_differing_copy_of_delivered_bytes_is_a_conflict_from_first_to_last_differing_byte() -> None:
    wire = opened()
    wire.data(0, b"abc")
    wire.data(3, b"defg")
    assert wire.data(0, b"abXdYfg") == [StreamConflict(0, 0, 2, 3, 6, 60)]


def test_a_differing_copy_of_pending_bytes_is_a_conflict_and_the_first_copy_wins() -> None:
    wire = opened()
    wire.data(2, b"cd")
    assert wire.data(2, b"cX") == [StreamConflict(0, 0, 3, 1, 5, 50)]
    assert of(wire.data(0, b"ab")) == b"abcd"


def test_bytes_behind_the_compared_tail_are_not_compared() -> None:
    wire = opened()
    wire.data(0, b"old")
    for index in range(40):
        wire.data(3 + index * 2000, bytes(2000))
    assert wire.data(0, b"OLD") == []
    assert wire.data(3 + 39 * 2000, b"\x01" * 2000) == [StreamConflict(0, 0, 78003, 2000, 46, 460)]


def test_keep_alive_probes_are_neither_data_nor_conflict() -> None:
    wire = opened()
    assert wire.send(ACK, ISN, b"\x00") == []
    wire.data(0, b"abc")
    assert wire.send(ACK, ISN + 3, b"\x00") == []
    assert wire.send(ACK, ISN + 3) == []
    assert wire.tcp.ignored == {"probe": 2}
    assert of(wire.data(3, b"d")) == b"d"


def test_a_keep_alive_behind_lost_bytes_is_not_data() -> None:
    wire = opened()
    wire.acknowledge(10)
    assert wire.send(ACK, ISN + 10, b"\x00") == []
    assert wire.tcp.ignored == {"probe": 1}


def test_a_zero_window_probe_is_the_next_byte() -> None:
    wire = opened()
    wire.data(0, b"abc")
    assert wire.send(ACK, ISN + 4, b"d") == [StreamBytes(0, 0, 3, b"d", 5, 50)]
    assert wire.data(3, b"def") == [StreamBytes(0, 0, 4, b"ef", 6, 60)]


# Loss


def test_a_hole_is_lost_once_acknowledged_and_8_later_segments_arrived() -> None:
    wire = opened()
    wire.data(10, b"a")
    wire.acknowledge(11)
    # The first segment after the acknowledgement starts the count of 8.
    for index in range(8):
        assert wire.data(11 + index, b"b") == []
    assert wire.data(19, b"c") == [
        StreamGap(0, 0, 0, 10, "loss", 4, 40),
        StreamBytes(0, 0, 10, b"a", 4, 40),
        *[StreamBytes(0, 0, 11 + index, b"b", 6 + index, 60 + index * 10) for index in range(8)],
        StreamBytes(0, 0, 19, b"c", 14, 140),
    ]


def test_a_hole_that_the_peer_does_not_acknowledge_waits_for_the_retransmission() -> None:
    wire = opened()
    wire.data(0, b"ab")
    for index in range(50):
        assert wire.data(4 + index, b"x") == []
        assert wire.acknowledge(2) == []
    assert of(wire.data(2, b"cd")) == b"cd" + b"x" * 50


def test_a_hole_filled_after_its_acknowledgement_was_captured_is_no_loss() -> None:
    wire = opened()
    wire.data(2, b"cd")
    wire.acknowledge(4)
    assert of(wire.data(4, b"ef")) == b""
    assert of(wire.data(0, b"ab")) == b"abcdef"
    assert gaps(wire.tcp.finish()) == []


def test_the_first_acknowledgment_of_what_was_not_captured_is_told_once() -> None:
    wire = opened()
    wire.data(0, b"ab")
    assert wire.acknowledge(2) == []
    assert wire.acknowledge(9) == [StreamEvent(0, "unseen", 1, 6, 60)]
    assert wire.acknowledge(11) == []
    assert of(wire.data(2, b"cd")) == b"cd"


def test_the_acknowledgment_of_a_fin_that_was_not_captured_is_none_of_bytes() -> None:
    wire = opened()
    wire.data(0, b"ab")
    assert wire.acknowledge(3) == []


def test_a_side_that_only_acknowledges_is_told_of_where_nothing_else_of_it_was() -> None:
    wire = Wire()
    assert kinds(wire.data(0, b"ab")) == ["start_midstream"]
    assert kinds(wire.acknowledge(2)) == ["bare_ack"]
    assert kinds(wire.acknowledge(2)) == []
    assert kinds(opened().acknowledge(0)) == []


def test_what_answers_held_bytes_comes_behind_them() -> None:
    wire = opened()
    wire.data(2, b"cd")
    answer = wire.send(PSH | ACK, PEER_ISN + 1, b"got it", ack=ISN + 5, server=True)
    assert answer == []
    wire.send(ACK, ISN + 5, ack=PEER_ISN + 7)
    assert wire.tcp.finish() == [
        StreamGap(0, 0, 0, 2, "loss", 4, 40),
        StreamBytes(0, 0, 2, b"cd", 4, 40),
        StreamBytes(0, 1, 0, b"got it", 5, 50),
    ]


def test_what_a_late_segment_completes_comes_where_it_was_completed() -> None:
    wire = opened()
    wire.data(2, b"cd")
    wire.send(PSH | ACK, PEER_ISN + 1, b"got it", ack=ISN + 5, server=True)
    assert wire.data(0, b"ab") == [
        StreamBytes(0, 1, 0, b"got it", 5, 50),
        StreamBytes(0, 0, 0, b"ab", 6, 60),
        StreamBytes(0, 0, 2, b"cd", 4, 40),
    ]


def test_what_does_not_answer_held_bytes_does_not_wait_for_them() -> None:
    wire = opened()
    wire.data(2, b"cd")
    assert wire.send(PSH | ACK, PEER_ISN + 1, b"hello", ack=ISN + 1, server=True) == [
        StreamBytes(0, 1, 0, b"hello", 5, 50)
    ]


def test_segments_of_the_side_that_waits_count_among_the_8() -> None:
    wire = opened()
    wire.data(2, b"cd")
    for index in range(8):
        assert wire.send(PSH | ACK, PEER_ISN + 1 + index, b"x", ack=ISN + 5, server=True) == []
    events = wire.send(PSH | ACK, PEER_ISN + 9, b"y", ack=ISN + 5, server=True)
    assert gaps(events) == [(0, 2, "loss")]
    assert of(events) == b"cd"
    assert of(events, 1) == b"xxxxxxxxy"


def test_what_waits_for_the_other_side_counts_for_the_limit() -> None:
    wire = opened(max_pending_bytes=2000)
    wire.data(2, b"cd")
    assert wire.send(PSH | ACK, PEER_ISN + 1, bytes(1000), ack=ISN + 5, server=True) == []
    assert wire.tcp.pending_bytes == 256 + 2 + 256 + 1000
    events = wire.send(PSH | ACK, PEER_ISN + 1001, bytes(1000), ack=ISN + 5, server=True)
    assert gaps(events) == [(0, 2, "pending-limit")]
    assert wire.tcp.pending_bytes == 0


def test_holes_are_lost_only_up_to_the_acknowledgement() -> None:
    wire = opened()
    wire.data(4, b"e")
    wire.acknowledge(2)
    seen = [event for index in range(9) for event in wire.data(5 + index, b"f")]
    assert seen == [StreamGap(0, 0, 0, 2, "loss", 4, 40)]
    assert of(wire.data(2, b"cd")) == b"cde" + b"f" * 9


def test_what_is_pending_at_the_end_comes_after_its_gap() -> None:
    wire = opened()
    wire.data(0, b"ab")
    wire.data(5, b"fg")
    assert wire.tcp.finish() == [StreamGap(0, 0, 2, 3, "loss", 5, 50, 4), StreamBytes(0, 0, 5, b"fg", 5, 50)]
    assert wire.tcp.finish() == []


def test_acknowledged_bytes_that_were_never_captured_are_a_gap_at_the_end() -> None:
    wire = opened()
    wire.data(0, b"ab")
    wire.acknowledge(7)
    assert wire.tcp.finish() == [StreamGap(0, 0, 2, 5, "loss", 5, 50, 4)]


def test_a_single_acknowledged_byte_at_the_end_is_a_fin_not_captured() -> None:
    wire = opened()
    wire.data(0, b"ab")
    wire.acknowledge(3)
    assert wire.tcp.finish() == []


def test_the_acknowledgement_of_a_captured_fin_is_no_missing_byte() -> None:
    wire = opened()
    wire.send(FIN | ACK, ISN + 1, b"ab")
    wire.acknowledge(3)
    assert wire.tcp.finish() == []


def test_more_pending_than_one_direction_may_hold_gives_up_the_hole() -> None:
    wire = opened(max_pending_bytes=1000)
    assert wire.data(10, bytes(400)) == []
    events = wire.data(500, bytes(400))
    assert [type(event) for event in events] == [StreamGap, StreamBytes]
    assert gaps(events) == [(0, 10, "pending-limit")]
    assert wire.tcp.pending_bytes == 400 + 256


def test_more_pending_than_all_may_hold_gives_up_the_hole_that_waited_longest() -> None:
    wire = opened(max_pending_total=1000)
    wire.data(10, bytes(400))
    wire.port += 1
    wire.send(SYN, ISN)
    assert wire.data(10, bytes(400)) == [
        StreamGap(0, 0, 0, 10, "pending-limit", 4, 40),
        StreamBytes(0, 0, 10, bytes(400), 4, 40),
    ]
    assert wire.tcp.pending_bytes == 400 + 256


@pytest.mark.check
def test_giving_up_the_hole_that_waited_longest_costs_the_same_however_many_were_given_up() -> None:
    tcp = TcpReassembler(max_pending_total=46_000 * 258, max_connections=1 << 16)

    def feed(port: int, flags: int, seq: int, payload: bytes) -> None:
        tcp.feed(TcpSegment(CLIENT, port, SERVER, 1801, seq, 0, flags, payload, 1, 1))

    costs = []
    for number in range(4):
        began = process_time()
        for port in range(1, 60_000):
            feed(port, PSH | ACK if number else SYN, 100 * number, b"ab" if number else b"")
        costs.append(process_time() - began)
    assert tcp.pending_bytes == 46_000 * 258
    # In a dict the first key costs the more, the more went before it: four times and more in the third round.
    assert costs[3] < 3 * costs[1], costs


def test_bytes_cut_by_the_snap_length_are_a_gap_in_place() -> None:
    wire = opened()
    assert wire.data(0, b"ab", cut=3) == [
        StreamBytes(0, 0, 0, b"ab", 4, 40),
        StreamGap(0, 0, 2, 3, "snaplen", 4, 40, 4),
    ]
    assert wire.data(5, b"f") == [StreamBytes(0, 0, 5, b"f", 5, 50)]


def test_headers_alone_still_move_the_stream() -> None:
    wire = opened()
    assert wire.data(0, b"", cut=100) == [StreamGap(0, 0, 0, 100, "snaplen", 4, 40)]
    assert wire.data(100, b"x") == [StreamBytes(0, 0, 100, b"x", 5, 50)]


def test_a_cut_segment_out_of_order_waits_with_its_gap() -> None:
    wire = opened()
    assert wire.data(2, b"c", cut=2) == []
    assert wire.data(0, b"ab") == [
        StreamBytes(0, 0, 0, b"ab", 5, 50),
        StreamBytes(0, 0, 2, b"c", 4, 40),
        StreamGap(0, 0, 3, 2, "snaplen", 4, 40, 4),
    ]


def test_a_retransmission_fills_what_was_cut_while_it_is_pending() -> None:
    wire = opened()
    wire.data(2, b"c", cut=4)
    wire.data(4, b"ef")
    assert wire.data(0, b"ab") == [
        StreamBytes(0, 0, 0, b"ab", 6, 60),
        StreamBytes(0, 0, 2, b"c", 4, 40),
        StreamGap(0, 0, 3, 1, "snaplen", 4, 40, 4),
        StreamBytes(0, 0, 4, b"ef", 5, 50),
        StreamGap(0, 0, 6, 1, "snaplen", 4, 40, 5),
    ]


# Mid-stream


def test_a_connection_met_midstream_takes_the_client_of_the_server_port_as_direction_0() -> None:
    wire = Wire()
    first = wire.send(ACK, 77, b"hello", ack=5, server=True)
    assert first == [StreamEvent(0, "start_midstream", 1, 1, 10)]
    assert wire.tcp.connection(0) == (CLIENT, PORT, SERVER, 1801)
    assert wire.tcp.finish() == [StreamBytes(0, 1, 0, b"hello", 1, 10)]


def test_midstream_without_a_server_port_the_first_endpoint_seen_is_direction_0() -> None:
    wire = Wire(server_ports=())
    wire.send(ACK, 77, b"hello", ack=5, server=True)
    assert wire.tcp.connection(0) == (SERVER, 1801, CLIENT, PORT)


def test_a_midstream_direction_starts_when_its_first_bytes_are_acknowledged() -> None:
    wire = midstream()
    assert wire.data(5, b"next") == [StreamBytes(0, 0, 5, b"next", 3, 30)]


def test_a_midstream_direction_starts_with_the_lowest_of_its_first_four_segments() -> None:
    wire = Wire()
    assert kinds(wire.data(6, b"ghi")) == ["start_midstream"]
    assert wire.data(3, b"def") == []
    assert wire.data(9, b"jkl") == []
    events = wire.data(12, b"mno")
    assert of(events) == b"defghijklmno"
    assert isinstance(events[0], StreamBytes)
    assert events[0].offset == 0
    # The answer comes too late: these bytes are before offset 0.
    assert wire.data(0, b"abc") == []
    assert wire.tcp.ignored == {"before_start": 1}


def test_a_lone_byte_without_psh_does_not_start_a_direction() -> None:
    wire = Wire()
    wire.send(ACK, ISN, b"\x00")
    wire.data(0, b"abcd")
    assert wire.tcp.finish() == [StreamBytes(0, 0, 0, b"abcd", 2, 20)]


# Segments nobody should believe


@pytest.mark.parametrize("offset", [2**30 + 1, -(2**30) - 1, 2**31])
def test_a_segment_far_out_of_the_window_is_ignored_and_counted(offset: int) -> None:
    wire = opened()
    assert wire.data(offset, b"evil") == []
    assert wire.tcp.ignored == {"out_of_window": 1}
    assert of(wire.data(0, b"good")) == b"good"
    assert wire.tcp.finish() == []


def test_a_far_segment_the_peer_acknowledges_goes_on_after_a_gap_of_unknown_length() -> None:
    wire = opened()
    wire.data(0, b"abc")
    far = 2**31 - 5
    assert wire.data(far, b"def") == []
    wire.acknowledge(far + 3)
    assert wire.data(far + 3, b"ghi") == [
        StreamGap(0, 0, 3, None, "loss", 7, 70, 4),
        StreamBytes(0, 0, 3, b"ghi", 7, 70),
    ]
    assert wire.data(far + 6, b"j") == [StreamBytes(0, 0, 6, b"j", 8, 80)]


def test_a_reset_far_out_of_the_window_is_ignored() -> None:
    wire = opened()
    assert wire.send(RST, ISN + 1 + 2**31) == []
    assert of(wire.data(0, b"still here")) == b"still here"


def test_a_forged_syn_on_a_live_connection_opens_nothing() -> None:
    wire = opened()
    wire.data(0, b"ab")
    assert wire.send(SYN, 123456) == []
    assert wire.send(ACK, 123457, b"forged", ack=1) == []
    assert wire.data(2, b"cd") == [StreamBytes(0, 0, 2, b"cd", 7, 70)]
    assert wire.tcp.ignored["unconfirmed_syn"] == 1


def test_a_syn_ack_for_another_syn_is_ignored() -> None:
    wire = Wire()
    wire.send(SYN, ISN)
    assert wire.send(SYN | ACK, PEER_ISN, ack=ISN + 2**20, server=True) == []
    assert kinds(wire.send(SYN | ACK, PEER_ISN + 5, ack=ISN + 1, server=True)) == ["syn_ack"]


# Closing


def test_two_fins_close_the_connection() -> None:
    wire = opened()
    assert wire.send(FIN | ACK, ISN + 1, b"bye", ack=PEER_ISN + 1) == [
        StreamBytes(0, 0, 0, b"bye", 4, 40),
        StreamEvent(0, "fin", 0, 4, 40),
    ]
    assert wire.send(FIN | ACK, PEER_ISN + 1, ack=ISN + 5, server=True) == [
        StreamEvent(0, "fin", 1, 5, 50),
        StreamEvent(0, "closed", 1, 5, 50),
    ]
    assert wire.send(ACK, ISN + 5, ack=PEER_ISN + 2) == []
    assert wire.tcp.finish() == []


def test_the_other_direction_goes_on_after_a_fin() -> None:
    wire = opened()
    wire.send(FIN | ACK, ISN + 1, b"request")
    answer = wire.send(ACK, PEER_ISN + 1, b"answer", ack=ISN + 9, server=True)
    assert answer == [StreamBytes(0, 1, 0, b"answer", 5, 50)]


def test_a_fin_is_told_after_the_bytes_before_it() -> None:
    wire = opened()
    assert wire.send(FIN | ACK, ISN + 4) == []
    assert wire.data(0, b"abc") == [StreamBytes(0, 0, 0, b"abc", 5, 50), StreamEvent(0, "fin", 0, 4, 40)]


def test_a_repeated_fin_is_told_once() -> None:
    wire = opened()
    assert kinds(wire.send(FIN | ACK, ISN + 1)) == ["fin"]
    assert wire.send(FIN | ACK, ISN + 1) == []
    assert wire.tcp.ignored == {}


def test_bytes_behind_a_fin_are_not_part_of_the_stream() -> None:
    wire = opened()
    wire.send(FIN | ACK, ISN + 4)
    assert of(wire.data(0, b"abcXYZ")) == b"abc"
    assert wire.data(3, b"more") == []
    assert wire.tcp.ignored == {"after_fin": 2}


def test_a_fin_below_captured_bytes_is_not_believed() -> None:
    wire = opened()
    wire.data(0, b"abcdef")
    assert wire.send(FIN | ACK, ISN + 3) == []
    assert wire.tcp.ignored == {"out_of_window": 1}
    assert of(wire.data(6, b"g")) == b"g"


def test_holes_are_lost_when_both_fins_are_acknowledged() -> None:
    wire = opened()
    wire.send(FIN | ACK, ISN + 4, b"def", ack=PEER_ISN + 1)
    wire.send(FIN | ACK, PEER_ISN + 1, ack=ISN + 1, server=True)
    assert wire.send(ACK, PEER_ISN + 2, ack=ISN + 8, server=True) == [
        StreamGap(0, 0, 0, 3, "loss", 4, 40),
        StreamBytes(0, 0, 3, b"def", 4, 40),
        StreamEvent(0, "fin", 0, 4, 40),
        StreamEvent(0, "closed", 1, 6, 60),
    ]


def test_a_reset_delivers_what_is_pending_and_what_follows_it_is_counted() -> None:
    wire = opened()
    wire.data(2, b"cd")
    assert wire.send(RST, ISN + 5) == [
        StreamGap(0, 0, 0, 2, "loss", 4, 40),
        StreamBytes(0, 0, 2, b"cd", 4, 40),
        StreamEvent(0, "rst", 0, 5, 50),
        StreamEvent(0, "closed", 0, 5, 50, reset_of(0, 5, 50)),
    ]
    assert wire.data(4, b"ef") == []
    assert wire.tcp.ignored == {"after_rst": 1}


def test_a_refused_connection_is_a_syn_and_a_reset() -> None:
    wire = Wire()
    wire.send(SYN, ISN)
    assert wire.send(RST | ACK, 0, ack=ISN + 1, server=True) == [
        StreamEvent(0, "rst", 1, 2, 20),
        StreamEvent(0, "closed", 1, 2, 20),
    ]


# Ports used again


def test_a_syn_after_a_reset_opens_a_new_stream_whatever_its_number() -> None:
    wire = opened()
    wire.send(RST, ISN + 1)
    assert wire.send(SYN, ISN) == [StreamEvent(1, "syn", 0, 5, 50)]


def test_a_syn_with_another_number_after_the_close_opens_a_new_stream() -> None:
    wire = opened()
    wire.send(FIN | ACK, ISN + 1, ack=PEER_ISN + 1)
    wire.send(FIN | ACK, PEER_ISN + 1, ack=ISN + 2, server=True)
    assert wire.send(SYN, ISN) == []
    assert wire.send(SYN, 500_000) == [StreamEvent(1, "syn", 0, 7, 70)]
    assert wire.send(SYN | ACK, 600_000, ack=500_001, server=True) == [StreamEvent(1, "syn_ack", 1, 8, 80)]


def test_a_new_stream_on_a_half_closed_connection_ends_the_old_one() -> None:
    wire = opened()
    wire.data(2, b"cd")
    wire.send(FIN | ACK, ISN + 5)
    assert wire.send(SYN, 500_000) == [
        StreamGap(0, 0, 0, 2, "loss", 4, 40),
        StreamBytes(0, 0, 2, b"cd", 4, 40),
        StreamEvent(0, "fin", 0, 5, 50),
        StreamEvent(0, "closed", 0, 6, 60),
        StreamEvent(1, "syn", 0, 6, 60),
    ]


def test_a_syn_on_a_live_connection_opens_a_new_stream_once_it_is_answered() -> None:
    wire = opened()
    wire.data(0, b"ab")
    assert wire.send(SYN, 500_000) == []
    assert wire.send(SYN | ACK, 600_000, ack=500_001, server=True) == [
        StreamEvent(0, "closed", 1, 6, 60),
        StreamEvent(1, "syn", 0, 5, 50),
        StreamEvent(1, "syn_ack", 1, 6, 60),
    ]
    assert wire.send(ACK, 500_001, b"new", ack=600_001) == [
        StreamEvent(1, "established", 0, 7, 70),
        StreamBytes(1, 0, 0, b"new", 7, 70),
    ]
    assert wire.tcp.connection(0) == wire.tcp.connection(1)


def test_where_the_peer_was_never_captured_data_confirms_the_new_syn() -> None:
    wire = Wire()
    wire.send(SYN, ISN)
    assert wire.data(0, b"ab") == [StreamBytes(0, 0, 0, b"ab", 2, 20)]
    assert wire.send(SYN, 500_000) == []
    assert wire.send(ACK, 500_001, b"new", ack=1) == [
        StreamEvent(0, "closed", 0, 4, 40),
        StreamEvent(1, "syn", 0, 3, 30),
        StreamBytes(1, 0, 0, b"new", 4, 40),
    ]


# Bounds


def test_the_connection_longest_silent_is_evicted_with_its_gaps() -> None:
    wire = opened(max_connections=2)
    wire.data(2, b"cd")
    wire.port += 1
    wire.send(SYN, ISN)
    wire.port += 1
    assert wire.send(SYN, ISN) == [
        StreamGap(0, 0, 0, 2, "loss", 4, 40),
        StreamBytes(0, 0, 2, b"cd", 4, 40),
        StreamEvent(0, "evicted", 0, 6, 60),
        StreamEvent(2, "syn", 0, 6, 60),
    ]


def test_an_idle_connection_is_evicted_by_packet_time() -> None:
    wire = opened(idle_timeout=100)
    wire.frame += 20
    assert wire.data(0, b"ab") == [
        StreamEvent(0, "evicted", 0, 24, 240),
        StreamEvent(1, "start_midstream", 0, 24, 240),
    ]


def test_endpoints_of_a_stream_long_gone_are_refused() -> None:
    wire = Wire(max_connections=1)
    for _ in range(3):
        wire.port += 1
        wire.send(SYN, ISN)
    assert wire.tcp.connection(1) == (CLIENT, PORT + 2, SERVER, 1801)
    with pytest.raises(MsmqWireError):
        wire.tcp.connection(0)
    with pytest.raises(MsmqWireError):
        wire.tcp.connection(3)


def test_an_endpoint_that_talks_to_itself_does_no_harm() -> None:
    tcp = TcpReassembler()
    ends = (CLIENT, 1801, CLIENT, 1801)
    assert kinds(tcp.feed(TcpSegment(*ends, ISN, 0, SYN, b"", 1, 1))) == ["syn"]
    assert of(tcp.feed(TcpSegment(*ends, ISN + 1, 0, ACK, b"land", 2, 2))) == b"land"
    assert tcp.finish() == []


def test_ipv6_endpoints_and_streams_are_numbered_by_appearance() -> None:
    tcp = TcpReassembler()
    six = bytes(15) + b"\x01", bytes(15) + b"\x02"
    assert kinds(tcp.feed(TcpSegment(CLIENT, PORT, SERVER, 1801, ISN, 0, SYN, b"", 1, 1))) == ["syn"]
    assert tcp.feed(TcpSegment(six[0], PORT, six[1], 1801, ISN, 0, SYN, b"", 2, 2)) == [
        StreamEvent(1, "syn", 0, 2, 2)
    ]
    assert tcp.connection(1) == (six[0], PORT, six[1], 1801)


def test_a_midstream_start_that_waits_gives_way_to_the_limit() -> None:
    wire = Wire(max_pending_bytes=1000)
    wire.data(2000, bytes(600))
    assert of(wire.data(2600, bytes(600))) == bytes(1200)
    assert wire.tcp.pending_bytes == 0


# Properties


def shuffled_within(items: list[tuple[int, int]], window: int, random: Random) -> list[tuple[int, int]]:
    keyed = sorted((index + random.random() * window, item) for index, item in enumerate(items))
    return [item for _, item in keyed]


def accounted(events: list[TcpEvent], stream: bytes) -> int:
    """Check that bytes and gaps follow each other without a hole or a repeat; return where they end."""
    position = 0
    for event in events:
        if isinstance(event, StreamBytes):
            assert event.offset == position
            assert event.data
            assert event.data == stream[position : position + len(event.data)]
            position += len(event.data)
        elif isinstance(event, StreamGap):
            assert event.offset == position
            assert event.length
            position += event.length
        assert not isinstance(event, StreamConflict)
    return position


@given(
    st.binary(min_size=1, max_size=600),
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.randoms(use_true_random=False),
)
def test_cut_shuffled_duplicated_and_overlapping_segments_give_the_stream(
    stream: bytes, isn: int, mss: int, random: Random
) -> None:
    wire = Wire()
    wire.send(SYN, isn)
    pieces = [(at, min(at + mss, len(stream))) for at in range(0, len(stream), mss)]
    pieces += random.sample(pieces, len(pieces) // 3)
    pieces += [(max(0, low - random.randrange(20)), min(len(stream), high + 9)) for low, high in pieces[::4]]
    events: list[TcpEvent] = []
    for low, high in shuffled_within(sorted(pieces), 8, random):
        events += wire.send(PSH | ACK, isn + 1 + low, stream[low:high])
    assert accounted(events, stream) == len(stream)
    assert gaps(events) == []
    assert wire.tcp.pending_bytes == 0
    assert wire.tcp.finish() == []


@given(
    st.binary(min_size=40, max_size=2000),
    st.integers(0, 2**32 - 1),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.sampled_from([300, 1000, 1 << 20]),
)
def test_with_random_holes_bytes_and_gaps_account_for_every_offset(
    stream: bytes, isn: int, random: Random, acknowledged: bool, limit: int
) -> None:
    wire = Wire(max_pending_bytes=limit)
    wire.send(SYN, isn)
    wire.send(SYN | ACK, PEER_ISN, ack=isn + 1, server=True)
    pieces = [(at, min(at + 10, len(stream))) for at in range(0, len(stream), 10)]
    kept = [piece for piece in pieces if random.random() < 0.7]
    events: list[TcpEvent] = []
    for low, high in shuffled_within(kept, 3, random):
        shown = random.randint(1, high - low) if random.random() < 0.2 else high - low
        events += wire.send(PSH | ACK, isn + 1 + low, stream[low : low + shown], cut=high - low - shown)
        if acknowledged:
            events += wire.send(ACK, PEER_ISN + 1, ack=isn + 1 + high, server=True)
    events += wire.send(FIN | ACK, isn + 1 + len(stream))
    events += wire.tcp.finish()
    assert accounted(events, stream) == len(stream)
    assert kinds(events)[-1] == "fin"
    assert wire.tcp.pending_bytes == 0


@pytest.mark.slow
@pytest.mark.tshark
def test_tshark_follows_the_same_bytes_through_reordering_and_retransmission(tmp_path: Path) -> None:
    random = Random(1801)
    stream, isn = random.randbytes(3000), 2**32 - 1000
    pieces = [(at, min(at + random.choice([100, 137]), len(stream))) for at in range(0, len(stream), 100)]
    pieces = shuffled_within(sorted(pieces + random.sample(pieces, 8)), 5, random)
    packets = [(False, isn, 0, SYN, b""), (True, 7, isn + 1, SYN | ACK, b""), (False, isn + 1, 8, ACK, b"")]
    packets += [(False, isn + 1 + low, 8, PSH | ACK, stream[low:high]) for low, high in pieces]
    wire, events = Wire(), list[TcpEvent]()
    capture = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for server, seq, ack, flags, payload in packets:
        events += wire.send(flags, seq, payload, ack=ack, server=server)
        ends, ports = ((SERVER, CLIENT), (1801, PORT)) if server else ((CLIENT, SERVER), (PORT, 1801))
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 0, 0, 64, 6, 0) + b"".join(ends)
        tcp = struct.pack(">HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, 0x50, flags, 65535, 0, 0)
        frame = ip + tcp + payload
        capture += struct.pack("<IIII", wire.frame, 0, len(frame), len(frame)) + frame
    (tmp_path / "stream.pcap").write_bytes(capture)
    command = ["tshark", "-r", str(tmp_path / "stream.pcap"), "-q", "-z", "follow,tcp,raw,0"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    body = lines[lines.index("Node 1: 192.0.2.2:1801") + 1 : -1]
    assert of(events + wire.tcp.finish()) == b"".join(bytes.fromhex(line) for line in body) == stream


NEAR = st.integers(-70_000, 70_000) | st.integers(-20, 60)


@st.composite
def any_segment(draw: st.DrawFn) -> TcpSegment:
    """A segment of one of few connections, often near what the others carry, with any flags and lengths."""
    port = draw(st.integers(1, 3) | st.just(1801))
    base = draw(st.sampled_from([0, 0, 0, 2**30, 2**31, 3 * 2**30]))
    server = draw(st.booleans())
    return TcpSegment(
        src=SERVER if server else CLIENT,
        sport=1801 if server else port,
        dst=CLIENT if server else SERVER,
        dport=port if server else 1801,
        seq=(base + draw(NEAR)) % 2**32,
        ack=(base + draw(NEAR)) % 2**32,
        flags=draw(st.sampled_from([ACK, ACK, ACK, PSH | ACK]) | st.integers(0, 63)),
        payload=draw(st.binary(max_size=40)),
        frame=1,
        time=draw(st.integers(0, 1000)),
        cut=draw(st.sampled_from([0, 0, 0, 5, 1000, 2**31, -3])),
    )


@settings(max_examples=examples(300))
@given(st.lists(any_segment(), max_size=80), st.sampled_from([None, 50]))
def test_any_segments_keep_within_the_limits_and_every_direction_stays_contiguous(
    segments: list[TcpSegment], idle: int | None
) -> None:
    tcp = TcpReassembler(max_pending_bytes=1500, max_pending_total=2000, max_connections=3, idle_timeout=idle)
    events: list[TcpEvent] = []
    for segment in segments:
        events += tcp.feed(segment)
        assert 0 <= tcp.pending_bytes <= 2000
    events += tcp.finish()
    assert tcp.pending_bytes == 0
    position: dict[tuple[int, int], int] = {}
    for event in events:
        if isinstance(event, StreamBytes | StreamGap):
            key = (event.stream, event.direction)
            assert event.offset == position.get(key, 0)
            size = len(event.data) if isinstance(event, StreamBytes) else event.length or 0
            assert size > 0 or (isinstance(event, StreamGap) and event.length is None)
            position[key] = event.offset + size
    assert all(e.length > 0 for e in events if isinstance(e, StreamConflict))
