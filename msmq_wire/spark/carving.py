"""What tasks of ``msmq-carved`` read: files, or parts of them, and the rows of what is found there.

The rule kept here: however files are cut, the rows are the finds of `CarveReader`, one for each place. A file
that changes after it was cut is not read: its parts would be parts of two files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec

from msmq_wire.capture.carve.media import Medium
from msmq_wire.capture.carve.parts import finds_in_part, part_starts
from msmq_wire.capture.carve.search import CarvedItem
from msmq_wire.capture.listing import CaptureFile, has_changed, open_file
from msmq_wire.capture.places import Place
from msmq_wire.errors import CaptureError
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.row_filter import RowFilter
from msmq_wire.tables.carved_columns import carved_batches, failure_batch
from msmq_wire.wire.stream import counted

_OPENERS = 16
"""Files that are looked at together while a query is planned."""
_TOGETHER = 4096
"""Finds that are made rows at a time, if their bytes are not more than a chunk."""


class FilePart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a file from ``first`` to ``last``, without ``last`` all of it; or why it cannot be read."""

    file: CaptureFile
    first: int = 0
    last: int | None = None
    error: str | None = None

    @property
    def size(self) -> int:
        """Bytes that are searched for it, as far as that is known."""
        return self.file.size if self.last is None else self.last - self.first


def plan_parts(files: Sequence[CaptureFile], split_bytes: int) -> list[FilePart]:
    """Cut the files that are larger than a split; only these are opened. What is packed is one part."""
    with ThreadPoolExecutor(_OPENERS) as pool:
        return [part for parts in pool.map(partial(_cut, split_bytes=split_bytes), files) for part in parts]


def _cut(file: CaptureFile, split_bytes: int) -> list[FilePart]:
    if file.error is not None or file.size <= split_bytes:
        return [FilePart(file=file, error=file.error)]
    try:
        with _opened(file.path) as medium:
            total = None if medium.is_stream else medium.total
            step = part_starts(total or 0, split_bytes).step
            # A part in which nothing was written has no finds, and of these there may be millions.
            held = {
                number
                for first, last in (() if total is None else medium.ranges())
                for number in range(first // step, -(-last // step))
            }
    except CaptureError as error:
        return [FilePart(file=file, error=error.message)]
    if total is None:
        return [FilePart(file=file)]
    starts = (step * one for one in sorted(held or {0}))
    return [FilePart(file=file, first=one, last=min(one + step, total)) for one in starts]


def _opened(path: str) -> Medium:
    return Medium(path, hashing=False, opener=None if Place(path).is_local else open_file)


def carved_rows(part: FilePart, options: ReadOptions, wanted: RowFilter | None = None) -> Iterator[Any]:
    """The rows of a part that a filter keeps, and one that says what of it cannot be read, if so.

    Raises CaptureError instead of giving that one where it is to fail.
    """
    columns = options.columns
    for rows in _rows(
        part, options, columns if wanted is None or columns is None else columns | wanted.columns
    ):
        kept = rows if wanted is None else rows.take(wanted(rows))
        yield kept if columns is None else kept.select([one for one in kept.schema.names if one in columns])


def _rows(part: FilePart, options: ReadOptions, columns: frozenset[str] | None) -> Iterator[Any]:
    path = part.file.path
    try:
        if part.error is not None:
            raise CaptureError(part.error)
        if part.last is not None and has_changed(part.file):
            raise CaptureError(f"{path} changed after it was listed")
        with _opened(path) as medium:
            for finds in _some(finds_in_part(medium, part.first, part.last), options.chunk_bytes):
                yield from carved_batches(finds, path, medium.map, payload=options.payload, columns=columns)
            if medium.failure is not None:
                raise CaptureError(medium.failure.message, offset=medium.bytes_read)
            if medium.unreadable:
                raise CaptureError(f"{counted(medium.unreadable)} in this part, or beside it, cannot be read")
    except CaptureError as error:
        if options.on_error == "fail":
            raise CaptureError(f"{path}: {error.message}", offset=error.offset) from None
        yield failure_batch(path, error.message, max(part.first, error.offset), columns)


def _some(finds: Iterable[CarvedItem], most: int) -> Iterator[list[CarvedItem]]:
    """Finds, some at a time, of about ``most`` bytes."""
    some: list[CarvedItem] = []
    held = 0
    for find in finds:
        some.append(find)
        held += len(find.data)
        if held >= most or len(some) == _TOGETHER:
            yield some
            some, held = [], 0
    if some:
        yield some
