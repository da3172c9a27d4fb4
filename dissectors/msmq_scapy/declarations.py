# SPDX-License-Identifier: GPL-2.0-or-later
"""What the declarations of msmq_wire say as a whole: which structures there are, and which fields follow
from others.

The rule kept here: no structure and no field is named; everything is found by walking the registry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msmq_wire.engines.codec import inspect
from msmq_wire.wire.expressions import Expression, announcing, bit_target, length_target, ordering
from msmq_wire.wire.fields import (
    Bytes,
    Choice,
    Field,
    Fill,
    Items,
    Node,
    Opt,
    Rest,
    Value,
    WireStruct,
    fields,
)
from msmq_wire.wire.registry import PACKETS, STRUCTURES

__all__ = [
    "PREFIX",
    "class_name",
    "inner_nodes",
    "layout_bits",
    "recognised",
    "structures",
    "totals_and_sizes",
]

PREFIX = "MSMQ"
"""What the names of scapy classes begin with."""

_Structure = type[WireStruct]
_Place = tuple[_Structure, str]


def class_name(cls: _Structure) -> str:
    """The name of the scapy class of a structure."""
    return f"{PREFIX}{cls.__name__}"


def inner_nodes(subcon: Any) -> Iterator[Node]:
    """The structures that a field can hold."""
    if isinstance(subcon, Node):
        yield subcon
    elif isinstance(subcon, Opt | Items):
        yield from inner_nodes(subcon.subcon)
    elif isinstance(subcon, Choice):
        for case in subcon.cases.values():
            yield from inner_nodes(case)


@cache
def structures() -> Mapping[str, _Structure]:
    """Every structure with fields by the name of its scapy class: the registry's, and those inside them."""
    found: dict[str, _Structure] = {}

    def add(cls: Any) -> None:
        if not (isinstance(cls, type) and issubclass(cls, WireStruct)) or class_name(cls) in found:
            return
        found[class_name(cls)] = cls
        for field in fields(cls):
            for node in inner_nodes(field.subcon):
                add(node.cls)

    for cls in STRUCTURES.values():
        add(cls)
        for base in cls.__mro__:
            # The packet of a type that is not known has a class, but no stem of its own in the registry.
            if base.__module__.endswith(".base") and issubclass(base, WireStruct) and fields(base):
                add(base)
    return found


def recognised(data: bytes) -> _Structure | None:
    """The structure that some bytes are a packet of; None when they are none."""
    result = inspect(data)
    if result.type is not None:
        return PACKETS[result.type]
    return type(result.packet) if isinstance(result.packet, WireStruct) else None


def _walk() -> Iterator[tuple[tuple[_Structure, ...], Field]]:
    """Every field with the structures it is in, the innermost last."""

    def inside(chain: tuple[_Structure, ...]) -> Iterator[tuple[tuple[_Structure, ...], Field]]:
        for field in fields(chain[-1]):
            yield chain, field
            for node in inner_nodes(field.subcon):
                yield from inside((*chain, node.cls))

    for cls in structures().values():
        yield from inside((cls,))


def _resolve(chain: tuple[_Structure, ...], path: tuple[str, ...]) -> _Place | None:
    """The structure and the field that the path of an expression leads to, from the innermost of a chain."""
    names = list(path)
    while names and names[0] == "_":
        names.pop(0)
        chain = chain[:-1]
    if not chain or not names:
        return None
    cls = chain[-1]
    for name in names[:-1]:
        nodes = [
            node.cls for field in fields(cls) if field.name == name for node in inner_nodes(field.subcon)
        ]
        if not nodes:
            return None
        cls = nodes[0]
    return (cls, names[-1]) if names[-1] in cls.__struct_fields__ else None


def _lengths(subcon: Any) -> Iterator[Expression]:
    if isinstance(subcon, Items):
        yield subcon.count
    elif isinstance(subcon, Bytes) and not isinstance(subcon, Fill | Rest):
        yield subcon.length
    elif isinstance(subcon, Opt):
        yield from _lengths(subcon.subcon)


@cache
def totals_and_sizes() -> frozenset[_Place]:
    """The numbers that follow from what else is in a packet: sizes, counts, totals, least values."""
    found: set[_Place | None] = set()
    for chain, field in _walk():
        cls = chain[-1]
        if field.own_size:
            found.add((cls, field.name))
        for expression in _lengths(field.subcon):
            target = length_target(expression)
            if target is None:
                continue
            source = next((one.subcon for one in fields(cls) if one.name == target.path[0]), None)
            if isinstance(source, Value):
                found.update((cls, name) for name in source.of)
            else:
                found.add(_resolve(chain, target.path))
    for cls in structures().values():
        for total in getattr(cls, "TOTALS", ()):
            found.add(_resolve((cls,), tuple(total.at.split("."))))
        for must in cls.MUSTS:
            bound = ordering(must.expression) if hasattr(must, "expression") else None
            if bound is not None and bound[0].__name__ == "ge":
                found.add((cls, bound[1]))
    return frozenset(place for place in found if place is not None)


@cache
def layout_bits() -> Mapping[_Place, int]:
    """The bits of words that say which parts a structure has."""
    found: dict[_Place, int] = {}
    for chain, field in _walk():
        if not isinstance(field.subcon, Opt | Choice):
            continue
        if isinstance(field.subcon, Opt):
            target = announcing(field.subcon.condition)
        else:
            target = bit_target(field.subcon.selector)
        place = None if target is None else _resolve(chain, target.path)
        table = None if place is None else place[0].BITS
        if target is not None and place is not None and table is not None and table.field == place[1]:
            found[place] = found.get(place, 0) | target.mask << target.shift
    return found
