"""Numbers, GUIDs and other types of fixed size. [C706] 14.2, [MS-DTYP] 2.2 and 2.3.4."""

from __future__ import annotations

import struct
from typing import Any

from msmq_wire.arguments import misfit
from msmq_wire.errors import EncodeError
from msmq_wire.rpc.ndr.stub_stream import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType, Scope
from msmq_wire.wire.types.guid import GUID


class Scalar(NdrType):
    """A type of fixed size that one `struct` letter reads; adjacent ones are read together."""

    __slots__ = ()

    def letter(self, syntax: Syntax) -> str:
        """Its `struct` format."""
        raise NotImplementedError

    def size(self, syntax: Syntax) -> int:
        """Its size in bytes."""
        raise NotImplementedError

    def from_wire(self, raw: Any, syntax: Syntax) -> Any:
        """Convert what `struct` read to the value."""
        return raw

    def to_wire(self, value: Any, syntax: Syntax) -> Any:
        """Convert the value to what `struct` writes."""
        return value

    def plain(self, syntax: Syntax) -> bool:
        """Whether `struct` reads the value without a conversion."""
        return True

    def minimum_size(self, syntax: Syntax) -> int:
        return self.size(syntax)

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        syntax = reader.syntax
        reader.align(self.alignment(syntax))
        raw = reader.take(self.size(syntax))
        return self.from_wire(syntax.layout(self.letter(syntax)).unpack(raw)[0], syntax)

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        syntax = writer.syntax
        writer.align(self.alignment(syntax))
        try:
            writer.write(syntax.layout(self.letter(syntax)).pack(self.to_wire(value, syntax)))
        except struct.error:
            signed = self.letter(syntax).islower()
            raise EncodeError(misfit(value, self.size(syntax), signed=signed)) from None


class Number(Scalar):
    """An integer: its `struct` letter, with a different one in NDR64 for enumerations."""

    __slots__ = ("_letter", "_size", "_wide")

    def __init__(self, letter: str, wide: str = "") -> None:
        self._letter = letter
        self._wide = wide or letter
        self._size = (struct.calcsize("<" + self._letter), struct.calcsize("<" + self._wide))

    def letter(self, syntax: Syntax) -> str:
        return self._wide if syntax.wide else self._letter

    def size(self, syntax: Syntax) -> int:
        return self._size[syntax.wide]

    def alignment(self, syntax: Syntax) -> int:
        return self._size[syntax.wide]


class Ranged(Number):
    """A number with the IDL's ``range``; a value outside is kept and reported as a problem."""

    __slots__ = ("first", "last")

    def __init__(self, number: Number, first: int, last: int) -> None:
        super().__init__(number._letter, number._wide)
        self.first = first
        self.last = last

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        value = super().read_flat(reader, scope)
        self.judge(reader, value, reader.pos - self.size(reader.syntax))
        return value

    def judge(self, reader: NdrReader, value: int, offset: int, path: str = "") -> None:
        """Report a value outside the range."""
        if not self.first <= value <= self.last:
            message = f"{value} is not in the IDL's range {self.first} to {self.last}"
            reader.problem("range", message, offset, self.size(reader.syntax), path)


class Octets16(Scalar):
    """Sixteen bytes: a GUID (three numbers and eight bytes), or plain bytes if ``numbers`` is false."""

    __slots__ = ("numbers",)

    def __init__(self, *, numbers: bool) -> None:
        self.numbers = numbers

    def letter(self, syntax: Syntax) -> str:
        return "16s"

    def size(self, syntax: Syntax) -> int:
        return 16

    def alignment(self, syntax: Syntax) -> int:
        return 4 if self.numbers else 1

    def plain(self, syntax: Syntax) -> bool:
        return False

    def from_wire(self, raw: Any, syntax: Syntax) -> GUID:
        return GUID(_swapped(raw) if self.numbers and syntax.big_endian else raw)

    def to_wire(self, value: Any, syntax: Syntax) -> bytes:
        if not isinstance(value, bytes) or len(value) != 16:
            raise EncodeError(f"{value!r} where 16 bytes belong")
        return _swapped(value) if self.numbers and syntax.big_endian else value


def _swapped(raw: bytes) -> bytes:
    return raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]


BYTE = Number("B")
SMALL = Number("b")
WORD = Number("H")
SHORT = Number("h")
DWORD = Number("I")
LONG = Number("i")
HYPER = Number("Q")
SIGNED_HYPER = Number("q")
WCHAR = Number("H")
ENUM = Number("H", wide="I")
UUID = Octets16(numbers=True)
XACTUOW = Octets16(numbers=False)
