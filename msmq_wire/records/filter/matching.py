"""How a filter compares: what equal, less, contains and matches mean for the values of a `FilterField`."""

from __future__ import annotations

import ipaddress
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import tzinfo
from typing import Any, Final

from msmq_wire.arguments import nearest
from msmq_wire.errors import MissingExtraError, MsmqWireError
from msmq_wire.records.filter.field import FilterField
from msmq_wire.records.filter.times import time_matcher
from msmq_wire.records.view import time_text
from msmq_wire.units import SECOND

Matcher = Callable[[Any], bool]

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LISTED = 30
_LONGEST_NUMBER = 40

_LONGEST_PATTERN: Final = 1000
_MEMORY: Final = 1 << 20


def matcher(name: str, comparison: str, text: str, zone: tzinfo | None, place: FilterField) -> Matcher:
    """A function that compares a value of ``name`` with a text by an operator.

    Raises MsmqWireError when the text is no value of that name.
    """
    if comparison == "matches":
        return _matches(text, place)
    if place.kind == "time":
        return time_matcher(comparison, text, zone)
    if comparison == "~":
        return _contains(name, text, zone, place)
    match place.kind:
        case "address":
            return _host(comparison, text)
        case "message-id":
            return _message_id(comparison, text)
        case "rank":
            return _rank(name, comparison, text, place)
    if place.choices:
        _check_choice(name, text, place)
        if comparison not in ("==", "!="):
            raise MsmqWireError(f"the words of {name} have no order: compare with ==, !=, in, ~ or matches")
    number = _number(text, place.names)
    if number is None and place.unit == "unix-time":
        return _in_seconds(time_matcher(comparison, text, zone))
    if number is None and place.kind == "number":
        raise MsmqWireError(f"{text!r} is no number{_none_of(place, text)}")
    compare = _COMPARE[comparison]
    folded = place.folded or bool(place.choices)
    wanted = text.casefold() if folded else text

    def plain(value: Any) -> bool:
        if isinstance(value, int):
            return number is not None and compare(int(value), number)
        return compare(str(value).casefold() if folded else str(value), wanted)

    return plain


def _in_seconds(matches: Matcher) -> Matcher:
    return lambda value: matches(value * SECOND)


def _matches(pattern: str, place: FilterField) -> Matcher:
    """Numbers are searched by their digits and by the name they have, times as JSON lines have them."""
    found = _searcher(pattern)
    if place.kind == "time":
        return lambda value: found(time_text(value) or "")
    named = frozenset(number for member, number in place.names.items() if found(member))
    if place.flags:
        return lambda value: any(value & number for number in named) or found(str(value))
    return lambda value: found(_text(value)) or (isinstance(value, int) and value in named)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _contains(name: str, text: str, zone: tzinfo | None, place: FilterField) -> Matcher:
    """Numbers are searched by their digits and by the name they have in their enumeration."""
    wanted = text.casefold()
    if place.choices and not any(wanted in known for known in place.choices):
        raise MsmqWireError(f"{text!r} is in none of {', '.join(place.choices)}")
    if place.kind == "number" and not wanted.isdecimal() and wanted not in ("true", "false"):
        found = frozenset(number for member, number in place.names.items() if wanted in member.casefold())
        if not found and place.unit == "unix-time":
            return _in_seconds(time_matcher("~", text, zone))
        if not found:
            raise MsmqWireError(f"nothing that {name} can be contains {wanted!r}")
        if place.flags:
            return lambda value: any(value & number for number in found)
        return lambda value: value in found
    return lambda value: wanted in str(value).casefold()


def _none_of(place: FilterField, text: str) -> str:
    """What a value could be called: all of it where that is not too much to say, else what is nearly so."""
    if not place.names:
        return ""
    if len(place.names) <= _LISTED:
        return f" and none of {', '.join(place.names)}"
    return f" and no name of one{_nearest(place.names, text)}"


def _nearest(words: Iterable[str], text: str) -> str:
    """A question for the word that is nearly a text, where there is one."""
    near = nearest(text, words)
    return f": did you mean {near!r}?" if near else ""


def _number(text: str, names: Mapping[str, int]) -> int | None:
    folded = text.lower()
    if folded in ("true", "false"):
        return int(folded == "true")
    for member, number in names.items():
        # The table of messages shows classes without their prefix.
        if folded in (member.lower(), member.lower().removeprefix("mqmsg_class_")):
            return number
    try:
        return int(text, 0) if len(text) < _LONGEST_NUMBER else None
    except ValueError:
        plain = text.isdecimal() and text.isascii() and len(text) < _LONGEST_NUMBER
        return int(text) if plain else None


def _check_choice(name: str, text: str, place: FilterField) -> None:
    """Raise MsmqWireError for a text that is no choice, with the nearest one where there is one."""
    if text.lower() not in place.choices:
        near = _nearest(place.choices, text)
        raise MsmqWireError(
            f"{text!r} is no value of {name}{near}"
            if near
            else f"{text!r} is none of {', '.join(place.choices)}"
        )


def _rank(name: str, comparison: str, text: str, place: FilterField) -> Matcher:
    _check_choice(name, text, place)
    compare, wanted = _COMPARE[comparison], place.choices.index(text.lower())
    return lambda value: compare(place.choices.index(value), wanted)


def _host(comparison: str, text: str) -> Matcher:
    if comparison not in ("==", "!="):
        raise MsmqWireError("hosts are compared with ==, !=, in, ~ and matches only")
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
        known = ipaddress.ip_address(address.strip("[]"))
        whole = f"[{known}]:{port}" if known.version == 6 else f"{known}:{port}"
        return lambda value: (value == whole) is equal

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

    def numbered(value: Any) -> bool:
        found = value.rpartition("\\")[2]
        # An id that came over HTTP may be any text.
        if not found.isdecimal() or len(found) >= _LONGEST_NUMBER:
            return comparison == "!="
        return compare(int(found), number)

    return numbered


def _searcher(pattern: str) -> Callable[[str], bool]:
    """A function that looks for a pattern anywhere in a text, ignoring case, as Wireshark's ``matches`` does.

    Raises MsmqWireError for a pattern that RE2 does not take, and without RE2.
    """
    if len(pattern) > _LONGEST_PATTERN:
        raise MsmqWireError(
            f"a pattern has at most {_LONGEST_PATTERN} characters, this one has {len(pattern)}"
        )
    try:
        import re2  # type: ignore[import-untyped]  # it comes without types
    except ImportError:
        raise MissingExtraError.of("matches", "google-re2", "msmq-wire[cli]") from None
    options = re2.Options()
    options.case_sensitive = options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    try:
        search = re2.compile(pattern.encode(), options).search
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise MsmqWireError(f"{pattern!r} is no pattern: {text}") from None
    except UnicodeEncodeError:
        raise MsmqWireError(f"{pattern!r} is no text") from None
    # Half a character stands for itself in texts, and matches nothing.
    return lambda text: search(text.encode("utf-8", "surrogatepass")) is not None
