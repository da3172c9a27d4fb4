"""Columns to Arrow arrays: the fields of a structure, in the rows that are shown.

The rule kept here: bytes are views of the data but for those in lists, texts are made once per distinct value
or all at once, and what a row shows is what the JSON view shows of it.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.engines.arrow_schema import QUEUE_NAME
from msmq_wire.engines.columns.json_values import format_names
from msmq_wire.engines.columns.lists import elements
from msmq_wire.engines.columns.scopes import combinations
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
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.headers.user_header import QUEUES
from msmq_wire.wire.shown import ShownName, ShownQueue, ShownText
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

_LARGEST = (1 << 31) - 1


def _validity(present: Bools | None) -> pa.Buffer | None:
    return None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))


def _names(field: Field, part: StructColumn) -> set[str]:
    """The columns that a field may be."""
    column = part.fields.get(field.name)
    arms = column.arms if isinstance(column, UnionColumn) else (column,)
    layouts = {arm.cls.stem() for arm in arms if isinstance(arm, StructColumn)}
    return {field.name, f"{field.name}_raw"} | layouts


class ViewBuffer:
    """The bytes of the packets of a table, as the buffer of Arrow views.

    Raises ValueError where they lie further apart than 2 GiB.
    """

    def __init__(self, source: BatchBytes, starts: Integers, ends: Integers) -> None:
        self.source = source
        self._base = int(starts.min()) if len(starts) else 0
        top = int(ends.max(initial=0))
        if top - self._base > _LARGEST:
            raise ValueError("the packets of a batch lie further apart than 2 GiB")
        self._buffer = pa.py_buffer(source.bytes[self._base : top])

    def views(self, offsets: Integers, lengths: Integers, present: Bools | None = None) -> pa.Array:
        """Views of the bytes at each offset; null where they are not ``present``."""
        entries = self.source.views(offsets, lengths, self._base)
        buffers = [_validity(present), pa.py_buffer(entries), self._buffer]
        return pa.Array.from_buffers(pa.binary_view(), len(offsets), buffers)

    def copies(self, offsets: Integers, lengths: Integers, present: Bools | None = None) -> pa.Array:
        """The same as bytes of their own."""
        copied = self.source.copied(offsets, lengths).cast(pa.binary())
        return pa.Array.from_buffers(
            pa.binary(), len(copied), [_validity(present), *copied.buffers()[1:]], offset=copied.offset
        )


class Columns:
    """Makes the arrays of the structures of a walk; ``listed`` says whether they stand in a list."""

    def __init__(self, data: ViewBuffer, shown: RowSelection, *, listed: bool = False) -> None:
        self.data = data
        self.source = data.source
        self.shown = shown
        self.count = shown.count
        self.listed = listed
        self._queues: dict[str, pa.Array] = {}

    def struct(self, cls: type[WireStruct], part: StructColumn, target: Sequence[pa.Field]) -> list[pa.Array]:
        """The columns of a structure, one for every field of the schema."""
        types = {field.name: field.type for field in target}
        made: dict[str, pa.Array] = {}
        for field in fields(cls):
            if not field.position and not types.keys().isdisjoint(_names(field, part)):
                made |= self._field(part, field, types)
        for name, inner in part.inside.items():
            if name in types:
                made[name] = self._part(inner, types[name])
        return [made[name] if name in made else pa.nulls(self.count, types[name]) for name in types]

    def _field(
        self, part: StructColumn, field: Field, types: Mapping[str, pa.DataType]
    ) -> dict[str, pa.Array]:
        name = field.name
        if isinstance(field.shown, ShownQueue):
            return {name: self._queue(part, name)}
        column = part.fields[name]
        if column is None:
            return {}
        if isinstance(field.shown, ShownName):
            return {name: self._name(column, field.shown)}
        if isinstance(column, ListColumn):
            return {name: self._list(column, types[name])}
        if isinstance(field.shown, ShownText):
            return self._shown(part, field, field.shown, column)
        made: dict[str, pa.Array] = {}
        for arm in column.arms if isinstance(column, UnionColumn) else (column,):
            if isinstance(arm, StructColumn):
                # The name of a layout; the structure of a field may have the name of another field.
                stem = arm.cls.stem()
                own = stem if stem in types and stem not in part.cls.__struct_fields__ else name
                if own in types:
                    made[own] = self._part(arm, types[own])
            elif isinstance(arm, NumberColumn):
                made[name] = self._number(arm, types[name])
            elif issubclass(arm.kind, GUID):
                made[name] = self._guid(arm)
            elif issubclass(arm.kind, WcharText):
                made |= self._text(arm, name)
            elif pa.types.is_fixed_size_binary(types[name]):
                records = self.shown.spread(arm.rows, arm.fixed)
                made[name] = self._array(types[name], records, self.shown.has(arm.rows))
            else:
                made[name] = self._octets(arm, null_if_empty=field.absent_if_empty)
        return made

    def _array(self, kind: pa.DataType, values: Any, present: Bools | None) -> pa.Array:
        return pa.Array.from_buffers(
            kind, self.count, [_validity(present), pa.py_buffer(values.view(np.uint8))]
        )

    def _part(self, part: StructColumn, kind: pa.DataType) -> pa.Array:
        children = self.struct(part.cls, part, list(kind))
        validity = _validity(self.shown.has(part.rows))
        return pa.Array.from_buffers(kind, self.count, [validity], children=children)

    def _number(self, column: NumberColumn, kind: pa.DataType) -> pa.Array:
        values = column.raw
        if pa.types.is_int64(kind) and "values" in column.__dict__:
            values = column.values
        values = self.shown.spread(column.rows, values).astype(kind.to_pandas_dtype(), copy=False)
        return self._array(kind, np.ascontiguousarray(values), self.shown.has(column.rows))

    def _list(self, column: ListColumn, kind: pa.DataType) -> pa.Array:
        begins, inner = elements(column, self.shown)
        made = pa.nulls(0, kind.value_type)
        if len(column.places) and begins[-1]:
            columns = Columns(self.data, RowSelection(int(begins[-1])), listed=True)
            made = columns.element(inner, kind.value_type)
        buffers = [_validity(self.shown.has(column.rows)), pa.py_buffer(begins.astype(np.int32))]
        return pa.Array.from_buffers(kind, self.count, buffers, children=[made])

    def element(self, column: Column, kind: pa.DataType) -> pa.Array:
        """The elements of a list, which are structures or numbers."""
        if isinstance(column, StructColumn):
            return self._part(column, kind)
        assert isinstance(column, NumberColumn)
        return self._number(column, kind)

    def _binary(self, offsets: Integers, lengths: Integers, present: Bools | None = None) -> pa.Array:
        make = self.data.copies if self.listed else self.data.views
        return make(offsets, lengths, present)

    def _octets(self, column: OctetsColumn, *, null_if_empty: bool = False) -> pa.Array:
        offsets = self.shown.spread(column.rows, column.offsets)
        lengths = self.shown.spread(column.rows, column.lengths)
        present = lengths > 0 if null_if_empty else self.shown.has(column.rows)
        return self._binary(offsets, lengths, present)

    def _chosen(self, rows: RowSet, codes: Integers, texts: Sequence[str | None]) -> pa.Array:
        """The text of every row's code; null outside the rows."""
        present = self.shown.has(rows)
        wanted = pa.array(self.shown.spread(rows, codes), mask=None if present is None else ~present)
        return pa.array(texts, pa.string()).take(wanted)

    def _name(self, column: Column, by: ShownName) -> pa.Array:
        """The names of structures, each made once for all rows that have the same."""
        texts: list[str | None] = [None]
        total = np.zeros(self.count, np.int64)
        for arm in column.arms if isinstance(column, UnionColumn) else (column,):
            if not isinstance(arm, StructColumn):
                continue
            own = arm.cls.__struct_fields__
            codes, found = combinations([arm.fields[name] for name in own], arm.rows)
            total += self.shown.spread(arm.rows, codes + len(texts))
            texts += [by.text(arm.cls(**dict(zip(own, values, strict=True)))) for values in found]
        return pa.array(texts, pa.string()).take(pa.array(total))

    def _guid(self, column: OctetsColumn) -> pa.Array:
        codes, values = column.codes
        return self._chosen(column.rows, codes, [str(GUID(value)) for value in values])

    def _text(self, column: OctetsColumn, name: str) -> dict[str, pa.Array]:
        if issubclass(column.kind, FixedWcharText) or column.is_repetitive:
            codes, values = column.codes
            texts = [column.kind(value) for value in values]
            exact = np.array([text.exact for text in texts], np.bool_)  # type: ignore[attr-defined]  # WcharText
            shown = self._chosen(column.rows, codes, [text.text for text in texts])  # type: ignore[attr-defined]  # as above
            inexact = self.shown.spread(column.rows, ~exact[codes])
            found = _Texts(shown, inexact)
        else:
            offsets = self.shown.spread(column.rows, column.offsets)
            lengths = self.shown.spread(column.rows, column.lengths)
            found = _texts_of(self.source, offsets, lengths, self.shown.has(column.rows))
        return {name: found.texts, f"{name}_raw": self._raw(column, found.inexact)}

    def _raw(self, column: OctetsColumn, wanted: Bools) -> pa.Array:
        """The bytes of the rows whose text does not show them all."""
        if not wanted.any():
            return pa.nulls(self.count, pa.binary() if self.listed else pa.binary_view())
        lengths = self.shown.spread(column.rows, column.lengths)
        offsets = self.shown.spread(column.rows, column.offsets)
        return self._binary(offsets, np.where(wanted, lengths, 0), wanted)

    def _shown(self, part: StructColumn, field: Field, by: ShownText, column: Column) -> dict[str, pa.Array]:
        """Bytes as a text, by the number that stands by them."""
        assert isinstance(column, OctetsColumn)
        name, around = field.name, by.by.startswith("_.")
        owner = part.parent if around else part
        numbers = owner.fields[by.by.removeprefix("_.")] if owner is not None else None
        assert isinstance(numbers, NumberColumn)
        codes, found = combinations([NumberColumn(numbers.rows, numbers.values & by.mask), column], part.rows)
        texts = [by.text(number, value) for number, value in found]
        raw = [
            not (field.absent_if_empty and not value) and (text is None or not by.shows_all(number, value))
            for text, (number, value) in zip(texts, found, strict=True)
        ]
        inexact = self.shown.spread(part.rows, np.array(raw, np.bool_)[codes])
        return {name: self._chosen(part.rows, codes, texts), f"{name}_raw": self._raw(column, inexact)}

    def _queue(self, header: StructColumn, name: str) -> pa.Array:
        if not self._queues:
            self._queues = self._queue_names(header)
        return self._queues[name]

    def _queue_names(self, header: StructColumn) -> dict[str, pa.Array]:
        flags = header.fields["flags"]
        assert isinstance(flags, NumberColumn)
        assert header.cls.BITS is not None
        texts: list[str | None] = []
        codes: dict[str, Integers] = {}
        for name in QUEUES:
            own, found = format_names(header, name)
            codes[name] = len(texts) + (own if self.shown.index is None else own[self.shown.index])
            texts += found
        made = {}
        everything = pa.array(texts, pa.string())
        words = self.shown.spread(flags.rows, flags.values)
        for name, bit in QUEUES.items():
            place = header.cls.BITS.bits[bit]
            selected = words >> place.shift & 7
            if name == "response_queue":
                same = selected == QueueType.SAME_AS_ADMIN_QUEUE
                codes[name] = np.where(same, codes["admin_queue"], codes[name])
            present = selected != QueueType.NONE
            present = self.shown.spread(header.rows, np.ones(header.rows.count, np.bool_)) & present
            made[name] = pa.Array.from_buffers(
                QUEUE_NAME,
                self.count,
                [_validity(None if present.all() else present)],
                children=[pa.array(selected.astype(np.int32)), everything.take(pa.array(codes[name]))],
            )
        return made


