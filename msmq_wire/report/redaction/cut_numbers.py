"""Numbers that may be letters: where a decode ends, a length may have been read out of a text.

The rule kept here: such a number is larger than what there is, and each of its bytes is a letter's. Any other
stays, so a length that an attacker chose is still told.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE

_S = TypeVar("_S", bound=msgspec.Struct)

_NUMBER = re.compile(r"\d{3,20}")
_CUT = "cut"
_INDEX = re.compile(r"(\w+)(?:\[(\d+)\])?")


def may_be_text(number: int, limit: int) -> bool:
    """Whether a number above a limit may be two letters or more."""
    if not limit < number < 1 << 64:
        return False
    data = number.to_bytes(8, "little").rstrip(b"\0")
    if len(data) > 1 and all(0x20 <= one < 0x7F or 0x80 <= one < 0xF5 for one in data):
        return True
    units = [number >> shift & 0xFFFF for shift in range(0, 8 * len(data), 16)]
    return len(units) > 1 and all(one in (0x20, 0x2D, 0x5C) or chr(one).isalnum() for one in units)


def without_numbers(message: str, limit: int) -> str:
    """A message without such numbers."""
    return _NUMBER.sub(lambda found: _CUT if may_be_text(int(found[0]), limit) else found[0], message)


def without_text_numbers(value: _S, error: DecodeError, limit: int) -> _S:
    """What was decoded before an error, without such numbers in the structure in which it ends."""
    names = error.path.split(".")[:-1]
    header = getattr(value, "base_header", None)
    if isinstance(header, msgspec.Struct):
        # It may claim more than there is.
        value = msgspec.structs.replace(value, base_header=_without(header, max(limit, MAX_PACKET_SIZE)))
    return _inside(value, names, limit) if names else value


def _inside(value: Any, names: list[str], limit: int) -> Any:
    if not isinstance(value, msgspec.Struct):
        return value
    if not names:
        return _without(value, limit)
    found = _INDEX.fullmatch(names[0])
    if found is None or found[1] not in value.__struct_fields__:
        return value
    name, place = found[1], found[2]
    before = getattr(value, name)
    if place is None or not isinstance(before, tuple):
        after = _inside(before, names[1:], limit)
    else:
        at = int(place)
        inner = [_inside(one, names[1:], limit) if number == at else one for number, one in enumerate(before)]
        after = tuple(inner)
    # What it ends in may not say its own length.
    holder = _without(value, limit) if len(names) == 1 else value
    return msgspec.structs.replace(holder, **{name: after})


def _without(value: _S, limit: int) -> _S:
    changed = {
        name: 0
        for name in value.__struct_fields__
        if type(number := getattr(value, name)) is int and may_be_text(number, limit)
    }
    return msgspec.structs.replace(value, **changed) if changed else value
