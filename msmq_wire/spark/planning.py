"""What there is to do: which of the files that were found are captures that the tables lack.

The rule kept here: nothing is opened that the tables know by path, size and time of change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no stubs
from msgspec.structs import replace

import msmq_wire
from msmq_wire.capture.listing import Capture, CaptureFile, Scope, captures_of
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark.capture_job import CaptureTask, JobPlan
from msmq_wire.spark.tasks import each
from msmq_wire.tables.store.identity import (
    SOURCE_COLUMNS,
    FileDigest,
    NewFile,
    StoredCapture,
    candidates,
    content_of,
    file_key,
    head_of,
    place_files,
    source_row,
)
from msmq_wire.tables.store.snapshot import Snapshot, among

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class WorkPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to do: captures to decode, files that are copies, and how many captures are known.

    ``replaced`` names, by a capture to decode, others whose files are all a part of it by now.
    """

    todo: list[CaptureTask] = []
    copies: list[dict[str, Any]] = []
    unchanged: int = 0
    replaced: dict[str, frozenset[str]] = {}


def files_again(files: Sequence[CaptureFile], paths: set[str], scope: Scope) -> list[CaptureFile]:
    """The files of the captures that files of these ``paths`` are, or are a part of."""
    captures = captures_of(files, scope)
    some = [one.files for one in captures if not paths.isdisjoint(file.path for file in one.files)]
    return [file for files in some for file in files]


def work_of(spark: SparkSession, snapshot: Snapshot, captures: Iterable[Capture], again: bool) -> WorkPlan:
    """What there is to do for captures as they were listed; ``again`` decodes what is known, too.

    Of a file that is not known the first 4 KiB are read; all of it only where these are known, or those of
    another new file. Where captures of several files overlap with what is known, no row goes of a file that
    is not there any more: then the files that are new are a capture by themselves.
    """
    alone: list[CaptureFile] = []
    several: list[Capture] = []
    for one in captures:
        several.append(one) if len(one.files) > 1 else alone.extend(one.files)
    work = WorkPlan(todo=[], copies=[], replaced={})
    _, known = _apart(snapshot, [file for one in several for file in one.files])
    noted = {row["path"]: row for row in _sources(snapshot, known)}
    held: dict[str, set[str]] = {row["capture"]: set() for row in noted.values()}
    for row in snapshot.rows("sources", ["capture", "path"], among("capture", sorted(held))).to_pylist():
        held[row["capture"]].add(row["path"])
    parts = []
    for one in several:
        paths = {file.path for file in one.files}
        holders = {noted[path]["capture"] for path in paths & noted.keys()}
        if not again and len(holders) == 1 and paths <= noted.keys():
            work = replace(work, unchanged=work.unchanged + 1)
            continue
        if len(holders) == 1 and paths <= noted.keys():
            one = replace(one, name=next(iter(holders)))
        elif any(not held[name] <= paths for name in holders):
            new = tuple(file for file in one.files if file.path not in noted)
            if len(new) < 2:
                alone.extend(new)
                continue
            one = Capture(name=new[0].path, files=new)
        else:
            work.replaced[one.name] = frozenset(holders - {one.name})
        parts.append(one)
    _plan_several(spark, snapshot, parts, noted, again, work)
    found = _plan_alone(spark, snapshot, alone, again)
    work.todo.extend(found.todo)
    work.copies.extend(found.copies)
    return replace(work, unchanged=work.unchanged + found.unchanged)


def _plan_several(
    spark: SparkSession,
    snapshot: Snapshot,
    captures: Sequence[Capture],
    noted: Mapping[str, Mapping[str, Any]],
    again: bool,
    work: WorkPlan,
) -> None:
    """Captures of several files."""
    files = [file for one in captures for file in one.files if file.path not in noted]
    heads = {path: row["head"] for path, row in noted.items()}
    heads |= zip((file.path for file in files), each(spark, files, head_of), strict=True)
    starts = {
        *snapshot.rows("sources", ["head"], among("head", sorted(set(heads.values()))))
        .column("head")
        .to_pylist()
    } - {""}
    alike = [one for one in captures if starts.issuperset(heads[file.path] for file in one.files)]
    files = [file for one in alike for file in one.files if file.path not in noted]
    contents: dict[str, FileDigest | None] = {
        path: FileDigest(row["length"], row["digest"]) for path, row in noted.items()
    }
    contents |= zip((file.path for file in files), each(spark, files, content_of), strict=True)
    for one in captures:
        todo = CaptureTask(
            capture=one,
            heads=tuple(heads[file.path] for file in one.files),
            contents=tuple(contents.get(file.path) for file in one.files),
        )
        same = snapshot.rows("captures", ["capture"], ds.field("digest") == (todo.digest or "")).column(
            "capture"
        )
        if again or not len(same):
            work.todo.append(todo)
            continue
        new = zip(one.files, todo.heads, todo.contents, strict=True)
        work.copies.extend(
            source_row(same[0].as_py(), file, head, content)
            for file, head, content in new
            if content is not None and file.path not in noted
        )
        work.replaced.pop(one.name, None)


def _plan_alone(
    spark: SparkSession, snapshot: Snapshot, files: Sequence[CaptureFile], again: bool
) -> WorkPlan:
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
    work = WorkPlan(todo=[], copies=[])
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
