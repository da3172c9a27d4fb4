"""What a task of a data source gives: the rows of captures, or of parts of files.

The rule kept here: no more columns are made than are asked for, and a filter is asked before the rows that it
leaves out are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
from pyspark.sql.datasource import InputPartition

from msmq_wire.capture.capture_reading import CaptureReading
from msmq_wire.capture.index import Array, Chunk
from msmq_wire.capture.listing import Capture, open_file
from msmq_wire.capture.numbering import Numbering
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.splits import Split, clocks, read_split
from msmq_wire.errors import CaptureError
from msmq_wire.spark.frame_filter import FrameFilter
from msmq_wire.spark.key_options import negotiator_of, use_body_keys
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.row_filter import RowFilter
from msmq_wire.spark.split_planning import PlacedSplit
from msmq_wire.tables.packet_columns import error_batch, packet_batch

T = TypeVar("T")
Rows: TypeAlias = Callable[[PacketBatch, Numbering], Iterable[Any]]
"""Makes the rows of what a part of a capture completes."""

OPENING = 4 << 20
"""What opening a file counts for, in bytes."""


def bundles(items: Sequence[T], sizes: Sequence[int], most: int, *, opening: int = OPENING) -> list[list[T]]:
    """Put neighbours together up to about ``most`` bytes, counting what it costs to open each, too."""
    found: list[list[T]] = []
    room = 0
    for item, size in zip(items, sizes, strict=True):
        cost = size + opening
        if not found or cost > room:
            found.append([])
            room = most
        found[-1].append(item)
        room -= cost
    return found


def partitions_of(items: Sequence[Any], sizes: Sequence[int], most: int) -> list[InputPartition]:
    """What tasks of a data source read, as `bundles`; never empty: Spark would make a partition of None."""
    return [InputPartition(tuple(one)) for one in bundles(items, sizes, most)] or [InputPartition(())]


def open_capture(
    capture: Capture, options: ReadOptions, marks: Mapping[str, Iterable[int]] | None = None
) -> CaptureReading:
    """What reads a capture as options say; the files in ``marks`` are hashed meanwhile."""
    use_body_keys(options)
    return CaptureReading(
        capture,
        wanted=FrameFilter(options) if options.selects else None,
        chunk_bytes=options.chunk_bytes,
        ports=options.ports,
        streams=options.streams,
        negotiator=negotiator_of(options),
        marks=marks,
    )


def capture_rows(reading: CaptureReading, options: ReadOptions, rows: Rows) -> Iterator[Any]:
    """The rows of a capture. Raises CaptureError at its end where it is damaged and that is to fail."""
    for batch in reading:
        yield from rows(batch, reading.numbering)
    if reading.damage and options.on_error == "fail":
        damage = reading.damage[0]
        raise CaptureError(f"{damage.path}: {damage.reason}", offset=damage.offset)


def kept_rows(
    batch: PacketBatch,
    make: Callable[[PacketBatch, frozenset[str] | None], Iterable[Any]],
    columns: frozenset[str] | None,
    wanted: RowFilter,
) -> Iterator[Any]:
    """The rows of a part of a capture that a filter keeps.

    ``make`` makes rows with some columns. Those that the filter looks at are made first, and the others of
    the packets and records that are left.
    """
    looked = wanted.columns | {"id"}
    found: Iterable[Any] = [rows.take(wanted(rows)) for rows in make(batch, looked)]
    if columns is None or not looked >= columns:
        ids = pa.chunked_array([rows.column("id") for rows in found], pa.int64())
        made = make(batch.only(ids.to_numpy()), columns and columns | {"id"}) if len(ids) else ()
        # What a call carried came with it.
        found = (rows.filter(pc.is_in(rows.column("id"), ids)) for rows in made)
    for rows in found:
        yield rows if columns is None else rows.select([one for one in rows.schema.names if one in columns])


def read_packets(one: PlacedSplit, options: ReadOptions, wanted: RowFilter | None = None) -> Iterator[Any]:
    """The rows of a split that a filter keeps, or the one of a file that cannot be read."""
    for rows in _packets(one, options, wanted):
        yield rows if wanted is None else rows.take(wanted(rows))


def _packets(one: PlacedSplit, options: ReadOptions, wanted: RowFilter | None) -> Iterator[Any]:
    error, offset = one.error or "the file cannot be read", one.error_offset
    if one.split is not None:
        try:
            yield from _frames_of(one, one.split, options, wanted)
            return
        except CaptureError as changed:
            # It changed, or went away, after it was planned.
            if options.on_error == "fail":
                raise
            error, offset = changed.message, changed.offset
    elif options.on_error == "fail":
        raise CaptureError(f"{one.path}: {error}", offset=offset)
    yield error_batch(one.capture, one.path, error, offset, options.columns)


def _frames_of(
    one: PlacedSplit, split: Split, options: ReadOptions, wanted: RowFilter | None
) -> Iterator[Any]:
    make = partial(
        packet_batch,
        capture=one.capture,
        path=one.path,
        base=one.base,
        payload=options.payload,
        frame=options.frame,
    )
    for chunk, times in split_chunks(split, options):
        if wanted is not None:
            places = wanted(make(chunk, times, columns=wanted.columns))
            chunk, times = _selected(chunk, times, places.to_numpy())
        if len(chunk):
            yield make(chunk, times, columns=options.columns)


def split_chunks(split: Split, options: ReadOptions) -> Iterator[tuple[Chunk, Array]]:
    """The frames of a split that options choose, with the times so far of each. Raises as `read_split`."""
    frames = FrameFilter(options) if options.selects else None
    clock = split.clock
    for chunk in read_split(split, options.chunk_bytes, opener=open_file):
        times = clocks(chunk, clock)
        clock = int(times[-1])
        if frames is not None:
            chunk, times = _selected(chunk, times, np.flatnonzero(frames(chunk)))
        if len(chunk):
            yield chunk, times


def _selected(chunk: Chunk, times: Array, places: Array) -> tuple[Chunk, Array]:
    return chunk.select(places), times[places]
