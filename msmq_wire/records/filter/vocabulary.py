"""The names that filters know: `Name`, and `Vocabulary`, which finds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from msmq_wire.arguments import nearest
from msmq_wire.errors import ArgumentError
from msmq_wire.records.filter.field import FilterField

Seen = TypeVar("Seen")
_SHOWN = 60
_NOTHING: Mapping[str, str] = {}


class Name(msgspec.Struct, Generic[Seen], frozen=True):
    """A name: what it means, what its values are, and where they are in what a filter sees.

    Several values are compared one by one; None and no value are the same. What it is ``mistaken`` for is no
    name: the heading of a column in another unit.
    """

    name: str
    doc: str
    place: FilterField
    values: Callable[[Seen], tuple[Any, ...]]
    aliases: tuple[str, ...] = ()
    mistaken: tuple[str, ...] = ()


class Vocabulary(Generic[Seen]):
    """Names with their aliases; ``others`` finds what is no name, as a path, or gives None.

    ``refused`` are names that only other commands know, each with what is said of it.
    """

    def __init__(
        self,
        names: tuple[Name[Seen], ...],
        others: Callable[[str], Name[Seen] | None],
        refused: Mapping[str, str] = _NOTHING,
    ) -> None:
        self.names: Mapping[str, Name[Seen]] = {one.name: one for one in names}
        self._aliases = {alias: one for one in names for alias in one.aliases}
        self._mistaken = {word: one for one in names for word in one.mistaken}
        self._others = others
        self.refused = refused

    def known(self, name: str) -> Name[Seen] | None:
        """What is called ``name``."""
        return self.names.get(name) or self._others(name) or self._aliases.get(name)

    def __getitem__(self, name: str) -> Name[Seen]:
        """What is called ``name``. Raises ArgumentError, with what is called nearly so."""
        found = self.known(name)
        if found is not None:
            return found
        if name in self.refused:
            raise ArgumentError(self.refused[name])
        known = (*self.names, *self._aliases)
        near = nearest(name, known)
        hint = f"did you mean {near!r}? " if near else ""
        if name in self._mistaken:
            meant = self._mistaken[name]
            hint = f"did you mean {meant.name!r}? {meant.doc} "
        raise ArgumentError(
            f"nothing is called {name[:_SHOWN]!r}; {hint}msmq-wire filter --help has the names"
        )
