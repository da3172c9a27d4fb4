"""How a filter compares: which values a name takes, and what equal, less and contains mean for them."""

from __future__ import annotations

import ipaddress
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from typing import Any, get_args

from msmq_wire.cli.filter_places import Place, column_places, composed_paths, numbers_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.composed import COMPOSED
from msmq_wire.records.record import UNKNOWN_PACKET
from msmq_wire.units import SECOND
from msmq_wire.wire import registry
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.headers.user_header import UserHeader

__all__ = ["Matcher", "Place", "is_packet_path", "matcher", "packet_paths", "place_of"]

Matcher = Callable[[Any], bool]

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS = ("id", "stream", "length", "anomalies")
_FOLDED = ("queue", "type", "error", "kind", "method", "interface", "syntax", "account")
_TYPES = frozenset((*registry.PACKETS, *COMPOSED, UNKNOWN_PACKET, "gap", "error", "tcp_stream"))
_LISTED = 30
_QUEUES = ("destination_queue", "admin_queue", "response_queue")
_INDEX = re.compile(r"\[\d+\]")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?")
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[Tt_ ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?(Z|z|[+-]\d{2}:\d{2})?)?"
)
_DAY = 86400 * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_packet_path(path: str) -> bool:
    """Whether a path, without indexes, is one of a packet's JSON view."""
    return _INDEX.sub("", path) in _paths()


def packet_paths() -> Iterable[str]:
    """All of them, without indexes."""
    return _paths()


def place_of(path: str) -> Place:
    """What is known of the field or the bits at a path."""
    return _paths().get(_INDEX.sub("", path), Place())


@cache
def _paths() -> Mapping[str, Place]:
    found = dict(composed_paths())
    for cls in registry.PACKETS.values():
        found.update(_paths_of(cls, ""))
    found.update(column_places())
    return found


def _paths_of(cls: type[WireStruct], prefix: str) -> Iterator[tuple[str, Place]]:
    for field in fields(cls):
        if field.position:
            continue
        path = prefix + field.name
        yield path, Place(numbers_of(field.names), field.value_type is int, field.unit)
        if cls.BITS is not None and cls.BITS.field == field.name:
            yield f"{path}.raw", Place(integral=True)
            for bit in cls.BITS.bits.values():
                yield f"{path}.{bit.name}", Place(numbers_of(bit.names), integral=True)
        elif cls is UserHeader and field.name in _QUEUES:
            yield from ((f"{path}.{key}", Place()) for key in ("type", "format_name", "same_as"))
        elif field.name != "format_name":
            for inner in _structures(field.value_type):
                yield from _paths_of(inner, f"{path}.")
    for name, (_, inner) in getattr(cls, "INSIDE", {}).items():
        yield prefix + name, Place()
        yield from _paths_of(inner, f"{prefix}{name}.")


def _structures(hint: Any) -> list[type[WireStruct]]:
    if isinstance(hint, type) and issubclass(hint, WireStruct):
        return [hint]
    return [found for part in get_args(hint) for found in _structures(part)]


def matcher(
    name: str, comparison: str, text: str, zone: tzinfo | None, place: Place | None = None
) -> Matcher:
    """A function that compares a value of ``name`` with a text by an operator.

    Raises MsmqWireError when the text is no value of that name.
    """
    place = place or Place()
    if comparison == "~":
        return _contains(name, text.casefold(), place)
    if name in ("host", "src", "dst"):
        return _host(comparison, text)
    if place.unit == "time":
        return _time(comparison, text, zone)
    if name == "message_id":
        return _message_id(comparison, text)
    if name == "type" and comparison in ("==", "!=") and text.lower() not in _TYPES:
        raise MsmqWireError(f"no item is of type {text!r}: there are {', '.join(sorted(_TYPES))}")
    if place.choices and text.lower() not in place.choices:
        raise MsmqWireError(f"{text!r} is none of {', '.join(place.choices)}")
    number = _number(text, place.names)
    if number is None and place.unit == "unix-time":
        within = _time(comparison, text, zone)
        return lambda value: within(value * SECOND)
    if number is None and (name in _NUMBERS or place.integral):
        raise MsmqWireError(f"{text!r} is no number{_none_of(place)}")
    compare = _COMPARE[comparison]

    def plain(value: Any) -> bool:
        if isinstance(value, int):
            return number is not None and compare(int(value), number)
        if name in _FOLDED or place.choices or name.endswith("_queue"):
            return compare(str(value).casefold(), text.casefold())
        return compare(str(value), text)

    return plain


