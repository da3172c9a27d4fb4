"""How far reading has come, on standard error."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Protocol

from msmq_wire.cli.render.safe_text import escaped

__all__ = ["Progress"]

_PATIENCE = 1.0
_REFRESH = 0.2


class Read(Protocol):
    """What is read: ``bytes_read`` of ``total`` bytes, None where that is not known."""

    total: int | None
    bytes_read: int


class Progress:
    """A bar on standard error whenever nothing was printed for a moment.

    Where standard output is a terminal, too, the bar makes room for what is printed there.
    """

    def __init__(self, source: Read, name: str, *, show: bool) -> None:
        self._source = source
        self._name = name
        self._done, self._yield = threading.Event(), threading.Event()
        self._bar = threading.Lock()
        self._printed = 0.0
        self._thread: threading.Thread | None = None
        self._print: Callable[[str], int] | None = None
        if show and sys.stderr.isatty() and self._source.total:
            self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> None:
        if self._thread is None:
            return
        self._printed = monotonic()
        if sys.stdout.isatty():
            self._print = sys.stdout.write
            sys.stdout.write = self._write  # type: ignore[method-assign]  # all that is printed there
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._yield.set()
        if self._thread is not None:
            self._thread.join()
        if self._print is not None:
            sys.stdout.write = self._print  # type: ignore[method-assign]  # as it was

    def _write(self, text: str) -> int:
        assert self._print is not None
        self._printed = monotonic()
        self._yield.set()
        with self._bar:
            return self._print(text)

    def _show(self) -> None:
        while not self._done.is_set():
            silent = monotonic() - self._printed
            if silent < _PATIENCE:
                self._done.wait(_PATIENCE - silent)
                continue
            with self._bar:
                self._yield.clear()
                # Of what was printed before that nobody hears any more.
                if not self._done.is_set() and monotonic() - self._printed >= _PATIENCE:
                    self._run()

    def _run(self) -> None:
        """Show the bar until something is printed."""
        # Most reading is done before this.
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
        )
        # Standard output is the caller's, and may be a file: the bar must not take it over.
        with Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as progress:
            task = progress.add_task(escaped(os.path.basename(self._name)), total=self._source.total)
            while not self._yield.wait(_REFRESH):
                progress.update(task, completed=self._source.bytes_read)
