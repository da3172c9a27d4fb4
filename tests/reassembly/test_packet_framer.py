from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.reassembly.packet_framer import (
    FramedPacket,
    FramerEvent,
    PacketFramer,
    StreamHole,
    is_credible,
)

MAX = 0x00400000


def packet(size: int, flags: int = 3, fill: bytes = b".", *, length: int | None = None) -> bytes:
    """A packet that says it has ``size`` bytes; on the stream it has ``length``."""
    head = b"\x10\xc0" + flags.to_bytes(2, "little") + b"LIOR" + size.to_bytes(4, "little") + b"\xff" * 4
    return head.ljust(size if length is None else length, fill)


def fed(data: bytes, cuts: Sequence[int] = (), **limits: int) -> list[FramerEvent]:
    """Events of a whole stream, fed in frames from 1 on that begin at ``cuts``; times are tenfold."""
    framer = PacketFramer(**limits)
    events: list[FramerEvent] = []
    edges = [0, *sorted(cuts), len(data)]
    for frame, (start, stop) in enumerate(pairwise(edges), 1):
        events += framer.feed(data[start:stop], frame, frame * 10)
    return events + framer.finish()


def bare(events: list[FramerEvent]) -> list[tuple[int, bytes, bool] | tuple[int, int | None, str, bytes]]:
    """Events without frames and times."""
    return [
        (e.offset, e.data, e.complete)
        if isinstance(e, FramedPacket)
        else (e.offset, e.length, e.reason, e.data)
        for e in events
    ]


# Framing in step


def test_a_packet_in_one_frame_is_its_bytes() -> None:
    one = packet(120)
    assert fed(one) == [FramedPacket(0, one, (1,), 10, True)]


def test_several_packets_in_one_frame_come_out_in_order() -> None:
    one, two, three = packet(32, 0x0B), packet(120), packet(24)
    assert bare(fed(one + two + three)) == [(0, one, True), (32, two, True), (152, three, True)]


def test_a_packet_names_every_frame_that_carried_it_and_the_time_of_the_last() -> None:
    one, two = packet(100), packet(50)
    assert fed(one + two, [40, 70, 130]) == [
        FramedPacket(0, one, (1, 2, 3), 30, True),
        FramedPacket(100, two, (3, 4), 40, True),
    ]


def test_bytes_of_one_frame_that_come_in_pieces_count_as_one_frame() -> None:
    one, framer = packet(60), PacketFramer()
    assert framer.feed(one[:20], 5, 50) == []
    assert framer.feed(one[20:30], 5, 50) == []
    assert framer.feed(one[30:], 6, 60) == [FramedPacket(0, one, (5, 6), 60, True)]


def test_a_packet_is_told_as_soon_as_its_last_byte_comes() -> None:
    framer = PacketFramer()
    assert framer.feed(packet(40)[:39], 1, 10) == []
    assert framer.pending_bytes == 39
    assert framer.feed(b".", 2, 20) == [FramedPacket(0, packet(40), (1, 2), 20, True)]
    assert (framer.offset, framer.pending_bytes) == (40, 0)


@pytest.mark.parametrize(
    ("flags", "extra"),
    [
        pytest.param(0x0003, 0, id="user message"),
        pytest.param(0x0013, 16, id="user message with SH"),
        pytest.param(0x001B, 0, id="session ack: SH and IN"),
        pytest.param(0x000B, 0, id="other internal packet"),
        pytest.param(0x1013, 16, id="reserved bit beside SH"),
    ],
)
def test_a_session_header_behind_packet_size_belongs_to_its_packet(flags: int, extra: int) -> None:
    one, two = packet(120, flags, length=120 + extra), packet(32)
    assert bare(fed(one + two)) == [(0, one, True), (120 + extra, two, True)]


def test_no_bytes_are_no_events() -> None:
    framer = PacketFramer()
    assert framer.feed(b"", 1, 10) == []
    assert framer.gap(0, "loss", 1, 10) == []
    assert framer.finish() == []


