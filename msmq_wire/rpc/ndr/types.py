"""`NdrType`: what every NDR type object can do.

The rule kept here: a type object describes, it holds no stub and no value. Reading takes two passes: ``flat``
reads what lies in place and gives a state, ``deferred`` reads what embedded pointers point at and turns the
state into the value ([C706] 14.3.12.3). Writing goes the same way. ``scope`` is what size expressions see.
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


def number_of(expression: Expression) -> Callable[[Scope], int | None]:
    """What an expression says in a scope; None where no number can be known."""
    path = parts(expression) if callable(expression) else None
    if isinstance(path, tuple) and len(path) == 1:
        # Most are the name of a member: no walk through construct's expressions for those.
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
        """What its first byte is aligned to."""
        raise NotImplementedError

    def smallest(self, syntax: Syntax) -> int:
        """The fewest bytes that a value takes in place; at least 1, so that counts are bounded by bytes."""
        raise NotImplementedError

    def pointing(self) -> bool:
        """Whether a value may have a deferred part."""
        return False

    def scoped(self) -> bool:
        """Whether it looks at the scope."""
        return False

    def flat(self, reader: NdrReader, scope: Scope) -> Any:
        """Read what lies in place."""
        raise NotImplementedError

    def deferred(self, reader: NdrReader, state: Any, scope: Scope) -> Any:
        """Read what the pointers in the state point at; return the value."""
        return state

    def reached(self, state: Any) -> Any:
        """What of a state is a value already, without what its pointers point at; UNSET where nothing is."""
        return state

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write what lies in place."""
        raise NotImplementedError

    def write_deferred(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write what the pointers in the value point at."""

    def read(self, reader: NdrReader, scope: Scope) -> Any:
        """Read a whole value: both passes, as for a parameter or a pointee."""
        state = self.flat(reader, scope)
        return self.deferred(reader, state, scope) if self.pointing() else state

    def write(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write a whole value."""
        self.write_flat(writer, value, scope)
        if self.pointing():
            self.write_deferred(writer, value, scope)

    def construct(self, syntax: Syntax = NDR) -> NdrConstruct:
        """A construct subcon that parses and builds this type, alignment counted from where it stands."""
        return NdrConstruct(self, syntax)


class NdrConstruct(WireConstruct):
    """An NDR type as a construct subcon. It builds with referent ids and alignment gaps of its own."""

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
