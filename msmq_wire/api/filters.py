"""Filters as Python programs give them: one expression, or several that must all match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from msmq_wire.arguments import texts
from msmq_wire.errors import ArgumentError
from msmq_wire.records.filter.compiling import asks_for_outcome, compile_filter

if TYPE_CHECKING:
    from msmq_wire.records.filter.compiling import Filter

Expressions: TypeAlias = str | Sequence[str] | None
"""What ``--filter`` takes; times without a zone of their own are in UTC."""
OUTCOME_AT_END = "an outcome is known only at the end of a capture"
OUTCOME_WAY = 'mw.messages(path) and mw.table(path, "messages") filter by it'


def expressions_in(given: Expressions) -> tuple[str, ...]:
    """The expressions that were given. Raises TypeError for what is no text."""
    return () if given is None else texts("filter", given)


def filter_of(given: Expressions, *, outcomes: bool = False, way: str = OUTCOME_WAY) -> Filter | None:
    """The expressions as one filter, None without any. Raises ArgumentError, which names the column.

    ``outcomes`` says that it is known what became of messages; if not, ``way`` says what to do for that.
    """
    if not outcomes and filters_by_outcome(given):
        raise ArgumentError(f"{OUTCOME_AT_END}: {way}")
    parts = [compile_filter(one, outcomes=outcomes) for one in expressions_in(given)]
    return (lambda subject: all(part(subject) for part in parts)) if parts else None


def filters_by_outcome(given: Expressions) -> bool:
    """Whether an expression asks what became of messages."""
    return any(map(asks_for_outcome, expressions_in(given)))
