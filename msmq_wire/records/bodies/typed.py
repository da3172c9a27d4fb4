"""Bodies by the body type of the message: one value, an array of values, or an object that was streamed.

[MS-MQMQ] 2.2.12 lists few types; what other Windows programs declare is in [MS-OAUT] 2.2.7, and 0x300 is
what the binary formatter of System.Messaging sets. A value is read only when the bytes have its size.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from msmq_wire.records.bodies.body import Body, BodyKinds
from msmq_wire.wire.types.enumerations import BodyType
from msmq_wire.wire.types.guid import GUID

KINDS = (
    BodyKinds(
        ("number", "boolean", "currency", "date", "guid"),
        "a body type of one value, and its size",
        "the value",
    ),
    BodyKinds(("array",), "VT_VECTOR or VT_ARRAY of such values", "the first 64 values"),
)

_VECTOR, _ARRAY, _FLAGS = 0x1000, 0x2000, 0xF000
NARROW_STRING, STREAMED, STORED, BINARY_OBJECT = 30, 68, 69, 0x300
_SHOWN = 64

_OTHER_NAMES = {
    4: "VT_R4",
    5: "VT_R8",
    6: "VT_CY",
    7: "VT_DATE",
    10: "VT_ERROR",
    14: "VT_DECIMAL",
    22: "VT_INT",
    23: "VT_UINT",
    NARROW_STRING: "VT_LPSTR",
    64: "VT_FILETIME",
    66: "VT_STREAM",
    67: "VT_STORAGE",
    STREAMED: "VT_STREAMED_OBJECT",
    STORED: "VT_STORED_OBJECT",
    70: "VT_BLOB_OBJECT",
    71: "VT_CF",
    BINARY_OBJECT: "binary object of System.Messaging",
}
_IN_SECTION = frozenset(int(one) for one in BodyType if one != BodyType.VT_BSTR)


@lru_cache(maxsize=1024)
def type_name(body_type: int) -> str:
    """A body type by its name (``VT_VECTOR | VT_UI1``), or its number where it has none."""
    base = body_type & ~_FLAGS if body_type < 0x10000 else body_type
    try:
        name = BodyType(base).name
    except ValueError:
        name = _OTHER_NAMES.get(base, f"{base:#x}")
    flags = [text for bit, text in ((_VECTOR, "VT_VECTOR"), (_ARRAY, "VT_ARRAY")) if body_type & bit]
    return " | ".join([*flags, name]) if base != body_type and flags else name


def is_outside_section(body_type: int) -> bool:
    """Whether a body type is none of those of [MS-MQMQ] 2.2.12."""
    return body_type & ~_VECTOR not in _IN_SECTION


def is_sized(body_type: int) -> bool:
    """Whether a body of this type is one value, and so has one size."""
    return body_type in _SCALARS


def scalar_body(data: bytes, body_type: int) -> Body | None:
    """The one value that the body type declares; None for other types and when the size does not fit."""
    found = _SCALARS.get(body_type)
    if found is None or len(data) != found[1]:
        return None
    kind, _, read = found
    text = read(data)
    if text is None:
        return None
    name = type_name(body_type)
    return Body(kind=kind, confidence="declared", title=name, text=text, details=(("body_type", name),))


def array_body(data: bytes, body_type: int) -> Body | None:
    """The values of a vector or array of scalars, at most 64 in the text.

    The serialization is not specified for a body: a count of 32 bits and the elements, or the elements
    alone, whichever fits; so ``likely``. None for other types and sizes, and for arrays of bytes.
    """
    base = body_type & ~_FLAGS
    found = _SCALARS.get(base)
    if found is None or body_type & _FLAGS not in (_VECTOR, _ARRAY) or base == BodyType.VT_UI1 or not data:
        return None
    _, size, read = found
    elements = data
    if len(data) >= 4 and len(data) - 4 == size * int.from_bytes(data[:4], "little"):
        elements = data[4:]
    elif len(data) % size:
        return None
    texts = [
        read(elements[at : at + size]) or "?" for at in range(0, min(len(elements), _SHOWN * size), size)
    ]
    count = len(elements) // size
    name = type_name(body_type)
    return Body(
        kind="array",
        confidence="likely",
        title=f"{count} of {type_name(base)}",
        text=", ".join(texts) + (", …" if count > _SHOWN else ""),
        details=(("body_type", name), ("elements", str(count))),
    )


def _boolean(data: bytes) -> str:
    # VARIANT_BOOL, [MS-MQMQ] 2.2.14: 0xFFFF is true and 0 is false.
    value = int.from_bytes(data, "little")
    return {0: "false", 0xFFFF: "true"}.get(value, f"{value:#06x}, neither true nor false")


def _currency(data: bytes) -> str:
    value = int.from_bytes(data, "little", signed=True)
    whole, part = divmod(abs(value), 10_000)
    return f"{'-' if value < 0 else ''}{whole}.{part:04}"


def _decimal(data: bytes) -> str | None:
    _, scale, sign, high, low = struct.unpack("<HBBIQ", data)
    if scale > 28 or sign not in (0, 0x80):
        return None
    digits = str(high << 64 | low).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if sign else text


def _date(data: bytes) -> str | None:
    """Days since 1899-12-30; the part of a day counts forward for negative days, too."""
    (days,) = struct.unpack("<d", data)
    if not math.isfinite(days) or not -657_435 < days < 2_958_466:
        return None
    part, whole = math.modf(days)
    try:
        moment = datetime(1899, 12, 30) + timedelta(whole, milliseconds=round(abs(part) * 86_400_000))
    except OverflowError:
        return None
    return moment.isoformat(" ")


def _file_time(data: bytes) -> str:
    ticks = int.from_bytes(data, "little")
    try:
        return (datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)).isoformat(" ")
    except OverflowError:
        return str(ticks)


def _integer(*, signed: bool) -> Callable[[bytes], str]:
    return lambda data: str(int.from_bytes(data, "little", signed=signed))


_SCALARS: dict[int, tuple[str, int, Callable[[bytes], str | None]]] = {
    2: ("number", 2, _integer(signed=True)),
    3: ("number", 4, _integer(signed=True)),
    4: ("number", 4, lambda data: f"{struct.unpack('<f', data)[0]:.9g}"),
    5: ("number", 8, lambda data: repr(struct.unpack("<d", data)[0])),
    6: ("currency", 8, _currency),
    7: ("date", 8, _date),
    10: ("number", 4, lambda data: f"0x{int.from_bytes(data, 'little'):08x}"),
    11: ("boolean", 2, _boolean),
    14: ("number", 16, _decimal),
    16: ("number", 1, _integer(signed=True)),
    17: ("number", 1, _integer(signed=False)),
    18: ("number", 2, _integer(signed=False)),
    19: ("number", 4, _integer(signed=False)),
    20: ("number", 8, _integer(signed=True)),
    21: ("number", 8, _integer(signed=False)),
    22: ("number", 4, _integer(signed=True)),
    23: ("number", 4, _integer(signed=False)),
    64: ("date", 8, _file_time),
    72: ("guid", 16, lambda data: str(GUID(data))),
}
