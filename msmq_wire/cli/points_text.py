"""What the summary line says of captures that recorded the same traffic at several places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msmq_wire.capture.vantage.points import SharedTraffic, VantagePoint
from msmq_wire.records.joined_capture import joined_name
from msmq_wire.report.wording import duration_text


def points_text(traffic: SharedTraffic, name_of: Callable[[str], str]) -> str:
    """Which captures are read as one, and how their clocks differ; ``name_of`` gives the names of files."""
    names = [joined_name([name_of(file) for file in point.files]) for point in traffic.points]
    clocks = [_clock_text(point, name) for point, name in zip(traffic.points[1:], names[1:], strict=True)]
    translated = "; addresses are translated between them" if traffic.translations else ""
    return f"{_listed(names)} recorded the same traffic: read as one; {', '.join(clocks)}{translated}"


def _clock_text(point: VantagePoint, name: str) -> str:
    """How the clock of a point differs from that of the first one."""
    if point.uncertainty is None:
        wrong = "at least, only one direction was seen at both"
    else:
        wrong = f"\N{PLUS-MINUS SIGN} {duration_text(point.uncertainty)}"
    drift = f", {duration_text(abs(point.drift))} a second {_side(point.drift, 'slower', 'faster')}"
    return (
        f"clock of {name} {duration_text(abs(point.offset))} ({wrong}) "
        f"{_side(point.offset, 'behind', 'ahead')}{drift if point.drift else ''}"
    )


def _side(difference: int, more: str, less: str) -> str:
    return more if difference >= 0 else less


def _listed(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1]))


def copies_text(count: int) -> str:
    """How many frames were left out because another point has them, too."""
    return "1 copy of a frame left out" if count == 1 else f"{count} copies of frames left out"
