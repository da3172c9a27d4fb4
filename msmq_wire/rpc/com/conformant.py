"""Shapes that the IDL of DCOM adds: `ConformantFields`, `LittleEndianFields`, `StubRemainder`, `Opaque`.

The rule kept here: nothing is skipped. What is not opened is bytes, and their length comes from the wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.ndr import BYTE, NDR, Conformant, Fields
from msmq_wire.rpc.ndr.arrays import Array
from msmq_wire.rpc.ndr.compiled import Emitter, deferred, flat
from msmq_wire.rpc.ndr.structures import members
from msmq_wire.rpc.ndr.stub_stream import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import Scope, size_evaluator
from msmq_wire.wire.expressions import Expression
from msmq_wire.wire.fields import WireStruct

_NOTHING: Scope = {}


class ConformantFields(Fields):
    """A structure that ends with a conformant array of numbers: max_count comes first of all.

    [C706] 14.3.7.1, [MS-RPCE] 2.2.5.3.4.2. The array's length is that of its value; a ``size_is`` member
    that says something else is kept, and told as a problem.
    """

    __slots__ = ("_array", "_head", "_last", "_wanted")

    def __init__(self, cls: type[WireStruct]) -> None:
        super().__init__(cls)
        declared = members(cls)
        array = declared[-1].type
        if not isinstance(array, Array):
            raise TypeError(f"{cls.__name__} does not end with an array")
        self._array: Array = array
        self._last = declared[-1].name
        self._head = Fields(cls, {member.name: member.type for member in declared[:-1]})
        self._wanted = size_evaluator(array.size)

    def alignment(self, syntax: Syntax) -> int:
        return max(8 if syntax.wide else 4, self._head.alignment(syntax))

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        start = reader.pos
        count = reader.count()
        head = self._head
        try:
            value = head.read_flat(reader, _NOTHING)
        except DecodeError as error:
            if isinstance(error.partial, self.cls):
                error.partial = msgspec.structs.replace(error.partial, **{self._last: msgspec.UNSET})
            raise
        own = {name: getattr(value, name) for name in head.names}
        wanted = self._wanted(own)
        if wanted is not None and wanted != count:
            message = f"{count} elements where size_is says {wanted}"
            reader.problem("size-is", message, start, reader.pos - start, self._last)
        try:
            elements = self._array.elements(reader, count, own)
        except DecodeError as error:
            reached = msgspec.UNSET if error.partial is None else error.partial
            error.path = self._last + error.path
            error.spec = error.spec or self.cls.SPEC
            error.partial = msgspec.structs.replace(value, **{self._last: reached})
            raise
        return msgspec.structs.replace(value, **{self._last: elements})

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        elements = getattr(value, self._last, None)
        writer.count(self._array.length(elements))
        self._head.write_flat(writer, value, scope)
        self._array.write_elements(writer, elements, scope)


class LittleEndianFields(Fields):
    """A structure that is little-endian whatever the stub is, and all that it points at with it.

    [MS-OAUT] 2.2.29.1 wants that of a VARIANT and of what is in it.
    """

    __slots__ = ()

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        with _read_little_endian(reader):
            return super().read_flat(reader, scope)

    def read_deferred(self, reader: NdrReader, state: Any, scope: Scope) -> Any:
        with _read_little_endian(reader):
            return super().read_deferred(reader, state, scope)

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        with _written_little_endian(writer):
            super().write_flat(writer, value, scope)

    def write_deferred(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        with _written_little_endian(writer):
            super().write_deferred(writer, value, scope)


@contextmanager
def _read_little_endian(reader: NdrReader) -> Iterator[None]:
    outer, layout = reader.syntax, reader.number_layout
    if outer.big_endian:
        reader.syntax, reader.number_layout = NDR, NDR.layout(NDR.count)
    try:
        yield
    finally:
        reader.syntax, reader.number_layout = outer, layout


@contextmanager
def _written_little_endian(writer: NdrWriter) -> Iterator[None]:
    outer = writer.syntax
    if outer.big_endian:
        writer.syntax = NDR
    try:
        yield
    finally:
        writer.syntax = outer


class StubRemainder(Conformant):
    """Bytes up to the last ``but`` of the stub, as they are: parameters that are not opened."""

    __slots__ = ("but",)

    def __init__(self, but: int = 0) -> None:
        super().__init__(BYTE)
        self.but = but

    def alignment(self, syntax: Syntax) -> int:
        return 1

    def minimum_size(self, syntax: Syntax) -> int:
        return 1

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        return reader.take(max(0, reader.end - reader.pos - self.but))

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        self.length(value)
        writer.write(bytes(value))


class Opaque(Conformant):
    """Bytes in place up to where a structure ends that says its own size: ``size`` counts from its start.

    ``before`` and ``before_wide`` are what of the structure lies in front of them in NDR and in NDR64. It is
    told as a problem that they are not opened: what follows is read from where that size ends.
    """

    __slots__ = ("before", "before_wide", "what")

    def __init__(self, what: str, size: Expression, *, before: int, before_wide: int) -> None:
        super().__init__(BYTE, size=size)
        self.what = what
        self.before = before
        self.before_wide = before_wide

    def alignment(self, syntax: Syntax) -> int:
        return 1

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        before = self.before_wide if reader.syntax.wide else self.before
        length = (self._size(scope) or 0) - before
        if length < 0:
            raise DecodeError("negative-length", f"{self.what} ends before it begins", offset=reader.pos)
        reader.problem("opaque", f"{self.what} of {length} bytes is not opened", reader.pos, length)
        return self.elements(reader, length, scope)

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        self.length(value)
        self.write_elements(writer, value, scope)


# A compiled decoder gives up on all of these: the type objects read them.
@flat.register(ConformantFields)
@flat.register(LittleEndianFields)
@flat.register(Opaque)
def _(type_: Any, emitter: Emitter) -> Any:
    emitter.settle()
    emitter.irregular("True")
    return "None"


@flat.register
def _(type_: StubRemainder, emitter: Emitter) -> Any:
    return emitter.octets(f"max(0, end - p - {type_.but})")


@deferred.register(ConformantFields)
@deferred.register(LittleEndianFields)
def _(type_: Any, emitter: Emitter, state: Any) -> str:
    return "None"
