"""Puts irregular rows into Arrow arrays: `cells` of decoded values, and `interleave` for two arrays.

The rule kept here: a cell has the same value as in the JSON view. Fields that were not decoded are null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.engines.columns.vectors import Integers
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.headers.user_header import AddressOverlay
from msmq_wire.wire.shown import ShownName, ShownQueue, ShownText
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText


def cells(
    value: WireStruct | None, target: Sequence[pa.Field], parent: WireStruct | None = None
) -> dict[str, Any]:
    """The cells of a structure for the fields of a schema; the structure may be partial, or None."""
    shown: dict[str, Any] = {}
    for name in (*value.__struct_fields__, *getattr(value, "INSIDE", ())) if value is not None else ():
        part = getattr(value, name)
        if part is msgspec.UNSET or part is None:
            continue
        if isinstance(part, AddressOverlay):
            name = part.stem()
        if isinstance(part, WireStruct):
            kind = next((field.type for field in target if field.name == name), None)
            # In Arrow, the queues of a header are not structures.
            plain = kind is None or not pa.types.is_struct(kind)
            shown[name] = None if plain else cells(part, list(kind or ()), value)
        elif isinstance(part, WcharText):
            shown[name] = part.text
            shown[f"{name}_raw"] = None if part.exact else bytes(part)
        elif isinstance(part, GUID):
            shown[name] = str(part)
        elif isinstance(part, tuple):
            kind = next((field.type.value_type for field in target if field.name == name), ())
            shown[name] = [cells(item, list(kind)) if isinstance(item, WireStruct) else item for item in part]
        else:
            shown[name] = part
    for field in fields(type(value)) if value is not None else ():
        if not field.position and getattr(value, field.name) is not msgspec.UNSET:
            shown |= _displayed_cells(field, value, parent)
    return shown


def _displayed_cells(field: Field, owner: Any, parent: WireStruct | None) -> dict[str, Any]:
    """The cells of a field that is not displayed as its own value."""
    name, value = field.name, getattr(owner, field.name)
    empty = field.absent_if_empty and not value
    match field.shown:
        case ShownQueue(bits=bits):
            selected = owner.bit(bits)
            queue = {"type": selected, "format_name": owner.format_name(name)}
            return {name: None if selected == QueueType.NONE else queue}
        case ShownName(text=text):
            return {name: text(value)}
        case ShownText() as by:
            number = by.number(owner, parent)
            found = None if empty else by.text(number, value)
            raw = not empty and (found is None or not by.shows_all(number, value))
            return {name: found, f"{name}_raw": value if raw else None}
    return {name: None} if empty else {}


def interleave(first: pa.Array, second: pa.Array, order: Integers) -> pa.Array:
    """Merge two arrays of one type in the given order; indexes of the second follow those of the first.

    Views of bytes are not copied.
    """
    kind = first.type
    if pa.types.is_struct(kind):
        children = [interleave(first.field(at), second.field(at), order) for at in range(kind.num_fields)]
        return pa.Array.from_buffers(
            kind, len(order), [_validity_bitmap(first, second, order)], children=children
        )
    if pa.types.is_binary_view(kind):
        entries = []
        buffers: list[Any] = []
        for array in (first, second):
            own = array.buffers()
            words = np.frombuffer(own[1], np.uint32, 4 * len(array)).reshape(-1, 4).copy()
            # Entries longer than 12 bytes are references to a buffer.
            words[words[:, 0] > 12, 2] += np.uint32(len(buffers))
            entries.append(words)
            buffers += own[2:]
        made = np.ascontiguousarray(np.concatenate(entries)[order])
        validity = _validity_bitmap(first, second, order)
        return pa.Array.from_buffers(kind, len(order), [validity, pa.py_buffer(made), *buffers])
    return pa.concat_arrays([first, second]).take(pa.array(order))


def _validity_bitmap(first: pa.Array, second: pa.Array, order: Integers) -> pa.Buffer | None:
    if not first.null_count and not second.null_count:
        return None
    present = np.concatenate([array.is_valid().to_numpy(zero_copy_only=False) for array in (first, second)])
    return pa.py_buffer(np.packbits(present[order], bitorder="little"))
