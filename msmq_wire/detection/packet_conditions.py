"""`compile_conditions`: generates a Python function that selects the rules for a packet.

The rule kept here: the result is that of `rule_masks`, for one packet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, get_args

from msmq_wire.detection.guards import CodedCondition, Condition, conditions
from msmq_wire.detection.rule import Rule
from msmq_wire.engines.python_source import Code, Term, local_name, translate
from msmq_wire.wire.fields import WireStruct, fields


def compile_conditions(cls: type[WireStruct], rules: Sequence[Rule]) -> Callable[[Any], list[Rule]]:
    """Generate a function that selects the rules that must check the record of a whole packet."""
    code = Code(f"ask_{cls.stem()}", "_record", f"when rules look at {cls.__name__}")
    reader = _FieldReader(cls, code)
    code.line("_value = _record.packet")
    code.hold()
    code.line("_asked = []")
    for rule in rules:
        name = code.constant(rule.stem, rule)
        if rule.when is None:
            code.line(f"_asked.append({name})")
            continue
        texts = [
            " and ".join(f"({_text(one, code, reader)})" for one in every)
            for every in conditions(rule.when, cls)
        ]
        if texts:
            code.line(f"if {' or '.join(texts)}: _asked.append({name})")
    code.line("return _asked")
    code.release()
    found: Callable[[Any], list[Rule]] = code.compiled()
    return found


def _text(condition: Condition, code: Code, reader: _FieldReader) -> str:
    if not isinstance(condition, CodedCondition):
        term = translate(condition, reader.number, reader.size)
        return " and ".join([*(f"{guard} is not None" for guard in term.guards), f"({term.text})"])
    terms = [reader.field(tuple(path.split("."))) for path in condition.paths]
    guards = [f"{guard} is not None" for term in terms for guard in term.guards]
    head = "" if condition.head is None else f"[:{condition.head}]"
    values = ", ".join(f"{term.text}{head}" for term in terms)
    return " and ".join([*guards, f"{code.constant(condition.check.__name__, condition.check)}({values})"])


class _FieldReader:
    """Reads each field that conditions ask for once, into a local variable; what is absent is None."""

    def __init__(self, cls: type[WireStruct], code: Code) -> None:
        self._code = code
        self._known: dict[tuple[str, ...], tuple[Term, list[Any]]] = {(): (Term("_value"), [cls])}

    def field(self, path: tuple[str, ...]) -> Term:
        """The value of a field, of the record if it begins with ``_``."""
        if path[0] == "_":
            text = f"_record.{path[1]}"
            return Term(text, guards=(text,))
        return self._read(path)[0]

    def number(self, path: tuple[str, ...]) -> Term:
        """The value of a field in an expression."""
        if path[0] == "_":
            return Term("(_record.time or 0)" if path[1] == "time" else f"_record.{path[1]}")
        return self.field(path)

    def size(self, path: tuple[str, ...]) -> Term:
        """The size of a field in an expression."""
        term = self.number(path)
        return Term(f"len({term.text})", guards=term.guards)

    def _read(self, path: tuple[str, ...]) -> tuple[Term, list[Any]]:
        """The variable of a field, and the types that its value can have if it is there."""
        if path not in self._known:
            part, kinds = self._read(path[:-1])
            layouts = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, WireStruct)]
            found = [field for kind in layouts for field in fields(kind) if field.name == path[-1]]
            name, value = local_name([*path]), f"{part.text}.{path[-1]}"
            in_all = len(found) == len(kinds)
            if not in_all:
                value = f"getattr({part.text}, {path[-1]!r}, None)"
            elif part.guards:
                value = f"None if {part.text} is None else {value}"
            self._code.line(f"{name} = {value}", first=True)
            present = in_all and not part.guards and not any(field.optional for field in found)
            inner = [kind for field in found for kind in get_args(field.value_type) or (field.value_type,)]
            self._known[path] = (
                Term(name, guards=() if present else (name,)),
                [kind for kind in inner if kind is not NoneType],
            )
        return self._known[path]
