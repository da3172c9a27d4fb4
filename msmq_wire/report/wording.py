"""Times, durations, sizes and counts as a reader wants them."""

from __future__ import annotations

import datetime

from msmq_wire.units import MILLISECOND, SECOND

_UNITS = ((3600 * SECOND, "h"), (60 * SECOND, "min"), (SECOND, "s"), (MILLISECOND, "ms"), (1000, "µs"))


def _moment(nanoseconds: int) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromtimestamp(nanoseconds // SECOND, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return None


def date_text(nanoseconds: int | None) -> str:
    """``2023-11-14 22:13:20.500 UTC``; a dash where there is no time."""
    moment = None if nanoseconds is None else _moment(nanoseconds)
    if nanoseconds is None or moment is None:
        return "-"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{nanoseconds % SECOND // MILLISECOND:03d} UTC"


def clock_text(nanoseconds: int, step: int, *, dated: bool = False) -> str:
    """A time as precise as an axis with such steps (nanoseconds) needs it."""
    moment = _moment(nanoseconds)
    if moment is None:
        return "?"
    if dated:
        return f"{moment:%Y-%m-%d}" if step >= 86_400 * SECOND else f"{moment:%Y-%m-%d %H:%M}"
    text = f"{moment:%H:%M:%S}"
    if step < MILLISECOND:
        return f"{text}.{nanoseconds % SECOND // 1000:06d}"
    return f"{text}.{nanoseconds % SECOND // MILLISECOND:03d}" if step < SECOND else text


def duration_text(nanoseconds: int) -> str:
    """``12 ms``, ``1.5 s``, ``2.3 h``."""
    for unit, name in _UNITS:
        if abs(nanoseconds) >= unit:
            value = nanoseconds / unit
            return f"{value:.1f} {name}".replace(".0 ", " ") if value < 100 else f"{value:,.0f} {name}"
    return f"{nanoseconds} ns"


def bytes_text(size: int) -> str:
    """``812 bytes``, ``4.1 kB``, ``3.0 MB``."""
    if size < 1000:
        return count_text(size, "byte")
    power = min((len(str(size)) - 1) // 3, 4)
    return f"{size / 1000**power:,.1f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"


def count_text(count: int, noun: str) -> str:
    """``1 message``, ``12,000 messages``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def host_of(place: str | None) -> str:
    """The address in ``address:port``."""
    if not place:
        return "?"
    address, colon, port = place.rpartition(":")
    return address if colon and port.isdigit() else place
