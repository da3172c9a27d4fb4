"""Lists of a walk as one column of all their elements, one list behind the other.

The rule kept here: an element keeps its values; only the set of rows that it belongs to is another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from msmq_wire.engines.columns.vectors import (
    Column,
    Integers,
    ListColumn,
    NumberColumn,
    OctetsColumn,
    RowSelection,
    RowSet,
    StructColumn,
    UnionColumn,
)

_Layout = NumberColumn | OctetsColumn | StructColumn
_Piece = tuple[Column, Integers]
"""A column, and for every row of its walk the number of the element that stands there, -1 for none."""


def elements(items: ListColumn, shown: RowSelection) -> tuple[Integers, Column]:
    """Where the list of each row that is shown begins, with the end of the last one, and all elements.

    Rows that have no list have an empty one. Lists in lists are no columns: TypeError.
    """
    begins = np.zeros(shown.count + 1, np.int64)
    np.cumsum(shown.spread(items.rows, items.lengths), out=begins[1:])
    first = np.full(items.rows.total, -1)
    first[slice(None) if shown.index is None else shown.index] = begins[:-1]
    pieces = [(column, np.where(first < 0, -1, first + at)) for at, column in enumerate(items.places)]
    return begins, _united(pieces, RowSet(int(begins[-1])))


def _united(pieces: Iterable[_Piece], around: RowSet) -> Column:
    """Pieces of one field as one column, in the rows of its structure."""
    layouts: dict[Any, list[tuple[_Layout, Integers]]] = {}
    for column, numbers in pieces:
        for arm in column.arms if isinstance(column, UnionColumn) else (column,):
            if isinstance(arm, NumberColumn | OctetsColumn | StructColumn):
                key = (
                    arm.cls
                    if isinstance(arm, StructColumn)
                    else arm.kind
                    if isinstance(arm, OctetsColumn)
                    else NumberColumn
                )
                layouts.setdefault(key, []).append((arm, numbers))
            elif arm is not None:
                raise TypeError("a list in a list")
    arms = [_joined(layout, around) for layout in layouts.values()]
    return None if not arms else arms[0] if len(arms) == 1 else UnionColumn(arms)


def _joined(pieces: list[tuple[_Layout, Integers]], around: RowSet) -> _Layout:
    """Pieces of one layout as one column."""
    numbers = np.concatenate([numbers[_index(arm)] for arm, numbers in pieces])
    order = np.argsort(numbers)[np.count_nonzero(numbers < 0) :]
    rows = around if len(order) == around.count else RowSet(around.total, numbers[order], around)
    first = pieces[0][0]
    if isinstance(first, NumberColumn):
        values = [arm.raw for arm, _ in pieces if isinstance(arm, NumberColumn)]
        return NumberColumn(rows, np.concatenate(values)[order], first.size)
    if isinstance(first, OctetsColumn):
        octets = [arm for arm, _ in pieces if isinstance(arm, OctetsColumn)]
        same = all(arm.size is not None and arm.size == first.size for arm in octets)
        lengths = None if same else np.concatenate([arm.lengths for arm in octets])[order]
        offsets = np.concatenate([arm.offsets for arm in octets])[order]
        return OctetsColumn(
            first.source, rows, first.kind, offsets, first.size or 0 if lengths is None else lengths
        )
    part = StructColumn(rows, first.cls, first.context, None)
    for name in first.fields:
        part.fields[name] = _united(
            [(arm.fields[name], own) for arm, own in pieces if isinstance(arm, StructColumn)], rows
        )
    return part


def _index(column: _Layout) -> Any:
    return slice(None) if column.rows.index is None else column.rows.index