def test_a_packet_cut_by_the_end_is_told_as_far_as_it_goes() -> None:
    assert bare(fed(packet(120)[:50])) == [(0, packet(120)[:50], False)]


@pytest.mark.parametrize("length", [1, 4, 5, 8, 11])
def test_the_first_bytes_of_a_header_are_a_cut_packet(length: int) -> None:
    assert bare(fed(packet(32) + packet(32)[:length])) == [
        (0, packet(32), True),
        (32, packet(32)[:length], False),
    ]


# Sizes that cannot be


def test_a_packet_size_below_its_base_header_is_a_cut_packet_of_16_bytes() -> None:
    one, two = packet(0, length=16), packet(32)
    assert bare(fed(one + two)) == [(0, one, False), (16, two, True)]


def test_a_packet_size_above_the_maximum_is_a_packet_where_one_must_start() -> None:
    one = packet(0xFFFFFFFF, length=500)
    assert bare(fed(packet(32) + one)) == [(0, packet(32), True), (32, one, False)]


def test_an_endless_packet_is_cut_at_the_limit_and_a_start_is_looked_for() -> None:
    one, two = packet(0xFFFFFFFF, length=100), packet(32)
    assert bare(fed(one + b"rubbish" + two, max_pending=100)) == [
        (0, one, False),
        (100, 7, "packet-size", b"rubbish"),
        (107, two, True),
    ]


def test_a_packet_above_the_limit_is_cut_and_its_rest_is_skipped_exactly() -> None:
    # A start inside the rest is no start.
    one, two = packet(300, fill=packet(30)[:1]), packet(32)
    one = one[:200] + packet(40) + one[240:]
    assert bare(fed(one + two, [90, 250], max_pending=100)) == [
        (0, one[:100], False),
        (100, 200, "rest-of-packet", one[100:300]),
        (300, two, True),
    ]


@pytest.mark.slow
def test_no_more_than_the_limit_is_held() -> None:
    framer = PacketFramer(max_pending=64)
    for frame in range(1, 200):
        framer.feed(packet(MAX, length=1000)[frame : frame + 50] if frame % 3 else packet(MAX), frame, frame)
        assert framer.pending_bytes <= 64 + 12


# Bytes that are no packet


def test_bytes_that_are_no_packet_are_a_hole_that_shows_256_of_them() -> None:
    rubbish = bytes(i % 251 for i in range(1000))
    assert fed(rubbish, [100, 200, 300]) == [StreamHole(0, 1000, "no-signature", (1, 4), 40, rubbish[:256])]


def test_a_few_bytes_that_are_no_packet_are_a_hole() -> None:
    assert bare(fed(packet(32) + b"abc")) == [(0, packet(32), True), (32, 3, "no-signature", b"abc")]


def test_another_version_is_a_packet_where_one_must_start_and_nowhere_else() -> None:
    other = b"\x11" + packet(32)[1:]
    assert bare(fed(other + packet(40))) == [(0, other, True), (32, packet(40), True)]
    assert bare(fed(b"lost" + other)) == [(0, 36, "no-signature", b"lost" + other)]


def test_every_frame_of_a_packet_that_is_not_complete_costs_memory() -> None:
    framer = PacketFramer()
    for frame, byte in enumerate(packet(MAX, length=100), 1):
        framer.feed(bytes([byte]), frame, frame)
    assert (framer.pending_bytes, framer.pending_cost > 100 * 100) == (100, True)


def test_framing_goes_on_at_the_next_credible_header() -> None:
    one, two = packet(32), packet(40)
    assert bare(fed(b"tail of a body" + one + two)) == [
        (0, 14, "no-signature", b"tail of a body"),
        (14, one, True),
        (46, two, True),
    ]


