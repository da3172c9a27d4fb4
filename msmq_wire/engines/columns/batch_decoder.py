"""`ColumnDecoder`: decodes all packets of one class in a batch at once.

The rule kept here: every node does its work on all rows at once. Places only grow, so a row that was ever
past its limit is found at the end; what it seemed to hold until then means nothing and is never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from msmq_wire.engines.columns.plan import GATHERED, sure_bytes
from msmq_wire.engines.columns.scopes import column_at, evaluate
from msmq_wire.engines.columns.vectors import (
    BatchBytes,
    Bools,
    Column,
    FieldRun,
    Integers,
    ListColumn,
    NumberColumn,
    OctetsColumn,
    RowSet,
    StructColumn,
    UnionColumn,
)
from msmq_wire.wire.expressions import Expression, Undetermined
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.generation import generate

_FIRST_PLACES = 4
"""Places of lists that are worth a column however few rows have them."""
_LAST_PLACE = 64
"""Rows with longer lists are left to the codec."""
_FIRST_WINDOW = 64
"""Bytes that are searched for a terminator first; then twice as many, and so on."""


class _Cursor:
    """Where the packets of some rows are being read; places are offsets in the source."""

    def __init__(
        self, rows: RowSet, start: Integers, end: Integers, limit: Integers, position: Integers
    ) -> None:
        self.rows = rows
        self.start = start
        self.end = end
        self.limit = limit
        self.limited = False
        self.run: FieldRun | None = None
        self.in_run = 0
        self._base = position
        self._moved = 0

    @property
    def position(self) -> Integers:
        """Where the next field begins."""
        if self._moved:
            self._base = self._base + self._moved
            self._moved = 0
        return self._base

    def move(self, by: int) -> None:
        """Go on inside a run."""
        self._moved += by
        self.in_run += by

    def place(self, position: Integers) -> None:
        """Go on somewhere else."""
        self._base, self._moved, self.run = position, 0, None

    def narrowed(self, local: Integers) -> _Cursor:
        """A cursor of the rows with the given places in the set."""
        return _Cursor(
            self.rows.narrowed(local),
            self.start[local],
            self.end[local],
            self.limit[local],
            self.position[local],
        )

    def join(self, local: Integers, inner: _Cursor) -> None:
        """Go on where another cursor has come to with some of the rows."""
        position = self.position.copy()
        position[local] = inner.position
        self.place(position)
        if inner.limited:
            self.limit = self.limit.copy()
            self.limit[local] = inner.limit
            self.limited = True


class ColumnDecoder:
    """A `Generator` that decodes: every structure of one class in a batch at once.

    ``bad`` are the rows that are no whole structure, or not by what this engine can tell; what their columns
    hold means nothing.
    """

    def __init__(self, source: BatchBytes, starts: Integers, ends: Integers, cls: type[WireStruct]) -> None:
        self.source = source
        self.bad = np.zeros(len(starts), np.bool_)
        self.parts: list[StructColumn] = []
        self._part: StructColumn | None = None
        self._path: tuple[str, ...] = ()
        self._sure = sure_bytes(cls)
        self._cursor = _Cursor(RowSet(len(starts)), starts, ends, ends, starts)
        self.top = self.structure(cls, {})
        self._check()
        self.stops = self._cursor.position
        for name, (at, inner) in getattr(cls, "INSIDE", {}).items():
            self._look_inside(name, column_at(self.top, at), inner)
        if self.bad.any():
            for part in self.parts:
                for column in part.fields.values():
                    for octets in _octets_of(column):
                        octets.hide(self.bad)

    def _look_inside(self, name: str, column: Column, cls: type[WireStruct]) -> None:
        """Decode the structure that is inside a field, where the field is as long as it must be."""
        if not isinstance(column, OctetsColumn):
            return
        size = cls.schema().sizeof()
        local = np.flatnonzero((column.lengths == size) & ~self.bad[column.rows.mask])
        if not len(local):
            return
        at = column.offsets[local]
        self._cursor = _Cursor(column.rows.narrowed(local), at, at + size, at + size, at)
        self._path, self._sure, self._part = (), sure_bytes(cls), self.top
        before = len(self.parts)
        self.top.inside[name] = self.structure(cls, {})
        for part in self.parts[before:]:
            part.path = f"{name}.{part.path}".rstrip(".")

    def _mark(self, wrong: Any) -> None:
        if wrong.any():
            index = self._cursor.rows.index
            self.bad[np.flatnonzero(wrong) if index is None else index[wrong]] = True

    def _mark_places(self, local: Integers) -> None:
        """As `_mark`, for the rows with the given places in the set of the cursor."""
        index = self._cursor.rows.index
        self.bad[local if index is None else index[local]] = True

    @property
    def _top(self) -> Integers:
        """What nothing may be read past."""
        top: Integers = np.minimum(self._cursor.limit, self._cursor.end)
        return top

    def _check(self) -> None:
        # No length is negative, so that a row that was ever past its limit still is.
        self._mark(self._cursor.position > self._top)

    def _fixed(self, size: int) -> tuple[FieldRun, int]:
        cursor = self._cursor
        if cursor.run is None or cursor.in_run + size > cursor.run.size:
            cursor.run = FieldRun(self.source, cursor.position, max(size, self._sure.get(self._path, size)))
            cursor.in_run = 0
        at = cursor.in_run
        cursor.move(size)
        return cursor.run, at

    def _octets(self, lengths: Any, kind: type[bytes]) -> OctetsColumn:
        cursor = self._cursor
        position = cursor.position
        if isinstance(lengths, int):
            cursor.place(position + lengths)
            return OctetsColumn(self.source, cursor.rows, kind, position, lengths)
        if int(lengths.min(initial=0)) < 0:
            self._mark(lengths < 0)
            lengths = np.maximum(lengths, 0)
        cursor.place(position + lengths)
        return OctetsColumn(self.source, cursor.rows, kind, position, lengths)

    def _arm(self, local: Integers, subcon: Any) -> Any:
        """Decode a node for some of the rows."""
        outer = self._cursor
        self._cursor = outer.narrowed(local)
        column = generate(subcon, self)
        outer.join(local, self._cursor)
        self._cursor = outer
        return column

    def _value(self, expression: Expression) -> Any:
        value, known = evaluate(expression, self._part, self._cursor.rows)
        if known is not None or isinstance(value, Undetermined):
            # It depends on a list or a text that this engine does not read.
            self._mark(np.ones(self._cursor.rows.count, np.bool_))
            return 0
        return value

    def integer(self, size: int, *, signed: bool, big_endian: bool) -> NumberColumn:
        run, at = self._fixed(size)
        if size in (1, 2, 4):
            letter = "i" if signed else "u"
            values = run.field(at, f"{'>' if big_endian else '<'}{letter}{size}")
            return NumberColumn(self._cursor.rows, values, size, (run, at))
        if size > 7 or signed:
            raise TypeError(f"no column holds a number of {size} bytes")
        places = range(size)
        total = np.zeros(self._cursor.rows.count, np.int64)
        for place in places if big_endian else reversed(places):
            total = total << 8 | run.field(at + place, "u1")
        return NumberColumn(self._cursor.rows, total, size, (run, at))

    def octets(self, length: Expression, kind: type[bytes]) -> OctetsColumn:
        if isinstance(length, int) and length <= GATHERED:
            return OctetsColumn(self.source, self._cursor.rows, kind, self._fixed(length), length)
        return self._octets(self._value(length), kind)

    def fill(self, length: Expression) -> OctetsColumn:
        return self._octets(self._value(length), bytes)

    def align(self, to: int) -> OctetsColumn:
        cursor = self._cursor
        lengths = (cursor.start - cursor.position) % to
        return self._octets(lengths * (cursor.position + lengths <= cursor.limit), bytes)

    def zero_terminated(self, kind: type[bytes]) -> OctetsColumn:
        start, top = self._cursor.position, self._top
        lengths = np.zeros(len(start), np.int64)
        left, done, window = np.arange(len(start)), 0, _FIRST_WINDOW
        # What is searched together is never much more than the bytes that the rows have.
        while len(left):
            inside = start[left] + done + 2 <= top[left]
            if not inside.all():
                self._mark_places(left[~inside])
                left = left[inside]
            ends = self.source.peek(start[left] + done, window).view("<u2") == 0
            first = ends.argmax(axis=1)
            found = ends[np.arange(len(left)), first]
            lengths[left[found]] = done + 2 * first[found] + 2
            left, done, window = left[~found], done + window, window * 2
        return self._octets(lengths, kind)

    def optional(self, condition: Expression, subcon: Any) -> Any:
        value, known = evaluate(condition, self._part, self._cursor.rows)
        if isinstance(value, Undetermined):
            return None
        holds = np.broadcast_to(np.asarray(value, np.bool_), self._cursor.rows.count)
        if known is not None:
            holds = holds & known
        if holds.all():
            return generate(subcon, self)
        local = np.flatnonzero(holds)
        return self._arm(local, subcon) if len(local) else None

    def choice(self, selector: Expression, cases: Mapping[int, Any]) -> Any:
        count = self._cursor.rows.count
        selected = np.broadcast_to(np.asarray(self._value(selector), np.int64), count)
        if not count:
            return None
        first = int(selected[0])
        if first in cases and (selected == first).all():
            subcon = cases[first]
            return None if subcon is None else generate(subcon, self)
        layouts: dict[int, tuple[Any, Bools]] = {}
        unknown = np.ones(count, np.bool_)
        for value, subcon in cases.items():
            chosen = selected == value
            unknown &= ~chosen
            if subcon is not None:
                _, others = layouts.get(id(subcon), (None, False))
                layouts[id(subcon)] = (subcon, chosen | others)
        self._mark(unknown)
        # All arms begin where the field does, whatever the others take.
        arms = [self._arm(np.flatnonzero(rows), subcon) for subcon, rows in layouts.values() if rows.any()]
        return UnionColumn([arm for arm in arms if arm is not None]) if arms else None

    def items(self, count: Expression, subcon: Any, known: tuple[int, ...]) -> ListColumn:
        rows = self._cursor.rows
        wanted = np.broadcast_to(np.asarray(self._value(count), np.int64), rows.count)
        lengths = np.zeros(rows.count, np.int64)
        places: list[Column] = []
        left = np.flatnonzero(wanted > 0)
        while len(left):
            at = self._cursor.position[left]
            # An element begins with at least so much; a row without it has no whole list.
            inside = at + (2 if known else 0) <= self._top[left]
            if len(places) >= max(_FIRST_PLACES, min(len(left), _LAST_PLACE)):
                inside[:] = False
            if not inside.all():
                self._mark_places(left[~inside])
                left, at = left[inside], at[inside]
            if known:
                left = left[np.isin(self.source.peek(at, 2).view("<u2")[:, 0], known)]
            if len(left):
                before = len(self.parts)
                places.append(self._arm(left, subcon))
                for part in self.parts[before:]:
                    part.path = None
                lengths[left] += 1
                left = left[wanted[left] > len(places)]
        return ListColumn(rows, lengths, places)

    def tell(self) -> NumberColumn:
        return NumberColumn(self._cursor.rows, self._cursor.position - self._cursor.start)

    def ahead(self, subcon: Any, at: int, field: str) -> NumberColumn:
        size = subcon.sizeof()
        cursor = self._cursor
        position = cursor.position + at
        found = np.zeros(cursor.rows.count, np.int64)
        for place in reversed(self.source.peek(position, size).T):
            found = found << 8 | place
        past = position + size > cursor.limit
        cut = ~past & (position + size > cursor.end)
        if not field:
            self._mark(cut)
        return NumberColumn(cursor.rows, np.where(past | cut, -1, found))

    def value(self, expression: Expression, without: str) -> NumberColumn:
        rows = self._cursor.rows
        value, known = evaluate(expression, self._part, rows)
        if isinstance(value, Undetermined):
            value = 0
        elif known is not None:
            value = np.where(known, value, 0)
        return NumberColumn(rows, np.broadcast_to(np.asarray(value, np.int64), rows.count))

    def limit(self, end: Expression, unless: Expression) -> None:
        self._check()
        cursor = self._cursor
        lifted = True if end is None else self._value(unless)
        if isinstance(lifted, bool | int) and lifted:
            cursor.limit = cursor.end
        else:
            limit = np.broadcast_to(cursor.start + self._value(end), cursor.rows.count)
            cursor.limit = np.where(lifted, cursor.end, limit)
        cursor.limited = True

    def structure(self, cls: type[WireStruct], context: Mapping[str, int]) -> StructColumn:
        outer, path = self._part, self._path
        part = StructColumn(self._cursor.rows, cls, {**cls.CONTEXT, **context}, outer)
        part.path = ".".join(path)
        self.parts.append(part)
        for field in fields(cls):
            self._part, self._path = part, (*path, field.name)
            part.fields[field.name] = generate(field.subcon, self)
        self._part, self._path = outer, path
        return part


def _octets_of(column: Column) -> Iterator[OctetsColumn]:
    """The byte strings of a field, in whatever layout, but for those of structures."""
    if isinstance(column, OctetsColumn):
        yield column
    elif isinstance(column, UnionColumn | ListColumn):
        for one in column.arms if isinstance(column, UnionColumn) else column.places:
            yield from _octets_of(one)
