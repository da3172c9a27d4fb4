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
from msmq_wire.capture.tables import places_of
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
    others = len(batch.others)
    wanted = frozenset(one.name for one in ITEM_FIELDS)
    places = places_of(batch, wanted, ())
    size = batch.offsets.astype(np.int32)
    buffers = [None, pa.py_buffer(size), pa.py_buffer(np.ascontiguousarray(batch.data))]
    packets = dict(zip(places.schema.names, places.columns, strict=True)) | {
        "data": pa.Array.from_buffers(pa.binary(), len(batch), buffers),
        "time_ns": pa.array(batch.time),
        "record": pa.nulls(len(batch), pa.binary()),
    }
    records = {
        "id": pa.array([record.id for record in batch.others], pa.int64()),
        "record": pa.array([pickle.dumps(one, pickle.HIGHEST_PROTOCOL) for one in batch.others], pa.binary()),
    }
    return {
        one.name: pa.concat_arrays([packets[one.name], records.get(one.name, pa.nulls(others, one.type))])
        for one in ITEM_FIELDS
    }


def items_of(rows: Any, capture: str) -> Iterator[Record]:
    """The records of rows of items, in their order; ids are those of the rows."""
    columns = [rows.column(one.name).to_pylist() for one in ITEM_FIELDS]
    for id_, data, frames, time, src, dst, stream, offset, record in zip(*columns, strict=True):
        if record is not None:
            # Pickled by `item_columns` in this very job.
            yield pickle.loads(record)
        else:
            yield FoundPacket(id_, capture, data, tuple(frames), time, src, dst, stream, offset).record()
