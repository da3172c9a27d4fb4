"""The bytes of a .NET remoting stream: bounded reads of its integers, strings and primitive values.

The rule kept here: every read is checked against the end, and every step is counted against a budget.
"""

from __future__ import annotations

import struct

from msmq_wire.errors import DecodeError
from msmq_wire.spec import SpecRef

_SPEC = SpecRef("MS-NRBF", "2")
_MOST_STEPS = 200_000

CHAR, DECIMAL, NULL, STRING = 3, 5, 17, 18

# PrimitiveTypeEnumeration, [MS-NRBF] 2.1.2.3: name, size and how struct reads it. What has no size is 0.
PRIMITIVES: dict[int, tuple[str, int, str]] = {
    1: ("Boolean", 1, "?"),
    2: ("Byte", 1, "B"),
    CHAR: ("Char", 0, ""),
    DECIMAL: ("Decimal", 0, ""),
    6: ("Double", 8, "<d"),
    7: ("Int16", 2, "<h"),
    8: ("Int32", 4, "<i"),
    9: ("Int64", 8, "<q"),
    10: ("SByte", 1, "b"),
    11: ("Single", 4, "<f"),
    12: ("TimeSpan", 8, "<q"),
    13: ("DateTime", 8, "<Q"),
    14: ("UInt16", 2, "<H"),
    15: ("UInt32", 4, "<I"),
    16: ("UInt64", 8, "<Q"),
    NULL: ("Null", 0, ""),
    STRING: ("String", 0, ""),
}


class RemotingStream:
    """A place in bytes. Reads raise DecodeError at the end, at nonsense, or when the budget is used up."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.steps = 0

    def error(self, code: str, message: str) -> DecodeError:
        return DecodeError(code, message, offset=self.at, spec=_SPEC)

    def count(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise self.error("too-many", f"more than {_MOST_STEPS} values")

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise self.error("missing-bytes", "the bytes end inside of a record")
        self.at += size
        return self.data[self.at - size : self.at]

    def skip(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise self.error("missing-bytes", "the bytes end inside of a record")
        self.at += size

    def byte(self) -> int:
        return self.take(1)[0]

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "little", signed=True)

    def length(self) -> int:
        """A count or length, which is an INT32 that is not negative."""
        value = self.int32()
        if value < 0:
            raise self.error("negative-length", f"{value} is no length")
        return value

    def string(self) -> str:
        """LengthPrefixedString, 2.1.1.6: seven bits of the length a byte, low ones first, then UTF-8."""
        self.count()
        length = shift = 0
        while True:
            byte = self.byte()
            length |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 28:
                raise self.error("length", "a length of more than five bytes")
        return self.take(length).decode("utf-8", "replace")

    def primitive(self, type_: int) -> str:
        """One primitive value as text."""
        self.count()
        if type_ not in PRIMITIVES:
            raise self.error("unknown-selector", f"there is no primitive type {type_}")
        if type_ in (STRING, DECIMAL):
            return self.string()
        if type_ == NULL:
            return "null"
        if type_ == CHAR:
            return self._char()
        _, size, form = PRIMITIVES[type_]
        return str(struct.unpack(form, self.take(size))[0])

    def skip_primitives(self, type_: int, count: int) -> None:
        """Pass over an array of primitive values."""
        if type_ not in PRIMITIVES:
            raise self.error("unknown-selector", f"there is no primitive type {type_}")
        size = PRIMITIVES[type_][1]
        if size:
            self.skip(size * count)
        elif type_ != NULL:
            for _ in range(count):
                self.primitive(type_)

    def _char(self) -> str:
        first = self.data[self.at : self.at + 1]
        lead = first[0] if first else 0
        size = 1 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        return self.take(2 if 0xC0 <= lead < 0xE0 else size).decode("utf-8", "replace")
