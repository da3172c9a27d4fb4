"""Arrow types and arrays in the form that Spark reads, and msgspec values as Arrow rows.

The rule kept here: a table has one Arrow schema, and every record batch is built with it; Spark looks at the
first batch only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, get_type_hints

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.tables import column_field
from msmq_wire.engines.arrow_schema import narrowed
from msmq_wire.engines.arrow_types import arrow_type
from msmq_wire.records.column import RECORD_COLUMNS, SEEN_AT, Column, placed
from msmq_wire.wire.types.guid import GUID

TIME = pa.timestamp("us", "UTC")
"""Times as Spark has them; nanoseconds stand beside them."""
TABLE_COLUMNS: Mapping[str, Column] = {
    one.name: one
    for one in (
        *RECORD_COLUMNS,
        placed(
            "capture",
            Column,
            doc="The file, of a ring the first and the last, of several places all, of a group the folder.",
        ),
        Column("path", "text", "The file that completes it."),
        Column("frame_no", "number", "The frame of that file that completes it, from 1."),
        placed(
            "frames", Column, doc="Frames that carry it; through all files of a capture.", optional=True
        ),
        Column("time_ns", "number", "The same in nanoseconds since 1970."),
        SEEN_AT,
    )
}  # fmt: skip
"""What there is of any record, as tables have it."""


def field(name: str, kind: Any, doc: str, *, nullable: bool = True) -> Any:
    """A column and what it means."""
    return pa.field(name, kind, nullable=nullable, metadata={"doc": doc})


def table_field(column: Column, *, nullable: bool | None = None) -> Any:
    """A declared column in a table that Spark reads; ``nullable`` as for `column_field`."""
    made = column_field(column, nullable=nullable)
    return made.with_type(spark_type(made.type))


def record_fields(*names: str) -> list[Any]:
    """Some of `TABLE_COLUMNS`."""
    return [table_field(TABLE_COLUMNS[name]) for name in names]


def columns_of(schema: Any, columns: frozenset[str] | None) -> Any:
    """The columns of a schema that are asked for, all without a choice."""
    return schema if columns is None else narrowed(schema, columns)


def spark_type(kind: Any) -> Any:
    """The type that Spark can read for a type of our tables: no views, no fixed sizes, microseconds."""
    if pa.types.is_struct(kind):
        return pa.struct([spark_field(one) for one in kind])
    if pa.types.is_list(kind):
        return pa.list_(spark_field(kind.value_field))
    if pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return TIME if pa.types.is_timestamp(kind) else kind


def spark_field(one: Any) -> Any:
    """A column of our tables as Spark can read it; it may be null."""
    # A cut packet may lack any of its parts: nothing inside a column is sure to be there.
    return pa.field(one.name, spark_type(one.type), metadata=one.metadata)


def conform(array: Any, kind: Any) -> Any:
    """Return ``array`` as ``kind``: members of structs by name, those that it lacks null."""
    if array.type == kind:
        return array
    if pa.types.is_struct(kind):
        have = {one.name: index for index, one in enumerate(array.type)}
        children = [
            conform(array.field(have[one.name]), one.type)
            if one.name in have
            else nulls(len(array), one.type)
            for one in kind
        ]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(
            array.offsets, conform(array.values, kind.value_type), kind, mask=mask
        )
    return array.cast(kind)


def struct_of(rows: Any, kind: Any) -> Any:
    """The columns of a record batch that are members of a struct, as that struct."""
    members = [conform(rows.column(one.name), one.type) for one in kind]
    return pa.StructArray.from_arrays(members, fields=list(kind))


def table_rows(columns: Mapping[str, Any], count: int, schema: Any) -> Any:
    """A record batch of columns by name; those of the schema that are not there are null."""
    arrays = [
        conform(columns[one.name], one.type) if one.name in columns else nulls(count, one.type)
        for one in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


_NULLS = 1 << 17
_ZEROS = pa.py_buffer(bytes(8 * (_NULLS + 1)))


def nulls(count: int, kind: Any) -> Any:
    """Nulls of any type. A wide table has hundreds of columns of them: all share one buffer of zeros."""
    return _nulls(kind).slice(0, count) if count <= _NULLS else pa.nulls(count, kind)


@cache
def _nulls(kind: Any) -> Any:
    count = _NULLS
    if pa.types.is_struct(kind):
        children = [_nulls(one.type) for one in kind]
        return pa.Array.from_buffers(kind, count, [_ZEROS], count, children=children)
    if pa.types.is_list(kind):
        # What is in no list would be written whole: it is not cut as the rest is.
        return pa.Array.from_buffers(
            kind, count, [_ZEROS] * 2, count, children=[pa.nulls(0, kind.value_type)]
        )
    return pa.Array.from_buffers(kind, count, [_ZEROS] * kind.num_buffers, count)


# Rows of values that msgspec declares.


@cache
def struct_type(cls: type[msgspec.Struct], leave_out: tuple[str, ...] = ()) -> Any:
    """The struct of a msgspec class, its fields nullable."""
    hints = get_type_hints(cls)
    names = [name for name in cls.__struct_fields__ if name not in leave_out]
    return pa.struct([(name, arrow_type(hints[name], struct_type, nullable=True)[0]) for name in names])


def array_of(values: Iterable[Any], kind: Any) -> Any:
    """Values of a msgspec class as an array of its `struct_type`, or of a part of it; None is null."""
    rows = list(values)
    if pa.types.is_struct(kind):
        found = [one for one in rows if one is not None]
        if not found:
            return nulls(len(rows), kind)
        columns = [array_of(map(get, found), one.type) for get, one in zip(_getters(kind), kind, strict=True)]
        array = pa.StructArray.from_arrays(columns, fields=list(kind))
        return array if len(found) == len(rows) else array.take(_places(rows))
    if pa.types.is_list(kind):
        return list_array(rows, array_of(chain.from_iterable(filter(None, rows)), kind.value_type), kind)
    if pa.types.is_int64(kind):
        return numbers(rows, kind)
    return texts(rows, kind) if pa.types.is_string(kind) else pa.array(rows, kind)


@cache
def _getters(kind: Any) -> list[Callable[[Any], Any]]:
    """What gives the members of a struct: fields by name, and the items of a tuple."""
    names = [one.name for one in kind]
    return list(map(itemgetter, range(len(names)))) if names[0] == "_1" else list(map(attrgetter, names))


def _places(rows: Sequence[Any]) -> Any:
    """Where each row is among those that are not None; null for None."""
    there = np.fromiter((one is not None for one in rows), bool, len(rows))
    return pa.array(np.cumsum(there) - 1, mask=~there)


def list_array(lists: Sequence[Sequence[Any] | None], items: Any, kind: Any) -> Any:
    """An array of lists whose items, one list behind the other, are an array already; None is null."""
    ends = np.zeros(len(lists) + 1, np.int32)
    np.cumsum([len(one or ()) for one in lists], out=ends[1:])
    none = pa.array([one is None for one in lists])
    return pa.ListArray.from_arrays(pa.array(ends), items, kind, mask=none if none.true_count else None)


def numbers(values: Sequence[Any], kind: Any) -> Any:
    """Numbers as an array; null for what is none, or does not fit."""
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([fitting(one) if type(one) is int else None for one in values], kind)


def fitting(value: int | None) -> int | None:
    """A number that a column can hold; XML has larger ones, which the text of an envelope keeps."""
    return value if value is None or -1 << 63 <= value < 1 << 63 else None


_TEXTS = frozenset((str, NoneType))


def texts(values: Sequence[Any], kind: Any) -> Any:
    """Values as an array of their texts."""
    # Text of the wire is bytes, which pyarrow would take as they are.
    some = values if _TEXTS.issuperset(map(type, values)) else list(map(_text, values))
    try:
        return pa.array(some, kind)
    except UnicodeEncodeError:
        # The name of a file may be no text.
        return pa.array([one and one.encode("utf-8", "replace").decode() for one in some], kind)


@lru_cache(1 << 12)
def _name(value: GUID) -> str:
    return str(value)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return _name(value) if type(value) is GUID else str(value)
