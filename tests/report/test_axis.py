"""A time axis: times keep their order, quiet stretches are cut short and drawn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.report.axis import TimeAxis
from tests.report.pages import START, Page

_TIMES = st.integers(min_value=0, max_value=1 << 63)
_SECOND = 1_000_000_000
_HOUR = 3600 * _SECOND


@given(st.lists(st.tuples(_TIMES, st.integers(0, 1 << 40)), min_size=1, max_size=12))
def test_an_axis_keeps_the_order_of_times_and_its_ends(busy: list[tuple[int, int]]) -> None:
    axis = TimeAxis([(start, start + length) for start, length in busy], 100, 900)
    times = sorted({time for start, length in busy for time in (start, start + length)})
    places = [axis.x(time) for time in times]
    assert places == sorted(places)
    assert all(99.9 <= place <= 900.1 for place in places)


def test_a_long_quiet_stretch_is_cut_short_and_drawn() -> None:
    hour = 3_600_000_000_000
    axis = TimeAxis([(0, 1_000_000_000), (hour, hour + 1_000_000_000)], 0, 1000)
    assert len(axis.parts) - 1 == 1
    assert 480 < axis.x(1_000_000_000) < 500 < axis.x(hour) < 520
    assert "nothing for 60 min" in axis.drawn(0, 10)


def test_of_several_quiet_stretches_the_longest_is_cut_first_and_the_rest_against_what_remains() -> None:
    minute = _HOUR // 60
    times = (0, 10 * _HOUR + minute, 15 * _HOUR + 2 * minute)
    axis = TimeAxis([(time, time + minute) for time in times], 0, 1000)
    page = Page(f"<svg>{axis.drawn(0, 10)}</svg>")
    assert page.text_of("title") == ["nothing for 10 h", "nothing for 5 h"]
    assert len(axis.parts) - 1 == 2


def test_times_stand_at_round_steps_with_the_outer_ones_turned_inwards() -> None:
    axis = TimeAxis([(START, START + 20 * _SECOND)], 0, 236)
    page = Page(f"<svg>{axis.drawn(0, 10)}</svg>")
    ticks = page.named("text")
    assert page.text_of("text") == ["22:13:20", "22:13:30", "22:13:40"]
    assert [(one["x"], one["y"], one["text-anchor"]) for one in ticks] == [
        ("0.0", "26", "start"),
        ("118.0", "26", "middle"),
        ("236.0", "26", "end"),
    ]


def test_no_time_under_an_axis_is_odd() -> None:
    for length, seconds in ((50, ("00", "10", "20", "30", "40", "50")), (3600, ("00",)), (86_400, ("00",))):
        page = Page(f"<svg>{TimeAxis([(START, START + length * _SECOND)], 0, 900).drawn(0, 10)}</svg>")
        times = page.text_of("text")
        assert 3 < len(times) < 9
        assert all(time.endswith(seconds) for time in times)
    page = Page(f"<svg>{TimeAxis([(START, START + 10**7 * _SECOND)], 0, 900).drawn(0, 10)}</svg>")
    assert page.text_of("text")[:2] == ["2023-11-19", "2023-12-19"]


def test_moments_alone_leave_a_stretch_between_two_of_them_to_be_drawn_on() -> None:
    axis = TimeAxis([(at, at) for at in (0, 5, 10)], 0.0, 676.0)
    assert len(axis.parts) - 1 == 1
    assert (axis.x(0), axis.x(10)) == (0.0, 676.0)


@given(st.lists(st.tuples(_TIMES, st.integers(0, 1 << 40)), min_size=1, max_size=12))
def test_times_under_an_axis_never_stand_on_one_another(busy: list[tuple[int, int]]) -> None:
    axis = TimeAxis([(start, start + length) for start, length in busy], 100, 900)
    taken = float("-inf")
    page = Page(f"<svg>{axis.drawn(0, 10)}</svg>")
    for one, text in zip(page.named("text"), page.text_of("text"), strict=True):
        x, width = float(one["x"] or 0), 6.8 * len(text)
        left = {"start": x, "middle": x - width / 2, "end": x - width}[one["text-anchor"] or ""]
        assert left >= taken
        taken = left + width
