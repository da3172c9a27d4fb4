"""The columns of messages, from their declaration."""

from __future__ import annotations

from collections.abc import Iterable

from docs.generators.markers import code, table
from docs.generators.wording import asked_for
from msmq_wire.records.message import COLUMNS, ROW, MessageColumn

__all__ = ["columns_block"]


def columns_block() -> str:
    """Every key of a row of ``messages`` with its meaning, and those that are there on request."""
    asked = [one for one in COLUMNS if one not in ROW and one.kind != "body"]
    return "\n\n".join((_table(ROW), "With `--columns` also these, and any path of a packet:", _table(asked)))


def _table(columns: Iterable[MessageColumn]) -> str:
    rows = [(code(one.name), asked_for(one.tells) if one.tells else "", _meaning(one)) for one in columns]
    return table(("Key", "Goes with", "Meaning"), rows)


def _meaning(column: MessageColumn) -> str:
    if column.names is None:
        return column.doc
    name = column.names.__name__
    return f"{column.doc} A number: [{name}](enumerations.md#{name.lower()})."
