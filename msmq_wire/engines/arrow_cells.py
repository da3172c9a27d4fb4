"""Irregular rows in Arrow: values of the codec as cells, and two arrays made one.

The rule kept here: a value shows as in the JSON view; what was not reached is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.engines.arrow_schema import QUEUES, SHOWN_AS_TEXT
from msmq_wire.engines.columns.values import Integers
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.security_header import SecurityData, SecurityHeader, sender_text
from msmq_wire.wire.headers.user_header import AddressOverlay, UserHeader, address_text
from msmq_wire.wire.types.enumerations import AddressType, QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.mqf_format_name_element import MQFFormatNameElement, element_format_name
from msmq_wire.wire.types.wchar_text import WcharText

__all__ = ["cells", "interleaved"]


def cells(value: Any, target: Sequence[pa.Field]) -> dict[str, Any]:
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
            shown[name] = cells(part, list(kind)) if kind is not None and pa.types.is_struct(kind) else None
        elif isinstance(part, WcharText):
            shown[name] = part.text
            shown[f"{name}_raw"] = None if part.exact else bytes(part)
        elif isinstance(part, GUID):
            shown[name] = str(part)
        elif isinstance(part, tuple):
            kind = next(field.type for field in target if field.name == name).value_type
            shown[name] = [cells(item, list(kind)) if isinstance(item, WireStruct) else item for item in part]
        else:
            shown[name] = part
    if value is not None:
        _as_viewed(value, shown)
    return shown


def _as_viewed(value: WireStruct, shown: dict[str, Any]) -> None:
    """What the view shows otherwise than as the field's own value."""
    if isinstance(value, UserHeader):
        for name, bit in QUEUES.items():
            if getattr(value, name) is not msgspec.UNSET:
                selected = value.bit(bit)
                name_of_queue = {"type": selected, "format_name": value.format_name(name)}
                shown[name] = None if selected == QueueType.NONE else name_of_queue
    elif isinstance(value, MQFFormatNameElement):
        shown["format_name"] = element_format_name(value)
    elif isinstance(value, SecurityData):
        for name in ("security_id", "encryption_key", "signature", "sender_cert"):
            shown[name] = shown.get(name) or None
        shown["security_id_raw"] = shown.pop("security_id")
    elif isinstance(value, SecurityHeader):
        data = shown.get("security_data")
        sender = None if data is None else data["security_id_raw"]
        text = None if sender is None else sender_text(value.bit("st"), sender)
        if data is not None and text is not None:
            data |= {"security_id": text, "security_id_raw": None}
    elif SHOWN_AS_TEXT.get(type(value)) in shown:
        address = shown["address"]
        shown["address"] = address_text(shown["address_type"], address)
        dirty = shown["address_type"] == AddressType.IP_ADDRESS_TYPE and any(address[4:])
        shown["address_raw"] = address if shown["address"] is None or dirty else None


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
