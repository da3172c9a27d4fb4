"""Expressions, named checks and paths over columns.

The rule kept here: a column that is read for other rows than its own is spread over all rows first, and rows
that lack it are unknown there, as an absent part is to an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from msmq_wire.engines.columns.vectors import (
    Bools,
    Column,
    Integers,
    ListColumn,
    NumberColumn,
    OctetsColumn,
    RowSet,
    StructColumn,
    UnionColumn,
    coded_numbers,
)
from msmq_wire.wire.expressions import Expression, Undetermined


class _Nothing(Undetermined):
    """A value that no row has; numpy leaves operations with it to it."""

    __slots__ = ()
    __array_ufunc__ = None


_NOTHING = _Nothing()


class _Scope:
    """A structure as the scope of an expression that is asked for some rows."""

    def __init__(self, part: StructColumn | None, question: _Question) -> None:
        self.part = part
        self.question = question

    def __getitem__(self, name: str) -> Any:
        part = self.part
        if part is None:
            return _NOTHING
        if name == "_":
            return _Scope(part.parent, self.question)
        if name in part.fields:
            return self.question.read(part.fields[name])
        if name in part.context:
            return part.context[name]
        constant = getattr(part.cls, name, None)
        if isinstance(constant, int):
            return constant
        raise TypeError(f"{part.cls.__name__} has no {name} for an expression")


class _Question:
    """An expression over the rows of a set; ``known`` are the rows that have all it reads, None for all."""

    def __init__(self, rows: RowSet) -> None:
        self.rows = rows
        self.known: Bools | None = None

    def read(self, column: Column) -> Any:
        """A column as expressions see it."""
        if column is None:
            return _NOTHING
        if isinstance(column, StructColumn):
            return _Scope(column, self)
        if isinstance(column, NumberColumn):
            self.need(column.rows)
            return column.rows.spread(column.values, self.rows)
        return _Bytes(column, self)

    def need(self, rows: RowSet) -> None:
        """Take note that the answer is unknown outside these rows."""
        if rows is self.rows or rows.includes(self.rows):
            return
        mask = rows.mask if self.rows.index is None else rows.mask[self.rows.index]
        self.known = mask if self.known is None else self.known & mask


class _Bytes:
    """A column of byte strings, layouts or lists in an expression: its lengths, and what it equals."""

    def __init__(self, column: OctetsColumn | UnionColumn | ListColumn, question: _Question) -> None:
        self._column = column
        self._question = question

    @property
    def lengths(self) -> Integers:
        """Bytes, or elements, of each."""
        if isinstance(self._column, UnionColumn):
            raise TypeError("the size of a field with several layouts")
        self._question.need(self._column.rows)
        lengths: Integers = self._column.rows.spread(self._column.lengths, self._question.rows)
        return lengths

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, bytes):
            raise TypeError(f"bytes are compared with a {type(other).__name__}")
        column = self._column
        if isinstance(column, ListColumn):
            raise TypeError("a list is compared with bytes")
        if isinstance(column, OctetsColumn):
            self._question.need(column.rows)
            return column.rows.spread(column.equals(other), self._question.rows)
        same = np.zeros(self._question.rows.count, np.bool_)
        present = np.zeros(column.arms[0].rows.total, np.bool_)
        for arm in column.arms:
            present |= arm.rows.mask
            if isinstance(arm, OctetsColumn):
                same |= arm.rows.spread(arm.equals(other), self._question.rows)
        self._question.need(RowSet(len(present), np.flatnonzero(present)))
        return same

    __hash__ = None  # type: ignore[assignment]  # a column is no key


def evaluate(expression: Expression, part: StructColumn | None, rows: RowSet) -> tuple[Any, Bools | None]:
    """The value of an expression for some rows, and which rows know it, None for all.

    The value is an array, or one number for all rows, or `Undetermined`.
    """
    if not callable(expression):
        return expression, None
    question = _Question(rows)
    return expression(_Scope(part, question)), question.known


def column_at(part: StructColumn, path: str) -> Column:
    """The column of a field at a dotted path, or of what is inside of one; None when no row has it."""
    column: Column = part
    for name in path.split("."):
        if not isinstance(column, StructColumn):
            return None
        column = column.fields.get(name, column.inside.get(name))
    return column


def columns_at(part: StructColumn, path: str) -> list[NumberColumn | OctetsColumn]:
    """The columns of a field at a dotted path, where what is on the way may have several layouts."""
    found: list[Column] = [part]
    for name in path.split("."):
        inner = [_inner(one, name) for one in found if isinstance(one, StructColumn)]
        found = [arm for one in inner for arm in (one.arms if isinstance(one, UnionColumn) else (one,))]
    return [one for one in found if isinstance(one, NumberColumn | OctetsColumn)]


def _inner(part: StructColumn, name: str) -> Column:
    return part.parent if name == "_" else part.fields.get(name)


def combinations(columns: Sequence[Column], rows: RowSet) -> tuple[Integers, list[tuple[Any, ...]]]:
    """A code for every row of a set, and the values of every code, None for what a row has not.

    A field with several layouts counts where it is bytes.
    """
    total = np.zeros(rows.count, np.int64)
    found: list[tuple[Any, ...]] = [()]
    for column in columns:
        own, values = _coded(column, rows)
        if len(found) == 1:
            total, found = own, [(*found[0], value) for value in values]
            continue
        if len(values) == 1:
            found = [(*before, values[0]) for before in found]
            continue
        total, pairs = coded_numbers(total * len(values) + own)
        found = [(*found[pair // len(values)], values[pair % len(values)]) for pair in pairs]
    return total, found


def _coded(column: Column, rows: RowSet) -> tuple[Integers, list[Any]]:
    arms = column.arms if isinstance(column, UnionColumn) else (column,)
    scalars = [arm for arm in arms if isinstance(arm, NumberColumn | OctetsColumn)]
    if not scalars:
        return np.zeros(rows.count, np.int64), [None]
    if len(scalars) > 1:
        raise TypeError("a named check of a field that is a number or bytes in several layouts")
    (scalar,) = scalars
    codes, values = scalar.distinct()
    own = scalar.rows.spread(codes, rows)
    if scalar.rows.includes(rows):
        return own, list(values)
    present = scalar.rows.mask if rows.index is None else scalar.rows.mask[rows.index]
    return np.where(present, own, len(values)), [*values, None]


_KEPT = 1024
"""Bytes of values up to which a verdict on them is remembered."""


def _verdict(check: Callable[..., object], values: tuple[Any, ...]) -> bool:
    """What a named check says of some values; traffic repeats itself, so short ones are remembered."""
    size = sum(len(value) for value in values if isinstance(value, bytes))
    return _remembered(check, values) if size <= _KEPT else bool(check(*values))


@lru_cache(maxsize=8192)
def _remembered(check: Callable[..., object], values: tuple[Any, ...]) -> bool:
    return bool(check(*values))


def verdicts(
    check: Callable[..., object],
    columns: Sequence[NumberColumn | OctetsColumn],
    rows: RowSet,
    *,
    absent: bool = True,
) -> Bools:
    """What a named check says of every row of a set, asked once per distinct value; ``absent`` without it."""
    codes, found = combinations(columns, rows)
    passed = np.array([absent if None in values else _verdict(check, values) for values in found], np.bool_)
    result: Bools = passed[codes]
    return result


def end_with_only_nul(column: OctetsColumn) -> bool:
    """Whether every text of a column is empty, or ends with a 16-bit NUL and has no other."""
    lengths = column.lengths
    if (lengths & 1).any():
        return False
    _, ends, data = column.source.copied(column.offsets, lengths).buffers()
    places = np.frombuffer(ends, np.int64, len(lengths) + 1) // 2
    nuls = np.flatnonzero(np.frombuffer(data, np.uint16, int(places[-1])) == 0)
    return np.array_equal(nuls, places[1:][lengths > 0] - 1)


def leaves(
    part: StructColumn, prefix: str = ""
) -> Iterator[tuple[str, NumberColumn | OctetsColumn | StructColumn]]:
    """The columns under a structure by dotted path; one path can have several, for different rows.

    What stands in lists is left out: it has no path of its own.
    """
    for name, column in (*part.fields.items(), *part.inside.items()):
        path = f"{prefix}{name}"
        for arm in column.arms if isinstance(column, UnionColumn) else (column,):
            if arm is None or isinstance(arm, ListColumn):
                continue
            yield path, arm
            if isinstance(arm, StructColumn):
                yield from leaves(arm, f"{path}.")
