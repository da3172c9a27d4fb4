"""Field values as text: numbers with names, times, durations, addresses, identifiers.

The rule kept here: what is printed first is the value on the wire; what it means stands behind it.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Any

from msmq_wire.units import SECOND
from msmq_wire.wire.fields import Field
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.message_identifier import MessageIdentifier

INLINE_BYTES = 16
"""Bytes that are shown on the line of their field; more make a dump."""

_INFINITE = 0xFFFFFFFF
_PERIODS = ((86400, "day", "days"), (3600, "h", "h"), (60, "min", "min"), (1, "s", "s"))


def count_text(count: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is 1."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration_text(seconds: int) -> str:
    """Seconds as days, hours, minutes and seconds; 0xFFFFFFFF is infinite."""
    if seconds == _INFINITE:
        return "infinite"
    parts = []
    for size, one, many in _PERIODS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {one if count == 1 else many}")
    return " ".join(parts) or "0 s"


def unix_time_text(seconds: int, zone: tzinfo | None = UTC) -> str:
    """Seconds since 1970 as a date and time in a zone; None is the zone of this machine."""
    day, offset = _clock(seconds, zone)
    return day + offset


def timestamp_text(nanoseconds: int, zone: tzinfo | None = UTC) -> str:
    """Nanoseconds since 1970 as a date and time in a zone; nanoseconds only where there are any."""
    seconds, fraction = divmod(nanoseconds, SECOND)
    try:
        day, offset = _clock(seconds, zone)
    except (OverflowError, ValueError, OSError):
        return f"{nanoseconds} ns"
    digits = f"{fraction:09d}"
    return f"{day}.{digits[:6] if digits.endswith('000') else digits}{offset}"


def rfc3339_text(text: str, zone: tzinfo | None = UTC) -> str:
    """A time of a JSON row, as shown in a zone; another text stays as it is."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    try:
        moment = datetime.fromisoformat(seconds).replace(tzinfo=UTC)
        nanoseconds = int(fraction.ljust(9, "0")) if fraction else 0
    except ValueError:
        return text
    return timestamp_text(int(moment.timestamp()) * SECOND + nanoseconds, zone)


def _clock(seconds: int, zone: tzinfo | None) -> tuple[str, str]:
    """Date and time in a zone, and how far the zone is from UTC."""
    # The zone of a machine may change.
    return _read_clock(seconds, None) if zone is None else _kept_clock(seconds, zone)


def _read_clock(seconds: int, zone: tzinfo | None) -> tuple[str, str]:
    moment = datetime.fromtimestamp(seconds, UTC).astimezone(zone)
    offset = moment.strftime("%z")
    return moment.strftime("%Y-%m-%d %H:%M:%S"), (
        "Z" if moment.tzinfo is UTC else f"{offset[:3]}:{offset[3:]}"
    )


_kept_clock = lru_cache(maxsize=4096)(_read_clock)


def enumeration_text(field: Field, value: int) -> str:
    """The name of a value of an enumeration, empty when it has none."""
    if field.names is None:
        return ""
    try:
        return field.names(value).name
    except ValueError:
        if field.names is BodyType and value & BodyType.VT_VECTOR:
            element = value & ~BodyType.VT_VECTOR
            return f"VT_VECTOR | {BodyType(element).name}" if element in set(BodyType) else ""
        return ""


def number_words(field: Field, value: int, zone: tzinfo | None) -> tuple[str, str]:
    """An integer field as its value and its meaning, a time as it is in a zone."""
    note = enumeration_text(field, value)
    if field.names is not None:
        return (str(value) if value < 10 else f"{value:#06x}"), note or "unknown value"
    if field.name == "signature":
        size: Any = field.subcon.sizeof()
        text = value.to_bytes(size, "little")
        printable = all(0x20 <= byte < 0x7F for byte in text)
        return word_text(field, value), f'"{text.decode("ascii")}"' if printable else ""
    if field.unit == "unix-time":
        return str(value), unix_time_text(value, zone)
    if field.unit == "seconds":
        return str(value), duration_text(value)
    if field.unit == "milliseconds":
        # Whole seconds: the exact number stands before it.
        return f"{value} ms", duration_text(value // 1000) if value >= 1000 else ""
    if _is_label(field):
        return word_text(field, value), ""
    return (count_text(value, "byte") if _is_size(field) else str(value)), ""


def is_bare(field: Field) -> bool:
    """Whether an integer field is shown as its number, without a meaning."""
    reported = field.names is not None or field.unit or field.name == "signature"
    return not (reported or _is_label(field) or _is_size(field))


def _is_label(field: Field) -> bool:
    return field.name.endswith("section_id") or field.name == "version_number"


def _is_size(field: Field) -> bool:
    return field.name.endswith("_size") and field.name != "window_size"


def value_and_meaning(value: str, note: str) -> str:
    """Both on one line."""
    return f"{value}  {note}" if value and note else value + note


def word_text(field: Field, value: int) -> str:
    """A word of bits: all of its digits."""
    return f"{value:#0{field.subcon.sizeof() * 2 + 2}x}"


def is_filler(field: Field) -> bool:
    """Whether a field only fills: it is shown where it holds something."""
    return field.name.endswith("padding") or field.name.startswith("reserved")


def is_filling(value: Any) -> bool:
    """Whether a number or bytes are nothing but filling."""
    # A response to a session request is padded with one letter, 512 times.
    return not any(value) or set(value) == {0x5A} if isinstance(value, bytes) else not value


def bytes_text(data: bytes) -> str:
    """A few bytes in hex, or how many zeros they are."""
    if len(data) > 4 and not any(data):
        return f"{len(data)} zero bytes"
    return data.hex(" ")


def correlation_text(value: bytes) -> str:
    """The identifier of the message that an acknowledgment is about, or the bytes that a sender chose."""
    if not any(value):
        return "none"
    return identifier_text(value) or bytes_text(value)


def identifier_text(correlation_id: bytes) -> str:
    """Twenty bytes as the identifier of a message, empty when they cannot be one."""
    if len(correlation_id) != 20 or correlation_id[:16] == NULL_GUID:
        return ""
    guid, ordinal = GUID(correlation_id[:16]), int.from_bytes(correlation_id[16:], "little")
    return str(MessageIdentifier(queue_manager_guid=guid, ordinal=ordinal))
