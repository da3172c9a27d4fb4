"""How far reading has come, on standard error."""

from __future__ import annotations

import os
import sys
import threading
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
    """A bar on standard error, once reading takes a moment and if nothing else is printed there."""

    def __init__(self, source: Read, name: str, *, show: bool) -> None:
        self._source = source
        self._name = name
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        if show and sys.stderr.isatty() and not sys.stdout.isatty() and self._source.total:
            self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> None:
        if self._thread is not None:
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        if self._done.wait(_PATIENCE):
            return
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
            while not self._done.wait(_REFRESH):
                progress.update(task, completed=self._source.bytes_read)
