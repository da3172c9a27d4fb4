"""The search: every packet once, whatever lies over it, in it and around it, however its bytes are fed."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fixtures.build_at_rest import message
from fixtures.build_srmp_requests import message as srmp_message
from msmq_wire.capture.carve.packet_validation import fixed_part, left_of, needed, walk
from msmq_wire.capture.carve.search import CarvedItem, Carver, _found_slowly, _memmem
from msmq_wire.reassembly.packet_framer import MAX_PENDING, is_credible, packet_length

Told = list[tuple[int, str, str]]
_FEW = st.lists(st.sampled_from(b"LIOR\0"), max_size=40).map(bytes)


def found(data: bytes, *, extent: int = 1 << 20, envelopes: bool = True) -> list[CarvedItem]:
    carver = Carver(envelopes=envelopes)
    finds = [one for at in range(0, len(data), extent) for one in carver.feed(data[at : at + extent])]
    return finds + carver.finish()


def reported(finds: Sequence[CarvedItem]) -> Told:
    return [(one.offset, one.type, one.grade) for one in finds]


def in_body(inner: bytes, label: str = "around", *, before: bytes = b"", after: bytes = b"") -> bytes:
    """A message whose body is, or holds, some bytes."""
    outer = bytearray(message(77, label, "?" * ((len(before + inner + after) + 1) // 2)))
    at = outer.index("?".encode("utf-16-le") * 2)
    outer[at : at + len(before + inner + after)] = before + inner + after
    return bytes(outer)


def naive(data: bytes) -> Told:
    """The rules of the search, one pair of packets after the other."""
    places = []
    for at in range(len(data)):
        if is_credible(data, at):
            claimed = packet_length(data, at)
            walked = walk(data[at : at + needed(bytearray(data), at, at)], at, claimed=claimed)
            if walked is not None:
                places.append((at, at + claimed, walked))
    intact = [(at, end) for at, end, walked in places if walked.part == "intact"]
    whole = {at for at, end in intact if not any(at < other < end < last for other, last in intact)}
    contradicting = {
        at: min(other for other, last in intact if at < other < end < last)
        for at, end, walked in places
        if walked.part == "broken" and any(at < other < end < last for other, last in intact)
    }
    listed: dict[int, tuple[int, int, int]] = {}
    finds = []
    grades = {"intact": "whole", "broken": "damaged", "cut": "head"}
    following = [*(at for at, _, _ in places[1:]), len(data)]
    for (at, end, walked), behind in zip(places, following, strict=False):
        around = [place for place, last, _ in places if place in whole and place < at < last]
        depth = 0
        if around:
            innermost = listed.get(around[-1])
            if at not in whole or innermost is None or innermost[0] == 2:
                continue
            depth = innermost[0] + 1
            if not innermost[1] <= at <= end <= innermost[2]:
                continue
        if at not in whole and behind - at < min(fixed_part(data[at:]), walked.length):
            continue
        if at in whole:
            listed[at] = (depth, at + walked.body[0], at + walked.body[1])
        if at in contradicting:
            over = contradicting[at]
            again = left_of(data[at : min(over, behind)], end - at, "")
            if again is None:
                continue
            walked = again
        grade = "head" if walked.part == "intact" and at not in whole else grades[walked.part]
        finds.append((at, walked.type, grade))
    return finds


SMALL = [
    message(1, "", "a"),
    message(2, "two", "b" * 40),
    in_body(message(3, "inner", "c")),
    in_body(in_body(in_body(message(4, "deep", "d")))),
    in_body(message(5, "", "e"), before=b"LIOR....", after=b"LIOR"),
    message(6, "lies", "f")[:8] + struct.pack("<I", 400) + message(6, "lies", "f")[12:],
    message(7, "cut", "g" * 60)[:120],
    b"\x10\0\0\0LIOR" * 3,
    bytes(70),
    b"L\0I\0O\0R\0",
]


@given(
    st.lists(st.tuples(st.sampled_from(SMALL), st.integers(-90, 20)), max_size=8),
    st.sampled_from([1, 7, 64, 333, 1 << 20]),
)
def test_what_lies_over_and_inside_of_others_is_told_by_the_rules(
    laid: list[tuple[bytes, int]], extent: int
) -> None:
    data = bytearray()
    for one, gap in laid:
        # With a gap below zero it is written over the end of what was there.
        at = max(0, len(data) + gap)
        data[at : at + len(one)] = one.rjust(len(one), b"\0")
        data += bytes(max(0, at - len(data)))
    assert reported(found(bytes(data), extent=extent)) == naive(bytes(data))


def test_a_packet_is_found_at_every_alignment(order: bytes) -> None:
    noise = random.Random(7).randbytes(9000)
    for shift in range(17):
        data = noise[: 4000 + shift] + order + noise[4000:]
        assert reported(found(data)) == [(4000 + shift, "user_message", "whole")]


def test_the_same_bytes_twice_are_two_finds_with_their_bytes(order: bytes) -> None:
    first, second = found(order + b"between" + order)
    assert first.data == second.data == order
    assert second.offset == len(order) + 7


def test_who_lies_over_the_end_of_another_was_written_later(order: bytes) -> None:
    older = message(2, "older", "x" * 150)
    finds = found(older[:400] + order)
    assert reported(finds) == [(0, "user_message", "head"), (400, "user_message", "whole")]
    assert finds[0].data == older[:400]
    assert "offset 400" in (finds[0].reason or "")


def test_a_message_in_a_body_is_a_find_and_no_part_of_a_label_is(order: bytes) -> None:
    outer = in_body(order)
    assert [one.data for one in found(outer)] == [outer, order]
    labelled = message(8, "LIOR", "x")
    assert [one.data for one in found(labelled)] == [labelled]


def test_bodies_are_looked_into_twice(order: bytes) -> None:
    data = order
    for _ in range(5):
        data = in_body(data)
    carver = Carver()
    assert len(carver.feed(data) + carver.finish()) == 3
    assert carver.nested == {"more than two bodies deep": 1, "part of a packet": 2}


def test_a_hole_ends_a_packet_and_offsets_go_on_behind_it(order: bytes) -> None:
    carver = Carver()
    finds = carver.feed(order[:100]) + carver.hole(4000) + carver.feed(b"--" + order) + carver.finish()
    assert reported(finds) == [(0, "user_message", "head"), (4102, "user_message", "whole")]


def test_what_is_not_whole_ends_where_the_next_find_begins(order: bytes) -> None:
    cut = message(3, "cut", "y" * 3000)[:500]
    finds = found(cut + order + bytes(10))
    assert [(one.grade, len(one.data)) for one in finds] == [("head", 500), ("whole", len(order))]


def test_near_misses_are_nothing(order: bytes) -> None:
    for one in (
        b"\x11" + order[1:],
        order[:4] + b"ROIL" + order[8:],
        order[:8] + struct.pack("<I", 19) + order[12:],
        order[:8] + struct.pack("<I", 0x400001) + order[12:],
        order[:8] + struct.pack("<I", 0xFFFFFFFF) + order[12:],
        "LIOR".encode("utf-16-le") * 9,
        b"a text about LIOR and MSMQ",
        order[:63],
    ):
        assert found(b"\0" * 9 + one) == []


@pytest.mark.slow
def test_hostile_bytes_are_held_and_told_within_bounds() -> None:
    header = bytearray(message(1, "", "x" * 30))
    header[8:12] = struct.pack("<I", MAX_PENDING - 16)
    for hostile in (bytes(header), b"\x10\0\0\0LIOR" + struct.pack("<I", MAX_PENDING - 16), b"LIOR"):
        data = (hostile * (300_000 // len(hostile)))[:300_000]
        carver = Carver()
        finds = [one for at in range(0, len(data), 65536) for one in carver.feed(data[at : at + 65536])]
        assert carver.held <= len(data)
        finds += carver.finish()
        # Their bytes do not overlap: each ends where the next one begins.
        assert sum(len(one.data) for one in finds) <= len(data)


def test_memory_is_bounded_whatever_comes() -> None:
    carver = Carver()
    block = random.Random(3).randbytes(1 << 20)
    for _ in range(12):
        carver.feed(block)
    assert carver.held < 1 << 17


def test_envelopes_are_left_alone_where_they_are_not_wanted() -> None:
    data = bytes(100) + srmp_message("label", 3, b"body").data
    assert [one.type for one in found(data)] == ["srmp_message"]
    assert found(data, envelopes=False) == []


@pytest.mark.parametrize("extent", [1, 100, 1 << 20])
def test_an_envelope_is_the_same_however_it_is_fed(extent: int) -> None:
    request = srmp_message("label", 3, b"body").data
    (find,) = found(bytes(5000) + request + bytes(3000), extent=extent)
    assert (find.grade, find.offset) == ("whole", 5000 + request.index(b"<se:Envelope"))
    assert find.data == request


@given(_FEW, st.integers(0, 50))
@example(b"", 0)
@example(b"LIO", 0)
@example(b"xLIOR", 2)
def test_bytes_are_found_where_bytearray_finds_them(data: bytes, start: int) -> None:
    haystack = bytearray(data)
    assert _memmem(haystack, b"LIOR", start) == haystack.find(b"LIOR", start)
    assert _found_slowly(haystack, b"LIOR", start) == haystack.find(b"LIOR", start)
    # Nothing holds the bytes any more.
    haystack.clear()
