"""Arrow record batches of a decoded batch, one for every packet type.

The rule kept here: bytes are views of the data, texts are made once per distinct value or all at once, and
what a row shows is what the JSON view shows of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.engines.arrow_cells import cells, interleaved
from msmq_wire.engines.arrow_schema import (
    ANOMALY,
    ERROR,
    QUEUE_NAME,
    class_of,
    narrowed,
    schema,
)
from msmq_wire.engines.arrow_text import Texts, texts_of
from msmq_wire.engines.columns.scopes import combinations
from msmq_wire.engines.columns.shown import format_names
from msmq_wire.engines.columns.tables import ColumnBatch, Table
from msmq_wire.engines.columns.values import (
    Arms,
    Bools,
    Column,
    Integers,
    Number,
    Octets,
    Part,
    Rows,
)
from msmq_wire.wire.fields import Field, WireStruct, fields
from msmq_wire.wire.headers.user_header import QUEUES
from msmq_wire.wire.shown import ShownName, ShownQueue, ShownText
from msmq_wire.wire.types.enumerations import QueueType
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

__all__ = ["record_batches", "schema"]

_LARGEST = (1 << 31) - 1


def record_batches(batch: ColumnBatch, wanted: frozenset[str] | None = None) -> Mapping[str, pa.RecordBatch]:
    """One record batch for every table of a batch, by stem; rows in the order of the table.

    Of its columns, and of the fields in them, those that `narrowed` says; ``row`` is always there.

    Byte strings of up to 12 bytes are copied, longer ones are views of the data, which lives as long as they
    do. Raises ValueError when the packets of a table lie further apart than 2 GiB.
    """
    return {stem: _Builder(table).record_batch(wanted) for stem, table in batch.tables.items()}


def _validity(present: Bools | None) -> pa.Buffer | None:
    return None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))


def _names(field: Field, part: Part) -> set[str]:
    """The columns that a field may be."""
    column = part.fields.get(field.name)
    arms = column.arms if isinstance(column, Arms) else (column,)
    layouts = {arm.cls.stem() for arm in arms if isinstance(arm, Part)}
    return {field.name, f"{field.name}_raw"} | layouts


class _Builder:
    """Makes the record batch of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.count = len(table.regular)
        self.source = table.source
        self.base = int(table.starts.min()) if len(table.rows) else 0
        top = int(table.ends.max(initial=0))
        if top - self.base > _LARGEST:
            raise ValueError("the packets of a batch lie further apart than 2 GiB")
        self.data = pa.py_buffer(self.source.bytes[self.base : top])
        self._queues: dict[str, pa.Array] = {}

    def record_batch(self, wanted: frozenset[str] | None) -> pa.RecordBatch:
        """All rows, those of the columns and those of the codec."""
        table = self.table
        target = schema(table.stem) if wanted is None else narrowed(schema(table.stem), wanted | {"row"})
        cls = class_of(table.stem)
        ends = {
            "anomalies": self._anomalies,
            "consumed": lambda: pa.array(table.consumed),
            "remainder": self._remainder,
            "error": self._errors,
        }
        own = [field for field in list(target)[1:] if field.name not in ends]
        packet: Any = None
        if table.top is not None:
            packet = pa.Array.from_buffers(
                pa.struct(own), self.count, [None], children=self._struct(cls, table.top, own)
            )
        if table.irregular:
            others = [cells(found.packet, own) for _, found in sorted(table.irregular.items())]
            made = pa.array(others, pa.struct(own))
            packet = made if packet is None else interleaved(packet, made, self._order())
        columns = [pa.array(table.rows), *(packet.field(index) for index in range(len(own)))]
        columns += [make() for name, make in ends.items() if name in target.names]
        return pa.RecordBatch.from_arrays(columns, schema=target)

    def _remainder(self) -> pa.Array:
        table = self.table
        return self._binary(table.starts + table.consumed, table.ends - table.starts - table.consumed)

    def _order(self) -> Integers:
        order = np.empty(len(self.table.rows), np.int64)
        order[self.table.regular] = np.arange(self.count)
        order[sorted(self.table.irregular)] = self.count + np.arange(len(self.table.irregular))
        return order

    def _anomalies(self) -> pa.Array:
        lengths = np.zeros(len(self.table.rows) + 1, np.int32)
        found = []
        for place, anomalies in sorted(self.table.anomalies.items()):
            lengths[place + 1] = len(anomalies)
            for anomaly in anomalies:
                found.append({**msgspec.structs.asdict(anomaly), "spec": str(anomaly.spec)})
        offsets = pa.array(np.cumsum(lengths, dtype=np.int32))
        return pa.ListArray.from_arrays(offsets, pa.array(found, ANOMALY))

    def _errors(self) -> pa.Array:
        errors = self.table.errors
        if not errors:
            return pa.nulls(len(self.table.rows), ERROR)
        rows: list[Any] = [None] * len(self.table.rows)
        for place, error in errors.items():
            shown = {name: getattr(error, name) for name in ("code", "message", "path", "offset")}
            rows[place] = {**shown, "spec": None if error.spec is None else str(error.spec)}
        return pa.array(rows, ERROR)

    def _struct(self, cls: type[WireStruct], part: Part, target: Sequence[pa.Field]) -> list[pa.Array]:
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

    def _field(self, part: Part, field: Field, types: Mapping[str, pa.DataType]) -> dict[str, pa.Array]:
        name = field.name
        if isinstance(field.shown, ShownQueue):
            return {name: self._queue(part, name)}
        if isinstance(field.shown, ShownName):
            # Only a structure that was asked for by itself comes here; those of lists are irregular.
            values = (getattr(self.table.packet(place), name) for place in self.table.regular.tolist())
            return {name: pa.array([field.shown.text(value) for value in values], pa.string())}
        column = part.fields[name]
        if column is None:
            return {}
        if isinstance(field.shown, ShownText):
            return self._shown(part, field, field.shown, column)
        made: dict[str, pa.Array] = {}
        for arm in column.arms if isinstance(column, Arms) else (column,):
            if isinstance(arm, Part):
                # The name of a layout; the structure of a field may have the name of another field.
                stem = arm.cls.stem()
                own = stem if stem in types and stem not in part.cls.__struct_fields__ else name
                if own in types:
                    made[own] = self._part(arm, types[own])
            elif isinstance(arm, Number):
                made[name] = self._number(arm, types[name])
            elif issubclass(arm.kind, GUID):
                made[name] = self._guid(arm)
            elif issubclass(arm.kind, WcharText):
                made |= self._text(arm, name)
            elif pa.types.is_fixed_size_binary(types[name]):
                records = self.table.spread(arm.rows, arm.fixed)
                made[name] = self._array(types[name], records, self.table.has(arm.rows))
            else:
                made[name] = self._octets(arm, null_if_empty=field.absent_if_empty)
        return made

    def _array(self, kind: pa.DataType, values: Any, present: Bools | None) -> pa.Array:
        return pa.Array.from_buffers(
            kind, self.count, [_validity(present), pa.py_buffer(values.view(np.uint8))]
        )

    def _part(self, part: Part, kind: pa.DataType) -> pa.Array:
        children = self._struct(part.cls, part, list(kind))
        validity = _validity(self.table.has(part.rows))
        return pa.Array.from_buffers(kind, self.count, [validity], children=children)

    def _number(self, column: Number, kind: pa.DataType) -> pa.Array:
        values = column.raw
        if pa.types.is_int64(kind) and "values" in column.__dict__:
            values = column.values
        values = self.table.spread(column.rows, values).astype(kind.to_pandas_dtype(), copy=False)
        return self._array(kind, np.ascontiguousarray(values), self.table.has(column.rows))

    def _binary(self, offsets: Integers, lengths: Integers, present: Bools | None = None) -> pa.Array:
        entries = self.source.views(offsets, lengths, self.base)
        buffers = [_validity(present), pa.py_buffer(entries), self.data]
        return pa.Array.from_buffers(pa.binary_view(), len(offsets), buffers)

    def _octets(self, column: Octets, *, null_if_empty: bool = False) -> pa.Array:
        offsets = self.table.spread(column.rows, column.offsets)
        lengths = self.table.spread(column.rows, column.lengths)
        present = lengths > 0 if null_if_empty else self.table.has(column.rows)
        return self._binary(offsets, lengths, present)

    def _chosen(self, rows: Rows, codes: Integers, texts: Sequence[str | None]) -> pa.Array:
        """The text of every row's code; null outside the rows."""
        present = self.table.has(rows)
        wanted = pa.array(self.table.spread(rows, codes), mask=None if present is None else ~present)
        return pa.array(texts, pa.string()).take(wanted)

    def _guid(self, column: Octets) -> pa.Array:
        codes, values = column.codes
        return self._chosen(column.rows, codes, [str(GUID(value)) for value in values])

    def _text(self, column: Octets, name: str) -> dict[str, pa.Array]:
        if issubclass(column.kind, FixedWcharText) or column.is_repetitive:
            codes, values = column.codes
            texts = [column.kind(value) for value in values]
            exact = np.array([text.exact for text in texts], np.bool_)  # type: ignore[attr-defined]  # WcharText
            shown = self._chosen(column.rows, codes, [text.text for text in texts])  # type: ignore[attr-defined]  # as above
            inexact = self.table.spread(column.rows, ~exact[codes])
            found = Texts(shown, inexact)
        else:
            offsets = self.table.spread(column.rows, column.offsets)
            lengths = self.table.spread(column.rows, column.lengths)
            found = texts_of(self.source, offsets, lengths, self.table.has(column.rows))
        return {name: found.texts, f"{name}_raw": self._raw(column, found.inexact)}

    def _raw(self, column: Octets, wanted: Bools) -> pa.Array:
        """The bytes of the rows whose text does not show them all."""
        if not wanted.any():
            return pa.nulls(self.count, pa.binary_view())
        lengths = self.table.spread(column.rows, column.lengths)
        offsets = self.table.spread(column.rows, column.offsets)
        return self._binary(offsets, np.where(wanted, lengths, 0), wanted)

    def _shown(self, part: Part, field: Field, by: ShownText, column: Column) -> dict[str, pa.Array]:
        """Bytes as a text, by the number that stands by them."""
        assert isinstance(column, Octets)
        name, around = field.name, by.by.startswith("_.")
        owner = part.parent if around else part
        numbers = owner.fields[by.by.removeprefix("_.")] if owner is not None else None
        assert isinstance(numbers, Number)
        codes, found = combinations([Number(numbers.rows, numbers.values & by.mask), column], part.rows)
        texts = [by.text(number, value) for number, value in found]
        raw = [
            not (field.absent_if_empty and not value) and (text is None or not by.shows_all(number, value))
            for text, (number, value) in zip(texts, found, strict=True)
        ]
        inexact = self.table.spread(part.rows, np.array(raw, np.bool_)[codes])
        return {name: self._chosen(part.rows, codes, texts), f"{name}_raw": self._raw(column, inexact)}

    def _queue(self, header: Part, name: str) -> pa.Array:
        if not self._queues:
            self._queues = self._queue_names(header)
        return self._queues[name]

    def _queue_names(self, header: Part) -> dict[str, pa.Array]:
        flags = header.fields["flags"]
        assert isinstance(flags, Number)
        assert header.cls.BITS is not None
        texts: list[str | None] = []
        codes: dict[str, Integers] = {}
        for name in QUEUES:
            own, found = format_names(header, name)
            codes[name] = len(texts) + (own if self.table.selected is None else own[self.table.selected])
            texts += found
        made = {}
        everything = pa.array(texts, pa.string())
        words = self.table.spread(flags.rows, flags.values)
        for name, bit in QUEUES.items():
            place = header.cls.BITS.bits[bit]
            selected = words >> place.shift & 7
            if name == "response_queue":
                same = selected == QueueType.SAME_AS_ADMIN_QUEUE
                codes[name] = np.where(same, codes["admin_queue"], codes[name])
            present = selected != QueueType.NONE
            present = self.table.spread(header.rows, np.ones(header.rows.count, np.bool_)) & present
            made[name] = pa.Array.from_buffers(
                QUEUE_NAME,
                self.count,
                [_validity(None if present.all() else present)],
                children=[pa.array(selected.astype(np.int32)), everything.take(pa.array(codes[name]))],
            )
        return made
