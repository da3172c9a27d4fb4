"""The data sources ``msmq-packets``, ``msmq-messages`` and ``msmq-calls``.

The rule kept here: planning names files and splits, tasks open them; what a task holds is a chunk of a
capture and what the decoder keeps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.splits import Split, clocks, read_split
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark.call_columns import call_batches, call_schema
from msmq_wire.spark.capture_reading import CaptureReading, Numbering
from msmq_wire.spark.captures import Capture, CaptureFile, captures_of, list_files
from msmq_wire.spark.frame_filter import FrameFilter
from msmq_wire.spark.keys import negotiator_of
from msmq_wire.spark.message_columns import batches_of, message_schema
from msmq_wire.spark.packet_columns import PACKET_SCHEMA, error_batch, packet_batch
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.spark_schema import spark_schema
from msmq_wire.spark.split_planning import PlacedSplit, place_splits, read_index

__all__ = [
    "OPENING",
    "MsmqCalls",
    "MsmqMessages",
    "MsmqPackets",
    "bundles",
    "capture_partitions",
    "capture_rows",
    "open_capture",
    "read_packets",
]


T = TypeVar("T")

OPENING = 4 << 20
"""What opening a file counts for, in bytes."""


class CapturePartition(InputPartition):
    """Captures that one task reads."""

    def __init__(self, captures: Sequence[Capture]) -> None:
        super().__init__(tuple(captures))

    @property
    def captures(self) -> tuple[Capture, ...]:
        found: tuple[Capture, ...] = self.value
        return found


class SplitPartition(InputPartition):
    """Splits that one task reads."""

    def __init__(self, splits: Sequence[PlacedSplit]) -> None:
        super().__init__(tuple(splits))

    @property
    def splits(self) -> tuple[PlacedSplit, ...]:
        found: tuple[PlacedSplit, ...] = self.value
        return found


class PacketReader(DataSourceReader):
    """Reads frames, one task for each split or for several small files."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        files = _files(options)
        known = read_index(options.index, files, options.split_bytes) if options.index else {}
        splits = place_splits(files, options, known)
        sizes = [0 if one.split is None else one.split.end - one.split.start for one in splits]
        # An empty list would become one partition of nothing.
        return [SplitPartition(bundle) for bundle in bundles(splits, sizes, options.split_bytes)] or [
            SplitPartition(())
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, SplitPartition)
        for one in partition.splits:
            yield from read_packets(one, self._options)


class RecordReader(DataSourceReader):
    """Decodes captures, one task for each or for several small ones."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        return capture_partitions(_files(self._options), self._options)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, CapturePartition)
        for capture in partition.captures:
            yield from capture_rows(open_capture(capture, self._options), self._options, self.columns)

    @abstractmethod
    def columns(self, batch: PacketBatch, numbering: Numbering) -> Iterable[Any]:
        """The rows of what a part of a capture completes."""


class MessageReader(RecordReader):
    """Gives the table ``messages``."""

    def columns(self, batch: PacketBatch, numbering: Numbering) -> Iterable[Any]:
        return batches_of(batch, numbering, payload=self._options.payload).values()


class CallReader(RecordReader):
    """Gives the table ``calls``."""

    def columns(self, batch: PacketBatch, numbering: Numbering) -> Iterable[Any]:
        return call_batches(batch, numbering)


class _Source(DataSource):
    """What the data sources share; options are checked when the source is made."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.read_options = ReadOptions.of(dict(options))


