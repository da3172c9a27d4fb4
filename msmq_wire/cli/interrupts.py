"""Ctrl+C while captures are read."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType


class Interrupts:
    """Within it Ctrl+C waits until somebody asks `raise_if_any`; a second one waits for nobody.

    An exception in the middle of anything may be lost, or leave a library half imported. It is raised at once
    only while ``waiting`` for bytes that may never come.
    """

    def __init__(self) -> None:
        self.waiting = False
        self._any = False
        # Only the main thread may say what signals do.
        self._ours = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Interrupts:
        if self._ours:
            self._before = signal.getsignal(signal.SIGINT)
            # Whoever started this process may want it to ignore Ctrl+C; a handler that is not one of Python
            # cannot be given back.
            self._ours = self._before not in (signal.SIG_IGN, None)
        if self._ours:
            signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, self._before)

    def raise_if_any(self) -> None:
        """Raise the KeyboardInterrupt that waited."""
        if self._any:
            raise KeyboardInterrupt

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        at_once = self.waiting or self._any
        self._any = True
        if at_once:
            raise KeyboardInterrupt
