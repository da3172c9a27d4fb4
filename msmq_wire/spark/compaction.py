"""Small files of tables put together, beside runs that go on.

The rule kept here: compacting adds no row and loses none. What was made of files that somebody replaced
meanwhile is thrown away, and nobody waits for it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from msmq_wire.spark.tasks import finished
from msmq_wire.tables.store.snapshot import Snapshot, StoredFile
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.table_files import FILE_BYTES, TableWriter, WrittenFile
from msmq_wire.tables.table_schemas import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PAUSE = 5.0
"""Seconds between two commits."""
_FOOTER = 160 << 10
"""What says in a file what its columns are has at most so many bytes: of files as one it is there once."""
_LEAST = 16
"""A file weighs at least this part of its size."""
_MOST_FILES = 4096
"""Files that one task reads, one after the other."""
_GROUPS = 512
"""Row groups of a file that is written alone: there are no others whose ends are in memory, too."""


class Bundle(msgspec.Struct, frozen=True):
    """Files of one table and day to be put together."""

    table: str
    files: tuple[StoredFile, ...]

    @property
    def paths(self) -> frozenset[str]:
        """Their paths below the table."""
        return frozenset(file.path for file in self.files)


class Compaction(msgspec.Struct, kw_only=True):
    """What was done: so many files became so many others; ``dropped`` were replaced by others meanwhile."""

    before: int = 0
    after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    dropped: int = 0


def bundles_of(snapshot: Snapshot, target: int = FILE_BYTES) -> list[Bundle]:
    """Which files smaller than half of ``target`` bytes go together: neighbours by the names of captures."""
    bundles = []
    for table in (*snapshot.tables, "captures", "sources"):
        small = [file for file in snapshot.files(table) if file.size < target // 2]
        small.sort(key=lambda file: (file.partition or "", file.first, file.last, file.path))
        footer = min([_FOOTER, *(file.size for file in small)])
        for _, of_day in groupby(small, key=lambda file: file.partition):
            bundles += [Bundle(table, files) for files in _together(of_day, footer, target) if len(files) > 1]
    return bundles


def _together(files: Iterator[StoredFile], footer: int, target: int) -> Iterator[tuple[StoredFile, ...]]:
    found: list[StoredFile] = []
    weight = 0
    for file in files:
        more = max(file.size - footer, file.size // _LEAST)
        if found and (weight + more > target or len(found) == _MOST_FILES):
            yield tuple(found)
            found, weight = [], 0
        found.append(file)
        weight += more
    if found:
        yield tuple(found)


def compact(
    spark: SparkSession,
    store: Store,
    *,
    target: int = FILE_BYTES,
    tell: Callable[[str], None] = lambda text: None,
) -> Compaction:
    """Put small files of all tables together, up to ``target`` bytes each; say what was done.

    A task reads and writes rows by batches: it holds a row group or two (16 MiB as Arrow) and what Parquet
    keeps of the groups that it wrote. ``tell`` is given a line of progress now and then. Raises MsmqWireError
    where the tables cannot be written.
    """
    bundles = bundles_of(store.snapshot(), target)
    done = Compaction()
    waiting: list[tuple[Bundle, list[WrittenFile]]] = []
    latest, task = time.monotonic(), partial(merge, store=store, target=target)
    for ended, one in enumerate(finished(spark, bundles, task), 1):
        waiting.append(one)
        if ended == len(bundles) or time.monotonic() - latest >= _PAUSE:
            _commit(store, waiting, done)
            waiting, latest = [], time.monotonic()
            tell(f"{ended} of {len(bundles)} groups of files, {done.before} files are {done.after}")
    store.compact_runs(target)
    return done


def merge(bundle: Bundle, store: Store, target: int) -> tuple[Bundle, list[WrittenFile]]:
    """Write the rows of a bundle into new files, in the order of its files."""
    table, partitioned = bundle.table, bundle.table in TABLES
    with TableWriter(store.place, (table,), partitioned=partitioned, size=target, groups=_GROUPS) as writer:
        for file in bundle.files:
            for batch in store.batches(table, file):
                writer.write(table, batch, file.partition)
    return bundle, writer.files


def _commit(store: Store, made: Sequence[tuple[Bundle, list[WrittenFile]]], done: Compaction) -> None:
    kept: list[tuple[Bundle, list[WrittenFile]]] = []

    def change(snapshot: Snapshot) -> Change | None:
        there = {
            table: {file.path for file in snapshot.files(table)} for table in {one.table for one, _ in made}
        }
        kept[:] = [one for one in made if one[0].paths <= there[one[0].table]]
        merged: dict[str, frozenset[str]] = {}
        for bundle, _ in kept:
            merged[bundle.table] = merged.get(bundle.table, frozenset()) | bundle.paths
        return Change(files=[file for _, files in kept for file in files], merged=merged) if kept else None

    store.publish(change)
    for bundle, files in made:
        if (bundle, files) in kept:
            done.before += len(bundle.files)
            done.after += len(files)
            done.bytes_before += sum(file.size for file in bundle.files)
            done.bytes_after += sum(file.size for file in files)
            continue
        done.dropped += len(bundle.files)
        for file in files:
            with contextlib.suppress(OSError):
                store.place.join(file.table, *file.path.split("/")).delete()
