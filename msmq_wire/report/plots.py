"""Plots over time and duration, drawn as SVG, with the same numbers in words beside them.

The rule kept here: a few are points on a line, many are bars: a picture shows no more than there is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from msmq_wire.markup import Markup, joined, scrolling, tag
from msmq_wire.report.axis import TimeAxis
from msmq_wire.report.buckets import Durations, TimeBuckets
from msmq_wire.report.outcome_totals import OutcomeTotals
from msmq_wire.report.wording import count_text, date_text, duration_text

_WIDTH, _HEIGHT = 960, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 948, 14, 206
_MOST_POINTS = 48
"""Steps of time, and durations, that are drawn as points."""
_SHORTEST = 1_000
"""Nanoseconds; no clock of a capture tells less."""
_ALIKE = 4
"""Steps of 1, 2, 5, 10 in which durations lie that are much the same."""
_STEPS = 30
_LOW = 68
"""Height of a line with points on it."""


def flow_section(rate: TimeBuckets, outcome_totals: OutcomeTotals) -> Markup:
    """Message rate, and how long acknowledgments took."""
    parts = [tag("h3", "Message rate"), _rate(rate), tag("h3", "Acknowledgment latency")]
    shown = False
    for words, durations in (
        (
            "from a message to the session acknowledgment or HTTP response that covers it",
            outcome_totals.acknowledged,
        ),
        (
            "from a message to its first OrderAck, final or administration acknowledgment",
            outcome_totals.settled,
        ),
    ):
        if durations.total:
            shown = True
            parts.append(_latency(words, durations))
    if not shown:
        parts.append(tag("p", "Nothing that was captured acknowledges a message."))
    if outcome_totals.every > 1:
        parts.append(tag("p", f"One in {outcome_totals.every} messages was looked at.", class_="note"))
    return joined(*parts)


def _rate(rate: TimeBuckets) -> Markup:
    if not rate.total:
        return tag("p", "No messages with a time.")
    buckets = list(rate.items())
    highest = max(count for _, count in buckets)
    width = rate.width
    few = len(buckets) <= _MOST_POINTS
    # A point stands where its step begins: then one step has no width.
    axis = TimeAxis(((start, start + (0 if few else width)) for start, _ in buckets), _LEFT + 10, _RIGHT - 10)
    words = f"{count_text(rate.total, 'message')} in steps of {duration_text(width)}"
    words += f", at most {highest:,} in one" if highest > 1 else ", one in each"
    if few and highest == 1:
        middle = _LOW / 2
        points = [_dot(axis.x(start), middle, f"{date_text(start)}: 1") for start, _ in buckets]
        return _figure(words, joined(_base(middle), axis.drawn(10, _LOW - 10), *points), _LOW + 16)
    top = _round_up(highest)
    drawn = []
    for start, count in buckets:
        reported, x = f"{date_text(start)}: {count:,}", axis.x(start)
        if few:
            drawn.append(_point(x, count, top, reported))
        else:
            drawn.append(_bar(x, max(axis.x(start + width) - x - 0.5, 1.5), count, top, reported))
    return _figure(words, joined(_scale(top), axis.drawn(_TOP, _BOTTOM), *drawn))


def _latency(words: str, durations: Durations) -> Markup:
    reported = _latency_words(words, durations)
    values = durations.values
    if durations.total <= _MOST_POINTS or values[0] == values[-1]:
        return _few_latencies(reported, sorted(set(values)))
    places = sorted(durations.bins)
    if places[-1] - places[0] < _ALIKE:
        return _like_latencies(reported, values)
    first, last = places[0], max(places[-1], places[0] + 5)
    texts = [duration_text(Durations.start(place)) for place in range(first, last + 2)]
    if first == Durations.FIRST:
        texts[0] = "0"
    return _bars(reported, texts, [durations.bins.get(place, 0) for place in range(first, last + 1)])


def _latency_words(words: str, durations: Durations) -> str:
    reported = f"{words[0].upper()}{words[1:]}: {count_text(durations.total, 'message')}"
    if durations.total == 1:
        return f"{reported}, {duration_text(durations.longest)}"
    quantiles = ", ".join(
        f"{name} {duration_text(durations.quantile(part))}"
        for name, part in (("median", 0.5), ("90 %", 0.9), ("99 %", 0.99))
    )
    return f"{reported}; {quantiles}, longest {duration_text(durations.longest)}"


def _like_latencies(reported: str, values: Sequence[int]) -> Markup:
    """Those that are much the same, in even steps from the shortest to the longest."""
    first, width = values[0], (values[-1] - values[0]) // _STEPS + 1
    counts = Counter((value - first) // width for value in values)
    texts = [duration_text(first + at * width) for at in range(_STEPS + 1)]
    return _bars(reported, texts, [counts[at] for at in range(_STEPS)], every=6)


def _bars(reported: str, texts: Sequence[str], counts: Sequence[int], every: int | None = None) -> Markup:
    """How many there are from each of these durations to the next; ``every`` so many are written below."""
    top, step = _round_up(max(counts)), (_RIGHT - _LEFT) / len(counts)
    every = every or max(1, round(70 / step))
    drawn = []
    for at, (low, high, count) in enumerate(zip(texts, texts[1:], counts, strict=False)):
        x = _LEFT + at * step
        if count:
            drawn.append(_bar(x + 1, step - 2, count, top, f"{low} to {high}: {count:,}"))
        if at % every == 0:
            drawn.append(tag("text", low, x=f"{x:.1f}", y=_BOTTOM + 16, class_="tick", text_anchor="start"))
    return _figure(reported, joined(_scale(top), *drawn))


def _few_latencies(reported: str, durations: Sequence[int]) -> Markup:
    """Each of them on a line that grows tenfold from mark to mark."""
    values = [max(value, _SHORTEST) for value in durations]
    first = math.floor(math.log10(values[0]))
    last = max(math.ceil(math.log10(values[-1])), first + 1)
    step = (_RIGHT - _LEFT - 20) / (last - first)
    middle = _LOW / 2
    drawn = [_base(middle)]
    for power in range(first, last + 1):
        x = f"{_LEFT + 10 + (power - first) * step:.1f}"
        drawn += (
            tag("line", x1=x, x2=x, y1=10, y2=_LOW - 10, class_="grid"),
            tag("text", duration_text(10**power), x=x, y=_LOW + 6, class_="tick", text_anchor="middle"),
        )
    drawn += (
        _dot(_LEFT + 10 + (math.log10(value) - first) * step, middle, duration_text(value))
        for value in values
    )
    return _figure(reported, joined(*drawn), _LOW + 16)


def _figure(words: str, inner: Markup, height: int = _HEIGHT) -> Markup:
    picture = tag(
        "svg", inner, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=words, class_="picture"
    )
    return tag("figure", scrolling("Plot", picture), tag("figcaption", words))


def _bar(x: float, width: float, count: int, top: int, words: str) -> Markup:
    height = (_BOTTOM - _TOP) * count / top
    return tag(
        "rect",
        tag("title", words),
        x=f"{x:.1f}",
        y=f"{_BOTTOM - height:.1f}",
        width=f"{width:.1f}",
        height=f"{height:.1f}",
        class_="bar",
    )


def _dot(x: float, y: float, words: str) -> Markup:
    return tag("circle", tag("title", words), cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_="dot")


def _point(x: float, count: int, top: int, words: str) -> Markup:
    y = _BOTTOM - (_BOTTOM - _TOP) * count / top
    stem = tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=_BOTTOM, y2=f"{y:.1f}", class_="stem")
    return joined(stem, _dot(x, y, words))


def _base(y: float) -> Markup:
    return tag("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_="base")


def _scale(top: int) -> Markup:
    steps: Sequence[int] = sorted({0, top // 2, top}) if top > 1 else (0, 1)
    lines: list[Markup] = []
    for value in steps:
        y = _BOTTOM - (_BOTTOM - _TOP) * value / top
        lines += (
            tag("line", x1=_LEFT, x2=_RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid"),
            tag("text", f"{value:,}", x=_LEFT - 8, y=f"{y + 4:.1f}", class_="tick", text_anchor="end"),
        )
    return joined(*lines)


def _round_up(value: int) -> int:
    """The next of 1, 2, 4, 6, 10, 20, 40, 60, 100..."""
    power = 1
    while True:
        for lead in (1, 2, 4, 6):
            if lead * power >= value:
                return lead * power
        power *= 10
