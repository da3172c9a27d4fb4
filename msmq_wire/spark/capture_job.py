"""What one task of the job does: a capture in, the files of all its tables out.

The rule kept here: every table of a capture comes from one pass over it, so their rows have the same ids.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no stubs
from msgspec.structs import replace

import msmq_wire
from msmq_wire.capture.capture_reading import Damage
from msmq_wire.capture.content_digest import FileDigest
from msmq_wire.capture.joined_batches import joined
from msmq_wire.capture.listing import Capture, has_changed
from msmq_wire.capture.numbering import Numbering, PointsNumbering
from msmq_wire.capture.packet_batch import PacketBatch
from msmq_wire.capture.places import Place
from msmq_wire.cycles import seldom_collected
from msmq_wire.detection import Finding
from msmq_wire.detection.judge import Judge
from msmq_wire.detection.registry import RULES
from msmq_wire.records.run import Run
from msmq_wire.sessions import Leaving, MessageLife, Session
from msmq_wire.spark.key_options import use_body_keys
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.spark.split_planning import place_splits
from msmq_wire.spark.task_rows import open_capture, read_packets
from msmq_wire.tables.call_columns import call_batches
from msmq_wire.tables.message_columns import batches_of
from msmq_wire.tables.store.identity import source_row
from msmq_wire.tables.store.table_files import TableWriter, WrittenFile
from msmq_wire.tables.story_columns import anomaly_rows, error_rows, story_rows
from msmq_wire.tables.table_schemas import STORIES

_TOGETHER = 4096
"""Sessions, lives or findings that are written at a time."""
_JOINED = 4 << 20
"""Bytes of packets after which rows are made of them: less, and every column costs more than its rows."""
_PASSING = ("cannot open ", "cannot read ", "reading a zstd-compressed ")
"""How the damage begins that says nothing of the bytes of a file: another time, or elsewhere, it is read."""
_WHOLE = 1 << 60
_BESIDE = ("sources", "contents", "replaces")
"""What of an `Entry` is in no row of ``captures``."""


class JobPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run does with each capture: options, the tables to fill, where, and the name of the run.

    ``key`` stands for everything that changes the rows.
    """

    place: Place
    options: ReadOptions
    tables: tuple[str, ...]
    run: str
    key: str

    @property
    def tells_stories(self) -> bool:
        """Whether sessions, lives or findings are wanted: these need every record, in order."""
        return bool(set(STORIES) & set(self.tables))

    @property
    def lists_records(self) -> bool:
        """Whether messages or calls are wanted, or what is odd or broken in them."""
        return not {*self.tables} <= {"packets", *STORIES}


class TaskShare(msgspec.Struct, frozen=True):
    """What one of several tasks writes of a capture: some tables, and of records one of ``turns`` parts.

    ``measured`` says that frames and bytes are counted for it; one share of a capture is.
    """

    tables: tuple[str, ...]
    turn: int = 0
    turns: int = 1
    measured: bool = False


class CaptureTask(msgspec.Struct, frozen=True, kw_only=True):
    """A capture to decode; ``heads`` and ``contents`` are those of its files, None where nobody looked.

    Files without contents are hashed as they are decoded, with marks at the ``lengths``. ``replaces`` are
    captures whose rows go when this one is there: it is what they were, and more. Of a capture with a
    ``share`` no more is written than that.
    """

    capture: Capture
    heads: tuple[str, ...]
    contents: tuple[FileDigest | None, ...]
    lengths: frozenset[int] = frozenset()
    replaces: frozenset[str] = frozenset()
    share: TaskShare | None = None

    @property
    def digest(self) -> str | None:
        """What stands for the content of all its files, whatever they are called; None if one has none."""
        digests = sorted(one.digest for one in self.contents if one is not None)
        if len(digests) < len(self.contents) or not digests:
            return None
        return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ``captures``, and those of ``sources`` that go with it.

    ``contents`` is what was read of each file, ``replaces`` as for `CaptureTask`.
    """

    capture: str
    digest: str | None
    length: int
    files: int
    scope: str
    options: str
    run: str
    version: str
    tables: tuple[str, ...]
    rows: Mapping[str, int]
    frames: int
    understood: int
    skipped: Mapping[str, int]
    damage: tuple[str, ...]
    notices: Mapping[str, int]
    more: Mapping[str, int]
    sources: tuple[Mapping[str, Any], ...] = ()
    contents: tuple[FileDigest | None, ...] = ()
    replaces: frozenset[str] = frozenset()

    def row(self) -> dict[str, Any]:
        """The row of ``captures``."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name not in _BESIDE}


