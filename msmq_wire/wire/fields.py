"""What a structure is declared with: `WireStruct`, `Node`, and the nodes of `wire.nodes`.

The rule kept here: the annotations of a class are its only schema, and a `DecodeError` carries everything
that was decoded before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Self, get_args, get_origin, get_type_hints

import construct
import msgspec

from msmq_wire.arguments import misfit
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.representation import struct_line
from msmq_wire.spec import SpecRef, snake_case
from msmq_wire.wire.expressions import ABSENT, UNDETERMINED
from msmq_wire.wire.generation import Generator
from msmq_wire.wire.musts import BitTable, Musts
from msmq_wire.wire.nodes import (
    Ahead,
    Align,
    Bytes,
    Choice,
    Fill,
    Items,
    Limit,
    Opt,
    Rest,
    Tell,
    Value,
    WireConstruct,
    ZeroTerminated,
    named,
)
from msmq_wire.wire.private import Private, Public
from msmq_wire.wire.shown import ABSENT_IF_EMPTY, Marker

__all__ = [
    "OWN_SIZE",
    "Ahead",
    "Align",
    "Bytes",
    "Choice",
    "Field",
    "Fill",
    "Items",
    "Limit",
    "Node",
    "Opt",
    "Rest",
    "Tell",
    "Unit",
    "Value",
    "WireStruct",
    "ZeroTerminated",
    "fields",
]

Scope = dict[str, Any]

OWN_SIZE: Final = "own-size"
"""Marks a field that holds the size of its own structure, in bytes."""
_WORDS = (OWN_SIZE, ABSENT_IF_EMPTY)
"""Texts of a declaration that mark a field; any other is its meaning."""


class Unit(msgspec.Struct, frozen=True):
    """What an integer counts, for those who print it: ``Unit("seconds")``."""

    name: str


class Field(msgspec.Struct, frozen=True):
    """One field of a structure as its annotation declares it."""

    name: str
    subcon: Any
    value_type: Any
    doc: str = ""
    names: type[IntEnum] | None = None
    unit: str = ""
    position: bool = False
    own_size: bool = False
    shown: Marker | None = None
    absent_if_empty: bool = False
    private: Private | Public | None = None

    @property
    def optional(self) -> bool:
        """Whether the field can be absent."""
        return type(None) in get_args(self.value_type)

    @property
    def structures(self) -> list[type[WireStruct]]:
        """The structures that it can hold."""
        kinds = get_args(self.value_type) or (self.value_type,)
        return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, WireStruct)]


def known(value: Any) -> Any:
    """A field's value as expressions see it."""
    if value is None:
        return ABSENT
    return UNDETERMINED if value is msgspec.UNSET else value


