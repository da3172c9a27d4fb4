"""The filters that Spark hands to a data source, as expressions of pyarrow.

The rule kept here: a filter is taken only where a row is kept exactly if Spark would keep it; all others are
left to Spark.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from functools import reduce
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

_COMPARED: Mapping[type[Filter], Callable[[Any, Any], Any]] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
}
_SEARCHED: Mapping[type[Filter], Callable[..., Any]] = {
    StringContains: pc.match_substring,
    StringEndsWith: pc.ends_with,
    StringStartsWith: pc.starts_with,
}
_SCALAR = ("string", "int64", "int32", "bool", "timestamp[us, tz=UTC]", "date32[day]")


_PUSHDOWN_MODULE = "pyspark.sql.worker.data_source_pushdown_filters"
"""The Spark module that pushes filters to sources; its process has it loaded."""
_PLACE = "#"
"""No column is called so."""


class RowFilter:
    """Filters that all have to hold: ``expression`` says so to pyarrow, for columns of an Arrow schema.

    ``columns`` are those of the top level that it looks at. Call it with a record batch for the places of the
    rows to keep.
    """

    def __init__(self, filters: Sequence[Filter], schema: Any) -> None:
        self._filters, self._schema = tuple(filters), schema
        self.columns = frozenset(_path(one)[0] for one in filters)
        self.expression = reduce(operator.and_, (_expression(one, schema) for one in filters))

    def __call__(self, rows: Any) -> Any:
        looked = rows.select(sorted(self.columns)).append_column(
            _PLACE, pa.array(range(len(rows)), pa.int64())
        )
        return looked.filter(self.expression).column(_PLACE)

    def only(self, columns: Collection[str]) -> RowFilter | None:
        """Those of its filters that look at no other columns."""
        filters = [one for one in self._filters if _path(one)[0] in columns]
        return RowFilter(filters, self._schema) if filters else None


def takes(one: Filter, schema: Any) -> bool:
    """Whether a filter can be decided here, for rows of an Arrow schema."""
    if isinstance(one, Not):
        return takes(one.child, schema)
    try:
        kind = _type(one, schema)
        if isinstance(one, IsNull | IsNotNull):
            return True
        if str(kind) not in _SCALAR:
            return False
        for value in one.value if isinstance(one, In) else (one.value,):  # type: ignore[attr-defined]  # all others have one
            # A time without a zone is one of a zone that only the session knows.
            if value is None or getattr(value, "tzinfo", UTC) is None:
                return False
            if pa.scalar(value, kind).as_py() != value:
                return False
    except (AttributeError, KeyError, TypeError, OverflowError, pa.ArrowException):
        # No column of ours, none that has members, or a value of another type.
        return False
    return type(one) is In or type(one) in _COMPARED or (type(one) in _SEARCHED and pa.types.is_string(kind))


def _path(one: Filter) -> tuple[str, ...]:
    path: tuple[str, ...] = _path(one.child) if isinstance(one, Not) else one.attribute  # type: ignore[attr-defined]  # all others have one
    return path


def _type(one: Filter, schema: Any) -> Any:
    kind = pa.struct(list(schema))
    for name in _path(one):
        kind = kind.field(name).type
    return kind


def _expression(one: Filter, schema: Any) -> Any:
    """What wants the rows for which a filter holds; null is neither, and statistics of files are enough."""
    column = ds.field(*_path(one))
    match one:
        case Not(child=EqualNullSafe()):
            return column.is_null() | ~_expression(one.child, schema)
        case Not(child=IsNull() | IsNotNull()):
            return ~_expression(one.child, schema)
        case Not():
            return column.is_valid() & ~_expression(one.child, schema)
        case IsNull():
            return column.is_null()
        case IsNotNull():
            return column.is_valid()
        case In():
            return column.isin(pa.array(one.value, _type(one, schema)))
        case StringContains() | StringEndsWith() | StringStartsWith():
            return _SEARCHED[type(one)](column, pattern=one.value)
    return _COMPARED[type(one)](column, pa.scalar(one.value, _type(one, schema)))  # type: ignore[attr-defined]  # as above


class FilteredReader(DataSourceReader):
    """Hands a reader the filters of a query that can be decided here, and leaves the others to Spark."""

    def __init__(self, reader: Any, schema: Any) -> None:
        self._reader = reader
        self._schema = schema

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        taken = [one for one in filters if takes(one, self._schema)]
        self._reader.row_filter = RowFilter(taken, self._schema) if taken else None
        return [one for one in filters if not takes(one, self._schema)]

    def partitions(self) -> Sequence[InputPartition]:
        found: Sequence[InputPartition] = self._reader.partitions()
        return found

    def read(self, partition: InputPartition) -> Iterator[Any]:
        found: Iterator[Any] = self._reader.read(partition)
        return found


def filtered(reader: Any, schema: Any) -> DataSourceReader:
    """A reader whose ``row_filter`` Spark's filters set, where the session hands them out.

    Spark refuses a reader with pushFilters in a session that does not push filters.
    """
    found: DataSourceReader = FilteredReader(reader, schema) if _PUSHDOWN_MODULE in sys.modules else reader
    return found
