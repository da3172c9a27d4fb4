"""Expressions and types of the declarations as a reader wants to see them."""

from __future__ import annotations

import operator
from typing import Any, get_args, get_type_hints

import construct

from msmq_wire.report.redaction.redactor import Redaction
from msmq_wire.wire.expressions import bit_target
from msmq_wire.wire.fields import (
    Align,
    Bytes,
    Choice,
    Fill,
    Items,
    Node,
    Opt,
    Rest,
    WireStruct,
    ZeroTerminated,
    fields,
)
from msmq_wire.wire.musts import Bit
from msmq_wire.wire.private import Private, Public, What, privacy
from msmq_wire.wire.registry import STRUCTURES
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = [
    "asked_for",
    "bit_of",
    "bounds",
    "condition",
    "inner_classes",
    "redacted_with",
    "size_text",
    "type_text",
]

_OPERATORS: dict[Any, tuple[str, int]] = {
    operator.or_: ("|", 1),
    operator.and_: ("&", 2),
    operator.eq: ("==", 3),
    operator.ne: ("!=", 3),
    operator.lt: ("<", 3),
    operator.le: ("<=", 3),
    operator.gt: (">", 3),
    operator.ge: (">=", 3),
    operator.lshift: ("<<", 5),
    operator.rshift: (">>", 5),
    operator.add: ("+", 6),
    operator.sub: ("-", 6),
    operator.mul: ("*", 7),
}
_UNARY = 8
_MASK = 4
_COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def condition(expression: Any, cls: type[WireStruct]) -> str:
    """An expression over the fields of ``cls`` as text; bits go by their names."""
    return _text(expression, cls)[0]


def bit_of(expression: Any, cls: type[WireStruct]) -> Bit | None:
    """The named bit or group of bits that an expression takes out of a word."""
    found = _named_bits(expression, cls)
    return None if found is None else found[1]


def _named_bits(expression: Any, cls: type[WireStruct]) -> tuple[str, Bit, int | None] | None:
    target = bit_target(expression)
    if target is None:
        return None
    owner: Any = STRUCTURES.get(target.path[-2]) if len(target.path) > 1 else cls
    table = getattr(owner, "BITS", None)
    if table is None or target.path[-1] != table.field:
        return None
    for bit in table.bits.values():
        if bit.mask == target.mask << target.shift:
            path = ".".join(name for name in target.path if name != "_")
            return f"{path}.{bit.name}", bit, target.value
    return None


def _text(expression: Any, cls: type[WireStruct]) -> tuple[str, int]:
    if isinstance(expression, construct.expr.Path):
        return _path(expression), 9
    if isinstance(expression, construct.expr.FuncPath):
        return f"length({_text(vars(expression)['_FuncPath__operand'], cls)[0]})", 9
    if isinstance(expression, construct.expr.UniExpr):
        return "-" + _wrapped(vars(expression)["operand"], cls, _UNARY), _UNARY
    if not isinstance(expression, construct.expr.BinExpr):
        return _number(expression), 9
    parts = vars(expression)
    op, left, right = parts["op"], parts["lhs"], parts["rhs"]
    named = _named_bits(expression, cls)
    if named is not None:
        name, bit, value = named
        if op is operator.and_:
            return name, 9
        if op is operator.ne and right == 0:
            return (name, 9) if bit.width == 1 else (f"{name} != 0", 3)
        if value is not None:
            return f"{name} == {int(value)}", 3
    sign, strength = _OPERATORS[op]
    if op is operator.and_ and not (_is_logical(left) or _is_logical(right)):
        return f"{_wrapped(left, cls, _MASK)} & {_number(right, mask=True)}", _MASK
    after = strength + 1
    if op in (operator.and_, operator.or_):
        sign, after = ("and" if op is operator.and_ else "or"), strength
    elif op is operator.add:
        after = strength
    return f"{_wrapped(left, cls, strength)} {sign} {_wrapped(right, cls, after)}", strength


def _wrapped(expression: Any, cls: type[WireStruct], strength: int) -> str:
    text, own = _text(expression, cls)
    return text if own >= strength else f"({text})"


def _is_logical(expression: Any) -> bool:
    if not isinstance(expression, construct.expr.BinExpr):
        return False
    op = vars(expression)["op"]
    if op in _COMPARISONS:
        return True
    return op in (operator.and_, operator.or_) and _is_logical(vars(expression)["lhs"])


def _path(path: Any) -> str:
    names = []
    while vars(path)["_Path__parent"] is not None:
        names.append(vars(path)["_Path__field"])
        path = vars(path)["_Path__parent"]
    return ".".join(name for name in reversed(names) if name != "_")


