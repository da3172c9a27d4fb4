"""Arrow record batches of a decoded batch, one for every packet type.

The rule kept here: bytes are views of the data, texts are made once per distinct value or all at once, and
what a row shows is what the JSON view shows of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msmq_wire.errors import MissingExtraError

try:
    import numpy as np
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
except ModuleNotFoundError:
    raise MissingExtraError.of(__name__, "numpy and pyarrow", "msmq-wire[arrow]") from None

from msmq_wire.engines.arrow_cells import cells, interleave
from msmq_wire.engines.arrow_columns import Columns, ViewBuffer
from msmq_wire.engines.arrow_schema import ANOMALY, ERROR, class_of, narrowed, schema
from msmq_wire.engines.columns.batch_tables import ColumnBatch, ColumnTable
from msmq_wire.engines.columns.vectors import Integers
from msmq_wire.wire.musts import Anomaly

__all__ = ["record_batches", "schema"]

_NO_ANOMALY = pa.array([], ANOMALY)


def record_batches(batch: ColumnBatch, wanted: frozenset[str] | None = None) -> Mapping[str, pa.RecordBatch]:
    """One record batch for every table of a batch, by stem; rows in the order of the table.

    Of its columns, and of the fields in them, those that `narrowed` says; ``row`` is always there.

    Byte strings of up to 12 bytes are copied, longer ones are views of the data, which lives as long as they
    do. Raises ValueError when the packets of a table lie further apart than 2 GiB.
    """
    return {stem: _Builder(table).record_batch(wanted) for stem, table in batch.tables.items()}


class _Builder:
    """Makes the record batch of one table."""

    def __init__(self, table: ColumnTable) -> None:
        self.table = table
        self.count = len(table.regular)
        self.data = ViewBuffer(table.source, table.starts, table.ends)

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
            children = Columns(self.data, table.selection).struct(cls, table.top, own)
            packet = pa.Array.from_buffers(pa.struct(own), self.count, [None], children=children)
        if table.irregular:
            others = [cells(found.packet, own) for _, found in sorted(table.irregular.items())]
            made = pa.array(others, pa.struct(own))
            packet = made if packet is None else interleave(packet, made, self._order())
        columns = [pa.array(table.rows), *(packet.field(index) for index in range(len(own)))]
        columns += [make() for name, make in ends.items() if name in target.names]
        return pa.RecordBatch.from_arrays(columns, schema=target)

    def _remainder(self) -> pa.Array:
        table = self.table
        return self.data.views(table.starts + table.consumed, table.ends - table.starts - table.consumed)

    def _order(self) -> Integers:
        order = np.empty(len(self.table.rows), np.int64)
        order[self.table.regular] = np.arange(self.count)
        order[sorted(self.table.irregular)] = self.count + np.arange(len(self.table.irregular))
        return order

    def _anomalies(self) -> pa.Array:
        lengths = np.zeros(len(self.table.rows) + 1, np.int32)
        found: list[Anomaly] = []
        for place, anomalies in sorted(self.table.anomalies.items()):
            lengths[place + 1] = len(anomalies)
            found += anomalies
        offsets = pa.array(np.cumsum(lengths, dtype=np.int32))
        return pa.ListArray.from_arrays(offsets, _shown(found) if found else _NO_ANOMALY)

    def _errors(self) -> pa.Array:
        errors = self.table.errors
        if not errors:
            return pa.nulls(len(self.table.rows), ERROR)
        rows: list[Any] = [None] * len(self.table.rows)
        for place, error in errors.items():
            shown = {name: getattr(error, name) for name in ("code", "message", "path", "offset")}
            rows[place] = {**shown, "spec": None if error.spec is None else str(error.spec)}
        return pa.array(rows, ERROR)


def _shown(anomalies: Sequence[Anomaly]) -> pa.Array:
    specs = {anomaly.spec: str(anomaly.spec) for anomaly in anomalies}
    members = []
    for field in ANOMALY:
        values = [getattr(anomaly, field.name) for anomaly in anomalies]
        members.append(pa.array(map(specs.get, values) if field.name == "spec" else values, field.type))
    return pa.StructArray.from_arrays(members, fields=list(ANOMALY))
