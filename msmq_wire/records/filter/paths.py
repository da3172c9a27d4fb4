"""The paths of JSON views, each with what the declaration of its field says of it.

The rule kept here: one walk. Of a structure the parts are asked of its declaration, be it one of the wire, of
a call, of an XML document or of a record; what is below a part is the next structure.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from enum import IntEnum, IntFlag
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from msmq_wire.records.com_packets import ComCall
from msmq_wire.records.filter.field import FOLDED, NUMBER, TEXT, WORDS, FilterField, numbers_of
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.rpc_packets import RpcBind, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import NdrStruct, members
from msmq_wire.rpc.ndr import Union as NdrUnion
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.structures import Fields
from msmq_wire.rpc.pdu_protection import AuthenticationLevel, AuthenticationType
from msmq_wire.rpc.rpc_statuses import NCA_STATUSES, WIN32_ERRORS
from msmq_wire.rpc.statuses import MQ_HRESULTS, SYSTEM_STATUSES
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.srmp.xml.element_tree import Element
from msmq_wire.srmp.xml.fields import IsoDate, XmlStruct, xml_fields
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.musts import BitTable
from msmq_wire.wire.registry import PACKETS
from msmq_wire.wire.shown import ShownName, ShownQueue, ShownText
from msmq_wire.wire.types.enumerations import HashAlgorithm, QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_DEEPEST = 7
_NOT_KEPT = ("offset", "length")
"""Where an element was, which those that no field names do not say."""

PREFIXES: Mapping[str, tuple[str, ...]] = {
    "ping": ("ping",),
    "topology_client_request": ("topology_client_request",),
    "topology_server_reply": ("topology_server_reply",),
    "transfer_buffer": ("transfer_buffer",),
    "srmp": ("srmp_message", "srmp_receipt"),
    "rpc_bind": ("rpc_bind",),
    "rpc_fault": ("rpc_fault",),
    "com_call": ("com_call",),
}
"""What may stand before a path, as in the columns of tables, and the types of records that it means."""


class _Part(msgspec.Struct, frozen=True):
    """A member of a structure: what it is, and what is below, parts or the structures that have them."""

    name: str
    place: FilterField
    parts: tuple[_Part, ...] = ()
    inside: tuple[Any, ...] = ()


@cache
def paths() -> Mapping[str, FilterField]:
    """Every path, without indexes; one place for all that have the path."""
    found: dict[str, FilterField] = {}
    for cls in (RpcBind, ComCall, RpcCall, RpcFault, TransferBuffer):
        found |= dict(_walk(_parts_of(cls), "")) | found
    for interface in (*INTERFACES.values(), *COM_INTERFACES.values()):
        for method in interface.all_methods:
            for side in ("request", "response"):
                for path, place in _walk(_parts_of(getattr(method, side).cls), f"{side}."):
                    found[path] = _both(found.get(path, place), place)
    found |= dict(_walk(_parts_of(SrmpMessage), "")) | found
    for packet in PACKETS.values():
        found |= _walk(_parts_of(packet), "")
    return found | {path: FilterField("number", numbers_of(names)) for path, names in _named().items()}


def call_places() -> Mapping[str, FilterField]:
    """What the record of a call has, by name; nothing below it is looked at."""
    return {part.name: part.place for part in _attributes(RpcCall)}


def _named() -> Mapping[str, type[IntEnum]]:
    """The numbers with names in what is no structure of the wire."""
    of_messages = {
        where: one.names
        for one in COLUMNS
        if one.names is not None
        for where in (one.buffer, one.srmp)
        if isinstance(where, str)
    }
    return of_messages | {
        "auth_type": AuthenticationType,
        "auth_level": AuthenticationLevel,
        "envelope.header.msmq.hash_algorithm": HashAlgorithm,
    }


def _both(one: FilterField, other: FilterField) -> FilterField:
    """What holds in two methods that have a member of the same name."""
    return one if one == other else FilterField(one.kind if one.kind == other.kind else "")


def _walk(parts: Iterator[_Part], prefix: str, depth: int = 0) -> Iterator[tuple[str, FilterField]]:
    for part in parts:
        path = prefix + part.name
        yield path, part.place
        yield from _walk(iter(part.parts), f"{path}.", depth + 1)
        for inner in part.inside if depth < _DEEPEST else ():
            yield from _walk(_parts_of(inner), f"{path}.", depth + 1)


def _parts_of(cls: Any) -> Iterator[_Part]:
    if issubclass(cls, NdrStruct):
        return _members(cls)
    return _fields(cls) if issubclass(cls, WireStruct) else _attributes(cls)


def _fields(cls: type[WireStruct]) -> Iterator[_Part]:
    """The parts of a structure of the wire."""
    for field in fields(cls):
        if field.position:
            continue
        if cls.BITS is not None and cls.BITS.field == field.name:
            yield _Part(field.name, NUMBER, _bits(cls.BITS))
        elif isinstance(field.shown, ShownQueue):
            selector = FilterField("number", numbers_of(QueueType))
            below = _Part("type", selector), _Part("format_name", WORDS), _Part("same_as", TEXT)
            yield _Part(field.name, WORDS, below)
            yield _Part(f"{field.name}_raw", TEXT)
        else:
            inside = not isinstance(field.shown, ShownName)
            yield from _valued(field.name, field.value_type, field.names, field.unit, inside=inside)
            text = isinstance(field.shown, ShownText) and field.shown.whole is not None
            if text or isinstance(field.shown, ShownName):
                yield _Part(f"{field.name}_raw", TEXT)
    for name, (_, inner) in getattr(cls, "INSIDE", {}).items():
        yield _Part(name, FilterField(), inside=(inner,))


def _bits(table: BitTable) -> tuple[_Part, ...]:
    bits = (_Part(one.name, FilterField("number", numbers_of(one.names))) for one in table.bits.values())
    return (_Part("raw", NUMBER), *bits)


def _members(cls: type[NdrStruct]) -> Iterator[_Part]:
    """The parts of a structure of a call; an arm of a union stands in its place."""
    if cls is QueueFormat:
        yield _Part("format_name", WORDS)
    for member in members(cls):
        if isinstance(member.type, NdrUnion):
            for arm in member.type.arms.values():
                if arm.type is not None:
                    yield _Part(arm.name, FilterField(), inside=_target(arm.type))
        elif member.name == "status":
            yield _Part(member.name, _status())
        else:
            names = member.names if isinstance(member.names, type) else None
            yield from _valued(member.name, member.value_type, names, more=_target(member.type))


def _target(type_: Any) -> tuple[Any, ...]:
    """The structure that a member is, points at, or is an array of."""
    while not isinstance(type_, Fields):
        type_ = type_.target if isinstance(type_, Pointer) else getattr(type_, "element", None)
        if type_ is None:
            return ()
    return (type_.cls,)


def _attributes(cls: Any) -> Iterator[_Part]:
    """The parts of a record, or of a structure of XML with one level of elements that it does not name."""
    hints = get_type_hints(cls)
    shown = xml_fields(cls) if issubclass(cls, XmlStruct) else ()
    for name in dict.fromkeys((*shown, *cls.__struct_fields__)):
        if cls is Element and name in _NOT_KEPT:
            continue
        if name == "status" and cls in (RpcCall, RpcFault, ComCall):
            yield _Part(name, _status())
        else:
            yield from _valued(name.rstrip("_"), hints[name], inside=cls is not Element)


def _valued(
    name: str,
    hint: Any,
    names: type[IntEnum] | type[IntFlag] | None = None,
    unit: str = "",
    *,
    inside: bool = True,
    more: tuple[Any, ...] = (),
) -> Iterator[_Part]:
    """A part by the type of its value; a text has its bytes beside it, where it does not say them all."""
    kinds = [kind for kind in _kinds(hint) if isinstance(kind, type)]
    structures = (kind for kind in kinds if issubclass(kind, msgspec.Struct) and kind is not IsoDate)
    if any(issubclass(kind, int) for kind in kinds) and not any(issubclass(kind, bytes) for kind in kinds):
        flags = names is not None and issubclass(names, IntFlag)
        place = FilterField("number", numbers_of(names), unit, flags)
    elif name in FOLDED or any(issubclass(kind, GUID) for kind in kinds):
        place = WORDS
    else:
        place = FilterField()
    yield _Part(name, place, inside=tuple(dict.fromkeys((*structures, *more))) if inside else ())
    if any(issubclass(kind, WcharText) for kind in kinds):
        yield _Part(f"{name}_raw", TEXT)


def _kinds(hint: Any) -> Iterator[Any]:
    """The types that a value of a hint can be, elements of tuples among them."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, types.UnionType, tuple):
        for one in get_args(hint):
            if one is not Ellipsis:
                yield from _kinds(one)
    elif hint is not type(None):
        yield hint


@cache
def _status() -> FilterField:
    """A code that can end a call, by its symbol."""
    tables = (WIN32_ERRORS, NCA_STATUSES, SYSTEM_STATUSES, MQ_HRESULTS)
    names = {"ok": 0} | {symbol: code for table in tables for code, (symbol, _) in table.items()}
    return FilterField("number", names)
