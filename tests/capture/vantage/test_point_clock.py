"""Clocks of points: the estimate beside the truth, over offsets, drifts, jitter and resolutions."""

from __future__ import annotations

import numpy as np
import pytest

from msmq_wire.capture.vantage.point_clock import ClockEstimate, estimate_clock
from msmq_wire.units import SECOND

_BEGIN = 1_795_166_047 * SECOND
_WINDOWS = 15_625_000


class _Two:
    """Segments that two points captured, and what the second clock really is."""

    def __init__(
        self,
        offset: int = 0,
        drift: int = 0,
        span: int = 60,
        count: int = 1000,
        way: float = 0.0002,
        jitter: float = 0.0,
        ticks: tuple[int, int] = (1000, 1000),
        back: float = 0.5,
        seed: int = 1,
    ) -> None:
        source = np.random.default_rng(seed)
        sent = np.sort(source.random(count)) * span
        self.towards = np.where(source.random(count) < back, 1, -1)
        delay = way + source.exponential(jitter, count)
        # -1 passes the first point first.
        here = np.where(self.towards < 0, sent, sent + delay)
        there = np.where(self.towards < 0, sent + delay, sent)
        self._offset, self._drift = offset, drift
        self._middle = _BEGIN - offset + span * SECOND // 2
        self.span = span
        self.ticks = ticks
        first = _BEGIN + (here * SECOND).astype(np.int64)
        true = _BEGIN + (there * SECOND).astype(np.int64)
        second = self._middle + ((true - self._middle - offset) / (1 + drift / SECOND)).astype(np.int64)
        first -= first % ticks[0]
        second -= (second - 4_321_987) % ticks[1]
        self.time, self.ahead = second, first - second

    def estimate(self) -> ClockEstimate:
        return estimate_clock(self.time, self.ahead, self.towards, self.ticks)

    def errors(self, found: ClockEstimate) -> list[float]:
        """Nanoseconds by which corrected times are wrong: of the first, of some, and of the last segment."""
        times = [int(time) for time in np.quantile(self.time, (0, 0.25, 0.5, 0.75, 1))]
        return [
            found.offset
            - self._offset
            + found.drift * (time - found.at) / SECOND
            - self._drift * (time - self._middle) / SECOND
            for time in times
        ]


@pytest.mark.parametrize("offset", [3_200_000, -26 * 3600 * SECOND])
@pytest.mark.parametrize("drift", [0, 5_000, -50_000, 200_000])
@pytest.mark.parametrize("span", [1, 60, 3600, 36_000])
@pytest.mark.parametrize("count", [10, 100, 3000])
@pytest.mark.parametrize(("way", "jitter"), [(0.0002, 0.0), (0.0002, 0.0001), (0.02, 0.01)])
def test_corrected_times_are_right_within_the_uncertainty(
    offset: int, drift: int, span: int, count: int, way: float, jitter: float
) -> None:
    two = _Two(offset, drift, span, count, way, jitter)
    found = two.estimate()
    assert found.uncertainty is not None
    assert max(map(abs, two.errors(found))) <= found.uncertainty
    if count == 3000:
        # Half the shortest round trip, which comes near to what the way takes, and two rounded times.
        assert way * SECOND * 0.99 <= found.uncertainty <= way * SECOND * 1.05 + 2000


@pytest.mark.parametrize(
    ("drift", "span", "jitter", "told"),
    [
        (0, 10, 0.0001, False),
        (0, 3600, 0.0001, False),
        (0, 36_000, 0.01, False),
        (100, 10, 0.0001, False),
        (50_000, 60, 0.0001, True),
        (1_000, 3600, 0.0001, True),
        (20_000, 3600, 0.01, True),
        (200_000, 600, 0.01, True),
    ],
)
def test_drift_is_told_only_where_time_and_jitter_allow(
    drift: int, span: int, jitter: float, told: bool
) -> None:
    found = _Two(5 * SECOND, drift, span, 1000, 0.0002, jitter).estimate()
    assert (found.drift != 0) is told
    assert abs(found.drift - drift) <= 0.05 * drift + (0 if told else drift)


