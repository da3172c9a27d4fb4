"""What the pages on Spark list: the options of the data sources, the columns of the tables."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from docs.generators.markers import code, table
from msmq_wire.sessions import MessageLife, Session
from msmq_wire.spark.read_options import OPTIONS
from msmq_wire.tables.table_schemas import BOOKS, TABLES, file_schema

__all__ = ["options_block", "tables_block"]

_TOLD = {"sessions": Session, "lives": MessageLife}
"""Tables whose columns are described together, by the class that they are made of."""


def options_block() -> str:
    """Every option with its meaning."""
    return table(("Option", "Meaning"), [(code(name), meaning) for name, meaning in OPTIONS.items()])


def tables_block() -> str:
    """A section for every table."""
    return "\n\n".join(_section(name) for name in (*TABLES, *BOOKS))


def _section(name: str) -> str:
    parts = [f"## {name}"]
    reported = _TOLD.get(name)
    if reported is not None:
        parts.append(_words(reported))
    rows = [_row(column, reported is None) for column in file_schema(name)]
    return "\n\n".join((*parts, table(("Column", "Type", "Meaning"), rows)))


def _words(cls: type) -> str:
    """What the docstring of a class says, as Markdown."""
    words = inspect.getdoc(cls)
    assert words is not None
    return words.replace("``", "`")


def _row(column: Any, described: bool) -> tuple[str, str, str]:
    about = (column.metadata or {}).get(b"doc", b"").decode()
    common = column.name in ("capture", "time")
    return code(column.name), _kind(column.type), about if described or common else ""


def _kind(kind: Any) -> str:
    if pa.types.is_list(kind):
        return f"list of {_kind(kind.value_type)}"
    if pa.types.is_map(kind):
        return f"map of {_kind(kind.key_type)} to {_kind(kind.item_type)}"
    if pa.types.is_struct(kind):
        return "struct"
    return "timestamp" if pa.types.is_timestamp(kind) else str(kind)
