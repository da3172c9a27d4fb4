# SPDX-License-Identifier: GPL-2.0-or-later
"""Between scapy packets and the values of msmq_wire: `value_of`, and what a crafted packet lacks.

The rule kept here: a value is made of the packet's fields alone, never of its bytes. What was not given comes
from the declared default that stands in the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import msgspec
from scapy.fields import RawVal
from scapy.packet import Packet
from scapy.volatile import VolatileValue

from msmq_wire.engines.fit import fit
from msmq_wire.wire.fields import WireStruct, fields

__all__ = ["complete", "fitted_value", "internal", "value_of"]


def value_of(pkt: Packet, base: WireStruct | None = None, *, whole: bool = False) -> WireStruct:
    """The value of msmq_wire with the fields of a packet.

    ``base`` has the values of what was not given. Fields that a cut packet does not reach are UNSET, or those
    of ``base`` where the value has to be ``whole``.
    """
    cls: type[WireStruct] = pkt.structure
    base = base if type(base) is cls else cls()
    values: dict[str, Any] = {}
    for field in fields(cls):
        name = field.name
        if field.position:
            continue
        default = getattr(base, name)
        if pkt.reached is not None and name not in pkt.reached:
            values[name] = default if whole else msgspec.UNSET
        elif name in pkt.fields:
            values[name] = _value(pkt, pkt.fieldtype[name], pkt.fields[name], default, field.optional, whole)
        else:
            held = pkt.default_fields.get(name)
            values[name] = value_of(held, default, whole=whole) if _is_structure(held) else default
    value = cls(**values)
    for name, (path, _) in getattr(cls, "INSIDE", {}).items():
        inside = pkt.fields.get(name)
        if isinstance(inside, Packet):
            value = _with_inside(value, pkt, path.split("."), bytes(inside))
    return value


def _is_structure(value: object) -> TypeGuard[Packet]:
    return isinstance(value, Packet) and hasattr(value, "structure")


def _value(pkt: Any, field: Any, given: Any, default: Any, optional: bool, whole: bool) -> Any:
    if isinstance(given, VolatileValue):
        given = given._fix()
    if given is None:
        return None if optional else default
    if isinstance(given, list):
        return tuple(_value(pkt, field, item, None, optional, whole) for item in given)
    if _is_structure(given):
        return value_of(given, default, whole=whole)
    if isinstance(given, RawVal | Packet):
        return default
    if field.islist:
        return int(given)
    made = field.any2i(pkt, given)
    if _is_structure(made):
        return value_of(made, default, whole=whole)
    if hasattr(made, "over"):
        return made.over(default)
    return int(made) if isinstance(made, int) else made


def _with_inside(value: Any, pkt: Any, path: list[str], data: bytes) -> Any:
    """The value with the bytes of a structure where they belong, unless those were given."""
    if len(path) == 1:
        return value if path[0] in pkt.fields else msgspec.structs.replace(value, **{path[0]: data})
    inner, holder = getattr(value, path[0]), pkt.fields.get(path[0], pkt.default_fields.get(path[0]))
    if not _is_structure(holder) or not isinstance(inner, WireStruct):
        return value
    return msgspec.structs.replace(value, **{path[0]: _with_inside(inner, holder, path[1:], data)})


def complete(pkt: Any) -> bool:
    """Whether nothing of a packet has to be computed."""
    for field in pkt.fields_desc:
        value = pkt.fields.get(field.name)
        if value is None:
            if field.name not in pkt.fields or not field.isconditional:
                return False
        elif getattr(value, "given", -1) != -1 or not all(
            complete(part) for part in (value if isinstance(value, list) else [value]) if _is_structure(part)
        ):
            return False
    return True


def fitted_value(pkt: Any) -> Any:
    """The value with sizes, counts, padding and presence bits made right for what a packet has."""
    value = value_of(pkt, whole=True)
    try:
        return fit(value)
    except KeyError:
        # A part that is built alone, whose sizes stand in the structure around it.
        return value


def internal(value: Any, class_of: Callable[[type[WireStruct]], Any]) -> Any:
    """A value of msmq_wire as scapy fields hold it."""
    if isinstance(value, WireStruct):
        cls = class_of(type(value))
        own = {field.name for field in fields(type(value)) if not field.position}
        return cls(**{name: internal(getattr(value, name), class_of) for name in own})
    if isinstance(value, tuple):
        return [internal(item, class_of) for item in value]
    return value
