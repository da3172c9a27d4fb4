from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.rpc.events import SkippedBytes
from msmq_wire.rpc.pdu.framer import FramedPdu, FramerEvent, PduFramer


def request(stub: bytes = b"", *, call_id: int = 1) -> bytes:
    size = 24 + len(stub)
    return struct.pack("<BBBB4sHHIIHH", 5, 0, 0, 3, b"\x10\0\0\0", size, 0, call_id, 0, 0, 7) + stub


ONE, TWO, THREE = request(b"one", call_id=1), request(b"second", call_id=2), request(b"3", call_id=3)


def framed(events: list[FramerEvent]) -> list[bytes]:
    return [event.data for event in events if isinstance(event, FramedPdu)]


def skipped(events: list[FramerEvent]) -> list[tuple[str, bool, int, int | None, bytes]]:
    return [
        (event.reason, event.missing, event.offset, event.length, event.data)
        for event in events
        if isinstance(event, SkippedBytes)
    ]


def test_several_pdus_of_one_segment_come_at_once() -> None:
    framer = PduFramer()
    assert framer.feed(ONE + TWO, 4, 100) == [
        FramedPdu(ONE, 0, (4,), 100),
        FramedPdu(TWO, len(ONE), (4,), 100),
    ]
    assert framer.held_bytes == 0


def test_a_pdu_that_a_search_came_upon_is_told_from_those_in_step() -> None:
    framer = PduFramer()
    events = framer.feed(ONE + b"junk" + TWO + THREE, 1, 0)
    events += framer.gap(10, "loss", 1, 0)
    events += framer.feed(ONE + TWO[:30], 2, 0)
    events += framer.gap(len(TWO) - 30, "snaplen", 2, 0)
    events += framer.feed(THREE, 3, 0)
    assert [(event.data[24:], event.found) for event in events if isinstance(event, FramedPdu)] == [
        (b"one", False),
        (b"second", True),
        (b"3", False),
        (b"one", True),
        (b"second", False),
        (b"3", False),
    ]


def test_a_pdu_over_several_segments_names_them_and_takes_the_time_of_the_last_captured() -> None:
    framer = PduFramer()
    assert framer.feed(ONE[:5], 1, 10) == []
    assert framer.feed(ONE[5:20], 3, 30) == []
    assert framer.held_bytes > 20
    events = framer.feed(ONE[20:] + TWO, 2, 20)
    assert events == [FramedPdu(ONE, 0, (1, 3, 2), 30), FramedPdu(TWO, len(ONE), (2,), 20)]


def test_bytes_before_the_first_credible_header_are_skipped() -> None:
    framer = PduFramer(from_client=False)
    events = framer.feed(b"\x05\x00half a PDU" + ONE, 1, 10)
    assert events[0] == SkippedBytes(
        from_client=False,
        reason="no-pdu",
        missing=False,
        frames=(1,),
        time=10,
        offset=0,
        length=12,
        data=b"\x05\x00half a PDU",
    )
    assert framed(events) == [ONE]


def test_in_step_a_pdu_of_undefined_type_is_framed_too() -> None:
    odd = struct.pack("<BBBB4sHHI", 5, 3, 77, 0xFF, b"\x11\1\1\1", 17, 0, 1) + b"x"
    framer = PduFramer()
    assert framed(framer.feed(ONE + odd + TWO, 1, 0)) == [ONE, odd, TWO]


def test_bytes_behind_a_pdu_that_start_none_are_skipped_up_to_the_next_one() -> None:
    framer = PduFramer()
    events = framer.feed(ONE + b"GET / HTTP/1.1\r\n" + TWO, 1, 0)
    assert framed(events) == [ONE, TWO]
    assert skipped(events) == [("no-pdu", False, len(ONE), 16, b"GET / HTTP/1.1\r\n")]


def test_a_gap_inside_a_pdu_goes_on_exactly_where_the_pdu_ends() -> None:
    inner = request(b"looks like a PDU", call_id=9)
    whole = request(bytes(50) + inner + bytes(20), call_id=5)
    framer = PduFramer()
    events = framer.feed(whole[:40], 1, 0)
    events += framer.gap(20, "loss", 2, 1)
    events += framer.feed(whole[60:] + TWO, 2, 1)
    assert framed(events) == [whole[:40], TWO]
    assert [event.complete for event in events if isinstance(event, FramedPdu)] == [False, True]
    assert skipped(events) == [
        ("loss", True, 40, 20, b""),
        ("rest-of-pdu", False, 60, len(whole) - 60, whole[60:]),
    ]


