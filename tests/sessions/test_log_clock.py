"""The offset of a clock from bounds: what most have in common, or nothing."""

from __future__ import annotations

import pytest

from msmq_wire.sessions.log_clock import Bounds, LogClock, clocks_of

_Pair = tuple[int | None, int | None]


def _clock(pairs: list[_Pair]) -> LogClock | None:
    found = clocks_of([Bounds(least, most, number) for number, (least, most) in enumerate(pairs)])
    assert len(found) < 2
    return found[0] if found else None


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
    bounds: list[_Pair], least: int | None, most: int | None, agreeing: int
) -> None:
    clock = _clock(bounds)
    assert clock is not None
    assert (clock.least, clock.most, clock.agreeing, clock.pairs) == (least, most, agreeing, len(bounds))


def test_a_receiver_shows_its_clock_by_the_message_that_waited_least() -> None:
    clock = _clock([(0, 10), (4, 12), (-5, 7)])
    assert clock is not None
    assert (clock.offset, clock.width, clock.spread) == (7, 3, 5)


@pytest.mark.parametrize(
    ("bounds", "offset", "spread"),
    [
        ([(1, None), (5, None), (3, None), (-900, None)], 5, 4),
        ([(None, 1), (None, 5), (None, 4), (None, 900)], 1, 4),
    ],
)
def test_one_bound_alone_is_told_with_how_far_the_next_ones_are(
    bounds: list[_Pair], offset: int, spread: int
) -> None:
    clock = _clock(bounds)
    assert clock is not None
    assert (clock.offset, clock.width, clock.spread) == (offset, None, spread)


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
def test_too_few_that_agree_say_nothing(bounds: list[_Pair]) -> None:
    assert _clock(bounds) is None


def _run(*offsets: int) -> list[Bounds]:
    return [Bounds(offset - 1, offset + 1, number) for number, offset in enumerate(offsets, 10)]


def test_a_clock_that_was_set_has_several_offsets_from_their_records_on() -> None:
    clocks = clocks_of(_run(42, 42, 42, 0, 0, 0, 0))
    assert [(clock.offset, clock.agreeing, clock.since) for clock in clocks] == [(43, 3, None), (1, 4, 13)]


@pytest.mark.parametrize(
    ("bounds", "offsets"),
    [
        # One event is odd: it does not end a stretch.
        (_run(42, 42, 42, 9, 42, 42, 42), [43]),
        # A clock that is set all the time is no clock.
        (_run(1, 1, 1, 9, 9, 9, 18, 18, 18, 27, 27, 27), []),
        # Without numbers nobody knows what came first.
        ([one._replace(record=None) for one in _run(42, 42, 42, 0, 0, 0, 0)], []),
    ],
)
def test_what_no_single_setting_explains_is_not_told_as_one(bounds: list[Bounds], offsets: list[int]) -> None:
    assert [clock.offset for clock in clocks_of(bounds)] == offsets
