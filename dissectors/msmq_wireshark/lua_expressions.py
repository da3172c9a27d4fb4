# SPDX-License-Identifier: GPL-2.0-or-later
"""Declared expressions as Lua text.

The rule kept here: the text computes what the expression says, in the doubles of Lua 5.2 and in the integers
of Lua 5.4 alike. Where that cannot be promised (a mask over more than 32 bits) there is no text, but a
TypeError while generating.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import msgspec

from msmq_wire.wire.expressions import Expression, parts

__all__ = ["Term", "literal", "quoted", "translate"]

_ARITHMETIC = {operator.add: "+", operator.sub: "-", operator.mul: "*"}
_COMPARISONS = {
    operator.eq: "==",
    operator.ne: "~=",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
}
_LOGICAL = {operator.and_: "and", operator.or_: "or"}
_WORD = 32
_EXACT = 1 << 53


class Term(msgspec.Struct, frozen=True):
    """An expression as Lua text.

    ``value`` is its number where that is known. ``boolean``: it is true or false. ``guards`` are the texts of
    what must be there for it to have a value. ``bits``: it is no less than 0 and has at most so many bits,
    None when neither is known. ``zero``, if there is one, are the texts that hold when it is 0, and when not.
    """

    text: str
    value: int | None = None
    boolean: bool = False
    guards: tuple[str, ...] = ()
    bits: int | None = None
    zero: tuple[str, str] | None = None


Resolve = Callable[[tuple[str, ...]], Term]


def quoted(text: str | bytes) -> str:
    """A string of Lua 5.2 that holds a text (in UTF-8) or bytes."""
    data = text.encode() if isinstance(text, str) else text
    shown = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:03d}" for c in data)
    return f'"{shown}"'


def literal(value: Any) -> str:
    """A Lua table, string, number or boolean with the same content; None in a dict leaves its key out."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, (str, bytes)):
        return quoted(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(k)} = {literal(v)}' for k, v in value.items() if v is not None)}}}"
    return f"{{{', '.join(map(literal, value))}}}"


def _key(name: Any) -> str:
    # `and`, `end`, `in` and the like are words of Lua: brackets are always right.
    return f"[{literal(name)}]"


def translate(expression: Expression, resolve: Resolve, measure: Resolve) -> Term:
    """An expression as text; ``resolve`` knows the value of a path, ``measure`` its length.

    Raises TypeError for what has no text.
    """
    made = parts(expression)
    if isinstance(made, int):
        return Term(str(made), value=made, bits=made.bit_length() if made >= 0 else None)
    if isinstance(made, bytes):
        return Term(quoted(made))
    if isinstance(made, tuple):
        return resolve(made)
    if made.operator is len:
        path = parts(made.operands[0])
        if not isinstance(path, tuple):
            raise TypeError(f"{expression!r} cannot be compiled")
        return measure(path)
    operands = [translate(operand, resolve, measure) for operand in made.operands]
    if all(term.value is not None for term in operands):
        value = int(made.operator(*(term.value for term in operands)))
        return Term(str(value), value=value, bits=value.bit_length() if value >= 0 else None)
    guards = tuple(dict.fromkeys(guard for term in operands for guard in term.guards))
    if made.operator in _LOGICAL and all(term.boolean for term in operands):
        text = f" {_LOGICAL[made.operator]} ".join(_nested(term.text) for term in operands)
        return Term(text, boolean=True, guards=guards, bits=1)
    found = _computed(made.operator, [_number(term) for term in operands])
    return msgspec.structs.replace(found, guards=guards)


def _computed(op: Any, operands: list[Term]) -> Term:
    texts = [_nested(term.text) for term in operands]
    if op in (operator.eq, operator.ne) and operands[0].zero and operands[1].value == 0:
        return Term(operands[0].zero[op is operator.ne], boolean=True, bits=1)
    if op in _COMPARISONS:
        return Term(f"{texts[0]} {_COMPARISONS[op]} {texts[1]}", boolean=True, bits=1)
    if op in _ARITHMETIC:
        return Term(f"{texts[0]} {_ARITHMETIC[op]} {texts[1]}", bits=_bits_of(op, operands))
    if op is operator.neg:
        return Term(f"-{texts[0]}")
    if op is operator.and_:
        return _masked(operands)
    if op is operator.rshift and operands[1].value is not None:
        _require_word(operands[0])
        return Term(f"rshift({operands[0].text}, {operands[1].value})", bits=_WORD - operands[1].value)
    if op is operator.or_:
        for term in operands:
            _require_word(term)
        return Term(f"bor({operands[0].text}, {operands[1].text})", bits=_WORD)
    raise TypeError(f"{op!r} has no text in Lua")


def _masked(operands: list[Term]) -> Term:
    masks = [term.value for term in operands if term.value is not None]
    if not masks:
        for term in operands:
            _require_word(term)
        return Term(f"band({operands[0].text}, {operands[1].text})", bits=_WORD)
    mask = masks[0]
    other = next(term for term in operands if term.value is None)
    text = _nested(other.text)
    if mask == 0:
        return Term("0", value=0, bits=0)
    if mask > 0 and mask & (mask + 1) == 0:
        # The remainder of Lua is never negative: two's complement, as in Python.
        return Term(f"{text} % {mask + 1}", bits=mask.bit_length())
    if mask < 0 and -mask & (-mask - 1) == 0:
        return Term(f"{text} - {text} % {-mask}", bits=other.bits)
    _require_word(other)
    if not 0 < mask < 1 << _WORD:
        raise TypeError(f"a mask of {mask} has no text in Lua")
    low, zero = mask & -mask, None
    if (mask + low) & mask == 0:
        # Bits side by side are compared without a call, which takes longer than all else.
        zero = (f"{text} % {mask + low} < {low}", f"{text} % {mask + low} >= {low}")
    return Term(f"band({other.text}, {mask})", bits=mask.bit_length(), zero=zero)


def _bits_of(op: Any, operands: list[Term]) -> int | None:
    sizes = [term.bits for term in operands]
    if op is operator.sub or None in sizes:
        return None
    left, right = (size or 0 for size in sizes)
    bits = left + right if op is operator.mul else max(left, right) + 1
    if 1 << bits > _EXACT:
        raise TypeError("a number that a double does not hold")
    return bits


def _require_word(term: Term) -> None:
    if term.bits is None or term.bits > _WORD:
        raise TypeError(f"{term.text} may not fit the 32 bits that Lua's operations on bits have")


def _number(term: Term) -> Term:
    if not term.boolean:
        return term
    return msgspec.structs.replace(term, text=f"(({term.text}) and 1 or 0)", boolean=False, bits=1)


def _nested(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+|\w+\([^()]*\)", text) else f"({text})"
