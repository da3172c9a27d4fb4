"""Buckets of times and durations: exact counts in bounded space."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from msmq_wire.report.buckets import Durations, TimeBuckets

_TIMES = st.integers(min_value=0, max_value=1 << 63)


@given(st.lists(_TIMES, min_size=1, max_size=60))
def test_every_time_is_counted_in_the_bucket_that_holds_it(times: list[int]) -> None:
    buckets = TimeBuckets(most=16)
    for time in times:
        buckets.add(time)
    found = list(buckets.items())
    assert sum(count for _, count in found) == buckets.total == len(times)
    assert [start for start, _ in found] == sorted({time // buckets.width * buckets.width for time in times})
    assert len(found) <= 16


def test_few_times_close_together_keep_their_milliseconds() -> None:
    buckets = TimeBuckets()
    for time in (5_000_000, 5_900_000, 7_000_000):
        buckets.add(time)
    assert list(buckets.items()) == [(5_000_000, 2), (7_000_000, 1)]


def test_a_wider_span_makes_wider_buckets_and_loses_no_count() -> None:
    buckets = TimeBuckets(most=4)
    for second in range(100):
        buckets.add(second * 1_000_000_000)
    assert buckets.width == 30_000_000_000
    assert list(buckets.items()) == [
        (0, 30),
        (30_000_000_000, 30),
        (60_000_000_000, 30),
        (90_000_000_000, 10),
    ]


@given(st.lists(st.integers(min_value=-5, max_value=1 << 70), min_size=1, max_size=50))
@example([499_999_999_999_999_956])
def test_every_duration_lies_in_its_bin(durations: list[int]) -> None:
    counted = Durations()
    for duration in durations:
        counted.add(duration)
        place = Durations.place(max(duration, 0))
        assert place == Durations.FIRST or Durations.start(place) <= duration
        assert duration < Durations.start(place + 1)
    assert sum(counted.bins.values()) == counted.total == len(durations)
    assert counted.quantile(0.0) <= counted.quantile(0.5) <= counted.quantile(1.0) == counted.longest


@pytest.mark.slow
def test_quantiles_of_many_durations_come_from_a_part_of_them() -> None:
    counted = Durations()
    for duration in range(200_000):
        counted.add(duration)
    assert counted.total == 200_000
    assert abs(counted.quantile(0.5) - 100_000) < 2_000
    assert counted.longest == 199_999


def test_without_durations_a_quantile_is_0() -> None:
    assert Durations().quantile(0.5) == 0


def test_the_bins_of_durations_begin_at_1_2_and_5_of_each_power_of_ten() -> None:
    edges = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
    assert [Durations.start(Durations.FIRST + at) for at in range(1, 7)] == list(edges)
    assert [Durations.place(edge) - Durations.FIRST for edge in edges] == [1, 2, 3, 4, 5, 6]
    assert [Durations.place(edge - 1) - Durations.FIRST for edge in edges] == [0, 1, 2, 3, 4, 5]
    assert Durations.place(150_000) == Durations.place(100_000)
    assert Durations.place(0) == Durations.FIRST


def test_quantiles_of_few_durations_are_exact() -> None:
    counted = Durations()
    for duration in (30, 10, 20):
        counted.add(duration)
    assert [counted.quantile(part) for part in (0.0, 0.5, 0.99, 1.0)] == [10, 20, 30, 30]
