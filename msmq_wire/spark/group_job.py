"""The job for captures of several files: two shuffles, by hosts to decode, by capture to judge.

The rule kept here: as in `msmq_wire.spark.capture_job`, with frames that come from anywhere. Frames with the
same hosts are decoded by one task; everything of a capture is judged by one task, in the order of time.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
from pyspark.sql.pandas.types import from_arrow_schema

from msmq_wire.capture.capture_reading import Damage, Numbering
from msmq_wire.errors import CaptureError
from msmq_wire.spark.capture_job import (
    CaptureTask,
    Entry,
    JobPlan,
    StoryTeller,
    TaskResult,
    entry_of,
    write_records,
)
from msmq_wire.spark.conversations import Conversations
from msmq_wire.spark.frame_runs import RUN_ORDER, RUN_SCHEMA, run_batches, told_batch
from msmq_wire.spark.item_rows import ITEM_FIELDS, item_columns, items_of, run_of
from msmq_wire.spark.key_options import negotiator_of, use_body_keys
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.split_planning import PlacedSplit, indexed, place_splits
from msmq_wire.spark.task_rows import bundles, read_packets, split_chunks
from msmq_wire.spark.tasks import each, finished
from msmq_wire.tables.store.table_files import TableWriter, WrittenFile
from msmq_wire.tables.story_columns import damage_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ITEMS = pa.schema([pa.field("capture", pa.string()), pa.field("clock", pa.int64()), *ITEM_FIELDS])
_ORDER = ("capture", "clock", "id")
_FIRST = -1
"""The clock and id of a row that says what a task wrote: it comes before all records."""
_TASK_BYTES = 128 << 20
"""Bytes of captures for each task that decodes."""


class _Written(NamedTuple):
    """What a task did for a capture."""

    files: list[WrittenFile]
    rows: dict[str, int]
    counts: dict[str, Any]


def frames_of(spark: SparkSession, splits: Sequence[PlacedSplit], options: ReadOptions) -> DataFrame:
    """The frames of splits, as rows of `RUN_SCHEMA`."""
    parts = _bundled(splits, options)
    rows = spark.sparkContext.parallelize(parts, max(1, len(parts))).map(_pickled)
    named = spark.createDataFrame(rows, "splits binary")
    return named.mapInArrow(partial(_read_frames, options=options), from_arrow_schema(RUN_SCHEMA))


def _bundled(splits: Sequence[PlacedSplit], options: ReadOptions) -> list[list[PlacedSplit]]:
    sizes = [0 if one.split is None else one.split.end - one.split.start for one in splits]
    return bundles(splits, sizes, options.split_bytes)


def _pickled(splits: Sequence[PlacedSplit]) -> tuple[bytearray]:
    return (bytearray(pickle.dumps(splits)),)


def _read_frames(batches: Iterable[Any], options: ReadOptions) -> Iterator[Any]:
    for batch in batches:
        for pickled in batch.column("splits").to_pylist():
            for placed in pickle.loads(pickled):
                yield from read_runs(placed, options)


def read_runs(placed: PlacedSplit, options: ReadOptions) -> Iterator[Any]:
    """The rows of a split, or the one of what is wrong with its file."""
    try:
        if placed.split is None:
            raise CaptureError(placed.error or "the file cannot be read", offset=placed.error_offset)
        for chunk, times in split_chunks(placed.split, options):
            yield from run_batches(chunk, times, capture=placed.capture, base=placed.base, split=placed.split)
    except CaptureError as error:
        reported = {"damage": (error.message, error.offset)}
        yield told_batch(placed.capture, placed.path, 0, reported)


def sorted_frames(frames: DataFrame, tasks: int) -> DataFrame:
    """Bring what two hosts said to each other to one of ``tasks`` tasks, in the order of the capture.

    ``frames`` are rows of `RUN_SCHEMA` in any order, some of them twice.
    """
    return frames.repartition(tasks, "capture", "conversation").sortWithinPartitions(*RUN_ORDER)


def decode_groups(
    spark: SparkSession,
    todo: Sequence[CaptureTask],
    plan: JobPlan,
    *,
    frames: DataFrame | None = None,
    tasks: int | None = None,
) -> TaskResult:
    """Decode captures together; return their entries, and the files that have their rows.

    ``frames`` are those of the captures; by default they are read from their files. ``tasks`` is how many
    tasks decode, by default one for each 128 MiB and at least one for each core.
    """
    captures = [one.capture for one in todo]
    files = [file for capture in captures for file in capture.files if file.error is None]
    walked = each(
        spark, [file.path for file in files], partial(indexed, split_bytes=plan.options.split_bytes)
    )
    known = {one.path: one for one in walked if one is not None}
    splits = [split for capture in captures for split in place_splits(capture.files, plan.options, known)]
    numberings = _numberings(splits)
    read = Counter[str]()
    damage: dict[str, list[Damage]] = {capture.name: [] for capture in captures}
    for one in splits:
        if one.error is not None:
            damage[one.capture].append(Damage(one.path, one.error, one.error_offset))
        if one.split is not None:
            read[one.capture] += one.split.frames
    whole = [one for one in splits if one.split is not None]
    found: dict[str, list[_Written]] = {}
    if "packets" in plan.tables:
        for part in finished(spark, _bundled(whole, plan.options), partial(_write_packets, plan=plan)):
            for name, written in part:
                found.setdefault(name, []).append(written)
    if frames is None:
        frames = frames_of(spark, whole, plan.options)
    size = sum(capture.size for capture in captures)
    tasks = tasks or max(spark.sparkContext.defaultParallelism, size // _TASK_BYTES + 1)
    decode = partial(_decode, plan=plan, numberings=numberings)
    items = sorted_frames(frames, tasks).mapInArrow(decode, from_arrow_schema(_ITEMS))
    if plan.tells_stories:
        judged = items.repartition(min(len(captures), tasks), "capture").sortWithinPartitions(*_ORDER)
        items = judged.mapInArrow(partial(_judge, plan=plan), from_arrow_schema(_ITEMS))
    for row in items.select("capture", "record").collect():
        found.setdefault(row.capture, []).append(pickle.loads(row.record))
    done = TaskResult([], [])
    for group in todo:
        name = group.capture.name
        parts = found.setdefault(name, [])
        done.entries.append(_entry(group, plan, parts, damage[name], read[name]))
        done.files.extend(file for part in parts for file in part.files)
    return done


def _write_packets(splits: Sequence[PlacedSplit], plan: JobPlan) -> list[tuple[str, _Written]]:
    found = []
    for split in splits:
        with TableWriter(plan.place, ("packets",), plan.run) as writer:
            for batch in read_packets(split, plan.options):
                writer.write("packets", batch)
        found.append((split.capture, _Written(writer.files, dict(writer.rows), {})))
    return found


def _numberings(splits: Iterable[PlacedSplit]) -> dict[str, Numbering]:
    found: dict[str, Numbering] = {}
    for one in splits:
        numbering = found.setdefault(one.capture, Numbering())
        if not numbering.paths or numbering.paths[-1] != one.path:
            numbering.add(one.path, one.base)
    return found


def _decode(batches: Iterable[Any], plan: JobPlan, numberings: Mapping[str, Numbering]) -> Iterator[Any]:
    """Write what frames complete; give the records on, and say what was written for each capture."""
    use_body_keys(plan.options)
    conversations = Conversations(plan.options.ports, negotiator_of(plan.options))
    writer: TableWriter | None = None
    capture = ""
    for batch in conversations.decode(batches):
        if writer is None or batch.capture != capture:
            if writer is not None:
                yield _said(capture, writer, {})
            capture = batch.capture
            writer = TableWriter(plan.place, plan.tables, plan.run)
        write_records(writer, batch, numberings[capture], plan.options)
        if plan.tells_stories:
            columns = item_columns(batch) | {"clock": pa.array(conversations.clocks)}
            yield _items(capture, columns, len(conversations.clocks))
    if writer is not None:
        yield _said(capture, writer, {})
    for name, counts in conversations.counts.items():
        yield _said(name, None, counts)


def _items(capture: str, columns: dict[str, Any], count: int) -> Any:
    columns["capture"] = pa.repeat(pa.scalar(capture, pa.string()), count)
    return pa.RecordBatch.from_arrays([columns[one.name] for one in _ITEMS], schema=_ITEMS)


def _said(capture: str, writer: TableWriter | None, counts: dict[str, Any]) -> Any:
    files, rows = ([], {}) if writer is None else (writer.close(), dict(writer.rows))
    record = pickle.dumps(_Written(files, rows, counts))
    row = {"capture": capture, "clock": _FIRST, "id": _FIRST, "record": record}
    return pa.RecordBatch.from_pylist([row], schema=_ITEMS)


def _judge(batches: Iterable[Any], plan: JobPlan) -> Iterator[Any]:
    """Judge records in their order; hand on what was said of the files before."""
    judging: _Judging | None = None
    for batch in batches:
        for name, rows in _runs(batch):
            if judging is None or judging.capture != name:
                if judging is not None:
                    yield judging.finish()
                judging = _Judging(name, plan)
            said = rows.column("id").to_numpy() == _FIRST
            if said.any():
                yield rows.filter(pa.array(said))
                rows = rows.filter(pa.array(~said))
            judging.take(rows)
    if judging is not None:
        yield judging.finish()


class _Judging:
    """The judge of one capture."""

    def __init__(self, capture: str, plan: JobPlan) -> None:
        self.capture = capture
        self._writer = TableWriter(plan.place, plan.tables, plan.run)
        self._teller = StoryTeller(self._writer, capture, plan)

    def take(self, rows: Any) -> None:
        if not len(rows):
            return
        run, ids = run_of(rows, self.capture), rows.column("id").to_numpy()
        if (ids[1:] > ids[:-1]).all():
            self._teller.take(run)
        else:
            # Files overlap: ids follow their frames, and records the time.
            self._teller.feed(items_of(rows, run))

    def finish(self) -> Any:
        """Write what is told; return the row that says so."""
        self._teller.finish()
        return _said(self.capture, self._writer, {"more": self._teller.more})


def _runs(batch: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a batch of one capture each."""
    names = batch.column("capture").to_pylist()
    start = 0
    for stop in range(1, len(names) + 1):
        if stop == len(names) or names[stop] != names[start]:
            yield names[start], batch.slice(start, stop - start)
            start = stop


def _entry(
    todo: CaptureTask, plan: JobPlan, found: list[_Written], known: list[Damage], frames: int
) -> Entry:
    """Put together what all tasks did for a capture; the rows of its damage are written here."""
    reported = (Damage(*one) for written in found for one in written.counts.get("damage", ()))
    # Frames that come from elsewhere bring what is known already.
    damage = list(dict.fromkeys((*known, *reported)))
    with TableWriter(plan.place, plan.tables, plan.run) as writer:
        writer.write("errors", damage_rows(todo.capture.name, damage))
    found.append(_Written(writer.files, dict(writer.rows), {}))
    rows: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("skipped", "notices", "more")}
    for written in found:
        rows.update(written.rows)
        for name, counter in counts.items():
            counter.update(written.counts.get(name, {}))
    return entry_of(
        todo,
        plan,
        damage=damage,
        rows=rows,
        frames=frames,
        understood=sum(written.counts.get("understood", 0) for written in found),
        **{name: dict(counter) for name, counter in counts.items()},
    )
