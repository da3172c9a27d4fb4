"""Filters of findings, by their own names and by the names of the items in their evidence.

The rule kept here: a finding matches with one place of its evidence, as a whole: what is asked of the item
is asked of the item there. Of a place without an item no such question is true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any, TypeAlias

import msgspec

from msmq_wire.detection.columns import FINDING_COLUMNS
from msmq_wire.detection.finding import Evidence, Finding
from msmq_wire.records.filter.compiling import leaves
from msmq_wire.records.filter.expression_tree import Tree, composed, names_in
from msmq_wire.records.filter.field import FOLDED, NUMBER, TEXT, FilterField
from msmq_wire.records.filter.parser import parsed
from msmq_wire.records.filter.record_names import groups, records
from msmq_wire.records.filter.subject import Subject
from msmq_wire.records.filter.vocabulary import Name, Vocabulary
from msmq_wire.records.record import Record
from msmq_wire.records.run import Run, in_order

_PAGE = 8
"""The bits of a number inside a page."""
_REST = (1 << _PAGE) - 1


class _FindingAtPlace(msgspec.Struct, frozen=True):
    """A finding with one piece of its evidence."""

    finding: Finding
    place: Evidence


FindingName: TypeAlias = Name[_FindingAtPlace]


def _own(attribute: str) -> Callable[[_FindingAtPlace], tuple[Any, ...]]:
    def values(seen: _FindingAtPlace) -> tuple[Any, ...]:
        found = getattr(seen.finding, attribute)
        return found if isinstance(found, tuple) else (found,)

    return values


def _at_place(attribute: str) -> Callable[[_FindingAtPlace], tuple[Any, ...]]:
    return lambda seen: (getattr(seen.place, attribute),)


_ATTRIBUTES = {"rule": "id"}
_ALIASES = {"cves": ("cve",), "caveats": ("caveat",)}
_OF_PLACE = ("record", "path")
_OF_ITEM = ("capture", "frames", "time", "src", "dst", "offset", "length")
"""Columns of evidence that are also names of its item; a filter reads the item."""


def _names() -> tuple[FindingName, ...]:
    found = []
    for one in FINDING_COLUMNS:
        if one.name in _OF_ITEM:
            continue
        if one.name in _OF_PLACE:
            place, values = (NUMBER if one.kind == "number" else TEXT), _at_place(one.name)
        else:
            kind: Any = "rank" if one.name == "severity" else "text"
            place = FilterField(kind, choices=one.choices, folded=one.name in FOLDED)
            values = _own(_ATTRIBUTES.get(one.name, one.name))
        found.append(Name(one.name, one.doc, place, values, _ALIASES.get(one.name, ())))
    return tuple(found)


FINDING_NAMES = _names()
"""The names of findings in filters, in addition to the names of items."""


def all_names() -> Mapping[str, tuple[Name[Any], ...]]:
    """All names in filters, by owner."""
    return {**groups(), "findings": FINDING_NAMES}


def findings_vocabulary(*, outcomes: bool = False) -> Vocabulary[Any]:
    """The names of findings and of items; with ``outcomes`` also what no finding is asked for."""
    known = records(outcomes=outcomes)
    return Vocabulary(
        (*FINDING_NAMES, *known.names.values()),
        lambda name: _key(name) or known.known(name),
        known.refused,
    )


def _key(name: str) -> FindingName | None:
    """A number of the evidence by its JSON path, if the item has a number with the same name."""
    before, _, rest = name.partition(".")
    if before != "evidence" or rest not in ("offset", "length"):
        return None
    return Name(name, "", NUMBER, _at_place(rest))


class FindingFilter:
    """Selects the findings that match all expressions; takes records, or runs, before their findings."""

    def __init__(self, expressions: Sequence[str], zone: tzinfo | None = UTC) -> None:
        """Raises ArgumentError, as `msmq_wire.records.filter.compile_filter` does."""
        self._parts: list[tuple[Callable[[Subject], bool], Numbers]] = []
        self._matches = [self._compiled(one, zone) for one in expressions]

    def _compiled(self, expression: str, zone: tzinfo | None) -> Callable[[_FindingAtPlace], bool]:
        vocabulary = findings_vocabulary()
        leaf = leaves(expression, vocabulary, zone)
        own = {one.name for one in FINDING_NAMES}

        def part(tree: Tree) -> Callable[[_FindingAtPlace], bool] | None:
            if any(name in own or name.startswith("evidence.") for name in names_in(tree)):
                return leaf(tree)
            asked = composed(tree, leaf)
            matching = Numbers()
            self._parts.append((asked, matching))
            return lambda seen: seen.place.record is not None and seen.place.record in matching

        return composed(parsed(expression, vocabulary), part)

    def see(self, record: Record) -> None:
        """Remember which expressions a record matches."""
        subject = Subject(record)
        for asked, matching in self._parts:
            if asked(subject):
                matching.add(record.id)

    def take(self, run: Run) -> None:
        """Remember which expressions each record of a run matches."""
        for record in in_order(run) if self._parts else ():
            self.see(record)

    def __contains__(self, finding: object) -> bool:
        if not isinstance(finding, Finding):
            return False
        seen = (_FindingAtPlace(finding, place) for place in finding.evidence)
        return any(all(matches(one) for matches in self._matches) for one in seen)


class Numbers:
    """A set of numbers from 0 on; adjacent numbers, such as record ids, need about one bit each."""

    __slots__ = ("_pages",)

    def __init__(self) -> None:
        self._pages: dict[int, int] = {}

    def add(self, number: int) -> None:
        """Add a number."""
        page = number >> _PAGE
        self._pages[page] = self._pages.get(page, 0) | 1 << (number & _REST)

    def __contains__(self, number: int) -> bool:
        return bool(self._pages.get(number >> _PAGE, 0) >> (number & _REST) & 1)
