"""``msmq-wire lab serve`` in a process of its own, on loopback and free ports."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
_CODE = "import sys; from msmq_wire.cli.app import main; sys.exit(main(sys.argv[1:]))"
_PORTS = ("--port", "--ping-port", "--rpc-port", "--http-port")


class LabProcess:
    """A server; use it as a context. What it logged, how it ended and its memory are there behind it.

    ``ports`` are those of its services, ``events`` what it logged, ``peak_bytes`` the most memory it had,
    ``seconds_to_end`` how long it took to end when it was told to. It is killed when that is a minute.
    """

    def __init__(self, *options: str) -> None:
        ports = [text for option in _PORTS for text in (option, "0")]
        # A pipe would hold the server up when nobody reads it.
        self._output = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  (closed in the end)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, "lab", "serve", *ports, "--format", "jsonl", *options],
            cwd=ROOT,
            stdout=self._output,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.ports: dict[str, int] = {}
        self.events: list[dict[str, Any]] = []
        self.status: int | None = None
        self.complaints = ""
        self.peak_bytes = 0
        self.seconds_to_end = 0.0

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def __enter__(self) -> Self:
        rows: list[dict[str, Any]] = []
        while len(rows) < len(_PORTS):
            assert self._process.poll() is None, "the server did not start"
            time.sleep(0.02)
            rows = self._rows()
        self.ports = {row["service"]: int(row["address"].rpartition(":")[2]) for row in rows[: len(_PORTS)]}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        # Resource usage would count what this process had when it forked, so the kernel's mark is read.
        if process.poll() is None:
            self.peak_bytes = _peak_bytes(process.pid)
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        try:
            _, self.complaints = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            _, self.complaints = process.communicate()
        self.seconds_to_end = time.monotonic() - begun
        self.status = process.returncode
        self.events = self._rows()[len(_PORTS) :]
        self._output.close()

    def _rows(self) -> list[dict[str, Any]]:
        # The server writes at its own place: this is another description of the same file.
        with open(f"/dev/fd/{self._output.fileno()}", encoding="utf-8") as output:
            return [json.loads(line) for line in output if line.endswith("\n")]

    def so_far(self, event: str) -> int:
        """How many events of one kind were logged until now."""
        return [one.get("event") for one in self._rows()].count(event)

    def named(self, event: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [one for one in self.events if one["event"] == event]


def _peak_bytes(process: int) -> int:
    """The most memory that a process had since it began to run its program."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024
