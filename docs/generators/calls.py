"""The interfaces of calls: methods with the parameters of both directions, and the structures in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docs.generators.markers import code, table
from docs.generators.structures import documentation
from docs.generators.wording import condition, redacted_with
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES
from msmq_wire.rpc.interfaces import INTERFACES, NAMED_ONLY, Interface, Method
from msmq_wire.rpc.ndr import (
    ENUM,
    UUID,
    WCHAR,
    XACTUOW,
    Conformant,
    ConformantVarying,
    Fields,
    Full,
    Ranged,
    String,
    Union,
    members,
)
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.scalars import Number
from msmq_wire.rpc.ndr.syntax import NDR
from msmq_wire.rpc.types.section_array import SectionArray
from msmq_wire.spec import snake_case
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.registry import STRUCTURES

__all__ = ["interfaces_block", "methods_block", "structures_block", "structures_of_calls"]

_INTEGERS = {"B": "u8", "b": "i8", "H": "u16", "h": "i16", "I": "u32", "i": "i32", "Q": "u64", "q": "i64"}


def interfaces_block() -> str:
    """A table of the interfaces, with those that are named only."""
    rows = [
        (
            f"[{interface.name}](rpc-methods.md#{interface.name.lower()})",
            code(uuid),
            interface.spec,
            len(interface.all_methods),
        )
        for uuid, interface in INTERFACES.items()
    ]
    objects = [
        (f"[{interface.name}](com.md)", code(uuid), interface.spec, "one opened, others named")
        for uuid, interface in COM_INTERFACES.items()
    ]
    others = [
        (name, code(uuid), "", "named only")
        for uuid, name in NAMED_ONLY.items()
        if uuid not in COM_INTERFACES
    ]
    return table(("Interface", "UUID", "Section", "Methods"), [*rows, *objects, *others])


def methods_block() -> str:
    """Every interface with all its methods."""
    return "\n\n".join(part for interface in INTERFACES.values() for part in _interface(interface))


def structures_block() -> str:
    """Every structure that a parameter holds, with its members."""
    parts = []
    for cls in structures_of_calls():
        parts.append(f"### {cls.__name__} {{ #{cls.stem()} }}")
        parts.append(f"{documentation(cls)} Specification {cls.SPEC}.")
        parts.append(table(("Member", "Type", "Goes with", "Meaning"), _rows(cls)))
        if cls.MUSTS:
            head = ("Code", "Says", "Section")
            musts = [
                (code(f"{cls.stem()}.{must.code}"), must.message, must.spec or cls.SPEC) for must in cls.MUSTS
            ]
            parts.append(table(head, musts))
    return "\n\n".join(parts)


def structures_of_calls() -> list[type[WireStruct]]:
    """The structures of the IDL in parameters, outer ones first; those with a page of their own left out."""
    found: list[type[WireStruct]] = []
    for interface in INTERFACES.values():
        for method in interface.all_methods:
            for parameters in (method.request, method.response):
                for member in members(parameters.cls):
                    _collect(member.type, found)
    return found


def _collect(type_: Any, found: list[type[WireStruct]]) -> None:
    match type_:
        case Fields(cls=cls):
            if STRUCTURES.get(cls.stem()) is not cls and cls not in found:
                found.append(cls)
                for member in members(cls):
                    _collect(member.type, found)
        case Pointer(target=inner) | Conformant(element=inner) | ConformantVarying(element=inner):
            _collect(inner, found)
        case Union(arms=arms):
            for arm in arms.values():
                _collect(arm.type, found)


def _interface(interface: Interface) -> Iterator[str]:
    yield f"## {interface.name} {{ #{interface.name.lower()} }}"
    yield f"{code(interface.uuid)}, version 1.0, {interface.spec}."
    for method in interface.all_methods:
        called = (
            ""
            if method.opnum in interface.methods and interface.methods[method.opnum] is method
            else "callback "
        )
        yield f"### {called}{method.opnum} {method.name} {{ #{_anchor(interface, method)} }}"
        yield f"{method.spec}. {documentation(method.request.cls)}"
        yield _parameters(method)


def _anchor(interface: Interface, method: Method) -> str:
    return f"{interface.name.lower()}-{snake_case(method.name)}"


def _parameters(method: Method) -> str:
    rows = []
    for side, parameters in (("in", method.request), ("out", method.response)):
        shown = list(_rows(parameters.cls))
        rows += [(side, *row) for row in shown] or [(side, "(nothing)", "", "", "")]
    return table(("", "Parameter", "Type", "Goes with", "Meaning"), rows)


def _rows(cls: type[WireStruct]) -> Iterator[tuple[str, str, str, str]]:
    for member in members(cls):
        meaning = member.doc
        if member.names is not None:
            name = member.names.__name__
            meaning += f" [{name}](enumerations.md#{name.lower()})"
        yield code(member.name), _type(member.type, cls), redacted_with(cls, member.name), meaning


def _type(type_: Any, cls: type[WireStruct]) -> str:
    """How a member lies on the wire, as Markdown."""
    if type_ is ENUM:
        return "enumeration, u16 (u32 in NDR64)"
    if type_ is UUID or type_ is XACTUOW:
        return "GUID" if type_ is UUID else "16 bytes"
    match type_:
        case Ranged(first=first, last=last):
            return f"{_INTEGERS[type_.letter(NDR)]}, {first} to {last}"
        case Number():
            return "UTF-16 unit" if type_ is WCHAR else _INTEGERS[type_.letter(NDR)]
        case SectionArray():
            count = code(condition(type_.count, cls))
            return f"pointer to {count} times [SectionBuffer](structures/section_buffer.md)"
        case Fields(cls=inner):
            return _link(inner)
        case Pointer(target=target):
            return f"{'full pointer' if isinstance(type_, Full) else 'pointer'} to {_type(target, cls)}"
        case String():
            return "string"
        case Conformant() | ConformantVarying():
            return _array(type_, cls)
        case Union():
            return _union(type_, cls)
    raise TypeError(f"no words for {type_!r}")


def _array(type_: Any, cls: type[WireStruct]) -> str:
    size = code(condition(type_.size, cls)) if type_.size is not None else "any number"
    what = f"{size} times {_type(type_.element, cls)}"
    return f"{what}, varying" if isinstance(type_, ConformantVarying) else what


def _union(type_: Union, cls: type[WireStruct]) -> str:
    lines = [f"by {code(condition(type_.selector, cls))}:"]
    for selected, arm in type_.arms.items():
        what = "nothing" if arm.type is None else f"{code(arm.name)}, {_type(arm.type, cls)}"
        lines.append(f"{int(selected)}: {what}")
    return "<br>".join(lines)


def _link(cls: type[WireStruct]) -> str:
    if STRUCTURES.get(cls.stem()) is cls:
        return f"[{cls.__name__}](structures/{cls.stem()}.md)"
    return f"[{cls.__name__}](#{cls.stem()})"
