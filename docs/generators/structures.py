"""The pages of structures: field tables, bits and MUSTs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from docs.generators.markers import code, table
from docs.generators.wording import bit_of, bounds, condition, inner_classes, redacted_with, type_text
from msmq_wire.wire.fields import (
    Ahead,
    Choice,
    Field,
    Limit,
    Opt,
    Tell,
    Value,
    WireStruct,
    fields,
)
from msmq_wire.wire.musts import BitTable, Must
from msmq_wire.wire.registry import HEADERS, PACKETS, STRUCTURES, TYPES

__all__ = ["documentation", "index", "navigation", "pages", "structures_of"]

_GROUPS = (("Packets", PACKETS), ("Headers and bodies", HEADERS), ("Types", TYPES))
_UNITS = {"unix-time": "seconds since 1970-01-01 UTC"}


def pages() -> dict[str, tuple[str, str]]:
    """Title and generated block of every structure, by stem."""
    return {stem: (cls.__name__, _page(cls)) for stem, cls in STRUCTURES.items()}


def index() -> str:
    """Links to every page with the first line of what it says."""
    parts = []
    for title, group in _GROUPS:
        rows = [
            (f"[{cls.__name__}]({stem}.md)", code(stem), documentation(cls).split("\n\n")[0], cls.SPEC)
            for stem, cls in group.items()
        ]
        parts.append(f"## {title}\n\n" + table(("Structure", "Stem", "What it is", "Section"), rows))
    return "\n\n".join(parts)


def navigation() -> str:
    """The pages as the menu has them, in YAML."""
    lines = ["- Structures:", "    - structures/index.md"]
    for title, group in _GROUPS:
        lines += [f"    - {title}:", *(f"        - structures/{stem}.md" for stem in group)]
    return "\n".join(f"  {line}" for line in lines)


def structures_of(cls: Any) -> list[type[WireStruct]]:
    """The structure itself and those that only it contains; none for a scalar type."""
    return [cls, *inner_classes(cls)] if issubclass(cls, WireStruct) else []


def documentation(cls: Any) -> str:
    """The docstring as Markdown."""
    text = inspect.cleandoc(cls.__doc__ or "").replace("``", "`")
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _page(cls: Any) -> str:
    parts = [documentation(cls), f"Stem {code(cls.stem())}, specification {cls.SPEC}."]
    structures = structures_of(cls)
    for structure in structures:
        if structure is not cls:
            parts.append(f"## {structure.__name__} {{ #{structure.stem()} }}")
            parts.append(f"{documentation(structure)} Specification {structure.SPEC}.")
        parts += _sections(structure, "##" if structure is cls else "###")
    if not structures:
        parts.append("A scalar: the value is its bytes.")
    return "\n\n".join(parts)


def _sections(cls: type[WireStruct], heading: str) -> Iterator[str]:
    yield f"{heading} Fields"
    yield table(("Offset", "Field", "On the wire", "Present if", "Goes with", "Meaning"), _rows(cls))
    positions = [_position(field, cls) for field in fields(cls) if field.position]
    if positions:
        yield "Positions and bounds, which take no bytes:"
        yield "\n".join(f"* {line}" for line in positions)
    for total in getattr(cls, "TOTALS", ()):
        parts = " + ".join(map(code, total.of))
        other = f", or of {' + '.join(map(code, total.or_of))}" if total.or_of else ""
        yield f"{code(total.at)} is the size of {parts}{other}."
    for name, (at, inner) in getattr(cls, "INSIDE", {}).items():
        yield f"{code(at)} is shown a second time as {code(name)}: [{inner.__name__}]({inner.stem()}.md)."
    if cls.BITS is not None:
        yield f"{heading} Bits of {cls.BITS.field}"
        yield _bits(cls.BITS, cls)
    if cls.MUSTS:
        yield f"{heading} Conditions"
        head = ("Code", "Condition", "Where", "Says", "Section")
        yield table(head, [_must(must, cls) for must in cls.MUSTS])


def _rows(cls: type[WireStruct]) -> Iterator[tuple[str, ...]]:
    offset: int | None = 0
    for field in fields(cls):
        if field.position:
            continue
        presence = ""
        if isinstance(field.subcon, Opt):
            presence = code(condition(field.subcon.condition, cls))
        where = "" if offset is None else str(offset)
        wire = type_text(field.subcon, cls)
        if field.unit:
            wire = f"{wire}, {_UNITS.get(field.unit, field.unit)}"
        goes = redacted_with(cls, field.name)
        yield where, code(field.name), wire, presence, goes, _meaning(field, cls)
        size = bounds(field.subcon)
        offset = None if offset is None or size is None else offset + size


def _meaning(field: Field, cls: type[WireStruct]) -> str:
    parts = [field.doc]
    if field.names is not None:
        parts.append(_enumeration(field.names))
    if cls.BITS is not None and cls.BITS.field == field.name:
        parts.append("Bits below.")
    if field.own_size:
        parts.append("The size of this structure.")
    if isinstance(field.subcon, Choice):
        bit = bit_of(field.subcon.selector, cls)
        if bit is not None and bit.names is not None:
            parts.append(_enumeration(bit.names))
    return " ".join(parts)


def _enumeration(names: Any) -> str:
    return f"[{names.__name__}](../enumerations.md#{names.__name__.lower()})"


def _position(field: Field, cls: type[WireStruct]) -> str:
    name, subcon = code(field.name), field.subcon
    match subcon:
        case Tell():
            return f"{name}: the packet offset {_place(field, cls)}."
        case Ahead():
            what = code(subcon.field) if subcon.field else f"the u{8 * subcon.subcon.sizeof()}"
            there = f"{subcon.at} bytes ahead" if subcon.at else "that comes next"
            return f"{name}, {_place(field, cls)}: a look at {what} {there}; -1 at the end of the bytes."
        case Value():
            what = code(condition(subcon.expression, cls))
            while_building = (
                f"; while building, whether there is no {code(subcon.without)}" if subcon.without else ""
            )
            return f"{name}, {_place(field, cls)}: {what}, 0 where that cannot be known{while_building}."
        case Limit():
            if subcon.end is None:
                return f"{name}, {_place(field, cls)}: the bound is lifted."
            unless = "" if subcon.unless is False else f" unless {code(condition(subcon.unless, cls))}"
            end = code(condition(subcon.end, cls))
            return f"{name}, {_place(field, cls)}: nothing is read past packet offset {end}{unless}."
    raise TypeError(f"no words for {subcon!r}")


def _place(field: Field, cls: type[WireStruct]) -> str:
    before = ""
    for other in fields(cls):
        if other is field:
            break
        if not other.position:
            before = other.name
    return f"behind {code(before)}" if before else "at the start"


def _bits(bits: BitTable, cls: type[WireStruct]) -> str:
    subcon = next(field.subcon for field in fields(cls) if field.name == bits.field)
    digits = 2 * (bounds(subcon) or 4)
    rows = []
    for bit in bits.bits.values():
        last = bit.shift + bit.width - 1
        place = str(bit.shift) if bit.width == 1 else f"{bit.shift}-{last}"
        meaning = "reserved" if bit.reserved else bit.doc
        if bit.names is not None:
            meaning += f": {_enumeration(bit.names)}"
            if len(bit.names) <= 4:
                meaning += f" ({', '.join(f'{int(member)} {member.name}' for member in bit.names)})"
        rows.append((place, code(f"0x{bit.mask:0{digits}X}"), code(bit.name), meaning))
    return table(("Bits", "Mask", "Name", "Meaning"), rows)


def _must(must: Any, cls: type[WireStruct]) -> tuple[str, ...]:
    holds = code(condition(must.expression, cls)) if isinstance(must, Must) else "(a function)"
    return code(f"{cls.stem()}.{must.code}"), holds, code(must.at), must.message, str(must.spec or cls.SPEC)
