"""What a filter knows of the places in records that are no packets, all from the declarations.

These are the calls of remote read, and messages over HTTP.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from enum import IntEnum, IntFlag
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from msmq_wire.records.com_packets import ComCall
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.rpc_packets import RpcBind, RpcCall, RpcFault, TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.rpc.com.queue_interfaces import COM_INTERFACES
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.rpc.ndr import NdrStruct, members
from msmq_wire.rpc.ndr import Union as NdrUnion
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.structures import Fields, Parameters
from msmq_wire.rpc.rpc_statuses import NCA_STATUSES, WIN32_ERRORS
from msmq_wire.rpc.security import AuthenticationLevel, AuthenticationType
from msmq_wire.rpc.statuses import MQ_HRESULTS, SYSTEM_STATUSES
from msmq_wire.rpc.types.queue_format import QueueFormat
from msmq_wire.srmp.xml.fields import IsoDate, XmlStruct, xml_fields
from msmq_wire.srmp.xml.tree import Element
from msmq_wire.wire.types.enumerations import HashAlgorithm
from msmq_wire.wire.types.section_buffer import SectionBuffer

__all__ = ["Place", "column_places", "composed_paths", "numbers_of"]

_DEEPEST = 6
_NOT_KEPT = ("offset", "length")
"""Where an element was, which those that no field names do not say."""


class Place(msgspec.Struct, frozen=True):
    """What is known of a name: numbers by name, whether it is one, its unit, whether flags, all its texts."""

    names: Mapping[str, int] = {}
    integral: bool = False
    unit: str = ""
    flags: bool = False
    choices: tuple[str, ...] = ()


def numbers_of(enumeration: type[IntEnum] | type[IntFlag] | None) -> Mapping[str, int]:
    """The members of an enumeration, none without one."""
    return {} if enumeration is None else {name: int(one) for name, one in enumeration.__members__.items()}


@cache
def _statuses() -> Mapping[str, int]:
    """Every code that can end a call, by its symbol."""
    tables = (WIN32_ERRORS, NCA_STATUSES, SYSTEM_STATUSES, MQ_HRESULTS)
    return {"ok": 0} | {symbol: code for table in tables for code, (symbol, _) in table.items()}


_NAMED: Mapping[str, type[IntEnum]] = {
    "auth_type": AuthenticationType,
    "auth_level": AuthenticationLevel,
    "envelope.header.msmq.hash_algorithm": HashAlgorithm,
    # What messages have wherever they are.
    **{
        where: one.names
        for one in COLUMNS
        if one.names is not None
        for where in (one.buffer, one.srmp)
        if isinstance(where, str)
    },
}


def column_places() -> Mapping[str, Place]:
    """The columns of messages that are no fields of a packet."""
    return {
        one.name: Place(
            integral=one.kind in ("number", "numbers"),
            unit="time" if one.kind == "time" else "",
            choices=one.choices,
        )
        for one in COLUMNS
        if not one.path
    }


def composed_paths() -> Mapping[str, Place]:
    """The paths in the JSON views of records of DCE/RPC and SRMP; one place for all that have the path."""
    found: dict[str, Place] = {}
    for cls in (RpcBind, ComCall, RpcCall, RpcFault, TransferBuffer):
        for path, place in _plain_paths(cls, ""):
            found.setdefault(path, place)
    for interface in (*INTERFACES.values(), *COM_INTERFACES.values()):
        for method in interface.methods.values():
            for side in ("request", "response"):
                parameters: Parameters = getattr(method, side)
                for path, place in _paths_of(parameters.cls, f"{side}.", 0):
                    known = found.get(path)
                    found[path] = place if known is None else _both(known, place)
    for path, place in _srmp_paths(SrmpMessage, ""):
        found.setdefault(path, place)
    return found


def _both(one: Place, other: Place) -> Place:
    """What holds in two methods that have a member of the same name."""
    return one if one == other else Place(integral=one.integral and other.integral)


def _plain_paths(cls: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, Place]]:
    hints = get_type_hints(cls)
    for name in cls.__struct_fields__:
        hint = hints[name]
        path = prefix + name
        parts = [part for part in _parts(hint) if part is not type(None)]
        if name == "status":
            yield path, Place(_statuses(), integral=True)
        else:
            yield path, Place(numbers_of(_NAMED.get(path)), integral=bool(parts) and parts[0] in (int, bool))
        for part in parts:
            if isinstance(part, type) and issubclass(part, msgspec.Struct):
                inner = _plain_paths if not issubclass(part, NdrStruct) else None
                yield from inner(part, f"{path}.") if inner else _paths_of(part, f"{path}.", 0)


def _srmp_paths(cls: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, Place]]:
    """The paths below a structure of an SRMP record: values, elements, and one level of unknown elements."""
    hints = get_type_hints(cls)
    shown = dict.fromkeys(xml_fields(cls)) if issubclass(cls, XmlStruct) else {}
    for name in dict.fromkeys((*shown, *cls.__struct_fields__)):
        if cls is Element and name in _NOT_KEPT:
            continue
        path = prefix + name.rstrip("_")
        parts = [part for part in _parts(hints[name]) if part is not type(None)]
        yield path, Place(numbers_of(_NAMED.get(path)), integral=parts[0] in (int, bool))
        for part in parts:
            inside = cls is not Element and part is not IsoDate
            if inside and isinstance(part, type) and issubclass(part, msgspec.Struct):
                yield from _srmp_paths(part, f"{path}.")


def _parts(hint: Any) -> list[Any]:
    """The types that a value of a hint can be, elements of tuples among them."""
    if get_origin(hint) in (Union, types.UnionType, tuple):
        return [part for one in get_args(hint) if one is not Ellipsis for part in _parts(one)]
    return [hint]


def _paths_of(cls: Any, prefix: str, depth: int) -> Iterator[tuple[str, Place]]:
    if cls is SectionBuffer:
        for name in cls.__struct_fields__:
            yield prefix + name, Place(integral=name != "data")
        return
    if depth > _DEEPEST:
        return
    if cls is QueueFormat:
        yield f"{prefix}format_name", Place()
    for member in members(cls):
        path = prefix + member.name
        if member.name == "status":
            yield path, Place(_statuses(), integral=True)
            continue
        if isinstance(member.type, NdrUnion):
            for arm in member.type.arms.values():
                if arm.type is not None:
                    yield prefix + arm.name, Place()
                    yield from _inside(arm.type, f"{prefix}{arm.name}.", depth)
            continue
        names = member.names if isinstance(member.names, type) else None
        flags = names is not None and issubclass(names, IntFlag)
        integral = int in _parts(member.value_type)
        yield path, Place(numbers_of(names) if integral else {}, integral=integral, flags=flags)
        yield from _inside(member.type, f"{path}.", depth)
        yield from (
            found
            for part in _parts(member.value_type)
            if part is SectionBuffer
            for found in _paths_of(part, f"{path}.", depth)
        )


def _inside(type_: Any, prefix: str, depth: int) -> Iterator[tuple[str, Place]]:
    """The paths below a member: of the structure that it is, points at, or is an array of."""
    while True:
        if isinstance(type_, Fields):
            yield from _paths_of(type_.cls, prefix, depth + 1)
            return
        inner = type_.target if isinstance(type_, Pointer) else getattr(type_, "element", None)
        if inner is None:
            return
        type_ = inner
