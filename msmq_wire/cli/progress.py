"""How far reading has come, on standard error."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from msmq_wire.cli.render.safe_text import escaped

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_PATIENCE = 1.0
_REFRESH = 0.2


class ReadProgress(Protocol):
    """What is read: ``bytes_read`` of ``total`` bytes, None where that is not known."""

    total: int | None
    bytes_read: int


class Progress:
    """A bar on standard error whenever nothing was printed for a moment.

    Where standard output is a terminal, too, the bar makes room for what is printed there.
    """

    def __init__(self, source: ReadProgress, name: str, *, show: bool) -> None:
        self._source = source
        self._name = name
        self._done = threading.Event()
        # Who holds it may write to the terminal: a row, or the bar once more.
        self._terminal = threading.Lock()
        self._bar: Bar | None = None
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
        if self._thread is not None:
            self._thread.join()
        self._clear()
        if self._print is not None:
            sys.stdout.write = self._print  # type: ignore[method-assign]  # as it was

    def _write(self, text: str) -> int:
        assert self._print is not None
        with self._terminal:
            self._clear()
            self._printed = monotonic()
            return self._print(text)

    def _show(self) -> None:
        while not self._done.wait(_REFRESH):
            with self._terminal:
                if monotonic() - self._printed >= _PATIENCE:
                    self._refresh()

    def _refresh(self) -> None:
        if self._bar is None:
            self._bar = _bar()
            self._bar.add_task(escaped(os.path.basename(self._name)), total=self._source.total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=self._source.bytes_read)
        self._bar.refresh()

    def _clear(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar() -> Bar:
    # Most reading is done before this is needed.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    # Standard output is the caller's, and may be a file: the bar must not take it over. Nor may it
    # write at a time of its own, between the rows.
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
