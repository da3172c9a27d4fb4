"""A set of numbers that takes a bit for each."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.detection.filtering import Numbers

NUMBERS = st.integers(0, 600) | st.integers(0, 1 << 62)


@given(st.sets(NUMBERS), st.sets(NUMBERS))
def test_what_was_put_in_is_in_it_and_nothing_else(put: set[int], others: set[int]) -> None:
    numbers = Numbers()
    for number in put:
        numbers.add(number)
    assert {number for number in put | others if number in numbers} == put


def test_numbers_that_come_one_after_the_other_take_little() -> None:
    tracemalloc.start()
    try:
        numbers = Numbers()
        for number in range(20_000):
            numbers.add(number)
        assert tracemalloc.get_traced_memory()[0] < 20_000
    finally:
        tracemalloc.stop()