def test_a_packet_found_behind_rubbish_is_kept_when_more_rubbish_follows() -> None:
    one = packet(32)
    assert bare(fed(b"rubbish" + one + b"more of it, more of it")) == [
        (0, 7, "no-signature", b"rubbish"),
        (7, one, True),
        (39, 22, "no-signature", b"more of it, more of it"),
    ]


def test_a_false_start_that_reaches_over_real_packets_costs_none() -> None:
    rubbish = b"text " + packet(1000, length=30)
    one, two, three = packet(500), packet(600), packet(80)
    assert bare(fed(rubbish + one + two + three)) == [
        (0, 35, "no-signature", rubbish),
        (35, one, True),
        (535, two, True),
        (1135, three, True),
    ]


def test_a_false_start_that_reaches_past_the_end_costs_no_packet() -> None:
    rubbish = b"text " + packet(MAX, length=30)
    one, two = packet(500), packet(600)
    assert bare(fed(rubbish + one + two)) == [
        (0, 35, "no-signature", rubbish),
        (35, one, True),
        (535, two, True),
    ]


def test_a_start_behind_rubbish_is_not_believed_with_an_impossible_size() -> None:
    rubbish = b"!" + packet(MAX + 1, length=40) + packet(19, length=20)
    assert bare(fed(rubbish + packet(32))) == [(0, 61, "no-signature", rubbish), (61, packet(32), True)]


def test_the_only_start_behind_rubbish_is_a_cut_packet_at_the_end() -> None:
    cut = packet(500)[:100]
    assert bare(fed(b"!" + cut)) == [(0, 1, "no-signature", b"!"), (1, cut, False)]


def test_a_start_that_must_be_and_inside_a_packet_are_not_confused() -> None:
    # The body quotes a packet; the framer is in step and does not look inside.
    one = packet(100)[:40] + packet(20) + b"." * 40
    assert bare(fed(one + packet(32))) == [(0, one, True), (100, packet(32), True)]


# Gaps


def test_a_gap_inside_a_body_cuts_its_packet_and_framing_goes_on_exactly_behind_it() -> None:
    one, two, framer = packet(200), packet(32), PacketFramer()
    assert framer.feed(one[:50], 1, 10) == []
    assert framer.gap(100, "loss", 3, 30) == [
        FramedPacket(0, one[:50], (1,), 10, False),
        StreamHole(50, 100, "loss", (3,), 30),
    ]
    # What looks like a start in the rest of the body is none.
    rest = packet(20) + b"." * 30
    assert framer.feed(rest + two, 3, 30) == [
        StreamHole(150, 50, "rest-of-packet", (3,), 30, rest),
        FramedPacket(200, two, (3,), 30, True),
    ]
    assert framer.finish() == []


def test_a_gap_up_to_the_end_of_a_packet_leaves_nothing_to_skip() -> None:
    framer = PacketFramer()
    framer.feed(packet(200)[:50], 1, 10)
    framer.gap(150, "snaplen", 1, 10)
    assert framer.feed(packet(32), 2, 20) == [FramedPacket(200, packet(32), (2,), 20, True)]


def test_a_packet_right_behind_a_gap_that_ends_with_a_frame_is_told_at_once() -> None:
    framer = PacketFramer()
    assert framer.gap(100, "loss", 2, 20) == [StreamHole(0, 100, "loss", (2,), 20)]
    assert framer.feed(packet(200)[:150], 2, 20) == []
    assert framer.feed(packet(200)[150:], 3, 30) == [FramedPacket(100, packet(200), (2, 3), 30, True)]


def test_a_packet_somewhere_behind_a_gap_waits_for_the_next_one() -> None:
    framer = PacketFramer()
    framer.gap(100, "loss", 2, 20)
    assert framer.feed(b"rest" + packet(32), 2, 20) == []
    assert bare(framer.feed(packet(40), 3, 30)) == [
        (100, 4, "no-signature", b"rest"),
        (104, packet(32), True),
        (136, packet(40), True),
    ]


