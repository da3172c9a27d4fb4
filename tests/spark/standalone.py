"""A standalone cluster of Spark on loopback, from what pip installs, that finds only code that is shipped.

The rule kept here: nothing of this process gets into the cluster but what is named, and all processes end
with the block. Processes are found in ``/proc``.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import pyspark

from tests.effort import SHORT_LIVED_JAVA

__all__ = ["Cluster", "Job", "wait_for"]

T = TypeVar("T")

_HOME = Path(pyspark.__file__).parent
_MARK = "MSMQ_WIRE_TEST_CLUSTER"
_URL = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
_PAUSE = 0.02
_PATIENCE = 600.0
"""Seconds after which something does not come any more. A busy machine may need minutes."""


def wait_for(what: str, find: Callable[[], T | None], seconds: float = _PATIENCE) -> T:
    """Return what ``find`` finds, as soon as it does. Raises AssertionError after so many seconds."""
    until = time.monotonic() + seconds
    while True:
        found = find()
        if found:
            return found
        assert time.monotonic() < until, f"not within {seconds:.0f} s: {what}"
        time.sleep(_PAUSE)


class Job:
    """A program that spark-submit runs; what it prints is kept in two files."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, log: Path) -> None:
        self._process = process
        self._out = out
        self._log = log

    @property
    def out(self) -> str:
        """What the program has printed so far."""
        return self._out.read_text(encoding="utf-8")

    @property
    def log(self) -> str:
        """What Spark and the program have said so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def status(self) -> int:
        """Wait for its end and return its exit status."""
        return self._process.wait(_PATIENCE)


class Cluster:
    """A master and workers of one core and 1 GB each; all files are below ``folder``.

    Their Python has the libraries that are installed here and lacks this project. Leaving the block ends
    every process that was started in it or by it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mark = secrets.token_hex(16)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._started = 0
        self.workers: list[int] = []

    def __enter__(self) -> Cluster:
        self._folder.mkdir(parents=True)
        self._environment = self._clean_environment(_interpreter(self._folder))
        try:
            ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
            _, log = self._daemon("master.Master", *ports)
            reported = wait_for("the master starts", lambda: _URL.search(log.read_text(encoding="utf-8")))
        except BaseException:
            self.end()
            raise
        self.url = reported[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def with_workers(self, count: int) -> None:
        """Start workers until there are so many, and wait for those that are new."""
        logs = []
        while len(self.workers) < count:
            work = str(self._folder / f"work{self._started}")
            size = ("--cores", "1", "--memory", "1g", "--work-dir", work)
            place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
            pid, log = self._daemon("worker.Worker", *place, *size, self.url)
            self.workers.append(pid)
            logs.append(log)
        for log in logs:
            wait_for("a worker registers", partial(_says, log, "Successfully registered with master"))

    def submit(self, program: Path, arguments: Sequence[str], *, shipped: Sequence[Path] = ()) -> Job:
        """Let spark-submit run a program in client mode, on all workers from the start."""
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.scheduler.minRegisteredResourcesRatio": "1",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
            "spark.shuffle.io.retryWait": "1s",
        }
        command = [str(_HOME / "bin" / "spark-submit"), "--master", self.url]
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        if shipped:
            command += ["--py-files", ",".join(map(str, shipped))]
        process, out, log = self._start("submit", [*command, str(program), *arguments])
        return Job(process, out, log)

    def lose(self, worker: int) -> list[int]:
        """Kill a worker, its executors and their Python at once, and return the numbers of all of them."""
        lost = [worker, *descendants(worker)]
        _kill(lost)
        self.workers.remove(worker)
        return lost

    def end(self) -> None:
        """End all processes, those that lost their parents too."""
        while left := self._marked():
            _kill(left)
            time.sleep(_PAUSE)
        for process in self._processes:
            process.wait()
        self.workers.clear()

    def _daemon(self, name: str, *arguments: str) -> tuple[int, Path]:
        command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        process, _, log = self._start(name.partition(".")[0], command)
        return process.pid, log

    def _start(self, name: str, command: Sequence[str]) -> tuple[subprocess.Popen[bytes], Path, Path]:
        folder = self._folder / f"{name}{self._started}"
        folder.mkdir()
        self._started += 1
        out, log = folder / "out", folder / "log"
        with out.open("wb") as stdout, log.open("wb") as stderr:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        self._processes.append(process)
        return process, out, log

    def _clean_environment(self, python: Path) -> Mapping[str, str]:
        java = shutil.which("java", path=_java_path())
        assert java is not None
        home = self._folder / "home"
        home.mkdir()
        return {
            "PATH": f"{Path(java).parent}:/usr/bin:/bin",
            "JAVA_HOME": str(Path(java).resolve().parents[1]),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "JDK_JAVA_OPTIONS": SHORT_LIVED_JAVA,
            "SPARK_HOME": str(_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            # Its port is fixed: a cluster beside this one would have it.
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            "PYSPARK_PYTHON": str(python),
            _MARK: self._mark,
        }

    def _marked(self) -> list[int]:
        mark = f"{_MARK}={self._mark}".encode()
        return [pid for pid in _processes() if mark in _read(pid, "environ").split(b"\0")]


def opened(pid: int) -> Iterator[str]:
    """The files that a process, or one that descends from it, holds open."""
    for one in (pid, *descendants(pid)):
        try:
            for link in Path(f"/proc/{one}/fd").iterdir():
                yield os.readlink(link)
        except OSError:
            # It has ended, or closed the file, meanwhile.
            continue


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that they started."""
    children: dict[int, list[int]] = {}
    for one in _processes():
        # The name of the program stands in parentheses and may hold anything; state and parent follow.
        fields = _read(one, "stat").rpartition(b")")[2].split()
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(one)
    found = list(children.get(pid, ()))
    for one in found:
        found += children.get(one, ())
    return found


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _says(log: Path, text: str) -> bool:
    return text in log.read_text(encoding="utf-8")


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _java_path() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin") if home else os.environ["PATH"]


def _interpreter(folder: Path) -> Path:
    """Write a program that is this Python with all libraries but the project itself."""
    site = folder / "site"
    site.mkdir()
    for name in ("purelib", "platlib"):
        for entry in Path(sysconfig.get_path(name)).iterdir():
            # A .pth file is how a project in development is found.
            if "msmq" not in entry.name and entry.suffix != ".pth" and not (site / entry.name).exists():
                (site / entry.name).symlink_to(entry)
    program = folder / "python"
    words = (
        f'PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}"{shlex.quote(str(site))}',
        "export PYTHONPATH",
        # Without -S it would look into the folders of the installation.
        f'exec {shlex.quote(sys.executable)} -S "$@"',
    )
    program.write_text("\n".join(("#!/bin/sh", *words, "")), encoding="utf-8")
    program.chmod(0o755)
    return program
