"""What there is to do: which of the files that were found are captures that the tables lack.

The rule kept here: nothing is opened that the tables know by path, size and time of change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
from msgspec.structs import replace

import msmq_wire
from msmq_wire.capture.content_digest import FileDigest
from msmq_wire.capture.listing import Capture, CaptureFile, Scope, captures_of
from msmq_wire.capture.rings import family_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.records.joined_capture import joined_name
from msmq_wire.spark.capture_job import CaptureTask, JobPlan
from msmq_wire.spark.tasks import each
from msmq_wire.tables.store.identity import (
    SOURCE_COLUMNS,
    NewFile,
    StoredCapture,
    candidates,
    content_of,
    file_key,
    free_name,
    head_of,
    place_files,
    source_row,
)
from msmq_wire.tables.store.snapshot import Snapshot, among

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class WorkPlan(msgspec.Struct, frozen=True):
    """What there is to do: captures to decode, files that are copies, and how many captures are known."""

    todo: list[CaptureTask]
    copies: list[dict[str, Any]]
    unchanged: int


def files_again(files: Sequence[CaptureFile], paths: set[str], scope: Scope) -> list[CaptureFile]:
    """The files that may be one capture with files of these ``paths``."""
    families = {_family(path, scope) for path in paths}
    return [file for file in files if _family(file.path, scope) in families]


def _family(path: str, scope: Scope) -> tuple[str, ...]:
    """What files have in common that may be one capture."""
    if scope == "file":
        return (path,)
    if scope == "places":
        return ()
    return family_of(path) if scope == "ring" else (os.path.dirname(path),)


def work_of(
    spark: SparkSession, snapshot: Snapshot, files: Sequence[CaptureFile], scope: Scope, again: bool
) -> WorkPlan:
    """What there is to do about files; ``again``, also what the tables have."""
    if scope == "file":
        return file_work(spark, snapshot, files, again)
    fresh, known = _apart(snapshot, files)
    families = {_family(file.path, scope) for file in (files if again else fresh)}
    # Of a file and its copy elsewhere the first counts as a place: the one that is known.
    captures = captures_of(
        [file for file in (*known, *fresh) if _family(file.path, scope) in families], scope
    )
    joined = [one for one in captures if scope == "group" or len(one.files) > 1]
    alone = [one.files[0] for one in captures if scope != "group" and len(one.files) == 1]
    settled = [file for file in known if _family(file.path, scope) not in families]
    some = file_work(spark, snapshot, alone, again)
    others = _joined_work(spark, snapshot, joined, scope, again)
    unchanged = some.unchanged + others.unchanged + _count_captures(snapshot, settled, scope)
    return WorkPlan(some.todo + others.todo, some.copies + others.copies, unchanged)


def _count_captures(snapshot: Snapshot, files: Sequence[CaptureFile], scope: Scope) -> int:
    """How many captures files are that the tables know; a copy counts, too."""
    rows = _sources(snapshot, files)
    wanted = among("capture", {row["capture"] for row in rows}) & (ds.field("files") > 1)
    joined = set(snapshot.rows("captures", ["capture"], wanted).column("capture").to_pylist())
    whole = [(row["capture"], _family(row["path"], scope)) for row in rows if row["capture"] in joined]
    return len(rows) - len(whole) + len(set(whole))


def _joined_work(
    spark: SparkSession, snapshot: Snapshot, captures: Sequence[Capture], scope: Scope, again: bool
) -> WorkPlan:
    """Captures of several files: decoded as a whole where one of these is new.

    What had some of the files, under whatever name, is replaced. No row goes of a file that is not there any
    more: what a ring has overwritten stays, and its new files are a capture by themselves.
    """
    files = [file for one in captures for file in one.files]
    fresh, known = _apart(snapshot, files)
    heads = dict(zip([file.path for file in fresh], each(spark, fresh, head_of), strict=True))
    held = {row["path"]: row for row in _sources(snapshot, known)}
    before = snapshot.rows("sources", ["capture", "path", "length", "digest"], among("path", list(heads)))
    grown = [(file, row) for file in fresh for row in before.to_pylist() if row["path"] == file.path]
    begins, work = [], WorkPlan([], [], 0)
    for (file, row), content in zip(grown, each(spark, grown, _content_since), strict=True):
        if content is not None and content.digest == row["digest"]:
            # Nothing but its time has changed.
            held[file.path] = source_row(row["capture"], file, heads[file.path], content)
            work.copies.append(held[file.path])
        elif content is not None and content.marks.get(row["length"]) == row["digest"]:
            begins.append(row)
    names = _names(snapshot, [*(one.name for one in captures), *heads])
    # A file may be what it was before it grew.
    digests = digests_of(snapshot, {row["capture"] for row in held.values()})
    for capture in captures:
        paths = {file.path for file in capture.files}
        rows = [held[path] for path in paths if path in held]
        there = CaptureTask(capture=capture, heads=(), contents=tuple(map(_known_content, rows)))
        known_as = {row["capture"] for row in rows}
        if not again and len(rows) == len(paths) and {digests.get(one) for one in known_as} == {there.digest}:
            work = replace(work, unchanged=work.unchanged + 1)
            continue
        rows += [row for row in begins if row["path"] in paths]
        parts = [capture]
        replaces = {row["capture"] for row in rows if _is_called_like(row["capture"], capture, scope)}
        if not _paths_of(snapshot, replaces, capture, scope) <= paths:
            new = tuple(one for one in capture.files if one.path not in held)
            if not new:
                work = replace(work, unchanged=work.unchanged + 1)
                continue
            replaces = set()
            parts = _parts(capture, new, scope)
        for part in parts:
            name = part.name if scope == "group" else free_name(part.name, {*names} - replaces)
            paths = {file.path for file in part.files}
            work.todo.append(
                CaptureTask(
                    capture=replace(part, name=name),
                    heads=tuple(heads.get(one.path) or held[one.path]["head"] for one in part.files),
                    contents=tuple(_known_content(held.get(one.path)) for one in part.files),
                    lengths=frozenset(row["length"] for _, row in grown if row["path"] in paths),
                    replaces=frozenset(replaces - {name}),
                )
            )
    return work


def _parts(capture: Capture, new: tuple[CaptureFile, ...], scope: Scope) -> list[Capture]:
    """What the new files of a capture are without the others."""
    if scope == "places":
        return captures_of(new, scope)
    return [replace(capture, name=joined_name([one.path for one in new]), files=new)]


def _paths_of(snapshot: Snapshot, names: Iterable[str], like: Capture, scope: Scope) -> set[str]:
    """The files that captures were decoded from, and no copies of these elsewhere."""
    rows = snapshot.rows("sources", ["path", "digest"], among("capture", sorted(names))).to_pylist()
    paths = {one.path for one in like.files}
    families = {_family(path, scope) for path in paths}
    # Vantage points may lie anywhere: a copy of one is told by what is in it.
    here = {row["digest"] for row in rows if row["path"] in paths and scope == "places"}
    return {
        row["path"]
        for row in rows
        if row["path"] in paths or (_family(row["path"], scope) in families and row["digest"] not in here)
    }


def _known_content(row: Mapping[str, Any] | None) -> FileDigest | None:
    return None if row is None else FileDigest(row["length"], row["digest"])


def _content_since(one: tuple[CaptureFile, Mapping[str, Any]]) -> FileDigest | None:
    """What is in a file now, with a mark where it ended before."""
    file, row = one
    return content_of(file, [row["length"]])


def _is_called_like(name: str, capture: Capture, scope: Scope) -> bool:
    """Whether a capture is called by such files as this one, and is not a copy elsewhere."""
    if scope == "group":
        return name == capture.name
    if scope == "places":
        # Names tell little of files that may be called anything: what is in them decides.
        return True
    family = family_of(capture.files[0].path)
    # A ring is called by its first and its last file, and has a number where another is called so.
    whole, _, number = name.rpartition("#")
    texts = (name, whole) if number.isdecimal() else (name,)
    parts = [text.split(" to ") for text in texts]
    begins = (" to ".join(some[:count]) for some in parts for count in range(1, len(some) + 1))
    return any(family_of(begin) == family for begin in begins)


def file_work(spark: SparkSession, snapshot: Snapshot, files: Sequence[CaptureFile], again: bool) -> WorkPlan:
    """Captures that are one file each."""
    fresh, known = _apart(snapshot, files)
    heads = each(spark, fresh, head_of)
    seen = [NewFile(file=file, head=head) for file, head in zip(fresh, heads, strict=True)]
    paths, starts = [file.path for file in fresh], sorted({head for head in heads if head})
    alike = snapshot.rows("sources", StoredCapture._fields[:-1], among("head", starts) | among("path", paths))
    here = _sources(snapshot, known) if again else []
    digests = digests_of(snapshot, {*alike.column("capture").to_pylist(), *(row["capture"] for row in here)})
    others = [
        # What is in a capture that could not be read to its end is open.
        StoredCapture(**row, whole=digests.get(row["capture"]) in (row["digest"], None))
        for row in alike.to_pylist()
    ]
    for _ in range(2):
        worth = candidates(seen, others)
        some = [(one.file, worth[one.file.path]) for one in seen if one.file.path in worth]
        contents = dict(zip([file.path for file, _ in some], each(spark, some, _content), strict=True))
        seen = [replace(one, content=contents.get(one.file.path, one.content)) for one in seen]
    work = WorkPlan([], [], len(known))
    decoded = set()
    for row in here:
        # What a capture was before it grew is in it.
        if row["capture"] not in decoded and digests.get(row["capture"]) == row["digest"]:
            decoded.add(row["capture"])
            file = CaptureFile(path=row["path"], size=row["size"], mtime_ns=row["mtime_ns"])
            work.todo.append(
                _todo(row["capture"], file, row["head"], FileDigest(row["length"], row["digest"]))
            )
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


def digests_of(snapshot: Snapshot, names: Iterable[str]) -> dict[str, str | None]:
    """The digests of captures, by name."""
    found = snapshot.rows("captures", ["capture", "digest"], among("capture", sorted(names)))
    return {row["capture"]: row["digest"] for row in found.to_pylist()}


def held_by_name(snapshot: Snapshot, wanted: Any) -> dict[str, tuple[str | None, str]]:
    """The digests of captures and the runs that decoded them, by name."""
    found = snapshot.rows("captures", ["capture", "digest", "run"], wanted)
    return {row["capture"]: (row["digest"], row["run"]) for row in found.to_pylist()}


def noted_keys(snapshot: Snapshot, keys: Iterable[str]) -> set[str]:
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


def _todo(name: str, file: CaptureFile, head: str, content: FileDigest | None) -> CaptureTask:
    return CaptureTask(capture=Capture(name=name, files=(file,)), heads=(head,), contents=(content,))


def _content(one: tuple[CaptureFile, set[int]]) -> FileDigest | None:
    return content_of(*one)


def _apart(snapshot: Snapshot, files: Sequence[CaptureFile]) -> tuple[list[CaptureFile], list[CaptureFile]]:
    """The files that the tables do not know by path, size and time of change, and those that they know."""
    keys = [None if file.error is not None else file_key(file) for file in files]
    rows = snapshot.rows("sources", ["key", "path"])
    rows = rows.filter(pc.is_in(rows.column("key"), value_set=pa.array(keys, pa.string())))
    # A key alone proves nothing: the row may be about another path.
    known = set(zip(rows.column("key").to_pylist(), rows.column("path").to_pylist(), strict=True))
    parts: tuple[list[CaptureFile], list[CaptureFile]] = [], []
    for file, key in zip(files, keys, strict=True):
        parts[key is not None and (key, file.path) in known].append(file)
    return parts


def _sources(snapshot: Snapshot, files: Iterable[CaptureFile]) -> list[dict[str, Any]]:
    """What the tables know of files, which they know."""
    # A key alone proves nothing: the path of its row will be opened.
    wanted = among("key", map(file_key, files)) & among("path", [file.path for file in files])
    found: list[dict[str, Any]] = snapshot.rows("sources", SOURCE_COLUMNS, wanted).to_pylist()
    return sorted(found, key=lambda row: row["path"])


def refuse_twice(snapshot: Snapshot, files: Sequence[CaptureFile], scope: str) -> None:
    """Raise MsmqWireError where a file would be in the tables as a part of two captures."""
    others = snapshot.rows("captures", ["capture"], ds.field("scope") != scope).column("capture")
    if not len(others):
        return
    held = among("capture", others) & among("path", [file.path for file in files])
    for row in snapshot.rows("sources", ["capture", "path"], held).to_pylist():
        raise MsmqWireError(
            f"{snapshot.place.url} holds {row['path']} as {row['capture']}, read with another scope: "
            "take another folder for the tables"
        )


def warnings_about(
    snapshot: Snapshot, files: Sequence[CaptureFile], plan: JobPlan, work: WorkPlan
) -> Iterator[str]:
    """A line for each thing about captures that stay which may not be expected of them."""
    keys = among("key", [file_key(file) for file in files if file.error is None])
    copies = {row["capture"] for row in work.copies}
    decoded = {name for one in work.todo for name in (one.capture.name, *one.replaces)}
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