class MsmqPackets(_Source):
    """``spark.read.format("msmq-packets")``: a row a frame, see `PACKET_SCHEMA`."""

    @classmethod
    def name(cls) -> str:
        return "msmq-packets"

    def schema(self) -> StructType:
        return spark_schema(PACKET_SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        return PacketReader(self.read_options)


class MsmqMessages(_Source):
    """``spark.read.format("msmq-messages")``: a row for every record but calls, see `message_schema`."""

    @classmethod
    def name(cls) -> str:
        return "msmq-messages"

    def schema(self) -> StructType:
        return spark_schema(message_schema())

    def reader(self, schema: StructType) -> DataSourceReader:
        return MessageReader(self.read_options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _landed_reader(MessageReader(self.read_options), self.read_options)


class MsmqCalls(_Source):
    """``spark.read.format("msmq-calls")``: RPC calls and the messages in them, see `call_schema`."""

    @classmethod
    def name(cls) -> str:
        return "msmq-calls"

    def schema(self) -> StructType:
        return spark_schema(call_schema())

    def reader(self, schema: StructType) -> DataSourceReader:
        return CallReader(self.read_options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _landed_reader(CallReader(self.read_options), self.read_options)


def _landed_reader(records: RecordReader, options: ReadOptions) -> DataSourceStreamReader:
    # Not above: it stands on what is here.
    from msmq_wire.spark.streaming import LandedReader

    return LandedReader(options, records.columns)


def _files(options: ReadOptions) -> Sequence[CaptureFile]:
    """The files that the options name. Raises MsmqWireError without a path, or where one must be readable."""
    if not options.paths:
        raise MsmqWireError("nothing to read: give a path to load")
    files = list_files(options.paths, pattern=options.glob, recursive=options.recursive).files
    if options.on_error == "fail":
        for file in files:
            if file.error is not None:
                raise CaptureError(file.error)
    return files


def capture_partitions(files: Sequence[CaptureFile], options: ReadOptions) -> list[CapturePartition]:
    """Bundle the captures of files for tasks; never empty, since that would become one partition of None."""
    captures = captures_of(files, options.scope)
    sizes = [capture.size for capture in captures]
    found = [CapturePartition(bundle) for bundle in bundles(captures, sizes, options.split_bytes)]
    return found or [CapturePartition(())]


def bundles(items: Sequence[T], sizes: Sequence[int], most: int) -> list[list[T]]:
    """Put neighbours together up to about ``most`` bytes, counting what it costs to open each."""
    found: list[list[T]] = []
    room = 0
    for item, size in zip(items, sizes, strict=True):
        cost = size + OPENING
        if not found or cost > room:
            found.append([])
            room = most
        found[-1].append(item)
        room -= cost
    return found


def open_capture(capture: Capture, options: ReadOptions, wanted: FrameFilter | None = None) -> CaptureReading:
    """What reads a capture as options say; ``wanted`` takes the place of the filter that they make."""
    if wanted is None and options.selects:
        wanted = FrameFilter(options)
    return CaptureReading(
        capture,
        wanted=wanted,
        chunk_bytes=options.chunk_bytes,
        ports=options.ports,
        streams=options.streams,
        negotiator=negotiator_of(options),
    )


def capture_rows(
    reading: CaptureReading,
    options: ReadOptions,
    columns: Callable[[PacketBatch, Numbering], Iterable[Any]],
) -> Iterator[Any]:
    """The rows of a capture. Raises CaptureError at its end where it is damaged and that is to fail."""
    for batch in reading:
        yield from columns(batch, reading.numbering)
    if reading.damage and options.on_error == "fail":
        damage = reading.damage[0]
        raise CaptureError(f"{damage.path}: {damage.reason}", offset=damage.offset)


def read_packets(one: PlacedSplit, options: ReadOptions) -> Iterator[Any]:
    """The rows of a split, or the one of a file that cannot be read."""
    if one.split is None:
        reason = one.error or "the file cannot be read"
        if options.on_error == "fail":
            raise CaptureError(f"{one.path}: {reason}", offset=one.error_offset)
        yield error_batch(one.capture, one.path, reason, one.error_offset)
        return
    try:
        yield from _frames_of(one, one.split, options)
    except CaptureError as error:
        # It changed, or went away, after it was planned.
        if options.on_error == "fail":
            raise
        yield error_batch(one.capture, one.path, error.message, error.offset)


def _frames_of(one: PlacedSplit, split: Split, options: ReadOptions) -> Iterator[Any]:
    wanted = FrameFilter(options) if options.selects else None
    clock = split.clock
    for chunk in read_split(split, options.chunk_bytes):
        times = clocks(chunk, clock)
        clock = int(times[-1])
        if wanted is not None:
            places = np.flatnonzero(wanted(chunk))
            chunk, times = chunk.select(places), times[places]
        if len(chunk):
            yield packet_batch(
                chunk,
                times,
                capture=one.capture,
                path=one.path,
                base=one.base,
                payload=options.payload,
                frame=options.frame,
            )
