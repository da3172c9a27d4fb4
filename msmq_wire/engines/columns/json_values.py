"""Columns as JSON values: numbers, bits, texts, GUIDs and format names of queues.

The rule kept here: what a row has is what `UserHeader.format_name`, `WcharText.text` and the like say of it.
"""

from __future__ import annotations

from codecs import utf_16_le_decode
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from msmq_wire.engines.columns.scopes import column_at, combinations
from msmq_wire.engines.columns.vectors import (
    Bools,
    Column,
    Integers,
    NumberColumn,
    OctetsColumn,
    RowSet,
    StructColumn,
    UnionColumn,
)
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.user_header import AddressOverlay, UserHeader
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.private_queue_format_name import PrivateQueueFormatName
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

_FORMAT_NAME = ".format_name"
_SELECTORS = 0x7FC00
"""The bits of UserHeader.Flags that hold the types of the queues."""


def has(top: StructColumn, path: str, rows: Integers) -> Bools:
    """Which rows of a walk have the field at a dotted path."""
    column, _, _ = _at(top, path)
    arms = column.arms if isinstance(column, UnionColumn) else (column,)
    found = np.zeros(len(rows), np.bool_)
    for arm in arms:
        if arm is not None:
            found |= arm.rows.mask[rows]
    return found


def is_set(top: StructColumn, path: str, rows: Integers) -> Bools:
    """Which rows of a walk have a field at a dotted path; of a number, or bits: which have one but 0."""
    column, mask, _ = _at(top, path)
    if not isinstance(column, NumberColumn):
        return has(top, path, rows)
    found: Bools = (column.rows.spread(column.values, RowSet(column.rows.total)) & mask)[rows] != 0
    return found


def numbers(top: StructColumn, path: str, rows: Integers) -> Integers:
    """The numbers at a dotted path, or of its bits, for rows of a walk; 0 where a row has none."""
    column, mask, shift = _at(top, path)
    if not isinstance(column, NumberColumn):
        return np.zeros(len(rows), np.int64)
    values: Integers = column.rows.spread(column.values, RowSet(column.rows.total))[rows]
    return values if mask == -1 else (values & mask) >> shift


def coded(top: StructColumn, path: str, rows: Integers) -> tuple[Integers, list[bytes]]:
    """A code for the bytes at a dotted path, for rows of a walk that have them, and what each code is."""
    column, _, _ = _at(top, path)
    (arm,) = column.arms if isinstance(column, UnionColumn) else (column,)
    assert isinstance(arm, OctetsColumn)
    codes, values = arm.codes
    found: Integers = arm.rows.spread(codes, RowSet(arm.rows.total))[rows]
    return found, values


def octets(top: StructColumn, path: str, rows: Integers) -> list[bytes]:
    """The bytes at a dotted path, for rows of a walk that have them; those that are equal are one value."""
    codes, values = coded(top, path, rows)
    return [values[code] for code in codes.tolist()]


def among(there: Bools, values: Iterable[Any]) -> list[Any]:
    """Values for the rows that have them, None for the others."""
    some = iter(values)
    return [next(some) if one else None for one in there.tolist()]


def octets_at(top: StructColumn, path: str, rows: Integers) -> tuple[Integers, Integers]:
    """Where the bytes at a dotted path begin and end in their source, for rows of a walk that have them."""
    column, _, _ = _at(top, path)
    assert isinstance(column, OctetsColumn)
    everywhere = RowSet(top.rows.total)
    starts: Integers = column.rows.spread(column.offsets, everywhere)[rows]
    return starts, starts + column.rows.spread(column.lengths, everywhere)[rows]


