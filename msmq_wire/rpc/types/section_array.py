"""SectionBuffer in NDR, and the array of them in which a message comes, [MS-MQRR] 2.2.6 and 3.1.4.7."""

from __future__ import annotations

from typing import Any

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.ndr import BYTE, DWORD, ENUM, Conformant, Fields, Unique
from msmq_wire.rpc.ndr.buffers import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType, Scope
from msmq_wire.wire.expressions import Expression, Undetermined, evaluate, this
from msmq_wire.wire.types.section_buffer import SectionBuffer

__all__ = ["SECTION_BUFFER", "PointerArray", "SectionArray"]

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

    __slots__ = ("count", "declared", "pointers")

    def __init__(self, count: Expression) -> None:
        self.count = count
        self.declared = Unique(Conformant(SECTION_BUFFER, size=count))
        self.pointers = Conformant(Unique(SECTION_BUFFER), size=count)

    def alignment(self, syntax: Syntax) -> int:
        return self.declared.alignment(syntax)

    def smallest(self, syntax: Syntax) -> int:
        return self.declared.smallest(syntax)

    def pointing(self) -> bool:
        return False

    def flat(self, reader: NdrReader, scope: Scope) -> Any:
        start = reader.pos
        marks = [len(kept) for kept in (reader.referents, reader.filler, reader.counts, reader.problems)]
        depth = reader.depth
        error: DecodeError | None = None
        value: Any = None
        try:
            value = self.declared.read(reader, scope)
        except DecodeError as caught:
            error = caught
        wanted = evaluate(self.count, scope)
        if error is None and (isinstance(wanted, Undetermined) or len(value or ()) == wanted):
            return value
        state = self._state(reader)
        self._back(reader, start, marks, depth)
        try:
            other = self.pointers.read(reader, scope)
        except DecodeError:
            other = None
        if other and len(other) == wanted and None not in other:
            message = "sections as an array of pointers, not as the IDL has them"
            reader.problem("array-of-pointers", message, start, reader.pos - start)
            return PointerArray(other)
        self._restore(reader, state)
        if error is not None:
            raise error
        return value

    def _state(self, reader: NdrReader) -> tuple[Any, ...]:
        lists = (reader.referents, reader.filler, reader.counts, reader.problems)
        return (reader.pos, reader.depth, *(list(kept) for kept in lists))

    def _restore(self, reader: NdrReader, state: tuple[Any, ...]) -> None:
        reader.pos, reader.depth, reader.referents, reader.filler, reader.counts, reader.problems = state

    def _back(self, reader: NdrReader, start: int, marks: list[int], depth: int) -> None:
        reader.pos, reader.depth = start, depth
        reader.referents = reader.referents[: marks[0]]
        reader.filler = reader.filler[: marks[1]]
        reader.counts = reader.counts[: marks[2]]
        reader.problems = reader.problems[: marks[3]]

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        if isinstance(value, PointerArray):
            self.pointers.write(writer, tuple(value), scope)
        else:
            self.declared.write(writer, value, scope)
