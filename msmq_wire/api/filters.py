"""Filters as Python programs give them: one expression, or several that must all match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from msmq_wire.arguments import wrong_type
from msmq_wire.records.filter.compiling import asks_for_outcome, compile_filter

if TYPE_CHECKING:
    from msmq_wire.records.filter.compiling import Filter

Expressions: TypeAlias = str | Sequence[str] | None
"""What ``--filter`` takes; times without a zone of their own are in UTC."""


def expressions_in(given: Expressions) -> tuple[str, ...]:
    """The expressions that were given. Raises TypeError for what is no text."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Sequence) or not all(isinstance(one, str) for one in given):
        raise TypeError(wrong_type("filter", "text or a list of texts", given))
    return tuple(given)


def filter_of(given: Expressions, *, outcomes: bool = False) -> Filter | None:
    """The expressions as one filter, None without any. Raises MsmqWireError, which names the column.

    ``outcomes`` says that it is known what became of messages.
    """
    parts = [compile_filter(one, outcomes=outcomes) for one in expressions_in(given)]
    return (lambda subject: all(part(subject) for part in parts)) if parts else None


def filters_by_outcome(given: Expressions) -> bool:
    """Whether an expression asks what became of messages."""
    return any(map(asks_for_outcome, expressions_in(given)))
