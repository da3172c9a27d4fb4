"""`read_tables`: a capture in, Arrow record batches out: a table for every type of record, one for the rest.

The rule kept here: the rows of all tables together are the records of `read_capture`, with the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.batches import read_batches
from msmq_wire.capture.composed_tables import composed_arrays, composed_fields
from msmq_wire.capture.index import Array
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.source import CaptureSource
from msmq_wire.engines import arrow, columns
from msmq_wire.engines.arrow_cells import cells, interleave
from msmq_wire.engines.arrow_schema import narrowed
from msmq_wire.records.column import PLACE, RECORD_COLUMNS, Column
from msmq_wire.records.composed import COMPOSED
from msmq_wire.records.display import Kind
from msmq_wire.records.recognition import Ports
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.records.view import anomaly_view, record_error_view
from msmq_wire.rpc.pdu_protection import Negotiator
from msmq_wire.wire.registry import PACKETS

OTHER = "other"
"""The table of what is no packet, no call and no message: gaps, events of connections, damage of the file."""
TABLES: tuple[str, ...] = (*PACKETS, UNKNOWN_PACKET, *COMPOSED, OTHER)
"""The names of all tables."""


ARROW_TYPES: Mapping[Kind, Any] = {
    "number": pa.int64(),
    "duration": pa.int64(),
    "flag": pa.bool_(),
    "text": pa.string(),
    "endpoint": pa.string(),
    "address": pa.string(),
    "guid": pa.string(),
    "section": pa.string(),
    "time": pa.timestamp("ns", "UTC"),
    "numbers": pa.list_(pa.int64()),
    "texts": pa.list_(pa.string()),
    "guids": pa.list_(pa.string()),
    "sections": pa.list_(pa.string()),
    "bytes": pa.binary(),
    "body": pa.binary(),
}


def column_field(column: Column, *, nullable: bool | None = None) -> Any:
    """A declared column in Arrow; ``nullable`` where a table has always had it otherwise than declared."""
    if column.columns:
        kind = pa.list_(pa.struct([(one.name, ARROW_TYPES[one.kind]) for one in column.columns]))
    else:
        kind = ARROW_TYPES[column.kind]
    nullable = column.optional if nullable is None else nullable
    return pa.field(column.name, kind, nullable=nullable, metadata={"doc": column.doc})


_WHERE = [column_field(one) for one in PLACE.values() if one.name != "capture"]
_OTHER = [
    column_field(one)
    for one in RECORD_COLUMNS
    if one.name in ("type", "missing", "frames_missing", "reason", "event")
]
RESULT = ("anomalies", "consumed", "remainder", "error")
"""The last columns of every table."""


@cache
def schema(table: str) -> Any:
    """The Arrow schema of a table, one of `TABLES`.

    Where a record was found, then the columns of `msmq_wire.engines.arrow.schema`; those of a call
    or a message over HTTP are the fields of its ``packet``, see `msmq_wire.records.composed`.
    """
    if table == OTHER or table in COMPOSED:
        own = _OTHER if table == OTHER else composed_fields(table)
        return pa.schema([*_WHERE, *own, *(arrow.schema("user_message").field(name) for name in RESULT)])
    stem = columns.UNRECOGNISED if table == UNKNOWN_PACKET else table
    return pa.schema([*_WHERE, *(field for field in arrow.schema(stem) if field.name != "row")])


def read_tables(
    source: CaptureSource,
    *,
    ports: Ports = (),
    streams: bool = False,
    judge: bool = True,
    negotiator: Negotiator | None = None,
) -> Iterator[Mapping[str, Any]]:
    """Yield pyarrow record batches by table, part of the capture after part of it.

    Each has the `schema` of its table; a part has a table only where it has rows. Bodies and other bytes are
    views of a buffer that the batches of a part share, but for what came in calls. ``judge=False`` leaves the
    anomalies out. Needs numpy and pyarrow; arguments and errors are
    otherwise those of `CaptureReader`.
    """
    for batch in read_batches(source, ports=ports, streams=streams, negotiator=negotiator):
        yield tables_of(batch, judge=judge)


def tables_of(
    batch: PacketBatch, *, judge: bool = True, wanted: frozenset[str] | None = None
) -> dict[str, Any]:
    """The record batches of one part of a capture, by table; see `read_tables`.

    Of the columns, and of the fields in them, those that ``wanted`` names as `narrowed` has it; ``id`` is
    always there.
    """
    found = {}
    decoded = columns.decode(batch.data, batch.offsets, judge=judge)
    for stem, made in arrow.record_batches(decoded, wanted).items():
        rows = made.column("row").to_numpy()
        table = UNKNOWN_PACKET if stem == columns.UNRECOGNISED else stem
        target = _target(table, wanted)
        own = (made.column(name) for name in made.schema.names if name != "row")
        found[table] = pa.RecordBatch.from_arrays([*_where(batch, rows, target), *own], schema=target)
    for table, made in record_tables(batch.others, judge=judge, wanted=wanted).items():
        found[table] = _merged(found[table], made) if table in found else made
    return found


def record_tables(
    records: Iterable[Record], *, judge: bool = True, wanted: frozenset[str] | None = None
) -> dict[str, Any]:
    """The record batches of records that came decoded, by table; arguments as for `tables_of`."""
    others: dict[str, list[Record]] = {}
    for record in records:
        kept = record.type in PACKETS or record.type in COMPOSED
        others.setdefault(record.type if kept else OTHER, []).append(record)
    return {table: _decoded(table, some, judge, _target(table, wanted)) for table, some in others.items()}


def places_of(batch: PacketBatch, wanted: frozenset[str], records: Sequence[Record]) -> Any:
    """Where the packets of a part of a capture were found, and ``records``, as one record batch.

    No packet is decoded for that. The columns are those of `schema` that every table has, as far as they
    are ``wanted``, and ``id``.
    """
    target = narrowed(pa.schema(_WHERE), wanted | {"id"})
    packets = _where(batch, np.arange(len(batch)), target)
    made = [_attribute(records, field) for field in target]
    arrays = [pa.concat_arrays(pair) for pair in zip(packets, made, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _target(table: str, wanted: frozenset[str] | None) -> Any:
    return schema(table) if wanted is None else narrowed(schema(table), wanted | {"id"})


def _merged(first: Any, second: Any) -> Any:
    """The rows of two record batches of one table, by id."""
    ids = np.concatenate([batch.column("id").to_numpy() for batch in (first, second)])
    order = np.argsort(ids)
    arrays = [interleave(*pair, order) for pair in zip(first.columns, second.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=first.schema)


def _where(batch: PacketBatch, rows: Array, target: Any) -> list[Any]:
    """Where packets were found: those columns of a schema that say so."""
    makers: dict[str, Callable[[], Any]] = {
        "id": lambda: pa.array(batch.id[rows]),
        "parent": lambda: pa.nulls(len(rows), pa.int64()),
        "frames": lambda: _frames(batch, rows),
        "time": lambda: pa.array(batch.time[rows], pa.timestamp("ns", "UTC"), mask=batch.time[rows] == 0),
        "src": lambda: _end(batch, rows, 0),
        "dst": lambda: _end(batch, rows, 1),
        "stream": lambda: pa.array(batch.stream[rows], mask=batch.stream[rows] < 0),
        "offset": lambda: pa.array(batch.offset[rows]),
        "length": lambda: pa.array((batch.offsets[1:] - batch.offsets[:-1])[rows]),
    }
    return [makers[name]() for name in target.names if name in makers]


def _frames(batch: PacketBatch, rows: Array) -> Any:
    first, count = batch.first[rows], (batch.last - batch.first)[rows]
    until = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(count, out=until[1:])
    carriers = batch.carriers[np.repeat(first - until[:-1], count) + np.arange(until[-1])]
    return pa.ListArray.from_arrays(pa.array(until.astype(np.int32)), pa.array(carriers))


def _end(batch: PacketBatch, rows: Array, which: int) -> Any:
    return pa.array([pair[which] for pair in batch.pairs], pa.string()).take(pa.array(batch.pair[rows]))


def _decoded(table: str, records: Sequence[Record], judge: bool, target: Any) -> Any:
    """The table of records that came decoded: the columns of ``target``."""
    beside = {one.name for one in (*_WHERE, *(_OTHER if table == OTHER else ()))} | set(RESULT)
    own = [one for one in target if one.name not in beside]
    if table in COMPOSED:
        made = composed_arrays(records, own)
    else:
        packets = pa.array([cells(record.packet, own) if own else {} for record in records], pa.struct(own))
        made = [packets.field(index) for index in range(len(own))]
    arrays = dict(zip((one.name for one in own), made, strict=True))
    for field in target:
        if field.name == "anomalies":
            found = [[anomaly_view(one) for one in record.anomalies] if judge else [] for record in records]
            arrays["anomalies"] = pa.array(found, field.type)
        elif field.name == "error":
            arrays["error"] = pa.array([record_error_view(record) for record in records], field.type)
        elif field.name not in arrays:
            # A gap that is only skipped bytes misses none; other records have no number there.
            arrays[field.name] = _attribute(records, field)
    return pa.RecordBatch.from_arrays([arrays[one.name] for one in target], schema=target)


def _attribute(records: Sequence[Record], field: Any) -> Any:
    values = [getattr(record, field.name) for record in records]
    return pa.array(map(list, values) if field.name == "frames" else values, field.type)
