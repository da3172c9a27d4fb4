"""Records on their way from the tasks that find them to the one that judges all of a capture.

The rule kept here: packets travel as their bytes and are decoded again, which costs less than their values
would; what is no packet travels as the record itself.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.records.record import FoundPacket, Record

__all__ = ["ITEM_FIELDS", "item_columns", "items_of"]

ITEM_FIELDS = [
    pa.field("id", pa.int64()),
    pa.field("data", pa.binary()),
    pa.field("frames", pa.list_(pa.int64())),
    pa.field("time_ns", pa.int64()),
    pa.field("src", pa.string()),
    pa.field("dst", pa.string()),
    pa.field("stream", pa.int64()),
    pa.field("offset", pa.int64()),
    pa.field("record", pa.binary()),
]
"""The columns of an item; ``record`` is null for a packet, the others but ``id`` for a record."""


def item_columns(batch: PacketBatch) -> dict[str, Any]:
    """The items of a batch by column: packets, then records; they are sorted by id later."""
    count, others = len(batch), len(batch.others)
    ids = np.concatenate((batch.id, np.array([record.id for record in batch.others], np.int64)))
    size = batch.offsets.astype(np.int32)
    data = pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(size), pa.py_buffer(np.ascontiguousarray(batch.data))]
    )
    until = np.zeros(count + 1, np.int32)
    np.cumsum(batch.last - batch.first, out=until[1:])
    carriers = [batch.carriers[first:last] for first, last in zip(batch.first, batch.last, strict=True)]
    flat = np.concatenate(carriers) if carriers else np.zeros(0, np.int64)
    pair = pa.array(batch.pair)
    packets = {
        "data": data,
        "frames": pa.ListArray.from_arrays(pa.array(until), pa.array(flat)),
        "time_ns": pa.array(batch.time),
        "src": pa.array([src for src, _ in batch.pairs], pa.string()).take(pair),
        "dst": pa.array([dst for _, dst in batch.pairs], pa.string()).take(pair),
        "stream": pa.array(batch.stream, mask=batch.stream < 0),
        "offset": pa.array(batch.offset),
    }
    columns = {"id": pa.array(ids)}
    for one in ITEM_FIELDS[1:-1]:
        packet = packets[one.name].cast(one.type)
        columns[one.name] = pa.concat_arrays([packet, pa.nulls(others, one.type)])
    records = pa.array(
        [pickle.dumps(record, pickle.HIGHEST_PROTOCOL) for record in batch.others], pa.binary()
    )
    columns["record"] = pa.concat_arrays([pa.nulls(count, pa.binary()), records])
    return columns


def items_of(rows: Any, capture: str) -> Iterator[Record]:
    """The records of rows of items, in their order; ids are those of the rows."""
    columns = [rows.column(one.name).to_pylist() for one in ITEM_FIELDS]
    for id_, data, frames, time, src, dst, stream, offset, record in zip(*columns, strict=True):
        if record is not None:
            # Pickled by `item_columns` in this very job.
            yield pickle.loads(record)
        else:
            yield FoundPacket(id_, capture, data, tuple(frames), time, src, dst, stream, offset).record()
