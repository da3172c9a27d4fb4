from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.cli.frame_set import FrameSet


@given(st.sets(st.integers(1, 2000)), st.integers(1, 3000))
def test_a_frame_set_holds_what_was_added_and_nothing_else(numbers: set[int], other: int) -> None:
    frames = FrameSet()
    frames.add(numbers)
    assert all(number in frames for number in numbers)
    assert (other in frames) == (other in numbers)
    assert frames.last == max(numbers, default=0)