class TaskResult(msgspec.Struct, frozen=True):
    """What a task did: captures, and the files that their rows share."""

    entries: list[Entry]
    files: list[WrittenFile]
    measured: bool = True

    def measures(self) -> dict[str, int]:
        """Frames and bytes that were read, and rows of errors that were written."""
        read = self.entries if self.measured else []
        return {
            "frames": sum(entry.frames for entry in read),
            "bytes": sum(entry.length for entry in read),
            "errors": sum(entry.rows.get("errors", 0) for entry in self.entries),
        }


def decode_captures(todo: Sequence[CaptureTask], plan: JobPlan) -> TaskResult:
    """Write the tables of captures, or of the share of one, into files that they share."""
    share = todo[0].share
    if share is not None:
        plan = replace(plan, tables=share.tables)
    with seldom_collected(), TableWriter(plan.place, plan.tables, plan.run) as writer:
        rows = TaskRows(writer, plan.options)
        entries = [_decode(one, plan, rows) for one in todo]
        rows.flush()
    counted = [replace(one, rows=dict(rows.counts[one.capture])) for one in entries]
    return TaskResult(counted, writer.files, share is None or share.measured)


def _decode(todo: CaptureTask, plan: JobPlan, rows: TaskRows) -> Entry:
    """Decode a capture; its rows are counted once those of all are written."""
    capture = todo.capture
    known = dict(zip((file.path for file in capture.files), todo.contents, strict=True))
    marks = {path: todo.lengths for path, content in known.items() if content is None}
    reading = open_capture(capture, plan.options, marks=marks)
    teller = StoryTeller(rows, reading.name, plan) if plan.tells_stories else None
    share = todo.share or TaskShare(plan.tables)
    for place, batch in enumerate(reading):
        if plan.lists_records and place % share.turns == share.turn:
            rows.add(batch, reading.numbering)
        if teller is not None:
            teller.take(batch)
    if teller is not None:
        teller.finish()
    if rows.wants("packets") and share.turn == 0:
        for split in place_splits([capture], replace(plan.options, split_bytes=_WHOLE)):
            for packets in read_packets(split, plan.options):
                rows.write("packets", _numbered(packets, reading.numbering))
    known |= reading.digests
    todo = replace(todo, contents=tuple(known[file.path] for file in capture.files))
    finder = reading.finder
    return entry_of(
        todo,
        plan,
        rows={},
        frames=reading.frames,
        understood=finder.understood,
        skipped=dict(finder.skipped),
        notices=dict(finder.notices),
        more={} if teller is None else teller.more,
        damage=reading.damage,
    )


def _numbered(packets: Any, numbering: Numbering) -> Any:
    """Packets of a file with the numbers that they have in their capture, once all of it is read."""
    if not isinstance(numbering, PointsNumbering):
        return packets
    place, own = packets.schema.get_field_index("number"), packets.column("frame_no").to_numpy()
    numbers = numbering.given(packets.column("path")[0].as_py(), own)
    return packets.set_column(place, packets.schema.field(place), pa.array(numbers))


def entry_of(
    todo: CaptureTask, plan: JobPlan, *, damage: Iterable[Damage], rows: Mapping[str, int], **counts: Any
) -> Entry:
    """The entry of a capture whose rows were written.

    A file that could not be read, or that changed meanwhile, is not known by its place: the next run looks at
    it again.
    """
    damage = tuple(damage)
    unread = {one.path for one in damage if one.reason.startswith(_PASSING)}
    steady = {file.path for file in todo.capture.files if file.path not in unread and not has_changed(file)}
    files = list(zip(todo.capture.files, todo.heads, todo.contents, strict=True))
    sources = [
        source_row(todo.capture.name, file, head, content)
        for file, head, content in files
        if file.path in steady and content is not None
    ]
    return Entry(
        capture=todo.capture.name,
        digest=todo.digest if len(sources) == len(files) else None,
        length=sum(one.length for one in todo.contents if one is not None),
        files=len(files),
        scope=plan.options.scope,
        options=plan.key,
        run=plan.run,
        version=msmq_wire.__version__,
        tables=plan.tables,
        rows=dict(rows),
        damage=tuple(f"{one.path}: {one.reason}" for one in damage),
        sources=tuple(sources),
        contents=todo.contents,
        replaces=todo.replaces,
        **counts,
    )


