"""Pointers: `Unique`, `Full` and embedded `EmbeddedRef`. [C706] 14.3.10 to 14.3.12.

A pointer value is its pointee, or None. A pointer to a NULL pointer is `NULL_POINTEE`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from msmq_wire.rpc.ndr.arrays import Array
from msmq_wire.rpc.ndr.stub_stream import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType, Scope, size_evaluator
from msmq_wire.wire.expressions import Expression


class NullPointee:
    """The value of a pointer to a NULL pointer: a false singleton."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NULL_POINTEE"

    def __reduce__(self) -> str:
        return "NULL_POINTEE"


NULL_POINTEE: Final = NullPointee()


class PresentEmpty(bytes):
    """Empty bytes behind a pointer that is not NULL, if NULL has the same value (``null=b""``)."""

    __slots__ = ()


class Pointer(NdrType):
    """An inline referent id with a deferred pointee; ``null`` is the value of NULL.

    NULL where ``size``, the size_is of the array that it points at, is not 0 is a problem ([MS-RPCE]
    3.1.1.5.3.3.1.2). It is given here only where it is a later parameter of the same list.
    """

    __slots__ = ("_size", "late", "null", "size", "target")

    def __init__(self, target: NdrType, *, null: Any = None, size: Expression = None) -> None:
        self.target = target
        self.null = null
        self.late = size is not None
        if isinstance(target, Array) and callable(target.size):
            # A constant is no other parameter or field.
            size = target.size
        self.size = size
        self._size = size_evaluator(size)

    def alignment(self, syntax: Syntax) -> int:
        return 8 if syntax.wide else 4

    def minimum_size(self, syntax: Syntax) -> int:
        return 8 if syntax.wide else 4

    def has_deferred(self) -> bool:
        return True

    def read_flat(self, reader: NdrReader, scope: Scope) -> int:
        referent = reader.count()
        if referent:
            reader.referents.append(referent)
        return referent

    def read_deferred(self, reader: NdrReader, state: Any, scope: Scope) -> Any:
        if not state:
            if self.size is not None and not self.late:
                self.judge_null(reader, scope)
            return self.null
        value = self.target.read(reader, scope)
        if value is None:
            return NULL_POINTEE
        return PresentEmpty() if self.null is not None and value == self.null else value

    def judge_null(self, reader: NdrReader, scope: Scope, path: str = "") -> None:
        """Report NULL if its array has elements by their number."""
        size = self._size(scope)
        if size:
            reader.nulls += 1
            reader.problem("null-array", f"NULL where size_is says {size}", reader.pos, 0, path)

    def partial_value(self, state: Any) -> Any:
        return msgspec.UNSET if state else self.null

    def read(self, reader: NdrReader, scope: Scope) -> Any:
        return self.read_deferred(reader, self.read_flat(reader, scope), scope)

    def uses_scope(self) -> bool:
        return self.target.uses_scope()

    def referent(self, writer: NdrWriter, value: Any) -> int:
        """The referent id to write for a value: 0 for NULL."""
        if value is None or (value == self.null and type(value) is not PresentEmpty):
            return 0
        return writer.referent()

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        writer.count(self.referent(writer, value))

    def write_deferred(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        if value is None or (value == self.null and type(value) is not PresentEmpty):
            size = None if self.size is None else self._size(scope)
            if size:
                writer.null_array(size)
            return
        self.target.write(writer, None if value is NULL_POINTEE else value, scope)


class Unique(Pointer):
    """``[unique]``: may be NULL, never an alias of another pointer."""

    __slots__ = ()


class Full(Pointer):
    """``[ptr]``: may be NULL, may be an alias of another full pointer.

    No parameter list here has two full pointers, so there are no aliases, and it reads like `Unique`.
    """

    __slots__ = ()


class EmbeddedRef(Pointer):
    """``[ref]`` inside a structure: a referent id that must not be 0, with a deferred pointee.

    NULL is kept as None and reported as a problem.
    """

    __slots__ = ()

    def read_deferred(self, reader: NdrReader, state: Any, scope: Scope) -> Any:
        if not state:
            reader.problem("ref-pointer", "a ref pointer must not be NULL", reader.pos, 0)
        return super().read_deferred(reader, state, scope)
