"""Generates Python source from declarations: lines of code, and expressions as text.

The rule kept here: what is generated can be read, and nothing is generated twice. A function is compiled on
first use, kept for the life of the process, and known to `linecache`, so a traceback shows its lines.
"""

from __future__ import annotations

import builtins
import linecache
import operator
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec

from msmq_wire.wire.expressions import Expression, parts

FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Letters of struct for unsigned numbers, by size in bytes."""

_SYMBOLS: dict[Any, str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.and_: "&",
    operator.or_: "|",
    operator.rshift: ">>",
    operator.lshift: "<<",
    operator.eq: "==",
    operator.ne: "!=",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.neg: "-",
}
_COMPARISONS = frozenset({operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge})
_GROWING = frozenset(
    {operator.add, operator.mul, operator.mod, operator.or_, operator.rshift, operator.lshift}
)
# Of two conditions, these need not look at both.
_LOGICAL = {operator.and_: "and", operator.or_: "or"}


class Term(msgspec.Struct, frozen=True):
    """An expression as Python text.

    ``value`` is its number where that is known already. ``negative`` says that it may be below 0.
    ``guards`` are the names of optional parts that it looks into. ``unknown``: it cannot be known here.
    ``boolean``: it is True or False.
    """

    text: str
    value: int | None = None
    negative: bool = False
    guards: tuple[str, ...] = ()
    unknown: bool = False
    boolean: bool = False


def translate(
    expression: Expression,
    resolve: Callable[[tuple[str, ...]], Term],
    measure: Callable[[tuple[str, ...]], Term],
) -> Term:
    """An expression as text; ``resolve`` knows the value of a path, ``measure`` its length.

    Raises TypeError for what has no text.
    """
    made = parts(expression)
    if isinstance(made, int):
        return Term(str(made), value=made, negative=made < 0)
    if isinstance(made, bytes):
        return Term(repr(made))
    if isinstance(made, tuple):
        return resolve(made)
    if made.operator is len:
        path = parts(made.operands[0])
        if not isinstance(path, tuple):
            raise TypeError(f"{expression!r} cannot be compiled")
        return measure(path)
    operands: list[Term] = []
    for operand in made.operands:
        operands.append(translate(operand, resolve, measure))
        # 0 & x is 0 even where x cannot be known or is not there.
        if made.operator is operator.and_ and operands[-1].value == 0:
            return Term("0", value=0)
    guards = tuple(dict.fromkeys(guard for term in operands for guard in term.guards))
    if all(term.value is not None for term in operands):
        value = int(made.operator(*(term.value for term in operands)))
        return Term(str(value), value=value, negative=value < 0)
    if any(term.unknown for term in operands):
        return Term("", unknown=True)
    symbol = _SYMBOLS[made.operator]
    boolean = made.operator in _COMPARISONS
    if made.operator in _LOGICAL and all(term.boolean for term in operands):
        symbol, boolean = _LOGICAL[made.operator], True
    texts = [nested(term.text) for term in operands]
    text = f"{symbol}{texts[0]}" if len(texts) == 1 else f"{texts[0]} {symbol} {texts[1]}"
    negative = not boolean and _may_be_negative(made.operator, operands)
    return Term(text, negative=negative, guards=guards, boolean=boolean)


def nested(text: str) -> str:
    """An expression as an operand of another."""
    return text if re.fullmatch(r"[\w.]+|b'[^']*'", text) else f"({text})"


def _may_be_negative(op: Any, operands: list[Term]) -> bool:
    if op is operator.and_:
        return all(term.negative for term in operands)
    return op not in _GROWING or any(term.negative for term in operands)


def local_name(path: list[str]) -> str:
    """The local variable of a field; no two fields have the same, and none has that of a built-in."""
    name = "__".join(path) or "_value"
    return f"{name}_" if hasattr(builtins, name) else name


@cache
def layout(letters: str) -> struct.Struct:
    """The one Struct of some letters; little-endian, nothing is aligned."""
    return struct.Struct(f"<{letters}")


@cache
def empty(kind: type[bytes]) -> bytes:
    """The one value of no bytes that decoding gives."""
    return kind()


def end_of_text(data: bytes, start: int, limit: int) -> int:
    """Where the zero-terminated text at ``start`` ends, its terminator included; -1 when it does not."""
    found = data.find(b"\0\0", start, limit)
    while found > 0 and (found - start) & 1:
        found = data.find(b"\0\0", found + 1, limit)
    return found + 2 if found >= 0 else -1


class _Line:
    __slots__ = ("defines", "depth", "text")

    def __init__(self, depth: int, text: str, defines: str) -> None:
        self.depth = depth
        self.text = text
        self.defines = defines


class Code:
    """The source of one function: lines, names of what it uses, and the compiled function."""

    def __init__(self, name: str, parameters: str, about: str) -> None:
        self.name = name
        self.parameters = parameters
        self.about = about
        self.constants: dict[str, Any] = {}
        self._lines: list[_Line] = []
        self._held: list[_Line] | None = None
        self.depth = 1
        self._used: set[str] = set()

    def line(self, text: str, *, defines: str = "", first: bool = False) -> None:
        """Add a line; one that ``defines`` a name is left out unless `use` asks for the name.

        ``first``: before the lines that are held.
        """
        lines = self._lines if self._held is None or first else self._held
        lines.append(_Line(self.depth, text, defines))

    @property
    def empty(self) -> bool:
        """Whether there is no line yet."""
        return not self._lines

    def use(self, name: str) -> str:
        """Take note that a line of `line` is needed."""
        self._used.add(name)
        return name

    def hold(self) -> None:
        """Keep the lines that follow until `release`."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Add the lines that were kept."""
        held, self._held = self._held, None
        self._lines += held or []

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        """Lines inside ``opening`` (``if x:``)."""
        self.line(opening)
        self.depth += 1
        yield
        self.depth -= 1

    def constant(self, stem: str, value: Any) -> str:
        """A global name for a value; the same value gets the same name, and no field is called like that."""
        stem = re.sub(r"\W+", "_", stem)
        stem = stem if stem[:1].isupper() else f"_{stem}"
        name, number = stem, 1
        while name in self.constants and self.constants[name] != value:
            number += 1
            name = f"{stem}_{number}"
        self.constants[name] = value
        return name

    @property
    def source(self) -> str:
        """The text of the function."""
        lines = [line for line in self._lines if not line.defines or line.defines in self._used]
        body = "\n".join("    " * line.depth + line.text for line in lines)
        return f"# Generated from {self.about}; never edited.\ndef {self.name}({self.parameters}):\n{body}\n"

    def compiled(self) -> Any:
        """The function."""
        source = self.source
        file = f"<msmq_wire {self.name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        scope = dict(self.constants)
        exec(compile(source, file, "exec"), scope)
        return scope[self.name]
