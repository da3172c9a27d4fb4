"""A JSON document that a user wrote: read with bounds, and its scalars with the path of what is wrong.

The rule kept here: whatever the text is, the answer is a value or an EncodeError of one line. A document has
at most `MAX_VALUES` values, each key once, and whole numbers alone.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from msmq_wire.arguments import misfit, shown, unknown_name
from msmq_wire.errors import EncodeError
from msmq_wire.wire.musts import BitTable

MAX_VALUES = 1 << 20
"""Values of a document at most: each takes a hundred bytes of memory and more."""

_STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_LONGEST_NUMBER = 40
_JSON_TYPES = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}

Json = Mapping[str, Any]


def refuse_at(path: str, message: str) -> NoReturn:
    """Raise the EncodeError of a place in the document."""
    raise EncodeError(message, path=path) from None


def parsed(data: str | bytes) -> Any:
    """The value of a document in UTF-8, or in UTF-16 as PowerShell writes it. Raises EncodeError."""
    try:
        text = data if isinstance(data, str) else data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        refuse_at("", f"this is no JSON: byte {error.start} is no {error.encoding} text")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        refuse_at("", "the input is empty")
    outside = _STRINGS.sub("", text)
    if sum(outside.count(mark) for mark in "[{,") > MAX_VALUES:
        refuse_at("", f"there are more than {MAX_VALUES:,} values, no packet has as many")
    try:
        return json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_int=_integer,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except json.JSONDecodeError as error:
        what = f"{error.msg[:1].lower()}{error.msg[1:]}"
        refuse_at("", f"this is no JSON: {what}, line {error.lineno}, column {error.colno}")
    except RecursionError:
        refuse_at("", "this is nested too deep, no packet is")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        refuse_at("", f"the key {shown(twice)} is there twice in one object: keep one")
    return found


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        refuse_at("", f"a number of {len(digits)} digits, no field holds it: {digits[:20]}...")
    return int(digits)


def _no_number(text: str) -> NoReturn:
    refuse_at("", f"{text[:20]} is no number of a packet: all of them are whole")


def kind_of(value: Any) -> str:
    """A value as errors call it."""
    return _JSON_TYPES.get(type(value)) or f"the number {value}"


def check_keys(found: Json, known: Iterable[str], path: str, required: Iterable[str] = ()) -> None:
    """Refuse keys that are not known, and an object without those that are required."""
    known = tuple(known)
    for key in found:
        if key not in known:
            refuse_at(path, unknown_name("key here", key, known))
    for key in required:
        if key not in found:
            refuse_at(join(path, key), "missing: null says that something is not present")


def join(path: str, name: str) -> str:
    """The path of a key in the object at a path."""
    return f"{path}.{name}" if path and name else path or name


def octets(value: Any, path: str) -> bytes:
    """The bytes of base64."""
    if not isinstance(value, str):
        refuse_at(path, f"{kind_of(value)} where base64 belongs")
    try:
        data = base64.b64decode(value, validate=True)
        # What decoders forgive, as bits behind the end, is taken for a slip.
        if base64.b64encode(data).decode("ascii") == value:
            return data
    except (binascii.Error, ValueError) as error:
        refuse_at(path, f"no base64: {str(error)[:80]}")
    refuse_at(path, "no base64: its end is not as it is written")


def number(value: Any, size: int, path: str) -> int:
    """A number without sign that fits ``size`` bytes."""
    if type(value) is not int:
        refuse_at(path, f"{kind_of(value)} where a number belongs")
    if not 0 <= value < 1 << 8 * size:
        refuse_at(path, misfit(value, size))
    return int(value)


def word(value: Any, table: BitTable, size: int, path: str) -> int:
    """A word by its number, by its bits, or by both where they agree."""
    if not isinstance(value, dict):
        return number(value, size, path)
    check_keys(value, ("raw", *table.bits), path)
    bits = {
        name: _bit(value[name], bit.width, join(path, name))
        for name, bit in table.bits.items()
        if name in value
    }
    made = sum(bits[name] << table.bits[name].shift for name in bits)
    if "raw" not in value:
        left = next((name for name in table.bits if name not in bits), None)
        if left is not None:
            refuse_at(join(path, left), "missing: without raw all bits are needed")
        return made
    raw = number(value["raw"], size, join(path, "raw"))
    for name in bits:
        if (raw ^ made) & table.bits[name].mask:
            said = shown(value[name]).lower()
            advice = "remove raw if you edited a bit, or the bits if you edited raw"
            refuse_at(join(path, name), f"{said} contradicts raw {raw}: {advice}")
    return raw


def _bit(value: Any, width: int, path: str) -> int:
    if width == 1 and isinstance(value, bool):
        return int(value)
    if type(value) is not int:
        refuse_at(path, f"{kind_of(value)} where {'true or false' if width == 1 else 'a number'} belongs")
    if not 0 <= value < 1 << width:
        refuse_at(path, f"{shown(value)} is not in 0 to {(1 << width) - 1}")
    return int(value)
