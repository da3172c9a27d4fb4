"""Irregular rows in Arrow: values of the codec as cells, and two arrays made one.

The rule kept here: a value shows as in the JSON view; what was not reached is null.
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
    value: WireStruct | None, target: Sequence[pa.Field], around: WireStruct | None = None
) -> dict[str, Any]:
    """The cells of a structure, perhaps partial or None, for the fields of a schema."""
    shown: dict[str, Any] = {}
    for name in (*value.__struct_fields__, *getattr(value, "INSIDE", ())) if value is not None else ():
        part = getattr(value, name)
        if part is msgspec.UNSET or part is None:
            continue
        if isinstance(part, AddressOverlay):
            name = part.stem()
        if isinstance(part, WireStruct):
            kind = next((field.type for field in target if field.name == name), None)
            # The queues of a header are no structures here.
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
            shown |= _marked(field, value, around)
    return shown


def _marked(field: Field, owner: Any, around: WireStruct | None) -> dict[str, Any]:
    """What is shown otherwise than as the field's own value."""
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
            number = by.number(owner, around)
            found = None if empty else by.text(number, value)
            raw = not empty and (found is None or not by.shows_all(number, value))
            return {name: found, f"{name}_raw": value if raw else None}
    return {name: None} if empty else {}


def interleaved(first: pa.Array, second: pa.Array, order: Integers) -> pa.Array:
    """The elements of two arrays of one type in the given order, the second counted on from the first.

    What are views of bytes stay views of the same bytes.
    """
    kind = first.type
    if pa.types.is_struct(kind):
        children = [interleaved(first.field(at), second.field(at), order) for at in range(kind.num_fields)]
        return pa.Array.from_buffers(kind, len(order), [_validity(first, second, order)], children=children)
    if pa.types.is_binary_view(kind):
        entries = []
        buffers: list[Any] = []
        for array in (first, second):
            own = array.buffers()
            words = np.frombuffer(own[1], np.uint32, 4 * len(array)).reshape(-1, 4).copy()
            # Entries that do not hold their bytes themselves name a buffer.
            words[words[:, 0] > 12, 2] += np.uint32(len(buffers))
            entries.append(words)
            buffers += own[2:]
        made = np.ascontiguousarray(np.concatenate(entries)[order])
        validity = _validity(first, second, order)
        return pa.Array.from_buffers(kind, len(order), [validity, pa.py_buffer(made), *buffers])
    return pa.concat_arrays([first, second]).take(pa.array(order))


def _validity(first: pa.Array, second: pa.Array, order: Integers) -> pa.Buffer | None:
    if not first.null_count and not second.null_count:
        return None
    present = np.concatenate([array.is_valid().to_numpy(zero_copy_only=False) for array in (first, second)])
    return pa.py_buffer(np.packbits(present[order], bitorder="little"))
