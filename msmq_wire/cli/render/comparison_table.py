"""A comparison as text: differences first, then what was not compared, then how much agrees in each step.

The rule kept here: a difference is a line in a pipe and a short block on a terminal; agreements are numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, tzinfo

from msmq_wire.cli.render.block import GAP, WHOLE_SECONDS, folded, head
from msmq_wire.cli.render.finding_table import frames_text
from msmq_wire.cli.render.screen import Screen
from msmq_wire.lab.recordings.compare_values import (
    Agreement,
    Comparable,
    ComparisonResult,
    Difference,
    NotCompared,
)
from msmq_wire.records.tree.tree_screen import Segment
from msmq_wire.records.tree.value_text import count_text, timestamp_text
from msmq_wire.rpc.hresults import describe

_LONGEST = 200
"""Characters of a value that are shown."""
_NO_STEP = "-"


def print_comparison(screen: Screen, compared: ComparisonResult, zone: tzinfo | None = UTC) -> None:
    """Print a comparison. Zone None is local time."""
    steps = {one.step for one in compared.differences} | {one.step for one in compared.agreements}
    steps |= {one.step for one in compared.not_compared}
    step_width = max((len(screen.safe(step or _NO_STEP)) for step in steps), default=1)
    step_width = min(step_width, 40)
    for one in compared.differences:
        if screen.width is None:
            screen.line(_line(screen, one, step_width, zone))
        else:
            for segments in _block(screen, one, screen.width, step_width, zone):
                screen.line(segments)
    for other in compared.not_compared:
        _uncompared(screen, other, step_width)
    agreeing: defaultdict[str, list[Agreement]] = defaultdict(list)
    for agreement in compared.agreements:
        agreeing[agreement.step].append(agreement)
    for step, agreements in agreeing.items():
        reported = ", ".join(f"{one.subject} {one.count}" for one in agreements)
        _put(screen, _begun(screen, "agrees", "note", step, step_width), reported)


def _begun(screen: Screen, word: str, style: str, step: str, width: int) -> list[Segment]:
    name = _cut(screen.safe(step)) or _NO_STEP
    return [(f"{word:<12}{GAP}", style), (f"{name:<{width}}{GAP}", "title")]


def _line(screen: Screen, one: Difference, width: int, zone: tzinfo | None) -> Iterator[Segment]:
    yield from _begun(screen, "differs", "error", one.step, width)
    yield f"{one.subject} {one.field}{GAP}", "strong"
    place = _where(one)
    if place:
        yield f"{place}{GAP}", "dim"
    if one.location.time is not None:
        yield f"{timestamp_text(one.location.time, zone)}{GAP}", ""
    yield "; ".join(screen.safe(text) for text in _sentences(one)), ""
    if one.readings:
        yield f"{GAP}{' '.join(one.readings)}", "spec"


def _block(
    screen: Screen, one: Difference, screen_width: int, width: int, zone: tzinfo | None
) -> Iterator[list[Segment]]:
    time = "" if one.location.time is None else timestamp_text(one.location.time, zone)[:WHOLE_SECONDS]
    begun = _begun(screen, "differs", "error", one.step, width)
    texts = [(f"{one.subject} {one.field}", "strong"), (time, "")]
    yield from head(screen, screen_width, begun, [text for text in texts if text[0]])
    for text in _sentences(one):
        yield from folded(screen, screen_width, text)
    place = ", ".join(text for text in (_where(one), *_touched(one)) if text)
    yield from folded(screen, screen_width, place, "spec")


def _touched(one: Difference) -> Iterator[str]:
    if one.readings:
        yield f"touches {' '.join(one.readings)}"


def _where(one: Difference) -> str:
    """The frames, the field and its offset."""
    parts = [frames_text(one.location.frames), one.path]
    if one.offset is not None:
        parts.append(f"offset {one.offset}")
    return " ".join(part for part in parts if part)


def _sentences(one: Difference) -> Iterator[str]:
    if one.field == "rule":
        yield f"{one.captured}: {one.message}"
        return
    yield f"recorded {_value(one.field, one.recorded)}"
    yield f"captured {_value(one.field, one.captured)}"
    if one.message:
        yield one.message


def _value(field: str, value: Comparable) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if field == "status" and isinstance(value, int):
        return describe(value).symbol if value else "ok"
    return str(value) if isinstance(value, int) else f'"{_cut(value)}"'


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _uncompared(screen: Screen, one: NotCompared, width: int) -> None:
    text = one.reason if not one.detail else f"{one.reason}: {_cut(one.detail)}"
    if one.count > 1:
        text += f" ({count_text(one.count, 'time')})"
    begun = _begun(screen, "not compared", "warning", one.step, width)
    _put(screen, begun, screen.safe(f"{one.subject}: {text}"))


def _put(screen: Screen, begun: list[Segment], text: str) -> None:
    """A text behind how its line begins, or below it where a terminal has no room for it there."""
    lines = [[*begun, (text, "")]]
    if screen.width is not None:
        lines = list(head(screen, screen.width, begun, [(text, "")]))
    for segments in lines:
        screen.line(segments)
