"""`read_tables`: a capture in, Arrow record batches out: a table for every type of packet, one for the rest.

The rule kept here: the rows of all tables together are the records of `read_capture`, with the same ids.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.batches import PacketBatch, read_batches
from msmq_wire.capture.index import Array
from msmq_wire.capture.source import CaptureSource
from msmq_wire.engines import arrow, columns
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.rpc.security import Negotiator

__all__ = ["OTHER", "read_tables", "schema"]

OTHER = "other"
"""The table of what is no packet: gaps, events of connections, damage of the file."""


def _field(name: str, kind: Any, doc: str, *, nullable: bool = False) -> Any:
    return pa.field(name, kind, nullable=nullable, metadata={"doc": doc})


_WHERE = [
    _field("id", pa.int64(), "Number of the record, in order of completion."),
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


@cache
def schema(table: str) -> Any:
    """The Arrow schema of a table: the stem of a packet type, ``unknown_packet`` or `OTHER`.

    Where a record was found, then the columns of `msmq_wire.engines.arrow.schema`.
    """
    if table == OTHER:
        return pa.schema([*_WHERE, *_OTHER])
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

    Each has the `schema` of its table. Bodies and other bytes are views of a buffer that the batches of a
    part share. ``judge=False`` leaves the anomalies out. Needs numpy and pyarrow; arguments and errors are
    otherwise those of `CaptureReader`.
    """
    for batch in read_batches(source, ports=ports, streams=streams, negotiator=negotiator):
        yield dict(_tables(batch, judge))


def _tables(batch: PacketBatch, judge: bool) -> Iterator[tuple[str, Any]]:
    decoded = columns.decode(batch.data, batch.offsets, judge=judge)
    for stem, found in arrow.record_batches(decoded).items():
        table = UNKNOWN_PACKET if stem == columns.UNRECOGNISED else stem
        rows = found.column("row").to_numpy()
        arrays = [*_where(batch, rows), *(found.column(name) for name in found.schema.names if name != "row")]
        yield table, pa.RecordBatch.from_arrays(arrays, schema=schema(table))
    if batch.others:
        yield OTHER, _others(batch.others)


def _where(batch: PacketBatch, rows: Array) -> list[Any]:
    time, stream = batch.time[rows], batch.stream[rows]
    pair = pa.array(batch.pair[rows])
    first, count = batch.first[rows], (batch.last - batch.first)[rows]
    until = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(count, out=until[1:])
    carriers = batch.carriers[np.repeat(first - until[:-1], count) + np.arange(until[-1])]
    return [
        pa.array(batch.id[rows]),
        pa.ListArray.from_arrays(pa.array(until.astype(np.int32)), pa.array(carriers)),
        pa.array(time, pa.timestamp("ns", "UTC"), mask=time == 0),
        pa.array([src for src, _ in batch.pairs], pa.string()).take(pair),
        pa.array([dst for _, dst in batch.pairs], pa.string()).take(pair),
        pa.array(stream, mask=stream < 0),
        pa.array(batch.offset[rows]),
        pa.array((batch.offsets[1:] - batch.offsets[:-1])[rows]),
    ]


def _others(records: Sequence[Record]) -> Any:
    # A gap that is only skipped bytes misses none; other records have no number there.
    arrays = [
        pa.array([getattr(record, field.name) for record in records], field.type)
        for field in schema(OTHER)
        if field.name != "frames"
    ]
    frames = pa.array([list(record.frames) for record in records], pa.list_(pa.int64()))
    return pa.RecordBatch.from_arrays([arrays[0], frames, *arrays[1:]], schema=schema(OTHER))
