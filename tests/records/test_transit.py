"""Times between two vantage points, and which of them is nearer the sender."""

from __future__ import annotations

import pytest

from msmq_wire.records.transit import Transit, Transits

A, B = "192.0.2.21", "192.0.2.10"
MS = 1_000_000


def test_a_transit_has_the_smallest_the_middle_and_the_largest_time() -> None:
    transit = Transit(0)
    for time in (5, 1, 9, 3, 7):
        transit.add(time * MS)
    assert (transit.count, transit.smallest, transit.median, transit.largest) == (5, MS, 5 * MS, 9 * MS)


def test_the_median_of_many_packets_takes_a_bounded_sample() -> None:
    transit = Transit(0)
    for time in range(100_000):
        transit.add(time)
    assert len(transit.sample) < 2048
    assert abs(transit.median - 50_000) < 100
    assert (transit.smallest, transit.largest) == (0, 99_999)


@pytest.mark.parametrize(
    ("uncertainty", "times", "hops", "order"),
    [
        (200_000, (MS, 2 * MS), 0, 1),
        (200_000, (-MS, -2 * MS), 0, -1),
        # Less than the clocks may be wrong by.
        (3 * MS, (MS, 2 * MS), 0, 0),
        # Equal clocks, and packets that took no time at all.
        (0, (0, 0), 0, 0),
        # A time that holds the way, too, says nothing.
        (None, (MS, 2 * MS), 0, 0),
        # The TTL says it, whatever the clocks do.
        (None, (MS, 2 * MS), 1, 1),
        (200_000, (MS, 2 * MS), -1, -1),
        (200_000, (), 0, 0),
    ],
)
def test_an_order_needs_a_time_beyond_the_uncertainty_or_a_ttl_that_fell(
    uncertainty: int | None, times: tuple[int, ...], hops: int, order: int
) -> None:
    transit = Transit(uncertainty)
    for time in times:
        transit.add(time, hops)
    assert transit.order == order


def test_a_ttl_that_rises_and_falls_says_nothing() -> None:
    transit = Transit(None)
    transit.add(MS, 1)
    transit.add(MS, -1)
    assert transit.order == 0


def test_the_order_for_one_direction_follows_from_the_other_one() -> None:
    transits = Transits((0, 100))
    transits.add((B, A), (1, 0), 2 * MS)
    assert transits.order(B, A, 1, 0) == transits.order(A, B, 0, 1) == 1
    assert transits.order(B, A, 0, 1) == transits.order(A, B, 1, 0) == -1
    assert transits.order(A, "192.0.2.99", 0, 1) == 0


def test_the_uncertainties_of_both_clocks_count() -> None:
    transits = Transits((0, 2 * MS, 3 * MS))
    transits.add((A, B), (1, 2), 4 * MS)
    transits.add((A, B), (0, 1), 4 * MS)
    found = {points: (one.uncertainty, one.order) for _, points, one in transits.all()}
    assert found == {(1, 2): (5 * MS, 0), (0, 1): (2 * MS, 1)}


def test_only_so_many_pairs_of_hosts_are_kept() -> None:
    transits = Transits((0, 0))
    for number in range(5000):
        transits.add((str(number), B), (0, 1), MS)
    assert len(transits.all()) == 4096


def test_how_long_packets_were_held_up_and_what_was_repeated_is_known_by_point() -> None:
    transits = Transits((0, 0))
    for held in (30, 0, 20):
        transits.lose((A, B), (1, 0), 1, held)
    for points in ((0, 1), (1, 0)):
        transits.repeat((A, B), points)
    ((_, _, transit),) = transits.all()
    assert (transit.longest_held, transit.repeated) == ([0, 30], 2)


def test_the_first_frames_that_were_missed_are_kept() -> None:
    transits = Transits((0, 0))
    for number in range(1, 100):
        transits.lose((A, B), (0, 1), 10 * number, 0, number)
    ((_, _, transit),) = transits.all()
    assert transit.missed_frames == [[(number, 10 * number) for number in range(1, 17)], []]


def test_packets_that_came_only_when_they_were_sent_again_are_counted_by_point() -> None:
    transits = Transits((0, 0))
    for time in (30, 10, 20):
        transits.lose((A, B), (0, 1), time)
    transits.lose((A, B), (1, 0), 5)
    transits.add((A, B), (0, 1), MS, weight=16)
    ((_, points, transit),) = transits.all()
    assert points == (0, 1)
    assert (transit.missed, transit.first_missed, transit.last_missed) == ([3, 1], [10, 5], [30, 5])
    assert (transit.count, transit.total) == (1, 16)


@pytest.mark.parametrize(
    ("there", "back", "order"),
    [
        # The clocks may be wrong by as much as packets take one way: both ways are longer than that.
        (2 * MS, -2 * MS, 1),
        (-2 * MS, 2 * MS, -1),
        # One place, recorded twice.
        (1000, 1000, 0),
        (5000, -4000, 0),
        # A clock that is wrong makes one way look short, and the other one long.
        (5 * MS, MS, 1),
    ],
)
def test_the_way_there_and_back_shows_the_order_whatever_the_clocks_do(
    there: int, back: int, order: int
) -> None:
    transits = Transits((0, 2 * MS + 500))
    transits.add((A, B), (0, 1), there)
    transits.add((B, A), (0, 1), back)
    assert transits.order(A, B, 0, 1) == order
    assert transits.order(B, A, 0, 1) == -order


def test_points_are_next_to_each_other_where_no_other_lies_between_them() -> None:
    transits = Transits((0, 0, 0))
    for one, other in ((0, 1), (1, 2), (0, 2)):
        transits.add((A, B), (one, other), MS)
    assert transits.path(A, B) == (0, 1, 2)
    assert transits.path(B, A) == (2, 1, 0)
    assert transits.path(A, "192.0.2.99") == ()
    assert [transits.next_to(A, B, *points) for points in ((0, 1), (1, 2), (0, 2), (1, 0))] == [
        True, True, False, False,
    ]  # fmt: skip


def test_other_names_of_hosts_stand_for_the_same_times() -> None:
    transits = Transits((0, 0))
    transits.add((A, B), (0, 1), MS)
    named = transits.named({A: "host-1", B: "host-2"}.__getitem__)
    assert named.order("host-1", "host-2", 0, 1) == 1
    assert named.order(A, B, 0, 1) == 0
    assert [ends for ends, _, _ in named.all()] == [("host-1", "host-2")]


def test_a_point_between_two_others_tells_their_order() -> None:
    transits = Transits((0, 0, 0))
    transits.add((A, B), (2, 0), 10**9)
    transits.add((A, B), (0, 1), 10**9)
    assert transits.order(A, B, 2, 1) == transits.order(B, A, 1, 2) == 1
    assert transits.path(A, B) == (2, 0, 1)
    assert transits.path(B, A) == (1, 0, 2)
    # Two points behind a third one tell nothing of each other.
    apart = Transits((0, 0, 0))
    apart.add((A, B), (0, 1), 10**9)
    apart.add((A, B), (0, 2), 10**9)
    assert apart.order(A, B, 1, 2) == 0
    assert apart.path(A, B) == ()
