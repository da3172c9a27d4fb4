"""``--jobs``: what several processes print of several files is what one prints, byte for byte."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest

from msmq_wire.cli import capture_set, worker_pool
from msmq_wire.cli.capture_set import CaptureSet

# Tests run where other threads may be; the program has none when it divides.
pytestmark = [
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not divide processes"),
]

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_NAMES = (
    "captures/demo.pcap",
    "rpc_captures/rpc_qmcomm_qm2qm.pcap",
    "captures/structures.pcapng",
    "sessions/transactional_acks.pcap",
    "rpc_captures/rpc_sections.pcap",
)
_COMMANDS = [
    ("decode",),
    ("decode", "--format", "jsonl", "--streams"),
    ("decode", "--format", "table"),
    ("decode", "--format", "csv", "--filter", "type == user_message"),
    ("decode", "--columns", "label,id,parent", "--id", "9", "--id", "40"),
    ("messages",),
    ("messages", "--format", "jsonl", "--all"),
    ("messages", "--format", "csv"),
    ("messages", "--filter", "label ~ no_such_label", "--format", "csv"),
    ("calls",),
    ("calls", "--format", "csv"),
    ("calls", "--format", "jsonl", "--filter", "status != 0"),
    ("export", "--force", "--to", "OUT", "--filter", "type == user_message"),
]

Run = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Captures, one of them damaged, a file that is none, and one that is not there."""
    found = []
    for number, name in enumerate(_NAMES):
        found.append(tmp_path / f"{number}-{Path(name).name}")
        shutil.copy(_FIXTURES / name, found[-1])
    found[0].write_bytes(found[0].read_bytes()[:-20])
    none = tmp_path / "none.pcap"
    none.write_bytes(b"no capture at all")
    return [*found[:2], none, *found[2:4], tmp_path / "missing.pcap", found[4]]


@pytest.fixture(autouse=True)
def _no_process_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Other tests may have processes of their own.
    begun: list[int] = []
    fork = os.fork

    def noted() -> int:
        begun.append(fork())
        return begun[-1]

    monkeypatch.setattr(os, "fork", noted)
    yield
    for process in filter(None, begun):
        with pytest.raises(ChildProcessError):
            os.waitpid(process, os.WNOHANG)


@pytest.mark.slow
@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_two_processes_print_what_one_prints(
    run: Run, files: list[Path], tmp_path: Path, command: tuple[str, ...]
) -> None:
    out = tmp_path / "out.pcap"
    arguments = [str(out) if one == "OUT" else one for one in command]
    alone = run(*arguments, *files)
    written = out.read_bytes() if out.exists() else b""
    assert run(*arguments, "--jobs", 2, *files) == alone
    assert (out.read_bytes() if out.exists() else b"") == written
    assert alone.status == 1
    assert bool(alone.out or written) is ("label ~ no_such_label" not in command)


@pytest.mark.slow
def test_more_processes_than_files_are_as_many_as_files(run: Run, files: list[Path]) -> None:
    assert run("messages", *files[:2], "--jobs", 9) == run("messages", *files[:2])


@pytest.mark.slow
def test_a_table_is_as_wide_as_the_rows_that_one_process_has_by_then(
    run: Run, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = run("calls", *files)
    monkeypatch.setattr(capture_set, "_WAITING", 1)
    alone = run("calls", *files)
    assert alone.out != usual.out
    assert run("calls", *files, "--jobs", 3) == alone


@pytest.mark.slow
def test_a_process_that_ends_does_not_stop_the_others(
    run: Run, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    count = CaptureSet.records_in

    def end(self: CaptureSet, of: tuple[str, ...]) -> int:
        return count(self, of) if of != (str(files[1]),) else os._exit(9)

    monkeypatch.setattr(CaptureSet, "records_in", end)
    outcome = run("messages", files[4], files[1], files[6], "--jobs", 2, "--format", "jsonl")
    monkeypatch.undo()
    assert outcome.status == 1
    assert outcome.err.startswith(f"msmq-wire: {files[1]}: the process that read it has ended\n")
    assert outcome.out == run("messages", files[4], files[6], "--format", "jsonl").out


@pytest.mark.slow
@pytest.mark.parametrize("others", ["as they come", "all at once"])
def test_a_process_that_ends_between_two_files_does_not_end_it_all(
    run: Run, files: list[Path], monkeypatch: pytest.MonkeyPatch, others: str
) -> None:
    find = worker_pool.WorkerPool._free

    def wait_for_all(connections: list[Any]) -> list[Any]:
        # Nobody else is at work when the third file is lost.
        wait(connections)
        return [ready for one in connections for ready in wait([one])]

    def killed(self: worker_pool.WorkerPool) -> Any:
        idle = next((one for one, number in self._at.items() if number is None), None)
        if idle is not None:
            os.kill(self._processes[idle], signal.SIGKILL)
            os.waitid(os.P_PID, self._processes[idle], os.WEXITED | os.WNOWAIT)
        return find(self)

    monkeypatch.setattr(worker_pool.WorkerPool, "_free", killed)
    if others == "all at once":
        monkeypatch.setattr(worker_pool, "wait", wait_for_all)
    outcome = run("messages", files[0], files[4], files[6], "--jobs", 2, "--format", "jsonl")
    assert outcome.status == 1
    assert f"{files[6]}: the process that read it has ended\n" in outcome.err
    assert outcome.out == run("messages", files[0], files[4], "--format", "jsonl").out


@pytest.mark.slow
def test_an_interrupt_ends_all_processes_and_says_so(
    run: Run, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = worker_pool.FileWorker.print_part

    def interrupt(self: worker_pool.FileWorker, number: int, done: Any) -> Any:
        if number == 1:
            raise KeyboardInterrupt
        return tell(self, number, done)

    monkeypatch.setattr(worker_pool.FileWorker, "print_part", interrupt)
    outcome = run("messages", *files, "--jobs", 2, "--format", "csv")
    assert outcome.status == 130
    assert outcome.err.splitlines()[-1].startswith("interrupted: 24 frames read")
    assert outcome.out == run("messages", files[0], "--format", "csv").out


@pytest.mark.parametrize(
    "arguments", [("--redact", "hosts"), ("AGAIN",), ("-",)], ids=["redacted", "named twice", "a pipe"]
)
def test_what_is_told_as_one_is_read_by_one_process(
    run: Run, files: list[Path], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.delattr(os, "fork")
    given = [str(files[0]) if one == "AGAIN" else one for one in arguments]
    assert run("messages", *files[:2], *given, "--jobs", 2) == run("messages", *files[:2], *given)


def test_bodies_go_to_a_folder_from_one_process(run: Run, files: list[Path], tmp_path: Path) -> None:
    outcome = run("messages", *files, "--jobs", 2, "--bodies", tmp_path / "bodies")
    assert outcome.status == 2
    assert "--bodies writes to one folder: it cannot be used with --jobs" in outcome.err


@pytest.mark.parametrize("command", ["findings", "diagnose", "replay", "report", "timeline"])
def test_files_that_tell_one_story_are_read_by_one_process(run: Run, command: str) -> None:
    assert "--jobs" not in run(command, "--help").out
