"""The column `outcome` of a row."""

from __future__ import annotations

from typing import Any

from msmq_wire.records.outcome import OUTCOME
from msmq_wire.records.row_values import RecordSource


def outcome_source(outcome: str | None) -> RecordSource:
    """What became of a message as a row has it."""
    return _Outcome(outcome)


class _Outcome:
    """The outcome of one message as a row has it."""

    def __init__(self, outcome: str | None) -> None:
        self._outcome = outcome

    def __contains__(self, name: object) -> bool:
        return name == OUTCOME.name

    def __getitem__(self, name: str) -> Any:
        return self._outcome

    json = __getitem__