def test_a_second_gap_in_the_rest_of_a_packet_keeps_the_step() -> None:
    framer = PacketFramer()
    framer.feed(packet(200)[:50], 1, 10)
    framer.gap(50, "loss", 2, 20)
    assert framer.feed(b"r" * 30, 2, 20) == []
    assert framer.gap(40, "loss", 3, 30) == [
        StreamHole(100, 30, "rest-of-packet", (2,), 20, b"r" * 30),
        StreamHole(130, 40, "loss", (3,), 30),
    ]
    assert bare(framer.feed(b"s" * 30 + packet(32), 3, 30)) == [
        (170, 30, "rest-of-packet", b"s" * 30),
        (200, packet(32), True),
    ]


def test_a_gap_past_the_end_of_a_packet_makes_a_start_be_looked_for() -> None:
    framer = PacketFramer()
    framer.feed(packet(200)[:50], 1, 10)
    framer.gap(160, "loss", 2, 20)
    assert framer.feed(b"body" + packet(32) + packet(40), 2, 20) == [
        StreamHole(210, 4, "no-signature", (2,), 20, b"body"),
        FramedPacket(214, packet(32), (2,), 20, True),
        FramedPacket(246, packet(40), (2,), 20, True),
    ]


def test_a_gap_of_unknown_length_moves_no_offset() -> None:
    framer = PacketFramer()
    framer.feed(packet(200)[:50], 1, 10)
    assert framer.gap(None, "loss", 2, 20)[1] == StreamHole(50, None, "loss", (2,), 20)
    assert bare(framer.feed(b"x" + packet(32), 2, 20) + framer.finish()) == [
        (50, 1, "no-signature", b"x"),
        (51, packet(32), True),
    ]


def test_a_gap_between_packets_makes_a_start_be_looked_for_behind_it() -> None:
    framer = PacketFramer()
    assert framer.feed(packet(32), 1, 10) == [FramedPacket(0, packet(32), (1,), 10, True)]
    assert framer.gap(10, "loss", 2, 20) == [StreamHole(32, 10, "loss", (2,), 20)]
    # Directly behind a gap an impossible size is not believed.
    rubbish = packet(MAX + 1, length=50)
    assert bare(framer.feed(rubbish + packet(40), 2, 20) + framer.finish()) == [
        (42, 50, "no-signature", rubbish),
        (92, packet(40), True),
    ]


def test_a_gap_confirms_a_packet_that_ends_there() -> None:
    framer = PacketFramer()
    assert framer.feed(b"x" + packet(32), 1, 10) == []
    assert bare(framer.gap(10, "loss", 2, 20)) == [
        (0, 1, "no-signature", b"x"),
        (1, packet(32), True),
        (33, 10, "loss", b""),
    ]


def test_a_gap_inside_a_packet_whose_size_is_not_believed_loses_the_step() -> None:
    framer = PacketFramer()
    framer.feed(packet(0xFFFFFFF0, length=100), 1, 10)
    assert bare(framer.gap(1000, "loss", 2, 20))[0] == (0, packet(0xFFFFFFF0, length=100), False)
    assert bare(framer.feed(packet(32), 3, 30) + framer.finish()) == [(1100, packet(32), True)]


# Any bytes, any split


def test_repeated_signatures_with_huge_sizes_are_decided_once_each() -> None:
    flood = packet(MAX, length=16) * 2000
    [packet_at_the_end] = bare(fed(b"!" + flood))[1:]
    assert packet_at_the_end == (1, flood, False)


def test_alternating_huge_and_small_candidates_account_for_every_byte() -> None:
    limit = 1 << 16
    unit = packet(limit - 16, length=16) + packet(20) + b"?"
    stream = b"!" + unit * 4000
    events = fed(stream, range(1000, len(stream), 1000), max_pending=limit)
    assert covered(events) == len(stream)


