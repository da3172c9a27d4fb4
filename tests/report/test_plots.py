"""Plots: the scale, the bars and the same numbers in words."""

from __future__ import annotations

from msmq_wire.report.buckets import TimeBuckets
from msmq_wire.report.outcome_totals import OutcomeTotals
from msmq_wire.report.plots import flow_section
from tests.report.pages import START, Page


def _rate(*counts: int) -> TimeBuckets:
    rate = TimeBuckets()
    for at, count in enumerate(counts):
        rate.add(START + at * 1_000_000, count)
    return rate


def _classes(page: Page, tag: str, kind: str) -> list[dict[str, str | None]]:
    return [one for one in page.named(tag) if one.get("class") == kind]


def test_a_rate_of_few_steps_is_a_point_for_each_of_them() -> None:
    page = Page(flow_section(_rate(7, 2), OutcomeTotals()))
    assert page.text_of("figcaption") == ["9 messages in steps of 1 ms, at most 7 in one"]
    assert page.text_of("title") == ["2023-11-14 22:13:20.000 UTC: 7", "2023-11-14 22:13:20.001 UTC: 2"]
    # 192 pixels stand for 10 messages, and the ground is at 206.
    assert [one["cy"] for one in _classes(page, "circle", "dot")] == ["71.6", "167.6"]
    assert not _classes(page, "rect", "bar")


def test_a_message_in_each_step_is_a_point_on_a_line() -> None:
    page = Page(flow_section(_rate(1, 1), OutcomeTotals()))
    assert [one["cy"] for one in _classes(page, "circle", "dot")] == ["34.0", "34.0"]
    assert page.text_of("figcaption") == ["2 messages in steps of 1 ms, one in each"]


def test_a_rate_of_many_steps_is_a_bar_for_each_of_them() -> None:
    page = Page(flow_section(_rate(*[7] * 49), OutcomeTotals()))
    assert [one["y"] for one in _classes(page, "rect", "bar")] == ["71.6"] * 49


def test_the_scale_goes_to_the_next_round_number() -> None:
    for highest, top in ((2, 2), (3, 4), (5, 6), (7, 10), (11, 20), (61, 100), (601, 1000)):
        page = Page(flow_section(_rate(highest), OutcomeTotals()))
        assert page.text_of("text")[:3] == ["0", f"{top // 2:,}", f"{top:,}"]


def test_few_latencies_are_points_and_told_by_quantiles() -> None:
    outcome_totals = OutcomeTotals()
    for duration in (5_000, 25_000, 30_000, 150_000_000):
        outcome_totals.settled.add(duration)
    page = Page(flow_section(TimeBuckets(), outcome_totals))
    assert page.text_of("title") == ["5 µs", "25 µs", "30 µs", "150 ms"]
    assert page.text_of("figcaption") == [
        "From a message to its first OrderAck, final or administration acknowledgment: 4 messages; "
        "median 30 µs, 90 % 150 ms, 99 % 150 ms, longest 150 ms"
    ]
    assert page.text_of("p") == ["No messages with a time."]


def test_one_latency_is_told_once() -> None:
    outcome_totals = OutcomeTotals()
    outcome_totals.settled.add(25_000)
    (words,) = Page(flow_section(TimeBuckets(), outcome_totals)).text_of("figcaption")
    assert words.endswith("acknowledgment: 1 message, 25 µs")


def test_many_latencies_are_told_by_bins_with_both_their_edges() -> None:
    outcome_totals = OutcomeTotals()
    for duration in (5_000, 25_000, 30_000, 150_000_000) * 20:
        outcome_totals.settled.add(duration)
    page = Page(flow_section(TimeBuckets(), outcome_totals))
    assert page.text_of("title") == ["0 to 20 µs: 20", "20 µs to 50 µs: 40", "100 ms to 200 ms: 20"]


def test_many_latencies_that_are_much_the_same_are_no_slab() -> None:
    outcome_totals = OutcomeTotals()
    for step in range(100):
        outcome_totals.settled.add(400_000_000 + step * 1_000_000)
    assert len(_classes(Page(flow_section(TimeBuckets(), outcome_totals)), "rect", "bar")) == 30
    same = OutcomeTotals()
    for _ in range(100):
        same.settled.add(400_000_000)
    page = Page(flow_section(TimeBuckets(), same))
    assert (len(_classes(page, "rect", "bar")), len(_classes(page, "circle", "dot"))) == (0, 1)


def test_without_times_and_acknowledgments_the_plots_say_so() -> None:
    page = Page(flow_section(TimeBuckets(), OutcomeTotals(every=3)))
    assert page.text_of("p") == [
        "No messages with a time.",
        "Nothing that was captured acknowledges a message.",
        "One in 3 messages was looked at.",
    ]
