"""Expressions over fields: construct's ``this``, and what a schema and a MUST need beside it.

The rule kept here: an expression is data. It can be evaluated, printed and compiled, and it never sees
more than field values. What it cannot know (a field that was not reached, a part that is not present, a
look ahead while building) is `UNDETERMINED`, and everything computed from that is undetermined too.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import construct
import msgspec

__all__ = [
    "ABSENT",
    "UNDETERMINED",
    "Expression",
    "Undetermined",
    "aligned",
    "bit_target",
    "evaluate",
    "length_target",
    "one_of",
    "paths",
    "size_",
    "this",
    "within",
]

Expression = Any
"""An expression of construct's ``this``, or a plain value."""

this: Final = cast(Any, construct.this)


class Undetermined:
    """The value of what cannot be known; every operation on it yields it again."""

    __slots__ = ()

    def _same(self, *_: object) -> Undetermined:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = _same
    __mod__ = __rmod__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _same
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __neg__ = __getitem__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _same
    __eq__ = _same  # type: ignore[assignment]  # a comparison with the unknown is unknown, not a bool
    __ne__ = _same  # type: ignore[assignment]  # as above

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return False


UNDETERMINED: Final = Undetermined()
"""Not known here: a look ahead while building, a field that was not reached, a part outside."""

ABSENT: Final = Undetermined()
"""A field of a part that is not present; conditions on it do not hold."""


def _size(value: Any) -> Any:
    return value if isinstance(value, Undetermined) else len(value)


size_: Final = construct.expr.FuncPath(_size)
"""``size_(this.field)``: its length in bytes or elements."""


def one_of(expression: Expression, *values: int) -> Expression:
    """Whether the expression has one of the values."""
    result = expression == values[0]
    for value in values[1:]:
        result = result | (expression == value)
    return result


def within(expression: Expression, low: int, high: int) -> Expression:
    """Whether low <= expression <= high."""
    return (expression >= low) & (expression <= high)


def aligned(expression: Expression, to: int = 4) -> Expression:
    """The expression rounded up to a multiple of ``to`` (a power of two)."""
    return (expression + (to - 1)) & -to


def evaluate(expression: Expression, scope: Mapping[str, Any]) -> Any:
    """The value of an expression, or the plain value itself."""
    return expression(scope) if callable(expression) else expression


def _path(expression: Expression) -> tuple[str, ...] | None:
    """``this._.flags`` as ("_", "flags"); None for anything else."""
    names: list[str] = []
    while isinstance(expression, construct.expr.Path):
        parent = expression.__dict__["_Path__parent"]
        if parent is None:
            return tuple(reversed(names))
        names.append(expression.__dict__["_Path__field"])
        expression = parent
    return None


def paths(expression: Expression) -> Iterator[tuple[str, ...]]:
    """Every field path an expression reads, relative to its scope."""
    own = _path(expression)
    if own is not None:
        yield own
    elif isinstance(expression, construct.expr.UniExpr):
        yield from paths(expression.operand)
    elif isinstance(expression, construct.expr.BinExpr):
        yield from paths(expression.lhs)
        yield from paths(expression.rhs)
    elif isinstance(expression, construct.expr.FuncPath):
        yield from paths(expression.__dict__["_FuncPath__operand"])


class LengthTarget(msgspec.Struct, frozen=True):
    """A length written as ``field * factor + constant``; ``path`` is the field."""

    path: tuple[str, ...]
    factor: int = 1
    constant: int = 0


class BitTarget(msgspec.Struct, frozen=True):
    """Bits written as ``(field >> shift) & mask``; ``values`` are those that make a condition true."""

    path: tuple[str, ...]
    shift: int
    mask: int
    value: int | None = None


def length_target(expression: Expression) -> LengthTarget | None:
    """Which field a length expression takes its value from, if one field alone decides it."""
    path = _path(expression)
    if path is not None:
        return LengthTarget(path)
    if not isinstance(expression, construct.expr.BinExpr):
        return None
    lhs, rhs = expression.lhs, expression.rhs
    if isinstance(lhs, int):
        lhs, rhs = rhs, lhs
    inner = length_target(lhs)
    if inner is None or not isinstance(rhs, int):
        return None
    if expression.op is operator.mul:
        return LengthTarget(inner.path, inner.factor * rhs, inner.constant * rhs)
    if expression.op is operator.add:
        return LengthTarget(inner.path, inner.factor, inner.constant + rhs)
    if expression.op is operator.sub and lhs is expression.lhs:
        return LengthTarget(inner.path, inner.factor, inner.constant - rhs)
    return None


def bit_target(expression: Expression) -> BitTarget | None:
    """Which bits of which field a condition or a selector looks at."""
    if not isinstance(expression, construct.expr.BinExpr):
        return None
    lhs, rhs = expression.lhs, expression.rhs
    if expression.op in (operator.ne, operator.eq) and isinstance(rhs, int):
        inner = bit_target(lhs)
        if inner is None:
            return None
        wanted = rhs if expression.op is operator.eq else None
        return msgspec.structs.replace(inner, value=wanted)
    if expression.op is not operator.and_ or not isinstance(rhs, int):
        return None
    path = _path(lhs)
    if path is not None:
        shift = (rhs & -rhs).bit_length() - 1
        return BitTarget(path, shift, rhs >> shift)
    if isinstance(lhs, construct.expr.BinExpr) and lhs.op is operator.rshift and isinstance(lhs.rhs, int):
        path = _path(lhs.lhs)
        if path is not None:
            return BitTarget(path, lhs.rhs, rhs)
    return None
