"""`compile_conditions`: generates a Python function that selects the rules for a packet.

The rule kept here: the result is that of `rule_masks`, for one packet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from msmq_wire.detection.guards import CodedCondition, Condition, conditions
from msmq_wire.detection.rule import Rule
from msmq_wire.engines.python_source import Code, Term, translate
from msmq_wire.wire.fields import WireStruct, fields


def compile_conditions(cls: type[WireStruct], rules: Sequence[Rule]) -> Callable[[Any], list[Rule]]:
    """Generate a function that selects the rules that must check the record of a whole packet."""
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
    if isinstance(condition, CodedCondition):
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


def _teller(reported: CodedCondition) -> Callable[[Any], bool]:
    """Make a function that calls the coded condition on a record."""
    getters = [attrgetter(path[2:] if path.startswith("_.") else f"packet.{path}") for path in reported.paths]
    check, head = reported.check, reported.head

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
