"""The fields of a value that hold no further fields: where they lie, and what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from msmq_wire.engines import reference
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.musts import Bit
from msmq_wire.wire.stream import Span


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """A field: its path and place, its value, and the bits by which it is named, if it is."""

    path: str
    span: Span
    value: int | bytes
    names: tuple[int, ...] = ()
    bits: dict[str, Bit] = {}


def leaves(value: WireStruct) -> list[Leaf]:
    """The fields that hold numbers or bytes, in the order of the wire."""
    spans = reference.layout(value)
    return [
        Leaf(path=path, span=spans[path], value=held, names=names, bits=bits)
        for path, held, names, bits in _walk(value, "")
        if path in spans and isinstance(held, int | bytes)
    ]


def absent_parts(value: WireStruct) -> list[str]:
    """The paths of optional parts that are not there."""
    return [path for path, held, _, _ in _walk(value, "") if held is None]


def named_bits(leaf: Leaf) -> dict[str, int]:
    """The named bits of a field that are not 0, by path."""
    if not isinstance(leaf.value, int):
        return {}
    prefix = leaf.path.rpartition(".")[0]
    found = {name: (leaf.value & bit.mask) >> bit.shift for name, bit in leaf.bits.items()}
    return {f"{prefix}.{name}" if prefix else name: held for name, held in found.items() if held}


def _walk(value: WireStruct, path: str) -> Iterator[tuple[str, Any, tuple[int, ...], dict[str, Bit]]]:
    for field in fields(type(value)):
        if field.position:
            continue
        inner = f"{path}.{field.name}" if path else field.name
        held = getattr(value, field.name)
        names = () if field.names is None else tuple(int(one) for one in field.names)
        table = type(value).BITS
        bits = dict(table.bits) if table is not None and table.field == field.name else {}
        if isinstance(held, tuple):
            for index, one in enumerate(held):
                if isinstance(one, WireStruct):
                    yield from _walk(one, f"{inner}[{index}]")
                else:
                    yield f"{inner}[{index}]", one, names, bits
        elif isinstance(held, WireStruct):
            yield from _walk(held, inner)
        else:
            yield inner, held, names, bits
