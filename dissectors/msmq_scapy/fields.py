# SPDX-License-Identifier: GPL-2.0-or-later
"""scapy fields for what the wire nodes of msmq_wire say: numbers, words of bits, bytes and texts.

The rule kept here: the internal value of a field is that of msmq_wire (int, `GUID`, `WcharText`, bytes), so
no bit is lost; people see and give numbers, names and text. A layout is known from expressions alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Literal

from scapy.compat import bytes_encode
from scapy.fields import EnumField, Field
from scapy.volatile import RandBin, RandNum, VolatileValue

from msmq_scapy.reading import Left, Scope, here, take, text_length
from msmq_wire.errors import DecodeError
from msmq_wire.wire.expressions import Expression, evaluate
from msmq_wire.wire.musts import BitTable
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

__all__ = [
    "Bits",
    "BitsField",
    "MsmqAlignField",
    "MsmqBytesField",
    "MsmqNumberField",
    "MsmqTextField",
]

_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_MOST_RANDOM = 48
"""Bytes at most of a random value where the field sets no length."""


class MsmqNumberField(EnumField[int]):
    """A number of ``size`` bytes; ``names`` are its meanings, which may be given instead of numbers."""

    __slots__ = ["order", "signed"]

    def __init__(
        self,
        name: str,
        default: int | None,
        size: int,
        *,
        signed: bool = False,
        big_endian: bool = False,
        names: type[IntEnum] | None = None,
    ) -> None:
        letter = _FORMATS.get(size, f"{size}s")
        EnumField.__init__(
            self,
            name,
            default,
            {} if names is None else {member.value: member.name for member in names},
            (">" if big_endian else "<") + (letter.lower() if signed else letter),
        )
        self.order: Literal["big", "little"] = "big" if big_endian else "little"
        self.signed = signed

    def any2i_one(self, pkt: Any, x: Any) -> Any:
        if isinstance(x, str) and self.s2i and x not in self.s2i:
            raise ValueError(f"{self.name} has no value called {x!r}")
        return EnumField.any2i_one(self, pkt, x)

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        number = int(self.any2i_one(pkt, val) or 0)
        try:
            return s + number.to_bytes(self.sz, self.order, signed=self.signed)
        except OverflowError:
            raise ValueError(f"{number} does not fit the {self.sz} bytes of {self.name}") from None

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        left, data = _fixed(pkt, s, self.sz)
        return left, int.from_bytes(data, self.order, signed=self.signed)

    def randval(self) -> Any:
        top = 1 << 8 * self.sz
        return RandNum(-top // 2, top // 2 - 1) if self.signed else RandNum(0, top - 1)


class Bits(int):
    """A word of flags: an int whose named bits are attributes (``flags.dq``, ``flags.in_``).

    ``given`` are the bits that were given; the others are computed when a packet is built.
    """

    table: BitTable
    given: int

    def __new__(cls, word: int, table: BitTable, given: int = -1) -> Bits:
        made = super().__new__(cls, word)
        made.table = table
        made.given = given
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return int(self), self.table, self.given

    def __getattr__(self, name: str) -> int:
        if name.startswith("__") or name == "table":
            raise AttributeError(name)
        try:
            return self.table.extract(int(self), name.rstrip("_"))
        except ValueError as error:
            raise AttributeError(str(error)) from None

    def with_bits(self, **bits: int) -> Bits:
        """The word with named bits changed; ValueError for a value that does not fit its bits."""
        word, given = int(self), self.given
        for name, value in bits.items():
            plain = name.rstrip("_")
            word = self.table.insert(word, plain, value)
            given |= self.table.bits[plain].mask
        return Bits(word, self.table, given)

    def over(self, word: int) -> int:
        """The bits that were given, the others from ``word``."""
        return int(self) if self.given == -1 else word & ~self.given | int(self) & self.given

    @property
    def text(self) -> str:
        """The word in hexadecimal, and the bits that are set by name."""
        shown = []
        for bit in self.table.bits.values():
            number = self.table.extract(int(self), bit.name)
            if number:
                names = {} if bit.names is None else {member.value: member.name for member in bit.names}
                shown.append(bit.name if bit.width == 1 else f"{bit.name}={names.get(number, number)}")
        return f"{int(self):#x}" + (f" ({' '.join(shown)})" if shown else "")


class _RandBits(VolatileValue[Any]):
    """Random bits that say nothing of the layout; now and then all of them."""

    def __init__(self, field: BitsField) -> None:
        super().__init__()
        self._word = RandNum(0, (1 << 8 * field.sz) - 1)
        self._one_in = RandNum(0, 7)
        self._field = field

    def _fix(self) -> Bits:
        layout = self._field.layout if int(self._one_in) else 0
        return Bits(int(self._word), self._field.table, ~layout if layout else -1)


class BitsField(MsmqNumberField):
    """A word whose bits have names: give an int, ``{"dq": 7}`` or ``"mp+dq=7"``.

    Bits that are not named are computed. ``layout`` are the bits that say which parts a packet has.
    """

    __slots__ = ["layout", "table"]

    def __init__(
        self, name: str, default: int | None, size: int, table: BitTable, layout: int = 0, **number: Any
    ) -> None:
        self.table = table
        self.layout = layout
        super().__init__(name, default, size, **number)

    def any2i_one(self, pkt: Any, x: Any) -> Any:
        if isinstance(x, str):
            named = (part.strip().partition("=") for part in x.replace("+", " ").split())
            x = {name: self._value(name, text) if equals else 1 for name, equals, text in named}
        if isinstance(x, Mapping):
            return Bits(int(self.any2i_one(pkt, self.default) or 0), self.table, 0).with_bits(**x)
        if isinstance(x, int) and not isinstance(x, Bits):
            return Bits(x, self.table)
        return x

    def _value(self, name: str, text: str) -> int:
        bit = self.table.bits.get(name)
        if bit is not None and bit.names is not None and text in bit.names.__members__:
            return int(bit.names[text])
        return int(text, 0)

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        left, word = super().getfield(pkt, s)
        return left, Bits(word, self.table)

    def i2repr(self, pkt: Any, x: Any) -> str:
        return x.text if isinstance(x, Bits) else repr(x)

    def randval(self) -> Any:
        return _RandBits(self)


class MsmqBytesField(Field[Any, bytes]):
    """``length`` bytes as ``kind``: bytes, a GUID or a text."""

    __slots__ = ["kind", "length"]

    def __init__(
        self, name: str, default: bytes | None, length: Expression, kind: type[bytes] = bytes
    ) -> None:
        self.length = length
        self.kind = kind
        Field.__init__(self, name, default, "0s" if callable(length) else f"{int(length)}s")

    def any2i(self, pkt: Any, x: Any) -> Any:
        if isinstance(x, str):
            return self._from_text(x)
        if isinstance(x, bytes | bytearray | memoryview):
            return x if type(x) is self.kind else self.kind(bytes(x))
        return x

    def _from_text(self, text: str) -> bytes:
        if issubclass(self.kind, GUID):
            return self.kind.parse(text)
        if issubclass(self.kind, FixedWcharText):
            return self.kind.padded(text, int(self.length))
        if issubclass(self.kind, WcharText):
            return self.kind.of(text) if text else self.kind()
        return bytes_encode(text)

    def i2h(self, pkt: Any, x: Any) -> Any:
        if isinstance(x, GUID):
            return str(x)
        return x.text if isinstance(x, WcharText) and x.exact else x

    def i2repr(self, pkt: Any, x: Any) -> str:
        shown = self.i2h(pkt, x)
        if isinstance(x, GUID):
            return str(shown)
        return repr(bytes(shown)) if isinstance(shown, bytes) else repr(shown)

    def i2len(self, pkt: Any, x: Any) -> int:
        return 0 if x is None else len(x)

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        if isinstance(val, VolatileValue):
            val = val._fix()
        return s + bytes(self.any2i(pkt, val) or b"")

    def wanted(self, pkt: Any, left: Left) -> Any:
        """How many bytes the field has here."""
        return evaluate(self.length, Scope(pkt))

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        if not callable(self.length):
            left, data = _fixed(pkt, s, self.length)
            return left, self.kind(data)
        try:
            left, data = take(pkt, s, self.wanted(pkt, s))
        except DecodeError as error:
            if error.partial and isinstance(error.partial, bytes):
                _failed(pkt, s[len(error.partial) :])
                error.partial = self.kind(error.partial)
            raise
        return left, self.kind(data)

    def randval(self) -> Any:
        return RandBin(RandNum(0, _MOST_RANDOM) if callable(self.length) else int(self.length))


class MsmqAlignField(MsmqBytesField):
    """Padding up to a multiple of ``to`` packet bytes, if it is there before the packet's end."""

    __slots__ = ["to"]

    def __init__(self, name: str, default: bytes | None, to: int) -> None:
        self.to = to
        super().__init__(name, default, lambda _: 0)

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        length = -here(pkt, s) % self.to
        try:
            left, data = take(pkt, s, length)
        except DecodeError:
            return s, b""
        return left, data


class MsmqTextField(MsmqBytesField):
    """16-bit units up to and with the first that is 0."""

    def __init__(self, name: str, default: bytes | None, kind: type[bytes]) -> None:
        super().__init__(name, default, lambda _: 0, kind)

    def getfield(self, pkt: Any, s: Left) -> tuple[Any, Any]:
        left, data = take(pkt, s, text_length(pkt, s))
        return left, self.kind(data)

    def _from_text(self, text: str) -> bytes:
        return self.kind(text.encode("utf-16-le", "surrogatepass") + b"\0\0")


def _failed(pkt: Any, left: Left) -> None:
    if pkt.reading is not None:
        pkt.reading.fail(left)


def _fixed(pkt: Any, left: Left, size: int) -> tuple[Left, bytes]:
    """``size`` bytes, of which a part is no value."""
    try:
        return take(pkt, left, size)
    except DecodeError as error:
        error.partial = None
        raise
