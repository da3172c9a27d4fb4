"""Frames on their way to the task that decodes what two hosts said to each other: a row for many of them.

A row holds the keys of frames of one chunk and conversation in their order: when, which and where. The bytes
travel along only where reading them again would cost more: those of a compressed file, and small pieces that
lie far from each other.

The rule kept here: a row is small, whatever the capture is; frames without hosts are counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.index import Array, Chunk
from msmq_wire.capture.splits import Split
from msmq_wire.reassembly.bulk import gather
from msmq_wire.spark.frame_ranges import starts_of_reads, worth_a_read
from msmq_wire.tables.packet_columns import FrameEnds
from msmq_wire.tables.spark_types import nulls

_NAMES = ("clock", "time", "number", "at", "captured", "length", "link_type", "interface")
KEY = np.dtype({"names": _NAMES, "formats": ["<i8"] * 4 + ["<u4"] * 4})
"""A frame: the time so far and its own (ns since 1970, 0 for none), its number in the capture, where its
captured bytes start in the file, their number and that on the wire, LINKTYPE, the capture interface."""
RUN_SCHEMA = pa.schema(
    [
        pa.field("capture", pa.string()),
        pa.field("conversation", pa.int64()),
        pa.field("clock", pa.int64()),
        pa.field("number", pa.int64()),
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("mtime_ns", pa.int64()),
        pa.field("keys", pa.binary()),
        pa.field("data", pa.binary()),
        pa.field("told", pa.string()),
    ]
)
"""``clock`` and ``number`` are those of the first frame; ``keys`` are of the type `KEY`, ``data`` are the
captured bytes of all frames, null where they are to be read again. A row without a conversation is ``told``,
as JSON: how many frames were ``skipped``, by reason, or the ``damage`` of the file, reason and offset."""
RUN_ORDER = ("capture", "conversation", "clock", "number")
_MOST_BYTES = 1 << 20


def told_batch(capture: str, path: str, number: int, reported: Mapping[str, Any]) -> Any:
    """The row of what is said of a file, at a frame."""
    row = {"capture": capture, "path": path, "clock": 0, "number": number, "told": json.dumps(reported)}
    return pa.RecordBatch.from_pylist([row], RUN_SCHEMA)


def run_batches(chunk: Chunk, clocks: Array, *, capture: str, base: int, split: Split) -> Iterator[Any]:
    """The rows of the frames of a chunk; ``clocks`` and ``base`` are as in `packet_batch`."""
    ends = FrameEnds(chunk)
    conversation, skipped = ends.conversation(), ends.skipped()
    if skipped:
        yield told_batch(capture, split.path, int(chunk.numbers[0]) + base, {"skipped": skipped})
    keys = np.empty(len(chunk), KEY)
    keys["clock"], keys["time"], keys["number"] = clocks, chunk.time, chunk.numbers + base
    keys["at"], keys["captured"], keys["length"] = chunk.at + chunk.position, chunk.captured, chunk.length
    keys["link_type"] = chunk.link_type
    keys["interface"] = 0 if chunk.interface is None else chunk.interface
    places = np.flatnonzero(ends["src"] >= 0)
    order = places[np.argsort(conversation[places], kind="stable")]
    if not len(order):
        return
    keys, conversation, captured = keys[order], conversation[order], chunk.captured[order]
    part = (np.cumsum(captured) - captured) // _MOST_BYTES
    changes = (conversation[1:] != conversation[:-1]) | (part[1:] != part[:-1])
    first = np.flatnonzero(np.append(True, changes))
    edges = np.append(first, len(keys))
    size = _sums(captured, edges)
    again = (
        np.zeros(len(first), bool)
        if split.compressed
        else _worth_reading(keys, edges, size, worth_a_read(split.path))
    )
    inline = ~np.repeat(again, np.diff(edges))
    bytes_of = gather(chunk.data, chunk.at[order][inline], captured[inline])
    columns = {
        "conversation": pa.array(conversation[first]),
        "clock": pa.array(keys["clock"][first]),
        "number": pa.array(keys["number"][first]),
        "keys": _pieces(keys, edges * KEY.itemsize, None),
        "data": _pieces(bytes_of, np.append(0, np.cumsum(np.where(again, 0, size))), again),
    }
    same = {"capture": capture, "path": split.path, "size": split.size, "mtime_ns": split.mtime_ns}
    for name, value in same.items():
        columns[name] = pa.repeat(pa.scalar(value, RUN_SCHEMA.field(name).type), len(first))
    columns["told"] = nulls(len(first), pa.string())
    yield pa.RecordBatch.from_arrays([columns[one.name] for one in RUN_SCHEMA], schema=RUN_SCHEMA)


def _worth_reading(keys: Array, edges: Array, size: Array, worth: int) -> Array:
    """Whether the frames of each run are few reads, and more than half of what these bring."""
    end = keys["at"] + keys["captured"]
    starts = starts_of_reads(keys["at"], end, worth)
    starts[edges[:-1]] = True
    reads = _sums(starts, edges)
    gaps = np.append(0, np.where(starts[1:], 0, keys["at"][1:] - end[:-1]))
    found: Array = (size >= reads * worth) & (size > _sums(gaps, edges))
    return found


def _sums(values: Array, edges: Array) -> Array:
    found: Array = np.diff(np.append(0, np.cumsum(values, dtype=np.int64))[edges])
    return found


def _pieces(data: Array, edges: Array, absent: Array | None) -> Any:
    mask = None if absent is None else pa.array(~absent).buffers()[1]
    buffers = [mask, pa.py_buffer(edges.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.binary(), len(edges) - 1, buffers)
