"""Committing what tasks have done, whole captures at a time, and counting it.

The rule kept here: what was seen of a capture when its work was planned must still hold when it is committed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

import msmq_wire
from msmq_wire.capture.listing import legible
from msmq_wire.errors import CaptureError
from msmq_wire.spark.capture_job import Entry, JobPlan, TaskResult
from msmq_wire.spark.planning import (
    WorkPlan,
    digests_of,
    held_by_name,
    noted_keys,
)
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.tables.store.snapshot import Snapshot, among
from msmq_wire.tables.store.store import Change, Store
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
        self._waiting: list[TaskResult] = []
        self._latest = time.monotonic()
        self._done = 0
        self._totals: Counter[str] = Counter()
        self._rows: Counter[str] = Counter(dict.fromkeys(plan.tables, 0))
        self._skipped: Counter[str] = Counter()
        self._damage: list[str] = []

    def begin(self, work: WorkPlan, snapshot: Snapshot) -> None:
        """Say what will be done, and what the tables were when that was seen."""
        self.overtaken = set()
        self._unchanged += work.unchanged
        self._count = self._done + len(work.todo)
        self._bytes = self._read + sum(one.capture.size for one in work.todo)
        self._captures = {one.capture.name: one.capture for one in work.todo}
        self._before = held_by_name(snapshot, among("capture", sorted(self._captures)))

    def copies(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note files that are captures under other names, as far as these are in the tables."""
        names = {row["capture"] for row in rows}

        def change(snapshot: Snapshot) -> Change | None:
            digests = digests_of(snapshot, names)
            lost = {row["path"] for row in rows if row["capture"] not in digests}
            self._unchanged -= len(lost - self.overtaken)
            self.overtaken |= lost
            there = [row for row in rows if digests.get(row["capture"]) is not None]
            keys = noted_keys(snapshot, [row["key"] for row in there])
            new = [row for row in there if row["key"] not in keys]
            return Change(books={"sources": new}) if new else None

        if rows:
            self._store.publish(change)

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
        late: set[str] = set()
        if waiting:
            self._store.publish(partial(self._change, waiting, late))
        for entry in (entry for done in waiting for entry in done.entries):
            if entry.capture in late:
                self.overtaken |= {file.path for file in self._captures[entry.capture].files}
            else:
                self._count_in(entry)
        if waiting:
            self._tell(
                f"{self._done} of {self._count} captures, {size_text(self._read)} of {size_text(self._bytes)}"
            )
        self._latest = time.monotonic()

    def _change(self, waiting: Sequence[TaskResult], late: set[str], snapshot: Snapshot) -> Change | None:
        entries = [entry for done in waiting for entry in done.entries]
        digests = {entry.digest: entry.capture for entry in entries if entry.digest is not None}
        held = among("capture", sorted(entry.capture for entry in entries)) | among("digest", sorted(digests))
        now = held_by_name(snapshot, held)
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
        noted = noted_keys(snapshot, rows)
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

    def run(self, started: datetime, left_out: int, warnings: tuple[str, ...]) -> JobRun:
        """What was done in all."""
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


def plain_value(value: Any) -> Any:
    if isinstance(value, str):
        return legible(value)
    return [plain_value(one) for one in value] if isinstance(value, list | tuple) else value
