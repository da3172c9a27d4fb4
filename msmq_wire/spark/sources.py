"""The data sources ``msmq-packets``, ``msmq-messages``, ``msmq-calls`` and ``msmq-carved``.

The rule kept here: planning lists files and splits, and only tasks open them. A task holds one chunk of a
capture, and the state of the decoder or the search.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
from msgspec.structs import replace
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from msmq_wire.capture.listing import Capture, CaptureFile, Scope, captures_of, list_files
from msmq_wire.capture.numbering import Numbering
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark.carving import carved_rows, plan_parts
from msmq_wire.spark.read_options import AT_REST, ReadOptions
from msmq_wire.spark.row_filter import RowFilter, filtered
from msmq_wire.spark.spark_schema import spark_schema
from msmq_wire.spark.split_planning import place_splits
from msmq_wire.spark.task_rows import capture_rows, kept_rows, open_capture, partitions_of, read_packets
from msmq_wire.tables.call_columns import call_batches, call_schema
from msmq_wire.tables.carved_columns import carved_schema
from msmq_wire.tables.message_columns import batches_of, message_schema
from msmq_wire.tables.packet_columns import PACKET_SCHEMA
from msmq_wire.tables.spark_types import columns_of


class _Reader(DataSourceReader):
    """Base of the readers; ``row_filter``, if set, selects the rows."""

    GLOB: ClassVar[str | None] = None
    SCOPE: ClassVar[Scope | None] = None

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self.row_filter: RowFilter | None = None

    @property
    def _scope(self) -> Scope:
        """What is one capture."""
        return self.SCOPE or self._options.scope

    def _captures(self) -> list[Capture]:
        """Captures with rows that the filter may keep: by ``capture``, and ``path`` if it is the same."""
        options = self._options
        scope = self._scope
        captures = captures_of(_listed(replace(options, glob=options.glob or self.GLOB)), scope)
        known = ("capture", "path") if scope == "file" else ("capture",)
        wanted = None if self.row_filter is None else self.row_filter.only(known)
        if wanted is None:
            return captures
        names = [one.name for one in captures]
        places = wanted(pa.RecordBatch.from_pydict({"capture": names, "path": names}))
        return [captures[place] for place in places.to_pylist()]


class PacketDataReader(_Reader):
    """Reads frames, one task for each split or for several small files.

    Which frame is a copy of another one only merging files tells: vantage points are captures of their own.
    """

    @property
    def _scope(self) -> Scope:
        scope = super()._scope
        return "ring" if scope == "places" else scope

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        splits = place_splits(self._captures(), options)
        sizes = [0 if one.split is None else one.split.end - one.split.start for one in splits]
        return partitions_of(splits, sizes, options.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        for one in partition.value:
            yield from read_packets(one, self._options, self.row_filter)


class RecordReader(_Reader):
    """Decodes captures, one task for each or for several small ones."""

    def partitions(self) -> Sequence[InputPartition]:
        captures = self._captures()
        return partitions_of(captures, [one.size for one in captures], self._options.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        for capture in partition.value:
            yield from capture_rows(open_capture(capture, self._options), self._options, self.rows)

    def rows(self, batch: PacketBatch, numbering: Numbering) -> Iterable[Any]:
        """The rows of a batch of packets that pass the row filter."""

        def make(batch: PacketBatch, columns: frozenset[str] | None) -> Iterable[Any]:
            return self._make_rows(batch, numbering, columns)

        columns = self._options.columns
        return (
            make(batch, columns)
            if self.row_filter is None
            else kept_rows(batch, make, columns, self.row_filter)
        )

    @abstractmethod
    def _make_rows(
        self, batch: PacketBatch, numbering: Numbering, columns: frozenset[str] | None
    ) -> Iterable[Any]:
        """Make all rows of a batch, with the given columns; None is all columns."""


class MessageReader(RecordReader):
    """Reads the table ``messages``."""

    def _make_rows(
        self, batch: PacketBatch, numbering: Numbering, columns: frozenset[str] | None
    ) -> Iterable[Any]:
        return batches_of(batch, numbering, payload=self._options.payload, columns=columns).values()


class CallReader(RecordReader):
    """Reads the table ``calls``."""

    def _make_rows(
        self, batch: PacketBatch, numbering: Numbering, columns: frozenset[str] | None
    ) -> Iterable[Any]:
        return call_batches(batch, numbering, columns=columns)


class CarvedReader(_Reader):
    """Searches files, one task for each part of a large one or for several small ones."""

    # Files to carve may have any name.
    GLOB = "*"
    SCOPE = "file"

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        parts = plan_parts([file for one in self._captures() for file in one.files], options.split_bytes)
        sizes = [one.size for one in parts]
        return partitions_of(parts, sizes, options.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        for part in partition.value:
            yield from carved_rows(part, self._options, self.row_filter)


class _Source(DataSource):
    """Base of the data sources; it checks the options in its constructor."""

    NAME: ClassVar[str]
    READER: ClassVar[type[_Reader]]

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.read_options = ReadOptions.of(dict(options))
        unknown = sorted((self.read_options.columns or frozenset()).difference(self.table().names))
        if unknown:
            raise MsmqWireError(f"the option columns names columns of {self.NAME}: {unknown[0]} is none")

    @classmethod
    def name(cls) -> str:
        return cls.NAME

    @staticmethod
    @abstractmethod
    def table() -> Any:
        """The Arrow schema of all columns."""

    def schema(self) -> StructType:
        return spark_schema(columns_of(self.table(), self.read_options.columns))

    def reader(self, schema: StructType) -> DataSourceReader:
        return filtered(self.READER(self.read_options), self.table())


class MsmqPackets(_Source):
    """``spark.read.format("msmq-packets")``: one row per frame, see `PACKET_SCHEMA`."""

    NAME = "msmq-packets"
    READER = PacketDataReader

    @staticmethod
    def table() -> Any:
        return PACKET_SCHEMA


class MsmqMessages(_Source):
    """``spark.read.format("msmq-messages")``: one row per record except calls, see `message_schema`."""

    NAME = "msmq-messages"
    READER = MessageReader
    table = staticmethod(message_schema)


class MsmqCalls(_Source):
    """``spark.read.format("msmq-calls")``: RPC calls and the messages in them, see `call_schema`."""

    NAME = "msmq-calls"
    READER = CallReader
    table = staticmethod(call_schema)


class MsmqCarved(_Source):
    """``spark.read.format("msmq-carved")``: one row per place of each carved item, see `carved_schema`."""

    NAME = "msmq-carved"
    READER = CarvedReader
    table = staticmethod(carved_schema)

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        others = sorted({name.lower() for name in options} - {name.lower() for name in AT_REST})
        if others:
            raise MsmqWireError(f"the option {others[0]} is about captures, and {self.NAME} reads none")


def _listed(options: ReadOptions) -> Sequence[CaptureFile]:
    """List the files. Raises MsmqWireError without a path, or for an unreadable file if on_error is fail."""
    if not options.paths:
        raise MsmqWireError("nothing to read: give a path to load")
    files = list_files(options.paths, pattern=options.glob, recursive=options.recursive).files
    if options.on_error == "fail":
        for file in files:
            if file.error is not None:
                raise CaptureError(file.error)
    return files
