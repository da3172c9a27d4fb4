"""What was delivered last is compared with later copies, however it came in pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.reassembly.tail import SEGMENT_COST, TAIL_BYTES, TAIL_RUNS, Tail


def byte(position: int) -> int:
    return position * 7 % 251


def stretch(start: int, stop: int) -> bytes:
    return bytes(map(byte, range(start, stop)))


@given(
    st.lists(
        st.tuples(st.sampled_from((0, 0, 0, 3, 50_000)), st.integers(1, 40_000)), min_size=1, max_size=6
    ),
    st.lists(st.integers(1, 999), max_size=4),
    st.integers(0, 300_000),
    st.integers(1, 500),
)
def test_pieces_make_no_difference(
    parts: list[tuple[int, int]], cuts: list[int], at: int, changed: int
) -> None:
    whole, pieces, end = Tail(), Tail(), 0
    for gap, size in parts:
        start = end + gap
        end = start + size
        whole.extend(start, stretch(start, end))
        edges = sorted({start, end, *(start + size * cut // 1000 for cut in cuts)})
        for low, high in pairwise(edges):
            pieces.extend(low, stretch(low, high))
    assert whole.cost == pieces.cost
    copy = bytes(value ^ 1 for value in stretch(at, at + changed))
    assert whole.differs(at, copy) == pieces.differs(at, copy)
    assert whole.differs(at, stretch(at, at + changed)) is None


def test_a_copy_is_compared_as_far_back_as_the_limit() -> None:
    tail = Tail()
    for start in range(0, 5 * TAIL_BYTES, 1000):
        tail.extend(start, bytes(1000))
        assert tail.cost <= TAIL_BYTES + SEGMENT_COST
    oldest = start + 1000 - TAIL_BYTES
    assert tail.differs(oldest - 10, b"\1" * 20) == (oldest, oldest + 10)
    assert tail.differs(oldest - 10, b"\1" * 10) is None


def test_bytes_behind_many_gaps_cost_a_bounded_amount() -> None:
    tail = Tail()
    for start in range(0, 1000, 2):
        tail.extend(start, b"\0")
    assert tail.cost == TAIL_RUNS * (SEGMENT_COST + 1)
    assert tail.differs(0, bytes(500)) is None
    assert tail.differs(990, b"\1" * 9) == (990, 999)
