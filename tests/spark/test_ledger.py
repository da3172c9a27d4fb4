"""A capture is in the tables whole or not at all, wherever a run ends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from io import IOBase
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no stubs
import pytest
from msmq_wire.spark.ledger import Entry, Ledger, capture_key

from msmq_wire.errors import MsmqWireError
from msmq_wire.spark import ledger as module
from msmq_wire.spark.captures import Capture, CaptureFile
from msmq_wire.spark.table_files import HIDDEN, TableWriter, WrittenFile
from msmq_wire.spark.table_schemas import table_schemas
from tests.effort import share

FILE = CaptureFile(path="/x/a.pcap", size=7, mtime_ns=5)
CAPTURE = Capture(name="/x/a.pcap", files=(FILE,))
DAY = 86_400_000_000
LOCK = ".msmq-wire-lock"


class Crash(BaseException):
    """The power goes: nothing after it is done."""


def rows(table: str, capture: str, mark: str, days: int = 2) -> Any:
    """Rows of a table on several days, which say what they are in their only text that is free."""
    text = "code" if table in ("errors", "anomalies") else "rule"
    made = [
        {"capture": capture, "time": day * DAY, text: mark, "type": "gap", "severity": "low"}
        for day in range(days)
    ]
    return pa.RecordBatch.from_pylist(made, schema=table_schemas()[table])


def written(
    output: Path, mark: str, *, name: str = CAPTURE.name, source: CaptureFile = FILE, options: str = "same"
) -> Entry:
    """The entry of a capture whose rows say ``mark``, with its hidden files."""
    with TableWriter(str(output), capture_key(name), ("errors", "findings")) as writer:
        for table in ("errors", "findings"):
            writer.write(table, rows(table, name, mark))
    files = tuple(writer.files)
    assert len(files) == 4
    return Entry(
        capture=name,
        sources=(source,),
        options=options,
        run="run",
        files=files,
        rows={"errors": 2, "findings": 2},
    )


def shown(output: Path) -> list[tuple[str, str, str]]:
    """The rows that a reader of the tables sees: table, capture, mark."""
    found = []
    for path in sorted(output.glob("*/day=*/[!._]*.parquet")):
        for row in pq.ParquetFile(path).read().to_pylist():
            found.append((path.parent.parent.name, row["capture"], row.get("code") or row["rule"]))
    return sorted(found)


def all_of(mark: str, name: str = CAPTURE.name) -> list[tuple[str, str, str]]:
    return sorted([(table, name, mark) for table in ("errors", "findings") for _ in range(2)])


def hidden(output: Path) -> list[str]:
    return [path.name for path in output.rglob(f"{HIDDEN}*") if path.name != LOCK]


def test_what_is_written_counts_once_it_is_published(tmp_path: Path) -> None:
    with Ledger(str(tmp_path)) as ledger:
        entry = written(tmp_path, "one")
        assert shown(tmp_path) == []
        assert not ledger.has(CAPTURE, "same")
        ledger.publish(entry)
        assert shown(tmp_path) == all_of("one")
        assert ledger.has(CAPTURE, "same")
    assert hidden(tmp_path) == []
    with Ledger(str(tmp_path)) as again:
        assert again.entries == {CAPTURE.name: entry}
        assert again.has(CAPTURE, "same")
        again.publish(written(tmp_path, "two"))
    assert shown(tmp_path) == all_of("two")
    assert hidden(tmp_path) == []


def test_a_capture_counts_as_it_is_now_and_as_it_was_read(tmp_path: Path) -> None:
    grown = CaptureFile(path=FILE.path, size=8, mtime_ns=5)
    touched = CaptureFile(path=FILE.path, size=7, mtime_ns=6)
    more = CaptureFile(path="/x/b.pcap", size=7, mtime_ns=5)
    with Ledger(str(tmp_path)) as ledger:
        ledger.publish(written(tmp_path, "one"))
        assert ledger.has(CAPTURE, "same")
        assert not ledger.has(CAPTURE, "others")
        for files in ((grown,), (touched,), (FILE, more), ()):
            assert not ledger.has(Capture(name=CAPTURE.name, files=files), "same")
        assert not ledger.has(Capture(name="/x/b.pcap", files=(FILE,)), "same")


def test_a_file_that_could_not_be_read_is_tried_again(tmp_path: Path) -> None:
    closed = CaptureFile(
        path="/x/a.pcap", size=0, mtime_ns=0, error="cannot open /x/a.pcap: Permission denied"
    )
    with Ledger(str(tmp_path)) as ledger:
        ledger.publish(written(tmp_path, "one", source=closed))
        assert not ledger.has(Capture(name=CAPTURE.name, files=(closed,)), "same")


def test_a_capture_whose_rows_were_taken_away_is_read_again(tmp_path: Path) -> None:
    with Ledger(str(tmp_path)) as ledger:
        ledger.publish(written(tmp_path, "one"))
    next(tmp_path.glob("errors/*/*.parquet")).unlink()
    with Ledger(str(tmp_path)) as ledger:
        assert not ledger.has(CAPTURE, "same")
        ledger.publish(written(tmp_path, "two"))
    assert shown(tmp_path) == all_of("two")


def test_rows_whose_entry_was_taken_away_stay_until_the_capture_is_read_again(tmp_path: Path) -> None:
    with Ledger(str(tmp_path)) as ledger:
        ledger.publish(written(tmp_path, "one"))
        ledger.publish(written(tmp_path, "other", name="other"))
    for path in (tmp_path / "captures").glob("*.json"):
        path.unlink()
    with Ledger(str(tmp_path)) as ledger:
        assert not ledger.has(CAPTURE, "same")
        assert shown(tmp_path) == sorted(all_of("one") + all_of("other", "other"))
        ledger.publish(written(tmp_path, "two"))
    assert shown(tmp_path) == sorted(all_of("two") + all_of("other", "other"))


def test_rows_that_did_not_come_are_no_success(tmp_path: Path) -> None:
    with Ledger(str(tmp_path)) as ledger:
        ledger.publish(written(tmp_path, "one"))
        entry = written(tmp_path, "two")
        next(tmp_path.glob("errors/*/.part-*")).unlink()
        with pytest.raises(MsmqWireError, match=r"the rows of /x/a\.pcap did not come"):
            ledger.publish(entry)
    assert shown(tmp_path) == all_of("one")
    with Ledger(str(tmp_path)) as ledger:
        assert ledger.has(CAPTURE, "same")
    assert hidden(tmp_path) == []


def test_files_of_tasks_that_came_to_nothing_are_swept(tmp_path: Path) -> None:
    with Ledger(str(tmp_path)) as ledger:
        ledger.publish(written(tmp_path, "one"))
        written(tmp_path, "nothing")
        (tmp_path / "captures" / ".x.pending.0123456789abcdef.tmp").write_text("{")
        assert ledger.sweep() == 4
        assert ledger.sweep() == 0
        written(tmp_path, "nothing")
    with Ledger(str(tmp_path)):
        assert hidden(tmp_path) == []
    assert shown(tmp_path) == all_of("one")


STEPS: list[tuple[Any, str]] = [
    (os, "fsync"),
    (Path, "open"),
    (Path, "rename"),
    (Path, "unlink"),
    (Path, "exists"),
    (Path, "mkdir"),
]


class Clockwork:
    """Lets the call ``count`` of what changes a folder be the last: just before it, or just after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        self.after = False
        self.calls = 0
        for owner, name in STEPS:
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **more: Any) -> Any:
            self.calls += 1
            self.left -= 1
            if self.left == 0 and not self.after:
                raise Crash
            result = call(*args, **more)
            if self.left == 0:
                if isinstance(result, IOBase):
                    result.close()
                raise Crash
            return result

        return counted

    def stop(self) -> None:
        self.left = -1


