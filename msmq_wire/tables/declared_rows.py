"""Rows of declared columns as Arrow record batches: what ``--to`` writes, and `msmq_wire.table` gives.

The rule kept here: a row has the values of its columns, not their JSON. A time is a time, bytes are bytes.
Everything else is what JSON lines print. Null stands for a number that int64 cannot hold, and for a value of
another kind: where rows are about many kinds of records, a name can mean different things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.tables import column_field
from msmq_wire.records.column import Column
from msmq_wire.records.display import Kind
from msmq_wire.tables.spark_types import array_of, list_array, numbers, texts

ROWS = 1 << 13
"""Rows of a batch."""
_MOST_TEXT = 1 << 24
"""Characters of bodies that wait for a batch: one may be 4 MB."""


def rows_schema(columns: Iterable[Column]) -> Any:
    """The Arrow schema of rows with these columns."""
    return pa.schema(map(column_field, columns))


class RowBatches:
    """Takes rows, each a value for each column; gives a record batch as soon as there are enough of them."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.schema = rows_schema(columns)
        self._columns = [_cells(one) for one in columns]
        self._bodies = [place for place, one in enumerate(columns) if one.reveals == "body"]
        self._rows: list[Sequence[Any]] = []
        self._text = 0

    def add(self, rows: Sequence[Sequence[Any]]) -> Iterator[Any]:
        """Take rows; give the batches that they complete."""
        self._rows += rows
        for place in self._bodies:
            self._text += sum(len(row[place] or "") for row in rows)
        while len(self._rows) >= ROWS:
            yield self._batch(ROWS)
        if self._text > _MOST_TEXT:
            yield from self.rest()

    def rest(self) -> Iterator[Any]:
        """Give a batch of the rows that still wait, if there are any."""
        if self._rows:
            yield self._batch(len(self._rows))

    def _batch(self, count: int) -> Any:
        rows, self._rows = self._rows[:count], self._rows[count:]
        self._text = 0
        values = zip(*rows, strict=True)
        arrays = [
            array(column, field.type)
            for array, column, field in zip(self._columns, values, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def row_batches(columns: Sequence[Column], rows: Iterable[Sequence[Sequence[Any]]]) -> Iterator[Any]:
    """Record batches of rows that come some at a time."""
    batches = RowBatches(columns)
    for some in rows:
        yield from batches.add(some)
    yield from batches.rest()


_Values = Sequence[Any]
_Array = Callable[[_Values, Any], Any]


def _as_they_are(values: _Values, kind: Any) -> Any:
    return pa.array(values, kind)


def _texts(values: _Values, kind: Any) -> Any:
    return texts([one if isinstance(one, str) else None for one in values], kind)


def _flags(values: _Values, kind: Any) -> Any:
    return pa.array([one if isinstance(one, bool) else None for one in values], kind)


_ARRAYS: Mapping[Kind, _Array] = {
    "number": numbers,
    "duration": numbers,
    "flag": _flags,
    "time": numbers,
    "text": _texts,
    "endpoint": _texts,
    "address": _texts,
    "guid": array_of,
    "section": array_of,
    "guids": array_of,
    "sections": array_of,
}
"""What makes an array of the values of a column, where they are not those of Arrow already."""


def _cells(column: Column) -> _Array:
    if not column.columns:
        return _ARRAYS.get(column.kind, _as_they_are)
    inner = column.columns
    makers = [_cells(one) for one in inner]

    def objects(values: _Values, kind: Any) -> Any:
        lists = [tuple(one or ()) for one in values]
        found = list(chain.from_iterable(lists))
        members = [
            make([one.value(each) for each in found], member.type)
            for make, one, member in zip(makers, inner, kind.value_type, strict=True)
        ]
        structs = pa.StructArray.from_arrays(members, fields=list(kind.value_type))
        return list_array(lists, structs, kind)

    return objects
