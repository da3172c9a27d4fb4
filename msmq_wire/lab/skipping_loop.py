"""`SkippingLoop`: an event loop whose time runs, and skips what nobody would do anything in.

The rule kept here: time jumps only to what the loop waits for next, and where nothing has come meanwhile.
Everything that takes its time from the loop agrees on how late it is, also across several queue managers.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Mapping
from typing import Any

_GRACE = 0.01
"""Seconds in which what was sent over loopback arrives, on a busy machine, too."""


class _Waiting(selectors.BaseSelector):
    """A selector that waits for a moment only where the loop would wait for a time.

    ``now`` stands still while the loop does what is due, so that all of it happens at one time.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._skipped = 0.0
        self.now = time.monotonic()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for what comes; where nothing does, the rest of ``timeout`` is over at once."""
        if timeout is None or timeout <= _GRACE:
            events = self._selector.select(timeout)
        else:
            begun = time.monotonic()
            events = self._selector.select(_GRACE)
            while not events and time.monotonic() - begun > 2 * _GRACE:
                # The machine stood still, and what was sent meanwhile has to arrive yet.
                begun = time.monotonic()
                events = self._selector.select(_GRACE)
            if not events:
                self._skipped += timeout - _GRACE
        self.now = max(self.now, time.monotonic() + self._skipped)
        return events

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a file."""
        return self._selector.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Watch it no more."""
        return self._selector.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch it for something else."""
        return self._selector.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """What is watched."""
        return self._selector.get_map()

    def close(self) -> None:
        """Watch nothing any more."""
        self._selector.close()


class SkippingLoop(asyncio.SelectorEventLoop):
    """For runs of everything in one process, over loopback: a minute of waiting takes a few milliseconds."""

    def __init__(self) -> None:
        self._waiting = _Waiting()
        super().__init__(self._waiting)

    def time(self) -> float:
        """The time of the loop in seconds, since any moment."""
        return self._waiting.now
