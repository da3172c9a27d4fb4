"""The columns of messages, calls, records, findings and hops, from their declarations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from docs.generators.markers import code, table
from docs.generators.wording import asked_for
from msmq_wire.detection.columns import FINDING_COLUMNS
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.column import RECORD_COLUMNS, Column
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.outcome import OUTCOME
from msmq_wire.routing.hop_view import HOP_COLUMNS

__all__ = ["blocks"]


def blocks() -> dict[str, str]:
    """Every key of a row with its meaning, and those that are there on request."""
    return {
        "records": _table(RECORD_COLUMNS),
        "messages": _two((*COLUMNS, OUTCOME)),
        "calls": _two(CALL_COLUMNS),
        "findings": _table(FINDING_COLUMNS),
        "hops": _table(HOP_COLUMNS),
    }


def _two(columns: Sequence[Column]) -> str:
    asked = [one for one in columns if one.asked and one.kind != "body"]
    more = "With `--columns` also this, what any row of `decode` has, as `stream`, and any path of a packet:"
    return "\n\n".join((_table(one for one in columns if not one.asked), more, _table(asked)))


def _table(columns: Iterable[Column]) -> str:
    return table(("Key", "Goes with", "Meaning"), (row for one in columns for row in _rows(one)))


def _rows(column: Column, above: str = "") -> Iterator[tuple[str, str, str]]:
    """What it is, and then the keys of its objects."""
    name = above + column.name
    yield code(name), asked_for(column.tells) if column.tells else "", _meaning(column)
    for one in column.columns:
        yield from _rows(one, f"{name}.")


def _meaning(column: Column) -> str:
    names = column.names
    if names is None:
        return column.doc
    return f"{column.doc} A number: [{names.__name__}](enumerations.md#{names.__name__.lower()})."