def _number(value: Any, *, mask: bool = False) -> str:
    if not isinstance(value, int):
        return str(value)
    number = int(value)
    if mask and number < 0:
        return str(number)
    if number == 1 << 32:
        return "2**32"
    return f"0x{number:X}" if number > 0xFF or (mask and number > 9) else str(number)


def _unwrapped(subcon: Any) -> Any:
    return subcon.subcon if isinstance(subcon, Opt | Items) else subcon


def inner_classes(cls: type[WireStruct]) -> list[type[WireStruct]]:
    """Structures that fields of ``cls`` use and that have no page of their own, nested ones too."""
    found: list[type[WireStruct]] = []
    for field in fields(cls):
        subcon = _unwrapped(field.subcon)
        nodes = subcon.cases.values() if isinstance(subcon, Choice) else (subcon,)
        for node in nodes:
            if isinstance(node, Node) and STRUCTURES.get(node.cls.stem()) is not node.cls:
                found += [node.cls, *inner_classes(node.cls)]
    return found


def bounds(subcon: Any) -> int | None:
    """Bytes of a field when they are always the same."""
    if isinstance(subcon, Node):
        sizes = [bounds(field.subcon) for field in fields(subcon.cls) if not field.position]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    if isinstance(subcon, Choice):
        cases = {0 if case is None else bounds(case) for case in subcon.cases.values()}
        return cases.pop() if len(cases) == 1 else None
    if isinstance(subcon, Bytes):
        return None if callable(subcon.length) else int(subcon.length)
    if isinstance(subcon, Opt | Items | Align | ZeroTerminated):
        return None
    return int(subcon.sizeof())


def size_text(count: int) -> str:
    """A number of bytes in words."""
    return "1 byte" if count == 1 else f"{count} bytes"


def type_text(subcon: Any, cls: type[WireStruct]) -> str:
    """What stands on the wire for a field, as Markdown inside docs/structures."""
    size = bounds(subcon)
    match subcon:
        case Opt():
            return type_text(subcon.subcon, cls)
        case Items():
            return f"`{condition(subcon.count, cls)}` times {type_text(subcon.subcon, cls)}"
        case Choice():
            return _choice_text(subcon, cls)
        case Node():
            return _link(subcon.cls) + (f", {size_text(size)}" if size is not None else "")
        case Align():
            return f"0 to {subcon.to - 1} bytes, up to a multiple of {subcon.to}"
        case ZeroTerminated():
            return "UTF-16 text up to its NUL"
        case Bytes():
            return _bytes_text(subcon, cls)
        case construct.BytesInteger():
            return f"u{8 * (size or 0)}, big-endian"
    return f"u{8 * (size or 0)}"


def _bytes_text(subcon: Bytes, cls: type[WireStruct]) -> str:
    size = bounds(subcon)
    length = f"`{condition(subcon.length, cls)}` bytes" if size is None else size_text(size)
    if isinstance(subcon, Fill):
        return f"padding, {length}"
    if isinstance(subcon, Rest):
        return f"rest, {length}"
    if issubclass(subcon.kind, WcharText):
        return f"UTF-16 text, {length}"
    if subcon.kind is not bytes:
        return f"{_link(subcon.kind)}, {length}"
    return length


def _choice_text(subcon: Choice, cls: type[WireStruct]) -> str:
    bit = bit_of(subcon.selector, cls)
    lines = [f"by `{condition(subcon.selector, cls)}`:"]
    for key, case in subcon.cases.items():
        name = ""
        if bit is not None and bit.names is not None and key in list(bit.names):
            name = f" {bit.names(key).name}"
        what = "no bytes" if case is None else type_text(case, cls)
        lines.append(f"{int(key)}{name}: {what}")
    return "<br>".join(lines)


def _link(cls: Any) -> str:
    stem = cls.stem()
    if STRUCTURES.get(stem) is cls:
        return f"[{stem}]({stem}.md)"
    return f"[{stem}](#{stem})"


def redacted_with(cls: type, name: str) -> str:
    """What ``--redact`` takes the value of a field away with; empty where it stays."""
    said = privacy(cls).get(name)
    if isinstance(said, Public):
        return "" if said.only is None and said.among is None else "any, but texts that are known"
    if said is None and not _tells(get_type_hints(cls)[name]):
        return ""
    return asked_for(said.what if isinstance(said, Private) else "secret")


def asked_for(what: What) -> str:
    """The word of ``--redact`` for what a value tells."""
    return next((f"`{one}`" for one in Redaction if one.what == what), "any")


def _tells(hint: Any) -> bool:
    """Whether a value may be a text, bytes or a GUID."""
    inside = get_args(hint)
    if inside:
        # A text in the place of a number is the exception.
        return int not in inside and any(map(_tells, inside))
    return hint is Any or (isinstance(hint, type) and issubclass(hint, str | bytes))
