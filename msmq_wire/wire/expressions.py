"""Expressions over fields: construct's ``this``, and what a schema and a MUST need beside it.

The rule kept here: an expression is data. It can be evaluated, printed and compiled, and it never sees
more than field values. What it cannot know (a field that was not reached, a part that is not present, a
look ahead while building) is `UNDETERMINED`, and everything computed from that is undetermined too.
"""

from __future__ import annotations

import operator
from typing import Any, Final, cast

import construct
import msgspec

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
    if isinstance(value, Undetermined):
        return value
    # A column of values has as many sizes as rows.
    lengths = getattr(value, "lengths", None)
    return len(value) if lengths is None else lengths


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


def evaluate(expression: Expression, scope: Any) -> Any:
    """The value of an expression, or the plain value itself."""
    return expression(scope) if callable(expression) else expression


class Operation(msgspec.Struct, frozen=True):
    """What an expression is made of: ``operator`` over ``operands``; ``len`` for `size_`."""

    operator: Any
    operands: tuple[Any, ...]


def parts(expression: Expression) -> int | bytes | tuple[str, ...] | Operation:
    """An expression taken apart by one step: a number or bytes, the path of a field, or an operation.

    The path of ``this._.flags`` is ``("_", "flags")``. Raises TypeError for what cannot be compiled.
    """
    if isinstance(expression, int):
        return int(expression)
    if isinstance(expression, bytes):
        return bytes(expression)
    path = _path(expression)
    if path is not None:
        return path
    inner = vars(expression) if isinstance(expression, construct.expr.ExprMixin) else {}
    if isinstance(expression, construct.expr.BinExpr):
        return Operation(inner["op"], (inner["lhs"], inner["rhs"]))
    if isinstance(expression, construct.expr.UniExpr):
        return Operation(inner["op"], (inner["operand"],))
    if isinstance(expression, construct.expr.FuncPath) and inner["_FuncPath__func"] is _size:
        return Operation(len, (inner["_FuncPath__operand"],))
    raise TypeError(f"{expression!r} cannot be compiled")


def _path(expression: Any) -> tuple[str, ...] | None:
    """``this._.flags`` as ("_", "flags"); None for anything else."""
    names: list[str] = []
    while isinstance(expression, construct.expr.Path):
        parent = expression.__dict__["_Path__parent"]
        if parent is None:
            return tuple(reversed(names))
        names.append(expression.__dict__["_Path__field"])
        expression = parent
    return None


def _binary(expression: Any) -> tuple[Any, Any, Any] | None:
    """An operation of two operands as (operator, left, right)."""
    if not isinstance(expression, construct.expr.BinExpr):
        return None
    parts: dict[str, Any] = vars(expression)
    return parts["op"], parts["lhs"], parts["rhs"]


class LengthTarget(msgspec.Struct, frozen=True):
    """A length written as ``field * factor + constant``; ``path`` is the field."""

    path: tuple[str, ...]
    factor: int = 1
    constant: int = 0


class BitTarget(msgspec.Struct, frozen=True):
    """Bits written as ``(field >> shift) & mask``; a condition asks for ``value``, None for "not 0"."""

    path: tuple[str, ...]
    shift: int
    mask: int
    value: int | None = None


def length_target(expression: Expression) -> LengthTarget | None:
    """Which field a length expression takes its value from, if one field alone decides it."""
    path = _path(expression)
    if path is not None:
        return LengthTarget(path)
    parts = _binary(expression)
    if parts is None:
        return None
    op, left, right = parts
    if isinstance(left, int) and op is not operator.sub:
        left, right = right, left
    inner = length_target(left)
    if inner is None or not isinstance(right, int):
        return None
    if op is operator.mul:
        return LengthTarget(inner.path, inner.factor * right, inner.constant * right)
    if op is operator.add:
        return LengthTarget(inner.path, inner.factor, inner.constant + right)
    if op is operator.sub:
        return LengthTarget(inner.path, inner.factor, inner.constant - right)
    return None


def bit_target(expression: Expression) -> BitTarget | None:
    """Which bits of which field a condition or a selector looks at."""
    whole = _path(expression)
    if whole is not None:
        return BitTarget(whole, 0, 0xFFFFFFFF)
    parts = _binary(expression)
    if parts is None or not isinstance(parts[2], int):
        return None
    op, left, right = parts
    if op in (operator.ne, operator.eq):
        inner = bit_target(left)
        if inner is None:
            return None
        return msgspec.structs.replace(inner, value=right if op is operator.eq else None)
    if op is not operator.and_:
        return None
    path = _path(left)
    if path is not None:
        shift = (right & -right).bit_length() - 1
        return BitTarget(path, shift, right >> shift)
    inner_parts = _binary(left)
    if inner_parts is not None and inner_parts[0] is operator.rshift and isinstance(inner_parts[2], int):
        path = _path(inner_parts[1])
        if path is not None:
            return BitTarget(path, inner_parts[2], right)
    return None


def announcing(condition: Expression) -> BitTarget | None:
    """Which bits announce a part; where its place depends on more, they stand first in the condition."""
    target, parts = bit_target(condition), _binary(condition)
    if target is None and parts is not None and parts[0] is operator.and_:
        target = bit_target(parts[1])
    return target


def ordering(expression: Expression) -> tuple[Any, str, str] | None:
    """A comparison of two fields of one structure as (operator, left field, right field)."""
    parts = _binary(expression)
    if parts is None:
        return None
    left, right = _path(parts[1]), _path(parts[2])
    if left is None or right is None or len(left) != 1 or len(right) != 1:
        return None
    return parts[0], left[0], right[0]
