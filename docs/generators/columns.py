"""The columns of messages, calls, records and findings, from their declarations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docs.generators.markers import code, table
from docs.generators.wording import asked_for
from msmq_wire.findings.columns import FINDING_COLUMNS
from msmq_wire.records.call import CALL_COLUMNS
from msmq_wire.records.column import RECORD_COLUMNS, Column
from msmq_wire.records.message import COLUMNS
from msmq_wire.records.outcome import OUTCOME

__all__ = ["blocks"]


def blocks() -> dict[str, str]:
    """Every key of a row with its meaning, and those that are there on request."""
    return {
        "records": _table(RECORD_COLUMNS),
        "messages": _two((*COLUMNS, OUTCOME)),
        "calls": _two(CALL_COLUMNS),
        "findings": _table(FINDING_COLUMNS),
    }


def _two(columns: Sequence[Column]) -> str:
    asked = [one for one in columns if one.asked and one.kind != "body"]
    more = "With `--columns` also this, what any row of `decode` has, as `stream`, and any path of a packet:"
    return "\n\n".join((_table(one for one in columns if not one.asked), more, _table(asked)))


def _table(columns: Iterable[Column]) -> str:
    rows = [(code(one.name), asked_for(one.tells) if one.tells else "", _meaning(one)) for one in columns]
    return table(("Key", "Goes with", "Meaning"), rows)


def _meaning(column: Column) -> str:
    names = column.names
    if names is None:
        return column.doc
    return f"{column.doc} A number: [{names.__name__}](enumerations.md#{names.__name__.lower()})."
