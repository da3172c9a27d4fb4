"""`WorkerPool`: processes that each read one capture; one process prints their results in order.

The rule kept here: a process counts the records of its file before it shows any, so that their ids go on from
those of the files before. What it prints waits in a file of its own until it is its turn.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import IO, TYPE_CHECKING, Any

from msmq_wire.cli.reporting import print_error

if TYPE_CHECKING:
    from msmq_wire.cli.capture_set import CaptureSet
    from msmq_wire.cli.read_counts import ReadCounts
    from msmq_wire.cli.render.screen import Screen
    from msmq_wire.cli.row_output import RowOutput

_MUCH = 1 << 20
"""Bytes that are written at once."""


class FileWorker:
    """Does the work for one file in a process of its own, and what is left to do in the one that prints."""

    def __init__(
        self,
        reading: CaptureSet,
        work: Callable[[], Any],
        screen: Screen | None,
        output: RowOutput | None,
        folder: str,
    ) -> None:
        self._reading = reading
        self._work = work
        self._screen = screen
        self._output = output
        self._folder = folder
        self._encoding = sys.stdout.encoding, sys.stdout.errors

    def serve(self, asked: Connection) -> None:
        """Do one file after the other, as long as one is asked for."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with contextlib.suppress(EOFError):
            while True:
                number = asked.recv()
                asked.send(self._reading.records_in(self._reading.captures[number]))
                asked.send(self._do(number, asked.recv()))

    def _do(self, number: int, last_id: int) -> tuple[Any, ReadCounts, str]:
        encoding, errors = self._encoding
        said = io.TextIOWrapper(io.BytesIO(), sys.stderr.encoding, sys.stderr.errors, newline="\n")
        with open(self._path(number), "wb", _MUCH) as kept:
            printed = io.TextIOWrapper(kept, encoding, errors, newline="\n")
            sys.stdout, sys.stderr = printed, said
            if self._screen is not None:
                self._screen.stream = printed
            mark = None if self._output is None else self._output.keep(kept)
            found, counts = self._reading.only(number, last_id, self._work, mark)
            printed.flush()
        said.seek(0)
        return found, counts, said.read()

    def print_part(self, number: int, done: tuple[Any, ReadCounts, str]) -> Any:
        """Print what a file gave."""
        found, counts, said = done
        path = self._path(number)
        with open(path, "rb") as kept:
            if self._output is None:
                _copy(kept)
            else:
                self._output.take_kept(kept, self._reading.reached, _copy)
        os.unlink(path)
        self._reading.counts.add(counts)
        sys.stdout.flush()
        sys.stderr.write(said)
        return found

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, str(number))


def _copy(kept: IO[bytes]) -> None:
    sys.stdout.flush()
    shutil.copyfileobj(kept, sys.stdout.buffer, _MUCH)


class WorkerPool:
    """Processes that do the files of a reading, each the next one as soon as it is free."""

    def __init__(self, reading: CaptureSet, jobs: int, part: FileWorker) -> None:
        self._reading = reading
        self._part = part
        self._jobs = jobs
        self._at: dict[Connection, int | None] = {}
        self._processes: dict[Connection, int] = {}
        self._counts: dict[int, int] = {}
        self._waiting: dict[int, Connection] = {}
        self._done: dict[int, Any] = {}

    def run(self) -> Iterator[Any]:
        """Give what was found in each file, in order, after printing what it printed."""
        interrupts = self._reading.interrupts
        reported, total, started = 0, len(self._reading.captures), 0
        try:
            with interrupts:
                while reported < total:
                    while started < total and (free := self._free()) is not None:
                        self._at[free] = started
                        try:
                            free.send(started)
                        except OSError:
                            self._lose(free, started)
                        started += 1
                    busy = [one for one, number in self._at.items() if number is not None]
                    interrupts.waiting = True
                    # All may be over: the last file is lost where its process had ended before it.
                    ready = wait(busy) if busy else []
                    interrupts.waiting = False
                    interrupts.raise_if_any()
                    for one in ready:
                        assert isinstance(one, Connection)
                        self._hear(one)
                    while reported in self._done:
                        done = self._done.pop(reported)
                        reported += 1
                        if done is not None:
                            yield self._part.print_part(reported - 1, done)
        except KeyboardInterrupt:
            self._reading.interrupt()
        finally:
            self._end()
        self._reading.end_if_interrupted()

    def _free(self) -> Connection | None:
        """A process that has nothing to do, begun if there may be one more."""
        for one, number in self._at.items():
            if number is None:
                return one
        return self._begin() if len(self._at) < self._jobs else None

    def _begin(self) -> Connection:
        ours, theirs = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if not process:
            # What is left open here would hide from others that the one that prints is gone.
            for other in (ours, *self._at):
                other.close()
            try:
                self._part.serve(theirs)
            finally:
                if sys.exc_info()[1] is not None:
                    traceback.print_exc(file=sys.__stderr__)
                os._exit(0)
        theirs.close()
        self._processes[ours] = process
        return ours

    def _hear(self, one: Connection) -> None:
        """Take the number of records in a file, or what was found in it."""
        number = self._at[one]
        assert number is not None
        try:
            said = one.recv()
        except (EOFError, OSError):
            self._lose(one, number)
            return
        if isinstance(said, int):
            self._counts[number] = said
            self._waiting[number] = one
        else:
            self._done[number] = said
            self._at[one] = None
        self._go_on()

    def _lose(self, one: Connection, number: int) -> None:
        """A process has ended in the middle of a file."""
        del self._at[one]
        os.waitpid(self._processes.pop(one), 0)
        self._counts.setdefault(number, 0)
        self._waiting.pop(number, None)
        self._done[number] = None
        self._reading.counts.status = 1
        print_error(f"{self._reading.captures[number][0]}: the process that read it has ended")
        self._go_on()

    def _go_on(self) -> None:
        """Tell those that wait where their ids begin, as far as that is known."""
        last_id = 0
        for number in range(len(self._reading.captures)):
            one = self._waiting.pop(number, None)
            if one is not None:
                with contextlib.suppress(OSError):
                    one.send(last_id)
            if number not in self._counts:
                return
            last_id += self._counts[number]

    def _end(self) -> None:
        for one, process in self._processes.items():
            one.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
