"""Plots: the scale, the bars and the same numbers in words."""

from __future__ import annotations

from msmq_wire.report.buckets import TimeBuckets
from msmq_wire.report.fates import Fates
from msmq_wire.report.plots import flow_section
from tests.report.pages import START, Page


def _rate(*counts: int) -> TimeBuckets:
    rate = TimeBuckets()
    for at, count in enumerate(counts):
        rate.add(START + at * 1_000_000, count)
    return rate


def test_the_rate_is_told_in_words_and_in_a_bar_for_each_step_of_time() -> None:
    page = Page(flow_section(_rate(7, 2), Fates()))
    assert page.text_of("figcaption") == ["9 messages in steps of 1 ms, at most 7 in one"]
    assert page.text_of("title") == ["2023-11-14 22:13:20.000 UTC: 7", "2023-11-14 22:13:20.001 UTC: 2"]
    bars = [one for one in page.named("rect") if one["class"] == "bar"]
    # 192 pixels stand for 10 messages, and the ground is at 206.
    assert [(one["y"], one["height"]) for one in bars] == [("71.6", "134.4"), ("167.6", "38.4")]


def test_the_scale_goes_to_the_next_round_number() -> None:
    for highest, top in ((2, 2), (3, 4), (5, 6), (7, 10), (11, 20), (61, 100), (601, 1000)):
        page = Page(flow_section(_rate(highest), Fates()))
        assert page.text_of("text")[:3] == ["0", f"{top // 2:,}", f"{top:,}"]
    assert Page(flow_section(_rate(1), Fates())).text_of("text")[:2] == ["0", "1"]


def test_latencies_are_told_by_bins_with_both_their_edges_and_by_quantiles() -> None:
    fates = Fates()
    for duration in (5_000, 25_000, 30_000, 150_000_000):
        fates.settled.add(duration)
    page = Page(flow_section(TimeBuckets(), fates))
    assert page.text_of("title") == ["0 to 20 µs: 1", "20 µs to 50 µs: 2", "100 ms to 200 ms: 1"]
    assert page.text_of("figcaption") == [
        "From a message to its first OrderAck, final or administration acknowledgment: 4 messages; "
        "median 30 µs, 90 % 150 ms, 99 % 150 ms, longest 150 ms"
    ]
    assert page.text_of("p") == ["No messages with a time."]


def test_without_times_and_acknowledgments_the_plots_say_so() -> None:
    page = Page(flow_section(TimeBuckets(), Fates(every=3)))
    assert page.text_of("p") == [
        "No messages with a time.",
        "Nothing that was captured acknowledges a message.",
        "One message of 3 was looked at.",
    ]
