"""SectionBuffer in NDR, and the array that returns a message in sections, [MS-MQRR] 2.2.6 and 3.1.4.7."""

from __future__ import annotations

from typing import Any

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.ndr import BYTE, DWORD, ENUM, Conformant, Fields, Unique
from msmq_wire.rpc.ndr.compiled import Emitter, deferred, flat
from msmq_wire.rpc.ndr.stub_stream import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType, Scope, size_evaluator
from msmq_wire.wire.expressions import Expression, this
from msmq_wire.wire.types.section_buffer import SectionBuffer

SECTION_BUFFER = Fields(
    SectionBuffer,
    {
        "section_buffer_type": ENUM,
        "section_size_alloc": DWORD,
        "section_size": DWORD,
        "data": Unique(Conformant(BYTE, size=this.section_size), null=b""),
    },
)


class PointerArray(tuple[Any, ...]):
    """Sections that were encoded as an array of pointers, which differs from the IDL."""

    __slots__ = ()


class SectionArray(NdrType):
    """``[size_is(, *count)] SectionBuffer**``, [MS-MQRR] 3.1.4.7.

    In the IDL it is a pointer to one array of structures. In the prose, and in some encoders, it is an array
    of pointers. The IDL is tried first. If that fails (cut bytes, or another number of sections than
    ``count``) and the prose works, the value is a `PointerArray`, with the anomaly ``ndr.array-of-pointers``.
    """

    __slots__ = ("_expected_count", "by_idl", "by_prose", "count")

    def __init__(self, count: Expression) -> None:
        self.count = count
        self._expected_count = size_evaluator(count)
        self.by_idl = Unique(Conformant(SECTION_BUFFER, size=count))
        self.by_prose = Conformant(Unique(SECTION_BUFFER), size=count)

    def alignment(self, syntax: Syntax) -> int:
        return self.by_idl.alignment(syntax)

    def minimum_size(self, syntax: Syntax) -> int:
        return self.by_idl.minimum_size(syntax)

    def uses_scope(self) -> bool:
        return True

    def read(self, reader: NdrReader, scope: Scope) -> Any:
        return self.read_flat(reader, scope)

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        reader.align(8 if reader.syntax.wide else 4)
        mark = reader.mark()
        expected = self._expected_count(scope)
        try:
            value = self.by_idl.read(reader, scope)
            if expected is None or len(value or ()) == expected:
                return value
        except DecodeError:
            pass
        reader.restore(mark)
        try:
            other = self.by_prose.read(reader, scope)
        except DecodeError:
            other = None
        if other and len(other) == expected and None not in other:
            message = "sections as an array of pointers, not as the IDL has them"
            reader.problem("array-of-pointers", message, mark.pos, reader.pos - mark.pos)
            return PointerArray(other)
        # Neither works: return the result of the IDL, or raise its error.
        reader.restore(mark)
        return self.by_idl.read(reader, scope)

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        if isinstance(value, PointerArray):
            self.by_prose.write(writer, tuple(value), scope)
        else:
            self.by_idl.write(writer, value, scope)


@flat.register
def _(type_: SectionArray, emitter: Emitter) -> Any:
    return flat(type_.by_idl, emitter)


@deferred.register
def _(type_: SectionArray, emitter: Emitter, state: Any) -> str:
    value = deferred(type_.by_idl, emitter, state)
    emitter.irregular(f"len({value} or ()) != {emitter.expression(type_.count)}")
    return value
