"""Streams of the data sources: captures are read as they land, each frame once.

The rule kept here: an offset is a place in the log of captures that landed. What a batch gives follows from
the log and the files alone, so a batch that is run again gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from msmq_wire.capture.index import Array, Chunk
from msmq_wire.capture.listing import Capture, CaptureFile
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark.frame_filter import FrameFilter
from msmq_wire.spark.landing import LandedFrames, LandingLog, holds
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.task_rows import Rows, bundles, capture_rows, open_capture


class LandedPartition(InputPartition):
    """Entries of the log that one task reads."""

    def __init__(self, entries: Sequence[LandedFrames]) -> None:
        super().__init__(tuple(entries))

    @property
    def entries(self) -> tuple[LandedFrames, ...]:
        found: tuple[LandedFrames, ...] = self.value
        return found


class LandedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads captures as they land, see `LandingLog`.

    An offset is ``{"files": number of entries, "log": name of the log}``. A file that is no longer what
    landed, or is gone, gives an error row, or ends the query with ``onError=fail``; a file that is
    overwritten while a task reads it fails the task. Raises MsmqWireError with scope ``group``.
    """

    def __init__(self, options: ReadOptions, rows: Rows) -> None:
        if options.scope == "group":
            raise MsmqWireError("a stream reads each file by itself: the option scope is file, not group")
        self._options = options
        self._make = rows
        self._log = LandingLog(options)
        self._target: int | None = None

    def initialOffset(self) -> dict[str, Any]:
        return self._offset(0)

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self._options.max_files
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._log.landed()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        first = self._place(start)
        last = self._log.landed() if self._target is None else self._target
        if isinstance(limit, ReadMaxFiles):
            last = min(last, first + limit.max_files)
        # Refuses a log with fewer entries than were read.
        self._log.entries(first, max(first, last))
        return self._offset(max(first, last))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        entries = self._log.entries(self._place(start), self._place(end))
        sizes = [entry.size for entry in entries]
        return [LandedPartition(bundle) for bundle in bundles(entries, sizes, self._options.split_bytes)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, LandedPartition)
        for entry in partition.entries:
            yield from self._rows(entry)

    def _offset(self, files: int) -> dict[str, Any]:
        return {"files": files, "log": self._log.name}

    def _place(self, offset: dict[str, Any]) -> int:
        if offset.get("log") != self._log.name:
            raise MsmqWireError(
                f"the checkpoint belongs to the log {offset.get('log')}, {self._log.folder} is "
                f"{self._log.name}: give the folder that the query had as the option seen"
            )
        return int(offset["files"])

    def _rows(self, entry: LandedFrames) -> Iterator[Any]:
        options = self._options
        error = entry.error
        if error is None and not holds(entry):
            error = f"{entry.path} is gone, or is not the file that landed"
        file = CaptureFile(path=entry.path, size=entry.size, mtime_ns=entry.mtime_ns, error=error)
        capture = Capture(name=entry.capture, files=(file,))
        reading = open_capture(capture, options, _EntryFilter(options, entry))
        yield from capture_rows(reading, options, self._make)
        if error is None and not holds(entry):
            raise CaptureError(f"{entry.path} changed while it was read")


class _EntryFilter(FrameFilter):
    """The frames of an entry that are wanted: a file that grew has others, too."""

    def __init__(self, options: ReadOptions, entry: LandedFrames) -> None:
        super().__init__(options)
        self._entry = entry

    def __call__(self, chunk: Chunk) -> Array:
        entry = self._entry
        mask = super().__call__(chunk)
        mask &= (chunk.numbers > entry.after) & (chunk.numbers <= entry.frames)
        return mask
