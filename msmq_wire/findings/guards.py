"""When a rule looks: conditions on a whole packet without which its check sees nothing, as data.

The rule kept here: a condition is declared once, and asked of a packet or of a column of many. It may hold
where there is nothing to see: the check decides. A packet that breaks a MUST, or is cut, is always looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from msmq_wire.engines.source import Code, Term, translate
from msmq_wire.wire.expressions import Expression, Operation, parts
from msmq_wire.wire.fields import WireStruct, fields

if TYPE_CHECKING:
    from msmq_wire.findings.rule import Rule

__all__ = ["OF_RECORD", "Condition", "Told", "When", "asking", "conditions"]

OF_RECORD = ("time", "length", "frames", "src", "dst")
"""What ``this._`` has, which is the record around a packet; ``time`` is 0 for none, ``frames`` has a size."""


class Told(msgspec.Struct, frozen=True):
    """What no expression can say: a named function of some fields, asked only where all of them are there.

    ``paths`` are dotted, ``_.src`` that of the record; with ``head`` the function gets so many first bytes.
    """

    check: Callable[..., object]
    paths: tuple[str, ...]
    head: int | None = None

    @classmethod
    def of(cls, check: Callable[..., object], *paths: str, head: int | None = None) -> Told:
        return cls(check, paths, head)


Condition: TypeAlias = Expression | Told
"""An expression in which ``this`` is the packet, or what a function tells; it does not hold where a field is
absent, nor in a class of packets that has no such field."""
When: TypeAlias = tuple[Condition | tuple[Condition, ...], ...]
"""One of these must hold, or of conditions in parentheses all; without any a whole packet is never asked."""


def conditions(when: When, cls: type[WireStruct]) -> Iterator[tuple[Condition, ...]]:
    """What can hold in packets of a class: one of these, each as conditions that must hold together."""
    for one in when:
        every = one if isinstance(one, tuple) else (one,)
        if all(_has(cls, path) for condition in every for path in _paths(condition)):
            yield every


def _paths(condition: Condition) -> Iterator[tuple[str, ...]]:
    if isinstance(condition, Told):
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


def asking(cls: type[WireStruct], rules: Sequence[Rule]) -> Callable[[Any], list[Rule]]:
    """A generated function: those of some rules that have to be asked of the record of a whole packet."""
    code = Code(f"ask_{cls.stem()}", "_record", f"when rules look at {cls.__name__}")
    code.line("_value = _record.packet")
    code.line("_asked = []")
    for rule in rules:
        name = code.constant(rule.stem, rule)
        if rule.when is None:
            code.line(f"_asked.append({name})")
            continue
        texts = [
            " and ".join(f"({_text(one, cls, code)})" for one in every)
            for every in conditions(rule.when, cls)
        ]
        if texts:
            code.line(f"if {' or '.join(texts)}: _asked.append({name})")
    code.line("return _asked")
    found: Callable[[Any], list[Rule]] = code.compiled()
    return found


def _text(condition: Condition, cls: type[WireStruct], code: Code) -> str:
    if isinstance(condition, Told):
        return f"{code.constant(condition.check.__name__, _teller(condition))}(_record)"
    term = translate(condition, lambda path: _resolved(path, cls), lambda path: _measured(path, cls))
    return " and ".join([*(f"{guard} is not None" for guard in term.guards), f"({term.text})"])


def _resolved(path: tuple[str, ...], cls: type[WireStruct]) -> Term:
    if path[0] == "_":
        return Term("(_record.time or 0)" if path[1] == "time" else f"_record.{path[1]}")
    text, guards = "_value", []
    for name in path:
        (field,) = (field for field in fields(cls) if field.name == name)
        text = f"{text}.{name}"
        if field.optional:
            guards.append(text)
        if len(field.structures) > 1:
            raise TypeError(f"{'.'.join(path)} goes through several layouts: ask with Told")
        cls = next(iter(field.structures), cls)
    return Term(text, guards=tuple(guards))


def _measured(path: tuple[str, ...], cls: type[WireStruct]) -> Term:
    term = _resolved(path, cls)
    return Term(f"len({term.text})", guards=term.guards)


def _teller(told: Told) -> Callable[[Any], bool]:
    """What asks the function of a record."""
    getters = [attrgetter(path[2:] if path.startswith("_.") else f"packet.{path}") for path in told.paths]
    check, head = told.check, told.head

    def teller(record: Any) -> bool:
        values = []
        for get in getters:
            try:
                value = get(record)
            except AttributeError:
                return False
            if value is None:
                return False
            values.append(value[:head] if head is not None and isinstance(value, bytes) else value)
        return bool(check(*values))

    return teller