@pytest.fixture
def clockwork(monkeypatch: pytest.MonkeyPatch) -> Clockwork:
    return Clockwork(monkeypatch)


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def leave_lock(output: Path, holder: str) -> None:
    output.mkdir(exist_ok=True)
    (output / LOCK).write_text(holder)


@pytest.mark.parametrize(("after", "replaced"), share([*product((False, True), repeat=2)], 3))
def test_a_run_that_ends_anywhere_leaves_the_old_rows_or_the_new(
    after: bool, replaced: bool, tmp_path: Path, clockwork: Clockwork
) -> None:
    pid = dead_process()
    clockwork.after = after
    old = all_of("old") if replaced else []
    seen = set()
    for count in range(1, 1000):
        output = tmp_path / str(count)
        if replaced:
            with Ledger(str(output)) as ledger:
                ledger.publish(written(output, "old"))
        ledger = Ledger(str(output))
        ledger.__enter__()
        entry = written(output, "new")
        clockwork.left = count
        ended = True
        try:
            ledger.publish(entry)
        except Crash:
            ended = False
        clockwork.stop()
        # Nobody let go of the lock.
        leave_lock(output, f"{socket.gethostname()} {pid} 0")
        with Ledger(str(output)) as after_crash:
            visible = shown(output)
            assert visible in (old, all_of("new"))
            assert after_crash.has(CAPTURE, "same") == bool(visible)
            assert (after_crash.entries.get(CAPTURE.name) == entry) == (visible == all_of("new"))
            assert hidden(output) == []
            after_crash.publish(written(output, "again"))
        assert shown(output) == all_of("again")
        seen.add(tuple(visible))
        if ended:
            assert visible == all_of("new")
            break
    assert seen == {tuple(old), tuple(all_of("new"))}
    assert count > 10


