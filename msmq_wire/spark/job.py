"""The job: captures in, Parquet tables out, every capture once.

The rule kept here: tasks decode and write hidden files, the driver publishes; a run that is ended at any
point leaves tables that are right, and the next one goes on.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

import msmq_wire
from msmq_wire.capture.splits import FileIndex, index_file
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark.capture_job import JobPlan, decode_capture, rows_of
from msmq_wire.spark.captures import (
    Capture,
    CaptureFile,
    captures_of,
    folder_of,
    legible,
    list_files,
    refuse_url,
)
from msmq_wire.spark.group_job import decode_groups
from msmq_wire.spark.ledger import Entry, Ledger, capture_key
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.sources import OPENING, bundles, read_packets
from msmq_wire.spark.split_planning import Indexed, place_splits, read_index, update_index
from msmq_wire.spark.store_warnings import store_warnings
from msmq_wire.spark.table_files import TableWriter, WrittenFile
from msmq_wire.spark.table_schemas import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DEFAULT_TABLES", "Run", "index_captures", "run_job"]

DEFAULT_TABLES = tuple(table for table in TABLES if table != "packets")
"""What is filled unless something else is asked for: packets repeat every byte of the captures."""

_INDEX = "index"
_WAVE = 8
"""Bundles of captures for each core that are published together."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did; kept as ``runs/<name>.json`` below the output.

    ``captures`` counts those decoded, ``unchanged`` those that the tables held already, ``left_out`` files in
    the folders that do not look like captures; ``rows`` counts by table, ``damage`` says what could not be
    read, ``warnings`` what the tables hold that may not be expected of them. Times are RFC 3339, UTC.
    """

    name: str
    version: str
    inputs: tuple[str, ...]
    options: Mapping[str, Any]
    tables: tuple[str, ...]
    started: str
    ended: str
    captures: int
    unchanged: int
    left_out: int
    frames: int
    understood: int
    rows: Mapping[str, int]
    skipped: Mapping[str, int]
    damage: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def run_job(
    spark: SparkSession,
    output: str,
    options: ReadOptions,
    *,
    tables: Iterable[str] = DEFAULT_TABLES,
    force: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    warn: Callable[[str], None] = lambda text: None,
) -> Run:
    """Fill the tables below ``output`` with the captures that ``options`` name.

    A capture whose files have not changed since a run with the same options and tables is left alone, unless
    ``force``. Tables that the output has are filled, too, even if they are not asked for: none may lack what
    the others have. ``tell`` is given a line of progress now and then, ``warn`` each of the `Run.warnings`,
    before anything is read. Raises MsmqWireError where ``output``
    cannot be written, another run has it, or it has a file as a part of another capture already; with
    ``onError=fail`` also where a file cannot be read.
    """
    started = _now()
    output = folder_of(output)
    # Sessions need the steps of connections; these are no rows of messages.
    options = replace(options, streams=True, paths=tuple(map(_absolute, options.paths)))
    listing = list_files(options.paths, pattern=options.glob, recursive=options.recursive)
    if options.on_error == "fail":
        for file in listing.files:
            if file.error is not None:
                raise CaptureError(file.error)
    name = f"{started.replace(':', '').replace('-', '')}-{secrets.token_hex(4)}"
    done: list[Entry] = []
    with Ledger(output) as ledger:
        filled = {table for entry in ledger.entries.values() for table in entry.tables}
        wanted = tuple(table for table in TABLES if table in filled | set(tables))
        plan = JobPlan(output=output, options=options, tables=wanted, run=name, key=_key(options, wanted))
        captures = captures_of(listing.files, options.scope)
        _refuse_twice(captures, ledger)
        todo = [capture for capture in captures if force or not ledger.has(capture, plan.key)]
        warnings = tuple(store_warnings(ledger, captures, todo, plan.options, plan.key))
        for text in warnings:
            warn(text)
        known: Indexed = {}
        if todo and (options.scope == "group" or "packets" in wanted):
            # Those of captures that are left alone stay in the index.
            files = [file for capture in captures for file in capture.files]
            index_captures(spark, files, str(ledger.output / _INDEX), options.split_bytes)
            known = read_index(str(ledger.output / _INDEX), files, options.split_bytes)
        for wave in _waves(spark, todo, options):
            tell(f"{len(done)} of {len(todo)} captures")
            if options.scope == "group":
                entries = decode_groups(spark, wave, plan, known)
            else:
                entries = _decode_files(spark, wave, plan)
            if "packets" in wanted:
                entries = _with_packets(spark, wave, entries, plan, known)
            for entry in entries:
                if entry.damage and options.on_error == "fail":
                    raise CaptureError(entry.damage[0])
                ledger.publish(entry)
                done.append(entry)
        ledger.sweep()
        run = _told(
            plan,
            done,
            started,
            unchanged=len(captures) - len(todo),
            left_out=listing.left_out,
            warnings=warnings,
        )
        _write_run(ledger.output / "runs", run)
    return run


def _absolute(path: str) -> str:
    return path if not path or "://" in path else os.path.abspath(path)


def _refuse_twice(captures: Iterable[Capture], ledger: Ledger) -> None:
    """Raise MsmqWireError where a file would be in the tables as a part of two captures."""
    held = {file.path: entry.capture for entry in ledger.entries.values() for file in entry.sources}
    for capture in captures:
        for file in capture.files:
            other = held.get(file.path, capture.name)
            if other != capture.name:
                raise MsmqWireError(
                    f"{ledger.output} holds {file.path} as {other}, read with another scope: "
                    "take another folder for the tables"
                )


def index_captures(spark: SparkSession, files: Sequence[CaptureFile], folder: str, split_bytes: int) -> int:
    """Bring the index of splits in ``folder`` up to date, a task for each bundle of files.

    Returns how many files were walked. The option ``index`` of ``msmq-packets`` takes such a folder.
    """

    refuse_url(folder)

    def walk(paths: Sequence[str]) -> list[FileIndex]:
        sizes = {file.path: file.size for file in files}
        parts = bundles(paths, [sizes[path] for path in paths], 1 << 28)
        indexed = partial(_indexed, split_bytes=split_bytes)
        found = spark.sparkContext.parallelize(parts, len(parts)).map(indexed).collect()
        return [index for part in found for index in part]

    return update_index(folder, files, split_bytes, walk)


def _indexed(paths: Sequence[str], split_bytes: int) -> list[FileIndex]:
    found = []
    for path in paths:
        try:
            found.append(index_file(path, split_bytes))
        except CaptureError:
            # It is no capture: that is said where it is placed.
            continue
    return found


def _waves(spark: SparkSession, captures: Sequence[Capture], options: ReadOptions) -> Iterator[list[Capture]]:
    """Captures that are decoded, then published, together: enough to keep all cores at work."""
    cores = spark.sparkContext.defaultParallelism
    wave: list[Capture] = []
    size = 0
    for capture in captures:
        wave.append(capture)
        size += capture.size + OPENING * len(capture.files)
        # A group keeps all cores at work by itself.
        some = options.scope == "group" or len(wave) >= _WAVE * cores
        if some and size >= _WAVE * cores * options.split_bytes:
            yield wave
            wave, size = [], 0
    if wave:
        yield wave


def _decode_files(spark: SparkSession, captures: Sequence[Capture], plan: JobPlan) -> list[Entry]:
    """Decode captures that are one file each, as a task for each bundle of them."""
    parts = bundles(captures, [capture.size for capture in captures], plan.options.split_bytes)
    decode = partial(_decode_bundle, plan=plan)
    found = spark.sparkContext.parallelize(parts, len(parts)).map(decode).collect()
    return [entry for part in found for entry in part]


def _decode_bundle(captures: Sequence[Capture], plan: JobPlan) -> list[Entry]:
    return [decode_capture(capture, plan) for capture in captures]


def _with_packets(
    spark: SparkSession, captures: Sequence[Capture], entries: Iterable[Entry], plan: JobPlan, known: Indexed
) -> list[Entry]:
    """Write the frames of captures, a task for each bundle of splits, and add the files to the entries."""
    splits = [
        split
        for capture in captures
        for split in place_splits(capture.files, plan.options, known)
        if split.split is not None
    ]
    sizes = [0 if one.split is None else one.split.end - one.split.start for one in splits]
    parts = bundles(splits, sizes, plan.options.split_bytes)
    write = partial(_write_packets, plan=plan)
    files: dict[str, list[WrittenFile]] = {}
    if parts:
        for found in spark.sparkContext.parallelize(parts, len(parts)).map(write).collect():
            for capture, written in found:
                files.setdefault(capture, []).extend(written)
    added = []
    for entry in entries:
        both = (*entry.files, *files.get(entry.capture, ()))
        added.append(replace(entry, files=both, rows=rows_of(both)))
    return added


def _write_packets(splits: Sequence[Any], plan: JobPlan) -> list[tuple[str, list[WrittenFile]]]:
    found = []
    for split in splits:
        with TableWriter(plan.output, capture_key(split.capture), ("packets",)) as writer:
            for batch in read_packets(split, plan.options):
                writer.write("packets", batch)
        found.append((split.capture, writer.files))
    return found


def _key(options: ReadOptions, tables: Sequence[str]) -> str:
    """What stands for everything that changes rows; secrets are in it as the names of their files."""
    parts = {name: _plain(getattr(options, name)) for name in _DECIDES} | {"tables": tables}
    text = msgspec.json.encode(parts, order="deterministic", enc_hook=sorted)
    return hashlib.sha256(text).hexdigest()[:16]


_DECIDES = (
    "ports",
    "hosts",
    "since",
    "until",
    "scope",
    "payload",
    "frame",
    "followed",
    "nt_password_file",
    "nt_hash_file",
    "keytabs",
)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return legible(value)
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _told(plan: JobPlan, done: Sequence[Entry], started: str, **more: Any) -> Run:
    rows: Counter[str] = Counter(dict.fromkeys(plan.tables, 0))
    skipped: Counter[str] = Counter()
    for entry in done:
        rows.update(entry.rows)
        skipped.update(entry.skipped)
    return Run(
        name=plan.run,
        version=msmq_wire.__version__,
        inputs=tuple(map(legible, plan.options.paths)),
        options={name: _plain(value) for name, value in msgspec.to_builtins(plan.options).items()},
        tables=plan.tables,
        started=started,
        ended=_now(),
        captures=len(done),
        frames=sum(entry.frames for entry in done),
        understood=sum(entry.understood for entry in done),
        rows=dict(rows),
        skipped=dict(skipped),
        damage=tuple(damage for entry in done for damage in entry.damage),
        **more,
    )


def _write_run(folder: Path, run: Run) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{run.name}.tmp"
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1))
    beside.rename(folder / f"{run.name}.json")