class WireStruct(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A structure on the wire: value type, schema, MUSTs and documentation in one class.

    Instances are frozen, hashable and picklable. In the ``partial`` value of a DecodeError, fields that
    were not reached are ``msgspec.UNSET``.
    """

    SPEC: ClassVar[SpecRef]
    CONTEXT: ClassVar[Mapping[str, int]] = {}
    """Names an enclosing node may set for this structure's expressions, with their defaults."""
    BITS: ClassVar[BitTable | None] = None
    MUSTS: ClassVar[Musts] = ()

    @classmethod
    def stem(cls) -> str:
        """The structure's one name: module, fixture folder, docs page, JSON key."""
        return _stem(cls.__name__)

    @classmethod
    def schema(cls) -> Node:
        """The construct schema, built from the annotations."""
        return _schema(cls)

    def __repr__(self) -> str:
        return struct_line(self)

    def __getitem__(self, name: str) -> Any:
        # What expressions see of a structure inside the one they are evaluated on.
        return known(getattr(self, name))

    def bit(self, name: str) -> int:
        """The value of a named bit or bit group (``"in"``, ``"dq"``); ValueError when there is none."""
        if self.BITS is None:
            raise ValueError(f"{self.stem()} has no bits")
        value: int = self.BITS.extract(getattr(self, self.BITS.field), name)
        return value

    def with_bits(self, **bits: int) -> Self:
        """A copy with bits changed; a name that is a Python keyword takes a trailing underscore.

        Raises ValueError for a name that is none and a value that does not fit, TypeError for no integer.
        """
        if self.BITS is None:
            raise ValueError(f"{self.stem()} has no bits")
        word = getattr(self, self.BITS.field)
        for name, value in bits.items():
            word = self.BITS.insert(word, name.rstrip("_"), value)
        return msgspec.structs.replace(self, **{self.BITS.field: word})


@cache
def fields(cls: type[WireStruct]) -> tuple[Field, ...]:
    """The fields of a structure in wire order, positions (`Tell`, `Ahead`, `Limit`) among them."""
    found: list[Field] = []
    for name, hint in get_type_hints(cls, include_extras=True).items():
        position = get_origin(hint) is ClassVar
        if position:
            hint = get_args(hint)[0]
        if get_origin(hint) is not Annotated:
            continue
        value_type, *extras = get_args(hint)
        subcon = next(extra for extra in extras if isinstance(extra, construct.Construct))
        found.append(
            Field(
                name=name,
                subcon=subcon,
                value_type=value_type,
                doc=next((e for e in extras if isinstance(e, str) and e not in _WORDS), ""),
                names=next((e for e in extras if isinstance(e, type) and issubclass(e, IntEnum)), None),
                unit=next((extra.name for extra in extras if isinstance(extra, Unit)), ""),
                position=position,
                own_size=OWN_SIZE in extras,
                shown=next((extra for extra in extras if isinstance(extra, Marker)), None),
                absent_if_empty=ABSENT_IF_EMPTY in extras,
                private=next((extra for extra in extras if isinstance(extra, Private | Public)), None),
            )
        )
    return tuple(found)


_stem = cache(snake_case)


@cache
def _schema(cls: type[WireStruct]) -> Node:
    return Node(cls)


class Node(WireConstruct):
    """A structure. ``context`` sets names of its ``CONTEXT`` (``remote_read=1``)."""

    def __init__(self, cls: type[WireStruct], **context: int) -> None:
        super().__init__()
        self.cls = cls
        self.context = context

    def accepts(self, value: Any) -> bool:
        """Whether a value is this structure."""
        return isinstance(value, self.cls)

    def scope(self, parent: Mapping[str, Any]) -> Scope:
        """The names its expressions start with: the parent scope and the context."""
        return {"_": parent, **self.cls.CONTEXT, **self.context}

    def generate(self, generator: Generator) -> Any:
        return generator.structure(self.cls, self.context)

    def _parse(self, stream: Any, context: Any, path: Any) -> WireStruct:
        scope = self.scope(context)
        values: dict[str, Any] = {}
        for field in fields(self.cls):
            try:
                value = field.subcon._parse(stream, scope, "")
            except DecodeError as error:
                raise self._within(error, field, values) from None
            except construct.StreamError:
                shortage = stream.shortage()
                shortage.partial = None
                raise self._within(shortage, field, values) from None
            scope[field.name] = known(value)
            if not field.position:
                values[field.name] = value
        return self.cls(**values)

    def _within(self, error: DecodeError, field: Field, values: dict[str, Any]) -> DecodeError:
        if error.partial and not field.position:
            values[field.name] = error.partial
        partial = dict.fromkeys(self.cls.__struct_fields__, msgspec.UNSET) | values
        separator = "" if error.path.startswith("[") or not error.path else "."
        name = field.name
        if field.position:
            # What was looked for is the field that follows.
            own = fields(self.cls)
            name = next((f.name for f in own[own.index(field) :] if not f.position), "")
        return DecodeError(
            error.code,
            error.message,
            path=f"{name}{separator}{error.path}" if name else error.path,
            offset=error.offset,
            spec=error.spec or self.cls.SPEC,
            partial=self.cls(**partial) if values else None,
        )

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        if not isinstance(obj, self.cls):
            raise EncodeError(f"a {type(obj).__name__} where a {self.cls.__name__} belongs")
        scope = self.scope(context)
        for name in self.cls.__struct_fields__:
            scope[name] = known(getattr(obj, name))
        for field in fields(self.cls):
            if field.position:
                scope[field.name] = field.subcon._build(None, stream, scope, "")
                continue
            stream.names.append(field.name)
            value = getattr(obj, field.name)
            start = stream.tell()
            try:
                if value is msgspec.UNSET:
                    raise EncodeError("this was not decoded, so it cannot be encoded")
                field.subcon._build(value, stream, scope, "")
            except EncodeError as error:
                raise named(error, field.name) from None
            except construct.ConstructError:
                raise EncodeError(misfit(value, field.subcon.sizeof()), path=field.name) from None
            stream.wrote(start)
            stream.names.pop()
        return obj

    def _sizeof(self, context: Any, path: Any) -> int:
        return sum(field.subcon.sizeof() for field in fields(self.cls) if not field.position)