@pytest.mark.parametrize(
    "ticks", [(1000, 1_000_000), (_WINDOWS, 1000), (1000, _WINDOWS), (_WINDOWS, _WINDOWS)]
)
@pytest.mark.parametrize(("drift", "span"), [(0, 60), (50_000, 3600)])
@pytest.mark.parametrize("count", [10, 100, 3000])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_coarse_clocks_are_uncertain_by_what_they_do_not_show(
    ticks: tuple[int, int], drift: int, span: int, count: int, seed: int
) -> None:
    two = _Two(5 * SECOND, drift, span, count, 0.0002, 0.0003, ticks, seed=seed)
    found = two.estimate()
    assert found.uncertainty is not None
    assert max(map(abs, two.errors(found))) <= found.uncertainty
    if count > 10:
        assert found.uncertainty <= 1.5 * max(ticks) + 1_000_000


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_times_that_were_rounded_to_the_nearest_are_uncertain_by_half(seed: int, first: bool) -> None:
    two = _Two(5 * SECOND, 0, 14, 300, 0.0002, 0.0001, seed=seed)
    here, there = two.ahead + two.time, two.time
    if first:
        here = (here + 500_000) // 1_000_000 * 1_000_000
    else:
        there = (there + 500_000) // 1_000_000 * 1_000_000
    two.time, two.ahead = there, here - there
    two.ticks = (1_000_000, 1000) if first else (1000, 1_000_000)
    found = two.estimate()
    assert found.drift == 0
    assert found.uncertainty is not None
    assert max(map(abs, two.errors(found))) <= found.uncertainty <= 1_250_000


@pytest.mark.parametrize("wrong", [-SECOND // 3, SECOND // 3])
@pytest.mark.parametrize("rows", [slice(0, 20), slice(500, 505), slice(980, 1000)])
def test_a_few_segments_that_contradict_all_others_change_nothing(wrong: int, rows: slice) -> None:
    two = _Two(5 * SECOND, 20_000, 3600, 1000, 0.0002, 0.0001)
    two.ahead[rows] += wrong
    found = two.estimate()
    assert max(map(abs, two.errors(found))) <= 210_000
    assert abs(found.drift - 20_000) < 200


@pytest.mark.parametrize("back", [0.0, 1.0])
@pytest.mark.parametrize("drift", [0, 50_000])
def test_one_way_gives_the_edge_and_no_uncertainty(back: float, drift: int) -> None:
    two = _Two(5 * SECOND, drift, 3600, 1000, 0.0002, 0.0003, back=back)
    found = two.estimate()
    assert found.uncertainty is None
    # The time of travel is part of it: at most as much later, or earlier, as the shortest one takes.
    sign = 1 if back else -1
    assert all(0 <= sign * error <= 220_000 for error in two.errors(found))


def test_one_segment_is_an_estimate() -> None:
    found = estimate_clock(np.array([_BEGIN]), np.array([7]), np.array([0]))
    assert found == ClockEstimate(7, 0, _BEGIN, None)


def test_a_clock_is_told_by_way_of_another_point() -> None:
    # The second point is 5 s behind the first and gains 1000 ns a second, the third 2 s before the second.
    second = ClockEstimate(5 * SECOND, -1000, _BEGIN, 100)
    third = ClockEstimate(-2 * SECOND, 300, _BEGIN + 10 * SECOND, 50)
    # 8 s after ``_BEGIN`` the second clock has gained 8 µs.
    assert third.after(second) == ClockEstimate(3 * SECOND - 8000, -700, _BEGIN + 10 * SECOND, 150)
    assert third.after(second._replace(uncertainty=None)).uncertainty is None
    assert second.reversed() == ClockEstimate(-5 * SECOND, 1000, _BEGIN + 5 * SECOND, 100)
