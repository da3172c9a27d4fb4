"""What segments show of the network: counted by hand, one kind a test."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest

from msmq_wire.reassembly.tcp import TcpReassembler
from msmq_wire.reassembly.tcp_events import ACK, FIN, PSH, RST, SYN, StreamEvent, TcpEvent, TcpSegment
from msmq_wire.reassembly.tcp_evidence import FrameTime, ResetEvidence, SideEvidence, TcpEvidence

CLIENT, SERVER = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
ISNS = 1000, 9000
START = 1_700_000_000_000_000_000
MS = 1_000_000
GIB = 1 << 30


class Line:
    """Feeds a reassembler; a frame is numbered from 1 and comes at a millisecond after `START`.

    Client packets are numbered from 1, server packets from 501; their hop limits are 128 and 57.
    """

    def __init__(self, *, opened: bool = True, **limits: Any) -> None:
        self.tcp = TcpReassembler(**limits)
        self.frame = 0
        self.idents = [0, 500]
        self.events: list[TcpEvent] = []
        if opened:
            self.send(0, 0, SYN, -1, acks=None)
            self.send(1, 1, SYN | ACK, -1, acks=0)
            self.send(2, 0, ACK, 0, acks=0)

    def send(
        self, ms: int, side: int, flags: int, offset: int, payload: bytes = b"", *, acks: int | None,
        window: int = 8192, hop_limit: int | None = None, ident: int | None = None,
    ) -> FrameTime:  # fmt: skip
        """A segment at an offset of its side that acknowledges an offset of the other one."""
        self.frame += 1
        self.idents[side] += 1
        ends = (CLIENT, 40000, SERVER, 1801) if side == 0 else (SERVER, 1801, CLIENT, 40000)
        seq = (ISNS[side] + 1 + offset) % 2**32
        ack = 0 if acks is None else ISNS[1 - side] + 1 + acks
        number = self.idents[side] if ident is None else ident
        hops = (128, 57)[side] if hop_limit is None else hop_limit
        time = START + ms * MS
        self.events += self.tcp.feed(
            TcpSegment(*ends, seq, ack, flags, payload, self.frame, time, 0, b"", window, hops, number)
        )
        return FrameTime(self.frame, time)

    def data(self, ms: int, offset: int, payload: bytes, **more: Any) -> FrameTime:
        return self.send(ms, 0, PSH | ACK, offset, payload, acks=more.pop("acks", 0), **more)

    def ack(self, ms: int, acks: int, **more: Any) -> FrameTime:
        return self.send(ms, 1, ACK, 0, acks=acks, **more)

    def kinds(self) -> list[str]:
        return [one.kind for one in self.events if isinstance(one, StreamEvent)]

    def evidence(self) -> TcpEvidence | None:
        """What is told of the connection, which the end of the capture ends at the latest."""
        self.events += self.tcp.finish()
        steps = [one for one in self.events if isinstance(one, StreamEvent)] + self.tcp.open_ends
        found = [one.evidence for one in steps if one.kind in ("closed", "evicted", "capture_end")]
        assert len(found) <= 1
        return found[0] if found else None

    def client(self) -> SideEvidence:
        found = self.evidence()
        assert found is not None
        return found.sides[0]

    def server(self) -> SideEvidence:
        found = self.evidence()
        assert found is not None
        return found.sides[1]


def test_a_connection_that_keeps_to_the_rules_shows_nothing() -> None:
    line = Line()
    for number in range(20):
        line.data(10 + number * 10, number * 4, b"data")
        line.ack(15 + number * 10, number * 4 + 4)
    assert line.evidence() is None
    assert line.tcp.open_ends == []


def test_data_that_was_captured_and_comes_again_is_a_retransmission() -> None:
    line = Line()
    sent = line.data(10, 0, b"data")
    first = line.data(310, 0, b"data")
    last = line.data(910, 0, b"data")
    assert line.client() == SideEvidence(
        retransmissions=2,
        first_retransmission=first,
        last_retransmission=last,
        unanswered=2,
        unanswered_since=sent,
        unanswered_time=900 * MS,
        # The SYN-ACK was the last of the server, at 1 ms.
        idle_before=9 * MS,
        unacknowledged=4,
    )


def test_an_answer_ends_what_was_unanswered() -> None:
    line = Line()
    line.data(10, 0, b"data")
    line.data(310, 0, b"data")
    line.ack(320, 4)
    side = line.client()
    assert (side.retransmissions, side.unanswered, side.unanswered_since) == (1, 0, None)
    assert (side.unanswered_time, side.idle_before, side.unacknowledged) == (None, None, 0)


def test_nobody_is_silent_of_whom_nothing_was_captured() -> None:
    line = Line(opened=False)
    line.data(0, 0, b"data", acks=0)
    line.data(300, 0, b"data", acks=0)
    side = line.client()
    assert (side.retransmissions, side.unanswered, side.unacknowledged) == (1, 0, 0)


def test_silence_after_idling_says_how_long_it_was_idle() -> None:
    line = Line()
    line.data(10, 0, b"data")
    line.ack(11, 4)
    sent = line.data(1_800_011, 4, b"more")
    line.data(1_800_311, 4, b"more")
    line.data(1_800_911, 4, b"more")
    line.send(1_802_111, 0, RST | ACK, 8, acks=0)
    found = line.evidence()
    assert found is not None
    side = found.sides[0]
    assert (side.unanswered, side.unanswered_since, side.idle_before) == (2, sent, 1_800_000 * MS)
    assert (side.unanswered_time, side.unacknowledged) == (900 * MS, 4)
    assert found.reset == ResetEvidence(
        at=FrameTime(9, START + 1_802_111 * MS),
        side=0,
        idle=1200 * MS,
        silent=1200 * MS,
        hop_limit=128,
        usual_hop_limit=128,
        forged_by=None,
    )


@pytest.mark.parametrize(
    ("ms", "ident", "count"),
    [
        # The client had sent 3 packets with its data; then comes the frame again, or a new packet.
        (11, 3, 0),
        (11, 2, 0),
        (20, 3, 0),
        # However late, as from another network.
        (21, 3, 0),
        (5000, 3, 0),
        (11, 4, 1),
        (11, 0x8000, 1),
    ],
)
def test_a_frame_captured_twice_is_no_retransmission(ms: int, ident: int, count: int) -> None:
    line = Line()
    line.data(10, 0, b"data")
    line.data(ms, 0, b"data", ident=ident)
    found = line.evidence()
    assert (0 if found is None else found.sides[0].retransmissions) == count


@pytest.mark.parametrize(("heard", "count"), [(False, 0), (True, 1)])
def test_without_identification_a_retransmission_so_soon_has_a_reason(heard: bool, count: int) -> None:
    line = Line()
    line.data(10, 0, b"data", ident=0)
    if heard:
        line.ack(12, 0)
    line.data(13, 0, b"data", ident=0)
    found = line.evidence()
    assert (0 if found is None else found.sides[0].retransmissions) == count


def test_each_copy_of_pipelined_segments_is_a_copy() -> None:
    line = Line()
    for offset, ident in ((0, 3), (4, 4), (0, 3), (4, 4), (8, 5), (8, 5)):
        line.data(10, offset, b"data", ident=ident)
    assert line.evidence() is None


@pytest.mark.parametrize(
    ("acks", "ms", "recovered"),
    [
        # How often the byte before the hole was acknowledged, when it was filled, whether that is a loss.
        (3, 13, 1),
        (1, 15, 1),
        (1, 12, 0),
        (0, 300, 0),
    ],
)
def test_a_hole_is_a_loss_on_the_way_once_the_receiver_asked_for_it(
    acks: int, ms: int, recovered: int
) -> None:
    line = Line()
    line.data(10, 0, b"data")
    line.data(11, 8, b"more")
    for _ in range(acks):
        line.ack(12, 4)
    filled = line.data(ms, 4, b"lost")
    line.ack(ms, 12)
    found = line.evidence()
    assert (found is not None) == bool(recovered)
    if found is not None:
        side = found.sides[0]
        assert (side.recovered, side.retransmissions, side.holes) == (1, 0, 1)
        assert side.first_retransmission == side.last_retransmission == filled
        assert not found.lossy


def test_each_hole_is_asked_for_by_itself() -> None:
    line = Line()
    line.data(10, 4, b"more")
    for _ in range(3):
        line.ack(11, 0)
    line.data(12, 0, b"lost")
    line.ack(13, 8)
    # The next one was filled at once: two frames changed places.
    line.data(20, 12, b"more")
    line.data(20, 8, b"late")
    side = line.client()
    assert (side.holes, side.recovered) == (2, 1)


def test_an_acknowledgment_captured_twice_asks_once() -> None:
    line = Line()
    line.data(10, 4, b"more")
    for ident in (600, 600, 601, 601):
        line.ack(11, 0, ident=ident)
    line.data(12, 0, b"late")
    assert line.evidence() is None


def test_what_the_capture_lost_says_nothing_of_the_network() -> None:
    line = Line()
    line.data(10, 0, b"data")
    for number in range(10):
        line.data(20 + number, 8 + number * 4, b"more")
        line.ack(20 + number, 12 + number * 4)
    assert line.evidence() is None


def test_evidence_of_a_connection_of_which_frames_are_missing_says_so() -> None:
    line = Line()
    line.data(10, 0, b"data")
    line.data(400, 0, b"data")
    # The server has what was never captured.
    line.ack(401, 100)
    found = line.evidence()
    assert found is not None
    assert (found.sides[0].retransmissions, found.lossy) == (1, True)


def test_a_full_window_is_counted_and_timed_until_it_opens() -> None:
    line = Line()
    line.data(10, 0, b"data")
    first = line.ack(11, 4, window=0)
    line.data(311, 4, b"m")
    line.ack(312, 4, window=0)
    line.ack(900, 4)
    line.data(901, 4, b"more")
    last = line.ack(1000, 8, window=0)
    line.ack(1100, 8, window=1)
    side = line.server()
    assert (side.zero_windows, side.window_closings) == (3, 2)
    assert (side.first_zero_window, side.last_zero_window) == (first, last)
    assert (side.longest_zero_window, side.closed_since) == (889 * MS, None)
    # The byte that probed the window is no reason to call what repeats it a retransmission.
    assert line.client() == SideEvidence()


def test_a_window_that_stays_full_is_timed_to_the_last_segment() -> None:
    line = Line()
    line.ack(10, 0, window=0)
    line.send(4010, 0, ACK, 0, acks=0)
    side = line.server()
    assert (side.zero_windows, side.longest_zero_window, side.closed_since) == (1, 4000 * MS, START + 10 * MS)


@pytest.mark.parametrize("flags", [SYN | ACK, FIN | ACK, RST | ACK])
def test_the_window_of_who_begins_or_ends_says_nothing(flags: int) -> None:
    line = Line(opened=False)
    line.send(0, 0, SYN, -1, acks=None)
    line.send(1, 1, SYN | ACK, -1, acks=0, window=0 if flags & SYN else 8192)
    line.send(2, 0, ACK, 0, acks=0)
    if not flags & SYN:
        line.send(3, 1, flags, 0, acks=0, window=0)
    found = line.evidence()
    assert found is None or found.sides == (SideEvidence(), SideEvidence())


def test_a_reset_that_answers_the_first_data_after_idling_was_silent_since() -> None:
    line = Line()
    line.data(10, 0, b"data")
    line.ack(11, 4)
    line.data(3_600_011, 4, b"more")
    line.send(3_600_012, 1, RST | ACK, 0, acks=8)
    found = line.evidence()
    assert found is not None
    assert found.reset is not None
    assert (found.reset.idle, found.reset.silent) == (1 * MS, 3_600_001 * MS)


@pytest.mark.parametrize("flags", [SYN, PSH | ACK])
def test_a_copy_that_was_routed_once_more_lets_hop_limits_vary(flags: int) -> None:
    line = Line(opened=False)
    line.send(0, 0, SYN, -1, acks=None, ident=9)
    if flags == SYN:
        line.send(0, 0, SYN, -1, acks=None, ident=9, hop_limit=127)
    line.send(1, 1, SYN | ACK, -1, acks=0)
    line.send(2, 0, ACK, 0, acks=0)
    line.data(3, 0, b"data", ident=10)
    if flags != SYN:
        line.data(3, 0, b"data", ident=10, hop_limit=127)
    line.send(100, 0, RST, 4, acks=0, hop_limit=127)
    found = line.evidence()
    assert found is not None
    assert found.reset is not None
    assert found.reset.forged_by is None


@pytest.mark.parametrize(
    ("hops", "reset", "forged_by"),
    [
        # Hop limits of the server before, that of the reset, whether somebody else sent that.
        ((57,), 57, None),
        ((57,), 64, "hop_limit"),
        ((57,), 0, None),
        ((57, 58), 64, None),
        ((0,), 64, None),
    ],
)
def test_a_reset_with_another_hop_limit_is_not_of_that_side(
    hops: tuple[int, ...], reset: int, forged_by: str | None
) -> None:
    line = Line()
    for number, hop_limit in enumerate(hops):
        line.send(10 + number, 1, PSH | ACK, number * 4, b"data", acks=0, hop_limit=hop_limit)
        # Other than plain segments, which are not looked at one by one.
        line.send(10 + number, 1, PSH | ACK, number * 4, b"data", acks=0, hop_limit=hop_limit, window=0)
    line.send(500, 1, RST, len(hops) * 4, acks=0, hop_limit=reset)
    found = line.evidence()
    assert found is not None
    assert found.reset is not None
    assert (found.reset.side, found.reset.forged_by) == (1, forged_by)
    assert line.kinds()[-2:] == ["rst", "closed"]


def test_a_reset_that_fits_nothing_is_kept_and_the_connection_goes_on() -> None:
    line = Line()
    forged = line.send(10, 1, RST, GIB + 100, acks=0, hop_limit=57)
    line.send(20, 1, RST, GIB + 200, acks=0)
    line.data(30, 0, b"data")
    line.send(5000, 1, RST, 0, acks=4)
    found = line.evidence()
    assert found is not None
    assert found.reset == ResetEvidence(
        at=forged,
        side=1,
        idle=8 * MS,
        silent=9 * MS,
        hop_limit=57,
        usual_hop_limit=57,
        forged_by="sequence_number",
    )
    assert line.kinds()[-2:] == ["rst", "closed"]


def test_a_reset_far_from_all_bytes_is_doubted() -> None:
    line = Line()
    line.send(10, 0, RST, 1 << 25, acks=0)
    found = line.evidence()
    assert found is not None
    assert found.reset is not None
    assert found.reset.forged_by == "sequence_number"


def test_a_refused_connection_was_not_reset() -> None:
    line = Line(opened=False)
    line.send(0, 0, SYN, -1, acks=None)
    line.send(1, 1, RST | ACK, -ISNS[1] - 1, acks=0)
    assert line.kinds() == ["syn", "rst", "closed"]
    assert line.evidence() is None


def test_a_fin_sent_again_is_a_retransmission() -> None:
    line = Line()
    line.send(10, 0, FIN | ACK, 0, acks=0)
    again = line.send(400, 0, FIN | ACK, 0, acks=0)
    side = line.client()
    assert (side.retransmissions, side.first_retransmission) == (1, again)


def test_keep_alive_probes_are_no_retransmissions() -> None:
    line = Line()
    line.data(10, 0, b"data")
    line.ack(11, 4)
    for number in range(3):
        line.send(5000 + number * 1000, 0, ACK, 3, b"\0", acks=0)
    assert line.evidence() is None


def test_evidence_is_told_by_the_step_that_ends_the_connection() -> None:
    line = Line(max_connections=1)
    line.data(10, 0, b"data")
    line.data(400, 0, b"data")
    other = TcpSegment(CLIENT, 40001, SERVER, 1801, 1, 0, SYN, b"", 6, START + 500 * MS)
    steps = [one for one in line.tcp.feed(other) if isinstance(one, StreamEvent)]
    assert [one.kind for one in steps] == ["evicted", "syn"]
    assert steps[0].evidence is not None
    assert steps[0].evidence.sides[0].retransmissions == 1
    assert list(line.tcp.ends()) == [[]]
    assert line.tcp.open_ends == []


def test_evidence_seen_from_the_other_side_has_its_sides_turned() -> None:
    line = Line()
    line.data(10, 0, b"data")
    line.data(400, 0, b"data")
    line.send(500, 1, RST, 0, acks=4)
    found = line.evidence()
    assert found is not None
    assert found.reset is not None
    turned = found.seen_from(1)
    assert turned.reset is not None
    assert (turned.sides, turned.reset.side) == ((found.sides[1], found.sides[0]), 0)
    assert turned.seen_from(1) == found == found.seen_from(0)


def test_hostile_segments_take_neither_memory_nor_time() -> None:
    line = Line()
    before = process_time()
    for number in range(20_000):
        line.data(10 + number * 20, 0, b"data")
        line.ack(20 + number * 20, 0, window=0)
        line.send(25 + number * 20, 1, RST, GIB + 100, acks=0)
    assert process_time() - before < 10
    found = line.evidence()
    assert found is not None
    assert (found.sides[0].retransmissions, found.sides[1].zero_windows) == (19_999, 20_000)
    assert found.sides[1].window_closings == 1
    assert len([one for one in line.events if isinstance(one, StreamEvent)]) < 5


def test_many_holes_take_little_time_and_accuse_nobody() -> None:
    line = Line()
    before = process_time()
    for number in range(3000):
        line.data(10 + number, 100_000 - number * 4, b"da")
    assert process_time() - before < 5
    flow = line.tcp.flow((CLIENT, 40000, SERVER, 1801))
    assert flow is not None
    assert flow.evidence == SideEvidence(holes=1)
    assert line.evidence() is None
