"""The rows of what lies in files that are no captures: those of ``messages``, by place instead of by frame.

The rule kept here: a row is a find at a place. The same bytes at another place are another row, with the same
``sha256``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.carve.addresses import MemoryMap
from msmq_wire.capture.carve.reader import record_of
from msmq_wire.capture.carve.search import CarvedItem
from msmq_wire.records.column import RECORD_COLUMNS
from msmq_wire.tables.message_columns import PLACE, PLACE_END, message_schema, rows_of
from msmq_wire.tables.spark_types import columns_of, field, table_field, table_rows

_DECLARED = ("capture", "offset", "length", "type", "grade", "reason")
_ADDED = [
    field("address", pa.int64(), "The address in memory of the offset, where a dump tells it."),
    field("sha256", pa.string(), "SHA-256 of its bytes: the same in all places where these lie."),
]
_SIGNED = 1 << 63


@cache
def carved_schema() -> Any:
    """The Arrow schema of the rows."""
    declared = {one.name: one for one in RECORD_COLUMNS}
    place = [table_field(declared[name]) for name in _DECLARED]
    elsewhere = {one.name for one in (*PLACE, *PLACE_END)}
    return pa.schema([*place, *_ADDED, *(one for one in message_schema() if one.name not in elsewhere)])


def carved_batches(
    finds: Sequence[CarvedItem],
    capture: str,
    memory: MemoryMap | None = None,
    *,
    payload: bool = True,
    columns: frozenset[str] | None = None,
) -> Iterable[Any]:
    """The rows of finds in a file as record batches; ``memory`` tells addresses. Options as for `batches_of`.

    No more is decoded than ``columns`` need.
    """
    target = columns_of(carved_schema(), columns)
    known = _known(finds, capture, memory, frozenset(target.names))

    def place(made: Any, _: Any, types: Any) -> dict[str, Any]:
        at = pc.subtract(made.column("id"), 1)
        here = {name: values.take(at) for name, values in known.items()}
        return here | ({"type": types} if "type" in target.names else {})

    if known.keys() >= set(target.names):
        return [table_rows(known, len(finds), target)]
    records = [record_of(one, number=at, capture=capture) for at, one in enumerate(finds, 1)]
    return [_from_file(rows) for rows in rows_of(records, place, target, payload=payload)]


def failure_batch(capture: str, reason: str, offset: int, columns: frozenset[str] | None = None) -> Any:
    """The row of a file that cannot be read, or not from an offset on."""
    row = {"capture": capture, "type": "error", "reason": reason, "offset": offset, "length": 0}
    return pa.RecordBatch.from_pylist([row], schema=columns_of(carved_schema(), columns))


def _known(
    finds: Sequence[CarvedItem], capture: str, memory: MemoryMap | None, names: frozenset[str]
) -> dict[str, Any]:
    """The columns that need no decoding."""
    makers = {
        "capture": lambda one: capture,
        "offset": lambda one: one.offset,
        "length": lambda one: len(one.data),
        "grade": lambda one: one.grade,
        "reason": lambda one: one.reason,
        "address": lambda one: None if memory is None else _signed(memory.address(one.offset)),
        "sha256": lambda one: hashlib.sha256(one.data).hexdigest(),
    }
    kinds = carved_schema()
    return {
        name: pa.array(map(make, finds), kinds.field(name).type)
        for name, make in makers.items()
        if name in names
    }


def _signed(address: int | None) -> int | None:
    """An address as 64 bits with a sign, which is all that Spark has."""
    return address if address is None or address < _SIGNED else address - 2 * _SIGNED


def _from_file(rows: Any) -> Any:
    """The rows with a ``via`` and a ``how`` that say so."""
    for name, told in (("via", "file"), ("how", "stored")):
        if name in rows.schema.names:
            at = rows.schema.get_field_index(name)
            told_here = pc.if_else(pc.is_valid(rows.column(at)), told, pa.scalar(None, pa.string()))
            rows = rows.set_column(at, rows.schema.field(at), told_here)
    return rows
