"""Messages as rows: their columns, what became of them beside what they say, and rows without records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

from msmq_wire.records.column import Column, RecordRow
from msmq_wire.records.message import COLUMNS, MessageValues
from msmq_wire.records.outcome import OUTCOME, Outcome
from msmq_wire.records.projection import Projection
from msmq_wire.records.record import Record
from msmq_wire.records.row_values import RowValues

MESSAGE_ROW_COLUMNS: tuple[Column, ...] = (*COLUMNS, OUTCOME)
"""The columns of messages, and that of their outcome."""

_Make: TypeAlias = Callable[[Sequence[list[Any]]], list[Any]]
_KNOWN = {one.name: one for one in COLUMNS}


def names_outcome(columns: str | None) -> bool:
    """Whether somebody who names columns wants the outcome by its name."""
    return any(name.strip(" +") == OUTCOME.name for name in (columns or "").split(","))


def message_row(
    record: Record, message: MessageValues, outcome: Outcome | None = None, *, hidden: Collection[str] = ()
) -> RowValues:
    """What there is of a message, of its record, and its outcome; what is ``hidden`` is None."""
    return RowValues(record, message, RecordRow(record), _OutcomeSource(outcome), hidden=hidden)


def message_projection(
    names: Sequence[str],
    make: _Make | None,
    outcomes: Callable[[Sequence[int], Sequence[str | None]], list[Outcome | None]] | None = None,
    *,
    acknowledgments: bool,
) -> Projection | None:
    """What makes rows of these columns without a record for each; None where not all can be had so.

    ``outcomes`` gives those of many messages, by the ids of their records and their own.
    """
    wanted = tuple(_KNOWN[name] for name in names if name in _KNOWN)
    if make is None or len(wanted) + (outcomes is not None) < len(names):
        return None
    if outcomes is None:
        return Projection(wanted, make, acknowledgments=acknowledgments)
    place, became = names.index(OUTCOME.name), outcomes

    def with_outcomes(values: Sequence[list[Any]]) -> list[Any]:
        *shown, records, message_ids = values
        return make([*shown[:place], became(records, message_ids), *shown[place:]])

    columns = (*wanted, _KNOWN["id"], _KNOWN["message_id"])
    return Projection(columns, with_outcomes, acknowledgments=acknowledgments)


class _OutcomeSource:
    """The outcome of one message as a row has it."""

    def __init__(self, outcome: Outcome | None) -> None:
        self._outcome = outcome

    def __contains__(self, name: object) -> bool:
        return name == OUTCOME.name

    def __getitem__(self, name: str) -> Any:
        return self._outcome

    json = __getitem__
