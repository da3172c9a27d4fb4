"""Wherever a run ends: nothing is lost, nothing is doubled, and no reader sees half a capture."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from deltalake import DeltaTable

from msmq_wire.capture.listing import captures_of, list_files
from msmq_wire.capture.places import place_of
from msmq_wire.capture.source import read_frames
from msmq_wire.capture.writer import write_pcap
from msmq_wire.errors import MsmqWireError
from msmq_wire.spark import capture_job, job
from msmq_wire.spark.capture_job import CaptureTask, JobPlan, decode_captures
from msmq_wire.spark.read_options import ReadOptions
from msmq_wire.tables.store.snapshot import Snapshot
from msmq_wire.tables.store.store import Store
from msmq_wire.tables.store.upkeep import compact, forget, status, verify
from tests.effort import LONG, WHOLE, share
from tests.spark.one_run import change_everything, run
from tests.tables.store.s3_server import BUCKET, S3Server

pytestmark = pytest.mark.needs("pyspark")

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "fixtures" / "captures"
TABLES = ("messages", "lives", "errors")

Rows = dict[str, list[str]]
"""The rows of one capture as texts, sorted, by table."""


def rows_by_capture(found: dict[str, list[dict[str, Any]]]) -> dict[str, Rows]:
    """Rows of tables, apart by their captures; who wrote them is no part of them."""
    rows: dict[str, Rows] = {}
    for table, values in found.items():
        for row in values:
            row.pop("run", None)
            rows.setdefault(row["capture"], {}).setdefault(table, []).append(repr(row))
    return {name: {table: sorted(one) for table, one in some.items()} for name, some in rows.items()}


def plainly(folder: Path, path: Path, tables: Sequence[str], **options: Any) -> Rows:
    """What a capture gives by itself, without a store."""
    plan = JobPlan(
        place=place_of(str(folder)),
        options=ReadOptions(streams=True, **options),
        tables=tuple(tables),
        run="plain",
        key="",
    )
    (capture,) = captures_of(list_files([str(path)]).files, "file")
    done = decode_captures([CaptureTask(capture=capture, heads=("",), contents=(None,))], plan)
    found: dict[str, list[dict[str, Any]]] = {}
    for file in done.files:
        read = pq.ParquetFile(folder / file.table / file.path).read()
        found.setdefault(file.table, []).extend(read.to_pylist())
    shutil.rmtree(folder)
    return rows_by_capture(found).get(str(path), {})


def listed(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """The rows of ``captures`` by name; each name is there once."""
    columns = ["capture", "digest", "length", "options", "rows", "run"]
    rows = snapshot.rows("captures", columns).to_pylist()
    assert len({row["capture"] for row in rows}) == len(rows)
    return {row["capture"]: row for row in rows}


def seen(snapshot: Snapshot) -> dict[str, Rows]:
    """What a reader sees of each capture; raises where the tables do not agree."""
    captures = listed(snapshot)
    found = {}
    for table in snapshot.tables:
        columns = (
            [name for name in snapshot.dataset(table).schema.names if name != "day"]
            if (snapshot.files(table))
            else []
        )
        found[table] = snapshot.rows(table, columns).to_pylist() if columns else []
    rows = rows_by_capture(found)
    assert rows.keys() <= captures.keys()
    for name, one in captures.items():
        counts = {table: len(some) for table, some in rows.get(name, {}).items()}
        assert counts == {table: count for table, count in one["rows"] if count}, name
    sources = snapshot.rows("sources", ["capture", "key"]).to_pylist()
    assert {row["capture"] for row in sources} <= captures.keys()
    # Two runs that see a copy at once may both note it.
    assert len({(row["key"], row["capture"]) for row in sources}) == len({row["key"] for row in sources})
    return {name: rows.get(name, {}) for name in captures}


def written(output: Path) -> set[str]:
    """The data files below an output, as a store names them."""
    found = (path.relative_to(output) for path in output.rglob("*.parquet"))
    return {path.as_posix() for path in found if "_delta_log" not in path.parts}


def named(tables: Store) -> set[str]:
    """The data files that the logs of the tables name as they are now."""
    snapshot = tables.snapshot()
    return {
        f"{table}/{file.path}"
        for table in ("captures", "runs", *tables.written())
        for file in snapshot.files(table)
    }


def one_run(what: str, asked: dict[str, Any]) -> str:
    """Run the program of that name, and return what it writes."""
    program = [sys.executable, "-m", "tests.spark.one_run", what, json.dumps(asked)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_apart(output: str, *paths: Path, again: bool = False) -> dict[str, int]:
    """A run in a process of its own: deltalake lets no other thread of its process do anything meanwhile."""
    asked = {"output": output, "paths": list(map(str, paths)), "tables": TABLES, "again": again}
    made: dict[str, int] = json.loads(one_run("run", asked))
    return made


class Attacked:
    """A store with captures, what is to become of them, and every state that a reader may see meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = folder / "before"
        (folder / "in").mkdir(parents=True)
        kinds = {"in/grown.pcap": "demo", "in/kept.pcap": "clean_ipv6", "again.pcap": "path_loopback"}
        kinds |= {"gone.pcap": "path_vlan"}
        paths = {name: folder / name for name in kinds}
        for name, kind in kinds.items():
            shutil.copy(CAPTURES / f"{kind}.pcap", paths[name])
        grown, new = paths["in/grown.pcap"], folder / "in" / "new.pcap"
        frames = list(read_frames(grown))
        write_pcap(grown, frames[: len(frames) // 2])
        old = {str(path): self._plain(path) for path in paths.values()}
        # One after the other, so that files are shared by captures, and all of them by none.
        run(str(self.before), *paths.values(), tables=TABLES)
        write_pcap(grown, frames)
        shutil.copy(CAPTURES / "path_other_port.pcap", new)
        self.after = {str(path): self._plain(path) for path in (grown, paths["in/kept.pcap"], new)}
        again = paths["again.pcap"]
        self.after[str(again)] = self._plain(again, payload=False)
        changed = {name: rows for name, rows in self.after.items() if old.get(name) != rows}
        assert len(changed) == 3
        self.states = {name: [rows, self.after.get(name)] for name, rows in old.items()}
        self.states[str(new)] = [None, self.after[str(new)]]

    def _plain(self, path: Path, **options: Any) -> Rows:
        return plainly(self.folder / "plain", path, TABLES, **options)

    def kill(self, lasts: Sequence[int], before: Path, outputs: Path) -> list[Path]:
        """Change everything in copies of a store, each ended at a step; return them."""
        asked = {
            "folder": str(self.folder),
            "before": str(before),
            "outputs": str(outputs / "{}"),
            "tables": TABLES,
            "lasts": lasts,
        }
        one_run("kill", asked)
        return [outputs / str(last) for last in lasts]

    def whole(self, before: Path, outputs: Path) -> tuple[Path, list[str]]:
        """Change everything in a copy of a store; return it, and the steps of that."""
        (output,) = self.kill([-1], before, outputs)
        return output, json.loads((outputs / "steps.json").read_text())

    def check(self, output: Path, *, absent: bool = False) -> dict[str, Rows]:
        """What a reader sees, after it was checked; captures of before may be ``absent``."""
        tables = Store(str(output))
        rows = seen(tables.snapshot()) if tables.exists or not absent else {}
        assert rows.keys() <= self.states.keys()
        for name, allowed in self.states.items():
            assert rows.get(name) in allowed or (absent and name not in rows), name
        return rows

    def finish(self, output: Path) -> None:
        """Change everything once more, and see that all is there, and nothing else once it is swept."""
        change_everything(self.folder, str(output), TABLES)
        assert self.check(output) == self.after
        tables = Store(str(output))
        # Nothing runs, and a clock has seconds.
        compact(tables, hours=-1)
        tables.vacuum(0, dry=False)
        assert self.check(output) == self.after
        assert list(verify(tables)) == []
        assert written(output) == named(tables)
        assert sum(one.others for one in status(tables).tables) == 0


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    return Attacked(tmp_path_factory.mktemp("attacked"))


PARTS = 4 if WHOLE else 1
STEPS = {"make folder", "make file", "write file", "end file", "commit", "append"}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("before", share(["captures", "a killed run", "nothing"]))
def test_a_run_that_is_killed_at_any_step_leaves_whole_captures_and_the_next_ends_it(
    before: str, part: int, attacked: Attacked, tmp_path: Path
) -> None:
    start, special = attacked.before, set[str]()
    if before == "nothing":
        start, special = tmp_path / "nothing", {"create"}
        start.mkdir()
    if before == "a killed run":
        # All tables have rows that captures does not name: before it comes to its first commit.
        _, steps = attacked.whole(start, tmp_path / "whole")
        last = [at for at, step in enumerate(steps) if step == "append"][1]
        (start,) = attacked.kill([last], start, tmp_path / "killed")
    outputs = tmp_path / "out"
    whole, steps = attacked.whole(start, outputs)
    assert set(steps) == STEPS | special
    # Of twelve steps the first four will do.
    every = 3 if WHOLE and not LONG else 1
    lasts = share(range(part, len(steps), PARTS * every), 30, len(before))
    states = set()
    for output in [whole, *attacked.kill(list(lasts), start, outputs)]:
        try:
            states.add(repr(attacked.check(output, absent=before == "nothing")))
            attacked.finish(output)
        except BaseException as error:
            error.add_note(f"killed at {output.name} of {steps}")
            raise
    assert len(states) > 1


@pytest.mark.slow
def test_a_table_whose_first_commit_was_not_made_is_made_again(attacked: Attacked, tmp_path: Path) -> None:
    output = tmp_path / "out"
    for table in ("captures", "messages"):
        # What a full disk leaves, or a death in the middle of it.
        (output / table / "_delta_log").mkdir(parents=True)
        (output / table / "_delta_log" / "00000000000000000000.json#1").touch()
    attacked.finish(output)


def opened(output: str, table: str) -> DeltaTable:
    found = Store(output).snapshot().table(table)
    assert found is not None
    return found


@pytest.mark.check
def test_a_commit_whose_answer_is_lost_is_made_once(s3: S3Server, tmp_path: Path) -> None:
    output, paths = f"s3://{BUCKET}/tables", [CAPTURES / "demo.pcap", CAPTURES / "path_vlan.pcap"]
    run_apart(output, paths[0])
    for table in ("messages", "captures"):
        version = opened(output, table).version()
        s3.lose = f"/{table}/_delta_log/{version + 1:020}.json"
        assert run_apart(output, paths[1], again=table == "captures") == {"captures": 1, "unchanged": 0}
        assert not s3.lose
        rows = seen(Store(output).snapshot())
        assert rows == {str(path): plainly(tmp_path / "plain", path, TABLES) for path in paths}
        # It is not made again, once it is seen that it is there.
        assert opened(output, table).version() == version + 1


@pytest.mark.check
def test_a_server_that_fails_every_tenth_request_loses_nothing(s3: S3Server, tmp_path: Path) -> None:
    output, paths = f"s3://{BUCKET}/tables", [CAPTURES / "demo.pcap", CAPTURES / "path_vlan.pcap"]
    s3.fail_every = 10
    for path, again in ((paths[0], False), (paths[1], False), (paths[0], True)):
        assert run_apart(output, path, again=again) == {"captures": 1, "unchanged": 0}
    assert s3.failed > 20
    rows = seen(Store(output).snapshot())
    assert rows == {str(path): plainly(tmp_path / "plain", path, TABLES) for path in paths}


def meanwhile(monkeypatch: pytest.MonkeyPatch, *others: Callable[[], object]) -> None:
    """Do something else once a run has decoded what it saw; the next of ``others`` in the next round."""
    waiting, decode = list(others), capture_job.decode_captures

    def decoded(todo: Sequence[CaptureTask], plan: JobPlan) -> Any:
        done = decode(todo, plan)
        if waiting:
            with monkeypatch.context() as patch:
                patch.setattr(job, "decode_captures", decode)
                waiting.pop(0)()
        return done

    monkeypatch.setattr(job, "decode_captures", decoded)


@pytest.mark.slow
def test_a_run_that_saw_less_of_a_capture_takes_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, output = tmp_path / "in", str(tmp_path / "out")
    folder.mkdir()
    shutil.copy(CAPTURES / "path_vlan.pcap", folder / "other.pcap")
    frames = list(read_frames(CAPTURES / "demo.pcap"))

    def grow(count: int) -> None:
        write_pcap(folder / "grown.pcap", frames[:count])
        run(output, folder, tables=TABLES)

    grow(4)
    for counts in ((20, len(frames)), (30, 40, 50)):
        monkeypatch.undo()
        write_pcap(folder / "grown.pcap", frames[: counts[0] - 5])
        meanwhile(monkeypatch, *(partial(grow, count) for count in counts))
        made = run(output, folder, tables=TABLES)
        assert made.captures == 0
        rows = seen(Store(output).snapshot())
        assert rows == {str(path): plainly(tmp_path / "plain", path, TABLES) for path in folder.iterdir()}


@pytest.mark.slow
def test_the_same_content_of_two_runs_is_one_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = str(tmp_path / "out")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copy(CAPTURES / "demo.pcap", tmp_path / name)
    shutil.copy(CAPTURES / "path_vlan.pcap", tmp_path / "one")
    meanwhile(monkeypatch, lambda: run(output, tmp_path / "two", tables=TABLES))
    made = run(output, tmp_path / "one", tables=TABLES)
    assert (made.captures, made.unchanged) == (1, 1)
    paths = [tmp_path / "two" / "demo.pcap", tmp_path / "one" / "path_vlan.pcap"]
    rows = seen(Store(output).snapshot())
    assert rows == {str(path): plainly(tmp_path / "plain", path, TABLES) for path in paths}
    last = run(output, tmp_path, tables=TABLES, recursive=True)
    assert (last.captures, last.unchanged) == (0, 3)


@pytest.mark.slow
def test_a_copy_of_what_is_forgotten_meanwhile_is_a_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, folder = str(tmp_path / "out"), tmp_path / "in"
    folder.mkdir()
    run(output, CAPTURES / "demo.pcap", tables=TABLES)
    shutil.copy(CAPTURES / "demo.pcap", folder)
    shutil.copy(CAPTURES / "path_vlan.pcap", folder)
    meanwhile(monkeypatch, lambda: forget(Store(output), [str(CAPTURES / "demo.pcap")]))
    made = run(output, folder, tables=TABLES)
    assert (made.captures, made.unchanged) == (2, 0)
    rows = seen(Store(output).snapshot())
    assert rows == {str(path): plainly(tmp_path / "plain", path, TABLES) for path in folder.iterdir()}


def changing(output: str, folder: Path, seed: int) -> None:
    """What one of several runs does: see files that others see, too, under other names, and let them grow."""
    chance = random.Random(seed)
    frames = list(read_frames(CAPTURES / "demo.pcap"))
    for count in (10, 30, len(frames)) if WHOLE else (20, len(frames)):
        # What the other one is writing has a name that is no capture's.
        there = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        for path in chance.sample(there, 2):
            own = path.with_name(f"{path.stem}-{seed}.pcap")
            shutil.copy(path, own)
        write_pcap(folder / f"grown-{seed}.pcap", frames[:count])
        run_apart(output, folder)


@pytest.mark.check
@pytest.mark.parametrize(
    ("seed", "output"), [(0, "folder"), *([(1, "folder")] if WHOLE else []), (2, f"s3://{BUCKET}/tables")]
)
def test_runs_at_once_compaction_and_a_reader_see_whole_captures(
    seed: int, output: str, s3: S3Server, tmp_path: Path
) -> None:
    in_bucket, folder = output.startswith("s3:"), tmp_path / "in"
    output = output if in_bucket else str(tmp_path / "out")
    folder.mkdir()
    for name in ("path_vlan", "path_null", "clean_ipv6"):
        shutil.copy(CAPTURES / f"{name}.pcap", folder)
    run_apart(output, folder / "path_vlan.pcap")
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(changing, output, folder, 2 * seed + one) for one in range(2)]
        versions, compacted = set(), list[int]()
        while not all(one.done() for one in runs):
            snapshot = Store(output).snapshot()
            seen(snapshot)
            versions.add(snapshot.version)
            # The runs are what is looked at: a reader without a pause takes the cores from them.
            time.sleep(0.2)
            # What writes here keeps the server of this process from answering.
            if not in_bucket:
                compacted.append(compact(Store(output), hours=1).after)
                Store(output).vacuum(1, dry=False)
        for one in runs:
            one.result()
    # How often it looks depends on the machine: at one time and at another is enough.
    assert len(versions) > 1
    assert in_bucket or sum(compacted) > len(TABLES)
    assert run_apart(output, folder, again=True)["captures"]
    snapshot = Store(output).snapshot()
    rows, captures = seen(snapshot), listed(snapshot)
    assert len({one["digest"] for one in captures.values()}) == len(captures)
    known = snapshot.rows("sources", ["path", "size", "capture"]).to_pylist()
    capture_of = {(row["path"], row["size"]): row["capture"] for row in known}
    whole = 0
    for path in folder.iterdir():
        name = capture_of[str(path), path.stat().st_size]
        counts = Counter({table: len(some) for table, some in rows[name].items()})
        plain = Counter(
            {table: len(some) for table, some in plainly(tmp_path / "plain", path, TABLES).items()}
        )
        # What a capture was before it grew is in it.
        assert plain["messages"] <= counts["messages"]
        if captures[name]["digest"] == hashlib.sha256(path.read_bytes()).hexdigest():
            assert counts == plain
            whole += 1
    assert whole > 5


def sizes(folder: Path) -> int:
    """Bytes of the pages of all files."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in folder.rglob("*"))


@contextlib.contextmanager
def small_disk(disk: Path, room: int, groups: int) -> Iterator[None]:
    """Let ``room`` bytes be written below a folder, which is empty afterwards; only root may do that.

    Elsewhere writers of Parquet say that there is no room after so many row groups.
    """
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(disk)]
    if shutil.which("mount") and not subprocess.run(mount, check=False, capture_output=True).returncode:
        try:
            yield
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)
        return
    write, left = pq.ParquetWriter.write_table, [groups]

    def full(writer: Any, *table: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(writer, *table)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", full)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", share([40, 80, 120, 160, 200, 240], 3))
def test_a_full_disk_is_told_and_the_next_run_goes_on(
    kilobytes: int, attacked: Attacked, tmp_path: Path
) -> None:
    disk, left = tmp_path / "disk", tmp_path / "left"
    with small_disk(disk, sizes(attacked.before) + (kilobytes << 10), kilobytes // 30):
        output = disk / "out"
        shutil.copytree(attacked.before, output)
        # What ends a task is told as it is: Spark names the task, and this error.
        with pytest.raises((MsmqWireError, OSError), match="No space left"):
            change_everything(attacked.folder, str(output), TABLES)
        attacked.check(output)
        shutil.copytree(output, left)
    attacked.finish(left)
