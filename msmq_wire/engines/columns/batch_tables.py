"""The tables of a batch: columns by path, and irregular rows as the codec decoded them.

The rule kept here: a table has every row of its type once, whoever decoded it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from msmq_wire.engines import reference
from msmq_wire.engines.columns.scopes import leaves
from msmq_wire.engines.columns.vectors import (
    BatchBytes,
    Bools,
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
from msmq_wire.engines.field_offsets import spans
from msmq_wire.errors import DecodeError
from msmq_wire.wire.expressions import Expression
from msmq_wire.wire.fields import WireStruct, fields
from msmq_wire.wire.generation import Generator, generate
from msmq_wire.wire.musts import Anomaly

UNRECOGNISED = "unrecognised"
"""The table of rows that are no packet."""


class IrregularRow(msgspec.Struct, frozen=True):
    """What the codec decoded of a row."""

    packet: Any
    consumed: int
    error: DecodeError | None


class TableColumn(msgspec.Struct, frozen=True):
    """One field in all rows of a table.

    ``present`` says which rows have it. ``values`` are numbers (int64), or byte strings of one size (uint8,
    one row each), None for others. Byte strings have ``offsets`` and ``lengths`` in the data (int64). Where a
    row lacks the field, all are 0.
    """

    present: Bools
    values: NDArray[Any] | None
    offsets: Integers | None
    lengths: Integers | None


class _Paths(Generator):
    """A `Generator` that lists the columns a structure can have: path, and size of its byte strings.

    The size is 0 for numbers, -1 for parts and for byte strings that differ in length.
    """

    def __init__(self) -> None:
        self.found: dict[str, int] = {}
        self.prefix = ""
        self.at = ""

    def _note(self, size: int) -> None:
        self.found[self.at] = size if self.found.get(self.at, size) == size else -1

    def integer(self, size: int, *, signed: bool, big_endian: bool) -> None:
        self._note(0)

    def octets(self, length: Expression, kind: type[bytes]) -> None:
        self._note(length if isinstance(length, int) else -1)

    def fill(self, length: Expression) -> None:
        self._note(-1)

    def align(self, to: int) -> None:
        self._note(-1)

    def zero_terminated(self, kind: type[bytes]) -> None:
        self._note(-1)

    def optional(self, condition: Expression, subcon: Any) -> None:
        generate(subcon, self)

    def choice(self, selector: Expression, cases: Mapping[int, Any]) -> None:
        for subcon in cases.values():
            if subcon is not None:
                generate(subcon, self)

    def structure(self, cls: type[WireStruct], context: Mapping[str, int]) -> None:
        prefix, at = self.prefix, self.at
        if at:
            self._note(-1)
        for field in fields(cls):
            if not field.position:
                self.at = f"{prefix}{field.name}"
                self.prefix = f"{self.at}."
                generate(field.subcon, self)
        self.prefix, self.at = prefix, at


@cache
def _paths(cls: type[WireStruct]) -> Mapping[str, int]:
    paths = _Paths()
    paths.structure(cls, {})
    for name, (_, inner) in getattr(cls, "INSIDE", {}).items():
        paths.at, paths.prefix = name, f"{name}."
        paths.structure(inner, {})
    return paths.found


class ColumnTable(Mapping[str, TableColumn]):
    """All rows of one type, in the order of the batch; a mapping of dotted paths to columns.

    ``rows`` are their places in the batch, ``regular`` the places in this table of the rows that columns were
    made for, ``selected`` their numbers in the columns under ``top``, None for all in order. ``irregular``,
    ``errors`` and ``anomalies`` are by place in this table; what has none is left out.
    """

    def __init__(
        self, stem: str, cls: type[WireStruct] | None, source: BatchBytes, starts: Integers, ends: Integers
    ) -> None:
        self.stem = stem
        self.cls = cls
        self.source = source
        self.top: StructColumn | None = None
        self.selected: Integers | None = None
        self.rows = np.zeros(0, np.int64)
        self.regular = self.rows
        self.irregular: dict[int, IrregularRow] = {}
        self.anomalies: dict[int, tuple[Anomaly, ...]] = {}
        self._starts = starts
        self._ends = ends
        self._stops = self.rows
        self._columns: dict[str, TableColumn] = {}

    def set_regular(
        self, top: StructColumn, consumed: Integers, selected: Integers | None, rows: Integers
    ) -> None:
        """Take the rows of a walk."""
        self.top = top
        self.selected = selected
        self.rows = rows
        self._stops = consumed if selected is None else consumed[selected]

    def add_irregular(self, row: int, found: IrregularRow) -> None:
        """Take a row of the batch that the codec decoded."""
        self.irregular[row] = found

    def add_anomalies(self, row: int, anomalies: tuple[Anomaly, ...]) -> None:
        """Take the anomalies of a row of the batch."""
        self.anomalies[row] = anomalies

    def finish(self) -> None:
        """Bring the rows in order; from here on rows are counted in the table."""
        regular = self.rows
        others = np.array(sorted(self.irregular), np.int64)
        if len(others):
            self.rows = np.sort(np.concatenate([regular, others]))
        self.regular = np.searchsorted(self.rows, regular) if len(others) else np.arange(len(regular))
        self.irregular = self._counted(self.irregular)
        self.anomalies = self._counted(self.anomalies)

    def _counted(self, found: dict[int, Any]) -> dict[int, Any]:
        places = np.searchsorted(self.rows, np.array(sorted(found), np.int64)).tolist()
        return {place: found[row] for place, row in zip(places, sorted(found), strict=True)}

    @cached_property
    def starts(self) -> Integers:
        """Where each packet begins in the data."""
        return self._starts[self.rows]

    @cached_property
    def ends(self) -> Integers:
        """Where the bytes of each packet end in the data."""
        return self._ends[self.rows]

    @cached_property
    def consumed(self) -> Integers:
        """Bytes that each packet shows."""
        consumed = np.zeros(len(self.rows), np.int64)
        consumed[self.regular] = self._stops
        for place, found in self.irregular.items():
            consumed[place] = found.consumed
        return consumed

    @property
    def errors(self) -> Mapping[int, DecodeError]:
        """What ended the decode of a row."""
        return {place: found.error for place, found in self.irregular.items() if found.error is not None}

    def packet(self, place: int) -> Any:
        """The value of a row, partial when it has an error, None when nothing of it was decoded."""
        if place in self.irregular:
            return self.irregular[place].packet
        if not 0 <= place < len(self.rows):
            raise IndexError(f"no row {place} in {len(self.rows)}")
        assert self.top is not None
        number = int(np.searchsorted(self.regular, place))
        return _value(self.top, number if self.selected is None else int(self.selected[number]))

    @cached_property
    def selection(self) -> RowSelection:
        """The regular rows among those of the walk."""
        return RowSelection(len(self.regular), self.selected)

    def __getitem__(self, path: str) -> TableColumn:
        if path not in self._columns:
            if self.cls is None:
                raise KeyError(path)
            self._columns[path] = self._column(path, _paths(self.cls)[path])
        return self._columns[path]

    def __iter__(self) -> Iterator[str]:
        return iter(_paths(self.cls) if self.cls else ())

    def __len__(self) -> int:
        return len(_paths(self.cls)) if self.cls else 0

    @cached_property
    def _leaves(self) -> Mapping[str, list[NumberColumn | OctetsColumn | StructColumn]]:
        found: dict[str, list[NumberColumn | OctetsColumn | StructColumn]] = {}
        for path, column in leaves(self.top) if self.top is not None else ():
            found.setdefault(path, []).append(column)
        return found

    def _column(self, path: str, size: int) -> TableColumn:
        count, regular = len(self.rows), self.regular
        found = self._leaves.get(path, [])
        if not self.irregular and (not found or (self.selected is None and _is_everywhere(found))):
            return self._same(found[0] if found else None, size)
        present = np.zeros(count, np.bool_)
        numbers = np.zeros(count, np.int64) if size == 0 else None
        octets = np.zeros((count, size), np.uint8) if size > 0 else None
        offsets, lengths = np.zeros(count, np.int64), np.zeros(count, np.int64)
        part = False
        for column in found:
            mask = self.selection.has(column.rows)
            present[regular] |= True if mask is None else mask
            if isinstance(column, NumberColumn) and numbers is not None:
                numbers[regular] += self.selection.spread(column.rows, column.values)
            elif isinstance(column, OctetsColumn):
                offsets[regular] += self.selection.spread(column.rows, column.offsets)
                lengths[regular] += self.selection.spread(column.rows, column.lengths)
                if octets is not None:
                    matrix = column.fixed.view(np.uint8).reshape(-1, size)
                    octets[regular] |= self.selection.spread(column.rows, matrix)
            else:
                part = True
        for place, row in self.irregular.items():
            value = _reached(row.packet, path)
            present[place] = value is not None
            if isinstance(value, int) and numbers is not None:
                numbers[place] = value
            elif isinstance(value, bytes):
                span = self._spans(place).get(path)
                offsets[place] = 0 if span is None else span.offset + self.starts[place]
                lengths[place] = len(value)
                if octets is not None and len(value) == size:
                    octets[place] = np.frombuffer(value, np.uint8)
        if numbers is not None:
            return TableColumn(present, numbers, None, None)
        if part and not lengths.any():
            return TableColumn(present, None, None, None)
        return TableColumn(present, octets, offsets, lengths)

    def _same(self, column: NumberColumn | OctetsColumn | StructColumn | None, size: int) -> TableColumn:
        """A column that all rows have or, without one, none: nothing has to be put in place."""
        nothing, everywhere, nowhere = self._constants
        present = nowhere if column is None else everywhere
        if size == 0:
            return TableColumn(
                present, column.values if isinstance(column, NumberColumn) else nothing, None, None
            )
        if isinstance(column, StructColumn):
            return TableColumn(present, None, None, None)
        if not isinstance(column, OctetsColumn):
            octets = np.broadcast_to(np.uint8(0), (len(self.rows), size)) if size > 0 else None
            return TableColumn(present, octets, nothing, nothing)
        return TableColumn(present, column.matrix if size > 0 else None, column.offsets, column.lengths)

    @cached_property
    def _constants(self) -> tuple[Integers, Bools, Bools]:
        """Columns that share their one value: 0, present, absent."""
        count = len(self.rows)
        return (
            np.broadcast_to(np.int64(0), count),
            np.broadcast_to(np.bool_(True), count),
            np.broadcast_to(np.bool_(False), count),
        )

    def _spans(self, place: int) -> Mapping[str, Any]:
        if place not in self._layouts:
            found = self.irregular[place]
            lay_out = spans if found.error is None else reference.layout
            self._layouts[place] = lay_out(found.packet)
        return self._layouts[place]

    @cached_property
    def _layouts(self) -> dict[int, Mapping[str, Any]]:
        return {}


def _is_everywhere(found: list[NumberColumn | OctetsColumn | StructColumn]) -> bool:
    return len(found) == 1 and found[0].rows.index is None


def _reached(packet: Any, path: str) -> Any:
    """A field of a packet; None when it is absent or was not reached."""
    for name in path.split("."):
        packet = getattr(packet, name, None)
    return None if packet is msgspec.UNSET else packet


def _place(rows: RowSet, number: int) -> int:
    """The place of a row of the walk in a set, -1 when it is not in it."""
    if rows.index is None:
        return number
    place = int(np.searchsorted(rows.index, number))
    return place if place < rows.count and rows.index[place] == number else -1


def _value(column: Column, number: int) -> Any:
    """The value of one row of a walk."""
    if isinstance(column, UnionColumn):
        arms = (arm for arm in column.arms if _place(arm.rows, number) >= 0)
        return _value(next(arms, None), number)
    if column is None:
        return None
    place = _place(column.rows, number)
    if place < 0:
        return None
    if isinstance(column, NumberColumn):
        return int(column.raw[place])
    if isinstance(column, OctetsColumn):
        return column.value(place)
    if isinstance(column, ListColumn):
        return tuple(_value(one, number) for one in column.places[: int(column.lengths[place])])
    own = [field.name for field in fields(column.cls) if not field.position]
    return column.cls(**{name: _value(column.fields[name], number) for name in own})


class ColumnBatch:
    """The decoded packets of a batch: ``count`` of them, in one `ColumnTable` for every type that occurs.

    ``tables`` are by stem; rows that are no packet are in the table `UNRECOGNISED`.
    """

    def __init__(self, count: int, tables: Mapping[str, ColumnTable]) -> None:
        self.count = count
        self.tables = tables

    def __len__(self) -> int:
        return self.count

    @cached_property
    def types(self) -> tuple[str | None, ...]:
        """The stem of every packet, None for what is none."""
        types: list[str | None] = [None] * self.count
        for stem, table in self.tables.items():
            for row in table.rows.tolist():
                types[row] = None if stem == UNRECOGNISED else stem
        return tuple(types)
