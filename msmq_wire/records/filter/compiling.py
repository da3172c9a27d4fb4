"""From an expression to a function: `compile_filter`.

The rule kept here: what there is not matches no comparison, not even ``!=``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import Any, TypeAlias

from msmq_wire.errors import MsmqWireError
from msmq_wire.records.filter.expression_tree import Comparison, Presence, Tree, composed, names_in
from msmq_wire.records.filter.matching import Matcher, matcher
from msmq_wire.records.filter.parser import misplaced, parsed
from msmq_wire.records.filter.record_names import records
from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.filter.vocabulary import Name, Vocabulary
from msmq_wire.records.outcome import OUTCOME

Filter: TypeAlias = Callable[[Subject], bool]
Leaves: TypeAlias = Callable[[Tree], Callable[[Any], bool] | None]


def compile_filter(expression: str, zone: tzinfo | None = UTC, *, outcomes: bool = False) -> Filter:
    """Compile an expression to a function of a `Subject`.

    Times without a zone of their own are in ``zone``, None for that of this machine. With ``outcomes`` the
    subjects know what became of their messages. Raises ArgumentError that names the column.
    """
    vocabulary = records(outcomes=outcomes)
    return composed(parsed(expression, vocabulary), leaves(expression, vocabulary, zone))


def asks_for_outcome(expression: str) -> bool:
    """Whether an expression asks what became of messages. Raises as `compile_filter`."""
    return OUTCOME.name in names_in(parsed(expression, records(outcomes=True)))


def leaves(expression: str, vocabulary: Vocabulary[Any], zone: tzinfo | None) -> Leaves:
    """What makes functions of the comparisons in an expression."""

    def leaf(tree: Tree) -> Callable[[Any], bool] | None:
        if isinstance(tree, Presence):
            values = vocabulary[tree.given].values
            return lambda subject: any(values(subject))
        if not isinstance(tree, Comparison):
            return None
        name = vocabulary[tree.given]
        operator = "==" if tree.operator == "in" else tree.operator
        matchers = []
        for text, column in zip(tree.texts, tree.columns, strict=True):
            try:
                matchers.append(matcher(tree.given, operator, text, zone, name.place))
            except MsmqWireError as error:
                raise misplaced(expression, column, str(error)) from None
        one = matchers[0] if len(matchers) == 1 else _any_of(matchers)
        if operator == "!=":
            return _of_all(name, one)
        return _of_none(name, one) if tree.negated else _of_any(name, one)

    return leaf


def _any_of(matchers: list[Matcher]) -> Matcher:
    return lambda value: any(matches(value) for matches in matchers)


def _of_any(name: Name[Any], matches: Matcher) -> Callable[[Any], bool]:
    values = name.values

    def found(subject: Any) -> bool:
        for value in values(subject):  # noqa: SIM110  (asked of every record: a generator costs half of it)
            if value is not None and matches(value):
                return True
        return False

    return found


def _of_all(name: Name[Any], matches: Matcher) -> Callable[[Any], bool]:
    """Of two hosts neither may be the one that is excluded."""
    values = name.values

    def found(subject: Any) -> bool:
        present = [value for value in values(subject) if value is not None]
        return bool(present) and all(map(matches, present))

    return found


def _of_none(name: Name[Any], matches: Matcher) -> Callable[[Any], bool]:
    return _of_all(name, lambda value: not matches(value))
