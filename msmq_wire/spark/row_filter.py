"""The filters that Spark hands to a data source, as masks of rows.

The rule kept here: a filter is taken only where a row is kept exactly if Spark would keep it; all others are
left to Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
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
    EqualTo: pc.equal,
    EqualNullSafe: lambda column, value: pc.fill_null(pc.equal(column, value), False),
    GreaterThan: pc.greater,
    GreaterThanOrEqual: pc.greater_equal,
    LessThan: pc.less,
    LessThanOrEqual: pc.less_equal,
}
_SEARCHED: Mapping[type[Filter], Callable[..., Any]] = {
    StringContains: pc.match_substring,
    StringEndsWith: pc.ends_with,
    StringStartsWith: pc.starts_with,
}
_SCALAR = ("string", "int64", "int32", "bool", "timestamp[us, tz=UTC]")


class RowFilter:
    """Filters that all have to hold; call it with a record batch for a mask of the rows to keep.

    ``columns`` are those of the top level that it looks at.
    """

    def __init__(self, filters: Sequence[Filter]) -> None:
        self._filters = tuple(filters)
        self.columns = frozenset(_path(one)[0] for one in filters)

    def __call__(self, rows: Any) -> Any:
        mask = pa.repeat(True, len(rows))
        for one in self._filters:
            mask = pc.and_kleene(mask, _holds(one, rows))
        return pc.fill_null(mask, False)


def takes(one: Filter, schema: Any) -> bool:
    """Whether a filter can be decided here, for rows of an Arrow schema."""
    if isinstance(one, Not):
        return takes(one.child, schema)
    kind = pa.struct(list(schema))
    try:
        for name in _path(one):
            kind = kind.field(name).type
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


def _holds(one: Filter, rows: Any) -> Any:
    """Whether a filter holds for each row; null is neither."""
    if isinstance(one, Not):
        return pc.invert(_holds(one.child, rows))
    name, *inside = _path(one)
    column = rows.column(name)
    if inside:
        column = pc.struct_field(column, inside)
    match one:
        case IsNull():
            return column.is_null()
        case IsNotNull():
            return column.is_valid()
        case In():
            found = pc.is_in(column, value_set=pa.array(one.value, column.type))
            return pc.if_else(column.is_valid(), found, None)
        case StringContains() | StringEndsWith() | StringStartsWith():
            return _SEARCHED[type(one)](column, pattern=one.value)
    return _COMPARED[type(one)](column, pa.scalar(one.value, column.type))  # type: ignore[attr-defined]  # as above
