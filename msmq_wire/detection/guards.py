"""Conditions on a whole packet, as data; a rule checks a packet only if one of them holds.

The rule kept here: a condition is declared once, and asked of a packet or of a column of many. It may hold
where there is nothing to see: the check decides. A packet that breaks a MUST, or is cut, is always looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from msmq_wire.wire.expressions import Expression, Operation, parts
from msmq_wire.wire.fields import WireStruct, fields

OF_RECORD = ("time", "length", "frames", "src", "dst")
"""The fields of ``this._``, the record of the packet; ``time`` is 0 without one, ``frames`` has a size."""


class CodedCondition(msgspec.Struct, frozen=True):
    """A condition in code: a named function of some fields, which is called only if all fields are present.

    ``paths`` are dotted, ``_.src`` that of the record; with ``head`` the function gets so many first bytes.
    """

    check: Callable[..., object]
    paths: tuple[str, ...]
    head: int | None = None

    @classmethod
    def of(cls, check: Callable[..., object], *paths: str, head: int | None = None) -> CodedCondition:
        return cls(check, paths, head)


Condition: TypeAlias = Expression | CodedCondition
"""An expression in which ``this`` is the packet, or what a function tells; it does not hold where a field is
absent, nor in a class of packets that has no such field."""
When: TypeAlias = tuple[Condition | tuple[Condition, ...], ...]
"""One of these must hold, or of conditions in parentheses all; without any a whole packet is never asked."""


def conditions(when: When, cls: type[WireStruct]) -> Iterator[tuple[Condition, ...]]:
    """The alternatives for packets of a class, each as conditions that must hold together."""
    for one in when:
        every = one if isinstance(one, tuple) else (one,)
        if all(_has(cls, path) for condition in every for path in _paths(condition)):
            yield every


def _paths(condition: Condition) -> Iterator[tuple[str, ...]]:
    if isinstance(condition, CodedCondition):
        yield from (tuple(path.split(".")) for path in condition.paths)
        return
    made = parts(condition)
    if isinstance(made, tuple):
        yield made
    elif isinstance(made, Operation):
        for operand in made.operands:
            yield from _paths(operand)


def _has(cls: type[WireStruct], path: Sequence[str]) -> bool:
    if path[0] == "_":
        return len(path) == 2 and path[1] in OF_RECORD
    kinds = [cls]
    for name in path:
        found = [field for kind in kinds for field in fields(kind) if field.name == name]
        if not found:
            return False
        kinds = [kind for field in found for kind in field.structures]
    return True