@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_ends_while_it_puts_things_right_is_put_right_by_the_next(
    after: bool, tmp_path: Path, clockwork: Clockwork
) -> None:
    pid = dead_process()
    clockwork.after = after
    for count in range(1, 1000):
        output = tmp_path / str(count)
        with Ledger(str(output)) as ledger:
            ledger.publish(written(output, "old"))
            entry = written(output, "new")
            written(output, "nothing")
            # As far as the entry is written, and one file is there.
            module._write(output / "captures" / f".{capture_key(CAPTURE.name)}.pending", entry)
            first = output / entry.files[0].folder
            (first / f".{entry.files[0].name}").rename(first / entry.files[0].name)
        clockwork.left = count
        ended = True
        try:
            Ledger(str(output)).__enter__()
        except Crash:
            ended = False
        clockwork.stop()
        leave_lock(output, f"{socket.gethostname()} {pid} 0")
        with Ledger(str(output)) as ledger:
            assert shown(output) == all_of("new")
            assert ledger.has(CAPTURE, "same")
            assert hidden(output) == []
        if ended:
            break
    assert count > 10


def test_a_full_disk_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(str(tmp_path)) as ledger:
        entry = written(tmp_path, "one")

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(MsmqWireError, match="No space left on device"):
                ledger.publish(entry)
        ledger.publish(entry)
    assert shown(tmp_path) == all_of("one")


def test_a_second_run_is_refused_while_the_first_one_runs(tmp_path: Path) -> None:
    with Ledger(str(tmp_path)):
        with pytest.raises(MsmqWireError, match="another run writes to"), Ledger(str(tmp_path)):
            pass
        # Another process sees the same.
        text = f"from msmq_wire.spark.ledger import Ledger\nwith Ledger({str(tmp_path)!r}): pass"
        told = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        assert "another run writes to" in told.stderr
        assert (tmp_path / LOCK).exists()
    with Ledger(str(tmp_path)):
        assert (tmp_path / LOCK).exists()
    assert not (tmp_path / LOCK).exists()


@pytest.mark.parametrize(
    ("holder", "taken"),
    [
        ("{host} {dead} 0", True),
        ("{host} {self} 0", True),
        ("{host} 1 0", False),
        ("elsewhere {dead} 0", False),
        ("{host} {dead}", False),
        ("{host} -5 0", False),
        ("{host} ² 0", False),
        ("{host} 99999999999999999999999 0", False),
        ("", False),
    ],
)
def test_only_the_lock_of_a_process_that_ended_here_is_taken_over(
    holder: str, taken: bool, tmp_path: Path
) -> None:
    text = holder.format(host=socket.gethostname(), dead=dead_process(), self=os.getpid())
    leave_lock(tmp_path, text)
    if taken:
        with Ledger(str(tmp_path)):
            assert (tmp_path / LOCK).read_text() != text
        assert not (tmp_path / LOCK).exists()
    else:
        with pytest.raises(MsmqWireError, match="if it does not run any more, remove"), Ledger(str(tmp_path)):
            pass
        assert (tmp_path / LOCK).read_text() == text