def covered(events: list[FramerEvent]) -> int:
    """End of the last event, once each has been seen to begin where the one before ended."""
    at = 0
    for event in events:
        assert event.offset == at
        length = len(event.data) if isinstance(event, FramedPacket) else event.length
        at += length or 0
    return at


_PIECES = st.one_of(
    st.integers(16, 80).map(packet),
    st.builds(packet, st.integers(20, 60), st.just(0x13)),
    st.builds(lambda size, length: packet(size, length=length), st.integers(0, 400), st.integers(16, 60)),
    st.sampled_from([packet(MAX + 1, length=16), packet(MAX, length=16), b"LIOR", b"\x10", b"\x10...LIOR"]),
    st.binary(max_size=30),
)
_STREAMS = st.lists(_PIECES, max_size=12).map(b"".join)


@given(_STREAMS, st.data(), st.sampled_from([64, 100, MAX]))
def test_any_split_of_a_stream_gives_the_same_events(stream: bytes, data: st.DataObject, limit: int) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=10))
    whole = bare(fed(stream, max_pending=limit))
    assert bare(fed(stream, cuts, max_pending=limit)) == whole
    assert bare(fed(stream, range(1, len(stream)), max_pending=limit)) == whole


@given(_STREAMS, st.sampled_from([64, MAX]))
def test_every_byte_is_in_exactly_one_event(stream: bytes, limit: int) -> None:
    events = fed(stream, max_pending=limit)
    assert covered(events) == len(stream)
    for event in events:
        shown = stream[event.offset : event.offset + len(event.data)]
        assert event.data == shown


@given(st.lists(_STREAMS, min_size=2, max_size=4), st.lists(st.integers(1, 120), min_size=3, max_size=3))
def test_gaps_are_split_by_no_feed_and_lose_no_byte(parts: list[bytes], lengths: list[int]) -> None:
    def run(step: int) -> list[FramerEvent]:
        framer, events = PacketFramer(), []
        for part, length in zip(parts, [*lengths, 0], strict=False):
            for at in range(0, len(part), step):
                events += framer.feed(part[at : at + step], 1, 1)
            events += framer.gap(length, "loss", 1, 1)
        return events + framer.finish()

    whole = run(1 << 20)
    assert bare(whole) == bare(run(1)) == bare(run(7))
    gaps = sum(lengths[: len(parts)]) if len(parts) < 4 else sum(lengths)
    assert covered(whole) == sum(map(len, parts)) + gaps


@given(st.lists(st.integers(20, 300), min_size=2, max_size=6), st.binary(max_size=40))
def test_packets_behind_rubbish_are_all_found(sizes: list[int], rubbish: bytes) -> None:
    packets = [packet(size) for size in sizes]
    found = [e.data for e in fed(b"\x00" + rubbish + b"".join(packets)) if isinstance(e, FramedPacket)]
    assert found[-len(packets) :] == packets


# Credible headers


@pytest.mark.parametrize(
    ("data", "credible"),
    [
        pytest.param(packet(20, length=12), True, id="smallest"),
        pytest.param(packet(MAX, length=12), True, id="largest"),
        pytest.param(packet(19, length=16), False, id="too small"),
        pytest.param(packet(MAX + 1, length=16), False, id="too large"),
        pytest.param(packet(20, length=16)[:11], False, id="too few bytes"),
        pytest.param(packet(20, 0xFFFF, length=16), True, id="any flags"),
        pytest.param(b"\x11" + packet(20, length=16)[1:], False, id="version"),
        pytest.param(packet(20, length=16).replace(b"LIOR", b"ROIL"), False, id="signature"),
    ],
)
def test_a_credible_header_has_version_signature_and_a_possible_size(data: bytes, credible: bool) -> None:
    assert is_credible(data) is credible
    assert is_credible(memoryview(b"..." + data), 3) is credible
