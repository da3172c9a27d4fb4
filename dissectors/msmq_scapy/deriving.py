# SPDX-License-Identifier: GPL-2.0-or-later
"""From a declaration to scapy fields: a `Generator` whose handles are fields.

The rule kept here: nothing is typed twice. Names, sizes, enumerations, bits, conditions and defaults come
from the declared fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from msmq_scapy.declarations import layout_bits, totals_and_sizes
from msmq_scapy.fields import BitsField, MsmqAlignField, MsmqBytesField, MsmqNumberField, MsmqTextField
from msmq_scapy.reading import Left, Scope, here, limit, peek
from msmq_scapy.structure_fields import (
    ConditionalInsideField,
    ConditionalPartField,
    MsmqChoiceField,
    MsmqListField,
    MsmqNumberListField,
    MsmqStructureField,
)
from msmq_wire.wire.expressions import Expression, evaluate
from msmq_wire.wire.fields import Field, Value, WireStruct, fields
from msmq_wire.wire.generation import generate

__all__ = ["Position", "Step", "derive"]

ClassOf = Callable[[type[WireStruct]], Any]


class Position(msgspec.Struct, frozen=True):
    """A place that expressions use: no field of the packet, and no byte of it."""

    name: str
    read: Callable[[Any, Left], Any]


class Step(msgspec.Struct, frozen=True):
    """One step of a dissection: a field of scapy, or a position that is noted."""

    name: str
    field: Any = None
    position: Position | None = None


def derive(cls: type[WireStruct], class_of: ClassOf) -> list[Step]:
    """The steps that dissect a structure; ``class_of`` gives the packet class of one inside it."""
    default = cls()
    steps: list[Step] = []
    for field in fields(cls):
        made = generate(field.subcon, _Deriving(cls, field, default, class_of))
        if field.position:
            steps.append(Step(field.name, position=Position(field.name, made)))
        else:
            steps.append(Step(field.name, field=made))
    for name, (path, inner) in getattr(cls, "INSIDE", {}).items():
        size = inner.schema().sizeof()
        steps.append(Step(name, field=ConditionalInsideField(name, path, class_of(inner), size)))
    return steps


class _Deriving:
    """Makes the scapy field of one declared field; positions become functions of what is left."""

    def __init__(self, cls: type[WireStruct], field: Field, default: WireStruct, class_of: ClassOf) -> None:
        self._cls = cls
        self._field = field
        self._class_of = class_of
        self._default = None if field.position else getattr(default, field.name)

    def _given(self, value: Any) -> Any:
        """A default for people: None where the value is computed."""
        return None if (self._cls, self._field.name) in totals_and_sizes() else value

    def integer(self, size: int, *, signed: bool, big_endian: bool) -> MsmqNumberField:
        name, table = self._field.name, self._cls.BITS
        default = self._given(self._default if isinstance(self._default, int) else 0)
        if table is not None and table.field == name:
            layout = layout_bits().get((self._cls, name), 0)
            return BitsField(name, default, size, table, layout, signed=signed, big_endian=big_endian)
        return MsmqNumberField(
            name, default, size, signed=signed, big_endian=big_endian, names=self._field.names
        )

    def octets(self, length: Expression, kind: type[bytes]) -> MsmqBytesField:
        default = self._default if isinstance(self._default, bytes) else None
        return MsmqBytesField(self._field.name, default, length, kind)

    def fill(self, length: Expression) -> MsmqBytesField:
        return MsmqBytesField(self._field.name, None, length)

    def align(self, to: int) -> MsmqAlignField:
        return MsmqAlignField(self._field.name, None, to)

    def zero_terminated(self, kind: type[bytes]) -> MsmqTextField:
        return MsmqTextField(self._field.name, self._default, kind)

    def structure(self, cls: type[WireStruct], context: Mapping[str, int]) -> MsmqStructureField:
        made = self._class_of(cls)
        default = made.of_default(self._default) if isinstance(self._default, cls) else None
        return MsmqStructureField(self._field.name, default, made, context)

    def optional(self, condition: Expression, subcon: Any) -> ConditionalPartField:
        return ConditionalPartField(generate(subcon, self), condition)

    def choice(self, selector: Expression, cases: Mapping[int, Any]) -> Any:
        made: dict[int, Any] = {}
        default: Any = self._default if isinstance(self._default, bytes) else None
        for key, case in cases.items():
            found = None if case is None else generate(case, self)
            made[int(key)] = found
            if isinstance(found, MsmqStructureField) and found.default is not None:
                default = found.default
        field = MsmqChoiceField(self._field.name, default, selector, made)
        return ConditionalPartField(field) if None in made.values() else field

    def items(self, count: Expression, subcon: Any, known: tuple[int, ...]) -> Any:
        element = generate(subcon, self)
        if isinstance(element, MsmqStructureField):
            return MsmqListField(self._field.name, count, element.cls, known)
        return MsmqNumberListField(self._field.name, count, element)

    def tell(self) -> Callable[[Any, Left], Any]:
        return here

    def ahead(self, subcon: Any, at: int, field: str) -> Callable[[Any, Left], Any]:
        size = subcon.sizeof()
        return lambda pkt, left: peek(pkt, left, at, size, strict=not field)

    def value(self, expression: Expression, without: str) -> Callable[[Any, Left], Any]:
        value = Value(expression)
        return lambda pkt, left: value.known(Scope(pkt))

    def limit(self, end: Expression, unless: Expression) -> Callable[[Any, Left], Any]:
        def read(pkt: Any, left: Left) -> int:
            scope = Scope(pkt)
            stop = None if end is None or evaluate(unless, scope) else evaluate(end, scope)
            return limit(pkt, left, stop)

        return read
