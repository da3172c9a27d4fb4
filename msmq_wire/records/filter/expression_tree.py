"""Filter expressions as a tree, and the function that each tree compiles to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import msgspec

Subject = TypeVar("Subject")


class Presence(msgspec.Struct, frozen=True):
    """Whether a name has a value that is not empty, zero or false; ``given`` is what it was called."""

    name: str
    given: str


class Comparison(msgspec.Struct, frozen=True):
    """A name, an operator and what it is compared with: for ``in`` any number of texts, else one.

    ``negated`` belongs to ``in``. ``columns`` say where the texts begin.
    """

    name: str
    given: str
    operator: str
    texts: tuple[str, ...]
    columns: tuple[int, ...]
    negated: bool = False


class Negation(msgspec.Struct, frozen=True):
    """What must not be true."""

    part: Tree


class Both(msgspec.Struct, frozen=True):
    """All of which must be true."""

    parts: tuple[Tree, ...]


class Either(msgspec.Struct, frozen=True):
    """One of which must be true."""

    parts: tuple[Tree, ...]


Tree: TypeAlias = Presence | Comparison | Negation | Both | Either


def names_in(tree: Tree) -> set[str]:
    """The names that a tree compares."""
    match tree:
        case Presence() | Comparison():
            return {tree.name}
        case Negation():
            return names_in(tree.part)
        case Both() | Either():
            return set().union(*map(names_in, tree.parts))


def composed(
    tree: Tree, leaf: Callable[[Tree], Callable[[Subject], bool] | None]
) -> Callable[[Subject], bool]:
    """The function that a tree is, of what ``leaf`` makes of its parts; None has it ask for smaller ones."""
    found = leaf(tree)
    if found is not None:
        return found
    match tree:
        case Negation():
            part = composed(tree.part, leaf)
            return lambda subject: not part(subject)
        case Both():
            parts = [composed(one, leaf) for one in tree.parts]
            return lambda subject: all(part(subject) for part in parts)
        case Either():
            parts = [composed(one, leaf) for one in tree.parts]
            return lambda subject: any(part(subject) for part in parts)
    raise TypeError(f"{tree} is no part of others")