def shown(top: StructColumn, path: str, rows: Integers) -> list[Any]:
    """The values at a dotted path, for rows of a walk that have it.

    The path is that of JSON: behind the name of a queue comes ``format_name``, behind a word the name of its
    bits. Bytes that are no text are bytes.
    """
    if path.endswith(_FORMAT_NAME):
        header, _, queue = path.removesuffix(_FORMAT_NAME).rpartition(".")
        part = column_at(top, header)
        assert isinstance(part, StructColumn)
        codes, names = format_names(part, queue)
        return [names[code] for code in codes[rows].tolist()]
    column, _, _ = _at(top, path)
    if isinstance(column, NumberColumn):
        found: list[Any] = numbers(top, path, rows).tolist()
        return found
    assert isinstance(column, OctetsColumn)
    if issubclass(column.kind, GUID | FixedWcharText):
        codes, values = coded(top, path, rows)
        texts = [str(value) for value in values]
        return [texts[code] for code in codes.tolist()]
    starts, ends = octets_at(top, path, rows)
    with memoryview(column.source.bytes) as data:  # type: ignore[arg-type]  # an array is a buffer
        if not issubclass(column.kind, WcharText):
            return [bytes(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        ends = ends - 2 * _terminated(column, starts, ends)
        places = zip(starts.tolist(), ends.tolist(), strict=True)
        return [utf_16_le_decode(data[start:end], "replace", True)[0] for start, end in places]


def _terminated(column: OctetsColumn, starts: Integers, ends: Integers) -> Bools:
    last = column.source.peek(np.maximum(ends - 2, 0), 2)
    found: Bools = (ends - starts > 1) & ((ends - starts) & 1 == 0) & (last == 0).all(axis=1)
    return found


def _at(top: StructColumn, path: str) -> tuple[Column, int, int]:
    """The column at a path, and the mask and the place of the bits that are asked of it."""
    stem, _, last = path.removesuffix(_FORMAT_NAME).rpartition(".")
    parent = column_at(top, stem) if stem else top
    if isinstance(parent, StructColumn):
        return column_at(parent, last), -1, 0
    holder, _, word = stem.rpartition(".")
    part = column_at(top, holder)
    if isinstance(part, StructColumn) and part.cls.BITS is not None and part.cls.BITS.field == word:
        bit = part.cls.BITS.bits[last]
        return parent, bit.mask, bit.shift
    return None, -1, 0


def format_names(header: StructColumn, queue: str) -> tuple[Integers, Sequence[str | None]]:
    """A code for every row of the walk, 0 where there is no such queue, and the format name of every code."""
    everywhere = RowSet(header.rows.total)
    flags, column = header.fields["flags"], header.fields[queue]
    assert isinstance(flags, NumberColumn)
    codes = np.zeros(everywhere.total, np.int64)
    texts: list[str | None] = [None]
    for arm in column.arms if isinstance(column, UnionColumn) else (column,):
        if isinstance(arm, StructColumn):
            own, found = _format_names(header, flags, queue, arm)
            codes += arm.rows.spread(own + len(texts), everywhere)
            texts += found
    return codes, texts


def _format_names(
    header: StructColumn, flags: NumberColumn, name: str, arm: StructColumn
) -> tuple[Integers, list[str | None]]:
    """A code for every row that has this layout of a queue, and the format name of every code."""
    own = _named_by(arm.cls)
    columns: list[Column] = [arm.fields[field] for field in own]
    if arm.cls is PrivateQueueFormatNameId:
        # Where a queue number belongs to a host, the header says which.
        columns += [
            NumberColumn(flags.rows, flags.values & _SELECTORS),
            header.fields["source_queue_manager"],
        ]
        columns += [header.fields["queue_manager_address"], _admin_host(header)]
    codes, found = combinations(columns, arm.rows)
    return codes, [_format_name(name, arm.cls, values) for values in found]


@lru_cache(maxsize=4096)
def _format_name(name: str, cls: type[WireStruct], values: tuple[Any, ...]) -> str | None:
    """The format name of a queue with these fields; traffic repeats itself, so it is remembered."""
    own = _named_by(cls)
    parts: dict[str, Any] = {name: cls(**dict(zip(own, values, strict=False)))}
    if cls is PrivateQueueFormatNameId:
        word, source, address, host = values[len(own) :]
        parts |= {"flags": word, "source_queue_manager": source}
        parts["queue_manager_address"] = AddressOverlay() if address is None else address
        if host is not None:
            parts.setdefault("admin_queue", PrivateQueueFormatName(source_queue_manager=host))
    return UserHeader(**parts).format_name(name)


def _named_by(cls: type[WireStruct]) -> tuple[str, ...]:
    """The fields of a queue that its name is made of."""
    return ("direct_format_name",) if cls is DirectQueueFormatName else cls.__struct_fields__


def _admin_host(header: StructColumn) -> Column:
    column = header.fields["admin_queue"]
    for arm in column.arms if isinstance(column, UnionColumn) else (column,):
        if isinstance(arm, StructColumn) and arm.cls is PrivateQueueFormatName:
            return arm.fields["source_queue_manager"]
    return None
