"""`read_tables`: a capture in, Arrow record batches out: a table for every type of record, one for the rest.

The rule kept here: the rows of all tables together are the records of `read_capture`, with the same ids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.batches import PacketBatch, read_batches
from msmq_wire.capture.composed_tables import composed_arrays, composed_fields
from msmq_wire.capture.index import Array
from msmq_wire.capture.source import CaptureSource
from msmq_wire.engines import arrow, columns
from msmq_wire.engines.arrow_cells import cells, interleaved
from msmq_wire.records.composed import COMPOSED
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.records.view import anomaly_view, error_view
from msmq_wire.rpc.security import Negotiator
from msmq_wire.wire.registry import PACKETS

__all__ = ["OTHER", "TABLES", "read_tables", "schema", "tables_of"]

OTHER = "other"
"""The table of what is no packet, no call and no message: gaps, events of connections, damage of the file."""
TABLES: tuple[str, ...] = (*PACKETS, UNKNOWN_PACKET, *COMPOSED, OTHER)
"""The names of all tables."""


def _field(name: str, kind: Any, doc: str, *, nullable: bool = False) -> Any:
    return pa.field(name, kind, nullable=nullable, metadata={"doc": doc})


_WHERE = [
    _field("id", pa.int64(), "Number of the record, in order of completion."),
    _field("parent", pa.int64(), "Number of the record that carried it, null if none did.", nullable=True),
    _field("frames", pa.list_(pa.int64()), "Numbers of the frames that carry it, from 1."),
    _field(
        "time", pa.timestamp("ns", "UTC"), "When the frame that completes it was captured.", nullable=True
    ),
    _field("src", pa.string(), "Address and port it came from.", nullable=True),
    _field("dst", pa.string(), "Address and port it went to.", nullable=True),
    _field("stream", pa.int64(), "Connection, by order of appearance; null for UDP.", nullable=True),
    _field("offset", pa.int64(), "Bytes of its direction before it."),
    _field("length", pa.int64(), "Captured bytes."),
]
_OTHER = [
    _field("type", pa.string(), "gap, tcp_stream or error."),
    _field("missing", pa.int64(), "Bytes of a gap that were not captured, null if unknown.", nullable=True),
    _field("reason", pa.string(), "Why.", nullable=True),
    _field("event", pa.string(), "Step of a connection.", nullable=True),
    _field("remainder", pa.binary(), "The first bytes of a gap that were captured."),
]


_RESULT = ("anomalies", "consumed", "remainder", "error")
"""The last columns of every table but `OTHER`."""


@cache
def schema(table: str) -> Any:
    """The Arrow schema of a table, one of `TABLES`.

    Where a record was found, then the columns of `msmq_wire.engines.arrow.schema`; those of a call
    or a message over HTTP are the fields of its ``packet``, see `msmq_wire.records.composed`.
    """
    if table == OTHER:
        return pa.schema([*_WHERE, *_OTHER])
    if table in COMPOSED:
        result = [arrow.schema("user_message").field(name) for name in _RESULT]
        return pa.schema([*_WHERE, *composed_fields(table), *result])
    stem = columns.UNRECOGNISED if table == UNKNOWN_PACKET else table
    return pa.schema([*_WHERE, *(field for field in arrow.schema(stem) if field.name != "row")])


def read_tables(
    source: CaptureSource,
    *,
    ports: Collection[int] = (),
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


def tables_of(batch: PacketBatch, *, judge: bool = True) -> dict[str, Any]:
    """The record batches of one part of a capture, by table; see `read_tables`."""
    found = {}
    decoded = columns.decode(batch.data, batch.offsets, judge=judge)
    for stem, made in arrow.record_batches(decoded).items():
        rows = made.column("row").to_numpy()
        arrays = [*_where(batch, rows), *(made.column(name) for name in made.schema.names if name != "row")]
        table = UNKNOWN_PACKET if stem == columns.UNRECOGNISED else stem
        found[table] = pa.RecordBatch.from_arrays(arrays, schema=schema(table))
    others: dict[str, list[Record]] = {}
    for record in batch.others:
        kept = record.type in PACKETS or record.type in COMPOSED
        others.setdefault(record.type if kept else OTHER, []).append(record)
    for table, records in others.items():
        made = _decoded(table, records, judge)
        found[table] = _merged(found[table], made) if table in found else made
    return found


def _merged(first: Any, second: Any) -> Any:
    """The rows of two record batches of one table, by id."""
    ids = np.concatenate([batch.column("id").to_numpy() for batch in (first, second)])
    order = np.argsort(ids)
    arrays = [interleaved(*pair, order) for pair in zip(first.columns, second.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=first.schema)


def _where(batch: PacketBatch, rows: Array) -> list[Any]:
    time, stream = batch.time[rows], batch.stream[rows]
    pair = pa.array(batch.pair[rows])
    first, count = batch.first[rows], (batch.last - batch.first)[rows]
    until = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(count, out=until[1:])
    carriers = batch.carriers[np.repeat(first - until[:-1], count) + np.arange(until[-1])]
    return [
        pa.array(batch.id[rows]),
        pa.nulls(len(rows), pa.int64()),
        pa.ListArray.from_arrays(pa.array(until.astype(np.int32)), pa.array(carriers)),
        pa.array(time, pa.timestamp("ns", "UTC"), mask=time == 0),
        pa.array([src for src, _ in batch.pairs], pa.string()).take(pair),
        pa.array([dst for _, dst in batch.pairs], pa.string()).take(pair),
        pa.array(stream, mask=stream < 0),
        pa.array(batch.offset[rows]),
        pa.array((batch.offsets[1:] - batch.offsets[:-1])[rows]),
    ]


def _decoded(table: str, records: Sequence[Record], judge: bool) -> Any:
    """The table of records that came decoded."""
    target = schema(table)
    arrays = [_attribute(records, field) for field in _WHERE]
    if table == OTHER:
        # A gap that is only skipped bytes misses none; other records have no number there.
        arrays += [_attribute(records, field) for field in _OTHER]
        return pa.RecordBatch.from_arrays(arrays, schema=target)
    if table in COMPOSED:
        arrays += composed_arrays(table, records)
    else:
        own = list(target)[len(_WHERE) : -len(_RESULT)]
        packets = pa.array([cells(record.packet, own) for record in records], pa.struct(own))
        arrays += [packets.field(index) for index in range(len(own))]
    for name in _RESULT:
        field = target.field(name)
        if name == "anomalies":
            found = [[anomaly_view(one) for one in record.anomalies] if judge else [] for record in records]
            arrays.append(pa.array(found, field.type))
        elif name == "error":
            arrays.append(pa.array([error_view(record.error) for record in records], field.type))
        else:
            arrays.append(_attribute(records, field))
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _attribute(records: Sequence[Record], field: Any) -> Any:
    values = [getattr(record, field.name) for record in records]
    return pa.array(map(list, values) if field.name == "frames" else values, field.type)
