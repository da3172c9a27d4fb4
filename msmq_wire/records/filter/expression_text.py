"""Filter expressions in words, and a line of help for each name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msmq_wire.records.filter.expression_tree import Both, Comparison, Either, Negation, Presence, Tree
from msmq_wire.records.filter.field import FilterField
from msmq_wire.records.filter.vocabulary import Name, Vocabulary

_INDENT = "  "
_ORDERS = {"<": ("less than", "before"), "<=": ("at most", "at or before")}
_ORDERS |= {">": ("more than", "after"), ">=": ("at least", "at or after")}


def expression_lines(tree: Tree, vocabulary: Vocabulary[Any], depth: int = 0) -> Iterator[str]:
    """The lines of an expression: what stands deeper belongs to the line above."""
    match tree:
        case Both():
            yield f"{_INDENT * depth}all of these:"
        case Either():
            yield f"{_INDENT * depth}one of these:"
        case Negation():
            yield f"{_INDENT * depth}not so:"
        case _:
            yield f"{_INDENT * depth}{_comparison(tree, vocabulary[tree.given].place)}"
            return
    for part in (tree.part,) if isinstance(tree, Negation) else tree.parts:
        yield from expression_lines(part, vocabulary, depth + 1)


def _comparison(tree: Presence | Comparison, place: FilterField) -> str:
    name = tree.given if tree.given == tree.name else f"{tree.given} ({tree.name})"
    if isinstance(tree, Presence):
        return f"{name} is there, and is not empty, zero or false"
    text = repr(tree.texts[0])
    if tree.operator in _ORDERS:
        return f"{name} is {_ORDERS[tree.operator][place.dated]} {text}"
    if tree.operator == "in":
        known = ", ".join(map(repr, tree.texts))
        return f"{name} is {'there and none' if tree.negated else 'one'} of {known}"
    if tree.operator == "matches":
        return f"{name} has in it what the pattern {text} says, in upper or lower case"
    within = "within " if place.dated else ""
    match tree.operator:
        case "==":
            return f"{name} is {within}{text}"
        case "!=":
            return f"{name} is there and not {within}{text}"
    return f"{name} is within {text}" if place.dated else f"{name} contains {text}, in upper or lower case"


def doc_of(name: Name[Any]) -> str:
    """What a name means, the words that it can be and what else it is called."""
    text = name.doc
    if name.place.choices and not all(word in text for word in name.place.choices):
        text += f" One of {', '.join(name.place.choices)}."
    return f"{text} Also: {', '.join(name.aliases)}." if name.aliases else text
