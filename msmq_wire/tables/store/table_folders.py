"""The folders of tables, before a log in them is read: they may come from somebody else.

The rule kept here: deltalake follows links, and paths that a checkpoint names. So a folder with a link, and a
log with more than this package writes, is refused before deltalake opens it.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs

from msmq_wire.capture.places import Place
from msmq_wire.errors import MsmqWireError
from msmq_wire.tables.table_schemas import BOOKS, TABLES

LOG = "_delta_log"
"""The folder of a table that has its log."""
MOST_LOG_BYTES = 256 << 20
"""Bytes of one file of a log, decompressed: reading takes three times as much memory."""
MOST_ACTIONS = 1 << 20
"""Rows of one checkpoint: each takes some 2 KB of memory, however few bytes it has in the file."""
_VERSION = re.compile(r"[0-9]{20}(?=\.(?:json|checkpoint\.parquet)$)")
_CHECKPOINT = re.compile(r"[0-9]{20}\.checkpoint\.parquet")
_SHOWN = 60


def damaged(place: Place, why: str) -> MsmqWireError:
    """The error of tables that nobody should open."""
    return MsmqWireError(f"damaged tables in {place.url}: {why}")


def brief(name: str) -> str:
    """A name that tables brought along, cut where it is long."""
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."


def check_folders(place: Place) -> None:
    """Raise MsmqWireError where the tables below ``place`` have anything but folders and regular files."""
    waiting = [table for table in (*TABLES, *BOOKS) if place.is_local]
    for table in waiting:
        if os.path.islink(place.join(table).path):
            raise damaged(place, f"{table} is a link")
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(os.path.join(place.path, folder)))
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            name = f"{folder}/{entry.name}"
            # Python 3.11 does not know the junctions of Windows.
            if entry.is_symlink() or getattr(entry, "is_junction", bool)():
                raise damaged(place, f"{brief(name)} is a link")
            if entry.is_dir():
                waiting.append(name)
            elif not entry.is_file():
                raise damaged(place, f"{brief(name)} is neither a file nor a folder")


def check_log(place: Place, table: str) -> int:
    """The last version that the log of a table has, -1 without one.

    Raises MsmqWireError for a log that deltalake should not open. Raises OSError.
    """
    latest = -1
    for info in place.join(table, LOG).list():
        version = _VERSION.match(info.base_name)
        latest = max(latest, int(version[0]) if version else -1)
        name, size, reason = info.base_name, info.size or 0, ""
        if size > MOST_LOG_BYTES:
            reason = f"has {size} bytes, more than {MOST_LOG_BYTES}"
        elif ".checkpoint" in name:
            ours = _CHECKPOINT.fullmatch(name) is not None
            checkpoint = place.join(table, LOG, name)
            reason = _fault_of(checkpoint, size, info.mtime_ns) if ours else "is no checkpoint of msmq-wire"
        if reason:
            raise damaged(place, f"{brief(f'{table}/{LOG}/{name}')} {reason}")
    return latest


@lru_cache(maxsize=1 << 12)
def _fault_of(checkpoint: Place, size: int, mtime_ns: int) -> str:
    """Why a checkpoint should not be opened; empty where it may. One that did not change is read once."""
    with checkpoint.open_input() as file:
        try:
            found = pq.ParquetFile(file)
        except UnicodeDecodeError:
            return "has a column whose name is no text"
        groups = [found.metadata.row_group(at) for at in range(found.metadata.num_row_groups)]
        rows, held = sum(one.num_rows for one in groups), sum(one.total_byte_size for one in groups)
        if rows > MOST_ACTIONS:
            return f"has {rows} rows, more than {MOST_ACTIONS}"
        if held > MOST_LOG_BYTES:
            return f"has {held} bytes, more than {MOST_LOG_BYTES}"
        # A sidecar is another file of the log, anywhere: deltalake would open it.
        paths = found.read(["sidecar.path"]) if "sidecar" in found.schema_arrow.names else None
        return "names other files" if paths is not None and paths.column(0).null_count < rows else ""
