"""Plots over time and duration: bars drawn as SVG, with the same numbers in words beside them."""

from __future__ import annotations

from collections.abc import Sequence

from msmq_wire.report.axis import TimeAxis
from msmq_wire.report.buckets import Durations, TimeBuckets
from msmq_wire.report.fates import Fates
from msmq_wire.report.markup import Markup, joined, tag
from msmq_wire.report.wording import count_text, date_text, duration_text

__all__ = ["flow_section"]

_WIDTH, _HEIGHT = 960, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 948, 14, 206


def flow_section(rate: TimeBuckets, fates: Fates) -> Markup:
    """Message rate, and how long acknowledgments took."""
    parts = [tag("h3", "Message rate"), _rate(rate), tag("h3", "Acknowledgment latency")]
    shown = False
    for words, durations in (
        ("from a message to the session acknowledgment or HTTP response that covers it", fates.acknowledged),
        ("from a message to its first OrderAck, final or administration acknowledgment", fates.settled),
    ):
        if durations.total:
            shown = True
            parts.append(_latency(words, durations))
    if not shown:
        parts.append(tag("p", "Nothing that was captured acknowledges a message."))
    if fates.every > 1:
        parts.append(tag("p", f"One message of {fates.every} was looked at.", class_="note"))
    return joined(*parts)


def _rate(rate: TimeBuckets) -> Markup:
    if not rate.total:
        return tag("p", "No messages with a time.")
    buckets = list(rate.items())
    highest = max(count for _, count in buckets)
    width = rate.width
    axis = TimeAxis([(start, start + width) for start, _ in buckets], _LEFT, _RIGHT)
    top = _round_up(highest)
    bars = []
    for start, count in buckets:
        x = axis.x(start)
        bars.append(
            _bar(x, max(axis.x(start + width) - x - 0.5, 1.5), count, top, f"{date_text(start)}: {count:,}")
        )
    words = (
        f"{count_text(rate.total, 'message')} in steps of {duration_text(width)}, at most {highest:,} in one"
    )
    return _figure(words, joined(_scale(top), axis.drawn(_TOP, _BOTTOM), *bars))


def _latency(words: str, durations: Durations) -> Markup:
    places = sorted(durations.bins)
    first, last = places[0], max(places[-1], places[0] + 5)
    step = (_RIGHT - _LEFT) / (last - first + 1)
    top = _round_up(max(durations.bins.values()))
    drawn = []
    every = max(1, round(70 / step))
    for at, place in enumerate(range(first, last + 1)):
        x = _LEFT + at * step
        count = durations.bins.get(place, 0)
        low, high = duration_text(Durations.start(place)), duration_text(Durations.start(place + 1))
        if place == Durations.FIRST:
            low = "0"
        if count:
            drawn.append(_bar(x + 1, step - 2, count, top, f"{low} to {high}: {count:,}"))
        if at % every == 0:
            drawn.append(tag("text", low, x=f"{x:.1f}", y=_BOTTOM + 16, class_="tick", text_anchor="start"))
    quantiles = ", ".join(
        f"{name} {duration_text(durations.quantile(part))}"
        for name, part in (("median", 0.5), ("90 %", 0.9), ("99 %", 0.99))
    )
    told = f"{words}: {count_text(durations.total, 'message')}; {quantiles}"
    told += f", longest {duration_text(durations.longest)}"
    return _figure(told[0].upper() + told[1:], joined(_scale(top), *drawn))


def _figure(words: str, inner: Markup) -> Markup:
    picture = tag(
        "svg", inner, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=words, class_="picture"
    )
    region = tag(
        "div", picture, class_="scroll", tabindex="0", role="region", aria_label="Plot, scrolls sideways"
    )
    return tag("figure", region, tag("figcaption", words))


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
