"""`NdrType`: the base of all NDR types.

The rule kept here: a type object describes a type, and never holds data. Reading takes two passes.
``read_flat`` reads the inline part and returns a state. ``read_deferred`` reads the pointees of embedded
pointers and turns the state into the value ([C706] 14.3.12.3). Writing does the same. ``scope`` holds the
members that size expressions use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from msmq_wire.errors import DecodeError
from msmq_wire.rpc.ndr.stub_stream import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import NDR, Syntax
from msmq_wire.wire.expressions import Expression, evaluate, parts
from msmq_wire.wire.nodes import WireConstruct

Scope = Mapping[str, Any]


def size_evaluator(expression: Expression) -> Callable[[Scope], int | None]:
    """Make a function that evaluates a size expression in a scope; it returns None without a number."""
    path = parts(expression) if callable(expression) else None
    if isinstance(path, tuple) and len(path) == 1:
        # Most expressions are the name of a member, which needs no evaluation by construct.
        found: Callable[[Scope], Any] = itemgetter(path[0])
    else:

        def found(scope: Scope) -> Any:
            return evaluate(expression, scope)

    def number(scope: Scope) -> int | None:
        value = found(scope)
        return value if isinstance(value, int) else None

    return number


class NdrType:
    """Base of the type objects that stand in annotations: ``Annotated[int, DWORD]``."""

    __slots__ = ()

    def alignment(self, syntax: Syntax) -> int:
        """The alignment of its first byte."""
        raise NotImplementedError

    def minimum_size(self, syntax: Syntax) -> int:
        """The least size of the inline part; at least 1, so that the bytes limit every count."""
        raise NotImplementedError

    def has_deferred(self) -> bool:
        """Whether a value may have a deferred part."""
        return False

    def uses_scope(self) -> bool:
        """Whether it reads the scope."""
        return False

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        """Read the inline part; return the state."""
        raise NotImplementedError

    def read_deferred(self, reader: NdrReader, state: Any, scope: Scope) -> Any:
        """Read the pointees of the pointers in the state; return the value."""
        return state

    def partial_value(self, state: Any) -> Any:
        """The value as far as the inline part has it, without pointees; UNSET if it has none."""
        return state

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write the inline part."""
        raise NotImplementedError

    def write_deferred(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write the pointees of the pointers in the value."""

    def read(self, reader: NdrReader, scope: Scope) -> Any:
        """Read a whole value: both passes, as for a parameter or a pointee."""
        state = self.read_flat(reader, scope)
        return self.read_deferred(reader, state, scope) if self.has_deferred() else state

    def write(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write a whole value."""
        self.write_flat(writer, value, scope)
        if self.has_deferred():
            self.write_deferred(writer, value, scope)

    def construct(self, syntax: Syntax = NDR) -> NdrConstruct:
        """A construct subcon for this type; alignment counts from its own start."""
        return NdrConstruct(self, syntax)


class NdrConstruct(WireConstruct):
    """An NDR type as a construct subcon. It builds with new referent ids and with zero padding."""

    def __init__(self, type_: NdrType, syntax: Syntax) -> None:
        super().__init__()
        self.type = type_
        self.syntax = syntax

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        start = stream.tell()
        reader = NdrReader(stream.read(), self.syntax)
        try:
            value = self.type.read(reader, context)
        except DecodeError as error:
            error.offset += start
            raise
        stream.seek(start + reader.pos)
        return value

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        writer = NdrWriter(self.syntax)
        self.type.write(writer, obj, context)
        stream.write(writer.getvalue())
        return obj