class TaskRows:
    """Rows of captures on their way into the files of a task, made together where captures are small.

    ``counts`` are the rows written by capture and table, complete after `flush`.
    """

    def __init__(self, writer: TableWriter, options: ReadOptions) -> None:
        self.wants = writer.wants
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._writer = writer
        self._payload = options.payload
        self._batches: list[tuple[PacketBatch, Numbering]] = []
        self._bytes = 0
        self._told: dict[str, list[tuple[str, Any]]] = {table: [] for table in STORIES}

    def add(self, batch: PacketBatch, numbering: Numbering) -> None:
        """Take a part of a capture: it gives rows of messages, calls, anomalies and errors."""
        # Its frames are placed, and seen, one by one: it shares its work with no other capture.
        alone = isinstance(numbering, PointsNumbering)
        if alone:
            self._write_records()
        # A copy without the records that are made meanwhile.
        self._batches.append((replace(batch), numbering))
        self._bytes += int(batch.offsets[-1] - batch.offsets[0]) + sum(one.length for one in batch.others)
        if alone or self._bytes >= _JOINED:
            self._write_records()

    def tell(self, table: str, capture: str, values: Iterable[Any]) -> None:
        """Take what is told of a capture: sessions, lives or findings."""
        if not self.wants(table):
            return
        for one in values:
            self._told[table].append((capture, one))
            if len(self._told[table]) >= _TOGETHER:
                self._write_told(table)

    def flush(self) -> None:
        """Write what waits."""
        self._write_records()
        for table in STORIES:
            self._write_told(table)

    def write(self, table: str, rows: Any) -> None:
        """Write rows as they are."""
        if self.wants(table) and len(rows):
            for one in pc.value_counts(rows.column("capture")).to_pylist():
                self.counts[one["values"]][table] += one["counts"]
            self._writer.write(table, rows)

    def _write_told(self, table: str) -> None:
        told, self._told[table] = self._told[table], []
        if told:
            self.write(table, story_rows(table, told))

    def _write_records(self) -> None:
        parts, self._batches, self._bytes = self._batches, [], 0
        if not parts:
            return
        batch, numbering = joined(parts)
        # Rows are those of ``decode``: steps of connections are none.
        for shown in batch.shown(streams=False):
            for rows in batches_of(shown, numbering, payload=self._payload).values():
                self._write_kept("messages", rows)
        for rows in call_batches(batch, numbering):
            self._write_kept("calls", rows)

    def _write_kept(self, table: str, rows: Any) -> None:
        damage = pc.equal(rows.column("type"), "error")
        # Most batches have no such row, and a filter copies everything.
        kept = rows.filter(pc.invert(damage)) if pc.any(damage).as_py() else rows
        self.write(table, kept)
        if self.wants("anomalies"):
            self.write("anomalies", anomaly_rows(rows))
        if self.wants("errors"):
            self.write("errors", error_rows(rows))


class StoryTeller:
    """Judges the records of one capture in order, and writes sessions, lives and findings.

    ``more`` counts findings that were not written, by rule.
    """

    def __init__(self, rows: TaskRows, capture: str, plan: JobPlan) -> None:
        use_body_keys(plan.options)
        self._rows = rows
        self._capture = capture
        # Rules cost as much as everything else that is told.
        rules = RULES if rows.wants("findings") else {}
        follows = rows.wants("sessions") or rows.wants("lives")
        self._judge = Judge(rules, messages=plan.options.followed, leave=self._leave if follows else None)
        self.more: dict[str, int] = {}

    def take(self, run: Run) -> None:
        """Take what comes next, in the order of ids."""
        self._tell(self._judge.take(run))

    def _tell(self, findings: Iterable[Finding]) -> None:
        self._rows.tell("findings", self._capture, findings)

    def _leave(self, gone: Leaving) -> None:
        if isinstance(gone, MessageLife):
            self._rows.tell("lives", self._capture, (gone,))
        elif isinstance(gone, Session):
            self._rows.tell("sessions", self._capture, (gone,))

    def finish(self) -> None:
        """Tell what is known once all records were judged."""
        self._tell(self._judge.finish())
        story = self._judge.story
        assert story is not None
        self._rows.tell("sessions", self._capture, story.sessions)
        self._rows.tell("lives", self._capture, story.lives)
        self.more = dict(self._judge.more)
