# SPDX-License-Identifier: GPL-2.0-or-later
"""tshark, and for live captures dumpcap before it: started, read frame by frame, and ended.

The rule kept here: whatever happens, both processes are ended by their id and waited for, and no file is left
behind. So tshark always reads a file or a pipe: capturing itself, it would write a temporary file through a
process of its own.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import stat
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from pyshark.capture.capture import Capture  # type: ignore[import-untyped]  # it has no annotations
from pyshark.tshark import tshark as tools  # type: ignore[import-untyped]  # it has no annotations

from msmq_wire.errors import CaptureError
from msmq_wireshark.frames import SHOWN_PROTOCOLS

__all__ = ["OLDEST", "TsharkCapture"]

OLDEST = "4.0"
"""The oldest tshark whose output is read."""

_PATIENCE = 2.0
_LINES = 50
_BUFFER = "32"
"""MiB that dumpcap asks the system to keep for it: 2 by default, too little for bursts on loopback."""
_DROPPED = re.compile(r"received/dropped on interface .*: \d+/(\d+)")
_PREFERENCES = {"ip.defragment": "TRUE", "ipv6.defragment": "TRUE", "tcp.desegment_tcp_streams": "TRUE"}
"""What a profile may have switched off, and the records need."""


class TsharkCapture(Capture):  # type: ignore[misc]  # its base has no annotations
    """A pyshark capture in EK mode that gives layers as they are printed, and whose processes are its own.

    pyshark says how tshark is called; but it would run it in an event loop of the calling thread, ask tshark
    for the types of all fields first, and give up at a frame without a time.

    ``source`` is a path, or ``"-"`` for standard input; with ``interface`` dumpcap captures there: also
    ``"-"`` or the path of a named pipe. Raises CaptureError in one line for whatever tshark or dumpcap
    complain about: when it is made if they are missing or too old, else from `layers`. ``failure`` is the
    complaint that came after frames had been read, None if there was none; ``dropped`` counts the frames that
    the system could not give to dumpcap in time. Both are known at the end.
    """

    def __init__(
        self,
        *,
        source: str | None = None,
        interface: str | None = None,
        capture_filter: str | None = None,
        display_filter: str | None = None,
        preferences: Mapping[str, str] | None = None,
        keytab: str | None = None,
        tshark_path: str | None = None,
    ) -> None:
        loop = asyncio.new_event_loop()
        loop.close()  # pyshark would otherwise set one up for the thread
        super().__init__(
            use_ek=True,
            eventloop=loop,
            display_filter=display_filter,
            override_prefs={**_PREFERENCES, **(preferences or {})},
            custom_parameters=["-J", SHOWN_PROTOCOLS],
            tshark_path=tshark_path,
        )
        self._keytab = None if keytab is None else _readable(keytab)
        self.failure: CaptureError | None = None
        self.dropped = 0
        self._source = "-" if source is None else source
        self._stopped = False
        self._complaints: list[deque[str]] = []
        self._threads: list[threading.Thread] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._dumpcap: list[str] | None = None
        try:
            self._command = [
                tools.get_process_path(tshark_path),
                "-l",
                "-n",
                "-T",
                "ek",
                *self.get_parameters(),
            ]
            if interface is not None:
                dumpcap = tools.get_process_path(tshark_path, "dumpcap")
                self._dumpcap = [dumpcap, "-q", "-B", _BUFFER, "-i", interface, "-w", "-"]
            version = _version(self._command[0])
        except tools.TSharkNotFoundException:
            missing = "tshark" if interface is None else "tshark or dumpcap"
            raise CaptureError(f"{missing} is not found: it comes with Wireshark") from None
        except (tools.TSharkVersionException, subprocess.CalledProcessError, OSError, UnicodeDecodeError):
            raise CaptureError("tshark does not tell its version: it cannot be run") from None
        if tuple(int(part) for part in version.split(".")[:2]) < tuple(
            int(part) for part in OLDEST.split(".")
        ):
            raise CaptureError(f"tshark {version} is too old: {OLDEST} or newer is needed")
        if self._dumpcap is not None and capture_filter:
            if interface == "-" or _is_pipe(interface):
                raise CaptureError(
                    "a capture filter needs an interface: what comes through a pipe is not filtered"
                )
            self._dumpcap += ["-f", capture_filter]

    def get_parameters(self, packet_count: int | None = None) -> list[str]:
        """The parameters of tshark: those of pyshark, the keytab, and where to read from."""
        keytab = [] if self._keytab is None else ["-K", self._keytab, "-o", "kerberos.decrypt:TRUE"]
        return [*super().get_parameters(packet_count=packet_count), *keytab, "-r", self._source]

    def layers(self) -> Iterator[dict[str, Any]]:
        """Yield the EK layers of one frame after the other, by name; can be walked once."""
        frames = 0
        try:
            output = self._start()
            for line in output:
                layers = _layers(line)
                if layers:
                    frames += 1
                    yield layers
            failure = self._outcome()
        finally:
            self.close()
        if failure is not None and not frames:
            raise failure
        self.failure = failure

    def stop(self) -> None:
        """End the capture: what was captured so far still comes. May be called by a signal handler."""
        self._stopped = True
        if self._processes:
            self._processes[0].terminate()

    def close(self) -> None:
        """End what still runs, and wait for it."""
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(_PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        for thread in self._threads:
            thread.join()
        self._processes, self._threads = [], []

    def _start(self) -> IO[bytes]:
        source: int | IO[bytes] = subprocess.DEVNULL
        if self._dumpcap is not None:
            captured = self._run(self._dumpcap, None)
            source = _output_of(captured)
        elif self._source == "-":
            source = sys.stdin.buffer
        process = self._run(self._command, source)
        if self._dumpcap is not None and not isinstance(source, int):
            # Held open here it would hide from dumpcap that tshark has ended.
            source.close()
        if self._stopped:
            # A signal came while it started.
            self.stop()
        return _output_of(process)

    def _run(self, command: Sequence[str], source: int | IO[bytes] | None) -> subprocess.Popen[bytes]:
        try:
            # In a session of its own: Ctrl-C is for the reader, who stops the capture and reads what is left.
            process = subprocess.Popen(
                command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise CaptureError(f"{os.path.basename(command[0])} cannot be run: {error.strerror}") from None
        lines: deque[str] = deque(maxlen=_LINES)
        thread = threading.Thread(target=_read_lines, args=(process.stderr, lines), daemon=True)
        thread.start()
        self._processes.append(process)
        self._threads.append(thread)
        self._complaints.append(lines)
        return process

    def _outcome(self) -> CaptureError | None:
        """What went wrong, now that tshark has no more to say."""
        for process, thread in zip(self._processes, self._threads, strict=True):
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                # tshark has ended early, and nothing comes that would tell dumpcap.
                continue
            thread.join(_PATIENCE)
        for line in self._complaints[0] if self._dumpcap else ():
            reported = _DROPPED.search(line)
            self.dropped += int(reported[1]) if reported else 0
        if self._stopped:
            return None
        for process, lines, command in zip(
            self._processes,
            self._complaints,
            [*([self._dumpcap] if self._dumpcap else []), self._command],
            strict=True,
        ):
            name = os.path.basename(command[0])
            # dumpcap that loses its reader was ended by tshark, which says why.
            if process.returncode is not None and process.returncode > 0:
                return CaptureError(_complaint(name, list(lines), process.returncode))
        return None


@functools.cache
def _version(path: str) -> str:
    return str(tools.get_tshark_version(path))


def _output_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    if process.stdout is None:
        raise CaptureError("the output of a process cannot be read")
    return process.stdout


def _layers(line: bytes) -> dict[str, Any] | None:
    """The layers in a line of EK output; None for the lines between frames."""
    if not line.startswith(b'{"timestamp"'):
        return None
    try:
        layers = json.loads(line.decode("utf-8", "replace")).get("layers")
    except ValueError:
        # Cut, as by a process that was ended.
        return None
    return layers if isinstance(layers, dict) else None


def _read_lines(stream: IO[bytes], lines: deque[str]) -> None:
    with stream:
        for line in stream:
            text = line.decode("utf-8", "replace").strip()
            if text:
                lines.append(text)


def _complaint(name: str, lines: list[str], status: int) -> str:
    """What a program says when it gives up, in one line, without its advice."""
    for at, line in enumerate(lines):
        if line.startswith(f"{name}: "):
            more = lines[at + 1] if at + 1 < len(lines) else ""
            # The reason of the system stands in parentheses, a sentence may go on in the next line.
            return f"{line} {more}" if more.startswith("(") or not line.endswith((".", '"')) else line
    reported = [line for line in lines if not line.startswith("Running as user")]
    return f"{name}: {reported[-1]}" if reported else f"{name} ended with status {status}"


def _is_pipe(path: str | None) -> bool:
    try:
        return path is not None and stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _readable(path: str) -> str:
    """The path, if it can be read: tshark goes on without a keytab that it cannot read."""
    try:
        with open(path, "rb"):
            return path
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no path"
        raise CaptureError(f"the keytab cannot be read: {reason}") from None
