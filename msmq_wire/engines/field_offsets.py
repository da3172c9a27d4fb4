"""Offsets of the fields of a whole value, computed from the sizes of its parts.

The rule kept here: the same places as `reference.layout`, for values that are whole, without missing ranges.
Nothing is written to find them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache
from typing import Any, TypeAlias, get_args

import construct

from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.stream import Span

_Parts: TypeAlias = tuple[int, tuple[tuple[str, int], ...]]
"""Bytes of the parts whose size never differs, and the names of the others, with the size of a number."""


def span(value: Any, path: str) -> tuple[int, int]:
    """Offset and length in bytes of a field, by a path without elements of lists."""
    offset = fixed = 0
    for name in path.split("."):
        if name in getattr(value, "INSIDE", ()):
            offset, _ = span(value, value.INSIDE[name][0])
        else:
            before, fixed = _parts(value.__class__, name)
            offset += _sum(value, before)
        value = getattr(value, name)
    return offset, _size(value, fixed)


def size(value: Any) -> int:
    """Bytes of a structure, or of a value that is bytes; 0 of what is absent."""
    return _size(value, 0)


def spans(value: WireStruct, wanted: Container[str] | None = None) -> Mapping[str, Span]:
    """Fields by path, those that are absent with no bytes; elements of lists as ``list[0]``.

    ``wanted`` are the paths to return, all by default.
    """
    found: dict[str, Span] = {}
    _lay_out(value, "", 0, wanted, found)
    for name, (at, _) in getattr(value, "INSIDE", {}).items():
        inner = getattr(value, name)
        if inner is not None:
            offset, length = span(value, at)
            if wanted is None or name in wanted:
                found[name] = Span(offset, length)
            _lay_out(inner, f"{name}.", offset, wanted, found)
    return found


def _lay_out(
    value: WireStruct, prefix: str, offset: int, wanted: Container[str] | None, found: dict[str, Span]
) -> int:
    for name, fixed in _sizes(value.__class__):
        part = getattr(value, name)
        start, path = offset, f"{prefix}{name}"
        if isinstance(part, WireStruct):
            offset = _lay_out(part, f"{path}.", start, wanted, found)
        elif isinstance(part, tuple):
            for number, item in enumerate(part):
                before, place = offset, f"{path}[{number}]"
                if isinstance(item, WireStruct):
                    offset = _lay_out(item, f"{place}.", before, wanted, found)
                else:
                    offset += fixed
                if wanted is None or place in wanted:
                    found[place] = Span(before, offset - before)
        else:
            offset += _size(part, fixed)
        if wanted is None or path in wanted:
            found[path] = Span(start, offset - start)
    return offset


def _size(value: Any, fixed: int) -> int:
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, WireStruct):
        return _sum(value, _parts(value.__class__)[0])
    if isinstance(value, tuple):
        return sum(_size(item, fixed) for item in value)
    return 0 if value is None else fixed


def _sum(value: WireStruct, parts: _Parts) -> int:
    total, differing = parts
    for name, fixed in differing:
        total += _size(getattr(value, name), fixed)
    return total


@cache
def _parts(cls: type[WireStruct], until: str = "") -> tuple[_Parts, int]:
    """The parts before a field, by default all, and the size that a number in that field has."""
    total, fixed = 0, 0
    differing: list[tuple[str, int]] = []
    for field in fields(cls):
        if field.position:
            continue
        fixed = number_size(field)
        if field.name == until:
            break
        constant = 0 if field.optional else _constant(field.subcon)
        total += constant
        if not constant:
            differing.append((field.name, fixed))
    return (total, tuple(differing)), fixed


@cache
def _sizes(cls: type[WireStruct]) -> tuple[tuple[str, int], ...]:
    """The fields of a structure with the size that a number of theirs has."""
    return tuple((field.name, number_size(field)) for field in fields(cls) if not field.position)


@cache
def constant_size(cls: type[WireStruct]) -> int:
    """The size that every value of a structure has, 0 when they differ."""
    return _constant(cls.schema())


def _constant(subcon: Any) -> int:
    try:
        return int(subcon.sizeof())
    except construct.SizeofError:
        return 0


def number_size(field: Field) -> int:
    """Bytes of a field that is a number, 0 of another."""
    subcon = getattr(field.subcon, "subcon", field.subcon)
    return int(subcon.sizeof()) if int in (field.value_type, *get_args(field.value_type)) else 0
