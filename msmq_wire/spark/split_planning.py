"""Which part of which file a task reads: exact splits, from an index that is kept or made at once.

The rule kept here: an entry of a kept index counts only for the same path, size and time of change.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
from msgspec.structs import replace

from msmq_wire.capture.listing import Capture, CaptureFile, open_file
from msmq_wire.capture.places import local_folder
from msmq_wire.capture.splits import FileIndex, Split, index_file
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.tasks import each
from msmq_wire.tables.spark_types import array_of, struct_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INDEX = struct_type(FileIndex)
INDEX_SCHEMA = pa.schema([*_INDEX, pa.field("split_bytes", pa.int64())])
"""The Arrow schema of a kept index: a row a file."""

_FILE = "captures.parquet"

Indexed = Mapping[str, FileIndex]


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


def place_splits(captures: Iterable[Capture], options: ReadOptions, known: Indexed) -> list[PlacedSplit]:
    """Place the splits of files in their captures; files that ``known`` lacks are indexed now."""
    found: list[PlacedSplit] = []
    for capture in captures:
        base = 0
        for file in capture.files:
            place = PlacedSplit(capture=capture.name, path=file.path, base=base, split=None)
            if file.error is not None:
                found.append(replace(place, error=file.error))
                continue
            try:
                index = known.get(file.path) or index_file(file.path, options.split_bytes, opener=open_file)
            except CaptureError as error:
                found.append(replace(place, error=error.message, error_offset=error.offset))
                continue
            found += [replace(place, split=split) for split in index.splits]
            if index.error is not None:
                found.append(replace(place, error=index.error, error_offset=index.error_offset or 0))
            base += index.frames
    return found


def read_index(folder: str, files: Iterable[CaptureFile], split_bytes: int) -> Indexed:
    """Return what a kept index knows of files as they are now, by path; nothing where there is none."""
    path = os.path.join(folder, _FILE)
    if not os.path.exists(path):
        return {}
    wanted = {file.path: file for file in files if file.error is None}
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise MsmqWireError(f"{folder} holds no index: {error}") from None
    if not table.schema.equals(INDEX_SCHEMA):
        raise MsmqWireError(f"{folder} holds no index: {_FILE} has other columns")
    found = {}
    for row in table.to_pylist():
        file = wanted.get(row["path"])
        if file is None or (file.size, file.mtime_ns, split_bytes) != (
            row["size"],
            row["mtime_ns"],
            row.pop("split_bytes"),
        ):
            continue
        found[row["path"]] = msgspec.convert(row, FileIndex)
    return found


def index_captures(spark: SparkSession, files: Sequence[CaptureFile], folder: str, split_bytes: int) -> int:
    """Bring a kept index up to date with files, walking those that it lacks by tasks; return their number.

    The option ``index`` of ``msmq-packets`` takes such a folder.
    """
    folder = local_folder(folder)
    known = dict(read_index(folder, files, split_bytes))
    missing = [file.path for file in files if file.error is None and file.path not in known]
    if missing:
        walked = each(spark, missing, partial(indexed, split_bytes=split_bytes))
        known |= {index.path: index for index in walked if index is not None}
        write_index(folder, known.values(), split_bytes)
    return len(missing)


def indexed(path: str, split_bytes: int) -> FileIndex | None:
    """The index of a file; None for what is no capture, which is said where it is placed."""
    try:
        return index_file(path, split_bytes, opener=open_file)
    except CaptureError:
        return None


def write_index(folder: str, indexes: Iterable[FileIndex], split_bytes: int) -> None:
    """Replace a kept index at once."""
    rows = array_of(indexes, _INDEX)
    columns: list[Any] = [*rows.flatten(), pa.array([split_bytes] * len(rows), pa.int64())]
    os.makedirs(folder, exist_ok=True)
    beside = os.path.join(folder, f".{secrets.token_hex(8)}.tmp")
    try:
        pq.write_table(pa.Table.from_arrays(columns, schema=INDEX_SCHEMA), beside, compression="zstd")
        os.replace(beside, os.path.join(folder, _FILE))
    finally:
        if os.path.exists(beside):
            os.unlink(beside)
