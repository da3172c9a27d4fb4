"""JSON Schemas of what the rows of calls and SRMP hold: fields, parameters of every method, elements.

The rule kept here: a member that was not reached is left out, and what a pointer points at is reached last;
so no member is required, and no other member is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from docs.generators.structures import documentation
from msmq_wire.records.composed import COMPOSED
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES, RECEIVE_CURRENT
from msmq_wire.rpc.events import SkippedBytes
from msmq_wire.rpc.interfaces import INTERFACES, Interface, Method
from msmq_wire.rpc.ndr import Conformant, ConformantVarying, Fields, Union, members
from msmq_wire.rpc.ndr.arrays import Array
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.scalars import Number, Octets16
from msmq_wire.rpc.ndr.syntax import NDR, NDR64
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.rpc.types.section_array import SectionArray
from msmq_wire.spec import snake_case
from msmq_wire.srmp.http.message import HoleReason
from msmq_wire.srmp.xml.element_tree import Element
from msmq_wire.srmp.xml.fields import IsoDate, XmlStruct, xml_fields
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.registry import STRUCTURES
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["GAP_REASONS", "composed_definitions"]

Json = dict[str, Any]

GAP_REASONS: tuple[str, ...] = (*get_args(get_type_hints(SkippedBytes)["reason"]), *get_args(HoleReason))
"""Why bytes between PDUs, or between HTTP messages, are missing or skipped."""

_NULL: Json = {"type": "null"}
_STRING: Json = {"type": "string"}
_RAW: Json = {"description": "All bytes, where the text does not show them all.", "$ref": "#/$defs/base64"}
_NULL_POINTEE: Json = {
    "description": "A pointer to a NULL pointer.",
    "type": "object",
    "properties": {"pointee": _NULL},
    "required": ["pointee"],
    "additionalProperties": False,
}


def _ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _any(*schemas: Json) -> Json:
    distinct = [one for place, one in enumerate(schemas) if one not in schemas[:place]]
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def composed_definitions() -> Json:
    """The definitions by name: the types of rows, the structures in them, and the parameters of methods."""
    definitions: Json = {}
    for stem, cls in COMPOSED.items():
        _plain(stem, cls, definitions)
    definitions["rpc_call"]["allOf"] = _rules(INTERFACES.values(), definitions)
    definitions["com_call"]["allOf"] = [_object_rule(definitions)]
    return definitions


def _rules(interfaces: Iterable[Interface], definitions: Json) -> list[Json]:
    """What the parameters of each method are."""
    rules: list[Json] = []
    for interface in interfaces:
        for method in interface.all_methods:
            called = {"interface": {"const": interface.name}, "method": {"const": method.name}}
            rules.append({"if": {"properties": called}, "then": _sides(method, definitions)})
    return rules


def _object_rule(definitions: Json) -> Json:
    """What the parameters of calls on objects are: those of one method are opened."""
    queue = next(iter(COM_INTERFACES.values()))
    names = [interface.name for interface in COM_INTERFACES.values()]
    other = next(method for opnum, method in queue.methods.items() if opnum != RECEIVE_CURRENT)
    return {
        "if": {"properties": {"interface": {"enum": names}, "opnum": {"const": RECEIVE_CURRENT}}},
        "then": _sides(queue.methods[RECEIVE_CURRENT], definitions),
        "else": _sides(other, definitions),
    }


def _sides(method: Method, definitions: Json) -> Json:
    sides = {
        "request": _any(_structure(method.request.cls, definitions), _NULL),
        "response": _any(_structure(method.response.cls, definitions), _NULL),
    }
    return {"properties": sides}


def _plain(name: str, cls: type[msgspec.Struct], definitions: Json) -> Json:
    """Define a value that is no structure of the wire: all its fields are there."""
    if name not in definitions:
        definitions[name] = {}
        properties: Json = {}
        optional: list[str] = []
        hints = get_type_hints(cls)
        for field in cls.__struct_fields__:
            if cls is Element and field in ("offset", "length"):
                continue
            hint = hints[field]
            properties[field] = _hinted(hint, definitions)
            if WcharText in (hint, *get_args(hint)):
                properties[f"{field}_raw"] = _RAW
                optional.append(f"{field}_raw")
        definitions[name] = {
            "description": documentation(cls),
            "type": "object",
            "properties": properties,
            "required": [field for field in properties if field not in optional],
            "additionalProperties": False,
        }
    return _ref(name)


def _hinted(hint: Any, definitions: Json) -> Json:
    if hint is Any:
        return {"type": ["object", "null"]}
    if get_origin(hint) is UnionType:
        return _any(*(_hinted(one, definitions) for one in get_args(hint)))
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _hinted(get_args(hint)[0], definitions)}
    if hint is NoneType:
        return _NULL
    if issubclass(hint, WireStruct):
        return _structure(hint, definitions)
    if issubclass(hint, XmlStruct):
        return _element(hint, definitions)
    if hint is IsoDate:
        return _STRING
    if issubclass(hint, msgspec.Struct):
        return _plain(f"part_{snake_case(hint.__name__)}", hint, definitions)
    if issubclass(hint, GUID):
        return _ref("guid_text")
    if issubclass(hint, WcharText | str):
        return _STRING
    if issubclass(hint, bytes):
        return _ref("base64")
    return {"type": "boolean"} if hint is bool else {"type": "integer"}


def _element(cls: type[XmlStruct], definitions: Json) -> Json:
    """Define an element of an envelope: its fields, and what no field names where there is some."""
    name = f"srmp_{cls.stem()}"
    if name not in definitions:
        definitions[name] = {}
        hints = get_type_hints(cls)
        properties: Json = {}
        for field, declared in xml_fields(cls).items():
            described = {"description": declared.doc} if declared.doc else {}
            properties[field.rstrip("_")] = described | _hinted(hints[field], definitions)
        required = list(properties)
        properties |= {"mixed_text": _STRING, "written_as": _STRING}
        properties["order"] = {"type": "array", "items": _STRING}
        for field in ("other_elements", "other_attributes"):
            properties[field] = _hinted(hints[field], definitions)
        definitions[name] = {
            "description": f"{documentation(cls)} {cls.SPEC}",
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
    return _ref(name)


def _structure(cls: type[WireStruct], definitions: Json) -> Json:
    """Define a structure of the IDL, or a parameter list. Raises ValueError for two of one name."""
    if STRUCTURES.get(cls.stem()) is cls:
        return _ref(cls.stem())
    name = f"call_{cls.stem()}"
    about = f"{documentation(cls)} {cls.SPEC}"
    if name not in definitions:
        definitions[name] = {"description": about}
        properties = _members(cls, {one.name: one.type for one in members(cls)}, definitions)
        if cls is QueueFormat:
            properties["format_name"] = {"description": "The name as text.", "type": ["string", "null"]}
        definitions[name] |= {"type": "object", "properties": properties, "additionalProperties": False}
    elif definitions[name]["description"] != about:
        raise ValueError(f"two structures are called {name}")
    return _ref(name)


def _members(cls: type[WireStruct], types: dict[str, Any], definitions: Json) -> Json:
    docs = {member.name: member.doc for member in members(cls)}
    properties: Json = {}
    for name, type_ in types.items():
        if isinstance(type_, Union):
            for arm in type_.arms.values():
                if arm.type is not None:
                    properties |= _member(arm.name, arm.type, docs[name], definitions)
        else:
            properties |= _member(name, type_, docs[name], definitions)
    return properties


def _member(name: str, type_: Any, doc: str, definitions: Json) -> Json:
    found = {name: {"description": doc} | _type(type_, definitions)}
    target = type_
    while isinstance(target, Pointer):
        target = target.target
    if isinstance(target, Array) and target.kind is WcharText:
        found[f"{name}_raw"] = _RAW
    return found


def _type(type_: Any, definitions: Json) -> Json:
    match type_:
        case Number():
            return _integer(type_)
        case Octets16():
            return _ref("guid_text")
        case SectionArray():
            return _any({"type": "array", "items": _ref("section_buffer")}, _NULL)
        case Fields():
            return _fields(type_, definitions)
        case Pointer():
            return _pointer(type_, definitions)
        case Conformant() | ConformantVarying():
            if type_.kind is not None:
                return _STRING if type_.kind is WcharText else _ref("base64")
            return {"type": "array", "items": _type(type_.element, definitions)}
    raise TypeError(f"no schema for {type_!r}")


def _pointer(type_: Pointer, definitions: Json) -> Json:
    target = type_.target
    if isinstance(target, Pointer):
        return _any(_type(target.target, definitions), _NULL, _NULL_POINTEE)
    return _any(_type(target, definitions), _NULL)


def _fields(type_: Fields, definitions: Json) -> Json:
    declared = {member.name: member.type for member in members(type_.cls)}
    own = dict(zip(type_.names, type_.types, strict=True))
    if STRUCTURES.get(type_.cls.stem()) is type_.cls or own == declared:
        return _structure(type_.cls, definitions)
    properties = _members(type_.cls, own, definitions)
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _integer(number: Number) -> Json:
    bits = 8 * max(number.size(syntax) for syntax in (NDR, NDR64))
    if number.letter(NDR).islower():
        return {"type": "integer", "minimum": -(1 << bits - 1), "maximum": (1 << bits - 1) - 1}
    return {"type": "integer", "minimum": 0, "maximum": (1 << bits) - 1}
