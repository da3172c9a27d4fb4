"""Events of an .evtx file, which the package evtx reads in a process of its own: `EvtxEvents`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Timer

import msgspec

import msmq_wire
from msmq_wire.capture.event_logs import evtx_process
from msmq_wire.capture.event_logs.event_xml import WrittenEvent
from msmq_wire.errors import MissingExtraError

MAGIC = b"ElfFile\0"
_HEADER, _CHUNK = 1 << 12, 1 << 16
_SECONDS = 2 * evtx_process.SECONDS
_LINE = 1 << 21
"""Bytes of one line that the process writes."""


class _End(msgspec.Struct):
    """What the process says at the end."""

    skipped: int
    problem: str


class EvtxEvents:
    """The events of a file; iterate once, then ``problem`` says what could not be read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.problem = ""

    def __iter__(self) -> Iterator[WrittenEvent]:
        """Raises MissingExtraError without the package evtx."""
        if find_spec("evtx") is None:
            raise MissingExtraError.of(
                "an .evtx file", "evtx (or export it: wevtutil qe FILE /lf:true /f:xml)", "msmq-wire[evtx]"
            )
        command = [sys.executable, "-P", "-m", evtx_process.__name__, os.path.abspath(self._path)]
        root = str(Path(msmq_wire.__file__).parents[1])
        known = os.environ.get("PYTHONPATH")
        environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{known}" if known else root}
        decoder, end = msgspec.json.Decoder(WrittenEvent), None
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        ) as process:
            assert process.stdout is not None
            watch = Timer(_SECONDS, process.kill)
            watch.start()
            try:
                while line := process.stdout.readline(_LINE):
                    if line[:1] == b"{":
                        end = _end_of(line)
                        break
                    try:
                        yield decoder.decode(line)
                    except msgspec.DecodeError:
                        break
            finally:
                watch.cancel()
                with suppress(OSError):
                    process.kill()
        self.problem = self._problem(end)

    def _problem(self, end: _End | None) -> str:
        if end is None:
            return "the reading ended before the end of the file: it is damaged, or too large"
        if end.problem:
            return f"it cannot be read on: {end.problem}"
        if end.skipped:
            some = "1 part of it is" if end.skipped == 1 else f"{end.skipped:,} parts of it are"
            return f"{some} damaged and left out; export the log anew: wevtutil epl"
        size = os.path.getsize(self._path)
        return "it is cut off" if size < _HEADER or (size - _HEADER) % _CHUNK else ""


def _end_of(line: bytes) -> _End | None:
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(line, type=_End)
    return None
