"""Structures and parameter lists: `NdrStruct`, `Fields`, `Parameters`. [C706] 14.3.6, 14.4.

The rule kept here: adjacent members of fixed size are read together in every syntax. Padding between them is
kept if it is not zero.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from msmq_wire.arguments import misfit
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.rpc.ndr.plans import PackedMembers, Plan, Single
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.scalars import Scalar
from msmq_wire.rpc.ndr.stub_stream import NdrReader, NdrWriter
from msmq_wire.rpc.ndr.syntax import Syntax
from msmq_wire.rpc.ndr.types import NdrType, Scope
from msmq_wire.wire.expressions import ABSENT
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.musts import View
from msmq_wire.wire.nodes import named

_NOTHING: Scope = {}
_LOOKED_UP = frozenset(
    ("_make", "_has_deferred", "_deferred_places", "_late", "_uses_scope", "names", "types")
)


class NdrStruct(WireStruct, frozen=True, kw_only=True, gc=False):
    """A structure or a parameter list of the IDL: value type and NDR layout in one class."""


class Member(msgspec.Struct, frozen=True):
    """One member as its annotation declares it: ``names`` are the meanings of its numbers."""

    name: str
    type: Any
    value_type: Any = None
    doc: str = ""
    names: Any = None
    extras: tuple[Any, ...] = ()
    """All that its annotation has behind the type of its value."""


@cache
def members(cls: type[WireStruct]) -> tuple[Member, ...]:
    """The members of an `NdrStruct` in wire order."""
    found: list[Member] = []
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            continue
        value_type, *extras = get_args(hint)
        found.append(
            Member(
                name,
                next(extra for extra in extras if isinstance(extra, NdrType)),
                value_type,
                next((extra for extra in extras if isinstance(extra, str)), ""),
                next((extra for extra in extras if isinstance(extra, type)), None),
                tuple(extras),
            )
        )
    return tuple(found)


class _States(list[Any]):
    """The states of the members of a structure, and its start offset."""

    __slots__ = ("start",)

    start: int


def _compile_constructor(cls: type[WireStruct], names: tuple[str, ...]) -> Callable[..., Any]:
    """Compile a constructor from members in wire order; a dictionary costs five times as much."""
    given = ", ".join(f"{name}={name}" for name in names)
    made: Callable[..., Any] = eval(f"lambda {', '.join(names)}: _cls({given})", {"_cls": cls})
    return made


class Fields(NdrType):
    """The members of a structure; ``forms`` gives their types where the class is declared elsewhere.

    They are looked up on first use, because most declared structures are never read.
    """

    __slots__ = (
        "_alignments",
        "_deferred_places",
        "_forms",
        "_has_deferred",
        "_late",
        "_make",
        "_plans",
        "_uses_scope",
        "cls",
        "names",
        "types",
    )

    DEFERRING = False

    def __init__(self, cls: type[WireStruct], forms: Mapping[str, NdrType] | None = None) -> None:
        self.cls = cls
        self._forms = forms
        self._plans: dict[Syntax, Plan] = {}
        self._alignments: dict[Syntax, int] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Asked for nothing but what is not set yet, so what is read again and again costs nothing here.
            if name not in _LOOKED_UP:
                raise AttributeError(name)
            self._look_up()
            return getattr(self, name)

    def _look_up(self) -> None:
        forms = self._forms
        if forms is None:
            forms = {member.name: member.type for member in members(self.cls)}
        self.names = tuple(forms)
        self.types = tuple(forms.values())
        self._make = _compile_constructor(self.cls, self.names)
        self._deferred_places = tuple(place for place, one in enumerate(self.types) if one.has_deferred())
        self._has_deferred = bool(self._deferred_places)
        self._late = tuple(
            (place, one) for place, one in enumerate(self.types) if isinstance(one, Pointer) and one.late
        )
        self._uses_scope = any(one.uses_scope() for one in self.types)

    def alignment(self, syntax: Syntax) -> int:
        found = self._alignments.get(syntax)
        if found is None:
            found = self._alignments[syntax] = max((one.alignment(syntax) for one in self.types), default=1)
        return found

    def minimum_size(self, syntax: Syntax) -> int:
        return max(1, sum(one.minimum_size(syntax) for one in self.types))

    def has_deferred(self) -> bool:
        return self._has_deferred

    def _plan(self, syntax: Syntax) -> Plan:
        plan = self._plans.get(syntax)
        if plan is None:
            start = 8 if self.DEFERRING else self.alignment(syntax)
            plan = self._plans[syntax] = Plan(self.types, syntax, start, deferring=self.DEFERRING)
        return plan

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        syntax = reader.syntax
        plan = self._plan(syntax)
        reader.align(plan.alignment)
        reader.enter()
        states = _States()
        states.start = reader.pos
        self._read(reader, plan, states)
        reader.depth -= 1
        if syntax.wide:
            reader.align(plan.alignment)
        return states if self._has_deferred else self._value(reader, states)

    def read(self, reader: NdrReader, scope: Scope) -> Any:
        state = self.read_flat(reader, scope)
        return self.read_deferred(reader, state, scope) if self._has_deferred else state

    def _read(self, reader: NdrReader, plan: Plan, states: list[Any]) -> None:
        """Read the inline part of every member; the pointee of a parameter follows it directly."""
        for step in plan.steps:
            if type(step) is PackedMembers:
                start = reader.pos
                if start % step.align:
                    reader.align(step.align)
                    start = reader.pos
                stop = start + step.size
                if stop > reader.end:
                    self._cut(reader, step, states)
                states += step.layout.unpack_from(reader.data, start)
                reader.pos = stop
                if step.gaps:
                    reader.gaps(start, step.gaps)
                for place, scalar in step.wrapped:
                    states[place] = scalar.from_wire(states[place], reader.syntax)
                for place in step.pointers:
                    if states[place]:
                        reader.referents.append(states[place])
                if reader.judging:
                    for place, offset, ranged in step.ranges:
                        ranged.judge(reader, states[place], start + offset, self.names[place])
            else:
                self._single(reader, step, states)  # type: ignore[arg-type]  # the other kind of step

    def _single(self, reader: NdrReader, step: Single, states: list[Any]) -> None:
        one = step.type
        before = len(reader.problems)
        try:
            scope = self._scope(states) if step.uses_scope else _NOTHING
            states.append(one.read(reader, scope) if self.DEFERRING else one.read_flat(reader, scope))
        except DecodeError as error:
            self._name(reader, before, step.place)
            raise self._within(error, step.place, states) from None
        if len(reader.problems) > before:
            self._name(reader, before, step.place)

    def _cut(self, reader: NdrReader, run: PackedMembers, states: list[Any]) -> None:
        """Read packed members one by one up to the cut one."""
        for place in range(run.first, run.last):
            before = len(reader.problems)
            try:
                states.append(self.types[place].read_flat(reader, _NOTHING))
            except DecodeError as error:
                raise self._within(error, place, states) from None
            self._name(reader, before, place)
        raise AssertionError("a run that was cut was whole")

    def read_deferred(self, reader: NdrReader, state: Any, scope: Scope) -> Any:
        own = self._scope(state) if self._uses_scope else _NOTHING
        reader.enter()
        for place in self._deferred_places:
            before = len(reader.problems)
            try:
                state[place] = self.types[place].read_deferred(reader, state[place], own)
            except DecodeError as error:
                self._name(reader, before, place)
                raise self._within(error, place, state, resolved=place + 1) from None
            if len(reader.problems) > before:
                self._name(reader, before, place)
        reader.depth -= 1
        return self._value(reader, state)

    def _value(self, reader: NdrReader, states: _States) -> Any:
        value = self._make(*states)
        if reader.judging and self.cls.MUSTS:
            view = View(value)
            for must in self.cls.MUSTS:
                if not must.holds(view):
                    code = f"{self.cls.stem()}.{must.code}"
                    reader.problem(code, must.message, states.start, 0, must.at, must.spec or self.cls.SPEC)
        return value

    def _scope(self, states: list[Any]) -> Scope:
        """The members as a scope for size expressions."""
        return {name: ABSENT if one is None else one for name, one in zip(self.names, states, strict=False)}

    def _name(self, reader: NdrReader, before: int, place: int) -> None:
        for problem in reader.problems[before:]:
            problem.path = _joined(self.names[place], problem.path)

    def _within(self, error: DecodeError, place: int, states: list[Any], *, resolved: int = 0) -> DecodeError:
        """Add this structure to an error; pointees from index ``resolved`` on are not read."""
        reached = self._reached(states, resolved)
        reached[self.names[place]] = msgspec.UNSET if error.partial is None else error.partial
        error.path = _joined(self.names[place], error.path)
        error.spec = error.spec or getattr(self.cls, "SPEC", None)
        empty = all(one is msgspec.UNSET for one in reached.values())
        error.partial = None if empty else self.cls(**reached)
        return error

    def _reached(self, states: list[Any], resolved: int = 0) -> dict[str, Any]:
        reached: dict[str, Any] = dict.fromkeys(self.names, msgspec.UNSET)
        reached.update(zip(self.names, states, strict=False))
        if not self.DEFERRING:
            for at in self._deferred_places:
                if resolved <= at < len(states):
                    reached[self.names[at]] = self.types[at].partial_value(states[at])
        return reached

    def partial_value(self, state: Any) -> Any:
        return self.cls(**self._reached(state)) if self._has_deferred else state

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        if not isinstance(value, self.cls):
            raise EncodeError(f"a {type(value).__name__} where a {self.cls.__name__} belongs")
        syntax = writer.syntax
        writer.align(self.alignment(syntax))
        self._write(writer, self._plan(syntax), value)
        if syntax.wide:
            writer.align(self.alignment(syntax))

    def _write(self, writer: NdrWriter, plan: Plan, value: Any) -> None:
        syntax = writer.syntax
        states = [getattr(value, name) for name in self.names]
        scope = self._scope(states)
        for step in plan.steps:
            if type(step) is PackedMembers:
                if step.align > 1:
                    writer.align(step.align)
                raw = []
                one: Any
                for place, one in enumerate(step.types, step.first):
                    try:
                        state = states[place]
                        if state is msgspec.UNSET:
                            raise EncodeError("this was not decoded, so it cannot be encoded")
                        raw.append(
                            one.to_wire(state, syntax)
                            if isinstance(one, Scalar)
                            else one.referent(writer, state)
                        )
                    except EncodeError as error:
                        raise named(error, self.names[place]) from None
                try:
                    writer.write(step.layout.pack(*raw))
                except struct.error:
                    raise self._misfit(step, raw, syntax) from None
                continue
            place = step.place  # type: ignore[union-attr]  # the other kind of step
            one, state = self.types[place], states[place]
            try:
                if state is msgspec.UNSET:
                    raise EncodeError("this was not decoded, so it cannot be encoded")
                if self.DEFERRING:
                    one.write(writer, state, scope)
                else:
                    one.write_flat(writer, state, scope)
            except EncodeError as error:
                raise named(error, self.names[place]) from None

    def _misfit(self, run: PackedMembers, raw: list[Any], syntax: Syntax) -> EncodeError:
        """The error for the packed member that `struct` rejected."""
        for place, number in enumerate(raw, run.first):
            one = self.types[place]
            letter = one.letter(syntax) if isinstance(one, Scalar) else syntax.count
            try:
                syntax.layout(letter).pack(number)
            except struct.error:
                text = misfit(number, one.minimum_size(syntax), signed=letter.islower())
                return EncodeError(text, path=self.names[place])
        raise AssertionError("a run that was refused has a member that is")

    def write_deferred(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        own = self._scope([getattr(value, name) for name in self.names])
        for place in self._deferred_places:
            try:
                self.types[place].write_deferred(writer, getattr(value, self.names[place]), own)
            except EncodeError as error:
                raise named(error, self.names[place]) from None


class Parameters(Fields):
    """The parameters of a request or a response, each followed by its pointees."""

    __slots__ = ()

    DEFERRING = True

    def alignment(self, syntax: Syntax) -> int:
        return 1

    def has_deferred(self) -> bool:
        return False

    def read(self, reader: NdrReader, scope: Scope) -> Any:
        return self.read_flat(reader, scope)

    def read_flat(self, reader: NdrReader, scope: Scope) -> Any:
        states = _States()
        states.start = reader.pos
        self._read(reader, self._plan(reader.syntax), states)
        for place, pointer in self._late:
            if states[place] is None:
                pointer.judge_null(reader, self._scope(states), self.names[place])
        return self._value(reader, states)

    def write_flat(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        if not isinstance(value, self.cls):
            raise EncodeError(f"a {type(value).__name__} where a {self.cls.__name__} belongs")
        self._write(writer, self._plan(writer.syntax), value)


def _joined(name: str, path: str) -> str:
    return name + path if not path or path.startswith("[") else f"{name}.{path}"
