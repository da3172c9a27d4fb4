"""The columns of messages, from their declaration."""

from __future__ import annotations

from docs.generators.markers import code, table
from msmq_wire.records.message import COLUMNS, MessageColumn

__all__ = ["columns_block"]


def columns_block() -> str:
    """Every key of a row of ``messages`` with its meaning."""
    return table(
        ("Key", "Meaning"), [(code(one.name), _meaning(one)) for one in COLUMNS if one.kind != "body"]
    )


def _meaning(column: MessageColumn) -> str:
    if column.names is None:
        return column.doc
    name = column.names.__name__
    return f"{column.doc} A number: [{name}](enumerations.md#{name.lower()})."
