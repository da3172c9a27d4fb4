"""Values for the parameters of calls, made from their declarations: pointers set and not, lists by length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from msmq_wire.errors import EncodeError
from msmq_wire.rpc.ndr import NDR, Parameters, encode_stub, inspect_stub
from msmq_wire.rpc.ndr.arrays import Array, Conformant, ConformantVarying, String
from msmq_wire.rpc.ndr.pointers import Pointer
from msmq_wire.rpc.ndr.scalars import Number, Octets16, Ranged
from msmq_wire.rpc.ndr.structures import Fields
from msmq_wire.rpc.ndr.stub import StubValue
from msmq_wire.rpc.ndr.types import NdrType
from msmq_wire.rpc.ndr.unions import Union
from msmq_wire.wire.expressions import parts
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_COUNTS = (1, 2, 5)
_DEEPEST = 6


def parameter_values(parameters: Parameters) -> list[Any]:
    """Values that a server with strict checks takes: the default, then richer ones."""
    found: list[Any] = []
    for value in _candidates(parameters):
        if value not in found and _strict(parameters, value):
            found.append(value)
    return found


def _strict(parameters: Parameters, value: Any) -> bool:
    """Whether a value can be written, and read again without an anomaly."""
    try:
        data = encode_stub(parameters, StubValue(value))
    except EncodeError:
        return False
    found = inspect_stub(parameters, data, NDR)
    return found.error is None and not found.anomalies and not found.remainder and found.value == value


def _candidates(parameters: Parameters) -> Iterator[Any]:
    default = parameters.cls()
    yield default
    yield from _arms(parameters, default)
    for count in _COUNTS:
        rich = _structure(parameters, count, 0)
        yield rich
        yield _agreeing(parameters, msgspec.structs.replace(default, **_lists(parameters, rich)))
        # Where all of it is no value, each member alone may be.
        for name in parameters.names:
            yield _agreeing(parameters, msgspec.structs.replace(default, **{name: getattr(rich, name)}))


def _arms(parameters: Fields, default: Any) -> Iterator[Any]:
    """A structure with a union, in each of its arms."""
    for name, type_ in zip(parameters.names, parameters.types, strict=True):
        inner = type_.target if isinstance(type_, Pointer) else type_
        if isinstance(inner, Union):
            for selector, arm in inner.arms.items():
                value = None if arm.type is None else _value(arm.type, 1, 1)
                yield _selecting(inner, selector, msgspec.structs.replace(default, **{name: value}))
        elif isinstance(inner, Fields):
            for part in _arms(inner, _default(inner, 1)):
                yield msgspec.structs.replace(default, **{name: part})
        elif isinstance(inner, Array) and isinstance(inner.element, Fields):
            # Others that are NULL may have the same count.
            rich = _lists(parameters, _structure(parameters, 1, 0))
            lists = {other: rich[other] for other in rich if getattr(default, other) is None}
            for part in _arms(inner.element, _default(inner.element, 1)):
                yield _agreeing(parameters, msgspec.structs.replace(default, **lists | {name: (part,)}))


def _lists(parameters: Fields, value: Any) -> dict[str, Any]:
    """The lists of a structure, also those behind a pointer."""
    return {
        name: getattr(value, name)
        for name, one in zip(parameters.names, parameters.types, strict=True)
        if isinstance(one.target if isinstance(one, Pointer) else one, Array)
    }


def _default(type_: Fields, depth: int) -> Any:
    """The structure with its defaults, or with values for all members where it has none."""
    try:
        return type_.cls()
    except TypeError:
        members = zip(type_.names, type_.types, strict=True)
        return type_.cls(**{name: _value(member, 1, depth + 1) for name, member in members})


def _structure(type_: Fields, count: int, depth: int) -> Any:
    default = _default(type_, depth)
    values = {
        name: _value(member, count, depth + 1)
        for name, member in zip(type_.names, type_.types, strict=True)
        if isinstance(member, Pointer | Array | Fields | Number | Octets16)
    }
    value = _agreeing(type_, msgspec.structs.replace(default, **values))
    for name, member in zip(type_.names, type_.types, strict=True):
        inner = member.target if isinstance(member, Pointer) else member
        if isinstance(inner, Union):
            selector = list(inner.arms)[count % len(inner.arms)]
            arm = inner.arms[selector].type
            held = None if arm is None else _value(arm, count, depth + 1)
            value = _selecting(inner, selector, msgspec.structs.replace(value, **{name: held}))
    return value


def _agreeing(type_: Fields, value: Any) -> Any:
    """The structure with its counts as the lengths of its lists are."""
    numbers: dict[str, int] = {}
    for name, member in zip(type_.names, type_.types, strict=True):
        array = member.target if isinstance(member, Pointer) else member
        held = getattr(value, name)
        if isinstance(array, Array) and held is not None:
            length = array.length(held)
            numbers |= {target: length for target in _counts_of(array) if hasattr(value, target)}
    return msgspec.structs.replace(value, **numbers)


def _counts_of(array: Array) -> Iterator[str]:
    """The members beside an array that count its elements."""
    given = (array.size, array.length_is if isinstance(array, ConformantVarying) else None)
    for expression in given:
        found = None if expression is None else parts(expression)
        if isinstance(found, tuple) and len(found) == 1:
            yield found[0]


def _selecting(union: Union, selector: int, value: Any) -> Any:
    """The structure with the member that selects an arm of its union."""
    found = parts(union.selector)
    if isinstance(found, tuple) and len(found) == 1 and hasattr(value, found[0]):
        return msgspec.structs.replace(value, **{found[0]: selector})
    return value


def _value(type_: NdrType, count: int, depth: int) -> Any:
    """A value of a type, with lists of some elements; deep inside pointers are NULL."""
    match type_:
        case Pointer():
            return type_.null if depth > _DEEPEST else _value(type_.target, count, depth + 1)
        case String():
            return WcharText.of("OS:host\\orders"[: 4 * count])
        case Conformant() | ConformantVarying():
            if type_.kind is WcharText:
                return WcharText("ab".encode("utf-16-le") * count)
            if type_.kind is not None:
                return type_.kind(bytes(0x10 + at for at in range(count)))
            return tuple(_value(type_.element, count, depth + 1) for _ in range(count))
        case Fields():
            return _structure(type_, count, depth)
        case Ranged():
            return min(type_.last, max(type_.first, count))
        case Number():
            return count
        case Octets16():
            return GUID(bytes(0x20 + count + at for at in range(16)))
    return None
