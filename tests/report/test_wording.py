"""Times, durations, sizes and counts as a reader wants them."""

from __future__ import annotations

import pytest

from msmq_wire.report.wording import bytes_text, clock_text, count_text, date_text, duration_text, host_of
from tests.report.pages import START

_SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (1_000_000, "1 ms"),
        (12_345_678, "12.3 ms"),
        (250_000_000, "250 ms"),
        (_SECOND, "1 s"),
        (1_500_000_000, "1.5 s"),
        (59 * _SECOND, "59 s"),
        (60 * _SECOND, "1 min"),
        (3600 * _SECOND, "1 h"),
        (8_280 * _SECOND, "2.3 h"),
        (3_600_000 * _SECOND, "1,000 h"),
        (-1_500_000_000, "-1.5 s"),
    ],
)
def test_a_duration_is_told_in_the_largest_unit_that_it_reaches(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text


def test_a_date_is_cut_to_the_millisecond_that_it_lies_in() -> None:
    assert date_text(START) == "2023-11-14 22:13:20.000 UTC"
    assert date_text(START + 500_000_000) == "2023-11-14 22:13:20.500 UTC"
    assert date_text(START + 999_999_999) == "2023-11-14 22:13:20.999 UTC"
    assert date_text(0) == "1970-01-01 00:00:00.000 UTC"


def test_where_no_calendar_has_the_time_a_dash_or_a_question_mark_stands() -> None:
    assert date_text(None) == "-"
    assert date_text(1 << 80) == "-"
    assert clock_text(1 << 80, 1) == "?"


def test_a_clock_is_as_precise_as_its_steps_are_short() -> None:
    time = START + 7_000_000
    assert clock_text(time, 500_000) == "22:13:20.007000"
    assert clock_text(time, 500_000_000) == "22:13:20.007"
    assert clock_text(time, _SECOND) == "22:13:20"
    assert clock_text(time, _SECOND, dated=True) == "2023-11-14 22:13"
    assert clock_text(time, 86_400 * _SECOND, dated=True) == "2023-11-14"


def test_sizes_and_counts_have_the_unit_and_the_number_that_fit() -> None:
    assert [bytes_text(size) for size in (0, 1, 812, 999)] == ["0 bytes", "1 byte", "812 bytes", "999 bytes"]
    assert [bytes_text(size) for size in (1000, 4_100, 3_000_000)] == ["1.0 kB", "4.1 kB", "3.0 MB"]
    assert bytes_text(5 * 10**15) == "5,000.0 TB"
    assert [count_text(count, "way") for count in (0, 1, 12_000)] == ["0 ways", "1 way", "12,000 ways"]


def test_a_host_is_the_place_without_its_port() -> None:
    assert host_of("192.0.2.1:1801") == "192.0.2.1"
    assert host_of("[2001:db8::1]:1801") == "[2001:db8::1]"
    assert host_of("msg01") == "msg01"
    assert host_of(None) == "?"
