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
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.index import Array
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.tables import places_of
from msmq_wire.records.record import Record

ITEM_FIELDS = [
    pa.field("id", pa.int64()),
    pa.field("data", pa.binary()),
    pa.field("frames", pa.list_(pa.int64())),
    pa.field("time_ns", pa.int64()),
    pa.field("src", pa.string()),
    pa.field("dst", pa.string()),
    pa.field("path", pa.binary()),
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
        "path": pa.array(batch.paths, pa.binary()).take(pa.array(batch.pair)),
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


def run_of(rows: Any, capture: str) -> PacketBatch:
    """The items of rows, with the ids of these; what completed them is not known any more."""
    is_packet = pc.is_null(rows.column("record"))
    packets = rows.filter(is_packet)
    # Pickled by `item_columns` in this very job.
    others = tuple(map(pickle.loads, rows.column("record").drop_null().to_pylist()))
    data, frames = packets.column("data"), packets.column("frames")
    offsets, carried = (_edges(column) for column in (data, frames))
    ends = [packets.column(name).dictionary_encode() for name in ("src", "dst", "path")]
    values = [one.dictionary.to_pylist() for one in ends]
    shape = [len(one) or 1 for one in values]
    indices = [one.indices.to_numpy().astype(np.int64) for one in ends]
    found, pair = np.unique(np.ravel_multi_index(indices, shape), return_inverse=True)
    pairs = [
        [one[at] for one, at in zip(values, place, strict=True)]
        for place in zip(*np.unravel_index(found, shape), strict=True)
    ]
    held = data.buffers()[2]
    return PacketBatch(
        capture=capture,
        data=np.frombuffer(held or b"", np.uint8)[offsets[0] : offsets[-1]],
        offsets=offsets - offsets[0],
        id=packets.column("id").to_numpy(),
        completed=np.zeros(len(packets), np.int64),
        time=packets.column("time_ns").to_numpy(),
        stream=pc.fill_null(packets.column("stream"), -1).to_numpy(),
        pair=pair,
        offset=packets.column("offset").to_numpy(),
        first=carried[:-1],
        last=carried[1:],
        carriers=frames.values.to_numpy(),
        others=others,
        others_completed=np.zeros(len(others), np.int64),
        pairs=tuple((src, dst) for src, dst, _ in pairs),
        paths=tuple(path for _, _, path in pairs),
    )


def _edges(column: Any) -> Array:
    """Where the values of a column of lists or bytes start, and where the last one ends."""
    edges = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    return edges.astype(np.int64)


def items_of(rows: Any, run: PacketBatch) -> Iterator[Record]:
    """The records of rows, in their order, which need not be that of ids; ``run`` was made of the rows."""
    packets, others = iter(range(len(run))), iter(run.others)
    for is_other in pc.is_valid(rows.column("record")).to_pylist():
        yield next(others) if is_other else run.record(next(packets))