class _Texts(NamedTuple):
    """A column of texts, and which of them do not show all their bytes."""

    texts: pa.StringArray
    inexact: Bools


def _texts_of(source: BatchBytes, offsets: Integers, lengths: Integers, present: Bools | None) -> _Texts:
    """The texts of UTF-16 bytes without their terminators; null where they are not ``present``.

    A text is what `WcharText.text` says. All texts of a column are decoded in one go; those that could read
    into their neighbours, or end in the middle of a unit, one by one.
    """
    filled = lengths > 0
    terminated = filled & (lengths & 1 == 0)
    last = source.peek(np.maximum(offsets + lengths - 2, 0), 2)
    terminated &= (last == 0).all(axis=1)
    single = filled & ~terminated
    plain = np.where(single, 0, lengths - 2 * terminated)
    units, ends = _units(source, offsets, plain)
    text: bytes
    starts = ends
    if units.max(initial=0) < 0x80:
        text = units.astype(np.uint8).tobytes()
    else:
        surrogates = np.flatnonzero(units & 0xF800 == 0xD800)
        if len(surrogates):
            single[np.searchsorted(ends, surrogates, side="right") - 1] = True
            units, ends = _units(source, offsets, np.where(single, 0, plain))
        text = codecs.utf_16_le_decode(units.tobytes(), "strict", True)[0].encode()
        widths = 1 + (units >= 0x80) + (units >= 0x800)
        starts = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])[ends]
    if len(text) >= 1 << 31:
        raise ValueError("the texts of a batch are longer than 2 GiB")
    validity = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))
    buffers = [validity, pa.py_buffer(starts.astype(np.int32)), pa.py_buffer(text)]
    texts = pa.StringArray.from_buffers(len(offsets), buffers[1], buffers[2], validity)
    if not single.any():
        return _Texts(texts, single)
    return _with_singles(source, offsets, lengths, texts, np.flatnonzero(single))


def _units(source: BatchBytes, offsets: Integers, lengths: Integers) -> tuple[Any, Integers]:
    """The UTF-16 units of all rows, one behind the other, and where each row begins, with the end."""
    if not lengths.any():
        return np.zeros(0, np.uint16), np.zeros(len(lengths) + 1, np.int64)
    copied = source.copied(offsets, lengths)
    _, ends, data = copied.buffers()
    places = np.frombuffer(ends, np.int64, len(lengths) + 1) // 2
    return np.frombuffer(data, "<u2", int(places[-1])), places


def _with_singles(
    source: BatchBytes, offsets: Integers, lengths: Integers, texts: pa.StringArray, rows: Integers
) -> _Texts:
    """The texts with those of some rows read one by one."""
    inexact = np.zeros(len(offsets), np.bool_)
    found = []
    for row in rows.tolist():
        at, length = int(offsets[row]), int(lengths[row])
        value = WcharText(source.bytes[at : at + length].tobytes())
        found.append(value.text)
        inexact[row] = not value.exact
    order = np.arange(len(offsets))
    order[rows] = len(offsets) + np.arange(len(rows))
    return _Texts(pa.concat_arrays([texts, pa.array(found, pa.string())]).take(pa.array(order)), inexact)
