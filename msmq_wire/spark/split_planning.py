"""Which part of which file a task reads: exact splits, found by a walk over the file."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from msmq_wire.capture.listing import Capture, open_file
from msmq_wire.capture.splits import Split, index_file
from msmq_wire.errors import CaptureError
from msmq_wire.spark.read_options import ReadOptions


class PlacedSplit(msgspec.Struct, frozen=True, kw_only=True):
    """A split and where it stands in its capture, or what is wrong with the bytes behind the last one.

    ``base`` is what frame numbers of the file are added to for those of the capture.
    """

    capture: str
    path: str
    base: int
    split: Split | None
    error: str | None = None
    error_offset: int = 0


def place_splits(captures: Iterable[Capture], options: ReadOptions) -> list[PlacedSplit]:
    """Place the splits of files in their captures; each file is walked."""
    found: list[PlacedSplit] = []
    for capture in captures:
        base = 0
        for file in capture.files:
            place = PlacedSplit(capture=capture.name, path=file.path, base=base, split=None)
            if file.error is not None:
                found.append(replace(place, error=file.error))
                continue
            try:
                index = index_file(file.path, options.split_bytes, opener=open_file)
            except CaptureError as error:
                found.append(replace(place, error=error.message, error_offset=error.offset))
                continue
            found += [replace(place, split=split) for split in index.splits]
            if index.error is not None:
                found.append(replace(place, error=index.error, error_offset=index.error_offset or 0))
            base += index.frames
    return found
