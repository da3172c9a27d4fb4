"""Arrays and strings: `Conformant`, `ConformantVarying`, `String`. [C706] 14.3.3 to 14.3.5.

The value of an array of bytes is bytes, of wide characters `WcharText`, of anything else a tuple. Counts on
the wire are compared with ``size_is`` and ``length_is`` of the IDL; a difference is a problem, not an error.
The remaining bytes limit every count.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr.scalars import WCHAR, Scalar
from msmq_wire.rpc.ndr.stub_stream import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType, Scope, size_evaluator
from msmq_wire.wire.expressions import Expression
from msmq_wire.wire.types.wchar_text import WcharText


class Array(NdrType):
    """Base of conformant and varying arrays; ``size`` is the IDL's size_is."""

    __slots__ = ("_has_deferred", "_size", "element", "kind", "size")

    def __init__(self, element: NdrType, *, size: Expression = None) -> None:
        self.element = element
        self.size = size
        self._size = size_evaluator(size)
        self._has_deferred = element.has_deferred()
        self.kind: type[bytes] | None = None
        if isinstance(element, Scalar):
            letter = element.letter(_ANY)
            self.kind = WcharText if element is WCHAR else bytes if letter == "B" else None

    def alignment(self, syntax: Syntax) -> int:
        return max(8 if syntax.wide else 4, self.element.alignment(syntax))

    def minimum_size(self, syntax: Syntax) -> int:
        return 8 if syntax.wide else 4

    def has_deferred(self) -> bool:
        return self._has_deferred

    def uses_scope(self) -> bool:
        return self.size is not None or self.element.uses_scope()

    def read(self, reader: NdrReader, scope: Scope) -> Any:
        state = self.read_flat(reader, scope)
        return self.read_deferred(reader, state, scope) if self._has_deferred else state

    def elements(self, reader: NdrReader, count: int, scope: Scope) -> Any:
        """Read the inline parts of ``count`` elements."""
        if self.kind is not None:
            return self._octets(reader, count)
        if not count:
            return ()
        element, syntax = self.element, reader.syntax
        reader.room(count, element.minimum_size(syntax))
        if isinstance(element, Scalar):
            reader.align(element.alignment(syntax))
            raw = reader.take(count * element.size(syntax))
            if element.plain(syntax):
                # Not through `layout`, which keeps every format.
                return struct.unpack(f"{syntax.order}{count}{element.letter(syntax)}", raw)
            one = syntax.layout(element.letter(syntax)).iter_unpack(raw)
            return tuple(element.from_wire(value, syntax) for (value,) in one)
        states: list[Any] = []
        before = len(reader.problems)
        try:
            for place in range(count):
                before = len(reader.problems)
                states.append(element.read_flat(reader, scope))
                if len(reader.problems) > before:
                    _place(reader, before, place)
        except DecodeError as error:
            _place(reader, before, len(states))
            before_it = self.partial_value(states) if self._has_deferred else tuple(states)
            raise _at(error, len(states), before_it or ()) from None
        return states if self._has_deferred else tuple(states)

    def _octets(self, reader: NdrReader, count: int) -> bytes:
        length = count if self.kind is bytes else 2 * count
        error: DecodeError | None = None
        try:
            data = reader.take(length)
        except DecodeError as caught:
            # A part of a text or a body is evidence.
            error, data = caught, reader.data[reader.pos :]
        if self.kind is not bytes:
            if error is not None:
                data = data[: len(data) & -2]
            data = WcharText(_swapped(data) if reader.syntax.big_endian else data)
        if error is not None:
            error.partial = data or None
            raise error
        return data

    def read_deferred(self, reader: NdrReader, state: Any, scope: Scope) -> Any:
        values: list[Any] = []
        before = len(reader.problems)
        try:
            for one in state:
                before = len(reader.problems)
                values.append(self.element.read_deferred(reader, one, scope))
                if len(reader.problems) > before:
                    _place(reader, before, len(values) - 1)
        except DecodeError as error:
            _place(reader, before, len(values))
            raise _at(error, len(values), tuple(values)) from None
        return tuple(values)

    def partial_value(self, state: Any) -> Any:
        if not self._has_deferred:
            return state
        values = tuple(self.element.partial_value(one) for one in state)
        return msgspec.UNSET if any(one is msgspec.UNSET for one in values) else values

    def length(self, value: Any) -> int:
        """The number of elements in a value."""
        if self.kind is not None:
            if not isinstance(value, bytes):
                raise EncodeError(f"a {type(value).__name__} where bytes belong")
            if self.kind is WcharText:
                if len(value) % 2:
                    raise EncodeError("half a wide character")
                return len(value) // 2
        elif not isinstance(value, tuple):
            raise EncodeError(f"a {type(value).__name__} where a tuple belongs")
        return len(value)

    def write_elements(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write the inline parts of the elements."""
        element, syntax = self.element, writer.syntax
        if self.kind is not None:
            if self.kind is WcharText:
                writer.write(_swapped(value) if syntax.big_endian else bytes(value))
            else:
                writer.write(bytes(value))
            return
        if isinstance(element, Scalar) and value:
            writer.align(element.alignment(syntax))
            layout = syntax.layout(element.letter(syntax))
            try:
                writer.write(b"".join([layout.pack(element.to_wire(one, syntax)) for one in value]))
            except struct.error:
                raise EncodeError("an element does not fit its size") from None
            return
        for place, one in enumerate(value):
            try:
                element.write_flat(writer, one, scope)
            except EncodeError as error:
                raise EncodeError(error.message, path=_index(place, error.path)) from None

    def write_deferred(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        for place, one in enumerate(value):
            try:
                self.element.write_deferred(writer, one, scope)
            except EncodeError as error:
                raise EncodeError(error.message, path=_index(place, error.path)) from None


class Conformant(Array):
    """max_count, then that many elements."""

    __slots__ = ()

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        start = reader.pos
        count = reader.count()
        expected = self._size(scope)
        if expected is not None and expected != count:
            reader.problem(
                "size-is", f"{count} elements where size_is says {expected}", start, reader.pos - start
            )
        return self.elements(reader, count, scope)

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        writer.count(self.length(value))
        self.write_elements(writer, value, scope)


class ConformantVarying(Array):
    """max_count, offset, actual_count, then actual_count elements; ``length`` is the IDL's length_is.

    ``sized`` is false if size_is names a later parameter, or one of the request. Any max_count is then valid,
    and a max_count that differs from actual_count is kept.
    """

    __slots__ = ("_length", "length_is", "sized")

    def __init__(
        self, element: NdrType, *, size: Expression = None, length: Expression = None, sized: bool = True
    ) -> None:
        super().__init__(element, size=size)
        self.sized = sized
        self.length_is = length
        self._length = size_evaluator(length)

    def uses_scope(self) -> bool:
        return self.length_is is not None or super().uses_scope()

    def natural(self, actual: int, scope: Scope) -> int:
        """The max_count by the declaration."""
        size = self._size(scope)
        return actual if size is None or size < 0 else size

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        ordinal = reader.varying
        reader.varying += 1
        start = reader.pos
        maximum, offset, actual = reader.count(), reader.count(), reader.count()
        natural = self.natural(actual, scope)
        if maximum != natural or offset:
            reader.counts.append((ordinal, maximum, offset))
            if maximum != natural and self.sized:
                message = f"max_count {maximum} where size_is says {natural}"
                reader.problem("size-is", message, start, reader.pos - start)
            if offset:
                reader.problem("array-offset", f"offset {offset} where 0 belongs", start, reader.pos - start)
        expected = self._length(scope)
        if expected is not None and expected != actual:
            message = f"{actual} elements where length_is says {expected}"
            reader.problem("length-is", message, start, reader.pos - start)
        if offset + actual > maximum:
            message = f"elements {offset} to {offset + actual} of {maximum}"
            reader.problem("past-max-count", message, start, reader.pos - start)
        return self.elements(reader, actual, scope)

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        actual = self.length(value)
        maximum, offset = writer.counts(self.natural(actual, scope))
        writer.count(maximum)
        writer.count(offset)
        writer.count(actual)
        self.write_elements(writer, value, scope)


class String(ConformantVarying):
    """``[string]`` of wide characters: the value is `WcharText` with its terminator."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(WCHAR)

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        start = reader.pos
        value = super().read_flat(reader, scope)
        if value[-2:] != b"\0\0":
            reader.problem("string-terminator", "a string without its terminator", start, reader.pos - start)
        return value


def _swapped(data: bytes) -> bytes:
    swapped = bytearray(data)
    swapped[0::2], swapped[1::2] = data[1::2], data[0::2]
    return bytes(swapped)


def _place(reader: NdrReader, before: int, place: int) -> None:
    for problem in reader.problems[before:]:
        problem.path = _index(place, problem.path)


def _at(error: DecodeError, place: int, before: tuple[Any, ...]) -> DecodeError:
    error.path = _index(place, error.path)
    error.partial = (*before, error.partial) if error.partial is not None else before or None
    return error


def _index(place: int, path: str) -> str:
    return f"[{place}].{path}" if path and not path.startswith("[") else f"[{place}]{path}"


_ANY = Syntax("any")