def test_a_gap_that_ends_with_the_pdu_leaves_the_framer_in_step() -> None:
    framer = PduFramer()
    events = framer.feed(ONE[:20], 1, 0) + framer.gap(len(ONE) - 20, "snaplen", 1, 0)
    assert not framer.lost
    assert framed(events + framer.feed(TWO, 2, 0)) == [ONE[:20], TWO]


def test_two_gaps_in_one_pdu_keep_its_end() -> None:
    big = request(bytes(100))
    framer = PduFramer()
    events = framer.feed(big[:30], 1, 0) + framer.gap(10, "loss", 2, 0) + framer.feed(big[40:50], 2, 0)
    events += framer.gap(20, "loss", 3, 0) + framer.feed(big[70:] + ONE, 3, 0)
    assert framed(events) == [big[:30], ONE]
    assert [reason for reason, *_ in skipped(events)] == ["loss", "rest-of-pdu", "loss", "rest-of-pdu"]


def test_behind_a_gap_of_unknown_length_the_next_credible_header_counts() -> None:
    framer = PduFramer()
    events = framer.feed(ONE + TWO[:8], 1, 0) + framer.gap(None, "loss", 2, 5)
    assert framer.lost
    events += framer.feed(b"rest of something" + THREE, 2, 5)
    assert framed(events) == [ONE, THREE]
    assert [(reason, length) for reason, _, _, length, _ in skipped(events)] == [
        ("rest-of-pdu", 8),
        ("loss", None),
        ("no-pdu", 17),
    ]


def test_an_empty_gap_changes_nothing() -> None:
    framer = PduFramer()
    assert framer.feed(ONE[:9], 1, 0) + framer.gap(0, "loss", 1, 0) == []
    assert framed(framer.feed(ONE[9:], 1, 0)) == [ONE]


def test_what_is_held_at_the_end_is_given() -> None:
    framer = PduFramer()
    assert framer.feed(ONE + TWO[:20], 1, 0) == [FramedPdu(ONE, 0, (1,), 0)]
    assert framer.finish() == [FramedPdu(TWO[:20], len(ONE), (1,), 0, False)]
    assert framer.finish() == []


def test_bytes_that_are_no_rpc_are_not_held() -> None:
    framer = PduFramer()
    for frame in range(1, 200):
        assert framer.feed(b"\x05\x00" * 700, frame, frame) == []
        assert framer.held_bytes < 1000
    (event,) = framer.finish()
    assert isinstance(event, SkippedBytes)
    assert (event.length, event.frames, len(event.data)) == (199 * 1400, (1, 199), 256)


PIECES = st.sampled_from(
    [
        ONE,
        TWO,
        THREE,
        request(ONE + TWO),
        ONE[:11],
        TWO[:17],
        b"\x05",
        b"\x05\x00\x00\x03\x10",
        b"junk of some length that is no PDU",
        struct.pack("<BBBB4sHHI", 5, 0, 0, 3, b"\x10\0\0\0", 60000, 0, 1),
        struct.pack(">BBBB4sHHI", 5, 1, 2, 1, bytes(4), 25, 0, 1) + b"123456789",
    ]
)
STREAM = st.lists(st.one_of(PIECES, st.none(), st.integers(1, 80)), max_size=12)


def run(stream: list[bytes | int | None], cuts: list[int]) -> list[FramerEvent]:
    framer, events, turn = PduFramer(), [], 0
    for item in stream:
        if not isinstance(item, bytes):
            events += framer.gap(item, "loss", 1, 0)
            continue
        at = 0
        while at < len(item):
            size = cuts[turn % len(cuts)]
            turn += 1
            events += framer.feed(item[at : at + size], 1, 0)
            at += size
    return events + framer.finish()


@given(STREAM, st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_splits_change_nothing_and_every_byte_is_in_one_event(
    stream: list[bytes | int | None], cuts: list[int]
) -> None:
    events = run(stream, [1 << 20])
    assert run(stream, cuts) == events
    offset, rest = 0, b"".join(item for item in stream if isinstance(item, bytes))
    for event in events:
        assert event.offset == offset
        length = len(event.data) if isinstance(event, FramedPdu) else event.length or 0
        offset += length
        if isinstance(event, FramedPdu):
            assert event.data == rest[:length]
        elif event.missing:
            continue
        else:
            assert event.data == rest[: min(length, 256)]
        rest = rest[length:]
    assert rest == b""


@given(st.lists(st.one_of(st.binary(max_size=60), st.none()), max_size=20))
def test_any_bytes_are_taken(stream: list[bytes | int | None]) -> None:
    events = run(stream, [7])
    length = sum(len(event.data) if isinstance(event, FramedPdu) else event.length or 0 for event in events)
    assert length == sum(len(item) for item in stream if isinstance(item, bytes))