def test_a_lock_that_another_run_takes_over_first_stays_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = f"{socket.gethostname()} {dead_process()} 0"
    leave_lock(tmp_path, stale)
    other = Ledger(str(tmp_path))
    is_gone = module._is_gone

    def slow(holder: str) -> bool:
        gone = is_gone(holder)
        if holder == stale:
            monkeypatch.setattr(module, "_is_gone", is_gone)
            other.__enter__()
        return gone

    monkeypatch.setattr(module, "_is_gone", slow)
    with pytest.raises(MsmqWireError, match="another run"), Ledger(str(tmp_path)):
        pass
    assert (tmp_path / LOCK).read_text().split()[1] == str(os.getpid())
    other.__exit__(None, None, None)
    assert not (tmp_path / LOCK).exists()


def test_a_lock_that_is_not_its_own_any_more_is_left(tmp_path: Path) -> None:
    with Ledger(str(tmp_path)):
        (tmp_path / LOCK).write_text("elsewhere 1 2")
    assert (tmp_path / LOCK).read_text() == "elsewhere 1 2"


def entry_text(**values: Any) -> bytes:
    entry = {
        "capture": "x",
        "sources": [],
        "options": "",
        "run": "",
        "files": [],
        "rows": {},
    }
    return json.dumps(entry | values).encode()


def file_text(**values: Any) -> dict[str, Any]:
    name = f"part-{capture_key('x')}-{'0' * 16}.parquet"
    return {"table": "errors", "folder": "errors/day=2026-01-01", "name": name, "rows": 1} | values


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}",
        entry_text(rows=5),
        entry_text(capture="y"),
        entry_text(files=[file_text(name="../../../etc/passwd")]),
        entry_text(files=[file_text(name="notes.txt")]),
        entry_text(files=[file_text(name=f"part-{'0' * 16}-{'0' * 16}.parquet")]),
        entry_text(files=[file_text(folder="errors/day=../..")]),
        entry_text(files=[file_text(folder="errors/day=x/y")]),
        entry_text(files=[file_text(folder="errors")]),
        entry_text(files=[file_text(folder="../day=x", table="..")]),
        entry_text(files=[file_text(table="calls")]),
    ],
)
@pytest.mark.parametrize("name", ["{}.json", ".{}.pending"])
def test_a_file_that_is_no_entry_is_named_and_nothing_is_done(
    name: str, content: bytes, tmp_path: Path
) -> None:
    with Ledger(str(tmp_path)) as ledger:
        ledger.publish(written(tmp_path, "one"))
    path = tmp_path / "captures" / name.format(capture_key("x"))
    path.write_bytes(content)
    before = sorted(str(one) for one in tmp_path.rglob("*"))
    with pytest.raises(MsmqWireError, match="is no entry of the ledger") as error, Ledger(str(tmp_path)):
        pass
    assert str(path) in str(error.value)
    assert sorted(str(one) for one in tmp_path.rglob("*")) == before
    path.unlink()
    with Ledger(str(tmp_path)) as ledger:
        assert ledger.has(CAPTURE, "same")


def test_an_entry_by_hand_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / f"{capture_key('x')}.json").write_bytes(entry_text(files=[file_text()], colour="red"))
    with Ledger(str(tmp_path)) as ledger:
        (entry,) = ledger.entries.values()
    assert entry.files == (WrittenFile(**file_text()),)


def test_an_output_that_cannot_be_one_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for output in ("file", "file/below"):
        with pytest.raises(MsmqWireError, match=r"cannot write .*file"), Ledger(str(tmp_path / output)):
            pass


@pytest.mark.parametrize("name", ["a b.pcap", "day=1.pcap", "ünï.pcap", "x\udcff.pcap", "", "\n"])
def test_every_capture_has_a_key_of_its_own(name: str) -> None:
    key = capture_key(name)
    assert len(key) == 16
    assert int(key, 16) >= 0
    assert key != capture_key(name + "x")


def test_a_link_to_a_folder_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    with pytest.raises(MsmqWireError, match="it is a link to"), Ledger(str(tmp_path / "link")):
        pass
    assert list((tmp_path / "folder").iterdir()) == []
