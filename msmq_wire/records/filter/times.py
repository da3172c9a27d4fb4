"""Times in filters: moments, and the periods that shortened ones stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from math import nan
from operator import ge, gt, le, lt

from msmq_wire.errors import MsmqWireError
from msmq_wire.records.message import DATES
from msmq_wire.units import SECOND

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
TIME_OF_DAY = re.compile(r"\d{2}:\d{2}[0-9:.Zz+-]*")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?")
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[Tt_ ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?(Z|z|[+-]\d{2}:\d{2})?)?"
)
_DAY = 86400 * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ORDERS: Mapping[str, Callable[[float, int], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def time_matcher(operator: str, text: str, zone: tzinfo | None) -> Callable[[int], bool]:
    """A function that compares nanoseconds since 1970 with a text; zone None is that of this machine.

    A text is one moment for what has an order. For ``==``, ``!=`` and ``~`` it is all that it leaves open, as
    clocks of the zone show it: a date its day, however long, 10:15 its minute, of any day. Raises
    MsmqWireError when it is no time.
    """
    clock, moment = _CLOCK.fullmatch(text), _MOMENT.fullmatch(text)
    try:
        if clock is not None:
            return _compared(operator, *_clock(clock), lambda value: _on_clocks(value, zone) % _DAY)
        if moment is not None and (operator in _ORDERS or moment[6] or zone is UTC):
            return _compared(operator, *_moment(moment, zone), None)
        if moment is not None:
            # Where clocks change, a day has another length, and what they show comes twice or never.
            return _compared(operator, *_moment(moment, UTC), lambda value: _on_clocks(value, zone))
    except (ValueError, OverflowError):
        pass
    raise MsmqWireError(f"{text!r} is no time: 2024-05-01, 2024-05-01T10:15:00Z or 10:15")


def _compared(
    operator: str, start: int, length: int, of: Callable[[int], float] | None
) -> Callable[[int], bool]:
    order, end = _ORDERS.get(operator), start + length
    if order is not None:
        return (lambda value: order(value, start)) if of is None else lambda value: order(of(value), start)
    if of is None:
        return lambda value: (start <= value < end) is (operator != "!=")
    return lambda value: (start <= of(value) < end) is (operator != "!=")


def _fraction(digits: str | None) -> tuple[int, int]:
    """Nanoseconds of a decimal fraction, and how many its last digit stands for."""
    if digits is None:
        return 0, SECOND
    return int(digits[1:].ljust(9, "0")), 10 ** (10 - len(digits))


def _clock(match: re.Match[str]) -> tuple[int, int]:
    hours, minutes, seconds, digits = match.groups()
    fraction, length = _fraction(digits)
    time(int(hours), int(minutes), int(seconds or 0))
    start = (int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)) * SECOND + fraction
    return start, (60 * SECOND if seconds is None else length)


def _moment(match: re.Match[str], zone: tzinfo | None) -> tuple[int, int]:
    day, hours, minutes, seconds, digits, offset = match.groups()
    fraction, length = _fraction(digits)
    moment = datetime.combine(
        date.fromisoformat(day), time(int(hours or 0), int(minutes or 0), int(seconds or 0))
    )
    if offset is not None:
        moment = datetime.fromisoformat(f"{moment.isoformat()}{offset.upper().replace('Z', '+00:00')}")
    elif zone is not None:
        moment = moment.replace(tzinfo=zone)
    else:
        moment = moment.astimezone()
    if hours is None:
        length = _DAY
    elif seconds is None:
        length = 60 * SECOND
    return (moment - _EPOCH) // timedelta(seconds=1) * SECOND + fraction, length


def _on_clocks(value: int, zone: tzinfo | None) -> float:
    """What clocks of a zone show, as nanoseconds of a zone without an offset."""
    if not DATES.start <= value // SECOND < DATES.stop:
        # Of no day, so before, after and within none.
        return nan
    moment = datetime.fromtimestamp(value // SECOND, UTC).astimezone(zone).replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(seconds=1) * SECOND + value % SECOND
