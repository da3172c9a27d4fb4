"""The offset of a clock from bounds: what most have in common, or nothing."""

from __future__ import annotations

import pytest

from msmq_wire.sessions.log_clock import Bounds, clock_of


@pytest.mark.parametrize(
    ("bounds", "least", "most", "agreeing"),
    [
        ([(0, 10), (4, 12), (-5, 6)], 4, 6, 3),
        ([(4, 4), (4, 4), (4, 4)], 4, 4, 3),
        # One message whose event is far off does not count.
        ([(0, 10), (4, 12), (-5, 6), (1000, 1010)], 4, 6, 3),
        ([(None, 10), (None, 7), (3, None)], 3, 7, 3),
        ([(1, None), (5, None), (3, None)], 5, None, 3),
        ([(None, 1), (None, 5), (None, 3)], None, 1, 3),
    ],
)
def test_a_clock_is_what_most_bounds_have_in_common(
    bounds: list[Bounds], least: int | None, most: int | None, agreeing: int
) -> None:
    clock = clock_of(bounds)
    assert clock is not None
    assert (clock.least, clock.most, clock.agreeing, clock.pairs) == (least, most, agreeing, len(bounds))


def test_the_middle_is_told_with_its_uncertainty() -> None:
    clock = clock_of([(0, 10), (4, 12), (-5, 7)])
    assert clock is not None
    assert (clock.offset, clock.uncertainty) == (5, 2)


@pytest.mark.parametrize(
    ("bounds", "offset", "spread"),
    [
        ([(1, None), (5, None), (3, None), (-900, None)], 5, 4),
        ([(None, 1), (None, 5), (None, 4), (None, 900)], 1, 4),
    ],
)
def test_one_bound_alone_is_told_with_how_far_the_next_ones_are(
    bounds: list[Bounds], offset: int, spread: int
) -> None:
    clock = clock_of(bounds)
    assert clock is not None
    assert (clock.offset, clock.uncertainty, clock.spread) == (offset, None, spread)


@pytest.mark.parametrize(
    "bounds",
    [
        [],
        [(0, 10), (4, 12)],
        # Two of five agree.
        [(0, 1), (0, 1), (10, 11), (20, 21), (30, 31)],
        # Three of five: less than two thirds.
        [(0, 1), (0, 1), (0, 1), (20, 21), (30, 31)],
        [(None, None), (None, None), (None, None)],
        # An event that is before its message and behind its acknowledgment bounds nothing.
        [(5, 1), (5, 1), (5, 1)],
    ],
)
def test_too_few_that_agree_say_nothing(bounds: list[Bounds]) -> None:
    assert clock_of(bounds) is None
