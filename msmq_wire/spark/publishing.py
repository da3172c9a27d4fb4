"""Committing what tasks have done, whole captures at a time, and counting it.

The rule kept here: what was seen of a capture when its work was planned must still hold when it is committed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

import msmq_wire
from msmq_wire.capture.listing import legible
from msmq_wire.errors import CaptureError
from msmq_wire.spark.capture_job import Entry, JobPlan, TaskResult
from msmq_wire.spark.planning import WorkPlan, held_by_name, noted_keys
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.tables.store.identity import SOURCE_COLUMNS
from msmq_wire.tables.store.snapshot import Snapshot, among
from msmq_wire.tables.store.store import Change, Store
from msmq_wire.tables.store.upkeep import tidy
from msmq_wire.units import size_text

_PAUSE = 5.0
"""Seconds between two commits: what ends meanwhile is committed together."""


class JobRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did; kept as a row of the table ``runs``.

    ``captures`` counts those decoded, ``unchanged`` those that the tables held already and copies, also of
    what was decoded here, ``left_out`` files in the folders that do not look like captures; ``rows`` counts
    by table, ``damage`` says what could not be read, ``warnings`` what the tables hold that may not be
    expected of them. Times are UTC.
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


class Publisher:
    """Commits what tasks have done, and counts it.

    ``overtaken`` are paths of files whose captures another run changed since it was seen what there is to do:
    what was done with them does not count, because they may have been shorter then.
    """

    def __init__(self, store: Store, plan: JobPlan, tell: Callable[[str], None]) -> None:
        self.overtaken: set[str] = set()
        self._store = store
        self._plan = plan
        self._tell = tell
        self._round = 0
        self._commits = 0
        self._unchanged = 0
        self._count = 0
        self._bytes = 0
        self._read = 0
        self._waiting: list[TaskResult] = []
        self._latest = time.monotonic()
        self._done = 0
        self._totals: Counter[str] = Counter()
        self._rows: Counter[str] = Counter(dict.fromkeys(plan.tables, 0))
        self._skipped: Counter[str] = Counter()
        self._damage: list[str] = []
        self._twins: dict[str, str] = {}

    def begin(self, work: WorkPlan, snapshot: Snapshot) -> JobPlan:
        """Take what will be done, and what the tables were when that was seen; return the plan for its tasks.

        Rows of a round that do not count must not when the next lists the same captures: their run has
        another name then.
        """
        self._round += 1
        self.overtaken = set()
        self._unchanged += work.unchanged
        self._count = self._done + len(work.todo)
        self._bytes = self._read + sum(one.capture.size for one in work.todo)
        self._captures = {one.capture.name: one.capture for one in work.todo}
        names = {name for one in work.todo for name in (one.capture.name, *one.replaces)}
        self._before = held_by_name(snapshot, among("capture", sorted(names)))
        run = self._plan.run if self._round == 1 else f"{self._plan.run}.{self._round}"
        return replace(self._plan, run=run)

    def copies(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note files that are captures under other names, as far as these are in the tables."""
        snapshot = self._store.snapshot()
        held = held_by_name(snapshot, among("capture", sorted({row["capture"] for row in rows})))
        there = [row for row in rows if held.get(row["capture"], (None, ""))[0] is not None]
        lost = {row["path"] for row in rows} - {row["path"] for row in there}
        self._unchanged -= len(lost - self.overtaken)
        self.overtaken |= lost
        noted = noted_keys(snapshot, [row["key"] for row in there])
        new = [{**row, "run": held[row["capture"]][1]} for row in there if row["key"] not in noted]
        if new:
            self._publish(sources=new)

    def take(self, done: TaskResult) -> None:
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
        entries = [entry for done in waiting for entry in done.entries]
        if entries:
            snapshot = self._store.snapshot()
            late = self._late(entries, snapshot)
            kept = [entry for entry in entries if entry.capture not in late]
            if kept:
                late |= self._publish(
                    partial(self._late, kept),
                    files=[file for done in waiting for file in done.files],
                    tables=self._plan.tables,
                    captures=[entry.row() for entry in kept],
                    sources=_sources_of(kept, snapshot),
                    gone=_replaced(kept),
                )
            self._settle(entries, late)
            self._tell(
                f"{self._done} of {self._count} captures, {size_text(self._read)} of {size_text(self._bytes)}"
            )
        self._latest = time.monotonic()

    def _publish(
        self, late: Callable[[Snapshot], Collection[str]] = lambda snapshot: (), **what: Any
    ) -> frozenset[str]:
        self._commits += 1
        return self._store.publish(Change(run=self._plan.run, number=self._commits, **what), late)

    def _late(self, entries: Sequence[Entry], snapshot: Snapshot) -> frozenset[str]:
        """Captures that another run changed meanwhile, and those whose content has another name."""
        names = sorted({entry.capture for entry in entries} | _replaced(entries))
        digests = sorted({entry.digest for entry in entries if entry.digest is not None})
        now = held_by_name(snapshot, among("capture", names) | among("digest", digests))
        owners = {digest: name for name, (digest, _) in now.items() if digest is not None}
        late = set()
        for entry in entries:
            owner = owners.setdefault(entry.digest, entry.capture) if entry.digest else entry.capture
            if owner != entry.capture:
                self._twins[entry.capture] = owner
            of_entry = {entry.capture, *entry.replaces}
            changed = any(now.get(name) != self._before.get(name) for name in of_entry)
            if changed or owner not in of_entry:
                late.add(entry.capture)
        return frozenset(late)

    def _settle(self, entries: Sequence[Entry], late: Collection[str]) -> None:
        """Count what was listed; what another run has is a copy, or to be looked at again."""
        copies: list[Mapping[str, Any]] = []
        for entry in entries:
            if entry.capture not in late:
                self._count_in(entry)
            elif entry.capture in self._twins and len(entry.sources) == entry.files:
                copies += [{**row, "capture": self._twins[entry.capture]} for row in entry.sources]
                self._unchanged += 1
            else:
                self.overtaken |= {file.path for file in self._captures[entry.capture].files}
        if copies:
            self.copies(copies)

    def _count_in(self, entry: Entry) -> None:
        self._done += 1
        self._read += self._captures[entry.capture].size
        self._totals.update(frames=entry.frames, understood=entry.understood)
        self._rows.update(entry.rows)
        self._skipped.update(entry.skipped)
        self._damage += entry.damage

    def run(self, started: datetime, left_out: int, warnings: tuple[str, ...]) -> JobRun:
        """What was done in all."""
        tidy(self._store)
        plan = self._plan
        default = ReadOptions(streams=True)
        return JobRun(
            name=plan.run,
            version=msmq_wire.__version__,
            inputs=tuple(map(legible, plan.options.paths)),
            options={
                name: str(plain_value(value))
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


def _replaced(entries: Iterable[Entry]) -> frozenset[str]:
    """The captures that are a part of others by now."""
    return frozenset(name for entry in entries for name in entry.replaces)


def _sources_of(entries: Sequence[Entry], snapshot: Snapshot) -> list[dict[str, Any]]:
    """The rows of ``sources`` of captures: what was known of their files stays known, with their new run."""
    runs = {entry.capture: entry.run for entry in entries}
    before = snapshot.rows("sources", SOURCE_COLUMNS, among("capture", sorted(runs))).to_pylist()
    rows = {row["key"]: dict(row) for row in before}
    rows |= {row["key"]: dict(row) for entry in entries for row in entry.sources}
    return [{**row, "run": runs[row["capture"]]} for row in rows.values()]


def plain_value(value: Any) -> Any:
    if isinstance(value, str):
        return legible(value)
    return [plain_value(one) for one in value] if isinstance(value, list | tuple) else value