def _contains(name: str, wanted: str, place: Place) -> Matcher:
    """Numbers are searched by their digits and by the name they have in their enumeration."""
    if name == "type" and not any(wanted in known for known in _TYPES):
        raise MsmqWireError(f"no item is of a type with {wanted!r}: there are {', '.join(sorted(_TYPES))}")
    if (place.integral or name in _NUMBERS) and not wanted.isdecimal() and wanted not in ("true", "false"):
        found = frozenset(number for member, number in place.names.items() if wanted in member.casefold())
        if not found:
            raise MsmqWireError(f"nothing that {name} can be contains {wanted!r}")
        if place.flags:
            return lambda value: any(value & number for number in found)
        return lambda value: value in found
    return lambda value: wanted in str(value).casefold()


def _none_of(place: Place) -> str:
    """What a value could be called, where that is not too much to say."""
    if not place.names:
        return ""
    known = ", ".join(place.names)
    return f" and none of {known}" if len(place.names) <= _LISTED else " and no name of one"


def _number(text: str, names: Mapping[str, int]) -> int | None:
    if text.lower() in ("true", "false"):
        return int(text.lower() == "true")
    for member, number in names.items():
        # The table of messages shows classes without their prefix.
        if text.lower() in (member.lower(), member.lower().removeprefix("mqmsg_class_")):
            return number
    try:
        return int(text, 0) if len(text) < 40 else None
    except ValueError:
        return int(text) if text.isdecimal() and text.isascii() and len(text) < 40 else None


def _host(comparison: str, text: str) -> Matcher:
    if comparison not in ("==", "!="):
        raise MsmqWireError("hosts are compared with ==, != and ~ only")
    equal = comparison == "=="
    try:
        network = ipaddress.ip_network(text.strip("[]"), strict=False)
    except ValueError:
        address, colon, port = text.rpartition(":")
        try:
            ipaddress.ip_address(address.strip("[]"))
        except ValueError:
            colon = ""
        if not colon or not port.isdecimal():
            raise MsmqWireError(f"{text!r} is no address: 192.0.2.1, 192.0.2.1:1801, 192.0.2.0/24") from None
        return lambda value: (value == text) is equal

    def inside(value: Any) -> bool:
        address = str(value)
        if address.startswith("["):
            address = address[1:].partition("]")[0]
        elif address.count(":") == 1:
            address = address.partition(":")[0]
        try:
            return (ipaddress.ip_address(address) in network) is equal
        except ValueError:
            return not equal

    return inside


def _message_id(comparison: str, text: str) -> Matcher:
    guid, backslash, ordinal = text.rpartition("\\")
    number = _number(ordinal, {})
    if number is None:
        raise MsmqWireError(
            f"{text!r} is no message identifier: a number, or a GUID, a backslash and a number"
        )
    if backslash and comparison not in ("==", "!="):
        raise MsmqWireError("whole message identifiers are compared with == and != only")
    compare = _COMPARE[comparison]
    whole = f"{guid.strip('{}').lower()}\\{number}"
    if backslash:
        return lambda value: compare(value, whole)
    return lambda value: compare(int(value.rpartition("\\")[2]), number)


def _time(comparison: str, text: str, zone: tzinfo | None) -> Matcher:
    """Times stand for all their moments: a date for its day, 10:15 for its minute, of any day."""
    clock = _CLOCK.fullmatch(text)
    try:
        if clock is not None:
            start, length = _clock(clock)
            return _within(comparison, start, length, lambda value: _of_day(value, zone))
        moment = _MOMENT.fullmatch(text)
        if moment is not None:
            start, length = _moment(moment, zone)
            return _within(comparison, start, length, lambda value: value)
    except ValueError:
        pass
    raise MsmqWireError(f"{text!r} is no time: 2024-05-01, 2024-05-01T10:15:00Z or 10:15")


def _within(comparison: str, start: int, length: int, of: Callable[[int], int]) -> Matcher:
    end = start + length
    match comparison:
        case "==":
            return lambda value: start <= of(value) < end
        case "!=":
            return lambda value: not start <= of(value) < end
        case "<":
            return lambda value: of(value) < start
        case "<=":
            return lambda value: of(value) < end
        case ">":
            return lambda value: of(value) >= end
    return lambda value: of(value) >= start


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


def _of_day(value: int, zone: tzinfo | None) -> int:
    moment = datetime.fromtimestamp(value // SECOND, UTC).astimezone(zone)
    return (moment.hour * 3600 + moment.minute * 60 + moment.second) * SECOND + value % SECOND
