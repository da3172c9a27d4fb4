"""SectionBuffer in NDR, and the array of them in which a message comes, [MS-MQRR] 2.2.6 and 3.1.4.7."""

from __future__ import annotations

from typing import Any

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.ndr import BYTE, DWORD, ENUM, Conformant, Fields, Unique
from msmq_wire.rpc.ndr.compiled import Emitter, deferred, flat
from msmq_wire.rpc.ndr.stub_stream import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType, Scope, number_of
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
    """Sections that came as an array of pointers, the reading that the IDL does not have."""

    __slots__ = ()


class SectionArray(NdrType):
    """``[size_is(, *count)] SectionBuffer**``, [MS-MQRR] 3.1.4.7.

    By the IDL it is a pointer to one array of structures; the prose, and encoders that follow it, make it an
    array of pointers. The IDL's reading comes first. The other is taken where the first does not work out
    (cut, or another number of sections than ``count``) and the second does; it is marked by the anomaly
    ``ndr.array-of-pointers`` and by the value's class, `PointerArray`.
    """

    __slots__ = ("_wanted", "count", "declared", "pointers")

    def __init__(self, count: Expression) -> None:
        self.count = count
        self._wanted = number_of(count)
        self.declared = Unique(Conformant(SECTION_BUFFER, size=count))
        self.pointers = Conformant(Unique(SECTION_BUFFER), size=count)

    def alignment(self, syntax: Syntax) -> int:
        return self.declared.alignment(syntax)

    def smallest(self, syntax: Syntax) -> int:
        return self.declared.smallest(syntax)

    def scoped(self) -> bool:
        return True

    def read(self, reader: NdrReader, scope: Scope) -> Any:
        return self.flat(reader, scope)

    def flat(self, reader: NdrReader, scope: Scope) -> Any:
        reader.align(8 if reader.syntax.wide else 4)
        mark = reader.mark()
        wanted = self._wanted(scope)
        try:
            value = self.declared.read(reader, scope)
            if wanted is None or len(value or ()) == wanted:
                return value
        except DecodeError:
            pass
        reader.back(mark)
        try:
            other = self.pointers.read(reader, scope)
        except DecodeError:
            other = None
        if other and len(other) == wanted and None not in other:
            message = "sections as an array of pointers, not as the IDL has them"
            reader.problem("array-of-pointers", message, mark.pos, reader.pos - mark.pos)
            return PointerArray(other)
        # Neither reading works out: what the IDL's gives stands, the error if it ends in one.
        reader.back(mark)
        return self.declared.read(reader, scope)

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        if isinstance(value, PointerArray):
            self.pointers.write(writer, tuple(value), scope)
        else:
            self.declared.write(writer, value, scope)


@flat.register
def _(type_: SectionArray, emitter: Emitter) -> Any:
    return flat(type_.declared, emitter)


@deferred.register
def _(type_: SectionArray, emitter: Emitter, state: Any) -> str:
    value = deferred(type_.declared, emitter, state)
    emitter.line(f"if len({value} or ()) != {emitter.expression(type_.count)}: raise Irregular")
    return value
