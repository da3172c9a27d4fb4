"""The job: captures in, tables out, every capture once, whatever it is called.

The rule kept here: what a run costs grows with what is new. Tasks decode and write files; the driver commits
what has ended, whole captures at a time, so a run that is ended at any point leaves tables that are right.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
from msgspec.structs import replace

import msmq_wire
from msmq_wire.errors import CaptureError, MsmqWireError
from msmq_wire.spark.capture_job import Done, Entry, JobPlan, Todo, decode_captures
from msmq_wire.spark.captures import Capture, CaptureFile, Scope, captures_of, legible, list_files
from msmq_wire.spark.group_job import decode_groups
from msmq_wire.spark.identity import (
    Content,
    Known,
    Seen,
    candidates,
    content_of,
    file_key,
    head_of,
    place_files,
    source_row,
)
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.store import Change, Snapshot, Store, among
from msmq_wire.spark.table_schemas import TABLES
from msmq_wire.spark.task_rows import bundles
from msmq_wire.spark.tasks import each, finished

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DEFAULT_TABLES", "Run", "run_job"]

DEFAULT_TABLES = tuple(table for table in TABLES if table != "packets")
"""What is filled unless something else is asked for: packets repeat every byte of the captures."""

_PAUSE = 5.0
"""Seconds between two commits: what ends meanwhile is committed together."""
_SMALL = 64 << 10
"""What a capture counts for beside its bytes, when tasks are made."""
_EACH = 2
"""Tasks for each core, where captures are many or large enough."""
_LEAST = 4 << 20
"""Bytes that are worth files of their own."""
_ROUNDS = 10
"""How often captures are looked at again that other runs changed meanwhile."""
_WAVE = 8
"""Bundles of groups for each core that are decoded together."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did; kept as a row of the table ``runs``.

    ``captures`` counts those decoded, ``unchanged`` those that the tables held already, as they are or as a
    copy, ``left_out`` files in the folders that do not look like captures; ``rows`` counts by table,
    ``damage`` says what could not be read, ``warnings`` what the tables hold that may not be expected of
    them. Times are UTC.
    """

    name: str
    version: str
    inputs: tuple[str, ...]
    options: Mapping[str, str]
    tables: tuple[str, ...]
    started: datetime
    ended: datetime
    captures: int
    unchanged: int
    left_out: int
    frames: int
    understood: int
    rows: Mapping[str, int]
    skipped: Mapping[str, int]
    damage: tuple[str, ...]
    warnings: tuple[str, ...] = ()


class _Work(msgspec.Struct, frozen=True):
    """What there is to do: captures to decode, files that are copies, and how many captures are known."""

    todo: list[Todo]
    copies: list[dict[str, Any]]
    unchanged: int


def run_job(
    spark: SparkSession,
    output: str,
    options: ReadOptions,
    *,
    tables: Iterable[str] = DEFAULT_TABLES,
    again: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    warn: Callable[[str], None] = lambda text: None,
) -> Run:
    """Fill the tables below ``output``, a folder or URL, with the captures that ``options`` name.

    A capture whose content the tables hold is left alone, whatever it is called, and whatever options or
    version it was read with, unless ``again``: then its rows are replaced. Of one that grew the rows are
    replaced, too. Tables that the output has are filled even if they are not asked for. ``tell`` is given a
    line of progress now and then, ``warn`` each of the `Run.warnings`, before anything is decoded. Raises
    MsmqWireError where ``output`` cannot be written, or it has a file as a part of another capture already;
    with ``onError=fail`` also where a file cannot be read.
    """
    started = datetime.now(UTC)
    store = Store(output)
    # Sessions need the steps of connections; these are no rows of messages.
    options = replace(options, streams=True, paths=tuple(map(_absolute, options.paths)))
    listing = list_files(options.paths, pattern=options.glob, recursive=options.recursive)
    if options.on_error == "fail":
        for file in listing.files:
            if file.error is not None:
                raise CaptureError(file.error)
    store.make()
    snapshot = store.snapshot()
    wanted = {*snapshot.tables, *tables}
    plan = JobPlan(
        place=store.place,
        options=options,
        tables=tuple(table for table in TABLES if table in wanted),
        run=f"{started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        key=_key(options),
    )
    _refuse_twice(snapshot, listing.files, options.scope)
    placed = _groups if options.scope == "group" else _files
    work = placed(spark, snapshot, listing.files, again)
    warnings = () if again else tuple(_warnings(snapshot, listing.files, plan, work))
    for text in warnings:
        warn(text)
    publisher = _Publisher(store, plan, tell)
    for _ in range(_ROUNDS):
        publisher.begin(work, snapshot)
        if options.scope == "group":
            for wave in _waves(spark, work.todo, options):
                publisher.take(decode_groups(spark, wave, plan))
        else:
            parts = _parts(spark, work.todo, options)
            for done in finished(spark, parts, partial(decode_captures, plan=plan)):
                publisher.take(done)
        publisher.flush()
        publisher.copies(work.copies)
        if not publisher.overtaken:
            break
        files = list_files(options.paths, pattern=options.glob, recursive=options.recursive).files
        snapshot = store.snapshot()
        work = placed(spark, snapshot, _again(files, publisher.overtaken, options.scope), False)
    else:
        raise MsmqWireError(f"{output}: other runs changed the same captures {_ROUNDS} times")
    run = publisher.run(started, listing.left_out, warnings)
    store.append("runs", msgspec.structs.asdict(run))
    return run


def _again(files: Sequence[CaptureFile], paths: set[str], scope: Scope) -> list[CaptureFile]:
    """The files of the captures that files of these ``paths`` are, or are a part of."""
    captures = captures_of(files, scope)
    some = [one.files for one in captures if not paths.isdisjoint(file.path for file in one.files)]
    return [file for files in some for file in files]


def _absolute(path: str) -> str:
    return path if not path or "://" in path else os.path.abspath(path)


def _files(spark: SparkSession, snapshot: Snapshot, files: Sequence[CaptureFile], again: bool) -> _Work:
    """Captures that are one file each."""
    fresh, known = _apart(snapshot, files)
    heads = each(spark, fresh, head_of)
    seen = [Seen(file=file, head=head) for file, head in zip(fresh, heads, strict=True)]
    paths, starts = [file.path for file in fresh], sorted({head for head in heads if head})
    alike = snapshot.rows("sources", Known._fields[:-1], among("head", starts) | among("path", paths))
    here = _sources(snapshot, known) if again else []
    digests = _digests(snapshot, {*alike.column("capture").to_pylist(), *(row["capture"] for row in here)})
    others = [
        # What is in a capture that could not be read to its end is open.
        Known(**row, whole=digests.get(row["capture"]) in (row["digest"], None))
        for row in alike.to_pylist()
    ]
    for _ in range(2):
        worth = candidates(seen, others)
        some = [(one.file, worth[one.file.path]) for one in seen if one.file.path in worth]
        contents = dict(zip([file.path for file, _ in some], each(spark, some, _content), strict=True))
        seen = [replace(one, content=contents.get(one.file.path, one.content)) for one in seen]
    work = _Work([], [], len(known))
    decoded = set()
    for row in here:
        # What a capture was before it grew is in it.
        if row["capture"] not in decoded and digests.get(row["capture"]) == row["digest"]:
            decoded.add(row["capture"])
            file = CaptureFile(path=row["path"], size=row["size"], mtime_ns=row["mtime_ns"])
            work.todo.append(_todo(row["capture"], file, row["head"], Content(row["length"], row["digest"])))
    work = replace(work, unchanged=len(known) - len(decoded))
    for one in place_files(seen, others, _names(snapshot, paths)):
        file, head, content = one.seen.file, one.seen.head, one.seen.content
        if one.kind == "copy":
            assert content is not None
            if not again or one.capture in decoded or digests.get(one.capture) != content.digest:
                work.copies.append(source_row(one.capture, file, head, content))
                continue
        decoded.add(one.capture)
        work.todo.append(_todo(one.capture, file, head, content))
    return replace(work, unchanged=work.unchanged + len(work.copies))


def _digests(snapshot: Snapshot, names: Iterable[str]) -> dict[str, str | None]:
    """The digests of captures, by name."""
    found = snapshot.rows("captures", ["capture", "digest"], among("capture", sorted(names)))
    return {row["capture"]: row["digest"] for row in found.to_pylist()}


def _held(snapshot: Snapshot, wanted: Any) -> dict[str, tuple[str | None, str]]:
    """The digests of captures and the runs that decoded them, by name."""
    found = snapshot.rows("captures", ["capture", "digest", "run"], wanted)
    return {row["capture"]: (row["digest"], row["run"]) for row in found.to_pylist()}


def _noted(snapshot: Snapshot, keys: Iterable[bytes]) -> set[bytes]:
    """Which of some keys of files the tables have."""
    return set(snapshot.rows("sources", ["key"], among("key", keys)).column("key").to_pylist())


def _names(snapshot: Snapshot, paths: Sequence[str]) -> list[str]:
    """The names of captures that may be in the way of new ones."""
    alike = among("capture", paths) | pc.match_substring_regex(ds.field("capture"), r"#[0-9]+\z")
    # What could not be read has a name, too, until it can.
    found: list[str] = (
        snapshot.rows("captures", ["capture"], alike & ds.field("digest").is_valid())
        .column("capture")
        .to_pylist()
    )
    return found


def _todo(name: str, file: CaptureFile, head: str, content: Content | None) -> Todo:
    return Todo(capture=Capture(name=name, files=(file,)), heads=(head,), contents=(content,))


def _content(one: tuple[CaptureFile, set[int]]) -> Content | None:
    return content_of(*one)


def _groups(spark: SparkSession, snapshot: Snapshot, files: Sequence[CaptureFile], again: bool) -> _Work:
    """Captures that are all files of a folder."""
    fresh, known = _apart(snapshot, files)
    looked: dict[str, tuple[str, Content | None]] = {
        row["path"]: (row["head"], Content(row["length"], row["digest"])) for row in _sources(snapshot, known)
    }
    for file, head, content in zip(
        fresh, each(spark, fresh, head_of), each(spark, fresh, content_of), strict=True
    ):
        looked[file.path] = head, content
    work = _Work([], [], 0)
    for capture in captures_of(files, "group"):
        found = [looked[file.path] for file in capture.files]
        todo = Todo(
            capture=capture,
            heads=tuple(head for head, _ in found),
            contents=tuple(content for _, content in found),
        )
        rows = snapshot.rows("captures", ["capture"], ds.field("digest") == (todo.digest or ""))
        if again or not len(rows):
            work.todo.append(todo)
            continue
        work = replace(work, unchanged=work.unchanged + 1)
        new = {file.path for file in fresh}
        work.copies.extend(
            source_row(rows.column("capture")[0].as_py(), file, head, content)
            for file, (head, content) in zip(capture.files, found, strict=True)
            if file.path in new and content is not None
        )
    return work


def _apart(snapshot: Snapshot, files: Sequence[CaptureFile]) -> tuple[list[CaptureFile], list[CaptureFile]]:
    """The files that the tables do not know by path, size and time of change, and those that they know."""
    keys = pa.array([None if file.error is not None else file_key(file) for file in files], pa.binary())
    known = pc.is_in(keys, value_set=snapshot.rows("sources", ["key"]).column("key")).to_pylist()
    parts: tuple[list[CaptureFile], list[CaptureFile]] = [], []
    for file, is_known in zip(files, known, strict=True):
        parts[is_known and file.error is None].append(file)
    return parts


def _sources(snapshot: Snapshot, files: Iterable[CaptureFile]) -> list[dict[str, Any]]:
    """What the tables know of files, which they know."""
    names = ("capture", "path", "size", "mtime_ns", "head", "length", "digest")
    wanted = among("key", [file_key(file) for file in files])
    found: list[dict[str, Any]] = snapshot.rows("sources", names, wanted).to_pylist()
    return sorted(found, key=lambda row: row["path"])


def _refuse_twice(snapshot: Snapshot, files: Sequence[CaptureFile], scope: str) -> None:
    """Raise MsmqWireError where a file would be in the tables as a part of two captures."""
    others = snapshot.rows("captures", ["capture"], ds.field("scope") != scope).column("capture")
    if not len(others):
        return
    held = among("capture", others) & among("path", [file.path for file in files])
    for row in snapshot.rows("sources", ["capture", "path"], held).to_pylist():
        raise MsmqWireError(
            f"{snapshot.store.place.url} holds {row['path']} as {row['capture']}, read with another scope: "
            "take another folder for the tables"
        )


def _warnings(snapshot: Snapshot, files: Sequence[CaptureFile], plan: JobPlan, work: _Work) -> Iterator[str]:
    """A line for each thing about captures that stay which may not be expected of them."""
    keys = among("key", [file_key(file) for file in files if file.error is None])
    copies = {row["capture"] for row in work.copies}
    decoded = {one.capture.name for one in work.todo}
    for others, text in (
        (ds.field("options") != plan.key, "read with other options"),
        (ds.field("version") != msmq_wire.__version__, "decoded by another version of msmq-wire"),
        (_fewer(snapshot, plan.tables), "without rows in some of the tables"),
    ):
        found = snapshot.rows("captures", ["capture"], others).column("capture")
        if not len(found):
            continue
        held = snapshot.rows("sources", ["capture"], among("capture", found) & keys).column("capture")
        names = sorted(({*held.to_pylist()} | copies & {*found.to_pylist()}) - decoded)
        if names:
            count = (
                "1 capture stays as it is" if len(names) == 1 else f"{len(names)} captures stay as they are"
            )
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            yield f"{count}, {text} ({names[0]}{more}): --again decodes what is named again"


def _fewer(snapshot: Snapshot, tables: Sequence[str]) -> Any:
    """What wants the captures that were not decoded for all of some tables."""
    text = pc.binary_join(snapshot.rows("captures", ["tables"]).column("tables"), " ")
    fewer = [one for one in pc.unique(text).to_pylist() if not set(tables) <= set(one.split())]
    return pc.binary_join(ds.field("tables"), " ").isin(pa.array(fewer, pa.string()))


class _Publisher:
    """Commits what tasks have done, and counts it.

    ``overtaken`` are paths of files whose captures another run changed since it was seen what there is to do:
    what was done with them is not committed, because they may have been shorter then.
    """

    def __init__(self, store: Store, plan: JobPlan, tell: Callable[[str], None]) -> None:
        self.overtaken: set[str] = set()
        self._store = store
        self._plan = plan
        self._tell = tell
        self._unchanged = 0
        self._count = 0
        self._bytes = 0
        self._read = 0
        self._waiting: list[Done] = []
        self._latest = time.monotonic()
        self._done = 0
        self._totals: Counter[str] = Counter()
        self._rows: Counter[str] = Counter(dict.fromkeys(plan.tables, 0))
        self._skipped: Counter[str] = Counter()
        self._damage: list[str] = []

    def begin(self, work: _Work, snapshot: Snapshot) -> None:
        """Say what will be done, and what the tables were when that was seen."""
        self.overtaken = set()
        self._unchanged += work.unchanged
        self._count = self._done + len(work.todo)
        self._bytes = self._read + sum(one.capture.size for one in work.todo)
        self._captures = {one.capture.name: one.capture for one in work.todo}
        self._before = _held(snapshot, among("capture", sorted(self._captures)))

    def copies(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note files that are captures under other names, as far as these are in the tables."""
        names = {row["capture"] for row in rows}

        def change(snapshot: Snapshot) -> Change | None:
            digests = _digests(snapshot, names)
            lost = {row["path"] for row in rows if row["capture"] not in digests}
            self._unchanged -= len(lost - self.overtaken)
            self.overtaken |= lost
            there = [row for row in rows if digests.get(row["capture"]) is not None]
            keys = _noted(snapshot, [row["key"] for row in there])
            new = [row for row in there if row["key"] not in keys]
            return Change(books={"sources": new}) if new else None

        if rows:
            self._store.publish(change)

    def take(self, done: Done) -> None:
        """Take what a task did. Raises CaptureError where a file is damaged and that is to fail."""
        for entry in done.entries:
            if entry.damage and self._plan.options.on_error == "fail":
                raise CaptureError(entry.damage[0])
        self._waiting.append(done)
        if time.monotonic() - self._latest >= _PAUSE:
            self.flush()

    def flush(self) -> None:
        """Commit what waits."""
        waiting, self._waiting = self._waiting, []
        late: set[str] = set()
        if waiting:
            self._store.publish(partial(self._change, waiting, late))
        for entry in (entry for done in waiting for entry in done.entries):
            if entry.capture in late:
                self.overtaken |= {file.path for file in self._captures[entry.capture].files}
            else:
                self._count_in(entry)
        if waiting:
            self._tell(f"{self._done} of {self._count} captures, {_size(self._read)} of {_size(self._bytes)}")
        self._latest = time.monotonic()

    def _change(self, waiting: Sequence[Done], late: set[str], snapshot: Snapshot) -> Change | None:
        entries = [entry for done in waiting for entry in done.entries]
        digests = {entry.digest: entry.capture for entry in entries if entry.digest is not None}
        held = among("capture", sorted(entry.capture for entry in entries)) | among("digest", sorted(digests))
        now = _held(snapshot, held)
        changed = {
            entry.capture for entry in entries if now.get(entry.capture) != self._before.get(entry.capture)
        }
        # The same content under another name: what is copied here is that.
        held_elsewhere = {
            digest for name, (digest, _) in now.items() if digests.get(digest or "", name) != name
        }
        named = {digests[digest] for digest in held_elsewhere if digest is not None}
        late.clear()
        late |= changed | named
        kept = [entry for entry in entries if entry.capture not in late]
        if not kept:
            return None
        rows = {row["key"]: row for entry in kept for row in entry.sources}
        noted = _noted(snapshot, rows)
        return Change(
            files=[file for done in waiting for file in done.files],
            without=frozenset(late),
            tables=self._plan.tables,
            gone=frozenset(entry.capture for entry in kept if entry.capture in now),
            books={
                "captures": [entry.row() for entry in kept],
                "sources": [row for key, row in rows.items() if key not in noted],
            },
        )

    def _count_in(self, entry: Entry) -> None:
        self._done += 1
        self._read += self._captures[entry.capture].size
        self._totals.update(frames=entry.frames, understood=entry.understood)
        self._rows.update(entry.rows)
        self._skipped.update(entry.skipped)
        self._damage += entry.damage

    def run(self, started: datetime, left_out: int, warnings: tuple[str, ...]) -> Run:
        """What was done in all."""
        plan = self._plan
        default = ReadOptions(streams=True)
        return Run(
            name=plan.run,
            version=msmq_wire.__version__,
            inputs=tuple(map(legible, plan.options.paths)),
            options={
                name: str(_plain(value))
                for name, value in msgspec.structs.asdict(plan.options).items()
                if name != "paths" and value != getattr(default, name)
            },
            tables=plan.tables,
            started=started,
            ended=datetime.now(UTC),
            captures=self._done,
            unchanged=self._unchanged,
            left_out=left_out,
            frames=self._totals["frames"],
            understood=self._totals["understood"],
            rows=dict(self._rows),
            skipped=dict(self._skipped),
            damage=tuple(self._damage),
            warnings=warnings,
        )


def _parts(spark: SparkSession, todo: Sequence[Todo], options: ReadOptions) -> list[list[Todo]]:
    """What a task decodes each: some captures for every core, but few enough files for all of them."""
    costs = [one.capture.size + _SMALL for one in todo]
    most = sum(costs) // (_EACH * spark.sparkContext.defaultParallelism)
    return bundles(todo, costs, min(max(most, _LEAST), options.split_bytes), opening=0)


def _waves(spark: SparkSession, todo: Sequence[Todo], options: ReadOptions) -> Iterator[list[Todo]]:
    """Groups that are decoded together: enough to keep all cores at work."""
    most = _WAVE * spark.sparkContext.defaultParallelism * options.split_bytes
    yield from bundles(todo, [one.capture.size for one in todo], most)


def _key(options: ReadOptions) -> str:
    """What stands for everything that changes rows; secrets are in it as the names of their files."""
    parts = {name: _plain(getattr(options, name)) for name in _DECIDES}
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


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
